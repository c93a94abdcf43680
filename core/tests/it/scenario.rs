//! Scenario files in their small form, and the driver that plays them against a monitor.
//!
//! The form is described at the head of `tests/vectors/more.toml`.

use giveover_core::failure::{Cause, Failure, Phase, ProbeResult};
use giveover_core::history::History;
use giveover_core::monitor::{Action, Event, GiveoverOutcome, Holder, Monitor, RestartOutcome};
use giveover_core::policy::{Delays, Destination, FailoverMode, Limits, Policy};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use toml::{Table, Value};

use crate::script::{ANYTHING, CAUSE, PLAIN, ms};

/// How requests for giveover are answered.
enum Requests {
    Always(GiveoverOutcome),
    /// Granted first, and this is the news that follows.
    Granted(GiveoverOutcome),
    /// This before the time, granted from it on.
    Until(Instant, GiveoverOutcome),
}

/// How restarts end.
enum Restarts {
    Always(RestartOutcome),
    Until(Instant, RestartOutcome),
}

const START: Cause = Cause::new(Phase::Start, 1);
const STOP: Cause = Cause::new(Phase::Stop, 1);

/// A scenario and the monitor it is played against.
pub(crate) struct Player {
    monitor: Monitor<Box<[Failure]>, Box<[Instant]>>,
    limits: Limits,
    destination: Destination,
    requests: Requests,
    restarts: Restarts,
    said: Vec<&'static str>,
}

impl Player {
    /// Reads everything of `scenario` but its name and its steps.
    pub(crate) fn new(scenario: &Table) -> Self {
        // Without a cadence of its own nothing is probed but by a step.
        let unwritten = Limits { thorough_probe_interval: Span::MAX, ..PLAIN };
        let limits = limits(&table(scenario, "policy"), unwritten);
        let destination = match scenario.get("destination").map(text) {
            None | Some("elsewhere") => Destination::Elsewhere,
            Some("board") => Destination::Board,
            Some("nobody") => Destination::Nobody,
            Some(other) => panic!("destination = {other:?}"),
        };
        let policy = policy(limits, destination);
        let room = |count: u16| vec![ms(0); usize::from(count.max(64))].into_boxed_slice();
        let (restarts, starts) = (policy.capacity().restarts, policy.capacity().starts);
        let failures = vec![Failure::BLANK; 99].into_boxed_slice();
        let history = History::new(failures, room(restarts), room(starts));
        let monitor = Monitor::new(policy, history, ms(0)).expect("there is room");
        let mut player = Self {
            monitor,
            limits,
            destination,
            requests: requests(&scenario["giveover"]),
            restarts: restart_answers(&scenario["restart"]),
            said: Vec::new(),
        };
        let cadence = limits.thorough_probe_interval != Span::MAX;
        let first = if cadence { Span::ZERO } else { Span::MAX };
        player.feed(Event::Begin { first, started: false }, ms(0));
        player
    }

    /// Plays one step and returns what differs from its expectation.
    pub(crate) fn step(&mut self, step: &Table) -> Result<(), String> {
        let now = instant(&step["at"]);
        while let Some(due) = self.monitor.poll_timeout().filter(|due| *due <= now) {
            self.feed(Event::Timeout, due);
        }
        let inputs: Vec<_> =
            step.iter().filter(|(key, _)| !["at", "expect"].contains(&key.as_str())).collect();
        let [(key, value)] = inputs[..] else { panic!("one input a step: {step:?}") };
        if let Some(event) = self.event(key, value, now) {
            self.feed(event, now);
        }
        let said = std::mem::take(&mut self.said);
        let Some(expect) = step.get("expect") else { return Ok(()) };
        let tally = self.monitor.tally(now);
        for (key, expected) in expect.as_table().expect("expect is a table") {
            let actual = match key.as_str() {
                "actions" => Value::from(said.clone()),
                "status" => Value::from(self.monitor.status().word()),
                "failure_sum" => Value::from(i64::from(tally.failure_sum)),
                "restarts" => Value::from(i64::from(tally.restarts)),
                other => panic!("no expectation is called {other}"),
            };
            if actual != *expected {
                return Err(format!("at {}: {key} is {actual}, not {expected}", step["at"]));
            }
        }
        Ok(())
    }

