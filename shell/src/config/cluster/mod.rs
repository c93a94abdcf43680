//! `[cluster]`, `[node.NAME]` and `[group.NAME]`: nodes between which groups move.
//!
//! Read and checked whole; what of it this version does not have is refused by name.

mod arithmetic;
mod etcd;
mod group;
mod keys;
mod node;
mod places;
mod shared;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use giveover_core::node::{Node as Number, Nodes};
use giveover_core::peer::{Limits, Members, Quorum, Rules, RulesError};
use giveover_core::time::Span;
use serde::{Deserialize, Serialize};

pub use self::etcd::{EndpointPlan, EtcdPlan};
pub use self::group::{Commands, GroupPlan};
pub use self::node::NodePlan;
pub use self::shared::{RecoveryPlan, SharedPool};
use super::reader::{Reader, header};
use super::report::Findings;
use super::source::Place;
use super::tree::{Entry, Node, Table, Value};
use super::values;
use super::words;

pub use self::arithmetic::{decides, takeover_ms, told};
pub(super) use self::keys::TABLES;
pub(super) use self::places::GroupPlaces;

/// Nodes, and what moves between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterPlan {
    /// The key's file, or the bare name of a credential.
    pub key: PathBuf,
    /// Times and counts.
    pub limits: Limits,
    /// Who there is, as the first of them sees it, until it is known who we are.
    pub members: Members,
    /// Which of the nodes this one is, where the file says so; else the one whose address is ours.
    pub me: Option<Number>,
    /// What cuts the peer's power.
    pub fence: Option<Fence>,
    /// The store that decides.
    pub etcd: Option<EtcdPlan>,
    /// Where nodes without a port of their own hear each other.
    pub port: u16,
    /// In file order: a node's place is its number.
    pub nodes: Vec<NodePlan>,
    /// In file order: a group's place is its number.
    pub groups: Vec<GroupPlan>,
}

/// What cuts a peer's power.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fence {
    /// Exit 0 acknowledges.
    Command(Vec<String>),
    /// The second line of our board.
    Board,
}

const PORT: u16 = 9706;

/// Reads the three tables of `root`; `None` where there are none, or where they are wrong and
/// that has been said.
pub(super) fn read(root: &Table, out: &mut Findings) -> Option<ClusterPlan> {
    let (cluster, node, group) = (root.get("cluster"), root.get("node"), root.get("group"));
    let count = out.count();
    let nodes = node::read_all(node, out);
    let groups = group::read_all(group, root, &nodes, out);
    let Some(entry) = cluster else {
        if let Some(entry) = node.or(group) {
            let message = "nodes and groups need [cluster], which says how nodes decide";
            out.error(header(entry), message).of_absence();
        }
        return None;
    };
    if node.is_none() {
        out.error(header(entry), "cluster: needs at least two [node.NAME]").of_absence();
        return None;
    }
    let table = values::table("cluster", &entry.node, out)?;
    let reader = Reader::new(table, header(entry), "cluster".to_owned(), &[keys::CLUSTER], out);
    let key = key(&reader, out);
    let limits = limits(&reader, out);
    let quorum = quorum(&reader, nodes.len(), out);
    let etcd = etcd::read(&reader, quorum, out);
    let lease = etcd.as_ref().map_or(limits.lease, EtcdPlan::hold);
    let limits = Limits { lease, ..limits };
    let fence = fence(&reader, quorum, root.get("board"), out);
    let port = reader.read("port", values::number::<u16>(1..=65535), out).unwrap_or(PORT);
    let accepts = reader.read("accept_two_holders", values::boolean, out).unwrap_or(false);
    let witnesses = nodes.iter().zip(0..).filter(|(node, _)| node.witness);
    let members = Members {
        me: Number(0),
        count: u8::try_from(nodes.len()).unwrap_or(u8::MAX),
        witnesses: witnesses.map(|(_, number)| Number(number)).collect::<Nodes>(),
        priority: 0,
        quorum: quorum?,
        accept_two_holders: accepts,
        trusted: root.find(&["host", "trusted"]).is_some_and(|entry| !is_empty(&entry.node)),
        observe: false,
    };
    judge(&reader, limits, members, out);
    let me = me(root, &nodes, out);
    (out.count() == count).then_some(())?;
    Some(ClusterPlan { key: key?, limits, members, me, fence, etcd, port, nodes, groups })
}

