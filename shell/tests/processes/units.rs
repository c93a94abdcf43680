//! Services that are units of systemd, behind a stand-in for `systemctl`.
//!
//! What the stand-in says of a unit is a file, which a test writes as systemd would have it.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command};

use giveover::config::plan::{LeftToUnit, Run};
use giveover::reactor::{Exit, Member};
use giveover::service::{Event, Host};
use giveover_core::failure::Cause;
use rustix::process::Signal;

use crate::site::{Site, WEB, host, plan};

/// Speaks as `systemctl` does: `show` prints what stands in the files, `start` and `stop` do
/// what stands in files of these names.
const SYSTEMCTL: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 9
echo "$*" >> log
shift # --no-ask-password
verb=$1
while [ "$1" != -- ]; do shift; done
shift
case $verb in
show)
    for unit; do
        cat "$unit" 2>/dev/null || printf 'LoadState=not-found\nActiveState=inactive\n'
        echo
    done ;;
*) [ -x "./do-$verb" ] || { echo "Failed to $verb $1: no such job" >&2; exit 5; }
   "./do-$verb" "$1" ;;
esac
"#;

struct System {
    site: Site,
    properties: BTreeMap<&'static str, String>,
    main: Option<Child>,
}

impl Drop for System {
    fn drop(&mut self) {
        if let Some(mut main) = self.main.take() {
            let _ = main.kill();
            let _ = main.wait();
        }
    }
}

