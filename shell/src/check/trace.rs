//! The steps of one probe, in words, for people who ask what happened.

use std::fmt::Write as _;
use std::net::IpAddr;

use giveover_core::failure::Phase;
use giveover_core::time::Instant;

use super::tls::Note;
use crate::config::plan::Kind;

/// At most this much of a line is shown.
const LINE: usize = 80;

/// At most so many bytes that are no text.
const BYTES: usize = 16;

/// At most so many steps are kept: some servers talk for ever.
const STEPS: usize = 64;

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
    is_text: bool,
    /// What hearing belongs to.
    phase: Phase,
}

impl Trace {
    pub(super) fn new(now: Instant) -> Self {
        let (steps, heard) = (Vec::new(), Vec::new());
        Self { steps, last: now, heard, length: 0, is_text: true, phase: Phase::Read }
    }

    /// A step is done.
    pub(super) fn step(&mut self, phase: Phase, text: String, now: Instant) {
        if self.steps.len() < STEPS {
            self.steps.push(TraceStep { phase, text, took_ms: now.since(self.last) });
        }
        self.last = now;
    }

    /// We have said something; what was heard before it is a step of its own.
    pub(super) fn said(&mut self, text: String, now: Instant) {
        self.heard_out(now);
        self.step(Phase::Send, format!("> {text}"), now);
    }

    /// Bytes of an answer have come.
    pub(super) fn heard(&mut self, kind: &Kind, bytes: &[u8]) {
        self.is_text = is_text(kind);
        if matches!(kind, Kind::Hello(_)) {
            self.phase = Phase::Tls;
        }
        self.length += bytes.len();
        let room = LINE.saturating_sub(self.heard.len());
        self.heard.extend(bytes.iter().take(room));
    }

    /// What was said and heard inside TLS.
    pub(super) fn inside(&mut self, kind: &Kind, notes: Vec<Note>, now: Instant) {
        for note in notes {
            match note {
                Note::Said(bytes) => self.said(said(kind, &bytes), now),
                Note::Heard(bytes) => self.heard(kind, &bytes),
                Note::Shaken(text) => {
                    self.heard_out(now);
                    self.step(Phase::Tls, text, now);
                }
            }
        }
    }

    /// The steps, with what was heard of an answer as the last.
    pub(super) fn finish(mut self, now: Instant) -> Vec<TraceStep> {
        self.heard_out(now);
        self.steps
    }

    fn heard_out(&mut self, now: Instant) {
        if self.length == 0 {
            return;
        }
        let shown = if self.is_text { first_line(&self.heard) } else { hex(&self.heard) };
        let text = format!("< {shown} ({} B)", self.length);
        self.step(self.phase, text, now);
        self.heard.clear();
        self.length = 0;
    }
}

/// What was said in a check of this kind, as people can read it.
pub(super) fn said(kind: &Kind, bytes: &[u8]) -> String {
    match kind.spoken() {
        Kind::Talk(talk) if talk.login().is_some() => {
            format!("({} B, not shown because of the password)", bytes.len())
        }
        Kind::Talk(talk) if talk.is_text() => lines(bytes),
        Kind::Talk(_) | Kind::Hello(_) => hex(bytes),
        _ => first_line(bytes),
    }
}

fn is_text(kind: &Kind) -> bool {
    match kind.spoken() {
        Kind::Talk(talk) => talk.is_text(),
        Kind::Hello(_) => false,
        _ => true,
    }
}

/// Bytes as numbers, the first of them.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (place, byte) in bytes.iter().take(BYTES).enumerate() {
        let _ = write!(text, "{}{byte:02x}", if place == 0 { "" } else { " " });
    }
    if bytes.len() > BYTES {
        text.push_str(" …");
    }
    text
}

/// What stands before the first line end, with nothing in it that could move a cursor.
pub(super) fn first_line(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let line = String::from_utf8_lossy(&line[..line.len().min(LINE)]);
    line.chars().map(|sign| if sign.is_control() { '.' } else { sign }).collect()
}

/// Short lines, behind each other.
fn lines(bytes: &[u8]) -> String {
    let lines = bytes.split(|byte| *byte == b'\n').map(first_line);
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" ")
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
    use crate::config::talk::{Login, Talk};

    #[test]
    fn steps_take_what_passed_since_the_one_before() {
        let at = Instant::from_millis;
        let mut trace = Trace::new(at(100));
        trace.step(Phase::Connect, "192.0.2.1:80".into(), at(111));
        let kind = Kind::Tcp { send: None, expect: None };
        trace.heard(&kind, b"HTTP/1.1 503 No\r\n");
        trace.heard(&kind, b"\r\n");
        let steps = trace.finish(at(120));
        assert_eq!(steps.iter().map(|step| step.took_ms).collect::<Vec<_>>(), [11, 9]);
        assert_eq!(steps[1].text, "< HTTP/1.1 503 No (19 B)");
    }

    #[test]
    fn what_is_no_text_is_shown_as_numbers_and_lines_behind_each_other() {
        let telnet = Kind::Talk(Box::new(Talk::Telnet));
        assert_eq!(said(&telnet, &[0, 255, 16]), "00 ff 10");
        assert_eq!(said(&telnet, &[7; 20]), "07 ".repeat(BYTES) + "…");
        let redis = Kind::Talk(Box::new(Talk::Redis { expect: vec![1], login: None }));
        assert_eq!(said(&redis, b"*1\r\n$4\r\nPING\r\n"), "*1 $4 PING");
        let login = Some(Box::new(Login { user: "".into(), password_file: "/p".into() }));
        let redis = Kind::Talk(Box::new(Talk::Redis { expect: vec![1], login }));
        let hidden = said(&redis, b"*2\r\n$4\r\nAUTH\r\n$4\r\nhush\r\n");
        assert_eq!(hidden, "(24 B, not shown because of the password)");
    }

    #[test]
    fn a_conversation_has_a_step_for_each_turn_and_an_end() {
        let at = Instant::from_millis;
        let mut trace = Trace::new(at(0));
        let pop3 = Kind::Talk(Box::new(Talk::Pop3));
        trace.heard(&pop3, b"+OK\r\n");
        trace.said("QUIT".into(), at(5));
        trace.heard(&pop3, b"+OK bye\r\n");
        let texts: Vec<String> = trace.finish(at(6)).into_iter().map(|step| step.text).collect();
        assert_eq!(texts, ["< +OK (5 B)", "> QUIT", "< +OK bye (9 B)"]);
        let mut endless = Trace::new(at(0));
        (0..1000).for_each(|_| endless.said("again".into(), at(1)));
        assert_eq!(endless.finish(at(2)).len(), STEPS);
    }

    #[test]
    fn nothing_that_was_heard_moves_a_cursor() {
        assert_eq!(first_line(b"\x1b[2Jhi\xff\x07\nmore"), ".[2Jhi\u{fffd}.");
        assert_eq!(first_line(&[b'x'; 500]).len(), LINE);
    }
}
