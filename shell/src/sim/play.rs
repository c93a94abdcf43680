//! One scenario, played.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{
    Action, Event, GiveoverOutcome, Holder, RestartOutcome, Status, Ticket,
};
use giveover_core::time::{Instant, Span};
use serde_json::Value;

use super::timeline::{Before, Recorder, Timeline, Track};
use crate::config::scenario::{Ending, Expect, Input, Reply, Scenario, Step};
use crate::machine::{self, BoxedMonitor};

/// A scenario and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: Vec<Told>,
    /// As it is drawn.
    pub track: Track,
    /// When it ended.
    pub end: Instant,
}

impl Played {
    /// The scenario as it is drawn.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        Timeline {
            title: self.name.clone(),
            end: self.end,
            tracks: vec![self.track.clone()],
            ..Timeline::default()
        }
    }
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// When it was.
    pub at: Instant,
    /// The line of the file it begins on.
    pub line: usize,
    /// What happened, as it is written: an object with one key.
    pub input: Value,
    /// What was done since the step before, and when, in words of
    /// [`crate::config::scenario::ACTIONS`].
    pub done: Vec<(Instant, &'static str)>,
    /// The status after it.
    pub status: Status,
    /// The live sum of weights after it.
    pub failure_sum: u16,
    /// The live number of restarts after it.
    pub restarts: u16,
    /// Whether anything was expected of it.
    pub expected: bool,
    /// Where it came out otherwise.
    pub differences: Vec<Difference>,
}

/// One thing that is not as expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Which: a key of `expect`.
    pub key: &'static str,
    /// What was expected.
    pub expected: Value,
    /// What came.
    pub came: Value,
}

/// Plays `scenario` from its first step to its last.
#[must_use]
pub fn play(scenario: &Scenario) -> Played {
    let mut player = Player::new(scenario);
    let steps = scenario.steps.iter().map(|step| player.step(step)).collect();
    let last = scenario.steps.last().map_or(Instant::default(), |step| step.at);
    let end = last.max(player.monitor.latest()).after(Span::from_secs(1)); // the last is seen too
    let track = player.recorder.finish(&player.monitor, end);
    Played { name: scenario.name.clone(), steps, track, end }
}

/// Between two steps no more timers are played, so that a file cannot make us play for ever.
const MOST_TIMERS: u32 = 1_000_000;
/// Nor is more written down of what was done there.
const MOST_DONE: usize = 10_000;

struct Player<'s> {
    scenario: &'s Scenario,
    monitor: BoxedMonitor,
    done: Vec<(Instant, &'static str)>,
    recorder: Recorder,
}

impl<'s> Player<'s> {
    /// The service runs and was adopted: nothing was started, so nothing keeps a distance.
    fn new(scenario: &'s Scenario) -> Self {
        let begin = Instant::default();
        let monitor = machine::boxed(scenario.policy, begin);
        let recorder = Recorder::new("service".into(), &monitor, begin);
        let mut player = Self { scenario, monitor, done: Vec::new(), recorder };
        let first = if scenario.cadence { Span::ZERO } else { Span::MAX };
        player.feed(Event::Begin { first, started: false }, begin);
        player
    }

    fn step(&mut self, step: &Step) -> Told {
        let mut timers = 0;
        while let Some(due) = self.monitor.poll_timeout().filter(|due| *due <= step.at) {
            self.feed(Event::Timeout, due);
            timers += 1;
            if timers == MOST_TIMERS {
                break; // virtual time jumps; what would have been done in it is not
            }
        }
        if let Some(event) = self.event(step.input, step.at) {
            self.feed(event, step.at);
        }
        let tally = self.monitor.tally(step.at);
        let mut told = Told {
            at: step.at,
            line: step.line,
            input: step.written.clone(),
            done: std::mem::take(&mut self.done),
            status: self.monitor.status(),
            failure_sum: tally.failure_sum,
            restarts: tally.restarts,
            expected: step.expect != Expect::default(),
            differences: Vec::new(),
        };
        told.differences = told.compare(&step.expect);
        told
    }

