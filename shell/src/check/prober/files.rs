//! Probes that need files beside their plan: these are looked at before they begin.

use giveover_core::time::Span;

use super::slab::Key;
use super::{Prober, Stage, Turn};
use crate::check::socket::Close;
use crate::config::plan::CheckPlan;

/// With what was read before at hand, a file that does not answer may cost this part of the timeout.
const PATIENCE: u32 = 4;

impl Prober {
    /// Whether the probe has to wait for its files.
    pub(super) fn asks_for_files(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        key: Key,
    ) -> bool {
        if !self.files.ask(turn.reactor, &plan.kind, turn.now) {
            return false;
        }
        let knows = self.files.knows(&plan.kind);
        let Some(probe) = self.probe_mut(key) else { return false };
        probe.stage = Stage::Files;
        let limit = match knows {
            false => probe.deadline,
            true => turn.now.after(Span::from_millis(plan.timeout.as_millis() / PATIENCE)),
        };
        self.reading.push(key);
        self.wait(turn, key, limit);
        true
    }

    /// Files may have been read.
    pub(super) fn files_ready(&mut self, turn: &mut Turn<'_>) {
        if !self.files.hear() {
            return;
        }
        for key in self.reading.clone() {
            let Some(probe) = self.probe_mut(key) else { continue };
            let Some(plan) = turn.checks.check(probe.id) else {
                self.void(turn, key);
                continue;
            };
            if !self.files.is_reading(&plan.kind) {
                self.files_known(turn, plan, key);
            }
        }
    }

    /// What is known of its files is all there will be.
    pub(super) fn files_known(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let knows = self.files.knows(&plan.kind);
        let Some(probe) = self.probe_mut(key) else { return };
        if !knows || turn.now >= probe.deadline {
            // It says nothing of the server, which was not asked.
            let silent = self.files.silent(&plan.kind);
            return self.finish(turn, key, silent, Close::Reset);
        }
        probe.stage = Stage::Connecting;
        self.reading.retain(|waiting| *waiting != key);
        self.begin(turn, plan, key);
    }
}
