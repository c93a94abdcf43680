//! Verbs that are not: mistakes.

use std::ffi::OsString;

use super::exit::{Exit, Stop};
use super::place;

pub(super) fn run(words: &[OsString]) -> Result<Exit, Stop> {
    let word = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
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
