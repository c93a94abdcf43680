//! `path`: whether a path answers, or every path that a file of exports names, in a child of our own
//! that can be killed, so that a dead mount hangs nobody but it.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use super::exports;
use crate::config::look::{self, Wanted};

/// What is wrong with a path.
#[derive(Debug)]
pub enum Wrong {
    /// It does not answer as a path should.
    Stat(io::Error),
    /// It was changed too long ago, in seconds.
    Old(u64),
    /// So many percent are free.
    Full(u8),
}

impl Wrong {
    /// The exit status that says it.
    const fn status(&self) -> u8 {
        match self {
            Self::Stat(_) => 1,
            Self::Old(_) => look::TOO_OLD as u8,
            Self::Full(_) => look::TOO_FULL as u8,
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stat(error) => error.fmt(f),
            Self::Old(seconds) => write!(f, "changed {seconds} s ago"),
            Self::Full(percent) => write!(f, "{percent} % free"),
        }
    }
}

/// Looks at the path that `arguments` name, as [`argv`](crate::config::look::argv) has them behind the verb: exits 0 if it
/// is well; 1 and says why if not.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let [age, free, path] = &arguments[..] else { return ExitCode::from(2) };
    let number = |word: &OsString| word.to_str().and_then(|word| word.parse::<u64>().ok());
    let age = number(age).map(Duration::from_millis);
    let free = number(free).and_then(|free| u8::try_from(free).ok());
    match look(Path::new(path), Wanted { age, free }, SystemTime::now()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("{wrong}");
            ExitCode::from(wrong.status())
        }
    }
}

/// Looks at every path that the file named by `arguments` lists, as [`look::list_argv`] has it
/// behind the verb: exits 0 if all answer; 1 and says which first if not; 5 if the list cannot be read.
pub fn main_of_list(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let [list] = &arguments[..] else { return ExitCode::from(2) };
    let unreadable = ExitCode::from(look::UNREADABLE as u8);
    let text = match std::fs::read(list) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            eprintln!("{}: {error}", Path::new(list).display());
            return unreadable;
        }
    };
    match exports::paths(&text) {
        Err(wrong) => {
            eprintln!("{}:{}: {}", Path::new(list).display(), wrong.line, wrong.why);
            unreadable
        }
        Ok(paths) => match bad(&paths) {
            None => ExitCode::SUCCESS,
            Some(said) => {
                eprintln!("{said}");
                ExitCode::FAILURE
            }
        },
    }
}

/// What is wrong with `paths`; nothing if all answer.
fn bad(paths: &[String]) -> Option<String> {
    let wrong = |path: &String| match std::fs::metadata(path) {
        Ok(_) => None,
        Err(error) => Some(format!("{path}: {error}")),
    };
    let bad: Vec<String> = paths.iter().filter_map(wrong).collect();
    let (first, others) = bad.split_first()?;
    Some(match others.len() {
        0 => first.clone(),
        more => format!("{first} (and {more} more)"),
    })
}

/// Looks at `path` at the time `now`.
///
/// # Errors
/// See [`Wrong`].
pub fn look(path: &Path, wanted: Wanted, now: SystemTime) -> Result<(), Wrong> {
    let stat = std::fs::metadata(path).map_err(Wrong::Stat)?;
    if let Some(most) = wanted.age {
        let changed = stat.modified().map_err(Wrong::Stat)?;
        // What was changed in the future is not old.
        let age = now.duration_since(changed).unwrap_or_default();
        if age > most {
            return Err(Wrong::Old(age.as_secs()));
        }
    }
    if let Some(least) = wanted.free {
        let space = rustix::fs::statvfs(path).map_err(|errno| Wrong::Stat(errno.into()))?;
        let free = percent(space.f_bavail, space.f_blocks);
        if free < least {
            return Err(Wrong::Full(free));
        }
    }
    Ok(())
}

/// Percent, rounded down. A file system without blocks, such as that of /proc, is never full.
fn percent(part: u64, whole: u64) -> u8 {
    if whole == 0 {
        return 100;
    }
    u8::try_from(u128::from(part.min(whole)) * 100 / u128::from(whole)).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_well_if_it_answers_is_fresh_and_has_room() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        let now = SystemTime::now();
        let fresh = Wanted { age: Some(Duration::from_secs(3600)), free: None };
        assert!(matches!(look(&file, fresh, now), Err(Wrong::Stat(_))), "not there");
        std::fs::write(&file, "x").expect("a file");
        assert!(look(&file, fresh, now).is_ok());
        let later = now + Duration::from_secs(7200);
        assert!(matches!(look(&file, fresh, later), Err(Wrong::Old(7199..))));
        let long_ago = now - Duration::from_secs(7200);
        assert!(look(&file, fresh, long_ago).is_ok(), "changed in the future");
        assert!(look(&file, Wanted { age: None, free: Some(0) }, now).is_ok());
        assert!(matches!(look(&file.join("x"), Wanted::default(), now), Err(Wrong::Stat(_))));
    }

    #[test]
    fn every_path_of_a_list_must_answer() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::create_dir(path("a")).expect("a directory");
        assert_eq!(bad(&[]), None);
        assert_eq!(bad(&[path("a")]), None);
        let said = bad(&[path("a"), path("b"), path("c")]).expect("two do not");
        assert!(said.starts_with(&path("b")) && said.ends_with("(and 1 more)"), "{said}");
    }

    #[test]
    fn shares_are_rounded_down_and_never_overflow() {
        assert_eq!(percent(0, 0), 100);
        assert_eq!(percent(999, 1000), 99);
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
        assert_eq!(percent(5, 2), 100);
        assert_eq!(percent(0, 2), 0);
    }
}
