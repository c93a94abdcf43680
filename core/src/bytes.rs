//! Bytes in a fixed layout, little-endian, and the checksum over them.
//!
//! Written so that a compiler can see that nothing here panics: no index, no slice that could be
//! out of range, no length to trust.

use crate::time::{Instant, Span};

/// Writes numbers one after the other into a buffer of the caller's.
#[derive(Debug)]
pub struct Put<'a> {
    left: &'a mut [u8],
    written: usize,
    short: bool,
}

impl<'a> Put<'a> {
    /// A writer at the beginning of `out`.
    pub const fn new(out: &'a mut [u8]) -> Self {
        Self { left: out, written: 0, short: false }
    }

    /// Appends one byte.
    #[inline(never)]
    pub fn u8(&mut self, value: u8) {
        match core::mem::take(&mut self.left).split_first_mut() {
            Some((first, rest)) => {
                *first = value;
                self.left = rest;
                self.written = self.written.saturating_add(1);
            }
            None => self.short = true,
        }
    }

    /// Appends two bytes.
    #[inline(never)]
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends four bytes.
    #[inline(never)]
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends eight bytes.
    #[inline(never)]
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a span's four bytes.
    #[inline(never)]
    pub fn span(&mut self, value: Span) {
        self.u32(value.as_millis());
    }

    /// Appends an instant's eight bytes.
    #[inline(never)]
    pub fn instant(&mut self, value: Instant) {
        self.u64(value.as_millis());
    }

    /// Appends `bytes` as they are.
    #[inline(never)]
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.u8(*byte);
        }
    }

    /// How many bytes were written; `None` if they did not all fit.
    #[must_use]
    pub const fn finish(self) -> Option<usize> {
        if self.short { None } else { Some(self.written) }
    }
}

/// Reads numbers one after the other.
///
/// Past the end everything is zero, and [`Take::end`] says so once, at the end: a question at
/// every number would be most of a board's code for reading.
#[derive(Clone, Debug)]
pub struct Take<'a> {
    left: &'a [u8],
    wrong: bool,
}

impl<'a> Take<'a> {
    /// A reader at the beginning of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes, wrong: false }
    }

    /// The next byte.
    #[inline(never)]
    pub fn u8(&mut self) -> u8 {
        match self.left.split_first() {
            Some((first, rest)) => {
                self.left = rest;
                *first
            }
            None => {
                self.wrong = true;
                0
            }
        }
    }

    /// The next `N` bytes.
    #[inline(never)]
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.u8();
        }
        bytes
    }

    /// The next byte, which must be 0 or 1.
    #[inline(never)]
    pub fn bool(&mut self) -> bool {
        let byte = self.u8();
        self.wrong |= byte > 1;
        byte == 1
    }

    /// The next two bytes.
    #[inline(never)]
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// The next four bytes.
    #[inline(never)]
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// The next eight bytes.
    #[inline(never)]
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// The next four bytes as a span.
    #[inline(never)]
    pub fn span(&mut self) -> Span {
        Span::from_millis(self.u32())
    }

    /// The next eight bytes as an instant.
    #[inline(never)]
    pub fn instant(&mut self) -> Instant {
        Instant::from_millis(self.u64())
    }

    /// Whether nothing is left.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// `value`, if nothing was wrong so far.
    pub const fn sound<T: Copy>(&self, value: T) -> Option<T> {
        if self.wrong { None } else { Some(value) }
    }

    /// `value`, if everything was there, and everything has been read: what is left over is as
    /// wrong as what was missing.
    pub fn end<T>(&self, value: T) -> Option<T> {
        if self.wrong || !self.left.is_empty() { None } else { Some(value) }
    }
}

/// To bytes or from them. A layout that is said once, field by field, serves both ways and cannot
/// come to differ between them; it is also half the code, of which a board has little room.
#[derive(Debug)]
pub enum Way<'w, 'b> {
    /// Fields are written, and stay as they are.
    Put(&'w mut Put<'b>),
    /// Fields become what is read.
    Take(&'w mut Take<'b>),
}

impl Way<'_, '_> {
    /// One byte.
    #[inline(never)]
    pub fn u8(&mut self, value: &mut u8) {
        match self {
            Self::Put(out) => out.u8(*value),
            Self::Take(from) => *value = from.u8(),
        }
    }

    /// Bytes as they are.
    #[inline(never)]
    pub fn bytes(&mut self, values: &mut [u8]) {
        values.iter_mut().for_each(|value| self.u8(value));
    }

    /// One byte, which must be 0 or 1.
    #[inline(never)]
    pub fn bool(&mut self, value: &mut bool) {
        let mut byte = u8::from(*value);
        self.u8(&mut byte);
        *value = byte == 1;
        if byte > 1 {
            self.refuse();
        }
    }

