//! A cycle: begin the checks that are due, gather their answers, make the one verdict.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::ladder::{Checks, Round, Step};
use giveover_core::monitor::{Event, Ticket};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use rustix::io::Errno;

use super::Daemon;
use super::once::ONCE;
use super::watch::{self, mark};
use crate::check::command::Command;
use crate::check::database::Databases;
use crate::check::{Answer, Handover, ProbeId};
use crate::config::dollar::Values;
use crate::config::plan::{Kind, Run};
use crate::message;

impl Daemon {
    /// Begins the cycle of `ticket`.
    pub(super) fn begin_cycle(&mut self, service: usize, ticket: Ticket) {
        if let Some((_, result)) = self.reported.take_if(|(reported, _)| *reported == service) {
            return self.feed(service, Event::Probed { ticket, result });
        }
        let now = self.now;
        let plan = &self.plan.services[service];
        let watch = &mut self.watches[service];
        watch.cycle = watch.cycle.wrapping_add(1) & !ONCE;
        let due = watch.due(plan, now);
        let (round, step) = Round::begin(&watch::ladder(plan), due);
        self.rounds.insert(service, (ticket, round));
        for place in due.iter() {
            if let Some(check) = watch.checks.get_mut(usize::from(place)) {
                check.not_evaluated = false;
            }
        }
        self.follow(service, step);
    }

    /// Begins the checks of `step`, and ends the cycle once there is a verdict.
    fn follow(&mut self, service: usize, step: Step) {
        self.begin_checks(service, step.begin);
        if let Some(verdict) = step.verdict {
            self.end_cycle(service, verdict);
        }
    }

    fn begin_checks(&mut self, service: usize, checks: Checks) {
        for place in checks.iter() {
            self.begin_check(service, place);
        }
    }

    /// Begins one check on each of its targets.
    fn begin_check(&mut self, service: usize, place: u8) {
        let cycle = self.watches[service].cycle;
        let id = ProbeId { service: service as u32, check: place, target: 0, cycle };
        if let Some(state) = self.watches[service].checks.get_mut(usize::from(place)) {
            (state.worst, state.pending) = (None, 1);
        }
        if self.settle_instance(id) {
            self.begin_settled(id);
        }
    }

    /// The same, once it is known whom and how it asks.
    pub(super) fn begin_settled(&mut self, id: ProbeId) {
        let (now, service, place) = (self.now, id.service as usize, id.check);
        let plan = &self.plan.services[service];
        let watch = &mut self.watches[service];
        let (Some(state), Some(check)) =
            (watch.checks.get_mut(usize::from(place)), plan.checks.get(usize::from(place)))
        else {
            return;
        };
        match &check.kind {
            Kind::Process => {
                let result = self.look_at_process(service, place);
                self.take(Answer { id, result, elapsed_ms: 0, shown: 0 });
            }
            Kind::Command(_) => self.begin_program(id),
            Kind::Database(plan) if plan.asks_address() && check.targets.is_empty() => {
                self.no_address(id);
            }
            Kind::Database(_) => self.ask_database(id, false),
            Kind::State(_) => self.begin_look(id),
            Kind::Agent(_) if check.targets.is_empty() && check.asks_addresses() => {
                self.no_address(id);
            }
            Kind::Agent(_) => self.answer_agent(id),
            Kind::Tcp { .. }
            | Kind::Http(_)
            | Kind::Xfnts { .. }
            | Kind::Talk(_)
            | Kind::Tls(_)
            | Kind::Hello(_)
            | Kind::Remote(_)
                if check.targets.is_empty() =>
            {
                self.no_address(id);
            }
            Kind::Tcp { .. }
            | Kind::Http(_)
            | Kind::Xfnts { .. }
            | Kind::Talk(_)
            | Kind::Tls(_)
            | Kind::Hello(_)
            | Kind::Remote(_) => {
                state.pending = check.targets.len().min(usize::from(u8::MAX)) as u8;
                for target in 0..state.pending {
                    self.begin_target(ProbeId { target, ..id }, now);
                }
            }
        }
    }

    fn begin_target(&mut self, id: ProbeId, now: Instant) {
        let check = &self.plan.services[id.service as usize].checks[usize::from(id.check)];
        if let Kind::Xfnts { .. } = check.kind {
            let port = check.targets.get(usize::from(id.target)).map_or(0, |target| target.port);
            self.tell_probing(id.service as usize, port);
        }
        self.prober.start(&mut self.reactor, &self.plan.services, id, now);
    }

    /// Begins a probe of a database's monitor.
    pub(super) fn ask_database(&mut self, id: ProbeId, once: bool) {
        let now = self.now;
        let plan = &self.plan.services[id.service as usize];
        let check = &plan.checks[usize::from(id.check)];
        let databases = self.databases.get_or_insert_with(|| {
            let mut databases = Databases::new();
            databases.need(&self.reactor, self.files.again());
            Box::new(databases)
        });
        databases.start(&mut self.reactor, &plan.name, (check, once), id, now);
    }

    /// Begins a check that is a command. Its program is made ready once.
    pub(super) fn begin_program(&mut self, id: ProbeId) {
        let now = self.now;
        let plan = &self.plan.services[id.service as usize];
        let check = &plan.checks[usize::from(id.check)];
        let Kind::Command(command) = &check.kind else { return };
        let key = Self::program_key(id, command);
        if !self.programs.contains_key(&key) {
            let command = self.program_plan(id, command);
            let values = Values {
                service: Some(&plan.name),
                check: Some(&check.name),
                node: Some(&self.plan.host.node),
                ..Values::default()
            };
            let environment = self.reactor.children.environment();
            match Command::new(&command, &check.weights, &values, environment) {
                Ok(command) => {
                    self.programs.insert(key, command);
                }
                Err(_) => {
                    let cause = Cause::of_check(id.check, Phase::Exit, 0);
                    let result = ProbeResult::CannotMeasure(cause);
                    return self.take(Answer { id, result, elapsed_ms: 0, shown: 0 });
                }
            }
        }
        if let Some(command) = self.programs.get_mut(&key) {
            self.commands.start(&mut self.reactor, id, command, check.timeout, now);
        }
    }

