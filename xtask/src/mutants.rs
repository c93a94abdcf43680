//! `cargo xtask mutants`: changes to the board's code, one at a time, that a test should notice.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::child;
use crate::entries;
use crate::suggest;
use crate::workspace::{self, cargo, program, root, show, target_dir};

const HELP: &str = "\
cargo xtask mutants [--shard K/N] [--since REV] [--list]

Has cargo-mutants change the machine of the board, its wire and shadows, and the firmware's line and
store, one change at a time, and runs their tests on each. Fails where a change went unnoticed that
is not in tests/mutants.toml with its reason. It takes hours; a shard is one part of N.
Installs cargo-mutants where it is not there.
  --shard K/N   only one part of all changes, from 0/N
  --since REV   only changes of lines that differ from this revision
  --list        print the changes, and try none
";

/// The list of what nobody needs to notice.
const ACCEPTED: &str = "tests/mutants.toml";

/// What is changed: a package, its files, and which of its tests are run.
const PARTS: [(&str, &[&str], &[&str]); 2] = [
    (
        "giveover-core",
        &[
            "core/src/board.rs",
            "core/src/board/*.rs",
            "core/src/wire/**/*.rs",
            "core/src/shadow.rs",
        ],
        &["--lib", "--test", "it", "--", "board", "wire", "shadow"],
    ),
    (
        "giveover-firmware",
        &["firmware/src/line.rs", "firmware/src/store.rs", "firmware/src/store/*.rs"],
        &["--lib"],
    ),
];

/// Seconds that the tests of one change may take; a change may also make them last for ever.
const TIMEOUT: &str = "90";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let mut words = args.iter().map(String::as_str);
    let (mut chosen, mut list) = (Chosen::default(), false);
    while let Some(word) = words.next() {
        match word {
            "-h" | "--help" => {
                show(HELP);
                return ExitCode::SUCCESS;
            }
            "--list" => list = true,
            "--shard" => match words.next() {
                Some(part) => chosen.shard = Some(part),
                None => return suggest::usage("shard", "", ["0/8"].into_iter()),
            },
            "--since" => match words.next() {
                Some(revision) => chosen.since = Some(revision),
                None => return suggest::usage("revision", "", ["HEAD~1"].into_iter()),
            },
            other => {
                let known = ["--shard", "--since", "--list"];
                return suggest::usage("option", other, known.into_iter());
            }
        }
    }
    match try_all(chosen, list) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Which of all changes are tried.
#[derive(Clone, Copy, Default)]
struct Chosen<'a> {
    shard: Option<&'a str>,
    since: Option<&'a str>,
}

/// Writes what differs from `revision` to a file.
fn diff(revision: &str) -> Result<PathBuf, String> {
    let to = target_dir().join("mutants/since.diff");
    let mut git = Command::new("git");
    git.args(["diff", "--no-ext-diff", revision, "--", "core", "firmware"]).current_dir(root());
    let differs = git.output().map_err(|error| format!("git: {error}"))?;
    if !differs.status.success() {
        return Err(format!("git: {}", String::from_utf8_lossy(&differs.stderr).trim_end()));
    }
    fs::create_dir_all(target_dir().join("mutants"))
        .and_then(|()| fs::write(&to, &differs.stdout))
        .map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(to)
}

fn try_all(chosen: Chosen<'_>, list: bool) -> Result<(), String> {
    let since = chosen.since.map(diff).transpose()?;
    if program("cargo-mutants").is_none() {
        child::run(&mut cargo(["install", "cargo-mutants", "--locked"]))?;
    }
    let accepted =
        accepted(&workspace::read(ACCEPTED)?).map_err(|error| format!("{ACCEPTED}: {error}"))?;
    let mut missed = Vec::new();
    for (package, files, tests) in PARTS {
        let out = target_dir().join("mutants").join(package);
        fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let mut command = Command::new("cargo");
        command.arg("mutants").args(["--package", package, "--timeout", TIMEOUT, "--no-shuffle"]);
        command.arg("--output").arg(&out).current_dir(root());
        files.iter().for_each(|file| {
            command.args(["--file", *file]);
        });
        command.args(chosen.shard.into_iter().flat_map(|part| ["--shard", part]));
        if let Some(since) = &since {
            command.arg("--in-diff").arg(since);
        }
        if list {
            child::run(command.arg("--list"))?;
            continue;
        }
        command.arg("--").args(tests);
        let file = out.join("mutants.out/missed.txt");
        let _ = fs::remove_file(&file); // of a run before
        // That something was missed is told by its list; it is judged below.
        let ended = child::run(&mut command);
        match (fs::read_to_string(&file), ended) {
            (Ok(text), _) => missed.extend(text.lines().map(without_place)),
            (Err(_), Ok(())) if since.is_some() => {} // no line of these files differs
            (Err(_), Err(error)) => return Err(error),
            (Err(error), Ok(())) => return Err(format!("{}: {error}", file.display())),
        }
    }
    missed.retain(|mutant| !accepted.contains(mutant));
    if missed.is_empty() { Ok(()) } else { Err(format!("unnoticed:\n{}", missed.join("\n"))) }
}

fn accepted(text: &str) -> Result<Vec<String>, String> {
    let entry = |entry: &entries::Entry| {
        entry.value("reason")?;
        entry.value("mutant").map(str::to_owned)
    };
    entries::parse(text, "mutant")?.iter().map(entry).collect()
}

/// `core/src/board.rs:120:9: replace …` without line and column, which move.
fn without_place(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}:{what}"),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutant_is_known_without_its_place() {
        let line = "core/src/board.rs:120:9: replace Board::age with ()";
        assert_eq!(without_place(line), "core/src/board.rs: replace Board::age with ()");
        assert_eq!(without_place("odd"), "odd");
    }

    #[test]
    fn each_that_is_accepted_has_its_reason() {
        let text = "[[mutant]]\nmutant = \"core/src/a.rs: x\"\nreason = \"the same\"\n";
        assert_eq!(accepted(text), Ok(vec!["core/src/a.rs: x".to_owned()]));
        assert!(accepted("[[mutant]]\nmutant = \"x\"\n").is_err());
        let ours = workspace::read(ACCEPTED).and_then(|text| accepted(&text));
        assert!(ours.is_ok(), "{ours:?}");
    }
}
