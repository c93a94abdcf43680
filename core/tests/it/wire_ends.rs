//! The two ends of the line: who is believed, and how often.

use giveover_core::board::Why;
use giveover_core::wire::{Ask, BoardEnd, FromBoard, HostEnd, MAX_ENCODED, Refused, ToBoard};

use crate::wire::{DEVICE, FEED, Line, one, tagged};
use crate::wire_frames::{key, to_board};

#[test]
fn what_changes_state_needs_a_tag() {
    let mut keyless = HostEnd::new(key(0), 1);
    let mut board = BoardEnd::new(Some(key(0)), DEVICE);
    for (name, frame) in to_board() {
        let mut out = [0; MAX_ENCODED];
        let (len, counter) = keyless.seal(&frame, &mut out).expect("it fits");
        assert_eq!(counter, 0);
        let opened = one(&out[..len], |raw| board.open(&raw.expect("a frame")));
        let harmless = matches!(
            frame,
            ToBoard::Hello { .. } | ToBoard::Ask(_) | ToBoard::ReadLog { .. } | ToBoard::Pair(_)
        );
        match opened {
            Ok(opened) => assert!(harmless && opened.frame == frame, "{name}"),
            Err(refused) => assert!(!harmless && refused == Refused::Untagged, "{name}"),
        }
    }
}

#[test]
fn what_was_recorded_is_nothing_at_any_later_point() {
    let mut line = Line::new();
    let mut recorded: Vec<Vec<u8>> = Vec::new();
    let mut replayed = 0;
    for round in 0..3 {
        for (name, frame) in to_board().into_iter().filter(|(_, frame)| tagged(frame)) {
            let bytes = line.host_says(&frame);
            assert_eq!(line.told(&bytes).expect(name).frame, frame);
            recorded.push(bytes);
            for old in &recorded {
                assert!(line.told(old).is_err(), "{name} in round {round}");
                replayed += 1;
            }
        }
        line.connect();
    }
    let counters = line.board.counters();
    assert_eq!(counters.replayed + counters.refused, replayed);
    assert!(counters.replayed > 0 && counters.refused > 0);
}

#[test]
fn what_comes_out_of_order_is_nothing() {
    let mut line = Line::new();
    let (one, two) = (line.host_says(&FEED), line.host_says(&ToBoard::Arm));
    assert!(line.told(&two).is_ok());
    assert_eq!(line.told(&one), Err(Refused::Replayed));
}

#[test]
fn a_frame_of_another_key_board_connection_or_end_is_not_authentic() {
    let mut line = Line::new();
    assert!({
        let first = line.host_says(&ToBoard::Arm);
        line.told(&first).is_ok()
    });
    let bytes = line.host_says(&FEED);
    for mut other in [
        BoardEnd::new(Some(key(1)), DEVICE),
        BoardEnd::new(Some(key(0)), DEVICE + 1),
        BoardEnd::new(Some(key(0)), DEVICE),
        BoardEnd::new(None, DEVICE),
    ] {
        let mut out = [0; MAX_ENCODED];
        other.answer_hello(1, 99, &mut out).expect("it fits");
        assert_eq!(one(&bytes, |raw| other.open(&raw.expect("a frame"))), Err(Refused::Tag));
        assert!(!other.is_connected());
    }
    // Our own frames, thrown back.
    assert!(line.heard(&bytes).is_err());
    let status = line.board_says(&FromBoard::LogEnd { lost: 0 });
    assert!(line.told(&status).is_err());
    assert!(line.told(&bytes).is_ok(), "all that cost it nothing");
}

#[test]
fn a_hello_ends_no_connection_until_the_new_one_has_spoken() {
    let mut line = Line::new();
    let first = line.host_says(&FEED);
    assert!(line.told(&first).expect("authentic").fresh);
    let old = line.host_says(&FEED);
    let also_old = line.host_says(&FEED);
    let foreign = HostEnd::new(key(9), 77);
    let mut out = [0; MAX_ENCODED];
    let len = foreign.hello(&mut out).expect("it fits");
    line.greeted(&out[..len]);
    assert!(!line.told(&old).expect("the old connection goes on").fresh);
    line.connect();
    let new = line.host_says(&FEED);
    assert!(line.told(&new).expect("authentic").fresh);
    assert_eq!(line.told(&also_old), Err(Refused::Tag), "the old one is over");
    let next = line.host_says(&FEED);
    assert!(!line.told(&next).expect("authentic").fresh);
}

