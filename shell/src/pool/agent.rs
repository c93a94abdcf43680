//! The server of agent checks: HAProxy connects, says which member it means, and is answered.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::SocketAddr;

use giveover_core::time::{Instant, Span};
use mio::Interest;
use mio::net::TcpListener;

use super::guests::Guests;
use super::token::{Part, token};
use crate::reactor::{Door, Knock, Reactor, Ready, Token};

/// More checks at once than any HAProxy has members here.
const MOST: usize = 512;
/// Who has said nothing by then is sent away, and so is who does not go.
const PATIENCE: Span = Span::from_secs(3);
/// `POOL/MEMBER`, two names of 64.
const LONGEST: usize = 256;

/// The listening sockets, and the checks under way.
pub struct Agents {
    listeners: Vec<(SocketAddr, TcpListener, Door)>,
    guests: Guests<Check>,
    /// What was asked for and is not there, said once each.
    unknown: HashSet<String>,
}

#[derive(Default)]
struct Check {
    heard: Vec<u8>,
    answer: Vec<u8>,
    sent: usize,
    answered: bool,
}

impl Default for Agents {
    fn default() -> Self {
        Self::new()
    }
}

impl Agents {
    /// Nobody listens.
    #[must_use]
    pub fn new() -> Self {
        let guests = Guests::new(Part::AgentClient, MOST);
        Self { listeners: Vec::new(), guests, unknown: HashSet::new() }
    }

    /// Listens where it is wanted, and nowhere else. What cannot be listened on is said.
    pub fn listen(
        &mut self,
        reactor: &mut Reactor,
        wanted: &[SocketAddr],
    ) -> Vec<(SocketAddr, io::Error)> {
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut self.listeners)
            .into_iter()
            .partition(|(address, ..)| wanted.contains(address));
        self.listeners = kept;
        for (_, mut listener, mut door) in gone {
            door.close(reactor);
            reactor.remove(&mut listener);
        }
        self.unknown.clear();
        let mut failed = Vec::new();
        for address in wanted {
            if self.listens(*address) {
                continue;
            }
            match TcpListener::bind(*address) {
                Ok(listener) => {
                    let door = Door::new(token(Part::AgentListener, 0, 0));
                    self.listeners.push((*address, listener, door));
                }
                Err(error) => failed.push((*address, error)),
            }
        }
        // Places may have moved.
        for (place, (address, listener, door)) in self.listeners.iter_mut().enumerate() {
            let token = token(Part::AgentListener, place as u32, 0);
            door.close(reactor);
            *door = Door::new(token);
            let added = reactor
                .change(listener, token, Interest::READABLE)
                .or_else(|_| reactor.add(listener, token, Interest::READABLE));
            if let Err(error) = added {
                failed.push((*address, error));
            }
        }
        failed
    }

    /// Whether somebody listens there.
    #[must_use]
    pub fn listens(&self, address: SocketAddr) -> bool {
        self.listeners.iter().any(|(known, ..)| *known == address)
    }

    /// A listener is ready: takes all who come.
    pub fn accept(&mut self, reactor: &mut Reactor, place: usize, now: Instant) {
        loop {
            let Some((_, listener, door)) = self.listeners.get_mut(place) else { return };
            match door.knock(reactor, listener.accept(), now) {
                Knock::Enter((stream, _)) => {
                    if let Some(token) = self.guests.admit(reactor, stream, Check::default()) {
                        let timer = reactor.timers.arm(token, now.after(PATIENCE));
                        if let Some((_, place)) = super::part(token) {
                            if let Some(guest) = self.guests.get(place, token) {
                                guest.timer = Some(timer);
                            }
                        }
                    }
                }
                Knock::Gone => {}
                Knock::Nobody => return,
            }
        }
    }

    /// A listener is tried again.
    pub fn accept_again(&mut self, reactor: &mut Reactor, place: usize, now: Instant) {
        if let Some((.., door)) = self.listeners.get_mut(place) {
            door.due();
        }
        self.accept(reactor, place, now);
    }

    /// A check is ready. `answer` says what to tell of `POOL/MEMBER`; one that there is not is
    /// told nothing, which changes nothing there, and returned when it is asked for first.
    pub fn ready(
        &mut self,
        reactor: &mut Reactor,
        place: usize,
        ready: Ready,
        answer: &dyn Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let guest = self.guests.get(place, ready.token)?;
        let mut unknown = None;
        let mut over = false;
        let mut buffer = [0; 512];
        loop {
            match guest.stream.read(&mut buffer) {
                Ok(0) => {
                    over = true;
                    break;
                }
                Ok(_) if guest.state.answered => {} // whatever comes after is nothing
                Ok(count) => {
                    let heard = buffer.get(..count).unwrap_or_default();
                    guest.state.heard.extend_from_slice(heard);
                    if guest.state.heard.len() > LONGEST {
                        over = true;
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    over = true;
                    break;
                }
            }
        }
        let end = guest.state.heard.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        if let (Some(end), false) = (end, guest.state.answered) {
            guest.state.answered = true;
            let line = guest.state.heard.get(..end).unwrap_or_default();
            let line = String::from_utf8_lossy(line).into_owned();
            match answer(&line) {
                Some(text) => guest.state.answer = text.into_bytes(),
                None => {
                    over = true;
                    if self.unknown.len() < MOST && self.unknown.insert(line.clone()) {
                        unknown = Some(line);
                    }
                }
            }
        }
        if let Some(guest) = self.guests.get(place, ready.token) {
            over |= guest.state.push_out(&mut guest.stream);
        }
        if over {
            self.guests.remove(reactor, place);
        }
        unknown
    }

    /// A check has taken too long.
    pub fn due(&mut self, reactor: &mut Reactor, place: usize, token: Token) {
        if let Some(guest) = self.guests.get(place, token) {
            guest.timer = None;
            self.guests.remove(reactor, place);
        }
    }

    /// How many checks are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.guests.len()
    }
}

impl Check {
    /// Sends what is left to be sent; when that was all, says so, and waits for the other side to
    /// go. True once there is nobody to send to.
    fn push_out(&mut self, stream: &mut mio::net::TcpStream) -> bool {
        while let Some(rest) = self.answer.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest) {
                Ok(0) => return true,
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
        if self.sent > 0 && self.sent == self.answer.len() {
            return stream.shutdown(std::net::Shutdown::Write).is_err();
        }
        false
    }
}
