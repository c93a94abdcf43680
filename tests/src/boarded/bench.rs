//! What the firmware runs on: a counter, pins, RAM that a reset leaves alone, and flash that is cut short
//! when its power goes.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::num::NonZeroU32;

use embedded_hal::digital::{ErrorType, OutputPin, PinState};
use embedded_storage::nor_flash::{
    ErrorType as FlashErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash,
};
use giveover::sim::world::Happened;
use giveover_core::board::{Durable, Start};
use giveover_core::time::Span;
use giveover_firmware::fifo::Fifo;
use giveover_firmware::hardware::Board;
use giveover_firmware::kept::Kept;
use giveover_firmware::line::Wiring;
use giveover_firmware::serial::Port;
use giveover_firmware::store::{Memory, Ring};
use giveover_firmware::tick::{Counter, Direction};

const QUEUE: usize = 512;
/// From one tick of the periodic timer to the next, in milliseconds.
pub(super) const TICK_MS: u64 = 10;
/// Two pages of flash, few records in each, so that pages are entered and erased often.
const PAGE: usize = 1024;
const FLASH: usize = 2 * PAGE;

/// What stands on the bench.
pub(super) struct Bench {
    /// True time.
    pub(super) ms: Cell<u64>,
    pub(super) powered: Cell<bool>,
    pub(super) held: Cell<bool>,
    second: Cell<bool>,
    pub(super) jumper: Cell<bool>,
    pub(super) port: Cell<Option<bool>>,
    ram: RefCell<Vec<u32>>,
    flash: RefCell<Vec<u8>>,
    pub(super) works: Cell<bool>,
    /// The power goes in the middle of the next write.
    pub(super) tears: Cell<Option<u64>>,
    /// Words of that write that are still taken whole.
    left: Cell<Option<u64>>,
    /// The newest intent that was followed by a pulse.
    pulsed: Cell<u32>,
    pub(super) seen: RefCell<VecDeque<Happened>>,
    /// Bytes to the board, and from it.
    pub(super) up: Fifo<QUEUE>,
    pub(super) down: Fifo<QUEUE>,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            ms: Cell::new(0),
            powered: Cell::new(false),
            held: Cell::new(false),
            second: Cell::new(false),
            jumper: Cell::new(false),
            port: Cell::new(None),
            ram: RefCell::new(vec![0x5A5A_5A5A; Kept::WORDS]),
            flash: RefCell::new(vec![0xFF; FLASH]),
            works: Cell::new(true),
            tears: Cell::new(None),
            left: Cell::new(None),
            pulsed: Cell::new(0),
            seen: RefCell::default(),
            up: Fifo::new(),
            down: Fifo::new(),
        }
    }
}

impl Bench {
    pub(super) fn see(&self, happened: Happened) {
        self.seen.borrow_mut().push_back(happened);
    }

    /// A board is about to start on it: its pins are inputs until they are made outputs.
    pub(super) fn begin(&self, start: Start, now: u64) {
        self.let_go();
        self.ms.set(now);
        self.powered.set(true);
        if start == Start::PowerUp {
            // RAM is anything, though its bytes look like something
            let garbage = (now as u32).wrapping_mul(0x9E37_79B9) | 1;
            self.ram.borrow_mut().iter_mut().for_each(|word| *word ^= garbage);
        }
    }

    /// The power is gone.
    pub(super) fn end(&self) {
        self.powered.set(false);
        self.tears.set(None);
        self.left.set(None);
        self.let_go();
    }

    fn let_go(&self) {
        while self.up.pop().is_some() {}
        while self.down.pop().is_some() {}
        if self.held.replace(false) {
            self.see(Happened::Released);
        }
        if self.second.replace(false) {
            self.see(Happened::Second(false));
        }
    }

    /// The record that a loss of power would leave.
    pub(super) fn record(&self) -> Option<Durable> {
        let mut ring: Ring<Chip<'_>, { Kept::BYTES }> = Ring::open(Chip(self));
        let mut bytes = [0; Kept::BYTES];
        ring.read(&mut bytes).then_some(())?;
        let (machine, _) = bytes.split_first_chunk()?;
        let mut durable = Durable::NEW;
        durable.decode_into(machine).ok()?;
        Some(durable)
    }

    fn hold(&self, held: bool) {
        if !self.powered.get() || self.held.replace(held) == held {
            return;
        }
        if !held {
            return self.see(Happened::Released);
        }
        let intent = self.record().filter(|record| record.intent).map_or(0, |record| record.ever);
        let durable = intent > self.pulsed.get();
        self.pulsed.set(self.pulsed.get().max(intent));
        self.see(Happened::Held { durable });
    }

    /// One word of flash; false where nothing was written, or not all of it.
    fn write(&self, at: usize, word: [u8; 4]) -> bool {
        if !self.powered.get() || !self.works.get() {
            return false;
        }
        if let Some(chance) = self.tears.take() {
            self.left.set(Some(chance % (Kept::BYTES as u64 / 4 + 4)));
        }
        // programming only clears bits; of a word that is cut short it clears some
        let mut mask = [0xFF_u8; 4];
        match self.left.get() {
            Some(0) => {
                mask = (at as u32).wrapping_mul(0x9E37_79B9).to_le_bytes();
                self.lose_power();
            }
            Some(left) => self.left.set(Some(left - 1)),
            None => {}
        }
        let mut flash = self.flash.borrow_mut();
        for (place, (byte, mask)) in flash.iter_mut().skip(at).zip(word.iter().zip(mask)) {
            *place &= byte | !mask;
        }
        self.powered.get()
    }

