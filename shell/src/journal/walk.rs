//! Reading the bytes of one generation, record by record, up to what cannot be read.

use giveover_core::time::Instant;

use super::VERSION;
use super::frame::{Framer, HEAD, find_frame, frame_at, split_record};
use super::item::{Item, ItemError};

/// What the first frame of a generation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The version that wrote it.
    pub(super) version: u8,
    /// The number of the first record behind the snapshot.
    pub(super) first: u64,
    /// How many records the snapshot has.
    pub(super) snapshot: u32,
}

/// Behind the version byte; so that a person who looks at the file knows what it is.
const TITLE: &[u8] = b"giveover journal\n";

impl Header {
    /// Writes the header as a frame of its own. The version stands first in every version.
    pub(super) fn write(self, framer: &mut Framer) {
        let mut payload = vec![self.version];
        payload.extend_from_slice(TITLE);
        payload.extend_from_slice(&self.first.to_le_bytes());
        payload.extend_from_slice(&self.snapshot.to_le_bytes());
        framer.push_frame(&payload);
    }

    fn read(payload: &[u8]) -> Result<Self, FlawKind> {
        let (version, rest) = payload.split_first().ok_or(FlawKind::Damaged)?;
        if *version > VERSION {
            return Err(FlawKind::Newer(*version));
        }
        let fields = || {
            let (first, rest) = rest.strip_prefix(TITLE)?.split_first_chunk::<8>()?;
            let (snapshot, rest) = rest.split_first_chunk::<4>()?;
            let header = Self {
                version: *version,
                first: u64::from_le_bytes(*first),
                snapshot: u32::from_le_bytes(*snapshot),
            };
            rest.is_empty().then_some(header)
        };
        fields().ok_or(FlawKind::Damaged)
    }
}

/// One record and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its number; for parts of a snapshot, that of the first record behind it.
    pub(super) seq: u64,
    /// It is part of the snapshot the generation begins with.
    pub(super) in_snapshot: bool,
    /// What it holds.
    pub(super) item: Item,
}

/// Where reading ended before the file did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) kind: FlawKind,
    /// How far everything was whole.
    pub(super) at: usize,
    /// What could not be used.
    pub(super) lost: Lost,
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlawKind {
    /// The last write was cut off: nothing whole follows.
    Torn,
    /// Something is wrong, and more follows.
    Damaged,
    /// Written by a newer version.
    Newer(u8),
}

/// What could not be used of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Bytes from the flaw to the end.
    pub bytes: u64,
    /// Records in them that are whole but stand behind the flaw.
    pub records: u64,
    /// When the first of those was written.
    pub from: Option<Instant>,
    /// When the last was.
    pub until: Option<Instant>,
}

/// A walk over the records of one generation.
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    header: Header,
    payload: &'a [u8],
    /// Where the frame of `payload` begins, and the next one.
    frame: usize,
    next: usize,
    count: u64,
    ended: bool,
}

impl<'a> Walk<'a> {
    /// Reads the header.
    pub(super) fn begin(bytes: &'a [u8]) -> Result<Self, Flaw> {
        let Some((payload, next)) = frame_at(bytes, 0) else {
            return Err(Flaw { kind: FlawKind::Damaged, at: 0, lost: lost(bytes, 0) });
        };
        let header =
            Header::read(payload).map_err(|kind| Flaw { kind, at: 0, lost: lost(bytes, next) })?;
        Ok(Self { bytes, header, payload: &[], frame: next, next, count: 0, ended: false })
    }

    /// The header.
    pub(super) const fn header(&self) -> Header {
        self.header
    }

    /// Where the last whole frame ends, as far as was read.
    pub(super) const fn whole(&self) -> usize {
        self.next
    }

    /// Whether all of the snapshot was read.
    pub(super) const fn is_past_snapshot(&self) -> bool {
        self.count >= self.header.snapshot as u64
    }

    /// The number of the record that comes next.
    pub(super) const fn seq(&self) -> u64 {
        let past = self.count.saturating_sub(self.header.snapshot as u64);
        self.header.first.saturating_add(past)
    }

