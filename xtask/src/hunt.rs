//! `cargo xtask hunt`: the project's own search for bugs, in worlds drawn by chance.

use std::process::{Command, ExitCode};

use crate::child;
use crate::step::Step;
use crate::workspace::{cargo, show};

const HELP: &str = "\
cargo xtask hunt [--minutes N | --schedules N] [--seed N] [--keep DIR]
cargo xtask hunt --defects [--seconds N]
cargo xtask hunt --replay FILE

Draws hosts with services, pools, a disk and clocks that go wrong, a board with the firmware's library, and
nodes with the links between them and services that move, plays each in virtual time, and looks at every
invariant of accounting, restart, giveover, the reset line, the address and the pools after every step. A
world in which one breaks is shrunk to a short scenario file, and the command that replays it is printed.

--defects puts in the old bugs kept in core/src/defect.rs one after the other, and fails if one is not
found in time. On a commit 200000 schedules are looked at, at night 10000000.
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.first().is_some_and(|first| first == "-h" || first == "--help") {
        show(HELP);
        return ExitCode::SUCCESS;
    }
    match child::run(&mut command(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// On each commit, in `cargo xtask test`: so many worlds, always the same ones.
const WORLDS: &str = "200000";
/// And from this seed on.
const SEED: &str = "1";
/// Seconds for a defect there: many more than it takes, since the machine may be busy.
const PATIENCE: &str = "120";

/// The step of `cargo xtask test`: the old bugs are found, and nothing else is.
pub(crate) fn step(step: &mut Step) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    step.run(&mut command(&words(&["--defects", "--seconds", PATIENCE])));
    step.run(&mut command(&words(&["--schedules", WORLDS, "--seed", SEED])));
    step.note = Some(format!("{WORLDS} worlds"));
}

/// What runs it. One program finds the old bugs and looks for new ones: a feature of the core, which
/// is nothing while none is put in, so that only our own packages are built for it.
pub(crate) fn command(args: &[String]) -> Command {
    let mut command = cargo(["run", "--quiet", "--profile", "hunt", "--package", "giveover-tests"]);
    command.args(["--features", "defects", "--bin", "hunt", "--"]).args(args);
    command
}
