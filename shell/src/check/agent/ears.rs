//! Where heartbeats are heard: datagram sockets, and listeners whose connections bring lines.
//!
//! Bounded whatever comes: so many connections, of each no more than one line kept, and so much
//! read before others have their turn.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use giveover_core::time::{Instant, Span};
use mio::Interest;
use mio::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use mio::unix::SourceFd;

use super::beat::LONGEST;
use crate::config::agent::{AgentPlan, Transport};
use crate::config::plan::{CheckPlan, Host};
use crate::reactor::{Reactor, Room, Token};

/// Most connections at one place; the one that said nothing for longest makes room for another.
const MOST_CONNECTIONS: usize = 256;
/// So many datagrams, connections or reads before others have their turn.
const MOST_AT_ONCE: usize = 64;
/// And so soon it goes on.
const SOON: Span = Span::from_millis(1);
/// A place without the means for a connection is tried again after this.
const AGAIN: Span = Span::from_millis(200);
/// Connections have their indices from here.
const CONNECTIONS: u32 = 1 << 12;

/// A place where heartbeats are heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// How.
    pub transport: Transport,
    /// Where; nowhere for UNIX sockets, which have their path.
    pub address: Option<SocketAddr>,
}

impl At {
    /// Where the check hears; `None` while it has no address.
    #[must_use]
    pub fn of(agent: &AgentPlan, check: &CheckPlan) -> Option<Self> {
        let transport = agent.transport.clone();
        if let Transport::Unix(_) = transport {
            return Some(Self { transport, address: None });
        }
        let target = check.targets.first()?;
        let Host::Address(ip) = target.host else { return None };
        Some(Self { transport, address: Some(SocketAddr::new(ip, target.port)) })
    }
}

/// What was heard: at which place, and the bytes of one heartbeat.
pub type Words = (At, Vec<u8>);

enum Ear {
    Udp(UdpSocket),
    Tcp(TcpListener),
    Unix(UnixListener),
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

struct Connection {
    stream: Stream,
    /// The place it came to, by its slot.
    ear: u32,
    generation: u32,
    /// Of a line that is not complete.
    line: Vec<u8>,
    /// It is longer than any heartbeat: its rest is passed over.
    skipping: bool,
    heard: Instant,
    /// A timer goes on with it.
    again: bool,
}

/// A place, and what hears there.
struct Place {
    at: At,
    ear: Ear,
    /// A timer goes on with it.
    again: bool,
}

/// All places where heartbeats are heard.
#[derive(Default)]
pub struct Ears {
    ears: Vec<Option<Place>>,
    connections: Vec<Option<Connection>>,
    generation: u32,
    /// Connections with a line that is longer than any heartbeat.
    garbled: u32,
}

impl Ears {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether something is heard at `at`.
    #[must_use]
    pub fn hears(&self, at: &At) -> bool {
        self.ears.iter().flatten().any(|known| known.at == *at)
    }

    /// Begins to hear at `at`, unless that is so already.
    ///
    /// # Errors
    /// The address cannot be bound, or the socket not be made; nothing is heard there.
    pub fn open(&mut self, reactor: &Reactor, at: &At) -> io::Result<()> {
        if self.hears(at) {
            return Ok(());
        }
        let slot = self.ears.iter().position(Option::is_none).unwrap_or(self.ears.len());
        if slot as u32 >= CONNECTIONS {
            return Err(io::Error::other("too many places"));
        }
        let token = Token::new(Room::Agent, slot as u32, 0);
        let address = || at.address.ok_or(io::ErrorKind::InvalidInput);
        let ear = match &at.transport {
            Transport::Udp => Ear::Udp(UdpSocket::bind(address()?)?),
            Transport::Tcp => Ear::Tcp(TcpListener::bind(address()?)?),
            Transport::Unix(path) => Ear::Unix(unix(Path::new(&**path))?),
        };
        reactor.add(&mut SourceFd(&ear.fd()), token, Interest::READABLE)?;
        let place = Some(Place { at: at.clone(), ear, again: false });
        match self.ears.get_mut(slot) {
            Some(free) => *free = place,
            None => self.ears.push(place),
        }
        Ok(())
    }

    /// Hears at these places only from now on.
    pub fn keep(&mut self, reactor: &Reactor, wanted: &[At]) {
        for slot in 0..self.ears.len() {
            let gone = self.ears[slot].as_ref().is_some_and(|place| !wanted.contains(&place.at));
            if !gone {
                continue;
            }
            if let Some(Place { at, ear, .. }) = self.ears[slot].take() {
                reactor.remove(&mut SourceFd(&ear.fd()));
                if let Transport::Unix(path) = &at.transport {
                    let _ = std::fs::remove_file(&**path); // ours
                }
            }
            for place in 0..self.connections.len() {
                let here = |connection: &Connection| connection.ear == slot as u32;
                if self.connections[place].as_ref().is_some_and(here) {
                    self.hang_up(reactor, place);
                }
            }
        }
    }

    /// A timer of [`Room::Agent`]: it goes on where more is to be heard.
    pub fn due(
        &mut self,
        reactor: &mut Reactor,
        token: Token,
        now: Instant,
        heard: &mut Vec<Words>,
    ) {
        if let Some(again) = self.again(token) {
            *again = false;
        }
        self.ready(reactor, token, now, heard);
    }

    /// Whether a timer goes on with whom `token` means.
    fn again(&mut self, token: Token) -> Option<&mut bool> {
        let Some(place) = token.index.checked_sub(CONNECTIONS) else {
            return self.ears.get_mut(token.index as usize)?.as_mut().map(|it| &mut it.again);
        };
        let connection = self.connections.get_mut(place as usize)?.as_mut()?;
        (connection.generation == token.generation).then_some(&mut connection.again)
    }

