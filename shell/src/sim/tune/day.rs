//! What one journal has of a service: its probes and deaths, and the episodes they belong to.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{Action, Event, Waiting};
use giveover_core::policy::Policy;
use giveover_core::time::Instant;

use crate::machine;
use crate::sim::replay::Recorded;

/// What one journal has of the service.
pub(super) struct Day {
    pub(super) policy: Policy,
    pub(super) steps: Vec<Step>,
}

/// Something that was recorded, and the episode it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) at: Instant,
    pub(super) what: What,
    pub(super) episode: Option<u32>,
    /// The episode is a real fault.
    pub(super) real: bool,
}

#[derive(Clone, Copy)]
pub(super) enum What {
    Probe(ProbeResult),
    Died,
}

impl Day {
    pub(super) fn of(recorded: &Recorded) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        let mut number = 0u32;
        let mut open: Option<usize> = None; // where the episode under way begins
        let settle = |steps: &mut Vec<Step>, open: &mut Option<usize>, real: bool| {
            if let Some(from) = open.take() {
                for step in steps.iter_mut().skip(from) {
                    step.real = real;
                }
            }
        };
        let mut monitor = recorded.start.clone();
        for (at, event) in &recorded.events {
            let probing = monitor.probe_under_way();
            machine::make_room(&mut monitor, event);
            let actions = monitor.handle(*event, *at);
            let what = match *event {
                Event::Probed { ticket, result } if probing == Some(ticket) => What::Probe(result),
                Event::Died { .. } => What::Died,
                _ => continue,
            };
            match what {
                What::Probe(ProbeResult::Healthy) => {
                    settle(&mut steps, &mut open, false);
                    steps.push(Step { at: *at, what, episode: None, real: false });
                    continue;
                }
                What::Probe(ProbeResult::CannotMeasure(_) | ProbeResult::Void) => continue,
                _ => {}
            }
            if open.is_none() {
                number += 1;
                open = Some(steps.len());
            }
            steps.push(Step { at: *at, what, episode: Some(number), real: false });
            let acted = actions
                .as_slice()
                .iter()
                .any(|action| matches!(action, Action::Restart { .. } | Action::Giveover { .. }));
            let delayed = matches!(monitor.waiting_for(), Waiting::Delay(_));
            if acted || delayed || matches!(what, What::Died) {
                settle(&mut steps, &mut open, true);
            }
        }
        settle(&mut steps, &mut open, true); // it lasts to the end of the journal
        Self { policy: *monitor.policy(), steps }
    }

    pub(super) fn count(&self, real: bool) -> u32 {
        let mut episodes: Vec<u32> =
            self.steps.iter().filter(|it| it.real == real).filter_map(|it| it.episode).collect();
        episodes.dedup();
        u32::try_from(episodes.len()).unwrap_or(u32::MAX)
    }
}
