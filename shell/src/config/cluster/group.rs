//! `[group.NAME]`: services and addresses that move together.

use std::net::IpAddr;

use giveover_core::ladder::Checks;
use giveover_core::time::Span;
use serde::{Deserialize, Serialize};

use super::super::check::{self, Around};
use super::super::database::Rows;
use super::super::few::Few;
use super::super::plan::CheckPlan;
use super::super::reader::{Reader, header};
use super::super::report::Findings;
use super::super::tree::{Entry, Node, Table, Value};
use super::super::values;
use super::keys;
use super::node::NodePlan;
use super::shared::{self, RecoveryPlan, SharedPool};

/// One group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPlan {
    /// Its name.
    pub name: String,
    /// The services that move together, by name.
    pub services: Vec<String>,
    /// The services run on every node; only addresses move.
    pub everywhere: bool,
    /// The addresses that move, each with the length of its network's prefix.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Where they are, if that is said.
    pub interface: Option<String>,
    /// A name for the addresses beside the interface's own.
    pub label: Option<String>,
    /// What sets, takes off and announces an address, where the kernel is not to be asked.
    pub commands: Option<Commands>,
    /// Its checks as each node is asked, by the node's number; none of a witness.
    #[serde(skip)] // packed with the other checks
    pub checks: Vec<Few<CheckPlan>>,
    /// Must succeed before the addresses come up.
    pub on_active: Option<Vec<String>>,
    /// Runs once they are gone.
    pub on_standby: Option<Vec<String>>,
    /// A node that gave it over does not get it back within this.
    pub pingpong_interval: Span,
    /// The pool whose members are attached and detached on every node at once.
    pub pool: Option<SharedPool>,
    /// How new connections are refused while a recovery lasts.
    pub recovery: Option<RecoveryPlan>,
}

/// What is run for an address, which stands for `$ADDRESS` and `$_IP_$` in its words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commands {
    /// Sets it.
    pub up: Vec<String>,
    /// Takes it off.
    pub down: Vec<String>,
    /// Tells neighbours where it is; what is built in, if there is none.
    pub announce: Option<Vec<String>>,
}

/// The source document's word for the address.
const PLACEHOLDER: &str = "$_IP_$";

/// A round of checks has no room for more.
const MOST_CHECKS: usize = Checks::MOST as usize;

/// Linux has no longer names.
const LONGEST_INTERFACE: usize = 15;

/// Reads every group.
pub(super) fn read_all(
    entry: Option<&Entry>,
    root: &Table,
    nodes: &[NodePlan],
    out: &mut Findings,
) -> Vec<GroupPlan> {
    let mut groups: Vec<GroupPlan> = Vec::new();
    for (entry, table) in super::tables("group", entry, out) {
        let path = format!("group.{}", entry.key);
        let reader = Reader::new(table, header(entry), path, &[keys::GROUP], out);
        let group = read(&entry.key, &reader, root, (nodes, &groups), out);
        unique(&group, &reader, &groups, out);
        startable(&group, &reader, root, out);
        groups.push(group);
    }
    groups
}

fn read(
    name: &str,
    reader: &Reader<'_>,
    root: &Table,
    (nodes, before): (&[NodePlan], &[GroupPlan]),
    out: &mut Findings,
) -> GroupPlan {
    let service = |key: &str, node: &Node, out: &mut Findings| service(key, node, root, out);
    let services =
        reader.read("services", |key, node, out| values::list(key, node, out, service), out);
    let addresses =
        reader.read("addresses", |key, node, out| values::list(key, node, out, address), out);
    let run = reader.read("run", values::one_of(&["active", "all"]), out);
    let everywhere = run == Some(1);
    let (services, addresses) = (services.unwrap_or_default(), addresses.unwrap_or_default());
    if !reader.has("services") && !reader.has("addresses") {
        let message =
            format!("{}: needs `services` or `addresses`: nothing would move", reader.path);
        out.error(reader.header, message).of_absence();
    }
    let _ = reader.read("failback", values::one_of(&["manual"]), out);
    let entries = reader.entries("check", out);
    if let Some(one_more) = entries.get(MOST_CHECKS) {
        let message = format!("{}: more than {MOST_CHECKS} checks", reader.path);
        out.error(one_more.place, message).label(format!("at most {MOST_CHECKS} in one group"));
    }
    let checks = nodes.iter().map(|node| checks_of(entries, node, &reader.path, out)).collect();
    if everywhere {
        moves_something(reader, out);
    }
    GroupPlan {
        name: name.to_owned(),
        services,
        everywhere,
        addresses,
        interface: reader.read("interface", interface, out),
        label: label(reader, out),
        commands: commands(reader, out),
        checks,
        on_active: reader.read("on_active", values::argv, out),
        on_standby: reader.read("on_standby", values::argv, out),
        pingpong_interval: reader
            .read("pingpong_interval", values::span, out)
            .unwrap_or(Span::from_secs(3600)),
        pool: shared::pool(reader, root, pools_of(before), out),
        recovery: shared::recovery(reader, out),
    }
}

