//! Frames on a connection: each behind its length, two bytes, little-endian.

use giveover_core::wire::peer::{HEADER, MAC, MAX_FRAME};

/// Makes frames of what comes, in whatever pieces. What can be no frame is refused before it is
/// read: nothing longer than [`MAX_FRAME`] is ever kept.
#[derive(Clone, Debug)]
pub struct Stream {
    kept: [u8; 2 + MAX_FRAME],
    len: usize,
}

/// A length that no frame has: the connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFrame(pub u16);

impl Default for Stream {
    fn default() -> Self {
        Self { kept: [0; 2 + MAX_FRAME], len: 0 }
    }
}

impl Stream {
    /// Takes `bytes` and hands each frame that is complete to `each`.
    ///
    /// # Errors
    /// [`NoFrame`]; what came before it has been handed over.
    pub fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), NoFrame> {
        loop {
            let wanted = match self.wanted()? {
                wanted if wanted == self.len => {
                    each(self.kept.get(2..wanted).unwrap_or_default());
                    self.len = 0;
                    continue;
                }
                wanted => wanted,
            };
            let (now, rest) = bytes.split_at(bytes.len().min(wanted - self.len));
            if now.is_empty() {
                return Ok(());
            }
            if let Some(place) = self.kept.get_mut(self.len..self.len + now.len()) {
                place.copy_from_slice(now);
            }
            self.len += now.len();
            bytes = rest;
        }
    }

    /// How many bytes make what is awaited: the length, or all of it.
    fn wanted(&self) -> Result<usize, NoFrame> {
        let [low, high, ..] = self.kept;
        if self.len < 2 {
            return Ok(2);
        }
        let length = u16::from_le_bytes([low, high]);
        if !(HEADER + MAC..=MAX_FRAME).contains(&usize::from(length)) {
            return Err(NoFrame(length));
        }
        Ok(2 + usize::from(length))
    }
}

/// `frame` as it goes on a connection.
#[must_use]
pub fn framed(frame: &[u8]) -> Vec<u8> {
    let length = u16::try_from(frame.len()).unwrap_or(0); // no frame is longer than MAX_FRAME
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend_from_slice(frame);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whatever_the_pieces() {
        let frames = [vec![1; HEADER + MAC], vec![2; MAX_FRAME], vec![3; HEADER + MAC + 5]];
        let all: Vec<u8> = frames.iter().flat_map(|frame| framed(frame)).collect();
        for piece in [1, 2, 3, 7, 64, all.len()] {
            let (mut stream, mut found) = (Stream::default(), Vec::new());
            for bytes in all.chunks(piece) {
                stream.take(bytes, |frame| found.push(frame.to_vec())).expect("frames");
            }
            assert_eq!(found, frames, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_length_that_no_frame_has_ends_it_before_anything_is_kept() {
        for length in [0, 1, (HEADER + MAC - 1) as u16, MAX_FRAME as u16 + 1, u16::MAX] {
            let mut stream = Stream::default();
            let good = framed(&[7; MAX_FRAME]);
            let mut seen = 0;
            let bytes = [good, length.to_le_bytes().to_vec(), vec![0; 500]].concat();
            assert_eq!(stream.take(&bytes, |_| seen += 1), Err(NoFrame(length)));
            assert_eq!(seen, 1);
        }
    }
}
