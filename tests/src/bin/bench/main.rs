//! The benchmark: our daemon beside HAProxy, monit, keepalived and a bare loop, in one run.
//!
//! Absolute times say more about a machine than about a program, so every figure is measured for
//! all programs one after the other, round by round, and goals are ratios within the round (see
//! [`figure`]). Every number is taken from outside the program measured: CPU time from its CPU
//! clock, checks from the target or the kernel (see [`measure`]). What is measured runs on one
//! core, what it looks at on another. A figure that could not be measured says why in the table.
//!
//! The bare loops and the targets are this same binary in another role (see [`role`]), so there
//! is nothing to install for them.

mod args;
mod bed;
mod child;
mod clock;
mod figure;
mod load;
mod machine;
mod measure;
mod peer;
mod role;
mod stats;
mod table;
mod why;

use crate::args::Args;
use crate::bed::Bed;
use crate::figure::{FIGURES, Figure};
use crate::why::{While, Why};
use clap::Parser;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == role::CHILD) {
        return role::main(words.collect());
    }
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bench: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Why> {
    let wanted = wanted(args)?;
    if args.list {
        wanted.iter().for_each(|figure| println!("{:15} {}", figure.name, figure.about));
        return Ok(());
    }
    let bed = Bed::new(args)?;
    child::end_all_on_signal(bed.scratch().to_owned()).while_doing("signals")?;
    let begin = Instant::now();
    println!("{}", machine::facts(&bed));
    let mut rows = Vec::new();
    for figure in wanted {
        rows.extend((figure.measure)(&bed));
    }
    println!("{}", table::render(&rows));
    let seconds = begin.elapsed().as_secs();
    println!("{seconds} s; load average at the end: {}", machine::load_average());
    if args.quick {
        println!("A quick run shows that everything runs; its numbers mean nothing.");
    }
    if args.keep {
        println!("Configurations and logs: {}", bed.scratch().display());
    }
    Ok(())
}

/// The figures asked for.
fn wanted(args: &Args) -> Result<Vec<&'static Figure>, Why> {
    let fits = |figure: &Figure, name: &String| figure.name.starts_with(name.as_str());
    for name in &args.only {
        if !FIGURES.iter().any(|figure| fits(figure, name)) {
            return Err(Why::new(format!("no figure's name begins with {name:?}; see --list")));
        }
    }
    let asked =
        |figure: &&Figure| args.only.is_empty() || args.only.iter().any(|name| fits(figure, name));
    Ok(FIGURES.iter().filter(asked).collect())
}
