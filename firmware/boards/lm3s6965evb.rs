//! The image for `lm3s6965evb`, a Cortex-M3 that QEMU emulates: UART0 is the link, the lines are
//! pins of PL061 port F, the chip's watchdog guards the loop, and RAM outlives a reset.
//!
//! The port cannot preset a level while a pin is an input, so its data stay 0 for ever and a line
//! is driven by its direction only: output is held, input is released.
#![no_std]
#![no_main]
#![allow(unsafe_code, reason = "board support: the vector table, interrupts, registers")]

mod chip;

use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering};

use chip::{Kept, KeptWords, Register, Vector};
use embedded_hal::digital::{ErrorType, OutputPin, PinState};
use giveover_core::time::Span;
use giveover_firmware::board::{Firmware, Room};
use giveover_firmware::fifo::Fifo;
use giveover_firmware::hardware::Board;
use giveover_firmware::line::Wiring;
use giveover_firmware::serial::Port;
use giveover_firmware::tick::{Counter, Direction};

/// The periodic timer, a hundred times a second.
const TICK_HZ: u32 = 100;
const CLOCK_HZ: u32 = 12_500_000;
/// The watchdog bites after two of these: 2 s.
const WATCHDOG_LOAD: u32 = CLOCK_HZ;
/// How many ticks a line may be held before the timer itself lets it go: the longest pulse.
const LONGEST_HOLD: u32 = TICK_HZ;

const LINE: u32 = 1 << 0;
const SECOND: u32 = 1 << 2;
const LIGHT: u32 = 1 << 3;
/// From the pin to 3.3 V; in QEMU nothing pulls a pin up, so open is low.
const JUMPER: u32 = 1 << 4;

const PORT_F: usize = 0x4002_5000;
const LIGHT_DATA: Register = Register::at(PORT_F + 4 * LIGHT as usize);
const JUMPER_DATA: Register = Register::at(PORT_F + 4 * JUMPER as usize);
const DIRECTION: Register = Register::at(PORT_F + 0x400);
const PULL_UP: Register = Register::at(PORT_F + 0x510);
const PULL_DOWN: Register = Register::at(PORT_F + 0x514);
const DIGITAL: Register = Register::at(PORT_F + 0x51C);

const UART_DATA: Register = Register::at(0x4000_C000);
const UART_FLAGS: Register = Register::at(0x4000_C018);
const UART_DIVISOR: Register = Register::at(0x4000_C024);
const UART_FRACTION: Register = Register::at(0x4000_C028);
const UART_FORMAT: Register = Register::at(0x4000_C02C);
const UART_CONTROL: Register = Register::at(0x4000_C030);
const UART_MASK: Register = Register::at(0x4000_C038);
const UART_CLEAR: Register = Register::at(0x4000_C044);
const UART_IRQ: u32 = 5;
const RECEIVED: u32 = 1 << 4;
const SENDING: u32 = 1 << 5;
const TIMED_OUT: u32 = 1 << 6;

const DOG_LOAD: Register = Register::at(0x4000_0000);
const DOG_CONTROL: Register = Register::at(0x4000_0008);
const DOG_CLEAR: Register = Register::at(0x4000_000C);
const DOG_LOCK: Register = Register::at(0x4000_0C00);
const DOG_KEY: u32 = 0x1ACC_E551;

const CLOCKS: [Register; 3] =
    [Register::at(0x400F_E100), Register::at(0x400F_E104), Register::at(0x400F_E108)];
const SYSTICK: [Register; 3] =
    [Register::at(0xE000_E010), Register::at(0xE000_E014), Register::at(0xE000_E018)];

/// More than a tick brings at 115,200 baud, and more than two frames.
const QUEUE: usize = 256;
static RECEIVE: Fifo<QUEUE> = Fifo::new();
static SEND: Fifo<QUEUE> = Fifo::new();
/// By this name a harness finds it from outside.
#[unsafe(no_mangle)]
static GIVEOVER_TICKS: AtomicU32 = AtomicU32::new(0);
/// For how many ticks the reset line has been held.
static HELD: AtomicU32 = AtomicU32::new(0);

const KEPT_WORDS: usize = giveover_firmware::kept::Kept::WORDS;
#[unsafe(link_section = ".uninit.kept")]
static KEPT: Kept<KEPT_WORDS> = Kept::new();

/// A line on port F.
struct Line(u32);

impl ErrorType for Line {
    type Error = Infallible;
}

impl OutputPin for Line {
    fn set_low(&mut self) -> Result<(), Infallible> {
        DIRECTION.set(self.0);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        DIRECTION.clear(self.0);
        Ok(())
    }
}

struct Evb {
    port: Port<'static, QUEUE, QUEUE>,
}

