//! A host in virtual time: the monitors of the daemon and the machine of the board, and around them
//! services, a disk and clocks that go wrong as a scenario says; and nodes, of which it may be one,
//! with a network between them.
//!
//! Each part says when it next wants to be heard; time jumps to the earliest of them. What is fed to
//! a monitor is what the daemon feeds it, in the same order: events, what they lead to into the
//! journal, then carried out. Chance comes from a seed alone, so that a seed and a version play the
//! same world on any machine.

mod act;
mod board;
mod clock;
mod disk;
mod examples;
mod faults;
mod host;
mod many;
mod moving;
mod network;
mod nodes;
mod oracle;
mod outcome;
mod pools;
mod random;
mod render;
mod service;

pub use self::examples::{EXAMPLES, Example};
pub use self::many::{Many, Run, RunFigure, many};
pub use self::outcome::{Difference, Figures, GroupFigures, Outcome, PoolFigures, PoolTold, Told};
pub use self::random::Random;
pub use self::render::{exit_status, json_lines, many_json, many_text, text};

use std::sync::Arc;

use giveover_core::board::Start;
use giveover_core::host::{Budget, LocalFaultRule};
use giveover_core::monitor::{Event, Holder, Status};
use giveover_core::record::{Body, Entry};
use giveover_core::time::{Instant, Span};

use self::board::BoardPart;
pub use self::board::device::{Device, Happened};
use self::clock::Clock;
use self::disk::Disk;
use self::faults::Faults;
use self::host::Host;
use self::moving::{Moving, Seat};
use self::nodes::Cluster;
use self::oracle::Oracle;
use self::pools::PoolPart;
use self::service::Service;
use super::timeline::{Before, Lane, Line, PoolLane, Timeline, role_word};
use crate::config::world::{self, World};

/// How a world is to be played.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What chance is drawn from; the file's own if `None`.
    pub seed: Option<u64>,
    /// Keep what is needed to draw it and to tell it step by step.
    pub record: bool,
    /// Look at every invariant after every step, and end with the first that does not hold.
    pub watch: bool,
}

/// Plays `world` from its beginning to its end.
#[must_use]
pub fn play(world: &World, options: Options) -> Outcome {
    let mut play = Play::new(world, options, None);
    play.run();
    play.finish()
}

/// Plays `world` with `board` as its board, which has never had power; without a `[board]` in the world
/// nothing is done with it.
#[must_use]
pub fn play_on(world: &World, options: Options, board: &mut dyn Device) -> Outcome {
    let mut play = Play::new(world, options, Some(board));
    play.run();
    play.finish()
}

/// So many events at one instant mean that time stands still.
const MOST_AT_ONCE: u32 = 100_000;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Expect,
    Fault,
    Host,
    Board,
    Nodes,
    Budget,
    Trusted,
    Service(usize),
    Pool(usize),
}

/// A world while it is played.
struct Play<'w> {
    world: &'w World,
    now: u64,
    random: Random,
    clock: Clock,
    /// A monitor each: the host's, then those of what moves, at the other nodes.
    services: Vec<Service>,
    /// Where each of them is.
    seats: Vec<Seat>,
    moving: Moving,
    host: Host,
    board: Option<BoardPart<'w>>,
    /// Nodes, of which this host is the first.
    cluster: Option<Cluster>,
    pools: Vec<PoolPart>,
    /// Only where something can be lost.
    disk: Option<Disk>,
    faults: Faults,
    budget: Budget<Box<[Instant]>>,
    budget_spent: bool,
    rule: LocalFaultRule,
    local_fault: bool,
    /// So many faults cut the network, and silence trusted servers.
    cut: u32,
    cut_since: u64,
    silent: u32,
    /// When trusted servers are asked again, after something changed about them.
    ask_trusted: Option<u64>,
    trusted_answer: bool,
    expected: usize,
    oracle: Option<Oracle>,
    outcome: Outcome,
    record: bool,
    needs: bool,
    at_once: u32,
}

impl<'w> Play<'w> {
    fn new(world: &'w World, options: Options, board: Option<&'w mut dyn Device>) -> Self {
        let seed = options.seed.unwrap_or(world.seed);
        let mut random = Random::new(seed);
        let slots = vec![Instant::default(); usize::from(world.actions.count)];
        let faults = Faults::new(world, &mut random);
        let pools = world.pools.iter().filter_map(|plan| PoolPart::new(plan, options.record));
        let seats = moving::seats(world);
        let plans = seats.iter().filter_map(|seat| world.services.get(seat.plan));
        let services: Vec<Service> = plans.map(Service::new).collect();
        let mut play = Self {
            now: 0,
            clock: Clock::new(),
            oracle: options.watch.then(|| Oracle::new(services.len())),
            services,
            seats,
            moving: Moving::of(world),
            host: Host::new(),
            board: None,
            cluster: world.group.as_ref().map(|group| Cluster::new(group, options.record)),
            pools: pools.collect(),
            disk: faults::can_lose(world).then(Disk::default),
            faults,
            budget: Budget::new(world.actions.per, slots.into_boxed_slice()),
            budget_spent: false,
            rule: LocalFaultRule { share: world.local_fault.share, least: world.local_fault.least },
            local_fault: false,
            cut: 0,
            cut_since: 0,
            silent: 0,
            ask_trusted: None,
            trusted_answer: true,
            expected: 0,
            outcome: Outcome::new(world, seed),
            record: options.record,
            needs: world.services.iter().any(|service| !service.needs.is_empty()),
            at_once: 0,
            random,
            world,
        };
        play.begin(board);
        play
    }