    /// Two bytes.
    #[inline(never)]
    pub fn u16(&mut self, value: &mut u16) {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes);
        *value = u16::from_le_bytes(bytes);
    }

    /// Four bytes.
    #[inline(never)]
    pub fn u32(&mut self, value: &mut u32) {
        let mut bytes = value.to_le_bytes();
        self.bytes(&mut bytes);
        *value = u32::from_le_bytes(bytes);
    }

    /// A span's four bytes.
    #[inline(never)]
    pub fn span(&mut self, value: &mut Span) {
        let mut ms = value.as_millis();
        self.u32(&mut ms);
        *value = Span::from_millis(ms);
    }

    /// An instant's eight bytes.
    #[inline(never)]
    pub fn instant(&mut self, value: &mut Instant) {
        let mut bytes = value.as_millis().to_le_bytes();
        self.bytes(&mut bytes);
        *value = Instant::from_millis(u64::from_le_bytes(bytes));
    }

    /// What was read is nothing: [`Take::end`] will say so.
    pub fn refuse(&mut self) {
        if let Self::Take(from) = self {
            from.wrong = true;
        }
    }
}

/// The CRC-32 of Ethernet and zip, byte by byte.
///
/// Four bits a step: a table of 64 bytes is the middle between 1 KiB of flash and eight times the
/// work of a bit at a time, for which a small board would be late.
#[derive(Clone, Copy, Debug)]
pub struct Crc32(u32);

impl Crc32 {
    /// Nothing yet.
    pub const NEW: Self = Self(u32::MAX);

    /// Takes in a byte.
    pub fn byte(&mut self, byte: u8) {
        const TABLE: [u32; 16] = table();
        let mut crc = self.0 ^ u32::from(byte);
        for _ in 0..2 {
            let low = TABLE.get((crc & 15) as usize).copied().unwrap_or(0);
            crc = (crc >> 4) ^ low;
        }
        self.0 = crc;
    }

    /// The checksum of what was taken in.
    #[must_use]
    pub const fn value(self) -> u32 {
        !self.0
    }
}

/// The CRC-32 of `bytes`.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc32::NEW;
    bytes.iter().for_each(|byte| crc.byte(*byte));
    crc.value()
}

/// What four bits at the end of the register come to after four shifts.
const fn table() -> [u32; 16] {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let mut table = [0; 16];
    let mut nibble = 0;
    while nibble < 16 {
        let mut crc = nibble as u32;
        let mut bit = 0;
        while bit < 4 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[nibble] = crc;
        nibble += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926, "the check value of CRC-32/ISO-HDLC");
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414F_A339);
    }

    #[test]
    fn what_was_put_is_taken() {
        let mut out = [0; 16];
        let mut put = Put::new(&mut out);
        put.u8(1);
        put.u16(0x0302);
        put.u32(0x0706_0504);
        put.u64(0x0F0E_0D0C_0B0A_0908);
        assert_eq!(put.finish(), Some(15));
        assert!(out.iter().copied().eq((1..16).chain([0])));
        let mut take = Take::new(&out[..15]);
        assert_eq!((take.u8(), take.u16()), (1, 0x0302));
        assert_eq!((take.u32(), take.u64()), (0x0706_0504, 0x0F0E_0D0C_0B0A_0908));
        assert!(take.is_empty());
        assert_eq!(take.end(7), Some(7));
        assert_eq!((take.u8(), take.end(7)), (0, None));
    }

    #[test]
    fn one_layout_goes_both_ways() {
        type Fields = (u8, bool, u16, u32, Span, Instant, [u8; 3]);
        fn go(fields: &mut Fields, way: &mut Way<'_, '_>) {
            way.u8(&mut fields.0);
            way.bool(&mut fields.1);
            way.u16(&mut fields.2);
            way.u32(&mut fields.3);
            way.span(&mut fields.4);
            way.instant(&mut fields.5);
            way.bytes(&mut fields.6);
        }
        let (span, at) = (Span::from_millis(0x0B0A_0908), Instant::from_millis(1 << 63));
        let fields = (7, true, 0x0302, 0x0706_0504, span, at, [1, 2, 3]);
        let (mut out, mut written) = ([0xFF; 23], fields);
        let mut put = Put::new(&mut out);
        go(&mut written, &mut Way::Put(&mut put));
        assert_eq!((put.finish(), written), (Some(23), fields));
        let plain = [7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 2, 3];
        assert_eq!(out, plain);
        let mut read = (0, false, 0, 0, Span::ZERO, Instant::default(), [0; 3]);
        let mut take = Take::new(&out);
        go(&mut read, &mut Way::Take(&mut take));
        assert_eq!((take.sound(()), take.end(read)), (Some(()), Some(fields)));
        // No truth value, and too short.
        out[1] = 2;
        for bytes in [&out[..], &plain[..22]] {
            let mut take = Take::new(bytes);
            go(&mut read, &mut Way::Take(&mut take));
            assert_eq!((take.sound(()), take.end(())), (None, None));
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let mut out = [0; 3];
        let mut put = Put::new(&mut out);
        put.u32(1);
        assert_eq!(put.finish(), None);
    }

    #[test]
    fn what_is_missing_or_left_over_is_nothing() {
        let mut take = Take::new(&[1, 2, 3]);
        assert_eq!((take.u32(), take.end(())), (0x0003_0201, None));
        let mut take = Take::new(&[1, 2]);
        assert!(take.bool());
        assert_eq!(take.end(()), None, "2 is left");
        assert!(!take.bool());
        assert_eq!(take.end(()), None, "2 is no truth value");
    }
}
