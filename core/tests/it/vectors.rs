//! The vectors: timelines with the one right answer.

use toml::Table;

use crate::scenario::Player;

// req 0.5 0.6 0.26 0.27 0.28 0.52 0.53 0.54 0.55 0.56 0.57 1.20 1.24 1.26 1.27 1.28 1.30 1.35 1.36
#[test]
fn every_timeline_of_decision_toml_comes_out_as_written() {
    let played = play(include_str!("../../../tests/vectors/decision.toml"));
    assert_eq!(played, 19, "all of them were read");
}

#[test]
fn every_timeline_of_more_toml_comes_out_as_written() {
    let played = play(include_str!("../../../tests/vectors/more.toml"));
    assert!(played >= 40, "all of them were read, not {played}");
}

/// A runner that agrees with everything proves nothing.
#[test]
fn a_wrong_expectation_is_noticed() {
    let right = include_str!("../../../tests/vectors/decision.toml");
    for (from, to) in [
        ("actions = [\"restart\"]", "actions = []"),
        ("status = \"degraded\"", "status = \"ok\""),
        ("failure_sum = 50", "failure_sum = 49"),
        ("restarts = 1", "restarts = 2"),
    ] {
        assert!(differences(&right.replacen(from, to, 1)).1.len() == 1, "{from} for {to}");
    }
}

fn play(file: &str) -> usize {
    let (played, differences) = differences(file);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    played
}

fn differences(file: &str) -> (usize, Vec<String>) {
    let file: Table = file.parse().expect("a scenario file");
    let scenarios = file["scenario"].as_array().expect("scenarios");
    let mut differences = Vec::new();
    for scenario in scenarios {
        let scenario = scenario.as_table().expect("a scenario");
        let mut player = Player::new(scenario);
        let steps = scenario["step"].as_array().expect("steps");
        let differs =
            steps.iter().find_map(|step| player.step(step.as_table().expect("a step")).err());
        differences.extend(differs.map(|what| format!("{}: {what}", scenario["name"])));
    }
    (scenarios.len(), differences)
}
