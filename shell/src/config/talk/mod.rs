//! Checks that speak a protocol of which a few bytes tell: mail, news, files, directories,
//! brokers, databases. What is asked, what is healthy, and what the numbers mean.

pub mod codes;
mod keys;
mod read;

use serde::{Deserialize, Serialize};

pub(super) use keys::{PASSWORD_FILE, TABLES, of_kind};
pub(super) use read::{read, role, usual_rpc_port};

/// Inclusive ranges of an answer's codes.
pub type Codes = Vec<(u16, u16)>;

/// What a check says and what it wants to hear.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Talk {
    /// A greeting with a number: SMTP, FTP, NNTP.
    Banner(BannerPlan),
    /// A greeting that begins `+OK`.
    Pop3,
    /// A greeting that begins `* OK`.
    Imap {
        /// `* PREAUTH` is as good.
        preauth: bool,
    },
    /// `IAC DO` among what the server begins with.
    Telnet,
    /// `PING`.
    Redis {
        /// What is healthy, by [`codes::REDIS`].
        expect: Vec<u16>,
        /// Who we say we are; nobody without.
        login: Option<Box<Login>>,
    },
    /// `CONNECT`.
    Mqtt {
        /// Our client identifier; empty: the broker gives us one.
        client: Box<str>,
        /// Return codes that are healthy.
        expect: Codes,
        /// Who we say we are; nobody without.
        login: Option<Box<Login>>,
    },
    /// Start-up and a query.
    Postgres(PostgresPlan),
    /// A bind, anonymous unless there is a login, and a search if there is a base.
    Ldap {
        /// Where a search that always matches begins; none is made without.
        base: Option<Box<str>>,
        /// Result codes that are healthy.
        expect: Codes,
        /// Who we say we are; nobody without.
        login: Option<Box<Login>>,
    },
    /// A query.
    Dns(DnsPlan),
    /// A call of the null procedure.
    Rpc(RpcPlan),
    /// A datagram, which nothing needs to answer.
    Udp {
        /// What it holds.
        send: Box<[u8]>,
        /// Must appear in the answer; none is waited for without.
        expect: Option<Box<[u8]>>,
    },
    /// ICMP echo: the host itself, below all services.
    Ping,
}

/// Who we say we are, and the file with the proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// The user; empty where only a password is wanted.
    pub user: Box<str>,
    /// The file with the password: a path, or the bare name of a credential.
    pub password_file: Box<str>,
}

/// Whose greeting it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Greets {
    /// SMTP: 220.
    Smtp,
    /// FTP: 220.
    Ftp,
    /// NNTP: 200 or 201.
    Nntp,
}

/// What is wanted of a server that greets with a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BannerPlan {
    /// Whose protocol.
    pub greets: Greets,
    /// Numbers that are healthy.
    pub expect: Codes,
    /// SMTP: the name we say EHLO with, to be answered by 250.
    pub ehlo: Option<Box<str>>,
}

/// Whom and what to ask of PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostgresPlan {
    /// The role.
    pub user: Box<str>,
    /// The database.
    pub database: Box<str>,
    /// What is run once the server lets us in; empty: nothing.
    pub query: Box<str>,
    /// SQLSTATEs that are healthy too.
    pub expect: Vec<[u8; 5]>,
}

/// What is asked of a name server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsPlan {
    /// What is asked, as it stands in a query: the name, its type, the class IN.
    pub question: Box<[u8]>,
    /// Response codes that are healthy.
    pub expect: Codes,
    /// On a connection instead of by datagram.
    pub tcp: bool,
}

/// Which program's null procedure is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RpcPlan {
    /// The program's number.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// On a connection instead of by datagram.
    pub tcp: bool,
}

impl Talk {
    /// The words of these kinds, as in `kind = "smtp"`.
    pub const KINDS: [&'static str; 14] = [
        "smtp", "pop3", "imap", "ftp", "nntp", "telnet", "ldap", "redis", "mqtt", "postgres",
        "dns", "rpc", "udp", "ping",
    ];

    /// The kind's word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Banner(BannerPlan { greets: Greets::Smtp, .. }) => "smtp",
            Self::Banner(BannerPlan { greets: Greets::Ftp, .. }) => "ftp",
            Self::Banner(BannerPlan { greets: Greets::Nntp, .. }) => "nntp",
            Self::Pop3 => "pop3",
            Self::Imap { .. } => "imap",
            Self::Telnet => "telnet",
            Self::Redis { .. } => "redis",
            Self::Mqtt { .. } => "mqtt",
            Self::Postgres(_) => "postgres",
            Self::Ldap { .. } => "ldap",
            Self::Dns(_) => "dns",
            Self::Rpc(_) => "rpc",
            Self::Udp { .. } => "udp",
            Self::Ping => "ping",
        }
    }

    /// Whether people can read what is said.
    #[must_use]
    pub const fn is_text(&self) -> bool {
        matches!(self, Self::Banner(_) | Self::Pop3 | Self::Imap { .. } | Self::Redis { .. })
    }

    /// Who we say we are, if that is anybody.
    #[must_use]
    pub fn login(&self) -> Option<&Login> {
        match self {
            Self::Redis { login, .. } | Self::Mqtt { login, .. } | Self::Ldap { login, .. } => {
                login.as_deref()
            }
            _ => None,
        }
    }

    /// Whether it is said in datagrams.
    #[must_use]
    pub const fn is_datagram(&self) -> bool {
        matches!(
            self,
            Self::Udp { .. }
                | Self::Ping
                | Self::Dns(DnsPlan { tcp: false, .. })
                | Self::Rpc(RpcPlan { tcp: false, .. })
        )
    }

    /// Whether silence is as good as an answer.
    #[must_use]
    pub const fn needs_no_answer(&self) -> bool {
        matches!(self, Self::Udp { expect: None, .. })
    }

    /// What an answer's code means; empty where the number says it itself.
    #[must_use]
    pub fn code_words(&self, code: u16) -> &'static str {
        match self {
            Self::Banner(_) | Self::Telnet | Self::Udp { .. } | Self::Ping => "",
            Self::Pop3 => codes::named(&codes::POP3, code),
            Self::Imap { .. } => codes::named(&codes::IMAP, code),
            Self::Redis { .. } => codes::named(&codes::REDIS, code),
            Self::Mqtt { .. } => codes::numbered(&codes::MQTT, code),
            Self::Postgres(_) => codes::state_words(code),
            Self::Ldap { .. } => codes::numbered(&codes::LDAP, code),
            Self::Dns(_) => codes::numbered(&codes::DNS, code),
            Self::Rpc(_) => codes::numbered(&codes::RPC, code),
        }
    }
}

/// The port of `kind` where none is written.
pub(super) fn usual_port(kind: &str) -> Option<u16> {
    Some(match kind {
        // It has none; zero is never shown.
        "ping" => 0,
        "ftp" => 21,
        "telnet" => 23,
        "smtp" => 25,
        "dns" => 53,
        "pop3" => 110,
        "rpc" => 111,
        "nntp" => 119,
        "imap" => 143,
        "ldap" => 389,
        "mqtt" => 1883,
        "postgres" => 5432,
        "redis" => 6379,
        _ => return None,
    })
}

/// Whether a URL of `kind` may have a path, and what it means.
pub(super) fn path_means(kind: &str) -> Option<&'static str> {
    match kind {
        "ldap" => Some("base"),
        "postgres" => Some("database"),
        "dns" => Some("name"),
        _ => None,
    }
}

/// Whether a URL of `kind` may have a user.
pub(super) fn has_user(kind: &str) -> bool {
    kind == "postgres"
}
