//! What survives a loss of power, and when.
//!
//! Written is not safe: the kernel may hold it back for half a minute. What must not be lost to
//! a restart that takes the machine down with it (failures, decisions, holds) is made safe
//! behind the loop's back, on a thread, at most once a second; a reset waits for it.

use std::fs::File;
use std::io;

use giveover_core::time::{Instant, Span};

use super::disk::Pending;
use super::lock::Mark;
use super::note::Note;
use super::writer::Journal;

/// What a loss of power might take.
#[derive(Default)]
pub(super) struct Unsynced {
    /// Records that must not wait have been written since the last sync began.
    pub(super) records: bool,
    /// A rename.
    pub(super) rename: bool,
    under_way: Option<Pending>,
    /// Not before this, so that a storm of failures is not one of syncs.
    not_before: Instant,
}

impl Unsynced {
    /// The least time between two syncs behind the loop's back.
    const BETWEEN: Span = Span::from_secs(1);

    /// When a sync wants to be begun, or asked how it went: until then its failure is not known.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.records || self.under_way.is_some()).then_some(self.not_before)
    }
}

impl Journal {
    /// Makes safe what was written, without waiting.
    pub(super) fn sync_behind(&mut self, now: Instant) {
        if let Some(pending) = &mut self.unsynced.under_way {
            match pending.poll() {
                None => {
                    if now >= self.unsynced.not_before {
                        self.unsynced.not_before = now.after(Unsynced::BETWEEN); // a slow disk
                    }
                    return;
                }
                Some(Ok(())) => self.unsynced.under_way = None,
                Some(Err(error)) => {
                    self.unsynced.under_way = None;
                    self.sync_failed(now, &error);
                }
            }
        }
        if !self.unsynced.records || now < self.unsynced.not_before || self.gap {
            return;
        }
        let Some(file) = self.file.as_ref().and_then(|target| target.file.try_clone().ok()) else {
            return;
        };
        self.unsynced.under_way = Some(self.disk.begin_sync(file));
        self.unsynced.records = false;
        self.unsynced.not_before = now.after(Unsynced::BETWEEN);
    }

    /// Writes everything and waits until it survives a loss of power.
    ///
    /// # Errors
    /// The system's; it may or may not survive then.
    pub fn sync(&mut self, now: Instant) -> io::Result<()> {
        self.try_again(); // this is worth an attempt
        self.settle(now);
        if !self.flush(now) {
            return Err(io::Error::from_raw_os_error(self.errno()));
        }
        let synced = self.sync_files();
        if let Err(error) = &synced {
            self.sync_failed(now, error);
        }
        synced
    }

    fn sync_files(&mut self) -> io::Result<()> {
        if let Some(target) = &self.file {
            self.disk.sync(&target.file)?;
        }
        if let Some(next) = &self.next {
            self.disk.sync(&next.target.file)?; // it may take the file's place at any time
        }
        self.sync_dir()?;
        self.unsynced.records = false;
        Ok(())
    }

    pub(super) fn sync_dir(&mut self) -> io::Result<()> {
        if self.unsynced.rename {
            let dir = File::open(self.place.dir())?;
            match self.disk.sync(&dir) {
                Err(error) if error.kind() != io::ErrorKind::InvalidInput => return Err(error),
                _ => self.unsynced.rename = false, // some file systems know no sync of these
            }
        }
        Ok(())
    }

    /// The kernel may have dropped any part of what it could not make safe, and says so once:
    /// everything is written anew.
    fn sync_failed(&mut self, now: Instant, error: &io::Error) {
        self.break_off(now, error);
    }

    /// The run ends because it was told to.
    ///
    /// # Errors
    /// As [`Journal::sync`].
    pub fn end(mut self, now: Instant) -> io::Result<()> {
        self.note(now, Note::Ended);
        self.sync(now)?;
        if let Some(lock) = &mut self.lock {
            lock.mark(Mark::Ended);
        }
        Ok(())
    }
}
