//! A dialogue with a board on a port that no daemon has, from its beginning to its end.

use std::path::Path;
use std::time::{Duration, Instant as Moment};

use giveover_core::time::Instant;
use rustix::event::{PollFd, PollFlags, poll};

use super::key;
use super::serial::{Heard, Serial};

/// A dialogue, sans-IO, that comes to an end.
pub trait Talk {
    /// What it comes to.
    type End;

    /// What is to be written; what was written is taken out.
    fn output(&mut self) -> &mut Vec<u8>;

    /// When [`Talk::due`] is wanted.
    fn poll_timeout(&self) -> Instant;

    /// Takes bytes from the port.
    fn hear(&mut self, bytes: &[u8], now: Instant) -> Option<Self::End>;

    /// Does what is due; `nonce` was never used before.
    fn due(&mut self, nonce: u64, now: Instant) -> Option<Self::End>;
}

/// Has the dialogue that `begin` makes of a nonce, and waits for its end.
///
/// # Errors
/// The port cannot be opened, or goes; in words.
pub fn talk<T: Talk>(path: &Path, begin: impl FnOnce(u64, Instant) -> T) -> Result<T::End, String> {
    let mut port = Serial::open(path).map_err(|error| format!("{} {error}", path.display()))?;
    let begun = Moment::now();
    let now = || Instant::from_millis(begun.elapsed().as_millis() as u64);
    let nonce = || key::nonce().map_err(|error| format!("no random numbers: {error}"));
    let gone = || format!("{} has gone", path.display());
    let mut dialogue = begin(nonce()?, now());
    let mut buffer = [0; 256];
    loop {
        let written = port.write(dialogue.output()).map_err(|_| gone())?;
        dialogue.output().drain(..written);
        let left = Duration::from_millis(dialogue.poll_timeout().since(now()).max(1));
        wait(&port, left.min(Duration::from_millis(100)));
        let heard = match port.read(&mut buffer) {
            Heard::Bytes(count) => dialogue.hear(buffer.get(..count).unwrap_or_default(), now()),
            Heard::Nothing => None,
            Heard::Gone => return Err(gone()),
        };
        let ended = match heard {
            Some(end) => Some(end),
            None => dialogue.due(nonce()?, now()),
        };
        if let Some(end) = ended {
            let _ = port.write(dialogue.output()); // a last word, if there is one
            return Ok(end);
        }
    }
}

/// Waits until there is something to read, or `limit` is over.
fn wait(port: &Serial, limit: Duration) {
    let limit = rustix::time::Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: i64::from(limit.subsec_nanos()),
    };
    let mut ports = [PollFd::from_borrowed_fd(port.fd(), PollFlags::IN)];
    let _ = poll(&mut ports, Some(&limit)); // an early return only reads nothing
}
