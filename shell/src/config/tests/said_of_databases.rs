//! What is said of monitors of databases, of rows of errors, of passwords, and of servers that say
//! themselves how they are to be asked.

use super::super::database::{Action, On};
use super::super::plan::Kind;
use super::check;

#[test]
fn what_a_monitor_of_a_database_does_not_have_is_said() {
    check(
        r#"
[service.db]
unit = "db.service"
check.a = { url = "postgres://u@h/d", schema = "a b", query = "SELECT 1" }
check.b = { url = "postgres://u@h/d", log = "db.log", connect_cycle = 100000 }
check.c = { url = "postgres://u@/d?host=/run", tls = true }
check.d = { url = "postgres://u@/d?host=run" }
check.e = { url = "postgres", address = ["h", "i"], schema = "s" }
check.f = { url = "postgres://u@h", password_file = "../secret", restart_type = "group" }
check.g = { kind = "oracle", connect_string = "scott/tiger@ORCL" }
check.h = { kind = "oracle", connect_string = "scott" }
check.i = { kind = "oracle", address = "h", alert_log_file = "/a", log = "/b" }
check.j = { kind = "listener", listener_name = "-x", schema = "s" }
check.k = { url = "redis://h", user = "me" }
check.l = { url = "mqtt://h", password_file = "/p" }
check.m = { url = "iplanet://h", config_file = "magnus.conf", weights = { late = 50 } }
check.n = { url = "postgres://u@h", schema = "s", ca = "/ca.pem" }
"#,
        r#"
giveover.toml:3:48: error: schema: a name of 1 to 63 letters, digits, _ and $ is wanted
  3 | check.a = { url = "postgres://u@h/d", schema = "a b", query = "SELECT 1" }
    |                                                ^^^^^
giveover.toml:3:55: error: query: means nothing to a monitor of a database
  3 | check.a = { url = "postgres://u@h/d", schema = "a b", query = "SELECT 1" }
    |                                                       ^^^^^ rows [[service.NAME.error]] say what an error leads to
giveover.toml:4:45: error: log: must be an absolute path
  4 | check.b = { url = "postgres://u@h/d", log = "db.log", connect_cycle = 100000 }
    |                                             ^^^^^^^^
giveover.toml:4:71: error: connect_cycle: must be 0 to 99999
  4 | check.b = { url = "postgres://u@h/d", log = "db.log", connect_cycle = 100000 }
    |                                                                       ^^^^^^
giveover.toml:5:54: error: tls: a socket in the file system is never in TLS
  5 | check.c = { url = "postgres://u@/d?host=/run", tls = true }
    |                                                      ^^^^ leave it out
giveover.toml:6:19: error: url: only `host` with an absolute path may follow a `?`
  6 | check.d = { url = "postgres://u@/d?host=run" }
    |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^ as in postgres://giveover@/postgres?host=/run/postgresql
giveover.toml:7:41: error: a monitor of a database asks one address
  7 | check.e = { url = "postgres", address = ["h", "i"], schema = "s" }
    |                                         ^^^^^^^^^^ give each a check of its own
giveover.toml:8:53: error: password_file: must be an absolute path, or the bare name of a credential
  8 | check.f = { url = "postgres://u@h", password_file = "../secret", restart_type = "group" }
    |                                                     ^^^^^^^^^^^
giveover.toml:9:47: error: connect_string: a password has no place in a configuration
  9 | check.g = { kind = "oracle", connect_string = "scott/tiger@ORCL" }
    |                                               ^^^^^^^^^^^^^^^^^^ "USER@DATABASE", and its file in password_file
giveover.toml:10:47: error: connect_string and password_file go together, unless it is "/"
  10 | check.h = { kind = "oracle", connect_string = "scott" }
     |                                               ^^^^^^^ password_file names the file of its password
giveover.toml:11:30: error: `address` means nothing to an oracle check
  11 | check.i = { kind = "oracle", address = "h", alert_log_file = "/a", log = "/b" }
     |                              ^^^^^^^ Oracle's own programs know whom they ask
giveover.toml:11:62: error: alert_log_file: `log` says it already
  11 | check.i = { kind = "oracle", address = "h", alert_log_file = "/a", log = "/b" }
     |                                                              ^^^^ leave one of them out
giveover.toml:12:48: error: listener_name: a plain name is wanted
  12 | check.j = { kind = "listener", listener_name = "-x", schema = "s" }
     |                                                ^^^^
giveover.toml:12:54: error: unknown key `schema` in service.db.check.j
  12 | check.j = { kind = "listener", listener_name = "-x", schema = "s" }
     |                                                      ^^^^^^ only checks of kind postgres have it
giveover.toml:13:39: error: user: means nothing without its password
  13 | check.k = { url = "redis://h", user = "me" }
     |                                       ^^^^ password_file = "/etc/giveover/keys/NAME"
giveover.toml:14:47: error: password_file: needs `user`, whose password it is
  14 | check.l = { url = "mqtt://h", password_file = "/p" }
     |                                               ^^^^
giveover.toml:15:48: error: config_file: must be an absolute path
  15 | check.m = { url = "iplanet://h", config_file = "magnus.conf", weights = { late = 50 } }
     |                                                ^^^^^^^^^^^^^
giveover.toml:15:75: error: weights: an iplanet check has no phase `late`
  15 | check.m = { url = "iplanet://h", config_file = "magnus.conf", weights = { late = 50 } }
     |                                                                           ^^^^ its phases are resolve, connect, send, read, answer and close
giveover.toml:16:51: error: `ca` means nothing without TLS
  16 | check.n = { url = "postgres://u@h", schema = "s", ca = "/ca.pem" }
     |                                                   ^^ tls = true begins it
19 errors
"#,
    );
}

