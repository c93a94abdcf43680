//! The laws every machine obeys, as properties of random walks over `core::peer`; and walks of
//! whole worlds under random faults, which must never show two holders and must settle.

use giveover_core::node::{Node, Nodes};
use giveover_core::peer::{
    Action, Actions, Ahead, Ballot, Beat, Digests, Durable, Event, Limits, Look, Members, Message,
    Mismatch, Peer, Quorum, Refusal, Role, Rules, Taken, Ticket,
};
use giveover_core::time::Instant;

use crate::peer_world::{A, B, BEGIN, C, Site, World, members, span};
use crate::random::Random;
use crate::script::ms;

type Three = Peer<3>;

/// So many events a law sees; `GIVEOVER_WALK` multiplies it.
const EVENTS: u64 = 100_000;

fn times() -> u64 {
    std::env::var("GIVEOVER_WALK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

fn rules(random: &mut Random) -> Rules {
    let quorum = random.pick(&[
        Quorum::Majority,
        Quorum::Fence,
        Quorum::Stay,
        Quorum::Trusted,
        Quorum::Etcd,
    ]);
    let count = match quorum {
        Quorum::Fence | Quorum::Stay => 2,
        Quorum::Majority | Quorum::Trusted | Quorum::Etcd => 2 + random.below(2) as u8,
    };
    let witnesses = u8::from(quorum == Quorum::Majority && random.percent(30));
    let members = Members {
        me: Node(random.below(u64::from(count)) as u8),
        trusted: random.percent(50),
        priority: random.below(3) as u8,
        observe: random.percent(5),
        ..members(count, witnesses, quorum)
    };
    Rules::new(Limits::DEFAULT, members, 3).expect("rules that work")
}

/// Anything that could be told at `now`, mostly sensible: answers know the newest ticket.
fn draw(random: &mut Random, now: u64, newest: u32) -> Event {
    let ticket = Ticket(newest.saturating_sub(random.below(2) as u32 * random.below(4) as u32));
    match random.below(24) {
        20 | 21 => {
            let to = random.pick(&[None, None, Some(A), Some(B)]);
            Event::Vacancy { vacant: random.percent(70), to }
        }
        22 => Event::Won { ticket, term: random.below(12), since: since(random, now) },
        23 => {
            let (term, since) = (random.below(12), since(random, now));
            let others = [
                Event::NotWon { ticket },
                Event::Kept { term, since },
                Event::Kept { term, since },
                Event::Ousted { term },
            ];
            random.pick(&others)
        }
        0..=5 => Event::Timeout,
        6..=10 => {
            let from = Node(random.below(5) as u8);
            Event::Frame { from, message: message(random, now) }
        }
        11 | 12 => {
            let answer = |random: &mut Random| random.pick(&[None, Some(true), Some(false)]);
            let (own, trusted) = (answer(random), answer(random));
            let of = |random: &mut Random| Nodes::of_bits(random.below(8) as u32);
            let look = Look { own, trusted, passed: of(random), failed: of(random) };
            Event::Looked { ticket, look }
        }
        13 => Event::Taken {
            ticket,
            taken: random.pick(&[Taken::Up, Taken::Duplicate, Taken::Failed]),
        },
        14 | 15 => Event::Released { ticket, ok: random.percent(80) },
        16 => Event::Fenced { ticket, ok: random.percent(50) },
        17 => random.pick(&[Event::AddressLost, Event::StoreFailed, Event::Begin]),
        18 => Event::Recovery(random.percent(50)),
        _ => match random.below(40) {
            0 => Event::Stop,
            1..=4 => Event::Force,
            _ => Event::GiveOver { to: random.pick(&[None, Some(A), Some(B), Some(C)]) },
        },
    }
}

/// A moment ago; seldom one to come, which no store can mean.
fn since(random: &mut Random, now: u64) -> Instant {
    let early = random.below(6_000);
    ms(if random.percent(5) { now + early } else { now.saturating_sub(early) })
}

fn message(random: &mut Random, now: u64) -> Message {
    let term = random.below(6);
    let sent = ms(now.saturating_sub(random.below(12_000)));
    let ballot = Ballot { term, node: Node(random.below(4) as u8) };
    match random.below(10) {
        0..=3 => Message::Beat(Beat {
            term,
            role: random.pick(&[Role::Init, Role::Standby, Role::Active, Role::Down]),
            sent,
            age_ms: random.below(50_000),
            priority: random.below(3) as u8,
            last: random.percent(10),
            holds: random.percent(30),
            votes: random.below(4) as u8,
            digests: Digests { addresses: u32::from(random.percent(2)), ..Digests::default() },
        }),
        4 => Message::Answer { term, echo: sent },
        5 => Message::Stand {
            term,
            age_ms: random.below(50_000),
            priority: random.below(3) as u8,
            last: random.percent(10),
        },
        6 | 7 => Message::Vote { term },
        8 => {
            let refusals =
                [Refusal::Active, Refusal::Hears(B), Refusal::Young, Refusal::Voted, Refusal::Old];
            Message::Refuse { term, known: random.below(6), why: random.pick(&refusals) }
        }
        _ => match random.below(8) {
            0 => Message::Mismatched { why: Mismatch::Members, age_ms: random.below(50_000) },
            _ => {
                let vote = random.percent(50).then_some(Ahead { ballot, echo: sent });
                Message::Leave { term, vote, down: random.percent(50) }
            }
        },
    }
}

struct Seen<'a> {
    /// The machine's first event.
    first: bool,
    before: &'a Three,
    event: Event,
    now: Instant,
    actions: &'a Actions,
    after: &'a Three,
}

/// Walks until enough events were fed; `watch` sees each, and a twin of its own making.
fn walk(name: &str, back: bool, mut watch: impl FnMut(&Seen<'_>, &mut Three)) {
    let (mut fed, mut seed) = (0, 0);
    while fed < EVENTS * times() {
        let mut random = Random::new(seed);
        let rules = rules(&mut random);
        let mut peer = Three::new(rules, Digests::default(), Durable::default(), ms(BEGIN));
        let mut twin = peer.clone();
        let (mut now, mut latest, mut newest) = (BEGIN, BEGIN, 0);
        for step in 0..400 {
            let mut event = draw(&mut random, now, newest);
            if step == 0 {
                event = Event::Begin;
            }
            match random.below(10) {
                0..=3 => now += random.below(300),
                4..=7 => now = peer.poll_timeout().map_or(now, |due| now.max(due.as_millis())),
                8 => now += random.below(4_000),
                _ if back => now = now.saturating_sub(random.below(2_000)),
                _ => now += random.below(30_000) * u64::from(random.percent(20)),
            }
            latest = latest.max(now);
            let before = peer.clone();
            let actions = peer.handle(event, ms(now));
            fed += 1;
            for action in &actions {
                if let Action::Look { ticket }
                | Action::Take { ticket, .. }
                | Action::Release { ticket, .. }
                | Action::Claim { ticket }
                | Action::Fence { ticket, .. } = action
                {
                    newest = ticket.0;
                }
            }
            let seen = Seen {
                first: step == 0,
                before: &before,
                event,
                now: ms(now),
                actions: &actions,
                after: &peer,
            };
            watch(&seen, &mut twin);
        }
        seed += 1;
    }
    println!("{name}: {fed} events in {seed} walks");
}

#[test]
fn law_1_a_deadline_is_never_stale() {
    walk("law 1", false, |seen, _| {
        let served = seen.before.poll_timeout().is_some_and(|due| due <= seen.now);
        if seen.event == Event::Timeout && served {
            let next = seen.after.poll_timeout();
            assert!(next.is_none_or(|next| next > seen.now), "due again: {:#?}", seen.after);
        }
    });
}

#[test]
fn law_2_early_is_nothing() {
    walk("law 2", false, |seen, _| {
        let early = seen.before.poll_timeout().is_none_or(|due| due > seen.now);
        if seen.event == Event::Timeout && early {
            assert!(
                seen.actions.as_slice().is_empty(),
                "{:?} {:?} {:?} {:?}",
                seen.actions,
                seen.now,
                seen.before.poll_timeout(),
                seen.before
            );
            // Nothing but the time it was told is different.
            let due = seen.before.poll_timeout();
            assert_eq!(seen.after.poll_timeout(), due, "{:?}", seen.before);
            assert_eq!(seen.after.durable(), seen.before.durable());
            assert_eq!(seen.after.role(), seen.before.role());
        }
    });
}

#[test]
fn law_3_a_late_answer_is_nothing() {
    walk("law 3", false, |seen, _| {
        // One that nobody asked for, at the same moment, after everything that was due.
        let mut other = seen.after.clone();
        let ticket = Ticket(u32::MAX);
        for event in [
            Event::Looked { ticket, look: Look { own: Some(false), ..Look::default() } },
            Event::Taken { ticket, taken: Taken::Failed },
            Event::Released { ticket, ok: true },
            Event::Fenced { ticket, ok: true },
            Event::NotWon { ticket },
        ] {
            let mut timed = seen.after.clone();
            let expected = timed.handle(Event::Recovery(false), seen.now);
            let actions = other.handle(event, seen.now);
            assert!(actions.as_slice().len() <= expected.as_slice().len(), "{actions:?}");
        }
        assert_eq!(other.durable(), seen.after.durable());
    });
}

#[test]
fn law_4_actions_are_bounded() {
    let mut most = 0;
    walk("law 4", false, |seen, _| most = most.max(seen.actions.as_slice().len()));
    assert!(most < Actions::MAX, "{most}");
    println!("law 4: at most {most} actions");
}

#[test]
fn law_8_the_epoch_does_not_matter() {
    let by = 86_400_000;
    let moved = |at: Instant| ms(at.as_millis() + by);
    let mut begun = false;
    walk("law 8", false, |seen, twin| {
        if seen.first {
            *twin = Three::new(
                *seen.before.rules(),
                Digests::default(),
                Durable::default(),
                moved(ms(BEGIN)),
            );
            begun = true;
        }
        let event = match seen.event {
            Event::Frame { from, message } => Event::Frame { from, message: later(message, by) },
            Event::Won { ticket, term, since } => Event::Won { ticket, term, since: moved(since) },
            Event::Kept { term, since } => Event::Kept { term, since: moved(since) },
            other => other,
        };
        let actions = twin.handle(event, moved(seen.now));
        assert_eq!(actions.as_slice().len(), seen.actions.as_slice().len());
        assert_eq!(twin.poll_timeout(), seen.after.poll_timeout().map(moved));
        assert_eq!(twin.durable(), seen.after.durable());
        assert_eq!(twin.role(), seen.after.role());
    });
    assert!(begun);
}

/// A message of a sender whose clock has another epoch.
fn later(message: Message, by: u64) -> Message {
    let moved = |at: Instant| ms(at.as_millis() + by);
    match message {
        Message::Beat(beat) => Message::Beat(Beat { sent: moved(beat.sent), ..beat }),
        Message::Answer { term, echo } => Message::Answer { term, echo: moved(echo) },
        Message::Leave { term, vote: Some(ahead), down } => {
            let ahead = Ahead { echo: moved(ahead.echo), ..ahead };
            Message::Leave { term, vote: Some(ahead), down }
        }
        other => other,
    }
}

#[test]
fn law_9_time_going_back_is_clamped() {
    let mut latest = ms(0);
    walk("law 9", true, |seen, twin| {
        if seen.first {
            *twin = seen.before.clone();
            latest = ms(BEGIN);
        }
        latest = latest.max(seen.now);
        let actions = twin.handle(seen.event, latest);
        assert_eq!(&actions, seen.actions);
        assert_eq!(twin.poll_timeout(), seen.after.poll_timeout());
        assert_eq!(twin.durable(), seen.after.durable());
    });
}

/// What the model checker relies on: a machine moved to another epoch goes on as it would have.
#[test]
fn a_rebased_machine_decides_the_same() {
    walk("rebase", false, |seen, _| {
        let standby = |node| {
            let member = seen.after.member(Node(node)).filter(|member| member.heard().is_some());
            member.is_some_and(|member| matches!(member.role(), Role::Init | Role::Standby))
        };
        if (0..3).any(standby) {
            return; // of two that have been there for longer than the horizon, none is older
        }
        let horizon = seen.after.rules().horizon_ms();
        let by = seen.now.as_millis() - horizon;
        let (mut plain, mut moved) = (seen.after.clone(), seen.after.rebase(seen.now));
        for _ in 0..4 {
            let Some(due) = plain.poll_timeout() else { return };
            let due = due.max(seen.now);
            let there = ms(due.as_millis() - by);
            assert_eq!(moved.poll_timeout().map(|at| at.max(ms(horizon))), Some(there));
            let one = plain.handle(Event::Timeout, due);
            let other = moved.handle(Event::Timeout, there);
            assert_eq!(one.as_slice().len(), other.as_slice().len(), "{one:?}\n{other:?}");
            assert_eq!(plain.role(), moved.role());
        }
    });
}

/// A world under faults: who runs, who hears whom, what is lost, late and twice.
fn shake(world: &mut World, random: &mut Random, count: u8) {
    let node = Node(random.below(u64::from(count)) as u8);
    let other = Node(random.below(u64::from(count)) as u8);
    match random.below(12) {
        0 => world.crash(node),
        1 => world.power_off(node),
        2..=4 if world.site(node).peer.is_none() => world.start(node),
        2 => world.site(node).stopped = world.site(node).peer.is_some(),
        3 | 4 => world.resume(node),
        5 if node != other => world.cut.push((node, other)),
        6 if node != other => world.cut_both(node, other),
        7 => world.cut.clear(),
        8 => world.site(node).look.own = Some(random.percent(70)),
        9 => world.tell(node, Event::GiveOver { to: None }),
        10 => world.tell(node, Event::Stop),
        _ => world.latency = 1 + random.below(400),
    }
    let ended = world.site(node).quit;
    if ended {
        world.crash(node);
    }
}

fn heal(world: &mut World, count: u8) {
    world.cut.clear();
    world.loss = 0;
    world.latency = 5;
    for node in (0..count).map(Node) {
        world.site(node).look = Look { own: Some(true), ..Look::default() };
        if world.site(node).quit {
            world.crash(node);
        }
        if world.site(node).peer.is_none() {
            world.start(node);
        }
        world.resume(node);
    }
    world.run(120_000);
}

fn schedules(name: &str, members: Members, seeds: u64) {
    let count = members.count;
    for seed in 0..seeds * times() {
        let mut random = Random::new(seed);
        let mut world = World::started(members);
        world.random = Random::new(seed ^ 0xABCD);
        world.loss = random.pick(&[0, 0, 5, 20]);
        world.run(random.below(30_000));
        for _ in 0..20 {
            shake(&mut world, &mut random, count);
            world.run(random.below(12_000));
        }
        assert_eq!(world.overlap, 0, "{name}, seed {seed}: two held at once");
        heal(&mut world, count);
        // One that was fenced is off.
        let active = |site: &&Site| site.peer.as_ref().is_some_and(|p| p.role() == Role::Active);
        let actives = world.sites.iter().filter(active).count();
        assert_eq!(
            (actives, world.holders().len()),
            (1, 1),
            "{name}, seed {seed}: not settled: {}",
            world.told()
        );
        assert_eq!(world.overlap, 0, "{name}, seed {seed}: two held while it settled");
    }
    println!("{name}: {} schedules", seeds * times());
}

/// D1 and D6: never two, and exactly one once everything is well again.
#[test]
fn worlds_under_faults_never_have_two_holders_and_settle() {
    schedules("majority of three", members(3, 0, Quorum::Majority), 60);
    schedules("majority of five", members(5, 0, Quorum::Majority), 20);
    schedules("two and a witness", members(3, 1, Quorum::Majority), 40);
    schedules("fence", members(2, 0, Quorum::Fence), 40);
    schedules("stay", members(2, 0, Quorum::Stay), 40);
}

/// Under `trusted` two may hold; but not for ever, and not once it is well again.
#[test]
fn worlds_under_trusted_settle() {
    let members = members(2, 0, Quorum::Trusted);
    for seed in 0..40 * times() {
        let mut random = Random::new(seed);
        let mut world = World::started(members);
        world.limits.stand_step = span(2_000);
        for _ in 0..20 {
            shake(&mut world, &mut random, 2);
            world.run(random.below(12_000));
        }
        heal(&mut world, 2);
        assert_eq!(world.holders().len(), 1, "seed {seed}: {}", world.told());
    }
}
