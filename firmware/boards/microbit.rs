//! The image for `microbit`, an nRF51822 with a Cortex-M0, real or in QEMU: the UART of the USB
//! bridge is the link, the lines are pins of the edge connector behind a transistor each, records
//! go to the last four pages of flash.
//!
//! A pin takes its level before it becomes an output, so that switching it on makes no edge.
#![no_std]
#![no_main]
#![allow(unsafe_code, reason = "board support: the vector table, interrupts, registers")]

#[cfg(feature = "defmt")]
compile_error!("an nRF51 has one UART, and that is the link: no log beside it");

mod chip;
mod nrf51_flash;

use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering};

use chip::flash::Flash;
use chip::{KeptWords, Port, RECEIVE, Register, SEND, TICK_HZ, Vector};
use embedded_hal::digital::{ErrorType, OutputPin, PinState};
use giveover_core::time::Span;
use giveover_firmware::board::{Firmware, Room};
use giveover_firmware::hardware::Board;
use giveover_firmware::line::Wiring;
use giveover_firmware::tick::{Counter, Direction};
use nrf51_flash::Last;

/// The timer counts microseconds.
const TIMER_HZ: u32 = 1_000_000;
const TICK: u32 = TIMER_HZ / TICK_HZ;
/// A tick nearer than this many microseconds may be past before it is set.
const LEAST_AHEAD: u32 = 100;
/// The watchdog bites after 2 s, in counts of 32,768 Hz.
const WATCHDOG: u32 = 65_536;

/// Edge connector pads 0, 1 and 2, and the first column of lights.
const LINE: u32 = 1 << 3;
const SECOND: u32 = 1 << 2;
const JUMPER: u32 = 1 << 1;
const LIGHT: u32 = 1 << 13;
const LIGHT_COLUMN: u32 = 4;
const JUMPER_PIN: usize = 1;

const HIGH: Register = Register::at(0x5000_0508);
const LOW: Register = Register::at(0x5000_050C);
const INPUT: Register = Register::at(0x5000_0510);
const OUTPUT: Register = Register::at(0x5000_0504);
const MAKE_OUTPUT: Register = Register::at(0x5000_0518);
const PINS: usize = 0x5000_0700;

/// Nothing in it after a power-up or a brown-out.
const RESET_CAUSE: Register = Register::at(0x4000_0400);
const CLOCK_START: Register = Register::at(0x4000_0000);
const SLOW_CLOCK_START: Register = Register::at(0x4000_0008);
const SLOW_CLOCK_SOURCE: Register = Register::at(0x4000_0518);

const UART_RECEIVE: Register = Register::at(0x4000_2000);
const UART_TRANSMIT: Register = Register::at(0x4000_2008);
const UART_RECEIVED: Register = Register::at(0x4000_2108);
const UART_SENT: Register = Register::at(0x4000_211C);
const UART_ERROR: Register = Register::at(0x4000_2124);
const UART_INTERRUPTS: Register = Register::at(0x4000_2304);
const UART_ENABLE: Register = Register::at(0x4000_2500);
const UART_OUT_PIN: Register = Register::at(0x4000_250C);
const UART_IN_PIN: Register = Register::at(0x4000_2514);
const UART_IN: Register = Register::at(0x4000_2518);
const UART_OUT: Register = Register::at(0x4000_251C);
const UART_BAUD: Register = Register::at(0x4000_2524);
const UART_IRQ: u32 = 2;

const TIMER: usize = 0x4000_8000;
const TIMER_START: Register = Register::at(TIMER);
const TIMER_CAPTURE: Register = Register::at(TIMER + 0x44);
const TIMER_REACHED: Register = Register::at(TIMER + 0x140);
const TIMER_INTERRUPTS: Register = Register::at(TIMER + 0x304);
const TIMER_BITS: Register = Register::at(TIMER + 0x508);
const TIMER_PRESCALER: Register = Register::at(TIMER + 0x510);
const TIMER_NEXT: Register = Register::at(TIMER + 0x540);
const TIMER_CAPTURED: Register = Register::at(TIMER + 0x544);
const TIMER_CAPTURE_TOO: Register = Register::at(TIMER + 0x48);
const TIMER_CAPTURED_TOO: Register = Register::at(TIMER + 0x548);
const TIMER_IRQ: u32 = 8;

const DOG_START: Register = Register::at(0x4001_0000);
const DOG_LOAD: Register = Register::at(0x4001_0504);
const DOG_CHANNELS: Register = Register::at(0x4001_0508);
const DOG_CONFIG: Register = Register::at(0x4001_050C);
const DOG_FEED: Register = Register::at(0x4001_0600);

/// Whether the UART has a byte of ours under way.
static SENDING: AtomicU32 = AtomicU32::new(0);

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
    /// The level first, the output after it.
    fn begin(bit: u32, level: PinState) -> Self {
        let mut line = Self(bit);
        let Ok(()) = line.set_state(level);
        // An output whose level can be read.
        Register::at(PINS + 4 * bit.trailing_zeros() as usize).write(1);
        line
    }
}

struct Microbit {
    port: Port,
}

