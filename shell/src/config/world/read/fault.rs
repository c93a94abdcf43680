//! What goes wrong, and when: one fault.

use giveover_core::weight::Weight;

use super::{Context, place_of, range, word};
use crate::config::reader::Reader;
use crate::config::report::Findings;
use crate::config::schema::Key;
use crate::config::source::Place;
use crate::config::tree::{Entry, Node, Table, Value};
use crate::config::world::cluster;
use crate::config::world::{
    BoardDoes, ClockDoes, ClockTurn, DaemonDoes, DiskDoes, Does, Expect, FAULT, FAULTS, Fault,
    HostDoes, LinkDoes, MemberDoes, NodeDoes, Verb, What, When, pool,
};
use crate::config::{values, words};

impl Context<'_> {
    pub(super) fn fault(
        &self,
        node: &Node,
        expects: &mut Vec<Expect>,
        out: &mut Findings,
    ) -> Option<Fault> {
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
