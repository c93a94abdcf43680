//! What a replay came to, in words and as JSON.

use std::fmt::Write as _;

use giveover_core::policy::Policy;
use serde_json::{Value, json};

use super::super::timeline::Track;
use super::recording::{action_words, extent};
use super::{BoardLog, Differs, Other, Pair, Recording, Source, not_ok, rows};
use crate::config::quantity::written;
use crate::message::span;

/// More rows than these are not printed, but for decisions and differences.
const MOST_ROWS: usize = 120;

/// The whole of it for people.
#[must_use]
pub fn text(source: &Source, other: Option<&Other>) -> String {
    let mut text = String::new();
    match source {
        Source::Journal(recording) => {
            let _ = writeln!(text, "{}: {}", recording.name, extent(recording));
            text += &verdict(recording);
            for pair in other.iter().flat_map(|other| &other.services) {
                text.push('\n');
                beside(recording, pair, other.map_or("", |other| &other.name), &mut text);
            }
        }
        Source::Board(log) => text += &of_board(log),
    }
    if let Some(other) = other {
        text.push('\n');
        if other.sentences.is_empty() {
            let _ = writeln!(text, "{} decides the same", other.name);
        }
        for sentence in &other.sentences {
            let _ = writeln!(text, "{sentence}");
        }
        if !other.left.is_empty() {
            let _ = writeln!(text, "not in {}: {}", other.name, other.left.join(", "));
        }
    }
    text
}

fn verdict(recording: &Recording) -> String {
    let mut text = String::new();
    if let Some(bytes) = recording.torn {
        let _ = writeln!(
            text,
            "its last {bytes} bytes are half a record, as a crash or a daemon at work leaves it; \
             all before them was replayed"
        );
    }
    let Some(first) = recording.differences.first() else {
        let _ =
            writeln!(text, "identical: what is decided now is what was decided then, to the bit");
        return text;
    };
    let _ = writeln!(text, "not identical: {}", difference(recording, first));
    let more = recording.differences.len() as u64 - 1 + recording.more_differences;
    if more > 0 {
        let _ = writeln!(text, "and {more} differences behind it");
    }
    text
}

fn difference(recording: &Recording, differs: &Differs) -> String {
    format!(
        "record {} at {}, {}: written down was {}, decided now is {}",
        differs.seq,
        recording.calendar.time(differs.at),
        differs.service,
        action_words(differs.written),
        action_words(differs.decided)
    )
}

/// Both timelines, side by side.
fn beside(recording: &Recording, pair: &Pair, name: &str, text: &mut String) {
    let Some(recorded) = recording.services.get(pair.place) else { return };
    let all = rows(&recorded.track, &pair.track);
    let differs = |recorded: &str, other: &str| recorded != other;
    let few = all.len() <= MOST_ROWS;
    let shown = all.iter().filter(|row| few || differs(&row.recorded, &row.other));
    let shown: Vec<_> = shown.take(MOST_ROWS).collect();
    let calendar = &recording.calendar;
    let times = shown.iter().map(|row| calendar.short(row.at, recording.end));
    let times: Vec<String> = times.collect();
    let first = times.iter().map(String::len).max().unwrap_or(0).max(recorded.name.len());
    let second = shown.iter().map(|row| row.recorded.chars().count()).max().unwrap_or(0).max(24);
    let second = second.min(60);
    let mut line = |one: &str, two: &str, sign: char, three: &str| {
        let line = format!("{one:first$}  {two:second$} {sign} {three}");
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line(&recorded.name, "recorded", ' ', name);
    line("", &budget(recorded.start.policy()), ' ', &budget(&pair.policy));
    for (row, time) in shown.iter().zip(&times) {
        let sign = if differs(&row.recorded, &row.other) { '|' } else { ' ' };
        line(time, &row.recorded, sign, &row.other);
    }
    let hidden = all.len() - shown.len();
    if hidden > 0 {
        line("", &format!("and {hidden} rows, the same or past these"), ' ', "");
    }
}

/// `2 restarts in 60s, every 1s`
fn budget(policy: &Policy) -> String {
    let limits = policy.limits();
    let count = match limits.retry_count {
        None => "restarts without end".to_owned(),
        Some(1) => "1 restart".to_owned(),
        Some(count) => format!("{count} restarts"),
    };
    let (window, every) = (written(limits.retry_interval), written(limits.thorough_probe_interval));
    format!("{count} in {window}, every {every}, {}", limits.failover_mode.word())
}

fn of_board(log: &BoardLog) -> String {
    let mut text = String::new();
    let entries = log.entries.len();
    let up = log.entries.last().map_or(0, |entry| entry.powered_ms);
    let _ = writeln!(
        text,
        "{}: a board's log, {entries} entries, {} missing, up to {} of powered time",
        log.name,
        log.missing,
        span::compact(up)
    );
    let found = log.contradictions();
    if found.is_empty() {
        let _ = writeln!(
            text,
            "it does not contradict itself; feeds are not in it, so it cannot be fed again"
        );
    }
    for (number, why) in found {
        let _ = writeln!(text, "entry {number}: {why}");
    }
    text
}

/// The whole of it for machines: one object.
#[must_use]
pub fn json(source: &Source, other: Option<&Other>) -> Value {
    let mut doc = match source {
        Source::Journal(recording) => json!({
            "file": recording.name,
            "kind": "journal",
            "identical": recording.differences.is_empty(),
            "events": recording.events,
            "actions": recording.actions,
            "torn_bytes": recording.torn,
            "differences": recording.differences.iter().map(|it| json!({
                "seq": it.seq,
                "at": at(recording, it.at),
                "service": &*it.service,
                "written": it.written.map(|it| action_words(Some(it))),
                "decided": it.decided.map(|it| action_words(Some(it))),
            })).collect::<Vec<_>>(),
            "more_differences": recording.more_differences,
            "services": recording.services.iter()
                .map(|it| service(recording, &it.track)).collect::<Vec<_>>(),
        }),
        Source::Board(log) => json!({
            "file": log.name,
            "kind": "board",
            "identical": log.contradictions().is_empty(),
            "entries": log.entries.len(),
            "missing": log.missing,
            "contradictions": log.contradictions().iter()
                .map(|(number, why)| json!({ "number": number, "why": why })).collect::<Vec<_>>(),
        }),
    };
    if let (Some(other), Value::Object(fields)) = (other, &mut doc) {
        let services: Vec<Value> = match source {
            Source::Journal(recording) => {
                other.services.iter().map(|pair| service(recording, &pair.track)).collect()
            }
            Source::Board(_) => Vec::new(),
        };
        fields.insert(
            "with".to_owned(),
            json!({
                "file": other.name,
                "services": services,
                "left": other.left,
                "sentences": other.sentences,
            }),
        );
    }
    doc
}

fn at(recording: &Recording, at: giveover_core::time::Instant) -> Value {
    recording.calendar.wall_ms(at).map(crate::clock::rfc3339).into()
}

fn service(recording: &Recording, track: &Track) -> Value {
    let decisions = track.marks.iter().filter(|mark| mark.what.is_decision());
    let decisions = decisions.map(|mark| {
        json!({ "at": at(recording, mark.at), "at_ms": mark.at.as_millis(), "what": mark.what.words() })
    });
    json!({
        "name": &*track.name,
        "decisions": decisions.collect::<Vec<_>>(),
        "not_ok_ms": not_ok(track, recording.end),
    })
}
