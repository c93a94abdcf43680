//! Pools are made, at the start and by a reload; what is known of their members goes along.

use std::collections::HashMap;

use giveover_core::pool::Drain;
use giveover_core::pool::{Pool, Setup, Start};

use super::outward::Drivers;
use super::{MemberState, PoolState};
use crate::config::plan::{MemberPlan, Plan, PoolPlan};
use crate::daemon::Daemon;
use crate::daemon::watch::{CheckState, HeldBy};
use crate::journal::MemberNote;
use crate::message;

/// What is known of a member.
type Known = HashMap<String, (u32, MemberNote)>;

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
        let plans = std::mem::take(&mut self.plan.pools);
        for plan in &plans {
            let pool = self.make_pool(plan, &mut known);
            self.pools.list.push(pool);
        }
        self.plan.pools = plans;
        for (number, _) in known.into_values() {
            self.journal.forget(now, number);
        }
    }

    fn make_pool(&mut self, plan: &PoolPlan, known: &mut Known) -> PoolState {
        let now = self.now;
        let mut members = Vec::with_capacity(plan.members.len());
        let mut setups = Vec::with_capacity(plan.members.len());
        for member in &plan.members {
            let name = format!("{}/{}", plan.name, member.name);
            let found = known.remove(&name);
            let is_known = found.is_some();
            let (number, note) = found.unwrap_or_else(|| {
                let number = self.journal.name(now, &name.as_str().into());
                (number, MemberNote::default())
            });
            setups.push(setup(member, &note, is_known));
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
        let pages: Vec<_> = plans().filter_map(|plan| plan.none_left.as_ref()).cloned().collect();
        let mut serving = Vec::with_capacity(pages.len());
        for plan in pages {
            let (served, trouble) = super::talk::serving(&plan);
            serving.push((plan.listen, served));
            if let Some(text) = trouble {
                self.say_host(message::Event::PoolDriver, text);
            }
        }
        failed.extend(self.pools.pages.serve(&mut self.reactor, serving));
        for (address, error) in failed {
            let text = format!("{address} cannot be listened on: {error}");
            self.say_host(message::Event::PoolDriver, text);
        }
    }

    /// After a reload: pools whose plan is the same go on as they are, others are made anew with
    /// what is known of their members.
    pub(in crate::daemon) fn exchange_pools(&mut self, before: &Plan) {
        self.end_pool_errands();
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
                known.insert(format!("{}/{}", plan.name, member.name), (state.number, state.noted));
            }
        }
        let plans = std::mem::take(&mut self.plan.pools);
        let mut fresh = Vec::new();
        for (place, plan) in plans.iter().enumerate() {
            let state = match kept.remove(&*plan.name) {
                Some(state) => PoolState { armed: None, ..state },
                None => {
                    fresh.push(place);
                    self.make_pool(plan, &mut known)
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
    }
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
    Setup { backup: plan.backup, start, drain }
}
