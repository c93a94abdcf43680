//! How a process of ours is started and stopped, made ready.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use giveover_core::time::Span;
use rustix::process::Signal;

use super::super::strays::STATE;
use super::super::{Host, exec};
use crate::config::dollar::{Values, expand_all};
use crate::config::plan::{ProcessPlan, ServicePlan, StopMethod};
use crate::reactor::{BadProgram, Cgroup, Environment, Program};

/// How it is started and stopped, made ready.
pub(super) struct Spec {
    pub(super) name: Box<str>,
    pub(super) program: Program,
    /// The program is a copy of ours that sets itself up and becomes the service.
    pub(super) helped: bool,
    /// Where the program is that becomes the service, or was when this was read.
    place: PathBuf,
    pub(super) cgroup: Option<Cgroup>,
    pub(super) forks: bool,
    pub(super) stop: Stop,
    pub(super) start_timeout: Span,
    pub(super) stop_timeout: Span,
}

pub(super) enum Stop {
    Signal(Signal),
    Command(Program),
}

impl Spec {
    pub(super) fn new(
        plan: &ServicePlan,
        process: &ProcessPlan,
        host: &Host,
        environment: &Environment,
    ) -> Result<Self, BadProgram> {
        let values =
            Values { service: Some(&plan.name), node: Some(&host.node), ..Values::default() };
        let environment = environment.with(&values.environment())?.with(&process.env)?;
        // Only what becomes the service is to be taken for it.
        let marked = environment.with(&[(STATE, host.state.as_str())])?;
        let argv = expand_all(&process.start, &values)?;
        let cgroup = host.cgroups.as_ref().and_then(|groups| groups.group(&plan.name).ok());
        let helped = process.user.is_some()
            || process.group.is_some()
            || process.dir.is_some()
            || cgroup.is_some();
        // Not even a copy of ours may take nothing for a program.
        let mut plain = Program::new(&argv, &marked)?;
        // What is nowhere cannot have been running either.
        let _ = plain.locate();
        let place = OsStr::from_bytes(plain.place().to_bytes()).into();
        let program = if helped {
            let words = exec::words(&host.helper, process, cgroup.as_ref(), &argv);
            Program::new(&words, &marked)?
        } else {
            plain
        };
        let stop = match &process.stop {
            StopMethod::Signal(number) => {
                Stop::Signal(Signal::from_named_raw(*number).unwrap_or(Signal::TERM))
            }
            StopMethod::Command(argv) => {
                Stop::Command(Program::new(&expand_all(argv, &values)?, &environment)?)
            }
        };
        let limits = plan.policy.limits();
        Ok(Self {
            name: (*plan.name).into(),
            program,
            helped,
            place,
            cgroup,
            forks: process.forks,
            stop,
            start_timeout: limits.start_timeout,
            stop_timeout: limits.stop_timeout,
        })
    }

    /// Device and inode of the program that becomes the service.
    pub(super) fn served(&self) -> Option<(u64, u64)> {
        let metadata = fs::metadata(&self.place).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }
}
