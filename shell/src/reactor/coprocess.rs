//! A program that is kept running and spoken with, line by line.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use mio::Interest;
use mio::unix::SourceFd;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::children::lack;
use super::{Child, Instance, Program, Reactor, SpawnError, Stdio, Token, Tree};

/// A program that runs. It is to be given up with [`Coprocess::end`].
#[derive(Debug)]
pub struct Coprocess {
    child: Child,
    instance: Instance,
    input: OwnedFd,
    output: OwnedFd,
}

impl Coprocess {
    /// Runs `program`. The owner of `token` is woken when it says something, and when it can be
    /// told more.
    ///
    /// # Errors
    /// No child was made; see [`SpawnError`].
    pub fn start(
        reactor: &mut Reactor,
        program: &mut Program,
        token: Token,
    ) -> Result<Self, SpawnError> {
        let (its_input, input) = pipe_with(PipeFlags::CLOEXEC).map_err(lack)?;
        let (output, its_output) = pipe_with(PipeFlags::CLOEXEC).map_err(lack)?;
        // Only our ends: the others are the program's, and programs do not expect that.
        fcntl_setfl(&input, OFlags::NONBLOCK).map_err(lack)?;
        fcntl_setfl(&output, OFlags::NONBLOCK).map_err(lack)?;
        let instance = reactor.children.instance();
        let stdio = Stdio { input: Some(its_input.as_fd()), output: Some(its_output.as_fd()) };
        let child = reactor.children.spawn(program, instance, stdio)?;
        let coprocess = Self { child, instance, input, output };
        let watched = reactor
            .add(&mut SourceFd(&coprocess.output.as_raw_fd()), token, Interest::READABLE)
            .and_then(|()| {
                reactor.add(&mut SourceFd(&coprocess.input.as_raw_fd()), token, Interest::WRITABLE)
            });
        match watched {
            Ok(()) => Ok(coprocess),
            Err(error) => {
                coprocess.end(reactor);
                Err(os(&error))
            }
        }
    }

    /// Says what there is room for. If it has ended that is heard at its output.
    ///
    /// # Errors
    /// The kernel's own, EAGAIN if there is no room.
    pub fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        rustix::io::write(&self.input, bytes)
    }

    /// Reads what there is; zero bytes are the end.
    ///
    /// # Errors
    /// The kernel's own, EAGAIN if there is nothing yet.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::read(&self.output, buffer)
    }

    /// Ends it with all it started. It is reaped when it is gone.
    pub fn end(self, reactor: &mut Reactor) {
        reactor.remove(&mut SourceFd(&self.output.as_raw_fd()));
        reactor.remove(&mut SourceFd(&self.input.as_raw_fd()));
        let mut tree = Tree::new(self.instance);
        tree.root(self.child.pid());
        let _ = tree.kill(&reactor.children);
        let _ = reactor.children.reap(self.child);
    }
}

fn os(error: &io::Error) -> SpawnError {
    lack(Errno::from_io_error(error).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::Room;

    #[test]
    fn a_program_answers_until_it_is_ended() {
        let mut reactor = Reactor::new().expect("a reactor");
        let environment = reactor.children.environment().clone();
        let mut cat = Program::new(&["cat"], &environment).expect("a program");
        let token = Token::new(Room::Database, 1, 1);
        let coprocess = Coprocess::start(&mut reactor, &mut cat, token).expect("a child");
        let mut ready = Vec::new();
        let mut heard = Vec::new();
        assert_eq!(coprocess.send(b"hello\n"), Ok(6));
        while heard != b"hello\n" {
            reactor.wait(None, &mut ready).expect("a wait");
            let mut buffer = [0; 16];
            if let Ok(length) = coprocess.receive(&mut buffer) {
                heard.extend_from_slice(&buffer[..length]);
            }
        }
        let pid = coprocess.child.pid();
        coprocess.end(&mut reactor);
        assert!(!reactor.children.owns(pid));
        while reactor.children.orphans().contains(&pid) {
            let _ = reactor.children.reap_orphans();
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_no_lack_of_ours() {
        let mut reactor = Reactor::new().expect("a reactor");
        let environment = reactor.children.environment().clone();
        let mut none = Program::new(&["/no/such/program"], &environment).expect("a program");
        let token = Token::new(Room::Database, 1, 1);
        let error = Coprocess::start(&mut reactor, &mut none, token).expect_err("none");
        assert!(matches!(error, SpawnError::CannotRun(_)));
    }
}
