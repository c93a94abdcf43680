//! A board in QEMU in the time of this machine: its serial line a terminal, its lines watched.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use crate::board::{Board, Pins, Variant};
use crate::firmware::{self, Report};
use crate::needs::{self, For};
use crate::workspace::program;

/// The emulator, which ends with us, however we end.
pub(crate) struct Emulated {
    child: Child,
    /// The terminal that is the board's serial line.
    pub(crate) port: String,
    trace: Option<BufReader<ChildStderr>>,
    pins: &'static Pins,
    begun: Instant,
    /// What runs in it.
    pub(crate) image: PathBuf,
    /// Its lines of log, as bytes.
    pub(crate) log: Option<UnixStream>,
}

impl Drop for Emulated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Emulated {
    /// Builds the image of a board and runs it.
    ///
    /// # Errors
    /// QEMU has no such board or is not there; the image does not build.
    pub(crate) fn start(board: &'static Board) -> Result<Self, String> {
        Self::run(board, Variant::Plain)
    }

    /// The same of an image, whose lines of log, if it has any, go to `Emulated::log`.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn run(board: &'static Board, variant: Variant) -> Result<Self, String> {
        let pins = board.qemu.as_ref().ok_or_else(|| format!("QEMU has no {}", board.name))?;
        needs::install(For::RealServers)?;
        let report = Report::build(firmware::toolchain(false)?, board, variant)?;
        let qemu = program("qemu-system-arm").ok_or("qemu-system-arm is not installed")?;
        let mut command = Command::new(qemu);
        command.args(["-machine", board.name, "-display", "none", "-monitor", "none"]);
        command.args(["-chardev", "pty,id=line", "-serial", "chardev:line"]);
        let door = std::env::temp_dir().join(format!("giveover-log-{}", std::process::id()));
        if variant == Variant::Log {
            // It waits for its reader, so that no line is lost.
            let listen = format!("unix:{},server=on,wait=on", door.display());
            command.args(["-serial", &listen]);
        }
        command.args(["-trace", pins.trace, "-kernel"]).arg(&report.path);
        // What it traces goes to standard error, the name of the terminal to standard output.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("qemu-system-arm: {error}"))?;
        let begun = Instant::now();
        let (said, trace) = (child.stdout.take(), child.stderr.take().map(BufReader::new));
        let mut running =
            Self { child, port: String::new(), trace, pins, begun, image: report.path, log: None };
        let said = said.map(BufReader::new).ok_or("no output")?;
        let port = said.lines().map_while(Result::ok).find_map(|line| terminal_path(&line));
        running.port = port.ok_or("qemu-system-arm names no terminal")?;
        if variant == Variant::Log {
            let log = (0..200).find_map(|_| {
                std::thread::sleep(Duration::from_millis(25));
                UnixStream::connect(&door).ok()
            });
            let _ = std::fs::remove_file(&door);
            running.log = Some(log.ok_or("qemu-system-arm opens no log")?);
        }
        Ok(running)
    }

    /// Since when it runs.
    pub(crate) const fn begun(&self) -> Instant {
        self.begun
    }

    /// What it says of its lines, and whatever else it says, to be read by somebody else.
    pub(crate) fn edges(&mut self) -> Option<Edges> {
        Some(Edges { trace: self.trace.take()?, pins: self.pins, begun: self.begun })
    }

    /// Tells each edge, with the seconds since the start, until the emulator ends.
    ///
    /// # Errors
    /// Somebody else reads them.
    pub(crate) fn each_edge(&mut self, tell: impl FnMut(f64, &str)) -> Result<(), String> {
        self.edges().ok_or("its lines are watched already")?.each(tell);
        Ok(())
    }

    /// How the emulator has ended.
    ///
    /// # Errors
    /// Not well.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        let status = self.child.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("qemu-system-arm: {status}")) }
    }
}

/// What an emulator says of a board's lines.
pub(crate) struct Edges {
    trace: BufReader<ChildStderr>,
    pins: &'static Pins,
    begun: Instant,
}

impl Edges {
    /// Tells each, with the seconds since the start, until the emulator ends.
    pub(crate) fn each(self, mut tell: impl FnMut(f64, &str)) {
        for line in self.trace.lines().map_while(Result::ok) {
            let seconds = self.begun.elapsed().as_secs_f64();
            match self.pins.edge(&line) {
                Some(Some(edge)) => tell(seconds, &edge),
                Some(None) => {}
                // It says so of a timer that the image has not set yet, and of a log until we read it.
                None if line.starts_with("Timer with period zero") => {}
                None if line.contains("info: QEMU waiting for connection") => {}
                None => tell(seconds, &format!("qemu: {line}")),
            }
        }
    }
}

/// The terminal in "char device redirected to /dev/pts/3 (label line)".
fn terminal_path(line: &str) -> Option<String> {
    line.split_whitespace().find(|word| word.starts_with("/dev/")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_is_read_from_what_qemu_says() {
        let line = "char device redirected to /dev/pts/3 (label line)";
        assert_eq!(terminal_path(line).as_deref(), Some("/dev/pts/3"));
        assert_eq!(terminal_path("qemu-system-arm: warning"), None);
    }
}
