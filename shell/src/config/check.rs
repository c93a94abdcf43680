//! `check.NAME`: from a target or a table to what is probed.

use giveover_core::time::Span;
use giveover_core::weight::Weight;

use super::address::{self, Addresses};
use super::agent::{self, Transport};
use super::database::{self, Rows};
use super::instance::{Form, Instance};
use super::kind;
use super::plan::{CheckPlan, Host, Kind, Question, Target, Targets};
use super::quantity::written;
use super::reader::Reader;
use super::remote;
use super::report::Findings;
use super::schema::{self, Key};
use super::talk;
use super::target::{self, Target as Url};
use super::tls;
use super::tree::{Entry, Node, Table, Value};
use super::values;

/// What a check needs to know of where it stands.
pub(super) struct Around<'a> {
    /// The table it stands in, `service.web`.
    pub(super) path: &'a str,
    /// Whom bare kinds ask.
    pub(super) addresses: Option<&'a Addresses>,
    /// Addresses are written but could not be read; that has been said.
    pub(super) addresses_wrong: bool,
    /// The longest deadline, and the one of a check that has none of its own.
    pub(super) probe_timeout: Span,
    /// From cycle to cycle.
    pub(super) interval: Span,
    /// Whether there is a process to watch.
    pub(super) has_process: bool,
    /// The service's table of errors.
    pub(super) rows: &'a Rows,
}

/// Most checks of a service: a cause holds a check's number in a byte, one value means none.
pub(super) const MOST_CHECKS: usize = 254;

/// Most targets of a check, for the same reason.
const MOST_TARGETS: usize = 255;

/// What is asked of whom, before the rest of a check is read.
struct Asked<'t> {
    kind: &'static str,
    url: Option<Url<'t>>,
}

/// Reads one check.
pub(super) fn read(entry: &Entry, around: &Around<'_>, out: &mut Findings) -> Option<CheckPlan> {
    let path = format!("{}.check.{}", around.path, entry.key);
    match &entry.node.value {
        Value::Text(text) => {
            let what = format!("check.{}", entry.key);
            of_text(&entry.key, &what, text, &entry.node, around, out)
        }
        Value::Table(table) => of_table(entry, table, path, around, out),
        Value::Bool(false) => {
            let message =
                format!("check.{} = false: there is no preset's check to drop", entry.key);
            out.error(entry.place, message);
            None
        }
        _ => {
            let what = format!("check.{}", entry.key);
            let remedy = match &entry.node.value {
                Value::List(_) => "a command is { command = [\"/path/to/program\"] }",
                _ => "\"KIND://HOST:PORT\" or { url = \"KIND://HOST:PORT\" }",
            };
            let is = entry.node.value.what();
            let message = format!("{what}: a target or a table is wanted, this is {is}");
            out.error(entry.node.place, message).label(remedy);
            None
        }
    }
}

/// The checks that `check`, read from `entry`, brings with it: one for each of its `uris`.
pub(super) fn read_uris(entry: &Entry, check: &CheckPlan, out: &mut Findings) -> Vec<CheckPlan> {
    let (Value::Table(table), Kind::Http(head)) = (&entry.node.value, &check.kind) else {
        return Vec::new();
    };
    let Some(uris) = table.get("uris").filter(|_| head.by_document) else { return Vec::new() };
    let named = |key: &str| match table.get("weights").map(|entry| &entry.node.value) {
        Some(Value::Table(weights)) => weights.get(key).is_some(),
        _ => false,
    };
    let mut weights = check.weights;
    if table.get("weight").is_none() && !named("answer") {
        weights.answer = Weight::COMPLETE; // 500 says that it does not work
    }
    let plans = kind::uris(head, &uris.node, out).unwrap_or_default();
    let checks = plans.into_iter().enumerate().map(|(place, plan)| {
        let name = format!("{}-{}", check.name, place + 1).into();
        let kind = Kind::Http(Box::new(plan));
        let question = Question { name, kind, weights, ..(*check.question).clone() };
        CheckPlan { targets: check.targets.clone(), question: question.into() }
    });
    checks.collect()
}

