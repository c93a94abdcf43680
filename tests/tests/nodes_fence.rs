//! A node fences its peer by its own board: the real daemons, the board's real machine on a terminal
//! line, and the image as it is flashed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use giveover_core::board::Request;
use giveover_core::wire::{Key, ToBoard};
use giveover_tests::board::{Port, SECRET, Standin, key_text};
use giveover_tests::nodes::{NAMES, Shared, active_of, never_twice, role, wait_for};
use giveover_tests::vm::host::Host;
use giveover_tests::vm::wired::Wired;
use giveover_tests::vm::{self, LM3S6965EVB, Vm};
use giveover_tests::{Daemon, signal_to};
use rustix::process::Signal;

fn shared() -> Shared {
    let shared = Shared::new(2, "quorum = \"fence\"\nfence = \"board\"");
    let path = shared.path("board.key");
    fs::write(&path, key_text()).expect("a key");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("a mode");
    shared
}

/// Starts a node with the board at `port`.
fn start(shared: &Shared, me: usize, port: &Path) -> Daemon {
    let board = format!(
        "[board]\nport = \"{}\"\nkey = \"{}\"\ntimeout = \"60s\"\ngiveover = \"none\"\n\
         [service.web]",
        port.display(),
        shared.path("board.key").display()
    );
    shared.start_as(me, &shared.text(me).replacen("[service.web]", &board, 1))
}

fn plugged() -> Port {
    Port::plug(Standin::new(Some(Key::of_secret(&SECRET)), 0x6614_04D3))
}

/// Two nodes with a board each, one active and the other its standby.
struct Pair {
    all: Vec<Daemon>,
    ports: [Port; 2],
    _shared: Shared,
    first: usize,
    other: usize,
}

fn settled() -> Pair {
    let shared = shared();
    let ports = [plugged(), plugged()];
    let all: Vec<Daemon> = (0..2).map(|me| start(&shared, me, &ports[me].path)).collect();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    wait_for("the other to join", || (role(&all[other]) == "standby").then_some(()));
    Pair { all, ports, _shared: shared, first, other }
}

fn fences(port: &Port) -> usize {
    port.board().asked.iter().filter(|request| **request == Request::Fence).count()
}

/// The board's line is on, acknowledged by its frame: only then the standby takes over. The peer had
/// only been silent: what the line is wired to ends it.
#[test]
fn a_silent_active_is_fenced_by_the_board_before_anybody_takes_its_place() {
    let Pair { mut all, ports, _shared, first, other } = settled();
    let service = all[first].service("web")["pid"].as_u64().expect("a pid") as u32;
    ports[other].board().faults.mute = true;
    all[first].signal(Signal::STOP);
    let log = |daemon: &Daemon, text: &str| daemon.log_text().contains(text).then_some(());
    wait_for("a fence that nobody acknowledges", || log(&all[other], "was not acknowledged"));
    assert_eq!(role(&all[other]), "standby", "silence is no acknowledgement");
    ports[other].board().faults.mute = false;

    wait_for("the line to be on", || ports[other].board().second.then_some(()));
    // What the line is wired to.
    all[first].kill();
    signal_to(service, Signal::KILL);
    wait_for("it to be acknowledged", || log(&all[other], "as the board acknowledges"));
    wait_for("the other to take over", || (role(&all[other]) == "active").then_some(()));
    assert!(fences(&ports[other]) > 0 && fences(&ports[first]) == 0);
    assert!(ports[other].board().pulses.is_empty(), "its own host is left alone");
    wait_for("the peer to be let go", || (!ports[other].board().second).then_some(()));
    all[first].run();
    wait_for("it to join again", || (role(&all[first]) == "standby").then_some(()));
    assert_eq!(active_of(&[&all[0], &all[1]]), other);
    never_twice(&[&all[other]]);
}

/// A board that is not there, or whose second line is this host's own, fences nobody.
#[test]
fn without_its_board_a_standby_stays_one() {
    let Pair { mut all, ports, _shared, first, other } = settled();
    let [mut one, mut two] = ports;
    if other == 0 {
        one.unplug()
    } else {
        two.unplug()
    }
    all[first].kill();
    let failed = format!("fence of {}: ", NAMES[first]);
    wait_for("the fence to fail", || all[other].log_text().contains(&failed).then_some(()));
    assert_eq!(role(&all[other]), "standby");
    let said = all[other].ok(&["node", "switch", "--force"]);
    assert!(said.contains("active here by force"), "{said}");
    wait_for("a person's vote", || (role(&all[other]) == "active").then_some(()));
}

/// The same with the image as it is flashed: its second line goes on, and off again.
#[test]
fn the_image_of_a_board_fences_the_peer() {
    if !vm::is_here() {
        return;
    }
    let shared = shared();
    let mut vm = Vm::start(LM3S6965EVB);
    let mut host = Host::connect(&mut vm, 1);
    host.say(&mut vm, &ToBoard::Pair(Key::of_secret(&SECRET)));
    host.done(&mut vm);
    let wired = Wired::plug(vm);
    let port = plugged();
    // The first of the file is the active: it begins alone, and a person says so.
    let mut first = start(&shared, 0, &port.path);
    let other = start(&shared, 1, &wired.path);
    wait_for("one of them", || {
        let roles = [role(&first), role(&other)];
        roles.contains(&"active".to_owned()).then_some(())
    });
    if role(&other) == "active" {
        wait_for("the first to join", || (role(&first) == "standby").then_some(()));
        wait_for("it to be allowed", || {
            let out = other.cli(&["node", "switch"]);
            (out.status.code() == Some(0)).then_some(())
        });
    }
    wait_for("the first to be active", || {
        (role(&first) == "active" && role(&other) == "standby").then_some(())
    });
    first.kill();
    wait_for("the line to be on", || wired.board().vm.lines().1.then_some(()));
    wait_for("the other to take over", || (role(&other) == "active").then_some(()));
    wait_for("the line to be off", || (!wired.board().vm.lines().1).then_some(()));
    assert!(wired.board().vm.pulses().is_empty(), "its own host is left alone");
}
