//! What happened, in words: one line for each edge, into the log, the journal, and to whoever
//! follows.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{
    Action, Actions, Event, GiveoverOutcome, Holder, Origin, Reason, RestartOutcome, Status,
    Waiting,
};
use giveover_core::time::Instant;

use super::Daemon;
use super::feed::Before;
use super::incident::Incident;
use super::watch::{Mark, Starter};
use crate::check::ProbeId;
use crate::check::resolve::NameNotice;
use crate::config::instance::Form;
use crate::config::plan::{GoesTo, Kind, Run};
use crate::journal::{Health, Note};
use crate::message::{self, cause, host, legacy, words};
use crate::report::found::{asked, brief_words, cause_words, result_words, shown_words};
use crate::report::model::EventDoc;

impl Daemon {
    /// Says something about a service.
    pub(super) fn say(&mut self, service: usize, event: message::Event, text: String) {
        self.say_of(service, event, text, |_| {});
    }

    /// Says something about a service, with more fields.
    pub(super) fn say_of(
        &mut self,
        service: usize,
        event: message::Event,
        text: String,
        more: impl FnOnce(&mut EventDoc),
    ) {
        if service >= self.shown() || !self.log.wants(event) {
            return;
        }
        let watch = &self.watches[service];
        let limits = watch.monitor.policy().limits();
        let tally = watch.monitor.tally(self.now);
        let mut doc = EventDoc {
            service: self.plan.services[service].name.to_string(),
            sum: Some(tally.failure_sum),
            restarts: Some(tally.restarts),
            retry_count: limits.retry_count,
            generation: Some(watch.monitor.generation()),
            incident: watch
                .more_ref()
                .and_then(|more| more.incident.map(|incident| incident.number)),
            ..EventDoc::default()
        };
        more(&mut doc);
        let unit = match &self.plan.services[service].run {
            Run::Unit(unit) => Some(unit.clone()),
            _ => None,
        };
        let machine = self.watches[service].machine;
        self.publish(Some(machine), unit.as_deref(), event, text, doc);
    }

    /// Says something about the host.
    pub(super) fn say_host(&mut self, event: message::Event, text: String) {
        if self.log.wants(event) {
            self.publish(None, None, event, text, EventDoc::default());
        }
    }

    /// `machine` is the journal's number of what it is about.
    pub(super) fn publish(
        &mut self,
        machine: Option<u32>,
        unit: Option<&str>,
        event: message::Event,
        text: String,
        doc: EventDoc,
    ) {
        self.events.seq += 1;
        let doc = EventDoc {
            seq: self.events.seq,
            at: self.clock.wall(self.now),
            level: event.level().word().to_owned(),
            event: event.word().to_owned(),
            text,
            ..doc
        };
        self.journal.note(
            self.now,
            Note::Text { machine, event: event.word().into(), text: doc.text.as_str().into() },
        );
        self.log.write(&doc, unit);
        self.control.publish(&mut self.reactor, &doc);
        self.publish_web(&doc);
        self.notice(&doc);
        self.events.push(self.now, doc);
    }

    /// Tells what an event and its actions were, as far as anyone wants to know.
    pub(super) fn tell(
        &mut self,
        service: usize,
        event: &Event,
        actions: &Actions,
        before: Before,
    ) {
        match *event {
            Event::Probed { result, .. } => self.tell_probed(service, result, actions, before),
            Event::Died { cause } => self.tell_died(service, cause),
            Event::RestartDone { outcome, .. } => self.tell_restart_done(service, outcome),
            Event::Healed => self.tell_healed(service),
            Event::Hold(Holder::Need) => {
                let text = words::need_unmet(&self.service_doc(service).unmet);
                self.say(service, message::Event::NeedUnmet, text);
            }
            Event::Release(Holder::Need) => {
                self.say(service, message::Event::NeedMet, words::NEED_MET.to_owned());
            }
            _ => {}
        }
        // One that a person asked for, or that takes a giveover back, has been told already.
        let told = matches!(
            event,
            Event::Restart | Event::GiveoverDone { outcome: GiveoverOutcome::Aborted { .. }, .. }
        );
        let delayed = !told && before.restarting_at.is_none() && self.delayed(service).is_some();
        if delayed {
            self.tell_restart(service, self.delayed(service));
        }
        for action in actions {
            self.tell_action(service, event, *action);
        }
        self.tell_called_off(service, before, actions);
        self.tell_status(service, before);
    }