/// A check that is only a target.
pub(super) fn of_text(
    name: &str,
    what: &str,
    text: &str,
    node: &Node,
    around: &Around<'_>,
    out: &mut Findings,
) -> Option<CheckPlan> {
    let url = address::said(what, target::parse(text), node, out)?;
    let asked = Asked { kind: url.kind, url: Some(url) };
    let table = Table::default();
    // Nothing is written in it, so nothing can be wrong with it.
    let reader = Reader::new(&table, node.place, what.to_owned(), &[], out);
    build(name, what, &asked, &reader, around, out)
}

fn of_table(
    entry: &Entry,
    table: &Table,
    path: String,
    around: &Around<'_>,
    out: &mut Findings,
) -> Option<CheckPlan> {
    let Some(asked) = asked(entry, table, out) else {
        // Which keys may stand here is not known; those that may stand nowhere still are said.
        let all = [schema::CHECK, schema::TCP, schema::HTTP, schema::COMMAND, schema::XFNTS];
        let reader = Reader::new(table, entry.place, path, &all, out);
        common(&reader, around, out);
        return None;
    };
    let own: &[Key] = schema::of_kind(asked.kind);
    let [a, b, c] = tls::of_kind(asked.kind);
    let monitor = if asked.kind == "postgres" { database::OF_POSTGRES } else { &[] };
    let lists = [schema::CHECK, own, a, b, c, monitor];
    let reader = Reader::new(table, entry.place, path, &lists, out);
    build(&entry.key, &format!("check.{}", entry.key), &asked, &reader, around, out)
}

/// The kind of check a table asks for: by `url`, by `kind` or by `command`.
fn asked<'t>(entry: &Entry, table: &'t Table, out: &mut Findings) -> Option<Asked<'t>> {
    let (url, kind) = (table.get("url"), table.get("kind"));
    let command = table.get("command").or_else(|| table.get("argv"));
    if let (Some(_), Some(second)) = (url, kind) {
        let message = "kind: `url` says it already";
        out.error(second.place, message).label("leave one of them out");
        return None;
    }
    if let Some(url) = url {
        let text = values::text("url", &url.node, out)?;
        let url = address::said("url", target::parse(text), &url.node, out)?;
        return Some(Asked { kind: url.kind, url: Some(url) });
    }
    if let Some(kind) = kind {
        let word = values::text("kind", &kind.node, out)?;
        let kind = address::said("kind", target::kind(word), &kind.node, out)?;
        return Some(Asked { kind, url: None });
    }
    if command.is_some() {
        return Some(Asked { kind: "command", url: None });
    }
    let message = format!("check.{} does not say what is asked", entry.key);
    let finding = out.error(entry.place, message);
    finding.label("give it `url`, or `kind` with `address`, or `command`").of_absence();
    None
}

fn build(
    name: &str,
    what: &str,
    asked: &Asked<'_>,
    reader: &Reader<'_>,
    around: &Around<'_>,
    out: &mut Findings,
) -> Option<CheckPlan> {
    for key in ["address", "timeout", "weight", "weights", "every", "observe"] {
        refuse_meaningless(asked.kind, key, reader, out);
    }
    if asked.kind == "process" && !around.has_process && !reader.has("name") {
        let message = format!("{what}: there is no process to watch");
        out.error(reader.header, message).label("the service needs `unit` or `start`").of_absence();
    }
    let targets = targets(what, asked, reader, around, out);
    let (url, whom) = (asked.url.as_ref(), targets.as_deref());
    let kind = kind::read(what, asked.kind, url, whom, around, reader, out);
    let weights = kind::weights(asked.kind, reader, out);
    let (timeout, every, observe) = common(reader, around, out);
    let (kind, targets): (_, Targets) = (kind?, targets?.into());
    let form = match asked.kind {
        "iplanet" => Some(Form::Magnus),
        "directory" => Some(Form::Slapd),
        _ => None,
    };
    let instance = form.map(|form| {
        let file = reader.read("config_file", values::path, out).map(Into::into);
        let hosts = hosts_without_ports(asked, reader, around, out);
        let late = weights.late;
        let (plain, targets) = (kind.clone(), targets.clone());
        Box::new(Instance { form, file, hosts, plain, targets, late })
    });
    let name = name.into();
    let question = Question { name, kind, timeout, weights, every, observe, instance };
    Some(CheckPlan { targets, question: question.into() })
}

