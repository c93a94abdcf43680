//! Pools are made, at the start and by a reload; what is known of their members goes along.

use std::collections::{HashMap, HashSet};

use giveover_core::pool::{Drain, Face};
use giveover_core::pool::{Pool, Setup, Start};
use giveover_core::time::Span;

use super::outward::Drivers;
use super::{MemberState, PoolState};
use crate::config::plan::{Host, MemberPlan, Plan, PoolPlan};
use crate::daemon::Daemon;
use crate::daemon::watch::{CheckState, HeldBy};
use crate::journal::MemberNote;
use crate::message::pool as words;
use crate::pool::{Part, token};

/// What is known of a member.
type Known = HashMap<String, (u32, MemberNote)>;

/// What could not be listened on, and a page that could not be read, are tried again after this.
const AGAIN: Span = Span::from_secs(5);

/// `web/a`
fn name_of(plan: &PoolPlan, member: &MemberPlan) -> String {
    format!("{}/{}", plan.name, member.name)
}

impl Daemon {
    /// Makes the pools of the plan; what the journal knows of their members is so.
    pub(in crate::daemon) fn make_pools(&mut self) {
        let now = self.now;
        let members = self.journal.ledger().services().filter(|(_, it)| it.name.contains('/'));
        let mut known: Known = members
            .map(|(number, it)| {
                let note = it.member().cloned().unwrap_or_default();
                (it.name.to_string(), (number, note))
            })
            .collect();
        let out = known.iter().filter(|(_, (_, note))| note.out).map(|(name, _)| name.clone());
        let failed: HashSet<String> = out.collect();
        let plans = std::mem::take(&mut self.plan.pools);
        for plan in &plans {
            let pool = self.make_pool(plan, &plans, &mut known, &failed);
            self.pools.list.push(pool);
        }
        self.plan.pools = plans;
        for (number, _) in known.into_values() {
            self.journal.forget(now, number);
        }
    }

    /// `failed`: members of any pool whose own fault is known.
    fn make_pool(
        &mut self,
        plan: &PoolPlan,
        all: &[PoolPlan],
        known: &mut Known,
        failed: &HashSet<String>,
    ) -> PoolState {
        let now = self.now;
        let mut members = Vec::with_capacity(plan.members.len());
        let mut setups = Vec::with_capacity(plan.members.len());
        for member in &plan.members {
            let name = name_of(plan, member);
            let elsewhere = plan.whole_server && is_down_elsewhere(&name, member, all, failed);
            let found = known.remove(&name);
            let is_known = found.is_some();
            let (number, note) = found.unwrap_or_else(|| {
                let number = self.journal.name(now, &name.as_str().into());
                (number, MemberNote::default())
            });
            setups.push(Setup { elsewhere, ..setup(member, &note, is_known) });
            members.push(self.member_state(member, number, note));
        }
        // The plan was judged by the same rules when it was read.
        let machine = Pool::new(plan.settings, &setups, now);
        let machine = machine.unwrap_or_else(|error| unreachable!("{error}"));
        let drivers = Drivers::new(members.len());
        PoolState { machine: Box::new(machine), members, armed: None, drivers }
    }

    fn member_state(&self, plan: &MemberPlan, number: u32, note: MemberNote) -> MemberState {
        let drained = note.drain.as_ref().map(|drain| HeldBy {
            who: drain.who.to_string(),
            why: (!drain.why.is_empty()).then(|| drain.why.to_string()),
            since: self.now,
            until: drain.until,
        });
        MemberState {
            number,
            checks: plan.checks.iter().map(|_| CheckState::new(self.now)).collect(),
            round: None,
            cycle: 0,
            drained,
            noted: note,
            reason: String::new(),
            said: None,
        }
    }

    /// The pools begin: whoever asks is answered, and members are looked at.
    pub(in crate::daemon) fn begin_pools(&mut self) {
        self.open_pools();
        for pool in 0..self.pools.list.len() {
            self.begin_pool(pool);
        }
    }

    /// Listens for agent checks and for those who want a page. Under `--observe` nobody is told.
    pub(in crate::daemon) fn open_pools(&mut self) {
        let observes = self.plan.host.observe;
        let plans = || self.plan.pools.iter().filter(move |_| !observes);
        let mut agents: Vec<_> = plans().filter_map(|plan| plan.agent).collect();
        agents.sort_unstable();
        agents.dedup();
        let mut failed = self.pools.agents.listen(&mut self.reactor, &agents);
        let mut serving = Vec::new();
        let mut unread = Vec::new();
        for (pool, plan) in self.plan.pools.iter().enumerate().filter(|_| !observes) {
            let Some(none_left) = &plan.none_left else { continue };
            let (served, trouble) = super::talk::serving(none_left);
            serving.push((none_left.listen, served));
            unread.extend(trouble.map(|why| (pool, why)));
        }
        failed.extend(self.pools.pages.serve(&mut self.reactor, serving));
        for pool in 0..self.plan.pools.len() {
            let Some(plan) = self.plan.pools.get(pool) else { continue };
            let ours = [plan.agent, plan.none_left.as_ref().map(|it| it.listen)];
            let deaf = failed.iter().find(|(address, _)| ours.contains(&Some(*address)));
            match deaf.map(|(address, error)| format!("{address}: {error}")) {
                Some(why) => self.has_trouble(pool, words::LISTENING, why),
                None => self.is_well(pool, words::LISTENING),
            }
            match unread.iter().find(|(of, _)| *of == pool) {
                Some((_, why)) => self.has_trouble(pool, words::PAGE, why.clone()),
                None => self.is_well(pool, words::PAGE),
            }
        }
        if !(failed.is_empty() && unread.is_empty()) {
            let token = token(Part::Listen, 0, self.reloads);
            self.reactor.timers.arm(token, self.now.after(AGAIN));
        }
    }

