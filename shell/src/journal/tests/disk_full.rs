//! Bad days of the disk: every call fails in turn, for a moment or for long.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::Path;
use std::rc::Rc;

use super::world::{World, essences};
use crate::journal::disk::{Disk, Pending, System};
use crate::journal::{Health, Item, Journal, Note, Options, Place, Reader, recover};
use giveover_core::time::{Instant, Span};
use rustix::io::Errno;

const SMALL: Options = Options { limit_bytes: 3_000, backlog_bytes: 4_000, ..Options::DEFAULT };

/// Which calls fail, how, and how many there were.
#[derive(Default)]
struct Script {
    calls: u64,
    fail_from: u64,
    fail_until: u64,
    errno: i32,
    /// Writes take a few bytes before they fail.
    partly: bool,
    log: Vec<&'static str>,
}

struct Faulty(Rc<RefCell<Script>>);

impl Faulty {
    fn fails(&self, call: &'static str) -> Option<io::Error> {
        let mut script = self.0.borrow_mut();
        script.log.push(call);
        script.calls += 1;
        let fails = (script.fail_from..script.fail_until).contains(&(script.calls - 1));
        fails.then(|| io::Error::from_raw_os_error(script.errno))
    }

    fn or<T>(
        &mut self,
        call: &'static str,
        work: impl FnOnce(&mut System) -> io::Result<T>,
    ) -> io::Result<T> {
        self.fails(call).map_or_else(|| work(&mut System), Err)
    }
}

impl Disk for Faulty {
    fn open(&mut self, path: &Path) -> io::Result<File> {
        self.or("open", |disk| disk.open(path))
    }

    fn create(&mut self, path: &Path) -> io::Result<File> {
        self.or("create", |disk| disk.create(path))
    }

    fn write_at(&mut self, file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
        let Some(error) = self.fails("write") else {
            return System.write_at(file, bytes, at);
        };
        if self.0.borrow().partly && bytes.len() > 9 {
            let _ = System.write_at(file, &bytes[..9], at);
        }
        Err(error)
    }

    fn cut(&mut self, file: &File, length: u64) -> io::Result<()> {
        self.or("cut", |disk| disk.cut(file, length))
    }

    fn sync(&mut self, file: &File) -> io::Result<()> {
        self.or("sync", |_| file.metadata().map(|_| ()))
    }

    fn begin_sync(&mut self, _: File) -> Pending {
        Pending::Over(Some(self.fails("begin_sync").map_or(Ok(()), Err)))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.or("rename", |disk| disk.rename(from, to))
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.or("remove", |disk| disk.remove(path))
    }
}

struct Scene {
    _dir: tempfile::TempDir,
    place: Place,
    script: Rc<RefCell<Script>>,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Place::in_dir(dir.path());
        Self { _dir: dir, place, script: Rc::default() }
    }

    fn open(&self) -> (Journal, crate::journal::Recovered) {
        let disk = Box::new(Faulty(Rc::clone(&self.script)));
        Journal::open_on(disk, self.place.clone(), SMALL).expect("opened")
    }

    fn fail(&self, from: u64, until: u64, errno: Errno, partly: bool) {
        let mut script = self.script.borrow_mut();
        script.fail_from = script.calls + from;
        script.fail_until = script.calls.saturating_add(until);
        (script.errno, script.partly) = (errno.raw_os_error(), partly);
    }

    fn heal(&self) {
        self.script.borrow_mut().fail_until = 0;
    }
}

/// Steps with everything a daemon does for its journal in a turn of its loop. Returns how many
/// records had been acknowledged at the end.
fn turns(world: &mut World, journal: &mut Journal, count: u32) -> u64 {
    let mut acknowledged = 0;
    for _ in 0..count {
        world.step(journal);
        // a daemon flushes before it acts; healthy probes it leaves to `pass`
        if journal.next_seq() % 3 > 0 && journal.flush(world.now) {
            acknowledged = journal.next_seq();
        }
        journal.pass(world.now);
        if journal.wants_compaction(world.now) {
            journal.compact(world.now, world.all());
        }
    }
    acknowledged
}

