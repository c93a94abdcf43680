//! What the board is asked for: by services that want this host reset, and by people.

use std::collections::HashMap;

use giveover_core::board::{End, Why};
use giveover_core::failure::{Cause, Phase};
use giveover_core::monitor::{Event, GiveoverOutcome, Reason, Ticket};
use giveover_core::node::Node;
use giveover_core::time::Span;
use giveover_core::wire::ToBoard;

use super::{Daemon, SUSPEND};
use crate::board::link::Failed;
use crate::daemon::control::ClientId;
use crate::daemon::operator::Wanted;
use crate::message::{self, host, span, words};
use crate::report::model::{Command, Reply};

/// Who waits for an answer.
#[derive(Clone, Debug)]
pub(super) enum AskFor {
    /// A service gives over to the board.
    Giveover { service: usize, ticket: Ticket },
    /// The stop of a service failed under `hard`.
    StopFailed { service: usize },
    /// A person, and what is to be said of it.
    Person { client: ClientId, said: String },
    /// A group has its silent peer fenced.
    Fence { group: usize, ticket: giveover_core::peer::Ticket, node: Node },
    /// The boot was good.
    Confirm,
    /// We end.
    End,
}

impl Daemon {
    /// Sends a request, or answers at once that it cannot be sent.
    pub(super) fn ask_board(&mut self, frame: ToBoard, asker: AskFor) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        board.touched = true;
        if board.leash.is_some() {
            let answer = self.ask_dog(&frame);
            return self.answer_asker(asker, answer);
        }
        board.next_ask = board.next_ask.wrapping_add(1);
        board.asks.insert(board.next_ask, asker);
        board.link.ask(board.next_ask, frame, now);
    }

    /// The board has answered a request, or will not.
    pub(super) fn board_answered(&mut self, number: u32, result: Result<(), Failed>) {
        let asker = self.board.as_mut().and_then(|board| board.asks.remove(&number));
        if let Some(asker) = asker {
            self.answer_asker(asker, result);
        }
    }

    /// The board is no longer ours to ask.
    pub(super) fn nobody_answers(&mut self, asks: HashMap<u32, AskFor>) {
        for asker in asks.into_values() {
            self.answer_asker(asker, Err(Failed::NotConnected));
        }
    }

    fn answer_asker(&mut self, asker: AskFor, result: Result<(), Failed>) {
        match (asker, result) {
            (AskFor::Giveover { service, ticket }, result) => {
                self.board_giveover_answered(service, ticket, result);
            }
            (AskFor::StopFailed { service }, Err(failed)) => {
                let text = host::reset_refused(&failed.to_string());
                self.say(service, message::Event::ResetRefused, text);
            }
            (AskFor::StopFailed { .. }, Ok(())) => {} // it is being reset
            (AskFor::Person { client, said }, Ok(())) => {
                self.say_host(message::Event::Board, said.clone());
                self.reply(client, &Reply { exit: 0, lines: vec![said] });
            }
            (AskFor::Person { client, .. }, Err(failed)) => {
                self.reply(client, &Reply { exit: 1, lines: vec![failed.to_string()] });
            }
            (AskFor::Fence { group, ticket, node }, result) => {
                self.board_fenced(group, ticket, node, result);
            }
            (AskFor::Confirm, Ok(())) => {
                self.say_host(message::Event::Board, "this boot is confirmed".to_owned());
            }
            (AskFor::Confirm, Err(_)) => {
                if let Some(board) = &mut self.board {
                    board.confirmed = false; // tried again with a later feed
                }
            }
            // It is greeted again, and told again while there is time.
            (AskFor::End, Err(Failed::NoAnswer | Failed::NotConnected)) => {}
            (AskFor::End, result) => {
                if let Err(failed) = result {
                    let text = format!("our end could not be announced: {failed}");
                    self.say_host(message::Event::BoardMissed, text);
                }
                if let Some(board) = &mut self.board {
                    board.farewell = None;
                }
            }
        }
    }

    /// Whether a reset can be asked of the board: it guards this host.
    pub(in super::super) fn board_can_reset(&self) -> bool {
        self.board.as_ref().is_some_and(|board| board.is_armed())
    }

    /// R7 under `hard`: the board is asked; journalled and charged it is already.
    pub(in super::super) fn board_resets_for_stop(&mut self, service: usize, cause: Cause) {
        let number = u8::try_from(service).unwrap_or(u8::MAX);
        let why = Why::StopFailed { service: number, cause };
        self.ask_board(ToBoard::Reset(why), AskFor::StopFailed { service });
    }

    /// R22, `giveover = "board"`: nothing is stopped and the monitor goes on.
    pub(in super::super) fn give_over_to_board(
        &mut self,
        service: usize,
        ticket: Ticket,
        reason: Reason,
    ) {
        if self.ending {
            return self.deny_board(service, ticket, "this monitor is ending");
        }
        if !self.board_can_reset() {
            let why = self.board_standing().map_or_else(String::new, |(_, _, cause)| cause);
            return self.deny_board(service, ticket, &format!("no board guards this host: {why}"));
        }
        if let Some(why) = self.may_not_reset() {
            return self.deny_board(service, ticket, &why);
        }
        let cause = match reason {
            Reason::Immediate(cause) | Reason::StartFailed(cause) => cause,
            Reason::BudgetSpent | Reason::Operator => {
                let failure = self.watches[service].monitor.history().failures().last();
                failure.map_or(Cause::new(Phase::Reported, Cause::UNKNOWN), |failure| failure.cause)
            }
        };
        self.say(
            service,
            message::Event::Reset,
            "the board is asked to reset this host".to_owned(),
        );
        if let Err(why) = self.charge_reset() {
            return self.deny_board(service, ticket, &why);
        }
        // Only now: what is refused here each minute must not use up the actions of all.
        self.charge_host();
        self.asked_board(service, ticket);
        let number = u8::try_from(service).unwrap_or(u8::MAX);
        let frame = ToBoard::Reset(Why::Giveover { service: number, cause });
        self.ask_board(frame, AskFor::Giveover { service, ticket });
        self.write_to_board();
    }

    fn board_giveover_answered(
        &mut self,
        service: usize,
        ticket: Ticket,
        result: Result<(), Failed>,
    ) {
        if !self.is_asking_board(service, ticket) {
            return; // withdrawn meanwhile
        }
        match result {
            Ok(()) => self.board_granted(service, ticket),
            Err(failed) => self.deny_board(service, ticket, &failed.to_string()),
        }
    }

    /// It is being reset: all that is left is to be there until it is.
    pub(in super::super) fn board_granted(&mut self, service: usize, ticket: Ticket) {
        self.leave_board_handover(service);
        self.say(
            service,
            message::Event::Granted,
            words::granted("the board, which resets this host"),
        );
        self.feed(service, Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Granted });
        self.answer_operator(service, Wanted::Giveover, Ok("the board resets this host"));
    }

    fn deny_board(&mut self, service: usize, ticket: Ticket, why: &str) {
        self.leave_board_handover(service);
        self.say(service, message::Event::ResetRefused, host::board_reset_refused(why));
        self.feed(service, Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Denied });
        self.answer_operator(service, Wanted::Giveover, Err(why));
    }

    /// Fences the peer that the board's second line is wired to; [`Daemon::board_fenced`] is told.
    pub(in super::super) fn fence_by_board(
        &mut self,
        group: usize,
        ticket: giveover_core::peer::Ticket,
        node: Node,
    ) {
        if self.board.is_none() {
            return self.board_fenced(group, ticket, node, Err(Failed::NotConnected));
        }
        self.ask_board(ToBoard::Fence, AskFor::Fence { group, ticket, node });
        self.write_to_board();
    }

    /// `giveover board …`
    pub(in super::super) fn command_board(
        &mut self,
        client: ClientId,
        who: &str,
        command: &Command,
    ) {
        if self.board.is_none() {
            return self.refuse(client, 404, &self.why_no_board());
        }
        let action = command.action.as_deref().unwrap_or_default();
        if let Some(why) = self.why_dog_cannot(action) {
            return self.reply(client, &Reply { exit: 1, lines: vec![why] });
        }
        let span =
            |ms: Option<u64>| ms.and_then(|ms| u32::try_from(ms).ok()).map(Span::from_millis);
        let length = span(command.for_ms);
        let words =
            length.map_or_else(String::new, |length| span::compact(u64::from(length.as_millis())));
        let (frame, said) = match (action, length) {
            ("pair", _) => {
                self.say_host(message::Event::Board, format!("pairing, asked by {who}"));
                return self.pair_board(client);
            }
            ("confirm", _) => (ToBoard::Confirm, format!("boot confirmed by {who}")),
            ("arm", _) => (ToBoard::Arm, format!("armed by {who}")),
            ("clear", _) => (ToBoard::Clear, format!("resets forgotten, by {who}")),
            ("disarm", Some(span)) => (
                ToBoard::Disarm { span },
                format!("disarmed for {words} by {who}; then it arms itself"),
            ),
            ("grace", Some(span)) => {
                (ToBoard::Grace { span }, format!("grace of {words} for the next boot, by {who}"))
            }
            ("reset", _) => match self.ready_to_reset(who) {
                Ok(said) => (ToBoard::Reset(Why::Test), said),
                Err(why) => return self.reply(client, &Reply { exit: 1, lines: vec![why] }),
            },
            ("end", _) => {
                let end = command.to.as_deref();
                let end = End::ALL.iter().copied().find(|known| end == Some(known.word()));
                let Some(end) = end else {
                    return self.refuse(client, 400, "an end is stop, poweroff, suspend or reboot");
                };
                let until = self.now.after(SUSPEND);
                if let Some(board) = &mut self.board {
                    // Whatever end it is: one that does not come must not leave us unguarded.
                    board.suspend_until = Some(until);
                }
                (ToBoard::End(end), format!("{} announced by {who}", end.word()))
            }
            _ => return self.refuse(client, 400, "the board can do no such thing"),
        };
        self.ask_board(frame, AskFor::Person { client, said });
        self.write_to_board();
    }

    fn ready_to_reset(&mut self, who: &str) -> Result<String, String> {
        if !self.board_can_reset() {
            return Err("no board guards this host: giveover board status says why".to_owned());
        }
        if let Some(why) = self.may_not_reset() {
            return Err(why);
        }
        self.say_host(message::Event::Board, format!("a reset of this host, to test it, by {who}"));
        self.charge_reset()?;
        Ok("the board resets this host".to_owned())
    }

    pub(in super::super) fn why_no_board(&self) -> String {
        match self.plan.board.as_deref() {
            Some(plan) if self.board.is_some() => {
                format!("hardware of kind \"{}\" keeps no log", plan.kind.word())
            }
            Some(_) => "this daemon observes: the board is left alone".to_owned(),
            None => "no board is configured: [board] has port and key".to_owned(),
        }
    }
}
