//! Oracle's own programs: how its client and its listener's are run.

use std::ffi::{CString, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use nix::unistd::{Group, User, initgroups, setgid, setuid};

use crate::config::database::{OracleLogin, OracleRun, of_home};
use crate::config::look;
use crate::reactor::{BadProgram, Environment};

/// Of a listener's status no more is looked at, in bytes.
const MOST: u64 = 64 * 1024;

/// The words that run the client of `login`.
#[must_use]
pub fn client(login: &OracleLogin) -> Vec<String> {
    let program = of_home(&login.sqlplus, login.runs.home.as_deref());
    let mut words = Vec::new();
    if let Some(user) = &login.runs.user {
        words.extend(look::run_as(user));
    }
    // Silent, one attempt, and nobody yet: the password is for its standard input alone.
    words.extend([program, "-S".to_owned(), "-L".to_owned(), "/nolog".to_owned()]);
    words
}

/// What these programs have to know.
///
/// # Errors
/// See [`BadProgram`].
pub fn environment(runs: &OracleRun, inherited: &Environment) -> Result<Environment, BadProgram> {
    inherited.with(&variables(runs))
}

fn variables(runs: &OracleRun) -> Vec<(&'static str, String)> {
    let mut variables = vec![("NLS_LANG", "AMERICAN_AMERICA.AL32UTF8".to_owned())];
    if let Some(home) = &runs.home {
        variables.push(("ORACLE_HOME", home.to_string()));
        variables.push(("LD_LIBRARY_PATH", format!("{home}/lib")));
    }
    variables.extend(runs.sid.as_ref().map(|sid| ("ORACLE_SID", sid.to_string())));
    variables
}

/// `USER[:GROUP] PROGRAM ARGUMENT…`: becomes the user, then the program.
pub fn run_as(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let [user, program, rest @ ..] = &arguments[..] else { return ExitCode::from(2) };
    if let Err(why) = become_user(&user.to_string_lossy()) {
        eprintln!("{why}");
        return ExitCode::from(look::NOT_THAT_USER);
    }
    let error = Command::new(program).args(rest).exec();
    eprintln!("{}: {error}", program.to_string_lossy());
    ExitCode::from(look::NO_PROGRAM)
}

fn become_user(who: &str) -> Result<(), String> {
    let (name, group) = match who.split_once(':') {
        Some((name, group)) => (name, Some(group)),
        None => (who, None),
    };
    let failed = |errno: nix::errno::Errno| format!("user {name}: {}", errno.desc());
    let user = User::from_name(name).map_err(failed)?;
    let user = user.ok_or_else(|| format!("user {name} is not known here"))?;
    let gid = match group {
        None => user.gid,
        Some(group) => {
            let known = Group::from_name(group).map_err(failed)?;
            known.ok_or_else(|| format!("group {group} is not known here"))?.gid
        }
    };
    if user.uid == nix::unistd::geteuid() && gid == nix::unistd::getegid() {
        return Ok(());
    }
    let own = CString::new(name).map_err(|_| format!("user {name}: no name"))?;
    initgroups(&own, gid).map_err(failed)?;
    setgid(gid).map_err(failed)?;
    setuid(user.uid).map_err(failed)
}

/// Asks the listener, as [`at_listener`](crate::config::look::at_listener) has the words behind the
/// verb: exits 0 if it answers, also if it wants a password first; 1 and says why if not.
pub fn ask_listener(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<String> = arguments.filter_map(|word| word.into_string().ok()).collect();
    let [user, home, program, name] = &arguments[..] else { return ExitCode::from(2) };
    let home = Some(home.as_str()).filter(|home| !home.is_empty());
    if !user.is_empty() {
        if let Err(why) = become_user(user) {
            eprintln!("{why}");
            return ExitCode::from(126);
        }
    }
    let runs = OracleRun { home: home.map(Into::into), ..OracleRun::default() };
    let mut command = Command::new(of_home(program, home));
    command.args(["status", name]).envs(variables(&runs)).stdin(Stdio::null());
    let (said, success) = match hear(&mut command) {
        Ok(heard) => heard,
        Err(error) => {
            eprintln!("{program}: {error}");
            return ExitCode::from(127);
        }
    };
    match judge(&String::from_utf8_lossy(&said), success) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// What a program says, as far as anybody looks at it, and whether it ends well. One that never
/// stops talking costs no memory.
fn hear(command: &mut Command) -> io::Result<(Vec<u8>, bool)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut said = Vec::new();
    if let Some(mut output) = child.stdout.take() {
        (&mut output).take(MOST).read_to_end(&mut said)?;
        io::copy(&mut output, &mut io::sink())?;
    }
    Ok((said, child.wait()?.success()))
}

/// Whether a listener that was asked for its status is there.
///
/// # Errors
/// It is not; what was said instead.
fn judge(output: &str, success: bool) -> Result<(), String> {
    let errors = || output.lines().map(str::trim).filter(|line| line.starts_with("TNS-"));
    // It wants a password for that, so it has answered.
    if errors().any(|line| line.starts_with("TNS-01169")) {
        return Ok(());
    }
    match (errors().next(), success) {
        (None, true) => Ok(()),
        (Some(error), _) => Err(error.to_owned()),
        (None, false) => Err("its status could not be asked for".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_that_answers_is_there() {
        assert_eq!(
            judge("STATUS of the LISTENER\nThe command completed successfully\n", true),
            Ok(())
        );
        let locked = "TNS-01169: The listener has not recognized the password\n";
        assert_eq!(judge(locked, false), Ok(()));
        let gone = " TNS-12541: TNS:no listener\n  TNS-12560: x\n";
        assert_eq!(judge(gone, false), Err("TNS-12541: TNS:no listener".to_owned()));
        assert!(judge("", false).is_err());
    }

    #[test]
    fn of_what_is_said_no_more_is_kept_than_is_looked_at() {
        let mut head = Command::new("head");
        let (said, success) = hear(head.args(["-c", "300000", "/dev/zero"])).expect("it runs");
        assert_eq!((said.len() as u64, success), (MOST, true));
        let (said, success) = hear(&mut Command::new("false")).expect("it runs");
        assert_eq!((said.len(), success), (0, false));
        assert!(hear(&mut Command::new("/no/such/program")).is_err());
    }

    #[test]
    fn the_client_is_that_of_the_installation_and_gets_no_password_in_its_words() {
        let runs =
            OracleRun { user: Some("oracle".into()), home: Some("/opt/o".into()), sid: None };
        let login = OracleLogin {
            sqlplus: "sqlplus".into(),
            user: "giveover".into(),
            database: "".into(),
            password_file: Some("/p".into()),
            runs,
            writes: true,
        };
        let words = client(&login).join(" ");
        assert_eq!(words, "/proc/self/exe __run-as oracle /opt/o/bin/sqlplus -S -L /nolog");
    }
}
