//! Groups between nodes: the machine of each, fed from the link, the clock and people, and what it
//! asks for carried out.
//!
//! Times in here are those of CLOCK_BOOTTIME: a machine must see that its host was suspended.

mod act;
mod address;
mod begin;
mod doc;
#[cfg(feature = "etcd")]
mod etcd;
mod give;
mod legacy;
mod link;
mod look;
mod member;
mod operator;
mod promotion;
mod recovery;
mod run;
mod share;

use std::collections::VecDeque;
use std::net::SocketAddr;

use giveover_core::arbiter::Arbiter;
use giveover_core::node::{Node, Nodes};
use giveover_core::peer::{Event, Peer, Ticket};
use giveover_core::share::Event as SharedEvent;
use giveover_core::time::Instant;

use super::Daemon;
use super::control::ClientId;
use crate::check::resolve::Resolver;
use crate::clock::{BootId, Reading};
use crate::cluster::address::holder::Holder;
use crate::cluster::bucket::Bucket;
use crate::cluster::carrier::Carrier;
use crate::cluster::keys::Keys;
use crate::cluster::net::{Net, TIMER};
use crate::cluster::pair::Pair;
use crate::cluster::store::Store;
use crate::config::plan::ClusterPlan;
use crate::reactor::{Ready, Room, Run, Runner, Timer, Token};

pub(super) use self::begin::Lacking;
use self::look::Looking;
use self::member::Stopping;
use self::run::Running;
use self::share::Shared;

/// Room for as many nodes as can be told apart.
const ROOM: usize = Nodes::MOST as usize;

/// Frames of nobody known, at once and a second.
const STRANGERS: u32 = 100;
const STRANGERS_RATE: u32 = 50;

/// The nodes, as this one has them.
pub(super) struct Cluster {
    plan: Box<ClusterPlan>,
    me: Node,
    keys: Keys,
    store: Store,
    /// Times that the store keeps are of this boot.
    boot: Option<BootId>,
    net: Net,
    /// By node; none for this one.
    pairs: Vec<Option<Pair>>,
    /// Where each is, as far as that is known.
    addresses: Vec<Option<SocketAddr>>,
    resolver: Resolver,
    strangers: Bucket,
    /// Frames that no budget was left for, or that are of nobody.
    strange: u32,
    /// Whether each was heard lately, as people were told.
    heard: Nodes,
    /// Those that refuse connections, as people were told; and that nodes are watched.
    refusing: Nodes,
    watching: bool,
    groups: Vec<Group>,
    /// What the machines are yet to be told, and that they are being told.
    queue: VecDeque<(usize, Event)>,
    busy: bool,
    /// The same of what they share.
    share_queue: VecDeque<(usize, SharedEvent)>,
    sharing: bool,
    runner: Runner<Running>,
    /// The store, if one decides.
    #[cfg(feature = "etcd")]
    etcd: Option<crate::cluster::etcd::client::Etcd>,
    /// Peers that our board has fenced: when they are dead, and who waits for it.
    fenced: Vec<(Instant, usize, Ticket)>,
    /// When connections are looked after.
    look_at: Instant,
    armed: Option<(Instant, Timer)>,
    /// Why we end, if others are the reason, and with which exit status.
    refused: Option<(u8, String)>,
}

