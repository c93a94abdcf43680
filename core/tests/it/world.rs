//! What a user relies on, whatever a plausible driver and an operator did before: no dead
//! process is forgotten, starts keep their distance, giveover is reachable, nothing hides.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{
    Action, Event, GiveoverOutcome, Holder, Origin, Reason, RestartOutcome, Status, Waiting,
};
use giveover_core::policy::{Destination, FailoverMode};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

use crate::script::{CAUSE, Roomy, ms};
use crate::steps::{lives, plausible};
use crate::walk::{Law, Seen, walk};

fn blocked(monitor: &Roomy) -> bool {
    let full = [Holder::Operator, Holder::Need, Holder::HostBudget, Holder::Unproven];
    full.into_iter().any(|holder| monitor.held_by(holder))
}

fn at_work(monitor: &Roomy) -> bool {
    !matches!(monitor.waiting_for(), Waiting::Ended(_) | Waiting::GivenOver)
}

/// Something will happen without anyone's help, or the driver owes an answer.
fn pending(monitor: &Roomy) -> bool {
    monitor.poll_timeout().is_some()
        || monitor.probe_under_way().is_some()
        || monitor.restart_under_way().is_some()
        || monitor.giveover_under_way().is_some()
}

/// No dead process without something pending, but for a hold; and none that is not known.
#[derive(Default)]
struct NoneForgotten {
    alive: bool,
}

impl Law for NoneForgotten {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        self.alive = lives(self.alive, seen.event, seen.before);
        let after = seen.after;
        if self.alive || !at_work(after) {
            return Ok(());
        }
        if !after.is_dead() {
            return Err("the process is dead and the monitor does not know".into());
        }
        if pending(after) || blocked(after) { Ok(()) } else { Err("forgotten".into()) }
    }
}

#[test]
fn no_dead_process_is_forgotten() {
    walk("no dead process is forgotten", 120_000, plausible, |_| NoneForgotten::default());
}

/// R13: two starts are a second apart, whoever made the one before.
#[derive(Default)]
struct Apart {
    last: Option<Instant>,
}

impl Law for Apart {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let restarts = |action: &Action| matches!(action, Action::Restart { .. });
        if seen.actions.as_slice().iter().any(restarts) {
            if let Some(last) = self.last.filter(|last| seen.latest.since(*last) < 1_000) {
                return Err(format!("a start at {last:?} and another at {:?}", seen.latest));
            }
        }
        let started = match seen.event {
            Event::Begin { started, .. } => started,
            Event::Healed => at_work(seen.before),
            Event::RestartDone { ticket, outcome } => {
                let right =
                    seen.before.restart_under_way().is_some_and(|(asked, _)| asked == ticket);
                let made =
                    matches!(outcome, RestartOutcome::Started | RestartOutcome::StartFailed(_));
                right && made
            }
            _ => false,
        };
        if started {
            self.last = Some(seen.latest);
        }
        Ok(())
    }
}

#[test]
fn there_are_never_two_starts_within_a_second() {
    walk("two starts apart", 100_000, plausible, |_| Apart::default());
}

/// B5: the only states nothing leads out of are a hold, a giveover and an end, and they say so.
struct NothingHides;

impl Law for NothingHides {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let waits = seen.after.waiting_for();
        let shown = match waits {
            Waiting::Release => blocked(seen.after),
            Waiting::GivenOver | Waiting::Ended(_) => true,
            _ => pending(seen.after),
        };
        if shown { Ok(()) } else { Err(format!("{waits:?} waits for nothing")) }
    }
}

#[test]
fn no_state_that_absorbs_is_hidden() {
    walk("nothing hides", 100_000, plausible, |_| NothingHides);
}

/// R11, R14, R15, R16, R18: what a hold or a mode forbids is never done, one event leads to one
/// restart or one request at most, and exactly the changes are announced.
struct Allowed;

