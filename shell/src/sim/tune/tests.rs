use super::*;
use crate::machine;
use crate::sim::replay::Recorded;
use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{Action, Event, RestartOutcome};
use giveover_core::time::Instant;

/// Probes each 10 s: `.` healthy, `o` half, `x` complete, `D` a death.
fn recorded(signs: &str) -> Recorded {
    let limits = Limits {
        thorough_probe_interval: Span::from_secs(10),
        retry_count: Some(3),
        retry_interval: Span::from_secs(300),
        start_grace: Span::ZERO,
        restart_delay: giveover_core::policy::Delays::NONE,
        ..Limits::DEFAULT
    };
    let scope = Scope { smallest: Weight::LEAST, ..Scope::USUAL };
    let policy = Policy::new(limits, scope).expect("possible").0;
    let zero = Instant::default();
    let start = machine::boxed(policy, zero);
    let mut monitor = start.clone();
    let mut events = Vec::new();
    let mut feed = |event: Event, at: Instant, monitor: &mut machine::BoxedMonitor| {
        events.push((at, event));
        let mut actions: Vec<Action> = monitor.handle(event, at).into_iter().collect();
        while let Some(action) = actions.pop() {
            if let Action::Restart { ticket, .. } = action {
                let event = Event::RestartDone { ticket, outcome: RestartOutcome::Started };
                events.push((at, event));
                actions.extend(monitor.handle(event, at));
            }
        }
    };
    feed(Event::Begin { first: Span::ZERO, started: false }, zero, &mut monitor);
    let cause = Cause::new(Phase::Read, 110);
    for (place, sign) in signs.chars().enumerate() {
        let at = Instant::from_millis(1_000 + place as u64 * 10_000);
        let result = match sign {
            '.' => ProbeResult::Healthy,
            'o' => ProbeResult::Failed(Weight::HALF, cause),
            'x' => ProbeResult::Failed(Weight::COMPLETE, cause),
            _ => {
                feed(Event::Died { cause }, at, &mut monitor);
                continue;
            }
        };
        feed(Event::ProbeNow, at, &mut monitor);
        feed(Event::Timeout, at, &mut monitor);
        if let Some(ticket) = monitor.probe_under_way() {
            feed(Event::Probed { ticket, result }, at, &mut monitor);
        }
    }
    let track = crate::sim::timeline::Track::default();
    Recorded { name: "web".into(), start, events, track }
}

fn tuned(signs: &str) -> Tuned {
    let recording = Recording {
        name: "day".to_owned(),
        services: vec![recorded(signs)],
        calendar: crate::sim::timeline::Calendar::default(),
        begin: Instant::default(),
        end: Instant::default(),
        events: 0,
        actions: 0,
        torn: None,
        differences: Vec::new(),
        more_differences: 0,
    };
    tune(&[recording]).pop().expect("one service")
}

fn in_use(tuned: &Tuned) -> &Tried {
    tuned.tried.iter().find(|it| it.in_use).expect("the one in use")
}

#[test]
fn real_faults_and_those_that_pass_are_told_apart() {
    // far enough apart to be forgotten in between
    let pause = ".".repeat(32);
    let day = tuned(&["....o", "o", "oo", "x", "D", "o.."].join(&pause));
    assert_eq!((day.faults, day.passing), (3, 3), "{day:?}");
}

#[test]
fn heavier_parts_are_sooner_and_act_for_nothing() {
    let day =
        tuned(&format!("{}{}", "....o...........................".repeat(5), "........oo...."));
    let of = |part| {
        let window = Span::from_secs(300);
        let found = day.tried.iter();
        let mut found =
            found.filter(|it| it.every == 1 && it.retry_interval == window && it.delay.is_none());
        found.find(|it| it.part == part).expect("tried").clone()
    };
    let (heavy, light) = (of(Some(100)), of(None));
    assert!(heavy.needless > light.needless, "{heavy:?} {light:?}");
    assert!(heavy.detection_ms < light.detection_ms, "{heavy:?} {light:?}");
    assert!(in_use(&day).on_frontier, "{}", text(std::slice::from_ref(&day)));
}

/// A restart that waits is called off by a healthy probe; a real fault waits with it.
#[test]
fn a_restart_that_waits_is_seldom_for_nothing_and_late() {
    let pause = ".".repeat(32);
    let day = tuned(&["....x", "x", "x", "D"].join(&pause));
    let of = |delay: u32| {
        let mut found = day.tried.iter().filter(|it| {
            it.part.is_none() && it.every == 1 && it.retry_interval == Span::from_secs(300)
        });
        found.find(|it| it.delay == Some(Span::from_secs(delay))).expect("tried").clone()
    };
    let (at_once, waits) = (of(0), of(30));
    assert_eq!((at_once.missed, waits.missed), (0, 0), "{at_once:?} {waits:?}");
    assert_eq!(waits.detection_ms, at_once.detection_ms + 30_000, "{at_once:?} {waits:?}");
    assert!(words(&waits).ends_with("within 300s, restarts wait 30s"), "{}", words(&waits));
    let policies = json(&[day])[0]["policies"].clone();
    let policies = policies.as_array().expect("a list");
    assert!(policies.iter().any(|it| it["restart_delay_ms"] == 30_000));
}

#[test]
fn no_policy_of_the_frontier_is_beaten() {
    let day = tuned("..o...o..oo....x....o....o...ooo...D....o......");
    let front: Vec<&Tried> = day.tried.iter().filter(|it| it.on_frontier).collect();
    assert!(!front.is_empty());
    for one in &front {
        let better = day.tried.iter().find(|it| {
            it.missed <= one.missed
                && it.detection_ms <= one.detection_ms
                && it.needless <= one.needless
                && (it.missed, it.detection_ms, it.needless)
                    != (one.missed, one.detection_ms, one.needless)
        });
        assert_eq!(better, None, "{one:?}");
    }
    let table = text(std::slice::from_ref(&day));
    assert_eq!(table.lines().filter(|line| line.starts_with('*')).count(), 1, "{table}");
    assert_eq!(json(&[day])[0]["service"], "web");
}

#[test]
fn a_day_on_which_nothing_failed_says_so() {
    assert!(text(&[tuned("..........")]).contains("nothing failed"));
}

/// A figure that stands on one fault is worth less than one that stands on ten.
#[test]
fn each_row_says_what_it_is_drawn_from() {
    let pause = ".".repeat(32);
    let day = tuned(&["....x", "x", "D", "o", "o...."].join(&pause));
    let used = in_use(&day);
    assert_eq!((used.detected, used.missed, day.faults), (3, 0, 3), "{used:?}");
    assert!(day.tried.iter().all(|it| it.detected + it.missed == day.faults), "{day:?}");
    let every = |every: u32| day.tried.iter().find(|it| it.every == every).expect("tried").probes;
    let all = 5 + 4 + 4 * 32 + 5 - 1 - 1; // signs but the death, whose restart is no probe
    assert!((all - 5..=all + 5).contains(&every(1)), "{} of {all}", every(1));
    assert_eq!(every(2), every(1) / 2);
    let table = text(std::slice::from_ref(&day));
    assert!(table.contains("3 of 3") && table.contains("0 in 2"), "{table}");
    let first = json(std::slice::from_ref(&day))[0]["policies"][0].clone();
    assert!(first["detected"].is_u64() && first["probes"].is_u64(), "{first}");
}
