//! A board on this machine, for tests: its pins, memory and wire outlive its resets.

extern crate std;

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::mem::MaybeUninit;
use core::num::NonZeroU32;
use std::boxed::Box;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

use embedded_hal::digital::{ErrorType, OutputPin, PinState};
use giveover_core::time::Span;

use crate::board::{Firmware, Room};
use crate::fifo::Fifo;
use crate::hardware::Board;
use crate::kept::Kept;
use crate::line::Wiring;
use crate::serial::Port;
use crate::store::{Memory, NoFlash};
use crate::tick::{Counter, Direction};

const QUEUE: usize = 512;
/// From one tick of the periodic timer to the next, in milliseconds.
pub const TICK_MS: u32 = 10;

/// What stands on the bench.
#[derive(Default)]
pub struct Bench {
    /// The time.
    pub ms: Cell<u32>,
    /// The reset line is held.
    pub held: Cell<bool>,
    /// When it was moved, and to what.
    pub edges: RefCell<Vec<(u32, bool)>>,
    /// The second line is on.
    pub second: Cell<bool>,
    /// Its pin is torn off.
    pub cut: Cell<bool>,
    /// A wire goes from the line to the pin that reads it.
    pub wired: Cell<bool>,
    /// The jumper is set.
    pub jumper: Cell<bool>,
    /// The port is there, where that can be seen.
    pub port: Cell<Option<bool>>,
    /// RAM that a reset leaves alone.
    pub memory: RefCell<Vec<u32>>,
    /// Bytes to the board, and from it.
    pub up: Fifo<QUEUE>,
    /// See [`Bench::up`].
    pub down: Fifo<QUEUE>,
    /// How often the watchdog was fed.
    pub fed: Cell<u32>,
    /// The light is on, and the one that calls a person.
    pub light: Cell<bool>,
    /// See [`Bench::light`].
    pub red: Cell<bool>,
}

impl Bench {
    /// One whose power has just come: RAM is anything. It stays for ever, as a board does.
    #[must_use]
    pub fn set_up() -> &'static Rc<Self> {
        let bench: &'static Rc<Self> = Box::leak(Box::default());
        *bench.memory.borrow_mut() = vec![0x5A5A_5A5A; Kept::WORDS];
        bench
    }

    /// A board that starts on it.
    #[must_use]
    pub fn start(self: &Rc<Self>) -> &'static mut Firmware<'static, Here> {
        let bench: &'static Rc<Self> = Box::leak(Box::new(Rc::clone(self)));
        let port = Port::new(&bench.up, &bench.down, || {});
        let place = Box::leak(Box::new(MaybeUninit::uninit()));
        let room = Box::leak(Box::new(Room::new()));
        let firmware = Firmware::start(place, room, Here { bench: Rc::clone(bench), port });
        firmware.begin();
        firmware
    }

    /// Everything that the board has said since the last time.
    pub fn said(&self) -> Vec<u8> {
        core::iter::from_fn(|| self.down.pop()).collect()
    }
}

/// A pin: of the reset line, or of the second.
pub struct Pin(Rc<Bench>, bool);

impl ErrorType for Pin {
    type Error = Infallible;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Infallible> {
        self.hold(true);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        self.hold(false);
        Ok(())
    }
}

impl Pin {
    fn hold(&self, held: bool) {
        if !self.1 {
            self.0.second.set(held);
        } else if self.0.held.replace(held) != held {
            self.0.edges.borrow_mut().push((self.0.ms.get(), held));
        }
    }
}

/// RAM of the bench.
pub struct Ram(Rc<Bench>);

impl Memory for Ram {
    fn get(&self, at: usize) -> Option<u32> {
        self.0.memory.borrow().get(at).copied()
    }

    fn set(&mut self, at: usize, word: u32) -> bool {
        self.0.memory.borrow_mut().get_mut(at).map(|place| *place = word).is_some()
    }
}

/// The board.
pub struct Here {
    bench: Rc<Bench>,
    port: Port<'static, QUEUE, QUEUE>,
}

impl Board for Here {
    type Line = Pin;
    type Second = Pin;
    type Memory = Ram;
    type Flash = NoFlash;
    type Serial = Port<'static, QUEUE, QUEUE>;

    const NAME: &'static str = "here";
    const WIRING: Wiring = Wiring::Direct;
    const COUNTER: Counter =
        Counter::new(NonZeroU32::new(1000).unwrap(), 32, Direction::Up).unwrap();
    const TICK: Span = Span::from_millis(TICK_MS);

    fn now(&mut self) -> u32 {
        self.bench.ms.get()
    }

    fn ticks(&mut self) -> u32 {
        self.bench.ms.get() / TICK_MS
    }

    fn device(&mut self) -> u64 {
        0x6965
    }

    fn image(&mut self) -> u64 {
        0x5AD1
    }

    fn was_powered_up(&mut self) -> Option<bool> {
        None
    }

    fn line(&mut self, _: PinState) -> Pin {
        Pin(Rc::clone(&self.bench), true)
    }

    fn second(&mut self, _: PinState) -> Pin {
        Pin(Rc::clone(&self.bench), false)
    }

    fn sense(&mut self) -> Option<bool> {
        self.bench.wired.get().then(|| !self.bench.held.get())
    }

    fn second_reads(&mut self) -> Option<bool> {
        Some(self.bench.second.get() && !self.bench.cut.get())
    }

    fn light(&mut self, on: bool) {
        self.bench.light.set(on);
    }

    fn held(&mut self, on: bool) {
        self.bench.red.set(on);
    }

    fn jumper(&mut self) -> bool {
        self.bench.jumper.get()
    }

    fn host_power(&mut self) -> Option<bool> {
        None
    }

    fn port(&mut self) -> Option<bool> {
        self.bench.port.get()
    }

    fn store(&mut self) -> (Ram, Option<NoFlash>) {
        (Ram(Rc::clone(&self.bench)), None)
    }

    fn watchdog(&mut self) {
        self.bench.fed.set(self.bench.fed.get() + 1);
    }

    fn serial(&mut self) -> &mut Port<'static, QUEUE, QUEUE> {
        &mut self.port
    }
}
