//! What a file holds that may lie where nothing answers: read beside the loop each time it is asked
//! for, and kept. While it does not answer, what was read before will do.

use std::io;

use giveover_core::time::{Instant, Span};

use super::{Aside, Reactor, Room, Token};

/// A file that has not answered for so long hangs.
const HANGS_AFTER: Span = Span::from_secs(1);

/// What was read of a file, and who reads it.
#[derive(Debug)]
pub struct Kept<T> {
    known: Option<T>,
    thread: Option<Aside<T>>,
    /// Since when it is being read.
    since: Instant,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { known: None, thread: None, since: Instant::from_millis(0) }
    }
}

impl<T: Send + 'static> Kept<T> {
    /// Has it read, unless that is under way: by `reader`, made when it is first needed, on a thread
    /// called `name`. Then as [`Kept::is_awaited`].
    ///
    /// # Errors
    /// There is no descriptor or no thread to be had; it is tried again when it is asked for again.
    pub fn ask<R: FnMut() -> T + Send + 'static>(
        &mut self,
        reactor: &Reactor,
        name: &str,
        now: Instant,
        reader: impl FnOnce() -> R,
    ) -> io::Result<bool> {
        if self.is_reading() {
            return Ok(self.is_awaited(now));
        }
        let thread = match self.thread.take() {
            Some(thread) => thread,
            None => Aside::start(reactor, Token::new(Room::Resolver, 0, 0), name, reader())?,
        };
        self.since = now;
        Ok(self.thread.insert(thread).ask())
    }

    /// Whether it is being read.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        self.thread.as_ref().is_some_and(Aside::is_asked)
    }

    /// Whether it has not answered for long.
    #[must_use]
    pub fn hangs(&self, now: Instant) -> bool {
        self.is_reading() && now.since(self.since) >= u64::from(HANGS_AFTER.as_millis())
    }

    /// Whether an answer is to be waited for: it may still come, or nothing was read before. The loop
    /// will wake with [`Room::Resolver`].
    #[must_use]
    pub fn is_awaited(&self, now: Instant) -> bool {
        self.is_reading() && (self.known.is_none() || !self.hangs(now))
    }

    /// Takes what was read. True if anything was.
    pub fn hear(&mut self) -> bool {
        let read = self.thread.as_mut().and_then(Aside::answer);
        let any = read.is_some();
        self.known = read.or(self.known.take());
        any
    }

    /// What was read last, however old.
    #[must_use]
    pub const fn known(&self) -> Option<&T> {
        self.known.as_ref()
    }

    /// What there is to know instead, where it cannot even be asked for.
    pub fn set(&mut self, known: T) {
        self.known = Some(known);
    }

    /// Lets go of it: the loop hears of it no more.
    pub fn let_go(&mut self, reactor: &Reactor) {
        if let Some(thread) = self.thread.take() {
            thread.end(reactor);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Answers what is sent to it, and hangs until something is.
    fn of(file: Receiver<u32>) -> impl FnMut() -> u32 + Send + 'static {
        move || file.recv().unwrap_or_default()
    }

    #[test]
    fn what_was_read_before_will_do_once_the_file_has_hung_for_long() {
        let mut reactor = Reactor::new().expect("a reactor");
        let (answer, file) = channel();
        let mut file = Some(file);
        let mut kept: Kept<u32> = Kept::default();
        let mut ask = |kept: &mut Kept<u32>, ms| {
            let reader = || of(file.take().expect("one thread is enough"));
            kept.ask(&reactor, "test", at(ms), reader).expect("a thread")
        };
        assert!(ask(&mut kept, 5));
        assert!(ask(&mut kept, 90_000), "nothing is known");
        answer.send(7).expect("it reads");
        let mut ready = Vec::new();
        while !kept.hear() {
            ready.clear();
            reactor.wait(Some(Duration::from_secs(20)), &mut ready).expect("events");
            assert!(!ready.is_empty(), "no answer in 20 s");
        }
        assert!(!kept.is_reading() && !kept.hear());
        assert_eq!(kept.known(), Some(&7));
        let ask = |kept: &mut Kept<u32>, ms| {
            kept.ask(&reactor, "test", at(ms), || || 0).expect("it has its thread")
        };
        assert!(ask(&mut kept, 100_000) && ask(&mut kept, 100_999), "it may still answer");
        assert!(!ask(&mut kept, 101_000) && kept.is_reading());
        assert_eq!(kept.known(), Some(&7));
        kept.let_go(&reactor);
        assert!(!kept.is_reading());
    }
}
