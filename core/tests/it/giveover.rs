//! R8 and R9: the answers to a request for giveover.

use giveover_core::monitor::{Event, Holder, Status, Waiting};
use giveover_core::policy::{Delays, FailoverMode, Limits};
use giveover_core::time::Span;

use crate::script::*;

/// Asks for giveover at the first failure.
const AT_ONCE: Limits = Limits { retry_count: Some(0), ..PLAIN };

/// R8.
// req 1.31
#[test]
fn granted_ends_the_monitor_and_the_service_is_offline_once_stopped() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(1_000, GRANTED, "");
    assert_eq!(script.monitor.waiting_for(), Waiting::GivenOver);
    assert_eq!(script.monitor.poll_timeout(), None);
    script.at(3_000, Feed(Event::Stopped), "offline");
    script.at(9_000_000, Tick, "");
}

/// R8: `start SERVICE` or a hand-back begins a new monitor.
#[test]
fn after_a_giveover_the_next_monitor_begins_with_empty_histories() {
    for (stops, between) in [(true, None), (false, None), (true, Some(Feed(Event::End)))] {
        let mut script = Script::new(Limits { retry_count: Some(1), ..PLAIN });
        script.at(0, Probe(100), "restart, degraded");
        script.at(0, Started, "");
        script.at(30_000, Probe(100), "giveover, faulted");
        script.at(30_000, GRANTED, "");
        if stops {
            script.at(31_000, Feed(Event::Stopped), "offline");
        }
        if let Some(between) = between {
            script.at(32_000, between, "");
        }
        script.counts(32_000, 0, 1);
        script.at(40_000, BEGIN, "unknown");
        script.counts(40_000, 0, 0);
        assert_eq!(script.monitor.history().starts(), 0);
        script.at(70_000, Probe(100), "restart, degraded");
    }
}

/// R8.
#[test]
fn a_granted_giveover_that_stopped_it_and_started_it_nowhere_is_started_here() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(1_000, GRANTED, "");
    script.at(2_000, Feed(Event::Stopped), "offline");
    script.at(9_000, ABORTED_STOPPED, "restart after giveover, degraded (not running)");
    script.counts(9_000, 0, 0); // not charged
    script.at(9_500, Started, "degraded");
    script.at(39_500, Probe(0), "ok");
}

/// R8, R7.
#[test]
fn a_granted_giveover_that_could_not_stop_it_is_a_stop_that_failed() {
    for (mode, expected) in [(FailoverMode::Soft, ""), (FailoverMode::Hard, "reset")] {
        let mut script = Script::new(Limits { failover_mode: mode, ..AT_ONCE });
        script.at(0, Probe(100), "giveover, faulted");
        script.at(1_000, GRANTED, "");
        script.at(9_000, ABORTED_RUNNING, expected);
        script.at(39_000, Tick, "restart after giveover");
        script.at(40_000, Started, "degraded");
        script.counts(40_000, 0, 0);
    }
}

/// R8, R10: it ended by itself before it could be stopped, and then could not be proven gone.
#[test]
fn a_death_during_a_giveover_is_known_when_it_is_aborted() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(1_000, GRANTED, "");
    script.at(2_000, Died, "faulted (not running)");
    script.at(3_000, ABORTED_RUNNING, "");
    script.at(4_000, hold(Holder::Operator), "");
    assert_eq!(script.monitor.waiting_for(), Waiting::Release);
    script.at(5_000, release(Holder::Operator), "giveover");
}

/// R8: an answer can also be the whole story at once.
#[test]
fn an_answer_may_be_that_it_was_aborted() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(1_000, ABORTED_STOPPED, "restart after giveover, degraded (not running)");
    script.at(1_500, StartFails, "faulted (not running)");
    script.at(31_500, Tick, "giveover"); // the dead process is the next failure event
}

/// The other side may be running: started by a person, or not at all.
#[test]
fn a_giveover_that_ended_unproven_is_held() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(1_000, GRANTED, "");
    script.at(9_000, UNPROVEN, "faulted (not running)");
    assert_eq!(script.monitor.waiting_for(), Waiting::Release);
    script.at(9_000_000, BEGIN, "faulted");
    script.at(9_030_000, Probe(0), "ok");
    script.at(9_060_000, Probe(100), "giveover, faulted");
}

/// R9.
// req 1.33 1.34 1.35 1.36
#[test]
fn denied_empties_both_histories_and_leaves_a_live_service_alone() {
    let mut script = Script::new(Limits { retry_count: Some(1), ..PLAIN });
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    script.at(30_000, Probe(100), "giveover, faulted");
    script.counts(30_000, 0, 1);
    script.at(31_000, DENIED, "");
    script.counts(31_000, 0, 0);
    script.at(61_000, Probe(100), "restart, degraded");
}

/// R9: denied again and again, it asks once for each failure past the budget, never in a row.
// req 1.36 1.37
#[test]
fn there_is_no_storm_of_requests_while_they_are_denied() {
    let mut script = Script::new(Limits { retry_count: Some(1), ..PLAIN });
    for round in 0..5 {
        let at_ms = round * 60_000;
        script.at(at_ms, Probe(100), "restart, degraded");
        script.at(at_ms, Started, "");
        script.at(at_ms + 30_000, Probe(100), "giveover, faulted");
        script.at(at_ms + 30_000, DENIED, "");
        script.at(at_ms + 59_999, Tick, "");
    }
}

