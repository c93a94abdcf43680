//! Presets: services prepared by others, under what is written in the file.

use std::collections::HashMap;
use std::rc::Rc;

use super::files::Files;
use super::report::Findings;
use super::target;
use super::tree::{Entry, Node, Table, Value};
use super::words;

/// The presets that are part of this program: name, what it is for, text.
const BUILT_IN: [(&str, &str, &str); 24] = [
    (
        "apache",
        "a web server, watched as Sun Cluster's Apache monitor does",
        include_str!("presets/apache.toml"),
    ),
    ("bind", "a name server asked for a name", include_str!("presets/bind.toml")),
    (
        "directory",
        "a directory, watched as Sun Cluster's Directory Server monitor does",
        include_str!("presets/directory.toml"),
    ),
    ("dovecot", "a mail server greeting on IMAP and POP3", include_str!("presets/dovecot.toml")),
    ("haproxy", "a balancer asked over HTTP", include_str!("presets/haproxy.toml")),
    ("inn2", "a news server greeting on NNTP", include_str!("presets/inn2.toml")),
    (
        "iplanet",
        "a web server, watched as Sun Cluster's iPlanet monitor does",
        include_str!("presets/iplanet.toml"),
    ),
    (
        "listener",
        "Oracle's listener, watched as Sun Cluster's monitor does",
        include_str!("presets/listener.toml"),
    ),
    ("mosquitto", "an MQTT broker connected to", include_str!("presets/mosquitto.toml")),
    (
        "named",
        "a name server, watched as Sun Cluster's DNS monitor does",
        include_str!("presets/named.toml"),
    ),
    (
        "nfs-daemons",
        "all daemons of an NFS server as one service",
        include_str!("presets/nfs-daemons.toml"),
    ),
    (
        "nfs-mountd",
        "mountd, watched as Sun Cluster's NFS daemons monitor does",
        include_str!("presets/nfs-mountd.toml"),
    ),
    (
        "nfs-nfsd",
        "nfsd, watched as Sun Cluster's NFS daemons monitor does",
        include_str!("presets/nfs-nfsd.toml"),
    ),
    (
        "nfs-rpcbind",
        "rpcbind, watched as Sun Cluster's NFS daemons monitor does",
        include_str!("presets/nfs-rpcbind.toml"),
    ),
    (
        "nfs-shares",
        "exported paths, watched as Sun Cluster's NFS resource monitor does",
        include_str!("presets/nfs-shares.toml"),
    ),
    (
        "nfs-statd",
        "statd and lockd, watched as Sun Cluster's NFS daemons monitor does",
        include_str!("presets/nfs-statd.toml"),
    ),
    ("nginx", "a web server asked over HTTP", include_str!("presets/nginx.toml")),
    (
        "oracle",
        "an Oracle server, watched as Sun Cluster's monitor does",
        include_str!("presets/oracle.toml"),
    ),
    ("postfix", "a mail server greeting on SMTP", include_str!("presets/postfix.toml")),
    (
        "postgres",
        "a PostgreSQL server, watched as Sun Cluster's monitors watch databases",
        include_str!("presets/postgres.toml"),
    ),
    ("redis", "a Redis or Valkey server asked for a PONG", include_str!("presets/redis.toml")),
    ("slapd", "a directory bound to anonymously", include_str!("presets/slapd.toml")),
    ("vsftpd", "a file server greeting on FTP", include_str!("presets/vsftpd.toml")),
    (
        "xfnts",
        "an X font server, watched as the sample of Sun Cluster's guide does",
        include_str!("presets/xfnts.toml"),
    ),
];

/// Name and purpose of every preset that is part of this program.
pub fn list() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().map(|(name, purpose, _)| (*name, *purpose))
}

/// What the preset `name` expands to, as the table of a service.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, ..)| *known == name).map(|(.., text)| *text)
}

/// Presets that were asked for, each read once.
#[derive(Default)]
pub(super) struct Presets(HashMap<String, Option<Rc<Table>>>);

impl Presets {
    /// The preset that `entry` names; one kept beside the main file goes before ours.
    pub(super) fn find(
        &mut self,
        entry: &Entry,
        files: &mut Files,
        out: &mut Findings,
    ) -> Option<Rc<Table>> {
        let name = super::values::text("preset", &entry.node, out)?;
        if let Some(known) = self.0.get(name) {
            let found = known.clone();
            if found.is_none() {
                unknown(name, entry, out);
            }
            return found;
        }
        let own =
            words::is_name(name).then(|| files.own_preset(name, entry.node.place, out)).flatten();
        let built_in = || text(name).map(|text| (name, text));
        let table = match own {
            Some(table) => Some(table),
            None => built_in().map(|(name, text)| files.built_in_preset(name, text, out)),
        };
        let table = table.map(Rc::new);
        if table.is_none() {
            unknown(name, entry, out);
        }
        self.0.insert(name.to_owned(), table.clone());
        table
    }
}

