//! What another policy would have done with the same day.
//!
//! Fed again is what came from outside: results of probes, deaths, what people asked for, what held
//! and released. Timers are the monitor's own. What nobody recorded is assumed: a restart takes as
//! long and ends as the recorded one nearest to it, or is carried out at once where none was; a
//! request for giveover is answered as the recorded one nearest to it, or granted.

use giveover_core::monitor::{Action, Event, GiveoverOutcome, RestartOutcome, Ticket};
use giveover_core::policy::Policy;
use giveover_core::time::Instant;

use super::super::timeline::{Before, Recorder, Track};
use super::recording::Recorded;
use crate::machine::{self, BoxedMonitor};

/// More events than this between two recorded ones are not played: virtual time could stand still.
const MOST: u32 = 1_000_000;

/// The day of `recorded` under `policy`, up to `end`.
#[must_use]
pub fn under(recorded: &Recorded, policy: Policy, end: Instant) -> Track {
    let begin = recorded.events.first().map_or(recorded.start.latest(), |(at, _)| *at);
    let mut other = Other {
        monitor: recorded.start.clone(),
        recorder: Recorder::new(recorded.name.clone(), &recorded.start, begin),
        methods: Methods::of(recorded),
        restart: None,
        giveover: None,
        slower: policy.limits().thorough_probe_interval
            > recorded.start.policy().limits().thorough_probe_interval,
        policy,
    };
    other.feed(Event::SetPolicy(policy), begin);
    for (at, event) in &recorded.events {
        other.until(*at);
        other.outside(event, *at);
    }
    other.until(end);
    other.recorder.finish(&other.monitor, end)
}

struct Other {
    monitor: BoxedMonitor,
    recorder: Recorder,
    methods: Methods,
    restart: Option<(Ticket, Instant, RestartOutcome)>,
    giveover: Option<(Ticket, Instant, GiveoverOutcome)>,
    /// It probes more seldom than was recorded.
    slower: bool,
    policy: Policy,
}

impl Other {
    /// Everything that is due up to `at`, in order of time.
    fn until(&mut self, at: Instant) {
        for _ in 0..MOST {
            let timer = self.monitor.poll_timeout();
            let restart = self.restart.map(|(_, due, _)| due);
            let giveover = self.giveover.map(|(_, due, _)| due);
            let next = [restart, giveover, timer].into_iter().flatten().min();
            let Some(due) = next.filter(|due| *due <= at) else { return };
            if restart == Some(due) {
                if let Some((ticket, _, outcome)) = self.restart.take() {
                    self.feed(Event::RestartDone { ticket, outcome }, due);
                }
            } else if giveover == Some(due) {
                if let Some((ticket, _, outcome)) = self.giveover.take() {
                    self.feed(Event::GiveoverDone { ticket, outcome }, due);
                }
            } else {
                self.feed(Event::Timeout, due);
            }
        }
    }

    /// What came from outside.
    fn outside(&mut self, event: &Event, at: Instant) {
        match *event {
            Event::Probed { result, .. } => {
                if self.monitor.probe_under_way().is_none() && !self.slower {
                    self.feed(Event::ProbeNow, at);
                }
                if let Some(ticket) = self.monitor.probe_under_way() {
                    self.feed(Event::Probed { ticket, result }, at);
                }
            }
            // its own timers, its own restarts and requests, and the policy it is asked about
            Event::Timeout
            | Event::RestartDone { .. }
            | Event::GiveoverDone { .. }
            | Event::SetPolicy(_) => {}
            event => self.feed(event, at),
        }
    }

    fn feed(&mut self, event: Event, at: Instant) {
        let at = at.max(self.monitor.latest());
        machine::make_room(&mut self.monitor, &event);
        self.recorder.pass(&self.monitor, at);
        let before = Before::of(&self.monitor);
        let actions = self.monitor.handle(event, at);
        self.recorder.saw(before, &event, &actions, &self.monitor, at);
        for action in actions {
            match action {
                Action::Restart { ticket, .. } => {
                    let (took, outcome) = self.methods.restart(at);
                    self.restart = Some((ticket, later(at, took), outcome));
                }
                Action::Giveover { ticket, .. } => {
                    let (took, outcome) = self.methods.giveover(at);
                    self.giveover = Some((ticket, later(at, took), outcome));
                }
                Action::Cancel { .. } => self.giveover = None,
                _ => {} // probes are answered by what was recorded
            }
        }
        debug_assert_eq!(*self.monitor.policy(), self.policy, "nothing else sets it");
    }
}

fn later(at: Instant, ms: u64) -> Instant {
    Instant::from_millis(at.as_millis().saturating_add(ms))
}

/// How restarts and requests went that were recorded: when, how long, and how.
struct Methods {
    restarts: Vec<(Instant, u64, RestartOutcome)>,
    giveovers: Vec<(Instant, u64, GiveoverOutcome)>,
}

impl Methods {
    fn of(recorded: &Recorded) -> Self {
        let mut monitor = recorded.start.clone();
        let mut methods = Self { restarts: Vec::new(), giveovers: Vec::new() };
        let (mut restart, mut giveover) = (None, None);
        for (at, event) in &recorded.events {
            machine::make_room(&mut monitor, event);
            match *event {
                Event::RestartDone { ticket, outcome } => {
                    if let Some((_, begun)) = restart.filter(|(asked, _)| *asked == ticket) {
                        methods.restarts.push((begun, at.since(begun), outcome));
                    }
                }
                Event::GiveoverDone { ticket, outcome } => {
                    if let Some((_, begun)) = giveover.take_if(|(asked, _)| *asked == ticket) {
                        methods.giveovers.push((begun, at.since(begun), outcome));
                    }
                }
                _ => {}
            }
            for action in monitor.handle(*event, *at) {
                match action {
                    Action::Restart { ticket, .. } => restart = Some((ticket, *at)),
                    Action::Giveover { ticket, .. } => giveover = Some((ticket, *at)),
                    _ => {}
                }
            }
        }
        methods
    }

    fn restart(&self, at: Instant) -> (u64, RestartOutcome) {
        nearest(&self.restarts, at).unwrap_or((0, RestartOutcome::Started))
    }

    fn giveover(&self, at: Instant) -> (u64, GiveoverOutcome) {
        nearest(&self.giveovers, at).unwrap_or((0, GiveoverOutcome::Granted))
    }
}

fn nearest<T: Copy>(all: &[(Instant, u64, T)], at: Instant) -> Option<(u64, T)> {
    let distance = |when: Instant| when.since(at).max(at.since(when));
    all.iter().min_by_key(|(when, ..)| distance(*when)).map(|(_, took, outcome)| (*took, *outcome))
}
