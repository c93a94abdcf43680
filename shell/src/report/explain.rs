//! `giveover explain NAME`: where a service stands, how it got there and what comes next, in
//! complete sentences.

mod past;

use super::model::{CheckDoc, EventDoc, HostDoc, ServiceDoc, StatusDoc};
use super::paint::Paint;
use super::table::{WIDTH, wrap};
use super::time::{self, Moment};
use super::{phrase, service, status};
use crate::message::span;

/// The paragraphs about one service of `doc`; `history` are its events, oldest first, from which
/// the times of the failures behind a restart are taken. It may be empty.
#[must_use]
pub fn text(doc: &StatusDoc, service: &ServiceDoc, history: &[EventDoc]) -> String {
    let now = status::taken(doc);
    let mut paragraphs = vec![stands(service, now), past::restarts(service, history, now)];
    let obstacles = obstacles(service, &doc.host, now);
    if obstacles.is_empty() && is_probed(service) {
        paragraphs.push(if_it_fails(service, now));
        paragraphs.push(if_it_is_healthy(service, now));
    } else if obstacles.is_empty() || phrase::is_unwatched(service) {
        paragraphs.push(format!("Next: {}.", phrase::next(service, now)));
    }
    paragraphs.push(in_the_way(service, &obstacles, &doc.host));
    let mut lines = status::alarms(&doc.host, Paint::PLAIN);
    lines.extend(paragraphs.iter().flat_map(|paragraph| wrap(paragraph, WIDTH)));
    lines.join("\n") + "\n"
}

fn is_probed(service: &ServiceDoc) -> bool {
    matches!(service.waiting_for.as_str(), "probe" | "answer")
}

fn stands(service: &ServiceDoc, now: Moment) -> String {
    let name = &service.name;
    let mut sentences = vec![format!("{name} is {}.", service.status)];
    if service.message == phrase::NOT_RUNNING && service.status != "offline" {
        sentences.push(String::from("Its process is gone, which is a complete failure."));
    }
    let window = span::window_in_seconds(service.retry_interval_ms);
    for check in service.checks.iter().filter(|check| !check.observed) {
        if phrase::failed(check) {
            sentences.push(failing(check, &window, now));
        } else if phrase::unmeasured(check) {
            let at = time::short(&check.at, now);
            sentences.push(format!(
                "Its check {} could not run at {at}: {}; that counts nothing.",
                check.name, check.cause
            ));
        }
    }
    if sentences.len() == 1 {
        sentences.extend(well(service, now));
    }
    sentences.join(" ")
}

/// `Its check page got HTTP 503 at 14:01:02 where 200 or 204 is expected; that weighs 50, and 100
/// within 600s make a failure.`
fn failing(check: &CheckDoc, window: &str, now: Moment) -> String {
    let at = time::short(&check.at, now);
    let name = &check.name;
    let seen = match check.cause.split_once(", expected ") {
        Some((got, expected)) if check.kind == "http" => {
            format!("Its check {name} got HTTP {got} at {at} where {expected} is expected")
        }
        Some((got, expected)) => {
            format!("Its check {name} got {got} at {at} where {expected} is expected")
        }
        None => format!("Its check {name} failed at {at}: {}", check.cause),
    };
    match check.weight {
        Some(weight @ ..100) => {
            format!("{seen}; that weighs {weight}, and 100 within {window} make a failure.")
        }
        Some(_) => format!("{seen}; that is a failure by itself."),
        None => format!("{seen}."),
    }
}

fn well(service: &ServiceDoc, now: Moment) -> Option<String> {
    let last = service.checks.iter().filter(|check| !check.at.is_empty()).max_by_key(|c| &c.at);
    match (service.status.as_str(), last) {
        ("unknown", _) if service.waiting_for == "unmonitored" => {
            Some(String::from("Its monitor was told to end."))
        }
        ("unknown", _) if matches!(service.waiting_for.as_str(), "starting" | "stopping") => None,
        ("unknown", _) => Some(String::from("It has not been probed yet.")),
        ("ok", Some(check)) => {
            let at = time::short(&check.at, now);
            Some(format!("Its checks were healthy, the last at {at}."))
        }
        _ if service.detail.is_empty() => None,
        _ => Some(format!("{}.", capital(&service.detail))),
    }
}

fn if_it_fails(service: &ServiceDoc, now: Moment) -> String {
    let at = match service.next_in_ms {
        Some(ms) => format!(" at {}", now.after(ms).short(now)),
        None => String::new(),
    };
    let condition = match service::failing_enough(service) {
        Some(check) => format!("If {} fails again{at}", check.name),
        None if service.failure_sum > 0 => {
            let more = 100u16.saturating_sub(service.failure_sum);
            format!("If what fails next weighs {more} or more")
        }
        None => format!("If it fails completely{at}"),
    };
    format!("{condition}: {}", consequence(service, now))
}

fn consequence(service: &ServiceDoc, now: Moment) -> String {
    match service.next_failure.as_str() {
        "restart" => {
            let delay = match service.next_delay_ms {
                0 => String::from("at once"),
                ms => format!("after a delay of {}", span::short(ms)),
            };
            let restart = format!("restart {}, {delay}.", phrase::next_restart(service));
            format!("{restart} {}", past_the_budget(service, now))
        }
        "giveover" => format!("{}.", goes_to(service)),
        "budget_spent" => format!(
            "the budget is spent, so it stays faulted until the budget refills{}.",
            refills(service, now)
        ),
        "log" => String::from("it is logged; log_only acts on nothing."),
        other => format!("{other}."),
    }
}

