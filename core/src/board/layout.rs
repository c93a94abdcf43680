//! The board's vocabulary as bytes of a fixed layout, shared by durable records and frames.

use crate::bytes::{Put, Take, Way};
use crate::failure::{Cause, Phase};

use super::note::{Counters, Entry, LastReset, Note, Report};
use super::settings::Settings;
use super::words::{End, Refusal, Second, State, Why};

/// Stands for "none" where an optional number is written.
const NONE: u32 = u32::MAX;

/// Stands where no cause belongs.
const NO_CAUSE: Cause = Cause::of_check(0, Phase::Resolve, 0);

/// Something with a fixed layout.
pub trait Layout: Sized {
    /// Appends it.
    fn put(&self, out: &mut Put<'_>);
    /// Reads it; `None` where the bytes are none. Whether there were enough says [`Take::end`].
    fn take(from: &mut Take<'_>) -> Option<Self>;
}

/// Something small whose layout a board both writes and reads, said once for both ways.
pub(super) trait BothWays: Copy {
    /// What reading begins with.
    const BLANK: Self;

    /// All of it, one way or the other.
    fn go(&mut self, way: &mut Way<'_, '_>);
}

impl<T: BothWays> Layout for T {
    fn put(&self, out: &mut Put<'_>) {
        let mut same = *self;
        same.go(&mut Way::Put(out));
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        let mut read = Self::BLANK;
        read.go(&mut Way::Take(from));
        from.sound(read)
    }
}

impl BothWays for Cause {
    const BLANK: Self = NO_CAUSE;

    fn go(&mut self, way: &mut Way<'_, '_>) {
        let mut phase = self.phase as u8;
        way.u8(&mut self.check);
        way.u8(&mut phase);
        way.u16(&mut self.code);
        match Phase::ALL.get(usize::from(phase)) {
            Some(phase) => self.phase = *phase,
            None => way.refuse(),
        }
    }
}

impl BothWays for Why {
    const BLANK: Self = Self::Silence;

    #[inline(never)]
    fn go(&mut self, way: &mut Way<'_, '_>) {
        let (mut number, mut service, mut cause) = match *self {
            Self::Silence => (0, 0, NO_CAUSE),
            Self::BadFeeds => (1, 0, NO_CAUSE),
            Self::NoBoot => (2, 0, NO_CAUSE),
            Self::Shadow { service } => (3, service, NO_CAUSE),
            Self::Giveover { service, cause } => (4, service, cause),
            Self::StopFailed { service, cause } => (5, service, cause),
            Self::Test => (6, 0, NO_CAUSE),
        };
        way.u8(&mut number);
        way.u8(&mut service);
        cause.go(way);
        *self = match number {
            0 => Self::Silence,
            1 => Self::BadFeeds,
            2 => Self::NoBoot,
            3 => Self::Shadow { service },
            4 => Self::Giveover { service, cause },
            5 => Self::StopFailed { service, cause },
            6 => Self::Test,
            _ => return way.refuse(),
        };
    }
}

impl BothWays for Settings {
    const BLANK: Self = Self::DEFAULT;

    #[inline(never)]
    fn go(&mut self, way: &mut Way<'_, '_>) {
        way.span(&mut self.timeout);
        way.span(&mut self.boot_grace);
        way.span(&mut self.link_timeout);
        way.span(&mut self.pulse);
        way.span(&mut self.retry_interval);
        way.u8(&mut self.retry_count);
        let mut second = self.second.number();
        way.u8(&mut second);
        match Second::of(second) {
            Some(second) => self.second = second,
            None => way.refuse(),
        }
        way.bool(&mut self.nowayout);
    }
}

impl Note {
    const fn number(&self) -> u8 {
        match self {
            Self::Started { .. } => 0,
            Self::State(_) => 1,
            Self::NearMiss(_) => 2,
            Self::Early => 3,
            Self::Wrong => 4,
            Self::Intent { .. } => 5,
            Self::Done { .. } => 6,
            Self::Unproven { .. } => 7,
            Self::LineRefused { .. } => 8,
            Self::GivenOver { .. } => 9,
            Self::Cleared => 10,
            Self::Confirmed => 11,
            Self::Armed => 12,
            Self::Disarmed(_) => 13,
            Self::End(_) => 14,
            Self::Grace(_) => 15,
            Self::Configured => 16,
            Self::Refused(_) => 17,
            Self::Jumper(_) => 18,
            Self::HostPower(_) => 19,
            Self::Link(_) => 20,
            Self::StoreFailed => 21,
            Self::ReadLow(_) => 22,
        }
    }
}

impl Layout for Note {
    fn put(&self, out: &mut Put<'_>) {
        out.u8(self.number());
        match *self {
            Self::Started { power_up: set }
            | Self::Jumper(set)
            | Self::HostPower(set)
            | Self::Link(set) => out.u8(u8::from(set)),
            Self::State(state) => out.u8(state.number()),
            Self::End(end) => out.u8(end.number()),
            Self::Refused(refusal) => out.u8(refusal.number()),
            Self::NearMiss(word)
            | Self::Done { ticket: word }
            | Self::Unproven { ticket: word }
            | Self::LineRefused { ticket: word }
            | Self::Disarmed(word)
            | Self::Grace(word)
            | Self::ReadLow(word) => out.u32(word),
            Self::Intent { ticket, why } => {
                out.u32(ticket);
                why.put(out);
            }
            Self::GivenOver { why, second } => {
                out.u8(second.number());
                why.put(out);
            }
            Self::Early
            | Self::Wrong
            | Self::Cleared
            | Self::Confirmed
            | Self::Armed
            | Self::Configured
            | Self::StoreFailed => {}
        }
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(match from.u8() {
            0 => Self::Started { power_up: from.bool() },
            1 => Self::State(State::of(from.u8())?),
            2 => Self::NearMiss(from.u32()),
            3 => Self::Early,
            4 => Self::Wrong,
            5 => Self::Intent { ticket: from.u32(), why: Why::take(from)? },
            6 => Self::Done { ticket: from.u32() },
            7 => Self::Unproven { ticket: from.u32() },
            8 => Self::LineRefused { ticket: from.u32() },
            9 => {
                let second = Second::of(from.u8())?;
                Self::GivenOver { why: Why::take(from)?, second }
            }
            10 => Self::Cleared,
            11 => Self::Confirmed,
            12 => Self::Armed,
            13 => Self::Disarmed(from.u32()),
            14 => Self::End(End::of(from.u8())?),
            15 => Self::Grace(from.u32()),
            16 => Self::Configured,
            17 => Self::Refused(Refusal::of(from.u8())?),
            18 => Self::Jumper(from.bool()),
            19 => Self::HostPower(from.bool()),
            20 => Self::Link(from.bool()),
            21 => Self::StoreFailed,
            22 => Self::ReadLow(from.u32()),
            _ => return None,
        })
    }
}

impl Layout for Entry {
    #[inline(never)]
    fn put(&self, out: &mut Put<'_>) {
        out.u32(self.number);
        out.instant(self.at);
        self.note.put(out);
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self { number: from.u32(), at: from.instant(), note: Note::take(from)? })
    }
}

impl Layout for Counters {
    fn put(&self, out: &mut Put<'_>) {
        out.u32(self.feeds);
        out.u32(self.near_misses);
        out.u32(self.longest_gap_ms);
        out.u32(self.early);
        out.u32(self.wrong);
        out.u32(self.refused);
        out.u32(self.store_failures);
        out.u32(self.clock_went_back);
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            feeds: from.u32(),
            near_misses: from.u32(),
            longest_gap_ms: from.u32(),
            early: from.u32(),
            wrong: from.u32(),
            refused: from.u32(),
            store_failures: from.u32(),
            clock_went_back: from.u32(),
        })
    }
}

