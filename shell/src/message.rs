//! The one catalogue of what Giveover says: every event with its word, level, journal id and
//! meaning, and the functions that put its words together.
//!
//! Log lines, screens, `--json` and `giveover help NAME` all take their words from here, so a
//! person who greps the log for what a screen said finds it.

pub mod board;
mod catalogue;
pub mod cause;
pub mod host;
pub mod legacy;
pub mod pool;
pub mod secret;
pub mod span;
pub mod tls;
pub mod watchdog;
pub mod words;

pub use catalogue::Event;

/// How much an event matters; syslog's levels without the two that nobody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing is guarded as it should be.
    Critical,
    /// Something is given up, refused or lost.
    Error,
    /// Something failed, and it is being handled.
    Warning,
    /// Something changed.
    Notice,
    /// What the source documents report of every probe.
    Info,
    /// For whoever asked for it.
    Debug,
}

impl Level {
    /// Every level, gravest first.
    pub const ALL: [Self; 6] =
        [Self::Critical, Self::Error, Self::Warning, Self::Notice, Self::Info, Self::Debug];

    /// The word in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }

    /// The word in a log line.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Self::Critical => "CRIT",
            Self::Error => "ERROR",
            Self::Warning => "WARN",
            Self::Notice => "NOTICE",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
        }
    }

    /// Syslog's number.
    #[must_use]
    pub const fn priority(self) -> u8 {
        match self {
            Self::Critical => 2,
            Self::Error => 3,
            Self::Warning => 4,
            Self::Notice => 5,
            Self::Info => 6,
            Self::Debug => 7,
        }
    }

    /// The level that [`Level::word`] names; `None` for a word of another version.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }
}

/// How much debugging output is wanted.
///
/// # Source
/// `DBG_LEVEL_LOW` and `DBG_LEVEL_HIGH` of `scds_syslog_debug`; high includes low.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum Debug {
    /// None.
    #[default]
    Off,
    /// What is out of the ordinary.
    Low,
    /// Every step.
    High,
}

impl Debug {
    /// The level's word on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Low => "low",
            Self::High => "high",
        }
    }

    /// The level that [`Debug::word`] names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Off, Self::Low, Self::High].into_iter().find(|level| level.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use giveover_core::monitor::Message;

    use super::*;

    #[test]
    fn every_event_has_a_word_and_an_id_of_its_own_and_a_meaning() {
        let words: HashSet<&str> = Event::ALL.iter().map(|event| event.word()).collect();
        let ids: HashSet<String> = Event::ALL.iter().map(|event| event.id()).collect();
        assert_eq!(words.len(), Event::ALL.len());
        assert_eq!(ids.len(), Event::ALL.len());
        for event in Event::ALL {
            assert_eq!(Event::from_word(event.word()), Some(event));
            assert_eq!(event.id().len(), 32, "{event:?}");
            assert!(event.about().ends_with('.'), "{event:?}: {}", event.about());
            let word = event.word();
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{word}");
        }
        assert_eq!(Event::from_word("no such event"), None);
    }

    /// People filter their journal by these: once released they never change.
    #[test]
    fn journal_ids_are_frozen() {
        assert_eq!(Event::Failure.id(), "4191a8a62e3843d881723d50c0dc9fdb");
        assert_eq!(Event::Restart.id(), "0648d76891cb4bb9b4b3060363d1252f");
        assert_eq!(Event::Giveover.id(), "e778146051874bf2aac140b9c5b3c026");
    }

    #[test]
    fn levels_are_those_of_the_table() {
        let table: [(Level, &[Event]); 4] = [
            (Level::Warning, &[Event::Failure, Event::Died, Event::Restart, Event::Unmeasured]),
            (
                Level::Notice,
                &[
                    Event::Restarted,
                    Event::Held,
                    Event::Recovered,
                    Event::Measured,
                    Event::Reloaded,
                ],
            ),
            (
                Level::Error,
                &[
                    Event::RestartFailed,
                    Event::Giveover,
                    Event::Granted,
                    Event::Denied,
                    Event::NotNow,
                    Event::BudgetSpent,
                    Event::Refused,
                ],
            ),
            (Level::Critical, &[Event::LocalFault, Event::HostBudget]),
        ];
        for (level, events) in table {
            for event in events {
                assert_eq!(event.level(), level, "{event:?}");
            }
        }
        assert!(Level::ALL.iter().all(|level| Level::from_word(level.word()) == Some(*level)));
    }

    /// The document's fifth text ends in a full stop inside its quotes; the others do not, and
    /// the four are fixed without it.
    // req 1.12 1.19 1.29 1.32
    #[test]
    fn the_four_status_texts_are_the_documents() {
        assert_eq!(Message::NotRunning.text(), "Service daemon not running");
        assert_eq!(Message::Online.text(), "Service is online");
        assert_eq!(Message::Degraded.text(), "Service is degraded");
        assert_eq!(Message::Failed.text(), "Service has failed");
    }

    #[test]
    fn high_debugging_includes_low() {
        assert!(Debug::High > Debug::Low && Debug::Low > Debug::Off);
        assert_eq!(Debug::from_word("high"), Some(Debug::High));
        assert_eq!(Debug::from_word("loud"), None);
    }
}
