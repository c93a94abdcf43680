//! Exit statuses: the answer of a verb to the script that ran it.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// How a verb ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    /// Done; yes; healthy.
    pub const DONE: Self = Self(0);
    /// No: denied, timed out, differs, not all ok.
    pub const NO: Self = Self(1);
    /// The command line cannot be meant.
    pub const USAGE: Self = Self(2);
    /// A configuration or an input file was refused.
    pub const REFUSED: Self = Self(3);
    /// The daemon cannot be reached.
    pub const UNREACHABLE: Self = Self(4);
    /// There is no such service.
    pub const NO_SUCH: Self = Self(5);
    /// `probe`: cannot measure, and every error of its own.
    pub const UNMEASURED: Self = Self(3);
    /// `run`: a bug of ours.
    pub const BUG: Self = Self(70);
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// The table of `giveover help exit`, as the interface has it.
pub const TABLE: &str = "\
every verb
   0  done; yes
   1  no: denied, timed out, differs, not all ok (status --exit-code)
   2  usage
   3  configuration or input file refused
   4  cannot reach the daemon
   5  no such service, node or pool, or no board
probe
   0  healthy
   1  partial failure
   2  complete failure
   3  cannot measure, and every error of its own: the codes of monitoring plugins
run
   0  told to stop
   3  configuration refused
  10  no privilege
  11  no trusted server answers (only with [cluster])
  12  address in use
  13  refused by a peer
  14  port in use
  15  already running
  16  state unusable
  17  board required, not armed
  70  our bug
";

/// Why a verb ends before it is done.
#[derive(Debug)]
pub enum Stop {
    /// Whoever read our output has gone; nothing is left to say.
    Closed,
    /// An exit status and what to tell the person.
    Said(Exit, String),
}

impl Stop {
    /// The command line cannot be meant.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Said(Exit::USAGE, text.into())
    }

    /// A configuration or an input file was refused.
    pub fn refused(text: impl Into<String>) -> Self {
        Self::Said(Exit::REFUSED, text.into())
    }

    /// There is no such service.
    pub fn no_such(text: impl Into<String>) -> Self {
        Self::Said(Exit::NO_SUCH, text.into())
    }
}

impl From<io::Error> for Stop {
    /// For output that could not be written.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::Closed
        } else {
            Self::Said(Exit::NO, format!("cannot write: {error}"))
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => Ok(()),
            Self::Said(_, text) => f.write_str(text),
        }
    }
}