/// One group: as many as in the plan, in its order.
struct Group {
    machine: Box<Peer<ROOM>>,
    /// Its claim in the store, if one decides.
    #[cfg(feature = "etcd")]
    claims: Option<etcd::Claims>,
    arbiter: Arbiter<ROOM>,
    /// Nodes that said that they gave it over.
    gave_over: Nodes,
    carrier: Carrier,
    /// The services that move with it, by place, those that others need first.
    services: Vec<usize>,
    /// Its services that run on every node, and are no less a single host's than any other.
    local: Vec<usize>,
    /// Its own checks.
    look: Looking,
    stopping: Option<Stopping>,
    /// The command of its own that runs.
    hook: Option<Run>,
    /// Who holds its addresses, if it has any.
    holder: Option<Holder>,
    /// They are up, as people were told.
    address_up: bool,
    /// A giveover under way that no person asked for the whole group: for whom, and to whom.
    giving: Option<Giving>,
    /// Since when it has its role here; on the daemon's own time line.
    since: Instant,
    /// It was given over, or is about to be, and what follows waits for that.
    waits: Vec<ClientId>,
    /// Who was active when people were told last.
    told: Option<Node>,
    /// This node has said its last about it.
    gone: bool,
    /// What its nodes share.
    shared: Shared,
    /// How often each node may yet be silent at a look, as people are told.
    lives: Vec<u8>,
    /// Somebody else was active, or it was held here: it is no start any more.
    settled: bool,
}

/// A giveover that a monitor asked for, or a person of one service, or the group's own checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Giving {
    /// The service that goes first and whose monitor waits for the end; none where it is not a
    /// service that moves.
    by: Option<(usize, giveover_core::monitor::Ticket)>,
    to: Node,
}

impl Group {
    /// It has said its last, and the store has heard it.
    fn is_over(&self) -> bool {
        #[cfg(feature = "etcd")]
        let told = self.claims.as_ref().is_none_or(etcd::Claims::is_over);
        #[cfg(not(feature = "etcd"))]
        let told = true;
        self.gone && told
    }

    /// What is kept of the group as a whole is kept with this service.
    fn first(&self) -> Option<usize> {
        self.services.first().or(self.local.first()).copied()
    }
}

/// The time of the machines of groups.
fn boot_now() -> Instant {
    Instant::from_millis(Reading::take().boottime_ms)
}

impl Cluster {
    fn name(&self, node: Node) -> String {
        let plan = self.plan.nodes.get(usize::from(node.0));
        plan.map_or_else(|| format!("node {}", node.0), |plan| plan.name.clone())
    }

    /// Every node but this one.
    fn others(&self) -> Nodes {
        let count = u8::try_from(self.plan.nodes.len()).unwrap_or(u8::MAX);
        Nodes::first(count).without(self.me)
    }

    fn pair(&mut self, node: Node) -> Option<&mut Pair> {
        self.pairs.get_mut(usize::from(node.0))?.as_mut()
    }

    /// When anything of the store is due.
    #[cfg(feature = "etcd")]
    fn store_timeout(&self) -> Option<Instant> {
        let claims = self.groups.iter().filter_map(|it| it.claims.as_ref()?.machine.poll_timeout());
        let etcd = self.etcd.as_ref().and_then(|it| it.poll_timeout());
        claims.chain(etcd).min()
    }

    #[cfg(not(feature = "etcd"))]
    #[expect(clippy::unused_self, reason = "with the feature `etcd` it has a store")]
    const fn store_timeout(&self) -> Option<Instant> {
        None
    }

    /// When anything of it is due.
    fn poll_timeout(&self, now: Instant) -> Option<Instant> {
        let machines = self.groups.iter().filter_map(|group| group.machine.poll_timeout());
        let shared = self.groups.iter().filter_map(|group| group.shared.machine.poll_timeout());
        let connects = self.pairs.iter().flatten().filter_map(Pair::connect_at);
        let fenced = self.fenced.iter().map(|(at, ..)| *at).min();
        let store = self.store_timeout();
        let rest = [self.net.poll_timeout(now), Some(self.look_at), fenced, store];
        machines.chain(shared).chain(connects).chain(rest.into_iter().flatten()).min()
    }
}

