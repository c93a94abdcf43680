//! This node's end of the link to one other: what is sealed for it, what is taken from it, and why
//! it was never seen.
//!
//! Sans-IO. Over which way a frame came changes nothing: both share one sequence.

use std::fmt;

use giveover_core::node::Node;
use giveover_core::time::{Instant, Span};
use giveover_core::wire::peer::{Frame, Link, MAX_FRAME, Opened, Refused};

use super::bucket::Bucket;
use super::keys::Keys;

/// From where another node sends, at once and a second; its own are some five a second for each
/// group.
const BURST: u32 = 400;
const RATE: u32 = 200;

/// A frame for an earlier start is answered by a greeting no more often.
const GREET_EVERY: Span = Span::from_millis(500);

/// A connection that ended is made again after this, then twice as long each time.
const FIRST_WAIT: Span = Span::from_millis(250);
const LAST_WAIT: Span = Span::from_secs(5);

/// The way a frame came, or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A datagram: heartbeats and their answers.
    Datagram,
    /// The connection: everything else.
    Connection,
}

/// What became of bytes that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Authentic, for us, and new.
    Frame(Frame),
    /// It greets.
    Hello {
        /// It means this start of ours, and was never heard before; another may be a record.
        fresh: bool,
        /// It wants a greeting.
        answer: bool,
    },
    /// It means an earlier start of ours: true where it is to be told, by a greeting.
    Stale(bool),
    /// Nothing: counted.
    Nothing,
}

/// Why another node was not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its name has no address.
    Name,
    /// Its host refuses connections: nothing listens there.
    Refused,
    /// No way leads to its host.
    NoRoute,
    /// Nothing comes back: it is off, or something filters.
    Silent,
    /// Connections are made, and no datagram comes.
    DatagramsFiltered,
    /// What comes is signed with another key.
    Key,
    /// What comes is of another version.
    Version(u8),
    /// What comes is recorded, or of a clock set back.
    Replayed,
}

impl Why {
    /// Its word in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Refused => "refused",
            Self::NoRoute => "no_route",
            Self::Silent => "silent",
            Self::DatagramsFiltered => "filtered",
            Self::Key => "wrong_key",
            Self::Version(_) => "version",
            Self::Replayed => "replayed",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("its name has no address"),
            Self::Refused => f.write_str("refused: nothing listens on its port"),
            Self::NoRoute => f.write_str("no route to its host"),
            Self::Silent => f.write_str("no answer: it is off, or a filter drops what is sent"),
            Self::DatagramsFiltered => {
                f.write_str("connects, but no datagram comes: UDP is filtered")
            }
            Self::Key => f.write_str("what it says is signed with another key"),
            Self::Version(version) => {
                write!(f, "it speaks version {version}, which this one does not")
            }
            Self::Replayed => f.write_str("what it says is old: its clock was set back, or replay"),
        }
    }
}

/// The link to one other node.
#[derive(Debug)]
pub struct Pair {
    /// Which.
    pub node: Node,
    link: Link,
    bucket: Bucket,
    /// Frames that were over the budget.
    limited: u32,
    heard: Option<Instant>,
    datagram_heard: Option<Instant>,
    /// The newest reason not to take what came, and when.
    refused: Option<(Refused, Instant)>,
    greeted: Option<Instant>,
    trouble: Option<Why>,
    /// When a connection is tried, unless there is one.
    connect_at: Option<Instant>,
    wait: Span,
}

impl Pair {
    /// The link from `me`, in its start numbered `incarnation`, to `node`. `connects`: it is this
    /// node that makes the connection.
    #[must_use]
    pub fn new(me: Node, node: Node, incarnation: u64, connects: bool, now: Instant) -> Self {
        Self {
            node,
            link: Link::new(me, node, incarnation),
            bucket: Bucket::new(BURST, RATE, now),
            limited: 0,
            heard: None,
            datagram_heard: None,
            refused: None,
            greeted: None,
            trouble: None,
            connect_at: connects.then_some(now),
            wait: FIRST_WAIT,
        }
    }

    /// Whether frames to its present start can be addressed.
    #[must_use]
    pub const fn is_met(&self) -> bool {
        self.link.is_met()
    }

    /// `frame` for it, sealed; `None` while nobody knows whom to address.
    pub fn seal(&mut self, frame: &Frame, keys: &Keys) -> Option<Vec<u8>> {
        let mut bytes = [0; MAX_FRAME];
        let length = self.link.seal(frame, keys.id(), &mut bytes, |covered| keys.sign(covered))?;
        Some(bytes.get(..length)?.to_vec())
    }

