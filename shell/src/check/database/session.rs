//! A session with PostgreSQL, sans-IO: start-up, the proof of who we are, and questions.
//!
//! Messages are taken whole, and none is longer than 64 KiB; so no way of cutting the stream into
//! reads changes what was heard.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{
    AuthenticationSaslBody, DataRowBody, ErrorResponseBody, Message,
};
use postgres_protocol::message::frontend;

use super::said::{Complaint, Heard, Reading, shown};
use crate::check::secret::Secret;
use crate::config::database::{PostgresLogin, code};

/// A message longer than this is none of those we ask for.
const LONGEST: usize = 64 * 1024;
/// More than this is not read in answer to one question.
const MOST: usize = 1024 * 1024;
/// The loop waits for each round of SCRAM. PostgreSQL's default is 4096 of them.
const MOST_ROUNDS: u32 = 50_000;

/// A session as far as it is.
pub(super) struct Session {
    stage: Stage,
    user: Box<str>,
    secret: Option<Secret>,
    /// Nobody else hears what is said: in TLS, or within this host.
    private: bool,
    incoming: BytesMut,
    outgoing: BytesMut,
    read: usize,
    row: Option<Vec<Box<str>>>,
    complaint: Option<Complaint>,
}

/// How far a session is.
enum Stage {
    /// Not let in yet.
    Starting,
    /// Proving that we know the password; the server then proves the same.
    Proving(Box<ScramSha256>),
    /// The server has proven it.
    Proven,
    /// Let in, and told about the session.
    Welcomed,
    /// Nothing is asked.
    Idle,
    /// It is being looked at.
    Looking,
    /// A table is made and dropped.
    Working,
}

impl Session {
    /// The beginning of one; what is to be said is there already.
    pub(super) fn begin(login: &PostgresLogin, secret: Option<Secret>, private: bool) -> Self {
        let mut outgoing = BytesMut::new();
        let parameters = [
            ("user", &*login.user),
            ("database", &*login.database),
            ("application_name", "giveover"),
        ];
        // It fails only for a NUL, which no configuration can hold.
        let _ = frontend::startup_message(parameters, &mut outgoing);
        Self {
            stage: Stage::Starting,
            user: login.user.clone(),
            secret,
            private,
            incoming: BytesMut::new(),
            outgoing,
            read: 0,
            row: None,
            complaint: None,
        }
    }

    /// Asks for the counters, those of `schema` left out.
    pub(super) fn look(&mut self, schema: Option<&str>) {
        let own = schema.unwrap_or_default();
        let text = format!(
            "SELECT pg_is_in_recovery(), (SELECT coalesce(sum(tup_inserted + tup_updated + \
             tup_deleted), 0) FROM pg_stat_database WHERE datname <> current_database()) + \
             (SELECT coalesce(sum(seq_scan + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + \
             n_tup_del), 0) FROM pg_stat_user_tables WHERE schemaname <> '{own}')"
        );
        self.ask(&text, Stage::Looking);
    }

    /// Makes a table in `schema`, fills, changes and drops it: one query, so one transaction,
    /// which leaves nothing behind however it ends. `number` keeps two monitors apart.
    pub(super) fn work(&mut self, schema: &str, number: u32) {
        let table = format!("\"{schema}\".giveover_probe_{}_{number}", std::process::id());
        let text = format!(
            "CREATE TABLE {table} (n integer); INSERT INTO {table} VALUES (1); \
             UPDATE {table} SET n = 2; DROP TABLE {table}"
        );
        self.ask(&text, Stage::Working);
    }

    /// Says goodbye.
    pub(super) fn leave(&mut self) {
        frontend::terminate(&mut self.outgoing);
    }

    /// Takes what is to be said now.
    pub(super) fn words(&mut self) -> BytesMut {
        self.outgoing.split()
    }

