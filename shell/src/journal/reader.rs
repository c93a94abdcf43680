//! Reading a journal for people: `history` and `events`.

use std::io;
use std::path::Path;
use std::sync::Arc;

use giveover_core::time::Instant;

use super::frame;
use super::item::Item;
use super::ledger::Ledger;
use super::load::Bytes;
use super::note::Note;
use super::place::Place;
use super::walk::{Flaw, FlawKind, Lost, Walk};

/// A journal's generations, read into memory. Takes no lock and changes nothing, so it may be
/// used beside the daemon; what that writes later is not seen.
#[derive(Debug)]
pub struct Reader {
    /// Oldest first.
    generations: Vec<Vec<u8>>,
}

/// Why a journal cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// The last write was cut off, by a crash or because a daemon is writing just now: everything
    /// before these bytes is whole.
    Torn {
        /// How many.
        bytes: u64,
    },
    /// Something is wrong in the middle.
    Damaged {
        /// The first byte that is not whole.
        at: u64,
        /// What stands behind it.
        lost: Lost,
    },
    /// Written by a newer version, in this format.
    Newer(u8),
    /// It does not begin as a journal does.
    Foreign,
}

/// One record, as people may want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number. Parts of a snapshot share that of the first record behind it.
    pub seq: u64,
    /// When, on the time line.
    pub at: Instant,
    /// When, in milliseconds since 1970; zero if the journal does not say.
    pub wall_ms: u64,
    /// The service it is about, by its name at that time.
    pub service: Option<Arc<str>>,
    /// It is part of the snapshot the oldest generation begins with: it tells what was known
    /// then, and happened before.
    pub in_snapshot: bool,
    /// What it says.
    pub item: Item,
}

impl Reader {
    /// Reads every generation of the journal at `place` that can be read.
    #[must_use]
    pub fn open(place: &Place) -> Self {
        // Newest first: one that is moved back meanwhile is then read twice, and told once.
        let mut generations = Vec::new();
        generations.extend(Bytes::read(&place.current()).into_bytes());
        for back in (1..=u8::MAX).take_while(|back| place.earlier(*back).exists()) {
            generations.extend(Bytes::read(&place.earlier(back)).into_bytes());
        }
        generations.reverse();
        Self { generations }
    }

    /// Reads one file, whatever it is called: also one that was set aside.
    ///
    /// # Errors
    /// The system's.
    pub fn open_file(path: &Path) -> io::Result<Self> {
        match Bytes::read(path) {
            Bytes::Read(bytes) => Ok(Self { generations: vec![bytes] }),
            Bytes::Absent => Err(io::ErrorKind::NotFound.into()),
            Bytes::Unreadable(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    /// What of it cannot be read, oldest first: where that is nothing, or only a torn end of the
    /// newest generation, [`Reader::lines`] leaves nothing out.
    #[must_use]
    pub fn unread(&self) -> Vec<Unread> {
        self.generations.iter().filter_map(|bytes| unread(bytes)).collect()
    }

    /// The records, oldest first, each once.
    #[must_use]
    pub fn lines(&self) -> Lines<'_> {
        Lines {
            rest: self.generations.iter(),
            walk: None,
            ledger: Ledger::default(),
            next: 0,
            first: true,
            lost: Vec::new(),
        }
    }
}

fn unread(bytes: &[u8]) -> Option<Unread> {
    let flaw = match Walk::begin(bytes) {
        Err(flaw) => match flaw.kind {
            FlawKind::Newer(_) => flaw,
            _ if !frame::begins(bytes) => return Some(Unread::Foreign),
            _ => flaw,
        },
        Ok(walk) => walk.filter_map(Result::err).next()?,
    };
    let Flaw { kind, at, lost } = flaw;
    Some(match kind {
        FlawKind::Torn => Unread::Torn { bytes: lost.bytes },
        FlawKind::Damaged => Unread::Damaged { at: at as u64, lost },
        FlawKind::Newer(version) => Unread::Newer(version),
    })
}

/// The records of a journal; see [`Reader::lines`].
pub struct Lines<'a> {
    rest: std::slice::Iter<'a, Vec<u8>>,
    walk: Option<Walk<'a>>,
    ledger: Ledger,
    next: u64,
    first: bool,
    lost: Vec<Lost>,
}

impl Lines<'_> {
    /// What could not be read of the generations passed so far. The last bytes of the current
    /// one may just be being written.
    #[must_use]
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Goes on to the next generation; false if there is none.
    fn begin_next(&mut self) -> bool {
        self.first = self.first && self.walk.is_none();
        let Some(bytes) = self.rest.next() else { return false };
        match Walk::begin(bytes) {
            Ok(walk) => self.walk = Some(walk),
            Err(flaw) => self.lost.push(flaw.lost),
        }
        true
    }

    fn take(&mut self, seq: u64, in_snapshot: bool, item: Item) -> Option<Line> {
        match &item {
            Item::Entry(entry) => self.ledger.take_entry(entry),
            Item::Note { at, note } => self.ledger.take_note(*at, note),
        }
        // generations overlap by what was written while the later one was being made
        let known = if in_snapshot { !self.first } else { seq < self.next };
        if known {
            return None;
        }
        if !in_snapshot {
            self.next = seq + 1;
        }
        let at = item.at();
        let service = service(&item).and_then(|machine| self.ledger.service(machine));
        Some(Line {
            seq,
            at,
            wall_ms: self.ledger.anchors().wall_ms(at),
            service: service.map(|service| service.name.clone()),
            in_snapshot,
            item,
        })
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            match self.walk.as_mut().and_then(Iterator::next) {
                Some(Ok(record)) => {
                    let line = self.take(record.seq, record.in_snapshot, record.item);
                    if line.is_some() {
                        return line;
                    }
                }
                Some(Err(flaw)) => self.lost.push(flaw.lost),
                None if self.begin_next() => {}
                None => return None,
            }
        }
    }
}

/// The machine a record is about.
fn service(item: &Item) -> Option<u32> {
    match item {
        Item::Entry(entry) => Some(entry.machine),
        Item::Note { note, .. } => match note {
            Note::Named { machine, .. }
            | Note::Gone { machine }
            | Note::Held { machine, .. }
            | Note::Process { machine, .. }
            | Note::Stage { machine, .. }
            | Note::GaveOver { machine, .. }
            | Note::GroupWaits { machine, .. }
            | Note::Member { machine, .. }
            | Note::ForgotGiveovers { machine } => Some(*machine),
            Note::Asked { machine, .. } | Note::Text { machine, .. } => *machine,
            Note::Run(_)
            | Note::Ended
            | Note::Wall { .. }
            | Note::Charged { .. }
            | Note::Lost { .. }
            | Note::SetAside { .. } => None,
        },
    }
}
