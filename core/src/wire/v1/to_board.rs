//! What a host says.

use crate::board::{End, Layout, Request, Settings, Verdict, Why};
use crate::bytes::{Put, Take};
use crate::time::{Instant, Span};
use crate::wire::tag::Key;

use super::event::EventBytes;

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
    /// Other settings; echoed as [`super::FromBoard::Settings`].
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
    /// Fence the peer that the second line is wired to.
    Fence,
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
    /// [`super::FromBoard::Status`].
    Status = 0,
    /// [`super::FromBoard::Counters`].
    Counters = 1,
    /// [`super::FromBoard::About`].
    About = 2,
    /// [`super::FromBoard::Settings`].
    Settings = 3,
    /// [`super::FromBoard::Image`].
    Image = 4,
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
            Self::Fence => Request::Fence,
            Self::Hello { .. }
            | Self::Ask(_)
            | Self::Feed { .. }
            | Self::ReadLog { .. }
            | Self::FlushLog { .. }
            | Self::Pair(_)
            | Self::Shadow { .. } => return None,
        })
    }

    /// The kind, without [`crate::wire::TAGGED`].
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
            Self::Fence => 0x10,
        }
    }

    pub(in crate::wire) fn put(&self, out: &mut Put<'_>) {
        match self {
            Self::Arm | Self::Confirm | Self::Clear | Self::Fence => {}
            Self::Hello { nonce } => out.u64(*nonce),
            Self::Ask(ask) => out.u8(*ask as u8),
            Self::Feed { answer, verdict } => {
                out.u32(*answer);
                out.u8(verdict.number());
            }
            Self::Disarm { span } | Self::Grace { span } => out.span(*span),
            Self::End(end) => out.u8(end.number()),
            Self::Configure(settings) => settings.put(out),
            Self::Reset(why) => why.put(out),
            Self::ReadLog { from: number } | Self::FlushLog { through: number } => out.u32(*number),
            Self::Pair(key) => out.bytes(key.bytes()),
            Self::Shadow { service, at, event } => {
                out.u8(*service);
                out.instant(*at);
                out.bytes(event.as_slice());
            }
        }
    }

    /// Becomes the frame of these bytes, which saves a small machine to carry it about. `None` where
    /// they are none; then it is any.
    #[inline(never)]
    pub(in crate::wire) fn take_into(&mut self, kind: u8, payload: &[u8]) -> Option<()> {
        let mut from = Take::new(payload);
        *self = match kind {
            0x01 => Self::Hello { nonce: from.u64() },
            0x02 => Self::Ask(match from.u8() {
                0 => Ask::Status,
                1 => Ask::Counters,
                2 => Ask::About,
                3 => Ask::Settings,
                4 => Ask::Image,
                _ => return None,
            }),
            0x03 => Self::Feed { answer: from.u32(), verdict: Verdict::of(from.u8())? },
            0x04 => Self::Arm,
            0x05 => Self::Disarm { span: from.span() },
            0x06 => Self::Grace { span: from.span() },
            0x07 => Self::End(End::of(from.u8())?),
            0x08 => Self::Configure(Settings::take(&mut from)?),
            0x09 => Self::Confirm,
            0x0A => Self::Reset(Why::take(&mut from).filter(|why| why.can_be_asked())?),
            0x0B => Self::ReadLog { from: from.u32() },
            0x0C => Self::FlushLog { through: from.u32() },
            0x0D => Self::Clear,
            0x0E => Self::Pair(Key::new(from.array())),
            0x10 => Self::Fence,
            0x0F => Self::Shadow {
                service: from.u8(),
                at: from.instant(),
                event: EventBytes::take(&mut from)?,
            },
            _ => return None,
        };
        from.end(())
    }
}