/// The hosts, where no port is written for any of them.
fn hosts_without_ports(
    asked: &Asked<'_>,
    reader: &Reader<'_>,
    around: &Around<'_>,
    out: &mut Findings,
) -> Option<Vec<Host>> {
    let own = match (reader.entry("address"), &asked.url) {
        (Some(entry), _) => Some(address::many("address", &entry.node, out)?),
        (None, Some(url)) => url.address.clone().map(|named| vec![named]),
        (None, None) => None,
    };
    match own {
        Some(hosts) => Addresses::of(hosts, reader.header).without_ports(),
        None => around.addresses?.without_ports(),
    }
}

/// Keys of every check that one kind has no use for.
fn refuse_meaningless(kind: &str, key: &str, reader: &Reader<'_>, out: &mut Findings) {
    let own_process = kind == "process" && !reader.has("name");
    let why = match (kind, key) {
        ("agent", "timeout") => "what is waited for is `interval` and `count`",
        ("log", "address") => "a log is of this host",
        ("systemd", "address") => "a unit is of this host",
        ("systemd", "timeout") => "systemd has ten seconds to answer, and no answer counts nothing",
        ("command", "address") => "a command knows itself whom it asks",
        ("path", "address") => "a path is of this host",
        ("oracle" | "listener", "address") => "Oracle's own programs know whom they ask",
        ("process", "address") => "a process has no address",
        ("process", "timeout" | "every") if own_process => "its end is heard at once",
        ("process", "weight" | "weights") if own_process => "its end is a complete failure",
        ("process", "observe") if own_process => {
            "its end counts by itself; leave the check out instead"
        }
        _ => return,
    };
    if let Some(entry) = reader.entry(key) {
        let check = target::a(kind);
        out.error(entry.place, format!("`{key}` means nothing to {check} check")).label(why);
    }
}

