//! What must hold after every step, whatever went wrong before: the invariants of accounting (A), of
//! restart and giveover (B), and the laws every machine obeys. Those of the reset line (C) are looked
//! at where the line is.
//!
//! The oracle knows the rules by their words, not by the monitor's code: what it compares with is
//! counted here again.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{
    Action, Actions, Event, GiveoverOutcome, Holder, Origin, Reason, RestartOutcome, Standing,
    Status, Waiting,
};
use giveover_core::policy::{Destination, FailoverMode, Policy};
use giveover_core::time::{Instant, Span};

use crate::config::world::World;
use crate::machine::BoxedMonitor;

pub(super) struct Oracle {
    services: Vec<Seen>,
}

/// What was seen of one service.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Restarts that count for the budget, since nothing was forgotten.
    charged: Vec<Instant>,
    last_start: Option<Instant>,
    gone: bool,
    /// When giveover was asked for, the first time for the failure under way, and why.
    asked: Option<(Instant, Reason)>,
    /// How it stood after the last event.
    last: Option<(Standing, [u16; 3])>,
}

type Judged = Result<(), String>;

fn that(holds: bool, why: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(why()) }
}

impl Oracle {
    pub(super) fn new(world: &World) -> Self {
        Self { services: vec![Seen::default(); world.services.len()] }
    }

    /// Looks at one step.
    pub(super) fn look(
        &mut self,
        place: usize,
        before: &BoxedMonitor,
        event: &Event,
        actions: &Actions,
        after: &BoxedMonitor,
        at: Instant,
    ) -> Judged {
        let Some(seen) = self.services.get_mut(place) else { return Ok(()) };
        let step = Step { before, event: *event, actions, after, at: at.max(before.latest()) };
        let judged = seen.judge(&step);
        seen.last = Some((*after.standing(), tally(after, step.at)));
        judged.map_err(|why| format!("{why} ({event:?} led to {:?})", actions.as_slice()))
    }

    /// A daemon came up again: A2, what was acted on was recorded, and nothing else is known.
    pub(super) fn recovered(&mut self, place: usize, monitor: &BoxedMonitor, lost: bool) -> Judged {
        let Some(seen) = self.services.get_mut(place) else { return Ok(()) };
        let Some((standing, tallied)) = seen.last else { return Ok(()) };
        if lost {
            // what is forgotten may free budget; what is not must still hold
            seen.charged.clear();
            seen.gone = false;
            seen.last = None;
            seen.asked = None;
            seen.last_start = None; // the clock may have gone back to before it
            return Ok(());
        }
        let found = tally(monitor, monitor.latest());
        that(*monitor.standing() == standing && found == tallied, || {
            format!(
                "A2: recovered with {found:?} (sum, failures, restarts), it had {tallied:?}; {:?}",
                monitor.waiting_for()
            )
        })
    }

    /// The journal had nothing of it.
    pub(super) fn forgot(&mut self, place: usize) {
        if let Some(seen) = self.services.get_mut(place) {
            *seen = Seen::default();
        }
    }
}

/// R9: not now, and the window is over since it was asked first: that is a denial.
fn too_late(step: &Step<'_>, first: Instant) -> bool {
    step.at.since(first) >= step.window()
}

fn tally(monitor: &BoxedMonitor, at: Instant) -> [u16; 3] {
    let tally = monitor.tally(at);
    [tally.failure_sum, tally.failures, tally.restarts]
}

struct Step<'a> {
    before: &'a BoxedMonitor,
    event: Event,
    actions: &'a Actions,
    after: &'a BoxedMonitor,
    at: Instant,
}

fn blocked(monitor: &BoxedMonitor) -> bool {
    let full = [Holder::Operator, Holder::Need, Holder::HostBudget, Holder::Unproven];
    full.into_iter().any(|holder| monitor.held_by(holder))
}

