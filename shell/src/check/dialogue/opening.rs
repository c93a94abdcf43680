//! How a connection that begins in the clear comes to TLS, and what is then said in it.
//!
//! The server greets, we ask, it agrees: then the handshake begins. Inside, a server of mail or
//! files does not greet again; it is asked one thing more (SMTP by EHLO, the others by their
//! parting word), so that it is known to go on speaking.

use super::ber::{self, Header};
use super::line::Line;
use super::reply::Reply;
use super::talk::{Heard, NONSENSE, expects, judged};
use crate::check::outcome::Outcome;
use crate::config::plan::Kind;
use crate::config::talk::{BannerPlan, Talk, codes};
use crate::config::tls::Opening;
use crate::message::tls;
use giveover_core::failure::Phase;

/// At most this much is read before TLS.
const CAP: u32 = 64 * 1024;

/// ExtendedRequest, message 1: 1.3.6.1.4.1.1466.20037.
const START_TLS: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";
/// An ExtendedResponse.
const EXTENDED: u8 = 0x78;
/// UnbindRequest, message 2.
const UNBIND: &[u8] = &[0x30, 0x05, 0x02, 0x01, 0x02, 0x42, 0x00];
/// SSLRequest of PostgreSQL.
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 0xD2, 0x16, 0x2F];
const QUIT: &[u8] = b"QUIT\r\n";

/// What a byte led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check) enum Opened {
    /// Nothing yet.
    More,
    /// It is our turn.
    Say,
    /// The other side agrees: from here on it is TLS.
    Tls,
    /// A verdict, and what is said to it.
    Leave(Outcome, &'static [u8]),
}

/// The way to TLS as far as it was gone; after that, what is said in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::check) struct Way {
    step: u8,
    read: u32,
    reply: Reply,
    line: Line,
    message: Message,
}

/// A message of LDAP as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Message {
    header: Header,
    left: Option<u32>,
    kept: [u8; 18],
    have: u8,
}

impl Way {
    /// What we say now.
    pub(in crate::check) fn words(&self, opening: &Opening, out: &mut Vec<u8>) {
        match (opening, self.step) {
            (Opening::Smtp(name), 1) => {
                for part in [b"EHLO ", name.as_bytes(), b"\r\n"] {
                    out.extend_from_slice(part);
                }
            }
            (Opening::Smtp(_), 2) => out.extend_from_slice(b"STARTTLS\r\n"),
            (Opening::Pop3, 1) => out.extend_from_slice(b"STLS\r\n"),
            (Opening::Imap, 1) => out.extend_from_slice(b"a1 STARTTLS\r\n"),
            (Opening::Ftp, 1) => out.extend_from_slice(b"AUTH TLS\r\n"),
            (Opening::Ldap, 0) => out.extend_from_slice(START_TLS),
            (Opening::Postgres, 0) => out.extend_from_slice(SSL_REQUEST),
            _ => {}
        }
    }

    /// Takes a byte of what the other side says before TLS.
    pub(in crate::check) fn byte(&mut self, opening: &Opening, inner: &Kind, byte: u8) -> Opened {
        self.read += 1;
        let Kind::Talk(talk) = inner else { return leave(NONSENSE) };
        let heard = match (opening, &**talk) {
            (Opening::Smtp(_), Talk::Banner(plan)) => self.reply(plan, &[250, 220], false, byte),
            (Opening::Ftp, Talk::Banner(plan)) => self.reply(plan, &[234], true, byte),
            (Opening::Pop3, _) => self.pop3(byte),
            (Opening::Imap, _) => self.imap(byte),
            (Opening::Ldap, _) => self.ldap(byte),
            (Opening::Postgres, _) => postgres(byte),
            _ => leave(NONSENSE),
        };
        match heard {
            Opened::More | Opened::Say if self.read >= CAP => leave(NONSENSE),
            heard => heard,
        }
    }

    /// What is said inside TLS by those who do not greet again; `None` for those who have a
    /// dialogue of their own there.
    pub(in crate::check) fn inside(opening: &Opening, out: &mut Vec<u8>) -> Option<Self> {
        match opening {
            Opening::Smtp(name) => {
                for part in [b"EHLO ", name.as_bytes(), b"\r\n"] {
                    out.extend_from_slice(part);
                }
            }
            Opening::Pop3 | Opening::Ftp => out.extend_from_slice(QUIT),
            Opening::Imap => out.extend_from_slice(b"a2 LOGOUT\r\n"),
            Opening::AtOnce | Opening::Ldap | Opening::Postgres => return None,
        }
        Some(Self::default())
    }

    /// Takes a byte of the answer to that.
    pub(in crate::check) fn inside_byte(&mut self, opening: &Opening, byte: u8) -> Opened {
        self.read += 1;
        if self.read >= CAP {
            return leave(NONSENSE);
        }
        match opening {
            Opening::Smtp(_) | Opening::Ftp => {
                let free = *opening == Opening::Ftp;
                match self.reply.byte(free, byte) {
                    None => Opened::More,
                    Some(Err(_)) => leave(NONSENSE),
                    Some(Ok(code)) if free => leave(judged(code == 221, code, b"")),
                    Some(Ok(code)) => leave(judged(code == 250, code, QUIT)),
                }
            }
            Opening::Pop3 => self.line(byte).map_or(Opened::More, |line| match line.word(0) {
                b"+OK" => leave(judged(true, 0, b"")),
                word => leave(refusal(codes::code_of(&codes::POP3, word), b"")),
            }),
            _ => self.line(byte).map_or(Opened::More, |line| match line.word(0) {
                b"*" if codes::code_of(&codes::IMAP, line.word(2)) == 3 => {
                    leave(judged(true, 0, b""))
                }
                b"*" => Opened::More,
                _ => leave(refusal(codes::code_of(&codes::IMAP, line.word(3)), b"")),
            }),
        }
    }

