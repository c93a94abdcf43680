//! A session with Oracle through its client: lines of text, sans-IO.
//!
//! `sqlplus` says nothing of where an answer ends, so it is told to (`PROMPT giveover-end N`).
//! Errors are lines that begin `ORA-`; what begins `SP2-` it says of itself.

use super::said::{Complaint, Heard, Reading, shown};
use crate::check::secret::Secret;
use crate::config::database::{OracleLogin, code};

/// More than this in answer to one question is not read.
const MOST: usize = 256 * 1024;
/// A line is kept up to here.
const LONGEST: usize = 4096;

const COUNTERS: &str = "giveover-activity ";
const END: &str = "giveover-end ";
/// Our own work moves these, so it ends with a look at them.
const LOOK: &str = "SELECT 'giveover-activity ' || SUM(value) FROM v$sysstat \
                    WHERE name IN ('user commits', 'user rollbacks');\n";
const WORK: &str = "BEGIN EXECUTE IMMEDIATE 'DROP TABLE giveover_probe PURGE'; \
                    EXCEPTION WHEN OTHERS THEN NULL; END;\n/\n\
                    CREATE TABLE giveover_probe (n NUMBER);\n\
                    INSERT INTO giveover_probe VALUES (1);\n\
                    UPDATE giveover_probe SET n = 2;\n\
                    COMMIT;\n\
                    DROP TABLE giveover_probe PURGE;\n";

/// A session as far as it is.
pub(super) struct Plus {
    stage: Stage,
    /// Counts the questions.
    number: u32,
    outgoing: Vec<u8>,
    line: Vec<u8>,
    read: usize,
    /// Bytes that are not looked at yet.
    incoming: Vec<u8>,
    counters: Option<Box<str>>,
    complaint: Option<Complaint>,
    own_complaint: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connecting,
    Idle,
    Looking,
    Working,
}

impl Plus {
    /// The beginning of one; what is to be said is there already. `None` if the password has a
    /// quotation mark, which Oracle's passwords cannot have.
    pub(super) fn begin(login: &OracleLogin, secret: Option<&Secret>) -> Option<Self> {
        let mut plus = Self {
            stage: Stage::Connecting,
            number: 0,
            outgoing: Vec::new(),
            line: Vec::new(),
            read: 0,
            incoming: Vec::new(),
            counters: None,
            complaint: None,
            own_complaint: false,
        };
        let mut words = Vec::new();
        for setting in
            ["HEADING OFF", "FEEDBACK OFF", "PAGESIZE 0", "ECHO OFF", "VERIFY OFF", "DEFINE OFF"]
        {
            words.extend_from_slice(format!("SET {setting}\n").as_bytes());
        }
        words.extend_from_slice(b"CONNECT ");
        words.extend_from_slice(login.user.as_bytes());
        words.push(b'/');
        if let Some(secret) = secret {
            if secret.bytes().contains(&b'"') {
                return None;
            }
            words.push(b'"');
            words.extend_from_slice(secret.bytes());
            words.push(b'"');
        }
        if !login.database.is_empty() {
            words.push(b'@');
            words.extend_from_slice(login.database.as_bytes());
        }
        words.push(b'\n');
        plus.ask(&words, Stage::Connecting);
        Some(plus)
    }

    /// Asks for the counters.
    pub(super) fn look(&mut self) {
        self.ask(LOOK.as_bytes(), Stage::Looking);
    }

    /// Makes a table, fills, changes and drops it.
    pub(super) fn work(&mut self) {
        self.ask(format!("{WORK}{LOOK}").as_bytes(), Stage::Working);
    }

    /// Says goodbye.
    pub(super) fn leave(&mut self) {
        self.outgoing.extend_from_slice(b"EXIT\n");
    }

