//! Scripts: at this time, this happens, and these actions come of it.

use giveover_core::failure::{Cause, Failure, Phase, ProbeResult};
use giveover_core::history::History;
use giveover_core::monitor::{
    Action, Event, GiveoverOutcome, Holder, Message, Monitor, Origin, RestartOutcome, Status,
    Ticket,
};
use giveover_core::policy::{Delays, FailoverMode, Limits, Policy, Scope};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

/// A monitor with room for every policy the tests use.
pub(crate) type Roomy = Monitor<[Failure; 99], [Instant; 32]>;

/// What a check finds in these tests when it finds something.
pub(crate) const CAUSE: Cause = Cause::of_check(0, Phase::Read, 110);

/// Limits without waits or grace, so that each test names the one it is about.
pub(crate) const PLAIN: Limits = Limits {
    thorough_probe_interval: Span::from_secs(30),
    probe_timeout: Span::from_secs(10),
    retry_count: Some(2),
    retry_interval: Span::from_secs(300),
    start_timeout: Span::from_secs(60),
    stop_timeout: Span::from_secs(30),
    start_grace: Span::ZERO,
    restart_delay: Delays::NONE,
    failover_mode: FailoverMode::Soft,
};

/// Any weight, a process that is watched, somewhere to go.
pub(crate) const ANYTHING: Scope = Scope { smallest: Weight::LEAST, ..Scope::USUAL };

/// An instant in milliseconds.
pub(crate) fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A monitor that has not begun.
pub(crate) fn roomy(policy: Policy, now: Instant) -> Roomy {
    let history = History::new([Failure::BLANK; 99], [ms(0); 32], [ms(0); 32]);
    Monitor::new(policy, history, now).expect("there is room")
}

/// What happens in one step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// Nothing but time.
    Tick,
    /// The probe that is under way, or one begun now, finds a failure of this weight; 0 is healthy.
    Probe(u8),
    /// It finds one that skips the restart.
    Immediate,
    /// It could not run.
    CannotMeasure,
    /// We were not running meanwhile.
    Void,
    /// The process ends.
    Died,
    /// The restart under way has worked.
    Started,
    /// Its start failed.
    StartFails,
    /// Its stop failed.
    StopFails,
    /// Its validation refused it.
    Invalid,
    /// The request for giveover is answered.
    Answer(GiveoverOutcome),
    /// Any other event.
    Feed(Event),
}

pub(crate) use Input::*;

pub(crate) const GRANTED: Input = Answer(GiveoverOutcome::Granted);
pub(crate) const DENIED: Input = Answer(GiveoverOutcome::Denied);
pub(crate) const NOT_NOW: Input = Answer(GiveoverOutcome::NotNow);
pub(crate) const UNPROVEN: Input = Answer(GiveoverOutcome::Unproven);
pub(crate) const ABORTED_STOPPED: Input =
    Answer(GiveoverOutcome::Aborted { stopped: true, cause: Cause::new(Phase::Start, 1) });
pub(crate) const ABORTED_RUNNING: Input =
    Answer(GiveoverOutcome::Aborted { stopped: false, cause: Cause::new(Phase::Stop, 1) });
pub(crate) const BEGIN: Input = Feed(Event::Begin { first: Span::from_secs(30), started: true });
pub(crate) const ADOPT: Input = Feed(Event::Begin { first: Span::from_secs(30), started: false });
pub(crate) const OPERATOR_RESTART: Input = Feed(Event::Restart);
pub(crate) const OPERATOR_GIVEOVER: Input = Feed(Event::Giveover);

/// A holder holds.
pub(crate) fn hold(holder: Holder) -> Input {
    Feed(Event::Hold(holder))
}

/// A holder releases.
pub(crate) fn release(holder: Holder) -> Input {
    Feed(Event::Release(holder))
}

/// A monitor and the driver that keeps time for it.
pub(crate) struct Script {
    pub(crate) monitor: Roomy,
    giveover: Option<Ticket>,
}

impl Script {
    /// A monitor adopted at zero whose first probe is due an interval later.
    pub(crate) fn new(limits: Limits) -> Self {
        Self::with_scope(limits, ANYTHING)
    }

    /// The same with another scope.
    pub(crate) fn with_scope(limits: Limits, scope: Scope) -> Self {
        let (policy, _) = Policy::new(limits, scope).expect("a possible policy");
        let mut monitor = roomy(policy, ms(0));
        let first = limits.thorough_probe_interval;
        let actions = monitor.handle(Event::Begin { first, started: false }, ms(0));
        assert!(actions.as_slice().is_empty(), "a monitor that begins has nothing to say");
        Self { monitor, giveover: None }
    }

