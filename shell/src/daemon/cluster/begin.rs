//! Who we are among the nodes, and what must be there before anything is claimed.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use giveover_core::arbiter::Arbiter;
use giveover_core::node::{Node, Nodes};
use giveover_core::peer::{Event, Members, Peer, Rules};

use super::look::Looking;
use super::share::Shared;
use super::{Cluster, Group, ROOM, STRANGERS, STRANGERS_RATE, address, boot_now};
use crate::check::resolve::{self, Resolver};
use crate::clock::BootId;
use crate::cluster::bucket::Bucket;
use crate::cluster::carrier::Carrier;
use crate::cluster::digest;
use crate::cluster::keys::Keys;
use crate::cluster::net::Net;
use crate::cluster::pair::Pair;
use crate::cluster::store::Store;
use crate::config::cluster;
use crate::config::plan::{ClusterPlan, Host};
use crate::daemon::{Daemon, exit};
use crate::message;
use crate::reactor::{Room, Runner};

/// Why a node cannot take part: exit status and what to tell.
pub(in crate::daemon) struct Lacking(pub(in crate::daemon) u8, pub(in crate::daemon) String);

impl Daemon {
    /// Takes up the nodes of the plan, if there are any: finds out who we are, reads the key and
    /// what was kept, binds the port. `witness`: it was started as one.
    pub(in crate::daemon) fn open_cluster(&mut self, witness: bool) -> Result<(), Lacking> {
        let Some(plan) = self.plan.cluster.clone() else {
            let text = "giveover: a witness needs [cluster] and [node.NAME]";
            return if witness {
                Err(Lacking(exit::CONFIGURATION, text.to_owned()))
            } else {
                Ok(())
            };
        };
        let me = who_we_are(&plan)?;
        check_kind(&plan, me, witness)?;
        if !witness && !self.plan.host.observe {
            address::may_hold(&plan)?;
        }
        let name = plan.nodes.get(usize::from(me.0)).map(|node| node.name.clone());
        self.plan.host.node = name.unwrap_or_default();
        let refused =
            |why| Lacking(exit::CONFIGURATION, format!("giveover: the cluster's key {why}"));
        let keys = Keys::of_name(&plan.key).map_err(refused)?;
        let dir = self.journal.place().dir();
        let store = Store::open(dir, self.clock.wall_ms(self.now)).map_err(|error| {
            let text = format!("giveover: {}: {error}", dir.join("cluster").display());
            Lacking(exit::STATE, text)
        })?;
        let net = self.bind_cluster(&plan, me)?;
        let groups = self.make_groups(&plan, me, &store)?;
        let (now, count) = (boot_now(), plan.nodes.len());
        let others = |node: u8| Node(node) != me;
        let incarnation = store.incarnation();
        let numbers = 0..u8::try_from(count).unwrap_or(u8::MAX);
        let pair = |node: u8| Pair::new(me, Node(node), incarnation, me.0 < node, now);
        self.cluster = Some(Box::new(Cluster {
            me,
            keys,
            store,
            boot: BootId::read(),
            net,
            pairs: numbers.map(|node| others(node).then(|| pair(node))).collect(),
            addresses: vec![None; count],
            resolver: Resolver::new(resolve::system),
            strangers: Bucket::new(STRANGERS, STRANGERS_RATE, now),
            strange: 0,
            heard: Nodes::NONE,
            refusing: Nodes::NONE,
            watching: false,
            groups,
            queue: VecDeque::new(),
            busy: false,
            share_queue: VecDeque::new(),
            sharing: false,
            runner: Runner::new(Room::GroupCommand),
            #[cfg(feature = "etcd")]
            etcd: open_etcd(&plan, me, now),
            fenced: Vec::new(),
            look_at: now,
            armed: None,
            refused: None,
            plan,
        }));
        Ok(())
    }

    fn bind_cluster(&self, plan: &ClusterPlan, me: Node) -> Result<Net, Lacking> {
        let Some(node) = plan.nodes.get(usize::from(me.0)) else {
            return Err(Lacking(exit::CONFIGURATION, "giveover: no such node".to_owned()));
        };
        let port = node.port.unwrap_or(plan.port);
        let address = match &node.host {
            Host::Address(address) => Some(*address),
            Host::Name(_) | Host::Socket(_) => None,
        };
        Net::bind(&self.reactor, address, port).map_err(|error| {
            let at = format!("{}:{port}", node.host);
            let why = match error.kind() {
                io::ErrorKind::AddrInUse => "another program has it".to_owned(),
                io::ErrorKind::AddrNotAvailable => "this host has no such address".to_owned(),
                _ => error.to_string(),
            };
            Lacking(exit::PORT_IN_USE, format!("giveover: {at} cannot be heard on: {why}"))
        })
    }

    fn make_groups(
        &self,
        plan: &ClusterPlan,
        me: Node,
        store: &Store,
    ) -> Result<Vec<Group>, Lacking> {
        let now = boot_now();
        let priority = plan.nodes.get(usize::from(me.0)).map_or(0, |node| node.priority);
        let observe = self.plan.host.observe;
        let count = u8::try_from(plan.nodes.len()).unwrap_or(u8::MAX);
        let others = Nodes::first(count).without(me);
        let members = Members { me, priority, observe, ..plan.members };
        let rules = Rules::new(plan.limits, members, ROOM)
            .map_err(|error| Lacking(exit::CONFIGURATION, format!("giveover: cluster: {error}")))?;
        let group = |(place, group): (usize, &crate::config::plan::GroupPlan)| Group {
            #[cfg(feature = "etcd")]
            claims: super::etcd::Claims::new(plan, now),
            machine: Box::new(Peer::new(
                match group.everywhere || group.services.is_empty() {
                    true => rules,
                    false => rules.with_services(),
                },
                digest::of(plan, group),
                store.group(&group.name),
                now,
            )),
            arbiter: Arbiter::new(group.pingpong_interval),
            gave_over: Nodes::NONE,
            carrier: Carrier::new(
                group.on_active.is_some(),
                group.on_standby.is_some(),
                group.everywhere,
            ),
            services: Vec::new(),
            local: Vec::new(),
            look: Looking::new(group, self.now),
            stopping: None,
            hook: None,
            holder: address::holder(place, group).filter(|_| !observe),
            address_up: false,
            giving: None,
            since: self.now,
            waits: Vec::new(),
            told: None,
            gone: false,
            shared: Shared::new(me, others, store.shared(&group.name), now),
            lives: vec![plan.limits.life; plan.nodes.len()],
            settled: false,
        };
        Ok(plan.groups.iter().enumerate().map(group).collect())
    }

