//! The laws every machine obeys, as properties of random walks over the monitor.

use giveover_core::failure::{Cause, Failure, Phase, ProbeResult};
use giveover_core::history::History;
use giveover_core::monitor::{
    Action, Actions, Event, GiveoverOutcome, Reason, RestartOutcome, Ticket, Waiting,
};
use giveover_core::policy::{FailoverMode, Limits, Policy};
use giveover_core::time::{Instant, Span};
use giveover_core::verdict::{Verdict, decide};

use crate::random::Random;
use crate::script::{ANYTHING, CAUSE, PLAIN, Roomy, ms, roomy};
use crate::steps::{draw, weight};
use crate::walk::{EPOCH, Law, Seen, same, same_memory, walk};

/// Law 1. A deadline is never stale: once it has been served, the next one is later.
struct NeverStale;

impl Law for NeverStale {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let served = seen.before.poll_timeout().is_some_and(|due| due <= seen.latest);
        let next = seen.after.poll_timeout();
        if seen.event == Event::Timeout && served && next.is_some_and(|next| next <= seen.latest) {
            return Err(format!("due again at {next:?} after a timeout at {:?}", seen.latest));
        }
        Ok(())
    }
}

#[test]
fn law_1_a_deadline_is_never_stale() {
    walk("law 1", 100_000, draw, |_| NeverStale);
}

/// Law 2. Early is nothing: a timeout before the deadline changes nothing, then or later.
struct EarlyIsNothing {
    last: Instant,
}

impl Law for EarlyIsNothing {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let last = std::mem::replace(&mut self.last, seen.latest);
        let due = seen.before.poll_timeout().unwrap_or(ms(u64::MAX));
        for early in [last, ms(u64::midpoint(last.as_millis(), due.as_millis() - 1))] {
            if early < last || early >= due || early > seen.now {
                continue;
            }
            let mut twin = seen.before.clone();
            if !twin.handle(Event::Timeout, early).as_slice().is_empty() {
                return Err(format!("a timeout at {early:?}, before {due:?}, led to something"));
            }
            let actions = twin.handle(seen.event, seen.now);
            if actions != *seen.actions || !same(&twin, seen.after) {
                return Err(format!("a timeout at {early:?}, before {due:?}, made a difference"));
            }
        }
        Ok(())
    }
}

#[test]
fn law_2_early_is_nothing() {
    walk("law 2", 100_000, draw, |_| EarlyIsNothing { last: ms(EPOCH) });
}

/// Law 3. Late is nothing: an answer with any other ticket, or a second one, changes nothing.
struct LateIsNothing {
    turn: usize,
    last: Instant,
}

const RESULTS: [ProbeResult; 4] = [
    ProbeResult::Healthy,
    ProbeResult::Failed(giveover_core::weight::Weight::COMPLETE, CAUSE),
    ProbeResult::Immediate(CAUSE),
    ProbeResult::Void,
];
const RESTARTS: [RestartOutcome; 4] = [
    RestartOutcome::Started,
    RestartOutcome::StartFailed(CAUSE),
    RestartOutcome::StopFailed(CAUSE),
    RestartOutcome::Invalid(CAUSE),
];
const ANSWERS: [GiveoverOutcome; 4] = [
    GiveoverOutcome::Granted,
    GiveoverOutcome::Denied,
    GiveoverOutcome::NotNow,
    GiveoverOutcome::Aborted { stopped: true, cause: CAUSE },
];

