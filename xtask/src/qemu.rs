//! `cargo xtask qemu`: a board in QEMU, with its serial line on a terminal of its own and both of
//! its lines shown as they move.

use std::process::ExitCode;

use crate::board::{self, Board};
use crate::emulated::Emulated;
use crate::firmware;
use crate::suggest;
use crate::workspace::show;

const HELP: &str = "\
cargo xtask qemu --board NAME

Builds the image of a board, runs it in QEMU in real time, prints the terminal that is its serial
line (`port` of the configuration), and says whenever one of its lines moves. Ctrl-C ends it.
  --board NAME   lm3s6965evb or microbit
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let board = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["-h" | "--help"] => {
            show(HELP);
            return ExitCode::SUCCESS;
        }
        ["--board", name] => match board::named(name) {
            Some(board) => board,
            None => return firmware::unknown(name),
        },
        [] | ["--board"] => return firmware::unknown(""),
        [first, ..] => return suggest::usage("option", first, ["--board"].into_iter()),
    };
    match play(board) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play(board: &'static Board) -> Result<(), String> {
    let mut running = Emulated::start(board)?;
    show(&format!("\nserial line: {}\n", running.port));
    running.each_edge(|seconds, what| show(&format!("{seconds:>9.3} s  {what}\n")))?;
    running.end()
}
