//! Why something failed, in words made from the four bytes of a [`Cause`].
//!
//! The core keeps no text. What it leaves out (the check's name, what was expected, how long it
//! was given) is known to whoever holds the plan, and comes in as [`Asked`].

use giveover_core::failure::{Cause, Phase};
use rustix::io::Errno;

use super::{span, tls};

/// What a check asked for, as far as its failures have to be explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The check's name.
    pub name: &'a str,
    /// What would have been right, in words: `200 or 204`. Empty where a code says nothing.
    pub expected: &'a str,
    /// What a code means: `57P03 cannot connect now`. Empty where the number says it.
    pub answer: &'a str,
    /// How long it was given.
    pub timeout_ms: u64,
    /// It hears heartbeats, and a code is that of a work unit.
    pub hears: bool,
}

/// What was seen, with what was expected: `503, expected 200 or 204`, `refused`,
/// `no answer in 10s`, `exit 2`, `signal 9 (KILL)`.
#[must_use]
pub fn seen(cause: Cause, asked: Asked<'_>) -> String {
    match cause.phase {
        Phase::Answer if cause.code != 0 && !asked.expected.is_empty() => {
            format!("{}, expected {}", answer(cause, asked), asked.expected)
        }
        _ => seen_briefly(cause, asked),
    }
}

/// What was seen and no more: `503`, `refused`.
#[must_use]
pub fn seen_briefly(cause: Cause, asked: Asked<'_>) -> String {
    match cause.phase {
        Phase::Answer if cause.code == 0 => String::from("wrong answer"),
        Phase::Answer => answer(cause, asked),
        Phase::Silence if cause.code == 0 && asked.hears => String::from("nothing heard yet"),
        Phase::Silence if asked.hears => {
            format!("no heartbeat in {}", span::short(asked.timeout_ms))
        }
        Phase::Silence => format!("no reply in {}", span::short(asked.timeout_ms)),
        Phase::Died => died(cause.code),
        Phase::Exit if !asked.answer.is_empty() => asked.answer.to_owned(),
        Phase::Exit => command(cause.code, asked.timeout_ms),
        Phase::Start | Phase::Stop => ended(cause.code),
        Phase::Reported => "reported by notify".to_owned(),
        Phase::Resolve | Phase::Connect if !asked.answer.is_empty() => asked.answer.to_owned(),
        Phase::Resolve | Phase::Connect | Phase::Tls | Phase::Send | Phase::Read | Phase::Close => {
            network(cause, asked.timeout_ms)
        }
    }
}

fn answer(cause: Cause, asked: Asked<'_>) -> String {
    match asked.answer {
        "" => cause.code.to_string(),
        unit if asked.hears => format!("work unit {unit} failed"),
        answer => answer.to_owned(),
    }
}

/// With the check's name before it: `page 503, expected 200 or 204`. Deaths, reports and methods
/// have no check.
#[must_use]
pub fn named(cause: Cause, asked: Asked<'_>) -> String {
    with_name(cause, asked, seen(cause, asked))
}

/// With the check's name, and no more than was seen: `page 503`.
#[must_use]
pub fn named_briefly(cause: Cause, asked: Asked<'_>) -> String {
    with_name(cause, asked, seen_briefly(cause, asked))
}

fn with_name(cause: Cause, asked: Asked<'_>, seen: String) -> String {
    if cause.check == Cause::NO_CHECK || asked.name.is_empty() {
        seen
    } else {
        format!("{} {seen}", asked.name)
    }
}

