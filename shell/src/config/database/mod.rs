//! Monitors of databases: whom they speak with and how, and the table of errors that says what
//! each of them leads to.

mod keys;
mod read;
mod rows;

use serde::{Deserialize, Serialize};

use super::tls::Trust;

pub(super) use keys::{OF_POSTGRES, ROW, TABLES, of_kind};
pub(super) use read::{listener, oracle, postgres, wants_monitor};
pub(super) use rows::Rows;

/// What a database's monitor does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabasePlan {
    /// With whom, and how.
    pub speaks: Speaks,
    /// A connection is kept for so many probes; zero: for as long as it holds.
    pub connect_cycle: u32,
    /// The database's log, scanned with each probe from where the last scan ended.
    pub log: Option<Box<str>>,
    /// The table of errors; the first row that matches wins.
    pub rows: Vec<Row>,
    /// A restart of its service restarts those that need it too.
    pub restarts_group: bool,
}

/// How a database is spoken with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speaks {
    /// PostgreSQL, in its own protocol.
    Postgres(PostgresLogin),
    /// Oracle, through its client.
    Oracle(OracleLogin),
}

/// A session with PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostgresLogin {
    /// The role.
    pub user: Box<str>,
    /// The database.
    pub database: Box<str>,
    /// The file with its password.
    pub password_file: Option<Box<str>>,
    /// The socket in the file system, where it is not reached by an address.
    pub socket: Option<Box<str>>,
    /// In TLS: whom to trust, and the name the certificate must have.
    pub tls: Option<SecureLogin>,
    /// Where a table is made and dropped; without, nothing is written.
    pub schema: Option<Box<str>>,
}

/// How a session in TLS knows whom it speaks with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecureLogin {
    /// Whose certificates are right.
    pub trust: Trust,
    /// The name the certificate must have; the target's own host if there is none.
    pub name: Option<Box<str>>,
}

/// A session with Oracle, through its client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleLogin {
    /// The client.
    pub sqlplus: Box<str>,
    /// Who connects: empty is `/`, whom the operating system vouches for.
    pub user: Box<str>,
    /// To which database: a net service name; empty is the instance `ORACLE_SID` names.
    pub database: Box<str>,
    /// The file with the password.
    pub password_file: Option<Box<str>>,
    /// As whom, on which instance, with which installation the client runs.
    pub runs: OracleRun,
    /// The tablespace's user: where a table is made and dropped; without, nothing is written.
    pub writes: bool,
}

/// Oracle's programs: as whom they run, and what they have to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleRun {
    /// The user; ours if there is none.
    pub user: Option<Box<str>>,
    /// `ORACLE_HOME`.
    pub home: Option<Box<str>>,
    /// `ORACLE_SID`.
    pub sid: Option<Box<str>>,
}

/// A row of the table of errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What it is about.
    pub on: On,
    /// In which state of the connection.
    pub state: State,
    /// What is done.
    pub action: Action,
    /// What becomes of the connection.
    pub new_state: NewState,
    /// Told when it is met.
    pub message: Option<Box<str>>,
    /// Started in the background when it is met.
    pub run: Option<Vec<String>>,
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum On {
    /// An error the database answered with: a whole SQLSTATE or its class, or Oracle's number.
    Error(Box<str>),
    /// A line of its log in which this regular expression is found.
    Log(Box<str>),
    /// So many probes in a row that took too long.
    Timeout(u32),
}

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Whatever it is.
    Any,
    /// It is being made.
    Connecting,
    /// It is there.
    Online,
    /// It is being given up.
    Disconnecting,
}

/// What an error leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// The service is given over.
    Switch,
    /// It is restarted, or given over if it was restarted too often.
    Restart,
    /// The monitor ends; the database runs on.
    Stop,
    /// Nothing.
    Nothing,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewState {
    /// It stays as it is.
    Same,
    /// It is given up until the next probe.
    Disconnecting,
    /// It is made anew at once.
    Connecting,
}

