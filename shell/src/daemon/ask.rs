//! Asking what is no service: a member of a pool, or a node as a group asks it.

use giveover_core::failure::{Cause, Phase, ProbeResult};

use super::Daemon;
use crate::check::command::Command;
use crate::check::{Answer, Checks as _, ProbeId};
use crate::config::dollar::Values;
use crate::config::plan::{CheckPlan, Kind};

/// So many answers come of a check that asks addresses or runs a program.
pub(super) fn answers_of(check: &CheckPlan) -> u8 {
    check.targets.len().clamp(1, usize::from(u8::MAX)) as u8
}

/// Whether `id` is of one that is asked so.
pub(super) fn is_asked(id: ProbeId) -> bool {
    ProbeId::member(id.service).is_some() || ProbeId::group(id.service).is_some()
}

impl Daemon {
    /// Begins the check of `id` at each of its targets; every answer comes to [`Daemon::take`].
    pub(super) fn ask(&mut self, id: ProbeId) {
        let now = self.now;
        let Some(check) = self.plan.check(id) else { return };
        if let Kind::Command(_) = check.kind {
            return self.ask_program(id);
        }
        if check.targets.is_empty() {
            return self.cannot_ask(id, Phase::Resolve);
        }
        for target in 0..answers_of(check) {
            self.prober.start(&mut self.reactor, &self.plan, ProbeId { target, ..id }, now);
        }
    }

    /// A check that is a command. Its program is made ready once.
    fn ask_program(&mut self, id: ProbeId) {
        let now = self.now;
        let Some(check) = self.plan.check(id) else { return };
        let Kind::Command(command) = &check.kind else { return };
        let key = (id.service, id.check, id.target);
        if !self.programs.contains_key(&key) {
            let who = self.who_is_asked(id);
            let values = Values {
                service: who.of.as_deref(),
                check: Some(&check.name),
                node: who.node.as_deref(),
                member: who.member.as_deref(),
                address: who.address.as_deref(),
                ..Values::default()
            };
            let environment = self.reactor.children.environment();
            let Ok(made) = Command::new(command, &check.weights, &values, environment) else {
                return self.cannot_ask(id, Phase::Exit);
            };
            self.programs.insert(key, made);
        }
        if let Some(command) = self.programs.get_mut(&key) {
            self.commands.start(&mut self.reactor, id, command, check.timeout, now);
        }
    }

    fn cannot_ask(&mut self, id: ProbeId, phase: Phase) {
        let result = ProbeResult::CannotMeasure(Cause::of_check(id.check, phase, 0));
        self.take(Answer { id, result, elapsed_ms: 0, shown: 0 });
    }

    fn who_is_asked(&self, id: ProbeId) -> Who {
        if let Some((pool, member)) = ProbeId::member(id.service) {
            let plan = self.plan.pools.get(pool);
            let of_member = plan.and_then(|plan| plan.members.get(member));
            return Who {
                of: plan.map(|plan| plan.name.to_string()),
                node: Some(self.plan.host.node.clone()),
                member: of_member.map(|it| it.name.to_string()),
                address: of_member.map(|it| it.authority()),
            };
        }
        let cluster = self.plan.cluster.as_deref();
        let asked = ProbeId::group(id.service).zip(cluster);
        let group = asked.and_then(|((group, _), plan)| plan.groups.get(group));
        let node = asked.and_then(|((_, node), plan)| plan.nodes.get(usize::from(node.0)));
        let host = node.map(|node| node.host.to_string());
        Who {
            of: group.map(|group| group.name.clone()),
            node: host.clone(),
            member: None,
            address: host,
        }
    }
}

/// What a program is told of whom it asks.
struct Who {
    /// The pool or the group.
    of: Option<String>,
    node: Option<String>,
    member: Option<String>,
    address: Option<String>,
}