impl System {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let systemctl = directory.path().join("systemctl");
        fs::write(&systemctl, SYSTEMCTL).unwrap();
        rustix::fs::chmod(&systemctl, 0o755.into()).unwrap();
        let mut host: Host = host(directory.path());
        host.systemctl = vec![systemctl.display().to_string()];
        let site = Site::on(host, directory, Run::Unit("web.service".to_owned()), 5000);
        let mut system = Self { site, properties: BTreeMap::new(), main: None };
        system.set(&[
            ("LoadState", "loaded"),
            ("ActiveState", "inactive"),
            ("SubState", "dead"),
            ("Result", "success"),
            ("MainPID", "0"),
            ("NRestarts", "0"),
            ("UnitFileState", "disabled"),
            ("TimeoutStartUSec", "1min 30s"),
            ("TimeoutStopUSec", "infinity"),
        ]);
        system
    }

    /// Writes what `systemctl show` is to say; in one step, since it may be read meanwhile.
    fn set(&mut self, values: &[(&'static str, &str)]) {
        self.properties.extend(values.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let lines = self.properties.iter().map(|(name, value)| format!("{name}={value}\n"));
        let text: String = lines.collect();
        let path = self.site.directory.path();
        fs::write(path.join("new"), text).unwrap();
        fs::rename(path.join("new"), path.join("web.service")).unwrap();
    }

    /// The unit runs, with a main process of its own.
    fn up(&mut self, invocation: &str) -> u32 {
        let main = Command::new("sleep").arg("7301").spawn().unwrap();
        let pid = main.id();
        self.main = Some(main);
        self.set(&[
            ("ActiveState", "active"),
            ("SubState", "running"),
            ("MainPID", &pid.to_string()),
            ("InvocationID", invocation),
            ("Job", ""),
        ]);
        pid
    }

    /// The main process ends; what systemd says of it is left to the test.
    fn kill(&mut self) {
        let pid = self.main.take().map(|main| main.id()).unwrap();
        Member::of(pid).unwrap().signal(Signal::KILL).unwrap();
    }

    /// `verb` does `script`.
    fn job(&self, verb: &str, script: &str) {
        let path = self.site.directory.path().join(format!("do-{verb}"));
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        rustix::fs::chmod(&path, 0o755.into()).unwrap();
    }

    fn begin(&mut self) -> Event {
        let now = self.site.bench.now();
        self.site.services.begin(&mut self.site.bench.reactor, WEB, now);
        self.site.event()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.site.directory.path().join("log")).unwrap()
    }

    /// Waits until systemd has been asked twice more, and nothing came of it.
    fn quiet(&mut self) {
        let asked = self.log().matches(" show ").count();
        let log = self.site.directory.path().join("log");
        self.site.bench.until(&mut self.site.services, |services, _| {
            assert_eq!(services.event(), None);
            let log = fs::read_to_string(&log).unwrap();
            (log.matches(" show ").count() >= asked + 2).then_some(())
        });
    }
}

#[test]
fn what_is_there_is_found() {
    let mut system = System::new();
    assert_eq!(system.begin(), Event::Found { running: false, enabled: false, pid: None });
    assert_eq!(system.site.services.is_running(WEB), Some(false));
    system.set(&[("UnitFileState", "enabled")]);
    assert_eq!(system.begin(), Event::Found { running: false, enabled: true, pid: None });
    let pid = system.up("a");
    let found = Event::Found { running: true, enabled: true, pid: Some(pid) };
    assert_eq!(system.begin(), found);
    assert_eq!(system.site.services.pid(WEB), Some(pid));
    system.quiet();
}

#[test]
fn a_start_is_a_job_after_reset_failed_and_its_process_is_held() {
    let mut system = System::new();
    system.job("reset-failed", "exit 1");
    system.job("start", "cp up web.service");
    let pid = system.up("a");
    let path = system.site.directory.path().to_owned();
    fs::rename(path.join("web.service"), path.join("up")).unwrap();
    let started = Event::Started { pid: Some(pid), identity: None };
    assert_eq!(system.site.start(), started);
    let log = system.log();
    let verbs: Vec<&str> = log.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(verbs[..3], ["reset-failed", "start", "show"]);
    // The death is heard before systemd is asked the next time.
    system.set(&[
        ("ActiveState", "failed"),
        ("SubState", "failed"),
        ("Result", "signal"),
        ("MainPID", "0"),
        ("ExecMainCode", "2"),
        ("ExecMainStatus", "9"),
    ]);
    system.kill();
    let died = Event::Died { pid: Some(pid), exit: Some(Exit::Signal(9)) };
    assert_eq!(system.site.event(), died);
    system.quiet();
}

#[test]
fn a_stop_is_a_job_and_is_proven_by_what_systemd_says() {
    let mut system = System::new();
    system.up("a");
    system.begin();
    let down = "sed -i 's/=active/=inactive/; s/running/dead/; s/MainPID=.*/MainPID=0/' \"$1\"";
    system.job("stop", down);
    assert_eq!(system.site.stop(), Event::Stopped);
    assert_eq!(system.site.services.is_running(WEB), Some(false));
    system.quiet();
    // A job that is done while the unit still runs proves nothing.
    system.up("b");
    assert!(matches!(system.site.event(), Event::StartedByOther { .. }));
    system.job("stop", "exit 0");
    let Event::StopFailed(trouble) = system.site.stop() else { panic!("it stopped") };
    assert!(trouble.words.contains("still active (running)"), "{}", trouble.words);
    system.job("stop", "echo 'Job for web.service canceled.' >&2; exit 1");
    let Event::StopFailed(trouble) = system.site.stop() else { panic!("it stopped") };
    assert!(trouble.words.starts_with("systemctl stop: Job for web.service canceled.; still"));
    assert_eq!(trouble.cause.code, 1);
    // One that fails while the unit is down has nothing to complain about.
    system.job("stop", &format!("{down}; exit 1"));
    assert_eq!(system.site.stop(), Event::Stopped);
}

#[test]
fn a_start_that_fails_says_what_systemd_said() {
    let mut system = System::new();
    system.begin();
    let Event::StartFailed(trouble) = system.site.start() else { panic!("it started") };
    assert_eq!(trouble.words, "systemctl start: Failed to start web.service: no such job");
    assert_eq!(trouble.cause.code, 5);
    system.quiet();
}

#[test]
fn what_others_do_is_told_from_what_the_service_does() {
    let mut system = System::new();
    system.up("a");
    system.begin();
    // A job that is not ours: nothing is said until it is done.
    system.set(&[("ActiveState", "deactivating"), ("SubState", "stop-sigterm"), ("Job", "77")]);
    system.quiet();
    system.set(&[
        ("ActiveState", "inactive"),
        ("SubState", "dead"),
        ("MainPID", "0"),
        ("Job", ""),
        ("ActiveExitTimestampMonotonic", "1000"),
        ("ExecMainExitTimestampMonotonic", "2000"),
    ]);
    assert_eq!(system.site.event(), Event::StoppedByOther);
    system.quiet();
    system.kill();
    let pid = system.up("b");
    assert_eq!(system.site.event(), Event::StartedByOther { pid: Some(pid) });
    // Restarted between two questions.
    let old = system.main.take();
    let pid = system.up("c");
    assert_eq!(system.site.event(), Event::StartedByOther { pid: Some(pid) });
    system.main = system.main.take().or(old);
    system.quiet();
}

// req 1.8
#[test]
fn an_end_with_status_0_is_a_death() {
    let mut system = System::new();
    let pid = system.up("a");
    system.begin();
    system.set(&[
        ("ActiveState", "inactive"),
        ("SubState", "dead"),
        ("MainPID", "0"),
        ("ExecMainCode", "1"),
        ("ExecMainStatus", "0"),
        ("ExecMainExitTimestampMonotonic", "1000"),
        ("ActiveExitTimestampMonotonic", "2000"),
    ]);
    let died = Event::Died { pid: Some(pid), exit: Some(Exit::Status(0)) };
    assert_eq!(system.site.event(), died);
    system.quiet();
}

#[test]
fn what_systemd_heals_is_said_to_be_healed() {
    let mut system = System::new();
    let pid = system.up("a");
    system.begin();
    // Seen while it waits: a death, and then healed.
    system.set(&[
        ("ActiveState", "activating"),
        ("SubState", "auto-restart"),
        ("MainPID", "0"),
        ("ExecMainCode", "2"),
        ("ExecMainStatus", "9"),
    ]);
    let died = Event::Died { pid: Some(pid), exit: Some(Exit::Signal(9)) };
    assert_eq!(system.site.event(), died);
    system.kill();
    system.set(&[("NRestarts", "1")]);
    let pid = system.up("b");
    assert_eq!(system.site.event(), Event::HealedBySystemd { pid: Some(pid), restarts: 1 });
    // Quicker than we could ask.
    system.kill();
    system.set(&[("NRestarts", "2")]);
    let pid = system.up("c");
    assert_eq!(system.site.event(), Event::HealedBySystemd { pid: Some(pid), restarts: 2 });
    system.quiet();
}

#[test]
fn a_process_that_ended_before_systemd_noticed_is_asked_about_again() {
    let mut system = System::new();
    let pid = system.up("a");
    system.begin();
    system.kill();
    // systemd still says it runs.
    system.quiet();
    system.set(&[("ActiveState", "failed"), ("SubState", "failed"), ("MainPID", "0")]);
    assert_eq!(system.site.event(), Event::Died { pid: Some(pid), exit: None });
}

#[test]
fn a_systemd_that_cannot_be_asked_is_said_once() {
    let mut system = System::new();
    system.up("a");
    system.begin();
    let path = system.site.directory.path().to_owned();
    let script = path.join("systemctl");
    let works = fs::read_to_string(&script).unwrap();
    let broken = "#!/bin/sh\necho Failed to connect to bus >&2\nexit 1";
    fs::write(path.join("new"), broken).unwrap();
    rustix::fs::chmod(path.join("new"), 0o755.into()).unwrap();
    fs::rename(path.join("new"), &script).unwrap();
    let event = system.site.event();
    assert_eq!(event, Event::CannotAsk("systemctl: Failed to connect to bus".to_owned()));
    assert_eq!(system.site.services.is_running(WEB), Some(true), "as last known");
    fs::write(path.join("new"), works).unwrap();
    rustix::fs::chmod(path.join("new"), 0o755.into()).unwrap();
    fs::rename(path.join("new"), &script).unwrap();
    system.quiet();
}

#[test]
fn a_job_that_hangs_ends_with_our_limit() {
    let mut system = System::new();
    system.set(&[("TimeoutStartUSec", "1ms")]);
    system.begin();
    system.job("start", "exec sleep 7302");
    let mut plan = plan(Run::Unit("web.service".to_owned()), 5000);
    plan.terms_mut().left_to_unit = LeftToUnit { start_timeout: true, stop_timeout: false };
    let now = system.site.bench.now();
    system.site.services.add(&mut system.site.bench.reactor, WEB, &plan, now).unwrap();
    let Event::StartFailed(trouble) = system.site.start() else { panic!("it started") };
    assert_eq!(trouble.cause.code, Cause::TIMED_OUT);
    // The unit's own limit and the margin. With the plan's it would be 10 s.
    assert!((5000..10_000).contains(&system.site.bench.now().since(now)));
}

#[test]
fn all_units_share_one_question() {
    let mut system = System::new();
    system.begin();
    for service in 10..40 {
        let mut plan = plan(Run::Unit(format!("u{service}.service")), 5000);
        plan.name = format!("u{service}").into();
        let now = system.site.bench.now();
        let reactor = &mut system.site.bench.reactor;
        system.site.services.add(reactor, service, &plan, now).unwrap();
        system.site.services.begin(reactor, service, now);
    }
    let mut found = 0;
    system.site.bench.until(&mut system.site.services, |services, _| {
        while let Some((_, event)) = services.event() {
            assert!(matches!(event, Event::Found { running: false, .. }), "{event:?}");
            found += 1;
        }
        (found == 30).then_some(())
    });
    let shows = system.log().lines().filter(|line| line.contains(" show ")).count();
    assert!(shows <= 10, "{shows} questions for 31 units");
}
