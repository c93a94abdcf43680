//! Heartbeats: where they are heard, which checks they belong to, and what follows from them.

mod key;

use std::path::Path;

use giveover_core::failure::{Phase, ProbeResult};
use giveover_core::monitor::Event;
use giveover_core::time::Instant;
use rustix::io::Errno;

use self::key::Keys;
use super::Daemon;
use super::once::ONCE;
use crate::check::agent::beat::Beat;
use crate::check::agent::ears::{At, Ears, Words};
use crate::check::agent::heard::{Heard, NOT_REPORTED, Taken, Why};
use crate::check::outcome::{Outcome, code};
use crate::check::{Answer, Checks as _, ProbeId};
use crate::config::plan::{CheckPlan, Kind};
use crate::message::{self, cause, words};
use crate::reactor::Token;

/// So many heartbeats of a check wait until its key is read; of more the oldest are lost.
const MOST_EARLY: usize = 16;

/// All checks that hear heartbeats.
#[derive(Default)]
pub(super) struct Agents {
    ears: Ears,
    keys: Keys,
    checks: Vec<AgentCheck>,
    heard: Vec<Words>,
    /// In the name of nobody we know, or no heartbeats at all.
    strange: u32,
}

/// One of them.
struct AgentCheck {
    /// A service, or a member of a pool, as in [`ProbeId`].
    service: u32,
    check: u8,
    /// Service and check by name: over a reload their places may change.
    names: (Box<str>, Box<str>),
    at: At,
    heard: Heard,
    /// Heartbeats that came while its key was being read, the oldest first.
    early: Vec<Vec<u8>>,
}

impl Daemon {
    /// Hears what the checks of the plan want to hear. What was heard before stays with checks that
    /// keep their names.
    pub(super) fn begin_agents(&mut self) {
        let now = self.now;
        let mut before = std::mem::take(&mut self.agents.checks);
        let keys = self.plan.checks().filter_map(|check| key_of(&check.kind));
        self.agents.keys.need(keys, &self.reactor, now);
        let services = self.plan.services.iter().enumerate();
        let services = services.map(|(place, it)| (place as u32, (*it.name).into(), &it.checks));
        let pools = self.plan.pools.iter().enumerate();
        let members = pools.flat_map(|(pool, plan)| {
            plan.members.iter().enumerate().map(move |(member, it)| {
                let name: Box<str> = format!("{}/{}", plan.name, it.name).into();
                (ProbeId::of_member(pool, member), name, &it.checks)
            })
        });
        for (service, name, checks) in services.chain(members) {
            for (place, check) in checks.iter().enumerate() {
                let Kind::Agent(agent) = &check.kind else { continue };
                let Some(at) = At::of(agent, check) else { continue };
                let is = |known: &AgentCheck| known.names.0 == name && known.names.1 == check.name;
                let known = before.iter().position(is).map(|known| before.swap_remove(known));
                self.agents.checks.push(AgentCheck {
                    service,
                    check: place as u8,
                    names: (name.clone(), check.name.clone()),
                    early: Vec::new(),
                    heard: match known {
                        Some(known) if known.at == at => known.heard,
                        _ => Heard::new(now),
                    },
                    at,
                });
            }
        }
        let wanted: Vec<At> = self.agents.checks.iter().map(|check| check.at.clone()).collect();
        self.agents.ears.keep(&self.reactor, &wanted);
        for at in &wanted {
            let _ = self.agents.ears.open(&self.reactor, at); // tried again in each cycle
        }
    }

    /// The daemon ends.
    pub(super) fn end_agents(&mut self) {
        self.agents.ears.keep(&self.reactor, &[]);
    }

    /// We did not run for so long: what was sent meanwhile may be lost.
    pub(super) fn agents_slept(&mut self, slept_ms: u64) {
        let now = self.now;
        for check in &mut self.agents.checks {
            check.heard.slept(slept_ms, now);
        }
    }

