//! The source document's log lines, each provoked on a real pair: as `events --legacy` has them, or,
//! of a node that does not start, its log.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use giveover::message::watchdog;
use giveover_tests::cluster::wait_long;
use giveover_tests::pair::{ADDRESS, Pair};
use giveover_tests::server::is_root;
use giveover_tests::{Daemon, free_port};

const TIMES: &str = "heartbeat = \"500ms\"\nlease = \"3s\"\nwait = \"5500ms\"\ninterval = \"1s\"";
const LOW: &[&str] = &["--debug=low"];

const ALONE: &str = "a starts, and b is not there";
const JOINS: &str = "b joins: seen on a";
const JOINED: &str = "b joins: seen on b";
const SILENT: &str = "b is killed: seen on a";
const NEWCOMER: &str = "b comes with another address: its own log";
const OLDER: &str = "b comes with another address: seen on a";
const STOPS: &str = "a is stopped";
const IN_USE: &str = "somebody else has the address";
const NO_TRUSTED: &str = "no trusted server answers";
const NO_PEER: &str = "no peer is in the file";
const NO_RIGHT: &str = "without the right to change addresses";
const SETUID: &str = "commands that have the right themselves";

/// Each line of sections 4 and 5.2.3, and what provokes it.
const TABLE: &[(&str, &[&str])] = &[
    (
        ALONE,
        &[
            watchdog::CONNECT_REFUSED,
            watchdog::STARTED,
            watchdog::ESCALATED,
            watchdog::HOLDS_ADDRESS,
            "wd_lifecheck: checking pgpool 0 (10.0.0.1:9706)",
            "wd_lifecheck: OK, status: 3",
        ],
    ),
    (
        JOINS,
        &[
            watchdog::LIFE_CHECK_STARTED,
            "wd_lifecheck: checking pgpool 1 (10.0.0.2:9706)",
            "wd_lifecheck: OK, status: 2",
        ],
    ),
    (
        JOINED,
        &[
            watchdog::STARTED,
            watchdog::LIFE_CHECK_STARTED,
            "wd_lifecheck: checking pgpool 0 (10.0.0.2:9706)",
            "wd_lifecheck: checking pgpool 1 (10.0.0.1:9706)",
        ],
    ),
    (
        SILENT,
        &[
            "wd_lifecheck: NG, status: 2 life:3",
            "wd_lifecheck: NG, status: 2 life:2",
            "wd_lifecheck: NG, status: 2 life:1",
            "wd_lifecheck: lifecheck failed 3 times. pgpool seems not to be working",
            "wd_lifecheck: NG, status: 4 life:0",
        ],
    ),
    (NEWCOMER, &watchdog::REFUSED),
    (OLDER, &[watchdog::MISMATCH]),
    (STOPS, &[watchdog::STOP_REQUESTED, "watchdog_pid: ", watchdog::ADDRESS_DOWN]),
    (IN_USE, &watchdog::ADDRESS_EXISTS),
    (NO_TRUSTED, &watchdog::NO_TRUSTED_SERVER),
    (NO_PEER, &watchdog::BAD_CONFIGURATION),
    (NO_RIGHT, &[watchdog::NO_PRIVILEGE]),
    (SETUID, &[watchdog::SETUID_COMMANDS]),
];

fn legacy(daemon: &Daemon) -> String {
    daemon.ok(&["events", "--legacy", "-n", "2000"])
}

/// Waits until a daemon has said all that one row of the table wants, and returns it.
fn said(pair: &mut Pair, place: usize, row: &str) -> String {
    let wanted = TABLE.iter().find(|(name, _)| *name == row).expect("a row").1;
    let mut last = String::new();
    wait_long(row, || {
        last = legacy(pair.daemon(place));
        wanted.iter().all(|line| last.contains(line)).then_some(())
    });
    last
}

fn exits(code: Option<i32>, wanted: i32, log: &str) {
    assert_eq!(code, Some(wanted), "{log}");
}