    /// Takes what came; its budget is charged before any MAC is computed.
    pub fn hear(&mut self, bytes: &[u8], way: Way, keys: &Keys, now: Instant) -> Heard {
        if !self.bucket.take(now) {
            self.limited = self.limited.saturating_add(1);
            return Heard::Nothing;
        }
        match self.link.open(bytes, |key, covered| keys.mac(key, covered)) {
            Ok(Opened::Hello { answer: true }) => {
                // It may be a record of an earlier greeting: it proves nothing.
                Heard::Hello { fresh: false, answer: self.may_greet(now) }
            }
            Ok(opened) => {
                self.heard = Some(now);
                if way == Way::Datagram {
                    self.datagram_heard = Some(now);
                }
                match opened {
                    Opened::Frame(frame) => Heard::Frame(frame),
                    Opened::Hello { .. } => Heard::Hello { fresh: true, answer: false },
                }
            }
            Err(refused) => {
                self.refused = Some((refused, now));
                match refused {
                    Refused::Stale => Heard::Stale(self.may_greet(now)),
                    _ => Heard::Nothing,
                }
            }
        }
    }

    fn may_greet(&mut self, now: Instant) -> bool {
        let may = self.greeted.is_none_or(|at| at.after(GREET_EVERY) <= now);
        if may {
            self.greeted = Some(now);
        }
        may
    }

    /// Whether a connection is to be tried now.
    #[must_use]
    pub fn connects_now(&self, now: Instant) -> bool {
        self.connect_at.is_some_and(|at| at <= now)
    }

    /// A connection is being tried.
    pub fn connecting(&mut self) {
        self.connect_at = None;
    }

    /// It has proven to be the other node's.
    pub fn connected(&mut self) {
        self.wait = FIRST_WAIT;
    }

    /// There is no connection, or none any more; it is tried again, later each time.
    pub fn disconnected(&mut self, connects: bool, now: Instant) {
        if connects {
            self.connect_at = Some(now.after(self.wait));
            let longer = self.wait.as_millis().saturating_mul(2).min(LAST_WAIT.as_millis());
            self.wait = Span::from_millis(longer);
        }
    }

    /// When it is tried next.
    #[must_use]
    pub const fn connect_at(&self) -> Option<Instant> {
        self.connect_at
    }

    /// What the last attempt to send, connect or look up its name came to; `None`: nothing wrong.
    pub fn tried(&mut self, trouble: Option<Why>) {
        self.trouble = trouble;
    }

    /// Why it is not heard, where it was not for `long`.
    #[must_use]
    pub fn why(&self, long: Span, now: Instant) -> Option<Why> {
        let lately = |at: Option<Instant>| at.is_some_and(|at| at.after(long) > now);
        if lately(self.datagram_heard) {
            return None;
        }
        if lately(self.heard) {
            return Some(Why::DatagramsFiltered);
        }
        let refused = self.refused.filter(|(_, at)| lately(Some(*at))).map(|(refused, _)| refused);
        match refused {
            Some(Refused::Key(_) | Refused::Mac) => return Some(Why::Key),
            Some(Refused::Garbage(giveover_core::wire::peer::Garbage::Version(version))) => {
                return Some(Why::Version(version));
            }
            Some(Refused::Replayed) => return Some(Why::Replayed),
            // Noise, or a greeting is on its way.
            Some(Refused::Garbage(_) | Refused::Astray | Refused::Unknown(_) | Refused::Stale)
            | None => {}
        }
        Some(self.trouble.unwrap_or(Why::Silent))
    }

    /// When anything authentic was heard last.
    #[must_use]
    pub const fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// Frames that were not taken: not frames, not authentic, repeated, over the budget.
    #[must_use]
    pub const fn refusals(&self) -> [u32; 4] {
        let counters = self.link.counters();
        [counters.garbage, counters.unauthenticated, counters.replayed, self.limited]
    }

