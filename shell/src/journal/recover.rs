//! From files to machines: which generation is used, how far, and what is told about the rest.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use giveover_core::time::Instant;

use super::VERSION;
use super::item::Item;
use super::ledger::Ledger;
use super::load::Bytes;
use super::note::Note;
use super::place::Place;
use super::replay::{Machines, Replay};
use super::report::{Report, SetAside, Why};
use super::walk::{Flaw, FlawKind, Lost, Record, Walk};
use crate::machine::BoxedMonitor;

/// What a journal knew.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The services' machines, rebuilt from snapshot and events, by name.
    pub machines: HashMap<Arc<str>, Machine>,
    /// Everything else: the last run, processes, holds, stages, budgets, the wall clock.
    pub ledger: Ledger,
    /// What people must be told.
    pub report: Report,
}

/// A machine of a service.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its number in the journal.
    pub number: u32,
    /// The monitor, as it stood after the last event that was written.
    pub monitor: BoxedMonitor,
}

impl Recovered {
    /// The last instant written down.
    #[must_use]
    pub fn last(&self) -> Instant {
        self.ledger.last()
    }
}

/// Reads the journal at `place` and changes nothing; for looking at a journal without being its
/// daemon.
#[must_use]
pub fn recover(place: &Place) -> Recovered {
    recover_files(place, &Bytes::read).0
}

/// How a writer goes on from what was recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoOn {
    /// Append to the current file, from this byte, with this number.
    Append { at: u64, seq: u64 },
    /// The prepared file is whole and only its name is missing; then append to it.
    Adopt { at: u64, seq: u64 },
    /// Begin another generation with this number; put the current file aside as this kind
    /// first, or keep it as the generation before.
    Rewrite { seq: u64, aside: Option<&'static str> },
}

/// One generation, read and replayed as far as it goes.
struct Generation {
    ledger: Ledger,
    machines: Machines,
    flaw: Option<Flaw>,
    version: u8,
    whole: u64,
    seq: u64,
    past_snapshot: bool,
}

impl Generation {
    /// Reads as far as everything is whole.
    ///
    /// # Errors
    /// Not even the header can be read, or a newer version wrote it, which is never read half.
    fn read(bytes: &[u8]) -> Result<Self, Flaw> {
        let mut walk = Walk::begin(bytes)?;
        let mut ledger = Ledger::default();
        let mut replay = Replay::default();
        let mut flaw = None;
        for record in walk.by_ref() {
            match record {
                Ok(record) => take(record, &mut ledger, &mut replay),
                Err(newer) if matches!(newer.kind, FlawKind::Newer(_)) => return Err(newer),
                Err(found) => flaw = Some(found),
            }
        }
        Ok(Self {
            ledger,
            machines: replay.finish(),
            version: walk.header().version,
            whole: flaw.as_ref().map_or(walk.whole(), |flaw| flaw.at) as u64,
            seq: walk.seq(),
            past_snapshot: walk.is_past_snapshot(),
            flaw,
        })
    }

    fn is_damaged(&self) -> bool {
        let damaged = |flaw: &Flaw| flaw.kind == FlawKind::Damaged;
        !self.past_snapshot || self.flaw.as_ref().is_some_and(damaged)
    }
}

fn take(record: Record, ledger: &mut Ledger, replay: &mut Replay) {
    match record.item {
        Item::Entry(entry) => {
            ledger.take_entry(&entry);
            replay.take(record.seq, &entry);
        }
        Item::Note { at, note } => {
            ledger.take_note(at, &note);
            if let Note::Gone { machine } = note {
                replay.forget(machine);
            }
        }
    }
}

/// What the files of `place` come to, and how a writer goes on from there. `read` reads a file;
/// no more of them than are needed.
pub(super) fn recover_files(place: &Place, read: &dyn Fn(&Path) -> Bytes) -> (Recovered, GoOn) {
    let mut search = Search { place, read, report: Report::default() };
    let (generation, go_on) = search.current();
    let report = search.report;
    match generation {
        Some(generation) => (put_together(generation, report), go_on),
        None => (Recovered { report, ..Recovered::default() }, go_on),
    }
}

/// Kinds of files that are set aside.
const DAMAGED: Option<&str> = Some("damaged");
const NEWER: Option<&str> = Some("newer");

/// The search for the generation to go on from.
struct Search<'a> {
    place: &'a Place,
    read: &'a dyn Fn(&Path) -> Bytes,
    report: Report,
}

type Found = (Option<Generation>, GoOn);

