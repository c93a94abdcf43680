//! The record a board keeps: the machine's own, and what the machine does not know of.

use giveover_core::board::Durable;
use giveover_core::bytes::{Put, Take, Way};
use giveover_core::wire::Key;

use crate::store::{Memory, Retained, Store};
use embedded_storage::nor_flash::NorFlash;

/// What outlives a reset and a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The machine's record, as it was found at the start.
    pub durable: Durable,
    /// The key, if it has been paired.
    pub key: Option<Key>,
    /// How often the board alone was reset since it was powered up.
    pub bites: u16,
}

const KEYED: u8 = 1;

/// Where a record may be.
#[derive(Clone, Copy)]
enum Place {
    Ram,
    Flash,
}

/// What the machine knows of it, and the rest.
type Halves<'a> = (&'a mut [u8; Durable::BYTES], &'a mut [u8]);

impl Kept {
    /// How long a record is: a multiple of a flash word.
    pub const BYTES: usize = Durable::BYTES + Key::BYTES + 4;

    /// How many words of retained RAM keep it.
    pub const WORDS: usize = Retained::<(), { Self::BYTES }>::WORDS;

    /// A board that was never used.
    pub const NEW: Self = Self { durable: Durable::NEW, key: None, bites: 0 };

    /// A record as bytes; `machine` writes the machine's own, and what it returns is returned.
    #[inline(never)]
    pub fn encode<T>(
        &mut self,
        out: &mut [u8; Self::BYTES],
        machine: impl FnOnce(&mut [u8; Durable::BYTES]) -> T,
    ) -> Option<T> {
        let (own, rest): Halves<'_> = out.split_first_chunk_mut()?;
        self.go(&mut Way::Put(&mut Put::new(rest)));
        Some(machine(own))
    }

    /// The record of `bytes`; each part that cannot be read is as new.
    #[inline(never)]
    pub fn decode(&mut self, bytes: &[u8; Self::BYTES]) {
        let Some((machine, rest)) = bytes.split_first_chunk() else { return };
        if self.durable.decode_into(machine).is_err() {
            *self = Self::NEW;
        }
        self.go(&mut Way::Take(&mut Take::new(rest)));
    }

    /// All but the machine's record, one way or the other.
    #[inline(never)]
    fn go(&mut self, way: &mut Way<'_, '_>) {
        let mut secret = self.key.as_ref().map_or([0; Key::BYTES], |key| *key.bytes());
        let mut flags = if self.key.is_some() { KEYED } else { 0 };
        way.bytes(&mut secret);
        way.u8(&mut flags);
        way.u16(&mut self.bites);
        way.u8(&mut 0);
        self.key = if flags & KEYED != 0 { Some(Key::new(secret)) } else { None };
    }

    /// The record to go by, of those found: the one that knows of more resets, and the newer key.
    /// Says whether there was one in RAM.
    #[inline(never)]
    pub fn find<M: Memory, F: NorFlash>(
        &mut self,
        store: &mut Store<M, F, { Self::BYTES }>,
    ) -> bool {
        let mut flash = Self::NEW;
        let ram = self.read(store, Place::Ram);
        let newer = flash.read(store, Place::Flash) > ram;
        self.settle(&flash, newer);
        ram.is_some()
    }

    /// What one of the places holds.
    #[inline(never)]
    fn read<M: Memory, F: NorFlash>(
        &mut self,
        store: &mut Store<M, F, { Self::BYTES }>,
        place: Place,
    ) -> Option<u32> {
        let mut bytes = [0; Self::BYTES];
        let sequence = match place {
            Place::Ram => store.retained(&mut bytes),
            Place::Flash => store.flash(&mut bytes),
        }?;
        self.decode(&bytes);
        Some(sequence)
    }

    /// Of a board that was never used anything is to go by.
    fn settle(&mut self, other: &Self, newer: bool) {
        self.durable.settle_with(&other.durable);
        if newer {
            self.bites = other.bites;
        }
        if other.key.is_some() && (newer || self.key.is_none()) {
            self.key = other.key;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use giveover_core::board::Settings;
    use giveover_core::time::Instant;

    fn kept(number: u32, ever: u32, key: Option<Key>) -> Option<Kept> {
        let powered = Instant::from_millis(1000 * u64::from(number));
        Some(Kept { durable: Durable { number, ever, powered, ..Durable::NEW }, key, bites: 3 })
    }

    #[test]
    fn what_is_written_is_read() {
        for key in [None, Some(Key::new([9; 16]))] {
            let settings = Settings { retry_count: 5, ..Settings::DEFAULT };
            let mut durable = Durable { settings, armed: true, ..Durable::NEW };
            let mut bytes = [0xFF; Kept::BYTES];
            let mut kept = Kept { durable, key, bites: 258 };
            let written = kept.encode(&mut bytes, |own| durable.encode_into(own));
            assert_eq!((written, kept), (Some(()), Kept { durable, key, bites: 258 }));
            let mut read = Kept::NEW;
            read.decode(&bytes);
            assert_eq!(read, kept);
        }
        let mut read = Kept { key: Some(Key::new([9; 16])), bites: 7, ..Kept::NEW };
        read.decode(&[0; Kept::BYTES]);
        assert_eq!(read, Kept::NEW);
    }

    /// Which byte is which, for a board that wakes up with other firmware.
    #[test]
    fn behind_the_machines_record_stand_key_flag_and_bites() {
        let mut bytes = [0xFF; Kept::BYTES];
        let mut kept = Kept { key: Some(Key::new([9; 16])), bites: 258, ..Kept::NEW };
        kept.encode(&mut bytes, |own| own.fill(5)).expect("room");
        assert_eq!(bytes[..Durable::BYTES], [5; Durable::BYTES]);
        assert_eq!(bytes[Durable::BYTES..][..16], [9; 16]);
        assert_eq!(bytes[Durable::BYTES + 16..], [KEYED, 2, 1, 0]);
        // The machine's record is none; the key is still the key.
        let mut read = Kept::NEW;
        read.decode(&bytes);
        assert_eq!(read, kept);
    }

    /// The law is L5.
    #[test]
    fn where_the_places_disagree_the_higher_count_wins() {
        let settle = |ram: Option<Kept>, flash: Option<Kept>, newer| {
            let mut kept = ram.unwrap_or(Kept::NEW);
            kept.settle(&flash.unwrap_or(Kept::NEW), newer);
            (kept.durable.ever, kept.durable.number, kept.key.is_some())
        };
        let key = Some(Key::new([1; 16]));
        assert_eq!(settle(None, None, false), (0, 0, false));
        assert_eq!(settle(kept(1, 3, key), None, false), (3, 1, true));
        assert_eq!(settle(None, kept(1, 3, key), true), (3, 1, true));
        assert_eq!(settle(None, kept(1, 0, None), true), (0, 1, false));
        assert_eq!(settle(kept(2, 4, key), kept(1, 3, None), false), (4, 2, true));
        assert_eq!(settle(kept(3, 3, None), kept(2, 4, key), false), (4, 2, true));
        assert_eq!(settle(kept(2, 5, None), kept(3, 4, key), true), (5, 2, true));
    }

    #[test]
    fn the_newer_key_is_the_key() {
        let (old, new) = (Some(Key::new([1; 16])), Some(Key::new([2; 16])));
        for newer in [true, false] {
            let mut kept = kept(1, 1, if newer { old } else { new }).expect("a record");
            kept.settle(&self::kept(1, 1, if newer { new } else { old }).expect("another"), newer);
            assert_eq!(kept.key, new);
        }
    }
}
