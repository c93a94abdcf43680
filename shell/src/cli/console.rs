//! Where output goes, and what surrounds us. Everything is written through here, so that a
//! closed pipe is an error to be handled and never a panic.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;

/// Standard output and error, and whether people read them.
pub struct Console {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// Standard output is a terminal.
    pub terminal: bool,
    /// Standard error is a terminal.
    pub error_terminal: bool,
    /// What surrounds us.
    pub surroundings: Surroundings,
}

/// What we take from environment, user and starter, read once.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `GIVEOVER_SOCKET`.
    pub socket: Option<PathBuf>,
    /// The first of systemd's `RUNTIME_DIRECTORY`.
    pub runtime: Option<PathBuf>,
    /// The person's `XDG_RUNTIME_DIR`.
    pub person_runtime: Option<PathBuf>,
    /// We are root.
    pub root: bool,
    /// `NO_COLOR` is set, or the terminal is dumb.
    pub colourless: bool,
    /// The words this process was started with, our own name first.
    pub words: Vec<OsString>,
}

impl Console {
    /// This process's own.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            out: Box::new(io::stdout()),
            err: Box::new(io::stderr()),
            terminal: io::stdout().is_terminal(),
            error_terminal: io::stderr().is_terminal(),
            surroundings: Surroundings::of_process(),
        }
    }

    /// Others, for tests.
    #[must_use]
    pub fn of(out: Box<dyn Write>, err: Box<dyn Write>, surroundings: Surroundings) -> Self {
        Self { out, err, terminal: false, error_terminal: false, surroundings }
    }

    /// How wide the terminal is, in columns.
    #[must_use]
    pub fn width(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok().filter(|_| self.terminal)?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// Writes to standard output, and hands it on at once: others wait for what we say.
    ///
    /// # Errors
    /// The writer's; `BrokenPipe` where nobody reads any more.
    pub fn print(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Shows how far something has come, over what was shown before; a terminal is asked for first.
    pub fn show_progress(&mut self, text: &str, last: bool) {
        let end = if last { "\r\x1b[K" } else { "" };
        let whole = write!(self.err, "\r{text}{end}");
        let _ = whole.and_then(|()| self.err.flush());
    }

    /// Tells the person; if that fails there is nobody to tell.
    pub fn tell(&mut self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let whole =
            self.err.write_all(text.as_bytes()).and_then(|()| self.err.write_all(end.as_bytes()));
        let _ = whole.and_then(|()| self.err.flush());
    }
}

impl Surroundings {
    fn of_process() -> Self {
        let path = |name: &str| variable(name).map(PathBuf::from);
        let runtime = variable("RUNTIME_DIRECTORY").and_then(|list| {
            let list = list.into_string().ok()?;
            list.split(':').next().filter(|first| !first.is_empty()).map(PathBuf::from)
        });
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        Self {
            socket: path("GIVEOVER_SOCKET"),
            runtime,
            person_runtime: path("XDG_RUNTIME_DIR"),
            root: rustix::process::geteuid().is_root(),
            colourless: dumb || variable("NO_COLOR").is_some(),
            words: std::env::args_os().collect(),
        }
    }
}

/// A variable that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
