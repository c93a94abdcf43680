//! What a board says.

use crate::board::{Counters, Entry, Layout, Refusal, Report, Settings};
use crate::bytes::{Put, Take};
use crate::time::Instant;
use crate::wire::connection::LinkCounters;
use crate::wire::tag::KeyId;

const CHALLENGE: u8 = 0x41;
const STATUS: u8 = 0x42;
const ANSWER: u8 = 0x43;
const SETTINGS: u8 = 0x44;
const COUNTERS: u8 = 0x45;
const ABOUT: u8 = 0x46;
const LOG: u8 = 0x47;
const LOG_END: u8 = 0x48;
const IMAGE: u8 = 0x49;

/// From board to host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromBoard {
    /// The answer to a hello. Tagged where the board has a key.
    Challenge {
        /// The device's own number.
        device: u64,
        /// The board's nonce.
        nonce: u64,
        /// Which key it has, if any.
        key: Option<KeyId>,
        /// What the first feed must answer.
        challenge: u32,
    },
    /// The answer to a feed, and when asked for.
    Status {
        /// What the next feed must answer.
        challenge: u32,
        /// What is seen on the lines.
        lines: Lines,
        /// How the machine stands.
        report: Report,
    },
    /// Done, or refused.
    Answer {
        /// The counter of the frame that is answered; zero for one without.
        to: u32,
        /// Why not, if not.
        refusal: Option<Refusal>,
    },
    /// The settings in force: an echo.
    Settings(Settings),
    /// What was counted.
    Counters {
        /// By the machine.
        board: Counters,
        /// On the line.
        link: LinkCounters,
    },
    /// What board this is.
    About(About),
    /// A log entry.
    Log(Entry),
    /// There is no entry of that number or later.
    LogEnd {
        /// Entries lost for want of room since the start.
        lost: u32,
    },
    /// Which image it runs: a number that no other image has.
    Image(u64),
}

impl FromBoard {
    /// The kind, without [`crate::wire::TAGGED`].
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Challenge { .. } => CHALLENGE,
            Self::Status { .. } => STATUS,
            Self::Answer { .. } => ANSWER,
            Self::Settings(_) => SETTINGS,
            Self::Counters { .. } => COUNTERS,
            Self::About(_) => ABOUT,
            Self::Log(_) => LOG,
            Self::LogEnd { .. } => LOG_END,
            Self::Image(_) => IMAGE,
        }
    }

    pub(in crate::wire) fn put(&self, out: &mut Put<'_>) {
        match self {
            Self::Challenge { device, nonce, key, challenge } => {
                Write::challenge(out, *device, *nonce, *key, *challenge)
            }
            Self::Status { challenge, lines, report } => {
                Write::status(out, *challenge, lines, report)
            }
            Self::Answer { to, refusal } => Write::answer(out, *to, *refusal),
            Self::Settings(settings) => Write::settings(out, settings),
            Self::Counters { board, link } => Write::counters(out, board, link),
            Self::About(about) => Write::about(out, about),
            Self::Log(entry) => Write::log(out, entry),
            Self::LogEnd { lost } => Write::log_end(out, *lost),
            Self::Image(image) => Write::image(out, *image),
        };
    }

    pub(in crate::wire) fn take(kind: u8, payload: &[u8]) -> Option<Self> {
        let mut from = Take::new(payload);
        let frame = match kind {
            CHALLENGE => {
                let (device, nonce) = (from.u64(), from.u64());
                let (has_key, id) = (from.bool(), KeyId(from.u16()));
                let key = if has_key { Some(id) } else { None };
                Self::Challenge { device, nonce, key, challenge: from.u32() }
            }
            STATUS => Self::Status {
                challenge: from.u32(),
                lines: Lines::take(&mut from)?,
                report: Report::take(&mut from)?,
            },
            ANSWER => {
                let to = from.u32();
                let refusal = match from.u8() {
                    0 => None,
                    number => Some(Refusal::of(number)?),
                };
                Self::Answer { to, refusal }
            }
            SETTINGS => Self::Settings(Settings::take(&mut from)?),
            COUNTERS => Self::Counters {
                board: Counters::take(&mut from)?,
                link: LinkCounters::take(&mut from)?,
            },
            ABOUT => Self::About(About::take(&mut from)?),
            LOG => Self::Log(Entry::take(&mut from)?),
            LOG_END => Self::LogEnd { lost: from.u32() },
            IMAGE => Self::Image(from.u64()),
            _ => return None,
        };
        from.end(frame)
    }
}

/// Writes the payload of a frame that was never made: a board has little room for one. Each says the
/// kind of its frame.
#[derive(Debug)]
pub enum Write {}

impl Write {
    pub(in crate::wire) fn challenge(
        out: &mut Put<'_>,
        device: u64,
        nonce: u64,
        key: Option<KeyId>,
        challenge: u32,
    ) -> u8 {
        out.u64(device);
        out.u64(nonce);
        out.u8(u8::from(key.is_some()));
        out.u16(key.map_or(0, |key| key.0));
        out.u32(challenge);
        CHALLENGE
    }

