//! The real daemon and the board's real machine, over a pseudo terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use giveover_core::board::{End, Request, State, Why};
use giveover_core::wire::Key;
use giveover_tests::board::{Port, SECRET, Standin, key_text};
use giveover_tests::{Daemon, wait_for};
use rustix::process::Signal;
use serde_json::Value;

fn key() -> Key {
    Key::of_secret(&SECRET)
}

fn write_key(dir: &Path) {
    let path = dir.join("board.key");
    fs::write(&path, key_text()).expect("a key");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("a mode");
}

/// A configuration with the board at `port`, and `more`.
fn config(port: &Port, more: &str) -> String {
    format!(
        "[board]\nport = \"{}\"\nkey = \"$DIR/board.key\"\ntimeout = \"4s\"\nboot_grace = \"2s\"\n\
         confirm_after = \"1s\"\npolicy = {{ retry_count = 3, retry_interval = \"1h\" }}\n{more}",
        port.path.display()
    )
}

fn start(port: &Port, more: &str) -> Daemon {
    Daemon::start_in(&config(port, more), &[], write_key)
}

fn plugged() -> Port {
    Port::plug(Standin::new(Some(key()), 0x6614_04D3))
}

fn board(daemon: &Daemon) -> Value {
    daemon.status().expect("it answers")["board"].clone()
}

fn armed(daemon: &Daemon, port: &Port) {
    wait_for("the board to be armed", || {
        (port.board().state() == State::Armed && board(daemon)["armed"] == true).then_some(())
    });
}

fn ends(port: &Port) -> Vec<End> {
    let board = port.board();
    let end = |request: &Request| match request {
        Request::End(end) => Some(*end),
        _ => None,
    };
    let mut ends: Vec<End> = board.asked.iter().filter_map(end).collect();
    ends.dedup(); // one that is answered late is said again
    ends
}

#[test]
fn a_board_is_armed_and_fed_confirmed_and_told_of_the_end() {
    let port = plugged();
    let mut daemon = start(&port, "");
    armed(&daemon, &port);
    let before = port.board().feeds;
    wait_for("some feeds", || (port.board().feeds >= before + 6).then_some(()));
    wait_for("the boot to be confirmed", || {
        port.board().asked.contains(&Request::Confirm).then_some(())
    });
    assert!(port.board().pulses.is_empty());
    let counters = *port.board().machine.counters();
    assert_eq!((counters.early, counters.wrong), (0, 0));
    let doc = wait_for("the counters", || {
        Some(board(&daemon)).filter(|doc| doc["feeds"].as_u64() > Some(0))
    });
    assert_eq!(doc["device"], "0000-0000-6614-04D3");
    assert_eq!(doc["key"], key().id().to_string());
    assert_eq!(doc["settings_echoed"], true);
    assert!(daemon.log_text().contains(&format!("armed, 4 s, key {}", key().id())));
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(ends(&port), [End::Stop]);
    assert_eq!(port.board().state(), State::Waiting);
}

/// A service takes longer to stop than the board's time-out: it is fed until that is done.
#[test]
fn a_board_is_fed_while_services_are_being_stopped() {
    let port = plugged();
    let more = "[service.slow]\n\
                start = [\"/bin/sh\", \"-c\", \"trap 'sleep 6; exit 0' TERM; \
                while :; do sleep 0.1; done\"]\n\
                policy = { stop_timeout = \"20s\" }\n";
    let mut daemon = start(&port, more);
    armed(&daemon, &port);
    let before = port.board().feeds;
    assert_eq!(daemon.stop(), Some(0));
    assert!(port.board().feeds > before, "it was fed meanwhile");
    assert!(port.board().pulses.is_empty());
    assert_eq!(ends(&port), [End::Stop]);
}