fn past_the_budget(service: &ServiceDoc, now: Moment) -> String {
    let Some(count) = service.retry_count else {
        return String::from("Restarts are unlimited.");
    };
    let left = count.saturating_sub(service.restarts.saturating_add(1));
    if left > 0 {
        let more = if left == 1 { "one more" } else { "more" };
        return format!("If that does not hold: {more}, up to {count} in the window.");
    }
    let before = refills(service, now).replacen(" at ", ", before ", 1);
    let then = if gives_over(service) {
        goes_to(service)
    } else {
        format!(
            "nobody can take it over, so it stays faulted until the budget refills{}",
            refills(service, now)
        )
    };
    format!("If that does not hold either{before}: {then}.")
}

fn gives_over(service: &ServiceDoc) -> bool {
    !matches!(service.giveover.as_str(), "" | "none")
        && !matches!(service.mode.as_str(), "restart_only" | "log_only")
}

fn goes_to(service: &ServiceDoc) -> String {
    match service.giveover.as_str() {
        "command" => String::from("it is stopped here and given over by giveover.command"),
        "board" => String::from("the board is asked to reset this host; nothing is stopped before"),
        other => format!("it is given over to {other}"),
    }
}

fn refills(service: &ServiceDoc, now: Moment) -> String {
    match service.refills_in_ms {
        Some(ms) => format!(" at {}", now.after(ms).short(now)),
        None => String::new(),
    }
}

/// `If page is healthy: ok; the 50 is forgotten at 14:11:02.`
fn if_it_is_healthy(service: &ServiceDoc, now: Moment) -> String {
    let failing = service.checks.iter().find(|check| phrase::failed(check) && !check.observed);
    let condition = match failing {
        Some(check) => format!("If {} is healthy", check.name),
        None if service.status == "ok" => String::from("If it stays healthy"),
        None => String::from("If it is healthy"),
    };
    let forgotten = match service.failures.as_slice() {
        [] => String::new(),
        [only] => {
            let at = now.after(only.forgotten_in_ms).short(now);
            format!("; the {} is forgotten at {at}", only.weight)
        }
        [.., last] => {
            let at = now.after(last.forgotten_in_ms).short(now);
            format!("; the {} are forgotten one by one, the last at {at}", service.failure_sum)
        }
    };
    format!("{condition}: ok{forgotten}.")
}

/// Whatever keeps the monitor from acting on the next failure.
fn obstacles(service: &ServiceDoc, host: &HostDoc, now: Moment) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(held) = &service.held {
        let why = held.why.as_ref().map(|why| format!(" (\"{why}\")")).unwrap_or_default();
        found.push(format!("{}{why}", phrase::held_by(held, now)));
    }
    if !service.unmet.is_empty() {
        found.push(format!("it needs {}, which is not ok", service.unmet.join(", ")));
    }
    if host.observe {
        found.push(String::from("observing: nothing is acted on"));
    }
    if host.local_fault && service.held.as_ref().is_none_or(|held| held.by != "local_fault") {
        found.push(String::from("local fault: failed probes are not acted on"));
    }
    if host.actions.count > 0 && host.actions.spent >= host.actions.count {
        let frees = host.actions.frees_in_ms.map(|ms| now.after(ms).short(now));
        let until = frees.map(|at| format!(" until {at}")).unwrap_or_default();
        let (spent, count) = (host.actions.spent, host.actions.count);
        found.push(format!("host budget {spent} of {count}{until}"));
    }
    if let Some(left) = service.grace_ms.filter(|left| *left > 0 && !phrase::is_unwatched(service))
    {
        let left = span::short(left);
        found.push(format!("start grace for {left} more, in which failed probes count nothing"));
    }
    found
}

fn in_the_way(service: &ServiceDoc, obstacles: &[String], host: &HostDoc) -> String {
    let name = &service.name;
    let held = match obstacles {
        [] => String::new(),
        some => format!("In the way: {}.", some.join("; ")),
    };
    let unwatched = match service.waiting_for.as_str() {
        "starting" | "stopping" | "handing_over" => {
            format!("Nothing else is done until that has come to its end. {held}")
        }
        "stopped" | "not_begun" | "given_over" => {
            format!("Nobody watches it until it is started: giveover start {name}. {held}")
        }
        "unmonitored" => {
            format!("Nobody watches it until it is told to: giveover monitor start {name}. {held}")
        }
        _ => held,
    };
    if !unwatched.is_empty() {
        return unwatched.trim_end().to_owned();
    }
    if service.mode == "log_only" {
        return String::from("Nothing is ever done about it: failover_mode is log_only.");
    }
    let trusted = match host.trusted.total {
        0 => String::from("no trusted servers configured"),
        total => format!("trusted {} of {total}", host.trusted.answering),
    };
    let (spent, count) = (host.actions.spent, host.actions.count);
    format!(
        "Nothing stands in the way: no hold, no needs, host budget {spent} of {count}, {trusted}, \
         not observing."
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect::<String>())
}

#[cfg(test)]
mod tests;
