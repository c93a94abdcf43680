//! The last pages of a chip's flash, for the ring of records.

use core::marker::PhantomData;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use super::Register;

/// What a chip does with its flash, and where.
pub(crate) trait Pages {
    /// What is erased at once, in bytes, and how many of them are ours.
    const PAGE: usize;
    const COUNT: usize;
    /// Where ours begin in the flash, and where the flash is read.
    const FIRST: usize;
    const READ: usize;

    /// Makes a page all ones. The processor may stand still meanwhile.
    fn erase(page: usize);

    /// Clears bits of the word at this place of the flash.
    fn program(at: usize, word: u32);
}

/// Those pages, as records want them.
pub(crate) struct Flash<P>(PhantomData<P>);

impl<P: Pages> Flash<P> {
    const CAPACITY: usize = P::PAGE * P::COUNT;

    /// A board makes one.
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }

    fn inside(offset: u32, length: usize) -> Result<usize, Outside> {
        let offset = offset as usize;
        match offset.checked_add(length) {
            Some(end) if end <= Self::CAPACITY => Ok(P::FIRST + offset),
            _ => Err(Outside),
        }
    }
}

/// Outside of the pages.
#[derive(Debug)]
pub(crate) struct Outside;

impl NorFlashError for Outside {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::OutOfBounds
    }
}

impl<P> ErrorType for Flash<P> {
    type Error = Outside;
}

impl<P: Pages> ReadNorFlash for Flash<P> {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Outside> {
        let mut from = P::READ + Self::inside(offset, bytes.len())?;
        let mut left = bytes;
        while let Some((word, rest)) = core::mem::take(&mut left).split_first_chunk_mut() {
            // Flash reads as words at their addresses, as registers do.
            *word = Register::at(from).read().to_le_bytes();
            from += 4;
            left = rest;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        Self::CAPACITY
    }
}

impl<P: Pages> NorFlash for Flash<P> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = P::PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Outside> {
        let length = to.checked_sub(from).ok_or(Outside)? as usize;
        let first = Self::inside(from, length)?;
        for page in (first..first + length).step_by(P::PAGE) {
            P::erase(page);
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Outside> {
        let mut to = Self::inside(offset, bytes.len())?;
        let mut left = bytes;
        while let Some((word, rest)) = left.split_first_chunk() {
            P::program(to, u32::from_le_bytes(*word));
            to += 4;
            left = rest;
        }
        Ok(())
    }
}
