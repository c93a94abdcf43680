//! What the daemon and the holder of a group's addresses say to each other: a line each.

use giveover_core::peer::Taken;
use giveover_core::time::Instant;

use super::super::steps::{Done, Held, Step};

/// What the daemon says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The first line: for whom the rest is meant.
    Hold(Held),
    /// A step.
    Step(Step),
}

/// What the holder says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// It can do what is asked.
    Ready,
    /// It cannot, for this reason, and ends.
    Unable(String),
    /// What came of a step.
    Done(Done),
    /// It has seen to a renewal, whatever came of it: it lives.
    Alive,
    /// For people.
    Said(String),
}

impl Ask {
    /// The line, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            // A list of addresses and words always has a form in JSON.
            Self::Hold(held) => {
                format!("hold {}\n", serde_json::to_string(held).unwrap_or_default())
            }
            Self::Step(Step::Take { until }) => format!("take {}\n", until.as_millis()),
            Self::Step(Step::Renew { until }) => format!("renew {}\n", until.as_millis()),
            Self::Step(Step::Announce) => "announce\n".to_owned(),
            Self::Step(Step::Drop { leftover: false }) => "drop\n".to_owned(),
            Self::Step(Step::Drop { leftover: true }) => "drop leftover\n".to_owned(),
        }
    }

    /// What a line, without its end, says; `None` where it is none.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let until = || rest.parse().ok().map(Instant::from_millis);
        Some(match (word, rest) {
            ("hold", held) => Self::Hold(serde_json::from_str(held).ok()?),
            ("take", _) => Self::Step(Step::Take { until: until()? }),
            ("renew", _) => Self::Step(Step::Renew { until: until()? }),
            ("announce", "") => Self::Step(Step::Announce),
            ("drop", "") => Self::Step(Step::Drop { leftover: false }),
            ("drop", "leftover") => Self::Step(Step::Drop { leftover: true }),
            _ => return None,
        })
    }
}

impl Told {
    /// The line, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        // Whatever is said for people is one line.
        let one = |text: &str| text.replace(char::is_control, " ");
        match self {
            Self::Ready => "ready\n".to_owned(),
            Self::Alive => "alive\n".to_owned(),
            Self::Unable(why) => format!("unable {}\n", one(why)),
            Self::Said(text) => format!("said {}\n", one(text)),
            Self::Done(Done::Taken(Taken::Up)) => "up\n".to_owned(),
            Self::Done(Done::Taken(Taken::Duplicate)) => "duplicate\n".to_owned(),
            Self::Done(Done::Taken(Taken::Failed)) => "failed\n".to_owned(),
            Self::Done(Done::Dropped { ok: true }) => "dropped\n".to_owned(),
            Self::Done(Done::Dropped { ok: false }) => "kept\n".to_owned(),
            Self::Done(Done::Lost) => "lost\n".to_owned(),
        }
    }

    /// What a line, without its end, says; `None` where it is none.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match (word, rest) {
            ("ready", "") => Self::Ready,
            ("alive", "") => Self::Alive,
            ("unable", why) => Self::Unable(why.to_owned()),
            ("said", text) => Self::Said(text.to_owned()),
            ("up", "") => Self::Done(Done::Taken(Taken::Up)),
            ("duplicate", "") => Self::Done(Done::Taken(Taken::Duplicate)),
            ("failed", "") => Self::Done(Done::Taken(Taken::Failed)),
            ("dropped", "") => Self::Done(Done::Dropped { ok: true }),
            ("kept", "") => Self::Done(Done::Dropped { ok: false }),
            ("lost", "") => Self::Done(Done::Lost),
            _ => return None,
        })
    }
}

/// Bytes as they come, made lines of.
#[derive(Clone, Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// No line is longer; what is, is nothing, up to its end.
    const LONGEST: usize = 64 << 10;

    /// Takes in `bytes` and returns the lines that are whole now.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            // One byte more than the longest marks it as too long.
            let room = (Self::LONGEST + 1).saturating_sub(self.0.len());
            self.0.extend(text.iter().take(room));
            if is_whole {
                let line = std::mem::take(&mut self.0);
                if line.len() <= Self::LONGEST {
                    lines.push(String::from_utf8_lossy(&line).into_owned());
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::steps::Commands;
    use super::*;

    fn asks() -> Vec<Ask> {
        let commands = Commands {
            up: vec!["up".to_owned(), "a b\n\"$_IP_$\"".to_owned()],
            down: vec!["down".to_owned()],
            announce: None,
        };
        let held = Held {
            addresses: vec![
                ("10.0.0.10".parse().expect("an address"), 24),
                ("2001:db8::a".parse().expect("an address"), 64),
            ],
            interface: Some("eth0".to_owned()),
            label: Some("eth0:0".to_owned()),
            commands: Some(commands),
        };
        let until = Instant::from_millis(123_456);
        vec![
            Ask::Hold(held),
            Ask::Step(Step::Take { until }),
            Ask::Step(Step::Renew { until }),
            Ask::Step(Step::Announce),
            Ask::Step(Step::Drop { leftover: false }),
            Ask::Step(Step::Drop { leftover: true }),
        ]
    }

    fn tolds() -> Vec<Told> {
        let mut all = vec![Told::Ready, Told::Alive, Told::Unable("no\trights".to_owned())];
        all.push(Told::Said("10.0.0.10 is gone, and not by us".to_owned()));
        let done = [
            Done::Taken(Taken::Up),
            Done::Taken(Taken::Duplicate),
            Done::Taken(Taken::Failed),
            Done::Dropped { ok: true },
            Done::Dropped { ok: false },
            Done::Lost,
        ];
        all.extend(done.map(Told::Done));
        all
    }

    #[test]
    fn every_line_reads_back_however_it_is_cut() {
        let text: String = asks().iter().map(Ask::line).collect();
        for cut in [1, 2, 7, text.len()] {
            let mut lines = Lines::default();
            let pieces = text.as_bytes().chunks(cut);
            let read: Vec<String> = pieces.flat_map(|piece| lines.take(piece)).collect();
            let read: Vec<Option<Ask>> = read.iter().map(|line| Ask::parse(line)).collect();
            assert_eq!(read, asks().into_iter().map(Some).collect::<Vec<_>>());
        }
        for told in tolds() {
            let line = told.line();
            let plain = line.strip_suffix('\n').expect("a line");
            assert!(!plain.contains(char::is_control), "{plain}");
            let read = Told::parse(plain).expect("said");
            assert_eq!(read.line(), line);
        }
    }

    #[test]
    fn what_is_no_line_is_nothing() {
        for line in ["", "take", "take x", "take -1", "hold {}x", "drop all", "up 1", "nonsense"] {
            assert_eq!(Ask::parse(line), None, "{line}");
        }
        for line in ["", "up 1", "nonsense", "dropped x"] {
            assert_eq!(Told::parse(line), None, "{line}");
        }
        let mut lines = Lines::default();
        assert_eq!(lines.take(&vec![b'x'; Lines::LONGEST + 100]), [""; 0]);
        assert_eq!(lines.take(b"\nup\n"), ["up"]);
    }
}