impl Step<'_> {
    fn policy(&self) -> &Policy {
        self.after.policy()
    }

    fn window(&self) -> u64 {
        u64::from(self.policy().limits().retry_interval.as_millis())
    }

    fn live(&self, at: Instant) -> bool {
        self.at.since(at) <= self.window()
    }

    fn any(&self, wanted: impl Fn(&Action) -> bool) -> bool {
        self.actions.as_slice().iter().any(wanted)
    }

    fn restart(&self) -> Option<Origin> {
        self.actions.as_slice().iter().find_map(|action| match action {
            Action::Restart { origin, .. } => Some(*origin),
            _ => None,
        })
    }

    fn giveover(&self) -> Option<Reason> {
        self.actions.as_slice().iter().find_map(|action| match action {
            Action::Giveover { reason, .. } => Some(*reason),
            _ => None,
        })
    }

    /// A restart has been decided and waits, which it did not before.
    fn delayed(&self) -> Option<Instant> {
        match (self.before.waiting_for(), self.after.waiting_for()) {
            (Waiting::Delay(_), _) => None,
            (_, Waiting::Delay(at)) => Some(at),
            _ => None,
        }
    }

    /// Whether it led to anything that is done about a failure.
    fn decides(&self) -> bool {
        self.delayed().is_some()
            || self.any(|action| {
                matches!(
                    action,
                    Action::Restart { origin: Origin::Monitor, .. }
                        | Action::Giveover { .. }
                        | Action::BudgetSpent
                        | Action::Log
                )
            })
    }

    /// Live restarts before the event, by its time.
    fn restarts_before(&self) -> usize {
        self.before.history().restart_times().filter(|at| self.live(*at)).count()
    }

    fn sum_before(&self) -> u32 {
        let live = self.before.history().failures().filter(|failure| self.live(failure.at));
        live.map(|failure| u32::from(failure.weight.value())).sum()
    }

    /// Nothing is under way, nobody holds it, and it is not just starting.
    fn counts(&self) -> bool {
        self.before.waiting_for() == Waiting::Answer
            && Holder::ALL.into_iter().all(|holder| !self.before.held_by(holder))
            && self.before.grace_until().is_none_or(|until| self.at >= until)
    }
}

impl Seen {
    fn judge(&mut self, step: &Step<'_>) -> Judged {
        self.laws(step)?;
        Self::accounting(step)?;
        Self::counted(step)?;
        self.answers(step)?;
        Self::forbidden(step)?;
        Self::told(step)?;
        self.budget(step)?;
        self.starts(step)?;
        self.gone(step)
    }

    /// Laws 1, 2, 3 and 9, on copies.
    fn laws(&self, step: &Step<'_>) -> Judged {
        let due = step.after.poll_timeout();
        let served = step.before.poll_timeout().is_some_and(|due| due <= step.at);
        if step.event == Event::Timeout && served {
            that(due.is_none_or(|due| due > step.at), || "law 1: a deadline is stale".to_owned())?;
        }
        let same = |monitor: &BoxedMonitor| {
            monitor.standing() == step.after.standing()
                && tally(monitor, step.at) == tally(step.after, step.at)
        };
        let mut twin = step.after.clone();
        if due.is_none_or(|due| due > step.at) {
            let early = twin.handle(Event::Timeout, step.at);
            that(early.as_slice().is_empty() && same(&twin), || {
                "law 2: an early timer leads to something".to_owned()
            })?;
        }
        let answer = matches!(
            step.event,
            Event::Probed { .. } | Event::RestartDone { .. } | Event::GiveoverDone { .. }
        );
        let repeated =
            matches!(step.event, Event::GiveoverDone { outcome: GiveoverOutcome::Granted, .. });
        if answer && !repeated {
            let mut twin = step.after.clone();
            let late = twin.handle(step.event, step.at);
            that(late.as_slice().is_empty() && same(&twin), || {
                "law 3: the same answer a second time leads to something".to_owned()
            })?;
        }
        let (mut back, mut now) = (step.after.clone(), step.after.clone());
        let earlier = Instant::from_millis(step.at.as_millis().saturating_sub(7_000));
        let (one, other) =
            (back.handle(Event::Timeout, earlier), now.handle(Event::Timeout, step.at));
        that(one == other && back.waiting_for() == now.waiting_for(), || {
            "law 9: time that goes back is not held".to_owned()
        })
    }