impl Law for LateIsNothing {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        self.turn += 1;
        let last = std::mem::replace(&mut self.last, seen.latest);
        let probe = seen.before.probe_under_way();
        let restart = seen.before.restart_under_way().map(|(ticket, _)| ticket);
        let giveover = seen.before.giveover_under_way();
        let known = [probe, restart, giveover].into_iter().flatten();
        let near = known.flat_map(|ticket| [ticket.0, ticket.0.wrapping_sub(1), ticket.0 + 1]);
        let tickets: Vec<Ticket> = near.chain([0, 1, u32::MAX]).map(Ticket).collect();
        let (result, outcome) = (RESULTS[self.turn % 4], RESTARTS[self.turn % 4]);
        let answer = ANSWERS[self.turn % 4];
        for ticket in tickets {
            let wrong = [
                (probe, Event::Probed { ticket, result }),
                (restart, Event::RestartDone { ticket, outcome }),
                (giveover, Event::GiveoverDone { ticket, outcome: answer }),
            ];
            for (right, event) in wrong {
                if right != Some(ticket) {
                    nothing_of(seen.before, event, last)?;
                }
            }
        }
        let answers = matches!(
            seen.event,
            Event::Probed { .. } | Event::RestartDone { .. } | Event::GiveoverDone { .. }
        );
        if answers { nothing_of(seen.after, seen.event, seen.latest) } else { Ok(()) }
    }
}

fn nothing_of(monitor: &Roomy, event: Event, now: Instant) -> Result<(), String> {
    let mut twin = monitor.clone();
    let actions = twin.handle(event, now);
    if actions.as_slice().is_empty() && same(&twin, monitor) {
        return Ok(());
    }
    Err(format!("{event:?} led to {actions:?}"))
}

#[test]
fn law_3_late_is_nothing() {
    walk("law 3", 100_000, draw, |_| LateIsNothing { turn: 0, last: ms(EPOCH) });
}

/// Law 4. Bounded: one event never leads to more actions than there is room for. Three is what the
/// walks find, and one more is kept; a list that overflows panics, which breaks every law.
struct Bounded;

impl Law for Bounded {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let count = seen.actions.as_slice().len();
        if count < Actions::MAX { Ok(()) } else { Err(format!("{count} actions")) }
    }
}

#[test]
fn law_4_the_actions_of_an_event_are_bounded() {
    walk("law 4", 100_000, draw, |_| Bounded);
}

/// Law 6. Giveover is earned: below 100 in the window there is neither restart nor giveover. Kept
/// beside the monitor is every failure it was told of, whether it counted or not: if even their
/// sum is below 100, and the process lives, there was no failure event.
struct Earned {
    failures: Vec<(Instant, u64)>,
}

impl Earned {
    fn sum(&self, now: Instant, window: Span) -> u64 {
        let live = |at: Instant| now.since(at) <= u64::from(window.as_millis());
        self.failures.iter().filter(|(at, _)| live(*at)).map(|(_, weight)| weight).sum()
    }
}

impl Law for Earned {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let mut immediate = false;
        match seen.event {
            Event::Probed { ticket, result } if seen.before.probe_under_way() == Some(ticket) => {
                if let ProbeResult::Failed(weight, _) = result {
                    self.failures.push((seen.latest, u64::from(weight.value())));
                }
                if let ProbeResult::Immediate(_) = result {
                    self.failures.push((seen.latest, 100));
                    immediate = true;
                }
            }
            Event::Died { .. } => self.failures.push((seen.latest, 100)),
            _ => {}
        }
        let window = seen.before.policy().limits().retry_interval;
        let earned = self.sum(seen.latest, window) >= 100 || seen.before.is_dead();
        let repeated = matches!(seen.before.waiting_for(), Waiting::AskAgain(_));
        let decided_before =
            matches!(seen.before.waiting_for(), Waiting::Delay(_) | Waiting::StopAgain(_));
        for action in seen.actions {
            let fair = match action {
                Action::Restart { origin: giveover_core::monitor::Origin::Monitor, .. } => {
                    earned || decided_before
                }
                Action::Giveover { reason: Reason::BudgetSpent, .. } => earned || repeated,
                Action::Giveover { reason: Reason::Immediate(_), .. } => immediate || repeated,
                Action::Giveover { reason: Reason::StartFailed(_), .. } => {
                    matches!(seen.event, Event::RestartDone { .. }) || repeated
                }
                Action::Giveover { reason: Reason::Operator, .. } => seen.event == Event::Giveover,
                Action::BudgetSpent | Action::Log => {
                    earned || matches!(seen.event, Event::GiveoverDone { .. }) || repeated
                }
                _ => true,
            };
            if !fair {
                let sum = self.sum(seen.latest, window);
                return Err(format!("{action:?} came of {sum} of 100 by {:?}", seen.event));
            }
        }
        Ok(())
    }
}

