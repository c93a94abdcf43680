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
        self.check(0, |_, _| {}).max(self.check(Self::COPY, |_, _| {}))
    }

    /// Reads the record of that sequence.
    #[must_use]
    pub fn read(&self, sequence: u32, bytes: &mut [u8; N]) -> bool {
        let put = |at: usize, word: u32| {
            if let Some(place) = bytes.chunks_exact_mut(4).nth(at) {
                place.iter_mut().zip(word.to_le_bytes()).for_each(|(to, from)| *to = from);
            }
        };
        self.check(Self::place(sequence), put) == Some(sequence)
    }

    /// Writes a record over the older copy. False where the memory does not keep it.
    pub fn write(&mut self, sequence: u32, bytes: &[u8; N]) -> bool {
        let mut at = Self::place(sequence);
        let memory = &mut self.memory;
        let written = slot::put(sequence, bytes, |word| {
            let set = memory.set(at, word);
            at += 1;
            set
        });
        written && self.check(Self::place(sequence), |_, _| {}) == Some(sequence)
    }

    fn place(sequence: u32) -> usize {
        if sequence % 2 == 0 { 0 } else { Self::COPY }
    }

    #[inline(never)]
    fn check(&self, at: usize, body: impl FnMut(usize, u32)) -> Option<u32> {
        slot::check(N / 4, |word| self.memory.get(at + word), body)
    }

    #[cfg(test)]
    pub(super) fn into_memory(self) -> M {
        self.memory
    }
}
