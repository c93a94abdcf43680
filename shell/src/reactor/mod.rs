//! The one place that waits: readiness, timers, signals and child processes.
//!
//! A [`Reactor`] knows nothing of what it wakes. Every source and every timer carries a
//! [`Token`] that names the room it belongs to and the generation of its owner's entry, so a
//! wake-up that comes late, for something that is gone, is recognised and dropped.

mod aside;
mod cgroup;
mod child;
mod children;
mod coprocess;
mod door;
mod instance;
mod kept;
mod leftovers;
mod order;
mod pipe;
pub mod procfs;
mod program;
mod run;
mod signal;
mod timer;
mod token;
mod tree;

use std::io;
use std::time::Duration;

use mio::{Events, Interest, Poll, Registry};

pub use aside::Aside;
pub use cgroup::{Cgroup, Cgroups};
pub use child::{Child, Exit, Look, SpawnError, signal_word};
pub use children::{Children, Stdio, close_inherited};
pub use coprocess::Coprocess;
pub use door::{Door, Knock};
pub use instance::Instance;
pub use kept::Kept;
pub use order::{Done, End, Keep, Order, Stuck};
pub use program::{BadProgram, Environment, Program, locate};
pub use run::{Run, Runner};
pub use signal::{Notice, Signals};
pub use timer::{Timer, Timers};
pub use token::{Room, Token};
pub use tree::{Member, Struck, Tree};

/// The loop's sources and timers.
pub struct Reactor {
    poll: Poll,
    events: Events,
    /// What is due when.
    pub timers: Timers,
    /// The processes we have made.
    pub children: Children,
}

/// One source that has become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Whose source it is.
    pub token: Token,
    /// There is something to read, or the end of it.
    pub readable: bool,
    /// The other side will send no more; what it has sent may still wait to be read.
    pub read_closed: bool,
    /// There is room to write, or a connection has been made or refused.
    pub writable: bool,
    /// An error is pending, or the other side is gone.
    pub closed: bool,
}

impl Reactor {
    /// A reactor without sources.
    ///
    /// # Errors
    /// The kernel refused an epoll descriptor, or `/dev/null`.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            timers: Timers::new(),
            children: Children::new()?,
        })
    }

    /// The registry sources are added to; see [`Reactor::remove`] before closing one.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Adds a source.
    ///
    /// # Errors
    /// The kernel's own; nothing was added.
    pub fn add(
        &self,
        source: &mut impl mio::event::Source,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.poll.registry().register(source, token.into(), interest)
    }

    /// Gives a source that was added a new token and interest.
    ///
    /// # Errors
    /// The kernel's own; the source keeps what it had.
    pub fn change(
        &self,
        source: &mut impl mio::event::Source,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.poll.registry().reregister(source, token.into(), interest)
    }

    /// Takes a source out again. To be called before its descriptor is closed: a child between
    /// fork and exec still holds a copy, which would keep the entry alive and let it wake
    /// whatever gets the descriptor's number next.
    pub fn remove(&self, source: &mut impl mio::event::Source) {
        // It can only fail for a source that is not there, and then nothing is left to do.
        let _ = self.poll.registry().deregister(source);
    }

    /// Waits at most `limit` (for ever if `None`), then hands each ready source to `each`.
    ///
    /// The wait is rounded up to a millisecond: a timer only wakes, the clock decides.
    ///
    /// # Errors
    /// Those of `epoll_wait`, except an interruption by a signal.
    pub fn wait(&mut self, limit: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        match self.poll.poll(&mut self.events, limit) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        ready.extend(self.events.iter().map(|event| Ready {
            token: event.token().into(),
            readable: event.is_readable() || event.is_read_closed(),
            read_closed: event.is_read_closed(),
            writable: event.is_writable(),
            closed: event.is_error() || event.is_read_closed() && event.is_write_closed(),
        }));
        Ok(())
    }
}
