//! What outlives a loss of power: one record, written whole, newest wins.

use crate::bytes::{Put, Take, Way, crc32};
use crate::time::Instant;

use super::layout::BothWays;
use super::settings::Settings;
use super::words::Why;

/// The resets a board remembers, oldest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resets {
    at: [Instant; Settings::MOST_RESETS as usize],
    count: u8,
}

impl Resets {
    /// None.
    pub const NONE: Self =
        Self { at: [Instant::from_millis(0); Settings::MOST_RESETS as usize], count: 0 };

    /// Those of `times`, oldest first; of more than [`Settings::MOST_RESETS`] the first.
    #[must_use]
    pub fn of(times: impl Iterator<Item = Instant>) -> Self {
        let mut resets = Self::NONE;
        resets.set(times);
        resets
    }

    /// Becomes those of `times`, in place.
    pub(super) fn set(&mut self, mut times: impl Iterator<Item = Instant>) {
        self.count = 0;
        for slot in &mut self.at {
            let next = times.next();
            self.count = self.count.wrapping_add(u8::from(next.is_some()));
            *slot = next.unwrap_or_default();
        }
    }

    /// When they were, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Instant> + '_ {
        self.at.iter().copied().take(usize::from(self.count))
    }

    /// How many.
    #[must_use]
    pub const fn count(&self) -> u8 {
        self.count
    }
}

/// The newest reset, for the distance to the next and for status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newest {
    /// When the line was held, or was to be.
    pub at: Instant,
    /// Why.
    pub why: Why,
}

/// The durable record of a board.
///
/// Firmware puts it into retained RAM and into its flash ring, and gives the one that
/// [`Durable::settle`] chooses to [`super::Board::start`]. Times are powered time: the board's own
/// line, which goes on at [`Durable::powered`] after a loss of power.
///
/// # Units
/// [`Durable::BYTES`] of a fixed layout, little-endian: version, flags, number of resets, zero;
/// number; resets ever; reasons of the newest reset and of a held line; settings; zero; powered
/// time, the proof, the newest reset and the resets, 8 bytes each; CRC-32. Bytes that are all
/// zero or all one are none.
// In this order because a Cortex-M0 reaches what is near by one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Durable {
    /// The settings in force.
    pub settings: Settings,
    /// Counts records; of two the higher is newer.
    pub number: u32,
    /// Resets ever intended; the newest one's number.
    pub ever: u32,
    /// The host wants to be guarded.
    pub armed: bool,
    /// It was guarded, or booting under guard, when this was made.
    pub guarding: bool,
    /// The newest reset was intended, and not yet seen done.
    pub intent: bool,
    /// Given over: why.
    pub held: Option<Why>,
    /// The newest reset.
    pub newest: Option<Newest>,
    /// When a good boot was last confirmed.
    pub proven: Option<Instant>,
    /// The board's time when this was made.
    pub powered: Instant,
    /// The resets that count, oldest first.
    pub resets: Resets,
}

/// Why bytes are no record. Nothing was read of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurableError {
    /// Never written, torn, or upset.
    Malformed,
    /// Written by a newer version.
    Newer(u8),
}

const ARMED: u8 = 1;
const GUARDING: u8 = 2;
const HELD: u8 = 4;
const INTENT: u8 = 8;
const NEWEST: u8 = 16;
const PROVEN: u8 = 32;

impl Durable {
    /// How long a record is: a multiple of a flash word.
    pub const BYTES: usize = 140;

    /// The version written.
    pub const VERSION: u8 = 1;

    /// What a board has that was never configured: it is not armed.
    pub const NEW: Self = Self {
        number: 0,
        powered: Instant::from_millis(0),
        armed: false,
        guarding: false,
        held: None,
        intent: false,
        ever: 0,
        newest: None,
        proven: None,
        resets: Resets::NONE,
        settings: Settings::DEFAULT,
    };

