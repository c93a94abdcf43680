//! What outlives a loss of power: one record, written whole, newest wins.

use crate::bytes::{Put, Take, crc32};
use crate::time::Instant;

use super::layout::Layout;
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
        for (slot, at) in resets.at.iter_mut().zip(times) {
            *slot = at;
            resets.count = resets.count.wrapping_add(1);
        }
        resets
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durable {
    /// Counts records; of two the higher is newer.
    pub number: u32,
    /// The board's time when this was made.
    pub powered: Instant,
    /// The host wants to be guarded.
    pub armed: bool,
    /// It was guarded, or booting under guard, when this was made.
    pub guarding: bool,
    /// Given over: why.
    pub held: Option<Why>,
    /// The newest reset was intended, and not yet seen done.
    pub intent: bool,
    /// Resets ever intended; the newest one's number.
    pub ever: u32,
    /// The newest reset.
    pub newest: Option<Newest>,
    /// When a good boot was last confirmed.
    pub proven: Option<Instant>,
    /// The resets that count, oldest first.
    pub resets: Resets,
    /// The settings in force.
    pub settings: Settings,
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
        self.encode_into(&mut bytes);
        bytes
    }

    /// The record as bytes in the caller's place, for a small stack.
    pub fn encode_into(&self, bytes: &mut [u8; Self::BYTES]) {
        let Some((body, crc)) = bytes.split_last_chunk_mut::<4>() else { return };
        let mut out = Put::new(body);
        out.u8(Self::VERSION);
        let flag = |set, bit| if set { bit } else { 0 };
        out.u8(flag(self.armed, ARMED)
            | flag(self.guarding, GUARDING)
            | flag(self.held.is_some(), HELD)
            | flag(self.intent, INTENT)
            | flag(self.newest.is_some(), NEWEST)
            | flag(self.proven.is_some(), PROVEN));
        out.u8(self.resets.count);
        out.u8(0);
        out.u32(self.number);
        out.u32(self.ever);
        self.newest.map_or(Why::Silence, |newest| newest.why).put(&mut out);
        self.held.unwrap_or(Why::Silence).put(&mut out);
        self.settings.put(&mut out);
        out.u8(0);
        let never = Instant::from_millis(0);
        let newest = self.newest.map_or(never, |newest| newest.at);
        out.instant(self.powered);
        out.instant(self.proven.unwrap_or(never));
        out.instant(newest);
        for at in &self.resets.at {
            out.instant(*at);
        }
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
        let [_, flags, count, _] = from.array();
        let set = |bit| flags & bit != 0;
        if flags >> 6 != 0 || count > Settings::MOST_RESETS {
            return None;
        }
        self.armed = set(ARMED);
        self.guarding = set(GUARDING);
        self.intent = set(INTENT);
        self.number = from.u32();
        self.ever = from.u32();
        let why = Why::take(&mut from)?;
        self.held = Some(Why::take(&mut from)?).filter(|_| set(HELD));
        self.settings = Settings::take(&mut from)?;
        if !self.settings.are_possible() {
            return None;
        }
        from.u8();
        self.powered = from.instant();
        self.proven = Some(from.instant()).filter(|_| set(PROVEN));
        self.newest = Some(Newest { at: from.instant(), why }).filter(|_| set(NEWEST));
        self.resets.count = count;
        for slot in &mut self.resets.at {
            *slot = from.instant();
        }
        from.end(())
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