/// The errno sweep: one call, or all from one on, fail at each place of a run. Killed at the
/// end of the bad day nothing acknowledged is missing; when the day is over nothing is.
#[test]
fn whichever_call_fails_nothing_acknowledged_is_lost() {
    let errnos = [Errno::NOSPC, Errno::IO, Errno::ROFS];
    for at in 0..90u64 {
        for (kind, length) in [1, 2, 5, u64::MAX].into_iter().enumerate() {
            let errno = errnos[(at as usize + kind) % errnos.len()];
            sweep(at, length, errno, at % 2 == 0);
        }
    }
}

fn sweep(at: u64, length: u64, errno: Errno, partly: bool) {
    let what = format!("call {at} and {length} more, {errno:?}");
    let scene = Scene::new();
    scene.fail(at, at.saturating_add(length), errno, partly);
    let mut world = World::new(21);
    let (mut journal, _) = scene.open();
    world.begin(&mut journal);
    let acknowledged = turns(&mut world, &mut journal, 60);

    let killed = recover(&scene.place);
    if acknowledged > 0 {
        let seq = Reader::open(&scene.place).lines().last().map_or(0, |line| line.seq + 1);
        assert!(seq >= acknowledged, "{what}: {seq} of {acknowledged}");
    }
    if acknowledged == journal.next_seq() {
        assert_eq!(essences(&killed), world.essences(), "{what}");
    }

    scene.heal();
    world.now = world.now.after(SMALL.retry);
    turns(&mut world, &mut journal, 2);
    world.now = world.now.after(SMALL.retry);
    turns(&mut world, &mut journal, 1);
    assert!(journal.flush(world.now), "{what}: {:?}", journal.health());
    assert_eq!(journal.health(), Health::Ok, "{what}");
    drop(journal);
    let recovered = recover(&scene.place);
    assert_eq!(essences(&recovered), world.essences(), "{what}");
    assert!(!recovered.report.lost_history(), "{what}: {:?}", recovered.report);
}

#[test]
fn a_full_disk_is_loud_costs_a_call_a_second_and_loses_nothing_that_fits() {
    let scene = Scene::new();
    let (mut journal, _) = scene.open();
    let at = |ms| Instant::from_millis(ms);
    journal.pass(at(0)); // what opening wrote is made safe
    scene.fail(0, u64::MAX, Errno::NOSPC, true);
    let before = scene.script.borrow().calls;
    for ms in 0..3_000 {
        journal.note(at(ms), Note::Named { machine: 0, name: "web".into() });
        assert!(!journal.flush(at(ms)));
        journal.pass(at(ms));
        if ms >= 150 {
            break;
        }
    }
    assert_eq!(scene.script.borrow().calls - before, 2, "one write, one cut");
    let failing = Health::Failing {
        since: at(0),
        errno: Errno::NOSPC.raw_os_error(),
        unwritten: 151,
        lost: 0,
    };
    assert_eq!(journal.health(), failing);
    assert_eq!(journal.poll_timeout(), Some(at(1_000)));
    scene.heal();
    journal.pass(at(1_000));
    assert_eq!(journal.health(), Health::Ok);
    let lines = Reader::open(&scene.place);
    assert_eq!(lines.lines().count(), 151);
}

#[test]
fn what_does_not_fit_is_counted_and_made_up_for_by_a_snapshot() {
    let scene = Scene::new();
    let mut world = World::new(22);
    let (mut journal, _) = scene.open();
    world.begin(&mut journal);
    turns(&mut world, &mut journal, 5);
    scene.fail(0, u64::MAX, Errno::NOSPC, false);
    turns(&mut world, &mut journal, 400);
    let Health::Failing { lost, .. } = journal.health() else { panic!("it is failing") };
    assert!(lost > 0);
    scene.heal();
    world.now = world.now.after(SMALL.retry);
    turns(&mut world, &mut journal, 1);
    assert!(journal.flush(world.now));
    drop(journal);
    let recovered = recover(&scene.place);
    assert_eq!(essences(&recovered), world.essences());
    let reader = Reader::open(&scene.place);
    let told = reader.lines().find_map(|line| match line.item {
        Item::Note { note: Note::Lost { records }, .. } => Some(records),
        _ => None,
    });
    assert!(told.is_some_and(|records| records >= lost), "{told:?} of {lost}");
}

