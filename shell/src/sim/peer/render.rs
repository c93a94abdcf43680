//! What timelines of several nodes come to, in words and as JSON.

use std::fmt::Write as _;

use giveover_core::time::{Instant, Span};
use serde_json::{Value, json};

use super::{Outcome, Played, Told};
use crate::config::many;
use crate::config::quantity::written;

/// Every timeline step by step, what differs under its step, and a line that sums it up.
#[must_use]
pub fn text(outcome: &Outcome, name: &str) -> String {
    let mut text = String::new();
    for played in &outcome.played {
        timeline(played, name, &mut text);
        text.push('\n');
    }
    let timelines = many(outcome.played.len(), "timeline");
    let steps = many(outcome.all().count(), "step");
    let verdict = match outcome.differing() {
        0 => "as expected".to_owned(),
        count => format!("{count} not as expected"),
    };
    let _ = writeln!(text, "{timelines}, {steps}: {verdict}"); // a String takes everything
    text
}

fn timeline(played: &Played, name: &str, text: &mut String) {
    let _ = writeln!(text, "{}", played.name);
    for told in &played.steps {
        for (at, did) in &told.done {
            let _ = writeln!(text, "{:>9}    {did}", time(*at));
        }
        let roles: Vec<String> =
            told.roles.iter().map(|(node, role)| format!("{node} {role}")).collect();
        let holders = match told.holders.as_slice() {
            [] => "nobody".to_owned(),
            names => names.join(" and "),
        };
        let overlap = if told.overlap { ", two have held it" } else { "" };
        let _ = writeln!(
            text,
            "{:>9}  {:24}  {}; held by {holders}{overlap}",
            time(told.at),
            told.input,
            roles.join(", "),
        );
        for (key, expected, came) in &told.differences {
            let place = format!("{name}:{}: ", told.line);
            let _ = writeln!(text, "{place}- {key} = {expected}");
            let _ = writeln!(text, "{:indent$}+ {key} = {came}", "", indent = place.len());
        }
    }
}

fn time(at: Instant) -> String {
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
    text
}

fn object(played: &Played, told: &Told) -> Value {
    let roles: serde_json::Map<String, Value> =
        told.roles.iter().map(|(node, role)| (node.clone(), json!(role))).collect();
    let did: Vec<&str> = told.done.iter().map(|(_, did)| did.as_str()).collect();
    let mut object = json!({
        "scenario": played.name,
        "at_ms": told.at.as_millis(),
        "input": told.input,
        "roles": roles,
        "holders": told.holders,
        "did": did,
        "overlap": told.overlap,
    });
    if told.expected {
        object["as_expected"] = json!(told.differences.is_empty());
    }
    object
}
