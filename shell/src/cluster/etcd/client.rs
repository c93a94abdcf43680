//! The sockets to etcd: one connection on which one question at a time is asked, one that is told
//! of changes, and now and then one to each other member, to know how it is.
//!
//! Nothing here blocks. A member that does not answer in time is left for the next one.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::SocketAddr;

use giveover_core::claim::{Answer, Request, Ticket};
use giveover_core::node::Node;
use giveover_core::time::{Instant, Span};
use mio::Interest;
use mio::net::TcpStream;

use super::reply::{Part, Replies};
use super::words::{self, Group, MOST, Question};
use crate::config::cluster::EtcdPlan;
use crate::reactor::{Reactor, Ready, Room, Token};

/// How a member is that nothing is asked of otherwise, is looked at this often.
const PROBE_EVERY: Span = Span::from_secs(5);
/// It has so long to answer.
const PROBE_PATIENCE: Span = Span::from_secs(2);
/// A watch that ended is begun again after this; until then the group is read anyhow.
const WATCH_AGAIN: Span = Span::from_secs(1);
/// So much is read in one go, in bytes; no answer of ours is nearly as long.
const MOST_AT_ONCE: usize = 256 << 10;
/// What the other side does not take for so long ends the connection, in milliseconds.
const USER_TIMEOUT_MS: u32 = 5_000;

/// The place of the timer in [`Room::Etcd`]; lines begin behind it.
const FIRST: u32 = 16;

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// To what was asked for a group.
    Answered(usize, Ticket, Answer),
    /// Something about a group has changed.
    Changed(usize),
}

/// A member of etcd, as it is from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `http://HOST:PORT`
    pub url: String,
    authority: String,
    address: Option<SocketAddr>,
    /// When it answered last, and how long that took, in milliseconds.
    pub answered: Option<(Instant, u64)>,
    /// What is wrong with it.
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Ask {
    group: usize,
    ticket: Ticket,
    request: Request,
    asked: Instant,
    until: Instant,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// Questions; the one under way.
    Asks(Option<Ask>),
    Watch,
    Probe {
        asked: Instant,
        until: Instant,
    },
}

struct Line {
    stream: TcpStream,
    token: Token,
    endpoint: usize,
    purpose: Purpose,
    made: bool,
    unsent: Vec<u8>,
    replies: Replies,
    status: u16,
    body: Vec<u8>,
}

/// etcd, from here.
pub struct Etcd {
    groups: Vec<Group>,
    prefix: String,
    ttl: Span,
    endpoints: Vec<Endpoint>,
    /// The one that is asked.
    current: usize,
    queue: VecDeque<Ask>,
    lines: Vec<Option<Line>>,
    generation: u32,
    news: VecDeque<News>,
    probe_at: Instant,
    watch_at: Instant,
}

impl Etcd {
    /// Nothing is connected before something is asked. Nodes begin with different members.
    #[must_use]
    pub fn new(
        plan: &EtcdPlan,
        me: Node,
        nodes: &[String],
        groups: &[String],
        now: Instant,
    ) -> Self {
        let endpoint = |url: String| Endpoint {
            authority: url.trim_start_matches("http://").to_owned(),
            url,
            address: None,
            answered: None,
            why: None,
        };
        let endpoints: Vec<Endpoint> =
            plan.endpoints.iter().map(|it| endpoint(it.to_string())).collect();
        let group = |name: &String| Group::new(&plan.prefix, name, me, nodes);
        Self {
            groups: groups.iter().map(group).collect(),
            prefix: plan.prefix.clone(),
            ttl: plan.ttl,
            current: usize::from(me.0) % endpoints.len().max(1),
            endpoints,
            queue: VecDeque::new(),
            lines: Vec::new(),
            generation: 0,
            news: VecDeque::new(),
            probe_at: now,
            watch_at: now,
        }
    }

    /// The members, in file order.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The one that is asked.
    #[must_use]
    pub const fn current(&self) -> usize {
        self.current
    }

    /// Where a member is; `None`: its name has no address.
    pub fn place(&mut self, endpoint: usize, address: Option<SocketAddr>) {
        if let Some(endpoint) = self.endpoints.get_mut(endpoint) {
            endpoint.address = address;
        }
    }

    /// The next thing that came.
    pub fn news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Asks for a group; what was asked for it before, and has not been, is not any more.
    pub fn ask(
        &mut self,
        reactor: &Reactor,
        group: usize,
        question: (Ticket, Request),
        until: Instant,
        now: Instant,
    ) {
        let (ticket, request) = question;
        self.queue.retain(|ask| ask.group != group);
        self.queue.push_back(Ask { group, ticket, request, asked: now, until });
        self.pump(reactor, now);
    }

