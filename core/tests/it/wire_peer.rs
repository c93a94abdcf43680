//! Frames between nodes: their bytes, and what a link takes from whom.

use giveover_core::node::{Node, Nodes};
use giveover_core::peer::{Ahead, Ballot, Beat, Digests, Message, Mismatch, Refusal, Role};
use giveover_core::share;
use giveover_core::time::Span;
use giveover_core::wire::peer::{Frame, Garbage, Link, MAX_FRAME, Opened, Refused, peek};

use crate::random::Random;
use crate::script::ms;

const KEY: u16 = 0x3F9A;

/// Not a MAC: only something that every byte changes, and that both sides compute.
fn tag(bytes: &[u8]) -> [u8; 32] {
    let mut tag = [0x5A_u8; 32];
    for (place, byte) in bytes.iter().enumerate() {
        let at = place % 32;
        tag[at] = tag[at].rotate_left(3) ^ byte.wrapping_add(place as u8);
    }
    tag
}

fn open(link: &mut Link, bytes: &[u8]) -> Result<Opened, Refused> {
    link.open(bytes, |key, covered| (key == KEY).then(|| tag(covered)))
}

fn seal(link: &mut Link, frame: &Frame) -> Vec<u8> {
    let mut out = [0; MAX_FRAME];
    let len = link.seal(frame, KEY, &mut out, tag).expect("it fits");
    out[..len].to_vec()
}

/// Two ends that have met.
fn met() -> (Link, Link) {
    let (mut a, mut b) = (Link::new(Node(0), Node(1), 7), Link::new(Node(1), Node(0), 9));
    let hello = seal(&mut a, &Frame::Hello);
    assert_eq!(open(&mut b, &hello), Ok(Opened::Hello { answer: true }));
    let answer = seal(&mut b, &Frame::Hello);
    assert_eq!(open(&mut a, &answer), Ok(Opened::Hello { answer: false }));
    assert!(a.is_met() && b.is_met());
    (a, b)
}

fn messages() -> [(&'static str, Message, &'static str); 8] {
    let digests = Digests { addresses: 0x0403_0201, members: 0x0807_0605, thresholds: 0x0C0B_0A09 };
    let beat = Beat {
        term: 0x0102,
        role: Role::Active,
        sent: ms(0x0304),
        age_ms: 0x0506,
        priority: 7,
        last: true,
        holds: true,
        votes: 2,
        digests,
    };
    let ballot = Ballot { term: 6, node: Node(1) };
    [
        (
            "beat",
            Message::Beat(beat),
            "02 0201000000000000 03 0403000000000000 0605000000000000 07 03 02 01020304 05060708 \
             090a0b0c",
        ),
        (
            "answer",
            Message::Answer { term: 5, echo: ms(9) },
            "03 0500000000000000 0900000000000000",
        ),
        (
            "stand",
            Message::Stand { term: 5, age_ms: 9, priority: 3, last: true },
            "04 0500000000000000 0900000000000000 03 01",
        ),
        ("vote", Message::Vote { term: 5 }, "05 0500000000000000"),
        (
            "refuse",
            Message::Refuse { term: 5, known: 4, why: Refusal::Hears(Node(2)) },
            "06 0500000000000000 0400000000000000 01 02",
        ),
        (
            "leave",
            Message::Leave { term: 5, vote: Some(Ahead { ballot, echo: ms(9) }), down: true },
            "07 0500000000000000 03 0600000000000000 01 0900000000000000",
        ),
        (
            "leave, no vote",
            Message::Leave { term: 5, vote: None, down: false },
            "07 0500000000000000 00",
        ),
        (
            "mismatched",
            Message::Mismatched { why: Mismatch::Thresholds, age_ms: 9 },
            "08 02 0900000000000000",
        ),
    ]
}

