//! Services that are processes of ours.

use std::fs;
use std::path::Path;

use giveover::config::plan::{ProcessPlan, Run, StopMethod};
use giveover::reactor::{Cgroups, Exit, Member, procfs};
use giveover::service::Event;
use giveover_core::failure::Cause;
use giveover_core::time::Span;
use nix::errno::Errno;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::bench::{descriptors, running};
use crate::site::{Site, WEB, host, plan, process, script, signal};

// req 1.3
// req 1.8
// req 1.11
#[test]
fn every_end_we_did_not_ask_for_is_a_death() {
    for (text, exit) in [
        ("exit 0", Exit::Status(0)),
        ("exit 3", Exit::Status(3)),
        ("kill -9 $$", Exit::Signal(9)),
        ("sleep 0.05; kill -TERM $$", Exit::Signal(15)),
    ] {
        let mut site = Site::of(script(&text.replace("$$", "$$$$")));
        let pid = site.run();
        assert_eq!(site.event(), Event::Died { pid: Some(pid), exit: Some(exit) });
        assert_eq!(site.services.is_running(WEB), Some(false));
        assert_eq!(site.stop(), Event::Stopped);
        site.quiet();
    }
}

#[test]
fn a_start_and_a_stop_leave_nothing() {
    let mut site = Site::of(process(&["sleep", "7101"]));
    site.run();
    assert_eq!(site.stop(), Event::Stopped);
    let before = descriptors();
    for _ in 0..50 {
        let pid = site.run();
        assert_eq!(site.services.is_running(WEB), Some(true));
        // What runs has started.
        assert!(matches!(site.start(), Event::Started { pid: again, .. } if again == Some(pid)));
        assert_eq!(site.stop(), Event::Stopped);
        assert_eq!(site.stop(), Event::Stopped);
    }
    assert_eq!(descriptors(), before);
    site.quiet();
}

#[test]
fn the_whole_tree_is_gone_after_a_stop() {
    for text in [
        "sleep 7102 & setsid sleep 7102 & (setsid setsid sleep 7102 &); touch up; wait",
        "trap '' TERM; setsid sh -c \"trap '' TERM; sleep 7102 & wait\" & touch up; wait",
        "(env -i setsid sleep 7102 &); touch up; exec sleep 7102",
        "env -i setsid sh -c 'sleep 7102 & wait' & touch up; wait",
    ] {
        let mut plan = script(text);
        let directory = tempfile::tempdir().unwrap();
        plan.start[2] = format!("cd {}; {text}", directory.path().display());
        let host = host(directory.path());
        let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 500);
        site.run();
        site.until_file("up");
        let sleeping = text.matches("7102").count();
        site.bench.until(&mut site.services, |_, _| {
            (running(&["sleep", "7102"]).len() == sleeping).then_some(())
        });
        assert_eq!(site.stop(), Event::Stopped, "{text}");
        if text.contains("(env -i") {
            // Out of the session, without a parent and without its environment it is nobody's.
            assert_eq!(running(&["sleep", "7102"]).len(), 1);
            signal(running(&["sleep", "7102"])[0], Signal::KILL);
        } else {
            assert!(running(&["sleep", "7102"]).is_empty(), "{text}");
        }
        site.quiet();
    }
}

/// A group that is let go at once: its stop limit would be minutes.
#[test]
fn a_stop_that_is_hurried_kills_what_ignores_it_long_before_its_limit() {
    let mut site = Site::new(Run::Process(Box::new(script("trap '' TERM; sleep 7113"))), 600_000);
    let pid = site.run();
    site.bench.until(&mut site.services, |_, _| {
        let children = procfs::children(pid);
        (!children.is_empty()).then_some(())
    });
    let now = site.bench.now();
    site.services.stop(&mut site.bench.reactor, WEB, now);
    site.services.hurry(&mut site.bench.reactor, WEB, Span::from_millis(500), now);
    assert_eq!(site.event(), Event::Stopped);
    site.quiet();
}

