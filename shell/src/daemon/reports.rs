//! What foreign process monitors report: `giveover notify SERVICE died|ready|failed WEIGHT|ok`.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::Event;

use super::Daemon;
use crate::message::{self, words};
use crate::service::notify::{Heard, Report};

impl Daemon {
    pub(super) fn notify_ready(&mut self) {
        while let Some(heard) = self.notify.as_mut().and_then(|notify| notify.hear()) {
            self.take_report(&heard);
        }
    }

    fn take_report(&mut self, heard: &Heard) {
        let Some(service) = self.find(&heard.service) else { return };
        let text = words::reported(&heard.report.to_string());
        self.say(service, message::Event::Reported, text);
        match heard.report {
            Report::Died(status) => {
                let code = status.map_or(Cause::UNKNOWN, u16::from);
                self.feed(service, Event::Died { cause: Cause::new(Phase::Died, code) });
            }
            Report::Failed(weight) => {
                let cause = Cause::new(Phase::Reported, u16::from(weight.value()));
                self.answer_cycle(service, ProbeResult::Failed(weight, cause));
            }
            // Our own checks have the last word on health, where there are any.
            Report::Ready | Report::Ok if self.watches[service].checks.is_empty() => {
                self.answer_cycle(service, ProbeResult::Healthy);
            }
            Report::Ready | Report::Ok => self.feed(service, Event::ProbeNow),
        }
    }

    /// Answers the cycle under way, or one begun for it, with what was reported. What its checks
    /// still find is late.
    pub(super) fn answer_cycle(&mut self, service: usize, result: ProbeResult) {
        if self.watches[service].monitor.probe_under_way().is_none() {
            // Checks that need to ask nobody would have answered it before us.
            self.reported = Some((service, result));
            self.feed(service, Event::ProbeNow);
            if self.reported.take().is_none() {
                return;
            }
        }
        self.rounds.remove(&service);
        if let Some(ticket) = self.watches[service].monitor.probe_under_way() {
            self.feed(service, Event::Probed { ticket, result });
        }
    }
}
