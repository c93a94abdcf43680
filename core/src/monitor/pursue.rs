//! What is done about a failure: restart, giveover, and their answers.

use crate::defect;
use crate::failure::Cause;
use crate::history::{FailureSlots, InstantSlots};
use crate::policy::{Destination, FailoverMode, PolicySlot, START_DISTANCE};
use crate::time::{Instant, Span};

use super::event::{
    Action, Actions, GiveoverOutcome, Holder, Origin, Reason, RestartOutcome, Ticket,
};
use super::standing::{Cycle, Ended, Pursuit, Status};
use super::{ASK_AGAIN, Monitor};

impl<F: FailureSlots, R: InstantSlots, P: PolicySlot> Monitor<F, R, P> {
    /// The service runs: begin, or begin anew. After a giveover the histories are empty.
    pub(super) fn on_begin(
        &mut self,
        first: Span,
        started: bool,
        now: Instant,
        actions: &mut Actions,
    ) {
        self.leave_pursuit(actions);
        if matches!(self.standing.pursuit, Pursuit::GivenOver { .. }) {
            self.history.clear_all();
            self.standing.pace_floor = None;
            self.standing.status = Status::Unknown;
        }
        if matches!(self.standing.status, Status::Offline) {
            self.standing.status = Status::Unknown;
        }
        self.standing.holds &= !(Holder::Unproven as u8);
        self.standing.generation = self.standing.generation.wrapping_add(1);
        self.standing.pursuit = Pursuit::None;
        self.standing.dead = false;
        self.standing.unmeasured_since = None;
        self.standing.cycle = Cycle::Sleeping { due: now.after(first) };
        if started {
            self.note_start(now);
        }
    }

    /// Something runs since now: grace begins, and the next start keeps its distance.
    fn note_start(&mut self, now: Instant) {
        let grace = self.policy().limits().start_grace;
        self.standing.grace_until = (!grace.is_zero()).then(|| now.after(grace));
        self.standing.last_start = Some(now);
    }

    /// `at`, or later where the last start is too near (R13).
    fn apart(&self, at: Instant) -> Instant {
        if defect::is(18) {
            return at; // starts need no distance
        }
        self.standing.last_start.map_or(at, |last| at.max(last.after(START_DISTANCE)))
    }

    /// The place in the list of restart delays. After a denial it does not fall until a
    /// healthy cycle, or a service that only ever fails would be restarted ever faster.
    pub(super) fn delay_index(&self) -> u16 {
        self.history.starts().max(self.standing.pace_floor.unwrap_or(0))
    }

    /// R4, R13: a restart is decided. The generation advances now, before the stop, so that
    /// what the old instance still answers counts nothing.
    pub(super) fn decide_restart(&mut self, origin: Origin, now: Instant, actions: &mut Actions) {
        self.history.age(now, self.policy().limits().retry_interval);
        let mut wait = Span::ZERO;
        if origin == Origin::Monitor {
            self.history.add_restart(now);
            self.standing.attempted = true;
            let index = self.delay_index();
            if let Some(floor) = &mut self.standing.pace_floor {
                *floor = index;
            }
            wait = self.policy().limits().restart_delay.wait(index);
            if defect::is(19) {
                wait = Span::ZERO; // no restart waits
            }
        }
        if origin != Origin::Operator {
            self.standing.status = Status::Degraded;
        }
        if !defect::is(20) {
            self.standing.generation = self.standing.generation.wrapping_add(1); // 20: it stands still
        }
        let at = self.apart(now.after(wait));
        if at <= now {
            self.begin_restart(origin, now, actions);
            return;
        }
        self.standing.pursuit = Pursuit::Delaying { at, origin };
        if self.standing.dead {
            self.standing.cycle = Cycle::Still;
        } else {
            self.sleep(now);
        }
    }

    /// The time of a restart has come.
    pub(super) fn begin_restart(&mut self, origin: Origin, now: Instant, actions: &mut Actions) {
        if origin != Origin::Operator {
            self.history.add_start(now);
        }
        self.standing.last_start = Some(now);
        let ticket = self.standing.next_ticket();
        self.standing.pursuit = Pursuit::Restarting { ticket, origin };
        self.standing.cycle = Cycle::Still;
        actions.push(Action::Restart { ticket, origin });
    }

    /// A restart that was decided will not be made after all, and leaves the budget.
    pub(super) fn call_off(&mut self) {
        let origin = match self.standing.pursuit {
            Pursuit::Delaying { origin, .. } | Pursuit::Unstopped { origin, .. } => origin,
            _ => return,
        };
        if origin == Origin::Monitor {
            self.history.take_back_restart();
        }
        self.standing.pursuit = Pursuit::None;
    }

