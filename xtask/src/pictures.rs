//! `cargo xtask pictures`: every ready scenario, drawn into shell/docs/scenarios.md and the files it shows.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::child;
use crate::step::Step;
use crate::suggest;
use crate::workspace::{cargo, output, relative, root, show, target_dir};

const HELP: &str = "\
cargo xtask pictures [--check]

Plays every scenario of `giveover simulate --example`, and draws each into shell/docs/pictures; writes
docs/scenarios.md, which shows them. With --check nothing is written, and what would be is compared
with what is there.
";

/// What stands above them.
const HEAD: &str = "\
# Ready scenarios

`giveover simulate --example NAME` prints each of these, `giveover simulate FILE --svg OUT` draws it. This
page and its pictures are made by `cargo xtask pictures`; `cargo xtask test examples` sees that they are
as it would make them.
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        [] => draw().and_then(|files| write(&files)),
        ["--check"] => draw().and_then(|files| compare(&files)),
        ["-h" | "--help"] => {
            show(HELP);
            return ExitCode::SUCCESS;
        }
        [other, ..] => return suggest::usage("option", other, ["--check"].into_iter()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Part of a step of `cargo xtask test`: the pictures are current.
pub(crate) fn check(step: &mut Step) {
    step.check(draw().and_then(|files| compare(&files)));
}

/// A file of the docs, and what should be in it.
type Drawn = (PathBuf, String);

fn draw() -> Result<Vec<Drawn>, String> {
    child::run(&mut cargo(["build", "--package", "giveover"]))?;
    let giveover = target_dir().join("debug/giveover");
    let list = output(Command::new(&giveover).args(["simulate", "--example"]))
        .ok_or("`giveover simulate --example` failed")?;
    let scratch = target_dir().join("pictures");
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut page = HEAD.to_owned();
    let mut files = Vec::new();
    for line in list.lines() {
        let (name, about) = line.split_once(' ').ok_or_else(|| format!("no name: {line}"))?;
        let picture = one(&giveover, &scratch, name)?;
        let about = about.trim();
        let _ = write!(page, "\n## {name}\n\n{about}\n\n![{name}: {about}](pictures/{name}.svg)\n");
        files.push((root().join(format!("shell/docs/pictures/{name}.svg")), picture));
    }
    files.push((root().join("shell/docs/scenarios.md"), page));
    Ok(files)
}

/// Plays one, as a person would, and has it drawn.
fn one(giveover: &Path, scratch: &Path, name: &str) -> Result<String, String> {
    println!("drawing {name}");
    let text = output(Command::new(giveover).args(["simulate", "--example", name]))
        .ok_or_else(|| format!("{name}: it cannot be printed"))?;
    let (file, picture) = (scratch.join(format!("{name}.toml")), scratch.join("picture.svg"));
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut play = Command::new(giveover);
    play.arg("simulate").arg(&file).arg("--svg").arg(&picture);
    output(&mut play).ok_or_else(|| format!("{name}: it is not as it expects"))?;
    fs::read_to_string(&picture).map_err(|error| format!("{}: {error}", picture.display()))
}

fn write(files: &[Drawn]) -> Result<(), String> {
    for (path, text) in files {
        let said = |error| format!("{}: {error}", path.display());
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(said)?;
        fs::write(path, text).map_err(said)?;
    }
    println!("{} files below docs", files.len());
    Ok(())
}

fn compare(files: &[Drawn]) -> Result<(), String> {
    let current = |(path, text): &Drawn| fs::read_to_string(path).is_ok_and(|old| old == *text);
    let stale: Vec<String> =
        files.iter().filter(|file| !current(file)).map(|(path, _)| relative(path)).collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("not current: {}; `cargo xtask pictures` draws them", stale.join(", ")))
}
