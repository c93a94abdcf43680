//! Networks of our own making, in which hosts are dead, filtered or said to be unreachable. What a
//! datagram that needs no answer hears there is the difference between health and a guess.

use std::process::{Child, Command, Stdio};

use giveover_tests::probing::row;
use giveover_tests::server::is_root;
use giveover_tests::wait_for;
use nix::sched::{CloneFlags, unshare};

/// Our thread's own network, joined to a router's. What the thread starts is in it too.
struct Network {
    router: Child,
}

impl Network {
    fn new() -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network of our own");
        let router = Command::new("unshare")
            .args(["--net", "sleep", "1000"])
            .stdin(Stdio::null())
            .spawn()
            .expect("a router");
        let network = Self { router };
        let own = std::fs::read_link("/proc/thread-self/ns/net").expect("our network");
        let pid = network.router.id();
        wait_for("the router's network", || {
            let theirs = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
            (theirs != own).then_some(())
        });
        for line in [
            "link set lo up",
            "link add v0 type veth peer name v1",
            "addr add 192.0.2.1/24 dev v0",
            "link set v0 up",
            &format!("link set v1 netns {pid}"),
        ] {
            ip(&mut Command::new("ip"), line);
        }
        for line in [
            "addr add 192.0.2.254/24 dev v1",
            "link set v1 up",
            "route add unreachable 198.51.100.1",
            "route add prohibit 198.51.100.2",
            "route add blackhole 198.51.100.3",
        ] {
            ip(&mut network.inside("ip"), line);
        }
        let on = "echo 1 > /proc/sys/net/ipv4/ip_forward";
        assert!(network.inside("sh").args(["-c", on]).status().expect("sh").success());
        ip(&mut Command::new("ip"), "route add 198.51.100.0/24 via 192.0.2.254");
        ip(&mut Command::new("ip"), "route add unreachable 203.0.113.1");
        network
    }

    /// A program on the router.
    fn inside(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.router.id().to_string(), "-n", program]);
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.router.kill();
        let _ = self.router.wait();
    }
}

fn ip(command: &mut Command, line: &str) {
    let output = command.args(line.split(' ')).output().expect("ip");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {line}: {said}");
}

/// Longer than ARP tries.
const LONG_MS: u32 = 6_000;
const SHORT_MS: u32 = 500;

#[test]
fn who_cannot_be_reached_is_not_taken_for_silent() {
    // req 3.8
    if !is_root("a network of our own") {
        return;
    }
    let _network = Network::new();
    let udp = |address: &str| format!("{{ url = \"udp://{address}:9\" }}");
    let dns = |address: &str| format!("{{ url = \"dns://{address}\" }}");
    for (situation, address, limit, verdict) in [
        ("closed port", "192.0.2.254", LONG_MS, "100 connect refused"),
        ("dead neighbour", "192.0.2.77", LONG_MS, "100 connect no route to host"),
        ("dead, too little time", "192.0.2.78", SHORT_MS, "healthy"),
        ("router: no such host", "198.51.100.1", LONG_MS, "100 connect no route to host"),
        ("router: prohibited", "198.51.100.2", LONG_MS, "100 connect no route to host"),
        ("router: silent", "198.51.100.3", SHORT_MS, "healthy"),
    ] {
        row("udp", "network", situation, &udp(address), limit, verdict);
    }
    for (situation, address, limit, verdict) in [
        ("dead neighbour", "192.0.2.79", LONG_MS, "100 connect no route to host"),
        ("router: no such host", "198.51.100.1", LONG_MS, "100 connect no route to host"),
        ("router: silent", "198.51.100.3", SHORT_MS, "100 silence no reply in 0.5s"),
    ] {
        row("dns", "network", situation, &dns(address), limit, verdict);
    }
    for check in [udp("203.0.113.1"), dns("203.0.113.1"), udp("233.252.0.1")] {
        let found = giveover_tests::probing::probe(&check, LONG_MS).verdict;
        println!("{check}: {found}");
        assert!(found.starts_with("CannotMeasure"), "{check}: {found}");
    }
}