    /// [`FromBoard::Status`].
    pub fn status(out: &mut Put<'_>, challenge: u32, lines: &Lines, report: &Report) -> u8 {
        out.u32(challenge);
        lines.put(out);
        report.put(out);
        STATUS
    }

    /// [`FromBoard::Answer`].
    pub fn answer(out: &mut Put<'_>, to: u32, refusal: Option<Refusal>) -> u8 {
        out.u32(to);
        out.u8(refusal.map_or(0, Refusal::number));
        ANSWER
    }

    /// [`FromBoard::Settings`].
    pub fn settings(out: &mut Put<'_>, settings: &Settings) -> u8 {
        settings.put(out);
        SETTINGS
    }

    /// [`FromBoard::Counters`].
    pub fn counters(out: &mut Put<'_>, board: &Counters, link: &LinkCounters) -> u8 {
        board.put(out);
        link.put(out);
        COUNTERS
    }

    /// [`FromBoard::About`].
    pub fn about(out: &mut Put<'_>, about: &About) -> u8 {
        about.put(out);
        ABOUT
    }

    /// [`FromBoard::Log`].
    pub fn log(out: &mut Put<'_>, entry: &Entry) -> u8 {
        entry.put(out);
        LOG
    }

    /// [`FromBoard::LogEnd`].
    pub fn log_end(out: &mut Put<'_>, lost: u32) -> u8 {
        out.u32(lost);
        LOG_END
    }

    /// [`FromBoard::Image`].
    pub fn image(out: &mut Put<'_>, image: u64) -> u8 {
        out.u64(image);
        IMAGE
    }
}

/// What is seen on the board's pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The reset line is held by us.
    pub reset_held: bool,
    /// The reset line reads high; `None` where it cannot be read.
    pub reset_high: Option<bool>,
    /// The second line is to be on.
    pub second_on: bool,
    /// Its pin reads as on; `None` where it cannot be read.
    pub second_reads: Option<bool>,
}

/// What board this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The board's name, in ASCII, filled up with zeros.
    pub board: [u8; 12],
    /// The firmware's version.
    pub version: [u8; 3],
    /// Time since the board started.
    pub up: Instant,
    /// It started together with the host; else it was reset alone.
    pub power_up: bool,
    /// How often its own watchdog bit since power-up.
    pub bites: u32,
    /// Records in the store since its last erasure.
    pub store_used: u16,
    /// Records the store holds.
    pub store_size: u16,
}

impl Layout for Lines {
    fn put(&self, out: &mut Put<'_>) {
        // From the lowest bit: held, what the reset line reads, on, what the second line reads.
        let reset = u8::from(self.reset_held) | (reading(self.reset_high) << 1);
        out.u8(reset | (u8::from(self.second_on) << 3) | (reading(self.second_reads) << 4));
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        let bits = from.u8();
        let lines = Self {
            reset_held: bits & 1 != 0,
            reset_high: read(bits >> 1)?,
            second_on: bits & 8 != 0,
            second_reads: read(bits >> 4)?,
        };
        if bits >> 6 == 0 { Some(lines) } else { None }
    }
}

/// What a pin reads, in two bits: it can be read, and it is so.
const fn reading(reads: Option<bool>) -> u8 {
    match reads {
        None => 0,
        Some(false) => 1,
        Some(true) => 3,
    }
}

/// The same from the two lowest of these bits; no pin is high that cannot be read.
const fn read(bits: u8) -> Option<Option<bool>> {
    match bits & 3 {
        0 => Some(None),
        1 => Some(Some(false)),
        3 => Some(Some(true)),
        _ => None,
    }
}

impl Layout for About {
    fn put(&self, out: &mut Put<'_>) {
        out.bytes(&self.board);
        out.bytes(&self.version);
        out.instant(self.up);
        out.u8(u8::from(self.power_up));
        out.u32(self.bites);
        out.u16(self.store_used);
        out.u16(self.store_size);
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            board: from.array(),
            version: from.array(),
            up: from.instant(),
            power_up: from.bool(),
            bites: from.u32(),
            store_used: from.u16(),
            store_size: from.u16(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pins_read_is_one_byte_and_a_byte_that_means_nothing_is_refused() {
        let mut known = 0;
        for byte in 0..=u8::MAX {
            let mut from = Take::new(core::slice::from_ref(&byte));
            let Some(lines) = Lines::take(&mut from) else { continue };
            known += 1;
            let mut out = [0];
            lines.put(&mut Put::new(&mut out));
            assert_eq!(out, [byte], "{lines:?}");
        }
        assert_eq!(known, 2 * 3 * 2 * 3);
        // What a board said that could not read its second line.
        let old = Lines { reset_high: Some(true), second_on: true, ..Lines::default() };
        assert_eq!(Lines::take(&mut Take::new(&[0x0E])), Some(old));
        let both = Lines { second_reads: Some(true), ..old };
        assert_eq!(Lines::take(&mut Take::new(&[0x3E])), Some(both));
    }
}
