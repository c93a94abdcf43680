//! Against real sockets on loopback, in made-up time: the kernel brings events when it has
//! them, the clock moves when a test says so, and nothing sleeps.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::Duration;

use giveover_core::failure::{Cause, ProbeResult};
use giveover_core::time::Span;
use giveover_core::weight::Weight;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;

use super::*;
use crate::check::outcome::code;
use crate::check::testing::Random;
use crate::config::plan::{HttpPlan, Method, Target, Weights};

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

    fn start(&mut self, plan: &CheckPlan) -> ProbeId {
        let id = ProbeId { service: 0, check: 1, target: 0, cycle: self.started };
        self.started += 1;
        self.prober.start(&mut self.reactor, plan, id, self.now);
        id
    }

    /// Waits for events, up to some seconds, and handles them.
    fn turn(&mut self, plan: &CheckPlan) {
        self.wait();
        for ready in std::mem::take(&mut self.ready) {
            self.prober.ready(&mut self.reactor, plan, ready, self.now);
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
    while name == "later.test" {
        std::thread::park();
    }
    let known = name != "none.test";
    known
        .then(|| name.split('+').filter_map(|part| part.parse().ok()).collect())
        .ok_or_else(|| std::io::Error::other("Name or service not known"))
}

fn check(host: Host, port: u16, kind: Kind) -> CheckPlan {
    CheckPlan {
        name: "c".into(),
        kind,
        targets: vec![Target { host, port }],
        timeout: TIMEOUT,
        weights: Weights::DEFAULT,
        every: None,
        observe: false,
    }
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
    let listener = listen(address);
    rustix::net::listen(&listener, 0).expect("a short queue");
    let only = TcpStream::connect(listener.local_addr().expect("its address")).expect("one");
    (listener, only)
}

/// A port where nobody listens.
fn nobody(address: &str) -> CheckPlan {
    at(&listen(address), plain())
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

#[test]
fn a_port_that_accepts_is_healthy_and_its_accept_never_sees_us() {
    // req 0.31
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, plain());
    let id = turns.start(&plan);
    let expected = Answer { id, result: ProbeResult::Healthy, elapsed_ms: 0, shown: 0 };
    assert_eq!(turns.answer(), expected);
    assert!(turns.is_clean());
    listener.set_nonblocking(true).expect("no blocking");
    assert_eq!(listener.accept().expect_err("nobody").kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_port_where_nobody_listens_is_a_complete_failure() {
    // req 0.29, 1.25
    let mut turns = Loop::new();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let plan = nobody(address);
        turns.start(&plan);
        assert_eq!(turns.answer().result, failed(100, Phase::Connect, Errno::CONNREFUSED));
        assert!(turns.is_clean());
    }
}

#[test]
fn ipv6_is_as_good() {
    let (mut turns, listener) = (Loop::new(), listen("[::1]:0"));
    turns.start(&at(&listener, plain()));
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
}

#[test]
fn a_connection_that_is_not_made_in_time_is_a_complete_failure() {
    // req 0.32
    let (mut turns, (listener, _only)) = (Loop::new(), full("127.0.0.1:0"));
    let plan = at(&listener, plain());
    turns.start(&plan);
    assert_eq!(turns.prober.in_flight(), 1);
    turns.expire(&plan);
    let answer = turns.answer();
    assert_eq!(answer.result, failed(100, Phase::Connect, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, TIMEOUT.as_millis());
    assert!(turns.is_clean());
}

#[test]
fn what_comes_at_the_deadline_is_late_and_what_comes_after_the_answer_is_nothing() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, dialogue("", "ready"));
    turns.start(&plan);
    let mut stream = accept(&listener);
    stream.write_all(b"ready").expect("sent in time");
    turns.wait();
    let ready = turns.ready[0];
    turns.pass(TIMEOUT.as_millis());
    turns.turn(&plan);
    assert_eq!(turns.answer().result, failed(50, Phase::Read, Errno::TIMEDOUT));
    assert!(turns.is_clean());

    turns.prober.ready(&mut turns.reactor, &plan, ready, turns.now);
    turns.prober.due(&mut turns.reactor, &plan, ready.token, turns.now);
    assert!(turns.answered().is_empty());
    turns.start(&plan); // in the same place, with another generation
    turns.prober.ready(&mut turns.reactor, &plan, ready, turns.now);
    assert!(turns.answered().is_empty());
    assert_eq!(turns.prober.in_flight(), 1);
}

#[test]
fn a_server_that_accepts_and_is_silent_is_late() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    for kind in [page(None), dialogue("hello\r\n", "hi")] {
        let plan = at(&listener, kind);
        turns.start(&plan);
        turns.expire(&plan);
        assert_eq!(turns.answer().result, failed(50, Phase::Read, Errno::TIMEDOUT));
        assert!(turns.is_clean());
    }
}

