//! What is being done to a service's process: one thing at a time.

use giveover_core::failure::Cause;
use giveover_core::monitor::{Event, Origin, RestartOutcome, Ticket};
use giveover_core::time::{Instant, Span};

use super::Daemon;
use super::feed::tick_before;
use super::operator::Wanted;
use super::process::Moved as Done;
use super::watch::Starter;
use crate::config::plan::Run;
use crate::message::{self, words};

/// What is being done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Work {
    /// Nothing.
    #[default]
    Idle,
    /// `validate` runs before a planned stop.
    Validating(Ticket),
    /// It is being stopped.
    Stopping(Then),
    /// It is being started.
    Starting(Why),
}

/// What follows once it is proven stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It is started again.
    Start(Ticket),
    /// It stays stopped: a person wants it.
    Rest,
    /// It is handed over.
    HandOver(Ticket),
    /// Its group is let go here.
    Leave,
    /// The daemon ends.
    End,
}

/// Why it is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The daemon has begun.
    First,
    /// A person wants it.
    Operator,
    /// The restart of this ticket.
    Restart(Ticket),
}

impl Daemon {
    /// [`giveover_core::monitor::Action::Restart`]: validate, stop, prove it stopped, start.
    pub(super) fn begin_restart(&mut self, service: usize, ticket: Ticket, origin: Origin) {
        if origin != Origin::Operator {
            self.charge_host();
        }
        let planned = !self.watches[service].monitor.is_dead();
        if planned && self.plan.services[service].validate.is_some() {
            self.watches[service].more().work = Work::Validating(ticket);
            self.begin_validate(service);
        } else {
            self.stop(service, Then::Start(ticket));
        }
    }

    /// `validate` has ended: with a cause if it says no.
    pub(super) fn validated(&mut self, service: usize, no: Option<Cause>) {
        let Work::Validating(ticket) = self.work(service) else { return };
        match no {
            None => self.stop(service, Then::Start(ticket)),
            Some(cause) => {
                self.watches[service].more().work = Work::Idle;
                let outcome = RestartOutcome::Invalid(cause);
                self.feed(service, Event::RestartDone { ticket, outcome });
                let why = "validation refused it; nothing was stopped";
                self.answer_operator(service, Wanted::Start, Err(why));
            }
        }
    }

    pub(super) fn work(&self, service: usize) -> Work {
        self.watches[service].more_ref().map_or(Work::Idle, |more| more.work)
    }

    /// Begins to stop `service`; `then` follows once it is proven stopped.
    pub(super) fn stop(&mut self, service: usize, then: Then) {
        self.watches[service].more().work = Work::Stopping(then);
        self.watches[service].more().work_since = Some(self.now);
        self.leave_database(service);
        match self.plan.services[service].run {
            // Nothing of ours runs it: there is nothing to stop.
            Run::Watched => self.service_moved(service, Done::Stopped),
            // A run before us had begun it.
            Run::Unit(_) if self.plan.host.observe => self.service_moved(service, Done::Stopped),
            Run::Process(_) | Run::Unit(_) => self.stop_process(service),
        }
    }

    /// Begins to start `service`.
    pub(super) fn start(&mut self, service: usize, why: Why) {
        self.watches[service].more().work = Work::Starting(why);
        let now = self.now;
        let more = self.watches[service].more();
        if !matches!(why, Why::Restart(_)) {
            more.work_since = None;
        }
        more.work_since.get_or_insert(now);
        match self.plan.services[service].run {
            Run::Watched => self.service_moved(service, Done::Started),
            Run::Unit(_) if self.plan.host.observe => self.service_moved(service, Done::Started),
            Run::Process(_) | Run::Unit(_) => self.start_process(service),
        }
    }

    /// A process of ours, or a unit, has got where it was sent, or has moved by itself.
    pub(super) fn service_moved(&mut self, service: usize, done: Done) {
        match (self.work(service), done) {
            (Work::Starting(why), Done::Started) => self.started(service, why),
            (Work::Starting(why), Done::StartFailed(cause)) => {
                self.start_failed(service, why, cause);
            }
            (Work::Stopping(then), Done::Stopped) => self.stopped(service, then),
            (Work::Stopping(then), Done::StopFailed(cause)) => {
                self.stop_failed(service, then, cause);
            }
            (_, Done::Died(cause)) => {
                self.note_gone(service);
                self.feed(service, Event::Died { cause });
            }
            (_, Done::StoppedByOther) => self.stopped_by_other(service),
            (_, Done::StartedByOther) => {
                if self.stop_stranger(service) {
                    return;
                }
                self.note_started(service, Starter::Systemd);
                let first = self.plan.services[service].policy.limits().thorough_probe_interval;
                self.feed(service, Event::Begin { first, started: true });
            }
            (_, Done::Healed) => {
                self.note_started(service, Starter::Systemd);
                self.feed(service, Event::Healed);
            }
            // An answer to something that is no longer wanted.
            (_, Done::Started | Done::StartFailed(_)) => {}
            (_, Done::Stopped | Done::StopFailed(_)) => {}
        }
    }

