//! R14, R15 and R16: what keeps a monitor from acting, and what it does when it is released.

use giveover_core::failure::Phase;
use giveover_core::monitor::{Event, Holder, Status, Waiting};
use giveover_core::policy::{Delays, Destination, Limits, Scope};
use giveover_core::time::Span;

use crate::script::*;

const AT_ONCE: Limits = Limits { retry_count: Some(0), ..PLAIN };

/// Holders that keep deaths from counting too.
const FULL: [Holder; 4] = [Holder::Operator, Holder::Need, Holder::HostBudget, Holder::Unproven];

fn slow() -> Limits {
    let delays = Delays::new(&[Span::from_secs(60)]).expect("few");
    Limits { restart_delay: delays, ..PLAIN }
}

/// R14, R15, R16.
#[test]
fn a_held_monitor_probes_and_reports_but_counts_nothing() {
    for holder in Holder::ALL {
        let mut script = Script::new(PLAIN);
        script.at(0, Probe(0), "ok");
        script.at(1_000, hold(holder), "");
        script.at(30_000, Probe(100), "degraded");
        script.at(60_000, Immediate, "");
        script.at(90_000, Probe(0), "ok");
        script.counts(90_000, 0, 0);
        script.at(91_000, release(holder), "");
        script.at(120_000, Probe(100), "restart, degraded");
    }
}

/// R14, R15.
#[test]
fn a_process_that_died_meanwhile_is_a_failure_at_the_release() {
    for holder in FULL {
        let mut script = Script::new(PLAIN);
        script.at(0, hold(holder), "");
        script.at(1_000, Died, "faulted (not running)");
        script.at(500_000, Tick, "");
        script.at(600_000, release(holder), "restart, degraded (not running)");
        script.counts(600_000, 0, 1);
    }
}

/// Each holder holds and releases for itself.
#[test]
fn the_last_holder_to_release_sets_it_free() {
    let mut script = Script::new(PLAIN);
    script.at(0, hold(Holder::Operator), "");
    script.at(1_000, hold(Holder::Need), "");
    script.at(2_000, Died, "faulted (not running)");
    script.at(3_000, release(Holder::Operator), "");
    assert!(script.monitor.held_by(Holder::Need) && !script.monitor.held_by(Holder::Operator));
    script.at(4_000, release(Holder::Operator), "");
    script.at(5_000, release(Holder::Need), "restart, degraded (not running)");
}

/// R15.
#[test]
fn a_hold_takes_effect_after_a_start_in_progress() {
    let mut script = Script::new(PLAIN);
    script.at(0, Died, "restart, degraded (not running)");
    script.at(1_000, hold(Holder::Operator), "");
    script.at(5_000, Started, "degraded");
    script.counts(5_000, 0, 1);
    script.at(35_000, Probe(100), "");
    script.counts(35_000, 0, 1);
}

/// R15: and a start in progress that fails asks nobody, and is not repeated before the release.
#[test]
fn a_start_that_fails_under_a_hold_waits_for_the_release() {
    let mut script = Script::new(PLAIN);
    script.at(0, Died, "restart, degraded (not running)");
    script.at(1_000, hold(Holder::Operator), "");
    script.at(5_000, StartFails, "faulted (not running)");
    script.at(200_000, Tick, "");
    script.at(201_000, release(Holder::Operator), "restart, degraded (not running)");
}

/// R15, R14: the answer of a request that was withdrawn comes late. R16: one under way when the
/// host's budget is spent is not withdrawn.
#[test]
fn a_hold_withdraws_an_unanswered_request() {
    for holder in [Holder::Operator, Holder::Need, Holder::LocalFault] {
        let mut script = Script::new(AT_ONCE);
        script.at(0, Probe(100), "giveover, faulted");
        script.at(1_000, hold(holder), "cancel");
        script.at(2_000, GRANTED, "");
        assert_eq!(script.monitor.giveover_under_way(), None);
        assert_eq!(script.monitor.waiting_for(), Waiting::Probe(ms(31_000)));

        let mut script = Script::new(AT_ONCE);
        script.at(0, Probe(100), "giveover, faulted");
        script.at(0, NOT_NOW, "");
        script.at(1_000, hold(holder), "");
        script.at(29_999, Tick, "");
    }
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(1_000, hold(Holder::HostBudget), "");
    script.at(2_000, GRANTED, "");
    assert_eq!(script.monitor.waiting_for(), Waiting::GivenOver);
}

