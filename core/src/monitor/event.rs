//! What a monitor is told, and what it asks for.

use crate::failure::{Cause, ProbeResult};
use crate::policy::Policy;
use crate::time::Span;

use super::standing::{Message, Status};

/// Ties an answer to the action that asked for it. An answer with any other ticket is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket(pub u32);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Event {
    /// Time has passed; spurious and early ones change nothing.
    Timeout,
    /// The service runs, started or adopted by whom ever: the monitor begins, or begins anew.
    Begin {
        /// Sleep this long before the first probe.
        first: Span,
        /// It has just been started: `start_grace` applies, and the next start keeps its distance.
        started: bool,
    },
    /// A cycle is wanted now rather than when it is due.
    ProbeNow,
    /// The cycle of `ticket` has its one verdict.
    Probed {
        /// From [`Action::Probe`].
        ticket: Ticket,
        /// The verdict.
        result: ProbeResult,
    },
    /// The process ended, and nobody had asked for it. What a restart has started dies after its
    /// [`Event::RestartDone`], never before.
    Died {
        /// How.
        cause: Cause,
    },
    /// The restart of `ticket` has been carried out or has failed.
    RestartDone {
        /// From [`Action::Restart`].
        ticket: Ticket,
        /// How it went.
        outcome: RestartOutcome,
    },
    /// The request of `ticket` has been answered, or a granted one could not be carried out.
    GiveoverDone {
        /// From [`Action::Giveover`].
        ticket: Ticket,
        /// The answer.
        outcome: GiveoverOutcome,
    },
    /// Another supervisor restarted the service before we could: charged as a restart.
    Healed,
    /// The service has been stopped on purpose, by an operator, by others, or as given over.
    Stopped,
    /// The monitor ends while the service runs on.
    End,
    /// An operator wants a restart; it is not charged.
    Restart,
    /// An operator wants a giveover.
    Giveover,
    /// Leave it as it lies, until released.
    Hold(Holder),
    /// This holder carries on.
    Release(Holder),
    /// An operator forgets failures and restarts.
    Clear,
    /// Other limits; histories stay. Nothing happens if the storage is too small for them.
    SetPolicy(Policy),
}

/// Who keeps a monitor from acting. Each holds and releases for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Holder {
    /// A person (R15).
    Operator = 1,
    /// A service this one needs is not ok (R14).
    Need = 2,
    /// The host has used up its actions (R16). A request under way is not cancelled.
    HostBudget = 4,
    /// Too much fails at once and no trusted server answers (R16): failed probes count
    /// nothing, deaths still do.
    LocalFault = 8,
    /// A giveover ended unproven: the other side may be running.
    Unproven = 16,
}

impl Holder {
    /// Every holder.
    pub const ALL: [Self; 5] =
        [Self::Operator, Self::Need, Self::HostBudget, Self::LocalFault, Self::Unproven];

    /// The word of `held.by`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Need => "need",
            Self::HostBudget => "host_budget",
            Self::LocalFault => "local_fault",
            Self::Unproven => "unproven",
        }
    }
}

/// How a restart went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RestartOutcome {
    /// Stopped and started.
    Started,
    /// Validation refused it before anything was stopped.
    Invalid(Cause),
    /// Stopped, and not started: nothing runs.
    StartFailed(Cause),
    /// The old instance is not proven gone; nothing was started.
    StopFailed(Cause),
}

/// The answer to a request for giveover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GiveoverOutcome {
    /// It will be carried out; this monitor ends.
    Granted,
    /// Not this time: start afresh.
    Denied,
    /// Ask again later.
    NotNow,
    /// Granted, but could not be carried out.
    Aborted {
        /// Whether the service is proven stopped here.
        stopped: bool,
        /// What went wrong.
        cause: Cause,
    },
    /// Carried out half: nobody knows whether the other side runs.
    Unproven,
}

/// Why giveover is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reason {
    /// The restarts of the window are used up.
    BudgetSpent,
    /// A result that skips the restart.
    Immediate(Cause),
    /// A restart whose start failed.
    StartFailed(Cause),
    /// A person wants it.
    Operator,
}

/// What the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Action {
    /// Run one cycle over the checks, and answer the ticket exactly once.
    Probe {
        /// For [`Event::Probed`].
        ticket: Ticket,
    },
    /// Stop, prove it stopped, start, and answer the ticket.
    Restart {
        /// For [`Event::RestartDone`].
        ticket: Ticket,
        /// Who wanted it.
        origin: Origin,
    },
    /// Ask for giveover, and answer the ticket.
    Giveover {
        /// For [`Event::GiveoverDone`].
        ticket: Ticket,
        /// Why.
        reason: Reason,
    },
    /// The request of this ticket is no longer wanted; its answer will be late.
    Cancel {
        /// From [`Action::Giveover`].
        ticket: Ticket,
    },
    /// A failure past the budget, and nobody to give over to: waits for the budget.
    BudgetSpent,
    /// A failure under `log_only`.
    Log,
    /// The stop failed under `hard`: the node is to be reset, within its own budget (R20).
    Reset {
        /// Why the stop failed.
        cause: Cause,
    },
    /// What people are told has changed.
    Status {
        /// The status.
        status: Status,
        /// Its fixed text.
        message: Message,
    },
}

/// Who wanted a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Origin {
    /// The monitor, after a failure: charged to the budget.
    Monitor,
    /// A person: not charged, and never asks for giveover.
    Operator,
    /// A giveover that could not be carried out: started here again, not charged.
    Return,
}

/// The actions of one event, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Actions(heapless::Vec<Action, { Actions::MAX }>);

impl Actions {
    /// No event leads to more.
    pub const MAX: usize = 4;

    pub(super) const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    pub(super) fn push(&mut self, action: Action) {
        let pushed = self.0.push(action);
        debug_assert!(pushed.is_ok(), "more than {} actions", Self::MAX);
    }

    /// The actions.
    #[must_use]
    pub fn as_slice(&self) -> &[Action] {
        &self.0
    }
}

impl IntoIterator for Actions {
    type Item = Action;
    type IntoIter = <heapless::Vec<Action, { Actions::MAX }> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Actions {
    type Item = &'a Action;
    type IntoIter = core::slice::Iter<'a, Action>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
