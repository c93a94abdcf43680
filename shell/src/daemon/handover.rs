//! A giveover on a single node: may it, stop and prove it, hand it over.

use giveover_core::arbiter::{Answer, Arbiter, Candidate, Event as Ask, Node, Request};
use giveover_core::failure::{Cause, Phase};
use giveover_core::monitor::{Event, GiveoverOutcome, Reason, Status, Ticket};
use giveover_core::time::Instant;
use rustix::io::Errno;

use super::Daemon;
use super::operator::Wanted;
use super::run::Errand;
use super::work::Then;
use crate::config::plan::GoesTo;
use crate::journal::{Note, Stage};
use crate::message::{self, words};
use crate::reactor::{End, Exit};

/// This node, and the other side of the giveover command.
const HERE: Node = Node(0);
const OTHER: Node = Node(1);

/// `giveover.may` and `giveover.command`: 75 is "not now", "start it here again".
const TRY_AGAIN: u8 = 75;

/// Whom it goes to, in messages.
const COMMAND: &str = "giveover.command";

/// A giveover under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handover {
    pub(super) ticket: Ticket,
    pub(super) at: Asked,
}

/// How far a giveover is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// `giveover.may` is being asked.
    May,
    /// The board has been asked to reset this host.
    Board,
    /// Granted: it is being stopped.
    Stopping,
    /// `giveover.command` runs.
    Command,
}

/// One arbiter a service, as small as two nodes need.
pub(super) type ServiceArbiter = Arbiter<2>;

impl Daemon {
    /// [`giveover_core::monitor::Action::Giveover`].
    pub(super) fn begin_handover(&mut self, service: usize, ticket: Ticket, reason: Reason) {
        if self.plan.services[service].giveover == GoesTo::Board {
            return self.give_over_to_board(service, ticket, reason);
        }
        if self.plan.services[service].giveover == GoesTo::Node {
            return self.give_over_to_node(service, ticket, reason);
        }
        let goes = self.plan.services[service].giveover == GoesTo::Command;
        let other = [Candidate { node: OTHER, up: true, vetoes: false }];
        let request = Request {
            online_here: self.watches[service].monitor.status() != Status::Offline,
            mode_allows: self.watches[service].monitor.policy().gives_over(),
            suspended: false,
            moving: self.ending,
            by_operator: reason == Reason::Operator,
            candidates: if goes { &other } else { &[] },
        };
        let now = self.now;
        let answer = self.arbiter(service).handle(Ask::Asked(request), now);
        match answer {
            Some(Answer::Granted(_)) => self.ask_may(service, ticket),
            Some(Answer::Denied(denial)) => {
                self.denied(service, ticket, &denial.to_string());
            }
            Some(Answer::NotNow) | None => {
                self.not_now(service, ticket, "this monitor is ending");
            }
        }
    }

    /// `giveover.may`, if there is one, is asked before anything is stopped.
    fn ask_may(&mut self, service: usize, ticket: Ticket) {
        match self.plan.giveover.may.clone() {
            Some(argv) => {
                self.enter(service, ticket, Asked::May);
                self.begin_errand(service, Errand::May, &argv);
            }
            None => self.granted(service, ticket),
        }
    }

    /// `giveover.may` has ended.
    pub(super) fn may_answered(&mut self, service: usize, end: End) {
        let Some(Handover { ticket, at: Asked::May }) = self.handover(service) else {
            return;
        };
        match end {
            End::Exit(Some(Exit::Status(0))) => self.granted(service, ticket),
            End::Exit(Some(Exit::Status(TRY_AGAIN))) => {
                self.not_now(service, ticket, "giveover.may says not now (75)");
            }
            End::Exit(Some(exit)) => {
                self.denied(service, ticket, &format!("giveover.may says no ({exit})"));
            }
            End::Exit(None) => self.not_now(service, ticket, "giveover.may ended unseen"),
            End::TimedOut => self.not_now(service, ticket, "giveover.may did not answer in time"),
            End::NotRun(error) => {
                self.not_now(service, ticket, &format!("giveover.may could not be run: {error}"));
            }
            End::Cancelled => {}
        }
    }

