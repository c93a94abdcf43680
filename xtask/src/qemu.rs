//! `cargo xtask qemu`: a board in QEMU, with its serial line on a terminal of its own and both of
//! its lines shown as they move.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use crate::board::{self, Board};
use crate::firmware::{self, Report};
use crate::needs::{self, For};
use crate::suggest;
use crate::workspace::{program, show};

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

/// Ends the emulator with us, however we end.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn play(board: &'static Board) -> Result<(), String> {
    let pins = board.qemu.as_ref().ok_or_else(|| format!("QEMU has no {}", board.name))?;
    needs::install(For::RealServers)?;
    let report = Report::build(firmware::toolchain(false)?, board)?;
    let qemu = program("qemu-system-arm").ok_or("qemu-system-arm is not installed")?;
    let mut command = Command::new(qemu);
    command.args(["-machine", board.name, "-display", "none", "-monitor", "none"]);
    command.args(["-chardev", "pty,id=line", "-serial", "chardev:line"]);
    command.args(["-trace", pins.trace, "-kernel"]).arg(&report.path);
    // What it traces goes to standard error, the name of the terminal to standard output.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut guard = Guard(command.spawn().map_err(|error| format!("qemu-system-arm: {error}"))?);
    let begun = Instant::now();
    let terminal = guard.0.stdout.take().map(BufReader::new).ok_or("no output")?;
    for line in terminal.lines().map_while(Result::ok) {
        if let Some(path) = terminal_path(&line) {
            show(&format!("\nserial line: {path}\n"));
            break;
        }
    }
    let trace = guard.0.stderr.take().map(BufReader::new).ok_or("no output")?;
    for line in trace.lines() {
        let line = line.map_err(|error: io::Error| error.to_string())?;
        let seconds = begun.elapsed().as_secs_f64();
        match pins.edge(&line) {
            Some(Some(edge)) => show(&format!("{seconds:>9.3} s  {edge}\n")),
            Some(None) => {}
            None => show(&format!("{seconds:>9.3} s  qemu: {line}\n")),
        }
    }
    let status = guard.0.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("qemu-system-arm: {status}")) }
}

/// The terminal in "char device redirected to /dev/pts/3 (label line)".
fn terminal_path(line: &str) -> Option<&str> {
    line.split_whitespace().find(|word| word.starts_with("/dev/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_is_read_from_what_qemu_says() {
        let line = "char device redirected to /dev/pts/3 (label line)";
        assert_eq!(terminal_path(line), Some("/dev/pts/3"));
        assert_eq!(terminal_path("qemu-system-arm: warning"), None);
    }
}
