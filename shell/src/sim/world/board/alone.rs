//! The machine of `core::board` as a board of its own: a store that takes a record whole or not at all,
//! and nothing between the machine and its pins.

use std::collections::VecDeque;

use giveover_core::board::{
    Action, Board as Machine, Durable, Event, Request, Settings, Start, State, Verdict,
};
use giveover_core::time::Instant;

use super::device::{Device, Happened};

/// One thing leads to no more than so many others.
const MOST_EVENTS: usize = 64;

pub(super) struct Alone {
    machine: Machine,
    /// True time of its start, and its powered time then.
    started: (u64, u64),
    on: bool,
    flash: Option<[u8; Durable::BYTES]>,
    works: bool,
    tears: bool,
    up: bool,
    jumper: bool,
    /// The next feed is the first of its connection.
    fresh: bool,
    held: bool,
    second: bool,
    /// The store's answers: fed after the event under way.
    waiting: VecDeque<Event>,
    happened: VecDeque<Happened>,
    events: u64,
}

impl Alone {
    pub(super) fn new() -> Self {
        let (machine, _) = Machine::start(None, Start::PowerUp, Instant::default());
        Self {
            machine,
            started: (0, 0),
            on: false,
            flash: None,
            works: true,
            tears: false,
            up: true,
            jumper: false,
            fresh: true,
            held: false,
            second: false,
            waiting: VecDeque::new(),
            happened: VecDeque::new(),
            events: 0,
        }
    }

    /// Powered time.
    fn at(&self, now: u64) -> Instant {
        let (from, showed) = self.started;
        Instant::from_millis(showed + now.saturating_sub(from))
    }

    fn tell(&mut self, event: Event, now: u64) {
        self.waiting.push_back(event);
        self.settle(now);
    }

    fn settle(&mut self, now: u64) {
        for _ in 0..MOST_EVENTS {
            if !self.on {
                self.waiting.clear();
            }
            let Some(event) = self.waiting.pop_front() else { return };
            let at = self.at(now);
            let actions = self.machine.handle(event, at);
            self.events += 1;
            let stale = self.machine.poll_timeout().is_some_and(|due| due <= at);
            if event == Event::Timeout && stale {
                self.wrong("a deadline of the board is stale");
            }
            for action in actions {
                self.carry_out(action);
            }
            if self.held && self.machine.state() != State::Pulsing {
                let state = self.machine.state().word();
                self.wrong(&format!("C1: the reset line is held in the state {state}"));
            }
        }
    }

    fn wrong(&mut self, why: &str) {
        self.happened.push_back(Happened::Wrong(why.to_owned()));
    }

    fn carry_out(&mut self, action: Action) {
        if !self.on {
            return; // its power went in the middle
        }
        match action {
            Action::Store => self.keep(),
            Action::Pulse { ticket, .. } => {
                let record = self.record();
                let durable = record.is_some_and(|it| it.intent && it.ever == ticket);
                if self.held {
                    self.wrong("two pulses at a time");
                }
                self.held = true;
                self.happened.push_back(Happened::Held { durable });
            }
            Action::Release => self.release(),
            Action::Second(on) if on != self.second => {
                self.second = on;
                self.happened.push_back(Happened::Second(on));
            }
            Action::Answer(refusal) => self.happened.push_back(Happened::Answered(refusal)),
            _ => {} // notes are its log
        }
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.held) {
            self.happened.push_back(Happened::Released);
        }
    }

    fn let_go(&mut self) {
        self.release();
        if std::mem::take(&mut self.second) {
            self.happened.push_back(Happened::Second(false));
        }
    }

    fn keep(&mut self) {
        if std::mem::take(&mut self.tears) {
            // what is there of this record is none: the one before it counts
            self.happened.push_back(Happened::PowerLost);
            self.on = false;
            return;
        }
        let record = self.machine.durable();
        if self.works {
            self.flash = Some(record.encode());
        }
        self.waiting.push_back(Event::Stored { number: record.number, ok: self.works });
    }
}

impl Device for Alone {
    fn start(&mut self, start: Start, now: u64) {
        self.let_go(); // of both lines: the chip's pins are inputs until they are made outputs
        // retained memory always has what the machine knows; it goes with the power
        let retained = matches!(start, Start::BoardReset).then(|| self.machine.durable());
        let record = Durable::settle(self.record(), retained);
        let powered = record.map_or(0, |record| record.powered.as_millis());
        self.started = (now, powered);
        let (machine, actions) = Machine::start(record, start, self.at(now));
        self.machine = machine;
        self.waiting.clear();
        (self.on, self.fresh) = (true, true);
        if actions.as_slice().iter().any(|action| matches!(action, Action::Pulse { .. })) {
            self.wrong("an edge at boot");
        }
        for action in actions {
            self.carry_out(action);
        }
        if self.jumper {
            self.waiting.push_back(Event::Jumper(true));
        }
        if !self.up {
            self.waiting.push_back(Event::Link(false));
        }
        self.settle(now);
    }

    fn power_off(&mut self, _: u64) {
        self.tears = false;
        self.let_go();
        self.waiting.clear();
        self.on = false;
    }

    fn connect(&mut self, _: u64) {
        self.fresh = true;
    }

    fn feed(&mut self, verdict: Verdict, now: u64) {
        let fresh = std::mem::take(&mut self.fresh);
        self.tell(Event::Feed { fresh, right: true, verdict }, now);
    }

    fn ask(&mut self, request: Request, now: u64) {
        self.tell(Event::Host(request), now);
    }

    fn port(&mut self, up: bool, now: u64) {
        self.up = up;
        self.tell(Event::Link(up), now);
    }

    fn jumper(&mut self, set: bool, now: u64) {
        self.jumper = set;
        self.tell(Event::Jumper(set), now);
    }

    fn store(&mut self, works: bool, _: u64) {
        self.works = works;
    }

    fn tear(&mut self, _: u64) {
        self.tears = self.on;
    }

    fn next_event(&self) -> Option<u64> {
        if !self.on {
            return None;
        }
        let (from, showed) = self.started;
        let due = self.machine.poll_timeout()?;
        Some(from.saturating_add(due.as_millis().saturating_sub(showed)))
    }

    fn due(&mut self, now: u64) {
        self.tell(Event::Timeout, now);
    }

    fn happened(&mut self) -> Option<Happened> {
        self.happened.pop_front()
    }

    fn state(&self) -> State {
        self.machine.state()
    }

    fn settings(&self) -> Settings {
        *self.machine.settings()
    }

    fn record(&self) -> Option<Durable> {
        self.flash.as_ref().and_then(|bytes| Durable::decode(bytes).ok())
    }

    fn events(&self) -> u64 {
        self.events
    }
}
