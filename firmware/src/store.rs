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
use giveover_core::defect;

mod retained;
mod ring;
mod slot;

pub use retained::{Memory, Retained};
pub use ring::Ring;

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
/// `N` is the length of a record and a multiple of 4.
#[derive(Debug)]
pub struct Store<M, F, const N: usize> {
    retained: Retained<M, N>,
    ring: Option<Ring<F, N>>,
    sequence: u32,
}

impl<M: Memory, F: NorFlash, const N: usize> Store<M, F, N> {
    /// Looks at both places.
    pub fn open(memory: M, flash: Option<F>) -> Self {
        let retained = Retained::new(memory);
        let ring = flash.map(Ring::open);
        // Rises above both, so that what is written next is newest everywhere.
        let sequence = retained.newest().max(ring.as_ref().and_then(Ring::newest)).unwrap_or(0);
        Self { retained, ring, sequence }
    }

    /// The sequence of what retained RAM holds, which is read into `bytes`. Whoever knows what a
    /// record means settles between this and flash.
    pub fn retained(&mut self, bytes: &mut [u8; N]) -> Option<u32> {
        self.retained.newest().filter(|sequence| self.retained.read(*sequence, bytes))
    }

    /// The same of what flash holds.
    pub fn flash(&mut self, bytes: &mut [u8; N]) -> Option<u32> {
        let ring = self.ring.as_mut()?;
        ring.newest().filter(|_| ring.read(bytes))
    }

    /// Writes a record, to RAM first and then to flash.
    ///
    /// # Errors
    /// [`StoreError`]; a board without flash is content with RAM.
    #[inline(never)]
    pub fn write(&mut self, bytes: &[u8; N]) -> Result<(), StoreError> {
        self.sequence = self.sequence.saturating_add(1);
        let kept = self.retained.write(self.sequence, bytes);
        match &mut self.ring {
            Some(_) if defect::is(33) && kept => Ok(()), // 33: RAM is good enough
            Some(ring) => ring.append(self.sequence, bytes),
            None if kept => Ok(()),
            None => Err(StoreError::Nowhere),
        }
    }

    /// The number of the newest record: it rises with every start that writes one, and so never
    /// comes back while either place keeps its bytes.
    #[must_use]
    pub const fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Whether retained RAM still holds the newest record as it was written.
    pub fn is_sound(&self) -> bool {
        self.retained.newest() == Some(self.sequence)
    }

    /// Records in the page of flash that is being written, and how many the flash holds in all.
    #[must_use]
    pub fn room(&self) -> (u16, u16) {
        self.ring.as_ref().map_or((0, 0), Ring::room)
    }

    /// RAM and flash again, for a board that is taken apart in a test.
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
