//! The sockets of the peer link: one for datagrams, one that listens, and the connections.
//!
//! Nothing here blocks, and nobody can make it grow: what a stranger may send before it has proven
//! who it is, how long it may take, and how many of them there are, are all bounded.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use giveover_core::node::Node;
use giveover_core::time::{Instant, Span};
use giveover_core::wire::peer::MAX_FRAME;
use mio::Interest;
use mio::net::{TcpListener, TcpStream, UdpSocket};

use super::pair::Why;
use super::stream::{Stream, framed};
use crate::reactor::{Reactor, Ready, Room, Token};

/// The place of the datagrams' socket in [`Room::Cluster`]; the listener's; the daemon's own
/// timer's; and of the first connection.
const DATAGRAMS: u32 = 0;
const LISTENER: u32 = 1;
/// The place of the one timer.
pub const TIMER: u32 = 2;
const FIRST: u32 = 16;

/// So many connections may be open that have not proven whose they are.
const MOST_STRANGERS: usize = 16;
/// A connection proves whose it is within this.
const PATIENCE: Span = Span::from_secs(5);
/// One that this node made, whose other side may have to be told first which start of ours it is.
const OWN_PATIENCE: Span = Span::from_secs(10);
/// One on which nothing came for so long is given up; something is said on it well before.
const SILENCE: Span = Span::from_secs(15);
/// What the other side does not take for so long ends the connection, in milliseconds.
const USER_TIMEOUT_MS: u32 = 5_000;
/// What is not taken by the other side is kept up to this, in bytes; then the connection ends.
const MOST_UNSENT: usize = 16 << 10;
/// So much is read in one go before others have their turn.
const DATAGRAMS_AT_ONCE: usize = 512;
const READS_AT_ONCE: usize = 32;
/// Who could not be let in for want of a descriptor is tried again after this. Not by a door of the
/// reactor's: the time of nodes goes on while the machine sleeps.
const LACK_AGAIN: Span = Span::from_millis(200);

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conn(Token);

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A datagram from there.
    Datagram(SocketAddr, Vec<u8>),
    /// A frame on a connection, which is known to be this node's, or not yet.
    Frame(Conn, Option<Node>, Vec<u8>),
    /// A connection that this node made is there.
    Made(Conn, Node),
    /// A connection is over, with why if that was not its end in good order.
    Over(Option<Node>, Option<Why>),
}

struct Connection {
    stream: TcpStream,
    token: Token,
    /// Whose it is, or is to be: of one that this node made from the beginning.
    node: Option<Node>,
    /// It is that node's: something new was said on it.
    proven: bool,
    made: bool,
    frames: Stream,
    unsent: Vec<u8>,
    /// It ends then, unless something authentic comes.
    until: Instant,
}

/// The sockets.
pub struct Net {
    datagrams: UdpSocket,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    generation: u32,
    news: VecDeque<News>,
    /// Something was left unread: it is gone on with at once.
    more: bool,
    /// Somebody waits to be let in, and makes no other edge: the next attempt.
    lacking: Option<Instant>,
    mapped: bool,
    /// Connections that were turned away.
    turned_away: u32,
}

impl Net {
    /// Binds both sockets to `port` of `address`; of every address if none is given.
    ///
    /// # Errors
    /// The kernel's own; nothing is left open.
    pub fn bind(reactor: &Reactor, address: Option<IpAddr>, port: u16) -> io::Result<Self> {
        let all = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let none = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let sockets = |address| -> io::Result<_> {
            let address = SocketAddr::new(address, port);
            Ok((UdpSocket::bind(address)?, TcpListener::bind(address)?))
        };
        let ((mut datagrams, mut listener), mapped) = match address {
            Some(address) => (sockets(address)?, false),
            None => match sockets(all) {
                Ok(both) => (both, true),
                // A kernel without IPv6.
                Err(error) if error.raw_os_error() == Some(nix::libc::EAFNOSUPPORT) => {
                    (sockets(none)?, false)
                }
                Err(error) => return Err(error),
            },
        };
        let token = |place| Token::new(Room::Cluster, place, 0);
        reactor.add(&mut datagrams, token(DATAGRAMS), Interest::READABLE)?;
        reactor.add(&mut listener, token(LISTENER), Interest::READABLE)?;
        Ok(Self {
            datagrams,
            listener,
            connections: Vec::new(),
            generation: 0,
            news: VecDeque::new(),
            more: false,
            lacking: None,
            mapped,
            turned_away: 0,
        })
    }

    /// The next thing that came.
    pub fn news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// A source is ready.
    pub fn ready(&mut self, reactor: &Reactor, ready: Ready, now: Instant) {
        match ready.token.index {
            DATAGRAMS => self.receive(),
            LISTENER => self.accept(reactor, now),
            _ => self.connection_ready(reactor, ready.token),
        }
    }

    /// When something is due; `now` where something was left unread.
    #[must_use]
    pub fn poll_timeout(&self, now: Instant) -> Option<Instant> {
        if self.more {
            return Some(now);
        }
        let ends = self.connections.iter().flatten().map(|connection| connection.until);
        ends.chain(self.lacking).min()
    }