// req 0.46
#[test]
fn a_process_that_ignores_the_signal_is_killed_at_80_percent() {
    let mut site = Site::new(Run::Process(Box::new(script("trap '' TERM; sleep 7103"))), 4000);
    let pid = site.run();
    site.bench.until(&mut site.services, |_, _| {
        let children = procfs::children(pid);
        (!children.is_empty()).then_some(())
    });
    let asked = site.bench.now();
    assert_eq!(site.stop(), Event::Stopped);
    let took = site.bench.now().since(asked);
    assert!(took >= 3200, "{took} ms"); // and in time, or it would be a stop that failed
    site.quiet();
}

#[test]
fn after_a_kill_of_the_main_process_a_stop_proves_the_rest_gone() {
    let text = "sleep 7104 & setsid sleep 7104 & touch up; wait";
    let mut site = Site::of(script(text));
    let directory = site.path("");
    let plan_ = plan(Run::Process(Box::new(script(&format!("cd {directory}; {text}")))), 5000);
    let now = site.bench.now();
    site.services.add(&mut site.bench.reactor, WEB, &plan_, now).unwrap();
    let pid = site.run();
    site.until_file("up");
    site.bench
        .until(&mut site.services, |_, _| (running(&["sleep", "7104"]).len() == 2).then_some(()));
    signal(pid, Signal::KILL);
    let died = Event::Died { pid: Some(pid), exit: Some(Exit::Signal(9)) };
    assert_eq!(site.event(), died);
    assert_eq!(running(&["sleep", "7104"]).len(), 2);
    assert_eq!(site.stop(), Event::Stopped);
    assert!(running(&["sleep", "7104"]).is_empty());
    site.quiet();
}

#[test]
fn a_start_first_ends_what_is_left_of_the_old_instance() {
    let stubborn = "trap '' TERM; sh -c \"trap '' TERM; touch up; sleep 7104; wait\" & wait";
    let directory = tempfile::tempdir().unwrap();
    let text = format!("cd {}; {stubborn}", directory.path().display());
    let host = host(directory.path());
    let mut site = Site::on(host, directory, Run::Process(Box::new(script(&text))), 500);
    for _ in 0..2 {
        let pid = site.run();
        site.until_file("up");
        site.bench.until(&mut site.services, |_, _| {
            (running(&["sleep", "7104"]).len() == 1).then_some(())
        });
        fs::remove_file(site.path("up")).unwrap();
        signal(pid, Signal::KILL);
        assert!(matches!(site.event(), Event::Died { .. }));
    }
    // A stop that is asked for meanwhile is what counts.
    let now = site.bench.now();
    site.services.start(&mut site.bench.reactor, WEB, now);
    assert_eq!(site.stop(), Event::Stopped);
    assert!(running(&["sleep", "7104"]).is_empty());
    site.quiet();
}

#[test]
fn a_stop_command_has_its_time_and_then_the_signals_come() {
    // It does its work; it does nothing; it fails; it cannot be run; it never ends.
    for (command, stop_timeout) in [
        ("kill -TERM $(cat pid)", 5000),
        ("true", 500),
        ("echo no >&2; exit 1", 5000),
        ("exec /nowhere/nothing", 5000),
        ("sleep 7105", 500),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().display().to_string();
        let mut plan = script(&format!("cd {at}; echo $$$$ > pid; exec sleep 7106"));
        let command = format!("cd {at}; {command}").replace('$', "$$");
        plan.stop = StopMethod::Command(["sh", "-c", &command].map(str::to_owned).into());
        let host = host(directory.path());
        let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), stop_timeout);
        site.run();
        site.until_file("pid");
        site.bench.until(&mut site.services, |_, _| {
            (!running(&["sleep", "7106"]).is_empty()).then_some(())
        });
        assert_eq!(site.stop(), Event::Stopped, "{command}");
        assert!(running(&["sleep", "7106"]).is_empty());
        site.quiet();
        assert!(running(&["sleep", "7105"]).is_empty());
    }
}

