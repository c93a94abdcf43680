//! Command lines and their exit statuses.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use super::testing::{Answer, Daemon, run, run_into_closed_pipe, run_on_terminal, run_words};
use crate::report::model::{Command, Reply};
use crate::report::sample;

/// Answers as a daemon with the services of the interface's screens.
fn daemon() -> Daemon {
    let status = serde_json::to_string(&sample::watched()).expect("JSON");
    let history = serde_json::to_string(&sample::history()).expect("JSON");
    let checks = serde_json::to_string(&sample::web().checks).expect("JSON");
    Daemon::new(move |request| {
        let target = request.split(' ').nth(1).unwrap_or_default();
        if target == "/status.json" {
            Answer::http(200, &status)
        } else if target.starts_with("/history/web") || target.starts_with("/events") {
            Answer::http(200, &history)
        } else if target.starts_with("/probe/web") {
            Answer::http(200, &checks)
        } else if target == "/command" {
            let reply = Reply { exit: 0, lines: vec!["done".into()] };
            Answer::http(200, &serde_json::to_string(&reply).expect("JSON"))
        } else {
            Answer::http(404, "no such service")
        }
    })
}

fn replying(exit: u8, line: &str) -> Daemon {
    let reply = Reply { exit, lines: vec![line.into()] };
    Daemon::always(Answer::http(200, &serde_json::to_string(&reply).expect("JSON")))
}

/// The command that the last request carried.
fn command(daemon: &Daemon) -> Command {
    let request = daemon.requests().pop().expect("a request");
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("a command")
}

#[test]
fn usage_is_2_and_of_a_probe_3() {
    for words in [
        "nonsense",
        "status --no-such",
        "start",
        "start web --all",
        "hold web --for 300",
        "hold web --for 0s",
        "wait web",
        "wait web --for fine",
        "history",
        "notify web exploded",
        "notify web failed 101",
        "notify web failed",
        "notify web ok 1",
        "notify web died 256",
        "run --demo a.toml",
        "monitor",
        "import pgpool",
        "board",
        "help no-such-thing-at-all",
        "status /etc/giveover/giveover.toml",
        "explain http://127.0.0.1/",
    ] {
        let outcome = run(words);
        assert_eq!(outcome.exit, 2, "{words}: {outcome:?}");
        assert!(!outcome.err.is_empty() && outcome.out.is_empty(), "{words}: {outcome:?}");
    }
    for words in [
        "probe",
        "probe --no-such",
        "--socket /nowhere/x.sock probe web --nonsense",
        "probe http://a/ b",
        "probe web --timeout 3s",
        "--socket /nowhere/x.sock probe web",
        "probe ./x.toml",
        "probe tcp://127.0.0.1:1 --timeout 0s",
    ] {
        assert_eq!(run(words).exit, 3, "{words}: {:?}", run(words));
    }
}

#[test]
fn help_and_version_are_0_and_no_verb_is_usage() {
    for words in ["--help", "--version", "help", "help exit", "help status", "help restart"] {
        let outcome = run(words);
        assert_eq!((outcome.exit, outcome.err.as_str()), (0, ""), "{words}");
        assert!(!outcome.out.is_empty(), "{words}");
    }
    let bare = run("");
    assert_eq!(bare.exit, 2);
    assert!(bare.err.contains("Every verb takes --json"), "{bare:?}");
}

#[test]
fn without_a_daemon_it_is_4_and_names_the_socket() {
    for words in ["status", "explain web", "history web", "events", "events -f", "clear web"] {
        let outcome = run(&format!("--socket /nowhere/x.sock {words}"));
        assert_eq!(outcome.exit, 4, "{words}: {outcome:?}");
        assert!(outcome.err.contains("/nowhere/x.sock"), "{outcome:?}");
    }
}

#[test]
fn rights_are_said_to_be_rights() {
    let daemon = Daemon::always(Answer::http(403, "mallory may not command"));
    let outcome = daemon.run("restart web");
    assert_eq!(outcome.exit, 4);
    assert_eq!(outcome.err, "giveover: no rights: mallory may not command\n");
}

