//! What each kind of check has of its own: its keys, and what its failures weigh.

use giveover_core::time::Span;
use giveover_core::weight::Weight;

use super::agent;
use super::check::{Around, host_field};
use super::database;
use super::look::{self, LogWanted, Looks, Wanted};
use super::plan::{CommandPlan, ExitMeaning, ExitTable, HttpPlan, Kind, Method, Target, Weights};
use super::reader::Reader;
use super::remote;
use super::report::Findings;
use super::state;
use super::talk::{self, Talk};
use super::target::{self, Target as Url};
use super::tls;
use super::tree::{Entry, Node, Value};
use super::values;
use super::words;

/// Reads the keys of `kind`.
pub(super) fn read(
    what: &str,
    kind: &str,
    url: Option<&Url<'_>>,
    targets: Option<&[Target]>,
    around: &Around<'_>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    match kind {
        "tcp" => Some(Kind::Tcp {
            send: reader.read("send", bytes, out),
            expect: reader.read("expect", bytes, out),
        }),
        "http" => http(url, targets.unwrap_or_default(), 80, reader, out),
        "apache" | "iplanet" => apache(url, targets.unwrap_or_default(), reader, out),
        "agent" => agent::read(what, url, targets.unwrap_or_default(), reader, out),
        "command" => command(what, reader, out),
        "log" => look_through_log(what, url, reader, out),
        "path" => look_at_path(what, url, reader, out),
        "process" => process(reader, out),
        "remote" => {
            let inner = remote::read(what, url, reader, out)?;
            tls::wrapped(inner, url, reader, out)
        }
        "systemd" => state::read(what, url, reader, out),
        "postgres" if database::wants_monitor(url, reader, around.rows) => {
            database::postgres(url, targets.unwrap_or_default(), around.rows, reader, out)
        }
        "directory" => {
            let (base, expect) = (Some("".into()), vec![(0, 0)]);
            Some(Kind::Talk(Box::new(Talk::Ldap { base, expect, login: None })))
        }
        "oracle" => database::oracle(around.rows, reader, out),
        "listener" => database::listener(reader, out),
        "xfnts" => {
            let fsinfo = reader.read("fsinfo", values::path, out).unwrap_or("/usr/bin/fsinfo");
            Some(Kind::Xfnts { fsinfo: fsinfo.into() })
        }
        word => match tls::inside(word) {
            Some("") => {
                let checked = tls::read(word, None, url, reader, out)?;
                Some(tls::named_by(checked, targets.unwrap_or_default()))
            }
            Some("http") => {
                let inner = http(url, targets.unwrap_or_default(), 443, reader, out)?;
                tls::read(word, Some(inner), url, reader, out)
            }
            Some(inside) => {
                let inner = Kind::Talk(Box::new(talk::read(inside, url, reader, out)?));
                tls::read(word, Some(inner), url, reader, out)
            }
            None => {
                let inner = Kind::Talk(Box::new(talk::read(word, url, reader, out)?));
                tls::wrapped(inner, url, reader, out)
            }
        },
    }
}

/// What is sent, or looked for: a text that is not empty.
pub(super) fn bytes(key: &str, node: &Node, out: &mut Findings) -> Option<Box<[u8]>> {
    let text = values::text(key, node, out)?;
    if text.is_empty() {
        out.error(node.place, format!("{key}: must not be empty"));
        return None;
    }
    Some(text.as_bytes().into())
}

fn http(
    url: Option<&Url<'_>>,
    targets: &[Target],
    usual_port: u16,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let method = match reader.read("method", values::one_of(&["GET", "HEAD"]), out) {
        Some(1) => Method::Head,
        _ => Method::Get,
    };
    let body = reader.read("body", bytes, out);
    let host = host(url, targets, usual_port);
    if method == Method::Head && body.is_some() {
        let message = "body: the answer to a HEAD request has none";
        out.error(reader.place("body"), message).label("method = \"GET\" asks for it");
    }
    let expect = reader.read("expect", statuses, out);
    let cap = reader.read("cap", values::size(1 << 10..=16 << 20), out);
    Some(Kind::Http(Box::new(HttpPlan {
        by_document: false,
        method,
        path: url_path(url, reader, out)?.into(),
        host: host.into(),
        expect: expect.unwrap_or_else(|| vec![(200, 299), (300, 399)]),
        body,
        cap: cap.unwrap_or(64 << 10),
    })))
}