#[test]
fn a_daemon_that_stands_still_is_reset_and_told_so_afterwards() {
    let port = plugged();
    let mut daemon = start(&port, "");
    armed(&daemon, &port);
    daemon.signal(Signal::STOP);
    wait_for("a pulse", || (!port.board().pulses.is_empty()).then_some(()));
    assert_eq!(port.board().pulses[0].1, Why::Silence);
    daemon.signal(Signal::CONT);
    wait_for("it to be told", || daemon.log_text().contains("it reset this host at").then_some(()));
    armed(&daemon, &port);
    assert_eq!(port.board().pulses.len(), 1);
    assert_eq!(board(&daemon)["resets"], 1);
    assert_eq!(board(&daemon)["last_reset"]["why"], "silence");
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_reload_leaves_no_gap_and_takes_other_settings_along() {
    let port = plugged();
    let mut daemon = start(&port, "");
    armed(&daemon, &port);
    let before = port.board().feeds;
    let mut reloads = 0;
    while port.board().feeds < before + 5 {
        daemon.write_config(&config(
            &port,
            &format!("[service.s{reloads}]\ncheck.x = {{ command = [\"/bin/true\"] }}\n"),
        ));
        assert_eq!(daemon.cli(&["reload"]).status.code(), Some(0));
        reloads += 1;
    }
    daemon.write_config(&config(&port, "").replace("\"4s\"", "\"6s\""));
    assert_eq!(daemon.cli(&["reload"]).status.code(), Some(0));
    wait_for("the settings", || {
        (port.board().machine.settings().timeout.as_millis() == 6_000).then_some(())
    });
    let counters = *port.board().machine.counters();
    assert_eq!((counters.near_misses, counters.early, counters.wrong), (0, 0, 0), "{reloads}");
    assert!(port.board().pulses.is_empty() && ends(&port).is_empty());
    // Without it in the file it is told that nobody will feed it.
    daemon.write_config("");
    assert_eq!(daemon.cli(&["reload"]).status.code(), Some(0));
    wait_for("the end", || (ends(&port) == [End::Stop]).then_some(()));
    assert_eq!(daemon.stop(), Some(0));
}

/// A service that is dead and past its budget, and may have this host reset.
const DOOMED: &str = "[service.uplink]\ncheck.out = { command = [\"/bin/false\"] }\ngiveover = \"board\"\n\
                      policy = { thorough_probe_interval = \"1s\", retry_interval = \"60s\" }\n";

// req 1.30
// req 1.33
#[test]
fn a_service_that_gives_over_to_the_board_has_the_host_reset_within_both_budgets() {
    let port = plugged();
    let mut daemon = start(&port, DOOMED);
    let why = wait_for("a pulse", || port.board().pulses.first().map(|(_, why)| *why));
    assert!(matches!(why, Why::Giveover { service: 0, .. }), "{why:?}");
    let asked = || {
        let resets = |request: &&Request| matches!(request, Request::Reset(_));
        port.board().asked.iter().filter(resets).count()
    };
    // The host that is reset here is a pseudo terminal: the daemon lives, and asks again.
    wait_for("the host's budget to be spent", || {
        daemon.log_text().contains("3 resets in the last hour").then_some(())
    });
    assert!(asked() <= 3, "{} asked", asked());
    assert!(daemon.log_text().contains("the board is asked to reset this host"));
    let uplink = &daemon.status().expect("it answers")["services"][0];
    assert_ne!(uplink["status"], "offline", "its monitor goes on");
    // Charged durably: another daemon finds the budget spent.
    daemon.kill();
    daemon.run();
    armed(&daemon, &port);
    let before = asked();
    wait_for("it to be refused again", || {
        let log = daemon.log_text();
        (log.matches("3 resets in the last hour").count() >= 2).then_some(())
    });
    assert_eq!(asked(), before);
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_board_that_is_absent_pulled_and_plugged_again_is_seen_so() {
    let mut port = plugged();
    let link = tempfile::tempdir().expect("a directory");
    let name = link.path().join("board");
    std::os::unix::fs::symlink(&port.path, &name).expect("a link");
    let text =
        config(&port, "").replace(&port.path.display().to_string(), &name.display().to_string());
    let mut daemon = Daemon::start_in(&text, &[], write_key);
    armed(&daemon, &port);
    port.unplug();
    let state = |daemon: &Daemon| board(daemon)["state"].as_str().unwrap_or("").to_owned();
    wait_for("the loss to be seen", || {
        let state = state(&daemon);
        (state == "port_gone" || state == "port_absent").then_some(())
    });
    assert!(daemon.log_text().contains("NOT ARMED: the port"));
    let status = daemon.cli(&["board", "status", "--exit-code"]);
    assert_eq!(status.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&status.stdout).contains("this host is unguarded"));
    let again = plugged();
    fs::remove_file(&name).expect("gone");
    std::os::unix::fs::symlink(&again.path, &name).expect("a link");
    armed(&daemon, &again);
    assert_eq!(daemon.stop(), Some(0));
    // Another board in its place is not taken for it.
    let other = Port::plug(Standin::new(Some(key()), 1));
    fs::remove_file(&name).expect("gone");
    std::os::unix::fs::symlink(&other.path, &name).expect("a link");
    daemon.run();
    wait_for("the other board to be seen", || (state(&daemon) == "other_board").then_some(()));
    assert_eq!(other.board().feeds, 0);
    let paired = daemon.cli(&["board", "pair"]);
    assert_eq!(paired.status.code(), Some(0), "{paired:?}");
    armed(&daemon, &other);
    assert_eq!(daemon.stop(), Some(0));
}

/// The line was down when the daemon was told to end, or loses what it says of that.
#[test]
fn an_end_is_announced_though_the_line_is_bad() {
    let port = plugged();
    port.board().faults.mute = true;
    let mut daemon = start(&port, "");
    // Each greeting follows later on the one before.
    wait_for("greetings", || (port.board().end.counters().frames >= 3).then_some(()));
    port.board().faults.mute = false;
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(ends(&port), [End::Stop]);
    daemon.run();
    armed(&daemon, &port);
    port.board().faults.deaf = 1;
    assert_eq!(daemon.stop(), Some(0));
    assert_eq!(port.board().state(), State::Waiting);
    assert!(port.board().pulses.is_empty());
}

#[test]
fn each_way_to_be_unguarded_has_its_name() {
    let state = |daemon: &Daemon, wanted: &str| {
        wait_for(wanted, || (board(daemon)["state"] == wanted).then_some(()));
        assert_eq!(board(daemon)["armed"], false);
    };
    let port = Port::plug(Standin::new(Some(Key::new([9; 16])), 7));
    let mut daemon = start(&port, "");
    state(&daemon, "wrong_key");
    let other = Daemon::start_in(&config(&port, ""), &[], write_key);
    state(&other, "port_in_use");
    drop(other);
    fs::set_permissions(daemon.dir.path().join("board.key"), fs::Permissions::from_mode(0o444))
        .expect("a mode");
    daemon.kill();
    daemon.run();
    state(&daemon, "key_unusable");
    assert_eq!(daemon.stop(), Some(0));

    let port = Port::plug(Standin::new(None, 7));
    let mut daemon = Daemon::start(&config(&port, ""));
    state(&daemon, "key_absent");
    let paired = daemon.cli(&["board", "pair"]);
    assert_eq!(paired.status.code(), Some(0), "{paired:?}");
    let mode = fs::metadata(daemon.dir.path().join("board.key")).expect("made").permissions();
    assert_eq!(mode.mode() & 0o7777, 0o400);
    armed(&daemon, &port);
    let test = daemon.cli(&["board", "test"]);
    assert_eq!(test.status.code(), Some(0), "{}", String::from_utf8_lossy(&test.stdout));
    assert_eq!(daemon.stop(), Some(0));

    let text = config(&port, "").replace(&port.path.display().to_string(), "/dev/null");
    let mut daemon = Daemon::start_in(&text, &[], write_key);
    state(&daemon, "port_no_tty");
    assert_eq!(daemon.stop(), Some(0));
}

/// It may have been powered up with its host, or still be starting.
#[test]
fn a_board_that_is_slow_to_answer_is_waited_for_and_no_alarm() {
    let port = plugged();
    port.board().faults.mute = true;
    let mut daemon = start(&port, "");
    wait_for("it to be waited for", || {
        daemon.log_text().contains("waiting for the board").then_some(())
    });
    port.board().faults.mute = false;
    armed(&daemon, &port);
    assert!(!daemon.log_text().contains("NOT ARMED"), "{}", daemon.log_text());
    // One that falls silent later is no matter of patience.
    port.board().faults.mute = true;
    wait_for("the alarm", || daemon.log_text().contains("CRIT NOT ARMED: no answer").then_some(()));
    port.board().faults.mute = false;
    armed(&daemon, &port);
    daemon.kill();
    // And one that never comes is an alarm after all.
    port.board().faults.mute = true;
    daemon.run();
    wait_for("the alarm", || {
        (daemon.log_text().matches("CRIT NOT ARMED: no answer").count() == 2).then_some(())
    });
    assert_eq!(daemon.log_text().matches("waiting for the board").count(), 2);
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_person_disarms_arms_and_reads_the_log() {
    let port = plugged();
    let mut daemon = start(&port, "");
    armed(&daemon, &port);
    let say = |words: &[&str]| {
        let output = daemon.cli(words);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(say(&["board", "disarm", "--for", "16m"]).0, Some(1), "more than is allowed");
    let (exit, text) = say(&["board", "disarm", "--for", "10m"]);
    assert_eq!(exit, Some(0), "{text}");
    assert_eq!(port.board().state(), State::Disarmed);
    wait_for("that to be shown", || (board(&daemon)["state"] == "disarmed").then_some(()));
    assert_eq!(say(&["board", "arm"]).0, Some(0));
    armed(&daemon, &port);
    assert_eq!(say(&["board", "grace", "30m"]).0, Some(0));
    assert_eq!(say(&["board", "confirm"]).0, Some(0));
    wait_for("its log", || say(&["board", "log"]).1.contains("disarmed for 10m").then_some(()));
    assert_eq!(say(&["board", "test", "--reset-this-host", "not-its-name"]).0, Some(2));
    assert_eq!(say(&["board", "end", "suspend"]).0, Some(0));
    assert_eq!(port.board().state(), State::Waiting);
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_board_that_is_required_keeps_the_daemon_from_starting() {
    let port = Port::plug(Standin::new(Some(Key::new([9; 16])), 7));
    let dir = tempfile::tempdir().expect("a directory");
    write_key(dir.path());
    let file = dir.path().join("giveover.toml");
    let text = config(&port, "required = true\n");
    fs::write(&file, text.replace("$DIR", &dir.path().display().to_string())).expect("a file");
    let output = std::process::Command::new(giveover_tests::giveover())
        .args(["run".as_ref(), file.as_os_str()])
        .args(["--state".as_ref(), dir.path().join("state").as_os_str()])
        .args(["--socket".as_ref(), dir.path().join("sock").as_os_str()])
        .env_remove("NOTIFY_SOCKET")
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(17), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("required and not armed: key refused")
    );
}

/// `stop` does not stop, so that under `hard` only a reset is left. No unit of a real systemd can
/// be made so.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 9
case $2 in
start)
    sleep 5555 &
    echo $! > pid
    echo x >> invocations
    ;;
stop) exit 1 ;;
show)
    pid=$(cat pid 2>/dev/null || echo 0)
    printf 'LoadState=loaded\nUnitFileState=enabled\nNRestarts=0\nJob=\n'
    echo "InvocationID=$(wc -l < invocations 2>/dev/null || echo 0)"
    printf 'TimeoutStartUSec=5s\nTimeoutStopUSec=1s\n'
    if [ "$pid" != 0 ] && kill -0 "$pid" 2>/dev/null; then
        printf 'ActiveState=active\nSubState=running\nResult=success\nMainPID=%s\n' "$pid"
    else
        printf 'ActiveState=inactive\nSubState=dead\nResult=success\nMainPID=0\n'
    fi
    echo
    ;;
