//! What the notes of a journal come to: everything a run must know besides the machines.

use std::collections::VecDeque;
use std::sync::Arc;

use giveover_core::arbiter::Node;
use giveover_core::monitor::{Event, Holder, Ticket};
use giveover_core::record::{Body, Entry};
use giveover_core::time::Instant;

use super::note::{Hold, HostBudget, MemberNote, Note, Process, Run, Stage};
use crate::clock::{Anchor, Anchors, Previous};

/// The sum of all notes. The writer keeps one, and recovery comes to the same by reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    run: Option<(Instant, Run)>,
    ended: bool,
    last: Instant,
    anchors: Anchors,
    /// In the order of their numbers.
    services: Vec<(u32, Service)>,
    actions: VecDeque<Instant>,
    resets: VecDeque<Instant>,
    next: u32,
}

/// What is noted about one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: Arc<str>,
    more: Option<Box<More>>,
}

/// What a person wanted of a service that is not watched, or is not to be. A monitor that ended
/// without one ended with its daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To stop the service; it is not known to have stopped.
    Stop,
    /// To leave the service alone.
    Unwatched,
    /// To start the service; it is not known to have started.
    Start,
}

impl Wish {
    /// The word of the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Unwatched => "monitor stop",
            Self::Start => "start",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Stop, Self::Unwatched, Self::Start].into_iter().find(|wish| wish.word() == word)
    }
}

/// What few services have, apart, so that many stay small.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct More {
    process: Option<Process>,
    /// Why its monitor has ended, while it has, if a person wanted it.
    wish: Option<(Instant, Wish)>,
    hold: Option<(Instant, Hold)>,
    stage: Option<(Instant, Ticket, Stage)>,
    gave_over: Vec<(Node, Instant)>,
    member: Option<(Instant, MemberNote)>,
    group_waits: Option<Instant>,
}

impl Service {
    /// Its main process, while it runs.
    #[must_use]
    pub fn process(&self) -> Option<Process> {
        self.more.as_ref()?.process
    }

    /// The person's hold, and since when.
    #[must_use]
    pub fn hold(&self) -> Option<(Instant, &Hold)> {
        let (since, hold) = self.more.as_ref()?.hold.as_ref()?;
        Some((*since, hold))
    }

    /// Why a person ended its monitor, while it has ended.
    #[must_use]
    pub fn wish(&self) -> Option<Wish> {
        self.more.as_ref()?.wish.map(|(_, wish)| wish)
    }

    /// How far the restart or giveover of this ticket has come.
    #[must_use]
    pub fn stage(&self) -> Option<(Ticket, Stage)> {
        let (_, ticket, stage) = self.more.as_ref()?.stage?;
        Some((ticket, stage))
    }

    /// Which nodes gave the service over, and when.
    #[must_use]
    pub fn gave_over(&self) -> &[(Node, Instant)] {
        self.more.as_ref().map_or(&[], |more| &more.gave_over)
    }

    /// How it stands, if it is a member of a pool.
    #[must_use]
    pub fn member(&self) -> Option<&MemberNote> {
        self.more.as_ref()?.member.as_ref().map(|(_, member)| member)
    }

    /// Whether those that need it are to be restarted once it is ok again.
    #[must_use]
    pub fn group_waits(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.group_waits.is_some())
    }

    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    fn tidy(&mut self) {
        if self.more.as_ref().is_some_and(|more| **more == More::default()) {
            self.more = None;
        }
    }
}

impl Ledger {
    /// Makes room for so many services.
    pub(super) fn reserve(&mut self, services: usize) {
        self.services.reserve_exact(services.saturating_sub(self.services.len()));
    }

    /// No budget of the host is larger.
    const MOST_CHARGES: usize = 1000;
    /// Nodes of a group that are remembered to have given it over.
    const MOST_NODES: usize = 8;

    /// The last run, and when it began.
    #[must_use]
    pub fn run(&self) -> Option<(Instant, &Run)> {
        self.run.as_ref().map(|(at, run)| (*at, run))
    }

    /// Whether the last run ended because it was told to.
    #[must_use]
    pub const fn ended(&self) -> bool {
        self.ended
    }

    /// The last instant written down.
    #[must_use]
    pub const fn last(&self) -> Instant {
        self.last
    }

    /// How the last run left the time line, to carry it on.
    #[must_use]
    pub fn previous(&self) -> Option<Previous> {
        let (_, run) = self.run.as_ref()?;
        Some(Previous { boot: run.boot, offset_ms: run.offset_ms, last: self.last })
    }

