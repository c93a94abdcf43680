//! Hosts below their services: pings in networks of our own making, and the ladder that begins
//! with one.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddrV4, TcpListener};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use giveover_tests::network::{Network, ip};
use giveover_tests::probing::{probe, row};
use giveover_tests::server::is_root;
use giveover_tests::{Daemon, giveover};
use nix::sched::{CloneFlags, setns};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};

const LONG_MS: u32 = 6_000;
const SHORT_MS: u32 = 500;
/// More than a slow machine needs to hear a neighbour.
const ENOUGH_MS: u32 = 5_000;

fn ping(address: &str) -> String {
    format!("{{ url = \"ping://{address}\" }}")
}

#[test]
fn a_host_answers_or_is_known_not_to() {
    // req 3.1 3.4
    if !is_root("a network of our own") {
        return;
    }
    let _network = Network::new();
    for (situation, address, limit, verdict) in [
        ("healthy", "127.0.0.1", ENOUGH_MS, "healthy"),
        ("healthy", "[::1]", ENOUGH_MS, "healthy"),
        ("healthy", "192.0.2.254", ENOUGH_MS, "healthy"),
        ("healthy, IPv6", "[2001:db8::fe]", ENOUGH_MS, "healthy"),
        ("dead neighbour", "192.0.2.77", LONG_MS, "100 connect no route to host"),
        ("dead neighbour, IPv6", "[2001:db8::77]", LONG_MS, "100 connect no route to host"),
        ("dead, too little time", "192.0.2.78", SHORT_MS, "100 silence no reply in 0.5s"),
        ("router: no such host", "198.51.100.1", LONG_MS, "100 connect no route to host"),
        ("router: prohibited", "198.51.100.2", LONG_MS, "100 connect no route to host"),
        ("filtered", "198.51.100.3", SHORT_MS, "100 silence no reply in 0.5s"),
    ] {
        row("ping", "network", situation, &ping(address), limit, verdict);
    }
    let found = probe(&ping("203.0.113.1"), LONG_MS).verdict;
    assert!(found.starts_with("CannotMeasure"), "no way out of here: {found}");
}

/// What a checksum of the Internet's is (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or(0)]);
    let mut sum: u32 = words.map(|pair| u32::from(u16::from_be_bytes(pair))).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// Answers to an echo request, each wrong in another way: cut short at every byte, or another byte of
/// what tells whose it is.
fn wrong_answers(request: &[u8]) -> Vec<Vec<u8>> {
    let mut right = request.to_vec();
    right[0] = 0;
    let sealed = |mut answer: Vec<u8>| {
        if answer.len() >= 4 {
            answer[2..4].fill(0);
            let sum = checksum(&answer).to_be_bytes();
            answer[2..4].copy_from_slice(&sum);
        }
        answer
    };
    let cut = (1..right.len()).map(|length| right[..length].to_vec());
    // Code, identifier, number, token.
    let garbled = [1].into_iter().chain(4..right.len()).map(|place| {
        let mut other = right.clone();
        other[place] ^= 0x55;
        other
    });
    cut.chain(garbled).map(sealed).collect()
}

/// Somebody on the router who answers each echo request wrongly, and rightly from another address,
/// until it is `over`.
fn babbler(network: &Network, over: &Arc<AtomicBool>) -> std::thread::JoinHandle<usize> {
    let path = format!("/proc/{}/ns/net", network.router());
    let (ready, is_ready) = mpsc::channel();
    let over = Arc::clone(over);
    let babbles = std::thread::spawn(move || {
        setns(File::open(path).expect("its network"), CloneFlags::CLONE_NEWNET).expect("entered");
        let raw = || {
            let icmp = Some(rustix::net::ipproto::ICMP);
            rustix::net::socket(AddressFamily::INET, SocketType::RAW, icmp).expect("root may")
        };
        let (ears, other) = (raw(), raw());
        let away = SocketAddrV4::new([192, 0, 2, 253].into(), 0);
        rustix::net::bind(&other, &away).expect("an address of its own");
        let patience = Some(Duration::from_millis(100));
        set_socket_timeout(&ears, Timeout::Recv, patience).expect("a limit");
        ready.send(()).expect("somebody waits");
        let mut answered = 0;
        let mut packet = [0; 1500];
        while !over.load(Ordering::Relaxed) {
            let Ok((length, _, Some(from))) =
                rustix::net::recvfrom(&ears, &mut packet[..], RecvFlags::empty())
            else {
                continue;
            };
            let packet = &packet[..length];
            let message = &packet[usize::from(packet[0] & 15) * 4..];
            if message.first() != Some(&8) {
                continue;
            }
            for answer in wrong_answers(message) {
                // A queue that is full loses one, as networks do.
                let _ = rustix::net::sendto(&ears, &answer, SendFlags::empty(), &from);
            }
            let mut right = message.to_vec();
            (right[0], right[2], right[3]) = (0, 0, 0);
            let sum = checksum(&right).to_be_bytes();
            right[2..4].copy_from_slice(&sum);
            let _ = rustix::net::sendto(&other, &right, SendFlags::empty(), &from);
            answered += 1;
        }
        answered
    });
    is_ready.recv().expect("somebody who answers");
    babbles
}