impl Law for Allowed {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let (before, after) = (seen.before, seen.after);
        let by_operator = matches!(seen.event, Event::Restart | Event::Giveover)
            || matches!(before.waiting_for(), Waiting::Delay(_) | Waiting::StopAgain(_));
        let held = blocked(before) && blocked(after) && !by_operator;
        let log_only = after.policy().limits().failover_mode == FailoverMode::LogOnly;
        let mut acts = 0;
        let mut announced = None;
        for action in seen.actions {
            let forbidden = match action {
                Action::Restart { origin, .. } => {
                    acts += 1;
                    held || (log_only && *origin == Origin::Monitor)
                }
                Action::Giveover { reason, .. } => {
                    acts += 1;
                    held || (*reason != Reason::Operator && !after.policy().gives_over())
                }
                Action::Reset { .. } | Action::Log => held,
                Action::Status { status, message } => {
                    announced = Some((*status, *message));
                    false
                }
                _ => false,
            };
            if forbidden {
                return Err(format!("{action:?} is forbidden"));
            }
        }
        if acts > 1 {
            return Err(format!("{acts} restarts and requests at once"));
        }
        let changed = (before.status(), before.message()) != (after.status(), after.message());
        let expected = changed.then(|| (after.status(), after.message()));
        if announced == expected { Ok(()) } else { Err(format!("announced {announced:?}")) }
    }
}

#[test]
fn nothing_forbidden_is_done_and_every_change_is_announced() {
    walk("nothing forbidden", 100_000, plausible, |_| Allowed);
}

/// Law 5. Giveover is reachable: from any state, once nothing holds the service, unbroken complete
/// failures reach it within `retry_count` + 1 restarts, where mode, destination and window allow.
///
/// The window must hold the longest wait each time: after a denial the waits stay at the end of
/// their list (R13).
#[derive(Default)]
struct GiveoverReachable {
    turn: u32,
}

impl Law for GiveoverReachable {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        self.turn += 1;
        let policy = seen.after.policy();
        let limits = policy.limits();
        let Some(count) = limits.retry_count.filter(|_| policy.gives_over()) else { return Ok(()) };
        let longest = limits.restart_delay.iter().max().unwrap_or(Span::ZERO).as_millis();
        let interval = limits.thorough_probe_interval.as_millis();
        let cycle = limits.start_grace.as_millis() + interval + 1_000;
        let fits = limits.retry_interval.as_millis() >= u32::from(count) * (longest + cycle);
        if self.turn % 8 != 0 || !fits || !at_work(seen.after) {
            return Ok(());
        }
        let restarts = failing(seen.after.clone(), seen.latest)?;
        if restarts <= u32::from(count) + 1 { Ok(()) } else { Err(format!("{restarts} restarts")) }
    }
}

/// Releases every holder and lets everything fail until giveover is asked for; says how many
/// restarts the monitor began before it was.
fn failing(mut monitor: Roomy, mut now: Instant) -> Result<u32, String> {
    for holder in Holder::ALL {
        let _ = monitor.handle(Event::Release(holder), now);
    }
    let mut restarts = 0;
    let result = ProbeResult::Failed(Weight::COMPLETE, CAUSE);
    let mut by_operator = monitor.giveover_under_way();
    for _ in 0..20_000 {
        let asked = monitor.giveover_under_way();
        let event = if let (Some(ticket), true) = (asked, asked == by_operator) {
            by_operator = None;
            Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Denied }
        } else if asked.is_some() {
            return Ok(restarts);
        } else if let Some((ticket, origin)) = monitor.restart_under_way() {
            restarts += u32::from(origin == Origin::Monitor);
            Event::RestartDone { ticket, outcome: RestartOutcome::Started }
        } else if let Some(ticket) = monitor.probe_under_way() {
            Event::Probed { ticket, result }
        } else {
            now = now.max(monitor.poll_timeout().ok_or("nothing is due")?);
            Event::Timeout
        };
        let _ = monitor.handle(event, now);
    }
    Err("giveover is never asked for".into())
}

#[test]
fn law_5_giveover_is_reachable_under_unbroken_complete_failures() {
    walk("law 5", 100_000, plausible, |_| GiveoverReachable::default());
}

/// Heal, then settle: from any state, once nothing holds the service and everything works, it is
/// `ok` and is probed; unless its mode never restarts what is dead.
#[derive(Default)]
struct Settles {
    turn: u32,
}

