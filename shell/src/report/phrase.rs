//! Short phrases about one service that several screens share.

use super::model::{CheckDoc, HeldDoc, ServiceDoc};
use super::time::Moment;
use crate::message::span;

/// What happens next, or what keeps it from happening: `probe in 16s`, `held by ops until 16:00`.
///
/// "Held" never stands alone: a person's hold, a spent budget and a line that is held would
/// otherwise share one word.
#[must_use]
pub fn next(service: &ServiceDoc, now: Moment) -> String {
    match &service.held {
        // A release would not start it.
        Some(held) if held.by == "operator" && is_unwatched(service) => {}
        Some(held) => return held_by(held, now),
        None => {}
    }
    if !service.unmet.is_empty() && !is_unwatched(service) {
        return format!("waits for {}", service.unmet.join(", "));
    }
    let when = match service.next_in_ms {
        None => String::from("soon"),
        Some(0..1000) => String::from("now"),
        Some(ms) => format!("in {}", span::compact(ms)),
    };
    match service.waiting_for.as_str() {
        "probe" => format!("probe {when}"),
        "answer" => String::from("probing"),
        // It has been charged when it was decided; one that a person wants never is.
        "delay" if service.restarts == 0 => format!("restart {when}"),
        "delay" => format!("restart {} {when}", restarts(service)),
        "restart" => String::from("restarting"),
        "stop_again" => format!("stop again {when}"),
        "giveover" => String::from("giveover asked for"),
        "ask_again" => format!("asks for giveover {when}"),
        "dead_cycle" => format!("not running, next failure {when}"),
        "release" => String::from("kept as it is"),
        "given_over" => String::from("given over"),
        "handing_over" => String::from("being given over"),
        "starting" => String::from("being started"),
        "stopping" => String::from("being stopped"),
        "not_begun" => String::from("not begun"),
        "stopped" => String::from("stopped, until started"),
        "unmonitored" => String::from("not monitored"),
        other => String::from(other),
    }
}

/// Whether no monitor is at work for it.
#[must_use]
pub fn is_unwatched(service: &ServiceDoc) -> bool {
    matches!(service.waiting_for.as_str(), "stopped" | "not_begun" | "given_over" | "unmonitored")
}

/// Who or what keeps it from acting, and until when.
#[must_use]
pub fn held_by(held: &HeldDoc, now: Moment) -> String {
    let until = held.until.as_deref().and_then(Moment::parse).map(|at| at.end(now));
    let until = until.map(|at| format!(" until {at}")).unwrap_or_default();
    match held.by.as_str() {
        "operator" => {
            let end = if until.is_empty() { " for ever" } else { until.as_str() };
            format!("held by {}{end}", held.who.as_deref().unwrap_or("a person"))
        }
        "budget" => format!("budget spent{until}"),
        "host_budget" => format!("host budget spent{until}"),
        "local_fault" => String::from("local fault, not acted on"),
        "systemd" => String::from("stopped outside, until started"),
        "unproven" => String::from("giveover unproven, until released"),
        other => format!("kept from acting by {other}{until}"),
    }
}

/// The number of the next restart of the window: `2 of 2`.
#[must_use]
pub fn next_restart(service: &ServiceDoc) -> String {
    of(service.restarts.saturating_add(1), service.retry_count)
}

/// Whether a restart has been decided that is not yet done.
#[must_use]
pub fn restart_pending(service: &ServiceDoc) -> bool {
    matches!(service.waiting_for.as_str(), "delay" | "restart" | "stop_again")
}

/// The live restarts of the window: `1 of 2`.
#[must_use]
pub fn restarts(service: &ServiceDoc) -> String {
    of(service.restarts, service.retry_count)
}

fn of(n: u16, count: Option<u16>) -> String {
    match count {
        Some(count) => format!("{n} of {count}"),
        None => format!("{n} of unlimited"),
    }
}

/// Whether the last result of a check was a failure.
#[must_use]
pub fn failed(check: &CheckDoc) -> bool {
    matches!(check.outcome.as_str(), "partial" | "complete" | "immediate")
}

/// Whether a check could not run.
#[must_use]
pub fn unmeasured(check: &CheckDoc) -> bool {
    check.outcome == "unmeasured"
}

/// Whether nothing that fails counts now, so that weights would mislead.
#[must_use]
pub fn counts_nothing(service: &ServiceDoc) -> bool {
    !service.unmet.is_empty()
        || service.held.as_ref().is_some_and(|held| held.by != "budget" && held.by != "host_budget")
}

/// One check in a cell: what is wrong, or else what was seen.
#[must_use]
pub fn check(check: &CheckDoc) -> String {
    if failed(check) || unmeasured(check) { bad_check(check, false) } else { well_check(check) }
}

/// The checks in one cell: what fails, or else what was seen.
#[must_use]
pub fn checks(service: &ServiceDoc) -> String {
    let weighed = !counts_nothing(service);
    let bad: Vec<String> = service
        .checks
        .iter()
        .filter(|check| failed(check) || unmeasured(check))
        .map(|check| bad_check(check, weighed))
        .collect();
    let well = || service.checks.iter().filter(|check| !check.observed).map(well_check);
    if service.message == NOT_RUNNING && bad.is_empty() {
        String::from("not running")
    } else if service.checks.is_empty() {
        String::from("-")
    } else if bad.is_empty() {
        well().collect::<Vec<_>>().join(", ")
    } else {
        bad.join(", ")
    }
}

