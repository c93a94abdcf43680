//! Which lines count.

use regex_lite::{Error, Regex};

/// Lines that match one of these, and none of those.
#[derive(Clone, Debug)]
pub struct Patterns {
    wanted: Vec<Regex>,
    ignored: Vec<Regex>,
}

impl Patterns {
    /// Lines that match one of `wanted`, but none of `ignored`.
    ///
    /// # Errors
    /// One of them is no pattern, or too big a one.
    pub fn new(wanted: &[&str], ignored: &[&str]) -> Result<Self, Error> {
        let read = |texts: &[&str]| -> Result<Vec<Regex>, Error> {
            texts.iter().map(|text| Regex::new(text)).collect()
        };
        Ok(Self { wanted: read(wanted)?, ignored: read(ignored)? })
    }

    /// Whether `line` counts.
    #[must_use]
    pub fn matches(&self, line: &str) -> bool {
        let any = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.is_match(line));
        any(&self.wanted) && !any(&self.ignored)
    }

    /// The place of the first wanted pattern that `line` matches, for whoever has something to do
    /// for each.
    #[must_use]
    pub fn first(&self, line: &str) -> Option<usize> {
        let found = self.wanted.iter().position(|pattern| pattern.is_match(line))?;
        (!self.ignored.iter().any(|pattern| pattern.is_match(line))).then_some(found)
    }
}
