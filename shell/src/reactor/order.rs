//! What a command is run for, and what became of it.

use giveover_core::time::Instant;
use nix::errno::Errno;

use super::{Exit, Program, SpawnError};

/// What to run, and until when.
pub struct Order<'a> {
    /// The program.
    pub program: &'a mut Program,
    /// Killed, with all it started, if it has not ended by then.
    pub until: Instant,
    /// What to keep of its output.
    pub keep: Keep,
    /// What it leaves behind when it ends by itself is meant to stay.
    pub leave: bool,
}

/// What to keep of a command's output and error streams. All of it is read either way, so that
/// no command ever waits for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Nothing: both streams are `/dev/null`.
    Nothing,
    /// Enough for [`Done::line`].
    Line,
    /// At most 64 KiB.
    All,
}

impl Keep {
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Line => 512,
            Self::All => 64 << 10,
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The program ended by itself, or was killed by others; `None` if somebody else reaped it.
    Exit(Option<Exit>),
    /// The deadline came first.
    TimedOut,
    /// It never ran.
    NotRun(SpawnError),
    /// We ended it; see [`super::Runner::cancel`].
    Cancelled,
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done<K> {
    /// Whose it was.
    pub key: K,
    /// How it ended.
    pub end: End,
    /// When it began.
    pub began: Instant,
    /// What was kept of its output, in the order it came.
    pub output: Vec<u8>,
}

impl<K> Done<K> {
    /// The first line of its output that says anything, fit for a screen.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        first_line(&self.output)
    }
}

fn first_line(output: &[u8]) -> Option<String> {
    let mut lines = output.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.find(|line| !line.is_empty())?;
    let text = String::from_utf8_lossy(line);
    Some(text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(200).collect())
}

/// A run that was killed and is still there: not ours to signal, or asleep in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck<K> {
    /// Whose it is.
    pub key: K,
    /// Its process.
    pub pid: u32,
    /// A process of it that could not be signalled, and why.
    pub refused: Option<(u32, Errno)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_is_fit_for_a_screen() {
        for (output, line) in [
            (&b""[..], None),
            (b"\n \n", None),
            (b"\n  ok: 3 ms \nmore", Some("ok: 3 ms")),
            (b"a\x1b[31mb\xff", Some("a\u{fffd}[31mb\u{fffd}")),
        ] {
            assert_eq!(first_line(output).as_deref(), line);
        }
        assert_eq!(first_line(&[b'x'; 4000]).map(|line| line.len()), Some(200));
    }
}
