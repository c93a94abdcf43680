//! Finding a few bytes in a stream that arrives in pieces.

/// How much of a byte sequence the stream ends with: four bytes, whatever the pieces were.
///
/// The pieces themselves are not kept. After a mismatch the search goes on from the longest
/// part of the sequence that the bytes just seen still end with (Knuth, Morris and Pratt);
/// that part is worked out when it is needed, so there is no table to allocate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    matched: u32,
}

impl Search {
    /// Goes on over `bytes`; true as soon as the whole `needle` has passed. An empty needle
    /// is found at once.
    pub fn over(&mut self, needle: &[u8], bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while (self.matched as usize) < needle.len() {
            if self.matched == 0 {
                let Some(start) = rest.iter().position(|byte| *byte == needle[0]) else {
                    return false;
                };
                rest = &rest[start..];
            }
            let Some((byte, tail)) = rest.split_first() else { return false };
            self.step(needle, *byte);
            rest = tail;
        }
        true
    }

    /// True if the stream ends with the beginning of what is looked for: it may have been cut
    /// in the middle.
    #[must_use]
    pub const fn begun(self) -> bool {
        self.matched > 0
    }

    fn step(&mut self, needle: &[u8], byte: u8) {
        let mut matched = self.matched as usize;
        while matched > 0 && needle[matched] != byte {
            matched = border(&needle[..matched]);
        }
        if needle[matched] == byte {
            matched += 1;
        }
        self.matched = matched as u32;
    }
}

/// The length of the longest proper beginning of `part` that is also its end.
fn border(part: &[u8]) -> usize {
    (1..part.len()).rev().find(|length| part.ends_with(&part[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::Random;

    fn in_pieces(needle: &[u8], pieces: &[&[u8]]) -> bool {
        let mut search = Search::default();
        pieces.iter().any(|piece| search.over(needle, piece))
    }

    #[test]
    fn what_overlaps_itself_is_found_across_every_cut() {
        let text = b"aabaabaaaabaabaabab";
        let needle = b"aabaabaab";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                assert!(in_pieces(needle, &pieces), "cut at {first} and {second}");
            }
        }
    }

    #[test]
    fn an_empty_needle_is_everywhere() {
        assert!(in_pieces(b"", &[b""]));
    }

    #[test]
    fn a_stream_cut_in_the_needle_is_known_to_be() {
        let mut search = Search::default();
        assert!(!search.over(b"220 ", b"x22"));
        assert!(search.begun());
        assert!(!search.over(b"220 ", b"1"));
        assert!(!search.begun());
    }

    #[test]
    fn random_streams_of_two_letters_agree_with_windows() {
        let mut random = Random::new(7);
        for _ in 0..2_000 {
            let needle: Vec<u8> = (0..1 + random.below(6)).map(|_| random.below(2) as u8).collect();
            let text: Vec<u8> = (0..random.below(40)).map(|_| random.below(2) as u8).collect();
            let mut search = Search::default();
            let found = random.cuts(&text).iter().any(|piece| search.over(&needle, piece));
            assert_eq!(found, text.windows(needle.len()).any(|window| window == needle));
        }
    }
}