#[test]
fn a_part_of_the_answer_at_the_deadline_is_a_partial_failure() {
    // req 1.23
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, dialogue("helo\r\n", "250 ok"));
    turns.start(&plan);
    let mut stream = accept_request(&listener, "helo\r\n");
    stream.write_all(b"250 ").expect("sent");
    turns.turn(&plan);
    turns.expire(&plan);
    assert_eq!(turns.answer().result, failed(50, Phase::Read, Errno::TIMEDOUT));
}

#[test]
fn a_dialogue_is_judged_by_what_is_expected() {
    let mut turns = Loop::new();
    let answers: [(&[u8], ProbeResult); 4] = [
        (b"220 mail ready\r\n", ProbeResult::Healthy),
        (b"554 no\r\n", failed_with(50, Phase::Answer, 0)),
        (b"22", failed(50, Phase::Read, Errno::NODATA)),
        (b"", failed(50, Phase::Read, Errno::NODATA)),
    ];
    for (answer, expected) in answers {
        let listener = listen("127.0.0.1:0");
        let plan = at(&listener, dialogue("", "220 "));
        turns.start(&plan);
        accept(&listener).write_all(answer).expect("sent");
        assert_eq!(turns.run(&plan), expected, "{answer:?}");
        assert!(turns.is_clean());
    }
}

#[test]
fn what_is_only_sent_arrives() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    turns.start(&at(&listener, dialogue("ping\n", "")));
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    assert!(turns.is_clean());
    let mut all = String::new();
    accept(&listener).read_to_string(&mut all).expect("an orderly end");
    assert_eq!(all, "ping\n");
}

#[test]
fn a_request_larger_than_the_socket_takes_is_sent_as_it_is_read() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let request = "x".repeat(16 << 20);
    let plan = at(&listener, dialogue(&request, "thanks"));
    turns.start(&plan);
    let mut stream = accept(&listener);
    let (mut read, mut buffer) = (0, vec![0; 1 << 20]);
    while read < request.len() {
        read += stream.read(&mut buffer).expect("a part");
        if read < request.len() {
            turns.reactor.wait(Some(Duration::ZERO), &mut turns.ready).expect("no error");
            for ready in std::mem::take(&mut turns.ready) {
                turns.prober.ready(&mut turns.reactor, &plan, ready, turns.now);
            }
        }
    }
    stream.write_all(b"thanks").expect("sent");
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
}

const REQUEST: &str = concat!(
    "GET /health HTTP/1.1\r\nHost: localhost\r\nUser-Agent: giveover/",
    env!("CARGO_PKG_VERSION"),
    "\r\nAccept: */*\r\nConnection: close\r\n\r\n"
);

/// Serves one response in `pieces`, each read by the prober before the next is sent.
fn serve(turns: &mut Loop, plan: &CheckPlan, listener: &TcpListener, pieces: &[&[u8]]) {
    turns.start(plan);
    let mut stream = accept_request(listener, REQUEST);
    for piece in pieces {
        stream.write_all(piece).expect("sent");
        turns.turn(plan);
    }
}