    /// When a restart that has been decided will be made.
    fn delayed(&self, service: usize) -> Option<Instant> {
        match self.watches[service].monitor.waiting_for() {
            Waiting::Delay(at) => Some(at),
            _ => None,
        }
    }

    fn tell_probed(
        &mut self,
        service: usize,
        result: ProbeResult,
        actions: &Actions,
        before: Before,
    ) {
        let (weight, cause) = match result {
            ProbeResult::Failed(weight, cause) => (weight.value(), cause),
            ProbeResult::Immediate(cause) => (100, cause),
            ProbeResult::Healthy => {
                if let Some(since) = before.unmeasured_since {
                    let text = words::measured(self.now.since(since));
                    self.say(service, message::Event::Measured, text);
                }
                return;
            }
            _ => return,
        };
        let words = self.cause_words(service, cause);
        if let Some(why) = self.uncounted(service, actions, before) {
            let edge = before.status != self.watches[service].monitor.status();
            if edge {
                let text = words::failure_not_counted(&words, &why);
                self.say(service, message::Event::Failure, text);
            }
            return;
        }
        let last = self.note_failure(service, cause);
        // Where nothing is done about it, it goes on as it did: that has been said.
        if last == Some(cause) && self.is_spent(service) {
            return;
        }
        let history = self.watches[service].monitor.history();
        let decided = actions.as_slice().iter().any(is_decision) || self.delayed(service).is_some();
        let sum = if decided { history.evidence().1 } else { history.failure_sum() };
        let text = words::failure(&words, weight, sum);
        let check = self.check_name(service, cause);
        self.say_of(service, message::Event::Failure, text, |doc| {
            doc.check = check;
            doc.cause = Some(words);
            doc.phase = Some(cause.phase.word().to_owned());
            doc.weight = Some(weight);
            doc.sum = Some(sum);
        });
    }

    /// Why a failed cycle has not been counted, if it has not.
    fn uncounted(&self, service: usize, actions: &Actions, before: Before) -> Option<String> {
        if actions.as_slice().iter().any(is_decision) {
            return None;
        }
        let watch = &self.watches[service];
        let monitor = &watch.monitor;
        let holder = Holder::ALL.into_iter().find(|holder| monitor.held_by(*holder));
        if let Some(holder) = holder {
            return Some(match holder {
                Holder::Operator => {
                    let held = watch.more_ref().and_then(|more| more.held.as_ref());
                    format!("held by {}", held.map_or("a person", |held| held.who.as_str()))
                }
                Holder::Need => format!("waits for {}", self.service_doc(service).unmet.join(", ")),
                Holder::HostBudget => "the host's action budget is spent".to_owned(),
                Holder::LocalFault => "the fault is probably this host's network".to_owned(),
                Holder::Unproven => "a giveover ended unproven".to_owned(),
            });
        }
        if let Some(at) = before.restarting_at {
            let left = message::span::seconds(at.since(self.now));
            return Some(format!("a restart is due in {left}"));
        }
        if monitor.grace_until().is_some_and(|until| self.now < until) {
            return Some("still starting".to_owned());
        }
        let newest = monitor.history().failures().last();
        let counted = newest.is_some_and(|failure| failure.at >= monitor.latest());
        (!counted && self.delayed(service).is_none()).then(|| "it is being seen to".to_owned())
    }

    fn tell_died(&mut self, service: usize, cause: Cause) {
        if self.watches[service].monitor.death() != cause {
            return; // nothing of ours: not begun, or given over
        }
        self.note_failure(service, cause);
        if cause.phase == Phase::Start {
            let text = words::start_failed(&self.trouble(service, cause), "counts as a death");
            return self.say(service, message::Event::StartFailed, text);
        }
        let text = words::died(self.last_pid(service), &cause::ended(cause.code));
        self.say_of(service, message::Event::Died, text, |doc| {
            doc.cause = Some(cause::ended(cause.code));
            doc.phase = Some(cause.phase.word().to_owned());
            doc.weight = Some(100);
        });
    }

