//! From the tree of a scenario file to a world, or to everything that is wrong with it.

use std::collections::HashMap;

use giveover_core::board::State;
use giveover_core::monitor::Status;
use giveover_core::peer::Role;
use giveover_core::policy::{Destination, Limits, Policy, Scope};
use giveover_core::time::Span;
use giveover_core::weight::Weight;

use super::assert::{Assert, Of, claim};
use super::cluster::{self, node_number};
use super::{
    ACTIONS, BOARD, Board, BoardDoes, ClockDoes, ClockTurn, DaemonDoes, DiskDoes, Does, EXPECT,
    Expect, FAULT, FAULTS, FILE, Fault, GIVEOVER, HOST, HostDoes, LEAKS, Leak, LinkDoes,
    MemberDoes, NodeDoes, PoolPlan, Range, SERVICE, Service, Verb, What, When, World, pool,
};
use crate::config::board;
use crate::config::files::Files;
use crate::config::host;
use crate::config::plan::GoesTo;
use crate::config::reader::{Reader, header};
use crate::config::report::Findings;
use crate::config::scenario::{Reply, Script, limits, replies};
use crate::config::schema::Key;
use crate::config::source::{Place, Sources};
use crate::config::tree::{Entry, Node, Table, Value};
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

    fn fault(&self, node: &Node, expects: &mut Vec<Expect>, out: &mut Findings) -> Option<Fault> {
        let Value::Table(table) = &node.value else { return None };
        let reader = Reader::new(table, node.place, "fault".to_owned(), &[FAULT, FAULTS], out);
        let at = reader.read("at", values::long_span, out);
        let every = reader.read("every", values::long_span, out);
        let when = match (reader.has("at"), reader.has("every")) {
            (true, false) => at.map(When::At),
            (false, true) if every == Some(0) => {
                out.error(reader.place("every"), "every: must not be zero");
                None
            }
            (false, true) => every.map(When::Every),
            (true, true) => {
                let finding = out.error(reader.place("every"), "a fault has `at` or `every`");
                finding.label("once then, or again and again by chance");
                None
            }
            (false, false) => {
                out.error(node.place, "this fault has neither `at` nor `every`").of_absence();
                None
            }
        };
        let what = self.what(&reader, table, node.place, out);
        if let Some(entry) = reader.entry("expect") {
            let own = match what {
                Some(What::Service(place, _)) => Some(place),
                _ => None,
            };
            match when {
                Some(When::At(at)) => {
                    expects.extend(self.expect(&entry.node, Some(at), own, out));
                }
                _ => {
                    out.error(entry.place, "expect: what is drawn by chance has no right answer");
                }
            }
        }
        let lasts = reader.read("for", range, out);
        let (line, _) = self.line(node.place);
        Some(Fault { when: when?, what: what?, lasts, line })
    }

    fn what(
        &self,
        reader: &Reader<'_>,
        table: &Table,
        place: Place,
        out: &mut Findings,
    ) -> Option<What> {
        let is_one = |entry: &&Entry| FAULTS.iter().any(|key: &Key| key.name == entry.key);
        let about: Vec<&Entry> = table.0.iter().filter(is_one).collect();
        let entry = match about[..] {
            [entry] => entry,
            [] => {
                let names: Vec<&str> = FAULTS.iter().map(|key| key.name).collect();
                let message = format!("this fault says nothing: {}", words::or(names));
                out.error(place, message).of_absence();
                return None;
            }
            [first, second, ..] => {
                let both = format!("a fault is about one thing, not `{}` and this", first.key);
                out.error(second.place, both).label("another fault at the same time will do");
                return None;
            }
        };
        let (key, node) = (entry.key.as_str(), &entry.node);
        let owners: [(&str, &[&str]); 3] = [
            ("does", &["service", "node", "link", "member"]),
            ("weight", &["service"]),
            ("by", &["clock"]),
        ];
        for (other, of) in owners {
            if let (Some(entry), false) = (reader.entry(other), of.contains(&key)) {
                out.error(entry.place, format!("{other}: only with {}", words::or(of.to_vec())));
            }
        }
        match key {
            "service" => self.does(reader, node, place, out),
            "host" => word(key, node, HostDoes::WORDS, HostDoes::ALL, out).map(What::Host),
            "daemon" => word(key, node, DaemonDoes::WORDS, DaemonDoes::ALL, out).map(What::Daemon),
            "network" => word(key, node, &["cut"], &[What::NetworkCut], out),
            "trusted" => word(key, node, &["silent"], &[What::TrustedSilent], out),
            "disk" => word(key, node, DiskDoes::WORDS, DiskDoes::ALL, out).map(What::Disk),
            "board" => {
                if !self.has_board {
                    out.error(node.place, "board: there is no [board] in this world");
                }
                word(key, node, BoardDoes::WORDS, BoardDoes::ALL, out).map(What::Board)
            }
            "clock" => {
                let turn = word(key, node, ClockTurn::WORDS, ClockTurn::ALL, out)?;
                if !reader.has("by") {
                    out.error(place, "clock: needs `by`").of_absence();
                }
                let by = reader.read("by", clock_by(turn), out)?;
                Some(What::Clock(ClockDoes { turn, by }))
            }
            "node" => {
                let node = cluster::place_of(key, node, self.nodes, out);
                let does = does_of(reader, place, key, NodeDoes::WORDS, NodeDoes::ALL, out);
                Some(What::Node(node?, does?))
            }
            "link" => {
                let one = |key: &str, node: &Node, out: &mut Findings| {
                    cluster::place_of(key, node, self.nodes, out)
                };
                let two = values::list(key, node, out, one);
                let does = does_of(reader, place, key, LinkDoes::WORDS, LinkDoes::ALL, out);
                match two?[..] {
                    [from, to] if from != to => Some(What::Link(from, to, does?)),
                    _ => {
                        out.error(node.place, "link: needs two nodes");
                        None
                    }
                }
            }
            "member" => {
                let member = pool::member_of(key, node, self.pools, out);
                let does = does_of(reader, place, key, MemberDoes::WORDS, MemberDoes::ALL, out);
                let (pool, member) = member?;
                Some(What::Member(pool, member, does?))
            }
            _ => None, // told as an unknown key
        }
    }

    fn does(
        &self,
        reader: &Reader<'_>,
        node: &Node,
        place: Place,
        out: &mut Findings,
    ) -> Option<What> {
        let service = place_of("service", node, self.names, out);
        if !reader.has("does") {
            let finding = out.error(place, "service: needs `does`");
            finding.of_absence().label(Verb::WORDS.join(", "));
        }
        let verb = reader.read("does", |k, n, o| word(k, n, Verb::WORDS, Verb::ALL, o), out);
        let weight = reader.read("weight", values::weight, out).unwrap_or(Weight::HALF);
        if let (Some(verb), true) = (verb, reader.has("weight")) {
            if verb != Verb::Slow {
                let message = format!("weight: what is `{}` has a weight of its own", verb.word());
                out.error(reader.place("weight"), message);
            }
        }
        Some(What::Service(service?, Does { verb: verb?, weight }))
    }

    fn expect(
        &self,
        node: &Node,
        at: Option<u64>,
        own: Option<usize>,
        out: &mut Findings,
    ) -> Option<Expect> {
        let table = values::table("expect", node, out)?;
        let count = out.count();
        let reader = Reader::new(table, node.place, "expect".to_owned(), &[EXPECT], out);
        let written = reader.read("at", values::long_span, out);
        if at.is_none() && !reader.has("at") {
            out.error(node.place, "this expectation has no `at`").of_absence();
        }
        let service = reader.read("service", |k, n, o| place_of(k, n, self.names, o), out);
        let service = service.or(own).or((self.names.len() == 1).then_some(0));
        let number = values::number::<u16>(0..=65_535);
        let statuses =
            [Status::Unknown, Status::Ok, Status::Degraded, Status::Faulted, Status::Offline];
        const STATUSES: &[&str] = &["unknown", "ok", "degraded", "faulted", "offline"];
        let status = reader.read("status", |k, n, o| word(k, n, STATUSES, &statuses, o), out);
        let action = |k: &str, n: &Node, o: &mut Findings| word(k, n, ACTIONS, ACTIONS, o);
        let actions = reader.read("actions", |k, n, o| values::list(k, n, o, action), out);
        const STATES: &[&str] =
            &["cold", "waiting", "armed", "warned", "pulsing", "grace", "line held", "disarmed"];
        let board = reader.read("board", |k, n, o| word(k, n, STATES, State::ALL, o), out);
        if let (Some(entry), false) =
            (reader.entry("board").or(reader.entry("resets")), self.has_board)
        {
            out.error(entry.place, "there is no [board] in this world");
        }
        let node_of = |k: &str, n: &Node, o: &mut Findings| cluster::place_of(k, n, self.nodes, o);
        let whose = reader.read("node", node_of, out);
        const ROLES: &[&str] = &["off", "init", "standby", "active", "down"];
        let role = reader.read("role", values::one_of(ROLES), out);
        let role = role.map(|place| Role::of(u8::try_from(place).unwrap_or(0)));
        if let (Some(entry), None) = (reader.entry("role"), whose) {
            out.error(entry.place, "role: of which node?").label("node = \"NAME\"");
        }
        let holders = reader.read("holders", |k, n, o| values::list(k, n, o, node_of), out);
        let runs = reader.read("runs", |k, n, o| values::list(k, n, o, node_of), out);
        let pool = pool::expected(&reader, self.pools, out);
        let expect = Expect {
            at: written.or(at)?,
            service,
            status,
            failure_sum: reader.read("failure_sum", &number, out),
            restarts: reader.read("restarts", &number, out),
            actions,
            board,
            resets: reader.read("resets", values::number(0..=65_535), out),
            node: whose,
            role: whose.zip(role),
            holders: holders.map(|nodes| nodes.into_iter().map(node_number).collect()),
            runs: runs.map(|nodes| nodes.into_iter().map(node_number).collect()),
            pool,
            line: self.line(node.place).0,
        };
        let of_service = expect.status.is_some()
            || expect.failure_sum.is_some()
            || expect.restarts.is_some()
            || expect.runs.is_some()
            || expect.actions.is_some();
        if of_service && service.is_none() && !reader.has("service") {
            let finding = out.error(node.place, "expect: of which service?");
            finding.of_absence().label("service = \"NAME\"");
        }
        (out.count() == count).then_some(expect)
    }

    fn asserts(&self, entry: Option<&Entry>, out: &mut Findings) -> Vec<Assert> {
        let Some(entry) = entry else { return Vec::new() };
        let Some(table) = values::table("assert", &entry.node, out) else { return Vec::new() };
        let mut asserts = Vec::new();
        for entry in &table.0 {
            let of = match (entry.key.as_str(), self.names.get(entry.key.as_str())) {
                ("every", _) => Of::Every,
                ("host", _) => Of::Host,
                ("group", _) if self.nodes.is_empty() => {
                    let finding = out.error(entry.place, "assert: there is no [node.NAME]");
                    finding.label("`group` is the nodes together");
                    continue;
                }
                ("group", _) => Of::Group,
                (_, Some(place)) => Of::Service(*place),
                (name, None) => {
                    if let Some(place) = self.pools.iter().position(|pool| *pool.name == *name) {
                        asserts.extend(self.claims(entry, Of::Pool(place), out));
                        continue;
                    }
                    let message = format!("assert: no service is called `{name}`");
                    let finding = out.error(entry.place, message);
                    let known = self.names.keys().copied().chain(["every", "host", "group"]);
                    let known = known.chain(self.pools.iter().map(|pool| &*pool.name));
                    match words::nearest(name, known) {
                        Some(near) => finding.label(format!("did you mean `{near}`?")),
                        None => finding
                            .label("`every` is each service, `host` the host, `group` the nodes"),
                    };
                    continue;
                }
            };
            asserts.extend(self.claims(entry, of, out));
        }
        asserts
    }

    fn claims(&self, entry: &Entry, of: Of, out: &mut Findings) -> Vec<Assert> {
        let one = |_: &str, node: &Node, out: &mut Findings| {
            let text = values::text(&entry.key, node, out)?;
            let claim = match claim(text, of.whose()) {
                Ok(claim) => claim,
                Err(why) => {
                    out.error(node.place, why);
                    return None;
                }
            };
            let (line, column) = self.line(node.place);
            Some(Assert { of, claim, text: text.to_owned(), line, column })
        };
        values::one_or_more(&entry.key, &entry.node, out, one).unwrap_or_default()
    }
}

