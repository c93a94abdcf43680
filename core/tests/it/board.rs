//! The board's rules, each by a short story.

use giveover_core::board::{
    Action, Board, Durable, End, Event, HOLD_OFF, Light, Note, Refusal, Request, SAVE_EVERY,
    Second, Settings, Start, State, Verdict, Why,
};
use giveover_core::failure::{Cause, Phase};
use giveover_core::time::Span;

use crate::bench::{Bench, Cut};
use crate::script::ms;

/// Fed each minute, ten minutes to boot, three resets an hour.
const PLAIN: Settings = Settings::DEFAULT;
const MINUTE: Span = Span::from_secs(60);
const ASKED: Why = Why::Giveover { service: 2, cause: Cause::of_check(1, Phase::Answer, 503) };

fn s(s: u32) -> Span {
    Span::from_secs(s)
}

fn millis(ms: u32) -> Span {
    Span::from_millis(ms)
}

/// From armed to reset by silence, booted and fed again.
fn hang(bench: &mut Bench) {
    let pulses = bench.pulses();
    bench.pass_until(State::Pulsing, s(7200));
    bench.pass_until(State::Grace, s(10));
    assert_eq!(bench.pulses(), pulses + 1);
    bench.pass(s(38));
    bench.feed();
    assert_eq!(bench.state(), State::Armed);
}

fn confirm(bench: &mut Bench) {
    for _ in 0..20 {
        bench.pass(s(15));
        bench.feed();
    }
    bench.ask(Request::Confirm).expect("it is fed");
}

#[test]
fn a_host_that_has_not_spoken_is_never_reset() {
    let mut bench = Bench::new(PLAIN);
    bench.ask(Request::Arm).expect("nothing stands in the way");
    bench.pass(s(40 * 86_400));
    assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0));
}

#[test]
fn a_feed_guards_nobody_who_did_not_arm() {
    let mut bench = Bench::new(PLAIN);
    bench.pass(HOLD_OFF);
    bench.feed();
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0));
}

#[test]
fn silence_is_warned_of_at_60_percent_and_pulsed_at_the_time_out() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(millis(35_999));
    assert_eq!(bench.state(), State::Armed);
    bench.pass(millis(1));
    assert_eq!(bench.state(), State::Warned);
    bench.pass(millis(23_999));
    assert_eq!((bench.state(), bench.pulses()), (State::Warned, 0));
    bench.pass(millis(1));
    assert_eq!((bench.state(), bench.pulses()), (State::Pulsing, 1));
    bench.pass(millis(249));
    assert_eq!(bench.edges.len(), 1);
    bench.pass(millis(1));
    let [down, up] = bench.edges[..] else { panic!("{:?}", bench.edges) };
    assert_eq!(up.at - down.at, 250);
    assert_eq!(bench.state(), State::Grace);
    let why = Why::Silence;
    assert!(bench.notes.starts_with(&[
        Note::State(State::Warned),
        Note::Intent { ticket: 1, why },
        Note::State(State::Pulsing),
        Note::Done { ticket: 1 },
        Note::State(State::Grace),
    ]));
}

#[test]
fn a_feed_past_60_percent_is_a_near_miss() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(41));
    bench.feed_with(true);
    assert_eq!(bench.state(), State::Armed);
    assert!(bench.notes.contains(&Note::NearMiss(41_000)));
    let counters = bench.board.counters();
    assert_eq!((counters.near_misses, counters.longest_gap_ms, counters.feeds), (1, 41_000, 2));
}

#[test]
fn a_host_that_boots_confirms_and_hangs_for_ever_is_held_after_its_budget() {
    let mut bench = Bench::armed(PLAIN);
    for _ in 0..3 {
        hang(&mut bench);
        confirm(&mut bench);
    }
    bench.pass_until(State::Held, s(3600));
    assert_eq!(bench.pulses(), 3);
    assert!(bench.second, "the second line is on");
    let Some(Note::GivenOver { why: Why::Silence, second: Second::Alarm }) =
        bench.notes.iter().copied().find(|note| matches!(note, Note::GivenOver { .. }))
    else {
        panic!("{:?}", bench.notes)
    };
    for _ in 0..100 {
        bench.feed();
        bench.pass(s(3600));
    }
    assert_eq!((bench.state(), bench.pulses()), (State::Held, 3), "held for ever");
    assert_eq!(bench.board.light(true), Light::Steady);
}

#[test]
fn a_host_that_never_boots_is_held_after_its_budget() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(12 * 3600));
    assert_eq!((bench.state(), bench.pulses()), (State::Held, 3));
    assert_eq!(bench.board.report(ms(bench.now)).held, Some(Why::NoBoot));
}

