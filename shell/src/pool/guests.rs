//! Who is connected: bounded in number, each known by a token that nobody has after it.

use mio::Interest;
use mio::net::TcpStream;

use super::token::{Part, token};
use crate::reactor::{Reactor, Timer, Token};

/// One of them.
pub(super) struct Guest<T> {
    pub(super) stream: TcpStream,
    pub(super) token: Token,
    pub(super) timer: Option<Timer>,
    pub(super) state: T,
}

/// All of them.
pub(super) struct Guests<T> {
    part: Part,
    most: usize,
    places: Vec<Option<Guest<T>>>,
    generation: u32,
}

impl<T> Guests<T> {
    pub(super) const fn new(part: Part, most: usize) -> Self {
        Self { part, most, places: Vec::new(), generation: 0 }
    }

    /// Lets one more in; when there are too many it is turned away.
    pub(super) fn admit(
        &mut self,
        reactor: &Reactor,
        mut stream: TcpStream,
        state: T,
    ) -> Option<Token> {
        let place = match self.places.iter().position(Option::is_none) {
            Some(place) => place,
            None if self.places.len() < self.most => {
                self.places.push(None);
                self.places.len() - 1
            }
            None => return None,
        };
        self.generation = self.generation.wrapping_add(1);
        let token = token(self.part, place as u32, self.generation);
        reactor.add(&mut stream, token, Interest::READABLE | Interest::WRITABLE).ok()?;
        *self.places.get_mut(place)? = Some(Guest { stream, token, timer: None, state });
        Some(token)
    }

    /// The one `token` means, if it is still there. `place` is the token's.
    pub(super) fn get(&mut self, place: usize, token: Token) -> Option<&mut Guest<T>> {
        self.places.get_mut(place)?.as_mut().filter(|guest| guest.token == token)
    }

    /// Sends it away.
    pub(super) fn remove(&mut self, reactor: &mut Reactor, place: usize) {
        let Some(mut guest) = self.places.get_mut(place).and_then(Option::take) else { return };
        if let Some(timer) = guest.timer {
            reactor.timers.disarm(timer);
        }
        reactor.remove(&mut guest.stream);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.iter().flatten().count()
    }
}
