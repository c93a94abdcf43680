//! A giveover of a service that is in a group: the group goes, with a named successor (P8).

use giveover_core::arbiter::{Answer, Candidate, Event as Ask, Request};
use giveover_core::failure::{Cause, Phase};
use giveover_core::monitor::{Event as Fed, GiveoverOutcome, Reason, Status, Ticket};
use giveover_core::node::Node;
use giveover_core::peer::{Event, Role};
use giveover_core::time::Instant;

use super::{Giving, boot_now};
use crate::daemon::Daemon;
use crate::daemon::operator::Wanted;
use crate::journal::Note;
use crate::message::{self, words};

impl Daemon {
    /// [`giveover_core::monitor::Action::Giveover`] of a service that goes to another node.
    pub(in crate::daemon) fn give_over_to_node(
        &mut self,
        service: usize,
        ticket: Ticket,
        reason: Reason,
    ) {
        let by_operator = reason == Reason::Operator;
        if let Some(group) = self.group_everywhere_of(service) {
            return self.give_address_over(group, service, ticket, by_operator);
        }
        let Some(group) = self.group_of(service) else {
            return self.denied(service, ticket, "it is in no group");
        };
        let to = self.wanted_to.take().filter(|_| by_operator);
        match self.ask_arbiter(group, Some(service), by_operator, to.as_deref()) {
            Answer::Granted(node) => self.give(group, service, ticket, node),
            Answer::Denied(denial) => {
                let why = self.denial_words(&denial);
                self.denied(service, ticket, &why);
            }
            Answer::NotNow => self.not_now(service, ticket, "a move or an election is under way"),
        }
    }

    /// The same of a service that runs on every node: it stays, and its monitor goes on. If the group
    /// is active here, that is, its address, then the group goes to where the service may be well.
    fn give_address_over(
        &mut self,
        group: usize,
        service: usize,
        ticket: Ticket,
        by_operator: bool,
    ) {
        let name = self.group_name(group);
        if by_operator {
            let why = format!(
                "it runs on every node; `giveover node switch {name}` moves what one node has"
            );
            return self.denied(service, ticket, &why);
        }
        if !self.is_active_here(group) {
            let why = format!("it runs on every node, and group {name} is not active here");
            return self.denied(service, ticket, &why);
        }
        match self.ask_arbiter(group, Some(service), false, None) {
            Answer::Granted(node) => {
                let to = self.cluster.as_deref().map_or(String::new(), |it| it.name(node));
                let why = format!("it runs on every node; group {name} goes to {to}");
                self.denied(service, ticket, &why);
                let of = self.plan.services[service].name.to_string();
                self.give_group(group, node, &format!("{of} is faulty here"));
            }
            Answer::Denied(denial) => {
                let why = self.denial_words(&denial);
                self.denied(service, ticket, &why);
            }
            Answer::NotNow => self.not_now(service, ticket, "a move or an election is under way"),
        }
    }

    fn is_active_here(&self, group: usize) -> bool {
        let state = self.cluster.as_deref().and_then(|cluster| cluster.groups.get(group));
        state.is_some_and(|state| state.machine.role() == Role::Active)
    }

    /// Granted, and no service goes before the others.
    pub(super) fn give_group(&mut self, group: usize, to: Node, why: &str) {
        self.charge_host();
        let Some(cluster) = &mut self.cluster else { return };
        let name = cluster.name(to);
        if let Some(state) = cluster.groups.get_mut(group) {
            state.giving = Some(Giving { by: None, to });
        }
        let text = format!("{}: given over to {name}: {why}", self.group_name(group));
        self.say_host(message::Event::Nodes, text);
        self.tell_group(group, Event::GiveOver { to: Some(to) });
    }

