//! A program with its arguments and environment, made once and run often.

use std::ffi::{CStr, CString, OsStr};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use nix::errno::Errno;
use rustix::fs::{Access, access};

use crate::config::dollar::{BadWord, NAMES, Values, expand_all};

/// The variables a child gets.
#[derive(Clone, Debug)]
pub struct Environment(Arc<[CString]>);

/// What was meant for us alone: a child that had it would speak to our supervisor in our name,
/// or take its output for the journal's.
const OURS: [&str; 12] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "JOURNAL_STREAM",
    "INVOCATION_ID",
    "MAINPID",
    "MANAGERPID",
    "SYSTEMD_EXEC_PID",
    super::Instance::VARIABLE,
];

impl Environment {
    /// Our own variables, less those that were meant for us alone and those that say which
    /// service we ourselves are, if another monitor runs us.
    #[must_use]
    pub fn inherited() -> Self {
        let kept = std::env::vars_os().filter(|(name, _)| !is_ours(name));
        let lines = kept.filter_map(|(name, value)| {
            let mut line = name.into_vec();
            line.push(b'=');
            line.extend_from_slice(value.as_bytes());
            CString::new(line).ok()
        });
        Self(lines.collect())
    }

    /// These variables with `added` in their place.
    ///
    /// # Errors
    /// A name or value holds a zero byte, or a name is empty or holds `=`.
    pub fn with<N: AsRef<str>, V: AsRef<str>>(&self, added: &[(N, V)]) -> Result<Self, BadProgram> {
        let replaced = |line: &CString| added.iter().any(|(name, _)| names(line, name.as_ref()));
        let mut lines: Vec<CString> =
            self.0.iter().filter(|line| !replaced(line)).cloned().collect();
        for (name, value) in added {
            let (name, value) = (name.as_ref(), value.as_ref());
            if name.is_empty() || name.contains('=') {
                return Err(BadProgram::Variable);
            }
            lines.push(CString::new(format!("{name}={value}")).map_err(|_| BadProgram::Zero)?);
        }
        Ok(Self(lines.into()))
    }

    /// The value of `name`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        let line = self.0.iter().rfind(|line| names(line, name))?;
        Some(OsStr::from_bytes(line.to_bytes().get(name.len() + 1..)?))
    }

    pub(super) fn lines(&self) -> &[CString] {
        &self.0
    }
}

fn is_ours(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        OURS.contains(&name) || name.strip_prefix("GIVEOVER_").is_some_and(|n| NAMES.contains(&n))
    })
}

fn names(line: &CString, name: &str) -> bool {
    line.to_bytes().strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
}

/// What cannot be made a program of. Nothing was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadProgram {
    /// No words at all, or an empty first one.
    Empty,
    /// A zero byte in a word or variable.
    Zero,
    /// A variable without a name.
    Variable,
    /// A word with a dollar that means nothing.
    Word(BadWord),
}

impl From<BadWord> for BadProgram {
    fn from(word: BadWord) -> Self {
        Self::Word(word)
    }
}

impl fmt::Display for BadProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no program is named"),
            Self::Zero => f.write_str("a word or variable holds a zero byte"),
            Self::Variable => f.write_str("a variable's name is empty or holds ="),
            Self::Word(word) => word.fmt(f),
        }
    }
}

impl std::error::Error for BadProgram {}

/// A program that can be run.
#[derive(Clone, Debug)]
pub struct Program {
    argv: Vec<CString>,
    environment: Environment,
    /// Where it was found last; looked for again once it could not be run from there.
    found: Option<CString>,
}

impl Program {
    /// The program and arguments `words`, run with `environment`.
    ///
    /// A name without a slash is looked for along the PATH of that environment.
    ///
    /// # Errors
    /// [`BadProgram::Empty`] and [`BadProgram::Zero`].
    pub fn new<W: AsRef<str>>(words: &[W], environment: &Environment) -> Result<Self, BadProgram> {
        let argv = words.iter().map(|word| CString::new(word.as_ref()));
        let argv = argv.collect::<Result<Vec<_>, _>>().map_err(|_| BadProgram::Zero)?;
        if argv.first().is_none_or(|name| name.is_empty()) {
            return Err(BadProgram::Empty);
        }
        Ok(Self { argv, environment: environment.clone(), found: None })
    }

    /// The same, with the names in its words replaced by `values`, which also stand in its
    /// environment as `GIVEOVER_…`.
    ///
    /// # Errors
    /// All of [`BadProgram`].
    pub fn expanded<W: AsRef<str>>(
        words: &[W],
        values: &Values<'_>,
        environment: &Environment,
    ) -> Result<Self, BadProgram> {
        Self::new(&expand_all(words, values)?, &environment.with(&values.environment())?)
    }

