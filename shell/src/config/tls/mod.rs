//! Checks that speak TLS: what is spoken inside, how it begins, whose certificate is right.

mod keys;
mod read;

use serde::{Deserialize, Serialize};

use super::plan::Kind;

pub(super) use keys::{TABLES, of_kind};
pub(super) use read::{asked, named_by, read, refuse_without, whom, wrapped};

/// What is spoken in TLS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TlsPlan {
    /// Which kind of check it was written as.
    pub written: Written,
    /// What is spoken once the handshake is done; without, the handshake is all.
    pub inner: Option<Kind>,
    /// Who asks for TLS, and how.
    pub opening: Opening,
    /// Whom to trust.
    pub trust: Trust,
    /// The name the certificate must have; the target's own host if there is none.
    pub name: Option<Box<str>>,
    /// A certificate that is valid for less than this is a failure of its own weight, in seconds.
    pub min_valid: Option<u32>,
}

/// As which kind a check was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Written {
    /// A kind with a word of its own: its place in [`KINDS`].
    Own(u8),
    /// The kind inside, with `starttls` or `tls`.
    Inner,
}

/// How a connection comes to TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opening {
    /// It begins with it.
    AtOnce,
    /// SMTP: EHLO with this name, then STARTTLS.
    Smtp(Box<str>),
    /// POP3: STLS.
    Pop3,
    /// IMAP: STARTTLS.
    Imap,
    /// FTP: AUTH TLS.
    Ftp,
    /// LDAP: the extended operation StartTLS.
    Ldap,
    /// PostgreSQL: an SSLRequest.
    Postgres,
}

/// Whose certificates are right.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Trust {
    /// Those of the authorities this host trusts.
    System,
    /// Those of the authorities in this file, in PEM.
    File(Box<str>),
    /// Anybody's.
    Anybody,
}

/// The light kind: one hello, and whether it is answered by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloPlan {
    /// The name that is asked for; the target's own if that is a name.
    pub name: Option<Box<str>>,
}

/// The words of these kinds, and the kind inside of each; only ever append.
pub const KINDS: [(&str, &str); 10] = [
    ("https", "http"),
    ("ftps", "ftp"),
    ("smtps", "smtp"),
    ("pop3s", "pop3"),
    ("imaps", "imap"),
    ("nntps", "nntp"),
    ("telnets", "telnet"),
    ("ldaps", "ldap"),
    ("iiops", ""),
    ("tls", ""),
];

impl TlsPlan {
    /// The kind's word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match (self.written, &self.inner) {
            (Written::Own(place), _) if (place as usize) < KINDS.len() => KINDS[place as usize].0,
            (_, Some(inner)) => inner.word(),
            (_, None) => "tls",
        }
    }
}

/// The kind spoken inside `kind`; empty where that is nothing, `None` where it is not TLS.
pub(super) fn inside(kind: &str) -> Option<&'static str> {
    KINDS.iter().find(|(word, _)| *word == kind).map(|(_, inside)| *inside)
}

/// The port of `kind` where none is written.
pub(super) fn usual_port(kind: &str) -> Option<u16> {
    Some(match kind {
        "https" | "tls" => 443,
        "ftps" => 990,
        "smtps" => 465,
        "pop3s" => 995,
        "imaps" => 993,
        "nntps" => 563,
        "telnets" => 992,
        "ldaps" => 636,
        "iiops" => 684,
        _ => return None,
    })
}