#[test]
fn what_cannot_be_started_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let lost = directory.path().join("lost");
    fs::write(&lost, "#!/no/such/interpreter\n").unwrap();
    rustix::fs::chmod(&lost, 0o755.into()).unwrap();
    let plain = directory.path().join("plain");
    fs::write(&plain, "x").unwrap();
    let missing = Cause::ERRNO + Errno::ENOENT as u16;
    let refused = Cause::ERRNO + Errno::EACCES as u16;
    let in_directory =
        |dir: &str, start: &str| ProcessPlan { dir: Some(dir.into()), ..process(&[start]) };
    let as_user = |user: &str| ProcessPlan { user: Some(user.into()), ..process(&["true"]) };
    for (plan, code, words) in [
        (process(&["/nowhere/nothing"]), missing, "cannot run /nowhere/nothing: No such file"),
        (process(&["no-such-program"]), missing, "cannot run no-such-program"),
        (process(&[lost.to_str().unwrap()]), missing, "cannot run"),
        (process(&[plain.to_str().unwrap()]), refused, "cannot run"),
        (in_directory("/nowhere", "true"), missing, "cannot enter /nowhere"),
        (in_directory("/", "no-such-program"), missing, "cannot run no-such-program"),
        (in_directory("/", lost.to_str().unwrap()), missing, "cannot run"),
        (as_user("no-such-user"), 203, "no such user: no-such-user"),
    ] {
        let mut site = Site::of(plan);
        let event = site.start();
        let Event::StartFailed(trouble) = event else { panic!("{words}: {event:?}") };
        assert_eq!(trouble.cause.code, code, "{}", trouble.words);
        assert!(trouble.words.starts_with(words), "{}", trouble.words);
        assert_eq!(site.stop(), Event::Stopped);
        site.quiet();
    }
}

#[test]
fn a_service_gets_its_user_directory_and_variables() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: root: nobody else becomes another user");
    }
    let directory = tempfile::tempdir().unwrap();
    rustix::fs::chmod(directory.path(), 0o777.into()).unwrap();
    let plan = ProcessPlan {
        user: Some("nobody".into()),
        dir: Some(directory.path().to_owned()),
        env: vec![("GREETING".into(), "hello world".into()), ("HOME".into(), "/h".into())],
        ..script(
            "(id -un; id -Gn; pwd; echo $GREETING $HOME $USER; echo $GIVEOVER_SERVICE \
                 $GIVEOVER_NODE; cat /proc/self/stat | cut -d' ' -f6; \
                 grep SigIgn /proc/self/status) > out; mv out up; exec sleep 7107",
        )
    };
    let mut plan = plan;
    plan.start[2] = plan.start[2].replace('$', "$$");
    let host = host(directory.path());
    let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 5000);
    let pid = site.run();
    site.until_file("up");
    let text = fs::read_to_string(site.path("up")).unwrap();
    let at = fs::canonicalize(site.directory.path()).unwrap();
    let expected = format!(
        "nobody\nnogroup\n{}\nhello world /h nobody\nweb here\n{pid}\n\
         SigIgn:\t0000000000000000\n",
        at.display()
    );
    assert_eq!(text.replace("180000000", "000000000"), expected);
    let identity = site.services.identity(WEB).unwrap();
    assert_eq!(procfs::stat(pid).map(|stat| stat.start), Some(identity.start));
    assert_eq!(site.stop(), Event::Stopped);
    site.quiet();
}

/// Becomes a daemon in the classic way: two forks, a session, no streams.
const DAEMON: &str =
    "(setsid sh -c 'echo $$ > daemon; exec sleep 7108' </dev/null >/dev/null 2>&1 &)";

fn forking(start: &str) -> (TempDir, ProcessPlan) {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("cd {}; {start}", directory.path().display()).replace('$', "$$");
    let plan = ProcessPlan { forks: true, ..script(&text) };
    (directory, plan)
}

#[test]
fn what_a_start_command_leaves_is_the_service() {
    let (directory, plan) = forking(DAEMON);
    let host = host(directory.path());
    let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 5000);
    let pid = site.run();
    let path = site.path("daemon");
    let said = site.bench.until(&mut site.services, |_, _| {
        fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'))
    });
    assert_eq!(said.trim(), pid.to_string());
    signal(pid, Signal::KILL);
    let died = Event::Died { pid: Some(pid), exit: Some(Exit::Signal(9)) };
    assert_eq!(site.event(), died);
    let pid = site.run();
    assert_eq!(site.stop(), Event::Stopped);
    assert_eq!(Member::of(pid), None);
    site.quiet();
}

