//! Fills the model of pools that screens and machines are shown.

use giveover_core::pool::{Blind, Face, NoneLeft};

use super::{MemberState, PoolState};
use crate::check::{Checks as _, ProbeId};
use crate::config::plan::{Kind, MemberPlan, PoolPlan};
use crate::daemon::Daemon;
use crate::daemon::watch::CheckState;
use crate::report::found;
use crate::report::model::{CheckDoc, HeldDoc, MemberDoc, PoolDoc};

impl Daemon {
    pub(in crate::daemon) fn pool_docs(&self) -> Vec<PoolDoc> {
        let pools = self.plan.pools.iter().zip(&self.pools.list).enumerate();
        pools.map(|(place, (plan, state))| self.pool_doc(place, plan, state)).collect()
    }

    fn pool_doc(&self, pool: usize, plan: &PoolPlan, state: &PoolState) -> PoolDoc {
        let members = plan.members.iter().zip(&state.members).enumerate();
        PoolDoc {
            name: plan.name.to_string(),
            takes_work: state.machine.members().iter().filter(|it| it.face().takes_work()).count()
                as u32,
            min_members: state.machine.settings().min_members,
            none_left: state.machine.none_left().map(|why| match why {
                NoneLeft::NobodyIn => "nobody_in".to_owned(),
                NoneLeft::AllBusy => "all_busy".to_owned(),
            }),
            frozen: state.machine.frozen().map(|why| match why {
                Blind::NothingMeasured => "nothing_measured".to_owned(),
                Blind::NoTrusted => "no_trusted".to_owned(),
            }),
            told: ways(plan),
            trouble: state.drivers.trouble(),
            members: members
                .map(|(place, (plan, known))| self.member_doc(state, (pool, place), plan, known))
                .collect(),
        }
    }

    fn member_doc(
        &self,
        pool: &PoolState,
        (of, place): (usize, usize),
        plan: &MemberPlan,
        known: &MemberState,
    ) -> MemberDoc {
        let (now, id) = (self.now, ProbeId::of_member(of, place));
        let Some(member) = pool.machine.members().get(place) else { return MemberDoc::default() };
        let weight = match member.face() {
            Face::In { weight } => Some(weight),
            _ => None,
        };
        MemberDoc {
            name: plan.name.to_string(),
            address: plan.authority(),
            backup: plan.backup,
            state: member.face().word().to_owned(),
            why: known.reason.clone(),
            weight,
            load: member.load(),
            busy: member.is_busy(),
            kept: member.is_kept(),
            health: member.health(pool.machine.settings()),
            late: member.late(),
            since: self.clock.wall(member.since()),
            for_ms: now.since(member.since()),
            drained: known.drained.as_ref().map(|held| HeldDoc {
                by: "operator".to_owned(),
                who: Some(held.who.clone()),
                why: held.why.clone(),
                since: self.clock.wall(held.since),
                until: held.until.map(|until| self.clock.wall(until)),
            }),
            cycles: member.marks().map(|healthy| if healthy { '.' } else { 'x' }).collect(),
            checks: (0..)
                .zip(&known.checks)
                .filter_map(|(check, state)| self.member_check_doc(id, check, state))
                .collect(),
        }
    }

    /// A check of the member that `service` stands for.
    pub(in crate::daemon) fn member_check_doc(
        &self,
        service: u32,
        number: u8,
        state: &CheckState,
    ) -> Option<CheckDoc> {
        let check = self.plan.check(ProbeId { service, check: number, target: 0, cycle: 0 })?;
        let at = state.result.map(|_| self.clock.wall(state.at)).unwrap_or_default();
        let mut doc = found::check_doc(check, state.result, state.shown, state.ms, at);
        if matches!(check.kind, Kind::Agent(_)) {
            let mut parts = vec![doc.cause, self.agent_words(service, number)];
            parts.retain(|part| !part.is_empty());
            doc.cause = parts.join("; ");
        }
        if state.not_evaluated {
            let outcome = "not_evaluated".to_owned();
            doc = CheckDoc { outcome, weight: None, phase: None, ..doc };
        }
        Some(doc)
    }
}

/// Who is told of the members.
fn ways(plan: &PoolPlan) -> Vec<String> {
    let mut ways = Vec::new();
    ways.extend(plan.agent.map(|at| format!("agent checks at {at}")));
    ways.extend(plan.haproxy.as_ref().map(|it| format!("haproxy at {}", it.socket.display())));
    ways.extend(plan.nft.as_ref().map(|it| format!("nft table {} {}", it.family, it.table)));
    ways.extend(plan.ipvs.map(|at| format!("ipvs service {at}")));
    ways.extend(plan.command.as_ref().and_then(|it| it.first()).map(|it| format!("command {it}")));
    ways
}
