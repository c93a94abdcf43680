//! Writing, compacting, and going on where another run ended.

use super::world::{World, essences};
use crate::clock::{BootId, Clock, Reading, carry_on};
use crate::journal::{
    Health, Hold, HostBudget, Journal, Note, OpenError, Options, Place, Process, Run, recover,
};
use giveover_core::time::Instant;

const SMALL: Options = Options { limit_bytes: 4_000, ..Options::DEFAULT };

fn place() -> (tempfile::TempDir, Place) {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::in_dir(dir.path().join("state"));
    (dir, place)
}

fn open(place: &Place) -> (Journal, crate::journal::Recovered) {
    Journal::open(place.clone(), SMALL).expect("opened")
}

fn settle(journal: &mut Journal, now: Instant) {
    while place_has_next(journal) {
        std::thread::yield_now();
        journal.pass(now);
    }
}

fn place_has_next(journal: &Journal) -> bool {
    journal.place().next().exists()
}

/// Random runs, ended by a crash each, through several generations.
// req 0.52
#[test]
fn machines_are_the_same_after_any_number_of_crashes() {
    let mut generations = 0;
    for seed in 1..=12 {
        let (_dir, place) = place();
        let mut world = World::new(seed);
        let (mut journal, recovered) = open(&place);
        assert!(recovered.report.first_run && recovered.report.is_clean());
        world.begin(&mut journal);
        for run in 0..8 {
            for _ in 0..60 {
                world.step(&mut journal);
                journal.pass(world.now);
                if journal.wants_compaction(world.now) {
                    journal.compact(world.now, world.all());
                    generations += 1;
                }
            }
            assert!(journal.flush(world.now));
            let seq = journal.next_seq();
            let ledger = journal.ledger().clone();
            drop(journal); // no farewell: as after a kill
            let looked = recover(&place);
            assert_eq!(essences(&looked), world.essences(), "seed {seed}, run {run}");
            let (next, recovered) = open(&place);
            assert_eq!(essences(&recovered), world.essences(), "seed {seed}, run {run}");
            assert!(recovered.report.is_clean(), "{:?}", recovered.report);
            assert_eq!(recovered.ledger, ledger);
            assert_eq!((next.next_seq(), next.health()), (seq, Health::Ok));
            journal = next;
        }
    }
    assert!(generations > 20, "{generations} generations");
}

#[test]
fn a_journal_keeps_to_its_size_and_one_generation_before() {
    let (_dir, place) = place();
    let mut world = World::new(3);
    let (mut journal, _) = open(&place);
    world.begin(&mut journal);
    let mut largest = 0;
    for _ in 0..3_000 {
        world.step(&mut journal);
        journal.flush(world.now);
        if journal.wants_compaction(world.now) {
            journal.compact(world.now, world.all());
            settle(&mut journal, world.now);
        }
        largest = largest.max(std::fs::metadata(place.current()).expect("there").len());
    }
    assert!(largest < 8_000, "{largest} bytes");
    let mut names: Vec<_> = std::fs::read_dir(place.dir())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("plain"))
        .collect();
    names.sort();
    assert_eq!(names, ["journal", "journal.1", "journal.lock"]);
}

#[test]
fn records_written_while_a_generation_settles_are_in_both() {
    let (_dir, place) = place();
    let mut world = World::new(4);
    let (mut journal, _) = open(&place);
    world.begin(&mut journal);
    for _ in 0..20 {
        world.step(&mut journal);
    }
    journal.compact(world.now, world.all());
    for _ in 0..20 {
        world.step(&mut journal);
        journal.flush(world.now);
    }
    assert_eq!(essences(&recover(&place)), world.essences(), "the old file");
    std::fs::rename(place.next(), place.current()).expect("renamed");
    assert_eq!(essences(&recover(&place)), world.essences(), "the new file");
}

/// A crash at each point between the snapshot and its rename.
#[test]
fn a_crash_between_snapshot_and_rename_loses_nothing() {
    let (_dir, place) = place();
    let mut world = World::new(5);
    let (mut journal, _) = open(&place);
    world.begin(&mut journal);
    for _ in 0..50 {
        world.step(&mut journal);
    }
    journal.flush(world.now);
    let old = std::fs::read(place.current()).expect("there");
    journal.compact(world.now, world.all());
    settle(&mut journal, world.now);
    let new = std::fs::read(place.current()).expect("there");
    let seq = journal.next_seq();
    drop(journal);

    let write = |path, bytes: Option<&[u8]>| match bytes {
        Some(bytes) => std::fs::write(path, bytes).expect("written"),
        None => {
            let _ = std::fs::remove_file(path);
        }
    };
    for cut in (0..new.len()).step_by(7).map(|cut| Some(&new[..cut])).chain([Some(&new[..])]) {
        write(place.current(), Some(&old));
        write(place.next(), cut);
        write(place.earlier(1), None);
        let (journal, recovered) = open(&place);
        assert_eq!(essences(&recovered), world.essences());
        assert!(recovered.report.is_clean() && !place.next().exists());
        assert_eq!(journal.next_seq(), seq);
    }
    for next in [&new[..], &new[..new.len() / 2], &[]] {
        write(place.current(), None);
        write(place.next(), Some(next));
        write(place.earlier(1), Some(&old));
        let (journal, recovered) = open(&place);
        assert_eq!(essences(&recovered), world.essences());
        assert_eq!(recovered.report.is_clean(), next.len() == new.len());
        assert_eq!(journal.next_seq(), seq);
    }
}

