//! Keeps the track of a monitor while it is fed.

use std::sync::Arc;

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{
    Action, Actions, Event, GiveoverOutcome, Holder, Origin, RestartOutcome, Ticket, Waiting,
};
use giveover_core::policy::Policy;
use giveover_core::time::{Instant, Span};

use super::{Mark, Track, What, step};
use crate::machine::BoxedMonitor;

/// Watches a monitor while it is fed, and keeps its track.
#[derive(Clone, Debug)]
pub struct Recorder {
    track: Track,
    /// The last instant looked at.
    last: Instant,
    delayed: bool,
    /// When a sum was spent: it stands for a millisecond, or nobody would ever see it at 100.
    spent_at: Option<Instant>,
}

/// What an event can only be judged by afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    probe: Option<Ticket>,
    held: [bool; Holder::ALL.len()],
    restart: Option<Ticket>,
    giveover: Option<Ticket>,
    dead: bool,
}

impl Before {
    /// Looks at `monitor` before an event is fed.
    #[must_use]
    pub fn of(monitor: &BoxedMonitor) -> Self {
        Self {
            probe: monitor.probe_under_way(),
            held: Holder::ALL.map(|holder| monitor.held_by(holder)),
            restart: monitor.restart_under_way().map(|(ticket, _)| ticket),
            giveover: monitor.giveover_under_way(),
            dead: monitor.is_dead(),
        }
    }
}

impl Recorder {
    /// A track that begins at `now`.
    #[must_use]
    pub fn new(name: Arc<str>, monitor: &BoxedMonitor, now: Instant) -> Self {
        let limits = monitor.policy().limits();
        let mut recorder = Self {
            track: Track {
                name,
                retry_count: limits.retry_count,
                retry_interval: limits.retry_interval,
                ..Track::default()
            },
            last: now,
            delayed: false,
            spent_at: None,
        };
        recorder.track.statuses.push((now, monitor.status()));
        recorder.sample(monitor, now);
        recorder
    }

    /// Notes what ages out of the histories up to `now`: call it before each event.
    pub fn pass(&mut self, monitor: &BoxedMonitor, now: Instant) {
        // a record exactly as old as the window still counts
        let window = monitor.policy().limits().retry_interval.as_millis();
        let window = Span::from_millis(window.saturating_add(1));
        let history = monitor.history();
        let failures = history.failures().map(|failure| failure.at);
        let gone = failures.chain(history.restart_times()).map(|at| at.after(window));
        let mut gone: Vec<Instant> = gone.filter(|at| *at > self.last && *at < now).collect();
        gone.sort();
        gone.dedup();
        for at in gone {
            self.sample(monitor, at);
        }
        self.last = self.last.max(now);
    }

    /// Notes what `event` was and led to: call it behind each.
    pub fn saw(
        &mut self,
        before: Before,
        event: &Event,
        actions: &Actions,
        monitor: &BoxedMonitor,
        now: Instant,
    ) {
        self.note_event(before, event, now);
        for action in actions {
            self.note_action(*action, now);
        }
        let delayed = matches!(monitor.waiting_for(), Waiting::Delay(_));
        let begun = |action: &Action| matches!(action, Action::Restart { .. });
        match (self.delayed, delayed) {
            (false, true) => self.mark(now, What::Decided),
            (true, false) if !actions.as_slice().iter().any(begun) => {
                self.mark(now, What::CalledOff);
            }
            _ => {}
        }
        let outside = matches!(event, Event::Probed { .. } | Event::Died { .. });
        let decides = actions.as_slice().iter().any(is_decision) || delayed && !self.delayed;
        self.delayed = delayed;
        if outside && decides {
            // what was spent at once is seen all the same
            let (_, sum) = monitor.history().evidence();
            step(&mut self.track.sums, now, sum);
            self.spent_at = Some(now);
        }
        if self.track.statuses.last().map(|(_, status)| *status) != Some(monitor.status()) {
            self.track.statuses.push((now, monitor.status()));
        }
        self.sample(monitor, now);
        if let Event::SetPolicy(policy) = event {
            self.policy(policy);
        }
    }

    /// The track up to `end`.
    #[must_use]
    pub fn finish(mut self, monitor: &BoxedMonitor, end: Instant) -> Track {
        self.pass(monitor, end);
        self.sample(monitor, end);
        self.track
    }

    fn policy(&mut self, policy: &Policy) {
        self.track.retry_count = policy.limits().retry_count;
        self.track.retry_interval = policy.limits().retry_interval;
    }

    fn sample(&mut self, monitor: &BoxedMonitor, at: Instant) {
        let tally = monitor.tally(at);
        let spent = self.spent_at.map(|spent| spent.after(Span::from_millis(1)));
        step(&mut self.track.sums, spent.map_or(at, |spent| spent.max(at)), tally.failure_sum);
        step(&mut self.track.restarts, at, tally.restarts);
    }

