//! PostgreSQL, protocol 3.0: start-up, a query, Terminate.
//!
//! Of a message its first byte, its length and a few bytes of its body are all that is looked
//! at, and no password is given: a crate that knows the whole protocol would be mostly unused.

use super::talk::{Heard, NONSENSE};
use crate::check::outcome::Outcome;
use crate::config::talk::{PostgresPlan, codes};

const TERMINATE: &[u8] = b"X\0\0\0\x04";
/// Protocol 3.0.
const VERSION: u32 = 0x0003_0000;
/// Messages longer than this are none.
const LONGEST: u32 = 64 * 1024;

/// What has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Postgres {
    stage: Stage,
    /// The message that comes in: its kind and the bytes of its head so far.
    tag: u8,
    head: u8,
    length: u32,
    /// Bytes of its body so far.
    at: u32,
    body: Body,
}

/// How far the session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Not let in yet.
    #[default]
    Starting,
    /// Let in, and told about the session.
    Welcomed,
    /// The query is under way.
    Asked,
}

/// What is kept of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Body {
    /// What kind of authentication is asked for.
    number: u32,
    /// The state an error names.
    state: [u8; 5],
    /// Which field of an error is read; zero between two.
    field: u8,
    /// How much of the state there is.
    have: u8,
}

impl Postgres {
    pub(super) fn words(&self, plan: &PostgresPlan, out: &mut Vec<u8>) {
        let begin = |out: &mut Vec<u8>| out.extend_from_slice(&[0; 4]);
        match self.stage {
            Stage::Starting => {
                begin(out);
                out.extend_from_slice(&VERSION.to_be_bytes());
                for text in
                    ["user", &plan.user, "database", &plan.database, "application_name", "giveover"]
                {
                    out.extend_from_slice(text.as_bytes());
                    out.push(0);
                }
                out.push(0);
                write_length(out, 0);
            }
            Stage::Welcomed | Stage::Asked => {
                out.push(b'Q');
                begin(out);
                out.extend_from_slice(plan.query.as_bytes());
                out.push(0);
                write_length(out, 1);
            }
        }
    }

    pub(super) fn byte(&mut self, plan: &PostgresPlan, byte: u8) -> Heard {
        match self.head {
            0 if self.may_come(byte) => self.tag = byte,
            0 => return NONSENSE,
            1..=4 => self.length = self.length << 8 | u32::from(byte),
            _ => {
                self.body.byte(self.tag, self.at, byte);
                self.at += 1;
            }
        }
        self.head = (self.head + 1).min(5);
        match self.head {
            5 if !(4..=LONGEST).contains(&self.length) => NONSENSE,
            5 if self.at + 4 == self.length => self.message(plan),
            _ => Heard::More,
        }
    }

    /// The messages a server sends here.
    const fn may_come(&self, tag: u8) -> bool {
        match self.stage {
            Stage::Starting => matches!(tag, b'R' | b'E' | b'N' | b'v'),
            Stage::Welcomed => matches!(tag, b'S' | b'K' | b'Z' | b'E' | b'N'),
            Stage::Asked => {
                matches!(tag, b'T' | b'D' | b'C' | b'I' | b'Z' | b'E' | b'N' | b'S' | b'A')
            }
        }
    }

    /// A message is complete.
    fn message(&mut self, plan: &PostgresPlan) -> Heard {
        let Self { stage, tag, at, body, .. } = *self;
        let next = |stage| Self { stage, ..Self::default() };
        match (stage, tag) {
            (Stage::Starting, b'R') if at < 4 => NONSENSE,
            (Stage::Starting, b'R') if body.number == 0 => {
                *self = next(Stage::Welcomed);
                Heard::More
            }
            // It asks for a password: alive, as far as can be seen without one. Hanging up here
            // is what clients do, and nothing is logged.
            (Stage::Starting, b'R') => Heard::Done(Outcome::Healthy { shown: 0 }),
            (Stage::Welcomed, b'Z') if !plan.query.is_empty() => {
                *self = next(Stage::Asked);
                Heard::Say
            }
            (Stage::Welcomed | Stage::Asked, b'Z') => {
                Heard::Leave(Outcome::Healthy { shown: 0 }, TERMINATE)
            }
            (stage, b'E') => {
                // Whoever is not let in is hung up on.
                let words = if stage == Stage::Starting { &[][..] } else { TERMINATE };
                let code = codes::code_of_state(&body.state);
                let healthy = plan.expect.contains(&body.state);
                super::talk::judged(healthy, code, words)
            }
            (stage, _) => {
                *self = next(stage);
                Heard::More
            }
        }
    }
}

impl Body {
    /// Takes the byte at the place `at` of a message's body.
    fn byte(&mut self, tag: u8, at: u32, byte: u8) {
        match tag {
            b'R' if at < 4 => self.number = self.number << 8 | u32::from(byte),
            b'E' => match (self.field, byte) {
                (0, field) => (self.field, self.have) = (field, 0),
                (_, 0) => self.field = 0,
                (b'C', byte) => {
                    if let Some(place) = self.state.get_mut(usize::from(self.have)) {
                        *place = byte;
                        self.have += 1;
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// Puts the length of what stands in `out` from `at` on there.
fn write_length(out: &mut [u8], at: usize) {
    let length = (out.len() - at) as u32;
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}
