//! Redis and Valkey: PING, answered by `+PONG`, or by an error whose first word tells.

use super::line::Line;
use super::talk::{Heard, NONSENSE, judged};
use crate::config::talk::codes;

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
const QUIT: &[u8] = b"*1\r\n$4\r\nQUIT\r\n";

/// Writes what we say: who we are, if that is wanted, and PING in the same breath.
pub(super) fn words(proof: Option<(&str, &[u8])>, out: &mut Vec<u8>) {
    if let Some((user, password)) = proof {
        let words = [b"AUTH", user.as_bytes(), password];
        let words = words.into_iter().filter(|word| !word.is_empty());
        out.extend_from_slice(if user.is_empty() { b"*2\r\n" } else { b"*3\r\n" });
        for word in words {
            out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            out.extend_from_slice(word);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(PING);
}

/// An answer as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Redis {
    line: Line,
    /// The server knows who we are.
    known: bool,
}

impl Redis {
    pub(super) fn byte(&mut self, expect: &[u16], has_login: bool, byte: u8) -> Heard {
        if byte != b'\n' {
            self.line.push(byte);
            let begins = self.line.length() > 1 || matches!(byte, b'+' | b'-');
            return if begins { Heard::More } else { NONSENSE };
        }
        if has_login && !self.known && self.line.text() == b"+OK" {
            *self = Self { known: true, ..Self::default() };
            return Heard::More;
        }
        let code = codes::code_of(&codes::REDIS, self.line.word(1));
        let is_pong = code == 1;
        if code == 0 || is_pong != self.line.text().starts_with(b"+") {
            return NONSENSE;
        }
        match expect.contains(&code) {
            true if is_pong => judged(true, 0, QUIT),
            healthy => judged(healthy, code, QUIT),
        }
    }
}
