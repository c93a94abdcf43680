//! Another generation: a snapshot of everything in a new file, which then takes the place of
//! the old one.
//!
//! The new file is written beside the old, and waiting until it is safe on the disk is left to
//! a thread; meanwhile every record goes into both. Whenever we die, one of them is whole.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use giveover_core::failure::Phase;
use giveover_core::record::{Body, Entry};
use giveover_core::time::Instant;

use super::VERSION;
use super::disk::{Disk, Pending, write_all};
use super::frame::Framer;
use super::item::{encode_entry, encode_note};
use super::note::Note;
use super::walk::Header;
use super::writer::{Journal, Target};
use crate::machine::BoxedMonitor;

/// A generation that is written and not yet safe.
pub(super) struct Settling {
    pub(super) target: Target,
    snapshot_len: u64,
    pending: Pending,
}

impl Settling {
    pub(super) fn write(&mut self, disk: &mut dyn Disk, bytes: &[u8]) -> io::Result<()> {
        write_all(disk, &self.target.file, bytes, self.target.len)?;
        self.target.len += bytes.len() as u64;
        Ok(())
    }
}

/// A snapshot on its way into its file, a piece at a time: ten thousand machines make megabytes,
/// for which there is no room to keep.
struct Snapshot {
    file: File,
    /// So much is written.
    at: u64,
    records: u32,
}

impl Snapshot {
    const PIECE: usize = 32 << 10;

    fn push(&mut self, disk: &mut dyn Disk, piece: &mut Framer, record: &[u8]) -> io::Result<()> {
        piece.push(record);
        self.records += 1;
        if piece.len() >= Self::PIECE { self.flush(disk, piece) } else { Ok(()) }
    }

    fn flush(&mut self, disk: &mut dyn Disk, piece: &mut Framer) -> io::Result<()> {
        piece.seal();
        write_all(disk, &self.file, piece.bytes(), self.at)?;
        self.at += piece.len() as u64;
        piece.clear();
        Ok(())
    }
}

impl Journal {
    /// Whether another generation should be begun: the file has grown past its limit, or
    /// records are missing from it that only a snapshot makes up for.
    #[must_use]
    pub fn wants_compaction(&self, now: Instant) -> bool {
        let grown = self.file.as_ref().is_some_and(|target| target.len > self.compact_at);
        self.may_try(now) && (self.gap || grown && self.next.is_none())
    }

    /// Begins another generation with a snapshot of `machines` and of all notes.
    ///
    /// `machines` must be all of them, as they stand after every event appended so far. Costs
    /// one write of the snapshot; [`Journal::pass`] does the rest later. A disk that refuses
    /// leaves everything as it is.
    pub fn compact<'m>(
        &mut self,
        now: Instant,
        machines: impl IntoIterator<Item = (u32, &'m BoxedMonitor)>,
    ) {
        if self.gap {
            if let Err(error) = self.begin_generation(now, machines) {
                self.failed(now, &error);
            }
            return;
        }
        if self.next.is_some() || !self.flush(now) {
            return;
        }
        match self.write_next(now, machines) {
            Ok(target) => match target.file.try_clone() {
                Ok(file) => {
                    let pending = self.disk.begin_sync(file);
                    let snapshot_len = target.len;
                    self.next = Some(Settling { target, snapshot_len, pending });
                }
                Err(error) => self.compaction_failed(now, &error),
            },
            Err(error) => self.compaction_failed(now, &error),
        }
    }

    /// The same at once, waiting for the disk: where nothing can be appended to, there is
    /// nothing to go on with meanwhile. Returns where the old file was put aside.
    pub(super) fn begin_generation<'m>(
        &mut self,
        now: Instant,
        machines: impl IntoIterator<Item = (u32, &'m BoxedMonitor)>,
    ) -> io::Result<Option<PathBuf>> {
        let target = self.write_next(now, machines)?;
        self.disk.sync(&target.file)?;
        let snapshot_len = target.len;
        let aside = self.rotate(target, snapshot_len)?;
        let lost = self.well();
        if lost > 0 {
            self.note(now, Note::Lost { records: lost });
        }
        self.sync_dir()?;
        Ok(aside)
    }

