//! What the end-to-end tests share: a daemon on loopback with a directory of its own, and waiting
//! for what it says instead of sleeping.

pub mod audit;
pub mod board;
pub mod boarded;
pub mod cluster;
pub mod etcd;
pub mod failovers;
pub mod faults;
pub mod lan;
pub mod mount;
pub mod network;
pub mod nfs;
pub mod nodes;
pub mod oracle;
pub mod pair;
pub mod plugged;
pub mod pools;
pub mod probing;
pub mod secure;
pub mod server;
pub mod servers;
pub mod sockets;
pub mod stick;
pub mod vm;
pub mod wire;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The `giveover` program of this build, built if it is not there.
///
/// # Panics
/// It cannot be built.
pub fn giveover() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let test = std::env::current_exe().expect("the test's own path");
        // `target/PROFILE/deps/test`, or `target/PROFILE/program`.
        let mut above = test.ancestors().skip(1);
        let profile = above.find(|it| !it.ends_with("deps")).expect("target/PROFILE").to_owned();
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "--package", "giveover", "--bin", "giveover"]);
        // A build script that asks for these would run again, and what depends on it be built anew,
        // for each build inside a test and for each outside.
        let of_test =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(of_test) {
                build.env_remove(name);
            }
        }
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo").success(), "giveover does not build");
        profile.join("giveover")
    })
}

/// A port nobody listens on, given out once in this process. It lies below those the kernel hands to
/// whoever binds 0 or connects, so that no one comes to it between here and the server that binds it.
///
/// # Panics
/// Loopback has none.
#[must_use]
pub fn free_port() -> u16 {
    const FIRST: u32 = 10_000;
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first_of_kernel = range.split_whitespace().next().and_then(|first| first.parse().ok());
    let span = first_of_kernel.unwrap_or(32_768_u32).max(FIRST + 1_000) - FIRST;
    for _ in 0..span {
        // Processes beside this one begin elsewhere.
        let place =
            std::process::id().wrapping_mul(97).wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + place % span).expect("below the kernel's ports");
        let free = ["127.0.0.1", "::"].iter().all(|host| {
            let taken = |error: io::Error| error.kind() == io::ErrorKind::AddrInUse;
            !TcpListener::bind((*host, port)).is_err_and(taken)
                && !UdpSocket::bind((*host, port)).is_err_and(taken)
        });
        if free {
            return port;
        }
    }
    panic!("no port is free from {FIRST} on");
}

/// Waits until `done` says something.
///
/// # Panics
/// It says nothing within [`PATIENCE`].
pub fn wait_for<T>(what: &str, done: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, what, done)
}

/// The same for what takes tens of seconds by itself, and twice that on a machine so busy that probes
/// are void.
///
/// # Panics
/// It says nothing within six times [`PATIENCE`].
pub fn wait_long<T>(what: &str, done: impl FnMut() -> Option<T>) -> T {
    wait_within(6 * PATIENCE, what, done)
}

