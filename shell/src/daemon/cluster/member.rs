//! The services of a group: started where it is active, proven stopped where it is not.

use std::collections::VecDeque;

use giveover_core::failure::Cause;
use giveover_core::monitor::{Ended, Event, Waiting};
use giveover_core::peer::Role;
use giveover_core::time::Span;

use crate::daemon::Daemon;
use crate::daemon::operator::Wanted;
use crate::daemon::work::{Then, Why, Work};
use crate::journal;
use crate::message::{self, words};

/// Services being stopped for their group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stopping {
    /// Those that are yet to be stopped, the next one first.
    next: VecDeque<usize>,
    /// Those that are being stopped.
    under_way: Vec<usize>,
    failed: bool,
    /// Those that ran when they were asked to stop: only of them it is worth a word.
    ran: Vec<usize>,
}

impl Daemon {
    /// Stops the services of a group, each before those it needs; `at_once` all together, with no
    /// more time than the others wait for us.
    pub(super) fn stop_group(&mut self, group: usize, at_once: bool) {
        let limit = self.at_once_limit();
        let observe = self.plan.host.observe;
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        if observe {
            // Nothing is acted on: what runs here is not ours to stop.
            let orders = state.carrier.stopped(true);
            return self.follow_orders(group, orders);
        }
        let services: Vec<usize> = state.services.iter().rev().copied().collect();
        // What is being stopped already is not asked twice, only hurried.
        let before = state.stopping.take().unwrap_or_default();
        let next = services.iter().filter(|it| !before.under_way.contains(it)).copied().collect();
        let (under_way, ran) = (before.under_way.clone(), before.ran);
        state.stopping = Some(Stopping { next, under_way, failed: false, ran });
        if at_once {
            for service in before.under_way {
                self.hurry(service, limit);
            }
            for service in services {
                self.stop_member(group, service);
                self.hurry(service, limit);
            }
        }
        self.stop_next_of(group);
    }

    /// What is killed after this is gone before anybody takes our place.
    fn at_once_limit(&self) -> Span {
        let Some(cluster) = self.cluster.as_deref() else { return Span::from_secs(1) };
        let limits = &cluster.plan.limits;
        let held = limits.lease.as_millis().saturating_add(limits.jitter.as_millis());
        Span::from_millis(limits.wait.as_millis().saturating_sub(held).max(1000))
    }

    fn hurry(&mut self, service: usize, limit: Span) {
        let now = self.now;
        if matches!(self.work(service), Work::Stopping(Then::Leave)) {
            self.services.hurry(&mut self.reactor, service as u32, limit, now);
        }
    }

    fn stop_next_of(&mut self, group: usize) {
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        let Some(stopping) = &mut state.stopping else { return };
        if !stopping.under_way.is_empty() {
            return;
        }
        if let Some(service) = stopping.next.front().copied() {
            return self.stop_member(group, service);
        }
        let ok = !stopping.failed;
        state.stopping = None;
        let orders = state.carrier.stopped(ok);
        self.follow_orders(group, orders);
    }

    fn stop_member(&mut self, group: usize, service: usize) {
        let runs = self.services.is_running(service as u32) != Some(false);
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        let Some(stopping) = &mut state.stopping else { return };
        let Some(place) = stopping.next.iter().position(|it| *it == service) else { return };
        stopping.next.remove(place);
        stopping.under_way.push(service);
        if runs {
            stopping.ran.push(service);
        }
        let given =
            state.giving.and_then(|giving| giving.by).is_some_and(|(given, _)| given == service);
        if !given {
            self.feed(service, Event::End); // nobody restarts what is being stopped
            let why = "called off: its group is let go here";
            self.answer_operator(service, Wanted::Start, Err(why));
            self.answer_operator(service, Wanted::Stop, Err(why));
        }
        self.cancel_errand(service);
        self.stop(service, Then::Leave);
    }

    /// A service of a group is proven stopped, or cannot be.
    pub(in crate::daemon) fn member_stopped(&mut self, service: usize, failed: Option<Cause>) {
        let Some(group) = self.group_of(service) else { return };
        let state = self.cluster.as_deref().and_then(|it| it.groups.get(group));
        let ran =
            state.and_then(|it| it.stopping.as_ref()).is_some_and(|it| it.ran.contains(&service));
        if let Some(cause) = failed {
            self.tell_stop_failed(service, cause);
        } else {
            if ran {
                self.tell_left(service);
            }
            self.feed(service, Event::Stopped);
        }
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        let Some(stopping) = &mut state.stopping else { return };
        stopping.under_way.retain(|it| *it != service);
        stopping.failed |= failed.is_some();
        self.stop_next_of(group);
    }

