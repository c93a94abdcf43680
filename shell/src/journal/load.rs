//! The bytes of one file, all of them or none.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The bytes of one file.
pub(super) enum Bytes {
    /// There is none.
    Absent,
    /// All of it.
    Read(Vec<u8>),
    /// It is there and cannot be read.
    Unreadable(i32),
}

impl Bytes {
    /// A journal is bounded, so a file this long is none of ours.
    const MOST: u64 = 1 << 30;

    pub(super) fn read(path: &Path) -> Self {
        match read_file(path) {
            Ok(bytes) => Self::Read(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent,
            Err(error) => Self::Unreadable(error.raw_os_error().unwrap_or(0)),
        }
    }
}

impl Bytes {
    /// The bytes, if there are any.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Read(bytes) => Some(bytes),
            Self::Absent | Self::Unreadable(_) => None,
        }
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    // opening a pipe that somebody put there would wait for ever
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file: File = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > Bytes::MOST {
        return Err(io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
    file.take(Bytes::MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}
