//! A board to stand in for hardware: the real machine and the real wire, over a pseudo terminal.
//!
//! [`Standin`] is sans-IO and lives in whatever time it is given; [`Port`] runs one in real time
//! on a thread, behind a terminal line. Faults are those that real hardware has: silence, another
//! key, another version, chatter, a pulled plug.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::MutexGuard;
use std::time::Instant as Moment;

use giveover_core::board::{Action, Board, Event, Log, Note, Request, Start, State, Why};
use giveover_core::shadow::Shadows;
use giveover_core::time::Instant;
use giveover_core::wire::v1::ToShadow;
use giveover_core::wire::{
    About, Ask, BoardEnd, Decoder, FromBoard, Key, Lines, LinkCounters, MAX_ENCODED, Opened,
    ToBoard,
};

use crate::plugged::{FarEnd, Plugged};

/// The key that tests use, as the 32 bytes of its file.
pub const SECRET: [u8; 32] = [0x5A; 32];

/// The same as the text of its file.
#[must_use]
pub fn key_text() -> String {
    SECRET.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// It hears everything and says nothing.
    pub mute: bool,
    /// It says so many frames fewer: they are lost on the way.
    pub lose: u32,
    /// It loses so many frames of the host.
    pub deaf: u32,
    /// Its line is wired to be read, and reads low for so many ms in a pulse.
    pub reads_low: Option<u32>,
    /// What its shadows are told of their originals is not what the host says: as if the host had
    /// decided otherwise than it should.
    pub bends: bool,
}

/// The board's end, with all but its pins.
pub struct Standin {
    /// Its link.
    pub end: BoardEnd,
    decoder: Decoder,
    /// Its machine.
    pub machine: Board,
    log: Log<32>,
    key: Option<Key>,
    /// The jumper was set at power-up: another key is taken.
    pub rekey: bool,
    fresh: bool,
    hellos: u32,
    began: Instant,
    /// The second line is on.
    pub second: bool,
    /// When the reset line was held, and why.
    pub pulses: Vec<(Instant, Why)>,
    why: Why,
    /// The requests that came, in order.
    pub asked: Vec<Request>,
    /// The longest time between two feeds of an armed board, in ms.
    pub feeds: u32,
    /// What is wrong.
    pub faults: Faults,
    shadows: Shadows,
    /// Cycles whose ends were compared.
    pub compared: u32,
    out: Vec<u8>,
}

impl Standin {
    /// A board that was just powered up.
    #[must_use]
    pub fn new(key: Option<Key>, device: u64) -> Self {
        let now = Instant::from_millis(0);
        let (machine, actions) = Board::start(None, Start::PowerUp, now);
        let mut board = Self {
            end: BoardEnd::new(key, device),
            decoder: Decoder::new(),
            machine,
            log: Log::new(),
            key,
            rekey: false,
            fresh: true,
            hellos: 0,
            began: now,
            second: false,
            pulses: Vec::new(),
            why: Why::Test,
            asked: Vec::new(),
            feeds: 0,
            faults: Faults::default(),
            shadows: Shadows::NONE,
            compared: 0,
            out: Vec::new(),
        };
        board.carry_out(actions.as_slice(), 0, now);
        board
    }

    /// How it stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// Something happened to it.
    pub fn tell(&mut self, event: Event, now: Instant) {
        self.go_on(event, 0, now);
    }

    /// Does what is due.
    pub fn due(&mut self, now: Instant) {
        if self.machine.poll_timeout().is_some_and(|due| now >= due) {
            self.go_on(Event::Timeout, 0, now);
        }
    }

    /// When [`Standin::due`] is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }

    /// Takes bytes; what it says to them.
    pub fn hear(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        for byte in bytes {
            let Some(Ok(raw)) = self.decoder.push(*byte) else { continue };
            if self.faults.deaf > 0 {
                self.faults.deaf -= 1;
                continue;
            }
            if let Ok(opened) = self.end.open(&raw) {
                self.take(opened, now);
            }
        }
        std::mem::take(&mut self.out)
    }

