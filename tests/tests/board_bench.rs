//! A board on the bench, in time of its own: what is asked of it, and what it is left as.

use giveover::board::bench::{Bench, Found, Pulse};
use giveover::board::directly::Talk;
use giveover::board::link::{Failed, Trouble};
use giveover_core::board::{End, Refusal, Request, Settings, State, Why};
use giveover_core::time::Instant;
use giveover_core::wire::Key;
use giveover_tests::board::{SECRET, Standin};

/// Has the dialogue out, 10 ms at a time, and runs on for a minute.
fn bench(board: &mut Standin, key: Key, pulse: bool, from: u64) -> (Found, u64) {
    let at = Instant::from_millis;
    let mut dialogue = Bench::begin(key, pulse, from + 1, at(from));
    for now in (from..from + 120_000).step_by(10) {
        let said: Vec<u8> = dialogue.output().drain(..).collect();
        board.due(at(now));
        let heard = board.hear(&said, at(now));
        let ended = dialogue.hear(&heard, at(now));
        if let Some(found) = ended.or_else(|| dialogue.due(now + 7, at(now))) {
            let rest: Vec<u8> = dialogue.output().drain(..).collect();
            board.hear(&rest, at(now));
            return (found, now);
        }
    }
    panic!("it has no end");
}

fn keyed() -> (Standin, Key) {
    let key = Key::of_secret(&SECRET);
    (Standin::new(Some(key), 7), key)
}

#[test]
fn without_a_pulse_everything_is_looked_at_and_the_line_left_alone() {
    let (mut board, key) = keyed();
    let (found, end) = bench(&mut board, key, false, 0);
    assert_eq!((found.trouble, found.pulse), (None, None));
    assert!(found.told.about.is_some() && found.told.image == Some(0x5AD1));
    assert_eq!(found.told.settings, Some(Settings::DEFAULT));
    assert!(found.told.counters.is_some() && found.counters.frames > 0);
    assert!(board.pulses.is_empty() && end < 20_000, "{end}");
    assert_eq!(
        (board.state(), board.asked.last()),
        (State::Waiting, Some(&Request::End(End::Stop)))
    );
}

#[test]
fn a_pulse_is_one_is_measured_and_leaves_nothing_behind() {
    let (mut board, key) = keyed();
    board.faults.reads_low = Some(250);
    let (found, end) = bench(&mut board, key, true, 0);
    assert_eq!(found.pulse, Some(Pulse::Made(Some(250))));
    assert_eq!(board.pulses.len(), 1);
    assert_eq!(board.pulses[0].1, Why::Test);
    assert_eq!(board.machine.resets(), 0, "it shall not count against a host");
    assert_eq!(board.state(), State::Waiting);
    // However long it lies there.
    for now in (end..end + 7_200_000).step_by(1_000) {
        board.due(Instant::from_millis(now));
    }
    assert_eq!((board.pulses.len(), board.state()), (1, State::Waiting));
    // A second one has to keep its distance, and then is made.
    let (mut board, key) = keyed();
    let (_, end) = bench(&mut board, key, true, 0);
    let (found, end) = bench(&mut board, key, true, end + 1_000);
    let refused = Failed::Refused(Refusal::TooSoon);
    assert_eq!((found.pulse, board.pulses.len()), (Some(Pulse::Refused(refused)), 1));
    let (found, _) = bench(&mut board, key, true, end + 700_000);
    assert_eq!((found.pulse, board.pulses.len()), (Some(Pulse::Made(None)), 2), "not read back");
}

#[test]
fn a_board_that_cannot_be_armed_is_told_why_and_makes_no_pulse() {
    let (mut board, _) = keyed();
    let other = Key::new([3; 16]);
    let (found, _) = bench(&mut board, other, true, 0);
    assert!(matches!(found.trouble, Some(Trouble::OtherKey { .. })), "{:?}", found.trouble);
    let mut empty = Standin::new(None, 7);
    let (found, _) = bench(&mut empty, other, true, 0);
    assert_eq!((found.trouble, found.pulse), (Some(Trouble::NoKey), None));
    let (mut board, key) = keyed();
    board.faults.mute = true;
    let (found, end) = bench(&mut board, key, true, 0);
    assert_eq!(found.trouble, Some(Trouble::NoAnswer));
    assert!((20_000..40_000).contains(&end), "{end}");
    assert!(board.pulses.is_empty());
}
