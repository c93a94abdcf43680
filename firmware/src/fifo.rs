//! Bytes from an interrupt to the loop, without a lock and without `unsafe`.

use core::sync::atomic::{AtomicU8, AtomicU16, Ordering};

/// A queue of up to `N - 1` bytes between one writer and one reader, of which either may interrupt
/// the other.
///
/// It needs no more of the processor than loads and stores of its own width, which Cortex-M0 has.
/// What does not fit is dropped and counted: a frame with a hole in it fails its checksum, and the
/// other side sends it again.
// In this order because a Cortex-M0 reaches what is near by one instruction.
#[derive(Debug)]
#[repr(C)]
pub struct Fifo<const N: usize> {
    /// Where the next byte is written; only the writer moves it.
    head: AtomicU16,
    /// Where the next byte is read; only the reader moves it.
    tail: AtomicU16,
    dropped: AtomicU16,
    bytes: [AtomicU8; N],
}

impl<const N: usize> Fifo<N> {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Self {
        assert!(N >= 2 && N <= 1 << 15, "two bytes at least, and its places in 16 bits");
        Self {
            bytes: [const { AtomicU8::new(0) }; N],
            head: AtomicU16::new(0),
            tail: AtomicU16::new(0),
            dropped: AtomicU16::new(0),
        }
    }

    /// Puts a byte in; the writer's side. False where it was dropped.
    pub fn push(&self, byte: u8) -> bool {
        let head = self.head.load(Ordering::Relaxed);
        let next = Self::after(head);
        let place = self.bytes.get(usize::from(head));
        match place {
            Some(place) if next != self.tail.load(Ordering::Acquire) => {
                place.store(byte, Ordering::Relaxed);
                self.head.store(next, Ordering::Release);
                true
            }
            _ => {
                let dropped = self.dropped.load(Ordering::Relaxed);
                self.dropped.store(dropped.saturating_add(1), Ordering::Relaxed);
                false
            }
        }
    }

    /// Takes the oldest byte out; the reader's side.
    pub fn pop(&self) -> Option<u8> {
        let tail = self.tail.load(Ordering::Relaxed);
        if tail == self.head.load(Ordering::Acquire) {
            return None;
        }
        let byte = self.bytes.get(usize::from(tail))?.load(Ordering::Relaxed);
        self.tail.store(Self::after(tail), Ordering::Release);
        Some(byte)
    }

    /// Whether there is nothing to take out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tail.load(Ordering::Relaxed) == self.head.load(Ordering::Acquire)
    }

    /// Whether there is no room for another byte.
    #[must_use]
    pub fn is_full(&self) -> bool {
        Self::after(self.head.load(Ordering::Relaxed)) == self.tail.load(Ordering::Acquire)
    }

    /// Bytes for which there was no room, since the start.
    #[must_use]
    pub fn dropped(&self) -> u16 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn after(place: u16) -> u16 {
        let next = place.wrapping_add(1);
        if usize::from(next) >= N { 0 } else { next }
    }
}

impl<const N: usize> Default for Fifo<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in_over_many_turns() {
        let fifo = Fifo::<5>::new();
        let mut expected = 0_u8;
        for turn in 0..200_u8 {
            assert!(fifo.push(turn.wrapping_mul(2)) && fifo.push(turn.wrapping_mul(2) + 1));
            for _ in 0..2 {
                assert_eq!(fifo.pop(), Some(expected));
                expected = expected.wrapping_add(1);
            }
            assert!(fifo.is_empty() && fifo.pop().is_none());
        }
        assert_eq!(fifo.dropped(), 0);
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_counted_and_hurts_nothing_before_it() {
        let fifo = Fifo::<4>::new();
        let taken: [bool; 5] = core::array::from_fn(|at| fifo.push(at as u8));
        assert_eq!(taken, [true, true, true, false, false]);
        assert_eq!(fifo.dropped(), 2);
        let out: [Option<u8>; 4] = core::array::from_fn(|_| fifo.pop());
        assert_eq!(out, [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn writer_and_reader_may_run_at_once() {
        extern crate std;
        static FIFO: Fifo<16> = Fifo::new();
        let writer = std::thread::spawn(|| {
            for number in 0..20_000_u32 {
                while !FIFO.push(number as u8) {
                    std::thread::yield_now();
                }
            }
        });
        let mut read = 0_u32;
        while read < 20_000 {
            match FIFO.pop() {
                Some(byte) => {
                    assert_eq!(byte, read as u8);
                    read += 1;
                }
                None => std::thread::yield_now(),
            }
        }
        writer.join().expect("the writer");
    }
}