/// The source documents' probe of a web server: a HEAD by HTTP/1.0, to which any reply will do.
fn apache(
    url: Option<&Url<'_>>,
    targets: &[Target],
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    Some(Kind::Http(Box::new(HttpPlan {
        by_document: true,
        method: Method::Head,
        path: url_path(url, reader, out)?.into(),
        host: host(url, targets, 80).into(),
        expect: vec![(0, 999)],
        body: None,
        cap: 64 << 10,
    })))
}

/// The documents' `Monitor_Uri_List`: what else `head` asks for, each with its path. Any status but
/// 500 is healthy.
pub(super) fn uris(head: &HttpPlan, node: &Node, out: &mut Findings) -> Option<Vec<HttpPlan>> {
    values::list("uris", node, out, |key, node, out| {
        let path = values::text(key, node, out)?;
        if !path.starts_with('/') {
            let message = "uris: each begins with a slash: the server is the check's";
            out.error(node.place, message);
            return None;
        }
        super::address::said(key, target::check_path(path), node, out)?;
        Some(HttpPlan {
            method: Method::Get,
            path: path.into(),
            expect: vec![(0, 499), (501, 999)],
            ..head.clone()
        })
    })
}

/// The Host field: the URL's host, or the first target's; without the port that is usual.
fn host(url: Option<&Url<'_>>, targets: &[Target], usual_port: u16) -> String {
    let authority = url.map_or("", |url| url.authority);
    match authority.strip_suffix(&format!(":{usual_port}")).unwrap_or(authority) {
        "" => host_field(targets, usual_port),
        named => named.to_owned(),
    }
}

/// The path to ask for: of the URL or of `path`, beginning with a slash.
fn url_path(url: Option<&Url<'_>>, reader: &Reader<'_>, out: &mut Findings) -> Option<String> {
    let named = url.map_or("", |url| url.path);
    let Some(entry) = reader.entry("path") else {
        let slash = if named.starts_with('/') { "" } else { "/" };
        return Some(format!("{slash}{named}"));
    };
    if !named.is_empty() {
        let message = "path: the URL has one already";
        out.error(entry.place, message).label("leave one of them out");
        return None;
    }
    let path = values::text("path", &entry.node, out)?;
    if !path.starts_with('/') {
        out.error(entry.node.place, "path: must begin with a slash");
        return None;
    }
    super::address::said("path", target::check_path(path), &entry.node, out)?;
    Some(path.to_owned())
}

pub(super) fn statuses(key: &str, node: &Node, out: &mut Findings) -> Option<Vec<(u16, u16)>> {
    let statuses = values::one_or_more(key, node, out, status)?;
    if statuses.is_empty() {
        out.error(node.place, format!("{key}: an empty list expects nothing"));
        return None;
    }
    Some(statuses)
}

/// A status, or a class of them: `200`, `"2xx"`.
fn status(key: &str, node: &Node, out: &mut Findings) -> Option<(u16, u16)> {
    let found = match &node.value {
        Value::Integer(status) => u16::try_from(*status).ok().map(|status| (status, status)),
        Value::Text(text) => text
            .strip_suffix("xx")
            .and_then(|class| class.parse::<u16>().ok())
            .filter(|class| *class < 10)
            .map(|class| (class * 100, class * 100 + 99)),
        _ => None,
    };
    let found = found.filter(|(status, _)| (100..=599).contains(status));
    if found.is_none() {
        let message = format!("{key}: a status is 100 to 599, or a class of them as \"2xx\"");
        out.error(node.place, message);
    }
    found
}

