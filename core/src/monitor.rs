//! A service's fault monitor: probe, restart, give over, hold.
//!
//! One entrance, [`Monitor::handle`], takes an event and the time and returns a short list of
//! actions; [`Monitor::poll_timeout`] says when it wants [`Event::Timeout`]. The monitor never
//! times a probe: each ticket is answered exactly once by the driver.

mod decide;
mod event;
mod pursue;
mod standing;

use crate::defect;
use crate::failure::{Cause, ProbeResult};
use crate::history::{FailureSlots, History, InstantSlots, Tally};
use crate::policy::{Capacity, Policy, PolicySlot};
use crate::time::{Instant, Span};

pub use event::{
    Action, Actions, Event, GiveoverOutcome, Holder, Origin, Reason, RestartOutcome, Ticket,
};
pub use standing::{Ended, Message, Standing, Status, Waiting};

use standing::{Cycle, Pursuit};

/// After "not now" the request is repeated this much later (R9).
const ASK_AGAIN: Span = Span::from_secs(10);

/// The fault monitor of one service.
///
/// `F` and `R` are the storage of its histories, at least as large as
/// [`Policy::capacity`] says; `P` is how it holds its policy.
#[derive(Debug)]
pub struct Monitor<F, R, P = Policy> {
    policy: P,
    history: History<F, R>,
    standing: Standing,
}

/// The storage holds fewer records than the policy needs. Nothing was made or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityError {
    /// What the policy needs.
    pub needs: Capacity,
    /// What the storage holds.
    pub has: Capacity,
}

impl core::fmt::Display for CapacityError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "the histories hold {} failures, {} restarts, {} starts; the policy needs {}, {}, {}",
            self.has.failures,
            self.has.restarts,
            self.has.starts,
            self.needs.failures,
            self.needs.restarts,
            self.needs.starts
        )
    }
}

impl<F: Clone, R: Clone, P: Clone> Clone for Monitor<F, R, P> {
    fn clone(&self) -> Self {
        let (policy, history) = (self.policy.clone(), self.history.clone());
        Self { policy, history, standing: self.standing }
    }

    /// In the storage that is there.
    fn clone_from(&mut self, from: &Self) {
        let Self { policy, history, standing } = self;
        policy.clone_from(&from.policy);
        history.clone_from(&from.history);
        *standing = from.standing;
    }
}

fn check_capacity(needs: Capacity, has: Capacity) -> Result<(), CapacityError> {
    let fits = has.failures >= needs.failures
        && has.restarts >= needs.restarts
        && has.starts >= needs.starts;
    if fits { Ok(()) } else { Err(CapacityError { needs, has }) }
}

impl<F: FailureSlots, R: InstantSlots, P: PolicySlot> Monitor<F, R, P> {
    /// A monitor that has not begun; [`Event::Begin`] begins it.
    ///
    /// # Errors
    /// [`CapacityError`] where `history` is too small for `policy`.
    pub fn new(policy: P, history: History<F, R>, now: Instant) -> Result<Self, CapacityError> {
        Self::restored(policy, history, Standing::new(now))
    }

    /// A monitor put together again from what a journal kept.
    ///
    /// # Errors
    /// As [`Monitor::new`].
    pub fn restored(
        policy: P,
        history: History<F, R>,
        standing: Standing,
    ) -> Result<Self, CapacityError> {
        let held: &Policy = policy.borrow();
        check_capacity(held.capacity(), history.capacity())?;
        Ok(Self { policy, history, standing })
    }

    /// The same monitor over other storage, for a policy that needs more.
    pub fn moved_to<G: FailureSlots, Q: InstantSlots>(
        &self,
        failures: G,
        restarts: Q,
        starts: Q,
    ) -> Monitor<G, Q, P>
    where
        P: Clone,
    {
        Monitor {
            policy: self.policy.clone(),
            history: self.history.moved_to(failures, restarts, starts),
            standing: self.standing,
        }
    }

