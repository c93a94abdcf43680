//! Servers whose mode and ports stand in their own configuration, as Sun Cluster's monitors of
//! iPlanet's web server and directory ask them: nginx and slapd stand where those would.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use giveover_tests::faults::{Fault, nobody, serve};
use giveover_tests::server::Server;
use giveover_tests::{Daemon, servers, wait_for};
use serde_json::Value;

fn service(name: &str, preset: &str, place: &str, more: &str) -> String {
    let check = if preset == "iplanet" { "server" } else { "directory" };
    format!(
        "[service.{name}]\npreset = \"{preset}\"\n{place}\n{}\
         policy = {{ thorough_probe_interval = \"150ms\", probe_timeout = \"1s\", \
         retry_interval = \"60s\", failover_mode = \"log_only\" }}\n\
         allow = [\"watched-only\"]\n",
        more.replace("check.", &format!("check.{check}."))
    )
}

const HERE: &str = "network_resources_used = [\"127.0.0.1\"]";

fn at(ports: &[u16]) -> String {
    format!("{HERE}\nport_list = {ports:?}")
}

fn file(path: &Path) -> String {
    format!("check.config_file = \"{}\"\n", path.display())
}

fn put(path: &Path, text: &str) {
    // In one go: nobody reads half of it.
    let next = path.with_extension("next");
    fs::write(&next, text).expect("a configuration");
    fs::rename(next, path).expect("a configuration");
}

fn events(daemon: &Daemon, name: &str, event: &str) -> Vec<Value> {
    daemon.events(name).into_iter().filter(|found| found["event"] == event).collect()
}

fn text(event: &Value) -> String {
    event["text"].as_str().unwrap_or_default().to_owned()
}

/// Waits for a failure with this cause, and returns its weight.
fn failure(daemon: &Daemon, name: &str, cause: &str) -> u64 {
    wait_for(cause, || {
        let found = events(daemon, name, "failure").into_iter();
        found.filter(|it| text(it).contains(cause)).find_map(|it| it["weight"].as_u64())
    })
}

fn requests(server: &Server) -> usize {
    let log = fs::read_to_string(server.dir.path().join("access.log")).unwrap_or_default();
    log.matches("\"HEAD / HTTP/1.0\"").count()
}

fn unmeasured(daemon: &Daemon, name: &str) {
    daemon.wait_service(name, "to be unmeasured", |service| {
        service["checks"][0]["outcome"] == "unmeasured"
    });
}

/// A listener whose queue is full: a connection is neither made nor refused. On loopback one that is
/// held back is enough.
fn full() -> (TcpListener, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    rustix::net::listen(&listener, 0).expect("a short queue");
    let only = TcpStream::connect(listener.local_addr().expect("its address")).expect("one");
    (listener, only)
}