    /// Frames that were taken.
    #[must_use]
    pub const fn taken(&self) -> u32 {
        self.link.counters().taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Span = Span::from_secs(5);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn keys(byte: u8) -> Keys {
        Keys::of(&[[byte; 32]]).expect("a key")
    }

    fn pair(me: u8, node: u8, incarnation: u64) -> Pair {
        Pair::new(Node(me), Node(node), incarnation, me < node, at(0))
    }

    /// Two ends that have greeted each other.
    fn met() -> (Pair, Pair, Keys) {
        let (mut one, mut other, keys) = (pair(0, 1, 10), pair(1, 0, 20), keys(7));
        let hello = one.seal(&Frame::Hello, &keys).expect("a greeting");
        assert_eq!(
            other.hear(&hello, Way::Datagram, &keys, at(1)),
            Heard::Hello { fresh: false, answer: true }
        );
        let hello = other.seal(&Frame::Hello, &keys).expect("a greeting");
        assert_eq!(
            one.hear(&hello, Way::Datagram, &keys, at(2)),
            Heard::Hello { fresh: true, answer: false }
        );
        (one, other, keys)
    }

    fn vote(term: u64) -> Frame {
        Frame::Message { group: 0, message: giveover_core::peer::Message::Vote { term } }
    }

    #[test]
    fn both_ways_share_one_sequence() {
        let (mut one, mut other, keys) = met();
        let first = one.seal(&vote(1), &keys).expect("met");
        let second = one.seal(&vote(2), &keys).expect("met");
        assert_eq!(other.hear(&second, Way::Datagram, &keys, at(3)), Heard::Frame(vote(2)));
        assert_eq!(other.hear(&first, Way::Connection, &keys, at(3)), Heard::Frame(vote(1)));
        assert_eq!(other.hear(&first, Way::Datagram, &keys, at(3)), Heard::Nothing);
        assert_eq!((other.refusals(), other.taken()), ([0, 0, 1, 0], 3));
    }

    #[test]
    fn a_node_that_started_again_is_told_of_and_greeted_once() {
        let (mut one, _, keys) = met();
        let mut again = pair(1, 0, 21);
        let frame = one.seal(&vote(1), &keys).expect("met");
        assert_eq!(again.hear(&frame, Way::Datagram, &keys, at(9)), Heard::Stale(true));
        assert_eq!(again.hear(&frame, Way::Datagram, &keys, at(9)), Heard::Stale(false));
        let hello = again.seal(&Frame::Hello, &keys).expect("a greeting");
        assert_eq!(
            one.hear(&hello, Way::Datagram, &keys, at(9)),
            Heard::Hello { fresh: false, answer: true }
        );
    }

    #[test]
    fn a_recorded_greeting_proves_nothing() {
        let (mut one, mut other, keys) = (pair(0, 1, 10), pair(1, 0, 20), keys(7));
        let record = one.seal(&Frame::Hello, &keys).expect("a greeting");
        for _ in 0..3 {
            let heard = other.hear(&record, Way::Connection, &keys, at(1));
            assert!(matches!(heard, Heard::Hello { fresh: false, .. }), "{heard:?}");
            assert_eq!(other.heard(), None);
        }
    }

    #[test]
    fn why_it_is_not_heard_is_told_apart() {
        let (mut one, mut other, keys7) = met();
        assert_eq!(one.why(LONG, at(100)), None);
        assert_eq!(one.why(LONG, at(9_000)), Some(Why::Silent));
        one.tried(Some(Why::Refused));
        assert_eq!(one.why(LONG, at(9_000)), Some(Why::Refused));
        let frame = other.seal(&vote(1), &keys(8)).expect("met");
        one.hear(&frame, Way::Datagram, &keys7, at(9_000));
        assert_eq!(one.why(LONG, at(9_001)), Some(Why::Key));
        let frame = other.seal(&vote(1), &keys7).expect("met");
        one.hear(&frame, Way::Connection, &keys7, at(9_002));
        assert_eq!(one.why(LONG, at(9_003)), Some(Why::DatagramsFiltered));
        let mut strange = frame.clone();
        strange[0] = 9;
        one.hear(&strange, Way::Datagram, &keys7, at(30_000));
        assert_eq!(one.why(LONG, at(30_001)), Some(Why::Version(9)));
    }

    #[test]
    fn a_flood_costs_a_count_and_no_mac() {
        let (mut one, _, keys) = met();
        for _ in 0..1000 {
            one.hear(&[1; 100], Way::Datagram, &keys, at(3));
        }
        let [garbage, _, _, limited] = one.refusals();
        assert!(limited >= 600 && garbage <= BURST, "{:?}", one.refusals());
    }

    #[test]
    fn connections_are_tried_again_later_each_time() {
        let mut one = pair(0, 1, 10);
        assert!(one.connects_now(at(0)));
        let mut now = at(0);
        let mut waits = Vec::new();
        for _ in 0..7 {
            one.connecting();
            assert!(!one.connects_now(at(999_999)));
            one.disconnected(true, now);
            let due = one.connect_at().expect("again");
            waits.push(due.since(now));
            now = due;
        }
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 5000, 5000]);
        one.connected();
        one.disconnected(true, now);
        assert_eq!(one.connect_at().map(|due| due.since(now)), Some(250));
    }
}
