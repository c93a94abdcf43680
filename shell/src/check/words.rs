//! Causes in words, for people.
//!
//! A [`Cause`] is four bytes; what it leaves out (the check's name, what was expected, how long
//! it was given) is in the plan of its service's checks. The same cause and plan make the same
//! words, always.

use giveover_core::failure::{Cause, Phase};
use giveover_core::time::Instant;
use giveover_core::weight::Weight;
use rustix::io::Errno;

use super::outcome::code;
use super::xfnts;
use crate::config::plan::{CheckPlan, HttpPlan, Kind};

/// The whole of it, for logs and details: `page 503, expected 200 or 204, weight 50`,
/// `port: connection refused`, `died: signal 9 (KILL)`.
///
/// The weight stands behind it if it is given.
#[must_use]
pub fn cause_words(checks: &[CheckPlan], cause: Cause, weight: Option<Weight>) -> String {
    let words = named(checks, cause, Length::Whole);
    match weight {
        Some(weight) => format!("{words}, weight {}", weight.value()),
        None => words,
    }
}

/// As little as will do, for a column: `page 503`, `port: refused`,
/// `out: no reply in 10s (100)`.
#[must_use]
pub fn cause_brief(checks: &[CheckPlan], cause: Cause, weight: Option<Weight>) -> String {
    let words = named(checks, cause, Length::Brief);
    match weight {
        Some(weight) => format!("{words} ({})", weight.value()),
        None => words,
    }
}

/// A check that passed, for a column: `page 200 3ms`, `port 1ms`.
#[must_use]
pub fn healthy_brief(check: &CheckPlan, shown: u16, elapsed_ms: u32) -> String {
    match shown {
        0 => format!("{} {elapsed_ms}ms", check.name),
        shown => format!("{} {shown} {elapsed_ms}ms", check.name),
    }
}

/// What one check saw, without its name: `503, expected 200 or 204`, `connection refused`.
#[must_use]
pub fn seen_words(check: &CheckPlan, cause: Cause) -> String {
    seen(Some(check), cause, Length::Whole)
}

/// What an `http` check expects: `200 or 204`, `2xx or 3xx`, `200 to 206`.
#[must_use]
pub fn expected_words(plan: &HttpPlan) -> String {
    let words: Vec<String> = plan
        .expect
        .iter()
        .map(|(from, to)| match (*from, *to) {
            (from, to) if from == to => from.to_string(),
            (from, to) if from % 100 == 0 && from.checked_add(99) == Some(to) => {
                format!("{}xx", from / 100)
            }
            (from, to) => format!("{from} to {to}"),
        })
        .collect();
    match words.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Brief,
    Whole,
}

fn named(checks: &[CheckPlan], cause: Cause, length: Length) -> String {
    let check = checks.get(usize::from(cause.check));
    let seen = seen(check, cause, length);
    match check {
        _ if cause.check == Cause::NO_CHECK => seen,
        // A number follows a name as it stands, words after a colon.
        Some(check) if seen.starts_with(|sign: char| sign.is_ascii_digit()) => {
            format!("{} {seen}", check.name)
        }
        Some(check) => format!("{}: {seen}", check.name),
        None => format!("check {}: {seen}", cause.check),
    }
}

fn seen(check: Option<&CheckPlan>, cause: Cause, length: Length) -> String {
    let limit = limit_words(check, cause.phase);
    match cause.phase {
        Phase::Answer => answer(check, cause.code, length),
        Phase::Silence => format!("no reply{limit}"),
        Phase::Exit => ended(cause.code, &limit),
        Phase::Died if cause.code == Cause::UNKNOWN => "died".to_owned(),
        Phase::Died => format!("died: {}", ended(cause.code, "")),
        Phase::Start => format!("start failed: {}", ended(cause.code, "")),
        Phase::Stop => format!("stop failed: {}", ended(cause.code, "")),
        Phase::Reported => format!("reported {}", cause.code),
        Phase::Resolve | Phase::Connect | Phase::Tls | Phase::Send | Phase::Read | Phase::Close => {
            network(cause, &limit, length)
        }
    }
}

fn answer(check: Option<&CheckPlan>, code: u16, length: Length) -> String {
    let plan = match check.map(|check| &check.kind) {
        Some(Kind::Http(plan)) => plan,
        _ if code == 0 => return "wrong answer".to_owned(),
        _ => return code.to_string(),
    };
    let right = plan.expect.iter().any(|(from, to)| (*from..=*to).contains(&code));
    match length {
        _ if code == 0 => "not an HTTP answer".to_owned(),
        _ if right => format!("{code}, body does not match"),
        Length::Brief => code.to_string(),
        Length::Whole => format!("{code}, expected {}", expected_words(plan)),
    }
}

