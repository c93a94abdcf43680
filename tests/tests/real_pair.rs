//! A pair with a witness on hosts of the test's own: the address moves with whoever is active, a
//! client follows, and an auditor never sees both have it.

use std::time::Duration;

use giveover::cluster::address::process::VERB;
use giveover::message::watchdog;
use giveover_tests::pair::{ADDRESS, Pair};
use giveover_tests::server::is_root;
use giveover_tests::{processes_with, signal_to, wait_for};
use rustix::process::Signal;

/// Stopped, killed, frozen, cut off: each time the other one takes over, and never both have it.
// req 2.1 2.2 2.16 2.17 2.18 2.39 2.40 2.41 2.61 2.64 2.66 2.67 2.68
#[test]
fn the_address_moves_and_never_two_have_it() {
    if !is_root("networks of our own") {
        return;
    }
    let mut pair = Pair::new();
    pair.start(2);
    pair.start(0);
    pair.wait_served(0);
    // The kernel answers for the address before its holder has said that it is there.
    for line in [watchdog::STARTED, watchdog::ESCALATED, watchdog::HOLDS_ADDRESS] {
        wait_for(line, || {
            let lines = pair.daemon(0).ok(&["events", "--legacy", "-n", "1000"]);
            lines.contains(line).then_some(())
        });
    }
    pair.start(1);

    let said = pair.stop(0);
    assert!(said.contains(watchdog::ADDRESS_DOWN), "{said}");
    assert!(!pair.lan.has("a", ADDRESS), "stopped in good order it is gone");
    pair.wait_served(1);
    pair.start(0);

    pair.kill(1);
    wait_for("the holder to let go", || (!pair.lan.has("b", ADDRESS)).then_some(()));
    pair.wait_served(0);
    pair.start(1);

    let frozen = pair.daemon(0).pid();
    signal_to(frozen, Signal::STOP);
    pair.wait_served(1);
    assert!(!pair.lan.has("a", ADDRESS), "nobody renewed it");
    signal_to(frozen, Signal::CONT);
    // It finds out that it slept, and takes nothing back.
    wait_for("it to answer again", || pair.daemon(0).status().map(|_| ()));

    pair.lan.cable(2, false);
    pair.wait_served(0);
    assert!(!pair.lan.has("b", ADDRESS), "without answers it has no grant");
    pair.lan.cable(2, true);

    // Its holder alone is frozen: the kernel lets the address go, and another holder is made.
    let daemon = pair.daemon(0).pid();
    let holder = processes_with(VERB).into_iter().find(|pid| parent(*pid) == Some(daemon));
    signal_to(holder.expect("a holder"), Signal::STOP);
    wait_for("the kernel to let it go", || (!pair.lan.has("a", ADDRESS)).then_some(()));
    pair.wait_answered();

    assert_eq!(pair.overlap(), Duration::ZERO, "two have had it");
    assert!(pair.times_held() >= 5, "each time it moved");
}

/// `run = "all"`: both serve, the address has one holder. A holder that its own checks find ill lets
/// go of it, and its service runs on.
// req 2.3 2.6 2.16 2.75
#[test]
fn with_run_all_both_serve_and_the_address_goes_where_the_checks_pass() {
    if !is_root("networks of our own") {
        return;
    }
    let puppet = env!("CARGO_BIN_EXE_puppet");
    let mut pair = Pair::with(&format!(
        "services = [\"web\"]\nrun = \"all\"\ncheck.page = \"http://$NODE:81/\"\n\
         [service.web]\nstart = [\"{puppet}\", \"0.0.0.0:81\", \"$DIR/mood\"]\n\
         check.page = \"http://127.0.0.1:81/\"\n"
    ));
    pair.start(2);
    pair.start(0);
    pair.wait_served(0);
    pair.start(1);
    let pids = [0, 1].map(|place| pair.daemon(place).wait_status("web", "ok")["pid"].clone());
    wait_for("the other's checks of it", || {
        let status = pair.daemon(1).status()?;
        let seen = status["groups"][0]["nodes"][0]["checks"][0]["outcome"].clone();
        (seen == "healthy").then_some(())
    });

    pair.daemon(0).mood("503");
    pair.wait_served(1);
    assert!(!pair.lan.has("a", ADDRESS), "it let go first");
    for (place, pid) in pids.iter().enumerate() {
        assert_eq!(pair.daemon(place).service("web")["pid"], *pid, "nothing was moved");
    }
    wait_for("the other to say why", || {
        pair.daemon(1).log_text().contains("its checks of a fail: page 503").then_some(())
    });
    pair.daemon(0).mood("ok");
    wait_for("it to stand again", || {
        let status = pair.daemon(0).status()?;
        (status["groups"][0]["role"] == "standby").then_some(())
    });
    pair.stop(1);
    pair.wait_served(0);
    assert_eq!(pair.overlap(), Duration::ZERO, "two have had it");
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Section 4.2: a node whose address differs does not start, and both say why.
// req 2.28 2.55
#[test]
fn a_node_with_another_address_is_refused() {
    if !is_root("networks of our own") {
        return;
    }
    let mut pair = Pair::new();
    pair.start(2);
    pair.start(0);
    pair.wait_served(0);
    let (code, log) = pair.start_with_another_address(1);
    assert_eq!(code, Some(13), "{log}");
    assert!(log.contains("the services or addresses of group.front differ"), "{log}");
    assert!(!pair.lan.has("b", "10.0.0.11"), "it took nothing");
    wait_for("the older node to say so", || {
        pair.daemon(0).log_text().contains("differ").then_some(())
    });
}