esac
"#;

#[test]
fn a_stop_that_fails_under_hard_has_the_board_reset_this_host() {
    let port = plugged();
    let more = "[service.web]\nunit = \"web.service\"\n\
                check.up = { command = [\"/bin/sh\", \"-c\", \"test ! -e $DIR/sick\"] }\n\
                policy = { thorough_probe_interval = \"300ms\", probe_timeout = \"2s\", \
                start_grace = \"0s\", failover_mode = \"hard\", stop_timeout = \"1s\" }\n";
    let mut daemon = Daemon::start_in(&config(&port, more), &[], |dir| {
        write_key(dir);
        let bin = dir.join("bin");
        fs::create_dir(&bin).expect("a directory");
        fs::write(bin.join("systemctl"), SYSTEMCTL).expect("a program");
        // Should the board not be asked, this is what would be run in its place.
        fs::write(bin.join("reboot"), "#!/bin/sh\ntouch \"$(dirname \"$0\")/rebooted\"\n")
            .expect("a program");
        for program in ["systemctl", "reboot"] {
            fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755))
                .expect("rights");
        }
    });
    armed(&daemon, &port);
    let _ = daemon.wait_status("web", "ok");
    fs::write(daemon.dir.path().join("sick"), "").expect("a file");
    let why = wait_for("a pulse", || port.board().pulses.first().map(|(_, why)| *why));
    assert!(matches!(why, Why::StopFailed { service: 0, .. }), "{why:?}");
    assert!(daemon.log_text().contains("stop failed under hard, so this node is reset"));
    assert!(!daemon.dir.path().join("bin/rebooted").exists());
    let pid = fs::read_to_string(daemon.dir.path().join("bin/pid")).expect("a process");
    giveover_tests::signal_to(pid.trim().parse().expect("a number"), Signal::KILL);
    assert_eq!(daemon.stop(), Some(0));
}