fn command(what: &str, reader: &Reader<'_>, out: &mut Findings) -> Option<Kind> {
    let (short, long) = (reader.entry("command"), reader.entry("argv"));
    if let (Some(_), Some(second)) = (short, long) {
        let message = "argv: `command` says it already";
        out.error(second.place, message).label("leave one of them out");
    }
    let exit = reader.read("exit", exit, out).unwrap_or(ExitTable::Plain);
    if matches!(exit, ExitTable::Weight | ExitTable::Plugin) {
        for entry in ["weight", "weights"].iter().filter_map(|key| reader.entry(key)) {
            let message = format!("`{}` means nothing beside this `exit`", entry.key);
            out.error(entry.place, message).label("the command's exit says what it weighs");
        }
    }
    let missing = reader.read("missing", values::weight, out);
    let Some(entry) = short.or(long) else {
        let message = format!("{what}: what to run is not said");
        out.error(reader.header, message).label("argv = [\"/path/to/program\"]").of_absence();
        return None;
    };
    let mut argv = values::argv(&entry.key, &entry.node, out)?;
    let exit = match runs_as(reader, out)? {
        None => exit,
        Some(who) => {
            argv.splice(0..0, look::run_as(&who));
            without_running(exit, missing)
        }
    };
    Some(Kind::Command(Box::new(CommandPlan { looks: Looks::No, argv, exit, missing })))
}

/// As whom a command runs, `USER` or `USER:GROUP`, if that is written. `None`: it is wrong.
#[allow(clippy::option_option)]
fn runs_as(reader: &Reader<'_>, out: &mut Findings) -> Option<Option<String>> {
    let name = |key: &str, node: &Node, out: &mut Findings| {
        let name = values::word(key, node, out)?;
        if name.contains([':', '$']) {
            out.error(node.place, format!("{key}: that cannot be a name"));
            return None;
        }
        Some(name.to_owned())
    };
    let (user, group) = (reader.read("user", name, out), reader.read("group", name, out));
    match (user, group) {
        (Some(user), Some(group)) => Some(Some(format!("{user}:{group}"))),
        (Some(user), None) if !reader.has("group") => Some(Some(user)),
        (None, None) if !reader.has("user") && !reader.has("group") => Some(None),
        (None, Some(_)) if !reader.has("user") => {
            let message = "group: means nothing without `user`";
            out.error(reader.place("group"), message).label("user = \"NAME\" besides");
            None
        }
        _ => None,
    }
}

/// Who has become another user tells by its exit that the program could not be run.
fn without_running(exit: ExitTable, missing: Option<Weight>) -> ExitTable {
    let mut listed = match exit {
        ExitTable::Plain => Vec::new(),
        ExitTable::Listed(listed) => listed,
        other => return other,
    };
    let missing = missing.map_or(ExitMeaning::Unmeasured, ExitMeaning::Weighs);
    for (status, meaning) in
        [(look::NOT_THAT_USER, ExitMeaning::Unmeasured), (look::NO_PROGRAM, missing)]
    {
        if !listed.iter().any(|(known, _)| *known == status) {
            listed.push((status, meaning));
        }
    }
    listed.sort_by_key(|(status, _)| *status);
    ExitTable::Listed(listed)
}

fn look_at_path(
    what: &str,
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let named = url.map_or("", |url| url.path);
    let age = reader.read("age", values::positive_span, out);
    let free = reader.read("free", values::share, out);
    if let Some(entry) = reader.entry("list") {
        for key in ["path", "age", "free"].iter().filter_map(|key| reader.entry(key)) {
            let message = format!("`{}` means nothing beside `list`", key.key);
            out.error(key.place, message).label("every path of the list is looked at");
        }
        if !named.is_empty() {
            out.error(entry.place, "list: the URL has a path").label("leave one of them out");
        }
        let list = values::path("list", &entry.node, out)?;
        return Some(ours(Looks::List, look::list_argv(list)));
    }
    let path = match reader.entry("path") {
        Some(entry) if !named.is_empty() => {
            let message = "path: the URL has one already";
            out.error(entry.place, message).label("leave one of them out");
            return None;
        }
        Some(_) => reader.read("path", values::path, out)?,
        None if named.is_empty() => {
            let message = format!("{what}: which path is not said");
            out.error(reader.header, message).label("path = \"/srv/data\"").of_absence();
            return None;
        }
        None => named,
    };
    let wanted = Wanted { age: age.map(Span::as_duration), free };
    Some(ours(Looks::Path, look::argv(path, wanted)))
}

/// A command of our own that looks at something of this host.
fn ours(looks: Looks, argv: Vec<String>) -> Kind {
    let unmeasured = (look::CANNOT_LOOK, ExitMeaning::Unmeasured);
    let exit = ExitTable::Listed(vec![unmeasured]);
    Kind::Command(Box::new(CommandPlan { looks, argv, exit, missing: None }))
}

