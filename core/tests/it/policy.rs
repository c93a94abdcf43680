//! Which limits are refused, and that the least value named with a refusal is the least there is.

use giveover_core::failure::{Cause, Failure, Phase, ProbeResult};
use giveover_core::history::History;
use giveover_core::monitor::{Action, Event, GiveoverOutcome, Monitor, RestartOutcome};
use giveover_core::policy::{
    Delays, Destination, FailoverMode, Limits, Policy, PolicyError, PolicyWarning, Scope,
};
use giveover_core::time::Span;
use giveover_core::weight::Weight;

use crate::script::{ANYTHING, PLAIN, ms, roomy};

/// Only probes are seen, so nothing but the cycles reaches giveover.
const PROBES: Scope = Scope { deaths: false, ..ANYTHING };

/// What unbroken failures of one weight lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcome {
    restarts: u32,
    gave_over: bool,
}

/// Runs a monitor whose every probe fails with `weight` and whose restarts all work at once, up
/// to the time `until_ms`.
fn unbroken(limits: Limits, scope: Scope, weight: Weight, until_ms: u64) -> Outcome {
    let (policy, _) = Policy::new(limits, scope).expect("possible");
    let mut monitor = roomy(policy, ms(0));
    let _ = monitor.handle(Event::Begin { first: Span::ZERO, started: false }, ms(0));
    let result = ProbeResult::Failed(weight, Cause::of_check(0, Phase::Connect, 111));
    let mut outcome = Outcome::default();
    while let Some(now) = monitor.poll_timeout().filter(|due| *due <= ms(until_ms)) {
        let mut events = vec![Event::Timeout];
        while let Some(event) = events.pop() {
            for action in monitor.handle(event, now) {
                match action {
                    Action::Probe { ticket } => events.push(Event::Probed { ticket, result }),
                    Action::Restart { ticket, .. } => {
                        outcome.restarts += 1;
                        let done = RestartOutcome::Started;
                        events.push(Event::RestartDone { ticket, outcome: done });
                    }
                    Action::Giveover { ticket, .. } => {
                        outcome.gave_over = true;
                        let granted = GiveoverOutcome::Granted;
                        events.push(Event::GiveoverDone { ticket, outcome: granted });
                        return outcome;
                    }
                    _ => {}
                }
            }
        }
    }
    outcome
}

fn span(ms: u64) -> Span {
    Span::from_millis(u32::try_from(ms).expect("short"))
}

/// A grid of cadences, graces, waits and counts, shorter than the distance of two starts too.
fn grid() -> impl Iterator<Item = Limits> {
    let delays: [&[u32]; 6] =
        [&[], &[250], &[0, 5_000], &[3_000, 0], &[0, 100, 700, 2_000], &[60_000, 1]];
    let cadences = [100, 300, 999, 1_000, 1_500, 30_000];
    let graces = [0, 50, 1_000, 1_001, 45_000];
    cadences.into_iter().flat_map(move |cadence| {
        graces.into_iter().flat_map(move |grace| {
            delays.into_iter().flat_map(move |list| {
                (0..=4).map(move |count| {
                    let list: Vec<Span> = list.iter().map(|ms| Span::from_millis(*ms)).collect();
                    Limits {
                        thorough_probe_interval: Span::from_millis(cadence),
                        start_grace: Span::from_millis(grace),
                        restart_delay: Delays::new(&list).expect("few"),
                        retry_count: Some(count),
                        ..PLAIN
                    }
                })
            })
        })
    })
}

