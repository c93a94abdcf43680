//! Processes that an earlier monitor began: taken over, left alone, or ended.

use std::fs;

use giveover::config::plan::{ProcessPlan, Run, StopMethod};
use giveover::reactor::{Instance, Member, procfs};
use giveover::service::{Adoption, Event, Identity};
use nix::libc;
use rustix::process::Signal;

use crate::bench::{descriptors, running};
use crate::site::{Site, WEB, host, plan, process, signal};

/// A process that is not our child, as one is that an earlier monitor began.
fn stranger(site: &mut Site, instance: &str) -> u32 {
    let state = site.directory.path().display();
    let marks = format!("GIVEOVER_SERVICE=web GIVEOVER_STATE={state} GIVEOVER_INSTANCE={instance}");
    bystander(site, &format!("env {marks} setsid"))
}

/// The same, begun by `how`.
fn bystander(site: &mut Site, how: &str) -> u32 {
    let script = format!("{how} sleep 7112 & echo $! > pid; wait");
    let mut parent = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(site.directory.path())
        .spawn()
        .unwrap();
    site.bench.until(&mut site.services, |_, _| running(&["sleep", "7112"]).pop());
    let path = site.path("pid");
    let pid = site
        .bench
        .until(&mut site.services, |_, _| fs::read_to_string(&path).ok()?.trim().parse().ok());
    // The loop reaps it as an orphan.
    let _ = parent.try_wait();
    pid
}

const ELSEWHERE: &str = "1-1-7";

fn sleeper() -> Site {
    Site::of(process(&["sleep", "7112"]))
}

#[test]
fn a_process_of_an_earlier_monitor_is_ours_again() {
    let mut site = sleeper();
    let pid = stranger(&mut site, ELSEWHERE);
    let identity = identity_of(pid);
    let now = site.bench.now();
    let adopted = site.services.adopt(&mut site.bench.reactor, WEB, &identity, now);
    assert_eq!(adopted, Adoption::Adopted { pid });
    assert_eq!(site.services.identity(WEB), Some(identity));
    signal(pid, Signal::KILL);
    // Not our child: its end is heard at once, and nobody can tell how it was.
    assert_eq!(site.event(), Event::Died { pid: Some(pid), exit: None });
    assert_eq!(site.stop(), Event::Stopped);
    let pid = site.run();
    assert_ne!(pid, identity.pid);
    assert_eq!(site.stop(), Event::Stopped);
    site.quiet();
}

fn identity_of(pid: u32) -> Identity {
    let environment = procfs::environment(pid).unwrap();
    let instance = Instance::find(&environment).unwrap();
    Identity::of(pid, instance).unwrap()
}

#[test]
fn an_adopted_process_can_be_stopped() {
    let mut site = sleeper();
    let pid = stranger(&mut site, ELSEWHERE);
    let now = site.bench.now();
    site.services.adopt(&mut site.bench.reactor, WEB, &identity_of(pid), now);
    assert_eq!(site.stop(), Event::Stopped);
    assert_eq!(Member::of(pid), None);
    site.quiet();
}

#[test]
fn a_forged_identity_never_gets_a_signal() {
    let mut site = sleeper();
    let pid = bystander(&mut site, "setsid");
    let other = Instance { monitor: 2, since: 2, number: 2 };
    let real = Identity::of(pid, other).unwrap();
    for forged in [
        // The number was given to another since; another boot; both.
        Identity { start: real.start + 1, ..real },
        Identity { boot: [7; 16], ..real },
        Identity { boot: [7; 16], start: real.start - 1, ..real },
        Identity { pid: 1, start: real.start, ..real },
        Identity { pid: u32::MAX, ..real },
        Identity { pid: 0, start: 0, ..real },
    ] {
        let now = site.bench.now();
        let adopted = site.services.adopt(&mut site.bench.reactor, WEB, &forged, now);
        assert_eq!(adopted, Adoption::Gone, "{forged:?}");
        assert_eq!(site.stop(), Event::Stopped);
        assert!(Member::of(pid).is_some(), "{forged:?}");
    }
    signal(pid, Signal::KILL);
    site.quiet();
}

