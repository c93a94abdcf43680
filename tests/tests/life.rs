//! Commands, reloads and ends of the daemon in the middle of something else.

use std::process::{Command, Output, Stdio};

use giveover_tests::{Daemon, giveover, signal_to, text_of, wait_for, with_puppet};
use rustix::process::Signal;

/// A giveover that ends when `$DIR/go` is there, and then says no.
const SLOW_GIVEOVER: &str = "giveover = \"command\"\n\
     [giveover]\n\
     command = [\"/bin/sh\", \"-c\", \"echo run >> $DIR/said; \
     until test -e $DIR/go; do sleep 0.05; done; exit 1\"]\n";

fn puppet(more: &str) -> Daemon {
    with_puppet(env!("CARGO_BIN_EXE_puppet"), &[], more).0
}

fn starts(daemon: &Daemon) -> usize {
    let text = std::fs::read_to_string(daemon.dir.path().join("starts")).unwrap_or_default();
    text.lines().count()
}

/// Asks for a giveover and waits until its command runs; what was answered comes when it is let go.
fn giving_over(daemon: &Daemon) -> impl FnOnce() -> Output + use<> {
    let asked = Command::new(giveover())
        .args(["giveover", "web"])
        .env("GIVEOVER_SOCKET", daemon.socket())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("giveover runs");
    let (said, go) = (daemon.dir.path().join("said"), daemon.dir.path().join("go"));
    wait_for("giveover.command", || said.exists().then_some(()));
    move || {
        std::fs::write(go, "").expect("a file");
        asked.wait_with_output().expect("its answer")
    }
}

fn refused(daemon: &Daemon, arguments: &[&str]) -> String {
    let output = daemon.cli(arguments);
    let text = text_of(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
    text
}

/// The other side may be running already: nobody starts it here as well, and whoever asked for
/// the giveover hears how that ended and not what somebody else was told.
#[test]
fn what_is_being_handed_over_is_left_alone() {
    let daemon = puppet(SLOW_GIVEOVER);
    daemon.wait_status("web", "ok");
    let let_go = giving_over(&daemon);
    for verb in [&["start"][..], &["restart"], &["stop"], &["monitor", "stop"], &["giveover"]] {
        let text = refused(&daemon, &[verb, &["web"]].concat());
        assert!(text.contains("its giveover is under way"), "{verb:?}: {text}");
    }
    let web = daemon.service("web");
    assert_eq!((&web["status"], &web["waiting_for"]), (&"offline".into(), &"handing_over".into()));
    assert_eq!(web["message"], "Service daemon not running", "{web}");
    let text = refused(&daemon, &["reload"]);
    assert!(text.contains("giveover is under way"), "{text}");
    let _ = daemon.ok(&["hold", "web"]);
    let _ = daemon.ok(&["release", "web"]);
    let _ = daemon.ok(&["notify", "web", "died"]);
    daemon.wait_event("web", "died");
    let ok = daemon.events("web").into_iter().find(|event| event["event"] == "recovered");
    assert_eq!(ok, None, "what is dead is not ok again");
    assert_eq!(starts(&daemon), 1);

    let answer = let_go();
    let text = text_of(&answer);
    assert_eq!(answer.status.code(), Some(1), "{text}");
    assert!(text.contains("giveover.command ended with exit status 1"), "{text}");
    wait_for("it to be started here again", || (starts(&daemon) == 2).then_some(()));
}

/// Nobody hears that a signal came at the wrong time, so it is not refused.
#[test]
fn a_reload_by_signal_waits_for_what_is_under_way() {
    let daemon = puppet(SLOW_GIVEOVER);
    daemon.wait_status("web", "ok");
    let let_go = giving_over(&daemon);
    let text = std::fs::read_to_string(daemon.config()).expect("the configuration");
    daemon.write_config(&text.replace("retry_count    = 2", "retry_count    = 5"));
    daemon.signal(Signal::HUP);
    let said = |what: &str| daemon.log_text().contains(what).then_some(());
    wait_for("the signal", || said("the configuration is read when it is done"));
    assert_eq!(daemon.service("web")["retry_count"], 2);
    let _ = let_go();
    wait_for("the reload", || said("configuration reloaded: web: retry_count 2 → 5"));
    assert_eq!(daemon.service("web")["retry_count"], 5);
}

/// There is nobody to say no, and so nothing to forget.
#[test]
fn a_giveover_to_nobody_is_refused_and_forgets_nothing() {
    let daemon = puppet("");
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["notify", "web", "failed", "50"]);
    daemon.wait_service("web", "to have failed", |service| service["failure_sum"] == 50);
    let text = refused(&daemon, &["giveover", "web"]);
    assert!(text.contains("nobody can take it over"), "{text}");
    assert_eq!(daemon.service("web")["failure_sum"], 50);
    assert!(!daemon.log_text().contains("giving over"), "{}", daemon.log_text());
}

