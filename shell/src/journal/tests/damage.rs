//! Whatever a disk makes of the bytes: what is used was written, and what is lost is told.

use std::collections::BTreeMap;
use std::path::Path;

use super::world::{Random, World, essences};
use crate::journal::frame::Framer;
use crate::journal::load::Bytes;
use crate::journal::recover::{GoOn, recover_files};
use crate::journal::{Journal, Options, Place, Recovered, Why, recover};

type Essences = BTreeMap<u32, String>;

/// A small journal, and what the machines were each time something had been written: the
/// length of the file then, and their essences.
struct Written {
    bytes: Vec<u8>,
    states: Vec<(usize, Essences)>,
}

impl Written {
    fn new(seed: u64, steps: u32) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Place::in_dir(dir.path());
        let (mut journal, _) = Journal::open(place.clone(), Options::DEFAULT).expect("opened");
        let length = || std::fs::metadata(place.current()).expect("there").len() as usize;
        let mut world = World::new(seed);
        let mut states = vec![(length(), Essences::new())];
        world.begin(&mut journal);
        journal.compact(world.now, world.all());
        while place.next().exists() {
            journal.pass(world.now);
        }
        states[0] = (length(), world.essences());
        for _ in 0..steps {
            world.step(&mut journal);
            assert!(journal.flush(world.now));
            states.push((length(), world.essences()));
        }
        Self { bytes: std::fs::read(place.current()).expect("there"), states }
    }

    /// The state of which `recovered` is a whole copy; its place in `states`.
    fn find(&self, recovered: &Recovered) -> Option<usize> {
        let found = essences(recovered);
        self.states.iter().rposition(|(_, essences)| *essences == found)
    }

    fn snapshot_end(&self) -> usize {
        self.states[0].0
    }
}

fn read(current: Option<&[u8]>, earlier: Option<&[u8]>) -> (Recovered, GoOn) {
    let place = Place::in_dir("nowhere");
    let bytes = |path: &Path| match path {
        path if path == place.current() => current,
        path if path == place.earlier(1) => earlier,
        _ => None,
    };
    recover_files(&place, &|path| {
        bytes(path).map_or(Bytes::Absent, |bytes| Bytes::Read(bytes.to_vec()))
    })
}

/// Peers' item 9.
// req 0.52
#[test]
fn cut_at_any_byte_it_is_what_was_written_before_the_cut() {
    let written = Written::new(11, 12);
    for cut in 0..=written.bytes.len() {
        let (recovered, go_on) = read(Some(&written.bytes[..cut]), None);
        let report = &recovered.report;
        if cut < written.snapshot_end() {
            assert!(report.lost_history(), "cut at {cut}: {report:?}");
            continue;
        }
        let expected = written.states.iter().rfind(|(length, _)| *length <= cut).expect("one");
        assert_eq!(essences(&recovered), expected.1, "cut at {cut}");
        assert_eq!(report.torn.is_some(), cut > expected.0, "cut at {cut}");
        assert!(!report.lost_history());
        assert!(matches!(go_on, GoOn::Append { at, .. } if at as usize == expected.0));
    }
}

#[test]
fn with_any_bit_flipped_it_is_what_was_written_before_the_flip_and_told() {
    let written = Written::new(12, 8);
    for bit in 0..written.bytes.len() * 8 {
        let mut damaged = written.bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (recovered, go_on) = read(Some(&damaged), None);
        let report = &recovered.report;
        assert!(!report.is_clean(), "bit {bit}");
        let at = bit / 8;
        if at < written.snapshot_end() {
            assert!(report.lost_history(), "bit {bit}");
            let states = &written.states[0].1;
            let part = essences(&recovered);
            let as_written = part.iter().all(|(number, found)| states.get(number) == Some(found));
            assert!(as_written, "bit {bit}: a machine is whole or not there");
            continue;
        }
        let state = written.find(&recovered);
        let before = written.states.iter().rposition(|(length, _)| *length <= at);
        assert_eq!(state, before, "bit {bit}");
        let last = written.states[written.states.len() - 2].0;
        let in_last_frame = at >= last;
        assert_eq!(report.torn.is_some(), in_last_frame, "bit {bit}");
        assert_eq!(matches!(go_on, GoOn::Append { .. }), in_last_frame, "bit {bit}");
    }
}

#[test]
fn damage_in_the_middle_says_how_much_is_lost() {
    let written = Written::new(13, 20);
    let (at, _) = written.states[10];
    let mut damaged = written.bytes.clone();
    damaged[at + 5] ^= 0x10;
    let (recovered, _) = read(Some(&damaged), None);
    assert_eq!(written.find(&recovered), Some(10));
    let file = &recovered.report.set_aside[0];
    assert_eq!(file.why, Why::Damaged(at as u64));
    assert_eq!(file.lost.bytes, (damaged.len() - at) as u64);
    assert!(file.lost.records >= 9 && file.lost.from <= file.lost.until);
    let lines = recovered.report.lines(|at| format!("{} ms", at.as_millis()));
    assert!(lines[0].contains("records from"), "{lines:?}");
}