#[test]
fn rows_of_errors_say_what_is_wrong_with_them() {
    check(
        r#"
[service.db]
unit = "db.service"
check.a = { url = "postgres://u@h/d" }
[[service.db.error]]
match = "disk full"
[[service.db.error]]
on = "log"
match = "PANIC: ("
[[service.db.error]]
on = "timeout"
match = 0
[[service.db.error]]
action = "reboot"
[[service.db.error]]
match = 53100
state = "up"
[[service.db.error]]
on = "log"
match = "x"
state = "online"
actoin = "stop"
[service.other]
unit = "other.service"
budget_spent = "stop"
giveover = "command"
error = 3
check.x = "http://h/"
[giveover]
command = ["/bin/x"]
"#,
        r#"
giveover.toml:5:9: error: match: `disk full` is no error here
  5 | match = "disk full"
    |         ^^^^^^^^^^^ an SQLSTATE, as in "53100", or its class "53"
giveover.toml:8:9: error: match: no regular expression: found open group without closing ')'
  8 | match = "PANIC: ("
    |         ^^^^^^^^^^ a bracket or dot that is meant has a \ before it
giveover.toml:11:9: error: match: with on = "timeout" the number of time-outs in a row, from 1 on
  11 | match = 0
     |         ^
giveover.toml:12:1: error: service.db.error: what it matches is not said
  12 | [[service.db.error]]
     | ^^^^^^^^^^^^^^^^^^^^
giveover.toml:13:10: error: action: must be "switch", "restart", "stop" or "none"
  13 | action = "reboot"
     |          ^^^^^^^^
giveover.toml:16:9: error: state: must be "any", "connecting", "online", "disconnecting", "*", "co", "on" or "di"
  16 | state = "up"
     |         ^^^^
giveover.toml:20:9: error: state: a line of the log has nothing to do with our connection
  20 | state = "online"
     |         ^^^^^^^^ leave it out
giveover.toml:21:1: error: unknown key `actoin` in service.db.error
  21 | actoin = "stop"
     | ^^^^^^ did you mean `action`?
giveover.toml:24:16: error: budget_spent: a service that is given over has no spent budget
  24 | budget_spent = "stop"
     |                ^^^^^^ giveover = "none" goes with it
giveover.toml:26:1: error: service.other.error: rows are wanted
  26 | error = 3
     | ^^^^^ write [[service.other.error]]
10 errors
"#,
    );
}

#[test]
fn rows_of_the_file_come_before_those_of_the_preset() {
    let plan = super::plan_of(
        "[service.db]\nunit = \"db.service\"\npreset = \"postgres\"\ncheck.sql.schema = \"s\"\n\
         [[service.db.error]]\nmatch = \"28000\"\naction = \"stop\"\n",
    );
    let Kind::Database(monitor) = &plan.services[0].checks[0].kind else { panic!("a monitor") };
    let codes: Vec<&str> = monitor
        .rows
        .iter()
        .map(|row| match &row.on {
            On::Error(code) => &**code,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(codes, ["28000", "28", "3D000", "3F000", "42", "25006", "57P01"]);
    assert_eq!(monitor.rows[0].action, Action::Stop);
    assert_eq!(monitor.rows[1].action, Action::Nothing);
}

#[test]
fn what_makes_a_postgres_check_a_monitor() {
    let word = |check: &str| {
        let text = format!("[service.db]\nunit = \"db.service\"\ncheck.a = {check}\n");
        match super::plan_of(&text).services[0].checks[0].kind {
            Kind::Database(_) => "monitor",
            Kind::Talk(_) => "question",
            ref other => panic!("{other:?}"),
        }
    };
    assert_eq!(word("\"postgres://u@h/d\""), "question");
    assert_eq!(word("\"postgres://u@/d?host=/run/postgresql\""), "monitor");
    for key in ["schema = \"s\"", "log = \"/l\"", "connect_cycle = 5", "password_file = \"pg\""] {
        assert_eq!(word(&format!("{{ url = \"postgres://u@h/d\", {key} }}")), "monitor", "{key}");
    }
}

/// Of the documents' properties each has its name here, and its default.
#[test]
fn the_properties_of_the_documents_have_their_defaults() {
    let oracle = super::plan_of(
        "[service.db]\nunit = \"db.service\"\npreset = \"oracle\"\n\
         check.sql.alert_log_file = \"/a\"\n",
    );
    let service = &oracle.services[0];
    let limits = service.policy.limits();
    let seconds = |span: giveover_core::time::Span| span.as_millis() / 1000;
    assert_eq!(seconds(limits.thorough_probe_interval), 30);
    assert_eq!(seconds(limits.probe_timeout), 60);
    assert_eq!(seconds(limits.retry_interval), 1330);
    assert_eq!(limits.retry_count, Some(2));
    let Kind::Database(monitor) = &service.checks[0].kind else { panic!("a monitor") };
    assert_eq!((monitor.connect_cycle, monitor.log.as_deref()), (5, Some("/a")));
    let met = |wanted: &str| {
        let row = monitor.rows.iter().find(|row| row.on == On::Error(wanted.into()));
        row.map(|row| row.action)
    };
    assert_eq!(met("474"), Some(Action::Restart));
    assert_eq!(met("50"), Some(Action::Switch));
    assert_eq!(met("62"), Some(Action::Stop));
    assert_eq!(met("257"), Some(Action::Nothing));
    assert_eq!(met("4031"), None);
    let listener = super::plan_of("[service.l]\nunit = \"l.service\"\npreset = \"listener\"\n");
    assert!(listener.services[0].stops_when_spent);
}
