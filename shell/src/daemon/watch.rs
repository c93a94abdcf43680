//! One service under watch: its monitor, the cycle under way, and what its checks last found.

use std::collections::VecDeque;

use giveover_core::failure::ProbeResult;
use giveover_core::ladder::{Checks, Ladder};
use giveover_core::monitor::Status;
use giveover_core::time::Instant;

use super::handover::Handover;
use super::incident::Incident;
use super::work::Work;
use crate::check::Answer;
use crate::config::few::Few;
use crate::config::plan::{CheckPlan, ServicePlan};
use crate::machine::BoxedMonitor;

/// A service under watch. Ten thousand of them must stay small: what most never need is in
/// [`More`], made when it is first needed.
pub(super) struct Watch {
    pub(super) monitor: BoxedMonitor,
    /// Its number in the journal.
    pub(super) machine: u32,
    /// The earliest timer armed for it.
    pub(super) armed: Option<Instant>,
    /// Counts cycles; answers of an earlier one are late.
    pub(super) cycle: u32,
    pub(super) checks: Few<CheckState>,
    pub(super) marks: Marks,
    /// Since when it has its status and message.
    pub(super) since: Instant,
    /// When its last cycle failed, if it did.
    pub(super) failing_at: Option<Instant>,
    more: Option<Box<More>>,
}

/// The last result of a check, and what is under way of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckState {
    /// `None` before the first.
    pub(super) result: Option<ProbeResult>,
    pub(super) at: Instant,
    pub(super) ms: u32,
    /// What a healthy answer showed.
    pub(super) shown: u16,
    /// Targets that have not answered.
    pub(super) pending: u8,
    /// The heaviest answer so far of the cycle under way.
    pub(super) worst: Option<ProbeResult>,
    /// Passed over in the last cycle: a rung below was not healthy.
    pub(super) not_evaluated: bool,
    /// Cycles in a row in which it could not be measured.
    pub(super) unmeasured: u8,
}

/// What only some services have.
#[derive(Default)]
pub(super) struct More {
    /// The instance: when it was started, and by whom.
    pub(super) started: Option<(Instant, Starter)>,
    /// Who holds it, and until when.
    pub(super) held: Option<HeldBy>,
    pub(super) incident: Option<Incident>,
    /// Restarts with their causes in words, as many as the budget has.
    pub(super) restarts: VecDeque<(Instant, String)>,
    /// What is being done to its process.
    pub(super) work: Work,
    /// Since when.
    pub(super) work_since: Option<Instant>,
    /// Its main process, or the last one it had.
    pub(super) last_pid: Option<u32>,
    /// Why the last start or stop failed, in words.
    pub(super) trouble: Option<String>,
    /// Who asked for the stop under way.
    pub(super) asked_by: Option<String>,
    /// Its giveover under way.
    pub(super) handover: Option<Handover>,
    /// Stopped by a job of systemd that was not ours.
    pub(super) stopped_by_systemd: bool,
    /// Once it is ok again those that need it are restarted.
    pub(super) group_waits: bool,
}

/// Who started an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starter {
    Giveover,
    Operator,
    Adopted,
    Systemd,
}

impl Starter {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Giveover => "giveover",
            Self::Operator => "operator",
            Self::Adopted => "adopted",
            Self::Systemd => "systemd",
        }
    }
}

/// A person's hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeldBy {
    pub(super) who: String,
    pub(super) why: Option<String>,
    pub(super) since: Instant,
    pub(super) until: Option<Instant>,
}

/// The marks of the last twenty cycles and decisions, three bits each, the newest lowest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks(u64);

/// What three bits of [`Marks`] mean; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Healthy = 1,
    Partial = 2,
    Complete = 3,
    Unmeasured = 4,
    Void = 5,
    Restart = 6,
    Giveover = 7,
}

impl Marks {
    const MOST: u32 = 20;
    const BITS: u32 = 3;

    pub(super) fn push(&mut self, mark: Mark) {
        let kept = (1 << (Self::MOST * Self::BITS)) - 1;
        self.0 = (self.0 << Self::BITS | mark as u64) & kept;
    }

    /// One character each, the oldest first.
    pub(super) fn text(self) -> String {
        let bits = |place: u32| (self.0 >> (place * Self::BITS)) as usize & 7;
        let char = |place| " .ox?-RG".chars().nth(bits(place)).filter(|mark| *mark != ' ');
        (0..Self::MOST).rev().filter_map(char).collect()
    }
}

impl Watch {
    /// A service whose monitor has not been fed anything yet.
    pub(super) fn new(plan: &ServicePlan, monitor: BoxedMonitor, now: Instant) -> Self {
        let count = check_count(plan);
        Self {
            monitor,
            machine: 0,
            armed: None,
            cycle: 0,
            checks: (0..count).map(|_| CheckState::new(now)).collect(),
            marks: Marks::default(),
            since: now,
            failing_at: None,
            more: None,
        }
    }

