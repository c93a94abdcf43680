//! By datagram: silence, reports, strange answers, late ones.

use std::net::UdpSocket;

use super::*;
use crate::config::talk::{DnsPlan, Talk};

const QUESTION: &[u8] = b"\x01a\0\0\x01\0\x01";

fn dns() -> Kind {
    let plan = DnsPlan { question: QUESTION.into(), expect: vec![(0, 0)], tcp: false };
    Kind::Talk(Box::new(Talk::Dns(plan)))
}

fn udp(expect: Option<&str>) -> Kind {
    let expect = expect.map(|expect| expect.as_bytes().into());
    Kind::Talk(Box::new(Talk::Udp { send: b"ping".as_slice().into(), expect }))
}

fn server() -> UdpSocket {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    server.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    server
}

fn of(server: &UdpSocket, kind: Kind) -> CheckPlan {
    let address = server.local_addr().expect("its address");
    check(Host::Address(address.ip()), address.port(), kind)
}

/// The next datagram, and from whom.
fn heard(server: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 512];
    let (length, from) = server.recv_from(&mut buffer).expect("a datagram");
    (buffer[..length].to_vec(), from)
}

/// The answer to a query with this response code.
fn answer(query: &[u8], code: u8) -> Vec<u8> {
    let mut answer = query.to_vec();
    (answer[2], answer[3]) = (0x81, 0x80 | code);
    answer
}

fn expired(turns: &mut Loop, plan: &CheckPlan) -> u64 {
    let before = turns.now;
    turns.expire(plan);
    turns.now.since(before)
}

#[test]
fn an_answer_is_judged_by_its_response_code() {
    // req 3.21
    for (code, expected) in [(0, ProbeResult::Healthy), (2, failed_with(50, Phase::Answer, 2))] {
        let (mut turns, server) = (Loop::new(), server());
        let plan = of(&server, dns());
        turns.start(&plan);
        let (query, from) = heard(&server);
        assert_eq!(query[2..], [&[1, 0, 0, 1, 0, 0, 0, 0, 0, 0], QUESTION].concat());
        server.send_to(&answer(&query, code), from).expect("sent");
        assert_eq!(turns.run(&plan), expected);
        assert!(turns.is_clean());
    }
}

#[test]
fn a_query_without_an_answer_is_sent_three_times_and_then_weighs_as_no_connection() {
    let (mut turns, server) = (Loop::new(), server());
    let plan = of(&server, dns());
    turns.start(&plan);
    let (first, _) = heard(&server);
    assert_eq!(expired(&mut turns, &plan), 3334);
    assert_eq!(heard(&server).0, first);
    assert_eq!(expired(&mut turns, &plan), 3334);
    assert_eq!(heard(&server).0, first);
    assert_eq!(expired(&mut turns, &plan), 3332);
    assert_eq!(turns.answer().result, failed(100, Phase::Silence, Errno::TIMEDOUT));
    assert!(turns.is_clean());
}

#[test]
fn a_lost_datagram_is_made_good_by_the_next() {
    let (mut turns, server) = (Loop::new(), server());
    let plan = of(&server, dns());
    turns.start(&plan);
    heard(&server);
    turns.expire(&plan);
    let (query, from) = heard(&server);
    server.send_to(&answer(&query, 0), from).expect("sent");
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
}

#[test]
fn answers_to_something_else_are_passed_over_and_alone_are_a_wrong_answer() {
    let strange = |query: &[u8]| {
        let right = answer(query, 0);
        let mut all: Vec<Vec<u8>> = vec![Vec::new(), b"?".to_vec(), query.to_vec()];
        all.extend((0..right.len()).map(|length| right[..length].to_vec()));
        for place in [0, 1, 2, 5, 12, 13, 14, 16, 18] {
            let mut other = right.clone();
            other[place] ^= 0x44;
            all.push(other);
        }
        all
    };
    for right_follows in [true, false] {
        let (mut turns, server) = (Loop::new(), server());
        let plan = of(&server, dns());
        turns.start(&plan);
        let (query, from) = heard(&server);
        for strange in strange(&query) {
            server.send_to(&strange, from).expect("sent");
            turns.turn(&plan);
            assert_eq!(turns.answered(), [], "{strange:?}");
        }
        if right_follows {
            server.send_to(&answer(&query, 0), from).expect("sent");
            assert_eq!(turns.run(&plan), ProbeResult::Healthy);
            continue;
        }
        while turns.prober.in_flight() > 0 {
            turns.expire(&plan);
        }
        assert_eq!(turns.answer().result, failed_with(50, Phase::Answer, 0));
    }
}