/// The node that `[host] node` names.
fn me(root: &Table, nodes: &[NodePlan], out: &mut Findings) -> Option<Number> {
    let entry = root.find(&["host", "node"])?;
    let Value::Text(name) = &entry.node.value else { return None }; // said of [host]
    let place = nodes.iter().position(|node| node.name == *name);
    if place.is_none() {
        let finding = out.error(entry.node.place, format!("node: there is no [node.{name}]"));
        let names = nodes.iter().map(|node| node.name.as_str());
        finding.label(match words::nearest(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "leave it out, and this node is the one whose address it has".to_owned(),
        });
    }
    place.and_then(|place| u8::try_from(place).ok()).map(Number)
}

fn is_empty(node: &Node) -> bool {
    matches!(&node.value, Value::List(items) if items.is_empty())
}

fn key(reader: &Reader<'_>, out: &mut Findings) -> Option<PathBuf> {
    if !reader.has("key") {
        let finding = out.error(reader.header, "cluster: needs `key`");
        finding.label("key = \"/etc/giveover/keys/cluster.key\"").of_absence();
        return None;
    }
    let name = reader.read("key", values::word, out)?;
    if name.starts_with('/') || words::is_name(name) && !name.starts_with('.') {
        return Some(PathBuf::from(name));
    }
    let message = "key: must be an absolute path, or the bare name of a credential";
    out.error(reader.place("key"), message);
    None
}

fn limits(reader: &Reader<'_>, out: &mut Findings) -> Limits {
    let usual = Limits::DEFAULT;
    let mut span =
        |key: &str, usual: Span| reader.read(key, values::positive_span, out).unwrap_or(usual);
    let limits = Limits {
        interval: span("interval", usual.interval),
        heartbeat: span("heartbeat", usual.heartbeat),
        lease: span("lease", usual.lease),
        jitter: span("jitter", usual.jitter),
        wait: span("wait", usual.wait),
        stand_step: span("stand_step", usual.stand_step),
        ..usual
    };
    let life = reader.read("life", values::number::<u8>(1..=100), out).unwrap_or(usual.life);
    let rate = reader.read("rate", values::share, out).map_or(usual.rate, |it| u16::from(it) * 10);
    Limits { life, rate, ..limits }
}

/// Who decides. Two nodes have no default: each way out costs something else.
fn quorum(reader: &Reader<'_>, nodes: usize, out: &mut Findings) -> Option<Quorum> {
    const WORDS: &[&str] = &["majority", "fence", "stay", "trusted", "etcd"];
    if !reader.has("quorum") {
        if nodes != 2 {
            return Some(Quorum::Majority);
        }
        let message = "cluster: two nodes must say how they decide: `quorum`";
        let finding = out.error(reader.header, message).of_absence();
        for (word, about) in CHOICES {
            finding.note(format!("quorum = \"{word}\": {about}"));
        }
        return None;
    }
    let place = reader.read("quorum", values::one_of(WORDS), out)?;
    let all = [Quorum::Majority, Quorum::Fence, Quorum::Stay, Quorum::Trusted, Quorum::Etcd];
    all.get(place).copied()
}

/// The ways for two nodes, one line each.
const CHOICES: [(&str, &str); 5] = [
    ("majority", "never two holders; with a third machine as witness one of the two may fail"),
    ("fence", "never two holders; needs a command or a board that cuts the other's power"),
    ("stay", "never two holders; nobody takes over from an active that is only silent"),
    ("trusted", "takes over from silence; two holders when only the link between them is cut"),
    ("etcd", "never two holders; needs an etcd of three members or more, on other machines"),
];

fn fence(
    reader: &Reader<'_>,
    quorum: Option<Quorum>,
    board: Option<&Entry>,
    out: &mut Findings,
) -> Option<Fence> {
    let wanted = quorum == Some(Quorum::Fence);
    let Some(entry) = reader.entry("fence") else {
        if wanted {
            let finding = out.error(reader.place("quorum"), "quorum: \"fence\" needs `fence`");
            finding.label("fence = { command = [\"/path/to/fence\", \"$TO\"] } or \"board\"");
        }
        return None;
    };
    if quorum.is_some() && !wanted {
        let finding = out.error(entry.place, "fence: only quorum = \"fence\" ever fences");
        finding.label("leave it out, or say quorum = \"fence\"");
        return None;
    }
    match &entry.node.value {
        Value::Text(word) if word == "board" => {
            can_fence(board, entry.node.place, out).then_some(Fence::Board)
        }
        Value::Table(table) => {
            let path = "cluster.fence".to_owned();
            let reader = Reader::new(table, entry.place, path, &[keys::FENCE], out);
            if !reader.has("command") {
                out.error(entry.place, "fence: needs `command`").of_absence();
            }
            reader.read("command", values::argv, out).map(Fence::Command)
        }
        _ => values::wrong("fence", "{ command = [...] } or \"board\"", &entry.node, out),
    }
}

