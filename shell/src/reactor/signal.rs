//! Signals to us, as something to read.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mio::Interest;
use mio::unix::SourceFd;
use nix::libc;
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
    /// CHLD: there may be orphans to reap.
    Child,
}

const SIGNALS: [(i32, Notice); 5] = [
    (libc::SIGTERM, Notice::Terminate),
    (libc::SIGINT, Notice::Interrupt),
    (libc::SIGHUP, Notice::Reload),
    (libc::SIGUSR1, Notice::Report),
    (libc::SIGCHLD, Notice::Child),
];

/// The signals of a daemon, taken from the whole process for as long as this lives.
///
/// A handler sets a flag and writes a byte, which wakes the loop; a thousand signals that come
/// before the loop looks are one. Writing to a closed pipe is an error rather than a signal:
/// Rust's runtime ignores SIGPIPE.
pub struct Signals {
    pipe: UnixStream,
    raised: [Arc<AtomicBool>; SIGNALS.len()],
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
        let mut signals = Self { pipe, raised, handlers: Vec::new() };
        for ((number, _), raised) in SIGNALS.iter().zip(&signals.raised) {
            // In this order: a woken loop finds the flag set.
            signals.handlers.push(flag::register(*number, Arc::clone(raised))?);
            signals.handlers.push(low_level::pipe::register(*number, end.try_clone()?)?);
        }
        reactor.add(&mut SourceFd(&signals.pipe.as_raw_fd()), token, Interest::READABLE)?;
        Ok(signals)
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

impl Drop for Signals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}