    /// A1: the sum is that of the live records, and never a failure that nothing was decided about.
    fn accounting(step: &Step<'_>) -> Judged {
        let live = step.after.history().failures().filter(|failure| step.live(failure.at));
        let sum: u32 = live.map(|failure| u32::from(failure.weight.value())).sum();
        let told = u32::from(step.after.tally(step.at).failure_sum);
        that(sum == told, || format!("A1: the sum is {told}, its records make {sum}"))?;
        that(told < 100, || format!("R3: a sum of {told} is left standing"))?;
        let restarts = step.after.history().restart_times().filter(|at| step.live(*at)).count();
        let told = usize::from(step.after.tally(step.at).restarts);
        that(restarts == told, || format!("A1: {told} restarts, its records are {restarts}"))?;
        let unhurt = matches!(
            step.event,
            Event::Probed {
                result: ProbeResult::Healthy | ProbeResult::Void | ProbeResult::CannotMeasure(_),
                ..
            }
        );
        if unhurt {
            // A3, B6
            let (before, after) = (step.sum_before(), sum);
            that(before == after, || {
                format!("A3: a result that counts nothing moved the sum from {before} to {after}")
            })?;
            that(!step.decides(), || "B6: a result that counts nothing is acted on".to_owned())?;
        }
        Ok(())
    }

