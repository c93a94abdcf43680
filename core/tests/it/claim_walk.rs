//! Nodes that decide by a store, under random faults of everything: nodes that are frozen, killed
//! and cut off, clocks that run at different rates, a store that answers late or not at all, loses
//! leases before their time, and is emptied. Never two holders; and once all is well, one.

use std::collections::BTreeMap;

use giveover_core::claim::{self, Answer, Claim, Holder, Lease, Mark, Request, State};
use giveover_core::node::Node;
use giveover_core::peer::{
    Action, Digests, Durable, Event, Limits, Look, Members, Message, Peer, Quorum, Role, Rules,
    Taken, Ticket, To,
};
use giveover_core::time::{Instant, Span};

use crate::claim::LIMITS;
use crate::peer_world::members;
use crate::random::Random;
use crate::script::ms;

type Three = Peer<3>;

/// The grain of time.
const TICK: u64 = 20;
const COUNT: u8 = 3;

/// Worlds begin then.
const BEGIN: u64 = 1_000_000;

struct Site {
    machines: Option<(Three, Claim)>,
    disk: Durable,
    /// Its clock runs at so many thousandths.
    rate: u64,
    /// Until when the kernel has the address, on its own clock.
    address: Option<u64>,
    frozen_until: u64,
    dead_until: u64,
    /// Cut off from everything; from the other nodes only.
    cut_until: u64,
    mute_until: u64,
    inbox: Vec<Event>,
    answers: Vec<claim::Event>,
}

struct Store {
    id: u64,
    revision: u64,
    leases: BTreeMap<i64, u64>,
    holder: Option<Holder>,
    mark: Mark,
    next_lease: i64,
    down_until: u64,
}

enum Way {
    Frame(Node, Message),
    Ask(claim::Ticket, Request),
    Answer(claim::Ticket, Answer),
    Changed,
}

struct World {
    now: u64,
    sites: Vec<Site>,
    store: Store,
    /// What is under way: when it arrives, of or for which node.
    way: Vec<(u64, Node, Way)>,
    random: Random,
    limits: claim::Limits,
    /// Faults of a hundred thousand ticks.
    faults: u64,
    two: u64,
    changes: u64,
    holder: Option<Node>,
}

impl Store {
    fn state(&self) -> State {
        State { store: self.id, revision: self.revision, holder: self.holder, mark: self.mark }
    }

    fn take(&mut self, request: Request, ttl: Span, now: u64) -> Answer {
        match request {
            Request::Grant => {
                self.next_lease += 1;
                self.leases.insert(self.next_lease, now + u64::from(ttl.as_millis()));
                Answer::Granted { lease: Lease(self.next_lease), ttl }
            }
            Request::Claim { lease, mark } => {
                let there = self.leases.contains_key(&lease.0);
                if !there || self.holder.is_some() || self.mark.revision != mark {
                    return if there { Answer::State(self.state()) } else { Answer::Failed };
                }
                self.revision += 1;
                let revision = self.revision;
                self.holder = Some(Holder { lease, revision });
                self.mark = Mark { revision, let_go: false, to: None };
                Answer::Claimed { revision }
            }
            Request::Keep { lease } => match self.leases.get_mut(&lease.0) {
                Some(end) => {
                    *end = now + u64::from(ttl.as_millis());
                    Answer::Kept { ttl }
                }
                None => Answer::Kept { ttl: Span::ZERO },
            },
            Request::Read => Answer::State(self.state()),
            Request::LetGo { lease, to } => {
                if self.holder.is_none_or(|holder| holder.lease != lease) {
                    return Answer::State(self.state());
                }
                self.revision += 1;
                self.holder = None;
                self.mark = Mark { revision: self.revision, let_go: true, to };
                Answer::LetGo
            }
        }
    }

    /// Leases that are over are gone, and who holds by them.
    fn lapse(&mut self, over: impl Fn(i64, u64) -> bool) -> bool {
        self.leases.retain(|lease, end| !over(*lease, *end));
        let lost = self.holder.filter(|holder| !self.leases.contains_key(&holder.lease.0));
        if lost.is_some() {
            self.revision += 1;
            self.holder = None;
        }
        lost.is_some()
    }
}

