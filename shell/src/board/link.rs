//! The host's side of the dialogue with a board: bytes and times in, bytes and news out.
//!
//! A connection is made by hello and challenge. Then the first feed is said, so that a host that
//! comes back late is not reset for what follows: settings and their echo, arming if the board is
//! not armed, what board it is, its log. Of requests one is under way at a time, and said again
//! when no answer comes; a feed waits for none of them. A board that falls silent is greeted
//! again: it keeps the old connection until the new one has proven itself.

mod take;
mod told;

use std::collections::VecDeque;

use giveover_core::board::{End, Entry, Refusal, Settings, Verdict};
use giveover_core::time::{Instant, Span};
use giveover_core::wire::v1::{EventBytes, ToShadow};
use giveover_core::wire::{
    Ask, Decoder, Garbage, HostEnd, Key, LinkCounters, MAX_ENCODED, Refused, ToBoard,
};

pub use told::{MOST_ENTRIES, Told, Trouble, device};

/// Between two greetings, at first and at last.
const GREET_FIRST: Span = Span::from_millis(500);
const GREET_LAST: Span = Span::from_secs(10);
/// A request is said this often before it has failed.
const TRIES: u8 = 3;
/// An end is said again so soon: whoever says it is about to go.
const END_PATIENCE: Span = Span::from_millis(500);
/// The counters are asked for with every so many feeds.
const COUNT_EVERY: u32 = 4;
/// More requests than this are not queued.
const MOST_QUEUED: usize = 64;
/// Of them so many may be for shadows; then the line is too slow, and they begin anew.
const MOST_SHADOWED: usize = 32;

/// Why a request has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The board says no.
    Refused(Refusal),
    /// It has not answered: it may have been done.
    NoAnswer,
    /// There is no connection.
    NotConnected,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "the board refuses: {}", refusal.word()),
            Self::NoAnswer => f.write_str("the board does not answer"),
            Self::NotConnected => f.write_str("no board is connected"),
        }
    }
}

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A board has proven itself; it is being told the settings.
    Connected,
    /// The board has fallen silent, and is greeted again.
    Silent,
    /// What stands in the way is now this.
    Trouble(Trouble),
    /// It has our settings and is armed, or was told to be.
    Ready,
    /// A feed was taken, so many ms after the one before.
    Fed(Option<u64>),
    /// The request of this number has been answered.
    Answered(u32, Result<(), Failed>),
    /// An entry of its log.
    Logged(Entry),
    /// Nobody knows what the board's shadows have heard last: they begin anew.
    ShadowsLost,
    /// The board does not shadow this service.
    NoShadow(u8, Refusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The port is not open.
    Closed,
    /// A hello has been said.
    Greeting { again: Instant, wait: Span },
    /// Connected.
    Up,
}

/// Who asked, and so what the answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    Settings,
    Status,
    Arming,
    Knowing,
    /// Firmware of an earlier version does not know the question.
    Perhaps,
    Log,
    Flush,
    /// What a shadow is told. Said twice it would count twice, so it never is.
    Shadow,
    Outside(u32),
}

#[derive(Clone, Copy, Debug)]
struct Request {
    frame: ToBoard,
    purpose: For,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    request: Request,
    counter: u32,
    until: Instant,
    tries: u8,
}

/// A feed whose status has not come.
#[derive(Clone, Copy, Debug)]
struct Feeding {
    answer: u32,
    sent: Instant,
    until: Instant,
    /// The status was asked for once more.
    asked: bool,
}

/// One end of one line.
#[derive(Debug)]
pub struct Link {
    settings: Settings,
    /// The board that was here before.
    before: Option<u64>,
    end: Option<HostEnd>,
    key: Option<Key>,
    decoder: Decoder,
    stage: Stage,
    trouble: Option<Trouble>,
    /// What has been heard since the last hello: bytes, and a frame that was not authentic.
    heard: bool,
    unauthentic: bool,
    queue: VecDeque<Request>,
    flight: Option<Flight>,
    feeding: Option<Feeding>,
    /// What the next feed answers.
    challenge: Option<u32>,
    verdict: Verdict,
    fed: Option<Instant>,
    /// When its answer came: no later was it taken.
    taken: Option<Instant>,
    feeds: u32,
    ready: bool,
    /// An end was announced: nothing is fed.
    announced: Option<End>,
    next_entry: u32,
    flushed: u32,
    /// Of connections that are over.
    counted: LinkCounters,
    told: Told,
    out: Vec<u8>,
    news: VecDeque<News>,
}

