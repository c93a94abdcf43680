//! What people are told of pools.

use giveover_core::failure::ProbeResult;
use giveover_core::pool::{Blind, Face, NoneLeft, Why};

use crate::config::plan::MemberPlan;
use crate::daemon::Daemon;
use crate::daemon::watch::HeldBy;
use crate::message::{self, pool as words};
use crate::report::found;
use crate::report::model::EventDoc;

const fn is_failure(result: ProbeResult) -> bool {
    matches!(result, ProbeResult::Failed(..) | ProbeResult::Immediate(_))
}

impl Daemon {
    /// Says something about a pool, or a member of it.
    pub(in crate::daemon) fn say_pool(
        &mut self,
        pool: usize,
        member: Option<usize>,
        event: message::Event,
        text: String,
    ) {
        if !self.log.wants(event) {
            return;
        }
        let number =
            member.and_then(|member| Some(self.pools.list.get(pool)?.members.get(member)?.number));
        let doc = EventDoc { service: self.pool_name(pool, member), ..EventDoc::default() };
        self.publish(number, None, event, text, doc);
    }

    /// Whether a pool, or a member as `POOL/MEMBER`, is called so.
    pub(in crate::daemon) fn is_of_pools(&self, name: &str) -> bool {
        let (pool, member) = name.split_once('/').map_or((name, None), |(p, m)| (p, Some(m)));
        let pool = self.plan.pools.iter().find(|it| *it.name == *pool);
        pool.is_some_and(|pool| member.is_none_or(|member| pool.find(member).is_some()))
    }

    /// The full status, into the log.
    pub(in crate::daemon) fn report_pools_to_log(&mut self) {
        for (pool, doc) in self.pool_docs().into_iter().enumerate() {
            for (member, doc) in doc.members.into_iter().enumerate() {
                let why = if doc.why.is_empty() { doc.why } else { format!(": {}", doc.why) };
                let text = format!("{}{why}", doc.state);
                self.say_pool(pool, Some(member), message::Event::Status, text);
            }
            for text in doc.trouble {
                self.say_pool(pool, None, message::Event::Status, text);
            }
        }
    }

    /// `web`, or `web/a`.
    pub(super) fn pool_name(&self, pool: usize, member: Option<usize>) -> String {
        let Some(plan) = self.plan.pools.get(pool) else { return String::new() };
        match member.and_then(|member| plan.members.get(member)) {
            Some(member) => format!("{}/{}", plan.name, member.name),
            None => plan.name.to_string(),
        }
    }

    /// Why a member is out, in words.
    pub(super) fn why_words(&self, pool: usize, member: usize, face: Face) -> String {
        match face {
            Face::Out(Why::Checks(_)) => self.checks_words(pool, member),
            Face::Out(Why::WorkUnit) => self.agent_why(pool, member, words::WORK_UNIT),
            Face::Out(Why::Silent) => self.agent_why(pool, member, words::SILENT),
            Face::Out(Why::Elsewhere) => words::ELSEWHERE.to_owned(),
            Face::Out(Why::Returning) => words::RETURNING.to_owned(),
            Face::In { .. } | Face::Standby | Face::Busy | Face::Drained => String::new(),
        }
    }

    /// What its agent says, where a check hears it, and else `usual`.
    fn agent_why(&self, pool: usize, member: usize, usual: &str) -> String {
        let plan = self.plan.pools.get(pool).and_then(|plan| plan.members.get(member));
        let place = plan.and_then(MemberPlan::agent).map(|(place, _)| usize::from(place));
        let state = self.pools.list.get(pool).and_then(|state| state.members.get(member));
        let known = state.zip(place).and_then(|(state, place)| state.checks.get(place));
        let check = plan.zip(place).and_then(|(plan, place)| plan.checks.get(place));
        let said = check.zip(known).filter(|(_, known)| known.result.is_some_and(is_failure));
        said.map_or_else(
            || usual.to_owned(),
            |(check, known)| {
                let words = found::result_words(check, known.result, known.shown);
                format!("{} {words}", check.name)
            },
        )
    }