/// R15: the stop is not tried again under a hold.
#[test]
fn a_hold_ends_the_repeated_stop() {
    for holder in FULL {
        let mut script = Script::new(PLAIN);
        script.at(0, Probe(100), "restart, degraded");
        script.at(1_000, StopFails, "faulted");
        script.at(2_000, hold(holder), "");
        script.counts(2_000, 0, 0); // called off
        script.at(600_000, Probe(0), "ok");
    }
}

/// R16: but not under a local fault: what has been half stopped is no longer a matter of probes.
#[test]
fn a_local_fault_does_not_end_the_repeated_stop() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(100), "restart, degraded");
    script.at(1_000, StopFails, "faulted");
    script.at(2_000, hold(Holder::LocalFault), "");
    script.at(31_000, Tick, "restart");
}

/// Whatever ends under a hold: a dead process is left as it lies until the release.
#[test]
fn a_dead_process_that_is_held_is_left_as_it_lies_whatever_is_answered() {
    let board = Scope { destination: Destination::Board, ..ANYTHING };
    let asked_in_person = [DENIED, NOT_NOW];
    for answer in asked_in_person {
        let mut script = Script::new(PLAIN);
        script.at(0, hold(Holder::Operator), "");
        script.at(1_000, Died, "faulted (not running)");
        script.at(2_000, OPERATOR_GIVEOVER, "giveover");
        script.at(3_000, answer, "");
        assert_eq!(script.monitor.waiting_for(), Waiting::Release);
        script.at(600_000, Tick, "");
    }
    for (answer, expected) in [(DENIED, "budget spent"), (NOT_NOW, ""), (GRANTED, "")] {
        let mut script = Script::with_scope(AT_ONCE, board);
        script.at(0, Died, "giveover, faulted (not running)");
        script.at(1_000, hold(Holder::HostBudget), "");
        script.at(2_000, answer, expected);
        assert_eq!(script.monitor.waiting_for(), Waiting::Release);
        script.at(600_000, Tick, "");
        script.at(600_000, release(Holder::HostBudget), "giveover");
    }
    let mut script = Script::new(AT_ONCE);
    script.at(0, Died, "giveover, faulted (not running)");
    script.at(1_000, hold(Holder::HostBudget), "");
    script.at(2_000, DENIED, "");
    script.at(600_000, Tick, "");
    assert_eq!(script.monitor.waiting_for(), Waiting::Release);
}

/// R8 under a hold: stopped, started nowhere, and not started here before the release.
#[test]
fn an_aborted_giveover_under_a_hold_waits_for_the_release() {
    let mut script = Script::new(AT_ONCE);
    script.at(0, Probe(100), "giveover, faulted");
    script.at(1_000, GRANTED, "");
    script.at(2_000, hold(Holder::Operator), "");
    script.at(3_000, ABORTED_STOPPED, "faulted (not running)");
    script.at(600_000, Tick, "");
    script.at(600_001, release(Holder::Operator), "giveover");
    let total = |phase| script.monitor.history().total(phase);
    assert_eq!((total(Phase::Start), total(Phase::Died)), (1, 0), "why it does not run");
}

/// R16: under a local fault failed probes count nothing, deaths still do.
#[test]
fn a_local_fault_spares_deaths() {
    let mut script = Script::new(PLAIN);
    script.at(0, hold(Holder::LocalFault), "");
    script.at(30_000, Probe(100), "degraded");
    script.at(31_000, Died, "restart, degraded (not running)");
    script.at(31_500, Started, "degraded");
    script.at(61_500, Probe(100), "");
    script.counts(61_500, 0, 1);
}