    /// Time has passed: what is late ends, what was left is read.
    pub fn due(&mut self, reactor: &Reactor, now: Instant) {
        if self.lacking.is_some_and(|at| at <= now) {
            self.accept(reactor, now);
        }
        if std::mem::take(&mut self.more) {
            self.receive();
            let tokens: Vec<Token> =
                self.connections.iter().flatten().map(|connection| connection.token).collect();
            for token in tokens {
                self.connection_ready(reactor, token);
            }
        }
        let late: Vec<Token> = self
            .connections
            .iter()
            .flatten()
            .filter(|connection| connection.until <= now)
            .map(|connection| connection.token)
            .collect();
        for token in late {
            self.end(reactor, token, Some(Why::Silent));
        }
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// Why nothing was sent, if it is known. A full buffer is none: a datagram may be lost.
    pub fn send_datagram(&self, to: SocketAddr, bytes: &[u8]) -> Result<(), Why> {
        match self.datagrams.send_to(bytes, self.family(to)) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(why(&error)),
        }
    }

    /// An address as the sockets' family has it.
    fn family(&self, address: SocketAddr) -> SocketAddr {
        match address {
            SocketAddr::V4(v4) if self.mapped => {
                SocketAddr::new(IpAddr::V6(v4.ip().to_ipv6_mapped()), v4.port())
            }
            other => other,
        }
    }

    /// Begins a connection to `node`; [`News::Made`] or [`News::Over`] follows.
    pub fn connect(&mut self, reactor: &Reactor, node: Node, to: SocketAddr, now: Instant) {
        match TcpStream::connect(to) {
            Ok(stream) => {
                if !self.admit(reactor, stream, Some(node), now) {
                    self.news.push_back(News::Over(Some(node), None));
                }
            }
            Err(error) => self.news.push_back(News::Over(Some(node), Some(why(&error)))),
        }
    }

    /// The connection that has proven to be `node`'s, if there is one.
    #[must_use]
    pub fn of(&self, node: Node) -> Option<Conn> {
        self.find(|connection| connection.proven && connection.node == Some(node))
    }

    /// The same, or else one that was made to where it should be.
    #[must_use]
    pub fn made_with(&self, node: Node) -> Option<Conn> {
        let made = || self.find(|connection| connection.made && connection.node == Some(node));
        self.of(node).or_else(made)
    }

    /// Whether there is a connection with `node`, be it one that is only being made.
    #[must_use]
    pub fn has(&self, node: Node) -> bool {
        self.find(|connection| connection.node == Some(node)).is_some()
    }

    fn find(&self, is: impl Fn(&Connection) -> bool) -> Option<Conn> {
        let found = self.connections.iter().flatten().find(|connection| is(connection));
        found.map(|connection| Conn(connection.token))
    }

    /// `conn` has proven to be `node`'s; another that was is over. And what came on it was
    /// authentic: it may go on.
    pub fn prove(&mut self, reactor: &Reactor, conn: Conn, node: Node, now: Instant) {
        let others: Vec<Token> = self
            .connections
            .iter()
            .flatten()
            .filter(|it| it.node == Some(node) && it.token != conn.0)
            .map(|it| it.token)
            .collect();
        for token in others {
            self.forget(reactor, token);
        }
        if let Some(connection) = self.connection(conn.0) {
            connection.node = Some(node);
            connection.proven = true;
            connection.until = now.after(SILENCE);
        }
    }

    /// Says `frame` on a connection. One that does not take it is over.
    pub fn send(&mut self, reactor: &Reactor, conn: Conn, frame: &[u8]) {
        let Some(connection) = self.connection(conn.0) else { return };
        connection.unsent.extend_from_slice(&framed(frame));
        let result = connection.push_out();
        if result.is_err() || connection.unsent.len() > MOST_UNSENT {
            self.end(reactor, conn.0, Some(Why::Silent));
        }
    }

    /// Ends a connection that says what nobody understands, or what is not authentic.
    pub fn hang_up(&mut self, reactor: &Reactor, conn: Conn) {
        self.end(reactor, conn.0, None);
    }

    /// Connections that were turned away: too many at once that had not proven whose they are.
    #[must_use]
    pub const fn turned_away(&self) -> u32 {
        self.turned_away
    }

    /// Lets go of everything.
    pub fn close(&mut self, reactor: &Reactor) {
        for connection in self.connections.iter_mut().filter_map(Option::take) {
            let mut stream = connection.stream;
            reactor.remove(&mut stream);
        }
        reactor.remove(&mut self.datagrams);
        reactor.remove(&mut self.listener);
    }

