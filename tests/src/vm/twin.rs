//! The same firmware on this machine, tick by tick: what an emulated board is compared with.

use std::collections::VecDeque;
use std::rc::Rc;

use giveover_firmware::bench::{Bench, Here};
use giveover_firmware::board::Firmware;

use super::host::Talks;
use super::{SLOW, TICK_MS};

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
        let bench = Bench::set_up();
        Self { bench, firmware: bench.start(), to_come: VecDeque::new() }
    }

    /// How often the reset line was held.
    #[must_use]
    pub fn pulses(&self) -> u32 {
        self.bench.edges.borrow().iter().filter(|edge| edge.1).count() as u32
    }

    /// Whether the reset line and the second line are held.
    #[must_use]
    pub fn lines(&self) -> (bool, bool) {
        (self.bench.held.get(), self.bench.second.get())
    }
}

impl Talks for Twin {
    fn tick(&mut self) {
        self.bench.ms.set(self.bench.ms.get() + TICK_MS as u32);
        let some = self.to_come.len().min(SLOW);
        for byte in self.to_come.drain(..some) {
            self.bench.up.push(byte);
        }
        self.firmware.step();
    }

    fn now(&self) -> u64 {
        u64::from(self.bench.ms.get())
    }

    fn send(&mut self, bytes: &[u8]) {
        self.to_come.extend(bytes);
        while !self.to_come.is_empty() {
            self.tick();
        }
    }

    fn received(&mut self) -> Vec<u8> {
        self.bench.said()
    }
}
