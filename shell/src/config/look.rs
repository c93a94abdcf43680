//! Checks that look at something of this host, and the words of the command that looks: this program
//! itself, in a process that can be killed, so that a dead file system hangs nobody but it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::database::OracleRun;

/// The verb under which we run ourselves to look at a path.
pub const VERB: &str = "__look-at-path";
/// The verb under which we run ourselves to look at the paths that a file lists.
pub const LIST_VERB: &str = "__look-at-list";
/// The verb under which we run ourselves to look for a process.
pub const PROCESS_VERB: &str = "__look-for-process";
/// The verb under which we run ourselves to look through a log.
pub const LOG_VERB: &str = "__look-through-log";

/// The exit status of a look that could not be taken.
pub const CANNOT_LOOK: u8 = 75;

/// What a command of ours looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Looks {
    /// Nothing: it is another's command.
    #[default]
    No,
    /// A path.
    Path,
    /// The paths that a file lists.
    List,
    /// Whether a process is there.
    Process,
    /// What was added to a log.
    Log,
    /// What Oracle's listener says of itself, by its own program.
    Listener,
}

impl Looks {
    /// The word of the kind of check.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::No => "command",
            Self::Path | Self::List => "path",
            Self::Process => "process",
            Self::Log => "log",
            Self::Listener => "listener",
        }
    }

    /// What the exit status `code` of such a command means; empty if it says nothing more.
    #[must_use]
    pub const fn words(self, code: u16) -> &'static str {
        match (self, code) {
            (Self::Path, 1) => "it does not answer",
            (Self::Path, TOO_OLD) => "changed too long ago",
            (Self::Path, TOO_FULL) => "too little is free",
            (Self::List, 1) => "a path does not answer",
            (Self::List, UNREADABLE) => "its list cannot be read",
            (Self::Process, 1) => "no such process",
            (Self::Log, 1) => "a line matches",
            (Self::Log, CANNOT_LOOK_CODE) => "it cannot be read",
            _ => "",
        }
    }
}

/// Exit statuses of our looks, as causes have them; 1 is what the kind is about.
pub const TOO_OLD: u16 = 3;
/// Too little of the file system is free.
pub const TOO_FULL: u16 = 4;
/// The list of paths cannot be read.
pub const UNREADABLE: u16 = 5;
const CANNOT_LOOK_CODE: u16 = CANNOT_LOOK as u16;

/// The verb under which we run ourselves to ask Oracle's listener.
pub const LISTENER_VERB: &str = "__ask-listener";

/// What is wanted of a path besides that it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// It was changed no longer ago than this.
    pub age: Option<Duration>,
    /// At least so many percent of its file system are free.
    pub free: Option<u8>,
}

/// The words that run us for `path`; in words of the configuration a dollar is doubled.
#[must_use]
pub fn argv(path: &str, wanted: Wanted) -> Vec<String> {
    let age = wanted.age.map(|age| age.as_millis().to_string());
    let free = wanted.free.map(|free| free.to_string());
    let words = [age.unwrap_or_default(), free.unwrap_or_default(), plain(path)];
    ourselves(VERB, words)
}

/// The words that run us for the paths that the file `list` names.
#[must_use]
pub fn list_argv(list: &str) -> Vec<String> {
    ourselves(LIST_VERB, [plain(list)])
}

/// The words that run us for a process of the name `name`.
#[must_use]
pub fn process_argv(name: &str) -> Vec<String> {
    ourselves(PROCESS_VERB, [plain(name)])
}

/// What a `log` check looks for, and how much it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogWanted<'a> {
    /// The file.
    pub path: &'a str,
    /// Which lines.
    pub patterns: Vec<&'a str>,
    /// Which of these do not count.
    pub ignore: Vec<&'a str>,
    /// At most so many bytes of a line are looked at.
    pub longest: u32,
    /// At most so many bytes are read at once.
    pub cap: u32,
}

/// The place of the word, in what [`log_argv`] makes, that says where the place in the log is
/// kept. Empty: nowhere, and the end of the file is looked through.
pub const PLACE_WORD: usize = 2;
/// The place of the word that says whether the place in the log is left as it was.
pub const PEEK_WORD: usize = 3;

/// The words that run us for a log.
#[must_use]
pub fn log_argv(wanted: &LogWanted<'_>) -> Vec<String> {
    let LogWanted { path, patterns, ignore, longest, cap } = wanted;
    let numbers = [*longest, *cap, patterns.len() as u32].map(|number| number.to_string());
    let texts = patterns.iter().chain(ignore).map(|text| plain(text));
    let words = [String::new(), String::new(), plain(path)];
    ourselves(LOG_VERB, words.into_iter().chain(numbers).chain(texts))
}

/// The verb under which we become another user and then a program.
pub const RUN_AS: &str = "__run-as";
/// The exit status of one that could not become that user.
pub const NOT_THAT_USER: u8 = 126;
/// The exit status of one that could not become that program.
pub const NO_PROGRAM: u8 = 127;

/// The words before those of a program that runs as `who`, `USER` or `USER:GROUP`.
#[must_use]
pub fn run_as(who: &str) -> Vec<String> {
    ourselves(RUN_AS, [who.to_owned()])
}

fn ourselves(verb: &str, words: impl IntoIterator<Item = String>) -> Vec<String> {
    // The program we are, also if another has taken its place since.
    let mut argv = vec!["/proc/self/exe".to_owned(), verb.to_owned()];
    argv.extend(words);
    argv
}

/// In words of the configuration a dollar is doubled.
#[must_use]
pub fn plain(word: &str) -> String {
    word.replace('$', "$$")
}

/// The words that run us for the listener called `name`.
#[must_use]
pub fn at_listener(lsnrctl: &str, name: &str, runs: &OracleRun) -> Vec<String> {
    let words = [runs.user.as_deref(), runs.home.as_deref(), Some(lsnrctl), Some(name)];
    ourselves(LISTENER_VERB, words.map(|word| plain(word.unwrap_or_default())))
}
