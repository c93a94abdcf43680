//! Where a journal lies: its directory, and the names of the files in it.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

/// A journal's directory and the name its files begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    dir: PathBuf,
    name: OsString,
}

impl Place {
    /// The journal of a state directory: `DIR/journal`.
    #[must_use]
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), name: "journal".into() }
    }

    /// The journal in the file `path`, with its other files beside it. `None` if that names no
    /// file.
    #[must_use]
    pub fn of_file(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_owned();
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        Some(Self { dir: dir.unwrap_or(Path::new(".")).to_owned(), name })
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file that is appended to.
    #[must_use]
    pub fn current(&self) -> PathBuf {
        self.dir.join(&self.name)
    }

    /// The file a new generation is prepared in.
    #[must_use]
    pub fn next(&self) -> PathBuf {
        self.beside("new")
    }

    /// The generation `back` steps before the current one, from 1.
    #[must_use]
    pub fn earlier(&self, back: u8) -> PathBuf {
        self.beside(&back.to_string())
    }

    /// The file that is locked while a daemon runs.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.beside("lock")
    }

    /// Where to put a file that is not used: `journal.damaged-1`, or `journal.newer-1`.
    ///
    /// The first number that is free. So that repeated damage cannot fill the disk, no more
    /// than [`Place::MOST_SET_ASIDE`] are kept, and the last is replaced past that.
    #[must_use]
    pub fn free(&self, kind: &str) -> PathBuf {
        let name = |number: u32| self.beside(&format!("{kind}-{number}"));
        let free = (1..Self::MOST_SET_ASIDE).find(|number| !exists(&name(*number)));
        name(free.unwrap_or(Self::MOST_SET_ASIDE))
    }

    /// How many files of a kind are kept aside.
    pub const MOST_SET_ASIDE: u32 = 8;

    /// Makes the directory, and those above it, for nobody but us.
    ///
    /// # Errors
    /// The system's; some of the directories above may have been made.
    pub fn make_dir(&self) -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)
    }

    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.name.clone();
        name.push(".");
        name.push(end);
        self.dir.join(name)
    }
}

fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// The state directory of the configuration in `config`, below `base`.
///
/// One for each file, so that a trial never reads production's histories. The name is the path
/// as `systemd-escape --path` writes it: a person can tell whose it is.
#[must_use]
pub fn state_dir(config: &Path, base: &Path) -> PathBuf {
    base.join(escaped(config))
}

/// The base of state directories: what systemd gave us, else the system's or the person's own.
/// `None` for a person without a home.
#[must_use]
pub fn base_dir(system: bool, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(given) = set("STATE_DIRECTORY") {
        // systemd separates several by colons; the first is ours
        let first = given.as_bytes().split(|byte| *byte == b':').next().unwrap_or_default();
        return Some(PathBuf::from(OsStr::from_bytes(first)));
    }
    if system {
        return Some(PathBuf::from("/var/lib/giveover"));
    }
    let state = set("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")))?;
    Some(state.join("giveover"))
}

fn escaped(path: &Path) -> String {
    /// A file name has at most 255 bytes; what is longer ends in a number made from all of it.
    const MOST: usize = 200;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut name = String::new();
    for (place, part) in parts.enumerate() {
        if place > 0 {
            name.push('-');
        }
        for (at, byte) in part.as_bytes().iter().enumerate() {
            escape(*byte, place == 0 && at == 0, &mut name);
        }
    }
    if name.is_empty() {
        name.push('-');
    }
    if name.len() > MOST {
        let number = fnv(name.as_bytes());
        name.truncate(MOST); // every character is ASCII
        let _ = write!(name, "-{number:016x}"); // a string takes anything
    }
    name
}

fn escape(byte: u8, first: bool, name: &mut String) {
    let plain = byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'.');
    if plain && !(first && byte == b'.') {
        name.push(char::from(byte));
    } else {
        let _ = write!(name, "\\x{byte:02x}"); // a string takes anything
    }
}

/// FNV-1a: the same number in every version and on every machine.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str) -> String {
        escaped(Path::new(path))
    }

    #[test]
    fn a_state_directory_is_named_as_systemd_would() {
        assert_eq!(named("/etc/giveover/giveover.toml"), "etc-giveover-giveover.toml");
        assert_eq!(named("/etc//giveover/./a-b.toml"), "etc-giveover-a\\x2db.toml");
        assert_eq!(named("/.hidden/ä"), "\\x2ehidden-\\xc3\\xa4");
        assert_eq!(named("/"), "-");
        let base = Path::new("/var/lib/giveover");
        assert_eq!(state_dir(Path::new("/a.toml"), base), base.join("a.toml"));
    }

    #[test]
    fn two_files_never_share_a_directory() {
        assert_ne!(named("/etc/a-b"), named("/etc/a/b"));
        let long = format!("/{}", "x".repeat(300));
        let other = format!("{long}y");
        assert_ne!(named(&long), named(&other));
        assert!(named(&long).len() < 255);
    }

    #[test]
    fn the_base_is_what_systemd_gave_else_the_users() {
        let with = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            }
        };
        let base = |system, pairs| base_dir(system, with(pairs));
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(base(true, &[("STATE_DIRECTORY", "/s/a:/s/b")]), at("/s/a"));
        assert_eq!(base(true, &[("HOME", "/root")]), at("/var/lib/giveover"));
        assert_eq!(base(false, &[("HOME", "/h")]), at("/h/.local/state/giveover"));
        assert_eq!(base(false, &[("XDG_STATE_HOME", "/x"), ("HOME", "/h")]), at("/x/giveover"));
        assert_eq!(base(false, &[("XDG_STATE_HOME", "x"), ("HOME", "")]), None);
    }

    #[test]
    fn the_files_lie_beside_each_other() {
        let place = Place::of_file(Path::new("/s/log")).expect("a file");
        assert_eq!(place.next(), Path::new("/s/log.new"));
        assert_eq!(place.earlier(1), Path::new("/s/log.1"));
        assert_eq!(Place::of_file(Path::new("log")).map(|p| p.current()), Some("./log".into()));
        assert_eq!(Place::of_file(Path::new("/")), None);
    }
}
