//! What holds across services: the action budget and the local-fault rule (R16).

use std::collections::HashSet;

use giveover_core::failure::{Phase, ProbeResult};
use giveover_core::host::{Budget, LocalFaultRule};
use giveover_core::monitor::{Event, Holder};
use giveover_core::time::Instant;

use super::{DAEMON_BUDGET, Daemon};
use crate::config::agent::Transport;
use crate::config::look::Looks;
use crate::config::plan::{CheckPlan, Host, HostPlan, Kind, ServicePlan};
use crate::journal::{HostBudget, Note};
use crate::message::{self, host};
use crate::reactor::{Room, Token};

/// The host as a whole.
pub(super) struct HostState {
    pub(super) budget: Budget<Box<[Instant]>>,
    /// The budget is spent and services are held for it.
    pub(super) spent: bool,
    rule: LocalFaultRule,
    /// The local-fault rule holds.
    pub(super) local_fault: bool,
    /// Machines, by number, whose histories may lack something: not to be called healthy before
    /// a cycle has shown it.
    pub(super) doubted: HashSet<u32>,
}

impl HostState {
    pub(super) fn new(plan: &HostPlan) -> Self {
        let slots = vec![Instant::from_millis(0); usize::from(plan.actions.count)];
        Self {
            budget: Budget::new(plan.actions.per, slots.into_boxed_slice()),
            spent: false,
            rule: LocalFaultRule { share: plan.local_fault.share, least: plan.local_fault.least },
            local_fault: false,
            doubted: HashSet::new(),
        }
    }
}

impl Daemon {
    /// Charges a restart or giveover; the last one the window allows holds all services.
    pub(super) fn charge_host(&mut self) {
        let now = self.now;
        self.host.budget.charge(now);
        self.journal.note(now, Note::Charged { budget: HostBudget::Actions });
        if self.host.spent || !self.host.budget.is_spent(now) {
            return;
        }
        self.host.spent = true;
        let frees_at = self.host.budget.frees_at();
        let (count, per) = (self.host.budget.count(), self.plan.host.actions.per);
        let until = frees_at.map(|at| self.time_of_day(at)).unwrap_or_default();
        let text = host::host_budget(count, u64::from(per.as_millis()), Some(&until));
        self.say_host(message::Event::HostBudget, text);
        for service in 0..self.shown() {
            self.feed(service, Event::Hold(Holder::HostBudget));
        }
        if let Some(at) = frees_at {
            self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_BUDGET, 0), at);
        }
    }

    /// The window of the host's budget has moved on.
    pub(super) fn host_budget_due(&mut self) {
        let now = self.now;
        if !self.host.spent {
            return;
        }
        if self.host.budget.is_spent(now) {
            if let Some(at) = self.host.budget.frees_at().filter(|at| *at > now) {
                self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_BUDGET, 0), at);
            }
            return;
        }
        self.host.spent = false;
        let per = u64::from(self.plan.host.actions.per.as_millis());
        let (spent, count) = (self.host.budget.spent(now), self.host.budget.count());
        self.say_host(message::Event::HostBudgetOver, host::host_budget_over(spent, count, per));
        for service in 0..self.shown() {
            if self.host.spent {
                return; // one that was released has used it up again: the others stay held
            }
            self.feed(service, Event::Release(Holder::HostBudget));
        }
    }

    /// Too much fails at once and no trusted server answers: that is ourselves.
    ///
    /// Judged when a cycle fails, when one heals, and when trusted servers have been asked.
    pub(super) fn judge_local_fault(&mut self) {
        let Heard { answering, silent, .. } = self.heard();
        let asked = answering + silent;
        let holds = asked > 0 && {
            let failing = self.failing_lately();
            self.host.rule.holds(self.shown() as u32, failing, asked, answering)
        };
        if holds == self.host.local_fault {
            return;
        }
        self.host.local_fault = holds;
        let (failing, services) = (self.failing_lately(), self.shown() as u32);
        if holds {
            self.say_host(message::Event::LocalFault, host::local_fault(failing, services));
        } else {
            let text = host::local_fault_over("a trusted server answers, or few services fail");
            self.say_host(message::Event::LocalFaultOver, text);
        }
        for service in 0..self.shown() {
            if is_exempt(&self.plan.services[service]) {
                continue;
            }
            let holder = Holder::LocalFault;
            let event = if holds { Event::Hold(holder) } else { Event::Release(holder) };
            self.feed(service, event);
        }
    }

    fn failing_lately(&self) -> u32 {
        let within = u64::from(self.plan.host.local_fault.within.as_millis());
        let lately = |at: Instant| self.now.since(at) <= within;
        let watches = self.watches.iter().take(self.shown());
        watches.filter(|watch| watch.failing_at.is_some_and(lately)).count() as u32
    }

    /// Trusted servers: how many answered last, and how many there are. They are the checks of
    /// a service of their own, behind those that are shown.
    pub(super) fn trusted(&self) -> (u16, u16) {
        let heard = self.heard();
        (heard.answering, heard.answering + heard.silent + heard.unasked)
    }

    fn heard(&self) -> Heard {
        let watch = self.watches.get(self.shown());
        let checks = watch.map_or(&[][..], |watch| &watch.checks);
        checks.iter().fold(Heard::default(), |heard, check| heard.and(check.result))
    }
}