    /// A source or timer of the room of heartbeats.
    pub(super) fn agents_ready(&mut self, token: Token, by_timer: bool) {
        let now = self.now;
        let mut heard = std::mem::take(&mut self.agents.heard);
        match by_timer {
            true => self.agents.ears.due(&mut self.reactor, token, now, &mut heard),
            false => self.agents.ears.ready(&mut self.reactor, token, now, &mut heard),
        }
        for (at, bytes) in heard.drain(..) {
            self.take_beat(&at, &bytes);
        }
        self.agents.heard = heard;
    }

    fn take_beat(&mut self, at: &At, bytes: &[u8]) {
        let Some(beat) = Beat::parse(bytes) else {
            self.agents.strange = self.agents.strange.saturating_add(1);
            return;
        };
        let mut known = false;
        for place in 0..self.agents.checks.len() {
            let Agents { checks, keys, .. } = &mut self.agents;
            let check = &mut checks[place];
            let Some(plan) = self.plan.check(check.id()) else { continue };
            let Kind::Agent(agent) = &plan.kind else { continue };
            if check.at != *at || *agent.name != *beat.name {
                continue;
            }
            known = true;
            if agent.key.as_deref().is_some_and(|name| keys.is_awaited(name, self.now)) {
                check.put_by(bytes);
                continue;
            }
            self.take_early_beats(place);
            self.take_beat_of(place, &beat);
        }
        if !known {
            self.agents.strange = self.agents.strange.saturating_add(1);
        }
    }

    /// Keys may have been read.
    pub(super) fn agent_keys_ready(&mut self) {
        for (name, fresh) in self.agents.keys.hear(&self.reactor) {
            for place in 0..self.agents.checks.len() {
                let check = &mut self.agents.checks[place];
                let plan = self.plan.check(check.id());
                if plan.and_then(|plan| key_of(&plan.kind)) != Some(name.as_path()) {
                    continue;
                }
                if fresh {
                    check.heard.start_again(self.now); // nobody could be heard before
                }
                self.take_early_beats(place);
            }
        }
    }

    /// Takes the heartbeats that came before the key of the check at `place` was read.
    fn take_early_beats(&mut self, place: usize) {
        for bytes in std::mem::take(&mut self.agents.checks[place].early) {
            if let Some(beat) = Beat::parse(&bytes) {
                self.take_beat_of(place, &beat);
            }
        }
    }

    /// A heartbeat in the name of the agent that the check at `place` hears.
    fn take_beat_of(&mut self, place: usize, beat: &Beat<'_>) {
        let (now, wall_ms) = (self.now, self.clock.wall_ms(self.now));
        let Agents { checks, keys, .. } = &mut self.agents;
        let check = &mut checks[place];
        let (service, number) = (check.service, check.check);
        let Some(plan) = self.plan.check(check.id()) else { return };
        let Kind::Agent(agent) = &plan.kind else { return };
        let key = match agent.key.as_deref().map(|name| keys.key(name)) {
            None => None,
            Some(Some(key)) => Some(key),
            Some(None) => return, // it cannot be measured, and that is said
        };
        let was_well = matches!(check.heard.outcome(agent, now), Outcome::Healthy { .. });
        let taken = check.heard.take(agent, key, beat, wall_ms, now);
        let is_well = matches!(check.heard.outcome(agent, now), Outcome::Healthy { .. });
        self.tell_beat(place, &taken);
        if let Some((pool, member)) = ProbeId::member(service) {
            if matches!(taken, Taken::Counts { .. }) {
                self.member_reported(pool, member, number);
            }
            return;
        }
        let service = service as usize;
        match taken {
            Taken::Counts { failed, .. } if !failed.is_empty() => {
                self.unit_failed(service, number);
            }
            // It is back: the others may say so too, without waiting for their turn.
            Taken::Counts { .. } if is_well && !was_well => {
                self.feed(service, Event::ProbeNow);
            }
            Taken::Counts { .. } | Taken::Refused(..) => {}
        }
    }