    /// The program as it was named.
    #[must_use]
    pub fn name(&self) -> &CStr {
        self.argv.first().map_or(c"", CString::as_c_str)
    }

    /// Program and arguments.
    #[must_use]
    pub fn argv(&self) -> &[CString] {
        &self.argv
    }

    /// The variables it gets.
    #[must_use]
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Finds it.
    ///
    /// # Errors
    /// ENOENT if it is nowhere, EACCES if it is somewhere but may not be run.
    pub fn locate(&mut self) -> Result<(), Errno> {
        if self.found.is_none() {
            self.found = Some(locate(self.name(), self.environment.value("PATH"))?);
        }
        Ok(())
    }

    /// Where it was found, or its name.
    #[must_use]
    pub fn place(&self) -> &CStr {
        self.found.as_deref().unwrap_or_else(|| self.name())
    }

    /// Look for it again next time.
    pub(super) fn forget(&mut self) {
        self.found = None;
    }
}

/// Looks for `name` along `path`, as `execvp` would.
///
/// # Errors
/// ENOENT if it is nowhere, EACCES if it is somewhere but may not be run.
pub fn locate(name: &CStr, path: Option<&OsStr>) -> Result<CString, Errno> {
    if name.to_bytes().contains(&b'/') {
        return Ok(name.to_owned());
    }
    let mut refusal = Errno::ENOENT;
    let path = path.map_or(USUAL_PATH, OsStrExt::as_bytes);
    for directory in path.split(|byte| *byte == b':') {
        let mut place = if directory.is_empty() { b".".to_vec() } else { directory.to_vec() };
        place.push(b'/');
        place.extend_from_slice(name.to_bytes());
        let Ok(place) = CString::new(place) else { continue };
        match access(&*place, Access::EXEC_OK) {
            Ok(()) if !is_directory(&place) => return Ok(place),
            // In a directory that is closed to us nobody knows what there is.
            Err(rustix::io::Errno::ACCESS) if exists(&place) => refusal = Errno::EACCES,
            _ => {}
        }
    }
    Err(refusal)
}

fn exists(place: &CStr) -> bool {
    std::fs::metadata(OsStr::from_bytes(place.to_bytes())).is_ok()
}

fn is_directory(place: &CStr) -> bool {
    std::fs::metadata(OsStr::from_bytes(place.to_bytes())).is_ok_and(|found| found.is_dir())
}

const USUAL_PATH: &[u8] = b"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(lines: &[&str]) -> Environment {
        Environment(lines.iter().map(|line| CString::new(*line).unwrap()).collect())
    }

    #[test]
    fn added_variables_replace_inherited_ones() {
        let inherited = environment(&["PATH=/bin", "PATHS=x", "HOME=/root"]);
        let with = inherited.with(&[("PATH", "/opt/bin"), ("LANG", "C")]).unwrap();
        assert_eq!(with.value("PATH"), Some(OsStr::new("/opt/bin")));
        assert_eq!(with.value("PATHS"), Some(OsStr::new("x")));
        assert_eq!(with.lines().len(), 4);
        assert_eq!(inherited.with(&[("a=b", "c")]).err(), Some(BadProgram::Variable));
        assert_eq!(inherited.with(&[("a", "\0")]).err(), Some(BadProgram::Zero));
    }

    #[test]
    fn what_was_meant_for_us_is_not_passed_on() {
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "GIVEOVER_INSTANCE", "GIVEOVER_CHECK"] {
            assert!(is_ours(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "GIVEOVER_SOCKET", "HOME"] {
            assert!(!is_ours(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_program_is_looked_for_along_its_own_path() {
        let shell = |path: &str| {
            let mut program = Program::new(&["sh"], &environment(&[path])).unwrap();
            program.locate().map(|()| program.place().to_owned())
        };
        assert_eq!(shell("PATH=/nowhere:/bin"), Ok(c"/bin/sh".to_owned()));
        assert_eq!(shell("PATH=/nowhere"), Err(Errno::ENOENT));
        assert!(Program::new(&["sh"], &environment(&[])).unwrap().locate().is_ok());
        assert_eq!(locate(c"etc", Some(OsStr::new("/"))), Err(Errno::ENOENT));
    }

    #[test]
    fn no_words_are_no_program() {
        let none: [&str; 0] = [];
        assert_eq!(Program::new(&none, &environment(&[])).err(), Some(BadProgram::Empty));
        assert_eq!(Program::new(&[""], &environment(&[])).err(), Some(BadProgram::Empty));
        assert_eq!(Program::new(&["a\0"], &environment(&[])).err(), Some(BadProgram::Zero));
    }
}
