//! What a configuration may hold: every table, every key, with meaning, unit, range and default.
//!
//! The loader reads these lists to tell a known key from an unknown one, and help, manual pages
//! and the JSON Schema are made of them, so that these cannot differ. A table is always flat: no
//! key changes which others may stand beside it, except that each kind of check has its own.

mod checks;
mod json;

pub use checks::KINDS;
pub(super) use checks::{CHECK, COMMAND, HTTP, TCP, XFNTS, kinds_with, of_kind};
pub use json::json;

use super::{cluster, database, pool, talk, tls, words};

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What it takes, in a few words.
    pub takes: &'static str,
    /// What it is when not written; empty if there is no such thing.
    pub default: &'static str,
    /// What it means.
    pub about: &'static str,
}

pub(super) const fn key(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    about: &'static str,
) -> Key {
    Key { name, takes, default, about }
}

/// One table.
#[derive(Clone, Copy, Debug)]
pub struct TableOf {
    /// Its name, as a header has it.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// Every table but those of checks.
const TABLES: [TableOf; 12] = [
    TableOf { name: "", about: "The file itself.", keys: ROOT },
    TableOf { name: "[host]", about: "The host as a whole.", keys: HOST },
    TableOf { name: "host.actions", about: "The host's budget.", keys: ACTIONS },
    TableOf {
        name: "host.local_fault",
        about: "When so many services fail at once, and no trusted server answers, that the \
                fault must be ours. Off without `trusted`.",
        keys: LOCAL_FAULT,
    },
    TableOf {
        name: "[giveover]",
        about: "How a service is handed over from a single node.",
        keys: GIVEOVER,
    },
    TableOf { name: "[control]", about: "Who may command.", keys: CONTROL },
    TableOf { name: "[board]", about: "The hardware that resets this host.", keys: BOARD },
    TableOf {
        name: "board.policy",
        about: "How many resets in which time the board makes before it gives this host over.",
        keys: BOARD_POLICY,
    },
    TableOf {
        name: "[watch]",
        about: "Metrics, status, events and a page, for reading only.",
        keys: WATCH,
    },
    TableOf {
        name: "[notify.NAME]",
        about: "Who is told what happens. Of an incident once, again where it gets worse, and when \
                it is over.",
        keys: NOTIFY,
    },
    TableOf {
        name: "[policy.NAME]",
        about: "Limits under a name. `[policy.default]` is under every service's.",
        keys: POLICY,
    },
    TableOf { name: "[service.NAME]", about: "One thing watched.", keys: SERVICE },
];

/// The file itself.
pub(super) const ROOT: &[Key] = &[
    key(
        "include",
        "list of paths, `*` and `?` in the last part",
        "[]",
        "further files, relative to this one, in the order of their names; these include none",
    ),
    key("host", "table", "", "the host as a whole"),
    key("giveover", "table", "", "how a service is handed over"),
    key("control", "table", "", "who may command"),
    key("board", "table", "", "the hardware that resets this host"),
    key("watch", "table", "", "where people and programs may look"),
    key("notify", "tables", "", "who is told what happens"),
    key("policy", "tables", "", "limits under names"),
    key("cluster", "table", "", "how nodes decide which of them holds a group"),
    key("node", "tables", "", "the nodes"),
    key("group", "tables", "", "what moves between nodes"),
    key("pool", "tables", "", "members behind a balancer"),
    key("service", "tables", "", "what is watched"),
];

/// `[host]`.
pub(super) const HOST: &[Key] = &[
    key("node", "text", "the host's name", "our name on screens"),
    key(
        "trusted",
        "list of targets",
        "[]",
        "servers whose answers prove that our own network works",
    ),
    key("observe", "true or false", "false", "decide, record and show, but act on nothing"),
    key(
        "actions",
        "table",
        "{ count = 20, per = \"1h\" }",
        "restarts and giveovers of all services",
    ),
    key(
        "local_fault",
        "table",
        "{ share = \"50%\", least = 3, within = \"120s\" }",
        "when many failures at once mean ourselves",
    ),
];

/// `host.actions`.
pub(super) const ACTIONS: &[Key] = &[
    key("count", "1 to 9999", "20", "restarts and giveovers of all services together"),
    key("per", "duration", "\"1h\"", "in which window"),
];

/// `host.local_fault`.
pub(super) const LOCAL_FAULT: &[Key] = &[
    key("share", "share, 1% to 100%", "\"50%\"", "this part of the services fails"),
    key("least", "1 to 9999", "3", "but at least so many"),
    key("within", "duration", "\"120s\"", "each at most so long ago"),
];

/// `[giveover]`.
pub(super) const GIVEOVER: &[Key] = &[
    key("may", "command", "", "asked before anything is stopped: exit 0 yes, 75 not now, else no"),
    key("command", "command", "", "hands the service over once it is proven stopped: exit 0 done"),
    key("timeout", "duration", "\"60s\"", "limit of either"),
];

/// `[control]`.
pub(super) const CONTROL: &[Key] = &[key(
    "command",
    "list of users, groups as `@group`",
    "[]",
    "who may command, besides root and the daemon's own user",
)];

/// `[watch]`.
pub(super) const WATCH: &[Key] = &[key(
    "listen",
    "address of this host with a port, or absolute path",
    "",
    "/metrics, /status.json, /events and a page at /",
)];

/// `[notify.NAME]`.
pub(super) const NOTIFY: &[Key] = &[
    key("command", "command", "", "run for each notice; $SERVICE, $REASON and $NODE say which"),
    key("webhook", "URL of http or https", "", "each notice is posted there, as JSON"),
    key("on", "list of edges", "every edge", "which; `giveover help EDGE` explains each"),
    key("repeat", "duration", "never", "while an incident lasts its notice is given again"),
];

/// `[board]`.
pub(super) const BOARD: &[Key] = &[
    key(
        "kind",
        "giveover, linux, stick",
        "\"giveover\"",
        "a board with our firmware, a watchdog of the kernel's, a USB stick of one byte a command",
    ),
    key(
        "port",
        "absolute path",
        "",
        "its serial port; a name under /dev/serial/by-id stays; linux: \"/dev/watchdog\"",
    ),
    key(
        "key",
        "absolute path, or the name of a credential",
        "",
        "the file with the key that it shares with this host; `giveover board pair` makes one",
    ),
    key("timeout", "duration, 1s to 1h", "\"60s\"", "silence of this host that is its failure"),
    key("boot_grace", "duration, 2s to 24h", "\"10m\"", "time to boot after a reset"),
    key("pretimeout", "duration below timeout", "", "linux: so long before it the kernel warns"),
    key(
        "link_timeout",
        "duration, timeout to 24h",
        "\"5m\"",
        "silence that is a failure while a USB port is lost",
    ),
    key("pulse", "duration, 50ms to 1s", "\"250ms\"", "how long the reset line is held"),
    key(
        "confirm_after",
        "duration, 1s to 1h",
        "\"5m\"",
        "a boot is confirmed once the services with giveover = \"board\" were ok for so long",
    ),
    key(
        "policy",
        "table",
        "{ retry_count = 3, retry_interval = \"1h\" }",
        "the board's budget of resets",
    ),
    key(
        "giveover",
        "alarm, off, cycle, none",
        "\"alarm\"",
        "what its second line does when the budget is spent",
    ),
    key("nowayout", "true or false", "false", "no announced end but a reboot is accepted"),
    key("required", "true or false", "false", "without an armed board the daemon does not start"),
    key("allow", "list of warnings", "[]", "warnings that need not be given"),
    key(
        "shadow",
        "true or false",
        "false",
        "a board with the shadow image runs the monitors of services with giveover = \"board\" too",
    ),
];

/// `board.policy`.
pub(super) const BOARD_POLICY: &[Key] = &[
    key("retry_count", "0 to 8", "3", "resets inside retry_interval; the next failure gives over"),
    key("retry_interval", "duration", "\"1h\"", "how long resets count, in powered time"),
];

/// `[policy.NAME]`, and `policy` of a service.
pub(super) const POLICY: &[Key] = &[
    key("like", "name of a policy", "", "what is not written here is as there"),
    key(
        "thorough_probe_interval",
        "duration",
        "\"30s\"",
        "from the end of one cycle of probes to the start of the next",
    ),
    key("probe_timeout", "duration", "\"10s\"", "the total deadline of one probe"),
    key(
        "retry_count",
        "0 to 9999, -1 or \"unlimited\"",
        "2",
        "restarts allowed inside retry_interval; 0 gives over at once",
    ),
    key("retry_interval", "duration", "\"600s\"", "how long failures and restarts count"),
    key("start_timeout", "duration", "\"60s\"; of a unit, its own", "how long a start may take"),
    key("stop_timeout", "duration", "\"30s\"; of a unit, its own", "how long a stop may take"),
    key(
        "start_grace",
        "duration, also \"0s\"",
        "\"30s\"",
        "after a start, failed probes count nothing for so long or until the first healthy cycle",
    ),
    key(
        "restart_delay",
        "up to 8 durations",
        "[\"0s\", \"5s\"]",
        "waits before the first, second, … restart of a window; the last repeats",
    ),
    key(
        "failover_mode",
        "none, soft, hard, restart_only, log_only",
        "\"soft\"",
        "what a start or stop that fails leads to; the last two never give over",
    ),
    key("combine", "heaviest, sum", "\"heaviest\"", "how the checks of one cycle make one verdict"),
];

/// `[service.NAME]`.
pub(super) const SERVICE: &[Key] = &[
    key("preset", "name of a preset", "", "what is not written here is as there"),
    key("unit", "name of a unit", "", "a unit of systemd runs it"),
    key("start", "command", "", "the service itself, in the foreground; we run it"),
    key("forks", "true or false", "false", "`start` exits 0 and leaves the service behind"),
    key("stop", "command, or a signal", "\"TERM\"", "how to stop what `start` runs"),
    key("user", "name", "ours", "the user it runs as"),
    key("group", "name", "the user's own", "the group it runs as"),
    key("dir", "absolute path", "\"/\"", "its working directory"),
    key("env", "table of texts", "{}", "added to our environment"),
    key("validate", "command", "", "before a planned stop; not 0 leaves the service as it is"),
    key("address", "HOST[:PORT], or several", "", "whom checks without a host of their own ask"),
    key("network_resources_used", "list of hosts", "", "the hosts, where each has every port"),
    key("port_list", "list of ports", "", "the ports of each of these hosts"),
    key("check", "tables", "", "ways to look at it"),
    key("error", "rows", "[]", "what an error of its database leads to"),
    key(
        "ladder",
        "list of checks",
        "[]",
        "tried in this order, each only when the one before is healthy; others run beside",
    ),
    key("needs", "list of services", "[]", "must be ok before this one is acted on"),
    key("policy", "name of a policy, or a table of limits", "\"default\"", "its limits"),
    key(
        "giveover",
        "command, board, none",
        "command if [giveover] has one",
        "where it goes when restarts do not help",
    ),
    key(
        "budget_spent",
        "wait, stop",
        "\"wait\"",
        "where nobody takes it over, a spent budget waits until it refills, or ends the monitor",
    ),
    key(
        "network",
        "true or false",
        "false",
        "our own way out: the local-fault rule never holds it",
    ),
    key(
        "transparent",
        "true or false",
        "false",
        "a device that passes on what is sent through it: its checks may only ping it",
    ),
    key("allow", "list of warnings", "[]", "warnings that need not be given"),
];

/// The key among `known` that goes by the word `word` elsewhere.
pub(super) fn meant_by<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let (_, ours) = ELSEWHERE.iter().find(|(theirs, _)| *theirs == word)?;
    known.filter(|name| ours.contains(name)).last()
}

