//! Server-sent events, as they come.

use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use super::ControlError;
use crate::cli::json;
use crate::report::model::EventDoc;

/// No event is larger.
const EVENT_MAX: usize = 256 * 1024;

/// An answer that goes on: a block of lines for each event.
#[derive(Debug)]
pub struct EventStream {
    stream: UnixStream,
    bytes: Vec<u8>,
}

impl EventStream {
    pub(super) fn new(stream: UnixStream, bytes: Vec<u8>) -> Self {
        Self { stream, bytes }
    }

    /// Waits for something to come and returns the events that are complete, which may be none.
    ///
    /// # Errors
    /// `Cut` at the end of the stream, which the daemon never means; `Garbage` for what is no
    /// event.
    pub fn receive(&mut self) -> Result<Vec<EventDoc>, ControlError> {
        let ready = self.take_complete()?;
        if !ready.is_empty() {
            return Ok(ready);
        }
        self.stream.set_read_timeout(None).map_err(ControlError::Io)?;
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => return Err(ControlError::Cut),
            Ok(count) => self.bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Err(ControlError::Cut);
            }
            Err(error) => return Err(ControlError::Io(error)),
        }
        self.take_complete()
    }

    /// Whether events are complete without waiting.
    #[must_use]
    pub fn has_complete(&self) -> bool {
        end_of_block(&self.bytes).is_some()
    }

    fn take_complete(&mut self) -> Result<Vec<EventDoc>, ControlError> {
        let mut events = Vec::new();
        while let Some((end, next)) = end_of_block(&self.bytes) {
            let block = self.bytes.get(..end).unwrap_or_default();
            events.extend(event(block)?);
            self.bytes.drain(..next);
        }
        if self.bytes.len() > EVENT_MAX {
            return Err(ControlError::TooLarge);
        }
        Ok(events)
    }
}

impl AsFd for EventStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Where the first block ends and the next begins: an empty line lies between.
fn end_of_block(bytes: &[u8]) -> Option<(usize, usize)> {
    let feed = bytes.windows(2).position(|pair| pair == b"\n\n").map(|at| (at, at + 2));
    let return_feed = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| (at, at + 4));
    match (feed, return_feed) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The event of a block; comments, which keep the connection alive, have none.
fn event(block: &[u8]) -> Result<Option<EventDoc>, ControlError> {
    let text = std::str::from_utf8(block).map_err(|_| ControlError::Garbage("it is not text"))?;
    let data: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| data.strip_prefix(' ').unwrap_or(data))
        .collect();
    if data.is_empty() {
        return Ok(None);
    }
    let event = json::harmless(data.join("\n").as_bytes());
    event.map(Some).map_err(|_| ControlError::Garbage("it is no event"))
}