#[test]
fn without_a_confirmed_boot_no_reset_is_ever_forgotten() {
    let mut bench = Bench::armed(PLAIN);
    for _ in 0..3 {
        hang(&mut bench);
        for _ in 0..2000 {
            bench.pass(s(15));
            bench.feed();
        }
    }
    assert_eq!(bench.board.resets(), 3, "hours later");
    bench.ask(Request::Confirm).expect("it is fed");
    hang_to(&mut bench, State::Pulsing);
    assert_eq!(bench.pulses(), 4, "old, and proven good since");
    assert_eq!(bench.board.resets(), 1);
}

fn hang_to(bench: &mut Bench, state: State) {
    bench.pass_until(state, s(7200));
}

#[test]
fn confirm_alone_frees_nothing() {
    let mut bench = Bench::armed(PLAIN);
    for count in 1..=3 {
        hang(&mut bench);
        confirm(&mut bench);
        assert_eq!(bench.board.resets(), count);
    }
}

#[test]
fn an_appliance_on_for_30_minutes_a_day_with_a_reset_a_week_is_never_held() {
    let mut bench = Bench::armed(PLAIN);
    for day in 0..7 * 52 {
        bench.pass(HOLD_OFF);
        bench.pass(s(38));
        bench.feed();
        if day % 7 == 3 {
            bench.pass(MINUTE);
            bench.pass(s(39));
            assert_eq!(bench.state(), State::Grace, "day {day}");
            bench.feed();
        }
        confirm(&mut bench);
        let left = 1800 - 2 - 38 - 300 - if day % 7 == 3 { 99 } else { 0 };
        for _ in 0..left / 15 {
            bench.pass(s(15));
            bench.feed();
        }
        assert_eq!(bench.state(), State::Armed, "day {day}");
        bench.restart(Cut::Power);
    }
    assert_eq!(bench.pulses(), 52);
}

#[test]
fn the_boards_own_reset_while_armed_loses_neither_arming_nor_count() {
    let mut bench = Bench::armed(PLAIN);
    hang(&mut bench);
    confirm(&mut bench);
    for _ in 0..10 {
        bench.restart(Cut::Reset);
        assert_eq!(bench.state(), State::Cold);
        bench.pass(HOLD_OFF);
        assert_eq!(bench.state(), State::Grace, "guarded on");
        assert_eq!(bench.board.resets(), 1);
        bench.feed();
        assert_eq!(bench.state(), State::Armed);
    }
    bench.restart(Cut::Reset);
    bench.pass(s(599));
    assert_eq!((bench.state(), bench.pulses()), (State::Grace, 1));
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 2, "a host that is silent since is reset");
}

#[test]
fn power_that_comes_back_waits_for_the_host_and_is_still_armed() {
    let mut bench = Bench::armed(PLAIN);
    bench.restart(Cut::Power);
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0));
    bench.feed();
    assert_eq!(bench.state(), State::Armed);
}

/// Cut at every step of intent, assert, release and done, both ways.
#[test]
fn a_cut_at_any_step_never_doubles_a_pulse_and_never_lowers_a_count() {
    for cut in [Cut::Power, Cut::Reset] {
        for steps in 0..14 {
            let mut bench = Bench::armed(PLAIN);
            hang(&mut bench);
            let (pulses, ever) = (bench.pulses(), bench.board.durable().ever);
            bench.fuse = Some((steps, cut));
            bench.pass(s(650));
            if bench.fuse.take().is_some() {
                continue; // the story has fewer steps
            }
            let known = bench.board.durable();
            assert!(bench.pulses() - pulses <= 1, "{cut:?} {steps}");
            assert!(known.ever >= ever, "{cut:?} {steps}");
            assert!(usize::from(known.resets.count()) >= bench.pulses(), "{cut:?} {steps}");
            assert!(!known.intent, "{cut:?} {steps}: never pending again");
            let pulses = bench.pulses();
            bench.pass(s(500));
            assert_eq!(bench.pulses(), pulses, "{cut:?} {steps}: no second pulse of one intent");
        }
    }
}

#[test]
fn an_intent_without_its_end_counts_and_leads_to_grace_even_after_a_loss_of_power() {
    let mut bench = Bench::armed(PLAIN);
    bench.fuse = Some((4, Cut::Power));
    bench.pass(s(60));
    assert!(bench.fuse.is_none());
    assert_eq!(bench.pulses(), 0, "cut between the record and the edge");
    assert!(bench.notes.contains(&Note::Unproven { ticket: 1 }));
    bench.pass(HOLD_OFF);
    assert_eq!((bench.state(), bench.board.resets()), (State::Grace, 1));
    bench.pass(s(600));
    assert_eq!(bench.pulses(), 1, "it reset the host, maybe, and the host did not boot");
    assert_eq!(bench.board.resets(), 2);
}

