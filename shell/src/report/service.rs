//! `giveover status NAME`: everything about one service.

use super::model::{CheckDoc, HostDoc, ServiceDoc, StatusDoc};
use super::paint::Paint;
use super::table::{WIDTH, cut, wide};
use super::time::{self, Moment};
use super::{phrase, status};
use crate::message::span;

/// The least width of what a check saw, so that screens of several services line up.
const SEEN: usize = 25;
/// How many records a line names before it only counts them.
const NAMED: usize = 4;

/// The screen of one service of `doc`.
#[must_use]
pub fn screen(doc: &StatusDoc, service: &ServiceDoc, paint: Paint) -> String {
    let now = status::taken(doc);
    let mut lines = status::alarms(&doc.host, paint);
    lines.push(first_line(service, now, paint));
    lines.push(labelled("process", &process(service, now)));
    lines.extend(checks(service, now));
    lines.extend(figure("failures", &failure_sum(service), &failures(service, now)));
    lines.extend(figure("restarts", &restart_count(service), &restarts(service, now)));
    lines.extend(in_the_way(service, now));
    lines.push(labelled("next", &next(service, &doc.host, now)));
    lines.push(labelled("goes to", &goes_to(service)));
    let lines: Vec<String> = lines.iter().map(|line| fitted(line)).collect();
    lines.join("\n") + "\n"
}

/// Lines with colour are short; the others are cut at the screen's edge.
fn fitted(line: &str) -> String {
    if line.contains('\x1b') { String::from(line) } else { cut(line, WIDTH) }
}

fn first_line(service: &ServiceDoc, now: Moment, paint: Paint) -> String {
    let status = paint.status(&service.status, &service.status);
    let mut line = format!("{}   {status}", service.name);
    if !service.since.is_empty() {
        let since = time::short(&service.since, now);
        line += &format!(" for {}, since {since}", span::compact(service.for_ms));
    }
    if !service.message.is_empty() {
        line += &format!("   \"{}\"", service.message);
    }
    if let Some(detail) = detail(service) {
        line += &format!(", {detail}");
    }
    line
}

/// The sum where there is one; the daemon's words where the checks below do not say it already.
fn detail(service: &ServiceDoc) -> Option<String> {
    let shown_below = service.checks.iter().any(phrase::failed);
    if service.message == phrase::NOT_RUNNING && !service.detail.is_empty() {
        Some(service.detail.clone())
    } else if service.failure_sum > 0 {
        Some(format!("{} of 100", service.failure_sum))
    } else {
        Some(service.detail.clone()).filter(|detail| !detail.is_empty() && !shown_below)
    }
}

fn labelled(label: &str, text: &str) -> String {
    format!("{label:<10}{text}")
}

/// A figure, and in a column of their own the records it is made of.
fn figure(label: &str, figure: &str, records: &[String]) -> Vec<String> {
    let first = records.first().map_or("", String::as_str);
    let line = labelled(label, &format!("{figure:<18}   {first}"));
    let others = records.iter().skip(1).map(|record| format!("{:31}{record}", ""));
    std::iter::once(String::from(line.trim_end())).chain(others).collect()
}

fn process(service: &ServiceDoc, now: Moment) -> String {
    let mut parts: Vec<String> = service.unit.iter().cloned().collect();
    match service.pid {
        Some(pid) => parts.push(format!("pid {pid}")),
        None if service.message == phrase::NOT_RUNNING => parts.push(String::from("not running")),
        None => {}
    }
    if service.generation > 0 {
        parts.push(format!("generation {}", service.generation));
    }
    let pending = u16::from(phrase::restart_pending(service));
    let done = service.restarts.saturating_sub(pending);
    if let Some(started) = &service.started {
        let at = time::short(&started.at, now);
        parts.push(match started.by.as_str() {
            "adopted" => format!("adopted {at}"),
            "giveover" if done > 0 => format!("started {at} by giveover (restart {done})"),
            by => format!("started {at} by {by}"),
        });
    }
    if let Some(left) = service.grace_ms.filter(|left| *left > 0) {
        parts.push(format!("start grace for {}", span::short(left)));
    }
    if parts.is_empty() { String::from("none of ours: only watched") } else { parts.join(", ") }
}

