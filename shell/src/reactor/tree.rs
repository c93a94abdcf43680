//! All processes of one run, and the end of all of them.
//!
//! Where the run has a control group the kernel knows its processes. Elsewhere they are found
//! by descent; by their session; by the mark in their environment, which also those carry that
//! called `setsid` and lost their parent; and, where a server has written over its environment
//! to show its state, by the program they run. We are the subreaper, so whatever a run leaves
//! behind is a child of ours that nobody owns: the search never leaves our own descendants,
//! except for a run that an earlier monitor began.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use rustix::process::Signal;

use super::procfs::{self, Mark, Stat};
use super::{Cgroup, Child, Children, Instance};

/// A process as it was found: number and start time, which together name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member {
    /// When it started, in clock ticks since boot.
    pub start: u64,
    /// Its number.
    pub pid: u32,
}

impl Member {
    /// The process that is `pid` now, unless it has ended.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let stat = procfs::stat(pid).filter(|stat| !stat.is_dead())?;
        Some(Self { start: stat.start, pid })
    }

    /// Whether it has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        Self::of(self.pid) == Some(*self)
    }

    /// Sends a signal to it and to no other; nothing if it has ended.
    ///
    /// # Errors
    /// EPERM if it is not ours to signal, or our lack of a descriptor.
    pub fn signal(&self, signal: Signal) -> Result<(), Errno> {
        match Child::hold_stranger(self.pid, self.start) {
            Ok(child) => child.signal(signal),
            Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// What became of an attempt to signal a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Struck {
    /// How many processes were found.
    pub found: usize,
    /// One that could not be signalled, and why.
    pub refused: Option<(u32, Errno)>,
}

/// How the processes of one run are told from all others.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// What is known to be its own, and all that descends from it.
    roots: Vec<Member>,
    /// Sessions it made. Only asked of our own descendants: there a number can not have been
    /// given to a stranger.
    sessions: Vec<u32>,
    /// The mark.
    instance: Option<Instance>,
    /// The program of its main process, and when that started.
    program: Option<(u64, u64)>,
    since: u64,
    /// The run may have left processes that are not our descendants.
    anywhere: bool,
    cgroup: Option<Cgroup>,
}

impl Tree {
    /// The tree of the run `instance`, of which no process is known yet.
    #[must_use]
    pub fn new(instance: Instance) -> Self {
        Self { instance: Some(instance), ..Self::default() }
    }

    /// The same, with its processes in `cgroup`.
    #[must_use]
    pub fn within(mut self, cgroup: Option<Cgroup>) -> Self {
        self.cgroup = cgroup;
        self
    }

    /// The same, begun by an earlier monitor.
    #[must_use]
    pub const fn anywhere(mut self) -> Self {
        self.anywhere = true;
        self
    }

    /// Makes `pid` one of the tree: what descends from it, its session and its program are
    /// the tree's.
    pub fn root(&mut self, pid: u32) {
        let Some(stat) = procfs::stat(pid) else { return };
        let member = Member { start: stat.start, pid };
        if !self.roots.contains(&member) {
            self.roots.push(member);
        }
        let ours = procfs::stat(std::process::id()).map(|stat| stat.session);
        if ours != Some(stat.session) && !self.sessions.contains(&stat.session) {
            self.sessions.push(stat.session);
        }
        self.program = procfs::program(pid).or(self.program);
        self.since = stat.start;
    }

    /// Also takes orphans that have written over their environment, if they started since
    /// `start`: what a start command that has just ended left behind may run any program.
    #[must_use]
    pub fn left_since(&self, children: &Children, start: u64) -> Vec<Member> {
        let overwritten = |pid: &u32| {
            let since = procfs::stat(*pid).is_some_and(|s| !s.is_dead() && s.start >= start);
            since && procfs::mark(*pid) == Mark::Overwritten
        };
        let mut found: HashSet<Member> = self.members(children).into_iter().collect();
        for pid in children.orphans().into_iter().filter(overwritten) {
            descend(pid, &mut found);
        }
        let mut members: Vec<Member> = found.into_iter().collect();
        members.sort_unstable();
        members
    }

    /// Whether an orphan that started since `start` may be the tree's, and nobody can tell yet.
    #[must_use]
    pub fn may_have_left(&self, children: &Children, start: u64) -> bool {
        let untold = |pid: u32| {
            let since = procfs::stat(pid).is_some_and(|s| !s.is_dead() && s.start >= start);
            since && procfs::mark(pid) == Mark::Bare
        };
        children.orphans().into_iter().any(untold)
    }

    /// The mark.
    #[must_use]
    pub const fn instance(&self) -> Option<Instance> {
        self.instance
    }

