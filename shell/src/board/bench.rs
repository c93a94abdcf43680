//! A board on the bench, before it is wired to a host: everything that can be seen of it, and one
//! pulse of its line if that is wanted.
//!
//! It goes the whole way that a host goes: the board is armed and fed, asked for a reset within
//! its budget, and says itself how long the line read low. Then it is told that the host stops.

use giveover_core::board::{End, Note, Settings, State, Verdict, Why};
use giveover_core::time::{Instant, Span};
use giveover_core::wire::{Key, LinkCounters, ToBoard};

use super::directly::Talk;
use super::link::{Failed, Link, News, Told, Trouble};

/// A board that is not armed by then will not be: the hold-off, a greeting, and the distance of
/// two feeds under the usual time-out.
const ARMED_WITHIN: Span = Span::from_secs(25);
/// A pulse is the longest there is, and its notes come behind it.
const PULSED_WITHIN: Span = Span::from_secs(5);
/// All that is still asked for once it is armed.
const TOLD_WITHIN: Span = Span::from_secs(3);
const LEFT_WITHIN: Span = Span::from_secs(3);
/// How often its log is read while a pulse is made, and everything is looked at.
const LOOK_EVERY: Span = Span::from_millis(100);

/// Requests of ours, by number.
const RESET: u32 = 1;
const STOP: u32 = 2;
const CLEAR: u32 = 3;

/// What came of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// What the board told while it was armed.
    pub told: Told,
    /// What was seen of the line by then.
    pub counters: LinkCounters,
    /// What keeps it from being armed, if anything.
    pub trouble: Option<Trouble>,
    /// The pulse, if one was wanted.
    pub pulse: Option<Pulse>,
}

/// What is known of a pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// Not made: why.
    Refused(Failed),
    /// Asked for, and no word of its end.
    Unproven,
    /// Made, and the line read low for so many ms; `None` where no pin is wired to read it.
    Made(Option<u32>),
}

impl Pulse {
    /// Whether it is what was set, within a twentieth. One that was not read back is taken at the
    /// board's word.
    #[must_use]
    pub fn is_well(self, set: Span) -> bool {
        match self {
            Self::Made(Some(ms)) => ms.abs_diff(set.as_millis()) <= set.as_millis() / 20,
            Self::Made(None) => true,
            Self::Refused(_) | Self::Unproven => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is greeted, armed and fed.
    Arming,
    /// It is armed; the rest of what it can tell is waited for.
    Looking,
    /// The pulse is asked for, and then made.
    Pulsing,
    /// It is told that the host stops.
    Leaving,
}

/// The dialogue, sans-IO.
#[derive(Debug)]
pub struct Bench {
    link: Link,
    wants_pulse: bool,
    stage: Stage,
    until: Instant,
    look: Instant,
    /// Resets that counted before.
    resets: u8,
    made: bool,
    read_low: Option<u32>,
    found: Option<Found>,
}

impl Bench {
    /// Greets the board; `nonce` was never used before.
    #[must_use]
    pub fn begin(key: Key, wants_pulse: bool, nonce: u64, now: Instant) -> Self {
        let mut link = Link::new(Settings::DEFAULT, None);
        link.open(key, nonce, now);
        Self {
            link,
            wants_pulse,
            stage: Stage::Arming,
            until: now.after(ARMED_WITHIN),
            look: now.after(LOOK_EVERY),
            resets: 0,
            made: false,
            read_low: None,
            found: None,
        }
    }

    fn go_on(&mut self, now: Instant) -> Option<Found> {
        self.link.feed(Verdict::Ok, now);
        while let Some(news) = self.link.news() {
            match news {
                News::Answered(RESET, Err(failed)) => {
                    self.pulsed(Pulse::Refused(failed), now);
                }
                News::Answered(STOP, _) => {
                    // Its first pulse shall not count against the host it goes to.
                    if self.made && self.resets == 0 {
                        self.link.ask(CLEAR, ToBoard::Clear, now);
                    } else {
                        return self.found.take();
                    }
                }
                News::Answered(CLEAR, _) => return self.found.take(),
                News::Logged(entry) if self.stage == Stage::Pulsing => self.note(entry.note),
                _ => {} // what it was about is looked at below
            }
        }
        if now >= self.look {
            self.look = now.after(LOOK_EVERY);
            self.look(now);
        }
        if now < self.until {
            return None;
        }
        match self.stage {
            Stage::Arming => {
                self.take_down();
                return self.found.take();
            }
            Stage::Looking => self.looked(now),
            Stage::Pulsing => {
                let pulse = if self.made { Pulse::Made(self.read_low) } else { Pulse::Unproven };
                self.pulsed(pulse, now);
            }
            Stage::Leaving => return self.found.take(),
        }
        None
    }

    fn look(&mut self, now: Instant) {
        match self.stage {
            Stage::Arming => {
                let armed = self.link.told().report.as_ref().is_some_and(|(report, _)| {
                    matches!(report.state, State::Armed | State::Warned)
                });
                if armed && self.link.is_ready() {
                    self.stage = Stage::Looking;
                    self.until = now.after(TOLD_WITHIN);
                    self.link.look_closer_now(now);
                }
            }
            Stage::Looking => {
                let told = self.link.told();
                let all = told.about.is_some() && told.counters.is_some() && told.image.is_some();
                if all && self.link.is_idle() {
                    self.looked(now);
                }
            }
            Stage::Pulsing => {
                if self.made && self.read_low.is_some() {
                    self.pulsed(Pulse::Made(self.read_low), now);
                } else {
                    self.link.look_closer_now(now);
                }
            }
            Stage::Leaving => {}
        }
    }

    fn take_down(&mut self) {
        let told = self.link.told().clone();
        let (counters, trouble) = (self.link.counters(), self.link.trouble());
        self.found = Some(Found { told, counters, trouble, pulse: None });
    }

    /// Everything was told.
    fn looked(&mut self, now: Instant) {
        self.take_down();
        if !self.wants_pulse {
            return self.leave(now);
        }
        self.resets = self.link.told().report.as_ref().map_or(0, |(report, _)| report.resets);
        self.stage = Stage::Pulsing;
        self.until = now.after(PULSED_WITHIN);
        self.link.ask(RESET, ToBoard::Reset(Why::Test), now);
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Done { .. } => self.made = true,
            Note::ReadLow(ms) => self.read_low = Some(ms),
            _ => {} // of the state it goes through on the way
        }
    }

    fn pulsed(&mut self, pulse: Pulse, now: Instant) {
        if let Some(found) = &mut self.found {
            found.pulse = Some(pulse);
        }
        self.leave(now);
    }

    fn leave(&mut self, now: Instant) {
        self.stage = Stage::Leaving;
        self.until = now.after(LEFT_WITHIN);
        self.link.ask(STOP, ToBoard::End(End::Stop), now);
    }
}

impl Talk for Bench {
    type End = Found;

    fn output(&mut self) -> &mut Vec<u8> {
        self.link.output()
    }

    fn poll_timeout(&self) -> Instant {
        let link = self.link.poll_timeout().into_iter().chain(self.link.feed_due());
        link.fold(self.until.min(self.look), Instant::min)
    }

    fn hear(&mut self, bytes: &[u8], now: Instant) -> Option<Found> {
        self.link.hear(bytes, now);
        self.go_on(now)
    }

    fn due(&mut self, nonce: u64, now: Instant) -> Option<Found> {
        self.link.due(nonce, now);
        self.go_on(now)
    }
}
