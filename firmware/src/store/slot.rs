//! A record with what tells it from garbage.

/// A record, and its place in the order of all that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved<const N: usize> {
    /// Rises with every record written. Never 0, never all ones.
    pub sequence: u32,
    /// The record.
    pub bytes: [u8; N],
}

/// What stands before the record: a mark of this layout, the sequence, and its complement.
pub(super) const HEAD: usize = 12;
/// What stands behind it: a CRC-32 over all before.
pub(super) const TAIL: usize = 4;

const MAGIC: u32 = 0x4756_4F31;

impl<const N: usize> Saved<N> {
    /// Bytes in front of the record and behind it.
    pub(super) fn frame(&self) -> ([u8; HEAD], [u8; TAIL]) {
        let mut head = [0; HEAD];
        let words = [MAGIC, self.sequence, !self.sequence];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        (head, sum(&head, &self.bytes).to_le_bytes())
    }

    /// A record, if all that was read belongs together.
    pub(super) fn parse(head: &[u8; HEAD], bytes: &[u8; N], tail: &[u8; TAIL]) -> Option<Self> {
        let mut words = [0_u32; HEAD / 4];
        for (word, place) in words.iter_mut().zip(head.chunks_exact(4)) {
            *word = u32::from_le_bytes(place.try_into().ok()?);
        }
        let [magic, sequence, complement] = words;
        let sound = magic == MAGIC
            && sequence == !complement
            && sequence != 0
            && sequence != u32::MAX
            && u32::from_le_bytes(*tail) == sum(head, bytes);
        sound.then_some(Self { sequence, bytes: *bytes })
    }
}

/// CRC-32 (IEEE) over head and record. Bit by bit: a table would cost a sixteenth of the flash.
fn sum(head: &[u8], bytes: &[u8]) -> u32 {
    let all = head.iter().chain(bytes);
    !all.fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_usual_one() {
        assert_eq!(sum(b"1234", b"56789"), 0xCBF4_3926);
    }

    #[test]
    fn all_zeros_and_all_ones_are_nothing() {
        for byte in [0, 0xFF] {
            assert_eq!(Saved::parse(&[byte; HEAD], &[byte; 8], &[byte; TAIL]), None);
        }
        for sequence in [0, u32::MAX] {
            let saved = Saved { sequence, bytes: [1; 8] };
            let (head, tail) = saved.frame();
            assert_eq!(Saved::parse(&head, &[1; 8], &tail), None);
        }
    }

    #[test]
    fn any_single_flipped_bit_makes_it_nothing() {
        let saved = Saved { sequence: 7, bytes: *b"a record" };
        let (head, tail) = saved.frame();
        assert_eq!(Saved::parse(&head, &saved.bytes, &tail), Some(saved));
        for bit in 0..8 * (HEAD + 8 + TAIL) {
            let (mut head, mut bytes, mut tail) = (head, saved.bytes, tail);
            let place = head.iter_mut().chain(&mut bytes).chain(&mut tail).nth(bit / 8);
            *place.expect("a byte") ^= 1 << (bit % 8);
            assert_eq!(Saved::parse(&head, &bytes, &tail), None, "bit {bit}");
        }
    }
}
