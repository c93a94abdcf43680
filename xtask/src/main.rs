//! Development tasks: `cargo xtask VERB`.
//!
//! One file per verb. Nothing of the workspace is imported and nothing is depended on, so that
//! this compiles in a moment and still runs when the rest does not build.

mod bench;
mod board;
mod child;
mod elf;
mod emulated;
mod entries;
mod features;
mod firmware;
mod flash;
mod floors;
mod flow;
mod frames;
mod fuzz;
mod harness;
mod hunt;
mod image;
mod lacks;
mod layout;
mod licences;
mod mutants;
mod needs;
mod nightly;
mod pair;
mod pictures;
mod qemu;
mod requirements;
mod sim_board;
mod size;
mod source;
mod spdx;
mod stack;
mod step;
mod suggest;
mod summary;
mod test;
mod thumb;
mod uf2;
mod workspace;

use std::process::ExitCode;

/// A verb: its name, one line of help, and what runs it.
type Verb = (&'static str, &'static str, fn(&[String]) -> ExitCode);

const VERBS: [Verb; 15] = [
    ("test", "everything CI checks; --quick is the inner loop (test --help)", test::run),
    ("requirements", "which rows of tests/requirements.md a test shows", requirements::run),
    ("size", "code and data of core and firmware on the board's processors", size::run),
    ("firmware", "the image of a board, with its sizes and bounds", firmware::run),
    ("flash", "a real board gets its image", flash::run),
    ("qemu", "a board in QEMU, its serial line on a terminal", qemu::run),
    ("sim-board", "a board in QEMU and a daemon that feeds it, to watch", sim_board::run),
    ("fuzz", "bytes from outside, as a fuzzer invents them; --keep grows the corpus", fuzz::run),
    ("mutants", "changes to the board's code that a test should notice", mutants::run),
    ("nightly", "all that is too long for each commit", nightly::run),
    ("pictures", "the ready scenarios drawn, for shell/docs/scenarios.md", pictures::run),
    ("hunt", "worlds drawn by chance, every invariant looked at after every step", hunt::run),
    ("layout", "functions that a waiting daemon calls, put side by side", layout::run),
    ("pair", "a real pair on hosts made for it, and the document's experiments", pair::run),
    ("bench", "our figures beside those of HAProxy, monit and keepalived", bench::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match args.split_first() {
        None => return help(),
        Some((first, _)) if ["help", "-h", "--help"].contains(&first.as_str()) => return help(),
        Some((first, rest)) => (first.as_str(), rest),
    };
    match VERBS.iter().find(|verb| verb.0 == name) {
        Some(verb) => (verb.2)(rest),
        None => suggest::usage("verb", name, VERBS.iter().map(|verb| verb.0)),
    }
}

fn help() -> ExitCode {
    let lines = VERBS.iter().map(|(name, what, _)| format!("  {name:<14}{what}\n"));
    let text: String = lines.collect();
    workspace::show(&format!("cargo xtask VERB\n\n{text}"));
    ExitCode::SUCCESS
}
