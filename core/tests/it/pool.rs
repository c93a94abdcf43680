//! The pool's machine by scripts: its counts, its layers, and its three rules.

use std::fmt::Write as _;

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::pool::{
    Action, Actions, Blind, Busy, Event, Face, Fall, NoneLeft, Pool, Settings, SettingsError,
    Setup, Start, Ticket, Why,
};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

pub(crate) const CAUSE: Cause = Cause::of_check(0, Phase::Connect, 111);
pub(crate) const OK: ProbeResult = ProbeResult::Healthy;
pub(crate) const BAD: ProbeResult = ProbeResult::Failed(Weight::COMPLETE, CAUSE);
pub(crate) const BLIND: ProbeResult = ProbeResult::CannotMeasure(CAUSE);

pub(crate) fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A pool whose members' checks are answered at once, by what is so at the time.
struct World {
    pool: Pool,
    conditions: Vec<ProbeResult>,
    said: String,
}

impl World {
    fn new(settings: Settings, members: usize) -> Self {
        Self::of(settings, &vec![Setup::default(); members])
    }

    fn of(settings: Settings, setups: &[Setup]) -> Self {
        let pool = Pool::new(settings, setups, ms(0)).expect("a possible pool");
        let mut world = Self { pool, conditions: vec![OK; setups.len()], said: String::new() };
        let actions = world.pool.handle(Event::Begin, ms(0));
        world.follow(actions, ms(0));
        world.said.clear(); // every face, once
        world.feed(Event::Timeout, ms(0));
        world
    }

    fn feed(&mut self, event: Event, now: Instant) {
        let actions = self.pool.handle(event, now);
        self.follow(actions, now);
    }

    fn follow(&mut self, actions: Actions, now: Instant) {
        for action in actions {
            match action {
                Action::Probe { member, ticket } => {
                    let result = self.conditions[usize::from(member)];
                    self.feed(Event::Probed { member, ticket, result }, now);
                }
                other => self.say(other),
            }
        }
    }

    fn say(&mut self, action: Action) {
        let comma = if self.said.is_empty() { "" } else { ", " };
        let name = |member: u8| char::from(b'a' + member);
        let text = match action {
            Action::Probe { .. } => return,
            Action::Face { member, face } => {
                let more = match face {
                    Face::In { weight: 100 } | Face::Standby | Face::Busy | Face::Drained => {
                        String::new()
                    }
                    Face::In { weight } => format!(" {weight}%"),
                    Face::Out(why) => match why {
                        Why::Checks(_) => " checks".into(),
                        Why::WorkUnit => " unit".into(),
                        Why::Silent => " silent".into(),
                        Why::Elsewhere => " elsewhere".into(),
                        Why::Returning => " returning".into(),
                    },
                };
                format!("{} {}{more}", name(member), face.word())
            }
            Action::Cut { member } => format!("cut {}", name(member)),
            Action::DrainEnded { member } => format!("{} drain ended", name(member)),
            Action::Fallback(None) => "fallback off".into(),
            Action::Fallback(Some(NoneLeft::NobodyIn)) => "fallback".into(),
            Action::Fallback(Some(NoneLeft::AllBusy)) => "fallback busy".into(),
            Action::Frozen(None) => "thawed".into(),
            Action::Frozen(Some(Blind::NothingMeasured)) => "frozen".into(),
            Action::Frozen(Some(Blind::NoTrusted)) => "frozen trusted".into(),
            Action::AskTrusted => "ask trusted".into(),
            other => panic!("no word for {other:?}"),
        };
        write!(self.said, "{comma}{text}").expect("a text");
    }

    /// Lets time pass to `at`, and says what came of it.
    #[track_caller]
    fn until(&mut self, at: u64, expected: &str) {
        while let Some(due) = self.pool.poll_timeout().filter(|due| *due <= ms(at)) {
            self.feed(Event::Timeout, due);
        }
        assert_eq!(std::mem::take(&mut self.said), expected, "until {at} ms");
    }

    #[track_caller]
    fn tell(&mut self, at: u64, event: Event, expected: &str) {
        self.until(at, "");
        self.feed(event, ms(at));
        assert_eq!(std::mem::take(&mut self.said), expected, "{event:?} at {at} ms");
    }

    fn faces(&self) -> String {
        let words: Vec<&str> = self.pool.members().iter().map(|it| it.face().word()).collect();
        words.join(" ")
    }
}

fn settings() -> Settings {
    Settings { interval: Span::from_secs(1), min_members: 0, ..Settings::DEFAULT }
}

