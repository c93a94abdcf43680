//! DNS: one question, of whose answer the head and the repeated question are looked at.
//!
//! Nothing behind the question tells whether the server works, so no record is ever parsed, and
//! a crate for messages would bring far more than it would do.

use super::talk::{Heard, NONSENSE, expects, judged};
use crate::config::talk::DnsPlan;

/// The head of a message.
const HEAD: u16 = 12;

/// Writes the query numbered `id`; recursion is desired.
pub(crate) fn query(plan: &DnsPlan, id: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&[0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(&plan.question);
}

/// What a whole datagram says: its response code if it answers the query numbered `id`.
pub(crate) fn answered(plan: &DnsPlan, id: u16, datagram: &[u8]) -> Option<u16> {
    let mut answer = Answer::default();
    for byte in datagram {
        match answer.byte(plan, id, *byte) {
            Read::More => {}
            Read::Code(code) => return Some(code),
            Read::Other => return None,
        }
    }
    None
}

/// An answer as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answer {
    at: u16,
    code: u16,
    questions: u16,
}

/// What a byte of it tells.
enum Read {
    More,
    /// It answers our question, with this code.
    Code(u16),
    /// It answers something else, or nothing.
    Other,
}

impl Answer {
    fn byte(&mut self, plan: &DnsPlan, id: u16, byte: u8) -> Read {
        let at = self.at;
        self.at = at.saturating_add(1);
        let [high, low] = id.to_be_bytes();
        let fits = match at {
            0 => byte == high,
            1 => byte == low,
            // A response, to a standard query. That it was cut short (TC) is nothing to us.
            2 => byte & 0xF8 == 0x80,
            3 => {
                self.code = u16::from(byte & 0x0F);
                true
            }
            4 | 5 => {
                self.questions = self.questions << 8 | u16::from(byte);
                // Some repeat no question when they refuse.
                at == 4 || self.questions == 1 || self.questions == 0 && self.code != 0
            }
            6..HEAD => true,
            _ => {
                let place = usize::from(at - HEAD);
                // Upper and lower case are the same in a name; the type and class behind it
                // hold no letters that could be taken for each other.
                plan.question.get(place).is_some_and(|asked| asked.eq_ignore_ascii_case(&byte))
            }
        };
        let end = match self.questions {
            0 => usize::from(HEAD),
            _ => usize::from(HEAD) + plan.question.len(),
        };
        match fits {
            false => Read::Other,
            true if usize::from(at) + 1 == end => Read::Code(self.code),
            true => Read::More,
        }
    }
}

/// An answer on a connection, behind its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dns {
    /// How many bytes of the length there are, and what it is.
    head: u8,
    length: u16,
    at: u16,
    answer: Answer,
    code: Option<u16>,
}

/// A connection is ours alone: no number need be drawn for what is asked on it.
const ID: u16 = 0x676F;

impl Dns {
    /// The query behind its length.
    pub(super) fn words(plan: &DnsPlan, out: &mut Vec<u8>) {
        out.extend_from_slice(&(HEAD + plan.question.len() as u16).to_be_bytes());
        query(plan, ID, out);
    }

    pub(super) fn byte(&mut self, plan: &DnsPlan, byte: u8) -> Heard {
        if self.head < 2 {
            self.head += 1;
            self.length = self.length << 8 | u16::from(byte);
            return if self.head == 2 && self.length < HEAD { NONSENSE } else { Heard::More };
        }
        self.at = self.at.saturating_add(1);
        if self.code.is_none() {
            match self.answer.byte(plan, ID, byte) {
                Read::More => {}
                Read::Code(code) => self.code = Some(code),
                Read::Other => return NONSENSE,
            }
        }
        match self.code {
            _ if self.at < self.length => Heard::More,
            Some(code) => judged(expects(&plan.expect, code), code, b""),
            None => NONSENSE,
        }
    }
}
