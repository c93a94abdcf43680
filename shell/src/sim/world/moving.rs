//! Services that move with the nodes: started where those are active, stopped and proven stopped where
//! they are no more, as the daemon does it. Each node has a seat for each of them, with a monitor.
//!
//! The host's seats are those of all services; the other nodes' follow behind. Their journals lose
//! nothing, and what holds across services (R16) is the host's alone.

use std::collections::VecDeque;

use giveover_core::arbiter::Answer;
use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{Ended, Event, GiveoverOutcome, Reason, Status, Ticket, Waiting};
use giveover_core::node::{Node, Nodes};
use giveover_core::time::{Instant, Span};

use super::Play;
use super::clock::Clock;
use super::nodes::{Cluster, Wanted};
use super::service::{Service, Stage, Work};
use crate::config::world::{self, Verb, World, node_number};
use crate::sim::timeline::Stay;

/// A daemon that nobody starts again is away for so long.
const DAY: u64 = 86_400_000;
/// What could not be stopped is stopped again after so long.
const AGAIN: u64 = 5_000;

/// Where a monitor is, and what it watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) node: usize,
    /// The service's place in the file.
    pub(super) plan: usize,
}

/// Services being stopped for their group, at one node.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaving {
    next: VecDeque<usize>,
    under_way: Vec<usize>,
    failed: bool,
}

/// What is under way at the nodes, besides their machines.
#[derive(Debug, Default)]
pub(super) struct Moving {
    leaving: Vec<Option<Leaving>>,
    /// Whose giveover lets the group go.
    giving: Vec<Option<(usize, Ticket)>>,
    following: bool,
    /// When two nodes ran the same service, if ever: when, and which service.
    pub(super) two: Option<(u64, usize)>,
    /// For the picture: what ran at each seat, in true time. Empty where nobody wants one.
    stays: Vec<Stay>,
}

impl Moving {
    pub(super) fn of(world: &World) -> Self {
        let nodes = world.group.as_ref().map_or(0, |group| group.nodes.len());
        Self { leaving: vec![None; nodes], giving: vec![None; nodes], ..Self::default() }
    }
}

/// Every monitor's seat: the host's first.
pub(super) fn seats(world: &World) -> Vec<Seat> {
    let mut seats: Vec<Seat> =
        (0..world.services.len()).map(|plan| Seat { node: 0, plan }).collect();
    if let Some(group) = &world.group {
        for node in 1..group.nodes.len() {
            if !group.members.witnesses.has(node_number(node)) {
                seats.extend(group.services.iter().map(|plan| Seat { node, plan: *plan }));
            }
        }
    }
    seats
}

