//! The laws of every machine, on random walks of pools.

use giveover_core::failure::ProbeResult;
use giveover_core::pool::{
    Action, Actions, Busy, Event, Face, Fall, Pool, Settings, Setup, Start, Ticket,
};
use giveover_core::time::{Instant, Span};

use crate::pool::{BAD, BLIND, OK};
use crate::random::Random;

/// Late enough that time can go back.
const EPOCH: u64 = 4_000_000_000;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A pool, the answers it waits for, and the time.
#[derive(Clone)]
struct Walk {
    pool: Pool,
    asked: Vec<(u8, Ticket)>,
    now: u64,
}

fn settings(random: &mut Random, members: u8) -> Settings {
    let of = 1 + random.below(16) as u8;
    let some = random.percent(50);
    Settings {
        interval: Span::from_millis(1 + random.below(5_000) as u32),
        rise: 1 + random.below(5) as u8,
        fall: Fall { count: 1 + random.below(u64::from(of)) as u8, of },
        min_members: random.below(u64::from(members) + 1) as u8,
        busy: some.then_some(Busy { from: 80, until: 60 }),
        silence: random.percent(50).then_some(Span::from_secs(10)),
        agent_required: random.percent(30),
        fallback: random.percent(50),
        cut: random.percent(50),
        trusted: random.percent(50),
    }
}

impl Walk {
    fn new(random: &mut Random) -> Self {
        let members = 1 + random.below(6) as u8;
        let settings = settings(random, members);
        let setups: Vec<Setup> = (0..members)
            .map(|_| Setup {
                backup: random.percent(30),
                start: random.pick(&[Start::Unknown, Start::In, Start::Out]),
                drain: None,
                elsewhere: random.percent(10),
            })
            .collect();
        let mut pool = Pool::new(settings, &setups, at(EPOCH)).expect("possible");
        let _ = pool.handle(Event::Begin, at(EPOCH));
        Self { pool, asked: Vec::new(), now: EPOCH }
    }

    fn draw(&mut self, random: &mut Random) -> Event {
        let member = random.below(7) as u8;
        match random.below(100) {
            0..25 => {
                let due = self.pool.poll_timeout().map_or(self.now, Instant::as_millis);
                self.now = self.now.max(due);
                Event::Timeout
            }
            25..35 => {
                self.now += random.below(3_000);
                Event::Timeout
            }
            35..75 if !self.asked.is_empty() => {
                let (member, ticket) =
                    self.asked.remove(random.below(self.asked.len() as u64) as usize);
                let result = random.pick(&[OK, OK, OK, BAD, BAD, BLIND, ProbeResult::Void]);
                Event::Probed { member, ticket, result }
            }
            35..80 => {
                let load = random.percent(70).then(|| random.below(120) as u8);
                Event::Agent { member, load, failed: random.percent(20) }
            }
            80..82 => Event::Deaf,
            82..85 => Event::Elsewhere { member, failed: random.percent(50) },
            85..90 => Event::Trusted { answering: random.percent(60) },
            90..95 => {
                let until = random.percent(80).then(|| at(self.now + random.below(20_000)));
                let cut_at = random.percent(40).then(|| at(self.now + random.below(20_000)));
                Event::Drain { member, until, cut_at }
            }
            95..98 => Event::Enable { member },
            _ => Event::Probed { member, ticket: Ticket(random.below(50) as u32), result: BAD },
        }
    }

    fn feed(&mut self, event: Event) -> Actions {
        let actions = self.pool.handle(event, at(self.now));
        for action in &actions {
            if let Action::Probe { member, ticket } = action {
                self.asked.push((*member, *ticket));
            }
        }
        actions
    }
}

fn picture(pool: &Pool) -> String {
    format!(
        "{:?} {:?} {:?} {:?}",
        pool.members(),
        pool.frozen(),
        pool.none_left(),
        pool.poll_timeout()
    )
}

fn walks(check: impl Fn(&Walk, Event, &Actions, &Walk)) {
    let times = std::env::var("GIVEOVER_WALK").ok().and_then(|times| times.parse().ok());
    for seed in 0..300 * times.unwrap_or(1_u64) {
        let mut random = Random::new(seed);
        let mut walk = Walk::new(&mut random);
        for _ in 0..200 {
            let before = walk.clone();
            let event = walk.draw(&mut random);
            let before = Walk { now: walk.now, ..before };
            let actions = walk.feed(event);
            check(&before, event, &actions, &walk);
        }
    }
}

#[test]
fn a_deadline_is_never_stale_and_early_is_nothing() {
    walks(|before, event, actions, after| {
        if event != Event::Timeout {
            return;
        }
        let due = before.pool.poll_timeout();
        if due.is_some_and(|due| due <= at(before.now)) {
            let next = after.pool.poll_timeout();
            assert!(next.is_none_or(|next| next > at(before.now)), "{next:?} at {}", before.now);
        } else {
            assert_eq!(actions.as_slice(), []);
            assert_eq!(picture(&before.pool), picture(&after.pool));
        }
    });
}