    fn event(&mut self, input: Input, now: Instant) -> Option<Event> {
        let hold = |held: bool, holder| match held {
            true => Event::Hold(holder),
            false => Event::Release(holder),
        };
        Some(match input {
            Input::Tick => return None,
            Input::Probe(result) => return self.probed(result, now),
            Input::Died => Event::Died { cause: Cause::new(Phase::Died, 1) },
            Input::Hold(held) => hold(held, Holder::Operator),
            Input::NeedUnmet(held) => hold(held, Holder::Need),
            Input::HostBudgetSpent(held) => hold(held, Holder::HostBudget),
            Input::LocalFault(held) => hold(held, Holder::LocalFault),
            Input::Clear => Event::Clear,
            Input::Policy(policy) => Event::SetPolicy(policy),
            Input::Restart => Event::Restart,
            Input::Giveover => Event::Giveover,
            Input::Begin => {
                let first = self.monitor.policy().limits().thorough_probe_interval;
                Event::Begin { first, started: true }
            }
            Input::Stopped => Event::Stopped,
        })
    }

    /// The answer to the probe under way, or to one begun now; nothing where none can be.
    fn probed(&mut self, result: ProbeResult, now: Instant) -> Option<Event> {
        if self.monitor.probe_under_way().is_none() {
            self.feed(Event::ProbeNow, now);
        }
        let ticket = self.monitor.probe_under_way()?;
        Some(Event::Probed { ticket, result })
    }

    /// Feeds `event`, and answers what it asks for at the same time.
    fn feed(&mut self, event: Event, now: Instant) {
        machine::make_room(&mut self.monitor, &event);
        self.recorder.pass(&self.monitor, now);
        let before = Before::of(&self.monitor);
        let actions = self.monitor.handle(event, now);
        self.recorder.saw(before, &event, &actions, &self.monitor, now);
        for action in actions {
            match action {
                Action::Restart { ticket, .. } => self.restarted(ticket, now),
                Action::Giveover { ticket, .. } => self.answered(ticket, now),
                Action::Cancel { .. } => self.did("cancel", now),
                Action::BudgetSpent => self.did("held", now),
                Action::Log => self.did("log", now),
                Action::Reset { .. } => self.did("reset", now),
                _ => {} // probes are answered by steps, a status is told after each
            }
        }
    }

    fn restarted(&mut self, ticket: Ticket, now: Instant) {
        let start = Cause::new(Phase::Start, 1);
        let (word, outcome) = match self.scenario.restart.at(now) {
            Ending::Ok => ("restart", RestartOutcome::Started),
            Ending::Fail => ("restart_failed", RestartOutcome::StartFailed(start)),
            Ending::StopFails => {
                ("stop_failed", RestartOutcome::StopFailed(Cause::new(Phase::Stop, 1)))
            }
            Ending::Invalid => ("restart_invalid", RestartOutcome::Invalid(start)),
        };
        self.did(word, now);
        self.feed(Event::RestartDone { ticket, outcome }, now);
    }

    fn answered(&mut self, ticket: Ticket, now: Instant) {
        let granted = GiveoverOutcome::Granted;
        let aborted =
            |stopped, phase| GiveoverOutcome::Aborted { stopped, cause: Cause::new(phase, 1) };
        let (word, first, then) = match self.scenario.giveover.at(now) {
            Reply::Accept => ("giveover", granted, None),
            Reply::Deny => ("giveover_denied", GiveoverOutcome::Denied, None),
            Reply::NotNow => ("giveover_not_now", GiveoverOutcome::NotNow, None),
            Reply::AbortStopped => ("giveover_aborted", granted, Some(aborted(true, Phase::Start))),
            Reply::AbortRunning => ("giveover_aborted", granted, Some(aborted(false, Phase::Stop))),
            Reply::Unproven => ("giveover_unproven", granted, Some(GiveoverOutcome::Unproven)),
        };
        self.did(word, now);
        for outcome in [Some(first), then].into_iter().flatten() {
            self.feed(Event::GiveoverDone { ticket, outcome }, now);
        }
    }

    fn did(&mut self, word: &'static str, now: Instant) {
        if self.done.len() < MOST_DONE {
            self.done.push((now, word));
        }
    }
}

impl Told {
    /// What was done, in words alone.
    #[must_use]
    pub fn actions(&self) -> Vec<&'static str> {
        self.done.iter().map(|(_, word)| *word).collect()
    }

    fn compare(&self, expect: &Expect) -> Vec<Difference> {
        let actions = self.actions();
        let pairs = [
            ("actions", expect.actions.as_ref().map(|e| e.as_slice().into()), actions.into()),
            ("status", expect.status.map(|e| e.word().into()), self.status.word().into()),
            ("failure_sum", expect.failure_sum.map(Value::from), self.failure_sum.into()),
            ("restarts", expect.restarts.map(Value::from), self.restarts.into()),
        ];
        let differences = pairs.into_iter().filter_map(|(key, expected, came)| {
            let expected: Value = expected?;
            (expected != came).then_some(Difference { key, expected, came })
        });
        differences.collect()
    }
}
