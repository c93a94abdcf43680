//! Nodes that decide between them who is active: the machine of `core::peer` for each, with a disk,
//! a kernel that keeps the address as long as it was told, and a clock of its own.
//!
//! In what order an address and what runs beside it come and go is the daemon's own `Carrier`; frames are
//! authentic, and what is between nodes is `network`'s. Services themselves are `moving`'s.

mod carry;

use std::collections::VecDeque;
use std::sync::Arc;

use giveover_core::arbiter::Arbiter;
use giveover_core::node::Nodes;
use giveover_core::peer::{
    Action, Digests, Durable, Event, How, Look, Members, Peer, Quorum, Role, Rules, To,
};

use super::clock::Clock;
use super::network::{Frame, Network};
use super::outcome::GroupFigures;
use super::random::Random;
use super::service::NEVER;
use crate::cluster::carrier::Carrier;
use crate::cluster::steps::Done;
use crate::config::scenario::peer::MOST_NODES;
use crate::config::world::{Group, NodeDoes, node_number};

/// Clocks begin so late that nothing lies before their epoch, and each elsewhere: no node may take
/// another's time for its own.
const BEGIN: u64 = 86_400_000;
const APART: u64 = 7_777_777;

/// A daemon that was killed is back after so long, a machine that lost its power after so long.
const DAEMON_BACK: u64 = 1_000;
const POWER_BACK: u64 = 30_000;

pub(super) struct Cluster {
    group: Group,
    sites: Vec<Site>,
    network: Network,
    pub(super) figures: GroupFigures,
    /// Who held the address last, and since when nobody does.
    last: Option<usize>,
    unheld_since: Option<u64>,
    /// Machines were fed so many events.
    pub(super) events: u64,
    record: bool,
    /// What is to be done with the services of a node, in order.
    wanted: VecDeque<(usize, Wanted)>,
}

/// What becomes of the services that move, at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// They are stopped, last first, until they are proven stopped: [`Cluster::stopped`].
    Stop {
        /// They are given no time to end by themselves.
        at_once: bool,
    },
    /// They are started.
    Start,
    /// What was held is gone, or could not be let go.
    Released {
        /// It is gone.
        ok: bool,
    },
    /// The daemon stands still.
    Stands,
    /// The daemon is gone; what it started runs on.
    Lost,
    /// The machine is gone, and all that ran on it.
    Dead,
    /// The daemon has come up.
    Up,
}

struct Site {
    carrier: Carrier,
    arbiter: Arbiter<MOST_NODES>,
    peer: Option<Box<Peer<MOST_NODES>>>,
    clock: Clock,
    disk: Durable,
    /// The kernel has the address until then; zero is not at all.
    address: u64,
    /// When the machine wants to be woken.
    due: u64,
    /// When the daemon is started.
    starts: u64,
    /// It is being stopped in good order, and is started again then.
    returns: u64,
    paused: u32,
    waiting: Vec<Frame>,
    failing: u32,
    unreachable: u32,
    foreign: u32,
    roles: Vec<(u64, Option<Role>)>,
    held: Vec<(u64, bool)>,
}

impl Site {
    fn role(&self) -> Option<Role> {
        self.peer.as_ref().map(|peer| peer.role())
    }

    fn arm(&mut self) {
        let due = self.peer.as_ref().and_then(|peer| peer.poll_timeout());
        self.due = due.map_or(NEVER, |at| self.clock.when(at));
    }
}

impl Cluster {
    pub(super) fn new(group: &Group, record: bool) -> Self {
        let sites = group.nodes.iter().zip(0..).map(|(node, place)| Site {
            carrier: Carrier::new(false, false, false),
            arbiter: Arbiter::new(Arbiter::<MOST_NODES>::PINGPONG_INTERVAL),
            peer: None,
            clock: Clock::showing(BEGIN + place * APART, node.drift),
            disk: Durable::default(),
            address: 0,
            due: NEVER,
            starts: node.starts,
            returns: NEVER,
            paused: 0,
            waiting: Vec::new(),
            failing: 0,
            unreachable: 0,
            foreign: 0,
            roles: vec![(0, None)],
            held: vec![(0, false)],
        });
        Self {
            sites: sites.collect(),
            network: Network::new(group.link, group.nodes.len()),
            group: group.clone(),
            figures: GroupFigures::default(),
            last: None,
            unheld_since: None,
            events: 0,
            record,
            wanted: VecDeque::new(),
        }
    }

