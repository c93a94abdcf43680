//! Bad days: stopped monitors, commands without end or manners, answers without end.

use std::fs;
use std::io::Write;
use std::net::TcpListener;

use giveover_tests::{Daemon, free_port, processes_with, wait_for};
use rustix::process::Signal;

const QUICK: &str = "[policy.default]\n\
     thorough_probe_interval = \"200ms\"\n\
     probe_timeout  = \"2s\"\n\
     retry_interval = \"60s\"\n";

/// A monitor that did not run judges nothing by the time it missed.
#[test]
fn a_stopped_monitor_blames_no_service() {
    let (port, puppet) = (free_port(), env!("CARGO_BIN_EXE_puppet"));
    let daemon = Daemon::start(&format!(
        "{QUICK}\
         [service.web]\n\
         start = [\"{puppet}\", \"{port}\", \"$DIR/mood\"]\n\
         check.page = \"http://127.0.0.1:{port}/\"\n\
         check.self = {{ command = [\"/bin/sleep\", \"0.1\"] }}\n\
         policy = {{ start_grace = \"0s\" }}\n"
    ));
    let generation = daemon.wait_status("web", "ok")["generation"].clone();
    for milliseconds in [100, 700, 1500, 3000] {
        daemon.signal(Signal::STOP);
        std::thread::park_timeout(std::time::Duration::from_millis(milliseconds));
        daemon.signal(Signal::CONT);
        let service = daemon.wait_status("web", "ok");
        assert_eq!(service["failure_sum"], 0, "after {milliseconds} ms: {service}");
        assert_eq!(service["generation"], generation, "after {milliseconds} ms: {service}");
    }
    let events = daemon.events("web");
    assert!(!events.iter().any(|event| event["event"] == "failure"), "{events:?}");
}

/// Each of these costs one probe and leaves no process.
// req 0.46 0.47
#[test]
fn commands_without_manners_cost_one_probe_each_and_leave_nothing() {
    let id = std::process::id(); // a fraction of a second that only our sleeps have
    let daemon = Daemon::start(&format!(
        "{QUICK}\
         [service.flood]\n\
         check.c = {{ command = [\"/bin/sh\", \"-c\", \"yes giveover-flood-$$GIVEOVER_SERVICE >&2\"] }}\n\
         [service.fork]\n\
         check.c = {{ command = [\"/bin/sh\", \"-c\", \"sleep 4242.{id} & sleep 4242.{id} & wait\"] }}\n\
         [service.deaf]\n\
         check.c = {{ command = [\"/bin/sh\", \"-c\", \"trap '' TERM INT HUP; sleep 4243.{id}\"] }}\n\
         [service.leaver]\n\
         check.c = {{ command = [\"/bin/sh\", \"-c\", \"setsid sleep 4244.{id} & exit 0\"] }}\n\
         [service.fine]\n\
         check.c = {{ command = [\"/bin/true\"] }}\n"
    ));
    for name in ["flood", "fork", "deaf"] {
        daemon.wait_event(name, "failure");
    }
    daemon.wait_status("leaver", "ok");
    daemon.wait_status("fine", "ok");
    let before = descriptors(daemon.pid()) + 4;
    let fine = || daemon.service("fine")["checks"][0]["at"].clone();
    let mut seen = Vec::new();
    wait_for("ten more cycles beside them", || {
        let at = fine();
        if !seen.contains(&at) {
            seen.push(at);
        }
        (seen.len() > 10).then_some(())
    });
    assert_eq!(daemon.service("fine")["status"], "ok");
    // How many commands are in flight at one look is chance; what leaked never comes back.
    wait_for("no more descriptors than before", || {
        (descriptors(daemon.pid()) <= before).then_some(())
    });
    let mut daemon = daemon;
    assert_eq!(daemon.stop(), Some(0));
    for marker in ["4242", "4243", "4244"] {
        let marker = format!("sleep {marker}.{id}");
        wait_for(&marker, || processes_with(&marker).is_empty().then_some(()));
    }
    wait_for("the flood", || processes_with("giveover-flood").is_empty().then_some(()));
}

fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors").count()
}

/// One byte now and then, and as fast as it goes: both end at the deadline or the cap.
#[test]
fn an_answer_without_end_ends_at_the_deadline_and_at_the_cap() {
    let (slow, fast) = (endless(false), endless(true));
    let daemon = Daemon::start(&format!(
        "{QUICK}\
         [service.slow]\n\
         check.page = \"http://127.0.0.1:{slow}/\"\n\
         [service.fast]\n\
         check.page = {{ url = \"http://127.0.0.1:{fast}/\", body = \"never there\", cap = \"64KiB\" }}\n"
    ));
    for name in ["slow", "fast"] {
        let failure = daemon.wait_event(name, "failure");
        assert_eq!(failure["weight"], 50, "{failure}");
    }
}

/// A server whose answer never ends.
fn endless(fast: bool) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ");
                if fast {
                    let _ = stream.write_all(b"y\r\n\r\n");
                }
                let block = [b'a'; 16 * 1024];
                let piece: &[u8] = if fast { &block } else { &block[..1] };
                while stream.write_all(piece).is_ok() {
                    if !fast {
                        std::thread::park_timeout(std::time::Duration::from_millis(100));
                    }
                }
            });
        }
    });
    port
}

/// No descriptors: the monitor cannot measure, says so, and restarts nothing.
#[test]
fn without_descriptors_nothing_is_measured_and_nothing_restarted() {
    let (port, puppet) = (free_port(), env!("CARGO_BIN_EXE_puppet"));
    let daemon = Daemon::start(&format!(
        "{QUICK}\
         [service.web]\n\
         start = [\"{puppet}\", \"{port}\", \"$DIR/mood\"]\n\
         check.page = \"http://127.0.0.1:{port}/\"\n\
         check.self = {{ command = [\"/bin/true\"] }}\n"
    ));
    let service = daemon.wait_status("web", "ok");
    let (generation, open) = (service["generation"].clone(), descriptors(daemon.pid()) as u64);
    let pid = rustix::process::Pid::from_raw(daemon.pid() as i32);
    let limit = |most: u64| {
        let limit = rustix::process::Rlimit { current: Some(most), maximum: Some(20_000) };
        rustix::process::prlimit(pid, rustix::process::Resource::Nofile, limit).expect("a limit");
    };
    limit(open.saturating_sub(2));
    // The control socket cannot be asked meanwhile; the log tells.
    wait_for("it to say so", || daemon.log_text().contains("cannot measure").then_some(()));
    limit(10_000);
    let service = daemon.wait_status("web", "ok");
    assert_eq!(service["generation"], generation, "nothing was restarted: {service}");
    assert_eq!(service["failure_sum"], 0);
}

/// Every error of a file in one run, each with its place; a running daemon goes on.
#[test]
fn every_error_of_a_file_is_said_at_once() {
    let daemon = Daemon::start(&format!("{QUICK}[service.a]\ncheck.c = \"tcp://127.0.0.1:1\"\n"));
    daemon.write_config(
        "[policy.default]\n\
         retry_interval = 300\n\
         probe_timeout = \"5 parsecs\"\n\
         [service.a]\n\
         chekc.c = \"tcp://127.0.0.1:1\"\n\
         needs = [\"b\"]\n\
         [service.b]\n\
         needs = [\"a\"]\n\
         check.c = \"tcp://nowhere\"\n",
    );
    let checked = daemon.cli(&["check", &daemon.config().display().to_string()]);
    let text = giveover_tests::text_of(&checked);
    assert_eq!(checked.status.code(), Some(3), "{text}");
    for part in ["300s", "parsecs", "did you mean `check`", "needs", "port"] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    let refused = daemon.cli(&["reload"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(daemon.status().is_some(), "the old configuration goes on");
    daemon.wait_status("a", "faulted");
}