/// `stopped for 3 days` is what somebody wants to know who comes after an upgrade at night.
#[test]
fn how_long_it_has_been_so_outlives_the_daemon() {
    let mut daemon = puppet("");
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["stop", "web"]);
    for orderly in [true, false] {
        if orderly {
            assert_eq!(daemon.stop(), Some(0));
        } else {
            daemon.kill();
        }
        daemon.run();
        let status = daemon.status().expect("an answer");
        let (service, host) = (&status["services"][0], &status["host"]);
        assert_eq!(service["status"], "offline", "{service}");
        let older = service["for_ms"].as_u64() > host["up_ms"].as_u64();
        assert!(older, "orderly {orderly}: offline since before the daemon began: {status}");
    }
}

#[test]
fn what_does_not_run_has_no_monitor_to_end_or_begin() {
    let daemon = puppet("");
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["stop", "web"]);
    let text = daemon.ok(&["monitor", "stop", "web"]);
    assert!(text.contains("it does not run here"), "{text}");
    let text = refused(&daemon, &["monitor", "start", "web"]);
    assert!(text.contains("it does not run here"), "{text}");
    // A release would not start it, so the hold is not what it waits for.
    let _ = daemon.ok(&["hold", "web"]);
    let text = daemon.ok(&["status"]);
    assert!(text.contains("stopped, until started"), "{text}");
    let text = daemon.ok(&["explain", "web"]);
    assert!(text.contains("giveover start web. In the way: held by"), "{text}");

    let _ = daemon.ok(&["start", "web"]);
    let text = daemon.ok(&["monitor", "stop", "web"]);
    assert!(text.contains("the service runs on"), "{text}");
    let text = daemon.ok(&["explain", "web"]);
    assert!(text.contains("Its monitor was told to end."), "{text}");
}

/// Who takes a service out of the file must know that it runs on.
#[test]
fn a_reload_says_what_it_leaves_running() {
    let daemon = puppet("");
    let pid = daemon.wait_status("web", "ok")["pid"].as_u64().expect("a pid") as u32;
    daemon.write_config("");
    let output = daemon.cli(&["reload", "--dry-run"]);
    let text = text_of(&output);
    let left = format!("web: pid {pid} is left running and nobody watches it");
    assert!(output.status.code() == Some(1) && text.contains(&left), "{text}");
    let text = daemon.ok(&["reload"]);
    assert!(text.contains("-1 service") && text.contains(&left), "{text}");
    assert!(daemon.log_text().contains(&left), "{}", daemon.log_text());
    assert!(giveover_tests::is_running(pid));
    giveover_tests::signal_to(pid, Signal::KILL);
}