#[test]
fn any_bytes_at_all_are_survived() {
    let mut random = Random::new(14);
    let written = Written::new(14, 6);
    for round in 0..2_000 {
        let length = random.below(600) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        if round % 2 == 0 {
            // pieces of a real journal in any order, with noise between
            let from = random.below(written.bytes.len() as u64) as usize;
            bytes.extend_from_slice(&written.bytes[from..]);
            let by = random.below(bytes.len() as u64) as usize;
            bytes.rotate_right(by);
        }
        let (recovered, _) = read(Some(&bytes), None);
        assert!(recovered.report.lost_history());
    }
}

/// Records that pass every sum and yet hold nonsense, as only an author of evil could make.
#[test]
fn whole_frames_of_nonsense_are_damage() {
    let mut random = Random::new(15);
    let written = Written::new(15, 4);
    for _ in 0..2_000 {
        let mut framer = Framer::default();
        let mut record = vec![1 + random.below(2) as u8, 1];
        record.extend((0..random.below(40)).map(|_| random.below(12) as u8));
        framer.push(&record);
        framer.seal();
        let mut bytes = written.bytes.clone();
        bytes.extend_from_slice(framer.bytes());
        let (recovered, _) = read(Some(&bytes), None);
        assert!(recovered.machines.len() <= World::MACHINES as usize);
    }
}

#[test]
fn without_a_usable_file_the_generation_before_is_read() {
    let written = Written::new(16, 5);
    let last = &written.states[5].1;
    let newer = {
        let mut framer = Framer::default();
        framer.push_frame(&[200, 1, 2, 3]);
        framer.bytes().to_vec()
    };
    let part = &written.bytes[..written.snapshot_end() - 1];
    for (current, why) in [
        (Some(&b""[..]), Some(Why::Empty)),
        (Some(&[0; 512][..]), Some(Why::Damaged(0))),
        (Some(&newer[..]), Some(Why::Newer(200))),
        (Some(part), None),
        (None, None),
    ] {
        let (recovered, go_on) = read(current, Some(&written.bytes));
        assert_eq!(essences(&recovered), *last, "{why:?}");
        assert_eq!(recovered.report.fell_back_to, Some(recovered.last()));
        assert!(recovered.report.lost_history() && !recovered.report.first_run);
        if let Some(why) = why {
            assert_eq!(recovered.report.set_aside[0].why, why);
        }
        let kind = matches!(why, Some(Why::Newer(_))).then_some("newer");
        let kind = kind.or(current.map(|_| "damaged"));
        assert!(matches!(go_on, GoOn::Rewrite { aside, .. } if aside == kind), "{go_on:?}");
    }
    let (recovered, _) = read(Some(b""), Some(b""));
    assert_eq!(recovered.report.set_aside.len(), 2);
    assert!(recovered.machines.is_empty() && recovered.report.lost_history());
    let (recovered, _) = read(None, None);
    assert!(recovered.report.first_run && !recovered.report.lost_history());
}

#[test]
fn what_is_set_aside_is_kept_named_and_not_in_the_way() {
    let written = Written::new(17, 10);
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::in_dir(dir.path());
    for (number, (at, why)) in
        [(written.states[4].0, "damaged"), (0, "damaged"), (0, "newer")].into_iter().enumerate()
    {
        let mut bytes = written.bytes.clone();
        match why {
            "newer" => {
                let mut framer = Framer::default();
                framer.push_frame(&[99]);
                bytes = framer.bytes().to_vec();
            }
            _ => bytes[at + 6] ^= 1,
        }
        let _ = std::fs::remove_file(place.earlier(1));
        std::fs::write(place.current(), &bytes).expect("written");
        let (mut journal, recovered) =
            Journal::open(place.clone(), Options::DEFAULT).expect("opened");
        let file = &recovered.report.set_aside[0];
        let number = if why == "newer" { 1 } else { number + 1 };
        let kept = dir.path().join(format!("journal.{why}-{number}"));
        assert_eq!(file.to.as_ref(), Some(&kept));
        assert_eq!(std::fs::read(&kept).expect("kept"), bytes);
        assert!(recovered.report.lost_history());
        assert!(journal.flush(recovered.last()));
        drop(journal);
        let again = recover(&place);
        assert!(again.report.is_clean(), "told once: {:?}", again.report);
        assert_eq!(essences(&again), essences(&recovered));
    }
}

#[test]
fn a_set_aside_file_that_fills_the_directory_is_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::in_dir(dir.path());
    for _ in 0..2 * Place::MOST_SET_ASIDE {
        std::fs::write(place.current(), b"not a journal").expect("written");
        let (_journal, recovered) = Journal::open(place.clone(), Options::DEFAULT).expect("opened");
        assert!(recovered.report.lost_history());
    }
    let kept = std::fs::read_dir(dir.path()).expect("a directory").count();
    assert_eq!(kept, 2 + Place::MOST_SET_ASIDE as usize);
}

#[test]
fn a_file_that_is_no_file_is_not_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::in_dir(dir.path());
    std::fs::create_dir(place.current()).expect("made");
    let recovered = recover(&place);
    assert!(matches!(recovered.report.set_aside[0].why, Why::Unreadable(_)));
    let (journal, _) = Journal::open(place.clone(), Options::DEFAULT).expect("opened");
    drop(journal);
    assert!(recover(&place).report.is_clean());
}