    /// After a reload: pools whose plan is the same go on as they are, others are made anew with
    /// what is known of their members.
    pub(in crate::daemon) fn exchange_pools(&mut self, before: &Plan) {
        let mut failed = HashSet::new();
        for (plan, state) in before.pools.iter().zip(&self.pools.list) {
            for (member, known) in plan.members.iter().zip(state.machine.members()) {
                if known.has_failed() {
                    failed.insert(name_of(plan, member));
                }
            }
        }
        let mut old: Vec<Option<PoolState>> =
            std::mem::take(&mut self.pools.list).into_iter().map(Some).collect();
        let place = |name: &str| before.pools.iter().position(|pool| *pool.name == *name);
        let mut kept: HashMap<String, PoolState> = HashMap::new();
        for plan in &self.plan.pools {
            let Some(at) = place(&plan.name) else { continue };
            if before.pools.get(at) == Some(plan) {
                if let Some(state) = old.get_mut(at).and_then(Option::take) {
                    kept.insert(plan.name.to_string(), state);
                }
            }
        }
        let mut known: Known = HashMap::new();
        let rest = before.pools.iter().zip(old);
        for (plan, state) in rest.filter_map(|(plan, state)| Some((plan, state?))) {
            for (member, state) in plan.members.iter().zip(state.members) {
                known.insert(name_of(plan, member), (state.number, state.noted));
            }
        }
        let plans = std::mem::take(&mut self.plan.pools);
        let mut fresh = Vec::new();
        for (place, plan) in plans.iter().enumerate() {
            let state = match kept.remove(&*plan.name) {
                Some(state) => PoolState { armed: None, ..state },
                None => {
                    fresh.push(place);
                    self.make_pool(plan, &plans, &mut known, &failed)
                }
            };
            self.pools.list.push(state);
        }
        self.plan.pools = plans;
        let now = self.now;
        for (number, _) in known.into_values() {
            self.journal.forget(now, number);
        }
        self.open_pools();
        for pool in 0..self.pools.list.len() {
            if fresh.contains(&pool) {
                self.begin_pool(pool);
            } else {
                self.arm_pool(pool);
                self.tell_drivers(pool);
                self.look_again_later(pool);
            }
        }
        // Whose failure took a server along may be in the file no more.
        let members = self.plan.pools.iter().flat_map(|plan| &plan.members);
        let hosts: HashSet<Host> = members.map(|member| member.target.host.clone()).collect();
        hosts.iter().for_each(|host| self.tell_whole_server(host));
    }

    /// What `plan` no longer has and somebody out there still acts on: it stays as it was told, and
    /// nobody will tell it anything else.
    pub(in crate::daemon) fn left_as_told(&self, plan: &Plan) -> Vec<String> {
        let mut lines = Vec::new();
        for (before, state) in self.plan.pools.iter().zip(&self.pools.list) {
            let after = plan.pools.iter().find(|it| it.name == before.name);
            for (member, known) in before.members.iter().zip(state.machine.members()) {
                let kept = after.is_some_and(|it| it.find(&member.name).is_some());
                if !kept && !matches!(known.face(), Face::In { .. } | Face::Standby) {
                    lines.push(words::left(&name_of(before, member), known.face().word()));
                }
            }
        }
        lines
    }
}

/// Whether another service of the member's server has failed.
fn is_down_elsewhere(
    name: &str,
    member: &MemberPlan,
    all: &[PoolPlan],
    failed: &HashSet<String>,
) -> bool {
    let members = all.iter().flat_map(|plan| plan.members.iter().map(move |it| (plan, it)));
    let same = members.filter(|(_, it)| it.target.host == member.target.host);
    same.map(|(plan, it)| name_of(plan, it)).any(|other| other != name && failed.contains(&other))
}

fn setup(plan: &MemberPlan, note: &MemberNote, is_known: bool) -> Setup {
    let drain = note.drain.as_ref().map(|drain| Drain {
        until: drain.until,
        cut_at: note.cut_at,
        has_cut: false,
    });
    let start = match (is_known, note.out) {
        (false, _) => Start::Unknown,
        (true, false) => Start::In,
        (true, true) => Start::Out,
    };
    Setup { backup: plan.backup, start, drain, elsewhere: false }
}
