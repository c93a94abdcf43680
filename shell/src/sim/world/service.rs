//! One service: what it is in truth, what its monitor knows, and what is being done with it.

use std::sync::Arc;

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{Status, Ticket};
use giveover_core::time::Instant;
use giveover_core::weight::Weight;

use super::clock::Clock;
use super::outcome::Figures;
use crate::config::scenario::Reply;
use crate::config::world::{self, Verb};
use crate::machine::{self, BoxedMonitor};
use crate::sim::timeline::Recorder;

/// A time that does not come.
pub(super) const NEVER: u64 = u64::MAX;

pub(super) struct Service {
    pub(super) name: Arc<str>,
    pub(super) monitor: BoxedMonitor,
    /// Its process runs here.
    pub(super) alive: bool,
    /// It has been handed over, and runs there.
    pub(super) elsewhere: bool,
    /// Nobody sees to it that it stops in time.
    pub(super) stray: bool,
    /// Its status in the end at the node where it runs, if that is not the host.
    pub(super) last_elsewhere: Option<Status>,
    /// The host does not let it run.
    pub(super) frozen: bool,
    pub(super) ills: Vec<Ill>,
    pub(super) leaks_at: u64,
    /// It leaks since its last start.
    pub(super) leaking: bool,
    leak_weight: Weight,
    pub(super) probe: Option<(Ticket, u64)>,
    pub(super) work: Option<Work>,
    pub(super) asked: Option<(Ticket, u64, Reply)>,
    /// When the monitor wants to be woken.
    timer: u64,
    /// It died, and the daemon has not heard.
    pub(super) unheard: bool,
    /// When a cycle last failed, for the local-fault rule.
    pub(super) failing_at: Option<u64>,
    broken_since: Option<u64>,
    /// A fault that nothing has been decided about.
    fault_since: Option<u64>,
    pub(super) figures: Figures,
    pub(super) recorder: Option<Recorder>,
    /// What was done since the last line that asked.
    pub(super) done: Vec<&'static str>,
}

/// Something that is wrong with a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ill {
    pub(super) verb: Verb,
    pub(super) weight: Weight,
    /// It ends then, whatever is done; else with a restart.
    pub(super) until: Option<u64>,
}

/// A restart under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) ticket: Ticket,
    pub(super) stage: Stage,
    pub(super) until: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Validation refuses it.
    Refused,
    Stopping {
        fails: bool,
    },
    Starting,
    /// Stopped because its group is let go here.
    Leaving {
        fails: bool,
    },
    /// Started because its group is active here.
    Entering,
}

impl Service {
    pub(super) fn new(plan: &world::Service) -> Self {
        Self {
            name: plan.name.clone(),
            monitor: machine::boxed(plan.policy, Instant::default()),
            alive: false,
            elsewhere: false,
            stray: false,
            last_elsewhere: None,
            frozen: false,
            ills: Vec::new(),
            leaks_at: NEVER,
            leaking: false,
            leak_weight: plan.leaks.map_or(Weight::HALF, |leak| leak.weight),
            probe: None,
            work: None,
            asked: None,
            timer: NEVER,
            unheard: false,
            failing_at: None,
            broken_since: None,
            fault_since: None,
            figures: Figures::default(),
            recorder: None,
            done: Vec::new(),
        }
    }

    pub(super) fn record(&mut self, begin: Instant) {
        self.recorder = Some(Recorder::new(self.name.clone(), &self.monitor, begin));
    }

    pub(super) fn arm(&mut self, clock: &Clock) {
        self.timer = self.monitor.poll_timeout().map_or(NEVER, |at| clock.when(at));
    }

    /// When something is due about it; what the daemon does waits until that runs.
    pub(super) fn next_event(&self, daemon: Option<u64>) -> u64 {
        let leak = if self.alive && !self.frozen { self.leaks_at } else { NEVER };
        let Some(from) = daemon else { return leak };
        let mut due = self.timer;
        if let Some((_, ends)) = self.probe {
            due = due.min(ends);
        }
        if let Some(work) = self.work {
            due = due.min(work.until);
        }
        if let Some((_, at, _)) = self.asked {
            due = due.min(at);
        }
        if self.unheard {
            due = 0;
        }
        due.max(from).min(leak)
    }