    /// A work unit has just failed: that is not waited with until the next cycle.
    fn unit_failed(&mut self, service: usize, number: u8) {
        let check = &self.plan.services[service].checks[usize::from(number)];
        let beside = !self.plan.services[service].ladder.contains(&number);
        if check.observe || !beside {
            return; // the next cycle shows it, if the rungs below let it
        }
        let result = self.look_at_agent(service, number);
        let state = self.watches[service].checks.get_mut(usize::from(number));
        if let (Some(state), ProbeResult::Failed(..)) = (state, result) {
            state.result = Some(result);
            state.at = self.now;
            state.ms = 0;
            state.shown = 0;
            self.answer_cycle(service, result);
        }
    }

    /// What the agent of a member says: percent of its full load, and whether a work unit has
    /// failed. `None` until it has said something.
    pub(super) fn reported(&self, id: ProbeId) -> Option<(Option<u8>, bool)> {
        let CheckPlan { question, .. } = self.plan.check(id)?;
        let Kind::Agent(agent) = &question.kind else { return None };
        let heard = &self.agents.checks.get(self.agents.of(id.service, id.check)?)?.heard;
        Some((heard.load().map(|load| agent.percent(load)), heard.has_failed()))
    }

    /// Why the agent of `id` cannot be heard, if so; it is tried again first.
    pub(super) fn deaf_to(&mut self, id: ProbeId) -> Option<String> {
        let now = self.now;
        let Agents { ears, keys, checks, .. } = &mut self.agents;
        let of = |it: &&mut AgentCheck| it.service == id.service && it.check == id.check;
        let state = checks.iter_mut().find(of)?;
        let Kind::Agent(agent) = &self.plan.check(id)?.kind else { return None };
        let no_key = agent.key.as_deref().and_then(|name| {
            keys.ask_again(name, &self.reactor, now);
            keys.lacks(name, now)
        });
        let why = match (ears.open(&self.reactor, &state.at), no_key) {
            (Err(error), _) => format!("nobody can be heard: {error}"),
            (Ok(()), Some(why)) => format!("key {why}"),
            (Ok(()), None) => return None,
        };
        state.heard.start_again(now);
        Some(why)
    }

    /// How the check stands; heartbeats are heard if they can be.
    pub(super) fn look_at_agent(&mut self, service: usize, number: u8) -> ProbeResult {
        self.agent_outcome(service as u32, number).0
    }

    /// The same, with what a healthy answer shows.
    pub(super) fn agent_outcome(&mut self, service: u32, number: u8) -> (ProbeResult, u16) {
        let now = self.now;
        let Self { agents, reactor, plan, .. } = self;
        let id = ProbeId { service, check: number, target: 0, cycle: 0 };
        let Some(check) = plan.check(id) else { return (ProbeResult::Void, 0) };
        let outcome = match (&check.kind, agents.of(service, number)) {
            (Kind::Agent(agent), Some(place)) => {
                let Agents { ears, keys, checks, .. } = agents;
                let state = &mut checks[place];
                let no_key = agent.key.as_deref().and_then(|name| {
                    keys.ask_again(name, reactor, now);
                    keys.lacks(name, now)
                });
                if !ears.hears(&state.at) {
                    // Nobody could be heard before.
                    state.heard.start_again(now);
                }
                match (ears.open(reactor, &state.at), no_key) {
                    (Err(error), _) => {
                        let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                        Outcome::Lacking { phase: Phase::Connect, code: code(errno) }
                    }
                    (Ok(()), Some(_)) => {
                        Outcome::Lacking { phase: Phase::Connect, code: code(Errno::NOKEY) }
                    }
                    (Ok(()), None) => state.heard.outcome(agent, now),
                }
            }
            _ => Outcome::Void,
        };
        (outcome.weigh(number, &check.weights), outcome.shown())
    }

