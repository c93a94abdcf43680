//! The picture for a browser: one SVG without scripts, light or dark as the reader has it.
//!
//! Drawn for reading at arm's length: nothing is smaller than 15 px of 1280, colours only repeat
//! what shapes and words say.

mod lanes;

use std::fmt::Write as _;

use giveover_core::monitor::Status;
use giveover_core::time::Instant;

use self::lanes::{pool, pool_height, pool_legend, role_band, stay_band, wave};
use super::scale::ticks;
use super::{Sign, column, gravest, highest, signs};
use crate::config::quantity::written;
use crate::sim::timeline::{Mark, Timeline, Track, What};

const WIDTH: usize = 1280;
/// Where the columns begin and end.
const LEFT: usize = 130;
const RIGHT: usize = 1250;
/// One column for each of these pixels in bands and areas; probes take four.
const AREA_COLUMNS: usize = RIGHT - LEFT;
const PROBE_COLUMNS: usize = (RIGHT - LEFT) / 8;

const HEADING: usize = 34;
const BAND: usize = 26;
const DECISIONS: usize = 30;
const PROBES: usize = 44;
const SUM: usize = 110;
const BUDGET: usize = 56;
const GAP: usize = 12;
const TRACK: usize = HEADING + BAND + DECISIONS + PROBES + SUM + BUDGET + 4 * GAP + 18;
const LINE: usize = 58;
const LANE: usize = BAND + 26;
const STAY: usize = BAND + 6;
/// From one line of the legend to the next.
const LEGEND: usize = 34;

/// The colours, once for each background.
pub(super) const STYLE: &str = "\
:root{--paper:#fff;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;--ok:#2da44e;--degraded:#bf8700;\
--faulted:#cf222e;--offline:#6e7781;--unknown:#eaeef2;--sum:#8250df;--budget:#0969da;--on-band:#fff}\
@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#f0f6fc;--soft:#9198a1;--rule:#3d444d;\
--ok:#3fb950;--degraded:#d29922;--faulted:#f85149;--offline:#9198a1;--unknown:#21262d;--sum:#ab7df8;\
--budget:#4493f8;--on-band:#0d1117}}";

const SVG_STYLE: &str = "\
.paper{fill:var(--paper)}text{fill:var(--ink);font:16px system-ui,sans-serif}\
.title{font-size:24px;font-weight:600}.name{font-size:20px;font-weight:600}.soft{fill:var(--soft)}\
.end{text-anchor:end}.mid{text-anchor:middle}.on{fill:var(--on-band);font-weight:600}\
.rule{stroke:var(--rule);stroke-width:1.5}.limit{stroke:var(--ink);stroke-width:2;stroke-dasharray:7 5}\
.ok{fill:var(--ok)}.degraded{fill:var(--degraded)}.faulted{fill:var(--faulted)}\
.offline{fill:var(--offline)}.unknown{fill:var(--unknown)}\
.sum{fill:var(--sum);fill-opacity:.35;stroke:var(--sum);stroke-width:2.5}\
.budget{fill:var(--budget);fill-opacity:.3;stroke:var(--budget);stroke-width:2.5}\
.wave{fill:none;stroke:var(--ink);stroke-width:3}\
.sign{stroke:var(--faulted);stroke-width:3.5;stroke-linecap:round;fill:none}\
.standby{fill:var(--budget)}.holds{fill:var(--ink)}\
.part{fill:var(--degraded)}.asked{fill:var(--budget)}.given{fill:var(--faulted)}\
.letter{fill:var(--on-band);font-size:15px;font-weight:700;text-anchor:middle}";

/// The whole picture, as a file of its own.
#[must_use]
pub fn svg(timeline: &Timeline) -> String {
    let title = escaped(&timeline.title);
    sheet(timeline, &format!("<text class=\"title\" x=\"24\" y=\"42\">{title}</text>\n"))
}

