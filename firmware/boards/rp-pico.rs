//! The image for `rp-pico`, an RP2040 with two Cortex-M0+, of which one is used: the link is USB or
//! the UART, whichever is spoken on, the lines are pins behind a transistor each, records go to the
//! last four sectors of flash.
//!
//! A pin takes its level before it becomes an output, so that switching it on makes no edge.
#![no_std]
#![no_main]
#![allow(unsafe_code, reason = "board support: the vector table, interrupts, registers")]

mod chip;
#[path = "rp2040/clocks.rs"]
mod clocks;
#[path = "rp2040/flash.rs"]
mod flash;
#[path = "rp2040/usb.rs"]
mod usb;

use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicBool, Ordering};

use chip::flash::Flash;
use chip::pl011::Pl011;
use chip::{KeptWords, Port, RECEIVE, Register, SEND, TICK_HZ, Vector};
use embedded_hal::digital::{ErrorType, OutputPin, PinState};
use flash::Last;
use giveover_core::time::Span;
use giveover_firmware::board::{Firmware, Room};
use giveover_firmware::contact::Wired;
use giveover_firmware::hardware::Board;
use giveover_firmware::line::Wiring;
use giveover_firmware::tick::{Counter, Direction};

const TIMER_HZ: u32 = 1_000_000;
/// The watchdog bites after 2 s; it counts each microsecond twice.
const WATCHDOG: u32 = 2 * 2_000_000;

const LINE: u32 = 1 << 15;
const SECOND: u32 = 1 << 14;
const LIGHT: u32 = 1 << 25;
const HELD_LIGHT: u32 = 1 << 13;
const SENSE: u32 = 1 << 20;
const HOST_POWER: u32 = 1 << 21;
const JUMPER: u32 = 1 << 22;

const SIO: usize = 0xD000_0000;
const INPUT: Register = Register::at(SIO + 0x4);
const OUTPUT: Register = Register::at(SIO + 0x10);
const HIGH: Register = Register::at(SIO + 0x14);
const LOW: Register = Register::at(SIO + 0x18);
const MAKE_OUTPUT: Register = Register::at(SIO + 0x24);

const UART: Pl011 = Pl011(0x4003_4000);
const UART_IRQ: u32 = 20;
#[cfg(feature = "defmt")]
const LOG: Pl011 = Pl011(0x4003_8000);

const MICROSECONDS: Register = Register::at(0x4005_4028);
const DOG_CONTROL: Register = Register::at(0x4005_8000);
const DOG_LOAD: Register = Register::at(0x4005_8004);
const DOG_REASON: Register = Register::at(0x4005_8008);
/// What the watchdog resets: all but the two oscillators.
const DOG_RESETS: Register = Register::at(0x4001_0008);
const SYSTICK: [Register; 3] =
    [Register::at(0xE000_E010), Register::at(0xE000_E014), Register::at(0xE000_E018)];

/// The host was last heard over USB.
static BY_USB: AtomicBool = AtomicBool::new(false);

/// How to run from the flash, which the chip's own program loads before anything.
#[unsafe(link_section = ".boot2")]
#[used]
static BOOT2: [u8; 256] = rp2040_boot2::BOOT_LOADER_W25Q080;

/// A line, behind a transistor: high is held.
struct Line(u32);

impl ErrorType for Line {
    type Error = Infallible;
}

impl OutputPin for Line {
    fn set_low(&mut self) -> Result<(), Infallible> {
        LOW.write(self.0);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        HIGH.write(self.0);
        Ok(())
    }
}

impl Line {
    /// The level first, the output after it, and the pin last.
    fn begin(bit: u32, level: PinState) -> Self {
        let mut line = Self(bit);
        let Ok(()) = line.set_state(level);
        MAKE_OUTPUT.write(bit);
        pin(bit.trailing_zeros(), BY_PROCESSOR, PLAIN);
        line
    }
}

const BY_UART: u32 = 2;
const BY_PROCESSOR: u32 = 5;
/// Input on, no pull.
const PLAIN: u32 = 1 << 6 | 1 << 4 | 1 << 1;
const PULLED_UP: u32 = PLAIN | 1 << 3;
const PULLED_DOWN: u32 = PLAIN | 1 << 2;

/// Gives a pin its pad and then to whom it belongs.
fn pin(number: u32, owner: u32, pad: u32) {
    Register::at(0x4001_C004 + 4 * number as usize).write(pad);
    Register::at(0x4001_4004 + 8 * number as usize).write(owner);
}

struct Pico {
    port: Port,
    device: u64,
    sense: Wired,
    host_power: Wired,
}

