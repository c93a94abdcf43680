//! Services that are processes of ours.

use std::fs;
use std::path::Path;

use giveover::config::plan::{
    Combine, GoesTo, LeftToUnit, ProcessPlan, Run, ServicePlan, StopMethod, Terms,
};
use giveover::reactor::{Cgroups, Exit, Instance, Member, Reactor, Token, procfs};
use giveover::service::{Adoption, Event, Host, Identity, Services};
use giveover_core::failure::Cause;
use giveover_core::policy::{Limits, Policy, Scope};
use giveover_core::time::{Instant, Span};
use nix::errno::Errno;
use nix::libc;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::bench::{Bench, Rooms, descriptors, running};

impl Rooms for Services {
    fn ready(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        Services::ready(self, reactor, token, now);
    }

    fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        Services::due(self, reactor, token, now);
    }
}

/// A bench with one service, number 3.
pub(crate) struct Site {
    pub(crate) bench: Bench,
    pub(crate) services: Services,
    pub(crate) directory: TempDir,
}

pub(crate) const WEB: u32 = 3;

pub(crate) fn host(directory: &Path) -> Host {
    Host {
        helper: env!("CARGO_BIN_EXE_giveover").to_owned(),
        journal: None,
        cgroups: None,
        systemctl: vec!["/nowhere/systemctl".to_owned()],
        poll: Span::from_millis(50),
        node: "here".to_owned(),
        state: directory.display().to_string(),
    }
}

pub(crate) fn plan(run: Run, stop_timeout: u32) -> ServicePlan {
    let limits = Limits {
        start_timeout: Span::from_millis(3000),
        stop_timeout: Span::from_millis(stop_timeout),
        ..Limits::DEFAULT
    };
    let terms = Terms {
        preset: None,
        run,
        validate: None,
        ladder: Vec::new(),
        combine: Combine::Heaviest,
        needs: Vec::new(),
        policy: Policy::new(limits, Scope::USUAL).expect("a policy").0.into(),
        giveover: GoesTo::Nobody,
        network: false,
        stops_when_spent: false,
        left_to_unit: LeftToUnit::default(),
        sources: [].into(),
    };
    ServicePlan { name: "web".into(), checks: [].into_iter().collect(), terms: terms.into() }
}

pub(crate) fn process(start: &[&str]) -> ProcessPlan {
    ProcessPlan {
        start: start.iter().map(|word| (*word).to_owned()).collect(),
        forks: false,
        stop: StopMethod::Signal(libc::SIGTERM),
        user: None,
        group: None,
        dir: None,
        env: Vec::new(),
    }
}

fn script(text: &str) -> ProcessPlan {
    process(&["sh", "-c", text])
}

impl Site {
    pub(crate) fn new(run: Run, stop_timeout: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let host = host(directory.path());
        Self::on(host, directory, run, stop_timeout)
    }

    pub(crate) fn on(host: Host, directory: TempDir, run: Run, stop_timeout: u32) -> Self {
        let mut bench = Bench::new();
        let mut services = Services::new(host);
        let now = bench.now();
        services.add(&mut bench.reactor, WEB, &plan(run, stop_timeout), now).expect("a service");
        Self { bench, services, directory }
    }

    fn of(process: ProcessPlan) -> Self {
        Self::new(Run::Process(Box::new(process)), 5000)
    }

    /// Other services over the same state.
    fn other(site: &Self, process: ProcessPlan) -> Services {
        let mut services = Services::new(host(site.directory.path()));
        let plan = plan(Run::Process(Box::new(process)), 5000);
        let mut reactor = Reactor::new().expect("a reactor");
        services.add(&mut reactor, WEB, &plan, site.bench.now()).expect("a service");
        services
    }

    pub(crate) fn event(&mut self) -> Event {
        self.bench.until(&mut self.services, |services, _| {
            services.event().map(|(service, event)| {
                assert_eq!(service, WEB);
                event
            })
        })
    }

    pub(crate) fn start(&mut self) -> Event {
        let now = self.bench.now();
        self.services.start(&mut self.bench.reactor, WEB, now);
        self.event()
    }

    pub(crate) fn stop(&mut self) -> Event {
        let now = self.bench.now();
        self.services.stop(&mut self.bench.reactor, WEB, now);
        self.event()
    }

    /// Starts it and says its main process.
    fn run(&mut self) -> u32 {
        match self.start() {
            Event::Started { pid: Some(pid), identity: Some(identity) } => {
                assert_eq!(identity.pid, pid);
                assert_eq!(self.services.pid(WEB), Some(pid));
                pid
            }
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a file of ours is there.
    fn until_file(&mut self, name: &str) {
        let path = self.directory.path().join(name);
        self.bench.until(&mut self.services, |_, _| path.exists().then_some(()));
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn quiet(&mut self) {
        assert_eq!(self.services.event(), None);
        self.bench.until_childless(&mut self.services);
        assert_eq!(self.services.event(), None);
    }
}

fn signal(pid: u32, signal: Signal) {
    Member::of(pid).expect("a process").signal(signal).expect("a signal");
}

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
