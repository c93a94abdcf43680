//! The journal's writer: buffered, never in the way of a decision, and loud when it fails.

use std::fs::File;
use std::io;
use std::sync::Arc;

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{Action, Event};
use giveover_core::record::{Body, Entry};
use giveover_core::time::Instant;

use super::compact::{Settling, machine_entries};
use super::disk::{Disk, write_all};
use super::frame::Framer;
use super::item::{encode_entry, encode_note};
use super::ledger::Ledger;
use super::lock::{Lock, Mark};
use super::note::Note;
use super::options::Options;
use super::place::Place;
use super::sync::Unsynced;
use crate::machine::BoxedMonitor;

/// Whether records reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// They do.
    Ok,
    /// They do not. Everything goes on in memory and writing is tried again.
    Failing {
        /// Since when.
        since: Instant,
        /// The system's error number of the last attempt.
        errno: i32,
        /// Records that wait to be written.
        unwritten: u64,
        /// Records that did not fit and will be missing from `history`. The machines miss
        /// nothing: the next thing written is a snapshot of them.
        lost: u64,
    },
}

/// A journal being written.
///
/// [`Journal::append`] and [`Journal::note`] only remember. [`Journal::flush`] hands everything
/// to the kernel, which is what "written before it is carried out" means: it survives us, by
/// whatever signal. [`Journal::sync`] waits until it survives a loss of power, for resets.
/// Failures of the disk change [`Journal::health`] and nothing else.
pub struct Journal {
    pub(super) place: Place,
    pub(super) options: Options,
    pub(super) disk: Box<dyn Disk>,
    pub(super) ledger: Ledger,
    /// The file appended to. Without it, or with `gap`, only another generation helps.
    pub(super) file: Option<Target>,
    /// Records are missing behind what the file holds.
    pub(super) gap: bool,
    /// Another generation that is not yet safe on the disk; gets every record too.
    pub(super) next: Option<Settling>,
    /// How the current file is put aside when the next takes its place.
    pub(super) aside: Option<&'static str>,
    /// What a loss of power might take.
    pub(super) unsynced: Unsynced,
    /// Another generation is wanted past this length,
    pub(super) compact_at: u64,
    /// and past this one nothing is appended without it.
    pub(super) most: u64,
    /// The number of the next record.
    pub(super) seq: u64,
    pub(super) lock: Option<Lock>,
    pending: Framer,
    records: u64,
    oldest: Option<Instant>,
    urgent: bool,
    failing: Option<Failing>,
    retry_at: Option<Instant>,
}

/// A file and how much of it is whole.
pub(super) struct Target {
    pub(super) file: File,
    pub(super) len: u64,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    since: Instant,
    errno: i32,
    lost: u64,
}

impl Journal {
    /// A journal that knows `ledger` and has no file yet.
    pub(super) fn of(
        disk: Box<dyn Disk>,
        place: Place,
        options: Options,
        lock: Option<Lock>,
        ledger: Ledger,
    ) -> Self {
        Self {
            place,
            options,
            disk,
            ledger,
            file: None,
            gap: true,
            next: None,
            aside: None,
            unsynced: Unsynced::default(),
            compact_at: options.limit_bytes,
            most: options.limit_bytes.saturating_mul(2),
            seq: 1,
            lock,
            pending: Framer::default(),
            records: 0,
            oldest: None,
            urgent: false,
            failing: None,
            retry_at: None,
        }
    }

    /// Remembers an event that was fed to a machine, or an action it returned, in this order.
    /// Returns the record's number.
    pub fn append(&mut self, entry: &Entry) -> u64 {
        self.ledger.take_entry(entry);
        if !self.gap {
            encode_entry(entry, |record| self.pending.push(record));
        }
        self.added(entry.at, is_urgent(&entry.body))
    }

    /// Remembers a note. Returns the record's number.
    pub fn note(&mut self, at: Instant, note: Note) -> u64 {
        let note = note.trim();
        self.ledger.take_note(at, &note);
        if !self.gap {
            self.pending.push(&encode_note(at, &note));
        }
        self.added(at, !matches!(note, Note::Text { .. } | Note::Wall { .. }))
    }

    /// Makes room for so many services, once and not by doubling.
    pub fn reserve(&mut self, services: usize) {
        self.ledger.reserve(services);
    }

    /// A number for the machine of a service that has none, under which [`super::Recovered`] did not
    /// find it.
    pub fn name(&mut self, at: Instant, name: &Arc<str>) -> u32 {
        let machine = self.ledger.free_number();
        self.note(at, Note::Named { machine, name: name.clone() });
        machine
    }

    /// Remembers that the machine of this number was made, all of it.
    pub fn made(&mut self, at: Instant, machine: u32, monitor: &BoxedMonitor) {
        machine_entries(at, machine, monitor, |entry| {
            self.append(&entry);
        });
    }

    /// The service of this number is no longer configured.
    pub fn forget(&mut self, at: Instant, machine: u32) {
        self.note(at, Note::Gone { machine });
    }

