//! The board's vocabulary as bytes of a fixed layout, shared by durable records and frames.

use crate::bytes::{Put, Take};
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

impl Layout for Cause {
    fn put(&self, out: &mut Put<'_>) {
        out.u8(self.check);
        out.u8(self.phase as u8);
        out.u16(self.code);
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        let check = from.u8();
        let phase = Phase::ALL.get(usize::from(from.u8())).copied()?;
        Some(Self::of_check(check, phase, from.u16()))
    }
}

impl Layout for Why {
    fn put(&self, out: &mut Put<'_>) {
        let (number, service, cause) = match *self {
            Self::Silence => (0, 0, NO_CAUSE),
            Self::BadFeeds => (1, 0, NO_CAUSE),
            Self::NoBoot => (2, 0, NO_CAUSE),
            Self::Shadow { service } => (3, service, NO_CAUSE),
            Self::Giveover { service, cause } => (4, service, cause),
            Self::StopFailed { service, cause } => (5, service, cause),
            Self::Test => (6, 0, NO_CAUSE),
        };
        out.u8(number);
        out.u8(service);
        cause.put(out);
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        let (number, service, cause) = (from.u8(), from.u8(), Cause::take(from)?);
        match number {
            0 => Some(Self::Silence),
            1 => Some(Self::BadFeeds),
            2 => Some(Self::NoBoot),
            3 => Some(Self::Shadow { service }),
            4 => Some(Self::Giveover { service, cause }),
            5 => Some(Self::StopFailed { service, cause }),
            6 => Some(Self::Test),
            _ => None,
        }
    }
}

impl Layout for Settings {
    fn put(&self, out: &mut Put<'_>) {
        out.span(self.timeout);
        out.span(self.boot_grace);
        out.span(self.link_timeout);
        out.span(self.pulse);
        out.span(self.retry_interval);
        out.u8(self.retry_count);
        out.u8(self.second.number());
        out.u8(u8::from(self.nowayout));
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            timeout: from.span(),
            boot_grace: from.span(),
            link_timeout: from.span(),
            pulse: from.span(),
            retry_interval: from.span(),
            retry_count: from.u8(),
            second: Second::of(from.u8())?,
            nowayout: from.bool(),
        })
    }
}

impl Layout for Note {
    fn put(&self, out: &mut Put<'_>) {
        match *self {
            Self::Started { power_up } => pair(out, 0, u8::from(power_up)),
            Self::State(state) => pair(out, 1, state.number()),
            Self::NearMiss(ms) => word(out, 2, ms),
            Self::Early => out.u8(3),
            Self::Wrong => out.u8(4),
            Self::Intent { ticket, why } => {
                word(out, 5, ticket);
                why.put(out);
            }
            Self::Done { ticket } => word(out, 6, ticket),
            Self::Unproven { ticket } => word(out, 7, ticket),
            Self::LineRefused { ticket } => word(out, 8, ticket),
            Self::GivenOver { why, second } => {
                pair(out, 9, second.number());
                why.put(out);
            }
            Self::Cleared => out.u8(10),
            Self::Confirmed => out.u8(11),
            Self::Armed => out.u8(12),
            Self::Disarmed(ms) => word(out, 13, ms),
            Self::End(end) => pair(out, 14, end.number()),
            Self::Grace(ms) => word(out, 15, ms),
            Self::Configured => out.u8(16),
            Self::Refused(refusal) => pair(out, 17, refusal.number()),
            Self::Jumper(set) => pair(out, 18, u8::from(set)),
            Self::HostPower(on) => pair(out, 19, u8::from(on)),
            Self::Link(up) => pair(out, 20, u8::from(up)),
            Self::StoreFailed => out.u8(21),
            Self::ReadLow(ms) => word(out, 22, ms),
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

fn pair(out: &mut Put<'_>, number: u8, value: u8) {
    out.u8(number);
    out.u8(value);
}

fn word(out: &mut Put<'_>, number: u8, value: u32) {
    out.u8(number);
    out.u32(value);
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
