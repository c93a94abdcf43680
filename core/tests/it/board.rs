//! The board's rules, each by a short story.

use giveover_core::board::{
    Event, HOLD_OFF, Light, Note, Request, SAVE_EVERY, Second, Settings, State, Verdict, Why,
};
use giveover_core::failure::{Cause, Phase};
use giveover_core::time::Span;

use crate::bench::{Bench, Cut};
use crate::script::ms;

/// Fed each minute, ten minutes to boot, three resets an hour.
pub(crate) const PLAIN: Settings = Settings::DEFAULT;
pub(crate) const MINUTE: Span = Span::from_secs(60);
pub(crate) const ASKED: Why =
    Why::Giveover { service: 2, cause: Cause::of_check(1, Phase::Answer, 503) };

pub(crate) fn s(s: u32) -> Span {
    Span::from_secs(s)
}

pub(crate) fn millis(ms: u32) -> Span {
    Span::from_millis(ms)
}

/// From armed to reset by silence, booted and fed again.
pub(crate) fn hang(bench: &mut Bench) {
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
fn a_feed_in_the_hold_off_guards_and_no_pulse_comes_before_its_end() {
    let quick = Settings {
        timeout: s(1),
        boot_grace: s(2),
        link_timeout: s(1),
        retry_interval: s(600),
        ..PLAIN
    };
    let mut bench = Bench::armed(quick);
    bench.restart(Cut::Power);
    bench.feed();
    assert_eq!(bench.state(), State::Armed);
    bench.pass(millis(1_999));
    assert_eq!(bench.pulses(), 0);
    bench.pass(millis(1));
    assert_eq!(bench.pulses(), 1);
}

#[test]
fn how_long_the_host_took_to_come_up_is_told_of_its_reset_and_no_other_start() {
    let mut bench = Bench::armed(PLAIN);
    let up =
        |bench: &Bench| bench.board.report(ms(bench.now)).last.and_then(|last| last.up_after_ms);
    hang(&mut bench);
    assert_eq!(up(&bench), Some(38_250), "with the pulse");
    bench.pass(s(30));
    bench.restart(Cut::Reset);
    bench.pass(s(5));
    bench.feed();
    assert_eq!(up(&bench), None, "nobody has seen it");
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
    let warned = bench.notes.iter().filter(|note| **note == Note::State(State::Warned));
    assert_eq!(warned.count(), 1, "a grace is long enough for the distance of pulses");
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

#[test]
fn a_reset_of_the_board_alone_begins_a_grace_for_pulses_too() {
    let mut bench = Bench::armed(PLAIN);
    bench.restart(Cut::Reset);
    bench.pass(s(5));
    bench.feed();
    assert_eq!(bench.state(), State::Armed);
    bench.pass(s(594));
    assert_eq!(bench.pulses(), 0, "silent for 594 s, and too soon");
    bench.pass(s(1));
    assert_eq!(bench.pulses(), 1);
}

#[test]
fn after_a_loss_of_power_a_reset_of_the_board_guards_no_host_that_has_not_spoken() {
    let mut bench = Bench::armed(PLAIN);
    bench.restart(Cut::Power);
    bench.restart(Cut::Reset);
    bench.pass(s(86_400));
    assert_eq!((bench.state(), bench.pulses()), (State::Waiting, 0));
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

/// What counts is when the line moved, not when it was decided.
#[test]
fn a_pulse_that_waited_for_the_store_is_recorded_at_its_edge() {
    let mut bench = Bench::armed(PLAIN);
    bench.store_works = false;
    bench.pass(s(60));
    bench.store_works = true;
    bench.pass(s(2));
    let edge = bench.now - 1_000;
    let record = bench.board.durable();
    assert_eq!(bench.edges[0].at, bench.on - 1_000);
    assert_eq!(record.newest.map(|newest| newest.at), Some(ms(edge)));
    assert!(record.resets.iter().eq([ms(edge)]));
    assert_eq!(bench.board.not_before(), ms(edge + 1_000 + 600_000), "from the longest pulse");
}

#[test]
fn what_is_told_of_the_last_reset_begins_anew_with_the_next() {
    let mut bench = Bench::armed(PLAIN);
    hang(&mut bench);
    confirm(&mut bench);
    let last = bench.board.report(ms(bench.now)).last.expect("there was one");
    assert_eq!((last.up_after_ms, last.confirmed_after_ms), (Some(38_250), Some(338_250)));
    bench.pass_until(State::Grace, s(7200));
    let last = bench.board.report(ms(bench.now)).last.expect("there was one");
    assert_eq!((last.up_after_ms, last.confirmed_after_ms), (None, None));
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
