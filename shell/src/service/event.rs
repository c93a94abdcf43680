//! What the services have to tell.

use giveover_core::failure::{Cause, Phase};

use super::Identity;
use crate::reactor::Exit;

/// What happened to a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It runs: a start was asked for and has succeeded.
    Started {
        /// Its main process; `None` if it has none that is known.
        pid: Option<u32>,
        /// How to know it again; `None` for units, and if it is gone already.
        identity: Option<Identity>,
    },
    /// A start was asked for and has failed. Nothing of it runs.
    StartFailed(Trouble),
    /// A stop was asked for, and no process of it is left.
    Stopped,
    /// A stop was asked for, and something is left. It may be asked for again.
    StopFailed(Trouble),
    /// It ended, and nobody had asked for that.
    Died {
        /// Its main process.
        pid: Option<u32>,
        /// How; `None` where nobody can tell.
        exit: Option<Exit>,
    },
    /// What was found when it was asked for ([`super::Services::begin`]). Said once.
    Found {
        /// It runs already.
        running: bool,
        /// Units: it is to be started at boot.
        enabled: bool,
        /// Its main process.
        pid: Option<u32>,
    },
    /// Units: stopped by a job that was not ours.
    StoppedByOther,
    /// Units: started or restarted by others; a new generation.
    StartedByOther {
        /// Its main process.
        pid: Option<u32>,
    },
    /// Units: it had died, and systemd was quicker than we.
    HealedBySystemd {
        /// Its main process.
        pid: Option<u32>,
        /// How often systemd has restarted it.
        restarts: u32,
    },
    /// Units: systemd cannot be asked; what was last known still stands. Said once, until
    /// it has answered again.
    CannotAsk(String),
}

/// Why a start or stop failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// For the histories.
    pub cause: Cause,
    /// For people.
    pub words: String,
}

impl Trouble {
    pub(super) fn start(code: u16, words: impl Into<String>) -> Self {
        Self { cause: Cause::new(Phase::Start, code), words: words.into() }
    }

    pub(super) fn stop(code: u16, words: impl Into<String>) -> Self {
        Self { cause: Cause::new(Phase::Stop, code), words: words.into() }
    }
}

/// The cause of a death, for the histories.
#[must_use]
pub fn death(exit: Option<Exit>) -> Cause {
    Cause::new(Phase::Died, exit.map_or(Cause::UNKNOWN, Exit::code))
}
