//! One process, held by a pidfd: how it ended, and signals that reach nobody else.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use giveover_core::failure::Cause;
use mio::Interest;
use mio::unix::SourceFd;
use nix::errno::Errno;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Reactor, Token};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(u8),
    /// By this signal.
    Signal(u8),
}

impl Exit {
    /// As it stands in a [`Cause`].
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Status(status) => status as u16,
            Self::Signal(signal) => Cause::SIGNAL + signal as u16,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "exit status {status}"),
            Self::Signal(number) => match signal_word(i32::from(*number)) {
                Some(word) => write!(f, "signal {number} ({word})"),
                None => write!(f, "signal {number}"),
            },
        }
    }
}

/// The name of a signal without its `SIG`.
#[must_use]
pub fn signal_word(number: i32) -> Option<&'static str> {
    let signal = nix::sys::signal::Signal::try_from(number).ok()?;
    signal.as_str().strip_prefix("SIG")
}

/// What is known about a process now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is there.
    Running,
    /// It is gone; `None` where nobody can tell us how, because it was not our child.
    Gone(Option<Exit>),
}

/// Why there is no child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnError {
    /// This program cannot be run: it is missing, may not be run, or is none.
    CannotRun(Errno),
    /// We lack what it takes to run any: processes, memory, descriptors. Says nothing about
    /// the program.
    Lack(Errno),
}

impl SpawnError {
    /// The kernel's reason.
    #[must_use]
    pub const fn errno(self) -> Errno {
        match self {
            Self::CannotRun(errno) | Self::Lack(errno) => errno,
        }
    }

    /// As it stands in a [`Cause`].
    #[must_use]
    pub const fn code(self) -> u16 {
        Cause::ERRNO + self.errno() as u16
    }
}

impl From<Errno> for SpawnError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::EAGAIN | Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE | Errno::EINTR => {
                Self::Lack(errno)
            }
            _ => Self::CannotRun(errno),
        }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errno = self.errno();
        match self {
            Self::CannotRun(_) => write!(f, "{} ({errno:?})", errno.desc()),
            Self::Lack(_) => write!(f, "no process could be made: {} ({errno:?})", errno.desc()),
        }
    }
}

impl std::error::Error for SpawnError {}

/// A process of interest: a child of ours, or one an earlier monitor started.
///
/// Holds a pidfd, so that neither a signal nor the news of an end can be mistaken for
/// another's. A child that is ours is to be given back to [`super::Children`] once it has ended.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    pidfd: OwnedFd,
    pub(super) ours: bool,
}

impl Child {
    /// Holds the process that is `pid` now.
    ///
    /// # Errors
    /// ESRCH if there is none, or our lack of a descriptor.
    pub(super) fn hold(pid: u32, ours: bool) -> Result<Self, Errno> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::ESRCH)?;
        let pidfd = pidfd_open(number, PidfdFlags::empty()).map_err(errno)?;
        Ok(Self { pid, pidfd, ours })
    }

    /// Holds a process that somebody else started, if it is the one that started at `start`.
    ///
    /// # Errors
    /// ESRCH if that one is gone, whoever may have its number now; or our lack.
    pub fn hold_stranger(pid: u32, start: u64) -> Result<Self, Errno> {
        let child = Self::hold(pid, false)?;
        // In this order: what the descriptor holds can no longer change its start time.
        let same = super::procfs::stat(pid).is_some_and(|stat| stat.start == start);
        if same && child.is_running() { Ok(child) } else { Err(Errno::ESRCH) }
    }

    /// Its number.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether its status will be ours to read.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        self.ours
    }

    /// False once it has ended, reaped or not.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let mut descriptors = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
    }

    /// Sends a signal; nothing if it has ended.
    ///
    /// # Errors
    /// EPERM if it is not ours to signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Errno> {
        match pidfd_send_signal(&self.pidfd, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(errno(error)),
        }
    }

    /// Wakes the owner of `token` when it ends.
    ///
    /// # Errors
    /// The kernel's own; it is not watched.
    pub fn watch(&self, reactor: &Reactor, token: Token) -> io::Result<()> {
        reactor.add(&mut SourceFd(&self.pidfd.as_raw_fd()), token, Interest::READABLE)
    }

    /// Wakes nobody any more. Needed before it is dropped; see [`Reactor::remove`].
    pub fn unwatch(&self, reactor: &Reactor) {
        reactor.remove(&mut SourceFd(&self.pidfd.as_raw_fd()));
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// One kind of error number for another.
pub(super) fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_lack_is_kept_apart_from_a_bad_program() {
        for ours in [Errno::EAGAIN, Errno::ENOMEM, Errno::EMFILE, Errno::ENFILE] {
            assert_eq!(SpawnError::from(ours), SpawnError::Lack(ours));
        }
        for theirs in [Errno::ENOENT, Errno::EACCES, Errno::ENOEXEC, Errno::E2BIG, Errno::ENOTDIR] {
            assert_eq!(SpawnError::from(theirs), SpawnError::CannotRun(theirs));
        }
    }

    #[test]
    fn an_end_reads_well() {
        assert_eq!(Exit::Status(3).to_string(), "exit status 3");
        assert_eq!(Exit::Signal(9).to_string(), "signal 9 (KILL)");
        assert_eq!(Exit::Signal(40).to_string(), "signal 40");
        assert_eq!(Exit::Signal(9).code(), 0x109);
    }

    #[test]
    fn a_number_alone_names_nobody() {
        let me = std::process::id();
        let start = super::super::procfs::stat(me).map_or(0, |stat| stat.start);
        assert!(Child::hold_stranger(me, start).is_ok_and(|child| child.is_running()));
        assert_eq!(Child::hold_stranger(me, start + 1).err(), Some(Errno::ESRCH));
        assert_eq!(Child::hold_stranger(0, 0).err(), Some(Errno::ESRCH));
    }
}
