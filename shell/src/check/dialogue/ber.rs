//! As much of BER as LDAP's answers need: tags of one byte, definite lengths (X.690, 8.1).

/// Lengths beyond this are none.
pub(super) const LONGEST: u32 = 64 * 1024;

/// The header of an element as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    tag: Option<u8>,
    /// How many bytes of the length are to come, once its form is known.
    left: Option<u8>,
    length: u32,
}

/// This is no header, or of something too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoHeader;

impl Header {
    /// Whether nothing of it is there yet.
    pub(super) const fn is_empty(&self) -> bool {
        self.tag.is_none()
    }

    /// Takes a byte: tag and length, once they are complete. The long form may be longer than
    /// it need be: Active Directory's is.
    pub(super) fn byte(&mut self, byte: u8) -> Option<Result<(u8, usize), NoHeader>> {
        let Some(tag) = self.tag else {
            self.tag = Some(byte);
            return None;
        };
        match self.left {
            None if byte < 0x80 => return Some(Ok((tag, usize::from(byte)))),
            None if (0x81..=0x84).contains(&byte) => self.left = Some(byte & 0x7F),
            None => return Some(Err(NoHeader)),
            Some(left) => {
                self.length = self.length << 8 | u32::from(byte);
                self.left = Some(left.saturating_sub(1));
                if self.length > LONGEST {
                    return Some(Err(NoHeader));
                }
                if left <= 1 {
                    return Some(Ok((tag, self.length as usize)));
                }
            }
        }
        None
    }
}

/// The next element of `bytes`: its tag, as much of its content as is there, and what follows.
pub(in crate::check) fn next(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let mut header = Header::default();
    for (place, byte) in bytes.iter().enumerate() {
        if let Some(read) = header.byte(*byte) {
            let (tag, length) = read.ok()?;
            let rest = bytes.get(place + 1..)?;
            let (content, rest) = rest.split_at(length.min(rest.len()));
            return Some((tag, content, rest));
        }
    }
    None
}

/// A number of one to four bytes that is not negative.
pub(super) fn number(content: &[u8]) -> Option<u32> {
    let (first, _) = content.split_first()?;
    if content.len() > 4 || *first >= 0x80 {
        return None;
    }
    Some(content.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

/// Writes an element.
pub(super) fn write(tag: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    match u16::try_from(content.len()) {
        Ok(length @ 0..=0x7F) => out.push(length as u8),
        Ok(length) => {
            out.push(0x82);
            out.extend_from_slice(&length.to_be_bytes());
        }
        Err(_) => debug_assert!(false, "nothing we say is as long"),
    }
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for length in [0, 1, 0x7F, 0x80, 0xFF, 0x100, 3000] {
            let content = vec![7; length];
            let mut bytes = Vec::new();
            write(0x30, &content, &mut bytes);
            bytes.push(9);
            assert_eq!(next(&bytes), Some((0x30, &content[..], &[9][..])), "{length}");
        }
    }

    #[test]
    fn lengths_have_several_forms_and_wrong_ones() {
        assert_eq!(next(&[4, 0x84, 0, 0, 0, 1, 5]), Some((4, &[5][..], &[][..])));
        assert_eq!(next(&[4, 0x81, 1, 5, 6]), Some((4, &[5][..], &[6][..])));
        assert_eq!(next(&[4, 5, 1]), Some((4, &[1][..], &[][..])), "cut short");
        for bad in [&[][..], &[4], &[4, 0x80], &[4, 0x85, 0, 0, 0, 0, 1], &[4, 0xFF], &[4, 0x82, 1]]
        {
            assert_eq!(next(bad), None, "{bad:?}");
        }
        assert_eq!(next(&[4, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]), None);
    }

    #[test]
    fn numbers_are_small_and_not_negative() {
        assert_eq!(number(&[49]), Some(49));
        assert_eq!(number(&[0, 0, 1, 0]), Some(256));
        for bad in [&[][..], &[0x80], &[0, 0, 0, 0, 1]] {
            assert_eq!(number(bad), None);
        }
    }
}