    fn take(&mut self, opened: Opened, now: Instant) {
        self.fresh |= opened.fresh;
        if opened.fresh {
            self.shadows.end_all();
        }
        let to = opened.counter;
        if let Some(request) = opened.frame.request() {
            self.asked.push(request);
            return self.go_on(Event::Host(request), to, now);
        }
        match opened.frame {
            ToBoard::Hello { nonce } => {
                self.hellos += 1;
                let own = u64::from(self.hellos) << 32 | self.began.as_millis();
                let mut buffer = [0; MAX_ENCODED];
                let length = self.end.answer_hello(nonce, own, &mut buffer);
                self.put(&buffer, length);
            }
            ToBoard::Ask(ask) => self.tell_host(ask, now),
            ToBoard::Feed { answer, verdict } => {
                let right = self.end.answers(answer);
                let fresh = std::mem::take(&mut self.fresh);
                self.feeds += u32::from(right);
                self.go_on(Event::Feed { fresh, right, verdict }, to, now);
                self.tell_host(Ask::Status, now);
            }
            ToBoard::ReadLog { from } => {
                let frame = match self.log.read(from) {
                    Some(entry) => FromBoard::Log(*entry),
                    None => FromBoard::LogEnd { lost: self.log.lost() },
                };
                self.say(&frame);
            }
            ToBoard::FlushLog { through } => {
                self.log.flush(through);
                self.say(&FromBoard::Answer { to, refusal: None });
            }
            ToBoard::Pair(key) => self.pair(key),
            ToBoard::Shadow { service, at, event } => {
                let told = event.told().expect("what a host says");
                self.tell_shadow(service, at, told, to, now);
            }
            _ => {
                let refusal = Some(giveover_core::board::Refusal::Unsupported);
                self.say(&FromBoard::Answer { to, refusal });
            }
        }
    }

    fn tell_shadow(&mut self, service: u8, at: Instant, told: ToShadow, to: u32, now: Instant) {
        let done = match told {
            ToShadow::Policy { at, bytes, len } => {
                self.shadows.take_piece(at, &bytes[..usize::from(len)])
            }
            ToShadow::Begin => self.shadows.begin(service, at),
            ToShadow::Event(event) => self.shadows.feed(service, event, at),
            ToShadow::Stands { digest } => {
                self.compared += 1;
                let lasted = self.shadows.compare(service, digest ^ u32::from(self.faults.bends));
                if lasted == Some(true) {
                    self.go_on(Event::Differs { service }, 0, now);
                }
                lasted.is_some()
            }
        };
        let refusal = (!done).then_some(giveover_core::board::Refusal::NoShadow);
        self.say(&FromBoard::Answer { to, refusal });
    }

    fn pair(&mut self, key: Key) {
        let refusal = if self.key.is_some() && !self.rekey {
            Some(giveover_core::board::Refusal::Keyed)
        } else {
            self.key = Some(key);
            self.end.set_key(key);
            None
        };
        self.say(&FromBoard::Answer { to: 0, refusal });
    }

    fn go_on(&mut self, event: Event, to: u32, now: Instant) {
        let mut next = Some(event);
        while let Some(event) = next {
            let actions = self.machine.handle(event, now);
            next = self.carry_out(actions.as_slice(), to, now);
        }
    }

