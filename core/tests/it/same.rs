//! The same decisions at any time of any clock: where 32 bits end, where signed ones do, and when
//! the clock steps back.

use giveover_core::monitor::{Actions, Event};
use giveover_core::policy::Policy;
use giveover_core::time::Instant;

use crate::random::Random;
use crate::script::{Roomy, ms, roomy};
use crate::steps::{Driver, draw, policy};

/// Walks of the same seed take at most this long on their own clock.
const LONGEST: u64 = 400_000 * 1_000;

/// What a walk did: the actions of every event, the deadline after it as time from the epoch,
/// and the live counts.
type Trace = Vec<(Event, Actions, Option<u64>, u16, u16)>;

/// Takes the walk of `seed` with its first instant at `epoch`.
fn trace(seed: u64, epoch: u64) -> Trace {
    let mut random = Random::new(seed);
    let policy: Policy = policy(&mut random);
    let mut monitor: Roomy = roomy(policy, ms(epoch));
    let mut driver = Driver::new(epoch);
    let mut trace = Vec::new();
    for _ in 0..300 {
        let step = draw(&mut random, &monitor, &driver);
        let Some(event) = driver.event(step, &monitor) else { continue };
        let before = monitor.clone();
        let actions = monitor.handle(event, ms(driver.now_ms));
        driver.saw(event, &before, &actions);
        let since = |at: Instant| at.as_millis() - epoch;
        let tally = monitor.tally(ms(driver.now_ms));
        let due = monitor.poll_timeout().map(since);
        trace.push((event, actions, due, tally.failure_sum, tally.restarts));
    }
    assert!(driver.now_ms < epoch.saturating_add(LONGEST), "the walk took too long");
    trace
}

fn same_from(epochs: &[u64]) {
    let mut events = 0;
    for seed in 0..60 {
        let expected = trace(seed, LONGEST);
        for epoch in epochs {
            let actual = trace(seed, *epoch);
            assert_eq!(actual.len(), expected.len());
            events += actual.len();
            for (place, (actual, expected)) in actual.iter().zip(&expected).enumerate() {
                assert_eq!(actual, expected, "seed {seed}, event {place}, from {epoch} ms");
            }
        }
    }
    println!("same decisions: {events} events");
}

#[test]
fn the_same_decisions_across_31_and_32_bits_of_milliseconds() {
    let start = |edge: u64| edge - 100_000; // every walk crosses it early
    same_from(&[start(1 << 31), start(1 << 32), (1 << 31) - 1, (1 << 32) - 1, 1 << 32]);
}

#[test]
fn the_same_decisions_across_63_bits_of_milliseconds() {
    same_from(&[(1 << 63) - 100_000, (1 << 63) - 1, 1 << 53]);
}

/// At the end of time nothing panics, and no deadline wraps round to the beginning.
#[test]
fn at_the_end_of_time_no_deadline_wraps() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut monitor = roomy(policy(&mut random), ms(u64::MAX - 5));
        let mut driver = Driver::new(u64::MAX - 5);
        for _ in 0..300 {
            let step = match draw(&mut random, &monitor, &driver) {
                crate::steps::Step::Wait(_) => continue,
                step => step,
            };
            let Some(event) = driver.event(step, &monitor) else { continue };
            let before = monitor.clone();
            let actions = monitor.handle(event, ms(driver.now_ms));
            driver.saw(event, &before, &actions);
            assert!(monitor.poll_timeout().is_none_or(|due| due >= ms(u64::MAX - 5)));
        }
    }
}

/// A clock that steps back, at any moment of a walk, changes no decision.
#[test]
fn a_clock_that_steps_back_changes_no_decision() {
    let mut events = 0;
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let policy = policy(&mut random);
        let (mut steady, mut jumpy) = (roomy(policy, ms(LONGEST)), roomy(policy, ms(LONGEST)));
        let mut driver = Driver::new(LONGEST);
        let mut latest = LONGEST;
        for _ in 0..300 {
            let step = draw(&mut random, &steady, &driver);
            let Some(event) = driver.event(step, &steady) else { continue };
            driver.now_ms = driver.now_ms.max(latest);
            latest = driver.now_ms;
            // The jumpy clock has told the latest time before, then tells one from the past.
            let _ = jumpy.handle(Event::ProbeNow, ms(latest));
            let _ = steady.handle(Event::ProbeNow, ms(latest));
            let past = latest - random.below(latest);
            let before = steady.clone();
            let actions = steady.handle(event, ms(latest));
            assert_eq!(jumpy.handle(event, ms(past)), actions, "seed {seed}");
            assert_eq!(jumpy.poll_timeout(), steady.poll_timeout(), "seed {seed}");
            driver.saw(event, &before, &actions);
            events += 1;
        }
        assert!(jumpy.clock_went_back() > 0 && steady.clock_went_back() == 0);
    }
    println!("a clock that steps back: {events} events");
}
