//! Apache from Debian's package, asked as the source document's monitor asks it, and the
//! document's messages, each provoked.

use std::fs;

use giveover_tests::faults::{Fault, nobody, serve};
use giveover_tests::probing::row;
use giveover_tests::server::Server;
use giveover_tests::{Daemon, servers, wait_for};
use serde_json::Value;

const PATIENT_MS: u32 = 20_000;

/// req 1.38 1.43 1.45 3.13
#[test]
fn any_reply_to_head_is_healthy_and_a_get_is_judged_by_its_status() {
    let mut apache = Server::start(servers::apache());
    let port = apache.port;
    let head = |host: &str, path: &str| {
        format!("{{ url = \"apache://{host}:{port}{path}\", address = \"127.0.0.1:{port}\" }}")
    };
    let get = |host: &str, path: &str, more: &str| {
        let address = format!("address = \"127.0.0.1:{port}\"");
        format!("{{ url = \"http://{host}:{port}{path}\", {address}{more} }}")
    };
    let (www, broken) = ("www.example.org", "broken.example.org");
    let rows: [(&str, &str, String, u32, &str); 8] = [
        ("apache", "HEAD", head(www, "/"), PATIENT_MS, "healthy"),
        ("apache", "HEAD, 404", head(www, "/none"), PATIENT_MS, "healthy"),
        ("apache", "HEAD, 500", head(broken, "/"), PATIENT_MS, "healthy"),
        ("http", "GET", get(www, "/", ", body = \"ready\""), PATIENT_MS, "healthy"),
        (
            "http",
            "GET, 404",
            get(www, "/none", ""),
            PATIENT_MS,
            "50 answer 404, expected 2xx or 3xx",
        ),
        (
            "http",
            "GET, 500 by name",
            get(broken, "/", ""),
            PATIENT_MS,
            "50 answer 500, expected 2xx or 3xx",
        ),
        (
            "http",
            "slow body",
            get(www, "/slow.html", ", body = \"never\""),
            1500,
            "50 read no answer in 1.5s",
        ),
        ("apache", "HEAD, slow body", head(www, "/slow.html"), PATIENT_MS, "healthy"),
    ];
    for (kind, situation, check, timeout, wanted) in &rows {
        row(kind, "apache2", situation, check, *timeout, wanted);
    }
    apache.freeze();
    row("apache", "apache2", "frozen", &head(www, "/"), 500, "50 read no answer in 0.5s");
    apache.thaw();
    row("apache", "apache2", "thawed", &head(www, "/"), PATIENT_MS, "healthy");
    apache.stop();
    row("apache", "apache2", "stopped", &head(www, "/"), PATIENT_MS, "100 connect refused");
}

/// req 1.42 1.46 1.47 1.53 1.54
#[test]
fn what_a_faulty_web_server_weighs() {
    let reply = b"HTTP/1.1 200 OK\r\n\r\n";
    let url = |fault| format!("{{ url = \"apache://{}\" }}", serve(fault));
    for length in 0..reply.len() {
        let found =
            giveover_tests::probing::probe(&url(Fault::Says(reply[..length].to_vec())), PATIENT_MS);
        assert_eq!(found.verdict, "50 read answer cut short", "{length} bytes: {found:#?}");
    }
    let slow = std::time::Duration::from_secs(1);
    let rows = [
        ("whole", Fault::Says(reply.to_vec()), PATIENT_MS, "healthy"),
        ("garbage", Fault::Says(b"SSH-2.0-x\r\n".to_vec()), PATIENT_MS, "50 answer wrong answer"),
        ("endless", Fault::Endless(b"HTTP/1.1 ".to_vec()), PATIENT_MS, "50 answer wrong answer"),
        ("a byte a second", Fault::Slow(reply.to_vec(), slow), 500, "50 read no answer in 0.5s"),
        ("silent", Fault::Silent, 300, "50 read no answer in 0.3s"),
        ("closed at once", Fault::Says(Vec::new()), PATIENT_MS, "50 read answer cut short"),
        ("reset", Fault::Resets, PATIENT_MS, "50 read connection reset"),
    ];
    for (situation, fault, timeout, wanted) in rows {
        row("apache", "stand-in", situation, &url(fault), timeout, wanted);
    }
    let (_taken, nobody) = nobody();
    let check = format!("{{ url = \"apache://{nobody}\" }}");
    row("apache", "nobody", "refused", &check, PATIENT_MS, "100 connect refused");
}

