//! `[watch]` and `[notify.NAME]` of a running daemon: who looks sees, who is to be told is told once.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::Duration;

use giveover_tests::{Daemon, free_port, wait_for, with_puppet};
use serde_json::Value;

fn puppet(more: &str) -> Daemon {
    with_puppet(env!("CARGO_BIN_EXE_puppet"), &[], more).0
}

fn get(port: u16, target: &str, more: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connected");
    let request = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).expect("asked");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    answer
}

fn body(answer: &str) -> &str {
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    answer.split_once("\r\n\r\n").expect("a body").1
}

#[test]
fn metrics_status_and_the_page_are_there_to_look_at() {
    let port = free_port();
    let daemon = puppet(&format!("[watch]\nlisten = \"127.0.0.1:{port}\"\n"));
    daemon.wait_status("web", "ok");
    let metrics = get(port, "/metrics", "");
    assert!(metrics.contains("Content-Type: application/openmetrics-text"), "{metrics}");
    let ok = "giveover_service_status{service=\"web\",giveover_service_status=\"ok\"} 1\n";
    assert!(body(&metrics).contains(ok) && metrics.ends_with("# EOF\n"), "{metrics}");
    let status: Value = serde_json::from_str(body(&get(port, "/status.json", ""))).expect("JSON");
    assert_eq!(status["services"][0]["name"], "web");
    let page = get(port, "/", "");
    assert!(page.contains("Content-Security-Policy: default-src 'none'"), "{page}");
    assert!(body(&page).contains(">web</span>") && page.contains("1 service: 1 ok"), "{page}");
    assert!(body(&get(port, "/live.js", "")).contains("EventSource"));
    let refused = get(port, "/command", "");
    assert!(refused.starts_with("HTTP/1.1 404 "), "{refused}");
}

/// Looking is all that can be done; a name that only leads here is not ours.
#[test]
fn nothing_can_be_changed_and_nobody_can_be_sent_here_by_a_name() {
    let port = free_port();
    let daemon = puppet(&format!("[watch]\nlisten = \"127.0.0.1:{port}\"\n"));
    daemon.wait_status("web", "ok");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connected");
    let body = "{\"verb\":\"stop\",\"services\":[\"web\"]}";
    write!(
        stream,
        "POST /command HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("asked");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connected");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").expect("asked");
    answer.clear();
    stream.read_to_string(&mut answer).expect("answered");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(daemon.service("web")["status"], "ok");
}

#[test]
fn who_follows_hears_of_what_happens_and_who_comes_back_misses_nothing() {
    let daemon = puppet("[watch]\nlisten = \"$DIR/web.sock\"\n");
    daemon.wait_status("web", "ok");
    let path = daemon.dir.path().join("web.sock");
    let follow = |more: &str| {
        let mut stream = UnixStream::connect(&path).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
        let request = format!("GET /events?n=0 HTTP/1.1\r\nHost: x\r\n{more}\r\n");
        stream.write_all(request.as_bytes()).expect("asked");
        BufReader::new(stream)
    };
    let until = |reader: &mut BufReader<UnixStream>, wanted: &str| -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(reader.read_line(&mut line).expect("a line") > 0, "waited for {wanted}");
            if let Some(data) = line.strip_prefix("data: ") {
                let event: Value = serde_json::from_str(data).expect("JSON");
                if event["event"] == wanted {
                    return event;
                }
            }
        }
    };
    let mut first = follow("");
    daemon.mood("503");
    let failure = until(&mut first, "failure");
    drop(first);
    daemon.wait_event("web", "restart");
    let after = failure["seq"].as_u64().expect("a number");
    let mut second = follow(&format!("Last-Event-ID: {after}\r\n"));
    let restart = until(&mut second, "restart");
    assert!(restart["seq"].as_u64() > Some(after), "{restart}");
}

/// A hook that writes down what it is told of incidents.
fn with_hook() -> Daemon {
    let hook =
        "printf '%s %s\\\\n' \\\"$$GIVEOVER_EVENT\\\" \\\"$$GIVEOVER_SERVICE\\\" >> $DIR/notices";
    let more = format!(
        "[notify.ops]\ncommand = [\"/bin/sh\", \"-c\", \"{hook}\"]\n\
         on = [\"failure\", \"restart\", \"budget_spent\", \"recovered\"]\n"
    );
    puppet(&more)
}