impl Daemon {
    /// A source of [`Room::Cluster`] is ready.
    pub(super) fn cluster_ready(&mut self, ready: Ready) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.net.ready(&self.reactor, ready, boot_now());
        self.take_news();
    }

    /// The timer of [`Room::Cluster`].
    pub(super) fn cluster_due(&mut self) {
        let now = boot_now();
        let Some(cluster) = &mut self.cluster else { return };
        cluster.armed = None;
        cluster.net.due(&self.reactor, now);
        self.take_news();
        #[cfg(feature = "etcd")]
        self.look_after_etcd();
        let Some(cluster) = &mut self.cluster else { return };
        let due = |group: &Group| group.machine.poll_timeout().is_some_and(|at| at <= now);
        let due: Vec<usize> =
            cluster.groups.iter().enumerate().filter(|(_, it)| due(it)).map(|it| it.0).collect();
        for group in due {
            self.tell_group(group, Event::Timeout);
        }
        self.look_after_fenced();
        self.look_after_links();
        self.look_after_holders();
        self.look_after_shared();
    }

    /// The end of every turn: one timer for all that will be due.
    pub(super) fn look_after_cluster(&mut self) {
        let Some(cluster) = &mut self.cluster else { return };
        let boot = boot_now();
        let wanted = cluster.poll_timeout(boot);
        if cluster.armed.map(|(at, _)| at) == wanted {
            return;
        }
        if let Some((_, timer)) = cluster.armed.take() {
            self.reactor.timers.disarm(timer);
        }
        let now = self.clock.now();
        let ours = |at: Instant| Instant::from_millis(now.as_millis() + at.since(boot));
        let token = Token::new(Room::Cluster, TIMER, 0);
        cluster.armed = wanted.map(|at| (at, self.reactor.timers.arm(token, ours(at))));
    }

    /// Tells the machine of a group what happened, once it has been told all that was before.
    fn tell_group(&mut self, group: usize, event: Event) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.queue.push_back((group, event));
        if std::mem::replace(&mut cluster.busy, true) {
            return;
        }
        while let Some((group, event)) =
            self.cluster.as_mut().and_then(|cluster| cluster.queue.pop_front())
        {
            self.feed_group(group, event);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.busy = false;
        }
    }

    /// The group with `run = "all"` that `service` is in.
    pub(super) fn group_everywhere_of(&self, service: usize) -> Option<usize> {
        let cluster = self.cluster.as_deref()?;
        cluster.groups.iter().position(|group| group.local.contains(&service))
    }

    /// The group that `service` is in, if its nodes decide where it runs.
    pub(super) fn group_of(&self, service: usize) -> Option<usize> {
        let cluster = self.cluster.as_deref()?;
        cluster.groups.iter().position(|group| group.services.contains(&service))
    }

    /// Whether all groups have said their last, or there are none.
    pub(super) fn is_cluster_gone(&self) -> bool {
        self.cluster.as_deref().is_none_or(|cluster| cluster.groups.iter().all(Group::is_over))
    }

    /// Told to stop: what is held here is let go in good order, and the others hear of it.
    pub(super) fn stop_groups(&mut self) {
        let count = self.cluster.as_deref().map_or(0, |cluster| cluster.groups.len());
        for group in 0..count {
            // What this node began nobody else can end.
            self.tell_shared(group, SharedEvent::Recovered);
            self.tell_group(group, Event::Stop);
        }
    }

    /// They had their time.
    pub(super) fn groups_are_late(&mut self) {
        if let Some(cluster) = &mut self.cluster {
            for group in &mut cluster.groups {
                group.gone = true;
                #[cfg(feature = "etcd")]
                group.claims.iter_mut().for_each(etcd::Claims::end_now);
            }
        }
    }

    /// The loop is over: the link is closed. Returns the exit status that a peer is the reason of.
    pub(super) fn end_cluster(&mut self) -> Option<(u8, String)> {
        let now = self.now;
        let cluster = self.cluster.as_deref_mut()?;
        cluster.runner.cancel_all(&mut self.reactor, now);
        cluster.net.close(&self.reactor);
        #[cfg(feature = "etcd")]
        cluster.etcd.iter_mut().for_each(|etcd| etcd.close(&self.reactor));
        cluster.groups.iter_mut().filter_map(|it| it.holder.as_mut()).for_each(Holder::close);
        cluster.refused.take()
    }
}
