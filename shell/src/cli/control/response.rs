//! Reading one HTTP answer.

use std::io::Read as _;
use std::os::unix::net::UnixStream;

use super::{ControlError, Deadline};

/// No head of an answer is larger.
const HEAD_MAX: usize = 16 * 1024;
/// No body is larger: a journal's worth of events.
const BODY_MAX: usize = 64 * 1024 * 1024;
const FIELDS: usize = 32;

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    /// Its status.
    pub(super) status: u16,
    /// How long the body is; `None`: until the end of the connection.
    length: Option<usize>,
}

impl Head {
    /// Reads up to the end of the head; returns what of the body came with it.
    pub(super) fn read(
        stream: &mut UnixStream,
        deadline: Deadline,
    ) -> Result<(Self, Vec<u8>), ControlError> {
        let mut bytes = Vec::new();
        loop {
            if let Some((head, length)) = Self::parse(&bytes)? {
                return Ok((head, bytes.split_off(length)));
            }
            if bytes.len() > HEAD_MAX {
                return Err(ControlError::Garbage("its head has no end"));
            }
            if more(stream, &mut bytes, deadline)? == 0 {
                return Err(ControlError::Cut);
            }
        }
    }

    /// The head and its length, once it is complete.
    fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, ControlError> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let length = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(ControlError::Garbage("it is not HTTP")),
        };
        let field = |name: &str| {
            response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))
        };
        if field("transfer-encoding").is_some() {
            return Err(ControlError::Garbage("its body is encoded"));
        }
        let body = match field("content-length") {
            None => None,
            Some(field) => {
                let text = std::str::from_utf8(field.value).unwrap_or_default();
                let length: Option<usize> = text.trim().parse().ok();
                Some(length.ok_or(ControlError::Garbage("its length is no number"))?)
            }
        };
        let head = Self { status: response.code.unwrap_or(0), length: body };
        Ok(Some((head, length)))
    }

    /// Reads the body, of which `body` has come already.
    pub(super) fn body(
        &self,
        stream: &mut UnixStream,
        mut body: Vec<u8>,
        deadline: Deadline,
    ) -> Result<Vec<u8>, ControlError> {
        if self.length.is_some_and(|length| length > BODY_MAX) {
            return Err(ControlError::TooLarge);
        }
        while self.length.is_none_or(|length| body.len() < length) {
            if body.len() > BODY_MAX {
                return Err(ControlError::TooLarge);
            }
            if more(stream, &mut body, deadline)? == 0 {
                break;
            }
        }
        match self.length {
            Some(length) if body.len() < length => Err(ControlError::Cut),
            Some(length) => {
                body.truncate(length);
                Ok(body)
            }
            None => Ok(body),
        }
    }
}

/// Reads what there is, waiting no longer than the deadline; 0 is the end.
fn more(
    stream: &mut UnixStream,
    bytes: &mut Vec<u8>,
    deadline: Deadline,
) -> Result<usize, ControlError> {
    let mut buffer = [0; 16 * 1024];
    loop {
        stream.set_read_timeout(Some(deadline.left()?)).map_err(ControlError::Io)?;
        match stream.read(&mut buffer) {
            Ok(count) => {
                bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
                return Ok(count);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(deadline.error(error)),
        }
    }
}
