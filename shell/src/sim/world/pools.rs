//! Pools in a world: the machine of `core::pool` for each, members that do their work or not, agents
//! that report it, and a balancer that hears of every face at once.
//!
//! Members stand outside of the host: what is cut off with the host's network is our view of them.

mod judge;

use std::collections::VecDeque;
use std::sync::Arc;

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::pool::{
    Action, Blind, Drain, Event, Face, NoneLeft, Pool, Setup, Start, Ticket, Why,
};
use giveover_core::time::Instant;
use giveover_core::weight::Weight;

use super::Play;
use super::clock::Clock;
use super::outcome::PoolFigures;
use super::service::NEVER;
use crate::config::world::{MemberDoes, PoolPlan};
use crate::sim::timeline::PoolLane;

/// What agents say of a member that has something to do, and of one that is full.
const LOAD: u8 = 30;
const FULL: u8 = 100;

pub(super) struct PoolPart {
    pool: Pool,
    members: Vec<Member>,
    /// When the machine wants to be woken.
    timer: u64,
    /// When agents report next.
    reports: u64,
    /// Since when nobody takes work.
    unserved_since: Option<u64>,
    /// When a member was last out of order.
    last_ill: u64,
    pub(super) figures: PoolFigures,
    /// For the picture, in true time.
    pub(super) lane: Option<PoolLane>,
}

/// One member, what is under way about it, and what the balancer was told.
struct Member {
    outlet: Face,
    probe: Option<(Ticket, u64)>,
    /// So many faults do this with it.
    ills: [u32; MemberDoes::ALL.len()],
    /// Since when work goes to it that it does not do.
    misled_since: Option<u64>,
}

impl Member {
    fn has(&self, does: MemberDoes) -> bool {
        self.ills.get(does as usize).is_some_and(|count| *count > 0)
    }

    /// Whether whoever wants something of it gets it.
    fn works(&self) -> bool {
        !self.has(MemberDoes::Fails) && !self.has(MemberDoes::Immediate)
    }
}

impl PoolPart {
    pub(super) fn new(plan: &PoolPlan, record: bool) -> Option<Self> {
        let lane =
            || PoolLane::new(&plan.name, plan.settings.min_members, plan.members.iter().cloned());
        let pool = Pool::new(plan.settings, &plan.setups, Instant::default()).ok()?;
        let member = || Member {
            outlet: Face::Out(Why::Returning),
            probe: None,
            ills: [0; MemberDoes::ALL.len()],
            misled_since: None,
        };
        Some(Self {
            pool,
            members: plan.members.iter().map(|_| member()).collect(),
            timer: NEVER,
            reports: plan.heartbeat.map_or(NEVER, |every| u64::from(every.as_millis())),
            unserved_since: None,
            last_ill: 0,
            figures: PoolFigures::default(),
            lane: record.then(lane),
        })
    }

    /// When something is due about it; all of it is the daemon's, and waits until that runs.
    pub(super) fn next_event(&self, daemon: Option<u64>) -> u64 {
        let Some(from) = daemon else { return NEVER };
        let probes = self.members.iter().filter_map(|member| member.probe.map(|(_, ends)| ends));
        probes.fold(self.timer.min(self.reports), u64::min).max(from)
    }

    pub(super) fn arm(&mut self, clock: &Clock) {
        self.timer = self.pool.poll_timeout().map_or(NEVER, |at| clock.when(at));
    }

    /// Members that the balancer is shown with this face.
    pub(super) fn with(&self, word: &str) -> Vec<usize> {
        let members = self.members.iter().enumerate();
        match word {
            "kept" => {
                let kept = self.pool.members().iter().enumerate();
                kept.filter(|(_, it)| it.is_kept()).map(|(place, _)| place).collect()
            }
            _ => members.filter(|(_, it)| it.outlet.word() == word).map(|it| it.0).collect(),
        }
    }

    pub(super) const fn none_left(&self) -> Option<NoneLeft> {
        self.pool.none_left()
    }

    pub(super) const fn frozen(&self) -> Option<Blind> {
        self.pool.frozen()
    }

    /// Counts what has become of those who want something, since the last time.
    fn count(&mut self, now: u64) {
        let served = self.members.iter().any(|member| member.outlet.takes_work());
        match (served, self.unserved_since) {
            (false, None) => self.unserved_since = Some(now),
            (true, Some(since)) => {
                self.figures.unserved(now - since);
                self.unserved_since = None;
            }
            _ => {}
        }
        for member in &mut self.members {
            let misled = member.outlet.takes_work() && !member.works();
            match (misled, member.misled_since) {
                (true, None) => member.misled_since = Some(now),
                (false, Some(since)) => {
                    self.figures.misled += now - since;
                    member.misled_since = None;
                }
                _ => {}
            }
        }
    }