/// Groups with the pools they share.
fn pools_of(groups: &[GroupPlan]) -> impl Iterator<Item = (&str, &str)> {
    groups.iter().filter_map(|it| Some((it.name.as_str(), it.pool.as_ref()?.name.as_str())))
}

/// Where services run on every node, the address is what moves, or what a command sees to; and who
/// may have it is for checks to say.
fn moves_something(reader: &Reader<'_>, out: &mut Findings) {
    if !reader.has("check") {
        let message = format!("{}: run = \"all\" needs a check of every node", reader.path);
        let finding = out.error(reader.place("run"), message);
        finding.label("check.front = \"http://$NODE:8404/health\"");
    }
    if !reader.has("addresses") && !reader.has("on_active") {
        let message = format!("{}: run = \"all\" moves only addresses: name one", reader.path);
        out.error(reader.place("run"), message).label("addresses = [\"10.0.0.10/24\"]");
    }
}

/// What is in two groups would have to be in two places.
fn unique(group: &GroupPlan, reader: &Reader<'_>, before: &[GroupPlan], out: &mut Findings) {
    for service in &group.services {
        let other = before.iter().find(|other| other.services.contains(service));
        if let Some(other) = other {
            let message = format!("services: `{service}` is in group.{} already", other.name);
            out.error(reader.place("services"), message);
        }
    }
    for (address, _) in &group.addresses {
        let has = |other: &&GroupPlan| other.addresses.iter().any(|(it, _)| it == address);
        if let Some(other) = before.iter().find(has) {
            let message = format!("addresses: {address} is in group.{} already", other.name);
            out.error(reader.place("addresses"), message);
        }
    }
}

/// What nothing starts and stops cannot move.
fn startable(group: &GroupPlan, reader: &Reader<'_>, root: &Table, out: &mut Findings) {
    if group.everywhere {
        return;
    }
    for service in &group.services {
        let has = |key| root.find(&["service", service, key]).is_some();
        // No preset says what runs it.
        if !has("unit") && !has("start") {
            let message =
                format!("services: `{service}` is only watched: nothing starts or stops it");
            let finding = out.error(reader.place("services"), message);
            finding.label(format!("service.{service} needs `unit` or `start`"));
        }
    }
}

fn service(key: &str, node: &Node, root: &Table, out: &mut Findings) -> Option<String> {
    let name = values::word(key, node, out)?;
    if root.find(&["service", name]).is_some() {
        return Some(name.to_owned());
    }
    let finding = out.error(node.place, format!("{key}: no service is called `{name}`"));
    let services = root.get("service").and_then(|entry| match &entry.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    });
    let names = services.into_iter().flat_map(|table| &table.0).map(|entry| entry.key.as_str());
    if let Some(near) = super::words::nearest(name, names) {
        finding.label(format!("did you mean `{near}`?"));
    }
    None
}

/// `10.0.0.10/24`: without the prefix nobody knows which network it is in.
fn address(key: &str, node: &Node, out: &mut Findings) -> Option<(IpAddr, u8)> {
    let text = values::text(key, node, out)?;
    let parsed = text.split_once('/').and_then(|(address, prefix)| {
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u8 = prefix.parse().ok().filter(|prefix| (1..=most).contains(prefix))?;
        Some((address, prefix))
    });
    if parsed.is_none() {
        let finding = out.error(node.place, format!("{key}: `{text}` is no address with a prefix"));
        let bare = text.parse::<IpAddr>().is_ok();
        finding.label(if bare { format!("\"{text}/24\"") } else { "\"10.0.0.10/24\"".to_owned() });
    }
    let (address, prefix) = parsed?;
    if address.is_unspecified() || address.is_multicast() || address.is_loopback() {
        out.error(node.place, format!("{key}: {address} can belong to no node"));
        return None;
    }
    Some((address, prefix))
}

fn interface(key: &str, node: &Node, out: &mut Findings) -> Option<String> {
    let name = values::word(key, node, out)?;
    let wrong = |c: char| c == '/' || c.is_whitespace();
    if name.is_empty() || name.len() > LONGEST_INTERFACE || name.contains(wrong) {
        let message = format!("{key}: an interface's name has 1 to {LONGEST_INTERFACE} bytes");
        out.error(node.place, message);
        return None;
    }
    Some(name.to_owned())
}