    /// R2 to R6, R10, R12: what counts is decided about at 100, and not before.
    fn counted(step: &Step<'_>) -> Judged {
        let policy = step.policy();
        match step.event {
            Event::Probed { ticket, result: ProbeResult::Failed(weight, _) }
                if step.before.probe_under_way() == Some(ticket) =>
            {
                if !step.counts() {
                    let asks = matches!(
                        step.before.waiting_for(),
                        Waiting::Giveover | Waiting::AskAgain(_)
                    );
                    let moved =
                        step.sum_before() != u32::from(step.after.tally(step.at).failure_sum);
                    that(asks || !moved, || "a probe counts that must not".to_owned())?;
                    return that(!step.decides(), || {
                        "a probe that does not count is acted on".to_owned()
                    });
                }
                let sum = step.sum_before() + u32::from(weight.value());
                that(step.decides() == (sum >= 100), || {
                    format!("R2, R3: at a sum of {sum} it is decided or not")
                })
            }
            Event::Probed { ticket, result: ProbeResult::Immediate(_) }
                if step.before.probe_under_way() == Some(ticket) && step.counts() =>
            {
                let asked = matches!(step.giveover(), Some(Reason::Immediate(_)));
                that(asked == policy.gives_over(), || {
                    "R6: an immediate result skips the restart".to_owned()
                })
            }
            Event::Died { .. } if !step.before.is_dead() => {
                let idle = matches!(step.before.waiting_for(), Waiting::Probe(_) | Waiting::Answer);
                let counts = idle && !blocked(step.before);
                that(!counts || step.decides(), || {
                    "R10: a death is a complete failure at once".to_owned()
                })?;
                let ended = matches!(step.before.waiting_for(), Waiting::Ended(_));
                that(ended || step.after.is_dead(), || "R10: a death is not known".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// R7, R8, R9: what answers lead to.
    fn answers(&self, step: &Step<'_>) -> Judged {
        let limits = step.policy().limits();
        match step.event {
            Event::RestartDone { ticket, outcome }
                if step.before.restart_under_way().is_some_and(|(asked, _)| asked == ticket) =>
            {
                let origin = step.before.restart_under_way().map(|(_, origin)| origin);
                match outcome {
                    RestartOutcome::Started => {
                        let ok = !step.after.is_dead() && step.after.status() != Status::Faulted;
                        that(ok, || "R7: what has been started is dead, or faulted".to_owned())
                    }
                    RestartOutcome::StartFailed(_) => {
                        that(step.after.is_dead(), || "R7: nothing runs, unknown".to_owned())?;
                        let asks = step.giveover().is_some();
                        let mode = limits.failover_mode;
                        let may = matches!(mode, FailoverMode::Soft | FailoverMode::Hard)
                            && step.policy().gives_over()
                            && origin != Some(Origin::Operator);
                        that(may || !asks, || {
                            "R7: this mode does not ask for giveover".to_owned()
                        })?;
                        let held = blocked(step.before);
                        let must = may && origin == Some(Origin::Monitor) && !held;
                        let asked = asks || step.restart().is_some() || step.delayed().is_some();
                        // once for each failure event: a second attempt asks no more
                        let again = step.before.standing() != step.after.standing();
                        that(!must || asked || again, || "R7: nobody is asked".to_owned())
                    }
                    RestartOutcome::StopFailed(_) => {
                        let started = step.restart().is_some() || step.giveover().is_some();
                        that(!started, || {
                            "R7: started or handed over while the old instance may run".to_owned()
                        })?;
                        let hard = limits.failover_mode == FailoverMode::Hard;
                        let reset = step.any(|action| matches!(action, Action::Reset { .. }));
                        let ours = origin == Some(Origin::Monitor) && !blocked(step.before);
                        that(!ours || reset == hard, || {
                            "R7: the node is reset under hard, and only there".to_owned()
                        })
                    }
                    RestartOutcome::Invalid(_) => {
                        that(step.before.is_dead() || !step.after.is_dead(), || {
                            "R7: refused by validation, nothing was stopped".to_owned()
                        })
                    }
                }
            }
            Event::GiveoverDone { ticket, outcome }
                if step.before.waiting_for() == Waiting::Giveover
                    && step.before.giveover_under_way() == Some(ticket) =>
            {
                self.answered(step, outcome)
            }
            _ => Ok(()),
        }
    }

    fn answered(&self, step: &Step<'_>, outcome: GiveoverOutcome) -> Judged {
        let elsewhere = step.policy().scope().destination == Destination::Elsewhere;
        // a person's wish that is denied changes nothing
        let ours = self.asked.filter(|(_, reason)| *reason != Reason::Operator);
        let ends = match (ours, outcome) {
            (Some(_), GiveoverOutcome::Denied) => true,
            (Some((first, _)), GiveoverOutcome::NotNow) => too_late(step, first),
            _ => false,
        };
        if ends && elsewhere {
            let tally = step.after.tally(step.at);
            that(tally.failure_sum == 0 && tally.restarts <= 1, || {
                let (sum, restarts) = (tally.failure_sum, tally.restarts);
                format!("R9: denied, and a sum of {sum} and {restarts} restarts are left")
            })?;
        }
        match outcome {
            GiveoverOutcome::Denied if elsewhere => {
                let tally = step.after.tally(step.at);
                let restarted = step.restart().is_some() || step.delayed().is_some();
                let by_operator = tally.failure_sum > 0 || usize::from(tally.restarts) > 1;
                let kept = step.sum_before() == u32::from(tally.failure_sum)
                    && step.restarts_before() == usize::from(tally.restarts);
                that(kept || !by_operator, || "R9: denied, and not afresh".to_owned())?;
                let dead = step.after.is_dead() && !blocked(step.after);
                let something = restarted || step.after.poll_timeout().is_some();
                that(!dead || something, || "R9: a dead process is forgotten".to_owned())
            }
            GiveoverOutcome::NotNow => match step.after.waiting_for() {
                Waiting::AskAgain(again) => that(again.since(step.at) <= 10_000, || {
                    format!("R9: asked again only after {} ms", again.since(step.at))
                }),
                _ => Ok(()), // the window is over, it is held, or it was a person's wish
            },
            _ => Ok(()),
        }
    }

    /// R11, R14 to R16: what a hold or a mode forbids is never done, and nothing twice at once.
    fn forbidden(step: &Step<'_>) -> Judged {
        let by_person = matches!(step.event, Event::Restart | Event::Giveover)
            || matches!(step.before.waiting_for(), Waiting::Delay(_) | Waiting::StopAgain(_));
        let held = blocked(step.before) && blocked(step.after) && !by_person;
        let log_only = step.policy().limits().failover_mode == FailoverMode::LogOnly;
        let acts =
            step.actions.as_slice().iter().filter(|action| {
                matches!(action, Action::Restart { .. } | Action::Giveover { .. })
            });
        that(acts.count() <= 1, || "two things are done at once".to_owned())?;
        that(step.restart().is_none() || !held, || "R15: restarted while held".to_owned())?;
        that(step.giveover().is_none() || !held, || "R15: given over while held".to_owned())?;
        // what a person wants may wait in spite of other holders; what we want may not
        let ours = step.restart() == Some(Origin::Monitor) && step.event == Event::Timeout;
        that(!(ours && blocked(step.before) && blocked(step.after)), || {
            "R15: what waited is restarted while held".to_owned()
        })?;
        let acts = step.restart() == Some(Origin::Monitor) && log_only;
        that(!acts, || "R11: restarted under log_only".to_owned())?;
        let gives = step.giveover().is_some_and(|reason| reason != Reason::Operator);
        that(!gives || step.policy().gives_over(), || "R22: given over to nobody".to_owned())?;
        let under_way = step.before.restart_under_way();
        let other = step.after.restart_under_way();
        let ended = matches!(
            step.event,
            Event::RestartDone { .. } | Event::Begin { .. } | Event::Stopped | Event::End
        );
        that(under_way.is_none() || under_way == other || ended, || {
            "B4: a restart under way is replaced by another one".to_owned()
        })?;
        match step.giveover() {
            Some(Reason::BudgetSpent) => {
                let asked_before = matches!(step.before.waiting_for(), Waiting::AskAgain(_));
                let count = step.policy().limits().retry_count;
                let spent = count.is_some_and(|count| step.restarts_before() >= usize::from(count));
                that(asked_before || spent, || {
                    format!("B2: given over after {} restarts", step.restarts_before())
                })
            }
            _ => Ok(()),
        }
    }

    /// B5, R18: no state that absorbs is hidden, and exactly the changes are told.
    fn told(step: &Step<'_>) -> Judged {
        let after = step.after;
        let pending = after.poll_timeout().is_some()
            || after.probe_under_way().is_some()
            || after.restart_under_way().is_some()
            || after.giveover_under_way().is_some();
        let shown = match after.waiting_for() {
            Waiting::Release => blocked(after),
            Waiting::GivenOver | Waiting::Ended(_) => true,
            _ => pending,
        };
        that(shown, || format!("B5: {:?} waits for nothing", after.waiting_for()))?;
        let known = after.is_dead() && !blocked(after);
        let at_work = !matches!(after.waiting_for(), Waiting::Ended(_) | Waiting::GivenOver);
        that(!known || !at_work || pending, || "R10: a dead process is forgotten".to_owned())?;
        if let Waiting::DeadCycle(due) = after.waiting_for() {
            let interval = u64::from(step.policy().limits().thorough_probe_interval.as_millis());
            that(due.since(step.at) <= interval, || "R10: a dead cycle comes late".to_owned())?;
        }
        let changed =
            (step.before.status(), step.before.message()) != (after.status(), after.message());
        let told = step.actions.as_slice().iter().find_map(|action| match action {
            Action::Status { status, message } => Some((*status, *message)),
            _ => None,
        });
        let expected = changed.then(|| (after.status(), after.message()));
        that(told == expected, || format!("R18: told {told:?}, and it is {expected:?}"))?;
        let healthy = matches!(
            step.event,
            Event::Probed { ticket, result: ProbeResult::Healthy }
                if step.before.probe_under_way() == Some(ticket)
        );
        that(!healthy || after.status() == Status::Ok, || "R1: healthy, and not ok".to_owned())
    }

    /// B1: no window has more restarts than the budget.
    fn budget(&mut self, step: &Step<'_>) -> Judged {
        let denied = matches!(
            step.event,
            Event::GiveoverDone { outcome: GiveoverOutcome::Denied, ticket }
                if step.before.giveover_under_way() == Some(ticket)
        );
        let given_up = matches!(step.before.waiting_for(), Waiting::AskAgain(_))
            && step.event == Event::Timeout
            && step.giveover().is_none();
        let late = matches!(
            step.event,
            Event::GiveoverDone { outcome: GiveoverOutcome::NotNow, ticket }
                if step.before.giveover_under_way() == Some(ticket)
        ) && self.asked.is_none_or(|(first, _)| too_late(step, first));
        if let Some(reason) = step.giveover() {
            let again = matches!(step.before.waiting_for(), Waiting::AskAgain(_))
                && self.asked.is_some_and(|(_, before)| before == reason);
            if !again {
                self.asked = Some((step.at, reason));
            }
        }
        let afresh = denied || given_up || late;
        let anew = matches!(step.event, Event::Begin { .. })
            && step.before.waiting_for() == Waiting::GivenOver;
        if afresh || anew || matches!(step.event, Event::Clear | Event::SetPolicy(_)) {
            self.charged.clear();
        }
        // charged when it is decided; what a person wants, and what comes back, is not charged
        let waited = matches!(step.before.waiting_for(), Waiting::Delay(_) | Waiting::StopAgain(_));
        let decided =
            step.delayed().is_some() || step.restart() == Some(Origin::Monitor) && !waited;
        let charged = !matches!(
            step.event,
            Event::Restart
                | Event::GiveoverDone {
                    outcome: GiveoverOutcome::Aborted { .. } | GiveoverOutcome::Unproven,
                    ..
                }
        );
        // a denial allows one restart of a dead process, whatever the budget
        if decided && charged && !afresh {
            self.charged.push(step.at);
        }
        // called off, or failed so that giveover is asked for: it leaves the budget again
        let called_off = matches!(step.before.waiting_for(), Waiting::Delay(_))
            && (step.event == Event::Restart // a person's takes its place
                || !matches!(step.after.waiting_for(), Waiting::Delay(_) | Waiting::Restart));
        let failed = matches!(step.event, Event::RestartDone { .. }) && step.giveover().is_some();
        let stop_called_off = matches!(step.before.waiting_for(), Waiting::StopAgain(_))
            && (step.event == Event::Restart
                || !matches!(step.after.waiting_for(), Waiting::StopAgain(_) | Waiting::Restart));
        let stop_failed =
            matches!(step.event, Event::RestartDone { outcome: RestartOutcome::StopFailed(_), .. });
        let held_at_once =
            stop_failed && !matches!(step.after.waiting_for(), Waiting::StopAgain(_));
        if called_off || failed || stop_called_off || held_at_once {
            self.charged.pop();
        }
        let window = step.window();
        self.charged.retain(|at| step.at.since(*at) <= window);
        let count = step.policy().limits().retry_count;
        let made = self.charged.len();
        that(count.is_none_or(|count| made <= usize::from(count)), || {
            format!("B1: {made} restarts within {} ms", step.window())
        })
    }

    /// R13: waits are kept, and two starts are a second apart.
    fn starts(&mut self, step: &Step<'_>) -> Judged {
        if step.restart().is_some() {
            if let Some(last) = self.last_start.filter(|last| step.at.since(*last) < 1_000) {
                return Err(format!("R13: a start {} ms after another", step.at.since(last)));
            }
        }
        if let (Waiting::Delay(at), Some(_), Event::Timeout) =
            (step.before.waiting_for(), step.restart(), step.event)
        {
            that(step.at >= at, || "R13: a restart before its time".to_owned())?;
        }
        let outside = matches!(step.event, Event::Probed { .. } | Event::Died { .. });
        let begun = step.restart() == Some(Origin::Monitor);
        if outside && (begun || step.delayed().is_some()) {
            let made = step.before.history().start_times().filter(|at| step.live(*at)).count();
            let made = u16::try_from(made).unwrap_or(u16::MAX);
            let wait: Span = step.policy().limits().restart_delay.wait(made);
            let begins = step.delayed().unwrap_or(step.at);
            that(begins >= step.at.after(wait), || {
                format!("R13: restart {} waits less than {} ms", made + 1, wait.as_millis())
            })?;
        }
        let decided = begun && outside || step.delayed().is_some();
        let newer = step.after.generation() != step.before.generation();
        that(!decided || newer, || "R10: the generation stands still".to_owned())?;
        let started = match step.event {
            Event::Begin { started, .. } => started,
            Event::RestartDone { ticket, outcome } => {
                step.before.restart_under_way().is_some_and(|(asked, _)| asked == ticket)
                    && matches!(outcome, RestartOutcome::Started | RestartOutcome::StartFailed(_))
            }
            _ => false,
        };
        if started {
            self.last_start = Some(step.at);
        }
        Ok(())
    }

    /// B3: after a giveover nothing is done here until it begins again, or comes back.
    fn gone(&mut self, step: &Step<'_>) -> Judged {
        let back = matches!(
            step.event,
            Event::Begin { .. }
                | Event::GiveoverDone {
                    outcome: GiveoverOutcome::Aborted { .. } | GiveoverOutcome::Unproven,
                    ..
                }
        );
        if back {
            self.gone = false;
        }
        let acts = step.actions.as_slice().iter().any(|action| {
            matches!(
                action,
                Action::Probe { .. } | Action::Restart { .. } | Action::Giveover { .. }
            )
        });
        that(!(self.gone && acts), || "B3: something is done after a giveover".to_owned())?;
        let over = step.after.waiting_for() == Waiting::GivenOver;
        that(!over || step.after.poll_timeout().is_none(), || {
            "B3: given over, and something is due here".to_owned()
        })?;
        let granted = matches!(
            step.event,
            Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Granted }
                if step.before.giveover_under_way() == Some(ticket)
        );
        if granted && step.policy().scope().destination != Destination::Board {
            self.gone = true;
            that(step.after.waiting_for() == Waiting::GivenOver, || {
                "R8: granted, and the monitor goes on".to_owned()
            })?;
        }
        Ok(())
    }
}
