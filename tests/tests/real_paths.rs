//! `path` checks of real files, by the daemon.

use giveover_tests::{Daemon, wait_for};

#[test]
fn a_path_that_goes_or_grows_old_is_a_failure_and_recovers() {
    let service = |name: &str, more: &str| {
        format!(
            "[service.{name}]\ncheck.file = {{ kind = \"path\", path = \"$DIR/a $$ file\"{more} }}\n\
             policy = {{ thorough_probe_interval = \"200ms\", probe_timeout = \"20s\", \
             retry_interval = \"600s\", failover_mode = \"log_only\" }}\n\
             allow = [\"watched-only\"]\n"
        )
    };
    let text = [service("there", ""), service("fresh", ", age = \"1h\"")].concat();
    let text = text.replace("$$", "$");
    let daemon = Daemon::start_in(&text, &[], |dir| {
        std::fs::write(dir.join("a $ file"), "x").expect("a file");
    });
    daemon.wait_status("there", "ok");
    daemon.wait_status("fresh", "ok");
    let file = daemon.dir.path().join("a $ file");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    let handle = std::fs::File::options().append(true).open(&file).expect("the file");
    handle.set_modified(long_ago).expect("an older file");
    let failure = daemon.wait_event("fresh", "failure");
    assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"exit".into()), "{failure}");
    std::fs::remove_file(&file).expect("gone");
    let failure = daemon.wait_event("there", "failure");
    assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"exit".into()), "{failure}");
    std::fs::write(&file, "x").expect("a file");
    wait_for("both to be ok again", || {
        let ok = |name: &str| daemon.service(name)["checks"][0]["outcome"] == "healthy";
        (ok("there") && ok("fresh")).then_some(())
    });
}
