//! The new lines of a database's log that meet a row of the table of errors.
//!
//! They are read as `log` checks read theirs ([`follow`]), on a thread of each log's own: a file
//! system that hangs hangs nobody but it. Its place is kept for as long as the monitor is there.

use std::path::PathBuf;

use super::rules::Rules;
use super::said::shown;
use crate::check::log::follow::{self, Limits, Place};
use crate::config::database::{Action, Row};
use crate::reactor::{Aside, Reactor, Room, Token};

/// At most so much is read in one look; the rest waits for the next.
const LIMITS: Limits = Limits { longest: 8192, cap: 1024 * 1024 };
/// At most so many lines are told of one look.
pub(super) const MOST_SAID: usize = 16;

/// What a look found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Rows that were met, each with its line, up to [`MOST_SAID`].
    pub(super) met: Vec<(usize, String)>,
    /// The first row met that leads to something.
    pub(super) decided: Option<usize>,
    /// It could not be read; what it holds by the time it can is new.
    pub(super) unreadable: bool,
}

/// A log, and how far it was read.
struct Reading {
    path: PathBuf,
    rules: Rules,
    /// Of each row, whether it leads to something.
    acts: Vec<bool>,
    place: Option<Place>,
}

impl Reading {
    /// Nothing was read yet. What is there at the first look is old.
    fn new(path: &str, rows: &[Row]) -> Self {
        let acts = rows.iter().map(|row| row.action != Action::Nothing).collect();
        Self { path: path.into(), rules: Rules::new(rows), acts, place: None }
    }

    /// Looks at the lines that came since the last time.
    fn look(&mut self) -> Seen {
        let mut seen = Seen::default();
        let mut each = |line: &str| {
            let Some(row) = self.rules.line(line.as_bytes()) else { return };
            if seen.decided.is_none() && self.acts.get(row) == Some(&true) {
                seen.decided = Some(row);
            }
            if seen.met.len() < MOST_SAID {
                seen.met.push((row, shown(line.as_bytes())));
            }
        };
        match follow::read(&self.path, self.place.as_ref(), LIMITS, &mut each) {
            Ok(place) => self.place = Some(place),
            Err(_) => {
                // A place in no file there is: the one that comes is read from its beginning.
                self.place.get_or_insert_with(Place::default);
                seen.unreadable = true;
            }
        }
        seen
    }
}

/// A log as the loop knows it.
pub(super) struct Tail {
    reading: Option<Reading>,
    thread: Option<Aside<Seen>>,
}

/// What asking came to.
pub(super) enum Asked {
    /// The loop will wake with [`Room::Resolver`].
    Soon,
    /// An answer that nobody waited for any more.
    Seen(Seen),
    /// It is still being read, or there is no thread to be had.
    Not,
}

impl Tail {
    /// The log at `path`, of which nothing was read yet.
    pub(super) fn new(path: &str, rows: &[Row]) -> Self {
        Self { reading: Some(Reading::new(path, rows)), thread: None }
    }

    /// Has it read on.
    pub(super) fn ask(&mut self, reactor: &Reactor) -> Asked {
        if self.thread.as_ref().is_some_and(Aside::is_asked) {
            return self.seen().map_or(Asked::Not, Asked::Seen);
        }
        if let Some(mut reading) = self.reading.take() {
            let token = Token::new(Room::Resolver, 0, 0);
            self.thread = Aside::start(reactor, token, "log", move || reading.look()).ok();
        }
        let sent = self.thread.as_mut().is_some_and(Aside::ask);
        if sent { Asked::Soon } else { Asked::Not }
    }

    /// What it has seen, if it has answered.
    pub(super) fn seen(&mut self) -> Option<Seen> {
        self.thread.as_mut()?.answer()
    }

    /// The loop need not hear of it any more.
    pub(super) fn end(&mut self, reactor: &Reactor) {
        if let Some(thread) = self.thread.take() {
            thread.end(reactor);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;
    use crate::config::database::{NewState, On, State};

    struct Log {
        dir: tempfile::TempDir,
        reading: Reading,
    }

    fn row(pattern: &str, action: Action) -> Row {
        let (on, state, new_state) = (On::Log(pattern.into()), State::Any, NewState::Same);
        Row { on, state, action, new_state, message: None, run: None }
    }

    impl Log {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("log");
            let rows = [row("WARN", Action::Nothing), row("PANIC", Action::Restart)];
            Self { reading: Reading::new(path.to_str().expect("a path"), &rows), dir }
        }

        fn add(&self, name: &str, text: &str) {
            let path = self.dir.path().join(name);
            let file = fs::File::options().create(true).append(true).open(path);
            file.and_then(|mut file| file.write_all(text.as_bytes())).expect("a line");
        }

        /// The rows met, and the one that decides.
        fn look(&mut self) -> (Vec<usize>, Option<usize>) {
            let seen = self.reading.look();
            assert!(!seen.unreadable);
            (seen.met.into_iter().map(|(row, _)| row).collect(), seen.decided)
        }
    }

    #[test]
    fn what_was_there_is_old_and_each_line_comes_once_and_whole() {
        let mut log = Log::new();
        log.add("log", "PANIC of yesterday\n");
        assert_eq!(log.look(), (vec![], None));
        log.add("log", "well\nWARN\nPANI");
        assert_eq!(log.look(), (vec![0], None));
        log.add("log", "C\nWARN\n");
        assert_eq!(log.look(), (vec![1, 0], Some(1)));
        assert_eq!(log.look(), (vec![], None));
    }

    #[test]
    fn a_log_that_is_renamed_is_read_to_its_end_and_the_new_one_from_its_beginning() {
        let mut log = Log::new();
        log.add("log", "old\n");
        assert_eq!(log.look(), (vec![], None));
        log.add("log", "WARN\n");
        fs::rename(log.dir.path().join("log"), log.dir.path().join("log.1")).expect("a rotation");
        log.add("log", "PANIC\n");
        log.add("log.1", "WARN\n");
        assert_eq!(log.look(), (vec![0, 0, 1], Some(1)));
    }

    #[test]
    fn a_log_that_is_not_there_is_said_and_new_when_it_comes() {
        let mut log = Log::new();
        assert!(log.reading.look().unreadable);
        log.add("log", "PANIC\n");
        assert_eq!(log.look(), (vec![1], Some(1)));
    }

    #[test]
    fn no_more_lines_are_told_than_somebody_reads() {
        let mut log = Log::new();
        log.add("log", "");
        assert_eq!(log.look(), (vec![], None));
        log.add("log", &("WARN\n".repeat(100) + "PANIC\n"));
        let (met, decided) = log.look();
        assert_eq!((met.len(), decided), (MOST_SAID, Some(1)));
    }

    #[test]
    fn the_loop_is_woken_when_it_has_been_read() {
        let mut reactor = Reactor::new().expect("a reactor");
        let log = Log::new();
        log.add("log", "");
        let rows = [row("PANIC", Action::Stop)];
        let mut tail = Tail::new(log.dir.path().join("log").to_str().expect("a path"), &rows);
        let mut look = |tail: &mut Tail| {
            assert!(matches!(tail.ask(&reactor), Asked::Soon));
            let mut ready = Vec::new();
            while ready.is_empty() {
                reactor.wait(Some(std::time::Duration::from_secs(20)), &mut ready).expect("events");
            }
            tail.seen().expect("an answer")
        };
        assert_eq!(look(&mut tail), Seen::default());
        log.add("log", "PANIC\n");
        assert_eq!(look(&mut tail).decided, Some(0));
        tail.end(&reactor);
    }
}
