//! What the daemon sees by looking at its host, or by asking another daemon: `log`, `process` by name,
//! `path` by list, `systemd` and `remote` checks. No systemd runs in CI: its units are a stand-in's.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use giveover_tests::{Daemon, giveover, processes_with, text_of, wait_for, wait_long};

/// A watched service with one check, which says what it sees and does nothing.
fn service(name: &str, check: &str) -> String {
    format!(
        "[service.{name}]\ncheck.it = {{ {check} }}\nallow = [\"watched-only\"]\n\
         policy = {{ thorough_probe_interval = \"200ms\", probe_timeout = \"20s\", \
         retry_interval = \"9h\", failover_mode = \"log_only\" }}\n"
    )
}

fn probe(words: &[&str], path: Option<&Path>) -> Output {
    let mut command = Command::new(giveover());
    if let Some(path) = path {
        let before = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{before}", path.display()));
    }
    command.arg("probe").args(words).output().expect("giveover runs")
}

fn add(path: &Path, text: &str) {
    let file = File::options().create(true).append(true).open(path);
    file.expect("a log").write_all(text.as_bytes()).expect("written");
}

/// The lines that were told.
fn seen(daemon: &Daemon) -> Vec<String> {
    let events = daemon.ok(&["events", "--json", "-n", "500"]);
    let events = events.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let seen = events.filter(|event: &serde_json::Value| event["event"] == "seen");
    seen.map(|event| event["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn each_line_that_matches_is_one_failure_across_rotation_and_restart() {
    let check = "url = \"log://$DIR/app.log\", pattern = 'PANIC', ignore = \"harmless\"";
    let mut daemon = Daemon::start_in(&service("app", check), &[], |dir| {
        add(&dir.join("app.log"), "PANIC: of yesterday\n");
    });
    let log = daemon.dir.path().join("app.log");
    daemon.wait_status("app", "ok");
    add(&log, "fine\nPANIC: harmless\nPANIC: one\n");
    let failure = daemon.wait_event("app", "failure");
    assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"exit".into()));
    assert_eq!(failure["cause"], "it a line matches");
    daemon.wait_status("app", "ok");
    // Rotated both ways, with a line written before and one after.
    add(&log, "PANIC: two\n");
    fs::rename(&log, log.with_extension("log.1")).expect("renamed");
    add(&log, "PANIC: three\n");
    wait_for("both lines", || {
        let told = |line: &String| line.contains("three") || line.contains("and 1 more");
        seen(&daemon).iter().any(told).then_some(())
    });
    // While nobody looks.
    assert_eq!(daemon.stop(), Some(0));
    add(&log, "PANIC: four\n");
    fs::copy(&log, log.with_extension("log.2")).expect("copied");
    File::options().write(true).open(&log).and_then(|log| log.set_len(0)).expect("cut");
    add(&log, "PANIC: five\n");
    daemon.run();
    wait_for("the rest", || {
        let seen = seen(&daemon).join("\n");
        (seen.contains("four") && (seen.contains("five") || seen.contains("more"))).then_some(())
    });
    let told = seen(&daemon);
    for line in ["one", "two", "four"] {
        assert_eq!(told.iter().filter(|it| it.contains(line)).count(), 1, "{line}: {told:?}");
    }
    assert!(!told.iter().any(|it| it.contains("yesterday") || it.contains("harmless")), "{told:?}");
    // Whoever asks once changes nothing.
    fs::set_permissions(&log, fs::Permissions::from_mode(0o600)).expect("rights");
    let url = format!("log://{}", log.display());
    let found = probe(&[&url, "--set", "pattern = 'five'", "-v"], None);
    assert_eq!(found.status.code(), Some(2), "{}", text_of(&found));
    assert!(text_of(&found).contains("PANIC: five"), "{}", text_of(&found));
    fs::remove_file(&log).expect("gone");
    for old in ["log.1", "log.2"] {
        fs::remove_file(log.with_extension(old)).expect("gone");
    }
    daemon.wait_service("app", "to be unmeasured", |it| it["checks"][0]["outcome"] == "unmeasured");
    add(&log, "PANIC: six\n");
    wait_for("a new one", || seen(&daemon).iter().any(|it| it.contains("six")).then_some(()));
}

#[test]
fn a_process_of_a_name_is_there_or_it_is_not() {
    let check = "kind = \"process\", name = \"giveover-sleepr\"";
    let daemon = Daemon::start_in(&service("other", check), &[], |dir| {
        fs::copy("/bin/sleep", dir.join("giveover-sleepr")).expect("a program");
    });
    let failure = daemon.wait_event("other", "failure");
    assert_eq!(failure["cause"], "it no such process");
    let program = daemon.dir.path().join("giveover-sleepr");
    let mut child = Command::new(program).arg("600").spawn().expect("it runs");
    daemon.wait_status("other", "ok");
    child.kill().expect("ours");
    child.wait().expect("its status");
    daemon.wait_service("other", "to fail", |it| it["checks"][0]["outcome"] == "complete");
}

