//! From the tree of a scenario file to a world, or to everything that is wrong with it.

mod expect;
mod fault;

use std::collections::HashMap;

use giveover_core::policy::{Destination, Limits, Policy, Scope};
use giveover_core::time::Span;
use giveover_core::weight::Weight;

use super::{
    BOARD, Board, FILE, Fault, GIVEOVER, HOST, LEAKS, Leak, PoolPlan, Range, SERVICE, Service,
    World, cluster, pool,
};
use crate::config::board;
use crate::config::files::Files;
use crate::config::host;
use crate::config::plan::GoesTo;
use crate::config::reader::{Reader, header};
use crate::config::report::Findings;
use crate::config::scenario::{Reply, Script, limits, replies};
use crate::config::source::{Place, Sources};
use crate::config::tree::{Entry, Node, Table};
use crate::config::{name, values, words};

/// Reads a world from what `files` hold.
pub(in crate::config) fn read(files: &Files, short: &str, out: &mut Findings) -> Option<World> {
    let whole = Place::whole(0);
    let reader = Reader::new(&files.root, whole, String::new(), &[FILE], out);
    let count = out.count();
    let length = length(&reader, out);
    let nothing = Table::default();

    let (host_table, host_place) = table_of(&reader, "host", &nothing, out);
    let of_host = Reader::new(host_table, host_place, "host".to_owned(), &[HOST], out);
    let (answer_table, answer_place) = table_of(&reader, "giveover", &nothing, out);
    let answers = Reader::new(answer_table, answer_place, "giveover".to_owned(), &[GIVEOVER], out);

    let entries = reader.entries("service", out);
    let names: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(place, entry)| (entry.key.as_str(), place)).collect();
    let has_board = reader.has("board");
    let services = entries.iter().map(|entry| service(entry, &names, has_board, out));
    let services: Vec<Option<Service>> = services.collect();
    let empty = ["board", "node", "pool"].into_iter().all(|key| !reader.has(key));
    if entries.is_empty() && empty {
        let message =
            "there is no [service.NAME] in it, no [board], no [node.NAME] and no [pool.NAME]";
        let finding = out.error(whole, message);
        finding.of_absence().label("a file of [[scenario]]s is the small form");
    }
    let board = board_of(reader.entry("board"), out);
    let group = cluster::group(&reader, &names, out);
    let nodes = reader.entries("node", out);
    let trusted = of_host.read("trusted", values::number(0..=100), out).unwrap_or(0);
    let pools = reader.entries("pool", out);
    for entry in pools.iter().filter(|entry| names.contains_key(entry.key.as_str())) {
        let message = format!("a service is called `{}` too", entry.key);
        out.error(entry.place, message).label("claims name either: another name will do");
    }
    for entry in pools.iter().filter(|entry| is_claimed(&entry.key)) {
        let message = format!("a pool called `{}` could not be asserted anything of", entry.key);
        out.error(entry.place, message).label("another name will do");
    }
    let pools = pools.iter().filter_map(|entry| pool::pool(entry, trusted > 0, out));
    let pools: Vec<PoolPlan> = pools.collect();
    let context =
        Context { names: &names, nodes, pools: &pools, has_board, sources: &files.sources };
    let mut expects = Vec::new();
    let faults = tables(&reader, "fault", out);
    let faults: Vec<Option<Fault>> =
        faults.iter().map(|node| context.fault(node, &mut expects, out)).collect();
    for node in tables(&reader, "expect", out) {
        expects.extend(context.expect(node, None, None, out));
    }
    expects.sort_by_key(|expect| expect.at);
    let asserts = context.asserts(reader.entry("assert"), out);
    let world = World {
        name: reader
            .read("name", values::text, out)
            .map_or_else(|| short.to_owned(), str::to_owned),
        length: length.unwrap_or(0),
        seed: reader.read("seed", seed, out).unwrap_or(1),
        actions: host::actions(of_host.entry("actions"), out),
        local_fault: host::local_fault(of_host.entry("local_fault"), out),
        trusted,
        boot_takes: range_or(&of_host, "boot_takes", steady(30_000), out),
        answer: answers
            .read("answer", replies, out)
            .unwrap_or(Script { first: Reply::Accept, then: None }),
        answer_takes: range_or(&answers, "takes", steady(0), out),
        services: services.into_iter().flatten().collect(),
        board,
        group,
        pools,
        faults: faults.into_iter().flatten().collect(),
        expects,
        asserts,
    };
    (out.count() == count).then_some(world)
}

