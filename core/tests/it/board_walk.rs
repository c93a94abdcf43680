//! The board's laws and invariants over random schedules of feeds, silences, bad answers, planned
//! ends, requests, resets and power cuts. The bench itself looks at C1 to C6 with every action.

use giveover_core::board::{
    Action, Actions, Board, Durable, End, Event, Note, Request, Second, Settings, Start, State,
    Verdict, Why,
};
use giveover_core::failure::{Cause, Phase};
use giveover_core::time::Span;

use crate::bench::{Bench, Cut};
use crate::random::Random;
use crate::script::ms;

/// How many walks are taken; `GIVEOVER_WALK` multiplies it, for long runs at night.
fn walks(count: u64) -> u64 {
    let times = std::env::var("GIVEOVER_WALK").ok().and_then(|times| times.parse().ok());
    count * times.unwrap_or(1)
}

fn settings(random: &mut Random) -> Settings {
    let timeout = Span::from_secs(random.pick(&[1, 4, 60]));
    let boot_grace = Span::from_secs(random.pick(&[2, 5, 60]));
    let retry_count = random.pick(&[0, 1, 2, 3, 8]);
    let each = timeout.as_millis() + boot_grace.as_millis();
    let window = (u32::from(retry_count) * each).max(1) + random.pick(&[0, 1000, 600_000]);
    Settings {
        timeout,
        boot_grace,
        link_timeout: Span::from_millis(timeout.as_millis() * random.pick(&[1, 3])),
        pulse: Span::from_millis(random.pick(&[50, 250, 1000])),
        retry_count,
        retry_interval: Span::from_millis(window),
        second: random.pick(Second::ALL),
        nowayout: random.percent(10),
    }
}

fn why(random: &mut Random) -> Why {
    let cause = Cause::of_check(1, Phase::Read, 110);
    random.pick(&[
        Why::Giveover { service: 1, cause },
        Why::StopFailed { service: 2, cause },
        Why::Test,
        Why::Silence,
    ])
}

fn request(random: &mut Random) -> Request {
    match random.below(14) {
        0..=2 => Request::Arm,
        3 => Request::Disarm(Span::from_secs(random.pick(&[1, 60, 900, 901]))),
        4 => Request::Grace(Span::from_secs(random.pick(&[1, 60, 3600, 3601]))),
        5..=6 => Request::End(random.pick(End::ALL)),
        7..=9 => Request::Confirm,
        10..=12 => Request::Reset(why(random)),
        13 => Request::Fence,
        _ => Request::Clear,
    }
}

/// Some time, most often around what the board waits for.
fn time(random: &mut Random, settings: &Settings) -> Span {
    let timeout = settings.timeout.as_millis();
    let grace = settings.boot_grace.as_millis();
    let near = random.pick(&[0, 1, timeout / 8, timeout / 4, timeout, timeout, grace, 2000]);
    let off = random.pick(&[0, 0, 1, 40]);
    Span::from_millis(if random.percent(50) { near + off } else { near.saturating_sub(off) })
}

fn step(bench: &mut Bench, random: &mut Random) {
    match random.below(100) {
        0..=29 => {
            let settings = *bench.board.settings();
            bench.pass(time(random, &settings));
        }
        30..=54 => bench.feed(),
        55..=59 => bench.feed_with(true),
        60..=63 => bench.feed_with(false),
        64..=79 => {
            let _ = bench.ask(request(random));
        }
        80..=82 => bench.restart(random.pick(&[Cut::Power, Cut::Reset])),
        83..=87 => {
            bench.fuse = Some((random.below(6) as u32, random.pick(&[Cut::Power, Cut::Reset])));
        }
        88..=90 => {
            bench.jumper = random.percent(30);
            bench.tell(Event::Jumper(bench.jumper));
        }
        91..=92 => bench.store_works = random.percent(70),
        93..=94 => bench.tell(Event::HostPower(random.percent(70))),
        95..=96 => bench.tell(Event::Link(random.percent(70))),
        97 => bench.tell(Event::Differs { service: 1 }),
        98 => {
            let late = bench.board.durable().number.wrapping_sub(1 + random.below(3) as u32);
            bench.tell(Event::Stored { number: late, ok: random.percent(50) });
        }
        _ => bench.sleep(Span::from_millis(random.below(3000) as u32)),
    }
}

