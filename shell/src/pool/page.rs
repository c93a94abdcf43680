//! The server of the page: clients that come when nobody is left.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use giveover_core::time::{Instant, Span};
use mio::Interest;
use mio::net::{TcpListener, TcpStream};
use rustix::net::sockopt::set_socket_linger;

use super::guests::Guests;
use super::request::{Client, Served, Serving, Step};
use super::token::{Part, token};
use crate::reactor::{Door, Knock, Reactor, Ready, Token};

/// More clients than this at once are turned away.
const MOST: usize = 1024;
/// A head must have come by then, and who keeps a connection must ask again.
const PATIENCE: Span = Span::from_secs(10);
/// What a client sends besides its request is read for so long,
const DRAIN: Span = Span::from_secs(60);
/// and so much of it.
const MOST_DRAINED: u64 = 1 << 30;
/// So much is read of one client before others have their turn.
const A_TURN: usize = 1 << 20;
/// Those who had their turn go on after this.
const GO_ON: Span = Span::from_millis(1);

/// The listening sockets with what each serves, and the clients.
pub struct Pages {
    listeners: Vec<Listener>,
    guests: Guests<Guest>,
    buffer: Vec<u8>,
    /// Clients that were answered.
    answered: u64,
}

struct Listener {
    address: SocketAddr,
    serving: Serving,
    socket: TcpListener,
    door: Door,
}

struct Guest {
    serving: Serving,
    client: Client,
    unsent: Vec<u8>,
    sent: usize,
    drained: u64,
    until: Instant,
    /// We have said that this was all.
    has_ended: bool,
}

impl Default for Pages {
    fn default() -> Self {
        Self::new()
    }
}

impl Pages {
    /// Nobody is served.
    #[must_use]
    pub fn new() -> Self {
        let guests = Guests::new(Part::PageClient, MOST);
        Self { listeners: Vec::new(), guests, buffer: Vec::new(), answered: 0 }
    }

    /// Serves where it is wanted and what is wanted, and nowhere else. What cannot be listened on
    /// is said.
    pub fn serve(
        &mut self,
        reactor: &mut Reactor,
        wanted: Vec<(SocketAddr, Serving)>,
    ) -> Vec<(SocketAddr, io::Error)> {
        let mut old = std::mem::take(&mut self.listeners);
        let mut failed = Vec::new();
        for (address, serving) in wanted {
            let place = old.iter().position(|known| known.address == address);
            let made = match place {
                Some(place) => {
                    let mut known = old.swap_remove(place);
                    known.door.close(reactor);
                    Ok(known.socket)
                }
                None => TcpListener::bind(address),
            };
            match made {
                Ok(socket) => {
                    let door = Door::new(token(Part::PageListener, 0, 0));
                    self.listeners.push(Listener { address, serving, socket, door });
                }
                Err(error) => failed.push((address, error)),
            }
        }
        for mut gone in old {
            gone.door.close(reactor);
            reactor.remove(&mut gone.socket);
        }
        // Places may have moved.
        for (place, it) in self.listeners.iter_mut().enumerate() {
            let token = token(Part::PageListener, place as u32, 0);
            it.door = Door::new(token);
            let added = reactor
                .change(&mut it.socket, token, Interest::READABLE)
                .or_else(|_| reactor.add(&mut it.socket, token, Interest::READABLE));
            if let Err(error) = added {
                failed.push((it.address, error));
            }
        }
        failed
    }

    /// Whether somebody is served there.
    #[must_use]
    pub fn serves(&self, address: SocketAddr) -> bool {
        self.listeners.iter().any(|known| known.address == address)
    }

    /// How many answers were given.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// A listener is ready: takes all who come.
    pub fn accept(&mut self, reactor: &mut Reactor, place: usize, now: Instant) {
        loop {
            let Some(listener) = self.listeners.get_mut(place) else { return };
            match listener.door.knock(reactor, listener.socket.accept(), now) {
                // Whoever waits for us to speak first must not wait for that.
                Knock::Enter((stream, _)) if listener.serving.served == Served::Reset => {
                    let _ = set_socket_linger(stream.as_fd(), Some(Duration::ZERO));
                    self.answered += 1;
                }
                Knock::Enter((stream, _)) => {
                    let until = now.after(PATIENCE);
                    let guest = Guest {
                        serving: listener.serving.clone(),
                        client: Client::default(),
                        unsent: Vec::new(),
                        sent: 0,
                        drained: 0,
                        until,
                        has_ended: false,
                    };
                    if let Some(token) = self.guests.admit(reactor, stream, guest) {
                        self.arm(reactor, token, until);
                    }
                }
                Knock::Gone => {}
                Knock::Nobody => return,
            }
        }
    }

