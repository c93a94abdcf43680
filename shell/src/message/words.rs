//! The text of each event of a service, put together from what happened: what stands after `NAME: `.
//!
//! Causes come in words (see [`super::cause`]), times of day as the caller's screens write them.
//! Numbers with their units are those of a log: `600 s`, `1.3 s`.

use super::span;

/// `page 503, expected 200 or 204, weight 50 (sum 50 of 100)`
#[must_use]
pub fn failure(cause: &str, weight: u8, sum: u16) -> String {
    format!("{cause}, weight {weight} (sum {sum} of 100)")
}

/// A failure that counts nothing now, and why: `page 503, counts nothing: held by ops`
#[must_use]
pub fn failure_not_counted(cause: &str, why: &str) -> String {
    format!("{cause}, counts nothing: {why}")
}

/// `pid 812 died: signal 9 (KILL)`; `end` as [`super::cause::ended`] has it.
#[must_use]
pub fn died(pid: Option<u32>, end: &str) -> String {
    match pid {
        Some(pid) => format!("pid {pid} died: {end}"),
        None => format!("died: {end}"),
    }
}

/// `restart 1 of 2: page 503, page 503 (sum 100)`; the causes are the failures that made 100.
#[must_use]
pub fn restart<S: AsRef<str>>(n: u16, of: Option<u16>, causes: &[S], sum: u16) -> String {
    format!("restart {}: {} (sum {sum})", of_count(n, of), listed(causes))
}

/// `restart asked by ops, not charged`
#[must_use]
pub fn restart_asked(who: &str) -> String {
    format!("restart asked by {who}, not charged")
}

/// `restart with db, which it needs, not charged`
#[must_use]
pub fn restart_with(need: &str) -> String {
    format!("restart with {need}, which it needs, not charged")
}

/// `restart 2 of 2 in 5 s: page 503 (sum 100)`: decided, and waiting for its delay.
#[must_use]
pub fn restart_delayed<S: AsRef<str>>(
    n: u16,
    of: Option<u16>,
    delay_ms: u64,
    causes: &[S],
    sum: u16,
) -> String {
    let delay = span::seconds(delay_ms);
    format!("restart {} in {delay}: {} (sum {sum})", of_count(n, of), listed(causes))
}

/// `beat: work unit queue failed: exit 3`
#[must_use]
pub fn unit_failed(check: &str, unit: &str, how: &str) -> String {
    format!("{check}: work unit {unit} failed: {how}")
}

/// `beat: work unit queue is well again`
#[must_use]
pub fn unit_well(check: &str, unit: &str) -> String {
    format!("{check}: work unit {unit} is well again")
}

/// `beat: a heartbeat changes nothing: not signed with our key (10 such)`
#[must_use]
pub fn beat_refused(check: &str, why: &str, count: u32) -> String {
    let such = if count > 1 { format!(" ({count} such)") } else { String::new() };
    format!("{check}: a heartbeat changes nothing: {why}{such}")
}

/// `errors: PANIC: out of memory`: what a look at this host found, in its own words.
#[must_use]
pub fn seen(check: &str, line: &str) -> String {
    format!("{check}: {line}")
}

/// `restart called off: healthy again`
#[must_use]
pub fn called_off(why: &str) -> String {
    format!("restart called off: {why}")
}

/// `started, generation 7, pid 912, after 1.3 s`: of a restart and of a first start.
#[must_use]
pub fn started(generation: u32, pid: Option<u32>, after_ms: u64) -> String {
    let after = span::seconds(after_ms);
    match pid {
        Some(pid) => format!("started, generation {generation}, pid {pid}, after {after}"),
        None => format!("started, generation {generation}, after {after}"),
    }
}

/// `start failed: CAUSE; asking for giveover`, or what happens instead: `faulted`.
#[must_use]
pub fn start_failed(cause: &str, then: &str) -> String {
    format!("start failed: {cause}; {then}")
}

/// What [`start_failed`] and [`validate_failed`] lead to where a giveover is asked for.
pub const ASKING: &str = "asking for giveover";

/// `validate refused: CAUSE; left as it is`
#[must_use]
pub fn validate_failed(cause: &str) -> String {
    format!("validate refused: {cause}; left as it is")
}

/// `stop failed: CAUSE; nothing is started while it is not proven gone`
#[must_use]
pub fn stop_failed(cause: &str) -> String {
    format!("stop failed: {cause}; nothing is started while it is not proven gone")
}

