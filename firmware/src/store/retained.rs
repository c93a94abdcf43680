//! RAM that a reset leaves alone.

use super::slot::{self, AROUND};

/// Words that keep their values over a reset, and nothing more is said of them: after a power-up
/// they are anything.
pub trait Memory {
    /// The word at `at`, if there is one.
    fn get(&self, at: usize) -> Option<u32>;

    /// Sets the word at `at`, at once and before anything that follows; false beyond the end.
    fn set(&mut self, at: usize, word: u32) -> bool;
}

/// A record in retained RAM, in two copies by turns, so that a reset in the middle of writing one
/// leaves the other.
#[derive(Debug)]
pub struct Retained<M, const N: usize> {
    memory: M,
}

impl<M, const N: usize> Retained<M, N> {
    const COPY: usize = (N + AROUND) / 4;

    /// How many words of memory it needs; with less it keeps nothing.
    pub const WORDS: usize = 2 * Self::COPY;
}

impl<M: Memory, const N: usize> Retained<M, N> {
    /// Whatever the memory holds.
    pub const fn new(memory: M) -> Self {
        Self { memory }
    }

    /// The sequence of the newer of the two copies, if either is valid.
    #[must_use]
    pub fn newest(&self) -> Option<u32> {
        self.check(0).max(self.check(Self::COPY))
    }

    /// Reads the record of that sequence.
    #[must_use]
    pub fn read(&self, sequence: u32, bytes: &mut [u8; N]) -> bool {
        let from = Self::place(sequence);
        if self.check(from) != Some(sequence) {
            return false;
        }
        for (at, place) in (from + slot::HEAD..).zip(bytes.chunks_exact_mut(4)) {
            slot::copy(self.memory.get(at).unwrap_or(0), place);
        }
        true
    }

    /// Writes a record over the older copy. False where the memory does not keep it.
    pub fn write(&mut self, sequence: u32, bytes: &[u8; N]) -> bool {
        let from = Self::place(sequence);
        let mut words = (from..).zip(slot::Words::new(sequence, bytes));
        words.all(|(at, word)| self.memory.set(at, word)) && self.check(from) == Some(sequence)
    }

    const fn place(sequence: u32) -> usize {
        if sequence % 2 == 0 { 0 } else { Self::COPY }
    }

    #[inline(never)]
    fn check(&self, at: usize) -> Option<u32> {
        let mut check = slot::Check::new();
        for at in at..at + Self::COPY {
            check.word(self.memory.get(at)?);
        }
        check.sequence()
    }

    #[cfg(test)]
    pub(super) fn into_memory(self) -> M {
        self.memory
    }
}