    fn event(&mut self, key: &str, value: &Value, now: Instant) -> Option<Event> {
        let yes = value.as_bool();
        Some(match (key, value.as_str(), yes) {
            ("tick", _, Some(true)) => return None,
            ("probe", Some("immediate"), _) => {
                return self.probed(ProbeResult::Immediate(CAUSE), now);
            }
            ("probe", None, _) => return self.probed(weighed(value), now),
            ("measure", _, Some(false)) => {
                return self.probed(ProbeResult::CannotMeasure(CAUSE), now);
            }
            ("void", _, Some(true)) => return self.probed(ProbeResult::Void, now),
            ("died", _, Some(true)) => Event::Died { cause: Cause::new(Phase::Died, 1) },
            ("hold", _, Some(true)) => Event::Hold(Holder::Operator),
            ("release", _, Some(true)) => Event::Release(Holder::Operator),
            ("need", Some("unmet"), _) => Event::Hold(Holder::Need),
            ("need", Some("met"), _) => Event::Release(Holder::Need),
            ("host_budget", Some("spent"), _) => Event::Hold(Holder::HostBudget),
            ("host_budget", Some("free"), _) => Event::Release(Holder::HostBudget),
            ("local_fault", _, Some(true)) => Event::Hold(Holder::LocalFault),
            ("local_fault", _, Some(false)) => Event::Release(Holder::LocalFault),
            ("clear", _, Some(true)) => Event::Clear,
            ("restart", Some("operator"), _) => Event::Restart,
            ("giveover", Some("operator"), _) => Event::Giveover,
            ("stopped", _, Some(true)) => Event::Stopped,
            ("begin", _, Some(true)) => {
                Event::Begin { first: self.limits.thorough_probe_interval, started: true }
            }
            ("policy", _, _) => {
                self.limits = limits(value.as_table().expect("limits"), self.limits);
                Event::SetPolicy(policy(self.limits, self.destination))
            }
            _ => panic!("no input is called {key} = {value}"),
        })
    }

    /// The answer to the probe under way, or to one begun now; nothing where none can be.
    fn probed(&mut self, result: ProbeResult, now: Instant) -> Option<Event> {
        if self.monitor.probe_under_way().is_none() {
            self.feed(Event::ProbeNow, now);
        }
        let ticket = self.monitor.probe_under_way()?;
        Some(Event::Probed { ticket, result })
    }

    /// Feeds `event` and answers what it asks for, all at the same time.
    fn feed(&mut self, event: Event, now: Instant) {
        for action in self.monitor.handle(event, now) {
            match action {
                Action::Probe { .. } | Action::Status { .. } => {}
                Action::Cancel { .. } => self.said.push("cancel"),
                Action::BudgetSpent => self.said.push("held"),
                Action::Log => self.said.push("log"),
                Action::Reset { .. } => self.said.push("reset"),
                Action::Restart { ticket, .. } => {
                    let outcome = match self.restarts {
                        Restarts::Always(outcome) => outcome,
                        Restarts::Until(from, outcome) if now < from => outcome,
                        Restarts::Until(..) => RestartOutcome::Started,
                    };
                    self.said.push(match outcome {
                        RestartOutcome::Started => "restart",
                        RestartOutcome::StartFailed(_) => "restart_failed",
                        RestartOutcome::StopFailed(_) => "stop_failed",
                        RestartOutcome::Invalid(_) => "restart_invalid",
                    });
                    self.feed(Event::RestartDone { ticket, outcome }, now);
                }
                Action::Giveover { ticket, .. } => {
                    let (first, then) = match self.requests {
                        Requests::Always(outcome) => (outcome, None),
                        Requests::Granted(then) => (GiveoverOutcome::Granted, Some(then)),
                        Requests::Until(from, outcome) if now < from => (outcome, None),
                        Requests::Until(..) => (GiveoverOutcome::Granted, None),
                    };
                    self.said.push(match then.unwrap_or(first) {
                        GiveoverOutcome::Granted => "giveover",
                        GiveoverOutcome::Denied => "giveover_denied",
                        GiveoverOutcome::NotNow => "giveover_not_now",
                        GiveoverOutcome::Aborted { .. } => "giveover_aborted",
                        GiveoverOutcome::Unproven => "giveover_unproven",
                    });
                    for outcome in [Some(first), then].into_iter().flatten() {
                        self.feed(Event::GiveoverDone { ticket, outcome }, now);
                    }
                }
                other => panic!("no word for {other:?}"),
            }
        }
    }
}

