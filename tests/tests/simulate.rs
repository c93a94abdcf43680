//! `giveover simulate`: the vectors agree, and one wrong expectation is found.

use std::process::{Command, Output};

use giveover_tests::{giveover, text_of};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/decision.toml");

fn simulate(file: &str) -> Output {
    Command::new(giveover()).args(["simulate", file]).output().expect("giveover runs")
}

#[test]
fn every_expectation_of_the_vectors_agrees() {
    let output = simulate(VECTORS);
    assert!(output.status.success(), "{}", text_of(&output));
}

/// Every row of the facts that concerns pools.
#[test]
fn every_expectation_of_the_pools_agrees_and_a_wrong_one_is_found() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/pool.toml");
    let output = simulate(file);
    let text = text_of(&output);
    assert!(output.status.success() && text.contains("as expected where anything was"), "{text}");
    let vectors = std::fs::read_to_string(file).expect("the vectors");
    let dir = tempfile::tempdir().expect("a directory");
    for (right, wrong, exit) in [
        ("health = { a = 3 }", "health = { a = 2 }", 1),
        ("out = [\"a\"], cut = [\"a\"] }", "out = [\"a\"], cut = [\"b\"] }", 1),
        ("interval = \"1s\", cut", "interval = 1, cut", 3),
        ("drain = { member = \"a\" }", "drain = { member = \"x\" }", 3),
        ("check = \"unmeasured\"", "check = \"unmeasurable\"", 3),
        ("at = \"5s\"", "at = \"1ms\"", 3),
    ] {
        let changed = vectors.replacen(right, wrong, 1);
        assert_ne!(vectors, changed, "{right}");
        let file = dir.path().join("wrong.toml");
        std::fs::write(&file, changed).expect("a file");
        let output = simulate(&file.display().to_string());
        assert_eq!(output.status.code(), Some(exit), "{wrong}: {}", text_of(&output));
    }
    let output =
        Command::new(giveover()).args(["simulate", "--json", file]).output().expect("runs");
    let first = String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned);
    let first: serde_json::Value = serde_json::from_str(&first.expect("a line")).expect("JSON");
    assert_eq!((&first["at_ms"], &first["in"][1]), (&1000.into(), &"b".into()), "{first}");
}

#[test]
fn one_wrong_expectation_exits_1_with_a_diff() {
    let vectors = std::fs::read_to_string(VECTORS).expect("the vectors");
    let right = "failure_sum = 50, restarts = 0 }";
    let wrong = vectors.replacen(right, "failure_sum = 51, restarts = 0 }", 1);
    assert_ne!(vectors, wrong);
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("wrong.toml");
    std::fs::write(&file, wrong).expect("a file");
    let output = simulate(&file.display().to_string());
    let text = text_of(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("51") && text.contains("50"), "a diff: {text}");
}

#[test]
fn a_file_that_cannot_be_read_exits_3() {
    let output = simulate("no-such-file.toml");
    assert_eq!(output.status.code(), Some(3), "{}", text_of(&output));
}

#[test]
fn timelines_of_nodes_come_out_as_expected_and_a_wrong_one_exits_1() {
    const NODES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/nodes.toml");
    let output = simulate(NODES);
    assert!(output.status.success(), "{}", text_of(&output));
    let wrong = std::fs::read_to_string(NODES).expect("the vectors");
    let wrong = wrong.replacen("holders = [\"server1\"]", "holders = [\"server2\"]", 1);
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("wrong.toml");
    std::fs::write(&file, wrong).expect("a file");
    let output = simulate(&file.display().to_string());
    assert_eq!(output.status.code(), Some(1), "{}", text_of(&output));
    std::fs::write(&file, "[[nodes]]\nname = 3\n").expect("a file");
    let output = simulate(&file.display().to_string());
    assert_eq!(output.status.code(), Some(3), "{}", text_of(&output));
}
