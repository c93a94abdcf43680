//! The record a board keeps: the machine's own, and what the machine does not know of.

use giveover_core::board::Durable;
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
        let [low, high] = bites.to_le_bytes();
        let rest = out.get_mut(Durable::BYTES..).unwrap_or_default();
        let secret = key.map_or(&[0; Key::BYTES], Key::bytes);
        copy(rest.iter_mut(), secret);
        let rest = rest.get_mut(Key::BYTES..).unwrap_or_default();
        copy(rest.iter_mut(), &[if key.is_some() { KEYED } else { 0 }, low, high, 0]);
    }

    /// The record of `bytes`; each part that cannot be read is none.
    #[must_use]
    #[inline(never)]
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let machine = bytes.first_chunk().and_then(|machine| Durable::decode(machine).ok());
        let rest = bytes.get(Durable::BYTES..).unwrap_or_default();
        let secret = rest.first_chunk().map(|secret| Key::new(*secret));
        let rest = rest.get(Key::BYTES..).unwrap_or_default();
        let [flags, low, high, ..] = *rest else { return Self { durable: machine, ..Self::NEW } };
        Self {
            durable: machine,
            key: secret.filter(|_| flags & KEYED != 0),
            bites: u16::from_le_bytes([low, high]),
        }
    }

    /// The record to go by, of those found: the newer, but never with a lower count of resets.
    /// And whether there was one in RAM.
    #[inline(never)]
    pub fn find<M: Memory, F: NorFlash>(store: &mut Store<M, F, { Self::BYTES }>) -> (Self, bool) {
        let mut bytes = [0; Self::BYTES];
        let ram = store.retained(&mut bytes);
        let one = ram.map(|_| Self::decode(&bytes));
        let flash = store.flash(&mut bytes);
        let other = flash.map(|_| Self::decode(&bytes));
        let kept = if ram >= flash { Self::settle(one, other) } else { Self::settle(other, one) };
        (kept, ram.is_some())
    }

    fn settle(newer: Option<Self>, older: Option<Self>) -> Self {
        let (newer, older) = (newer.unwrap_or(Self::NEW), older.unwrap_or(Self::NEW));
        Self {
            durable: Durable::settle(newer.durable, older.durable),
            key: newer.key.or(older.key),
            bites: newer.bites,
        }
    }
}

/// Byte by byte: the compiler sees that no length can differ.
#[inline(never)]
fn copy(to: core::slice::IterMut<'_, u8>, from: &[u8]) {
    to.zip(from).for_each(|(to, from)| *to = *from);
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
            assert_eq!(Kept::decode(&bytes), kept);
        }
        assert_eq!(Kept::decode(&[0; Kept::BYTES]), Kept::NEW);
    }

    /// The law is L5.
    #[test]
    fn where_the_places_disagree_the_higher_count_wins() {
        let settle = |newer, older| {
            let kept = Kept::settle(newer, older);
            (kept.durable.map(|durable| durable.ever), kept.key.is_some())
        };
        let key = Some(Key::new([1; 16]));
        assert_eq!(settle(None, None), (None, false));
        assert_eq!(settle(kept(1, 3, key), None), (Some(3), true));
        assert_eq!(settle(kept(2, 4, key), kept(1, 3, None)), (Some(4), true));
        assert_eq!(settle(kept(3, 3, None), kept(2, 4, key)), (Some(4), true));
        assert_eq!(settle(kept(3, 5, key), kept(2, 4, None)), (Some(5), true));
    }
}