/// HAProxy's counts, as watched: rise 2, fall 3, `OOXXXOO` from full.
#[test]
fn rise_and_fall_are_counted_in_a_row() {
    let mut world = World::new(settings(), 1);
    let mut seen = Vec::new();
    for (second, result) in [OK, OK, BAD, BAD, BAD, OK, OK].into_iter().enumerate() {
        world.conditions[0] = result;
        world.until(
            second as u64 * 1000 + 1000,
            match second {
                4 => "a out checks, fallback",
                6 => "a in, fallback off",
                _ => "",
            },
        );
        seen.push(world.pool.members()[0].health(world.pool.settings()));
    }
    assert_eq!(seen, [4, 4, 3, 2, 0, 1, 4]);
}

#[test]
fn one_healthy_cycle_in_between_undoes_failures_in_a_row() {
    let mut world = World::new(settings(), 1);
    for (second, result) in [BAD, BAD, OK, BAD, BAD, OK].into_iter().enumerate() {
        world.conditions[0] = result;
        world.until(second as u64 * 1000 + 1000, "");
    }
}

#[test]
fn so_many_of_the_last_few_exclude_though_some_were_healthy() {
    let settings = Settings { fall: Fall { count: 3, of: 5 }, ..settings() };
    let mut world = World::new(settings, 1);
    let results = [BAD, OK, BAD, OK, BAD, OK, OK, BAD, OK, BAD];
    for (second, result) in results.into_iter().enumerate() {
        world.conditions[0] = result;
        world.until(
            second as u64 * 1000 + 1000,
            match second {
                4 => "a out checks, fallback",
                6 => "a in, fallback off", // and what was before counts no more
                _ => "",
            },
        );
    }
}

#[test]
fn the_first_cycle_decides_and_an_immediate_result_does_not_wait() {
    let mut world = World::new(settings(), 2);
    world.conditions[1] = BAD;
    world.until(500, "b out checks");
    world.conditions[0] = ProbeResult::Immediate(CAUSE);
    world.until(1000, "a out checks, fallback");
}

/// Silent for 48 s, an agent takes its member out, and not at 47; its next word brings it back.
#[test]
fn an_agents_silence_excludes_at_its_time_and_its_next_word_readmits() {
    let silence = Some(Span::from_secs(48));
    let mut world = World::new(Settings { silence, ..settings() }, 2);
    let heard = Event::Agent { member: 0, load: None, failed: false };
    world.tell(6_000, heard, "");
    world.until(53_999, "");
    world.until(54_000, "a out silent");
    world.tell(60_000, heard, "a in");
    // One that never spoke is not silent, unless it must.
    let required = Settings { silence, agent_required: true, ..settings() };
    let mut world = World::new(required, 1);
    world.until(48_000, "a out silent, fallback");
}

// req 3.33 3.34
#[test]
fn a_failed_work_unit_excludes_at_once_whatever_the_counts() {
    let mut world = World::new(settings(), 2);
    world.tell(5_000, Event::Agent { member: 0, load: None, failed: true }, "a out unit");
    assert_eq!(world.pool.members()[0].health(world.pool.settings()), 4);
    world.tell(6_000, Event::Agent { member: 0, load: None, failed: false }, "a in");
}

/// An agent that says all is well heals no check (and HAProxy's did).
#[test]
fn any_layer_has_a_veto() {
    let mut world = World::new(settings(), 2);
    world.conditions[0] = BAD;
    world.until(3_000, "a out checks");
    world.tell(3_100, Event::Agent { member: 0, load: Some(1), failed: false }, "");
    world.tell(3_200, Event::Elsewhere { member: 1, failed: true }, "b out elsewhere, fallback");
    assert!(!world.pool.members()[1].has_failed(), "its own services are well");
    world.tell(3_300, Event::Elsewhere { member: 1, failed: false }, "b in, fallback off");
}

#[test]
fn a_drain_ends_by_itself_and_the_member_rejoins_once_its_checks_have_passed() {
    let mut world = World::new(Settings { cut: true, ..settings() }, 2);
    let drain = Event::Drain { member: 0, until: Some(ms(60_500)), cut_at: Some(ms(30_000)) };
    world.tell(10_500, drain, "a drained");
    world.conditions[0] = BAD; // it is being worked on
    world.until(29_999, "");
    world.until(30_000, "cut a");
    world.until(60_499, "");
    world.until(60_500, "a drain ended, a out returning");
    world.conditions[0] = OK;
    world.until(61_000, "");
    world.until(62_000, "a in");
}

#[test]
fn a_drain_without_a_cut_of_its_own_cuts_at_its_end_and_enable_cuts_nothing() {
    let mut world = World::new(Settings { cut: true, ..settings() }, 2);
    let drain = Event::Drain { member: 0, until: Some(ms(20_500)), cut_at: None };
    world.tell(10_500, drain, "a drained");
    world.until(20_500, "cut a, a drain ended, a out returning");
    world.until(22_000, "a in");
    let drain = Event::Drain { member: 0, until: None, cut_at: None };
    world.tell(22_500, drain, "a drained");
    world.tell(30_000, Event::Enable { member: 0 }, "a out returning");
    world.until(32_000, "a in");
    world.tell(32_500, Event::Enable { member: 0 }, "");
}

