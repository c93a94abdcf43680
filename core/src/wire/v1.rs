//! What host and board say to each other, version 1, as bytes of a fixed layout.

mod event;

use crate::board::{
    Counters, End, Entry, Layout, Refusal, Report, Request, Settings, Verdict, Why,
};
use crate::bytes::{Put, Take};
use crate::time::{Instant, Span};

use super::end::LinkCounters;
use super::tag::{Key, KeyId};

pub use event::EventBytes;

/// From host to board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToBoard {
    /// A new connection is wanted. Never tagged.
    Hello {
        /// Never used before.
        nonce: u64,
    },
    /// Tell me; changes nothing.
    Ask(Ask),
    /// The host lives (L1).
    Feed {
        /// The board's newest challenge.
        answer: u32,
        /// What the host thinks of its services.
        verdict: Verdict,
    },
    /// Guard this host, from its next feed on. Ends a disarm.
    Arm,
    /// Leave it alone for a while; it arms itself again (L7).
    Disarm {
        /// At most 15 minutes in any 60.
        span: Span,
    },
    /// The grace under way, or the next one, lasts this long.
    Grace {
        /// At most an hour.
        span: Span,
    },
    /// The host will stop feeding, and that is no failure (L12).
    End(End),
    /// Other settings; echoed as [`FromBoard::Settings`].
    Configure(Settings),
    /// The host has booted well (L6).
    Confirm,
    /// Reset this host now, within the budget.
    Reset(Why),
    /// The oldest log entry of this number or later is wanted; changes nothing.
    ReadLog {
        /// The number.
        from: u32,
    },
    /// The host has all entries up to and with this one.
    FlushLog {
        /// Its number.
        through: u32,
    },
    /// Forget all resets, and let go of a held line.
    Clear,
    /// A key for a board that has none, or whose jumper is set. Never tagged.
    Pair(Key),
    /// A shadowed service's monitor was fed this event (L10).
    Shadow {
        /// The service's number.
        service: u8,
        /// When, on the host's time line.
        at: Instant,
        /// The event.
        event: EventBytes,
    },
}

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ask {
    /// [`FromBoard::Status`].
    Status = 0,
    /// [`FromBoard::Counters`].
    Counters = 1,
    /// [`FromBoard::About`].
    About = 2,
    /// [`FromBoard::Settings`].
    Settings = 3,
}

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

impl ToBoard {
    /// Whether a board takes it without a tag: it changes nothing, or comes before any key.
    #[must_use]
    pub const fn goes_untagged(&self) -> bool {
        matches!(self, Self::Hello { .. } | Self::Ask(_) | Self::ReadLog { .. } | Self::Pair(_))
    }

    /// What it asks of the machine; `None` for what is the link's, the log's or the shadows'.
    #[must_use]
    pub const fn request(&self) -> Option<Request> {
        Some(match *self {
            Self::Arm => Request::Arm,
            Self::Disarm { span } => Request::Disarm(span),
            Self::Grace { span } => Request::Grace(span),
            Self::End(end) => Request::End(end),
            Self::Configure(settings) => Request::Configure(settings),
            Self::Confirm => Request::Confirm,
            Self::Reset(why) => Request::Reset(why),
            Self::Clear => Request::Clear,
            Self::Hello { .. }
            | Self::Ask(_)
            | Self::Feed { .. }
            | Self::ReadLog { .. }
            | Self::FlushLog { .. }
            | Self::Pair(_)
            | Self::Shadow { .. } => return None,
        })
    }