    /// Starts the services of a group in order; what runs is watched on.
    pub(super) fn start_group(&mut self, group: usize) {
        if self.plan.host.observe {
            return;
        }
        let services = self.cluster.as_deref().and_then(|it| it.groups.get(group));
        for service in services.map_or_else(Vec::new, |state| state.services.clone()) {
            let ended = matches!(
                self.watches[service].monitor.waiting_for(),
                Waiting::Ended(_) | Waiting::GivenOver
            );
            if self.work(service) != Work::Idle || !ended {
                continue;
            }
            self.watches[service].more().stopped_by_systemd = false;
            self.start(service, Why::First);
        }
    }

    /// At our start: what an earlier life of the daemon ran of it is known again, so that it can be
    /// proven stopped, and its monitor rests until the group is active here.
    pub(in crate::daemon) fn bring_up_member(&mut self, service: usize) {
        self.void_probe(service);
        let machine = self.watches[service].machine;
        let known = self.journal.ledger().service(machine);
        let process = known.and_then(journal::Service::process);
        if let Some(process) = process {
            self.adopt_process(service, &process);
        }
        let rests = matches!(
            self.watches[service].monitor.waiting_for(),
            Waiting::Ended(Ended::Stopped) | Waiting::GivenOver
        );
        if !rests {
            self.feed(service, Event::End);
            self.feed(service, Event::Stopped);
        }
        self.arm(service);
    }

    /// What could not be proven stopped when a group was let go is stopped again, for as long as the
    /// group is not active here.
    pub(super) fn stop_what_is_left(&mut self) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let left = |group: &super::Group| {
            let rests = matches!(group.machine.role(), Role::Standby | Role::Down);
            rests && group.carrier.is_unclean() && group.stopping.is_none() && !group.gone
        };
        let left: Vec<usize> =
            cluster.groups.iter().enumerate().filter(|(_, it)| left(it)).map(|it| it.0).collect();
        for group in left {
            self.stop_group(group, true);
        }
    }

    /// Somebody else, systemd at boot for one, has started what belongs to a group that is not
    /// active here: it is stopped again. False where it may run.
    pub(in crate::daemon) fn stop_stranger(&mut self, service: usize) -> bool {
        let Some(why) = self.why_not_here(service).filter(|_| !self.plan.host.observe) else {
            return false;
        };
        let name = self.plan.services[service].name.to_string();
        self.say_host(
            message::Event::Nodes,
            format!("{name} was started by others and is stopped: {why}"),
        );
        self.stop(service, Then::Leave);
        true
    }

    /// Whether people may start `service`: a group that is active elsewhere starts nothing here.
    pub(in crate::daemon) fn why_not_here(&self, service: usize) -> Option<String> {
        let group = self.group_of(service)?;
        let cluster = self.cluster.as_deref()?;
        let state = cluster.groups.get(group)?;
        if state.carrier.is_up() {
            return None;
        }
        let name = cluster.plan.groups.get(group).map_or("", |plan| plan.name.as_str());
        Some(match state.machine.active().filter(|node| *node != cluster.me) {
            Some(node) => format!("group {name} is active on {}", cluster.name(node)),
            None => format!("group {name} is not active here"),
        })
    }

    /// Whether `service` runs on another node that is heard: who needs it has it there.
    pub(in crate::daemon) fn runs_elsewhere(&self, service: usize) -> bool {
        let Some(cluster) = self.cluster.as_deref() else { return false };
        let Some(state) = self.group_of(service).and_then(|group| cluster.groups.get(group)) else {
            return false;
        };
        let elsewhere = state.machine.active().filter(|node| *node != cluster.me);
        elsewhere.is_some_and(|node| self.heard_nodes().has(node))
    }

    /// Whether clients may still be led to `service`, which runs on every node, by an address that this
    /// one has not yet let go.
    pub(in crate::daemon) fn is_behind_address(&self, service: usize) -> bool {
        let group = self.group_everywhere_of(service);
        let state = group.and_then(|group| self.cluster.as_deref()?.groups.get(group));
        state.is_some_and(|state| !state.gone)
    }

    /// Whether any group is on its way from one state to another here.
    pub(in crate::daemon) fn is_group_moving(&self) -> bool {
        self.cluster.as_deref().is_some_and(|cluster| {
            cluster.groups.iter().any(|it| it.stopping.is_some() || it.giving.is_some())
        })
    }

    /// The text of a stop that its group is the reason of.
    fn tell_left(&mut self, service: usize) {
        let text = words::stopped("its group, which is let go here", self.work_took(service));
        self.say(service, message::Event::Stopped, text);
    }
}