    fn mark(&mut self, at: Instant, what: What) {
        self.track.marks.push(Mark { at, what });
    }

    fn note_event(&mut self, before: Before, event: &Event, now: Instant) {
        let held = |holder: Holder| {
            let place = Holder::ALL.iter().position(|other| *other == holder);
            place.and_then(|place| before.held.get(place).copied()).unwrap_or(false)
        };
        let what = match *event {
            Event::Probed { ticket, result } if before.probe == Some(ticket) => match result {
                ProbeResult::Healthy => What::Healthy,
                ProbeResult::Failed(weight, _) => What::Failed(weight.value()),
                ProbeResult::Immediate(_) => What::Immediate,
                ProbeResult::CannotMeasure(_) => What::Unmeasured,
                ProbeResult::Void => What::Void,
            },
            Event::Died { .. } if !before.dead => What::Died,
            Event::RestartDone { ticket, outcome } if before.restart == Some(ticket) => {
                match outcome {
                    RestartOutcome::Started => What::Started,
                    RestartOutcome::StartFailed(_) => What::StartFailed,
                    RestartOutcome::StopFailed(_) => What::StopFailed,
                    RestartOutcome::Invalid(_) => What::Invalid,
                }
            }
            Event::GiveoverDone { ticket, outcome } if before.giveover == Some(ticket) => {
                match outcome {
                    GiveoverOutcome::Granted => What::Granted,
                    GiveoverOutcome::Denied => What::Denied,
                    GiveoverOutcome::NotNow => What::NotNow,
                    GiveoverOutcome::Aborted { .. } => What::Aborted,
                    GiveoverOutcome::Unproven => What::Unproven,
                }
            }
            Event::Healed => What::Healed,
            Event::Stopped => What::Stopped,
            Event::End => What::Ended,
            Event::Begin { .. } => What::Begun,
            Event::Hold(holder) if !held(holder) => What::Held(holder),
            Event::Release(holder) if held(holder) => What::Released(holder),
            Event::Clear => What::Cleared,
            // timers and wishes are told by what they lead to; what is late leads to nothing
            _ => return,
        };
        self.mark(now, what);
    }

    fn note_action(&mut self, action: Action, now: Instant) {
        let what = match action {
            Action::Restart { origin, .. } => {
                What::Restart { by_person: origin == Origin::Operator }
            }
            Action::Giveover { .. } => What::Giveover,
            Action::Cancel { .. } => What::Cancelled,
            Action::BudgetSpent => What::BudgetSpent,
            Action::Log => What::Logged,
            Action::Reset { .. } => What::Reset,
            // probes are told by their answers, a status has a band of its own
            _ => return,
        };
        self.mark(now, what);
    }
}

/// Whether an action is the monitor's own, about a failure.
#[must_use]
pub const fn is_decision(action: &Action) -> bool {
    matches!(
        action,
        Action::Restart { origin: Origin::Monitor, .. }
            | Action::Giveover { .. }
            | Action::BudgetSpent
            | Action::Log
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;
    use giveover_core::failure::{Cause, Phase};
    use giveover_core::monitor::Status;
    use giveover_core::policy::{Limits, Scope};
    use giveover_core::weight::Weight;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_track_has_what_was_fed_and_what_aged_out() {
        let limits = Limits {
            thorough_probe_interval: Span::from_secs(1),
            retry_interval: Span::from_secs(10),
            start_grace: Span::ZERO,
            ..Limits::DEFAULT
        };
        let (policy, _) = Policy::new(limits, Scope::USUAL).expect("possible");
        let mut monitor = machine::boxed(policy, at(0));
        let mut recorder = Recorder::new("web".into(), &monitor, at(0));
        let half = ProbeResult::Failed(Weight::HALF, Cause::new(Phase::Read, 0));
        let mut feed = |event: Event, now: Instant| {
            recorder.pass(&monitor, now);
            let before = Before::of(&monitor);
            let actions = monitor.handle(event, now);
            recorder.saw(before, &event, &actions, &monitor, now);
            monitor.probe_under_way()
        };
        feed(Event::Begin { first: Span::ZERO, started: false }, at(0));
        let ticket = feed(Event::Timeout, at(0)).expect("a probe");
        feed(Event::Probed { ticket, result: half }, at(5));
        feed(Event::Hold(Holder::Operator), at(20_000));
        feed(Event::Hold(Holder::Operator), at(20_001));
        let track = recorder.finish(&monitor, at(30_000));
        assert_eq!(track.sums, [(at(0), 0), (at(5), 50), (at(10_006), 0)]);
        let whats: Vec<What> = track.marks.iter().map(|mark| mark.what).collect();
        assert_eq!(whats, [What::Begun, What::Failed(50), What::Held(Holder::Operator)]);
        let degraded = [(at(0), Status::Unknown), (at(5), Status::Degraded)];
        assert_eq!(track.statuses, degraded);
    }
}