/// What fails after a drain is excluded for its checks like anything else.
#[test]
fn a_member_that_does_not_come_back_from_a_drain_says_why() {
    let mut world = World::new(settings(), 2);
    world.tell(500, Event::Drain { member: 0, until: Some(ms(2_500)), cut_at: None }, "a drained");
    world.conditions[0] = BAD;
    world.until(2_500, "a drain ended, a out returning");
    world.until(5_000, "a out checks");
}

#[test]
fn the_floor_keeps_the_last_ones_in_and_nobody_moves_for_it() {
    let mut world = World::new(Settings { min_members: 1, ..settings() }, 2);
    world.conditions[0] = BAD;
    world.until(3_000, "a out checks");
    world.conditions[1] = BAD;
    world.until(20_000, "");
    assert!(world.pool.members()[1].is_kept());
    assert_eq!(world.pool.none_left(), None);
    world.conditions[0] = OK;
    world.until(22_000, "a in, b out checks");
}

/// A person who drains the last one wants it so.
#[test]
fn a_drain_is_not_bound_by_the_floor() {
    let mut world = World::new(Settings { min_members: 1, ..settings() }, 1);
    let drain = Event::Drain { member: 0, until: None, cut_at: None };
    world.tell(2_500, drain, "a drained, fallback");
}

#[test]
fn weights_follow_the_load_in_steps() {
    let mut world = World::new(settings(), 2);
    let load = |load| Event::Agent { member: 0, load: Some(load), failed: false };
    world.tell(500, load(3), "");
    world.tell(600, load(38), "a in 65%");
    world.tell(700, load(36), "");
    world.tell(800, load(255), "a in 5%");
    world.tell(900, load(0), "a in");
}

/// Busy from 80 on, and no more below 60: in between it stays what it is.
// req 3.36
#[test]
fn all_being_busy_is_acted_on_with_hysteresis() {
    let busy = Some(Busy { from: 80, until: 60 });
    let mut world = World::new(Settings { busy, fallback: true, ..settings() }, 2);
    let load = |member, load| Event::Agent { member, load: Some(load), failed: false };
    world.tell(2_000, load(0, 90), "a in 10%");
    world.tell(2_100, load(1, 80), "a busy, b busy, fallback busy");
    world.tell(2_200, load(1, 60), "");
    world.tell(2_300, load(1, 79), "");
    world.tell(2_400, load(1, 59), "a in 10%, b in 45%, fallback off");
    world.tell(2_500, load(1, 79), "b in 25%");
    world.tell(2_600, load(1, 80), "a busy, b busy, fallback busy");
}

#[test]
fn without_anything_instead_busy_members_do_better_than_nobody() {
    let busy = Some(Busy { from: 80, until: 60 });
    let mut world = World::new(Settings { busy, ..settings() }, 1);
    let load = Event::Agent { member: 0, load: Some(100), failed: false };
    world.tell(2_000, load, "a in 5%");
}

#[test]
fn backups_work_while_nobody_else_can() {
    let backup = Setup { backup: true, ..Setup::default() };
    let mut world = World::of(settings(), &[Setup::default(), backup]);
    world.until(2_000, "");
    assert_eq!(world.faces(), "in standby");
    world.conditions[0] = BAD;
    world.until(5_000, "a out checks, b in");
    world.conditions[0] = OK;
    world.until(7_000, "a in, b standby");
}

/// All fail by our own lack: nobody moves, and afterwards evidence begins anew.
#[test]
fn membership_stands_still_while_nothing_can_be_measured() {
    let mut world = World::new(settings(), 2);
    world.until(1_000, "");
    world.conditions = vec![BAD, BAD];
    world.until(3_000, ""); // two each, and a third would exclude
    world.conditions = vec![BLIND, BLIND];
    world.until(60_000, "frozen");
    world.conditions = vec![BAD, OK];
    world.until(60_500, "thawed");
    world.until(62_500, "");
    world.until(64_000, "a out checks");
}

/// One that cannot be measured says nothing of the others.
#[test]
fn what_cannot_be_measured_counts_nothing() {
    let mut world = World::new(settings(), 2);
    world.conditions[0] = BLIND;
    world.until(60_000, "");
    assert_eq!(world.faces(), "in in");
}

