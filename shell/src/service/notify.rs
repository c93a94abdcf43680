//! What a foreign process monitor may say, on a socket of its own: that a service died, is
//! ready, failed by so much, or is well. Nothing else can be said there.

use std::fmt;
use std::fs;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use giveover_core::weight::Weight;
use mio::Interest;
use mio::unix::SourceFd;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};

use crate::reactor::{Reactor, Token};

/// What is reported of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It ended, with this status if that is known. A complete failure.
    Died(Option<u8>),
    /// It can be used.
    Ready,
    /// A failure of this weight.
    Failed(Weight),
    /// All is well.
    Ok,
}

/// A report that has come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The service's name, whether or not there is one of that name.
    pub service: Box<str>,
    /// What is said of it.
    pub report: Report,
    /// The user who says it.
    pub uid: u32,
    /// The process that says it.
    pub pid: u32,
}

/// No longer message makes sense.
const LONGEST: usize = 128;

/// What may be called a service.
const LONGEST_NAME: usize = 64;

impl Report {
    /// Reads a report from the words after the service's name, as they stand on a command line
    /// and in a message. `None` if they are not one.
    #[must_use]
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut words = words.into_iter();
        let verb = words.next()?;
        let value = words.next();
        if words.next().is_some() {
            return None;
        }
        match (verb, value) {
            ("died", None) => Some(Self::Died(None)),
            ("died", Some(status)) => number(status).map(|status| Self::Died(Some(status))),
            ("ready", None) => Some(Self::Ready),
            ("failed", Some(weight)) => Weight::new(number(weight)?).map(Self::Failed),
            ("ok", None) => Some(Self::Ok),
            _ => None,
        }
    }
}

/// Digits only: what else `parse` takes is no number to a person.
fn number(word: &str) -> Option<u8> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Died(None) => f.write_str("died"),
            Self::Died(Some(status)) => write!(f, "died {status}"),
            Self::Ready => f.write_str("ready"),
            Self::Failed(weight) => write!(f, "failed {}", weight.value()),
            Self::Ok => f.write_str("ok"),
        }
    }
}

/// Reads a message: `SERVICE died|ready|failed|ok …`, one space between words.
fn parse(message: &[u8]) -> Option<(&str, Report)> {
    let text = std::str::from_utf8(message).ok()?;
    let (service, words) = text.split_once(' ')?;
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@:".contains(&byte);
    let fits = !service.is_empty() && service.len() <= LONGEST_NAME && service.bytes().all(named);
    let report = Report::parse(words.split(' '))?;
    fits.then_some((service, report))
}

/// Reports `report` of `service` to the monitor that listens at `socket`.
///
/// # Errors
/// Nobody listens there, or the socket is not ours to write to. EAGAIN if the monitor is too
/// busy to take it; nothing was said.
pub fn send(socket: &Path, service: &str, report: Report) -> io::Result<()> {
    let message = format!("{service} {report}");
    if parse(message.as_bytes()).is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no name of a service"));
    }
    let from = UnixDatagram::unbound()?;
    from.set_nonblocking(true)?;
    from.send_to(message.as_bytes(), socket)?;
    Ok(())
}

/// The socket reports come in on. Who may write to it may report.
pub struct Notify {
    socket: UnixDatagram,
    path: PathBuf,
    dropped: u64,
}

