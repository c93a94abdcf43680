//! Commands for an address: run, waited for, and killed when their time is up.

use std::io::Write as _;
use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::config::dollar::{Values, expand};

/// A command that takes longer is killed: while it runs no lifetime is renewed.
const LIMIT: Duration = Duration::from_secs(2);

/// The source document's word for the address.
const PLACEHOLDER: &str = "$_IP_$";

/// Runs the command `words`, in which the address stands for `$ADDRESS` and `$_IP_$`.
///
/// # Errors
/// It did not exit with 0, or could not be run; in words.
pub(super) fn run(words: &[String], address: IpAddr) -> Result<(), String> {
    let words = filled_in(words, address)?;
    let Some((program, arguments)) = words.split_first() else {
        return Err("no program is named".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments).env("GIVEOVER_ADDRESS", address.to_string());
    ended(program, &wait(command, None)?)
}

/// Runs `command` with `input`.
///
/// # Errors
/// As [`run`].
pub(super) fn feed(mut command: Command, input: &str) -> Result<(), String> {
    command.stderr(Stdio::null());
    let program = command.get_program().to_string_lossy().into_owned();
    ended(&program, &wait(command, Some(input))?)
}

fn ended(program: &str, status: &ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
}

fn wait(mut command: Command, input: Option<&str>) -> Result<ExitStatus, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    // Standard output is the daemon's; whatever a command says belongs elsewhere.
    let spawned = command.stdin(stdin).stdout(Stdio::null()).process_group(0).spawn();
    let mut child = spawned.map_err(|error| format!("{program}: {error}"))?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        let _ = pipe.write_all(input.as_bytes()); // who reads nothing fails by itself
    }
    within_limit(&mut child).map_err(|why| format!("{program}: {why}"))
}

fn within_limit(child: &mut Child) -> Result<ExitStatus, String> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| "has no number".to_owned())?;
    let in_time = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(fd) => {
            let limit = Timespec::try_from(LIMIT).ok();
            let mut ends = [PollFd::new(&fd, PollFlags::IN)];
            poll(&mut ends, limit.as_ref()).is_ok_and(|ended| ended > 0)
        }
        Err(_) => false,
    };
    if !in_time {
        let _ = kill_process_group(pid, Signal::KILL); // it may just have ended
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if in_time { Ok(status) } else { Err(format!("killed after {} s", LIMIT.as_secs())) }
}

fn filled_in(words: &[String], address: IpAddr) -> Result<Vec<String>, String> {
    let address = address.to_string();
    let values = Values { address: Some(&address), ..Values::default() };
    let word = |word: &String| {
        let pieces = word.split(PLACEHOLDER).map(|piece| expand(piece, &values));
        let pieces: Result<Vec<String>, _> = pieces.collect();
        pieces.map(|pieces| pieces.join(&address)).map_err(|bad| bad.to_string())
    };
    words.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    fn at() -> IpAddr {
        "10.0.0.10".parse().expect("an address")
    }

    // req 2.112
    #[test]
    fn the_address_stands_inside_words() {
        let filled = filled_in(&words(&["ip", "$_IP_$/24", "a$_IP_$b$ADDRESS", "5$$"]), at());
        assert_eq!(filled, Ok(words(&["ip", "10.0.0.10/24", "a10.0.0.10b10.0.0.10", "5$"])));
        assert!(filled_in(&words(&["$HOME"]), at()).is_err());
    }

    #[test]
    fn an_exit_status_counts_and_so_does_time() {
        assert_eq!(run(&words(&["true"]), at()), Ok(()));
        let said = |line: &[&str]| run(&words(line), at()).expect_err("no");
        assert!(said(&["false"]).contains("exit status: 1"));
        assert!(said(&["/no/such/program"]).contains("/no/such/program: "));
        assert!(said(&[]).contains("no program"));
        assert!(said(&["sleep", "1000"]).contains("killed after 2 s"));
        let quiet = "[ \"$GIVEOVER_ADDRESS\" = 10.0.0.10 ] && read line; [ -z \"$line\" ]";
        assert_eq!(run(&words(&["sh", "-c", &quiet.replace('$', "$$")]), at()), Ok(()));
        let mut cat = Command::new("grep");
        cat.arg("-q").arg("here");
        assert_eq!(feed(cat, "it is here\n"), Ok(()));
    }
}