/// The picture with `heading` on top of it.
pub(super) fn sheet(timeline: &Timeline, heading: &str) -> String {
    let lanes = timeline.lanes.len() * LANE;
    let lanes = if lanes > 0 { lanes + GAP } else { 0 };
    let tracks: usize = timeline.tracks.iter().map(track_height).sum();
    let pools: usize = timeline.pools.iter().map(pool_height).sum();
    let below = if timeline.pools.is_empty() { 110 } else { 110 + LEGEND };
    let height = 70 + lanes + tracks + pools + timeline.lines.len() * LINE + below;
    let mut out = String::new();
    let title = escaped(&timeline.title);
    put(
        &mut out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
             <style>{STYLE}{SVG_STYLE}</style>\n\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n{heading}"
        ),
    );
    let bottom = height - below;
    grid(timeline, 60, bottom, &mut out);
    let mut top = 70;
    for lane in &timeline.lanes {
        role_band(lane, timeline, top, &mut out);
        top += LANE;
    }
    if !timeline.lanes.is_empty() {
        top += GAP;
    }
    for track in &timeline.tracks {
        one(track, timeline, top, &mut out);
        top += track_height(track);
    }
    for lane in &timeline.pools {
        pool(lane, timeline, top, &mut out);
        top += pool_height(lane);
    }
    for line in &timeline.lines {
        wave(line, timeline, top, &mut out);
        top += LINE;
    }
    legend(bottom + 58, &mut out);
    if !timeline.pools.is_empty() {
        pool_legend(bottom + 58 + LEGEND, &mut out);
    }
    out += "</svg>\n";
    out
}

fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(what); // a String takes everything
}

/// Text that cannot be taken for markup. What a service is called may be anything.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

/// Where an instant is across the sheet.
fn across(at: Instant, timeline: &Timeline) -> usize {
    LEFT + column(at, timeline, AREA_COLUMNS)
}

fn grid(timeline: &Timeline, top: usize, bottom: usize, out: &mut String) {
    for tick in ticks(timeline, 9) {
        let x = across(tick.at, timeline);
        let label = escaped(&tick.label);
        put(
            out,
            format_args!(
                "<line class=\"rule\" x1=\"{x}\" y1=\"{top}\" x2=\"{x}\" y2=\"{bottom}\"/>\
                 <text class=\"soft mid\" x=\"{x}\" y=\"{y}\">{label}</text>\n",
                y = bottom + 24
            ),
        );
    }
}

fn track_height(track: &Track) -> usize {
    TRACK + track.stays.len() * STAY
}

fn one(track: &Track, timeline: &Timeline, top: usize, out: &mut String) {
    heading(track, top, out);
    let mut band = top + HEADING;
    for stay in &track.stays {
        stay_band(stay, timeline, band, out);
        band += STAY;
    }
    status_band(track, timeline, band, out);
    let probes = band + BAND + DECISIONS + GAP;
    label("probes", probes + PROBES / 2 + 6, out);
    probe_marks(&track.marks, timeline, probes, out);
    let sum = probes + PROBES + GAP;
    area(track, timeline, sum, out);
    let budget = sum + SUM + GAP;
    restarts(track, timeline, budget, out);
    decisions(&track.marks, timeline, band + BAND + 8, budget + BUDGET, out);
}

fn heading(track: &Track, top: usize, out: &mut String) {
    let count = |wanted: fn(What) -> bool| track.marks.iter().filter(|it| wanted(it.what)).count();
    let restarts = count(|what| matches!(what, What::Restart { .. }));
    let giveovers = count(|what| what == What::Giveover);
    let budget = match track.retry_count {
        None => "restarts without end".to_owned(),
        Some(1) => format!("budget 1 restart in {}", written(track.retry_interval)),
        Some(count) => format!("budget {count} restarts in {}", written(track.retry_interval)),
    };
    let s = |count: usize| if count == 1 { "" } else { "s" };
    let (y, name) = (top + 22, escaped(&track.name));
    put(
        out,
        format_args!(
            "<text class=\"name\" x=\"24\" y=\"{y}\">{name}</text>\
             <text class=\"soft end\" x=\"{RIGHT}\" y=\"{y}\">{restarts} restart{}, {giveovers} \
             giveover{}; {budget}</text>\n",
            s(restarts),
            s(giveovers)
        ),
    );
}

fn label(text: &str, y: usize, out: &mut String) {
    let x = LEFT - 14;
    put(out, format_args!("<text class=\"soft end\" x=\"{x}\" y=\"{y}\">{text}</text>\n"));
}

