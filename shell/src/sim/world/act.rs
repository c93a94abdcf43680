//! What a monitor asks for, carried out; and what is due about a service.

use giveover_core::board::Why;
use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{
    Action, Event, GiveoverOutcome, Holder, Origin, Reason, RestartOutcome, Ticket,
};

use super::Play;
use super::service::{Due, NEVER, Stage, Work};
use crate::config::plan::GoesTo;
use crate::config::scenario::Reply;
use crate::config::world::Verb;
use crate::sim::timeline::is_decision;

impl Play<'_> {
    /// Carries one action out; those that ask something are answered later.
    pub(super) fn carry_out(&mut self, place: usize, action: Action) {
        let now = self.now;
        let Some(service) = self.services.get_mut(place) else { return };
        if is_decision(&action) {
            service.decided(now);
        }
        match action {
            Action::Probe { ticket } => self.begin_probe(place, ticket),
            Action::Restart { ticket, origin } => {
                if origin == Origin::Monitor {
                    let works = service.works();
                    service.figures.restarts.push(now);
                    if works {
                        service.figures.needless.push(now);
                    }
                }
                if origin != Origin::Operator && self.node_of(place) == 0 {
                    self.charge();
                }
                self.begin_work(place, ticket);
            }
            Action::Giveover { ticket, reason } => self.begin_giveover(place, ticket, reason),
            Action::Cancel { .. } => {
                service.did("cancel");
                service.asked = None;
                self.board_forgets_request(place);
            }
            Action::BudgetSpent => service.did("held"),
            Action::Log => service.did("log"),
            Action::Reset { cause } => {
                service.did("reset");
                self.reset_node(place, Some(cause));
            }
            _ => {} // a status is told by what follows
        }
    }

    fn begin_probe(&mut self, place: usize, ticket: Ticket) {
        let now = self.now;
        let cut = self.cut > 0 && self.node_of(place) == 0;
        let (Some(plan), Some(service)) = (self.plan(place), self.services.get_mut(place)) else {
            return;
        };
        let cut = cut && !plan.local;
        let takes = if cut || service.is_late() {
            u64::from(plan.policy.limits().probe_timeout.as_millis())
        } else {
            self.random.within(plan.probe_takes)
        };
        service.probe = Some((ticket, now.saturating_add(takes)));
    }

    /// What is due about the service of this place.
    pub(super) fn service_due(&mut self, place: usize) {
        let now = self.now;
        let Some(service) = self.services.get_mut(place) else { return };
        if service.leaks_at <= now {
            (service.leaks_at, service.leaking) = (NEVER, true);
            service.truth(now);
        }
        if self.daemon_at(self.node_of(place)).is_none() {
            return;
        }
        let Some(service) = self.services.get_mut(place) else { return };
        match service.due(now) {
            None => {}
            Some(Due::Death) => {
                service.unheard = false;
                let cause = Cause::new(Phase::Died, Cause::SIGNAL + 9);
                self.feed(place, Event::Died { cause });
            }
            Some(Due::Timer) => self.feed(place, Event::Timeout),
            Some(Due::Probe(ticket)) => {
                service.probe = None;
                self.probed(place, ticket);
            }
            Some(Due::Work(work)) => self.work_due(place, work),
            Some(Due::Answer(ticket, reply)) => {
                service.asked = None;
                self.answered(place, ticket, reply);
            }
        }
    }

    fn probed(&mut self, place: usize, ticket: Ticket) {
        let now = self.now;
        let node = self.node_of(place);
        let local = node != 0 || self.plan(place).is_some_and(|plan| plan.local);
        let Some(service) = self.services.get_mut(place) else { return };
        let result = service.finds(self.cut > 0 && !local);
        let failing = matches!(result, ProbeResult::Failed(..) | ProbeResult::Immediate(_));
        match result {
            ProbeResult::Healthy => service.failing_at = None,
            _ if failing => service.failing_at = Some(now),
            _ => {}
        }
        if node == 0 && self.world.trusted > 0 && (failing || self.local_fault) {
            self.judge_local_fault();
        }
        self.feed(place, Event::Probed { ticket, result });
    }

    /// Validate, stop, prove it stopped, start.
    pub(super) fn begin_work(&mut self, place: usize, ticket: Ticket) {
        let now = self.now;
        let (Some(plan), Some(service)) = (self.plan(place), self.services.get_mut(place)) else {
            return;
        };
        let limits = plan.policy.limits();
        let (stage, takes) = if service.alive && service.has(Verb::Invalid) {
            (Stage::Refused, 0)
        } else if service.alive && service.has(Verb::FailStop) {
            (Stage::Stopping { fails: true }, u64::from(limits.stop_timeout.as_millis()))
        } else if service.alive {
            let takes = self.random.within(plan.stop_takes);
            (Stage::Stopping { fails: false }, takes)
        } else {
            (Stage::Stopping { fails: false }, 0)
        };
        service.probe = None;
        service.work = Some(Work { ticket, stage, until: now.saturating_add(takes) });
    }

    fn work_due(&mut self, place: usize, work: Work) {
        let now = self.now;
        let (Some(plan), Some(service)) = (self.plan(place), self.services.get_mut(place)) else {
            return;
        };
        let ticket = work.ticket;
        let outcome = match work.stage {
            Stage::Refused => {
                service.did("restart_invalid");
                RestartOutcome::Invalid(Cause::new(Phase::Start, 1))
            }
            Stage::Stopping { fails: true } => {
                service.did("stop_failed");
                RestartOutcome::StopFailed(Cause::new(Phase::Stop, Cause::TIMED_OUT))
            }
            Stage::Stopping { fails: false } => {
                service.alive = false;
                service.unheard = false;
                service.forget_leak();
                service.ills.retain(|ill| ill.until.is_some());
                service.truth(now);
                let fails = service.has(Verb::FailStart);
                let takes = match fails {
                    true => 0,
                    false => self.random.within(plan.start_takes),
                };
                let until = now.saturating_add(takes);
                service.work = Some(Work { ticket, stage: Stage::Starting, until });
                return;
            }
            Stage::Starting if service.has(Verb::FailStart) => {
                service.did("restart_failed");
                RestartOutcome::StartFailed(Cause::new(Phase::Start, 1))
            }
            Stage::Starting => {
                service.did("restart");
                RestartOutcome::Started
            }
            Stage::Leaving { fails } => return self.left(place, !fails),
            Stage::Entering => return self.entered(place),
        };
        service.work = None;
        if outcome == RestartOutcome::Started {
            self.service_started(place);
        }
        self.feed(place, Event::RestartDone { ticket, outcome });
    }

    /// Its process runs from now on, as good as new.
    pub(super) fn service_started(&mut self, place: usize) {
        let now = self.now;
        let (Some(plan), Some(service)) = (self.plan(place), self.services.get_mut(place)) else {
            return;
        };
        service.alive = true;
        service.elsewhere = false;
        service.unheard = false;
        service.forget_leak();
        service.leaks_at = match plan.leaks {
            Some(leak) => now.saturating_add(self.random.within(leak.after)),
            None => NEVER,
        };
        service.truth(now);
        if self.moves(place) {
            self.judge_two(place);
        }
    }

    fn begin_giveover(&mut self, place: usize, ticket: Ticket, reason: Reason) {
        let now = self.now;
        let Some(plan) = self.plan(place) else { return };
        if plan.giveover == GoesTo::Board && self.node_of(place) == 0 {
            let cause = match reason {
                Reason::Immediate(cause) | Reason::StartFailed(cause) => cause,
                Reason::BudgetSpent | Reason::Operator => Cause::new(Phase::Reported, 0),
            };
            let why = Why::Giveover { service: u8::try_from(place).unwrap_or(u8::MAX), cause };
            return self.ask_board(place, ticket, why);
        }
        if self.moves(place) {
            return self.give_group_over(place, ticket, reason);
        }
        let Some(service) = self.services.get_mut(place) else { return };
        let reply = self.world.answer.at(self.clock.at(now));
        let takes = self.random.within(self.world.answer_takes);
        service.asked = Some((ticket, now.saturating_add(takes), reply));
    }

    fn answered(&mut self, place: usize, ticket: Ticket, reply: Reply) {
        let now = self.now;
        let Some(service) = self.services.get_mut(place) else { return };
        let cause = |phase| Cause::new(phase, 1);
        let (word, then) = match reply {
            Reply::Accept => ("giveover", None),
            Reply::Deny => {
                service.did("giveover_denied");
                service.figures.denials += 1;
                let outcome = GiveoverOutcome::Denied;
                return self.feed(place, Event::GiveoverDone { ticket, outcome });
            }
            Reply::NotNow => {
                service.did("giveover_not_now");
                let outcome = GiveoverOutcome::NotNow;
                return self.feed(place, Event::GiveoverDone { ticket, outcome });
            }
            Reply::AbortStopped => (
                "giveover_aborted",
                Some(GiveoverOutcome::Aborted { stopped: true, cause: cause(Phase::Start) }),
            ),
            Reply::AbortRunning => (
                "giveover_aborted",
                Some(GiveoverOutcome::Aborted { stopped: false, cause: cause(Phase::Stop) }),
            ),
            Reply::Unproven => ("giveover_unproven", Some(GiveoverOutcome::Unproven)),
        };
        service.did(word);
        if then.is_none() {
            service.figures.giveovers.push(now);
        }
        self.charge();
        self.feed(place, Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Granted });
        let Some(service) = self.services.get_mut(place) else { return };
        let runs_on = matches!(then, Some(GiveoverOutcome::Aborted { stopped: false, .. }));
        if !runs_on {
            service.alive = false;
            service.unheard = false;
            service.forget_leak();
        }
        match then {
            Some(outcome) => {
                service.truth(now);
                self.feed(place, Event::GiveoverDone { ticket, outcome });
            }
            None => {
                service.elsewhere = true;
                service.truth(now);
                self.feed(place, Event::Stopped);
            }
        }
    }

    /// R16: charges a restart or giveover; the last one the window allows holds all services.
    pub(super) fn charge(&mut self) {
        let at = self.clock.at(self.now);
        self.budget.charge(at);
        if self.budget_spent || !self.budget.is_spent(at) {
            return;
        }
        self.budget_spent = true;
        for place in 0..self.own() {
            self.feed(place, Event::Hold(Holder::HostBudget));
        }
    }

    /// The window of the host's budget has moved on.
    pub(super) fn budget_due(&mut self) {
        let at = self.clock.at(self.now);
        if self.budget.is_spent(at) {
            return;
        }
        self.budget_spent = false;
        for place in 0..self.own() {
            if self.budget_spent {
                return; // one that was released has used it up again
            }
            self.feed(place, Event::Release(Holder::HostBudget));
        }
    }

    /// Something has changed about trusted servers: they are asked each 10 s.
    pub(super) fn trusted_changed(&mut self) {
        const EVERY: u64 = 10_000;
        if self.world.trusted > 0 {
            self.ask_trusted = Some((self.now / EVERY + 1) * EVERY);
        }
    }

    pub(super) fn trusted_asked(&mut self) {
        self.ask_trusted = None;
        self.trusted_answer = self.cut == 0 && self.silent == 0;
        self.judge_local_fault();
        self.pools_hear_trusted();
    }

    /// Much that fails at once while no trusted server answers is ourselves.
    pub(super) fn judge_local_fault(&mut self) {
        let (now, trusted) = (self.now, self.world.trusted);
        let within = u64::from(self.world.local_fault.within.as_millis());
        let lately = |at: u64| now - at <= within;
        let own = self.services.iter().take(self.own());
        let failing = own.filter(|it| it.failing_at.is_some_and(lately)).count();
        let answering = if self.trusted_answer { trusted } else { 0 };
        let services = self.own() as u32;
        let holds = self.rule.holds(services, failing as u32, trusted, answering);
        if holds == self.local_fault {
            return;
        }
        self.local_fault = holds;
        for place in 0..self.own() {
            let exempt = self.world.services.get(place).is_none_or(|it| it.network || it.local);
            if exempt {
                continue;
            }
            let holder = Holder::LocalFault;
            let event = if holds { Event::Hold(holder) } else { Event::Release(holder) };
            self.feed(place, event);
        }
    }
}
