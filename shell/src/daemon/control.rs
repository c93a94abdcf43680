//! The control socket: who is connected, what they asked, what they are sent.
//!
//! Clients are bounded in number, in what they send and in what they leave unread; none of them
//! can make the loop wait.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use giveover_core::time::{Instant, Span};
use mio::Interest;
use mio::net::{UnixListener, UnixStream};

use super::events::is_of;
use super::http::{self, Ask, EventsAsk, Parsed};
use super::rights::Peer;
use crate::reactor::{Door, Knock, Reactor, Ready, Room, Timer, Token};
use crate::report::model::EventDoc;

/// More clients than this wait in the kernel's queue.
const MOST_CLIENTS: usize = 128;
/// A client that follows and leaves more than this unread is cut off.
const MOST_UNREAD: usize = 4 << 20;
/// A request must be complete within this.
const PATIENCE: Span = Span::from_secs(10);
/// The token index of the listener; clients have theirs from 0.
const LISTENER: u32 = 0xF_FFFF;

/// A client, as long as it is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientId(Token);

struct Client {
    stream: UnixStream,
    peer: Peer,
    token: Token,
    /// Cuts it off if its request is not complete in time.
    timer: Timer,
    received: Vec<u8>,
    unsent: Vec<u8>,
    /// So much of it is sent.
    sent: usize,
    /// What is waited for.
    state: State,
}

enum State {
    /// The rest of the request, until then.
    Request { until: Instant },
    /// The daemon's answer.
    Answer,
    /// Events as they come.
    Following(EventsAsk),
    /// Everything to be sent, then the end.
    Closing,
}

/// The listening socket and its clients.
pub(super) struct Control {
    path: PathBuf,
    listener: UnixListener,
    clients: Vec<Option<Client>>,
    generation: u32,
    door: Door,
}

impl Control {
    /// Listens at `path`, mode 0660. A socket nobody answers at is replaced.
    ///
    /// # Errors
    /// The path cannot be bound, or another daemon answers there (`AddrInUse`).
    pub(super) fn bind(reactor: &Reactor, path: &Path) -> io::Result<Self> {
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
        reactor.add(&mut listener, Token::new(Room::Control, LISTENER, 0), Interest::READABLE)?;
        Ok(Self {
            path: path.to_owned(),
            listener,
            clients: Vec::new(),
            generation: 0,
            door: Door::new(Token::new(Room::Control, LISTENER, 0)),
        })
    }

    /// A source is ready; complete requests are put into `asked`.
    pub(super) fn ready(
        &mut self,
        reactor: &mut Reactor,
        ready: Ready,
        now: Instant,
        asked: &mut Vec<(ClientId, Peer, Ask)>,
    ) {
        if ready.token.index == LISTENER {
            self.accept(reactor, now);
            return;
        }
        let Some(client) = self.client_mut(ready.token) else { return };
        if ready.readable {
            if let Some(ask) = client.read() {
                reactor.timers.disarm(client.timer); // or it wakes us for nothing
                asked.push((ClientId(client.token), client.peer.clone(), ask));
            }
        }
        self.push_out(reactor, ready.token);
    }

    /// A timer of this room: clients that never finished their request are cut off, and those who
    /// could not be let in are tried again.
    pub(super) fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        if token.index == LISTENER {
            self.door.due();
            return self.accept(reactor, now);
        }
        let late = self
            .client_mut(token)
            .is_some_and(|client| matches!(client.state, State::Request { until } if now >= until));
        if late {
            self.remove(reactor, token);
        }
    }

    /// Answers `client` with a whole document and ends the connection.
    pub(super) fn answer(
        &mut self,
        reactor: &mut Reactor,
        client: ClientId,
        status: u16,
        body: &[u8],
    ) {
        let Some(client) = self.client_mut(client.0) else { return };
        let head = http::head(status, "application/json", Some(body.len()));
        client.unsent.extend_from_slice(head.as_bytes());
        client.unsent.extend_from_slice(body);
        client.state = State::Closing;
        let token = client.token;
        self.push_out(reactor, token);
    }

    /// Begins a stream of events to `client`, with those of the past first.
    pub(super) fn follow<'a>(
        &mut self,
        reactor: &mut Reactor,
        client: ClientId,
        ask: EventsAsk,
        past: impl Iterator<Item = &'a EventDoc>,
    ) {
        let Some(client) = self.client_mut(client.0) else { return };
        client.unsent.extend_from_slice(http::head(200, "text/event-stream", None).as_bytes());
        past.for_each(|event| client.send_event(event));
        client.state = State::Following(ask);
        let token = client.token;
        self.push_out(reactor, token);
    }

    /// Sends `event` to all who follow it.
    pub(super) fn publish(&mut self, reactor: &mut Reactor, event: &EventDoc) {
        for place in 0..self.clients.len() {
            let Some(client) = self.clients[place].as_mut() else { continue };
            let wants = match &client.state {
                State::Following(ask) => {
                    let mut names = ask.services.iter();
                    ask.services.is_empty() || names.any(|name| is_of(&event.service, name))
                }
                _ => false,
            };
            if wants {
                client.send_event(event);
                let token = client.token;
                self.push_out(reactor, token);
            }
        }
    }

    /// Removes the socket's file; the daemon ends.
    pub(super) fn close(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    fn accept(&mut self, reactor: &mut Reactor, now: Instant) {
        // Edge-triggered: take all there are. Past the limit they are turned away at once, or
        // the edge would never come again.
        loop {
            match self.door.knock(reactor, self.listener.accept(), now) {
                Knock::Enter((stream, _)) => {
                    let connected = self.clients.iter().flatten().count();
                    if connected < MOST_CLIENTS {
                        self.admit(reactor, stream, now);
                    }
                }
                Knock::Gone => {}
                Knock::Nobody => return,
            }
        }
    }

    fn admit(&mut self, reactor: &mut Reactor, mut stream: UnixStream, now: Instant) {
        let Ok(credentials) = nix::sys::socket::getsockopt(
            &stream.as_fd(),
            nix::sys::socket::sockopt::PeerCredentials,
        ) else {
            return;
        };
        let peer = Peer { uid: credentials.uid(), gid: credentials.gid(), pid: credentials.pid() };
        let place = self.clients.iter().position(Option::is_none).unwrap_or_else(|| {
            self.clients.push(None);
            self.clients.len() - 1
        });
        self.generation = self.generation.wrapping_add(1);
        let token = Token::new(Room::Control, place as u32, self.generation);
        let both = Interest::READABLE | Interest::WRITABLE;
        if reactor.add(&mut stream, token, both).is_err() {
            return;
        }
        let until = now.after(PATIENCE);
        let timer = reactor.timers.arm(token, until);
        self.clients[place] = Some(Client {
            stream,
            peer,
            token,
            timer,
            received: Vec::new(),
            unsent: Vec::new(),
            sent: 0,
            state: State::Request { until },
        });
    }

    fn client_mut(&mut self, token: Token) -> Option<&mut Client> {
        let client = self.clients.get_mut(token.index as usize)?.as_mut()?;
        (client.token == token).then_some(client)
    }

    /// Sends what can be sent; ends the connection when that was all, or when it is broken.
    fn push_out(&mut self, reactor: &mut Reactor, token: Token) {
        let Some(client) = self.client_mut(token) else { return };
        if client.write().is_err() || client.is_done() {
            self.remove(reactor, token);
        }
    }

    fn remove(&mut self, reactor: &mut Reactor, token: Token) {
        let Some(slot) = self.clients.get_mut(token.index as usize) else { return };
        if let Some(mut client) = slot.take() {
            reactor.timers.disarm(client.timer);
            // Before the descriptor is closed: see `Reactor::registry`.
            let _ = reactor.registry().deregister(&mut client.stream);
        }
    }
}

