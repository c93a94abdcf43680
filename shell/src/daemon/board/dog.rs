//! Hardware of other kinds than ours: a watchdog of the kernel's, a USB stick. It is fed in the
//! same place and for the same reasons; it can be asked for little more.

use giveover_core::board::{End, Refusal};
use giveover_core::time::{Instant, Span};
use giveover_core::wire::ToBoard;
use mio::Interest;

use super::{Daemon, PORT, port};
use crate::board::dog::device::Kernel;
use crate::board::dog::{Dog, Guard, Left, Linux, Standing, Stick, Terms, Trouble};
use crate::board::link::Failed;
use crate::config::plan::{BoardKind, BoardPlan};
use crate::message::{self, board as words};
use crate::reactor::{Room, Token};
use crate::report::model::BoardDoc;

/// What the daemon holds of it.
pub(super) struct Leash {
    dog: Box<dyn Dog>,
    kind: &'static str,
    trouble: Option<Trouble>,
    /// An end was announced: it was left, and is not opened again before that is over.
    announced: Option<End>,
    /// When it was fed last.
    fed: Option<Instant>,
    feeds: u32,
    longest_gap: u64,
    near_misses: u32,
    /// It was said that it had reset this host.
    said_reset: bool,
}

impl Leash {
    /// For hardware that is not a board of ours.
    pub(super) fn of(plan: &BoardPlan) -> Option<Self> {
        let dog: Box<dyn Dog> = match plan.kind {
            BoardKind::Giveover { .. } => return None,
            BoardKind::Linux { .. } => Box::new(Linux::<Kernel>::new(plan.port.clone())),
            BoardKind::Stick => Box::new(Stick::new(plan.port.clone())),
        };
        Some(Self {
            dog,
            kind: plan.kind.word(),
            trouble: None,
            announced: None,
            fed: None,
            feeds: 0,
            longest_gap: 0,
            near_misses: 0,
            said_reset: false,
        })
    }

    pub(super) fn is_open(&self) -> bool {
        self.dog.standing() != Standing::Closed
    }

    /// What it guards this host by, if it does.
    pub(super) fn guard(&self) -> Option<Guard> {
        match self.dog.standing() {
            Standing::Guarding(guard) => Some(guard),
            Standing::Closed | Standing::Opening | Standing::Resetting => None,
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.dog.poll_timeout()
    }

    /// L1: a quarter of the time-out, of its own where that is the shorter one.
    pub(super) fn feed_due(&self, plan: &BoardPlan) -> Option<Instant> {
        let timeout = self.guard()?.timeout.min(plan.settings.timeout);
        let quarter = Span::from_millis(timeout.as_millis() / 4);
        Some(self.fed.map_or(Instant::from_millis(0), |fed| fed.after(quarter)))
    }

    /// The announced end did not come. Whether it has to be opened for that.
    pub(super) fn resume(&mut self) -> bool {
        self.announced.take().is_some()
    }

    /// The line of the log.
    pub(super) fn armed(&self, wanted_ms: u64) -> String {
        let has = self.guard().map_or(wanted_ms, |guard| u64::from(guard.timeout.as_millis()));
        words::guarding(self.kind, self.dog.about().identity.as_deref(), has, wanted_ms)
    }

    /// Whether it guards this host, its state in a word, and the same for people.
    pub(super) fn standing(&self) -> (bool, &'static str, String) {
        if let Some(end) = self.announced {
            return (false, "announced", format!("{} was announced", end.word()));
        }
        match (self.dog.standing(), self.trouble) {
            (Standing::Guarding(_), _) => (true, "armed", "armed".to_owned()),
            (Standing::Resetting, _) => (false, "pulsing", "it resets this host".to_owned()),
            (_, Some(trouble)) => (false, trouble.word(), trouble.to_string()),
            _ => (false, "connecting", "it is being connected".to_owned()),
        }
    }

    /// Its part of the document.
    pub(super) fn doc(&self, doc: BoardDoc, now: Instant) -> BoardDoc {
        let (about, guard) = (self.dog.about(), self.guard());
        let ms = |span: Span| u64::from(span.as_millis());
        BoardDoc {
            remedy: match self.trouble {
                Some(trouble) if !doc.armed => trouble.remedy().to_owned(),
                _ => String::new(),
            },
            board: about.identity,
            wanted_ms: Some(doc.timeout_ms),
            settings_echoed: guard.is_some_and(|guard| ms(guard.timeout) == doc.timeout_ms),
            timeout_ms: guard.map_or(doc.timeout_ms, |guard| ms(guard.timeout)),
            pretimeout_ms: guard.and_then(|guard| guard.pretimeout).map(ms),
            stops_when_closed: guard.is_some_and(|guard| guard.stops_when_closed),
            has_reset: about.has_reset,
            fed_ago_ms: self.fed.map(|fed| now.since(fed)),
            feeds: self.feeds,
            longest_gap_ms: self.longest_gap,
            near_misses: self.near_misses,
            noise: about.noise,
            ..doc
        }
    }
}

/// What is told to it.
fn terms(plan: &BoardPlan) -> Terms {
    let settings = &plan.settings;
    Terms {
        timeout: settings.timeout,
        pretimeout: match plan.kind {
            BoardKind::Linux { pretimeout } => pretimeout,
            BoardKind::Giveover { .. } | BoardKind::Stick => None,
        },
        boot_grace: settings.boot_grace,
        nowayout: settings.nowayout,
    }
}

impl Daemon {
    /// Opens it, if no end was announced.
    pub(super) fn open_dog(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        let Some(leash) = &mut board.leash else { return };
        if leash.announced.is_some() {
            return;
        }
        leash.fed = None;
        let opened = leash.dog.open(&terms(&board.plan), now);
        if let (Ok(()), Some(serial)) = (opened, leash.dog.port()) {
            board.generation = board.generation.wrapping_add(1);
            let token = Token::new(Room::Board, PORT, board.generation);
            let both = Interest::READABLE | Interest::WRITABLE;
            if self.reactor.add(serial, token, both).is_err() {
                return self.dog_lost(Trouble::Gone);
            }
        }
        match opened {
            Ok(()) => self.dog_guards(),
            Err(trouble) => self.dog_lost(trouble),
        }
    }

