//! Control groups (version 2): the one way to know a tree for certain, where we may use it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::Child;

/// A place where we may make groups of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroups {
    root: PathBuf,
}

impl Cgroups {
    /// Our own group, if it has been handed to us: systemd marks it so (`Delegate=yes`), and
    /// in a container the root is ours. Elsewhere another manager would not expect our groups.
    #[must_use]
    pub fn delegated() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let root = place(&own, &mounts)?;
        let inside = own.lines().any(|line| line == "0::/") && root.join("cgroup.events").exists();
        (inside || is_marked(&root)).then_some(Self { root })
    }

    /// The directory `root` of a cgroup file system, whoever owns it.
    #[must_use]
    pub const fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The group `name`, made if it is not there.
    ///
    /// # Errors
    /// The kernel's own: most likely it is not ours to write.
    pub fn group(&self, name: &str) -> io::Result<Cgroup> {
        // A group's own files are called cgroup.something: a prefix keeps names apart.
        let directory = self.root.join(format!("service-{name}"));
        match fs::create_dir(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(Cgroup { directory }),
        }
    }
}

/// Where our own group stands in the file system.
fn place(own: &str, mounts: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, mounted) = (fields.next()?, fields.next()?);
        let below = Path::new(path).strip_prefix(root).ok()?;
        kind.starts_with("cgroup2 ").then(|| Path::new(mounted).join(below))
    })
}

fn is_marked(directory: &Path) -> bool {
    ["user.delegate", "trusted.delegate"].into_iter().any(|name| {
        let mut value = [0_u8; 8];
        rustix::fs::getxattr(directory, name, &mut value[..]) == Ok(1) && value[0] == b'1'
    })
}

/// A control group of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup {
    directory: PathBuf,
}

impl Cgroup {
    /// The file a process writes `0` to, to join.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }

    /// All processes in it and the groups below it.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let mut found = Vec::new();
        below(&self.directory, &mut |directory| {
            let list = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
            found.extend(list.lines().filter_map(|pid| pid.parse::<u32>().ok()));
        });
        found
    }

    /// Kills all of them at once, also those that fork meanwhile.
    ///
    /// # Errors
    /// The kernel has no `cgroup.kill` (before 5.14), or it is not ours to write.
    pub fn kill(&self) -> io::Result<()> {
        fs::write(self.directory.join("cgroup.kill"), "1")
    }

    /// Sends `signal` to all of them, those that come to be meanwhile not included.
    pub fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            let Ok(child) = Child::hold(pid, false) else { continue };
            // Still in the group after it is held: then it was this one that was meant.
            if self.processes().contains(&pid) {
                let _ = child.signal(signal);
            }
        }
    }

    /// Takes it away, with the groups below it. Does nothing while a process is in it.
    pub fn remove(&self) {
        let mut directories = Vec::new();
        below(&self.directory, &mut |directory| directories.push(directory.to_path_buf()));
        for directory in directories.iter().rev() {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Calls `each` for a group and those below it, the upper ones first.
fn below(directory: &Path, each: &mut impl FnMut(&Path)) {
    each(directory);
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below(&entry.path(), each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_place_is_found_in_every_layout() {
        let unified = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
        let hybrid = "36 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      40 24 0:34 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        let contained = "29 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw";
        let old = "36 24 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
        let own = "9:name=systemd:/\n0::/system.slice/giveover.service\n";
        let unit = "system.slice/giveover.service";
        assert_eq!(place(own, unified), Some(Path::new("/sys/fs/cgroup").join(unit)));
        assert_eq!(place(own, hybrid), Some(Path::new("/sys/fs/cgroup/unified").join(unit)));
        let inside = place("0::/docker/x/a\n", contained);
        assert_eq!(inside, Some(PathBuf::from("/sys/fs/cgroup/a")));
        assert_eq!(place(own, old), None);
        assert_eq!(place("9:cpu:/\n", unified), None);
    }
}
