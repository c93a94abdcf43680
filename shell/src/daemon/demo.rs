//! `giveover run --demo`: a small service of our own that misbehaves on a schedule, so that a
//! new user can watch what a monitor does about it.
//!
//! It needs no configuration, no rights and no other program, and leaves nothing behind: files
//! are in a directory of its own that goes with it, and both ends listen on loopback only.

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

pub mod service;

use super::{Options, exit};
use crate::report::paint::Paint;

/// What the demo starts from.
pub struct Stage {
    dir: PathBuf,
    /// The configuration.
    pub file: PathBuf,
}

impl Stage {
    /// Makes the directory and the configuration in it.
    ///
    /// # Errors
    /// The directory for temporary files cannot be written, or there is no loopback address.
    pub fn set() -> io::Result<Self> {
        let exe = std::env::current_exe()?;
        let dir = std::env::temp_dir().join(format!("giveover-demo-{}", std::process::id()));
        fs::create_dir(&dir)?;
        let stage = Self { file: dir.join("giveover.toml"), dir };
        let port = free_port()?;
        fs::write(&stage.file, configuration(&exe, &stage.dir, port))?;
        Ok(stage)
    }

    /// Where the daemon keeps its state.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// The daemon's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.join("control.sock")
    }

    /// What is about to be seen.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn introduce(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "giveover demo: one service, probed every second over HTTP.\n\
             A failure is a sum of 100 inside 60 s; 2 restarts are allowed, failure 3 gives over.\n\
             The service will hang, then refuse, then die.\n"
        )
    }
}

/// `giveover run --demo`: returns its exit status. `journal` is kept where it is given.
#[must_use]
pub fn run(paint: Paint, journal: Option<PathBuf>) -> u8 {
    let stage = match Stage::set() {
        Ok(stage) => stage,
        Err(error) => {
            let _ = writeln!(io::stderr(), "giveover: the demo cannot be set up: {error}");
            return exit::STATE;
        }
    };
    let _ = stage.introduce(&mut io::stderr());
    super::run(&Options {
        file: Some(stage.file.clone()),
        state: Some(stage.state()),
        socket: stage.socket(),
        journal,
        paint,
        until_given_over: true,
        ..Options::default()
    })
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A port that was free a moment ago.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn configuration(exe: &Path, dir: &Path, port: u16) -> String {
    let word = |path: &Path| format!("{:?}", path.display().to_string());
    let (exe, starts) = (word(exe), word(&dir.join("starts")));
    format!(
        "[giveover]\n\
         command = [{exe}, \"internal\", \"demo-takeover\"]\n\
         \n\
         [service.demo]\n\
         start    = [{exe}, \"internal\", \"demo-service\", \"{port}\", {starts}]\n\
         stop     = \"KILL\"\n\
         giveover = \"command\"\n\
         check.page = {{ url = \"http://127.0.0.1:{port}/\", timeout = \"500ms\" }}\n\
         \n\
         [service.demo.policy]\n\
         thorough_probe_interval = \"1s\"\n\
         probe_timeout  = \"500ms\"\n\
         retry_count    = 2\n\
         retry_interval = \"60s\"\n\
         restart_delay  = [\"0s\", \"1s\"]\n\
         start_grace    = \"2s\"\n\
         start_timeout  = \"2s\"\n\
         stop_timeout   = \"2s\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_leaves_nothing_behind() {
        let stage = Stage::set().expect("a temporary directory");
        let dir = stage.dir.clone();
        assert!(stage.file.exists());
        drop(stage);
        assert!(!dir.exists());
    }
}
