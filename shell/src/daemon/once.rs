//! `giveover probe SERVICE[/CHECK]`, of a pool's member or a node as well: its checks once, counting nothing.

use giveover_core::failure::ProbeResult;
use giveover_core::node::Node;

use super::Daemon;
use super::ask::is_asked;
use super::control::ClientId;
use super::watch::CheckState;
use crate::check::{Answer, Checks as _, ProbeId};
use crate::config::plan::{CheckPlan, Kind};

/// Marks the cycles of such probes; those of monitors count below it.
pub(super) const ONCE: u32 = 1 << 31;

/// One request under way.
pub(super) struct Once {
    client: ClientId,
    cycle: u32,
    /// A service, a member of a pool, or a node as a group asks it: as in [`ProbeId`].
    service: u32,
    /// Check and what it has found so far.
    checks: Vec<(u8, CheckState)>,
}

impl Daemon {
    /// Begins the checks of `service` that are asked for; the answer is sent when all have ended.
    pub(super) fn probe_once(&mut self, client: ClientId, service: &str, check: Option<&str>) {
        let (place, check) = match self.asked_of(service, check) {
            Ok(found) => found,
            Err(why) => return self.refuse(client, 404, &why),
        };
        let now = self.now;
        let wanted = self.checks_of(place).iter().enumerate();
        let wanted = wanted.filter(|(_, found)| check.is_none_or(|check| *found.name == *check));
        let checks: Vec<(u8, CheckState)> =
            wanted.map(|(place, _)| (place as u8, CheckState::new(now))).collect();
        if let (Some(check), true) = (check, checks.is_empty()) {
            return self.refuse(client, 404, &format!("{service} has no check named {check}"));
        }
        self.once_made = self.once_made.wrapping_add(1);
        let cycle = ONCE | self.once_made;
        let places: Vec<u8> = checks.iter().map(|(place, _)| *place).collect();
        self.once.push(Once { client, cycle, service: place, checks });
        for check in places {
            self.begin_once(ProbeId { service: place, check, target: 0, cycle });
        }
        self.settle_once(cycle);
    }

