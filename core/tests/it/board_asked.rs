//! What a host may ask of its board, and what it is refused.

use giveover_core::board::{
    Action, End, Event, Note, Refusal, Request, Settings, State, Verdict, Why,
};
use giveover_core::time::Span;

use crate::bench::{Bench, Cut};
use crate::board::{ASKED, MINUTE, PLAIN, hang, millis, s};
use crate::script::ms;

#[test]
fn a_planned_end_is_no_failure() {
    for end in [End::Stop, End::Poweroff, End::Suspend] {
        let mut bench = Bench::armed(PLAIN);
        bench.ask(Request::End(end)).expect("nothing stands in the way");
        bench.pass(s(86_400));
        assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0), "{end:?}");
        bench.restart(Cut::Reset);
        bench.pass(s(86_400));
        assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0), "{end:?}");
        bench.feed();
        assert_eq!(bench.state(), State::Armed, "{end:?}");
    }
}

#[test]
fn a_reboot_is_guarded_for_the_boot_grace() {
    let mut bench = Bench::armed(PLAIN);
    bench.ask(Request::End(End::Reboot)).expect("nothing stands in the way");
    bench.pass(s(599));
    bench.ask(Request::End(End::Reboot)).expect("said twice");
    assert_eq!((bench.state(), bench.pulses()), (State::Grace, 0));
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 1, "saying it again puts nothing off");
}

/// The board alone was reset while it guarded; who comes back only to say that it ends has not failed.
#[test]
fn an_end_in_the_hold_off_is_no_failure_after_it() {
    for end in [End::Stop, End::Poweroff, End::Suspend] {
        let mut bench = Bench::armed(PLAIN);
        bench.restart(Cut::Reset);
        assert_eq!(bench.state(), State::Cold);
        bench.ask(Request::End(end)).expect("nothing stands in the way");
        bench.pass(s(86_400));
        assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0), "{end:?}");
        bench.feed();
        assert_eq!(bench.state(), State::Armed, "{end:?}");
    }
    let mut bench = Bench::armed(PLAIN);
    bench.restart(Cut::Reset);
    bench.ask(Request::End(End::Reboot)).expect("nothing stands in the way");
    bench.pass(s(602));
    assert_eq!(bench.pulses(), 1, "a boot that hangs is found");
}

#[test]
fn nowayout_refuses_every_end_but_a_guarded_one() {
    let mut bench = Bench::armed(Settings { nowayout: true, ..PLAIN });
    for end in [End::Stop, End::Poweroff, End::Suspend] {
        assert_eq!(bench.ask(Request::End(end)), Err(Refusal::NoWayOut));
    }
    assert_eq!(bench.ask(Request::Disarm(MINUTE)), Err(Refusal::NoWayOut));
    assert_eq!(bench.ask(Request::Configure(PLAIN)), Err(Refusal::NoWayOut));
    bench.pass(s(59));
    assert_eq!(bench.ask(Request::End(End::Reboot)), Ok(()));
    bench.pass(s(600));
    assert_eq!(bench.pulses(), 1);
}

#[test]
fn a_disarm_ends_by_itself_and_is_15_minutes_in_any_60() {
    let mut bench = Bench::armed(PLAIN);
    let quarter = s(900);
    assert_eq!(bench.ask(Request::Disarm(s(901))), Err(Refusal::OutOfRange));
    assert_eq!(bench.ask(Request::Disarm(Span::ZERO)), Err(Refusal::OutOfRange));
    bench.ask(Request::Disarm(quarter)).expect("the whole of it");
    bench.pass(millis(899_999));
    assert_eq!((bench.state(), bench.pulses()), (State::Disarmed, 0));
    bench.pass(millis(1));
    assert_eq!(bench.state(), State::Armed);
    bench.pass(s(59));
    for _ in 0..175 {
        assert_eq!(bench.ask(Request::Disarm(quarter)), Err(Refusal::DisarmedTooLong));
        bench.feed();
        bench.pass(s(15));
    }
    // 900 + 59 + 2625 s since its beginning: 16 s are missing of an hour.
    bench.pass(millis(15_999));
    assert_eq!(bench.ask(Request::Disarm(millis(16))), Err(Refusal::DisarmedTooLong));
    bench.pass(millis(1));
    assert_eq!(bench.ask(Request::Disarm(quarter)), Ok(()));
}

#[test]
fn a_disarm_does_not_outlive_a_reset_of_the_board_and_the_guard_does() {
    let mut bench = Bench::armed(PLAIN);
    bench.ask(Request::Disarm(s(900))).expect("nothing stands in the way");
    bench.restart(Cut::Reset);
    bench.pass(s(10));
    assert_eq!(bench.state(), State::Grace);
}

