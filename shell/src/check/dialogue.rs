//! What is said and heard on a connection, whatever the protocol.

mod banner;
pub(super) mod ber;
pub(super) mod dns;
pub(super) mod echo;
mod imap;
mod ldap;
mod line;
mod mqtt;
pub(super) mod opening;
mod pop3;
mod postgres;
mod redis;
mod reply;
pub(super) mod rpc;
mod talk;
mod telnet;
#[cfg(test)]
mod tests;

use giveover_core::failure::Phase;
use rustix::io::Errno;

use self::talk::TalkDialogue;
use super::http::{self, HttpDialogue};
use super::outcome::{Outcome, Step};
use super::remote::RemoteDialogue;
use super::secret::Secret;
use super::tcp::TcpDialogue;
use super::tls::{self, HelloDialogue, Session};
use crate::config::plan::Kind;
use crate::config::talk::Talk;

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
    /// Of a check in TLS.
    Tls(Box<Session>),
    /// Of a light `tls` check.
    Hello(HelloDialogue),
    /// Of a `remote` check.
    Remote(RemoteDialogue),
}

impl Dialogue {
    /// The dialogue a check of this kind begins; `None` where a connection is all there is, and in
    /// TLS, for which it does not know enough ([`Session::begin`]).
    #[must_use]
    pub fn of(kind: &Kind) -> Option<Self> {
        Self::knowing(kind, None)
    }

    /// The same, with the password that is to be given.
    #[must_use]
    pub fn knowing(kind: &Kind, secret: Option<Secret>) -> Option<Self> {
        match kind {
            Kind::Tcp { send: None, expect: None } => None,
            Kind::Tcp { .. } => Some(Self::Tcp(TcpDialogue::default())),
            Kind::Http(_) => Some(Self::Http(HttpDialogue::default())),
            Kind::Talk(talk) => {
                TalkDialogue::of(talk).map(|dialogue| Self::Talk(dialogue.knowing(secret)))
            }
            Kind::Hello(_) => Some(Self::Hello(HelloDialogue::default())),
            Kind::Remote(_) => Some(Self::Remote(RemoteDialogue::default())),
            Kind::Command(_)
            | Kind::Process
            | Kind::Xfnts { .. }
            | Kind::Tls(_)
            | Kind::Database(_)
            | Kind::Agent(_)
            | Kind::State(_) => None,
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
            (Self::Tls(session), Kind::Tls(plan)) => session.on_bytes(plan, bytes),
            (Self::Hello(dialogue), Kind::Hello(_)) => dialogue.on_bytes(bytes),
            (Self::Remote(dialogue), Kind::Remote(plan)) => dialogue.on_bytes(plan, bytes),
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
            (Self::Tls(session), Kind::Tls(plan)) => session.on_close(plan),
            (Self::Hello(_), Kind::Hello(_)) => Outcome::failed(Phase::Tls, Errno::NODATA),
            (Self::Remote(dialogue), Kind::Remote(plan)) => dialogue.on_close(plan),
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
            (Self::Tls(session), _) => {
                buffer.clear();
                buffer.extend_from_slice(session.words());
                buffer
            }
            _ => request(kind, buffer),
        }
    }

    /// The phase a failure on the socket belongs to, where that does not depend on whose turn it
    /// is: a handshake is one thing.
    #[must_use]
    pub const fn phase(&self) -> Option<Phase> {
        match self {
            Self::Tls(session) => session.phase(),
            Self::Hello(_) => Some(Phase::Tls),
            Self::Tcp(_) | Self::Http(_) | Self::Talk(_) | Self::Remote(_) => None,
        }
    }

    /// Whether the other side has said something. What cannot be sent to it then is an answer
    /// cut short, and no more: it went as far as hearing us, or greeting us.
    #[must_use]
    pub const fn has_heard(&self) -> bool {
        match self {
            Self::Talk(dialogue) => dialogue.has_heard(),
            Self::Tls(session) => session.has_heard(),
            Self::Tcp(_) | Self::Http(_) | Self::Hello(_) | Self::Remote(_) => false,
        }
    }
}

/// What a datagram is taken for where this kind of check hears such, as an answer to its first
/// question and to rpcbind's: for those who invent them.
#[must_use]
pub fn overhear(kind: &Kind, datagram: &[u8]) -> String {
    const ID: u16 = 0x6F67;
    let Kind::Talk(talk) = kind else { return String::new() };
    match &**talk {
        Talk::Dns(plan) => format!("{:?}", dns::answered(plan, ID, datagram)),
        Talk::Rpc(plan) => {
            let port = |v6| rpc::looked_up(plan, ID, v6, datagram);
            format!("{:?} {:?} {:?}", rpc::answered(ID, datagram), port(false), port(true))
        }
        Talk::Ping => {
            let mut ours = echo::Echo { id: ID, token: 7, sent: 0 };
            let each = [echo::Family::V4, echo::Family::V6].map(|family| {
                ours.ask(family, &mut Vec::new());
                let whose = (echo::answered(family, datagram), echo::quoted(family, datagram));
                let is = ours.is_answered_by(family, datagram);
                (whose, is, ours.is_quoted_in(family, datagram))
            });
            format!("{each:?}")
        }
        _ => String::new(),
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
        Kind::Remote(plan) => {
            http::request(&plan.http, buffer);
            buffer
        }
        Kind::Hello(plan) => {
            tls::hello(plan.name.as_deref(), buffer);
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
    match kind {
        Kind::Tcp { expect, .. } => expect.is_some(),
        Kind::Http(_) | Kind::Talk(_) | Kind::Tls(_) | Kind::Hello(_) | Kind::Remote(_) => true,
        Kind::Command(_)
        | Kind::Process
        | Kind::Xfnts { .. }
        | Kind::Database(_)
        | Kind::Agent(_)
        | Kind::State(_) => false,
    }
}
