//! The board that resets this host: when it is fed, what it is told, what came of it.
//!
//! It is fed at the end of a turn of the loop in which everything that was due has been done
//! (L1): a loop that does not come round feeds nobody.

mod ask;
pub(crate) mod doc;
mod dog;
mod end;
mod memory;
mod port;
mod shadow;

use std::collections::HashMap;

use giveover_core::board::{End, State, Verdict};
use giveover_core::monitor::Status;
use giveover_core::time::{Instant, Span};
use giveover_core::wire::{KeyId, ToBoard};

use self::ask::AskFor;
use self::dog::Leash;
use self::end::Shutdown;
use self::memory::Memory;
use self::port::{Pairing, PortTrouble};
use self::shadow::Shadowed;
use super::Daemon;
use crate::board::link::News;
use crate::board::{Link, Serial, key};
use crate::config::plan::{BoardPlan, GoesTo};
use crate::message::{self, board as words};
use crate::reactor::{Room, Timer, Token};

/// The timer of this room; ports have their generation.
const TIMER: u32 = 1;
const PORT: u32 = 0;

/// A decision this much past its deadline keeps the board from being fed.
const OVERDUE: Span = Span::from_secs(1);

/// A board that does not answer so soon after our start is waited for before that is an alarm: it
/// may have been powered up with us.
const AT_START: Span = Span::from_secs(5);

/// At shutdown, an answer to the announced end is waited for no longer than this: it is said three
/// times, and then the board is greeted anew and told.
const FAREWELL: Span = Span::from_secs(2);

/// Nothing is fed for so long after an announced suspend that does not come.
const SUSPEND: Span = Span::from_secs(120);

/// The board as the daemon has it.
pub(super) struct Board {
    plan: BoardPlan,
    /// Hardware of another kind than ours; then the link is never opened.
    leash: Option<Leash>,
    link: Link,
    serial: Option<Serial>,
    /// What may be shown of the key that the port was opened with.
    key: Option<KeyId>,
    generation: u32,
    trouble: Option<PortTrouble>,
    /// When the port is tried again, and how long after the time before.
    again: Option<Instant>,
    wait: Span,
    pairing: Option<Pairing>,
    memory: Memory,
    asks: HashMap<u32, AskFor>,
    next_ask: u32,
    armed_for: Option<(Instant, Timer)>,
    /// What people were told last, and since when it is so.
    said: Option<(bool, String)>,
    since: Instant,
    /// Until when silence is no alarm yet; that it is waited for was said.
    alarm_at: Instant,
    waits: bool,
    /// Since when the services that matter have been ok; and the boot was confirmed.
    ok_since: Option<Instant>,
    confirmed: bool,
    /// Resets it had made when it was last heard.
    resets_ever: Option<u32>,
    /// Something has happened on it since people were told last.
    touched: bool,
    /// Some decision is late, and nothing is fed for it.
    withheld: bool,
    /// Services whose monitors the board runs too.
    shadowed: Vec<Shadowed>,
    /// Until when an announced suspend is believed.
    suspend_until: Option<Instant>,
    /// The daemon ends: until when the answer to that is waited for.
    farewell: Option<Instant>,
    shutdown: Shutdown,
}

impl Board {
    fn new(plan: BoardPlan, memory: Memory, now: Instant) -> Self {
        Self {
            link: Link::new(plan.settings, memory.device()),
            leash: Leash::of(&plan),
            plan,
            serial: None,
            key: None,
            generation: 0,
            trouble: None,
            again: Some(now),
            wait: port::WAIT_FIRST,
            pairing: None,
            memory,
            asks: HashMap::new(),
            next_ask: 0,
            armed_for: None,
            said: None,
            since: now,
            alarm_at: now.after(AT_START),
            waits: false,
            ok_since: None,
            confirmed: false,
            resets_ever: None,
            touched: true,
            withheld: false,
            shadowed: Vec::new(),
            suspend_until: None,
            farewell: None,
            shutdown: Shutdown::default(),
        }
    }

