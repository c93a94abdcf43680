//! One failed result, what it weighs, and why it failed.

use crate::time::Instant;
use crate::weight::Weight;

/// What one cycle over a service's checks found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ProbeResult {
    /// Every check passed.
    Healthy,
    /// A part of a failure, or all of one.
    Failed(Weight, Cause),
    /// A result that skips the restart and asks for giveover (R6).
    Immediate(Cause),
    /// The checks could not run: our own lack, not the service's. Counts nothing (R21).
    CannotMeasure(Cause),
    /// We were not running while the probe was: neither a failure nor proof of health (R21).
    Void,
}

/// Why a result failed: which check, in which phase, and with which code.
///
/// Four bytes, so that every record of a history keeps its own. The words for people are made
/// from it by whoever knows the checks' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Cause {
    /// Place of the check in its service's list; [`Cause::NO_CHECK`] where no check was involved.
    pub check: u8,
    /// How far the probe got.
    pub phase: Phase,
    /// What was seen there; its meaning is the phase's (see [`Phase`]).
    pub code: u16,
}

impl Cause {
    /// Stands for "no check": deaths, reports, start and stop methods.
    pub const NO_CHECK: u8 = u8::MAX;
    /// Added to a signal number in [`Cause::code`] of `Exit`, `Died`, `Start` and `Stop`.
    pub const SIGNAL: u16 = 0x100;
    /// The code of `Exit`, `Start` and `Stop` where the deadline came before the end.
    pub const TIMED_OUT: u16 = 0x200;
    /// The code of `Died` where nobody could say how: the process was not our child.
    pub const UNKNOWN: u16 = 0x300;
    /// Added to an errno in the code of `Exit`, `Start` and `Stop`: it could not be run at all.
    pub const ERRNO: u16 = 0x400;

    /// A cause of the check numbered `check`.
    #[must_use]
    pub const fn of_check(check: u8, phase: Phase, code: u16) -> Self {
        Self { check, phase, code }
    }

    /// A cause that no check found.
    #[must_use]
    pub const fn new(phase: Phase, code: u16) -> Self {
        Self { check: Self::NO_CHECK, phase, code }
    }
}

/// How far a probe got before it failed, or which event took its place.
///
/// `code` beside it means: an errno for `Resolve` to `Close` (ETIMEDOUT for a deadline that
/// passed), the protocol's own status for `Answer` (404 for HTTP; where a
/// protocol answers with words, the word's place in a list), the exit status or
/// [`Cause::SIGNAL`] plus the signal for `Exit`, `Died`, `Start` and `Stop` (there also
/// [`Cause::TIMED_OUT`], [`Cause::UNKNOWN`] and [`Cause::ERRNO`] plus an errno), the reporter's
/// weight for `Reported`, zero otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum Phase {
    /// Looking up the name.
    Resolve,
    /// Making the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Sending the request.
    Send,
    /// Reading the answer: late, cut or none.
    Read,
    /// A complete answer, but not the expected one.
    Answer,
    /// Closing the connection.
    Close,
    /// The exit of a check command.
    Exit,
    /// No answer at all where there is no connection.
    Silence,
    /// The service's process ended and nobody had asked for it.
    Died,
    /// The start method.
    Start,
    /// The stop method.
    Stop,
    /// A report from outside, `giveover notify`.
    Reported,
}

impl Phase {
    /// How many phases there are; totals are kept one for each.
    pub const COUNT: usize = 13;

    /// All phases in their order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Resolve,
        Self::Connect,
        Self::Tls,
        Self::Send,
        Self::Read,
        Self::Answer,
        Self::Close,
        Self::Exit,
        Self::Silence,
        Self::Died,
        Self::Start,
        Self::Stop,
        Self::Reported,
    ];

    /// The phase's word in configuration, logs and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Read => "read",
            Self::Answer => "answer",
            Self::Close => "close",
            Self::Exit => "exit",
            Self::Silence => "silence",
            Self::Died => "died",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Reported => "reported",
        }
    }
}

/// A record of the failure history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Failure {
    /// When it was decided that this counts.
    pub at: Instant,
    /// What it counts.
    pub weight: Weight,
    /// Why.
    pub cause: Cause,
}

impl Failure {
    /// What unused storage is filled with; never read.
    pub const BLANK: Self = Self {
        at: Instant::from_millis(0),
        weight: Weight::LEAST,
        cause: Cause::new(Phase::Reported, 0),
    };
}
