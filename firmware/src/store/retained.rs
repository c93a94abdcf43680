//! RAM that a reset leaves alone.

use super::slot::{HEAD, Saved, TAIL};

/// Bytes that keep their values over a reset, and nothing more is said of them: after a power-up
/// they are anything.
pub trait Memory {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The byte at `at`; 0 beyond the end.
    fn get(&self, at: usize) -> u8;

    /// Sets the byte at `at`, at once and before anything that follows; nothing beyond the end.
    fn set(&mut self, at: usize, byte: u8);
}

/// A record in retained RAM, in two copies by turns, so that a reset in the middle of writing one
/// leaves the other.
#[derive(Debug)]
pub struct Retained<M, const N: usize> {
    memory: M,
}

impl<M: Memory, const N: usize> Retained<M, N> {
    const COPY: usize = HEAD + N + TAIL;

    /// How much memory it needs; with less it keeps nothing.
    pub const SIZE: usize = 2 * Self::COPY;

    /// Whatever the memory holds.
    pub const fn new(memory: M) -> Self {
        Self { memory }
    }

    /// The newer of the two copies, if either is valid.
    pub fn newest(&mut self) -> Option<Saved<N>> {
        let copies = [self.read(0), self.read(Self::COPY)];
        copies.into_iter().flatten().max_by_key(|saved| saved.sequence)
    }

    /// Writes a record over the older copy. False where the memory does not keep it.
    pub fn write(&mut self, saved: &Saved<N>) -> bool {
        let at = if saved.sequence % 2 == 0 { 0 } else { Self::COPY };
        let (head, tail) = saved.frame();
        let all = head.iter().chain(&saved.bytes).chain(&tail);
        for (offset, byte) in all.enumerate() {
            self.memory.set(at + offset, *byte);
        }
        self.read(at).as_ref() == Some(saved)
    }

    fn read(&self, at: usize) -> Option<Saved<N>> {
        let (mut head, mut bytes, mut tail) = ([0; HEAD], [0; N], [0; TAIL]);
        let all = head.iter_mut().chain(&mut bytes).chain(&mut tail);
        for (offset, byte) in all.enumerate() {
            *byte = self.memory.get(at + offset);
        }
        Saved::parse(&head, &bytes, &tail)
    }

    #[cfg(test)]
    pub(super) fn into_memory(self) -> M {
        self.memory
    }
}
