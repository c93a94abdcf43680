//! R7: what a start or a stop that fails leads to.

use giveover_core::failure::Phase;
use giveover_core::monitor::{Origin, Waiting};
use giveover_core::policy::{FailoverMode, Limits};

use crate::script::*;

const NONE: Limits = Limits { failover_mode: FailoverMode::None, ..PLAIN };
const HARD: Limits = Limits { failover_mode: FailoverMode::Hard, ..PLAIN };
const RESTART_ONLY: Limits = Limits { failover_mode: FailoverMode::RestartOnly, ..PLAIN };

/// R7, and R4: the restart that failed leaves the budget.
#[test]
fn a_start_that_fails_asks_for_giveover_at_once_under_soft_and_hard() {
    for limits in [PLAIN, HARD] {
        let mut script = Script::new(limits);
        script.at(0, Probe(100), "restart, degraded");
        script.counts(0, 0, 1);
        script.at(5_000, StartFails, "giveover, faulted (not running)");
        script.counts(5_000, 0, 0);
    }
}

/// R7, and R4: the restart that failed stays in the budget.
#[test]
fn a_start_that_fails_is_faulted_where_it_asks_for_nothing() {
    for limits in [NONE, RESTART_ONLY] {
        let mut script = Script::new(limits);
        script.at(0, Probe(100), "restart, degraded");
        script.at(5_000, StartFails, "faulted (not running)");
        script.counts(5_000, 0, 1);
    }
}

/// R7: once per failure event. The failure is the death; the request it led to was denied.
#[test]
fn a_failure_event_asks_only_once() {
    let mut script = Script::new(Limits { retry_count: Some(0), ..PLAIN });
    script.at(0, Died, "giveover, faulted (not running)");
    script.at(0, DENIED, "restart, degraded (not running)");
    script.at(5_000, StartFails, "faulted (not running)");
    script.at(34_999, Tick, "");
    script.at(35_000, Tick, "giveover"); // the next cycle of a dead process is another event
}

/// R10 beside R7: what keeps counting is why it does not run, the start that failed.
#[test]
fn the_cycles_after_a_failed_start_have_its_cause() {
    let mut script = Script::new(NONE);
    script.at(0, Died, "restart, degraded (not running)");
    script.at(1_000, StartFails, "faulted (not running)");
    script.at(31_000, Tick, "restart, degraded (not running)");
    let total = |phase| script.monitor.history().total(phase);
    assert_eq!((total(Phase::Died), total(Phase::Start)), (1, 1));
}

/// R7: nothing is started or handed over while the old instance is not proven gone.
#[test]
fn a_stop_that_fails_is_tried_again_each_cycle_and_nothing_is_handed_over() {
    for limits in [PLAIN, NONE, RESTART_ONLY] {
        let mut script = Script::new(limits);
        script.at(0, Probe(100), "restart, degraded");
        script.at(5_000, StopFails, "faulted");
        assert_eq!(script.monitor.waiting_for(), Waiting::StopAgain(ms(35_000)));
        script.at(6_000, OPERATOR_GIVEOVER, "");
        script.at(34_999, Tick, "");
        script.at(35_000, Tick, "restart");
        script.at(40_000, StopFails, "");
        script.at(70_000, Tick, "restart");
        script.counts(70_000, 0, 1); // one restart, however often the stop is tried
        script.at(71_000, Started, "degraded");
    }
}

/// R7.
#[test]
fn a_stop_that_fails_asks_for_a_reset_of_the_node_under_hard_only() {
    let mut script = Script::new(HARD);
    script.at(0, Probe(100), "restart, degraded");
    script.at(5_000, StopFails, "reset, faulted");
    script.at(35_000, Tick, "restart");
    script.at(36_000, StopFails, "reset"); // the budget of R20 is the driver's
}

/// R7.
#[test]
fn a_restart_the_operator_asked_for_never_asks_for_giveover() {
    let mut script = Script::new(Limits { retry_count: Some(0), ..PLAIN });
    script.at(0, Probe(0), "ok");
    script.at(10_000, OPERATOR_RESTART, "restart for operator");
    script.at(11_000, StartFails, "faulted (not running)");
    script.counts(11_000, 0, 0);
    script.at(41_000, Tick, "giveover"); // the dead process is a failure of its own
}

/// R7: `validate` refused it, the service is untouched.
#[test]
fn a_restart_that_validation_refuses_leaves_the_service_as_it_is() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(0), "ok");
    script.at(10_000, OPERATOR_RESTART, "restart for operator");
    script.at(11_000, Invalid, "");
    assert!(!script.monitor.is_dead());
    script.at(41_000, Probe(100), "restart, degraded");
    script.at(42_000, Invalid, "giveover, faulted");
    script.at(42_000, DENIED, "");
    script.at(72_000, Probe(0), "ok");
}

/// A process that ends while its restart is still being validated is dead all the same.
#[test]
fn a_death_before_the_stop_is_known_when_validation_refuses() {
    let mut script = Script::new(NONE);
    script.at(0, Probe(100), "restart, degraded");
    script.at(1_000, Died, "degraded (not running)");
    script.at(2_000, Invalid, "faulted (not running)");
    assert_eq!(script.monitor.waiting_for(), Waiting::DeadCycle(ms(32_000)));
    script.at(32_000, Tick, "restart, degraded (not running)");
    script.at(33_000, Started, "degraded");
}

/// R15 beside R7: the hold came while the restart was being carried out.
#[test]
fn under_a_hold_a_stop_that_fails_resets_nothing() {
    use giveover_core::monitor::Holder;
    let mut script = Script::new(HARD);
    script.at(0, Probe(100), "restart, degraded");
    script.at(1_000, hold(Holder::Operator), "");
    script.at(5_000, StopFails, "faulted");
    script.at(600_000, Tick, "");
    assert_eq!(script.monitor.restart_under_way(), None);
}

/// The driver of a machine put together again can ask what it had under way.
#[test]
fn a_restart_under_way_says_whose_it_is() {
    let mut script = Script::new(PLAIN);
    script.at(0, Died, "restart, degraded (not running)");
    let (_, origin) = script.monitor.restart_under_way().expect("under way");
    assert_eq!(origin, Origin::Monitor);
    assert_eq!(script.monitor.waiting_for(), Waiting::Restart);
}
