//! Work that may hang, as a look at a file whose mount is dead, on a thread of its own.
//!
//! The loop asks for it and is woken when it is done. Work that never ends keeps its thread and nobody
//! else; it ends with the process.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use mio::Interest;
use mio::unix::SourceFd;
use rustix::event::{EventfdFlags, eventfd};

use super::{Reactor, Token};

/// A thread that does the same work each time it is asked.
#[derive(Debug)]
pub struct Aside<T> {
    requests: Sender<()>,
    replies: Receiver<T>,
    /// Rung after each reply.
    bell: Arc<OwnedFd>,
    /// It was asked, and has not answered.
    asked: bool,
}

impl<T: Send + 'static> Aside<T> {
    /// A thread for `work`, not asked yet. The loop is woken with `token` at each answer.
    ///
    /// # Errors
    /// There is no descriptor or no thread to be had; nothing was begun.
    pub fn start(
        reactor: &Reactor,
        token: Token,
        name: &str,
        mut work: impl FnMut() -> T + Send + 'static,
    ) -> io::Result<Self> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (requests, asked) = channel::<()>();
        let (answers, replies) = channel();
        reactor.add(&mut SourceFd(&bell.as_raw_fd()), token, Interest::READABLE)?;
        let ring = bell.clone();
        let each = move || {
            for () in asked {
                if answers.send(work()).is_err() {
                    return;
                }
                let _ = rustix::io::write(&*ring, &1_u64.to_ne_bytes());
            }
        };
        match std::thread::Builder::new().name(name.to_owned()).spawn(each) {
            Ok(_) => Ok(Self { requests, replies, bell, asked: false }),
            Err(error) => {
                reactor.remove(&mut SourceFd(&bell.as_raw_fd()));
                Err(error)
            }
        }
    }

    /// Has it work once more, unless it is at it. False if its thread has ended, by a panic.
    pub fn ask(&mut self) -> bool {
        if !self.asked {
            self.asked = self.requests.send(()).is_ok();
        }
        self.asked
    }

    /// Whether it was asked and has not answered.
    #[must_use]
    pub const fn is_asked(&self) -> bool {
        self.asked
    }

    /// Its answer, if it has one.
    pub fn answer(&mut self) -> Option<T> {
        // The bell only says that something is there; replies are counted by the channel.
        let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
        let answer = self.replies.try_recv().ok()?;
        self.asked = false;
        Some(answer)
    }

    /// Lets go of it: the loop hears of it no more, and its thread ends once its work does.
    pub fn end(self, reactor: &Reactor) {
        reactor.remove(&mut SourceFd(&self.bell.as_raw_fd()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reactor::{Ready, Room};

    #[test]
    fn it_works_each_time_it_is_asked_and_wakes_the_loop() {
        let mut reactor = Reactor::new().expect("a reactor");
        let token = Token::new(Room::Resolver, 7, 0);
        let mut count = 0;
        let work = move || {
            count += 1;
            count
        };
        let mut aside = Aside::start(&reactor, token, "test", work).expect("a thread");
        assert_eq!((aside.answer(), aside.is_asked()), (None, false));
        for wanted in 1..=3 {
            assert!(aside.ask() && aside.ask(), "once is enough");
            let mut ready: Vec<Ready> = Vec::new();
            while ready.is_empty() {
                reactor.wait(Some(Duration::from_secs(20)), &mut ready).expect("events");
            }
            assert_eq!(ready[0].token, token);
            assert_eq!((aside.answer(), aside.is_asked()), (Some(wanted), false));
        }
        aside.end(&reactor);
    }

    #[test]
    fn one_that_hangs_is_let_go_of() {
        let reactor = Reactor::new().expect("a reactor");
        let token = Token::new(Room::Resolver, 0, 0);
        let hang = || loop {
            std::thread::park();
        };
        let mut aside: Aside<()> = Aside::start(&reactor, token, "test", hang).expect("a thread");
        assert!(aside.ask());
        assert!(aside.is_asked() && aside.answer().is_none());
        aside.end(&reactor);
    }
}
