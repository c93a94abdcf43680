//! `giveover run --demo`: needs nothing, shows the story, leaves nothing behind.

use std::process::Command;

use giveover_tests::{giveover, processes_with, text_of};

/// req 0.53 0.55 0.56 0.57 are seen here by a person: two halves restart, a refusal restarts, a
/// death past the budget gives over.
#[test]
fn the_demo_tells_its_story_and_leaves_nothing_behind() {
    let room = tempfile::tempdir().expect("a directory"); // others may run demos of their own
    let output = Command::new(giveover())
        .args(["run", "--demo"])
        .env("TMPDIR", room.path())
        .output()
        .expect("giveover runs");
    let text = text_of(&output);
    assert!(output.status.success(), "{}\n{text}", output.status);
    let story = [
        "Service is online",
        "weight 50 (sum 50 of 100)",
        "Service is degraded",
        "weight 50 (sum 100 of 100)",
        "restart 1 of 2",
        "weight 100 (sum 100 of 100)",
        "restart 2 of 2",
        "died: exit 3",
        "3 failures in 60 s: giving over",
        "granted",
    ];
    let mut rest = text.as_str();
    for step in story {
        let place = rest.find(step).unwrap_or_else(|| panic!("no {step:?} after the rest\n{text}"));
        rest = &rest[place + step.len()..];
    }
    let marker = room.path().display().to_string();
    assert_eq!(processes_with(&marker), Vec::<u32>::new(), "its service is gone");
    let left = std::fs::read_dir(room.path()).expect("a directory").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}