/// Ranges of numbers as people say them: `200 or 204`, `2xx or 3xx`, `200 to 206`.
#[must_use]
pub fn expected(ranges: &[(u16, u16)]) -> String {
    let words: Vec<String> = ranges
        .iter()
        .map(|(first, last)| match (*first, *last) {
            (first, last) if first == last => first.to_string(),
            (first, last) if first % 100 == 0 && first.checked_add(99) == Some(last) => {
                format!("{}xx", first / 100)
            }
            (first, last) => format!("{first} to {last}"),
        })
        .collect();
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// How something that was run ended: `exit 1`, `signal 9 (KILL)`, `no end in its time`.
#[must_use]
pub fn ended(code: u16) -> String {
    match code {
        Cause::TIMED_OUT => String::from("no end in its time"),
        Cause::UNKNOWN => String::from("nobody knows how"),
        Cause::ERRNO.. => format!("cannot be run: {}", errno_words(code - Cause::ERRNO)),
        Cause::SIGNAL.. => signal_words(code - Cause::SIGNAL),
        status => format!("exit {status}"),
    }
}

fn died(code: u16) -> String {
    format!("died: {}", ended(code))
}

/// The end of a check command, whose time is known.
fn command(code: u16, timeout_ms: u64) -> String {
    match code {
        Cause::TIMED_OUT => format!("no end in {}", span::short(timeout_ms)),
        _ => ended(code),
    }
}

/// The codes a failed lookup has are borrowed; their usual words would mislead.
fn lookup_words(code: u16) -> Option<&'static str> {
    [(Errno::NOENT, "no such name"), (Errno::AGAIN, "no answer from a name server")]
        .into_iter()
        .find_map(|(borrowed, words)| (code == errno(borrowed)).then_some(words))
}

/// Whether the kernel did not permit it.
#[must_use]
pub fn is_not_permitted(cause: Cause) -> bool {
    cause.code == errno(Errno::PERM)
}

/// Why a name has no address, from the code of its lookup.
#[must_use]
pub fn lookup(code: u16) -> String {
    lookup_words(code).map_or_else(|| errno_words(code), String::from)
}

fn network(cause: Cause, timeout_ms: u64) -> String {
    let limit = span::short(timeout_ms);
    let timed_out = cause.code == errno(Errno::TIMEDOUT);
    match cause.phase {
        Phase::Resolve if timed_out => format!("name not resolved in {limit}"),
        Phase::Resolve if cause.code == 0 => String::from("name not resolved"),
        Phase::Resolve => lookup_words(cause.code).map_or_else(
            || format!("name not resolved: {}", errno_words(cause.code)),
            String::from,
        ),
        Phase::Connect if timed_out => format!("no connection in {limit}"),
        Phase::Connect if cause.code == errno(Errno::CONNREFUSED) => String::from("refused"),
        Phase::Tls if timed_out => format!("no TLS in {limit}"),
        Phase::Tls if cause.code == 0 => String::from("no TLS"),
        Phase::Tls if cause.code == errno(Errno::NODATA) => String::from("closed before TLS"),
        Phase::Tls => tls::words(cause.code).unwrap_or_else(|| errno_words(cause.code)),
        Phase::Send if timed_out => format!("not sent in {limit}"),
        Phase::Read if timed_out => format!("no answer in {limit}"),
        Phase::Read if cause.code == 0 || cause.code == errno(Errno::NODATA) => {
            String::from("answer cut short")
        }
        Phase::Close if timed_out => format!("not closed in {limit}"),
        phase if cause.code == 0 => format!("{} failed", phase.word()),
        _ => errno_words(cause.code),
    }
}

/// What the kernel said: `no file descriptors (EMFILE)`; unknown numbers in the C library's words.
#[must_use]
pub fn errno_words(code: u16) -> String {
    let known = ERRNO_WORDS.iter().find(|(errno, _)| errno.raw_os_error() == i32::from(code));
    match known {
        Some((_, words)) => String::from(*words),
        None => std::io::Error::from_raw_os_error(i32::from(code)).to_string(),
    }
}

const ERRNO_WORDS: [(Errno, &str); 19] = [
    (Errno::MFILE, "no file descriptors (EMFILE)"),
    (Errno::NFILE, "no file descriptors on this host (ENFILE)"),
    (Errno::NOMEM, "no memory (ENOMEM)"),
    (Errno::NOBUFS, "no buffers (ENOBUFS)"),
    (Errno::AGAIN, "no more processes (EAGAIN)"),
    (Errno::ADDRNOTAVAIL, "no such address here, or no port left (EADDRNOTAVAIL)"),
    (Errno::AFNOSUPPORT, "address family not supported"),
    (Errno::CONNREFUSED, "refused"),
    (Errno::CONNRESET, "connection reset"),
    (Errno::CONNABORTED, "connection aborted"),
    (Errno::PIPE, "connection closed"),
    (Errno::HOSTUNREACH, "no route to host"),
    (Errno::NETUNREACH, "network unreachable"),
    (Errno::TIMEDOUT, "timed out"),
    (Errno::NOENT, "no such file"),
    (Errno::ACCESS, "permission denied"),
    (Errno::PERM, "not permitted"),
    (Errno::NOEXEC, "not a program"),
    (Errno::NOSPC, "no room left (ENOSPC)"),
];

