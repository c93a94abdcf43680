//! Giving a board its key: only one that has none takes it, or one whose jumper was set when it
//! was powered up.

use std::path::Path;

use giveover_core::board::Refusal;
use giveover_core::time::{Instant, Span};
use giveover_core::wire::{
    Decoder, FromBoard, Garbage, HostEnd, Key, KeyId, MAX_ENCODED, Refused, ToBoard,
};

use super::directly::{Talk, talk};
use super::link::Trouble;

/// How long an answer may take, and how often it is asked.
const PATIENCE: Span = Span::from_millis(500);
const TRIES: u8 = 6;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paired {
    /// The board has taken our key.
    Taken {
        /// The board's number, where it told one.
        device: u64,
    },
    /// It had our key already.
    Already {
        /// The board's number.
        device: u64,
    },
    /// It keeps the key it has.
    Refused(Refusal, Option<KeyId>),
    /// It was given the key and has fallen silent: it may have taken it.
    Unanswered,
    /// It cannot be talked to.
    Trouble(Trouble),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Greeting,
    /// The key has been sent; whose key it has now.
    Giving(Option<KeyId>),
}

/// The dialogue of a pairing, sans-IO.
#[derive(Debug)]
pub struct Pairing {
    key: Key,
    nonce: u64,
    end: HostEnd,
    decoder: Decoder,
    stage: Stage,
    device: u64,
    until: Instant,
    tries: u8,
    heard: bool,
    version: Option<u8>,
    /// What is to be written.
    pub output: Vec<u8>,
}

impl Pairing {
    /// Greets the board; neither `nonce` nor the number behind it was ever used before.
    #[must_use]
    pub fn begin(key: Key, nonce: u64, now: Instant) -> Self {
        let mut pairing = Self {
            key,
            nonce,
            end: HostEnd::new(key, nonce),
            decoder: Decoder::new(),
            stage: Stage::Greeting,
            device: 0,
            until: now,
            tries: 0,
            heard: false,
            version: None,
            output: Vec::new(),
        };
        pairing.say(now);
        pairing
    }

    /// When [`Pairing::due`] is wanted.
    #[must_use]
    pub const fn poll_timeout(&self) -> Instant {
        self.until
    }

    fn say(&mut self, now: Instant) {
        let mut buffer = [0; MAX_ENCODED];
        let length = match self.stage {
            Stage::Greeting => self.end.hello(&mut buffer),
            Stage::Giving(_) => {
                let sealed = self.end.seal(&ToBoard::Pair(self.key), &mut buffer);
                sealed.map(|(length, _)| length)
            }
        };
        self.output.push(0);
        self.output.extend_from_slice(buffer.get(..length.unwrap_or(0)).unwrap_or_default());
        self.until = now.after(PATIENCE);
        self.tries += 1;
    }

    fn give(&mut self, has: Option<KeyId>, now: Instant) {
        self.stage = Stage::Giving(has);
        self.tries = 0;
        self.say(now);
    }

    /// A board that had no key, and keeps the one it has now: perhaps ours, and only its answer was
    /// lost.
    fn greet_again(&mut self, now: Instant) {
        self.end = HostEnd::new(self.key, self.nonce.wrapping_add(1));
        self.stage = Stage::Greeting;
        self.tries = 0;
        self.say(now);
    }

    /// No answer came in time: once more, or the end of it.
    pub fn due(&mut self, now: Instant) -> Option<Paired> {
        if now < self.until {
            return None;
        }
        if self.tries < TRIES {
            self.say(now);
            return None;
        }
        Some(match (self.stage, self.version) {
            // A board that answers nobody but its own host keeps its key.
            (Stage::Giving(Some(has)), _) => Paired::Refused(Refusal::Keyed, Some(has)),
            (Stage::Giving(None), _) => Paired::Unanswered,
            (_, Some(version)) => Paired::Trouble(Trouble::Version(version)),
            _ if self.heard => Paired::Trouble(Trouble::Chatter),
            _ => Paired::Trouble(Trouble::NoAnswer),
        })
    }

    /// Takes bytes from the port.
    pub fn hear(&mut self, bytes: &[u8], now: Instant) -> Option<Paired> {
        self.heard |= !bytes.is_empty();
        for byte in bytes {
            let opened = match self.decoder.push(*byte) {
                None => continue,
                Some(Err(Garbage::Version(version))) => {
                    self.version = Some(version);
                    continue;
                }
                Some(Err(_)) => continue,
                Some(Ok(raw)) => self.end.open(&raw),
            };
            if let Some(paired) = self.take(opened, now) {
                return Some(paired);
            }
        }
        None
    }

    fn take(&mut self, opened: Result<FromBoard, Refused>, now: Instant) -> Option<Paired> {
        match (self.stage, opened) {
            (_, Ok(FromBoard::Challenge { key: Some(_), .. })) => {
                // Without a tag it is no proof of anything.
                self.end.device().map(|device| Paired::Already { device })
            }
            (Stage::Greeting, Ok(FromBoard::Challenge { device, key: None, .. })) => {
                self.device = device;
                self.give(None, now);
                None
            }
            (Stage::Greeting, Err(Refused::OtherKey(has))) => {
                self.give(has, now);
                None
            }
            (Stage::Giving(_), Ok(FromBoard::Answer { to: 0, refusal: None })) => {
                Some(Paired::Taken { device: self.device })
            }
            (
                Stage::Giving(None),
                Ok(FromBoard::Answer { to: 0, refusal: Some(Refusal::Keyed) }),
            ) if self.tries > 1 => {
                self.greet_again(now);
                None
            }
            (Stage::Giving(has), Ok(FromBoard::Answer { to: 0, refusal: Some(refusal) })) => {
                Some(Paired::Refused(refusal, has))
            }
            // Sealed for a host whose key it keeps; and whatever else is said meanwhile.
            _ => None,
        }
    }
}

impl Talk for Pairing {
    type End = Paired;

    fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    fn poll_timeout(&self) -> Instant {
        Self::poll_timeout(self)
    }

    fn hear(&mut self, bytes: &[u8], now: Instant) -> Option<Paired> {
        Self::hear(self, bytes, now)
    }

    fn due(&mut self, _nonce: u64, now: Instant) -> Option<Paired> {
        Self::due(self, now)
    }
}

/// Pairs the board at `path` with `key`, on a port that nobody else has. Waits for it.
///
/// # Errors
/// The port cannot be opened, in words.
pub fn directly(path: &Path, key: Key) -> Result<Paired, String> {
    talk(path, |nonce, now| Pairing::begin(key, nonce, now))
}

impl Paired {
    /// What to tell the person who asked for it; `key` is ours.
    #[must_use]
    pub fn told(self, key: KeyId) -> String {
        match self {
            Self::Taken { device } if device != 0 => {
                format!("board {} has taken key {key}", super::link::device(device))
            }
            Self::Taken { .. } => format!("the board has taken key {key}"),
            Self::Already { device } => {
                format!("board {} has key {key} already", super::link::device(device))
            }
            Self::Refused(refusal, Some(has)) => format!(
                "the board keeps its key {has}: {}; set the jumper, power it up, and try again",
                refusal.word()
            ),
            Self::Refused(refusal, None) => {
                format!("the board does not take the key: {}", refusal.word())
            }
            Self::Unanswered => format!(
                "the board was given key {key} and has fallen silent: it may have taken it; pair \
                 again"
            ),
            Self::Trouble(trouble) => format!("{trouble}: {}", trouble.remedy()),
        }
    }
}
