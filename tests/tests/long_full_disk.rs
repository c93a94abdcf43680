//! A full disk under the journal: told loudly, no healthy service restarted, no failure lost.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use giveover_tests::{Daemon, free_port, text_of, wait_for};

const INSIDE: &str = "GIVEOVER_TEST_FULL_DISK";
const NAME: &str = "a_full_disk_restarts_nothing_and_loses_no_failure";

/// Runs itself in a mount namespace of its own, where the state directory is a small tmpfs.
#[test]
fn a_full_disk_restarts_nothing_and_loses_no_failure() {
    if std::env::var_os(INSIDE).is_some() {
        return fill_and_drain();
    }
    let ours = std::env::current_exe().expect("a program");
    let mut refused = String::new();
    for flags in [&["--mount"][..], &["--map-root-user", "--mount"]] {
        let mut command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", "mount -t tmpfs none /mnt && exec \"$@\"", "sh"]);
        command.arg(&ours).args([NAME, "--exact", "--nocapture"]).env(INSIDE, "1");
        let output = command.output().expect("unshare runs");
        refused = text_of(&output);
        if refused.contains("running 1 test") {
            assert!(output.status.success(), "{refused}");
            return;
        }
    }
    println!("skipped: {NAME}: root: no namespace for mounts is to be had: {refused}");
}

fn fill_and_drain() {
    let (port, puppet) = (free_port(), env!("CARGO_BIN_EXE_puppet"));
    let text = format!(
        "[policy.default]\n\
         thorough_probe_interval = \"50ms\"\n\
         probe_timeout  = \"2s\"\n\
         retry_interval = \"10m\"\n\
         start_grace    = \"0s\"\n\
         [service.web]\n\
         start = [\"{puppet}\", \"{port}\", \"$DIR/mood\"]\n\
         check.page = {{ url = \"http://127.0.0.1:{port}/\", weights = {{ answer = 1 }} }}\n"
    );
    let mut daemon = Daemon::start_in(&text, &[], |dir| {
        let state = dir.join("state");
        fs::create_dir(&state).expect("a directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256k,mode=0700", "none"]).arg(&state);
        assert!(mount.status().expect("mount runs").success());
    });
    let generation = daemon.wait_status("web", "ok")["generation"].clone();

    let filler = daemon.dir.path().join("state").join("filler");
    let mut file = File::create(&filler).expect("a file");
    while file.write_all(&[1]).is_ok() {} // to the last byte
    let journal = |daemon: &Daemon| daemon.status().expect("an answer")["host"]["journal"].clone();
    wait_for("the journal to be told as failing", || {
        // What is written meanwhile may still fit into a page it has.
        while file.write_all(&[1]).is_ok() {}
        (journal(&daemon) != "ok").then_some(())
    });
    assert!(daemon.log_text().contains("journal"), "{}", daemon.log_text());
    let service = daemon.service("web");
    assert_eq!((&service["status"], &service["generation"]), (&"ok".into(), &generation));

    // A failure counts as ever, though it cannot be written down yet.
    daemon.mood("503");
    daemon.wait_event("web", "failure");
    daemon.mood("ok");
    let service = daemon.wait_status("web", "ok");
    let sum = service["failure_sum"].as_u64().expect("a sum");
    assert!(sum > 0, "{service}");
    assert_eq!(service["generation"], generation, "{service}");

    fs::remove_file(&filler).expect("room again");
    drop(file);
    wait_for("the journal to be told as well again", || (journal(&daemon) == "ok").then_some(()));
    daemon.kill();
    daemon.run();
    let service = daemon.wait_status("web", "ok");
    assert_eq!(service["failure_sum"], sum, "{service}");
    assert_eq!(service["generation"], generation, "{service}");
}
