//! `[watch]`: metrics, status, events and a page, over loopback or a socket in the file system.
//!
//! Nothing can be changed here, and nobody is asked who they are. Clients are bounded in number, in
//! what they send, in how long they take, and in what they leave unread.

use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use giveover_core::time::{Instant, Span};
use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry};

use super::Daemon;
use super::http;
use crate::config::plan::Listen;
use crate::message;
use crate::reactor::{Door, Knock, Reactor, Ready, Room, Timer, Token};
use crate::report::model::EventDoc;
use crate::report::{metrics, page};

/// More clients than this are turned away.
const MOST_CLIENTS: usize = 32;
/// A client that follows and leaves more than this unread is cut off.
const MOST_UNREAD: usize = 1 << 20;
/// No request is longer, in bytes.
const MOST_REQUEST: usize = 8 << 10;
/// A request must be complete, and an answer taken, within this.
const PATIENCE: Span = Span::from_secs(10);
/// The token index of the listener; clients have theirs from 0.
const LISTENER: u32 = 0xF_FFFF;
/// Events the page shows.
const SHOWN: usize = 40;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ask {
    Page,
    Script,
    Metrics,
    Status,
    Events { last: usize, after: Option<u64> },
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

struct Client {
    stream: Stream,
    token: Token,
    timer: Timer,
    until: Option<Instant>,
    received: Vec<u8>,
    unsent: Vec<u8>,
    sent: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Request,
    Answer,
    Following,
    Closing,
}

/// The listener and its clients.
pub(super) struct Web {
    listen: Listen,
    listener: Listener,
    door: Door,
    clients: Vec<Option<Client>>,
    generation: u32,
}

impl Web {
    fn bind(reactor: &Reactor, listen: &Listen) -> io::Result<Self> {
        let token = Token::new(Room::Web, LISTENER, 0);
        let listener = match listen {
            Listen::Address(address) => {
                let mut listener = TcpListener::bind(*address)?;
                reactor.add(&mut listener, token, Interest::READABLE)?;
                Listener::Tcp(listener)
            }
            Listen::Path(path) => {
                if std::os::unix::net::UnixStream::connect(path).is_ok() {
                    return Err(io::ErrorKind::AddrInUse.into());
                }
                let is_socket = std::fs::symlink_metadata(path)
                    .is_ok_and(|it| std::os::unix::fs::FileTypeExt::is_socket(&it.file_type()));
                if is_socket {
                    std::fs::remove_file(path)?; // nobody answers at it
                }
                let mut listener = UnixListener::bind(path)?;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
                reactor.add(&mut listener, token, Interest::READABLE)?;
                Listener::Unix(listener, path.clone())
            }
        };
        let door = Door::new(token);
        Ok(Self { listen: listen.clone(), listener, door, clients: Vec::new(), generation: 0 })
    }

    /// The daemon ends, or listens elsewhere.
    fn close(mut self, reactor: &mut Reactor) {
        for place in 0..self.clients.len() {
            self.remove(reactor, place);
        }
        self.door.close(reactor);
        match &mut self.listener {
            Listener::Tcp(listener) => drop(reactor.registry().deregister(listener)),
            Listener::Unix(listener, path) => {
                drop(reactor.registry().deregister(listener));
                let _ = std::fs::remove_file(path);
            }
        }
    }

    fn accept(&mut self, reactor: &mut Reactor, now: Instant) {
        loop {
            let accepted = match &self.listener {
                Listener::Tcp(listener) => listener.accept().map(|(it, _)| Stream::Tcp(it)),
                Listener::Unix(listener, _) => listener.accept().map(|(it, _)| Stream::Unix(it)),
            };
            match self.door.knock(reactor, accepted, now) {
                Knock::Enter(stream) => self.admit(reactor, stream, now),
                Knock::Gone => {}
                Knock::Nobody => return,
            }
        }
    }

    fn admit(&mut self, reactor: &mut Reactor, mut stream: Stream, now: Instant) {
        if self.clients.iter().flatten().count() >= MOST_CLIENTS {
            return;
        }
        let place = self.clients.iter().position(Option::is_none).unwrap_or_else(|| {
            self.clients.push(None);
            self.clients.len() - 1
        });
        self.generation = self.generation.wrapping_add(1);
        let token = Token::new(Room::Web, place as u32, self.generation);
        let both = Interest::READABLE | Interest::WRITABLE;
        if reactor.add(&mut stream, token, both).is_err() {
            return;
        }
        let until = now.after(PATIENCE);
        let timer = reactor.timers.arm(token, until);
        self.clients[place] = Some(Client {
            stream,
            token,
            timer,
            until: Some(until),
            received: Vec::new(),
            unsent: Vec::new(),
            sent: 0,
            state: State::Request,
        });
    }

    fn client(&mut self, token: Token) -> Option<&mut Client> {
        let client = self.clients.get_mut(token.index as usize)?.as_mut()?;
        (client.token == token).then_some(client)
    }

    fn remove(&mut self, reactor: &mut Reactor, place: usize) {
        let Some(mut client) = self.clients.get_mut(place).and_then(Option::take) else { return };
        reactor.timers.disarm(client.timer);
        let _ = reactor.registry().deregister(&mut client.stream);
    }

    fn push_out(&mut self, reactor: &mut Reactor, token: Token) {
        let Some(client) = self.client(token) else { return };
        if client.write().is_err() || client.is_done() {
            self.remove(reactor, token.index as usize);
        }
    }

    /// Sends `event` to all who follow.
    fn publish(&mut self, reactor: &mut Reactor, event: &EventDoc) {
        for place in 0..self.clients.len() {
            let Some(client) = self.clients[place].as_mut() else { continue };
            if client.state == State::Following {
                client.send_event(event);
                let token = client.token;
                self.push_out(reactor, token);
            }
        }
    }
}

impl Client {
    /// What was asked for, once it is all there.
    fn read(&mut self) -> Option<Result<Ask, (u16, String)>> {
        let mut buffer = [0; 2048];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return self.gone(),
                Ok(count) if self.state == State::Request => {
                    self.received.extend_from_slice(&buffer[..count]);
                }
                Ok(_) => {} // one request a connection
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.gone(),
            }
            if self.received.len() > MOST_REQUEST {
                break;
            }
        }
        if self.state != State::Request {
            return None;
        }
        let by_address = matches!(self.stream, Stream::Tcp(_));
        let asked = parse(&self.received, by_address)?;
        self.state = State::Answer;
        self.received = Vec::new();
        Some(asked)
    }

    fn gone(&mut self) -> Option<Result<Ask, (u16, String)>> {
        self.state = State::Closing;
        self.unsent.clear();
        self.sent = 0;
        None
    }

    fn send_event(&mut self, event: &EventDoc) {
        if let Ok(json) = serde_json::to_string(event) {
            let block = format!("id: {}\ndata: {json}\n\n", event.seq);
            self.unsent.extend_from_slice(block.as_bytes());
        }
    }

    fn answer(&mut self, status: u16, content_type: &str, more: &str, body: &[u8]) {
        let head = http::head(status, content_type, Some(body.len()));
        let head = head.replacen("\r\n\r\n", &format!("\r\n{more}\r\n"), 1);
        self.unsent.extend_from_slice(head.as_bytes());
        self.unsent.extend_from_slice(body);
        self.state = State::Closing;
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
        let follows = self.state == State::Following;
        if follows && self.unsent.len() - self.sent > MOST_UNREAD {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.state == State::Closing && self.unsent.is_empty()
    }
}

