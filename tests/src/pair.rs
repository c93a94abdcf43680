//! A pair with a witness and a client, each a host of its own, and an auditor that sees what the
//! kernels of both have.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::audit::Audit;
use crate::etcd::Etcds;
use crate::lan::Lan;
use crate::wire::{self, Wire};
use crate::{Daemon, PATIENCE, giveover, text_of};

/// The address that moves.
pub const ADDRESS: &str = "10.0.0.10";
/// Both that may hold it; their places are their numbers on the network, from one on.
pub const NAMES: [&str; 2] = ["a", "b"];

/// An election takes `wait` and a little; one that a busy machine disturbs is made again.
const LONG: Duration = Duration::from_secs(120);

/// The pair, and what was seen of it.
pub struct Pair {
    /// The hosts `a`, `b`, `door` and `client`.
    pub lan: Lan,
    /// Keys of `[cluster]`.
    times: String,
    /// The store that decides in place of votes: there is no witness then.
    etcds: Option<Etcds>,
    dir: TempDir,
    /// What else the file has, behind the group's address.
    more: String,
    daemons: Vec<Option<Daemon>>,
    /// By place: what a daemon is run behind.
    behind: [Vec<String>; 3],
    /// What is between the nodes, if it is more than a bridge.
    wire: Option<Wire>,
    audit: Audit,
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// What the client saw.
#[derive(Default)]
struct Seen {
    /// Who answered the client, each time it asked.
    answers: Vec<(Instant, Option<String>)>,
}

impl Pair {
    /// The hosts, with nobody on them but a server that says which host it is on, the client, and
    /// the auditor.
    ///
    /// # Panics
    /// The kernel refuses.
    #[must_use]
    pub fn new() -> Self {
        Self::made("heartbeat = \"500ms\"", "")
    }

    /// A pair without a witness that decides by an etcd on the hosts `etcds` is given, as the keys say
    /// that it returns.
    ///
    /// # Panics
    /// The kernel refuses.
    #[must_use]
    pub fn by(etcds: impl FnOnce(&Lan) -> (String, Etcds)) -> Self {
        let mut pair = Self::made("", "");
        let (keys, etcds) = etcds(&pair.lan);
        (pair.times, pair.etcds) = (keys, Some(etcds));
        pair
    }

    /// The store that decides.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn etcds(&self) -> &Etcds {
        self.etcds.as_ref().expect("an etcd")
    }

    /// The same with other keys of `[cluster]` than the usual ones.
    ///
    /// # Panics
    /// The kernel refuses.
    #[must_use]
    pub fn with_times(times: &str) -> Self {
        Self::made(times, "")
    }

    /// The same, with `more` in the group and behind it.
    ///
    /// # Panics
    /// The kernel refuses.
    #[must_use]
    pub fn with(more: &str) -> Self {
        Self::made("heartbeat = \"500ms\"\ninterval = \"1s\"", more)
    }

    /// The same with a wire between the nodes, and these keys of `[cluster]`.
    ///
    /// # Panics
    /// The kernel refuses.
    #[must_use]
    pub fn wired(times: &str) -> Self {
        let mut pair = Self::of_hosts(&["a", "b", "door", "client", wire::HOST], times, "");
        let wire = Wire::between(&pair.lan, 3);
        for (place, number) in (1..=3).enumerate() {
            let hosts = pair.dir.path().join(format!("hosts-{number}"));
            std::fs::write(&hosts, wire.hosts(number)).expect("a file");
            let hosts = hosts.display().to_string();
            let bind = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
            pair.runs_behind(place, &["unshare", "-m", "sh", "-c", bind, &hosts]);
        }
        pair.wire = Some(wire);
        pair
    }

