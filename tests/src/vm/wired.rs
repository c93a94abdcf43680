//! An emulated board on a terminal line, for the real daemon.
//!
//! The board's time goes on with this machine's and never ahead of it, so that a daemon that is kept
//! waiting by a busy machine is not taken for one that is stuck. While nobody can be waiting for the
//! other, because the daemon stands still, a test may let the board's time run as fast as it goes.

use std::path::PathBuf;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use giveover_core::wire::{Decoder, TAGGED};

use super::{Step, TICK_MS, Vm};
use crate::plugged::{FarEnd, Plugged};

/// A board that is this far behind the machine's time stays so.
const CATCHES_UP: Duration = Duration::from_millis(500);
/// The kind of a feed.
const FEED: u8 = 0x03;

/// A board on a terminal line.
pub struct Wired {
    /// The line.
    pub path: PathBuf,
    plugged: Plugged<Inside>,
}

/// The board, and what went over the line.
pub struct Inside {
    /// The board itself, stopped at a tick.
    pub vm: Vm,
    /// Feeds that the host has sent.
    pub feeds: u32,
    /// Before and behind the last of them, in the board's milliseconds.
    pub fed: (u64, u64),
    far: FarEnd,
    decoder: Decoder,
    begun: (Instant, u64),
}

impl Wired {
    /// Puts a board onto a line.
    ///
    /// # Panics
    /// There are no pseudo terminals.
    #[must_use]
    pub fn plug(vm: Vm) -> Self {
        let begun = (Instant::now(), vm.now());
        let inside =
            |far| Inside { vm, feeds: 0, fed: (0, 0), far, decoder: Decoder::new(), begun };
        let plugged = Plugged::new(inside, |inside| {
            inside.go_on();
            false
        });
        Self { path: plugged.path.clone(), plugged }
    }

    /// The board between two of its ticks, at which it stands still meanwhile.
    ///
    /// # Panics
    /// Its thread has.
    pub fn board(&self) -> MutexGuard<'_, Inside> {
        self.plugged.lock()
    }

    /// Waits until the board's time has gone on by so much.
    ///
    /// # Panics
    /// It does not.
    pub fn wait(&self, ms: u64) {
        let until = self.board().vm.now() + ms;
        while self.board().vm.now() < until {
            assert!(self.plugged.is_well(), "it died");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

impl Inside {
    /// Carries bytes both ways, and lets the board's time catch up with this machine's.
    fn go_on(&mut self) {
        self.carry();
        let (begun, from) = self.begun;
        let gone = begun.elapsed();
        let behind = gone.saturating_sub(Duration::from_millis(self.vm.now().saturating_sub(from)));
        if behind > CATCHES_UP {
            self.begin_again();
        } else if behind >= Duration::from_millis(TICK_MS) {
            self.vm.tick();
        }
    }

    /// Takes what the host has said before it was stopped, and then lets the board's time run.
    ///
    /// The host must stand still, or it seems slow to the board.
    pub fn run_alone(&mut self, ms: u64) {
        self.carry();
        self.vm.run(ms);
        self.carry();
        self.begin_again();
    }

    /// The power of the board goes, and comes back, at this step of a pulse, or, if none comes within
    /// so many milliseconds, then. Whether one came.
    pub fn cut_power_at(&mut self, step: Step, ms: u64) -> bool {
        self.carry();
        let came = self.vm.run_to(step, ms);
        self.cut_power();
        came
    }

    /// The power of the board goes, and comes back.
    pub fn cut_power(&mut self) {
        self.carry();
        self.vm.cut_power();
        self.begin_again();
    }

    fn begin_again(&mut self) {
        self.begun = (Instant::now(), self.vm.now());
    }

    fn carry(&mut self) {
        let mut bytes = [0; 512];
        while let Some(length) = Some(self.far.read(&mut bytes)).filter(|length| *length > 0) {
            for frame in bytes[..length].split_inclusive(|byte| *byte == 0) {
                let before = self.vm.now();
                self.vm.send(frame);
                let after = self.vm.now();
                for byte in frame {
                    if let Some(Ok(raw)) = self.decoder.push(*byte) {
                        if raw.kind & !TAGGED == FEED {
                            self.feeds += 1;
                            self.fed = (before, after);
                        }
                    }
                }
            }
        }
        let said = self.vm.received();
        self.far.write(&said);
    }
}
