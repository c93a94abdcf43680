//! The two ends of a connection: what is sealed here and opened there is authentic and new.

use crate::board::Layout;
use crate::bytes::{Put, Take};

use super::cobs::{Encoder, Raw};
use super::tag::{Key, KeyId, Sip};
use super::v1::{FromBoard, ToBoard};
use super::{MAX_PAYLOAD, TAGGED, VERSION};

/// Counter and tag behind a payload.
const TRAILER: usize = 4 + 8;

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
    const fn count(&mut self, refused: Refused) {
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
            frames: from.u32()?,
            garbage: from.u32()?,
            unknown: from.u32()?,
            refused: from.u32()?,
            replayed: from.u32()?,
        })
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaker {
    Host = 0,
    Board = 1,
}

/// One connection: what its tags cover besides the frame, and how far both counters are.
#[derive(Clone, Debug)]
struct Connection {
    /// After the key, both nonces and the device.
    begun: Sip,
    sent: u32,
    seen: u32,
}

impl Connection {
    fn new(key: &Key, host: u64, board: u64, device: u64) -> Self {
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
    fn challenge(&self, number: u32) -> u32 {
        let mut sip = self.begun.clone();
        sip.bytes(b"challenge");
        sip.bytes(&number.to_le_bytes());
        sip.finish() as u32
    }

    /// The payload and counter of a tagged frame, and whether the frame is new.
    fn open<'a>(
        &mut self,
        speaker: Speaker,
        kind: u8,
        body: &'a [u8],
    ) -> Result<(&'a [u8], u32), Refused> {
        let (payload, trailer) = body.split_last_chunk::<TRAILER>().ok_or(Refused::Tag)?;
        let mut trailer = Take::new(trailer);
        let (Some(counter), Some(tag)) = (trailer.u32(), trailer.u64()) else {
            return Err(Refused::Tag);
        };
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
fn write(
    connection: Option<(&mut Connection, Speaker)>,
    kind: u8,
    payload: &[u8],
    out: &mut [u8],
) -> Option<usize> {
    let mut frame = Encoder::new(out);
    let Some((connection, speaker)) = connection else {
        frame.byte(kind);
        payload.iter().for_each(|byte| frame.byte(*byte));
        return frame.finish();
    };
    // A connection of four thousand million frames is over: no counter twice.
    let counter = connection.sent.checked_add(1)?;
    connection.sent = counter;
    let kind = kind | TAGGED;
    frame.byte(kind);
    payload.iter().for_each(|byte| frame.byte(*byte));
    let tag = connection.tag(speaker, kind, payload, counter);
    counter.to_le_bytes().iter().for_each(|byte| frame.byte(*byte));
    tag.to_le_bytes().iter().for_each(|byte| frame.byte(*byte));
    frame.finish()
}

/// Payload bytes of a frame, on the stack.
fn payload(buffer: &mut [u8; MAX_PAYLOAD], put: impl FnOnce(&mut Put<'_>)) -> Option<&[u8]> {
    let mut out = Put::new(buffer);
    put(&mut out);
    let len = out.finish()?;
    buffer.get(..len)
}

/// A frame from the host, and how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The frame.
    pub frame: ToBoard,
    /// Its counter, for [`FromBoard::Answer`]; zero if it had no tag.
    pub counter: u32,
    /// It is the first of a new connection.
    pub fresh: bool,
}

/// The board's end of the line.
#[derive(Clone, Debug)]
pub struct BoardEnd {
    key: Option<Key>,
    device: u64,
    current: Option<Connection>,
    /// After a hello, until its first authentic frame.
    next: Option<Connection>,
    challenges: u32,
    counters: LinkCounters,
}

impl BoardEnd {
    /// An end without a connection. Without a key nothing is ever authentic.
    #[must_use]
    pub const fn new(key: Option<Key>, device: u64) -> Self {
        let counters = LinkCounters { frames: 0, garbage: 0, unknown: 0, refused: 0, replayed: 0 };
        Self { key, device, current: None, next: None, challenges: 0, counters }
    }

    /// Another key; ends every connection.
    pub fn set_key(&mut self, key: Key) {
        self.key = Some(key);
        self.current = None;
        self.next = None;
    }

    /// What may be shown of the key.
    #[must_use]
    pub fn key_id(&self) -> Option<KeyId> {
        self.key.as_ref().map(Key::id)
    }

    /// Whether a host has proven itself.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.current.is_some()
    }

    /// Opens a frame. What changes state is returned only if it is authentic and new; the rest
    /// is marked by a counter of zero if it is not.
    ///
    /// # Errors
    /// [`Refused`]; counted, and nothing has changed.
    pub fn open(&mut self, raw: &Raw<'_>) -> Result<Opened, Refused> {
        self.counters.frames = self.counters.frames.saturating_add(1);
        let opened = self.judge(raw);
        if let Err(refused) = opened {
            self.counters.count(refused);
        }
        opened
    }

    fn judge(&mut self, raw: &Raw<'_>) -> Result<Opened, Refused> {
        let kind = raw.kind & !TAGGED;
        let unknown = Refused::Unknown { kind };
        if raw.kind & TAGGED == 0 {
            let frame = ToBoard::take(kind, raw.body).ok_or(unknown)?;
            let opened = Opened { frame, counter: 0, fresh: false };
            return if frame.goes_untagged() { Ok(opened) } else { Err(Refused::Untagged) };
        }
        let (fresh, (payload, counter)) = self.authenticate(raw)?;
        let frame = ToBoard::take(kind, payload).ok_or(unknown)?;
        match frame {
            // Tagged, these two would tell a connection what only the line may say.
            ToBoard::Hello { .. } | ToBoard::Pair(_) => Err(unknown),
            _ => Ok(Opened { frame, counter, fresh }),
        }
    }

    fn authenticate<'a>(&mut self, raw: &Raw<'a>) -> Result<(bool, (&'a [u8], u32)), Refused> {
        let opened = match &mut self.current {
            Some(connection) => connection.open(Speaker::Host, raw.kind, raw.body),
            None => Err(Refused::Tag),
        };
        if opened != Err(Refused::Tag) {
            return opened.map(|opened| (false, opened));
        }
        let Some(connection) = &mut self.next else { return Err(Refused::Tag) };
        let opened = connection.open(Speaker::Host, raw.kind, raw.body)?;
        self.current = self.next.take();
        self.challenges = 0;
        Ok((true, opened))
    }

    /// Writes the answer to a hello of `host`'s nonce into `out`; `nonce` is the board's own.
    /// The connection under way goes on until the new one has proven itself.
    pub fn answer_hello(&mut self, host: u64, nonce: u64, out: &mut [u8]) -> Option<usize> {
        let mut next = self.key.map(|key| Connection::new(&key, host, nonce, self.device));
        let challenge = FromBoard::Challenge {
            device: self.device,
            nonce,
            key: self.key_id(),
            challenge: next.as_ref().map_or(0, |next| next.challenge(0)),
        };
        let mut buffer = [0; MAX_PAYLOAD];
        let payload = payload(&mut buffer, |put| challenge.put(put))?;
        let seal = next.as_mut().map(|next| (next, Speaker::Board));
        let written = write(seal, challenge.kind(), payload, out);
        self.next = next;
        written
    }

    /// What the next feed must answer.
    #[must_use]
    pub fn challenge(&self) -> u32 {
        self.current.as_ref().map_or(0, |current| current.challenge(self.challenges))
    }

    /// Whether `answer` answers the newest challenge. If so there is a new one; if not the old
    /// one stays, so that a status tells it again.
    pub fn answers(&mut self, answer: u32) -> bool {
        let right = self.current.is_some() && answer == self.challenge();
        if right {
            self.challenges = self.challenges.wrapping_add(1);
        }
        right
    }

    /// Writes `frame` into `out` ([`super::MAX_ENCODED`] is enough), sealed where there is a
    /// connection. `None` if it does not fit, or the connection has used up its counters.
    pub fn seal(&mut self, frame: &FromBoard, out: &mut [u8]) -> Option<usize> {
        let mut buffer = [0; MAX_PAYLOAD];
        let payload = payload(&mut buffer, |put| frame.put(put))?;
        let seal = self.current.as_mut().map(|current| (current, Speaker::Board));
        write(seal, frame.kind(), payload, out)
    }

    /// What was seen of the line; `garbage` is the decoder's to add.
    #[must_use]
    pub const fn counters(&self) -> LinkCounters {
        self.counters
    }
}

/// The host's end of the line, for one hello: to try again, make another with another nonce.
#[derive(Clone, Debug)]
pub struct HostEnd {
    key: Key,
    nonce: u64,
    connection: Option<Connection>,
    device: u64,
    counters: LinkCounters,
}

impl HostEnd {
    /// An end without a connection; `nonce` was never used before.
    #[must_use]
    pub const fn new(key: Key, nonce: u64) -> Self {
        let counters = LinkCounters { frames: 0, garbage: 0, unknown: 0, refused: 0, replayed: 0 };
        Self { key, nonce, connection: None, device: 0, counters }
    }