// req 2.36 2.38 2.39 2.40 2.41 2.44 2.46 2.47 2.51 2.52 2.53 2.54 2.55 2.56 2.57 2.58 2.59 2.65
// req 2.66 2.71 2.87 2.88 2.89 2.90 2.91 2.92 2.93 2.117 2.27
#[test]
fn every_line_of_the_document_is_said_where_it_belongs() {
    if !is_root("networks of our own") {
        return;
    }
    let mut found: HashMap<&str, String> = HashMap::new();
    let mut pair = Pair::with_times(TIMES);
    pair.start(2);
    pair.start_as(0, "", LOW);
    pair.wait_served(0);
    found.insert(ALONE, said(&mut pair, 0, ALONE));
    // Without anybody to watch there is nothing to say of it.
    assert!(!legacy(pair.daemon(0)).contains(watchdog::LIFE_CHECK_STARTED));
    pair.start_as(1, "", LOW);
    found.insert(JOINS, said(&mut pair, 0, JOINS));
    found.insert(JOINED, said(&mut pair, 1, JOINED));
    pair.kill(1);
    let silent = said(&mut pair, 0, SILENT);
    // Each life is printed before it is lowered, and what is down says so at every look.
    let at = |line: &str| silent.find(line).unwrap_or_else(|| panic!("no {line}"));
    assert!(
        at("life:3") < at("life:2") && at("life:2") < at("life:1") && at("life:1") < at("life:0")
    );
    wait_long("the line again at a later look", || {
        let times = legacy(pair.daemon(0)).matches("lifecheck failed 3 times").count();
        (times >= 2).then_some(())
    });
    found.insert(SILENT, silent);

    let (code, log) = pair.start_with_another_address(1);
    exits(code, 13, &log);
    found.insert(NEWCOMER, log);
    found.insert(OLDER, said(&mut pair, 0, OLDER));

    let pid = pair.daemon(0).pid();
    let log = pair.stop(0);
    assert!(log.contains(&watchdog::process(pid)), "{log}");
    found.insert(STOPS, log);

    // What keeps a node from starting; nothing is touched.
    pair.lan.ip("client", &format!("addr add {ADDRESS}/24 dev eth0"));
    let text = pair.text(&format!("{ADDRESS}/24"));
    let (code, log) = pair.refused(0, &text);
    exits(code, 12, &log);
    assert!(!pair.lan.has("a", ADDRESS));
    found.insert(IN_USE, log);
    pair.lan.ip("client", &format!("addr del {ADDRESS}/24 dev eth0"));

    let closed = free_port();
    let (code, log) =
        pair.refused(0, &format!("{text}[host]\ntrusted = [\"tcp://127.0.0.1:{closed}\"]\n"));
    exits(code, 11, &log);
    found.insert(NO_TRUSTED, log);

    let cut = text.find("[node.a]").expect("nodes");
    let (code, log) = pair.refused(0, &text[..cut]);
    exits(code, 3, &log);
    found.insert(NO_PEER, log);

    let mut daemon = Daemon::prepared(&text, &[], |_| {});
    let host = pair.lan.pid("a").to_string();
    let without = "--bounding-set=-net_admin,-net_raw";
    daemon.spawn_behind(&["nsenter", "-t", &host, "-n", "setpriv", without]);
    let status = wait_long("it to end", || daemon.ended());
    exits(status.code(), 10, &daemon.log_text());
    found.insert(NO_RIGHT, daemon.log_text());

    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("ip");
    let copied = Command::new("cp").arg("/bin/true").arg(&program).status().expect("cp");
    assert!(copied.success());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).expect("ours");
    let command = |verb| format!("{verb} = [\"{}\", \"$_IP_$\"]\n", program.display());
    pair.start_as(0, &(command("up") + &command("down")), &[]);
    found.insert(SETUID, said(&mut pair, 0, SETUID));

    for (row, lines) in TABLE {
        let text = &found[row];
        for line in *lines {
            let whole = text.lines().any(|it| it.ends_with(line) || line.ends_with(": "));
            assert!(whole && text.contains(line), "{row}: no line `{line}` in:\n{text}");
        }
    }
}
