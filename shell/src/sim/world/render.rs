//! What a world came to, in words and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::many::{Many, Run};
use super::outcome::{Difference, Figures, Outcome};
use crate::config::many as counted;
use crate::message::span;
use crate::report::table::wide;
use crate::sim::timeline::role_word;

/// More happenings than these are only counted.
const MOST: usize = 200;

/// The exit status of a world: 1 if anything is not as it should be.
#[must_use]
pub fn exit_status(outcome: &Outcome) -> u8 {
    u8::from(!outcome.is_right())
}

/// What happened, the figures, and what is not as it should be. `file` is what places are told with.
#[must_use]
pub fn text(outcome: &Outcome, file: &str) -> String {
    let mut text = String::new();
    let mut parts = Vec::new();
    if !outcome.services.is_empty() {
        parts.push(counted(outcome.services.len(), "service"));
    }
    let nodes = outcome.timeline.as_ref().map_or(0, |timeline| timeline.lanes.len());
    if nodes > 0 {
        parts.push(counted(nodes, "node"));
    }
    if !outcome.pools.is_empty() {
        parts.push(counted(outcome.pools.len(), "pool"));
    }
    let services = if parts.is_empty() { "a board".to_owned() } else { parts.join(" and ") };
    let length = span::compact(outcome.length);
    let events = outcome.events;
    let seed = outcome.seed;
    let _ =
        writeln!(text, "{}: {length} of {services}, seed {seed}, {events} events", outcome.name);
    happenings(outcome, &mut text);
    figures(outcome, &mut text);
    wrong(outcome, file, &mut text);
    text
}

fn happenings(outcome: &Outcome, text: &mut String) {
    let Some(timeline) = &outcome.timeline else { return };
    let names = timeline.tracks.iter().map(|track| &track.name);
    let names = names.chain(timeline.lanes.iter().map(|lane| &lane.name));
    let names = names.chain(outcome.pools.iter().map(|(name, _)| name));
    let width = names.map(|name| wide(name)).max().unwrap_or(0);
    let mut all: Vec<_> = timeline
        .tracks
        .iter()
        .flat_map(|track| {
            let told = track.marks.iter().filter(|mark| !mark.what.is_routine());
            told.map(|mark| (mark.at, &track.name, mark.what.words()))
        })
        .collect();
    all.sort_by_key(|(at, ..)| *at);
    let edges = timeline.lines.iter().flat_map(|line| {
        let told = line.edges.iter().skip(1);
        told.map(|(at, held)| (*at, &line.name, if *held { "held" } else { "released" }.to_owned()))
    });
    all.extend(edges);
    for lane in &timeline.lanes {
        all.extend(lane.told().map(|(at, word)| (at, &lane.name, word.to_owned())));
    }
    for pool in &timeline.pools {
        all.extend(pool.told.iter().map(|(at, word)| (*at, &pool.name, word.clone())));
    }
    all.sort_by_key(|(at, ..)| *at);
    let more = all.len().saturating_sub(MOST);
    text.push('\n');
    for (at, name, what) in all.into_iter().take(MOST) {
        let at = timeline.calendar.time(at);
        let _ = writeln!(text, "{at:>14}  {name:width$}  {what}");
    }
    if more > 0 {
        let _ = writeln!(text, "{:14}  and {more} more", "");
    }
}

fn figures(outcome: &Outcome, text: &mut String) {
    let head = [
        "SERVICE",
        "RESTARTS",
        "NEEDLESS",
        "GIVEOVERS",
        "DENIED",
        "DEATHS",
        "OUTAGE",
        "LONGEST",
        "DETECTED IN",
        "ENDS",
    ];
    let mut rows: Vec<Vec<String>> = vec![head.iter().map(|it| (*it).to_owned()).collect()];
    for (name, it) in outcome.names.iter().zip(&outcome.services) {
        rows.push(vec![
            name.to_string(),
            it.restarts.len().to_string(),
            it.needless.len().to_string(),
            it.giveovers.len().to_string(),
            it.denials.to_string(),
            it.deaths.len().to_string(),
            span::short(it.outage),
            span::short(it.longest_outage),
            span::short(it.detection),
            it.last.word().to_owned(),
        ]);
    }
    text.push('\n');
    if !outcome.services.is_empty() {
        table(&rows, text);
    }
    if let Some(group) = &outcome.group {
        let takeovers = counted(group.takeovers.len(), "takeover");
        let (unheld, longest) = (span::short(group.unheld), span::short(group.longest_unheld));
        let _ = writeln!(
            text,
            "nodes: {takeovers}; the address was without a holder for {unheld}, {longest} at a stretch"
        );
        if let Some(at) = group.two {
            let _ = writeln!(text, "nodes: two held the address at {}", span::short(at));
        }
    }
    for (name, pool) in &outcome.pools {
        let _ = writeln!(
            text,
            "{name}: {}; nobody took work for {}, {} at a stretch; {} went to who did none",
            counted(pool.exclusions.len(), "exclusion"),
            span::short(pool.unserved),
            span::short(pool.longest_unserved),
            span::short(pool.misled)
        );
    }
    if !outcome.resets.is_empty() || !outcome.boots.is_empty() {
        let (resets, boots) = (outcome.resets.len(), outcome.boots.len());
        let _ = writeln!(text, "host: {}, {}", counted(resets, "reset"), counted(boots, "boot"));
    }
}

