//! The last pages of an nRF51's flash.

use crate::chip::Register;
use crate::chip::flash::Pages;

const FLASH_READY: Register = Register::at(0x4001_E400);
const FLASH_MODE: Register = Register::at(0x4001_E504);
const FLASH_ERASE: Register = Register::at(0x4001_E508);

/// The last of 256.
pub(crate) struct Last;

impl Pages for Last {
    const PAGE: usize = 1024;
    const COUNT: usize = 4;
    const FIRST: usize = 252 * Self::PAGE;
    const READ: usize = 0;

    /// The processor stands still meanwhile, 22 ms on the real chip.
    fn erase(page: usize) {
        FLASH_MODE.write(2);
        FLASH_ERASE.write(page as u32);
        while FLASH_READY.read() & 1 == 0 {}
        FLASH_MODE.write(0);
    }

    fn program(at: usize, word: u32) {
        program(at, word);
    }
}

/// Programs one word, of which bits can only be cleared. On its own, so that a harness can cut
/// the power before each.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn program(address: usize, word: u32) {
    FLASH_MODE.write(1);
    Register::at(address).write(word);
    while FLASH_READY.read() & 1 == 0 {}
    FLASH_MODE.write(0);
}