/// The service's own process, or any of a name.
fn process(reader: &Reader<'_>, out: &mut Findings) -> Option<Kind> {
    let Some(entry) = reader.entry("name") else { return Some(Kind::Process) };
    let name = values::word("name", &entry.node, out)?;
    if name.contains('/') {
        let message = "name: a process is known by the name of its program, without its path";
        let label = name.rsplit('/').next().map(|last| format!("\"{last}\"")).unwrap_or_default();
        out.error(entry.node.place, message).label(label);
        return None;
    }
    Some(ours(Looks::Process, look::process_argv(name)))
}

/// Most patterns of a `log` check, of either sort.
const MOST_PATTERNS: usize = 64;

fn look_through_log(
    what: &str,
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let named = url.map_or("", |url| url.path);
    let path = match reader.entry("path") {
        Some(entry) if !named.is_empty() => {
            let message = "path: the URL has one already";
            out.error(entry.place, message).label("leave one of them out");
            None
        }
        Some(_) => reader.read("path", values::path, out),
        None if named.is_empty() => {
            let message = format!("{what}: which log is not said");
            out.error(reader.header, message).label("path = \"/var/log/app.log\"").of_absence();
            None
        }
        None => Some(named),
    };
    let patterns = patterns("pattern", reader, out);
    let ignore = patterns_or_none("ignore", reader, out);
    let longest = reader.read("line", values::size(64..=1 << 20), out).unwrap_or(4 << 10);
    let cap = reader.read("cap", values::size(4 << 10..=64 << 20), out).unwrap_or(1 << 20);
    if !reader.has("pattern") {
        let message = format!("{what}: what to look for is not said");
        out.error(reader.header, message).label("pattern = \"ERROR|PANIC\"").of_absence();
        return None;
    }
    let wanted = LogWanted { path: path?, patterns: patterns?, ignore: ignore?, longest, cap };
    Some(ours(Looks::Log, look::log_argv(&wanted)))
}

fn patterns_or_none<'t>(
    key: &str,
    reader: &Reader<'t>,
    out: &mut Findings,
) -> Option<Vec<&'t str>> {
    if reader.has(key) { patterns(key, reader, out) } else { Some(Vec::new()) }
}

/// Regular expressions that can be used.
fn patterns<'t>(key: &str, reader: &Reader<'t>, out: &mut Findings) -> Option<Vec<&'t str>> {
    let node = &reader.entry(key)?.node;
    let patterns = values::one_or_more(key, node, out, |key, node, out| {
        let text = values::word(key, node, out)?;
        if let Err(error) = regex_lite::Regex::new(text) {
            let message = format!("{key}: this is no pattern: {error}");
            out.error(node.place, message).label("backslashes need '…', or two of each");
            return None;
        }
        Some(text)
    })?;
    if patterns.is_empty() || patterns.len() > MOST_PATTERNS {
        out.error(node.place, format!("{key}: takes 1 to {MOST_PATTERNS} patterns"));
        return None;
    }
    Some(patterns)
}

fn exit(key: &str, node: &Node, out: &mut Findings) -> Option<ExitTable> {
    match &node.value {
        Value::Table(table) => {
            let listed: Vec<_> = table.0.iter().map(|entry| listed(entry, out)).collect();
            let mut listed = listed.into_iter().collect::<Option<Vec<_>>>()?;
            listed.sort_by_key(|(status, _)| *status);
            Some(ExitTable::Listed(listed))
        }
        Value::Text(text) if text == "weight" => Some(ExitTable::Weight),
        Value::Text(text) if text == "plugin" => Some(ExitTable::Plugin),
        _ => {
            let message = format!("{key}: must be \"weight\", \"plugin\", or a table");
            out.error(node.place, message).label("as in { 1 = 50, 75 = \"unmeasured\" }");
            None
        }
    }
}

fn listed(entry: &Entry, out: &mut Findings) -> Option<(u8, ExitMeaning)> {
    let Ok(status) = entry.key.parse::<u8>() else {
        out.error(entry.place, format!("exit: `{}` is no exit status: 0 to 255", entry.key));
        return None;
    };
    let meaning = match &entry.node.value {
        Value::Text(text) if text == "ok" => ExitMeaning::Healthy,
        Value::Text(text) if text == "immediate" => ExitMeaning::Immediate,
        Value::Text(text) if text == "unmeasured" => ExitMeaning::Unmeasured,
        Value::Text(_) => {
            let message = "exit: must be a weight, \"ok\", \"immediate\" or \"unmeasured\"";
            out.error(entry.node.place, message);
            return None;
        }
        _ => ExitMeaning::Weighs(values::weight("exit", &entry.node, out)?),
    };
    Some((status, meaning))
}