    /// Takes what is to be said now.
    pub(super) fn words(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outgoing)
    }

    /// Takes what has arrived. [`Plus::next`] says what it came to.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.read += bytes.len();
        self.incoming.extend_from_slice(bytes);
    }

    /// The next thing that was heard.
    pub(super) fn next(&mut self) -> Heard {
        let incoming = std::mem::take(&mut self.incoming);
        for (place, byte) in incoming.iter().enumerate() {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    if let Some(heard) = self.line(&line) {
                        self.incoming = incoming.get(place + 1..).unwrap_or_default().to_vec();
                        return heard;
                    }
                }
                byte if self.line.len() < LONGEST => self.line.push(*byte),
                _ => {}
            }
        }
        if self.read > MOST { Heard::Nonsense } else { Heard::More }
    }

    fn ask(&mut self, words: &[u8], stage: Stage) {
        self.number = self.number.wrapping_add(1);
        self.outgoing.extend_from_slice(words);
        self.outgoing.extend_from_slice(format!("PROMPT {END}{}\n", self.number).as_bytes());
        (self.stage, self.read) = (stage, 0);
        (self.counters, self.complaint, self.own_complaint) = (None, None, false);
    }

    fn line(&mut self, line: &[u8]) -> Option<Heard> {
        let line = line.trim_ascii();
        let text = std::str::from_utf8(line).unwrap_or_default();
        if let Some(counters) = text.strip_prefix(COUNTERS) {
            self.counters = Some(counters.trim().into());
        } else if let Some(number) = number_of(text) {
            let over = self.stage == Stage::Connecting || ENDS.contains(&number);
            let complaint = Complaint { code: number.to_string().into(), text: shown(line), over };
            self.complaint.get_or_insert(complaint);
        } else if text.starts_with("SP2-") {
            self.own_complaint = true;
        } else if let Some(number) = text.strip_prefix(END) {
            if number.trim().parse() == Ok(self.number) {
                return Some(self.end());
            }
        }
        None
    }

    /// The answer is complete.
    fn end(&mut self) -> Heard {
        let stage = std::mem::replace(&mut self.stage, Stage::Idle);
        if let Some(complaint) = self.complaint.take() {
            return Heard::Failed(complaint);
        }
        if self.own_complaint {
            return Heard::Lack(code::CLIENT_COMPLAINS);
        }
        match (stage, self.counters.take()) {
            (Stage::Connecting, _) => Heard::Ready,
            (Stage::Working, counters) => Heard::Worked(counters),
            (Stage::Looking, Some(counters)) => {
                Heard::Looked(Reading { reads_only: false, counters })
            }
            (Stage::Looking | Stage::Idle, _) => Heard::Nonsense,
        }
    }
}

/// Errors after which the session is gone: killed, disconnected, end of file on the channel.
const ENDS: [u32; 8] = [28, 1012, 1033, 1034, 1089, 1092, 3113, 3114];

/// The number of a line `ORA-00028: …`.
fn number_of(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("ORA-")?.split(':').next()?;
    (digits.len() == 5).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::database::OracleRun;

    fn login() -> OracleLogin {
        OracleLogin {
            sqlplus: "sqlplus".into(),
            user: "giveover".into(),
            database: "ORCL".into(),
            password_file: Some("/p".into()),
            runs: OracleRun::default(),
            writes: true,
        }
    }

    fn begun() -> Plus {
        Plus::begin(&login(), Some(&Secret::of(b"hush"))).expect("a session")
    }

    fn heard(plus: &mut Plus, text: &str) -> Heard {
        let mut last = Heard::More;
        for byte in text.bytes() {
            assert_eq!(last, Heard::More, "{text}");
            plus.take(&[byte]);
            last = plus.next();
        }
        last
    }

    #[test]
    fn a_session_is_a_script_with_marks() {
        let mut plus = begun();
        let words = String::from_utf8(plus.words()).expect("a text");
        let end = "CONNECT giveover/\"hush\"@ORCL\nPROMPT giveover-end 1\n";
        assert!(words.starts_with("SET HEADING OFF\n") && words.ends_with(end), "{words}");
        assert_eq!(heard(&mut plus, "giveover-end 1\n"), Heard::Ready);
        plus.look();
        let counters = Heard::Looked(Reading { reads_only: false, counters: "42".into() });
        assert_eq!(heard(&mut plus, "\r\ngiveover-activity 42\r\ngiveover-end 2\r\n"), counters);
        plus.work();
        let text = "giveover-activity 47\ngiveover-end 2\ngiveover-end 3\n";
        assert_eq!(heard(&mut plus, text), Heard::Worked(Some("47".into())));
        assert!(Plus::begin(&login(), Some(&Secret::of(b"a\"b"))).is_none());
    }

    #[test]
    fn the_first_error_counts() {
        let mut plus = begun();
        let text = "ERROR:\nORA-01017: invalid username/password; logon denied\n\nORA-12154: x\n\
                    giveover-end 1\n";
        let complaint = Complaint {
            code: "1017".into(),
            text: "ORA-01017: invalid username/password; logon denied".into(),
            over: true,
        };
        assert_eq!(heard(&mut plus, text), Heard::Failed(complaint));
        let mut plus = begun();
        assert_eq!(heard(&mut plus, "giveover-end 1\n"), Heard::Ready);
        plus.look();
        let text = "SP2-0640: Not connected\ngiveover-end 2\n";
        assert_eq!(heard(&mut plus, text), Heard::Lack(code::CLIENT_COMPLAINS));
        plus.look();
        assert_eq!(heard(&mut plus, "ORA-1: x\ngiveover-end 3\n"), Heard::Nonsense);
    }

    #[test]
    fn an_endless_answer_ends_at_the_cap() {
        let mut plus = begun();
        let mut last = Heard::More;
        for _ in 0..100 {
            plus.take(&[b'x'; 8192]);
            last = plus.next();
        }
        assert_eq!(last, Heard::Nonsense);
    }
}
