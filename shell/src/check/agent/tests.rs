use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use giveover_core::failure::{Phase, ProbeResult};
use giveover_core::time::{Instant, Span};

use super::beat::{Beat, Key, LONGEST, hundredths};
use super::ears::{At, Ears};
use super::heard::{Heard, Taken, Why};
use crate::check::outcome::Outcome;
use crate::config::agent::{AgentPlan, OTHER_UNIT, Transport, WEIGHTS};
use crate::reactor::{Reactor, Ready};

const WALL: u64 = 1_796_034_096_123;

fn key() -> Key {
    Key::new(&[7; 32])
}

fn plan() -> AgentPlan {
    AgentPlan {
        full: 1,
        name: "web-1".into(),
        transport: Transport::Udp,
        interval: Span::from_secs(6),
        count: 3,
        units: vec!["db".into()],
        key: None,
        skew: Span::from_secs(60),
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn a_heartbeat_is_read_as_it_was_written() {
    let beat = Beat::new("web-1", WALL, Some(42), vec![("db", 0), ("queue", 3)]);
    let plain = beat.line(None).expect("a line");
    assert_eq!(plain, format!("giveover-agent/1 web-1 {WALL} load=0.42 unit=db:0 unit=queue:3\n"));
    assert_eq!(Beat::parse(plain.as_bytes()), Some(beat.clone()));
    assert_eq!(Beat::parse(plain.replace('\n', "\r\n").as_bytes()), Some(beat.clone()));
    let signed = beat.line(Some(&key())).expect("a line");
    let read = Beat::parse(signed.as_bytes()).expect("a heartbeat");
    assert!(read.is_signed_with(&key()) && !read.is_signed_with(&Key::new(&[8; 32])));
    assert!(!Beat::parse(plain.as_bytes()).expect("a heartbeat").is_signed_with(&key()));
    assert_eq!((read.name, read.load, read.units), (beat.name, beat.load, beat.units));
    let later = format!("giveover-agent/1 web-1 {WALL} colour=blue\n");
    assert!(Beat::parse(later.as_bytes()).is_some(), "what later versions say is passed over");
}

#[test]
fn no_changed_byte_of_a_signed_heartbeat_is_taken_for_the_senders() {
    let line = Beat::new("web-1", WALL, Some(42), vec![("db", 0)]).line(Some(&key()));
    let line = line.expect("a line").into_bytes();
    for place in 0..line.len() - 1 {
        for flip in [0x01, 0x10, 0x20] {
            let mut other = line.clone();
            other[place] ^= flip;
            let beat = Beat::parse(&other);
            // A digit in capitals is the same digit.
            let same = other.to_ascii_lowercase() == line && place > line.len() - 66;
            assert!(same || beat.is_none_or(|beat| !beat.is_signed_with(&key())), "byte {place}");
        }
    }
}

/// Cut anywhere it could say less than was meant: another time, a lower load, fewer failed units.
#[test]
fn a_heartbeat_that_is_cut_short_is_none_wherever_it_was_cut() {
    let units = vec![("db", 0), ("queue", 137)];
    for key in [None, Some(&key())] {
        let line = Beat::new("web-1", WALL, Some(1042), units.clone()).line(key).expect("a line");
        assert!(Beat::parse(line.as_bytes()).is_some());
        for length in 0..line.len() {
            assert_eq!(Beat::parse(&line.as_bytes()[..length]), None, "{length} bytes");
        }
    }
}

#[test]
fn what_is_no_heartbeat_is_none() {
    let fine = format!("giveover-agent/1 web-1 {WALL}");
    assert!(Beat::parse(format!("{fine}\n").as_bytes()).is_some());
    for tail in [
        " ",
        " x",
        " load=",
        " load=-1",
        " load=1 load=1",
        " load=1.234",
        " unit=db",
        " unit=:0",
        " unit=db:x",
        " unit=db:0 unit=db:0",
        " unit=d b:0",
        " unit=db:70000",
        " mac=12",
        " mac=zz",
        " mac=00 load=1",
    ] {
        assert_eq!(Beat::parse(format!("{fine}{tail}\n").as_bytes()), None, "{tail:?}");
    }
    for whole in
        ["", "\n", "giveover-agent/2 a 1", "giveover-agent/1 a/b 1", "giveover-agent/1 a -1"]
    {
        assert_eq!(Beat::parse(format!("{whole}\n").as_bytes()), None, "{whole:?}");
    }
    for more in ["\n", " x=1\n", "\nx=1", "\r\r"] {
        assert_eq!(Beat::parse(format!("{fine}{more}\n").as_bytes()), None, "{more:?}");
    }
    assert_eq!(Beat::parse(b"\xff\xfe"), None);
    let long = format!("{fine} x={}\n", "y".repeat(LONGEST));
    assert_eq!(Beat::parse(long.as_bytes()), None);
    let names: Vec<String> = (0..33).map(|number| format!("u{number}")).collect();
    let units = names.iter().map(|name| (name.as_str(), 0)).collect();
    assert_eq!(Beat::new("a", 1, None, units).line(None), None, "too many");
    assert_eq!(
        ["0.42", "1", "12.5", "1.", ".5", "x"].map(hundredths),
        [Some(42), Some(100), Some(1250), None, None, None]
    );
}

/// Sends what a heartbeat of this time says to a check that has a key.
fn take(heard: &mut Heard, at_ms: u64, units: &[(&str, u16)], now: Instant) -> Taken {
    let line = Beat::new("web-1", at_ms, Some(42), units.to_vec()).line(Some(&key()));
    let line = line.expect("a line");
    let beat = Beat::parse(line.as_bytes()).expect("a heartbeat");
    heard.take(&plan(), Some(&key()), &beat, WALL + now.as_millis(), now)
}

const WELL: [(&str, u16); 1] = [("db", 0)];

fn counts(failed: &[(&str, u16)], well: &[&str]) -> Taken {
    Taken::Counts {
        failed: failed.iter().map(|(name, code)| (Box::from(*name), *code)).collect(),
        well: well.iter().map(|name| Box::from(*name)).collect(),
    }
}

// req 3.32
#[test]
fn silence_is_a_failure_only_after_all_its_intervals_and_their_allowance() {
    let plan = plan();
    assert_eq!(plan.silence(), Span::from_secs(48));
    let mut heard = Heard::new(at(0));
    assert!(
        matches!(heard.outcome(&plan, at(48_000)), Outcome::Lacking { .. }),
        "it may still come"
    );
    assert_eq!(heard.outcome(&plan, at(48_001)), Outcome::late(Phase::Silence));
    assert_eq!(take(&mut heard, WALL + 50_000, &WELL, at(50_000)), counts(&[], &[]));
    assert_eq!(heard.outcome(&plan, at(98_000)), Outcome::Healthy { shown: 43 });
    let silent = heard.outcome(&plan, at(98_001));
    let weighed = silent.weigh(0, &WEIGHTS);
    assert!(matches!(weighed, ProbeResult::Failed(weight, _) if weight.value() == 100));
    let mut slept = heard.clone();
    slept.slept(20_000, at(98_001));
    assert_eq!(slept.outcome(&plan, at(118_000)), Outcome::Healthy { shown: 43 }, "we slept");
    assert_eq!(slept.outcome(&plan, at(118_001)), silent);
    heard.start_again(at(100_000));
    assert_eq!(heard.outcome(&plan, at(148_000)), Outcome::Healthy { shown: 43 }, "started since");
    assert_eq!(heard.outcome(&plan, at(148_001)), silent);
}

// req 3.33, 3.34
#[test]
fn a_failed_work_unit_is_a_complete_failure_until_it_is_reported_well() {
    let plan = plan();
    let mut heard = Heard::new(at(0));
    assert_eq!(
        take(&mut heard, WALL, &[("db", 3), ("other", 0)], at(0)),
        counts(&[("db", 3)], &[])
    );
    let failed = heard.outcome(&plan, at(1));
    assert_eq!(failed, Outcome::wrong(1));
    assert!(
        matches!(failed.weigh(0, &WEIGHTS), ProbeResult::Failed(weight, _) if weight.value() == 100)
    );
    assert_eq!(heard.words(), "1 of 2 work units well");
    assert_eq!(take(&mut heard, WALL + 1, &[("db", 4)], at(1)), counts(&[], &[]), "told once");
    assert_eq!(take(&mut heard, WALL + 2, &WELL, at(2)), counts(&[], &["db"]));
    assert_eq!(heard.outcome(&plan, at(3)), Outcome::Healthy { shown: 43 });
    let missing = counts(&[("db", super::heard::NOT_REPORTED)], &[]);
    assert_eq!(take(&mut heard, WALL + 3, &[], at(3)), missing, "one that must be reported");
    assert_eq!(
        take(&mut heard, WALL + 4, &[("db", 0), ("x", 9)], at(4)),
        counts(&[("x", 9)], &["db"])
    );
    assert_eq!(heard.outcome(&plan, at(4)), Outcome::wrong(OTHER_UNIT));
}

#[test]
fn what_is_wrongly_signed_repeated_or_of_another_time_is_counted_and_changes_nothing() {
    let plan = plan();
    let mut heard = Heard::new(at(0));
    take(&mut heard, WALL, &WELL, at(0));
    let before = heard.outcome(&plan, at(1));
    let failing = vec![("db", 1)];
    let forged = Beat::new("web-1", WALL + 5, None, failing.clone());
    for key_of_other in [None, Some(Key::new(&[9; 32]))] {
        let line = forged.line(key_of_other.as_ref()).expect("a line");
        let beat = Beat::parse(line.as_bytes()).expect("a heartbeat");
        let taken = heard.take(&plan, Some(&key()), &beat, WALL, at(1));
        assert!(matches!(taken, Taken::Refused(Why::Unsigned, _)));
    }
    assert_eq!(take(&mut heard, WALL, &failing, at(1)), Taken::Refused(Why::Repeated, 1));
    assert_eq!(take(&mut heard, WALL - 1, &failing, at(1)), Taken::Refused(Why::Repeated, 2));
    assert_eq!(take(&mut heard, WALL + 60_002, &failing, at(1)), Taken::Refused(Why::Astray, 1));
    assert_eq!(heard.outcome(&plan, at(1)), before);
    assert_eq!(
        heard.outcome(&plan, at(48_001)),
        Outcome::late(Phase::Silence),
        "none was a sign of life"
    );
    let words = "1 of 1 work units well; 2 not signed with our key, 2 repeated, 1 of another time";
    assert_eq!(heard.words(), words);
    // What was recorded before we began is known by its time.
    let mut fresh = Heard::new(at(0));
    assert_eq!(take(&mut fresh, WALL - 60_001, &WELL, at(0)), Taken::Refused(Why::Astray, 1));
}

#[test]
fn without_a_key_only_the_same_heartbeat_twice_is_refused() {
    let plan = AgentPlan { units: Vec::new(), ..plan() };
    let mut heard = Heard::new(at(0));
    let mut say = |at_ms| {
        let line = Beat::new("web-1", at_ms, None, Vec::new()).line(None).expect("a line");
        let beat = Beat::parse(line.as_bytes()).expect("a heartbeat");
        heard.take(&plan, None, &beat, WALL, at(0))
    };
    assert_eq!(say(5), counts(&[], &[]));
    assert_eq!(say(5), Taken::Refused(Why::Repeated, 1));
    assert_eq!(say(4), counts(&[], &[]), "its clock was set back");
}

/// Ears at a place of loopback, and what they hear.
struct Listening {
    reactor: Reactor,
    ears: Ears,
    at: At,
    heard: Vec<Vec<u8>>,
}

impl Listening {
    fn new(transport: Transport) -> Self {
        // Taken and let go: nobody else asks for it meanwhile.
        let port = UdpSocket::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
        let at = At { transport, address: Some(port) };
        let (reactor, mut ears) = (Reactor::new().expect("a reactor"), Ears::new());
        ears.open(&reactor, &at).expect("a socket");
        Self { reactor, ears, at, heard: Vec::new() }
    }

    /// Hears what there is, until `done`; timers are left alone.
    fn until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            let mut ready: Vec<Ready> = Vec::new();
            self.reactor.wait(Some(Duration::from_secs(30)), &mut ready).expect("a wait");
            assert!(!ready.is_empty(), "nothing came in 30 s");
            for ready in ready {
                let mut words = Vec::new();
                self.ears.ready(&mut self.reactor, ready.token, at(0), &mut words);
                self.heard.extend(words.into_iter().map(|(_, bytes)| bytes));
            }
        }
    }
}