/// C1 to C6, and what a cut never does, over everything at once.
#[test]
fn the_invariants_of_the_line_hold_on_every_schedule() {
    let (mut pulses, mut held, mut steps) = (0, 0, 0);
    for seed in 0..walks(400) {
        let mut random = Random::new(seed);
        let mut bench = Bench::new(settings(&mut random));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..400 {
                step(&mut bench, &mut random);
                steps += 1;
            }
            pulses += bench.pulses();
            held += u32::from(bench.state() == State::Held);
        }));
        assert!(result.is_ok(), "seed {seed}");
    }
    println!("{steps} steps, {pulses} pulses, {held} held");
    assert!(pulses > 1000 && held > 20, "{pulses} pulses, {held} held");
}

/// C7 and law 6: a pulse has a cause. Kept beside the board is when the last good feed was and how
/// many bad ones came since any time that counts.
#[test]
fn only_silence_bad_feeds_and_requests_lead_to_a_pulse() {
    let mut causes = [0; 5];
    for seed in 0..walks(200) {
        let mut random = Random::new(seed ^ 0xC7);
        let mut bench = Bench::new(settings(&mut random));
        let settings = *bench.board.settings();
        let timeout = u64::from(settings.timeout.as_millis());
        let window = u64::from(settings.retry_interval.as_millis());
        let (mut good, mut bad): (u64, Vec<u64>) = (0, Vec::new());
        for _ in 0..400 {
            let before = bench.notes.len();
            let counters = *bench.board.counters();
            step(&mut bench, &mut random);
            let now = bench.on;
            let after = *bench.board.counters();
            let differs = bench.notes[before..]
                .iter()
                .any(|note| matches!(note, Note::Intent { why: Why::Shadow { .. }, .. }));
            if after.early + after.wrong > counters.early + counters.wrong || differs {
                bad.push(now);
            }
            for note in bench.notes[before..].iter().copied() {
                let Note::Intent { why, .. } = note else { continue };
                match why {
                    Why::Silence => {
                        assert!(now - good >= timeout, "seed {seed}: fed {} ago", now - good);
                        causes[0] += 1;
                    }
                    Why::NoBoot => causes[1] += 1,
                    Why::BadFeeds => {
                        let live = bad.iter().filter(|at| now - **at <= window + 5000).count();
                        assert!(live >= 1, "seed {seed}");
                        causes[2] += 1;
                    }
                    Why::Shadow { .. } => causes[3] += 1,
                    Why::Giveover { .. } | Why::StopFailed { .. } | Why::Test => {
                        assert_eq!(bench.asked, now, "seed {seed}");
                        causes[4] += 1;
                    }
                }
            }
            if after.feeds > counters.feeds {
                good = now;
            }
        }
    }
    println!("{causes:?}");
    assert!(causes.iter().all(|count| *count > 5), "{causes:?}");
}

/// Law 5: unbroken silence of an armed host reaches giveover, within the budget and one failure
/// more, from wherever a schedule has left it.
#[test]
fn giveover_is_reachable() {
    for seed in 0..walks(300) {
        let mut random = Random::new(seed ^ 5);
        let mut bench = Bench::new(settings(&mut random));
        for _ in 0..random.below(100) {
            step(&mut bench, &mut random);
        }
        bench.store_works = true;
        bench.fuse = None;
        bench.jumper = false;
        bench.tell(Event::Jumper(false));
        bench.pass(Span::from_secs(2));
        let _ = bench.ask(Request::Arm);
        bench.feed();
        let settings = *bench.board.settings();
        let before = bench.pulses();
        let each = 2 * (settings.boot_grace.as_millis() + settings.link_timeout.as_millis());
        let most = (u32::from(settings.retry_count) + 2) * (each + 5000) + 3_600_000;
        bench.pass_until(State::Held, Span::from_millis(most));
        let pulses = bench.pulses() - before;
        assert!(pulses <= usize::from(settings.retry_count), "seed {seed}: {pulses}");
    }
}