/// Garbled, cut short, another's, or from elsewhere: none of it is an answer, and beside a right one
/// none of it does harm.
#[test]
fn a_garbled_echo_is_no_answer() {
    // req 3.4
    if !is_root("a network of our own") {
        return;
    }
    let network = Network::new();
    let kernel_answers = |yes: bool| {
        let ignores = u8::from(!yes);
        let line = format!("echo {ignores} > /proc/sys/net/ipv4/icmp_echo_ignore_all");
        assert!(network.inside("sh").args(["-c", &line]).status().expect("sh").success());
    };
    ip(&mut network.inside("ip"), "addr add 192.0.2.253/24 dev v1");
    let there = ping("192.0.2.254");
    row("ping", "network", "healthy", &there, ENOUGH_MS, "healthy");
    kernel_answers(false);
    let over = Arc::new(AtomicBool::new(false));
    let babbles = babbler(&network, &over);
    let silent = "100 silence no reply in 0.5s";
    row("ping", "stand-in", "garbled, cut, another's", &there, SHORT_MS, silent);
    kernel_answers(true);
    row("ping", "stand-in", "the same, then right", &there, ENOUGH_MS, "healthy");
    over.store(true, Ordering::Relaxed);
    assert!(babbles.join().expect("no panic") > 0, "it was asked");
}

/// However many hosts are pinged at once, the kernel hands each message to one socket alone.
#[test]
fn pings_share_one_socket() {
    if !is_root("a network of our own") {
        return;
    }
    let _network = Network::new();
    let sockets = || {
        let raw = std::fs::read_to_string("/proc/thread-self/net/raw").expect("raw sockets");
        raw.lines().count() - 1
    };
    let others = sockets();
    let checks: String = (100..150)
        .map(|host| {
            format!("check.h{host} = {{ url = \"ping://192.0.2.{host}\", observe = true }}\n")
        })
        .take(25)
        .collect();
    let daemon = Daemon::start(&format!(
        "[policy.default]\nthorough_probe_interval = \"200ms\"\nprobe_timeout = \"2s\"\n\
         failover_mode = \"log_only\"\n\
         [service.there]\ncheck.a = \"ping://192.0.2.254\"\ncheck.b = \"ping://127.0.0.1\"\n\
         check.c = \"ping://192.0.2.254\"\nallow = [\"watched-only\"]\n\
         [service.dead]\ncheck.up = \"ping://127.0.0.1\"\n{checks}allow = [\"watched-only\"]\n"
    ));
    daemon.wait_status("there", "ok");
    daemon.wait_service("dead", "to have heard nothing", |service| {
        let checks = service["checks"].as_array().expect("checks");
        checks.iter().filter(|check| check["outcome"] == "complete").count() == 25
    });
    assert_eq!(sockets() - others, 1);
    assert_eq!(daemon.service("there")["status"], "ok", "what others hear is theirs");
}