    /// Replies with numbers: the greeting, then `wanted` one after the other.
    fn reply(&mut self, plan: &BannerPlan, wanted: &[u16], free: bool, byte: u8) -> Opened {
        let code = match self.reply.byte(free, byte) {
            None => return Opened::More,
            Some(Err(_)) => return leave(NONSENSE),
            Some(Ok(code)) => code,
        };
        let right = match usize::from(self.step).checked_sub(1) {
            None => expects(&plan.expect, code),
            Some(place) => wanted.get(place) == Some(&code),
        };
        self.reply = Reply::default();
        if !right {
            return leave(judged(false, code, QUIT));
        }
        self.onward(wanted.len() as u8)
    }

    fn onward(&mut self, last: u8) -> Opened {
        self.step += 1;
        if self.step > last { Opened::Tls } else { Opened::Say }
    }

    /// A line, once it is complete.
    fn line(&mut self, byte: u8) -> Option<Line> {
        if byte == b'\n' {
            return Some(std::mem::take(&mut self.line));
        }
        self.line.push(byte);
        None
    }

    fn pop3(&mut self, byte: u8) -> Opened {
        let first = self.line.length() == 0;
        if first && byte != b'+' && byte != b'-' {
            return leave(NONSENSE);
        }
        match self.line(byte) {
            None => Opened::More,
            Some(line) if line.word(0) == b"+OK" => self.onward(1),
            Some(line) => leave(refusal(codes::code_of(&codes::POP3, line.word(0)), QUIT)),
        }
    }

    fn imap(&mut self, byte: u8) -> Opened {
        let first = self.line.length() == 0;
        if first && byte != b'*' && (self.step == 0 || byte != b'a') {
            return leave(NONSENSE);
        }
        let Some(line) = self.line(byte) else { return Opened::More };
        let logout = b"a2 LOGOUT\r\n";
        match (self.step, line.word(0)) {
            (0, b"*") => match codes::code_of(&codes::IMAP, line.word(2)) {
                1 => self.onward(1),
                code => leave(refusal(code, logout)),
            },
            // What it has to say besides.
            (1, b"*") if codes::code_of(&codes::IMAP, line.word(2)) != 3 => Opened::More,
            (1, b"*") => leave(refusal(3, b"")),
            (1, b"a1") => match codes::code_of(&codes::IMAP, line.word(3)) {
                1 => self.onward(1),
                code => leave(refusal(code, logout)),
            },
            _ => leave(NONSENSE),
        }
    }

    fn ldap(&mut self, byte: u8) -> Opened {
        let message = &mut self.message;
        match message.left {
            None if message.header.is_empty() && byte != 0x30 => return leave(NONSENSE),
            None => match message.header.byte(byte) {
                None => {}
                Some(Ok((_, length @ 1..))) => message.left = Some(length as u32),
                Some(_) => return leave(NONSENSE),
            },
            Some(left) => {
                if let Some(place) = message.kept.get_mut(usize::from(message.have)) {
                    *place = byte;
                    message.have += 1;
                }
                message.left = Some(left - 1);
                if left == 1 {
                    return match extended(&message.kept[..usize::from(message.have)]) {
                        Some((1, 0)) => Opened::Tls,
                        Some((1, code)) => leave(judged(false, code, UNBIND)),
                        Some((0, code)) => leave(Heard::Done(Outcome::wrong(code))),
                        _ => leave(NONSENSE),
                    };
                }
            }
        }
        Opened::More
    }
}

fn postgres(byte: u8) -> Opened {
    match byte {
        b'S' => Opened::Tls,
        b'N' => Opened::Leave(Outcome::Failed { phase: Phase::Tls, code: tls::REFUSED }, b""),
        _ => leave(NONSENSE),
    }
}

/// The number and the result code of an ExtendedResponse.
fn extended(message: &[u8]) -> Option<(u32, u16)> {
    let (0x02, id, rest) = ber::next(message)? else { return None };
    let (EXTENDED, response, _) = ber::next(rest)? else { return None };
    let (0x0A, code, _) = ber::next(response)? else { return None };
    Some((ber::number(id)?, u16::try_from(ber::number(code)?).ok()?))
}

/// A word that is no yes; zero is no word of the protocol.
fn refusal(code: u16, words: &'static [u8]) -> Heard {
    if code == 0 { NONSENSE } else { judged(false, code, words) }
}

fn leave(heard: Heard) -> Opened {
    match heard {
        Heard::Leave(outcome, words) => Opened::Leave(outcome, words),
        Heard::Done(outcome) => Opened::Leave(outcome, b""),
        Heard::More => Opened::More,
        Heard::Say => Opened::Say,
    }
}
