//! Redis and Valkey: PING, answered by `+PONG`, or by an error whose first word tells.

use super::line::Line;
use super::talk::{Heard, NONSENSE, judged};
use crate::config::talk::codes;

pub(super) const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
const QUIT: &[u8] = b"*1\r\n$4\r\nQUIT\r\n";

/// An answer as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Redis(Line);

impl Redis {
    pub(super) fn byte(&mut self, expect: &[u16], byte: u8) -> Heard {
        if byte != b'\n' {
            self.0.push(byte);
            let begins = self.0.length() > 1 || matches!(byte, b'+' | b'-');
            return if begins { Heard::More } else { NONSENSE };
        }
        let code = codes::code_of(&codes::REDIS, self.0.word(1));
        let is_pong = code == 1;
        if code == 0 || is_pong != self.0.text().starts_with(b"+") {
            return NONSENSE;
        }
        match expect.contains(&code) {
            true if is_pong => judged(true, 0, QUIT),
            healthy => judged(healthy, code, QUIT),
        }
    }
}
