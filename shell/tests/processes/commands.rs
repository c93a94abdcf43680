//! Command checks.

use std::fs;
use std::path::PathBuf;

use giveover::check::ProbeId;
use giveover::check::command::{Command, Commands, Told};
use giveover::config::dollar::Values;
use giveover::config::plan::{CommandPlan, ExitTable, Weights};
use giveover::reactor::{Reactor, Token, procfs};
use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use nix::errno::Errno;

use crate::bench::{Bench, Rooms, running};

impl Rooms for Commands {
    fn ready(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        Commands::ready(self, reactor, token, now);
    }

    fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        Commands::due(self, reactor, token, now);
    }
}

const PAGE: ProbeId = ProbeId { service: 2, check: 4, target: 0, cycle: 9 };

const VALUES: Values<'static> = Values {
    service: Some("web"),
    check: Some("page"),
    address: Some("127.0.0.1:80"),
    node: None,
    member: None,
    from: None,
    to: None,
    reason: None,
    token: None,
};

fn command(bench: &Bench, words: &[&str], missing: Option<Weight>) -> Command {
    let argv = words.iter().map(|word| (*word).to_owned()).collect();
    let plan = CommandPlan {
        looks: giveover::config::look::Looks::No,
        argv,
        exit: ExitTable::Plain,
        missing,
    };
    let environment = bench.reactor.children.environment();
    Command::new(&plan, &Weights::DEFAULT, &VALUES, environment).unwrap()
}

fn probe(bench: &mut Bench, commands: &mut Commands, command: &mut Command, ms: u32) -> Told {
    let now = bench.now();
    commands.start(&mut bench.reactor, PAGE, command, Span::from_millis(ms), now);
    let told = bench.until(commands, |commands, _| commands.answer());
    assert_eq!(told.answer.id, PAGE);
    assert_eq!(commands.answer(), None, "once");
    told
}

fn exit(code: u16) -> Cause {
    Cause::of_check(4, Phase::Exit, code)
}

fn failed(code: u16) -> ProbeResult {
    ProbeResult::Failed(Weight::COMPLETE, exit(code))
}

// req 1.14
// req 1.17
#[test]
fn the_status_is_the_answer_and_the_first_line_its_detail() {
    let (mut bench, mut commands) = (Bench::new(), Commands::new());
    for (script, result, line) in [
        ("exit 0", ProbeResult::Healthy, None),
        ("echo 3 ms; exit 0", ProbeResult::Healthy, Some("3 ms")),
        ("echo >&2; echo lag 9s >&2; exit 2", failed(2), Some("lag 9s")),
        ("kill -SEGV $$$$", failed(0x10b), None),
        ("echo $SERVICE/$CHECK $GIVEOVER_CHECK", ProbeResult::Healthy, None),
    ] {
        let script = script.replace("$GIVEOVER_CHECK", "$$GIVEOVER_ADDRESS");
        let mut command = command(&bench, &["sh", "-c", &script], None);
        let told = probe(&mut bench, &mut commands, &mut command, 5000);
        assert_eq!(told.answer.result, result, "{script}");
        let line = if script.contains('/') { Some("web/page 127.0.0.1:80") } else { line };
        assert_eq!(told.line.as_deref(), line, "{script}");
    }
    bench.until_childless(&mut commands);
}

// req 0.46
// req 0.47
// req 0.48
#[test]
fn what_does_not_end_or_run_has_its_documented_meaning() {
    let (mut bench, mut commands) = (Bench::new(), Commands::new());
    let mut late = command(&bench, &["sh", "-c", "sleep 7201; exit 0"], None);
    let told = probe(&mut bench, &mut commands, &mut late, 100);
    assert_eq!(told.answer.result, failed(Cause::TIMED_OUT));
    assert!(told.answer.elapsed_ms >= 100);
    bench.until_childless(&mut commands);
    let missing = exit(Cause::ERRNO + Errno::ENOENT as u16);
    let mut nothing = command(&bench, &["/nowhere/nothing"], None);
    let told = probe(&mut bench, &mut commands, &mut nothing, 5000);
    assert_eq!(told.answer.result, ProbeResult::CannotMeasure(missing));
    let mut nothing = command(&bench, &["/nowhere/nothing"], Some(Weight::HALF));
    let told = probe(&mut bench, &mut commands, &mut nothing, 5000);
    assert_eq!(told.answer.result, ProbeResult::Failed(Weight::HALF, missing));
    bench.until_childless(&mut commands);
    assert!(running(&["sleep", "7201"]).is_empty());
}

