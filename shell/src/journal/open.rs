//! Opening a journal: lock, recover, put aside what is damaged, go on.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::disk::{Disk, System, is_bad_day};
use super::load::Bytes;
use super::lock::{Lock, LockError, Mark};
use super::note::Note;
use super::options::Options;
use super::place::Place;
use super::recover::{GoOn, Recovered, recover_files};
use super::writer::{Journal, Target};

/// Why a journal cannot be opened. Nothing was changed.
#[derive(Debug)]
pub enum OpenError {
    /// Another daemon writes it.
    Running {
        /// Its number, if its lock says.
        pid: Option<u32>,
        /// The lock.
        file: PathBuf,
    },
    /// The directory cannot be used.
    Unusable {
        /// The directory.
        dir: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running { pid: Some(pid), file } => {
                write!(f, "already running: pid {pid} holds {}", file.display())
            }
            Self::Running { pid: None, file } => {
                write!(f, "already running: another process holds {}", file.display())
            }
            Self::Unusable { dir, error } => {
                write!(f, "state directory {} cannot be used: {error}", dir.display())
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl Journal {
    /// Locks the journal at `place`, recovers what it knew, puts aside what is damaged, and is
    /// ready to append.
    ///
    /// A disk that is full, broken or read-only is no reason to leave services unwatched: the
    /// journal then opens in memory, says so in the report, and is [`super::Health::Failing`].
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(place: Place, options: Options) -> Result<(Self, Recovered), OpenError> {
        Self::open_on(Box::new(System), place, options)
    }

    pub(super) fn open_on(
        disk: Box<dyn Disk>,
        place: Place,
        options: Options,
    ) -> Result<(Self, Recovered), OpenError> {
        let unusable = |error| OpenError::Unusable { dir: place.dir().to_owned(), error };
        match place.make_dir() {
            Err(error) if !is_bad_day(&error) => return Err(unusable(error)),
            _ => {} // what is missing then is told below, or comes back with the disk
        }
        let (lock, left) = match Lock::take(&place) {
            Ok((lock, left)) => (Some(lock), left),
            Err(LockError::Held(pid)) => {
                return Err(OpenError::Running { pid, file: place.lock() });
            }
            Err(LockError::Refused(error)) if is_bad_day(&error) => (None, None),
            Err(LockError::Refused(error)) => return Err(unusable(error)),
        };
        let (mut recovered, go_on) = recover_files(&place, &Bytes::read);
        recovered.report.unwritten = left == Some(Mark::Failing);
        let ledger = recovered.ledger.clone();
        let mut journal = Self::of(disk, place.clone(), options, lock, ledger);
        match journal.go_on(go_on, &mut recovered) {
            Ok(()) => {}
            Err(error) if is_bad_day(&error) => {
                journal.failed(recovered.last(), &error);
                recovered.report.unwritable = Some(error.to_string());
            }
            Err(error) => return Err(unusable(error)),
        }
        Ok((journal, recovered))
    }

    fn go_on(&mut self, go_on: GoOn, recovered: &mut Recovered) -> io::Result<()> {
        match go_on {
            GoOn::Append { at, seq } => {
                self.seq = seq;
                self.go_on_from(at)
            }
            GoOn::Adopt { at, seq } => {
                self.seq = seq;
                self.disk.rename(&self.place.next(), &self.place.current())?;
                self.go_on_from(at)
            }
            GoOn::Rewrite { seq, aside } => {
                self.seq = seq;
                self.aside = aside;
                let machines = recovered.machines.values();
                let machines = machines.map(|machine| (machine.number, &machine.monitor));
                let aside = self.begin_generation(recovered.last(), machines)?;
                if let Some(file) = recovered.report.set_aside.first_mut() {
                    file.to = aside;
                }
                self.note_set_aside(recovered);
                Ok(())
            }
        }
    }

    fn go_on_from(&mut self, at: u64) -> io::Result<()> {
        let file = self.disk.open(&self.place.current())?;
        if file.metadata()?.len() != at {
            self.disk.cut(&file, at)?;
        }
        let _ = self.disk.remove(&self.place.next()); // mostly there is none
        self.file = Some(Target { file, len: at });
        self.gap = false;
        self.unsynced.rename = true; // the run before may have ended in the middle of it
        Ok(())
    }

    fn note_set_aside(&mut self, recovered: &Recovered) {
        for file in &recovered.report.set_aside {
            let name = file.to.as_ref().unwrap_or(&file.from).display().to_string();
            let why = file.why.to_string().into();
            self.note(recovered.last(), Note::SetAside { file: name.into(), why });
        }
    }
}
