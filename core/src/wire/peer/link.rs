//! One node's end of the link to another: what it takes from there is authentic, meant for this
//! start of it, and new.

use crate::bytes::{Put, Take};
use crate::node::Node;

use super::{Frame, Garbage, HEADER, MAC, MAX_PAYLOAD, VERSION, peek};

/// Why a frame is not taken. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No frame at all.
    Garbage(Garbage),
    /// From or for another node than the two of this link.
    Astray,
    /// Made with a key that is not ours.
    Key(u16),
    /// The MAC is wrong.
    Mac,
    /// A kind, or a payload of it, that this version does not know.
    Unknown(u8),
    /// Addressed to an earlier start of this node; it must be told the present one.
    Stale,
    /// Of an earlier start of its sender, seen before, or too old to know.
    Replayed,
}

/// What was taken, and what was not, since the link was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames taken.
    pub taken: u32,
    /// No frames, or from and for others, or of unknown kinds.
    pub garbage: u32,
    /// With an unknown key or a wrong MAC.
    pub unauthenticated: u32,
    /// Recorded, repeated, or for an earlier start.
    pub replayed: u32,
}

impl Counters {
    const fn count(&mut self, refused: Refused) {
        let counter = match refused {
            Refused::Garbage(_) | Refused::Astray | Refused::Unknown(_) => &mut self.garbage,
            Refused::Key(_) | Refused::Mac => &mut self.unauthenticated,
            Refused::Stale | Refused::Replayed => &mut self.replayed,
        };
        *counter = counter.saturating_add(1);
    }
}

/// What an authentic frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// For a machine of a group.
    Frame(Frame),
    /// The other greets; true: and does not know this start yet, so it wants a hello.
    Hello {
        /// Whether to answer.
        answer: bool,
    },
}

/// The link from `me` to `peer`.
#[derive(Clone, Debug)]
pub struct Link {
    me: Node,
    peer: Node,
    incarnation: u64,
    /// The peer's newest incarnation that has proven to hear this one.
    proven: u64,
    /// The one to address: as the newest hello said.
    told: u64,
    sent: u64,
    /// The highest sequence taken, and a bit for each of the 64 up to it.
    highest: u64,
    seen: u64,
    counters: Counters,
}

impl Link {
    /// A link of this start of `me`. `incarnation` is higher than that of any start before, and
    /// not zero.
    #[must_use]
    pub const fn new(me: Node, peer: Node, incarnation: u64) -> Self {
        let counters = Counters { taken: 0, garbage: 0, unauthenticated: 0, replayed: 0 };
        Self { me, peer, incarnation, proven: 0, told: 0, sent: 0, highest: 0, seen: 0, counters }
    }

    /// Whether frames to the peer's present start can be addressed.
    #[must_use]
    pub const fn is_met(&self) -> bool {
        self.told != 0
    }

    /// What was taken and what was not.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Writes `frame` into `out` ([`super::MAX_FRAME`] is enough) and returns its length. `mac`
    /// computes the MAC of what it is given under the key called `key`. `None` where it does not
    /// fit, or nobody knows yet whom to address; only a hello can be sent then.
    pub fn seal(
        &mut self,
        frame: &Frame,
        key: u16,
        out: &mut [u8],
        mac: impl FnOnce(&[u8]) -> [u8; MAC],
    ) -> Option<usize> {
        if !self.is_met() && !matches!(frame, Frame::Hello) {
            return None;
        }
        self.sent = self.sent.checked_add(1)?;
        let mut put = Put::new(out);
        put.u8(VERSION);
        put.u8(frame.kind());
        put.u8(self.me.0);
        put.u8(self.peer.0);
        put.u8(frame.group());
        put.u16(key);
        put.u64(self.incarnation);
        put.u64(self.told);
        put.u64(self.sent);
        frame.put(&mut put);
        let len = put.finish()?;
        debug_assert!(len <= HEADER + MAX_PAYLOAD, "longer than MAX_PAYLOAD");
        let (covered, rest) = out.split_at_mut_checked(len)?;
        rest.get_mut(..MAC)?.copy_from_slice(&mac(covered));
        Some(len + MAC)
    }

    /// Opens what came. `mac` computes the MAC of what it is given under the key of the id it is
    /// given; `None` where there is no such key.
    ///
    /// # Errors
    /// [`Refused`]; counted, and nothing else has changed.
    pub fn open(
        &mut self,
        bytes: &[u8],
        mac: impl FnOnce(u16, &[u8]) -> Option<[u8; MAC]>,
    ) -> Result<Opened, Refused> {
        let opened = self.judge(bytes, mac);
        match opened {
            Ok(_) => self.counters.taken = self.counters.taken.saturating_add(1),
            Err(refused) => self.counters.count(refused),
        }
        opened
    }

    fn judge(
        &mut self,
        bytes: &[u8],
        mac: impl FnOnce(u16, &[u8]) -> Option<[u8; MAC]>,
    ) -> Result<Opened, Refused> {
        let header = peek(bytes).map_err(Refused::Garbage)?;
        if (header.from, header.to) != (self.peer, self.me) {
            return Err(Refused::Astray);
        }
        let short = Refused::Garbage(Garbage::Short);
        let (covered, theirs) = bytes.split_last_chunk::<MAC>().ok_or(short)?;
        let ours = mac(header.key, covered).ok_or(Refused::Key(header.key))?;
        // Every byte is looked at, so that the time it takes tells nothing.
        let differing =
            ours.iter().zip(theirs).fold(0, |found, (one, other)| found | (one ^ other));
        if differing != 0 {
            return Err(Refused::Mac);
        }
        let (head, payload) = covered.split_at_checked(HEADER).ok_or(short)?;
        let mut from = Take::new(head);
        let (_version, kind) = (from.u8(), from.u8());
        let (_from, _to, group, _key) = (from.u8(), from.u8(), from.u8(), from.u16());
        let (incarnation, addressed, sequence) = (from.u64(), from.u64(), from.u64());
        let frame = Frame::take(kind, group, payload).ok_or(Refused::Unknown(kind))?;
        if incarnation == 0 || incarnation < self.proven {
            return Err(Refused::Replayed);
        }
        if addressed != self.incarnation {
            return self.stranger(&frame, incarnation);
        }
        if !self.is_new(incarnation, sequence) {
            return Err(Refused::Replayed);
        }
        (self.proven, self.told) = (incarnation, incarnation);
        Ok(match frame {
            Frame::Hello => Opened::Hello { answer: false },
            Frame::Message { .. } | Frame::Shared { .. } => Opened::Frame(frame),
        })
    }

    /// From one that does not know this start: a hello tells which start to address in the
    /// answer, unless a later one has already proven itself.
    fn stranger(&mut self, frame: &Frame, incarnation: u64) -> Result<Opened, Refused> {
        if !matches!(frame, Frame::Hello) {
            return Err(Refused::Stale);
        }
        if incarnation > self.proven {
            self.told = incarnation;
        }
        Ok(Opened::Hello { answer: true })
    }

    /// Notes the sequence; false where it was there before, or is older than the window.
    const fn is_new(&mut self, incarnation: u64, sequence: u64) -> bool {
        if incarnation > self.proven {
            (self.highest, self.seen) = (sequence, 1);
            return true;
        }
        if sequence > self.highest {
            let by = sequence - self.highest;
            self.seen = if by < 64 { (self.seen << by) | 1 } else { 1 };
            self.highest = sequence;
            return true;
        }
        let back = self.highest - sequence;
        if back >= 64 || self.seen & (1 << back) != 0 {
            return false;
        }
        self.seen |= 1 << back;
        true
    }
}