#[test]
fn a_service_that_is_not_there_is_5_and_the_nearest_is_named() {
    let daemon = daemon();
    for words in ["status wbe", "explain wbe", "wait wbe --for ok"] {
        let outcome = daemon.run(words);
        assert_eq!(outcome.exit, 5, "{words}");
        assert_eq!(outcome.err, "giveover: no service `wbe`; did you mean `web`?\n");
    }
    assert_eq!(daemon.run("history wbe").exit, 5);
    assert_eq!(daemon.run("notify wbe ok").exit, 5);
    assert_eq!(daemon.run("probe wbe").exit, 3);
}

#[test]
fn garbage_from_the_daemon_is_4() {
    for body in ["", "[]", "{\"schema\":1}", "\u{0}"] {
        let outcome = Daemon::always(Answer::http(200, body)).run("status");
        assert_eq!(outcome.exit, 4, "{body}: {outcome:?}");
    }
    let newer = serde_json::to_value(sample::watched()).map(|mut doc| {
        doc["schema"] = 2.into();
        doc.to_string()
    });
    let outcome = Daemon::always(Answer::http(200, &newer.expect("JSON"))).run("status");
    assert!(outcome.err.contains("speaks schema 2"), "{outcome:?}");
}

#[test]
fn status_is_a_table_for_people_and_lines_for_programs() {
    let daemon = daemon();
    assert_eq!(daemon.run("status").out.lines().count(), 4);
    let one = daemon.run("status web");
    assert!(one.out.starts_with("web   degraded for 14s, since 14:01:02"), "{}", one.out);
    let two = daemon.run("status web mqtt");
    assert_eq!(two.out.lines().count(), 2);
    let socket = daemon.socket();
    let table = run_on_terminal(&format!("status --socket {}", socket.display()));
    assert!(table.out.contains("\nSERVICE    STATUS "), "{}", table.out);
}

#[test]
fn the_exit_code_is_asked_for() {
    let daemon = daemon();
    assert_eq!(daemon.run("status").exit, 0);
    assert_eq!(daemon.run("status --exit-code").exit, 1);
    assert_eq!(daemon.run("status uplink --exit-code").exit, 0);
    assert_eq!(daemon.run("status mqtt --exit-code").exit, 1, "ok, but held");
}

#[test]
fn json_is_one_object_and_stays_one_with_names() {
    let daemon = daemon();
    for (words, count) in
        [("status --json", 4), ("status --json web", 1), ("--json status web mqtt", 2)]
    {
        let outcome = daemon.run(words);
        let doc: serde_json::Value = serde_json::from_str(&outcome.out).expect("one object");
        assert_eq!(doc["services"].as_array().map(Vec::len), Some(count), "{words}");
        assert_eq!(doc["schema"], 1);
    }
    for words in ["history web --json", "events --json"] {
        let text = daemon.run(words).out;
        assert_eq!(text.lines().count(), 5);
        for line in text.lines() {
            assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
        }
    }
    for words in ["explain web --json", "probe web --json", "clear web --json", "help exit --json"]
    {
        let text = daemon.run(words).out;
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{words}: {text}");
    }
}

#[test]
fn explain_takes_times_from_the_history() {
    let text = daemon().run("explain web").out;
    assert!(text.contains("after page 503 at 13:57:32 and 13:58:02."), "{text}");
}

#[test]
fn history_in_a_pipe_is_fields() {
    let text = daemon().run("history web --since 1h").out;
    assert!(text.starts_with("2026-11-29T13:57:32Z\twarning\tweb\tfailure\tpage 503, "), "{text}");
}

#[test]
fn events_ask_for_what_is_wanted() {
    let daemon = daemon();
    daemon.run("events");
    daemon.run("events a/b web -n 3 --since 1h --legacy");
    daemon.run("events --since 30m");
    let targets: Vec<String> = daemon
        .requests()
        .iter()
        .map(|request| request.split(' ').nth(1).unwrap_or_default().into())
        .collect();
    assert_eq!(
        targets,
        [
            "/events?n=100000",
            "/events?n=100000&since_ms=3600000&service=a%2Fb&service=web",
            "/events?n=100000&since_ms=1800000",
        ]
    );
}

#[test]
fn events_hide_the_source_documents_messages_unless_asked() {
    let mut events = sample::history();
    events[0].event = "probing".into();
    let body = serde_json::to_string(&events).expect("JSON");
    let daemon = Daemon::always(Answer::http(200, &body));
    assert_eq!(daemon.run("events").out.lines().count(), 4);
    assert_eq!(daemon.run("events -n 2").out.lines().count(), 2);
    assert_eq!(daemon.run("events --legacy").out.lines().count(), 5);
}

