//! `cargo xtask sim-board --script demo`: the board's story, as a person watches it.

use std::process::Command;

use giveover_tests::{text_of, vm};

#[test]
fn the_board_plays_its_story_to_the_end() {
    if !vm::is_here() {
        return;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["xtask", "sim-board", "--script", "demo"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo");
    let text = text_of(&output);
    assert!(output.status.success(), "{}\n{text}", output.status);
    let pulse = ["the host hangs", "reset line held", "reset line released", "boot is confirmed"];
    let story = ["has taken key", "armed"].into_iter().chain(pulse).chain(pulse).chain(pulse);
    let mut rest = text.as_str();
    for step in story.chain(["the host hangs", "second line held", "budget spent"]) {
        let place = rest.find(step).unwrap_or_else(|| panic!("no {step:?} after the rest\n{text}"));
        rest = &rest[place + step.len()..];
    }
    assert!(!rest.contains("reset line held"), "{text}");
}