/// The list is read anew each time, so a change of it needs no reload.
// req 1.88, 1.89, 1.91, 1.92
#[test]
fn every_path_that_a_list_of_exports_names_must_answer() {
    let daemon = Daemon::start_in(
        &service("shares", "kind = \"path\", list = \"$DIR/exports\""),
        &[],
        |dir| {
            fs::create_dir(dir.join("a")).expect("a directory");
            fs::write(dir.join("exports"), format!("{}/a *(rw)\n", dir.display())).expect("a list");
        },
    );
    let exports = daemon.dir.path().join("exports");
    daemon.wait_status("shares", "ok");
    add(&exports, &format!("share -F nfs {}/b\n", daemon.dir.path().display()));
    daemon.wait_status("shares", "faulted");
    let failure = daemon.wait_event("shares", "failure");
    assert_eq!(failure["cause"], "it a path does not answer");
    wait_for("the path to be named", || {
        seen(&daemon).iter().any(|it| it.contains("/b: ")).then_some(())
    });
    fs::create_dir(daemon.dir.path().join("b")).expect("a directory");
    daemon.wait_status("shares", "ok");
    fs::remove_file(&exports).expect("gone");
    daemon.wait_status("shares", "faulted");
    wait_for("the list to be named", || {
        let checks = &daemon.service("shares")["checks"];
        (checks[0]["cause"] == "its list cannot be read").then_some(())
    });
}

#[test]
fn a_path_or_a_process_is_looked_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let url = format!("path://{}", dir.path().display());
    let found = probe(&[&url], None);
    assert!(found.status.success(), "{}", text_of(&found));
    let found = probe(&[&format!("{url}/none"), "-v"], None);
    assert_eq!(found.status.code(), Some(2), "{}", text_of(&found));
    assert!(text_of(&found).contains("it does not answer"), "{}", text_of(&found));
    let found = probe(&[&url, "--set", "free = \"100%\"", "-v"], None);
    assert_eq!(found.status.code(), Some(2), "{}", text_of(&found));
    assert!(text_of(&found).contains("too little is free"), "{}", text_of(&found));
    let wrong = probe(&[&url, "--set", "fre = \"1%\""], None);
    assert_eq!(wrong.status.code(), Some(3), "{}", text_of(&wrong));
    assert!(text_of(&wrong).contains("unknown key `fre`"), "{}", text_of(&wrong));
}

/// `show` prints, for each unit that is asked about, what stands in a file of its name.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 9
echo "$*" >> asked
while [ "$1" != -- ]; do shift; done
shift
for unit in "$@"; do
    cat "$unit" 2>/dev/null || printf 'LoadState=not-found\nActiveState=inactive\nSubState=dead\n'
    echo
done
"#;

fn systemctl(dir: &Path) {
    let bin = dir.join("bin");
    fs::create_dir(&bin).expect("a directory");
    fs::write(bin.join("systemctl"), SYSTEMCTL).expect("a program");
    let rights = fs::Permissions::from_mode(0o755);
    fs::set_permissions(bin.join("systemctl"), rights).expect("rights");
    unit(dir, "a.service", "active", "running");
    unit(dir, "b.timer", "inactive", "dead");
}

/// Another program in the place of the one that may just be run: that cannot be written to.
fn put(bin: &Path, text: &str) {
    let next = bin.join("next");
    fs::write(&next, text).expect("a program");
    fs::set_permissions(&next, fs::Permissions::from_mode(0o755)).expect("rights");
    fs::rename(&next, bin.join("systemctl")).expect("in its place");
}

fn unit(dir: &Path, name: &str, active: &str, sub: &str) {
    let text = format!("LoadState=loaded\nActiveState={active}\nSubState={sub}\nResult=success\n");
    let path = dir.join("bin").join(name);
    fs::write(path.with_extension("new"), text).expect("a unit");
    fs::rename(path.with_extension("new"), path).expect("whole or not at all");
}

#[test]
fn the_state_of_a_unit_is_right_or_wrong_or_not_known() {
    let text = [
        service("up", "url = \"systemd://a.service\""),
        service("down", "url = \"systemd://b.timer\", expect = \"inactive\""),
        service("none", "url = \"systemd://c.service\""),
    ];
    let daemon = Daemon::start_in(&text.concat(), &[], systemctl);
    let dir = daemon.dir.path();
    daemon.wait_status("up", "ok");
    daemon.wait_status("down", "ok");
    daemon.wait_service("none", "to be unmeasured", |it| {
        it["checks"][0]["outcome"] == "unmeasured"
            && it["checks"][0]["cause"] == "systemd knows no such unit"
    });
    unit(dir, "a.service", "failed", "failed");
    unit(dir, "b.timer", "active", "waiting");
    let failure = daemon.wait_event("up", "failure");
    assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"answer".into()));
    assert_eq!(failure["cause"], "it failed, expected active or reloading");
    let failure = daemon.wait_event("down", "failure");
    assert_eq!(failure["cause"], "it active, expected inactive");
    unit(dir, "a.service", "reloading", "reload");
    daemon.wait_status("up", "ok");
    let bin = dir.join("bin");
    let found = probe(&["systemd://a.service", "-v"], Some(&bin));
    assert!(found.status.success(), "{}", text_of(&found));
    assert!(text_of(&found).contains("reloading (reload), result success"), "{}", text_of(&found));
    assert_eq!(probe(&["systemd://c.service"], Some(&bin)).status.code(), Some(3));
    put(&bin, "#!/bin/sh\nexit 1\n");
    daemon.wait_service("up", "to be unmeasured", |it| {
        it["checks"][0]["cause"] == "systemd does not answer"
    });
}

