//! What people do with a running daemon: ask, hold, restart, stop, give over, reload.

use giveover_tests::{Daemon, free_port, processes_with, text_of, wait_for, with_puppet};

fn puppet(more: &str) -> (Daemon, u16) {
    with_puppet(env!("CARGO_BIN_EXE_puppet"), &[], more)
}

fn starts(daemon: &Daemon) -> usize {
    let text = std::fs::read_to_string(daemon.dir.path().join("starts")).unwrap_or_default();
    text.lines().count()
}

/// Done as an operator would, by the command line.
// req 0.9 1.2 1.13 1.29
#[test]
fn failures_restart_within_the_budget_and_past_it_wait() {
    let (daemon, _) = puppet("");
    daemon.wait_status("web", "ok");
    daemon.mood("503");
    let service = daemon.wait_status("web", "faulted");
    assert_eq!((&service["restarts"], starts(&daemon)), (&2.into(), 3), "{service}");
    assert_eq!(service["held"]["by"], "budget", "{service}");
    assert_eq!(service["message"], "Service has failed");
    let explained = daemon.ok(&["explain", "web"]);
    assert!(explained.contains("web is faulted"), "{explained}");
    daemon.mood("ok");
    daemon.wait_status("web", "ok");
    let recovered = daemon.wait_event("web", "recovered");
    assert!(recovered["text"].as_str().expect("text").contains("2 restarts"), "{recovered}");
}

/// A restart the operator asks for is not charged, and a hold keeps the monitor from acting.
#[test]
fn an_operator_restarts_for_nothing_and_holds() {
    let (daemon, _) = puppet("");
    daemon.wait_status("web", "ok");
    let text = daemon.ok(&["restart", "web"]);
    assert!(text.contains("started"), "{text}");
    assert_eq!(daemon.service("web")["restarts"], 0);
    wait_for("it to be up", || (starts(&daemon) == 2).then_some(()));

    daemon.wait_status("web", "ok");
    let text = daemon.ok(&["hold", "web", "--for", "10m", "--reason", "upgrade"]);
    assert!(text.contains("held by"), "{text}");
    daemon.mood("refuse");
    let service = daemon.wait_status("web", "degraded");
    assert_eq!(service["held"]["by"], "operator");
    assert_eq!(service["held"]["why"], "upgrade");
    assert_eq!((&service["failure_sum"], starts(&daemon)), (&0.into(), 2));
    let _ = daemon.ok(&["release", "web"]);
    wait_for("the restart after the release", || (starts(&daemon) > 2).then_some(()));
}

/// A process that dies while it is held counts at once when it is released.
#[test]
fn a_death_under_a_hold_counts_when_released() {
    let (daemon, _) = puppet("");
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["hold", "web"]);
    daemon.mood("exit");
    daemon.wait_service("web", "to be dead", |service| {
        service["message"] == "Service daemon not running"
    });
    assert_eq!(starts(&daemon), 1, "nothing is done while it is held");
    daemon.mood("ok");
    let _ = daemon.ok(&["release", "web"]);
    daemon.wait_status("web", "ok");
    assert_eq!((&daemon.service("web")["restarts"], starts(&daemon)), (&1.into(), 2));
}

