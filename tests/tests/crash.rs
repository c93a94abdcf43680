//! Something kills the monitor, or pulls the plug: the next one knows what this one knew.

use std::fs;
use std::path::{Path, PathBuf};

use giveover_tests::{Daemon, is_running, wait_for, with_puppet};
use rustix::process::Signal;

/// A daemon that leaves its service running when it ends.
fn puppet() -> Daemon {
    with_puppet(env!("CARGO_BIN_EXE_puppet"), &["--leave"], "").0
}

fn pid(daemon: &Daemon) -> u32 {
    daemon.service("web")["pid"].as_u64().expect("a pid") as u32
}

/// The journal's directory, one for each configuration file.
fn journal(daemon: &Daemon) -> PathBuf {
    let state = daemon.dir.path().join("state");
    fn find(dir: &Path) -> Option<PathBuf> {
        for entry in fs::read_dir(dir).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                if let Some(found) = find(&path) {
                    return Some(found);
                }
            } else if entry.file_name() == "journal" {
                return Some(path);
            }
        }
        None
    }
    find(&state).expect("a journal")
}

/// Kills the puppet that is left running, whatever the test came to.
struct Left(u32);

impl Drop for Left {
    fn drop(&mut self) {
        if is_running(self.0) {
            giveover_tests::signal_to(self.0, Signal::KILL);
        }
    }
}