#[test]
fn the_right_answer_from_another_address_is_not_heard() {
    let (mut turns, asked, liar) = (Loop::new(), server(), server());
    let plan = of(&asked, dns());
    turns.start(&plan);
    let (query, from) = heard(&asked);
    liar.send_to(&answer(&query, 0), from).expect("sent");
    while turns.prober.in_flight() > 0 {
        turns.expire(&plan);
    }
    assert_eq!(turns.answer().result, failed(100, Phase::Silence, Errno::TIMEDOUT));
}

#[test]
fn queries_are_numbered_by_lot() {
    let server = server();
    let mut turns = Loop::new();
    let plan = of(&server, dns());
    let numbers: std::collections::HashSet<[u8; 2]> = (0..20)
        .map(|_| {
            turns.start(&plan);
            let query = heard(&server).0;
            [query[0], query[1]]
        })
        .collect();
    assert!(numbers.len() > 15, "{numbers:?}");
}

#[test]
fn a_closed_port_is_a_failure_at_once() {
    // req 3.8
    for kind in [dns(), udp(None), udp(Some("pong"))] {
        let mut turns = Loop::new();
        let plan = of(&server(), kind); // which is gone again
        turns.start(&plan);
        assert_eq!(turns.run(&plan), failed(100, Phase::Connect, Errno::CONNREFUSED));
        assert!(turns.is_clean());
    }
}

#[test]
fn silence_is_health_after_several_datagrams() {
    // req 3.7
    let (mut turns, server) = (Loop::new(), server());
    let plan = of(&server, udp(None));
    turns.start(&plan);
    let mut passed = Vec::new();
    while turns.prober.in_flight() > 0 {
        assert_eq!(heard(&server).0, b"ping");
        passed.push(expired(&mut turns, &plan));
    }
    assert_eq!(passed, [1100, 1100, 1100, 700]);
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    assert!(turns.is_clean());
}

#[test]
fn silence_lasts_no_longer_than_the_time_there_is() {
    let (mut turns, server) = (Loop::new(), server());
    let mut plan = of(&server, udp(None));
    let mut question = (*plan.question).clone();
    question.timeout = Span::from_millis(50);
    plan.question = question.into();
    turns.start(&plan);
    assert_eq!(expired(&mut turns, &plan), 50);
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
}

#[test]
fn a_port_that_is_closed_meanwhile_is_found_by_a_later_datagram() {
    let mut turns = Loop::new();
    let server = server();
    let plan = of(&server, udp(None));
    turns.start(&plan);
    heard(&server);
    turns.expire(&plan);
    heard(&server);
    drop(server);
    turns.expire(&plan);
    assert_eq!(turns.run(&plan), failed(100, Phase::Connect, Errno::CONNREFUSED));
}

#[test]
fn a_report_that_came_while_we_slept_past_the_limit_still_counts() {
    let mut turns = Loop::new();
    let plan = of(&server(), udp(None)); // gone
    turns.start(&plan);
    turns.wait();
    turns.pass(4_000);
    turns.turn(&plan);
    assert_eq!(turns.answer().result, failed(100, Phase::Connect, Errno::CONNREFUSED));
}

#[test]
fn an_answer_that_is_expected_has_to_come() {
    for (said, expected) in [
        (&b"a pong!"[..], ProbeResult::Healthy),
        (b"pang", failed_with(50, Phase::Answer, 0)),
        (b"", failed_with(50, Phase::Answer, 0)),
    ] {
        let (mut turns, server) = (Loop::new(), server());
        let plan = of(&server, udp(Some("pong")));
        turns.start(&plan);
        let (_, from) = heard(&server);
        server.send_to(said, from).expect("sent");
        assert_eq!(turns.run(&plan), expected, "{said:?}");
    }
    let (mut turns, server) = (Loop::new(), server());
    let plan = of(&server, udp(Some("pong")));
    turns.start(&plan);
    while turns.prober.in_flight() > 0 {
        turns.expire(&plan);
    }
    assert_eq!(turns.answer().result, failed(100, Phase::Silence, Errno::TIMEDOUT));
}

