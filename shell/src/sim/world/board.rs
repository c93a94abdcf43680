//! The board beside the host: the machine of `core::board` with a line, a store and a supply of its
//! own, and the daemon's side of it: feeds, confirms, requests.
//!
//! Frames and their tags are left out: what comes here is authentic. Those are tried elsewhere, in
//! QEMU with the image that is flashed.

use giveover_core::board::{
    Action, Board as Machine, Durable, End, Event, Request, Second, Start, State, Verdict, Why,
};
use giveover_core::failure::Cause;
use giveover_core::monitor::{Event as MonitorEvent, GiveoverOutcome, Status, Ticket};
use giveover_core::time::Instant;

use super::Play;
use super::service::NEVER;
use crate::config::plan::GoesTo;
use crate::config::world;

/// A supply that was cut is back after so long.
const POWER_BACK: u64 = 2_000;
/// The host's daemon may ask again after so long.
const MOST_EVENTS: usize = 64;

pub(super) struct BoardPart {
    plan: world::Board,
    pub(super) machine: Machine,
    /// True time of its start, and its powered time then.
    started: (u64, u64),
    flash: Option<[u8; Durable::BYTES]>,
    pub(super) store_fails: u32,
    pub(super) link_lost: u32,
    pub(super) jumper: u32,
    /// When the daemon feeds it next.
    feed_at: u64,
    /// The next feed is the first of its connection.
    fresh: bool,
    /// Since when all that giveover = "board" services are has been ok.
    confirm_at: u64,
    confirmed: bool,
    /// Who asked it for a reset, and waits for the answer.
    asked: Option<(usize, Ticket)>,
    /// The power comes back then.
    power_at: u64,
    reset: Vec<(u64, bool)>,
    second: Vec<(u64, bool)>,
    /// The store's answers, the host's requests: fed after the event under way.
    waiting: Vec<Event>,
    /// Pulses, for the invariants: of a window a person has cleared none counts.
    cleared: usize,
    pub(super) broken: Option<String>,
}

impl BoardPart {
    pub(super) fn new(plan: world::Board, now: u64) -> Self {
        let (machine, actions) = Machine::start(None, Start::PowerUp, Instant::default());
        let mut part = Self {
            plan,
            machine,
            started: (now, 0),
            flash: None,
            store_fails: 0,
            link_lost: 0,
            jumper: 0,
            feed_at: NEVER,
            fresh: true,
            confirm_at: NEVER,
            confirmed: false,
            asked: None,
            power_at: NEVER,
            reset: vec![(now, false)],
            second: vec![(now, false)],
            waiting: Vec::new(),
            cleared: 0,
            broken: None,
        };
        for action in actions {
            part.store(action);
        }
        part
    }

    /// Powered time.
    fn at(&self, now: u64) -> Instant {
        let (from, showed) = self.started;
        Instant::from_millis(showed + now.saturating_sub(from))
    }

    fn when(&self, at: Instant) -> u64 {
        let (from, showed) = self.started;
        from.saturating_add(at.as_millis().saturating_sub(showed))
    }

    /// How often it has pulled the reset line.
    pub(super) fn pulses(&self) -> u32 {
        self.resets().count() as u32
    }

    pub(super) fn resets(&self) -> impl Iterator<Item = u64> + '_ {
        self.reset.iter().filter(|(_, held)| *held).map(|(at, _)| *at)
    }

    pub(super) fn lines(&self) -> Vec<(&'static str, Vec<(u64, bool)>)> {
        vec![("reset line", self.reset.clone()), ("second line", self.second.clone())]
    }

    fn line_is_held(&self) -> bool {
        self.reset.last().is_some_and(|(_, held)| *held)
    }

    fn store(&mut self, action: Action) {
        if action != Action::Store {
            return;
        }
        let record = self.machine.durable();
        let ok = self.store_fails == 0;
        if ok {
            self.flash = Some(record.encode());
        }
        self.waiting.push(Event::Stored { number: record.number, ok });
    }

    fn breaks(&mut self, why: String) {
        self.broken.get_or_insert(why);
    }

    /// C2 to C6, at the moment a pulse begins.
    fn judge_pulse(&mut self, now: u64, ticket: u32) {
        let settings = *self.machine.settings();
        let powered = now.saturating_sub(self.started.0);
        if self.line_is_held() {
            self.breaks("two pulses at a time".to_owned());
        }
        if self.jumper > 0 {
            self.breaks("C5: a pulse past the jumper".to_owned());
        }
        if powered < 2_000 {
            self.breaks("C5: a pulse within the hold-off".to_owned());
        }
        let durable = self.flash.as_ref().and_then(|bytes| Durable::decode(bytes).ok());
        if !durable.is_some_and(|record| record.intent && record.ever == ticket) {
            self.breaks("C6: the intent of a pulse is not durable".to_owned());
        }
        let last = self.reset.iter().rev().find(|(_, held)| *held).map(|(at, _)| *at);
        let grace = u64::from(settings.boot_grace.as_millis());
        if let Some(last) = last.filter(|last| now - last < grace) {
            self.breaks(format!("C3: a pulse {} ms after the one before", now - last));
        }
        let window = u64::from(settings.retry_interval.as_millis());
        let counted = self.resets().skip(self.cleared);
        let inside = counted.filter(|at| now - at <= window).count() + 1;
        if inside > usize::from(settings.retry_count) {
            self.breaks(format!("C4: {inside} pulses within {window} ms"));
        }
    }
}