#[test]
fn a_page_is_judged_by_its_status_and_its_body_across_reads() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let cases: [(Option<&str>, &[&[u8]], ProbeResult, u16); 5] = [
        (None, &[b"HTTP/1.1 204 No Content\r\n\r\n"], ProbeResult::Healthy, 204),
        (
            Some("all well"),
            &[b"HTTP/1.1 200 OK\r\nContent-Le", b"ngth: 8\r\n\r\nall", b" well"],
            ProbeResult::Healthy,
            200,
        ),
        (
            Some("all well"),
            &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nall ", b"\r\n4\r\nwell"],
            ProbeResult::Healthy,
            200,
        ),
        (None, &[b"HTTP/1.1 503 Busy\r\n\r\n"], failed_with(50, Phase::Answer, 503), 0),
        (None, &[b"what?"], failed_with(50, Phase::Answer, 0), 0),
    ];
    for (body, pieces, result, shown) in cases {
        let plan = at(&listener, page(body));
        serve(&mut turns, &plan, &listener, pieces);
        let answer = turns.answer();
        assert_eq!((answer.result, answer.shown), (result, shown));
    }
}

#[test]
fn half_a_page_is_cut_and_a_reset_in_the_middle_is_a_reset() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, page(None));
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
    serve(&mut turns, &plan, &listener, &[half]);
    assert_eq!(turns.run(&plan), failed(50, Phase::Read, Errno::NODATA));
    assert!(turns.is_clean());

    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(half).expect("sent");
    turns.turn(&plan);
    reset(stream);
    assert_eq!(turns.run(&plan), failed(50, Phase::Read, Errno::CONNRESET));
    assert!(turns.is_clean());
}

#[test]
fn a_page_that_comes_a_byte_at_a_time_without_end_stops_at_the_deadline() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = CheckPlan { timeout: Span::from_millis(50), ..at(&listener, page(None)) };
    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("sent");
    for _ in 0..50 {
        assert!(turns.answered().is_empty());
        turns.pass(1);
        stream.write_all(b".").expect("sent");
        turns.turn(&plan);
    }
    let answer = turns.answer();
    assert_eq!(answer.result, failed(50, Phase::Read, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, 50);
    assert!(turns.is_clean());
}

#[test]
fn a_page_without_end_at_line_rate_stops_at_the_cap() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, page(Some("never there")));
    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    let server = std::thread::spawn(move || {
        let mut sent = stream.write(b"HTTP/1.1 200 OK\r\n\r\n").expect("sent");
        while let Ok(more) = stream.write(&[b'.'; 4096]) {
            sent += more;
        }
        sent
    });
    assert_eq!(turns.run(&plan), failed_with(50, Phase::Answer, 200));
    assert!(turns.is_clean());
    assert!(server.join().expect("its count") >= 256 * 1024);
}

#[test]
fn a_server_may_close_first_once_it_has_said_all() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, page(None));
    let response: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(response).expect("sent");
    turns.turn(&plan);
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    assert_eq!(turns.prober.in_flight(), 0);
    stream.set_nonblocking(true).expect("no blocking");
    let none = stream.read(&mut [0]).expect_err("no close and no reset");
    assert_eq!(none.kind(), std::io::ErrorKind::WouldBlock);
    drop(stream);
    turns.turn(&plan);
    assert!(turns.is_clean());

    // One that keeps the connection is left after a second.
    serve(&mut turns, &plan, &listener, &[]);
    turns.prober.void_all(&mut turns.reactor, turns.now);
    turns.answered();
    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(response).expect("sent");
    turns.turn(&plan);
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    turns.expire(&plan);
    assert!(turns.is_clean() && turns.answered().is_empty());
    assert_eq!(
        stream.read(&mut [0]).expect_err("reset").kind(),
        std::io::ErrorKind::ConnectionReset
    );
}

