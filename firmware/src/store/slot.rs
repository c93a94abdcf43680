//! A record with what tells it from garbage, word by word.

use giveover_core::bytes::Crc32;

/// Bytes around a record: a mark of this layout, the sequence, its complement; behind it a CRC-32
/// over all before.
pub(super) const AROUND: usize = 16;

const MAGIC: u32 = 0x4756_4F31;

/// Puts a record's words, the checksum last; stops where one is refused.
pub(super) fn put(sequence: u32, bytes: &[u8], mut out: impl FnMut(u32) -> bool) -> bool {
    let mut sum = Sum::new();
    let mut add = |word| {
        sum.add(word);
        out(word)
    };
    let head = add(MAGIC) && add(sequence) && add(!sequence);
    let all = head && bytes.chunks_exact(4).map(word).all(add);
    all && out(sum.value())
}

/// The sequence of the record of which `word` tells the words, if all of them belong together.
/// The record goes to `body`, word by word, whether they do or not.
pub(super) fn check(
    words: usize,
    mut word: impl FnMut(usize) -> Option<u32>,
    mut body: impl FnMut(usize, u32),
) -> Option<u32> {
    let mut sum = Sum::new();
    let mut next = |at| {
        let found = word(at)?;
        sum.add(found);
        Some(found)
    };
    let (magic, sequence, complement) = (next(0)?, next(1)?, next(2)?);
    for at in 0..words {
        body(at, next(3 + at)?);
    }
    let expected = sum.value();
    let sound = word(3 + words)? == expected
        && magic == MAGIC
        && sequence == !complement
        && sequence != 0
        && sequence != u32::MAX;
    sound.then_some(sequence)
}

/// Four bytes as a word.
pub(super) fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// CRC-32 over words.
struct Sum(Crc32);

impl Sum {
    const fn new() -> Self {
        Self(Crc32::NEW)
    }

    #[inline(never)]
    fn add(&mut self, word: u32) {
        word.to_le_bytes().iter().for_each(|byte| self.0.byte(*byte));
    }

    const fn value(&self) -> u32 {
        self.0.value()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    fn words(sequence: u32, bytes: &[u8; 8]) -> Vec<u32> {
        let mut words = Vec::new();
        assert!(put(sequence, bytes, |word| {
            words.push(word);
            true
        }));
        words
    }

    fn read(words: &[u32]) -> Option<u32> {
        check(2, |at| words.get(at).copied(), |_, _| {})
    }

    #[test]
    fn the_sum_is_the_usual_one() {
        let mut sum = Sum::new();
        [0x3433_3231, 0x3837_3635].into_iter().for_each(|word| sum.add(word));
        assert_eq!(sum.value(), 0x9AE0_DAAF, "of 12345678");
    }

    #[test]
    fn all_zeros_and_all_ones_are_nothing() {
        assert_eq!(read(&[0; 6]), None);
        assert_eq!(read(&[u32::MAX; 6]), None);
        for sequence in [0, u32::MAX] {
            assert_eq!(read(&words(sequence, b"a record")), None);
        }
    }

    #[test]
    fn any_single_flipped_bit_makes_it_nothing() {
        let whole = words(7, b"a record");
        assert_eq!((read(&whole), whole.len()), (Some(7), 6));
        for bit in 0..32 * 6 {
            let mut words = whole.clone();
            words[bit / 32] ^= 1 << (bit % 32);
            assert_eq!(read(&words), None, "bit {bit}");
        }
        for length in 0..6 {
            assert_eq!(read(&whole[..length]), None);
        }
    }
}