    fn write_next<'m>(
        &mut self,
        now: Instant,
        machines: impl IntoIterator<Item = (u32, &'m BoxedMonitor)>,
    ) -> io::Result<Target> {
        let mut writer =
            Snapshot { file: self.disk.create(&self.place.next())?, at: 0, records: 0 };
        let mut piece = Framer::default();
        // How many records there are is known at the end. Until then the header promises more than
        // there can be, so that a part is never taken for the whole.
        let promised = Header { version: VERSION, first: self.next_seq(), snapshot: u32::MAX };
        promised.write(&mut piece);
        let disk = self.disk.as_mut();
        for (at, note) in self.ledger.notes() {
            writer.push(disk, &mut piece, &encode_note(at, &note))?;
        }
        for (machine, monitor) in machines {
            let mut result = Ok(());
            machine_entries(now, machine, monitor, |entry| {
                encode_entry(&entry, |record| {
                    if result.is_ok() {
                        result = writer.push(disk, &mut piece, record);
                    }
                });
            });
            result?;
        }
        writer.flush(disk, &mut piece)?;
        let Snapshot { file, at: len, records } = writer;
        Header { version: VERSION, first: self.next_seq(), snapshot: records }.write(&mut piece);
        write_all(self.disk.as_mut(), &file, piece.bytes(), 0)?;
        Ok(Target { file, len })
    }

    /// Puts the new file in the place of the old one once it is safe.
    pub(super) fn settle(&mut self, now: Instant) {
        let Some(next) = &mut self.next else { return };
        let Some(result) = next.pending.poll() else { return };
        let Some(next) = self.next.take() else { return };
        let rotated = result.and_then(|()| self.rotate(next.target, next.snapshot_len));
        if let Err(error) = rotated {
            self.compaction_failed(now, &error);
        }
        if let Ok(dir) = std::fs::File::open(self.place.dir()) {
            let _ = self.disk.begin_sync(dir); // `sync` does it again where it matters
        }
    }

    /// The new file takes the old one's place. Where that is refused the old one goes on.
    fn rotate(&mut self, target: Target, snapshot_len: u64) -> io::Result<Option<PathBuf>> {
        let current = self.place.current();
        let retired = match self.aside {
            Some(kind) => Some(self.place.free(kind)),
            None if self.options.generations > 1 => Some(self.make_room_for_earlier()),
            None => None,
        };
        if let Some(retired) = &retired {
            match self.disk.rename(&current, retired) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if let Err(error) = self.disk.rename(&self.place.next(), &current) {
            if let Some(retired) = &retired {
                let _ = self.disk.rename(retired, &current);
            }
            return Err(error);
        }
        self.compact_at = self.options.limit_bytes.max(snapshot_len.saturating_mul(2));
        self.most = self.compact_at.saturating_mul(2);
        self.file = Some(target);
        self.gap = false;
        self.unsynced.rename = true;
        self.unsynced.records = true; // what came while it settled
        Ok(self.aside.take().and(retired))
    }

    /// Moves earlier generations back by one, the last one away.
    fn make_room_for_earlier(&mut self) -> PathBuf {
        for back in (1..self.options.generations.saturating_sub(1)).rev() {
            let (from, to) = (self.place.earlier(back), self.place.earlier(back + 1));
            let _ = self.disk.rename(&from, &to); // there need not be one
        }
        self.place.earlier(1)
    }

    pub(super) fn abandon_next(&mut self) {
        self.next = None;
        let _ = self.disk.remove(&self.place.next());
    }

    /// The old file is good for more, so this is told only where it would grow for ever.
    fn compaction_failed(&mut self, now: Instant, error: &io::Error) {
        self.abandon_next();
        let len = self.file.as_ref().map_or(0, |target| target.len);
        if len > self.most {
            self.break_off(now, error);
        } else {
            self.compact_at = len + self.options.limit_bytes / 8;
        }
    }
}

/// Everything a machine knows, as entries that make it again.
pub(super) fn machine_entries(
    at: Instant,
    machine: u32,
    monitor: &BoxedMonitor,
    mut take: impl FnMut(Entry),
) {
    let mut take = |body| take(Entry { at, machine, body });
    let history = monitor.history();
    take(Body::Made { policy: *monitor.policy(), capacity: history.capacity() });
    history.failures().for_each(|failure| take(Body::Failure(failure)));
    history.restart_times().for_each(|at| take(Body::Restart(at)));
    history.start_times().for_each(|at| take(Body::Start(at)));
    for phase in Phase::ALL {
        let total = history.total(phase);
        if total > 0 {
            take(Body::Total(phase, total));
        }
    }
    take(Body::Standing(*monitor.standing()));
}
