//! Where a command's output comes from.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use mio::Interest;
use mio::unix::SourceFd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::children::lack;
use super::{Reactor, SpawnError, Token};

/// The pipe of a run.
///
/// We hold its other end too: so it closes when we say, the program's end alone wakes us, and
/// afterwards it can be told whether anybody else still holds it.
pub(super) struct Pipe {
    reader: OwnedFd,
    writer: Option<OwnedFd>,
    watched: bool,
}

/// How far a pipe was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// Nobody holds its other end any more.
    Ended,
    /// There is no more now.
    Empty,
    /// There is more.
    More,
}

impl Pipe {
    pub(super) fn new() -> Result<Self, SpawnError> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(lack)?;
        Ok(Self { reader, writer: Some(writer), watched: false })
    }

    /// The end for the program.
    pub(super) fn writer(&self) -> Option<BorrowedFd<'_>> {
        self.writer.as_ref().map(AsFd::as_fd)
    }

    /// From now on wakes the owner of `token` when there is something to read.
    pub(super) fn watch(&mut self, reactor: &Reactor, token: Token) -> io::Result<()> {
        if !self.watched {
            reactor.add(&mut SourceFd(&self.reader.as_raw_fd()), token, Interest::READABLE)?;
            self.watched = true;
        }
        Ok(())
    }

    /// Reads until it is empty, or for a while, and keeps the beginning, `most` bytes.
    ///
    /// Asks before each read whether there is something: most commands say nothing, and then the
    /// question alone tells that nobody holds the other end. Nobody else reads from ours, so what
    /// is there is still there when it is read, and no read waits.
    pub(super) fn read(&self, buffer: &mut [u8], most: usize, kept: &mut Vec<u8>) -> Drained {
        for _ in 0..READS {
            match self.is_readable() {
                Ok(Some(true)) => {}
                Ok(Some(false)) => return Drained::Ended,
                Ok(None) => return Drained::Empty,
                Err(Errno::INTR) => continue,
                Err(_) => return Drained::Ended,
            }
            match rustix::io::read(&self.reader, &mut *buffer) {
                Ok(0) => return Drained::Ended,
                Ok(length) => {
                    let room = most.saturating_sub(kept.len()).min(length);
                    kept.extend_from_slice(&buffer[..room]);
                }
                Err(Errno::INTR) => {}
                Err(_) => return Drained::Ended,
            }
        }
        Drained::More
    }

    /// Whether there is something to read, or there never will be; `None` if neither.
    fn is_readable(&self) -> Result<Option<bool>, Errno> {
        let mut asked = [PollFd::new(&self.reader, PollFlags::IN)];
        poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
        let told = asked[0].revents();
        Ok((!told.is_empty()).then(|| told.contains(PollFlags::IN)))
    }

    /// Reads what is left and closes it.
    pub(super) fn close(
        mut self,
        reactor: &Reactor,
        buffer: &mut [u8],
        most: usize,
        kept: &mut Vec<u8>,
    ) -> Drained {
        self.writer = None;
        let last = self.read(buffer, most, kept);
        if self.watched {
            reactor.remove(&mut SourceFd(&self.reader.as_raw_fd()));
        }
        last
    }
}

/// How often a pipe is read before others have their turn.
const READS: u32 = 16;