#[test]
fn law_6_giveover_and_restart_are_earned() {
    walk("law 6", 100_000, draw, |_| Earned { failures: Vec::new() });
}

/// Law 7. Lost is not lenient: with records lost for want of room the verdict is never milder.
#[test]
fn law_7_lost_is_not_lenient() {
    let severity = |verdict| match verdict {
        Verdict::Nothing => 0,
        Verdict::Restart => 1,
        _ => 2,
    };
    let window = Span::from_millis(1_000);
    let mut events = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let count = random.pick(&[Some(0), Some(1), Some(3)]);
        let mode = random.pick(&FailoverMode::ALL);
        let limits = Limits { retry_count: count, failover_mode: mode, ..PLAIN };
        let (policy, _) = Policy::new(limits, ANYTHING).expect("possible");
        let mut all = History::new([Failure::BLANK; 512], [ms(0); 512], [ms(0); 512]);
        let mut some = History::new([Failure::BLANK; 3], [ms(0); 3], [ms(0); 3]);
        let mut now = 0;
        for _ in 0..250 {
            now += random.below(40);
            all.age(ms(now), window);
            some.age(ms(now), window);
            match random.below(10) {
                0..=7 => {
                    let weight = weight(&mut random);
                    let cause = Cause::new(Phase::Read, 0);
                    all.add_failure(ms(now), weight, cause);
                    some.add_failure(ms(now), weight, cause);
                }
                8 => {
                    all.add_restart(ms(now));
                    some.add_restart(ms(now));
                }
                _ => {
                    all.spend_failures();
                    some.spend_failures();
                }
            }
            events += 1;
            let (whole, lossy) = (decide(&policy, &all), decide(&policy, &some));
            assert!(severity(lossy) >= severity(whole), "seed {seed}: {lossy:?} for {whole:?}");
        }
        assert_eq!(all.lost(), (0, 0, 0));
    }
    println!("law 7: {events} events");
}

/// Law 8. The epoch does not matter: with every instant moved, the same actions.
struct Epoch {
    twin: Roomy,
    by: u64,
}

impl Law for Epoch {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let moved = |at: Instant| ms(at.as_millis() + self.by);
        let actions = self.twin.handle(seen.event, moved(seen.now));
        let due = self.twin.poll_timeout();
        if actions == *seen.actions && due == seen.after.poll_timeout().map(moved) {
            return Ok(());
        }
        Err(format!("{actions:?} in another epoch, {:?} in this", seen.actions))
    }
}

#[test]
fn law_8_the_epoch_does_not_matter() {
    for by in [1, 86_400_000, 1 << 40] {
        walk("law 8", 50_000, draw, |policy| Epoch { twin: roomy(policy, ms(EPOCH + by)), by });
    }
}

/// Law 9. Time going back is clamped: decided as at the latest time seen.
struct Clamped {
    twin: Roomy,
    went_back: u32,
    last: Instant,
}

impl Law for Clamped {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let actions = self.twin.handle(seen.event, seen.latest);
        self.went_back += u32::from(seen.now < self.last);
        self.last = seen.latest;
        let counted = seen.after.clock_went_back() == self.went_back;
        let alike = self.twin.poll_timeout() == seen.after.poll_timeout()
            && self.twin.waiting_for() == seen.after.waiting_for()
            && same_memory(&self.twin, seen.after);
        if actions == *seen.actions && alike && counted {
            return Ok(());
        }
        Err(format!("{actions:?} at the latest time, {:?} at {:?}", seen.actions, seen.now))
    }
}

#[test]
fn law_9_time_going_back_is_clamped() {
    walk("law 9", 100_000, draw, |policy| Clamped {
        twin: roomy(policy, ms(EPOCH)),
        went_back: 0,
        last: ms(EPOCH),
    });
}