    /// Counts a record in.
    fn added(&mut self, at: Instant, urgent: bool) -> u64 {
        let seq = self.seq;
        self.seq += 1;
        self.records += 1;
        if self.gap {
            self.lose_pending();
            return seq;
        }
        self.oldest.get_or_insert(at);
        self.urgent |= urgent;
        if self.pending.len() >= self.options.backlog_bytes {
            self.gap = true;
            self.lose_pending(); // a file that is not gone on with needs a snapshot anyway
        } else if self.pending.len() >= self.options.buffer_bytes && self.failing.is_none() {
            self.flush(at);
        }
        seq
    }

    fn lose_pending(&mut self) {
        if let Some(failing) = &mut self.failing {
            failing.lost += self.records;
        }
        self.forget_pending();
    }

    fn forget_pending(&mut self) {
        self.pending.clear();
        self.records = 0;
        self.oldest = None;
        self.urgent = false;
    }

    /// Hands everything to the kernel. True if all of it is there; else [`Journal::health`] says
    /// why not, and the caller goes on all the same.
    ///
    /// On a disk that has failed it is tried again once each [`Options::retry`], not each time.
    pub fn flush(&mut self, now: Instant) -> bool {
        if self.gap || self.retry_at.is_some_and(|at| now < at) {
            return false;
        }
        let Some(target) = &mut self.file else { return false };
        if self.pending.is_empty() {
            self.well();
            return true;
        }
        self.pending.seal();
        let bytes = self.pending.bytes();
        if let Err(error) = write_all(self.disk.as_mut(), &target.file, bytes, target.len) {
            // no part of a frame stays behind, should this be the last that is written
            let _ = self.disk.cut(&target.file, target.len);
            self.failed(now, &error);
            return false;
        }
        target.len += bytes.len() as u64;
        if let Some(next) = &mut self.next {
            if next.write(self.disk.as_mut(), bytes).is_err() {
                self.abandon_next();
            }
        }
        self.unsynced.records |= self.urgent;
        self.forget_pending();
        self.well();
        true
    }

    /// Once each turn of the loop: writes what must not wait, or has waited long enough, and
    /// tries a disk that had failed again. Then see [`Journal::wants_compaction`].
    pub fn pass(&mut self, now: Instant) {
        self.settle(now);
        let old = self.oldest.is_some_and(|oldest| now >= oldest.after(self.options.buffer_age));
        if self.urgent || old || self.failing.is_some() {
            self.flush(now);
        }
        self.sync_behind(now);
    }

    /// When [`Journal::pass`] is wanted at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.failing.is_some() {
            return self.retry_at;
        }
        let old = self.oldest.map(|oldest| oldest.after(self.options.buffer_age));
        [old, self.unsynced.due()].into_iter().flatten().min()
    }

    /// Whether records reach the disk.
    #[must_use]
    pub fn health(&self) -> Health {
        match self.failing {
            None => Health::Ok,
            Some(Failing { since, errno, lost }) => {
                Health::Failing { since, errno, unwritten: self.records, lost }
            }
        }
    }

    /// The sum of all notes so far.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The number of the next record.
    #[must_use]
    pub const fn next_seq(&self) -> u64 {
        self.seq
    }

    /// The journal's files.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Whether a disk that failed may be tried at `now`.
    pub(super) fn may_try(&self, now: Instant) -> bool {
        self.retry_at.is_none_or(|at| now >= at)
    }

    /// The error number of a disk that fails; zero if it does not.
    pub(super) fn errno(&self) -> i32 {
        self.failing.map_or(0, |failing| failing.errno)
    }

    /// Tries a disk that failed also before its time.
    pub(super) fn try_again(&mut self) {
        self.retry_at = None;
    }

    /// Nothing more is appended to the file: from here on in memory, until another generation
    /// can be written. What waits is dropped, because its snapshot has it.
    pub(super) fn break_off(&mut self, now: Instant, error: &io::Error) {
        self.failed(now, error);
        self.gap = true;
        self.lose_pending();
    }

    pub(super) fn failed(&mut self, now: Instant, error: &io::Error) {
        let errno = error.raw_os_error().unwrap_or(0);
        self.retry_at = Some(now.after(self.options.retry));
        match &mut self.failing {
            Some(failing) => failing.errno = errno,
            None => {
                self.failing = Some(Failing { since: now, errno, lost: 0 });
                if let Some(lock) = &mut self.lock {
                    lock.mark(Mark::Failing);
                }
            }
        }
    }

    /// The disk has taken something. Returns how many records it never got.
    pub(super) fn well(&mut self) -> u64 {
        self.retry_at = None;
        let Some(failing) = self.failing.take() else { return 0 };
        if let Some(lock) = &mut self.lock {
            lock.mark(Mark::Running);
        }
        failing.lost
    }
}

/// Whether a record must be written before the loop goes on: everything but healthy probes.
const fn is_urgent(body: &Body) -> bool {
    match body {
        Body::Event(Event::Timeout | Event::ProbeNow) => false,
        Body::Event(Event::Probed { result, .. }) => {
            matches!(result, ProbeResult::Failed(..) | ProbeResult::Immediate(_))
        }
        Body::Action(Action::Probe { .. } | Action::Status { .. }) => false,
        _ => true,
    }
}
