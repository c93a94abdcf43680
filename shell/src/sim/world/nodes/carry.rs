//! The orders of a node's carrier, and its arbiter: what a node does beyond what it decides.

use std::collections::VecDeque;

use giveover_core::arbiter::{Answer, Candidate, Event as Ask, Request};
use giveover_core::node::Node;
use giveover_core::peer::{Event, Role, Taken};
use giveover_core::time::{Instant, Span};

use super::{Cluster, Wanted};
use crate::cluster::carrier::Order;
use crate::cluster::steps::{Done, Step};
use crate::config::world::node_number;
use crate::sim::world::clock::Clock;
use crate::sim::world::random::Random;

impl Cluster {
    /// Whether any service moves with the address.
    pub(in crate::sim::world) fn moves(&self) -> bool {
        !self.group.services.is_empty()
    }

    /// What is to be done next with the services of a node.
    pub(in crate::sim::world) fn wanted(&mut self) -> Option<(usize, Wanted)> {
        self.wanted.pop_front()
    }

    /// Carries out what a carrier orders. The kernel does at once what it is told; what is the services'
    /// is left to whoever has them.
    pub(super) fn follow(
        &mut self,
        place: usize,
        orders: Vec<Order>,
        now: u64,
        events: &mut VecDeque<Event>,
    ) {
        let mut orders = VecDeque::from(orders);
        while let Some(order) = orders.pop_front() {
            let moves = self.moves();
            let Some(site) = self.sites.get_mut(place) else { return };
            match order {
                Order::Address(Step::Take { until }) => {
                    let taken = if site.foreign > 0 { Taken::Duplicate } else { Taken::Up };
                    orders.extend(site.carrier.address(Done::Taken(taken)));
                    if taken == Taken::Up {
                        let until = site.clock.when(until);
                        self.hold(place, until, now);
                    }
                }
                // what has run out meanwhile is not held again
                Order::Address(Step::Renew { until }) if site.address > now => {
                    site.address = site.address.max(site.clock.when(until));
                }
                Order::Address(Step::Renew { .. } | Step::Announce) | Order::Cancel => {}
                Order::Address(Step::Drop { .. }) => {
                    self.hold(place, 0, now);
                    let site = self.sites.get_mut(place);
                    let done = Done::Dropped { ok: true };
                    orders.extend(site.map(|it| it.carrier.address(done)).unwrap_or_default());
                }
                Order::Stop { at_once } if moves => {
                    self.wanted.push_back((place, Wanted::Stop { at_once }));
                }
                Order::Stop { .. } => orders.extend(site.carrier.stopped(true)),
                Order::Start if moves => self.wanted.push_back((place, Wanted::Start)),
                Order::Start => {}
                Order::Run(hook) => orders.extend(site.carrier.ran(hook, true)),
                Order::Tell(event) => {
                    if let Event::Released { ok, .. } = event {
                        self.wanted.push_back((place, Wanted::Released { ok }));
                    }
                    events.push_back(event);
                }
            }
        }
    }

    /// The services of a node are proven stopped, or cannot be.
    pub(in crate::sim::world) fn stopped(
        &mut self,
        place: usize,
        ok: bool,
        now: u64,
        random: &mut Random,
    ) {
        let Some(site) = self.sites.get_mut(place) else { return };
        let orders = site.carrier.stopped(ok);
        let mut events = VecDeque::new();
        self.follow(place, orders, now, &mut events);
        self.feed(place, events, now, random);
    }

    /// Whether the services are wanted at this node.
    pub(in crate::sim::world) fn is_up(&self, place: usize) -> bool {
        self.sites.get(place).is_some_and(|site| site.carrier.is_up())
    }

    /// From when on the daemon of a node runs; `None` while nobody knows.
    pub(in crate::sim::world) fn daemon_from(&self, place: usize, now: u64) -> Option<u64> {
        let site = self.sites.get(place)?;
        (site.peer.is_some() && site.paused == 0).then_some(now)
    }

    /// The first node is started with the host, where services move.
    pub(in crate::sim::world) fn waits_for_host(&mut self) {
        if self.moves() {
            if let Some(site) = self.sites.first_mut() {
                site.starts = u64::MAX;
            }
        }
    }

    /// When the daemon of a node is started again.
    pub(in crate::sim::world) fn starts(&self, place: usize) -> u64 {
        self.sites.get(place).map_or(u64::MAX, |site| site.starts)
    }

    /// The clock of a node.
    pub(in crate::sim::world) fn clock(&self, place: usize) -> Option<&Clock> {
        self.sites.get(place).map(|site| &site.clock)
    }

    /// What is killed at once is gone before anybody takes our place, in milliseconds.
    pub(in crate::sim::world) fn at_once_limit(&self) -> u64 {
        let limits = &self.group.limits;
        let held = limits.lease.as_millis().saturating_add(limits.jitter.as_millis());
        u64::from(limits.wait.as_millis().saturating_sub(held).max(1000))
    }

    /// May the group leave this node, and to whom? As the daemon asks it.
    pub(in crate::sim::world) fn ask_arbiter(
        &mut self,
        place: usize,
        now: u64,
        online: bool,
        mode_allows: bool,
        moving: bool,
        by_operator: bool,
    ) -> Answer {
        let wait: Span = self.group.limits.wait;
        let witnesses = self.group.members.witnesses;
        let mut candidates: Vec<(u8, Candidate)> = Vec::new();
        let Some(site) = self.sites.get_mut(place) else { return Answer::NotNow };
        let at: Instant = site.clock.at(now);
        let Some(peer) = &site.peer else { return Answer::NotNow };
        for (number, plan) in self.group.nodes.iter().enumerate() {
            let node = node_number(number);
            if number == place || witnesses.has(node) {
                continue;
            }
            let up = peer
                .member(node)
                .is_some_and(|member| member.lives(at, wait) && member.role() == Role::Standby);
            candidates.push((plan.priority, Candidate { node, up, vetoes: false }));
        }
        candidates.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
        let candidates: Vec<Candidate> = candidates.into_iter().map(|(_, it)| it).collect();
        let active = peer.role() == Role::Active;
        let request = Request {
            online_here: active && online,
            mode_allows,
            suspended: false,
            moving: moving || active && !site.carrier.is_up(),
            by_operator,
            candidates: &candidates,
        };
        site.arbiter.handle(Ask::Asked(request), at).unwrap_or(Answer::NotNow)
    }

    /// It goes to `to`, in good order.
    pub(in crate::sim::world) fn give_over(
        &mut self,
        place: usize,
        to: Node,
        now: u64,
        random: &mut Random,
    ) {
        self.tell(place, Event::GiveOver { to: Some(to) }, now, random);
    }

    /// A monitor here gave it over: every node's arbiter that hears of it remembers.
    pub(in crate::sim::world) fn gave_over(&mut self, place: usize, now: u64) {
        let from = node_number(place);
        for site in &mut self.sites {
            let at = site.clock.at(now);
            site.arbiter.handle(Ask::GaveOver { from }, at);
        }
    }
}
