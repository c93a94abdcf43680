//! Pools without a balancer: the command that is run for them, several services of one server, the
//! floor, and what people ask.

use std::fs;
use std::net::TcpListener;

use giveover_tests::{Daemon, free_port, wait_for};
use serde_json::Value;

/// Members that only listen; one is taken away by dropping it.
struct Members {
    ports: Vec<u16>,
    listeners: Vec<Option<TcpListener>>,
}

impl Members {
    fn new(count: usize) -> Self {
        let ports: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let listen = |port: &u16| Some(TcpListener::bind(("127.0.0.1", *port)).expect("a port"));
        let listeners = ports.iter().map(listen).collect();
        Self { ports, listeners }
    }

    fn down(&mut self, member: usize) {
        self.listeners[member] = None;
    }

    fn up(&mut self, member: usize) {
        let port = self.ports[member];
        let bind = || TcpListener::bind(("127.0.0.1", port)).ok();
        self.listeners[member] = Some(wait_for("the port", bind));
    }

    fn table(&self) -> String {
        let names = ["a", "b", "c"];
        let line = |(name, port): (&&str, &u16)| format!("member.{name} = \"127.0.0.1:{port}\"\n");
        names.iter().zip(&self.ports).map(line).collect()
    }
}

const QUICK: &str = "check.port = \"tcp\"\ninterval = \"100ms\"\nprobe_timeout = \"500ms\"\n";

/// A command that writes a line: pool, member, address, state, reason.
const TELL: &str = "command = [\"/bin/sh\", \"-c\", \"echo \\\"$$0\\\" >> $DIR/told\", \"$SERVICE $MEMBER $ADDRESS $TO $REASON\"]\n";

