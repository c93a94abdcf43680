//! Where a monitor stands: everything it knows besides policy and histories.

use crate::failure::{Cause, Phase};
use crate::time::Instant;

use super::event::{Holder, Origin, Reason, Ticket};

/// What people are told about a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Status {
    /// Before the first cycle.
    #[default]
    Unknown,
    /// The last cycle was healthy.
    Ok,
    /// Something failed, and it can still be mended here.
    Degraded,
    /// It cannot be kept here.
    Faulted,
    /// Stopped on purpose.
    Offline,
}

impl Status {
    /// The status in one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Faulted => "faulted",
            Self::Offline => "offline",
        }
    }
}

/// The four fixed texts, and none before the first cycle.
///
/// # Source
/// The Sun Cluster documents, character for character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// No message.
    #[default]
    None,
    /// "Service is online"
    Online,
    /// "Service is degraded"
    Degraded,
    /// "Service has failed"
    Failed,
    /// "Service daemon not running"
    NotRunning,
}

impl Message {
    /// The text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Online => "Service is online",
            Self::Degraded => "Service is degraded",
            Self::Failed => "Service has failed",
            Self::NotRunning => "Service daemon not running",
        }
    }
}

/// The cycle of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Cycle {
    /// Sleeps until `due`; then a probe, or, while the process is dead, a cycle of weight 100.
    Sleeping { due: Instant },
    /// A probe is under way; its driver keeps the time.
    Probing { ticket: Ticket },
    /// No cycles: something else is under way, or nothing is to be probed.
    Still,
}

/// What is being done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Pursuit {
    /// Nothing.
    None,
    /// A restart has been decided and waits for its time.
    Delaying { at: Instant, origin: Origin },
    /// A restart is being carried out.
    Restarting { ticket: Ticket, origin: Origin },
    /// The old instance is not proven gone; the stop is tried again.
    Unstopped { at: Instant, origin: Origin },
    /// Giveover has been asked for.
    Asking { ticket: Ticket, reason: Reason, first: Instant },
    /// "Not now": asked again at `again`, until `last`.
    NotNow { again: Instant, last: Instant, reason: Reason, first: Instant },
    /// Given over; the ticket is for an answer that takes it back.
    GivenOver { ticket: Ticket },
    /// The monitor is not at work.
    Ended(Ended),
}

/// Why a monitor is not at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Ended {
    /// It has not begun.
    NotBegun,
    /// The service has been stopped on purpose.
    Stopped,
    /// The monitor was told to end; the service runs on.
    Unmonitored,
}

/// Why the monitor does what it does until the next event; for screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// For the next probe.
    Probe(Instant),
    /// For the answer to a probe.
    Answer,
    /// For the time of a decided restart.
    Delay(Instant),
    /// For a restart to be carried out.
    Restart,
    /// To try the stop again.
    StopAgain(Instant),
    /// For the answer to a request for giveover.
    Giveover,
    /// To ask for giveover again.
    AskAgain(Instant),
    /// For the next attempt at a dead process.
    DeadCycle(Instant),
    /// To be released.
    Release,
    /// For nothing: it has been given over.
    GivenOver,
    /// For nothing: the monitor is not at work.
    Ended(Ended),
}

/// Everything a monitor knows besides policy and histories; a snapshot is a copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Standing {
    pub(super) status: Status,
    pub(super) cycle: Cycle,
    pub(super) pursuit: Pursuit,
    /// The process is known to be gone.
    pub(super) dead: bool,
    /// How it went, for when it counts later.
    pub(super) death: Cause,
    pub(super) holds: u8,
    pub(super) generation: u32,
    pub(super) last_ticket: u32,
    pub(super) latest: Instant,
    pub(super) clock_went_back: u32,
    pub(super) grace_until: Option<Instant>,
    pub(super) last_start: Option<Instant>,
    /// After a denial the index of the restart delay does not fall below this.
    pub(super) pace_floor: Option<u16>,
    pub(super) unmeasured_since: Option<Instant>,
    /// Giveover has been asked for in this failure event.
    pub(super) asked: bool,
    /// A restart has been tried in this failure event.
    pub(super) attempted: bool,
}