    /// R7: how a restart went.
    pub(super) fn on_restart_done(
        &mut self,
        ticket: Ticket,
        outcome: RestartOutcome,
        now: Instant,
        actions: &mut Actions,
    ) {
        let origin = match self.standing.pursuit {
            Pursuit::Restarting { ticket: asked, origin } if asked == ticket => origin,
            _ => return,
        };
        self.standing.pursuit = Pursuit::None;
        self.sleep(now);
        match outcome {
            RestartOutcome::Started => {
                if defect::is(21) {
                    self.history.clear(); // the restart wipes out its own record
                }
                self.standing.dead = defect::is(22) && self.standing.dead; // 22: dead for ever
                if self.standing.status == Status::Faulted {
                    self.standing.status = Status::Degraded;
                }
                self.note_start(now);
            }
            RestartOutcome::Invalid(cause) => self.start_failed(origin, cause, now, actions),
            RestartOutcome::StartFailed(cause) => {
                self.standing.dead = true;
                self.standing.death = cause;
                self.standing.last_start = Some(now);
                self.start_failed(origin, cause, now, actions);
            }
            RestartOutcome::StopFailed(cause) => {
                if origin != Origin::Operator {
                    self.history.take_back_start();
                }
                self.stop_failed(origin, cause, now, actions);
            }
        }
    }

    /// Soft and hard ask for giveover, once for each failure event; everyone else is faulted.
    fn start_failed(&mut self, origin: Origin, cause: Cause, now: Instant, actions: &mut Actions) {
        if origin == Origin::Operator && !self.standing.dead {
            return; // refused before anything was stopped: all is as it was
        }
        self.standing.status = Status::Faulted;
        if self.standing.blocked() {
            return; // a dead process counts when released
        }
        let asks = origin == Origin::Monitor
            && self.policy().gives_over_failed_start()
            && !self.standing.asked;
        if asks {
            self.history.take_back_restart();
            self.ask(Reason::StartFailed(cause), now, actions);
        }
    }

    /// Nothing is started or handed over while the old instance is not proven gone.
    fn stop_failed(&mut self, origin: Origin, cause: Cause, now: Instant, actions: &mut Actions) {
        self.standing.status = Status::Faulted;
        self.standing.cycle = Cycle::Still;
        let at = self.apart(now.after(self.interval()));
        if defect::is(24) {
            return self.decide_restart(origin, now, actions); // started beside what may run
        }
        self.standing.pursuit = Pursuit::Unstopped { at, origin };
        if self.standing.blocked() {
            self.call_off();
            self.sleep(now);
            return;
        }
        if self.policy().limits().failover_mode == FailoverMode::Hard {
            actions.push(Action::Reset { cause });
        }
        self.call_off_what_is_ruled_out(now, actions); // the limits may have changed meanwhile
    }

    /// R5: asks for giveover, and probes nothing before there is an answer.
    pub(super) fn ask(&mut self, reason: Reason, now: Instant, actions: &mut Actions) {
        self.request(reason, now, actions);
        self.standing.cycle = Cycle::Still;
    }

    /// R9: a request, perhaps repeated; `first` is when it was first made. A repeated one leaves
    /// the cycles alone: they may be further apart than the requests, and a healthy one cancels.
    pub(super) fn request(&mut self, reason: Reason, first: Instant, actions: &mut Actions) {
        let ticket = self.standing.next_ticket();
        if reason != Reason::Operator {
            self.standing.asked = true;
            self.standing.status = Status::Faulted;
        }
        self.standing.pursuit = Pursuit::Asking { ticket, reason, first };
        actions.push(Action::Giveover { ticket, reason });
    }

    /// R8, R9: the answer to a request, or the news that a granted one could not be carried out.
    pub(super) fn on_giveover_done(
        &mut self,
        ticket: Ticket,
        outcome: GiveoverOutcome,
        now: Instant,
        actions: &mut Actions,
    ) {
        match (self.standing.pursuit, outcome) {
            (Pursuit::Asking { ticket: asked, reason, first }, _) if asked == ticket => {
                self.on_answer(ticket, reason, first, outcome, now, actions);
            }
            (Pursuit::GivenOver { ticket: asked }, GiveoverOutcome::Aborted { stopped, cause })
                if asked == ticket =>
            {
                self.aborted(stopped, cause, now, actions);
            }
            (Pursuit::GivenOver { ticket: asked }, GiveoverOutcome::Unproven)
                if asked == ticket =>
            {
                self.unproven();
            }
            _ => {} // late, or an answer that was given before
        }
    }

    fn on_answer(
        &mut self,
        ticket: Ticket,
        reason: Reason,
        first: Instant,
        outcome: GiveoverOutcome,
        now: Instant,
        actions: &mut Actions,
    ) {
        match outcome {
            GiveoverOutcome::Granted if self.policy().scope().destination == Destination::Board => {
                self.standing.pursuit = Pursuit::None; // R22: nothing is stopped, it goes on
                self.resume(now);
            }
            GiveoverOutcome::Granted => {
                self.standing.pursuit = Pursuit::GivenOver { ticket };
                self.standing.cycle = Cycle::Still;
                if defect::is(25) {
                    self.sleep(now); // probed on after it was given over
                }
            }
            GiveoverOutcome::Denied | GiveoverOutcome::NotNow if reason == Reason::Operator => {
                self.standing.pursuit = Pursuit::None;
                self.resume(now);
            }
            GiveoverOutcome::Denied => self.denied(now, actions),
            GiveoverOutcome::NotNow => self.not_now(reason, first, now, actions),
            GiveoverOutcome::Aborted { stopped, cause } => {
                self.aborted(stopped, cause, now, actions);
            }
            GiveoverOutcome::Unproven => self.unproven(),
        }
    }

