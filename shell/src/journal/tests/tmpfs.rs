//! A disk that is really full: a small tmpfs in a mount namespace of its own.

use std::process::Command;

use super::world::{World, essences};
use crate::journal::{Health, Journal, Options, Place, recover};
use giveover_core::time::Span;
use rustix::io::Errno;

const DIR: &str = "GIVEOVER_TEST_TMPFS";
const NAME: &str = "journal::tests::tmpfs::a_disk_that_is_full_is_gone_through_and_told";

/// Needs root, or a kernel that lets anyone mount in a namespace of his own; where neither is
/// given, `disk_full` stands in.
#[test]
fn a_disk_that_is_full_is_gone_through_and_told() {
    if let Ok(dir) = std::env::var(DIR) {
        return fill_and_drain(std::path::Path::new(&dir));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let script = format!(
        "mount -t tmpfs -o size=256k,mode=0700 none \"${DIR}\" && exec \"$0\" {NAME} --exact"
    );
    let ours = std::env::current_exe().expect("a program");
    for flags in [&["-m"][..], &["-r", "-m"]] {
        let mut command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", &script]).arg(&ours).env(DIR, dir.path());
        let Ok(output) = command.output() else { break };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            assert!(text.contains("1 passed"), "{text}");
            return;
        }
        assert!(!text.contains("running 1 test"), "{text}");
    }
    println!("skipped: {NAME}: root: no tmpfs can be mounted here");
}

fn fill_and_drain(dir: &std::path::Path) {
    let place = Place::in_dir(dir.join("state"));
    let options = Options { limit_bytes: 100_000, backlog_bytes: 20_000, ..Options::DEFAULT };
    let (mut journal, _) = Journal::open(place.clone(), options).expect("opened");
    let mut world = World::new(41);
    world.begin(&mut journal);
    assert!(journal.flush(world.now));
    let filler = dir.join("filler");
    let _ = std::fs::write(&filler, vec![1; 1 << 20]); // as much as there is room for

    let mut wrote = 0;
    while journal.flush(world.now) {
        world.step(&mut journal);
        wrote = journal.next_seq();
    }
    let errno = Errno::NOSPC.raw_os_error();
    assert!(matches!(journal.health(), Health::Failing { errno: e, .. } if e == errno));
    assert!(recover(&place).report.is_clean(), "no part of a frame is left after {wrote}");
    for _ in 0..2_000 {
        world.step(&mut journal);
        journal.pass(world.now);
        if journal.wants_compaction(world.now) {
            journal.compact(world.now, world.all());
        }
    }
    assert!(matches!(journal.health(), Health::Failing { lost, .. } if lost > 0));
    let (_, started) = Journal::open(Place::in_dir(dir.join("other")), options).expect("opened");
    assert!(started.report.unwritable.is_some(), "a full disk is no reason not to start");

    std::fs::remove_file(&filler).expect("removed");
    world.now = world.now.after(Span::from_secs(1));
    assert!(journal.wants_compaction(world.now));
    journal.compact(world.now, world.all());
    assert!(journal.flush(world.now));
    assert_eq!(journal.health(), Health::Ok);
    assert_eq!(essences(&recover(&place)), world.essences());
}
