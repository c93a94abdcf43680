//! Checks that are a command of ours: what a `path` or `listener` check wants, and the words of
//! the command that looks, which is this program itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::database::OracleRun;

/// The verb under which we run ourselves for it.
pub const VERB: &str = "__look-at-path";

/// The verb under which we run ourselves to ask Oracle's listener.
pub const LISTENER_VERB: &str = "__ask-listener";

/// What a check that is a command asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asks {
    /// A program that was written.
    #[default]
    Program,
    /// Ourselves, looking at a path: one that never ends has failed.
    Path,
    /// Ourselves, asking Oracle's listener by its own program.
    Listener,
}

/// What is wanted of a path besides that it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// It was changed no longer ago than this.
    pub age: Option<Duration>,
    /// At least so many percent of its file system are free.
    pub free: Option<u8>,
}

/// The words that run us for `path`; in words of the configuration a dollar is doubled.
#[must_use]
pub fn argv(path: &str, wanted: Wanted) -> Vec<String> {
    let age = wanted.age.map(|age| age.as_millis().to_string());
    let free = wanted.free.map(|free| free.to_string());
    vec![
        // The program we are, also if another has taken its place since.
        "/proc/self/exe".to_owned(),
        VERB.to_owned(),
        age.unwrap_or_default(),
        free.unwrap_or_default(),
        path.replace('$', "$$"),
    ]
}

/// The words that run us for the listener called `name`.
#[must_use]
pub fn at_listener(lsnrctl: &str, name: &str, runs: &OracleRun) -> Vec<String> {
    let words = [runs.user.as_deref(), runs.home.as_deref(), Some(lsnrctl), Some(name)];
    let words = words.map(|word| word.unwrap_or_default().replace('$', "$$"));
    ["/proc/self/exe".to_owned(), LISTENER_VERB.to_owned()].into_iter().chain(words).collect()
}