/// What a group shares, with the bytes behind the kind.
fn shared() -> [(share::Message, &'static str); 8] {
    use share::{Command, Kind, Message, Number, Pool};
    let members = Nodes::of_bits(0x0403_0201);
    let number = Number { term: 5, n: 6 };
    let command = Command { number, kind: Kind::Promote, members };
    let pool = Pool { detached: members, primary: Some(Node(3)) };
    [
        (Message::Ask { kind: Kind::Detach, members }, "10 01 01020304"),
        (Message::Have { number }, "11 0500000000000000 06000000"),
        (
            Message::Command { after: Number { term: 5, n: 4 }, command },
            "12 0500000000000000 04000000 0500000000000000 06000000 02 01020304",
        ),
        (Message::State { number, pool }, "13 0500000000000000 06000000 01020304 03"),
        (Message::Block { lasts: Span::from_millis(0x0102) }, "14 02010000"),
        (Message::Ready, "15 "),
        (Message::Refused, "16 "),
        (Message::End, "17 "),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Never edited: if this fails, the code is wrong. Version, kind, from, to, group, key id, the
/// sender's incarnation, the receiver's, sequence; the payload; 32 bytes of MAC.
#[test]
fn the_bytes_of_version_1() {
    for (name, message, bytes) in messages() {
        let (mut a, _) = met();
        let sealed = seal(&mut a, &Frame::Message { group: 4, message });
        let (kind, payload) = bytes.split_once(' ').expect("kind and payload");
        let head = format!("01{kind}0001049a3f070000000000000009000000000000000200000000000000");
        let expected = head + &payload.replace(' ', "");
        assert_eq!(hex(&sealed[..sealed.len() - 32]), expected, "{name}");
    }
    for (message, bytes) in shared() {
        let (mut a, mut b) = met();
        let frame = Frame::Shared { group: 4, message };
        let sealed = seal(&mut a, &frame);
        let (kind, payload) = bytes.split_once(' ').expect("kind and payload");
        let head = format!("01{kind}0001049a3f070000000000000009000000000000000200000000000000");
        assert_eq!(hex(&sealed[..sealed.len() - 32]), head + &payload.replace(' ', ""));
        assert_eq!(open(&mut b, &sealed), Ok(Opened::Frame(frame)));
    }
    let mut a = Link::new(Node(0), Node(1), 7);
    let hello = seal(&mut a, &Frame::Hello);
    let expected = "01010001009a3f070000000000000000000000000000000100000000000000";
    assert_eq!(hex(&hello[..hello.len() - 32]), expected, "hello");
}

#[test]
fn what_was_sealed_is_opened_once() {
    let (mut a, mut b) = met();
    for (name, message, _) in messages() {
        let frame = Frame::Message { group: 4, message };
        let sealed = seal(&mut a, &frame);
        assert!(sealed.len() <= MAX_FRAME);
        assert_eq!(open(&mut b, &sealed), Ok(Opened::Frame(frame)), "{name}");
        assert_eq!(open(&mut b, &sealed), Err(Refused::Replayed), "{name}");
    }
    assert_eq!((b.counters().taken, b.counters().replayed), (9, 8));
}

/// Table W64: datagrams may overtake each other; each counts once, and the very old ones never.
#[test]
fn the_window_takes_what_was_overtaken_and_nothing_twice() {
    let (mut a, mut b) = met();
    let frame = Frame::Message { group: 0, message: Message::Vote { term: 1 } };
    let sealed: Vec<Vec<u8>> = (0..100).map(|_| seal(&mut a, &frame)).collect();
    assert!(open(&mut b, &sealed[70]).is_ok());
    for (place, bytes) in sealed.iter().enumerate() {
        let taken = open(&mut b, bytes).is_ok();
        assert_eq!(taken, place > 6 && place != 70, "{place}");
    }
}

/// Table W61: nothing that was recorded before either of the two started is taken.
#[test]
fn recordings_are_refused() {
    let (mut a, mut b) = met();
    let frame = Frame::Message { group: 0, message: Message::Vote { term: 1 } };
    let recorded = seal(&mut a, &frame);
    // B starts again.
    let mut b_again = Link::new(Node(1), Node(0), 10);
    assert_eq!(open(&mut b_again, &recorded), Err(Refused::Stale));
    // A starts again, and has proven itself: what its earlier start said is over.
    let mut a_again = Link::new(Node(0), Node(1), 8);
    let hello = seal(&mut a_again, &Frame::Hello);
    assert_eq!(open(&mut b, &hello), Ok(Opened::Hello { answer: true }));
    let answer = seal(&mut b, &Frame::Hello);
    assert!(open(&mut a_again, &answer).is_ok());
    let fresh = seal(&mut a_again, &frame);
    assert!(open(&mut b, &fresh).is_ok());
    assert_eq!(open(&mut b, &recorded), Err(Refused::Replayed));
    // A recorded hello of a start that is over does not turn B to it.
    let mut old = Link::new(Node(0), Node(1), 7);
    let stale = seal(&mut old, &Frame::Hello);
    assert_eq!(open(&mut b, &stale), Err(Refused::Replayed));
    let next = seal(&mut b, &frame);
    assert!(open(&mut a_again, &next).is_ok());
}

/// Table W62: another key, no key, one bit: refused and counted, and nothing changes.
#[test]
fn what_is_not_authentic_is_refused() {
    let (mut a, mut b) = met();
    let frame = Frame::Message { group: 0, message: Message::Vote { term: 1 } };
    let sealed = seal(&mut a, &frame);
    for bit in 0..sealed.len() * 8 {
        let mut wrong = sealed.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&mut b, &wrong).is_err(), "bit {bit}");
    }
    let mut out = [0; MAX_FRAME];
    let len = a.seal(&frame, KEY + 1, &mut out, tag).expect("it fits");
    assert_eq!(open(&mut b, &out[..len]), Err(Refused::Key(KEY + 1)));
    assert!(b.counters().unauthenticated > 0);
    assert!(open(&mut b, &sealed).is_ok(), "the true one is still new");
}

#[test]
fn what_is_no_frame_is_said_before_any_mac_is_computed() {
    let (mut a, mut b) = met();
    let sealed = seal(&mut a, &Frame::Hello);
    for len in 0..sealed.len() {
        let never = |_: u16, _: &[u8]| -> Option<[u8; 32]> { panic!("no MAC of {len} bytes") };
        assert_eq!(b.open(&sealed[..len], never), Err(Refused::Garbage(Garbage::Short)));
    }
    assert_eq!(peek(&[1; MAX_FRAME + 1]), Err(Garbage::Oversize));
    let mut newer = sealed.clone();
    newer[0] = 2;
    assert_eq!(open(&mut b, &newer), Err(Refused::Garbage(Garbage::Version(2))));
    let mut c = Link::new(Node(2), Node(0), 1);
    assert_eq!(open(&mut c, &sealed), Err(Refused::Astray));
    assert!(a.seal(&Frame::Hello, KEY, &mut [0; 40], tag).is_none(), "no room");
    let mut alone = Link::new(Node(0), Node(1), 1);
    let frame = Frame::Message { group: 0, message: Message::Vote { term: 1 } };
    assert!(alone.seal(&frame, KEY, &mut [0; MAX_FRAME], tag).is_none(), "addressed to nobody");
}

/// Authentic nonsense: whatever payload a peer of another version seals is refused or is what it
/// says, and never a panic.
#[test]
fn any_payload_is_refused_or_read_whole() {
    let mut random = Random::new(3);
    let mut taken = 0;
    for _ in 0..20_000 {
        let (mut a, mut b) = met();
        let place = random.below(8) as usize;
        let frame = match random.percent(50) {
            true => Frame::Message { group: 1, message: messages()[place].1 },
            false => Frame::Shared { group: 1, message: shared()[place].0 },
        };
        let mut bytes = seal(&mut a, &frame);
        bytes.truncate(bytes.len() - 32);
        for _ in 0..random.below(4) {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] = random.next() as u8;
        }
        if random.percent(20) {
            bytes.push(random.next() as u8);
        }
        let mac = tag(&bytes);
        bytes.extend(mac);
        if let Ok(Opened::Frame(frame)) = open(&mut b, &bytes) {
            taken += 1;
            let (mut twin, _) = met();
            let rewritten = seal(&mut twin, &frame);
            assert_eq!(rewritten[31..rewritten.len() - 32], bytes[31..bytes.len() - 32]);
        }
    }
    assert!(taken > 1_000, "{taken}");
}
