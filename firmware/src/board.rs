//! One board, one step: everything it does, in one place and in one order.

mod answer;

use core::mem::MaybeUninit;

use embedded_hal::digital::OutputPin;
use giveover_core::board::{
    Action, Board as Machine, Durable, Event, Light, Log, Note, Settings, Start,
};
use giveover_core::monitor::Ticket;
#[cfg(feature = "shadow")]
use giveover_core::shadow::Shadows;
use giveover_core::time::{Instant, Span};
use giveover_core::wire::{Ask, Key};

use crate::contact::{Contact, ReadBack};
use crate::hardware::Board;
use crate::kept::Kept;
use crate::light;
use crate::line::{self, ResetLine, Timing};
use crate::link::Link;
use crate::store::Store;
use crate::tick::Tick;

/// How many notes a board remembers until the host has them.
const NOTES: usize = 16;
/// How often retained RAM is read back.
const CHECK_EVERY: Span = Span::from_secs(1);

/// Room for what is too large to be moved about on a small stack. A board has it in a `static`.
#[derive(Debug)]
pub struct Room {
    machine: MaybeUninit<Machine>,
    log: MaybeUninit<Log<NOTES>>,
    link: MaybeUninit<Link>,
    kept: MaybeUninit<Kept>,
    #[cfg(feature = "shadow")]
    shadows: Shadows,
}

impl Room {
    /// Room with nothing in it.
    #[must_use]
    pub const fn new() -> Self {
        let (machine, log) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        Self {
            machine,
            log,
            link: MaybeUninit::uninit(),
            kept: MaybeUninit::uninit(),
            #[cfg(feature = "shadow")]
            shadows: Shadows::NONE,
        }
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new()
    }
}

/// What a board runs.
///
/// [`Firmware::step`] is called whenever a byte has come or the periodic timer has gone off, and
/// at any other time. It takes no longer than [`Link::AT_ONCE`] bytes and what they ask for take.
// In this order because a Cortex-M0 reaches what is near by one instruction.
#[repr(C)]
pub struct Firmware<'a, B: Board> {
    second_on: bool,
    /// A key may be replaced: the jumper was set when the power came.
    rekey: bool,
    /// No frame of this connection was a feed yet.
    fresh: bool,
    power_up: bool,
    port: Option<bool>,
    machine: &'a mut Machine,
    log: &'a mut Log<NOTES>,
    link: &'a mut Link,
    /// Key and bites; the machine's record is the machine's by now.
    kept: &'a mut Kept,
    #[cfg(feature = "shadow")]
    shadows: &'a mut Shadows,
    /// Of the periodic timer, at the last step.
    ticks: u32,
    /// Hellos answered, for a nonce that is never used twice.
    hellos: u32,
    /// The newest record's number at the start, for the same.
    started: u32,
    second: B::Second,
    began: Instant,
    check: Instant,
    tick: Tick,
    line: ResetLine<B::Line>,
    read_back: ReadBack,
    jumper: Contact,
    power: Contact,
    store: StoreOf<B>,
    board: B,
}

/// What is in a [`Room`].
struct Rooms<'a> {
    machine: &'a mut Machine,
    log: &'a mut Log<NOTES>,
    link: &'a mut Link,
    kept: &'a mut Kept,
    #[cfg(feature = "shadow")]
    shadows: &'a mut Shadows,
}

/// The store of a board.
type StoreOf<B> = Store<<B as Board>::Memory, <B as Board>::Flash, { Kept::BYTES }>;

