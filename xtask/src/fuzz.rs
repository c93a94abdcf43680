//! `cargo xtask fuzz`: every target of `tests/fuzz` for some seconds each, from the kept corpus.
//!
//! The flags are those of cargo-fuzz, without a sanitizer: there is no unsafe code to watch, and
//! so the stable compiler does.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::thread;

use crate::child;
use crate::step::Step;
use crate::suggest;
use crate::workspace::{cargo, output, root, show, target_dir};

const HELP: &str = "\
cargo xtask fuzz [--seconds N] [--keep] [TARGET...]

  --seconds N   for each target (10)
  --keep        put what reached new code into tests/fuzz/corpus, as few files as will do
  TARGET        only these (all of tests/fuzz/targets)

What makes a target panic is left beside the target folder's other files and named; replay it with
`cargo xtask fuzz --seconds 0 TARGET` once it is in tests/fuzz/corpus/TARGET.
";

/// What makes the compiler count which code ran.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// On each commit.
const SECONDS: u32 = 10;

/// More than any of our frames, answers and files needs to reach all of its code.
const LONGEST: &str = "-max_len=4096";

/// A parser that takes this long for 4 KiB hangs.
const SECONDS_FOR_ONE: &str = "-timeout=10";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let (mut seconds, mut keep, mut chosen) = (SECONDS, false, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-h" | "--help" => {
                show(HELP);
                return ExitCode::SUCCESS;
            }
            "--keep" => keep = true,
            "--seconds" => match args.next().and_then(|text| text.parse().ok()) {
                Some(number) => seconds = number,
                None => {
                    eprintln!("xtask: --seconds takes a number");
                    return ExitCode::FAILURE;
                }
            },
            option if option.starts_with('-') => {
                return suggest::usage("option", option, ["--seconds", "--keep"].into_iter());
            }
            name => chosen.push(name.to_owned()),
        }
    }
    let known = targets();
    if let Some(name) = chosen.iter().find(|name| !known.contains(name)) {
        return suggest::usage("target", name, known.iter().map(String::as_str));
    }
    let chosen = if chosen.is_empty() { known } else { chosen };
    let failures = fuzz(&chosen, seconds, keep);
    failures.iter().for_each(|why| eprintln!("xtask: FAILED: {why}"));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The step of `cargo xtask test`.
pub(crate) fn step(step: &mut Step) {
    let targets = targets();
    step.run(&mut cargo(["fmt", "--manifest-path", "tests/fuzz/Cargo.toml", "--check"]));
    fuzz(&targets, SECONDS, false).into_iter().for_each(|why| step.fail(why));
    step.note = Some(format!("{} targets, {SECONDS} s each", targets.len()));
}

/// Builds and runs the targets, as many at once as there are processors.
fn fuzz(targets: &[String], seconds: u32, keep: bool) -> Vec<String> {
    let Some(host) = host() else { return vec!["rustc -vV does not name a host".to_owned()] };
    let folder = target_dir().join("fuzz");
    // With a target of its own, build scripts and macros are not instrumented.
    let mut build = cargo(["build", "--release", "--manifest-path", "tests/fuzz/Cargo.toml"]);
    build.args(["--target", &host, "--target-dir"]).arg(&folder).env("RUSTFLAGS", FLAGS);
    if let Err(why) = child::run(&mut build) {
        return vec![why];
    }
    let programs = folder.join(&host).join("release");
    let waiting = Mutex::new(targets.iter());
    let failures = Mutex::new(Vec::new());
    let hands = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..hands {
            scope.spawn(|| {
                let next = || waiting.lock().ok().and_then(|mut names| names.next());
                while let Some(name) = next() {
                    let target = Target { name, program: programs.join(name), seconds, keep };
                    let result = target.run(&folder.join("found").join(name));
                    if let (Err(why), Ok(mut failures)) = (result, failures.lock()) {
                        failures.push(why);
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap_or_default()
}

struct Target<'a> {
    name: &'a str,
    program: PathBuf,
    seconds: u32,
    keep: bool,
}

impl Target<'_> {
    /// One target: its corpus first, then what the fuzzer makes of it. `found` is where new
    /// inputs go, and what broke it.
    fn run(&self, found: &PathBuf) -> Result<(), String> {
        let name = self.name;
        let corpus = root().join("tests/fuzz/corpus").join(name);
        for folder in [&corpus, found] {
            fs::create_dir_all(folder)
                .map_err(|error| format!("fuzz {name}: {}: {error}", folder.display()))?;
        }
        let mut command = Command::new(&self.program);
        command.args([LONGEST, SECONDS_FOR_ONE, "-print_final_stats=1"]);
        command.arg(format!("-artifact_prefix={}/broke-", found.display()));
        // Zero would be for ever, and no runs are the corpus alone.
        match self.seconds {
            0 => command.arg("-runs=0"),
            seconds => command.arg(format!("-max_total_time={seconds}")),
        };
        let ended = command.arg(found).arg(&corpus).output();
        let ended = ended.map_err(|error| format!("fuzz {name}: {error}"))?;
        let said = String::from_utf8_lossy(&ended.stderr);
        if !ended.status.success() {
            let tail: Vec<&str> = said.lines().rev().take(30).collect();
            tail.iter().rev().for_each(|line| println!("{name}: {line}"));
            return Err(format!("fuzz {name}: see above, and {}", found.display()));
        }
        let runs =
            said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        println!("fuzz {name:<16} {:>9} runs, nothing broke", runs.unwrap_or("?").trim());
        if self.keep { self.merge(&corpus, found) } else { Ok(()) }
    }

    /// Adds to the corpus what of the found inputs reaches code that nothing in it does.
    fn merge(&self, corpus: &PathBuf, found: &PathBuf) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(["-set_cover_merge=1", "-use_counters=0", LONGEST]).arg(corpus).arg(found);
        let ended = command.output().map_err(|error| format!("fuzz {}: {error}", self.name))?;
        if ended.status.success() { Ok(()) } else { Err(format!("fuzz {}: merge", self.name)) }
    }
}

/// The targets, by name.
fn targets() -> Vec<String> {
    let entries = fs::read_dir(root().join("tests/fuzz/targets")).into_iter().flatten().flatten();
    let name = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = entries.filter_map(|entry| name(entry.path())).collect();
    names.sort();
    names
}

/// The compiler's own platform.
fn host() -> Option<String> {
    let text = output(Command::new("rustc").arg("-vV"))?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}
