//! What should be so: at some time, and of the whole.

use giveover_core::board::State;
use giveover_core::monitor::Status;
use giveover_core::peer::Role;

use super::{Context, place_of, word};
use crate::config::reader::Reader;
use crate::config::report::Findings;
use crate::config::scenario::pool::SHOWN;
use crate::config::tree::{Entry, Node};
use crate::config::world::assert::{Assert, Of, claim};
use crate::config::world::cluster::{self, node_number};
use crate::config::world::{ACTIONS, EXPECT, Expect, pool};
use crate::config::{values, words};

impl Context<'_> {
    pub(super) fn expect(
        &self,
        node: &Node,
        at: Option<u64>,
        own: Option<usize>,
        out: &mut Findings,
    ) -> Option<Expect> {
        let table = values::table("expect", node, out)?;
        let count = out.count();
        let reader = Reader::new(table, node.place, "expect".to_owned(), &[EXPECT, SHOWN], out);
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

    pub(super) fn asserts(&self, entry: Option<&Entry>, out: &mut Findings) -> Vec<Assert> {
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
