//! nftables in a network of the test's own: its map and sets follow a pool's members, and what is
//! forwarded to an excluded one is reset.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::channel;

use giveover_tests::network::Network;
use giveover_tests::server::is_root;
use giveover_tests::{Daemon, PATIENCE, wait_for};
use nix::sched::{CloneFlags, setns};
use serde_json::Value;

fn nft(line: &str) -> String {
    let output = Command::new("/usr/sbin/nft").args(["-j", line]).output().expect("nft");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "nft {line}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn plain_nft(line: &str) {
    let output = Command::new("/usr/sbin/nft").arg(line).output().expect("nft");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "nft {line}: {said}");
}

/// The ports in the elements of a map or set, each as often as it is there.
fn ports(kind: &str, name: &str) -> Vec<u64> {
    let text = nft(&format!("list {kind} ip giveover {name}"));
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let items = all["nftables"].as_array().expect("items");
    let found = items.iter().find(|item| item[kind].is_object()).expect("it");
    let elements = found[kind]["elem"].as_array().cloned().unwrap_or_default();
    let port = |element: &Value| {
        let of = if element.is_array() { &element[1] } else { element };
        of["concat"][1].as_u64().expect("a port")
    };
    let mut ports: Vec<u64> = elements.iter().map(port).collect();
    ports.sort_unstable();
    ports
}

fn wait_ports(kind: &str, name: &str, wanted: &[u64]) {
    wait_for(&format!("{name} to hold {wanted:?}"), || (ports(kind, name) == wanted).then_some(()));
}

/// A server on the router that greets, and then waits for ever.
fn greeter(network: &Network, port: u16) {
    let router = File::open(format!("/proc/{}/ns/net", network.router())).expect("its network");
    let (listening, listens) = channel();
    std::thread::spawn(move || {
        setns(router, CloneFlags::CLONE_NEWNET).expect("on the router");
        let listener = TcpListener::bind(("192.0.2.254", port)).expect("a port");
        listening.send(()).expect("somebody waits");
        let mut kept = Vec::new();
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = writeln!(stream, "{port}");
            kept.push(stream);
        }
    });
    listens.recv().expect("it listens");
}

/// A virtual service whose members are in a map, and the set of those that are in.
fn make_tables() {
    plain_nft("add table ip giveover");
    plain_nft("add map ip giveover web { typeof numgen inc mod 4 : ip daddr . tcp dport ; }");
    plain_nft("add set ip giveover web_in { type ipv4_addr . inet_service ; }");
    plain_nft("add chain ip giveover nat { type nat hook output priority -100 ; }");
    plain_nft(
        "add rule ip giveover nat ip daddr 192.0.2.10 tcp dport 80 dnat ip to numgen inc mod 4 map @web",
    );
}

