//! Servers whose mode and ports stand in their own configuration: before each probe it is read again
//! if it has changed, and what it says laid over the check. It is read beside the loop, as it may lie
//! where nothing answers.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::time::{Instant, Span};

use super::Daemon;
use super::once::ONCE;
use crate::check::instance::{self, Mode, Unparsable};
use crate::check::{Answer, ProbeId};
use crate::config::instance::{Form, UNPARSABLE};
use crate::message::{self, legacy};
use crate::reactor::{Kept, Reactor, Room, Timer, Token};

/// With what was read before at hand, a file that does not answer may cost this part of the timeout.
const PATIENCE: u32 = 4;

/// A server's configuration.
#[derive(Default)]
pub(super) struct Known {
    read: Kept<Result<Mode, Unparsable>>,
    /// It was said that it cannot be used.
    said: bool,
    /// Probes that wait for it, each with the time it has for that.
    waiting: Vec<(ProbeId, Instant, Timer)>,
}

impl Known {
    /// Has the file read. True if that is to be waited for.
    fn ask(&mut self, reactor: &Reactor, form: Form, file: &str, now: Instant) -> bool {
        let asked = self.read.ask(reactor, "configuration", now, || instance::reading(form, file));
        asked.unwrap_or(false)
    }
}

impl Daemon {
    /// Sees to it that the check of `id` asks what its server's configuration says. False if that is
    /// waited for, or cannot be used; then the probe is gone on with, or answered.
    pub(super) fn settle_instance(&mut self, id: ProbeId) -> bool {
        let now = self.now;
        let check = &self.plan.services[id.service as usize].checks[usize::from(id.check)];
        let Some(written) = &check.instance else { return true };
        let Some(file) = &written.file else { return true };
        let known = self.instances.entry((id.service, id.check)).or_default();
        if !known.ask(&self.reactor, written.form, file, now) {
            return self.lay_instance(id);
        }
        let limit = match known.read.known() {
            None => check.timeout,
            Some(_) => Span::from_millis(check.timeout.as_millis() / PATIENCE),
        };
        let limit = now.after(limit);
        let token = Token::new(Room::Resolver, id.service, u32::from(id.check));
        known.waiting.push((id, limit, self.reactor.timers.arm(token, limit)));
        false
    }

    /// Configurations may have been read.
    pub(super) fn instances_ready(&mut self) {
        let mut ready = Vec::new();
        for known in self.instances.values_mut() {
            if known.read.hear() {
                ready.append(&mut known.waiting);
            }
        }
        for (id, _, timer) in ready {
            self.reactor.timers.disarm(timer);
            self.go_on_with(id);
        }
    }

    /// A timer in [`Room::Resolver`]: who waits for a configuration has waited long enough.
    pub(super) fn instance_due(&mut self, token: Token) {
        let now = self.now;
        let place = (token.index, token.generation as u8);
        let Some(known) = self.instances.get_mut(&place) else { return };
        let (late, waiting) =
            std::mem::take(&mut known.waiting).into_iter().partition(|(_, limit, _)| *limit <= now);
        known.waiting = waiting;
        let late: Vec<(ProbeId, Instant, Timer)> = late;
        late.into_iter().for_each(|(id, ..)| self.go_on_with(id));
    }

    /// What is known of the configuration is all there will be for this probe.
    fn go_on_with(&mut self, id: ProbeId) {
        if id.cycle & ONCE != 0 {
            if self.is_asked_once(id) && self.lay_instance(id) {
                self.begin_once_settled(id);
                self.settle_once(id.cycle); // it may have nobody to ask
            }
            return;
        }
        let service = id.service as usize;
        let is_current = self.watches.get(service).is_some_and(|watch| watch.cycle == id.cycle);
        if is_current && self.rounds.contains_key(&service) && self.lay_instance(id) {
            self.begin_settled(id);
        }
    }

    /// Lays what was read over the check. False if it cannot be used; then the probe is answered.
    fn lay_instance(&mut self, id: ProbeId) -> bool {
        let check =
            &mut self.plan.services[id.service as usize].checks_mut()[usize::from(id.check)];
        let Some(written) = check.instance.clone() else { return true };
        let known = self.instances.entry((id.service, id.check)).or_default();
        if let Some(Ok(mode)) = known.read.known() {
            instance::lay(check, &written, mode);
            known.said = false;
            return true;
        }
        if !std::mem::replace(&mut known.said, true) {
            let text = legacy::UNPARSABLE_CONFIGURATION.to_owned();
            self.say(id.service as usize, message::Event::ConfigurationUnparsable, text);
        }
        let result =
            ProbeResult::CannotMeasure(Cause::of_check(id.check, Phase::Answer, UNPARSABLE));
        self.take(Answer { id, result, elapsed_ms: 0, shown: 0 });
        false
    }

    /// We did not run: who waits for a configuration has waited for nothing.
    pub(super) fn void_instances(&mut self) {
        for known in self.instances.values_mut() {
            for (id, _, timer) in known.waiting.drain(..) {
                self.reactor.timers.disarm(timer);
                let result = ProbeResult::Void;
                self.answers.push(Answer { id, result, elapsed_ms: 0, shown: 0 });
            }
        }
    }

    /// The plan as it was written, for what compares plans.
    pub(super) fn restore_instances(&mut self) {
        for service in &mut self.plan.services {
            service.checks_mut().iter_mut().for_each(instance::restore);
        }
        for (_, mut known) in self.instances.drain() {
            known.read.let_go(&self.reactor);
        }
    }
}
