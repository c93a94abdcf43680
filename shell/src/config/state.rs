//! `systemd` checks: what systemd says of a unit.

use giveover_core::weight::Weight;
use serde::{Deserialize, Serialize};

use super::plan::{Kind, Weights};
use super::reader::Reader;
use super::report::Findings;
use super::schema::{Key, key};
use super::target::Target as Url;
use super::{run, values, words};

/// What is wanted of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatePlan {
    /// The unit.
    pub unit: Box<str>,
    /// States that are healthy, by their places in [`STATES`], counted from one.
    pub expect: Vec<u16>,
}

/// The states of units, systemd's `ActiveState`. A cause holds a place in this list, counted from
/// one: only ever append.
pub const STATES: [&str; 8] = [
    "active",
    "reloading",
    "inactive",
    "failed",
    "activating",
    "deactivating",
    "maintenance",
    "refreshing",
];

/// The code of a unit that systemd has no file for.
pub const NO_UNIT: u16 = 100;
/// The code of a state that is not listed.
pub const OTHER: u16 = 101;
/// The code where systemd did not answer.
pub const NO_ANSWER: u16 = 102;

/// What a code means.
#[must_use]
pub fn words_of(code: u16) -> &'static str {
    match code {
        NO_UNIT => "systemd knows no such unit",
        OTHER => "in a state without a name here",
        NO_ANSWER => "systemd does not answer",
        place => super::talk::codes::named(&STATES, place),
    }
}

/// The code of the state `word`.
#[must_use]
pub fn code_of(word: &str) -> u16 {
    match super::talk::codes::code_of(&STATES, word.as_bytes()) {
        0 => OTHER,
        code => code,
    }
}

pub(super) const KEYS: &[Key] = &[
    key("unit", "name of a unit", "the URL's", "which; as in systemd://nginx.service"),
    key(
        "expect",
        "states: \"active\", \"inactive\", …",
        "[\"active\", \"reloading\"]",
        "which are right",
    ),
];

/// What failures weigh unless it is written.
pub(super) const WEIGHTS: Weights = Weights { answer: Weight::COMPLETE, ..Weights::DEFAULT };

pub(super) fn read(
    what: &str,
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let named = url.map_or("", |url| url.path);
    let unit = match reader.entry("unit") {
        Some(entry) if !named.is_empty() => {
            out.error(entry.place, "unit: the URL has one already").label("leave one of them out");
            return None;
        }
        Some(entry) => {
            let name = values::word("unit", &entry.node, out)?;
            run::unit_name("unit", name, &entry.node, out)?
        }
        None if named.is_empty() => {
            let message = format!("{what}: which unit is not said");
            out.error(reader.header, message).label("unit = \"nginx.service\"").of_absence();
            return None;
        }
        None => match reader.entry("url") {
            Some(entry) => run::unit_name(what, named, &entry.node, out)?,
            None => named,
        },
    };
    let expect = match reader.entry("expect") {
        Some(entry) => values::one_or_more("expect", &entry.node, out, |key, node, out| {
            let word = values::text(key, node, out)?;
            let code = code_of(word);
            if code == OTHER {
                let message = format!("{key}: no state of a unit is called `{word}`");
                let near = words::nearest(word, STATES);
                let label = near.map_or_else(
                    || format!("states are {}", words::and(STATES)),
                    |near| format!("did you mean `{near}`?"),
                );
                out.error(node.place, message).label(label);
                return None;
            }
            Some(code)
        })?,
        None => vec![1, 2],
    };
    if expect.is_empty() {
        out.error(reader.place("expect"), "expect: an empty list expects nothing");
        return None;
    }
    Some(Kind::State(Box::new(StatePlan { unit: unit.into(), expect })))
}