#[test]
fn a_line_that_is_longer_than_any_heartbeat_is_passed_over() {
    let mut listening = Listening::new(Transport::Tcp);
    let address = listening.at.address.expect("an address");
    let mut stream = TcpStream::connect(address).expect("a connection");
    for piece in ["x".repeat(5000), "y".repeat(5000), "\nfirst\nsec".to_owned()] {
        stream.write_all(piece.as_bytes()).expect("sent");
    }
    listening.until(|it| !it.heard.is_empty());
    stream.write_all(b"ond\n").expect("sent");
    listening.until(|it| it.heard.len() == 2);
    assert_eq!(listening.heard, [b"first\n".to_vec(), b"second\n".to_vec()]);
    assert_eq!(listening.ears.garbled(), 1);
    let at = listening.at.clone();
    assert!(listening.ears.hears(&at));
    listening.ears.keep(&listening.reactor, &[]);
    assert!(!listening.ears.hears(&at) && TcpStream::connect(address).is_err());
}

#[test]
fn a_flood_lets_others_have_their_turn_and_makes_one_timer() {
    let mut listening = Listening::new(Transport::Udp);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(listening.at.address.expect("an address")).expect("connected");
    (0..200).for_each(|_| assert_eq!(socket.send(b"x").expect("sent"), 1));
    listening.until(|it| !it.heard.is_empty());
    assert_eq!((listening.heard.len(), listening.reactor.timers.len()), (64, 1));
    socket.send(b"x").expect("sent");
    listening.until(|it| it.heard.len() > 64);
    assert_eq!((listening.heard.len(), listening.reactor.timers.len()), (128, 1));
    while let Some(token) = listening.reactor.timers.pop_due(at(10)) {
        let mut words = Vec::new();
        listening.ears.due(&mut listening.reactor, token, at(0), &mut words);
        listening.heard.extend(words.into_iter().map(|(_, bytes)| bytes));
    }
    assert_eq!((listening.heard.len(), listening.reactor.timers.len()), (201, 0));
}