    fn carry_out(&mut self, actions: &[Action], to: u32, now: Instant) -> Option<Event> {
        let mut next = None;
        for action in actions {
            match *action {
                Action::Store => {
                    let number = self.machine.durable().number;
                    next = Some(Event::Stored { number, ok: true });
                }
                Action::Second(on) => self.second = on,
                Action::Pulse { .. } => self.pulses.push((now, self.why)),
                Action::Echo => {
                    let frame = FromBoard::Settings(*self.machine.settings());
                    self.say(&frame);
                }
                Action::Answer(refusal) => self.say(&FromBoard::Answer { to, refusal }),
                Action::Note(note) => {
                    if let Note::Intent { why, .. } = note {
                        self.why = why;
                    }
                    self.log.add(now, note);
                    if let (Note::Done { .. }, Some(ms)) = (note, self.faults.reads_low) {
                        self.log.add(now, Note::ReadLow(ms));
                    }
                }
                _ => {}
            }
        }
        next
    }

    fn tell_host(&mut self, ask: Ask, now: Instant) {
        let frame = match ask {
            Ask::Status => FromBoard::Status {
                challenge: self.end.challenge(),
                lines: Lines {
                    reset_held: self.state() == State::Pulsing,
                    reset_high: Some(self.state() != State::Pulsing),
                    second_on: self.second,
                    second_reads: Some(self.second),
                },
                report: self.machine.report(now),
            },
            Ask::Counters => FromBoard::Counters {
                board: *self.machine.counters(),
                link: LinkCounters { garbage: self.decoder.garbage(), ..self.end.counters() },
            },
            Ask::About => FromBoard::About(About {
                board: *b"stand-in\0\0\0\0",
                version: [0, 1, 0],
                up: Instant::from_millis(now.since(self.began)),
                power_up: true,
                bites: 0,
                store_used: 3,
                store_size: 512,
            }),
            Ask::Settings => FromBoard::Settings(*self.machine.settings()),
            Ask::Image => FromBoard::Image(0x5AD1),
        };
        self.say(&frame);
    }

    fn say(&mut self, frame: &FromBoard) {
        let mut buffer = [0; MAX_ENCODED];
        let length = self.end.seal(frame, &mut buffer);
        self.put(&buffer, length);
    }

    fn put(&mut self, buffer: &[u8], length: Option<usize>) {
        if self.faults.lose > 0 {
            self.faults.lose -= 1;
            return;
        }
        if !self.faults.mute {
            self.out.extend_from_slice(&buffer[..length.expect("room")]);
        }
    }
}

/// A stand-in in real time, behind a terminal line.
pub struct Port {
    /// The line.
    pub path: PathBuf,
    plugged: Plugged<Behind>,
    begun: Moment,
}

/// The board, with its end of the line.
pub struct Behind {
    board: Standin,
    far: FarEnd,
    begun: Moment,
}

impl Deref for Behind {
    type Target = Standin;

    fn deref(&self) -> &Standin {
        &self.board
    }
}

impl DerefMut for Behind {
    fn deref_mut(&mut self) -> &mut Standin {
        &mut self.board
    }
}

impl Port {
    /// Plugs a board in.
    ///
    /// # Panics
    /// There are no pseudo terminals.
    #[must_use]
    pub fn plug(board: Standin) -> Self {
        let begun = Moment::now();
        let plugged = Plugged::new(|far| Behind { board, far, begun }, Behind::step);
        Self { path: plugged.path.clone(), plugged, begun }
    }

    /// The board, between two of its steps.
    ///
    /// # Panics
    /// Its thread has.
    pub fn board(&self) -> MutexGuard<'_, Behind> {
        self.plugged.lock()
    }

    /// The board's time.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_millis(self.begun.elapsed().as_millis() as u64)
    }

    /// Pulls the plug: the line is gone, and the board with it.
    ///
    /// # Panics
    /// Its thread has.
    pub fn unplug(&mut self) {
        self.plugged.stop();
        self.board().far.hang_up();
    }
}

impl Behind {
    fn step(&mut self) -> bool {
        let mut buffer = [0; 512];
        let count = self.far.read(&mut buffer);
        let now = Instant::from_millis(self.begun.elapsed().as_millis() as u64);
        self.board.due(now);
        let said = self.board.hear(&buffer[..count], now);
        self.far.write(&said);
        count > 0
    }
}
