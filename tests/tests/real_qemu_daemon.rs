//! The real daemon and the image as it is flashed, in QEMU: what a host sees of its board, from the
//! first feed to the line that is held.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use giveover_core::board::Settings;
use giveover_core::wire::{Key, ToBoard};
use giveover_tests::board::{SECRET, key_text};
use giveover_tests::vm::host::Host;
use giveover_tests::vm::wired::Wired;
use giveover_tests::vm::{self, LM3S6965EVB, MICROBIT, RECORD, Step, TICK_MS, Vm};
use giveover_tests::{Daemon, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// What the configuration below says, in milliseconds.
const TIMEOUT: u64 = 8_000;
const BOOT_GRACE: u64 = 10_000;

/// A board that has the key already, on a line.
fn plugged() -> Wired {
    keyed(Vm::start(LM3S6965EVB))
}

fn keyed(mut vm: Vm) -> Wired {
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

/// As an operator sees it: the board's supply fails while it is fed, while it writes down that a
/// pulse is wanted, while the line is held, and while it writes that it was.
#[test]
fn power_cuts_of_the_board_forget_nothing_and_the_daemon_arms_it_again() {
    if !vm::is_here() {
        return;
    }
    let wired = keyed(Vm::start(MICROBIT));
    let mut daemon = started(&wired);
    armed(&daemon);
    wired.board().cut_power();
    let steps =
        [Step::Intent(1), Step::Intent(RECORD), Step::Held, Step::Done(1), Step::Done(RECORD)];
    for step in steps {
        armed(&daemon);
        // The next one keeps its distance, and none shall spend the budget.
        wired.wait(BOOT_GRACE + 1_000);
        armed(&daemon);
        let cleared = daemon.cli(&["board", "clear"]);
        assert_eq!(cleared.status.code(), Some(0), "{}", giveover_tests::text_of(&cleared));
        armed(&daemon);
        freeze(&daemon, &wired);
        let (before, came, after) = {
            let mut inside = wired.board();
            let before = inside.vm.held();
            (before, inside.cut_power_at(step, TIMEOUT + 2 * BOOT_GRACE), inside.vm.held())
        };
        daemon.signal(Signal::CONT);
        println!("cut at {step:?}: the line was held {before} times before, and then {after}");
        assert!(came, "no pulse came to {step:?}");
        // What was cut before its intent was whole was no pulse; each other one was.
        assert_eq!(after - before, usize::from(step.has_pulsed()), "cut at {step:?}");
        // Of all that it tells after its start no pulse is missing.
        wait_for("every pulse to be counted", || {
            (board(&daemon)["resets_ever"].as_u64() >= Some(after as u64)).then_some(())
        });
    }
    armed(&daemon);
    // And none is doubled: a machine so busy that a feed came late may have cost one more of each.
    wait_for("as many resets as pulses", || {
        let held = wired.board().vm.held() as u64;
        (held >= 3 && board(&daemon)["resets_ever"] == held).then_some(())
    });
    assert_eq!(daemon.stop(), Some(0));
}

/// The sheet of a maker: the image as it is flashed, asked by the program that is installed.
#[test]
fn on_the_bench_a_pulse_is_made_measured_and_written_down() {
    if !vm::is_here() {
        return;
    }
    let wired = keyed(Vm::start_wired(LM3S6965EVB));
    let note = {
        let vm = &mut wired.board().vm;
        let note = vm.symbol("giveover_image_note").expect("the linker's hash");
        [16, 20].map(|at| vm.gdb.word(note + at))
    };
    let image = format!("{:08x}{:08x}", note[1], note[0]);
    let dir = tempfile::tempdir().expect("a directory");
    let (key, sheet) = (dir.path().join("board.key"), dir.path().join("sheet.csv"));
    fs::write(&key, key_text()).expect("a key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).expect("a mode");
    let test = |more: &[&str]| {
        let mut command = std::process::Command::new(giveover_tests::giveover());
        command.args(["board", "test", "--port"]).arg(&wired.path).arg("--key").arg(&key);
        command.args(more).output().expect("it runs")
    };
    let said = test(&["--dry"]);
    let text = giveover_tests::text_of(&said);
    assert_eq!(said.status.code(), Some(0), "{text}");
    assert!(text.contains(&format!("image {image}, wire 1")), "{text}");
    assert!(text.contains("reads high"), "{text}");
    assert_eq!(wired.board().vm.held(), 0, "nothing was touched");

    let said = test(&["--pulse", "--record", sheet.to_str().expect("UTF-8")]);
    let text = giveover_tests::text_of(&said);
    println!("{text}");
    assert_eq!(said.status.code(), Some(0), "{text}");
    assert!(text.contains("pulse     ok  the line read low for 2"), "{text}");
    {
        let vm = &wired.board().vm;
        let pulses = vm.pulses();
        let [(from, Some(to))] = pulses[..] else { panic!("{pulses:?}") };
        assert!((to - from).abs_diff(250) <= TICK_MS, "{pulses:?}");
        assert_eq!((vm.held(), vm.lines()), (1, (false, false)));
    }
    let sheet = fs::read_to_string(&sheet).expect("a sheet");
    let line = sheet.lines().nth(1).expect("a line for this board");
    assert!(line.contains("lm3s6965evb,0000-0000-0000-6965,"), "{line}");
    assert!(line.contains(&image) && line.ends_with(",ok"), "{line}");
    // The distance between two pulses is kept on the bench too.
    let said = test(&["--pulse"]);
    assert_eq!(said.status.code(), Some(1));
    assert!(giveover_tests::text_of(&said).contains("too soon after the last pulse"));
    // And nobody is guarded after it: however long it lies there, the line stays as it is.
    wired.board().run_alone(70_000);
    assert_eq!(wired.board().vm.held(), 1);
    // Without the jumper a wrong key does nothing.
    fs::remove_file(&key).expect("gone");
    fs::write(&key, "00".repeat(32)).expect("another key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).expect("a mode");
    let said = test(&["--pulse"]);
    assert_eq!(said.status.code(), Some(1));
    assert!(giveover_tests::text_of(&said).contains("key refused"));
    assert_eq!(wired.board().vm.held(), 1);
}
