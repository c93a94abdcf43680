//! The board beside the host, and the daemon's side of it: feeds, confirms, requests. What the board is
//! stands behind [`device::Device`]: the machine alone, or the firmware's library around it.

pub(super) mod alone;
pub(super) mod device;
mod judge;

use giveover_core::board::{End, Request, Second, Start, State, Verdict, Why};
use giveover_core::failure::Cause;
use giveover_core::monitor::{Event as MonitorEvent, GiveoverOutcome, Status, Ticket};

use self::alone::Alone;
use self::device::{Device, Happened};
use super::Play;
use super::service::NEVER;
use crate::config::plan::GoesTo;
use crate::config::world;

/// A supply that was cut is back after so long.
const POWER_BACK: u64 = 2_000;
/// A boot that could not be confirmed for want of a port is confirmed after so long.
const CONFIRM_AGAIN: u64 = 10_000;

/// The board that is played.
enum Fitted<'w> {
    Alone(Box<Alone>),
    Given(&'w mut dyn Device),
}

pub(super) struct BoardPart<'w> {
    plan: world::Board,
    fitted: Fitted<'w>,
    /// True time of its start.
    started: u64,
    store_fails: u32,
    link_lost: u32,
    jumper: u32,
    /// Since when the jumper is set.
    jumper_since: u64,
    /// When the daemon feeds it next.
    feed_at: u64,
    /// The daemon has yet to open the port, or to open it again.
    unconnected: bool,
    /// Since when all that giveover = "board" services are has been ok.
    confirm_at: u64,
    confirmed: bool,
    /// Who asked it for a reset, and waits for the answer.
    asked: Option<(usize, Ticket)>,
    /// The power comes back then.
    power_at: u64,
    reset: Vec<(u64, bool)>,
    second: Vec<(u64, bool)>,
    /// Pulses, for the invariants: of a window a person has cleared none counts.
    cleared: usize,
    broken: Option<String>,
}

impl<'w> BoardPart<'w> {
    pub(super) fn new(plan: world::Board, given: Option<&'w mut dyn Device>, now: u64) -> Self {
        Self {
            plan,
            fitted: given.map_or_else(|| Fitted::Alone(Box::new(Alone::new())), Fitted::Given),
            started: now,
            store_fails: 0,
            link_lost: 0,
            jumper: 0,
            jumper_since: 0,
            feed_at: NEVER,
            unconnected: true,
            confirm_at: NEVER,
            confirmed: false,
            asked: None,
            power_at: NEVER,
            reset: vec![(now, false)],
            second: vec![(now, false)],
            cleared: 0,
            broken: None,
        }
    }

    fn device(&mut self) -> &mut dyn Device {
        match &mut self.fitted {
            Fitted::Alone(alone) => alone.as_mut(),
            Fitted::Given(given) => &mut **given,
        }
    }

