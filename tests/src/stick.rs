//! A USB stick of one byte a command, to stand in for hardware that nobody has here.

use std::path::PathBuf;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use crate::plugged::{FarEnd, Plugged};

/// A stick behind a terminal line.
pub struct Stick {
    /// The line.
    pub path: PathBuf,
    plugged: Plugged<Inside>,
}

/// What it has been told.
pub struct Inside {
    /// Every byte that came, in order.
    pub heard: Vec<u8>,
    /// It says nothing any more.
    pub mute: bool,
    /// Its time-out, once it was told one.
    pub timeout: Option<Duration>,
    /// When its time began anew.
    pub fed: Instant,
    /// How often it has reset its host: when told, and after silence.
    pub resets: u32,
    far: FarEnd,
}

impl Stick {
    /// Plugs one in; it counts from the first time-out that it is told.
    ///
    /// # Panics
    /// There are no pseudo terminals.
    #[must_use]
    pub fn plug() -> Self {
        let inside = |far| Inside {
            heard: Vec::new(),
            mute: false,
            timeout: None,
            fed: Instant::now(),
            resets: 0,
            far,
        };
        let plugged = Plugged::new(inside, Inside::step);
        Self { path: plugged.path.clone(), plugged }
    }

    /// It, between two of its steps.
    ///
    /// # Panics
    /// Its thread has.
    pub fn look(&self) -> MutexGuard<'_, Inside> {
        self.plugged.lock()
    }
}

impl Inside {
    fn step(&mut self) -> bool {
        let mut bytes = [0; 64];
        let count = self.far.read(&mut bytes);
        for byte in bytes.into_iter().take(count) {
            self.hear(byte);
        }
        if self.timeout.is_some_and(|timeout| self.fed.elapsed() > timeout) {
            self.resets += 1;
            self.fed = Instant::now();
        }
        count > 0
    }

    fn hear(&mut self, byte: u8) {
        self.heard.push(byte);
        let answer = match byte {
            0x00 => return,
            0x01..=0x7F => {
                self.timeout = Some(Duration::from_secs(10 * u64::from(byte)));
                0xAA
            }
            0x80 => 0x81,
            0x81 => 0x82,
            0xFE | 0xFF => {
                self.resets += 1;
                0xAA
            }
            _ => return,
        };
        self.fed = Instant::now();
        if !self.mute {
            self.far.write(&[answer]);
        }
    }
}