    /// Whether it guards this host, as far as it has told.
    fn is_armed(&self) -> bool {
        if let Some(leash) = &self.leash {
            return leash.guard().is_some();
        }
        let guards = |state| matches!(state, State::Armed | State::Warned);
        self.link.is_ready()
            && self.link.told().report.as_ref().is_some_and(|(report, _)| guards(report.state))
    }

    fn next_due(&self) -> Option<Instant> {
        let pairing = self.pairing.as_ref().map(Pairing::due);
        let feed = if self.withheld { None } else { self.feed_due() };
        let far = match &self.leash {
            Some(leash) => leash.poll_timeout(),
            None => self.link.poll_timeout(),
        };
        let dues = [far, feed, self.again, pairing];
        let alarm = Some(self.alarm_at).filter(|_| self.waits);
        let rest = [self.suspend_until, self.farewell, alarm];
        dues.into_iter().chain(rest).flatten().min()
    }

    fn feed_due(&self) -> Option<Instant> {
        match &self.leash {
            Some(leash) => leash.feed_due(&self.plan),
            None => self.link.feed_due(),
        }
    }

    /// The announced end did not come: it is fed again.
    fn resume(&mut self, now: Instant) {
        match &mut self.leash {
            Some(leash) => {
                if leash.resume() {
                    self.again = Some(now);
                }
            }
            None => self.link.resume(),
        }
    }
}

impl Daemon {
    /// Takes up the board of the plan, if there is one and it may be acted on.
    pub(super) fn begin_board(&mut self) {
        let Some(plan) = self.plan.board.as_deref().cloned() else { return };
        if self.plan.host.observe {
            return;
        }
        let memory = Memory::read(self.journal.place().dir());
        self.board = Some(Box::new(Board::new(plan, memory, self.now)));
        self.choose_shadowed();
        self.look_after_board();
    }

    /// Another plan: a board that stays the same notices nothing of it.
    pub(super) fn reload_board(&mut self) {
        let now = self.now;
        let wanted = self.plan.board.as_deref().filter(|_| !self.plan.host.observe).cloned();
        match (&mut self.board, wanted) {
            (Some(board), Some(wanted))
                if board.plan.port == wanted.port
                    && board.plan.kind.same_hardware(&wanted.kind) =>
            {
                let other = board.plan.settings != wanted.settings;
                if other && board.leash.is_none() {
                    board.link.configure(wanted.settings, now);
                }
                board.plan = wanted;
                board.touched = true;
                self.choose_shadowed();
                self.retime_dog();
                self.write_to_board();
            }
            (Some(_), wanted) => {
                self.last_word_to_board(End::Stop);
                self.drop_port();
                let answers = self.board.take().map(|board| board.asks).unwrap_or_default();
                self.nobody_answers(answers);
                if wanted.is_some() {
                    self.begin_board();
                }
            }
            (None, Some(_)) => self.begin_board(),
            (None, None) => {}
        }
    }

    /// A timer of this room: what is due is seen to at the end of the turn.
    pub(super) fn board_due(&mut self) {
        if let Some(board) = &mut self.board {
            board.armed_for = None;
        }
    }

    /// The last thing of every turn, and of nothing else: in the middle of one, what is due has
    /// not been done.
    pub(super) fn look_after_board(&mut self) {
        let now = self.now;
        if self.board.is_none() {
            return;
        }
        self.open_port();
        self.board_dues();
        let feed_due = self.board.as_ref().and_then(|board| board.feed_due());
        if feed_due.is_some_and(|due| now >= due) && self.may_feed() {
            let verdict = self.verdict();
            if let Some(board) = &mut self.board {
                board.touched = true;
                board.link.feed(verdict, now);
            }
            self.feed_dog();
            self.confirm_boot();
        }
        self.take_board_news();
        self.write_to_board();
        self.tell_board();
        self.arm_board();
    }

