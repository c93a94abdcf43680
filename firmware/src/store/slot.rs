//! A record with what tells it from garbage, word by word.

use giveover_core::bytes::Crc32;

/// Bytes around a record: a mark of this layout, the sequence, its complement; behind it a CRC-32
/// over all before.
pub(super) const AROUND: usize = 16;

/// Words before the record.
pub(super) const HEAD: usize = 3;

const MAGIC: u32 = 0x4756_4F31;

/// What the checksum over all words and itself comes to.
const WHOLE: u32 = 0x2144_DF1C;

/// A record as words, in the order in which they are written: the checksum last.
pub(super) struct Words<'a> {
    head: [u32; HEAD],
    at: u8,
    left: &'a [u8],
    sum: Crc32,
}

impl<'a> Words<'a> {
    /// The words of a record, whose length is a multiple of 4.
    pub(super) const fn new(sequence: u32, bytes: &'a [u8]) -> Self {
        Self { head: [MAGIC, sequence, !sequence], at: 0, left: bytes, sum: Crc32::NEW }
    }
}

impl Iterator for Words<'_> {
    type Item = u32;

    #[inline(never)]
    fn next(&mut self) -> Option<u32> {
        let word = if let Some(word) = self.head.get(usize::from(self.at)) {
            self.at = self.at.wrapping_add(1);
            *word
        } else if let Some((first, rest)) = self.left.split_first_chunk() {
            self.left = rest;
            u32::from_le_bytes(*first)
        } else if self.at == 3 {
            self.at = 4;
            return Some(self.sum.value());
        } else {
            return None;
        };
        add(&mut self.sum, word);
        Some(word)
    }
}

/// Judges the words that were found in a place, given in order.
pub(super) struct Check {
    head: [u32; HEAD],
    at: usize,
    sum: Crc32,
}

impl Check {
    /// Before the first word.
    pub(super) const fn new() -> Self {
        Self { head: [0; HEAD], at: 0, sum: Crc32::NEW }
    }

    /// The next word.
    #[inline(never)]
    pub(super) fn word(&mut self, word: u32) {
        if let Some(slot) = self.head.get_mut(self.at) {
            *slot = word;
        }
        self.at = self.at.wrapping_add(1);
        add(&mut self.sum, word);
    }

    /// The sequence of the record, if all that was given belongs together.
    #[inline(never)]
    pub(super) fn sequence(&self) -> Option<u32> {
        let [magic, sequence, complement] = self.head;
        let sound = self.sum.value() == WHOLE
            && magic == MAGIC
            && sequence == !complement
            && sequence != 0
            && sequence != u32::MAX;
        if sound { Some(sequence) } else { None }
    }
}

/// Puts a word where four bytes are wanted.
#[inline(never)]
pub(super) fn copy(word: u32, to: &mut [u8]) {
    to.iter_mut().zip(word.to_le_bytes()).for_each(|(to, from)| *to = from);
}

#[inline(never)]
fn add(sum: &mut Crc32, word: u32) {
    word.to_le_bytes().iter().for_each(|byte| sum.byte(*byte));
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    fn words(sequence: u32, bytes: &[u8; 8]) -> Vec<u32> {
        Words::new(sequence, bytes).collect()
    }

    fn read(words: &[u32]) -> Option<u32> {
        let mut check = Check::new();
        words.iter().for_each(|word| check.word(*word));
        check.sequence()
    }

    #[test]
    fn the_sum_is_the_usual_one() {
        let mut sum = Crc32::NEW;
        [0x3433_3231, 0x3837_3635].into_iter().for_each(|word| add(&mut sum, word));
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