/// What `does` says of a node or a link.
fn does_of<T: Copy>(
    reader: &Reader<'_>,
    place: Place,
    key: &str,
    words: &'static [&'static str],
    all: &[T],
    out: &mut Findings,
) -> Option<T> {
    if !reader.has("does") {
        let finding = out.error(place, format!("{key}: needs `does`"));
        finding.of_absence().label(words.join(", "));
    }
    reader.read("does", |k, n, o| word(k, n, words, all, o), out)
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

/// `"-1h"` for a step, `"200ppm"` for a drift.
fn clock_by(turn: ClockTurn) -> impl Fn(&str, &Node, &mut Findings) -> Option<i64> {
    move |key, node, out| {
        let text = values::text(key, node, out)?;
        let (sign, size) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let size = match turn {
            ClockTurn::Step => crate::config::quantity::milliseconds(size).ok(),
            ClockTurn::Drift => size.strip_suffix("ppm").and_then(|number| number.parse().ok()),
        };
        let most = if turn == ClockTurn::Drift { 200_000 } else { i64::MAX as u64 };
        if let Some(size) = size.filter(|size| *size <= most) {
            return i64::try_from(size).ok().map(|size| sign * size);
        }
        out.error(
            node.place,
            match turn {
                ClockTurn::Step => format!("{key}: a step is a duration, \"1h\" or \"-1h\""),
                ClockTurn::Drift => {
                    format!("{key}: a drift is \"200ppm\" or \"-200ppm\", at most 200000ppm")
                }
            },
        );
        None
    }
}
