//! Commands with a deadline.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use giveover::reactor::{
    Done, End, Exit, Keep, Notice, Order, Reactor, Room, Runner, Signals, SpawnError, Token, procfs,
};
use giveover_core::time::Instant;
use nix::errno::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::bench::{
    Bench, Rooms, descriptors, limit_that_leaves, resident, running, shared_descriptors,
};

impl Rooms for Runner<u32> {
    fn ready(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        Runner::ready(self, reactor, token, now);
    }

    fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        Runner::due(self, reactor, token, now);
    }
}

fn run(bench: &mut Bench, runner: &mut Runner<u32>, words: &[&str], ms: u32) -> Done<u32> {
    let mut program = bench.program(words);
    let order =
        Order { program: &mut program, until: bench.after(ms), keep: Keep::All, leave: false };
    let now = bench.now();
    runner.start(&mut bench.reactor, 7, order, now);
    let done = bench.until(runner, |runner, _| runner.done());
    assert_eq!(done.key, 7);
    assert!(runner.done().is_none(), "once");
    done
}

fn shell(bench: &mut Bench, runner: &mut Runner<u32>, script: &str, ms: u32) -> Done<u32> {
    run(bench, runner, &["sh", "-c", script], ms)
}

fn bench() -> (Bench, Runner<u32>) {
    (Bench::new(), Runner::new(Room::Command))
}

const ZEROS: &str = "0000000000000000";
const OK: End = End::Exit(Some(Exit::Status(0)));

#[test]
fn the_status_and_the_output_come_back() {
    let (mut bench, mut runner) = bench();
    let done = shell(&mut bench, &mut runner, "echo one; echo two >&2; exit 3", 5000);
    assert_eq!(done.end, End::Exit(Some(Exit::Status(3))));
    assert_eq!(done.output, b"one\ntwo\n");
    assert_eq!(done.line().as_deref(), Some("one"));
    let done = shell(&mut bench, &mut runner, "kill -9 $$", 5000);
    assert_eq!(done.end, End::Exit(Some(Exit::Signal(9))));
    bench.until_childless(&mut runner);
}

#[test]
fn a_child_gets_no_descriptor_of_ours_and_a_session_of_its_own() {
    let (mut bench, mut runner) = bench();
    let script = "ls /proc/self/fd | tr '\\n' ' '; cut -d' ' -f6 /proc/$$/stat; echo $$; \
                  grep -E 'Sig(Blk|Ign)' /proc/$$/status | tr -d '\\n\\t'";
    let done = shell(&mut bench, &mut runner, script, 5000);
    let text = String::from_utf8(done.output).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // Whoever runs the tests may have left descriptors open for everyone. And the last one of
    // the list is the list itself.
    let (fds, session) = lines[0].rsplit_once(' ').unwrap();
    let fds: HashSet<u32> = fds.split(' ').map(|fd| fd.parse().unwrap()).collect();
    let ours = shared_descriptors();
    assert!(fds.iter().filter(|fd| !ours.contains(fd)).count() <= 1, "{fds:?}, not {ours:?}");
    assert_eq!(session, lines[1], "{text}");
    // The two that the C library keeps for itself are of no interest.
    assert_eq!(lines[2].replace("180000000", "000000000"), format!("SigBlk:{0}SigIgn:{0}", ZEROS));
    bench.until_childless(&mut runner);
}

// req 0.43
#[test]
fn a_flood_of_output_is_read_and_forgotten() {
    let (mut bench, mut runner) = bench();
    shell(&mut bench, &mut runner, "true", 5000);
    let before = resident();
    let script = "head -c 1048576 /dev/zero >&2; head -c 52428800 /dev/zero | tr '\\0' '\\377'";
    let done = shell(&mut bench, &mut runner, script, 20_000);
    assert_eq!(done.end, OK);
    assert_eq!(done.output.len(), 64 << 10);
    assert!(resident() < before + 4096, "{} KiB, were {before}", resident());
    bench.until_childless(&mut runner);
}

#[test]
fn output_without_end_ends_at_the_deadline() {
    let (mut bench, mut runner) = bench();
    let done = run(&mut bench, &mut runner, &["yes"], 200);
    assert_eq!(done.end, End::TimedOut);
    assert_eq!(done.line().as_deref(), Some("y"));
    bench.until_childless(&mut runner);
}

#[test]
fn a_grandchild_that_holds_the_pipe_delays_nothing_and_is_gone() {
    let (mut bench, mut runner) = bench();
    let done = shell(&mut bench, &mut runner, "sleep 7001 & echo ok", 10_000);
    assert_eq!((done.end, done.line().as_deref()), (OK, Some("ok")));
    bench.until_childless(&mut runner);
    assert!(running(&["sleep", "7001"]).is_empty());
}