    /// What is due at `now`, of the daemon's.
    pub(super) fn due(&self, now: u64) -> Option<Due> {
        if self.unheard {
            return Some(Due::Death);
        }
        if let Some((ticket, _)) = self.probe.filter(|(_, ends)| *ends <= now) {
            return Some(Due::Probe(ticket));
        }
        if let Some(work) = self.work.filter(|work| work.until <= now) {
            return Some(Due::Work(work));
        }
        if let Some((ticket, _, reply)) = self.asked.filter(|(_, at, _)| *at <= now) {
            return Some(Due::Answer(ticket, reply));
        }
        (self.timer <= now).then_some(Due::Timer)
    }

    pub(super) fn has(&self, verb: Verb) -> bool {
        self.ills.iter().any(|ill| ill.verb == verb)
    }

    /// Whether whoever wants something of it gets it.
    pub(super) fn works(&self) -> bool {
        let ill = |ill: &Ill| {
            matches!(ill.verb, Verb::Hang | Verb::Refuse | Verb::Slow | Verb::Immediate)
        };
        let here = self.alive && !self.frozen && !self.leaking && !self.ills.iter().any(ill);
        here || self.elsewhere
    }

    /// Looks at what it is in truth, for the figures: call it whenever that may have changed.
    pub(super) fn truth(&mut self, now: u64) {
        match (self.works(), self.broken_since) {
            (false, None) => {
                self.broken_since = Some(now);
                if self.work.is_none() {
                    self.fault_since = Some(now);
                }
            }
            (true, Some(since)) => {
                self.figures.broken(now - since);
                self.broken_since = None;
                self.fault_since = None;
            }
            _ => {}
        }
    }

    /// The end of the world: what is broken still counts.
    pub(super) fn settle(&mut self, now: u64) {
        if let Some(since) = self.broken_since.take() {
            self.figures.broken(now - since);
        }
    }

    /// Something has been decided about it.
    pub(super) fn decided(&mut self, now: u64) {
        if let Some(since) = self.fault_since.take() {
            self.figures.detection = self.figures.detection.max(now - since);
        }
    }

    /// What a probe finds that ends now, and how heavy it is.
    pub(super) fn finds(&self, cut: bool) -> ProbeResult {
        let cause = |phase, errno| Cause::of_check(0, phase, errno);
        let refused = ProbeResult::Failed(Weight::COMPLETE, cause(Phase::Connect, 111));
        if self.has(Verb::Unmeasured) {
            return ProbeResult::CannotMeasure(cause(Phase::Connect, 24));
        }
        if !self.alive || self.frozen {
            return refused;
        }
        if cut {
            return ProbeResult::Failed(Weight::COMPLETE, cause(Phase::Connect, 110));
        }
        if self.has(Verb::Immediate) {
            return ProbeResult::Immediate(cause(Phase::Answer, 500));
        }
        let weight = |ill: &Ill| match ill.verb {
            Verb::Refuse => Some(Weight::COMPLETE),
            Verb::Hang => Some(Weight::HALF),
            Verb::Slow => Some(ill.weight),
            _ => None,
        };
        match self.ills.iter().filter_map(weight).max() {
            Some(Weight::COMPLETE) => refused,
            Some(weight) => ProbeResult::Failed(weight, cause(Phase::Read, 110)),
            None if self.leaking => ProbeResult::Failed(self.leak_weight, cause(Phase::Read, 110)),
            None => ProbeResult::Healthy,
        }
    }

    /// Whether a probe that begins now runs into its deadline.
    pub(super) fn is_late(&self) -> bool {
        self.alive && (self.has(Verb::Hang) || self.has(Verb::Slow) || self.leaking)
    }

    /// Whatever it was, it is gone: nothing leaks and nothing will.
    pub(super) fn forget_leak(&mut self) {
        (self.leaks_at, self.leaking) = (NEVER, false);
    }

    /// An action in the words of `expect`.
    pub(super) fn did(&mut self, word: &'static str) {
        const MOST: usize = 10_000;
        if self.done.len() < MOST {
            self.done.push(word);
        }
    }
}

/// What is due about a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Death,
    Probe(Ticket),
    Work(Work),
    Answer(Ticket, Reply),
    Timer,
}