/// What the hook was told, once it was told of `last`.
fn notices(daemon: &Daemon, last: &str) -> String {
    let notices = daemon.dir.path().join("notices");
    wait_for("the last notice", || {
        let told = fs::read_to_string(&notices).unwrap_or_default();
        told.contains(last).then_some(told)
    })
}

/// One notice per incident, another when it gets worse, and one when it is over.
#[test]
fn a_hook_is_told_once_for_an_incident() {
    let daemon = with_hook();
    daemon.wait_status("web", "ok");
    daemon.mood("503");
    daemon.wait_status("web", "faulted");
    daemon.mood("ok");
    daemon.wait_status("web", "ok");
    assert_eq!(notices(&daemon, "recovered"), "failure web\nbudget_spent web\nrecovered web\n");
}

/// Who was told that something is wrong is told that it is over, also by another daemon.
#[test]
fn an_incident_outlives_the_monitor() {
    let mut daemon = with_hook();
    daemon.wait_status("web", "ok");
    daemon.mood("503");
    daemon.wait_status("web", "faulted");
    notices(&daemon, "budget_spent");
    daemon.kill();
    daemon.mood("ok");
    daemon.run();
    daemon.wait_status("web", "ok");
    assert_eq!(notices(&daemon, "recovered"), "failure web\nbudget_spent web\nrecovered web\n");
    let recovered = daemon.wait_event("web", "recovered");
    let text = recovered["text"].as_str().expect("words");
    assert!(text.contains("(incident 1: ") && !text.contains("0 failures"), "{text}");
}

#[test]
fn a_webhook_gets_the_event_and_is_tried_again() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("its address").port();
    let (posts, posted) = mpsc::channel();
    std::thread::spawn(move || {
        // the first one is refused: it comes again
        for answer in ["HTTP/1.1 503 Busy\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
            let (mut stream, _) = server.accept().expect("a client");
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            while !request.ends_with(b"}") {
                let count = stream.read(&mut piece).expect("a request");
                request.extend_from_slice(&piece[..count]);
            }
            stream.write_all(answer.as_bytes()).expect("written");
            posts.send(String::from_utf8(request).expect("text")).expect("somebody listens");
        }
    });
    let url = format!("http://127.0.0.1:{port}/hook");
    let more = format!("[notify.chat]\nwebhook = \"{url}\"\non = [\"restart\"]\n");
    let daemon = puppet(&more);
    daemon.wait_status("web", "ok");
    daemon.mood("503");
    let first = posted.recv_timeout(Duration::from_secs(30)).expect("a post");
    let second = posted.recv_timeout(Duration::from_secs(30)).expect("another");
    let json = |request: &str| -> Value {
        serde_json::from_str(request.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
    };
    assert!(first.starts_with("POST /hook HTTP/1.1\r\n"), "{first}");
    assert_eq!(json(&first), json(&second));
    assert_eq!(
        (&json(&first)["event"], &json(&first)["service"]),
        (&"restart".into(), &"web".into())
    );
    assert!(json(&first)["node"].is_string());
    let listed = daemon.ok(&["events", "--json"]);
    assert!(!listed.contains("notify_failed"), "{listed}");
}

/// Reload: other hooks, another address, without a restart of anything.
#[test]
fn where_to_look_changes_with_a_reload() {
    let (one, other) = (free_port(), free_port());
    let daemon = puppet(&format!("[watch]\nlisten = \"127.0.0.1:{one}\"\n"));
    daemon.wait_status("web", "ok");
    let text = fs::read_to_string(daemon.config()).expect("its file");
    daemon.write_config(&text.replace(&format!(":{one}"), &format!(":{other}")));
    let said = daemon.ok(&["reload"]);
    assert!(said.contains("watch.listen"), "{said}");
    assert!(body(&get(other, "/metrics", "")).contains("giveover_build_info"));
    assert!(TcpStream::connect(("127.0.0.1", one)).is_err());
}
