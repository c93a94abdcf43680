use super::*;

fn said(text: &str) -> String {
    match load_str("file.toml", text) {
        Ok(scenarios) => panic!("nothing is wrong: {scenarios:?}"),
        Err(report) => report.to_string(),
    }
}

/// Whether `text` is refused, with these lines among what is said of it.
#[track_caller]
fn refused(text: &str, lines: &[&str]) {
    let said = said(text);
    for line in lines {
        let carets = line.starts_with('^');
        let is = |one: &str| if carets { one.ends_with(line) } else { one == *line };
        assert!(said.lines().any(is), "no {line:?} in\n{said}");
    }
}

fn step(step: &str) -> String {
    format!("[[scenario]]\nname = \"x\"\npolicy = {{}}\n[[scenario.step]]\n{step}\n")
}

#[test]
fn every_mistake_of_a_file_is_told_at_once_with_its_place() {
    let file = r#"
[[scenario]]
name = "wrong"
polcy = {}
policy = { retry_count = 2, retry_intervall = "300s", failover_mode = "hards" }
giveover = "acept"
restart = { ok_form = "1s" }
[[scenario.step]]
at = 5
proba = 50
[[scenario.step]]
at = "0s"
probe = 101
expect = { actions = ["restrat"], status = "ok", sum = 1 }
"#;
    refused(
        file,
        &[
            "file.toml:4:1: error: unknown key `polcy` in scenario",
            "^^^^^ did you mean `policy`?",
            "file.toml:5:29: error: unknown key `retry_intervall` in policy",
            "^^^^^^^^^^^^^^^ did you mean `retry_interval`?",
            "^^^^^^^ did you mean `hard`?",
            "^^^^^^^ did you mean `accept`?",
            "file.toml:7:13: error: unknown key `ok_form` in restart",
            "file.toml:9:6: error: at: a duration needs a unit: \"5s\"",
            "^^^^^ did you mean `probe`?",
            "file.toml:13:9: error: probe: must be 0 to 100",
            "^^^^^^^^^ did you mean `restart`?",
            "file.toml:14:50: error: unknown key `sum` in expect",
        ],
    );
}

#[test]
fn a_step_is_told_what_it_lacks_or_has_too_much() {
    refused(&step("at = \"0s\""), &["file.toml:4:1: error: this step has no input"]);
    refused(&step("died = true"), &["file.toml:4:1: error: this step has no `at`"]);
    refused(
        &step("at = \"0s\"\ndied = true\ntick = true"),
        &["file.toml:7:1: error: a step has one input, not `died` and this"],
    );
    refused(
        &step("at = 300\ntick = true"),
        &["file.toml:5:6: error: at: a duration needs a unit: \"300s\""],
    );
    refused(&step("at = \"0s\"\nproba = 3"), &["^^^^^ did you mean `probe`?"]);
    refused(&step("at = \"0s\"\nprobe = 101"), &["file.toml:6:9: error: probe: must be 0 to 100"]);
    refused(
        &step("at = \"0s\"\nprobe = true"),
        &["file.toml:6:9: error: probe: a weight from 0 to 100 or \"immediate\" is wanted, \
         this is true or false"],
    );
    refused(&step("at = \"0s\"\ndied = false"), &["file.toml:6:8: error: died: can only be true"]);
    refused(
        &step("at = \"0s\"\ntick = true\nexpect = { actions = [\"restrat\"], sum = 1 }"),
        &[
            "file.toml:7:23: error: actions: must be \"restart\", \"restart_failed\", \
         \"stop_failed\", \"restart_invalid\", \"reset\", \"giveover\", \"giveover_denied\", \
         \"giveover_not_now\", \"giveover_aborted\", \"giveover_unproven\", \"cancel\", \"held\" \
         or \"log\"",
            "^^^^^^^^^ did you mean `restart`?",
            "file.toml:7:35: error: unknown key `sum` in expect",
        ],
    );
}

#[test]
fn steps_go_forward_in_time() {
    let steps = "at = \"9s\"\ntick = true\n[[scenario.step]]\nat = \"8s\"\ntick = true";
    refused(&step(steps), &["file.toml:8:6: error: at: earlier than the step before"]);
}

#[test]
fn a_policy_that_cannot_work_is_refused_where_it_stands() {
    let file = "[[scenario]]\nname = \"x\"\npolicy = { retry_count = 10000 }\nstep = []";
    assert!(said(file).starts_with("file.toml:3:26: error: retry_count: must be 0 to 9999"));
    let live = step("at = \"0s\"\npolicy = { probe_timeout = \"0s\" }");
    assert!(said(&live).starts_with("file.toml:6:28: error: probe_timeout: must not be zero"));
}

#[test]
fn no_scenario_is_a_mistake_and_so_is_another_form() {
    refused("", &["file.toml: error: there is no [[scenario]] in it"]);
    refused("[[node]]\nname = \"a\"\n", &["file.toml:1:3: error: unknown key `node`"]);
    refused(
        "scenario = 3",
        &["file.toml:1:12: error: scenario: a list is wanted, this is a number"],
    );
    refused("[[scenario]\nname", &[]);
}

#[test]
fn what_is_written_is_what_is_read() {
    let file = r#"
[[scenario]]
name = "all"
policy = { retry_count = "unlimited", thorough_probe_interval = "60s", restart_delay = ["1s", "2s"] }
destination = "board"
giveover = { not_now_until = "60s" }
restart = { ok_from = "1m" }
[[scenario.step]]
at = "1m30s"
policy = { retry_count = 5 }
expect = { restarts = 1 }
"#;
    let scenarios = load_str("file.toml", file).expect("right");
    let [scenario] = &scenarios[..] else { panic!("{scenarios:?}") };
    let minute = Instant::from_millis(60_000);
    assert!(scenario.cadence);
    assert_eq!(scenario.policy.limits().retry_count, None);
    assert_eq!(scenario.giveover.at(Instant::from_millis(59_999)), Reply::NotNow);
    assert_eq!(scenario.giveover.at(minute), Reply::Accept);
    assert_eq!(scenario.restart.at(Instant::default()), Ending::Fail);
    assert_eq!(scenario.restart.at(minute), Ending::Ok);
    let step = &scenario.steps[0];
    assert_eq!((step.at, step.line), (Instant::from_millis(90_000), 8));
    assert_eq!(step.written, serde_json::json!({ "policy": { "retry_count": 5 } }));
    let Input::Policy(policy) = step.input else { panic!("{step:?}") };
    assert_eq!(policy.limits().retry_count, Some(5));
    assert_eq!(policy.limits().restart_delay, scenario.policy.limits().restart_delay);
    assert_eq!(step.expect, Expect { restarts: Some(1), ..Expect::default() });
}
