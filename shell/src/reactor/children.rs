//! Our children: made by `posix_spawn`, and reaped by whoever owns them.

use std::collections::hash_map::Entry;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, waitid};

use super::child::errno;
use super::{Child, Environment, Exit, Instance, Look, Program, SpawnError, procfs};

/// Where a child's standard streams go; `None` is `/dev/null`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stdio<'a> {
    /// Its standard input.
    pub input: Option<BorrowedFd<'a>>,
    /// Its standard output and error.
    pub output: Option<BorrowedFd<'a>>,
}

/// Makes children and knows which ones somebody waits for.
///
/// The subreaper of all of them: a grandchild that lost its parent becomes a child of ours that
/// nobody owns, is reaped here, and can be found.
///
/// # Why `posix_spawn`
/// `fork` copies the page tables of a daemon that has grown; `posix_spawn` costs the same
/// whatever our size. Every child gets a session of its own, default signals and an empty mask.
pub struct Children {
    /// Those with an owner who reads their status.
    owned: FxHashSet<u32>,
    attributes: PosixSpawnAttr,
    /// What is done to the standard streams, by input and output: libc asks for a limit of ours
    /// with each step it notes. Commands that come one after the other, or together, get the same
    /// numbers again.
    streams: FxHashMap<(RawFd, RawFd), PosixSpawnFileActions>,
    null: OwnedFd,
    /// Given up for a pidfd when there is no other descriptor, since by then the child runs.
    spare: Option<OwnedFd>,
    /// The kernel spares us when memory is short; our children must not have that from us.
    spared: bool,
    environment: Environment,
    /// The mark of a run, but for its number.
    mark: Instance,
    /// A dead child with an owner that hid the orphans behind it, the last time one was looked for.
    in_the_way: Option<u32>,
}

impl Children {
    /// No children yet.
    ///
    /// # Errors
    /// `/dev/null` cannot be opened, or memory is short.
    pub fn new() -> io::Result<Self> {
        let null = OwnedFd::from(fs::File::options().read(true).write(true).open("/dev/null")?);
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(PosixSpawnFlags::from_bits_retain(
            PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF.bits()
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK.bits()
                | SETSID,
        ))?;
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_sigmask(&SigSet::empty())?;
        let me = std::process::id();
        let since = procfs::stat(me).map_or(0, |stat| stat.start);
        let score = fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
        Ok(Self {
            owned: FxHashSet::default(),
            attributes,
            streams: FxHashMap::default(),
            null,
            spare: None,
            spared: score.starts_with('-'),
            environment: Environment::inherited(),
            mark: Instance { monitor: me, since, number: 0 },
            in_the_way: None,
        })
    }

    /// From now on what loses its parent below us becomes our child.
    ///
    /// # Errors
    /// The kernel's own.
    pub fn become_subreaper(&self) -> io::Result<()> {
        let me = i32::try_from(std::process::id()).ok().and_then(Pid::from_raw);
        Ok(rustix::process::set_child_subreaper(me)?)
    }

    /// The variables every child gets, before those of its own.
    #[must_use]
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The mark of the next run.
    pub fn instance(&mut self) -> Instance {
        // Of the process, as the mark says, and not of this value.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Instance { number: NEXT.fetch_add(1, Ordering::Relaxed), ..self.mark }
    }

    /// Runs `program` as the run `instance`, in a session of its own. It is owned: whoever gets
    /// it looks at it, and gives it back with [`Children::reap`].
    ///
    /// # Errors
    /// No child was made; see [`SpawnError`].
    pub fn spawn(
        &mut self,
        program: &mut Program,
        instance: Instance,
        stdio: Stdio<'_>,
    ) -> Result<Child, SpawnError> {
        if self.spare.is_none() {
            self.spare = Some(OwnedFd::from(
                fs::File::open("/dev/null").map_err(|error| SpawnError::Lack(os(&error)))?,
            ));
        }
        let pid = self.run(program, instance, stdio)?;
        if self.spared {
            // It may be gone already, and then it needs no memory.
            let _ = fs::write(format!("/proc/{pid}/oom_score_adj"), "0");
        }
        self.hold(pid)
    }

