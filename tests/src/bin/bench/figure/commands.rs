//! What a command check costs: the program's own part, all of it, and in a large process.

use super::Rounds;
use crate::bed::Bed;
use crate::load::Load;
use crate::measure::counter::Counter;
use crate::measure::process::resident;
use crate::measure::window::{Window, measure, settle};
use crate::peer::{Program, Running};
use crate::stats::median;
use crate::table::{Of, Row, Unit, at_most, thousands};
use crate::why::Why;

const BARE: Of = Of::Versus(Program::Bare);

/// A large process in numbers: its own CPU per command, that of the small one, its memory.
struct Large {
    own_us: f64,
    small_us: f64,
    resident: u64,
}

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    let count = bed.scale.commands;
    let rounds = bed.scale.process_rounds;
    let small =
        Rounds::so_many(rounds, bed, "commands", |program| run(bed, program, 0).map(|(w, _)| w));
    let mut round = std::collections::BTreeMap::<Program, usize>::new();
    let large = Rounds::so_many(rounds, bed, "commands, large", |program| {
        let (window, mut running) = run(bed, program, bed.scale.ballast_mib)?;
        let resident = resident_of(&mut running)?;
        if resident < (bed.scale.ballast_mib as u64) << 20 {
            let mib = resident >> 20;
            return Err(Why::new(format!("could not be made large: it holds {mib} MiB")));
        }
        let index = round.entry(program).or_default();
        let before = small.0.get(&program).and_then(|results| results.get(*index));
        *index += 1;
        match before {
            Some(Ok(before)) => {
                Ok(Large { own_us: window.own_us(), small_us: before.own_us(), resident })
            }
            _ => Err(Why::new("the small one was not measured")),
        }
    });
    vec![
        Row {
            figure: format!("own CPU per command check, {count} × /bin/true at 1 s"),
            unit: Unit::Micros,
            columns: small.columns(Window::own_us, rate),
            must: vec![at_most(1.5, BARE)],
            aim: vec![at_most(1.2, BARE)],
        },
        Row {
            figure: format!("CPU per command check with its child, {count} × /bin/true at 1 s"),
            unit: Unit::Micros,
            columns: small.columns(Window::total_us, rate),
            must: vec![at_most(1.15, BARE)],
            aim: vec![at_most(1.05, BARE)],
        },
        Row {
            figure: format!(
                "own CPU per command check with {} MiB RSS, as a multiple of that without",
                bed.scale.ballast_mib
            ),
            unit: Unit::Share,
            columns: large.columns(|large| large.own_us / large.small_us, sizes),
            must: vec![at_most(1.1, Of::Value)],
            aim: vec![at_most(1.1, Of::Value)],
        },
    ]
}

fn run(bed: &Bed, program: Program, ballast_mib: usize) -> Result<(Window, Running), Why> {
    let load = Load::Commands { count: bed.scale.commands, ballast_mib };
    let mut running = program.start(bed, &load)?;
    let parent = running.pids.last().copied().unwrap_or(running.child.pid());
    let mut counter = Counter::Forks(bed.fork_events.watch(parent));
    settle(&mut running, &mut counter, load.due_each_second())?;
    let window = measure(&mut running, &mut counter, bed.scale.long_window)?;
    Ok((window, running))
}

fn resident_of(running: &mut Running) -> Result<u64, Why> {
    running.child.alive()?;
    running.pids.iter().map(|pid| resident(*pid)).sum()
}

fn rate(all: &[&Window]) -> String {
    let rates: Vec<f64> = all.iter().map(|window| window.rate()).collect();
    format!("{}/s reached", thousands(median(&rates).unwrap_or(0.0)))
}

fn sizes(all: &[&Large]) -> String {
    let mib = |large: &&Large| large.resident as f64 / (1u64 << 20) as f64;
    let mib: Vec<f64> = all.iter().map(mib).collect();
    let own: Vec<f64> = all.iter().map(|large| large.own_us).collect();
    let (mib, own) = (median(&mib).unwrap_or(0.0), median(&own).unwrap_or(0.0));
    format!("{own:.1} µs at {mib:.0} MiB")
}
