//! Several daemons on loopback that decide which of them runs a service.
//!
//! The service holds a lock that all nodes share: were it started twice, the second would die.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Daemon, free_port, text_of};

/// Elections take `wait` and a little; one that a busy machine disturbs is made again.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for what takes elections.
///
/// # Panics
/// It does not come.
pub fn wait_for<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < end, "waited {PATIENCE:?} for {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// What nodes share: a directory with the key and the lock, and the text of the file.
pub struct Shared {
    /// The directory.
    pub dir: TempDir,
    /// Where each node is heard.
    pub ports: Vec<u16>,
    /// Where all of them are.
    pub host: &'static str,
    cluster: String,
    witness: bool,
}

/// The nodes' names, by place.
pub const NAMES: [&str; 3] = ["a", "b", "c"];

impl Shared {
    /// `count` nodes that decide by `cluster`; of three the last is a witness.
    ///
    /// # Panics
    /// There is no directory, or no key.
    #[must_use]
    pub fn new(count: usize, cluster: &str) -> Self {
        let dir =
            tempfile::Builder::new().prefix("giveover-nodes-").tempdir().expect("a directory");
        let ports = (0..count).map(|_| free_port()).collect();
        let shared = Self {
            dir,
            ports,
            host: "127.0.0.1",
            cluster: cluster.to_owned(),
            witness: count == 3,
        };
        make_key(&shared.path("cluster.key"));
        shared
    }

    /// The path of a file in the directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The file of the node `me`.
    #[must_use]
    pub fn text(&self, me: usize) -> String {
        let dir = self.dir.path().display();
        let mut text = format!(
            "[host]\nnode = \"{}\"\n[cluster]\nkey = \"{dir}/cluster.key\"\n{}\n",
            NAMES[me], self.cluster
        );
        for (place, port) in self.ports.iter().enumerate() {
            text += &format!("[node.{}]\naddress = \"{}:{port}\"\n", NAMES[place], self.host);
            if self.witness && place == 2 {
                text += "witness = true\n";
            }
        }
        text + &format!(
            "[service.web]\nstart = [\"flock\", \"-F\", \"-n\", \"-E\", \"99\", \"{dir}/lock\", \
             \"sleep\", \"100000\"]\nallow = [\"no-checks\"]\n\
             policy = {{ thorough_probe_interval = \"1s\" }}\n\
             [group.front]\nservices = [\"web\"]\n"
        )
    }

    /// Starts the node `me`.
    #[must_use]
    pub fn start(&self, me: usize) -> Daemon {
        self.start_as(me, &self.text(me))
    }

    /// Starts it with another file.
    #[must_use]
    pub fn start_as(&self, me: usize, text: &str) -> Daemon {
        let daemon = Daemon::prepared(text, &[], |_| {});
        let mut daemon = if self.witness && me == 2 { daemon.as_witness() } else { daemon };
        daemon.run();
        daemon
    }

    /// Starts all of them.
    #[must_use]
    pub fn start_all(&self) -> Vec<Daemon> {
        (0..self.ports.len()).map(|me| self.start(me)).collect()
    }
}

/// Makes a key.
///
/// # Panics
/// It cannot be made.
pub fn make_key(path: &Path) {
    let made = std::process::Command::new(crate::giveover())
        .args(["key", "new"])
        .arg(path)
        .output()
        .expect("giveover runs");
    assert!(made.status.success(), "{}", text_of(&made));
}

/// The only group, as a daemon sees it.
#[must_use]
pub fn group(daemon: &Daemon) -> Option<Value> {
    let status = daemon.status()?;
    status["groups"].get(0).cloned()
}

/// What this node is for it; empty where the daemon does not answer.
#[must_use]
pub fn role(daemon: &Daemon) -> String {
    group(daemon).map_or_else(String::new, |it| it["role"].as_str().unwrap_or_default().to_owned())
}

/// A node, as a daemon sees it.
#[must_use]
pub fn node(daemon: &Daemon, name: &str) -> Value {
    let group = group(daemon).unwrap_or_default();
    let nodes = group["nodes"].as_array().cloned().unwrap_or_default();
    nodes.into_iter().find(|node| node["name"] == name).unwrap_or_default()
}

/// Waits until exactly one of `daemons` is active and its service is ok; returns which.
///
/// # Panics
/// There is none.
pub fn active_of(daemons: &[&Daemon]) -> usize {
    wait_for("one active with its service", || {
        let active: Vec<usize> =
            (0..daemons.len()).filter(|at| role(daemons[*at]) == "active").collect();
        let [one] = active[..] else { return None };
        let runs = daemons[one].service("web")["pid"].is_u64();
        (runs && daemons[one].service("web")["status"] == "ok").then_some(one)
    })
}

/// The lock was never asked for twice: no instance of the service died.
///
/// # Panics
/// It was.
pub fn never_twice(daemons: &[&Daemon]) {
    for daemon in daemons {
        let died: Vec<Value> =
            daemon.events("web").into_iter().filter(|event| event["event"] == "died").collect();
        assert!(died.is_empty(), "it was started twice: {died:?}\n{}", daemon.log_text());
    }
}