    fn tell_restart_done(&mut self, service: usize, outcome: RestartOutcome) {
        let generation = self.watches[service].monitor.generation();
        let words_of = |daemon: &Self, cause| daemon.cause_words(service, cause);
        let (event, text) = match outcome {
            RestartOutcome::Started => {
                let text = words::started(generation, self.pid(service), self.work_took(service));
                (message::Event::Restarted, text)
            }
            RestartOutcome::Invalid(cause) => {
                let text = words::validate_failed(&words_of(self, cause));
                (message::Event::RestartFailed, text)
            }
            RestartOutcome::StartFailed(cause) => {
                let asks = self.watches[service].monitor.giveover_under_way().is_some();
                let then = if asks { words::ASKING } else { "faulted" };
                let text = words::start_failed(&self.trouble(service, cause), then);
                (message::Event::RestartFailed, text)
            }
            RestartOutcome::StopFailed(cause) => {
                (message::Event::StopFailed, words::stop_failed(&self.trouble(service, cause)))
            }
        };
        self.say(service, event, text);
    }

    fn tell_healed(&mut self, service: usize) {
        let (restarts, count) = self.budget(service);
        self.note_failure(service, Cause::new(Phase::Died, Cause::UNKNOWN));
        self.say(service, message::Event::Healed, words::healed("systemd", restarts, count));
    }

    fn tell_action(&mut self, service: usize, event: &Event, action: Action) {
        match action {
            Action::Restart { origin: Origin::Monitor, .. } if !matches!(event, Event::Timeout) => {
                self.tell_restart(service, None);
            }
            // The dead process's own cycle decides on a timeout, too.
            Action::Restart { origin: Origin::Monitor, .. } => {
                let noted = self.watches[service].more().restarts.back().map(|(at, _)| *at);
                let newest = self.watches[service].monitor.history().restart_times().last();
                if noted != newest {
                    self.tell_restart(service, None);
                }
            }
            Action::Giveover { reason, .. } => self.tell_giveover(service, reason),
            // Each further failure is past the same budget, and as little is done about it.
            Action::BudgetSpent | Action::Log if self.is_told_spent(service) => {}
            Action::BudgetSpent => {
                let refills = self.service_doc(service).refills_in_ms;
                let at = refills.map(|ms| Instant::from_millis(self.now.as_millis() + ms));
                let at = at.map(|at| self.time_of_day(at));
                let text = words::budget_spent(at.as_deref());
                self.say(service, message::Event::BudgetSpent, text);
            }
            Action::Log => {
                let (causes, sum) = self.evidence(service);
                self.say(service, message::Event::Logged, words::logged(&causes, sum));
            }
            _ => {}
        }
    }

    fn is_spent(&self, service: usize) -> bool {
        let incident = self.watches[service].more_ref().and_then(|more| more.incident);
        incident.is_some_and(|incident| incident.is_spent())
    }

    /// Whether it was said before, in this incident and since its last restart, that nothing is done
    /// about its failures.
    fn is_told_spent(&mut self, service: usize) -> bool {
        let incident = &mut self.watches[service].more().incident;
        incident.as_mut().is_some_and(Incident::say_spent)
    }

    fn tell_restart(&mut self, service: usize, at: Option<Instant>) {
        let (causes, sum) = self.evidence(service);
        let (restarts, count) = self.budget(service);
        let text = match at {
            None => words::restart(restarts, count, &causes, sum),
            Some(at) => words::restart_delayed(restarts, count, at.since(self.now), &causes, sum),
        };
        let newest = self.watches[service].monitor.history().restart_times().last();
        let more = self.watches[service].more();
        if let Some(at) = newest {
            more.restarts.push_back((at, causes.join(", ")));
            if more.restarts.len() > 32 {
                more.restarts.pop_front();
            }
        }
        if let Some(incident) = &mut more.incident {
            incident.note_restart();
        }
        self.watches[service].marks.push(Mark::Restart);
        self.say_of(service, message::Event::Restart, text, |doc| {
            doc.cause = Some(causes.join(", "));
            doc.sum = Some(sum);
        });
    }