impl Microbit {
    /// Starts everything but the lines, which float after a reset, so that the resistors at the
    /// transistors release them; the watchdog comes first.
    fn start() -> Self {
        SLOW_CLOCK_SOURCE.write(0);
        SLOW_CLOCK_START.write(1);
        DOG_CONFIG.write(1);
        DOG_LOAD.write(WATCHDOG);
        DOG_CHANNELS.write(1);
        DOG_START.write(1);
        // The crystal: the other oscillator is no clock for 250 ms.
        CLOCK_START.write(1);

        // Input with pull-up; outputs are made from their level.
        Register::at(PINS + 4 * JUMPER_PIN).write(0b11 << 2);
        LOW.write(LIGHT | 1 << LIGHT_COLUMN);
        MAKE_OUTPUT.write(LIGHT | 1 << LIGHT_COLUMN);

        // Pins 24 and 25 go to the USB bridge.
        HIGH.write(1 << 24);
        MAKE_OUTPUT.write(1 << 24);
        UART_OUT_PIN.write(24);
        UART_IN_PIN.write(25);
        UART_BAUD.write(0x01D7_E000);
        UART_ENABLE.write(4);
        UART_INTERRUPTS.write(1 << 2 | 1 << 7 | 1 << 9);
        UART_RECEIVE.write(1);
        UART_TRANSMIT.write(1);
        chip::enable(UART_IRQ);

        TIMER_BITS.write(3);
        TIMER_PRESCALER.write(4);
        TIMER_NEXT.write(TICK);
        TIMER_INTERRUPTS.write(1 << 16);
        TIMER_START.write(1);
        chip::enable(TIMER_IRQ);
        Self { port: chip::port(|| chip::pend(UART_IRQ)) }
    }
}

impl Board for Microbit {
    type Line = Line;
    type Second = Line;
    type Memory = KeptWords;
    type Flash = Flash<Last>;
    type Serial = Port;

    const NAME: &'static str = "microbit";
    const WIRING: Wiring = Wiring::Inverted;
    const COUNTER: Counter = {
        let Some(hz) = NonZeroU32::new(TIMER_HZ) else { panic!("microseconds go on") };
        let Some(counter) = Counter::new(hz, 32, Direction::Up) else { panic!("32 bits") };
        counter
    };

    const TICK: Span = chip::TICK;

    fn now(&mut self) -> u32 {
        TIMER_CAPTURE.write(1);
        TIMER_CAPTURED.read()
    }

    fn ticks(&mut self) -> u32 {
        chip::ticks()
    }

    fn image(&mut self) -> u64 {
        chip::image()
    }

    fn device(&mut self) -> u64 {
        let half = |at: usize| u64::from(Register::at(at).read());
        half(0x1000_0064) << 32 | half(0x1000_0060)
    }

    fn was_powered_up(&mut self) -> Option<bool> {
        Some(RESET_CAUSE.read() == 0)
    }

    fn line(&mut self, released: PinState) -> Line {
        Line::begin(LINE, released)
    }

    fn second(&mut self, released: PinState) -> Line {
        Line::begin(SECOND, released)
    }

    fn sense(&mut self) -> Option<bool> {
        None
    }

    fn second_reads(&mut self) -> Option<bool> {
        Some(INPUT.read() & SECOND != 0)
    }

    fn port(&mut self) -> Option<bool> {
        None
    }

    fn light(&mut self, on: bool) {
        let port = if on { HIGH } else { LOW };
        port.write(LIGHT);
    }

    fn jumper(&mut self) -> bool {
        INPUT.read() & JUMPER == 0
    }

    fn host_power(&mut self) -> Option<bool> {
        None
    }

    fn store(&mut self) -> (KeptWords, Option<Flash<Last>>) {
        (KeptWords, Some(Flash::new()))
    }

    fn watchdog(&mut self) {
        DOG_FEED.write(0x6E52_4635);
    }

    fn serial(&mut self) -> &mut Port {
        &mut self.port
    }
}

/// Lets both lines go, whatever state anything is in.
fn release() {
    LOW.write(LINE | SECOND);
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut ROOM: Room = Room::new();
    static mut PLACE: MaybeUninit<Firmware<'static, Microbit>> = MaybeUninit::uninit();
    chip::run(PLACE, ROOM, Microbit::start(), || {});
}

#[unsafe(no_mangle)]
unsafe extern "C" fn periodic() {
    TIMER_CAPTURE_TOO.write(1);
    let (now, next) = (TIMER_CAPTURED_TOO.read(), TIMER_NEXT.read().wrapping_add(TICK));
    // Flash being erased stops us for more than a tick: what is past would not come for an hour.
    let late = next.wrapping_sub(now).wrapping_sub(LEAST_AHEAD) > TICK;
    TIMER_NEXT.write(if late { now.wrapping_add(TICK) } else { next });
    // Last: QEMU finds what is reached once more when the counter is looked at.
    TIMER_REACHED.write(0);
    chip::tick(OUTPUT.read() & LINE != 0, || LOW.write(LINE));
}

/// Moves bytes between the UART and the queues, and stays within what both hold.
unsafe extern "C" fn uart() {
    UART_ERROR.write(0);
    while UART_RECEIVED.read() != 0 {
        UART_RECEIVED.write(0);
        RECEIVE.push(UART_IN.read() as u8);
    }
    if UART_SENT.read() != 0 {
        UART_SENT.write(0);
        SENDING.store(0, Ordering::Relaxed);
    }
    if SENDING.load(Ordering::Relaxed) == 0 {
        if let Some(byte) = SEND.pop() {
            SENDING.store(1, Ordering::Relaxed);
            UART_OUT.write(u32::from(byte));
        }
    }
}

/// An interrupt that nobody lets through needs no vector: the table ends with the last one we do.
const VECTORS: usize = TIMER_IRQ as usize + 1;

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Vector; VECTORS] = {
    let mut table = [Vector::NOBODY; VECTORS];
    table[UART_IRQ as usize] = Vector::to(uart);
    table[TIMER_IRQ as usize] = Vector::to(periodic);
    table
};
