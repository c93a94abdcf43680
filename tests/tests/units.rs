//! A unit of systemd under the daemon, behind a stand-in for `systemctl` that runs a real process.
//! No systemd runs in CI; how it speaks was taken from its manual.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use giveover_tests::{Daemon, is_running, processes_with, signal_to, text_of, wait_for, wait_long};
use rustix::process::Signal;

/// `start` and `stop` keep a process and say so in files; `show` prints what stands there.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 9
echo "$*" >> log
verb=$2
case $verb in
start)
    sleep 5555 &
    echo $! > pid
    echo x >> invocations
    ;;
stop)
    echo stopping > asked
    kill "$(cat pid)"
    ;;
show)
    [ -e hangs ] && exec sleep 6262
    pid=$(cat pid 2>/dev/null || echo 0)
    echo LoadState=loaded
    echo UnitFileState=enabled
    echo NRestarts=0
    echo "InvocationID=$(wc -l < invocations 2>/dev/null || echo 0)"
    echo Job=
    echo TimeoutStartUSec=5s
    echo TimeoutStopUSec=5s
    if [ "$pid" != 0 ] && kill -0 "$pid" 2>/dev/null; then
        printf 'ActiveState=active\nSubState=running\nResult=success\nMainPID=%s\n' "$pid"
    elif [ -e asked ] || [ "$pid" = 0 ]; then
        printf 'ActiveState=inactive\nSubState=dead\nResult=success\nMainPID=0\n'
    else
        printf 'ActiveState=failed\nSubState=failed\nResult=signal\nMainPID=0\n'
        printf 'ExecMainExitTimestampMonotonic=1\nActiveExitTimestampMonotonic=2\n'
    fi
    echo
    ;;
esac
"#;

fn stand_in(dir: &Path) {
    let bin = dir.join("bin");
    fs::create_dir(&bin).expect("a directory");
    let program = bin.join("systemctl");
    fs::write(&program, SYSTEMCTL).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("rights");
}

/// Enabled and not running: started. Its process dies: restarted by a job, once, and charged.
/// Stopped by an operator: offline.
#[test]
fn a_unit_is_started_watched_restarted_and_stopped() {
    let daemon = Daemon::start_in(
        "[service.web]\n\
         unit = \"web.service\"\n\
         check.up = { command = [\"/bin/true\"] }\n\
         policy = { thorough_probe_interval = \"300ms\", probe_timeout = \"2s\", start_grace = \"0s\" }\n",
        &[],
        stand_in,
    );
    let service = daemon.wait_status("web", "ok");
    assert_eq!(service["unit"], "web.service");
    let pid = service["pid"].as_u64().expect("a main process") as u32;
    signal_to(pid, Signal::KILL);
    let service = daemon.wait_service("web", "to be ok as another process", |service| {
        service["status"] == "ok"
            && service["pid"].as_u64().is_some_and(|new| new != u64::from(pid))
    });
    assert_eq!(service["restarts"], 1, "{service}");
    let log = fs::read_to_string(daemon.dir.path().join("bin/log")).expect("what was asked");
    assert!(log.contains("reset-failed"), "{log}");
    let pid = service["pid"].as_u64().expect("a main process") as u32;
    let _ = daemon.ok(&["stop", "web"]);
    assert_eq!(daemon.service("web")["status"], "offline");
    assert!(!is_running(pid), "the job has stopped it");
}

/// systemd answers no question, and the main process dies: the death is heard without it, and the
/// unit is restarted once it can be asked again.
#[test]
fn a_unit_that_dies_while_systemctl_hangs_is_restarted() {
    let daemon = Daemon::start_in(
        "[service.web]\n\
         unit = \"web.service\"\n\
         check.up = { command = [\"/bin/true\"] }\n\
         policy = { thorough_probe_interval = \"300ms\", probe_timeout = \"2s\", start_grace = \"0s\" }\n\
         [service.other]\n\
         check.up = { command = [\"/bin/true\"] }\n\
         policy = { thorough_probe_interval = \"300ms\", probe_timeout = \"2s\", failover_mode = \"log_only\" }\n",
        &[],
        stand_in,
    );
    let pid = daemon.wait_status("web", "ok")["pid"].as_u64().expect("a main process");
    daemon.wait_status("other", "ok");
    let hangs = daemon.dir.path().join("bin/hangs");
    fs::write(&hangs, "").expect("a file");
    wait_for("it to hang", || (!processes_with("sleep 6262").is_empty()).then_some(()));
    signal_to(pid as u32, Signal::KILL);
    let probed = || daemon.service("other")["checks"][0]["at"].clone();
    let before = probed();
    wait_for("the other to be probed", || (probed() != before).then_some(()));
    fs::remove_file(&hangs).expect("it answers again");
    let service = wait_long("it to be ok as another process", || {
        let service = daemon.service("web");
        let other = service["pid"].as_u64().is_some_and(|new| new != pid);
        (service["status"] == "ok" && other).then_some(service)
    });
    assert_eq!(service["restarts"], 1, "{service}");
    wait_long("what hung to be gone", || processes_with("sleep 6262").is_empty().then_some(()));
    let _ = daemon.ok(&["stop", "web"]);
}

/// What the file leaves open is the unit's own affair, and taking it over is no change of the
/// configuration.
#[test]
fn a_units_own_time_outs_are_taken_over() {
    let configuration = |policy: &str| {
        format!(
            "[service.web]\nunit = \"web.service\"\n\
             check.up = {{ command = [\"/bin/true\"] }}\n\
             policy = {{ thorough_probe_interval = \"300ms\", start_grace = \"0s\"{policy} }}\n"
        )
    };
    let daemon = Daemon::start_in(&configuration(""), &[], stand_in);
    daemon.wait_status("web", "ok");
    let output = daemon.cli(&["reload", "--dry-run"]);
    assert!(text_of(&output).contains("nothing would change"), "{}", text_of(&output));
    daemon.write_config(&configuration(", stop_timeout = \"7s\""));
    let output = daemon.cli(&["reload", "--dry-run"]);
    assert!(text_of(&output).contains("stop_timeout 5s → 7s"), "{}", text_of(&output));
    daemon.write_config(&configuration(", start_timeout = \"90s\""));
    let _ = daemon.ok(&["reload"]);
    daemon.write_config(&configuration(", start_timeout = \"9s\""));
    let output = daemon.cli(&["reload", "--dry-run"]);
    assert!(text_of(&output).contains("start_timeout 90s → 9s"), "what is written holds");
    assert!(!text_of(&output).contains("stop_timeout"), "{}", text_of(&output));
    let _ = daemon.ok(&["stop", "web"]);
}