// req 0.42
// req 0.43
// req 0.47
// req 0.48
#[test]
fn fsinfo_is_half_a_failure_whatever_goes_wrong_with_it() {
    let (mut bench, mut commands) = (Bench::new(), Commands::new());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fsinfo");
    let half = |code| ProbeResult::Failed(Weight::HALF, exit(code));
    for (script, within, result) in [
        (
            "#!/bin/sh\n[ \"$*\" = '-server 127.0.0.1:7100' ]; s=$?; yes | head -n 99999; exit $s",
            30_000,
            ProbeResult::Healthy,
        ),
        ("#!/bin/sh\nexit 1", 30_000, half(1)),
        ("#!/bin/sh\nsleep 7202", 500, half(Cause::TIMED_OUT)),
        ("#!/nowhere/sh\n", 30_000, half(Cause::ERRNO + Errno::ENOENT as u16)),
    ] {
        fs::write(&path, script).unwrap();
        rustix::fs::chmod(&path, 0o755.into()).unwrap();
        let environment = bench.reactor.children.environment();
        let fsinfo = path.to_str().unwrap();
        let mut command = Command::fsinfo(fsinfo, "127.0.0.1:7100", &VALUES, environment).unwrap();
        assert_eq!(command.words(), format!("{fsinfo} -server 127.0.0.1:7100"));
        let told = probe(&mut bench, &mut commands, &mut command, within);
        assert_eq!((told.answer.result, told.line), (result, None), "{script}");
        bench.until_childless(&mut commands);
    }
    bench.until_childless(&mut commands);
}

#[test]
fn a_voided_probe_is_answered_void_and_leaves_nothing() {
    let (mut bench, mut commands) = (Bench::new(), Commands::new());
    let mut long = command(&bench, &["sleep", "7203"], None);
    let now = bench.now();
    for target in 0..5 {
        let id = ProbeId { target, ..PAGE };
        commands.start(&mut bench.reactor, id, &mut long, Span::from_secs(60), now);
    }
    commands.void(&mut bench.reactor, now);
    for target in 0..5 {
        let told = commands.answer().unwrap();
        assert_eq!((told.answer.id.target, told.answer.result), (target, ProbeResult::Void));
    }
    bench.until_childless(&mut commands);
    bench.until(&mut commands, |commands, _| commands.is_idle().then_some(()));
    assert_eq!(commands.answer(), None);
}

/// A control group whose processes not even KILL ends while it is frozen: what a process
/// asleep in the kernel looks like from outside.
struct Ice(PathBuf);

impl Ice {
    fn new() -> Option<Self> {
        let path = PathBuf::from("/sys/fs/cgroup/freezer");
        let path = path.join(format!("giveover-test-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        Some(Self(path))
    }

    fn thaw(&self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
    }
}

impl Drop for Ice {
    fn drop(&mut self) {
        self.thaw();
        for _ in 0..200 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn one_that_cannot_be_killed_is_the_only_one_and_said_aloud() {
    let mut bench = Bench::new();
    let mut commands = Commands::new();
    let Some(ice) = Ice::new() else {
        return println!("skipped: cgroup: only the freezer of version 1 is as hard as that");
    };
    let at = ice.0.display();
    let script = format!("echo $$$$ > {at}/cgroup.procs; echo FROZEN > {at}/freezer.state");
    let mut frozen = command(&bench, &["sh", "-c", &script], None);
    let told = probe(&mut bench, &mut commands, &mut frozen, 200);
    assert_eq!(told.answer.result, failed(Cause::TIMED_OUT));
    for _ in 0..5 {
        let told = probe(&mut bench, &mut commands, &mut frozen, 200);
        let busy = exit(Cause::ERRNO + Errno::EBUSY as u16);
        assert_eq!(told.answer.result, ProbeResult::CannotMeasure(busy));
    }
    assert_eq!(procfs::children(std::process::id()).len(), 1);
    // Another check is none the worse for it.
    let mut fine = command(&bench, &["true"], None);
    let (now, other) = (bench.now(), ProbeId { check: 5, ..PAGE });
    commands.start(&mut bench.reactor, other, &mut fine, Span::from_secs(5), now);
    let told = bench.until(&mut commands, |commands, _| commands.answer());
    assert_eq!((told.answer.id, told.answer.result), (other, ProbeResult::Healthy));
    let stuck = bench.until(&mut commands, |commands, _| commands.stuck());
    assert_eq!((stuck.key, stuck.refused), (PAGE, None));
    assert_eq!(procfs::children(std::process::id()), [stuck.pid]);
    ice.thaw();
    bench.until_childless(&mut commands);
    assert_eq!(commands.stuck(), None);
    let mut fine = command(&bench, &["true"], None);
    let told = probe(&mut bench, &mut commands, &mut fine, 5000);
    assert_eq!(told.answer.result, ProbeResult::Healthy);
}
