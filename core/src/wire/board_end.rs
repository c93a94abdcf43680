//! The board's end of the line: hellos, challenges, and what of the host is to be believed.

use super::cobs::Raw;
use super::connection::{Connection, LinkCounters, Refused, Speaker, payload, write};
use super::tag::{Key, KeyId};
use super::v1::{FromBoard, ToBoard, Write};
use super::{MAX_PAYLOAD, TAGGED};
use crate::bytes::Put;

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

impl Opened {
    /// Room for one; it says nothing.
    pub const NONE: Self = Self { frame: ToBoard::Hello { nonce: 0 }, counter: 0, fresh: false };
}

/// The board's end of the line.
// In this order because a Cortex-M0 reaches what is near by one instruction.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct BoardEnd {
    challenges: u32,
    counters: LinkCounters,
    device: u64,
    key: Option<Key>,
    current: Option<Connection>,
    /// After a hello, until its first authentic frame.
    next: Option<Connection>,
}

impl BoardEnd {
    /// An end without a connection. Without a key nothing is ever authentic.
    #[must_use]
    pub const fn new(key: Option<Key>, device: u64) -> Self {
        let counters = LinkCounters::NONE;
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
        let mut opened = Opened::NONE;
        self.open_into(raw, &mut opened).map(|()| opened)
    }

    /// The same in the caller's place, which is any where the frame is refused.
    ///
    /// # Errors
    /// As above.
    pub fn open_into(&mut self, raw: &Raw<'_>, opened: &mut Opened) -> Result<(), Refused> {
        self.counters.frames = self.counters.frames.saturating_add(1);
        let judged = self.judge(raw, opened);
        if let Err(refused) = judged {
            self.counters.count(refused);
        }
        judged
    }

    fn judge(&mut self, raw: &Raw<'_>, opened: &mut Opened) -> Result<(), Refused> {
        let (kind, tagged) = (raw.kind & !TAGGED, raw.kind & TAGGED != 0);
        let mut payload = raw.body;
        (opened.counter, opened.fresh) = (0, false);
        if tagged {
            (opened.fresh, (payload, opened.counter)) = self.authenticate(raw)?;
        }
        let frame = &mut opened.frame;
        let known = frame.take_into(kind, payload).is_some();
        // Tagged, these two would tell a connection what only the line may say.
        let by_line = matches!(frame, ToBoard::Hello { .. } | ToBoard::Pair(_));
        if !known || (tagged && by_line) {
            return Err(Refused::Unknown { kind });
        }
        if tagged || frame.goes_untagged() { Ok(()) } else { Err(Refused::Untagged) }
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
        self.next = self.key.as_ref().map(|key| Connection::new(key, host, nonce, self.device));
        let key = self.key_id();
        let challenge = self.next.as_ref().map_or(0, |next| next.challenge(0));
        let mut buffer = [0; MAX_PAYLOAD];
        let mut put = Put::new(&mut buffer);
        let kind = Write::challenge(&mut put, self.device, nonce, key, challenge);
        let length = put.finish()?;
        write(self.next.as_mut(), Speaker::Board, kind, buffer.get(..length)?, out)
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
        self.seal_payload(frame.kind(), payload, out)
    }

    /// The same for a frame that was never made, of what [`super::v1::Write`] has written of it.
    pub fn seal_payload(&mut self, kind: u8, payload: &[u8], out: &mut [u8]) -> Option<usize> {
        write(self.current.as_mut(), Speaker::Board, kind, payload, out)
    }

    /// What was seen of the line; `garbage` is the decoder's to add.
    #[must_use]
    pub const fn counters(&self) -> LinkCounters {
        self.counters
    }
}