/// `None` while more is to come.
fn parse(bytes: &[u8], by_address: bool) -> Option<Result<Ask, (u16, String)>> {
    let refuse = |status, why: &str| Some(Err((status, why.to_owned())));
    let mut fields = [httparse::EMPTY_HEADER; 48];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if bytes.len() < MOST_REQUEST => return None,
        Ok(httparse::Status::Partial) => return refuse(413, "the request is too long"),
        Err(_) => return refuse(400, "no HTTP request"),
    }
    let field = |name: &str| {
        let found = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        found.and_then(|field| std::str::from_utf8(field.value).ok()).map(str::trim)
    };
    // a page elsewhere whose name was made to mean this address must not read ours
    if by_address && !field("host").is_some_and(is_ours) {
        return refuse(403, "ask by the address, or as localhost");
    }
    if request.method != Some("GET") {
        return refuse(405, "GET only: nothing can be changed here");
    }
    let target = request.path.unwrap_or("");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let number = |key: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == key).find_map(|(_, value)| value.parse::<u64>().ok())
    };
    Some(Ok(match path {
        "/" => Ask::Page,
        "/live.js" => Ask::Script,
        "/metrics" => Ask::Metrics,
        "/status.json" => Ask::Status,
        "/events" => Ask::Events {
            last: number("n").map_or(50, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            after: field("last-event-id").and_then(|text| text.parse().ok()),
        },
        _ => return refuse(404, "here are /, /metrics, /status.json and /events"),
    }))
}

