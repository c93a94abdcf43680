//! R10: the process ends though nobody asked for it.

use giveover_core::monitor::{Event, Holder, Status, Waiting};
use giveover_core::policy::{Delays, FailoverMode, Limits};
use giveover_core::time::Span;

use crate::script::*;

const RESTART_ONLY: Limits =
    Limits { retry_count: Some(1), failover_mode: FailoverMode::RestartOnly, ..PLAIN };

/// R10: heard at once, in the middle of a sleep.
// req 0.7 1.9 1.11 1.12 1.13
#[test]
fn death_is_a_complete_failure_at_once() {
    let mut script = Script::new(PLAIN);
    script.at(7, Died, "restart, degraded (not running)");
    assert_eq!(script.monitor.message().text(), "Service daemon not running");
    script.counts(7, 0, 1);
    script.at(900, Started, "degraded");
    assert_eq!(script.monitor.message().text(), "Service is degraded");
}

/// R10: death under every mode.
// req 1.9 1.13
#[test]
fn death_under_every_mode() {
    for mode in FailoverMode::ALL {
        let mut script = Script::new(Limits { failover_mode: mode, ..PLAIN });
        let expected = match mode {
            FailoverMode::LogOnly => "log, faulted (not running)",
            _ => "restart, degraded (not running)",
        };
        script.at(0, Died, expected);
        let mut script = Script::new(Limits { failover_mode: mode, retry_count: Some(0), ..PLAIN });
        let expected = match mode {
            FailoverMode::LogOnly => "log, faulted (not running)",
            FailoverMode::RestartOnly => "budget spent, faulted (not running)",
            _ => "giveover, faulted (not running)",
        };
        script.at(0, Died, expected);
    }
}

/// R10: one outage, one failure; the probe saw it too.
#[test]
fn a_probe_that_sees_the_same_outage_counts_nothing() {
    let mut script = Script::new(PLAIN);
    script.at(30_000, Tick, "");
    let ticket = script.monitor.probe_under_way().expect("due");
    script.at(30_001, Died, "restart, degraded (not running)");
    let seen =
        giveover_core::failure::ProbeResult::Failed(giveover_core::weight::Weight::COMPLETE, CAUSE);
    script.at(30_002, Feed(Event::Probed { ticket, result: seen }), "");
    script.at(30_003, Started, "degraded");
    script.at(30_004, Feed(Event::Probed { ticket, result: seen }), "");
    script.counts(30_004, 0, 1);
}

/// R10: a probe of before the decision says nothing while its restart waits, healthy or not.
#[test]
fn a_probe_of_before_the_decision_does_not_call_it_off() {
    let healthy = giveover_core::failure::ProbeResult::Healthy;
    let mut script = Script::new(PLAIN);
    script.at(0, BEGIN, "");
    script.at(300, Feed(Event::ProbeNow), "");
    let ticket = script.monitor.probe_under_way().expect("just begun");
    script.at(500, OPERATOR_RESTART, "");
    script.at(600, Feed(Event::Probed { ticket, result: healthy }), "");
    assert_eq!(script.monitor.status(), Status::Unknown);
    script.at(1_000, Tick, "restart for operator");
}

/// R10: the generation advances when a restart is decided, before the stop.
#[test]
fn the_generation_advances_when_a_restart_is_decided() {
    let delays = Delays::new(&[Span::from_secs(40)]).expect("few");
    let mut script = Script::new(Limits { restart_delay: delays, ..PLAIN });
    let before = script.monitor.generation();
    script.at(0, Probe(100), "degraded");
    assert_eq!(script.monitor.generation(), before + 1);
    script.at(40_000, Tick, "restart");
    assert_eq!(script.monitor.generation(), before + 1);
}

/// R10: and a second report of the same death.
#[test]
fn a_process_dies_only_once() {
    let mut script = Script::new(RESTART_ONLY);
    script.at(0, Died, "restart, degraded (not running)");
    script.at(10, Started, "degraded");
    script.at(5_000, Died, "budget spent, faulted (not running)");
    script.at(6_000, Died, "");
}

