//! What the heartbeats of one check add up to. It knows no socket and no clock.

use giveover_core::failure::Phase;
use giveover_core::time::Instant;

use super::beat::{Beat, Key};
use crate::check::outcome::Outcome;
use crate::config::agent::AgentPlan;

/// What was heard for one check.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Silence is counted from here: we began to listen, or the service was started.
    since: Instant,
    last: Option<Last>,
    refused: Refused,
}

/// The last heartbeat that counted.
#[derive(Clone, Debug)]
struct Last {
    at: Instant,
    at_ms: u64,
    load: Option<u32>,
    units: Vec<(Box<str>, u16)>,
}

/// Heartbeats in this check's name that changed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Not signed with the key.
    pub unsigned: u32,
    /// Not newer than one that was heard.
    pub repeated: u32,
    /// Their time is too far from ours.
    pub astray: u32,
}

/// Why a heartbeat changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is not signed with the key.
    Unsigned,
    /// It is not newer than one that was heard.
    Repeated,
    /// Its time is too far from ours.
    Astray,
}

/// What a heartbeat led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It counts; these work units failed that had not before, and these are well again.
    Counts {
        /// Failed, with the codes of their ends.
        failed: Vec<(Box<str>, u16)>,
        /// Well again.
        well: Vec<Box<str>>,
    },
    /// It changes nothing; so many were refused for the same reason.
    Refused(Why, u32),
}

/// The code of a work unit that had to be reported and was not.
pub const NOT_REPORTED: u16 = u16::MAX;

impl Refused {
    fn note(&mut self, why: Why) -> u32 {
        let count = match why {
            Why::Unsigned => &mut self.unsigned,
            Why::Repeated => &mut self.repeated,
            Why::Astray => &mut self.astray,
        };
        *count = count.saturating_add(1);
        *count
    }

    /// The counts in words; empty if none was refused.
    #[must_use]
    pub fn words(&self) -> String {
        let counts = [
            (self.unsigned, "not signed with our key"),
            (self.repeated, "repeated"),
            (self.astray, "of another time"),
        ];
        let words = counts.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = words.map(|(count, what)| format!("{count} {what}")).collect();
        words.join(", ")
    }
}

impl Heard {
    /// Nothing was heard yet; we listen from `now` on.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self { since: now, last: None, refused: Refused::default() }
    }

    /// The service was started: an agent that is part of it begins anew.
    pub fn start_again(&mut self, now: Instant) {
        self.since = self.since.max(now);
    }

    /// We did not hear for so long: that is no silence of the agent's.
    pub fn slept(&mut self, slept_ms: u64, now: Instant) {
        let heard = self.last.as_ref().map_or(self.since, |last| last.at.max(self.since));
        self.since = Instant::from_millis(heard.as_millis().saturating_add(slept_ms)).min(now);
    }

    /// Takes a heartbeat with this check's name. `wall_ms` is our own time since 1970.
    pub fn take(
        &mut self,
        plan: &AgentPlan,
        key: Option<&Key>,
        beat: &Beat<'_>,
        wall_ms: u64,
        now: Instant,
    ) -> Taken {
        if let Err(why) = self.accept(plan, key, beat, wall_ms) {
            return Taken::Refused(why, self.refused.note(why));
        }
        let missing =
            plan.units.iter().filter(|unit| !beat.units.iter().any(|(name, _)| **name == ***unit));
        let missing = missing.map(|unit| (unit.clone(), NOT_REPORTED));
        let reported = beat.units.iter().map(|(name, code)| (Box::from(*name), *code));
        let units: Vec<(Box<str>, u16)> = reported.chain(missing).collect();
        let had_failed = |name: &str| {
            let before = self.last.iter().flat_map(|last| &last.units);
            before.into_iter().any(|(known, code)| **known == *name && *code != 0)
        };
        let fresh = |unit: &&(Box<str>, u16)| unit.1 != 0 && !had_failed(&unit.0);
        let failed = units.iter().filter(fresh).cloned().collect();
        let healed = |unit: &&(Box<str>, u16)| unit.1 == 0 && had_failed(&unit.0);
        let well = units.iter().filter(healed).map(|(name, _)| name.clone()).collect();
        self.last = Some(Last { at: now, at_ms: beat.at_ms, load: beat.load, units });
        Taken::Counts { failed, well }
    }

    /// The load that was said last, in hundredths.
    #[must_use]
    pub fn load(&self) -> Option<u32> {
        self.last.as_ref()?.load
    }

    /// Whether a work unit had failed when last something was heard.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.last.iter().flat_map(|last| &last.units).any(|(_, code)| *code != 0)
    }

    fn accept(
        &self,
        plan: &AgentPlan,
        key: Option<&Key>,
        beat: &Beat<'_>,
        wall_ms: u64,
    ) -> Result<(), Why> {
        let newest = self.last.as_ref().map(|last| last.at_ms);
        let Some(key) = key else {
            // Without a key nothing is proven: a sender whose clock was set back is heard, only the
            // same datagram twice is not.
            return if newest == Some(beat.at_ms) { Err(Why::Repeated) } else { Ok(()) };
        };
        if !beat.is_signed_with(key) {
            return Err(Why::Unsigned);
        }
        // What was recorded before we began is told by its time alone.
        if beat.at_ms.abs_diff(wall_ms) > u64::from(plan.skew.as_millis()) {
            return Err(Why::Astray);
        }
        if newest.is_some_and(|newest| beat.at_ms <= newest) {
            return Err(Why::Repeated);
        }
        Ok(())
    }

    /// How the check stands at `now`.
    #[must_use]
    pub fn outcome(&self, plan: &AgentPlan, now: Instant) -> Outcome {
        let heard = self.last.as_ref().map(|last| last.at);
        let since = heard.map_or(self.since, |heard| heard.max(self.since));
        if now.since(since) > u64::from(plan.silence().as_millis()) {
            return Outcome::late(Phase::Silence);
        }
        let Some(last) = &self.last else {
            // It may still come: until then nobody knows.
            return Outcome::Lacking { phase: Phase::Silence, code: 0 };
        };
        match last.units.iter().find(|(_, code)| *code != 0) {
            Some((name, _)) => Outcome::wrong(plan.code_of(name)),
            None => {
                let load = last.load.map_or(0, |load| load.min(u32::from(u16::MAX) - 1) + 1);
                Outcome::Healthy { shown: load as u16 }
            }
        }
    }

    /// What else there is to show: work units, and what was refused.
    #[must_use]
    pub fn words(&self) -> String {
        let units = self.last.as_ref().map_or(0, |last| last.units.len());
        let well = |last: &Last| last.units.iter().filter(|(_, code)| *code == 0).count();
        let well = self.last.as_ref().map_or(0, well);
        let mut words = Vec::new();
        if units > 0 {
            words.push(format!("{well} of {units} work units well"));
        }
        let refused = self.refused.words();
        if !refused.is_empty() {
            words.push(refused);
        }
        words.join("; ")
    }
}
