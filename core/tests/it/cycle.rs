//! R12 and the ladder, exhaustively for three checks: each cycle has one verdict, and it is the one
//! a table says.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::ladder::{Checks, Combine, Ladder, Round};
use giveover_core::weight::Weight;

const RESULTS: [u8; 6] = [0, 30, 100, IMMEDIATE, UNMEASURED, VOID];
const IMMEDIATE: u8 = 201;
const UNMEASURED: u8 = 202;
const VOID: u8 = 203;

fn result(check: u8, kind: u8) -> ProbeResult {
    let cause = Cause::of_check(check, Phase::Read, 0);
    match kind {
        0 => ProbeResult::Healthy,
        IMMEDIATE => ProbeResult::Immediate(cause),
        UNMEASURED => ProbeResult::CannotMeasure(cause),
        VOID => ProbeResult::Void,
        weight => ProbeResult::Failed(Weight::new(weight).expect("a weight"), cause),
    }
}

/// Runs a cycle whose checks answer as `kinds`, in the order `first` tells; returns the verdict
/// and the checks that were begun.
fn run(
    ladder: &Ladder<'_>,
    due: Checks,
    kinds: [u8; 3],
    first: u8,
) -> (ProbeResult, Round, Checks) {
    let (mut round, step) = Round::begin(ladder, due);
    let mut begun = step.begin;
    let mut waiting: Vec<u8> = step.begin.iter().collect();
    let mut verdict = step.verdict;
    while !waiting.is_empty() {
        assert_eq!(verdict, None, "a verdict while something is outstanding");
        let check = waiting.swap_remove(usize::from(first) % waiting.len());
        let step = round.answer(ladder, check, result(check, kinds[usize::from(check)]));
        for next in step.begin.iter() {
            assert!(!begun.has(next), "check {next} was begun twice");
            begun = begun.with(next);
            waiting.push(next);
        }
        verdict = step.verdict;
    }
    (verdict.expect("one verdict"), round, begun)
}

/// What the rules say of the results that count, in any order.
fn expected(counted: &[u8], combine: Combine) -> &'static str {
    let has = |kind| counted.contains(&kind);
    let sum: u16 = counted.iter().filter(|kind| **kind <= 100).map(|kind| u16::from(*kind)).sum();
    let heaviest = counted.iter().filter(|kind| **kind <= 100).max().copied().unwrap_or(0);
    let weight = if combine == Combine::Sum { sum.min(100) } else { u16::from(heaviest) };
    match weight {
        _ if has(IMMEDIATE) => "immediate",
        0 if has(VOID) => "void",
        0 if has(UNMEASURED) && !has(0) => "unmeasured",
        0 => "healthy",
        30 => "30",
        60 => "60",
        90 => "90",
        _ => "100",
    }
}

fn word(verdict: ProbeResult) -> &'static str {
    match verdict {
        ProbeResult::Healthy => "healthy",
        ProbeResult::Immediate(_) => "immediate",
        ProbeResult::CannotMeasure(_) => "unmeasured",
        ProbeResult::Void => "void",
        ProbeResult::Failed(weight, _) => match weight.value() {
            30 => "30",
            60 => "60",
            90 => "90",
            100 => "100",
            other => panic!("nothing weighs {other}"),
        },
    }
}

fn every_outcome(mut check: impl FnMut([u8; 3], Combine, u8)) {
    for a in RESULTS {
        for b in RESULTS {
            for c in RESULTS {
                for combine in [Combine::Heaviest, Combine::Sum] {
                    for first in 0..3 {
                        check([a, b, c], combine, first);
                    }
                }
            }
        }
    }
}

// req 0.19 0.25
#[test]
fn checks_beside_each_other_have_one_verdict_in_any_order() {
    for observed in 0..8u8 {
        let in_set = |place: u8| observed & (1 << place) != 0;
        let observed: Checks = (0..3).filter(|p| in_set(*p)).fold(Checks::NONE, Checks::with);
        every_outcome(|kinds, combine, first| {
            let ladder = Ladder { rungs: &[], beside: Checks::first(3), observed, combine };
            let (verdict, round, begun) = run(&ladder, Checks::first(3), kinds, first);
            assert!(!round.not_evaluated(&ladder, 0), "no rung, no ladder");
            let counted: Vec<u8> =
                (0..3).filter(|p| !in_set(*p)).map(|p| kinds[usize::from(p)]).collect();
            assert_eq!(word(verdict), expected(&counted, combine), "{kinds:?} {combine:?}");
            assert_eq!(begun, Checks::first(3));
        });
    }
}

// req 3.9 3.12
#[test]
fn a_ladder_climbs_as_far_as_it_is_healthy() {
    every_outcome(|kinds, combine, first| {
        let ladder =
            Ladder { rungs: &[2, 0, 1], beside: Checks::NONE, observed: Checks::NONE, combine };
        let (verdict, round, begun) = run(&ladder, Checks::first(3), kinds, first);
        let order = [kinds[2], kinds[0], kinds[1]];
        let healthy = order.iter().take_while(|kind| **kind == 0).count();
        let tried = &order[..(healthy + 1).min(3)];
        assert_eq!(begun.iter().count(), tried.len());
        for check in 0..3 {
            assert_eq!(round.not_evaluated(&ladder, check), !begun.has(check));
        }
        assert_eq!(word(verdict), expected(tried, combine), "{kinds:?}");
    });
}

#[test]
fn a_rung_that_is_not_due_is_passed_over_as_healthy() {
    every_outcome(|kinds, combine, first| {
        let ladder =
            Ladder { rungs: &[0, 1, 2], beside: Checks::NONE, observed: Checks::NONE, combine };
        let due = Checks::first(3).without(1);
        let (verdict, _, begun) = run(&ladder, due, kinds, first);
        assert!(!begun.has(1));
        let tried = if kinds[0] == 0 { vec![kinds[0], kinds[2]] } else { vec![kinds[0]] };
        assert_eq!(word(verdict), expected(&tried, combine), "{kinds:?}");
    });
}
