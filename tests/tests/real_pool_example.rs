//! The example of a pool, as the README says it, word for word, in a network of the test's own.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use giveover_tests::network::Network;
use giveover_tests::server::is_root;
use giveover_tests::{giveover, signal_to, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// The lines of the README's block that names the example.
fn lines() -> Vec<String> {
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).expect("it");
    let block = text.split("```").find(|block| block.contains("shell/examples/haproxy-pool.toml"));
    let block = block.expect("the README shows the example");
    block.trim().lines().map(str::to_owned).collect()
}

/// A shell into which the lines are typed, in a directory of its own.
struct Typed {
    shell: Child,
    dir: tempfile::TempDir,
    _network: Network,
}

impl Typed {
    fn new() -> Self {
        let network = Network::new();
        let dir = tempfile::Builder::new().prefix("giveover-readme-").tempdir().expect("a place");
        let examples = dir.path().join("shell/examples");
        fs::create_dir_all(&examples).expect("a directory");
        for name in ["haproxy-pool.toml", "haproxy.cfg"] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shell/examples").join(name);
            let text = fs::read_to_string(from).expect("the example");
            fs::write(examples.join(name), Self::here(&dir, &text)).expect("a copy");
        }
        let ours = giveover().parent().expect("a directory").display().to_string();
        let path = format!("{ours}:/usr/sbin:{}", std::env::var("PATH").unwrap_or_default());
        let said = fs::File::create(dir.path().join("said")).expect("a file");
        let shell = Command::new("/bin/sh")
            .current_dir(dir.path())
            .env("PATH", path)
            .env("GIVEOVER_SOCKET", dir.path().join("control.sock"))
            .env("STATE_DIRECTORY", dir.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(said.try_clone().expect("a file"))
            .stderr(said)
            .spawn()
            .expect("a shell");
        Self { shell, dir, _network: network }
    }

    /// What is the machine's own is the test's here.
    fn here(dir: &tempfile::TempDir, text: &str) -> String {
        text.replace("/etc/giveover", &dir.path().join("etc").display().to_string())
    }

    fn say(&mut self, line: &str) {
        let line = Self::here(&self.dir, line);
        let input = self.shell.stdin.as_mut().expect("open");
        writeln!(input, "{line}").expect("typed");
    }

    fn said(&self) -> String {
        fs::read_to_string(self.dir.path().join("said")).unwrap_or_default()
    }

    fn pool(&self) -> Option<Value> {
        let output = Command::new(giveover())
            .args(["pool", "list", "--json"])
            .env("GIVEOVER_SOCKET", self.dir.path().join("control.sock"))
            .output()
            .expect("giveover runs");
        let pools: Value = serde_json::from_slice(&output.stdout).ok()?;
        pools.get(0).cloned()
    }

    fn wait_states(&self, wanted: [&str; 3]) {
        wait_for(&format!("{wanted:?}; said:\n{}", self.said()), || {
            let pool = self.pool()?;
            let states = [0, 1, 2].map(|at| pool["members"][at]["state"].clone());
            (states == wanted).then_some(())
        });
    }

    fn probe(&self) -> String {
        let output = Command::new(giveover())
            .args(["probe", "-v", "http://127.0.0.1:8000/", "--timeout", "5s"])
            .output()
            .expect("giveover runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The processes in our network that are none of ours.
    fn others(&self) -> Vec<(u32, String)> {
        let own = fs::read_link("/proc/thread-self/ns/net").expect("our network");
        let processes = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
        let pids = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        let there = pids.filter(|pid| {
            let net = fs::read_link(format!("/proc/{pid}/ns/net"));
            net.is_ok_and(|net| net == own) && *pid != std::process::id()
        });
        there
            .map(|pid| {
                let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                (pid, String::from_utf8_lossy(&words).replace('\0', " "))
            })
            .collect()
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        for (pid, _) in self.others() {
            signal_to(pid, Signal::KILL);
        }
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        if std::thread::panicking() {
            eprintln!("--- said:\n{}", self.said());
        }
    }
}

#[test]
fn the_readmes_pool_works_word_for_word() {
    if !is_root("a network of our own") {
        return;
    }
    let mut typed = Typed::new();
    for line in lines() {
        typed.say(&line);
        if line.starts_with("giveover run") {
            typed.wait_states(["in", "in", "standby"]);
        }
    }
    typed.wait_states(["drained", "in", "standby"]);
    let said = typed.said();
    assert!(said.contains("healthy: 200"), "the probe: {said}");
    assert!(said.contains("web/a: drained by "), "the drain: {said}");
    assert!(said.contains("web\ta\t127.0.0.11:8080\tin"), "the list: {said}");
    // And what the text below says: all of them gone, clients get the page.
    for (pid, words) in typed.others() {
        if words.contains("http.server") {
            signal_to(pid, Signal::KILL);
        }
    }
    typed.wait_states(["drained", "out", "out"]);
    wait_for("the page", || {
        let probed = typed.probe();
        (probed.contains("503") && probed.contains("answer"))
            .then_some(())
            .or_else(|| probed.contains("503, expected").then_some(()))
    });
}