/// Codes of answers, as causes carry them. Numbers are in journals: only ever append.
pub mod code {
    /// The row that was met, counted from here.
    pub const ROW: u16 = 60_000;
    /// Oracle's numbers from here on are not told apart.
    pub const MOST_NUMBER: u16 = 59_999;
    /// The log cannot be read.
    pub const NO_LOG: u16 = 64_100;
    /// The server wants more work for a password than a monitor may do.
    pub const TOO_DEAR: u16 = 64_101;
    /// The server asks for a proof that we do not know.
    pub const UNKNOWN_PROOF: u16 = 64_102;
    /// The server asks for the password in the clear, and the connection is not secure.
    pub const IN_THE_CLEAR: u16 = 64_103;
    /// The server asks for a password, and there is none.
    pub const NO_PASSWORD: u16 = 64_104;
    /// The server does not prove that it knows the password.
    pub const NOT_PROVEN: u16 = 64_105;
    /// The client ended before it had answered.
    pub const CLIENT_ENDED: u16 = 64_106;
    /// What the client says of itself (`SP2-…`) instead of the database.
    pub const CLIENT_COMPLAINS: u16 = 64_107;
}

const CODES: [(u16, &str); 8] = [
    (code::NO_LOG, "the log cannot be read"),
    (code::TOO_DEAR, "the server wants more than 50000 rounds of SCRAM"),
    (code::UNKNOWN_PROOF, "the server wants a proof other than SCRAM-SHA-256, MD5 or a password"),
    (code::IN_THE_CLEAR, "the server wants the password in the clear: tls = true hides it"),
    (code::NO_PASSWORD, "the server wants a password: password_file names its file"),
    (code::NOT_PROVEN, "the server does not know the password itself"),
    (code::CLIENT_ENDED, "the client ended before it had answered"),
    (code::CLIENT_COMPLAINS, "the client complains"),
];

impl DatabasePlan {
    /// The kind's word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self.speaks {
            Speaks::Postgres(_) => "postgres",
            Speaks::Oracle(_) => "oracle",
        }
    }

    /// Whether it asks an address, as opposed to a socket in the file system or a program.
    #[must_use]
    pub const fn asks_address(&self) -> bool {
        matches!(self.speaks, Speaks::Postgres(PostgresLogin { socket: None, .. }))
    }

    /// The file of the password it gives, if it gives one.
    #[must_use]
    pub fn password_file(&self) -> Option<&str> {
        match &self.speaks {
            Speaks::Postgres(login) => login.password_file.as_deref(),
            Speaks::Oracle(login) => login.password_file.as_deref(),
        }
    }

    /// What an answer's code means.
    #[must_use]
    pub fn code_words(&self, found: u16) -> String {
        let row = found.checked_sub(code::ROW).and_then(|row| self.rows.get(usize::from(row)));
        if let Some(row) = row {
            return row.words(&self.speaks);
        }
        if let Some((_, words)) = CODES.iter().find(|(known, _)| *known == found) {
            return (*words).to_owned();
        }
        match &self.speaks {
            Speaks::Postgres(_) => super::talk::codes::state_words(found).to_owned(),
            Speaks::Oracle(_) => format!("ORA-{found:05}"),
        }
    }
}

/// A program of one of Oracle's installations, unless it is named by its path.
#[must_use]
pub fn of_home(program: &str, home: Option<&str>) -> String {
    match home {
        Some(home) if !program.contains('/') => format!("{home}/bin/{program}"),
        _ => program.to_owned(),
    }
}

impl Row {
    /// What it is about, and its message.
    #[must_use]
    pub fn words(&self, speaks: &Speaks) -> String {
        let about = match (&self.on, speaks) {
            (On::Error(code), Speaks::Oracle(_)) => format!("ORA-{code:0>5}"),
            (On::Error(state), Speaks::Postgres(_)) => {
                match super::talk::codes::state_words(super::talk::codes::code_of_state(
                    state.as_bytes(),
                )) {
                    "an error" => format!("error {state}"),
                    words => words.to_owned(),
                }
            }
            (On::Log(pattern), _) => format!("log matches {pattern:?}"),
            (On::Timeout(1), _) => "time-out".to_owned(),
            (On::Timeout(count), _) => format!("{count} time-outs in a row"),
        };
        match &self.message {
            Some(message) => format!("{about}: {message}"),
            None => about,
        }
    }
}

impl Action {
    /// Its word in a configuration.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Restart => "restart",
            Self::Stop => "stop",
            Self::Nothing => "none",
        }
    }
}