#[test]
fn the_rest_of_a_tree_is_found_by_its_mark_though_the_main_process_is_gone() {
    let mut site = sleeper();
    let pid = stranger(&mut site, ELSEWHERE);
    let real = identity_of(pid);
    // Its main process has gone, and its number is another's.
    let identity = Identity { start: real.start + 1, ..real };
    let now = site.bench.now();
    let adopted = site.services.adopt(&mut site.bench.reactor, WEB, &identity, now);
    assert_eq!(adopted, Adoption::Gone);
    assert_eq!(site.stop(), Event::Stopped);
    assert_eq!(Member::of(pid), None);
    site.quiet();
}

#[test]
fn what_outlives_its_main_process_and_hid_its_mark_is_found_by_its_session() {
    let title = "$0 = 'x' x 4000; sleep 7115 while 1";
    let perl = ["perl", "-e", "sleep 7116"];
    let mut site = Site::of(process(&perl));
    let directory = site.directory.path().display().to_string();
    // As a monitor that was killed had it: a main process of the service's program, and a worker.
    let script = format!(
        "use POSIX; POSIX::setsid(); open my $f, '>', '{directory}/main'; print $f $$; close $f; \
         unless (fork) {{ {title} }} sleep 7114"
    );
    let mut main = std::process::Command::new("perl").args(["-e", &script]).spawn().unwrap();
    let overwritten = |pid: &u32| procfs::mark(*pid) == procfs::Mark::Overwritten;
    let pid = main.id();
    let worker = site
        .bench
        .until(&mut site.services, |_, _| procfs::children(pid).into_iter().find(overwritten));
    let identity = Identity::of(pid, Instance { monitor: 0, since: 0, number: 0 }).unwrap();
    signal(pid, Signal::KILL);
    main.wait().unwrap();
    let now = site.bench.now();
    // Another service's program, or an older process of that number: not this one's.
    let mut others = Site::other(&site, process(&["sleep", "7116"]));
    let adopted = others.adopt(&mut site.bench.reactor, WEB, &identity, now);
    assert_eq!(adopted, Adoption::Gone);
    others.stop(&mut site.bench.reactor, WEB, now);
    assert_eq!(others.event(), Some((WEB, Event::Stopped)));
    assert!(Member::of(worker).is_some());
    let adopted = site.services.adopt(&mut site.bench.reactor, WEB, &identity, now);
    assert_eq!(adopted, Adoption::Gone);
    let fresh = site.run();
    assert_eq!(Member::of(worker), None, "it ran on beside the new one");
    assert_ne!(fresh, pid);
    assert_eq!(site.stop(), Event::Stopped);
    site.quiet();
}

#[test]
fn a_frozen_service_hears_that_it_is_to_stop() {
    let command = StopMethod::Command(["sh", "-c", "kill $$(cat pid)"].map(str::to_owned).into());
    for stop in [StopMethod::Signal(libc::SIGTERM), command] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pid");
        let plan = ProcessPlan {
            stop: match stop {
                StopMethod::Command(mut words) => {
                    words[2] = words[2].replace("pid", &path.display().to_string());
                    StopMethod::Command(words)
                }
                other => other,
            },
            ..process(&["sleep", "7117"])
        };
        let host = host(directory.path());
        // With this time-out it would be killed after eight minutes.
        let mut site = Site::on(host, directory, Run::Process(Box::new(plan)), 600_000);
        let pid = site.run();
        fs::write(&path, pid.to_string()).unwrap();
        signal(pid, Signal::STOP);
        site.bench.until(&mut site.services, |_, _| {
            procfs::stat(pid).is_some_and(|stat| stat.state == b'T').then_some(())
        });
        assert_eq!(site.stop(), Event::Stopped);
        site.quiet();
    }
}