/// The stream breaks once; what had come already does not come twice.
#[test]
fn following_goes_on_after_the_daemon_came_back() {
    let daemon = following(&[&[1], &[1, 2], &[1, 2, 3], &[1, 2, 3]]);
    let outcome = daemon.run("events -f --json");
    assert_eq!(outcome.exit, 4);
    assert_eq!(outcome.out.lines().count(), 3, "{}", outcome.out);
    assert!(outcome.err.starts_with("giveover: the daemon has gone; waiting for it\n"));
    assert!(daemon.requests()[1].contains("&follow=1"));
}

/// After a loss of the journal the numbers begin anew.
#[test]
fn following_a_daemon_with_a_new_journal_goes_on() {
    let outcome = following(&[&[7, 8], &[7, 8, 9], &[1], &[1, 2]]).run("events -f --json");
    assert_eq!(outcome.out.lines().count(), 5, "{}", outcome.out);
}

#[test]
fn watching_in_a_pipe_prints_events() {
    assert!(
        following(&[&[1], &[1, 2]]).run("status --watch").out.contains("\tweb\tfailure\tpage 503")
    );
}

/// A daemon that answers with these events, in turn what has been and a stream; then no more.
fn following(answers: &[&[u64]]) -> Daemon {
    let event = |seq: &u64| {
        let mut event = sample::history().remove(0);
        event.seq = *seq;
        serde_json::to_string(&event).expect("JSON")
    };
    let answers: Vec<Vec<String>> =
        answers.iter().map(|answer| answer.iter().map(event).collect()).collect();
    let count = std::sync::atomic::AtomicUsize::new(0);
    Daemon::new(move |_| {
        let n = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        match answers.get(n) {
            Some(events) if n % 2 == 0 => Answer::http(200, &format!("[{}]", events.join(","))),
            Some(events) => Answer::stream(events),
            None => Answer::http(403, "no more"),
        }
    })
}

#[test]
fn waiting_ends_with_the_status_or_the_time() {
    let daemon = daemon();
    assert_eq!(daemon.run("wait web --for degraded").exit, 0);
    assert_eq!(daemon.run("wait uplink collector --for ok").exit, 0);
    let outcome = daemon.run("wait web uplink --for ok --timeout 300ms");
    assert_eq!(outcome.exit, 1);
    assert!(outcome.err.contains("web is degraded"), "{outcome:?}");
    let outcome = run("--socket /nowhere/x.sock wait web --for ok --timeout 300ms");
    assert_eq!(outcome.exit, 4);
    assert!(outcome.err.contains("waiting for the daemon at /nowhere/x.sock"), "{outcome:?}");
}

#[test]
fn commands_say_what_is_meant() {
    let daemon = daemon();
    let said = |words: &str| {
        let outcome = daemon.run(words);
        assert_eq!((outcome.exit, outcome.out.as_str()), (0, "done\n"), "{words}: {outcome:?}");
        command(&daemon)
    };
    let web = || vec![String::from("web")];
    let plain = |verb: &str| Command { verb: verb.into(), services: web(), ..Command::default() };
    for verb in ["start", "stop", "restart", "release", "clear", "giveover"] {
        assert_eq!(said(&format!("{verb} web")), plain(verb));
    }
    assert_eq!(
        said("give web --to gw-b"),
        Command { to: Some("gw-b".into()), ..plain("giveover") }
    );
    assert_eq!(said("start web --from gw-b").from.as_deref(), Some("gw-b"));
    assert_eq!(said("monitor stop web"), plain("monitor_stop"));
    let all = said("monitor start --all");
    assert!(all.all && all.services.is_empty() && all.verb == "monitor_start");
    assert_eq!(said("stop web db").services, ["web", "db"]);
    assert!(said("reload --dry-run").dry_run);
    assert_eq!(said("debug high").level.as_deref(), Some("high"));
}