impl Layout for LastReset {
    fn put(&self, out: &mut Put<'_>) {
        self.why.put(out);
        out.u32(self.ago_ms);
        optional(out, self.up_after_ms);
        optional(out, self.confirmed_after_ms);
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            why: Why::take(from)?,
            ago_ms: from.u32(),
            up_after_ms: take_optional(from),
            confirmed_after_ms: take_optional(from),
        })
    }
}

impl Layout for Report {
    #[inline(never)]
    fn put(&self, out: &mut Put<'_>) {
        out.u8(self.state.number());
        let (held, last) = (self.held.is_some(), self.last.is_some());
        let flags = [self.armed, self.jumper, self.host_power, self.store_ok, held, last];
        out.u8(flags.iter().rev().fold(0, |all, flag| (all << 1) | u8::from(*flag)));
        optional(out, self.left_ms);
        optional(out, self.fed_ago_ms);
        out.u16(self.failure_sum);
        out.u8(self.resets);
        out.u32(self.resets_ever);
        if let Some(held) = &self.held {
            held.put(out);
        }
        if let Some(last) = &self.last {
            last.put(out);
        }
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        let state = State::of(from.u8())?;
        let flags = from.u8();
        if flags & 0b1100_0000 != 0 {
            return None;
        }
        Some(Self {
            state,
            armed: flags & 1 != 0,
            jumper: flags & 2 != 0,
            host_power: flags & 4 != 0,
            store_ok: flags & 8 != 0,
            left_ms: take_optional(from),
            fed_ago_ms: take_optional(from),
            failure_sum: from.u16(),
            resets: from.u8(),
            resets_ever: from.u32(),
            held: if flags & 16 == 0 { None } else { Some(Why::take(from)?) },
            last: if flags & 32 == 0 { None } else { Some(LastReset::take(from)?) },
        })
    }
}

fn optional(out: &mut Put<'_>, value: Option<u32>) {
    out.u32(value.map_or(NONE, |value| value.min(NONE - 1)));
}

fn take_optional(from: &mut Take<'_>) -> Option<u32> {
    match from.u32() {
        NONE => None,
        value => Some(value),
    }
}