impl Play<'_> {
    /// When something is due about the board.
    pub(super) fn board_next_event(&self, board: &BoardPart) -> u64 {
        if board.power_at != NEVER {
            return board.power_at;
        }
        if !board.waiting.is_empty() {
            return self.now;
        }
        let timer = board.machine.poll_timeout().map_or(NEVER, |at| board.when(at));
        match self.host.daemon_from(self.now) {
            Some(from) => timer.min(board.feed_at.min(board.confirm_at).max(from)),
            None => timer,
        }
    }

    pub(super) fn board_due(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        if board.power_at <= now {
            board.power_at = NEVER;
            self.start_board(false);
            self.host_boots();
            return;
        }
        if !board.waiting.is_empty() {
            self.settle_board();
            return;
        }
        let timer = board.machine.poll_timeout().map(|at| board.when(at));
        if timer.is_some_and(|due| due <= now) {
            return self.tell_board(Event::Timeout);
        }
        if !self.host.daemon_runs(now) {
            return;
        }
        let Some(board) = &mut self.board else { return };
        if board.feed_at <= now {
            let every = u64::from(board.plan.settings.timeout.as_millis() / 4).max(1);
            board.feed_at = now + every;
            if board.link_lost == 0 {
                let fresh = std::mem::take(&mut board.fresh);
                self.tell_board(Event::Feed { fresh, right: true, verdict: Verdict::Ok });
            }
        } else if board.confirm_at <= now {
            board.confirm_at = NEVER;
            board.confirmed = true;
            self.tell_board(Event::Host(Request::Confirm));
        }
    }

    /// The daemon has come up: settings, arm, the first feed.
    pub(super) fn board_begins(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        (board.fresh, board.feed_at, board.confirmed) = (true, now, false);
        let settings = board.plan.settings;
        self.tell_board(Event::Host(Request::Configure(settings)));
        self.tell_board(Event::Host(Request::Arm));
        self.board_heard_status();
    }

    /// The daemon is gone, and with it whoever asked.
    pub(super) fn board_loses_daemon(&mut self) {
        if let Some(board) = &mut self.board {
            (board.feed_at, board.confirm_at, board.asked) = (NEVER, NEVER, None);
        }
    }

    /// The daemon goes on after a pause; what it was waiting for may be long over.
    pub(super) fn board_woke(&mut self) {
        let now = self.now;
        if let Some(board) = &mut self.board {
            board.feed_at = board.feed_at.min(now);
        }
    }

    /// L6: a boot is confirmed once its services have been ok for a while; without any of them the
    /// daemon itself will do.
    pub(super) fn board_heard_status(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        if board.confirmed || !self.host.daemon_runs(now) {
            return;
        }
        let pairs = self.world.services.iter().zip(&self.services);
        let mut counted = pairs.filter(|(plan, _)| plan.giveover == GoesTo::Board);
        let ok = counted.all(|(_, service)| service.monitor.status() == Status::Ok);
        match (ok, board.confirm_at) {
            (true, NEVER) => {
                board.confirm_at = now + u64::from(board.plan.confirm_after.as_millis());
            }
            (false, _) => board.confirm_at = NEVER,
            _ => {}
        }
    }

    /// A service gives over to the board: within the node's own budget, and the board's.
    pub(super) fn ask_board(&mut self, place: usize, ticket: Ticket, why: Why) {
        let reachable = self.board.as_ref().is_some_and(|board| board.link_lost == 0);
        if !reachable {
            return self.board_denied(place, ticket);
        }
        if let Some(board) = &mut self.board {
            board.asked = Some((place, ticket));
        }
        if let Some(service) = self.services.get_mut(place) {
            service.did("giveover");
        }
        self.tell_board(Event::Host(Request::Reset(why)));
    }

    fn board_denied(&mut self, place: usize, ticket: Ticket) {
        if let Some(service) = self.services.get_mut(place) {
            service.did("giveover_denied");
            service.figures.denials += 1;
        }
        let outcome = GiveoverOutcome::Denied;
        self.feed(place, MonitorEvent::GiveoverDone { ticket, outcome });
    }

    pub(super) fn board_forgets_request(&mut self, place: usize) {
        if let Some(board) = &mut self.board {
            board.asked = board.asked.filter(|(asked, _)| *asked != place);
        }
    }

    /// A stop failed under `hard`.
    pub(super) fn ask_board_to_reset(&mut self, place: usize, cause: Option<Cause>) {
        let service = u8::try_from(place).unwrap_or(u8::MAX);
        let cause = cause.unwrap_or(Cause::new(giveover_core::failure::Phase::Stop, 0));
        self.tell_board(Event::Host(Request::Reset(Why::StopFailed { service, cause })));
    }

    /// The host announces its end.
    pub(super) fn announce_to_board(&mut self, end: End) {
        if self.board.as_ref().is_some_and(|board| board.link_lost == 0) {
            self.tell_board(Event::Host(Request::End(end)));
        }
    }

    pub(super) fn clear_board(&mut self) {
        if let Some(board) = &mut self.board {
            board.cleared = board.resets().count();
        }
        self.tell_board(Event::Host(Request::Clear));
    }

    /// Tells the board something, and carries out what it leads to.
    pub(super) fn tell_board(&mut self, event: Event) {
        if let Some(board) = &mut self.board {
            board.waiting.push(event);
        }
        self.settle_board();
    }

    fn settle_board(&mut self) {
        for _ in 0..MOST_EVENTS {
            let now = self.now;
            let Some(board) = &mut self.board else { return };
            if board.waiting.is_empty() || board.power_at != NEVER {
                board.waiting.clear();
                return;
            }
            let event = board.waiting.remove(0);
            let at = board.at(now);
            let actions = board.machine.handle(event, at);
            self.outcome.events += 1;
            let stale = board.machine.poll_timeout().is_some_and(|due| due <= at);
            if event == Event::Timeout && stale {
                board.breaks("a deadline of the board is stale".to_owned());
            }
            for action in actions {
                self.carry_out_for_board(action);
            }
            self.look_at_line();
        }
    }

    fn carry_out_for_board(&mut self, action: Action) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        match action {
            Action::Store => board.store(action),
            Action::Pulse { ticket, .. } => {
                board.judge_pulse(now, ticket);
                board.reset.push((now, true));
                self.host_goes_down();
            }
            Action::Release if board.line_is_held() => {
                board.reset.push((now, false));
                self.host_boots();
            }
            Action::Second(on) => {
                if board.second.last().is_none_or(|(_, was)| *was != on) {
                    board.second.push((now, on));
                }
                let supply = matches!(board.machine.settings().second, Second::Off | Second::Cycle);
                match (supply, on) {
                    (true, true) => self.host_goes_down(),
                    (true, false) if !self.host.is_up() => self.host_boots(),
                    _ => {}
                }
            }
            Action::Answer(Some(_)) => {
                if let Some((place, ticket)) = board.asked.take() {
                    self.board_denied(place, ticket);
                }
            }
            _ => {} // answers of yes are told by what follows; notes are its log
        }
    }

    /// C1: the line is held in one state only.
    fn look_at_line(&mut self) {
        let Some(board) = &mut self.board else { return };
        if board.line_is_held() && board.machine.state() != State::Pulsing {
            let state = board.machine.state().word();
            board.breaks(format!("C1: the reset line is held in the state {state}"));
        }
        if let (Some(why), true) = (board.broken.clone(), self.oracle.is_some()) {
            self.breaks(None, format!("board: {why}"));
        }
    }

    /// The board starts again from what its memories kept.
    pub(super) fn start_board(&mut self, alone: bool) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        if board.line_is_held() {
            board.reset.push((now, false));
        }
        let kept = board.flash.as_ref().and_then(|bytes| Durable::decode(bytes).ok());
        // retained memory always has what the machine knows; it goes with the power
        let retained = alone.then(|| board.machine.durable());
        let start = if retained.is_some() { Start::BoardReset } else { Start::PowerUp };
        let record = Durable::settle(kept, retained);
        let powered = record.map_or(0, |record| record.powered.as_millis());
        board.started = (now, powered);
        let held_off = alone && board.reset.len() > 1 && !self.host.is_up();
        let (machine, actions) = Machine::start(record, start, board.at(now));
        board.machine = machine;
        board.waiting.clear();
        if actions.as_slice().iter().any(|action| matches!(action, Action::Pulse { .. })) {
            board.breaks("an edge at boot".to_owned());
        }
        board.fresh = true;
        for action in actions {
            self.carry_out_for_board(action);
        }
        let Some(board) = &mut self.board else { return };
        if board.jumper > 0 {
            board.waiting.push(Event::Jumper(true));
        }
        if board.link_lost > 0 {
            board.waiting.push(Event::Link(false));
        }
        self.settle_board();
        // a host whose line the board let go of by its own reset boots all the same
        if held_off {
            self.host_boots();
        }
    }

    /// The power of host and board goes, and comes back.
    pub(super) fn power_cut(&mut self, lasts: Option<u64>) {
        self.host_goes_down();
        let back = self.now.saturating_add(lasts.unwrap_or(POWER_BACK).max(1));
        if let Some(board) = &mut self.board {
            if board.line_is_held() {
                board.reset.push((self.now, false));
            }
            if board.second.last().is_some_and(|(_, on)| *on) {
                board.second.push((self.now, false));
            }
            board.waiting.clear();
            board.power_at = back;
        } else {
            self.host_boots();
        }
    }
}
