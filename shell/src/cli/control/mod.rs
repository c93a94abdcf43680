//! The client's end of the control socket: HTTP/1.1 over a UNIX stream, one request a connection.
//!
//! Everything is bounded: the time for the whole answer, its head, its body. Whatever the other
//! side sends becomes an error with words, never a panic and never an endless wait.

mod response;
mod stream;

use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use response::Head;
pub use stream::EventStream;

use super::exit::{Exit, Stop};

/// For questions that are answered from memory.
pub const QUICK: Duration = Duration::from_secs(10);
/// For commands that are answered once carried out: a stop and a start may take their time-outs.
pub const LONG: Duration = Duration::from_secs(15 * 60);

/// A daemon's control socket.
#[derive(Clone, Debug)]
pub struct Control {
    path: PathBuf,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum ControlError {
    /// There is no such socket.
    NoSocket,
    /// Nobody listens on it.
    NotListening,
    /// We may not open it.
    NoRights,
    /// No whole answer in this time.
    Slow(Duration),
    /// The answer ended early.
    Cut,
    /// No answer that we understand.
    Garbage(&'static str),
    /// An answer larger than any we ask for.
    TooLarge,
    /// The kernel's own.
    Io(io::Error),
    /// An answer that says no: the status and its words.
    Status(u16, String),
}

impl Control {
    /// The socket at `path`.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The body of `GET target`.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn get(&self, target: &str, limit: Duration) -> Result<Vec<u8>, ControlError> {
        self.exchange("GET", target, b"", limit)
    }

    /// The body of `POST target` with a JSON body. Once sent, the command may be carried out even
    /// if no answer comes.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn post(
        &self,
        target: &str,
        json: &[u8],
        limit: Duration,
    ) -> Result<Vec<u8>, ControlError> {
        self.exchange("POST", target, json, limit)
    }

    /// The events that `GET target` streams.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub fn follow(&self, target: &str) -> Result<EventStream, ControlError> {
        let deadline = Deadline::after(QUICK);
        let mut stream = self.send("GET", target, b"", deadline)?;
        let (head, rest) = Head::read(&mut stream, deadline)?;
        if head.status == 200 {
            return Ok(EventStream::new(stream, rest));
        }
        let body = head.body(&mut stream, rest, deadline)?;
        Err(refusal(head.status, &body))
    }

    fn exchange(
        &self,
        method: &str,
        target: &str,
        body: &[u8],
        limit: Duration,
    ) -> Result<Vec<u8>, ControlError> {
        let deadline = Deadline::after(limit);
        let mut stream = self.send(method, target, body, deadline)?;
        let (head, rest) = Head::read(&mut stream, deadline)?;
        let body = head.body(&mut stream, rest, deadline)?;
        if (200..300).contains(&head.status) { Ok(body) } else { Err(refusal(head.status, &body)) }
    }

    fn send(
        &self,
        method: &str,
        target: &str,
        body: &[u8],
        deadline: Deadline,
    ) -> Result<UnixStream, ControlError> {
        let mut stream = connect(&self.path, deadline)?;
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\nHost: giveover\r\nConnection: close\r\n\
             Accept: application/json\r\n"
        );
        if !body.is_empty() {
            let length = body.len();
            request += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        }
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        stream.set_write_timeout(Some(deadline.left()?)).map_err(ControlError::Io)?;
        match stream.write_all(&bytes) {
            Ok(()) => Ok(stream),
            // It may have answered already, and why is in the answer.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(stream),
            Err(error) => Err(deadline.error(error)),
        }
    }

    /// What to tell the person about `error`, and the exit status.
    #[must_use]
    pub fn stop(&self, error: &ControlError) -> Stop {
        let at = self.path.display();
        let text = match error {
            ControlError::Status(404, said) => return Stop::no_such(said.clone()),
            ControlError::Status(400, said) => return Stop::usage(said.clone()),
            ControlError::Status(403, said) => format!("no rights: {said}"),
            ControlError::Status(status, said) => format!("the daemon answers {status}: {said}"),
            ControlError::NoSocket => {
                format!("no daemon at {at}: is `giveover run` running? --socket names another")
            }
            ControlError::NotListening => {
                format!("no daemon at {at}: nobody listens, it has ended or is starting")
            }
            ControlError::NoRights => format!(
                "no rights to {at}: members of its group may ask, root and the daemon's own user \
                 may command"
            ),
            other => format!("the daemon at {at}: {other}"),
        };
        Stop::Said(Exit::UNREACHABLE, text)
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSocket => write!(f, "no such socket"),
            Self::NotListening => write!(f, "nobody listens"),
            Self::NoRights => write!(f, "permission denied"),
            Self::Slow(limit) => write!(f, "no whole answer in {} s", limit.as_secs()),
            Self::Cut => write!(f, "the answer was cut short"),
            Self::Garbage(what) => write!(f, "no answer that this version understands: {what}"),
            Self::TooLarge => write!(f, "the answer is too large"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Status(status, said) => write!(f, "{status}: {said}"),
        }
    }
}

/// When the whole answer must be there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    pub(super) fn after(limit: Duration) -> Self {
        Self { at: Instant::now() + limit, limit }
    }

    /// What is left of it, never zero: that would mean "for ever" to a socket.
    pub(super) fn left(self) -> Result<Duration, ControlError> {
        let left = self.at.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ControlError::Slow(self.limit)) } else { Ok(left) }
    }

    /// A socket's time-out reads as "try again".
    pub(super) fn error(self, error: io::Error) -> ControlError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ControlError::Slow(self.limit),
            io::ErrorKind::ConnectionReset => ControlError::Cut,
            _ => ControlError::Io(error),
        }
    }
}

/// Connects within the deadline: a daemon that is stopped accepts until its queue is full, and
/// the standard library's connect would then wait for ever.
fn connect(path: &Path, deadline: Deadline) -> Result<UnixStream, ControlError> {
    let raw = |error: rustix::io::Errno| match io::Error::from(error) {
        error if error.kind() == io::ErrorKind::NotFound => ControlError::NoSocket,
        error if error.kind() == io::ErrorKind::ConnectionRefused => ControlError::NotListening,
        error if error.kind() == io::ErrorKind::PermissionDenied => ControlError::NoRights,
        error => deadline.error(error),
    };
    let address = SocketAddrUnix::new(path).map_err(raw)?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    );
    let socket = socket.map_err(raw)?;
    set_socket_timeout(&socket, Timeout::Send, Some(deadline.left()?)).map_err(raw)?;
    rustix::net::connect(&socket, &address).map_err(raw)?;
    Ok(UnixStream::from(socket))
}

/// An answer that says no, in its own words where it has any.
fn refusal(status: u16, body: &[u8]) -> ControlError {
    let words = match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => value["error"].as_str().map(String::from),
        Err(_) => Some(String::from_utf8_lossy(body).into_owned()),
    };
    let words = words.unwrap_or_default();
    let kept = words.chars().filter(|c| !c.is_control() || *c == '\n').take(2000);
    let words: String = kept.collect();
    match words.trim() {
        "" => ControlError::Status(status, String::from("no reason given")),
        words => ControlError::Status(status, String::from(words)),
    }
}

#[cfg(test)]
mod tests;