#[test]
fn an_xfnts_probe_connects_says_goodbye_and_hands_over_what_is_left() {
    // req 0.31, 0.35
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, xfnts());
    let id = turns.start(&plan);
    let mut stream = accept(&listener);
    assert_eq!(stream.read(&mut [0]).expect("an orderly end"), 0);
    turns.pass(4_000);
    drop(stream);
    while turns.prober.handovers.is_empty() {
        turns.turn(&plan);
    }
    let handover = turns.prober.handovers().next().expect("one");
    assert_eq!((handover.id, handover.remaining_ms(turns.now)), (id, 6_000));
    assert!(turns.is_clean() && turns.answered().is_empty());
}

#[test]
fn a_disconnect_that_fails_is_half_a_failure() {
    // req 0.30
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, xfnts());
    turns.start(&plan);
    let _never_closed = accept(&listener);
    turns.expire(&plan);
    let answer = turns.answer();
    assert_eq!(answer.result, failed(50, Phase::Close, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, TIMEOUT.as_millis());
    assert!(turns.is_clean());

    turns.start(&plan);
    reset(accept(&listener));
    assert_eq!(turns.run(&plan), failed(50, Phase::Close, Errno::CONNRESET));
    assert!(turns.is_clean());
}

#[test]
fn an_xfnts_probe_may_connect_for_95_percent_of_its_time() {
    // req 0.33
    let (mut turns, (listener, _only)) = (Loop::new(), full("127.0.0.1:0"));
    let plan = at(&listener, xfnts());
    turns.start(&plan);
    turns.expire(&plan);
    let answer = turns.answer();
    assert_eq!(answer.result, failed(100, Phase::Connect, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, 9_500);
    assert!(turns.is_clean());
}

#[test]
fn a_connection_made_too_late_is_still_closed_within_two_seconds() {
    // req 0.36
    let (mut turns, (listener, only)) = (Loop::new(), full("127.0.0.1:0"));
    let plan = at(&listener, xfnts());
    turns.start(&plan);
    drop((accept(&listener), only)); // the next SYN finds room
    turns.wait();
    turns.pass(TIMEOUT.as_millis() + 7);
    turns.turn(&plan);
    assert_eq!(turns.answer().result, failed(100, Phase::Connect, Errno::TIMEDOUT));
    assert_eq!(turns.prober.in_flight(), 0);
    assert_eq!(accept(&listener).read(&mut [0]).expect("an orderly end"), 0);
    let limit = turns.reactor.timers.next().expect("a limit");
    assert_eq!(limit.since(turns.now), 2_000);
    turns.expire(&plan);
    assert!(turns.is_clean() && turns.answered().is_empty());
}

#[test]
fn an_address_that_refuses_costs_no_time() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let port = listener.local_addr().expect("its address").port();
    let plan = named("127.0.0.2+127.0.0.3+127.0.0.1", port, plain());
    turns.start(&plan);
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    assert!(turns.is_clean());
    turns.start(&plan); // from what is known by now
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
}