/// What trusted servers said when they were asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    answering: u16,
    silent: u16,
    /// Those we could not ask, for want of a right or a descriptor: their silence says nothing.
    unasked: u16,
}

impl Heard {
    fn and(mut self, result: Option<ProbeResult>) -> Self {
        match result {
            // One that has not been asked yet is not silent.
            None | Some(ProbeResult::Healthy | ProbeResult::Void) => self.answering += 1,
            // A name that cannot be looked up is silence: the network may well be why.
            Some(ProbeResult::CannotMeasure(cause)) if cause.phase != Phase::Resolve => {
                self.unasked += 1;
            }
            Some(_) => self.silent += 1,
        }
        self
    }
}

/// Our own way out, and what never leaves this host, are not held by a fault of the network.
fn is_exempt(plan: &ServicePlan) -> bool {
    plan.network || plan.checks.iter().all(is_local)
}

fn is_local(check: &CheckPlan) -> bool {
    let loopback = |host: &Host| match host {
        Host::Address(address) => address.is_loopback(),
        Host::Name(name) => &**name == "localhost",
        Host::Socket(_) => true,
    };
    match check.kind {
        Kind::Process | Kind::State(_) => true,
        Kind::Command(ref plan) => matches!(plan.looks, Looks::Log | Looks::Process),
        // Heard here, and sent from anywhere.
        Kind::Agent(ref plan) => matches!(plan.transport, Transport::Unix(_)),
        Kind::Database(ref plan) if !plan.asks_address() => true,
        Kind::Tcp { .. }
        | Kind::Http(_)
        | Kind::Xfnts { .. }
        | Kind::Talk(_)
        | Kind::Tls(_)
        | Kind::Hello(_)
        | Kind::Remote(_)
        | Kind::Database(_) => check.targets.iter().all(|target| loopback(&target.host)),
    }
}

#[cfg(test)]
mod tests {
    use giveover_core::failure::Cause;
    use giveover_core::weight::Weight;

    use super::*;

    #[test]
    fn a_trusted_server_that_could_not_be_asked_is_not_silent() {
        let no_right = ProbeResult::CannotMeasure(Cause::of_check(0, Phase::Connect, 1));
        let no_name = ProbeResult::CannotMeasure(Cause::of_check(0, Phase::Resolve, 0));
        let refused =
            ProbeResult::Failed(Weight::COMPLETE, Cause::of_check(0, Phase::Connect, 111));
        let heard =
            [None, Some(ProbeResult::Healthy), Some(no_right), Some(no_name), Some(refused)]
                .into_iter()
                .fold(Heard::default(), Heard::and);
        assert_eq!(heard, Heard { answering: 2, silent: 2, unasked: 1 });
    }
}