    /// Lets time pass to `at_ms`, waking the monitor whenever it asked to be, then feeds `input`.
    /// What all of it led to must read as `expected`, in order: see [`word`].
    #[track_caller]
    pub(crate) fn at(&mut self, at_ms: u64, input: Input, expected: &str) {
        let mut said = Vec::new();
        let now = ms(at_ms);
        while let Some(due) = self.monitor.poll_timeout().filter(|due| *due <= now) {
            self.feed(Event::Timeout, due, &mut said);
        }
        if let Some(event) = self.event(input, now, &mut said) {
            self.feed(event, now, &mut said);
        }
        assert_eq!(said.join(", "), expected, "at {at_ms} ms: {input:?}");
    }

    /// Asserts the live sum and the live restarts.
    #[track_caller]
    pub(crate) fn counts(&self, at_ms: u64, failure_sum: u16, restarts: u16) {
        let tally = self.monitor.tally(ms(at_ms));
        assert_eq!((tally.failure_sum, tally.restarts), (failure_sum, restarts));
    }

    fn event(&mut self, input: Input, now: Instant, said: &mut Vec<String>) -> Option<Event> {
        Some(match input {
            Tick => return None,
            Probe(0) => self.probed(ProbeResult::Healthy, now, said),
            Probe(weight) => {
                let weight = Weight::new(weight).expect("a weight");
                self.probed(ProbeResult::Failed(weight, CAUSE), now, said)
            }
            Immediate => self.probed(ProbeResult::Immediate(CAUSE), now, said),
            CannotMeasure => self.probed(ProbeResult::CannotMeasure(CAUSE), now, said),
            Void => self.probed(ProbeResult::Void, now, said),
            Died => Event::Died { cause: Cause::new(Phase::Died, 1) },
            Started => self.restarted(RestartOutcome::Started),
            StartFails => self.restarted(RestartOutcome::StartFailed(Cause::new(Phase::Start, 1))),
            StopFails => self.restarted(RestartOutcome::StopFailed(Cause::new(Phase::Stop, 1))),
            Invalid => self.restarted(RestartOutcome::Invalid(Cause::new(Phase::Start, 2))),
            Answer(outcome) => {
                let ticket = self.giveover.expect("a request for giveover");
                Event::GiveoverDone { ticket, outcome }
            }
            Feed(event) => event,
        })
    }

    fn probed(&mut self, result: ProbeResult, now: Instant, said: &mut Vec<String>) -> Event {
        if self.monitor.probe_under_way().is_none() {
            self.feed(Event::ProbeNow, now, said);
        }
        let ticket = self.monitor.probe_under_way().expect("a probe can be under way");
        Event::Probed { ticket, result }
    }

    fn restarted(&self, outcome: RestartOutcome) -> Event {
        let (ticket, _) = self.monitor.restart_under_way().expect("a restart under way");
        Event::RestartDone { ticket, outcome }
    }

    fn feed(&mut self, event: Event, now: Instant, said: &mut Vec<String>) {
        for action in self.monitor.handle(event, now) {
            if let Action::Giveover { ticket, .. } = action {
                self.giveover = Some(ticket);
            }
            said.extend(word(&action));
        }
    }
}

/// An action in a word or two. Probes go without saying, and so do the texts that go with a
/// status, but for the one of a dead process.
fn word(action: &Action) -> Option<String> {
    Some(match action {
        Action::Probe { .. } => return None,
        Action::Restart { origin: Origin::Monitor, .. } => "restart".into(),
        Action::Restart { origin: Origin::Operator, .. } => "restart for operator".into(),
        Action::Restart { origin: Origin::Return, .. } => "restart after giveover".into(),
        Action::Giveover { .. } => "giveover".into(),
        Action::Cancel { .. } => "cancel".into(),
        Action::BudgetSpent => "budget spent".into(),
        Action::Log => "log".into(),
        Action::Reset { .. } => "reset".into(),
        Action::Status { status: Status::Offline, .. } => "offline".into(),
        Action::Status { status, message: Message::NotRunning } => {
            format!("{} (not running)", status.word())
        }
        Action::Status { status, .. } => status.word().into(),
        other => panic!("no word for {other:?}"),
    })
}
