//! R11, R22 and R19: what the modes allow, where a giveover goes, and changing one's mind.

use giveover_core::monitor::{Event, Status, Waiting};
use giveover_core::policy::{Delays, Destination, FailoverMode, Limits, Policy, Scope};
use giveover_core::time::Span;

use crate::script::*;

const RESTART_ONLY: Limits =
    Limits { retry_count: Some(1), failover_mode: FailoverMode::RestartOnly, ..PLAIN };
const LOG_ONLY: Limits = Limits { failover_mode: FailoverMode::LogOnly, ..PLAIN };
const NOWHERE: Scope = Scope { destination: Destination::Nobody, ..ANYTHING };
const BOARD: Scope = Scope { destination: Destination::Board, ..ANYTHING };

fn set(limits: Limits, scope: Scope) -> Input {
    let (policy, _) = Policy::new(limits, scope).expect("possible");
    Feed(Event::SetPolicy(policy))
}

/// R11: `none`, `soft` and `hard` are about methods; none of them keeps a monitor from acting.
#[test]
fn the_first_three_modes_restart_and_give_over_alike() {
    for mode in [FailoverMode::None, FailoverMode::Soft, FailoverMode::Hard] {
        let limits = Limits { failover_mode: mode, retry_count: Some(1), ..PLAIN };
        let mut script = Script::new(limits);
        script.at(0, Probe(100), "restart, degraded");
        script.at(0, Started, "");
        script.at(30_000, Probe(100), "giveover, faulted");
    }
}

/// R11, and R22: the same where nobody can take it.
#[test]
fn a_spent_budget_waits_where_nothing_is_given_over() {
    let nowhere = Limits { retry_count: Some(1), ..PLAIN };
    for (limits, scope) in [(RESTART_ONLY, ANYTHING), (nowhere, NOWHERE)] {
        let mut script = Script::with_scope(limits, scope);
        script.at(0, Probe(100), "restart, degraded");
        script.at(0, Started, "");
        script.at(30_000, Probe(50), "");
        script.at(60_000, Probe(50), "budget spent, faulted");
        script.counts(60_000, 0, 1); // A emptied, B kept
        script.at(90_000, Probe(50), ""); // a partial failure does not soften it
        script.at(120_000, Probe(50), "budget spent"); // once for each failure
        script.at(150_000, Probe(0), "ok");
        script.at(301_000, Probe(100), "restart, degraded");
    }
}

/// R11.
#[test]
fn log_only_never_acts() {
    let mut script = Script::new(LOG_ONLY);
    script.at(0, Probe(50), "degraded");
    script.at(30_000, Probe(50), "log, faulted");
    script.counts(30_000, 0, 0);
    script.at(60_000, Probe(50), "");
    script.at(90_000, Probe(50), "log");
    script.at(120_000, Immediate, "log");
    script.at(150_000, Probe(0), "ok");
    script.at(160_000, Died, "log, faulted (not running)");
}

/// R22: the failing start of a service that goes nowhere is faulted, as under `restart_only`.
#[test]
fn without_a_destination_a_failed_start_asks_nobody() {
    let mut script = Script::with_scope(PLAIN, NOWHERE);
    script.at(0, Probe(100), "restart, degraded");
    script.at(1_000, StartFails, "faulted (not running)");
    script.counts(1_000, 0, 1);
    script.at(31_000, Tick, "restart, degraded (not running)");
    script.at(32_000, StartFails, "faulted (not running)");
    script.at(62_000, Tick, "budget spent");
}

/// R22: nothing is stopped and the monitor goes on.
#[test]
fn a_board_that_agrees_ends_nothing() {
    let mut script = Script::with_scope(Limits { retry_count: Some(0), ..PLAIN }, BOARD);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(100, GRANTED, "");
    assert_eq!(script.monitor.waiting_for(), Waiting::Probe(ms(30_100)));
    script.at(30_100, Probe(0), "ok");
}

