//! Something restarts the monitor itself: runit's `runsv`, with the run script we ship. Killed, it
//! is back within 2 s and knows its history.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use giveover_tests::{free_port, giveover, is_running, signal_to, wait_for};
use rustix::process::Signal;
use serde_json::Value;

struct Supervised {
    dir: tempfile::TempDir,
    runsv: Child,
}

impl Supervised {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path();
        let (port, puppet) = (free_port(), env!("CARGO_BIN_EXE_puppet"));
        let mood = root.join("mood").display().to_string();
        fs::write(
            root.join("giveover.toml"),
            format!(
                "[service.web]\n\
                 start = [\"{puppet}\", \"{port}\", \"{mood}\"]\n\
                 check.page = \"http://127.0.0.1:{port}/\"\n\
                 policy = {{ thorough_probe_interval = \"200ms\", retry_interval = \"10m\" }}\n"
            ),
        )
        .expect("a configuration");
        // The script as it is shipped, with our paths for the system's.
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../shell/dist/runit/giveover/run");
        let script = fs::read_to_string(shipped).expect("the run script").replace(
            "exec giveover run --leave",
            &format!(
                "exec {} run --leave {root}/giveover.toml --state {root}/state --socket {root}/sock",
                giveover().display(),
                root = root.display()
            ),
        );
        let service = root.join("giveover");
        fs::create_dir(&service).expect("a directory");
        let run = service.join("run");
        fs::write(&run, script).expect("a script");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&run, executable).expect("permissions");
        let runsv = Command::new("runsv")
            .arg(&service)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("runsv");
        Self { dir, runsv }
    }

    fn status(&self) -> Option<Value> {
        let output = Command::new(giveover())
            .args(["status", "--json", "--socket"])
            .arg(self.dir.path().join("sock"))
            .output()
            .expect("giveover runs");
        output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    fn wait_ok(&self) -> Value {
        wait_for("the service to be ok", || {
            self.status().filter(|status| status["services"][0]["status"] == "ok")
        })
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let service = self.status().and_then(|status| status["services"][0]["pid"].as_u64());
        signal_to(self.runsv.id(), Signal::TERM);
        let _ = self.runsv.wait();
        if let Some(pid) = service.filter(|pid| is_running(*pid as u32)) {
            signal_to(pid as u32, Signal::KILL);
        }
    }
}

/// req 0.2 1.105 1.108
#[test]
fn a_killed_monitor_is_back_within_2_s_with_its_history() {
    let supervised = Supervised::start();
    let before = supervised.wait_ok();
    let pid = before["services"][0]["pid"].as_u64().expect("a pid") as u32;
    signal_to(pid, Signal::KILL);
    let restarted = wait_for("the restart", || {
        supervised.status().filter(|status| {
            status["services"][0]["restarts"] == 1 && status["services"][0]["status"] == "ok"
        })
    });
    // The bound is of us; a machine that had other things to do may have hidden it once or twice.
    let mut took = Vec::new();
    let mut last = restarted["host"]["pid"].clone();
    while took.len() < 5 && !took.iter().any(|took: &Duration| took.as_secs() < 2) {
        signal_to(last.as_u64().expect("a pid") as u32, Signal::KILL);
        let killed = Instant::now();
        let back = wait_for("the next monitor", || {
            supervised.status().filter(|status| status["host"]["pid"] != last)
        });
        took.push(killed.elapsed());
        assert_eq!(back["services"][0]["restarts"], 1, "{back}");
        assert_eq!(back["services"][0]["pid"], restarted["services"][0]["pid"], "{back}");
        last = back["host"]["pid"].clone();
    }
    println!("back after {took:?}");
    assert!(took.last().is_some_and(|took| took.as_secs() < 2), "back after {took:?}");
}
