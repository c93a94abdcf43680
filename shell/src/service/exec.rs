//! The step between us and a service that wants another user, directory or control group.
//!
//! `posix_spawn` can do none of these, and what `fork` would let us do between it and `exec` is
//! neither cheap in a daemon that has grown nor possible without `unsafe`. So where one of them
//! is wanted, and only there, a copy of this program is spawned that sets itself up and then
//! becomes the service: same process, same number, same start time.
//!
//! It inherits, as standard input, a pipe that closes when it succeeds; what it writes there is
//! why the start failed. Looking up a user may ask a directory far away, which is another
//! reason to do it here and not in the loop.

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User, getegid, geteuid, initgroups, setgid, setgroups, setuid};

use crate::config::plan::ProcessPlan;
use crate::reactor::{Cgroup, locate};

/// The verb, not shown in any help.
pub const VERB: &str = "exec-service";

/// The exit status of a set-up that failed, as systemd's for the same.
pub(super) const FAILED: u8 = 203;

/// The words that run `argv` through this step.
pub(super) fn words(
    helper: &str,
    plan: &ProcessPlan,
    cgroup: Option<&Cgroup>,
    argv: &[String],
) -> Vec<String> {
    let mut words = vec![helper.to_owned(), VERB.to_owned()];
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    option("--user", plan.user.clone());
    option("--group", plan.group.clone());
    option("--dir", plan.dir.as_ref().map(|dir| dir.display().to_string()));
    option("--cgroup", cgroup.map(|cgroup| cgroup.entrance().display().to_string()));
    for name in OF_THE_USER {
        let written = plan.env.iter().any(|(written, _)| written == name);
        option("--keep", written.then(|| name.to_owned()));
    }
    words.push("--".to_owned());
    words.extend_from_slice(argv);
    words
}

/// Variables that follow from the user, unless they were written.
const OF_THE_USER: [&str; 4] = ["HOME", "USER", "LOGNAME", "SHELL"];

/// What this step is to do.
#[derive(Debug, Default, PartialEq, Eq)]
struct Task {
    user: Option<String>,
    group: Option<String>,
    dir: Option<PathBuf>,
    cgroup: Option<PathBuf>,
    keep: Vec<String>,
    argv: Vec<OsString>,
}

impl Task {
    /// Reads what [`words`] wrote, less the program and verb.
    fn read(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut task = Self::default();
        let mut args = args.into_iter();
        loop {
            let option = args.next()?;
            if option == "--" {
                break;
            }
            let value = args.next()?;
            match option.to_str()? {
                "--user" => task.user = Some(value.into_string().ok()?),
                "--group" => task.group = Some(value.into_string().ok()?),
                "--dir" => task.dir = Some(value.into()),
                "--cgroup" => task.cgroup = Some(value.into()),
                "--keep" => task.keep.push(value.into_string().ok()?),
                _ => return None,
            }
        }
        task.argv.extend(args);
        (!task.argv.is_empty()).then_some(task)
    }
}

/// Why a service was not set up: an error number and what was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The kernel's reason, zero if it was not the kernel.
    pub(super) errno: u16,
    /// In words.
    pub(super) words: String,
}

impl Failure {
    fn new(what: impl Into<String>, errno: Errno) -> Self {
        let what = what.into();
        Self { errno: errno as u16, words: format!("{what}: {} ({errno:?})", errno.desc()) }
    }

    fn plain(words: String) -> Self {
        Self { errno: 0, words }
    }

    fn line(&self) -> String {
        format!("{} {}", self.errno, self.words)
    }

    /// Reads what the step wrote. Nothing written is success.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let (errno, words) = text.split_once(' ').unwrap_or(("0", &text));
        let errno = errno.parse().unwrap_or(0);
        (!text.is_empty()).then(|| Self { errno, words: words.to_owned() })
    }
}

/// Sets itself up and becomes the service. Returns only if that failed. `args` are those after
/// the verb; standard input is the pipe for the reason.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Ok(mut reason) = take_pipe() else { return ExitCode::from(FAILED) };
    let failure = match Task::read(args) {
        Some(task) => become_service(&task),
        None => Failure::plain(format!("{VERB} is not for people")),
    };
    // In one piece: it is read as soon as there is any of it. If nobody reads it, nobody waits
    // for it.
    let _ = reason.write_all(failure.line().as_bytes());
    ExitCode::from(FAILED)
}

/// Moves the pipe out of the way of the service, which gets `/dev/null` to read from.
fn take_pipe() -> rustix::io::Result<fs::File> {
    let pipe = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    let null = fs::File::open("/dev/null").map_err(|_| rustix::io::Errno::NOENT)?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(pipe.into())
}

fn become_service(task: &Task) -> Failure {
    match set_up(task) {
        Ok(mut command) => {
            let error = command.exec();
            let errno = Errno::from_raw(error.raw_os_error().unwrap_or(0));
            Failure::new(format!("cannot run {}", name(task)), errno)
        }
        Err(failure) => failure,
    }
}

