//! What the nodes of a group share beside its role: commands about a pool, and recovery.

use std::collections::BTreeSet;

use giveover_core::node::Nodes;
use serde::{Deserialize, Serialize};

use super::super::reader::Reader;
use super::super::report::Findings;
use super::super::tree::{Node, Table, Value};
use super::super::{values, words};
use super::keys;

/// The pool whose members are attached, detached and promoted on every node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedPool {
    /// Its name.
    pub name: String,
    /// Its members: their places are what nodes tell each other.
    pub members: Vec<String>,
    /// Makes `$MEMBER` the primary, once on every node.
    pub promote: Option<Vec<String>>,
}

/// How a node refuses new connections to the service while a recovery lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecoveryPlan {
    /// To these TCP ports, by nftables.
    Ports(BTreeSet<u16>),
    /// By commands of the operator's.
    Commands {
        /// New connections are refused once it has exited 0.
        block: Vec<String>,
        /// They are taken again.
        unblock: Vec<String>,
    },
}

/// `pool` and `promote`.
pub(super) fn pool<'g>(
    reader: &Reader<'_>,
    root: &Table,
    mut taken: impl Iterator<Item = (&'g str, &'g str)>,
    out: &mut Findings,
) -> Option<SharedPool> {
    let promote = reader.read("promote", values::argv, out);
    if promote.is_some() && !reader.has("pool") {
        out.error(reader.place("promote"), "promote: needs `pool` as well").of_absence();
    }
    let name = reader.read("pool", |key, node, out| known(key, node, root, out), out)?;
    let place = reader.place("pool");
    if let Some((group, _)) = taken.find(|(_, pool)| *pool == name) {
        out.error(place, format!("pool: `{name}` is shared by group.{group} already"));
    }
    let members = root.find(&["pool", &name, "member"]).and_then(|entry| match &entry.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    });
    let members: Vec<String> =
        members.into_iter().flat_map(|table| &table.0).map(|entry| entry.key.clone()).collect();
    if members.len() > usize::from(Nodes::MOST) {
        let message = format!("pool: `{name}` has more than {} members", Nodes::MOST);
        out.error(place, message).label("nodes can share no more");
    }
    Some(SharedPool { name, members, promote })
}

fn known(key: &str, node: &Node, root: &Table, out: &mut Findings) -> Option<String> {
    let name = values::word(key, node, out)?;
    if root.find(&["pool", name]).is_some() {
        return Some(name.to_owned());
    }
    let finding = out.error(node.place, format!("{key}: no pool is called `{name}`"));
    let pools = root.get("pool").and_then(|entry| match &entry.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    });
    let names = pools.into_iter().flat_map(|table| &table.0).map(|entry| entry.key.as_str());
    if let Some(near) = words::nearest(name, names) {
        finding.label(format!("did you mean `{near}`?"));
    }
    None
}

/// `recovery`: ports, or both commands.
pub(super) fn recovery(reader: &Reader<'_>, out: &mut Findings) -> Option<RecoveryPlan> {
    let entry = reader.entry("recovery")?;
    let table = values::table("recovery", &entry.node, out)?;
    let path = format!("{}.recovery", reader.path);
    let reader = Reader::new(table, entry.node.place, path, &[keys::RECOVERY], out);
    let port = |key: &str, node: &Node, out: &mut Findings| {
        values::number::<u16>(1..=65535)(key, node, out)
    };
    let ports = reader.read("ports", |key, node, out| values::list(key, node, out, port), out);
    let block = reader.read("block", values::argv, out);
    let unblock = reader.read("unblock", values::argv, out);
    let has = |key| reader.has(key);
    match (has("ports"), has("block"), has("unblock")) {
        (true, false, false) => {
            let ports: BTreeSet<u16> = ports?.into_iter().collect();
            if ports.is_empty() {
                out.error(reader.place("ports"), "ports: must not be empty");
                return None;
            }
            Some(RecoveryPlan::Ports(ports))
        }
        (false, true, true) => Some(RecoveryPlan::Commands { block: block?, unblock: unblock? }),
        _ => {
            let message = "recovery: needs `ports`, or `block` and `unblock`";
            let finding = out.error(reader.header, message);
            finding.of_absence();
            finding.label("{ ports = [5432] }");
            None
        }
    }
}