/// req 1.111 1.112 1.113 1.114 1.116 1.117 1.118 1.119 1.120 1.121 1.122 1.123 1.125 1.126
#[test]
fn a_web_server_is_asked_as_its_own_configuration_says() {
    let server = Server::start(servers::nginx());
    let dir = tempfile::tempdir().expect("a directory");
    let magnus = |name: &str| -> PathBuf { dir.path().join(name) };
    let (_taken, nobody) = nobody();
    let (web, refused) = (server.port, nobody.port());
    let silent = serve(Fault::Silent).port();
    let (queue, _only) = full();
    let queue = queue.local_addr().expect("its address").port();
    put(&magnus("web"), &format!("# magnus.conf\nServerID https-x\nPort {web}\nSecurity off\n"));
    put(&magnus("broken"), "Port many\n");
    put(&magnus("secure"), "Security on\n");
    let config = [
        service("web", "iplanet", HERE, &file(&magnus("web"))),
        service("broken", "iplanet", HERE, &file(&magnus("broken"))),
        service("secure", "iplanet", &at(&[silent]), &file(&magnus("secure"))),
        service("shut", "iplanet", &at(&[web, refused]), &file(&magnus("secure"))),
        service("silent", "iplanet", &at(&[silent]), ""),
        service("full", "iplanet", &at(&[queue]), ""),
        service("nowhere", "iplanet", "network_resources_used = []", ""),
    ]
    .concat();
    let daemon = Daemon::start(&config);
    daemon.wait_status("web", "ok");
    wait_for("a HEAD", || (requests(&server) > 2).then_some(()));
    // Secure: connect, disconnect, no more; so one that says nothing is healthy.
    daemon.wait_status("secure", "ok");
    assert_eq!(failure(&daemon, "shut", "refused"), 100);
    let connect = wait_for("the document's message", || {
        events(&daemon, "shut", "server_connect_failed").first().map(text)
    });
    assert_eq!(connect, format!("Failed to connect to 127.0.0.1 port {refused}"));
    assert_eq!(failure(&daemon, "silent", "no answer in 1s"), 50);
    assert_eq!(failure(&daemon, "full", "no connection in 1s"), 100, "out of time to connect");
    let none = wait_for("the document's message", || {
        events(&daemon, "nowhere", "no_network_resources").first().map(text)
    });
    assert_eq!(none, "No network resources found for resource.");
    let unparsed = wait_for("the document's message", || {
        events(&daemon, "broken", "configuration_unparsable").first().cloned()
    });
    assert_eq!(text(&unparsed), "Unable to parse configuration file.");
    assert_eq!(unparsed["level"], "error");
    unmeasured(&daemon, "broken");
    assert!(events(&daemon, "broken", "failure").is_empty());
    // It is read again when it has changed, and the monitor has stayed.
    put(&magnus("broken"), &format!("Port {web}\n"));
    daemon.wait_status("broken", "ok");
    put(&magnus("web"), &format!("Port {refused}\n"));
    assert_eq!(failure(&daemon, "web", "refused"), 100);
    put(&magnus("web"), &format!("Port {web}\nSecurity on\n"));
    daemon.wait_status("web", "ok");
    fs::remove_file(magnus("web")).expect("it was there");
    unmeasured(&daemon, "web");
    put(&magnus("web"), &format!("Port {web}\nSecurity off\n"));
    daemon.wait_service("web", "to be measured", |service| {
        service["checks"][0]["outcome"] == "healthy"
    });
    // What was found there is no change of the configuration.
    let unchanged = daemon.cli(&["reload", "--dry-run"]);
    assert!(unchanged.status.success(), "{}", giveover_tests::text_of(&unchanged));
    let probed = daemon.ok(&["probe", "web"]);
    assert!(probed.contains("healthy"), "{probed}");
    server.freeze();
    assert_eq!(failure(&daemon, "web", "no answer in 1s"), 50);
    server.thaw();
    daemon.wait_status("web", "ok");
}

/// req 1.127 1.128 1.129 1.130 1.131 1.133
#[test]
fn a_directory_is_searched_unless_it_is_secure() {
    let mut server = Server::start(servers::slapd(""));
    let dir = tempfile::tempdir().expect("a directory");
    let conf = dir.path().join("slapd.conf");
    put(&conf, "port 389\nsecurity off\n");
    let locked = dir.path().join("locked.conf");
    put(&locked, "security on\n");
    let (_taken, nobody) = nobody();
    let silent = serve(Fault::Silent).port();
    // An answer that says 52, unavailable.
    let sorry = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x34\x04\x00\x04\x00".to_vec();
    let sorry = serve(Fault::Says(sorry)).port();
    let own = server.dir.path().join("slapd.conf");
    let config = [
        service("real", "directory", &at(&[server.port]), &file(&own)),
        service("secure", "directory", &at(&[silent]), &file(&conf)),
        service("late", "directory", &at(&[server.port, silent]), ""),
        service("sorry", "directory", &at(&[sorry]), ""),
        service("gone", "directory", &at(&[nobody.port()]), ""),
        service("shut", "directory", &at(&[nobody.port()]), &file(&locked)),
    ]
    .concat();
    let daemon = Daemon::start(&config);
    daemon.wait_status("real", "ok");
    assert_eq!(failure(&daemon, "late", "no answer in 1s"), 50, "the time of the set is up");
    assert_eq!(failure(&daemon, "secure", "no answer in 1s"), 50, "not secure yet");
    assert_eq!(failure(&daemon, "sorry", "52 unavailable"), 100);
    assert_eq!(failure(&daemon, "gone", "refused"), 100);
    assert_eq!(failure(&daemon, "shut", "refused"), 100);
    put(&conf, "port 389\nsecurity on\n");
    daemon.wait_status("secure", "ok");
    server.freeze();
    assert_eq!(failure(&daemon, "real", "no answer in 1s"), 50);
    server.thaw();
    daemon.wait_status("real", "ok");
    server.stop();
    assert_eq!(failure(&daemon, "real", "refused"), 100);
}