/// Whether a Host field names this host by an address, or as localhost.
fn is_ours(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback())
}

impl Daemon {
    /// Listens where the plan says, and no longer where the plan before said.
    pub(super) fn begin_web(&mut self) {
        if self.web.as_ref().map(|web| &web.listen) == self.plan.watch.as_ref() {
            return;
        }
        if let Some(web) = self.web.take() {
            web.close(&mut self.reactor);
        }
        let Some(listen) = self.plan.watch.clone() else { return };
        match Web::bind(&self.reactor, &listen) {
            Ok(web) => self.web = Some(Box::new(web)),
            Err(error) => {
                let place = match &listen {
                    Listen::Address(address) => address.to_string(),
                    Listen::Path(path) => path.display().to_string(),
                };
                let text =
                    format!("[watch] cannot listen at {place}: {error}; nobody can look there");
                self.say_host(message::Event::WatchFailed, text);
            }
        }
    }

    pub(super) fn end_web(&mut self) {
        if let Some(web) = self.web.take() {
            web.close(&mut self.reactor);
        }
    }

    pub(super) fn web_ready(&mut self, ready: Ready) {
        let now = self.now;
        let Some(web) = &mut self.web else { return };
        if ready.token.index == LISTENER {
            return web.accept(&mut self.reactor, now);
        }
        let asked = match web.client(ready.token) {
            Some(client) if ready.readable => client.read(),
            Some(_) => None,
            None => return,
        };
        match asked {
            Some(Ok(ask)) => self.answer_web(ready.token, &ask),
            Some(Err((status, why))) => {
                if let Some(client) = web.client(ready.token) {
                    let body = serde_json::json!({ "error": why }).to_string();
                    client.answer(status, "application/json", "", body.as_bytes());
                }
            }
            None => {}
        }
        if let Some(web) = &mut self.web {
            web.push_out(&mut self.reactor, ready.token);
        }
    }

    /// A client that did not ask in time, or does not take its answer, is cut off.
    pub(super) fn web_due(&mut self, token: Token) {
        let now = self.now;
        let Some(web) = &mut self.web else { return };
        if token.index == LISTENER {
            web.door.due();
            return web.accept(&mut self.reactor, now);
        }
        let late = web.client(token).is_some_and(|it| it.until.is_some_and(|until| now >= until));
        if late {
            web.remove(&mut self.reactor, token.index as usize);
        }
    }

    fn answer_web(&mut self, token: Token, ask: &Ask) {
        let (content_type, more, body) = match ask {
            Ask::Script => {
                ("text/javascript; charset=utf-8", String::new(), page::SCRIPT.as_bytes().to_vec())
            }
            Ask::Page => {
                let doc = self.status_doc();
                let events = self.events.past(&self.clock, &[], None, SHOWN);
                let more = format!(
                    "Content-Security-Policy: {}\r\nX-Content-Type-Options: nosniff\r\n",
                    page::POLICY
                );
                ("text/html; charset=utf-8", more, page::html(&doc, &events).into_bytes())
            }
            Ask::Metrics => {
                let doc = self.status_doc();
                let totals: Vec<_> = (0..self.shown()).map(|it| self.totals(it)).collect();
                (metrics::CONTENT_TYPE, String::new(), metrics::text(&doc, &totals).into_bytes())
            }
            Ask::Status => {
                let doc = self.status_doc();
                let body = serde_json::to_vec(&doc).unwrap_or_default();
                ("application/json", String::new(), body)
            }
            Ask::Events { last, after } => return self.follow_web(token, *last, *after),
        };
        let Some(client) = self.web.as_mut().and_then(|web| web.client(token)) else { return };
        client.answer(200, content_type, &more, &body);
    }

