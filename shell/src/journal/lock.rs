//! One daemon for each journal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::place::Place;

/// Held while a daemon writes a journal; the kernel lets go when the process ends, however.
///
/// The file says who holds it, and how its journal is doing: a few bytes overwritten in place
/// can be written on a disk that is full, so a run that could not write its journal and then
/// died is known as such by the next.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    writable: bool,
}

/// Why there is no lock.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process holds it; its number, if the file says.
    Held(Option<u32>),
    /// The system refused.
    Refused(io::Error),
}

/// How a run's journal is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Everything is written.
    Running,
    /// It could not be written.
    Failing,
    /// The run ended, and everything was written.
    Ended,
}

impl Mark {
    /// Of equal length, so that one overwrites another.
    const WORDS: [(Self, &str); 3] =
        [(Self::Running, "running"), (Self::Failing, "failing"), (Self::Ended, "ended  ")];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(mark, _)| *mark == self).map_or("", |(_, word)| word)
    }

    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| known.trim() == word).map(|(mark, _)| *mark)
    }
}

impl Lock {
    /// Takes the lock, and says how the run before left it.
    ///
    /// On storage that cannot be written, a file that is there, or the directory itself, is
    /// locked unchanged.
    pub(super) fn take(place: &Place) -> Result<(Self, Option<Mark>), LockError> {
        let path = place.lock();
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let (mut file, writable) = match open {
            Ok(file) => (file, true),
            Err(error) => match File::open(&path).or_else(|_| File::open(place.dir())) {
                Ok(file) => (file, false),
                Err(_) => return Err(LockError::Refused(error)),
            },
        };
        let taken = take_patiently(&file);
        let (pid, mark) = read(&mut file);
        match taken {
            Ok(()) => {
                let mut lock = Self { file, writable };
                lock.mark(Mark::Running);
                Ok((lock, mark))
            }
            Err(Errno::WOULDBLOCK) => Err(LockError::Held(pid)),
            Err(errno) => Err(LockError::Refused(errno.into())),
        }
    }

    /// Notes how the journal is doing. Nobody depends on it, so failures are not told.
    pub(super) fn mark(&mut self, mark: Mark) {
        if self.writable {
            let text = format!("{:>10}\n{}\n", std::process::id(), mark.word());
            let _ = self.file.write_all_at(text.as_bytes(), 0);
        }
    }
}

/// A daemon that was killed while it started a process leaves a copy of its lock in that
/// process until it has become another program, so a short wait tells the two apart.
fn take_patiently(file: &File) -> Result<(), Errno> {
    const TRIES: u32 = 20;
    const BETWEEN: Duration = Duration::from_millis(25);
    let mut tries = 1;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if tries < TRIES => std::thread::sleep(BETWEEN),
            other => return other,
        }
        tries += 1;
    }
}

fn read(file: &mut File) -> (Option<u32>, Option<Mark>) {
    let mut text = String::new();
    let _ = file.take(64).read_to_string(&mut text); // a directory reads as nothing
    let mut lines = text.lines().map(str::trim);
    let pid = lines.next().and_then(|line| line.parse().ok());
    (pid, lines.next().and_then(Mark::of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_with_the_number_of_the_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Place::in_dir(dir.path());
        let (mut lock, before) = Lock::take(&place).expect("free");
        assert_eq!(before, None);
        match Lock::take(&place) {
            Err(LockError::Held(pid)) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        lock.mark(Mark::Failing);
        drop(lock);
        let (mut lock, before) = Lock::take(&place).expect("free again");
        assert_eq!(before, Some(Mark::Failing));
        lock.mark(Mark::Ended);
        drop(lock);
        assert_eq!(Lock::take(&place).expect("free").1, Some(Mark::Ended));
    }

    #[test]
    fn a_lock_file_with_anything_in_it_says_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Place::in_dir(dir.path());
        std::fs::write(place.lock(), [0xff; 5000]).expect("written");
        assert_eq!(Lock::take(&place).expect("free").1, None);
    }
}