/// Or the two sides would give it to each other for ever.
#[test]
fn a_renamed_service_goes_on() {
    let run = "start = [\"/bin/sh\", \"-c\", \"echo >> $DIR/starts; exec sleep 1000\"]\n";
    let other = "[service.other]\nstart = [\"/bin/sleep\", \"1000\"]\n";
    let daemon = Daemon::start(&format!("[service.web]\n{run}{other}"));
    wait_for("its start", || (starts(&daemon) == 1).then_some(()));
    let pid = daemon.service("web")["pid"].clone();
    daemon.write_config(&format!("{other}[service.page]\n{run}"));
    let text = text_of(&daemon.cli(&["reload", "--dry-run"]));
    assert!(text.contains(&format!("page: goes on with pid {pid} of web")), "{text}");
    assert!(daemon.ok(&["reload"]).contains("page: goes on"));
    let page = daemon.wait_service("page", "to be watched", |page| page["pid"].is_u64());
    assert_eq!((&page["pid"], starts(&daemon)), (&pid, 1));
    // It is that service's in every way: what is not the same is another.
    signal_to(pid.as_u64().expect("a number") as u32, Signal::KILL);
    daemon.wait_event("page", "restarted");
    wait_for("its start", || (starts(&daemon) == 2).then_some(()));
    let pid = daemon.service("page")["pid"].clone();
    daemon.write_config(&format!("{other}[service.site]\n{}", run.replace("1000", "1001")));
    let text = daemon.ok(&["reload"]);
    assert!(text.contains(&format!("page: pid {pid} is left running")), "{text}");
    wait_for("another start", || (starts(&daemon) == 3).then_some(()));
    signal_to(pid.as_u64().expect("a number") as u32, Signal::KILL);
}

#[test]
fn a_reload_keeps_who_gave_it_over() {
    let daemon = puppet(
        "policy = { retry_count = 0 }\n\
         giveover = \"command\"\n\
         [giveover]\n\
         command = [\"/bin/true\"]\n",
    );
    daemon.wait_status("web", "ok");
    let _ = daemon.ok(&["start", "web", "--from", "other"]);
    let text = std::fs::read_to_string(daemon.config()).expect("the configuration");
    daemon.write_config(&text.replace("/bin/true", "/bin/false"));
    let _ = daemon.ok(&["reload"]);
    daemon.mood("refuse");
    let denied = daemon.wait_event("web", "denied");
    assert!(denied["text"].as_str().expect("text").contains("ping-pong"), "{denied}");
}

/// What the start had begun would run on, and nobody would watch it.
#[test]
fn a_start_that_was_cut_short_is_made_by_the_next_daemon() {
    let mut daemon = puppet(
        "[service.slow]\n\
         start = [\"/bin/sh\", \"-c\", \"until test -e $DIR/go; do sleep 0.05; done; \
         sleep 600 & exit 0\"]\n\
         forks = true\n\
         allow = [\"no-checks\"]\n",
    );
    let go = daemon.dir.path().join("go");
    std::fs::write(&go, "").expect("a file");
    daemon.wait_status("slow", "ok");
    let _ = daemon.ok(&["stop", "slow"]);
    std::fs::remove_file(&go).expect("removed");
    let mut asked = Command::new(giveover())
        .args(["start", "slow"])
        .env("GIVEOVER_SOCKET", daemon.socket())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("giveover runs");
    daemon.wait_service("slow", "to be starting", |slow| slow["waiting_for"] == "starting");
    daemon.kill();
    let _ = asked.wait();
    std::fs::write(&go, "").expect("a file");
    daemon.run();
    daemon.wait_status("slow", "ok");
    let _ = daemon.ok(&["stop", "slow"]);
}

/// What was asked for on the command line is in force whatever the file says.
#[test]
fn a_reload_while_observing_tells_no_change_that_is_none() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("its address").port();
    let text = format!(
        "[policy.default]\nthorough_probe_interval = \"200ms\"\n\
         [service.web]\nstart = [\"/bin/sh\", \"-c\", \"echo >> $DIR/starts; exec sleep 1000\"]\n\
         allow = [\"tcp-only\"]\ncheck.port = \"tcp://127.0.0.1:{port}\"\n"
    );
    let daemon = Daemon::start_with(&text, &["--observe"]);
    daemon.wait_status("web", "ok");
    // It is somebody else's: a second one would disturb it, and nobody here may stop it.
    for verb in [&["start", "web"][..], &["stop", "web"], &["restart", "web"]] {
        let text = refused(&daemon, verb);
        assert!(text.contains("observing: nothing is acted on"), "{verb:?}: {text}");
    }
    assert_eq!((starts(&daemon), &daemon.service("web")["pid"]), (0, &serde_json::Value::Null));
    let text = daemon.ok(&["reload", "--dry-run"]);
    assert!(text.contains("nothing would change"), "{text}");
    let text = daemon.ok(&["reload"]);
    assert!(text.contains("nothing has changed"), "{text}");
}