impl Link {
    /// A link without a port. `before` is the number of the board that was here before, if any.
    #[must_use]
    pub fn new(settings: Settings, before: Option<u64>) -> Self {
        Self {
            settings,
            before,
            end: None,
            key: None,
            decoder: Decoder::new(),
            stage: Stage::Closed,
            trouble: None,
            heard: false,
            unauthentic: false,
            queue: VecDeque::new(),
            flight: None,
            feeding: None,
            challenge: None,
            verdict: Verdict::Unknown,
            fed: None,
            taken: None,
            feeds: 0,
            ready: false,
            announced: None,
            next_entry: 0,
            flushed: 0,
            counted: LinkCounters::default(),
            told: Told::default(),
            out: Vec::new(),
            news: VecDeque::new(),
        }
    }

    /// The port is open: the board is greeted. `nonce` was never used before.
    pub fn open(&mut self, key: Key, nonce: u64, now: Instant) {
        self.key = Some(key);
        self.decoder = Decoder::new();
        self.out.clear();
        self.greet(nonce, GREET_FIRST, now);
    }

    /// The board is greeted now if it has not answered, and not when that would be due.
    pub fn greet_now(&mut self, nonce: u64, now: Instant) {
        if matches!(self.stage, Stage::Greeting { .. }) {
            self.greet(nonce, GREET_FIRST, now);
        }
    }

    /// The port is gone.
    pub fn close(&mut self) {
        self.stage = Stage::Closed;
        self.out.clear();
        self.forget();
    }

    /// What is written to the port next; what was written is taken out by the caller.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// What has happened since this was asked last.
    pub fn news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// What the board has told.
    #[must_use]
    pub const fn told(&self) -> &Told {
        &self.told
    }