    fn not_now(&mut self, reason: Reason, first: Instant, now: Instant, actions: &mut Actions) {
        let last = first.after(self.policy().limits().retry_interval);
        if now >= last {
            self.denied(now, actions);
            return;
        }
        let again = now.after(if defect::is(23) { Span::from_secs(1000) } else { ASK_AGAIN });
        self.standing.pursuit = Pursuit::NotNow { again, last, reason, first };
        if !self.standing.dead {
            self.resume(now);
        }
        if self.standing.blocked() {
            self.standing.pursuit = Pursuit::None; // held while it was asked: nothing waits
        }
    }

    /// R8: not stopped is a stop that failed; stopped but started nowhere starts here.
    fn aborted(&mut self, stopped: bool, cause: Cause, now: Instant, actions: &mut Actions) {
        if !stopped {
            self.stop_failed(Origin::Return, cause, now, actions);
            return;
        }
        self.standing.dead = true;
        self.standing.death = cause;
        self.standing.pursuit = Pursuit::None;
        if self.standing.blocked() {
            self.standing.status = Status::Faulted; // counts when released
        } else {
            self.decide_restart(Origin::Return, now, actions);
        }
    }

    /// The other side may be running: nothing is started until a person says so.
    fn unproven(&mut self) {
        self.standing.pursuit = Pursuit::None;
        self.standing.dead = true;
        self.standing.holds |= Holder::Unproven as u8;
        self.standing.status = Status::Faulted;
    }

    /// Another supervisor has restarted it: one restart of the budget, none by us.
    pub(super) fn on_healed(&mut self, now: Instant) {
        if matches!(self.standing.pursuit, Pursuit::Ended(_) | Pursuit::GivenOver { .. }) {
            return;
        }
        self.call_off();
        self.history.age(now, self.policy().limits().retry_interval);
        self.history.spend_failures();
        self.history.add_restart(now);
        self.standing.generation = self.standing.generation.wrapping_add(1);
        self.standing.dead = false;
        self.standing.status = Status::Degraded;
        if matches!(self.standing.pursuit, Pursuit::None | Pursuit::NotNow { .. }) {
            self.sleep(now);
        }
        self.note_start(now);
    }

    /// Stopped on purpose: offline, until it begins again.
    pub(super) fn on_stopped(&mut self, actions: &mut Actions) {
        self.leave_pursuit(actions);
        if !matches!(self.standing.pursuit, Pursuit::GivenOver { .. }) {
            self.standing.pursuit = Pursuit::Ended(Ended::Stopped);
        }
        self.standing.cycle = Cycle::Still;
        self.standing.dead = false;
        self.standing.status = Status::Offline;
    }

    /// The monitor ends, the service runs on; where it does not run there is nothing to end.
    pub(super) fn on_end(&mut self, actions: &mut Actions) {
        if matches!(
            self.standing.pursuit,
            Pursuit::GivenOver { .. } | Pursuit::Ended(Ended::Stopped)
        ) {
            return;
        }
        self.leave_pursuit(actions);
        self.standing.pursuit = Pursuit::Ended(Ended::Unmonitored);
        self.standing.cycle = Cycle::Still;
        self.standing.status = Status::Unknown;
    }

    fn leave_pursuit(&mut self, actions: &mut Actions) {
        self.call_off();
        if let Pursuit::Asking { ticket, .. } = self.standing.pursuit {
            actions.push(Action::Cancel { ticket });
        }
    }

    /// A person wants a restart; not charged, and nothing that is under way is disturbed.
    pub(super) fn on_operator_restart(&mut self, now: Instant, actions: &mut Actions) {
        match self.standing.pursuit {
            Pursuit::Delaying { .. } | Pursuit::Unstopped { .. } => self.call_off(),
            Pursuit::None | Pursuit::NotNow { .. } => self.standing.pursuit = Pursuit::None,
            _ => return,
        }
        self.decide_restart(Origin::Operator, now, actions);
    }

    /// A person wants it given over.
    pub(super) fn on_operator_giveover(&mut self, now: Instant, actions: &mut Actions) {
        match self.standing.pursuit {
            Pursuit::Delaying { .. } => self.call_off(),
            Pursuit::None | Pursuit::NotNow { .. } => {}
            _ => return,
        }
        self.ask(Reason::Operator, now, actions);
    }
}
