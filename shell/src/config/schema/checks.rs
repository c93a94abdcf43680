//! What a check may hold: its kinds, and the keys of every check and of each kind.

use super::{Key, TableOf, key};
use crate::config::{agent, database, remote, state, talk, tls};

/// The tables of checks; those of kinds that have a room of their own are there.
pub(super) const TABLES: [TableOf; 14] = [
    TableOf {
        name: "check.NAME",
        about: "One way to look at a service: a target, or a table. `false` drops a preset's.",
        keys: CHECK,
    },
    TableOf { name: "check.NAME, kind tcp", about: "Connect, disconnect.", keys: TCP },
    TableOf { name: "check.NAME, kind http", about: "One HTTP/1.1 request.", keys: HTTP },
    TableOf {
        name: "check.NAME, kind apache",
        about: "A web server as Sun Cluster's monitors ask it: a HEAD request by HTTP/1.0, to \
                which any reply is healthy; every address on every port. `uris` are asked for \
                besides.",
        keys: APACHE,
    },
    TableOf {
        name: "check.NAME, kind iplanet",
        about: "A web server as Sun Cluster's iPlanet monitor asks it: as `apache`; one that is \
                secure, as `Security` in its magnus.conf has it, is connected to and disconnected \
                from. `Port` is taken from there where none is written.",
        keys: IPLANET,
    },
    TableOf {
        name: "check.NAME, kind directory",
        about: "A directory as Sun Cluster's monitor asks it: a search that always matches; one \
                that is secure, as `security` in its slapd.conf has it, is connected to and \
                disconnected from. Time that is up, and a search that cannot be made, weigh 50, \
                everything else 100.",
        keys: DIRECTORY,
    },
    TableOf {
        name: "check.NAME, kind process",
        about: "The service's process is there; its end is noticed at once besides. With `name` any \
                process of that name, looked for in each cycle.",
        keys: PROCESS,
    },
    TableOf {
        name: "check.NAME, kind agent",
        about: "Nothing is asked: an agent sends heartbeats by itself (`giveover agent`), heard at \
                this address of ours (port 9708). Silence of (interval + 10s) × count weighs what \
                `connect` does. A work unit that failed is told at once and weighs what `answer` \
                does, 100. What is not signed rightly, or was heard before, changes nothing.",
        keys: agent::KEYS,
    },
    TableOf {
        name: "check.NAME, kind log",
        about: "A line that was added to a log since the last look matches. The first look begins \
                at its end; the place is kept, across restarts of the monitor and rotation too.",
        keys: LOG,
    },
    TableOf {
        name: "check.NAME, kind remote",
        about: "Another daemon's view of one of its services, asked over its control interface. A \
                status that is not expected weighs what `answer` does, 100; a service that is not \
                known there, or not yet, cannot be measured. `remote://HOST:PORT/SERVICE` is the \
                short form.",
        keys: remote::KEYS,
    },
    TableOf {
        name: "check.NAME, kind systemd",
        about: "The state of a unit that systemd runs. One that is not expected weighs what \
                `answer` does, 100; what systemd does not know or say cannot be measured.",
        keys: state::KEYS,
    },
    TableOf { name: "check.NAME, kind command", about: "A program's exit status.", keys: COMMAND },
    TableOf {
        name: "check.NAME, kind path",
        about: "A path answers a stat, made by a child that is killed when its time is up: a dead \
                mount is a failure and hangs nothing. With `list` every path that a file of \
                exports names does.",
        keys: PATH,
    },
    TableOf {
        name: "check.NAME, kind xfnts",
        about: "An X font server: connect within 95 % of the time, disconnect, then `fsinfo`.",
        keys: XFNTS,
    },
];

/// Keys of every check.
pub(in crate::config) const CHECK: &[Key] = &[
    key(
        "url",
        "KIND://HOST[:PORT][/PATH], or KIND",
        "",
        "what is asked; a bare kind asks the service's `address`",
    ),
    key("kind", "one of the kinds below", "", "with `address`, the long form of `url`"),
    key("address", "HOST[:PORT], or several", "the URL's", "where it is asked"),
    key("timeout", "duration, at most probe_timeout", "probe_timeout", "the total deadline"),
    key("weight", "1 to 100", "", "what every failure of this check weighs"),
    key(
        "weights",
        "table of phases",
        "{ connect = 100, send = 100, exit = 100, read = 50, answer = 50, close = 50 }",
        "what a failure weighs by the phase it happens in; `resolve` cannot be measured unless \
         it is given a weight",
    ),
    key("every", "duration", "each cycle", "probed only so often; in each cycle while it fails"),
    key("observe", "true or false", "false", "probed and shown, counts nothing"),
];

/// Keys of `tcp` checks.
pub(in crate::config) const TCP: &[Key] = &[
    key("send", "text", "", "sent once connected"),
    key("expect", "text", "", "must appear in what is read"),
];

/// Keys of `http` checks.
pub(in crate::config) const HTTP: &[Key] = &[
    key("path", "text that begins with /", "the URL's, else \"/\"", "what is asked for"),
    key("method", "GET, HEAD", "\"GET\"", "the request's method"),
    key("expect", "statuses: 200, or \"2xx\"", "[\"2xx\", \"3xx\"]", "which are right"),
    key("body", "text", "", "must appear in the body"),
    key("cap", "size, 1KiB to 16MiB", "\"64KiB\"", "at most so much of an answer is read"),
];