#[test]
fn the_last_one_gone_is_the_death() {
    let (directory, plan) = forking(&format!("{DAEMON}; {DAEMON}; {DAEMON}"));
    let host = host(directory.path());
    let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 5000);
    site.run();
    site.bench
        .until(&mut site.services, |_, _| (running(&["sleep", "7108"]).len() == 3).then_some(()));
    for left in [2, 1, 0] {
        let pid = site.services.pid(WEB).unwrap();
        signal(pid, Signal::KILL);
        site.bench.until(&mut site.services, |services, _| {
            (services.pid(WEB) != Some(pid)).then_some(())
        });
        assert_eq!(site.services.is_running(WEB), Some(left > 0));
    }
    assert!(matches!(site.event(), Event::Died { exit: Some(Exit::Signal(9)), .. }));
    assert_eq!(site.stop(), Event::Stopped);
    site.quiet();
}

#[test]
fn a_daemon_that_wrote_over_its_environment_is_still_known() {
    // As servers do that show their state in their title: nothing of the mark is left.
    let title = "$0 = 'x' x 4000; sleep 7109 while 1";
    let start = format!("exec perl -e 'use POSIX; fork && exit 0; POSIX::setsid(); {title}'");
    let (directory, plan) = forking(&start);
    let host = host(directory.path());
    let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 5000);
    let pid = site.run();
    assert_eq!(site.stop(), Event::Stopped);
    assert_eq!(Member::of(pid), None);
    site.quiet();
}

#[test]
fn a_start_command_that_fails_or_hangs_has_not_started_anything() {
    for (start, code) in [
        (format!("{DAEMON}; exit 4"), 4),
        (format!("{DAEMON}; kill -9 $$"), 0x109),
        (format!("{DAEMON}; sleep 7110"), Cause::TIMED_OUT),
    ] {
        let (directory, plan) = forking(&start);
        let host = host(directory.path());
        let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 5000);
        let Event::StartFailed(trouble) = site.start() else { panic!("it started: {start}") };
        assert_eq!(trouble.cause.code, code, "{}", trouble.words);
        assert_eq!(site.stop(), Event::Stopped);
        assert!(running(&["sleep", "7108"]).is_empty());
        site.quiet();
    }
    // It exits 0 and leaves nothing: started, and dead.
    let (directory, plan) = forking("true");
    let host = host(directory.path());
    let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 5000);
    assert_eq!(site.start(), Event::Started { pid: None, identity: None });
    assert_eq!(site.event(), Event::Died { pid: None, exit: None });
    site.quiet();
}

#[test]
fn a_stop_ends_a_start_that_is_under_way() {
    let (directory, plan) = forking(&format!("{DAEMON}; sleep 7110"));
    let host = host(directory.path());
    let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 5000);
    let now = site.bench.now();
    site.services.start(&mut site.bench.reactor, WEB, now);
    site.until_file("daemon");
    assert_eq!(site.stop(), Event::Stopped);
    assert!(running(&["sleep", "7108"]).is_empty());
    site.quiet();
}

#[test]
fn a_control_group_holds_what_hides_from_us() {
    let root = Path::new("/sys/fs/cgroup/unified");
    let root = if root.exists() { root } else { Path::new("/sys/fs/cgroup") };
    let own = root.join(format!("giveover-test-{}", std::process::id()));
    if fs::create_dir(&own).is_err() {
        return println!("skipped: cgroup: version 2 is not ours to write here");
    }
    let directory = tempfile::tempdir().unwrap();
    let mut host = host(directory.path());
    host.cgroups = Some(Cgroups::at(own.clone()));
    let text = format!(
        "cd {}; (env -i setsid sleep 7111 &); touch up; exec sleep 7111",
        directory.path().display()
    );
    let mut site = Site::on(host, directory, Run::Process(Box::new(script(&text))), 500);
    site.run();
    site.until_file("up");
    assert_eq!(site.stop(), Event::Stopped);
    assert!(running(&["sleep", "7111"]).is_empty());
    site.quiet();
    fs::remove_dir(own.join("service-web")).unwrap();
    fs::remove_dir(own).unwrap();
}
