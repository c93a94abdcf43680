//! What `history` and `events` see.

use super::world::World;
use crate::journal::{Item, Journal, Note, Options, Place, Reader, Run};
use giveover_core::record::Body;
use giveover_core::time::Instant;

fn written(generations: u8) -> (tempfile::TempDir, Place, u64) {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::in_dir(dir.path());
    let options = Options { generations, limit_bytes: 4_000, ..Options::DEFAULT };
    let (mut journal, _) = Journal::open(place.clone(), options).expect("opened");
    let mut world = World::new(31);
    let run = Run { version: "0".into(), pid: 1, boot: None, offset_ms: 0, wall_ms: 1_000_000 };
    journal.note(world.now, Note::Run(run));
    world.begin(&mut journal);
    for _ in 0..400 {
        world.step(&mut journal);
        journal.flush(world.now);
        journal.pass(world.now);
        if journal.wants_compaction(world.now) {
            journal.compact(world.now, world.all());
            world.step(&mut journal); // goes into both generations
            while place.next().exists() {
                journal.flush(world.now);
                journal.pass(world.now);
            }
        }
    }
    (dir, place, journal.next_seq())
}

#[test]
fn every_record_is_told_once_in_order_with_its_name_and_time() {
    let (_dir, place, next) = written(200);
    let reader = Reader::open(&place);
    let lines: Vec<_> = reader.lines().collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line.seq).collect();
    assert_eq!(numbers, (1..next).collect::<Vec<_>>());
    assert!(lines.iter().all(|line| !line.in_snapshot));
    for line in &lines {
        assert_eq!(line.wall_ms, 999_000 + line.at.as_millis());
        if let Item::Entry(entry) = line.item {
            assert_eq!(line.service, Some(format!("service-{}", entry.machine).into()));
        }
    }
    assert!(place.earlier(2).exists(), "several generations were read");
}

#[test]
fn what_the_oldest_generation_knew_of_before_is_told_apart() {
    let (_dir, place, next) = written(2);
    let reader = Reader::open(&place);
    let (before, numbered): (Vec<_>, Vec<_>) = reader.lines().partition(|line| line.in_snapshot);
    assert!(!before.is_empty());
    let first = numbered.first().map_or(0, |line| line.seq);
    assert!(first > 1);
    let numbers: Vec<u64> = numbered.iter().map(|line| line.seq).collect();
    assert_eq!(numbers, (first..next).collect::<Vec<_>>());
    let events = numbered.iter().filter(
        |line| matches!(line.item, Item::Entry(entry) if matches!(entry.body, Body::Event(_))),
    );
    assert!(events.count() > 0);
}

#[test]
fn a_journal_may_be_read_while_it_is_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::in_dir(dir.path());
    let (mut journal, _) = Journal::open(place.clone(), Options::DEFAULT).expect("opened");
    journal.note(Instant::from_millis(1), Note::Ended);
    journal.flush(Instant::from_millis(1));
    let bytes = std::fs::read(place.current()).expect("there");
    for cut in 0..bytes.len() {
        let file = dir.path().join("copy");
        std::fs::write(&file, &bytes[..cut]).expect("written");
        let reader = Reader::open_file(&file).expect("read");
        let mut lines = reader.lines();
        assert_eq!(lines.by_ref().count(), 0);
    }
    assert_eq!(Reader::open(&place).lines().count(), 1);
    assert!(Reader::open_file(&dir.path().join("none")).is_err());
    assert_eq!(Reader::open(&Place::in_dir(dir.path().join("none"))).lines().count(), 0);
}
