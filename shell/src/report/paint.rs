//! Colour. It repeats what the words say and never says anything by itself.

use serde::{Deserialize, Serialize};

use crate::message::Level;

/// Whether and how to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Words only.
    pub const PLAIN: Self = Self { on: false };

    /// With colour if `on`.
    #[must_use]
    pub const fn new(on: bool) -> Self {
        Self { on }
    }

    /// `text` in the colour of the status called `word`.
    #[must_use]
    pub fn status(self, word: &str, text: &str) -> String {
        match word {
            "ok" => self.wrap("32", text),
            "degraded" => self.wrap("33", text),
            "faulted" => self.wrap("1;31", text),
            _ => self.wrap("2", text),
        }
    }

    /// `text` in the colour of a log level.
    #[must_use]
    pub fn level(self, level: Level, text: &str) -> String {
        match level {
            Level::Critical => self.wrap("1;31", text),
            Level::Error => self.wrap("31", text),
            Level::Warning => self.wrap("33", text),
            Level::Notice => self.wrap("32", text),
            Level::Info => String::from(text),
            Level::Debug => self.wrap("2", text),
        }
    }

    /// Something that must not be overlooked.
    #[must_use]
    pub fn alarm(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// A heading.
    #[must_use]
    pub fn heading(self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { String::from(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paint_changes_nothing() {
        for word in ["ok", "degraded", "faulted", "offline", "unknown"] {
            assert_eq!(Paint::PLAIN.status(word, word), word);
            assert!(Paint::new(true).status(word, word).contains(word));
        }
    }
}
