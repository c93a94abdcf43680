//! R17, R18 and R21: what is told, and what cannot be measured.

use giveover_core::monitor::{Message, Status, Waiting};
use giveover_core::policy::{FailoverMode, Limits};

use crate::script::*;

/// R18.
// req 0.8
#[test]
fn only_a_change_of_status_or_message_is_announced() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(0), "ok");
    script.at(30_000, Probe(0), "");
    script.at(60_000, Probe(20), "degraded");
    script.at(90_000, Probe(20), "");
    script.at(91_000, Died, "restart, degraded (not running)");
    script.at(92_000, Started, "degraded");
    script.at(122_000, Probe(0), "ok");
}

/// The texts of the source documents.
// req 1.12 1.19 1.29 1.32
#[test]
fn the_four_texts_are_those_of_the_documents() {
    let texts = [
        (Message::None, ""),
        (Message::Online, "Service is online"),
        (Message::Degraded, "Service is degraded"),
        (Message::Failed, "Service has failed"),
        (Message::NotRunning, "Service daemon not running"),
    ];
    for (message, text) in texts {
        assert_eq!(message.text(), text);
    }
}

/// R21: counts nothing, and the status stays; after the window it is degraded.
#[test]
fn what_cannot_be_measured_counts_nothing_and_is_degraded_after_the_window() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(0), "ok");
    script.at(30_000, CannotMeasure, "");
    assert_eq!(script.monitor.unmeasured_since(), Some(ms(30_000)));
    script.at(329_999, CannotMeasure, "");
    script.at(330_000, CannotMeasure, "degraded");
    script.counts(330_000, 0, 0);
    script.at(360_000, Probe(0), "ok");
    assert_eq!(script.monitor.unmeasured_since(), None);
}

/// R21: a failure between two that could not be measured begins the time anew.
#[test]
fn a_measured_failure_ends_the_time_without_measurement() {
    let mut script = Script::new(PLAIN);
    script.at(0, CannotMeasure, "");
    script.at(30_000, Probe(10), "degraded");
    script.at(60_000, CannotMeasure, "");
    assert_eq!(script.monitor.unmeasured_since(), Some(ms(60_000)));
}

/// R21, R11: nothing measured neither softens nor ends `faulted`.
#[test]
fn faulted_stays_faulted_while_nothing_can_be_measured() {
    let limits = Limits { retry_count: Some(0), failover_mode: FailoverMode::RestartOnly, ..PLAIN };
    let mut script = Script::new(limits);
    script.at(0, Probe(100), "budget spent, faulted");
    for minute in 1..10 {
        script.at(minute * 60_000, CannotMeasure, "");
    }
    assert_eq!(script.monitor.status(), Status::Faulted);
}

/// R21: we were not running: it is neither a failure nor proof of health, and is tried anew.
#[test]
fn a_void_probe_changes_nothing_and_is_repeated_at_once() {
    let mut script = Script::new(PLAIN);
    script.at(0, Probe(50), "degraded");
    script.at(30_000, Tick, "");
    let before = script.monitor.history().clone();
    script.at(95_000, Void, "");
    assert!(before.failures().eq(script.monitor.history().failures()));
    assert_eq!(script.monitor.status(), Status::Degraded);
    assert_eq!(script.monitor.waiting_for(), Waiting::Probe(ms(95_000)));
    script.at(95_000, Tick, "");
    assert!(script.monitor.probe_under_way().is_some());
}

/// R21, R13: nothing measured calls no restart off.
#[test]
fn a_waiting_restart_is_not_called_off_by_what_proves_nothing() {
    use giveover_core::policy::Delays;
    use giveover_core::time::Span;
    let restart_delay = Delays::new(&[Span::from_secs(60)]).expect("few");
    let mut script = Script::new(Limits { restart_delay, ..PLAIN });
    script.at(0, Probe(100), "degraded");
    script.at(30_000, CannotMeasure, "");
    script.at(40_000, Void, "");
    script.at(60_000, Tick, "restart");
}

/// R21: a death and an immediate result are seen, not unmeasured.
#[test]
fn whatever_is_seen_ends_the_time_without_measurement() {
    for seen in [Died, Immediate, Probe(0), Probe(1), BEGIN] {
        let mut script = Script::new(PLAIN);
        script.at(0, CannotMeasure, "");
        assert_eq!(script.monitor.unmeasured_since(), Some(ms(0)));
        let said = match seen {
            Died => "restart, degraded (not running)",
            Immediate => "giveover, faulted",
            Probe(0) => "ok",
            Probe(_) => "degraded",
            _ => "",
        };
        script.at(30_000, seen, said);
        assert_eq!(script.monitor.unmeasured_since(), None, "{seen:?}");
    }
}
