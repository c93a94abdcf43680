//! What a run stands on: the scratch directory, the two cores, the scale, our daemon's program.

use crate::args::Args;
use crate::measure::{forks::ForkEvents, net};
use crate::peer::Program;
use crate::role::CHILD;
use crate::why::{While, Why};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// How much of everything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Targets of the large figures.
    pub(crate) many: usize,
    /// Targets of the middle figures.
    pub(crate) some: usize,
    /// Targets that stand for "hardly any" where memory is compared.
    pub(crate) few: usize,
    /// How long a cost is measured.
    pub(crate) window: Duration,
    /// How long a cadence, a command's cost or idleness is measured: the edges of a window of 3 s
    /// are worth more than the thousandth that is asked for, and the kernel tells the cost of
    /// ended children in steps of 10 ms.
    pub(crate) long_window: Duration,
    /// Command checks a second.
    pub(crate) commands: usize,
    /// Memory of the large process that runs commands.
    pub(crate) ballast_mib: usize,
    /// Failures to be detected in a wave, and services killed in a round.
    pub(crate) trials: usize,
    pub(crate) rounds: usize,
    /// Rounds of what begins processes: its cost swings most, by a third within seconds on some
    /// virtual machines, whoever begins them.
    pub(crate) process_rounds: usize,
}

impl Scale {
    fn new(args: &Args) -> Scale {
        let full = Scale {
            many: 10_000,
            some: 1000,
            few: 100,
            window: Duration::from_secs(3),
            long_window: Duration::from_secs(10),
            commands: 200,
            ballast_mib: 64,
            trials: 100,
            rounds: args.rounds,
            process_rounds: args.rounds + 2,
        };
        let quick = Scale {
            many: 500,
            some: 100,
            few: 20,
            window: Duration::from_secs(1),
            long_window: Duration::from_secs(2),
            commands: 50,
            trials: 20,
            rounds: 1,
            process_rounds: 1,
            ..full
        };
        if args.quick { quick } else { full }
    }
}

/// The ground of one run.
pub(crate) struct Bed {
    pub(crate) exe: PathBuf,
    pub(crate) scale: Scale,
    pub(crate) programs: Vec<Program>,
    /// The core of what is measured.
    pub(crate) prober_cpu: usize,
    /// The core of everything else: the targets and the bench itself.
    pub(crate) target_cpu: usize,
    pub(crate) fork_events: ForkEvents,
    /// Why the network is shared with the rest of the machine, if it is.
    pub(crate) shared_network: Option<Why>,
    giveover: Option<PathBuf>,
    scratch: TempDir,
    rooms: Cell<usize>,
}

impl Bed {
    pub(crate) fn new(args: &Args) -> Result<Bed, Why> {
        let exe = std::env::current_exe()?;
        let fork_events = ForkEvents::open();
        let shared_network = net::leave_the_shared_one().err();
        let giveover = args.giveover.clone().or_else(|| Some(exe.with_file_name("giveover")));
        let mut scratch = tempfile::Builder::new().prefix("giveover-bench-").tempdir()?;
        scratch.disable_cleanup(args.keep);
        let (prober_cpu, target_cpu) = cores()?;
        let mut only = CpuSet::new();
        only.set(target_cpu);
        sched_setaffinity(None, &only).while_doing("pinning the bench")?;
        Ok(Bed {
            exe,
            scale: Scale::new(args),
            programs: args.programs()?,
            prober_cpu,
            target_cpu,
            fork_events,
            shared_network,
            giveover: giveover.filter(|file| file.is_file()),
            scratch,
            rooms: Cell::new(0),
        })
    }

    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Our daemon's program.
    pub(crate) fn giveover(&self) -> Result<&Path, Why> {
        self.giveover.as_deref().ok_or_else(|| Why::lasting("no giveover binary"))
    }

    /// A fresh directory.
    pub(crate) fn room(&self, name: &str) -> Result<PathBuf, Why> {
        self.rooms.set(self.rooms.get() + 1);
        let room = self.scratch.path().join(format!("{:03}-{name}", self.rooms.get()));
        fs::create_dir(&room)?;
        Ok(room)
    }

    /// A command whose program runs on the core of what is measured.
    pub(crate) fn pinned(&self, program: &OsStr) -> Command {
        self.on(self.prober_cpu, program)
    }

    /// A command whose program runs beside what is measured.
    pub(crate) fn beside(&self, program: &OsStr) -> Command {
        self.on(self.target_cpu, program)
    }

    /// In a small environment, the same for whoever runs the bench: every child is handed it, and
    /// that is counted.
    fn on(&self, cpu: usize, program: &OsStr) -> Command {
        let mut command = Command::new(&self.exe);
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.args([CHILD, "pinned", &cpu.to_string()]).arg(program);
        command
    }
}

/// The first two cores we may use; the same one twice on a machine with only one.
fn cores() -> Result<(usize, usize), Why> {
    let may = sched_getaffinity(None)?;
    let mut usable = (0..CpuSet::MAX_CPU).filter(|cpu| may.is_set(*cpu));
    let first = usable.next().ok_or_else(|| Why::new("no core to run on"))?;
    Ok((first, usable.next().unwrap_or(first)))
}
