use super::*;
use crate::board::testing::Pty;

const TERMS: Terms = Terms {
    timeout: Span::from_secs(60),
    pretimeout: None,
    boot_grace: Span::from_secs(605),
    nowayout: false,
};

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn opened(pty: &Pty) -> Stick {
    let mut stick = Stick::new(pty.path.clone());
    assert_eq!(stick.standing(), Standing::Closed);
    assert_eq!(stick.open(&TERMS, at(0)), Ok(()));
    stick
}

/// The far end says `bytes`, and the stick has read them.
fn hears(stick: &mut Stick, pty: &Pty, bytes: &[u8], now: u64) -> Result<(), Trouble> {
    pty.write(bytes);
    stick.ready(at(now))
}

fn guarding(pty: &Pty) -> Stick {
    let mut stick = opened(pty);
    assert_eq!(pty.read_some(), [HELLO]);
    assert_eq!(stick.standing(), Standing::Opening);
    assert_eq!(hears(&mut stick, pty, &[HERE], 10), Ok(()));
    assert_eq!(pty.read_some(), [6], "sixty seconds");
    assert_eq!(stick.standing(), Standing::Opening, "not before it has said so");
    assert_eq!(hears(&mut stick, pty, &[DONE], 20), Ok(()));
    stick
}

#[test]
fn a_stick_is_greeted_told_its_time_and_fed_with_it() {
    let pty = Pty::new();
    let mut stick = guarding(&pty);
    let guard = Guard { timeout: Span::from_secs(60), pretimeout: None, stops_when_closed: false };
    assert_eq!(stick.standing(), Standing::Guarding(guard));
    assert_eq!(stick.poll_timeout(), None);
    for turn in 1..4 {
        assert_eq!(stick.feed(at(15_000 * turn)), Ok(()));
        assert_eq!(pty.read_some(), [6]);
        assert_eq!(hears(&mut stick, &pty, &[DONE], 15_000 * turn + 5), Ok(()));
    }
    assert_eq!((stick.about().feeds, stick.about().noise), (3, 0));
    // Another time-out is the next feed.
    let longer = Terms { timeout: Span::from_secs(1270), ..TERMS };
    assert_eq!(stick.retime(&longer, at(50_000)), Ok(()));
    assert_eq!(pty.read_some(), [0x7F]);
}

#[test]
fn one_that_does_not_answer_is_asked_again_and_then_said_to_be_silent() {
    let pty = Pty::new();
    let mut stick = opened(&pty);
    for now in [1_000, 2_000] {
        assert_eq!(pty.read_some(), [HELLO]);
        assert_eq!(stick.poll_timeout(), Some(at(now)));
        assert_eq!(stick.due(at(now - 1)), Ok(()));
        assert_eq!(stick.due(at(now)), Ok(()));
    }
    assert_eq!(stick.due(at(3_000)), Err(Trouble::NoAnswer));
    assert_eq!((stick.standing(), stick.poll_timeout()), (Standing::Closed, None));
    // It may be opened again, by nobody else before.
    assert_eq!(stick.open(&TERMS, at(4_000)), Ok(()));
    let mut other = Stick::new(pty.path.clone());
    assert!(matches!(other.open(&TERMS, at(4_000)), Err(Trouble::Open(_))));
}

/// A boot log or a modem manager on the line: no byte of theirs is an answer to what was asked.
#[test]
fn chatter_is_counted_and_arms_nothing() {
    let pty = Pty::new();
    let mut stick = opened(&pty);
    assert_eq!(hears(&mut stick, &pty, b"[ 0.0] Linux\r\nAT+GCAP\r", 10), Ok(()));
    assert_eq!(stick.standing(), Standing::Opening);
    assert_eq!(stick.about().noise, 22);
    assert_eq!(hears(&mut stick, &pty, &[DONE], 20), Ok(()));
    assert_eq!(stick.standing(), Standing::Opening, "an answer to nothing we asked");
    assert_eq!(stick.due(at(3_000)), Ok(()));
}

#[test]
fn a_feed_that_is_not_answered_is_repeated_and_then_it_guards_no_more() {
    let pty = Pty::new();
    let mut stick = guarding(&pty);
    assert_eq!(stick.feed(at(15_000)), Ok(()));
    assert_eq!(stick.due(at(16_000)), Ok(()));
    assert_eq!(stick.due(at(17_000)), Ok(()));
    assert_eq!(pty.read_exactly(3), [6, 6, 6]);
    assert!(matches!(stick.standing(), Standing::Guarding(_)));
    assert_eq!(stick.due(at(18_000)), Err(Trouble::NoAnswer));
    assert_eq!(stick.standing(), Standing::Closed);
    assert_eq!(stick.feed(at(19_000)), Ok(()), "and nothing panics");
}

#[test]
fn an_end_leaves_it_the_longest_time_a_reboot_its_grace_and_no_way_out_its_own() {
    for (end, nowayout, byte) in [
        (End::Stop, false, 0x7F),
        (End::Suspend, false, 0x7F),
        (End::Poweroff, false, 0x7F),
        (End::Reboot, false, 60),
        (End::Stop, true, 6),
        (End::Reboot, true, 60),
    ] {
        let pty = Pty::new();
        let mut stick = guarding(&pty);
        let terms = Terms { nowayout, ..TERMS };
        assert_eq!(stick.retime(&terms, at(30)), Ok(()));
        assert_eq!(pty.read_some(), [6]);
        assert_eq!(stick.end(end), Left::Counting(span(byte)), "{end:?}");
        assert_eq!(pty.read_some(), [byte]);
        assert_eq!(stick.standing(), Standing::Closed);
        assert_eq!(stick.end(end), Left::Closed);
    }
}

#[test]
fn a_reset_is_one_byte_and_nothing_is_fed_after_it() {
    let pty = Pty::new();
    let mut stick = guarding(&pty);
    assert_eq!(stick.reset(), Ok(()));
    assert_eq!(pty.read_some(), [RESET]);
    assert_eq!(stick.standing(), Standing::Resetting);
    assert_eq!(stick.feed(at(15_000)), Ok(()));
    assert_eq!((stick.about().feeds, stick.poll_timeout()), (0, None));
}

#[test]
fn no_time_out_is_a_byte_that_means_something_else() {
    for ms in [0, 1, 9_999, 10_000, 1_270_000, 1_280_000, u32::MAX] {
        assert!((1..=LONGEST).contains(&unit(Span::from_millis(ms))), "{ms}");
    }
    assert_eq!(span(unit(Span::from_secs(1270))), Span::from_secs(1270));
}
