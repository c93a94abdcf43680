//! What must be the same on every node, as numbers that can be compared (P12).

use giveover_core::peer::Digests;
use ring::digest::{Context, SHA256};

use crate::config::cluster::{ClusterPlan, GroupPlan};

/// The digests of `group`.
#[must_use]
pub fn of(plan: &ClusterPlan, group: &GroupPlan) -> Digests {
    let nodes: Vec<_> = plan
        .nodes
        .iter()
        .map(|node| {
            let port = node.port.unwrap_or(plan.port);
            (&*node.name, node.host.to_string(), port, node.priority, node.witness)
        })
        .collect();
    let members = &plan.members;
    let limits = &plan.limits;
    let times = [
        limits.interval,
        limits.heartbeat,
        limits.lease,
        limits.jitter,
        limits.wait,
        limits.stand_step,
    ];
    Digests {
        addresses: hash(&(
            (&*group.name, &group.addresses, &group.services, group.everywhere),
            group.pool.as_ref().map(|pool| (&*pool.name, &pool.members)),
        )),
        members: match &plan.etcd {
            None => hash(&(&nodes, members.quorum, members.accept_two_holders)),
            // Endpoints may differ: each node may have one beside it.
            Some(etcd) => hash(&(&nodes, members.quorum, &etcd.prefix, etcd.ttl, etcd.margin)),
        },
        thresholds: hash(&(times, limits.life, limits.rate)),
    }
}

/// The first bytes of the hash of how `value` is written.
fn hash(value: &impl serde::Serialize) -> u32 {
    let mut hash = Context::new(&SHA256);
    hash.update(&postcard::to_stdvec(value).unwrap_or_default());
    match hash.finish().as_ref() {
        [one, two, three, four, ..] => u32::from_be_bytes([*one, *two, *three, *four]),
        _ => 0,
    }
}
