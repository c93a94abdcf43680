//! The daemon is killed at its N-th system call of a kind, or the call fails: one run for each.

use std::fs;
use std::process::Command;

use giveover_tests::{Daemon, free_port, processes_with, text_of, wait_for};

/// One death, so one restart; everything else that happens is ours.
fn daemon() -> (Daemon, String) {
    let (port, puppet) = (free_port(), env!("CARGO_BIN_EXE_puppet"));
    let text = format!(
        "[policy.default]\n\
         thorough_probe_interval = \"100ms\"\n\
         probe_timeout  = \"8s\"\n\
         retry_count    = 3\n\
         retry_interval = \"10m\"\n\
         restart_delay  = [\"0s\"]\n\
         [service.web]\n\
         start = [\"{puppet}\", \"{port}\", \"$DIR/mood\", \"$DIR/starts\"]\n\
         check.page = \"http://127.0.0.1:{port}/\"\n\
         check.self = {{ command = [\"/bin/true\"] }}\n"
    );
    let exits = |dir: &std::path::Path| fs::write(dir.join("mood"), "exit").expect("a mood");
    (Daemon::prepared(&text, &[], exits), format!("puppet {port} "))
}

/// Whether calls can be tampered with here.
fn can_trace(test: &str) -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=none", "-e", "inject=getppid:error=EPERM:when=1", "true"]);
    match command.output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            println!("skipped: {test}: ptrace: {}", text_of(&output).replace('\n', " "));
            false
        }
        Err(error) => {
            println!("skipped: {test}: strace: it cannot be run: {error}");
            false
        }
    }
}

/// Runs until it is killed, or until its one restart is over. True if it was killed.
fn run_tampered(daemon: &mut Daemon, call: &str, what: &str) -> bool {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{what}"));
    let log = daemon.dir.path().join("calls").display().to_string();
    // -D: the tracer is nobody's parent, so that the daemon is our child as ever.
    daemon.spawn_behind(&["strace", "-D", "-f", "-qq", "-o", &log, "-e", &trace, "-e", &inject]);
    wait_for("it to end, or to have restarted its service", || {
        if daemon.ended().is_some() {
            return Some(true);
        }
        let well = daemon.status().is_some_and(|status| {
            let service = &status["services"][0];
            service["status"] == "ok" && service["restarts"].as_u64() > Some(0)
        });
        well.then_some(false)
    })
}

/// Whatever it had written down by then, the next one goes on: with every restart that was told,
/// with one instance of the service, and with nothing taken for damage.
#[test]
fn killed_at_any_write_it_is_followed_by_one_that_goes_on() {
    if !can_trace("killed_at_any_write_it_is_followed_by_one_that_goes_on") {
        return;
    }
    for call in ["pwrite64", "fdatasync", "rename", "clone3", "pidfd_open"] {
        for turn in 1..=9 {
            let (mut daemon, puppets) = daemon();
            let what = format!("signal=KILL:when={turn}");
            let killed = run_tampered(&mut daemon, call, &what);
            let told = daemon.log_text().contains("restart 1 of 3");
            // The call may also come while it ends.
            let killed = killed || daemon.stop().is_none();
            daemon.run();
            let service = daemon.wait_status("web", "ok");
            let (log, restarts) = (daemon.log_text(), service["restarts"].as_u64());
            let context = format!("{call} {turn}: {service}\n{log}");
            assert!(!log.contains("damaged") && !log.contains("set aside"), "{context}");
            assert!(!told || restarts >= Some(1), "{context}");
            assert!(restarts <= Some(2), "{context}");
            assert_eq!(processes_with(&puppets).len(), 1, "{context}");
            assert_eq!(daemon.stop(), Some(0), "{context}");
            assert_eq!(processes_with(&puppets), [0; 0], "{context}");
            if !killed {
                break; // it makes no more of these calls
            }
        }
    }
}

/// A call that fails once is no reason to end, nor to restart what is well.
#[test]
fn a_call_that_fails_is_gone_through() {
    if !can_trace("a_call_that_fails_is_gone_through") {
        return;
    }
    let calls = [
        ("pwrite64", "ENOSPC"),
        ("pwrite64", "EIO"),
        ("fdatasync", "EIO"),
        ("socket", "EMFILE"),
        ("socket", "ENOBUFS"),
        ("connect", "EAGAIN"),
        ("epoll_ctl", "ENOMEM"),
        ("epoll_wait", "EINTR"),
        ("pipe2", "EMFILE"),
        ("pidfd_open", "EMFILE"),
        ("clone3", "EAGAIN"),
        ("accept4", "EMFILE"),
        ("recvfrom", "EINTR"),
    ];
    for (call, errno) in calls {
        // The first ones belong to the beginning, where a daemon that cannot begin may say so.
        let (mut daemon, puppets) = daemon();
        let what = format!("error={errno}:when=6+9");
        let ended = run_tampered(&mut daemon, call, &what);
        let context = format!("{call} {errno}:\n{}", daemon.log_text());
        assert!(!ended, "{context}");
        // A question may meet the call that fails: who asked asks again.
        let service = wait_for("the service to be well", || {
            let service = daemon.status()?["services"][0].clone();
            (service["status"] == "ok").then_some(service)
        });
        assert_eq!(service["restarts"], 1, "{context}");
        assert_eq!(daemon.stop(), Some(0), "{context}");
        wait_for("the service to be gone", || processes_with(&puppets).is_empty().then_some(()));
    }
}
