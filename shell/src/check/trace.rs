//! The steps of one probe, in words, for people who ask what happened.

use std::fmt::Write as _;
use std::net::IpAddr;

use giveover_core::failure::Phase;
use giveover_core::time::Instant;

/// At most this much of a line is shown.
const LINE: usize = 80;

/// One step that was completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Which one.
    pub phase: Phase,
    /// What is worth showing: addresses, a request line, a status line.
    pub text: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// The steps of one probe as it goes.
#[derive(Debug)]
pub(super) struct Trace {
    steps: Vec<TraceStep>,
    last: Instant,
    heard: Vec<u8>,
    length: usize,
}

impl Trace {
    pub(super) const fn new(now: Instant) -> Self {
        Self { steps: Vec::new(), last: now, heard: Vec::new(), length: 0 }
    }

    /// A step is done.
    pub(super) fn step(&mut self, phase: Phase, text: String, now: Instant) {
        self.steps.push(TraceStep { phase, text, took_ms: now.since(self.last) });
        self.last = now;
    }

    /// Bytes of an answer have come.
    pub(super) fn heard(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        let room = LINE.saturating_sub(self.heard.len());
        self.heard.extend(bytes.iter().take(room));
    }

    /// The steps, with what was heard of an answer as the last.
    pub(super) fn finish(mut self, now: Instant) -> Vec<TraceStep> {
        if self.length > 0 {
            let text = format!("< {} ({} B)", first_line(&self.heard), self.length);
            self.step(Phase::Read, text, now);
        }
        self.steps
    }
}

/// What stands before the first line end, with nothing in it that could move a cursor.
pub(super) fn first_line(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let line = String::from_utf8_lossy(&line[..line.len().min(LINE)]);
    line.chars().map(|sign| if sign.is_control() { '.' } else { sign }).collect()
}

/// Addresses, as people write several.
pub(super) fn list(addresses: &[IpAddr]) -> String {
    let mut text = String::new();
    for (place, address) in addresses.iter().enumerate() {
        let _ = write!(text, "{}{address}", if place == 0 { "" } else { ", " });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_take_what_passed_since_the_one_before() {
        let at = Instant::from_millis;
        let mut trace = Trace::new(at(100));
        trace.step(Phase::Connect, "192.0.2.1:80".into(), at(111));
        trace.heard(b"HTTP/1.1 503 No\r\n");
        trace.heard(b"\r\n");
        let steps = trace.finish(at(120));
        assert_eq!(steps.iter().map(|step| step.took_ms).collect::<Vec<_>>(), [11, 9]);
        assert_eq!(steps[1].text, "< HTTP/1.1 503 No (19 B)");
    }

    #[test]
    fn nothing_that_was_heard_moves_a_cursor() {
        assert_eq!(first_line(b"\x1b[2Jhi\xff\x07\nmore"), ".[2Jhi\u{fffd}.");
        assert_eq!(first_line(&[b'x'; 500]).len(), LINE);
    }
}
