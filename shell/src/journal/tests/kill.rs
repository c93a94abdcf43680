//! A writer killed in the middle of its work.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use super::world::{Memory, Random, World, essence, essences};
use crate::journal::{Journal, Options, Place, recover};

const SMALL: Options = Options { limit_bytes: 3_000, ..Options::DEFAULT };
const DIR: &str = "GIVEOVER_TEST_KILLED_WRITER_DIR";
const SEED: &str = "GIVEOVER_TEST_KILLED_WRITER_SEED";
const NAME: &str = "journal::tests::kill::a_killed_writer_loses_nothing_it_acknowledged";

/// Invariant A2, with SIGKILL: what a flush acknowledged is recovered, whenever the end came.
#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    if let (Ok(dir), Ok(seed)) = (std::env::var(DIR), std::env::var(SEED)) {
        write_for_ever(Place::in_dir(dir), seed.parse().expect("a number"));
    }
    for seed in 1..=25 {
        let dir = tempfile::tempdir().expect("a directory");
        let acknowledged = killed_after(dir.path(), seed);
        check(&Place::in_dir(dir.path()), seed, acknowledged);
    }
}

/// The child: acknowledges each flush by a line with the next record's number.
fn write_for_ever(place: Place, seed: u64) -> ! {
    let (mut journal, _) = Journal::open(place, SMALL).expect("opened");
    let mut world = World::new(seed);
    let mut out = std::io::stdout();
    world.begin(&mut journal);
    loop {
        world.step(&mut journal);
        if !journal.flush(world.now) {
            std::process::exit(1);
        }
        if writeln!(out, "acknowledged {}", journal.next_seq()).is_err() {
            std::process::exit(0); // nobody listens any more
        }
        journal.pass(world.now);
        if journal.wants_compaction(world.now) {
            journal.compact(world.now, world.all());
        }
    }
}

/// Runs the child, kills it after some lines, and says what the last line was.
fn killed_after(dir: &std::path::Path, seed: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("a program"))
        .args([NAME, "--exact", "--nocapture", "--test-threads=1"])
        .env(DIR, dir)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let numbers = lines.by_ref().filter_map(|line| number(&line.expect("a line")));
    let wanted = 1 + Random::new(seed).below(400) as usize;
    let mut last = numbers.take(wanted).last().expect("a line");
    child.kill().expect("killed");
    child.wait().expect("gone");
    last = lines.map_while(Result::ok).filter_map(|line| number(&line)).last().unwrap_or(last);
    last
}

fn number(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

fn check(place: &Place, seed: u64, acknowledged: u64) {
    let recovered = recover(place);
    assert!(!recovered.report.lost_history(), "seed {seed}: {:?}", recovered.report);
    let (journal, _) = Journal::open(place.clone(), SMALL).expect("opened");
    let seq = journal.next_seq();
    assert!(seq >= acknowledged, "seed {seed}: {seq} of {acknowledged}");

    // the same run again, without a disk, up to the last event that was written
    let mut world = World::new(seed);
    let mut memory = Memory { count: 1 };
    world.begin(&mut memory);
    let mut states = vec![world.essences()];
    while memory.count < seq {
        world.step(&mut memory);
        states.push(world.machines.iter().map(|(n, m)| (*n, essence(m))).collect());
    }
    let found = essences(&recovered);
    assert!(states.iter().rev().take(2).any(|state| *state == found), "seed {seed}");
}
