//! Machines under random events, and a journal that is told of all of it.

use std::collections::BTreeMap;

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{Action, Event, GiveoverOutcome, Holder, RestartOutcome, Ticket};
use giveover_core::policy::{FailoverMode, Limits, Policy, Scope};
use giveover_core::record::{Body, Entry};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

use crate::journal::{Journal, Note, Recovered};
use crate::machine::{self, BoxedMonitor};

/// A small generator of numbers, the same for the same seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// What a step has to be written down as.
pub(super) trait Log {
    fn entry(&mut self, entry: Entry);
    fn note(&mut self, at: Instant, note: Note);
}

impl Log for Journal {
    fn entry(&mut self, entry: Entry) {
        self.append(&entry);
    }

    fn note(&mut self, at: Instant, note: Note) {
        Journal::note(self, at, note);
    }
}

/// Counts what is written, and keeps what each machine was after each of its events.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) count: u64,
}

impl Log for Memory {
    fn entry(&mut self, _: Entry) {
        self.count += 1;
    }

    fn note(&mut self, _: Instant, _: Note) {
        self.count += 1;
    }
}

pub(super) struct World {
    pub(super) now: Instant,
    pub(super) machines: BTreeMap<u32, BoxedMonitor>,
    open: Vec<(u32, Action)>,
    random: Random,
}

impl World {
    pub(super) const MACHINES: u32 = 3;

    pub(super) fn new(seed: u64) -> Self {
        Self {
            now: Instant::from_millis(1_000),
            machines: BTreeMap::new(),
            open: Vec::new(),
            random: Random::new(seed),
        }
    }

    /// Makes the machines.
    pub(super) fn begin(&mut self, log: &mut impl Log) {
        for number in 0..Self::MACHINES {
            let policy = self.policy();
            let monitor = machine::boxed(policy, self.now);
            let name = format!("service-{number}").into();
            log.note(self.now, Note::Named { machine: number, name });
            crate::journal::compact::machine_entries(self.now, number, &monitor, |entry| {
                log.entry(entry);
            });
            self.machines.insert(number, monitor);
            self.feed(number, Event::Begin { first: Span::from_secs(1), started: true }, log);
        }
    }

    /// One random thing happens to one machine.
    pub(super) fn step(&mut self, log: &mut impl Log) {
        self.now = self.now.after(Span::from_millis(self.random.below(20_000) as u32));
        let number = self.random.below(u64::from(Self::MACHINES)) as u32;
        if self.random.below(3) > 0 && !self.open.is_empty() {
            let place = self.random.below(self.open.len() as u64) as usize;
            let (number, action) = self.open.swap_remove(place);
            if let Some(answer) = self.answer(action) {
                self.feed(number, answer, log);
                return;
            }
        }
        let event = self.event();
        self.feed(number, event, log);
        if self.random.below(8) == 0 {
            let text = format!("told at {}", self.now.as_millis()).into();
            log.note(self.now, Note::Text { machine: Some(number), event: "x".into(), text });
        }
    }

    /// Time passes for one machine.
    pub(super) fn timeout(&mut self, number: u32, log: &mut impl Log) {
        self.now = self.now.after(Span::from_secs(1));
        self.feed(number, Event::Timeout, log);
    }

    fn feed(&mut self, number: u32, event: Event, log: &mut impl Log) {
        let at = self.now;
        let Some(monitor) = self.machines.get_mut(&number) else { return };
        log.entry(Entry { at, machine: number, body: Body::Event(event) });
        machine::make_room(monitor, &event);
        for action in monitor.handle(event, at) {
            log.entry(Entry { at, machine: number, body: Body::Action(action) });
            self.open.push((number, action));
        }
    }

    fn policy(&mut self) -> Policy {
        let limits = Limits {
            retry_count: Some(self.random.below(5) as u16),
            failover_mode: FailoverMode::ALL[self.random.below(5) as usize],
            ..Limits::DEFAULT
        };
        let weight = 1 + self.random.below(100) as u16;
        let scope = Scope { smallest: Weight::clamped(weight), ..Scope::USUAL };
        Policy::new(limits, scope).expect("possible").0
    }

