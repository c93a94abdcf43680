//! `cargo xtask test`: everything that CI checks, in one command that installs what it needs.
//!
//! Every step runs, whatever the steps before it came to, so that one run shows all there is to
//! mend. The order goes from what is quick to what is slow.

use std::fs;
use std::process::{Command, ExitCode};

use crate::board::{BOARDS, Variant};
use crate::features;
use crate::floors;
use crate::fuzz;
use crate::hunt;
use crate::lacks::Lacks;
use crate::licences;
use crate::needs::{self, For};
use crate::pictures;
use crate::requirements::Survey;
use crate::size;
use crate::step::Step;
use crate::suggest;
use crate::summary::Summary;
use crate::thumb::{TARGETS, Toolchain};
use crate::workspace::{self, cargo, root, show};

const HELP: &str = "\
cargo xtask test [--quick] [STEP...]

  --quick   the inner loop: formatting, lints, and the tests that need nothing but us
  STEP      only these steps

Installs what is missing, runs every step even after a failure, and ends with a summary. With
CI=true a test that was skipped fails, unless tests/ci-lacks.toml has the reason.

Steps (* in --quick):
";

/// A step: its name, whether the inner loop has it, and what it does.
type Task = (&'static str, bool, fn(&mut Step));

const TASKS: [Task; 17] = [
    ("needs", false, needs::step),
    ("format", true, format),
    ("floors", true, floors),
    ("requirements", true, requirements),
    ("licences", false, licences),
    ("clippy", true, clippy),
    ("features", false, features),
    ("host-tests", true, host_tests),
    ("end-to-end", true, end_to_end),
    ("long", false, long),
    ("fuzz", false, fuzz::step),
    ("model", false, model),
    ("hunt", false, hunt::step),
    ("docs", false, docs),
    ("board", false, board),
    ("real-servers", false, real_servers),
    ("examples", false, examples),
];

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        let steps =
            TASKS.map(|(name, quick, _)| format!("  {}{name}\n", if quick { "* " } else { "  " }));
        show(&(HELP.to_string() + &steps.concat()));
        return ExitCode::SUCCESS;
    }
    let (options, names): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.starts_with('-'));
    if let Some(option) = options.iter().find(|option| **option != "--quick") {
        return suggest::usage("option", option, ["--quick"].into_iter());
    }
    let known = TASKS.iter().map(|task| task.0);
    if let Some(name) = names.iter().find(|name| known.clone().all(|known| known != **name)) {
        return suggest::usage("step", name, known);
    }
    let chosen: Vec<&Task> = TASKS
        .iter()
        .filter(|(name, quick, _)| {
            let all = names.is_empty() && (options.is_empty() || *quick);
            all || names.iter().any(|chosen| chosen == name)
        })
        .collect();
    let lacks = match Lacks::load() {
        Ok(lacks) => lacks,
        Err(error) => {
            eprintln!("xtask: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut summary = Summary::new(lacks, workspace::strict(), chosen.len());
    for (name, _, body) in chosen {
        summary.step(name, body);
    }
    show(&summary.text());
    if summary.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn format(step: &mut Step) {
    step.run(&mut cargo(["fmt", "--all", "--check"]));
}

fn floors(step: &mut Step) {
    floors::complaints().into_iter().for_each(|complaint| step.fail(complaint));
}

fn requirements(step: &mut Step) {
    match Survey::take() {
        Ok(survey) => {
            step.note = Some(survey.counts());
            survey.errors.into_iter().for_each(|error| step.fail(error));
        }
        Err(error) => step.fail(error),
    }
}

fn licences(step: &mut Step) {
    match licences::check() {
        Ok(packages) => step.note = Some(format!("{packages} packages")),
        Err(offenders) => offenders.into_iter().for_each(|offender| step.fail(offender)),
    }
}

fn clippy(step: &mut Step) {
    let all = ["clippy", "--workspace", "--all-targets", "--keep-going"];
    step.run(cargo(all).args(["--", "-D", "warnings"]));
}

fn features(step: &mut Step) {
    let sets = features::declared().map(|declared| features::powerset(&declared));
    match sets {
        Ok(sets) => sets.iter().for_each(|set| {
            let mut lint = cargo(["clippy", "--package", "giveover-core", "--no-default-features"]);
            if !set.is_empty() {
                lint.args(["--features", set]);
            }
            step.run(lint.args(["--", "-D", "warnings"]));
        }),
        Err(error) => step.fail(error),
    }
    // The daemon without what it has by default.
    let mut lint = cargo(["clippy", "--package", "giveover", "--no-default-features"]);
    step.run(lint.args(["--all-targets", "--", "-D", "warnings"]));
}

/// Everything but the end-to-end package, doc tests included.
fn host_tests(step: &mut Step) {
    let all = ["test", "--workspace", "--exclude", "giveover-tests", "--no-fail-fast"];
    step.run_tests(&mut cargo(all));
}

fn end_to_end(step: &mut Step) {
    // Cargo does not build another package's binary for a test, so the daemon is built first.
    step.run(&mut cargo(["build", "--package", "giveover"]));
    let mut tests = cargo(["test", "--package", "giveover-tests", "--no-fail-fast", "--lib"]);
    for name in test_binaries().iter().filter(|name| !real(name) && !is_long(name)) {
        tests.args(["--test", name]);
    }
    step.run_tests(&mut tests);
}

/// The end-to-end tests that take longer than somebody waits who has just changed a line.
fn long(step: &mut Step) {
    step.run(&mut cargo(["build", "--package", "giveover"]));
    let tests = ["test", "--package", "giveover-tests", "--no-fail-fast", "--test", "long_*"];
    step.run_tests(&mut cargo(tests));
}

/// The model checker, in a profile of its own: it visits millions of states.
fn model(step: &mut Step) {
    let tests = ["test", "--profile", "model", "--package", "giveover-core"];
    step.run_tests(cargo(tests).args(["--features", "defects", "--test", "peer_model"]));
}

fn docs(step: &mut Step) {
    let mut command = cargo(["doc", "--workspace", "--no-deps", "--keep-going"]);
    step.run(command.env("RUSTDOCFLAGS", "-Dwarnings"));
}

fn board(step: &mut Step) {
    match Toolchain::find() {
        Ok(toolchain) => {
            TARGETS.iter().for_each(|target| step.check(toolchain.build(target)));
            match size::table(toolchain) {
                Ok(table) => show(&table),
                Err(error) => step.fail(error),
            }
            for board in &BOARDS {
                Variant::of(board).for_each(|of| step.check(toolchain.clippy(board, of)));
            }
            step.check(size::images(toolchain));
        }
        Err(missing) => step.fail(missing),
    }
}

fn real_servers(step: &mut Step) {
    let missing: Vec<&str> =
        needs::missing(For::RealServers).iter().map(|package| package.brings()).collect();
    if !missing.is_empty() {
        return step.skip(&format!("not installed: {}", missing.join(", ")));
    }
    if !test_binaries().iter().any(|name| real(name)) {
        return step.skip("there is no tests/tests/real_*.rs");
    }
    step.run(&mut cargo(["build", "--release", "--package", "giveover"]));
    let tests = ["test", "--release", "--package", "giveover-tests", "--test", "real_*"];
    step.run_tests(cargo(tests).arg("--no-fail-fast"));
}

/// The examples are read by a second TOML reader too: ours knows more than TOML 1.0. The pictures of
/// the ready scenarios are what would be drawn now.
fn examples(step: &mut Step) {
    const READ: &str = "import sys, tomllib; sys.tracebacklimit = 0; \
        tomllib.load(open(sys.argv[1], 'rb'))";
    let folder = root().join("shell/examples");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    if files.is_empty() {
        return step.skip("there is no shell/examples/*.toml");
    }
    pictures::check(step);
    step.note = Some(format!("{} files", files.len()));
    for file in files {
        let name = format!("python3 tomllib {}", workspace::relative(&file));
        step.run_named(Command::new("python3").args(["-c", READ]).arg(&file), &name);
    }
}

/// The integration test binaries of the end-to-end package.
fn test_binaries() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root().join("tests/tests"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let file = path.extension().is_some_and(|extension| extension == "rs");
            let folder = path.join("main.rs").is_file();
            let name = path.file_stem()?.to_str()?.to_string();
            (file || folder).then_some(name)
        })
        .collect();
    names.sort();
    names
}

/// Whether a test binary needs real servers on the machine.
fn real(name: &str) -> bool {
    name.starts_with("real_")
}

/// Whether a test binary is for the whole run only.
fn is_long(name: &str) -> bool {
    name.starts_with("long_")
}
