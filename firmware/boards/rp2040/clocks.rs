//! Clocks of an RP2040: 48 MHz from the crystal for everything, which is what USB wants.

use crate::chip::Register;

/// Of the processor, the UART and USB.
pub(crate) const HZ: u32 = 48_000_000;

const RESETS: usize = 0x4000_C000;
const RESET_DONE: Register = Register::at(RESETS + 0x8);
const PLL_USB: u32 = 1 << 13;
/// The pins, their pads, the timer, the UART and USB.
const USED: u32 = 1 << 5 | 1 << 8 | 1 << 21 | 1 << 22 | 1 << 24 | LOG;
/// The other UART, where there is a log.
const LOG: u32 = if cfg!(feature = "defmt") { 1 << 23 } else { 0 };

const CRYSTAL: usize = 0x4002_4000;
const CRYSTAL_STATUS: Register = Register::at(CRYSTAL + 0x4);
const CLOCKS: usize = 0x4000_8000;
const SYSTEM_SELECTED: Register = Register::at(CLOCKS + 0x44);
const REFERENCE_SELECTED: Register = Register::at(CLOCKS + 0x38);
const PLL: usize = 0x4002_C000;
const DOG_TICK: Register = Register::at(0x4005_802C);

/// The register whose ones set bits of that at `address`.
pub(crate) const fn set(address: usize) -> Register {
    Register::at(address + 0x2000)
}

/// The register whose ones clear bits of that at `address`.
pub(crate) const fn clear(address: usize) -> Register {
    Register::at(address + 0x3000)
}

/// Starts them, and lets the devices we use out of their reset.
pub(crate) fn start() {
    // After a reset of the chip's own watchdog the system may still run from the PLL.
    clear(CLOCKS + 0x3C).write(1);
    while SYSTEM_SELECTED.read() & 1 == 0 {}

    Register::at(CRYSTAL + 0xC).write(47);
    Register::at(CRYSTAL).write(0xFA_B000 | 0xAA0);
    while CRYSTAL_STATUS.read() >> 31 == 0 {}
    Register::at(CLOCKS + 0x30).write(2);
    while REFERENCE_SELECTED.read() & 1 << 2 == 0 {}
    // Microseconds for the timer and the watchdog.
    DOG_TICK.write(1 << 9 | 12);

    // 12 MHz * 100 / 5 / 5
    set(RESETS).write(PLL_USB);
    release(PLL_USB);
    Register::at(PLL).write(1);
    Register::at(PLL + 0x8).write(100);
    clear(PLL + 0x4).write(1 | 1 << 5);
    while Register::at(PLL).read() >> 31 == 0 {}
    Register::at(PLL + 0xC).write(5 << 16 | 5 << 12);
    clear(PLL + 0x4).write(1 << 3);

    Register::at(CLOCKS + 0x40).write(1 << 8);
    Register::at(CLOCKS + 0x3C).write(1 << 5);
    set(CLOCKS + 0x3C).write(1);
    while SYSTEM_SELECTED.read() & 2 == 0 {}
    Register::at(CLOCKS + 0x48).write(1 << 11);
    Register::at(CLOCKS + 0x58).write(1 << 8);
    Register::at(CLOCKS + 0x54).write(1 << 11);
    set(RESETS).write(1 << 22 | 1 << 24 | LOG);
    release(USED);
}

fn release(devices: u32) {
    clear(RESETS).write(devices);
    while RESET_DONE.read() & devices != devices {}
}