    fn run(
        &mut self,
        program: &mut Program,
        instance: Instance,
        stdio: Stdio<'_>,
    ) -> Result<u32, SpawnError> {
        let number =
            |fd: Option<BorrowedFd<'_>>| fd.map_or(self.null.as_raw_fd(), |fd| fd.as_raw_fd());
        let numbers = (number(stdio.input), number(stdio.output));
        if self.streams.len() >= MOST_STREAMS {
            self.streams.clear();
        }
        let streams = match self.streams.entry(numbers) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(actions(numbers)?),
        };
        let mark = instance.variable();
        let lines = program.environment().lines().len() + 1;
        program.locate()?;
        let mut variables: Vec<&CStr> = Vec::with_capacity(lines);
        variables.push(mark.as_ref());
        variables.extend(program.environment().lines().iter().map(AsRef::as_ref));
        match posix_spawn(program.place(), streams, &self.attributes, program.argv(), &variables) {
            Ok(pid) => Ok(pid.as_raw().unsigned_abs()),
            Err(error) => {
                program.forget();
                Err(error.into())
            }
        }
    }

    fn hold(&mut self, pid: u32) -> Result<Child, SpawnError> {
        let mut held = Child::hold(pid, true);
        if held.is_err() {
            self.spare = None;
            held = Child::hold(pid, true);
        }
        match held {
            Ok(child) => {
                self.owned.insert(pid);
                Ok(child)
            }
            Err(error) => {
                // Without a pidfd nobody would hear of its end. Until it is reaped the number
                // is certainly its own; it is reaped as an orphan.
                if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                    let _ = rustix::process::kill_process(pid, Signal::KILL);
                }
                Err(SpawnError::Lack(error))
            }
        }
    }

    /// Holds a process that is there already, if it is the one that started at `start`. It is
    /// owned if it is a child of ours that lost its own parent.
    ///
    /// # Errors
    /// ESRCH if that one is gone, or our lack of a descriptor.
    pub fn adopt(&mut self, pid: u32, start: u64) -> Result<Child, Errno> {
        let mut child = Child::hold_stranger(pid, start)?;
        let parent = procfs::stat(pid).map(|stat| stat.parent);
        child.ours = parent == Some(std::process::id());
        if child.ours {
            self.owned.insert(pid);
        }
        Ok(child)
    }

    /// Looks whether a child has ended; it stays as it is.
    #[must_use]
    pub fn look(&self, child: &Child) -> Look {
        if !child.ours {
            return if child.is_running() { Look::Running } else { Look::Gone(None) };
        }
        wait(child, WaitIdOptions::NOWAIT)
    }

    /// Gives a child back: one that has ended is reaped, one that runs on has no owner any
    /// more and is reaped as an orphan when it ends. Its number may be another's from here on.
    pub fn reap(&mut self, child: Child) -> Look {
        if !child.ours {
            return self.look(&child);
        }
        self.owned.remove(&child.pid());
        wait(&child, WaitIdOptions::empty())
    }

    /// Whether `pid` is a child that somebody waits for.
    #[must_use]
    pub fn owns(&self, pid: u32) -> bool {
        self.owned.contains(&pid)
    }

    /// How many children somebody waits for.
    #[must_use]
    pub fn owned(&self) -> usize {
        self.owned.len()
    }

    /// Children of ours that nobody waits for, dead ones included: what lost its parent.
    #[must_use]
    pub fn orphans(&self) -> Vec<u32> {
        let mut found = procfs::children(std::process::id());
        found.retain(|pid| !self.owns(*pid));
        found
    }

    /// Reaps every dead orphan, and never a child that somebody waits for. To be called after a
    /// SIGCHLD, and again in the next turn if it says so: one of those may hide the orphans
    /// behind it.
    #[must_use]
    pub fn reap_orphans(&mut self) -> bool {
        loop {
            match first_dead() {
                Ok(Some(pid)) if !self.owns(pid) => {
                    reap_orphan(pid);
                }
                // By the next time its owner has reaped it, most often.
                Ok(Some(pid)) if self.in_the_way.replace(pid) != Some(pid) => return true,
                Ok(None) => break,
                // It stays in the way, or its status cannot be told from here: each orphan is
                // asked for by name.
                Ok(Some(_)) | Err(()) => {
                    self.orphans().into_iter().for_each(reap_orphan);
                    break;
                }
            }
        }
        self.in_the_way = None;
        false
    }
}

/// How many combinations of standard streams are kept, at a few hundred bytes each.
const MOST_STREAMS: usize = 64;

/// From `<spawn.h>`; glibc since 2.26, musl since 1.1.19.
const SETSID: i32 = 0x80;

fn actions((input, output): (RawFd, RawFd)) -> nix::Result<PosixSpawnFileActions> {
    let mut actions = PosixSpawnFileActions::init()?;
    actions.add_dup2(input, 0)?;
    actions.add_dup2(output, 1)?;
    actions.add_dup2(output, 2)?;
    Ok(actions)
}

fn wait(child: &Child, how: WaitIdOptions) -> Look {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | how;
    match waitid(WaitId::PidFd(rustix::fd::AsFd::as_fd(child)), options) {
        Ok(Some(status)) => Look::Gone(exit(&status)),
        Ok(None) => Look::Running,
        // Somebody reaped it behind our back.
        Err(rustix::io::Errno::CHILD) => Look::Gone(None),
        Err(error) => {
            debug_assert!(error == rustix::io::Errno::INTR, "waitid: {error}");
            Look::Running
        }
    }
}

fn exit(status: &WaitIdStatus) -> Option<Exit> {
    let number = |number: i32| u8::try_from(number).ok();
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => number(status).map(Exit::Status),
        (None, Some(signal)) => number(signal).map(Exit::Signal),
        (None, None) => None,
    }
}

/// A child that has ended, whosoever, left as it is.
fn first_dead() -> Result<Option<u32>, ()> {
    let how = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    match nix::sys::wait::waitid(Id::All, how) {
        Ok(WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..)) => {
            Ok(Some(pid.as_raw().unsigned_abs()))
        }
        Ok(_) | Err(Errno::ECHILD) => Ok(None),
        Err(_) => Err(()),
    }
}

fn reap_orphan(pid: u32) {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    // Nobody wants to know how it ended.
    let _ = waitid(WaitId::Pid(pid), options);
}

fn os(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}

/// The error number of a failed call on a descriptor.
pub(super) fn lack(error: rustix::io::Errno) -> SpawnError {
    SpawnError::Lack(errno(error))
}

/// Closes every descriptor past the standard ones. To be called first thing in a program:
/// what its starter left open is nobody's here, and would go on to every child.
pub fn close_inherited() {
    let Ok(list) = fs::read_dir("/proc/self/fd") else { return };
    let numbers = list.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let numbers: Vec<i32> = numbers.filter(|number| *number > 2).collect();
    for number in numbers {
        // The list itself is among them, and closed already.
        let _ = nix::unistd::close(number);
    }
}