fn checks(service: &ServiceDoc, now: Moment) -> Vec<String> {
    let name = service.checks.iter().map(|check| wide(&check.name)).max().unwrap_or(0);
    let seen = service.checks.iter().map(|check| wide(&seen(check))).max().unwrap_or(0);
    let room = WIDTH.saturating_sub(10 + name + 3 + 3 + 3 + 3 + 8 + 3 + 16);
    let seen_width = seen.clamp(SEEN, room.max(SEEN));
    let mut lines: Vec<String> = service
        .checks
        .iter()
        .map(|check| check_line(check, name, seen_width, now))
        .enumerate()
        .map(|(place, text)| labelled(if place == 0 { "checks" } else { "" }, &text))
        .collect();
    if lines.is_empty() {
        lines.push(labelled("checks", "none"));
    }
    lines
}

fn check_line(check: &CheckDoc, name_width: usize, seen_width: usize, now: Moment) -> String {
    let weight = match check.weight {
        Some(weight) => weight.to_string(),
        None if phrase::unmeasured(check) => String::from("?"),
        None => String::from("-"),
    };
    let ms = format!("{} ms", check.ms);
    let line = format!(
        "{:<name_width$}   {:<seen_width$}   {weight:>3}   {ms:>5}   {}",
        check.name,
        cut(&seen(check), seen_width),
        time::short(&check.at, now)
    );
    String::from(line.trim_end())
}

fn seen(check: &CheckDoc) -> String {
    let seen = match check.outcome.as_str() {
        "none" => String::from("not probed yet"),
        "not_evaluated" if check.cause.is_empty() => String::from("not evaluated"),
        "not_evaluated" => format!("not evaluated: {}", check.cause),
        "void" => String::from("void: we did not run"),
        "unmeasured" => format!("cannot measure: {}", check.cause),
        outcome if check.cause.is_empty() => String::from(outcome),
        _ => check.cause.clone(),
    };
    let seen = match &check.address {
        Some(address) => format!("{seen} at {address}"),
        None => seen,
    };
    if check.observed { format!("{seen} (observed)") } else { seen }
}

fn failure_sum(service: &ServiceDoc) -> String {
    let window = span::window_in_seconds(service.retry_interval_ms);
    format!("{} of 100 in {window}", service.failure_sum)
}

/// `page 503 at 14:01:02`, a line for each cause, the newest last.
fn failures(service: &ServiceDoc, now: Moment) -> Vec<String> {
    let mut causes: Vec<(&str, Vec<String>)> = Vec::new();
    for record in &service.failures {
        let cause = record.cause.split(", expected ").next().unwrap_or_default();
        let at = time::short(&record.at, now);
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, times)) => times.push(at),
            None => causes.push((cause, vec![at])),
        }
    }
    let words = |(cause, times): &(&str, Vec<String>)| {
        let older = times.len().saturating_sub(NAMED);
        let newest = times.get(older..).unwrap_or_default().join(", ");
        let more = if older > 0 { format!(", and {older} before") } else { String::new() };
        format!("{cause} at {newest}{more}")
    };
    newest(&causes, words)
}

fn restart_count(service: &ServiceDoc) -> String {
    let window = span::window_in_seconds(service.retry_interval_ms);
    format!("{} in {window}", phrase::restarts(service))
}

fn restarts(service: &ServiceDoc, now: Moment) -> Vec<String> {
    newest(&service.restart_records, |record| {
        let at = time::short(&record.at, now);
        let forgotten = now.after(record.forgotten_in_ms).short(now);
        format!("{at} {}; forgotten {forgotten}", phrase::collapsed(&record.cause))
    })
}