    /// A source is ready.
    pub fn ready(&mut self, reactor: &Reactor, ready: Ready, now: Instant) {
        self.line_ready(reactor, ready.token, now);
        self.pump(reactor, now);
    }

    /// When something is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let lines = self.lines.iter().flatten().filter_map(|line| match line.purpose {
            Purpose::Asks(ask) => ask.map(|ask| ask.until),
            Purpose::Probe { until, .. } => Some(until),
            Purpose::Watch => None,
        });
        let queued = self.queue.iter().map(|ask| ask.until);
        let watch = self.line_of(is_watch).is_none().then_some(self.watch_at);
        lines.chain(queued).chain(watch).chain([self.probe_at]).min()
    }

    /// Time has passed: what is late has no answer, and members are looked at.
    pub fn due(&mut self, reactor: &Reactor, now: Instant) {
        let late = |line: &&Line| match line.purpose {
            Purpose::Asks(ask) => ask.is_some_and(|ask| ask.until <= now),
            Purpose::Probe { until, .. } => until <= now,
            Purpose::Watch => false,
        };
        let late: Vec<Token> =
            self.lines.iter().flatten().filter(late).map(|line| line.token).collect();
        for token in late {
            self.fail(reactor, token, "no answer in time".to_owned(), now);
        }
        let (over, rest) = std::mem::take(&mut self.queue)
            .into_iter()
            .partition::<VecDeque<Ask>, _>(|ask| ask.until <= now);
        self.queue = rest;
        over.iter().for_each(|ask| self.failed(ask));
        if self.probe_at <= now {
            self.probe_at = now.after(PROBE_EVERY);
            self.probe(reactor, now);
        }
        if self.watch_at <= now && self.line_of(is_watch).is_none() {
            self.watch_at = now.after(WATCH_AGAIN);
            let question = words::watch(&self.prefix);
            self.open(reactor, self.current, Purpose::Watch, Some(&question), now);
        }
        self.pump(reactor, now);
    }

    /// Lets go of everything.
    pub fn close(&mut self, reactor: &Reactor) {
        for line in self.lines.iter_mut().filter_map(Option::take) {
            let mut stream = line.stream;
            reactor.remove(&mut stream);
        }
    }

    fn failed(&mut self, ask: &Ask) {
        self.news.push_back(News::Answered(ask.group, ask.ticket, Answer::Failed));
    }

    /// The next question, if nothing is under way.
    fn pump(&mut self, reactor: &Reactor, now: Instant) {
        let Some(ask) = self.queue.front().copied() else { return };
        let token = match self.line_of(|purpose| matches!(purpose, Purpose::Asks(_))) {
            Some(line) if matches!(line.purpose, Purpose::Asks(Some(_))) => return,
            Some(line) => Some(line.token),
            None => self.open(reactor, self.current, Purpose::Asks(None), None, now),
        };
        let Some(token) = token else {
            // Not even a connection could be begun: another member is asked by the next question.
            self.queue.pop_front();
            return self.failed(&ask);
        };
        self.queue.pop_front();
        let question = self.groups.get(ask.group).map(|it| it.question(&ask.request, self.ttl));
        let Some(question) = question else { return self.failed(&ask) };
        if let Some(line) = self.line(token) {
            line.purpose = Purpose::Asks(Some(ask));
        }
        self.say(reactor, token, &question, now);
    }

    /// Every other member is asked how it is.
    fn probe(&mut self, reactor: &Reactor, now: Instant) {
        let purpose = Purpose::Probe { asked: now, until: now.after(PROBE_PATIENCE) };
        for endpoint in 0..self.endpoints.len() {
            let asked = self.lines.iter().flatten().any(|line| {
                line.endpoint == endpoint && matches!(line.purpose, Purpose::Probe { .. })
            });
            if endpoint != self.current && !asked {
                self.open(reactor, endpoint, purpose, Some(&words::status()), now);
            }
        }
    }

    /// Begins a connection, and asks on it.
    fn open(
        &mut self,
        reactor: &Reactor,
        endpoint: usize,
        purpose: Purpose,
        question: Option<&Question>,
        now: Instant,
    ) -> Option<Token> {
        let address = self.endpoints.get(endpoint)?.address;
        let result = match address {
            Some(address) => TcpStream::connect(address).map_err(|error| why(&error)),
            None => Err("its name has no address".to_owned()),
        };
        let place = self.lines.iter().position(Option::is_none).unwrap_or_else(|| {
            self.lines.push(None);
            self.lines.len() - 1
        });
        self.generation = self.generation.wrapping_add(1);
        let token = Token::new(Room::Etcd, FIRST + place as u32, self.generation);
        let both = Interest::READABLE | Interest::WRITABLE;
        let added = result.and_then(|mut stream| {
            reactor.add(&mut stream, token, both).map_err(|error| why(&error))?;
            Ok(stream)
        });
        let stream = match added {
            Ok(stream) => stream,
            Err(said) => {
                self.is_wrong(endpoint, said);
                if matches!(purpose, Purpose::Asks(_)) {
                    self.go_to_the_next(reactor);
                }
                return None;
            }
        };
        // Without them it is only slower to notice.
        let _ = stream.set_nodelay(true);
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, USER_TIMEOUT_MS);
        let slot = self.lines.get_mut(place)?;
        *slot = Some(Line {
            stream,
            token,
            endpoint,
            purpose,
            made: false,
            unsent: Vec::new(),
            replies: Replies::default(),
            status: 0,
            body: Vec::new(),
        });
        if let Some(question) = question {
            self.say(reactor, token, question, now);
        }
        Some(token)
    }

    fn say(&mut self, reactor: &Reactor, token: Token, question: &Question, now: Instant) {
        let Some(line) = self.line(token) else { return };
        let endpoint = line.endpoint;
        let host = self.endpoints.get(endpoint).map_or("", |it| it.authority.as_str());
        let bytes = words::written(question, host);
        let Some(line) = self.line(token) else { return };
        line.unsent.extend_from_slice(&bytes);
        if let Err(error) = line.push_out() {
            self.fail(reactor, token, why(&error), now);
        }
    }

    fn line_of(&self, is: impl Fn(&Purpose) -> bool) -> Option<&Line> {
        self.lines.iter().flatten().find(|line| is(&line.purpose))
    }

    fn line(&mut self, token: Token) -> Option<&mut Line> {
        let place = token.index.checked_sub(FIRST)? as usize;
        self.lines.get_mut(place)?.as_mut().filter(|line| line.token == token)
    }

    fn line_ready(&mut self, reactor: &Reactor, token: Token, now: Instant) {
        let Some(line) = self.line(token) else { return };
        if !line.made {
            match line.stream.take_error() {
                Ok(None) => {}
                Ok(Some(error)) | Err(error) => {
                    return self.fail(reactor, token, why(&error), now);
                }
            }
            if line.stream.peer_addr().is_err() {
                return; // not yet
            }
            line.made = true;
        }
        if let Err(error) = line.push_out() {
            return self.fail(reactor, token, why(&error), now);
        }
        self.read(reactor, token, now);
    }

    fn read(&mut self, reactor: &Reactor, token: Token, now: Instant) {
        let mut buffer = [0; 4096];
        let mut taken = 0;
        while taken < MOST_AT_ONCE {
            let Some(line) = self.line(token) else { return };
            let mut parts = Vec::new();
            let result = match line.stream.read(&mut buffer) {
                Ok(0) => {
                    let result = line.replies.close(|part| parts.push(part));
                    self.take(reactor, token, parts, now);
                    let said = match (self.is_asked(token), result) {
                        (true, _) => "it ends the connection without an answer".to_owned(),
                        (false, Ok(())) => return self.forget(reactor, token),
                        (false, Err(_)) => "its answer is cut off".to_owned(),
                    };
                    return self.fail(reactor, token, said, now);
                }
                Ok(length) => {
                    taken += length;
                    let bytes = buffer.get(..length).unwrap_or_default();
                    line.replies.take(bytes, |part| parts.push(part))
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.fail(reactor, token, why(&error), now),
            };
            self.take(reactor, token, parts, now);
            if result.is_err() {
                return self.fail(reactor, token, "it speaks no HTTP".to_owned(), now);
            }
        }
        // Nobody we ask has so much to say.
        self.fail(reactor, token, "it says more than was asked for".to_owned(), now);
    }

    /// Whether something on this line waits for an answer.
    fn is_asked(&mut self, token: Token) -> bool {
        self.line(token).is_some_and(|line| match line.purpose {
            Purpose::Asks(ask) => ask.is_some(),
            Purpose::Probe { .. } => true,
            Purpose::Watch => false,
        })
    }

    fn take(&mut self, reactor: &Reactor, token: Token, parts: Vec<Part>, now: Instant) {
        for part in parts {
            let Some(line) = self.line(token) else { return };
            match part {
                Part::Head(status) => {
                    line.status = status;
                    line.body.clear();
                }
                Part::Body(bytes) => {
                    line.body.extend_from_slice(&bytes);
                    if matches!(line.purpose, Purpose::Watch) {
                        self.take_changes(token);
                    }
                    let much = self.line(token).is_some_and(|line| line.body.len() > MOST);
                    if much {
                        let said = "it says more than was asked for".to_owned();
                        return self.fail(reactor, token, said, now);
                    }
                }
                Part::End(keeps) => self.answered(reactor, token, keeps, now),
            }
        }
    }

    /// A response is complete.
    fn answered(&mut self, reactor: &Reactor, token: Token, keeps: bool, now: Instant) {
        let Some(line) = self.line(token) else { return };
        let (status, endpoint) = (line.status, line.endpoint);
        let body = std::mem::take(&mut line.body);
        match line.purpose {
            Purpose::Asks(Some(ask)) => {
                line.purpose = Purpose::Asks(None);
                let answer = match self.groups.get(ask.group) {
                    Some(group) => group.answer(&ask.request, status, &body),
                    None => Err(String::new()),
                };
                match answer {
                    Ok(answer) => {
                        self.is_right(endpoint, ask.asked, now);
                        self.news.push_back(News::Answered(ask.group, ask.ticket, answer));
                        if !keeps {
                            self.forget(reactor, token);
                        }
                    }
                    Err(said) => {
                        self.failed(&ask);
                        self.fail(reactor, token, said, now);
                    }
                }
            }
            Purpose::Probe { asked, .. } => {
                match words::trouble(status, &body) {
                    None => self.is_right(endpoint, asked, now),
                    Some(said) => self.is_wrong(endpoint, said),
                }
                self.forget(reactor, token);
            }
            // A watch ends only with an error, and to nothing asked nothing is answered.
            Purpose::Watch | Purpose::Asks(None) => self.forget(reactor, token),
        }
    }

    /// Whole lines of the watch: each a message.
    fn take_changes(&mut self, token: Token) {
        let Some(line) = self.line(token) else { return };
        let Some(end) = line.body.iter().rposition(|byte| *byte == b'\n') else { return };
        let whole: Vec<u8> = line.body.drain(..=end).collect();
        for text in whole.split(|byte| *byte == b'\n') {
            for (place, group) in self.groups.iter().enumerate() {
                if group.is_meant(text) {
                    self.news.push_back(News::Changed(place));
                }
            }
        }
    }

    fn is_right(&mut self, endpoint: usize, asked: Instant, now: Instant) {
        if let Some(endpoint) = self.endpoints.get_mut(endpoint) {
            endpoint.answered = Some((now, now.since(asked)));
            endpoint.why = None;
        }
    }

    fn is_wrong(&mut self, endpoint: usize, said: String) {
        if let Some(endpoint) = self.endpoints.get_mut(endpoint) {
            endpoint.why = Some(said);
        }
    }

    /// A connection is of no use any more. What was asked on it has no answer, and the next
    /// question goes to another member.
    fn fail(&mut self, reactor: &Reactor, token: Token, said: String, now: Instant) {
        let Some(line) = self.line(token) else { return };
        let (endpoint, purpose) = (line.endpoint, line.purpose);
        self.forget(reactor, token);
        self.is_wrong(endpoint, said);
        match purpose {
            Purpose::Asks(ask) => {
                if let Some(ask) = ask {
                    self.failed(&ask);
                }
                self.go_to_the_next(reactor);
            }
            Purpose::Watch => self.watch_at = now.after(WATCH_AGAIN),
            Purpose::Probe { .. } => {}
        }
    }

    /// The next member that nothing is known to be wrong with, else the next.
    fn go_to_the_next(&mut self, reactor: &Reactor) {
        let count = self.endpoints.len().max(1);
        let after = |steps: usize| (self.current + steps) % count;
        let well = |at: &usize| self.endpoints.get(*at).is_some_and(|it| it.why.is_none());
        self.current = (1..=count).map(after).find(well).unwrap_or(after(1));
        let moved: Vec<Token> = self
            .lines
            .iter()
            .flatten()
            .filter(|line| !matches!(line.purpose, Purpose::Probe { .. }))
            .filter(|line| line.endpoint != self.current)
            .map(|line| line.token)
            .collect();
        moved.into_iter().for_each(|token| self.forget(reactor, token));
    }

    fn forget(&mut self, reactor: &Reactor, token: Token) {
        let Some(place) = token.index.checked_sub(FIRST) else { return };
        let Some(slot) = self.lines.get_mut(place as usize) else { return };
        if slot.as_ref().is_some_and(|line| line.token == token) {
            if let Some(mut line) = slot.take() {
                reactor.remove(&mut line.stream);
            }
        }
    }
}

