//! `[watch]` and `[notify.NAME]`: who may look, and who is told.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::name;
use super::plan::{Edge, Listen, NotifyPlan, Way};
use super::reader::{Reader, header};
use super::report::Findings;
use super::schema;
use super::target;
use super::tree::{Entry, Node};
use super::values;
use super::words;

/// The edges a hook can be told of: words of the catalogue of events. What is told of each probe, or
/// only to a log, is none.
pub const EDGES: &[&str] = &[
    "failure",
    "died",
    "restart",
    "restarted",
    "restart_failed",
    "stop_failed",
    "healed",
    "giveover",
    "granted",
    "denied",
    "not_now",
    "aborted",
    "unproven",
    "budget_spent",
    "logged",
    "held",
    "released",
    "cleared",
    "recovered",
    "unmeasured",
    "measured",
    "start_failed",
    "stopped",
    "local_fault",
    "local_fault_over",
    "host_budget",
    "host_budget_over",
    "reset",
    "reset_refused",
    "board_armed",
    "board_not_armed",
    "board_missed",
    "board_reset",
    "reloaded",
    "refused",
    "journal_damaged",
    "journal_failing",
    "journal_well",
    "daemon_started",
    "daemon_stopped",
    "role",
    "peer",
    "peer_refused",
    "nodes",
];

/// Reads `[watch]`: where to listen.
pub(super) fn watch(entry: Option<&Entry>, out: &mut Findings) -> Option<Listen> {
    let entry = entry?;
    let table = values::table("watch", &entry.node, out)?;
    let reader = Reader::new(table, header(entry), "watch".to_owned(), &[schema::WATCH], out);
    if !reader.has("listen") {
        let finding = out.error(reader.header, "watch: needs `listen`");
        finding.label("listen = \"127.0.0.1:9709\"").of_absence();
    }
    reader.read("listen", listen, out)
}

fn listen(key: &str, node: &Node, out: &mut Findings) -> Option<Listen> {
    let text = values::word(key, node, out)?;
    if text.starts_with('/') {
        return Some(Listen::Path(PathBuf::from(text)));
    }
    let Ok(address) = text.parse::<SocketAddr>() else {
        let message = format!("{key}: an address with its port, or the path of a socket");
        out.error(node.place, message).label("\"127.0.0.1:9709\"");
        return None;
    };
    if !address.ip().is_loopback() {
        // whoever sees it knows what fails here, and nobody is asked who they are
        let message = format!("{key}: only an address of this host itself");
        out.error(node.place, message)
            .label("127.0.0.1 or [::1]; a proxy that asks for a password can show it to others");
        return None;
    }
    Some(Listen::Address(address))
}

/// Reads every `[notify.NAME]`.
pub(super) fn notify(entries: &[Entry], out: &mut Findings) -> Vec<NotifyPlan> {
    entries.iter().filter_map(|entry| one(entry, out)).collect()
}

fn one(entry: &Entry, out: &mut Findings) -> Option<NotifyPlan> {
    name::check("notify", entry, out);
    let table = values::table(&entry.key, &entry.node, out)?;
    let path = format!("notify.{}", entry.key);
    let reader = Reader::new(table, header(entry), path, &[schema::NOTIFY], out);
    let command = reader.read("command", values::argv, out);
    let webhook = reader.read("webhook", webhook, out);
    let way = match (reader.has("command"), reader.has("webhook")) {
        (true, false) => command.map(Way::Command),
        (false, true) => webhook.map(Way::Webhook),
        (true, true) => {
            let message = "a notice goes one way, by `command` or `webhook`";
            out.error(reader.place("webhook"), message).label("another [notify.NAME] will do");
            None
        }
        (false, false) => {
            let message = format!("{}: needs `command` or `webhook`", reader.path);
            out.error(reader.header, message).of_absence();
            None
        }
    };
    let on = reader.read("on", |k, n, o| values::one_or_more(k, n, o, edge), out);
    let repeat = reader.read("repeat", values::positive_span, out);
    Some(NotifyPlan {
        name: entry.key.as_str().into(),
        way: way?,
        on: on.unwrap_or_default(),
        repeat,
    })
}

fn edge(key: &str, node: &Node, out: &mut Findings) -> Option<Edge> {
    let word = values::text(key, node, out)?;
    if let Some(place) = EDGES.iter().position(|edge| *edge == word) {
        return u8::try_from(place).ok().map(Edge);
    }
    let finding = out.error(node.place, format!("{key}: no edge is called `{word}`"));
    match words::nearest(word, EDGES.iter().copied()) {
        Some(near) => finding.label(format!("did you mean `{near}`?")),
        None => finding.label(format!("edges are {}", words::and(EDGES.iter().copied()))),
    };
    None
}

fn webhook(key: &str, node: &Node, out: &mut Findings) -> Option<Box<str>> {
    let text = values::word(key, node, out)?;
    let known = target::parse(text).ok().filter(|target| matches!(target.kind, "http" | "https"));
    let host = known.and_then(|_| text.split_once("://"));
    if host.is_none_or(|(_, rest)| rest.is_empty() || rest.starts_with('/') || rest.contains('@')) {
        let message = format!("{key}: a URL of http or https, without a password in it");
        out.error(node.place, message).label("\"https://hooks.example.org/giveover\"");
        return None;
    }
    Some(text.into())
}