    fn board_dues(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        if board.waits && now >= board.alarm_at {
            board.waits = false;
            board.touched = true;
        }
        if board.farewell.is_some_and(|until| now >= until) {
            self.give_up_farewell();
        }
        let Some(board) = &mut self.board else { return };
        if board.suspend_until.is_some_and(|until| now >= until) {
            board.suspend_until = None;
            board.resume(now);
        }
        if board.leash.is_some() {
            return self.dog_due();
        }
        if board.pairing.is_some() {
            board.touched = true;
            self.pairing_due();
            return;
        }
        if board.link.poll_timeout().is_some_and(|due| now >= due) {
            board.touched = true;
            // Without random numbers no connection can be made: it is tried again.
            if let Ok(nonce) = key::nonce() {
                board.link.due(nonce, now);
            }
        }
    }

    /// L1: everything that was due has been done, and no decision is past its own deadline.
    fn may_feed(&mut self) -> bool {
        let now = self.now;
        let is_late = |due: Instant| now.since(due) >= u64::from(OVERDUE.as_millis());
        let timers = !self.reactor.timers.next().is_some_and(is_late);
        let late =
            self.watches.iter().position(|watch| watch.monitor.poll_timeout().is_some_and(is_late));
        let may = timers && late.is_none();
        let Some(board) = &mut self.board else { return false };
        if !may && !board.withheld {
            let which = late.and_then(|late| self.plan.services.get(late));
            let name = which.map_or("a timer", |service| &*service.name).to_owned();
            let text = format!("not fed: {name} is past its own deadline");
            board.withheld = true;
            self.say_host(message::Event::BoardMissed, text);
        } else if may {
            board.withheld = false;
        }
        may
    }

    /// What this host thinks of its services; the board only shows it.
    fn verdict(&self) -> Verdict {
        let shown = || self.watches.iter().take(self.shown());
        let has = |status| shown().any(|watch| watch.monitor.status() == status);
        if has(Status::Faulted) {
            Verdict::Faulted
        } else if has(Status::Degraded) {
            Verdict::Degraded
        } else if shown().all(|watch| matches!(watch.monitor.status(), Status::Ok)) {
            Verdict::Ok
        } else {
            Verdict::Unknown
        }
    }

    /// L6: once the services that would reset this host have been ok for long enough.
    fn confirm_boot(&mut self) {
        let now = self.now;
        let well = self.plan.services.iter().zip(&self.watches).all(|(plan, watch)| {
            plan.giveover != GoesTo::Board || watch.monitor.status() == Status::Ok
        });
        let Some(board) = self.board.as_mut().filter(|board| board.leash.is_none()) else { return };
        if !well {
            board.ok_since = None;
            return;
        }
        let since = *board.ok_since.get_or_insert(now);
        let long = now.since(since) >= u64::from(board.plan.confirm_after.as_millis());
        if long && !board.confirmed && board.is_armed() {
            board.confirmed = true;
            self.ask_board(ToBoard::Confirm, AskFor::Confirm);
        }
    }

    fn take_board_news(&mut self) {
        while let Some(news) = self.board.as_mut().and_then(|board| board.link.news()) {
            match news {
                News::Answered(number, result) => self.board_answered(number, result),
                News::Connected => {
                    if let Some(board) = &mut self.board {
                        board.wait = port::WAIT_FIRST;
                        board.end_shadows();
                    }
                    self.farewell_to_found();
                }
                News::ShadowsLost => {
                    if let Some(board) = &mut self.board {
                        board.end_shadows();
                    }
                }
                News::NoShadow(service, refusal) => self.no_shadow(service, refusal),
                News::Fed(gap) => self.board_fed(gap),
                News::Ready => self.look_back(),
                News::Silent | News::Trouble(_) | News::Logged(_) => {}
            }
        }
    }

    fn board_fed(&mut self, gap: Option<u64>) {
        let Some(board) = &self.board else { return };
        let timeout = u64::from(board.plan.settings.timeout.as_millis());
        if let Some(gap) = gap.filter(|gap| *gap > timeout / 5 * 3) {
            self.say_host(message::Event::BoardMissed, words::missed(gap, timeout));
        }
        self.look_back();
    }

