//! What must outlive a reset and a power cut: one record of bytes, in up to two places.
//!
//! - [`Retained`]: RAM that a reset leaves alone. Fast, and gone with the power; some chips and
//!   boot loaders write over it, so it is believed only with its checks.
//! - [`Ring`]: pages of flash. Slow, worn by every write, and the truth.
//!
//! The register that names the cause of a reset is a third witness on some chips; it decides
//! nothing here, because it is known to lie.
//!
//! A record is written whole each time, with a sequence that only rises: a cut at any word leaves
//! the record before it or the new one, never a mixture.

use core::convert::Infallible;

use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};

mod retained;
mod ring;
mod slot;

pub use retained::{Memory, Retained};
pub use ring::Ring;
pub use slot::Saved;

/// Why a record is not durable. The one before it still is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The flash refused, or does not read back what was written.
    Flash,
    /// Neither place holds it.
    Nowhere,
}

/// The durable record of a board, in retained RAM and, where the chip has it, in flash.
///
/// `N` is the length of a record and a multiple of 4. `count` tells how many pulses a record knows
/// of; it must never fall from one record to the next.
#[derive(Debug)]
pub struct Store<M, F, const N: usize> {
    retained: Retained<M, N>,
    ring: Option<Ring<F, N>>,
    sequence: u32,
    best: Option<[u8; N]>,
}

impl<M: Memory, F: NorFlash, const N: usize> Store<M, F, N> {
    /// Looks at both places. Where they disagree the record that knows of more pulses wins, and
    /// of equals the newer.
    pub fn open(memory: M, flash: Option<F>, count: impl Fn(&[u8; N]) -> u32) -> Self {
        let mut retained = Retained::new(memory);
        let mut ring = flash.map(Ring::open);
        let found = [retained.newest(), ring.as_mut().and_then(Ring::newest)];
        // Rises above both, so that what is written next is newest everywhere.
        let sequence = found.iter().flatten().map(|saved| saved.sequence).max().unwrap_or(0);
        let best =
            found.into_iter().flatten().max_by_key(|saved| (count(&saved.bytes), saved.sequence));
        Self { retained, ring, sequence, best: best.map(|saved| saved.bytes) }
    }

    /// The record the board goes on from, if any place had a valid one.
    #[must_use]
    pub const fn best(&self) -> Option<&[u8; N]> {
        self.best.as_ref()
    }

    /// Writes a record, to RAM first and then to flash.
    ///
    /// # Errors
    /// [`StoreError`]; a board without flash is content with RAM.
    pub fn write(&mut self, bytes: &[u8; N]) -> Result<(), StoreError> {
        let sequence = self.sequence.saturating_add(1);
        let saved = Saved { sequence, bytes: *bytes };
        self.sequence = sequence;
        self.best = Some(*bytes);
        let kept = self.retained.write(&saved);
        match &mut self.ring {
            Some(ring) => ring.append(&saved),
            None if kept => Ok(()),
            None => Err(StoreError::Nowhere),
        }
    }

    /// The flash again, for a board that is taken apart in a test.
    #[cfg(test)]
    pub(crate) fn into_parts(self) -> (M, Option<F>) {
        (self.retained.into_memory(), self.ring.map(Ring::into_flash))
    }
}

/// The flash of a board that has none for records.
#[derive(Clone, Copy, Debug)]
pub enum NoFlash {}

impl ErrorType for NoFlash {
    type Error = Infallible;
}

impl ReadNorFlash for NoFlash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, _: u32, _: &mut [u8]) -> Result<(), Infallible> {
        match *self {}
    }

    fn capacity(&self) -> usize {
        match *self {}
    }
}

impl NorFlash for NoFlash {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = 1;

    fn erase(&mut self, _: u32, _: u32) -> Result<(), Infallible> {
        match *self {}
    }

    fn write(&mut self, _: u32, _: &[u8]) -> Result<(), Infallible> {
        match *self {}
    }
}

#[cfg(test)]
mod tests;
