//! Heartbeats: the daemon with `agent` checks, and `giveover agent` on the other side.

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use giveover::check::agent::beat::{Beat, Key};
use giveover_tests::mount::DeadMount;
use giveover_tests::probing::tell;
use giveover_tests::server::is_root;
use giveover_tests::{Daemon, free_port, giveover, signal_to, text_of, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// An agent that sends ten heartbeats a second, until it is dropped.
struct Agent(Child);

impl Agent {
    fn start(to: &str, name: &str, more: &[&str]) -> Self {
        let child = Command::new(giveover())
            .args(["agent", to, "--name", name, "--interval", "100ms"])
            .args(more)
            .stdin(Stdio::null())
            .spawn();
        Self(child.expect("giveover runs"))
    }

    fn signal(&self, signal: Signal) {
        signal_to(self.0.id(), signal);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A watched service with one check, which says what it sees and does nothing.
fn service(name: &str, interval: &str, check: &str) -> String {
    format!(
        "[service.{name}]\ncheck.beat = {{ {check} }}\nallow = [\"watched-only\"]\n\
         policy = {{ thorough_probe_interval = \"{interval}\", probe_timeout = \"5s\", \
         retry_interval = \"9h\", failover_mode = \"log_only\" }}\n"
    )
}

const QUICK: &str = "interval = \"100ms\", count = 1";

fn cause(daemon: &Daemon, name: &str) -> String {
    daemon.service(name)["checks"][0]["cause"].as_str().unwrap_or_default().to_owned()
}

fn wait_cause(daemon: &Daemon, name: &str, wanted: &str) {
    daemon.wait_service(name, wanted, |service: &Value| {
        service["checks"][0]["cause"].as_str().is_some_and(|cause| cause.contains(wanted))
    });
}

/// By each way: heard, then stopped, frozen, or heard on; and it comes back by itself.
// req 3.32
#[test]
fn an_agent_that_stops_or_freezes_is_silence_and_rejoins_when_it_is_heard_again() {
    let (udp, tcp) = (free_port(), free_port());
    let text = [
        service("stops", "200ms", &format!("url = \"agent://127.0.0.1:{udp}/a\", {QUICK}")),
        service(
            "freezes",
            "200ms",
            &format!("url = \"agent://127.0.0.1:{tcp}/b\", transport = \"tcp\", {QUICK}"),
        ),
        service(
            "goes-on",
            "200ms",
            &format!(
                "kind = \"agent\", transport = \"unix\", socket = \"$DIR/agent.sock\", name = \"c\", {QUICK}"
            ),
        ),
    ];
    let daemon = Daemon::start(&text.concat());
    // Before the first cycle or after it: nobody knows yet.
    let before = cause(&daemon, "stops");
    assert!(["", "nothing heard yet"].contains(&before.as_str()), "{before}");
    let stops = Agent::start(&format!("udp://127.0.0.1:{udp}"), "a", &["--load", "/bin/echo 0.42"]);
    let freezes = Agent::start(&format!("tcp://127.0.0.1:{tcp}"), "b", &[]);
    let unix = format!("unix://{}", daemon.dir.path().join("agent.sock").display());
    let _goes_on = Agent::start(&unix, "c", &["--load", "none"]);
    for name in ["stops", "freezes", "goes-on"] {
        daemon.wait_status(name, "ok");
    }
    wait_cause(&daemon, "stops", "load 0.42");
    assert_eq!(cause(&daemon, "goes-on"), "");
    stops.signal(Signal::TERM);
    freezes.signal(Signal::STOP);
    for name in ["stops", "freezes"] {
        let failure = daemon.wait_event(name, "failure");
        assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"silence".into()));
        assert_eq!(failure["cause"], "beat no heartbeat in 10.1s");
    }
    assert_eq!(daemon.service("goes-on")["status"], "ok");
    let _again = Agent::start(&format!("udp://127.0.0.1:{udp}"), "a", &[]);
    freezes.signal(Signal::CONT);
    daemon.wait_status("stops", "ok");
    daemon.wait_status("freezes", "ok");
}

/// The next cycle is an hour away: what is told is told at once.
// req 3.33, 3.34
#[test]
fn a_failed_work_unit_is_a_complete_failure_at_once() {
    let port = free_port();
    let check = format!("url = \"agent://127.0.0.1:{port}/a\", units = [\"db\"], {QUICK}");
    let daemon = Daemon::start_in(&service("web", "1h", &check), &[], |dir| {
        fs::write(dir.join("well"), "").expect("a file");
    });
    let unit = format!("db=/bin/ls {}/well", daemon.dir.path().display());
    let to = format!("udp://127.0.0.1:{port}");
    let agent = Agent::start(&to, "a", &["--unit", &unit, "--unit", "other=/bin/true"]);
    daemon.wait_status("web", "ok");
    wait_cause(&daemon, "web", "2 of 2 work units well");
    fs::remove_file(daemon.dir.path().join("well")).expect("gone");
    let failed = daemon.wait_event("web", "unit_failed");
    assert_eq!(failed["text"], "beat: work unit db failed: exit 2");
    let failure = daemon.wait_event("web", "failure");
    assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"answer".into()));
    assert_eq!(failure["cause"], "beat work unit db failed");
    daemon.wait_status("web", "faulted");
    fs::write(daemon.dir.path().join("well"), "").expect("a file");
    daemon.wait_status("web", "ok");
    drop(agent);
    // One that must be reported and is not has failed too; one whose command hangs as well.
    let agent = Agent::start(&to, "a", &["--unit", "other=/bin/true"]);
    daemon.wait_status("web", "faulted");
    drop(agent);
    let _agent =
        Agent::start(&to, "a", &["--unit", "db=/bin/true", "--unit", "slow=/bin/sleep 600"]);
    wait_for("the slow one to be told", || {
        let events = daemon.ok(&["events", "--json"]);
        events.contains("beat: work unit slow failed: no end in its time").then_some(())
    });
    let events = daemon.ok(&["events", "--json"]);
    assert!(events.contains("beat: work unit db failed: not reported"), "{events}");
    wait_cause(&daemon, "web", "work unit outside `units` failed; 1 of 2 work units well");
}