    /// Everything has just come up: services run, monitors begin, the board is armed.
    fn begin(&mut self, board: Option<&'w mut dyn Device>) {
        if self.record {
            let begin = Instant::default();
            let own = self.own();
            for service in self.services.iter_mut().take(own) {
                service.record(begin);
            }
            self.record_stays();
        }
        self.snapshot();
        self.board = self.world.board.map(|plan| BoardPart::new(plan, board, self.now));
        self.start_board(Start::PowerUp);
        for place in 0..self.services.len() {
            if self.moves(place) {
                self.rest(place);
                continue;
            }
            self.service_started(place);
            let first = self.spread(place);
            self.feed(place, Event::Begin { first, started: false });
        }
        self.look_elsewhere();
        self.board_begins();
        for place in 0..self.services.len() {
            self.settle_need(place);
        }
        self.pools_begin();
    }

    /// How long a monitor sleeps before its first probe: spread, as the daemon does it.
    fn spread(&self, place: usize) -> Span {
        let plan = self.plan(place);
        let interval =
            plan.map_or(Span::ZERO, |service| service.policy.limits().thorough_probe_interval);
        let number = self.seats.get(place).map_or(0, |seat| seat.plan) as u64;
        let count = self.own().max(1) as u64;
        let share = u64::from(interval.as_millis()) * (number + 1) / count;
        Span::from_millis(u32::try_from(share).unwrap_or(u32::MAX))
    }

    fn run(&mut self) {
        while self.outcome.broken.is_none() {
            let (at, next) = self.next_event();
            if at > self.world.length {
                break;
            }
            if at > self.now {
                (self.now, self.at_once) = (at, 0);
            } else {
                self.at_once += 1;
                if self.at_once == MOST_AT_ONCE {
                    self.breaks(None, "time stands still: something is due again and again".into());
                }
            }
            match next {
                Next::Expect => self.expect(),
                Next::Fault => self.fault_due(),
                Next::Host => self.host_due(),
                Next::Board => self.board_due(),
                Next::Nodes => self.nodes_due(),
                Next::Budget => self.budget_due(),
                Next::Trusted => self.trusted_asked(),
                Next::Service(place) => self.service_due(place),
                Next::Pool(place) => self.pool_due(place),
            }
            if self.services.len() > self.own() {
                self.look_elsewhere();
                self.note_stays();
            }
        }
        self.now = self.now.max(self.world.length.min(u64::MAX - 1));
    }

    /// The earliest that any part waits for. At one instant what the world does comes before what
    /// the daemon does about it, and what is expected after both.
    fn next_event(&self) -> (u64, Next) {
        let mut first = (self.faults.next_event(), Next::Fault);
        let mut take = |at: u64, next: Next| {
            if at < first.0 {
                first = (at, next);
            }
        };
        take(self.host.next_event(), Next::Host);
        if let Some(board) = &self.board {
            take(self.board_next_event(board), Next::Board);
        }
        if let Some(cluster) = &self.cluster {
            take(cluster.next_event(), Next::Nodes);
        }
        let daemon = self.host.daemon_from(self.now);
        let own = self.own();
        for (place, service) in self.services.iter().take(own).enumerate() {
            take(service.next_event(daemon), Next::Service(place));
        }
        for (place, service) in self.services.iter().enumerate().skip(own) {
            take(service.next_event(self.daemon_at(self.node_of(place))), Next::Service(place));
        }
        for (place, pool) in self.pools.iter().enumerate() {
            take(pool.next_event(daemon), Next::Pool(place));
        }
        if self.budget_spent {
            if let (Some(at), Some(daemon)) = (self.budget.frees_at(), daemon) {
                take(self.clock.when(at).max(daemon), Next::Budget);
            }
        }
        if let (Some(at), Some(daemon)) = (self.ask_trusted, daemon) {
            take(at.max(daemon), Next::Trusted);
        }
        if let Some(expect) = self.world.expects.get(self.expected) {
            // behind everything else of its instant
            if expect.at < first.0 {
                first = (expect.at, Next::Expect);
            }
        }
        first
    }