/// Words of other monitors, and ours for the same.
const ELSEWHERE: [(&str, &[&str]); 12] = [
    ("interval", &["thorough_probe_interval", "every"]),
    ("inter", &["thorough_probe_interval", "every"]),
    ("probe_interval", &["thorough_probe_interval"]),
    ("timeout", &["probe_timeout"]),
    ("max_restarts", &["retry_count"]),
    ("window", &["retry_interval"]),
    ("delay", &["restart_delay"]),
    ("grace", &["start_grace"]),
    ("exec", &["start", "command"]),
    ("cmd", &["start", "command"]),
    ("depends", &["needs"]),
    ("status", &["expect"]),
];

/// Every table that has keys, those of all kinds of check among them.
pub fn tables() -> impl Iterator<Item = &'static TableOf> {
    let tables = TABLES.iter().chain(of_checks()).chain(&cluster::TABLES).chain(&pool::TABLES);
    tables.filter(|table| !table.keys.is_empty())
}

/// The tables of checks.
fn of_checks() -> impl Iterator<Item = &'static TableOf> {
    let others = talk::TABLES.iter().chain(&tls::TABLES).chain(&database::TABLES);
    checks::TABLES.iter().chain(others)
}

/// Everything a file may hold, in lines.
#[cfg(test)]
pub(super) fn text() -> String {
    let texts: Vec<String> = tables().map(TableOf::text).collect();
    texts.join("\n") + "\n"
}