/// R10: while it is dead and nothing is pending, each interval is a cycle of weight 100.
#[test]
fn a_dead_process_is_a_cycle_of_100_each_interval_and_no_probe_heals_it() {
    let mut script = Script::new(RESTART_ONLY);
    script.at(0, Died, "restart, degraded (not running)");
    script.at(10, Started, "degraded");
    script.at(5_000, Died, "budget spent, faulted (not running)");
    assert_eq!(script.monitor.waiting_for(), Waiting::DeadCycle(ms(35_000)));
    script.at(20_000, Feed(Event::ProbeNow), "");
    assert_eq!(script.monitor.probe_under_way(), None);
    script.at(34_999, Tick, "");
    script.at(35_000, Tick, "budget spent");
    script.at(65_000, Tick, "budget spent");
    script.at(299_999, Tick, ["budget spent"; 7].join(", ").as_str());
    // The restart of 0 s is older than the window at the cycle of 305 s.
    script.at(305_000, Tick, "restart, degraded (not running)");
}

/// R10 under log_only: it is written down each interval, and never acted on.
#[test]
fn a_dead_process_under_log_only_is_logged_each_interval() {
    let mut script = Script::new(Limits { failover_mode: FailoverMode::LogOnly, ..PLAIN });
    script.at(0, Died, "log, faulted (not running)");
    script.at(30_000, Tick, "log");
    script.at(60_000, Tick, "log");
}

/// R13: the start grace spares failed probes, not a death.
#[test]
fn death_counts_in_the_start_grace() {
    let mut script = Script::new(Limits { start_grace: Span::from_secs(60), ..PLAIN });
    script.at(0, BEGIN, "");
    script.at(30_000, Probe(100), "");
    script.at(31_000, Died, "restart, degraded (not running)");
}

/// A death is reported while a hold keeps it from counting, and counts at the release.
#[test]
fn a_death_under_a_hold_is_shown_and_counts_when_released() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(0), "ok");
    script.at(1_000, hold(Holder::Operator), "");
    script.at(2_000, Died, "faulted (not running)");
    script.counts(2_000, 0, 0);
    script.at(900_000, Tick, "");
    assert_eq!(script.monitor.waiting_for(), Waiting::Release);
    script.at(900_001, release(Holder::Operator), "restart, degraded (not running)");
}

/// What comes of an instance that was stopped on purpose is nothing.
#[test]
fn a_death_after_the_service_was_stopped_is_nothing() {
    let mut script = Script::new(PLAIN);
    script.at(0, Feed(Event::Stopped), "offline");
    script.at(1_000, Died, "");
    assert!(!script.monitor.is_dead());
    assert_eq!(script.monitor.status(), Status::Offline);
    assert_eq!(script.monitor.message().text(), "Service daemon not running");
}

/// Another supervisor was faster: one restart in the budget, none by us.
#[test]
fn a_service_that_others_healed_is_charged_and_left_alone() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(50), "degraded");
    script.at(10_000, Feed(Event::Healed), "");
    script.counts(10_000, 0, 1);
    assert_eq!(script.monitor.history().evidence().1, 50);
    script.at(40_000, Probe(0), "ok");
    script.at(60_000, Probe(20), "degraded");
    script.at(400_000, Feed(Event::Healed), "");
    assert_eq!(script.monitor.history().evidence().1, 50, "the 20 had aged out");
}

/// They healed it while our own restart still waited: ours is called off.
#[test]
fn a_waiting_restart_is_called_off_when_others_heal_the_service() {
    let delays = Delays::new(&[Span::from_secs(40)]).expect("few");
    let mut script = Script::new(Limits { restart_delay: delays, ..PLAIN });
    script.at(0, Died, "degraded (not running)");
    script.at(10_000, Feed(Event::Healed), "degraded");
    script.counts(10_000, 0, 1);
    script.at(40_000, Probe(0), "ok");
    script.at(60_000, Tick, "");
}

/// They healed it while it was not now: its cycles go on, and a healthy one cancels.
#[test]
fn a_service_healed_while_it_is_not_now_is_probed_again() {
    let mut script = Script::new(Limits {
        retry_count: Some(0),
        thorough_probe_interval: Span::from_secs(5),
        ..PLAIN
    });
    script.at(0, Died, "giveover, faulted (not running)");
    script.at(0, NOT_NOW, "");
    script.at(1_000, Feed(Event::Healed), "degraded");
    script.at(6_000, Tick, "");
    assert!(script.monitor.probe_under_way().is_some());
    script.at(6_100, Probe(0), "ok");
    script.at(60_000, Tick, "");
}