fn write_key(path: &Path, digit: char) {
    fs::write(path, digit.to_string().repeat(64)).expect("a key");
    fs::set_permissions(path, fs::Permissions::from_mode(0o400)).expect("rights");
}

/// What is forged or recorded is counted, shown, and changes nothing.
#[test]
fn a_heartbeat_with_a_wrong_key_or_heard_before_changes_nothing() {
    let port = free_port();
    let check = format!(
        "url = \"agent://127.0.0.1:{port}/a\", key = \"$DIR/key\", interval = \"1h\", count = 9"
    );
    let daemon = Daemon::start_in(&service("web", "200ms", &check), &[], |dir| {
        write_key(&dir.join("key"), 'a');
        write_key(&dir.join("other"), 'b');
    });
    let other = daemon.dir.path().join("other").display().to_string();
    let to = format!("udp://127.0.0.1:{port}");
    let stranger = Agent::start(&to, "a", &["--key", &other]);
    wait_cause(&daemon, "web", "not signed with our key");
    let refused = daemon.wait_event("web", "beat_refused");
    assert_eq!(refused["text"], "beat: a heartbeat changes nothing: not signed with our key");
    drop(stranger);
    let nameless = Agent::start(&to, "somebody", &["--key", &other]);
    wait_cause(&daemon, "web", "of nobody known");
    drop(nameless);
    assert_eq!(daemon.service("web")["status"], "unknown", "nobody was heard");

    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(("127.0.0.1", port)).expect("connected");
    let key = Key::new(&[0xAA; 32]);
    let wall_ms = || SystemTime::now().duration_since(UNIX_EPOCH).expect("now").as_millis() as u64;
    let line = |at_ms, code| {
        Beat::new("a", at_ms, Some(7), vec![("db", code)]).line(Some(&key)).expect("a line")
    };
    let began = wall_ms();
    let well = line(began, 0);
    socket.send(well.as_bytes()).expect("sent");
    daemon.wait_status("web", "ok");
    // Recorded while the unit had failed, and played again later.
    let failed = line(began - 1, 1);
    socket.send(failed.as_bytes()).expect("sent");
    socket.send(well.as_bytes()).expect("sent");
    wait_cause(&daemon, "web", "2 repeated");
    socket.send(line(began - 120_000, 1).as_bytes()).expect("sent");
    wait_cause(&daemon, "web", "1 of another time");
    socket.send(b"\xff\0 no heartbeat").expect("sent");
    assert_eq!(daemon.service("web")["status"], "ok");
    assert!(cause(&daemon, "web").contains("load 0.07"), "{}", cause(&daemon, "web"));
    socket.send(line(wall_ms(), 1).as_bytes()).expect("sent");
    daemon.wait_status("web", "faulted");
}

