//! Why a figure could not be measured.
//!
//! The table prints these words in the cell where the number would stand, so that nothing is
//! left out in silence. One type for the whole binary: nobody decides anything by it.

use std::fmt;

/// The reason, in words for the reader of the table.
#[derive(Clone, Debug)]
pub(crate) struct Why {
    reason: String,
    lasting: bool,
}

impl Why {
    /// It failed; the next round may do better.
    pub(crate) fn new(reason: impl fmt::Display) -> Why {
        Why { reason: reason.to_string(), lasting: false }
    }

    /// It would fail in every round: not installed, or not a thing this program does.
    pub(crate) fn lasting(reason: impl fmt::Display) -> Why {
        Why { reason: reason.to_string(), lasting: true }
    }

    /// Whether there is no point in trying again.
    pub(crate) fn is_lasting(&self) -> bool {
        self.lasting
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl From<std::io::Error> for Why {
    fn from(error: std::io::Error) -> Why {
        Why::new(error)
    }
}

impl From<rustix::io::Errno> for Why {
    fn from(error: rustix::io::Errno) -> Why {
        Why::new(std::io::Error::from(error))
    }
}

impl From<nix::Error> for Why {
    fn from(error: nix::Error) -> Why {
        Why::new(error.desc())
    }
}

/// Says what was being done when it failed.
pub(crate) trait While<T> {
    fn while_doing(self, what: impl fmt::Display) -> Result<T, Why>;
}

impl<T, E: Into<Why>> While<T> for Result<T, E> {
    fn while_doing(self, what: impl fmt::Display) -> Result<T, Why> {
        self.map_err(|error| {
            let Why { reason, lasting } = error.into();
            Why { reason: format!("{what}: {reason}"), lasting }
        })
    }
}