#[test]
fn two_pulses_are_at_least_the_boot_grace_apart() {
    let mut bench = Bench::armed(PLAIN);
    hang(&mut bench);
    bench.pass(s(400));
    assert_eq!((bench.state(), bench.pulses()), (State::Warned, 1), "silent, and too soon");
    bench.feed();
    assert_eq!(bench.state(), State::Armed, "a good feed calls it off");
    bench.pass(s(300));
    assert_eq!(bench.pulses(), 2);
    let apart = bench.edges[2].at - bench.edges[0].at;
    assert!(apart >= 600_000, "{apart}");
}

#[test]
fn two_bad_feeds_are_a_failure_and_one_is_not() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(15));
    bench.feed_with(false);
    assert_eq!((bench.state(), bench.board.report(ms(bench.now)).failure_sum), (State::Armed, 50));
    bench.pass(s(1));
    bench.feed_with(true);
    bench.pass(s(1));
    bench.feed_with(true); // a second after the last: early
    assert_eq!(bench.state(), State::Pulsing);
    assert_eq!(bench.board.durable().newest.map(|newest| newest.why), Some(Why::BadFeeds));
    assert_eq!((bench.board.counters().wrong, bench.board.counters().early), (1, 1));
}

#[test]
fn a_bad_feed_does_not_put_off_the_time_out() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(s(59));
    bench.feed_with(false);
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 1);
}

#[test]
fn early_is_below_an_eighth_of_the_time_out_and_never_the_first_of_a_connection() {
    let mut bench = Bench::armed(PLAIN);
    bench.pass(millis(7_500));
    bench.feed_with(true);
    assert_eq!(bench.board.counters().early, 0);
    bench.pass(millis(7_499));
    bench.feed_with(true);
    assert_eq!(bench.board.counters().early, 1);
    bench.feed();
    assert_eq!(bench.board.counters().early, 1);
}

#[test]
fn what_is_due_is_done_before_the_feed_that_comes_too_late() {
    let mut bench = Bench::armed(PLAIN);
    bench.sleep(s(60));
    bench.feed();
    assert_eq!((bench.state(), bench.pulses()), (State::Pulsing, 1));
}

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
        bench.pass(s(40));
        bench.feed();
        for _ in 0..240 {
            bench.pass(s(15));
            bench.feed();
        }
    }
}

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
    let last = bench.board.report(ms(bench.now)).last.expect("there was one");
    assert_eq!((last.why, last.up_after_ms), (ASKED, Some(40_000)));
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

#[test]
fn other_settings_keep_the_count() {
    let mut bench = Bench::armed(PLAIN);
    hang(&mut bench);
    bench.ask(Request::Configure(Settings { retry_count: 1, ..PLAIN })).expect("in range");
    bench.pass(s(3600));
    assert_eq!((bench.state(), bench.pulses()), (State::Held, 1));
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
}

#[test]
fn powered_time_is_saved_every_10_minutes_while_a_reset_counts() {
    let mut bench = Bench::armed(PLAIN);
    let number = bench.board.durable().number;
    for _ in 0..240 {
        bench.pass(s(15));
        bench.feed();
    }
    assert_eq!(bench.board.durable().number, number, "nothing ages");
    hang(&mut bench);
    for _ in 0..240 {
        bench.pass(s(15));
        bench.feed();
        let saved = bench.durable().expect("there is one").powered.as_millis();
        assert!(bench.now - saved <= u64::from(SAVE_EVERY.as_millis()));
    }
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

#[test]
fn a_verdict_withholds_nothing() {
    let mut bench = Bench::armed(PLAIN);
    for verdict in Verdict::ALL.iter().copied() {
        for _ in 0..20 {
            bench.pass(s(15));
            bench.tell(Event::Feed { fresh: false, right: true, verdict });
        }
        assert_eq!((bench.state(), bench.pulses()), (State::Armed, 0), "{verdict:?}");
    }
}

#[test]
fn a_shadow_that_differs_is_half_a_failure() {
    let mut bench = Bench::armed(PLAIN);
    bench.tell(Event::Differs { service: 1 });
    assert_eq!(bench.state(), State::Armed);
    bench.tell(Event::Differs { service: 1 });
    assert_eq!(bench.state(), State::Pulsing);
    let why = bench.board.durable().newest.map(|newest| newest.why);
    assert_eq!(why, Some(Why::Shadow { service: 1 }));
}