    /// The control group.
    #[must_use]
    pub const fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    /// Its processes, the oldest first; those that have ended but were not reaped are not
    /// counted.
    #[must_use]
    pub fn members(&self, children: &Children) -> Vec<Member> {
        let mut found = HashSet::new();
        if let Some(cgroup) = &self.cgroup {
            found.extend(cgroup.processes().into_iter().filter_map(Member::of));
        }
        for root in &self.roots {
            // Also one that left the group by itself is the tree's.
            if root.is_running() {
                descend(root.pid, &mut found);
            }
        }
        self.claim(children.orphans(), &mut found);
        if self.anywhere {
            let marked = |pid: &u32| self.is_mark(procfs::mark(*pid));
            for pid in procfs::all().into_iter().filter(marked) {
                descend(pid, &mut found);
            }
        }
        let mut members: Vec<Member> = found.into_iter().collect();
        members.sort_unstable();
        members
    }

    /// Whether any of it is left. Quick where nothing is, and we have no orphans.
    #[must_use]
    pub fn is_gone(&self, children: &Children) -> bool {
        self.members(children).is_empty()
    }

    fn is_mark(&self, mark: Mark) -> bool {
        self.instance.is_some_and(|instance| mark == Mark::Instance(instance))
    }

    /// Takes those of our orphans, and of what descends from them, that are the tree's, with
    /// all that descends from these.
    fn claim(&self, orphans: Vec<u32>, found: &mut HashSet<Member>) {
        let mut waiting = orphans;
        let mut top = waiting.len();
        while let Some(pid) = waiting.pop() {
            let orphan = waiting.len() < top;
            top = top.min(waiting.len());
            let Some(stat) = procfs::stat(pid).filter(|stat| !stat.is_dead()) else { continue };
            if self.is_claimed(pid, &stat, orphan) {
                descend(pid, found);
            } else {
                waiting.extend(procfs::children(pid));
            }
        }
    }

    fn is_claimed(&self, pid: u32, stat: &Stat, orphan: bool) -> bool {
        let in_session = self.sessions.contains(&stat.session);
        let mut mark = procfs::mark(pid);
        if mark == Mark::Bare && !in_session {
            let patience = Instant::now() + BETWEEN_PROGRAMS;
            while mark == Mark::Bare && Instant::now() < patience {
                std::thread::yield_now();
                mark = procfs::mark(pid);
            }
        }
        match mark {
            // Also in a session whose number has come to it after us.
            mark @ Mark::Instance(_) => self.is_mark(mark),
            Mark::None | Mark::Bare => in_session,
            Mark::Overwritten => {
                let same_program = || {
                    self.program.is_some()
                        && stat.start >= self.since
                        && procfs::program(pid) == self.program
                };
                in_session || orphan && same_program()
            }
        }
    }

    /// Sends `signal` to every process of it.
    pub fn signal(&self, children: &Children, signal: Signal) -> Struck {
        strike(&self.members(children), signal)
    }

    /// Kills all of it.
    ///
    /// Without a group every process is stopped first, until no new one is found: what is
    /// stopped makes no more children, and none loses its parent before it was seen.
    pub fn kill(&self, children: &Children) -> Struck {
        if let Some(cgroup) = &self.cgroup {
            if cgroup.kill().is_err() {
                cgroup.signal(Signal::KILL);
            }
        }
        let mut stopped = HashSet::new();
        for _ in 0..PASSES {
            let mut fresh = self.members(children);
            fresh.retain(|member| stopped.insert(*member));
            if fresh.is_empty() {
                break;
            }
            strike(&fresh, Signal::STOP);
        }
        let stopped: Vec<Member> = stopped.into_iter().collect();
        strike(&stopped, Signal::KILL)
    }
}

/// How long one that is just becoming another program is given to be told whose it is. A process
/// without any environment costs as much at each look.
const BETWEEN_PROGRAMS: Duration = Duration::from_millis(2);

/// How often new processes are looked for before those found are killed. A tree that forks
/// faster than this is found again by the next attempt.
const PASSES: u32 = 16;

/// Takes `pid` and all that descends from it.
fn descend(pid: u32, found: &mut HashSet<Member>) {
    let me = std::process::id();
    let mut waiting = vec![pid];
    while let Some(pid) = waiting.pop() {
        if pid == me || pid == 1 {
            continue;
        }
        let Some(member) = Member::of(pid) else { continue };
        if found.insert(member) {
            waiting.extend(procfs::children(pid));
        }
    }
}

fn strike(members: &[Member], signal: Signal) -> Struck {
    let mut struck = Struck { found: members.len(), refused: None };
    for member in members {
        if let Err(error) = member.signal(signal) {
            struck.refused = Some((member.pid, error));
        }
    }
    struck
}
