//! A pseudo terminal in the place of a serial port.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The far end of a port.
pub(crate) struct Pty {
    far: OwnedFd,
    /// The port.
    pub(crate) path: PathBuf,
}

impl Pty {
    pub(crate) fn new() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let far = openpt(flags).expect("a pseudo terminal");
        grantpt(&far).expect("granted");
        unlockpt(&far).expect("unlocked");
        let name = ptsname(&far, Vec::new()).expect("its name");
        Self { far, path: PathBuf::from(name.to_str().expect("ASCII")) }
    }

    /// Puts bytes on the line.
    pub(crate) fn write(&self, bytes: &[u8]) {
        assert_eq!(rustix::io::write(&self.far, bytes), Ok(bytes.len()));
    }

    /// The next bytes from the port; waits for them.
    pub(crate) fn read_some(&self) -> Vec<u8> {
        let mut far = File::from(self.far.try_clone().expect("a copy"));
        let mut buffer = [0; 256];
        let count = far.read(&mut buffer).expect("bytes");
        buffer[..count].to_vec()
    }

    /// So many bytes, which a terminal may hand over in pieces.
    pub(crate) fn read_exactly(&self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            bytes.extend(self.read_some());
        }
        bytes
    }
}