    /// Whose checks are meant, and which of them: SERVICE[/CHECK], POOL/MEMBER[/CHECK] or
    /// GROUP/NODE[/CHECK]. A check of a service goes before a member, and a member before a node.
    fn asked_of<'c>(
        &self,
        name: &str,
        rest: Option<&'c str>,
    ) -> Result<(u32, Option<&'c str>), String> {
        let (part, check) = match rest.map(|rest| rest.split_once('/')) {
            Some(Some((part, check))) => (Some(part), Some(check)),
            Some(None) => (rest, None),
            None => (None, None),
        };
        let service = self.find(name);
        let is_check = |service: &usize| {
            let checks = &self.plan.services[*service].checks;
            rest.is_none_or(|rest| checks.iter().any(|it| *it.name == *rest))
        };
        if let Some(service) = service.filter(is_check) {
            return Ok((service as u32, rest));
        }
        match part.and_then(|part| self.part_of(name, part)) {
            Some(part) => Ok((part, check)),
            None => service
                .map(|service| (service as u32, rest))
                .ok_or_else(|| self.why_nobody(name, part)),
        }
    }

    /// What stands for the member of that name in the pool `name`, or for the node in the group
    /// `name` that has checks of it.
    fn part_of(&self, name: &str, part: &str) -> Option<u32> {
        let pool = self.plan.pools.iter().position(|pool| *pool.name == *name);
        let member = pool.and_then(|pool| {
            self.plan.pools.get(pool)?.find(part).map(|member| ProbeId::of_member(pool, member))
        });
        member.or_else(|| {
            let plan = self.plan.cluster.as_deref()?;
            let group = plan.groups.iter().position(|group| group.name == name)?;
            let node = plan.nodes.iter().position(|node| node.name == part)?;
            let checks = plan.groups.get(group)?.checks.get(node)?;
            let of_node = ProbeId::of_group(group, Node(u8::try_from(node).ok()?));
            (!checks.is_empty()).then_some(of_node)
        })
    }

    fn why_nobody(&self, name: &str, part: Option<&str>) -> String {
        let cluster = self.plan.cluster.as_deref();
        let has = |part: &str| {
            cluster.is_some_and(|plan| plan.nodes.iter().any(|node| node.name == *part))
        };
        let is_pool = self.plan.pools.iter().any(|pool| *pool.name == *name);
        let is_group =
            cluster.is_some_and(|plan| plan.groups.iter().any(|group| group.name == name));
        match (is_pool, is_group, part) {
            (true, _, Some(member)) => format!("pool {name} has no member {member}"),
            (true, _, None) => format!("{name} is a pool: its members are {name}/NAME"),
            (_, true, Some(node)) if has(node) => format!("group {name} has no checks of {node}"),
            (_, true, Some(node)) => format!("group {name} has no node {node}"),
            (_, true, None) => format!("{name} is a group: its nodes are {name}/NAME"),
            (false, false, _) => format!("no service is named {name}"),
        }
    }

    fn checks_of(&self, service: u32) -> &[CheckPlan] {
        if let Some((pool, member)) = ProbeId::member(service) {
            let plan = self.plan.pools.get(pool).and_then(|plan| plan.members.get(member));
            return plan.map_or(&[], |plan| &plan.checks);
        }
        if let Some((group, node)) = ProbeId::group(service) {
            let plan = self.plan.cluster.as_deref().and_then(|plan| plan.groups.get(group));
            let checks = plan.and_then(|plan| plan.checks.get(usize::from(node.0)));
            return checks.map_or(&[], |checks| checks);
        }
        self.plan.services.get(service as usize).map_or(&[], |plan| &plan.checks)
    }

    fn begin_once(&mut self, id: ProbeId) {
        self.with_once(id, |state| state.pending = 1);
        if is_asked(id) || self.settle_instance(id) {
            self.begin_once_settled(id);
        }
    }

    /// Whether somebody still waits for the probe `id`.
    pub(super) fn is_asked_once(&self, id: ProbeId) -> bool {
        self.once.iter().any(|once| once.cycle == id.cycle)
    }

    /// Begins the probe `id`, once it is known whom and how it asks.
    pub(super) fn begin_once_settled(&mut self, id: ProbeId) {
        let now = self.now;
        let Some(check) = self.plan.check(id) else { return };
        let targets = match check.kind {
            Kind::Command(_) | Kind::Process | Kind::Agent(_) | Kind::State(_) => 1,
            Kind::Database(ref plan) if !plan.asks_address() => 1,
            Kind::Tcp { .. }
            | Kind::Http(_)
            | Kind::Xfnts { .. }
            | Kind::Talk(_)
            | Kind::Tls(_)
            | Kind::Hello(_)
            | Kind::Remote(_)
            | Kind::Database(_) => check.targets.len().min(usize::from(u8::MAX)) as u8,
        };
        let kind = check.kind.clone();
        self.with_once(id, |state| state.pending = targets);
        match kind {
            Kind::Process => {
                let result = self.look_at_process(id.service as usize, id.check);
                self.take_once(Answer { id, result, elapsed_ms: 0, shown: 0 });
            }
            Kind::Command(_) if is_asked(id) => self.ask(id),
            Kind::Command(_) => self.begin_program(id),
            Kind::Database(_) if targets > 0 => self.ask_database(id, true),
            Kind::Database(_) => {}
            Kind::State(_) => self.begin_look(id),
            Kind::Agent(_) => self.answer_agent(id),
            Kind::Tcp { .. }
            | Kind::Http(_)
            | Kind::Xfnts { .. }
            | Kind::Talk(_)
            | Kind::Tls(_)
            | Kind::Hello(_)
            | Kind::Remote(_) => {
                for target in 0..targets {
                    let id = ProbeId { target, ..id };
                    self.prober.start(&mut self.reactor, &self.plan, id, now);
                }
            }
        }
    }

    fn with_once(&mut self, id: ProbeId, change: impl FnOnce(&mut CheckState)) {
        let once = self.once.iter_mut().find(|once| once.cycle == id.cycle);
        let checks = once.map(|once| &mut once.checks);
        let state =
            checks.and_then(|checks| checks.iter_mut().find(|(check, _)| *check == id.check));
        if let Some((_, state)) = state {
            change(state);
        }
    }

    /// An answer to such a probe.
    pub(super) fn take_once(&mut self, answer: Answer) {
        let now = self.now;
        self.with_once(answer.id, |state| {
            state.take(answer.result);
            state.at = now;
            state.ms = state.ms.max(answer.elapsed_ms);
            state.shown = answer.shown;
            if state.pending == 0 {
                state.result = state.worst.or(Some(ProbeResult::Void));
            }
        });
        self.settle_once(answer.id.cycle);
    }

    /// Answers the client once every check has ended.
    pub(super) fn settle_once(&mut self, cycle: u32) {
        let ended = |once: &Once| once.checks.iter().all(|(_, state)| state.pending == 0);
        let place = self.once.iter().position(|once| once.cycle == cycle && ended(once));
        let Some(once) = place.map(|place| self.once.swap_remove(place)) else { return };
        if ProbeId::member(once.service).is_some() {
            let docs = once
                .checks
                .iter()
                .filter_map(|(check, state)| self.member_check_doc(once.service, *check, state));
            let docs: Vec<_> = docs.collect();
            return self.answer_json(once.client, &docs);
        }
        if ProbeId::group(once.service).is_some() {
            let checks = self.checks_of(once.service);
            let docs = once.checks.iter().filter_map(|(check, state)| {
                Some(self.group_check_doc(checks.get(usize::from(*check))?, state))
            });
            let docs: Vec<_> = docs.collect();
            return self.answer_json(once.client, &docs);
        }
        let place = once.service as usize;
        let plan = &self.plan.services[place];
        let docs: Vec<_> = once
            .checks
            .iter()
            .filter_map(|(check, state)| {
                let check = plan.checks.get(usize::from(*check))?;
                Some(self.check_doc(plan, self.watches.get(place)?, (check, state)))
            })
            .collect();
        self.answer_json(once.client, &docs);
    }
}