#[test]
fn an_address_that_leads_nowhere_costs_250_ms() {
    let (mut turns, (nowhere, _only)) = (Loop::new(), full("127.0.0.2:0"));
    let port = nowhere.local_addr().expect("its address").port();
    let listener = listen(&format!("127.0.0.1:{port}"));
    let plan = named("127.0.0.2+127.0.0.1", port, page(None));
    turns.start(&plan);
    turns.turn(&plan); // the name
    turns.expire(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("sent");
    drop(stream);
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    assert_eq!(turns.now, Instant::from_millis(1_000_250));
    assert!(turns.is_clean());
}

#[test]
fn the_first_of_several_attempts_wins_and_the_others_are_closed() {
    let (mut turns, (slow, only)) = (Loop::new(), full("127.0.0.2:0"));
    let port = slow.local_addr().expect("its address").port();
    let (nowhere, _only) = full(&format!("127.0.0.3:{port}"));
    let plan = named("127.0.0.2+127.0.0.3", port, page(None));
    turns.start(&plan);
    turns.turn(&plan);
    turns.expire(&plan);
    assert_eq!(turns.prober.slots.keys().count(), 3);
    drop((accept(&slow), only)); // the next SYN finds room
    turns.turn(&plan);
    let mut stream = accept_request(&slow, REQUEST);
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("sent");
    drop(stream);
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    assert!(turns.is_clean());
    drop(nowhere);
}

#[test]
fn a_name_all_of_whose_addresses_fail_fails_once() {
    let (mut turns, plan) = (Loop::new(), nobody("127.0.0.1:0"));
    let port = plan.targets[0].port;
    let refused = named("127.0.0.1+::1+127.0.0.2", port, plain());
    turns.start(&refused);
    assert_eq!(turns.run(&refused), failed(100, Phase::Connect, Errno::CONNREFUSED));
    assert!(turns.is_clean());

    let (nowhere, _only) = full("127.0.0.2:0");
    let port = nowhere.local_addr().expect("its address").port();
    let nowhere = named("127.0.0.2+127.0.0.3", port, plain());
    turns.start(&nowhere);
    turns.turn(&nowhere);
    turns.expire(&nowhere); // the second attempt is refused
    turns.expire(&nowhere); // the deadline
    let answer = turns.answer();
    assert_eq!(answer.result, failed(100, Phase::Connect, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, TIMEOUT.as_millis());
    assert!(turns.is_clean());
}

#[test]
fn a_name_that_does_not_resolve_cannot_be_measured() {
    let mut turns = Loop::new();
    let plan = named("none.test", 80, plain());
    turns.start(&plan);
    let cause = Cause::of_check(1, Phase::Resolve, code(Errno::NOENT));
    assert_eq!(turns.run(&plan), ProbeResult::CannotMeasure(cause));
    assert!(turns.is_clean());

    let weights = Weights { resolve: Some(Weight::HALF), ..Weights::DEFAULT };
    let plan = CheckPlan { weights, ..plan };
    turns.start(&plan);
    assert_eq!(turns.answer().result, failed(50, Phase::Resolve, Errno::NOENT));
}

#[test]
fn a_name_server_that_is_silent_costs_the_deadline_and_nobody_elses_time() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = named("later.test", 80, plain());
    turns.start(&plan);
    let other = at(&listener, plain());
    turns.start(&other);
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    turns.expire(&plan);
    let cause = Cause::of_check(1, Phase::Resolve, code(Errno::TIMEDOUT));
    assert_eq!(turns.answer().result, ProbeResult::CannotMeasure(cause));
    assert!(turns.is_clean() && turns.prober.waiting.is_empty());
}

#[test]
fn when_we_did_not_run_every_probe_is_void() {
    let (mut turns, (nowhere, _only)) = (Loop::new(), full("127.0.0.2:0"));
    let port = nowhere.local_addr().expect("its address").port();
    let listener = listen("127.0.0.1:0");
    let racing = named("127.0.0.2+127.0.0.1", port, plain());
    turns.start(&racing);
    turns.turn(&racing);
    for plan in [&at(&nowhere, plain()), &at(&listener, page(None)), &at(&listener, xfnts())] {
        turns.start(plan);
    }
    turns.start(&named("later.test", 80, plain()));
    assert_eq!(turns.prober.in_flight(), 5);
    turns.pass(60_000);
    turns.prober.void_all(&mut turns.reactor, turns.now);
    let results: Vec<_> = turns.answered().into_iter().map(|answer| answer.result).collect();
    assert_eq!(results, [ProbeResult::Void; 5]);
    assert!(turns.is_clean());
}

#[test]
fn a_probe_whose_plan_is_gone_or_another_is_void() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let gone: Vec<crate::config::plan::ServicePlan> = Vec::new();
    let id = ProbeId { service: 7, check: 0, target: 0, cycle: 0 };
    turns.prober.start(&mut turns.reactor, &gone, id, turns.now);
    assert_eq!(turns.answer().result, ProbeResult::Void);

    turns.start(&at(&listener, page(None)));
    accept(&listener).write_all(b"HTTP/1.1 204\r\n\r\n").expect("sent");
    assert_eq!(turns.run(&at(&listener, dialogue("", "x"))), ProbeResult::Void);
    assert!(turns.is_clean());
}

