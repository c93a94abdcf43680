use super::super::model::{HeldDoc, RecordDoc};
use super::super::sample;
use super::*;

#[test]
fn the_sentences_are_the_interfaces() {
    let expected = "\
web is degraded. Its check page got HTTP 503 at 14:01:02 where 200 or 204 is expected; that weighs
50, and 100 within 600s make a failure.
It was restarted once in the last 600s, at 13:58:02, after page 503 at 13:57:32 and 13:58:02.
If page fails again at 14:01:32: restart 2 of 2, after a delay of 5s. If that does not hold either,
before 14:08:02: nobody can take it over, so it stays faulted until the budget refills at 14:08:02.
If page is healthy: ok; the 50 is forgotten at 14:11:02.
Nothing stands in the way: no hold, no needs, host budget 1 of 20, trusted 2 of 2, not observing.
";
    assert_eq!(text(&sample::watched(), &sample::web(), &sample::history()), expected);
}

#[test]
fn without_a_history_the_failures_are_counted() {
    let text = text(&sample::watched(), &sample::web(), &[]);
    assert!(text.contains("at 13:58:02, after page 503 twice.\n"), "{text}");
}

#[test]
fn everything_in_the_way_is_named_and_nothing_is_promised() {
    let mut doc = sample::watched();
    doc.host.observe = true;
    doc.host.actions.spent = 20;
    doc.host.actions.frees_in_ms = Some(60_000);
    let service = ServiceDoc {
        held: Some(sample::until("16:00:00")),
        unmet: vec!["uplink".into()],
        grace_ms: Some(20_000),
        ..sample::web()
    };
    let text = text(&doc, &service, &[]).replace('\n', " ");
    for part in [
        "In the way: held by ops until 16:00 (\"broker upgrade\"); ",
        "it needs uplink, which is not ok; ",
        "observing: nothing is acted on; ",
        "host budget 20 of 20 until 14:02:16; ",
        "start grace for 20s more",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("If page fails"));
}

#[test]
fn a_spent_budget_is_in_the_way_and_says_when_it_refills() {
    let held = HeldDoc {
        by: "budget".into(),
        until: Some(sample::today("14:08:02")),
        ..HeldDoc::default()
    };
    let service = ServiceDoc { held: Some(held), ..sample::web() };
    let text = text(&sample::watched(), &service, &[]);
    assert!(text.contains("In the way: budget spent until 14:08:02."), "{text}");
}

#[test]
fn a_service_with_a_way_out_says_where_it_goes() {
    let service = ServiceDoc { giveover: "command".into(), ..sample::web() };
    let text = text(&sample::watched(), &service, &[]).replace('\n', " ");
    assert!(
        text.contains(
            "If that does not hold either, before 14:08:02: it is stopped here and given over \
                 by giveover.command."
        ),
        "{text}"
    );
}

#[test]
fn other_standings_have_sentences_too() {
    let explain = |service: ServiceDoc| text(&sample::watched(), &service, &[]).replace('\n', " ");
    let unknown =
        ServiceDoc { name: "db".into(), status: "unknown".into(), ..ServiceDoc::default() };
    assert!(explain(unknown).starts_with("db is unknown. It has not been probed yet. "));
    let dead = ServiceDoc {
        message: phrase::NOT_RUNNING.into(),
        waiting_for: "restart".into(),
        checks: Vec::new(),
        ..sample::web()
    };
    let text = explain(dead);
    assert!(text.contains("Its process is gone, which is a complete failure."), "{text}");
    assert!(text.contains("Next: restarting."), "{text}");
    let fresh = ServiceDoc { restarts: 0, restart_records: Vec::new(), ..sample::web() };
    let text = explain(fresh);
    assert!(text.contains("It was not restarted in the last 600s."), "{text}");
    assert!(text.contains("If that does not hold: one more, up to 2 in the window."), "{text}");
}

/// It is charged when it is decided, but who reads "restarted" thinks it was done.
#[test]
fn a_restart_that_waits_has_not_been_made() {
    let service = ServiceDoc { waiting_for: "delay".into(), ..sample::web() };
    let text = text(&sample::watched(), &service, &[]).replace('\n', " ");
    let said = "It was not restarted in the last 600s. A restart decided at 13:58:02, after";
    assert!(text.contains(said), "{text}");
    assert!(text.contains(", is still to come."), "{text}");
}

#[test]
fn a_death_is_no_failure_of_a_check() {
    let died = RecordDoc {
        cause: "died: signal 9 (KILL)".into(),
        ..sample::web().restart_records[0].clone()
    };
    let service = ServiceDoc { restart_records: vec![died], ..sample::web() };
    let text = text(&sample::watched(), &service, &sample::history());
    assert!(text.contains("at 13:58:02, after it died: signal 9 (KILL).\n"), "{text}");
}

/// Failures of another cause stood between: no time is better than a wrong one.
#[test]
fn times_that_do_not_fit_are_left_out() {
    let mut history = sample::history();
    history[1].text = "site 500, expected 200, weight 50 (sum 100 of 100)".into();
    let text = text(&sample::watched(), &sample::web(), &history);
    assert!(text.contains("at 13:58:02, after page 503 twice.\n"), "{text}");
}

#[test]
fn a_stopped_service_says_how_to_start_it() {
    let service = ServiceDoc {
        status: "offline".into(),
        message: phrase::NOT_RUNNING.into(),
        detail: "stopped on purpose".into(),
        waiting_for: "stopped".into(),
        checks: Vec::new(),
        ..sample::web()
    };
    let text = text(&sample::watched(), &service, &[]);
    assert!(text.starts_with("web is offline. Stopped on purpose.\n"), "{text}");
    assert!(text.ends_with("until it is started: giveover start web.\n"), "{text}");
}