    /// Whether these rules never make two holders.
    pub(super) const fn never_two(&self) -> bool {
        !matches!(self.group.members.quorum, Quorum::Trusted)
    }

    /// When something is due about any of them.
    pub(super) fn next_event(&self) -> u64 {
        let mut first = self.network.next_event();
        for site in &self.sites {
            first = first.min(site.starts);
            if site.paused == 0 {
                first = first.min(site.due);
            }
            if site.address > 0 {
                first = first.min(site.address);
            }
        }
        first
    }

    /// One thing that is due at `now`. A lifetime that is over comes first: the kernel waits for
    /// nobody.
    pub(super) fn happen(&mut self, now: u64, random: &mut Random) {
        let over = |site: &Site| site.address > 0 && site.address <= now;
        if let Some(place) = self.sites.iter().position(over) {
            return self.hold(place, 0, now);
        }
        if let Some(place) = self.sites.iter().position(|site| site.starts <= now) {
            return self.start(place, now, random);
        }
        if let Some(frame) = self.network.arrived(now) {
            return self.arrive(frame, now, random);
        }
        let due = |site: &Site| site.paused == 0 && site.due <= now;
        if let Some(place) = self.sites.iter().position(due) {
            self.tell(place, Event::Timeout, now, random);
        }
    }

    fn arrive(&mut self, frame: Frame, now: u64, random: &mut Random) {
        match self.sites.get_mut(frame.to) {
            Some(site) if site.paused > 0 => site.waiting.push(frame),
            Some(_) => {
                let event = Event::Frame { from: node_number(frame.from), message: frame.message };
                self.tell(frame.to, event, now, random);
            }
            None => {}
        }
    }

    /// A daemon comes up, and finds what its disk kept.
    fn start(&mut self, place: usize, now: u64, random: &mut Random) {
        let priority = self.group.nodes.get(place).map_or(0, |node| node.priority);
        let members = Members { me: node_number(place), priority, ..self.group.members };
        let limits = self.group.limits;
        let Some(site) = self.sites.get_mut(place) else { return };
        site.starts = NEVER;
        site.carrier = Carrier::new(false, false, false);
        let Ok(mut rules) = Rules::new(limits, members, MOST_NODES) else { return };
        if !self.group.services.is_empty() {
            rules = rules.with_services();
        }
        let at = site.clock.at(now);
        site.peer = Some(Box::new(Peer::new(rules, Digests::default(), site.disk, at)));
        self.wanted.push_back((place, Wanted::Up));
        self.tell(place, Event::Begin, now, random);
    }

    /// The daemon ends without a word; its kernel goes on.
    fn crash(&mut self, place: usize, now: u64, back: u64) {
        if let Some(site) = self.sites.get_mut(place) {
            site.peer = None;
            site.waiting.clear();
            (site.starts, site.returns) = (back, NEVER);
            site.arm();
        }
        self.wanted.push_back((place, Wanted::Lost));
        self.role(place, now);
    }

    /// Machine and kernel are gone; until `back`, or until somebody starts it.
    pub(super) fn power_off(&mut self, place: usize, now: u64, back: u64) {
        self.crash(place, now, back);
        self.wanted.push_back((place, Wanted::Dead));
        self.hold(place, 0, now);
    }

    /// It is reset, and boots.
    pub(super) fn reset(&mut self, place: usize, now: u64) {
        self.power_off(place, now, now.saturating_add(POWER_BACK));
    }

    /// The daemon of this node is killed.
    pub(super) fn kill(&mut self, place: usize, now: u64) {
        self.crash(place, now, NEVER);
    }