/// `eth0:0`: the kernel wants it to begin with the interface's name.
fn label(reader: &Reader<'_>, out: &mut Findings) -> Option<String> {
    let label = reader.read("label", interface, out)?;
    let named = reader.entry("interface").and_then(|entry| match &entry.node.value {
        Value::Text(name) => Some(name.as_str()),
        _ => None,
    });
    let Some(named) = named else {
        let finding = out.error(reader.place("label"), "label: needs `interface`");
        finding.label(format!("interface = \"{}\"", label.split(':').next().unwrap_or_default()));
        return None;
    };
    if label.split(':').next() != Some(named) {
        let finding = out.error(reader.place("label"), "label: begins with the interface's name");
        finding.label(format!("\"{named}:0\""));
        return None;
    }
    Some(label)
}

/// All of them or none: an address that one program set is not for another to take off.
fn commands(reader: &Reader<'_>, out: &mut Findings) -> Option<Commands> {
    for (key, other) in [("up", "down"), ("down", "up"), ("announce", "up")] {
        if reader.has(key) && !reader.has(other) {
            out.error(reader.place(key), format!("{key}: needs `{other}` as well")).of_absence();
        }
    }
    let up = reader.read("up", command, out);
    let down = reader.read("down", command, out);
    let announce = reader.read("announce", command, out);
    Some(Commands { up: up?, down: down?, announce })
}

/// The words of a command for the address, in which the source document's `$_IP_$` may stand.
fn command(key: &str, node: &Node, out: &mut Findings) -> Option<Vec<String>> {
    let Value::List(items) = &node.value else { return values::argv(key, node, out) };
    let without = |item: &Node| match &item.value {
        Value::Text(text) => {
            Node { place: item.place, value: Value::Text(text.replace(PLACEHOLDER, "")) }
        }
        other => Node { place: item.place, value: other.clone() },
    };
    let value = Value::List(items.iter().map(without).collect());
    values::argv(key, &Node { place: node.place, value }, out)?;
    values::list(key, node, out, |key, item, out| values::text(key, item, out).map(str::to_owned))
}

/// The group's checks as one node is asked; a witness serves nothing, and is asked nothing.
fn checks_of(entries: &[Entry], node: &NodePlan, path: &str, out: &mut Findings) -> Few<CheckPlan> {
    if node.witness {
        return Few::default();
    }
    // What is wrong of every node is said once: the places and the words are the same.
    entries.iter().filter_map(|entry| asked(entry, path, node, out)).collect()
}

/// A check as one node is asked: every key of it is checked as a service's would be.
fn asked(entry: &Entry, path: &str, node: &NodePlan, out: &mut Findings) -> Option<CheckPlan> {
    let mut named = false;
    let host = node.host.to_string();
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let value = with_node(&entry.node, &host, &mut named);
    if !named {
        let message = format!("check.{}: it asks the same whatever node is meant", entry.key);
        out.error(entry.node.place, message).label("write $NODE where the node's address belongs");
        return None;
    }
    let asked = Entry { key: entry.key.clone(), place: entry.place, node: value };
    let around = Around {
        path,
        addresses: None,
        addresses_wrong: false,
        probe_timeout: Span::from_secs(10),
        interval: Span::ZERO,
        has_process: false,
        rows: &Rows::default(),
    };
    let check = check::read(&asked, &around, out)?;
    if check.kind.asks_others() {
        return Some(check);
    }
    let message = format!("check.{}: nodes have no `{}` checks", entry.key, check.kind.word());
    out.error(entry.node.place, message).label("a check that asks $NODE, or a command");
    None
}

/// The value with `$NODE` replaced wherever a text has it.
fn with_node(node: &Node, host: &str, named: &mut bool) -> Node {
    let value = match &node.value {
        Value::Text(text) => {
            *named |= text.contains("$NODE");
            Value::Text(text.replace("$NODE", host))
        }
        Value::List(items) => {
            Value::List(items.iter().map(|item| with_node(item, host, named)).collect())
        }
        Value::Table(table) => {
            let entry = |entry: &Entry, named: &mut bool| Entry {
                key: entry.key.clone(),
                place: entry.place,
                node: with_node(&entry.node, host, named),
            };
            Value::Table(Table(table.0.iter().map(|it| entry(it, named)).collect()))
        }
        other => other.clone(),
    };
    Node { place: node.place, value }
}
