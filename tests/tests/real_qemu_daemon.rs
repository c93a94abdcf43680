//! The real daemon and the image as it is flashed, in QEMU: what a host sees of its board, from the
//! first feed to the line that is held.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use giveover_core::board::Settings;
use giveover_core::wire::{Key, ToBoard};
use giveover_tests::board::{SECRET, key_text};
use giveover_tests::vm::host::Host;
use giveover_tests::vm::wired::Wired;
use giveover_tests::vm::{self, LM3S6965EVB, TICK_MS, Vm};
use giveover_tests::{Daemon, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// What the configuration below says, in milliseconds.
const TIMEOUT: u64 = 8_000;
const BOOT_GRACE: u64 = 10_000;

/// A board that has the key already, on a line.
fn plugged() -> Wired {
    let mut vm = Vm::start(LM3S6965EVB);
    let mut host = Host::connect(&mut vm, 1);
    host.say(&mut vm, &ToBoard::Pair(Key::of_secret(&SECRET)));
    host.done(&mut vm);
    Wired::plug(vm)
}

fn started(wired: &Wired) -> Daemon {
    let text = format!(
        "[board]\nport = \"{}\"\nkey = \"$DIR/board.key\"\ntimeout = \"8s\"\n\
         boot_grace = \"10s\"\npolicy = {{ retry_count = 3, retry_interval = \"1h\" }}\n",
        wired.path.display()
    );
    Daemon::start_in(&text, &[], |dir| {
        let path = dir.join("board.key");
        fs::write(&path, key_text()).expect("a key");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("a mode");
    })
}

fn board(daemon: &Daemon) -> Value {
    daemon.status().expect("it answers")["board"].clone()
}

fn armed(daemon: &Daemon) {
    wait_for("the board to be armed", || (board(daemon)["armed"] == true).then_some(()));
}

/// Lets the board be fed once more, and stops the daemon where it stands.
fn freeze(daemon: &Daemon, wired: &Wired) {
    let before = wired.board().feeds;
    wait_for("a feed", || (wired.board().feeds > before).then_some(()));
    daemon.signal(Signal::STOP);
}

#[test]
fn a_host_that_lives_is_left_alone_whatever_its_daemon_is_told() {
    if !vm::is_here() {
        return;
    }
    let wired = plugged();
    let mut daemon = started(&wired);
    armed(&daemon);
    let fed = wired.board().feeds;
    wired.wait(60_000);
    assert!(wired.board().feeds >= fed + 20, "it was fed meanwhile");
    let counters = wait_for("the counters", || {
        Some(board(&daemon)).filter(|doc| doc["feeds"].as_u64() > Some(0))
    });
    assert_eq!(counters["near_misses"], 0, "{counters}");
    // Another configuration, a stop, and a start.
    assert_eq!(daemon.cli(&["reload"]).status.code(), Some(0));
    wired.wait(TIMEOUT);
    assert_eq!(daemon.stop(), Some(0));
    wired.board().run_alone(3 * TIMEOUT + BOOT_GRACE);
    daemon.run();
    armed(&daemon);
    // A reboot that comes to its end.
    assert_eq!(daemon.cli(&["board", "end", "reboot"]).status.code(), Some(0));
    assert_eq!(daemon.stop(), Some(0));
    wired.board().run_alone(BOOT_GRACE / 2);
    daemon.run();
    armed(&daemon);
    // One that is killed and started again in time.
    daemon.kill();
    daemon.run();
    armed(&daemon);
    wired.wait(TIMEOUT);
    let wired = wired.board();
    assert_eq!((wired.vm.pulses(), wired.vm.held()), (vec![], 0), "no edge at all");
    assert_eq!(wired.vm.lines(), (false, false));
}

#[test]
fn a_daemon_that_stands_still_costs_one_pulse_each_time_and_then_the_line_is_held() {
    if !vm::is_here() {
        return;
    }
    let wired = plugged();
    let daemon = started(&wired);
    armed(&daemon);
    for number in 1..=Settings::DEFAULT.retry_count {
        freeze(&daemon, &wired);
        let mut inside = wired.board();
        inside.run_alone(TIMEOUT + 1_000);
        let pulses = inside.vm.pulses();
        assert_eq!((pulses.len(), inside.vm.held()), (usize::from(number), usize::from(number)));
        let (from, to) = pulses[usize::from(number) - 1];
        let width = to.expect("an end") - from;
        assert!(width.abs_diff(250) <= TICK_MS, "{width} ms");
        let (before, after) = inside.fed;
        assert!(from >= before + TIMEOUT, "{from}, fed at {before} to {after}");
        assert!(from <= after + TIMEOUT + 2 * TICK_MS, "{from}, fed at {before} to {after}");
        assert_eq!(inside.vm.lines(), (false, false), "and nothing else");
        drop(inside);
        // The host boots, and its daemon says so.
        daemon.signal(Signal::CONT);
        wait_for("the host to be back", || {
            (board(&daemon)["resets"] == number && board(&daemon)["armed"] == true).then_some(())
        });
        // The distance from one pulse to the next.
        wired.wait(BOOT_GRACE);
    }
    freeze(&daemon, &wired);
    wired.board().run_alone(TIMEOUT + BOOT_GRACE);
    let (pulses, lines) = {
        let inside = wired.board();
        (inside.vm.held(), inside.vm.lines())
    };
    assert_eq!((pulses, lines), (3, (false, true)), "no fourth; the alarm is on");
    // And so it stays, whatever the host does.
    daemon.signal(Signal::CONT);
    let held = wait_for("it to be told", || {
        Some(board(&daemon)).filter(|doc| doc["state"] == "line_held")
    });
    assert_eq!(held["armed"], false, "{held}");
    wired.wait(TIMEOUT);
    let inside = wired.board();
    assert_eq!((inside.vm.held(), inside.vm.lines()), (3, (false, true)));
}