#[test]
fn a_service_whose_monitor_died_before_it_wrote_anything_down_is_found() {
    let mut site = sleeper();
    let pid = stranger(&mut site, ELSEWHERE);
    let now = site.bench.now();
    site.services.begin(&mut site.bench.reactor, WEB, now);
    let found = Event::Found { running: true, enabled: false, pid: Some(pid) };
    assert_eq!(site.event(), found);
    assert_eq!(site.stop(), Event::Stopped);
    site.quiet();
}

#[test]
fn a_start_makes_no_second_one_beside_it_and_a_stop_ends_it() {
    let mut site = sleeper();
    let pid = stranger(&mut site, ELSEWHERE);
    assert_eq!(site.run(), pid);
    signal(pid, Signal::KILL);
    assert_eq!(site.event(), Event::Died { pid: Some(pid), exit: None });
    site.quiet();
    drop(site);
    let mut site = sleeper();
    let pid = stranger(&mut site, ELSEWHERE);
    assert_eq!(site.stop(), Event::Stopped);
    assert_eq!(Member::of(pid), None);
    site.quiet();
}

#[test]
fn what_a_dead_instance_left_is_not_taken_for_the_service() {
    let mut site = sleeper();
    let state = site.directory.path().display().to_string();
    let marks =
        format!("GIVEOVER_SERVICE=web GIVEOVER_STATE={state} GIVEOVER_INSTANCE={ELSEWHERE}");
    // Not the leader of its session, so it was not what a monitor began.
    let left = bystander(&mut site, &format!("env {marks}"));
    let pid = site.run();
    assert_ne!(pid, left);
    site.bench.until(&mut site.services, |_, _| running(&["sleep", "7112"]).pop());
    assert_eq!(running(&["sleep", "7112"]), [pid]);
    assert_eq!(site.stop(), Event::Stopped);
    site.quiet();
}

#[test]
fn a_service_whose_monitor_lives_is_left_alone() {
    let mut site = sleeper();
    let me = Member::of(std::process::id()).unwrap();
    let pid = stranger(&mut site, &format!("{:x}-{:x}-7", me.pid, me.start));
    let now = site.bench.now();
    site.services.begin(&mut site.bench.reactor, WEB, now);
    assert_eq!(site.event(), Event::Found { running: false, enabled: false, pid: None });
    assert!(Member::of(pid).is_some());
    signal(pid, Signal::KILL);
    site.quiet();
}

#[test]
fn a_service_that_is_let_go_of_runs_on() {
    let mut site = sleeper();
    let pid = site.run();
    let now = site.bench.now();
    let before = descriptors();
    site.services.remove(&mut site.bench.reactor, WEB, now);
    assert_eq!(descriptors(), before - 1);
    assert!(Member::of(pid).is_some());
    signal(pid, Signal::KILL);
    site.quiet();
}

#[test]
fn a_new_plan_and_a_new_number_leave_what_runs_alone() {
    let mut site = sleeper();
    let pid = site.run();
    let now = site.bench.now();
    let other = plan(Run::Process(Box::new(process(&["sleep", "7113"]))), 5000);
    site.services.add(&mut site.bench.reactor, WEB, &other, now).unwrap();
    assert_eq!(site.services.pid(WEB), Some(pid));
    site.services.renumber(&mut site.bench.reactor, now, |number| (number == WEB).then_some(8));
    assert_eq!(site.services.pid(8), Some(pid));
    site.services.renumber(&mut site.bench.reactor, now, |number| (number == 8).then_some(WEB));
    assert_eq!(site.stop(), Event::Stopped);
    let pid = site.run();
    site.bench.until(&mut site.services, |_, _| running(&["sleep", "7113"]).pop());
    assert_eq!(running(&["sleep", "7113"]), [pid]);
    assert_eq!(site.stop(), Event::Stopped);
    site.quiet();
}
