//! `cargo xtask qemu`: a board in QEMU, with its serial line on a terminal of its own and both of
//! its lines shown as they move.

use std::os::fd::OwnedFd;
use std::process::{Command, ExitCode, Stdio};

use crate::board::{self, Board, Variant};
use crate::child;
use crate::emulated::Emulated;
use crate::firmware;
use crate::suggest;
use crate::workspace::{cargo, show, target_dir};

const HELP: &str = "\
cargo xtask qemu --board NAME

Builds the image of a board, runs it in QEMU in real time, prints the terminal that is its serial
line (`port` of the configuration), and says whenever one of its lines moves. Of lm3s6965evb, which has a
UART for it, the log is shown too, as text. Ctrl-C ends it.
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
    let logs = Variant::of(board).any(|of| of == Variant::Log);
    if logs {
        let reader = ["build", "--package", "giveover-tests", "--bin", "boardlog"];
        child::run(&mut cargo(reader))?;
    }
    let mut running = Emulated::run(board, if logs { Variant::Log } else { Variant::Plain })?;
    if let Some(log) = running.log.take() {
        // It ends when the emulator does, with the stream.
        let mut reader = Command::new(target_dir().join("debug").join("boardlog"));
        let spawned = reader.arg(&running.image).stdin(Stdio::from(OwnedFd::from(log))).spawn();
        spawned.map_err(|error| format!("boardlog: {error}"))?;
    }
    show(&format!("\nserial line: {}\n", running.port));
    running.each_edge(|seconds, what| show(&format!("{seconds:>9.3} s  {what}\n")))?;
    running.end()
}
