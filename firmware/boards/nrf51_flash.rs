//! The last pages of an nRF51's flash, for the ring of records.

use embedded_storage::nor_flash::{
    ErrorType as FlashError, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use crate::chip::Register;

const FLASH_READY: Register = Register::at(0x4001_E400);
const FLASH_MODE: Register = Register::at(0x4001_E504);
const FLASH_ERASE: Register = Register::at(0x4001_E508);
const PAGE: usize = 1024;
const PAGES: usize = 4;
const RECORDS: usize = 252 * PAGE;

/// The last pages of the flash.
pub(crate) struct Pages;

/// Outside of the pages, or not whole words.
#[derive(Debug)]
pub(crate) struct Outside;

impl NorFlashError for Outside {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::OutOfBounds
    }
}

impl FlashError for Pages {
    type Error = Outside;
}

fn inside(offset: u32, length: usize) -> Result<usize, Outside> {
    let offset = offset as usize;
    match offset.checked_add(length) {
        Some(end) if end <= PAGES * PAGE => Ok(RECORDS + offset),
        _ => Err(Outside),
    }
}

impl ReadNorFlash for Pages {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Outside> {
        let mut from = inside(offset, bytes.len())?;
        for place in bytes.chunks_exact_mut(4) {
            // Flash reads as words at their addresses, as registers do.
            let word = Register::at(from).read().to_le_bytes();
            place.iter_mut().zip(word).for_each(|(to, from)| *to = from);
            from += 4;
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        PAGES * PAGE
    }
}

impl NorFlash for Pages {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Outside> {
        let length = to.checked_sub(from).ok_or(Outside)? as usize;
        let first = inside(from, length)?;
        FLASH_MODE.write(2);
        for page in (first..first + length).step_by(PAGE) {
            // The processor stands still meanwhile, 22 ms on the real chip.
            FLASH_ERASE.write(page as u32);
            while FLASH_READY.read() & 1 == 0 {}
        }
        FLASH_MODE.write(0);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Outside> {
        let mut to = inside(offset, bytes.len())?;
        FLASH_MODE.write(1);
        for word in bytes.chunks_exact(4) {
            let word = word.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
            program(to, word);
            to += 4;
        }
        FLASH_MODE.write(0);
        Ok(())
    }
}

/// Programs one word, of which bits can only be cleared. On its own, so that a harness can cut
/// the power before each.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn program(address: usize, word: u32) {
    Register::at(address).write(word);
    while FLASH_READY.read() & 1 == 0 {}
}