#[test]
fn any_answer_to_a_datagram_that_needs_none_is_health() {
    let (mut turns, server) = (Loop::new(), server());
    let plan = of(&server, udp(None));
    turns.start(&plan);
    let (_, from) = heard(&server);
    server.send_to(b"", from).expect("sent");
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    assert!(turns.is_clean());
}

#[test]
fn an_address_that_datagrams_cannot_be_sent_to_is_our_lack() {
    let mut turns = Loop::new();
    let broadcast = check(Host::Address("255.255.255.255".parse().expect("one")), 9, udp(None));
    turns.start(&broadcast);
    let cause = Cause::of_check(1, Phase::Connect, code(Errno::ACCESS));
    assert_eq!(turns.answer().result, ProbeResult::CannotMeasure(cause));
    assert!(turns.is_clean());
}

/// Starts a probe of a name and goes on until the name is resolved.
fn start_named(turns: &mut Loop, plan: &CheckPlan) {
    turns.start(plan);
    while matches!(stage(turns), Stage::Resolving) {
        turns.turn(plan);
    }
}

fn stage(turns: &mut Loop) -> &Stage {
    let slot = turns.prober.slots.keys().next().expect("a probe");
    &turns.prober.probe_mut(slot).expect("a probe").stage
}

#[test]
fn where_one_address_cannot_be_reached_the_next_is_asked() {
    for kind in [dns(), udp(Some("pong"))] {
        let (mut turns, server) = (Loop::new(), server());
        let port = server.local_addr().expect("its address").port();
        let plan = named("127.0.0.9+127.0.0.1", port, kind);
        start_named(&mut turns, &plan);
        while turns.prober.in_flight() > 0 && !has_datagram(&server) {
            turns.turn(&plan);
        }
        let (query, from) = heard(&server);
        let said = if query == b"ping" { b"pong".to_vec() } else { answer(&query, 0) };
        server.send_to(&said, from).expect("sent");
        assert_eq!(turns.run(&plan), ProbeResult::Healthy);
        assert!(turns.is_clean());
    }
    let mut turns = Loop::new();
    let port = server().local_addr().expect("its address").port();
    let plan = named("127.0.0.9+127.0.0.8", port, dns());
    start_named(&mut turns, &plan);
    assert_eq!(turns.run(&plan), failed(100, Phase::Connect, Errno::CONNREFUSED));
    assert!(turns.is_clean());
}

fn has_datagram(server: &UdpSocket) -> bool {
    server.set_nonblocking(true).expect("set");
    let there = server.peek(&mut [0; 1]).is_ok();
    server.set_nonblocking(false).expect("set");
    there
}

#[test]
fn where_one_address_is_silent_the_next_is_asked_in_its_turn() {
    let server = server();
    let port = server.local_addr().expect("its address").port();
    let Ok(mute) = UdpSocket::bind(("127.0.0.9", port)) else { return };
    let mut turns = Loop::new();
    let plan = named("127.0.0.9+127.0.0.1", port, dns());
    start_named(&mut turns, &plan);
    heard(&mute);
    assert_eq!(expired(&mut turns, &plan), 3334);
    let (query, from) = heard(&server);
    server.send_to(&answer(&query, 0), from).expect("sent");
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    assert!(turns.is_clean());
}

#[test]
fn an_address_that_we_cannot_speak_to_is_passed_over() {
    let (mut turns, server) = (Loop::new(), server());
    let port = server.local_addr().expect("its address").port();
    let plan = named("255.255.255.255+127.0.0.1", port, dns());
    start_named(&mut turns, &plan);
    let (query, from) = heard(&server);
    server.send_to(&answer(&query, 0), from).expect("sent");
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
}

#[test]
fn reports_are_heard_over_the_newer_protocol_too() {
    let Ok(server) = UdpSocket::bind("[::1]:0") else { return };
    let mut turns = Loop::new();
    let plan = of(&server, udp(None));
    drop(server);
    turns.start(&plan);
    assert_eq!(turns.run(&plan), failed(100, Phase::Connect, Errno::CONNREFUSED));
}

#[test]
fn probes_that_are_void_leave_nothing() {
    let (mut turns, server) = (Loop::new(), server());
    let plan = of(&server, dns());
    turns.start(&plan);
    turns.prober.void_all(&mut turns.reactor, turns.now);
    assert_eq!(turns.answer().result, ProbeResult::Void);
    assert!(turns.is_clean());
}
