//! The host's end of the line: one hello, one board, and what of it is to be believed.

use super::cobs::Raw;
use super::connection::{Connection, LinkCounters, Refused, Speaker, TRAILER, payload, write};
use super::tag::{Key, KeyId};
use super::v1::{FromBoard, ToBoard};
use super::{MAX_PAYLOAD, TAGGED};

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
        let counters = LinkCounters::NONE;
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
        write(None, Speaker::Host, hello.kind(), payload, out)
    }

    /// Writes `frame` into `out` ([`super::MAX_ENCODED`] is enough), and returns its length and
    /// counter. Sealed where there is a connection and the frame is not one that never is.
    /// `None` if it does not fit, or the connection has used up its counters.
    pub fn seal(&mut self, frame: &ToBoard, out: &mut [u8]) -> Option<(usize, u32)> {
        let mut buffer = [0; MAX_PAYLOAD];
        let payload = payload(&mut buffer, |put| frame.put(put))?;
        match (&mut self.connection, frame) {
            (None, _) | (_, ToBoard::Hello { .. } | ToBoard::Pair(_)) => {
                write(None, Speaker::Host, frame.kind(), payload, out).map(|len| (len, 0))
            }
            (Some(connection), _) => {
                let len = write(Some(connection), Speaker::Host, frame.kind(), payload, out)?;
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