/// The table behind `key`, or `nothing`.
pub(super) fn table_of<'t>(
    reader: &Reader<'t>,
    key: &str,
    nothing: &'t Table,
    out: &mut Findings,
) -> (&'t Table, Place) {
    let table = reader.read(key, values::table, out).unwrap_or(nothing);
    (table, reader.entry(key).map_or(Place::whole(0), header))
}

fn tables<'t>(reader: &Reader<'t>, key: &str, out: &mut Findings) -> Vec<&'t Node> {
    let each =
        |key: &str, node: &'t Node, out: &mut Findings| values::table(key, node, out).map(|_| node);
    reader.read(key, |key, node, out| values::list(key, node, out, each), out).unwrap_or_default()
}

fn length(reader: &Reader<'_>, out: &mut Findings) -> Option<u64> {
    if !reader.has("length") {
        let finding = out.error(reader.header, "there is no `length`: how long is to be played?");
        finding.of_absence().label("length = \"1h\"");
        return None;
    }
    let ms = reader.read("length", values::long_span, out)?;
    if ms == 0 {
        out.error(reader.place("length"), "length: must not be zero");
        return None;
    }
    Some(ms)
}

fn seed(key: &str, node: &Node, out: &mut Findings) -> Option<u64> {
    values::number::<u64>(0..=i64::MAX)(key, node, out)
}

/// One length of time, or two between which it varies.
fn range(key: &str, node: &Node, out: &mut Findings) -> Option<Range> {
    let spans = values::one_or_more(key, node, out, values::span)?;
    match spans.as_slice() {
        [only] => Some(Range { least: only.as_millis(), most: only.as_millis() }),
        [least, most] if least <= most => {
            Some(Range { least: least.as_millis(), most: most.as_millis() })
        }
        [_, _] => {
            out.error(node.place, format!("{key}: the shorter one comes first"));
            None
        }
        _ => {
            out.error(node.place, format!("{key}: one duration, or two between which it varies"));
            None
        }
    }
}

/// A length of time that does not vary.
const fn steady(ms: u32) -> Range {
    Range { least: ms, most: ms }
}

pub(super) fn range_or(reader: &Reader<'_>, key: &str, usual: Range, out: &mut Findings) -> Range {
    reader.read(key, range, out).unwrap_or(usual)
}

/// Names that claims have for themselves.
fn is_claimed(name: &str) -> bool {
    ["every", "host", "group"].contains(&name)
}