/// `systemd restarted it first: restart 1 of 2`
#[must_use]
pub fn healed(by: &str, n: u16, of: Option<u16>) -> String {
    format!("{by} restarted it first: restart {}", of_count(n, of))
}

/// `3 failures in 600 s: giving over to gw-b`
#[must_use]
pub fn giveover(failures: u16, window_ms: u64, to: &str) -> String {
    let (count, window) = (counted(u32::from(failures), "failure"), span::seconds(window_ms));
    format!("{count} in {window}: giving over to {to}")
}

/// A giveover that no count of failures led to: `start failed: exit 1: giving over to gw-b`
#[must_use]
pub fn giveover_because(why: &str, to: &str) -> String {
    format!("{why}: giving over to {to}")
}

/// `granted: to gw-b`
#[must_use]
pub fn granted(to: &str) -> String {
    format!("granted: to {to}")
}

/// `denied: ping-pong, gw-b gave it over 412 s ago, 3188 s left; left as it is`
#[must_use]
pub fn denied(reason: &str, dead: bool) -> String {
    let then = if dead { "dead, so restarted here" } else { "left as it is" };
    format!("denied: {reason}; {then}")
}

/// `not now: exit 75; asked again in 10 s`
#[must_use]
pub fn not_now(reason: &str, again_ms: u64) -> String {
    format!("not now: {reason}; asked again in {}", span::seconds(again_ms))
}

/// `giveover aborted: CAUSE; stopped, so started here again`
#[must_use]
pub fn aborted(cause: &str, stopped: bool) -> String {
    let then = if stopped { "stopped, so started here again" } else { "not stopped, left here" };
    format!("giveover aborted: {cause}; {then}")
}

/// `giveover unproven: CAUSE; the other side may be running, so nothing is started here`
#[must_use]
pub fn unproven(cause: &str) -> String {
    format!("giveover unproven: {cause}; the other side may be running, so nothing is started here")
}

/// `held until budget refills at 14:08:02`
#[must_use]
pub fn budget_spent(refills_at: Option<&str>) -> String {
    match refills_at {
        Some(at) => format!("held until budget refills at {at}"),
        None => String::from("held: the budget allows no restart"),
    }
}

/// `held by ops until 16:00: "broker upgrade"`
#[must_use]
pub fn held(who: &str, until: Option<&str>, why: Option<&str>) -> String {
    let end = match until {
        Some(at) => format!("until {at}"),
        None => String::from("for ever"),
    };
    match why.filter(|why| !why.is_empty()) {
        Some(why) => format!("held by {who} {end}: \"{why}\""),
        None => format!("held by {who} {end}"),
    }
}

/// `released by ops`; without a person, the hold has come to its end.
#[must_use]
pub fn released(who: Option<&str>) -> String {
    match who {
        Some(who) => format!("released by {who}"),
        None => String::from("released: the hold has come to its end"),
    }
}

/// `cleared by ops: 1 failure, 2 restarts forgotten`
#[must_use]
pub fn cleared(who: &str, failures: u16, restarts: u16) -> String {
    format!(
        "cleared by {who}: {}, {} forgotten",
        counted(u32::from(failures), "failure"),
        counted(u32::from(restarts), "restart")
    )
}

/// `ok after 4m 10s (incident 118: 3 failures, 1 restart)`
#[must_use]
pub fn recovered(after_ms: u64, incident: u32, failures: u32, restarts: u32) -> String {
    format!(
        "ok after {} (incident {incident}: {}, {})",
        span::compact(after_ms),
        counted(failures, "failure"),
        counted(restarts, "restart")
    )
}

/// `failure logged, log_only acts on nothing: page 503 (sum 100)`
#[must_use]
pub fn logged<S: AsRef<str>>(causes: &[S], sum: u16) -> String {
    format!("failure logged, log_only acts on nothing: {} (sum {sum})", listed(causes))
}

/// `cannot measure page: no file descriptors (EMFILE), last result 14:01:02`
#[must_use]
pub fn unmeasured(check: &str, why: &str, last: Option<&str>) -> String {
    match last {
        Some(at) => format!("cannot measure {check}: {why}, last result {at}"),
        None => format!("cannot measure {check}: {why}, no result yet"),
    }
}

/// `measured again after 2m 30s`
#[must_use]
pub fn measured(after_ms: u64) -> String {
    format!("measured again after {}", span::compact(after_ms))
}

/// `page took 8.4 s of 10 s`
#[must_use]
pub fn slow_probe(check: &str, took_ms: u64, timeout_ms: u64) -> String {
    format!("{check} took {} of {}", span::seconds(took_ms), span::seconds(timeout_ms))
}