    /// The same under another plan: the monitor goes on, and checks that keep their names keep
    /// their last results.
    pub(super) fn carried_over(
        self,
        before: &ServicePlan,
        plan: &ServicePlan,
        now: Instant,
    ) -> Self {
        let mut fresh = Self::new(plan, self.monitor, now);
        for (check, state) in plan.checks.iter().zip(fresh.checks.iter_mut()) {
            let place = before.checks.iter().position(|known| known.name == check.name);
            if let Some(known) = place.and_then(|place| self.checks.get(place)) {
                *state = CheckState { pending: 0, worst: None, ..*known };
            }
        }
        fresh.machine = self.machine;
        fresh.cycle = self.cycle;
        fresh.marks = self.marks;
        fresh.since = self.since;
        fresh.failing_at = self.failing_at;
        fresh.more = self.more;
        fresh
    }

    /// The checks to probe in a cycle that begins at `now`: one that has `every` is passed over
    /// until it is due, but not while it fails.
    pub(super) fn due(&self, plan: &ServicePlan, now: Instant) -> Checks {
        let mut due = Checks::NONE;
        for (place, (state, check)) in self.checks.iter().zip(&plan.checks).enumerate() {
            if state.is_due(check, now) {
                due = due.with(place as u8);
            }
        }
        due
    }

    /// What only some services have, made if it is not there.
    pub(super) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_with(Box::default)
    }

    /// What only some services have.
    pub(super) fn more_ref(&self) -> Option<&More> {
        self.more.as_deref()
    }

    /// Whether others that need it may be acted on: `ok`, or not yet known.
    pub(super) fn meets_needs(&self) -> bool {
        matches!(self.monitor.status(), Status::Ok)
    }
}

/// The order of a service's checks.
pub(super) fn ladder(plan: &ServicePlan) -> Ladder<'_> {
    let mut beside = Checks::first(check_count(plan));
    for rung in &plan.ladder {
        beside = beside.without(*rung);
    }
    let mut observed = Checks::NONE;
    for (place, check) in (0..Checks::MOST).zip(&plan.checks) {
        if check.observe {
            observed = observed.with(place);
        }
    }
    Ladder { rungs: &plan.ladder, beside, observed, combine: plan.combine }
}

fn check_count(plan: &ServicePlan) -> u8 {
    plan.checks.len().min(usize::from(Checks::MOST)) as u8
}

impl CheckState {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            result: None,
            at: now,
            ms: 0,
            shown: 0,
            pending: 0,
            worst: None,
            not_evaluated: false,
            unmeasured: 0,
        }
    }

    /// Whether it is asked in a cycle that begins at `now`: what has `every` is passed over until it
    /// is due, but not while it fails.
    pub(super) fn is_due(&self, check: &CheckPlan, now: Instant) -> bool {
        let healthy = self.result == Some(ProbeResult::Healthy);
        !check.every.is_some_and(|every| healthy && now < self.at.after(every))
    }

    /// So many answers come of it in the cycle under way.
    pub(super) fn begin(&mut self, answers: u8) {
        (self.worst, self.pending) = (None, answers);
    }

    /// Takes an answer of the cycle under way. What the check comes to, once all of them are there.
    pub(super) fn hear(&mut self, answer: &Answer, now: Instant) -> Option<ProbeResult> {
        if self.pending == 0 {
            return None;
        }
        self.take(answer.result);
        self.ms = answer.elapsed_ms.max(if self.pending > 0 { self.ms } else { 0 });
        self.shown = answer.shown;
        if self.pending > 0 {
            return None;
        }
        let result = self.worst.take().unwrap_or(answer.result);
        (self.result, self.at) = (Some(result), now);
        Some(result)
    }

    /// Takes one target's answer; the heaviest stands for the check.
    pub(super) fn take(&mut self, result: ProbeResult) {
        let worse = self.worst.is_none_or(|worst| rank(result) > rank(worst));
        if worse {
            self.worst = Some(result);
        }
        self.pending = self.pending.saturating_sub(1);
    }
}

/// Order of answers from several addresses of one check.
fn rank(result: ProbeResult) -> u8 {
    match result {
        ProbeResult::Healthy => 0,
        ProbeResult::CannotMeasure(_) => 1,
        ProbeResult::Void => 2,
        ProbeResult::Failed(weight, _) => 2 + weight.value(),
        ProbeResult::Immediate(_) => u8::MAX,
    }
}

/// The mark of a cycle.
pub(super) fn mark(result: ProbeResult) -> Mark {
    match result {
        ProbeResult::Healthy => Mark::Healthy,
        ProbeResult::Failed(weight, _) if weight.value() < 100 => Mark::Partial,
        ProbeResult::Failed(..) | ProbeResult::Immediate(_) => Mark::Complete,
        ProbeResult::CannotMeasure(_) => Mark::Unmeasured,
        ProbeResult::Void => Mark::Void,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_marks_are_kept() {
        let mut marks = Marks::default();
        assert_eq!(marks.text(), "");
        for mark in [Mark::Restart, Mark::Giveover, Mark::Void, Mark::Unmeasured] {
            marks.push(mark);
        }
        assert_eq!(marks.text(), "RG-?");
        for mark in [Mark::Healthy, Mark::Partial, Mark::Complete].repeat(6) {
            marks.push(mark);
        }
        assert_eq!(marks.text(), "-?.ox.ox.ox.ox.ox.ox");
    }
}
