//! nginx and redis from Debian's packages, started and stopped by giveover: killed, frozen, and
//! the monitor itself killed in the middle of a restart.

use std::fs;
use std::path::Path;

use giveover_tests::{Daemon, free_port, is_running, signal_to, wait_for};
use rustix::process::Signal;
use serde_json::Value;

struct Pair {
    daemon: Daemon,
}

impl Pair {
    fn start() -> Self {
        Self::stopped_by("\"QUIT\"")
    }

    /// The same, with nginx stopped by `stop`.
    fn stopped_by(stop: &str) -> Self {
        let (web, cache) = (free_port(), free_port());
        let daemon = Daemon::start_in(
            &format!(
                "[policy.default]\n\
                 thorough_probe_interval = \"300ms\"\n\
                 probe_timeout  = \"2s\"\n\
                 retry_count    = 3\n\
                 retry_interval = \"10m\"\n\
                 restart_delay  = [\"0s\"]\n\
                 start_grace    = \"10s\"\n\
                 start_timeout  = \"5s\"\n\
                 stop_timeout   = \"3s\"\n\
                 [service.cache]\n\
                 start = [\"/usr/bin/redis-server\", \"--port\", \"{cache}\", \"--bind\", \"127.0.0.1\", \
                          \"--save\", \"\", \"--daemonize\", \"no\", \"--dir\", \"$DIR\"]\n\
                 check.ping = {{ url = \"tcp://127.0.0.1:{cache}\", send = \"PING\\r\\n\", expect = \"+PONG\" }}\n\
                 [service.web]\n\
                 start = [\"/usr/sbin/nginx\", \"-c\", \"$DIR/nginx.conf\", \"-p\", \"$DIR\", \"-e\", \"stderr\"]\n\
                 stop  = {stop}\n\
                 check.page = \"http://127.0.0.1:{web}/\"\n"
            ),
            &["--leave"],
            |dir| write_nginx(dir, web),
        );
        let pair = Self { daemon };
        for name in ["web", "cache"] {
            pair.daemon.wait_status(name, "ok");
        }
        pair
    }

    fn pid(&self, name: &str) -> u32 {
        self.daemon.service(name)["pid"].as_u64().expect("a pid") as u32
    }

    fn words(&self, name: &str) -> Vec<String> {
        let word = |event: &Value| event["event"].as_str().unwrap_or_default().to_owned();
        self.daemon.events(name).iter().map(word).collect()
    }

    /// Waits until `name` is ok as another process, and returns it.
    fn wait_restarted(&self, name: &str, old: u32) -> Value {
        self.daemon.wait_service(name, "to be ok as another process", |service| {
            service["status"] == "ok" && service["pid"].as_u64() != Some(u64::from(old))
        })
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let marker = self.daemon.dir.path().display().to_string();
        for name in ["web", "cache"] {
            let _ = self.daemon.cli(&["stop", name]);
        }
        for pid in giveover_tests::processes_with(&marker) {
            if pid != self.daemon.pid() {
                signal_to(pid, Signal::KILL);
            }
        }
    }
}

/// req 1.3 1.9 1.11 1.12 1.13
#[test]
fn a_killed_server_is_restarted_at_once_and_its_history_says_why() {
    let pair = Pair::start();
    for name in ["web", "cache"] {
        let old = pair.pid(name);
        signal_to(old, Signal::KILL);
        let service = pair.wait_restarted(name, old);
        assert_eq!(service["restarts"], 1, "{service}");
        let words = pair.words(name);
        let place = words.iter().position(|word| word == "died").expect("a death");
        assert_eq!(words[place + 1], "restart", "{words:?}");
        // A probe under way may have been cut before the death was heard; it is one failure still.
        let restarts = words.iter().filter(|word| *word == "restart").count();
        assert_eq!(restarts, 1, "{words:?}");
        let history = pair.daemon.ok(&["history", name]);
        assert!(history.contains("died: signal 9 (KILL)"), "{history}");
        let explained = pair.daemon.ok(&["explain", name]);
        assert!(explained.contains("restarted once"), "{explained}");
        assert!(explained.contains("signal 9 (KILL)"), "{explained}");
    }
}

/// Frozen, both still take connections: their backlog does. Only an answer tells.
#[test]
fn a_frozen_server_is_found_by_its_silence_and_replaced() {
    let pair = Pair::start();
    for name in ["web", "cache"] {
        let old = pair.pid(name);
        for pid in family(old) {
            signal_to(pid, Signal::STOP);
        }
        let service = pair.wait_restarted(name, old);
        assert_eq!(service["restarts"], 1, "{service}");
        assert!(!is_running(old), "the frozen one is gone");
        let history = pair.daemon.ok(&["history", name]);
        assert!(history.contains("no answer"), "{history}");
        assert!(history.contains("restart 1 of 3"), "{history}");
        let explained = pair.daemon.ok(&["explain", name]);
        assert!(explained.contains("no answer"), "{explained}");
    }
}

fn write_nginx(dir: &Path, port: u16) {
    let file = dir.join("nginx.conf");
    let dir = dir.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String =
        temporary.iter().map(|name| format!("{name}_temp_path {dir}/{name}; ")).collect();
    let text = format!(
        "daemon off; pid {dir}/nginx.pid; error_log stderr; events {{}}\n\
         http {{ access_log off; {temporary}\
         server {{ listen 127.0.0.1:{port}; location / {{ return 200 \"ok\"; }} }} }}\n"
    );
    fs::write(file, text).expect("a configuration");
}

/// A process and its children.
fn family(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let children = fs::read_to_string(path).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|word| word.parse().ok());
    std::iter::once(pid).chain(children).collect()
}

#[test]
fn the_monitor_killed_in_the_middle_of_a_restart_ends_what_it_began() {
    // A stop that takes its time: nginx is thawed to hear a signal, and would go at once.
    let mut pair = Pair::stopped_by("[\"/bin/sleep\", \"1000\"]");
    let old = pair.pid("web");
    for pid in family(old) {
        signal_to(pid, Signal::STOP);
    }
    pair.daemon.wait_event("web", "restart");
    pair.daemon.kill();
    assert!(is_running(old), "it is still being stopped");
    let cache = giveover_tests::processes_with("redis-server");
    pair.daemon.run();
    let service = pair.wait_restarted("web", old);
    assert_eq!(service["restarts"], 1, "counted once: {service}");
    wait_for("the old master and its workers to be gone", || (!is_running(old)).then_some(()));
    assert!(cache.contains(&pair.pid("cache")), "redis was never touched");
    let words = pair.words("web");
    for word in ["restart", "restarted"] {
        assert!(words.contains(&word.to_owned()), "{word} in {words:?}");
    }
    let explained = pair.daemon.ok(&["explain", "web"]);
    assert!(explained.contains("no answer"), "{explained}");
}
