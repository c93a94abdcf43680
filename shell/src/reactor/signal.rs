//! Signals to us, as something to read.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mio::Interest;
use mio::unix::SourceFd;
use nix::libc;
use nix::sys::signal::{SigSet, Signal};
use signal_hook::{SigId, flag, low_level};
use std::os::fd::AsRawFd;

use super::{Reactor, Token};

/// What a signal tells the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// TERM: stop.
    Terminate,
    /// INT: stop.
    Interrupt,
    /// HUP: read the configuration again.
    Reload,
    /// USR1: write the full status to the log.
    Report,
}

const SIGNALS: [(i32, Notice); 4] = [
    (libc::SIGTERM, Notice::Terminate),
    (libc::SIGINT, Notice::Interrupt),
    (libc::SIGHUP, Notice::Reload),
    (libc::SIGUSR1, Notice::Report),
];

/// The signals of a daemon, taken from the whole process for as long as this lives.
///
/// A handler sets a flag and writes a byte, which wakes the loop; a thousand signals that come
/// before the loop looks are one. Writing to a closed pipe is an error rather than a signal:
/// Rust's runtime ignores SIGPIPE.
///
/// SIGCHLD only sets its flag and interrupts a wait. Who has an owner is heard by a pidfd; this is
/// for orphans, and they can wait: a busy daemon, which has hundreds of them a second, lets it be
/// held back until it looks again. One that ends in the instant before the loop sleeps is reaped
/// when it next wakes.
pub struct Signals {
    pipe: UnixStream,
    raised: [Arc<AtomicBool>; SIGNALS.len()],
    child_ended: Arc<AtomicBool>,
    handlers: Vec<SigId>,
}

impl Signals {
    /// Takes the signals and wakes the owner of `token` when one comes.
    ///
    /// # Errors
    /// No descriptor, or the kernel's own; no signal was taken.
    pub fn new(reactor: &Reactor, token: Token) -> io::Result<Self> {
        let (pipe, end) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        end.set_nonblocking(true)?;
        let raised = std::array::from_fn(|_| Arc::new(AtomicBool::new(false)));
        let child_ended = Arc::new(AtomicBool::new(false));
        let handlers = vec![flag::register(libc::SIGCHLD, Arc::clone(&child_ended))?];
        let mut signals = Self { pipe, raised, child_ended, handlers };
        for ((number, _), raised) in SIGNALS.iter().zip(&signals.raised) {
            // In this order: a woken loop finds the flag set.
            signals.handlers.push(flag::register(*number, Arc::clone(raised))?);
            signals.handlers.push(low_level::pipe::register(*number, end.try_clone()?)?);
        }
        reactor.add(&mut SourceFd(&signals.pipe.as_raw_fd()), token, Interest::READABLE)?;
        Ok(signals)
    }

    /// Whether a child has ended since last asked: there may be orphans to reap. If so no more is
    /// heard of children before [`Signals::hear_children`].
    pub fn child_ended(&self) -> bool {
        let ended = self.child_ended.swap(false, Ordering::SeqCst);
        if ended {
            // It cannot fail; if it did, more would be heard than need be.
            let _ = child().thread_block();
        }
        ended
    }

    /// Hears of children again, at once if one has ended meanwhile.
    pub fn hear_children(&self) {
        let _ = child().thread_unblock();
    }

    /// What has come since last asked, each once.
    pub fn take(&mut self) -> impl Iterator<Item = Notice> + use<> {
        let mut bytes = [0; 64];
        // First the bytes, then the flags: one that comes in between wakes the loop once more.
        while matches!((&self.pipe).read(&mut bytes), Ok(1..)) {}
        let raised = self.raised.each_ref().map(|raised| raised.swap(false, Ordering::SeqCst));
        let notices = SIGNALS.iter().zip(raised);
        notices.filter_map(|((_, notice), raised)| raised.then_some(*notice))
    }
}

fn child() -> SigSet {
    SigSet::from(Signal::SIGCHLD)
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.hear_children();
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}
