//! What goes wrong, and when: as written, or drawn by chance.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use giveover_core::board::{End, Start};
use giveover_core::monitor::{Event, Holder};

use super::Play;
use super::nodes::Cluster;
use super::random::Random;
use super::service::{Ill, NEVER};
use crate::config::world::{
    BoardDoes, ClockTurn, DaemonDoes, DiskDoes, Does, HostDoes, LinkDoes, NodeDoes, Verb, What,
    When, World,
};

/// A daemon that was killed is back after so long.
const DAEMON_BACK: u64 = 1_000;

/// What is to come: when, and which fault, or the end of which.
pub(super) struct Faults {
    queue: BinaryHeap<Reverse<(u64, usize, bool)>>,
}

impl Faults {
    pub(super) fn new(world: &World, random: &mut Random) -> Self {
        let mut queue = BinaryHeap::new();
        for (place, fault) in world.faults.iter().enumerate() {
            let at = match fault.when {
                When::At(at) => at,
                When::Every(mean) => random.wait(mean),
            };
            queue.push(Reverse((at, place, false)));
        }
        Self { queue }
    }

    pub(super) fn next_event(&self) -> u64 {
        self.queue.peek().map_or(NEVER, |Reverse((at, ..))| *at)
    }
}

/// Whether anything in `world` can make a daemon forget: only then is there a disk.
pub(super) fn can_lose(world: &World) -> bool {
    let loses = |what: &What| matches!(what, What::Host(_) | What::Daemon(DaemonDoes::Crash));
    let hard = |limits: &giveover_core::policy::Limits| {
        limits.failover_mode == giveover_core::policy::FailoverMode::Hard
    };
    world.board.is_some()
        || world.faults.iter().any(|fault| loses(&fault.what))
        || world.services.iter().any(|service| hard(service.policy.limits()))
}

