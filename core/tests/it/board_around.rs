//! What is around a board: jumper, second line, store, reset line, port, the host's supply.

use giveover_core::board::{
    Action, Board, Durable, End, Event, HOLD_OFF, Light, Note, Refusal, Request, SAVE_EVERY,
    Second, Settings, Start, State, Why,
};

use crate::bench::{Bench, Cut};
use crate::board::{ASKED, MINUTE, PLAIN, hang, millis, s};
use crate::script::ms;

#[test]
fn the_jumper_is_the_permanent_off() {
    let mut bench = Bench::armed(PLAIN);
    bench.jumper = true;
    bench.tell(Event::Jumper(true));
    bench.pass(s(86_400));
    bench.feed();
    assert_eq!((bench.state(), bench.pulses()), (State::Disarmed, 0));
    assert!(bench.board.report(ms(bench.now)).jumper);
    assert_eq!(bench.ask(Request::Arm), Err(Refusal::Jumper));
    assert_eq!(bench.ask(Request::Reset(ASKED)), Err(Refusal::Jumper));
    bench.restart(Cut::Power);
    bench.feed();
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses()), (State::Disarmed, 0));
    bench.jumper = false;
    bench.tell(Event::Jumper(false));
    assert_eq!(bench.state(), State::Waiting);
    bench.feed();
    assert_eq!(bench.state(), State::Armed, "arming outlived it");
}

#[test]
fn the_jumper_lets_a_pulse_end_and_stops_one_that_has_not_begun() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(60));
    bench.pass(millis(100));
    bench.jumper = true;
    bench.tell(Event::Jumper(true));
    assert_eq!(bench.edges.len(), 1, "a pulse is never cut short");
    bench.pass(millis(150));
    assert_eq!((bench.edges.len(), bench.state()), (2, State::Disarmed));

    let mut bench = Bench::armed(PLAIN);
    bench.store_works = false;
    bench.pass(s(60));
    assert_eq!(bench.state(), State::Pulsing, "the intent is not written yet");
    bench.jumper = true;
    bench.tell(Event::Jumper(true));
    bench.store_works = true;
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses(), bench.board.resets()), (State::Disarmed, 0, 1));
}

#[test]
fn a_held_line_ends_by_a_clear_or_the_jumper_and_outlives_power() {
    let held = || {
        let mut bench = Bench::armed(Settings { retry_count: 0, ..PLAIN });
        bench.pass(s(60));
        assert_eq!((bench.state(), bench.pulses()), (State::Held, 0), "no reset is allowed");
        bench
    };
    let mut bench = held();
    for cut in [Cut::Power, Cut::Reset] {
        bench.restart(cut);
        assert!(bench.second, "the alarm goes on");
        assert_eq!(bench.ask(Request::Arm), Err(Refusal::Held));
        bench.pass(HOLD_OFF);
        assert_eq!(bench.state(), State::Held);
        assert_eq!(bench.board.report(ms(bench.now)).held, Some(Why::Silence));
    }
    for request in [
        Request::Arm,
        Request::Disarm(MINUTE),
        Request::Grace(MINUTE),
        Request::End(End::Stop),
        Request::Confirm,
        Request::Reset(ASKED),
    ] {
        assert_eq!(bench.ask(request), Err(Refusal::Held), "{request:?}");
    }
    bench.ask(Request::Clear).expect("that is what it is for");
    assert_eq!((bench.state(), bench.second), (State::Waiting, false));
    bench.feed();
    assert_eq!(bench.state(), State::Armed);

    let mut bench = held();
    bench.tell(Event::Jumper(true));
    bench.tell(Event::Jumper(false));
    assert_eq!((bench.state(), bench.second), (State::Waiting, false));
    bench.restart(Cut::Power);
    bench.pass(HOLD_OFF);
    assert_eq!(bench.state(), State::Waiting);
}

#[test]
fn a_held_line_can_be_cleared_before_the_hold_off_is_over() {
    let mut bench = Bench::armed(Settings { retry_count: 0, ..PLAIN });
    bench.pass(s(60));
    bench.restart(Cut::Power);
    bench.ask(Request::Clear).expect("that is what it is for");
    assert!(!bench.second);
    bench.pass(HOLD_OFF);
    assert_eq!(bench.state(), State::Waiting);
}

#[test]
fn the_jumper_forgets_no_reset() {
    let mut bench = Bench::armed(Settings { retry_count: 1, ..PLAIN });
    hang(&mut bench);
    bench.pass_until(State::Held, s(3600));
    bench.tell(Event::Jumper(true));
    bench.tell(Event::Jumper(false));
    bench.feed();
    bench.pass(s(3600));
    assert_eq!((bench.state(), bench.pulses()), (State::Held, 1));
}

#[test]
fn a_cleared_board_has_its_whole_budget() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(12 * 3600));
    assert_eq!((bench.state(), bench.pulses()), (State::Held, 3));
    bench.ask(Request::Clear).expect("that is what it is for");
    bench.feed();
    bench.pass(s(12 * 3600));
    assert_eq!((bench.state(), bench.pulses()), (State::Held, 6));
}