impl World {
    fn new(seed: u64, limits: claim::Limits, faults: u64) -> Self {
        let mut random = Random::new(seed);
        let site = |random: &mut Random| Site {
            machines: None,
            disk: Durable::default(),
            rate: 950 + random.below(101),
            address: None,
            frozen_until: 0,
            dead_until: random.below(3_000),
            cut_until: 0,
            mute_until: 0,
            inbox: Vec::new(),
            answers: Vec::new(),
        };
        let sites = (0..COUNT).map(|_| site(&mut random)).collect();
        let store = Store {
            id: 1,
            revision: 1,
            leases: BTreeMap::new(),
            holder: None,
            mark: Mark::default(),
            next_lease: 0,
            down_until: 0,
        };
        let way = Vec::new();
        Self { now: 0, sites, store, way, random, limits, faults, two: 0, changes: 0, holder: None }
    }

    fn local(&self, node: Node) -> u64 {
        BEGIN + self.now * self.sites[usize::from(node.0)].rate / 1000
    }

    fn site(&mut self, node: Node) -> &mut Site {
        &mut self.sites[usize::from(node.0)]
    }

    fn start(&mut self, node: Node) {
        let now = ms(self.local(node));
        let limits = Limits { lease: self.limits.hold(), ..Limits::DEFAULT };
        let members = Members { me: node, ..members(COUNT, 0, Quorum::Etcd) };
        let rules = Rules::new(limits, members, 3).expect("rules that work");
        let claim = Claim::new(self.limits, now);
        let site = self.site(node);
        let peer = Peer::new(rules, Digests::default(), site.disk, now);
        site.machines = Some((peer, claim));
        self.tell(node, Event::Begin);
    }

    fn tell(&mut self, node: Node, event: Event) {
        let now = self.local(node);
        let mut events = vec![event];
        while !events.is_empty() {
            let event = events.remove(0);
            let Some((peer, _)) = &mut self.site(node).machines else { return };
            let actions = peer.handle(event, ms(now));
            for action in &actions {
                match *action {
                    Action::Store(durable) => self.site(node).disk = durable,
                    Action::Take { ticket, until } => {
                        self.site(node).address = Some(until.as_millis());
                        events.push(Event::Taken { ticket, taken: Taken::Up });
                    }
                    Action::Renew { until } => {
                        let address = &mut self.site(node).address;
                        *address = address.map(|end| end.max(until.as_millis()));
                    }
                    Action::Release { ticket, .. } => {
                        self.site(node).address = None;
                        events.push(Event::Released { ticket, ok: true });
                    }
                    Action::Look { ticket } => {
                        let look = Look { own: Some(true), ..Look::default() };
                        events.push(Event::Looked { ticket, look });
                    }
                    Action::Send { to: To::All, message } => {
                        let others = (0..COUNT).map(Node).filter(|to| *to != node);
                        others.for_each(|to| self.send(to, Way::Frame(node, message)));
                    }
                    Action::Send { to: To::One(to), message } => {
                        self.send(to, Way::Frame(node, message));
                    }
                    Action::Claim { ticket: Ticket(by) } => {
                        self.claim(node, claim::Event::Wanted { by }, &mut events);
                    }
                    Action::LetGo { to } => {
                        self.claim(node, claim::Event::LetGo { to }, &mut events);
                    }
                    Action::Gone | Action::Quit { .. } => panic!("nobody was told to stop"),
                    _ => {}
                }
            }
        }
    }

    fn claim(&mut self, node: Node, event: claim::Event, events: &mut Vec<Event>) {
        let now = self.local(node);
        let Some((_, claim)) = &mut self.site(node).machines else { return };
        let actions = claim.handle(event, ms(now));
        for action in &actions {
            match *action {
                claim::Action::Ask { ticket, request, .. } => {
                    if self.site(node).cut_until <= self.now {
                        self.send(node, Way::Ask(ticket, request));
                    }
                }
                claim::Action::Vacancy { vacant, to } => events.push(Event::Vacancy { vacant, to }),
                claim::Action::Won { by, term, since } => {
                    events.push(Event::Won { ticket: Ticket(by), term, since });
                }
                claim::Action::NotWon { by } => events.push(Event::NotWon { ticket: Ticket(by) }),
                claim::Action::Kept { term, since } => events.push(Event::Kept { term, since }),
                claim::Action::Lost { term } => events.push(Event::Ousted { term }),
            }
        }
    }

    fn told_by_store(&mut self, node: Node, event: claim::Event) {
        let mut events = Vec::new();
        self.claim(node, event, &mut events);
        events.into_iter().for_each(|event| self.tell(node, event));
    }

    fn send(&mut self, node: Node, way: Way) {
        let lost = self.faults > 0 && self.random.percent(5);
        let slow = self.faults > 0 && self.random.percent(5);
        let takes = if slow { self.random.below(4_000) } else { self.random.below(40) };
        if !lost {
            self.way.push((self.now + TICK + takes, node, way));
        }
    }

