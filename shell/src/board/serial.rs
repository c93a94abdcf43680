//! The serial port to the board: raw, ours alone, and without a word on the modem lines.
//!
//! Many boards tie DTR to their reset: so hang-up on close is switched off and neither DTR nor
//! RTS is ever set by us. The port is locked twice: `TIOCEXCL` keeps other users out, and `flock`
//! another daemon that runs as root, for whom the first means nothing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, SpecialCodeIndex, ioctl_tiocexcl, ioctl_tiocnxcl,
    tcflush, tcgetattr, tcsetattr,
};

/// Bits in a second on a wire; a USB port has its own speed and does not mind.
const SPEED: u32 = 115_200;

/// Why a port is not there for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SerialError {
    /// Nothing of that name, or a name without a device.
    Absent,
    /// There is something, but no terminal line.
    NotTty,
    /// Another process has it.
    InUse,
    /// We may not open it.
    NoRights,
    /// The kernel's own, by number.
    Os(i32),
}

impl SerialError {
    pub(super) fn of(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::NOTDIR => Self::Absent,
            Errno::NOTTY | Errno::INVAL | Errno::ISDIR => Self::NotTty,
            Errno::BUSY | Errno::WOULDBLOCK => Self::InUse,
            Errno::ACCESS | Errno::PERM => Self::NoRights,
            other => Self::Os(other.raw_os_error()),
        }
    }
}

impl fmt::Display for SerialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("is not there"),
            Self::NotTty => f.write_str("is no serial port"),
            Self::InUse => f.write_str("is in use by another process"),
            Self::NoRights => f.write_str("may not be opened by this user"),
            Self::Os(errno) => {
                write!(f, "cannot be opened: {}", io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

/// An open port. Reading and writing never wait.
#[derive(Debug)]
pub struct Serial {
    fd: OwnedFd,
}

/// What reading brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// So many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The port is gone, as when its plug is pulled.
    Gone,
}

impl Serial {
    /// Opens the port at `path`, which may be a link as under `/dev/serial/by-id`.
    ///
    /// # Errors
    /// [`SerialError`]; nothing is held.
    pub fn open(path: &Path) -> Result<Self, SerialError> {
        Self::open_at(path, SPEED)
    }

    /// The same at `speed` bits in a second.
    ///
    /// # Errors
    /// As above.
    pub fn open_at(path: &Path, speed: u32) -> Result<Self, SerialError> {
        // Non-blocking from the start: a line without carrier would make `open` itself wait.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(SerialError::of)?;
        let mut modes = tcgetattr(&fd).map_err(|_| SerialError::NotTty)?;
        rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)
            .map_err(SerialError::of)?;
        ioctl_tiocexcl(&fd).map_err(SerialError::of)?;
        modes.make_raw();
        modes.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
        modes.control_modes &= !(ControlModes::HUPCL | ControlModes::CRTSCTS);
        // One byte is worth a wake-up; with none wanted, silence would look like a hang-up.
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        modes.set_speed(speed).map_err(SerialError::of)?;
        tcsetattr(&fd, OptionalActions::Now, &modes).map_err(SerialError::of)?;
        // What came before us was said to someone else. A port that cannot forget is read.
        let _ = tcflush(&fd, QueueSelector::IFlush);
        Ok(Self { fd })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Reads what is there.
    pub fn read(&mut self, buffer: &mut [u8]) -> Heard {
        loop {
            match rustix::io::read(&self.fd, &mut *buffer) {
                Ok(0) => return Heard::Gone,
                Ok(count) => return Heard::Bytes(count),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return Heard::Nothing,
                Err(_) => return Heard::Gone,
            }
        }
    }

    /// Writes what fits; how much that was.
    ///
    /// # Errors
    /// The port is gone.
    pub fn write(&mut self, bytes: &[u8]) -> Result<usize, SerialError> {
        loop {
            match rustix::io::write(&self.fd, bytes) {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return Ok(0),
                Err(errno) => return Err(SerialError::of(errno)),
            }
        }
    }
}

impl Drop for Serial {
    fn drop(&mut self) {
        // A pseudo terminal outlives its last close and would stay locked for the next user.
        let _ = ioctl_tiocnxcl(&self.fd);
    }
}

impl Source for Serial {
    fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interests: Interest,
    ) -> io::Result<()> {
        SourceFd(&self.fd.as_raw_fd()).register(registry, token, interests)
    }

    fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interests: Interest,
    ) -> io::Result<()> {
        SourceFd(&self.fd.as_raw_fd()).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.fd.as_raw_fd()).deregister(registry)
    }
}