    /// What stands in the way, if anything is known to.
    #[must_use]
    pub const fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }

    /// Whether a board has proven itself on the open port.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.stage == Stage::Up
    }

    /// Whether it has our settings and has been armed.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_up() && self.ready
    }

    /// The end that was announced, if any.
    #[must_use]
    pub const fn announced(&self) -> Option<End> {
        self.announced
    }

    /// What we have seen of the line.
    #[must_use]
    pub fn counters(&self) -> LinkCounters {
        let now = self.end.as_ref().map(HostEnd::counters).unwrap_or_default();
        LinkCounters {
            garbage: self.counted.garbage.saturating_add(self.decoder.garbage()),
            ..sum(self.counted, now)
        }
    }

    /// When the next feed is due; `None` while there is nothing to feed.
    #[must_use]
    pub fn feed_due(&self) -> Option<Instant> {
        let up = self.is_up() && self.challenge.is_some() && self.feeding.is_none();
        if !up || self.announced.is_some() {
            return None;
        }
        let timeout = self.timeout().as_millis();
        // A board that has just been armed is not guarding before the next feed; below an eighth
        // of the time-out it would be too early.
        let waits = self.told.report.as_ref().is_some_and(|(report, _)| {
            report.armed && report.state == giveover_core::board::State::Waiting
        });
        let wait = if waits && self.ready { timeout / 16 * 3 } else { timeout / 4 };
        let after = |at: Option<Instant>, ms| {
            at.map_or(Instant::from_millis(0), |at| at.after(Span::from_millis(ms)))
        };
        // One that was long on its way was taken late: the next must not follow too soon.
        Some(after(self.fed, wait).max(after(self.taken, timeout / 32 * 5)))
    }

    /// The time-out that the board keeps: its own, if it has refused ours. A host that fed by
    /// another would be reset for it.
    fn timeout(&self) -> Span {
        self.told.settings.map_or(self.settings.timeout, |settings| settings.timeout)
    }

    /// When [`Link::due`] is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let greeting = match self.stage {
            Stage::Closed => return None,
            Stage::Greeting { again, .. } => Some(again),
            Stage::Up => None,
        };
        let flight = self.flight.as_ref().map(|flight| flight.until);
        let feeding = self.feeding.as_ref().map(|feeding| feeding.until);
        [greeting, flight, feeding].into_iter().flatten().min()
    }

    /// Says that the host lives, if it is due; otherwise nothing.
    pub fn feed(&mut self, verdict: Verdict, now: Instant) {
        self.verdict = verdict;
        if self.feed_due().is_some_and(|due| now >= due) {
            self.feed_now(now);
        }
    }

    /// Asks for something; the answer comes as [`News::Answered`] with the same number.
    pub fn ask(&mut self, number: u32, frame: ToBoard, now: Instant) {
        if !self.is_up() || self.queue.len() >= MOST_QUEUED {
            self.news.push_back(News::Answered(number, Err(Failed::NotConnected)));
            return;
        }
        match frame {
            ToBoard::End(end) => self.announced = Some(end),
            ToBoard::Arm => self.announced = None,
            _ => {}
        }
        // What a person or an end asks for goes before what we want to know.
        self.queue.push_front(Request { frame, purpose: For::Outside(number) });
        self.go_on(now);
    }

    /// Reads its log and its counts now, besides each feed.
    pub fn look_closer_now(&mut self, now: Instant) {
        if self.is_ready() && self.is_idle() {
            let frame = ToBoard::ReadLog { from: self.next_entry };
            self.queue.push_back(Request { frame, purpose: For::Log });
            self.go_on(now);
        }
    }

    /// Whether nothing is asked or waited for but what a feed brings.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.flight.is_none()
    }

    /// Tells the board's shadow of a service something, in order with all that it is told.
    /// [`News::ShadowsLost`] says that it did not arrive.
    pub fn tell_shadow(&mut self, service: u8, at: Instant, told: &ToShadow, now: Instant) {
        let waiting = self.queue.iter().filter(|request| request.purpose == For::Shadow).count();
        match EventBytes::of(told).filter(|_| self.is_up() && waiting < MOST_SHADOWED) {
            Some(event) => {
                let frame = ToBoard::Shadow { service, at, event };
                self.queue.push_back(Request { frame, purpose: For::Shadow });
                self.go_on(now);
            }
            None => self.lose_shadows(),
        }
    }

    /// What was still to be told is not.
    fn lose_shadows(&mut self) {
        self.queue.retain(|request| request.purpose != For::Shadow);
        self.news.push_back(News::ShadowsLost);
    }

    /// Announces an end without waiting for anything: there is no time for an answer.
    pub fn last_word(&mut self, end: End) {
        if self.is_up() {
            self.announced = Some(end);
            // Twice: no answer would tell that one was lost, and said twice it is the same end.
            self.send(&ToBoard::End(end));
            self.out.push(0);
            self.send(&ToBoard::End(end));
        }
    }

    /// The announced end did not come: it is fed again.
    pub fn resume(&mut self) {
        self.announced = None;
    }

    /// Other settings.
    pub fn configure(&mut self, settings: Settings, now: Instant) {
        self.settings = settings;
        if self.is_up() {
            self.ready = false;
            let frame = ToBoard::Configure(settings);
            self.queue.push_back(Request { frame, purpose: For::Settings });
            self.go_on(now);
        }
    }

    /// This board is the one meant, whatever was here before.
    pub fn accept_any(&mut self) {
        self.before = None;
    }

    /// Takes bytes from the port.
    pub fn hear(&mut self, bytes: &[u8], now: Instant) {
        self.heard |= !bytes.is_empty();
        for byte in bytes {
            let Some(pushed) = self.decoder.push(*byte) else { continue };
            let opened = match pushed {
                Err(garbage) => Err(Some(garbage)),
                Ok(raw) => self.end.as_mut().map(|end| end.open(&raw)).ok_or(None),
            };
            match opened {
                Ok(Ok(frame)) => self.take(frame, now),
                Ok(Err(refused)) => self.refused(refused),
                Err(Some(Garbage::Version(version))) if !self.is_up() => {
                    self.tell_trouble(Trouble::Version(version));
                }
                Err(_) => {}
            }
        }
    }

    /// Does what is due; `nonce` was never used before.
    pub fn due(&mut self, nonce: u64, now: Instant) {
        match self.stage {
            Stage::Closed => return,
            Stage::Greeting { again, wait } if now >= again => {
                self.not_greeted();
                let most = GREET_LAST.as_millis().min(self.timeout().as_millis() / 4);
                let wait = (wait.as_millis().saturating_mul(2)).min(most);
                self.greet(nonce, Span::from_millis(wait).max(GREET_FIRST), now);
            }
            Stage::Greeting { .. } => return,
            Stage::Up => {}
        }
        if let Some(feeding) = self.feeding.filter(|feeding| now >= feeding.until) {
            self.feed_unanswered(feeding, nonce, now);
        }
        if let Some(flight) = self.flight.filter(|flight| now >= flight.until) {
            self.request_unanswered(flight, nonce, now);
        }
    }

    /// How long an answer may take.
    fn patience(&self) -> Span {
        Span::from_millis((self.timeout().as_millis() / 4).clamp(250, 2_000))
    }

    fn greet(&mut self, nonce: u64, wait: Span, now: Instant) {
        let Some(key) = self.key else { return };
        self.forget();
        let end = HostEnd::new(key, nonce);
        let mut buffer = [0; MAX_ENCODED];
        // A delimiter before: whatever stood on the line ends here.
        self.out.push(0);
        let length = end.hello(&mut buffer).unwrap_or(0);
        self.out.extend_from_slice(buffer.get(..length).unwrap_or_default());
        self.end = Some(end);
        (self.heard, self.unauthentic) = (false, false);
        self.stage = Stage::Greeting { again: now.after(wait), wait };
    }

    /// Ends what the connection had under way.
    fn forget(&mut self) {
        if let Some(end) = self.end.take() {
            self.counted = sum(self.counted, end.counters());
        }
        let flight = self.flight.take().map(|flight| flight.request);
        let asked: Vec<Request> = flight.into_iter().chain(self.queue.drain(..)).collect();
        for request in asked {
            match request.purpose {
                For::Outside(number) => {
                    self.news.push_back(News::Answered(number, Err(Failed::NoAnswer)));
                }
                For::Shadow => self.news.push_back(News::ShadowsLost),
                _ => {} // asked again on the next connection
            }
        }
        self.feeding = None;
        self.challenge = None;
        self.ready = false;
    }

    fn not_greeted(&mut self) {
        let trouble = match self.trouble {
            // What was found out stands until something else is.
            Some(Trouble::NoAnswer | Trouble::Chatter) | None => {
                if self.unauthentic {
                    Trouble::NotAuthentic
                } else if self.heard {
                    Trouble::Chatter
                } else {
                    Trouble::NoAnswer
                }
            }
            Some(_) if !self.heard => Trouble::NoAnswer,
            Some(known) => known,
        };
        self.tell_trouble(trouble);
    }

    fn tell_trouble(&mut self, trouble: Trouble) {
        if self.trouble != Some(trouble) {
            self.trouble = Some(trouble);
            self.news.push_back(News::Trouble(trouble));
        }
    }

    fn refused(&mut self, refused: Refused) {
        if self.is_up() {
            return; // counted; it delays and changes nothing
        }
        match (refused, self.key) {
            (Refused::OtherKey(theirs), Some(key)) => {
                self.tell_trouble(Trouble::OtherKey { ours: key.id(), theirs });
            }
            // It may be the answer to an earlier hello: told if nothing better comes.
            _ => self.unauthentic = true,
        }
    }

    fn feed_now(&mut self, now: Instant) {
        let Some(answer) = self.challenge else { return };
        let frame = ToBoard::Feed { answer, verdict: self.verdict };
        if self.send(&frame).is_some() {
            let until = now.after(self.patience());
            self.feeding = Some(Feeding { answer, sent: now, until, asked: false });
        }
    }

    fn feed_unanswered(&mut self, feeding: Feeding, nonce: u64, now: Instant) {
        if feeding.asked {
            return self.silent(nonce, now);
        }
        self.out.push(0);
        self.send(&ToBoard::Ask(Ask::Status));
        let until = now.after(self.patience());
        self.feeding = Some(Feeding { until, asked: true, ..feeding });
    }

    fn silent(&mut self, nonce: u64, now: Instant) {
        self.news.push_back(News::Silent);
        self.greet(nonce, GREET_FIRST, now);
    }

    /// Sends the next request, if none is under way.
    fn go_on(&mut self, now: Instant) {
        if self.flight.is_some() || !self.is_up() {
            return;
        }
        let waits = self.feeding.is_some();
        let next = self.queue.iter().position(|request| {
            // Two statuses on the way could not be told apart.
            !(waits && request.frame == ToBoard::Ask(Ask::Status))
        });
        if let Some(request) = next.and_then(|next| self.queue.remove(next)) {
            self.fly(request, 1, now);
        }
    }

    fn fly(&mut self, request: Request, tries: u8, now: Instant) {
        if let Some(counter) = self.send(&request.frame) {
            let ends = matches!(request.frame, ToBoard::End(_));
            let wait = if ends { self.patience().min(END_PATIENCE) } else { self.patience() };
            let until = now.after(wait);
            self.flight = Some(Flight { request, counter, until, tries });
        }
    }

    fn request_unanswered(&mut self, flight: Flight, nonce: u64, now: Instant) {
        self.flight = None;
        if flight.request.purpose == For::Shadow {
            self.lose_shadows();
            return self.go_on(now);
        }
        if flight.tries < TRIES {
            self.out.push(0);
            return self.fly(flight.request, flight.tries + 1, now);
        }
        if flight.request.purpose == For::Perhaps {
            return self.go_on(now);
        }
        self.flight = Some(flight); // so that whoever asked is told
        self.silent(nonce, now);
    }

    /// Seals a frame for the port; its counter, or `None` if the connection is used up.
    fn send(&mut self, frame: &ToBoard) -> Option<u32> {
        let mut buffer = [0; MAX_ENCODED];
        let (length, counter) = self.end.as_mut()?.seal(frame, &mut buffer)?;
        self.out.extend_from_slice(buffer.get(..length)?);
        Some(counter)
    }
}

fn sum(one: LinkCounters, other: LinkCounters) -> LinkCounters {
    LinkCounters {
        frames: one.frames.saturating_add(other.frames),
        garbage: one.garbage.saturating_add(other.garbage),
        unknown: one.unknown.saturating_add(other.unknown),
        refused: one.refused.saturating_add(other.refused),
        replayed: one.replayed.saturating_add(other.replayed),
    }
}