fn network(cause: Cause, limit: &str, length: Length) -> String {
    let late = cause.code == code(Errno::TIMEDOUT);
    match cause.phase {
        Phase::Resolve if late => format!("name not resolved{limit}"),
        Phase::Resolve if cause.code == code(Errno::NOENT) => "no such name".to_owned(),
        Phase::Resolve if cause.code == code(Errno::AGAIN) => {
            "no answer from the name server".to_owned()
        }
        Phase::Resolve => format!("name not resolved: {}", errno_words(cause.code)),
        Phase::Connect if late => format!("no connection{limit}"),
        Phase::Connect if cause.code == code(Errno::CONNREFUSED) && length == Length::Brief => {
            "refused".to_owned()
        }
        Phase::Tls if late => format!("no TLS{limit}"),
        Phase::Send if late => format!("request not taken{limit}"),
        Phase::Read if late => format!("no answer{limit}"),
        Phase::Close if late => format!("not closed{limit}"),
        _ => errno_words(cause.code),
    }
}

/// How a process ended, or why it was never begun.
fn ended(end: u16, limit: &str) -> String {
    match end {
        Cause::TIMED_OUT => format!("no end{}", if limit.is_empty() { " in time" } else { limit }),
        Cause::UNKNOWN => "ended unseen".to_owned(),
        Cause::ERRNO.. => format!("cannot be run: {}", errno_words(end - Cause::ERRNO)),
        Cause::SIGNAL.. => signal_words(end - Cause::SIGNAL),
        status => format!("exit status {status}"),
    }
}

/// ` in 10s`: how long the phase was given; nothing if no check was involved.
fn limit_words(check: Option<&CheckPlan>, phase: Phase) -> String {
    let Some(check) = check else { return String::new() };
    let limit = match (&check.kind, phase) {
        (Kind::Xfnts { .. }, Phase::Connect) => {
            let start = Instant::default();
            xfnts::connect_until(start, check.timeout).since(start)
        }
        _ => u64::from(check.timeout.as_millis()),
    };
    match limit {
        limit if limit % 1000 == 0 => format!(" in {}s", limit / 1000),
        limit if limit > 1000 && limit % 100 == 0 => {
            format!(" in {}.{}s", limit / 1000, limit % 1000 / 100)
        }
        limit => format!(" in {limit}ms"),
    }
}

/// What the kernel said: `connection refused`. Our own lacks carry their names too, as people
/// search for those; a number without words of ours is in the C library's.
#[must_use]
pub fn errno_words(errno: u16) -> String {
    let known = ERRNOS.iter().find(|(known, _)| code(*known) == errno);
    match known {
        Some((_, words)) => (*words).to_owned(),
        None => std::io::Error::from_raw_os_error(i32::from(errno)).to_string(),
    }
}

const ERRNOS: [(Errno, &str); 20] = [
    (Errno::CONNREFUSED, "connection refused"),
    (Errno::CONNRESET, "connection reset"),
    (Errno::CONNABORTED, "connection aborted"),
    (Errno::PIPE, "connection closed"),
    (Errno::NODATA, "connection closed before the answer was complete"),
    (Errno::HOSTUNREACH, "no route to host"),
    (Errno::NETUNREACH, "network unreachable"),
    (Errno::TIMEDOUT, "timed out"),
    (Errno::MFILE, "no file descriptors (EMFILE)"),
    (Errno::NFILE, "no file descriptors on this host (ENFILE)"),
    (Errno::NOMEM, "no memory (ENOMEM)"),
    (Errno::NOBUFS, "no buffers (ENOBUFS)"),
    (Errno::AGAIN, "no more processes or ports (EAGAIN)"),
    (Errno::ADDRNOTAVAIL, "no such address here, or no port left (EADDRNOTAVAIL)"),
    (Errno::AFNOSUPPORT, "address family not supported (EAFNOSUPPORT)"),
    (Errno::ACCESS, "permission denied (EACCES)"),
    (Errno::PERM, "not permitted (EPERM)"),
    (Errno::NOENT, "no such file"),
    (Errno::NOEXEC, "not a program"),
    (Errno::NOSPC, "no room to watch one more socket (ENOSPC)"),
];

/// `signal 9 (KILL)`.
#[must_use]
pub fn signal_words(signal: u16) -> String {
    match SIGNALS.iter().find(|(number, _)| *number == signal) {
        Some((_, name)) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}

/// Numbers as on x86, Arm and RISC-V.
const SIGNALS: [(u16, &str); 20] = [
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (4, "ILL"),
    (5, "TRAP"),
    (6, "ABRT"),
    (7, "BUS"),
    (8, "FPE"),
    (9, "KILL"),
    (10, "USR1"),
    (11, "SEGV"),
    (12, "USR2"),
    (13, "PIPE"),
    (14, "ALRM"),
    (15, "TERM"),
    (16, "STKFLT"),
    (24, "XCPU"),
    (25, "XFSZ"),
    (29, "IO"),
    (31, "SYS"),
];

#[cfg(test)]
mod tests;