#[test]
fn the_second_line_is_as_configured_and_a_cycled_supply_comes_back() {
    for second in Second::ALL.iter().copied() {
        let mut bench = Bench::armed(Settings { retry_count: 0, second, ..PLAIN });
        bench.pass(s(60));
        assert_eq!(bench.second, second != Second::None, "{second:?}");
        bench.pass(s(10));
        let stays = !matches!(second, Second::None | Second::Cycle);
        assert_eq!((bench.state(), bench.second), (State::Held, stays), "{second:?}");
        bench.restart(Cut::Power);
        assert_eq!(bench.second, stays, "{second:?}");
    }
}

#[test]
fn a_store_that_fails_is_tried_three_times_and_then_no_reset_is_possible() {
    let mut bench = Bench::armed(PLAIN);
    bench.store_works = false;
    bench.pass(s(60));
    assert_eq!(bench.state(), State::Pulsing);
    bench.pass(millis(2_999));
    assert_eq!((bench.state(), bench.pulses()), (State::Pulsing, 0));
    bench.pass(millis(1));
    assert_eq!((bench.state(), bench.pulses()), (State::Held, 0));
    assert!(bench.second && !bench.board.report(ms(bench.now)).store_ok);
    assert!(bench.board.counters().store_failures >= 3);

    let mut bench = Bench::armed(PLAIN);
    bench.store_works = false;
    bench.pass(s(61));
    bench.store_works = true;
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 1, "the third try took it");
    assert!(bench.board.report(ms(bench.now)).store_ok);
}

#[test]
fn what_a_store_did_not_take_is_tried_again_in_10_minutes() {
    let mut bench = Bench::new(PLAIN);
    bench.store_works = false;
    bench.ask(Request::Arm).expect("nothing stands in the way");
    assert_eq!(bench.durable(), None);
    bench.store_works = true;
    bench.pass(SAVE_EVERY);
    assert!(bench.durable().expect("of now").armed);
    let number = bench.board.durable().number;
    bench.pass(s(86_400));
    assert_eq!(bench.board.durable().number, number, "and not again once it is taken");
}

#[test]
fn a_store_that_never_answers_is_a_store_that_fails() {
    let (board, _) = Board::start(bench_record(), Start::BoardReset, ms(0));
    let mut board = board;
    let mut stores = 0;
    for now in (0..700_000).step_by(100) {
        for action in board.handle(Event::Timeout, ms(now)) {
            assert!(!matches!(action, Action::Pulse { .. }));
            stores += u32::from(action == Action::Store);
        }
    }
    assert_eq!((board.state(), stores), (State::Held, 4));
}

fn bench_record() -> Option<Durable> {
    Some(Durable { armed: true, guarding: true, ..Durable::NEW })
}

#[test]
fn what_is_late_or_of_another_record_is_nothing() {
    let mut bench = Bench::armed(PLAIN);
    bench.store_works = false;
    bench.pass(s(60));
    let wanted = bench.board.durable().number;
    for number in [0, wanted - 1, wanted + 1, u32::MAX] {
        let actions = bench.board.handle(Event::Stored { number, ok: true }, ms(bench.now));
        assert!(actions.as_slice().is_empty(), "{number}");
        assert_eq!(bench.state(), State::Pulsing);
    }
    bench.tell(Event::LineRefused { ticket: 1 });
    assert_eq!(bench.state(), State::Pulsing, "there was no pulse to refuse");
}

#[test]
fn a_pulse_that_the_line_refuses_counts_and_is_not_repeated() {
    let record = bench_record();
    let (mut board, _) = Board::start(record, Start::BoardReset, ms(0));
    let _ = board.handle(Event::Timeout, ms(600_000));
    let number = board.durable().number;
    let actions = board.handle(Event::Stored { number, ok: true }, ms(600_000));
    assert!(matches!(actions.as_slice()[..], [Action::Pulse { ticket: 1, .. }]));
    let actions = board.handle(Event::LineRefused { ticket: 1 }, ms(600_000));
    assert!(actions.as_slice().contains(&Action::Note(Note::LineRefused { ticket: 1 })));
    assert_eq!((board.state(), board.resets()), (State::Grace, 1));
    assert!(!board.durable().intent);
}

#[test]
fn a_lost_port_is_not_a_lost_host() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(10));
    bench.tell(Event::Link(false));
    assert_eq!(bench.board.light(true), Light::FourFlashes);
    bench.pass(s(289));
    assert_eq!(bench.pulses(), 0);
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 1, "5 minutes after the last feed");
}

