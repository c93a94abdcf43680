//! One connection in TLS, sans-IO: what came from the socket goes in, what is to be sent comes
//! out, and in between a dialogue that knows nothing of it.
//!
//! Bytes are taken record by record, and all that a record leads to is done before the next is
//! looked at. So no way of cutting the stream into reads can change a verdict.

use std::io::{Read, Write};
use std::sync::Arc;

use giveover_core::failure::Phase;
use rustix::io::Errno;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, ClientConnection, Error, ProtocolVersion};

use super::{der, trust};
use crate::check::dialogue::Dialogue;
use crate::check::dialogue::opening::{Opened, Way};
use crate::check::outcome::{Outcome, Step};
use crate::check::secret::Secret;
use crate::clock;
use crate::config::tls::{Opening, TlsPlan};
use crate::message::tls;

/// The longest record: its content and what encryption adds (RFC 5246, 6.2.3).
const LONGEST_RECORD: usize = 16_384 + 2048;
const HEADER: usize = 5;
/// How much of what was said inside is taken at once.
const PIECE: usize = 4096;
const DAY: u64 = 86_400;

/// Something that was said or done, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// We said this, in the clear or inside.
    Said(Vec<u8>),
    /// We heard this.
    Heard(Vec<u8>),
    /// The handshake is done.
    Shaken(String),
}

/// A connection that comes to TLS, or is in it.
#[derive(Debug)]
pub struct Session {
    connection: ClientConnection,
    part: Part,
    record: Record,
    heard: bool,
    /// To be sent now.
    out: Vec<u8>,
    /// Days the certificates are still valid, if that is too few.
    soon: Option<u16>,
    notes: Option<Vec<Note>>,
    /// Whom we asked for, for the notes.
    name: String,
    /// The password that is given inside.
    secret: Option<Secret>,
}

/// How far it is.
#[derive(Debug)]
enum Part {
    /// In the clear.
    Opening(Way),
    Handshake,
    /// A dialogue inside.
    Inside(Dialogue),
    /// One more question to a server that has greeted in the clear.
    Question(Way),
    /// The handshake was all.
    Done,
}

/// The record that comes in.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    have: usize,
    length: usize,
}

impl Session {
    /// The beginning of one with the server called `name`; with `notes` it is written down.
    ///
    /// # Errors
    /// It cannot even be begun: our own lack.
    pub fn begin(
        plan: &TlsPlan,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        notes: bool,
    ) -> Result<Self, Outcome> {
        let label = if notes { name.to_str().into_owned() } else { String::new() };
        let connection =
            ClientConnection::new(config, name).map_err(|_| trust::lacking(tls::BROKEN))?;
        let part = match plan.opening {
            Opening::AtOnce => Part::Handshake,
            _ => Part::Opening(Way::default()),
        };
        let mut session = Self {
            connection,
            part,
            record: Record::default(),
            heard: false,
            out: Vec::new(),
            soon: None,
            notes: notes.then(Vec::new),
            name: label,
            secret: None,
        };
        match session.part {
            Part::Opening(way) => session.say_clear(way, plan),
            _ => session.flush(),
        }
        Ok(session)
    }

    /// The same, with the password that is to be given inside.
    #[must_use]
    pub fn knowing(self, secret: Option<Secret>) -> Self {
        Self { secret, ..self }
    }

    /// What is to be sent now.
    #[must_use]
    pub fn words(&self) -> &[u8] {
        &self.out
    }

    /// The phase a failure on the socket belongs to; `None` in the clear and inside, where it
    /// depends on whose turn it is.
    #[must_use]
    pub const fn phase(&self) -> Option<Phase> {
        match self.part {
            Part::Handshake => Some(Phase::Tls),
            _ => None,
        }
    }

    /// Whether the other side has said something.
    #[must_use]
    pub const fn has_heard(&self) -> bool {
        self.heard
    }