#[test]
fn a_map_and_sets_follow_the_members_and_the_cut_rejects_what_flows() {
    if !is_root("a network of our own") {
        return;
    }
    let network = Network::new();
    make_tables();
    plain_nft("add set ip giveover web_cut { type ipv4_addr . inet_service ; }");
    plain_nft("add chain ip giveover cut { type filter hook output priority 0 ; }");
    plain_nft("add rule ip giveover cut ip daddr . tcp dport @web_cut reject with tcp reset");
    greeter(&network, 8001);
    greeter(&network, 8002);
    let daemon = Daemon::start(
        "[pool.web]\n\
         check.own = { command = [\"/bin/sh\", \"-c\", \"! test -e $DIR/$MEMBER\"] }\n\
         interval = \"100ms\"\n\
         probe_timeout = \"1s\"\n\
         min_members = 0\n\
         cut = true\n\
         nft = { table = \"ip giveover\", map = \"web\", slots = 4, set = \"web_in\", cut = \"web_cut\" }\n\
         member.a = { address = \"192.0.2.254:8001\", weight = 3 }\n\
         member.b = \"192.0.2.254:8002\"\n",
    );
    wait_ports("map", "web", &[8001, 8001, 8001, 8002]);
    wait_ports("set", "web_in", &[8001, 8002]);
    let mut clients: Vec<(String, TcpStream)> = (0..4).map(|_| greeted()).collect();
    assert_eq!(clients.iter().filter(|(port, _)| port == "8001").count(), 3, "by weight");

    std::fs::write(daemon.dir.path().join("b"), "").expect("a file");
    daemon.wait_member("web", "b", "out");
    wait_ports("map", "web", &[8001; 4]);
    wait_ports("set", "web_in", &[8001]);
    wait_ports("set", "web_cut", &[8002]);
    for (port, stream) in &mut clients {
        if port == "8002" {
            // None of its sockets is here with the member's address: the rule resets what is sent.
            stream.write_all(b"x").expect("it leaves");
            let error = stream.read(&mut [0; 1]).expect_err("cut");
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        } else {
            stream.write_all(b"x").expect("it goes on");
        }
    }
    for _ in 0..8 {
        assert_eq!(greeted().0, "8001", "new ones go to a");
    }

    // None is left: the map is empty, and whatever comes after the rule is asked.
    std::fs::write(daemon.dir.path().join("a"), "").expect("a file");
    wait_ports("map", "web", &[]);
    std::fs::remove_file(daemon.dir.path().join("b")).expect("there");
    wait_ports("map", "web", &[8002; 4]);
    wait_ports("set", "web_cut", &[8001]);

    // What cannot be done is said with nft's own words, and tried again.
    plain_nft("delete chain ip giveover cut");
    plain_nft("delete set ip giveover web_cut");
    std::fs::remove_file(daemon.dir.path().join("a")).expect("there");
    wait_for("the trouble", || {
        let log = daemon.log_text();
        log.lines()
            .any(|line| line.contains("web: nft: exit status 1") && line.contains("No such file"))
            .then_some(())
    });
    plain_nft("add set ip giveover web_cut { type ipv4_addr . inet_service ; }");
    wait_ports("map", "web", &[8001, 8001, 8001, 8002]);
    wait_for("it to be well", || {
        daemon.log_text().contains("web: nft follows again").then_some(())
    });
}

/// What others do to the map and the sets is put right; and when nobody is left the map leads to
/// what is served instead.
#[test]
fn what_others_change_is_put_right_and_the_map_leads_to_the_page() {
    if !is_root("a network of our own") {
        return;
    }
    let network = Network::new();
    make_tables();
    greeter(&network, 8001);
    let daemon = Daemon::start(
        "[pool.web]\n\
         check.own = { command = [\"/bin/sh\", \"-c\", \"! test -e $DIR/$MEMBER\"] }\n\
         interval = \"100ms\"\n\
         probe_timeout = \"1s\"\n\
         nft = { table = \"ip giveover\", map = \"web\", slots = 4, set = \"web_in\" }\n\
         none_left = { redirect = \"http://x.example/\", listen = \"192.0.2.1:8081\" }\n\
         member.a = \"192.0.2.254:8001\"\n",
    );
    wait_ports("map", "web", &[8001; 4]);
    let told = |text: &str| daemon.log_text().contains(text);
    let others = "web: nft: somebody else has changed";
    let change = || {
        plain_nft("flush map ip giveover web");
        plain_nft("add element ip giveover web_in { 192.0.2.9 . 9 }");
        wait_ports("map", "web", &[8001; 4]);
        wait_ports("set", "web_in", &[8001]);
    };
    change();
    let again = "web: nft follows again";
    wait_for("it to be told", || (told(others) || told(again)).then_some(()));
    if !told(others) {
        // What was put in was still being read back: that counts as not held.
        change();
    }
    wait_for("it to be told", || told(others).then_some(()));
    assert_eq!(greeted().0, "8001");
    std::fs::write(daemon.dir.path().join("a"), "").expect("a file");
    wait_ports("map", "web", &[8081; 4]);
    wait_ports("set", "web_in", &[]);
    let mut stream = TcpStream::connect(("192.0.2.10", 80)).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert!(text.starts_with("HTTP/1.1 302 "), "{text}");
}

/// A client of the virtual service, and the port it was greeted by.
fn greeted() -> (String, TcpStream) {
    let mut stream = TcpStream::connect(("192.0.2.10", 80)).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut buffer = [0; 5];
    stream.read_exact(&mut buffer).expect("a greeting");
    (String::from_utf8_lossy(&buffer).trim().to_owned(), stream)
}
