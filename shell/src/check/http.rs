//! The dialogue of `http` checks: one HTTP/1.1 request, one response, no connection.
//!
//! What is decided depends on the bytes of the response and on nothing else: each rule has one
//! place in the stream at which it is applied, so no way of cutting the stream into reads can
//! change a verdict.

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Response, Status};

use super::chunked::Chunks;
use super::needle::Search;
use super::outcome::{Outcome, Step};
use crate::config::plan::{HttpPlan, Method};

/// A head longer than this is none.
const HEAD_CAP: usize = 64 * 1024;
/// A head with more fields than this is none.
const FIELDS: usize = 128;
/// What every response begins with.
const BEGINNING: &[u8] = b"HTTP/1.";

/// Writes the request to `out`, in place of what is there.
pub fn request(plan: &HttpPlan, out: &mut Vec<u8>) {
    out.clear();
    let method: &[u8] = match plan.method {
        Method::Get => b"GET ",
        Method::Head => b"HEAD ",
    };
    for part in [
        method,
        plan.path.as_bytes(),
        match (plan.by_document, plan.method) {
            (true, Method::Head) => b" HTTP/1.0\r\nHost: ",
            _ => b" HTTP/1.1\r\nHost: ",
        },
        plan.host.as_bytes(),
        b"\r\nUser-Agent: giveover/",
        env!("CARGO_PKG_VERSION").as_bytes(),
        b"\r\nAccept: */*\r\nConnection: close\r\n\r\n",
    ] {
        out.extend_from_slice(part);
    }
}

/// How far a response has been read.
#[derive(Debug)]
pub struct HttpDialogue {
    /// Bytes read in all; never more than the plan's cap.
    read: u32,
    /// The status of the head that counts, once it is known.
    status: u16,
    body: Search,
    /// The body so far, for whoever reads more of it than whether something is there.
    kept: Option<Vec<u8>>,
    part: Part,
}

/// Which part of a response comes next.
#[derive(Debug)]
enum Part {
    Head(Head),
    /// So many bytes of body.
    Length(u64),
    Chunked(Chunks),
    /// Everything up to the end of the connection.
    ToClose,
}

/// The beginning of a head, as far as it has come. Nearly always a head arrives in one piece;
/// then nothing is kept of it.
#[derive(Debug, Default)]
struct Head {
    kept: Vec<u8>,
    line: Line,
}

/// What has been seen of the line the head stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Line {
    #[default]
    Text,
    Empty,
    Return,
}

/// What a complete head says.
struct Said {
    status: u16,
    part: Part,
}

impl Default for HttpDialogue {
    fn default() -> Self {
        let part = Part::Head(Head::default());
        Self { read: 0, status: 0, body: Search::default(), kept: None, part }
    }
}

impl HttpDialogue {
    /// A dialogue that keeps the body, which is no longer than the plan's cap.
    #[must_use]
    pub fn keeping() -> Self {
        Self { kept: Some(Vec::new()), ..Self::default() }
    }

    /// The body as far as it was kept.
    #[must_use]
    pub fn kept(&self) -> &[u8] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// Takes what has arrived, up to the plan's cap.
    pub fn on_bytes(&mut self, plan: &HttpPlan, bytes: &[u8]) -> Step {
        let room = plan.cap.saturating_sub(self.read) as usize;
        let mut bytes = &bytes[..bytes.len().min(room)];
        self.read += bytes.len() as u32;
        while let Part::Head(head) = &mut self.part {
            match head.over(bytes) {
                Ok(None) => return self.or_capped(plan),
                Err(NotHttp) => return done(Outcome::wrong(0)),
                Ok(Some((said, used))) => {
                    bytes = &bytes[used..];
                    if let Some(end) = self.begin(plan, said) {
                        return end;
                    }
                }
            }
        }
        self.on_body(plan, bytes)
    }

    /// The other side is done.
    #[must_use]
    pub fn on_close(&self, plan: &HttpPlan) -> Outcome {
        match self.part {
            Part::ToClose => self.judge_body(plan),
            Part::Head(_) | Part::Length(_) | Part::Chunked(_) => Outcome::cut(),
        }
    }

    /// Takes a head. Interim responses are skipped; of a final one a wrong status decides at
    /// once, whatever follows it.
    fn begin(&mut self, plan: &HttpPlan, said: Said) -> Option<Step> {
        if (100..200).contains(&said.status) && said.status != 101 {
            self.part = Part::Head(Head::default());
            return None;
        }
        self.status = said.status;
        if !plan.expect.iter().any(|(from, to)| (*from..=*to).contains(&said.status)) {
            return Some(done(Outcome::wrong(said.status)));
        }
        let empty = plan.method == Method::Head || matches!(said.status, 101 | 204 | 304);
        self.part = if empty { Part::Length(0) } else { said.part };
        None
    }