#[test]
fn a_second_daemon_is_refused_with_the_number_of_the_first() {
    let (_dir, place) = place();
    let (_journal, _) = open(&place);
    match Journal::open(place.clone(), SMALL) {
        Err(OpenError::Running { pid, file }) => {
            assert_eq!((pid, file), (Some(std::process::id()), place.lock()));
        }
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn a_directory_that_is_none_is_refused() {
    let (dir, _) = place();
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("written");
    let refused = Journal::open(Place::in_dir(file.join("state")), SMALL);
    assert!(matches!(refused, Err(OpenError::Unusable { .. })));
}

#[test]
fn the_directory_and_its_files_are_ours_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_dir, place) = place();
    let (_journal, _) = open(&place);
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    };
    assert_eq!(mode(place.dir()), 0o700);
    assert_eq!(mode(&place.current()), 0o600);
    assert_eq!(mode(&place.lock()), 0o600);
}

#[test]
fn notes_survive_crash_and_compaction() {
    let (_dir, place) = place();
    let mut world = World::new(6);
    let (mut journal, _) = open(&place);
    world.begin(&mut journal);
    let at = world.now;
    let hold = Hold { who: "ops".into(), why: "broker upgrade".into(), until: Some(at) };
    let process = Process { pid: 812, start_time: 99, boot: BootId::read() };
    journal.note(at, Note::Held { machine: 1, hold: hold.clone() });
    journal.note(at, Note::Process { machine: 2, process });
    journal.note(at, Note::Charged { budget: HostBudget::Resets });
    journal.compact(at, world.all());
    settle(&mut journal, at);
    journal.forget(at, 0);
    journal.sync(at).expect("synced");
    drop(journal);

    let (journal, recovered) = open(&place);
    assert!(recovered.report.is_clean(), "{:?}", recovered.report);
    let number = |name: &str| recovered.machines.get(name).map(|machine| machine.number);
    assert_eq!(number("service-0"), None);
    let held = recovered.ledger.service(1).and_then(|service| service.hold());
    assert_eq!(held, Some((at, &hold)));
    assert_eq!(recovered.ledger.service(2).and_then(|service| service.process()), Some(process));
    assert_eq!(recovered.ledger.charges(HostBudget::Resets).collect::<Vec<_>>(), [at]);
    assert!(journal.ledger().service(0).is_none());
}

/// R21: down time of the daemon counts, down time of the machine does not.
#[test]
fn records_keep_their_age_across_crash_and_reboot() {
    let (_dir, place) = place();
    let boots = ["0f0e1d2c-3b4a-5968-7786-95a4b3c2d1e0", "1f0e1d2c-3b4a-5968-7786-95a4b3c2d1e0"];
    let boots = boots.map(BootId::parse);
    let reading = |ms| Reading { monotonic_ms: ms, boottime_ms: ms, wall_ms: 1_000_000 + ms };
    // (boot, monotonic at start, monotonic at the last entry, the time line at start)
    let runs = [
        (0, 50_000_u64, 80_000_u64, 50_000),
        (0, 95_000, 99_000, 95_000),
        (1, 4_000, 10_000, 99_000),
        (1, 30_000, 31_000, 125_000),
        (0, 2_000_000, 2_000_100, 126_000),
    ];
    for (boot, start_ms, last_ms, expected) in runs {
        let (mut journal, recovered) = open(&place);
        let previous = recovered.ledger.previous();
        let offset = carry_on(previous.as_ref(), boots[boot], start_ms);
        let clock = Clock::at(reading(start_ms), offset);
        assert_eq!(clock.anchor().at, Instant::from_millis(expected));
        journal.note(clock.anchor().at, Note::Run(Run::this(&clock, boots[boot])));
        let last = Instant::from_millis(last_ms.saturating_add_signed(offset));
        journal.note(last, Note::Wall { wall_ms: 1 });
        journal.flush(last);
    }
}

#[test]
fn an_end_that_was_asked_for_is_known() {
    let (_dir, place) = place();
    let (journal, _) = open(&place);
    journal.end(Instant::from_millis(5)).expect("synced");
    assert!(recover(&place).ledger.ended());
    assert_eq!(recover(&place).last(), Instant::from_millis(5));
}

#[test]
fn healthy_probes_wait_and_failures_do_not() {
    use giveover_core::failure::{Cause, Phase};
    use giveover_core::monitor::Event;
    use giveover_core::record::{Body, Entry};
    let (_dir, place) = place();
    let (mut journal, _) = open(&place);
    let length = || std::fs::metadata(place.current()).expect("there").len();
    let empty = length();
    let entry =
        |ms, event| Entry { at: Instant::from_millis(ms), machine: 0, body: Body::Event(event) };
    journal.append(&entry(100, super::world::healthy(1)));
    journal.pass(Instant::from_millis(100));
    assert_eq!(length(), empty);
    assert_eq!(journal.poll_timeout(), Some(Instant::from_millis(1_100)));
    journal.pass(Instant::from_millis(1_100));
    assert!(length() > empty, "the oldest has waited a second");
    let before = length();
    journal.append(&entry(1_200, Event::Died { cause: Cause::new(Phase::Died, 0) }));
    journal.pass(Instant::from_millis(1_200));
    assert!(length() > before, "a death is written at once");
    let before = length();
    for _ in 0..10_000 {
        journal.append(&entry(1_300, super::world::healthy(1)));
    }
    assert!(length() > before, "no more than 64 KiB wait");
}