#[test]
fn another_disarm_ends_the_one_under_way_and_is_charged_from_there() {
    let mut bench = Bench::armed(PLAIN);
    bench.ask(Request::Disarm(s(900))).expect("the whole of it");
    bench.pass(s(1));
    assert_eq!(bench.ask(Request::Disarm(s(900))), Err(Refusal::DisarmedTooLong));
    bench.ask(Request::Disarm(s(899))).expect("what is left of it");
    bench.pass(s(899));
    assert_eq!(bench.state(), State::Armed);
    assert_eq!(bench.ask(Request::Disarm(s(1))), Err(Refusal::DisarmedTooLong));
}

#[test]
fn what_ends_a_disarm_makes_none_longer_that_was_over() {
    let mut bench = Bench::armed(PLAIN);
    bench.ask(Request::Disarm(s(1))).expect("little enough");
    bench.pass(s(50));
    bench.feed();
    for _ in 0..100 {
        bench.pass(s(15));
        bench.feed();
    }
    bench.tell(Event::Jumper(true));
    bench.tell(Event::Jumper(false));
    bench.feed();
    assert_eq!(bench.ask(Request::Disarm(s(899))), Ok(()));
}

#[test]
fn a_disarm_that_could_not_be_remembered_is_refused() {
    let mut bench = Bench::armed(PLAIN);
    for _ in 0..8 {
        bench.ask(Request::Disarm(s(1))).expect("little enough");
        bench.pass(s(2));
        bench.feed();
    }
    assert_eq!(bench.ask(Request::Disarm(s(1))), Err(Refusal::DisarmedTooLong));
    for _ in 0..240 {
        bench.pass(s(15));
        bench.feed();
    }
    assert_eq!(bench.ask(Request::Disarm(s(1))), Ok(()), "the first is more than an hour ago");
}

#[test]
fn a_hang_during_a_disarm_is_found_after_it() {
    let mut bench = Bench::armed(PLAIN);
    bench.ask(Request::Disarm(MINUTE)).expect("nothing stands in the way");
    bench.pass(s(119));
    assert_eq!(bench.pulses(), 0);
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 1);
}

#[test]
fn to_arm_ends_a_disarm_and_gives_back_what_is_left_of_it() {
    let mut bench = Bench::armed(PLAIN);
    for _ in 0..5 {
        bench.ask(Request::Disarm(s(900))).expect("what was given back");
        bench.pass(s(1));
        bench.ask(Request::Arm).expect("nothing stands in the way");
        assert_eq!(bench.state(), State::Armed);
        bench.pass(s(10));
        bench.feed();
        assert_eq!(bench.ask(Request::Disarm(s(900))), Err(Refusal::DisarmedTooLong));
        bench.ask(Request::Disarm(s(899))).expect("all but the second that was used");
        bench.ask(Request::Arm).expect("nothing stands in the way");
        bench.pass(s(40));
        bench.feed();
        for _ in 0..240 {
            bench.pass(s(15));
            bench.feed();
        }
    }
}

#[test]
fn a_reset_that_the_host_asks_for_is_charged_and_refused_past_the_budget() {
    let mut bench = Bench::armed(Settings { retry_count: 1, ..PLAIN });
    assert_eq!(bench.ask(Request::Reset(Why::Silence)), Err(Refusal::OutOfRange));
    bench.ask(Request::Reset(ASKED)).expect("the budget is full");
    assert_eq!((bench.state(), bench.pulses()), (State::Pulsing, 1));
    assert_eq!(bench.ask(Request::Reset(ASKED)), Err(Refusal::TooSoon));
    bench.pass(s(40));
    assert_eq!(bench.ask(Request::Reset(ASKED)), Err(Refusal::NotArmed), "it is booting");
    bench.feed();
    assert_eq!(bench.ask(Request::Reset(ASKED)), Err(Refusal::TooSoon));
    for _ in 0..60 {
        bench.pass(s(15));
        bench.feed();
    }
    assert_eq!(bench.ask(Request::Reset(ASKED)), Err(Refusal::BudgetSpent));
    assert_eq!((bench.state(), bench.pulses()), (State::Armed, 1), "a host that asks lives");
    bench.pass(s(15));
    bench.feed_with(false);
    assert_eq!(bench.state(), State::Armed, "what was refused counts nothing afterwards");
    let last = bench.board.report(ms(bench.now)).last.expect("there was one");
    assert_eq!((last.why, last.up_after_ms), (ASKED, Some(40_000)));
}

#[test]
fn a_boot_confirmed_in_the_moment_of_a_reset_is_not_that_resets() {
    let mut bench = Bench::armed(PLAIN);
    hang(&mut bench);
    let feed_for = |bench: &mut Bench, quarters: u32| {
        for _ in 0..quarters {
            bench.pass(s(15));
            bench.feed();
        }
    };
    feed_for(&mut bench, 60);
    bench.ask(Request::Confirm).expect("it is fed");
    bench.ask(Request::Reset(ASKED)).expect("the budget is not spent");
    bench.pass(s(40));
    bench.feed();
    feed_for(&mut bench, 300);
    bench.tell(Event::Feed { fresh: true, right: false, verdict: Verdict::Ok });
    assert_eq!(bench.board.resets(), 1, "the first is old and proven, the second is not");
    bench.ask(Request::Confirm).expect("it is fed");
    bench.pass(s(1));
    bench.tell(Event::Feed { fresh: true, right: false, verdict: Verdict::Ok });
    bench.pass(millis(1));
    assert_eq!(bench.board.resets(), 1, "that makes a failure, and a reset");
    assert_eq!(bench.pulses(), 3);
}

