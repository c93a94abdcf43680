//! From a result to a decision: what counts, and what it leads to.

use crate::defect;
use crate::failure::Cause;
use crate::history::{FailureSlots, InstantSlots};
use crate::policy::{Destination, FailoverMode, PolicySlot};
use crate::time::Instant;
use crate::verdict::{Verdict, decide};
use crate::weight::Weight;

use super::Monitor;
use super::event::{Action, Actions, Holder, Origin, Reason};
use super::standing::{Cycle, Pursuit, Status};

impl<F: FailureSlots, R: InstantSlots, P: PolicySlot> Monitor<F, R, P> {
    /// R1: healthy ends everything that waited, whatever the history; failures are aged, not
    /// cleared.
    pub(super) fn on_healthy(&mut self, now: Instant, actions: &mut Actions) {
        let window = self.policy().limits().retry_interval;
        self.history.age(now, window);
        if defect::is(4) {
            self.history.clear(); // a success forgets everything
        }
        self.standing.unmeasured_since = None;
        self.standing.grace_until = None;
        self.standing.pace_floor = None;
        self.standing.status = Status::Ok;
        match self.standing.pursuit {
            Pursuit::Delaying { origin: Origin::Operator, .. } => {}
            Pursuit::Delaying { .. } => self.call_off(),
            Pursuit::NotNow { .. } => self.standing.pursuit = Pursuit::None,
            Pursuit::Asking { ticket, reason, .. } if reason != Reason::Operator => {
                self.standing.pursuit = Pursuit::None; // it was repeated after "not now"
                actions.push(Action::Cancel { ticket });
            }
            _ => {}
        }
    }

    /// R21: the status stays as last known; after the window it is degraded.
    pub(super) fn on_unmeasured(&mut self, now: Instant) {
        if defect::is(12) {
            self.history.add_failure(now, Weight::LEAST, self.standing.death); // no lack is a failure
        }
        let since = *self.standing.unmeasured_since.get_or_insert(now);
        let window = u64::from(self.policy().limits().retry_interval.as_millis());
        let unhurt = matches!(self.standing.status, Status::Ok | Status::Unknown);
        if unhurt && now.since(since) >= window {
            self.standing.status = Status::Degraded;
        }
    }

    /// A failed probe: counts unless something says it does not.
    pub(super) fn on_failed(
        &mut self,
        weight: Weight,
        cause: Cause,
        immediate: bool,
        now: Instant,
        actions: &mut Actions,
    ) {
        if self.standing.grace_until.is_some_and(|until| now < until) && !defect::is(5) {
            return; // R13: still starting up
        }
        if self.standing.holds != 0 && !defect::is(6) {
            if self.standing.status != Status::Faulted {
                self.standing.status = Status::Degraded;
            }
            return; // R14, R15, R16: reported, not counted
        }
        if self.standing.pursuit != Pursuit::None {
            self.count_beside(weight, cause, now);
            return;
        }
        if immediate && self.policy().gives_over() && !defect::is(7) {
            self.begin_failure_event();
            self.history.spend_failures();
            self.ask(Reason::Immediate(cause), now, actions);
            return;
        }
        self.count(weight, cause, now, actions);
    }

    /// R10: the process ended. At once a complete failure, once for each outage.
    pub(super) fn on_died(&mut self, cause: Cause, now: Instant, actions: &mut Actions) {
        if self.standing.dead || matches!(self.standing.pursuit, Pursuit::Ended(_)) {
            return;
        }
        // In a restart or a giveover it is the old instance, before the stop: only a start makes
        // up for it.
        if defect::is(8) && self.standing.pursuit != Pursuit::None {
            return; // a death in a restart that waits is not heard
        }
        self.standing.dead = true;
        self.standing.death = cause;
        self.standing.unmeasured_since = None;
        self.standing.cycle = Cycle::Still; // no probe can heal it
        if self.standing.pursuit != Pursuit::None {
            self.count_beside(Weight::COMPLETE, cause, now);
            return;
        }
        if self.standing.blocked() {
            self.standing.status = Status::Faulted;
            return; // counts when released
        }
        self.sleep(now);
        self.count_death(now, actions);
    }

    /// A complete failure because the process is dead.
    pub(super) fn count_death(&mut self, now: Instant, actions: &mut Actions) {
        self.count(Weight::COMPLETE, self.standing.death, now, actions);
    }

    /// R2 to R5: adds to the history and acts on what it then calls for.
    fn count(&mut self, weight: Weight, cause: Cause, now: Instant, actions: &mut Actions) {
        self.history.age(now, self.policy().limits().retry_interval);
        self.history.add_failure(now, weight, cause);
        if defect::is(11) {
            self.history.add_failure(now, weight, cause); // each failure twice
        }
        let verdict = decide(self.policy(), &self.history);
        if verdict == Verdict::Nothing {
            if self.standing.status != Status::Faulted {
                self.standing.status = Status::Degraded;
            }
            return;
        }
        self.begin_failure_event();
        self.history.spend_failures();
        match verdict {
            Verdict::Nothing => {}
            Verdict::Restart => self.decide_restart(Origin::Monitor, now, actions),
            Verdict::Giveover => self.ask(Reason::BudgetSpent, now, actions),
            Verdict::BudgetSpent => self.budget_spent(actions),
            Verdict::Log => {
                self.standing.status = Status::Faulted;
                actions.push(Action::Log);
            }
        }
    }

