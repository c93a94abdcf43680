//! Real servers, each with a directory and a loopback port of its own, stopped by their pids.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{free_port, sockets, wait_for};

/// A server that runs.
pub struct Server {
    /// Its files.
    pub dir: TempDir,
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    child: Child,
}

impl Server {
    /// Starts the server that `command` makes of its directory and port, and waits until it
    /// takes connections.
    ///
    /// # Panics
    /// It ends, or does not listen.
    #[must_use]
    pub fn start(command: impl FnOnce(&Path, u16) -> Command) -> Self {
        Self::start_at(free_port(), command)
    }

    /// The same at a port that is known to be free, such as one it was stopped at.
    ///
    /// # Panics
    /// It ends, or does not listen.
    #[must_use]
    pub fn start_at(port: u16, command: impl FnOnce(&Path, u16) -> Command) -> Self {
        let dir = tempfile::Builder::new().prefix("giveover-server-").tempdir().expect("a place");
        let mut command = command(dir.path(), port);
        let log = fs::File::create(dir.path().join("server.log")).expect("a log");
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut server = Self { dir, port, child };
        wait_for("the server to listen", || {
            if let Some(status) = server.child.try_wait().expect("its status") {
                panic!("the server ended with {status}:\n{}", server.log());
            }
            let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            // A connection to a port where nobody listens yet can meet itself.
            (stream.local_addr().ok() != stream.peer_addr().ok()).then_some(())
        });
        server
    }

    /// What it wrote.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("server.log")).unwrap_or_default()
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Freezes it with all its children. A signal is no more than a wish: on a busy machine a
    /// thread may go on for a while, so each is looked at until it stands.
    pub fn freeze(&self) {
        Self::freeze_tree(self.child.id());
    }

    /// The same for a server that somebody else has started, by its process.
    pub fn freeze_tree(root: u32) {
        wait_for("all of it to stand", || {
            signal(root, Signal::STOP);
            tree(root).into_iter().all(stands).then_some(())
        });
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        signal(self.child.id(), Signal::CONT);
    }

    /// Kills it with all its children and waits until every port it listened at refuses. Its
    /// sockets close one after another, some only with its children, after it has ended itself.
    pub fn stop(&mut self) {
        let held = self.kill();
        let port = self.port;
        wait_for("its ports to be left", || {
            let refuses = TcpStream::connect(("127.0.0.1", port)).is_err();
            (refuses && sockets::open().is_disjoint(&held)).then_some(())
        });
    }

    /// Returns the sockets that it had open.
    fn kill(&mut self) -> BTreeSet<u64> {
        // Stopped first, so that no child is born while we look.
        self.freeze();
        let held = tree(self.child.id()).into_iter().flat_map(sockets::of).collect();
        signal(self.child.id(), Signal::KILL);
        let _ = self.child.wait();
        held
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- the server's log:\n{}", self.log());
        }
    }
}

fn signal(root: u32, signal: Signal) {
    for pid in tree(root) {
        if let Some(pid) = Pid::from_raw(pid as i32) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// A process and its descendants, parents first.
fn tree(root: u32) -> Vec<u32> {
    let mut tree = vec![root];
    let mut place = 0;
    while let Some(pid) = tree.get(place) {
        let children = format!("/proc/{pid}/task/{pid}/children");
        let text = fs::read_to_string(children).unwrap_or_default();
        tree.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
        place += 1;
    }
    tree
}

/// Whether no thread of a process can go on.
fn stands(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.filter_map(Result::ok).all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        matches!(state, None | Some('T' | 'Z' | 'X'))
    })
}

/// Whether we are root, as some servers want it. If not, says that `what` is skipped.
#[must_use]
pub fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: root: {what} is started by root only");
    }
    root
}
