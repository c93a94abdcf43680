use super::super::sample;
use super::*;

#[test]
fn the_screen_is_the_interfaces() {
    let expected = "\
web   degraded for 14s, since 14:01:02   \"Service is degraded\", 50 of 100
process   nginx.service, pid 912, generation 7, started 13:58:03 by giveover (restart 1)
checks    page   503, expected 200 or 204     50    2 ms   14:01:02
          site   200                           -   11 ms   14:01:02
          cert   61 days left (observed)       -    9 ms   12:00:14
failures  50 of 100 in 600s    page 503 at 14:01:02
restarts  1 of 2 in 600s       13:58:02 page 503 twice; forgotten 14:08:02
next      probe 14:01:32; if page fails again: restart 2 of 2 after 5s
goes to   nobody: past the budget it waits, faulted, until the budget refills
";
    assert_eq!(screen(&sample::watched(), &sample::web(), Paint::PLAIN), expected);
}

fn line(service: &ServiceDoc, label: &str) -> Option<String> {
    let text = screen(&sample::watched(), service, Paint::PLAIN);
    text.lines().find(|line| line.starts_with(label)).map(String::from)
}

#[test]
fn a_hold_says_by_whom_until_when_and_why() {
    let held = ServiceDoc { held: Some(sample::until("16:00:00")), ..sample::web() };
    let expected = "held      by ops until 16:00, since 13:50:00: \"broker upgrade\"";
    assert_eq!(line(&held, "held").as_deref(), Some(expected));
    let next = "next      held by ops until 16:00; nothing counts until then";
    assert!(line(&held, "next").is_some_and(|line| line.ends_with("nothing counts until then")));
    assert!(!next.is_empty());
}

#[test]
fn a_healthy_service_says_what_it_takes() {
    let mut web = sample::web();
    web.checks[0] = sample::check("page", "healthy", None, "200", 2);
    let next = "next      probe 14:01:32; 50 more make a failure: restart 2 of 2 after 5s";
    assert_eq!(line(&web, "next").as_deref(), Some(next));
    web.failure_sum = 0;
    web.next_delay_ms = 0;
    let next = "next      probe 14:01:32; 100 make a failure: restart 2 of 2 at once";
    assert_eq!(line(&web, "next").as_deref(), Some(next));
}

#[test]
fn an_empty_service_has_a_screen_too() {
    let text = screen(&StatusDoc::default(), &ServiceDoc::default(), Paint::PLAIN);
    assert!(text.contains("checks    none"));
}

#[test]
fn many_records_are_counted_and_no_line_is_too_wide() {
    let mut web = sample::web();
    let record = web.failures[0].clone();
    web.failures = vec![record; 40];
    web.restart_records = vec![web.restart_records[0].clone(); 9];
    web.checks[0].cause = "a very long cause ".repeat(20);
    let text = screen(&sample::watched(), &web, Paint::PLAIN);
    let times = ["14:01:02"; 4].join(", ");
    assert!(text.contains(&format!("page 503 at {times}, and 36 before")), "{text}");
    assert!(text.contains("5 older\n"), "{text}");
    assert!(text.lines().all(|line| wide(line) <= WIDTH), "{text}");
}

#[test]
fn where_it_goes_is_said_for_every_mode() {
    let goes = |mode: &str, giveover: &str| {
        goes_to(&ServiceDoc { mode: mode.into(), giveover: giveover.into(), ..sample::web() })
    };
    assert!(goes("soft", "command").starts_with("giveover.command"));
    assert!(goes("restart_only", "command").starts_with("nobody: restart_only"));
    assert!(goes("log_only", "command").starts_with("nobody: log_only"));
}

#[test]
fn a_dead_service_says_how_it_died() {
    let dead = ServiceDoc {
        message: phrase::NOT_RUNNING.into(),
        detail: "died: signal 9 (KILL)".into(),
        pid: None,
        started: None,
        unit: None,
        ..sample::web()
    };
    let text = screen(&sample::watched(), &dead, Paint::PLAIN);
    assert!(text.contains("\"Service daemon not running\", died: signal 9 (KILL)\n"), "{text}");
    assert_eq!(line(&dead, "process").as_deref(), Some("process   not running, generation 7"));
}
