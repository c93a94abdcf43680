//! R13: waits before restarts, the distance between starts, and the grace after one.

use giveover_core::monitor::{Event, Holder, Waiting};
use giveover_core::policy::{Delays, FailoverMode, Limits};
use giveover_core::time::Span;

use crate::script::*;

fn delays(seconds: &[u32]) -> Delays {
    let list: Vec<Span> = seconds.iter().map(|s| Span::from_secs(*s)).collect();
    Delays::new(&list).expect("few")
}

/// R13: indexed by live starts, the last repeats.
#[test]
fn the_waits_go_up_with_the_restarts_made_and_the_last_repeats() {
    let limits = Limits { restart_delay: delays(&[0, 5, 20]), retry_count: None, ..PLAIN };
    let mut script = Script::new(limits);
    script.at(0, Died, "restart, degraded (not running)");
    script.at(1, Started, "degraded");
    script.at(30_000, Died, "degraded (not running)");
    assert_eq!(script.monitor.waiting_for(), Waiting::Delay(ms(35_000)));
    script.at(35_000, Tick, "restart");
    script.at(35_001, Started, "degraded");
    for at_ms in [60_000, 100_000] {
        script.at(at_ms, Died, "degraded (not running)");
        script.at(at_ms + 19_999, Tick, "");
        script.at(at_ms + 20_000, Tick, "restart");
        script.at(at_ms + 20_001, Started, "degraded");
    }
    // At 0 s + window only three of the four starts are live, and at 430 s none.
    script.at(430_000, Died, "restart, degraded (not running)");
}

/// R13: while waiting, probes go on and count nothing; a healthy cycle calls it off, and R4: one
/// called off leaves the budget again.
#[test]
fn a_healthy_cycle_calls_a_waiting_restart_off() {
    let limits = Limits {
        restart_delay: delays(&[60]),
        thorough_probe_interval: Span::from_secs(10),
        ..PLAIN
    };
    let mut script = Script::new(limits);
    script.at(0, Probe(100), "degraded");
    script.counts(0, 0, 1);
    script.at(10_000, Probe(100), "");
    script.at(20_000, Immediate, "");
    script.counts(20_000, 0, 1);
    script.at(30_000, Probe(0), "ok");
    script.counts(30_000, 0, 0);
    script.at(100_000, Tick, "");
    assert_eq!(script.monitor.history().starts(), 0);
}

/// R13: the first start and the operator's do not count for the index.
#[test]
fn starts_of_others_do_not_count_for_the_waits() {
    let mut script = Script::new(Limits { restart_delay: delays(&[2, 50]), ..PLAIN });
    script.at(0, BEGIN, "");
    script.at(10_000, OPERATOR_RESTART, "restart for operator");
    script.at(11_000, Started, "");
    script.at(20_000, Died, "degraded (not running)");
    script.at(22_000, Tick, "restart");
}

/// R13: two starts are at least one second apart, whoever made the one before.
#[test]
fn two_starts_are_a_second_apart() {
    let mut script = Script::new(PLAIN);
    script.at(0, BEGIN, "");
    script.at(300, Died, "degraded (not running)");
    script.at(999, Tick, "");
    script.at(1_000, Tick, "restart");
    script.at(1_400, Started, "degraded");
    script.at(1_500, OPERATOR_RESTART, "");
    script.at(2_399, Tick, "");
    script.at(2_400, Tick, "restart for operator");
}

/// R13: a start that failed was a start.
#[test]
fn a_start_that_failed_keeps_its_distance_too() {
    let mut script = Script::new(Limits { failover_mode: FailoverMode::None, ..PLAIN });
    script.at(0, Probe(100), "restart, degraded");
    script.at(5_000, StartFails, "faulted (not running)"); // the stop took five seconds
    script.at(5_100, OPERATOR_RESTART, "");
    script.at(5_999, Tick, "");
    script.at(6_000, Tick, "restart for operator");
}

/// R13: nothing was started by a restart whose stop failed.
#[test]
fn a_stop_that_failed_is_no_start() {
    let mut script = Script::new(Limits { restart_delay: delays(&[0, 10, 50]), ..PLAIN });
    script.at(0, Probe(100), "restart, degraded");
    script.at(1_000, StopFails, "faulted");
    assert_eq!(script.monitor.history().starts(), 0);
    script.at(31_000, Tick, "restart");
    script.at(32_000, Started, "degraded");
    script.at(60_000, Died, "degraded (not running)");
    assert_eq!(script.monitor.waiting_for(), Waiting::Delay(ms(70_000)));
}

/// R13: we were killed in the middle of a restart and have adopted what came of it.
#[test]
fn a_start_whose_end_was_never_told_keeps_its_distance() {
    let mut script = Script::new(PLAIN);
    script.at(0, Died, "restart, degraded (not running)");
    script.at(100, ADOPT, "degraded");
    script.at(200, Died, "degraded (not running)");
    script.at(999, Tick, "");
    script.at(1_000, Tick, "restart");
}

/// R13: neither denial, clear nor a failed start empties the starts.
#[test]
fn neither_denial_nor_clear_nor_a_failed_start_makes_restarts_faster() {
    let mut script = Script::new(Limits { restart_delay: delays(&[0, 20, 40]), ..PLAIN });
    script.at(0, Died, "restart, degraded (not running)");
    script.at(1_000, StartFails, "giveover, faulted (not running)");
    script.at(1_000, DENIED, ""); // once per failure event
    script.at(2_000, Feed(Event::Clear), "");
    script.at(31_000, Tick, "degraded (not running)");
    assert_eq!(script.monitor.waiting_for(), Waiting::Delay(ms(51_000)));
}

