//! `cargo xtask nightly`: what is too long for each commit, with the figures that a night has time for.

use std::process::{Command, ExitCode};

use crate::fuzz;
use crate::hunt;
use crate::lacks::Lacks;
use crate::mutants;
use crate::step::Step;
use crate::suggest;
use crate::summary::Summary;
use crate::workspace::{cargo, show};

const HELP: &str = "\
cargo xtask nightly [STEP...]

  STEP   only these steps

Runs every step even after a failure, and ends with a summary. `cargo xtask test` comes first: it
installs what is needed.

Steps:
";

/// Malformed frames to the decoder on this machine.
const FRAMES: &str = "10000000";
/// For each target of the fuzzer.
const FUZZ_SECONDS: &str = "600";
/// Worlds: three hours on two quiet cores.
const WORLDS: &str = "10000000";

type Task = (&'static str, &'static str, fn(&mut Step));

const TASKS: [Task; 7] = [
    ("frames", "10 million malformed frames to the decoder", frames),
    ("qemu", "100,000 hostile frames and a power cut at every word, to boards in QEMU", qemu),
    ("failovers", "100 failovers of an address, and as many of a service", failovers),
    ("model", "every state of the model checker", model),
    ("fuzz", "10 minutes a target", fuzz_longer),
    ("hunt", "10 million worlds drawn by chance", hunt_longer),
    ("mutants", "changes to the board's code that a test should notice", mutants_all),
];

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        let steps = TASKS.map(|(name, what, _)| format!("  {name:<10}{what}\n"));
        show(&(HELP.to_string() + &steps.concat()));
        return ExitCode::SUCCESS;
    }
    let known = TASKS.iter().map(|task| task.0);
    if let Some(name) = args.iter().find(|name| known.clone().all(|known| known != **name)) {
        return suggest::usage("step", name, known);
    }
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    let chosen: Vec<&Task> = TASKS.iter().filter(|task| wanted(task.0)).collect();
    let lacks = match Lacks::load() {
        Ok(lacks) => lacks,
        Err(error) => {
            eprintln!("xtask: {error}");
            return ExitCode::FAILURE;
        }
    };
    // What a machine lacks is told by `cargo xtask test`.
    let mut summary = Summary::new(lacks, false, chosen.len());
    for (name, _, body) in chosen {
        summary.step(name, body);
    }
    show(&summary.text());
    if summary.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn frames(step: &mut Step) {
    let mut tests = cargo(["test", "--profile", "model", "--package", "giveover-core"]);
    tests.args(["--test", "it", "malformed_frames"]).env("GIVEOVER_FRAMES", FRAMES);
    step.run_tests(&mut tests);
}

fn qemu(step: &mut Step) {
    step.run(&mut cargo(["build", "--package", "giveover"]));
    let mut tests = cargo(["test", "--package", "giveover-tests", "--no-fail-fast"]);
    tests.args(["--test", "real_qemu", "--test", "real_qemu_daemon"]);
    step.run_tests(tests.env("GIVEOVER_NIGHTLY", "1"));
}

fn failovers(step: &mut Step) {
    step.run(&mut cargo(["build", "--package", "giveover"]));
    let mut tests = cargo(["test", "--package", "giveover-tests", "--test", "real_failovers"]);
    tests.args(["--", "--nocapture"]);
    step.run_tests(tests.env("GIVEOVER_NIGHTLY", "1"));
}

fn model(step: &mut Step) {
    let mut tests = cargo(["test", "--profile", "model", "--package", "giveover-core"]);
    tests.args(["--features", "defects", "--test", "peer_model"]);
    step.run_tests(tests.env("GIVEOVER_MODEL", "exhaust"));
}

fn fuzz_longer(step: &mut Step) {
    done(step, "fuzz", fuzz::run(&["--seconds", FUZZ_SECONDS].map(str::to_owned)));
}

fn hunt_longer(step: &mut Step) {
    let mut command: Command = hunt::command(&["--schedules", WORLDS].map(str::to_owned));
    step.run(&mut command);
}

fn mutants_all(step: &mut Step) {
    done(step, "mutants", mutants::run(&[]));
}

fn done(step: &mut Step, verb: &str, status: ExitCode) {
    if status != ExitCode::SUCCESS {
        step.fail(format!("cargo xtask {verb} failed"));
    }
}