    pub(super) fn seen(&self) -> &dyn Device {
        match &self.fitted {
            Fitted::Alone(alone) => alone.as_ref(),
            Fitted::Given(given) => &**given,
        }
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

    /// The second line takes the host's supply away.
    fn supply_is_cut(&self) -> bool {
        let supply = matches!(self.seen().settings().second, Second::Off | Second::Cycle);
        supply && self.second.last().is_some_and(|(_, on)| *on)
    }

    fn breaks(&mut self, why: String) {
        self.broken.get_or_insert(why);
    }
}

impl Play<'_> {
    /// When something is due about the board.
    pub(super) fn board_next_event(&self, board: &BoardPart<'_>) -> u64 {
        if board.power_at != NEVER {
            return board.power_at;
        }
        let timer = board.seen().next_event().unwrap_or(NEVER);
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
            self.start_board(Start::PowerUp);
            let cut = self.board.as_ref().is_some_and(BoardPart::supply_is_cut);
            if !cut {
                self.host_boots();
            }
            return;
        }
        if board.seen().next_event().is_some_and(|due| due <= now) {
            return self.with_board(|device, now| device.due(now));
        }
        if !self.host.daemon_runs(now) {
            return;
        }
        let Some(board) = &mut self.board else { return };
        if board.feed_at <= now {
            let every = u64::from(board.plan.settings.timeout.as_millis() / 4).max(1);
            board.feed_at = now + every;
            if board.link_lost == 0 {
                self.connect_board();
                self.with_board(|device, now| device.feed(Verdict::Ok, now));
            }
        } else if board.confirm_at <= now && board.link_lost > 0 {
            board.confirm_at = now + CONFIRM_AGAIN;
        } else if board.confirm_at <= now {
            board.confirm_at = NEVER;
            board.confirmed = true;
            self.ask_of_board(Request::Confirm);
        }
    }

    /// Does something to the board, and follows what is seen of it. One without power knows of it when
    /// it has some again.
    fn with_board(&mut self, does: impl FnOnce(&mut dyn Device, u64)) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        does(board.device(), now);
        self.follow_board();
    }

    fn follow_board(&mut self) {
        while let Some(happened) = self.board.as_mut().and_then(|it| it.device().happened()) {
            self.board_did(happened);
        }
        self.judge_line();
    }

    fn connect_board(&mut self) {
        let Some(board) = &mut self.board else { return };
        if std::mem::take(&mut board.unconnected) {
            self.with_board(|device, now| device.connect(now));
        }
    }

    /// Asks it for something, if the port is there.
    fn ask_of_board(&mut self, request: Request) {
        if self.board.as_ref().is_none_or(|board| board.link_lost > 0) {
            return;
        }
        self.connect_board();
        self.with_board(|device, now| device.ask(request, now));
    }

    /// The daemon has come up: settings, arm, the first feed.
    pub(super) fn board_begins(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        (board.unconnected, board.feed_at, board.confirmed) = (true, now, false);
        let settings = board.plan.settings;
        self.ask_of_board(Request::Configure(settings));
        self.ask_of_board(Request::Arm);
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
        self.ask_of_board(Request::Reset(why));
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
        self.ask_of_board(Request::Reset(Why::StopFailed { service, cause }));
    }

    /// The host announces its end.
    pub(super) fn announce_to_board(&mut self, end: End) {
        if self.board.as_ref().is_some_and(|board| board.link_lost == 0) {
            self.ask_of_board(Request::End(end));
        }
    }

    pub(super) fn clear_board(&mut self) {
        if let Some(board) = self.board.as_mut().filter(|board| board.link_lost == 0) {
            board.cleared = board.resets().count();
        }
        self.ask_of_board(Request::Clear);
    }

    /// Its store refuses records, or takes them again.
    pub(super) fn board_store(&mut self, fails: bool) {
        let Some(board) = &mut self.board else { return };
        count(&mut board.store_fails, fails);
        let works = board.store_fails == 0;
        board.device().store(works, self.now);
    }

    /// The port to it is gone, or back: then the daemon opens it anew.
    pub(super) fn board_port(&mut self, lost: bool) {
        let Some(board) = &mut self.board else { return };
        count(&mut board.link_lost, lost);
        let up = board.link_lost == 0;
        board.unconnected |= !up;
        self.with_board(|device, now| device.port(up, now));
    }

    /// Its jumper is set, or taken out.
    pub(super) fn board_jumper(&mut self, set: bool) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        if board.jumper == 0 {
            board.jumper_since = now;
        }
        count(&mut board.jumper, set);
        let set = board.jumper > 0;
        self.with_board(|device, now| device.jumper(set, now));
    }

    /// The power goes while it next writes.
    pub(super) fn board_tears(&mut self) {
        let chance = self.random.next();
        self.with_board(|device, _| device.tear(chance));
    }

    fn board_did(&mut self, happened: Happened) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        match happened {
            Happened::Held { durable } => {
                board.judge_pulse(now, durable);
                board.reset.push((now, true));
                self.host_goes_down();
            }
            Happened::Released if board.line_is_held() => {
                board.reset.push((now, false));
                if board.power_at == NEVER && !board.supply_is_cut() {
                    self.host_boots();
                }
            }
            Happened::Released => {}
            Happened::Second(on) => {
                let supply = matches!(board.seen().settings().second, Second::Off | Second::Cycle);
                if board.second.last().is_none_or(|(_, was)| *was != on) {
                    board.second.push((now, on));
                }
                let powered = board.power_at == NEVER;
                match (supply, on) {
                    (true, true) => self.host_goes_down(),
                    (true, false) if powered && !self.host.is_up() => self.host_boots(),
                    _ => {}
                }
            }
            Happened::Answered(Some(_)) => {
                if let Some((place, ticket)) = board.asked.take() {
                    self.board_denied(place, ticket);
                }
            }
            Happened::Answered(None) => {} // yes is told by what follows
            Happened::PowerLost => self.power_cut(None),
            Happened::Wrong(why) => board.breaks(why),
        }
    }

    /// C1: the line is held in one state only.
    fn judge_line(&mut self) {
        let Some(board) = &mut self.board else { return };
        if board.line_is_held() && board.seen().state() != State::Pulsing {
            let state = board.seen().state().word();
            board.breaks(format!("C1: the reset line is held in the state {state}"));
        }
        if let (Some(why), true) = (board.broken.clone(), self.oracle.is_some()) {
            self.breaks(None, format!("board: {why}"));
        }
    }

    /// The board starts again from what its memories kept.
    pub(super) fn start_board(&mut self, start: Start) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        if board.power_at != NEVER {
            return; // without power there is nothing that could be reset
        }
        (board.started, board.unconnected) = (now, true);
        self.with_board(|device, now| device.start(start, now));
    }

    /// The power of host and board goes, and comes back.
    pub(super) fn power_cut(&mut self, lasts: Option<u64>) {
        self.host_goes_down();
        let back = self.now.saturating_add(lasts.unwrap_or(POWER_BACK).max(1));
        let now = self.now;
        if let Some(board) = &mut self.board {
            board.power_at = back;
            board.device().power_off(now);
            self.follow_board();
        } else {
            self.host_boots();
        }
    }
}

fn count(faults: &mut u32, begins: bool) {
    *faults = if begins { *faults + 1 } else { faults.saturating_sub(1) };
}