    /// The kind, without [`super::TAGGED`].
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => 0x01,
            Self::Ask(_) => 0x02,
            Self::Feed { .. } => 0x03,
            Self::Arm => 0x04,
            Self::Disarm { .. } => 0x05,
            Self::Grace { .. } => 0x06,
            Self::End(_) => 0x07,
            Self::Configure(_) => 0x08,
            Self::Confirm => 0x09,
            Self::Reset(_) => 0x0A,
            Self::ReadLog { .. } => 0x0B,
            Self::FlushLog { .. } => 0x0C,
            Self::Clear => 0x0D,
            Self::Pair(_) => 0x0E,
            Self::Shadow { .. } => 0x0F,
        }
    }

    pub(super) fn put(&self, out: &mut Put<'_>) {
        match self {
            Self::Arm | Self::Confirm | Self::Clear => {}
            Self::Hello { nonce } => out.u64(*nonce),
            Self::Ask(ask) => out.u8(*ask as u8),
            Self::Feed { answer, verdict } => {
                out.u32(*answer);
                out.u8(verdict.number());
            }
            Self::Disarm { span } | Self::Grace { span } => span.put(out),
            Self::End(end) => out.u8(end.number()),
            Self::Configure(settings) => settings.put(out),
            Self::Reset(why) => why.put(out),
            Self::ReadLog { from: number } | Self::FlushLog { through: number } => out.u32(*number),
            Self::Pair(key) => out.bytes(key.bytes()),
            Self::Shadow { service, at, event } => {
                out.u8(*service);
                at.put(out);
                out.bytes(event.as_slice());
            }
        }
    }

    pub(super) fn take(kind: u8, payload: &[u8]) -> Option<Self> {
        let mut from = Take::new(payload);
        let frame = match kind {
            0x01 => Self::Hello { nonce: from.u64()? },
            0x02 => Self::Ask(match from.u8()? {
                0 => Ask::Status,
                1 => Ask::Counters,
                2 => Ask::About,
                3 => Ask::Settings,
                _ => return None,
            }),
            0x03 => Self::Feed { answer: from.u32()?, verdict: Verdict::of(from.u8()?)? },
            0x04 => Self::Arm,
            0x05 => Self::Disarm { span: Span::take(&mut from)? },
            0x06 => Self::Grace { span: Span::take(&mut from)? },
            0x07 => Self::End(End::of(from.u8()?)?),
            0x08 => Self::Configure(Settings::take(&mut from)?),
            0x09 => Self::Confirm,
            0x0A => Self::Reset(Why::take(&mut from).filter(|why| why.can_be_asked())?),
            0x0B => Self::ReadLog { from: from.u32()? },
            0x0C => Self::FlushLog { through: from.u32()? },
            0x0D => Self::Clear,
            0x0E => Self::Pair(Key::new(from.array()?)),
            0x0F => Self::Shadow {
                service: from.u8()?,
                at: Instant::take(&mut from)?,
                event: EventBytes::take(&mut from)?,
            },
            _ => return None,
        };
        from.end(frame)
    }
}

impl FromBoard {
    /// The kind, without [`super::TAGGED`].
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
        }
    }

    pub(super) fn put(&self, out: &mut Put<'_>) {
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
        }
    }

    pub(super) fn take(kind: u8, payload: &[u8]) -> Option<Self> {
        let mut from = Take::new(payload);
        let frame = match kind {
            0x41 => {
                let (device, nonce) = (from.u64()?, from.u64()?);
                let (has_key, id) = (from.bool()?, KeyId(from.u16()?));
                let key = if has_key { Some(id) } else { None };
                Self::Challenge { device, nonce, key, challenge: from.u32()? }
            }
            0x42 => Self::Status {
                challenge: from.u32()?,
                lines: Lines::take(&mut from)?,
                report: Report::take(&mut from)?,
            },
            0x43 => {
                let to = from.u32()?;
                let refusal = match from.u8()? {
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
            0x48 => Self::LogEnd { lost: from.u32()? },
            _ => return None,
        };
        from.end(frame)
    }
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
        let bits = from.u8()?;
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
        self.up.put(out);
        out.u8(u8::from(self.power_up));
        out.u32(self.bites);
        out.u16(self.store_used);
        out.u16(self.store_size);
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            board: from.array()?,
            version: from.array()?,
            up: Instant::take(from)?,
            power_up: from.bool()?,
            bites: from.u32()?,
            store_used: from.u16()?,
            store_size: from.u16()?,
        })
    }
}
