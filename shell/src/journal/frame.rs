//! How bytes are framed on disk, so that a piece that is not whole is known as such.
//!
//! A frame is a mark of two bytes, the length of its payload (u16, little-endian), the CRC-32
//! of length and payload (u32, little-endian), and the payload. Whatever is written at once is
//! one frame: an event and the actions it led to are there together or not at all.

/// Begins a frame. Makes the search for the next whole frame after damage cheap; neither byte
/// is what erased or zeroed storage reads as.
const MARK: [u8; 2] = [0x9d, 0x67];
/// Bytes before the payload.
pub(super) const HEAD: usize = 8;
/// The longest payload.
pub(super) const MOST: usize = u16::MAX as usize;

/// The payload of the frame at `at` and where the next one begins; `None` if no whole frame is
/// there.
pub(super) fn frame_at(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let head = bytes.get(at..at.checked_add(HEAD)?)?;
    let (mark, rest) = head.split_first_chunk::<2>()?;
    let (length, sum) = rest.split_first_chunk::<2>()?;
    let sum = u32::from_le_bytes(*sum.first_chunk::<4>()?);
    if *mark != MARK {
        return None;
    }
    let end = at + HEAD + usize::from(u16::from_le_bytes(*length));
    let payload = bytes.get(at + HEAD..end)?;
    (checksum(*length, payload) == sum).then_some((payload, end))
}

/// Whether `bytes` begin with a frame's mark, whole or not.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(&MARK)
}

/// Where the first whole frame at or after `from` begins.
pub(super) fn find_frame(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        at += rest.windows(MARK.len()).position(|window| window == MARK)?;
        if frame_at(bytes, at).is_some() {
            return Some(at);
        }
        at += 1;
    }
}

fn checksum(length: [u8; 2], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length);
    hasher.update(payload);
    hasher.finalize()
}

/// Frames being made: whole ones, and at most one that is still open.
#[derive(Clone, Debug, Default)]
pub(super) struct Framer {
    bytes: Vec<u8>,
    open: Option<usize>,
}

impl Framer {
    /// Adds one record to the open frame; a record that does not fit begins another.
    pub(super) fn push(&mut self, record: &[u8]) {
        debug_assert!(record.len() + PREFIX_MOST <= MOST, "no record is as long as a frame");
        let open = self
            .open
            .filter(|start| self.bytes.len() - start - HEAD + PREFIX_MOST + record.len() <= MOST);
        if open.is_none() {
            self.seal();
            self.open = Some(self.bytes.len());
            self.bytes.extend_from_slice(&[0; HEAD]);
        }
        push_length(&mut self.bytes, record.len());
        self.bytes.extend_from_slice(record);
    }

    /// Adds a frame of exactly this payload.
    pub(super) fn push_frame(&mut self, payload: &[u8]) {
        debug_assert!(payload.len() <= MOST, "a frame has a longest payload");
        self.seal();
        self.open = Some(self.bytes.len());
        self.bytes.extend_from_slice(&[0; HEAD]);
        self.bytes.extend_from_slice(payload);
        self.seal();
    }

    /// Closes the open frame.
    pub(super) fn seal(&mut self) {
        let Some(start) = self.open.take() else { return };
        let Some((head, payload)) =
            self.bytes.get_mut(start..).and_then(|frame| frame.split_at_mut_checked(HEAD))
        else {
            return;
        };
        let length = (payload.len() as u16).to_le_bytes();
        let sum = checksum(length, payload).to_le_bytes();
        let [mark, body] = [MARK, length];
        head.copy_from_slice(&[mark[0], mark[1], body[0], body[1], sum[0], sum[1], sum[2], sum[3]]);
    }

    /// Everything so far; the last frame may be open.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets everything, and keeps the room an ordinary turn needs.
    pub(super) fn clear(&mut self) {
        const KEPT: usize = 128 << 10;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        self.open = None;
    }
}

/// A record's length takes at most this many bytes before it.
const PREFIX_MOST: usize = 3;

fn push_length(bytes: &mut Vec<u8>, length: usize) {
    let mut left = length;
    while left >= 0x80 {
        bytes.push((left as u8 & 0x7f) | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

/// The first record of a payload and what follows it; `None` if it is not whole.
pub(super) fn split_record(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0usize;
    for (place, byte) in payload.iter().take(PREFIX_MOST).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return payload.get(place + 1..)?.split_at_checked(length);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(records: &[&[u8]]) -> Vec<u8> {
        let mut framer = Framer::default();
        for record in records {
            framer.push(record);
            framer.seal();
        }
        framer.bytes().to_vec()
    }

    #[test]
    fn what_is_framed_is_read_back() {
        let long = vec![7u8; 20_000];
        let bytes = framed(&[b"one", &long, b""]);
        let (payload, next) = frame_at(&bytes, 0).expect("a frame");
        assert_eq!(split_record(payload), Some((&b"one"[..], &b""[..])));
        let (payload, next) = frame_at(&bytes, next).expect("another");
        assert_eq!(split_record(payload), Some((&long[..], &b""[..])));
        let (payload, next) = frame_at(&bytes, next).expect("a third");
        assert_eq!(split_record(payload), Some((&b""[..], &b""[..])));
        assert_eq!(next, bytes.len());
    }

    #[test]
    fn a_frame_with_any_bit_flipped_is_no_frame() {
        let bytes = framed(&[b"record"]);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(frame_at(&damaged, 0), None, "bit {bit}");
        }
    }

    #[test]
    fn zeroed_and_erased_storage_holds_no_frame() {
        assert_eq!(find_frame(&[0; 4096], 0), None);
        assert_eq!(find_frame(&[0xff; 4096], 0), None);
        assert_eq!(find_frame(&[], 0), None);
        assert_eq!(find_frame(&[0], 9), None);
    }

    #[test]
    fn the_next_whole_frame_is_found_behind_damage() {
        let mut bytes = framed(&[b"first", b"second"]);
        let (_, second) = frame_at(&bytes, 0).expect("a frame");
        bytes[3] ^= 1;
        assert_eq!(find_frame(&bytes, 1), Some(second));
    }

    #[test]
    fn records_fill_a_frame_and_then_begin_another() {
        let mut framer = Framer::default();
        let record = vec![1u8; 30_000];
        for _ in 0..3 {
            framer.push(&record);
        }
        framer.seal();
        let (first, next) = frame_at(framer.bytes(), 0).expect("a frame");
        let (second, end) = frame_at(framer.bytes(), next).expect("another");
        assert_eq!((first.len(), second.len()), (60_006, 30_003));
        assert_eq!(end, framer.len());
    }
}