impl<'w> Play<'w> {
    /// The service that the monitor of this place watches.
    pub(super) fn plan(&self, place: usize) -> Option<&'w world::Service> {
        self.world.services.get(self.seats.get(place)?.plan)
    }

    pub(super) fn node_of(&self, place: usize) -> usize {
        self.seats.get(place).map_or(0, |seat| seat.node)
    }

    /// How many of the monitors are the host's.
    pub(super) fn own(&self) -> usize {
        self.world.services.len()
    }

    /// Whether the service of this place moves with the nodes.
    pub(super) fn moves(&self, place: usize) -> bool {
        let group = self.world.group.as_ref();
        let seat = self.seats.get(place);
        seat.zip(group).is_some_and(|(seat, group)| group.services.contains(&seat.plan))
    }

    /// The monitor of a service at a node; the host's where it does not move.
    pub(super) fn seat_at(&self, node: usize, plan: usize) -> Option<usize> {
        self.seats.iter().position(|seat| *seat == Seat { node, plan })
    }

    /// Those that move and sit at `node`, in the order of the file.
    fn members(&self, node: usize) -> Vec<usize> {
        let seats = self.seats.iter().enumerate();
        let here = seats.filter(|(_, seat)| seat.node == node).map(|(place, _)| place);
        here.filter(|place| self.moves(*place)).collect()
    }

    /// From when on the daemon at `node` runs.
    pub(super) fn daemon_at(&self, node: usize) -> Option<u64> {
        match (node, &self.cluster) {
            (0, _) => self.host.daemon_from(self.now),
            (_, Some(cluster)) => cluster.daemon_from(node, self.now),
            (_, None) => None,
        }
    }

    /// The clock that monitors at `node` go by.
    pub(super) fn clock_at(&self, node: usize) -> &Clock {
        let other = if node == 0 { None } else { self.cluster.as_ref() };
        other.and_then(|cluster| cluster.clock(node)).unwrap_or(&self.clock)
    }

    /// The monitor that a service's luck is about: where it runs, or else the host's.
    pub(super) fn where_it_runs(&self, plan: usize) -> usize {
        let running = |(place, seat): (usize, &Seat)| {
            let runs = self.services.get(place).is_some_and(|service| service.alive);
            (seat.plan == plan && runs).then_some(place)
        };
        self.seats.iter().enumerate().find_map(running).unwrap_or(plan)
    }

    /// The nodes on which a service runs.
    pub(super) fn runs_on(&self, plan: usize) -> Nodes {
        let pairs = self.seats.iter().zip(&self.services);
        let running = pairs.filter(|(seat, service)| seat.plan == plan && service.alive);
        running.map(|(seat, _)| node_number(seat.node)).collect()
    }

    /// Whether it runs at another node counts where it is not running here: for whoever needs it, and
    /// for the outage. Called after everything that may have changed it.
    pub(super) fn look_elsewhere(&mut self) {
        let Some(group) = &self.world.group else { return };
        for plan in &group.services {
            let pairs = self.seats.iter().zip(&self.services);
            let mut others = pairs.filter(|(seat, _)| seat.plan == *plan && seat.node != 0);
            let elsewhere = others.any(|(_, service)| service.works());
            let now = self.now;
            let Some(own) = self.services.get_mut(*plan) else { continue };
            if own.elsewhere != elsewhere {
                own.elsewhere = elsewhere;
                own.truth(now);
                for place in 0..self.own() {
                    self.settle_need(place);
                }
            }
        }
    }

    /// From now on it is noted what runs at each seat.
    pub(super) fn record_stays(&mut self) {
        if self.services.len() > self.own() {
            let node = |seat: &Seat| self.node_name(seat.node).as_str().into();
            let stays = self.seats.iter().map(|seat| Stay { node: node(seat), ..Stay::default() });
            self.moving.stays = stays.collect();
            self.note_stays();
        }
    }

    /// What runs at each seat may have changed.
    pub(super) fn note_stays(&mut self) {
        let at = Instant::from_millis(self.now);
        for (stay, service) in self.moving.stays.iter_mut().zip(&self.services) {
            stay.note(at, service.alive.then(|| service.monitor.status()));
        }
    }

    /// Where a service ran, if it moves, in the picture's time.
    pub(super) fn stays(&self, plan: usize) -> Vec<Stay> {
        let pairs = self.seats.iter().enumerate().zip(&self.moving.stays);
        let its = pairs.filter(|((place, seat), _)| seat.plan == plan && self.moves(*place));
        let shown = |stay: &Stay| {
            let statuses = stay.statuses.iter();
            let statuses = statuses.map(|(at, it)| (self.host.shown(at.as_millis()), *it));
            Stay { node: stay.node.clone(), statuses: statuses.collect() }
        };
        its.map(|(_, stay)| shown(stay)).collect()
    }

    /// Does what the nodes' carriers want of their services.
    pub(super) fn follow_nodes(&mut self) {
        if std::mem::replace(&mut self.moving.following, true) {
            return; // who is at it already goes on with it
        }
        while let Some((node, wanted)) = self.cluster.as_mut().and_then(|it| it.wanted()) {
            match wanted {
                Wanted::Stop { at_once } => self.stop_group(node, at_once),
                Wanted::Start => self.start_group(node),
                Wanted::Released { ok } => self.group_released(node, ok),
                Wanted::Stands => self.may_stray(node),
                Wanted::Lost => self.forget_members(node),
                // fenced by its peer
                Wanted::Dead if node == 0 && self.host.has_power() && self.is_moving() => {
                    self.host_goes_down();
                    self.host_boots();
                }
                Wanted::Dead => {
                    // it comes up with the host that it is, and not by itself
                    if let Some(cluster) = self.cluster.as_mut().filter(|_| node == 0) {
                        cluster.waits_for_host();
                    }
                    self.members_are_dead(node);
                }
                Wanted::Up => self.members_rest(node),
            }
        }
        self.moving.following = false;
    }

    /// From now on nobody at `node` sees to it that what runs there stops in time.
    pub(super) fn may_stray(&mut self, node: usize) {
        for place in self.members(node) {
            if let Some(service) = self.services.get_mut(place) {
                service.stray |= service.alive;
            }
        }
    }

    fn is_moving(&self) -> bool {
        self.cluster.as_ref().is_some_and(Cluster::moves)
    }

    /// The daemon of a node is gone, and with it what it was doing.
    fn forget_members(&mut self, node: usize) {
        self.may_stray(node);
        if node == 0 && self.is_moving() && self.host.daemon_runs(self.now) {
            // it ended in good order: the host's daemon is this one
            let starts = self.cluster.as_ref().map_or(0, |cluster| cluster.starts(0));
            self.daemon_stops(starts.saturating_sub(self.now).min(DAY), true);
        }
        if let Some(leaving) = self.moving.leaving.get_mut(node) {
            *leaving = None;
        }
        if let Some(giving) = self.moving.giving.get_mut(node) {
            *giving = None;
        }
        for place in self.members(node) {
            if let Some(service) = self.services.get_mut(place) {
                (service.probe, service.work, service.asked) = (None, None, None);
            }
        }
    }

    fn members_are_dead(&mut self, node: usize) {
        let now = self.now;
        for place in self.members(node) {
            if let Some(service) = self.services.get_mut(place) {
                service.gone(now);
                service.ills.retain(|ill| ill.until.is_some());
            }
        }
    }

    /// A daemon comes up: what moves rests until the group is active here. The host's own are seen to
    /// with all its others.
    fn members_rest(&mut self, node: usize) {
        if node != 0 {
            for place in self.members(node) {
                self.rest(place);
            }
        }
    }

    /// What an earlier life ran is known again, so that it can be proven stopped, and its monitor rests.
    pub(super) fn rest(&mut self, place: usize) {
        let Some(service) = self.services.get_mut(place) else { return };
        service.unheard = false;
        (service.probe, service.work, service.asked) = (None, None, None);
        if let Some(ticket) = service.monitor.probe_under_way() {
            self.feed(place, Event::Probed { ticket, result: ProbeResult::Void });
        }
        let Some(service) = self.services.get(place) else { return };
        let rests = matches!(
            service.monitor.waiting_for(),
            Waiting::Ended(Ended::Stopped) | Waiting::GivenOver
        );
        if !rests {
            self.feed(place, Event::End);
            self.feed(place, Event::Stopped);
        }
    }

    /// Stops what moves, each before those it needs; `at_once` all together, with no more time than the
    /// others wait for us.
    fn stop_group(&mut self, node: usize, at_once: bool) {
        let (now, limit) = (self.now, self.cluster.as_ref().map_or(0, |it| it.at_once_limit()));
        let members: Vec<usize> = self.members(node).into_iter().rev().collect();
        let Some(slot) = self.moving.leaving.get_mut(node) else { return };
        // what is being stopped already is not asked twice, only hurried
        let before = slot.take().unwrap_or_default();
        let next = members.iter().filter(|it| !before.under_way.contains(it)).copied().collect();
        let under_way = before.under_way.clone();
        *slot = Some(Leaving { next, under_way, failed: false });
        if at_once {
            for place in before.under_way {
                if let Some(work) = self.services.get_mut(place).and_then(|it| it.work.as_mut()) {
                    work.until = work.until.min(now.saturating_add(limit));
                }
            }
            for place in members {
                self.leave(node, place, Some(limit));
            }
        }
        self.leave_next(node);
    }

    fn leave_next(&mut self, node: usize) {
        let now = self.now;
        let Some(Some(leaving)) = self.moving.leaving.get(node) else { return };
        if !leaving.under_way.is_empty() {
            return;
        }
        if let Some(place) = leaving.next.front().copied() {
            return self.leave(node, place, None);
        }
        let ok = !leaving.failed;
        if let Some(slot) = self.moving.leaving.get_mut(node) {
            *slot = None;
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.stopped(node, ok, now, &mut self.random);
        }
        self.follow_nodes();
    }

    /// One of them is stopped; within `limit` if there is one.
    fn leave(&mut self, node: usize, place: usize, limit: Option<u64>) {
        let now = self.now;
        let Some(Some(leaving)) = self.moving.leaving.get_mut(node) else { return };
        let Some(known) = leaving.next.iter().position(|it| *it == place) else { return };
        leaving.next.remove(known);
        leaving.under_way.push(place);
        let giving = self.moving.giving.get(node).copied().flatten();
        if giving.is_none_or(|(given, _)| given != place) {
            self.feed(place, Event::End); // nobody restarts what is being stopped
        }
        let Some(plan) = self.plan(place) else { return };
        let Some(service) = self.services.get_mut(place) else { return };
        (service.probe, service.work, service.asked) = (None, None, None);
        if !service.alive {
            return self.left(place, true);
        }
        let fails = service.has(Verb::FailStop);
        let takes = match fails {
            true => u64::from(plan.policy.limits().stop_timeout.as_millis()),
            false => self.random.within(plan.stop_takes),
        };
        let until = now.saturating_add(limit.map_or(takes, |limit| takes.min(limit)));
        service.work = Some(Work { ticket: Ticket(0), stage: Stage::Leaving { fails }, until });
    }

    /// One of them is proven stopped, or cannot be: then it is stopped again, until it is or is wanted here.
    pub(super) fn left(&mut self, place: usize, ok: bool) {
        let now = self.now;
        let node = self.node_of(place);
        let up = self.cluster.as_ref().is_some_and(|cluster| cluster.is_up(node));
        let Some(service) = self.services.get_mut(place) else { return };
        service.work = None;
        let leaving = self.moving.leaving.get_mut(node).and_then(Option::as_mut);
        match leaving {
            // it has its turn
            Some(leaving) if !leaving.under_way.contains(&place) => return,
            Some(leaving) => {
                leaving.under_way.retain(|it| *it != place);
                leaving.failed |= !ok;
            }
            None if up => return self.enter(place),
            None => {}
        }
        let alone = self.moving.leaving.get(node).is_none_or(Option::is_none);
        if !ok {
            service.stray = true;
            self.stop_again(place);
            return self.leave_next(node);
        }
        service.gone(now);
        service.ills.retain(|ill| ill.until.is_some());
        self.feed(place, Event::Stopped);
        if !alone {
            return self.leave_next(node);
        }
        let clean = self.members(node).into_iter().all(|place| !self.is_alive(place));
        if let Some(cluster) = self.cluster.as_mut().filter(|_| clean) {
            cluster.stopped(node, true, now, &mut self.random);
        }
        self.follow_nodes();
    }

    fn is_alive(&self, place: usize) -> bool {
        self.services.get(place).is_some_and(|service| service.alive)
    }

    /// What could not be proven stopped is stopped again, as long as the group is not active here.
    fn stop_again(&mut self, place: usize) {
        let until = self.now.saturating_add(AGAIN);
        let Some(service) = self.services.get_mut(place) else { return };
        let fails = service.has(Verb::FailStop);
        service.work = Some(Work { ticket: Ticket(0), stage: Stage::Leaving { fails }, until });
    }

    /// Starts what moves; what runs is watched on.
    fn start_group(&mut self, node: usize) {
        for place in self.members(node) {
            self.enter(place);
        }
    }

    fn enter(&mut self, place: usize) {
        let now = self.now;
        let first = self.spread(place);
        let Some(plan) = self.plan(place) else { return };
        let Some(service) = self.services.get_mut(place) else { return };
        let ended = matches!(service.monitor.waiting_for(), Waiting::Ended(_) | Waiting::GivenOver);
        let again = service.work.is_some_and(|it| matches!(it.stage, Stage::Leaving { .. }));
        if service.work.is_some() && !again || !ended {
            return;
        }
        if service.alive {
            service.work = None;
            return self.feed(place, Event::Begin { first, started: false });
        }
        let takes = self.random.within(plan.start_takes);
        let until = now.saturating_add(takes);
        service.work = Some(Work { ticket: Ticket(0), stage: Stage::Entering, until });
    }

    /// It has been started here for its group, or could not be.
    pub(super) fn entered(&mut self, place: usize) {
        let Some(service) = self.services.get_mut(place) else { return };
        service.work = None;
        if service.has(Verb::FailStart) {
            service.did("start_failed");
            self.feed(place, Event::Begin { first: Span::ZERO, started: false });
            let cause = Cause::new(Phase::Start, 1);
            return self.feed(place, Event::Died { cause });
        }
        service.did("start");
        self.service_started(place);
        let first = self.spread(place);
        self.feed(place, Event::Begin { first, started: true });
    }

    /// It runs from now on. D, of the service itself: nowhere else, unless nobody could see to that.
    pub(super) fn judge_two(&mut self, place: usize) {
        let Some(seat) = self.seats.get(place).copied() else { return };
        let Some(service) = self.services.get_mut(place) else { return };
        service.stray = false;
        let (now, mut two, mut proven) = (self.now, None, false);
        for (other, service) in self.seats.iter().zip(&self.services) {
            if other.plan == seat.plan && other.node != seat.node && service.alive {
                two = Some(other.node);
                proven |= !service.stray || self.strays_are_fenced();
            }
        }
        let Some(other) = two else { return };
        self.moving.two.get_or_insert((now, seat.plan));
        let never = self.cluster.as_ref().is_some_and(Cluster::never_two);
        if never && proven && self.oracle.is_some() {
            let (one, other) = (self.node_name(seat.node), self.node_name(other));
            self.breaks(Some(place), format!("D1: it runs on {one} and on {other}"));
        }
    }

    /// Under these rules not even what nobody watches runs on while another takes over.
    fn strays_are_fenced(&self) -> bool {
        let group = self.world.group.as_ref();
        group.is_some_and(|it| it.members.quorum == giveover_core::peer::Quorum::Fence)
    }

    fn node_name(&self, node: usize) -> String {
        let group = self.world.group.as_ref();
        group.and_then(|it| it.nodes.get(node)).map_or("?".to_owned(), |it| it.name.to_string())
    }

    /// A monitor, or a person, gives over what moves: the group goes, with a named successor.
    pub(super) fn give_group_over(&mut self, place: usize, ticket: Ticket, reason: Reason) {
        let now = self.now;
        let node = self.node_of(place);
        let slots = (self.moving.leaving.get(node), self.moving.giving.get(node));
        let under_way = matches!(slots, (Some(Some(_)), _) | (_, Some(Some(_))));
        let Some(plan) = self.plan(place) else { return };
        let online =
            self.services.get(place).is_some_and(|it| it.monitor.status() != Status::Offline);
        let Some(cluster) = &mut self.cluster else { return };
        let mode_allows = plan.policy.gives_over();
        let by_operator = reason == Reason::Operator;
        let answer = cluster.ask_arbiter(node, now, online, mode_allows, under_way, by_operator);
        match answer {
            Answer::Granted(to) => self.give_group(place, ticket, to),
            Answer::Denied(_) => {
                if let Some(service) = self.services.get_mut(place) {
                    service.did("giveover_denied");
                    service.figures.denials += 1;
                }
                let outcome = GiveoverOutcome::Denied;
                self.feed(place, Event::GiveoverDone { ticket, outcome });
            }
            Answer::NotNow => {
                if let Some(service) = self.services.get_mut(place) {
                    service.did("giveover_not_now");
                }
                let outcome = GiveoverOutcome::NotNow;
                self.feed(place, Event::GiveoverDone { ticket, outcome });
            }
        }
    }

    fn give_group(&mut self, place: usize, ticket: Ticket, to: Node) {
        let now = self.now;
        let node = self.node_of(place);
        if node == 0 {
            self.charge();
        }
        if let Some(giving) = self.moving.giving.get_mut(node) {
            *giving = Some((place, ticket));
        }
        let outcome = GiveoverOutcome::Granted;
        self.feed(place, Event::GiveoverDone { ticket, outcome });
        if let Some(cluster) = &mut self.cluster {
            cluster.give_over(node, to, now, &mut self.random);
        }
        self.follow_nodes();
    }

    /// What was held at a node is gone, or could not be let go: who gave it over is told.
    fn group_released(&mut self, node: usize, ok: bool) {
        let now = self.now;
        let giving = self.moving.giving.get_mut(node).and_then(Option::take);
        let Some((place, ticket)) = giving else { return };
        if !ok {
            let cause = Cause::new(Phase::Exit, Cause::UNKNOWN);
            let outcome = GiveoverOutcome::Aborted { stopped: false, cause };
            if let Some(service) = self.services.get_mut(place) {
                service.did("giveover_aborted");
            }
            return self.feed(place, Event::GiveoverDone { ticket, outcome });
        }
        if let Some(service) = self.services.get_mut(place) {
            service.did("giveover");
            service.figures.giveovers.push(now);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.gave_over(node, now);
        }
    }

    /// What the monitors of other nodes came to goes with the service's own figures.
    pub(super) fn gather(&mut self) {
        let own = self.own();
        for place in own..self.services.len() {
            let Some(seat) = self.seats.get(place).copied() else { continue };
            let Some(service) = self.services.get_mut(place) else { continue };
            let figures = std::mem::take(&mut service.figures);
            let last = service.alive.then(|| service.monitor.status());
            if let Some(whole) = self.services.get_mut(seat.plan) {
                whole.figures.gather(figures);
                whole.last_elsewhere = whole.last_elsewhere.or(last);
            }
        }
    }
}

impl Service {
    /// Nothing of it runs here any more.
    pub(super) fn gone(&mut self, now: u64) {
        (self.alive, self.unheard, self.stray) = (false, false, false);
        (self.probe, self.work, self.asked) = (None, None, None);
        self.forget_leak();
        self.truth(now);
    }
}