impl Law for Settles {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        self.turn += 1;
        let limits = seen.after.policy().limits();
        let elsewhere = seen.after.policy().scope().destination == Destination::Elsewhere;
        let denial_restarts = seen.after.policy().gives_over() && elsewhere;
        let restarts = limits.failover_mode != FailoverMode::LogOnly
            && (limits.retry_count != Some(0) || denial_restarts);
        let skip = self.turn % 16 != 0 || !at_work(seen.after);
        if skip || (seen.after.is_dead() && !restarts) {
            return Ok(());
        }
        healing(seen.after.clone(), seen.latest)
    }
}

fn healing(mut monitor: Roomy, mut now: Instant) -> Result<(), String> {
    for holder in Holder::ALL {
        let _ = monitor.handle(Event::Release(holder), now);
    }
    // A budget may have to free first; no board answers more often than five times a second.
    for _ in 0..50_000 {
        let event = if let Some(ticket) = monitor.giveover_under_way() {
            Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Denied }
        } else if let Some((ticket, _)) = monitor.restart_under_way() {
            Event::RestartDone { ticket, outcome: RestartOutcome::Started }
        } else if let Some(ticket) = monitor.probe_under_way() {
            Event::Probed { ticket, result: ProbeResult::Healthy }
        } else if monitor.status() == Status::Ok
            && matches!(monitor.waiting_for(), Waiting::Probe(_))
        {
            return Ok(());
        } else {
            now = now.max(monitor.poll_timeout().ok_or("nothing is due")?);
            Event::Timeout
        };
        let _ = monitor.handle(event, now);
    }
    Err(format!("{} and {:?} for ever", monitor.status().word(), monitor.waiting_for()))
}

#[test]
fn once_everything_works_it_settles() {
    walk("it settles", 60_000, plausible, |_| Settles::default());
}

/// B1: with nothing but failures and answers to them, no window of any length `retry_interval`
/// has more than `retry_count` restarts, unless a denial came in between.
#[test]
fn no_window_has_more_restarts_than_the_count() {
    use crate::random::Random;
    use crate::script::{ANYTHING, PLAIN, roomy};
    use giveover_core::policy::{Limits, Policy};

    let mut events = 0u32;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let count = random.pick(&[0, 1, 2, 5]);
        let mode = random.pick(&[FailoverMode::Soft, FailoverMode::RestartOnly]);
        let limits = Limits { retry_count: Some(count), failover_mode: mode, ..PLAIN };
        let (policy, _) = Policy::new(limits, ANYTHING).expect("possible");
        let mut monitor = roomy(policy, ms(0));
        let _ = monitor.handle(Event::Begin { first: Span::ZERO, started: false }, ms(0));
        let mut made: Vec<Instant> = Vec::new();
        let (mut now, mut after_denial) = (ms(0), false);
        for _ in 0..400 {
            events += 1;
            let event = if let Some((ticket, _)) = monitor.restart_under_way() {
                Event::RestartDone { ticket, outcome: RestartOutcome::Started }
            } else if let Some(ticket) = monitor.giveover_under_way() {
                made.clear();
                after_denial = monitor.is_dead();
                Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Denied }
            } else if let Some(ticket) = monitor.probe_under_way() {
                Event::Probed { ticket, result: crate::steps::probed(&mut random) }
            } else if random.percent(15) && !monitor.is_dead() {
                Event::Died { cause: CAUSE }
            } else {
                now = now.max(monitor.poll_timeout().expect("something is due"));
                Event::Timeout
            };
            for action in monitor.handle(event, now) {
                let restart = matches!(action, Action::Restart { .. });
                if restart && !std::mem::take(&mut after_denial) {
                    made.push(now);
                }
            }
            let window = u64::from(limits.retry_interval.as_millis());
            let live = made.iter().filter(|at| now.since(**at) <= window).count();
            assert!(live <= usize::from(count), "seed {seed}: {live} restarts at {now:?}");
        }
    }
    println!("restarts in a window: {events} events");
}