/// One walk over a bare machine, each event seen by `look`.
fn walk(seed: u64, mut look: impl FnMut(&Board, Event, u64, &Board, &Actions)) {
    let mut random = Random::new(seed);
    let mut record = Durable { settings: settings(&mut random), ..Durable::NEW };
    record.armed = random.percent(80);
    record.guarding = random.percent(50);
    record.intent = random.percent(10);
    let start = random.pick(&[Start::PowerUp, Start::BoardReset]);
    let mut now = 1_000_000;
    let (mut board, _) = Board::start(Some(record), start, ms(now));
    for _ in 0..400 {
        let settings = *board.settings();
        if random.percent(40) {
            let due = board.poll_timeout().map_or(now, |due| due.as_millis());
            now = match random.below(4) {
                0 => now + u64::from(time(&mut random, &settings).as_millis()),
                1 => due.max(now) + random.below(3),
                2 => due.saturating_sub(1).max(now),
                _ => now.saturating_sub(random.below(500)),
            };
        }
        let number = board.durable().number;
        let event = match random.below(100) {
            0..=29 => Event::Timeout,
            30..=54 => Event::Feed {
                fresh: random.percent(80),
                right: random.percent(90),
                verdict: Verdict::Ok,
            },
            55..=69 => Event::Host(match random.below(12) {
                0 => Request::Configure(self::settings(&mut random)),
                _ => request(&mut random),
            }),
            70..=89 => Event::Stored {
                number: number.wrapping_sub(u32::from(random.percent(20))),
                ok: random.percent(85),
            },
            90..=91 => Event::LineRefused { ticket: board.durable().ever },
            92..=93 => Event::Jumper(random.percent(30)),
            94..=95 => Event::HostPower(random.percent(70)),
            96..=97 => Event::Link(random.percent(70)),
            _ => Event::Differs { service: 1 },
        };
        let before = board.clone();
        let actions = board.handle(event, ms(now));
        look(&before, event, now, &board, &actions);
    }
}

fn same(one: &Board, other: &Board) -> bool {
    let at = ms(u64::MAX / 2);
    one.durable() == other.durable()
        && one.report(at) == other.report(at)
        && one.counters() == other.counters()
        && one.poll_timeout() == other.poll_timeout()
        && one.not_before() == other.not_before()
}

#[test]
fn law_1_a_deadline_is_never_stale() {
    for seed in 0..walks(300) {
        walk(seed, |_, event, _, after, _| {
            let next = after.poll_timeout();
            assert!(
                next.is_none_or(|next| next > after.latest()),
                "seed {seed}: {event:?} {next:?}"
            );
        });
    }
}

#[test]
fn law_2_early_is_nothing() {
    for seed in 0..walks(300) {
        walk(seed, |before, _, _, _, _| {
            let mut twin = before.clone();
            let early = twin.latest();
            assert!(twin.handle(Event::Timeout, early).as_slice().is_empty(), "seed {seed}");
            assert!(same(&twin, before), "seed {seed}");
            if let Some(due) = before.poll_timeout() {
                let early = ms(due.as_millis() - 1);
                assert!(twin.handle(Event::Timeout, early).as_slice().is_empty(), "seed {seed}");
            }
        });
    }
}

#[test]
fn law_3_late_is_nothing() {
    for seed in 0..walks(300) {
        walk(seed, |_, _, _, after, _| {
            let mut twin = after.clone();
            let record = after.durable();
            for late in [record.number.wrapping_sub(1), record.number.wrapping_add(1)] {
                for ok in [true, false] {
                    let actions = twin.handle(Event::Stored { number: late, ok }, after.latest());
                    assert!(actions.as_slice().is_empty() && same(&twin, after), "seed {seed}");
                }
            }
            let ticket = record.ever.wrapping_sub(1);
            let actions = twin.handle(Event::LineRefused { ticket }, after.latest());
            assert!(actions.as_slice().is_empty() && same(&twin, after), "seed {seed}");
        });
    }
}

#[test]
fn law_4_the_actions_of_an_event_are_bounded() {
    let mut most = 0;
    for seed in 0..walks(1500) {
        walk(seed, |_, event, _, _, actions| {
            let count = actions.as_slice().len();
            most = most.max(count);
            assert!(count < Actions::MAX, "seed {seed}: {event:?} {actions:?}");
        });
    }
    println!("at most {most}");
}