/// Keys of `apache` checks.
pub(in crate::config) const APACHE: &[Key] = &[
    key("path", "text that begins with /", "the URL's, else \"/\"", "what is asked for"),
    key(
        "uris",
        "list of texts that begin with /",
        "[]",
        "asked for besides, each by a check of its own, NAME-1 and on: GET by HTTP/1.1, to which any \
         status but 500 is healthy",
    ),
];

const CONFIG_FILE: Key = key(
    "config_file",
    "absolute path",
    "none: it is plain",
    "the server's own configuration, read again when it has changed",
);

/// Keys of `iplanet` checks.
const IPLANET: &[Key] = &[
    key("path", "text that begins with /", "the URL's, else \"/\"", "what is asked for"),
    CONFIG_FILE,
];

/// Keys of `directory` checks.
const DIRECTORY: &[Key] = &[CONFIG_FILE];

/// Keys of `command` checks.
pub(in crate::config) const COMMAND: &[Key] = &[
    key("command", "command", "", "the program and its arguments; makes `kind` needless"),
    key("argv", "command", "", "the same, beside `kind = \"command\"`"),
    key(
        "exit",
        "weight, plugin, or { STATUS = WEIGHT, \"ok\", \"immediate\" or \"unmeasured\" }",
        "0 is healthy",
        "what its exit status means",
    ),
    key("missing", "1 to 100", "cannot be measured", "what it weighs if the program is not there"),
    key("user", "name", "ours", "the user it runs as"),
    key("group", "name", "the user's own", "the group it runs as; only beside `user`"),
];

/// Keys of `path` checks.
pub(in crate::config) const PATH: &[Key] = &[
    key("path", "absolute path", "the URL's", "which; as in path:///srv/data"),
    key("age", "duration", "any", "it was changed at most so long ago"),
    key("free", "share, 1% to 100%", "any", "at least so much of its file system is free"),
    key(
        "list",
        "absolute path",
        "",
        "a file as /etc/exports or dfstab, read anew each time: all its paths must answer",
    ),
];

/// Keys of `log` checks.
pub(in crate::config) const LOG: &[Key] = &[
    key("path", "absolute path", "the URL's", "which; as in log:///var/log/app.log"),
    key("pattern", "pattern, or several", "", "regular expressions; a line with one is a failure"),
    key("ignore", "pattern, or several", "", "lines that are none all the same"),
    key("line", "size, 64B to 1MiB", "\"4KiB\"", "what is looked at of a longer line"),
    key("cap", "size, 4KiB to 64MiB", "\"1MiB\"", "read at once; what is left, the next time"),
];

/// Keys of `xfnts` checks.
pub(in crate::config) const XFNTS: &[Key] =
    &[key("fsinfo", "absolute path", "\"/usr/bin/fsinfo\"", "the program that asks the server")];

/// Keys of `process` checks.
pub(in crate::config) const PROCESS: &[Key] = &[key(
    "name",
    "name of a program",
    "the service's own process",
    "any process of it, as in \"rpc.mountd\"; threads of the kernel too",
)];

/// The keys of `kind`.
pub(in crate::config) fn of_kind(kind: &str) -> &'static [Key] {
    match kind {
        "tcp" => TCP,
        "http" => HTTP,
        "apache" => APACHE,
        "iplanet" => IPLANET,
        "directory" => DIRECTORY,
        "agent" => agent::KEYS,
        "command" => COMMAND,
        "log" => LOG,
        "path" => PATH,
        "process" => PROCESS,
        "remote" => remote::KEYS,
        "systemd" => state::KEYS,
        "xfnts" => XFNTS,
        _ => database::of_kind(kind).or_else(|| talk::of_kind(kind)).unwrap_or(&[]),
    }
}

/// The kinds that have `key`.
pub(in crate::config) fn kinds_with(key: &str) -> Vec<&'static str> {
    let has = |kind: &&str| {
        let monitor = if *kind == "postgres" { database::OF_POSTGRES } else { &[] };
        let lists = tls::of_kind(kind).into_iter().chain([of_kind(kind), monitor]);
        lists.flatten().any(|own| own.name == key)
    };
    KINDS.into_iter().filter(has).collect()
}

/// The kinds of check in this version.
pub const KINDS: [&str; 39] = [
    "tcp",
    "http",
    "apache",
    "command",
    "path",
    "process",
    "xfnts",
    "smtp",
    "pop3",
    "imap",
    "ftp",
    "nntp",
    "telnet",
    "ldap",
    "redis",
    "mqtt",
    "postgres",
    "dns",
    "rpc",
    "udp",
    "ping",
    "https",
    "ftps",
    "smtps",
    "pop3s",
    "imaps",
    "nntps",
    "telnets",
    "ldaps",
    "iiops",
    "tls",
    "oracle",
    "listener",
    "iplanet",
    "directory",
    "agent",
    "log",
    "remote",
    "systemd",
];
