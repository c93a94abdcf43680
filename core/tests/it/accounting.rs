//! R1 to R6: what counts, what it comes to, and what is done about it.

use giveover_core::monitor::{Message, Status};
use giveover_core::policy::{Destination, FailoverMode, Limits, Scope};

use crate::script::*;

/// R1.
// req 1.18 1.19
#[test]
fn healthy_is_ok_and_ages_the_failures_but_clears_none() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(50), "degraded");
    script.at(60_000, Probe(0), "ok");
    script.counts(60_000, 50, 0);
    assert_eq!(script.monitor.history().failures().count(), 1);
    script.at(300_000, Probe(0), "");
    assert_eq!(script.monitor.history().failures().count(), 1, "as old as the window still counts");
    script.at(300_001, Probe(0), "");
    assert_eq!(script.monitor.history().failures().count(), 0, "older is forgotten");
    assert_eq!(script.monitor.message().text(), "Service is online");
}

/// R2.
// req 0.52 0.56 1.21 1.22 1.24 1.26
#[test]
fn below_100_nothing_is_done_and_the_sum_is_kept() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(33), "degraded");
    script.at(30_000, Probe(33), "");
    script.at(60_000, Probe(33), "");
    script.counts(60_000, 99, 0);
    assert_eq!(script.monitor.message().text(), "Service is degraded");
    script.at(90_000, Probe(1), "restart");
}

/// R3.
// req 1.27
#[test]
fn more_than_100_is_one_failure_and_nothing_is_carried_over() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(99), "degraded");
    script.at(30_000, Probe(100), "restart");
    script.counts(30_000, 0, 1);
    let (evidence, sum) = script.monitor.history().evidence();
    assert_eq!((evidence.count(), sum), (2, 199));
}

/// R4.
// req 0.53 1.28 1.29
#[test]
fn a_restart_is_charged_and_the_failures_are_emptied_when_it_is_decided() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(100), "restart, degraded");
    script.counts(0, 0, 1);
    script.at(200_000, Started, "");
    script.counts(300_000, 0, 1);
    script.counts(300_001, 0, 0);
}

/// R4, R2: a half is kept and not acted on, the second makes a failure.
// req 0.39 0.56 0.57 1.52
#[test]
fn two_halves_in_the_window_are_one_failure() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(50), "degraded");
    script.at(300_000, Probe(50), "restart");
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(50), "degraded");
    script.at(300_001, Probe(50), ""); // the first is older than the window
    script.counts(300_001, 50, 0);
}

/// R4.
#[test]
fn a_restart_that_worked_does_not_empty_the_restarts() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(100), "restart, degraded");
    script.at(1_000, Started, "");
    script.at(60_000, Probe(100), "restart");
    script.at(61_000, Started, "");
    script.counts(61_000, 0, 2);
}

/// R4.
#[test]
fn unlimited_restarts_never_give_over() {
    let mut script = Script::new(Limits { retry_count: None, ..PLAIN });
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    for failure in 1..50 {
        script.at(failure * 30_000, Probe(100), "restart");
        script.at(failure * 30_000, Started, "");
    }
}

/// R5.
// req 0.55 1.30 1.32
#[test]
fn the_failure_past_the_budget_asks_for_giveover() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    script.at(60_000, Probe(100), "restart");
    script.at(60_000, Started, "");
    script.at(120_000, Probe(50), "");
    script.at(150_000, Probe(60), "giveover, faulted");
    script.counts(150_000, 0, 2);
    assert_eq!(script.monitor.status(), Status::Faulted);
    assert_eq!(script.monitor.message().text(), "Service has failed");
}

/// R5.
// req 0.54
#[test]
fn restarts_that_have_aged_out_are_allowed_again() {
    let mut script = Script::new(Limits { retry_count: Some(1), ..PLAIN });
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    script.at(300_001, Probe(100), "restart");
    script.at(300_001, Started, "");
    script.at(600_001, Probe(100), "giveover, faulted");
}

/// R5.
#[test]
fn a_count_of_zero_gives_over_at_once() {
    let mut script = Script::new(Limits { retry_count: Some(0), ..PLAIN });
    script.at(0, Probe(100), "giveover, faulted");
}

/// R5.
#[test]
fn the_failures_are_emptied_when_giveover_is_asked_whatever_the_answer() {
    for answer in [GRANTED, NOT_NOW, DENIED] {
        let mut script = Script::new(Limits { retry_count: Some(0), ..PLAIN });
        script.at(0, Probe(99), "degraded");
        script.at(30_000, Probe(99), "giveover, faulted");
        script.counts(30_000, 0, 0);
        script.at(30_000, answer, "");
        script.counts(30_000, 0, 0);
    }
}

/// R6.
#[test]
fn an_immediate_result_skips_the_restart() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(50), "degraded");
    script.at(30_000, Immediate, "giveover, faulted");
    script.counts(30_000, 0, 0);
}

/// R6.
#[test]
fn an_immediate_result_is_a_complete_failure_where_nothing_is_given_over() {
    for mode in [FailoverMode::RestartOnly, FailoverMode::LogOnly] {
        let mut script = Script::new(Limits { failover_mode: mode, ..PLAIN });
        let log_only = mode == FailoverMode::LogOnly;
        script.at(0, Immediate, if log_only { "log, faulted" } else { "restart, degraded" });
    }
    let nowhere = Scope { destination: Destination::Nobody, ..ANYTHING };
    let mut script = Script::with_scope(PLAIN, nowhere);
    script.at(0, Immediate, "restart, degraded");
}

/// Before the first cycle there is a status but no message.
#[test]
fn before_the_first_cycle_a_service_is_unknown() {
    let script = Script::new(PLAIN);
    assert_eq!(
        (script.monitor.status(), script.monitor.message()),
        (Status::Unknown, Message::None)
    );
    assert_eq!(script.monitor.message().text(), "");
}
