//! `[node.NAME]`.

use serde::{Deserialize, Serialize};

use super::super::address;
use super::super::plan::Host;
use super::super::reader::{Reader, header};
use super::super::report::Findings;
use super::super::target;
use super::super::tree::Entry;
use super::super::values;
use super::keys;

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodePlan {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub host: Host,
    /// Its port, if not the cluster's.
    pub port: Option<u16>,
    /// Of two of one age the higher goes first.
    pub priority: u8,
    /// It only votes.
    pub witness: bool,
}

/// Reads every node. One that is wrong is there all the same, as far as it could be read: how
/// many there are decides what else is said.
pub(super) fn read_all(entry: Option<&Entry>, out: &mut Findings) -> Vec<NodePlan> {
    let mut nodes: Vec<NodePlan> = Vec::new();
    for (entry, table) in super::tables("node", entry, out) {
        let path = format!("node.{}", entry.key);
        let reader = Reader::new(table, header(entry), path.clone(), &[keys::NODE], out);
        if !reader.has("address") {
            let finding = out.error(reader.header, format!("{path}: needs `address`"));
            finding.label("address = \"10.0.0.1\"").of_absence();
        }
        let address = reader.read(
            "address",
            |key, node, out| {
                let text = values::text(key, node, out)?;
                address::said(key, target::address(text), node, out)
            },
            out,
        );
        let (host, port) = match address {
            Some(address) => (address.host, address.port),
            None => (Host::Name(String::new().into()), None),
        };
        let same = nodes.iter().find(|node| (&node.host, node.port) == (&host, port));
        if let Some(other) = same.filter(|_| reader.has("address")) {
            let message = format!("address: node.{} has it already", other.name);
            out.error(reader.place("address"), message);
        }
        nodes.push(NodePlan {
            name: entry.key.clone(),
            host,
            port,
            priority: reader.read("priority", values::number(0..=255), out).unwrap_or(0),
            witness: reader.read("witness", values::boolean, out).unwrap_or(false),
        });
    }
    nodes
}
