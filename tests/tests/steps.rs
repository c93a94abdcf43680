//! `run` reads its configuration in one step and runs it in another; nobody but the memory knows.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use giveover_tests::{Daemon, giveover, wait_for};

const NOTHING: &str = "[service.web]\ncheck.page = \"tcp://127.0.0.1:9\"\n\
                       policy.thorough_probe_interval = \"1h\"\n";

/// Operators find it under its own name, with the words they gave it, where they started it.
#[test]
fn the_daemon_is_found_by_its_name_and_words() {
    let daemon = Daemon::start(NOTHING);
    let proc = format!("/proc/{}", daemon.pid());
    assert_eq!(fs::read_to_string(format!("{proc}/comm")).expect("a name"), "giveover\n");
    let line = fs::read(format!("{proc}/cmdline")).expect("a command line");
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    assert_eq!(words[0], giveover().as_os_str().as_bytes());
    assert_eq!(words[1], b"run");
    assert_eq!(words[2], daemon.config().as_os_str().as_bytes());
    let last = String::from_utf8_lossy(words[words.len() - 1]).into_owned();
    assert!(last.starts_with("--prepared="), "{last}");
    let exe = fs::read_link(format!("{proc}/exe")).expect("a program");
    assert_eq!(exe, giveover().canonicalize().expect("a path"));
}

/// What has been read is left to nobody: not open in the daemon, so in no child either.
#[test]
fn the_plan_is_not_left_open() {
    let daemon = Daemon::start(NOTHING);
    let open = fs::read_dir(format!("/proc/{}/fd", daemon.pid())).expect("descriptors");
    let open: Vec<_> =
        open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
    assert!(!open.is_empty());
    assert!(!open.iter().any(|what| what.to_string_lossy().contains("memfd")), "{open:?}");
}

/// A path that is no text cannot be handed over; then everything happens in one process.
#[test]
fn a_configuration_whose_path_is_no_text_runs_as_well() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join(OsStr::from_bytes(b"caf\xe9.toml"));
    fs::write(&file, NOTHING).expect("a configuration");
    let socket = dir.path().join("control.sock");
    let mut daemon = Command::new(giveover())
        .arg("run")
        .arg(&file)
        .args(["--state".as_ref(), dir.path().as_os_str()])
        .args(["--socket".as_ref(), socket.as_os_str()])
        .stderr(Stdio::null())
        .spawn()
        .expect("a daemon");
    wait_for("its socket", || socket.exists().then_some(()));
    let pid = rustix::process::Pid::from_child(&daemon);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told to stop");
    assert!(daemon.wait().expect("its end").success());
}

/// Whoever types it by hand is told, and nothing is run.
#[test]
fn the_second_step_without_the_first_is_refused() {
    for number in ["0", "99", "4294967295"] {
        let word = format!("--prepared={number}");
        let output = Command::new(giveover())
            .args(["run", &word])
            .stdin(Stdio::null())
            .output()
            .expect("an end");
        assert_eq!(output.status.code(), Some(70), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("giveover run"), "{said}");
    }
}
