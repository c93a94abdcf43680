//! The simulator: events a second of one service on one node, a year of a pair, many runs of a world.

use super::Rounds;
use crate::bed::Bed;
use crate::peer::Program;
use crate::table::{Of, Row, Unit, at_least, at_most};
use crate::why::{While, Why};
use std::process::Command;
use std::time::Instant;

/// A year of one service that is probed each 10 s and fails now and then.
const ONE: &str = "\
length = \"365d\"
[service.web]
policy = { thorough_probe_interval = \"10s\", probe_timeout = \"5s\", retry_interval = \"300s\" }
[[fault]]
every = \"1d\"
service = \"web\"
does = \"refuse\"
[[fault]]
every = \"6h\"
service = \"web\"
does = \"hang\"
for = [\"5s\", \"60s\"]
";

/// The same beside a second node, both of which look at themselves each 10 s and say each second
/// that they live.
const PAIR: &str = "\
[node.one]
[node.other]
starts = \"12s\"
[cluster]
quorum = \"stay\"
interval = \"10s\"
[[fault]]
every = \"10d\"
node = \"one\"
does = \"stop\"
for = [\"1m\", \"10m\"]
[[fault]]
every = \"10d\"
link = [\"one\", \"other\"]
does = \"cut\"
for = [\"1s\", \"10m\"]
[assert]
group = \"never two active\"
";

/// So many years, an hour each.
const RUNS: u64 = 1_000;

struct Played {
    events: f64,
    seconds: f64,
}

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    let pair = format!("{ONE}{PAIR}");
    let hour = ONE.replace("365d", "1h");
    let play = |figure: &str, text: &str, runs: u64| {
        Rounds::run(bed, figure, |program| match program {
            Program::Ours => play(bed, figure, text, runs),
            _ => Err(Why::lasting("–")),
        })
    };
    let one = play("simulate-one", ONE, 1);
    let two = play("simulate-pair", &pair, 1);
    let many = play("simulate-runs", &hour, RUNS);
    let events = |all: &[&Played]| {
        all.first().map_or(String::new(), |it| format!("{:.1} M events", it.events / 1e6))
    };
    vec![
        Row {
            figure: "simulated events, one service on one node, on one core".to_owned(),
            unit: Unit::EachSecond,
            columns: one.columns(|it| it.events / it.seconds, events),
            must: vec![at_least(1_000_000.0, Of::Value)],
            aim: Vec::new(),
        },
        Row {
            figure: "a simulated year of a pair, intervals of 10 s".to_owned(),
            unit: Unit::Millis,
            columns: two.columns(|it| it.seconds * 1000.0, events),
            must: vec![at_most(60_000.0, Of::Value)],
            aim: Vec::new(),
        },
        Row {
            figure: "runs of an hour of one service (Monte Carlo)".to_owned(),
            unit: Unit::EachSecond,
            columns: many.columns(|it| RUNS as f64 / it.seconds, events),
            must: Vec::new(),
            aim: Vec::new(),
        },
    ]
}

/// Plays a world as a person does, and reads how many events it was.
fn play(bed: &Bed, name: &str, text: &str, runs: u64) -> Result<Played, Why> {
    let file = bed.scratch().join(format!("{name}.toml"));
    std::fs::write(&file, text).while_doing("writing a scenario")?;
    let mut command = Command::new(bed.giveover()?);
    command.arg("simulate").arg(&file).args(["--json", "--runs", &runs.to_string()]);
    let begun = Instant::now();
    let output = command.output().while_doing("simulating")?;
    let seconds = begun.elapsed().as_secs_f64();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| Why::new(format!("giveover simulate: {error}")))?;
    let events = json["events"].as_f64().filter(|_| output.status.success());
    let events = events.ok_or_else(|| Why::new(format!("giveover simulate: {json}")))?;
    Ok(Played { events, seconds })
}
