//! Servers whose mode and ports stand in their own configuration: it is read again when it has
//! changed, and what it says laid over the check.

use giveover_core::failure::{Cause, Phase, ProbeResult};

use super::Daemon;
use crate::check::instance::{self, Stamp};
use crate::check::{Answer, ProbeId};
use crate::config::instance::UNPARSABLE;
use crate::message::{self, legacy};

/// A configuration as it was last read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    stamp: Option<Stamp>,
    usable: bool,
}

impl Daemon {
    /// Sees to it that the check of `id` asks what its server's configuration says. False if that
    /// cannot be used; then the probe is answered.
    pub(super) fn settle_instance(&mut self, id: ProbeId) -> bool {
        let place = (id.service, id.check);
        let check =
            &mut self.plan.services[id.service as usize].checks_mut()[usize::from(id.check)];
        let Some(written) = check.instance.clone() else { return true };
        let Some(file) = &written.file else { return true };
        let stamp = instance::stamp(file);
        let known = self.instances.get(&place);
        let usable = match known.filter(|known| known.stamp == stamp && stamp.is_some()) {
            Some(known) => known.usable,
            None => match instance::read(written.form, file) {
                Ok(mode) => {
                    instance::lay(check, &written, &mode);
                    true
                }
                Err(instance::Unparsable) => false,
            },
        };
        let was_usable = known.is_none_or(|known| known.usable);
        self.instances.insert(place, Read { stamp, usable });
        if usable {
            return true;
        }
        if was_usable {
            let text = legacy::UNPARSABLE_CONFIGURATION.to_owned();
            self.say(id.service as usize, message::Event::ConfigurationUnparsable, text);
        }
        let result =
            ProbeResult::CannotMeasure(Cause::of_check(id.check, Phase::Answer, UNPARSABLE));
        self.take(Answer { id, result, elapsed_ms: 0, shown: 0 });
        false
    }

    /// The plan as it was written, for what compares plans.
    pub(super) fn restore_instances(&mut self) {
        for service in &mut self.plan.services {
            service.checks_mut().iter_mut().for_each(instance::restore);
        }
        self.instances.clear();
    }
}
