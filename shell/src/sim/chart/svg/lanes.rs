//! Lanes of the picture: what nodes were, where services ran, who was in a pool, lines of a board.

use giveover_core::monitor::Status;
use giveover_core::time::Instant;

use super::{
    AREA_COLUMNS, BAND, BUDGET, GAP, HEADING, LEFT, LINE, RIGHT, escaped, label, put, stairs,
};
use crate::sim::chart::{Shown, faces, highest, presence, roles};
use crate::sim::timeline::{Lane, Line, PoolLane, Stay, Timeline, role_word};

/// From one member of a pool to the next.
const MEMBER: usize = BAND + 8;
/// What says that a pool stood still, or that its fallback acted.
const BAR: usize = 24;

/// A node's roles, and under them a bar while it holds the address.
pub(super) fn role_band(lane: &Lane, timeline: &Timeline, top: usize, out: &mut String) {
    label(&escaped(&lane.name), top + 19, out);
    let roles = roles(lane, timeline, AREA_COLUMNS);
    let mut x = LEFT;
    for run in roles.chunk_by(|(one, _), (next, _)| one == next) {
        let (Some((role, _)), width) = (run.first(), run.len()) else { continue };
        let word = role_word(*role);
        let class = match word {
            "active" => "ok",
            "standby" => "standby",
            "down" => "faulted",
            "off" => "offline",
            _ => "unknown",
        };
        put(
            out,
            format_args!(
                "<rect class=\"{class}\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{BAND}\"/>"
            ),
        );
        if width >= 12 * word.len() && class != "unknown" {
            let (x, y) = (x + width / 2, top + 18);
            put(out, format_args!("<text class=\"on mid\" x=\"{x}\" y=\"{y}\">{word}</text>"));
        }
        out.push('\n');
        x += width;
    }
    let mut x = LEFT;
    for run in roles.chunk_by(|(_, one), (_, next)| one == next) {
        let width = run.len();
        if run.first().is_some_and(|(_, held)| *held) {
            let y = top + BAND + 3;
            put(
                out,
                format_args!(
                    "<rect class=\"holds\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"6\"/>"
                ),
            );
            if width >= 160 {
                let (x, y) = (x + 4, y + 20);
                put(
                    out,
                    format_args!(
                        "<text class=\"soft\" x=\"{x}\" y=\"{y}\">holds the address</text>"
                    ),
                );
            }
            out.push('\n');
        }
        x += width;
    }
}

/// A line of the board, as a wave.
pub(super) fn wave(line: &Line, timeline: &Timeline, top: usize, out: &mut String) {
    let (high, low) = (top + 8, top + LINE - 20);
    label(&escaped(&line.name), low, out);
    let steps: Vec<(Instant, u8)> =
        line.edges.iter().map(|(at, held)| (*at, u8::from(*held))).collect();
    let levels = highest(&steps, timeline, AREA_COLUMNS);
    let mut path = format!("M{LEFT} {low}");
    let mut x = LEFT;
    for run in levels.chunk_by(|one, next| one == next) {
        let y = if run.first().is_some_and(|held| *held > 0) { high } else { low };
        x += run.len();
        path += &format!("V{y}H{x}");
    }
    put(out, format_args!("<path class=\"wave\" d=\"{path}\"/>\n"));
}

/// Where a service that moves ran on one node, and how it was there.
pub(super) fn stay_band(stay: &Stay, timeline: &Timeline, top: usize, out: &mut String) {
    label(&format!("on {}", escaped(&stay.node)), top + 19, out);
    let middle = top + BAND / 2;
    put(
        out,
        format_args!(
            "<line class=\"rule\" x1=\"{LEFT}\" y1=\"{middle}\" x2=\"{RIGHT}\" y2=\"{middle}\"/>\n"
        ),
    );
    let there = presence(stay, timeline, AREA_COLUMNS);
    runs(
        &there,
        |status, x, width, out| {
            let Some(status) = status else { return };
            // what has not been probed yet runs all the same
            let word = if *status == Status::Unknown { "runs" } else { status.word() };
            band(status.word(), x, (top, BAND), width, word, out);
        },
        out,
    );
}

/// How much a pool takes on the sheet.
pub(super) fn pool_height(pool: &PoolLane) -> usize {
    HEADING + BUDGET + GAP + pool.members.len() * MEMBER + bars(pool).count() * BAR + GAP + 18
}

/// What stands in a bar of its own, where it ever was so.
fn bars(pool: &PoolLane) -> impl Iterator<Item = (&'static str, &[(Instant, bool)])> {
    let all = [("frozen", pool.frozen.as_slice()), ("fallback", pool.fallback.as_slice())];
    all.into_iter().filter(|(_, steps)| steps.iter().any(|(_, on)| *on))
}