#[test]
fn settings_out_of_range_are_refused_and_change_nothing() {
    let mut bench = Bench::armed(PLAIN);
    let number = bench.board.durable().number;
    for settings in [
        Settings { timeout: millis(999), ..PLAIN },
        Settings { pulse: millis(1001), ..PLAIN },
        Settings { pulse: millis(49), ..PLAIN },
        Settings { boot_grace: millis(1999), ..PLAIN },
        Settings { retry_count: 9, ..PLAIN },
        Settings { retry_interval: millis(1), ..PLAIN },
        Settings { link_timeout: millis(59_999), ..PLAIN },
    ] {
        assert_eq!(bench.ask(Request::Configure(settings)), Err(Refusal::OutOfRange));
        assert_eq!(*bench.board.settings(), PLAIN);
    }
    assert_eq!(bench.board.durable().number, number);
}

#[test]
fn settings_are_echoed_durable_and_in_force_at_once() {
    let mut bench = Bench::armed(PLAIN);
    let quick = Settings { timeout: s(10), ..PLAIN };
    let actions = bench.board.handle(Event::Host(Request::Configure(quick)), ms(bench.now));
    assert_eq!(
        actions.as_slice(),
        [Action::Note(Note::Configured), Action::Echo, Action::Answer(None), Action::Store,]
    );
    let again = bench.board.handle(Event::Host(Request::Configure(quick)), ms(bench.now));
    assert_eq!(again.as_slice(), [Action::Echo, Action::Answer(None)], "nothing to store");
    bench.pass(s(10));
    assert_eq!(bench.state(), State::Pulsing);
}

/// It was fed by the time-out that held until then, and is fed by the new one from then on.
#[test]
fn a_shorter_time_out_resets_nobody_who_was_fed_in_time() {
    let quick = Settings { timeout: s(10), ..PLAIN };
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(15));
    bench.ask(Request::Configure(quick)).expect("in range");
    bench.pass(millis(9_999));
    assert_eq!(bench.pulses(), 0, "it has the whole of it");
    bench.pass(millis(1));
    assert_eq!(bench.pulses(), 1, "and no more");
    // Whatever is configured, and however often, silence lasts no longer than the one before.
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(55));
    for timeout in [10, 11, 10, 11, 10] {
        bench.pass(millis(999));
        bench.ask(Request::Configure(Settings { timeout: s(timeout), ..PLAIN })).expect("in range");
        assert_eq!(bench.pulses(), 0);
    }
    bench.pass(millis(5));
    assert_eq!(bench.pulses(), 1);
}

#[test]
fn other_settings_keep_the_count() {
    let mut bench = Bench::armed(PLAIN);
    hang(&mut bench);
    bench.ask(Request::Configure(Settings { retry_count: 1, ..PLAIN })).expect("in range");
    bench.pass(s(3600));
    assert_eq!((bench.state(), bench.pulses()), (State::Held, 1));
}

#[test]
fn an_announced_grace_is_for_the_boot_to_come_or_the_one_under_way() {
    let mut bench = Bench::armed(PLAIN);
    assert_eq!(bench.ask(Request::Grace(s(3601))), Err(Refusal::OutOfRange));
    bench.ask(Request::Grace(s(1800))).expect("half an hour");
    bench.feed();
    bench.ask(Request::End(End::Reboot)).expect("nothing stands in the way");
    bench.pass(s(1799));
    assert_eq!(bench.pulses(), 0);
    bench.ask(Request::Grace(s(1801))).expect("up to an hour from its beginning");
    assert_eq!(bench.ask(Request::Grace(s(1802))), Err(Refusal::OutOfRange));
    bench.pass(s(1800));
    assert_eq!(bench.pulses(), 0);
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 1);
    bench.pass(s(602));
    assert_eq!(bench.pulses(), 2, "it was for one boot");

    let mut bench = Bench::armed(PLAIN);
    bench.ask(Request::Grace(MINUTE)).expect("in range");
    bench.ask(Request::End(End::Reboot)).expect("nothing stands in the way");
    bench.pass(s(599));
    assert_eq!(bench.pulses(), 0, "it makes no grace shorter");

    let mut bench = Bench::armed(PLAIN);
    bench.ask(Request::End(End::Reboot)).expect("nothing stands in the way");
    bench.ask(Request::Grace(MINUTE)).expect("in range");
    bench.pass(s(599));
    assert_eq!(bench.pulses(), 0, "nor the one under way");
}