fn unknown(name: &str, entry: &Entry, out: &mut Findings) {
    let finding = out.error(entry.node.place, format!("preset: none is called `{name}`"));
    match words::nearest(name, list().map(|(name, _)| name)) {
        Some(near) => finding.label(format!("did you mean `{near}`?")),
        None => finding.label(format!("there are {}", words::and(list().map(|(name, _)| name)))),
    };
}

/// Keys of which one makes the others of a preset void.
const EITHER: [&[&str]; 2] = [&["address", "network_resources_used"], &["unit", "start"]];

/// What `written` and, under it, `preset` make together. `policy` is not merged: it is a layer of
/// its own under the service's.
pub(super) fn under(written: &Table, preset: &Table) -> Table {
    let mut both = written.clone();
    for entry in preset.0.iter().filter(|entry| entry.key != "policy") {
        let rivals = EITHER.iter().find(|keys| keys.contains(&entry.key.as_str()));
        let replaced = rivals.is_some_and(|keys| keys.iter().any(|key| written.get(key).is_some()));
        if !replaced {
            lay_under(&mut both, entry, entry.key == "check");
        }
        if entry.key == "error" {
            rows_behind(&mut both, written, entry);
        }
    }
    both
}

/// Rows of errors are tried in their order: the file's, then the preset's.
fn rows_behind(both: &mut Table, written: &Table, preset: &Entry) {
    let above = both.0.iter_mut().find(|entry| entry.key == preset.key);
    if let (Some(_), Some(above), Value::List(below)) =
        (written.get(&preset.key), above, &preset.node.value)
    {
        if let Value::List(rows) = &mut above.node.value {
            rows.extend(below.iter().cloned());
        }
    }
}

fn lay_under(table: &mut Table, below: &Entry, are_checks: bool) {
    let Some(above) = table.0.iter_mut().find(|entry| entry.key == below.key) else {
        table.0.push(below.clone());
        return;
    };
    let (Value::Table(above), Value::Table(below)) = (&mut above.node.value, &below.node.value)
    else {
        return;
    };
    for entry in &below.0 {
        if are_checks {
            lay_check_under(above, entry);
        } else {
            lay_under(above, entry, false);
        }
    }
}

/// Keys that say what a check asks.
const ASKS: [&str; 4] = ["url", "kind", "command", "argv"];

/// Keys of a check of which one makes the others of a preset void.
const EITHER_OF_CHECK: [&[&str]; 1] = [&["path", "list"]];

/// A check of a preset under the one of the same name. `false` drops it; one that asks another kind
/// of thing takes its place; else it is laid on it key by key. A target alone is the same as its
/// `url`; what a URL says itself, its path above all, is not taken from the preset; in TLS the same
/// is asked as without.
fn lay_check_under(checks: &mut Table, preset: &Entry) {
    let Some(at) = checks.0.iter().position(|entry| entry.key == preset.key) else {
        checks.0.push(preset.clone());
        return;
    };
    let Some(written) = checks.0.get_mut(at) else { return };
    if matches!(written.node.value, Value::Bool(false)) {
        checks.0.remove(at);
        return;
    }
    let asks_other = match (asks(&written.node), asks(&preset.node)) {
        (None, _) => false,
        (Some(written), Some(preset)) => written != preset && target::plain(&written) != preset,
        (Some(_), None) => true,
    };
    if asks_other {
        return;
    }
    if let Value::Text(_) = written.node.value {
        written.node.value = Value::Table(as_table(written));
    }
    let Value::Table(table) = &mut written.node.value else { return };
    let asks_itself = ASKS.iter().any(|key| table.get(key).is_some());
    let mut void: Vec<&str> = if asks_itself { ASKS.to_vec() } else { Vec::new() };
    for keys in EITHER_OF_CHECK.iter().filter(|keys| keys.iter().any(|it| table.get(it).is_some()))
    {
        void.extend_from_slice(keys);
    }
    if let Some(Entry { node: Node { value: Value::Text(url), .. }, .. }) = table.get("url") {
        void.extend(target::said_by(url));
    }
    for entry in as_table(preset).0 {
        // What is written in both is merged by its keys, if it has such.
        if table.get(&entry.key).is_some() || !void.contains(&entry.key.as_str()) {
            lay_under(table, &entry, false);
        }
    }
}

/// The kind of check `node` asks for, if it says so.
fn asks(node: &Node) -> Option<String> {
    let before = |text: &str| text.split("://").next().unwrap_or_default().to_owned();
    match &node.value {
        Value::Text(text) => Some(before(text)),
        Value::Table(table) => {
            let (key, entry) = ASKS.iter().find_map(|key| Some((*key, table.get(key)?)))?;
            match &entry.node.value {
                Value::Text(text) => Some(before(text)),
                _ if key == "command" || key == "argv" => Some("command".to_owned()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A check as a table: a target is the table of its `url`.
fn as_table(check: &Entry) -> Table {
    match &check.node.value {
        Value::Table(table) => table.clone(),
        _ => Table(vec![Entry {
            key: "url".to_owned(),
            place: check.place,
            node: check.node.clone(),
        }]),
    }
}
