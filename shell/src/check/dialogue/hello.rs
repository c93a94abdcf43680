//! TLS as far as the server's first word: one ClientHello that servers of 1.2 and of 1.3 answer,
//! and the beginning of their ServerHello. Nothing is decrypted, so no key is made.
//!
//! A 1.3 server is offered no key share and asks for one: its HelloRetryRequest is a ServerHello
//! too, and costs neither side a key exchange.

use super::talk::Heard;
use crate::check::outcome::Outcome;
use crate::message::tls;

/// A handshake in a record as of 1.0, the ClientHello in it as of 1.2: their lengths follow.
const RECORD: [u8; 3] = [0x16, 0x03, 0x01];
const CLIENT_HELLO: u8 = 0x01;

/// No secret hangs on it, as nobody goes on from here: it need not be random.
const RANDOM: &[u8; 32] = b"giveover asks whether you are up";

/// Suites of 1.3, then of 1.2 with and without forward secrecy.
const SUITES: [u16; 10] =
    [0x1301, 0x1302, 0x1303, 0xC02B, 0xC02F, 0xC02C, 0xC030, 0x009C, 0x002F, 0x0035];

/// supported_groups, ec_point_formats, signature_algorithms, supported_versions and an empty
/// key_share, each behind its type and length.
const EXTENSIONS: &[u8] = &[
    0x00, 0x0A, 0, 8, 0, 6, 0x00, 0x1D, 0x00, 0x17, 0x00, 0x18, //
    0x00, 0x0B, 0, 2, 1, 0, //
    0x00, 0x0D, 0, 14, 0, 12, 0x04, 0x03, 0x05, 0x03, 0x08, 0x04, 0x08, 0x05, 0x04, 0x01, 0x05,
    0x01, //
    0x00, 0x2B, 0, 5, 4, 0x03, 0x04, 0x03, 0x03, //
    0x00, 0x33, 0, 2, 0, 0,
];

const ALERT: u8 = 0x15;
const HANDSHAKE: u8 = 0x16;
const SERVER_HELLO: u8 = 0x02;

/// The least a ServerHello holds: version, random, an empty session, suite and compression.
const LEAST: u32 = 38;

/// The most a record holds, with what encryption may add.
const MOST: u32 = (1 << 14) + 2048;

/// A server's first word as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hello {
    at: u8,
    kind: u8,
    /// Of the record, then of the handshake message.
    length: u32,
}