impl Notify {
    /// Listens at `path`, with `mode` for its rights, and wakes the owner of `token`. What a
    /// monitor that was killed has left there is taken away; who else listens there is for the
    /// caller to know.
    ///
    /// # Errors
    /// The path cannot be used; nothing listens.
    pub fn new(reactor: &Reactor, token: Token, path: &Path, mode: u32) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            fs::remove_file(path)?;
        }
        let socket = UnixDatagram::bind(path)?;
        let notify = Self { socket, path: path.to_owned(), dropped: 0 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        notify.socket.set_nonblocking(true)?;
        setsockopt(&notify.socket, sockopt::PassCred, &true)?;
        let number = notify.socket.as_raw_fd();
        reactor.add(&mut SourceFd(&number), token, Interest::READABLE)?;
        Ok(notify)
    }

    /// The next report; what is none is counted and dropped. To be called until there is none.
    pub fn hear(&mut self) -> Option<Heard> {
        loop {
            match self.receive() {
                Ok(Some(heard)) => return Some(heard),
                Ok(None) => self.dropped += 1,
                Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// How many messages were dropped.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn receive(&self) -> nix::Result<Option<Heard>> {
        let mut message = [0; LONGEST];
        let mut parts = [IoSliceMut::new(&mut message)];
        let mut space = nix::cmsg_space!(nix::sys::socket::UnixCredentials);
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
        let number = self.socket.as_raw_fd();
        let got = recvmsg::<()>(number, &mut parts, Some(&mut space), flags)?;
        let (length, cut) = (got.bytes, got.flags.contains(MsgFlags::MSG_TRUNC));
        let who = got.cmsgs().ok().and_then(|mut said| {
            said.find_map(|said| match said {
                ControlMessageOwned::ScmCredentials(who) => Some(who),
                _ => None,
            })
        });
        let (Some(who), false) = (who, cut) else { return Ok(None) };
        let heard = message.get(..length).and_then(parse).map(|(service, report)| Heard {
            service: service.into(),
            report,
            uid: who.uid(),
            pid: who.pid().unsigned_abs(),
        });
        Ok(heard)
    }
}

impl Drop for Notify {
    fn drop(&mut self) {
        // A later one at this place has another inode, and may be there already; then the
        // caller has two monitors, and worse to care about.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reactor::Room;

    #[test]
    fn five_things_can_be_said_and_no_other() {
        for (message, expected) in [
            ("web died", Some(("web", Report::Died(None)))),
            ("web died 0", Some(("web", Report::Died(Some(0))))),
            ("web died 255", Some(("web", Report::Died(Some(255))))),
            ("a.b-c_d@e:1 ready", Some(("a.b-c_d@e:1", Report::Ready))),
            ("web failed 50", Some(("web", Report::Failed(Weight::HALF)))),
            ("web ok", Some(("web", Report::Ok))),
            ("", None),
            ("web", None),
            ("web ", None),
            (" ok", None),
            ("web  ok", None),
            ("web ok ", None),
            ("web ok\n", None),
            ("web ok ok", None),
            ("web OK", None),
            ("web died 256", None),
            ("web died -1", None),
            ("web died +1", None),
            ("web died x", None),
            ("web failed", None),
            ("web failed 0", None),
            ("web failed 101", None),
            ("web stop", None),
            ("w/b ok", None),
            ("w\u{e9}b ok", None),
        ] {
            assert_eq!(parse(message.as_bytes()), expected, "{message:?}");
        }
        assert_eq!(parse(b"web \xff"), None);
        assert_eq!(parse(format!("{} ok", "x".repeat(65)).as_bytes()), None);
    }

    #[test]
    fn what_is_written_is_read() {
        for report in [
            Report::Died(None),
            Report::Died(Some(7)),
            Report::Ready,
            Report::Failed(Weight::LEAST),
            Report::Ok,
        ] {
            assert_eq!(parse(format!("web {report}").as_bytes()), Some(("web", report)));
        }
    }

    // req 1.5
    // req 1.6
    // req 1.7
    #[test]
    fn a_report_says_who_and_anything_else_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify.sock");
        // Left behind by one that was killed.
        drop(UnixDatagram::bind(&path).unwrap());
        let mut reactor = Reactor::new().unwrap();
        let token = Token::new(Room::Notify, 0, 0);
        let mut notify = Notify::new(&reactor, token, &path, 0o660).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        assert_eq!(notify.hear(), None);
        let other = UnixDatagram::unbound().unwrap();
        for noise in [&b""[..], b"web", b"web stop", &[b'x'; 4000], b"web ok\0", b"\xff\xfe"] {
            other.send_to(noise, &path).unwrap();
        }
        send(&path, "web", Report::Died(Some(3))).unwrap();
        let mut ready = Vec::new();
        reactor.wait(Some(Duration::from_secs(5)), &mut ready).unwrap();
        assert_eq!(ready.first().map(|ready| ready.token), Some(token));
        let heard = notify.hear().unwrap();
        assert_eq!((&*heard.service, heard.report), ("web", Report::Died(Some(3))));
        assert_eq!(heard.pid, std::process::id());
        assert_eq!(heard.uid, nix::unistd::geteuid().as_raw());
        assert_eq!(notify.hear(), None);
        assert_eq!(notify.dropped(), 6);
        assert!(send(&path, "w b", Report::Ok).is_err());
        drop(notify);
        assert!(!path.exists());
        assert!(send(&path, "web", Report::Ok).is_err());
    }
}
