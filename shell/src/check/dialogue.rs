//! What is said and heard on a connection, whatever the protocol.

mod banner;
mod ber;
pub(super) mod dns;
pub(super) mod echo;
mod imap;
mod ldap;
mod line;
mod mqtt;
mod pop3;
mod postgres;
mod redis;
mod reply;
mod talk;
mod telnet;
#[cfg(test)]
mod tests;

use self::talk::TalkDialogue;
use super::http::{self, HttpDialogue};
use super::outcome::{Outcome, Step};
use super::tcp::TcpDialogue;
use crate::config::plan::Kind;

/// A dialogue that has begun. It knows no socket and no clock: the driver brings it bytes and
/// the end of them, and judges deadlines itself.
#[derive(Debug)]
pub enum Dialogue {
    /// Of a `tcp` check.
    Tcp(TcpDialogue),
    /// Of an `http` check.
    Http(HttpDialogue),
    /// Of a check whose protocol a few bytes tell.
    Talk(TalkDialogue),
}

impl Dialogue {
    /// The dialogue a check of this kind begins; `None` where a connection is all there is.
    #[must_use]
    pub fn of(kind: &Kind) -> Option<Self> {
        match kind {
            Kind::Tcp { send: None, expect: None } => None,
            Kind::Tcp { .. } => Some(Self::Tcp(TcpDialogue::default())),
            Kind::Http(_) => Some(Self::Http(HttpDialogue::default())),
            Kind::Talk(talk) => TalkDialogue::of(talk).map(Self::Talk),
            Kind::Command(_) | Kind::Process | Kind::Xfnts { .. } => None,
        }
    }

    /// Takes what has arrived.
    pub fn on_bytes(&mut self, kind: &Kind, bytes: &[u8]) -> Step {
        match (self, kind) {
            (Self::Tcp(dialogue), Kind::Tcp { expect: Some(expect), .. }) => {
                dialogue.on_bytes(expect, bytes)
            }
            (Self::Http(dialogue), Kind::Http(plan)) => dialogue.on_bytes(plan, bytes),
            (Self::Talk(dialogue), Kind::Talk(talk)) => dialogue.on_bytes(talk, bytes),
            // A plan that was changed meanwhile.
            _ => Step::Done { outcome: Outcome::Void, whole: false },
        }
    }

    /// The other side is done.
    #[must_use]
    pub fn on_close(&self, kind: &Kind) -> Outcome {
        match (self, kind) {
            (Self::Tcp(dialogue), Kind::Tcp { expect: Some(_), .. }) => dialogue.on_close(),
            (Self::Http(dialogue), Kind::Http(plan)) => dialogue.on_close(plan),
            (Self::Talk(dialogue), Kind::Talk(_)) => dialogue.on_close(),
            _ => Outcome::Void,
        }
    }

    /// What is to be said now; `buffer` as for [`request`].
    #[must_use]
    pub fn words<'a>(&self, kind: &'a Kind, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        match (self, kind) {
            (Self::Talk(dialogue), Kind::Talk(talk)) => {
                dialogue.words(talk, buffer);
                buffer
            }
            _ => request(kind, buffer),
        }
    }

    /// Whether the other side has said something. What cannot be sent to it then is an answer
    /// cut short, and no more: it went as far as hearing us, or greeting us.
    #[must_use]
    pub const fn has_heard(&self) -> bool {
        matches!(self, Self::Talk(dialogue) if dialogue.has_heard())
    }
}

/// What a check of this kind sends first; `buffer` is where it is written if need be.
#[must_use]
pub fn request<'a>(kind: &'a Kind, buffer: &'a mut Vec<u8>) -> &'a [u8] {
    match kind {
        Kind::Tcp { send: Some(send), .. } => send,
        Kind::Http(plan) => {
            http::request(plan, buffer);
            buffer
        }
        Kind::Talk(talk) => {
            buffer.clear();
            if let Some(dialogue) = TalkDialogue::of(talk) {
                dialogue.words(talk, buffer);
            }
            buffer
        }
        _ => &[],
    }
}

/// Who says the first word on a connection, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First<'a> {
    /// Nobody: the connection is all that is wanted.
    Nobody,
    /// We, with this.
    We(&'a [u8]),
    /// The other side.
    They,
}

/// Who begins the dialogue of a check of this kind; `buffer` as for [`request`].
#[must_use]
pub fn first<'a>(kind: &'a Kind, buffer: &'a mut Vec<u8>) -> First<'a> {
    match request(kind, buffer) {
        [] if expects_answer(kind) => First::They,
        [] => First::Nobody,
        bytes => First::We(bytes),
    }
}

/// True if an answer is waited for.
#[must_use]
pub const fn expects_answer(kind: &Kind) -> bool {
    matches!(kind, Kind::Tcp { expect: Some(_), .. } | Kind::Http(_) | Kind::Talk(_))
}