    fn take(&mut self) -> Result<Option<Record>, FlawKind> {
        if self.payload.is_empty() {
            match frame_at(self.bytes, self.next) {
                Some((payload, next)) => {
                    (self.payload, self.frame, self.next) = (payload, self.next, next);
                }
                None if self.next == self.bytes.len() => return Ok(None),
                None if find_frame(self.bytes, self.next).is_some() => {
                    return Err(FlawKind::Damaged);
                }
                None => return Err(FlawKind::Torn),
            }
        }
        let (record, rest) = split_record(self.payload).ok_or(FlawKind::Damaged)?;
        let item = Item::decode(record).map_err(|error| match error {
            ItemError::Newer => FlawKind::Newer(self.header.version),
            ItemError::Malformed => FlawKind::Damaged,
        })?;
        let in_snapshot = !self.is_past_snapshot();
        let record = Record { seq: self.seq(), in_snapshot, item };
        self.payload = rest;
        self.count += 1;
        Ok(Some(record))
    }

    fn flaw(&self, kind: FlawKind) -> Flaw {
        // a frame that is whole but holds nonsense is not whole after all
        let nonsense = !self.payload.is_empty();
        let at = if nonsense { self.frame } else { self.next };
        Flaw {
            kind,
            at,
            lost: Lost { bytes: (self.bytes.len() - at) as u64, ..lost(self.bytes, self.next) },
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Record, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.take() {
            Ok(Some(record)) => Some(Ok(record)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(kind) => {
                self.ended = true;
                Some(Err(self.flaw(kind)))
            }
        }
    }
}

/// What lies behind `from`, as far as it can be told.
fn lost(bytes: &[u8], from: usize) -> Lost {
    let mut lost = Lost { bytes: bytes.len().saturating_sub(from) as u64, ..Lost::default() };
    let mut at = from;
    while let Some(start) = find_frame(bytes, at) {
        let Some((mut payload, next)) = frame_at(bytes, start) else { break };
        while let Some((record, rest)) = split_record(payload) {
            let Ok(item) = Item::decode(record) else { break };
            lost.records += 1;
            lost.from = lost.from.or(Some(item.at()));
            lost.until = Some(item.at());
            payload = rest;
        }
        at = next.max(start + HEAD);
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::item::encode_note;
    use crate::journal::note::Note;

    fn generation(snapshot: u32, frames: u64) -> Vec<u8> {
        let mut framer = Framer::default();
        Header { version: VERSION, first: 40, snapshot }.write(&mut framer);
        for ms in 0..frames {
            framer.push(&encode_note(Instant::from_millis(ms), &Note::Ended));
            framer.seal();
        }
        framer.bytes().to_vec()
    }

    #[test]
    fn records_are_numbered_behind_the_snapshot() {
        let bytes = generation(2, 4);
        let walk = Walk::begin(&bytes).expect("a header");
        let numbers: Vec<_> =
            walk.map(|record| record.map(|record| (record.seq, record.in_snapshot))).collect();
        let expected = [Ok((40, true)), Ok((40, true)), Ok((40, false)), Ok((41, false))];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn damage_says_what_lies_behind_it() {
        let mut bytes = generation(0, 4);
        let (_, first) = frame_at(&bytes, 0).expect("the header");
        let (_, second) = frame_at(&bytes, first).expect("a frame");
        bytes[second + 3] ^= 4;
        let mut walk = Walk::begin(&bytes).expect("a header");
        assert!(walk.next().is_some_and(|record| record.is_ok()));
        let flaw = walk.next().expect("something").expect_err("a flaw");
        let lost = Lost {
            bytes: (bytes.len() - second) as u64,
            records: 2,
            from: Some(Instant::from_millis(2)),
            until: Some(Instant::from_millis(3)),
        };
        assert_eq!(flaw, Flaw { kind: FlawKind::Damaged, at: second, lost });
        assert_eq!(walk.next(), None);
    }

    #[test]
    fn a_cut_is_torn_and_a_newer_version_is_known() {
        let bytes = generation(0, 1);
        let cut = &bytes[..bytes.len() - 1];
        let flaw = Walk::begin(cut).expect("a header").next().expect("a flaw").expect_err("torn");
        assert_eq!(flaw.kind, FlawKind::Torn);
        let mut framer = Framer::default();
        framer.push_frame(&[VERSION + 1, 1, 2, 3]);
        let flaw = Walk::begin(framer.bytes()).err().expect("not ours");
        assert_eq!(flaw.kind, FlawKind::Newer(VERSION + 1));
    }
}