#[test]
fn the_host_takes_one_challenge_for_each_hello() {
    let mut line = Line::new();
    let challenge = line.greeted(&{ line.hello() });
    assert_eq!(line.heard(&challenge), Err(Refused::Replayed), "it has its connection");
    let mut other = HostEnd::new(key(0), line.nonce + 1);
    let opened = one(&challenge, |raw| other.open(&raw.expect("a frame")));
    assert_eq!(opened, Err(Refused::Tag), "an answer to another hello");
    assert_eq!(other.device(), None);
}

#[test]
fn a_board_with_another_key_or_none_is_told_apart() {
    for (theirs, expected) in [(Some(key(1)), Some(key(1).id())), (None, None)] {
        let mut board = BoardEnd::new(theirs, DEVICE);
        let mut host = HostEnd::new(key(0), 5);
        let mut out = [0; MAX_ENCODED];
        let len = board.answer_hello(5, 6, &mut out).expect("it fits");
        let opened = one(&out[..len], |raw| host.open(&raw.expect("a frame")));
        match expected {
            Some(id) => assert_eq!(opened, Err(Refused::OtherKey(Some(id)))),
            None => assert!(matches!(opened, Ok(FromBoard::Challenge { key: None, .. }))),
        }
        assert_eq!(host.device(), None);
    }
}

#[test]
fn a_board_that_got_another_key_has_no_connection() {
    let mut line = Line::new();
    let first = line.host_says(&FEED);
    assert!(line.told(&first).is_ok());
    line.board.set_key(key(1));
    assert!(!line.board.is_connected());
    let next = line.host_says(&FEED);
    assert_eq!(line.told(&next), Err(Refused::Tag));
    assert_eq!(line.board.key_id(), Some(key(1).id()));
}

#[test]
fn a_challenge_is_answered_once_and_a_wrong_answer_leaves_it() {
    let mut line = Line::new();
    assert!(!line.board.answers(0), "there is no connection");
    let first = line.host_says(&ToBoard::Ask(Ask::Status));
    assert!(line.told(&first).is_ok());
    let mut seen = Vec::new();
    for _ in 0..50 {
        let challenge = line.board.challenge();
        assert!(!line.board.answers(challenge ^ 1));
        assert_eq!(line.board.challenge(), challenge);
        assert!(line.board.answers(challenge));
        assert!(!line.board.answers(challenge), "it has had its answer");
        assert!(!seen.contains(&challenge));
        seen.push(challenge);
    }
}

/// The challenge of the greeting is the one the first feed must answer.
#[test]
fn the_first_feed_answers_the_greeting() {
    let mut board = BoardEnd::new(Some(key(0)), DEVICE);
    let mut host = HostEnd::new(key(0), 5);
    let mut out = [0; MAX_ENCODED];
    let len = board.answer_hello(5, 6, &mut out).expect("it fits");
    let opened = one(&out[..len], |raw| host.open(&raw.expect("a frame")));
    let Ok(FromBoard::Challenge { challenge, .. }) = opened else { panic!("{opened:?}") };
    let (len, counter) = host.seal(&ToBoard::Arm, &mut out).expect("it fits");
    let opened = one(&out[..len], |raw| board.open(&raw.expect("a frame"))).expect("authentic");
    assert_eq!((opened.counter, counter), (1, 1));
    assert!(board.answers(challenge));
}

#[test]
fn a_host_asks_for_no_reset_that_is_the_boards_own_finding() {
    let mut line = Line::new();
    for why in [Why::Silence, Why::BadFeeds, Why::NoBoot, Why::Shadow { service: 1 }] {
        let bytes = line.host_says(&ToBoard::Reset(why));
        assert_eq!(line.told(&bytes), Err(Refused::Unknown { kind: 0x0A }), "{why:?}");
    }
}

/// On a new connection challenges begin anew, whatever was answered on the old.
#[test]
fn a_new_connection_begins_with_the_challenge_of_its_greeting() {
    let mut line = Line::new();
    for _ in 0..3 {
        let first = line.host_says(&ToBoard::Arm);
        assert!(line.told(&first).expect("authentic").fresh);
        for _ in 0..5 {
            let challenge = line.board.challenge();
            assert!(line.board.answers(challenge));
        }
        line.connect();
        let first = line.host_says(&ToBoard::Arm);
        line.told(&first).expect("authentic");
        assert_eq!(line.board.challenge(), line.greeting);
        line.connect();
    }
}
