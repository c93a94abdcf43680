//! A host beside an emulated board: it speaks the wire of the daemon, and feeds as told.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use giveover_core::board::{Entry, Note, Report, Settings, State, Verdict};
use giveover_core::time::Span;
use giveover_core::wire::{
    self, About, Ask, Decoder, FromBoard, HostEnd, Key, MAX_ENCODED, Refused, ToBoard,
};

use super::Vm;
use crate::wait_for;

/// What a board gets when it is paired here.
pub const KEY: Key = Key::new([0x5A; Key::BYTES]);

/// The shortest there is, so that a test takes the least time.
pub const QUICK: Settings = Settings {
    timeout: Span::from_secs(1),
    boot_grace: Span::from_secs(2),
    link_timeout: Span::from_secs(1),
    pulse: Span::from_millis(250),
    retry_count: 3,
    retry_interval: Span::from_secs(3600),
    ..Settings::DEFAULT
};

/// Asks a board in the time of this machine what it is, until it answers.
///
/// # Panics
/// It does not.
pub fn ask(line: &mut UnixStream) -> About {
    let mut out = [0; MAX_ENCODED];
    let ask = ToBoard::Ask(Ask::About);
    let mut end = HostEnd::new(KEY, 0);
    let length = end.seal(&ask, &mut out).expect("room").0;
    line.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out");
    let mut decoder = Decoder::new();
    wait_for("the board's answer", || {
        line.write_all(&out[..length]).expect("the line");
        let mut bytes = [0; 256];
        let length = line.read(&mut bytes).unwrap_or(0);
        bytes[..length].iter().find_map(|byte| {
            let raw = decoder.push(*byte)?.ok()?;
            match end.open(&raw) {
                Ok(FromBoard::About(about)) => Some(about),
                _ => None,
            }
        })
    })
}

/// A board that goes on tick by tick, with bytes to it and from it.
pub trait Talks {
    /// Goes on to the next tick.
    fn tick(&mut self);

    /// Milliseconds since it was powered up, by its ticks.
    fn now(&self) -> u64;

    /// Gives the board bytes, as many a tick as its receiver takes.
    fn send(&mut self, bytes: &[u8]);

    /// What the board has sent until now.
    fn received(&mut self) -> Vec<u8>;
}

impl Talks for Vm {
    fn tick(&mut self) {
        Vm::tick(self);
    }

    fn now(&self) -> u64 {
        Vm::now(self)
    }

    fn send(&mut self, bytes: &[u8]) {
        Vm::send(self, bytes);
    }

    fn received(&mut self) -> Vec<u8> {
        Vm::received(self)
    }
}

/// The host's end of the serial line.
#[derive(Debug)]
pub struct Host {
    end: HostEnd,
    decoder: Decoder,
    challenge: u32,
    /// What the board has said and nobody has taken yet.
    heard: Vec<FromBoard>,
    refused: Vec<Refused>,
}

impl Host {
    /// A host that has said hello with this nonce, and was answered.
    ///
    /// # Panics
    /// The board does not answer.
    pub fn connect(vm: &mut impl Talks, nonce: u64) -> Self {
        let end = HostEnd::new(KEY, nonce);
        let mut host =
            Self { end, decoder: Decoder::new(), challenge: 0, heard: vec![], refused: vec![] };
        let mut out = [0; MAX_ENCODED];
        let length = host.end.hello(&mut out).expect("room");
        vm.send(&out[..length]);
        host.wait(vm, |frame| matches!(frame, FromBoard::Challenge { .. }));
        host
    }

    /// Gives a new board the key, settings, and the wish to be guarded; it is fed once.
    ///
    /// # Panics
    /// It refuses.
    pub fn set_up(vm: &mut impl Talks, settings: Settings) -> Self {
        let mut host = Self::connect(vm, 1);
        host.say(vm, &ToBoard::Pair(KEY));
        host.done(vm);
        let mut host = Self::connect(vm, 2);
        host.say(vm, &ToBoard::Configure(settings));
        host.done(vm);
        host.say(vm, &ToBoard::Arm);
        host.done(vm);
        // Nothing is guarded before the hold-off is over.
        while host.status(vm).state == State::Cold {
            vm.tick();
        }
        host.feed(vm);
        host
    }

    /// Sends a frame.
    ///
    /// # Panics
    /// It does not fit.
    pub fn say(&mut self, vm: &mut impl Talks, frame: &ToBoard) {
        vm.send(&self.sealed(frame));
    }

    /// A frame as it goes over the line.
    ///
    /// # Panics
    /// It does not fit.
    pub fn sealed(&mut self, frame: &ToBoard) -> Vec<u8> {
        let mut out = [0; MAX_ENCODED];
        let length = self.end.seal(frame, &mut out).expect("room").0;
        out[..length].to_vec()
    }

    /// Feeds the board, and reads its answer.
    pub fn feed(&mut self, vm: &mut impl Talks) -> Report {
        let frame = ToBoard::Feed { answer: self.challenge, verdict: Verdict::Ok };
        self.say(vm, &frame);
        self.read_status(vm)
    }