    fn changed(&mut self) {
        (0..COUNT).map(Node).for_each(|node| self.send(node, Way::Changed));
    }

    fn arrive(&mut self) {
        let now = self.now;
        let (arrived, rest) = std::mem::take(&mut self.way).into_iter().partition(|it| it.0 <= now);
        self.way = rest;
        let arrived: Vec<(u64, Node, Way)> = arrived;
        for (_, node, way) in arrived {
            let cut = self.site(node).cut_until > now;
            match way {
                Way::Frame(from, message) if self.hears(node) && self.hears(from) => {
                    self.site(node).inbox.push(Event::Frame { from, message });
                }
                Way::Answer(ticket, answer) if !cut => {
                    self.site(node).answers.push(claim::Event::Answered { ticket, answer });
                }
                Way::Changed if !cut => self.site(node).answers.push(claim::Event::Changed),
                Way::Ask(ticket, request) if self.store.down_until <= now => {
                    let before = self.store.revision;
                    let answer = self.store.take(request, self.limits.ttl, now);
                    self.send(node, Way::Answer(ticket, answer));
                    if self.store.revision != before {
                        self.changed();
                    }
                }
                // Cut off, or a store that is down: a question waits there, and is lost with it.
                Way::Ask(..) | Way::Frame(..) | Way::Answer(..) | Way::Changed => {}
            }
        }
    }

    fn hears(&self, node: Node) -> bool {
        let site = &self.sites[usize::from(node.0)];
        site.cut_until <= self.now && site.mute_until <= self.now
    }

    /// Something breaks, now and then.
    fn break_something(&mut self) {
        if self.random.below(100_000) >= self.faults {
            return;
        }
        let node = Node(self.random.below(u64::from(COUNT)) as u8);
        let until = self.now + self.random.below(25_000);
        match self.random.below(9) {
            8 => self.site(node).mute_until = until,
            0 | 1 => self.site(node).frozen_until = until,
            2 => {
                // The kernel keeps the address; what was under way is lost.
                let site = self.site(node);
                site.machines = None;
                site.dead_until = until;
                site.inbox.clear();
                site.answers.clear();
                self.way.retain(|(_, of, way)| *of != node || !matches!(way, Way::Answer(..)));
            }
            3 => self.site(node).cut_until = until,
            4 => self.store.down_until = until,
            5 | 6 => {
                // A lease is lost before its time; or somebody deletes what is there.
                if self.store.lapse(|_, _| true) {
                    self.changed();
                }
            }
            _ => {
                // It is restored from an earlier day, on which somebody had let go.
                let revision = self.store.revision;
                self.store.id += 1;
                self.store.holder = None;
                self.store.leases.clear();
                self.store.mark = Mark { revision, let_go: true, to: None };
                self.changed();
            }
        }
    }

    fn step(&mut self) {
        self.now += TICK;
        if self.faults > 0 {
            self.break_something();
        }
        let now = self.now;
        if self.store.down_until <= now && self.store.lapse(|_, end| end <= now) {
            self.changed();
        }
        self.arrive();
        for node in (0..COUNT).map(Node) {
            let local = ms(self.local(node));
            let site = self.site(node);
            site.address = site.address.filter(|end| *end > local.as_millis());
            if site.frozen_until > now || site.dead_until > now {
                continue;
            }
            if site.machines.is_none() {
                self.start(node);
            }
            let site = self.site(node);
            let (inbox, answers) =
                (std::mem::take(&mut site.inbox), std::mem::take(&mut site.answers));
            answers.into_iter().for_each(|event| self.told_by_store(node, event));
            inbox.into_iter().for_each(|event| self.tell(node, event));
            let due = |at: Option<Instant>| at.is_some_and(|at| at <= local);
            let (of_claim, of_peer) = match &self.site(node).machines {
                Some((peer, claim)) => (due(claim.poll_timeout()), due(peer.poll_timeout())),
                None => (false, false),
            };
            if of_claim {
                self.told_by_store(node, claim::Event::Timeout);
            }
            if of_peer {
                self.tell(node, Event::Timeout);
            }
        }
        let holders: Vec<Node> =
            (0..COUNT).map(Node).filter(|it| self.site(*it).address.is_some()).collect();
        self.two += u64::from(holders.len() > 1);
        if let [one] = holders[..] {
            self.changes += u64::from(self.holder.is_some_and(|before| before != one));
            self.holder = Some(one);
        }
    }

    fn run(&mut self, length: u64) {
        let end = self.now + length;
        while self.now < end {
            self.step();
        }
    }

