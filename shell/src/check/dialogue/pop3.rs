//! POP3: the server greets with `+OK`.

use super::line::Line;
use super::talk::{Heard, NONSENSE, judged};
use crate::config::talk::codes;

/// A greeting as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pop3(Line);

impl Pop3 {
    pub(super) fn byte(&mut self, byte: u8) -> Heard {
        if byte == b'\n' {
            return match self.0.word(0) {
                b"+OK" => judged(true, 0, b"QUIT\r\n"),
                word => match codes::code_of(&codes::POP3, word) {
                    0 => NONSENSE,
                    code => judged(false, code, b"QUIT\r\n"),
                },
            };
        }
        self.0.push(byte);
        match self.0.length() {
            1 if byte != b'+' && byte != b'-' => NONSENSE,
            _ => Heard::More,
        }
    }
}
