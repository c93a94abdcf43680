//! The seam between a group and whoever holds its addresses: steps go one way, what came of them
//! the other.
//!
//! Instants are those of CLOCK_BOOTTIME, in milliseconds: the clock that goes on while the machine
//! is suspended, as lifetimes must.

use std::net::IpAddr;

use giveover_core::peer::Taken;
use giveover_core::time::Instant;
use serde::{Deserialize, Serialize};

pub use crate::config::cluster::Commands;

/// What a group holds, as its holder is told once, before any step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Each with the length of its network's prefix.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Where they go; the interface of their network if it is not said.
    pub interface: Option<String>,
    /// A name for the addresses beside the interface's own.
    pub label: Option<String>,
    /// What is run for an address, where the kernel is not to be asked.
    pub commands: Option<Commands>,
}

/// What is asked of the holder of a group's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Look for a duplicate, bring the addresses up for no longer than `until`, announce them.
    /// Answered once, by [`Done::Taken`], unless a drop comes before. Harmless where they are up.
    Take {
        /// When their lifetime ends, at the latest.
        until: Instant,
    },
    /// Their lifetime ends later. Not answered.
    Renew {
        /// When.
        until: Instant,
    },
    /// Say again, at least twice, where they are. Not answered.
    Announce,
    /// Refuse new connections, end those there are, take the addresses down, ask the kernel
    /// whether they are gone. Answered once, by [`Done::Dropped`]; calls off a take under way,
    /// which is then not answered.
    Drop {
        /// Nothing was held by this life of the daemon: what an earlier one left is looked for.
        leftover: bool,
    },
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Answers [`Step::Take`].
    Taken(Taken),
    /// Answers [`Step::Drop`].
    Dropped {
        /// The kernel was asked, and has none of them.
        ok: bool,
    },
    /// An address that was up is gone, and not by us.
    Lost,
}
