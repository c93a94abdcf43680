//! Fills the model that screens and machines are shown.

use giveover_core::failure::{Failure, ProbeResult};
use giveover_core::monitor::{Ended, Holder, Message, Status, Waiting};
use giveover_core::policy::FailoverMode;
use giveover_core::time::Instant;

use super::Daemon;
use super::handover::Asked;
use super::watch::{CheckState, Watch};
use super::work::{Then, Why, Work};
use crate::config::plan::{CheckPlan, GoesTo, Host, Kind, Run, ServicePlan};
use crate::journal::Health;
use crate::report::found::{self, cause_words, result_words};
use crate::report::model::{
    ActionsDoc, CheckDoc, HeldDoc, HostDoc, RecordDoc, ServiceDoc, StartedDoc, StatusDoc,
    TrustedDoc,
};

impl Daemon {
    /// Everything, for `/status.json`.
    pub(super) fn status_doc(&mut self) -> StatusDoc {
        let host = self.host_doc();
        let services = (0..self.shown()).map(|service| self.service_doc(service)).collect();
        StatusDoc {
            schema: 1,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at: self.clock.wall(self.now),
            host,
            services,
            groups: self.group_docs(),
            pools: self.pool_docs(),
            board: self.board_doc(),
        }
    }

    fn host_doc(&mut self) -> HostDoc {
        let now = self.now;
        let (answering, total) = self.trusted();
        let budget = &mut self.host.budget;
        HostDoc {
            node: self.plan.host.node.clone(),
            pid: std::process::id(),
            up_ms: now.since(self.began),
            file: self.plan.file.display().to_string(),
            included: self.plan.included.len() as u32,
            observe: self.plan.host.observe,
            actions: ActionsDoc {
                spent: budget.spent(now),
                count: budget.count(),
                per_ms: u64::from(self.plan.host.actions.per.as_millis()),
                frees_in_ms: budget.frees_at().map(|at| at.since(now)),
            },
            local_fault: self.host.local_fault,
            trusted: TrustedDoc { answering, total },
            journal: match self.journal.health() {
                Health::Ok => "ok".to_owned(),
                Health::Failing { errno, unwritten, lost, .. } => {
                    let error = std::io::Error::from_raw_os_error(errno);
                    format!("cannot be written: {error}; {unwritten} records wait, {lost} lost")
                }
            },
        }
    }

    /// One service, for screens and for `explain`.
    pub(super) fn service_doc(&self, service: usize) -> ServiceDoc {
        let (plan, watch, now) = (&self.plan.services[service], &self.watches[service], self.now);
        let monitor = &watch.monitor;
        let limits = monitor.policy().limits();
        let window = u64::from(limits.retry_interval.as_millis());
        let tally = monitor.tally(now);
        let (waiting_for, next) = match self.work(service) {
            Work::Stopping(Then::Rest | Then::End) => ("stopping", None),
            Work::Starting(Why::First | Why::Operator) => ("starting", None),
            _ if self.is_handed_over(service) => ("handing_over", None),
            _ => waiting(monitor.waiting_for()),
        };
        let refills = monitor.history().restart_times().find(|at| now.since(*at) <= window);
        ServiceDoc {
            name: plan.name.to_string(),
            status: self.shown_status(watch).word().to_owned(),
            message: self.shown_message(watch).text().to_owned(),
            detail: self.detail(service),
            since: self.clock.wall(watch.since),
            for_ms: now.since(watch.since),
            mode: limits.failover_mode.word().to_owned(),
            giveover: match plan.giveover {
                GoesTo::Command => "command",
                GoesTo::Board => "board",
                GoesTo::Nobody => "none",
                GoesTo::Node => "node",
            }
            .to_owned(),
            pid: self.pid(service),
            unit: match &plan.run {
                Run::Unit(unit) => Some(unit.clone()),
                _ => None,
            },
            generation: monitor.generation(),
            started: watch
                .more_ref()
                .and_then(|more| more.started)
                .map(|(at, by)| StartedDoc { at: self.clock.wall(at), by: by.word().to_owned() }),
            failure_sum: tally.failure_sum,
            failures: self.failure_docs(plan, watch, window),
            restarts: tally.restarts,
            restart_records: self.restart_docs(watch, window),
            retry_count: limits.retry_count,
            retry_interval_ms: window,
            interval_ms: u64::from(limits.thorough_probe_interval.as_millis()),
            held: self.held_doc(watch),
            unmet: self.unmet(plan),
            unmeasured_ms: monitor.unmeasured_since().map(|since| now.since(since)),
            grace_ms: monitor.grace_until().map(|until| until.since(now)).filter(|left| *left > 0),
            waiting_for: waiting_for.to_owned(),
            next_in_ms: next.map(|at| at.since(now)),
            next_failure: next_failure(watch, tally.restarts).to_owned(),
            next_delay_ms: u64::from(monitor.next_delay().as_millis()),
            refills_in_ms: refills.map(|at| (window + 1).saturating_sub(now.since(at))),
            cycles: watch.marks.text(),
            checks: plan
                .checks
                .iter()
                .zip(watch.checks.iter())
                .map(|(check, state)| self.check_doc(plan, watch, (check, state)))
                .collect(),
        }
    }