    /// What the wall clock showed when.
    #[must_use]
    pub const fn anchors(&self) -> &Anchors {
        &self.anchors
    }

    /// The services by their numbers.
    pub fn services(&self) -> impl Iterator<Item = (u32, &Service)> + '_ {
        self.services.iter().map(|(number, service)| (*number, service))
    }

    /// The service of this number.
    #[must_use]
    pub fn service(&self, number: u32) -> Option<&Service> {
        let place = self.place(number).ok()?;
        self.services.get(place).map(|(_, service)| service)
    }

    /// What was charged to a budget of the host, oldest first.
    pub fn charges(&self, budget: HostBudget) -> impl Iterator<Item = Instant> + '_ {
        match budget {
            HostBudget::Actions => self.actions.iter().copied(),
            HostBudget::Resets => self.resets.iter().copied(),
        }
    }

    /// A number no machine has had.
    pub(super) const fn free_number(&self) -> u32 {
        self.next
    }

    /// Takes in a note.
    pub(super) fn take_note(&mut self, at: Instant, note: &Note) {
        self.last = self.last.max(at);
        match note {
            Note::Run(run) => {
                self.anchors.add(Anchor { at, wall_ms: run.wall_ms });
                self.run = Some((at, run.clone()));
                self.ended = false;
            }
            Note::Ended => self.ended = true,
            Note::Wall { wall_ms } => self.anchors.add(Anchor { at, wall_ms: *wall_ms }),
            Note::Named { machine, name } => self.named(*machine, name),
            Note::Gone { machine } => {
                if let Ok(place) = self.place(*machine) {
                    self.services.remove(place);
                }
            }
            Note::Held { machine, hold } => {
                self.with(*machine, |service| service.more().hold = Some((at, hold.clone())));
            }
            Note::Process { machine, process } => {
                self.with(*machine, |service| service.more().process = Some(*process));
            }
            Note::Stage { machine, ticket, stage } => {
                self.with(*machine, |service| service.more().stage = Some((at, *ticket, *stage)));
            }
            Note::Charged { budget } => self.charged(*budget, at),
            Note::GaveOver { machine, from } => self.gave_over(*machine, *from, at),
            Note::Member { machine, member } => {
                self.with(*machine, |it| it.more().member = Some((at, member.clone())));
            }
            Note::GroupWaits { machine, waits } => {
                self.with(*machine, |it| it.more().group_waits = waits.then_some(at));
            }
            Note::ForgotGiveovers { machine } => {
                self.with(*machine, |service| service.more().gave_over.clear());
            }
            Note::Asked { machine: Some(machine), verb, .. } => {
                if let Some(wish) = Wish::from_word(verb) {
                    self.with(*machine, |service| service.more().wish = Some((at, wish)));
                }
            }
            // told to people, and nothing follows from it
            Note::Asked { .. } | Note::Text { .. } | Note::Lost { .. } | Note::SetAside { .. } => {}
        }
    }

    /// Takes in what an entry of a machine ends of the notes about it.
    pub(super) fn take_entry(&mut self, entry: &Entry) {
        self.last = self.last.max(entry.at);
        self.next = self.next.max(entry.machine.saturating_add(1));
        let Body::Event(event) = entry.body else { return };
        match event {
            Event::Release(Holder::Operator) => {
                self.with(entry.machine, |service| service.more().hold = None);
            }
            Event::RestartDone { ticket, .. } | Event::GiveoverDone { ticket, .. } => {
                self.with(entry.machine, |service| {
                    let more = service.more();
                    more.stage = more.stage.filter(|(_, noted, _)| *noted != ticket);
                });
            }
            Event::Died { .. } => {
                self.with(entry.machine, |service| service.more().process = None);
            }
            Event::Stopped => self.with(entry.machine, |service| {
                service.more().process = None;
                service.more().wish = None;
            }),
            Event::Begin { .. } => self.with(entry.machine, |service| service.more().wish = None),
            _ => {} // everything else leaves the notes as they are
        }
    }

    /// The notes that come to this ledger again, each with its time: a snapshot of it.
    pub(super) fn notes(&self) -> impl Iterator<Item = (Instant, Note)> + '_ {
        let run = self.run.iter().map(|(at, run)| (*at, Note::Run(run.clone())));
        let walls = self.anchors.iter().map(|it| (it.at, Note::Wall { wall_ms: it.wall_ms }));
        let ended = self.ended.then_some((self.last, Note::Ended));
        let charged = |budget| self.charges(budget).map(move |at| (at, Note::Charged { budget }));
        let charged = charged(HostBudget::Actions).chain(charged(HostBudget::Resets));
        let last = self.last;
        let services = self.services.iter();
        let services = services.flat_map(move |(number, it)| service_notes(*number, it, last));
        run.chain(walls).chain(ended).chain(charged).chain(services)
    }

    /// Where the service of this number is, or would be.
    fn place(&self, machine: u32) -> Result<usize, usize> {
        self.services.binary_search_by_key(&machine, |(number, _)| *number)
    }

    fn named(&mut self, machine: u32, name: &Arc<str>) {
        self.next = self.next.max(machine.saturating_add(1));
        let name = name.clone();
        match self.place(machine) {
            Ok(place) => self.services[place].1.name = name,
            Err(place) => self.services.insert(place, (machine, Service { name, more: None })),
        }
    }

    fn with(&mut self, machine: u32, change: impl FnOnce(&mut Service)) {
        let Ok(place) = self.place(machine) else { return };
        if let Some((_, service)) = self.services.get_mut(place) {
            change(service);
            service.tidy();
        }
    }

    fn charged(&mut self, budget: HostBudget, at: Instant) {
        let charges = match budget {
            HostBudget::Actions => &mut self.actions,
            HostBudget::Resets => &mut self.resets,
        };
        if charges.len() == Self::MOST_CHARGES {
            charges.pop_front();
        }
        charges.push_back(at);
    }

    fn gave_over(&mut self, machine: u32, from: Node, at: Instant) {
        self.with(machine, |service| {
            let stamps = &mut service.more().gave_over;
            stamps.retain(|(node, _)| *node != from);
            if stamps.len() == Self::MOST_NODES {
                stamps.remove(0);
            }
            stamps.push((from, at));
        });
    }
}

