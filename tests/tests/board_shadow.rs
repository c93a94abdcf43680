//! The board's shadows of the host's monitors: with the real daemon, and with the real firmware on
//! this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use giveover_core::board::{State, Why};
use giveover_core::wire::Key;
use giveover_tests::board::{Port, SECRET, Standin, key_text};
use giveover_tests::vm::shadowed::shadowed;
use giveover_tests::vm::twin::Twin;
use giveover_tests::{Daemon, wait_for};
use serde_json::Value;

fn board(daemon: &Daemon) -> Value {
    daemon.status().expect("it answers")["board"].clone()
}

/// A service that is well while there is no file `sick`, with a board that shadows it.
fn start(port: &Port) -> Daemon {
    let text = format!(
        "[board]\nport = \"{}\"\nkey = \"$DIR/board.key\"\ntimeout = \"8s\"\nboot_grace = \"2s\"\n\
         shadow = true\npolicy = {{ retry_count = 3, retry_interval = \"1h\" }}\n\
         [service.uplink]\ngiveover = \"board\"\n\
         start = [\"/bin/sleep\", \"5555\"]\n\
         check.out = {{ command = [\"/bin/sh\", \"-c\", \"test ! -e $DIR/sick\"], exit = {{ 1 = 50 }} }}\n\
         policy = {{ thorough_probe_interval = \"300ms\", probe_timeout = \"5s\", \
         start_grace = \"0s\", retry_count = 2, retry_interval = \"10s\", stop_timeout = \"2s\" }}\n\
         allow = [\"worst-case-too-long\"]\n",
        port.path.display()
    );
    Daemon::start_in(&text, &[], |dir| {
        let path = dir.join("board.key");
        fs::write(&path, key_text()).expect("a key");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("a mode");
    })
}

fn compared(daemon: &Daemon) -> Value {
    wait_for("the shadow to be compared", || {
        let doc = board(daemon);
        let shadow = &doc["shadows"][0];
        (doc["armed"] == true
            && shadow["state"] == "compared"
            && shadow["compared"].as_u64() > Some(3))
        .then_some(doc)
    })
}

// req 0.57
// req 1.13
// req 1.24
#[test]
fn a_daemon_that_decides_rightly_is_believed_through_failures_and_restarts() {
    let port = Port::plug(Standin::new(Some(Key::of_secret(&SECRET)), 7));
    let mut daemon = start(&port);
    let _ = compared(&daemon);
    let screen = daemon.ok(&["board", "status"]);
    assert!(screen.contains("shadow   uplink compared for "), "{screen}");
    // Half a failure, a whole one with a restart, and a death.
    let sick = daemon.dir.path().join("sick");
    fs::write(&sick, "").expect("a file");
    let restarted = daemon.wait_event("uplink", "restart");
    assert!(restarted.is_object());
    fs::remove_file(&sick).expect("gone");
    let service = daemon.wait_status("uplink", "ok");
    let pid = service["pid"].as_u64().expect("a process");
    giveover_tests::signal_to(pid as u32, rustix::process::Signal::KILL);
    wait_for("another process", || {
        let now = daemon.service("uplink");
        (now["pid"].as_u64().is_some_and(|now| now != pid) && now["status"] == "ok").then_some(())
    });
    let before = port.board().compared;
    wait_for("more cycles", || (port.board().compared > before + 6).then_some(()));
    {
        let board = port.board();
        assert_eq!((board.pulses.len(), board.state()), (0, State::Armed));
        assert_eq!(board.machine.report(port.now()).failure_sum, 0, "they never differed");
    }
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_daemon_that_decides_otherwise_than_its_shadow_is_reset() {
    let port = Port::plug(Standin::new(Some(Key::of_secret(&SECRET)), 7));
    let mut daemon = start(&port);
    let _ = compared(&daemon);
    assert!(port.board().pulses.is_empty());
    let before = port.board().compared;
    port.board().faults.bends = true;
    let why = wait_for("a pulse", || port.board().pulses.first().map(|(_, why)| *why));
    assert_eq!(why, Why::Shadow { service: 0 });
    assert!(port.board().compared >= before + 4, "two cycles are half a failure, four are one");
    wait_for("it to be told", || {
        let screen = daemon.ok(&["board", "status"]);
        screen.contains("the shadow of uplink differed").then_some(())
    });
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn firmware_tells_a_difference_that_lasts_from_one_that_does_not() {
    let mut twin = Twin::start();
    shadowed(&mut twin);
    assert_eq!(twin.pulses(), 1);
}