fn service(
    entry: &Entry,
    names: &HashMap<&str, usize>,
    has_board: bool,
    out: &mut Findings,
) -> Option<Service> {
    name::check("service", entry, out);
    if is_claimed(&entry.key) {
        let message = format!("a service called `{}` could not be asserted anything of", entry.key);
        out.error(entry.place, message).label("another name will do");
    }
    let table = values::table(&entry.key, &entry.node, out)?;
    let path = format!("service.{}", entry.key);
    let reader = Reader::new(table, header(entry), path, &[SERVICE], out);
    let giveover = reader.read("giveover", goes_to, out).unwrap_or(GoesTo::Command);
    if giveover == GoesTo::Board && !has_board {
        out.error(reader.place("giveover"), "giveover: there is no [board] in this world");
    }
    let scope = Scope {
        smallest: Weight::LEAST,
        destination: match giveover {
            GoesTo::Command | GoesTo::Node => Destination::Elsewhere,
            GoesTo::Board => Destination::Board,
            GoesTo::Nobody => Destination::Nobody,
        },
        ..Scope::USUAL
    };
    let limits = match reader.entry("policy") {
        Some(written) => limits(written, Limits::DEFAULT, out),
        None => Some(Limits::DEFAULT),
    };
    let policy = limits.and_then(|limits| match Policy::new(limits, scope) {
        Ok((policy, _)) => Some(policy),
        Err(error) => {
            let culprit = table.find(&["policy", error.key()]).map(|it| it.node.place);
            out.error(culprit.unwrap_or_else(|| reader.place("policy")), error.to_string());
            None
        }
    });
    let need = |key: &str, node: &Node, out: &mut Findings| place_of(key, node, names, out);
    let needs = reader.read("needs", |k, n, o| values::list(k, n, o, need), out);
    if let Some(needs) = &needs {
        let own = names.get(entry.key.as_str());
        // in a world what is needed stands before what needs it, so that no circle can be written
        if let Some(late) = needs.iter().find(|need| own.is_some_and(|own| *need >= own)) {
            let late = names.iter().find(|(_, place)| *place == late).map_or("?", |(name, _)| name);
            let message = format!("needs: `{late}` must stand before what needs it");
            out.error(reader.place("needs"), message);
        }
    }
    Some(Service {
        name: entry.key.as_str().into(),
        policy: policy?,
        giveover,
        needs: needs.unwrap_or_default(),
        network: reader.read("network", values::boolean, out).unwrap_or(false),
        local: reader.read("local", values::boolean, out).unwrap_or(false),
        probe_takes: range_or(&reader, "probe_takes", steady(10), out),
        start_takes: range_or(&reader, "start_takes", steady(1_000), out),
        stop_takes: range_or(&reader, "stop_takes", steady(1_000), out),
        leaks: reader.entry("leaks").and_then(|entry| leak(entry, out)),
    })
}

fn leak(entry: &Entry, out: &mut Findings) -> Option<Leak> {
    let table = values::table("leaks", &entry.node, out)?;
    let reader = Reader::new(table, header(entry), "leaks".to_owned(), &[LEAKS], out);
    if !reader.has("after") {
        out.error(reader.header, "leaks: needs `after`").of_absence().label("after = \"40m\"");
    }
    let after = reader.read("after", range, out)?;
    Some(Leak { after, weight: reader.read("weight", values::weight, out).unwrap_or(Weight::HALF) })
}

fn goes_to(key: &str, node: &Node, out: &mut Findings) -> Option<GoesTo> {
    let place = values::one_of(&["command", "board", "none"])(key, node, out)?;
    [GoesTo::Command, GoesTo::Board, GoesTo::Nobody].get(place).copied()
}

fn board_of(entry: Option<&Entry>, out: &mut Findings) -> Option<Board> {
    let entry = entry?;
    let table = values::table("board", &entry.node, out)?;
    let reader = Reader::new(table, header(entry), "board".to_owned(), &[BOARD], out);
    let settings = board::settings(&reader, out);
    let confirm_after = reader.read("confirm_after", values::positive_span, out);
    Some(Board { settings, confirm_after: confirm_after.unwrap_or(Span::from_secs(300)) })
}

/// The service that is called so.
pub(super) fn place_of(
    key: &str,
    node: &Node,
    names: &HashMap<&str, usize>,
    out: &mut Findings,
) -> Option<usize> {
    let name = values::text(key, node, out)?;
    if let Some(place) = names.get(name) {
        return Some(*place);
    }
    let finding = out.error(node.place, format!("{key}: no service is called `{name}`"));
    finding.of_absence();
    if let Some(near) = words::nearest(name, names.keys().copied()) {
        finding.label(format!("did you mean `{near}`?"));
    }
    None
}

/// What faults and expectations are read in the light of.
struct Context<'a> {
    names: &'a HashMap<&'a str, usize>,
    nodes: &'a [Entry],
    pools: &'a [PoolPlan],
    has_board: bool,
    sources: &'a Sources,
}

impl Context<'_> {
    fn line(&self, place: Place) -> (usize, usize) {
        self.sources.position(place).unwrap_or((0, 0))
    }
}

/// One of `words`, as its fellow in `all`.
fn word<T: Copy>(
    key: &str,
    node: &Node,
    words: &'static [&'static str],
    all: &[T],
    out: &mut Findings,
) -> Option<T> {
    all.get(values::one_of(words)(key, node, out)?).copied()
}