/// What `giveover help KIND` says of the kind of check called `word`.
#[must_use]
pub fn kind_text(word: &str) -> Option<String> {
    let name = format!("check.NAME, kind {word}");
    let text = |name: &str| of_checks().find(|table| table.name == name).map(TableOf::text);
    let found = text(&name)?;
    let more = match word {
        "postgres" => text("check.NAME, monitor of PostgreSQL"),
        _ => None,
    };
    let rows = match word {
        "postgres" | "oracle" => text("[[service.NAME.error]]"),
        _ => None,
    };
    Some([Some(found), more, rows].into_iter().flatten().collect::<Vec<_>>().join("\n"))
}

/// What `giveover help KEY` says: what the key called `word` means in each table that has it.
#[must_use]
pub fn key_text(word: &str) -> Option<String> {
    let mut text = String::new();
    for table in tables() {
        for key in table.keys.iter().filter(|key| key.name == word) {
            let name = if table.name.is_empty() { "top level" } else { table.name };
            text += &format!("key {word}, in {name}\n{}", key.text());
        }
    }
    (!text.is_empty()).then_some(text)
}

impl Key {
    /// What it takes and means, in lines.
    fn text(&self) -> String {
        let default = match self.default {
            "" => String::new(),
            default => format!(" ({default})"),
        };
        let about = format!("      {}{default}", self.about);
        format!("  {} = {}\n{}", self.name, self.takes, words::wrapped(&about, "      "))
    }
}

impl TableOf {
    /// The table with its keys, in lines.
    fn text(&self) -> String {
        let name = if self.name.is_empty() { "top level" } else { self.name };
        let mut text = words::wrapped(&format!("{name}: {}", self.about), "  ");
        for key in self.keys {
            text += &key.text();
        }
        text
    }
}