#[test]
fn the_least_window_that_reaches_giveover_does_and_one_less_does_not() {
    let mut refused = 0;
    for limits in grid() {
        let count = limits.retry_count.expect("limited");
        let tight = Limits { retry_interval: Span::from_millis(1), ..limits };
        let least_ms = match Policy::new(tight, PROBES) {
            Err(PolicyError::GiveoverUnreachable { least_ms }) => least_ms,
            Ok(_) if count == 0 => continue, // the first failure asks at once
            other => panic!("{tight:?}: {other:?}"),
        };
        refused += 1;
        let enough = Limits { retry_interval: span(least_ms), ..limits };
        let outcome = unbroken(enough, PROBES, Weight::COMPLETE, least_ms);
        let expected = Outcome { restarts: u32::from(count), gave_over: true };
        assert_eq!(outcome, expected, "{least_ms} ms is said to be enough for {limits:?}");

        let short = Limits { retry_interval: span(least_ms - 1), ..limits };
        let refusal = Policy::new(short, PROBES).expect_err("one less");
        assert_eq!(refusal, PolicyError::GiveoverUnreachable { least_ms });
        assert_eq!(refusal.key(), "retry_interval");
        let (_, warnings) = Policy::new(short, ANYTHING).expect("deaths may still reach it");
        assert!(warnings.contains(&PolicyWarning::GiveoverByDeathOnly { least_ms }));
        let waits: Vec<Span> = limits.restart_delay.iter().collect();
        if !waits.is_sorted() {
            continue; // later restarts are quicker than the first: the least is on the safe side
        }
        let outcome = unbroken(short, ANYTHING, Weight::COMPLETE, 4 * least_ms);
        assert!(!outcome.gave_over, "{least_ms} ms is said to be needed for {limits:?}");
    }
    assert_eq!(refused, 6 * 5 * 6 * 4);
}

#[test]
fn the_least_window_in_which_checks_reach_100_does_and_one_less_does_not() {
    for weight in 1..=100 {
        let weight = Weight::new(weight).expect("a weight");
        let cycles = u32::from(weight.to_complete());
        let limits = Limits { retry_count: None, ..PLAIN };
        let scope = Scope { smallest: weight, heaviest: Some(weight), ..PROBES };
        let least_ms = u64::from(cycles - 1) * 30_000;
        let enough = Limits { retry_interval: span(least_ms.max(1)), ..limits };
        assert_eq!(unbroken(enough, scope, weight, least_ms).restarts, 1, "{weight:?}");
        if least_ms == 0 {
            continue;
        }
        let short = Limits { retry_interval: span(least_ms - 1), ..limits };
        let refusal = PolicyError::NeverComplete { heaviest: weight, least_ms };
        assert_eq!(Policy::new(short, scope).expect_err("one less"), refusal);
        // The same check beside a heavier one is only warned about: it alone never acts.
        let beside = Scope { heaviest: Some(Weight::COMPLETE), ..scope };
        let (_, warnings) = Policy::new(short, beside).expect("the other check acts");
        assert_eq!(warnings.as_slice(), [PolicyWarning::PartNeverComplete { weight, least_ms }]);
        assert_eq!(unbroken(short, beside, weight, 3 * least_ms), Outcome::default());
    }
}

#[test]
fn a_length_of_zero_is_refused_and_one_millisecond_is_not() {
    type Write = fn(&mut Limits, Span);
    let keys: [(&str, Write); 5] = [
        ("thorough_probe_interval", |limits, span| limits.thorough_probe_interval = span),
        ("probe_timeout", |limits, span| limits.probe_timeout = span),
        ("retry_interval", |limits, span| limits.retry_interval = span),
        ("start_timeout", |limits, span| limits.start_timeout = span),
        ("stop_timeout", |limits, span| limits.stop_timeout = span),
    ];
    for (key, write) in keys {
        let mut limits = Limits { retry_count: Some(0), ..PLAIN };
        write(&mut limits, Span::ZERO);
        let refusal = Policy::new(limits, ANYTHING).expect_err("zero");
        assert_eq!((refusal, refusal.key()), (PolicyError::Zero { key }, key));
        assert_eq!(refusal.to_string(), format!("{key} must not be zero"));
        write(&mut limits, Span::from_millis(1));
        Policy::new(limits, ANYTHING).expect("the least that works");
    }
}

#[test]
fn a_count_past_the_most_is_refused() {
    let limits = Limits { retry_count: Some(Limits::MOST_RESTARTS), ..PLAIN };
    Policy::new(limits, ANYTHING).expect("the most");
    let limits = Limits { retry_count: Some(Limits::MOST_RESTARTS + 1), ..PLAIN };
    let refusal = Policy::new(limits, ANYTHING).expect_err("one more");
    assert_eq!((refusal, refusal.key()), (PolicyError::RetryCountTooLarge, "retry_count"));
    assert!(refusal.to_string().contains("9999"));
}