    fn failure_docs(&self, plan: &ServicePlan, watch: &Watch, window: u64) -> Vec<RecordDoc> {
        let live = |failure: &Failure| self.now.since(failure.at) <= window;
        let failures = watch.monitor.history().failures().filter(live);
        failures
            .map(|failure| RecordDoc {
                at: self.clock.wall(failure.at),
                weight: failure.weight.value(),
                cause: cause_words(plan, failure.cause),
                forgotten_in_ms: (window + 1).saturating_sub(self.now.since(failure.at)),
            })
            .collect()
    }

    fn restart_docs(&self, watch: &Watch, window: u64) -> Vec<RecordDoc> {
        let times = watch.monitor.history().restart_times();
        let live = times.filter(|at| self.now.since(*at) <= window);
        live.map(|at| {
            let known = watch.more_ref().and_then(|more| {
                // The line was written in the turn of the decision, which may be a tick later.
                let near = |when: Instant| when.since(at).max(at.since(when)) <= 50;
                more.restarts.iter().find(|(when, _)| near(*when)).map(|(_, cause)| cause.clone())
            });
            RecordDoc {
                at: self.clock.wall(at),
                weight: 100,
                cause: known.unwrap_or_default(),
                forgotten_in_ms: (window + 1).saturating_sub(self.now.since(at)),
            }
        })
        .collect()
    }

    fn unmet(&self, plan: &ServicePlan) -> Vec<String> {
        let unmet = |need: &&u32| {
            self.watches.get(**need as usize).is_some_and(|watch| !watch.meets_needs())
        };
        let names = plan.needs.iter().filter(unmet);
        names
            .filter_map(|need| Some(self.plan.services.get(*need as usize)?.name.to_string()))
            .collect()
    }

