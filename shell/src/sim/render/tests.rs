use super::*;
use crate::sim::{run_file, run_text};

const DECISION: &str = include_str!("../../../../tests/vectors/decision.toml");
const MORE: &str = include_str!("../../../../tests/vectors/more.toml");

fn played(text: &str) -> Outcome {
    match run_text(text, "file.toml") {
        Ok(outcome) => outcome,
        Err(report) => panic!("{report}"),
    }
}

// req 0.5 0.6 0.26 0.27 0.28 0.39 0.52 0.53 0.54 0.55 0.56 0.57
#[test]
fn the_vectors_come_out_as_written() {
    for (name, vectors, scenarios) in [("decision.toml", DECISION, 19), ("more.toml", MORE, 40)] {
        let outcome = played(vectors);
        assert!(outcome.played.len() >= scenarios, "{name}: all of them were read");
        assert_eq!(outcome.differing(), 0, "{}", text(&outcome, name));
        assert!(outcome.expected() > scenarios);
        assert_eq!(exit_status(&Ok(outcome)), 0);
    }
}

#[test]
fn each_wrong_expectation_is_told_with_its_place_and_is_a_failure() {
    for (from, to, key) in [
        ("actions = [\"restart\"]", "actions = []", "actions"),
        ("status = \"degraded\"", "status = \"ok\"", "status"),
        ("failure_sum = 50", "failure_sum = 49", "failure_sum"),
        ("restarts = 1", "restarts = 2", "restarts"),
    ] {
        let outcome = played(&DECISION.replacen(from, to, 1));
        assert_eq!((outcome.differing(), outcome.differing()), (1, 1), "{from} for {to}");
        let printed = text(&outcome, "file.toml");
        let told = |sign: &str, pair: &str| {
            let pair = pair.replace(key, &format!("{sign} {key}"));
            printed.lines().filter(|line| line.contains(&pair)).count()
        };
        assert_eq!((told("-", to), told("+", from)), (1, 1), "{printed}");
        assert!(printed.contains("file.toml:"), "{printed}");
        assert!(printed.ends_with("is not as expected\n"), "{printed}");
        assert_eq!(exit_status(&Ok(outcome)), 1);
    }
}

const SMALL: &str = r#"
[[scenario]]
name = "a small one"
policy = { retry_count = 1, retry_interval = "300s", restart_delay = "5s" }
[[scenario.step]]
at = "0s"
probe = 50
[[scenario.step]]
at = "60s"
probe = 50
expect = { actions = [], status = "faulted" }
[[scenario.step]]
at = "70s"
died = true
expect = { actions = ["restart", "giveover"], restarts = 1 }
"#;

#[test]
fn a_person_can_read_what_happened() {
    let outcome = played(SMALL);
    let expected = "\
a small one
       0s  probe 50    degraded  sum  50  restarts 0
      60s  probe 50    degraded  sum   0  restarts 1
file.toml:8: - status = \"faulted\"
             + status = \"degraded\"
      65s  (due)       restart
      70s  died        faulted   sum   0  restarts 1  giveover

1 scenario, 3 steps: 1 of 2 is not as expected
";
    assert_eq!(text(&outcome, "file.toml"), expected);
}

#[test]
fn a_program_can_read_it_too() {
    let lines = json_lines(&played(SMALL));
    let objects: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects.len(), 3);
    let first = json!({
        "scenario": "a small one", "at_ms": 0, "input": { "probe": 50 }, "actions": [],
        "status": "degraded", "failure_sum": 50, "restarts": 0,
    });
    assert_eq!(objects[0], first);
    assert_eq!(objects[1]["as_expected"], json!(false));
    assert_eq!(objects[1]["expected"], json!({ "status": "faulted" }));
    assert_eq!(objects[2]["actions"], json!(["restart", "giveover"]));
    assert_eq!(objects[2]["as_expected"], json!(true));
}

#[test]
fn a_file_that_is_refused_is_3() {
    let outcome = run_text("[[scenario]]\nname = 1", "file.toml");
    assert_eq!(exit_status(&outcome), 3);
    let dir = tempfile::tempdir().expect("a directory");
    let Err(report) = run_file(&dir.path().join("none.toml")) else { panic!("there is none") };
    assert_eq!(report.findings().len(), 1, "{report}");
    let file = dir.path().join("a.toml");
    std::fs::write(&file, SMALL).expect("written");
    assert!(run_file(&file).is_ok_and(|outcome| outcome == played(SMALL)));
}

#[test]
fn a_file_cannot_make_us_play_for_ever() {
    let file = r#"
[[scenario]]
name = "a dead process, each millisecond, for weeks"
policy = { thorough_probe_interval = "1ms", failover_mode = "log_only" }
[[scenario.step]]
at = "0s"
died = true
[[scenario.step]]
at = "30d"
tick = true
"#;
    let outcome = played(file);
    assert!(outcome.played[0].steps[1].done.len() <= 10_000);
}
