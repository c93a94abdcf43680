//! What a `path` check wants, and the words of the command that looks: this program itself.

use std::time::Duration;

/// The verb under which we run ourselves for it.
pub const VERB: &str = "__look-at-path";

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