fn policy(limits: Limits, destination: Destination) -> Policy {
    let scope = giveover_core::policy::Scope { destination, ..ANYTHING };
    Policy::new(limits, scope).expect("a possible policy").0
}

fn limits(written: &Table, mut limits: Limits) -> Limits {
    for (key, value) in written {
        match key.as_str() {
            "retry_count" => limits.retry_count = u16::try_from(whole(value)).ok(),
            "retry_interval" => limits.retry_interval = span(value),
            "thorough_probe_interval" => limits.thorough_probe_interval = span(value),
            "start_grace" => limits.start_grace = span(value),
            "restart_delay" => {
                let list = value.as_array().expect("a list of waits");
                let list: Vec<Span> = list.iter().map(span).collect();
                limits.restart_delay = Delays::new(&list).expect("few");
            }
            "failover_mode" => {
                let mode = FailoverMode::ALL.into_iter().find(|mode| mode.word() == text(value));
                limits.failover_mode = mode.expect("a mode");
            }
            other => panic!("no limit is called {other}"),
        }
    }
    limits
}

fn requests(answer: &Value) -> Requests {
    if let Some(answer) = answer.as_table() {
        return match answer.iter().next().map(|(key, at)| (key.as_str(), instant(at))) {
            Some(("accept_from", from)) => Requests::Until(from, GiveoverOutcome::Denied),
            Some(("not_now_until", until)) => Requests::Until(until, GiveoverOutcome::NotNow),
            _ => panic!("giveover = {answer:?}"),
        };
    }
    let aborted = |stopped, cause| GiveoverOutcome::Aborted { stopped, cause };
    match text(answer) {
        "accept" => Requests::Always(GiveoverOutcome::Granted),
        "deny" => Requests::Always(GiveoverOutcome::Denied),
        "not_now" => Requests::Always(GiveoverOutcome::NotNow),
        "abort_stopped" => Requests::Granted(aborted(true, START)),
        "abort_running" => Requests::Granted(aborted(false, STOP)),
        "unproven" => Requests::Granted(GiveoverOutcome::Unproven),
        other => panic!("giveover = {other:?}"),
    }
}

fn restart_answers(answer: &Value) -> Restarts {
    if let Some(answer) = answer.as_table() {
        return Restarts::Until(instant(&answer["ok_from"]), RestartOutcome::StartFailed(START));
    }
    Restarts::Always(match text(answer) {
        "ok" => RestartOutcome::Started,
        "fail" => RestartOutcome::StartFailed(START),
        "stop_fails" => RestartOutcome::StopFailed(STOP),
        "invalid" => RestartOutcome::Invalid(START),
        other => panic!("restart = {other:?}"),
    })
}

fn weighed(value: &Value) -> ProbeResult {
    match u8::try_from(whole(value)).expect("0 to 100") {
        0 => ProbeResult::Healthy,
        weight => ProbeResult::Failed(Weight::new(weight).expect("0 to 100"), CAUSE),
    }
}

fn table(scenario: &Table, key: &str) -> Table {
    scenario[key].as_table().expect("a table").clone()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a word")
}

fn whole(value: &Value) -> i64 {
    value.as_integer().expect("a number")
}

fn span(value: &Value) -> Span {
    let written = text(value);
    let number = |unit| written.strip_suffix(unit).and_then(|number| number.parse().ok());
    match (number("ms"), number("s")) {
        (Some(ms), _) => Span::from_millis(ms),
        (None, Some(s)) => Span::from_secs(s),
        _ => panic!("{written:?} is no time"),
    }
}

fn instant(value: &Value) -> Instant {
    ms(0).after(span(value))
}