/// The name under `/dev/serial/by-id` of the port at `path`: one that stays with the board
/// whatever order ports are found in. `None` where it has none.
#[must_use]
pub fn by_id(path: &Path) -> Option<PathBuf> {
    by_id_under(Path::new("/dev/serial/by-id"), path)
}

fn by_id_under(dir: &Path, path: &Path) -> Option<PathBuf> {
    let device = fs::canonicalize(path).ok()?;
    let mut names: Vec<PathBuf> = fs::read_dir(dir)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|name| fs::canonicalize(name).is_ok_and(|found| found == device))
        .collect();
    names.sort();
    names.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::Pty;

    #[test]
    fn a_port_is_raw_keeps_its_modem_lines_and_belongs_to_one() {
        let pty = Pty::new();
        let mut port = Serial::open(&pty.path).expect("a port");
        let modes = tcgetattr(&port.fd).expect("modes");
        assert!(!modes.control_modes.contains(ControlModes::HUPCL));
        assert!(modes.control_modes.contains(ControlModes::CLOCAL));
        assert!(
            !modes.local_modes.intersects(
                rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO
            )
        );
        // Raw: what a terminal would make a signal, a line or two bytes of comes through.
        let bytes = [0, 3, 4, 10, 13, 17, 19, 0xFF];
        pty.write(&bytes);
        let mut buffer = [0; 64];
        let mut got = Vec::new();
        while got.len() < bytes.len() {
            match port.read(&mut buffer) {
                Heard::Bytes(count) => got.extend_from_slice(&buffer[..count]),
                Heard::Nothing => std::thread::yield_now(),
                Heard::Gone => panic!("gone"),
            }
        }
        assert_eq!(got, bytes);
        assert_eq!(port.read(&mut buffer), Heard::Nothing);
        assert_eq!(port.write(b"\n"), Ok(1));
        assert_eq!(pty.read_some(), b"\n");
        assert_eq!(Serial::open(&pty.path).err(), Some(SerialError::InUse));
        drop(port);
        assert!(Serial::open(&pty.path).is_ok());
    }

    #[test]
    fn a_port_that_is_none_says_which_way() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, "x").expect("a file");
        let open = |path: &Path| Serial::open(path).expect_err("no port");
        assert_eq!(open(&dir.path().join("nothing")), SerialError::Absent);
        assert_eq!(open(&file), SerialError::NotTty);
        assert_eq!(open(dir.path()), SerialError::NotTty);
        assert_eq!(open(Path::new("/dev/null")), SerialError::NotTty);
    }

    #[test]
    fn a_port_whose_plug_is_pulled_is_gone() {
        let pty = Pty::new();
        let mut port = Serial::open(&pty.path).expect("a port");
        drop(pty);
        assert_eq!(port.read(&mut [0; 8]), Heard::Gone);
        assert!(port.write(b"x").is_err());
    }

    #[test]
    fn a_name_that_stays_is_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let (device, ids) = (dir.path().join("ttyACM0"), dir.path().join("by-id"));
        fs::write(&device, "").expect("a file");
        fs::create_dir(&ids).expect("a directory");
        assert_eq!(by_id_under(&ids, &device), None);
        let name = ids.join("usb-board-1");
        std::os::unix::fs::symlink(&device, &name).expect("a link");
        assert_eq!(by_id_under(&ids, &device), Some(name));
        assert_eq!(by_id_under(&dir.path().join("none"), &device), None);
    }
}