#[test]
fn a_late_answer_is_nothing() {
    walks(|before, event, actions, after| {
        let Event::Probed { member, ticket, .. } = event else { return };
        // The walk takes an answer from its list before it feeds it: look at what is asked now.
        let probed_again = {
            let mut again = after.clone();
            let actions = again.pool.handle(event, at(after.now));
            (actions, picture(&again.pool))
        };
        assert_eq!(probed_again.0.as_slice(), [], "{member} {ticket:?}");
        assert_eq!(probed_again.1, picture(&after.pool));
        let _ = (before, actions);
    });
}

#[test]
fn actions_are_bounded_and_tell_what_is_so() {
    walks(|before, _, actions, after| {
        assert!(actions.as_slice().len() <= Actions::MAX);
        let mut faces: Vec<Face> = before.pool.members().iter().map(|it| it.face()).collect();
        for action in actions {
            if let Action::Face { member, face } = action {
                faces[usize::from(*member)] = *face;
            }
        }
        let now: Vec<Face> = after.pool.members().iter().map(|it| it.face()).collect();
        assert_eq!(faces, now, "a change that nobody was told");
    });
}

/// While we are blind nobody is moved by checks or by silence.
#[test]
fn nobody_moves_while_we_are_blind() {
    walks(|before, event, _, after| {
        let both = before.pool.frozen().is_some() && after.pool.frozen().is_some();
        let by_checks = matches!(event, Event::Probed { .. } | Event::Timeout);
        if !both || !by_checks {
            return;
        }
        for (was, is) in before.pool.members().iter().zip(after.pool.members()) {
            if was.drained().is_some() {
                continue; // a drain may end
            }
            assert_eq!(was.has_failed(), is.has_failed());
        }
    });
}

/// The floor: unless people drain them, as many stay in as were asked for, or as have ever been
/// let in again.
#[test]
fn the_floor_holds() {
    walks(|_, _, _, after| {
        let pool = &after.pool;
        let members = pool.members();
        let there = members.iter().filter(|it| {
            it.drained().is_none()
                && !matches!(it.face(), Face::Out(giveover_core::pool::Why::Returning))
        });
        let could = there.count();
        let not_out = members.iter().filter(|it| it.drained().is_none() && !it.face().is_out());
        let wanted = usize::from(pool.settings().min_members).min(could);
        assert!(not_out.count() >= wanted, "{:?}", pool.members());
    });
}

/// Somebody works, or it is said that nobody does.
#[test]
fn nobody_working_is_always_told() {
    walks(|_, _, _, after| {
        let works = after.pool.members().iter().any(|it| it.face().takes_work());
        assert_eq!(works, after.pool.none_left().is_none(), "{:?}", after.pool.members());
    });
}

#[test]
fn the_epoch_does_not_matter() {
    for seed in 0..100 {
        let told = |shift: u64| {
            let mut random = Random::new(seed);
            let mut walk = Walk::new(&mut random);
            let mut moved = shifted(&walk, shift, seed);
            let mut told = Vec::new();
            for _ in 0..200 {
                let event = walk.draw(&mut random);
                walk.feed(event);
                let event = match event {
                    Event::Drain { member, until, cut_at } => {
                        let later = |it: Instant| at(it.as_millis() + shift);
                        Event::Drain { member, until: until.map(later), cut_at: cut_at.map(later) }
                    }
                    other => other,
                };
                let actions = moved.handle(event, at(walk.now + shift));
                told.push(format!("{actions:?}"));
            }
            told
        };
        assert_eq!(told(0), told(1 << 40), "seed {seed}");
    }
}

/// The same pool, made later.
fn shifted(walk: &Walk, shift: u64, seed: u64) -> Pool {
    let mut random = Random::new(seed);
    let members = 1 + random.below(6) as u8;
    let _ = settings(&mut random, members);
    let setups: Vec<Setup> = (0..members)
        .map(|_| Setup {
            backup: random.percent(30),
            start: random.pick(&[Start::Unknown, Start::In, Start::Out]),
            drain: None,
            elsewhere: random.percent(10),
        })
        .collect();
    let mut pool = Pool::new(*walk.pool.settings(), &setups, at(EPOCH + shift)).expect("possible");
    let _ = pool.handle(Event::Begin, at(EPOCH + shift));
    pool
}

#[test]
fn time_going_back_is_clamped() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut walk = Walk::new(&mut random);
        for _ in 0..200 {
            let event = walk.draw(&mut random);
            let mut back = walk.clone();
            walk.feed(event);
            let latest = back.pool.latest();
            let earlier = latest.as_millis().saturating_sub(1 + random.below(5_000));
            let clamped = back.clone().pool.handle(event, latest);
            let told = back.pool.handle(event, at(earlier));
            assert_eq!(told, clamped);
            assert_eq!(back.pool.latest(), latest);
        }
    }
}