    /// A page is erased; cut short it is anything.
    fn erase(&self, from: usize, until: usize) -> bool {
        if !self.powered.get() || !self.works.get() {
            return false;
        }
        let torn = self.tears.get().filter(|chance| chance % 3 == 0);
        for (at, byte) in self.flash.borrow_mut().iter_mut().enumerate() {
            if (from..until).contains(&at) {
                let kept = torn.is_some_and(|chance| (at as u64).wrapping_mul(chance | 1) % 5 == 0);
                *byte |= if kept { 0 } else { 0xFF };
            }
        }
        if torn.is_some() {
            self.tears.set(None);
            self.lose_power();
        }
        self.powered.get()
    }

    fn lose_power(&self) {
        self.powered.set(false);
        self.left.set(None);
        self.see(Happened::PowerLost);
    }
}

/// A pin: of the reset line, or of the second.
pub(super) struct Pin<'b> {
    bench: &'b Bench,
    second: bool,
}

impl ErrorType for Pin<'_> {
    type Error = Infallible;
}

impl Pin<'_> {
    fn hold(&self, held: bool) {
        if !self.second {
            self.bench.hold(held);
        } else if self.bench.powered.get() && self.bench.second.replace(held) != held {
            self.bench.see(Happened::Second(held));
        }
    }
}

impl OutputPin for Pin<'_> {
    fn set_low(&mut self) -> Result<(), Infallible> {
        self.hold(true);
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        self.hold(false);
        Ok(())
    }
}

/// RAM that a reset leaves alone.
pub(super) struct Ram<'b>(&'b Bench);

impl Memory for Ram<'_> {
    fn get(&self, at: usize) -> Option<u32> {
        self.0.ram.borrow().get(at).copied()
    }

    fn set(&mut self, at: usize, word: u32) -> bool {
        self.0.ram.borrow_mut().get_mut(at).map(|place| *place = word).is_some()
    }
}

/// The flash of the chip.
pub(super) struct Chip<'b>(&'b Bench);

impl FlashErrorType for Chip<'_> {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Chip<'_> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        let from = offset as usize;
        let flash = self.0.flash.borrow();
        let there = flash.get(from..from + bytes.len()).ok_or(NorFlashErrorKind::OutOfBounds)?;
        bytes.copy_from_slice(there);
        Ok(())
    }

    fn capacity(&self) -> usize {
        FLASH
    }
}

impl NorFlash for Chip<'_> {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        let done = self.0.erase(from as usize, to as usize);
        if done { Ok(()) } else { Err(NorFlashErrorKind::Other) }
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        for (at, word) in (offset as usize..).step_by(4).zip(bytes.chunks_exact(4)) {
            let mut four = [0; 4];
            four.copy_from_slice(word);
            if !self.0.write(at, four) {
                return Err(NorFlashErrorKind::Other);
            }
        }
        Ok(())
    }
}

/// The board.
pub(super) struct Here<'b> {
    bench: &'b Bench,
    serial: Port<'b, QUEUE, QUEUE>,
}

impl<'b> Here<'b> {
    pub(super) fn on(bench: &'b Bench) -> Self {
        Self { bench, serial: Port::new(&bench.up, &bench.down, || {}) }
    }
}

impl<'b> Board for Here<'b> {
    type Line = Pin<'b>;
    type Second = Pin<'b>;
    type Memory = Ram<'b>;
    type Flash = Chip<'b>;
    type Serial = Port<'b, QUEUE, QUEUE>;

    const NAME: &'static str = "world";
    const WIRING: Wiring = Wiring::Direct;
    const COUNTER: Counter =
        Counter::new(NonZeroU32::new(1000).unwrap(), 32, Direction::Up).unwrap();
    const TICK: Span = Span::from_millis(TICK_MS as u32);

    fn now(&mut self) -> u32 {
        self.bench.ms.get() as u32
    }

    fn ticks(&mut self) -> u32 {
        (self.bench.ms.get() / TICK_MS) as u32
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

    fn line(&mut self, _: PinState) -> Pin<'b> {
        Pin { bench: self.bench, second: false }
    }

    fn second(&mut self, _: PinState) -> Pin<'b> {
        Pin { bench: self.bench, second: true }
    }

    fn sense(&mut self) -> Option<bool> {
        Some(!self.bench.held.get())
    }

    fn second_reads(&mut self) -> Option<bool> {
        Some(self.bench.second.get())
    }

    fn light(&mut self, _: bool) {}

    fn jumper(&mut self) -> bool {
        self.bench.jumper.get()
    }

    fn host_power(&mut self) -> Option<bool> {
        None
    }

    fn port(&mut self) -> Option<bool> {
        self.bench.port.get()
    }

    fn store(&mut self) -> (Ram<'b>, Option<Chip<'b>>) {
        (Ram(self.bench), Some(Chip(self.bench)))
    }

    fn watchdog(&mut self) {}

    fn serial(&mut self) -> &mut Port<'b, QUEUE, QUEUE> {
        &mut self.serial
    }
}
