//! The chunked transfer coding of HTTP/1.1 (RFC 9112, 7.1), a byte at a time.

/// Where in the coding a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// In a chunk's size, after so many digits.
    Size {
        /// As far as it has been read.
        value: u64,
        /// How many digits that were.
        digits: u8,
    },
    /// After the size: an extension, or the rest of the line.
    Extension {
        /// The size that was read.
        value: u64,
    },
    /// In a chunk with so many bytes to come.
    Data(u64),
    /// At the line end after a chunk.
    DataEnd,
    /// After the last chunk: lines up to an empty one.
    Trailer {
        /// Nothing but a carriage return has been seen of this line.
        empty: bool,
    },
    /// After its end.
    Done,
    /// This is not the chunked coding.
    Bad,
}

impl Chunks {
    /// Before the first byte.
    pub const START: Self = Self::Size { value: 0, digits: 0 };

    /// Goes on over `bytes` and hands each piece of content to `content`. What follows the end
    /// is not looked at.
    pub fn over(&mut self, mut bytes: &[u8], mut content: impl FnMut(&[u8])) {
        while let Some((byte, rest)) = bytes.split_first() {
            match *self {
                Self::Done | Self::Bad => return,
                Self::Data(left) => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    content(&bytes[..here]);
                    bytes = &bytes[here..];
                    let left = left - here as u64;
                    *self = if left == 0 { Self::DataEnd } else { Self::Data(left) };
                }
                _ => {
                    *self = self.after(*byte);
                    bytes = rest;
                }
            }
        }
    }

    /// The state after one byte that is not content.
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Size { digits: 0, .. }, b'\r' | b'\n' | b';' | b' ' | b'\t') => Self::Bad,
            (Self::Size { value, .. } | Self::Extension { value }, b'\n') => Self::sized(value),
            (Self::Size { value, .. }, b'\r' | b';' | b' ' | b'\t') => Self::Extension { value },
            (Self::Size { value, digits }, _) => Self::digit(value, digits, byte),
            (Self::Extension { .. }, _) => self,
            (Self::DataEnd, b'\n') => Self::START,
            (Self::DataEnd, b'\r') => Self::DataEnd,
            (Self::DataEnd, _) => Self::Bad,
            (Self::Trailer { empty: true }, b'\n') => Self::Done,
            (Self::Trailer { .. }, b'\n') => Self::Trailer { empty: true },
            (Self::Trailer { empty }, b'\r') => Self::Trailer { empty },
            (Self::Trailer { .. }, _) => Self::Trailer { empty: false },
            (Self::Data(_) | Self::Done | Self::Bad, _) => self,
        }
    }

    const fn sized(value: u64) -> Self {
        if value == 0 { Self::Trailer { empty: true } } else { Self::Data(value) }
    }

    /// Sixteen digits are all that fit; a longer size is no size, even with leading zeros.
    fn digit(value: u64, digits: u8, byte: u8) -> Self {
        match char::from(byte).to_digit(16) {
            Some(digit) if digits < 16 => {
                Self::Size { value: value << 4 | u64::from(digit), digits: digits + 1 }
            }
            _ => Self::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> (Chunks, Vec<u8>) {
        let (mut chunks, mut content) = (Chunks::START, Vec::new());
        for piece in pieces {
            chunks.over(piece, |bytes| content.extend_from_slice(bytes));
        }
        (chunks, content)
    }

    #[test]
    fn every_cut_gives_the_same_content() {
        let sample = b"4\r\nWiki\r\nA;name=\"x\"\r\npedia in \n\r\n0\r\nExpires: never\r\n\r\nmore";
        for cut in 0..=sample.len() {
            let (first, second) = sample.split_at(cut);
            let (chunks, content) = decode(&[first, second]);
            assert_eq!(chunks, Chunks::Done, "cut at {cut}");
            assert_eq!(content, b"Wikipedia in \n", "cut at {cut}");
        }
    }

    #[test]
    fn bare_line_feeds_will_do() {
        assert_eq!(decode(&[b"2\nok\n0\n\n"]), (Chunks::Done, b"ok".to_vec()));
    }

    #[test]
    fn what_is_not_the_coding_is_seen_to_be() {
        for sample in [
            &b"\r\n"[..],
            b"xyz\r\n",
            b"-1\r\n",
            b"2\r\nokay\r\n",
            b"00000000000000001\r\nx",
            b"fffffffffffffffff\r\n",
        ] {
            assert_eq!(decode(&[sample]).0, Chunks::Bad, "{sample:?}");
        }
    }

    #[test]
    fn the_largest_chunk_is_only_counted() {
        assert_eq!(decode(&[b"ffffffffffffffff\r\nab"]).0, Chunks::Data(u64::MAX - 2));
    }
}