    /// The number of the board that has proven itself.
    #[must_use]
    pub const fn device(&self) -> Option<u64> {
        if self.connection.is_some() { Some(self.device) } else { None }
    }

    /// What may be shown of the key.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key.id()
    }

    /// Writes the hello into `out`.
    pub fn hello(&self, out: &mut [u8]) -> Option<usize> {
        let hello = ToBoard::Hello { nonce: self.nonce };
        let mut buffer = [0; MAX_PAYLOAD];
        let payload = payload(&mut buffer, |put| hello.put(put))?;
        write(None, hello.kind(), payload, out)
    }

    /// Writes `frame` into `out` ([`super::MAX_ENCODED`] is enough), and returns its length and
    /// counter. Sealed where there is a connection and the frame is not one that never is.
    /// `None` if it does not fit, or the connection has used up its counters.
    pub fn seal(&mut self, frame: &ToBoard, out: &mut [u8]) -> Option<(usize, u32)> {
        let mut buffer = [0; MAX_PAYLOAD];
        let payload = payload(&mut buffer, |put| frame.put(put))?;
        match (&mut self.connection, frame) {
            (None, _) | (_, ToBoard::Hello { .. } | ToBoard::Pair(_)) => {
                write(None, frame.kind(), payload, out).map(|len| (len, 0))
            }
            (Some(connection), _) => {
                let len = write(Some((connection, Speaker::Host)), frame.kind(), payload, out)?;
                Some((len, connection.sent))
            }
        }
    }

