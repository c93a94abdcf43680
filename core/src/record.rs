//! The journal's vocabulary: every event in, every action out, and snapshots of machines.
//!
//! An entry is one version byte and postcard's bytes of [`Entry`]. The version stands apart so
//! that a newer journal is known as such and never read half. Variants are only ever added at
//! the end.

use crate::failure::{Failure, Phase};
use crate::monitor::{Action, Event, Standing};
use crate::policy::{Capacity, Policy};
use crate::time::Instant;

/// The version written.
pub const VERSION: u8 = 1;

/// No entry is longer, in bytes.
pub const MAX_BYTES: usize = 192;

/// One line of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// When it was fed, on the time line of the machine.
    pub at: Instant,
    /// Which machine; names are the journal's own.
    pub machine: u32,
    /// What.
    pub body: Body,
}

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Body {
    /// A monitor was made. What follows of a snapshot up to `Standing` fills it.
    Made {
        /// Its policy.
        policy: Policy,
        /// What its histories hold.
        capacity: Capacity,
    },
    /// An event was fed to it.
    Event(Event),
    /// It returned an action; written before the action is carried out.
    Action(Action),
    /// Of a snapshot: a failure it remembers, oldest first.
    Failure(Failure),
    /// Of a snapshot: a restart it remembers, oldest first.
    Restart(Instant),
    /// Of a snapshot: a start it remembers, oldest first.
    Start(Instant),
    /// Of a snapshot: how many failures it ever saw in a phase.
    Total(Phase, u32),
    /// The end of a snapshot: everything else it knows.
    Standing(Standing),
}

/// Why bytes are no entry. Nothing was read of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// No bytes at all.
    Empty,
    /// Written by a newer version.
    Newer(u8),
    /// Not what this version writes.
    Malformed,
}

impl core::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Empty => write!(f, "empty entry"),
            Self::Newer(version) => {
                write!(f, "written by a newer version (entry format {version}, ours is {VERSION})")
            }
            Self::Malformed => write!(f, "malformed entry"),
        }
    }
}

#[cfg(feature = "record")]
impl Entry {
    /// Writes the entry into `out` and returns how many bytes it took; `None` if it does not
    /// fit, which [`MAX_BYTES`] rules out.
    #[must_use]
    pub fn encode(&self, out: &mut [u8]) -> Option<usize> {
        let (version, rest) = out.split_first_mut()?;
        *version = VERSION;
        let written = postcard::to_slice(self, rest).ok()?.len();
        Some(written + 1)
    }

    /// Reads an entry from exactly `bytes`.
    ///
    /// # Errors
    /// See [`DecodeError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (version, rest) = bytes.split_first().ok_or(DecodeError::Empty)?;
        match *version {
            VERSION => {}
            newer if newer > VERSION => return Err(DecodeError::Newer(newer)),
            _ => return Err(DecodeError::Malformed),
        }
        match postcard::take_from_bytes(rest) {
            Ok((entry, [])) => Ok(entry),
            _ => Err(DecodeError::Malformed),
        }
    }
}
