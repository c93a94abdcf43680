//! The light `tls` check: one ClientHello that servers of TLS 1.2 and 1.3 both understand, and
//! whether the answer is a ServerHello.
//!
//! # Source
//! The document sends a ClientHello and takes a ServerHello for health. No key is offered
//! (an empty key share), so none is made: a server of TLS 1.3 asks for another one by a
//! HelloRetryRequest, which is a ServerHello. An alert is a failure, whatever its level.

use std::sync::OnceLock;

use giveover_core::failure::Phase;

use crate::check::outcome::{Outcome, Step};
use crate::message::tls;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
/// A record holds no more (RFC 5246, 6.2.3), and a ServerHello is no smaller and no larger.
const LONGEST_RECORD: u16 = 16_384 + 2048;
const SHORTEST: u32 = 38;
const LONGEST: u32 = 16_384;
/// We go in the middle of a handshake: an alert of our own, close notify, says so.
const GOODBYE: &[u8] = &[ALERT, 3, 3, 0, 2, 1, 0];

/// How far an answer has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HelloDialogue {
    /// Of the header of a record: how many bytes are there, its type, its length.
    header: u8,
    record: u8,
    left: u16,
    /// Of the first message: how many bytes of its header are there, and how many are to come.
    have: u8,
    message: u32,
}

impl HelloDialogue {
    /// Takes what has arrived.
    pub fn on_bytes(&mut self, bytes: &[u8]) -> Step {
        for byte in bytes {
            match self.byte(*byte) {
                None => {}
                Some(outcome @ Outcome::Healthy { .. }) => {
                    return Step::Leave { outcome, words: GOODBYE };
                }
                Some(outcome) => return Step::Done { outcome, whole: false },
            }
        }
        Step::More
    }

    fn byte(&mut self, byte: u8) -> Option<Outcome> {
        if self.header < 5 {
            return self.header(byte);
        }
        self.left -= 1;
        if self.left == 0 {
            self.header = 0;
        }
        if self.record == ALERT {
            self.have += 1;
            return (self.have == 2).then(|| failed(tls::ALERT + u16::from(byte)));
        }
        match self.have {
            0 if byte != SERVER_HELLO => return Some(failed(tls::BROKEN)),
            0 => self.have = 1,
            1..=3 => {
                self.message = self.message << 8 | u32::from(byte);
                self.have += 1;
                if self.have == 4 && !(SHORTEST..=LONGEST).contains(&self.message) {
                    return Some(failed(tls::BROKEN));
                }
            }
            _ => {
                // It begins with the version: 3.3, or what is older.
                if self.have == 4 && byte != 3 {
                    return Some(failed(tls::BROKEN));
                }
                self.have = 5;
                self.message -= 1;
                if self.message == 0 {
                    return Some(Outcome::Healthy { shown: 0 });
                }
            }
        }
        None
    }

    fn header(&mut self, byte: u8) -> Option<Outcome> {
        match self.header {
            0 if byte == HANDSHAKE || (byte == ALERT && self.have == 0) => self.record = byte,
            1 if byte == 3 => {}
            2 => {}
            3 => self.left = u16::from(byte) << 8,
            4 => self.left |= u16::from(byte),
            _ => return Some(failed(tls::NOT_TLS)),
        }
        self.header += 1;
        let fits = match self.record {
            ALERT => self.left == 2,
            _ => (1..=LONGEST_RECORD).contains(&self.left),
        };
        (self.header == 5 && !fits).then(|| failed(tls::NOT_TLS))
    }
}

const fn failed(code: u16) -> Outcome {
    Outcome::Failed { phase: Phase::Tls, code }
}

/// Writes the hello to `out`, in place of what is there; `name` is asked for if there is one.
pub(crate) fn hello(name: Option<&str>, out: &mut Vec<u8>) {
    out.clear();
    // Handshake, version 3.1; ClientHello, version 3.3.
    out.extend_from_slice(&[HANDSHAKE, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3]);
    let (random, session) = random().split_at(32);
    out.extend_from_slice(random);
    out.push(32);
    out.extend_from_slice(session);
    out.extend_from_slice(&SUITES);
    out.extend_from_slice(&[1, 0]);
    let extensions = out.len();
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&EXTENSIONS);
    if let Some(name) = name.filter(|name| name.len() < 256) {
        let length = name.len() as u16;
        for number in [0, length + 5, length + 3] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.push(0);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(name.as_bytes());
    }
    for place in [extensions, 7, 3] {
        let length = (out.len() - place - 2) as u16;
        out[place..place + 2].copy_from_slice(&length.to_be_bytes());
    }
}

/// Ciphers of TLS 1.3, then of 1.2 with ECDHE and without.
const SUITES: [u8; 22] = [
    0, 20, 0x13, 1, 0x13, 2, 0x13, 3, 0xC0, 0x2B, 0xC0, 0x2F, 0xC0, 0x2C, 0xC0, 0x30, 0, 0x9C, 0,
    0x2F, 0, 0x35,
];

/// Groups, point formats, signatures, versions, and the empty key share.
const EXTENSIONS: [u8; 51] = [
    0, 10, 0, 8, 0, 6, 0, 0x1D, 0, 0x17, 0, 0x18, //
    0, 11, 0, 2, 1, 0, //
    0, 13, 0, 14, 0, 12, 4, 3, 5, 3, 8, 4, 8, 5, 4, 1, 5, 1, //
    0, 43, 0, 5, 4, 3, 4, 3, 3, //
    0, 51, 0, 2, 0, 0,
];

/// Random bytes and a session's number: this process's own. No handshake is ever finished with
/// them, so they protect nothing and may be the same each time.
fn random() -> &'static [u8; 64] {
    static RANDOM: OnceLock<[u8; 64]> = OnceLock::new();
    RANDOM.get_or_init(|| {
        let mut bytes = [0x6F; 64];
        // Without entropy they are no worse for what they are for.
        let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK);
        bytes
    })
}
