//! Against real sockets on loopback, in made-up time: the kernel brings events when it has
//! them, the clock moves when a test says so, and nothing sleeps.

mod connect;
mod datagram;
mod dialogue;
mod end;
mod files;
mod names;
mod page;
mod talk;
mod xfnts;

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use giveover_core::failure::{Cause, ProbeResult};
use giveover_core::time::Span;
use giveover_core::weight::Weight;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketType};

use super::*;
use crate::check::dialogue::{First, first};
use crate::check::outcome::code;
use crate::check::testing::Random;
use crate::config::plan::{HttpPlan, Method, Question, Target, Weights};

const TIMEOUT: Span = Span::from_secs(10);

/// A loop with one prober in it.
struct Loop {
    reactor: Reactor,
    prober: Prober,
    ready: Vec<Ready>,
    now: Instant,
    started: u32,
}

impl Loop {
    fn new() -> Self {
        Self {
            reactor: Reactor::new().expect("a reactor"),
            prober: Prober::with_resolver(Resolver::new(test_names)),
            ready: Vec::new(),
            now: Instant::from_millis(1_000_000),
            started: 0,
        }
    }

    /// Begins a probe, and takes it as far as what it says first.
    fn start(&mut self, plan: &CheckPlan) -> ProbeId {
        let id = ProbeId { service: 0, check: 1, target: 0, cycle: self.started };
        self.started += 1;
        self.prober.start(&mut self.reactor, plan, id, self.now);
        if matches!(first(&plan.kind, &mut Vec::new()), First::We(_)) {
            let mut ready = Vec::new();
            self.reactor.wait(Some(Duration::ZERO), &mut ready).expect("no error");
            for ready in ready {
                self.prober.ready(&mut self.reactor, plan, ready, self.now);
            }
        }
        id
    }

    /// Waits for events, up to some seconds, and handles them.
    fn turn(&mut self, checks: &dyn Checks) {
        self.wait();
        for ready in std::mem::take(&mut self.ready) {
            self.prober.ready(&mut self.reactor, checks, ready, self.now);
        }
    }

    /// Turns until what is answered has taken its leave.
    fn settle(&mut self, checks: &dyn Checks) {
        while !self.is_clean() {
            self.turn(checks);
        }
    }

    fn wait(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        while ready.is_empty() {
            self.reactor.wait(Some(Duration::from_secs(20)), &mut ready).expect("no error");
            assert!(!ready.is_empty(), "nothing happened");
        }
        self.ready = ready;
    }

    /// Moves the clock to the next timer and fires what is due.
    fn expire(&mut self, plan: &CheckPlan) {
        self.now = self.reactor.timers.next().expect("a timer");
        while let Some(token) = self.reactor.timers.pop_due(self.now) {
            self.prober.due(&mut self.reactor, plan, token, self.now);
        }
    }

    fn pass(&mut self, ms: u32) {
        self.now = self.now.after(Span::from_millis(ms));
    }

    fn answered(&mut self) -> Vec<Answer> {
        self.prober.answers().collect()
    }

    /// The one answer there must be by now.
    fn answer(&mut self) -> Answer {
        let mut answers = self.answered();
        let answer = answers.pop().expect("an answer");
        assert!(answers.is_empty(), "more than one answer: {answers:?} and {answer:?}");
        answer
    }

    /// Turns until there is an answer.
    fn run(&mut self, plan: &CheckPlan) -> ProbeResult {
        while self.prober.answers.is_empty() {
            self.turn(plan);
        }
        self.answer().result
    }

    /// True if a probe has left nothing behind.
    fn is_clean(&self) -> bool {
        self.prober.in_flight() == 0
            && self.prober.slots.keys().next().is_none()
            && self.reactor.timers.is_empty()
    }
}

/// "none.test" is unknown, "later.test" takes for ever, others list their addresses.
fn test_names(name: &str) -> std::io::Result<Vec<IpAddr>> {
    if name == "later.test" {
        loop {
            std::thread::park();
        }
    }
    let known = name != "none.test";
    known
        .then(|| name.split('+').filter_map(|part| part.parse().ok()).collect())
        .ok_or_else(|| std::io::Error::other("Name or service not known"))
}

