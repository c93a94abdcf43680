//! What the kernel tells about processes in `/proc`.
//!
//! Everything here is a glimpse: the process may be gone, and its number another's, before the
//! caller looks at the answer. Whoever acts on it opens a pidfd first and compares start times.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use super::Instance;

/// What `/proc/PID/stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The state's letter; `Z` and `X` are dead.
    pub state: u8,
    /// The parent.
    pub parent: u32,
    /// The session.
    pub session: u32,
    /// When it started, in clock ticks since boot. With the number it names the process for as
    /// long as the boot lasts.
    pub start: u64,
}

impl Stat {
    /// The process has ended, and only waits to be reaped.
    #[must_use]
    pub const fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// What is known about process `pid`, or `None` if there is none.
#[must_use]
pub fn stat(pid: u32) -> Option<Stat> {
    let mut line = [0; 1024];
    let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse(line.get(..length)?)
}

/// A program's name may hold spaces and brackets: what counts follows the last one.
fn parse(line: &[u8]) -> Option<Stat> {
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(15)?.parse().ok()?;
    Some(Stat { state, parent, session, start })
}

/// The children of `pid`, dead ones included, in no order.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    if !lists_children() {
        return all().into_iter().filter(|p| stat(*p).is_some_and(|s| s.parent == pid)).collect();
    }
    let mut found = Vec::new();
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return found };
    for task in tasks.flatten() {
        let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    found
}

/// Whether this kernel has lists of children (`CONFIG_PROC_CHILDREN`). Without them every
/// process is asked for its parent, which is slow and right.
fn lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| fs::metadata("/proc/thread-self/children").is_ok())
}

/// Every process there is.
#[must_use]
pub fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What the environment of a process says about where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It carries this instance.
    Instance(Instance),
    /// It carries none, or may not be read.
    None,
    /// There is no environment: it is just becoming another program, for a moment, or has none.
    Bare,
    /// It has been written over, as servers do that show their state in their title.
    Overwritten,
}

/// The mark in the environment of `pid`.
#[must_use]
pub fn mark(pid: u32) -> Mark {
    environment(pid).map_or(Mark::None, |environment| mark_in(&environment))
}

/// The environment `pid` was started with, or what it has made of it. `None` if it may not be
/// read.
#[must_use]
pub fn environment(pid: u32) -> Option<Vec<u8>> {
    let mut environment = Vec::new();
    let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(MOST_ENVIRONMENT).read_to_end(&mut environment).ok()?;
    Some(environment)
}

fn mark_in(environment: &[u8]) -> Mark {
    let is_variable = |line: &[u8]| {
        let name = line.split(|byte| *byte == b'=').next().unwrap_or_default();
        name.len() < line.len() && name.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_')
    };
    match Instance::find(environment) {
        Some(instance) => Mark::Instance(instance),
        None if environment.is_empty() => Mark::Bare,
        None if environment.split(|byte| *byte == 0).any(is_variable) => Mark::None,
        None => Mark::Overwritten,
    }
}

/// No environment we made is larger; more is not read.
const MOST_ENVIRONMENT: u64 = 1 << 20;

/// Device and inode of the program `pid` runs.
#[must_use]
pub fn program(pid: u32) -> Option<(u64, u64)> {
    let metadata = fs::metadata(format!("/proc/{pid}/exe")).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// The identity of this boot, which nobody of it lives to see change.
#[must_use]
pub fn boot_id() -> Option<[u8; 16]> {
    static READ: OnceLock<[u8; 16]> = OnceLock::new();
    if let Some(id) = READ.get() {
        return Some(*id);
    }
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
    let id = u128::from_str_radix(&digits, 16).ok()?.to_be_bytes();
    Some(*READ.get_or_init(|| id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_no_trap() {
        let line = b"42 (a) Z 1 (b) S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3\n";
        assert_eq!(parse(line), Some(Stat { state: b'S', parent: 7, session: 41, start: 98765 }));
    }

    #[test]
    fn a_cut_or_foreign_line_is_nothing() {
        for line in [&b""[..], b"42", b"42 (sh)", b"42 (sh) S 7 42", b"1 (\xff) S x 1 1"] {
            assert_eq!(parse(line), None);
        }
    }

    #[test]
    fn an_overwritten_environment_is_not_an_empty_one() {
        let instance = Instance { monitor: 1, since: 2, number: 3 };
        assert_eq!(mark_in(b""), Mark::Bare);
        assert_eq!(mark_in(b"PATH=/bin\0HOME=/\0"), Mark::None);
        assert_eq!(mark_in(b"PATH=/bin\0GIVEOVER_INSTANCE=1-2-3\0"), Mark::Instance(instance));
        assert_eq!(mark_in(b"\0\0\0\0"), Mark::Overwritten);
        assert_eq!(mark_in(b" process\0\0\0\0"), Mark::Overwritten);
    }

    #[test]
    fn we_ourselves_are_there() {
        let me = std::process::id();
        assert!(stat(me).is_some_and(|stat| !stat.is_dead() && stat.start > 0));
        assert!(all().contains(&me));
        assert!(program(me).is_some() && boot_id().is_some());
        assert_eq!(stat(0), None);
    }
}
