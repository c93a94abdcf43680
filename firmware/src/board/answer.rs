//! What the host says, and what it is answered.

use giveover_core::board::{Event, Refusal};
use giveover_core::bytes::Put;
use giveover_core::time::Instant;
use giveover_core::wire::{About, Ask, Key, Lines, MAX_PAYLOAD, Opened, ToBoard, Write};

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
        #[cfg(feature = "shadow")]
        if opened.fresh {
            self.shadows.end_all();
        }
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
            #[cfg(not(feature = "shadow"))]
            ToBoard::Shadow { .. } => self.answer(to, Some(Refusal::Unsupported)),
            #[cfg(feature = "shadow")]
            ToBoard::Shadow { service, at, event } => {
                let (refusal, differs) = self.tell_shadow(service, at, &event);
                self.answer(to, refusal);
                return differs.then_some(Event::Differs { service });
            }
            _ => return opened.frame.request().map(Event::Host),
        }
        None
    }

    /// Tells a shadow. Why not, if not; and whether it has differed from its original for long
    /// enough.
    #[cfg(feature = "shadow")]
    #[inline(never)]
    fn tell_shadow(
        &mut self,
        service: u8,
        at: Instant,
        told: &giveover_core::wire::v1::EventBytes,
    ) -> (Option<Refusal>, bool) {
        use giveover_core::wire::v1::ToShadow;
        let Some(told) = told.told() else { return (Some(Refusal::OutOfRange), false) };
        let mut differs = false;
        let done = match told {
            ToShadow::Policy { at, bytes, len } => {
                let bytes = bytes.get(..usize::from(len)).unwrap_or(&[]);
                self.shadows.take_piece(at, bytes)
            }
            ToShadow::Begin => self.shadows.begin(service, at),
            ToShadow::Event(event) => self.shadows.feed(service, event, at),
            ToShadow::Stands { digest } => match self.shadows.compare(service, digest) {
                Some(lasted) => {
                    differs = lasted;
                    true
                }
                None => false,
            },
        };
        (if done { None } else { Some(Refusal::NoShadow) }, differs)
    }

    #[inline(never)]
    fn greet(&mut self, host: u64) {
        self.hellos = self.hellos.wrapping_add(1);
        let nonce = u64::from(self.started) << 32 | u64::from(self.hellos);
        self.link.answer_hello(self.board.serial(), host, nonce);
    }

    /// Tells the host what it asks for.
    #[inline(never)]
    pub(super) fn tell_host(&mut self, ask: Ask, now: Instant) {
        let mut buffer = [0; MAX_PAYLOAD];
        let mut out = Put::new(&mut buffer);
        let kind = match ask {
            Ask::Status => {
                let lines = Lines {
                    reset_held: self.line.is_held(),
                    reset_high: self.board.sense(),
                    second_on: self.second_on,
                    second_reads: self.board.second_reads(),
                };
                let challenge = self.link.end().challenge();
                Write::status(&mut out, challenge, &lines, &self.machine.report(now))
            }
            Ask::Counters => {
                Write::counters(&mut out, self.machine.counters(), &self.link.counters())
            }
            Ask::About => Write::about(&mut out, &self.about(now)),
            Ask::Settings => Write::settings(&mut out, self.machine.settings()),
            Ask::Image => Write::image(&mut out, self.board.image()),
        };
        let written = out.finish();
        self.send(kind, &buffer, written);
    }

    /// Sends what was written of a frame's payload, all of which fits.
    #[inline(never)]
    fn send(&mut self, kind: u8, buffer: &[u8], written: Option<usize>) {
        if let Some(payload) = written.and_then(|written| buffer.get(..written)) {
            self.link.say(self.board.serial(), kind, payload);
        }
    }

    #[inline(never)]
    fn about(&mut self, now: Instant) -> About {
        let (store_used, store_size) = self.store.room();
        About {
            board: const { twelve(B::NAME) },
            version: VERSION,
            up: Instant::from_millis(now.since(self.began)),
            power_up: self.power_up,
            bites: u32::from(self.kept.bites),
            store_used,
            store_size,
        }
    }

    #[inline(never)]
    fn read_log(&mut self, from: u32) {
        let mut buffer = [0; MAX_PAYLOAD];
        let mut out = Put::new(&mut buffer);
        let kind = match self.log.read(from) {
            Some(entry) => Write::log(&mut out, entry),
            None => Write::log_end(&mut out, self.log.lost()),
        };
        let written = out.finish();
        self.send(kind, &buffer, written);
    }

    /// Takes a key while there is none, or the jumper was set when the power came. It is durable
    /// before it is used.
    #[inline(never)]
    fn pair(&mut self, key: Key) {
        let refusal = if self.kept.key.is_some() && !self.rekey {
            Some(Refusal::Keyed)
        } else {
            let before = self.kept.key.replace(key);
            if self.keep().1 {
                self.link.end().set_key(key);
                None
            } else {
                self.kept.key = before;
                Some(Refusal::StoreFailed)
            }
        };
        self.answer(0, refusal);
    }

    #[inline(never)]
    pub(super) fn answer(&mut self, to: u32, refusal: Option<Refusal>) {
        let mut buffer = [0; 5];
        let mut out = Put::new(&mut buffer);
        let kind = Write::answer(&mut out, to, refusal);
        let written = out.finish();
        self.send(kind, &buffer, written);
    }
}