/// R9.
#[test]
fn denied_restarts_a_dead_process_once() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Died, "giveover, faulted (not running)");
    script.at(1_000, DENIED, "restart, degraded (not running)");
    script.counts(1_000, 0, 1);
    script.at(2_000, Started, "degraded");
}

/// R9: one attempt for each failure event, and an immediate result is one of its own.
#[test]
fn an_immediate_result_is_a_failure_event_of_its_own() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Died, "giveover, faulted (not running)");
    script.at(0, DENIED, "restart, degraded (not running)");
    script.at(10, Started, "degraded");
    script.at(30_000, Immediate, "giveover, faulted");
    script.at(31_000, Died, "faulted (not running)");
    script.at(32_000, DENIED, "restart, degraded (not running)");
}

/// R9: also one that died while the answer was out.
#[test]
fn a_process_that_dies_while_the_answer_is_out_is_restarted_after_a_denial() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(1_000, Died, "faulted (not running)");
    script.at(2_000, DENIED, "restart, degraded (not running)");
}

/// R9.
#[test]
fn not_now_keeps_the_restarts_and_asks_again_after_ten_seconds() {
    let mut script = Script::new(Limits { retry_count: Some(1), ..PLAIN });
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    script.at(30_000, Probe(100), "giveover, faulted");
    script.at(30_000, NOT_NOW, "");
    script.counts(30_000, 0, 1);
    script.at(39_999, Tick, "");
    script.at(40_000, Tick, "giveover");
    script.at(40_100, NOT_NOW, "");
    script.at(50_100, Tick, "giveover");
    script.at(50_200, DENIED, "");
    script.counts(50_200, 0, 0);
}

/// R9: a healthy cycle cancels. The cycles keep their time though the request is repeated
/// more often than they come round.
#[test]
fn while_it_is_not_now_probes_go_on_and_a_healthy_one_cancels() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(0, NOT_NOW, "");
    for at_ms in [10_000, 20_000] {
        script.at(at_ms, Tick, "giveover");
        script.at(at_ms, NOT_NOW, "");
    }
    script.at(29_999, Tick, "");
    assert_eq!(script.monitor.probe_under_way(), None);
    script.at(30_000, Tick, "giveover");
    assert!(script.monitor.probe_under_way().is_some(), "an interval after the last cycle");
    script.at(30_000, NOT_NOW, "");
    script.at(30_500, Probe(0), "ok");
    script.at(300_000, Tick, "");
}

/// R9: failures are counted meanwhile, and what comes to 100 is emptied and does nothing.
#[test]
fn while_it_is_not_now_a_failure_event_empties_the_failures_and_does_nothing() {
    let mut script = Script::new(Limits { thorough_probe_interval: Span::from_secs(2), ..AT_ONCE });
    script.at(0, Probe(100), "giveover, faulted");
    script.at(0, NOT_NOW, "");
    script.at(2_000, Probe(60), "");
    script.counts(2_000, 60, 0);
    script.at(4_000, Probe(60), "");
    script.counts(4_000, 0, 0);
    script.at(6_000, Immediate, "");
    script.counts(6_000, 0, 0);
    script.at(8_000, Probe(20), "");
    script.at(9_000, Died, "faulted (not running)");
    script.counts(9_000, 0, 0);
    script.at(10_000, Tick, "giveover");
}

/// R9: the probe was under way when the request was repeated.
#[test]
fn a_healthy_cycle_withdraws_a_repeated_request() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(0, NOT_NOW, "");
    script.at(10_000, Tick, "giveover");
    script.at(11_000, NOT_NOW, "");
    script.at(20_500, Feed(Event::ProbeNow), "");
    script.at(21_000, Tick, "giveover");
    script.at(21_500, Probe(0), "cancel, ok");
    script.at(21_600, GRANTED, ""); // late
    assert_eq!(script.monitor.status(), Status::Ok);
}

/// R9.
#[test]
fn not_now_for_longer_than_the_window_is_a_denial() {
    let mut script = Script::new(Limits { retry_interval: Span::from_secs(15), ..AT_ONCE });
    script.at(0, Died, "giveover, faulted (not running)");
    script.at(0, NOT_NOW, "");
    script.at(10_000, Tick, "giveover");
    script.at(10_000, NOT_NOW, "");
    assert_eq!(script.monitor.poll_timeout(), Some(ms(15_000)));
    script.at(14_999, Tick, "");
    script.at(15_000, Tick, "restart, degraded (not running)");
}

/// R9: the window has passed before the answer.
#[test]
fn a_not_now_that_comes_after_the_window_is_a_denial() {
    let mut script = Script::new(Limits { retry_interval: Span::from_secs(15), ..AT_ONCE });
    script.at(0, Died, "giveover, faulted (not running)");
    script.at(15_000, NOT_NOW, "restart, degraded (not running)");
}

/// A person who is told no asks again in person.
#[test]
fn an_operators_request_is_not_repeated_and_its_denial_forgets_nothing() {
    let delays = Delays::new(&[Span::from_secs(40)]).expect("few");
    for answer in [DENIED, NOT_NOW] {
        let mut script = Script::new(Limits { restart_delay: delays, ..PLAIN });
        script.at(0, Probe(0), "ok");
        script.at(30_000, Probe(50), "degraded");
        script.at(31_000, OPERATOR_GIVEOVER, "giveover");
        script.at(32_000, answer, "");
        script.counts(32_000, 50, 0);
        script.at(62_000, Probe(0), "ok");
        script.at(100_000, Tick, "");
    }
}
