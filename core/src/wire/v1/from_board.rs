//! What a board says.

use crate::board::{Counters, Entry, Layout, Refusal, Report, Settings};
use crate::bytes::{Put, Take};
use crate::time::Instant;
use crate::wire::connection::LinkCounters;
use crate::wire::tag::KeyId;

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
            Self::Challenge { .. } => 0x41,
            Self::Status { .. } => 0x42,
            Self::Answer { .. } => 0x43,
            Self::Settings(_) => 0x44,
            Self::Counters { .. } => 0x45,
            Self::About(_) => 0x46,
            Self::Log(_) => 0x47,
            Self::LogEnd { .. } => 0x48,
            Self::Image(_) => 0x49,
        }
    }

    pub(in crate::wire) fn put(&self, out: &mut Put<'_>) {
        match self {
            Self::Challenge { device, nonce, key, challenge } => {
                out.u64(*device);
                out.u64(*nonce);
                out.u8(u8::from(key.is_some()));
                out.u16(key.map_or(0, |key| key.0));
                out.u32(*challenge);
            }
            Self::Status { challenge, lines, report } => {
                out.u32(*challenge);
                lines.put(out);
                report.put(out);
            }
            Self::Answer { to, refusal } => {
                out.u32(*to);
                out.u8(refusal.map_or(0, Refusal::number));
            }
            Self::Settings(settings) => settings.put(out),
            Self::Counters { board, link } => {
                board.put(out);
                link.put(out);
            }
            Self::About(about) => about.put(out),
            Self::Log(entry) => entry.put(out),
            Self::LogEnd { lost } => out.u32(*lost),
            Self::Image(image) => out.u64(*image),
        }
    }

    pub(in crate::wire) fn take(kind: u8, payload: &[u8]) -> Option<Self> {
        let mut from = Take::new(payload);
        let frame = match kind {
            0x41 => {
                let (device, nonce) = (from.u64(), from.u64());
                let (has_key, id) = (from.bool(), KeyId(from.u16()));
                let key = if has_key { Some(id) } else { None };
                Self::Challenge { device, nonce, key, challenge: from.u32() }
            }
            0x42 => Self::Status {
                challenge: from.u32(),
                lines: Lines::take(&mut from)?,
                report: Report::take(&mut from)?,
            },
            0x43 => {
                let to = from.u32();
                let refusal = match from.u8() {
                    0 => None,
                    number => Some(Refusal::of(number)?),
                };
                Self::Answer { to, refusal }
            }
            0x44 => Self::Settings(Settings::take(&mut from)?),
            0x45 => Self::Counters {
                board: Counters::take(&mut from)?,
                link: LinkCounters::take(&mut from)?,
            },
            0x46 => Self::About(About::take(&mut from)?),
            0x47 => Self::Log(Entry::take(&mut from)?),
            0x48 => Self::LogEnd { lost: from.u32() },
            0x49 => Self::Image(from.u64()),
            _ => return None,
        };
        from.end(frame)
    }
}

/// What is seen on the board's pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The reset line is held by us.
    pub reset_held: bool,
    /// The reset line reads high; `None` where it cannot be read.
    pub reset_high: Option<bool>,
    /// The second line is on.
    pub second_on: bool,
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
        let reads = match self.reset_high {
            None => 0,
            Some(false) => 2,
            Some(true) => 6,
        };
        out.u8(u8::from(self.reset_held) | reads | (u8::from(self.second_on) << 3));
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        let bits = from.u8();
        let reset_high = match bits & 6 {
            0 => None,
            2 => Some(false),
            6 => Some(true),
            _ => return None,
        };
        let lines = Self { reset_held: bits & 1 != 0, reset_high, second_on: bits & 8 != 0 };
        if bits & 0xF0 == 0 { Some(lines) } else { None }
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