    /// The record as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let mut same = *self;
        same.encode_into(&mut bytes);
        bytes
    }

    /// The record as bytes in the caller's place, for a small stack. It stays as it is.
    #[inline(never)]
    pub fn encode_into(&mut self, bytes: &mut [u8; Self::BYTES]) {
        let Some((body, crc)) = bytes.split_last_chunk_mut::<4>() else { return };
        self.go(&mut Way::Put(&mut Put::new(body)));
        *crc = crc32(body).to_le_bytes();
    }

    /// The record of `bytes`.
    ///
    /// # Errors
    /// See [`DurableError`].
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, DurableError> {
        let mut record = Self::NEW;
        record.decode_into(bytes).map(|()| record)
    }

    /// Becomes the record of `bytes`, for a small machine; where they are none it is any.
    ///
    /// # Errors
    /// As above.
    pub fn decode_into(&mut self, bytes: &[u8; Self::BYTES]) -> Result<(), DurableError> {
        let (body, crc) = bytes.split_last_chunk::<4>().ok_or(DurableError::Malformed)?;
        if crc32(body) != u32::from_le_bytes(*crc) {
            return Err(DurableError::Malformed);
        }
        match body.first() {
            Some(&Self::VERSION) => self.read(body).ok_or(DurableError::Malformed),
            Some(&newer) if newer > Self::VERSION => Err(DurableError::Newer(newer)),
            _ => Err(DurableError::Malformed),
        }
    }

    fn read(&mut self, body: &[u8]) -> Option<()> {
        let mut from = Take::new(body);
        self.go(&mut Way::Take(&mut from));
        from.end(())
    }

    #[inline(never)]
    fn go(&mut self, way: &mut Way<'_, '_>) {
        let never = Newest { at: Instant::from_millis(0), why: Why::Silence };
        let mut newest = self.newest.unwrap_or(never);
        let mut held = self.held.unwrap_or(Why::Silence);
        let mut proven = self.proven.unwrap_or(never.at);
        let flag = |set, bit| if set { bit } else { 0 };
        let mut flags = flag(self.armed, ARMED)
            | flag(self.guarding, GUARDING)
            | flag(self.held.is_some(), HELD)
            | flag(self.intent, INTENT)
            | flag(self.newest.is_some(), NEWEST)
            | flag(self.proven.is_some(), PROVEN);

        way.u8(&mut { Self::VERSION }); // has been looked at
        way.u8(&mut flags);
        way.u8(&mut self.resets.count);
        way.u8(&mut 0);
        way.u32(&mut self.number);
        way.u32(&mut self.ever);
        newest.why.go(way);
        held.go(way);
        self.settings.go(way);
        way.u8(&mut 0);
        way.instant(&mut self.powered);
        way.instant(&mut proven);
        way.instant(&mut newest.at);
        self.resets.at.iter_mut().for_each(|at| way.instant(at));

        self.armed = flags & ARMED != 0;
        self.guarding = flags & GUARDING != 0;
        self.intent = flags & INTENT != 0;
        self.held = if flags & HELD != 0 { Some(held) } else { None };
        self.newest = if flags & NEWEST != 0 { Some(newest) } else { None };
        self.proven = if flags & PROVEN != 0 { Some(proven) } else { None };
        let known = flags >> 6 == 0 && self.resets.count <= Settings::MOST_RESETS;
        if !known || !self.settings.are_possible() {
            way.refuse();
        }
    }

    /// The record to go by, of those that two tiers of memory kept; of more than two, settle two
    /// and then the next.
    ///
    /// The one that knows of more resets: the count is never lowered. Of two that know of as many
    /// the newer. Time goes on from the later of both.
    #[must_use]
    pub fn settle(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(mut one), Some(other)) = (one, other) else { return one.or(other) };
        one.settle_with(&other);
        Some(one)
    }

    /// The same in place, for a small stack: this record becomes the one to go by.
    pub fn settle_with(&mut self, other: &Self) {
        let powered = self.powered.max(other.powered);
        if (self.ever, self.number) < (other.ever, other.number) {
            *self = *other;
        }
        self.powered = powered;
    }

    /// The ticket of a pulse that nobody saw the end of.
    #[must_use]
    pub const fn unproven(&self) -> Option<u32> {
        if self.intent { Some(self.ever) } else { None }
    }
}