    /// What is under way already answers a failure. While giveover is asked for it is counted
    /// all the same (R9): a cancelled request must not have hidden it. While a restart waits
    /// nothing counts (R13).
    fn count_beside(&mut self, weight: Weight, cause: Cause, now: Instant) {
        if !matches!(self.standing.pursuit, Pursuit::NotNow { .. } | Pursuit::Asking { .. }) {
            return;
        }
        self.history.age(now, self.policy().limits().retry_interval);
        self.history.add_failure(now, weight, cause);
        if self.history.failure_sum() >= 100 {
            self.history.spend_failures();
        }
    }

    fn begin_failure_event(&mut self) {
        self.standing.asked = false;
        self.standing.attempted = false;
    }

    fn budget_spent(&mut self, actions: &mut Actions) {
        self.standing.status = Status::Faulted;
        actions.push(Action::BudgetSpent);
    }

    /// R9: denied for good. Both histories are emptied and it starts afresh; the service is
    /// left as it is, but a dead process is restarted once.
    pub(super) fn denied(&mut self, now: Instant, actions: &mut Actions) {
        self.standing.pursuit = Pursuit::None;
        self.resume(now);
        if self.policy().scope().destination == Destination::Board {
            // R22: as under restart_only, the budget stays spent.
            self.budget_spent(actions);
            return;
        }
        if !defect::is(10) {
            self.history.clear(); // 10: after a denial the budget stays spent
        }
        self.history.age(now, self.policy().limits().retry_interval);
        let floor = self.delay_index();
        self.standing.pace_floor = Some(floor);
        let due = self.standing.dead && !self.standing.blocked();
        if due && !self.standing.attempted {
            self.decide_restart(Origin::Monitor, now, actions);
        }
    }

    /// R15, R14, R16: a holder keeps the monitor from acting. What a person asked for is called
    /// off by a person only.
    pub(super) fn on_hold(&mut self, holder: Holder, now: Instant, actions: &mut Actions) {
        self.standing.holds |= holder as u8;
        let by_person = holder == Holder::Operator;
        let spares_deaths = holder == Holder::LocalFault;
        if spares_deaths && self.standing.dead {
            return;
        }
        match self.standing.pursuit {
            Pursuit::Delaying { origin, .. } if by_person || origin != Origin::Operator => {
                if defect::is(13) {
                    return; // a restart that waits is made though it is held
                }
                self.call_off();
            }
            Pursuit::Unstopped { origin, .. }
                if by_person || (origin != Origin::Operator && !spares_deaths) =>
            {
                self.call_off();
            }
            Pursuit::NotNow { .. } => self.standing.pursuit = Pursuit::None,
            Pursuit::Asking { ticket, reason, .. }
                if by_person || (reason != Reason::Operator && holder != Holder::HostBudget) =>
            {
                self.standing.pursuit = Pursuit::None;
                actions.push(Action::Cancel { ticket });
            }
            _ => return,
        }
        self.resume(now);
    }

    /// R11: what waits may be something the new limits never do. A person's wish is not theirs.
    pub(super) fn call_off_what_is_ruled_out(&mut self, now: Instant, actions: &mut Actions) {
        let acts = self.policy().limits().failover_mode != FailoverMode::LogOnly;
        let gives_over = self.policy().gives_over();
        match self.standing.pursuit {
            Pursuit::Delaying { origin: Origin::Monitor, .. }
            | Pursuit::Unstopped { origin: Origin::Monitor, .. }
                if !acts =>
            {
                self.call_off();
            }
            Pursuit::NotNow { .. } if !gives_over => self.standing.pursuit = Pursuit::None,
            Pursuit::Asking { ticket, reason, .. } if !gives_over && reason != Reason::Operator => {
                self.standing.pursuit = Pursuit::None;
                actions.push(Action::Cancel { ticket });
            }
            _ => return,
        }
        self.resume(now);
    }

    /// R15: while a dead process is held there is nothing to wait for but the release, whatever
    /// led here.
    pub(super) fn rest_if_dead(&mut self) {
        let idle = self.standing.pursuit == Pursuit::None;
        if idle && self.standing.dead && self.standing.blocked() {
            self.standing.cycle = Cycle::Still;
        }
    }

    /// A holder carries on; a process that died meanwhile is at once a complete failure.
    pub(super) fn on_release(&mut self, holder: Holder, now: Instant, actions: &mut Actions) {
        let was_blocked = self.standing.blocked();
        self.standing.holds &= !(holder as u8);
        let idle = self.standing.pursuit == Pursuit::None;
        if was_blocked && !self.standing.blocked() && idle && self.standing.dead && !defect::is(9) {
            self.sleep(now);
            self.count_death(now, actions);
        }
    }
}
