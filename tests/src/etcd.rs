//! Three real members of etcd, each a process of its own.

use std::fs;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::server::Server;
use crate::{free_port, signal_to};

/// The members, with what they keep.
pub struct Etcds {
    dir: TempDir,
    host: String,
    /// What each is run behind.
    before: Vec<String>,
    /// For clients, and for each other.
    ports: Vec<(u16, u16)>,
    children: Vec<Option<Child>>,
}

impl Etcds {
    /// Three of them on loopback, none of which runs yet.
    ///
    /// # Panics
    /// There is no directory, or no port.
    #[must_use]
    pub fn on_loopback() -> Self {
        Self::not_started("127.0.0.1", &[])
    }

    /// Three of them at `host`, run behind `before`.
    ///
    /// # Panics
    /// They cannot be run.
    #[must_use]
    pub fn on(host: &str, before: &[&str]) -> Self {
        let mut etcds = Self::not_started(host, before);
        etcds.start_all();
        etcds
    }

    fn not_started(host: &str, before: &[&str]) -> Self {
        Self {
            dir: tempfile::Builder::new().prefix("giveover-etcd-").tempdir().expect("a directory"),
            host: host.to_owned(),
            before: before.iter().map(|word| (*word).to_owned()).collect(),
            ports: (0..3).map(|_| (free_port(), free_port())).collect(),
            children: vec![None, None, None],
        }
    }

    /// Starts all that do not run.
    ///
    /// # Panics
    /// They cannot be run.
    pub fn start_all(&mut self) {
        for member in 0..3 {
            if self.children[member].is_none() {
                self.start(member);
            }
        }
    }

    /// The list of endpoints, as the configuration has it.
    #[must_use]
    pub fn endpoints(&self) -> String {
        let urls: Vec<String> =
            self.ports.iter().map(|(port, _)| format!("\"http://{}:{port}\"", self.host)).collect();
        format!("[{}]", urls.join(", "))
    }

    /// Starts a member, for the first time or with what it has kept.
    ///
    /// # Panics
    /// It cannot be run.
    pub fn start(&mut self, member: usize) {
        let url = |port: u16| format!("http://{}:{port}", self.host);
        let all: Vec<String> = self
            .ports
            .iter()
            .enumerate()
            .map(|(place, (_, peers))| format!("m{place}={}", url(*peers)))
            .collect();
        let (clients, peers) = self.ports[member];
        let log = self.dir.path().join(format!("m{member}.log"));
        let log = fs::File::options().create(true).append(true).open(log).expect("a log");
        let mut words = self.before.iter().map(String::as_str).chain(["etcd"]);
        let mut command = Command::new(words.next().unwrap_or("etcd"));
        command
            .args(words)
            .arg(format!("--name=m{member}"))
            .arg(format!("--data-dir={}", self.dir.path().join(format!("m{member}")).display()))
            .arg(format!("--listen-client-urls={}", url(clients)))
            .arg(format!("--advertise-client-urls={}", url(clients)))
            .arg(format!("--listen-peer-urls={}", url(peers)))
            .arg(format!("--initial-advertise-peer-urls={}", url(peers)))
            .arg(format!("--initial-cluster={}", all.join(",")))
            .args(["--initial-cluster-token=giveover", "--logger=zap", "--log-level=warn"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        self.children[member] = Some(child);
    }

    fn pid(&self, member: usize) -> u32 {
        self.children[member].as_ref().expect("it runs").id()
    }

    /// Freezes those that run, and comes back once each stands.
    pub fn freeze(&self) {
        let running = self.children.iter().flatten();
        running.for_each(|child| Server::freeze_tree(child.id()));
    }

    /// Lets those that run go on.
    pub fn thaw(&self) {
        self.children.iter().flatten().for_each(|child| signal_to(child.id(), Signal::CONT));
    }

    /// Kills a member as a crash would.
    ///
    /// # Panics
    /// It does not run.
    pub fn kill(&mut self, member: usize) {
        signal_to(self.pid(member), Signal::CONT);
        let mut child = self.children[member].take().expect("it runs");
        child.kill().expect("SIGKILL");
        child.wait().expect("its status");
    }

    /// What all of them wrote.
    #[must_use]
    pub fn logs(&self) -> String {
        let log = |member: usize| self.dir.path().join(format!("m{member}.log"));
        (0..3).map(|member| fs::read_to_string(log(member)).unwrap_or_default()).collect()
    }
}

impl Drop for Etcds {
    fn drop(&mut self) {
        for member in 0..3 {
            if self.children[member].is_some() {
                self.kill(member);
            }
        }
    }
}
