//! How a monitor's probe ends: the one answer, and the rows of the table of errors that were met.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::time::Instant;
use giveover_core::weight::Weight;
use rustix::io::Errno;

use super::log::MOST_SAID;
use super::monitor::{At, Monitor, Probe, Talk};
use super::{Databases, Told};
use crate::check::outcome::{Outcome, code as errno_code};
use crate::check::{Answer, ProbeId};
use crate::config::database::{Action, Row, code};
use crate::reactor::Reactor;

/// How a probe ends.
pub(super) enum Verdict {
    /// As other checks' do.
    Of(Outcome),
    /// As a row of the table of errors has it.
    Row(usize),
    /// It took too long, so many in a row.
    Late(Phase, u32),
}

impl Databases {
    /// Gives the probe's one answer.
    pub(super) fn finish(
        &mut self,
        reactor: &mut Reactor,
        number: u32,
        verdict: Verdict,
        now: Instant,
    ) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Some(probe) = monitor.probe.take() else { return };
        reactor.timers.disarm(probe.timer);
        let Probe { id, started, said, run, .. } = probe;
        let weights = &monitor.question.weights;
        let mut stop = None;
        let result = match verdict {
            Verdict::Of(outcome) => outcome.weigh(id.check, weights),
            Verdict::Late(phase, count) => {
                let cause = Cause::of_check(id.check, phase, errno_code(Errno::TIMEDOUT));
                match count {
                    // Of one that is asked for by a person there is no second.
                    _ if monitor.owner.2 => Outcome::late(phase).weigh(id.check, weights),
                    0 | 1 => ProbeResult::CannotMeasure(cause),
                    _ => ProbeResult::Failed(Weight::COMPLETE, cause),
                }
            }
            Verdict::Row(row) => {
                let number = code::ROW.saturating_add(u16::try_from(row).unwrap_or(u16::MAX));
                let cause = Cause::of_check(id.check, Phase::Answer, number);
                match row_of(monitor, row).map_or(Action::Nothing, |row| row.action) {
                    Action::Switch => ProbeResult::Immediate(cause),
                    Action::Restart => ProbeResult::Failed(Weight::COMPLETE, cause),
                    Action::Nothing => ProbeResult::CannotMeasure(cause),
                    Action::Stop => {
                        let plan = monitor.plan();
                        stop = plan.map(|plan| plan.code_words(number));
                        ProbeResult::CannotMeasure(cause)
                    }
                }
            }
        };
        if matches!(monitor.at, At::Resolving | At::Files) {
            monitor.at = At::Nowhere;
        }
        let once = monitor.owner.2;
        if once {
            self.forget(reactor, number);
        }
        let elapsed_ms = u32::try_from(now.since(started)).unwrap_or(u32::MAX);
        let answer = Answer { id, result, elapsed_ms, shown: 0 };
        let (stop, run) = if once { (None, None) } else { (stop, run) };
        self.told.push_back(Told { answer, said, stop, run });
    }

    pub(super) fn tell(&mut self, result: ProbeResult, id: ProbeId, elapsed_ms: u32) {
        let answer = Answer { id, result, elapsed_ms, shown: 0 };
        self.told.push_back(Told { answer, said: Vec::new(), stop: None, run: None });
    }
}

/// A row is met: it is told, once for as long as nothing else happens, and what it runs is run.
pub(super) fn meet(monitor: &mut Monitor, row: usize, text: &str) {
    let number = code::ROW.saturating_add(u16::try_from(row).unwrap_or(u16::MAX));
    let Some(plan) = monitor.plan() else { return };
    let Some(found) = plan.rows.get(row) else { return };
    let words = plan.code_words(number);
    let line = format!("{} {words} ({text}): {}", monitor.owner.1, found.action.word());
    let run = found.run.clone();
    if monitor.met == Some(row) {
        return;
    }
    monitor.met = Some(row);
    let Some(probe) = &mut monitor.probe else { return };
    if probe.said.len() < MOST_SAID {
        probe.said.push(line);
    }
    if probe.run.is_none() {
        probe.run = run;
    }
}

pub(super) fn row_of(monitor: &Monitor, row: usize) -> Option<&Row> {
    monitor.plan()?.rows.get(row)
}

/// Gives the connection up. What is on its way from it is late.
pub(super) fn hang_up(reactor: &mut Reactor, monitor: &mut Monitor) {
    monitor.at = At::Nowhere;
    monitor.talk = Talk::Nobody;
    monitor.secure = None;
    monitor.unsent.clear();
    monitor.addresses.clear();
    monitor.links = monitor.links.wrapping_add(1);
    if let Some(link) = monitor.link.take() {
        link.end(reactor);
    }
}