    /// Feeds it four times a time-out for so many milliseconds.
    pub fn feed_for(&mut self, vm: &mut impl Talks, settings: Settings, ms: u64) {
        let quarter = u64::from(settings.timeout.as_millis()) / 4;
        let end = vm.now() + ms;
        while vm.now() < end {
            let next = vm.now() + quarter;
            self.feed(vm);
            while vm.now() < next {
                vm.tick();
            }
        }
    }

    /// How the board stands.
    pub fn status(&mut self, vm: &mut impl Talks) -> Report {
        self.say(vm, &ToBoard::Ask(Ask::Status));
        self.read_status(vm)
    }

    /// Pours bytes onto the line as fast as the board takes them, and then asks until it answers.
    ///
    /// # Panics
    /// The emulator is gone, or the board does not answer any more.
    pub fn pour(&mut self, vm: &mut Vm, bytes: &[u8]) {
        vm.let_go(|line| {
            let mut rest = bytes;
            let mut asked = std::time::Instant::now();
            let mut read = [0; 4096];
            let mut quiet = None;
            let end = asked + 4 * crate::PATIENCE;
            loop {
                // What the board says must be taken, or it waits for us.
                let mut heard = false;
                while let Ok(length) = line.read(&mut read) {
                    for byte in &read[..length] {
                        if let Some(Ok(raw)) = self.decoder.push(*byte) {
                            heard |= raw.kind & !wire::TAGGED == 0x46;
                        }
                    }
                }
                let now = std::time::Instant::now();
                if heard {
                    quiet = Some(now);
                }
                // More than one answer may be under way, and nobody reads them later.
                if quiet.is_some_and(|since| now - since > Duration::from_secs(1)) {
                    return;
                }
                assert!(now < end, "no answer behind {} bytes", bytes.len());
                match line.write(rest) {
                    Ok(written) => rest = &rest[written..],
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
                }
                if rest.is_empty() && quiet.is_none() && now - asked > Duration::from_secs(2) {
                    // A delimiter first: what was poured may not have ended.
                    asked = now;
                    let mut out = [0; MAX_ENCODED];
                    let ask = ToBoard::Ask(Ask::About);
                    let length = HostEnd::new(KEY, 0).seal(&ask, &mut out).expect("room").0;
                    let _ = line.write(&[0]).and_then(|_| line.write(&out[..length]));
                }
                std::thread::park_timeout(Duration::from_millis(1));
            }
        });
        // Answers to what was asked more than once are still on their way.
        vm.run(200);
        vm.received();
        self.decoder = Decoder::new();
    }

    /// The notes the board still has.
    pub fn log(&mut self, vm: &mut impl Talks) -> Vec<Note> {
        self.entries(vm).into_iter().map(|entry| entry.note).collect()
    }

    /// The same with their times and numbers.
    pub fn entries(&mut self, vm: &mut impl Talks) -> Vec<Entry> {
        let (mut entries, mut from) = (vec![], 0);
        loop {
            self.say(vm, &ToBoard::ReadLog { from });
            let next =
                |frame: &FromBoard| matches!(frame, FromBoard::Log(_) | FromBoard::LogEnd { .. });
            match self.wait(vm, next) {
                FromBoard::Log(entry) => {
                    entries.push(entry);
                    from = entry.number + 1;
                }
                _ => return entries,
            }
        }
    }

    /// Waits for an answer that says that it was done.
    ///
    /// # Panics
    /// It was refused, or there is none.
    pub fn done(&mut self, vm: &mut impl Talks) {
        let answer = self.wait(vm, |frame| matches!(frame, FromBoard::Answer { .. }));
        assert!(matches!(answer, FromBoard::Answer { refusal: None, .. }), "{answer:?}");
    }

    /// Waits for a frame of a kind.
    ///
    /// # Panics
    /// None comes within two seconds of the board.
    pub fn wait(&mut self, vm: &mut impl Talks, wanted: impl Fn(&FromBoard) -> bool) -> FromBoard {
        for _ in 0..200 {
            self.hear(vm);
            if let Some(at) = self.heard.iter().position(&wanted) {
                return self.heard.drain(..=at).next_back().expect("the frame");
            }
            vm.tick();
        }
        panic!("no answer; heard {:?}, refused {:?}", self.heard, self.refused);
    }

    fn read_status(&mut self, vm: &mut impl Talks) -> Report {
        let status = self.wait(vm, |frame| matches!(frame, FromBoard::Status { .. }));
        let FromBoard::Status { report, .. } = status else { unreachable!("a status") };
        report
    }

    fn hear(&mut self, vm: &mut impl Talks) {
        for byte in vm.received() {
            let Some(Ok(raw)) = self.decoder.push(byte) else { continue };
            let frame = match self.end.open(&raw) {
                Ok(frame) => frame,
                Err(refused) => {
                    self.refused.push(refused);
                    continue;
                }
            };
            match frame {
                FromBoard::Challenge { challenge, .. } | FromBoard::Status { challenge, .. } => {
                    self.challenge = challenge;
                }
                _ => {}
            }
            self.heard.push(frame);
        }
    }
}