    /// May the group go, for one of its services or as a whole, and to whom? `to` is the only one asked for, if one is.
    pub(super) fn ask_arbiter(
        &self,
        group: usize,
        service: Option<usize>,
        by_operator: bool,
        to: Option<&str>,
    ) -> Answer {
        let (boot, now, ending) = (boot_now(), self.now, self.ending);
        let known = service.and_then(|service| self.watches.get(service));
        let online = known.is_none_or(|watch| watch.monitor.status() != Status::Offline);
        let mode_allows = known.is_none_or(|watch| watch.monitor.policy().gives_over());
        let Some(cluster) = self.cluster.as_deref() else { return Answer::NotNow };
        let wait = cluster.plan.limits.wait;
        let nodes = &cluster.plan.nodes;
        // Elsewhere the services do not run, and nothing can be asked of them.
        let judged = cluster.plan.groups.get(group).is_some_and(|plan| plan.everywhere);
        let Some(state) = cluster.groups.get(group) else { return Answer::NotNow };
        let active = state.machine.role() == Role::Active;
        let mut candidates: Vec<(u8, Candidate)> = Vec::new();
        for (plan, number) in nodes.iter().zip(0..) {
            let node = Node(number);
            let other = node != cluster.me && !plan.witness;
            if !other || to.is_some_and(|to| *to != *plan.name) {
                continue;
            }
            let member = state.machine.member(node);
            let up = member
                .is_some_and(|member| member.lives(boot, wait) && member.role() == Role::Standby);
            let vetoes = judged && member.is_some_and(|member| member.life() == 0);
            candidates.push((plan.priority, Candidate { node, up, vetoes }));
        }
        candidates.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
        let candidates: Vec<Candidate> = candidates.into_iter().map(|(_, it)| it).collect();
        let request = Request {
            online_here: active && online,
            mode_allows,
            suspended: false,
            moving: ending
                || state.stopping.is_some()
                || state.giving.is_some()
                || active && !state.carrier.is_up(),
            by_operator,
            candidates: &candidates,
        };
        // Being asked changes nothing in it.
        let mut arbiter = state.arbiter.clone();
        arbiter.handle(Ask::Asked(request), now).unwrap_or(Answer::NotNow)
    }

    /// Granted: the monitor that asked ends, and the group is let go in good order.
    fn give(&mut self, group: usize, service: usize, ticket: Ticket, to: Node) {
        self.charge_host();
        let Some(cluster) = &mut self.cluster else { return };
        let name = cluster.name(to);
        if let Some(state) = cluster.groups.get_mut(group) {
            state.giving = Some(Giving { by: Some((service, ticket)), to });
        }
        self.enter_stopping(service, ticket);
        self.say(service, message::Event::Granted, words::granted(&name));
        self.feed(service, Fed::GiveoverDone { ticket, outcome: GiveoverOutcome::Granted });
        self.tell_group(group, Event::GiveOver { to: Some(to) });
    }

    /// What was held here is gone, or could not be let go: who asked for it is told.
    pub(super) fn group_released(&mut self, group: usize, ok: bool) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        let me = cluster.me;
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let giving = state.giving.take();
        let waits = std::mem::take(&mut state.waits);
        let name = cluster.plan.groups.get(group).map_or(String::new(), |it| it.name.clone());
        for client in waits {
            let text = match ok {
                true => format!("{name}: given over"),
                false => format!("{name}: not given over: it is not proven stopped here"),
            };
            self.reply(
                client,
                &crate::report::model::Reply { exit: u8::from(!ok), lines: vec![text] },
            );
        }
        let Some(Giving { by, to }) = giving else { return };
        let Some((service, ticket)) = by else {
            if ok {
                self.note_gave_over(group, me, now);
            }
            return;
        };
        if !ok {
            let cause = Cause::new(Phase::Exit, Cause::UNKNOWN);
            let why = "the group could not be proven stopped";
            return self.aborted(service, ticket, false, cause, why);
        }
        self.leave_board_handover(service);
        self.note_gave_over(group, me, now);
        let to = self.cluster.as_deref().map_or(String::new(), |cluster| cluster.name(to));
        self.answer_operator(service, Wanted::Giveover, Ok(&format!("given over to {to}")));
    }

    /// `from` gave the group over: it is no destination for a while. Kept with its first service.
    pub(super) fn note_gave_over(&mut self, group: usize, from: Node, now: Instant) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        state.arbiter.handle(Ask::GaveOver { from }, now);
        let service = state.first();
        if let Some(watch) = service.and_then(|service| self.watches.get(service)) {
            self.journal.note(now, Note::GaveOver { machine: watch.machine, from });
        }
    }

    /// What the journal had of that.
    pub(super) fn restore_gave_over(&mut self) {
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        for state in &mut cluster.groups {
            let first = state.first().and_then(|service| self.watches.get(service));
            let known = first.and_then(|watch| self.journal.ledger().service(watch.machine));
            for (from, at) in known.into_iter().flat_map(|known| known.gave_over()) {
                state.arbiter.handle(Ask::GaveOver { from: *from }, *at);
            }
        }
    }

    fn denial_words(&self, denial: &giveover_core::arbiter::Denial) -> String {
        let name = |node| self.cluster.as_deref().map_or(String::new(), |it| it.name(node));
        match denial {
            giveover_core::arbiter::Denial::PingPong { node, ago_s, left_s } => {
                format!("ping-pong, {} gave it over {ago_s} s ago, {left_s} s left", name(*node))
            }
            other => other.to_string(),
        }
    }

    /// The same in words for people who ask for the whole group.
    pub(super) fn denied_words(&self, answer: &Answer) -> String {
        match answer {
            Answer::Denied(denial) => format!("denied: {}", self.denial_words(denial)),
            Answer::NotNow | Answer::Granted(_) => {
                "not now: a move or an election is under way".to_owned()
            }
        }
    }
}
