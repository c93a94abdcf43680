//! IMAP: the server greets with `* OK`.

use super::line::Line;
use super::talk::{Heard, NONSENSE, judged};
use crate::config::talk::codes;

const LOGOUT: &[u8] = b"a1 LOGOUT\r\n";

/// A greeting as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Imap(Line);

impl Imap {
    /// With `preauth` a server that has logged us in already is as good.
    pub(super) fn byte(&mut self, preauth: bool, byte: u8) -> Heard {
        if byte == b'\n' {
            return match codes::code_of(&codes::IMAP, self.0.word(2)) {
                0 => NONSENSE,
                1 => judged(true, 0, LOGOUT),
                code @ 2 => judged(preauth, code, LOGOUT),
                code => judged(false, code, LOGOUT),
            };
        }
        self.0.push(byte);
        match self.0.length() {
            1 if byte != b'*' => NONSENSE,
            2 if byte != b' ' => NONSENSE,
            _ => Heard::More,
        }
    }
}