    /// A person's hold first, then what the host holds, then what systemd did.
    fn held_doc(&self, watch: &Watch) -> Option<HeldDoc> {
        let monitor = &watch.monitor;
        let by = |by: &str| HeldDoc {
            by: by.to_owned(),
            since: self.clock.wall(watch.since),
            ..HeldDoc::default()
        };
        if monitor.held_by(Holder::Operator) {
            let held = watch.more_ref().and_then(|more| more.held.as_ref());
            return Some(held.map_or_else(
                || by("operator"),
                |held| HeldDoc {
                    by: "operator".to_owned(),
                    who: Some(held.who.clone()),
                    why: held.why.clone(),
                    since: self.clock.wall(held.since),
                    until: held.until.map(|until| self.clock.wall(until)),
                },
            ));
        }
        if monitor.held_by(Holder::Unproven) {
            return Some(by("unproven"));
        }
        if monitor.held_by(Holder::HostBudget) {
            let until = self.host.budget.frees_at().map(|at| self.clock.wall(at));
            return Some(HeldDoc { until, ..by("host_budget") });
        }
        if monitor.held_by(Holder::LocalFault) {
            return Some(by("local_fault"));
        }
        let stopped = watch.more_ref().is_some_and(|more| more.stopped_by_systemd);
        if stopped && monitor.status() == Status::Offline {
            return Some(by("systemd"));
        }
        let waits_for_budget = monitor.status() == Status::Faulted
            && next_failure(watch, monitor.tally(self.now).restarts) == "budget_spent";
        waits_for_budget.then(|| {
            let window = monitor.policy().limits().retry_interval;
            let refill = monitor.history().restart_times().next().map(|at| at.after(window));
            HeldDoc { until: refill.map(|at| self.clock.wall(at)), ..by("budget") }
        })
    }

    pub(super) fn check_doc(
        &self,
        plan: &ServicePlan,
        watch: &Watch,
        (check, state): (&CheckPlan, &CheckState),
    ) -> CheckDoc {
        let at = if state.result.is_some() { self.clock.wall(state.at) } else { String::new() };
        let address = check.targets.iter().find_map(|target| match &target.host {
            Host::Name(name) => self.prober.chosen(name),
            Host::Address(_) | Host::Socket(_) => None,
        });
        let doc = CheckDoc {
            address: address.map(|(address, of)| format!("{address}, one of {of}")),
            ..found::check_doc(check, state.result, state.shown, state.ms, at)
        };
        let doc = self.with_agent(plan, check, doc);
        if state.not_evaluated {
            let outcome = "not_evaluated".to_owned();
            let cause = self.stopped_at(plan, watch);
            return CheckDoc { outcome, cause, weight: None, phase: None, ..doc };
        }
        doc
    }

    /// Trusted servers, each as it answered last.
    pub(super) fn trusted_docs(&self) -> Vec<CheckDoc> {
        let (plan, watch) = (self.plan.services.get(self.shown()), self.watches.get(self.shown()));
        let (Some(plan), Some(watch)) = (plan, watch) else { return Vec::new() };
        let checks = plan.checks.iter().zip(&watch.checks);
        checks.map(|it| self.check_doc(plan, watch, it)).collect()
    }

    /// `doc`, with what there is to show of heartbeats.
    fn with_agent(&self, plan: &ServicePlan, check: &CheckPlan, mut doc: CheckDoc) -> CheckDoc {
        if !matches!(check.kind, Kind::Agent(_)) {
            return doc;
        }
        let place = self.plan.services.iter().position(|it| it.name == plan.name);
        let number = plan.checks.iter().position(|it| it.name == check.name);
        let (Some(place), Some(number)) = (place, number) else { return doc };
        let mut parts = vec![doc.cause, self.agent_words(place as u32, number as u8)];
        parts.retain(|part| !part.is_empty());
        doc.cause = parts.join("; ");
        doc
    }

    /// Why the rungs above were not tried: what the lowest rung that was not healthy saw.
    fn stopped_at(&self, plan: &ServicePlan, watch: &Watch) -> String {
        let lower = plan.ladder.iter().find_map(|rung| {
            let (check, state) =
                (plan.checks.get(usize::from(*rung))?, watch.checks.get(usize::from(*rung))?);
            let failed = !matches!(state.result, None | Some(ProbeResult::Healthy));
            (failed && !state.not_evaluated).then_some((check, state))
        });
        let Some((check, state)) = lower else { return String::new() };
        let words = found::result_words(check, state.result, state.shown);
        format!("{} {words}", check.name).trim_end().to_owned()
    }