fn wait_within<T>(limit: Duration, what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < end, "waited {limit:?} for {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// A daemon with a directory of its own.
pub struct Daemon {
    /// Configuration, state and socket; whatever a test wants to put there.
    pub dir: TempDir,
    child: Option<Child>,
    /// What it has written to standard error.
    pub log: PathBuf,
    arguments: Vec<String>,
    verb: &'static str,
}

impl Daemon {
    /// Starts a daemon with the configuration `text`, in which `$DIR` is its directory.
    ///
    /// # Panics
    /// It does not answer.
    #[must_use]
    pub fn start(text: &str) -> Self {
        Self::start_with(text, &[])
    }

    /// The same with more arguments of `run`.
    ///
    /// # Panics
    /// It does not answer.
    #[must_use]
    pub fn start_with(text: &str, arguments: &[&str]) -> Self {
        Self::start_in(text, arguments, |_| {})
    }

    /// The same, once `prepare` has put into its directory what the services need.
    ///
    /// # Panics
    /// It does not answer.
    #[must_use]
    pub fn start_in(text: &str, arguments: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        let mut daemon = Self::prepared(text, arguments, prepare);
        daemon.run();
        daemon
    }

    /// The same, without running it yet.
    ///
    /// # Panics
    /// Its directory cannot be made.
    #[must_use]
    pub fn prepared(text: &str, arguments: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::Builder::new().prefix("giveover-test-").tempdir().expect("a directory");
        let log = dir.path().join("log");
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let daemon = Self { dir, child: None, log, arguments, verb: "run" };
        daemon.write_config(text);
        prepare(daemon.dir.path());
        daemon
    }

    /// It is a node that only votes.
    #[must_use]
    pub fn as_witness(mut self) -> Self {
        self.verb = "witness";
        self
    }

    /// Replaces the configuration; the daemon reads it at the next reload or start.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write_config(&self, text: &str) {
        let dir = self.dir.path().display().to_string();
        fs::write(self.config(), text.replace("$DIR", &dir)).expect("a configuration");
    }

    /// The configuration file.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.dir.path().join("giveover.toml")
    }

    /// The control socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("control.sock")
    }

    /// Runs the daemon and waits until it answers.
    ///
    /// # Panics
    /// It ends, or does not answer.
    pub fn run(&mut self) {
        self.spawn_behind(&[]);
        wait_for("the daemon to answer", || {
            if let Some(status) = self.ended() {
                panic!("the daemon ended with {status}:\n{}", self.log_text());
            }
            self.status()
        });
    }

    /// Runs the daemon as what `before` runs, a tracer for one, and waits for nothing.
    ///
    /// # Panics
    /// It cannot be run.
    pub fn spawn_behind(&mut self, before: &[&str]) {
        let log = fs::File::options().create(true).append(true).open(&self.log).expect("a log");
        // Programs a test has put into `bin` come before the system's.
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.dir.path().join("bin").display());
        let program = giveover();
        let mut words = before.iter().map(OsStr::new).chain([program.as_os_str()]);
        let child = Command::new(words.next().unwrap_or_default())
            .args(words)
            .arg(self.verb)
            .arg(self.config())
            .env("PATH", path)
            .arg("--state")
            .arg(self.dir.path().join("state"))
            .arg("--socket")
            .arg(self.socket())
            .args(&self.arguments)
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("giveover runs");
        self.child = Some(child);
    }

    /// How it ended, once it has.
    ///
    /// # Panics
    /// Nobody knows.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().expect("its status")
    }

    /// What it has written to standard error.
    #[must_use]
    pub fn log_text(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The daemon's process.
    ///
    /// # Panics
    /// It is not running.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("running").id()
    }

    /// Sends the daemon a signal.
    ///
    /// # Panics
    /// It is gone.
    pub fn signal(&self, signal: Signal) {
        signal_to(self.pid(), signal);
    }

    /// Kills the daemon as a crash would, and waits until it is gone.
    ///
    /// # Panics
    /// It is not running.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("running");
        child.kill().expect("SIGKILL");
        child.wait().expect("its status");
    }

    /// Tells the daemon to stop and returns its exit status.
    ///
    /// # Panics
    /// It does not end.
    pub fn stop(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("running");
        signal_to(child.id(), Signal::TERM);
        wait_for("the daemon to end", || child.try_wait().expect("its status")).code()
    }

    /// Runs the command line against this daemon.
    ///
    /// # Panics
    /// It cannot be run.
    #[must_use]
    pub fn cli(&self, arguments: &[&str]) -> Output {
        Command::new(giveover())
            .args(arguments)
            .env("GIVEOVER_SOCKET", self.socket())
            .stdin(Stdio::null())
            .output()
            .expect("giveover runs")
    }

    /// Runs the command line, which must succeed, and returns what it printed.
    ///
    /// # Panics
    /// It fails.
    #[must_use]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.cli(arguments);
        let text = text_of(&output);
        assert!(output.status.success(), "{arguments:?}: {}\n{text}", output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// `status --json`, or nothing while the daemon does not answer.
    #[must_use]
    pub fn status(&self) -> Option<Value> {
        let output = self.cli(&["status", "--json"]);
        output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    /// One service of `status --json`.
    ///
    /// # Panics
    /// There is none of that name.
    #[must_use]
    pub fn service(&self, name: &str) -> Value {
        let status = self.status().expect("an answer");
        let services = status["services"].as_array().expect("services");
        let service = services.iter().find(|service| service["name"] == name);
        service.unwrap_or_else(|| panic!("no service {name} in {status}")).clone()
    }

    /// Waits until `service` has what `wanted` looks for.
    ///
    /// # Panics
    /// It does not come to that.
    pub fn wait_service(&self, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let service = self.service(name);
            if wanted(&service) {
                return service;
            }
            let log = || self.log_text();
            assert!(Instant::now() < end, "waited for {name} {what}: {service}\n{}", log());
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Waits until the service has this status.
    ///
    /// # Panics
    /// It does not come to that.
    pub fn wait_status(&self, name: &str, status: &str) -> Value {
        self.wait_service(name, &format!("to be {status}"), |service| service["status"] == status)
    }

    /// Tells the puppet how to be.
    ///
    /// # Panics
    /// The directory is gone.
    pub fn mood(&self, word: &str) {
        fs::write(self.dir.path().join("mood"), word).expect("a mood");
    }

    /// All events of a service there are.
    ///
    /// # Panics
    /// They are not to be had.
    #[must_use]
    pub fn events(&self, name: &str) -> Vec<Value> {
        let text = self.ok(&["events", name, "-n", "1000", "--legacy", "--json"]);
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Waits for an event of a service.
    ///
    /// # Panics
    /// It does not come.
    pub fn wait_event(&self, name: &str, event: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let events = self.events(name);
            if let Some(found) = events.into_iter().rev().find(|found| found["event"] == event) {
                return found;
            }
            assert!(Instant::now() < end, "no event {event} of {name}:\n{}", self.log_text());
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            if matches!(child.try_wait(), Ok(None)) {
                signal_to(child.id(), Signal::TERM);
                let end = Instant::now() + Duration::from_secs(10);
                while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                    std::thread::park_timeout(Duration::from_millis(20));
                }
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- the daemon's log:\n{}", self.log_text());
        }
    }
}

/// A daemon with one service, `web`: the puppet at `program`, probed over HTTP, quick enough for a
/// test. `more` is added to the configuration. Also returns the port.
#[must_use]
pub fn with_puppet(program: &str, arguments: &[&str], more: &str) -> (Daemon, u16) {
    let port = free_port();
    let text = format!(
        "[policy.default]\n\
         thorough_probe_interval = \"200ms\"\n\
         probe_timeout  = \"2s\"\n\
         retry_count    = 2\n\
         retry_interval = \"10m\"\n\
         restart_delay  = [\"0s\"]\n\
         start_grace    = \"4s\"\n\
         start_timeout  = \"4s\"\n\
         stop_timeout   = \"4s\"\n\
         [service.web]\n\
         start = [\"{program}\", \"{port}\", \"$DIR/mood\", \"$DIR/starts\"]\n\
         check.page = \"http://127.0.0.1:{port}/\"\n\
         {more}"
    );
    (Daemon::start_with(&text, arguments), port)
}

/// Standard output and error of a command, for a message.
#[must_use]
pub fn text_of(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// Sends a signal to a process of the test.
///
/// # Panics
/// It is gone.
pub fn signal_to(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a pid");
    kill_process(pid, signal).expect("a process of ours");
}

/// Whether a process exists and is no zombie.
#[must_use]
pub fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Processes whose command line contains `text`.
#[must_use]
pub fn processes_with(text: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
        })
        .collect()
}

/// Reads the first line of what a child prints.
///
/// # Panics
/// There is none.
pub fn first_line(stream: impl Read) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("a line");
    line
}
