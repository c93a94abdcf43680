//! The dialogue of `tcp` checks with `expect`: some bytes must appear in what is read.

use super::needle::Search;
use super::outcome::{Outcome, Step};

/// At most this much is read; an answer is expected to begin with what tells it.
const CAP: u32 = 64 * 1024;

/// What has been read of an answer, in eight bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpDialogue {
    search: Search,
    read: u32,
}

impl TcpDialogue {
    /// Takes what has arrived.
    pub fn on_bytes(&mut self, expect: &[u8], bytes: &[u8]) -> Step {
        let room = (CAP - self.read) as usize;
        let bytes = &bytes[..bytes.len().min(room)];
        self.read += bytes.len() as u32;
        let outcome = if self.search.over(expect, bytes) {
            Outcome::Healthy { shown: 0 }
        } else if self.read == CAP {
            Outcome::wrong(0)
        } else {
            return Step::More;
        };
        Step::Done { outcome, whole: false }
    }

    /// The other side is done: with nothing, in the middle of what was expected, or with
    /// something else altogether.
    #[must_use]
    pub fn on_close(&self) -> Outcome {
        if self.read == 0 || self.search.begun() { Outcome::cut() } else { Outcome::wrong(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing::Random;

    fn hear(expect: &[u8], pieces: &[&[u8]]) -> Outcome {
        let mut dialogue = TcpDialogue::default();
        for piece in pieces {
            if let Step::Done { outcome, .. } = dialogue.on_bytes(expect, piece) {
                return outcome;
            }
        }
        dialogue.on_close()
    }

    const HEALTHY: Outcome = Outcome::Healthy { shown: 0 };

    #[test]
    fn the_verdict_does_not_depend_on_the_cuts() {
        let samples: [(&[u8], Outcome); 6] = [
            (b"220 mail.example ready\r\n", HEALTHY),
            (b"hello\r\n220 ready\r\n", HEALTHY),
            (b"554 go away\r\n", Outcome::wrong(0)),
            (b"", Outcome::cut()),
            (b"22", Outcome::cut()),
            (b"2\0\xff", Outcome::wrong(0)),
        ];
        for (sample, expected) in samples {
            for cut in 0..=sample.len() {
                let (first, second) = sample.split_at(cut);
                assert_eq!(hear(b"220 ", &[first, second]), expected, "{sample:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn what_comes_after_the_cap_is_not_looked_at() {
        let mut stream = vec![b'.'; CAP as usize - 4];
        stream.extend(b"220 ");
        assert_eq!(hear(b"220 ", &[&stream]), HEALTHY);
        stream.insert(0, b'.');
        let mut random = Random::new(1);
        for _ in 0..20 {
            let pieces = random.cuts(&stream);
            assert_eq!(hear(b"220 ", &pieces), Outcome::wrong(0));
        }
    }
}