    /// Answers the probe `id` of a check that hears heartbeats.
    pub(super) fn answer_agent(&mut self, id: ProbeId) {
        let (result, shown) = self.agent_outcome(id.service, id.check);
        let answer = Answer { id, result, elapsed_ms: 0, shown };
        match id.cycle & ONCE {
            0 => self.take(answer),
            _ => self.take_once(answer),
        }
    }

    /// What else there is to show of such a check: work units, what was refused, and its key.
    pub(super) fn agent_words(&self, service: u32, number: u8) -> String {
        let Some(place) = self.agents.of(service, number) else { return String::new() };
        let check = &self.agents.checks[place];
        let mut parts = vec![check.heard.words()];
        let name = self.plan.check(check.id()).and_then(|plan| key_of(&plan.kind));
        if let Some(why) = name.and_then(|name| self.agents.keys.lacks(name, self.now)) {
            parts.push(format!("key {why}"));
        }
        let (strange, garbled) = (self.agents.strange, self.agents.ears.garbled());
        if strange > 0 || garbled > 0 {
            parts.push(format!("{} of nobody known", strange.saturating_add(garbled)));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("; ")
    }

    /// The service was started: an agent that is part of it begins anew.
    pub(super) fn agents_started(&mut self, service: usize, now: Instant) {
        let service = service as u32;
        for check in self.agents.checks.iter_mut().filter(|check| check.service == service) {
            check.heard.start_again(now);
        }
    }

    fn tell_beat(&mut self, place: usize, taken: &Taken) {
        let Some(check) = self.agents.checks.get(place) else { return };
        let (service, name) = (check.service, check.names.1.clone());
        match taken {
            Taken::Counts { failed, well } => {
                for (unit, code) in failed {
                    let how = match *code {
                        NOT_REPORTED => "not reported".to_owned(),
                        code => cause::ended(code),
                    };
                    let text = words::unit_failed(&name, unit, &how);
                    self.say_of_agent(service, message::Event::UnitFailed, text);
                }
                for unit in well {
                    let text = words::unit_well(&name, unit);
                    self.say_of_agent(service, message::Event::UnitWell, text);
                }
            }
            // The first, and then ever more rarely: whoever sends them decides how many come.
            Taken::Refused(why, count)
                if count.checked_ilog10().is_some_and(|log| 10_u32.pow(log) == *count) =>
            {
                let why = match why {
                    Why::Unsigned => "not signed with our key",
                    Why::Repeated => "not newer than one that was heard",
                    Why::Astray => "its time is too far from ours",
                };
                let text = words::beat_refused(&name, why, *count);
                self.say_of_agent(service, message::Event::BeatRefused, text);
            }
            Taken::Refused(..) => {}
        }
    }

    fn say_of_agent(&mut self, service: u32, event: message::Event, text: String) {
        match ProbeId::member(service) {
            Some((pool, member)) => self.say_pool(pool, Some(member), event, text),
            None => self.say(service as usize, event, text),
        }
    }
}

impl Agents {
    fn of(&self, service: u32, number: u8) -> Option<usize> {
        self.checks.iter().position(|check| check.service == service && check.check == number)
    }
}

impl AgentCheck {
    /// Keeps a heartbeat for when the key is known.
    fn put_by(&mut self, bytes: &[u8]) {
        if self.early.len() >= MOST_EARLY {
            self.early.remove(0);
        }
        self.early.push(bytes.to_vec());
    }

    const fn id(&self) -> ProbeId {
        ProbeId { service: self.service, check: self.check, target: 0, cycle: 0 }
    }
}

/// The file of the key that heartbeats for a check of this kind are signed with.
fn key_of(kind: &Kind) -> Option<&Path> {
    match kind {
        Kind::Agent(agent) => agent.key.as_deref(),
        _ => None,
    }
}