    /// Has a timer go on with it; one is enough.
    fn go_on(&mut self, reactor: &mut Reactor, token: Token, at: Instant) {
        if let Some(again) = self.again(token).filter(|again| !**again) {
            *again = true;
            reactor.timers.arm(token, at);
        }
    }

    /// A source of [`Room::Agent`]: what is heard is put into `heard`.
    pub fn ready(
        &mut self,
        reactor: &mut Reactor,
        token: Token,
        now: Instant,
        heard: &mut Vec<Words>,
    ) {
        if token.index >= CONNECTIONS {
            return self.connection_ready(reactor, token, now, heard);
        }
        let slot = token.index as usize;
        let mut buffer = [0; LONGEST + 1];
        for _ in 0..MOST_AT_ONCE {
            let Some(Some(Place { at, ear, .. })) = self.ears.get_mut(slot) else { return };
            let accepted = match ear {
                Ear::Udp(socket) => match socket.recv_from(&mut buffer) {
                    Ok((length, _)) => {
                        heard.push((at.clone(), buffer[..length].to_vec()));
                        continue;
                    }
                    Err(error) => Err(error),
                },
                Ear::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
                Ear::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            };
            match accepted {
                Ok(stream) => self.admit(reactor, slot as u32, stream, now),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::Interrupted
                    | io::ErrorKind::ConnectionAborted
                    // Somebody we never wrote to is not there.
                    | io::ErrorKind::ConnectionRefused => {}
                    // No descriptors, no memory; whoever waits makes no other edge.
                    _ => return self.go_on(reactor, token, now.after(AGAIN)),
                },
            }
        }
        self.go_on(reactor, token, now.after(SOON));
    }

    /// How many lines were longer than any heartbeat.
    #[must_use]
    pub const fn garbled(&self) -> u32 {
        self.garbled
    }

    fn admit(&mut self, reactor: &Reactor, ear: u32, stream: Stream, now: Instant) {
        let here = |place: &Option<Connection>| place.as_ref().is_some_and(|it| it.ear == ear);
        if self.connections.iter().filter(|place| here(place)).count() >= MOST_CONNECTIONS {
            let all = self.connections.iter().enumerate().filter(|(_, place)| here(place));
            let quiet = all.min_by_key(|(_, place)| place.as_ref().map(|it| it.heard));
            if let Some(place) = quiet.map(|(place, _)| place) {
                self.hang_up(reactor, place);
            }
        }
        self.generation = self.generation.wrapping_add(1);
        let free = self.connections.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let token = Token::new(Room::Agent, CONNECTIONS + place as u32, self.generation);
        if reactor.add(&mut SourceFd(&stream.fd()), token, Interest::READABLE).is_err() {
            return;
        }
        let generation = token.generation;
        let line = Vec::new();
        self.connections[place] = Some(Connection {
            stream,
            ear,
            generation,
            line,
            skipping: false,
            heard: now,
            again: false,
        });
    }

    fn connection_ready(
        &mut self,
        reactor: &mut Reactor,
        token: Token,
        now: Instant,
        heard: &mut Vec<Words>,
    ) {
        let place = (token.index - CONNECTIONS) as usize;
        let Self { ears, connections, garbled, .. } = self;
        let Some(Some(connection)) = connections.get_mut(place) else { return };
        if connection.generation != token.generation {
            return;
        }
        let Some(Some(Place { at, .. })) = ears.get(connection.ear as usize) else { return };
        let mut buffer = [0; 4096];
        for _ in 0..MOST_AT_ONCE {
            match connection.stream.read(&mut buffer) {
                Ok(0) => return self.hang_up(reactor, place),
                Ok(length) => {
                    connection.heard = now;
                    let bytes = &buffer[..length];
                    connection.take(bytes, garbled, &mut |line| heard.push((at.clone(), line)));
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::Interrupted => {}
                    _ => return self.hang_up(reactor, place),
                },
            }
        }
        self.go_on(reactor, token, now.after(SOON));
    }

    fn hang_up(&mut self, reactor: &Reactor, place: usize) {
        if let Some(connection) = self.connections.get_mut(place).and_then(Option::take) {
            reactor.remove(&mut SourceFd(&connection.stream.fd()));
        }
    }
}

impl Connection {
    /// Takes what has come, and hands on the lines that are complete by it.
    fn take(&mut self, bytes: &[u8], garbled: &mut u32, each: &mut dyn FnMut(Vec<u8>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if !self.skipping {
                if self.line.len() + piece.len() > LONGEST {
                    self.line.clear();
                    self.skipping = true;
                    *garbled = garbled.saturating_add(1);
                } else {
                    self.line.extend_from_slice(piece);
                }
            }
            if ends && !self.skipping {
                each(std::mem::take(&mut self.line));
            }
            self.skipping = self.skipping && !ends;
        }
    }
}

impl Ear {
    fn fd(&self) -> RawFd {
        match self {
            Self::Udp(socket) => socket.as_raw_fd(),
            Self::Tcp(listener) => listener.as_raw_fd(),
            Self::Unix(listener) => listener.as_raw_fd(),
        }
    }
}

impl Stream {
    fn fd(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

/// A socket at `path`, for everybody on this host who may reach it: what is heard there is judged
/// by its signature. One that nobody answers at is replaced.
fn unix(path: &Path) -> io::Result<UnixListener> {
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(io::ErrorKind::AddrInUse.into());
    }
    match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_socket() => std::fs::remove_file(path)?,
        Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}