    /// A listener is tried again.
    pub fn accept_again(&mut self, reactor: &mut Reactor, place: usize, now: Instant) {
        if let Some(listener) = self.listeners.get_mut(place) {
            listener.door.due();
        }
        self.accept(reactor, place, now);
    }

    /// A client is ready.
    pub fn ready(&mut self, reactor: &mut Reactor, place: usize, ready: Ready, now: Instant) {
        self.go_on(reactor, place, ready.token, now);
    }

    /// A client's time has come: it goes on, or its patience has ended.
    pub fn due(&mut self, reactor: &mut Reactor, place: usize, token: Token, now: Instant) {
        let Some(guest) = self.guests.get(place, token) else { return };
        guest.timer = None;
        if now < guest.state.until {
            let until = guest.state.until;
            self.arm(reactor, token, until);
            return self.go_on(reactor, place, token, now);
        }
        let state = &mut guest.state;
        if state.client.is_draining() || !state.client.is_halfway() {
            return self.guests.remove(reactor, place);
        }
        state.client.late(&state.serving, &mut state.unsent);
        self.answered += 1;
        state.until = now.after(DRAIN);
        let until = state.until;
        self.arm(reactor, token, until);
        self.go_on(reactor, place, token, now);
    }

    fn arm(&mut self, reactor: &mut Reactor, token: Token, at: Instant) {
        let Some((_, place)) = super::part(token) else { return };
        let Some(guest) = self.guests.get(place, token) else { return };
        if let Some(timer) = guest.timer.take() {
            reactor.timers.disarm(timer);
        }
        guest.timer = Some(reactor.timers.arm(token, at));
    }

    fn go_on(&mut self, reactor: &mut Reactor, place: usize, token: Token, now: Instant) {
        self.buffer.resize(64 << 10, 0);
        let Some(guest) = self.guests.get(place, token) else { return };
        let mut end = End::None;
        let mut read = 0;
        while end == End::None && read < A_TURN {
            if guest.state.client.waits() {
                match guest.state.push_out(&mut guest.stream) {
                    Sent::Failed => end = End::Reset,
                    Sent::Some => break, // it reads first
                    Sent::All => {
                        let (more, answers) = guest.state.take(&[], now);
                        self.answered += answers;
                        end = more;
                    }
                }
                continue;
            }
            match guest.stream.read(&mut self.buffer) {
                Ok(0) => end = End::Orderly,
                Ok(count) => {
                    read += count;
                    let bytes = self.buffer.get(..count).unwrap_or_default();
                    let (more, answers) = guest.state.take(bytes, now);
                    self.answered += answers;
                    end = more;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => end = End::Reset,
            }
        }
        let until = guest.state.until;
        // A page that is not sent yet is sent to its end, though the client will say no more.
        match guest.state.push_out(&mut guest.stream) {
            Sent::Failed => end = End::Reset,
            Sent::All if end == End::Orderly => {}
            Sent::Some if end == End::Orderly => end = End::None,
            Sent::All | Sent::Some => {}
        }
        match end {
            End::None => {
                let at = if read >= A_TURN { now.after(GO_ON) } else { until };
                self.arm(reactor, token, at);
            }
            End::Orderly => self.guests.remove(reactor, place),
            End::Reset => {
                if let Some(guest) = self.guests.get(place, token) {
                    let _ = set_socket_linger(guest.stream.as_fd(), Some(Duration::ZERO));
                }
                self.guests.remove(reactor, place);
            }
        }
    }
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    None,
    Orderly,
    Reset,
}

/// How much of what is to be sent is sent.
enum Sent {
    All,
    Some,
    Failed,
}

impl Guest {
    /// Takes what was read; says how many answers that led to.
    fn take(&mut self, bytes: &[u8], now: Instant) -> (End, u64) {
        if self.client.is_draining() {
            self.drained += bytes.len() as u64;
            return (if self.drained > MOST_DRAINED { End::Orderly } else { End::None }, 0);
        }
        self.unsent.drain(..std::mem::take(&mut self.sent));
        let before = self.unsent.len();
        let step = self.client.take(bytes, &self.serving, &mut self.unsent);
        let answers = u64::from(self.unsent.len() > before);
        match step {
            Step::Read => {}
            Step::Answered => self.until = now.after(PATIENCE),
            Step::Drain => self.until = now.after(DRAIN),
            Step::Reset => return (End::Reset, 0),
        }
        (End::None, answers)
    }

    fn push_out(&mut self, stream: &mut TcpStream) -> Sent {
        while let Some(rest) = self.unsent.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest) {
                Ok(0) => return Sent::Failed,
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Sent::Some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Sent::Failed,
            }
        }
        self.unsent.clear();
        self.sent = 0;
        if self.client.is_draining() && !self.has_ended {
            self.has_ended = true;
            let _ = stream.shutdown(Shutdown::Write); // or the other side is gone, and we hear it
        }
        Sent::All
    }
}