    /// It may have begun to guard this host just now.
    fn dog_guards(&mut self) {
        let same_boot = self.same_boot;
        let Some(board) = &mut self.board else { return };
        let Some(leash) = board.leash.as_mut().filter(|leash| leash.guard().is_some()) else {
            return;
        };
        leash.trouble = None;
        board.wait = port::WAIT_FIRST;
        let has_reset = leash.dog.about().has_reset == Some(true);
        if has_reset && !same_boot && !std::mem::replace(&mut leash.said_reset, true) {
            let text = "it reset this host before it booted".to_owned();
            self.say_host(message::Event::BoardReset, text);
        }
    }

    /// It does not guard this host; it is opened again, later each time.
    fn dog_lost(&mut self, trouble: Trouble) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        board.touched = true;
        if let Some(leash) = &mut board.leash {
            leash.trouble = Some(trouble);
        }
        board.wait_longer(now);
    }

    fn with_dog(&mut self, act: impl FnOnce(&mut Leash) -> Result<(), Trouble>) {
        let Some(leash) = self.board.as_mut().and_then(|board| board.leash.as_mut()) else {
            return;
        };
        match act(leash) {
            Ok(()) => self.dog_guards(),
            Err(trouble) => self.dog_lost(trouble),
        }
    }

    /// Another plan for the same hardware.
    pub(super) fn retime_dog(&mut self) {
        let now = self.now;
        let Some(terms) = self.board.as_ref().map(|board| terms(&board.plan)) else { return };
        self.with_dog(|leash| leash.dog.retime(&terms, now));
    }

    /// What is due by itself.
    pub(super) fn dog_due(&mut self) {
        let now = self.now;
        let due = self.board.as_ref().and_then(|board| board.leash.as_ref()?.poll_timeout());
        if due.is_some_and(|due| now >= due) {
            self.with_dog(|leash| leash.dog.due(now));
        }
    }

    pub(super) fn dog_ready(&mut self) {
        let now = self.now;
        if let Some(board) = &mut self.board {
            board.touched = true;
        }
        self.with_dog(|leash| leash.dog.ready(now));
    }

    /// Says that this host lives.
    pub(super) fn feed_dog(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        let Some(leash) = &mut board.leash else { return };
        let timeout = leash.guard().map_or(board.plan.settings.timeout, |guard| guard.timeout);
        let timeout = u64::from(timeout.as_millis());
        let gap = leash.fed.map(|fed| now.since(fed));
        leash.fed = Some(now);
        leash.feeds = leash.feeds.saturating_add(1);
        leash.longest_gap = leash.longest_gap.max(gap.unwrap_or(0));
        let late = gap.filter(|gap| *gap > timeout / 5 * 3);
        if let Some(gap) = late {
            leash.near_misses = leash.near_misses.saturating_add(1);
            self.say_host(message::Event::BoardMissed, words::missed(gap, timeout));
        }
        self.with_dog(|leash| leash.dog.feed(now));
    }

    /// What a board can be asked for and this hardware too: a reset, and to be left.
    pub(super) fn ask_dog(&mut self, frame: &ToBoard) -> Result<(), Failed> {
        match *frame {
            ToBoard::Reset(_) => {
                let leash = self.board.as_mut().and_then(|board| board.leash.as_mut());
                let reset = leash.map(|leash| leash.dog.reset());
                match reset {
                    Some(Ok(())) => Ok(()),
                    Some(Err(trouble)) => {
                        self.dog_lost(trouble);
                        Err(Failed::NotConnected)
                    }
                    None => Err(Failed::NotConnected),
                }
            }
            ToBoard::End(end) => {
                self.leave_dog(end);
                Ok(())
            }
            _ => Err(Failed::Refused(Refusal::Unsupported)),
        }
    }

    /// Why it cannot do what a person asks, if so.
    pub(super) fn why_dog_cannot(&self, action: &str) -> Option<String> {
        let leash = self.board.as_ref()?.leash.as_ref()?;
        let why = match action {
            "reset" | "end" => return None,
            "pair" => "knows no key",
            "confirm" | "clear" | "log" => "remembers nothing",
            "disarm" | "arm" | "grace" => "can only be fed or left: giveover board end stop",
            _ => "can do no such thing",
        };
        Some(format!("hardware of kind \"{}\" {why}", leash.kind))
    }

    /// An end was announced: it is stopped, or given the time that it takes, and closed.
    pub(super) fn leave_dog(&mut self, end: End) {
        let Some(board) = &mut self.board else { return };
        let Some(leash) = &mut board.leash else { return };
        if let Some(serial) = leash.dog.port() {
            self.reactor.remove(serial);
        }
        board.touched = true;
        leash.announced = Some(end);
        let counting = match leash.dog.end(end) {
            Left::Stopped => None,
            Left::Counting(left) => Some(u64::from(left.as_millis())),
            Left::Closed => return,
        };
        self.say_host(message::Event::Board, words::left(end.word(), counting));
    }

    /// The port is out of the loop, and closed with whatever was left of it.
    pub(super) fn drop_dog(&mut self) {
        let Some(leash) = self.board.as_mut().and_then(|board| board.leash.as_mut()) else {
            return;
        };
        if let Some(serial) = leash.dog.port() {
            self.reactor.remove(serial);
        }
    }
}
