extern crate std;

use std::rc::Rc;
use std::vec;
use std::vec::Vec;

use giveover_core::board::{Refusal, State, Verdict};
use giveover_core::wire::{Ask, Decoder, FromBoard, HostEnd, MAX_ENCODED, ToBoard};

use super::*;
use crate::bench::{Bench, Here};

const KEY: Key = Key::new([7; 16]);

/// A board on a bench, with the host's end of the wire.
struct Play {
    bench: &'static Rc<Bench>,
    firmware: &'static mut Firmware<'static, Here>,
    end: HostEnd,
    decoder: Decoder,
    challenge: u32,
}

impl Play {
    fn new() -> Self {
        Self::on(Bench::set_up(), 1)
    }

    /// A board that starts on this bench, and a host with this nonce.
    fn on(bench: &'static Rc<Bench>, nonce: u64) -> Self {
        let (firmware, end) = (bench.start(), HostEnd::new(KEY, nonce));
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
        for byte in self.bench.said() {
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

/// What the wire from the line says is told to the host.
#[test]
fn each_pulse_is_read_back_and_noted() {
    let mut play = Play::guarding();
    play.bench.wired.set(true);
    play.run(61_000);
    let mut low = vec![];
    let mut from = 0;
    while let [FromBoard::Log(entry)] = play.say(&ToBoard::ReadLog { from })[..] {
        from = entry.number + 1;
        if let giveover_core::board::Note::ReadLow(ms) = entry.note {
            low.push(ms);
        }
    }
    assert_eq!(low, [250]);
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
    assert!(play.firmware.rekey && play.firmware.kept.key.is_none());
}

/// How often the light goes on in two seconds.
fn flashes(play: &mut Play) -> u32 {
    play.run(10);
    let (mut count, mut before) = (0, play.bench.light.get());
    for _ in 0..200 {
        play.run(10);
        let on = play.bench.light.get();
        count += u32::from(on && !before);
        before = on;
    }
    count
}

#[test]
fn the_light_says_that_there_is_no_key_or_that_the_host_has_another() {
    let mut play = Play::new();
    assert_eq!(flashes(&mut play), 4, "no key");
    play.hello();
    assert_eq!(play.refusal(&ToBoard::Pair(KEY)), None);
    let mut play = play.reset(2);
    // It was greeted, and nobody has said anything yet that only a host with its key can.
    assert_eq!(flashes(&mut play), 4);
    assert_eq!(play.refusal(&ToBoard::Arm), None);
    assert_eq!(flashes(&mut play), 2, "the right one: waiting for its feed");
    play.feed();
    assert_eq!(flashes(&mut play), 1, "armed");
    assert!(!play.bench.red.get());
    // A host with another key beside it, or in its place, takes nothing from that.
    play.end = HostEnd::new(KEY, 3);
    let mut out = [0; MAX_ENCODED];
    let length = play.end.hello(&mut out).expect("room");
    play.put(&out[..length]);
    assert_eq!(flashes(&mut play), 1);
}

/// USB is lost, and then the host speaks on the wire, whose loss nobody can see.
#[test]
fn a_host_that_changes_over_to_the_other_port_keeps_its_time_out() {
    let mut play = Play::guarding();
    play.bench.port.set(Some(true));
    play.run(1_000);
    play.bench.port.set(Some(false));
    play.run(61_000);
    assert!(play.bench.edges.borrow().is_empty(), "a lost port is not a lost host");
    play.bench.port.set(None);
    play.run(1_000);
    play.feed();
    assert_eq!(flashes(&mut play), 1);
    play.run(61_000);
    assert_eq!(play.bench.edges.borrow().len(), 2, "and this one hangs");
}

/// As steady as the light, and to be seen across a room; whatever the second line does.
#[test]
fn a_person_is_called_for_while_the_line_is_held_and_no_longer() {
    let mut play = Play::guarding();
    let second = giveover_core::board::Second::None;
    let settings = Settings { retry_count: 0, second, ..Settings::DEFAULT };
    play.say(&ToBoard::Configure(settings));
    play.run(61_000);
    assert_eq!(play.firmware.machine.state(), State::Held);
    assert!(play.bench.red.get() && play.bench.light.get() && !play.bench.second.get());
    assert_eq!(play.refusal(&ToBoard::Clear), None);
    assert!(!play.bench.red.get());
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
    assert_eq!(play.firmware.kept.bites, 4);
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
    assert!(!play.firmware.power_up && play.firmware.kept.key == Some(KEY));
}

#[test]
fn what_is_asked_is_told_also_without_a_connection() {
    let mut play = Play::new();
    for ask in [Ask::Status, Ask::Counters, Ask::About, Ask::Settings, Ask::Image] {
        assert_eq!(play.say(&ToBoard::Ask(ask)).len(), 1, "{ask:?}");
    }
    let [FromBoard::About(about)] = play.say(&ToBoard::Ask(Ask::About))[..] else {
        panic!("no answer")
    };
    assert_eq!((about.board, about.power_up, about.bites), (*b"here\0\0\0\0\0\0\0\0", true, 0));
    assert_eq!(play.say(&ToBoard::ReadLog { from: 0 }).len(), 1);
}

#[test]
fn the_jumper_and_what_cannot_be_done_are_said() {
    let mut play = Play::guarding();
    let event = giveover_core::wire::v1::EventBytes::new(&giveover_core::monitor::Event::Timeout)
        .expect("short");
    let shadow = ToBoard::Shadow { service: 0, at: Instant::from_millis(0), event };
    let refusal = if cfg!(feature = "shadow") { Refusal::NoShadow } else { Refusal::Unsupported };
    assert_eq!(play.refusal(&shadow), Some(refusal));
    play.bench.jumper.set(true);
    play.run(200);
    assert_eq!(play.firmware.machine.state(), State::Disarmed);
    play.run(120_000);
    assert!(play.bench.edges.borrow().is_empty());
}

/// A pin that is torn off is seen; what hangs behind it is not.
#[test]
fn what_the_second_line_reads_is_told_beside_what_it_should_be() {
    let mut play = Play::guarding();
    let settings = Settings { retry_count: 0, ..Settings::DEFAULT };
    play.say(&ToBoard::Configure(settings));
    let told = |play: &mut Play| match play.say(&ToBoard::Ask(Ask::Status))[..] {
        [FromBoard::Status { lines, .. }] => (lines.second_on, lines.second_reads),
        ref other => panic!("{other:?}"),
    };
    assert_eq!(told(&mut play), (false, Some(false)));
    play.run(61_000);
    assert_eq!(play.firmware.machine.state(), State::Held);
    assert_eq!(told(&mut play), (true, Some(true)));
    play.bench.cut.set(true);
    assert_eq!(told(&mut play), (true, Some(false)));
}

/// What a modem manager asks of any port, and what a kernel says when its console is there: not one
/// byte of it is a frame, and it costs no more than the frame that it runs into.
#[test]
fn a_modem_manager_and_a_boot_log_on_the_line_are_noise_and_nothing_more() {
    const NOISE: [&[u8]; 3] = [
        b"AT\r\nATZ\r\nAT+CGMI\r\nAT+GCAP\r\nATE0V1\r\n",
        b"[    0.000000] Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)\r\n\
          [    0.000000] Command line: BOOT_IMAGE=/vmlinuz console=ttyS0,115200n8\r\n\0\0",
        b"\0\0\xFF\xFE\x80\x01\x7F~\x00\xFF}#\xC0!}!}!} }4\0", // and one that speaks PPP
    ];
    let mut play = Play::guarding();
    let feed = |play: &Play| ToBoard::Feed { answer: play.challenge, verdict: Verdict::Ok };
    for round in 0..30 {
        play.put(NOISE[round % NOISE.len()]);
        play.run(14_000);
        let frame = feed(&play);
        if play.say(&frame).is_empty() {
            // It ran into the noise: the host says it again, and is heard.
            play.run(1_000);
            play.feed();
        }
        assert_eq!(play.firmware.machine.state(), State::Armed, "round {round}");
    }
    let heard = play.say(&ToBoard::Ask(Ask::Counters));
    let [FromBoard::Counters { board, link }] = heard[..] else { panic!("{heard:?}") };
    assert!(link.garbage >= 20 && board.feeds >= 30, "{link:?} {board:?}");
    assert_eq!((board.near_misses, board.early, board.wrong), (0, 0, 0));
    assert!(play.bench.edges.borrow().is_empty(), "no edge");
}
