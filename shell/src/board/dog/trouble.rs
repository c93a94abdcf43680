//! Why a dog does not guard this host.

use std::fmt;
use std::io;

use giveover_core::time::Span;

use crate::board::serial::SerialError;
use crate::message::span;

/// Why hardware that may be there does not guard this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It cannot be opened.
    Open(SerialError),
    /// It was there, and is gone.
    Gone,
    /// It neither takes a time-out nor tells the one it has.
    NoTimeout(i32),
    /// It refuses this time-out; it has the other.
    TimeoutRefused {
        /// Ours.
        wanted: Span,
        /// Its own, where it tells.
        has: Option<Span>,
        /// The kernel's number.
        errno: i32,
    },
    /// It refuses to warn so long before the end.
    PretimeoutRefused {
        /// Ours.
        wanted: Span,
        /// The kernel's number.
        errno: i32,
    },
    /// It sounds an alarm at the end of its time and resets nothing.
    AlarmOnly,
    /// It takes no feed.
    NotFed(i32),
    /// Nobody answers.
    NoAnswer,
}

impl Trouble {
    /// Its word in `--json`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open(SerialError::Absent) => "port_absent",
            Self::Open(SerialError::NotTty) => "port_no_tty",
            Self::Open(SerialError::InUse) => "port_in_use",
            Self::Open(SerialError::NoRights) => "port_no_rights",
            Self::Open(SerialError::Os(_)) => "port_error",
            Self::Gone => "port_gone",
            Self::NoTimeout(_) => "no_timeout",
            Self::TimeoutRefused { .. } => "timeout_refused",
            Self::PretimeoutRefused { .. } => "pretimeout_refused",
            Self::AlarmOnly => "alarm_only",
            Self::NotFed(_) => "not_fed",
            Self::NoAnswer => "no_answer",
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Open(SerialError::Absent) | Self::Gone => {
                "is its module loaded, or is it plugged in?"
            }
            Self::Open(SerialError::NotTty) => "board.port is the serial port of the stick",
            Self::Open(SerialError::InUse) => {
                "another has it: a watchdog daemon, systemd's RuntimeWatchdogSec=, a modem manager"
            }
            Self::Open(SerialError::NoRights) => "run as root, or as a member of its group",
            Self::Open(SerialError::Os(_)) | Self::NotFed(_) => "the kernel's log may say more",
            Self::NoTimeout(_) => "board.port is a watchdog of the kernel's, as /dev/watchdog0",
            Self::TimeoutRefused { .. } => "board.timeout must suit its driver",
            Self::PretimeoutRefused { .. } => "take board.pretimeout out, or make it shorter",
            Self::AlarmOnly => "another driver, or another board, can reset this host",
            Self::NoAnswer => "is it a stick that speaks one byte a command, at 9600 baud?",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = |errno: i32| io::Error::from_raw_os_error(errno);
        let seconds = |span: Span| span::seconds(u64::from(span.as_millis()));
        match *self {
            Self::Open(error) => write!(f, "it {error}"),
            Self::Gone => f.write_str("it has gone"),
            Self::NoTimeout(errno) => {
                write!(f, "its time-out can neither be set nor read: {}", why(errno))
            }
            Self::TimeoutRefused { wanted, has, errno } => {
                write!(f, "it refuses a time-out of {}: {}", seconds(wanted), why(errno))?;
                has.map_or(Ok(()), |has| write!(f, "; it has {}", seconds(has)))
            }
            Self::PretimeoutRefused { wanted, errno } => {
                write!(f, "it cannot warn {} before the end: {}", seconds(wanted), why(errno))
            }
            Self::AlarmOnly => f.write_str("it only sounds an alarm, and resets nothing"),
            Self::NotFed(errno) => write!(f, "it takes no feed: {}", why(errno)),
            Self::NoAnswer => f.write_str("no answer"),
        }
    }
}