    fn roles(&self) -> Vec<Option<Role>> {
        let role = |site: &Site| site.machines.as_ref().map(|(peer, _)| peer.role());
        self.sites.iter().map(role).collect()
    }

    fn active(&self) -> Option<Node> {
        let active: Vec<u8> = (0..)
            .zip(self.roles())
            .filter(|(_, role)| *role == Some(Role::Active))
            .map(|it| it.0)
            .collect();
        if let [one] = active[..] { Some(Node(one)) } else { None }
    }
}

fn times() -> u64 {
    std::env::var("GIVEOVER_WALK").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[test]
fn never_two_holders_and_one_once_all_is_well() {
    let mut changes = 0;
    for seed in 0..16 * times() {
        let mut world = World::new(seed, LIMITS, 150);
        world.run(600_000);
        assert_eq!(world.two, 0, "seed {seed}: two holders for {} ticks", world.two);
        changes += world.changes;
        world.faults = 0;
        world.run(90_000);
        assert_eq!(world.two, 0, "seed {seed}");
        let active = world.active();
        assert!(active.is_some(), "seed {seed}: {:?} {:?}", world.roles(), world.store.state());
        assert_eq!(active, world.holder, "seed {seed}");
    }
    assert!(changes > 40, "{changes}: it moved");
}

/// A holder that the others do not hear is cut off from the store, and its lease is lost at that
/// moment: it holds on for as long as its renewal is good for, and who finds it gone waits for longer.
/// Without that wait there are two.
#[test]
fn the_wait_after_a_holder_has_vanished_is_needed() {
    for (wait, expected) in [(LIMITS.wait, false), (Span::ZERO, true)] {
        let mut world = World::new(11, claim::Limits { wait, ..LIMITS }, 0);
        world.run(40_000);
        let first = world.active().expect("one");
        let end = world.now + 60_000;
        world.site(first).mute_until = end;
        world.run(15_000);
        assert_eq!(world.active(), Some(first), "the store has it");
        world.site(first).cut_until = end;
        assert!(world.store.lapse(|_, _| true));
        world.changed();
        world.run(30_000);
        assert_eq!(world.two > 0, expected, "wait {wait:?}: two for {} ticks", world.two);
        assert!(world.active().is_some_and(|active| active != first));
    }
}

/// The store is away: for a moment nothing happens; for longer the active is none any more before
/// its lease has ended, and nobody else is either.
#[test]
fn a_store_that_is_away_is_missed_only_when_it_stays_away() {
    let mut world = World::new(7, LIMITS, 0);
    world.run(40_000);
    let first = world.active().expect("one");
    world.store.down_until = world.now + 1_000;
    world.run(20_000);
    assert_eq!((world.active(), world.changes), (Some(first), 0), "one second is nothing");

    let lease_end = world.now + u64::from(LIMITS.ttl.as_millis());
    world.store.down_until = world.now + 60_000;
    while world.active().is_some() {
        world.step();
        assert!(world.now < lease_end, "it holds longer than its lease");
    }
    assert!(world.sites.iter().all(|site| site.address.is_none()));
    world.run(world.store.down_until - world.now);
    assert_eq!(world.active(), None, "nobody takes what nobody can give");
    world.run(60_000);
    assert!(world.active().is_some());
    assert_eq!(world.two, 0);
}

/// A switch between nodes waits for nobody: what was let go may be had at once.
#[test]
fn what_is_handed_over_is_taken_at_once() {
    let mut world = World::new(3, LIMITS, 0);
    world.run(40_000);
    let first = world.active().expect("one");
    let to = Node((first.0 + 1) % COUNT);
    let term = world.store.mark.revision;
    world.tell(first, Event::GiveOver { to: Some(to) });
    world.run(1_000);
    assert_eq!(world.active(), Some(to), "{:?}", world.roles());
    assert!(world.store.mark.revision > term, "the fencing token has grown");
}

/// A store whose revision is below a term that was known gives no token that grows: it is not used.
#[test]
fn a_term_never_goes_back() {
    let mut world = World::new(5, LIMITS, 0);
    world.run(40_000);
    assert!(world.active().is_some());
    world.store.id = 2;
    world.store.revision = 0;
    world.store.mark = Mark::default();
    world.store.holder = None;
    world.store.leases.clear();
    world.sites.iter_mut().for_each(|site| site.disk.term = 1_000_000);
    for node in (0..COUNT).map(Node) {
        let site = world.site(node);
        (site.machines, site.address) = (None, None);
    }
    world.run(60_000);
    assert_eq!(world.active(), None);
    world.store.revision = 2_000_000;
    world.run(60_000);
    assert!(world.active().is_some(), "{:?}", world.roles());
}