    fn tell_giveover(&mut self, service: usize, reason: Reason) {
        let to = match self.plan.services[service].giveover {
            GoesTo::Board => "the board",
            GoesTo::Node => "another node",
            GoesTo::Command | GoesTo::Nobody => "giveover.command",
        };
        let (restarts, _) = self.budget(service);
        let window = self.watches[service].monitor.policy().limits().retry_interval;
        let text = match reason {
            Reason::BudgetSpent => {
                words::giveover(restarts.saturating_add(1), u64::from(window.as_millis()), to)
            }
            Reason::Immediate(cause) | Reason::StartFailed(cause) => {
                words::giveover_because(&self.cause_words(service, cause), to)
            }
            Reason::Operator => words::giveover_because("asked by an operator", to),
        };
        self.watches[service].marks.push(Mark::Giveover);
        self.say(service, message::Event::Giveover, text);
    }

    fn tell_called_off(&mut self, service: usize, before: Before, actions: &Actions) {
        let restarted =
            actions.as_slice().iter().any(|action| matches!(action, Action::Restart { .. }));
        if before.restarting_at.is_some() && self.delayed(service).is_none() && !restarted {
            let ok = self.watches[service].monitor.status() == Status::Ok;
            let ends = matches!(self.watches[service].monitor.waiting_for(), Waiting::Ended(_));
            let why = match (ok, ends) {
                (true, _) => "healthy again",
                (false, true) => "its monitor ends",
                (false, false) => "it is kept from acting",
            };
            self.say(service, message::Event::CalledOff, words::called_off(why));
        }
    }

    /// R18: announced only on change; and the end of an incident.
    fn tell_status(&mut self, service: usize, before: Before) {
        let monitor = &self.watches[service].monitor;
        let (status, message) = (monitor.status(), monitor.message());
        if (status, message) == (before.status, before.message) {
            return;
        }
        if !message.text().is_empty() {
            self.say(service, message::Event::Status, message.text().to_owned());
        }
        if status == Status::Ok && !self.watches[service].monitor.is_dead() {
            if let Some(incident) = self.watches[service].more_ref().and_then(|more| more.incident)
            {
                let Incident { number, since, failures, restarts, .. } = incident;
                let text = words::recovered(self.now.since(since), number, failures, restarts);
                self.say(service, message::Event::Recovered, text);
                self.watches[service].more().incident = None;
            }
        }
    }

    /// Counts a failure into the incident, and begins one if there is none. Returns the cause of
    /// the one before it.
    fn note_failure(&mut self, service: usize, cause: Cause) -> Option<Cause> {
        let next = self.events.incident + 1;
        let now = self.now;
        let incident = &mut self.watches[service].more().incident;
        let incident = incident.get_or_insert_with(|| Incident::new(next, now));
        self.events.incident = self.events.incident.max(incident.number);
        incident.note_failure(cause)
    }

    /// The failures the last decision was made on, in words, and their sum.
    fn evidence(&self, service: usize) -> (Vec<String>, u16) {
        let (failures, sum) = self.watches[service].monitor.history().evidence();
        let plan = &self.plan.services[service];
        (failures.map(|failure| brief_words(plan, failure.cause)).collect(), sum)
    }

    fn budget(&self, service: usize) -> (u16, Option<u16>) {
        let monitor = &self.watches[service].monitor;
        (monitor.history().restarts(), monitor.policy().limits().retry_count)
    }

    /// Why a start or stop failed: what whoever runs it said, or the cause.
    fn trouble(&self, service: usize, cause: Cause) -> String {
        let said = self.watches[service].more_ref().and_then(|more| more.trouble.clone());
        said.unwrap_or_else(|| self.cause_words(service, cause))
    }

