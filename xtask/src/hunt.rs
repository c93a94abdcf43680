//! `cargo xtask hunt`: the project's own search for bugs, in worlds drawn by chance.

use std::process::{Command, ExitCode};

use crate::child;
use crate::workspace::{cargo, show, target_dir};

const HELP: &str = "\
cargo xtask hunt [--minutes N | --schedules N] [--seed N] [--keep DIR]
cargo xtask hunt --defects [--seconds N]

Draws hosts with services, a board, a disk and clocks that go wrong, plays each in virtual time, and
looks at every invariant of accounting, restart, giveover and the reset line after every step. A world
in which one breaks is shrunk to a short scenario file, and the command that replays it is printed.

--defects builds it with the old bugs kept in core/src/defect.rs, puts in one after the other, and
fails if one is not found in time.
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

/// What runs it. With defects it is another program, which must never be taken for the real one: it
/// has a target directory of its own.
pub(crate) fn command(args: &[String]) -> Command {
    let mut command = cargo(["run", "--quiet", "--profile", "hunt", "--package", "giveover-tests"]);
    command.args(["--bin", "hunt"]);
    if args.iter().any(|arg| arg == "--defects") {
        command.env("RUSTFLAGS", "--cfg giveover_defects");
        command.env("CARGO_TARGET_DIR", target_dir().join("defects"));
    }
    command.arg("--").args(args);
    command
}
