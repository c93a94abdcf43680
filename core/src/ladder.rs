//! Ordered checks, and the one verdict of a cycle (R12).

use crate::failure::{Cause, ProbeResult};
use crate::weight::Weight;

/// How the checks of one cycle make one verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Combine {
    /// The heaviest of them.
    #[default]
    Heaviest,
    /// Their sum, cut off at 100.
    Sum,
}

/// A set of checks by their place, at most [`Checks::MOST`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks(u32);

impl Checks {
    /// How many checks a service may have.
    pub const MOST: u8 = 32;
    /// No checks.
    pub const NONE: Self = Self(0);

    /// The first `count` checks.
    #[must_use]
    pub const fn first(count: u8) -> Self {
        if count >= Self::MOST { Self(u32::MAX) } else { Self((1 << count) - 1) }
    }

    /// With the check at `place` in it; a place past the end changes nothing.
    #[must_use]
    pub const fn with(self, place: u8) -> Self {
        if place < Self::MOST { Self(self.0 | 1 << place) } else { self }
    }

    /// Without the check at `place`.
    #[must_use]
    pub const fn without(self, place: u8) -> Self {
        if place < Self::MOST { Self(self.0 & !(1 << place)) } else { self }
    }

    /// Whether the check at `place` is in it.
    #[must_use]
    pub const fn has(self, place: u8) -> bool {
        place < Self::MOST && self.0 & 1 << place != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The places, lowest first.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..Self::MOST).filter(move |place| self.has(*place))
    }
}

/// The order in which a service's checks are tried.
#[derive(Clone, Copy, Debug)]
pub struct Ladder<'a> {
    /// Rungs from the lowest: each is tried only when the one before is healthy.
    pub rungs: &'a [u8],
    /// Checks tried beside the ladder, at once.
    pub beside: Checks,
    /// Checks whose results count nothing.
    pub observed: Checks,
    /// How results are combined.
    pub combine: Combine,
}

/// What to do after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Checks to begin now.
    pub begin: Checks,
    /// The verdict, once nothing is outstanding.
    pub verdict: Option<ProbeResult>,
}

/// One cycle over a service's checks.
///
/// A check that is not due is taken as healthy: one that fails is due in every cycle. A rung
/// that could not be measured, or was void, ends the climb like one that failed; rungs above it
/// are *not evaluated*, which is neither healthy nor faulty.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    due: Checks,
    outstanding: Checks,
    rung: u8,
    stopped: bool,
    void: bool,
    measured: bool,
    unmeasured: Option<Cause>,
    immediate: Option<Cause>,
    heaviest: Option<(Weight, Cause)>,
    sum: u16,
}

impl Round {
    /// Begins a cycle over those checks of `ladder` that are `due`.
    #[must_use]
    pub fn begin(ladder: &Ladder<'_>, due: Checks) -> (Self, Step) {
        let mut round = Self {
            due,
            outstanding: Checks(ladder.beside.0 & due.0),
            rung: 0,
            stopped: false,
            void: false,
            measured: false,
            unmeasured: None,
            immediate: None,
            heaviest: None,
            sum: 0,
        };
        let climbed = round.climb(ladder);
        let begin = Checks(round.outstanding.0 | climbed.0);
        let step = Step { begin, verdict: round.verdict(ladder.combine) };
        (round, step)
    }

    /// Takes the answer of one check. One that is not outstanding changes nothing.
    pub fn answer(&mut self, ladder: &Ladder<'_>, check: u8, result: ProbeResult) -> Step {
        if !self.outstanding.has(check) {
            return Step { begin: Checks::NONE, verdict: None };
        }
        self.outstanding = self.outstanding.without(check);
        if !ladder.observed.has(check) {
            self.count(result);
        }
        let mut begin = Checks::NONE;
        if ladder.rungs.get(usize::from(self.rung)) == Some(&check) {
            if result == ProbeResult::Healthy {
                self.rung += 1;
                begin = self.climb(ladder);
            } else {
                self.stopped = true;
            }
        }
        Step { begin, verdict: self.verdict(ladder.combine) }
    }

    /// Whether `check` was passed over because a rung below it was not healthy.
    #[must_use]
    pub fn not_evaluated(&self, ladder: &Ladder<'_>, check: u8) -> bool {
        let place = ladder.rungs.iter().position(|rung| *rung == check);
        self.stopped && place.is_some_and(|place| place > usize::from(self.rung))
    }

    /// Begins the next rung that is due.
    fn climb(&mut self, ladder: &Ladder<'_>) -> Checks {
        while let Some(check) = ladder.rungs.get(usize::from(self.rung)) {
            if self.due.has(*check) {
                self.outstanding = self.outstanding.with(*check);
                return Checks::NONE.with(*check);
            }
            self.rung += 1;
        }
        Checks::NONE
    }

    fn count(&mut self, result: ProbeResult) {
        match result {
            ProbeResult::Healthy => self.measured = true,
            ProbeResult::Void => self.void = true,
            ProbeResult::CannotMeasure(cause) => {
                self.unmeasured.get_or_insert(cause);
            }
            ProbeResult::Immediate(cause) => {
                self.immediate.get_or_insert(cause);
            }
            ProbeResult::Failed(weight, cause) => {
                self.sum = self.sum.saturating_add(u16::from(weight.value()));
                if self.heaviest.is_none_or(|(heaviest, _)| weight > heaviest) {
                    self.heaviest = Some((weight, cause));
                }
            }
        }
    }

