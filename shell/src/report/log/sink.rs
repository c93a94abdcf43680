//! The three places a line can go, none of which may hold us up.

use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::model::EventDoc;
use super::super::paint::Paint;
use super::{datagram, syslog_line, text_line};

const JOURNALD: &str = "/run/systemd/journal/socket";
const SYSLOG: &str = "/dev/log";

/// Where lines go.
#[derive(Debug)]
pub(super) enum Sink {
    /// journald's socket; `root` may name the unit an event is about.
    Journald { socket: UnixDatagram, root: bool },
    /// Standard error.
    Stderr { paint: Paint },
    /// `/dev/log`.
    Syslog { socket: UnixDatagram },
}

impl Sink {
    pub(super) fn choose(paint: Paint) -> Self {
        let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
        let stderr = rustix::fs::fstat(io::stderr()).ok();
        if stderr.as_ref().is_some_and(|stat| is_stream(&stream, stat.st_dev, stat.st_ino)) {
            if let Ok(socket) = unbound() {
                return Self::Journald { socket, root: rustix::process::geteuid().is_root() };
            }
        }
        let seen = stderr.is_some_and(|stat| !is_null(&stat));
        match unbound() {
            Ok(socket) if !seen && Path::new(SYSLOG).exists() => Self::Syslog { socket },
            _ => Self::Stderr { paint },
        }
    }

    /// Whether the line was taken.
    pub(super) fn write(&mut self, event: &EventDoc, unit: Option<&str>) -> bool {
        match self {
            Self::Journald { socket, root } => {
                let object = unit.filter(|_| *root);
                socket.send_to(&datagram(event, object), JOURNALD).is_ok()
            }
            Self::Stderr { paint } => {
                let line = text_line(event, *paint);
                has_room(&io::stderr()) && io::stderr().write_all(line.as_bytes()).is_ok()
            }
            Self::Syslog { socket } => {
                socket.send_to(&syslog_line(event, std::process::id()), SYSLOG).is_ok()
            }
        }
    }
}

/// A datagram socket that never waits; the address goes with each datagram, so that a receiver
/// that was restarted is found again.
fn unbound() -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Whether `JOURNAL_STREAM` (`device:inode`) is this file: it is inherited further than the
/// stream itself.
fn is_stream(variable: &str, device: u64, inode: u64) -> bool {
    let parts = variable.split_once(':');
    parts.is_some_and(|(a, b)| a.parse() == Ok(device) && b.parse() == Ok(inode))
}

fn is_null(stat: &rustix::fs::Stat) -> bool {
    rustix::fs::stat("/dev/null").is_ok_and(|null| null.st_rdev == stat.st_rdev)
}

/// Whether a line fits without waiting: a pipe nobody reads and a stopped terminal have none.
/// Setting the descriptor non-blocking instead would do so for everyone who shares it.
fn has_room(file: &impl std::os::fd::AsFd) -> bool {
    let mut fds = [PollFd::new(file, PollFlags::OUT)];
    let at_once = Timespec::try_from(Duration::ZERO).ok();
    let ready = poll(&mut fds, at_once.as_ref());
    matches!(ready, Ok(1)) && fds.iter().all(|fd| fd.revents() == PollFlags::OUT)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    #[test]
    fn a_stream_is_known_by_device_and_inode() {
        assert!(is_stream("9:4711", 9, 4711));
        for other in ["9:4712", "8:4711", "", ":", "9:", "9:x", "4711"] {
            assert!(!is_stream(other, 9, 4711), "{other}");
        }
    }

    #[test]
    fn a_full_pipe_has_no_room_and_a_closed_one_neither() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let (mut reader, mut writer) = (File::from(reader), File::from(writer));
        rustix::io::ioctl_fionbio(&writer, true).expect("non-blocking");
        assert!(has_room(&writer));
        while writer.write(&[b'x'; 4096]).is_ok() {}
        assert!(!has_room(&writer));
        let mut page = [0; 8192];
        reader.read_exact(&mut page).expect("read");
        assert!(has_room(&writer));
        drop(reader);
        assert!(!has_room(&writer));
    }
}