fn status_band(track: &Track, timeline: &Timeline, top: usize, out: &mut String) {
    label("status", top + 19, out);
    let statuses = gravest(&track.statuses, timeline, AREA_COLUMNS);
    let mut x = LEFT;
    for run in statuses.chunk_by(|one, next| one == next) {
        let (Some(status), width) = (run.first(), run.len()) else { continue };
        let word = status.word();
        put(
            out,
            format_args!(
                "<rect class=\"{word}\" x=\"{x}\" y=\"{top}\" width=\"{width}\" height=\"{BAND}\"/>"
            ),
        );
        if width >= 12 * word.len() && *status != Status::Unknown {
            let (x, y) = (x + width / 2, top + 18);
            put(out, format_args!("<text class=\"on mid\" x=\"{x}\" y=\"{y}\">{word}</text>"));
        }
        out.push('\n');
        x += width;
    }
}

fn probe_marks(marks: &[Mark], timeline: &Timeline, top: usize, out: &mut String) {
    let base = top + PROBES;
    put(
        out,
        format_args!(
            "<line class=\"rule\" x1=\"{LEFT}\" y1=\"{base}\" x2=\"{RIGHT}\" y2=\"{base}\"/>\n"
        ),
    );
    let signs = signs(marks, timeline, PROBE_COLUMNS, |sign| !sign.is_decision());
    for (place, sign) in signs.into_iter().enumerate() {
        let Some(sign) = sign else { continue };
        let x = LEFT + place * (RIGHT - LEFT) / PROBE_COLUMNS + 4;
        let middle = top + PROBES / 2;
        match sign {
            Sign::Healthy => put(
                out,
                format_args!("<circle class=\"ok\" cx=\"{x}\" cy=\"{}\" r=\"3\"/>\n", base - 6),
            ),
            Sign::Part(weight) => {
                let height = 10 + usize::from(weight) * (PROBES - 12) / 100;
                let (l, r, t) = (x.saturating_sub(5), x + 5, base - height);
                put(
                    out,
                    format_args!("<path class=\"part\" d=\"M{l} {base}L{r} {base}L{x} {t}Z\"/>\n"),
                );
            }
            Sign::Complete | Sign::Immediate => {
                let (l, r, t, b) = (x.saturating_sub(6), x + 6, middle - 6, middle + 6);
                put(
                    out,
                    format_args!("<path class=\"sign\" d=\"M{l} {t}L{r} {b}M{l} {b}L{r} {t}\"/>\n"),
                );
            }
            Sign::Died => {
                let (l, r, t, b) = (x.saturating_sub(6), x + 6, top + 4, base);
                let y = top + 15;
                put(
                    out,
                    format_args!("<path class=\"sign\" d=\"M{x} {t}L{x} {b}M{l} {y}L{r} {y}\"/>\n"),
                );
            }
            Sign::Unmeasured | Sign::Void => {
                let letter = sign.letter();
                let y = base - 6;
                put(out, format_args!("<text class=\"mid\" x=\"{x}\" y=\"{y}\">{letter}</text>\n"));
            }
            Sign::Restart | Sign::Giveover => {} // drawn over everything
        }
    }
}

/// The sum of weights against 100.
fn area(track: &Track, timeline: &Timeline, top: usize, out: &mut String) {
    let sums = highest(&track.sums, timeline, AREA_COLUMNS);
    let most = usize::from(sums.iter().copied().max().unwrap_or(0)).max(120);
    let (base, limit) = (top + SUM, top + SUM - 100 * SUM / most);
    label("sum", base - 4, out);
    label("100", limit + 6, out);
    stairs("sum", &sums, most, base, SUM, out);
    put(
        out,
        format_args!(
            "<line class=\"limit\" x1=\"{LEFT}\" y1=\"{limit}\" x2=\"{RIGHT}\" y2=\"{limit}\"/>\
             <line class=\"rule\" x1=\"{LEFT}\" y1=\"{base}\" x2=\"{RIGHT}\" y2=\"{base}\"/>\n"
        ),
    );
}

