//! How groups and nodes are, for screens and JSON.

use giveover_core::arbiter::Answer;
use giveover_core::node::Node;
use giveover_core::peer::{Quorum, Role};

use super::boot_now;
use crate::config::cluster::takeover_ms;
use crate::daemon::Daemon;
use crate::report::model::{GroupDoc, NodeDoc, RecoveryDoc, SharedDoc, SharedMemberDoc};

impl Daemon {
    /// The groups in file order.
    pub(in crate::daemon) fn group_docs(&self) -> Vec<GroupDoc> {
        let count = self.cluster.as_deref().map_or(0, |cluster| cluster.groups.len());
        (0..count).filter_map(|group| self.group_doc(group)).collect()
    }

    fn group_doc(&self, group: usize) -> Option<GroupDoc> {
        let (boot, now) = (boot_now(), self.now);
        let cluster = self.cluster.as_deref()?;
        let (plan, state) = (cluster.plan.groups.get(group)?, cluster.groups.get(group)?);
        let machine = &state.machine;
        let role = machine.role();
        let limits = &cluster.plan.limits;
        let nodes = 0..u8::try_from(cluster.plan.nodes.len()).unwrap_or(u8::MAX);
        let (answering, total) = self.trusted();
        Some(GroupDoc {
            name: plan.name.clone(),
            role: role.to_string(),
            since: self.clock.wall(state.since),
            for_ms: now.since(state.since),
            active: machine.active().map(|node| cluster.name(node)),
            term: machine.term(),
            quorum: cluster.plan.members.quorum.to_string(),
            votes: machine.votes(),
            votes_needed: machine.rules().votes_needed(),
            members: cluster.plan.members.count,
            two_holders: cluster.plan.members.quorum == Quorum::Trusted,
            run: if plan.everywhere { "all" } else { "active" }.to_owned(),
            services: plan.services.clone(),
            addresses: plan.addresses.iter().map(|(it, prefix)| format!("{it}/{prefix}")).collect(),
            holds: machine.holds(),
            lease_ms: u64::from(limits.lease.as_millis()),
            grant_left_ms: machine.grant().map(|end| end.since(boot)),
            takeover_ms: takeover_ms(&cluster.plan),
            strangers: cluster.strange.saturating_add(cluster.net.turned_away()),
            trusted_answering: answering,
            trusted: total,
            trusted_servers: self.trusted_docs(),
            interface: plan.interface.clone(),
            may_give: (role == Role::Active).then(|| self.may_give(group)),
            wait_ms: u64::from(limits.wait.as_millis()),
            interval_ms: u64::from(limits.interval.as_millis()),
            nodes: nodes.filter_map(|node| self.node_doc(group, Node(node))).collect(),
            #[cfg(feature = "etcd")]
            etcd: self.etcd_docs(),
            #[cfg(not(feature = "etcd"))]
            etcd: Vec::new(),
            pool: self.shared_doc(group),
            recovery: state.shared.machine.recovery().map(|(by, until)| RecoveryDoc {
                by: cluster.name(by),
                left_ms: until.since(boot),
            }),
        })
    }

    /// `giveover of front to gw-b is allowed now`
    fn may_give(&self, group: usize) -> String {
        let name = self.group_name(group);
        let answer = self.ask_arbiter(group, None, false, None);
        match &answer {
            Answer::Granted(node) => {
                let to = self.cluster.as_deref().map_or(String::new(), |it| it.name(*node));
                format!("giveover of {name} to {to} is allowed now")
            }
            Answer::NotNow | Answer::Denied(_) => {
                format!("giveover of {name}: {}", self.denied_words(&answer))
            }
        }
    }

    fn shared_doc(&self, group: usize) -> Option<SharedDoc> {
        let cluster = self.cluster.as_deref()?;
        let plan = cluster.plan.groups.get(group)?.pool.as_ref()?;
        let machine = &cluster.groups.get(group)?.shared.machine;
        let (pool, number) = (machine.pool(), machine.number());
        let member = |(name, index): (&String, u8)| {
            let detached = pool.detached.has(Node(index));
            let out = detached || self.takes_no_part(&plan.name, name);
            SharedMemberDoc {
                index,
                name: name.clone(),
                address: self.authority_of(&plan.name, name).unwrap_or_default(),
                state: if out { 3 } else { 2 },
                detached,
            }
        };
        let primary = pool.primary.and_then(|it| plan.members.get(usize::from(it.0)));
        Some(SharedDoc {
            name: plan.name.clone(),
            command: format!("{}.{}", number.term, number.n),
            primary: primary.cloned(),
            promotion: self.promotion_doc(group),
            members: plan.members.iter().zip(0..).map(member).collect(),
        })
    }

    fn node_doc(&self, group: usize, node: Node) -> Option<NodeDoc> {
        let boot = boot_now();
        let cluster = self.cluster.as_deref()?;
        let plan = cluster.plan.nodes.get(usize::from(node.0))?;
        let (state, group_plan) = (cluster.groups.get(group)?, cluster.plan.groups.get(group)?);
        let me = node == cluster.me;
        let member = state.machine.member(node);
        let pair = cluster.pairs.get(usize::from(node.0)).and_then(Option::as_ref);
        let wait = cluster.plan.limits.wait;
        let role = if me {
            state.machine.role()
        } else {
            member.map_or(Role::Init, |member| member.role())
        };
        let heard = member.and_then(|member| member.heard());
        let alive = me || member.is_some_and(|member| member.lives(boot, wait));
        let age_ms = match member {
            Some(member) => heard.map(|_| member.age_ms(boot)),
            None => Some(boot.since(state.machine.since())),
        };
        let began = age_ms.map(|ms| {
            let at = self.now.as_millis().saturating_sub(ms);
            self.clock.wall(giveover_core::time::Instant::from_millis(at))
        });
        let own_life = match group_plan.everywhere {
            true => state.machine.life(),
            false => cluster.plan.limits.life.saturating_sub(state.look.failed),
        };
        let [garbage, unauthentic, repeated, over_budget] =
            pair.map_or([0; 4], |pair| pair.refusals());
        Some(NodeDoc {
            name: plan.name.clone(),
            index: node.0,
            me,
            witness: plan.witness,
            host: plan.host.to_string(),
            port: plan.port.unwrap_or(cluster.plan.port),
            role: role.to_string(),
            number: role.number(),
            alive,
            holds: if me { state.machine.holds() } else { member.is_some_and(|it| it.holds()) },
            term: if me { state.machine.term() } else { member.map_or(0, |it| it.term()) },
            since: began,
            heard_ms: heard.map(|at| boot.since(at)),
            life: if me {
                own_life
            } else {
                let left = state.lives.get(usize::from(node.0)).copied().unwrap_or(0);
                member.map_or(0, |member| member.life().min(left))
            },
            life_of: cluster.plan.limits.life,
            why: pair.and_then(|pair| pair.why(wait, boot)).map(|why| why.word().to_owned()),
            why_text: pair.and_then(|pair| pair.why(wait, boot)).map(|why| why.to_string()),
            refused: member.and_then(|member| member.refused()).map(|why| why.to_string()),
            checks: self.group_check_docs(group, node),
            connected: cluster.net.of(node).is_some(),
            taken: pair.map_or(0, |pair| pair.taken()),
            garbage,
            unauthentic,
            repeated,
            over_budget,
        })
    }
}
