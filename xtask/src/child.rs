//! A child process whose output the reader sees while it runs.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::mem;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::Harness;
use crate::workspace;

/// How long one command may take in CI, where a hang would otherwise leave no summary at all.
const CI_LIMIT: Duration = Duration::from_secs(30 * 60);

/// How long we wait for the end of a pipe after the command that wrote to it has ended.
const PIPE_LINGER: Duration = Duration::from_secs(2);

/// Runs a command with its output on ours.
///
/// # Errors
/// It could not be started, failed, or took longer than CI allows.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let name = shown(command);
    run_named(command, &name)
}

/// As [`run`], for a command that is better known by another name than by its words.
pub(crate) fn run_named(command: &mut Command, name: &str) -> Result<(), String> {
    println!("$ {name}");
    let limit = limit();
    let mut child = start(command, name, limit)?;
    judge(wait(&mut child, limit), name)
}

/// Runs `cargo test` and reads what its harness says.
///
/// # Errors
/// As [`run`]. What was read until then is in the answer all the same.
pub(crate) fn run_tests(command: &mut Command) -> (Harness, Result<(), String>) {
    run_tests_within(limit(), command)
}

fn run_tests_within(
    limit: Option<Duration>,
    command: &mut Command,
) -> (Harness, Result<(), String>) {
    let name = shown(command);
    println!("$ {name}");
    let mut child = match start(command.stdout(Stdio::piped()), &name, limit) {
        Ok(child) => child,
        Err(error) => return (Harness::default(), Err(error)),
    };
    let harness = Arc::new(Mutex::new(Harness::default()));
    let read = child.stdout.take().map(|pipe| read_lines(pipe, Arc::clone(&harness)));
    let status = wait(&mut child, limit);
    // The reader is not joined: a process that a test left behind may hold the pipe open for
    // ever, and must not take the summary with it.
    let end = read.map(|end| end.recv_timeout(PIPE_LINGER));
    if end == Some(Err(RecvTimeoutError::Timeout)) {
        println!("note: a process that outlived its test still holds this output");
    }
    let harness = mem::take(&mut *harness.lock().unwrap_or_else(PoisonError::into_inner));
    (harness, judge(status, &name))
}

/// Reads and repeats lines on a thread of their own; the receiver hears of the end.
fn read_lines(pipe: impl Read + Send + 'static, harness: Arc<Mutex<Harness>>) -> Receiver<()> {
    let (end, ended) = mpsc::channel();
    thread::spawn(move || {
        let _end = end;
        let mut pipe = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while pipe.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&bytes);
            if harness.lock().unwrap_or_else(PoisonError::into_inner).line(&text) {
                print!("{text}");
            }
            bytes.clear();
        }
    });
    ended
}

/// A person at a terminal sees a hang and ends it; in CI nobody does.
fn limit() -> Option<Duration> {
    workspace::strict().then_some(CI_LIMIT)
}

fn start(command: &mut Command, name: &str, limit: Option<Duration>) -> Result<Child, String> {
    if limit.is_some() {
        // A group of its own, so that `wait` can end all of it. Not without a limit: a key that
        // interrupts us must reach the command too.
        command.process_group(0);
    }
    command.stdin(Stdio::null()).spawn().map_err(|error| format!("{name}: {error}"))
}

fn wait(child: &mut Child, limit: Option<Duration>) -> Result<ExitStatus, String> {
    let Some(limit) = limit else { return child.wait().map_err(|error| error.to_string()) };
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if begun.elapsed() < limit => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let kill = format!("kill -KILL -{}", child.id());
                let _ = Command::new("sh").args(["-c", &kill]).status();
                let _ = child.wait();
                return Err(format!("no end after {} s", limit.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn judge(status: Result<ExitStatus, String>, name: &str) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// A command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let set = command
        .get_envs()
        .filter_map(|(key, value)| Some(format!("{}={}", key.to_string_lossy(), quoted(value?))));
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = [name].into_iter().chain(command.get_args()).map(quoted);
    set.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |letter: char| letter.is_alphanumeric() || "-_=/.,:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.args(["test", "--test", "real_*"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(shown(&command), "RUSTDOCFLAGS='-D warnings' cargo test --test 'real_*'");
    }

    #[test]
    fn the_harness_is_read_from_a_child_and_its_failure_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'test a ... FAILED'; exit 3"]);
        let (harness, result) = run_tests(&mut command);
        assert_eq!(harness.failed, ["a"]);
        assert!(result.unwrap_err().ends_with("exit status: 3"));
    }

    #[test]
    fn a_process_left_behind_with_the_pipe_does_not_hold_us() {
        let begun = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 9 & echo 'test a ... FAILED'"]);
        let (harness, result) = run_tests(&mut command);
        assert_eq!((harness.failed.len(), result), (1, Ok(())));
        assert!(begun.elapsed() < Duration::from_secs(8));
    }
    #[test]
    fn a_command_without_an_end_is_ended_with_all_its_children() {
        let begun = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'test a ... FAILED'; sleep 9 & sleep 9"]);
        let (harness, result) = run_tests_within(Some(Duration::from_millis(300)), &mut command);
        assert_eq!(harness.failed, ["a"]);
        assert!(result.unwrap_err().contains("no end after"));
        assert!(begun.elapsed() < Duration::from_secs(8));
    }
}