/// Whatever servers, clocks and callers do, every probe has exactly one answer and leaves
/// nothing behind.
#[test]
fn every_probe_is_answered_exactly_once() {
    let mut random = Random::new(2026);
    let mut turns = Loop::new();
    let (nowhere, _only) = full("127.0.0.2:0");
    let port = nowhere.local_addr().expect("its address").port();
    let open = listen(&format!("127.0.0.1:{port}"));
    open.set_nonblocking(true).expect("no blocking");
    let plans: Vec<CheckPlan> =
        [plain(), page(None), dialogue("a", "b"), dialogue("a", ""), xfnts()]
            .into_iter()
            .flat_map(|kind| {
                let names =
                    ["127.0.0.2+127.0.0.1", "127.0.0.3+127.0.0.2", "127.0.0.3", "none.test"];
                let named = names.map(|name| named(name, port, kind.clone()));
                let literal = check(Host::Address([127, 0, 0, 1].into()), port, kind.clone());
                named.into_iter().chain([literal])
            })
            .collect();
    let plans = Plans(plans);
    let (mut streams, mut stale) = (Vec::new(), Vec::new());
    let mut count = vec![0; 3_000];
    for cycle in 0..count.len() as u32 {
        let check = random.below(plans.0.len()) as u8;
        let id = ProbeId { service: 0, check, target: 0, cycle };
        turns.prober.start(&mut turns.reactor, &plans, id, turns.now);
        if let Ok((stream, _)) = open.accept() {
            stream.set_nonblocking(true).expect("no blocking");
            streams.push(stream);
        }
        if !streams.is_empty() {
            let place = random.below(streams.len());
            let said: [&[u8]; 4] = [b"b", b"HTTP/1.1 200 OK\r\n", b"\r\n", b"HTTP/1.1 204\r\n\r\n"];
            let _ = streams[place].write(said[random.below(4)]);
            match random.below(5) {
                0 => drop(streams.swap_remove(place)),
                1 => reset(streams.swap_remove(place)),
                _ => {}
            }
        }
        turns.pass(random.below(300) as u32);
        turns.reactor.wait(Some(Duration::ZERO), &mut turns.ready).expect("no error");
        for ready in std::mem::take(&mut turns.ready) {
            stale.push(ready);
            turns.prober.ready(&mut turns.reactor, &plans, ready, turns.now);
        }
        if random.below(3) == 0 {
            while let Some(token) = turns.reactor.timers.pop_due(turns.now) {
                turns.prober.due(&mut turns.reactor, &plans, token, turns.now);
            }
        }
        if random.below(300) == 0 {
            turns.prober.void_all(&mut turns.reactor, turns.now);
        }
        if let Some(ready) = stale.get(random.below(stale.len())).copied() {
            // An event that comes again, or long after: true or not, it must do no harm.
            turns.prober.due(&mut turns.reactor, &plans, ready.token, turns.now);
        }
        turns.prober.answers().for_each(|answer| count[answer.id.cycle as usize] += 1);
        turns.prober.handovers().for_each(|handover| count[handover.id.cycle as usize] += 1);
    }
    turns.pass(60_000);
    while let Some(token) = turns.reactor.timers.pop_due(turns.now) {
        turns.prober.due(&mut turns.reactor, &plans, token, turns.now);
        turns.pass(0);
    }
    turns.prober.answers().for_each(|answer| count[answer.id.cycle as usize] += 1);
    assert!(count.iter().all(|answers| *answers == 1));
    // What takes its leave has timers of its own.
    while turns.reactor.timers.next().is_some() {
        turns.expire(&plans.0[0]);
    }
    assert!(turns.is_clean());
}

struct Plans(Vec<CheckPlan>);

impl Checks for Plans {
    fn check(&self, id: ProbeId) -> Option<&CheckPlan> {
        self.0.get(usize::from(id.check))
    }
}