    pub(super) fn denied(&mut self, service: usize, ticket: Ticket, why: &str) {
        self.leave_handover(service);
        let dead = self.watches[service].monitor.is_dead();
        self.say(service, message::Event::Denied, words::denied(why, dead));
        self.feed(service, Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Denied });
        self.answer_operator(service, Wanted::Giveover, Err(why));
    }

    pub(super) fn not_now(&mut self, service: usize, ticket: Ticket, why: &str) {
        self.leave_handover(service);
        self.say(service, message::Event::NotNow, words::not_now(why, 10_000));
        self.feed(service, Event::GiveoverDone { ticket, outcome: GiveoverOutcome::NotNow });
        self.answer_operator(service, Wanted::Giveover, Err(why));
    }

    /// Granted: this monitor ends, the service is stopped and proven so.
    fn granted(&mut self, service: usize, ticket: Ticket) {
        // Only now: what is denied every few minutes must not use up the actions of all.
        self.charge_host();
        self.enter(service, ticket, Asked::Stopping);
        self.say(service, message::Event::Granted, words::granted(COMMAND));
        self.feed(service, Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Granted });
        self.stop(service, Then::HandOver(ticket));
    }

    /// The service is proven stopped.
    pub(super) fn hand_over(&mut self, service: usize, ticket: Ticket) {
        let Some(argv) = self.plan.giveover.command.clone() else {
            let cause = Cause::new(Phase::Start, Cause::ERRNO + Errno::NOENT.raw_os_error() as u16);
            self.aborted(service, ticket, true, cause, "no giveover.command is configured");
            return;
        };
        self.enter(service, ticket, Asked::Command);
        self.begin_errand(service, Errand::Command, &argv);
    }

    /// `giveover.command` has ended.
    pub(super) fn command_ended(&mut self, service: usize, end: End) {
        let Some(Handover { ticket, at: Asked::Command }) = self.handover(service) else {
            return;
        };
        match end {
            End::Exit(Some(Exit::Status(0))) => self.given_over(service),
            End::Exit(Some(exit)) => {
                let cause = Cause::new(Phase::Start, exit.code());
                let why = format!("giveover.command ended with {exit}");
                self.aborted(service, ticket, true, cause, &why);
            }
            End::NotRun(error) => {
                let cause = Cause::new(Phase::Start, error.code());
                let why = format!("giveover.command could not be run: {error}");
                self.aborted(service, ticket, true, cause, &why);
            }
            End::TimedOut | End::Exit(None) | End::Cancelled => self.unproven(service, ticket),
        }
    }

    fn given_over(&mut self, service: usize) {
        let now = self.now;
        self.leave_handover(service);
        self.arbiter(service).handle(Ask::GaveOver { from: HERE }, now);
        let machine = self.watches[service].machine;
        self.journal.note(now, Note::GaveOver { machine, from: HERE });
        self.feed(service, Event::Stopped);
        self.answer_operator(service, Wanted::Giveover, Ok("given over"));
        if self.until_given_over {
            self.end("the demo is over");
        }
    }

    /// The stop that goes before could not be proven.
    pub(super) fn handover_not_stopped(&mut self, service: usize, ticket: Ticket, cause: Cause) {
        self.aborted(service, ticket, false, cause, "it could not be proven stopped");
    }

    pub(super) fn aborted(
        &mut self,
        service: usize,
        ticket: Ticket,
        stopped: bool,
        cause: Cause,
        why: &str,
    ) {
        self.leave_handover(service);
        self.say(service, message::Event::Aborted, words::aborted(why, stopped));
        let outcome = GiveoverOutcome::Aborted { stopped, cause };
        self.feed(service, Event::GiveoverDone { ticket, outcome });
        self.answer_operator(service, Wanted::Giveover, Err(why));
    }

    /// Killed at its time-out: the other side may be running, so nothing is started here.
    pub(super) fn unproven(&mut self, service: usize, ticket: Ticket) {
        self.leave_handover(service);
        let why = "giveover.command did not end in time";
        self.say(service, message::Event::Unproven, words::unproven(why));
        self.feed(service, Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Unproven });
        self.answer_operator(service, Wanted::Giveover, Err(why));
    }

    /// [`giveover_core::monitor::Action::Cancel`]: the question is withdrawn. What has been
    /// granted is carried out.
    pub(super) fn cancel_handover(&mut self, service: usize, ticket: Ticket) {
        let asks = [Asked::May, Asked::Board].map(|at| Some(Handover { ticket, at }));
        if asks.contains(&self.handover(service)) {
            self.leave_handover(service);
            self.cancel_errand(service);
            self.answer_operator(service, Wanted::Giveover, Err("withdrawn"));
        }
    }

    /// Takes a giveover up again that was under way when the last daemon ended.
    pub(super) fn resume_handover(&mut self, service: usize, ticket: Ticket, stage: Option<Stage>) {
        let goes_to_board = self.plan.services[service].giveover == GoesTo::Board;
        match stage {
            Some(Stage::CommandStarted) => self.unproven(service, ticket),
            Some(_) => {
                self.enter(service, ticket, Asked::Stopping);
                self.stop(service, Then::HandOver(ticket));
            }
            // What was asked for has happened, or the host went down by itself meanwhile.
            None if goes_to_board && !self.same_boot => self.board_granted(service, ticket),
            None => self.not_now(service, ticket, "the monitor was restarted while it was asked"),
        }
    }

    /// The other side gave it over to us: it is no destination for a while.
    pub(super) fn taken_back(&mut self, service: usize) {
        let now = self.now;
        self.arbiter(service).handle(Ask::GaveOver { from: OTHER }, now);
        let machine = self.watches[service].machine;
        self.journal.note(now, Note::GaveOver { machine, from: OTHER });
    }

    /// What the journal had of that.
    pub(super) fn restore_giveover(&mut self, service: usize, from: Node, at: Instant) {
        self.arbiter(service).handle(Ask::GaveOver { from }, at);
    }

    fn arbiter(&mut self, service: usize) -> &mut ServiceArbiter {
        self.arbiters
            .entry(service)
            .or_insert_with(|| ServiceArbiter::new(ServiceArbiter::PINGPONG_INTERVAL))
    }

    /// Whether it is being stopped for a giveover, or handed over: nothing is started here then.
    pub(super) fn is_handed_over(&self, service: usize) -> bool {
        let at = self.handover(service).map(|handover| handover.at);
        matches!(at, Some(Asked::Stopping | Asked::Command))
    }

    pub(super) fn handover(&self, service: usize) -> Option<Handover> {
        self.watches[service].more_ref()?.handover
    }

    /// Notes how far it is before the step is taken; the answer that follows ends the note.
    fn enter(&mut self, service: usize, ticket: Ticket, at: Asked) {
        self.watches[service].more().handover = Some(Handover { ticket, at });
        let stage = match at {
            Asked::May | Asked::Board => return,
            Asked::Stopping => Stage::Stopping,
            Asked::Command => Stage::CommandStarted,
        };
        let (machine, now) = (self.watches[service].machine, self.now);
        self.journal.note(now, Note::Stage { machine, ticket, stage });
        self.journal.flush(now);
    }

    /// Its group is being let go for it.
    pub(super) fn enter_stopping(&mut self, service: usize, ticket: Ticket) {
        self.enter(service, ticket, Asked::Stopping);
    }

    /// The board has been asked: journalled it is already.
    pub(super) fn asked_board(&mut self, service: usize, ticket: Ticket) {
        self.enter(service, ticket, Asked::Board);
    }

    /// Whether its answer is still wanted.
    pub(super) fn is_asking_board(&self, service: usize, ticket: Ticket) -> bool {
        let asking = Handover { ticket, at: Asked::Board };
        service < self.watches.len() && self.handover(service) == Some(asking)
    }

    pub(super) fn leave_board_handover(&mut self, service: usize) {
        self.leave_handover(service);
    }

    fn leave_handover(&mut self, service: usize) {
        self.watches[service].more().handover = None;
    }
}
