//! Probes of targets that have a name.

use giveover_core::failure::Phase;
use giveover_core::time::Span;

use super::slab::Key;
use super::{Prober, Stage, Turn};
use crate::check::ProbeId;
use crate::check::outcome::Outcome;
use crate::check::resolve::Known;
use crate::check::socket::Close;
use crate::check::trace;
use crate::config::plan::{CheckPlan, Host};

/// With an earlier answer at hand, a slow name server may cost this part of the timeout.
const PATIENCE: u32 = 4;

impl Prober {
    /// Finds the addresses of `name`, now or later.
    pub(super) fn look_up(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key, name: &str) {
        let known = self.resolver.look_up(turn.reactor, name, turn.now);
        let Known::Soon(kept) = known else { return self.resolved(turn, plan, key, known) };
        let Some(probe) = self.probe_mut(key) else { return };
        probe.stage = Stage::Resolving;
        let limit = match kept {
            None => probe.deadline,
            Some(_) => turn.now.after(Span::from_millis(plan.timeout.as_millis() / PATIENCE)),
        };
        self.waiting.push(key);
        self.wait(turn, key, limit);
    }

    /// The resolver has found something out.
    pub(super) fn names_ready(&mut self, turn: &mut Turn<'_>) {
        let mut answers: Vec<(Box<str>, Known)> = Vec::new();
        self.resolver.hear(turn.now, |name, known| answers.push((name.into(), known)));
        for key in self.waiting.clone() {
            let Some(probe) = self.probe_mut(key) else { continue };
            let id = probe.id;
            let Some(plan) = turn.checks.check(id) else {
                self.void(turn, key);
                continue;
            };
            let answer = answers.iter().find(|(name, _)| Some(&**name) == name_of(plan, id));
            if let Some((_, known)) = answer {
                self.resolved(turn, plan, key, known.clone());
            }
        }
    }

    /// The name server is slow: the addresses from before will do.
    pub(super) fn use_kept(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        let known = name_of(plan, probe.id).map(|name| self.resolver.kept(name));
        self.resolved(turn, plan, key, known.unwrap_or(Known::Soon(None)));
    }

    /// What is known of the name is all there will be.
    fn resolved(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key, known: Known) {
        let Some(probe) = self.probe_mut(key) else { return };
        if turn.now >= probe.deadline {
            return self.late(turn, key);
        }
        if matches!(probe.stage, Stage::Resolving) {
            probe.stage = Stage::Connecting;
            self.waiting.retain(|waiting| *waiting != key);
        }
        let outcome = match known {
            Known::Addresses(addresses) => {
                self.note(turn, Phase::Resolve, || trace::list(&addresses));
                return self.race(turn, plan, key, addresses);
            }
            Known::Nothing(code) => Outcome::Failed { phase: Phase::Resolve, code },
            Known::Soon(_) => Outcome::late(Phase::Resolve),
        };
        self.finish(turn, key, outcome, Close::Reset);
    }
}

/// The name of the probe's target, if it has one.
pub(super) fn name_of(plan: &CheckPlan, id: ProbeId) -> Option<&str> {
    match &plan.targets.get(usize::from(id.target))?.host {
        Host::Name(name) => Some(name),
        Host::Address(_) | Host::Socket(_) => None,
    }
}
