//! A world whose board is the real firmware library comes to what one with the machine alone comes to,
//! also when its flash is torn.

use giveover::config::scenario::{Form, load_form_str};
use giveover::config::world::World;
use giveover::sim::world::{EXAMPLES, Options, Outcome};
use giveover_tests::boarded;

fn world(name: &str, text: &str) -> World {
    match load_form_str(name, text) {
        Ok(Form::Large(world)) => *world,
        Ok(Form::Small(_)) => panic!("{name} is in the small form"),
        Err(report) => panic!("{report}"),
    }
}

fn options(seed: Option<u64>) -> Options {
    Options { seed, record: true, watch: true }
}

fn both(world: &World, seed: Option<u64>) -> (Outcome, Outcome) {
    (giveover::sim::world::play(world, options(seed)), boarded::play(world, options(seed)))
}

/// Each edge of each line, from the machine alone and from the whole firmware: as many, of the same kind,
/// and at the same time but for the firmware's second mechanism's second. Says how many there were.
fn same_edges(name: &str, world: &World, seed: Option<u64>) -> usize {
    let (alone, whole) = both(world, seed);
    for (outcome, how) in [(&alone, "alone"), (&whole, "in the firmware")] {
        let told = giveover::sim::world::text(outcome, name);
        assert!(outcome.is_right(), "{name}, the machine {how}: {told}");
    }
    assert_eq!(alone.boots.len(), whole.boots.len(), "{name}, seed {seed:?}");
    let lines = |outcome: &Outcome| outcome.timeline.as_ref().expect("recorded").lines.clone();
    let (one, other) = (lines(&alone), lines(&whole));
    assert_eq!((one.len(), other.len()), (2, 2), "the reset line and the second");
    let mut seen = 0;
    for (one, other) in one.iter().zip(&other) {
        let both =
            format!("{name}, seed {seed:?}, {}: {:?}, {:?}", one.name, one.edges, other.edges);
        assert_eq!(one.edges.len(), other.edges.len(), "{both}");
        for ((at, held), (when, pulled)) in one.edges.iter().zip(&other.edges) {
            assert_eq!(held, pulled, "{both}");
            assert!(at.as_millis().abs_diff(when.as_millis()) <= 2_000, "{both}");
        }
        seen += one.edges.len() - 1; // the first is how it began
    }
    seen
}

/// The machine alone is what `giveover simulate` plays.
#[test]
fn the_firmware_comes_to_the_same_edges_as_its_machine_alone() {
    let mut seen = 0;
    for example in EXAMPLES.iter().filter(|example| example.text.contains("\n[board]")) {
        let mut world = world(example.name, example.text);
        world.length = world.length.min(86_400_000);
        seen += same_edges(example.name, &world, None);
    }
    assert!(seen >= 5, "two resets, and the second line: {seen}");
    let world = world("guarded", GUARDED);
    let drawn: usize = (0..5).map(|seed| same_edges("guarded", &world, Some(seed))).sum();
    assert!(drawn >= 20, "{drawn}");
}

const GUARDED: &str = r#"
length = "4h"
[host]
boot_takes = ["5s", "15s"]
[board]
timeout = "20s"
boot_grace = "40s"
confirm_after = "30s"
policy = { retry_count = 3, retry_interval = "30m" }
giveover = "none"
[[fault]]
every = "4m"
host = "hang"
"#;

/// Power that goes in the middle of a write, again and again: no intent is lost, no reset is forgotten,
/// and no edge is made at boot.
#[test]
fn a_flash_that_tears_loses_no_reset() {
    let torn = "[[fault]]\nevery = \"3m\"\nboard = \"torn\"\n";
    let world = world("torn", &format!("{GUARDED}{torn}"));
    let (mut resets, mut boots) = (0, 0);
    for seed in 0..10 {
        let outcome = boarded::play(&world, options(Some(seed)));
        assert_eq!(outcome.broken, None, "seed {seed}");
        resets += outcome.resets.len();
        boots += outcome.boots.len();
    }
    // a boot follows each reset, and each time the power was back
    assert!(resets > 15 && boots > resets + 30, "{resets} resets, {boots} boots");
}

/// All that can happen to a board, at once.
#[test]
fn a_storm_breaks_nothing_of_the_firmware() {
    let mut text = GUARDED.to_owned();
    for does in ["reset", "store_fails", "link_lost", "jumper", "clear", "torn"] {
        text +=
            &format!("[[fault]]\nevery = \"9m\"\nboard = \"{does}\"\nfor = [\"100ms\", \"1m\"]\n");
    }
    text += "[[fault]]\nevery = \"20m\"\nhost = \"power_cut\"\nfor = [\"1s\", \"30s\"]\n";
    text += "[[fault]]\nevery = \"20m\"\ndaemon = \"pause\"\nfor = [\"1s\", \"60s\"]\n";
    let world = world("storm", &text);
    for seed in 0..10 {
        let outcome = boarded::play(&world, options(Some(seed)));
        assert_eq!(outcome.broken, None, "seed {seed}");
    }
}