    /// Opens a frame. Once there is a connection only authentic and new frames are returned;
    /// before, also what a board without a key says, which proves nothing.
    ///
    /// # Errors
    /// [`Refused`]; counted, and nothing has changed.
    pub fn open(&mut self, raw: &Raw<'_>) -> Result<FromBoard, Refused> {
        self.counters.frames = self.counters.frames.saturating_add(1);
        let opened = self.judge(raw);
        if let Err(refused) = opened {
            self.counters.count(refused);
        }
        opened
    }

    fn judge(&mut self, raw: &Raw<'_>) -> Result<FromBoard, Refused> {
        let kind = raw.kind & !TAGGED;
        let unknown = Refused::Unknown { kind };
        if let Some(connection) = &mut self.connection {
            if raw.kind & TAGGED == 0 {
                return Err(Refused::Untagged);
            }
            let (payload, _) = connection.open(Speaker::Board, raw.kind, raw.body)?;
            return FromBoard::take(kind, payload).ok_or(unknown);
        }
        if raw.kind & TAGGED == 0 {
            return FromBoard::take(kind, raw.body).ok_or(unknown);
        }
        // The first tagged frame must be a challenge: it names what its own tag covers.
        let (payload, _) = raw.body.split_last_chunk::<TRAILER>().ok_or(Refused::Tag)?;
        let frame = FromBoard::take(kind, payload).ok_or(unknown)?;
        let FromBoard::Challenge { device, nonce, key, .. } = frame else {
            return Err(Refused::Tag);
        };
        if key != Some(self.key.id()) {
            return Err(Refused::OtherKey(key));
        }
        let mut connection = Connection::new(&self.key, self.nonce, nonce, device);
        connection.open(Speaker::Board, raw.kind, raw.body)?;
        self.connection = Some(connection);
        self.device = device;
        Ok(frame)
    }

    /// What was seen of the line; `garbage` is the decoder's to add.
    #[must_use]
    pub const fn counters(&self) -> LinkCounters {
        self.counters
    }
}
