//! The small picture for a terminal.

use std::fmt::Write as _;

use giveover_core::monitor::Status;
use giveover_core::peer::Role;

use super::scale::ticks;
use super::{Shown, Sign, column, faces, gravest, highest, presence, roles, signs};
use crate::report::paint::Paint;
use crate::report::table::cut;
use crate::sim::timeline::{PoolLane, Timeline, Track};

/// What stands to the left of the columns.
const LEFT: usize = 12;
/// Heights of a column, from nothing to all.
const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The picture, `width` columns wide in all. Words stand beside the colours, which only repeat them.
#[must_use]
pub fn blocks(timeline: &Timeline, width: usize, paint: Paint) -> String {
    let columns = width.saturating_sub(LEFT).clamp(10, 400);
    let mut text = String::new();
    for lane in &timeline.lanes {
        let lane_roles = roles(lane, timeline, columns);
        let band: String =
            lane_roles.into_iter().map(|(role, held)| shade_of(role, held)).collect();
        row(&lane.name, &band, &mut text);
    }
    for track in &timeline.tracks {
        one(track, timeline, columns, paint, &mut text);
    }
    for lane in &timeline.pools {
        pool(lane, timeline, columns, paint, &mut text);
    }
    for line in &timeline.lines {
        let held: Vec<(_, u8)> =
            line.edges.iter().map(|(at, held)| (*at, u8::from(*held))).collect();
        let wave = highest(&held, timeline, columns);
        let wave: String = wave.into_iter().map(|held| if held > 0 { '█' } else { '▁' }).collect();
        row(&line.name, &wave, &mut text);
    }
    row("time", &axis(timeline, columns), &mut text);
    if !timeline.lanes.is_empty() {
        text += &" ".repeat(LEFT);
        text += "█ active, holds the address a active s standby d down i init\n";
    }
    if !timeline.pools.is_empty() {
        text += &" ".repeat(LEFT);
        text += "░ in s standby b busy d drained █ out\n";
    }
    text += &" ".repeat(LEFT);
    text += ". healthy o part x complete ? cannot measure D died R restart G giveover\n";
    text += &" ".repeat(LEFT);
    text += "░ ok ▒ degraded █ faulted ▁ offline\n";
    text
}

fn one(track: &Track, timeline: &Timeline, columns: usize, paint: Paint, text: &mut String) {
    let budget = match track.retry_count {
        None => String::new(),
        Some(count) => format!(", budget {count}"),
    };
    let _ = writeln!(text, "{}{budget}", paint.heading(&track.name)); // a String takes everything
    for stay in &track.stays {
        let there = presence(stay, timeline, columns).into_iter();
        // what has not been probed yet runs all the same
        let letter = |status: Status| if status == Status::Unknown { '·' } else { shade(status) };
        let there: String = there.map(|status| status.map_or(' ', letter)).collect();
        row(&format!("  on {}", stay.node), &there, text);
    }
    let statuses = gravest(&track.statuses, timeline, columns);
    let mut band = String::new();
    for run in statuses.chunk_by(|one, next| one == next) {
        let Some(status) = run.first() else { continue };
        let shade = shade(*status).to_string().repeat(run.len());
        band += &paint.status(status.word(), &shade);
    }
    row("  status", &band, text);
    let probes = signs(&track.marks, timeline, columns, |_| true);
    let probes: String = probes.into_iter().map(|sign| sign.map_or(' ', Sign::letter)).collect();
    row("  probes", &probes, text);
    let sums = highest(&track.sums, timeline, columns);
    row("  of 100", &heights(&sums, 100), text);
    let restarts = highest(&track.restarts, timeline, columns);
    let full = track.retry_count.map_or(1, |count| count.max(1));
    let full = full.max(restarts.iter().copied().max().unwrap_or(1));
    row("  restarts", &heights(&restarts, full), text);
}

/// How many members of a pool were at work, and what the balancer was shown of each.
fn pool(pool: &PoolLane, timeline: &Timeline, columns: usize, paint: Paint, text: &mut String) {
    let count = u16::try_from(pool.members.len()).unwrap_or(u16::MAX);
    let _ = writeln!(text, "{}, {count} members", paint.heading(&pool.name)); // as above
    row("  at work", &heights(&highest(&pool.at_work(), timeline, columns), count), text);
    for member in &pool.members {
        let band: String =
            faces(member, timeline, columns).into_iter().map(shade_of_member).collect();
        row(&format!("  {}", member.name), &band, text);
    }
    for (name, steps) in [("  frozen", &pool.frozen), ("  fallback", &pool.fallback)] {
        let on = highest(steps, timeline, columns);
        if on.contains(&true) {
            let on: String = on.into_iter().map(|on| if on { '█' } else { ' ' }).collect();
            row(name, &on, text);
        }
    }
}

const fn shade_of_member(shown: Shown) -> char {
    match shown {
        Shown::Nothing => ' ',
        Shown::In(_) => '░',
        Shown::Standby => 's',
        Shown::Busy => 'b',
        Shown::Drained => 'd',
        Shown::Out => '█',
    }
}

/// A node's role as a letter; its holding the address as a block.
const fn shade_of(role: Option<Role>, held: bool) -> char {
    match role {
        _ if held => '█',
        None => ' ',
        Some(Role::Init) => 'i',
        Some(Role::Standby) => 's',
        Some(Role::Active) => 'a',
        Some(Role::Down) => 'd',
    }
}

/// Anything that is not nothing is seen.
fn heights(values: &[u16], full: u16) -> String {
    let height = |value: &u16| {
        let eighths = (u32::from(*value) * 8 / u32::from(full.max(1))).min(8);
        let eighths = if *value > 0 { eighths.max(1) } else { 0 };
        HEIGHTS.get(eighths as usize).copied().unwrap_or('█')
    };
    values.iter().map(height).collect()
}

const fn shade(status: Status) -> char {
    match status {
        Status::Unknown => ' ',
        Status::Ok => '░',
        Status::Degraded => '▒',
        Status::Faulted => '█',
        Status::Offline => '▁',
    }
}

fn axis(timeline: &Timeline, columns: usize) -> String {
    let mut axis = vec![' '; columns];
    let mut free = 0;
    for tick in ticks(timeline, (columns as u64 / 12).max(2)) {
        let at = column(tick.at, timeline, columns);
        let label: Vec<char> = tick.label.chars().collect();
        if at < free || at + label.len() > columns {
            continue;
        }
        for (slot, letter) in axis.iter_mut().skip(at).zip(&label) {
            *slot = *letter;
        }
        free = at + label.len() + 1;
    }
    axis.into_iter().collect()
}

fn row(name: &str, columns: &str, text: &mut String) {
    let name = cut(name, LEFT - 1);
    let _ = writeln!(text, "{}", format!("{name:LEFT$}{columns}").trim_end());
}