    /// Takes what was written down since the last time.
    pub fn notes(&mut self) -> Vec<Note> {
        self.notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes what has arrived. What is then to be said is in [`Session::words`], also with a
    /// verdict: the words to leave with, or an alert.
    pub fn on_bytes(&mut self, plan: &TlsPlan, bytes: &[u8]) -> Step {
        self.out.clear();
        self.heard |= !bytes.is_empty();
        let mut bytes = bytes;
        if let Some(verdict) = self.in_the_clear(plan, &mut bytes) {
            return verdict;
        }
        while !bytes.is_empty() {
            let Some(length) = self.record.over(bytes) else {
                let failed = Outcome::Failed { phase: Phase::Tls, code: tls::NOT_TLS };
                return self.over(failed, None);
            };
            let (now, later) = bytes.split_at(length.min(bytes.len()));
            bytes = later;
            if let Some(verdict) = self.take(plan, now) {
                return verdict;
            }
        }
        if self.out.is_empty() { Step::More } else { Step::Say }
    }

    /// The other side is done.
    #[must_use]
    pub fn on_close(&self, plan: &TlsPlan) -> Outcome {
        match &self.part {
            Part::Handshake => Outcome::failed(Phase::Tls, Errno::NODATA),
            Part::Inside(dialogue) => {
                let kind = plan.inner.as_ref();
                self.judge(kind.map_or_else(Outcome::cut, |kind| dialogue.on_close(kind)))
            }
            Part::Opening(_) | Part::Question(_) | Part::Done => Outcome::cut(),
        }
    }

    /// Goes on before TLS, and leaves in `bytes` what is TLS.
    fn in_the_clear(&mut self, plan: &TlsPlan, bytes: &mut &[u8]) -> Option<Step> {
        let Part::Opening(mut way) = self.part else { return None };
        let inner = plan.inner.as_ref()?;
        let all = *bytes;
        let mut noted = 0;
        for (place, byte) in all.iter().enumerate() {
            let opened = way.byte(&plan.opening, inner, *byte);
            self.part = Part::Opening(way);
            *bytes = &all[place + 1..];
            if opened != Opened::More || bytes.is_empty() {
                self.note(|| Note::Heard(all[noted..=place].to_vec()));
                noted = place + 1;
            }
            match opened {
                Opened::More => {}
                Opened::Say => self.say_clear(way, plan),
                Opened::Leave(outcome, words) => {
                    self.out.extend_from_slice(words);
                    if !words.is_empty() {
                        self.note(|| Note::Said(words.to_vec()));
                    }
                    return Some(Step::Leave { outcome, words: &[] });
                }
                Opened::Tls => {
                    self.part = Part::Handshake;
                    self.flush();
                    return None;
                }
            }
        }
        None
    }

    fn say_clear(&mut self, way: Way, plan: &TlsPlan) {
        let before = self.out.len();
        way.words(&plan.opening, &mut self.out);
        if self.out.len() > before {
            let said = self.out[before..].to_vec();
            self.note(|| Note::Said(said));
        }
    }

    /// Takes a record, or a piece of one.
    fn take(&mut self, plan: &TlsPlan, mut bytes: &[u8]) -> Option<Step> {
        loop {
            let read = self.connection.read_tls(&mut bytes);
            let processed = self.connection.process_new_packets();
            // An alert of ours, or what the handshake says next.
            self.flush();
            let shaken = !self.connection.is_handshaking();
            if shaken && matches!(self.part, Part::Handshake) {
                if let Some(verdict) = self.shaken(plan) {
                    return Some(verdict);
                }
            }
            if let Some(verdict) = self.listen(plan) {
                return Some(verdict);
            }
            if let Err(error) = processed {
                let failed = Outcome::Failed { phase: Phase::Tls, code: code_of(&error) };
                return Some(self.over(failed, None));
            }
            match read {
                Ok(1..) if !bytes.is_empty() => {}
                _ => return None,
            }
        }
    }

    /// The handshake is done.
    fn shaken(&mut self, plan: &TlsPlan) -> Option<Step> {
        let days = self.days_left();
        let least = plan.min_valid.map(u64::from);
        if let (Some(least), Some(left)) = (least, days) {
            self.soon = (left < least).then(|| tls::valid_for(left / DAY));
        }
        let text = self.describe(days);
        self.note(|| Note::Shaken(text));
        let mut words = Vec::new();
        self.part = match (Way::inside(&plan.opening, &mut words), &plan.inner) {
            (Some(way), _) => Part::Question(way),
            (None, Some(kind)) => match Dialogue::knowing(kind, self.secret.take()) {
                Some(dialogue) => {
                    let mut buffer = Vec::new();
                    words.extend_from_slice(dialogue.words(kind, &mut buffer));
                    Part::Inside(dialogue)
                }
                None => Part::Done,
            },
            (None, None) => Part::Done,
        };
        if matches!(self.part, Part::Done) {
            let shown = days.map_or(0, |left| {
                u16::try_from(left / DAY).unwrap_or(tls::MOST_DAYS).min(tls::MOST_DAYS)
            });
            return Some(self.over(Outcome::Healthy { shown }, Some(b"")));
        }
        self.say(words);
        None
    }

    /// Takes what was said inside.
    fn listen(&mut self, plan: &TlsPlan) -> Option<Step> {
        loop {
            let mut piece = [0; PIECE];
            let length = match self.connection.reader().read(&mut piece) {
                Ok(0) => {
                    let outcome = self.on_close(plan);
                    return Some(self.over(outcome, None));
                }
                Ok(length) => length,
                // Nothing yet.
                Err(_) => return None,
            };
            let bytes = &piece[..length];
            self.note(|| Note::Heard(bytes.to_vec()));
            match (&mut self.part, &plan.inner) {
                (Part::Inside(dialogue), Some(kind)) => match dialogue.on_bytes(kind, bytes) {
                    Step::More => {}
                    Step::Say => {
                        let mut buffer = Vec::new();
                        let words = dialogue.words(kind, &mut buffer).to_vec();
                        self.say(words);
                    }
                    Step::Done { outcome, .. } => return Some(self.over(outcome, None)),
                    Step::Leave { outcome, words } => {
                        return Some(self.over(outcome, Some(words)));
                    }
                },
                (Part::Question(way), _) => {
                    for byte in bytes {
                        match way.inside_byte(&plan.opening, *byte) {
                            Opened::Leave(outcome, words) => {
                                return Some(self.over(outcome, Some(words)));
                            }
                            Opened::More | Opened::Say | Opened::Tls => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Says something inside.
    fn say(&mut self, words: Vec<u8>) {
        if words.is_empty() {
            return;
        }
        // It takes all of it: what cannot be sent is kept.
        let _ = self.connection.writer().write_all(&words);
        self.flush();
        self.note(|| Note::Said(words));
    }

    /// It ends: with parting words, and with the word that TLS has for it. That the other side
    /// says it too is not waited for.
    fn over(&mut self, outcome: Outcome, words: Option<&[u8]>) -> Step {
        let outcome = self.judge(outcome);
        if let Some(words) = words {
            self.say(words.to_vec());
        }
        self.connection.send_close_notify();
        self.flush();
        match words {
            Some(_) => Step::Leave { outcome, words: &[] },
            None => Step::Done { outcome, whole: false },
        }
    }

    /// What is healthy but for a certificate that is soon to expire.
    fn judge(&self, outcome: Outcome) -> Outcome {
        match (outcome, self.soon) {
            (Outcome::Healthy { .. }, Some(code)) => Outcome::Failed { phase: Phase::Tls, code },
            (outcome, _) => outcome,
        }
    }

    /// Takes from the connection what is to be sent.
    fn flush(&mut self) {
        if matches!(self.part, Part::Opening(_)) {
            return;
        }
        while self.connection.wants_write() {
            // A vector takes all.
            if self.connection.write_tls(&mut self.out).is_err() {
                return;
            }
        }
    }

    /// How long the chain is valid, in seconds: as long as the first of it to expire.
    fn days_left(&self) -> Option<u64> {
        let chain = self.connection.peer_certificates()?;
        let end = chain.iter().filter_map(|certificate| der::not_after(certificate)).min()?;
        Some(end.saturating_sub(clock::unix_secs()))
    }

    /// `TLS 1.3, www.example.org, 61 days left`
    fn describe(&self, left: Option<u64>) -> String {
        let version = match self.connection.protocol_version() {
            Some(ProtocolVersion::TLSv1_2) => "TLS 1.2",
            Some(ProtocolVersion::TLSv1_3) => "TLS 1.3",
            _ => "TLS",
        };
        match left {
            Some(0) => format!("{version}, {}, certificate expired", self.name),
            Some(left) => {
                let days = u16::try_from(left / DAY).unwrap_or(u16::MAX);
                format!("{version}, {}, {} left", self.name, tls::days(days))
            }
            None => format!("{version}, {}", self.name),
        }
    }

    fn note(&mut self, note: impl FnOnce() -> Note) {
        if let Some(notes) = &mut self.notes {
            notes.push(note());
        }
    }
}

impl Record {
    /// How many of `bytes` belong to this record; `None` if it is none.
    fn over(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut taken = 0;
        while self.have < HEADER {
            let Some(byte) = bytes.get(taken) else { return Some(taken) };
            match self.have {
                0 if !(20..=23).contains(byte) => return None,
                1 if *byte != 3 => return None,
                3 => self.length = usize::from(*byte) << 8,
                4 => self.length |= usize::from(*byte),
                _ => {}
            }
            taken += 1;
            self.have += 1;
        }
        if self.length > LONGEST_RECORD {
            return None;
        }
        let there = bytes.len() - taken;
        let wanted = self.length + HEADER - self.have;
        if there < wanted {
            self.have += there;
            return Some(bytes.len());
        }
        *self = Self::default();
        Some(taken + wanted)
    }
}

/// What an error of the handshake, or after it, is called.
pub(in crate::check) fn code_of(error: &Error) -> u16 {
    match error {
        Error::AlertReceived(alert) => tls::ALERT + u16::from(u8::from(*alert)),
        Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => tls::EXPIRED,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                tls::NOT_YET
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                tls::OTHER_NAME
            }
            CertificateError::UnknownIssuer => tls::UNKNOWN_ISSUER,
            CertificateError::Revoked => tls::REVOKED,
            _ => tls::BAD_CERTIFICATE,
        },
        Error::PeerIncompatible(_) => tls::NOTHING_IN_COMMON,
        Error::NoCertificatesPresented => tls::BAD_CERTIFICATE,
        _ => tls::BROKEN,
    }
}