    fn receive(&mut self) {
        // One byte more than a frame has: what is longer shows.
        let mut buffer = [0; MAX_FRAME + 1];
        for _ in 0..DATAGRAMS_AT_ONCE {
            match self.datagrams.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    let bytes = buffer.get(..length).unwrap_or_default().to_vec();
                    self.news.push_back(News::Datagram(unmapped(from), bytes));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // What the kernel has to say about an earlier datagram; the next may be one.
                Err(_) => {}
            }
        }
        self.more = true;
    }

    fn accept(&mut self, reactor: &Reactor, now: Instant) {
        self.lacking = None;
        // Edge-triggered: all there are.
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if !self.admit(reactor, stream, None, now) {
                        self.turned_away = self.turned_away.saturating_add(1);
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    io::ErrorKind::WouldBlock => return,
                    // No descriptors, no memory.
                    _ => return self.lacking = Some(now.after(LACK_AGAIN)),
                },
            }
        }
    }

    /// Takes a connection in; false where it was turned away.
    fn admit(
        &mut self,
        reactor: &Reactor,
        stream: TcpStream,
        node: Option<Node>,
        now: Instant,
    ) -> bool {
        let strangers = self.connections.iter().flatten().filter(|it| it.node.is_none()).count();
        if node.is_none() && strangers >= MOST_STRANGERS {
            return false;
        }
        let place = self.connections.iter().position(Option::is_none).unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        self.generation = self.generation.wrapping_add(1);
        let token = Token::new(Room::Cluster, FIRST + place as u32, self.generation);
        let mut stream = stream;
        let both = Interest::READABLE | Interest::WRITABLE;
        if reactor.add(&mut stream, token, both).is_err() {
            return false;
        }
        // Without them it is only slower to notice.
        let _ = stream.set_nodelay(true);
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, USER_TIMEOUT_MS);
        let made = node.is_none();
        self.connections[place] = Some(Connection {
            stream,
            token,
            node,
            proven: false,
            made,
            frames: Stream::default(),
            unsent: Vec::new(),
            until: now.after(if node.is_some() { OWN_PATIENCE } else { PATIENCE }),
        });
        true
    }

    fn connection(&mut self, token: Token) -> Option<&mut Connection> {
        let place = token.index.checked_sub(FIRST)? as usize;
        self.connections.get_mut(place)?.as_mut().filter(|it| it.token == token)
    }

    fn connection_ready(&mut self, reactor: &Reactor, token: Token) {
        let Some(connection) = self.connection(token) else { return };
        if !connection.made {
            match connection.stream.take_error() {
                Ok(None) => {}
                Ok(Some(error)) | Err(error) => return self.end(reactor, token, Some(why(&error))),
            }
            if connection.stream.peer_addr().is_err() {
                return; // not yet
            }
            connection.made = true;
            if let Some(node) = connection.node {
                self.news.push_back(News::Made(Conn(token), node));
            }
        }
        let Some(connection) = self.connection(token) else { return };
        if connection.push_out().is_err() {
            return self.end(reactor, token, None);
        }
        self.read(reactor, token);
    }

    fn read(&mut self, reactor: &Reactor, token: Token) {
        let mut buffer = [0; 1024];
        for _ in 0..READS_AT_ONCE {
            let Some(connection) = self.connection(token) else { return };
            let node = connection.node;
            let length = match connection.stream.read(&mut buffer) {
                Ok(0) => return self.end(reactor, token, None),
                Ok(length) => length,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::Interrupted => continue,
                    _ => return self.end(reactor, token, Some(why(&error))),
                },
            };
            let mut found = Vec::new();
            let bytes = buffer.get(..length).unwrap_or_default();
            let result = connection.frames.take(bytes, |frame| found.push(frame.to_vec()));
            let frames = found.into_iter().map(|frame| News::Frame(Conn(token), node, frame));
            self.news.extend(frames);
            if result.is_err() {
                return self.end(reactor, token, None);
            }
        }
        self.more = true;
    }

    fn end(&mut self, reactor: &Reactor, token: Token, why: Option<Why>) {
        let Some(connection) = self.connection(token) else { return };
        let node = connection.node;
        self.forget(reactor, token);
        self.news.push_back(News::Over(node, why));
    }

    fn forget(&mut self, reactor: &Reactor, token: Token) {
        let Some(place) = token.index.checked_sub(FIRST) else { return };
        let Some(slot) = self.connections.get_mut(place as usize) else { return };
        if slot.as_ref().is_some_and(|it| it.token == token) {
            if let Some(mut connection) = slot.take() {
                reactor.remove(&mut connection.stream);
            }
        }
    }
}

impl Connection {
    fn push_out(&mut self) -> io::Result<()> {
        if !self.made {
            return Ok(());
        }
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.unsent.drain(..count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What an error of the kernel's says about the other side.
fn why(error: &io::Error) -> Why {
    use nix::libc::{EACCES, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENETUNREACH, EPERM};
    match error.raw_os_error() {
        Some(ECONNREFUSED | ECONNRESET) => Why::Refused,
        // The kernel's own filter says so of what we send.
        Some(EPERM | EACCES) => Why::DatagramsFiltered,
        Some(EHOSTUNREACH | ENETUNREACH) => Why::NoRoute,
        _ => match error.kind() {
            io::ErrorKind::TimedOut => Why::Silent,
            _ => Why::NoRoute,
        },
    }
}

fn unmapped(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
