//! Nodes of a world, and what is between them: `[cluster]`, `[node.NAME]` and `[link]`.

use std::collections::HashMap;
use std::sync::Arc;

use giveover_core::node::{Node as Number, Nodes};
use giveover_core::peer::{Limits, Members, Quorum, Rules};

use super::Range;
use super::read::{place_of as service_of, range_or, table_of};
use crate::config::reader::{Reader, header};
use crate::config::report::Findings;
use crate::config::scenario::peer::{self, MOST_NODES};
use crate::config::schema::{Key, key};
use crate::config::tree::{Entry, Node, Table};
use crate::config::{name, values, words};

/// Nodes that decide between them who is active. The first of them is the host of the world: what
/// happens to that happens to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The nodes, in the order of the file.
    pub nodes: Vec<NodePlan>,
    /// Times and counts.
    pub limits: Limits,
    /// Who they are, as the first of them sees it.
    pub members: Members,
    /// What is between any two of them, each way.
    pub link: Link,
    /// The services, by place, that run where they are active and move with that.
    pub services: Vec<usize>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// Its name.
    pub name: Arc<str>,
    /// When its daemon is started, in milliseconds since the beginning.
    pub starts: u64,
    /// By how much of a million its clock is too fast.
    pub drift: i64,
    /// Breaks ties of age.
    pub priority: u8,
}

/// What becomes of a frame on its way. Chances are of a million, drawn for each frame anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// How long it is under way; what varies is the jitter, and lets frames overtake each other.
    pub delay: Range,
    /// It is lost.
    pub loss: u32,
    /// With it a burst begins, in which everything this way is lost.
    pub burst: u32,
    /// How long a burst lasts.
    pub burst_lasts: Range,
    /// It arrives twice.
    pub duplicate: u32,
    /// It is held back, so that later ones overtake it.
    pub reorder: u32,
    /// For so long.
    pub reorder_by: Range,
}

impl Link {
    /// A quiet network.
    pub const QUIET: Self = Self {
        delay: Range { least: 1, most: 1 },
        loss: 0,
        burst: 0,
        burst_lasts: Range { least: 1_000, most: 1_000 },
        duplicate: 0,
        reorder: 0,
        reorder_by: Range { least: 20, most: 200 },
    };
}

/// What the machines allow for two clocks to differ by, half of it for each.
const MOST_DRIFT: i64 = 25_000;

pub(super) const CLUSTER: &[Key] = &[
    key("quorum", "majority, fence, stay, trusted", "\"majority\"", "who lets a standby take over"),
    key("witnesses", "list of nodes", "[]", "those that only vote"),
    key("trusted_servers", "true or false", "false", "whether there are any"),
    key("interval", "duration", "\"10s\"", "a node looks at itself so often"),
    key("life", "1 to 100", "3", "looks in a row that fail until it is down"),
    key("heartbeat", "duration", "\"1s\"", "signs of life go out so often"),
    key("lease", "duration", "\"5s\"", "the address is held so long without a renewal"),
    key("jitter", "duration", "\"1s\"", "what timers and the kernel may be late by"),
    key("wait", "duration", "\"8s\"", "so long an active must be silent"),
    key("stand_step", "duration", "\"2s\"", "between the turns of standbys to stand"),
];

pub(super) const NODE: &[Key] = &[
    key("starts", "duration", "\"0s\"", "when its daemon is started, since the beginning"),
    key("drift", "share of a million", "\"0ppm\"", "by how much its clock is too fast"),
    key("priority", "0 to 255", "0", "of nodes that are as old the higher one goes first"),
];

const GROUP: &[Key] = &[key("services", "list of services", "", "what runs on the active only")];

pub(super) const LINK: &[Key] = &[
    key("delay", "duration, or two", "\"1ms\"", "how long a frame is under way"),
    key("loss", "share", "\"0%\"", "of all frames, by chance"),
    key("burst", "share", "\"0%\"", "frames with which a time begins when all are lost"),
    key("burst_lasts", "duration, or two", "\"1s\"", "how long that is"),
    key("duplicate", "share", "\"0%\"", "frames that arrive twice"),
    key("reorder", "share", "\"0%\"", "frames that are held back, so that others overtake"),
    key("reorder_by", "duration, or two", "[\"20ms\", \"200ms\"]", "for so long"),
];

/// Reads the four tables; `None` where there are no nodes, or something is wrong.
pub(super) fn group(
    reader: &Reader<'_>,
    names: &HashMap<&str, usize>,
    out: &mut Findings,
) -> Option<Group> {
    let entries = reader.entries("node", out);
    if entries.is_empty() {
        for lonely in ["cluster", "link", "group"] {
            if reader.has(lonely) {
                let shown = if lonely == "group" { "group.NAME" } else { lonely };
                let message = format!("[{shown}] without a [node.NAME]");
                out.error(reader.place(lonely), message).label("[node.a] and [node.b] are two");
            }
        }
        return None;
    }
    let count = out.count();
    let nodes: Vec<NodePlan> = entries.iter().filter_map(|entry| node(entry, out)).collect();
    let nothing = Table::default();
    let (table, place) = table_of(reader, "cluster", &nothing, out);
    let cluster = Reader::new(table, place, "cluster".to_owned(), &[CLUSTER], out);
    let limits = peer::limits(&cluster, out);
    const QUORUMS: &[&str] = &["majority", "fence", "stay", "trusted"];
    let all = [Quorum::Majority, Quorum::Fence, Quorum::Stay, Quorum::Trusted];
    let quorum = cluster.read("quorum", values::one_of(QUORUMS), out);
    let quorum = quorum.and_then(|place| all.get(place).copied()).unwrap_or(Quorum::Majority);
    let one = |key: &str, node: &Node, out: &mut Findings| place_of(key, node, entries, out);
    let witnesses = cluster.read("witnesses", |k, n, o| values::list(k, n, o, one), out);
    let witnesses: Nodes = witnesses.unwrap_or_default().into_iter().map(node_number).collect();
    let members = Members {
        me: Number(0),
        count: u8::try_from(entries.len()).unwrap_or(u8::MAX),
        witnesses,
        priority: 0,
        quorum,
        accept_two_holders: matches!(quorum, Quorum::Trusted),
        trusted: cluster.read("trusted_servers", values::boolean, out).unwrap_or(false),
        observe: false,
    };
    let link = link(reader, out);
    let services = services(reader, names, out);
    if out.count() == count {
        if let Err(error) = Rules::new(limits, members, MOST_NODES) {
            let place = if reader.has("cluster") { place } else { reader.place("node") };
            out.error(place, error.to_string());
        }
    }
    (out.count() == count).then_some(Group { nodes, limits, members, link, services })
}

