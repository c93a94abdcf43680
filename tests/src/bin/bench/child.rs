//! A process we started, and the promise that it ends with us.
//!
//! Four things keep the promise: `Drop` ends a child by its pid; a signal to the bench ends all
//! that are on the list and then removes the scratch directory; `role::pinned` asks the
//! kernel to send SIGTERM when the bench itself is killed; and what is only a role of this binary
//! ends when its standard input does.

use crate::why::{While, Why};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Pids of children not yet reaped. A pid leaves the list under the same lock that reaps it, so
/// the signal thread can never signal a number that belongs to somebody else by then.
static UNREAPED: Mutex<Vec<i32>> = Mutex::new(Vec::new());

fn unreaped() -> MutexGuard<'static, Vec<i32>> {
    UNREAPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running child.
pub(crate) struct Child {
    process: process::Child,
    log: PathBuf,
    talk: Option<Talk>,
}

struct Talk {
    to: process::ChildStdin,
    from: BufReader<process::ChildStdout>,
}

impl Child {
    /// Starts a program that we do not talk to; both its outputs go to the file `log`.
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<Child, Why> {
        let file = File::create(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        Child::spawn(command, log)
    }

    /// Starts a role of this binary and waits for its first line, by which it says it is ready.
    pub(crate) fn start_role(mut command: Command, log: &Path) -> Result<(Child, Vec<u64>), Why> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(log)?);
        let mut child = Child::spawn(command, log)?;
        match (child.process.stdin.take(), child.process.stdout.take()) {
            (Some(to), Some(from)) => child.talk = Some(Talk { to, from: BufReader::new(from) }),
            _ => return Err(Why::new("no pipes to the child")),
        }
        let ready = child.answer()?;
        Ok((child, ready))
    }

    /// Starts a program whose standard output we read ourselves.
    pub(crate) fn start_reading(
        mut command: Command,
        log: &Path,
    ) -> Result<(Child, process::ChildStdout), Why> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(log)?);
        let mut child = Child::spawn(command, log)?;
        let out = child.process.stdout.take().ok_or_else(|| Why::new("no pipe to the child"))?;
        Ok((child, out))
    }

    fn spawn(mut command: Command, log: &Path) -> Result<Child, Why> {
        let mut pids = unreaped();
        let process = command.spawn().while_doing(command.get_program().to_string_lossy())?;
        pids.push(process.id() as i32);
        Ok(Child { process, log: log.to_owned(), talk: None })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Asks a role one question and returns the numbers of its answer.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Vec<u64>, Why> {
        let talk = self.talk.as_mut().ok_or_else(|| Why::new("this child does not talk"))?;
        // In one write: the role takes each read for one question.
        talk.to.write_all(format!("{question}\n").as_bytes())?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Vec<u64>, Why> {
        let talk = self.talk.as_mut().ok_or_else(|| Why::new("this child does not talk"))?;
        let mut line = String::new();
        if talk.from.read_line(&mut line)? == 0 {
            return Err(self.last_words());
        }
        let number = |word: &str| word.parse().map_err(|_| Why::new(format!("answer: {line:?}")));
        line.split_whitespace().map(number).collect()
    }

    /// Err, with its last words, if it is no longer running.
    pub(crate) fn alive(&mut self) -> Result<(), Why> {
        if self.reaped() { Err(self.last_words()) } else { Ok(()) }
    }

    /// What it wrote last that reads like a reason, for the table.
    fn last_words(&self) -> Why {
        let mut text = String::new();
        if let Ok(file) = File::open(&self.log) {
            // A bounded read: a peer that floods its log is not ours to hold in memory.
            let _ = file.take(1 << 20).read_to_string(&mut text);
        }
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let telling = |line: &&&str| {
            let line = line.to_lowercase();
            ["can't", "cannot", "error", "unable", "fail"].iter().any(|word| line.contains(word))
        };
        match lines.iter().find(telling).or(lines.last()) {
            Some(line) => Why::new(format!("ended: {line}")),
            None => Why::new("ended without a word"),
        }
    }

    fn reaped(&mut self) -> bool {
        let mut pids = unreaped();
        match self.process.try_wait() {
            Ok(None) => false,
            Ok(Some(_)) | Err(_) => {
                let pid = self.process.id() as i32;
                pids.retain(|other| *other != pid);
                true
            }
        }
    }

    fn reaped_within(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            if self.reaped() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.talk = None;
        for (signal, patience) in [(Signal::TERM, 5), (Signal::KILL, 5)] {
            if self.reaped() {
                return;
            }
            signal_pid(self.pid(), signal);
            if self.reaped_within(Duration::from_secs(patience)) {
                return;
            }
        }
    }
}

/// From here on SIGINT, SIGTERM and SIGHUP end every child, remove `scratch` and end us.
pub(crate) fn end_all_on_signal(scratch: PathBuf) -> Result<(), Why> {
    let (mut receiver, sender) = UnixStream::pair()?;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        signal_hook::low_level::pipe::register(signal.as_raw(), sender.try_clone()?)?;
    }
    thread::spawn(move || {
        let mut byte = [0];
        if receiver.read_exact(&mut byte).is_ok() {
            // The lock is kept until we exit: nobody reaps or starts a child meanwhile.
            let pids = unreaped();
            for (signal, wait_ms) in [(Signal::TERM, 1000), (Signal::KILL, 50)] {
                pids.iter().for_each(|pid| signal_pid(*pid, signal));
                thread::sleep(Duration::from_millis(wait_ms));
            }
            let _ = fs::remove_dir_all(&scratch);
            eprintln!("bench: stopped by a signal; every child was ended");
            process::exit(130);
        }
    });
    Ok(())
}

/// Signals one process; that it is gone already is no error.
pub(crate) fn signal_pid(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}
