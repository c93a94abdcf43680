//! The same firmware on this machine, tick by tick: what an emulated board is compared with.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::mem::MaybeUninit;
use std::num::NonZeroU32;
use std::rc::Rc;

use embedded_hal::digital::{ErrorType, OutputPin, PinState};
use giveover_core::time::Span;
use giveover_firmware::board::{Firmware, Room};
use giveover_firmware::fifo::Fifo;
use giveover_firmware::hardware::Board;
use giveover_firmware::kept::Kept;
use giveover_firmware::line::Wiring;
use giveover_firmware::serial::Port;
use giveover_firmware::store::{Memory, NoFlash};
use giveover_firmware::tick::{Counter, Direction};

use super::TICK_MS;
use super::host::Talks;

const QUEUE: usize = 256;
/// What a UART brings in a tick.
const AT_ONCE: usize = 16;

/// What outlives the firmware's view of it.
#[derive(Default)]
struct Bench {
    ticks: Cell<u32>,
    pulses: Cell<u32>,
    held: Cell<bool>,
    second: Cell<bool>,
    memory: RefCell<Vec<u32>>,
    up: Fifo<QUEUE>,
    down: Fifo<QUEUE>,
}

/// A board on this machine.
pub struct Twin {
    bench: &'static Rc<Bench>,
    firmware: &'static mut Firmware<'static, Here>,
    to_come: VecDeque<u8>,
}

impl Twin {
    /// Powers it up: RAM is anything. It is never given back, since an image has its place for ever.
    #[must_use]
    pub fn start() -> Self {
        let bench: &'static Rc<Bench> = Box::leak(Box::default());
        *bench.memory.borrow_mut() = vec![0x5A5A_5A5A; Kept::WORDS];
        let port = Port::new(&bench.up, &bench.down, || {});
        let place = Box::leak(Box::new(MaybeUninit::uninit()));
        let room = Box::leak(Box::new(Room::new()));
        let firmware = Firmware::start(place, room, Here { bench: Rc::clone(bench), port });
        firmware.begin();
        Self { bench, firmware, to_come: VecDeque::new() }
    }

    /// How often the reset line was held.
    #[must_use]
    pub fn pulses(&self) -> u32 {
        self.bench.pulses.get()
    }

    /// Whether the reset line and the second line are held.
    #[must_use]
    pub fn lines(&self) -> (bool, bool) {
        (self.bench.held.get(), self.bench.second.get())
    }
}

impl Talks for Twin {
    fn tick(&mut self) {
        self.bench.ticks.set(self.bench.ticks.get() + 1);
        let some = self.to_come.len().min(AT_ONCE);
        for byte in self.to_come.drain(..some) {
            self.bench.up.push(byte);
        }
        self.firmware.step();
    }

    fn now(&self) -> u64 {
        u64::from(self.bench.ticks.get()) * TICK_MS
    }

    fn send(&mut self, bytes: &[u8]) {
        self.to_come.extend(bytes);
        while !self.to_come.is_empty() {
            self.tick();
        }
    }

    fn received(&mut self) -> Vec<u8> {
        std::iter::from_fn(|| self.bench.down.pop()).collect()
    }
}

struct Pin(Rc<Bench>, bool);

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
        } else if self.0.held.replace(held) != held && held {
            self.0.pulses.set(self.0.pulses.get() + 1);
        }
    }
}

struct Ram(Rc<Bench>);

impl Memory for Ram {
    fn get(&self, at: usize) -> Option<u32> {
        self.0.memory.borrow().get(at).copied()
    }

    fn set(&mut self, at: usize, word: u32) -> bool {
        self.0.memory.borrow_mut().get_mut(at).map(|place| *place = word).is_some()
    }
}

struct Here {
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
    const COUNTER: Counter = {
        let hz = NonZeroU32::new(1000 / TICK_MS as u32).expect("ticks go on");
        Counter::new(hz, 32, Direction::Up).expect("32 bits")
    };
    const TICK: Span = Span::from_millis(TICK_MS as u32);

    fn now(&mut self) -> u32 {
        self.bench.ticks.get()
    }

    fn ticks(&mut self) -> u32 {
        self.bench.ticks.get()
    }

    fn device(&mut self) -> u64 {
        0x6965
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
        None
    }

    fn light(&mut self, _: bool) {}

    fn jumper(&mut self) -> bool {
        false
    }

    fn host_power(&mut self) -> Option<bool> {
        None
    }

    fn port(&mut self) -> Option<bool> {
        None
    }

    fn store(&mut self) -> (Ram, Option<NoFlash>) {
        (Ram(Rc::clone(&self.bench)), None)
    }

    fn watchdog(&mut self) {}

    fn serial(&mut self) -> &mut Port<'static, QUEUE, QUEUE> {
        &mut self.port
    }
}