fn name(task: &Task) -> String {
    task.argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn set_up(task: &Task) -> Result<Command, Failure> {
    if let Some(cgroup) = &task.cgroup {
        // Without it the service is still found, by other means.
        let _ = fs::write(cgroup, "0");
    }
    let user = take_identity(task)?;
    if let Some(dir) = &task.dir {
        std::env::set_current_dir(dir).map_err(|error| {
            let errno = Errno::from_raw(error.raw_os_error().unwrap_or(0));
            Failure::new(format!("cannot enter {}", dir.display()), errno)
        })?;
    }
    let name = task.argv.first().map(OsString::as_os_str).unwrap_or_default();
    let program = CString::new(name.as_bytes()).unwrap_or_default();
    let shown = name.to_string_lossy();
    let path = std::env::var_os("PATH");
    let place = locate(&program, path.as_deref())
        .map_err(|errno| Failure::new(format!("cannot run {shown}"), errno))?;
    let mut command = Command::new(OsStr::from_bytes(place.as_bytes()));
    command.arg0(name).args(task.argv.iter().skip(1));
    if let Some(user) = user {
        let values =
            [user.dir.into(), user.name.clone().into(), user.name.into(), user.shell.into()];
        for (name, value) in OF_THE_USER.into_iter().zip::<[OsString; 4]>(values) {
            if !task.keep.iter().any(|kept| kept == name) {
                command.env(name, value);
            }
        }
    }
    Ok(command)
}

/// Becomes the user and group; says which user, if that is one the system knows.
fn take_identity(task: &Task) -> Result<Option<User>, Failure> {
    if task.user.is_none() && task.group.is_none() {
        return Ok(None);
    }
    let user = task.user.as_deref().map(find_user).transpose()?;
    let uid = user.as_ref().map_or_else(geteuid, |(uid, _)| *uid);
    let user = user.and_then(|(_, user)| user);
    let gid = match (&task.group, &user) {
        (Some(group), _) => find_group(group)?,
        (None, Some(user)) => user.gid,
        (None, None) => Gid::from_raw(uid.as_raw()),
    };
    if (uid, gid) == (geteuid(), getegid()) && !uid.is_root() {
        // What we are already needs no privilege.
        return Ok(user);
    }
    let groups = match &user {
        Some(user) => initgroups(&CString::new(user.name.as_str()).unwrap_or_default(), gid),
        None => setgroups(&[gid]),
    };
    groups.map_err(|errno| Failure::new("cannot set groups", errno))?;
    setgid(gid).map_err(|errno| Failure::new(format!("cannot become group {gid}"), errno))?;
    setuid(uid).map_err(|errno| Failure::new(format!("cannot become user {uid}"), errno))?;
    Ok(user)
}

fn find_user(name: &str) -> Result<(Uid, Option<User>), Failure> {
    let found = match name.parse() {
        Ok(number) => {
            let uid = Uid::from_raw(number);
            User::from_uid(uid).map(|user| Some((uid, user)))
        }
        Err(_) => User::from_name(name).map(|user| user.map(|user| (user.uid, Some(user)))),
    };
    let found =
        found.map_err(|errno| Failure::new(format!("cannot look up user {name}"), errno))?;
    found.ok_or_else(|| Failure::plain(format!("no such user: {name}")))
}

fn find_group(name: &str) -> Result<Gid, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(Gid::from_raw(number));
    }
    let found = Group::from_name(name);
    let found =
        found.map_err(|errno| Failure::new(format!("cannot look up group {name}"), errno))?;
    found.map(|group| group.gid).ok_or_else(|| Failure::plain(format!("no such group: {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::plan::StopMethod;

    #[test]
    fn what_is_written_is_read() {
        let plan = ProcessPlan {
            start: Vec::new(),
            forks: false,
            stop: StopMethod::Signal(15),
            user: Some("web".into()),
            group: None,
            dir: Some("/srv/a b".into()),
            env: vec![("HOME".into(), "/srv".into()), ("X".into(), "y".into())],
        };
        let argv = ["prog".to_owned(), "--user".to_owned(), "--".to_owned()];
        let words = words("/helper", &plan, None, &argv);
        assert_eq!(words[..2], ["/helper", "exec-service"]);
        let task = Task::read(words.into_iter().skip(2).map(OsString::from)).unwrap();
        let expected = Task {
            user: Some("web".into()),
            group: None,
            dir: Some("/srv/a b".into()),
            cgroup: None,
            keep: vec!["HOME".into()],
            argv: argv.map(OsString::from).into(),
        };
        assert_eq!(task, expected);
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        for args in [&[][..], &["--"], &["--user"], &["--user", "x"], &["--what", "x", "--", "y"]] {
            assert_eq!(Task::read(args.iter().map(OsString::from)), None, "{args:?}");
        }
    }

    #[test]
    fn a_reason_survives_the_pipe() {
        let failure = Failure::new("cannot enter /x", Errno::EACCES);
        assert_eq!(Failure::read(failure.line().as_bytes()), Some(failure));
        assert_eq!(Failure::read(b""), None);
        assert_eq!(
            find_user("no-such-user-here").unwrap_err().words,
            "no such user: no-such-user-here"
        );
        assert!(find_user("0").is_ok_and(|(uid, user)| uid.is_root() && user.is_some()));
    }
}