fn service_notes(machine: u32, service: &Service, last: Instant) -> Vec<(Instant, Note)> {
    let mut notes = vec![(last, Note::Named { machine, name: service.name.clone() })];
    let Some(more) = &service.more else { return notes };
    let process = more.process.map(|process| Note::Process { machine, process });
    notes.extend(process.map(|note| (last, note)));
    if let Some((at, wish)) = more.wish {
        let (verb, nobody) = (wish.word().into(), Box::<str>::default());
        let asked = Note::Asked { machine: Some(machine), verb, who: nobody.clone(), why: nobody };
        notes.push((at, asked));
    }
    if let Some((at, hold)) = &more.hold {
        notes.push((*at, Note::Held { machine, hold: hold.clone() }));
    }
    if let Some((at, ticket, stage)) = more.stage {
        notes.push((at, Note::Stage { machine, ticket, stage }));
    }
    if let Some((at, member)) = &more.member {
        notes.push((*at, Note::Member { machine, member: member.clone() }));
    }
    if let Some(at) = more.group_waits {
        notes.push((at, Note::GroupWaits { machine, waits: true }));
    }
    let stamps = more.gave_over.iter();
    notes.extend(stamps.map(|(from, at)| (*at, Note::GaveOver { machine, from: *from })));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use giveover_core::failure::{Cause, Phase};
    use giveover_core::monitor::RestartOutcome;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn event(ms: u64, machine: u32, event: Event) -> Entry {
        Entry { at: at(ms), machine, body: Body::Event(event) }
    }

    fn full() -> Ledger {
        let mut ledger = Ledger::default();
        let run = Run { version: "1".into(), pid: 7, boot: None, offset_ms: -3, wall_ms: 9_000 };
        let hold = Hold { who: "ops".into(), why: "upgrade".into(), until: Some(at(99)) };
        let process = Process { pid: 5, start_time: 6, boot: None };
        let notes = [
            Note::Run(run),
            Note::Named { machine: 0, name: "web".into() },
            Note::Named { machine: 4, name: "db".into() },
            Note::Held { machine: 4, hold },
            Note::Process { machine: 0, process },
            Note::Stage { machine: 0, ticket: Ticket(3), stage: Stage::Stopping },
            Note::Asked { machine: Some(4), verb: "stop".into(), who: "".into(), why: "".into() },
            Note::Charged { budget: HostBudget::Actions },
            Note::Charged { budget: HostBudget::Resets },
            Note::GaveOver { machine: 4, from: Node(1) },
            Note::Named { machine: 5, name: "web/a".into() },
            Note::Member {
                machine: 5,
                member: MemberNote { out: true, drain: None, cut_at: Some(at(7)) },
            },
            Note::GroupWaits { machine: 4, waits: true },
            Note::Wall { wall_ms: 70_000 },
        ];
        for (place, note) in notes.iter().enumerate() {
            ledger.take_note(at(place as u64), note);
        }
        ledger
    }

    #[test]
    fn a_snapshot_of_a_ledger_comes_to_the_same_ledger() {
        let mut ledger = full();
        for _ in 0..2 {
            let mut again = Ledger::default();
            ledger.notes().for_each(|(at, note)| again.take_note(at, &note));
            assert_eq!(again, ledger);
            ledger.take_note(at(500), &Note::Ended);
        }
    }

    #[test]
    fn a_restart_of_the_group_is_known_until_it_has_been_made() {
        let mut ledger = full();
        let waits = |ledger: &Ledger| ledger.services().filter(|(_, it)| it.group_waits()).count();
        assert_eq!(waits(&ledger), 1);
        ledger.take_note(at(30), &Note::GroupWaits { machine: 4, waits: false });
        assert_eq!(waits(&ledger), 0);
    }

    #[test]
    fn entries_end_what_they_answer() {
        let mut ledger = full();
        ledger.take_entry(&event(20, 4, Event::Release(Holder::Need)));
        assert!(ledger.service(4).is_some_and(|service| service.hold().is_some()));
        ledger.take_entry(&event(21, 4, Event::Release(Holder::Operator)));
        assert!(ledger.service(4).is_some_and(|service| service.hold().is_none()));
        let done = |ticket| Event::RestartDone { ticket, outcome: RestartOutcome::Started };
        ledger.take_entry(&event(22, 0, done(Ticket(2))));
        let stage = |ledger: &Ledger| ledger.service(0).and_then(Service::stage);
        assert_eq!(stage(&ledger), Some((Ticket(3), Stage::Stopping)));
        ledger.take_entry(&event(23, 0, done(Ticket(3))));
        assert_eq!(stage(&ledger), None);
        ledger.take_entry(&event(24, 0, Event::Died { cause: Cause::new(Phase::Died, 0) }));
        assert!(ledger.service(0).is_some_and(|service| service.process().is_none()));
        assert_eq!(ledger.last(), at(24));
    }

    /// What a person wanted holds until the service has stopped or a monitor begins.
    #[test]
    fn a_wish_ends_with_what_it_was_for() {
        let asked = |verb: &str| Note::Asked {
            machine: Some(4),
            verb: verb.into(),
            who: "ops".into(),
            why: "".into(),
        };
        let begin = Event::Begin { first: giveover_core::time::Span::ZERO, started: true };
        let wish = |ledger: &Ledger| ledger.service(4).and_then(Service::wish);
        let mut ledger = full();
        for (verb, wanted) in [("stop", Wish::Stop), ("monitor stop", Wish::Unwatched)] {
            for end in [Event::Stopped, begin] {
                ledger.take_note(at(30), &asked(verb));
                ledger.take_note(at(31), &asked("clear"));
                ledger.take_entry(&event(32, 4, Event::End));
                assert_eq!(wish(&ledger), Some(wanted));
                ledger.take_entry(&event(33, 4, end));
                assert_eq!(wish(&ledger), None);
            }
        }
    }

    #[test]
    fn notes_about_nobody_are_nothing_and_numbers_are_not_used_again() {
        let mut ledger = full();
        let hold = Hold { who: "a".into(), why: "".into(), until: None };
        ledger.take_note(at(30), &Note::Held { machine: 77, hold });
        assert_eq!(ledger.services().count(), 3);
        ledger.take_note(at(31), &Note::Gone { machine: 4 });
        assert_eq!((ledger.service(4), ledger.free_number()), (None, 6));
        ledger.take_entry(&event(32, 8, Event::Timeout));
        assert_eq!(ledger.free_number(), 9);
    }

    #[test]
    fn budgets_and_anchors_are_bounded() {
        let mut ledger = Ledger::default();
        for ms in 0..2 * Ledger::MOST_CHARGES as u64 {
            ledger.take_note(at(ms), &Note::Charged { budget: HostBudget::Actions });
            ledger.take_note(at(ms), &Note::Wall { wall_ms: ms });
        }
        let charges: Vec<Instant> = ledger.charges(HostBudget::Actions).collect();
        assert_eq!((charges.len(), charges[0]), (1000, at(1000)));
        assert_eq!(ledger.anchors().iter().count(), Anchors::MOST);
    }
}