/// A window too short for giveover is no fault where nothing is given over anyway.
#[test]
fn nobody_is_warned_of_a_giveover_that_is_not_wanted() {
    let tight = Limits { retry_interval: Span::from_secs(1), ..PLAIN };
    let nowhere = Scope { destination: Destination::Nobody, ..PROBES };
    let quiet = [
        (Limits { failover_mode: FailoverMode::RestartOnly, ..tight }, PROBES),
        (Limits { failover_mode: FailoverMode::LogOnly, ..tight }, PROBES),
        (Limits { retry_count: None, ..tight }, PROBES),
        (tight, nowhere),
    ];
    for (limits, scope) in quiet {
        let scope = Scope { smallest: Weight::COMPLETE, ..scope };
        let (_, warnings) = Policy::new(limits, scope).expect("possible");
        assert!(warnings.is_empty(), "{limits:?}: {warnings:?}");
    }
    assert!(Policy::new(tight, PROBES).is_err());
}

#[test]
fn a_worst_case_that_does_not_fit_is_warned_about_and_the_least_silences_it() {
    let scope = Scope::USUAL;
    let limits = Limits { retry_interval: Span::from_secs(404), ..Limits::DEFAULT };
    let (_, warnings) = Policy::new(limits, scope).expect("possible");
    assert_eq!(warnings.as_slice(), [PolicyWarning::WorstCaseTooLong { least_ms: 405_000 }]);
    assert_eq!(warnings[0].name(), "worst-case-too-long");
    let limits = Limits { retry_interval: Span::from_secs(405), ..Limits::DEFAULT };
    let (_, warnings) = Policy::new(limits, scope).expect("possible");
    assert!(warnings.is_empty());
}

#[test]
fn the_largest_limits_there_are_overflow_nothing() {
    let limits = Limits {
        thorough_probe_interval: Span::MAX,
        probe_timeout: Span::MAX,
        retry_count: Some(Limits::MOST_RESTARTS),
        retry_interval: Span::MAX,
        start_timeout: Span::MAX,
        stop_timeout: Span::MAX,
        start_grace: Span::MAX,
        restart_delay: Delays::new(&[Span::MAX; Delays::MOST]).expect("few"),
        failover_mode: FailoverMode::Hard,
    };
    let (policy, warnings) = Policy::new(limits, ANYTHING).expect("deaths may reach it");
    assert_eq!(warnings.len(), 3, "every kind of warning, and room for each");
    assert!(policy.giveover_at_worst_ms() > policy.restarts_at_worst_ms());
}

/// Storage that holds less than the policy needs is refused, whichever of the three it is.
#[test]
fn storage_that_is_too_small_is_refused() {
    let limits = Limits { retry_count: Some(2), ..PLAIN };
    let delays = Delays::new(&[Span::ZERO; 3]).expect("few");
    let scope = Scope { smallest: Weight::HALF, ..ANYTHING };
    let (policy, _) =
        Policy::new(Limits { restart_delay: delays, ..limits }, scope).expect("possible");
    let made = |failures, restarts, starts| {
        let instants = |count| vec![ms(0); count];
        let failures = vec![Failure::BLANK; failures];
        let history = History::new(failures, instants(restarts), instants(starts));
        Monitor::new(policy, history, ms(0)).map(drop)
    };
    assert_eq!(made(2, 2, 3), Ok(()));
    for (failures, restarts, starts) in [(1, 2, 3), (2, 1, 3), (2, 2, 2)] {
        let refusal = made(failures, restarts, starts).expect_err("one is too small");
        assert_eq!(refusal.needs, policy.capacity());
        assert_eq!(usize::from(refusal.has.failures), failures);
        assert!(refusal.to_string().contains("the policy needs 2, 2, 3"), "{refusal}");
    }
}