/// Whom the check asks; empty for kinds that ask nobody, and where the addresses are empty.
fn targets(
    what: &str,
    asked: &Asked<'_>,
    reader: &Reader<'_>,
    around: &Around<'_>,
    out: &mut Findings,
) -> Option<Vec<Target>> {
    let kind = asked.kind;
    let is_local =
        matches!(kind, "command" | "log" | "path" | "process" | "systemd" | "oracle" | "listener");
    if is_local || asked.url.as_ref().is_some_and(|url| url.socket.is_some()) {
        return Some(Vec::new());
    }
    if kind == "agent" && agent::is_unix(reader) {
        return Some(Vec::new());
    }
    if kind == "remote" && reader.has("socket") {
        if asked.url.as_ref().is_some_and(|url| url.address.is_some()) || reader.has("address") {
            let message = "socket: an address says already whom to ask";
            out.error(reader.place("socket"), message).label("leave one of them out");
            return None;
        }
        if let Some(entry) = reader.entry("tls") {
            let message = "tls: a socket in the file system is within this host";
            out.error(entry.place, message).label("leave it out");
            return None;
        }
        return remote::socket(reader, out);
    }
    let named = asked.url.as_ref().and_then(|url| url.address.clone());
    let usual = if kind == "rpc" { talk::usual_rpc_port(reader) } else { target::usual_port(kind) };
    let port = named.as_ref().and_then(|named| named.port).or(usual);
    let own = match reader.entry("address") {
        Some(entry) => {
            let hosts = address::many("address", &entry.node, out)?;
            if kind == "ping" && hosts.iter().any(|host| host.port.is_some()) {
                out.error(entry.node.place, "address: a ping has no port").label("leave it out");
                return None;
            }
            Some(Addresses::of(hosts, entry.node.place))
        }
        None => named.map(|named| Addresses::of(vec![named], reader.place("url"))),
    };
    let Some(addresses) = own.as_ref().or(around.addresses) else {
        if around.addresses_wrong {
            return None;
        }
        let message = format!("{what}: whom to ask is not said");
        let finding = out.error(reader.place("url"), message);
        finding.label(format!("{kind}://HOST:PORT, or `address` in {}", around.path)).of_absence();
        return None;
    };
    let Some(targets) = addresses.targets(kind, port) else {
        let message = format!("{what}: the port is missing");
        out.error(addresses.place, message).label(format!("{kind} has no usual port: HOST:PORT"));
        return None;
    };
    if targets.len() > MOST_TARGETS {
        let message = format!("{what}: {} addresses are too many", targets.len());
        out.error(addresses.place, message).label(format!("at most {MOST_TARGETS} in one check"));
        return None;
    }
    Some(targets)
}

/// The keys that mean the same to every kind.
fn common(
    reader: &Reader<'_>,
    around: &Around<'_>,
    out: &mut Findings,
) -> (Span, Option<Span>, bool) {
    let observe = reader.read("observe", values::boolean, out).unwrap_or(false);
    (timeout(reader, around, out), every(reader, around, out), observe)
}

fn timeout(reader: &Reader<'_>, around: &Around<'_>, out: &mut Findings) -> Span {
    let Some(timeout) = reader.read("timeout", values::positive_span, out) else {
        return around.probe_timeout;
    };
    if timeout > around.probe_timeout {
        let message = "timeout: must be within probe_timeout";
        let label = format!("probe_timeout is \"{}\"", written(around.probe_timeout));
        out.error(reader.place("timeout"), message).label(label);
    }
    timeout
}

fn every(reader: &Reader<'_>, around: &Around<'_>, out: &mut Findings) -> Option<Span> {
    let every = reader.read("every", values::positive_span, out)?;
    if every < around.interval {
        let message = "every: no check can be probed oftener than each cycle";
        let label = format!("thorough_probe_interval is \"{}\"", written(around.interval));
        out.error(reader.place("every"), message).label(label);
    }
    Some(every)
}

/// The Host field for `targets` where no URL names one: the first of them, as a URL has it.
pub(super) fn host_field(targets: &[Target], usual_port: u16) -> String {
    let Some(first) = targets.first() else { return "localhost".to_owned() };
    let host = match &first.host {
        Host::Address(std::net::IpAddr::V6(address)) => format!("[{address}]"),
        Host::Address(address) => address.to_string(),
        Host::Name(name) => name.to_string(),
        Host::Socket(_) => return "localhost".to_owned(),
    };
    if first.port == usual_port { host } else { format!("{host}:{}", first.port) }
}

impl CheckPlan {
    /// Whether this kind of check asks addresses. One that does and has none cannot measure.
    #[must_use]
    pub fn asks_addresses(&self) -> bool {
        match &self.kind {
            Kind::Command(_) | Kind::Process | Kind::State(_) => false,
            Kind::Agent(plan) => !matches!(plan.transport, Transport::Unix(_)),
            Kind::Database(plan) => plan.asks_address(),
            Kind::Tcp { .. }
            | Kind::Http(_)
            | Kind::Xfnts { .. }
            | Kind::Talk(_)
            | Kind::Tls(_)
            | Kind::Hello(_)
            | Kind::Remote(_) => true,
        }
    }
}
