//! Where a service's output goes: never through us.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, shutdown,
    socket_with,
};

/// The output of one service.
///
/// A line that had to pass our loop could keep the service waiting while we are busy, and would
/// be lost with us. So the service holds the stream itself.
pub(super) enum Output {
    /// The journal's stream, where lines stand as `giveover/NAME`.
    Journal(OwnedFd),
    /// Our own error stream.
    Ours(io::Stderr),
}

impl Output {
    /// The journal's stream at `journal`, if it can be had without waiting.
    pub(super) fn of(name: &str, journal: Option<&Path>) -> Self {
        match journal.map(|journal| stream(name, journal)) {
            Some(Ok(stream)) => Self::Journal(stream),
            Some(Err(_)) | None => Self::Ours(io::stderr()),
        }
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Journal(stream) => stream.as_fd(),
            Self::Ours(stderr) => stderr.as_fd(),
        }
    }
}

fn stream(name: &str, journal: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&stream, &SocketAddrUnix::new(journal)?)?;
    let head = head(name);
    if rustix::io::write(&stream, head.as_bytes())? != head.len() {
        return Err(rustix::io::Errno::AGAIN);
    }
    shutdown(&stream, Shutdown::Read)?;
    // A program expects its output to wait, not to fail.
    fcntl_setfl(&stream, OFlags::empty())?;
    Ok(stream)
}

/// What the journal wants to know first: who, of which unit (it sees for itself), at which
/// level (info), whether a line's own `<N>` counts, and where else it is to go (nowhere).
fn head(name: &str) -> String {
    format!("giveover/{name}\n\n6\n1\n0\n0\n0\n")
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn the_journal_hears_who_speaks_and_then_the_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stdout");
        let journal = UnixListener::bind(&path).unwrap();
        let Output::Journal(stream) = Output::of("web", Some(&path)) else {
            panic!("no stream");
        };
        let (mut other, _) = journal.accept().unwrap();
        std::fs::File::from(stream).write_all(b"hello\n").unwrap();
        let mut text = String::new();
        other.read_to_string(&mut text).unwrap();
        assert_eq!(text, "giveover/web\n\n6\n1\n0\n0\n0\nhello\n");
    }

    #[test]
    fn without_a_journal_it_is_our_own() {
        let directory = tempfile::tempdir().unwrap();
        let nowhere = directory.path().join("nothing");
        assert!(matches!(Output::of("web", None), Output::Ours(_)));
        assert!(matches!(Output::of("web", Some(&nowhere)), Output::Ours(_)));
    }
}