#[test]
fn law_8_the_epoch_does_not_matter() {
    let shifted = |board: &Board, by: u64| {
        let mut record = board.durable();
        let shift = |at: giveover_core::time::Instant| ms(at.as_millis() + by);
        record.powered = shift(record.powered);
        record.proven = record.proven.map(shift);
        record.newest = record.newest.map(|mut newest| {
            newest.at = shift(newest.at);
            newest
        });
        record.resets = giveover_core::board::Resets::of(record.resets.iter().map(shift));
        record
    };
    for by in [1, 86_400_000, 1 << 40] {
        for seed in 0..walks(60) {
            // A walk in one epoch, and its events once more in the other.
            let mut events = Vec::new();
            let mut first = None;
            walk(seed, |before, event, now, _, actions| {
                first.get_or_insert_with(|| before.clone());
                events.push((event, now, actions.clone()));
            });
            let first = first.expect("a step");
            let begin = first.durable();
            let start = Start::BoardReset;
            let (mut here, _) = Board::start(Some(begin), start, begin.powered);
            let there = shifted(&first, by);
            let (mut there, _) = Board::start(Some(there), start, there.powered);
            for (event, now, _) in events {
                let one = here.handle(event, ms(now));
                let other = there.handle(event, ms(now + by));
                assert_eq!(one, other, "seed {seed}, by {by}: {event:?}");
            }
        }
    }
}

#[test]
fn law_9_time_going_back_is_clamped() {
    for seed in 0..walks(300) {
        walk(seed, |before, event, now, after, actions| {
            let mut twin = before.clone();
            let latest = before.latest().max(ms(now));
            assert_eq!(twin.handle(event, latest), *actions, "seed {seed}");
            let back = u32::from(ms(now) < before.latest());
            assert_eq!(after.latest(), latest);
            let counted = after.counters().clock_went_back - before.counters().clock_went_back;
            assert_eq!(counted, back, "seed {seed}");
        });
    }
}

/// Law 10: at most one pulse for each ticket, none from configuration, none at the start, and
/// each after its intent was told to be durable.
#[test]
fn law_10_the_line_moves_once_per_cause() {
    let mut pulses = 0;
    for seed in 0..walks(400) {
        let (mut last, mut out) = (0, false);
        walk(seed, |before, event, _, _, actions| {
            for action in actions {
                match *action {
                    Action::Pulse { ticket, width } => {
                        assert!(ticket > last && !out, "seed {seed}: {ticket} after {last}");
                        assert!(width >= Settings::LEAST_PULSE && width <= Settings::MOST_PULSE);
                        let stored = Event::Stored { number: before.durable().number, ok: true };
                        assert_eq!(event, stored, "seed {seed}");
                        (last, out) = (ticket, true);
                        pulses += 1;
                    }
                    Action::Release => {
                        assert!(out, "seed {seed}");
                        out = false;
                    }
                    Action::Note(Note::LineRefused { .. }) => out = false,
                    _ => {}
                }
            }
        });
    }
    assert!(pulses > 300, "{pulses}");
}

/// C8, as far as one machine shows it: the same trace leads to the same actions.
#[test]
fn the_same_trace_leads_to_the_same_actions() {
    for seed in 0..walks(50) {
        let trace = |seed| {
            let mut told = String::new();
            walk(seed, |_, event, now, _, actions| {
                told += &format!("{now} {event:?} {actions:?}\n")
            });
            told
        };
        assert_eq!(trace(seed), trace(seed));
    }
}

/// Every request has its answer, and what is durable is stored when it changes.
#[test]
fn every_request_is_answered_and_every_change_is_stored() {
    for seed in 0..walks(300) {
        walk(seed, |before, event, _, after, actions| {
            let answers =
                actions.as_slice().iter().filter(|action| matches!(action, Action::Answer(_)));
            assert_eq!(answers.count(), usize::from(matches!(event, Event::Host(_))));
            let stored = actions.as_slice().contains(&Action::Store);
            let (mut one, mut other) = (before.durable(), after.durable());
            assert_eq!(one.number.wrapping_add(u32::from(stored)), other.number, "seed {seed}");
            (one.number, one.powered) = (other.number, other.powered);
            if !stored {
                // What ages, and the time of an edge, need no record of their own.
                (one.resets, one.newest) = (other.resets, other.newest);
                other.resets = one.resets;
                assert_eq!(one, other, "seed {seed}: {event:?}");
            }
        });
    }
}
