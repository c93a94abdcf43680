//! Where clients come in: what an `accept` came to, and what is done where there are no means for one
//! more.
//!
//! Listeners are heard by edges. One who waits in the kernel's queue because we had no descriptor
//! makes no other edge, so a timer looks again: nobody waits for the next one to come.

use std::io;

use giveover_core::time::{Instant, Span};

use super::{Reactor, Timer, Token};

/// Who could not be let in is tried again after this.
const AGAIN: Span = Span::from_millis(200);

/// What `accept` came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Knock<S> {
    /// Somebody is there.
    Enter(S),
    /// Who was there has gone; there may be others.
    Gone,
    /// Nobody is there now, or nobody can be let in; a wake-up comes.
    Nobody,
}

/// The door of one listener.
#[derive(Debug)]
pub struct Door {
    token: Token,
    again: Option<Timer>,
}

impl Door {
    /// That of the listener with this token, which its timer has too.
    #[must_use]
    pub const fn new(token: Token) -> Self {
        Self { token, again: None }
    }

    /// What the listener's `accept` came to.
    pub fn knock<S>(
        &mut self,
        reactor: &mut Reactor,
        accepted: io::Result<S>,
        now: Instant,
    ) -> Knock<S> {
        match accepted {
            Ok(stream) => Knock::Enter(stream),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock => Knock::Nobody,
                io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => Knock::Gone,
                // No descriptors, no memory.
                _ => {
                    let again = || reactor.timers.arm(self.token, now.after(AGAIN));
                    self.again.get_or_insert_with(again);
                    Knock::Nobody
                }
            },
        }
    }

    /// Its timer has come: `accept` is to be tried.
    pub const fn due(&mut self) {
        self.again = None;
    }

    /// The listener is closed.
    pub fn close(&mut self, reactor: &mut Reactor) {
        if let Some(timer) = self.again.take() {
            reactor.timers.disarm(timer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Room;
    use super::*;

    #[test]
    fn without_descriptors_one_timer_looks_again_however_many_come() {
        let mut reactor = Reactor::new().expect("a reactor");
        let mut door = Door::new(Token::new(Room::Web, 7, 0));
        let now = Instant::from_millis(1000);
        let lack = || Err::<(), _>(io::Error::from_raw_os_error(24));
        assert_eq!(door.knock(&mut reactor, lack(), now), Knock::Nobody);
        assert_eq!(door.knock(&mut reactor, lack(), now), Knock::Nobody);
        assert_eq!(reactor.timers.len(), 1);
        assert_eq!(reactor.timers.next(), Some(Instant::from_millis(1200)));
        door.due();
        assert_eq!(door.knock(&mut reactor, Ok(5), now), Knock::Enter(5));
        let gone = Err::<(), _>(io::ErrorKind::ConnectionAborted.into());
        assert_eq!(door.knock(&mut reactor, gone, now), Knock::Gone);
        door.close(&mut reactor);
    }
}