/// Whether `[board]` is one whose second line can be a peer's.
fn can_fence(board: Option<&Entry>, place: Place, out: &mut Findings) -> bool {
    let Some(board) = board else {
        let message = "fence: \"board\" needs [board], its second line wired to the peer";
        out.error(place, message).of_absence();
        return false;
    };
    let Value::Table(table) = &board.node.value else { return false }; // said of [board]
    let word = |key| match table.get(key).map(|entry| &entry.node.value) {
        Some(Value::Text(word)) => Some(word.as_str()),
        _ => None,
    };
    if let Some(kind) = word("kind").filter(|kind| *kind != "giveover") {
        let message = format!("fence: hardware of kind \"{kind}\" has no second line");
        out.error(place, message).label("{ command = [...] }, or a board of kind \"giveover\"");
        return false;
    }
    if word("giveover") != Some("none") {
        let message =
            "fence: \"board\" needs board.giveover = \"none\": its second line is the peer's";
        out.error(place, message).label("giveover = \"none\" in [board]");
        return false;
    }
    true
}

/// What the values are together: the same question the daemon's machine asks.
fn judge(reader: &Reader<'_>, limits: Limits, members: Members, out: &mut Findings) {
    let Err(error) = Rules::new(limits, members, usize::from(Nodes::MOST)) else { return };
    let seconds = |ms: u64| {
        let ms = u32::try_from(ms.div_ceil(100) * 100).unwrap_or(u32::MAX);
        super::quantity::written(Span::from_millis(ms))
    };
    let (key, label) = match error {
        RulesError::WaitTooShort { least_ms } => {
            ("wait", format!("wait = \"{}\"", seconds(least_ms)))
        }
        RulesError::LeaseTooShort { least_ms } if members.quorum == Quorum::Etcd => {
            ("etcd", format!("etcd.ttl less etcd.margin is the lease: {}", seconds(least_ms)))
        }
        RulesError::LeaseTooShort { least_ms } => {
            ("lease", format!("lease = \"{}\"", seconds(least_ms)))
        }
        RulesError::JitterTooShort => ("jitter", "jitter = \"1s\"".to_owned()),
        RulesError::RateTooHigh => ("rate", "rate = \"5%\"".to_owned()),
        RulesError::TwoHoldersNotAccepted => ("quorum", "accept_two_holders = true".to_owned()),
        RulesError::OnlyForTwo => ("quorum", "quorum = \"majority\"".to_owned()),
        _ => ("quorum", String::new()),
    };
    out.error(reader.place(key), format!("cluster: {error}")).label(label);
}

/// The services that are in a group, with the group's name.
pub(super) fn members(root: &Table) -> Vec<(String, String)> {
    let Some(entry) = root.get("group") else { return Vec::new() };
    let Value::Table(groups) = &entry.node.value else { return Vec::new() };
    let mut found = Vec::new();
    for group in &groups.0 {
        let services = match &group.node.value {
            Value::Table(table) => table.get("services"),
            _ => None,
        };
        let Some(Value::List(items)) = services.map(|entry| &entry.node.value) else { continue };
        for item in items {
            if let Value::Text(name) = &item.value {
                found.push((name.clone(), group.key.clone()));
            }
        }
    }
    found
}

/// The names under `entry`, each with its table.
fn tables<'t>(
    what: &str,
    entry: Option<&'t Entry>,
    out: &mut Findings,
) -> Vec<(&'t Entry, &'t Table)> {
    let table = entry.and_then(|entry| values::table(what, &entry.node, out));
    let mut found = Vec::new();
    for entry in table.map_or(&[][..], |table| &table.0) {
        super::name::check(what, entry, out);
        if let Some(table) = values::table(&format!("{what}.{}", entry.key), &entry.node, out) {
            found.push((entry, table));
        }
    }
    found
}