#[test]
fn what_is_stopped_stays_stopped_until_it_is_started() {
    let (daemon, _) = puppet("");
    let pid = daemon.wait_status("web", "ok")["pid"].as_u64().expect("a pid");
    let _ = daemon.ok(&["stop", "web"]);
    assert_eq!(daemon.service("web")["status"], "offline");
    assert!(!giveover_tests::is_running(pid as u32));
    let _ = daemon.ok(&["wait", "web", "--for", "offline", "--timeout", "5s"]);
    let refused = daemon.cli(&["wait", "web", "--for", "ok", "--timeout", "300ms"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text_of(&refused));
    let _ = daemon.ok(&["start", "web"]);
    let _ = daemon.ok(&["wait", "web", "--for", "ok", "--timeout", "20s"]);
}

/// The whole way on one node: question, proven stop, command.
// req 1.30 1.31 1.32
#[test]
fn past_the_budget_it_is_given_over_by_command() {
    let (daemon, _) = puppet(
        "giveover = \"command\"\n\
         [giveover]\n\
         may     = [\"/bin/sh\", \"-c\", \"echo may >> $DIR/said\"]\n\
         command = [\"/bin/sh\", \"-c\", \"pgrep -f $DIR/mood -c > $DIR/left; echo $$GIVEOVER_SERVICE >> $DIR/said\"]\n",
    );
    daemon.wait_status("web", "ok");
    daemon.mood("refuse");
    let service = daemon
        .wait_service("web", "to be given over", |service| service["waiting_for"] == "given_over");
    assert_eq!(service["status"], "offline", "{service}");
    let said = std::fs::read_to_string(daemon.dir.path().join("said")).expect("the command ran");
    assert_eq!(said, "may\nweb\n");
    // pgrep sees the shell that runs it, whose words name the file, and nothing else.
    let left = std::fs::read_to_string(daemon.dir.path().join("left")).expect("a count");
    assert_eq!(left.trim(), "1", "stopped before it was handed over");
    assert_eq!(starts(&daemon), 3);
    daemon.mood("ok");
    let _ = daemon.ok(&["start", "web"]);
    let service = daemon.wait_status("web", "ok");
    assert_eq!(service["restarts"], 0, "a new monitor begins with empty histories");
}

/// req 1.33 1.34 1.35 1.36
#[test]
fn a_denied_giveover_empties_the_histories_and_leaves_it_alone() {
    let (daemon, _) = puppet(
        "giveover = \"command\"\n\
         [giveover]\n\
         may     = [\"/bin/sh\", \"-c\", \"exit 1\"]\n\
         command = [\"/bin/false\"]\n",
    );
    daemon.wait_status("web", "ok");
    daemon.mood("503");
    let denied = daemon.wait_event("web", "denied");
    assert!(denied["text"].as_str().expect("text").contains("giveover.may says no"), "{denied}");
    assert_eq!(denied["restarts"], 2, "as it stood when it was denied");
    daemon.wait_service("web", "to begin afresh", |service| {
        service["restarts"].as_u64().expect("a number") < 2
    });
    let _ = daemon.ok(&["hold", "web", "--for", "1h"]);
    let restarts = daemon.events("web").iter().filter(|event| event["event"] == "restart").count();
    let spent = daemon.status().expect("a status")["host"]["actions"]["spent"].clone();
    assert_eq!(spent, restarts, "what was denied was no action of the host's budget");
}

#[test]
fn a_command_that_fails_starts_it_here_again() {
    let (daemon, _) = puppet(
        "giveover = \"command\"\n\
         [giveover]\n\
         command = [\"/bin/sh\", \"-c\", \"exit 75\"]\n",
    );
    daemon.wait_status("web", "ok");
    let answer = daemon.cli(&["giveover", "web"]);
    assert_eq!(answer.status.code(), Some(1), "{}", text_of(&answer));
    daemon.wait_event("web", "aborted");
    daemon.wait_status("web", "ok");
    assert_eq!(starts(&daemon), 2);
}

/// Killed at its time-out nobody knows whether the other side runs: nothing is started here.
#[test]
fn a_command_that_hangs_leaves_it_to_a_person() {
    let (daemon, _) = puppet(
        "giveover = \"command\"\n\
         [giveover]\n\
         command = [\"/bin/sleep\", \"1000\"]\n\
         timeout = \"300ms\"\n",
    );
    daemon.wait_status("web", "ok");
    let _ = daemon.cli(&["giveover", "web"]);
    let service =
        daemon.wait_service("web", "to be left", |service| service["held"]["by"] == "unproven");
    assert_eq!((&service["status"], starts(&daemon)), (&"faulted".into(), 1), "{service}");
    let _ = daemon.ok(&["release", "web"]);
    daemon.wait_status("web", "ok");
}

#[test]
fn a_reload_keeps_histories_and_a_bad_one_changes_nothing() {
    let (daemon, _) = puppet("");
    daemon.wait_status("web", "ok");
    daemon.mood("exit");
    daemon.wait_event("web", "restarted");
    daemon.mood("ok");
    daemon.wait_status("web", "ok");
    let before = daemon.service("web");
    let file = std::fs::read_to_string(daemon.config()).expect("the configuration");

    std::fs::write(daemon.config(), file.replace("retry_count    = 2", "retry_count = 300s"))
        .expect("a configuration");
    let refused = daemon.cli(&["reload"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text_of(&refused));

    std::fs::write(daemon.config(), file.replace("retry_count    = 2", "retry_count    = 5"))
        .expect("a configuration");
    let dry = daemon.cli(&["reload", "--dry-run"]);
    assert_eq!(dry.status.code(), Some(1), "{}", text_of(&dry));
    assert_eq!(daemon.service("web")["retry_count"], 2);
    let changes = daemon.ok(&["reload"]);
    assert!(changes.contains("retry_count"), "{changes}");
    let after = daemon.service("web");
    assert_eq!((&after["retry_count"], &after["pid"]), (&5.into(), &before["pid"]));
    assert_eq!(after["restarts"], before["restarts"], "the histories stay");
}

#[test]
fn a_service_that_is_needed_and_not_ok_holds_back_the_one_that_needs_it() {
    let other = free_port();
    let puppet_program = env!("CARGO_BIN_EXE_puppet");
    let (daemon, _) = puppet(&format!(
        "needs = [\"db\"]\n\
         [service.db]\n\
         start = [\"{puppet_program}\", \"{other}\", \"$DIR/mood-db\"]\n\
         check.page = \"http://127.0.0.1:{other}/\"\n\
         policy = {{ failover_mode = \"restart_only\", retry_count = 0 }}\n"
    ));
    daemon.wait_status("web", "ok");
    std::fs::write(daemon.dir.path().join("mood-db"), "503").expect("a mood");
    daemon.wait_status("db", "faulted");
    daemon.mood("refuse");
    let service = daemon.wait_status("web", "degraded");
    assert_eq!(service["unmet"][0], "db", "{service}");
    assert_eq!((&service["failure_sum"], starts(&daemon)), (&0.into(), 1));
    std::fs::write(daemon.dir.path().join("mood-db"), "ok").expect("a mood");
    daemon.wait_status("db", "ok");
    wait_for("the restart once the need is met", || (starts(&daemon) > 1).then_some(()));
}

#[test]
fn errors_have_their_exit_statuses() {
    let (mut daemon, _) = puppet("");
    let cases: [(&[&str], i32); 5] = [
        (&["status", "nobody"], 5),
        (&["explain", "nobody"], 5),
        (&["restart", "nobody"], 5),
        (&["hold", "web", "--for", "10"], 2),
        (&["frobnicate"], 2),
    ];
    for (arguments, status) in cases {
        let output = daemon.cli(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?} {}", text_of(&output));
    }
    let second = std::process::Command::new(giveover_tests::giveover())
        .arg("run")
        .arg(daemon.config())
        .arg("--state")
        .arg(daemon.dir.path().join("state"))
        .arg("--socket")
        .arg(daemon.dir.path().join("other.sock"))
        .output()
        .expect("giveover runs");
    assert_eq!(second.status.code(), Some(15), "{}", text_of(&second));
    assert!(text_of(&second).contains(&daemon.pid().to_string()), "{}", text_of(&second));
    assert_eq!(daemon.stop(), Some(0));
    let marker = daemon.dir.path().join("mood").display().to_string();
    assert_eq!(processes_with(&marker), Vec::<u32>::new(), "run ends its own processes");
    let output = daemon.cli(&["status"]);
    assert_eq!(output.status.code(), Some(4), "{}", text_of(&output));
}

/// What a foreign process monitor may say, and how one drills.
// req 1.5 1.6
#[test]
fn reports_from_outside_count_like_probes_and_deaths() {
    let (daemon, _) = puppet("");
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["notify", "web", "failed", "40"]);
    let failure = daemon.wait_event("web", "failure");
    assert_eq!(failure["weight"], 40, "{failure}");
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["notify", "web", "died", "3"]);
    daemon.wait_event("web", "restarted");
    daemon.wait_status("web", "ok");
    assert_eq!((&daemon.service("web")["restarts"], starts(&daemon)), (&1.into(), 2));
    let nobody = daemon.cli(&["notify", "nobody", "ok"]);
    assert_eq!(nobody.status.code(), Some(5), "{}", text_of(&nobody));
}

