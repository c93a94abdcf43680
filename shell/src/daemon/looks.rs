//! Checks that look at this host: units as systemd has them, and what our own commands say of
//! paths, processes and logs.

use std::borrow::Cow;

use giveover_core::failure::ProbeResult;

use super::Daemon;
use super::once::ONCE;
use crate::check::command::Told;
use crate::check::outcome::Outcome;
use crate::check::state::judge;
use crate::check::{Answer, ProbeId};
use crate::config::look::{Looks, PEEK_WORD, PLACE_WORD};
use crate::config::plan::{CheckPlan, CommandPlan, Kind};
use crate::message::{self, words};
use crate::service::Look;

/// In place of the first target of a command: the same, for whoever asks once. It leaves the place
/// in a log as it was.
const PEEK: u8 = u8::MAX;

impl Daemon {
    /// Asks systemd about the unit of a check.
    pub(super) fn begin_look(&mut self, id: ProbeId) {
        let check = &self.plan.services[id.service as usize].checks[usize::from(id.check)];
        let Kind::State(plan) = &check.kind else { return };
        self.looks_made += 1;
        self.looks.insert(self.looks_made, (id, self.now));
        let look = Look(self.looks_made);
        self.services.look(&mut self.reactor, look, &plan.unit, self.now);
    }

    /// Takes what systemd has said of units.
    pub(super) fn take_looks(&mut self, answers: &mut Vec<Answer>) {
        while let Some((Look(look), found)) = self.services.looked() {
            let Some((id, began)) = self.looks.remove(&look) else { continue };
            let services = &self.plan.services;
            let check = services.get(id.service as usize);
            let check = check.and_then(|service| service.checks.get(usize::from(id.check)));
            let outcome = match check.map(|check| (check, &check.kind)) {
                Some((_, Kind::State(plan))) => {
                    let found = found.as_ref().ok().map(|unit| (unit.loaded, unit.active.as_str()));
                    judge(plan, found)
                }
                _ => Outcome::Void,
            };
            let result = match check {
                Some(check) => outcome.weigh(id.check, &check.weights),
                None => ProbeResult::Void,
            };
            let elapsed_ms = u32::try_from(self.now.since(began)).unwrap_or(u32::MAX);
            answers.push(Answer { id, result, elapsed_ms, shown: outcome.shown() });
        }
    }

    /// We did not run, or the plan is another now: looks under way prove nothing.
    pub(super) fn void_looks(&mut self) {
        let void = |(_, (id, _))| Answer { id, result: ProbeResult::Void, elapsed_ms: 0, shown: 0 };
        let looks = std::mem::take(&mut self.looks);
        self.answers.extend(looks.into_iter().map(void));
    }

    /// The key under which the program of a probe is kept.
    pub(super) const fn program_key(id: ProbeId, plan: &CommandPlan) -> (u32, u8, u8) {
        let peeks = matches!(plan.looks, Looks::Log) && id.cycle & ONCE != 0;
        (id.service, id.check, if peeks { PEEK } else { id.target })
    }

    /// The plan of a probe's program as it is run.
    pub(super) fn program_plan<'a>(
        &self,
        id: ProbeId,
        plan: &'a CommandPlan,
    ) -> Cow<'a, CommandPlan> {
        if plan.looks != Looks::Log {
            return Cow::Borrowed(plan);
        }
        let mut plan = plan.clone();
        let service = &self.plan.services[id.service as usize];
        let check = &service.checks[usize::from(id.check)];
        // Neither name can hold a comma.
        let name = format!("{},{}", service.name, check.name);
        let place = self.journal.place().dir().join("places").join(name);
        if let Some(word) = plan.argv.get_mut(PLACE_WORD) {
            *word = place.display().to_string().replace('$', "$$");
        }
        if id.cycle & ONCE != 0 {
            if let Some(word) = plan.argv.get_mut(PEEK_WORD) {
                *word = "peek".to_owned();
            }
        }
        Cow::Owned(plan)
    }

    /// What a look at this host saw, if it failed and that was not said before.
    pub(super) fn tell_seen(&mut self, told: &Told) {
        let id = told.answer.id;
        let Some(service) = self.plan.services.get(id.service as usize) else { return };
        let Some(check) = service.checks.get(usize::from(id.check)) else { return };
        let Some(looks) = looks(check).filter(|_| id.cycle & ONCE == 0) else { return };
        let key = (id.service, id.check);
        let failed =
            matches!(told.answer.result, ProbeResult::Failed(..) | ProbeResult::CannotMeasure(_));
        let Some(line) = told.line.as_ref().filter(|_| failed) else {
            self.seen.remove(&key);
            return;
        };
        // Each line of a log is another; a path that goes on not answering is the same.
        if self.seen.get(&key) == Some(line) && looks != Looks::Log {
            return;
        }
        let text = words::seen(&check.name, line);
        self.seen.insert(key, line.clone());
        self.say(id.service as usize, message::Event::Seen, text);
    }
}

/// What the check looks at of this host, if it does.
fn looks(check: &CheckPlan) -> Option<Looks> {
    match &check.kind {
        Kind::Command(plan) => Some(plan.looks).filter(|looks| *looks != Looks::No),
        _ => None,
    }
}
