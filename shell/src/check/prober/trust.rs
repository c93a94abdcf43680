//! Probes in TLS that have a file of authorities of their own: it is looked at before they begin.

use giveover_core::time::Span;

use super::slab::Key;
use super::{Prober, Stage, Turn};
use crate::check::socket::Close;
use crate::check::tls::{trust_of, unreadable_yet};
use crate::config::plan::CheckPlan;

/// With what was read before at hand, a file that does not answer may cost this part of the timeout.
const PATIENCE: u32 = 4;

impl Prober {
    /// Whether the probe has to wait until it is known whom to trust.
    pub(super) fn asks_whom_to_trust(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        key: Key,
    ) -> bool {
        let Some(trust) = trust_of(&plan.kind) else { return false };
        if !self.trusted.ask(turn.reactor, trust, turn.now) {
            return false;
        }
        let knows = self.trusted.knows(trust);
        let Some(probe) = self.probe_mut(key) else { return false };
        probe.stage = Stage::Trusting;
        let limit = match knows {
            false => probe.deadline,
            true => turn.now.after(Span::from_millis(plan.timeout.as_millis() / PATIENCE)),
        };
        self.trusting.push(key);
        self.wait(turn, key, limit);
        true
    }

    /// Files of authorities may have been read.
    pub(super) fn trust_ready(&mut self, turn: &mut Turn<'_>) {
        if !self.trusted.hear() {
            return;
        }
        for key in self.trusting.clone() {
            let Some(probe) = self.probe_mut(key) else { continue };
            let Some(plan) = turn.checks.check(probe.id) else {
                self.void(turn, key);
                continue;
            };
            if !trust_of(&plan.kind).is_some_and(|trust| self.trusted.is_reading(trust)) {
                self.trust_known(turn, plan, key);
            }
        }
    }

    /// What is known of whom to trust is all there will be.
    pub(super) fn trust_known(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let knows = trust_of(&plan.kind).is_some_and(|trust| self.trusted.knows(trust));
        let Some(probe) = self.probe_mut(key) else { return };
        if !knows || turn.now >= probe.deadline {
            // It says nothing of the server, which was not asked.
            return self.finish(turn, key, unreadable_yet(), Close::Reset);
        }
        probe.stage = Stage::Connecting;
        self.trusting.retain(|waiting| *waiting != key);
        self.begin(turn, plan, key);
    }
}