    /// The socket part of an `xfnts` probe went well: `fsinfo` in what remains of its time.
    pub(super) fn begin_fsinfo(&mut self, handover: Handover) {
        let (id, now) = (handover.id, self.now);
        let plan = &self.plan.services[id.service as usize];
        let check = &plan.checks[usize::from(id.check)];
        let (Kind::Xfnts { fsinfo }, Some(target)) =
            (&check.kind, check.targets.get(usize::from(id.target)))
        else {
            return;
        };
        let elapsed_ms = now.since(handover.started) as u32;
        let late = Cause::of_check(id.check, Phase::Read, Errno::TIMEDOUT.raw_os_error() as u16);
        let failed = ProbeResult::Failed(Weight::HALF, late);
        let remaining = u32::try_from(handover.remaining_ms(now)).unwrap_or(u32::MAX);
        if remaining == 0 {
            return self.take(Answer { id, result: failed, elapsed_ms, shown: 0 });
        }
        let server = format!("{}:{}", target.host, target.port);
        let values = Values { service: Some(&plan.name), ..Values::default() };
        let environment = self.reactor.children.environment();
        let text = message::legacy::fsinfo_command(fsinfo, &target.host.to_string(), target.port);
        match Command::fsinfo(fsinfo, &server, &values, environment) {
            Ok(mut command) => {
                let timeout = Span::from_millis(remaining);
                self.commands.start(&mut self.reactor, id, &mut command, timeout, now);
                let text = message::legacy::checking_server(&text);
                self.say(id.service as usize, message::Event::CheckingServer, text);
            }
            Err(_) => self.take(Answer { id, result: failed, elapsed_ms, shown: 0 }),
        }
    }

    /// The document's monitors exit without an address; ours stays, says so, and cannot measure.
    fn no_address(&mut self, id: ProbeId) {
        let cause = Cause::of_check(id.check, Phase::Resolve, 0);
        let state = self.watches[id.service as usize].checks.get(usize::from(id.check));
        let said =
            state.is_some_and(|state| matches!(state.result, Some(ProbeResult::CannotMeasure(_))));
        if !said {
            self.tell_no_address(id.service as usize, id.check);
        }
        self.take(Answer {
            id,
            result: ProbeResult::CannotMeasure(cause),
            elapsed_ms: 0,
            shown: 0,
        });
    }

    pub(super) fn look_at_process(&self, service: usize, place: u8) -> ProbeResult {
        if matches!(self.plan.services[service].run, Run::Watched) {
            // Under `--observe`: it is not our process.
            ProbeResult::CannotMeasure(Cause::of_check(place, Phase::Died, Cause::UNKNOWN))
        } else if self.watches[service].monitor.is_dead() {
            let weight = self.plan.services[service].checks[usize::from(place)].weights.exit;
            ProbeResult::Failed(weight, Cause::of_check(place, Phase::Died, 0))
        } else {
            ProbeResult::Healthy
        }
    }

    /// Takes the answer of one probe. An answer of an earlier cycle is late, and nothing.
    pub(super) fn take(&mut self, answer: Answer) {
        let ProbeId { service, check, cycle, .. } = answer.id;
        if ProbeId::member(service).is_some() {
            return self.take_of_pool(&answer);
        }
        if ProbeId::group(service).is_some() {
            return self.take_of_group(&answer);
        }
        if cycle & ONCE != 0 {
            return self.take_once(answer);
        }
        let (service, now) = (service as usize, self.now);
        let Some(watch) = self.watches.get_mut(service) else { return };
        let current = watch.cycle == cycle && self.rounds.contains_key(&service);
        let state = watch.checks.get(usize::from(check)).filter(|_| current);
        if state.is_none_or(|state| state.pending == 0) {
            return;
        }
        self.tell_target(answer.id, answer.result);
        let Some(state) = self.watches[service].checks.get_mut(usize::from(check)) else { return };
        let before = state.result;
        let Some(result) = state.hear(&answer, now) else { return };
        self.tell_check(service, check, before, result);
        let plan = &self.plan.services[service];
        let ladder = watch::ladder(plan);
        let Some((_, round)) = self.rounds.get_mut(&service) else { return };
        let step = round.answer(&ladder, check, result);
        self.follow(service, step);
    }

    fn end_cycle(&mut self, service: usize, verdict: ProbeResult) {
        let now = self.now;
        let plan = &self.plan.services[service];
        let watch = &mut self.watches[service];
        let Some((ticket, round)) = self.rounds.remove(&service) else { return };
        if !plan.ladder.is_empty() {
            let ladder = watch::ladder(plan);
            for (place, state) in watch.checks.iter_mut().enumerate() {
                state.not_evaluated = round.not_evaluated(&ladder, place as u8);
            }
        }
        watch.marks.push(mark(verdict));
        watch.failing_at = match verdict {
            ProbeResult::Failed(..) | ProbeResult::Immediate(_) => Some(now),
            ProbeResult::Healthy => None,
            ProbeResult::CannotMeasure(_) | ProbeResult::Void => watch.failing_at,
        };
        let failing = watch.failing_at == Some(now);
        if failing || self.host.local_fault {
            self.judge_local_fault();
        }
        self.feed(service, Event::Probed { ticket, result: verdict });
        if service == self.shown() {
            self.tell_pools_trusted();
        }
    }
}