    /// Takes in what happened at `now` and says what to do about it.
    ///
    /// Time that goes back is taken as the latest time seen, and counted. Every event in every
    /// state is answered, most of them by nothing.
    pub fn handle(&mut self, event: Event, now: Instant) -> Actions {
        let now = self.clamp(now);
        let before = (self.standing.status, self.standing.message());
        let mut actions = Actions::new();
        match event {
            Event::Timeout => self.on_timeout(now, &mut actions),
            Event::Begin { first, started } => self.on_begin(first, started, now, &mut actions),
            Event::ProbeNow => self.on_probe_now(&mut actions),
            Event::Probed { ticket, result } => self.on_probed(ticket, result, now, &mut actions),
            Event::Died { cause } => self.on_died(cause, now, &mut actions),
            Event::RestartDone { ticket, outcome } => {
                self.on_restart_done(ticket, outcome, now, &mut actions);
            }
            Event::GiveoverDone { ticket, outcome } => {
                self.on_giveover_done(ticket, outcome, now, &mut actions);
            }
            Event::Healed => self.on_healed(now),
            Event::Stopped => self.on_stopped(&mut actions),
            Event::End => self.on_end(&mut actions),
            Event::Restart => self.on_operator_restart(now, &mut actions),
            Event::Giveover => self.on_operator_giveover(now, &mut actions),
            Event::Hold(holder) => self.on_hold(holder, now, &mut actions),
            Event::Release(holder) => self.on_release(holder, now, &mut actions),
            Event::Clear => self.history.clear(),
            Event::SetPolicy(policy) => self.on_set_policy(policy, now, &mut actions),
        }
        self.rest_if_dead();
        let after = (self.standing.status, self.standing.message());
        if after != before && !(defect::is(17) && after.0 == before.0) {
            actions.push(Action::Status { status: after.0, message: after.1 });
        }
        actions
    }