fn table(rows: &[Vec<String>], text: &mut String) {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| wide(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(place, (cell, width))| {
            if place == 0 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn wrong(outcome: &Outcome, file: &str, text: &mut String) {
    text.push('\n');
    let (mut expected, mut differing) = (0, 0);
    for told in &outcome.told {
        expected += 1;
        differing += usize::from(!told.differences.is_empty());
        for Difference { key, expected, came } in &told.differences {
            let who = match (*key, &told.role, &told.service) {
                ("role", Some((node, _)), _) => format!("{node}: "),
                ("role" | "holders", ..) => String::new(),
                (key, ..) if told.is_of_pool(key) => {
                    told.pool.as_ref().map_or(String::new(), |pool| format!("{}: ", pool.name))
                }
                (_, _, service) => {
                    service.as_ref().map_or(String::new(), |name| format!("{name}: "))
                }
            };
            let place = format!("{file}:{}: ", told.line);
            let _ = writeln!(text, "{place}{who}- {key} = {expected}");
            let _ = writeln!(text, "{:indent$}{who}+ {key} = {came}", "", indent = place.len());
        }
    }
    for (line, column, why) in &outcome.broken_claims {
        let _ = writeln!(text, "{file}:{line}:{column}: {why}");
    }
    if let Some((at, why)) = &outcome.broken {
        let at = span::short(*at);
        let _ = writeln!(text, "at {at} an invariant does not hold: {why}");
    }
    let (claims, broken) = (outcome.claims, outcome.broken_claims.len());
    let said = format!("{}, {}", counted(expected, "expectation"), counted(claims, "claim"));
    let verdict = match (expected + claims, differing + broken) {
        (0, 0) => "nothing was expected".to_owned(),
        (_, 0) => format!("{said}: all as it should be"),
        (_, 1) => format!("{said}: 1 does not hold"),
        (_, wrong) => format!("{said}: {wrong} do not hold"),
    };
    let _ = writeln!(text, "{verdict}");
}

/// One object for each thing that happened, then one for each expectation, then the whole.
#[must_use]
pub fn json_lines(outcome: &Outcome) -> String {
    let mut text = String::new();
    let mut line = |value: Value| {
        let _ = writeln!(text, "{value}");
    };
    for track in outcome.timeline.iter().flat_map(|timeline| &timeline.tracks) {
        for mark in track.marks.iter().filter(|mark| !mark.what.is_routine()) {
            line(json!({
                "scenario": outcome.name,
                "at_ms": mark.at.as_millis(),
                "service": &*track.name,
                "what": mark.what.words(),
            }));
        }
    }
    for told in &outcome.told {
        line(json!({
            "scenario": outcome.name,
            "at_ms": told.at,
            "service": told.service.as_deref(),
            "status": told.status.map(giveover_core::monitor::Status::word),
            "failure_sum": told.failure_sum,
            "restarts": told.restarts,
            "actions": told.actions,
            "board": told.board.map(giveover_core::board::State::word),
            "resets": told.resets,
            "node": told.role.as_ref().map(|(node, _)| &**node),
            "role": told.role.as_ref().map(|(_, role)| role),
            "holders": told.holders.as_ref()
                .map(|names| names.iter().map(|name| &**name).collect::<Vec<_>>()),
            "runs": told.runs.as_ref()
                .map(|names| names.iter().map(|name| &**name).collect::<Vec<_>>()),
            "pool": told.pool.as_ref().map(|pool| &*pool.name),
            "differences": told.differences.iter().map(|it| {
                json!({ "key": it.key, "expected": it.expected, "came": it.came })
            }).collect::<Vec<_>>(),
        }));
    }
    for lane in outcome.timeline.iter().flat_map(|timeline| &timeline.lanes) {
        for (at, role) in &lane.roles {
            line(json!({
                "scenario": outcome.name,
                "at_ms": at.as_millis(),
                "node": &*lane.name,
                "role": role_word(*role),
            }));
        }
        for (at, held) in &lane.held {
            line(json!({
                "scenario": outcome.name,
                "at_ms": at.as_millis(),
                "node": &*lane.name,
                "holds": held,
            }));
        }
    }
    for pool in outcome.timeline.iter().flat_map(|timeline| &timeline.pools) {
        for (at, what) in &pool.told {
            line(json!({
                "scenario": outcome.name,
                "at_ms": at.as_millis(),
                "pool": &*pool.name,
                "what": what,
            }));
        }
    }
    line(json!({
        "scenario": outcome.name,
        "seed": outcome.seed,
        "length_ms": outcome.length,
        "events": outcome.events,
        "services": outcome.names.iter().zip(&outcome.services)
            .map(|(name, figures)| service(name, figures)).collect::<Vec<_>>(),
        "resets": outcome.resets,
        "boots": outcome.boots,
        "nodes": outcome.group.as_ref().map(|group| json!({
            "takeovers": group.takeovers,
            "unheld_ms": group.unheld,
            "longest_unheld_ms": group.longest_unheld,
            "two_holders_ms": group.two,
        })),
        "pools": outcome.pools.iter().map(|(name, pool)| json!({
            "name": &**name,
            "exclusions": pool.exclusions,
            "unserved_ms": pool.unserved,
            "longest_unserved_ms": pool.longest_unserved,
            "misled_ms": pool.misled,
        })).collect::<Vec<_>>(),
        "claims": outcome.claims,
        "broken_claims": outcome.broken_claims.iter().map(|(line, column, why)| {
            json!({ "line": line, "column": column, "why": why })
        }).collect::<Vec<_>>(),
        "broken_invariant": outcome.broken.as_ref()
            .map(|(at, why)| json!({ "at_ms": at, "why": why })),
        "right": outcome.is_right(),
    }));
    text
}

fn service(name: &str, figures: &Figures) -> Value {
    json!({
        "name": name,
        "restarts": figures.restarts,
        "needless": figures.needless.len(),
        "giveovers": figures.giveovers,
        "denials": figures.denials,
        "deaths": figures.deaths.len(),
        "outage_ms": figures.outage,
        "longest_outage_ms": figures.longest_outage,
        "detection_ms": figures.detection,
        "status": figures.last.word(),
    })
}

/// Percentiles of many runs, and the command that replays the worst. `file` is what was asked for.
#[must_use]
pub fn many_text(many: &Many, file: &str) -> String {
    let mut text = String::new();
    let (runs, length) = (counted(many.runs.len(), "run"), span::compact(many.length));
    let _ = writeln!(text, "{}: {runs} of {length} each\n", many.name);
    let head = ["PER RUN", "MEAN", "50%", "90%", "99%", "99.9%", "MOST"];
    let mut rows: Vec<Vec<String>> = vec![head.iter().map(|it| (*it).to_owned()).collect()];
    for (name, is_time, figure) in many.figures() {
        let [mean, points @ ..] = points(many, figure);
        let shown = |value: u64| if is_time { span::short(value) } else { value.to_string() };
        let mean = if is_time { span::short(mean) } else { tenths(many, figure) };
        let cells = points.into_iter().map(shown);
        rows.push([name.to_owned(), mean].into_iter().chain(cells).collect());
    }
    table(&rows, &mut text);
    if let Some(worst) = many.worst() {
        let seed = worst.seed;
        let _ =
            writeln!(text, "\nthe worst is seed {seed}: giveover simulate {file} --seed {seed}");
    }
    match many.wrong() {
        0 => {}
        1 => text += "1 of them is not as it should be\n",
        wrong => {
            let _ = writeln!(text, "{wrong} of them are not as they should be");
        }
    }
    text
}

/// Mean, 50, 90, 99, 99.9 % and the most.
fn points(many: &Many, figure: fn(&Run) -> u64) -> [u64; 6] {
    let mut sorted: Vec<u64> = many.runs.iter().map(figure).collect();
    sorted.sort_unstable();
    let count = sorted.len().max(1) as u64;
    let sum: u128 = sorted.iter().map(|value| u128::from(*value)).sum();
    let mean = u64::try_from(sum / u128::from(count)).unwrap_or(u64::MAX);
    let rank = (sorted.len() * 999).div_ceil(1000).saturating_sub(1);
    let at = |percent| Many::percentile(&sorted, percent);
    [
        mean,
        at(50),
        at(90),
        at(99),
        sorted.get(rank).copied().unwrap_or(0),
        sorted.last().copied().unwrap_or(0),
    ]
}

/// A mean with a tenth: most runs have a few of a thing, or none.
fn tenths(many: &Many, figure: fn(&Run) -> u64) -> String {
    let count = many.runs.len().max(1) as u128;
    let sum: u128 = many.runs.iter().map(|run| u128::from(figure(run))).sum();
    let tenths = (sum * 100 / count + 5) / 10;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// The same for machines: one object.
#[must_use]
pub fn many_json(many: &Many) -> Value {
    let figures = many.figures().map(|(name, is_time, figure)| {
        let [mean, p50, p90, p99, p999, most] = points(many, figure);
        let unit = if is_time { "_ms" } else { "" };
        (
            format!("{}{unit}", name.replace(' ', "_")),
            json!({
                "mean": mean, "p50": p50, "p90": p90, "p99": p99, "p99_9": p999, "most": most,
            }),
        )
    });
    json!({
        "scenario": many.name,
        "runs": many.runs.len(),
        "length_ms": many.length,
        "events": many.runs.iter().map(|run| run.events).sum::<u64>(),
        "figures": serde_json::Map::from_iter(figures),
        "worst_seed": many.worst().map(|run| run.seed),
        "wrong": many.wrong(),
        "wrong_seeds": many.runs.iter().filter(|run| run.wrong).map(|run| run.seed)
            .take(20).collect::<Vec<_>>(),
    })
}