    fn on_body(&mut self, plan: &HttpPlan, bytes: &[u8]) -> Step {
        let needle = plan.body.as_deref();
        let mut found = false;
        let (search, kept) = (&mut self.body, &mut self.kept);
        let mut look = |piece: &[u8]| {
            kept.iter_mut().for_each(|kept| kept.extend_from_slice(piece));
            found = found || needle.is_some_and(|needle| search.over(needle, piece));
        };
        match &mut self.part {
            Part::Head(_) => {}
            Part::ToClose => look(bytes),
            Part::Chunked(chunks) => chunks.over(bytes, look),
            Part::Length(left) => {
                let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                look(&bytes[..here]);
                *left -= here as u64;
            }
        }
        let whole = matches!(self.part, Part::Length(0) | Part::Chunked(Chunks::Done));
        if found {
            return Step::Done { outcome: Outcome::Healthy { shown: self.status }, whole };
        }
        match self.part {
            Part::Chunked(Chunks::Bad) => done(Outcome::wrong(0)),
            _ if whole => Step::Done { outcome: self.judge_body(plan), whole },
            _ => self.or_capped(plan),
        }
    }

    /// More, unless the cap has been reached: then what there is is judged.
    fn or_capped(&self, plan: &HttpPlan) -> Step {
        match self.part {
            _ if self.read < plan.cap => Step::More,
            Part::Head(_) => done(Outcome::wrong(0)),
            _ => done(self.judge_body(plan)),
        }
    }

    /// The verdict over a body in which nothing that was looked for has been found so far.
    fn judge_body(&self, plan: &HttpPlan) -> Outcome {
        match plan.body.as_deref() {
            None | Some([]) => Outcome::Healthy { shown: self.status },
            Some(_) => Outcome::wrong(self.status),
        }
    }
}

const fn done(outcome: Outcome) -> Step {
    Step::Done { outcome, whole: false }
}

/// What stands where a head should is none.
#[derive(Debug)]
struct NotHttp;

impl Head {
    /// Goes on over `bytes`: what the head says and how many of them belong to it, or nothing
    /// if there is more to come.
    fn over(&mut self, bytes: &[u8]) -> Result<Option<(Said, usize)>, NotHttp> {
        self.begins_well(bytes)?;
        let room = HEAD_CAP - self.kept.len();
        let Some(used) = self.line.end_of_head(&bytes[..bytes.len().min(room)]) else {
            if bytes.len() >= room {
                return Err(NotHttp);
            }
            self.kept.extend_from_slice(bytes);
            return Ok(None);
        };
        if self.kept.is_empty() {
            return Ok(Some((read_head(&bytes[..used])?, used)));
        }
        self.kept.extend_from_slice(&bytes[..used]);
        Ok(Some((read_head(&self.kept)?, used)))
    }

    fn begins_well(&self, bytes: &[u8]) -> Result<(), NotHttp> {
        let wanted = BEGINNING.get(self.kept.len()..).unwrap_or_default();
        let length = wanted.len().min(bytes.len());
        if wanted[..length] == bytes[..length] { Ok(()) } else { Err(NotHttp) }
    }
}

impl Line {
    /// How many of `bytes` belong to the head, once its empty line is among them.
    fn end_of_head(&mut self, bytes: &[u8]) -> Option<usize> {
        for (place, byte) in bytes.iter().enumerate() {
            *self = match (*self, byte) {
                (Self::Empty | Self::Return, b'\n') => return Some(place + 1),
                (Self::Text, b'\n') => Self::Empty,
                (Self::Empty, b'\r') => Self::Return,
                _ => Self::Text,
            };
        }
        None
    }
}

/// Reads a complete head. Fields that are written badly are passed over, as browsers do: a
/// monitor is no judge of style.
fn read_head(head: &[u8]) -> Result<Said, NotHttp> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut response = Response::new(&mut []);
    let mut parser = ParserConfig::default();
    parser
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .ignore_invalid_headers_in_responses(true);
    match parser.parse_response_with_uninit_headers(&mut response, head, &mut fields) {
        Ok(Status::Complete(length)) if length == head.len() => {}
        _ => return Err(NotHttp),
    }
    let status = response.code.filter(|code| *code >= 100).ok_or(NotHttp)?;
    Ok(Said { status, part: framing(response.headers)? })
}

/// What the fields of a head say of the body (RFC 9112, 6.3).
fn framing(fields: &[httparse::Header<'_>]) -> Result<Part, NotHttp> {
    let mut length = None;
    let mut coding: Option<&[u8]> = None;
    for field in fields {
        if field.name.eq_ignore_ascii_case("transfer-encoding") {
            coding = Some(field.value);
        } else if field.name.eq_ignore_ascii_case("content-length") {
            for part in field.value.split(|byte| *byte == b',') {
                let number = decimal(part.trim_ascii()).ok_or(NotHttp)?;
                if *length.get_or_insert(number) != number {
                    return Err(NotHttp);
                }
            }
        }
    }
    Ok(match (coding, length) {
        (Some(coding), _) if ends_chunked(coding) => Part::Chunked(Chunks::START),
        (None, Some(length)) => Part::Length(length),
        (Some(_), _) | (None, None) => Part::ToClose,
    })
}

fn ends_chunked(coding: &[u8]) -> bool {
    let last = coding.rsplit(|byte| *byte == b',').next().unwrap_or_default();
    last.trim_ascii().eq_ignore_ascii_case(b"chunked")
}

/// A number of digits only, that fits.
fn decimal(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