/// `uris`: each is asked for besides the HEAD; 500 is a whole failure, any other status none.
#[test]
fn uris_are_asked_for_one_by_one() {
    let apache = Server::start(servers::apache());
    let port = apache.port;
    let place = format!(
        "check.server = {{ url = \"apache://HOST:{port}/\", address = \"127.0.0.1:{port}\", \
         uris = [\"/\", \"/none\"] }}"
    );
    let well = service("well", &place.replace("HOST", "www.example.org"));
    let broken = service("broken", &place.replace("HOST", "broken.example.org"));
    let daemon = Daemon::start(&format!("{well}{broken}"));
    daemon.wait_status("well", "ok");
    let service = daemon.service("well");
    let checks = service["checks"].as_array().expect("checks");
    let found: Vec<(&str, &str)> = checks
        .iter()
        .map(|check| {
            let text = |key: &str| check[key].as_str().unwrap_or_default();
            (text("name"), text("cause"))
        })
        .collect();
    assert_eq!(found, [("server", "200"), ("server-1", "200"), ("server-2", "404")]);
    let failure = daemon.wait_event("broken", "failure");
    assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"answer".into()));
    assert_eq!(failure["cause"], "server-1 500, expected anything but 500");
    assert_eq!(daemon.service("broken")["checks"][0]["outcome"], "healthy", "any reply to HEAD");
}

fn service(name: &str, place: &str) -> String {
    format!(
        "[service.{name}]\npreset = \"apache\"\n{place}\n\
         policy = {{ thorough_probe_interval = \"200ms\", probe_timeout = \"1s\", \
         retry_interval = \"60s\", failover_mode = \"log_only\" }}\n\
         allow = [\"watched-only\"]\n"
    )
}

fn pair(ports: &[u16]) -> String {
    format!("network_resources_used = [\"127.0.0.1\"]\nport_list = {ports:?}")
}

fn said(daemon: &Daemon, name: &str, event: &str, wanted: &str) {
    let event = wait_for("the document's message", || {
        let mut events = daemon.events(name).into_iter();
        events.find(|found| found["event"] == event && found["text"] == wanted)
    });
    assert_eq!(event["level"], "error", "{event}");
}

/// Every message of the document's, character for character; two pairs, of which one is not
/// served; and the monitor stays where the document's exits.
///
/// req 1.39 1.40 1.44 1.48 1.51 1.55 1.56
#[test]
fn each_message_is_the_documents() {
    let apache = Server::start(servers::apache());
    let (_taken, nobody) = nobody();
    let silent = serve(Fault::Silent).port();
    let (web, refused) = (apache.port, nobody.port());
    let none = "network_resources_used = []\nport_list = [80]";
    let config = |lost: &str| {
        [
            service("well", &pair(&[web])),
            service("half", &pair(&[web, refused])),
            service("silent", &pair(&[silent])),
            service("lost", lost),
        ]
        .concat()
    };
    let daemon = Daemon::start(&config(none));
    daemon.wait_status("well", "ok");
    let text = format!("Failed to connect to 127.0.0.1 port {refused}");
    said(&daemon, "half", "server_connect_failed", &text);
    let text =
        format!("Failed to communicate with server 127.0.0.1 port {silent}: no answer in 1s");
    said(&daemon, "silent", "communication_failed", &text);
    let text = "No network resources found for resource.";
    said(&daemon, "lost", "no_network_resources", text);
    daemon.wait_service("lost", "to be unmeasured", |service| !service["unmeasured_ms"].is_null());
    let failures = |name: &str| {
        let events = daemon.events(name).into_iter();
        events.filter(|event| event["event"] == "failure").collect::<Vec<Value>>()
    };
    assert!(failures("lost").is_empty(), "cannot measure counts nothing");
    assert!(failures("well").is_empty());
    wait_for("a complete failure", || failures("half").first().cloned());
    assert_eq!(failures("half")[0]["weight"], 100);
    wait_for("half a failure", || failures("silent").first().cloned());
    assert_eq!(failures("silent")[0]["weight"], 50);
    fs::write(daemon.config(), config(&pair(&[web]))).expect("a configuration");
    let _ = daemon.ok(&["reload"]);
    daemon.wait_status("lost", "ok");
    let expands = daemon.ok(&["preset", "apache"]);
    assert!(expands.contains("check.server = { url = \"apache\" }"), "{expands}");
}
