//! What a journal asks of a file system, so that a test can stand in for one that fails.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread::JoinHandle;

/// The calls through which a journal changes anything.
pub(super) trait Disk {
    /// Opens a file that is there, for writing.
    fn open(&mut self, path: &Path) -> io::Result<File>;
    /// Makes an empty file, or empties the one that is there.
    fn create(&mut self, path: &Path) -> io::Result<File>;
    /// Writes some of `bytes` at `at`.
    fn write_at(&mut self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize>;
    /// Cuts `file` to `length`.
    fn cut(&mut self, file: &File, length: u64) -> io::Result<()>;
    /// Waits until what was written to `file` survives a loss of power.
    fn sync(&mut self, file: &File) -> io::Result<()>;
    /// The same without waiting; `file` is another handle of it.
    fn begin_sync(&mut self, file: File) -> Pending;
    /// Puts `from` in the place of `to`.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
}

/// The system's own calls.
pub(super) struct System;

impl Disk for System {
    fn open(&mut self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).open(path)
    }

    fn create(&mut self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
    }

    fn write_at(&mut self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        file.write_at(bytes, at)
    }

    fn cut(&mut self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    fn sync(&mut self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn begin_sync(&mut self, file: File) -> Pending {
        let file = std::sync::Arc::new(file);
        Pending::of(move || file.sync_data())
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
}

/// Writes all of `bytes`, whatever the calls take at a time.
pub(super) fn write_all(
    disk: &mut dyn Disk,
    file: &File,
    mut bytes: &[u8],
    mut at: u64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match disk.write_at(file, bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(taken) => {
                bytes = bytes.get(taken..).unwrap_or_default();
                at += taken as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A sync under way. The loop must not wait for a disk, so it is waited for elsewhere: on a
/// thread that lives as long as the one call.
pub(super) enum Pending {
    /// On its thread.
    Running(JoinHandle<io::Result<()>>),
    /// Over, until somebody asks.
    Over(Option<io::Result<()>>),
}

impl Pending {
    /// `work` on a thread of its own; here and now where none can be had.
    pub(super) fn of(work: impl FnOnce() -> io::Result<()> + Send + Clone + 'static) -> Self {
        let again = work.clone();
        match std::thread::Builder::new().name("journal-sync".into()).spawn(work) {
            Ok(thread) => Self::Running(thread),
            Err(_) => Self::Over(Some(again())),
        }
    }

    /// How it went, once: `None` while it runs, and after it has been told.
    pub(super) fn poll(&mut self) -> Option<io::Result<()>> {
        match self {
            Self::Running(thread) if !thread.is_finished() => None,
            Self::Running(_) => match std::mem::replace(self, Self::Over(None)) {
                Self::Running(thread) => Some(result_of(thread)),
                Self::Over(result) => result,
            },
            Self::Over(result) => result.take(),
        }
    }
}

fn result_of(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the sync thread ended badly")))
}

/// Whether an error is one of the system's bad days rather than of our set-up: full, read-only
/// or broken storage, or no resources. The journal then goes on in memory.
pub(super) fn is_bad_day(error: &io::Error) -> bool {
    use rustix::io::Errno;
    const BAD_DAYS: [Errno; 9] = [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::ROFS,
        Errno::IO,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::STALE,
        Errno::AGAIN,
    ];
    let errno = error.raw_os_error();
    BAD_DAYS.iter().any(|bad| Some(bad.raw_os_error()) == errno)
}
