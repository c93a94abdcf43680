//! What a scenario file comes to, in words and as JSON, and the exit status that follows.

use std::fmt::Write as _;

use giveover_core::time::{Instant, Span};
use serde_json::{Value, json};

use super::{Difference, Outcome, Played, Told, pool};
use crate::config::quantity::written;
use crate::config::{Report, many};

/// The exit status of `simulate`: 1 if anything came out otherwise than expected, 3 if the file
/// is refused.
#[must_use]
pub fn exit_status(outcome: &Result<Outcome, Report>) -> u8 {
    match outcome {
        Ok(outcome) => u8::from(outcome.differing() > 0),
        Err(_) => 3,
    }
}

/// Every scenario step by step, what differs under its step, and a line that sums it up.
#[must_use]
pub fn text(outcome: &Outcome, name: &str) -> String {
    let mut text = String::new();
    for played in &outcome.played {
        scenario(played, name, &mut text);
        text.push('\n');
    }
    for played in &outcome.pools {
        pool::text(played, name, &mut text);
        text.push('\n');
    }
    let _ = writeln!(text, "{}", sum(outcome)); // a String takes everything
    text
}

fn sum(outcome: &Outcome) -> String {
    let scenarios = many(outcome.played.len() + outcome.pools.len(), "scenario");
    let steps = many(outcome.steps(), "step");
    let (expected, differing) = (outcome.expected(), outcome.differing());
    let verdict = match (expected, differing) {
        (0, _) => "nothing was expected".to_owned(),
        (_, 0) if expected == outcome.steps() => "all as expected".to_owned(),
        (_, 0) => format!("as expected where anything was ({expected} of them)"),
        (_, 1) => format!("1 of {expected} is not as expected"),
        _ => format!("{differing} of {expected} are not as expected"),
    };
    format!("{scenarios}, {steps}: {verdict}")
}

fn scenario(played: &Played, name: &str, text: &mut String) {
    let _ = writeln!(text, "{}", played.name);
    let inputs: Vec<String> = played.steps.iter().map(|told| input(&told.input)).collect();
    let width = inputs.iter().map(|input| input.chars().count()).max().unwrap_or(0).clamp(10, 40);
    for (told, input) in played.steps.iter().zip(&inputs) {
        due_between(told, width, text);
        let line = format!(
            "{:>9}  {input:width$}  {:8}  sum {:>3}  restarts {}  {}",
            time(told.at),
            told.status.word(),
            told.failure_sum,
            told.restarts,
            words(told.done.iter().filter(|(at, _)| *at == told.at)),
        );
        let _ = writeln!(text, "{}", line.trim_end());
        for Difference { key, expected, came } in &told.differences {
            let place = format!("{name}:{}: ", told.line);
            let _ = writeln!(text, "{place}- {key} = {expected}");
            let _ = writeln!(text, "{:indent$}+ {key} = {came}", "", indent = place.len());
        }
    }
}

/// What fell due before the step, each time on a line of its own.
fn due_between(told: &Told, width: usize, text: &mut String) {
    let mut rest = told.done.as_slice();
    while let Some((at, _)) = rest.first().filter(|(at, _)| *at != told.at) {
        let count = rest.iter().take_while(|(other, _)| other == at).count();
        let (now, later) = rest.split_at(count);
        let _ = writeln!(text, "{:>9}  {:width$}  {}", time(*at), "(due)", words(now));
        rest = later;
    }
}

fn words<'d>(done: impl IntoIterator<Item = &'d (Instant, &'static str)>) -> String {
    done.into_iter().map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}

/// `probe 50`, `died`, `local_fault false`, `policy retry_count 5`.
pub(super) fn input(written: &Value) -> String {
    match written {
        Value::Object(table) => {
            let each = table.iter().map(|(key, value)| match value {
                Value::Bool(true) => key.clone(),
                value => format!("{key} {}", input(value)),
            });
            each.collect::<Vec<_>>().join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn time(at: Instant) -> String {
    u32::try_from(at.as_millis())
        .map_or_else(|_| format!("{}s", at.as_millis() / 1000), |ms| written(Span::from_millis(ms)))
}

/// One object for each step, a line each.
#[must_use]
pub fn json_lines(outcome: &Outcome) -> String {
    let mut text = String::new();
    for played in &outcome.played {
        for told in &played.steps {
            let _ = writeln!(text, "{}", object(played, told)); // a String takes everything
        }
    }
    for object in outcome.pools.iter().flat_map(pool::objects) {
        let _ = writeln!(text, "{object}");
    }
    text
}

fn object(played: &Played, told: &Told) -> Value {
    let mut object = json!({
        "scenario": played.name,
        "at_ms": told.at.as_millis(),
        "input": told.input,
        "actions": told.actions(),
        "status": told.status.word(),
        "failure_sum": told.failure_sum,
        "restarts": told.restarts,
    });
    if told.expected {
        let differs = |d: &Difference| (d.key.to_owned(), d.expected.clone());
        let differs: serde_json::Map<String, Value> =
            told.differences.iter().map(differs).collect();
        object["as_expected"] = json!(differs.is_empty());
        if !differs.is_empty() {
            object["expected"] = differs.into();
        }
    }
    object
}

#[cfg(test)]
mod tests;