    /// What its checks saw last that was not healthy.
    fn checks_words(&self, pool: usize, member: usize) -> String {
        let plan = self.plan.pools.get(pool).and_then(|plan| plan.members.get(member));
        let state = self.pools.list.get(pool).and_then(|state| state.members.get(member));
        let (Some(plan), Some(state)) = (plan, state) else { return String::new() };
        let failing = plan.checks.iter().zip(&state.checks).filter(|(check, known)| {
            let failed = known.result.is_some_and(is_failure);
            failed && !known.not_evaluated && !check.observe
        });
        let words: Vec<String> = failing
            .map(|(check, known)| {
                let words = found::result_words(check, known.result, known.shown);
                format!("{} {words}", check.name)
            })
            .collect();
        if words.is_empty() { words::CHECKS.to_owned() } else { words.join(", ") }
    }

    pub(super) fn say_face(&mut self, pool: usize, member: usize, face: Face) {
        let state = self.pools.list.get(pool).and_then(|state| state.members.get(member));
        let Some(state) = state else { return };
        let (event, text) = match face {
            Face::Out(_) => (message::Event::PoolOut, words::out(&state.reason)),
            Face::In { weight } => (message::Event::PoolIn, words::in_with(weight)),
            Face::Standby => (message::Event::PoolIn, words::STANDBY.to_owned()),
            Face::Busy => (message::Event::PoolIn, words::BUSY.to_owned()),
            // Told when somebody asked for it, with who and why.
            Face::Drained => return,
        };
        self.say_pool(pool, Some(member), event, text);
    }

    pub(super) fn say_drained(&mut self, pool: usize, member: usize, held: &HeldBy) {
        let until = held.until.map(|until| self.time_of_day(until));
        let text = words::drained(&held.who, until.as_deref(), held.why.as_deref());
        self.say_pool(pool, Some(member), message::Event::PoolDrained, text);
    }

    pub(super) fn say_drain_ended(&mut self, pool: usize, member: usize, by: Option<&str>) {
        let text = words::drain_ended(by);
        self.say_pool(pool, Some(member), message::Event::PoolEnabled, text);
    }

    pub(super) fn say_fallback(&mut self, pool: usize, why: Option<NoneLeft>) {
        let (event, text) = match why {
            Some(NoneLeft::NobodyIn) => (message::Event::PoolNoneLeft, words::NOBODY_IN),
            Some(NoneLeft::AllBusy) => (message::Event::PoolNoneLeft, words::ALL_BUSY),
            None => (message::Event::PoolSomeLeft, words::SOME_LEFT),
        };
        self.say_pool(pool, None, event, text.to_owned());
    }

    pub(super) fn say_frozen(&mut self, pool: usize, why: Option<Blind>) {
        let (event, text) = match why {
            Some(Blind::NothingMeasured) => (message::Event::PoolFrozen, words::NOTHING_MEASURED),
            Some(Blind::NoTrusted) => (message::Event::PoolFrozen, words::NO_TRUSTED),
            None => (message::Event::PoolThawed, words::THAWED),
        };
        self.say_pool(pool, None, event, text.to_owned());
    }

    /// Members that the floor has begun to keep in.
    pub(super) fn tell_kept(&mut self, pool: usize, before: &[bool]) {
        let Some(state) = self.pools.list.get(pool) else { return };
        let floor = state.machine.settings().min_members;
        let kept: Vec<usize> = state
            .machine
            .members()
            .iter()
            .zip(before)
            .enumerate()
            .filter_map(|(member, (now, before))| (now.is_kept() && !before).then_some(member))
            .collect();
        for member in kept {
            let why = self.checks_words(pool, member);
            let text = words::kept(&why, floor);
            self.say_pool(pool, Some(member), message::Event::PoolKept, text);
        }
    }
}
