//! From files to machines: which generation is used, how far, and what is told about the rest.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use giveover_core::time::Instant;

use super::VERSION;
use super::item::Item;
use super::ledger::Ledger;
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
    pub machines: HashMap<Box<str>, Machine>,
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
    recover_files(place, &Files::read(place)).0
}

/// The bytes of a journal's files.
pub(super) struct Files {
    pub(super) current: Bytes,
    pub(super) next: Bytes,
    pub(super) earlier: Bytes,
}

/// The bytes of one file.
pub(super) enum Bytes {
    /// There is none.
    Absent,
    /// All of it.
    Read(Vec<u8>),
    /// It is there and cannot be read.
    Unreadable(i32),
}

impl Files {
    pub(super) fn read(place: &Place) -> Self {
        Self {
            current: Bytes::read(&place.current()),
            next: Bytes::read(&place.next()),
            earlier: Bytes::read(&place.earlier(1)),
        }
    }
}

impl Bytes {
    /// A journal is bounded, so a file this long is none of ours.
    const MOST: u64 = 1 << 30;

    pub(super) fn read(path: &Path) -> Self {
        match read_file(path) {
            Ok(bytes) => Self::Read(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent,
            Err(error) => Self::Unreadable(error.raw_os_error().unwrap_or(0)),
        }
    }
}

impl Bytes {
    /// The bytes, if there are any.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Read(bytes) => Some(bytes),
            Self::Absent | Self::Unreadable(_) => None,
        }
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    // opening a pipe that somebody put there would wait for ever
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file: File = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > Bytes::MOST {
        return Err(io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
    file.take(Bytes::MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
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

/// What the files of `place` come to, and how a writer goes on from there.
pub(super) fn recover_files(place: &Place, files: &Files) -> (Recovered, GoOn) {
    let mut report = Report::default();
    let (generation, go_on) = match &files.current {
        Bytes::Absent => without_current(place, files, &mut report),
        Bytes::Unreadable(errno) => {
            set_aside(place.current(), Why::Unreadable(*errno), Lost::default(), &mut report);
            instead(place, &files.earlier, None, DAMAGED, &mut report)
        }
        Bytes::Read(bytes) => from_current(place, bytes, &files.earlier, &mut report),
    };
    match generation {
        Some(generation) => (put_together(generation, report), go_on),
        None => (Recovered { report, ..Recovered::default() }, go_on),
    }
}

/// Kinds of files that are set aside.
const DAMAGED: Option<&str> = Some("damaged");
const NEWER: Option<&str> = Some("newer");

fn from_current(
    place: &Place,
    bytes: &[u8],
    earlier: &Bytes,
    report: &mut Report,
) -> (Option<Generation>, GoOn) {
    let generation = match Generation::read(bytes) {
        Ok(generation) => generation,
        Err(flaw) => {
            let kind = if matches!(flaw.kind, FlawKind::Newer(_)) { NEWER } else { DAMAGED };
            set_aside(place.current(), why(&flaw, bytes), flaw.lost, report);
            return instead(place, earlier, None, kind, report);
        }
    };
    if generation.is_damaged() {
        let whole = Lost::default();
        let lost = generation.flaw.as_ref().map_or(whole, |flaw| flaw.lost);
        set_aside(place.current(), Why::Damaged(generation.whole), lost, report);
        if !generation.past_snapshot {
            return instead(place, earlier, Some(generation), DAMAGED, report);
        }
        let go_on = GoOn::Rewrite { seq: generation.seq, aside: DAMAGED };
        return (Some(generation), go_on);
    }
    report.torn = generation.flaw.as_ref().map(|flaw| flaw.lost.bytes);
    let (at, seq) = (generation.whole, generation.seq);
    let go_on = if generation.version == VERSION {
        GoOn::Append { at, seq }
    } else {
        GoOn::Rewrite { seq, aside: None } // an older format: what we append must be told apart
    };
    (Some(generation), go_on)
}

/// There is no current file: a rename was not finished, somebody removed it, or all is new.
fn without_current(
    place: &Place,
    files: &Files,
    report: &mut Report,
) -> (Option<Generation>, GoOn) {
    if let Bytes::Read(bytes) = &files.next {
        if let Some(generation) = Generation::read(bytes).ok().filter(|one| !one.is_damaged()) {
            let go_on = GoOn::Adopt { at: generation.whole, seq: generation.seq };
            report.torn = generation.flaw.as_ref().map(|flaw| flaw.lost.bytes);
            return (Some(generation), go_on);
        }
    }
    let (generation, go_on) = instead(place, &files.earlier, None, None, report);
    report.first_run = generation.is_none() && report.set_aside.is_empty();
    (generation, go_on)
}

/// The generation before in place of a current one that cannot be used, or only in `part`.
fn instead(
    place: &Place,
    earlier: &Bytes,
    part: Option<Generation>,
    aside: Option<&'static str>,
    report: &mut Report,
) -> (Option<Generation>, GoOn) {
    let whole = match earlier {
        Bytes::Absent => None,
        Bytes::Unreadable(errno) => {
            set_aside(place.earlier(1), Why::Unreadable(*errno), Lost::default(), report);
            None
        }
        Bytes::Read(bytes) => match Generation::read(bytes) {
            Ok(generation) => Some(generation).filter(|one| one.past_snapshot),
            Err(flaw) => {
                set_aside(place.earlier(1), why(&flaw, bytes), flaw.lost, report);
                None
            }
        },
    };
    report.fell_back_to = whole.as_ref().map(|generation| generation.ledger.last());
    let generation = whole.or(part);
    let seq = generation.as_ref().map_or(1, |generation| generation.seq);
    (generation, GoOn::Rewrite { seq, aside })
}

fn why(flaw: &Flaw, bytes: &[u8]) -> Why {
    match flaw.kind {
        FlawKind::Newer(version) => Why::Newer(version),
        FlawKind::Damaged | FlawKind::Torn if bytes.is_empty() => Why::Empty,
        FlawKind::Damaged | FlawKind::Torn => Why::Damaged(flaw.at as u64),
    }
}

fn set_aside(from: PathBuf, why: Why, lost: Lost, report: &mut Report) {
    report.set_aside.push(SetAside { from, to: None, why, lost });
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