/// The message of a service whose process is gone.
pub const NOT_RUNNING: &str = giveover_core::monitor::Message::NotRunning.text();

fn bad_check(check: &CheckDoc, weighed: bool) -> String {
    let name = &check.name;
    if unmeasured(check) {
        return format!("{name}: ? {}", check.cause);
    }
    match check.weight {
        _ if check.observed => format!("{name}: {} (observed)", check.cause),
        Some(weight) if weighed => format!("{name}: {} ({weight})", check.cause),
        _ => format!("{name}: {}", check.cause),
    }
}

fn well_check(check: &CheckDoc) -> String {
    let name = &check.name;
    match check.outcome.as_str() {
        "healthy" if check.cause.is_empty() => format!("{name} {}ms", check.ms),
        "healthy" => format!("{name} {} {}ms", check.cause, check.ms),
        _ => format!("{name} -"),
    }
}

/// `page 503, page 503` as people say it: `page 503 twice`.
#[must_use]
pub fn collapsed(causes: &str) -> String {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for cause in causes.split(", ") {
        match groups.last_mut() {
            Some((last, times)) if *last == cause => *times += 1,
            _ => groups.push((cause, 1)),
        }
    }
    let words: Vec<String> = groups.iter().map(|(cause, times)| repeated(cause, *times)).collect();
    words.join(", ")
}

/// `once`, `twice`, `3 times`.
#[must_use]
pub fn times(count: usize) -> String {
    match count {
        1 => String::from("once"),
        2 => String::from("twice"),
        more => format!("{more} times"),
    }
}

fn repeated(cause: &str, count: usize) -> String {
    if count == 1 { String::from(cause) } else { format!("{cause} {}", times(count)) }
}

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn and(items: &[String]) -> String {
    match items.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// The services that are not ok first, then the order of the file.
#[must_use]
pub fn not_ok_first(services: &[ServiceDoc]) -> Vec<&ServiceDoc> {
    let (ok, not_ok): (Vec<_>, Vec<_>) =
        services.iter().partition(|service| service.status == "ok");
    not_ok.into_iter().chain(ok).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn held(by: &str, until: Option<&str>) -> HeldDoc {
        HeldDoc {
            by: by.into(),
            who: Some("ops".into()),
            until: until.map(String::from),
            ..HeldDoc::default()
        }
    }

    #[test]
    fn held_is_always_said_with_by_whom() {
        let now = sample::now();
        let end = Some("2026-11-29T16:00:00Z");
        assert_eq!(held_by(&held("operator", end), now), "held by ops until 16:00");
        assert_eq!(held_by(&held("operator", None), now), "held by ops for ever");
        assert_eq!(held_by(&held("budget", end), now), "budget spent until 16:00");
        assert_eq!(held_by(&held("host_budget", None), now), "host budget spent");
        for by in ["local_fault", "systemd", "unproven", "something new"] {
            assert!(!held_by(&held(by, end), now).starts_with("held"), "{by}");
        }
    }

    #[test]
    fn everything_a_monitor_waits_for_has_words() {
        let waits = [
            ("probe", "probe in 16s"),
            ("answer", "probing"),
            ("delay", "restart 1 of 2 in 16s"),
            ("restart", "restarting"),
            ("stop_again", "stop again in 16s"),
            ("giveover", "giveover asked for"),
            ("ask_again", "asks for giveover in 16s"),
            ("dead_cycle", "not running, next failure in 16s"),
            ("release", "kept as it is"),
            ("given_over", "given over"),
            ("handing_over", "being given over"),
            ("starting", "being started"),
            ("stopping", "being stopped"),
            ("not_begun", "not begun"),
            ("stopped", "stopped, until started"),
            ("unmonitored", "not monitored"),
        ];
        for (word, phrase) in waits {
            let service = ServiceDoc { waiting_for: word.into(), ..sample::web() };
            assert_eq!(next(&service, sample::now()), phrase);
        }
        let at_once = ServiceDoc { next_in_ms: Some(400), restarts: 0, ..sample::web() };
        assert_eq!(next(&at_once, sample::now()), "probe now");
        let asked_for = ServiceDoc { waiting_for: "delay".into(), ..at_once };
        assert_eq!(next(&asked_for, sample::now()), "restart now");
    }

    #[test]
    fn repeated_causes_are_counted() {
        assert_eq!(collapsed("page 503, page 503"), "page 503 twice");
        assert_eq!(collapsed("page 503, page 503, died: exit 1"), "page 503 twice, died: exit 1");
        assert_eq!(collapsed(""), "");
        assert_eq!(times(3), "3 times");
        assert_eq!(and(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }

    #[test]
    fn a_check_that_could_not_run_shows_a_question_mark() {
        let mut web = sample::web();
        web.checks[0].outcome = "unmeasured".into();
        web.checks[0].cause = "no file descriptors (EMFILE)".into();
        assert_eq!(checks(&web), "page: ? no file descriptors (EMFILE)");
    }
}