/// Without the right of raw sockets, but still root; what it says.
fn unprivileged(arguments: &[&str]) -> (Option<i32>, String) {
    let drop = ["--bounding-set=-net_raw", "--inh-caps=-net_raw"];
    let output: Output = Command::new("setpriv")
        .args(drop)
        .arg(giveover())
        .args(arguments)
        .output()
        .expect("setpriv");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn who_has_no_right_to_ping_is_told_so_and_what_would_do() {
    if !is_root("a network of our own") {
        return;
    }
    let _network = Network::new();
    let groups = "/proc/sys/net/ipv4/ping_group_range";
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("giveover.toml");
    std::fs::write(&file, "[service.s]\ncheck.reach = \"ping://192.0.2.254\"\n").expect("a file");
    let file = file.to_str().expect("a path");
    std::fs::write(groups, "1 0").expect("no group may");
    let (status, said) = unprivileged(&["probe", "ping", "192.0.2.254"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("cannot measure: no right to ping: it needs CAP_NET_RAW"), "{said}");
    let (status, said) = unprivileged(&["check", "--here", file]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("check.reach: cannot measure: no right to ping"), "{said}");
    let (status, said) = unprivileged(&["check", file]);
    assert_eq!(status, Some(0), "a fleet's file is checked elsewhere: {said}");
    // The kernel's own socket for pinging, where our group may.
    std::fs::write(groups, "0 0").expect("our group may");
    for address in ["192.0.2.254", "[2001:db8::fe]"] {
        let (status, said) = unprivileged(&["probe", "ping", address]);
        assert_eq!(status, Some(0), "{address}: {said}");
    }
    let dead = ["probe", "ping", "192.0.2.77", "--timeout", "6s"];
    let (status, said) = unprivileged(&dead);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("no route to host"), "{said}");
    let (status, said) = unprivileged(&["check", "--here", file]);
    assert_eq!(status, Some(0), "{said}");
}

/// A web server on the router, until the listener is let go.
fn web_server(network: &Network) -> mpsc::Sender<()> {
    let path = format!("/proc/{}/ns/net", network.router());
    let (ready, is_ready) = mpsc::channel();
    let (hold, held) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        setns(File::open(path).expect("its network"), CloneFlags::CLONE_NEWNET).expect("entered");
        let listener = TcpListener::bind("192.0.2.254:80").expect("a port");
        let serving = listener.try_clone().expect("a copy");
        ready.send(()).expect("somebody waits");
        std::thread::spawn(move || {
            for stream in serving.incoming() {
                let Ok(mut stream) = stream else { return };
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        let _ = held.recv();
        let _ = nix::sys::socket::shutdown(
            std::os::fd::AsRawFd::as_raw_fd(&listener),
            nix::sys::socket::Shutdown::Both,
        );
    });
    is_ready.recv().expect("a server");
    hold
}

/// L4 is asked only where L3 is good, L7 only where both are; what was not asked is not faulty.
#[test]
fn a_rung_that_was_not_tried_says_which_lower_one_failed() {
    // req 3.9 3.12
    if !is_root("a network of our own") {
        return;
    }
    let network = Network::new();
    let server = web_server(&network);
    let daemon = Daemon::start(
        "[policy.default]\n\
         thorough_probe_interval = \"200ms\"\n\
         probe_timeout = \"5s\"\n\
         failover_mode = \"log_only\"\n\
         [service.site]\n\
         address = \"192.0.2.254:80\"\n\
         check.reach = { kind = \"ping\", timeout = \"2s\" }\n\
         check.port  = \"tcp\"\n\
         check.page  = \"http\"\n\
         ladder = [\"reach\", \"port\", \"page\"]\n",
    );
    let outcomes = |service: &serde_json::Value| {
        let checks = service["checks"].as_array().expect("checks").clone();
        checks.iter().map(|check| check["outcome"].as_str().unwrap_or("").to_owned()).collect()
    };
    let wait = |wanted: [&str; 3]| {
        daemon.wait_service("site", &format!("{wanted:?}"), |service| {
            let found: Vec<String> = outcomes(service);
            found == wanted
        })
    };
    wait(["healthy"; 3]);
    drop(server);
    let service = wait(["healthy", "complete", "not_evaluated"]);
    assert_eq!(service["checks"][2]["cause"], "port refused", "{service}");
    assert_eq!(service["checks"][2]["weight"], serde_json::Value::Null, "{service}");
    ip(&mut network.inside("ip"), "addr del 192.0.2.254/24 dev v1");
    let service = wait(["complete", "not_evaluated", "not_evaluated"]);
    for place in [1, 2] {
        let cause = service["checks"][place]["cause"].as_str().expect("a text");
        assert!(cause.starts_with("reach no "), "{service}");
    }
    let screen = daemon.ok(&["status", "site"]);
    assert!(screen.contains("not evaluated: reach no "), "{screen}");
    ip(&mut network.inside("ip"), "addr add 192.0.2.254/24 dev v1");
    wait(["healthy", "complete", "not_evaluated"]);
}