    /// It comes up again.
    pub(super) fn come_up(&mut self, place: usize, now: u64) {
        if let Some(site) = self.sites.get_mut(place).filter(|site| site.peer.is_none()) {
            site.starts = now;
        }
    }

    /// Something happens to a node, or ends. True if its end is to be told.
    pub(super) fn does(
        &mut self,
        place: usize,
        what: NodeDoes,
        begins: bool,
        lasts: Option<u64>,
        now: u64,
        random: &mut Random,
    ) -> bool {
        let count = |count: &mut u32| {
            *count = if begins { *count + 1 } else { count.saturating_sub(1) };
            lasts.is_some()
        };
        let back = |usual: u64| now.saturating_add(lasts.unwrap_or(usual).max(1));
        let Some(site) = self.sites.get_mut(place) else { return false };
        match what {
            NodeDoes::Fails => return count(&mut site.failing),
            NodeDoes::Unreachable => return count(&mut site.unreachable),
            NodeDoes::Foreign => return count(&mut site.foreign),
            NodeDoes::Pause => {
                self.pause(place, begins, now, random);
                return true;
            }
            NodeDoes::Cut => {
                for other in (0..self.sites.len()).filter(|other| *other != place) {
                    self.network.cut(place, other, begins);
                    self.network.cut(other, place, begins);
                }
                return lasts.is_some();
            }
            _ if !begins => {}
            NodeDoes::Crash => self.crash(place, now, back(DAEMON_BACK)),
            NodeDoes::PowerOff => self.power_off(place, now, back(POWER_BACK)),
            // a daemon that stands still is told nothing
            NodeDoes::Stop | NodeDoes::Giveover if site.paused > 0 => {}
            NodeDoes::AddressLost if site.paused > 0 => self.hold(place, 0, now),
            NodeDoes::Stop => {
                if site.peer.is_some() {
                    site.returns = back(POWER_BACK);
                }
                self.tell(place, Event::Stop, now, random);
            }
            NodeDoes::Giveover => self.tell(place, Event::GiveOver { to: None }, now, random),
            NodeDoes::AddressLost => {
                self.hold(place, 0, now);
                let mut events = VecDeque::new();
                let orders = self.sites.get_mut(place).map(|it| it.carrier.address(Done::Lost));
                self.follow(place, orders.unwrap_or_default(), now, &mut events);
                self.feed(place, events, now, random);
            }
        }
        false
    }

    /// The daemon does not run, or runs again and hears what has come meanwhile.
    pub(super) fn pause(&mut self, place: usize, begins: bool, now: u64, random: &mut Random) {
        let Some(site) = self.sites.get_mut(place) else { return };
        site.paused = if begins { site.paused + 1 } else { site.paused.saturating_sub(1) };
        if site.paused > 0 {
            return self.wanted.push_back((place, Wanted::Stands));
        }
        for frame in std::mem::take(&mut site.waiting) {
            self.arrive(frame, now, random);
        }
    }

    /// The way between two nodes is cut, or a cut ends.
    pub(super) fn cut(&mut self, from: usize, to: usize, one_way: bool, begins: bool) {
        self.network.cut(from, to, begins);
        if !one_way {
            self.network.cut(to, from, begins);
        }
    }

    /// Feeds `event`, and answers what it asks for at the same time.
    fn tell(&mut self, place: usize, event: Event, now: u64, random: &mut Random) {
        self.feed(place, VecDeque::from([event]), now, random);
    }

    fn feed(&mut self, place: usize, mut events: VecDeque<Event>, now: u64, random: &mut Random) {
        while let Some(event) = events.pop_front() {
            let Some(site) = self.sites.get_mut(place) else { return };
            let at = site.clock.at(now);
            let Some(peer) = site.peer.as_mut() else { break };
            let actions = peer.handle(event, at);
            self.events += 1;
            for action in &actions {
                self.carry_out(place, *action, now, &mut events, random);
            }
        }
        if let Some(site) = self.sites.get_mut(place) {
            site.arm();
        }
        self.role(place, now);
    }