impl<'a, B: Board> Firmware<'a, B> {
    /// A board that has just started: from what it remembers, with both lines released.
    ///
    /// In steps that stand apart, because the stack is small: none is there while another is.
    #[inline(never)]
    pub fn start<'p>(
        place: &'p mut MaybeUninit<Self>,
        room: &'a mut Room,
        mut board: B,
    ) -> &'p mut Self {
        let (memory, flash) = board.store();
        let mut store = Store::open(memory, flash);
        let kept = room.kept.write(Kept::NEW);
        let remembers = kept.find(&mut store);
        // RAM that is whole was not without power; whether the host was, nobody knows.
        let power_up = !remembers || board.was_powered_up() == Some(true);
        kept.bites = if power_up { 0 } else { kept.bites.saturating_add(1) };
        let machine = wake(&kept.durable, &mut room.machine);
        let log = blank(&mut room.log);
        let link = connect(&mut room.link, kept.key, board.device());
        let rooms = Rooms {
            machine,
            log,
            link,
            kept,
            #[cfg(feature = "shadow")]
            shadows: &mut room.shadows,
        };
        Self::put(place, board, store, rooms, power_up)
    }

    #[inline(never)]
    fn put<'p>(
        place: &'p mut MaybeUninit<Self>,
        board: B,
        store: StoreOf<B>,
        rooms: Rooms<'a>,
        power_up: bool,
    ) -> &'p mut Self {
        place.write(Self::new(board, store, rooms, power_up))
    }

    #[inline(always)]
    fn new(mut board: B, store: StoreOf<B>, rooms: Rooms<'a>, power_up: bool) -> Self {
        let Rooms { machine, log, link, kept, .. } = rooms;
        let now = machine.latest();
        let timing = timing(machine.settings());
        let last = Some(kept.durable.ever).filter(|ever| *ever > 0).map(Ticket);
        let start =
            if power_up { line::Start::PowerUp { last } } else { line::Start::BoardReset { last } };
        let line = ResetLine::new(B::WIRING, |level| board.line(level), timing, start, now);
        Self {
            tick: Tick::new(board.now(), now),
            ticks: board.ticks(),
            line,
            read_back: ReadBack::default(),
            second: board.second(B::WIRING.released()),
            second_on: false,
            machine,
            log,
            link,
            #[cfg(feature = "shadow")]
            shadows: rooms.shadows,
            jumper: Contact::new(board.jumper()),
            rekey: false,
            power: Contact::new(board.host_power().unwrap_or(true)),
            port: None,
            kept,
            fresh: true,
            hellos: 0,
            started: 0,
            began: now,
            power_up,
            check: now.after(CHECK_EVERY),
            store,
            board,
        }
    }

    /// What follows from how it started; once, before the first step. It stands apart because the
    /// stack is small.
    #[inline(never)]
    pub fn begin(&mut self) {
        let (now, power_up) = (self.began, self.power_up);
        self.rekey = power_up && self.jumper.state();
        let next = self.do_first(power_up, now);
        self.go_on(next, 0, now);
        if self.jumper.state() {
            self.tell(Event::Jumper(true), 0, now);
        }
        if !self.power.state() {
            self.tell(Event::HostPower(false), 0, now);
        }
    }

    #[inline(never)]
    fn do_first(&mut self, power_up: bool, now: Instant) -> Option<Event> {
        let start = if power_up { Start::PowerUp } else { Start::BoardReset };
        self.machine.begin(start);
        // Written at every start, so that its number and every nonce made of it are new.
        self.keep();
        self.started = self.store.sequence();
        self.carry_out(0, now)
    }

    /// Sees to the time, the line, the contacts, the host, the store and the light, and then, and
    /// only here, feeds the chip's watchdog: whatever keeps any of them from being seen to keeps
    /// the watchdog hungry (L8).
    pub fn step(&mut self) {
        let now = self.time();
        self.see_to_line(now);
        self.see_to_contacts(now);
        self.see_to_host(now);
        if self.machine.poll_timeout().is_some_and(|due| now >= due) {
            self.tell(Event::Timeout, 0, now);
        }
        self.see_to_store(now);
        // Once more: what was just decided belongs on the pin before the next sleep.
        self.line.poll(now);
        // A hello was answered, and nobody has proven himself since: its host has another key.
        let strange = self.hellos > 0 && !self.link.end().is_connected();
        let light = self.machine.light(self.kept.key.is_some() && !strange);
        self.board.light(light::is_on(light, now));
        self.board.held(matches!(light, Light::Steady));
        self.board.watchdog();
    }

    #[inline(never)]
    fn time(&mut self) -> Instant {
        self.tick.look(B::COUNTER, self.board.now())
    }

    /// When a step is wanted at the latest, though no byte comes and no contact moves: for time that
    /// jumps, in simulations. Nobody but us writes to RAM there, so its check waits for a step that is
    /// made for something else. A chip steps on each tick.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.machine.poll_timeout().into_iter().chain(self.line.poll_timeout()).min()
    }

    /// What time it was at the last step, on the line of [`Firmware::poll_timeout`].
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.tick.now()
    }

    /// Its machine, to be looked at.
    #[must_use]
    pub const fn machine(&self) -> &Machine {
        self.machine
    }

    /// What it runs on.
    pub const fn board(&mut self) -> &mut B {
        &mut self.board
    }

    #[inline(never)]
    fn see_to_line(&mut self, now: Instant) {
        // Before the line is moved, so that both of its edges are seen a step late.
        let high = self.board.sense();
        if let Some(ms) = self.read_back.look(self.line.is_held(), high, now) {
            self.note(Note::ReadLow(ms), now);
        }
        let ticks = self.board.ticks();
        let gone = ticks.wrapping_sub(self.ticks);
        self.ticks = ticks;
        // More of them than make the longest pulse end it no sooner.
        let most = const { Timing::LONGEST.as_millis() / B::TICK.as_millis() + 1 };
        self.line.count_down(Span::from_millis(gone.min(most) * B::TICK.as_millis()));
        self.line.poll(now);
        self.second_to(self.second_on);
    }

    #[inline(never)]
    fn see_to_contacts(&mut self, now: Instant) {
        let reads = self.board.jumper();
        if let Some(set) = self.jumper.look(Contact::JUMPER, reads, now) {
            self.tell(Event::Jumper(set), 0, now);
        }
        let power = self.board.host_power();
        if let Some(on) = power.and_then(|reads| self.power.look(Contact::POWER, reads, now)) {
            self.tell(Event::HostPower(on), 0, now);
        }
        let port = self.board.port();
        if port != self.port {
            self.port = port;
            // One that nobody can see any more, because the host speaks on another, is not lost.
            self.tell(Event::Link(port.unwrap_or(true)), 0, now);
        }
    }

    #[inline(never)]
    fn see_to_store(&mut self, now: Instant) {
        if now >= self.check {
            self.check = now.after(CHECK_EVERY);
            if !self.store.is_sound() {
                // Something wrote over it, or it never took it.
                self.keep();
            }
        }
    }

    /// Tells the machine, and does what it asks for. `to` is the frame to answer.
    #[inline(never)]
    fn tell(&mut self, event: Event, to: u32, now: Instant) {
        self.go_on(Some(event), to, now);
    }

    #[inline(never)]
    fn go_on(&mut self, event: Option<Event>, to: u32, now: Instant) {
        let (mut next, mut now) = (event, now);
        while let Some(event) = next {
            next = self.handle(event, to, now);
            // A page of flash is erased for longer than a tick: a pulse begins when it begins.
            now = self.time();
        }
    }

    #[inline(never)]
    fn handle(&mut self, event: Event, to: u32, now: Instant) -> Option<Event> {
        self.machine.tell(event, now);
        self.carry_out(to, now)
    }

    /// What came of the actions, if the machine wants to know.
    #[inline(never)]
    fn carry_out(&mut self, to: u32, now: Instant) -> Option<Event> {
        let mut next = None;
        let mut at = 0;
        while let Some(action) = self.machine.actions().as_slice().get(at) {
            at += 1;
            match *action {
                Action::Store => {
                    let (number, ok) = self.keep();
                    next = Some(Event::Stored { number, ok });
                }
                Action::Pulse { ticket, width } => {
                    let boot_grace = self.machine.settings().boot_grace;
                    if let Ok(timing) = Timing::new(width, boot_grace) {
                        self.line.set_timing(timing);
                    }
                    if self.line.pulse(Ticket(ticket), now).is_err() {
                        next = Some(Event::LineRefused { ticket });
                    }
                }
                Action::Release => self.line.release(),
                Action::Second(on) => self.second_to(on),
                Action::Echo => self.tell_host(Ask::Settings, now),
                Action::Answer(refusal) => self.answer(to, refusal),
                Action::Note(note) => self.note(note, now),
                // A machine of a newer version would have a newer driver.
                _ => {}
            }
        }
        next
    }

    fn note(&mut self, note: Note, now: Instant) {
        #[cfg(feature = "defmt")]
        defmt::println!("{=u64} ms: {}", now.as_millis(), note);
        self.log.add(now, note);
    }

    /// Puts the record into the store, as it is now. Its number, and whether it is there.
    #[inline(never)]
    fn keep(&mut self) -> (u32, bool) {
        let mut bytes = [0; Kept::BYTES];
        let machine = &mut self.machine;
        let number = self.kept.encode(&mut bytes, |own| machine.encode_record(own));
        (number.unwrap_or(0), self.store.write(&bytes).is_ok())
    }

    fn second_to(&mut self, on: bool) {
        self.second_on = on;
        let level = if on { B::WIRING.held() } else { B::WIRING.released() };
        // Written every step, so that a pin that refused or was upset is put right.
        let _ = self.second.set_state(level);
    }
}

#[inline(never)]
fn wake<'a>(record: &Durable, room: &'a mut MaybeUninit<Machine>) -> &'a mut Machine {
    // Where it is the compiler shall not know: each field by an address of its own is much code.
    core::hint::black_box(room).write(Machine::blank(record, record.powered))
}

#[inline(never)]
fn blank(room: &mut MaybeUninit<Log<NOTES>>) -> &mut Log<NOTES> {
    room.write(Log::new())
}

#[inline(never)]
fn connect(room: &mut MaybeUninit<Link>, key: Option<Key>, device: u64) -> &mut Link {
    room.write(Link::new(key, device))
}

/// The line's timing under these settings, which the machine has found in range.
fn timing(settings: &Settings) -> Timing {
    Timing::new(settings.pulse, settings.boot_grace).unwrap_or(Timing::USUAL)
}

#[cfg(test)]
mod tests;