/// Live restarts against the budget.
fn restarts(track: &Track, timeline: &Timeline, top: usize, out: &mut String) {
    let restarts = highest(&track.restarts, timeline, AREA_COLUMNS);
    let made = usize::from(restarts.iter().copied().max().unwrap_or(0));
    let budget = track.retry_count.map(usize::from);
    let most = made.max(budget.unwrap_or(0)).max(1);
    let base = top + BUDGET;
    let room = BUDGET - 10;
    label("restarts", base - 4, out);
    stairs("budget", &restarts, most, base, room, out);
    if let Some(budget) = budget {
        let limit = base - budget * room / most;
        label(&budget.to_string(), limit + 6, out);
        put(
            out,
            format_args!(
                "<line class=\"limit\" x1=\"{LEFT}\" y1=\"{limit}\" x2=\"{RIGHT}\" y2=\"{limit}\"/>"
            ),
        );
    }
    put(
        out,
        format_args!(
            "<line class=\"rule\" x1=\"{LEFT}\" y1=\"{base}\" x2=\"{RIGHT}\" y2=\"{base}\"/>\n"
        ),
    );
}

/// A stepped area over `base`, `room` high at `most`.
fn stairs(class: &str, values: &[u16], most: usize, base: usize, room: usize, out: &mut String) {
    let mut path = format!("M{LEFT} {base}");
    let mut x = LEFT;
    for run in values.chunk_by(|one, next| one == next) {
        let value = run.first().map_or(0, |value| usize::from(*value));
        let y = base - value * room / most;
        x += run.len();
        path += &format!("V{y}H{x}");
    }
    path += &format!("V{base}Z");
    put(out, format_args!("<path class=\"{class}\" d=\"{path}\"/>\n"));
}

/// Restarts and giveovers, across everything of a service.
fn decisions(marks: &[Mark], timeline: &Timeline, top: usize, bottom: usize, out: &mut String) {
    let columns = PROBE_COLUMNS / 3;
    let signs = signs(marks, timeline, columns, Sign::is_decision);
    for (place, sign) in signs.into_iter().enumerate() {
        let Some(sign) = sign else { continue };
        let x = LEFT + place * (RIGHT - LEFT) / columns + 12;
        let (y, letter) = (top + 10, sign.letter());
        let shape = match sign {
            Sign::Giveover => format!(
                "<rect class=\"given\" x=\"{}\" y=\"{}\" width=\"22\" height=\"22\"/>",
                x - 11,
                y - 11
            ),
            _ => format!("<circle class=\"asked\" cx=\"{x}\" cy=\"{y}\" r=\"11\"/>"),
        };
        put(
            out,
            format_args!(
                "<line class=\"rule\" x1=\"{x}\" y1=\"{y}\" x2=\"{x}\" y2=\"{bottom}\"/>{shape}\
                 <text class=\"letter\" x=\"{x}\" y=\"{}\">{letter}</text>\n",
                y + 5
            ),
        );
    }
}

fn legend(y: usize, out: &mut String) {
    let (up, mid) = (y - 5, y - 12);
    put(
        out,
        format_args!(
            "<circle class=\"ok\" cx=\"30\" cy=\"{up}\" r=\"3\"/><text x=\"40\" y=\"{y}\">healthy</text>\
             <path class=\"part\" d=\"M120 {y}L130 {y}L125 {mid}Z\"/>\
             <text x=\"138\" y=\"{y}\">part of a failure</text>\
             <path class=\"sign\" d=\"M284 {mid}L296 {y}M284 {y}L296 {mid}\"/>\
             <text x=\"306\" y=\"{y}\">complete failure</text>\
             <path class=\"sign\" d=\"M462 {t}L462 {y}M456 {up2}L468 {up2}\"/>\
             <text x=\"478\" y=\"{y}\">died</text>\
             <text x=\"538\" y=\"{y}\">? cannot be measured</text>\
             <circle class=\"asked\" cx=\"742\" cy=\"{up}\" r=\"11\"/>\
             <text class=\"letter\" x=\"742\" y=\"{y}\">R</text>\
             <text x=\"760\" y=\"{y}\">restart</text>\
             <rect class=\"given\" x=\"837\" y=\"{r}\" width=\"22\" height=\"22\"/>\
             <text class=\"letter\" x=\"848\" y=\"{y}\">G</text>\
             <text x=\"868\" y=\"{y}\">giveover</text>\
             <text class=\"soft\" x=\"960\" y=\"{y}\">dashed: 100, and the budget</text>\n",
            t = y - 16,
            up2 = y - 10,
            r = y - 16,
        ),
    );
}