/// R22: refused by R20 or by the board.
#[test]
fn a_board_that_refuses_leaves_a_spent_budget() {
    let mut script = Script::with_scope(Limits { retry_count: Some(1), ..PLAIN }, BOARD);
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    script.at(30_000, Probe(100), "giveover, faulted");
    script.at(30_000, DENIED, "budget spent");
    script.counts(30_000, 0, 1); // R9 is for a destination that says no
    script.at(60_000, Died, "giveover, faulted (not running)");
    script.at(60_000, DENIED, "budget spent");
    script.at(90_000, Tick, "giveover");
    script.at(90_000, DENIED, "budget spent");
    script.at(330_000, Tick, "giveover");
}

/// R19.
#[test]
fn lowering_the_count_below_the_live_restarts_makes_the_next_failure_a_giveover() {
    let mut script = Script::new(Limits { retry_count: Some(5), ..PLAIN });
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    for at_ms in [30_000, 60_000] {
        script.at(at_ms, Probe(100), "restart");
        script.at(at_ms, Started, "");
    }
    script.at(61_000, Probe(50), "");
    script.at(62_000, set(Limits { retry_count: Some(1), ..PLAIN }, ANYTHING), "");
    script.counts(62_000, 50, 3);
    script.at(63_000, Probe(50), "giveover, faulted");
}

/// R19.
#[test]
fn a_shorter_interval_brings_the_next_cycle_nearer_and_a_longer_one_does_not_put_it_off() {
    let mut script = Script::new(PLAIN);
    let every = |s| Limits { thorough_probe_interval: Span::from_secs(s), ..PLAIN };
    script.at(1_000, set(every(5), ANYTHING), "");
    assert_eq!(script.monitor.poll_timeout(), Some(ms(6_000)));
    script.at(2_000, set(every(60), ANYTHING), "");
    assert_eq!(script.monitor.poll_timeout(), Some(ms(6_000)));
    script.at(6_000, Probe(0), "ok");
    assert_eq!(script.monitor.poll_timeout(), Some(ms(66_000)));
}

/// R19: what a person asked for is not called off by other limits.
#[test]
fn changing_the_mode_leaves_a_persons_wish_alone() {
    let mut script = Script::new(PLAIN);
    script.at(0, BEGIN, "");
    script.at(500, OPERATOR_RESTART, "");
    script.at(600, set(LOG_ONLY, ANYTHING), "");
    script.at(1_000, Tick, "restart for operator");

    let mut script = Script::new(PLAIN);
    script.at(0, OPERATOR_GIVEOVER, "giveover");
    script.at(1_000, set(LOG_ONLY, ANYTHING), "");
    script.at(2_000, GRANTED, "");
    assert_eq!(script.monitor.waiting_for(), Waiting::GivenOver);
}

/// R11 beside R19: a request that nobody may answer with yes any more is withdrawn.
#[test]
fn changing_to_restart_only_withdraws_a_request() {
    for limits in [RESTART_ONLY, LOG_ONLY] {
        let mut script = Script::new(Limits { retry_count: Some(0), ..PLAIN });
        script.at(0, Probe(100), "giveover, faulted");
        script.at(1_000, set(limits, ANYTHING), "cancel");
        script.at(2_000, GRANTED, ""); // late
        assert_eq!(script.monitor.status(), Status::Faulted);
        script.at(31_000, Probe(0), "ok");

        let mut script = Script::new(Limits { retry_count: Some(0), ..PLAIN });
        script.at(0, Probe(100), "giveover, faulted");
        script.at(0, NOT_NOW, "");
        script.at(1_000, set(limits, ANYTHING), "");
        script.at(29_000, Tick, "");
    }
}

/// R11 beside R19: `log_only` never acts, and what was decided before still waits.
#[test]
fn changing_to_log_only_calls_off_what_waits() {
    let delays = Delays::new(&[Span::from_secs(60)]).expect("few");
    let slow = Limits { restart_delay: delays, ..PLAIN };
    let mut script = Script::new(slow);
    script.at(0, Probe(100), "degraded");
    script.at(1_000, set(LOG_ONLY, ANYTHING), "");
    script.counts(1_000, 0, 0);
    script.at(60_000, Tick, "");
    script.at(60_000, Probe(100), "log, faulted");

    let mut script = Script::new(slow);
    script.at(0, Died, "degraded (not running)");
    script.at(1_000, set(LOG_ONLY, ANYTHING), "");
    script.at(31_000, Tick, "log, faulted (not running)");
    script.at(61_000, Tick, "log");
}
