//! What holds across services: the action budget and the local-fault rule.

use std::fs;

use giveover_tests::{Daemon, free_port, wait_for};

/// Three services that are processes of ours and whose check is a file that must not be there.
fn three(host: &str, weight: u8) -> Daemon {
    let mut text = format!(
        "[host]\n{host}\n\
         [policy.default]\n\
         thorough_probe_interval = \"300ms\"\n\
         probe_timeout  = \"5s\"\n\
         retry_count    = 5\n\
         retry_interval = \"60s\"\n\
         restart_delay  = [\"0s\"]\n\
         start_grace    = \"0s\"\n"
    );
    for name in ["a", "b", "c"] {
        text += &format!(
            "[service.{name}]\n\
             start = [\"/bin/sleep\", \"1000\"]\n\
             stop = \"KILL\"\n\
             check.file = {{ command = [\"/bin/sh\", \"-c\", \"test ! -e $DIR/bad\"], weight = {weight} }}\n"
        );
    }
    let daemon = Daemon::start(&text);
    for name in ["a", "b", "c"] {
        daemon.wait_status(name, "ok");
    }
    daemon
}

fn spoil(daemon: &Daemon) {
    fs::write(daemon.dir.path().join("bad"), "").expect("a file");
}

fn mend(daemon: &Daemon) {
    fs::remove_file(daemon.dir.path().join("bad")).expect("a file");
}

fn restarts(daemon: &Daemon) -> u64 {
    let count = |name| daemon.service(name)["restarts"].as_u64().expect("a number");
    ["a", "b", "c"].into_iter().map(count).sum()
}

/// R16: past the host's budget nothing is done, however much fails, and a screen says so.
#[test]
fn the_host_spends_no_more_than_its_actions() {
    let daemon = three("actions = { count = 2, per = \"1h\" }", 100);
    spoil(&daemon);
    wait_for("the budget to be spent", || {
        let status = daemon.status()?;
        (status["host"]["actions"]["spent"] == 2).then_some(())
    });
    for name in ["a", "b", "c"] {
        let service = daemon
            .wait_service(name, "to be held", |service| service["held"]["by"] == "host_budget");
        assert!(!service["held"]["until"].is_null(), "{service}");
    }
    let cycles = |daemon: &Daemon| daemon.service("a")["checks"][0]["at"].clone();
    let at = cycles(&daemon);
    wait_for("another cycle", || (cycles(&daemon) != at).then_some(()));
    assert_eq!(restarts(&daemon), 2);
    mend(&daemon);
    daemon.wait_status("a", "ok");
}

/// R16: much fails at once and no trusted server answers. Failed probes count nothing, deaths do.
#[test]
fn much_that_fails_at_once_without_a_trusted_server_is_ourselves() {
    let silent = free_port();
    let daemon = three(&format!("trusted = [\"tcp://127.0.0.1:{silent}\"]"), 50);
    wait_for("the trusted server to be known as silent", || {
        let status = daemon.status()?;
        (status["host"]["trusted"]["answering"] == 0).then_some(())
    });
    spoil(&daemon);
    wait_for("the rule to hold", || {
        let status = daemon.status()?;
        (status["host"]["local_fault"] == true).then_some(())
    });
    for name in ["a", "b", "c"] {
        daemon.wait_service(name, "to be held", |service| service["held"]["by"] == "local_fault");
    }
    assert_eq!(restarts(&daemon), 0);
    let pid = daemon.service("a")["pid"].as_u64().expect("a pid") as u32;
    giveover_tests::signal_to(pid, rustix::process::Signal::KILL);
    daemon.wait_service("a", "to be restarted all the same", |service| service["restarts"] == 1);
    mend(&daemon);
    for name in ["a", "b", "c"] {
        daemon.wait_status(name, "ok");
    }
    wait_for("the rule to end", || {
        let status = daemon.status()?;
        (status["host"]["local_fault"] == false).then_some(())
    });
}

/// A name that does not resolve is told once, whatever its checks are worth.
#[test]
fn a_name_that_does_not_resolve_is_told_once() {
    let daemon = Daemon::start(
        "[policy.default]\nthorough_probe_interval = \"300ms\"\nprobe_timeout = \"2s\"\n\
         [service.web]\ncheck.page = \"http://no-such-name.invalid/\"\n",
    );
    daemon.wait_event("web", "unmeasured"); // three cycles
    let told = || daemon.log_text().matches("name no-such-name.invalid does not resolve").count();
    wait_for("the line", || (told() > 0).then_some(()));
    daemon.wait_service("web", "to go on", |service| {
        service["cycles"].as_str().is_some_and(|cycles| cycles.trim_matches('-').len() >= 8)
    });
    assert_eq!(told(), 1);
}
