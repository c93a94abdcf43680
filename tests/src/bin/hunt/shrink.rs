//! From a world in which something breaks to a short one in which it still does.

use giveover::sim::world::Options;
use giveover_tests::boarded::play_both;

use crate::draw::Draft;

/// What breaks in this world, if anything: when, and what.
pub(crate) fn broken(draft: &Draft) -> Option<(u64, String)> {
    let world = draft.world()?;
    play_both(&world, Options { seed: None, record: false, watch: true }).broken
}

/// Leaves out whatever can be, as long as something still breaks.
pub(crate) fn shrink(draft: &Draft) -> Draft {
    let mut best = draft.clone();
    while let Some(shorter) = step(&best) {
        best = shorter;
    }
    best
}

fn step(draft: &Draft) -> Option<Draft> {
    // nothing after the break is needed
    let (at, _) = broken(draft)?;
    let enough = at / 1000 + 1;
    if enough < draft.length_s {
        let shorter = Draft { length_s: enough, ..draft.clone() };
        if broken(&shorter).is_some() {
            return Some(shorter);
        }
    }
    // halves first, then one by one
    let count = draft.pieces.len();
    let mut size = count.div_ceil(2);
    while size > 0 {
        for from in (0..count).step_by(size) {
            let mut shorter = draft.clone();
            shorter.pieces.drain(from..(from + size).min(count));
            if shorter.pieces.len() < count && broken(&shorter).is_some() {
                return Some(shorter);
            }
        }
        size /= 2;
    }
    tables(&draft.head).into_iter().find_map(|head| {
        let shorter = Draft { head, ..draft.clone() };
        broken(&shorter).map(|_| shorter)
    })
}

/// The head without one of its tables, or without one of its lines.
fn tables(head: &str) -> Vec<String> {
    let mut shorter = Vec::new();
    let begins: Vec<usize> = head.match_indices("\n[").map(|(at, _)| at + 1).collect();
    for (place, from) in begins.iter().enumerate() {
        let until = begins.get(place + 1).copied().unwrap_or(head.len());
        shorter.push(format!("{}{}", &head[..*from], &head[until..]));
    }
    let lines: Vec<&str> = head.lines().collect();
    for place in 0..lines.len() {
        if !lines[place].starts_with(['[', 's']) {
            let kept = lines.iter().enumerate().filter(|(other, _)| *other != place);
            shorter.push(kept.map(|(_, line)| format!("{line}\n")).collect());
        }
    }
    shorter
}
