//! ONC RPC: the null procedure of a program, and whether it was carried out. It does nothing, and
//! every program has it.
//!
//! # Source
//! RFC 5531: messages in XDR, by datagram as they are, on a connection in fragments behind a mark.

use super::talk::{Heard, NONSENSE, judged};
use crate::check::outcome::Outcome;
use crate::config::talk::RpcPlan;

/// A connection is ours alone: no number need be drawn for what is called on it.
const ID: u16 = 0x676F;
/// The bytes of a call without arguments, credentials and verifier.
const CALL: u32 = 40;
/// The upper half of the numbers of our calls.
const ABOVE: u32 = 0x676F_0000;
/// A verifier longer than this is none.
const LONGEST_VERIFIER: u32 = 400;
/// A fragment longer than this is none of an answer to a null call.
const LONGEST_FRAGMENT: u32 = 4096;
/// Set in the mark of the last fragment.
const LAST: u32 = 1 << 31;
/// What a refusal's code begins with; those of accepted calls count from zero.
const REFUSED: u32 = 16;

/// Writes the call numbered `id`.
pub(crate) fn call(plan: &RpcPlan, id: u16, out: &mut Vec<u8>) {
    // The call, version 2 of RPC, whom, procedure 0, and nobody's credentials and verifier.
    let words = [ABOVE | u32::from(id), 0, 2, plan.program, plan.version, 0, 0, 0, 0, 0];
    words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
}

/// What a whole datagram says: the code of an answer to the call numbered `id`.
pub(crate) fn answered(id: u16, datagram: &[u8]) -> Option<u16> {
    let mut reply = Reply::default();
    for byte in datagram {
        match reply.byte(id, *byte) {
            Read::More => {}
            Read::Code(code) => return Some(code),
            Read::Other => return None,
        }
    }
    None
}

/// A reply as it comes in, word by word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reply {
    word: u32,
    bytes: u8,
    part: Part,
}

/// Which word comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Id,
    Direction,
    Accepted,
    VerifierKind,
    VerifierLength,
    /// So many words of the verifier are left.
    Verifier(u32),
    Status,
    Refusal,
}

/// What a byte of it tells.
enum Read {
    More,
    /// It answers our call, with this code.
    Code(u16),
    /// It answers something else, or nothing.
    Other,
}

impl Reply {
    fn byte(&mut self, id: u16, byte: u8) -> Read {
        self.word = self.word << 8 | u32::from(byte);
        self.bytes += 1;
        if self.bytes < 4 {
            return Read::More;
        }
        let word = self.word;
        self.bytes = 0;
        self.part = match (self.part, word) {
            (Part::Id, word) if word == ABOVE | u32::from(id) => Part::Direction,
            (Part::Direction, 1) => Part::Accepted,
            (Part::Accepted, 0) => Part::VerifierKind,
            (Part::Accepted, 1) => Part::Refusal,
            (Part::VerifierKind, _) => Part::VerifierLength,
            (Part::VerifierLength, 0) | (Part::Verifier(1), _) => Part::Status,
            (Part::VerifierLength, 1..=LONGEST_VERIFIER) => Part::Verifier(word.div_ceil(4)),
            (Part::Verifier(left), _) => Part::Verifier(left.saturating_sub(1)),
            (Part::Status, 0..=5) => return Read::Code(word as u16),
            (Part::Refusal, 0..=1) => return Read::Code((REFUSED + word) as u16),
            _ => return Read::Other,
        };
        Read::More
    }
}

/// An answer on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rpc {
    /// The mark, how many bytes of it are there, and what is left of its fragment.
    mark: u32,
    bytes: u8,
    left: u32,
    reply: Reply,
}

impl Rpc {
    /// The call, in one fragment.
    pub(super) fn words(plan: &RpcPlan, out: &mut Vec<u8>) {
        out.extend_from_slice(&(LAST | CALL).to_be_bytes());
        call(plan, ID, out);
    }

    pub(super) fn byte(&mut self, byte: u8) -> Heard {
        if self.bytes < 4 {
            self.mark = self.mark << 8 | u32::from(byte);
            self.bytes += 1;
            if self.bytes < 4 {
                return Heard::More;
            }
            self.left = self.mark & !LAST;
            return match self.left {
                1..=LONGEST_FRAGMENT => Heard::More,
                _ => NONSENSE,
            };
        }
        self.left = self.left.saturating_sub(1);
        match self.reply.byte(ID, byte) {
            // Nothing follows a success of the null procedure.
            Read::Code(0) => judged(true, 0, b""),
            Read::Code(code) => Heard::Done(Outcome::wrong(code)),
            Read::Other => NONSENSE,
            Read::More if self.left > 0 => Heard::More,
            Read::More if self.mark & LAST != 0 => NONSENSE,
            Read::More => {
                self.bytes = 0;
                Heard::More
            }
        }
    }
}