/// The phases a kind of check can fail in.
const fn phases(kind: &str) -> &'static [&'static str] {
    match kind.as_bytes() {
        b"tcp" => &["resolve", "connect", "send", "read", "answer", "close"],
        b"http" | b"apache" => &["resolve", "connect", "send", "read", "answer"],
        b"agent" => &["connect", "answer"],
        b"systemd" => &["answer"],
        b"iplanet" => &["resolve", "connect", "send", "read", "answer", "close"],
        b"directory" => {
            &["resolve", "connect", "send", "read", "answer", "close", "late", "lacking"]
        }
        b"command" | b"log" | b"path" | b"listener" => &["exit"],
        b"oracle" => &["read", "answer", "exit"],
        b"xfnts" => &["resolve", "connect", "close", "read", "exit"],
        b"process" => &["exit"],
        b"tls" | b"iiops" => &["resolve", "connect", "tls", "expiry"],
        b"https" | b"ftps" | b"smtps" | b"pop3s" | b"imaps" | b"nntps" | b"telnets" | b"ldaps"
        | b"smtp" | b"pop3" | b"imap" | b"ftp" | b"ldap" | b"redis" | b"mqtt" | b"postgres"
        | b"remote" => &["resolve", "connect", "tls", "expiry", "send", "read", "answer"],
        b"ping" => &["resolve", "connect"],
        b"udp" => &["resolve", "connect", "send", "answer"],
        _ => &["resolve", "connect", "send", "read", "answer"],
    }
}

/// What failures weigh: the kind's defaults, then `weight`, then `weights`.
pub(super) fn weights(kind: &str, reader: &Reader<'_>, out: &mut Findings) -> Weights {
    let mut weights = match kind {
        "agent" => agent::WEIGHTS,
        "remote" => remote::WEIGHTS,
        "systemd" => state::WEIGHTS,
        // The sample: a command that fails, takes too long or cannot run is half a failure.
        "xfnts" => Weights { exit: Weight::HALF, ..Weights::DEFAULT },
        // The document's partial failures are two: the time is up, and a search that cannot be
        // made. Everything else is a complete one.
        "directory" => Weights {
            read: Weight::COMPLETE,
            answer: Weight::COMPLETE,
            late: Some(Weight::HALF),
            lacking: Some(Weight::HALF),
            ..Weights::DEFAULT
        },
        _ => Weights::DEFAULT,
    };
    if let Some(weight) = reader.read("weight", values::weight, out) {
        let all = ["connect", "tls", "expiry", "send", "read", "answer", "close", "exit"];
        all.iter().for_each(|phase| set(&mut weights, phase, weight));
        weights.late = weights.late.map(|_| weight);
    }
    if kind == "process" && !reader.has("name") {
        return weights;
    }
    for entry in reader.entries("weights", out) {
        if phases(kind).contains(&entry.key.as_str()) {
            if let Some(weight) = values::weight(&entry.key, &entry.node, out) {
                set(&mut weights, &entry.key, weight);
            }
            continue;
        }
        let message = format!("weights: {} check has no phase `{}`", target::a(kind), entry.key);
        let label = match words::nearest(&entry.key, phases(kind).iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its phases are {}", words::and(phases(kind).iter().copied())),
        };
        out.error(entry.place, message).label(label);
    }
    weights
}

fn set(weights: &mut Weights, phase: &str, weight: Weight) {
    match phase {
        "resolve" => weights.resolve = Some(weight),
        "connect" => weights.connect = weight,
        "tls" => weights.tls = weight,
        "expiry" => weights.expiry = weight,
        "send" => weights.send = weight,
        "read" => weights.read = weight,
        "answer" => weights.answer = weight,
        "close" => weights.close = weight,
        "exit" => weights.exit = weight,
        "late" => weights.late = Some(weight),
        "lacking" => weights.lacking = Some(weight),
        _ => debug_assert!(false, "no phase is called {phase}"),
    }
}
