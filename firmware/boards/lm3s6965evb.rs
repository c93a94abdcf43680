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

use chip::pl011::Pl011;
use chip::{KeptWords, Port, Register, TICK_HZ, Vector};
use embedded_hal::digital::{ErrorType, OutputPin, PinState};
use giveover_core::time::Span;
use giveover_firmware::board::{Firmware, Room};
use giveover_firmware::contact::Wired;
use giveover_firmware::hardware::Board;
use giveover_firmware::line::Wiring;
use giveover_firmware::tick::{Counter, Direction};

const CLOCK_HZ: u32 = 12_500_000;
/// The watchdog bites after two of these: 2 s.
const WATCHDOG_LOAD: u32 = CLOCK_HZ;

const LINE: u32 = 1 << 0;
const SECOND: u32 = 1 << 2;
const LIGHT: u32 = 1 << 3;
/// From the pin to 3.3 V; in QEMU nothing pulls a pin up, so open is low.
const JUMPER: u32 = 1 << 4;
/// From the host's end of the reset line and of the second; in QEMU a harness drives them.
const SENSE: u32 = 1 << 5;
const SENSE_SECOND: u32 = 1 << 6;

const PORT_F: usize = 0x4002_5000;
const LIGHT_DATA: Register = Register::at(PORT_F + 4 * LIGHT as usize);
const JUMPER_DATA: Register = Register::at(PORT_F + 4 * JUMPER as usize);
const SENSE_DATA: Register = Register::at(PORT_F + 4 * SENSE as usize);
const SENSE_SECOND_DATA: Register = Register::at(PORT_F + 4 * SENSE_SECOND as usize);
const DIRECTION: Register = Register::at(PORT_F + 0x400);
const PULL_UP: Register = Register::at(PORT_F + 0x510);
const PULL_DOWN: Register = Register::at(PORT_F + 0x514);
const DIGITAL: Register = Register::at(PORT_F + 0x51C);

const UART: Pl011 = Pl011(0x4000_C000);
const UART_IRQ: u32 = 5;
#[cfg(feature = "defmt")]
const LOG: Pl011 = Pl011(0x4000_D000);

const DOG_LOAD: Register = Register::at(0x4000_0000);
const DOG_CONTROL: Register = Register::at(0x4000_0008);
const DOG_CLEAR: Register = Register::at(0x4000_000C);
const DOG_LOCK: Register = Register::at(0x4000_0C00);
const DOG_KEY: u32 = 0x1ACC_E551;

const CLOCKS: [Register; 3] =
    [Register::at(0x400F_E100), Register::at(0x400F_E104), Register::at(0x400F_E108)];
const SYSTICK: [Register; 3] =
    [Register::at(0xE000_E010), Register::at(0xE000_E014), Register::at(0xE000_E018)];

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
    port: Port,
    sense: Wired,
    sense_second: Wired,
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
        PULL_DOWN.set(JUMPER | SENSE | SENSE_SECOND);
        DIGITAL.set(LINE | SECOND | LIGHT | JUMPER | SENSE | SENSE_SECOND);
        DIRECTION.set(LIGHT);

        // 12.5 MHz / (16 * 115200) = 6.782
        UART.start(6, 50);
        chip::enable(UART_IRQ);
        #[cfg(feature = "defmt")]
        {
            CLOCKS[1].set(1 << 1);
            LOG.start(6, 50);
        }

        SYSTICK[1].write(CLOCK_HZ / TICK_HZ - 1);
        SYSTICK[2].write(0);
        SYSTICK[0].write(0b111);
        Self {
            port: chip::port(|| chip::pend(UART_IRQ)),
            sense: Wired::new(),
            sense_second: Wired::new(),
        }
    }
}

impl Board for Evb {
    type Line = Line;
    type Second = Line;
    type Memory = KeptWords;
    type Flash = giveover_firmware::store::NoFlash;
    type Serial = Port;

    const NAME: &'static str = "lm3s6965evb";
    const WIRING: Wiring = Wiring::Direct;
    const COUNTER: Counter = {
        let Some(hz) = NonZeroU32::new(TICK_HZ) else { panic!("ticks go on") };
        let Some(counter) = Counter::new(hz, 32, Direction::Up) else { panic!("32 bits") };
        counter
    };

    const TICK: Span = chip::TICK;

    fn now(&mut self) -> u32 {
        chip::ticks()
    }

    fn ticks(&mut self) -> u32 {
        chip::ticks()
    }

    fn image(&mut self) -> u64 {
        chip::image()
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
        self.sense.look(SENSE_DATA.read() != 0)
    }

    fn second_reads(&mut self) -> Option<bool> {
        self.sense_second.look(SENSE_SECOND_DATA.read() != 0).map(|high| !high)
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

    fn store(&mut self) -> (KeptWords, Option<giveover_firmware::store::NoFlash>) {
        (KeptWords, None)
    }

    fn watchdog(&mut self) {
        DOG_LOCK.write(DOG_KEY);
        DOG_CLEAR.write(1);
        DOG_LOCK.write(0);
    }

    fn serial(&mut self) -> &mut Port {
        &mut self.port
    }
}

/// Bytes of a log to UART1.
#[cfg(feature = "defmt")]
fn log(bytes: &[u8]) {
    LOG.send(bytes);
}

/// Lets both lines go, whatever state anything is in.
fn release() {
    DIRECTION.clear(LINE | SECOND);
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static mut ROOM: Room = Room::new();
    static mut PLACE: MaybeUninit<Firmware<'static, Evb>> = MaybeUninit::uninit();
    chip::run(PLACE, ROOM, Evb::start(), || {});
}

#[cortex_m_rt::exception]
fn SysTick() {
    chip::tick(DIRECTION.read() & LINE != 0, || DIRECTION.clear(LINE));
}

unsafe extern "C" fn uart() {
    UART.carry(|| {}, || true);
}

/// An interrupt that nobody lets through needs no vector: the table ends with the last one we do.
const VECTORS: usize = UART_IRQ as usize + 1;

#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
static __INTERRUPTS: [Vector; VECTORS] = {
    let mut table = [Vector::NOBODY; VECTORS];
    table[UART_IRQ as usize] = Vector::to(uart);
    table
};
