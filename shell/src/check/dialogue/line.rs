//! Lines of which the beginning tells.

/// The beginning of a line as it comes in; the rest is counted and forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    kept: [u8; Self::KEPT],
    length: u16,
}

impl Line {
    /// So much of a line is kept.
    pub(super) const KEPT: usize = 24;

    /// Takes a byte that is no line end.
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.kept.get_mut(usize::from(self.length)) {
            *place = byte;
        }
        self.length = self.length.saturating_add(1);
    }

    /// What is kept of it, without the return before its end.
    pub(super) fn text(&self) -> &[u8] {
        let text = self.kept.get(..usize::from(self.length)).unwrap_or(&self.kept);
        text.strip_suffix(b"\r").unwrap_or(text)
    }

    /// The word that begins at `place`, up to a blank.
    pub(super) fn word(&self, place: usize) -> &[u8] {
        let text = self.text().get(place..).unwrap_or_default();
        text.split(|byte| *byte == b' ').next().unwrap_or_default()
    }

    /// How many bytes were taken, as far as that matters.
    pub(super) fn length(&self) -> usize {
        usize::from(self.length)
    }
}

impl Default for Line {
    fn default() -> Self {
        Self { kept: [0; Self::KEPT], length: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &[u8]) -> Line {
        let mut line = Line::default();
        text.iter().for_each(|byte| line.push(*byte));
        line
    }

    #[test]
    fn the_beginning_is_kept() {
        assert_eq!(line(b"+OK ready\r").text(), b"+OK ready");
        assert_eq!(line(b"* BYE now").word(2), b"BYE");
        assert_eq!(line(b"* BYE\r").word(2), b"BYE");
        assert_eq!(line(b"*").word(2), b"");
        let long = line(&[b'x'; 70_000]);
        assert_eq!((long.text().len(), long.length()), (Line::KEPT, usize::from(u16::MAX)));
    }
}