/// `waits for uplink, db`
#[must_use]
pub fn need_unmet<S: AsRef<str>>(needs: &[S]) -> String {
    format!("waits for {}", listed(needs))
}

/// `what it needs is ok again`
pub const NEED_MET: &str = "what it needs is ok again";

/// `stopped by ops, after 0.4 s`
#[must_use]
pub fn stopped(by: &str, after_ms: u64) -> String {
    format!("stopped by {by}, after {}", span::seconds(after_ms))
}

/// `adopted, generation 7, pid 912, running since 13:58:03`
#[must_use]
pub fn adopted(generation: u32, pid: Option<u32>, since: Option<&str>) -> String {
    let pid = pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    let since = since.map(|at| format!(", running since {at}")).unwrap_or_default();
    format!("adopted, generation {generation}{pid}{since}")
}

/// `monitoring ended by ops; the service runs on`
#[must_use]
pub fn monitor_ended(who: &str) -> String {
    format!("monitoring ended by {who}; the service runs on")
}

/// `monitoring begun by ops`
#[must_use]
pub fn monitor_begun(who: &str) -> String {
    format!("monitoring begun by {who}")
}

/// `reported by notify: failed 40`
#[must_use]
pub fn reported(what: &str) -> String {
    format!("reported by notify: {what}")
}

/// `page 200, 2 ms`
#[must_use]
pub fn healthy(check: &str, shown: &str, ms: u32) -> String {
    let gap = if shown.is_empty() { "" } else { " " };
    format!("{check}{gap}{shown}, {ms} ms")
}

/// `1 of 2`, `3 of unlimited`: a number of the restarts a window allows.
#[must_use]
pub fn of_count(n: u16, of: Option<u16>) -> String {
    match of {
        Some(count) => format!("{n} of {count}"),
        None => format!("{n} of unlimited"),
    }
}

/// `1 failure`, `3 failures`: counted, in the plural where it belongs.
#[must_use]
pub fn counted(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

pub(super) fn listed<S: AsRef<str>>(items: &[S]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the table of events, with the figures it has.
    #[test]
    fn texts_are_those_of_the_interface() {
        let pairs = [
            (
                failure("page 503, expected 200 or 204", 50, 50),
                "page 503, expected 200 or 204, weight 50 (sum 50 of 100)",
            ),
            (died(Some(812), "signal 9 (KILL)"), "pid 812 died: signal 9 (KILL)"),
            (
                restart(1, Some(2), &["page 503", "page 503"], 100),
                "restart 1 of 2: page 503, page 503 (sum 100)",
            ),
            (started(7, Some(912), 1_300), "started, generation 7, pid 912, after 1.3 s"),
            (start_failed("exit 1", ASKING), "start failed: exit 1; asking for giveover"),
            (giveover(3, 600_000, "gw-b"), "3 failures in 600 s: giving over to gw-b"),
            (
                denied("ping-pong, gw-b gave it over 412 s ago, 3188 s left", false),
                "denied: ping-pong, gw-b gave it over 412 s ago, 3188 s left; left as it is",
            ),
            (budget_spent(Some("14:08:02")), "held until budget refills at 14:08:02"),
            (
                held("ops", Some("16:00"), Some("broker upgrade")),
                "held by ops until 16:00: \"broker upgrade\"",
            ),
            (
                recovered(250_000, 118, 3, 1),
                "ok after 4m 10s (incident 118: 3 failures, 1 restart)",
            ),
            (
                unmeasured("page", "no file descriptors (EMFILE)", Some("14:01:02")),
                "cannot measure page: no file descriptors (EMFILE), last result 14:01:02",
            ),
        ];
        for (ours, interface) in pairs {
            assert_eq!(ours, interface);
        }
    }

    /// A hold, a spent budget and a held line never share one word.
    #[test]
    fn held_never_stands_alone() {
        for text in [held("ops", None, None), held("ops", Some("16:00"), Some(""))] {
            assert!(text.starts_with("held by ops "), "{text}");
        }
        assert_eq!(held("ops", None, None), "held by ops for ever");
        assert!(budget_spent(None).contains("budget"));
    }

    #[test]
    fn one_is_singular_and_unlimited_has_no_number() {
        assert_eq!(cleared("ops", 1, 2), "cleared by ops: 1 failure, 2 restarts forgotten");
        assert_eq!(
            restart(3, None, &["died: exit 1"], 100),
            "restart 3 of unlimited: died: exit 1 (sum 100)"
        );
    }
}