const fn is_watch(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::Watch)
}

impl Line {
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

/// An error of the kernel's in words.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "refused: nothing listens there".to_owned(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "it ends the connection".to_owned()
        }
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "no route to its host".to_owned()
        }
        io::ErrorKind::TimedOut => "no answer in time".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, TcpListener};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::clock::Reading;
    use crate::config::cluster::EndpointPlan;
    use crate::config::plan::Host;

    fn now() -> Instant {
        Instant::from_millis(Reading::take().boottime_ms)
    }

    fn etcd(addresses: &[SocketAddr]) -> Etcd {
        let endpoint =
            |it: &SocketAddr| EndpointPlan { host: Host::Address(it.ip()), port: it.port() };
        let plan = EtcdPlan {
            endpoints: addresses.iter().map(endpoint).collect(),
            prefix: "/giveover".to_owned(),
            ttl: Span::from_secs(10),
            margin: Span::from_secs(5),
        };
        let nodes = ["a".to_owned(), "b".to_owned()];
        let mut etcd = Etcd::new(&plan, Node(0), &nodes, &["front".to_owned()], now());
        for (place, address) in addresses.iter().enumerate() {
            etcd.place(place, Some(*address));
        }
        etcd
    }

    /// Runs until something is answered.
    fn answer(etcd: &mut Etcd, reactor: &mut Reactor) -> (Ticket, Answer) {
        let mut ready = Vec::new();
        for _ in 0..6_000 {
            reactor.wait(Some(Duration::from_millis(10)), &mut ready).expect("epoll");
            ready.iter().for_each(|ready| etcd.ready(reactor, *ready, now()));
            etcd.due(reactor, now());
            while let Some(news) = etcd.news() {
                if let News::Answered(0, ticket, answer) = news {
                    return (ticket, answer);
                }
            }
        }
        panic!("no answer");
    }

    /// Answers every request of every connection with `reply`, a byte at a time.
    fn server(reply: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                thread::spawn(move || {
                    let mut buffer = [0; 4096];
                    while stream.read(&mut buffer).is_ok_and(|length| length > 0) {
                        let sent = reply.bytes().all(|byte| stream.write_all(&[byte]).is_ok());
                        if !sent {
                            return;
                        }
                    }
                });
            }
        });
        address
    }

    const GRANTED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        18\r\n{\"ID\":\"75\",\"TTL\":\"10\",\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";

    #[test]
    fn who_does_not_answer_is_left_for_who_does() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let closed = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
        let odd = server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
        let well = server(GRANTED);
        let silent = silent.local_addr().map(|address| (address, silent)).expect("its address");
        let mut reactor = Reactor::new().expect("a reactor");
        let mut etcd = etcd(&[silent.0, closed, odd, well]);
        let mut answers = Vec::new();
        for number in 0..8 {
            let (ticket, begun) = (Ticket(number), now());
            let until = begun.after(Span::from_millis(300));
            etcd.ask(&reactor, 0, (ticket, Request::Grant), until, begun);
            let (answered, answer) = answer(&mut etcd, &mut reactor);
            assert_eq!(answered, ticket);
            answers.push(answer);
        }
        let granted =
            Answer::Granted { lease: giveover_core::claim::Lease(75), ttl: Span::from_secs(10) };
        assert_eq!(answers.last(), Some(&granted), "{answers:?} {:?}", etcd.endpoints());
        assert_eq!(answers.first(), Some(&Answer::Failed), "nobody has answered");
        assert_eq!(etcd.current(), 3);
        let why: Vec<Option<&str>> =
            etcd.endpoints().iter().map(|endpoint| endpoint.why.as_deref()).collect();
        assert_eq!(why[0], Some("no answer in time"));
        assert_eq!(why[1], Some("refused: nothing listens there"));
        assert!(
            why[2].is_some_and(|why| why.contains("understands") || why.contains("is no etcd"))
        );
        assert_eq!(why[3], None);
        etcd.close(&reactor);
    }

    #[test]
    fn a_name_without_an_address_is_said() {
        let reactor = Reactor::new().expect("a reactor");
        let mut etcd = etcd(&[SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1)]);
        etcd.place(0, None);
        let until = now().after(Span::from_secs(1));
        etcd.ask(&reactor, 0, (Ticket(1), Request::Read), until, now());
        assert_eq!(etcd.news(), Some(News::Answered(0, Ticket(1), Answer::Failed)));
        let why = etcd.endpoints().first().and_then(|it| it.why.as_deref());
        assert_eq!(why, Some("its name has no address"));
    }
}