    fn carry_out(
        &mut self,
        place: usize,
        action: Action,
        now: u64,
        events: &mut VecDeque<Event>,
        random: &mut Random,
    ) {
        let Some(site) = self.sites.get_mut(place) else { return };
        match action {
            Action::Store(durable) => site.disk = durable,
            Action::Send { to, message } => {
                for other in (0..self.sites.len()).filter(|other| *other != place) {
                    let meant = matches!(to, To::All) || to == To::One(node_number(other));
                    if meant {
                        let frame = Frame { from: place, to: other, message };
                        self.network.send(now, frame, random);
                    }
                }
            }
            Action::Take { ticket, until } => {
                let orders = site.carrier.take(ticket, until);
                self.follow(place, orders, now, events);
            }
            Action::Renew { until } => {
                let orders = site.carrier.renew(until);
                self.follow(place, orders, now, events);
            }
            Action::Release { ticket, how } => {
                if how != How::Leftover {
                    self.figures.released += 1;
                }
                let orders = site.carrier.release(ticket, how);
                self.follow(place, orders, now, events);
            }
            Action::Look { ticket } => {
                let look = Look {
                    own: Some(site.failing == 0),
                    trusted: Some(site.unreachable == 0),
                    passed: Nodes::NONE,
                    failed: Nodes::NONE,
                };
                events.push_back(Event::Looked { ticket, look });
            }
            Action::Fence { ticket, node } => {
                let back = now.saturating_add(POWER_BACK);
                self.power_off(usize::from(node.0), now, back);
                events.push_back(Event::Fenced { ticket, ok: true });
            }
            Action::Quit { .. } | Action::Gone => {
                let starts = match site.returns {
                    NEVER => site.starts,
                    back => back.max(now + 1),
                };
                self.crash(place, now, starts);
            }
            _ => {} // roles are read after each event, the rest is for people
        }
    }

    /// The kernel of this node has the address until then, or not.
    fn hold(&mut self, place: usize, until: u64, now: u64) {
        let Some(site) = self.sites.get_mut(place) else { return };
        let held = site.address > 0;
        site.address = until;
        let holds = until > now;
        if !holds {
            site.address = 0;
        }
        if held == holds {
            return;
        }
        if self.record {
            site.held.push((now, holds));
        }
        let holders = self.sites.iter().filter(|site| site.address > now).count();
        if holds {
            if self.last.is_some_and(|last| last != place) {
                self.figures.takeovers.push(now);
            }
            self.last = Some(place);
            if let Some(since) = self.unheld_since.take() {
                self.figures.unheld(now - since);
            }
            if holders > 1 {
                self.figures.two.get_or_insert(now);
            }
        } else if holders == 0 {
            self.unheld_since = Some(now);
        }
    }

    fn role(&mut self, place: usize, now: u64) {
        let Some(site) = self.sites.get_mut(place) else { return };
        let role = site.role();
        if self.record && site.roles.last().is_some_and(|(_, last)| *last != role) {
            site.roles.push((now, role));
        }
    }

    /// What a node is; `None` where its daemon does not run.
    pub(super) fn role_of(&self, place: usize) -> Option<Role> {
        self.sites.get(place)?.role()
    }

    /// Who holds the address.
    pub(super) fn holders(&self, now: u64) -> Nodes {
        let holds =
            |(place, site): (usize, &Site)| (site.address > now).then(|| node_number(place));
        self.sites.iter().enumerate().filter_map(holds).collect()
    }

    /// The end of the world: while nobody holds it, that still counts.
    pub(super) fn settle(&mut self, now: u64) {
        if let Some(since) = self.unheld_since.take() {
            self.figures.unheld(now - since);
        }
    }

    /// Each node's name, what it was, and when it held the address, in true time.
    pub(super) fn lanes(&self) -> impl Iterator<Item = Lane<'_>> {
        self.group
            .nodes
            .iter()
            .zip(&self.sites)
            .map(|(node, site)| (&node.name, site.roles.as_slice(), site.held.as_slice()))
    }
}

/// A node's name, its roles, and when it held the address.
type Lane<'c> = (&'c Arc<str>, &'c [(u64, Option<Role>)], &'c [(u64, bool)]);