    fn totals(&self, service: usize) -> Vec<(&'static str, u32)> {
        let history = self.watches[service].monitor.history();
        let phases = giveover_core::failure::Phase::ALL;
        let totals = phases.map(|phase| (phase.word(), history.total(phase)));
        totals.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Server-sent events: those of the past first, or those since the client was cut off.
    fn follow_web(&mut self, token: Token, last: usize, after: Option<u64>) {
        let last = if after.is_some() { usize::MAX } else { last };
        let mut past = self.events.past(&self.clock, &[], None, last);
        past.retain(|event| !event.is_legacy() && after.is_none_or(|after| event.seq > after));
        let Some(client) = self.web.as_mut().and_then(|web| web.client(token)) else { return };
        let head = http::head(200, "text/event-stream", None);
        client.unsent.extend_from_slice(head.as_bytes());
        client.unsent.extend_from_slice(b"retry: 2000\n\n");
        past.iter().for_each(|event| client.send_event(event));
        client.state = State::Following;
        client.until = None;
        let timer = client.timer;
        self.reactor.timers.disarm(timer);
    }

    pub(super) fn publish_web(&mut self, event: &EventDoc) {
        if let (Some(web), false) = (&mut self.web, event.is_legacy()) {
            web.publish(&mut self.reactor, event);
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Stream {
    fn register(
        &mut self,
        registry: &Registry,
        token: mio::Token,
        interests: Interest,
    ) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.register(registry, token, interests),
            Self::Unix(stream) => stream.register(registry, token, interests),
        }
    }

    fn reregister(
        &mut self,
        registry: &Registry,
        token: mio::Token,
        interests: Interest,
    ) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.reregister(registry, token, interests),
            Self::Unix(stream) => stream.reregister(registry, token, interests),
        }
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.deregister(registry),
            Self::Unix(stream) => stream.deregister(registry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(target: &str, host: &str) -> Option<Result<Ask, (u16, String)>> {
        parse(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes(), true)
    }

    #[test]
    fn what_is_here_is_found_by_its_path() {
        let ours = "127.0.0.1:9709";
        for (target, ask) in [
            ("/", Ask::Page),
            ("/live.js", Ask::Script),
            ("/metrics", Ask::Metrics),
            ("/status.json?x=1", Ask::Status),
            ("/events?n=3", Ask::Events { last: 3, after: None }),
        ] {
            assert_eq!(asked(target, ours), Some(Ok(ask)), "{target}");
        }
        assert!(matches!(asked("/command", ours), Some(Err((404, _)))));
        assert!(matches!(
            parse(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", true),
            Some(Err((405, _)))
        ));
        assert!(matches!(parse(b"\x00\r\n\r\n", true), Some(Err((400, _)))));
        assert_eq!(parse(b"GET / HTTP/1.1\r\nHo", true), None);
    }

    #[test]
    fn a_name_that_only_leads_here_is_refused() {
        for ours in ["127.0.0.1", "127.0.0.1:9709", "localhost:9709", "[::1]:9709", "[::1]"] {
            assert!(is_ours(ours), "{ours}");
        }
        for theirs in ["evil.example", "evil.example:9709", "", "10.0.0.1:9709", "[::2]"] {
            assert!(!is_ours(theirs), "{theirs}");
        }
        assert!(matches!(asked("/", "evil.example"), Some(Err((403, _)))));
        let by_socket = parse(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", false);
        assert_eq!(by_socket, Some(Ok(Ask::Page)), "a socket has no name to be taken");
    }

    #[test]
    fn who_comes_back_gets_what_was_missed() {
        let request = b"GET /events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 41\r\n\r\n";
        assert_eq!(parse(request, true), Some(Ok(Ask::Events { last: 50, after: Some(41) })));
    }
}