/// Nobody serves the mount that a key lies on: its check cannot be measured, everybody else is heard,
/// and the daemon ends when it is told to. Once the key can be read, what it signs counts.
#[test]
fn a_key_on_a_dead_mount_keeps_nobody_else_waiting() {
    if !is_root("a mount") {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let key = place.path().join("key");
    write_key(&key, 'a');
    let copy = tempfile::tempdir().expect("a directory");
    write_key(&copy.path().join("key"), 'a');
    let Some(mount) = DeadMount::on(place.path()) else { return };
    let (port, other) = (free_port(), free_port());
    let signed =
        format!("url = \"agent://127.0.0.1:{port}/a\", key = \"{}\", {QUICK}", key.display());
    let unsigned = format!("url = \"agent://127.0.0.1:{other}/b\", {QUICK}");
    let text = service("signed", "200ms", &signed) + &service("other", "200ms", &unsigned);
    let copy = copy.path().join("key").display().to_string();
    let _agent = Agent::start(&format!("udp://127.0.0.1:{port}"), "a", &["--key", &copy]);
    let _other = Agent::start(&format!("udp://127.0.0.1:{other}"), "b", &[]);
    let mut daemon = Daemon::start(&text);
    let silent = format!("key {} does not answer", key.display());
    daemon.wait_status("other", "ok");
    wait_cause(&daemon, "signed", &silent);
    assert_eq!(daemon.service("signed")["checks"][0]["outcome"], "unmeasured");
    assert_eq!(daemon.stop(), Some(0), "it does not wait for the mount");
    // Nobody else looks there now: he would be waited for in the kernel, where no signal is heard.
    let url = format!("agent://127.0.0.1:{}/a", free_port());
    let set = format!("key = \"{}\"", key.display());
    let probe = daemon.cli(&["probe", &url, "--set", &set, "--timeout", "1s"]);
    assert_eq!(probe.status.code(), Some(3), "{}", text_of(&probe));
    assert!(text_of(&probe).contains("does not answer"), "{}", text_of(&probe));
    daemon.run();
    wait_cause(&daemon, "signed", &silent);
    daemon.wait_status("other", "ok");
    tell("agent", "nobody's FUSE", "dead mount: key", "cannot measure", None);
    drop(mount);
    daemon.wait_status("signed", "ok");
    let failed = daemon.events("signed").into_iter().any(|it| it["event"] == "failure");
    assert!(!failed, "{}", daemon.log_text());
}

/// An address that is taken cannot be heard at, which is no failure of the service; and it is
/// tried again.
#[test]
fn an_address_that_is_taken_cannot_be_measured_until_it_is_free() {
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = taken.local_addr().expect("its address").port();
    let check = format!("url = \"agent://127.0.0.1:{port}/a\", {QUICK}");
    let daemon = Daemon::start(&service("web", "200ms", &check));
    daemon.wait_service("web", "to be unmeasured", |it| it["checks"][0]["outcome"] == "unmeasured");
    let to = format!("udp://127.0.0.1:{port}");
    let _agent = Agent::start(&to, "a", &[]);
    drop(taken);
    daemon.wait_status("web", "ok");
    let probe = Command::new(giveover())
        .args(["probe", &format!("agent://127.0.0.1:{port}/a"), "--timeout", "1s"])
        .output()
        .expect("giveover runs");
    assert_eq!(probe.status.code(), Some(3), "the daemon has it: {}", text_of(&probe));
    let text = daemon.ok(&["probe", "web/beat"]);
    assert!(text.contains("healthy"), "{text}");
}

#[test]
fn a_probe_waits_for_one_heartbeat() {
    let port = free_port();
    let to = format!("udp://127.0.0.1:{port}");
    let agent = Agent::start(&to, "a", &["--load", "/bin/echo 1.5"]);
    let probe = |timeout: &str| {
        let url = format!("agent://127.0.0.1:{port}/a");
        let words = ["probe", &url, "-v", "--timeout", timeout];
        Command::new(giveover()).args(words).output().expect("giveover runs")
    };
    let found = probe("20s");
    assert!(found.status.success(), "{}", text_of(&found));
    assert!(text_of(&found).contains("healthy: load 1.50"), "{}", text_of(&found));
    assert!(text_of(&found).contains("< giveover-agent/1 a "), "{}", text_of(&found));
    drop(agent);
    let found = probe("300ms");
    assert_eq!(found.status.code(), Some(2), "{}", text_of(&found));
}
