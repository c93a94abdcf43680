//! What the boards' chips have alike: registers, retained RAM, the line of bytes, the tick, sleep,
//! the loop, and the ends of the world.
//!
//! With the board's own file this is all the `unsafe` there is.

#[cfg(any(feature = "microbit", feature = "rp-pico"))]
pub(crate) mod flash;
#[cfg(feature = "defmt")]
mod logger;
#[cfg(any(feature = "lm3s6965evb", feature = "rp-pico"))]
pub(crate) mod pl011;
mod routines;

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use giveover_core::time::Span;
use giveover_firmware::board::{Firmware, Room};
use giveover_firmware::fifo::Fifo;
use giveover_firmware::hardware::Board;
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

/// The periodic timer, a hundred times a second on every board.
pub(crate) const TICK_HZ: u32 = 100;
pub(crate) const TICK: Span = Span::from_millis(1000 / TICK_HZ);
/// How many ticks a line may be held before the timer itself lets it go: the longest pulse.
const LONGEST_HOLD: u32 = TICK_HZ;

/// By this name a harness finds it from outside.
#[unsafe(no_mangle)]
static GIVEOVER_TICKS: AtomicU32 = AtomicU32::new(0);
/// For how many ticks the reset line has been held.
static HELD: AtomicU32 = AtomicU32::new(0);

/// How often the periodic timer has gone off.
pub(crate) fn ticks() -> u32 {
    GIVEOVER_TICKS.load(Ordering::Relaxed)
}

/// The periodic timer goes off. It is the third end of a pulse: one that the loop does not end is
/// ended here. `release` lets go of the reset line.
pub(crate) fn tick(held: bool, release: impl FnOnce()) {
    // One writer, which nothing of ours interrupts: no more than a load and a store is needed.
    let bump = |counter: &AtomicU32| {
        let next = counter.load(Ordering::Relaxed).wrapping_add(1);
        counter.store(next, Ordering::Relaxed);
        next
    };
    bump(&GIVEOVER_TICKS);
    if !held {
        HELD.store(0, Ordering::Relaxed);
    } else if bump(&HELD) > LONGEST_HOLD {
        release();
    }
}

/// More than a tick brings at 115,200 baud, and more than two frames.
pub(crate) const QUEUE: usize = 256;
/// Bytes from the host, and to it.
pub(crate) static RECEIVE: Fifo<QUEUE> = Fifo::new();
pub(crate) static SEND: Fifo<QUEUE> = Fifo::new();
/// The line of bytes as the firmware has it.
pub(crate) type Port = giveover_firmware::serial::Port<'static, QUEUE, QUEUE>;

/// The line; `kick` tells its interrupt that there is something to send.
pub(crate) const fn port(kick: fn()) -> Port {
    Port::new(&RECEIVE, &SEND, kick)
}

/// Runs a board for ever. `between` is what it does itself between two steps.
pub(crate) fn run<B: Board>(
    place: &mut MaybeUninit<Firmware<'static, B>>,
    room: &'static mut Room,
    board: B,
    mut between: impl FnMut(),
) -> ! {
    let firmware = Firmware::start(place, room, board);
    firmware.begin();
    loop {
        firmware.step();
        between();
        sleep_unless(|| !RECEIVE.is_empty());
    }
}

/// Which image this is: a hash that the linker has made of it.
pub(crate) fn image() -> u64 {
    unsafe extern "C" {
        /// A note of the linker's: three words of lengths and kind, "GNU", and the hash.
        static giveover_image_note: [u32; 6];
    }
    // SAFETY: memory.x puts the note there, whole and aligned, and nobody writes to flash.
    let note = unsafe { &*ptr::addr_of!(giveover_image_note) };
    let [.., low, high] = *note;
    u64::from(low) | u64::from(high) << 32
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
pub(crate) struct Vector(Option<unsafe extern "C" fn()>);

impl Vector {
    /// What nobody has asked for.
    pub(crate) const NOBODY: Self = Self(Some(DefaultHandler));

    pub(crate) const fn to(handler: unsafe extern "C" fn()) -> Self {
        Self(Some(handler))
    }
}

unsafe extern "C" {
    fn DefaultHandler();
}

/// What nobody has asked for: the lines are let go, and the watchdog does the rest.
#[cortex_m_rt::exception]
unsafe fn DefaultHandler(_: i16) -> ! {
    crate::release();
    stop();
}

#[cortex_m_rt::exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    crate::release();
    stop();
}

const WORDS: usize = giveover_firmware::kept::Kept::WORDS;

/// RAM that start-up leaves alone, in words; it is anything until written.
struct Kept(UnsafeCell<[u32; WORDS]>);

// SAFETY: only reached through the one `KeptWords` that the board makes, from the loop.
unsafe impl Sync for Kept {}

#[unsafe(link_section = ".uninit.kept")]
static KEPT: Kept = Kept(UnsafeCell::new([0; WORDS]));

/// The only way to retained RAM; a board makes one.
pub(crate) struct KeptWords;

impl Memory for KeptWords {
    fn get(&self, at: usize) -> Option<u32> {
        if at >= WORDS {
            return None;
        }
        // SAFETY: inside the array; volatile, because what is there was not written by this run.
        Some(unsafe { KEPT.0.get().cast::<u32>().add(at).read_volatile() })
    }

    fn set(&mut self, at: usize, word: u32) -> bool {
        if at < WORDS {
            // SAFETY: inside the array, and nobody else holds a reference into it.
            unsafe { KEPT.0.get().cast::<u32>().add(at).write_volatile(word) }
        }
        at < WORDS
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