impl Client {
    fn read(&mut self) -> Option<Ask> {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    self.state = State::Closing;
                    self.unsent.clear();
                    self.sent = 0;
                    return None;
                }
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.state = State::Closing;
                    self.unsent.clear();
                    self.sent = 0;
                    return None;
                }
            }
            if self.received.len() > 2 * http::MAX_REQUEST {
                break;
            }
        }
        if !matches!(self.state, State::Request { .. }) {
            self.received.clear(); // one request a connection
            return None;
        }
        match http::parse(&self.received) {
            Parsed::Partial => None,
            Parsed::Complete(ask) => {
                self.state = State::Answer;
                Some(ask)
            }
            Parsed::Refused(status, why) => {
                let body = serde_json::json!({ "error": why }).to_string();
                let head = http::head(status, "application/json", Some(body.len()));
                self.unsent.extend_from_slice(head.as_bytes());
                self.unsent.extend_from_slice(body.as_bytes());
                self.state = State::Closing;
                None
            }
        }
    }

    fn send_event(&mut self, event: &EventDoc) {
        if let Ok(json) = serde_json::to_string(event) {
            self.unsent.extend_from_slice(format!("data: {json}\n\n").as_bytes());
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while self.sent < self.unsent.len() {
            match self.stream.write(&self.unsent[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.sent = 0;
        }
        // Whoever asks for a document gets all of it; only a stream can grow without end.
        let follows = matches!(self.state, State::Following(_));
        if follows && self.unsent.len() - self.sent > MOST_UNREAD {
            Err(io::ErrorKind::OutOfMemory.into())
        } else {
            Ok(())
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.state, State::Closing) && self.unsent.is_empty()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "client on descriptor {}", self.stream.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as Stream;
    use std::time::Duration;

    use super::*;

    /// Turns until `done`.
    fn turn_until(
        reactor: &mut Reactor,
        control: &mut Control,
        done: impl Fn(&Control, &[Ask]) -> bool,
    ) {
        let mut asked = Vec::new();
        let mut heard = Vec::new();
        while !done(control, &heard) {
            let mut ready = Vec::new();
            reactor.wait(Some(Duration::from_secs(30)), &mut ready).expect("a wait");
            assert!(!ready.is_empty(), "nothing came in 30 s");
            for ready in ready {
                control.ready(reactor, ready, Instant::from_millis(0), &mut asked);
            }
            heard.extend(asked.drain(..).map(|(_, _, ask)| ask));
        }
    }

    fn connected(control: &Control) -> usize {
        control.clients.iter().flatten().count()
    }

    /// A wake-up ten seconds later that finds nobody is one with nothing due.
    #[test]
    fn nothing_is_due_for_a_client_that_has_gone_or_has_asked() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("control.sock");
        let mut reactor = Reactor::new().expect("a reactor");
        let mut control = Control::bind(&reactor, &path).expect("a socket");

        let client = Stream::connect(&path).expect("connected");
        turn_until(&mut reactor, &mut control, |control, _| connected(control) == 1);
        assert_eq!(reactor.timers.len(), 1, "it must ask in time");
        drop(client);
        turn_until(&mut reactor, &mut control, |control, _| connected(control) == 0);
        assert!(reactor.timers.is_empty());

        let mut client = Stream::connect(&path).expect("connected");
        client.write_all(b"GET /status.json HTTP/1.1\r\nHost: x\r\n\r\n").expect("asked");
        turn_until(&mut reactor, &mut control, |_, heard| !heard.is_empty());
        assert!(reactor.timers.is_empty());
    }
}