fn check(host: Host, port: u16, kind: Kind) -> CheckPlan {
    let question = Question {
        name: "c".into(),
        kind,
        timeout: TIMEOUT,
        weights: Weights::DEFAULT,
        every: None,
        observe: false,
        instance: None,
    };
    CheckPlan { targets: vec![Target { host, port }].into(), question: question.into() }
}

fn at(listener: &TcpListener, kind: Kind) -> CheckPlan {
    let address = listener.local_addr().expect("its address");
    check(Host::Address(address.ip()), address.port(), kind)
}

/// At the addresses in `name`, separated by "+".
fn named(name: &str, port: u16, kind: Kind) -> CheckPlan {
    check(Host::Name(name.into()), port, kind)
}

fn plain() -> Kind {
    Kind::Tcp { send: None, expect: None }
}

fn dialogue(send: &str, expect: &str) -> Kind {
    let bytes = |text: &str| (!text.is_empty()).then(|| text.as_bytes().into());
    Kind::Tcp { send: bytes(send), expect: bytes(expect) }
}

fn page(body: Option<&str>) -> Kind {
    Kind::Http(Box::new(HttpPlan {
        by_document: false,
        method: Method::Get,
        path: "/health".into(),
        host: "localhost".into(),
        expect: vec![(200, 399)],
        body: body.map(|body| body.as_bytes().into()),
        cap: 256 * 1024,
    }))
}

fn xfnts() -> Kind {
    Kind::Xfnts { fsinfo: "fsinfo".into() }
}

fn listen(address: &str) -> TcpListener {
    TcpListener::bind(address).expect("a listener")
}

/// A listener that takes no connection any more: those that come are neither made nor refused.
fn full(address: &str) -> (TcpListener, TcpStream) {
    fill(listen(address))
}

fn fill(listener: TcpListener) -> (TcpListener, TcpStream) {
    rustix::net::listen(&listener, 0).expect("a short queue");
    let only = TcpStream::connect(listener.local_addr().expect("its address")).expect("one");
    (listener, only)
}

/// The same at 127.0.0.2, and a listener or another of the same at `other`, on one port.
fn full_beside<T>(other: impl Fn(u16) -> std::io::Result<T>) -> ((TcpListener, TcpStream), T, u16) {
    loop {
        let full = full("127.0.0.2:0");
        let port = full.0.local_addr().expect("its address").port();
        if let Ok(other) = other(port) {
            return (full, other, port);
        }
    }
}

/// A port where nobody listens, nor will as long as the descriptor is there.
fn nobody(address: &str) -> (CheckPlan, OwnedFd) {
    let address: SocketAddr = address.parse().expect("an address");
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let fd = rustix::net::socket(family, SocketType::STREAM, None).expect("a socket");
    rustix::net::bind(&fd, &address).expect("a port");
    let own = rustix::net::getsockname(&fd).expect("its name");
    let own = SocketAddr::try_from(own).expect("an address");
    (check(Host::Address(own.ip()), own.port(), plain()), fd)
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().expect("a connection").0
}

/// Takes a connection and its request, which has to be `expected`.
fn accept_request(listener: &TcpListener, expected: &str) -> TcpStream {
    let mut stream = accept(listener);
    let mut request = vec![0; expected.len()];
    stream.read_exact(&mut request).expect("a request");
    assert_eq!(String::from_utf8_lossy(&request), expected);
    stream
}

fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).expect("no linger");
}

fn failed(weight: u8, phase: Phase, errno: Errno) -> ProbeResult {
    failed_with(weight, phase, code(errno))
}

fn failed_with(weight: u8, phase: Phase, code: u16) -> ProbeResult {
    let weight = Weight::new(weight).expect("a weight");
    ProbeResult::Failed(weight, Cause::of_check(1, phase, code))
}

const REQUEST: &str = concat!(
    "GET /health HTTP/1.1\r\nHost: localhost\r\nUser-Agent: giveover/",
    env!("CARGO_PKG_VERSION"),
    "\r\nAccept: */*\r\nConnection: close\r\n\r\n"
);

struct Plans(Vec<CheckPlan>);

impl Checks for Plans {
    fn check(&self, id: ProbeId) -> Option<&CheckPlan> {
        self.0.get(usize::from(id.check))
    }
}