impl Search<'_> {
    fn current(&mut self) -> Found {
        let path = self.place.current();
        let bytes = match (self.read)(&path) {
            Bytes::Read(bytes) => bytes,
            Bytes::Absent => return self.without_current(),
            Bytes::Unreadable(errno) => {
                self.set_aside(path, Why::Unreadable(errno), Lost::default());
                return self.instead(None, DAMAGED);
            }
        };
        match Generation::read(&bytes) {
            Ok(generation) if generation.is_damaged() => self.damaged(generation),
            Ok(generation) => self.whole(generation),
            Err(flaw) => {
                let kind = if matches!(flaw.kind, FlawKind::Newer(_)) { NEWER } else { DAMAGED };
                self.set_aside(path, why(&flaw, &bytes), flaw.lost);
                self.instead(None, kind)
            }
        }
    }

    fn whole(&mut self, generation: Generation) -> Found {
        self.report.torn = generation.flaw.as_ref().map(|flaw| flaw.lost.bytes);
        let (at, seq) = (generation.whole, generation.seq);
        let go_on = if generation.version == VERSION {
            GoOn::Append { at, seq }
        } else {
            // an older format, and what we append must be told apart
            GoOn::Rewrite { seq, aside: None }
        };
        (Some(generation), go_on)
    }

    fn damaged(&mut self, generation: Generation) -> Found {
        let lost = generation.flaw.as_ref().map_or(Lost::default(), |flaw| flaw.lost);
        self.set_aside(self.place.current(), Why::Damaged(generation.whole), lost);
        if !generation.past_snapshot {
            return self.instead(Some(generation), DAMAGED);
        }
        let go_on = GoOn::Rewrite { seq: generation.seq, aside: DAMAGED };
        (Some(generation), go_on)
    }

    /// A rename was not finished, somebody removed the file, or this is the first run.
    fn without_current(&mut self) -> Found {
        if let Bytes::Read(bytes) = (self.read)(&self.place.next()) {
            if let Some(generation) = Generation::read(&bytes).ok().filter(|one| !one.is_damaged())
            {
                self.report.torn = generation.flaw.as_ref().map(|flaw| flaw.lost.bytes);
                let go_on = GoOn::Adopt { at: generation.whole, seq: generation.seq };
                return (Some(generation), go_on);
            }
        }
        let (generation, go_on) = self.instead(None, None);
        self.report.first_run = generation.is_none() && self.report.set_aside.is_empty();
        (generation, go_on)
    }

    /// The generation before, in place of a current one that cannot be used, or only in `part`.
    fn instead(&mut self, part: Option<Generation>, aside: Option<&'static str>) -> Found {
        let path = self.place.earlier(1);
        let whole = match (self.read)(&path) {
            Bytes::Absent => None,
            Bytes::Unreadable(errno) => {
                self.set_aside(path, Why::Unreadable(errno), Lost::default());
                None
            }
            Bytes::Read(bytes) => match Generation::read(&bytes) {
                Ok(generation) => Some(generation).filter(|one| one.past_snapshot),
                Err(flaw) => {
                    self.set_aside(path, why(&flaw, &bytes), flaw.lost);
                    None
                }
            },
        };
        self.report.fell_back_to = whole.as_ref().map(|generation| generation.ledger.last());
        let generation = whole.or(part);
        let seq = generation.as_ref().map_or(1, |generation| generation.seq);
        (generation, GoOn::Rewrite { seq, aside })
    }

    fn set_aside(&mut self, from: PathBuf, why: Why, lost: Lost) {
        self.report.set_aside.push(SetAside { from, to: None, why, lost });
    }
}

fn why(flaw: &Flaw, bytes: &[u8]) -> Why {
    match flaw.kind {
        FlawKind::Newer(version) => Why::Newer(version),
        FlawKind::Damaged | FlawKind::Torn if bytes.is_empty() => Why::Empty,
        FlawKind::Damaged | FlawKind::Torn => Why::Damaged(flaw.at as u64),
    }
}

/// Machines under their names. A name without its machine is forgotten and told.
fn put_together(generation: Generation, mut report: Report) -> Recovered {
    let Generation { mut ledger, machines: replayed, .. } = generation;
    let mut monitors = replayed.monitors;
    let mut machines = HashMap::new();
    let mut forgotten = Vec::new();
    for (number, service) in ledger.services() {
        match monitors.remove(&number) {
            Some(monitor) => {
                machines.insert(service.name.clone(), Machine { number, monitor });
            }
            // Members of pools have no machines here.
            None if service.name.contains('/') => {}
            None => forgotten.push((number, service.name.clone())),
        }
    }
    for (number, name) in forgotten {
        ledger.take_note(ledger.last(), &Note::Gone { machine: number });
        report.forgotten.push(name);
    }
    let unfinished = replayed.unfinished.len();
    report.orphans = replayed.orphans + (monitors.len() + unfinished) as u64;
    report.orphans -= unfinished.min(report.forgotten.len()) as u64; // told by name already
    report.differences = replayed.differences;
    report.more_differences = replayed.more_differences;
    Recovered { machines, ledger, report }
}