    fn event(&mut self) -> Event {
        let holder = Holder::ALL[self.random.below(5) as usize];
        match self.random.below(16) {
            0 => Event::Died { cause: self.cause() },
            1 => Event::Hold(holder),
            2 | 3 => Event::Release(holder),
            4 => Event::Clear,
            5 => Event::SetPolicy(self.policy()),
            6 => Event::Restart,
            7 => Event::Healed,
            8 => Event::Begin { first: Span::ZERO, started: false },
            9 => Event::Giveover,
            10 => Event::ProbeNow,
            _ => Event::Timeout,
        }
    }

    fn answer(&mut self, action: Action) -> Option<Event> {
        let cause = self.cause();
        match action {
            Action::Probe { ticket } => Some(Event::Probed { ticket, result: self.result() }),
            Action::Restart { ticket, .. } => {
                let outcomes = [
                    RestartOutcome::Started,
                    RestartOutcome::Started,
                    RestartOutcome::StartFailed(cause),
                    RestartOutcome::StopFailed(cause),
                    RestartOutcome::Invalid(cause),
                ];
                let outcome = outcomes[self.random.below(5) as usize];
                Some(Event::RestartDone { ticket, outcome })
            }
            Action::Giveover { ticket, .. } => {
                let outcomes = [
                    GiveoverOutcome::Granted,
                    GiveoverOutcome::Denied,
                    GiveoverOutcome::NotNow,
                    GiveoverOutcome::Aborted { stopped: self.random.below(2) == 0, cause },
                ];
                let outcome = outcomes[self.random.below(4) as usize];
                Some(Event::GiveoverDone { ticket, outcome })
            }
            _ => None,
        }
    }

    fn result(&mut self) -> ProbeResult {
        let cause = self.cause();
        match self.random.below(8) {
            0 => ProbeResult::Immediate(cause),
            1 => ProbeResult::CannotMeasure(cause),
            2 => ProbeResult::Void,
            3..=5 => {
                let weight = Weight::clamped(1 + self.random.below(100) as u16);
                ProbeResult::Failed(weight, cause)
            }
            _ => ProbeResult::Healthy,
        }
    }

    fn cause(&mut self) -> Cause {
        let phase = Phase::ALL[self.random.below(Phase::COUNT as u64) as usize];
        Cause::of_check(self.random.below(4) as u8, phase, self.random.below(500) as u16)
    }
}

/// An event by hand.
pub(super) fn healthy(ticket: u32) -> Event {
    Event::Probed { ticket: Ticket(ticket), result: ProbeResult::Healthy }
}

/// Everything of a monitor that a journal keeps.
pub(super) fn essence(monitor: &BoxedMonitor) -> String {
    let history = monitor.history();
    let totals: Vec<u32> = Phase::ALL.iter().map(|phase| history.total(*phase)).collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {totals:?} {} {:?}",
        monitor.policy(),
        monitor.standing(),
        history.failures().collect::<Vec<_>>(),
        history.restart_times().collect::<Vec<_>>(),
        history.start_times().collect::<Vec<_>>(),
        history.failure_sum(),
        history.capacity(),
    )
}

/// The recovered machines by number.
pub(super) fn essences(recovered: &Recovered) -> BTreeMap<u32, String> {
    let machines = recovered.machines.values();
    machines.map(|machine| (machine.number, essence(&machine.monitor))).collect()
}

impl World {
    pub(super) fn essences(&self) -> BTreeMap<u32, String> {
        self.machines.iter().map(|(number, monitor)| (*number, essence(monitor))).collect()
    }

    /// The machines, for a snapshot.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &BoxedMonitor)> {
        self.machines.iter().map(|(number, monitor)| (*number, monitor))
    }
}
