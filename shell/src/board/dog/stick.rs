//! USB sticks of one byte a command: 9600 baud, no frames, no checksum, no proof of anything.
//!
//! 0x80 asks whether one is there and is answered 0x81; 0x01 to 0x7F are a time-out in tens of
//! seconds, answered 0xAA; 0xFF pulses the reset line. Any byte but zero starts its time anew, so
//! each feed says the time-out once more: whatever another process has told it is put right.
//! Nothing stops one. A daemon that ends leaves it the longest time it knows.

use std::path::PathBuf;

use giveover_core::board::End;
use giveover_core::time::{Instant, Span};

use super::{About, Dog, Guard, Left, Standing, Terms, Trouble};
use crate::board::serial::{Heard, Serial};

const SPEED: u32 = 9_600;
const HELLO: u8 = 0x80;
const HERE: u8 = 0x81;
const DONE: u8 = 0xAA;
const RESET: u8 = 0xFF;

/// What one unit of a time-out is, and the longest.
const UNIT_MS: u32 = 10_000;
const LONGEST: u8 = 0x7F;

/// How long an answer may take, and how often it is asked for.
const PATIENCE: Span = Span::from_secs(1);
const TRIES: u8 = 3;

/// The byte that sets `timeout`, rounded down; never a byte that means something else.
fn unit(timeout: Span) -> u8 {
    (timeout.as_millis() / UNIT_MS).clamp(1, u32::from(LONGEST)) as u8
}

fn span(unit: u8) -> Span {
    Span::from_millis(u32::from(unit) * UNIT_MS)
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    byte: u8,
    answer: u8,
    until: Instant,
    tries: u8,
}

/// One stick, opened or not.
#[derive(Debug)]
pub struct Stick {
    path: PathBuf,
    port: Option<Serial>,
    /// Its time-out, as the byte that sets it.
    unit: u8,
    boot_grace: Span,
    nowayout: bool,
    asked: Option<Asked>,
    guards: bool,
    resetting: bool,
    about: About,
}

impl Stick {
    /// The stick at this port.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            port: None,
            unit: 1,
            boot_grace: Span::from_millis(UNIT_MS),
            nowayout: false,
            asked: None,
            guards: false,
            resetting: false,
            about: About::default(),
        }
    }

    fn take_terms(&mut self, terms: &Terms) {
        self.unit = unit(terms.timeout);
        self.boot_grace = terms.boot_grace;
        self.nowayout = terms.nowayout;
    }

    fn say(&mut self, byte: u8) -> Result<(), Trouble> {
        let port = self.port.as_mut().ok_or(Trouble::Gone)?;
        match port.write(&[byte]) {
            Ok(1) => Ok(()),
            // A port that has no room for one byte hears nobody: as if it had not answered.
            Ok(_) => Ok(()),
            Err(_) => Err(self.lose(Trouble::Gone)),
        }
    }

    fn ask(&mut self, byte: u8, answer: u8, tries: u8, now: Instant) -> Result<(), Trouble> {
        self.asked = Some(Asked { byte, answer, until: now.after(PATIENCE), tries });
        self.say(byte)
    }

    fn lose(&mut self, trouble: Trouble) -> Trouble {
        self.port = None;
        self.asked = None;
        self.guards = false;
        trouble
    }

    fn take(&mut self, byte: u8, now: Instant) -> Result<(), Trouble> {
        let Some(asked) = self.asked.filter(|asked| asked.answer == byte) else {
            self.about.noise = self.about.noise.saturating_add(1);
            return Ok(());
        };
        self.asked = None;
        if asked.byte == HELLO {
            return self.ask(self.unit, DONE, 1, now);
        }
        // A time-out that was changed meanwhile is told by the next feed.
        self.guards = true;
        Ok(())
    }
}

impl Dog for Stick {
    fn open(&mut self, terms: &Terms, now: Instant) -> Result<(), Trouble> {
        self.take_terms(terms);
        self.about = About::default();
        self.resetting = false;
        self.port = Some(Serial::open_at(&self.path, SPEED).map_err(Trouble::Open)?);
        self.ask(HELLO, HERE, 1, now)
    }

    fn retime(&mut self, terms: &Terms, now: Instant) -> Result<(), Trouble> {
        self.take_terms(terms);
        if self.guards { self.feed(now) } else { Ok(()) }
    }

    fn standing(&self) -> Standing {
        match &self.port {
            None => Standing::Closed,
            Some(_) if self.resetting => Standing::Resetting,
            Some(_) if self.guards => Standing::Guarding(Guard {
                timeout: span(self.unit),
                pretimeout: None,
                stops_when_closed: false,
            }),
            Some(_) => Standing::Opening,
        }
    }

    fn feed(&mut self, now: Instant) -> Result<(), Trouble> {
        if !self.guards || self.resetting {
            return Ok(());
        }
        self.about.feeds = self.about.feeds.saturating_add(1);
        match self.asked {
            // What was not answered yet is not asked twice at once; the byte feeds all the same.
            Some(_) => self.say(self.unit),
            None => self.ask(self.unit, DONE, 1, now),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.asked.filter(|_| !self.resetting).map(|asked| asked.until)
    }

    fn due(&mut self, now: Instant) -> Result<(), Trouble> {
        match self.asked.filter(|asked| now >= asked.until && !self.resetting) {
            None => Ok(()),
            Some(asked) if asked.tries < TRIES => {
                self.ask(asked.byte, asked.answer, asked.tries + 1, now)
            }
            Some(_) => Err(self.lose(Trouble::NoAnswer)),
        }
    }

    fn ready(&mut self, now: Instant) -> Result<(), Trouble> {
        let mut bytes = [0; 64];
        // So much at once: a port that never falls silent keeps nothing else waiting.
        for _ in 0..64 {
            let Some(port) = &mut self.port else { return Ok(()) };
            match port.read(&mut bytes) {
                Heard::Nothing => return Ok(()),
                Heard::Gone => return Err(self.lose(Trouble::Gone)),
                Heard::Bytes(count) => {
                    for byte in bytes.iter().take(count) {
                        self.take(*byte, now)?;
                    }
                }
            }
        }
        Err(self.lose(Trouble::Gone)) // the edge would not come again for what is left
    }

    fn port(&mut self) -> Option<&mut Serial> {
        self.port.as_mut()
    }

    fn reset(&mut self) -> Result<(), Trouble> {
        self.say(RESET)?;
        self.resetting = true;
        Ok(())
    }

    fn end(&mut self, end: End) -> Left {
        if self.port.is_none() {
            return Left::Closed;
        }
        let left = match end {
            End::Reboot => unit(self.boot_grace),
            End::Stop | End::Poweroff | End::Suspend if self.nowayout => self.unit,
            End::Stop | End::Poweroff | End::Suspend => LONGEST,
        };
        let said = self.say(left);
        self.lose(Trouble::Gone);
        Left::Counting(span(if said.is_ok() { left } else { self.unit }))
    }

    fn about(&self) -> About {
        self.about.clone()
    }
}

#[cfg(test)]
mod tests;
