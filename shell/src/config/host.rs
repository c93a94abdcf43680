//! `[host]`, `[giveover]` and `[control]`.

use giveover_core::time::Span;

use super::address;
use super::check::{self, Around};
use super::plan::{ActionBudget, CheckPlan, GiveoverPlan, HostPlan, LocalFault};
use super::reader::{Reader, header};
use super::report::Findings;
use super::schema;
use super::source::Place;
use super::target;
use super::tree::{Entry, Node, Table};
use super::values;
use super::words;

/// The reader of the table behind `entry`, or of nothing if there is none.
fn open<'t>(
    entry: Option<&'t Entry>,
    nothing: &'t Table,
    name: &str,
    keys: &'static [schema::Key],
    out: &mut Findings,
) -> Reader<'t> {
    let table = entry.and_then(|entry| values::table(name, &entry.node, out));
    let place = entry.map_or(Place::whole(0), header);
    Reader::new(table.unwrap_or(nothing), place, name.to_owned(), &[keys], out)
}

/// Reads `[host]`. `probe_timeout` is the deadline of a question to a trusted server.
pub(super) fn host(entry: Option<&Entry>, probe_timeout: Span, out: &mut Findings) -> HostPlan {
    let nothing = Table::default();
    let reader = open(entry, &nothing, "host", schema::HOST, out);
    let node = reader.read("node", node_name, out);
    let rows = super::database::Rows::default();
    let around = Around {
        path: "host",
        addresses: None,
        addresses_wrong: false,
        probe_timeout,
        interval: Span::ZERO,
        has_process: false,
        rows: &rows,
    };
    let trusted = reader.read(
        "trusted",
        |key, node, out| {
            values::list(key, node, out, |key, node, out| one(key, node, &around, out))
        },
        out,
    );
    HostPlan {
        node: node.unwrap_or_else(own_name),
        trusted: trusted.unwrap_or_default(),
        observe: reader.read("observe", values::boolean, out).unwrap_or(false),
        actions: actions(reader.entry("actions"), out),
        local_fault: local_fault(reader.entry("local_fault"), out),
    }
}

fn node_name(key: &str, node: &Node, out: &mut Findings) -> Option<String> {
    let name = values::word(key, node, out)?;
    if !words::is_name(name) {
        let label = "names are 1 to 64 of A-Z a-z 0-9 _ - . @ :";
        out.error(node.place, format!("{key}: that cannot name a node")).label(label);
        return None;
    }
    Some(name.to_owned())
}

/// The host's own name.
fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A trusted server: a target that is somewhere else.
fn one(key: &str, node: &Node, around: &Around<'_>, out: &mut Findings) -> Option<CheckPlan> {
    let text = values::text(key, node, out)?;
    let target = address::said(key, target::parse(text), node, out)?;
    if !matches!(target.kind, "ping" | "tcp" | "http") {
        let check = target::a(target.kind);
        let message = format!("{key}: {check} check says nothing of our network");
        out.error(node.place, message).label("ping://HOST, tcp://HOST:PORT or http://HOST/");
        return None;
    }
    check::of_text(text, key, text, node, around, out)
}

pub(super) fn actions(entry: Option<&Entry>, out: &mut Findings) -> ActionBudget {
    let nothing = Table::default();
    let reader = open(entry, &nothing, "host.actions", schema::ACTIONS, out);
    ActionBudget {
        count: reader.read("count", values::number(1..=9999), out).unwrap_or(20),
        per: reader.read("per", values::positive_span, out).unwrap_or(Span::from_secs(3600)),
    }
}

pub(super) fn local_fault(entry: Option<&Entry>, out: &mut Findings) -> LocalFault {
    let nothing = Table::default();
    let reader = open(entry, &nothing, "host.local_fault", schema::LOCAL_FAULT, out);
    LocalFault {
        share: reader.read("share", values::share, out).unwrap_or(50),
        least: reader.read("least", values::number(1..=9999), out).unwrap_or(3),
        within: reader.read("within", values::positive_span, out).unwrap_or(Span::from_secs(120)),
    }
}

/// Reads `[giveover]`.
pub(super) fn giveover(entry: Option<&Entry>, out: &mut Findings) -> GiveoverPlan {
    let nothing = Table::default();
    let reader = open(entry, &nothing, "giveover", schema::GIVEOVER, out);
    let plan = GiveoverPlan {
        may: reader.read("may", values::argv, out),
        command: reader.read("command", values::argv, out),
        timeout: reader.read("timeout", values::positive_span, out).unwrap_or(Span::from_secs(60)),
    };
    if let (Some(may), false) = (reader.entry("may"), reader.has("command")) {
        let message = "may: nothing is ever handed over without `command`";
        out.error(may.place, message).of_absence();
    }
    plan
}

/// Reads `[control]`.
pub(super) fn control(entry: Option<&Entry>, out: &mut Findings) -> Vec<String> {
    let nothing = Table::default();
    let reader = open(entry, &nothing, "control", schema::CONTROL, out);
    let who = |key: &str, node: &Node, out: &mut Findings| {
        let who = values::word(key, node, out)?;
        if words::is_name(who.strip_prefix('@').unwrap_or(who)) {
            return Some(who.to_owned());
        }
        out.error(node.place, format!("{key}: a user, or a group as \"@group\""));
        None
    };
    let command = reader.read("command", |k, n, o| values::list(k, n, o, who), out);
    command.unwrap_or_default()
}