    /// Feeds `event` to a monitor, and carries out what it leads to: as the daemon does.
    fn feed(&mut self, place: usize, event: Event) {
        let node = self.node_of(place);
        if node == 0 && self.moves(place) && !self.host.daemon_runs(self.now) {
            return; // nobody is there to be told
        }
        let at = self.clock_at(node).at(self.now);
        let Some(service) = self.services.get_mut(place) else { return };
        let status = service.monitor.status();
        let recorded = service.recorder.as_mut().map(|recorder| {
            recorder.pass(&service.monitor, at);
            Before::of(&service.monitor)
        });
        if let Some(oracle) = &mut self.oracle {
            oracle.keep(&service.monitor);
        }
        let actions = service.monitor.handle(event, at);
        self.outcome.events += 1;
        if let (Some(recorder), Some(before)) = (&mut service.recorder, recorded) {
            recorder.saw(before, &event, &actions, &service.monitor, at);
        }
        if let Some(disk) = self.disk.as_mut().filter(|_| node == 0) {
            let machine = place as u32;
            disk.append(&Entry { at, machine, body: Body::Event(event) });
            for action in &actions {
                disk.append(&Entry { at, machine, body: Body::Action(*action) });
            }
            disk.write(self.now);
        }
        if node == 0 {
            service.arm(&self.clock);
        } else if let Some(clock) = self.cluster.as_ref().and_then(|it| it.clock(node)) {
            service.arm(clock);
        }
        let now_is = service.monitor.status();
        let oracle = self.oracle.as_mut();
        let broken = oracle.map(|it| it.look(place, &event, &actions, &service.monitor, at));
        if let Some(Err(why)) = broken {
            return self.breaks(Some(place), why);
        }
        for action in actions {
            self.carry_out(place, action);
        }
        if now_is != status {
            self.status_changed(place);
        }
        if self.disk.as_ref().is_some_and(Disk::is_full_of) {
            self.snapshot();
        }
    }

    fn status_changed(&mut self, place: usize) {
        let moves = self.moves(place);
        let Some(seat) = self.seats.get(place).copied() else { return };
        let Some(service) = self.services.get_mut(place) else { return };
        let status = service.monitor.status();
        // where its group is not active it is offline, and nobody minds
        if !moves || !matches!(status, Status::Offline | Status::Unknown) {
            service.figures.seen(status);
        }
        if self.needs {
            for dependent in 0..self.services.len() {
                let needs = self.plan(dependent).map(|it| it.needs.as_slice());
                if needs.is_some_and(|needs| needs.contains(&seat.plan))
                    && self.node_of(dependent) == seat.node
                {
                    self.settle_need(dependent);
                }
            }
        }
        self.board_heard_status();
    }

    /// R14: a service is held while one that it needs is not ok.
    pub(super) fn settle_need(&mut self, place: usize) {
        let Some(plan) = self.plan(place) else { return };
        let node = self.node_of(place);
        let unmet = plan.needs.iter().any(|need| {
            let seat = self.seat_at(node, *need);
            seat.and_then(|seat| self.services.get(seat)).is_some_and(|it| {
                !matches!(it.monitor.status(), Status::Ok | Status::Unknown) && !it.elsewhere
            })
        });
        let held = self.services.get(place).is_some_and(|it| it.monitor.held_by(Holder::Need));
        match (unmet, held) {
            (true, false) => self.feed(place, Event::Hold(Holder::Need)),
            (false, true) => self.feed(place, Event::Release(Holder::Need)),
            _ => {}
        }
    }

    /// Something is due about the nodes. D: of rules that never make two holders none may.
    fn nodes_due(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.happen(self.now, &mut self.random);
        self.follow_nodes();
        let Some(cluster) = &mut self.cluster else { return };
        let two = cluster.figures.two.is_some() && cluster.never_two();
        if two && self.oracle.is_some() {
            self.breaks(None, "D1: two nodes hold the address".to_owned());
        }
    }

    /// An invariant does not hold: the world ends here.
    fn breaks(&mut self, place: Option<usize>, why: String) {
        let who = place.and_then(|place| self.plan(place));
        let who = who.map(|service| format!("{}: ", service.name)).unwrap_or_default();
        self.outcome.broken.get_or_insert((self.now, format!("{who}{why}")));
    }

    /// What the file expects at this time.
    fn expect(&mut self) {
        let Some(expect) = self.world.expects.get(self.expected) else { return };
        self.expected += 1;
        let told = self.compare(expect);
        self.outcome.told.push(told);
    }

