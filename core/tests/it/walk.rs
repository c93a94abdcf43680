//! Walks: random steps against a monitor while laws watch, and what is left of a walk that broke
//! one once every step that does not matter is gone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use giveover_core::monitor::{Actions, Event};
use giveover_core::policy::Policy;
use giveover_core::time::Instant;

use crate::random::Random;
use crate::script::{Roomy, ms, roomy};
use crate::steps::{Driver, Step, policy};

/// Where walks begin: late enough that time can go back, and that nothing is near zero.
pub(crate) const EPOCH: u64 = 4_000_000_000;
/// How many steps one walk has.
const STEPS: usize = 400;

/// One event, and what came of it.
pub(crate) struct Seen<'a> {
    pub(crate) before: &'a Roomy,
    pub(crate) event: Event,
    /// As the driver told it.
    pub(crate) now: Instant,
    /// The latest time told so far, this one included.
    pub(crate) latest: Instant,
    pub(crate) actions: &'a Actions,
    pub(crate) after: &'a Roomy,
}

/// Something that holds for every event of every walk.
pub(crate) trait Law {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String>;
}

/// Names the next step of a walk.
pub(crate) type Draw = fn(&mut Random, &Roomy, &Driver) -> Step;

/// Takes walks until `events` events have been fed, each under fresh laws from `laws`; prints
/// how many there were. `GIVEOVER_WALK` multiplies the number, for long runs at night.
pub(crate) fn walk<L: Law>(name: &str, events: u64, draw: Draw, laws: impl Fn(Policy) -> L) {
    let times = std::env::var("GIVEOVER_WALK").ok().and_then(|times| times.parse().ok());
    let wanted = events * times.unwrap_or(1);
    let (mut fed, mut seed) = (0, 0);
    while fed < wanted {
        let mut random = Random::new(seed);
        let first = policy(&mut random);
        let mut steps = Vec::with_capacity(STEPS);
        let next = |monitor: &Roomy, driver: &Driver, steps: &mut Vec<Step>| {
            (steps.len() < STEPS).then(|| {
                steps.push(draw(&mut random, monitor, driver));
                steps[steps.len() - 1]
            })
        };
        match take(first, &mut laws(first), &mut steps, next) {
            Ok(count) => fed += count,
            Err(why) => {
                let (steps, why) = shrink(first, &laws, steps, why);
                let tail: Vec<String> = steps.iter().map(|step| format!("  {step:?}")).collect();
                panic!("{name}, seed {seed}: {why}\n{first:?}\n{}", tail.join("\n"));
            }
        }
        seed += 1;
    }
    println!("{name}: {fed} events in {seed} walks");
}

/// Takes one walk over the steps that `next` names, noting them; a panic breaks every law.
fn take<L: Law>(
    policy: Policy,
    law: &mut L,
    steps: &mut Vec<Step>,
    mut next: impl FnMut(&Roomy, &Driver, &mut Vec<Step>) -> Option<Step>,
) -> Result<u64, String> {
    let mut walk = || {
        let mut monitor = roomy(policy, ms(EPOCH));
        let mut driver = Driver::new(EPOCH);
        let (mut latest, mut fed) = (ms(EPOCH), 0);
        while let Some(step) = next(&monitor, &driver, steps) {
            let Some(event) = driver.event(step, &monitor) else { continue };
            let before = monitor.clone();
            let now = ms(driver.now_ms);
            latest = latest.max(now);
            let actions = monitor.handle(event, now);
            fed += 1;
            driver.saw(event, &before, &actions);
            law.watch(&Seen {
                before: &before,
                event,
                now,
                latest,
                actions: &actions,
                after: &monitor,
            })?;
        }
        Ok(fed)
    };
    catch_unwind(AssertUnwindSafe(&mut walk)).unwrap_or_else(|_| Err("it panicked".into()))
}

/// Leaves out ever smaller runs of steps as long as some law still breaks.
fn shrink<L: Law>(
    policy: Policy,
    laws: &impl Fn(Policy) -> L,
    mut steps: Vec<Step>,
    mut why: String,
) -> (Vec<Step>, String) {
    let mut run = steps.len();
    while run > 0 {
        let mut from = 0;
        while from < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(from..(from + run).min(steps.len()));
            let mut left = fewer.iter().copied();
            let next = |_: &Roomy, _: &Driver, _: &mut Vec<Step>| left.next();
            match take(policy, &mut laws(policy), &mut Vec::new(), next) {
                Ok(_) => from += run,
                Err(still) => (steps, why) = (fewer, still),
            }
        }
        run /= 2;
    }
    (steps, why)
}

/// Everything of two monitors is the same.
pub(crate) fn same(one: &Roomy, other: &Roomy) -> bool {
    one.standing() == other.standing() && same_memory(one, other)
}

/// Their policies and histories are the same.
pub(crate) fn same_memory(one: &Roomy, other: &Roomy) -> bool {
    let (a, b) = (one.history(), other.history());
    one.policy() == other.policy()
        && a.failure_sum() == b.failure_sum()
        && a.failures().eq(b.failures())
        && a.restart_times().eq(b.restart_times())
        && a.start_times().eq(b.start_times())
        && a.lost() == b.lost()
        && a.evidence().1 == b.evidence().1
        && a.evidence().0.eq(b.evidence().0)
}

/// The walk finds a law that does not hold, and tells it in few steps.
#[test]
fn a_broken_law_is_found_and_told_in_few_steps() {
    use crate::steps::draw;
    struct NeverThreeRestarts;
    impl Law for NeverThreeRestarts {
        fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
            let restarts = seen.after.history().restarts();
            if restarts < 3 { Ok(()) } else { Err(format!("{restarts} restarts")) }
        }
    }
    let told = catch_unwind(|| walk("never three restarts", 100_000, draw, |_| NeverThreeRestarts))
        .expect_err("there are three sooner or later");
    let told = told.downcast_ref::<String>().expect("words");
    assert!(told.contains("3 restarts"), "{told}");
    assert!(told.lines().count() < 30, "{told}");
}