#[test]
fn an_exclusion_of_everybody_waits_for_a_trusted_servers_answer() {
    let settings = Settings { trusted: true, ..settings() };
    // It is us: nobody is excluded.
    let mut world = World::new(settings, 2);
    world.tell(1_000, Event::Trusted { answering: true }, "");
    world.conditions = vec![BAD, BAD];
    world.until(4_000, "ask trusted");
    world.tell(4_100, Event::Trusted { answering: false }, "frozen trusted");
    world.until(60_000, "");
    assert_eq!(world.faces(), "in in");
    world.conditions = vec![OK, OK];
    world.tell(60_100, Event::Trusted { answering: true }, "thawed");
    world.until(90_000, "");
    // It is them.
    world.conditions = vec![BAD, BAD];
    world.until(93_000, "ask trusted");
    world.tell(93_100, Event::Trusted { answering: true }, "a out checks, b out checks, fallback");
    // Nobody answered: the checks are all there is.
    let mut world = World::new(settings, 2);
    world.until(1_500, "");
    world.conditions = vec![BAD, BAD];
    world.until(4_000, "ask trusted");
    world.until(18_999, "");
    world.until(19_000, "a out checks, b out checks, fallback");
}

/// Where some are well, one that fails is excluded without asking.
#[test]
fn one_member_that_fails_is_no_fault_of_ours() {
    let mut world = World::new(Settings { trusted: true, ..settings() }, 2);
    world.conditions[0] = BAD;
    world.until(3_000, "a out checks");
}

#[test]
fn with_the_cut_on_an_exclusion_cuts_and_a_return_does_not() {
    let mut world = World::new(Settings { cut: true, ..settings() }, 2);
    world.conditions[0] = BAD;
    world.until(3_000, "a out checks, cut a");
    world.conditions[0] = OK;
    world.until(5_000, "a in");
}

/// The checker is begun again: what was out stays out until its checks pass, nobody else moves.
#[test]
fn what_is_known_from_before_is_not_forged() {
    let setups = [
        Setup { start: Start::In, ..Setup::default() },
        Setup { start: Start::Out, ..Setup::default() },
    ];
    let mut world = World::of(settings(), &setups);
    assert_eq!(world.faces(), "in out");
    world.conditions[0] = BAD; // a single failure excludes nobody who was in
    world.until(1_000, "");
    world.until(1_500, "b in");
}

/// A cycle longer than the interval: no overlap, the next at the next slot, counted.
#[test]
fn a_late_cycle_is_followed_at_the_next_slot() {
    let mut pool = Pool::new(settings(), &[Setup::default()], ms(0)).expect("a pool");
    let _ = pool.handle(Event::Begin, ms(0));
    let begun =
        |actions: &Actions| actions.as_slice().iter().any(|it| matches!(it, Action::Probe { .. }));
    assert!(begun(&pool.handle(Event::Timeout, ms(0))));
    assert_eq!(pool.poll_timeout(), None, "it is under way");
    let probed = Event::Probed { member: 0, ticket: Ticket(1), result: OK };
    let _ = pool.handle(probed, ms(2_300));
    assert_eq!(pool.poll_timeout(), Some(ms(3_000)));
    assert_eq!(pool.members()[0].late(), 1);
    assert!(begun(&pool.handle(Event::Timeout, ms(3_000))));
    // The first one's answer again is nobody's.
    assert_eq!(pool.handle(probed, ms(3_100)).as_slice(), []);
    assert_eq!(pool.poll_timeout(), None);
}

#[test]
fn what_can_never_work_is_refused() {
    let cases = [
        (Settings { interval: Span::ZERO, ..settings() }, 1, SettingsError::Interval),
        (settings(), 0, SettingsError::Members { most: 64 }),
        (settings(), 65, SettingsError::Members { most: 64 }),
        (Settings { rise: 0, ..settings() }, 1, SettingsError::Rise { most: 16 }),
        (Settings { rise: 17, ..settings() }, 1, SettingsError::Rise { most: 16 }),
        (
            Settings { fall: Fall { count: 0, of: 1 }, ..settings() },
            1,
            SettingsError::Fall { most: 16 },
        ),
        (
            Settings { fall: Fall { count: 4, of: 3 }, ..settings() },
            1,
            SettingsError::Fall { most: 16 },
        ),
        (
            Settings { fall: Fall { count: 4, of: 17 }, ..settings() },
            1,
            SettingsError::Fall { most: 16 },
        ),
        (Settings { min_members: 3, ..settings() }, 2, SettingsError::MinMembers { members: 2 }),
        (
            Settings { busy: Some(Busy { from: 50, until: 60 }), ..settings() },
            1,
            SettingsError::Busy,
        ),
    ];
    for (settings, members, error) in cases {
        let made = Pool::new(settings, &vec![Setup::default(); members], ms(0));
        assert_eq!(made.map(|_| ()), Err(error), "{settings:?}");
    }
}
