//! Several daemons on loopback that are nodes of one cluster, for tests that need no address to
//! move.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Daemon, free_port, giveover, text_of};

/// The nodes; the third one is a witness.
pub const NAMES: [&str; 3] = ["a", "b", "door"];

/// An election takes `wait` and a little; one that a busy machine disturbs is made again.
const LONG: Duration = Duration::from_secs(120);

/// Waits until `done` says something, for longer than any election takes.
///
/// # Panics
/// It says nothing.
pub fn wait_long<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONG;
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < end, "waited {LONG:?} for {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

/// Two nodes, with a witness or without.
pub struct Cluster {
    /// What they share, the key among it.
    pub dir: TempDir,
    /// Keys of `[cluster]`.
    keys: String,
    /// What follows in each file; `@ME` is the node's name, `@SHARED` the directory.
    more: String,
    /// By node: of two there is no witness.
    ports: Vec<u16>,
    daemons: Vec<Option<Daemon>>,
}

impl Cluster {
    /// Two nodes and a witness that decide by majority. `more` is in the file of each node, with its name for `@ME` and the shared
    /// directory for `@SHARED`.
    ///
    /// # Panics
    /// There is no directory, or no key can be made.
    #[must_use]
    pub fn new(times: &str, more: &str) -> Self {
        Self::of(3, &format!("quorum = \"majority\"\n{times}"), more)
    }

    /// Two nodes or three that decide as `keys` of `[cluster]` say.
    ///
    /// # Panics
    /// There is no directory, or no key can be made.
    #[must_use]
    pub fn of(count: usize, keys: &str, more: &str) -> Self {
        let dir =
            tempfile::Builder::new().prefix("giveover-nodes-").tempdir().expect("a directory");
        let key = dir.path().join("cluster.key");
        let made = Command::new(giveover()).args(["key", "new"]).arg(&key).output().expect("runs");
        assert!(made.status.success(), "{}", text_of(&made));
        Self {
            dir,
            keys: keys.to_owned(),
            more: more.to_owned(),
            ports: (0..count).map(|_| free_port()).collect(),
            daemons: (0..count).map(|_| None).collect(),
        }
    }

    /// A path in what they share.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The file of a place.
    #[must_use]
    pub fn text(&self, place: usize) -> String {
        let dir = self.dir.path().display().to_string();
        let mut text = format!(
            "[host]\nnode = \"{}\"\n[cluster]\nkey = \"{dir}/cluster.key\"\n{}\n",
            NAMES[place], self.keys
        );
        for (name, port) in NAMES.iter().zip(&self.ports) {
            text += &format!("[node.{name}]\naddress = \"127.0.0.1:{port}\"\n");
            if *name == "door" {
                text += "witness = true\n";
            }
        }
        text + &self.more.replace("@SHARED", &dir).replace("@ME", NAMES[place])
    }

    /// Starts a place: for the first time, or again with the state it had.
    ///
    /// # Panics
    /// It does not answer.
    pub fn start(&mut self, place: usize) {
        if self.daemons[place].is_none() {
            let daemon = Daemon::prepared(&self.text(place), &[], |_| {});
            self.daemons[place] = Some(if place == 2 { daemon.as_witness() } else { daemon });
        }
        self.daemon_mut(place).run();
    }

    /// The port at which a place is heard.
    #[must_use]
    pub fn port(&self, place: usize) -> u16 {
        self.ports[place]
    }

    /// The daemon of a place.
    ///
    /// # Panics
    /// It was never started.
    #[must_use]
    pub fn daemon(&self, place: usize) -> &Daemon {
        self.daemons[place].as_ref().expect("a daemon")
    }

    /// The same, to stop or kill it.
    ///
    /// # Panics
    /// It was never started.
    #[must_use]
    pub fn daemon_mut(&mut self, place: usize) -> &mut Daemon {
        self.daemons[place].as_mut().expect("a daemon")
    }

    /// The first group, as a place has it.
    #[must_use]
    pub fn group(&self, place: usize) -> Option<Value> {
        self.daemon(place).status()?["groups"].get(0).cloned()
    }

    /// What a place is for the group.
    #[must_use]
    pub fn role(&self, place: usize) -> String {
        let group = self.group(place).unwrap_or_default();
        group["role"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until of both nodes one is active and the other its standby; returns the active.
    ///
    /// # Panics
    /// It does not come to that.
    #[must_use]
    pub fn settled(&self) -> usize {
        wait_long("one active and a standby that knows it", || {
            let groups = [self.group(0)?, self.group(1)?];
            let active = (0..2).find(|place| groups[*place]["role"] == "active")?;
            let other = &groups[1 - active];
            (other["role"] == "standby" && other["active"] == NAMES[active]).then_some(active)
        })
    }
}
