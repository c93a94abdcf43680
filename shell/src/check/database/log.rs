//! The lines of a log that came since it was last looked at, across its rotation.
//!
//! The file stays open, so that what was written to it before it was renamed is still read. One
//! that was cut to nothing, or that has another's place, is read from its beginning.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// At most so much is read in one go; the rest waits for the next.
const MOST: usize = 1024 * 1024;
/// A line is looked at up to here.
const LONGEST: usize = 8192;

/// A log, and how far it was read.
pub(super) struct Tail {
    path: Box<str>,
    open: Option<Open>,
    /// It was looked for before: what is there now and was not then is new from its beginning.
    begun: bool,
}

struct Open {
    file: File,
    place: (u64, u64),
    at: u64,
    lines: Lines,
}

impl Tail {
    /// A log of which nothing was read yet. What it holds at the first look is old.
    pub(super) fn new(path: &str) -> Self {
        Self { path: path.into(), open: None, begun: false }
    }

    /// Hands each line that came since the last look to `each`.
    ///
    /// # Errors
    /// It cannot be read; what it holds by the time it can is new.
    pub(super) fn look(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let first = !std::mem::replace(&mut self.begun, true);
        let mut room = MOST;
        if let Some(open) = &mut self.open {
            open.read(&mut room, &mut each)?;
        }
        let there = std::fs::metadata(&*self.path);
        let moved = match (&self.open, &there) {
            (Some(open), Ok(meta)) => open.place != place(meta),
            (None, _) => true,
            // Between two names: what is open goes on.
            (Some(_), Err(_)) => return Ok(()),
        };
        if moved && room > 0 {
            if let Some(mut before) = self.open.take() {
                before.lines.end(&mut each);
            }
            let mut open = Open::new(&self.path)?;
            if first {
                open.at = open.file.seek(SeekFrom::End(0))?;
            }
            let read = open.read(&mut room, &mut each);
            self.open = Some(open);
            read?;
        }
        Ok(())
    }
}

impl Open {
    fn new(path: &str) -> io::Result<Self> {
        // A pipe of that name would make `open` wait for its other end.
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).custom_flags(flags).open(path)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self { file, place: place(&meta), at: 0, lines: Lines::default() })
    }

    fn read(&mut self, room: &mut usize, each: &mut impl FnMut(&[u8])) -> io::Result<()> {
        if self.file.metadata()?.len() < self.at {
            self.at = self.file.seek(SeekFrom::Start(0))?;
            self.lines.end(each);
        }
        let mut buffer = [0; 16 * 1024];
        while *room > 0 {
            let length = self.file.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            self.at += length as u64;
            *room = room.saturating_sub(length);
            self.lines.take(buffer.get(..length).unwrap_or_default(), each);
        }
        Ok(())
    }
}

fn place(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

/// Bytes to lines: one whose end is not there yet is kept.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8], each: &mut impl FnMut(&[u8])) {
        let mut parts = bytes.split(|byte| *byte == b'\n');
        if let Some(first) = parts.next() {
            self.push(first);
        }
        for part in parts {
            self.end(each);
            self.push(part);
        }
    }

    fn push(&mut self, part: &[u8]) {
        let room = LONGEST.saturating_sub(self.line.len());
        self.line.extend_from_slice(part.get(..room).unwrap_or(part));
    }

    /// The line is over, or will never have an end.
    fn end(&mut self, each: &mut impl FnMut(&[u8])) {
        if !self.line.is_empty() {
            each(&self.line);
            self.line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::{Path, PathBuf};

    use super::*;

    struct Log {
        dir: tempfile::TempDir,
        tail: Tail,
    }

    impl Log {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("log");
            Self { tail: Tail::new(path.to_str().expect("a path")), dir }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn append(path: &Path, text: &str) {
            let file = fs::File::options().create(true).append(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes())).expect("a line");
        }

        fn add(&self, text: &str) {
            Self::append(&self.path("log"), text);
        }

        fn lines(&mut self) -> Vec<String> {
            let mut lines = Vec::new();
            let each = |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
            self.tail.look(each).expect("a log");
            lines
        }
    }

    #[test]
    fn what_was_there_is_old_and_each_line_comes_once_and_whole() {
        let mut log = Log::new();
        log.add("old\n");
        assert!(log.lines().is_empty());
        log.add("a\nb\nhal");
        assert_eq!(log.lines(), ["a", "b"]);
        log.add("f\n");
        assert_eq!(log.lines(), ["half"]);
        assert!(log.lines().is_empty());
    }

    #[test]
    fn a_log_that_is_renamed_is_read_to_its_end_and_the_new_one_from_its_beginning() {
        let mut log = Log::new();
        log.add("old\n");
        assert!(log.lines().is_empty());
        log.add("a\n");
        fs::rename(log.path("log"), log.path("log.1")).expect("a rotation");
        Log::append(&log.path("log.1"), "b\nno end");
        assert_eq!(log.lines(), ["a", "b"], "while there is no new one");
        log.add("c\n");
        Log::append(&log.path("log.1"), " yet\n");
        assert_eq!(log.lines(), ["no end yet", "c"]);
        fs::rename(log.path("log"), log.path("log.1")).expect("a rotation");
        log.add("d\n");
        assert_eq!(log.lines(), ["d"]);
    }

    #[test]
    fn a_log_that_is_cut_is_read_from_its_beginning() {
        let mut log = Log::new();
        log.add("a long first line\n");
        assert!(log.lines().is_empty());
        fs::write(log.path("log"), "b\n").expect("a log");
        assert_eq!(log.lines(), ["b"]);
    }

    #[test]
    fn a_log_that_is_not_there_is_said_and_new_when_it_comes() {
        let mut log = Log::new();
        assert!(log.tail.look(|_| ()).is_err());
        log.add("a\n");
        assert_eq!(log.lines(), ["a"]);
        let mut directory = Tail::new("/tmp");
        assert!(directory.look(|_| ()).is_err());
    }

    #[test]
    fn much_at_once_is_read_in_turns_and_a_long_line_is_cut() {
        let mut log = Log::new();
        log.add("");
        assert!(log.lines().is_empty());
        log.add(&format!("{}\n", "x".repeat(20_000)));
        assert_eq!(log.lines()[0].len(), LONGEST);
        log.add(&"0123456789abcde\n".repeat(100_000));
        let mut rounds = Vec::new();
        while rounds.iter().sum::<usize>() < 100_000 {
            rounds.push(log.lines().len());
        }
        assert!(rounds.len() > 1 && rounds.iter().all(|lines| *lines > 0), "{rounds:?}");
    }
}
