//! `pinned CPU PROGRAM ARG…`: becomes another program, on one core and tied to the bench.
//!
//! Between fork and exec only `unsafe` code could do this, so a role does it and then execs.

use crate::why::{While, Why};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setpriority_process,
    setrlimit, setsid,
};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The same for everything that is measured and for what it is measured against.
const PRIORITY: i32 = -10;

pub(super) fn run(args: &[OsString]) -> Result<(), Why> {
    let [cpu, program, rest @ ..] = args else {
        return Err(Why::new("pinned: CPU PROGRAM ARG…"));
    };
    let cpu = cpu.to_str().and_then(|cpu| cpu.parse().ok());
    let mut only = CpuSet::new();
    only.set(cpu.ok_or_else(|| Why::new("pinned: not a core"))?);
    sched_setaffinity(None, &only).while_doing("pinning to a core")?;
    // If the bench is killed outright, nobody else would end the peer.
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // On a busy machine short bursts get their turn; without the right to, nothing changes. A
    // session of its own, because the scheduler weighs sessions against each other first.
    let _ = setsid();
    let _ = setpriority_process(None, PRIORITY);
    let _ = fs::write("/proc/self/autogroup", PRIORITY.to_string());
    // All peers get the descriptors that 10,000 targets need; the hard limit is the machine's.
    let nofile = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: nofile.maximum, maximum: nofile.maximum })?;
    let error = Command::new(program).args(rest).exec();
    Err(error).while_doing(program.to_string_lossy())
}