fn told(daemon: &Daemon) -> Vec<String> {
    let text = fs::read_to_string(daemon.dir.path().join("told")).unwrap_or_default();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn wait_told(daemon: &Daemon, last: &str) {
    wait_for(&format!("to be told {last}"), || {
        told(daemon).iter().any(|line| line == last).then_some(())
    });
}

#[test]
fn a_command_is_run_for_each_member_that_moves() {
    let mut members = Members::new(2);
    let daemon = Daemon::start(&format!("[pool.web]\n{QUICK}{TELL}{}", members.table()));
    let [a, b] = members.ports[..] else { panic!("two") };
    wait_told(&daemon, &format!("web a 127.0.0.1:{a} in"));
    wait_told(&daemon, &format!("web b 127.0.0.1:{b} in"));
    members.down(0);
    wait_told(&daemon, &format!("web a 127.0.0.1:{a} out port refused"));
    daemon.tell(&["pool", "drain", "web", "b", "--for", "1h"]);
    wait_told(&daemon, &format!("web b 127.0.0.1:{b} drained"));
    members.up(0);
    daemon.wait_member("web", "a", "in");
}

/// What cannot be told is said once, shown, and tried again.
#[test]
fn a_command_that_fails_is_said_and_tried_again() {
    let members = Members::new(1);
    let command = "command = [\"/bin/sh\", \"-c\", \"test -e $DIR/well\"]\n";
    let daemon = Daemon::start(&format!("[pool.web]\n{QUICK}{command}{}", members.table()));
    let trouble =
        |daemon: &Daemon| daemon.status().expect("an answer")["pools"][0]["trouble"].clone();
    wait_for("the trouble", || (trouble(&daemon)[0] == "command: exit status 1").then_some(()));
    fs::write(daemon.dir.path().join("well"), "").expect("a file");
    wait_for("no more of it", || {
        trouble(&daemon).as_array().is_some_and(Vec::is_empty).then_some(())
    });
    let log = daemon.log_text();
    assert_eq!(log.matches("web: command: exit status 1").count(), 1, "{log}");
    assert!(log.contains("web: command follows again"), "{log}");
}

/// Two services of one server: whether the failure of one takes the other along is said by the pool.
// req 3.47
#[test]
fn one_service_that_fails_takes_the_whole_server_out_where_that_is_said() {
    let mut web = Members::new(1);
    let mut mail = Members::new(1);
    let pool = |name: &str, members: &Members, more: &str| {
        format!(
            "[pool.{name}]\n{QUICK}min_members = 0\ncommand = [\"/bin/true\"]\n{more}{}",
            members.table()
        )
    };
    let whole = "any_service_fails = \"member\"\n";
    let daemon = Daemon::start(&format!("{}{}", pool("web", &web, whole), pool("mail", &mail, "")));
    daemon.wait_member("web", "a", "in");
    mail.down(0);
    let out = daemon.wait_member("web", "a", "out");
    assert_eq!(out["why"], "another service of this server has failed");
    assert_eq!(daemon.member("mail", "a")["why"], "port refused");
    mail.up(0);
    daemon.wait_member("web", "a", "in");
    // And not where it is not.
    web.down(0);
    daemon.wait_member("web", "a", "out");
    assert_eq!(daemon.member("mail", "a")["state"], "in");
}

/// The last one stays in, and is said to be kept.
#[test]
fn the_floor_keeps_the_last_member_in() {
    let mut members = Members::new(2);
    let daemon = Daemon::start(&format!("[pool.web]\n{QUICK}{TELL}{}", members.table()));
    daemon.wait_member("web", "a", "in");
    members.down(0);
    daemon.wait_member("web", "a", "out");
    members.down(1);
    wait_for("b to be kept", || (daemon.member("web", "b")["kept"] == true).then_some(()));
    assert_eq!(daemon.member("web", "b")["state"], "in");
    let log = daemon.log_text();
    assert!(log.contains("web/b: port refused, but kept in: min_members is 1"), "{log}");
}

/// The monitor killed and begun again forges no transition: who was out stays out until its checks
/// have passed, and nobody else moves.
#[test]
fn what_was_known_of_members_survives_a_crash() {
    let mut members = Members::new(3);
    let mut daemon = Daemon::start(&format!("[pool.web]\n{QUICK}{TELL}{}", members.table()));
    daemon.wait_member("web", "a", "in");
    members.down(0);
    daemon.wait_member("web", "a", "out");
    daemon.tell(&["pool", "drain", "web", "b", "--for", "1h", "--reason", "new disk"]);
    daemon.kill();
    daemon.run();
    let drained = daemon.member("web", "b");
    assert_eq!(drained["state"], "drained");
    assert_eq!(drained["drained"]["why"], "new disk");
    assert_eq!(daemon.member("web", "a")["state"], "out");
    assert_eq!(daemon.member("web", "c")["state"], "in");
    // A reload that takes a member away, and one that changes the pool, keep what is known too.
    let text = fs::read_to_string(daemon.config()).expect("a configuration");
    daemon.write_config(&text.replace("interval = \"100ms\"", "interval = \"150ms\""));
    daemon.tell(&["reload"]);
    assert_eq!(daemon.member("web", "b")["state"], "drained");
    assert_eq!(daemon.member("web", "a")["state"], "out");
    daemon.tell(&["pool", "enable", "web", "b"]);
    daemon.wait_member("web", "b", "in");
    members.up(0);
    daemon.wait_member("web", "a", "in");
}

#[test]
fn under_observe_nobody_is_told() {
    let mut members = Members::new(2);
    let text = format!("[pool.web]\n{QUICK}{TELL}{}", members.table());
    let daemon = Daemon::start_with(&text, &["--observe"]);
    members.down(0);
    daemon.wait_member("web", "a", "out");
    assert_eq!(told(&daemon), Vec::<String>::new());
}

#[test]
fn what_is_asked_of_pools_is_answered_and_refused_in_words() {
    let members = Members::new(2);
    let daemon = Daemon::start(&format!("[pool.web]\n{QUICK}{TELL}{}", members.table()));
    daemon.wait_member("web", "a", "in");
    let list = daemon.ok(&["pool", "list"]);
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(list.starts_with("web\ta\t127.0.0.1:"), "{list}");
    let json: Value =
        serde_json::from_str(&daemon.ok(&["pool", "list", "web", "--json"])).expect("JSON");
    assert_eq!(json[0]["members"][1]["name"], "b");
    let refused = |words: &[&str]| {
        let output = daemon.cli(words);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (exit, said) = refused(&["pool", "list", "wbe"]);
    assert_eq!((exit, said.as_str()), (Some(5), "giveover: no pool `wbe`; did you mean `web`?\n"));
    assert_eq!(refused(&["pool", "drain", "web", "x"]).0, Some(5));
    assert_eq!(refused(&["pool", "drain", "x", "a"]).0, Some(5));
    assert_eq!(refused(&["pool", "drain", "web", "a", "--for", "0s"]).0, Some(2));
    // Connections of this pool are never cut.
    let output = daemon.cli(&["pool", "drain", "web", "a", "--cut-after", "1s"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(daemon.ok(&["pool", "enable", "web", "a"]), "web/a: it is not drained\n");
    let said = daemon.ok(&["pool", "drain", "web", "a", "--for", "ever"]);
    assert!(said.starts_with("web/a: drained by ") && said.ends_with(" for ever\n"), "{said}");
    let checked = daemon.cli(&["check", &daemon.config().display().to_string()]);
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(text.contains("1 pool\n"), "{text}");
    assert!(
        text.contains("pool web: 2 members; one is out after 3 failed cycles in a row"),
        "{text}"
    );
}

/// A check of kind `agent` hears the members' agents: loads become shares, a failed work unit takes
/// its member out at once, its next word brings it back; those who look see all of it.
// req 3.32 3.33 3.34
#[test]
fn agents_that_a_check_hears_move_members() {
    let members = Members::new(2);
    let port = free_port();
    let daemon = Daemon::start(&format!(
        "[pool.web]\n{QUICK}{TELL}busy = \"90%\"\nmin_members = 0\n\
         check.beat = {{ url = \"agent://127.0.0.1:{port}/$MEMBER\", full = 2, units = [\"db\"] }}\n{}",
        members.table()
    ));
    daemon.wait_member("web", "b", "in");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut sent = 0;
    let mut beat = |name: &str, more: &str| {
        sent += 1;
        let text = format!("giveover-agent/1 {name} {sent} {more}");
        let line = format!("{}\n", text.trim_end());
        socket.send_to(line.as_bytes(), ("127.0.0.1", port)).expect("sent");
    };
    // 0.80 of 2 is 40 %.
    beat("a", "load=0.80 unit=db:0");
    wait_for("its share", || (daemon.member("web", "a")["weight"] == 60).then_some(()));
    assert_eq!(daemon.member("web", "a")["load"], 40);
    beat("a", "load=0.80 unit=db:1");
    let out = daemon.wait_member("web", "a", "out");
    assert!(out["why"].as_str().is_some_and(|why| why.contains("db")), "{out}");
    let [a, _] = members.ports[..] else { panic!("two") };
    wait_told(&daemon, &format!("web a 127.0.0.1:{a} out {}", out["why"].as_str().expect("why")));
    beat("a", "load=0.10 unit=db:0");
    assert_eq!(daemon.wait_member("web", "a", "in")["weight"], 95);
    // A name that is no member's, and no heartbeat at all, are nothing.
    beat("c", "unit=db:1");
    beat("", "\u{1}");
    assert_eq!(daemon.member("web", "b")["state"], "in");
    // One member's checks once, and what happened to it.
    let probed = daemon.cli(&["probe", "web/a/port"]);
    assert_eq!(probed.status.code(), Some(0), "{probed:?}");
    let probed: Value =
        serde_json::from_str(&daemon.ok(&["probe", "web/a", "--json"])).expect("it");
    assert_eq!(probed[0]["outcome"], "healthy");
    assert_eq!(probed[1]["name"], "beat");
    let refused = daemon.cli(&["probe", "web"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("web is a pool: its members are web/NAME"), "{said}");
    assert!(daemon.cli(&["probe", "web/x"]).status.code() != Some(0));
    for name in ["web", "web/a"] {
        let events = daemon.ok(&["events", name]);
        assert!(events.contains("\tweb/a\t") && events.contains("db"), "{events}");
        assert!(!events.contains("\tweb/b\t") || name == "web", "{events}");
    }
    let status = daemon.ok(&["status", "web/b"]);
    assert!(status.starts_with("web\tb\t") && status.lines().count() == 1, "{status}");
    assert_eq!(daemon.cli(&["status", "web/x"]).status.code(), Some(5));
    assert_eq!(daemon.cli(&["events", "web/x"]).status.code(), Some(5));
    // In a terminal `status web` is the pool's screen; here `--watch` prints what happens.
    daemon.signal(rustix::process::Signal::USR1);
    wait_for("the full status", || {
        let log = daemon.log_text();
        (log.contains("web/a: in") && log.contains("web/b: in")).then_some(())
    });
}

/// Where nobody can be heard, silence is ours, and that is said.
#[test]
fn agents_that_cannot_be_heard_are_not_silent() {
    let members = Members::new(1);
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = taken.local_addr().expect("its").port();
    let daemon = Daemon::start(&format!(
        "[pool.web]\n{QUICK}{TELL}min_members = 0\nagent_required = true\n\
         check.beat = {{ url = \"agent://127.0.0.1:{port}/$MEMBER\", interval = \"1ms\", count = 1 }}\n{}",
        members.table()
    ));
    let trouble = || daemon.status().expect("an answer")["pools"][0]["trouble"].to_string();
    wait_for("the trouble", || trouble().contains("agents: nobody can be heard").then_some(()));
    drop(taken);
    wait_for("no more of it", || (trouble() == "[]").then_some(()));
    // From here on nobody speaks: (1 ms + 10 s) × 1.
    daemon.wait_member("web", "a", "out");
    let log = daemon.log_text();
    let at = |text: &str| log.find(text).unwrap_or_else(|| panic!("{text}: {log}"));
    assert!(at("web: agents are heard again") < at("web/a: out"), "{log}");
}
