use super::*;
use crate::config::scenario::{Form, load_form_str};

fn world(name: &str, text: &str) -> World {
    match load_form_str(name, text) {
        Ok(Form::Large(world)) => *world,
        Ok(Form::Small(_)) => panic!("{name} is in the small form"),
        Err(report) => panic!("{report}"),
    }
}

fn watched(world: &World, seed: u64) -> Outcome {
    play(world, Options { seed: Some(seed), record: false, watch: true })
}

/// At least twelve, each as it should be, every invariant looked at after every step.
#[test]
fn every_example_is_as_it_should_be() {
    assert!(EXAMPLES.len() >= 12);
    for example in EXAMPLES {
        let mut world = world(example.name, example.text);
        assert_eq!(world.name, example.name);
        world.length = world.length.min(86_400_000 * 5); // a year takes its time without optimising
        let options = Options { watch: true, record: true, ..Options::default() };
        let outcome = play(&world, options);
        assert!(outcome.is_right(), "{}", text(&outcome, example.name));
        assert!(outcome.events > 5 && !example.about.is_empty(), "{}", example.name);
    }
}

/// A seed plays the same world again, to the last event; another one another.
#[test]
fn a_seed_comes_again() {
    let example = EXAMPLES.iter().find(|example| example.name == "gateway").expect("there");
    let mut world = world("gateway", example.text);
    world.length = 86_400_000 * 60;
    let with = |seed| play(&world, Options { seed: Some(seed), record: true, watch: false });
    assert_eq!(with(7), with(7));
    assert_ne!(with(7).events, with(8).events);
}

/// Frozen: what a seed comes to is the same on every machine, and in every version until somebody
/// changes it here and says so.
#[test]
fn a_seed_comes_to_the_same_everywhere() {
    let example = EXAMPLES.iter().find(|example| example.name == "leak").expect("there");
    let outcome = play(&world("leak", example.text), Options::default());
    let times = &outcome.services[0].restarts;
    assert_eq!((outcome.events, times.len()), (1920, 9), "{times:?}");
    assert_eq!(times.first(), Some(&3_291_070), "{times:?}");
}

#[test]
fn what_is_not_as_expected_is_told_with_its_place() {
    let example = EXAMPLES.iter().find(|example| example.name == "refused").expect("there");
    let wrong = example.text.replace("status   = \"ok\"", "status   = \"faulted\"");
    let wrong = wrong.replace("restarts == 1\"", "restarts == 7\"");
    let outcome = play(&world("refused.toml", &wrong), Options::default());
    assert_eq!(exit_status(&outcome), 1);
    let told = text(&outcome, "refused.toml");
    assert!(told.contains("refused.toml:13: web: - status = \"faulted\""), "{told}");
    assert!(told.contains("web: + status = \"ok\""), "{told}");
    assert!(told.contains("refused.toml:20:8: web: restarts == 7: it is 1"), "{told}");
    assert!(told.ends_with("1 expectation, 4 claims: 2 do not hold\n"), "{told}");
    let lines = json_lines(&outcome);
    let last: serde_json::Value =
        serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["right"], false);
    assert_eq!(last["broken_claims"][0]["line"], 20);
}

#[test]
fn many_runs_come_to_percentiles_and_a_worst_seed() {
    let example = EXAMPLES.iter().find(|example| example.name == "flapping").expect("there");
    let world = world("flapping", example.text);
    let mut told = 0;
    let many = many(&world, 1, 40, |done| told = done);
    assert_eq!((told, many.runs.len()), (40, 40));
    let worst = *many.worst().expect("there is one");
    assert!(many.runs.iter().all(|run| run.outage <= worst.outage || worst.wrong));
    let again = play(&world, Options { seed: Some(worst.seed), ..Options::default() });
    assert_eq!(again.services[0].outage, worst.outage, "the worst seed can be replayed");
    let table = many_text(&many, "flapping.toml");
    assert!(table.contains("giveover simulate flapping.toml --seed "), "{table}");
    assert!(table.lines().any(|line| line.starts_with("restarts ")), "{table}");
    assert_eq!(many_json(&many)["runs"], 40);
}

#[test]
fn percentiles_are_ranks() {
    let values: Vec<u64> = (1..=100).collect();
    assert_eq!(Many::percentile(&values, 50), 50);
    assert_eq!(Many::percentile(&values, 99), 99);
    assert_eq!(Many::percentile(&[7], 50), 7);
    assert_eq!(Many::percentile(&[], 50), 0);
}

/// Every kind of fault at once, by chance: whatever comes of it, no invariant breaks.
const STORM: &str = r#"
length = "2h"
[host]
trusted = 2
actions = { count = 12, per = "30m" }
boot_takes = ["5s", "20s"]
[giveover]
answer = { not_now_until = "40m" }
takes = ["0s", "3s"]
[service.a]
policy = { thorough_probe_interval = "5s", probe_timeout = "2s", retry_interval = "300s", failover_mode = "hard", stop_timeout = "3s" }
leaks = { after = ["5m", "20m"] }
[service.b]
policy = { thorough_probe_interval = "7s", probe_timeout = "2s", retry_interval = "200s", failover_mode = "restart_only" }
needs = ["a"]
[service.c]
giveover = "board"
policy = { thorough_probe_interval = "5s", probe_timeout = "2s", retry_count = 1, retry_interval = "200s" }
[board]
timeout = "20s"
boot_grace = "40s"
confirm_after = "1m"
policy = { retry_count = 4, retry_interval = "1h" }
"#;

#[test]
fn a_storm_of_every_kind_of_fault_breaks_no_invariant() {
    let mut text = STORM.to_owned();
    let mut fault = |every: &str, what: &str| {
        text += &format!("[[fault]]\nevery = \"{every}\"\n{what}\n");
    };
    for service in ["a", "b", "c"] {
        for verb in crate::config::world::Verb::WORDS {
            let lasts = if *verb == "die" { "" } else { "\nfor = [\"1s\", \"90s\"]" };
            fault("20m", &format!("service = \"{service}\"\ndoes = \"{verb}\"{lasts}"));
        }
        fault("5m", &format!("service = \"{service}\"\ndoes = \"release\""));
    }
    for (key, words) in [
        ("host", &["hang", "reboot", "power_cut"][..]),
        ("daemon", &["crash", "pause"]),
        ("board", &["reset", "store_fails", "link_lost", "jumper", "clear"]),
        ("disk", &["torn", "lost", "full"]),
        ("network", &["cut"]),
        ("trusted", &["silent"]),
    ] {
        for word in words {
            fault("30m", &format!("{key} = \"{word}\"\nfor = [\"100ms\", \"2m\"]"));
        }
    }
    fault("20m", "clock = \"drift\"\nby = \"50000ppm\"\nfor = \"5m\"");
    let world = world("storm", &text);
    for seed in 0..30 {
        let outcome = watched(&world, seed);
        assert_eq!(outcome.broken, None, "seed {seed}");
    }
}