/// R13: after a denial the index does not fall until a healthy cycle, though starts age out.
#[test]
fn after_a_denial_only_a_healthy_cycle_makes_restarts_fast_again() {
    let limits = Limits {
        restart_delay: delays(&[0, 20, 40]),
        retry_count: Some(1),
        retry_interval: Span::from_secs(60),
        ..PLAIN
    };
    for healthy in [false, true] {
        let mut script = Script::new(limits);
        script.at(0, Probe(100), "restart, degraded");
        script.at(0, Started, "");
        script.at(30_000, Probe(100), "giveover, faulted");
        script.at(30_000, DENIED, "");
        if healthy {
            script.at(60_000, Probe(0), "ok");
        }
        let at_ms = 200_000; // every start has aged out
        script.at(at_ms, Probe(100), if healthy { "restart, degraded" } else { "degraded" });
        if !healthy {
            assert_eq!(script.monitor.waiting_for(), Waiting::Delay(ms(at_ms + 20_000)));
        }
    }
}

/// R13: after a denial the index that does not fall goes up with every start.
#[test]
fn after_a_denial_every_start_makes_the_waits_longer_to_stay() {
    let limits = Limits {
        restart_delay: delays(&[0, 5, 40]),
        retry_count: Some(9),
        retry_interval: Span::from_secs(100),
        ..PLAIN
    };
    let mut script = Script::new(limits);
    script.at(0, Immediate, "giveover, faulted");
    script.at(0, DENIED, "");
    script.at(1_000, Died, "restart, degraded (not running)");
    script.at(1_000, Started, "degraded");
    for (at_ms, wait_ms) in [(10_000, 5_000), (20_000, 40_000), (400_000, 40_000)] {
        script.at(at_ms, Died, "degraded (not running)");
        assert_eq!(script.monitor.waiting_for(), Waiting::Delay(ms(at_ms + wait_ms)));
        script.at(at_ms + wait_ms, Tick, "restart");
        script.at(at_ms + wait_ms, Started, "degraded");
    }
}

/// R13: the index that does not fall is that of the starts live at the denial.
#[test]
fn starts_that_aged_out_before_the_denial_are_not_its_floor() {
    let limits = Limits {
        restart_delay: delays(&[0, 20]),
        retry_count: Some(1),
        retry_interval: Span::from_secs(60),
        ..PLAIN
    };
    let mut script = Script::new(limits);
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    script.at(30_000, Probe(100), "giveover, faulted");
    script.at(70_000, DENIED, "");
    script.at(100_000, Probe(100), "restart, degraded");
}

/// R13.
// req 0.15
#[test]
fn failed_probes_count_nothing_in_the_start_grace() {
    let mut script = Script::new(Limits {
        start_grace: Span::from_secs(45),
        thorough_probe_interval: Span::from_secs(15),
        ..PLAIN
    });
    script.at(0, Probe(100), "restart, degraded");
    script.at(1_000, Started, "");
    assert_eq!(script.monitor.grace_until(), Some(ms(46_000)));
    script.at(16_000, Probe(100), "");
    script.at(31_000, Immediate, "");
    script.at(45_999, Probe(50), "");
    script.counts(45_999, 0, 1);
    script.at(46_000, Probe(50), ""); // it has passed
    script.counts(46_000, 50, 1);
}

/// R13: until it has passed or the first healthy cycle.
#[test]
fn a_healthy_cycle_ends_the_start_grace() {
    let mut script = Script::new(Limits { start_grace: Span::from_secs(200), ..PLAIN });
    script.at(0, BEGIN, "");
    script.at(30_000, Probe(0), "ok");
    script.at(60_000, Probe(100), "restart, degraded");
}

/// A service that was adopted has not just been started.
#[test]
fn an_adopted_service_has_no_grace_and_no_distance_to_keep() {
    let mut script = Script::new(Limits { start_grace: Span::from_secs(200), ..PLAIN });
    script.at(0, ADOPT, "");
    script.at(10, Probe(100), "restart, degraded");
}

/// A monitor sleeps before its first probe, and from the end of each cycle.
// req 0.15 0.16 1.10 1.16
#[test]
fn a_cycle_begins_an_interval_after_the_end_of_the_one_before() {
    let mut script = Script::new(PLAIN);
    script.at(29_999, Tick, "");
    assert_eq!(script.monitor.probe_under_way(), None);
    script.at(30_000, Tick, "");
    assert!(script.monitor.probe_under_way().is_some());
    script.at(37_000, Probe(0), "ok");
    assert_eq!(script.monitor.waiting_for(), Waiting::Probe(ms(67_000)));
}

/// R15: a hold cancels a waiting restart; it leaves the budget again.
#[test]
fn a_hold_calls_a_waiting_restart_off() {
    for holder in [Holder::Operator, Holder::Need, Holder::HostBudget, Holder::LocalFault] {
        let mut script = Script::new(Limits { restart_delay: delays(&[60]), ..PLAIN });
        script.at(0, Probe(100), "degraded");
        script.counts(0, 0, 1);
        script.at(1_000, hold(holder), "");
        script.counts(1_000, 0, 0);
        script.at(2_000, release(holder), "");
        script.at(200_000, Tick, "");
    }
}
