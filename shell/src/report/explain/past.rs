//! The restarts of the window, and the failures behind each.

use super::super::model::{EventDoc, RecordDoc, ServiceDoc};
use super::super::phrase;
use super::super::time::{self, Moment};
use crate::message::{Event, span};

/// A record and its event are written in the same turn; their clocks may round differently.
const SAME_MS: u64 = 1000;

/// How often and when it was restarted, and after what.
pub(super) fn restarts(service: &ServiceDoc, history: &[EventDoc], now: Moment) -> String {
    let window = span::window_in_seconds(service.retry_interval_ms);
    let mut parts: Vec<String> =
        service.restart_records.iter().map(|record| restart(record, history, now)).collect();
    // The newest is charged, and not made yet.
    let waits = if service.waiting_for == "delay" { parts.pop() } else { None };
    let waits =
        waits.map(|it| format!(" A restart decided {it}, is still to come.")).unwrap_or_default();
    made(&parts, &window) + &waits
}

fn made(parts: &[String], window: &str) -> String {
    match parts {
        [] => format!("It was not restarted in the last {window}."),
        [only] => format!("It was restarted once in the last {window}, {only}."),
        many => {
            let count = phrase::times(many.len());
            format!("It was restarted {count} in the last {window}: {}.", many.join("; "))
        }
    }
}

/// `at 13:58:02, after page 503 at 13:57:32 and 13:58:02`
fn restart(record: &RecordDoc, history: &[EventDoc], now: Moment) -> String {
    let at = time::short(&record.at, now);
    let causes: Vec<&str> = record.cause.split(", ").collect();
    let first = causes.first().copied().unwrap_or_default();
    if first.is_empty() {
        return format!("at {at}");
    }
    if first.starts_with("died") {
        return format!("at {at}, after it {first}");
    }
    let times = failure_times(record, &causes, history).unwrap_or_default();
    if times.is_empty() || causes.iter().any(|cause| *cause != first) {
        return format!("at {at}, after {}", phrase::collapsed(&record.cause));
    }
    let times: Vec<String> = times.iter().map(|at| at.short(now)).collect();
    format!("at {at}, after {first} at {}", phrase::and(&times))
}

/// When the failures behind a restart were seen, if the history still tells of all of them.
fn failure_times(record: &RecordDoc, causes: &[&str], history: &[EventDoc]) -> Option<Vec<Moment>> {
    let decided = Moment::parse(&record.at)?;
    let is_it = |event: &EventDoc| {
        let at = Moment::parse(&event.at);
        event.event == Event::Restart.word()
            && at.is_some_and(|at| at.since(decided).max(decided.since(at)) < SAME_MS)
    };
    let place = history.iter().position(is_it)?;
    let before = history.get(..place)?.iter().rev();
    let failures = before.filter(|event| event.event == Event::Failure.word());
    let mut times = Vec::new();
    for (cause, failure) in causes.iter().rev().zip(failures) {
        if !failure.text.starts_with(cause) {
            return None;
        }
        times.insert(0, Moment::parse(&failure.at)?);
    }
    (times.len() == causes.len()).then_some(times)
}