    /// The end of the world: what lasts still counts.
    pub(super) fn settle(&mut self, now: u64) {
        if let Some(since) = self.unserved_since.take() {
            self.figures.unserved(now - since);
        }
        for since in self.members.iter_mut().filter_map(|member| member.misled_since.take()) {
            self.figures.misled += now - since;
        }
    }
}

impl Play<'_> {
    pub(super) fn pools_begin(&mut self) {
        for place in 0..self.pools.len() {
            self.feed_pool(place, Event::Begin);
            self.pool_hears_trusted(place);
        }
    }

    /// What is due about the pool of this place.
    pub(super) fn pool_due(&mut self, place: usize) {
        let now = self.now;
        let Some(part) = self.pools.get_mut(place) else { return };
        if part.reports <= now {
            let every = self.world.pools.get(place).and_then(|plan| plan.heartbeat);
            let every = every.map_or(NEVER, |every| u64::from(every.as_millis()).max(1));
            part.reports = (now / every + 1).saturating_mul(every);
            return self.agents_report(place);
        }
        let ended = |member: &Member| member.probe.is_some_and(|(_, ends)| ends <= now);
        if let Some(member) = part.members.iter().position(ended) {
            return self.member_probed(place, member);
        }
        if part.timer <= now {
            self.feed_pool(place, Event::Timeout);
        }
    }

    fn agents_report(&mut self, place: usize) {
        if self.cut > 0 {
            return; // nothing comes in
        }
        let count = self.pools.get(place).map_or(0, |part| part.members.len());
        for number in 0..count {
            let Some(member) = self.pools.get(place).and_then(|it| it.members.get(number)) else {
                continue;
            };
            if member.has(MemberDoes::Silent) || !member.works() {
                continue;
            }
            let load = Some(if member.has(MemberDoes::Busy) { FULL } else { LOAD });
            let failed = member.has(MemberDoes::WorkUnit);
            self.feed_pool(place, Event::Agent { member: number as u8, load, failed });
        }
    }

    fn member_probed(&mut self, place: usize, number: usize) {
        let cut = self.cut > 0;
        let part = self.pools.get_mut(place);
        let Some(member) = part.and_then(|part| part.members.get_mut(number)) else { return };
        let Some((ticket, _)) = member.probe.take() else { return };
        let cause = |phase, errno| Cause::of_check(0, phase, errno);
        let failed = ProbeResult::Failed(Weight::COMPLETE, cause(Phase::Connect, 111));
        let result = if member.has(MemberDoes::Unmeasured) {
            ProbeResult::CannotMeasure(cause(Phase::Connect, 24))
        } else if cut || member.has(MemberDoes::Fails) {
            failed
        } else if member.has(MemberDoes::Immediate) {
            ProbeResult::Immediate(cause(Phase::Answer, 500))
        } else {
            ProbeResult::Healthy
        };
        self.feed_pool(place, Event::Probed { member: number as u8, ticket, result });
    }

    /// Feeds `event`, and carries out what it leads to: what a balancer is told it knows at once.
    fn feed_pool(&mut self, place: usize, event: Event) {
        let now = self.now;
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let at = self.clock.at(now);
            let Some(plan) = self.world.pools.get(place) else { return };
            let Some(part) = self.pools.get_mut(place) else { return };
            let before = self.oracle.is_some().then(|| part.before());
            let actions = part.pool.handle(event, at);
            self.outcome.events += 1;
            for action in &actions {
                if let Some(lane) = &mut part.lane {
                    lane.saw(action, Instant::from_millis(now));
                }
                match *action {
                    Action::Probe { member, ticket } => {
                        let Some(member) = part.members.get_mut(usize::from(member)) else {
                            continue;
                        };
                        let mut takes = self.random.within(plan.probe_takes);
                        if member.has(MemberDoes::Slow) {
                            takes += u64::from(plan.settings.interval.as_millis()) * 3 / 2;
                        }
                        member.probe = Some((ticket, now.saturating_add(takes)));
                    }
                    Action::Face { member, face } => {
                        let number = usize::from(member);
                        let Some(member) = part.members.get_mut(number) else { continue };
                        let was = std::mem::replace(&mut member.outlet, face);
                        if face.is_out() && !was.is_out() && was != Face::Drained {
                            part.figures.exclusions.push(now);
                        }
                    }
                    Action::AskTrusted => {
                        let answering = self.cut == 0 && self.silent == 0;
                        events.push_back(Event::Trusted { answering });
                    }
                    _ => {} // connections are cut at once, and a drain that ends shows its face
                }
            }
            part.count(now);
            part.arm(&self.clock);
            let cut_since = (self.cut > 0).then_some(self.cut_since);
            let judged = before.map(|before| part.judge(&before, event, at, cut_since));
            if let Some(Err(why)) = judged {
                let name = plan.name.clone();
                return self.breaks(None, format!("{name}: {why}"));
            }
        }
    }

    /// Trusted servers have been asked: each pool hears of it.
    pub(super) fn pools_hear_trusted(&mut self) {
        for place in 0..self.pools.len() {
            self.pool_hears_trusted(place);
        }
    }

    fn pool_hears_trusted(&mut self, place: usize) {
        if self.world.trusted > 0 {
            let answering = self.trusted_answer;
            self.feed_pool(place, Event::Trusted { answering });
        }
    }

    /// Something happens to a member, or ends; true if its end is to be told.
    pub(super) fn member_does(
        &mut self,
        place: usize,
        number: usize,
        does: MemberDoes,
        begins: bool,
        lasts: Option<u64>,
    ) -> bool {
        let now = self.now;
        let at = self.clock.at(now);
        let daemon = self.host.daemon_runs(now);
        let part = self.pools.get_mut(place);
        let Some(part) = part.filter(|part| number < part.members.len()) else { return false };
        let member = number as u8;
        match does {
            MemberDoes::Drain | MemberDoes::Enable if !begins || !daemon => return false,
            MemberDoes::Drain => {
                let until = lasts.map(|ms| Instant::from_millis(at.as_millis() + ms));
                self.feed_pool(place, Event::Drain { member, until, cut_at: None });
                return false;
            }
            MemberDoes::Enable => {
                self.feed_pool(place, Event::Enable { member });
                return false;
            }
            _ => {}
        }
        if let Some(known) = part.members.get_mut(number) {
            if let Some(count) = known.ills.get_mut(does as usize) {
                *count = if begins { *count + 1 } else { count.saturating_sub(1) };
            }
        }
        part.last_ill = now;
        part.count(now);
        if does == MemberDoes::Elsewhere && daemon {
            self.feed_pool(place, Event::Elsewhere { member, failed: begins });
        }
        lasts.is_some()
    }

    /// The daemon did not run for a while: what was under way proves nothing, and nobody was silent.
    pub(super) fn pools_wake(&mut self) {
        let now = self.now;
        for place in 0..self.pools.len() {
            let count = self.pools.get(place).map_or(0, |part| part.members.len());
            for number in 0..count {
                let part = self.pools.get_mut(place);
                let member = part.and_then(|part| part.members.get_mut(number));
                let ended = member.and_then(|it| it.probe.take_if(|(_, ends)| *ends <= now));
                if let Some((ticket, _)) = ended {
                    let result = ProbeResult::Void;
                    self.feed_pool(place, Event::Probed { member: number as u8, ticket, result });
                }
            }
            self.feed_pool(place, Event::Deaf);
            self.pool_hears_elsewhere(place);
        }
    }

    /// A daemon comes up. It knows of each member what the journal had: out or in, and drained.
    pub(super) fn pools_return(&mut self) {
        let at = self.clock.at(self.now);
        for place in 0..self.pools.len() {
            let Some(part) = self.pools.get_mut(place) else { continue };
            let setup = |member: &giveover_core::pool::Member| Setup {
                backup: member.is_backup(),
                start: match member.is_unfit() || member.is_down_by_agent() {
                    true => Start::Out,
                    false => Start::In,
                },
                drain: member.drained().map(|drain| Drain { has_cut: false, ..drain }),
                elsewhere: false,
            };
            let setups: Vec<Setup> = part.pool.members().iter().map(setup).collect();
            let Ok(pool) = Pool::new(*part.pool.settings(), &setups, at) else { continue };
            part.pool = pool;
            part.members.iter_mut().for_each(|member| member.probe = None);
            self.feed_pool(place, Event::Begin);
            self.pool_hears_trusted(place);
            self.pool_hears_elsewhere(place);
        }
    }

    /// What other services of the members' servers came to is worked out again.
    fn pool_hears_elsewhere(&mut self, place: usize) {
        let count = self.pools.get(place).map_or(0, |part| part.members.len());
        for number in 0..count {
            let Some(part) = self.pools.get(place) else { return };
            let failed = part.members.get(number).is_some_and(|it| it.has(MemberDoes::Elsewhere));
            let known = part.pool.members().get(number).is_some_and(|it| it.is_down_elsewhere());
            if failed != known {
                self.feed_pool(place, Event::Elsewhere { member: number as u8, failed });
            }
        }
    }
}

/// The names of members by their places.
pub(super) fn names(plan: &PoolPlan, places: &[usize]) -> Vec<Arc<str>> {
    places.iter().filter_map(|place| plan.members.get(*place).cloned()).collect()
}