impl Pico {
    /// Starts everything but the lines, which float after a reset, so that the resistors at the
    /// transistors release them; the watchdog comes first.
    fn start() -> Self {
        clocks::start();
        DOG_CONTROL.write(0);
        DOG_LOAD.write(WATCHDOG);
        DOG_RESETS.write(0x0001_FFFC);
        DOG_CONTROL.write(1 << 30);

        LOW.write(LIGHT | HELD_LIGHT);
        MAKE_OUTPUT.write(LIGHT | HELD_LIGHT);
        pin(25, BY_PROCESSOR, PLAIN);
        pin(13, BY_PROCESSOR, PLAIN);
        pin(20, BY_PROCESSOR, PULLED_DOWN);
        pin(21, BY_PROCESSOR, PULLED_DOWN);
        pin(22, BY_PROCESSOR, PULLED_UP);
        let device = flash::number();

        // 48 MHz / (16 * 115200) = 26.042
        UART.start(26, 3);
        pin(0, BY_UART, PLAIN);
        pin(1, BY_UART, PULLED_UP);
        chip::enable(UART_IRQ);
        #[cfg(feature = "defmt")]
        {
            LOG.start(26, 3);
            pin(4, BY_UART, PLAIN);
        }
        usb::start(device);
        chip::enable(usb::IRQ);

        SYSTICK[1].write(clocks::HZ / TICK_HZ - 1);
        SYSTICK[2].write(0);
        SYSTICK[0].write(0b111);
        let (sense, host_power) = (Wired::new(), Wired::new());
        Self { port: chip::port(kick), device, sense, host_power }
    }
}

/// There is something to send.
fn kick() {
    let by = if BY_USB.load(Ordering::Relaxed) { usb::IRQ } else { UART_IRQ };
    chip::pend(by);
}

impl Board for Pico {
    type Line = Line;
    type Second = Line;
    type Memory = KeptWords;
    type Flash = Flash<Last>;
    type Serial = Port;

    const NAME: &'static str = "rp-pico";
    const WIRING: Wiring = Wiring::Inverted;
    const COUNTER: Counter = {
        let Some(hz) = NonZeroU32::new(TIMER_HZ) else { panic!("microseconds go on") };
        let Some(counter) = Counter::new(hz, 32, Direction::Up) else { panic!("32 bits") };
        counter
    };

    const TICK: Span = chip::TICK;

    fn now(&mut self) -> u32 {
        MICROSECONDS.read()
    }

    fn ticks(&mut self) -> u32 {
        chip::ticks()
    }

    fn image(&mut self) -> u64 {
        chip::image()
    }

    fn device(&mut self) -> u64 {
        self.device
    }

    fn was_powered_up(&mut self) -> Option<bool> {
        Some(DOG_REASON.read() == 0)
    }

    fn line(&mut self, released: PinState) -> Line {
        Line::begin(LINE, released)
    }

    fn second(&mut self, released: PinState) -> Line {
        Line::begin(SECOND, released)
    }

    fn sense(&mut self) -> Option<bool> {
        self.sense.look(INPUT.read() & SENSE != 0)
    }

    fn second_reads(&mut self) -> Option<bool> {
        Some(INPUT.read() & SECOND != 0)
    }

    fn port(&mut self) -> Option<bool> {
        if BY_USB.load(Ordering::Relaxed) { Some(usb::is_configured()) } else { None }
    }

    fn light(&mut self, on: bool) {
        let port = if on { HIGH } else { LOW };
        port.write(LIGHT);
    }

    fn held(&mut self, on: bool) {
        let port = if on { HIGH } else { LOW };
        port.write(HELD_LIGHT);
    }

    fn jumper(&mut self) -> bool {
        INPUT.read() & JUMPER == 0
    }

    /// A host whose light was never seen has no wire to us.
    fn host_power(&mut self) -> Option<bool> {
        self.host_power.look(INPUT.read() & HOST_POWER != 0)
    }

    fn store(&mut self) -> (KeptWords, Option<Flash<Last>>) {
        (KeptWords, Some(Flash::new()))
    }

    fn watchdog(&mut self) {
        DOG_LOAD.write(WATCHDOG);
    }

    fn serial(&mut self) -> &mut Port {
        &mut self.port
    }
}

/// Bytes of a log to UART1, on GP4.
#[cfg(feature = "defmt")]
fn log(bytes: &[u8]) {
    LOG.send(bytes);
}

/// Lets both lines go, whatever state anything is in.
fn release() {
    LOW.write(LINE | SECOND);
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut ROOM: Room = Room::new();
    static mut PLACE: MaybeUninit<Firmware<'static, Pico>> = MaybeUninit::uninit();
    chip::run(PLACE, ROOM, Pico::start(), || {});
}

#[cortex_m_rt::exception]
fn SysTick() {
    chip::tick(OUTPUT.read() & LINE != 0, || LOW.write(LINE));
}

unsafe extern "C" fn uart() {
    UART.carry(|| BY_USB.store(false, Ordering::Relaxed), || !BY_USB.load(Ordering::Relaxed));
}

unsafe extern "C" fn usb() {
    usb::look(
        |byte| {
            BY_USB.store(true, Ordering::Relaxed);
            RECEIVE.push(byte);
        },
        || if BY_USB.load(Ordering::Relaxed) { SEND.pop() } else { None },
    );
}

/// An interrupt that nobody lets through needs no vector: the table ends with the last one we do.
const VECTORS: usize = UART_IRQ as usize + 1;

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Vector; VECTORS] = {
    let mut table = [Vector::NOBODY; VECTORS];
    table[UART_IRQ as usize] = Vector::to(uart);
    table[usb::IRQ as usize] = Vector::to(usb);
    table
};