/// It has ten seconds, then it is killed; what it was asked for is not known meanwhile, and everybody
/// else is looked at as ever.
#[test]
fn a_systemctl_that_hangs_keeps_nobody_waiting() {
    let text = [
        service("up", "url = \"systemd://a.service\""),
        service("other", "kind = \"path\", path = \"$DIR\""),
    ];
    let daemon = Daemon::start_in(&text.concat(), &[], systemctl);
    let bin = daemon.dir.path().join("bin");
    daemon.wait_status("up", "ok");
    daemon.wait_status("other", "ok");
    put(&bin, "#!/bin/sh\nexec sleep 6161\n");
    wait_for("it to hang", || (!processes_with("sleep 6161").is_empty()).then_some(()));
    let probes = |name: &str| daemon.service(name)["checks"][0]["at"].clone();
    let before = probes("other");
    wait_for("others to be looked at", || (probes("other") != before).then_some(()));
    let unit = wait_long("it to be unmeasured", || {
        let unit = daemon.service("up");
        (unit["checks"][0]["cause"] == "systemd does not answer").then_some(unit)
    });
    assert_eq!(unit["checks"][0]["outcome"], "unmeasured", "{unit}");
    assert_eq!(unit["failure_sum"], 0, "it counts nothing: {unit}");
    put(&bin, SYSTEMCTL);
    let is_healthy = || daemon.service("up")["checks"][0]["outcome"] == "healthy";
    wait_long("it to be healthy", || is_healthy().then_some(()));
    wait_long("what hung to be gone", || processes_with("sleep 6161").is_empty().then_some(()));
}

/// Both ways: on the other's own socket, and on a connection that is led there.
#[test]
fn another_daemons_view_is_taken_for_what_it_says() {
    let mut other = Daemon::start_in(
        &[
            service("web", "kind = \"path\", path = \"$DIR/web\""),
            service("late", "kind = \"path\", path = \"$DIR\"").replace("200ms", "1h"),
        ]
        .concat(),
        &[],
        |dir| fs::write(dir.join("web"), "").expect("a file"),
    );
    let socket = other.socket().display().to_string();
    let (listener, port) = lead_to(&socket);
    let at = |service: &str| {
        format!("kind = \"remote\", socket = \"{socket}\", service = \"{service}\"")
    };
    let text = [
        service("here", &at("web")),
        service("there", &format!("url = \"remote://127.0.0.1:{port}/web\"")),
        service("early", &at("late")),
        service("none", &at("nobody")),
    ];
    let daemon = Daemon::start(&text.concat());
    daemon.wait_status("here", "ok");
    daemon.wait_status("there", "ok");
    for (name, cause) in
        [("early", "unknown there, before its first cycle"), ("none", "it has no such service")]
    {
        daemon.wait_service(name, "to be unmeasured", |it| {
            it["checks"][0]["outcome"] == "unmeasured" && it["checks"][0]["cause"] == cause
        });
    }
    fs::remove_file(other.dir.path().join("web")).expect("gone");
    for name in ["here", "there"] {
        let failure = daemon.wait_event(name, "failure");
        assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"answer".into()));
        assert_eq!(failure["cause"], "it faulted, expected ok or degraded");
    }
    let url = format!("remote://127.0.0.1:{port}/web");
    let found = probe(&[&url, "-v"], None);
    assert_eq!(found.status.code(), Some(2), "{}", text_of(&found));
    assert!(text_of(&found).contains("> GET /status.json HTTP/1.1"), "{}", text_of(&found));
    fs::write(other.dir.path().join("web"), "").expect("a file");
    daemon.wait_status("here", "ok");
    daemon.wait_status("there", "ok");
    assert_eq!(other.stop(), Some(0));
    daemon.wait_service("here", "to be refused", |it| it["checks"][0]["cause"] == "refused");
    drop(listener);
}

/// A port whose connections are led to the UNIX socket at `path`, as `ssh -L` or socat would.
fn lead_to(path: &str) -> (std::sync::Arc<std::net::TcpListener>, u16) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("its address").port();
    let (listener, path) = (std::sync::Arc::new(listener), path.to_owned());
    let accepts = std::sync::Arc::clone(&listener);
    std::thread::spawn(move || {
        for client in accepts.incoming().flatten() {
            let Ok(server) = std::os::unix::net::UnixStream::connect(&path) else { continue };
            let (mut to, mut from) = (server.try_clone().expect("a copy"), server);
            let (mut said, mut heard) = (client.try_clone().expect("a copy"), client);
            std::thread::spawn(move || std::io::copy(&mut said, &mut to));
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut heard);
                let _ = heard.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    (listener, port)
}
