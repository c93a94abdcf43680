//! A mount whose server does not answer: whoever looks at anything under it hangs until it is killed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};

/// A file system in user space that nobody serves. It is mounted for this thread and what it starts.
#[derive(Debug)]
pub struct DeadMount {
    /// The kernel's requests pile up here.
    device: Option<File>,
    place: PathBuf,
}

impl DeadMount {
    /// Mounts it on the directory `place`. `None`, with a word on why, where that cannot be done: it
    /// takes root and a kernel with FUSE.
    ///
    /// # Panics
    /// `mount` refuses.
    #[must_use]
    pub fn on(place: &Path) -> Option<Self> {
        let device = match File::options().read(true).write(true).open("/dev/fuse") {
            Ok(device) => device,
            Err(error) => {
                println!("skipped: fuse: /dev/fuse: {error}");
                return None;
            }
        };
        unshare(CloneFlags::CLONE_NEWNS).expect("mounts of our own");
        let run = |command: &mut Command| {
            assert!(command.status().expect("mount").success(), "{command:?}");
        };
        run(Command::new("mount").args(["--make-rprivate", "/"]));
        let copy = device.try_clone().expect("a copy");
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0";
        let mut mount = Command::new("mount");
        mount.args(["-i", "-t", "fuse", "-o", options, "dead"]).arg(place);
        run(mount.stdin(Stdio::from(copy)));
        Some(Self { device: Some(device), place: place.to_owned() })
    }

    /// Its server is gone for good: from here on every look at it fails at once.
    pub fn end(&mut self) {
        self.device = None;
    }
}

impl Drop for DeadMount {
    fn drop(&mut self) {
        self.end();
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }
}
