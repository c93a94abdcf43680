//! Hosts on one Ethernet, each a network of its own, made by the test and gone with it.

use std::collections::HashMap;
use std::fs::File;
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, setns, unshare};

use crate::network::ip;
use crate::{Daemon, wait_for, wait_long};

/// Hosts on one bridge. Each has an interface `eth0` and the addresses 10.0.0.N/24 and
/// 2001:db8::N/64, N its place from one on.
pub struct Lan {
    hosts: HashMap<&'static str, Child>,
}

impl Lan {
    /// One host for each name. The bridge is in a network of this thread's own.
    ///
    /// # Panics
    /// The kernel or `ip` refuses.
    #[must_use]
    pub fn new(names: &[&'static str]) -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network of our own");
        ip(&mut Command::new("ip"), "link add br0 type bridge forward_delay 0 mcast_snooping 0");
        ip(&mut Command::new("ip"), "link set br0 up");
        let mut lan = Self { hosts: HashMap::new() };
        for (name, number) in names.iter().zip(1..) {
            lan.join(name, number);
        }
        lan
    }

    fn join(&mut self, name: &'static str, number: u8) {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "3000"]).stdin(Stdio::null());
        let host = command.spawn().expect("a host");
        let pid = host.id();
        self.hosts.insert(name, host);
        let own = std::fs::read_link("/proc/thread-self/ns/net").expect("our network");
        wait_for("the host's network", || {
            let theirs = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
            (theirs != own).then_some(())
        });
        for line in [
            &format!("link add port{number} type veth peer name eth0 netns {pid}"),
            &format!("link set port{number} master br0 up"),
        ] {
            ip(&mut Command::new("ip"), line);
        }
        for line in [
            "link set lo up",
            &format!("addr add 10.0.0.{number}/24 dev eth0"),
            &format!("addr add 2001:db8::{number}/64 dev eth0 nodad"),
            "link set eth0 up",
        ] {
            self.ip(name, line);
        }
    }

    /// The process that holds a host's network.
    ///
    /// # Panics
    /// There is no such host.
    #[must_use]
    pub fn pid(&self, name: &str) -> u32 {
        self.hosts[name].id()
    }

    /// A program on a host.
    ///
    /// # Panics
    /// There is no such host.
    #[must_use]
    pub fn on(&self, name: &str, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.hosts[name].id().to_string(), "-n", program]);
        command
    }

    /// Has `ip` on a host do one thing.
    ///
    /// # Panics
    /// It refuses.
    pub fn ip(&self, name: &str, line: &str) {
        ip(&mut self.on(name, "ip"), line);
    }

    /// What `ip` on a host says.
    ///
    /// # Panics
    /// It cannot be run.
    #[must_use]
    pub fn asked(&self, name: &str, line: &str) -> String {
        let output = self.on(name, "ip").args(line.split(' ')).output().expect("ip");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Whether a host has an address.
    #[must_use]
    pub fn has(&self, name: &str, address: &str) -> bool {
        self.asked(name, "-o addr show").contains(&format!(" {address}/"))
    }

    /// The hardware address of a host.
    ///
    /// # Panics
    /// It has none.
    #[must_use]
    pub fn mac(&self, name: &str) -> String {
        let text = self.asked(name, "-o link show dev eth0");
        let mut words = text.split_whitespace().skip_while(|word| *word != "link/ether");
        words.nth(1).expect("a hardware address").to_owned()
    }

    /// The hardware address that a host has cached for another one's address.
    #[must_use]
    pub fn cached(&self, name: &str, address: &str) -> Option<String> {
        let text = self.asked(name, &format!("neigh show {address}"));
        let mut words = text.split_whitespace().skip_while(|word| *word != "lladdr");
        words.nth(1).map(str::to_owned)
    }

    /// Takes this thread to a host, for good.
    ///
    /// # Panics
    /// The kernel refuses.
    pub fn go_to(&self, name: &str) {
        self.door(name)();
    }

    /// What takes the thread that calls it to a host.
    ///
    /// # Panics
    /// There is no such host; called, the kernel refuses.
    pub fn door(&self, name: &str) -> impl FnOnce() + Send + 'static {
        let pid = self.hosts[name].id();
        let network = File::open(format!("/proc/{pid}/ns/net")).expect("its network");
        move || setns(network, CloneFlags::CLONE_NEWNET).expect("on the host")
    }

    /// Runs a daemon on a host, as what `behind` runs, and waits until it answers.
    ///
    /// # Panics
    /// There is no such host, or it does not answer.
    pub fn run(&self, name: &str, behind: &[&str], daemon: &mut Daemon) {
        let pid = self.pid(name).to_string();
        daemon.spawn_behind(&[&["nsenter", "-t", &pid, "-n"][..], behind].concat());
        wait_long("the daemon to answer", || {
            if let Some(status) = daemon.ended() {
                panic!("the daemon ended with {status}:\n{}", daemon.log_text());
            }
            daemon.status().map(|_| ())
        });
    }

    /// Has a host reach another one no more, or again; the other one reaches it still.
    ///
    /// # Panics
    /// `ip` refuses.
    pub fn reaches(&self, name: &str, other: u8, does: bool) {
        let verb = if does { "del" } else { "add" };
        self.ip(name, &format!("route {verb} blackhole 10.0.0.{other}/32"));
    }

    /// Cuts a host's cable, or mends it.
    ///
    /// # Panics
    /// `ip` refuses.
    pub fn cable(&self, number: u8, is_whole: bool) {
        let state = if is_whole { "up" } else { "down" };
        ip(&mut Command::new("ip"), &format!("link set port{number} {state}"));
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for host in self.hosts.values_mut() {
            let _ = host.kill();
            let _ = host.wait();
        }
    }
}