#[test]
fn a_hold_ends_unless_it_is_for_ever() {
    let daemon = daemon();
    let held = |words: &str| {
        assert_eq!(daemon.run(words).exit, 0, "{words}");
        command(&daemon)
    };
    assert_eq!(held("hold web").for_ms, Some(3_600_000));
    assert_eq!(held("hold web --for 2d").for_ms, Some(172_800_000));
    assert_eq!(held("hold --all --for ever").for_ms, Some(u64::MAX));
    let socket = daemon.socket().display().to_string();
    run_words(&["--socket", &socket, "hold", "web", "--reason", "broker upgrade"]);
    assert_eq!(command(&daemon).reason.as_deref(), Some("broker upgrade"));
}

#[test]
fn the_daemons_answer_is_the_exit_status() {
    let denied = replying(1, "denied: ping-pong, 3188 s left").run("giveover web");
    assert_eq!((denied.exit, denied.out.as_str()), (1, "denied: ping-pong, 3188 s left\n"));
    let refused = replying(3, "giveover.toml:9:18: error: …").run("reload");
    assert_eq!(refused.exit, 3);
    assert_eq!(
        (refused.out.as_str(), refused.err.as_str()),
        ("", "giveover.toml:9:18: error: …\n")
    );
    assert_eq!(replying(1, "web: retry_count 2 → 3").run("reload --dry-run").exit, 1);
}

#[test]
fn a_probe_ends_as_a_monitoring_plugin() {
    let daemon = daemon();
    let outcome = daemon.run("probe web");
    assert_eq!(outcome.exit, 1);
    assert!(outcome.out.starts_with("page   partial: 503, expected 200 or 204; weight 50"));
    daemon.run("probe web/page");
    let last = daemon.requests().pop().expect("a request");
    assert!(last.starts_with("GET /probe/web/page HTTP/1.1"), "{last}");
}

#[test]
fn a_report_is_one_datagram() {
    let daemon = daemon();
    let path = daemon.socket().with_file_name("notify.sock");
    let outcome = daemon.run("notify web died 1");
    assert_eq!(outcome.exit, 4, "nobody listens: {outcome:?}");
    assert!(outcome.err.contains("notify.sock"));
    let socket = UnixDatagram::bind(path).expect("bound");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    for (words, text) in [
        ("notify web died 1", "web died 1"),
        ("notify web died", "web died"),
        ("notify web failed 40", "web failed 40"),
        ("notify web ready", "web ready"),
        ("notify web ok", "web ok"),
    ] {
        assert_eq!(daemon.run(words).exit, 0, "{words}");
        let mut buffer = [0; 64];
        let count = socket.recv(&mut buffer).expect("a datagram");
        assert_eq!(&buffer[..count], text.as_bytes());
    }
}

#[test]
fn a_service_where_a_file_belongs_is_said_so() {
    let outcome = daemon().run("check web");
    assert_eq!(outcome.exit, 2);
    assert_eq!(
        outcome.err,
        "giveover: `web` is a service, not a file: `giveover probe web` runs its checks\n"
    );
    let outcome = run("status giveover.toml");
    assert_eq!(
        outcome.err,
        "giveover: `giveover.toml` is a file, not a service: `giveover check giveover.toml` reads it\n"
    );
}

#[test]
fn a_closed_pipe_ends_us_quietly() {
    let daemon = daemon();
    for words in
        ["status", "status --json", "history web", "events", "help", "--help", "explain web"]
    {
        let socket = daemon.socket();
        let outcome = run_into_closed_pipe(&format!("--socket {} {words}", socket.display()));
        assert_eq!((outcome.exit, outcome.err.as_str()), (0, ""), "{words}");
    }
}

#[test]
fn later_verbs_are_named_and_mistakes_have_a_nearest() {
    assert_eq!(run("schema").err, "giveover: schema: not in this version\n");
    assert_eq!(run("statsu").err, "giveover: no verb `statsu`; did you mean `status`?\n");
}

#[test]
fn completions_know_verbs_and_ask_for_services() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&format!("completions {shell}")).out;
        assert!(script.contains("--exit-code") || script.contains("exit-code"), "{shell}");
        assert!(script.contains("giveover status 2>/dev/null | cut -f1"), "{shell}");
        assert!(!script.contains("VERBS"), "{shell}");
    }
}

/// The prompt of whoever reads it begins a line.
#[test]
fn what_is_told_ends_its_line() {
    for line in ["check /no/such/file", "simulate /no/such/file"] {
        let refused = replying(0, "").run(line);
        assert!(refused.exit == 3 && refused.err.ends_with("1 error\n"), "{line}: {}", refused.err);
    }
}