/// R16: a restart that waits because a process is dead is made all the same, one that waits
/// because of failed probes is not.
#[test]
fn a_local_fault_calls_off_only_what_failed_probes_led_to() {
    let mut script = Script::new(slow());
    script.at(0, Died, "degraded (not running)");
    script.at(1_000, hold(Holder::LocalFault), "");
    script.at(60_000, Tick, "restart");

    let mut script = Script::new(slow());
    script.at(0, Probe(100), "degraded");
    script.at(1_000, hold(Holder::LocalFault), "");
    script.at(60_000, Tick, "");

    // It dies while the restart waits, before the fault is known: the restart is for both.
    let mut script = Script::new(slow());
    script.at(0, Probe(100), "degraded");
    script.at(500, Died, "degraded (not running)");
    script.at(1_000, hold(Holder::LocalFault), "");
    script.at(60_000, Tick, "restart");
}

/// What a person asked for only a person's hold calls off.
#[test]
fn an_operators_waiting_restart_is_called_off_by_the_operator_only() {
    for holder in Holder::ALL {
        let mut script = Script::new(PLAIN);
        script.at(0, BEGIN, "");
        script.at(500, OPERATOR_RESTART, "");
        script.at(600, hold(holder), "");
        let by_person = holder == Holder::Operator;
        script.at(1_000, Tick, if by_person { "" } else { "restart for operator" });
    }
}

/// R15: an operator can restart what is held; it is not charged.
#[test]
fn an_operator_may_restart_what_is_held() {
    let mut script = Script::new(PLAIN);
    script.at(0, hold(Holder::Operator), "");
    script.at(1_000, Died, "faulted (not running)");
    script.at(2_000, OPERATOR_RESTART, "restart for operator");
    script.at(3_000, Started, "degraded");
    script.counts(3_000, 0, 0);
    assert!(script.monitor.held_by(Holder::Operator));
}

/// R15.
#[test]
fn an_operators_restart_is_not_charged_and_takes_the_place_of_a_waiting_one() {
    let mut script = Script::new(slow());
    script.at(0, Died, "degraded (not running)");
    script.counts(0, 0, 1);
    script.at(1_000, OPERATOR_RESTART, "restart for operator");
    script.counts(1_000, 0, 0);
    assert_eq!(script.monitor.history().starts(), 0);
    script.at(2_000, Started, "degraded");
    script.at(200_000, Tick, "");
}

/// R15.
#[test]
fn clear_empties_failures_and_restarts() {
    let mut script = Script::new(Limits { retry_count: Some(1), ..PLAIN });
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    script.at(30_000, Probe(99), "");
    script.at(31_000, Feed(Event::Clear), "");
    script.counts(31_000, 0, 0);
    script.at(60_000, Probe(99), "");
    script.at(90_000, Probe(1), "restart");
}

/// R15: `monitor stop` and `monitor start`, while the service runs on.
// req 0.3
#[test]
fn a_monitor_that_ends_does_nothing_until_it_begins_again() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(100), "restart, degraded");
    script.at(0, Started, "");
    script.at(1_000, Feed(Event::End), "unknown");
    script.at(2_000, Died, "");
    script.at(3_000, OPERATOR_RESTART, "");
    script.at(900_000, Tick, "");
    script.at(900_000, ADOPT, "");
    script.at(930_000, Probe(0), "ok");
}

/// A monitor that ends withdraws what it asked for.
#[test]
fn a_monitor_that_ends_leaves_nothing_under_way() {
    for last in [Event::End, Event::Stopped] {
        let said = if last == Event::End { "unknown" } else { "offline" };
        let mut script = Script::new(AT_ONCE);
        script.at(0, Probe(100), "giveover, faulted");
        script.at(1_000, Feed(last), &format!("cancel, {said}"));
        script.at(2_000, GRANTED, "");
        let mut script = Script::new(slow());
        script.at(0, Probe(100), "degraded");
        script.at(1_000, Feed(last), said);
        script.counts(1_000, 0, 0);
        script.at(900_000, Tick, "");
    }
}

/// The service does not run, so its monitor cannot end while it runs on.
#[test]
fn a_stopped_service_stays_offline_when_its_monitor_is_told_to_end() {
    let mut script = Script::new(PLAIN);
    script.at(0, Feed(Event::Stopped), "offline");
    script.at(1_000, Feed(Event::End), "");
    assert_eq!(script.monitor.status(), Status::Offline);
}