    /// The status people are told: what was healthy before a part of its history was lost is
    /// unknown until a cycle has ended.
    pub(super) fn shown_status(&self, watch: &Watch) -> Status {
        match watch.monitor.status() {
            // R8: its monitor has ended, and it is proven stopped.
            _ if hands_over(watch) => Status::Offline,
            Status::Ok if self.host.doubted.contains(&watch.machine) => Status::Unknown,
            status => status,
        }
    }

    fn shown_message(&self, watch: &Watch) -> Message {
        match self.shown_status(watch) {
            Status::Unknown => Message::None,
            Status::Offline => Message::NotRunning,
            _ => watch.monitor.message(),
        }
    }

    /// The rest of the status in words.
    fn detail(&self, service: usize) -> String {
        let (plan, watch) = (&self.plan.services[service], &self.watches[service]);
        let monitor = &watch.monitor;
        match self.shown_status(watch) {
            Status::Unknown => match monitor.waiting_for() {
                Waiting::Ended(Ended::Unmonitored) if self.work(service) != Work::Idle => {
                    "it is being stopped".to_owned()
                }
                Waiting::Ended(Ended::Unmonitored) => "the monitor was told to end".to_owned(),
                Waiting::Ended(_) => "not started".to_owned(),
                _ => "before its first cycle".to_owned(),
            },
            Status::Offline if hands_over(watch) => "giveover.command runs".to_owned(),
            Status::Offline => match monitor.waiting_for() {
                Waiting::GivenOver if self.group_of(service).is_none() => "given over".to_owned(),
                _ => match self.why_not_here(service) {
                    Some(elsewhere) => elsewhere,
                    None => "stopped on purpose".to_owned(),
                },
            },
            Status::Ok => String::new(),
            Status::Degraded | Status::Faulted if monitor.is_dead() => {
                cause_words(plan, monitor.death())
            }
            Status::Degraded | Status::Faulted => {
                let failing = plan.checks.iter().zip(watch.checks.iter()).filter(|(_, state)| {
                    !matches!(state.result, None | Some(ProbeResult::Healthy))
                });
                let words: Vec<String> = failing
                    .map(|(check, state)| {
                        let words = result_words(check, state.result, state.shown);
                        format!("{} {words}", check.name)
                    })
                    .collect();
                words.join(", ")
            }
        }
    }
}

/// Whether the service is stopped and its `giveover.command` runs.
fn hands_over(watch: &Watch) -> bool {
    let handover = watch.more_ref().and_then(|more| more.handover);
    handover.is_some_and(|handover| handover.at == Asked::Command)
}

fn waiting(waiting: Waiting) -> (&'static str, Option<Instant>) {
    match waiting {
        Waiting::Probe(at) => ("probe", Some(at)),
        Waiting::Answer => ("answer", None),
        Waiting::Delay(at) => ("delay", Some(at)),
        Waiting::Restart => ("restart", None),
        Waiting::StopAgain(at) => ("stop_again", Some(at)),
        Waiting::Giveover => ("giveover", None),
        Waiting::AskAgain(at) => ("ask_again", Some(at)),
        Waiting::DeadCycle(at) => ("dead_cycle", Some(at)),
        Waiting::Release => ("release", None),
        Waiting::GivenOver => ("given_over", None),
        Waiting::Ended(Ended::NotBegun) => ("not_begun", None),
        Waiting::Ended(Ended::Stopped) => ("stopped", None),
        Waiting::Ended(Ended::Unmonitored) => ("unmonitored", None),
    }
}

/// What the next failure leads to, with `restarts` in the window.
fn next_failure(watch: &Watch, restarts: u16) -> &'static str {
    let policy = watch.monitor.policy();
    let limits = policy.limits();
    if limits.failover_mode == FailoverMode::LogOnly {
        "log"
    } else if limits.retry_count.is_none_or(|count| restarts < count) {
        "restart"
    } else if policy.gives_over() {
        "giveover"
    } else {
        "budget_spent"
    }
}