    /// When [`Event::Timeout`] is wanted; `None` while only other events can move the monitor.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.standing.deadline()
    }

    /// The status people are told.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.standing.status
    }

    /// The fixed text beside the status.
    #[must_use]
    pub const fn message(&self) -> Message {
        self.standing.message()
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.policy.borrow()
    }

    /// Holds an equal policy in another way: shared, where it was the monitor's own. Another
    /// policy than the one in force is refused, and nothing changes.
    pub fn hold_policy(&mut self, policy: P) {
        let same: &Policy = policy.borrow();
        if same == self.policy() {
            self.policy = policy;
        }
    }

    /// What is remembered; ageing happens on events, [`Monitor::tally`] has live figures.
    #[must_use]
    pub const fn history(&self) -> &History<F, R> {
        &self.history
    }

    /// The live totals at `now`.
    #[must_use]
    pub fn tally(&self, now: Instant) -> Tally {
        self.history.tally(now.max(self.standing.latest), self.policy().limits().retry_interval)
    }

    /// Everything besides policy and histories, for a snapshot.
    #[must_use]
    pub const fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Why nothing happens until the next event.
    #[must_use]
    pub const fn waiting_for(&self) -> Waiting {
        self.standing.waiting_for()
    }

    /// The number of the instance; it advances when a restart is decided.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.standing.generation
    }

    /// Whether `holder` keeps the monitor from acting.
    #[must_use]
    pub const fn held_by(&self, holder: Holder) -> bool {
        self.standing.held_by(holder)
    }

    /// Whether the process is known to be gone.
    #[must_use]
    pub const fn is_dead(&self) -> bool {
        self.standing.dead
    }

    /// How the process went, while [`Monitor::is_dead`].
    #[must_use]
    pub const fn death(&self) -> Cause {
        self.standing.death
    }

    /// The latest time an event was fed with.
    #[must_use]
    pub const fn latest(&self) -> Instant {
        self.standing.latest
    }

    /// The wait before the next restart, as of the last event.
    #[must_use]
    pub fn next_delay(&self) -> Span {
        self.policy().limits().restart_delay.wait(self.delay_index())
    }

    /// Since when nothing could be measured.
    #[must_use]
    pub const fn unmeasured_since(&self) -> Option<Instant> {
        self.standing.unmeasured_since
    }

    /// Until when failed probes count nothing after a start.
    #[must_use]
    pub const fn grace_until(&self) -> Option<Instant> {
        self.standing.grace_until
    }

    /// The ticket of a restart being carried out, for a driver that has to take it up again.
    #[must_use]
    pub const fn restart_under_way(&self) -> Option<(Ticket, Origin)> {
        match self.standing.pursuit {
            Pursuit::Restarting { ticket, origin } => Some((ticket, origin)),
            _ => None,
        }
    }

    /// The ticket of a request that has no answer, or of a giveover that may still be aborted.
    #[must_use]
    pub const fn giveover_under_way(&self) -> Option<Ticket> {
        match self.standing.pursuit {
            Pursuit::Asking { ticket, .. } | Pursuit::GivenOver { ticket } => Some(ticket),
            _ => None,
        }
    }

    /// The ticket of a probe that has no answer.
    #[must_use]
    pub const fn probe_under_way(&self) -> Option<Ticket> {
        match self.standing.cycle {
            Cycle::Probing { ticket } => Some(ticket),
            _ => None,
        }
    }

    /// How often time went back.
    #[must_use]
    pub const fn clock_went_back(&self) -> u32 {
        self.standing.clock_went_back
    }

    fn clamp(&mut self, now: Instant) -> Instant {
        if now < self.standing.latest {
            self.standing.clock_went_back = self.standing.clock_went_back.saturating_add(1);
            if defect::is(16) {
                return now; // time that goes back is believed
            }
        } else {
            self.standing.latest = now;
        }
        self.standing.latest
    }

    fn interval(&self) -> Span {
        self.policy().limits().thorough_probe_interval
    }

    fn sleep(&mut self, now: Instant) {
        self.standing.cycle = Cycle::Sleeping { due: now.after(self.interval()) };
    }

    /// The cycles go on, if they stood still.
    fn resume(&mut self, now: Instant) {
        if matches!(self.standing.cycle, Cycle::Still) {
            self.sleep(now);
        }
    }

    fn on_timeout(&mut self, now: Instant, actions: &mut Actions) {
        match self.standing.pursuit {
            Pursuit::Delaying { at, origin } if now >= at => {
                self.begin_restart(origin, now, actions);
            }
            Pursuit::Unstopped { at, origin } if now >= at => {
                self.begin_restart(origin, now, actions);
            }
            Pursuit::NotNow { last, .. } if now >= last => self.denied(now, actions),
            Pursuit::NotNow { again, reason, first, .. } if now >= again => {
                self.request(reason, first, actions);
            }
            _ => {}
        }
        match self.standing.cycle {
            Cycle::Sleeping { due } if now >= due => {
                if self.standing.dead {
                    if !defect::is(14) {
                        self.sleep(now); // 14: the deadline of a dead process is left in the past
                    }
                    self.count_death(now, actions);
                } else {
                    self.probe(actions);
                }
            }
            _ => {}
        }
    }

    fn on_probe_now(&mut self, actions: &mut Actions) {
        let sleeping = matches!(self.standing.cycle, Cycle::Sleeping { .. });
        if sleeping && !self.standing.dead {
            self.probe(actions);
        }
    }

    fn probe(&mut self, actions: &mut Actions) {
        let ticket = self.standing.next_ticket();
        self.standing.cycle = Cycle::Probing { ticket };
        actions.push(Action::Probe { ticket });
    }

    fn on_probed(
        &mut self,
        ticket: Ticket,
        result: ProbeResult,
        now: Instant,
        actions: &mut Actions,
    ) {
        if defect::is(15) && matches!(self.standing.cycle, Cycle::Sleeping { .. }) {
            self.standing.cycle = Cycle::Probing { ticket }; // a late answer is taken
        }
        if self.standing.cycle != (Cycle::Probing { ticket }) {
            return; // late: the world has moved
        }
        self.sleep(now);
        match result {
            ProbeResult::Void => self.standing.cycle = Cycle::Sleeping { due: now },
            ProbeResult::CannotMeasure(_) => self.on_unmeasured(now),
            ProbeResult::Healthy => self.on_healthy(now, actions),
            ProbeResult::Failed(weight, cause) => {
                self.standing.unmeasured_since = None;
                self.on_failed(weight, cause, false, now, actions);
            }
            ProbeResult::Immediate(cause) => {
                self.standing.unmeasured_since = None;
                let complete = crate::weight::Weight::COMPLETE;
                self.on_failed(complete, cause, true, now, actions);
            }
        }
    }

    /// R19: the histories stay.
    fn on_set_policy(&mut self, policy: Policy, now: Instant, actions: &mut Actions) {
        if check_capacity(policy.capacity(), self.history.capacity()).is_err() {
            debug_assert!(false, "move the monitor to larger storage first");
            return;
        }
        self.policy = policy.into();
        self.call_off_what_is_ruled_out(now, actions);
        if let Cycle::Sleeping { due } = self.standing.cycle {
            self.standing.cycle = Cycle::Sleeping { due: due.min(now.after(self.interval())) };
        }
    }
}
