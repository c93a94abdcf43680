//! A network of a test's own, with a router and hosts that are dead, forbidden or silent.

use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};

use crate::wait_for;

/// Our thread's own network, joined to a router's. What the thread starts is in it too.
pub struct Network {
    router: Child,
}

impl Network {
    /// Joined to the router's network, which knows 192.0.2.0/24 and 2001:db8::/64, and of
    /// 198.51.100.0/24 a host that does not exist (.1), one that is forbidden (.2) and one of
    /// which nothing is heard (.3). Of 203.0.113.1 this side knows that there is no way.
    ///
    /// # Panics
    /// The kernel or `ip` refuses.
    #[must_use]
    pub fn new() -> Self {
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
            "addr add 2001:db8::1/64 dev v0 nodad",
            "link set v0 up",
            &format!("link set v1 netns {pid}"),
        ] {
            ip(&mut Command::new("ip"), line);
        }
        for line in [
            "addr add 192.0.2.254/24 dev v1",
            "addr add 2001:db8::fe/64 dev v1 nodad",
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

    /// The process that holds the router's network.
    #[must_use]
    pub fn router(&self) -> u32 {
        self.router.id()
    }

    /// A program on the router.
    #[must_use]
    pub fn inside(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.router.id().to_string(), "-n", program]);
        command
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.router.kill();
        let _ = self.router.wait();
    }
}

/// Has `command`, an `ip` here or there, do one thing.
///
/// # Panics
/// It refuses.
pub fn ip(command: &mut Command, line: &str) {
    let output = command.args(line.split(' ')).output().expect("ip");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {line}: {said}");
}
