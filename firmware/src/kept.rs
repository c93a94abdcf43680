//! The record a board keeps: the machine's own, and what the machine does not know of.

use giveover_core::board::Durable;
use giveover_core::bytes::{Put, Take};
use giveover_core::wire::Key;

use crate::store::{Memory, Retained, Store};
use embedded_storage::nor_flash::NorFlash;

/// What outlives a reset and a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The machine's record.
    pub durable: Option<Durable>,
    /// The key, if it has been paired.
    pub key: Option<Key>,
    /// How often the board alone was reset since it was powered up.
    pub bites: u16,
}

const KEYED: u8 = 1;

impl Kept {
    /// How long a record is: a multiple of a flash word.
    pub const BYTES: usize = Durable::BYTES + Key::BYTES + 4;

    /// How many words of retained RAM keep it.
    pub const WORDS: usize = Retained::<(), { Self::BYTES }>::WORDS;

    /// A board that was never used.
    pub const NEW: Self = Self { durable: None, key: None, bites: 0 };

    /// A record as bytes.
    #[inline(never)]
    pub fn encode(durable: &Durable, key: Option<&Key>, bites: u16, out: &mut [u8; Self::BYTES]) {
        if let Some(machine) = out.first_chunk_mut() {
            durable.encode_into(machine);
        }
        let mut rest = Put::new(out.get_mut(Durable::BYTES..).unwrap_or_default());
        let secret: &[u8; Key::BYTES] = key.map_or(&[0; Key::BYTES], Key::bytes);
        rest.bytes(secret);
        rest.u8(if key.is_some() { KEYED } else { 0 });
        rest.u16(bites);
        rest.u8(0);
    }

    /// The record of `bytes`; each part that cannot be read is none.
    #[inline(never)]
    pub fn decode(&mut self, bytes: &[u8; Self::BYTES]) {
        let durable = self.durable.insert(Durable::NEW);
        let whole = bytes.first_chunk().map(|machine| durable.decode_into(machine).is_ok());
        if whole != Some(true) {
            self.durable = None;
        }
        let mut rest = Take::new(bytes.get(Durable::BYTES..).unwrap_or_default());
        let secret = Key::new(rest.array());
        self.key = if rest.u8() & KEYED != 0 { Some(secret) } else { None };
        self.bites = rest.u16();
    }

    /// The record to go by, of those found: the one that knows of more resets, and the newer key.
    /// Says whether there was one in RAM.
    #[inline(never)]
    pub fn find<M: Memory, F: NorFlash>(
        &mut self,
        store: &mut Store<M, F, { Self::BYTES }>,
    ) -> bool {
        let mut flash = Self::NEW;
        let ram = self.read(|bytes| store.retained(bytes));
        let newer = flash.read(|bytes| store.flash(bytes)) > ram;
        self.settle(&flash, newer);
        ram.is_some()
    }

    #[inline(never)]
    fn read(&mut self, read: impl FnOnce(&mut [u8; Self::BYTES]) -> Option<u32>) -> Option<u32> {
        let mut bytes = [0; Self::BYTES];
        let sequence = read(&mut bytes)?;
        self.decode(&bytes);
        Some(sequence)
    }

    fn settle(&mut self, other: &Self, newer: bool) {
        match (&mut self.durable, &other.durable) {
            (Some(durable), Some(other)) => durable.settle_with(other),
            (None, Some(other)) => self.durable = Some(*other),
            (_, None) => {}
        }
        if newer {
            self.key = other.key.or(self.key);
            self.bites = other.bites;
        } else {
            self.key = self.key.or(other.key);
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
        let durable = Durable { number, ever, powered, ..Durable::NEW };
        Some(Kept { durable: Some(durable), key, bites: 3 })
    }

    #[test]
    fn what_is_written_is_read() {
        for key in [None, Some(Key::new([9; 16]))] {
            let settings = Settings { retry_count: 5, ..Settings::DEFAULT };
            let durable = Durable { settings, armed: true, ..Durable::NEW };
            let mut bytes = [0xFF; Kept::BYTES];
            Kept::encode(&durable, key.as_ref(), 258, &mut bytes);
            let kept = Kept { durable: Some(durable), key, bites: 258 };
            let mut read = Kept::NEW;
            read.decode(&bytes);
            assert_eq!(read, kept);
        }
        let mut read = Kept { key: Some(Key::new([9; 16])), ..Kept::NEW };
        read.decode(&[0; Kept::BYTES]);
        assert_eq!(read, Kept::NEW);
    }

    /// The law is L5.
    #[test]
    fn where_the_places_disagree_the_higher_count_wins() {
        let settle = |ram: Option<Kept>, flash: Option<Kept>, newer| {
            let mut kept = ram.unwrap_or(Kept::NEW);
            kept.settle(&flash.unwrap_or(Kept::NEW), newer);
            (kept.durable.map(|durable| durable.ever), kept.key.is_some())
        };
        let key = Some(Key::new([1; 16]));
        assert_eq!(settle(None, None, false), (None, false));
        assert_eq!(settle(kept(1, 3, key), None, false), (Some(3), true));
        assert_eq!(settle(None, kept(1, 3, key), true), (Some(3), true));
        assert_eq!(settle(kept(2, 4, key), kept(1, 3, None), false), (Some(4), true));
        assert_eq!(settle(kept(3, 3, None), kept(2, 4, key), false), (Some(4), true));
        assert_eq!(settle(kept(2, 5, None), kept(3, 4, key), true), (Some(5), true));
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