    pub(super) fn cause_words(&self, service: usize, cause: Cause) -> String {
        cause_words(&self.plan.services[service], cause)
    }

    fn check_name(&self, service: usize, cause: Cause) -> Option<String> {
        let checks = &self.plan.services[service].checks;
        checks.get(usize::from(cause.check)).map(|check| check.name.to_string())
    }

    /// One check's answer: what is worth a line beside the verdict of its cycle.
    pub(super) fn tell_check(
        &mut self,
        service: usize,
        place: u8,
        before: Option<ProbeResult>,
        result: ProbeResult,
    ) {
        let check = &self.plan.services[service].checks[usize::from(place)];
        let state = &mut self.watches[service].checks[usize::from(place)];
        let (took, timeout) = (u64::from(state.ms), u64::from(check.timeout.as_millis()));
        let unmeasured = matches!(result, ProbeResult::CannotMeasure(_));
        state.unmeasured = if unmeasured { state.unmeasured.saturating_add(1) } else { 0 };
        let third = state.unmeasured == 3;
        if result == ProbeResult::Healthy && took * 5 > timeout * 4 {
            let text = words::slow_probe(&check.name, took, timeout);
            self.say(service, message::Event::SlowProbe, text);
        }
        if third {
            self.tell_unmeasured(service, place, result);
        }
        if self.log.wants(message::Event::Healthy) && result == ProbeResult::Healthy {
            let check = &self.plan.services[service].checks[usize::from(place)];
            let state = &self.watches[service].checks[usize::from(place)];
            let text =
                words::healthy(&check.name, &shown_words(&check.kind, state.shown), state.ms);
            self.say(service, message::Event::Healthy, text);
        }
        if before != Some(result) || matches!(result, ProbeResult::Failed(..)) {
            self.tell_legacy(service, place, result);
        }
    }

    fn tell_unmeasured(&mut self, service: usize, place: u8, result: ProbeResult) {
        let check = &self.plan.services[service].checks[usize::from(place)];
        let why = result_words(check, Some(result), 0);
        let text = words::unmeasured(&check.name, &why, None);
        self.say(service, message::Event::Unmeasured, text);
    }

    /// The source document's own lines about an `xfnts` probe, character for character.
    fn tell_legacy(&mut self, service: usize, place: u8, result: ProbeResult) {
        let plan = &self.plan.services[service];
        let check = &plan.checks[usize::from(place)];
        let (Kind::Xfnts { fsinfo }, ProbeResult::Failed(_, cause)) = (&check.kind, result) else {
            return;
        };
        let Some(target) = check.targets.first() else { return };
        let port = target.port;
        let (event, text) = match cause.phase {
            Phase::Connect | Phase::Resolve => {
                (message::Event::ConnectFailed, legacy::connect_failed(port, &plan.name))
            }
            Phase::Close => {
                (message::Event::DisconnectFailed, legacy::disconnect_failed(port, &plan.name))
            }
            Phase::Read => (message::Event::ProbeTimedOut, legacy::PROBE_TIMED_OUT.to_owned()),
            _ => {
                let command = legacy::fsinfo_command(fsinfo, &target.host.to_string(), port);
                (message::Event::CheckCommandFailed, legacy::check_command_failed(&command))
            }
        };
        self.say(service, event, text);
    }

    /// A command that was killed and is still there: not ours to signal, or asleep in the kernel.
    pub(super) fn tell_stuck(&mut self) {
        while let Some(stuck) = self.commands.stuck() {
            let service = stuck.key.service as usize;
            let Some(plan) = self.plan.services.get(service) else { continue };
            let check = plan.checks.get(usize::from(stuck.key.check));
            let name = check.map(|check| check.name.to_string()).unwrap_or_default();
            let why = format!("pid {} cannot be ended", stuck.pid);
            self.say(service, message::Event::Unmeasured, words::unmeasured(&name, &why, None));
        }
    }

    /// Names that began to fail or resolve again, once for each.
    pub(super) fn tell_names(&mut self) {
        let notices: Vec<NameNotice> = self.prober.name_notices().collect();
        for NameNotice { name, failing, kept } in notices {
            let (event, text) = match failing {
                Some(code) => (message::Event::NameFailing, host::name_failing(&name, code, kept)),
                None => (message::Event::NameResolved, host::name_resolved(&name)),
            };
            self.say_host(event, text);
        }
    }

