//! A member's cycle: begin its checks, gather their answers, make the one verdict.

use giveover_core::failure::ProbeResult;
use giveover_core::ladder::{Checks, Ladder, Round, Step};
use giveover_core::monitor;
use giveover_core::pool::{Event, Ticket};

use super::{probe_id, whose};
use crate::check::{Answer, ProbeId};
use crate::config::plan::{CheckPlan, Kind, MemberPlan, PoolPlan};
use crate::daemon::Daemon;
use crate::daemon::ask::answers_of;
use crate::daemon::once::ONCE;

/// The order of a pool's checks.
fn ladder<'p>(plan: &'p PoolPlan, member: &MemberPlan) -> Ladder<'p> {
    let count = member.checks.len().min(usize::from(Checks::MOST)) as u8;
    let mut beside = Checks::first(count);
    for rung in &plan.ladder {
        beside = beside.without(*rung);
    }
    let mut observed = Checks::NONE;
    for (place, check) in (0..Checks::MOST).zip(member.checks.iter()) {
        if check.observe {
            observed = observed.with(place);
        }
    }
    Ladder { rungs: &plan.ladder, beside, observed, combine: PoolPlan::COMBINE }
}

impl Daemon {
    /// Begins the cycle of `ticket`.
    pub(super) fn begin_member(&mut self, pool: usize, member: usize, ticket: Ticket) {
        let now = self.now;
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let Some(of_member) = plan.members.get(member) else { return };
        let state = self.pools.list.get_mut(pool).and_then(|it| it.members.get_mut(member));
        let Some(state) = state else { return };
        state.cycle = state.cycle.wrapping_add(1) & !ONCE;
        let mut due = Checks::NONE;
        for (place, (check, known)) in of_member.checks.iter().zip(&mut state.checks).enumerate() {
            known.not_evaluated = false;
            if matches!(check.kind, Kind::Agent(_)) {
                continue; // it speaks by itself, and has a layer of its own
            }
            if known.is_due(check, now) {
                due = due.with(place as u8);
            }
        }
        let (round, step) = Round::begin(&ladder(plan, of_member), due);
        state.round = Some((ticket, round));
        self.listen_to_member(pool, member);
        self.follow_member(pool, member, step);
    }

    /// Once a cycle: the agent of a member can be heard, or its silence says nothing of it.
    fn listen_to_member(&mut self, pool: usize, member: usize) {
        let plan = self.plan.pools.get(pool).and_then(|plan| plan.members.get(member));
        let Some(plan) = plan else { return };
        let is_agent = |check: &CheckPlan| matches!(check.kind, Kind::Agent(_));
        let Some(place) = plan.checks.iter().position(is_agent) else { return };
        let id = probe_id(pool, member, place as u8, 0);
        match self.deaf_to(id) {
            Some(why) => {
                self.has_trouble(pool, "agents", why);
                self.feed_pool(pool, Event::Deaf);
            }
            None => self.is_well(pool, "agents"),
        }
        self.show_agent(pool, member, place as u8);
    }

    /// The agent of a member has said something that counts.
    pub(in crate::daemon) fn member_reported(&mut self, pool: usize, member: usize, place: u8) {
        self.show_agent(pool, member, place);
        let plan = self.plan.pools.get(pool).and_then(|plan| plan.members.get(member));
        if plan.and_then(MemberPlan::agent).is_none_or(|(agent, _)| agent != place) {
            return; // it is only shown
        }
        let id = probe_id(pool, member, place, 0);
        if let Some((load, failed)) = self.reported(id) {
            self.feed_pool(pool, Event::Agent { member: member as u8, load, failed });
        }
    }

    /// How the check of an agent stands, for those who look.
    fn show_agent(&mut self, pool: usize, member: usize, place: u8) {
        let now = self.now;
        let (result, shown) = self.agent_outcome(ProbeId::of_member(pool, member), place);
        let state = self.member_state_mut(pool, member);
        if let Some(known) = state.and_then(|it| it.checks.get_mut(usize::from(place))) {
            known.result = Some(result);
            known.at = now;
            known.shown = shown;
        }
    }

    fn follow_member(&mut self, pool: usize, member: usize, step: Step) {
        for place in step.begin.iter() {
            self.begin_member_check(pool, member, place);
        }
        if let Some(verdict) = step.verdict {
            self.end_member(pool, member, verdict);
        }
    }

    fn begin_member_check(&mut self, pool: usize, member: usize, place: u8) {
        let plan = self.plan.pools.get(pool).and_then(|plan| plan.members.get(member));
        let check = plan.and_then(|plan| plan.checks.get(usize::from(place)));
        let state = self.pools.list.get_mut(pool).and_then(|it| it.members.get_mut(member));
        let (Some(check), Some(state)) = (check, state) else { return };
        let id = probe_id(pool, member, place, state.cycle);
        let Some(known) = state.checks.get_mut(usize::from(place)) else { return };
        known.begin(answers_of(check));
        self.ask(id);
    }

    /// Takes the answer of a probe of a member. One of an earlier cycle is late, and nothing.
    pub(in crate::daemon) fn take_of_pool(&mut self, answer: &Answer) {
        let now = self.now;
        let Some((pool, member)) = whose(answer.id) else { return };
        if answer.id.cycle & ONCE != 0 {
            return self.take_once(answer.clone());
        }
        let state = self.pools.list.get_mut(pool).and_then(|it| it.members.get_mut(member));
        let Some(state) = state else { return };
        if state.cycle != answer.id.cycle || state.round.is_none() {
            return;
        }
        let place = answer.id.check;
        let Some(known) = state.checks.get_mut(usize::from(place)) else { return };
        let Some(result) = known.hear(answer, now) else { return };
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let Some(of_member) = plan.members.get(member) else { return };
        let Some((_, round)) = &mut state.round else { return };
        let step = round.answer(&ladder(plan, of_member), place, result);
        self.follow_member(pool, member, step);
    }

    fn end_member(&mut self, pool: usize, member: usize, verdict: ProbeResult) {
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let Some(of_member) = plan.members.get(member) else { return };
        let state = self.pools.list.get_mut(pool).and_then(|it| it.members.get_mut(member));
        let Some(state) = state else { return };
        let Some((ticket, round)) = state.round.take() else { return };
        let ladder = ladder(plan, of_member);
        for (place, known) in state.checks.iter_mut().enumerate() {
            known.not_evaluated = round.not_evaluated(&ladder, place as u8);
        }
        let member = member as u8;
        self.feed_pool(pool, Event::Probed { member, ticket, result: verdict });
    }

    /// Trusted servers have been asked: pools hear of it.
    pub(in crate::daemon) fn tell_pools_trusted(&mut self) {
        let (answering, total) = self.trusted();
        if total == 0 {
            return;
        }
        for pool in 0..self.pools.list.len() {
            self.feed_pool(pool, Event::Trusted { answering: answering > 0 });
        }
    }

    /// A pool wants to know at once.
    pub(super) fn ask_trusted(&mut self) {
        let service = self.shown();
        if self.watches.get(service).is_some_and(|it| it.monitor.probe_under_way().is_none()) {
            self.feed(service, monitor::Event::ProbeNow);
        }
    }
}
