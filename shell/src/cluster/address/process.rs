//! The process that holds a group's addresses: it alone has the rights for that, and may wait for
//! the kernel and for commands, which the daemon never does.
//!
//! It reads what it is asked from its standard input and answers on its standard output. When the
//! daemon is gone it lets go in order, and ends.

use std::io::Write as _;
use std::os::fd::AsFd;
use std::process::ExitCode;

use giveover_core::time::Instant;
use nix::sys::signal::{SigSet, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;

use super::super::steps::Step;
use super::edge::{Edge, Out};
use super::keeper::{Do, Event, Keeper};
use super::rights;
use super::words::{Ask, Lines, Told};
use crate::clock::Reading;

/// The verb by which the daemon runs it.
pub const VERB: &str = "__hold-address";

/// The whole process. Exits 0 once the daemon is gone and nothing is held, 1 if something still
/// is, 2 if it cannot do what it is for.
#[must_use]
pub fn main() -> ExitCode {
    // Whoever stops the daemon may stop its whole group; what is held has to go in order.
    let mut mask = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        mask.add(signal);
    }
    let _ = mask.thread_block(); // it cannot fail for signals that exist
    let mut inbox = Inbox::default();
    let held = loop {
        match inbox.wait() {
            Some(Ask::Hold(held)) => break held,
            Some(Ask::Step(_)) => {} // nobody knows for whom
            None => return ExitCode::SUCCESS,
        }
    };
    if let Err(why) = rights::look() {
        say(&Told::Unable(why));
        return ExitCode::from(2);
    }
    // Commands of one's own may need more: `sudo`, for one.
    if held.commands.is_none() {
        if let Err(error) = rights::shed() {
            say(&Told::Said(format!("rights are not given up: {error}")));
        }
    }
    let edge = match Edge::new(held.clone()) {
        Ok(edge) => edge,
        Err(errno) => {
            say(&Told::Unable(format!("the kernel tells nobody of addresses: {errno}")));
            return ExitCode::from(2);
        }
    };
    say(&Told::Ready);
    Process { keeper: Keeper::new(held), edge, inbox }.run()
}

struct Process {
    keeper: Keeper,
    edge: Edge,
    inbox: Inbox,
}

impl Process {
    fn run(mut self) -> ExitCode {
        loop {
            let due = self.keeper.poll_timeout();
            let mut limit = due.map(|due| due.since(now()));
            if !self.inbox.waiting.is_empty() {
                limit = Some(0); // it came in one piece with what was read before
            }
            if let Err(errno) = wait(&self.edge, limit) {
                say(&Told::Said(format!("cannot wait: {errno}")));
                return ExitCode::from(2);
            }
            let mut events = self.edge.heard();
            if due.is_some_and(|due| due <= now()) {
                events.push(Event::Timeout);
            }
            events.extend(self.inbox.read().into_iter().filter_map(|ask| match ask {
                Ask::Step(step) => Some(Event::Step(step)),
                Ask::Hold(_) => None, // it has been said for whom
            }));
            if self.inbox.ended {
                events.push(Event::Closed);
            }
            for event in events {
                let renewal = matches!(event, Event::Step(Step::Renew { .. }));
                if let Some(exit) = self.take_in(event) {
                    return exit;
                }
                if renewal {
                    say(&Told::Alive);
                }
            }
        }
    }

    /// Feeds the keeper and does what it says, until nothing is left to do.
    fn take_in(&mut self, event: Event) -> Option<ExitCode> {
        let mut batch: std::collections::VecDeque<Do> = self.keeper.handle(event, now()).into();
        while let Some(what) = batch.pop_front() {
            let (out, answer) = self.edge.carry(what);
            match out {
                Some(Out::Tell(done)) => say(&Told::Done(done)),
                Some(Out::Say(text)) => say(&Told::Said(text)),
                Some(Out::End) => return Some(ExitCode::SUCCESS),
                None => {}
            }
            if let Some(answer) = answer {
                if matches!(answer, Event::Failed(_)) {
                    batch.clear();
                }
                batch.extend(self.keeper.handle(answer, now()));
            }
        }
        None
    }
}

fn now() -> Instant {
    Instant::from_millis(Reading::take().boottime_ms)
}

/// Says a line. If nobody hears it the end of our input tells so as well.
fn say(told: &Told) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(told.line().as_bytes()).and_then(|()| out.flush());
}

/// Waits until something has come, or for `limit` milliseconds.
fn wait(edge: &Edge, limit: Option<u64>) -> Result<(), Errno> {
    let mut sources: Vec<PollFd<'_>> = std::iter::once(stdin())
        .chain(edge.sources())
        .map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN))
        .collect();
    let limit = limit.map(|ms| Timespec {
        tv_sec: i64::try_from(ms / 1000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ms % 1000).unwrap_or(0) * 1_000_000,
    });
    match poll(&mut sources, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// What the daemon says.
#[derive(Default)]
struct Inbox {
    lines: Lines,
    ended: bool,
    waiting: std::collections::VecDeque<Ask>,
}

impl Inbox {
    /// The next line; `None` once there are no more.
    fn wait(&mut self) -> Option<Ask> {
        loop {
            if let Some(ask) = self.waiting.pop_front() {
                return Some(ask);
            }
            if self.ended {
                return None;
            }
            self.fill();
        }
    }

    /// What has come, without waiting.
    fn read(&mut self) -> Vec<Ask> {
        let mut one = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        if !self.ended && poll(&mut one, Some(&none)).is_ok_and(|ready| ready > 0) {
            self.fill();
        }
        self.waiting.drain(..).collect()
    }

    fn fill(&mut self) {
        let mut buffer = [0; 4096];
        match rustix::io::read(stdin().as_fd(), buffer.as_mut_slice()) {
            Ok(0) | Err(Errno::BADF | Errno::IO) => self.ended = true,
            Ok(length) => {
                let lines = self.lines.take(buffer.get(..length).unwrap_or_default());
                self.waiting.extend(lines.iter().filter_map(|line| Ask::parse(line)));
            }
            Err(_) => {} // interrupted; asked again
        }
    }
}
