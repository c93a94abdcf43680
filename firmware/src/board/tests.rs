extern crate std;

use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

use embedded_hal::digital::{ErrorType, OutputPin, PinState};
use giveover_core::board::{Refusal, State, Verdict};
use giveover_core::wire::{Ask, Decoder, FromBoard, HostEnd, MAX_ENCODED, ToBoard};

use super::*;
use crate::fifo::Fifo;
use crate::line::Wiring;
use crate::serial::Port;
use crate::store::{Memory, NoFlash};
use crate::tick::{Counter, Direction};

const KEY: Key = Key::new([7; 16]);

/// What stands on the bench: pins, memory and the wire outlive the board's resets.
#[derive(Default)]
struct Bench {
    ms: Cell<u32>,
    held: Cell<bool>,
    edges: RefCell<Vec<(u32, bool)>>,
    second: Cell<bool>,
    jumper: Cell<bool>,
    memory: RefCell<Vec<u32>>,
    up: Fifo<512>,
    down: Fifo<512>,
    fed: Cell<u32>,
}

struct Pin(Rc<Bench>, bool);

impl ErrorType for Pin {
    type Error = Infallible;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Infallible> {
        self.write(true)
    }
    fn set_high(&mut self) -> Result<(), Infallible> {
        self.write(false)
    }
}

