//! What the boards' chips have alike: registers, retained RAM, sleep, and the ends of the world.
//!
//! With the board's own file this is all the `unsafe` there is.

mod routines;

use core::cell::UnsafeCell;
use core::ptr;

use giveover_firmware::store::Memory;

/// A register of 32 bits at a fixed address.
#[derive(Clone, Copy)]
pub(crate) struct Register(usize);

impl Register {
    /// The register at `address`, which the chip's manual must say is one.
    pub(crate) const fn at(address: usize) -> Self {
        Self(address)
    }

    pub(crate) fn read(self) -> u32 {
        // SAFETY: a device register of this chip, aligned, always mapped; its value is any.
        unsafe { ptr::read_volatile(self.0 as *const u32) }
    }

    pub(crate) fn write(self, value: u32) {
        // SAFETY: as above. No register named in these files moves or uncovers memory of Rust's.
        unsafe { ptr::write_volatile(self.0 as *mut u32, value) }
    }

    #[cfg(feature = "lm3s6965evb")]
    pub(crate) fn set(self, bits: u32) {
        self.write(self.read() | bits);
    }

    #[cfg(feature = "lm3s6965evb")]
    pub(crate) fn clear(self, bits: u32) {
        self.write(self.read() & !bits);
    }
}

/// Lets one interrupt of the processor through.
pub(crate) fn enable(interrupt: u32) {
    Register::at(0xE000_E100 + 4 * (interrupt as usize / 32)).write(1 << (interrupt % 32));
}

/// Makes an interrupt happen as if its device had asked for it.
pub(crate) fn pend(interrupt: u32) {
    Register::at(0xE000_E200 + 4 * (interrupt as usize / 32)).write(1 << (interrupt % 32));
}

/// Sleeps until the next interrupt, unless `busy` says there is something to do.
pub(crate) fn sleep_unless(busy: impl FnOnce() -> bool) {
    // SAFETY: interrupts are masked and let through again, on one processor, without a way out
    // between. A pending one ends the sleep though it is masked, so none is slept through.
    unsafe { core::arch::asm!("cpsid i", options(nostack, preserves_flags)) };
    if !busy() {
        // SAFETY: waits for an interrupt, and touches nothing.
        unsafe { core::arch::asm!("dsb", "wfi", options(nostack, preserves_flags)) };
    }
    // SAFETY: as above.
    unsafe { core::arch::asm!("cpsie i", options(nostack, preserves_flags)) };
}

/// An entry of the vector table.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Vector(pub(crate) Option<unsafe extern "C" fn()>);

/// RAM that start-up leaves alone, in words.
pub(crate) struct Kept<const W: usize>(UnsafeCell<[u32; W]>);

// SAFETY: only reached through the one `KeptWords` that the board makes, from the loop.
unsafe impl<const W: usize> Sync for Kept<W> {}

impl<const W: usize> Kept<W> {
    /// Room for a record; it is anything until written.
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new([0; W]))
    }
}

/// The only way to retained RAM.
pub(crate) struct KeptWords<const W: usize>(pub(crate) &'static Kept<W>);

impl<const W: usize> Memory for KeptWords<W> {
    fn get(&self, at: usize) -> Option<u32> {
        if at >= W {
            return None;
        }
        // SAFETY: inside the array; volatile, because what is there was not written by this run.
        Some(unsafe { self.0.0.get().cast::<u32>().add(at).read_volatile() })
    }

    fn set(&mut self, at: usize, word: u32) -> bool {
        if at < W {
            // SAFETY: inside the array, and nobody else holds a reference into it.
            unsafe { self.0.0.get().cast::<u32>().add(at).write_volatile(word) }
        }
        at < W
    }
}

/// The end: the chip's watchdog is no longer fed, and does the rest.
pub(crate) fn stop() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// In an image no panic is left, and this symbol, which nobody defines, is the linker's proof.
#[cfg(not(debug_assertions))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe extern "C" {
        fn giveover_a_panic_is_reachable() -> !;
    }
    // SAFETY: never linked.
    unsafe { giveover_a_panic_is_reachable() }
}

/// While debugging: release the lines, and the chip's watchdog does the rest.
#[cfg(debug_assertions)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    crate::release();
    stop();
}
