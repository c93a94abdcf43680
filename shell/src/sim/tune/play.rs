//! A policy on a recorded day: what it would have decided, and when.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{
    Action, Actions, Event, GiveoverOutcome, Origin, RestartOutcome, Waiting,
};
use giveover_core::policy::Policy;
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

use super::day::{Day, What};
use crate::machine;

/// What a policy came to, on all days so far.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// From the first failed probe of each real fault to what was decided, in milliseconds.
    pub(super) delays: Vec<u64>,
    pub(super) needless: u32,
    pub(super) missed: u32,
    /// Recorded probes that it saw.
    pub(super) probes: u32,
}

impl Day {
    /// Tries `policy` on this day: a part weighs `part`, and of the probes only each so many is seen.
    pub(super) fn play(&self, policy: Policy, part: Option<u8>, every: u32, came: &mut Came) {
        let begin = self.steps.first().map_or(Instant::default(), |step| step.at);
        let mut monitor = machine::boxed(policy, begin);
        let _ = monitor.handle(Event::Begin { first: Span::MAX, started: false }, begin);
        let mut under_way: Option<Episode> = None;
        let mut probes = 0u32;
        for step in &self.steps {
            if let Some(at) = waits_until(&monitor).filter(|at| *at <= step.at) {
                let actions = monitor.handle(Event::Timeout, at);
                let acted = carry_out(&mut monitor, &actions, at);
                if let (Some(episode), true) = (&mut under_way, acted) {
                    episode.acted(at, came);
                }
            }
            if step.episode != under_way.map(|episode| episode.number) {
                if let Some(episode) = under_way.take() {
                    episode.close(waits_until(&monitor), came);
                }
                under_way = step.episode.map(|number| Episode {
                    number,
                    real: step.real,
                    since: step.at,
                    acted: false,
                });
            }
            let event = match step.what {
                What::Died => Some(Event::Died { cause: monitor.death() }),
                What::Probe(result) => {
                    probes += 1;
                    if probes % every != 0 {
                        None
                    } else {
                        came.probes += 1;
                        let _ = monitor.handle(Event::ProbeNow, step.at);
                        let weighed = weigh(result, part);
                        monitor
                            .probe_under_way()
                            .map(|ticket| Event::Probed { ticket, result: weighed })
                    }
                }
            };
            let Some(event) = event else { continue };
            let actions = monitor.handle(event, step.at);
            let acted = carry_out(&mut monitor, &actions, step.at);
            if let (Some(episode), true) = (&mut under_way, acted) {
                episode.acted(step.at, came);
            }
        }
        if let Some(episode) = under_way {
            episode.close(waits_until(&monitor), came);
        }
    }
}

/// An episode while a policy is tried on it.
#[derive(Clone, Copy)]
struct Episode {
    number: u32,
    real: bool,
    since: Instant,
    acted: bool,
}

impl Episode {
    fn acted(&mut self, at: Instant, came: &mut Came) {
        if self.real && !self.acted {
            came.delays.push(at.since(self.since));
        } else if !self.real {
            came.needless += 1;
        }
        self.acted = true;
    }

    /// It is over. What was real ended because of what was done on that day: a restart that still
    /// waits would have come.
    fn close(self, waits: Option<Instant>, came: &mut Came) {
        match waits {
            _ if !self.real || self.acted => {}
            Some(at) => came.delays.push(at.since(self.since)),
            None => came.missed += 1,
        }
    }
}

/// Until when a restart waits that has been decided.
fn waits_until(monitor: &machine::BoxedMonitor) -> Option<Instant> {
    match monitor.waiting_for() {
        Waiting::Delay(at) => Some(at),
        _ => None,
    }
}

/// Every start works, every giveover is denied. True if anything was done about a failure.
fn carry_out(monitor: &mut machine::BoxedMonitor, actions: &Actions, at: Instant) -> bool {
    let mut acted = false;
    for action in actions {
        match *action {
            Action::Restart { ticket, origin } => {
                acted |= origin == Origin::Monitor;
                let outcome = RestartOutcome::Started;
                let _ = monitor.handle(Event::RestartDone { ticket, outcome }, at);
            }
            Action::Giveover { ticket, .. } => {
                acted = true;
                let outcome = GiveoverOutcome::Denied;
                let _ = monitor.handle(Event::GiveoverDone { ticket, outcome }, at);
            }
            Action::BudgetSpent | Action::Log => acted = true,
            _ => {}
        }
    }
    acted
}

/// A partial failure weighs what is tried; a complete one is one.
fn weigh(result: ProbeResult, part: Option<u8>) -> ProbeResult {
    match (result, part.and_then(Weight::new)) {
        (ProbeResult::Failed(weight, cause), Some(part)) if weight < Weight::COMPLETE => {
            ProbeResult::Failed(part, cause)
        }
        (ProbeResult::Immediate(cause), _) => ProbeResult::Failed(Weight::COMPLETE, cause),
        _ => result,
    }
}
