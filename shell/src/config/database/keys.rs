//! The keys of these kinds, as `giveover schema` and `giveover help` print them.

use super::super::schema::{Key, TableOf, key};
use super::super::talk::PASSWORD_FILE;

/// The tables of these kinds.
pub(in crate::config) const TABLES: [TableOf; 4] = [
    TableOf {
        name: "check.NAME, monitor of PostgreSQL",
        about: "What a `postgres` check has that is a monitor, because it has one of these keys, or \
                a socket, or its service has rows of errors: it keeps its connection, looks \
                whether the database's counters have moved, and if not makes, fills, changes and \
                drops a table. On a server in recovery it only reads. The first probe that takes \
                too long is no failure, the second in a row is a complete one, unless a row says \
                otherwise. `postgres://USER@/DATABASE?host=/run/postgresql` asks a socket.",
        keys: OF_POSTGRES,
    },
    TableOf {
        name: "check.NAME, kind oracle",
        about: "The same monitor for Oracle, through its client `sqlplus`, which is kept running.",
        keys: ORACLE,
    },
    TableOf {
        name: "check.NAME, kind listener",
        about: "Oracle's listener, by `lsnrctl status`: one that answers, or wants a password \
                (TNS-01169), is healthy.",
        keys: LISTENER,
    },
    TableOf {
        name: "[[service.NAME.error]]",
        about: "A row of the table of errors of a database's monitor. The first row that matches \
                wins; those of the file come before the preset's; at most 1024.",
        keys: ROW,
    },
];

/// The keys that make a `postgres` check a monitor.
pub(in crate::config) const OF_POSTGRES: &[Key] = &[
    PASSWORD_FILE,
    key(
        "schema",
        "name of a schema",
        "nothing is written",
        "where a table is made and dropped when the counters have not moved",
    ),
    CONNECT_CYCLE,
    LOG,
    RESTART_TYPE,
];

const CONNECT_CYCLE: Key = key(
    "connect_cycle",
    "0 to 99999",
    "5",
    "a connection is kept for so many probes; 0: for as long as it holds",
);

const LOG: Key = key(
    "log",
    "absolute path",
    "",
    "the database's log, of which new lines are looked at by the rows with on = \"log\"",
);

const RESTART_TYPE: Key = key(
    "restart_type",
    "service, group",
    "\"service\"",
    "what a restart restarts; with \"group\" also the services that need it, once it is ok again",
);

/// The keys of `oracle` checks.
const ORACLE: &[Key] = &[
    key(
        "connect_string",
        "USER[@DATABASE], or /",
        "\"/\"",
        "who connects, and where; never with the password",
    ),
    PASSWORD_FILE,
    key("sqlplus", "path or name of the program", "\"sqlplus\"", "Oracle's client"),
    ORACLE_HOME,
    ORACLE_SID,
    RUN_AS,
    key("write", "true or false", "true", "makes and drops a table when the counters stand still"),
    CONNECT_CYCLE,
    key("log", "absolute path", "", "the alert log; Sun Cluster's Alert_log_file"),
    key("alert_log_file", "absolute path", "", "the same by Sun Cluster's name"),
    RESTART_TYPE,
];

const ORACLE_HOME: Key =
    key("oracle_home", "absolute path", "our own", "ORACLE_HOME of the client, whose bin is used");
const ORACLE_SID: Key = key("oracle_sid", "name", "our own", "ORACLE_SID of the client");
const RUN_AS: Key = key("user", "name", "ours", "the user the client runs as");

/// The keys of `listener` checks.
const LISTENER: &[Key] = &[
    key("listener_name", "name", "\"LISTENER\"", "which listener"),
    key("lsnrctl", "path or name of the program", "\"lsnrctl\"", "the program that asks it"),
    ORACLE_HOME,
    RUN_AS,
];

/// The keys of a row.
pub(in crate::config) const ROW: &[Key] = &[
    key("on", "error, log, timeout", "\"error\"", "what it is about"),
    key(
        "match",
        "SQLSTATE or its class, ORA number; regular expression; number of time-outs",
        "",
        "which of them",
    ),
    key("state", "any, connecting, online, disconnecting", "\"any\"", "only in this state"),
    key(
        "action",
        "switch, restart, stop, none",
        "\"none\"",
        "gives the service over, restarts it, ends its monitor while it runs on, or nothing",
    ),
    key(
        "new_state",
        "same, disconnecting, connecting",
        "\"same\"",
        "what becomes of the connection: dropped until the next probe, or made anew at once",
    ),
    key("message", "text", "", "told when it is met"),
    key("run", "command", "", "started in the background when it is met; its end is logged"),
];

/// The keys of `kind`, if it is one of these.
pub(in crate::config) fn of_kind(kind: &str) -> Option<&'static [Key]> {
    Some(match kind {
        "oracle" => ORACLE,
        "listener" => LISTENER,
        _ => return None,
    })
}