#[test]
fn a_run_that_ended_unwritten_is_told_to_the_next() {
    let scene = Scene::new();
    let (mut journal, _) = scene.open();
    scene.fail(0, u64::MAX, Errno::NOSPC, false);
    journal.note(Instant::from_millis(1), Note::Ended);
    assert!(!journal.flush(Instant::from_millis(1)));
    drop(journal); // killed
    scene.heal();
    let (journal, recovered) = scene.open();
    assert!(recovered.report.unwritten && recovered.report.lost_history());
    journal.end(Instant::from_millis(2)).expect("synced");
    assert!(scene.open().1.report.is_clean());
}

#[test]
fn a_read_only_directory_is_recovered_from_and_gone_on_in_memory() {
    let scene = Scene::new();
    let mut world = World::new(23);
    let (mut journal, _) = scene.open();
    world.begin(&mut journal);
    turns(&mut world, &mut journal, 30);
    journal.flush(world.now);
    drop(journal);
    scene.fail(0, u64::MAX, Errno::ROFS, false);
    let (mut journal, recovered) = scene.open();
    assert_eq!(essences(&recovered), world.essences());
    assert!(recovered.report.unwritable.is_some());
    assert!(matches!(journal.health(), Health::Failing { .. }));
    turns(&mut world, &mut journal, 10);
    assert!(!journal.flush(world.now));
    scene.heal();
    world.now = world.now.after(Span::from_secs(2));
    turns(&mut world, &mut journal, 1);
    assert!(journal.flush(world.now));
    assert_eq!(essences(&recover(&scene.place)), world.essences());
}

/// R20: a reset is on the disk before it happens, also while a generation changes.
#[test]
fn sync_reaches_both_files_and_the_directory() {
    let scene = Scene::new();
    let (mut journal, _) = scene.open();
    let at = Instant::from_millis(1);
    journal.note(at, Note::Ended);
    scene.script.borrow_mut().log.clear();
    journal.compact(at, []);
    journal.note(at, Note::Ended);
    journal.sync(at).expect("synced");
    let log = scene.script.borrow().log.clone();
    let expected = [
        "write",
        "create",
        "write",
        "write",      // its header
        "begin_sync", // compact
        "rename",
        "rename",
        "begin_sync", // it has settled
        "write",
        "sync",
        "sync", // the file, the directory
    ];
    assert_eq!(log, expected);
    scene.fail(0, u64::MAX, Errno::IO, false);
    assert!(journal.sync(at).is_err());
}

/// What a kernel could not make safe it may have dropped, so everything is written anew; and
/// what still waited then is in the snapshot, not behind it.
#[test]
fn after_a_sync_that_failed_everything_is_written_anew_and_once() {
    let scene = Scene::new();
    let mut world = World::new(24);
    let (mut journal, _) = scene.open();
    world.begin(&mut journal);
    journal.flush(world.now);
    world.timeout(0, &mut journal); // waits in the buffer
    scene.fail(0, u64::MAX, Errno::IO, false);
    journal.pass(world.now); // begins a sync
    journal.pass(world.now); // hears that it failed
    assert!(matches!(journal.health(), Health::Failing { .. }));
    scene.heal();
    world.now = world.now.after(SMALL.retry);
    assert_eq!(journal.poll_timeout(), Some(world.now));
    journal.pass(world.now);
    assert!(journal.wants_compaction(world.now));
    journal.compact(world.now, world.all());
    assert!(journal.flush(world.now));
    let recovered = recover(&scene.place);
    assert_eq!(essences(&recovered), world.essences());
    assert!(recovered.report.is_clean(), "{:?}", recovered.report);
    assert_eq!(journal.health(), Health::Ok);
}

/// Else a quiet daemon would be woken for nothing, or hear of a failure with the next one.
#[test]
fn a_sync_is_asked_how_it_went_and_then_nothing_is_due() {
    let scene = Scene::new();
    let (mut journal, _) = scene.open();
    let at = Instant::from_millis;
    journal.pass(at(0)); // what opening wrote is made safe
    journal.note(at(5_000), Note::Ended);
    journal.pass(at(5_000));
    assert_eq!(journal.poll_timeout(), Some(at(6_000)));
    journal.pass(at(6_000));
    assert_eq!(journal.poll_timeout(), None);
}