#[test]
fn a_port_that_comes_back_gives_one_time_out_and_flapping_gives_no_more() {
    let mut bench = Bench::armed(PLAIN);
    bench.tell(Event::Link(false));
    bench.pass(s(100));
    bench.tell(Event::Link(true));
    bench.pass(s(59));
    assert_eq!(bench.pulses(), 0);
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 1);

    let mut bench = Bench::armed(PLAIN);
    let begun = bench.on;
    while bench.pulses() == 0 {
        bench.tell(Event::Link(false));
        bench.pass(s(7));
        bench.tell(Event::Link(true));
        bench.pass(s(7));
        assert!(bench.on - begun <= 314_000, "put off for ever");
    }
    assert_eq!(bench.edges[0].at - begun, 300_000, "as if it had never come back");
}

#[test]
fn a_host_without_power_is_not_reset_and_waited_for() {
    let mut bench = Bench::armed(PLAIN);
    bench.tell(Event::HostPower(false));
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0));
    bench.tell(Event::HostPower(true));
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0));
    bench.feed();
    assert_eq!(bench.state(), State::Armed);
}

#[test]
fn a_host_that_loses_its_power_before_the_edge_is_not_reset_and_its_reset_counts() {
    let mut bench = Bench::armed(PLAIN);
    bench.store_works = false;
    bench.pass(s(60));
    bench.store_works = true;
    bench.tell(Event::HostPower(false));
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses(), bench.board.resets()), (State::Waiting, 0, 1));
    let record = bench.durable().expect("it was stored");
    assert!(!record.intent && !record.guarding && record.ever == 1);
}

#[test]
fn a_board_that_starts_beside_a_host_without_power_waits_for_it() {
    let mut bench = Bench::armed(PLAIN);
    bench.restart(Cut::Reset);
    bench.tell(Event::HostPower(false));
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0));
}

#[test]
fn every_state_has_its_light() {
    let mut bench = Bench::new(PLAIN);
    assert_eq!(bench.board.light(true), Light::TwoFlashes);
    assert_eq!(bench.board.light(false), Light::FourFlashes);
    let mut armed = Bench::armed(PLAIN);
    assert_eq!(armed.board.light(true), Light::OneFlash);
    armed.pass(s(36));
    assert_eq!(armed.board.light(true), Light::Fast);
    armed.pass(s(24));
    assert_eq!(armed.board.light(true), Light::On);
    armed.pass(s(1));
    assert_eq!(armed.board.light(true), Light::Slow);
    bench.tell(Event::Jumper(true));
    assert_eq!(bench.board.light(false), Light::ThreeFlashes);
}

/// Where the second line is nobody's of this host, it fences the peer, whatever the board is at, and
/// lets it go after as long as a supply is cycled.
#[test]
fn a_peer_is_fenced_and_let_go_again() {
    let none = Settings { retry_count: 0, second: Second::None, ..PLAIN };
    let mut bench = Bench::new(none);
    bench.ask(Request::Fence).expect("in the hold-off too: the line is the peer's");
    assert!(bench.second);
    bench.pass(s(9));
    bench.ask(Request::Fence).expect("the answer was lost");
    bench.pass(s(9));
    assert!(bench.second, "it lasts as long again");
    bench.pass(s(1));
    assert!(!bench.second);

    let mut bench = Bench::armed(none);
    bench.ask(Request::Fence).expect("armed");
    assert_eq!((bench.state(), bench.pulses()), (State::Armed, 0));
    bench.pass(s(60));
    assert_eq!((bench.state(), bench.second), (State::Held, false));
    bench.ask(Request::Fence).expect("given over, but heard");
    bench.ask(Request::Clear).expect("that is what it is for");
    assert!(bench.second, "nobody lets the peer go early");
    bench.tell(Event::Jumper(true));
    assert_eq!(bench.ask(Request::Fence), Err(Refusal::Jumper));
    bench.pass(s(10));
    assert!(!bench.second, "the jumper keeps nothing on");
    bench.tell(Event::Jumper(false));
    bench.ask(Request::Fence).expect("once more");
    bench.restart(Cut::Reset);
    assert!(!bench.second, "a board that has just started pulls nothing");
}

#[test]
fn a_second_line_of_this_hosts_own_fences_nobody() {
    for second in Second::ALL.iter().copied().filter(|second| *second != Second::None) {
        let mut bench = Bench::armed(Settings { second, ..PLAIN });
        assert_eq!(bench.ask(Request::Fence), Err(Refusal::SecondTaken), "{second:?}");
        assert!(!bench.second);
        bench.feed();
        assert_eq!(bench.state(), State::Armed, "nothing has changed");
    }
    // Once it is this host's own, what it did for the peer ends nothing of it.
    let mut bench = Bench::armed(Settings { retry_count: 0, second: Second::None, ..PLAIN });
    bench.pass(s(55));
    bench.ask(Request::Fence).expect("it is the peer's");
    let own = Settings { retry_count: 0, second: Second::Alarm, ..PLAIN };
    bench.ask(Request::Configure(own)).expect("in range");
    bench.pass(s(60));
    assert_eq!((bench.state(), bench.second), (State::Held, true));
}