impl Evb {
    /// Starts everything but the lines, which a reset has released; the watchdog comes first.
    fn start() -> Self {
        CLOCKS[0].set(1 << 3);
        DOG_LOCK.write(DOG_KEY);
        DOG_LOAD.write(WATCHDOG_LOAD);
        DOG_CONTROL.write(0b11);
        DOG_LOCK.write(0);

        CLOCKS[1].set(1 << 0);
        CLOCKS[2].set(1 << 0 | 1 << 5);
        PULL_UP.set(LINE | SECOND);
        PULL_DOWN.set(JUMPER);
        DIGITAL.set(LINE | SECOND | LIGHT | JUMPER);
        DIRECTION.set(LIGHT);

        // 12.5 MHz / (16 * 115200) = 6.782
        UART_CONTROL.write(0);
        UART_DIVISOR.write(6);
        UART_FRACTION.write(50);
        UART_FORMAT.write(0b11 << 5 | 1 << 4);
        UART_MASK.write(RECEIVED | TIMED_OUT);
        UART_CONTROL.write(1 << 9 | 1 << 8 | 1);
        chip::enable(UART_IRQ);

        SYSTICK[1].write(CLOCK_HZ / TICK_HZ - 1);
        SYSTICK[2].write(0);
        SYSTICK[0].write(0b111);
        Self { port: Port::new(&RECEIVE, &SEND, || chip::pend(UART_IRQ)) }
    }
}

impl Board for Evb {
    type Line = Line;
    type Second = Line;
    type Memory = KeptWords<KEPT_WORDS>;
    type Flash = giveover_firmware::store::NoFlash;
    type Serial = Port<'static, QUEUE, QUEUE>;

    const NAME: &'static str = "lm3s6965evb";
    const WIRING: Wiring = Wiring::Direct;
    const COUNTER: Counter = {
        let Some(hz) = NonZeroU32::new(TICK_HZ) else { panic!("ticks go on") };
        let Some(counter) = Counter::new(hz, 32, Direction::Up) else { panic!("32 bits") };
        counter
    };

    const TICK: Span = Span::from_millis(1000 / TICK_HZ);

    fn now(&mut self) -> u32 {
        GIVEOVER_TICKS.load(Ordering::Relaxed)
    }

    fn ticks(&mut self) -> u32 {
        GIVEOVER_TICKS.load(Ordering::Relaxed)
    }

    /// The chip has no number of its own; nobody owns two emulators.
    fn device(&mut self) -> u64 {
        0x6965
    }

    fn was_powered_up(&mut self) -> Option<bool> {
        None
    }

    fn line(&mut self, _: PinState) -> Line {
        Line(LINE)
    }

    fn second(&mut self, _: PinState) -> Line {
        Line(SECOND)
    }

    fn sense(&mut self) -> Option<bool> {
        None
    }

    fn port(&mut self) -> Option<bool> {
        None
    }

    fn light(&mut self, on: bool) {
        LIGHT_DATA.write(if on { LIGHT } else { 0 });
    }

    fn jumper(&mut self) -> bool {
        JUMPER_DATA.read() != 0
    }

    fn host_power(&mut self) -> Option<bool> {
        None
    }

    fn store(&mut self) -> (KeptWords<KEPT_WORDS>, Option<giveover_firmware::store::NoFlash>) {
        (KeptWords(&KEPT), None)
    }

    fn watchdog(&mut self) {
        DOG_LOCK.write(DOG_KEY);
        DOG_CLEAR.write(1);
        DOG_LOCK.write(0);
    }

    fn serial(&mut self) -> &mut Port<'static, QUEUE, QUEUE> {
        &mut self.port
    }
}

/// Lets both lines go, whatever state anything is in.
fn release() {
    DIRECTION.clear(LINE | SECOND);
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut ROOM: Room = Room::new();
    static mut PLACE: MaybeUninit<Firmware<'static, Evb>> = MaybeUninit::uninit();
    let firmware = Firmware::start(PLACE, ROOM, Evb::start());
    firmware.begin();
    loop {
        firmware.step();
        chip::sleep_unless(|| !RECEIVE.is_empty());
    }
}

/// The periodic timer, and the third end of a pulse: one that the loop does not end is ended here.
#[cortex_m_rt::exception]
fn SysTick() {
    GIVEOVER_TICKS.store(GIVEOVER_TICKS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    if DIRECTION.read() & LINE == 0 {
        HELD.store(0, Ordering::Relaxed);
    } else {
        let held = HELD.load(Ordering::Relaxed).saturating_add(1);
        HELD.store(held, Ordering::Relaxed);
        if held > LONGEST_HOLD {
            DIRECTION.clear(LINE);
        }
    }
}

/// Moves bytes between the UART and the queues, and stays within what both hold.
unsafe extern "C" fn uart() {
    UART_CLEAR.write(RECEIVED | SENDING | TIMED_OUT);
    while UART_FLAGS.read() & 1 << 4 == 0 {
        RECEIVE.push(UART_DATA.read() as u8);
    }
    while UART_FLAGS.read() & 1 << 5 == 0 {
        match SEND.pop() {
            Some(byte) => UART_DATA.write(u32::from(byte)),
            None => break,
        }
    }
    // The room in the UART is asked for only while there is something to put into it.
    let sending = if SEND.is_empty() { 0 } else { SENDING };
    UART_MASK.write(RECEIVED | TIMED_OUT | sending);
}

/// What nobody has asked for: the lines are let go, and the watchdog does the rest.
#[cortex_m_rt::exception]
unsafe fn DefaultHandler(_: i16) -> ! {
    release();
    chip::stop();
}

#[cortex_m_rt::exception]
unsafe fn HardFault(_: &cortex_m_rt::ExceptionFrame) -> ! {
    release();
    chip::stop();
}

unsafe extern "C" {
    fn DefaultHandler();
}

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Vector; 44] = {
    let mut table = [Vector(Some(DefaultHandler)); 44];
    table[UART_IRQ as usize] = Vector(Some(uart));
    table
};