    /// Whether it has reset this host since it was last heard, here or in the run before.
    fn look_back(&mut self) {
        let Some(board) = &mut self.board else { return };
        let told = board.link.told();
        let (Some(device), Some((report, at))) = (told.device, told.report) else { return };
        let before = board.memory.resets(device);
        if before == Some(report.resets_ever) {
            return;
        }
        board.memory.remember(device, report.resets_ever);
        if board.resets_ever.replace(report.resets_ever).is_some() {
            board.confirmed = false;
        }
        let (Some(_), Some(last)) = (before, report.last) else { return };
        let timeout = u64::from(board.plan.settings.timeout.as_millis());
        let when = Instant::from_millis(at.as_millis().saturating_sub(u64::from(last.ago_ms)));
        let why = words::why(last.why, timeout, |number| self.service_name(number));
        let text = words::reset(&self.clock.wall(when), &why);
        self.say_host(message::Event::BoardReset, text);
    }

    fn service_name(&self, number: u8) -> String {
        let service = self.plan.services.get(usize::from(number));
        service.map_or_else(|| format!("service {number}"), |service| service.name.to_string())
    }

    /// Says how it stands, when that has changed.
    fn tell_board(&mut self) {
        let touched = self.board.as_mut().is_some_and(|board| std::mem::take(&mut board.touched));
        if !touched {
            return; // most turns of the loop are about something else
        }
        let Some((armed, state, cause)) = self.board_standing() else { return };
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        // What is under way is no news: it ends by itself in one of the others.
        if matches!(
            state,
            "connecting" | "cold" | "waiting" | "pulsing" | "grace" | "announced" | "pairing"
        ) {
            if board.said.is_none() {
                board.since = now;
            }
            return;
        }
        if board.said.is_none() && state == "no_answer" && now < board.alarm_at {
            if !std::mem::replace(&mut board.waits, true) {
                self.say_host(message::Event::Board, "waiting for the board".to_owned());
            }
            return;
        }
        board.waits = false;
        let said = (armed, cause.clone());
        if board.said.as_ref() == Some(&said) {
            return;
        }
        board.said = Some(said);
        board.since = now;
        if armed {
            let timeout = u64::from(board.plan.settings.timeout.as_millis());
            let text = match &board.leash {
                Some(leash) => leash.armed(timeout),
                None => words::armed(timeout, board.key.unwrap_or(KeyId(0))),
            };
            self.say_host(message::Event::BoardArmed, text);
        } else {
            self.say_host(message::Event::BoardNotArmed, words::not_armed(&cause));
        }
    }

    /// Whether it has our settings and has been armed.
    pub(super) fn is_board_ready(&self) -> bool {
        self.board.as_ref().is_some_and(|board| match &board.leash {
            Some(leash) => leash.guard().is_some(),
            None => board.link.is_ready(),
        })
    }

    /// Why it does not guard this host, for people.
    pub(super) fn why_not_armed(&self) -> String {
        self.board_standing().map_or_else(String::new, |(_, _, cause)| cause)
    }

    /// Whether a service waits for it to reset this host.
    pub(super) fn is_board_asked(&self) -> bool {
        let asked = |board: &Board| {
            let gives = |asker: &AskFor| {
                matches!(asker, AskFor::Giveover { .. } | AskFor::StopFailed { .. })
            };
            board.asks.values().any(gives)
        };
        self.board.as_deref().is_some_and(asked)
    }

    fn arm_board(&mut self) {
        let Some(board) = &mut self.board else { return };
        let wanted = board.next_due();
        if board.armed_for.map(|(at, _)| at) == wanted {
            return;
        }
        if let Some((_, timer)) = board.armed_for.take() {
            self.reactor.timers.disarm(timer);
        }
        let token = Token::new(Room::Board, TIMER, 0);
        board.armed_for = wanted.map(|at| (at, self.reactor.timers.arm(token, at)));
    }
}