/// How many of a pool got new work, and what the balancer was shown of each.
pub(super) fn pool(pool: &PoolLane, timeline: &Timeline, top: usize, out: &mut String) {
    let (y, name, count) = (top + 22, escaped(&pool.name), pool.members.len());
    let s = if count == 1 { "" } else { "s" };
    let stay = match pool.least {
        0 => String::new(),
        1 => ", 1 stays in".to_owned(),
        least => format!(", {least} stay in"),
    };
    put(
        out,
        format_args!(
            "<text class=\"name\" x=\"24\" y=\"{y}\">{name}</text>\
             <text class=\"soft end\" x=\"{RIGHT}\" y=\"{y}\">{count} member{s}{stay}</text>\n"
        ),
    );
    let base = top + HEADING + BUDGET;
    let (most, room) = (count.max(1), BUDGET - 10);
    label("at work", base - 4, out);
    label(&count.to_string(), base - room + 6, out);
    stairs("budget", &highest(&pool.at_work(), timeline, AREA_COLUMNS), most, base, room, out);
    let rule = |class: &str, y: usize, out: &mut String| {
        put(
            out,
            format_args!(
                "<line class=\"{class}\" x1=\"{LEFT}\" y1=\"{y}\" x2=\"{RIGHT}\" y2=\"{y}\"/>\n"
            ),
        );
    };
    rule("rule", base, out);
    if pool.least > 0 {
        rule("limit", base - usize::from(pool.least).min(most) * room / most, out);
    }
    let mut top = base + GAP;
    for member in &pool.members {
        label(&escaped(&member.name), top + 19, out);
        let faces = faces(member, timeline, AREA_COLUMNS);
        runs(
            &faces,
            |shown, x, width, out| {
                if let Some((class, high, word)) = drawn(*shown) {
                    band(class, x, (top + BAND - high, high), width, &word, out);
                }
            },
            out,
        );
        top += MEMBER;
    }
    for (name, steps) in bars(pool) {
        label(name, top + 16, out);
        runs(
            &highest(steps, timeline, AREA_COLUMNS),
            |on, x, width, out| {
                if *on {
                    band("holds", x, (top + 6, 8), width, "", out);
                }
            },
            out,
        );
        top += BAR;
    }
}

/// What a member is drawn as: its class, how high, and the word on it. What gets less work is lower.
fn drawn(shown: Shown) -> Option<(&'static str, usize, String)> {
    let (class, high, word) = match shown {
        Shown::Nothing => return None,
        Shown::In(share) if share.0 < 100 => {
            let high = (usize::from(share.0) * BAND / 100).max(10);
            ("ok", high, format!("{} %", share.0))
        }
        Shown::In(_) => ("ok", BAND, "in".to_owned()),
        Shown::Busy => ("degraded", BAND, "busy".to_owned()),
        Shown::Standby => ("standby", BAND / 2, "standby".to_owned()),
        Shown::Drained => ("offline", 8, "drained".to_owned()),
        Shown::Out => ("faulted", 4, "out".to_owned()),
    };
    Some((class, high, word))
}

/// What the bands of members are, in words.
pub(super) fn pool_legend(y: usize, out: &mut String) {
    let all = [
        (30, "in, as high as its share", Shown::In(std::cmp::Reverse(100))),
        (276, "busy", Shown::Busy),
        (376, "standby", Shown::Standby),
        (500, "drained", Shown::Drained),
        (620, "out", Shown::Out),
    ];
    for (x, words, shown) in all {
        let Some((class, high, _)) = drawn(shown) else { continue };
        band(class, x, (y + 4 - high, high), 26, "", out);
        let x = x + 36;
        put(out, format_args!("<text x=\"{x}\" y=\"{y}\">{words}</text>"));
    }
    put(
        out,
        format_args!("<text class=\"soft\" x=\"720\" y=\"{y}\">dashed: so many stay in</text>\n"),
    );
}

/// Tells `draw` of each run of equal columns: what, where, how wide.
fn runs<T: PartialEq>(
    columns: &[T],
    mut draw: impl FnMut(&T, usize, usize, &mut String),
    out: &mut String,
) {
    let mut x = LEFT;
    for run in columns.chunk_by(|one, next| one == next) {
        if let Some(first) = run.first() {
            draw(first, x, run.len(), out);
        }
        x += run.len();
    }
}

/// A bar from `(top, height)`, with a word on it, or over it where it is too low, if it is wide enough.
fn band(
    class: &str,
    x: usize,
    (top, high): (usize, usize),
    width: usize,
    word: &str,
    out: &mut String,
) {
    put(
        out,
        format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{high}\"/>"
        ),
    );
    if !word.is_empty() && width >= 12 * word.len() {
        let x = x + width / 2;
        let (class, y) = match high {
            _ if class == "unknown" => ("soft", top + 18),
            0..18 => ("soft", top - 3),
            _ => ("on", top + high / 2 + 6),
        };
        put(out, format_args!("<text class=\"{class} mid\" x=\"{x}\" y=\"{y}\">{word}</text>"));
    }
    out.push('\n');
}