#[test]
fn a_grandchild_in_a_session_of_its_own_is_gone_too() {
    let (mut bench, mut runner) = bench();
    for script in [
        "setsid sleep 7002 & echo ok",
        "setsid sleep 7002 >/dev/null 2>&1 & echo ok",
        "(setsid sh -c 'setsid sleep 7002 & setsid sleep 7002' >/dev/null 2>&1 &); echo ok",
    ] {
        let done = shell(&mut bench, &mut runner, script, 10_000);
        assert_eq!((done.end, done.line().as_deref()), (OK, Some("ok")));
        bench.until_childless(&mut runner);
        bench.until(&mut runner, |runner, _| runner.is_idle().then_some(()));
        assert!(running(&["sleep", "7002"]).is_empty());
    }
}

// req 0.46
#[test]
fn at_the_deadline_the_whole_tree_is_killed() {
    let (mut bench, mut runner) = bench();
    shell(&mut bench, &mut runner, "true", 5000);
    let before = descriptors();
    for _ in 0..20 {
        for script in [
            "trap '' TERM; sleep 7003 & sleep 7003 & wait",
            "setsid sleep 7003 & (setsid setsid sleep 7003 &) ; wait; sleep 7003",
            "env -i setsid sh -c 'sleep 7003 & sleep 7003; wait' & wait",
        ] {
            let done = shell(&mut bench, &mut runner, script, 40);
            assert_eq!(done.end, End::TimedOut);
            bench.until_childless(&mut runner);
        }
    }
    assert!(running(&["sleep", "7003"]).is_empty());
    bench.until(&mut runner, |runner, _| runner.is_idle().then_some(()));
    assert_eq!(descriptors(), before);
}

#[test]
fn a_tree_that_forks_on_is_killed() {
    let (mut bench, mut runner) = bench();
    let bomb = "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & wait; sleep 7004; }; }; f 8";
    let train = "i=0; while [ $i -lt 300 ]; do setsid sleep 7004 & i=$((i+1)); done; wait";
    for (script, ms) in [(bomb, 20), (bomb, 150), (train, 20), (train, 150), (train, 600)] {
        let done = shell(&mut bench, &mut runner, script, ms);
        assert_eq!(done.end, End::TimedOut);
        bench.until_childless(&mut runner);
        assert!(running(&["sleep", "7004"]).is_empty());
    }
}

