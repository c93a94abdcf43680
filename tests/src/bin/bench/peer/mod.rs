//! The programs compared, and how one is started on a load.

mod bare;
mod haproxy;
mod keepalived;
mod monit;
mod ours;

pub(crate) use ours::Follow;

use crate::bed::Bed;
use crate::child::Child;
use crate::load::Load;
use crate::why::Why;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A column of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Program {
    Ours,
    Bare,
    Haproxy,
    Monit,
    Keepalived,
}

impl Program {
    /// In the order of the columns, which is also the order within a round.
    pub(crate) const ALL: [Program; 5] =
        [Program::Ours, Program::Bare, Program::Haproxy, Program::Monit, Program::Keepalived];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Program::Ours => "ours",
            Program::Bare => "bare",
            Program::Haproxy => "haproxy",
            Program::Monit => "monit",
            Program::Keepalived => "keepalived",
        }
    }

    /// The version it tells, or why it cannot run here.
    pub(crate) fn version(self, bed: &Bed) -> Result<String, Why> {
        match self {
            Program::Ours => first_line(Command::new(bed.giveover()?).arg("--version")),
            Program::Bare => Ok("in this binary".to_owned()),
            Program::Haproxy => first_line(Command::new(installed("haproxy")?).arg("-v")),
            Program::Monit => first_line(Command::new(installed("monit")?).arg("-V")),
            Program::Keepalived => first_line(Command::new(installed("keepalived")?).arg("-v")),
        }
    }

    /// Starts it on `load`, pinned to the core of the probers.
    pub(crate) fn start(self, bed: &Bed, load: &Load) -> Result<Running, Why> {
        match self {
            Program::Ours => ours::start(bed, load),
            Program::Bare => bare::start(bed, load),
            Program::Haproxy => haproxy::start(bed, load),
            Program::Monit => monit::start(bed, load),
            Program::Keepalived => keepalived::start(bed, load),
        }
    }
}

/// A program under load. Dropping it ends it.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// The processes whose cost is the program's own: one, or several where it splits itself.
    pub(crate) pids: Vec<i32>,
    /// Its files.
    pub(crate) room: PathBuf,
    program: Program,
}

impl Running {
    fn new(program: Program, child: Child, room: PathBuf) -> Running {
        Running { pids: vec![child.pid()], child, room, program }
    }

    /// How many targets it believes are not well, where it can be asked. All targets of a figure
    /// are well, so any other number than none means that it measured something else.
    pub(crate) fn unwell(&mut self, bed: &Bed) -> Result<Option<usize>, Why> {
        match self.program {
            Program::Ours => ours::unwell(bed, &self.room).map(Some),
            Program::Bare => self.child.ask("count").map(|count| Some(count[1] as usize)),
            Program::Haproxy => haproxy::unwell(&self.room).map(Some),
            Program::Monit | Program::Keepalived => Ok(None),
        }
    }
}

/// The program of a Debian package: on the PATH, or where Debian keeps what only root needs.
fn installed(name: &str) -> Result<PathBuf, Why> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|place| place.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| Why::lasting(format!("not installed (Debian package {name})")))
}

fn first_line(command: &mut Command) -> Result<String, Why> {
    let output = command.output()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    Ok(line.unwrap_or("tells no version").to_owned())
}

/// Writes a program's configuration and starts it, pinned.
fn launch(
    bed: &Bed,
    room: &Path,
    config: &str,
    program: &Path,
    args: &[&OsStr],
) -> Result<Child, Why> {
    launch_before(None, bed, room, config, program, args)
}

/// The same for one that finds programs in `first` before all others.
fn launch_before(
    first: Option<&Path>,
    bed: &Bed,
    room: &Path,
    config: &str,
    program: &Path,
    args: &[&OsStr],
) -> Result<Child, Why> {
    use std::os::unix::fs::PermissionsExt;
    let file = config_file(room);
    fs::write(&file, config)?;
    // monit refuses a control file that others may read.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    let mut command = bed.pinned(program.as_os_str());
    command.args(args).current_dir(room);
    if let Some(first) = first {
        let others = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(first.to_owned()).chain(std::env::split_paths(&others));
        command.env("PATH", std::env::join_paths(all).map_err(Why::new)?);
    }
    Child::start(command, &room.join("log"))
}

fn config_file(room: &Path) -> PathBuf {
    room.join("config")
}

/// A load this program has no way to carry.
fn cannot(reason: &str) -> Why {
    Why::lasting(reason)
}
