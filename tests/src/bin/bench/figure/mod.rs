//! The figures: each measures every program, round by round, and gives rows of the table.

mod black_holes;
mod commands;
mod detection;
mod handle;
mod idle;
mod kinds;
mod memory;
mod probes;
mod restart;
mod simulate;

use crate::bed::Bed;
use crate::peer::Program;
use crate::table::{Columns, Row, Series};
use crate::why::Why;
use std::collections::BTreeMap;

/// One thing to measure.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) measure: fn(&Bed) -> Vec<Row>,
}

/// All of them, in the order of the table.
pub(crate) const FIGURES: [Figure; 14] = [
    Figure {
        name: "tcp-many",
        about: "CPU per TCP check and cadence, 10,000 targets",
        measure: probes::tcp_many,
    },
    Figure {
        name: "tcp-some",
        about: "CPU per TCP check, 1,000 targets",
        measure: probes::tcp_some,
    },
    Figure {
        name: "tcp-saturated",
        about: "TCP checks that one core can make",
        measure: probes::tcp_saturated,
    },
    Figure {
        name: "http-many",
        about: "CPU per HTTP check, 10,000 targets",
        measure: probes::http_many,
    },
    Figure {
        name: "http-saturated",
        about: "CPU per HTTP check, one core saturated",
        measure: probes::http_saturated,
    },
    Figure {
        name: "black-holes",
        about: "cadence of the others beside targets that drop everything",
        measure: black_holes::rows,
    },
    Figure { name: "memory", about: "memory per target", measure: memory::rows },
    Figure {
        name: "commands",
        about: "CPU per command check, small and large process",
        measure: commands::rows,
    },
    Figure { name: "kinds", about: "CPU per check of each other kind", measure: kinds::rows },
    Figure {
        name: "detection",
        about: "a listener closes until it is told",
        measure: detection::rows,
    },
    Figure {
        name: "restart",
        about: "kill -9 of a service until the next one's main",
        measure: restart::rows,
    },
    Figure { name: "idle", about: "memory and wake-ups with nothing due", measure: idle::rows },
    Figure { name: "simulate", about: "the simulator: events, years", measure: simulate::rows },
    Figure { name: "handle", about: "one event through the core", measure: handle::rows },
];

/// The results of all rounds, by program.
struct Rounds<T>(BTreeMap<Program, Vec<Result<T, Why>>>);

impl<T> Rounds<T> {
    /// Measures each program once a round, unless it is known that it never can be.
    fn run(bed: &Bed, figure: &str, measure: impl FnMut(Program) -> Result<T, Why>) -> Rounds<T> {
        Rounds::so_many(bed.scale.rounds, bed, figure, measure)
    }

    fn so_many(
        rounds: usize,
        bed: &Bed,
        figure: &str,
        mut measure: impl FnMut(Program) -> Result<T, Why>,
    ) -> Rounds<T> {
        let mut all: BTreeMap<Program, Vec<Result<T, Why>>> = BTreeMap::new();
        for round in 1..=rounds {
            for program in &bed.programs {
                let results = all.entry(*program).or_default();
                if results.iter().any(|result| matches!(result, Err(why) if why.is_lasting())) {
                    continue;
                }
                eprintln!("{figure}: round {round} of {rounds}, {}", program.name());
                let result = measure(*program);
                if let Err(why) = &result {
                    eprintln!("{figure}: {}: {why}", program.name());
                }
                results.push(result);
            }
        }
        Rounds(all)
    }

    /// One value of each result, and a note made of all results of a program.
    fn columns(&self, value: impl Fn(&T) -> f64, note: impl Fn(&[&T]) -> String) -> Columns {
        let series = |results: &Vec<Result<T, Why>>| {
            let good: Vec<&T> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
            let last = results.iter().filter_map(|result| result.as_ref().err()).last();
            let note = match last {
                Some(why) if good.is_empty() => return Series::Missing(why.clone()),
                Some(why) => format!("{}; a round failed: {why}", note(&good)),
                None => note(&good),
            };
            let rounds = results.iter().map(|result| result.as_ref().ok().map(&value)).collect();
            Series::Measured { rounds, note }
        };
        self.0.iter().map(|(program, results)| (*program, series(results))).collect()
    }
}

/// No note.
fn none<T>(_: &[&T]) -> String {
    String::new()
}
