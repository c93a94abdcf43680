//! Whom a service's checks ask: `address`, or the documents' hosts and ports.

use super::plan::{Host, Target};
use super::reader::Reader;
use super::report::Findings;
use super::source::Place;
use super::target::{self, Address, BadTarget};
use super::tree::{Node, Value};
use super::values;

/// Hosts and, for those without a port of their own, ports.
///
/// # Source
/// `Network_resources_used` and `Port_list`: every address is probed with every port.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    hosts: Vec<Address>,
    ports: Option<Vec<u16>>,
    /// Where they are written.
    pub(super) place: Place,
}

impl Addresses {
    /// Reads a service's addresses; `None` if it has none or they are wrong.
    pub(super) fn read(reader: &Reader<'_>, out: &mut Findings) -> Option<Self> {
        let own = reader.read("address", many, out);
        let resources = reader.read("network_resources_used", hosts, out);
        let ports = reader.read("port_list", ports, out);
        let (own_place, place) = (reader.place("address"), reader.place("network_resources_used"));
        if reader.has("address") && reader.has("network_resources_used") {
            let message = "network_resources_used: `address` says it already";
            out.error(place, message).label("leave one of them out");
            return None;
        }
        let (hosts, place) = match (own, resources) {
            (Some(own), _) => (own, own_place),
            (_, Some(resources)) => (resources, place),
            (None, None) => return None,
        };
        Some(Self { hosts, ports, place })
    }

    /// These of a check: `hosts` as written at `place`.
    pub(super) fn of(hosts: Vec<Address>, place: Place) -> Self {
        Self { hosts, ports: None, place }
    }

    /// The hosts, if no port is written for any of them.
    pub(super) fn without_ports(&self) -> Option<Vec<Host>> {
        let bare = self.ports.is_none() && self.hosts.iter().all(|host| host.port.is_none());
        bare.then(|| self.hosts.iter().map(|address| address.host.clone()).collect())
    }

    /// What a check of `kind` asks, every host with every port; `None` if a port is missing.
    /// A host without a port that the list of ports does not give one has `otherwise`.
    pub(super) fn targets(&self, kind: &str, otherwise: Option<u16>) -> Option<Vec<Target>> {
        let usual: Vec<u16> = otherwise.into_iter().collect();
        let ports = match &self.ports {
            // The sample of the document supports one port: the first.
            Some(ports) if kind == "xfnts" => ports.get(..1).unwrap_or_default(),
            Some(ports) => ports,
            None => &usual,
        };
        let mut targets = Vec::with_capacity(self.hosts.len());
        if kind == "ping" {
            // Whatever port is asked besides: a host is pinged once.
            for Address { host, .. } in &self.hosts {
                let target = Target { host: host.clone(), port: 0 };
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
            return Some(targets);
        }
        for Address { host, port } in &self.hosts {
            if port.is_none() && ports.is_empty() && self.ports.is_none() {
                return None;
            }
            let target = |port: &u16| Target { host: host.clone(), port: *port };
            match port {
                Some(port) => targets.push(target(port)),
                None => targets.extend(ports.iter().map(target)),
            }
        }
        Some(targets)
    }
}

/// One address or a list of them.
pub(super) fn many(key: &str, node: &Node, out: &mut Findings) -> Option<Vec<Address>> {
    values::one_or_more(key, node, out, |key, node, out| {
        let text = values::text(key, node, out)?;
        said(key, target::address(text), node, out)
    })
}

fn hosts(key: &str, node: &Node, out: &mut Findings) -> Option<Vec<Address>> {
    values::one_or_more(key, node, out, |key, node, out| {
        let text = values::text(key, node, out)?;
        let host: Host = said(key, target::bare_host(text), node, out)?;
        Some(Address { host, port: None })
    })
}

/// Ports as numbers, or as the documents have them: "7100/tcp".
fn ports(key: &str, node: &Node, out: &mut Findings) -> Option<Vec<u16>> {
    values::one_or_more(key, node, out, |key, node, out| match &node.value {
        Value::Text(text) => {
            let digits = text.strip_suffix("/tcp").unwrap_or(text);
            said(key, target::port(digits), node, out)
        }
        _ => values::number::<u16>(1..=65535)(key, node, out),
    })
}

/// The value, or the message of what is wrong with it.
pub(super) fn said<T>(
    key: &str,
    result: Result<T, BadTarget>,
    node: &Node,
    out: &mut Findings,
) -> Option<T> {
    result
        .map_err(|bad| {
            out.error(node.place, format!("{key}: {}", bad.message)).label(bad.remedy);
        })
        .ok()
}
