//! What the host says, and what it is answered.

use giveover_core::board::{Event, Refusal};
use giveover_core::time::Instant;
use giveover_core::wire::{About, Ask, FromBoard, Key, Lines, Opened, ToBoard};

use super::Firmware;
use crate::hardware::Board;
use crate::link::Link;

/// This version, as it is told.
const VERSION: [u8; 3] = [
    number(env!("CARGO_PKG_VERSION_MAJOR")),
    number(env!("CARGO_PKG_VERSION_MINOR")),
    number(env!("CARGO_PKG_VERSION_PATCH")),
];

/// A number below 256 in decimal digits, read by the compiler.
const fn number(digits: &str) -> u8 {
    let digits = digits.as_bytes();
    let (mut at, mut value) = (0, 0);
    while at < digits.len() {
        value = value * 10 + (digits[at] - b'0');
        at += 1;
    }
    value
}

/// The first twelve letters, with zeros behind a shorter name.
const fn twelve(name: &str) -> [u8; 12] {
    let (name, mut letters, mut at) = (name.as_bytes(), [0; 12], 0);
    while at < name.len() && at < letters.len() {
        letters[at] = name[at];
        at += 1;
    }
    letters
}

impl<B: Board> Firmware<'_, B> {
    /// Takes what the host has sent.
    #[inline(never)]
    pub(super) fn see_to_host(&mut self, now: Instant) {
        let mut left = Link::AT_ONCE;
        let mut opened = Opened::NONE;
        while let Some(heard) = self.link.hear(self.board.serial(), &mut left, &mut opened) {
            if heard.is_err() {
                continue;
            }
            // The machine is told from here, because the stack is small.
            let event = self.take(&opened, now);
            let fed = matches!(event, Some(Event::Feed { .. }));
            self.go_on(event, opened.counter, now);
            if fed {
                self.tell_host(Ask::Status, now);
            }
        }
    }

    /// Answers what the machine has nothing to do with; the rest is an event.
    #[inline(never)]
    fn take(&mut self, opened: &Opened, now: Instant) -> Option<Event> {
        self.fresh |= opened.fresh;
        let to = opened.counter;
        match opened.frame {
            ToBoard::Feed { answer, verdict } => {
                let right = self.link.end().answers(answer);
                let fresh = core::mem::take(&mut self.fresh);
                return Some(Event::Feed { fresh, right, verdict });
            }
            ToBoard::Hello { nonce } => self.greet(nonce),
            ToBoard::Ask(ask) => self.tell_host(ask, now),
            ToBoard::ReadLog { from } => self.read_log(from),
            ToBoard::FlushLog { through } => {
                self.log.flush(through);
                self.answer(to, None);
            }
            ToBoard::Pair(key) => self.pair(key),
            ToBoard::Shadow { .. } => self.answer(to, Some(Refusal::Unsupported)),
            _ => return opened.frame.request().map(Event::Host),
        }
        None
    }

    #[inline(never)]
    fn greet(&mut self, host: u64) {
        self.hellos = self.hellos.wrapping_add(1);
        let nonce = u64::from(self.started) << 32 | u64::from(self.hellos);
        self.link.answer_hello(self.board.serial(), host, nonce);
    }

    #[inline(never)]
    fn tell_host(&mut self, ask: Ask, now: Instant) {
        let frame = match ask {
            Ask::Status => FromBoard::Status {
                challenge: self.link.end().challenge(),
                lines: Lines {
                    reset_held: self.line.is_held(),
                    reset_high: self.board.sense(),
                    second_on: self.second_on,
                },
                report: self.machine.report(now),
            },
            Ask::Counters => {
                FromBoard::Counters { board: *self.machine.counters(), link: self.link.counters() }
            }
            Ask::About => FromBoard::About(self.about(now)),
            Ask::Settings => FromBoard::Settings(*self.machine.settings()),
            Ask::Image => FromBoard::Image(self.board.image()),
        };
        self.link.say(self.board.serial(), &frame);
    }

    #[inline(never)]
    fn about(&mut self, now: Instant) -> About {
        let (store_used, store_size) = self.store.room();
        About {
            board: const { twelve(B::NAME) },
            version: VERSION,
            up: Instant::from_millis(now.since(self.began)),
            power_up: self.power_up,
            bites: u32::from(self.bites),
            store_used,
            store_size,
        }
    }

    fn read_log(&mut self, from: u32) {
        let frame = match self.log.read(from) {
            Some(entry) => FromBoard::Log(entry),
            None => FromBoard::LogEnd { lost: self.log.lost() },
        };
        self.link.say(self.board.serial(), &frame);
    }

    /// Takes a key while there is none, or the jumper was set when the power came. It is durable
    /// before it is used.
    #[inline(never)]
    fn pair(&mut self, key: Key) {
        let refusal = if self.key.is_some() && !self.rekey {
            Some(Refusal::Keyed)
        } else {
            let before = self.key.replace(key);
            if self.keep().1 {
                self.link.end().set_key(key);
                None
            } else {
                self.key = before;
                Some(Refusal::StoreFailed)
            }
        };
        self.answer(0, refusal);
    }

    pub(super) fn echo(&mut self) {
        let frame = FromBoard::Settings(*self.machine.settings());
        self.link.say(self.board.serial(), &frame);
    }

    #[inline(never)]
    pub(super) fn answer(&mut self, to: u32, refusal: Option<Refusal>) {
        self.link.say(self.board.serial(), &FromBoard::Answer { to, refusal });
    }
}