    fn compare(&mut self, expect: &world::Expect) -> Told {
        let mut told = Told::of(expect, self.world);
        let node = expect.node.unwrap_or(0);
        let seat = expect.service.and_then(|plan| self.seat_at(node, plan).or(Some(plan)));
        let at = self.clock_at(seat.map_or(0, |seat| self.node_of(seat))).at(self.now);
        if let Some(service) = seat.and_then(|seat| self.services.get_mut(seat)) {
            let tally = service.monitor.tally(at);
            told.status = Some(service.monitor.status());
            told.failure_sum = Some(tally.failure_sum);
            told.restarts = Some(tally.restarts);
            if expect.actions.is_some() {
                told.actions = Some(std::mem::take(&mut service.done));
            }
        }
        if let Some(board) = &self.board {
            told.board = Some(board.seen().state());
            told.resets = Some(board.pulses());
        }
        let mut names = Vec::new();
        if let (Some(group), Some(cluster)) = (&self.world.group, &self.cluster) {
            names.extend(group.nodes.iter().map(|node| node.name.clone()));
            told.role = expect.role.and_then(|(node, _)| {
                Some((names.get(node)?.clone(), role_word(cluster.role_of(node))))
            });
            let holders = || outcome::named(cluster.holders(self.now), &names);
            told.holders = expect.holders.map(|_| holders());
            let runs = expect.service.filter(|_| expect.runs.is_some());
            told.runs = runs.map(|plan| outcome::named(self.runs_on(plan), &names));
        }
        if let Some(expected) = &expect.pool {
            let pair = self.world.pools.get(expected.pool).zip(self.pools.get(expected.pool));
            if let Some((plan, part)) = pair {
                told.pool = Some(PoolTold::of(plan, part, expected));
            }
        }
        told.judge(expect, &names);
        told
    }

    /// What came of it.
    fn finish(mut self) -> Outcome {
        let end = self.now;
        let at = self.clock.at(end);
        let mut tracks = Vec::new();
        self.look_elsewhere();
        self.gather();
        let own = self.own();
        for service in self.services.iter_mut().take(own) {
            service.truth(end);
            service.settle(end);
            if let Some(recorder) = service.recorder.take() {
                tracks.push(recorder.finish(&service.monitor, at.max(service.monitor.latest())));
            }
            let elsewhere = service.last_elsewhere.filter(|_| !service.alive);
            service.figures.last = elsewhere.unwrap_or(service.monitor.status());
            self.outcome.services.push(std::mem::take(&mut service.figures));
        }
        self.outcome.length = end;
        if let Some(board) = &self.board {
            self.outcome.resets = board.resets().collect();
            self.outcome.events += board.seen().events();
        }
        self.outcome.boots = self.host.boots.clone();
        if let Some(cluster) = &mut self.cluster {
            cluster.settle(end);
            self.outcome.events += cluster.events;
            let two_run = self
                .moving
                .two
                .and_then(|(at, plan)| Some((at, self.world.services.get(plan)?.name.clone())));
            self.outcome.group = Some(GroupFigures { two_run, ..cluster.figures.clone() });
        }
        for (plan, pool) in self.world.pools.iter().zip(&mut self.pools) {
            pool.settle(end);
            self.outcome.pools.push((plan.name.clone(), std::mem::take(&mut pool.figures)));
        }
        if self.record {
            for (track, plan) in tracks.iter_mut().zip(0..) {
                track.stays = self.stays(plan);
            }
            let lines = self.board.as_ref().map_or_else(Vec::new, BoardPart::lines);
            self.outcome.timeline = Some(Timeline {
                title: self.world.name.clone(),
                begin: Instant::default(),
                end: at.max(Instant::from_millis(1)),
                tracks,
                lines: lines.into_iter().map(|(name, edges)| self.line(name, edges)).collect(),
                lanes: self.lanes(),
                pools: self.pool_lanes(),
                ..Timeline::default()
            });
        }
        self.outcome.judge(self.world);
        self.outcome
    }

    fn lanes(&self) -> Vec<Lane> {
        let lanes = self.cluster.iter().flat_map(Cluster::lanes);
        lanes
            .map(|(name, roles, held)| Lane {
                name: name.clone(),
                roles: roles.iter().map(|(at, role)| (self.host.shown(*at), *role)).collect(),
                held: held.iter().map(|(at, held)| (self.host.shown(*at), *held)).collect(),
            })
            .collect()
    }

    fn pool_lanes(&mut self) -> Vec<PoolLane> {
        let lanes = self.pools.iter_mut().filter_map(|pool| pool.lane.take());
        let shown = |mut lane: PoolLane| {
            lane.shift(|at| self.host.shown(at.as_millis()));
            lane
        };
        lanes.map(shown).collect()
    }

    /// Edges are at true times; the picture is in the monitor's.
    fn line(&self, name: &str, edges: Vec<(u64, bool)>) -> Line {
        let edges = edges.into_iter().map(|(at, held)| (self.host.shown(at), held)).collect();
        Line { name: Arc::from(name), edges }
    }
}

#[cfg(test)]
mod tests;