    fn started(&mut self, service: usize, why: Why) {
        self.watches[service].more().work = Work::Idle;
        match why {
            Why::Restart(ticket) => {
                self.note_started(service, Starter::Giveover);
                let outcome = RestartOutcome::Started;
                self.feed(service, Event::RestartDone { ticket, outcome });
            }
            Why::First | Why::Operator => {
                let by = if why == Why::First { Starter::Giveover } else { Starter::Operator };
                self.note_started(service, by);
                let first = self.spread(service);
                self.feed(service, Event::Begin { first, started: true });
                self.tell_started(service, by);
            }
        }
        self.answer_operator(service, Wanted::Start, Ok("started"));
    }

    fn start_failed(&mut self, service: usize, why: Why, cause: Cause) {
        self.watches[service].more().work = Work::Idle;
        self.note_gone(service);
        match why {
            Why::Restart(ticket) => {
                let outcome = RestartOutcome::StartFailed(cause);
                self.feed(service, Event::RestartDone { ticket, outcome });
            }
            // A service that could not be started is dead from the beginning.
            Why::First | Why::Operator => {
                self.feed(service, Event::Begin { first: Span::ZERO, started: false });
                self.feed(service, Event::Died { cause });
            }
        }
        self.answer_operator(service, Wanted::Start, Err("it could not be started"));
    }

    fn stopped(&mut self, service: usize, then: Then) {
        self.note_gone(service);
        match then {
            Then::Start(ticket) => self.start(service, Why::Restart(ticket)),
            Then::Rest => {
                self.watches[service].more().work = Work::Idle;
                let who = self.watches[service].more().asked_by.take();
                let text =
                    words::stopped(who.as_deref().unwrap_or("giveover"), self.work_took(service));
                self.feed(service, Event::Stopped);
                self.say(service, message::Event::Stopped, text);
                self.answer_operator(service, Wanted::Stop, Ok("stopped"));
            }
            Then::HandOver(ticket) => {
                self.watches[service].more().work = Work::Idle;
                self.hand_over(service, ticket);
            }
            Then::Leave => {
                self.watches[service].more().work = Work::Idle;
                self.member_stopped(service, None);
            }
            Then::End => {
                self.watches[service].more().work = Work::Idle;
                self.ended(service);
            }
        }
    }

    fn stop_failed(&mut self, service: usize, then: Then, cause: Cause) {
        self.watches[service].more().work = Work::Idle;
        match then {
            Then::Start(ticket) => {
                let outcome = RestartOutcome::StopFailed(cause);
                self.feed(service, Event::RestartDone { ticket, outcome });
            }
            Then::HandOver(ticket) => self.handover_not_stopped(service, ticket, cause),
            Then::Leave => return self.member_stopped(service, Some(cause)),
            Then::Rest => {
                self.tell_stop_failed(service, cause);
                // Something of it still runs: its monitor goes on.
                let first = self.plan.services[service].policy.limits().thorough_probe_interval;
                self.feed(service, Event::Begin { first, started: false });
            }
            Then::End => {
                self.tell_stop_failed(service, cause);
                self.ended(service);
            }
        }
        let wanted = match then {
            Then::Start(_) => Wanted::Start,
            Then::Rest => Wanted::Stop,
            Then::HandOver(_) => Wanted::Giveover,
            Then::Leave | Then::End => return, // nobody is answered any more
        };
        let why = "it could not be stopped; something of it still runs";
        self.answer_operator(service, wanted, Err(why));
    }

    /// Stopped by a job of systemd that was not ours: offline until someone starts it.
    fn stopped_by_other(&mut self, service: usize) {
        self.note_gone(service);
        self.watches[service].more().stopped_by_systemd = true;
        self.feed(service, Event::Stopped);
        let text = words::stopped("a job of systemd's that was not ours", 0);
        self.say(service, message::Event::Stopped, text);
    }

    /// How long a monitor sleeps before its first probe: spread, so that thousands of services
    /// do not fire together.
    pub(super) fn spread(&self, service: usize) -> Span {
        let interval = self.plan.services[service].policy.limits().thorough_probe_interval;
        let count = self.shown().max(1) as u64;
        let share = u64::from(interval.as_millis()) * (service as u64 + 1) / count;
        let at = tick_before(Instant::from_millis(self.now.as_millis() + share), interval);
        Span::from_millis(u32::try_from(at.since(self.now)).unwrap_or(u32::MAX))
    }

    /// Whether something of ours can start and stop it.
    pub(super) fn is_ours(&self, service: usize) -> bool {
        !matches!(self.plan.services[service].run, Run::Watched)
    }
}