    /// What is between the nodes.
    ///
    /// # Panics
    /// It is nothing but a bridge.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        self.wire.as_ref().expect("a wire")
    }

    /// The daemon of a place is run behind this, from its next start on.
    pub fn runs_behind(&mut self, place: usize, words: &[&str]) {
        self.behind[place] = words.iter().map(|word| (*word).to_owned()).collect();
    }

    fn made(times: &str, more: &str) -> Self {
        Self::of_hosts(&["a", "b", "door", "client"], times, more)
    }

    fn of_hosts(hosts: &[&'static str], times: &str, more: &str) -> Self {
        let lan = Lan::new(hosts);
        let dir = tempfile::Builder::new().prefix("giveover-pair-").tempdir().expect("a directory");
        let key = dir.path().join("cluster.key");
        let made = Command::new(giveover()).args(["key", "new"]).arg(&key).output().expect("runs");
        assert!(made.status.success(), "{}", text_of(&made));
        let (seen, over) = (Arc::default(), Arc::default());
        let audit = Audit::new(&lan, &NAMES, ADDRESS);
        let mut pair = Self {
            lan,
            times: times.to_owned(),
            etcds: None,
            dir,
            more: more.to_owned(),
            daemons: vec![None, None, None],
            behind: [const { Vec::new() }; 3],
            wire: None,
            audit,
            seen,
            over,
            threads: Vec::new(),
        };
        for place in 0..2 {
            pair.serve(place);
        }
        pair.ask();
        pair
    }

    fn serve(&self, place: usize) {
        let (name, enter) = (NAMES[place], self.lan.door(NAMES[place]));
        let (listening, listens) = channel();
        std::thread::spawn(move || {
            enter();
            let listener = TcpListener::bind("0.0.0.0:80").expect("a port");
            listening.send(()).expect("somebody waits");
            while let Ok((mut stream, _)) = listener.accept() {
                let _ = writeln!(stream, "{name}");
            }
        });
        listens.recv_timeout(PATIENCE).expect("it listens");
    }

    /// Asks through the address each 100 ms.
    fn ask(&mut self) {
        let enter = self.lan.door("client");
        let (seen, over) = (Arc::clone(&self.seen), Arc::clone(&self.over));
        let to: SocketAddr = format!("{ADDRESS}:80").parse().expect("an address");
        self.threads.push(std::thread::spawn(move || {
            enter();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let answer = asked(&to);
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.answers.push((Instant::now(), answer));
                drop(seen);
                std::thread::park_timeout(
                    Duration::from_millis(100).saturating_sub(begun.elapsed()),
                );
            }
        }));
    }

    /// The file of a place whose group has `addresses`.
    #[must_use]
    pub fn text(&self, addresses: &str) -> String {
        let at = |number: u8| match self.wire {
            Some(_) => wire::name(number),
            None => format!("10.0.0.{number}"),
        };
        let [a, b, door] = [at(1), at(2), at(3)];
        let (quorum, door) = match self.etcds {
            Some(_) => ("", String::new()),
            None => {
                let door = format!("[node.door]\naddress = \"{door}\"\nwitness = true\n");
                ("quorum = \"majority\"\n", door)
            }
        };
        format!(
            "[cluster]\nkey = \"{}/cluster.key\"\n{quorum}{}\n\
             [node.a]\naddress = \"{a}\"\n[node.b]\naddress = \"{b}\"\n\
             {door}[group.front]\naddresses = [\"{addresses}\"]\n{}",
            self.dir.path().display(),
            self.times,
            self.more
        )
    }

    /// Starts the daemon of a place: `a`, `b`, or the witness.
    ///
    /// # Panics
    /// It does not answer.
    pub fn start(&mut self, place: usize) {
        self.start_as(place, "", &[]);
    }

    /// The same with more in its file and on its command line.
    ///
    /// # Panics
    /// It does not answer.
    pub fn start_as(&mut self, place: usize, more: &str, arguments: &[&str]) {
        let text = self.text(&format!("{ADDRESS}/24")) + more;
        let daemon = Daemon::prepared(&text, arguments, |_| {});
        self.run(place, daemon);
    }

    /// Starts a daemon with this file, and returns how it ended and its log.
    ///
    /// # Panics
    /// It does not end.
    #[must_use]
    pub fn refused(&self, place: usize, text: &str) -> (Option<i32>, String) {
        let mut daemon = Daemon::prepared(text, &[], |_| {});
        let pid = self.lan.pid(NAMES[place]).to_string();
        daemon.spawn_behind(&["nsenter", "-t", &pid, "-n"]);
        let status = wait("it to end", || daemon.ended());
        (status.code(), daemon.log_text())
    }

    fn run(&mut self, place: usize, daemon: Daemon) {
        let mut daemon = if place == 2 { daemon.as_witness() } else { daemon };
        let behind: Vec<&str> = self.behind[place].iter().map(String::as_str).collect();
        self.lan.run(["a", "b", "door"][place], &behind, &mut daemon);
        self.daemons[place] = Some(daemon);
    }

    /// Starts a daemon whose file has another address, and returns how it ended.
    ///
    /// # Panics
    /// It does not end.
    #[must_use]
    pub fn start_with_another_address(&mut self, place: usize) -> (Option<i32>, String) {
        self.refused(place, &self.text("10.0.0.11/24"))
    }

    /// The daemon of a place.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn daemon(&mut self, place: usize) -> &mut Daemon {
        self.daemons[place].as_mut().expect("a daemon")
    }

    /// Whether a place's daemon was started and not stopped since.
    #[must_use]
    pub fn is_started(&self, place: usize) -> bool {
        self.daemons[place].is_some()
    }

    /// Stops a daemon in good order, and returns its log.
    ///
    /// # Panics
    /// There is none, or it does not end.
    pub fn stop(&mut self, place: usize) -> String {
        let mut daemon = self.daemons[place].take().expect("a daemon");
        assert_eq!(daemon.stop(), Some(0), "{}", daemon.log_text());
        daemon.log_text()
    }

    /// Kills a daemon as a crash would.
    ///
    /// # Panics
    /// There is none.
    pub fn kill(&mut self, place: usize) {
        self.daemons[place].take().expect("a daemon").kill();
    }

    /// What all that run have written, those of the pair first.
    #[must_use]
    pub fn logs(&self) -> String {
        self.daemons.iter().flatten().map(Daemon::log_text).collect()
    }

    /// Waits until the client is answered by a host of the pair, which holds the address then.
    ///
    /// # Panics
    /// It is not.
    pub fn wait_served(&mut self, place: usize) {
        let since = Instant::now();
        let served = |seen: &Seen| {
            let newest = seen.answers.last();
            newest.is_some_and(|(at, who)| *at >= since && who.as_deref() == Some(NAMES[place]))
        };
        let end = Instant::now() + LONG;
        while !served(&self.seen.lock().unwrap_or_else(PoisonError::into_inner)) {
            let logs: Vec<String> = self.daemons.iter().flatten().map(Daemon::log_text).collect();
            assert!(Instant::now() < end, "{} does not serve:\n{}", NAMES[place], logs.join("\n"));
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    /// When a place's kernel first had the address after `since`, or that it has had it since before;
    /// `None` where it has not.
    #[must_use]
    pub fn held_since(&self, place: usize, since: Instant) -> Option<Instant> {
        self.audit.held_since(place, since)
    }

    /// Waits until one of the pair is active and alone has the address, and the other is its standby;
    /// returns the active.
    ///
    /// # Panics
    /// It does not come to that.
    #[must_use]
    pub fn settled(&self) -> usize {
        let role = |place: usize| {
            let status = self.daemons[place].as_ref().and_then(Daemon::status).unwrap_or_default();
            status["groups"][0]["role"].as_str().unwrap_or_default().to_owned()
        };
        wait("an active that has the address, and a standby", || {
            let has = [0, 1].map(|place| self.lan.has(NAMES[place], ADDRESS));
            match (has, &*role(0), &*role(1)) {
                ([true, false], "active", "standby") => Some(0),
                ([false, true], "standby", "active") => Some(1),
                _ => None,
            }
        })
    }

    /// Waits until the client is answered by whomever.
    ///
    /// # Panics
    /// It is not.
    pub fn wait_answered(&self) {
        let since = Instant::now();
        wait("the client to be answered", || {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let newest = seen.answers.last();
            newest.is_some_and(|(at, who)| *at >= since && who.is_some()).then_some(())
        });
    }

    /// Who answered the client last; `None` where nobody did.
    #[must_use]
    pub fn answered_by(&self) -> Option<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.answers.last().and_then(|(_, who)| who.clone())
    }

    /// The longest time since `since` in which the client was not answered.
    #[must_use]
    pub fn longest_outage(&self, since: Instant) -> Duration {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = since;
        let mut longest = Duration::ZERO;
        for (at, who) in seen.answers.iter().filter(|(at, _)| *at >= since) {
            if who.is_some() {
                longest = longest.max(at.saturating_duration_since(last));
                last = *at;
            }
        }
        longest
    }

    /// How long both had the address at once, as far as the auditor saw.
    #[must_use]
    pub fn overlap(&self) -> Duration {
        self.audit.overlap()
    }

    /// How often the address has come up, on either.
    #[must_use]
    pub fn times_held(&self) -> usize {
        self.audit.times_held()
    }
}

impl Default for Pair {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.daemons.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn asked(to: &SocketAddr) -> Option<String> {
    let stream = TcpStream::connect_timeout(to, Duration::from_millis(300)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(300))).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    (!line.is_empty()).then(|| line.trim_end().to_owned())
}

fn wait<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONG;
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < end, "waited {LONG:?} for {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}