    /// Which services are in which group, in the order in which they are started.
    pub(in crate::daemon) fn place_groups(&mut self) {
        let order = self.start_order();
        let Some(cluster) = &mut self.cluster else { return };
        for (group, plan) in cluster.groups.iter_mut().zip(&cluster.plan.groups) {
            let is_in = |service: &&usize| {
                let known = self.plan.services.get(**service);
                known.is_some_and(|known| plan.services.iter().any(|name| **name == *known.name))
            };
            let services = order.iter().filter(is_in).copied().collect();
            (group.services, group.local) = match plan.everywhere {
                true => (Vec::new(), services),
                false => (services, Vec::new()),
            };
        }
    }

    /// The machines begin: whatever an earlier life left of a group here goes first.
    pub(in crate::daemon) fn begin_cluster(&mut self) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let plan = cluster.plan.clone();
        let count = cluster.groups.len();
        self.say_host(message::Event::Decides, cluster::decides(&plan));
        for line in cluster::told(&plan) {
            self.say_host(message::Event::Decides, line);
        }
        self.tell_legacy_start();
        self.restore_gave_over();
        #[cfg(feature = "etcd")]
        self.look_up_etcd();
        for group in 0..count {
            self.tell_group(group, Event::Begin);
        }
        self.look_after_links();
        self.look_after_cluster();
    }

    /// With nodes to answer to, a node that no trusted server answers does not begin: it would find
    /// itself down. `None`: it may begin.
    pub(in crate::daemon) fn lacks_trusted(&self) -> Option<Lacking> {
        let (answering, total) = self.trusted();
        if total == 0 || answering > 0 {
            return None;
        }
        let checks = &self.plan.services.get(self.shown())?.checks;
        let names: Vec<&str> = checks.iter().map(|check| &*check.name).collect();
        let text = format!("giveover: no trusted server answers: {}", names.join(", "));
        Some(Lacking(exit::NO_TRUSTED, text))
    }
}

/// The store that the file names. Nothing is asked of it yet, nor need it be there.
#[cfg(feature = "etcd")]
fn open_etcd(
    plan: &ClusterPlan,
    me: Node,
    now: giveover_core::time::Instant,
) -> Option<crate::cluster::etcd::client::Etcd> {
    let nodes: Vec<String> = plan.nodes.iter().map(|node| node.name.clone()).collect();
    let groups: Vec<String> = plan.groups.iter().map(|group| group.name.clone()).collect();
    let etcd = plan.etcd.as_ref()?;
    Some(crate::cluster::etcd::client::Etcd::new(etcd, me, &nodes, &groups, now))
}

/// The node that the file names, else the one whose address is ours.
fn who_we_are(plan: &ClusterPlan) -> Result<Node, Lacking> {
    if let Some(me) = plan.me {
        return Ok(me);
    }
    let ours = |host: &Host| match host {
        // A socket can only be bound to what this host has.
        Host::Address(address) => UdpSocket::bind(SocketAddr::new(*address, 0)).is_ok(),
        // Before the loop: a name that hangs here hangs nothing else.
        Host::Name(name) => resolve::system(name).is_ok_and(|found| {
            found.iter().any(|it| UdpSocket::bind(SocketAddr::new(*it, 0)).is_ok())
        }),
        Host::Socket(_) => false,
    };
    let mine: Vec<usize> = plan
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| ours(&node.host))
        .map(|(place, _)| place)
        .collect();
    let names = |places: &[usize]| {
        let names = places.iter().filter_map(|place| plan.nodes.get(*place));
        names.map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    match mine.as_slice() {
        [one] => Ok(Node(u8::try_from(*one).unwrap_or(u8::MAX))),
        [] => {
            let all: Vec<usize> = (0..plan.nodes.len()).collect();
            let text = format!(
                "giveover: this host has the address of none of the nodes {}; [host] node = \"NAME\" \
                 says which it is",
                names(&all)
            );
            Err(Lacking(exit::CONFIGURATION, text))
        }
        several => {
            let text = format!(
                "giveover: this host has the addresses of several nodes: {}; [host] node = \"NAME\" \
                 says which it is",
                names(several)
            );
            Err(Lacking(exit::CONFIGURATION, text))
        }
    }
}

/// A witness is started as one, and no other node is.
fn check_kind(plan: &ClusterPlan, me: Node, witness: bool) -> Result<(), Lacking> {
    let Some(node) = plan.nodes.get(usize::from(me.0)) else { return Ok(()) };
    let text = match (node.witness, witness) {
        (true, false) => format!(
            "giveover: node.{} is a witness, which serves nothing: `giveover witness` runs it",
            node.name
        ),
        (false, true) => {
            format!("giveover: node.{} is no witness: `giveover run` runs it", node.name)
        }
        (true, true) | (false, false) => return Ok(()),
    };
    Err(Lacking(exit::CONFIGURATION, text))
}
