//! What groups ask of a machine that serves.

use std::net::UdpSocket;

use super::super::Loaded;
use super::super::plan::{ClusterPlan, Fence, Host, RecoveryPlan};
use super::super::report::{Findings, Report};
use super::program;

/// Whether this machine is no witness, which serves and asks nothing: as the file says who we are, or
/// our addresses do.
pub(super) fn serves_here(plan: &ClusterPlan) -> bool {
    let ours = |host: &Host| match host {
        // A socket can only be bound to what this host has.
        Host::Address(address) => UdpSocket::bind((*address, 0)).is_ok(),
        Host::Name(_) | Host::Socket(_) => false,
    };
    let me = plan.me.and_then(|me| plan.nodes.get(usize::from(me.0)));
    let me = me.or_else(|| plan.nodes.iter().find(|node| ours(&node.host)));
    me.is_none_or(|me| !me.witness)
}

/// Looks for what groups run.
pub fn look_at_groups(loaded: &Loaded) -> Report {
    let mut out = Findings::default();
    let cluster = loaded.plan.cluster.iter().filter(|plan| serves_here(plan));
    for (group, places) in cluster.clone().flat_map(|plan| &plan.groups).zip(&loaded.groups) {
        let commands = group.commands.as_ref();
        let nft = vec!["nft".to_owned()];
        let (ports, block, unblock) = match &group.recovery {
            None => (None, None, None),
            Some(RecoveryPlan::Ports(_)) => (Some(&nft), None, None),
            Some(RecoveryPlan::Commands { block, unblock }) => (None, Some(block), Some(unblock)),
        };
        let all = [
            ("on_active", group.on_active.as_ref()),
            ("on_standby", group.on_standby.as_ref()),
            ("up", commands.map(|it| &it.up)),
            ("down", commands.map(|it| &it.down)),
            ("announce", commands.and_then(|it| it.announce.as_ref())),
            ("promote", group.pool.as_ref().and_then(|it| it.promote.as_ref())),
            ("recovery.ports", ports),
            ("recovery.block", block),
            ("recovery.unblock", unblock),
        ];
        for (key, argv) in all {
            if let (Some(argv), Some(place)) = (argv, places.get(key)) {
                program(key, argv, None, place, &mut out);
            }
        }
    }
    for plan in cluster {
        if let (Some(Fence::Command(argv)), Some(place)) = (&plan.fence, loaded.fence) {
            program("fence.command", argv, None, place, &mut out);
        }
    }
    let (errors, warnings) = out.into_reports(loaded.warnings.shared_sources());
    errors.with(&warnings)
}
