//! Replies that begin with three digits, of one line or several.
//!
//! A line `220-…` is followed by more, up to one that begins `220 `. SMTP has every line of a
//! reply begin with the number; FTP has lines between that may begin with anything.

/// A reply as it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// The number of the first line, once that is complete.
    code: Option<u16>,
    /// The beginning of the line that comes in.
    line: [u8; 4],
    /// How much of it there is.
    at: u8,
}

/// This is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoReply;

impl Reply {
    /// Takes a byte: the number, once the reply is complete. With `free` the lines between the
    /// first and the last may begin with anything.
    pub(super) fn byte(&mut self, free: bool, byte: u8) -> Option<Result<u16, NoReply>> {
        let first = self.code.is_none();
        if byte == b'\n' {
            let ended = self.line_end(free);
            self.at = 0;
            return ended;
        }
        let place = self.line.get_mut(usize::from(self.at))?;
        *place = byte;
        let fits = match self.at {
            0 => (b'1'..=b'5').contains(&byte),
            1 | 2 => byte.is_ascii_digit(),
            _ => matches!(byte, b' ' | b'-' | b'\r'),
        };
        self.at += 1;
        (!fits && (first || !free)).then_some(Err(NoReply))
    }

    fn line_end(&mut self, free: bool) -> Option<Result<u16, NoReply>> {
        let number = self.number();
        match (self.code, number) {
            (None, None) => Some(Err(NoReply)),
            (None, Some((code, false))) => Some(Ok(code)),
            (None, Some((code, true))) => {
                self.code = Some(code);
                None
            }
            (Some(code), Some((same, more))) if code == same => (!more).then_some(Ok(code)),
            (Some(_), _) => (!free).then_some(Err(NoReply)),
        }
    }

    /// The number the line begins with, and whether more lines follow.
    fn number(&self) -> Option<(u16, bool)> {
        let digits = self.line.get(..3).filter(|_| self.at >= 3)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let number = digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
        match self.line[3] {
            _ if self.at == 3 => Some((number, false)),
            b'-' => Some((number, true)),
            b' ' | b'\r' => Some((number, false)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reply, and how many bytes it took.
    fn read(free: bool, text: &str) -> (Option<Result<u16, NoReply>>, usize) {
        let mut reply = Reply::default();
        for (place, byte) in text.bytes().enumerate() {
            if let Some(ended) = reply.byte(free, byte) {
                return (Some(ended), place + 1);
            }
        }
        (None, text.len())
    }

    #[test]
    fn a_reply_is_complete_with_its_last_line() {
        for (text, code) in [
            ("220 ready\r\n", 220),
            ("220\r\n", 220),
            ("220\n", 220),
            ("220 \n", 220),
            ("554 no\r\n", 554),
            ("220-one\r\n220-two\r\n220 three\r\n", 220),
            ("220-one\r\n220\r\n", 220),
        ] {
            for free in [false, true] {
                let more = format!("{text}rest\r\n");
                assert_eq!(read(free, &more), (Some(Ok(code)), text.len()), "{text:?}");
                for cut in 0..text.len() {
                    assert_eq!(read(free, &text[..cut]).0, None, "{text:?} cut at {cut}");
                }
            }
        }
    }

    #[test]
    fn lines_between_may_begin_with_anything_where_the_protocol_has_it_so() {
        let text =
            "220-Hello\r\n\r\nWelcome\r\n 220 not yet\r\n221 nor this\r\n2200\r\n220 now\r\n";
        assert_eq!(read(true, text), (Some(Ok(220)), text.len()));
        assert_eq!(read(false, text).0, Some(Err(NoReply)));
    }

    #[test]
    fn what_is_no_reply_is_known_at_the_first_wrong_byte() {
        for (text, at) in [
            ("HTTP/1.1 400", 1),
            ("\r\n", 1),
            ("620 x", 1),
            ("2x0 x", 2),
            ("22", 2),
            ("220x", 4),
            ("22\n", 3),
            ("\n", 1),
            ("\u{ff}", 1),
        ] {
            let expected = if text == "22" { None } else { Some(Err(NoReply)) };
            assert_eq!(read(false, text), (expected, at), "{text:?}");
            assert_eq!(read(true, text), (expected, at), "{text:?}");
        }
    }
}
