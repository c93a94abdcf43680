//! One step as the oracle sees it: what was before, what came, what was done, what is after.

use giveover_core::monitor::{Action, Actions, Event, Holder, Origin, Reason, Waiting};
use giveover_core::policy::Policy;
use giveover_core::time::Instant;

use crate::machine::BoxedMonitor;
use crate::sim::timeline::is_decision;

/// R9: not now, and the window is over since it was asked first: that is a denial.
pub(super) fn too_late(step: &Step<'_>, first: Instant) -> bool {
    step.at.since(first) >= step.window()
}

pub(super) fn tally(monitor: &BoxedMonitor, at: Instant) -> [u16; 3] {
    let tally = monitor.tally(at);
    [tally.failure_sum, tally.failures, tally.restarts]
}

pub(super) struct Step<'a> {
    pub(super) before: &'a BoxedMonitor,
    pub(super) event: Event,
    pub(super) actions: &'a Actions,
    pub(super) after: &'a BoxedMonitor,
    pub(super) at: Instant,
    /// What is live after it: sum, failures, restarts.
    pub(super) tally: [u16; 3],
}

pub(super) fn blocked(monitor: &BoxedMonitor) -> bool {
    let full = [Holder::Operator, Holder::Need, Holder::HostBudget, Holder::Unproven];
    full.into_iter().any(|holder| monitor.held_by(holder))
}

impl Step<'_> {
    pub(super) fn policy(&self) -> &Policy {
        self.after.policy()
    }

    pub(super) fn window(&self) -> u64 {
        u64::from(self.policy().limits().retry_interval.as_millis())
    }

    pub(super) fn live(&self, at: Instant) -> bool {
        self.at.since(at) <= self.window()
    }

    pub(super) fn any(&self, wanted: impl Fn(&Action) -> bool) -> bool {
        self.actions.as_slice().iter().any(wanted)
    }

    pub(super) fn restart(&self) -> Option<Origin> {
        self.actions.as_slice().iter().find_map(|action| match action {
            Action::Restart { origin, .. } => Some(*origin),
            _ => None,
        })
    }

    pub(super) fn giveover(&self) -> Option<Reason> {
        self.actions.as_slice().iter().find_map(|action| match action {
            Action::Giveover { reason, .. } => Some(*reason),
            _ => None,
        })
    }

    /// A restart has been decided and waits, which it did not before.
    pub(super) fn delayed(&self) -> Option<Instant> {
        match (self.before.waiting_for(), self.after.waiting_for()) {
            (Waiting::Delay(_), _) => None,
            (_, Waiting::Delay(at)) => Some(at),
            _ => None,
        }
    }

    /// Whether it led to anything that is done about a failure.
    pub(super) fn decides(&self) -> bool {
        self.delayed().is_some() || self.any(is_decision)
    }

    /// Live restarts before the event, by its time.
    pub(super) fn restarts_before(&self) -> usize {
        self.before.history().restart_times().filter(|at| self.live(*at)).count()
    }

    pub(super) fn sum_before(&self) -> u32 {
        let live = self.before.history().failures().filter(|failure| self.live(failure.at));
        live.map(|failure| u32::from(failure.weight.value())).sum()
    }

    /// Nothing is under way, nobody holds it, and it is not just starting.
    pub(super) fn counts(&self) -> bool {
        self.before.waiting_for() == Waiting::Answer
            && Holder::ALL.into_iter().all(|holder| !self.before.held_by(holder))
            && self.before.grace_until().is_none_or(|until| self.at >= until)
    }
}
