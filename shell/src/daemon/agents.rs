//! Heartbeats: where they are heard, which checks they belong to, and what follows from them.

use giveover_core::failure::{Phase, ProbeResult};
use giveover_core::monitor::Event;
use giveover_core::time::Instant;
use rustix::io::Errno;

use super::Daemon;
use super::once::ONCE;
use crate::check::agent::beat::{Beat, Key};
use crate::check::agent::ears::{At, Ears, Words};
use crate::check::agent::heard::{Heard, NOT_REPORTED, Taken, Why};
use crate::check::outcome::{Outcome, code};
use crate::check::{Answer, ProbeId};
use crate::config::plan::Kind;
use crate::key;
use crate::message::{self, cause, words};
use crate::reactor::Token;

/// All checks that hear heartbeats.
#[derive(Default)]
pub(super) struct Agents {
    ears: Ears,
    checks: Vec<AgentCheck>,
    heard: Vec<Words>,
    /// In the name of nobody we know, or no heartbeats at all.
    strange: u32,
}

/// One of them.
struct AgentCheck {
    service: usize,
    check: u8,
    /// Service and check by name: over a reload their places may change.
    names: (Box<str>, Box<str>),
    at: At,
    /// `None`: heartbeats need not be signed.
    key: Option<Result<Key, String>>,
    heard: Heard,
}

impl Daemon {
    /// Hears what the checks of the plan want to hear. What was heard before stays with checks that
    /// keep their names.
    pub(super) fn begin_agents(&mut self) {
        let now = self.now;
        let mut before = std::mem::take(&mut self.agents.checks);
        for (service, plan) in self.plan.services.iter().enumerate() {
            for (place, check) in plan.checks.iter().enumerate() {
                let Kind::Agent(agent) = &check.kind else { continue };
                let Some(at) = At::of(agent, check) else { continue };
                let is = |known: &AgentCheck| {
                    *known.names.0 == *plan.name && known.names.1 == check.name
                };
                let known = before.iter().position(is).map(|known| before.swap_remove(known));
                self.agents.checks.push(AgentCheck {
                    service,
                    check: place as u8,
                    names: ((*plan.name).into(), check.name.clone()),
                    key: agent.key.as_deref().map(read_key),
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
        let (now, wall_ms) = (self.now, self.clock.wall_ms(self.now));
        let Some(beat) = Beat::parse(bytes) else {
            self.agents.strange = self.agents.strange.saturating_add(1);
            return;
        };
        let mut known = false;
        for place in 0..self.agents.checks.len() {
            let check = &mut self.agents.checks[place];
            let (service, number) = (check.service, check.check);
            let plan = &self.plan.services[service].checks[usize::from(number)];
            let Kind::Agent(agent) = &plan.kind else { continue };
            if check.at != *at || *agent.name != *beat.name {
                continue;
            }
            known = true;
            let key = match &check.key {
                None => None,
                Some(Ok(key)) => Some(key),
                Some(Err(_)) => continue, // it cannot be measured, and that is said
            };
            let was_well = matches!(check.heard.outcome(agent, now), Outcome::Healthy { .. });
            let taken = check.heard.take(agent, key, &beat, wall_ms, now);
            let is_well = matches!(check.heard.outcome(agent, now), Outcome::Healthy { .. });
            self.tell_beat(service, number, &taken);
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
        if !known {
            self.agents.strange = self.agents.strange.saturating_add(1);
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

    /// How the check stands; heartbeats are heard if they can be.
    pub(super) fn look_at_agent(&mut self, service: usize, number: u8) -> ProbeResult {
        self.agent_outcome(service, number).0
    }

    /// The same, with what a healthy answer shows.
    pub(super) fn agent_outcome(&mut self, service: usize, number: u8) -> (ProbeResult, u16) {
        let now = self.now;
        let Self { agents, reactor, plan, .. } = self;
        let check = &plan.services[service].checks[usize::from(number)];
        let outcome = match (&check.kind, agents.of(service, number)) {
            (Kind::Agent(agent), Some(place)) => {
                let Agents { ears, checks, .. } = agents;
                let state = &mut checks[place];
                if let (Some(Err(_)), Some(path)) = (&state.key, &agent.key) {
                    state.key = Some(read_key(path));
                }
                if !ears.hears(&state.at) {
                    // Nobody could be heard before.
                    state.heard.start_again(now);
                }
                match (ears.open(reactor, &state.at), &state.key) {
                    (Err(error), _) => {
                        let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                        Outcome::Lacking { phase: Phase::Connect, code: code(errno) }
                    }
                    (_, Some(Err(_))) => {
                        Outcome::Lacking { phase: Phase::Connect, code: code(Errno::NOKEY) }
                    }
                    _ => state.heard.outcome(agent, now),
                }
            }
            _ => Outcome::Void,
        };
        (outcome.weigh(number, &check.weights), outcome.shown())
    }

    /// Answers the probe `id` of a check that hears heartbeats.
    pub(super) fn answer_agent(&mut self, id: ProbeId) {
        let (result, shown) = self.agent_outcome(id.service as usize, id.check);
        let answer = Answer { id, result, elapsed_ms: 0, shown };
        match id.cycle & ONCE {
            0 => self.take(answer),
            _ => self.take_once(answer),
        }
    }

    /// What else there is to show of such a check: work units, what was refused, and its key.
    pub(super) fn agent_words(&self, service: usize, number: u8) -> String {
        let Some(place) = self.agents.of(service, number) else { return String::new() };
        let check = &self.agents.checks[place];
        let mut parts = vec![check.heard.words()];
        if let Some(Err(why)) = &check.key {
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
        for check in self.agents.checks.iter_mut().filter(|check| check.service == service) {
            check.heard.start_again(now);
        }
    }

    fn tell_beat(&mut self, service: usize, number: u8, taken: &Taken) {
        let name = self.plan.services[service].checks[usize::from(number)].name.to_string();
        match taken {
            Taken::Counts { failed, well } => {
                for (unit, code) in failed {
                    let how = match *code {
                        NOT_REPORTED => "not reported".to_owned(),
                        code => cause::ended(code),
                    };
                    let text = words::unit_failed(&name, unit, &how);
                    self.say(service, message::Event::UnitFailed, text);
                }
                for unit in well {
                    let text = words::unit_well(&name, unit);
                    self.say(service, message::Event::UnitWell, text);
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
                self.say(service, message::Event::BeatRefused, text);
            }
            Taken::Refused(..) => {}
        }
    }
}

impl Agents {
    fn of(&self, service: usize, number: u8) -> Option<usize> {
        self.checks.iter().position(|check| check.service == service && check.check == number)
    }
}

fn read_key(name: &std::path::Path) -> Result<Key, String> {
    key::of_name(name).map(|secret| Key::new(&secret))
}