impl Hello {
    /// Writes the ClientHello, with the name the server is asked by, if there is one.
    pub(super) fn words(name: Option<&str>, out: &mut Vec<u8>) {
        let mut extensions = EXTENSIONS.to_vec();
        if let Some(name) = name.map(str::as_bytes) {
            let length = name.len() as u16; // a name has at most 255 bytes
            extensions.extend_from_slice(&[0x00, 0x00]);
            extensions.extend_from_slice(&(length + 5).to_be_bytes());
            extensions.extend_from_slice(&(length + 3).to_be_bytes());
            extensions.push(0x00);
            extensions.extend_from_slice(&length.to_be_bytes());
            extensions.extend_from_slice(name);
        }
        let mut body = vec![0x03, 0x03];
        body.extend_from_slice(RANDOM);
        body.push(RANDOM.len() as u8);
        body.extend_from_slice(RANDOM);
        body.extend_from_slice(&(SUITES.len() as u16 * 2).to_be_bytes());
        SUITES.iter().for_each(|suite| body.extend_from_slice(&suite.to_be_bytes()));
        body.extend_from_slice(&[1, 0]);
        body.extend_from_slice(&(extensions.len() as u16).to_be_bytes());
        body.extend_from_slice(&extensions);
        let length = body.len() as u16;
        out.extend_from_slice(&RECORD);
        out.extend_from_slice(&(length + 4).to_be_bytes());
        out.extend_from_slice(&[CLIENT_HELLO, 0]);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&body);
    }

    pub(super) fn byte(&mut self, byte: u8) -> Heard {
        let at = self.at;
        self.at += 1;
        let fits = match at {
            0 => {
                self.kind = byte;
                byte == HANDSHAKE || byte == ALERT
            }
            1 => byte == 0x03,
            2 => byte <= 0x04,
            3 | 4 => {
                self.length = self.length << 8 | u32::from(byte);
                match (at, self.kind) {
                    (3, _) => true,
                    (_, ALERT) => self.length == 2,
                    _ => (4 + LEAST..=MOST).contains(&self.length),
                }
            }
            // How grave it is said to be is nothing to us: an alert is no ServerHello.
            5 if self.kind == ALERT => byte == 1 || byte == 2,
            6 if self.kind == ALERT => return Heard::Done(Outcome::tls(tls::alert(byte))),
            5 => {
                self.length = 0;
                byte == SERVER_HELLO
            }
            6..=8 => {
                self.length = self.length << 8 | u32::from(byte);
                at < 8 || (LEAST..=MOST).contains(&self.length)
            }
            9 => byte == 0x03,
            _ if byte <= 0x03 => return Heard::Done(Outcome::Healthy { shown: 0 }),
            _ => false,
        };
        if fits { Heard::More } else { Heard::Done(Outcome::tls(tls::NONE)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: Option<&str>) -> Vec<u8> {
        let mut out = Vec::new();
        Hello::words(name, &mut out);
        out
    }

    /// The verdict, and after how many bytes.
    fn verdict(bytes: &[u8]) -> Option<(Outcome, usize)> {
        let mut hello = Hello::default();
        for (place, byte) in bytes.iter().enumerate() {
            if let Heard::Done(outcome) = hello.byte(*byte) {
                return Some((outcome, place + 1));
            }
        }
        None
    }

    #[test]
    fn every_length_in_the_hello_is_right() {
        for name in [None, Some("a"), Some(&*"long.example.".repeat(15))] {
            let hello = words(name);
            let word = |at: usize| usize::from(u16::from_be_bytes([hello[at], hello[at + 1]]));
            assert_eq!(word(3), hello.len() - 5);
            assert_eq!((hello[6], word(7)), (0, hello.len() - 9));
            let extensions = 9 + 2 + 32 + 1 + 32 + 2 + SUITES.len() * 2 + 2;
            assert_eq!(word(extensions), hello.len() - extensions - 2);
            let mut at = extensions + 2;
            let mut kinds = Vec::new();
            while at < hello.len() {
                kinds.push(word(at));
                at += 4 + word(at + 2);
            }
            assert_eq!(at, hello.len());
            let mut expected = vec![0x0A, 0x0B, 0x0D, 0x2B, 0x33];
            expected.extend(name.map(|_| 0));
            assert_eq!(kinds, expected);
        }
        assert_eq!(words(None).len(), 153);
        assert!(words(Some("www.example.org")).ends_with(b"\0\x14\0\x12\0\0\x0fwww.example.org"));
    }

    #[test]
    fn a_server_hello_is_healthy_and_all_else_is_not() {
        let hello = b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03rest";
        assert_eq!(verdict(hello), Some((Outcome::Healthy { shown: 0 }, 11)));
        let alert = b"\x15\x03\x01\x00\x02\x02\x28";
        assert_eq!(verdict(alert), Some((Outcome::tls(tls::alert(40)), 7)));
        for (bytes, length) in [
            (&b"HTTP/1.1 400"[..], 1),
            (b"\x16\x02", 2),
            (b"\x16\x03\x05", 3),
            (b"\x15\x03\x03\x00\x03", 5),
            (b"\x15\x03\x03\x00\x02\x03", 6),
            (b"\x16\x03\x03\x00\x05", 5),
            (b"\x16\x03\x03\xff\xff", 5),
            (b"\x16\x03\x03\x00\x7a\x01", 6),
            (b"\x16\x03\x03\x00\x7a\x02\x00\x00\x01", 9),
            (b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x02", 10),
            (b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x7f", 11),
        ] {
            assert_eq!(verdict(bytes), Some((Outcome::tls(tls::NONE), length)), "{bytes:?}");
            assert_eq!(verdict(&bytes[..length - 1]), None);
        }
    }
}
