//! Timelines of several nodes, played in virtual time against the machine the daemon will have.
//!
//! Frames arrive a millisecond after they are sent, or not at all; commands end at once and as
//! the timeline says; a kernel drops an address when its lifetime is over.

mod play;
mod render;
#[cfg(test)]
mod tests;

use std::path::Path;

use giveover_core::time::Instant;

use crate::config::Report;
use crate::config::scenario::peer::{self, Timeline};

pub use self::play::play;
pub use self::render::{json_lines, text};

/// A timeline and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: Vec<Told>,
}

/// A step and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// When.
    pub at: Instant,
    /// The line it begins on.
    pub line: usize,
    /// What happened, in words.
    pub input: String,
    /// Each node's name with its role, or `off`.
    pub roles: Vec<(String, &'static str)>,
    /// Who holds the address.
    pub holders: Vec<String>,
    /// What was done since the step before, with the time.
    pub done: Vec<(Instant, String)>,
    /// Whether two have ever held the address at once.
    pub overlap: bool,
    /// Whether anything was expected.
    pub expected: bool,
    /// What came out otherwise: key, expected, came.
    pub differences: Vec<(&'static str, String, String)>,
}

/// What became of a file's timelines.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Each of them, in the order of the file.
    pub played: Vec<Played>,
}

impl Outcome {
    /// Plays them, one after the other.
    #[must_use]
    pub fn of(timelines: &[Timeline]) -> Self {
        Self { played: timelines.iter().map(play).collect() }
    }

    /// How many steps came out otherwise than expected.
    #[must_use]
    pub fn differing(&self) -> usize {
        self.all().filter(|told| !told.differences.is_empty()).count()
    }

    fn all(&self) -> impl Iterator<Item = &Told> {
        self.played.iter().flat_map(|played| &played.steps)
    }
}

/// Plays every timeline of the file at `path`; `None` where it has none of this form.
///
/// # Errors
/// Everything that is wrong with the file; nothing was played.
pub fn run_file(path: &Path) -> Result<Option<Outcome>, Report> {
    Ok(peer::load(path)?.map(|timelines| Outcome::of(&timelines)))
}

/// Plays every timeline of `text`, called `name` in messages.
///
/// # Errors
/// As [`run_file`].
pub fn run_text(text: &str, name: &str) -> Result<Option<Outcome>, Report> {
    Ok(peer::load_str(name, text)?.map(|timelines| Outcome::of(&timelines)))
}