/// `[group.NAME]`: what moves, in the order of the file. There is one, because the nodes of a world are
/// one group.
fn services(reader: &Reader<'_>, names: &HashMap<&str, usize>, out: &mut Findings) -> Vec<usize> {
    let entries = reader.entries("group", out);
    if let Some(second) = entries.get(1) {
        let finding = out.error(second.place, "a second [group.NAME]");
        finding.label("the nodes of a world are one group");
    }
    let Some(entry) = entries.first() else { return Vec::new() };
    name::check("group", entry, out);
    let Some(table) = values::table(&entry.key, &entry.node, out) else { return Vec::new() };
    let path = format!("group.{}", entry.key);
    let reader = Reader::new(table, header(entry), path, &[GROUP], out);
    let one = |key: &str, node: &Node, out: &mut Findings| service_of(key, node, names, out);
    let services = reader.read("services", |k, n, o| values::list(k, n, o, one), out);
    if !reader.has("services") {
        let finding = out.error(reader.header, "this group has no `services`");
        finding.of_absence().label("services = [\"web\"]");
    }
    let mut services = services.unwrap_or_default();
    services.sort_unstable();
    services.dedup();
    services
}

/// A place as the machines count nodes.
pub(crate) fn node_number(place: usize) -> Number {
    Number(u8::try_from(place).unwrap_or(u8::MAX))
}

/// The node that is called so.
pub(super) fn place_of(
    key: &str,
    node: &Node,
    nodes: &[Entry],
    out: &mut Findings,
) -> Option<usize> {
    let name = values::text(key, node, out)?;
    let place = nodes.iter().position(|entry| entry.key == name);
    if place.is_none() {
        let finding = out.error(node.place, format!("{key}: no node is called `{name}`"));
        finding.of_absence();
        match words::nearest(name, nodes.iter().map(|entry| entry.key.as_str())) {
            Some(near) => finding.label(format!("did you mean `{near}`?")),
            None => finding.label("a [node.NAME] each"),
        };
    }
    place
}

fn node(entry: &Entry, out: &mut Findings) -> Option<NodePlan> {
    name::check("node", entry, out);
    let table = values::table(&entry.key, &entry.node, out)?;
    let path = format!("node.{}", entry.key);
    let reader = Reader::new(table, header(entry), path, &[NODE], out);
    Some(NodePlan {
        name: entry.key.as_str().into(),
        starts: reader.read("starts", values::long_span, out).unwrap_or(0),
        drift: reader.read("drift", drift, out).unwrap_or(0),
        priority: reader.read("priority", values::number(0..=255), out).unwrap_or(0),
    })
}

fn drift(key: &str, node: &Node, out: &mut Findings) -> Option<i64> {
    let text = values::text(key, node, out)?;
    let number = text.strip_suffix("ppm").and_then(|number| number.parse::<i64>().ok());
    let number = number.filter(|number| number.abs() <= MOST_DRIFT);
    if number.is_none() {
        let message = format!("{key}: \"200ppm\" or \"-200ppm\", at most {MOST_DRIFT}ppm");
        out.error(node.place, message).label("the rules between nodes allow for no more");
    }
    number
}

fn link(reader: &Reader<'_>, out: &mut Findings) -> Link {
    let nothing = Table::default();
    let (table, place) = table_of(reader, "link", &nothing, out);
    let reader = Reader::new(table, place, "link".to_owned(), &[LINK], out);
    let usual = Link::QUIET;
    let chance = |key: &str, out: &mut Findings| reader.read(key, chance, out).unwrap_or(0);
    Link {
        delay: range_or(&reader, "delay", usual.delay, out),
        loss: chance("loss", out),
        burst: chance("burst", out),
        burst_lasts: range_or(&reader, "burst_lasts", usual.burst_lasts, out),
        duplicate: chance("duplicate", out),
        reorder: chance("reorder", out),
        reorder_by: range_or(&reader, "reorder_by", usual.reorder_by, out),
    }
}

/// `"1%"`, `"0.05%"`: of a million.
fn chance(key: &str, node: &Node, out: &mut Findings) -> Option<u32> {
    let text = values::text(key, node, out)?;
    let parts = text.strip_suffix('%').map(|number| number.split_once('.').unwrap_or((number, "")));
    let chance = parts.and_then(|(whole, rest)| {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || rest.len() > 4 || !digits(whole) || !digits(rest) {
            return None;
        }
        let whole: u32 = whole.parse().ok()?;
        let rest: u32 = format!("{rest:0<4}").parse().ok()?;
        whole.checked_mul(10_000)?.checked_add(rest).filter(|chance| *chance <= 1_000_000)
    });
    if chance.is_none() {
        out.error(node.place, format!("{key}: a share, \"1%\" or \"0.05%\", at most 100%"));
    }
    chance
}