impl Standing {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            status: Status::Unknown,
            cycle: Cycle::Still,
            pursuit: Pursuit::Ended(Ended::NotBegun),
            dead: false,
            death: Cause::new(Phase::Died, 0),
            holds: 0,
            generation: 0,
            last_ticket: 0,
            latest: now,
            clock_went_back: 0,
            grace_until: None,
            last_start: None,
            pace_floor: None,
            unmeasured_since: None,
            asked: false,
            attempted: false,
        }
    }

    /// Whether anything but the local-fault rule keeps the monitor from acting.
    pub(super) const fn blocked(&self) -> bool {
        self.holds & !(Holder::LocalFault as u8) != 0
    }

    pub(super) const fn held_by(&self, holder: Holder) -> bool {
        self.holds & holder as u8 != 0
    }

    pub(super) fn next_ticket(&mut self) -> Ticket {
        self.last_ticket = self.last_ticket.wrapping_add(1);
        Ticket(self.last_ticket)
    }

    /// The fixed text: a dead process is named whatever the status (R10).
    pub(super) const fn message(&self) -> Message {
        match self.status {
            Status::Unknown => Message::None,
            Status::Offline => Message::NotRunning,
            _ if self.dead => Message::NotRunning,
            Status::Ok => Message::Online,
            Status::Degraded => Message::Degraded,
            Status::Faulted => Message::Failed,
        }
    }

    /// Whether a monitor just begun would stand so after a healthy cycle: nothing is under way,
    /// held or put off, and the last start keeps nothing waiting any more.
    pub(crate) fn is_calm(&self, now: Instant) -> bool {
        let distance = u64::from(crate::policy::START_DISTANCE.as_millis());
        let settled = self.last_start.is_none_or(|start| now.since(start) >= distance);
        settled
            && matches!(self.status, Status::Ok)
            && matches!(self.cycle, Cycle::Sleeping { .. })
            && matches!(self.pursuit, Pursuit::None)
            && self.holds == 0
            && self.grace_until.is_none()
            && self.pace_floor.is_none()
            && self.unmeasured_since.is_none()
            && !self.dead
    }

    /// How many tickets were made.
    pub(crate) const fn tickets(&self) -> u32 {
        self.last_ticket
    }

    /// When the monitor wants to be woken.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let pursuit = match self.pursuit {
            Pursuit::Delaying { at, .. } | Pursuit::Unstopped { at, .. } => Some(at),
            Pursuit::NotNow { again, last, .. } => Some(again.min(last)),
            Pursuit::None
            | Pursuit::Restarting { .. }
            | Pursuit::Asking { .. }
            | Pursuit::GivenOver { .. }
            | Pursuit::Ended(_) => None,
        };
        let cycle = match self.cycle {
            Cycle::Sleeping { due } => Some(due),
            Cycle::Probing { .. } | Cycle::Still => None,
        };
        match (pursuit, cycle) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    pub(super) const fn waiting_for(&self) -> Waiting {
        match (self.pursuit, self.cycle) {
            (Pursuit::Ended(ended), _) => Waiting::Ended(ended),
            (Pursuit::GivenOver { .. }, _) => Waiting::GivenOver,
            (Pursuit::Delaying { at, .. }, _) => Waiting::Delay(at),
            (Pursuit::Restarting { .. }, _) => Waiting::Restart,
            (Pursuit::Unstopped { at, .. }, _) => Waiting::StopAgain(at),
            (Pursuit::Asking { .. }, _) => Waiting::Giveover,
            (Pursuit::NotNow { again, .. }, _) => Waiting::AskAgain(again),
            (Pursuit::None, Cycle::Sleeping { due }) if self.dead => Waiting::DeadCycle(due),
            (Pursuit::None, Cycle::Sleeping { due }) => Waiting::Probe(due),
            (Pursuit::None, Cycle::Probing { .. }) => Waiting::Answer,
            (Pursuit::None, Cycle::Still) => Waiting::Release,
        }
    }
}