/// Where nothing has to be asked, nothing answers a report away.
#[test]
fn reports_count_where_there_are_no_checks_and_are_logged_once_where_nothing_is_done() {
    let daemon = Daemon::start(
        "[policy.default]\nrestart_delay = [\"0s\"]\nthorough_probe_interval = \"200ms\"\n\
         [service.web]\nstart = [\"/bin/sleep\", \"1000\"]\nallow = [\"no-checks\"]\n\
         [service.seen]\ncheck.file = { command = [\"/bin/false\"], weight = 100 }\n",
    );
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["notify", "web", "failed", "50"]);
    let _ = daemon.ok(&["notify", "web", "failed", "50"]);
    daemon.wait_event("web", "restart");
    daemon.wait_event("seen", "logged");
    for _ in 0..4 {
        let at = daemon.service("seen")["checks"][0]["at"].clone();
        wait_for("another cycle", || {
            (daemon.service("seen")["checks"][0]["at"] != at).then_some(())
        });
    }
    let events = daemon.events("seen");
    let told = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((told("failure"), told("logged")), (1, 1), "{}", daemon.log_text());
}

/// `probe SERVICE` runs the configured checks once and counts nothing.
#[test]
fn a_probe_by_hand_counts_nothing() {
    let (daemon, port) = puppet("");
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["hold", "web"]);
    daemon.mood("503");
    daemon.wait_status("web", "degraded");
    let probed = daemon.cli(&["probe", "web"]);
    assert_eq!(probed.status.code(), Some(1), "partial: {}", text_of(&probed));
    assert!(text_of(&probed).contains("503"), "{}", text_of(&probed));
    let url = daemon.cli(&["probe", &format!("http://127.0.0.1:{port}/"), "-v"]);
    assert_eq!(url.status.code(), Some(1), "{}", text_of(&url));
    assert_eq!(daemon.service("web")["failure_sum"], 0);
    let unknown = daemon.cli(&["probe", "web/nothing"]);
    assert_eq!(unknown.status.code(), Some(3), "{}", text_of(&unknown));
}
