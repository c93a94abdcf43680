//! Verbs that are not: those of later versions, and mistakes.

use std::ffi::OsString;

use super::exit::{Exit, Stop};
use super::place;

/// Verbs that the interface has and this version has not.
pub(super) const LATER: [&str; 2] = ["man", "schema"];

pub(super) fn run(words: &[OsString]) -> Result<Exit, Stop> {
    let word = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    if LATER.contains(&word.as_ref()) {
        return Err(Stop::usage(format!("{word}: not in this version")));
    }
    Err(unknown(&word))
}

/// No such verb, and which one may have been meant.
pub(super) fn unknown(word: &str) -> Stop {
    let command = super::command();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let names: Vec<&str> = verbs.flat_map(clap::Command::get_name_and_visible_aliases).collect();
    match place::nearest(word, names) {
        Some(near) => Stop::usage(format!("no verb `{word}`; did you mean `{near}`?")),
        None => Stop::usage(format!("no verb `{word}`; `giveover help` lists them")),
    }
}