#[test]
fn an_exit_at_the_deadline_ends_the_run_either_way() {
    let (mut bench, mut runner) = bench();
    let (mut exits, mut late) = (0, 0);
    shell(&mut bench, &mut runner, "true", 5000);
    let before = descriptors();
    let mut deadline = 20; // follows the exit, however long this machine takes until it
    for _ in 0..200 {
        match shell(&mut bench, &mut runner, "trap '' TERM; sleep 0.015", deadline).end {
            OK => {
                exits += 1;
                deadline = (deadline - 1).max(5);
            }
            End::TimedOut => {
                late += 1;
                deadline += 1 + deadline / 20;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(exits > 0 && late > 0, "{exits} exits, {late} late");
    bench.until_childless(&mut runner);
    bench.until(&mut runner, |runner, _| runner.is_idle().then_some(()));
    assert_eq!(descriptors(), before);
}

#[test]
fn two_hundred_rounds_leave_nothing() {
    let (mut bench, mut runner) = bench();
    run(&mut bench, &mut runner, &["true"], 5000);
    let before = descriptors();
    for _ in 0..200 {
        assert_eq!(run(&mut bench, &mut runner, &["true"], 5000).end, OK);
    }
    assert_eq!(descriptors(), before);
    bench.until_childless(&mut runner);
}

// req 0.48
#[test]
fn what_cannot_be_run_is_told_from_what_we_lack() {
    let (mut bench, mut runner) = bench();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (words, errno) in [
        ("/nowhere/nothing".to_owned(), Errno::ENOENT),
        ("no-such-program-anywhere".to_owned(), Errno::ENOENT),
        (file("plain", "#!/bin/sh\n", 0o644), Errno::EACCES),
        (file("lost", "#!/no/such/interpreter\n", 0o755), Errno::ENOENT),
        (file("none", "just text\n", 0o755), Errno::ENOEXEC),
        (directory.path().to_str().unwrap().to_owned(), Errno::EACCES),
    ] {
        let done = run(&mut bench, &mut runner, &[&words], 5000);
        assert_eq!(done.end, End::NotRun(SpawnError::CannotRun(errno)), "{words}");
    }
    let limit = getrlimit(Resource::Nofile);
    for spare in 0..4 {
        let few = Some(limit_that_leaves(spare));
        setrlimit(Resource::Nofile, Rlimit { current: few, maximum: limit.maximum }).unwrap();
        let done = run(&mut bench, &mut runner, &["/bin/true"], 5000);
        setrlimit(Resource::Nofile, limit).unwrap();
        // A pipe needs two; the pidfd gets the one that was kept for it.
        let lack = End::NotRun(SpawnError::Lack(Errno::EMFILE));
        assert_eq!(done.end, if spare < 2 { lack } else { OK }, "{spare} to spare");
        bench.until_childless(&mut runner);
    }
    assert_eq!(run(&mut bench, &mut runner, &["true"], 5000).end, OK);
}

#[test]
fn a_run_can_be_cancelled_once() {
    let (mut bench, mut runner) = bench();
    let mut program = bench.program(&["sh", "-c", "setsid sleep 7005 & sleep 7005"]);
    let order =
        Order { program: &mut program, until: bench.after(9000), keep: Keep::Line, leave: false };
    let now = bench.now();
    let run = runner.start(&mut bench.reactor, 1, order, now).unwrap();
    assert!(runner.is_there(run));
    runner.cancel(&mut bench.reactor, run, now);
    runner.cancel(&mut bench.reactor, run, now);
    assert_eq!(runner.done().map(|done| done.end), Some(End::Cancelled));
    bench.until_childless(&mut runner);
    assert!(!runner.is_there(run) && runner.done().is_none());
}

#[test]
fn what_is_meant_to_stay_stays() {
    let (mut bench, mut runner) = bench();
    let mut program = bench.program(&["sh", "-c", "setsid sleep 7006 & sleep 7006 & exit 0"]);
    let order =
        Order { program: &mut program, until: bench.after(9000), keep: Keep::Line, leave: true };
    let now = bench.now();
    runner.start(&mut bench.reactor, 1, order, now);
    assert_eq!(bench.until(&mut runner, |runner, _| runner.done()).end, OK);
    let mut left = Vec::new();
    bench.until(&mut runner, |runner, reactor| {
        left = reactor.children.orphans();
        (left.len() == 2 && runner.is_idle()).then_some(())
    });
    for pid in left {
        let start = procfs::stat(pid).unwrap().start;
        giveover::reactor::Member { start, pid }.signal(rustix::process::Signal::KILL).unwrap();
    }
    bench.until_childless(&mut runner);
}

#[test]
fn reaping_orphans_steals_nobodys_status() {
    let (mut bench, mut runner) = bench();
    // Owned and dead before anybody looks, beside orphans that are dead too.
    let mut program = bench.program(&["sh", "-c", "(setsid sh -c 'exit 9' &); exit 7"]);
    let instance = bench.reactor.children.instance();
    let child = bench.reactor.children.spawn(&mut program, instance, Default::default()).unwrap();
    bench.until(&mut runner, |_, _| (!child.is_running()).then_some(()));
    bench.until(&mut runner, |_, reactor| reactor.children.orphans().is_empty().then_some(()));
    assert!(bench.reactor.children.owns(child.pid()));
    let end = bench.reactor.children.reap(child);
    assert_eq!(end, giveover::reactor::Look::Gone(Some(Exit::Status(7))));
    bench.until_childless(&mut runner);
}

#[test]
fn signals_come_as_notices() {
    struct Nobody;
    impl Rooms for Nobody {
        fn ready(&mut self, _: &mut Reactor, _: Token, _: Instant) {}
        fn due(&mut self, _: &mut Reactor, _: Token, _: Instant) {}
    }
    let mut bench = Bench::new();
    let token = Token::new(Room::Daemon, 0, 0);
    let mut signals = Signals::new(&bench.reactor, token).unwrap();
    assert_eq!(signals.take().count(), 0);
    for signal in [nix::libc::SIGHUP, nix::libc::SIGUSR1, nix::libc::SIGHUP] {
        signal_hook::low_level::raise(signal).unwrap();
    }
    let mut ready = Vec::new();
    bench.reactor.wait(Some(Duration::from_secs(5)), &mut ready).unwrap();
    assert_eq!(ready.first().map(|ready| ready.token), Some(token));
    assert_eq!(signals.take().collect::<Vec<_>>(), [Notice::Reload, Notice::Report]);
    assert_eq!(signals.take().count(), 0);
    let mut program = bench.program(&["true"]);
    let instance = bench.reactor.children.instance();
    let child = bench.reactor.children.spawn(&mut program, instance, Default::default()).unwrap();
    let child_died = |_: &mut Nobody, _: &mut Reactor| signals.child_ended().then_some(());
    bench.until(&mut Nobody, child_died);
    bench.reactor.children.reap(child);
}
