//! LDAP: a bind of version 3, anonymous or by a name and its password, perhaps a search that
//! always matches, unbind.

use super::ber::{self, Header};
use super::talk::{Heard, NONSENSE, expects, judged};
use crate::check::outcome::Outcome;

/// BindRequest, message 1: version 3, no name, no password.
const BIND: &[u8] =
    &[0x30, 0x0C, 0x02, 0x01, 0x01, 0x60, 0x07, 0x02, 0x01, 0x03, 0x04, 0x00, 0x80, 0x00];
/// UnbindRequest, after a bind and after a search.
const UNBIND: [&[u8]; 2] =
    [&[0x30, 0x05, 0x02, 0x01, 0x02, 0x42, 0x00], &[0x30, 0x05, 0x02, 0x01, 0x03, 0x42, 0x00]];

const BOUND: u8 = 0x61;
const ENTRY: u8 = 0x64;
const REFERENCE: u8 = 0x73;
const SEARCHED: u8 = 0x65;
/// An ExtendedResponse: without having been asked for one, a notice of disconnection.
const NOTICE: u8 = 0x78;

/// So much of a message tells: its number, the head of its operation and the result code, each
/// in six bytes at most.
const KEPT: usize = 18;

/// An answer as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ldap {
    searching: bool,
    header: Header,
    /// Bytes of the message that are still to come, once its header is complete.
    left: Option<u32>,
    kept: [u8; KEPT],
    have: u8,
}

impl Ldap {
    pub(super) fn words(
        &self,
        base: Option<&str>,
        proof: Option<(&str, &[u8])>,
        out: &mut Vec<u8>,
    ) {
        match (self.searching, base, proof) {
            (true, Some(base), _) => search(base, out),
            (.., Some((name, password))) => bind(name, password, out),
            _ => out.extend_from_slice(BIND),
        }
    }

    pub(super) fn byte(&mut self, has_base: bool, expect: &[(u16, u16)], byte: u8) -> Heard {
        match self.left {
            None if self.header.is_empty() && byte != 0x30 => return NONSENSE,
            None => match self.header.byte(byte) {
                None => {}
                Some(Ok((_, length @ 1..))) => self.left = Some(length as u32),
                Some(_) => return NONSENSE,
            },
            Some(left) => {
                if let Some(place) = self.kept.get_mut(usize::from(self.have)) {
                    *place = byte;
                    self.have += 1;
                }
                self.left = Some(left - 1);
                if left == 1 {
                    return self.message(has_base, expect);
                }
            }
        }
        Heard::More
    }

    /// A message is complete.
    fn message(&mut self, has_base: bool, expect: &[(u16, u16)]) -> Heard {
        let Some((id, tag, code)) = read(&self.kept[..usize::from(self.have)]) else {
            return NONSENSE;
        };
        let searching = self.searching;
        match (id, tag, code) {
            (1, BOUND, Some(0)) if !searching && has_base => {
                *self = Self { searching: true, ..Self::default() };
                Heard::Say
            }
            (1, BOUND, Some(code)) if !searching => judged(expects(expect, code), code, UNBIND[0]),
            (2, ENTRY | REFERENCE, _) if searching => {
                *self = Self { searching, ..Self::default() };
                Heard::More
            }
            (2, SEARCHED, Some(code)) if searching => {
                judged(expects(expect, code), code, UNBIND[1])
            }
            // Whoever says goodbye without being asked is not well, whatever it gives for it.
            (0, NOTICE, Some(code)) => Heard::Done(Outcome::wrong(code)),
            _ => NONSENSE,
        }
    }
}

/// A message's number, its operation, and the result code if it has one.
fn read(message: &[u8]) -> Option<(u32, u8, Option<u16>)> {
    let (0x02, id, rest) = ber::next(message)? else { return None };
    let (tag, operation, _) = ber::next(rest)?;
    let code = match ber::next(operation) {
        Some((0x0A, code, _)) => ber::number(code).and_then(|code| u16::try_from(code).ok()),
        _ => None,
    };
    Some((ber::number(id)?, tag, code))
}

/// BindRequest, message 1: version 3, `name`, and its password (simple authentication).
fn bind(name: &str, password: &[u8], out: &mut Vec<u8>) {
    let mut request = vec![0x02, 1, 3];
    ber::write(0x04, name.as_bytes(), &mut request);
    ber::write(0x80, password, &mut request);
    let mut message = vec![0x02, 1, 1];
    ber::write(0x60, &request, &mut message);
    ber::write(0x30, &message, out);
}

/// SearchRequest, message 2: the entry `base` itself, whatever it is, and none of its
/// attributes.
fn search(base: &str, out: &mut Vec<u8>) {
    let mut request = Vec::with_capacity(64 + base.len());
    ber::write(0x04, base.as_bytes(), &mut request);
    // Scope: base object. Aliases: never followed. One entry, no limit of time, types only.
    request.extend_from_slice(&[0x0A, 1, 0, 0x0A, 1, 0, 0x02, 1, 1, 0x02, 1, 0, 0x01, 1, 0xFF]);
    ber::write(0x87, b"objectClass", &mut request);
    ber::write(0x30, &[0x04, 3, b'1', b'.', b'1'], &mut request);
    let mut message = vec![0x02, 1, 2];
    ber::write(0x63, &request, &mut message);
    ber::write(0x30, &message, out);
}
