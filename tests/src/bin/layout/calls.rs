//! Which functions a program calls: a breakpoint on each, taken away when it is met.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{sync::mpsc, thread};

use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

const BREAKPOINT: u8 = 0xCC;

/// Those of `functions` (counted from the begin of the program) that the program has called since it
/// last became itself: a daemon that starts itself anew counts from there. It is killed at `limit`.
///
/// # Errors
/// It could not be traced: no right to, or another kind of processor.
pub(crate) fn called(
    words: &[OsString],
    functions: impl Iterator<Item = u64>,
    limit: Duration,
) -> Result<BTreeSet<u64>, String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("only x86_64 is known here".to_owned());
    }
    // The shell waits until it is traced.
    let mut shell = Command::new("sh");
    shell.args(["-c", "read go; exec \"$@\"", "sh"]).args(words);
    let mut child = shell
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("sh: {error}"))?;
    let number = i32::try_from(child.id()).map_err(|error| error.to_string())?;
    let pid = Pid::from_raw(number);
    let options = Options::PTRACE_O_EXITKILL
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE;
    ptrace::seize(pid, options).map_err(|error| format!("to trace it: {error}"))?;
    if let Some(stdin) = &mut child.stdin {
        stdin.write_all(b"go\n").map_err(|error| format!("sh: {error}"))?;
    }
    let (ended, watched) = mpsc::channel::<()>();
    let guard = thread::spawn(move || {
        if watched.recv_timeout(limit).is_err() {
            // It may have ended this instant.
            let _ = kill(pid, Signal::SIGKILL);
        }
    });
    let mut program = Program { pid, code: functions.map(|at| (at, 0)).collect(), base: 0 };
    let met = program.follow();
    let _ = ended.send(());
    let _ = guard.join();
    // Reaped above, by its number.
    drop(child);
    met.map_err(|error| format!("tracing it: {error}"))
}

struct Program {
    pid: Pid,
    /// Where each function begins, and the first byte of its code; ascending.
    code: Vec<(u64, u8)>,
    /// Where the program begins in memory.
    base: u64,
}

impl Program {
    fn follow(&mut self) -> Result<BTreeSet<u64>, Errno> {
        let mut met = BTreeSet::new();
        loop {
            let status = match waitpid(None, Some(WaitPidFlag::__WALL)) {
                Ok(status) => status,
                Err(Errno::EINTR) => continue,
                Err(Errno::ECHILD) => return Ok(met),
                Err(error) => return Err(error),
            };
            let (pid, signal) = match status {
                WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..) if pid == self.pid => {
                    return Ok(met);
                }
                WaitStatus::PtraceEvent(pid, _, event) if event == nix::libc::PTRACE_EVENT_EXEC => {
                    if pid != self.pid {
                        // Another program: none of our breakpoints is in it.
                        settled(ptrace::detach(pid, None))?;
                        continue;
                    }
                    met.clear();
                    settled(self.place(pid))?;
                    (pid, None)
                }
                WaitStatus::Stopped(pid, Signal::SIGTRAP) => {
                    settled(self.resume(pid).map(|function| met.extend(function)))?;
                    (pid, None)
                }
                WaitStatus::Stopped(pid, signal) => (pid, Some(signal)),
                WaitStatus::PtraceEvent(pid, ..) => (pid, None),
                _ => continue,
            };
            settled(ptrace::cont(pid, signal))?;
        }
    }

    /// Puts a breakpoint on every function.
    fn place(&mut self, pid: Pid) -> Result<(), Errno> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let first = maps.split('-').next().unwrap_or_default();
        self.base = u64::from_str_radix(first, 16).map_err(|_| Errno::ESRCH)?;
        let memory = memory(pid)?;
        for (at, first) in &mut self.code {
            let mut byte = [0];
            memory.read_exact_at(&mut byte, self.base + *at).map_err(raw)?;
            *first = byte[0];
            memory.write_all_at(&[BREAKPOINT], self.base + *at).map_err(raw)?;
        }
        Ok(())
    }

    /// Takes away the breakpoint that was met, and says whose it was if the program itself met it and
    /// not a child in its memory or a copy of it.
    fn resume(&self, pid: Pid) -> Result<Option<u64>, Errno> {
        let Some(behind) = instruction(pid)? else { return Ok(None) };
        let at = behind.wrapping_sub(self.base).wrapping_sub(1);
        let Ok(found) = self.code.binary_search_by_key(&at, |(function, _)| *function) else {
            return Ok(None);
        };
        memory(pid)?.write_all_at(&[self.code[found].1], self.base + at).map_err(raw)?;
        go_to(pid, behind - 1)?;
        Ok((pid == self.pid).then_some(at))
    }
}

#[cfg(target_arch = "x86_64")]
fn instruction(pid: Pid) -> Result<Option<u64>, Errno> {
    ptrace::getregs(pid).map(|registers| Some(registers.rip))
}

#[cfg(target_arch = "x86_64")]
fn go_to(pid: Pid, instruction: u64) -> Result<(), Errno> {
    let mut registers = ptrace::getregs(pid)?;
    registers.rip = instruction;
    ptrace::setregs(pid, registers)
}

#[cfg(not(target_arch = "x86_64"))]
fn instruction(_: Pid) -> Result<Option<u64>, Errno> {
    Ok(None)
}

#[cfg(not(target_arch = "x86_64"))]
fn go_to(_: Pid, _: u64) -> Result<(), Errno> {
    Ok(())
}

fn memory(pid: Pid) -> Result<File, Errno> {
    OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem")).map_err(raw)
}

fn raw(error: std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(nix::libc::EIO))
}

/// A process that was killed by now needs nothing more; its memory cannot be read then.
fn settled(done: Result<(), Errno>) -> Result<(), Errno> {
    match done {
        Err(Errno::ESRCH | Errno::EIO) => Ok(()),
        other => other,
    }
}