/// The newest in words, oldest first, and how many older ones there are.
fn newest<T>(records: &[T], words: impl Fn(&T) -> String) -> Vec<String> {
    let older = records.len().saturating_sub(NAMED);
    let newest = records.iter().skip(older).map(words);
    let count = (older > 0).then(|| format!("{older} older"));
    count.into_iter().chain(newest).collect()
}

fn in_the_way(service: &ServiceDoc, now: Moment) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(held) = &service.held {
        let by = phrase::held_by(held, now);
        let by = by.strip_prefix("held ").map_or(by.as_str(), |rest| rest);
        let label = if held.by == "operator" { "held" } else { "waits" };
        let since = time::short(&held.since, now);
        let why = held.why.as_ref().map(|why| format!(": \"{why}\"")).unwrap_or_default();
        let since = if since.is_empty() { since } else { format!(", since {since}") };
        lines.push(labelled(label, &format!("{by}{since}{why}")));
    }
    if !service.unmet.is_empty() {
        lines.push(labelled("needs", &format!("{}: not ok", service.unmet.join(", "))));
    }
    if let Some(ms) = service.unmeasured_ms {
        lines.push(labelled("measured", &format!("nothing for {}", span::compact(ms))));
    }
    lines
}

fn next(service: &ServiceDoc, host: &HostDoc, now: Moment) -> String {
    if phrase::counts_nothing(service) {
        return format!("{}; nothing counts until then", probe_at(service, now));
    }
    match service.waiting_for.as_str() {
        "probe" | "answer" => {
            let then = after_failure(service);
            let then = if host.observe { format!("{then}, not carried out") } else { then };
            format!("{}; {then}", probe_at(service, now))
        }
        _ => phrase::next(service, now),
    }
}

fn probe_at(service: &ServiceDoc, now: Moment) -> String {
    match (service.waiting_for.as_str(), service.next_in_ms) {
        ("probe", Some(ms)) => format!("probe {}", now.after(ms).short(now)),
        _ => phrase::next(service, now),
    }
}

/// What the next failure leads to, and what it takes to make one.
fn after_failure(service: &ServiceDoc) -> String {
    let failing = failing_enough(service);
    let condition = match failing {
        Some(check) => format!("if {} fails again: ", check.name),
        None if service.failure_sum > 0 => {
            format!("{} more make a failure: ", 100u16.saturating_sub(service.failure_sum))
        }
        None => String::from("100 make a failure: "),
    };
    condition + &consequence(service)
}

/// A check that fails and needs only fail once more to make 100.
#[must_use]
pub(super) fn failing_enough(service: &ServiceDoc) -> Option<&CheckDoc> {
    service.checks.iter().find(|check| {
        let weight = u16::from(check.weight.unwrap_or(0));
        phrase::failed(check) && !check.observed && service.failure_sum + weight >= 100
    })
}

fn consequence(service: &ServiceDoc) -> String {
    match service.next_failure.as_str() {
        "restart" => {
            let delay = match service.next_delay_ms {
                0 => String::from("at once"),
                ms => format!("after {}", span::short(ms)),
            };
            format!("restart {} {delay}", phrase::next_restart(service))
        }
        "giveover" => format!("giveover to {}", service.giveover),
        "budget_spent" => String::from("budget spent, faulted"),
        "log" => String::from("logged, nothing is done"),
        other => String::from(other),
    }
}

fn goes_to(service: &ServiceDoc) -> String {
    let past = "past the budget it waits, faulted, until the budget refills";
    match (service.mode.as_str(), service.giveover.as_str()) {
        ("log_only", _) => String::from("nobody: log_only acts on nothing"),
        ("restart_only", _) => format!("nobody: restart_only, {past}"),
        (_, "none" | "") if service.retry_count.is_none() => {
            String::from("nobody: restarts are unlimited")
        }
        (_, "none" | "") => format!("nobody: {past}"),
        (_, "command") => String::from("giveover.command, once it is proven stopped here"),
        (_, "board") => String::from("the board, which resets this host"),
        (_, other) => String::from(other),
    }
}

#[cfg(test)]
mod tests;
