//! Dialogues of which a few bytes tell, byte by byte.
//!
//! Each takes one byte after the other and keeps what it needs and no more, so a verdict cannot
//! depend on how the stream was cut into reads, and nothing is allocated. What comes after a
//! verdict is not looked at; a stream without one ends at the cap.

use super::banner::Banner;
use super::dns::Dns;
use super::imap::Imap;
use super::ldap::Ldap;
use super::mqtt::Mqtt;
use super::pop3::Pop3;
use super::postgres::Postgres;
use super::redis::Redis;
use super::rpc::Rpc;
use super::telnet::Telnet;
use crate::check::outcome::{Outcome, Step};
use crate::check::secret::Secret;
use crate::config::talk::Talk;

/// At most this much is read.
const CAP: u32 = 64 * 1024;

/// What a byte led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing yet.
    More,
    /// It is our turn.
    Say,
    /// A verdict in the middle of something: we hang up.
    Done(Outcome),
    /// A verdict at the end of what the other side had to say; these are our parting words.
    Leave(Outcome, &'static [u8]),
}

/// A dialogue that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TalkDialogue {
    read: u32,
    with: With,
    secret: Option<Box<Secret>>,
}

/// In which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    Banner(Banner),
    Pop3(Pop3),
    Imap(Imap),
    Telnet(Telnet),
    Redis(Redis),
    Mqtt(Mqtt),
    Postgres(Postgres),
    Ldap(Ldap),
    Dns(Dns),
    Rpc(Rpc),
}

impl TalkDialogue {
    /// The beginning of one; there is none in datagrams.
    #[must_use]
    pub fn of(talk: &Talk) -> Option<Self> {
        let with = match talk {
            Talk::Banner(_) => With::Banner(Banner::default()),
            Talk::Pop3 => With::Pop3(Pop3::default()),
            Talk::Imap { .. } => With::Imap(Imap::default()),
            Talk::Telnet => With::Telnet(Telnet::default()),
            Talk::Redis { .. } => With::Redis(Redis::default()),
            Talk::Mqtt { .. } => With::Mqtt(Mqtt::default()),
            Talk::Postgres(_) => With::Postgres(Postgres::default()),
            Talk::Ldap { .. } => With::Ldap(Ldap::default()),
            Talk::Dns(plan) if plan.tcp => With::Dns(Dns::default()),
            Talk::Rpc(plan) if plan.tcp => With::Rpc(Rpc::default()),
            Talk::Dns(_) | Talk::Rpc(_) | Talk::Udp { .. } | Talk::Ping => return None,
        };
        Some(Self { read: 0, with, secret: None })
    }

    /// The same, with the password that is to be given.
    #[must_use]
    pub fn knowing(self, secret: Option<Secret>) -> Self {
        Self { secret: secret.map(Box::new), ..self }
    }

    /// Writes what we say now to `out`, in place of what is there: at the beginning, and
    /// whenever a step says so. Nothing if the other side begins.
    pub fn words(&self, talk: &Talk, out: &mut Vec<u8>) {
        out.clear();
        match (&self.with, talk) {
            (With::Banner(banner), Talk::Banner(plan)) => banner.words(plan, out),
            (With::Redis(_), Talk::Redis { .. }) => super::redis::words(self.proof(talk), out),
            (With::Mqtt(_), Talk::Mqtt { client, .. }) => {
                super::mqtt::connect(client, self.proof(talk), out);
            }
            (With::Postgres(postgres), Talk::Postgres(plan)) => postgres.words(plan, out),
            (With::Ldap(ldap), Talk::Ldap { base, .. }) => {
                ldap.words(base.as_deref(), self.proof(talk), out);
            }
            (With::Dns(_), Talk::Dns(plan)) => Dns::words(plan, out),
            (With::Rpc(_), Talk::Rpc(plan)) => Rpc::words(plan, out),
            _ => {}
        }
    }

    /// Who we say we are, and the password that proves it.
    fn proof<'a>(&'a self, talk: &'a Talk) -> Option<(&'a str, &'a [u8])> {
        Some((&talk.login()?.user, self.secret.as_ref()?.bytes()))
    }

    /// Takes what has arrived, up to the cap.
    pub fn on_bytes(&mut self, talk: &Talk, bytes: &[u8]) -> Step {
        let mut step = Step::More;
        for byte in bytes {
            self.read += 1;
            match self.with.byte(talk, *byte) {
                Some(Heard::More) => {}
                Some(Heard::Say) => step = Step::Say,
                Some(Heard::Done(outcome)) => return Step::Done { outcome, whole: false },
                Some(Heard::Leave(outcome, words)) => return Step::Leave { outcome, words },
                // A plan that was changed meanwhile.
                None => return Step::Done { outcome: Outcome::Void, whole: false },
            }
            if self.read >= CAP {
                return Step::Done { outcome: Outcome::wrong(0), whole: false };
            }
        }
        step
    }

    /// The other side is done, in the middle of what it had to say or before.
    #[must_use]
    pub fn on_close(&self) -> Outcome {
        match &self.with {
            With::Telnet(telnet) if telnet.wrote() => Outcome::wrong(0),
            _ => Outcome::cut(),
        }
    }

    /// Whether anything was heard yet.
    #[must_use]
    pub const fn has_heard(&self) -> bool {
        self.read > 0
    }
}

impl With {
    fn byte(&mut self, talk: &Talk, byte: u8) -> Option<Heard> {
        Some(match (self, talk) {
            (Self::Banner(banner), Talk::Banner(plan)) => banner.byte(plan, byte),
            (Self::Pop3(pop3), Talk::Pop3) => pop3.byte(byte),
            (Self::Imap(imap), Talk::Imap { preauth }) => imap.byte(*preauth, byte),
            (Self::Telnet(telnet), Talk::Telnet) => telnet.byte(byte),
            (Self::Redis(redis), Talk::Redis { expect, login }) => {
                redis.byte(expect, login.is_some(), byte)
            }
            (Self::Mqtt(mqtt), Talk::Mqtt { expect, .. }) => mqtt.byte(expect, byte),
            (Self::Postgres(postgres), Talk::Postgres(plan)) => postgres.byte(plan, byte),
            (Self::Ldap(ldap), Talk::Ldap { base, expect, .. }) => {
                ldap.byte(base.is_some(), expect, byte)
            }
            (Self::Dns(dns), Talk::Dns(plan)) => dns.byte(plan, byte),
            (Self::Rpc(rpc), Talk::Rpc(_)) => rpc.byte(byte),
            _ => return None,
        })
    }
}

/// Whether `code` is among `expect`.
pub(super) fn expects(expect: &[(u16, u16)], code: u16) -> bool {
    expect.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// A complete answer with `code`, healthy or not; then `words`.
pub(super) fn judged(healthy: bool, code: u16, words: &'static [u8]) -> Heard {
    let outcome = if healthy { Outcome::Healthy { shown: code } } else { Outcome::wrong(code) };
    Heard::Leave(outcome, words)
}

/// What came is not of this protocol.
pub(super) const NONSENSE: Heard = Heard::Done(Outcome::wrong(0));