/// Nobody was told how, so nobody says how.
#[test]
fn a_death_that_no_monitor_saw_has_no_made_up_cause() {
    let daemon = puppet("");
    let pid = daemon.wait_status("web", "ok")["pid"].as_u64().expect("a pid") as u32;
    let _ = daemon.ok(&["monitor", "stop", "web"]);
    giveover_tests::signal_to(pid, Signal::KILL);
    daemon.wait_service("web", "to be gone", |web| web["pid"].is_null());
    let _ = daemon.ok(&["monitor", "start", "web"]);
    let died = daemon.wait_event("web", "died");
    assert!(died["text"].as_str().expect("text").contains("nobody knows how"), "{died}");
}

/// Told to stop, the daemon waits for one service that takes its time; another that is down, and
/// whose restart is to come, is not started meanwhile, and no command starts it either.
#[test]
fn an_end_starts_nothing_while_it_waits() {
    let mut daemon = Daemon::start(
        "[policy.default]\nrestart_delay = [\"1s\"]\nstop_timeout = \"60s\"\n\
         [service.slow]\n\
         start = [\"/bin/sh\", \"-c\", \"trap 'touch $DIR/asked' TERM; \
         until test -e $DIR/go; do sleep 0.05; done\"]\n\
         [service.dead]\n\
         start = [\"/bin/sh\", \"-c\", \"echo >> $DIR/starts; exec sleep 1000\"]\n",
    );
    let pid = daemon.wait_service("dead", "to run", |service| service["pid"].is_u64());
    wait_for("its start", || (starts(&daemon) == 1).then_some(()));
    signal_to(pid["pid"].as_u64().expect("a number") as u32, Signal::KILL);
    daemon.wait_event("dead", "restart");
    daemon.signal(Signal::TERM);
    let asked = daemon.dir.path().join("asked");
    wait_for("the slow one to be asked", || asked.exists().then_some(()));
    for verb in [&["start", "dead"][..], &["restart", "dead"], &["reload"]] {
        let text = refused(&daemon, verb);
        assert!(text.contains("this monitor is ending"), "{verb:?}: {text}");
    }
    // Longer than the delay of the restart.
    let until = std::time::Instant::now() + std::time::Duration::from_millis(1500);
    wait_for("the delay to pass", || (std::time::Instant::now() > until).then_some(()));
    std::fs::write(daemon.dir.path().join("go"), "").expect("a file");
    assert_eq!(wait_for("its end", || daemon.ended()).code(), Some(0));
    assert_eq!(starts(&daemon), 1, "{}", daemon.log_text());
}

/// A line an edge: what goes on failing past its budget says so once.
#[test]
fn a_spent_budget_is_told_once() {
    let daemon = puppet("policy = { failover_mode = \"restart_only\", retry_count = 0 }\n");
    daemon.wait_status("web", "ok");
    daemon.mood("503");
    daemon.wait_event("web", "budget_spent");
    let cycles = || {
        let at = daemon.service("web")["checks"][0]["at"].clone();
        wait_for("another cycle", || {
            (daemon.service("web")["checks"][0]["at"] != at).then_some(())
        });
    };
    (0..4).for_each(|_| cycles());
    daemon.mood("404");
    wait_for("another cause", || {
        let causes = daemon.events("web");
        causes.last()?["text"].as_str()?.contains("404").then_some(())
    });
    let events = daemon.events("web");
    let told = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    // Two make a failure; the third is another than those.
    let counts = (told("failure"), told("budget_spent"));
    assert_eq!(counts, (3, 1), "{}", daemon.log_text());
}