/// The number of restarts never falls, and a running service is taken up as it is.
#[test]
fn a_killed_monitor_is_followed_by_one_that_knows_the_history() {
    let mut daemon = puppet();
    daemon.wait_status("web", "ok");
    daemon.mood("exit");
    daemon.wait_event("web", "restarted");
    daemon.mood("ok");
    daemon.wait_status("web", "ok");
    let before = daemon.service("web");
    let service = pid(&daemon);
    let _left = Left(service);
    daemon.kill();
    assert!(is_running(service), "the service runs on");
    daemon.run();
    daemon.wait_status("web", "ok");
    let after = daemon.service("web");
    for key in ["pid", "restarts", "generation", "failure_sum"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(after["started"]["by"], "adopted");
    let words: Vec<String> =
        daemon.events("web").iter().map(|event| event["event"].to_string()).collect();
    for word in ["died", "restart", "restarted", "adopted"] {
        assert!(words.contains(&format!("\"{word}\"")), "{word} in {words:?}");
    }
    assert_eq!(after["restart_records"][0]["cause"], before["restart_records"][0]["cause"]);
}

/// In the middle of a restart: the stop hangs, because its command does, and the monitor is
/// killed meanwhile. The next one ends what was begun, and the restart is counted once.
#[test]
fn a_restart_that_was_cut_short_is_carried_out_once() {
    let stop = "stop = [\"/bin/sleep\", \"1000\"]\n";
    let mut daemon = with_puppet(env!("CARGO_BIN_EXE_puppet"), &[], stop).0;
    daemon.wait_status("web", "ok");
    let frozen = pid(&daemon);
    let _left = Left(frozen);
    giveover_tests::signal_to(frozen, Signal::STOP);
    daemon.wait_event("web", "restart");
    daemon.kill();
    assert!(is_running(frozen), "still being stopped");
    daemon.run();
    daemon.wait_status("web", "ok");
    let service = daemon.service("web");
    assert_eq!(service["restarts"], 1, "{service}");
    assert_ne!(pid(&daemon), frozen);
    assert!(!is_running(frozen), "the old instance is gone");
    let _left = Left(pid(&daemon));
}

/// It died while nobody watched: that is a death like any other.
#[test]
fn a_service_that_died_meanwhile_is_a_failure() {
    let mut daemon = puppet();
    daemon.wait_status("web", "ok");
    let service = pid(&daemon);
    daemon.kill();
    giveover_tests::signal_to(service, Signal::KILL);
    wait_for("its end", || (!is_running(service)).then_some(()));
    daemon.run();
    daemon.wait_status("web", "ok");
    assert_eq!(daemon.service("web")["restarts"], 1);
    let _left = Left(pid(&daemon));
}

/// A hold, its reason and its end survive too.
#[test]
fn a_hold_survives() {
    let mut daemon = puppet();
    daemon.wait_status("web", "ok");
    let _left = Left(pid(&daemon));
    let _ = daemon.ok(&["hold", "web", "--for", "10m", "--reason", "broker upgrade"]);
    let before = daemon.service("web")["held"].clone();
    daemon.kill();
    daemon.run();
    let after = daemon.service("web")["held"].clone();
    for key in ["by", "who", "why"] {
        assert_eq!(after[key], before[key], "{key}: {after}");
    }
    // The instant is the same; its time of day may be shown a few milliseconds apart.
    assert!(after["until"].is_string(), "{after}");
}

/// A torn tail loses no more than what was cut; damage in the middle is set aside and said.
#[test]
fn a_damaged_journal_is_reported_and_never_read_as_healthy() {
    let mut daemon = puppet();
    daemon.wait_status("web", "ok");
    daemon.mood("exit");
    daemon.wait_event("web", "restarted");
    daemon.mood("ok");
    daemon.wait_status("web", "ok");
    let service = pid(&daemon);
    let _left = Left(service);
    daemon.kill();

    let file = journal(&daemon);
    let mut bytes = fs::read(&file).expect("the journal");
    bytes.truncate(bytes.len() - 1);
    fs::write(&file, &bytes).expect("the journal");
    daemon.run();
    assert_eq!(daemon.service("web")["restarts"], 1, "a torn tail forgets no restart");
    daemon.kill();

    let mut bytes = fs::read(&file).expect("the journal");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&file, &bytes).expect("the journal");
    daemon.run();
    let events = daemon.ok(&["events", "-n", "1000", "--json"]);
    assert!(events.contains("journal_damaged"), "{events}");
    let kept: Vec<String> = fs::read_dir(file.parent().expect("a directory"))
        .expect("a directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(kept.iter().any(|name| name.contains("damaged")), "set aside: {kept:?}");
    daemon.wait_status("web", "ok");
    let _left = Left(pid(&daemon));
}

/// What was healthy when a part of its history was lost may not have been at the end of it: until
/// a cycle has shown it, nobody is told that it is.
#[test]
fn after_a_loss_nothing_is_called_healthy_before_its_first_cycle() {
    let mut daemon = Daemon::start(
        "[policy.default]\nthorough_probe_interval = \"200ms\"\nprobe_timeout = \"60s\"\n\
         retry_interval = \"1h\"\n\
         [service.web]\n\
         check.c = { kind = \"command\", argv = [\"/bin/sh\", \"-c\", \
         \"while test -e $DIR/wait; do sleep 0.05; done\"] }\n",
    );
    daemon.wait_status("web", "ok");
    let file = journal(&daemon);
    let length = || fs::metadata(&file).expect("the journal").len();
    let healthy = length();
    wait_for("the next cycles to be written", || (length() > healthy).then_some(()));
    daemon.kill();
    let wait = daemon.dir.path().join("wait");
    fs::write(&wait, "").expect("a file");
    daemon.run();
    assert_eq!(daemon.service("web")["status"], "ok", "nothing was lost");
    daemon.kill();

    let mut bytes = fs::read(&file).expect("the journal");
    bytes[healthy as usize + 8] ^= 0x55; // behind it comes what the second run has written
    fs::write(&file, &bytes).expect("the journal");
    daemon.run();
    let service = daemon.service("web");
    assert_eq!(service["status"], "unknown", "{service}");
    assert_ne!(service["message"], "Service is online");
    assert!(daemon.ok(&["events", "-n", "1000", "--json"]).contains("journal_damaged"));
    fs::remove_file(&wait).expect("removed");
    let service = daemon.wait_status("web", "ok");
    assert_eq!(service["message"], "Service is online");
}

/// An orderly end is no death and no wish: the next daemon starts and watches what this one did,
/// with its history. What a person has stopped stays stopped; whom he left unwatched stays so while
/// it runs.
#[test]
fn after_an_orderly_end_everything_is_watched_again() {
    let text = "[policy.default]\n\
                thorough_probe_interval = \"100ms\"\n\
                probe_timeout = \"2s\"\n\
                restart_delay = [\"0s\"]\n\
                [service.web]\n\
                start = [\"/bin/sleep\", \"4245\"]\n\
                [service.stopped]\n\
                start = [\"/bin/sleep\", \"4245\"]\n\
                [service.alone]\n\
                check.c = { command = [\"/bin/true\"] }\n";
    let mut daemon = Daemon::start(text);
    daemon.wait_status("web", "ok");
    giveover_tests::signal_to(pid(&daemon), Signal::KILL);
    daemon.wait_event("web", "restarted");
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["stop", "stopped"]);
    daemon.wait_status("alone", "ok");
    let _ = daemon.ok(&["monitor", "stop", "alone"]);
    for _ in 0..2 {
        assert_eq!(daemon.stop(), Some(0));
        daemon.run();
        let web = daemon.wait_status("web", "ok");
        assert_eq!((&web["restarts"], &web["failure_sum"]), (&1.into(), &0.into()), "{web}");
        assert_eq!(daemon.service("stopped")["status"], "offline");
        assert_eq!(daemon.service("alone")["waiting_for"], "unmonitored");
    }
    giveover_tests::signal_to(pid(&daemon), Signal::KILL);
    daemon.wait_service("web", "to be restarted again", |web| web["restarts"] == 2);
    let _ = daemon.ok(&["start", "stopped"]);
    daemon.wait_status("stopped", "ok");
    let _ = daemon.ok(&["monitor", "start", "alone"]);
    daemon.wait_status("alone", "ok");
}
