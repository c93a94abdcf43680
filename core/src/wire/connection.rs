//! A connection: what is sealed at one end and opened at the other is authentic and new.

use crate::board::Layout;
use crate::bytes::{Put, Take};

use super::cobs::Encoder;
use super::tag::{Key, KeyId, Sip};
use super::{MAX_PAYLOAD, TAGGED, VERSION};

/// Counter and tag behind a payload.
pub(super) const TRAILER: usize = 4 + 8;

/// Why a frame is not taken. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A kind, or a payload of it, that this version does not know.
    Unknown {
        /// The kind, without [`TAGGED`].
        kind: u8,
    },
    /// It would change state and has no tag, or there is no connection to judge the tag by.
    Untagged,
    /// The tag is wrong: another key, another connection, another board, or made up.
    Tag,
    /// Seen before, or older than what was seen.
    Replayed,
    /// The board has another key than we, or none.
    OtherKey(Option<KeyId>),
}

/// What one end has seen of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames whose checksum held and whose version is ours.
    pub frames: u32,
    /// Pieces between delimiters that were none.
    pub garbage: u32,
    /// Frames of an unknown kind or payload.
    pub unknown: u32,
    /// Frames without the tag they need, or with a wrong one.
    pub refused: u32,
    /// Frames seen before.
    pub replayed: u32,
}

impl LinkCounters {
    /// Nothing yet.
    pub const NONE: Self = Self { frames: 0, garbage: 0, unknown: 0, refused: 0, replayed: 0 };

    pub(super) const fn count(&mut self, refused: Refused) {
        let counter = match refused {
            Refused::Unknown { .. } => &mut self.unknown,
            Refused::Replayed => &mut self.replayed,
            Refused::Untagged | Refused::Tag | Refused::OtherKey(_) => &mut self.refused,
        };
        *counter = counter.saturating_add(1);
    }
}

impl Layout for LinkCounters {
    fn put(&self, out: &mut Put<'_>) {
        out.u32(self.frames);
        out.u32(self.garbage);
        out.u32(self.unknown);
        out.u32(self.refused);
        out.u32(self.replayed);
    }

    fn take(from: &mut Take<'_>) -> Option<Self> {
        Some(Self {
            frames: from.u32(),
            garbage: from.u32(),
            unknown: from.u32(),
            refused: from.u32(),
            replayed: from.u32(),
        })
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    Host = 0,
    Board = 1,
}

/// One connection: what its tags cover besides the frame, and how far both counters are.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// After the key, both nonces and the device.
    begun: Sip,
    pub(super) sent: u32,
    seen: u32,
}

impl Connection {
    pub(super) fn new(key: &Key, host: u64, board: u64, device: u64) -> Self {
        let mut begun = Sip::new(key);
        for part in [host, board, device] {
            begun.bytes(&part.to_le_bytes());
        }
        Self { begun, sent: 0, seen: 0 }
    }

    fn tag(&self, speaker: Speaker, kind: u8, payload: &[u8], counter: u32) -> u64 {
        let mut sip = self.begun.clone();
        sip.byte(speaker as u8);
        sip.byte(VERSION);
        sip.byte(kind);
        sip.bytes(payload);
        sip.bytes(&counter.to_le_bytes());
        sip.finish()
    }

    /// The number the next feed must answer: nobody without the key can know it before.
    pub(super) fn challenge(&self, number: u32) -> u32 {
        let mut sip = self.begun.clone();
        sip.bytes(b"challenge");
        sip.bytes(&number.to_le_bytes());
        sip.finish() as u32
    }

    /// The payload and counter of a tagged frame, and whether the frame is new.
    pub(super) fn open<'a>(
        &mut self,
        speaker: Speaker,
        kind: u8,
        body: &'a [u8],
    ) -> Result<(&'a [u8], u32), Refused> {
        let (payload, trailer) = body.split_last_chunk::<TRAILER>().ok_or(Refused::Tag)?;
        let mut trailer = Take::new(trailer);
        let (counter, tag) = (trailer.u32(), trailer.u64());
        // One comparison of whole words: how long it takes says nothing.
        if tag ^ self.tag(speaker, kind, payload, counter) != 0 {
            return Err(Refused::Tag);
        }
        if counter <= self.seen {
            return Err(Refused::Replayed);
        }
        self.seen = counter;
        Ok((payload, counter))
    }
}

/// Writes a frame into `out`, sealed if there is a connection to seal it for.
pub(super) fn write(
    connection: Option<&mut Connection>,
    speaker: Speaker,
    kind: u8,
    payload: &[u8],
    out: &mut [u8],
) -> Option<usize> {
    let mut kind = kind;
    let mut seal = None;
    if let Some(connection) = connection {
        // A connection of four thousand million frames is over: no counter twice.
        let counter = connection.sent.checked_add(1)?;
        connection.sent = counter;
        kind |= TAGGED;
        seal = Some((counter, connection.tag(speaker, kind, payload, counter)));
    }
    let mut frame = Encoder::new(out);
    frame.byte(kind);
    frame.bytes(payload);
    if let Some((counter, tag)) = seal {
        frame.bytes(&counter.to_le_bytes());
        frame.bytes(&tag.to_le_bytes());
    }
    frame.finish()
}

/// Payload bytes of a frame, on the stack.
pub(super) fn payload(
    buffer: &mut [u8; MAX_PAYLOAD],
    put: impl FnOnce(&mut Put<'_>),
) -> Option<&[u8]> {
    let mut out = Put::new(buffer);
    put(&mut out);
    let len = out.finish()?;
    buffer.get(..len)
}