    /// Takes what has arrived. [`Session::next`] says what it came to.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.read += bytes.len();
        self.incoming.extend_from_slice(bytes);
    }

    /// The next thing that was heard.
    pub(super) fn next(&mut self) -> Heard {
        loop {
            match self.is_whole() {
                None => return Heard::Nonsense,
                Some(false) if self.read > MOST => return Heard::Nonsense,
                Some(false) => return Heard::More,
                Some(true) => {}
            }
            let Ok(Some(message)) = Message::parse(&mut self.incoming) else {
                return Heard::Nonsense;
            };
            if let Some(heard) = self.message(message) {
                return heard;
            }
        }
    }

    fn ask(&mut self, text: &str, stage: Stage) {
        // It fails only for a NUL, and there is none.
        let _ = frontend::query(text, &mut self.outgoing);
        (self.stage, self.read, self.row, self.complaint) = (stage, 0, None, None);
    }

    /// Whether a whole message is there; `None` if what is there is none.
    fn is_whole(&self) -> Option<bool> {
        let Some(head) = self.incoming.get(1..5) else { return Some(false) };
        let length = head.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) as usize;
        let right = (4..=LONGEST).contains(&length);
        right.then(|| self.incoming.len() > length)
    }

    fn message(&mut self, message: Message) -> Option<Heard> {
        match (&mut self.stage, message) {
            (Stage::Starting | Stage::Proven, Message::AuthenticationOk) => {
                self.stage = Stage::Welcomed;
            }
            (Stage::Proving(_), Message::AuthenticationOk) => {
                return Some(Heard::Lack(code::NOT_PROVEN));
            }
            (Stage::Starting, Message::AuthenticationCleartextPassword) => {
                return self.password(|_, password| Some(password.to_vec()), self.private);
            }
            (Stage::Starting, Message::AuthenticationMd5Password(body)) => {
                let salt = body.salt();
                let hashed = |user: &str, password: &[u8]| {
                    Some(md5_hash(user.as_bytes(), password, salt).into_bytes())
                };
                return self.password(hashed, true);
            }
            (Stage::Starting, Message::AuthenticationSasl(body)) => return self.begin_proof(&body),
            (Stage::Proving(scram), Message::AuthenticationSaslContinue(body)) => {
                if rounds(body.data()).is_none_or(|rounds| rounds > MOST_ROUNDS) {
                    return Some(Heard::Lack(code::TOO_DEAR));
                }
                if scram.update(body.data()).is_err() {
                    return Some(Heard::Nonsense);
                }
                if frontend::sasl_response(scram.message(), &mut self.outgoing).is_err() {
                    return Some(Heard::Nonsense);
                }
            }
            (Stage::Proving(scram), Message::AuthenticationSaslFinal(body)) => {
                if scram.finish(body.data()).is_err() {
                    return Some(Heard::Lack(code::NOT_PROVEN));
                }
                self.stage = Stage::Proven;
            }
            (
                Stage::Starting,
                Message::AuthenticationGss
                | Message::AuthenticationSspi
                | Message::AuthenticationKerberosV5
                | Message::AuthenticationScmCredential,
            ) => return Some(Heard::Lack(code::UNKNOWN_PROOF)),
            (_, Message::ErrorResponse(body)) => return self.error(&body),
            (Stage::Welcomed, Message::BackendKeyData(_))
            | (_, Message::ParameterStatus(_) | Message::NoticeResponse(_))
            | (_, Message::NotificationResponse(_)) => {}
            (
                Stage::Looking | Stage::Working,
                Message::RowDescription(_)
                | Message::CommandComplete(_)
                | Message::EmptyQueryResponse,
            ) => {}
            (Stage::Looking, Message::DataRow(body)) => match row(&body) {
                Some(row) => self.row = Some(row),
                None => return Some(Heard::Nonsense),
            },
            (_, Message::ReadyForQuery(_)) => return Some(self.ready()),
            _ => return Some(Heard::Nonsense),
        }
        None
    }

    /// It waits for the next question.
    fn ready(&mut self) -> Heard {
        let stage = std::mem::replace(&mut self.stage, Stage::Idle);
        if let Some(complaint) = self.complaint.take() {
            return Heard::Failed(complaint);
        }
        match (stage, self.row.take().as_deref()) {
            (Stage::Welcomed, _) => Heard::Ready,
            (Stage::Working, _) => Heard::Worked(None),
            (Stage::Looking, Some([recovery, counters])) => Heard::Looked(Reading {
                reads_only: **recovery == *"t",
                counters: counters.clone(),
            }),
            _ => Heard::Nonsense,
        }
    }

    fn error(&mut self, body: &ErrorResponseBody) -> Option<Heard> {
        let (mut state, mut text, mut severity) = (None, String::new(), Vec::new());
        let mut fields = body.fields();
        while let Ok(Some(field)) = fields.next() {
            match field.type_() {
                b'C' => state = Some(shown(field.value_bytes())),
                b'M' => text = shown(field.value_bytes()),
                // The one that is not translated.
                b'V' => severity = field.value_bytes().to_vec(),
                b'S' if severity.is_empty() => severity = field.value_bytes().to_vec(),
                _ => {}
            }
        }
        let asked = matches!(self.stage, Stage::Looking | Stage::Working);
        let over = !asked || matches!(&severity[..], b"FATAL" | b"PANIC");
        let Some(state) = state else { return Some(Heard::Nonsense) };
        let complaint = Complaint { code: state.into(), text, over };
        if over {
            return Some(Heard::Failed(complaint));
        }
        // The first is the one that counts; what follows is of the transaction that failed.
        self.complaint.get_or_insert(complaint);
        None
    }

    /// Answers with the password, made `fit` for that, where it may be heard (`safe`).
    fn password(
        &mut self,
        fit: impl Fn(&str, &[u8]) -> Option<Vec<u8>>,
        safe: bool,
    ) -> Option<Heard> {
        let Some(secret) = &self.secret else { return Some(Heard::Lack(code::NO_PASSWORD)) };
        if !safe {
            return Some(Heard::Lack(code::IN_THE_CLEAR));
        }
        let said = fit(&self.user, secret.bytes())
            .is_some_and(|words| frontend::password_message(&words, &mut self.outgoing).is_ok());
        (!said).then_some(Heard::Nonsense)
    }

    fn begin_proof(&mut self, body: &AuthenticationSaslBody) -> Option<Heard> {
        let known = body.mechanisms().any(|mechanism| Ok(mechanism == SCRAM_SHA_256));
        if known.ok() != Some(true) {
            return Some(Heard::Lack(code::UNKNOWN_PROOF));
        }
        let Some(secret) = &self.secret else { return Some(Heard::Lack(code::NO_PASSWORD)) };
        let scram = ScramSha256::new(secret.bytes(), ChannelBinding::unsupported());
        let words = scram.message();
        if frontend::sasl_initial_response(SCRAM_SHA_256, words, &mut self.outgoing).is_err() {
            return Some(Heard::Nonsense);
        }
        self.stage = Stage::Proving(Box::new(scram));
        None
    }
}

/// How many rounds the server asks for: `i=4096` in its first message.
fn rounds(message: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(message).ok()?;
    text.split(',').find_map(|part| part.strip_prefix("i=")).and_then(|digits| digits.parse().ok())
}

/// The columns of a row, in text; a column without a value is empty.
fn row(body: &DataRowBody) -> Option<Vec<Box<str>>> {
    let mut ranges = body.ranges();
    let mut columns = Vec::new();
    while let Some(range) = ranges.next().ok()? {
        let bytes = range.map_or(Some(&[][..]), |range| body.buffer().get(range))?;
        columns.push(std::str::from_utf8(bytes).ok()?.into());
    }
    Some(columns)
}