impl Play<'_> {
    pub(super) fn fault_due(&mut self) {
        let Some(Reverse((_, place, ends))) = self.faults.queue.pop() else { return };
        let Some(fault) = self.world.faults.get(place) else { return };
        if ends {
            return self.end(fault.what);
        }
        if let When::Every(mean) = fault.when {
            let next = self.now.saturating_add(self.random.wait(mean));
            self.faults.queue.push(Reverse((next, place, false)));
        }
        let lasts = fault.lasts.map(|range| self.random.within(range).max(1));
        if self.begin_fault(fault.what, lasts) {
            if let Some(lasts) = lasts {
                let ends = self.now.saturating_add(lasts);
                self.faults.queue.push(Reverse((ends, place, true)));
            }
        }
    }

    /// Begins a fault; true if it has an end of its own that must be told.
    fn begin_fault(&mut self, what: What, lasts: Option<u64>) -> bool {
        let until = lasts.map(|lasts| self.now.saturating_add(lasts));
        match what {
            What::Service(place, does) => {
                self.service_does(place, does, until);
                return until.is_some();
            }
            What::Host(HostDoes::Hang) => self.host_hangs(lasts),
            What::Host(HostDoes::Reboot) => {
                if self.host.is_up() {
                    self.announce_to_board(End::Reboot);
                    self.host_goes_down();
                    self.host_boots();
                }
            }
            What::Host(HostDoes::PowerCut) => self.power_cut(lasts),
            What::Daemon(DaemonDoes::Crash) => {
                self.daemon_stops(lasts.unwrap_or(DAEMON_BACK), true);
            }
            What::Daemon(DaemonDoes::Pause) => {
                self.daemon_stops(lasts.unwrap_or(DAEMON_BACK), false);
            }
            What::NetworkCut => {
                if self.cut == 0 {
                    self.cut_since = self.now;
                }
                self.cut += 1;
                self.node_does(0, NodeDoes::Cut, true, lasts);
                self.trusted_changed();
                return true;
            }
            What::TrustedSilent => {
                self.silent += 1;
                self.node_does(0, NodeDoes::Unreachable, true, lasts);
                self.trusted_changed();
                return true;
            }
            What::Board(does) => return self.board_does(does, true),
            What::Node(0, does) if self.host_is_node(does) => self.host_does(does, lasts),
            What::Node(place, does) => return self.node_does(place, does, true, lasts),
            What::Link(from, to, does) => {
                self.link_does(from, to, does, true);
                return true;
            }
            What::Member(pool, member, does) => {
                return self.member_does(pool, member, does, true, lasts);
            }
            What::Disk(does) => return self.disk_does(does, true),
            What::Clock(clock) => match clock.turn {
                ClockTurn::Step => {} // nothing that is decided follows the wall clock
                ClockTurn::Drift => {
                    self.clock.drift(self.now, clock.by);
                    self.rearm();
                    return true;
                }
            },
        }
        false
    }

    /// A fault that lasted ends.
    fn end(&mut self, what: What) {
        let now = self.now;
        match what {
            What::Service(plan, _) => {
                let seats = self.seats.iter().zip(&mut self.services);
                for (_, service) in seats.filter(|(seat, _)| seat.plan == plan) {
                    service.ills.retain(|ill| ill.until.is_none_or(|until| until > now));
                    service.truth(now);
                }
            }
            What::NetworkCut => {
                self.cut = self.cut.saturating_sub(1);
                self.node_does(0, NodeDoes::Cut, false, None);
                self.trusted_changed();
            }
            What::TrustedSilent => {
                self.silent = self.silent.saturating_sub(1);
                self.node_does(0, NodeDoes::Unreachable, false, None);
                self.trusted_changed();
            }
            What::Board(does) => {
                self.board_does(does, false);
            }
            What::Disk(does) => {
                self.disk_does(does, false);
            }
            What::Clock(_) => {
                self.clock.drift(now, 0);
                self.rearm();
            }
            What::Node(place, does) => {
                self.node_does(place, does, false, None);
            }
            What::Member(pool, member, does) => {
                self.member_does(pool, member, does, false, None);
            }
            What::Link(from, to, does) => self.link_does(from, to, does, false),
            What::Host(_) | What::Daemon(_) => {} // these end by themselves
        }
    }

    /// Where services move, what takes the first node's daemon or machine away takes the host's.
    fn host_is_node(&self, does: NodeDoes) -> bool {
        let takes = matches!(does, NodeDoes::Crash | NodeDoes::Pause | NodeDoes::PowerOff);
        takes && self.cluster.as_ref().is_some_and(Cluster::moves)
    }

    fn host_does(&mut self, does: NodeDoes, lasts: Option<u64>) {
        match does {
            NodeDoes::PowerOff if self.board.is_some() => self.power_cut(lasts),
            NodeDoes::PowerOff => {
                self.host_goes_down();
                self.host_boots_after(lasts.unwrap_or(0));
            }
            _ => self.daemon_stops(lasts.unwrap_or(DAEMON_BACK), does == NodeDoes::Crash),
        }
    }

    /// Something happens to a node, or ends; true if its end is to be told.
    fn node_does(
        &mut self,
        place: usize,
        does: NodeDoes,
        begins: bool,
        lasts: Option<u64>,
    ) -> bool {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return false };
        let told = cluster.does(place, does, begins, lasts, now, &mut self.random);
        self.follow_nodes();
        told
    }

    fn link_does(&mut self, from: usize, to: usize, does: LinkDoes, begins: bool) {
        if let Some(cluster) = &mut self.cluster {
            cluster.cut(from, to, does == LinkDoes::CutOneWay, begins);
        }
    }

    /// The clock goes otherwise: every deadline is at another true time.
    fn rearm(&mut self) {
        for pool in &mut self.pools {
            pool.arm(&self.clock);
        }
        let own = self.own();
        for service in self.services.iter_mut().take(own) {
            service.arm(&self.clock);
        }
    }

    fn service_does(&mut self, plan: usize, does: Does, until: Option<u64>) {
        let now = self.now;
        let place = self.where_it_runs(plan);
        let daemon = self.daemon_at(self.node_of(place)).is_some();
        let Some(service) = self.services.get_mut(place) else { return };
        let person = |event: Event| daemon.then_some(event);
        let event = match does.verb {
            Verb::Die => {
                if !service.alive || service.frozen {
                    return;
                }
                service.alive = false;
                service.forget_leak();
                service.figures.deaths.push(now);
                service.truth(now);
                // while it is being stopped its end is what was wanted
                if service.work.is_none() {
                    service.unheard = true;
                }
                return;
            }
            Verb::Hold => person(Event::Hold(Holder::Operator)),
            Verb::Release => person(Event::Release(Holder::Operator)),
            Verb::Clear => person(Event::Clear),
            Verb::Restart => person(Event::Restart),
            Verb::Giveover => person(Event::Giveover),
            verb => {
                service.ills.push(Ill { verb, weight: does.weight, until });
                service.truth(now);
                return;
            }
        };
        if let Some(event) = event {
            self.feed(place, event);
        }
    }

    fn board_does(&mut self, does: BoardDoes, begins: bool) -> bool {
        if self.board.is_none() {
            return false;
        }
        match does {
            BoardDoes::Reset if begins => self.start_board(Start::BoardReset),
            BoardDoes::Clear if begins => self.clear_board(),
            BoardDoes::Torn if begins => self.board_tears(),
            BoardDoes::Reset | BoardDoes::Clear | BoardDoes::Torn => {}
            BoardDoes::StoreFails => {
                self.board_store(begins);
                return true;
            }
            BoardDoes::LinkLost => {
                self.board_port(begins);
                return true;
            }
            BoardDoes::Jumper => {
                self.board_jumper(begins);
                return true;
            }
        }
        false
    }

    fn disk_does(&mut self, does: DiskDoes, begins: bool) -> bool {
        let Some(disk) = &mut self.disk else { return false };
        let count = match does {
            DiskDoes::Torn => &mut disk.torn,
            DiskDoes::Lost => &mut disk.losing,
            DiskDoes::Full => &mut disk.full,
        };
        *count = if begins { *count + 1 } else { count.saturating_sub(1) };
        true
    }
}