    /// Failures count whatever else could not be measured; health must have been seen.
    fn verdict(&self, combine: Combine) -> Option<ProbeResult> {
        if !self.outstanding.is_empty() {
            return None;
        }
        Some(match (self.immediate, self.heaviest, self.unmeasured) {
            (Some(cause), _, _) => ProbeResult::Immediate(cause),
            (None, Some((weight, cause)), _) => match combine {
                Combine::Heaviest => ProbeResult::Failed(weight, cause),
                Combine::Sum => ProbeResult::Failed(Weight::clamped(self.sum), cause),
            },
            (None, None, _) if self.void => ProbeResult::Void,
            (None, None, Some(cause)) if !self.measured => ProbeResult::CannotMeasure(cause),
            (None, None, _) => ProbeResult::Healthy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Phase;

    const HALF: ProbeResult = ProbeResult::Failed(Weight::HALF, cause(0));
    const WHOLE: ProbeResult = ProbeResult::Failed(Weight::COMPLETE, cause(1));
    const HEALTHY: ProbeResult = ProbeResult::Healthy;

    const fn cause(check: u8) -> Cause {
        Cause::of_check(check, Phase::Read, 0)
    }

    fn beside(count: u8, combine: Combine) -> Ladder<'static> {
        Ladder { rungs: &[], beside: Checks::first(count), observed: Checks::NONE, combine }
    }

    fn run(ladder: &Ladder<'_>, results: &[ProbeResult]) -> Option<ProbeResult> {
        let (mut round, step) = Round::begin(ladder, Checks::first(results.len() as u8));
        let mut verdict = step.verdict;
        for (check, result) in results.iter().enumerate() {
            verdict = round.answer(ladder, check as u8, *result).verdict;
        }
        verdict
    }

    /// Two addresses or checks that fail in one cycle are one failure.
    // req 0.25 1.21
    #[test]
    fn a_cycle_has_the_heaviest_verdict_of_its_checks() {
        let ladder = beside(3, Combine::Heaviest);
        assert_eq!(run(&ladder, &[HALF, HALF, HEALTHY]), Some(HALF));
        assert_eq!(run(&ladder, &[HALF, WHOLE, HEALTHY]), Some(WHOLE));
        assert_eq!(run(&ladder, &[HEALTHY; 3]), Some(HEALTHY));
    }

    #[test]
    fn a_sum_is_cut_off_at_100() {
        let ladder = beside(3, Combine::Sum);
        let sum = Some(ProbeResult::Failed(Weight::COMPLETE, cause(0)));
        assert_eq!(run(&ladder, &[HALF, HALF, HALF]), sum);
        assert_eq!(run(&ladder, &[HALF, HEALTHY, HEALTHY]), Some(HALF));
    }

    #[test]
    fn what_cannot_be_measured_hides_no_failure_and_proves_no_health() {
        let ladder = beside(2, Combine::Heaviest);
        let unmeasured = ProbeResult::CannotMeasure(cause(0));
        assert_eq!(run(&ladder, &[unmeasured, HALF]), Some(HALF));
        assert_eq!(run(&ladder, &[unmeasured, HEALTHY]), Some(HEALTHY));
        assert_eq!(run(&ladder, &[unmeasured, unmeasured]), Some(unmeasured));
        assert_eq!(run(&ladder, &[ProbeResult::Void, HEALTHY]), Some(ProbeResult::Void));
        assert_eq!(run(&ladder, &[ProbeResult::Void, WHOLE]), Some(WHOLE));
    }

    #[test]
    fn a_rung_is_tried_only_when_the_one_below_is_healthy() {
        let ladder =
            Ladder { rungs: &[0, 1], beside: Checks::NONE, ..beside(0, Combine::Heaviest) };
        let (mut round, step) = Round::begin(&ladder, Checks::first(2));
        assert_eq!(step.begin, Checks::NONE.with(0));
        let mut healthy = round;
        assert_eq!(healthy.answer(&ladder, 0, HEALTHY).begin, Checks::NONE.with(1));
        let step = round.answer(&ladder, 0, HALF);
        assert_eq!(step, Step { begin: Checks::NONE, verdict: Some(HALF) });
        assert!(round.not_evaluated(&ladder, 1));
    }

    #[test]
    fn observed_checks_count_nothing_and_checks_that_are_not_due_are_healthy() {
        let ladder = Ladder { observed: Checks::NONE.with(0), ..beside(2, Combine::Heaviest) };
        assert_eq!(run(&ladder, &[WHOLE, HEALTHY]), Some(HEALTHY));
        let (_, step) = Round::begin(&ladder, Checks::NONE);
        assert_eq!(step.verdict, Some(HEALTHY));
    }

    #[test]
    fn an_answer_twice_is_nothing() {
        let ladder = beside(2, Combine::Heaviest);
        let (mut round, _) = Round::begin(&ladder, Checks::first(2));
        assert_eq!(round.answer(&ladder, 0, HEALTHY).verdict, None);
        assert_eq!(round.answer(&ladder, 0, WHOLE).verdict, None);
        assert_eq!(round.answer(&ladder, 1, HEALTHY).verdict, Some(HEALTHY));
    }
}