impl Pin {
    fn write(&self, held: bool) -> Result<(), Infallible> {
        if self.1 {
            if self.0.held.replace(held) != held {
                self.0.edges.borrow_mut().push((self.0.ms.get(), held));
            }
        } else {
            self.0.second.set(held);
        }
        Ok(())
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

struct Fake {
    bench: Rc<Bench>,
    port: Port<'static, 512, 512>,
}

impl Board for Fake {
    type Line = Pin;
    type Second = Pin;
    type Memory = Ram;
    type Flash = NoFlash;
    type Serial = Port<'static, 512, 512>;

    const NAME: &'static str = "fake";
    const WIRING: Wiring = Wiring::Direct;
    const COUNTER: Counter =
        Counter::new(NonZeroU32::new(1000).unwrap(), 32, Direction::Up).unwrap();
    const TICK: Span = Span::from_millis(10);

    fn now(&mut self) -> u32 {
        self.bench.ms.get()
    }
    fn ticks(&mut self) -> u32 {
        self.bench.ms.get() / 10
    }
    fn device(&mut self) -> u64 {
        5
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
        Some(!self.bench.held.get())
    }
    fn light(&mut self, _: bool) {}
    fn jumper(&mut self) -> bool {
        self.bench.jumper.get()
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
    fn watchdog(&mut self) {
        self.bench.fed.set(self.bench.fed.get() + 1);
    }
    fn serial(&mut self) -> &mut Port<'static, 512, 512> {
        &mut self.port
    }
}

/// A board on a bench, with the host's end of the wire.
struct Play {
    bench: &'static Rc<Bench>,
    firmware: &'static mut Firmware<'static, Fake>,
    end: HostEnd,
    decoder: Decoder,
    challenge: u32,
}

impl Play {
    fn new() -> Self {
        let bench: &'static Rc<Bench> = Box::leak(Box::default());
        *bench.memory.borrow_mut() = vec![0x5A5A_5A5A; Kept::WORDS];
        Self::on(bench, 1)
    }

    /// A board that starts on this bench, and a host with this nonce.
    fn on(bench: &'static Rc<Bench>, nonce: u64) -> Self {
        let port = Port::new(&bench.up, &bench.down, || {});
        let place = Box::leak(Box::new(MaybeUninit::uninit()));
        let room = Box::leak(Box::new(Room::new()));
        let firmware = Firmware::start(place, room, Fake { bench: Rc::clone(bench), port });
        firmware.begin();
        let end = HostEnd::new(KEY, nonce);
        Self { bench, firmware, end, decoder: Decoder::new(), challenge: 0 }
    }

    /// The board alone starts again; its host says hello.
    fn reset(self, nonce: u64) -> Self {
        let mut play = Self::on(self.bench, nonce);
        play.hello();
        play
    }

    fn run(&mut self, ms: u32) {
        for _ in 0..ms / 10 {
            self.bench.ms.set(self.bench.ms.get() + 10);
            self.firmware.step();
        }
    }

    fn hear(&mut self) -> Vec<FromBoard> {
        let mut heard = vec![];
        while let Some(byte) = self.bench.down.pop() {
            let Some(Ok(raw)) = self.decoder.push(byte) else { continue };
            let Ok(frame) = self.end.open(&raw) else { continue };
            if let FromBoard::Challenge { challenge, .. } | FromBoard::Status { challenge, .. } =
                frame
            {
                self.challenge = challenge;
            }
            heard.push(frame);
        }
        heard
    }

    fn put(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| assert!(self.bench.up.push(*byte)));
        self.run(10);
    }

    fn hello(&mut self) {
        let mut out = [0; MAX_ENCODED];
        let length = self.end.hello(&mut out).expect("room");
        self.put(&out[..length]);
        let heard = self.hear();
        assert!(matches!(heard[..], [FromBoard::Challenge { .. }]), "{heard:?}");
    }

    fn say(&mut self, frame: &ToBoard) -> Vec<FromBoard> {
        let mut out = [0; MAX_ENCODED];
        let length = self.end.seal(frame, &mut out).expect("room").0;
        self.put(&out[..length]);
        self.hear()
    }

    fn feed(&mut self) {
        let frame = ToBoard::Feed { answer: self.challenge, verdict: Verdict::Ok };
        let heard = self.say(&frame);
        assert!(matches!(heard[..], [FromBoard::Status { .. }]), "{heard:?}");
    }

    fn refusal(&mut self, frame: &ToBoard) -> Option<Refusal> {
        match self.say(frame)[..] {
            [FromBoard::Answer { refusal, .. }] => refusal,
            ref other => panic!("{other:?}"),
        }
    }

    /// Paired, armed, past the hold-off and fed once.
    fn guarding() -> Self {
        let mut play = Self::new();
        play.hello();
        assert_eq!(play.refusal(&ToBoard::Pair(KEY)), None);
        play.end = HostEnd::new(KEY, 2);
        play.hello();
        assert_eq!(play.refusal(&ToBoard::Arm), None);
        play.run(2_100);
        play.feed();
        assert_eq!(play.firmware.machine.state(), State::Armed);
        play
    }
}

#[test]
fn silence_past_the_time_out_is_one_pulse_of_its_width() {
    let mut play = Play::guarding();
    let fed = play.bench.ms.get();
    play.run(70_000);
    let edges = play.bench.edges.borrow().clone();
    let [(from, true), (to, false)] = edges[..] else { panic!("{edges:?}") };
    assert!((60_000..=60_020).contains(&(from - fed)), "{from} after {fed}");
    assert_eq!(to - from, 250);
}

#[test]
fn the_watchdog_is_fed_once_a_step_and_nowhere_else() {
    let mut play = Play::guarding();
    let fed = play.bench.fed.get();
    play.run(1_000);
    assert_eq!(play.bench.fed.get() - fed, 100);
}

#[test]
fn a_key_is_taken_while_there_is_none_and_by_the_jumper_at_power_up_only() {
    let mut play = Play::guarding();
    let other = Key::new([8; 16]);
    assert_eq!(play.refusal(&ToBoard::Pair(other)), Some(Refusal::Keyed));
    // With the jumper set while running, or at a reset of the board alone: no.
    play.bench.jumper.set(true);
    play.run(100);
    assert_eq!(play.refusal(&ToBoard::Pair(other)), Some(Refusal::Keyed));
    let mut play = play.reset(3);
    assert_eq!(play.refusal(&ToBoard::Arm), Some(Refusal::Jumper));
    assert_eq!(play.refusal(&ToBoard::Pair(other)), Some(Refusal::Keyed));
    // RAM that is anything is a power-up; this board has no flash, so its key is gone too.
    play.bench.memory.borrow_mut().fill(0);
    let play = Play::on(play.bench, 4);
    assert!(play.firmware.rekey && play.firmware.key.is_none());
}

/// The law is L5.
#[test]
fn a_reset_of_the_board_alone_forgets_neither_arming_nor_count() {
    let mut play = Play::guarding();
    play.run(61_000);
    assert_eq!(play.bench.edges.borrow().len(), 2);
    for nonce in 10..14 {
        play = play.reset(nonce);
        let report = play.firmware.machine.report(play.firmware.began);
        assert!(report.armed && report.resets == 1 && report.resets_ever == 1, "{report:?}");
        assert!(!play.firmware.power_up);
    }
    assert_eq!(play.firmware.bites, 4);
    // And no reset of the board made an edge.
    assert_eq!(play.bench.edges.borrow().len(), 2);
}

#[test]
fn no_two_starts_have_a_nonce_in_common() {
    let mut play = Play::guarding();
    let mut seen = vec![];
    for nonce in 10..20 {
        play = play.reset(nonce);
        let started = play.firmware.started;
        assert!(!seen.contains(&started));
        seen.push(started);
    }
}

#[test]
fn retained_ram_that_something_wrote_over_is_written_anew() {
    let mut play = Play::guarding();
    play.bench.memory.borrow_mut().fill(0);
    play.run(1_100);
    let play = play.reset(9);
    assert!(!play.firmware.power_up && play.firmware.key == Some(KEY));
}

#[test]
fn what_is_asked_is_told_also_without_a_connection() {
    let mut play = Play::new();
    for ask in [Ask::Status, Ask::Counters, Ask::About, Ask::Settings] {
        assert_eq!(play.say(&ToBoard::Ask(ask)).len(), 1, "{ask:?}");
    }
    let [FromBoard::About(about)] = play.say(&ToBoard::Ask(Ask::About))[..] else {
        panic!("no answer")
    };
    assert_eq!((about.board, about.power_up, about.bites), (*b"fake\0\0\0\0\0\0\0\0", true, 0));
    assert_eq!(play.say(&ToBoard::ReadLog { from: 0 }).len(), 1);
}

#[test]
fn the_jumper_and_what_cannot_be_done_are_said() {
    let mut play = Play::guarding();
    let event = giveover_core::wire::v1::EventBytes::new(&giveover_core::monitor::Event::Timeout)
        .expect("short");
    let shadow = ToBoard::Shadow { service: 0, at: Instant::from_millis(0), event };
    assert_eq!(play.refusal(&shadow), Some(Refusal::Unsupported));
    play.bench.jumper.set(true);
    play.run(200);
    assert_eq!(play.firmware.machine.state(), State::Disarmed);
    play.run(120_000);
    assert!(play.bench.edges.borrow().is_empty());
}