fn errno(errno: Errno) -> u16 {
    u16::try_from(errno.raw_os_error()).unwrap_or(0)
}

fn signal_words(signal: u16) -> String {
    match SIGNALS.iter().find(|(number, _)| *number == signal) {
        Some((_, name)) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}

/// Numbers as on x86, Arm and RISC-V.
const SIGNALS: [(u16, &str); 18] = [
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
    (24, "XCPU"),
    (25, "XFSZ"),
    (31, "SYS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Asked<'_> = Asked {
        name: "page",
        expected: "200 or 204",
        answer: "",
        timeout_ms: 10_000,
        hears: false,
    };

    fn of_page(phase: Phase, code: u16) -> Cause {
        Cause::of_check(0, phase, code)
    }

    #[test]
    fn a_wrong_status_says_what_was_expected() {
        let cause = of_page(Phase::Answer, 503);
        assert_eq!(seen(cause, PAGE), "503, expected 200 or 204");
        assert_eq!(named(cause, PAGE), "page 503, expected 200 or 204");
        assert_eq!(named_briefly(cause, PAGE), "page 503");
    }

    #[test]
    fn each_phase_says_how_far_it_got() {
        let cases = [
            (Phase::Resolve, 0, "name not resolved"),
            (Phase::Resolve, errno(Errno::NOENT), "no such name"),
            (Phase::Resolve, errno(Errno::AGAIN), "no answer from a name server"),
            (Phase::Connect, errno(Errno::CONNREFUSED), "refused"),
            (Phase::Connect, errno(Errno::TIMEDOUT), "no connection in 10s"),
            (Phase::Connect, errno(Errno::MFILE), "no file descriptors (EMFILE)"),
            (Phase::Tls, 0, "no TLS"),
            (Phase::Send, errno(Errno::PIPE), "connection closed"),
            (Phase::Read, errno(Errno::TIMEDOUT), "no answer in 10s"),
            (Phase::Read, 0, "answer cut short"),
            (Phase::Read, errno(Errno::NODATA), "answer cut short"),
            (Phase::Answer, 0, "wrong answer"),
            (Phase::Close, errno(Errno::TIMEDOUT), "not closed in 10s"),
            (Phase::Exit, 2, "exit 2"),
            (Phase::Exit, Cause::SIGNAL + 9, "signal 9 (KILL)"),
            (Phase::Silence, 0, "no reply in 10s"),
            (Phase::Died, 0, "died: exit 0"),
            (Phase::Died, Cause::SIGNAL + 64, "died: signal 64"),
            (Phase::Start, 1, "exit 1"),
            (Phase::Exit, Cause::TIMED_OUT, "no end in 10s"),
            (Phase::Exit, Cause::ERRNO + errno(Errno::NOENT), "cannot be run: no such file"),
            (Phase::Died, Cause::UNKNOWN, "died: nobody knows how"),
            (Phase::Stop, Cause::TIMED_OUT, "no end in its time"),
            (Phase::Reported, 40, "reported by notify"),
        ];
        for (phase, code, words) in cases {
            assert_eq!(seen(of_page(phase, code), PAGE), words, "{phase:?} {code}");
        }
    }

    #[test]
    fn every_code_of_every_phase_has_words() {
        for phase in Phase::ALL {
            for code in 0..=u16::MAX {
                assert!(!seen(of_page(phase, code), PAGE).is_empty());
            }
        }
    }

    #[test]
    fn a_death_belongs_to_no_check() {
        let cause = Cause::new(Phase::Died, Cause::SIGNAL + 9);
        assert_eq!(named_briefly(cause, PAGE), "died: signal 9 (KILL)");
    }

    #[test]
    fn expected_numbers_are_said_as_people_say_them() {
        assert_eq!(expected(&[(200, 200), (204, 204)]), "200 or 204");
        assert_eq!(expected(&[(200, 299), (300, 399)]), "2xx or 3xx");
        assert_eq!(expected(&[(200, 206)]), "200 to 206");
        assert_eq!(expected(&[(200, 200), (301, 301), (302, 302)]), "200, 301 or 302");
        assert_eq!(expected(&[(65_500, u16::MAX)]), "65500 to 65535");
        assert_eq!(expected(&[]), "");
    }
}