    pub(super) fn tell_probing(&mut self, service: usize, port: u16) {
        self.say(service, message::Event::Probing, legacy::probing(port));
    }

    pub(super) fn tell_no_address(&mut self, service: usize, place: u8) {
        let check = &self.plan.services[service].checks[usize::from(place)];
        let (event, text) = match &check.kind {
            _ if check.instance.is_some() => {
                (message::Event::NoNetworkResources, legacy::NO_NETWORK_RESOURCES)
            }
            Kind::Http(plan) if plan.by_document => {
                (message::Event::NoNetworkResources, legacy::NO_NETWORK_RESOURCES)
            }
            _ => (message::Event::NoAddress, legacy::NO_ADDRESS),
        };
        self.say(service, event, text.to_owned());
    }

    /// The source documents' lines about one address and port of a web server.
    pub(super) fn tell_target(&mut self, id: ProbeId, result: ProbeResult) {
        let service = id.service as usize;
        let check = &self.plan.services[service].checks[usize::from(id.check)];
        let ProbeResult::Failed(_, cause) = result else { return };
        let by_document = match &check.kind {
            Kind::Http(plan) => plan.by_document,
            // A secure instance of a web server.
            Kind::Tcp { .. } => {
                check.instance.as_ref().is_some_and(|instance| instance.form == Form::Magnus)
            }
            _ => false,
        };
        let target = check.targets.get(usize::from(id.target)).filter(|_| by_document);
        let Some(target) = target else { return };
        let (host, port) = (target.host.to_string(), target.port);
        let (event, text) = match cause.phase {
            Phase::Connect | Phase::Resolve => {
                let text = legacy::server_connect_failed(&host, port);
                (message::Event::ServerConnectFailed, text)
            }
            _ => {
                let error = cause::seen(cause, asked(check, ""));
                let text = legacy::communication_failed(&host, port, &error);
                (message::Event::CommunicationFailed, text)
            }
        };
        self.say(service, event, text);
    }

    pub(super) fn tell_stop_failed(&mut self, service: usize, cause: Cause) {
        let text = words::stop_failed(&self.cause_words(service, cause));
        self.say(service, message::Event::StopFailed, text);
    }

    pub(super) fn tell_slept(&mut self, ms: u64, void: usize) {
        if void == 0 && ms < 1000 {
            return; // nothing came of it
        }
        self.say_host(message::Event::Slept, host::slept(ms, void as u32));
    }

    pub(super) fn tell_started(&mut self, service: usize, by: Starter) {
        let generation = self.watches[service].monitor.generation();
        let pid = self.pid(service);
        let (event, text) = match by {
            Starter::Adopted => (message::Event::Adopted, words::adopted(generation, pid, None)),
            _ => {
                let took = self.work_took(service);
                (message::Event::Started, words::started(generation, pid, took))
            }
        };
        self.say(service, event, text);
    }

    /// The journal's health, on its edges.
    pub(super) fn tell_journal(&mut self) {
        let health = self.journal.health();
        match (self.journal_failing, health) {
            (None, Health::Failing { since, errno, .. }) => {
                self.journal_failing = Some(since);
                let error = std::io::Error::from_raw_os_error(errno).to_string();
                self.say_host(message::Event::JournalFailing, host::journal_failing(&error));
            }
            (Some(since), Health::Ok) => {
                self.journal_failing = None;
                let text = host::journal_well(self.now.since(since));
                self.say_host(message::Event::JournalWell, text);
            }
            _ => {}
        }
    }

    pub(super) fn time_of_day(&self, at: Instant) -> String {
        self.clock.wall(at).get(11..19).unwrap_or_default().to_owned()
    }
}

fn is_decision(action: &Action) -> bool {
    matches!(
        action,
        Action::Restart { .. } | Action::Giveover { .. } | Action::BudgetSpent | Action::Log
    )
}
