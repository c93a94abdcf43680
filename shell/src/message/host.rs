//! The text of each event of the host and of the monitor itself.

use super::words::{counted, listed};
use super::{cause, span};

/// `7 of 9 services fail, no trusted server answers: acting on none`
#[must_use]
pub fn local_fault(failing: u32, services: u32) -> String {
    format!("{failing} of {services} services fail, no trusted server answers: acting on none")
}

/// `a trusted server answers again: acting as before`; `why` says which end it was.
#[must_use]
pub fn local_fault_over(why: &str) -> String {
    format!("{why}: acting as before")
}

/// `20 actions in 1h, all that host.actions allows: none more before 15:02:10`
#[must_use]
pub fn host_budget(spent: u16, per_ms: u64, frees_at: Option<&str>) -> String {
    let then = match frees_at {
        Some(at) => format!("none more before {at}"),
        None => String::from("none more"),
    };
    let (count, per) = (counted(u32::from(spent), "action"), span::window(per_ms));
    format!("{count} in {per}, all that host.actions allows: {then}")
}

/// `host.actions has room again, 19 of 20 in 1h`
#[must_use]
pub fn host_budget_over(spent: u16, count: u16, per_ms: u64) -> String {
    format!("host.actions has room again, {spent} of {count} in {}", span::window(per_ms))
}

/// `stop failed under hard, so this node is reset: CAUSE`
#[must_use]
pub fn reset(cause: &str) -> String {
    format!("stop failed under hard, so this node is reset: {cause}")
}

/// `stop failed under hard, but this node is not reset: WHY`
#[must_use]
pub fn reset_refused(why: &str) -> String {
    format!("stop failed under hard, but this node is not reset: {why}")
}

/// `this host is not reset, as under restart_only: WHY`
#[must_use]
pub fn board_reset_refused(why: &str) -> String {
    format!("this host is not reset, as under restart_only: {why}")
}

/// `configuration reloaded: +1 service, web: retry_count 2 → 3`
#[must_use]
pub fn reloaded<S: AsRef<str>>(changes: &[S]) -> String {
    if changes.is_empty() {
        return String::from("configuration reloaded: nothing has changed");
    }
    format!("configuration reloaded: {}", listed(changes))
}

/// A reload by signal that comes while something is under way.
pub const RELOAD_WAITS: &str =
    "a start, stop or giveover is under way; the configuration is read when it is done";

/// `refused, 2 errors; the old one goes on: FIRST ERROR`
#[must_use]
pub fn refused(errors: u32, first: &str) -> String {
    format!("refused, {}; the old one goes on: {first}", counted(errors, "error"))
}

/// `restart refused: mallory (uid 1001) may not command`
#[must_use]
pub fn forbidden(verb: &str, who: &str, uid: u32) -> String {
    format!("{verb} refused: {who} (uid {uid}) may not command")
}

/// `journal damaged: CAUSE; set aside as PATH, 118 entries were read`
#[must_use]
pub fn journal_damaged(cause: &str, aside: &str, read: u64) -> String {
    format!("journal damaged: {cause}; set aside as {aside}, {read} entries were read")
}

/// `journal cannot be written: No space left on device; what is decided now would be forgotten`
#[must_use]
pub fn journal_failing(error: &str) -> String {
    format!("journal cannot be written: {error}; what is decided now would be forgotten")
}

/// `journal is written again after 4m 10s`
#[must_use]
pub fn journal_well(after_ms: u64) -> String {
    format!("journal is written again after {}", span::compact(after_ms))
}

/// `the wall clock was set by -3600.0 s; no verdict depends on it`
#[must_use]
pub fn clock_stepped(ms: i64) -> String {
    let sign = if ms < 0 { '-' } else { '+' };
    let by = span::seconds(ms.unsigned_abs());
    format!("the wall clock was set by {sign}{by}; no verdict depends on it")
}

/// `did not run for 4.2 s: 3 probes count nothing`
#[must_use]
pub fn slept(ms: u64, void: u32) -> String {
    if void == 0 {
        return format!("did not run for {}", span::seconds(ms));
    }
    let count = counted(void, "probe");
    let verb = if void == 1 { "counts" } else { "count" };
    format!("did not run for {}: {count} {verb} nothing", span::seconds(ms))
}

/// `giveover 0.1.0 started, 3 services of /etc/giveover/giveover.toml`
#[must_use]
pub fn daemon_started(version: &str, services: u32, file: &str, observe: bool) -> String {
    let count = counted(services, "service");
    let observing = if observe { ", OBSERVING: nothing is acted on" } else { "" };
    format!("giveover {version} started, {count} of {file}{observing}")
}

/// `stopping: SIGTERM; services are left running`
#[must_use]
pub fn daemon_stopped(why: &str, leave: bool) -> String {
    let services = if leave { "left running" } else { "stopped" };
    format!("stopping: {why}; services are {services}")
}

/// `name db.example does not resolve: no such name; its last addresses are used`
#[must_use]
pub fn name_failing(name: &str, code: u16, kept: bool) -> String {
    let why = cause::lookup(code);
    let then = if kept { "its last addresses are used" } else { "its checks have no address" };
    format!("name {name} does not resolve: {why}; {then}")
}

/// `name db.example resolves again`
#[must_use]
pub fn name_resolved(name: &str) -> String {
    format!("name {name} resolves again")
}

/// `3 log lines were lost`
#[must_use]
pub fn log_lost(count: u32) -> String {
    let verb = if count == 1 { "was" } else { "were" };
    format!("{} {verb} lost", counted(count, "log line"))
}

/// `debug level low, set by ops`
#[must_use]
pub fn debug_level(level: super::Debug, who: &str) -> String {
    format!("debug level {}, set by {who}", level.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_interface() {
        assert_eq!(
            local_fault(7, 9),
            "7 of 9 services fail, no trusted server answers: acting on none"
        );
        assert_eq!(
            reloaded(&["+1 service", "web: retry_count 2 → 3"]),
            "configuration reloaded: +1 service, web: retry_count 2 → 3"
        );
        assert_eq!(
            refused(2, "FIRST ERROR"),
            "refused, 2 errors; the old one goes on: FIRST ERROR"
        );
    }

    #[test]
    fn one_is_singular_and_nothing_is_said_so() {
        assert_eq!(slept(4_200, 0), "did not run for 4.2 s");
        assert_eq!(slept(4_200, 1), "did not run for 4.2 s: 1 probe counts nothing");
        assert_eq!(reloaded::<&str>(&[]), "configuration reloaded: nothing has changed");
        let text = "name db does not resolve: no such name; its checks have no address";
        assert_eq!(name_failing("db", 2, false), text);
        assert!(name_failing("db", 11, true).ends_with("; its last addresses are used"));
        assert!(daemon_started("0.1.0", 3, "giveover.toml", true).contains("OBSERVING"));
    }
}
