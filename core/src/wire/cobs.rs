//! Frames on a line of bytes: COBS between zero delimiters, a CRC-32 at the end.
//!
//! This is the part that no version changes: a frame whose checksum holds begins with the version
//! byte, and a version that is not ours is told, not guessed at.

use crate::bytes::Crc32;

use super::{MAX_FRAME, VERSION};

// A block of COBS then always ends with a zero or with the frame, never for want of room.
const _: () = assert!(MAX_FRAME < 254);

/// What is left of a frame around its version, kind and body.
const CRC: usize = 4;

/// Why bytes between two delimiters are no frame. Nothing was made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// Longer than any frame.
    Oversize,
    /// Not COBS, or too short for a frame.
    Malformed,
    /// The checksum does not hold.
    Checksum,
    /// A frame of another version.
    Version(u8),
}

/// A frame as it came: its checksum holds and its version is ours; nobody has asked yet whether
/// it is authentic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    /// The kind, with [`super::TAGGED`] in it where a tag follows the payload.
    pub kind: u8,
    /// Everything between the kind and the checksum.
    pub body: &'a [u8],
}

impl<'a> Raw<'a> {
    fn read(frame: &'a [u8]) -> Result<Self, Garbage> {
        let (covered, crc) = frame.split_last_chunk::<CRC>().ok_or(Garbage::Malformed)?;
        let (version, rest) = covered.split_first().ok_or(Garbage::Malformed)?;
        if crate::bytes::crc32(covered) != u32::from_le_bytes(*crc) {
            return Err(Garbage::Checksum);
        }
        if *version != VERSION {
            return Err(Garbage::Version(*version));
        }
        let (kind, body) = rest.split_first().ok_or(Garbage::Malformed)?;
        Ok(Self { kind: *kind, body })
    }
}

/// Finds frames in a line of bytes, one byte at a time, in a buffer of fixed size.
///
/// After garbage of any kind it is in step again with the next delimiter.
// In this order because a Cortex-M0 reaches what is near by one instruction.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Decoder {
    /// Bytes left in the block; with none left the next byte is a code.
    left: u8,
    /// A zero belongs between the last block and the next.
    zero: bool,
    /// The bytes since the last delimiter: none, some, or more than fit.
    seen: Seen,
    len: usize,
    garbage: u32,
    buffer: [u8; MAX_FRAME],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Nothing,
    Some,
    TooMany,
}

impl Decoder {
    /// A decoder in front of a frame.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buffer: [0; MAX_FRAME],
            len: 0,
            left: 0,
            zero: false,
            seen: Seen::Nothing,
            garbage: 0,
        }
    }

    /// Takes the next byte. A delimiter ends a frame; delimiters in a row are nothing.
    pub fn push(&mut self, byte: u8) -> Option<Result<Raw<'_>, Garbage>> {
        if byte != 0 {
            self.take(byte);
            return None;
        }
        let (seen, cut, len) = (self.seen, self.left > 0, self.len);
        self.len = 0;
        self.left = 0;
        self.zero = false;
        self.seen = Seen::Nothing;
        let read = match seen {
            Seen::Nothing => return None,
            Seen::TooMany => Err(Garbage::Oversize),
            Seen::Some if cut => Err(Garbage::Malformed),
            Seen::Some => match self.buffer.get(..len) {
                Some(frame) => Raw::read(frame),
                None => Err(Garbage::Oversize),
            },
        };
        if read.is_err() {
            self.garbage = self.garbage.saturating_add(1);
        }
        Some(read)
    }

    /// How much garbage there was, in pieces between delimiters.
    #[must_use]
    pub const fn garbage(&self) -> u32 {
        self.garbage
    }

    fn take(&mut self, byte: u8) {
        if self.seen == Seen::TooMany {
            return;
        }
        self.seen = Seen::Some;
        if self.left > 0 {
            self.left = self.left.wrapping_sub(1);
            self.store(byte);
            return;
        }
        if self.zero {
            self.store(0);
        }
        self.left = byte.wrapping_sub(1);
        self.zero = true;
    }

    fn store(&mut self, byte: u8) {
        match self.buffer.get_mut(self.len) {
            Some(slot) => {
                *slot = byte;
                self.len = self.len.wrapping_add(1);
            }
            None => self.seen = Seen::TooMany,
        }
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes one frame into a buffer of the caller's, byte by byte.
#[derive(Debug)]
pub(super) struct Encoder<'a> {
    out: &'a mut [u8],
    at: usize,
    /// Where the code of the block under way belongs.
    code_at: usize,
    code: u8,
    crc: Crc32,
    short: bool,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        let mut encoder = Self { out, at: 1, code_at: 0, code: 1, crc: Crc32::NEW, short: false };
        encoder.byte(VERSION);
        encoder
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.crc.byte(byte);
        self.push(byte);
    }

    /// Appends bytes of the frame.
    #[inline(never)]
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.byte(*byte));
    }

    /// Adds checksum and delimiter; the length, or `None` if it did not fit.
    pub(super) fn finish(mut self) -> Option<usize> {
        for byte in self.crc.value().to_le_bytes() {
            self.push(byte);
        }
        self.end_block();
        // The place reserved for the next code takes the delimiter.
        self.write(self.code_at, 0);
        if self.short { None } else { Some(self.at) }
    }

    fn push(&mut self, byte: u8) {
        if byte == 0 {
            self.end_block();
            return;
        }
        self.write(self.at, byte);
        self.at = self.at.wrapping_add(1);
        self.code = self.code.wrapping_add(1);
    }

    fn end_block(&mut self) {
        self.write(self.code_at, self.code);
        self.code_at = self.at;
        self.code = 1;
        self.at = self.at.wrapping_add(1);
    }

    fn write(&mut self, at: usize, byte: u8) {
        match self.out.get_mut(at) {
            Some(slot) => *slot = byte,
            None => self.short = true,
        }
    }
}
