//! A timeline: what a service's monitor saw, decided and said, in a form that can be drawn and
//! compared. Played scenarios, worlds and journals all come to one of these.

use std::sync::Arc;

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{
    Action, Actions, Event, GiveoverOutcome, Holder, Origin, RestartOutcome, Status, Ticket,
    Waiting,
};
use giveover_core::peer::Role;
use giveover_core::policy::Policy;
use giveover_core::time::{Instant, Span};

use crate::clock::rfc3339;
use crate::machine::BoxedMonitor;
use crate::message::span;
use crate::report::time::Moment;

/// Everything that is drawn on one sheet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// What stands above it.
    pub title: String,
    /// Where it begins.
    pub begin: Instant,
    /// Where it ends.
    pub end: Instant,
    /// How its instants are told to people.
    pub calendar: Calendar,
    /// A track for each service.
    pub tracks: Vec<Track>,
    /// The board's lines, if there is a board.
    pub lines: Vec<Line>,
    /// The nodes, if there are any.
    pub lanes: Vec<Lane>,
}

impl Timeline {
    /// How long it is, in milliseconds; never zero.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end.since(self.begin).max(1)
    }
}

/// How instants are told to people: by the wall clock of whoever recorded them, or from the
/// beginning where nobody did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar(Vec<(Instant, u64)>);

impl Calendar {
    /// At `at` the wall clock showed `wall_ms` since 1970. Told in order of time; what only repeats
    /// the one before is not kept.
    pub fn note(&mut self, at: Instant, wall_ms: u64) {
        if wall_ms > 0 && self.wall_ms(at) != Some(wall_ms) {
            self.0.push((at, wall_ms));
        }
    }

    /// What the wall clock showed at `at`, in ms since 1970.
    #[must_use]
    pub fn wall_ms(&self, at: Instant) -> Option<u64> {
        let before = self.0.iter().rev().find(|(from, _)| *from <= at).or(self.0.first());
        before.map(|(from, wall)| match at >= *from {
            true => wall.saturating_add(at.since(*from)),
            false => wall.saturating_sub(from.since(at)),
        })
    }

    /// The time of day, or how long it is since the beginning of time.
    #[must_use]
    pub fn time(&self, at: Instant) -> String {
        match self.moment(at) {
            Some(moment) => moment.time(),
            None => relative(at.as_millis()),
        }
    }

    /// The same with its day where that is another than `near`'s.
    #[must_use]
    pub fn short(&self, at: Instant, near: Instant) -> String {
        match (self.moment(at), self.moment(near)) {
            (Some(moment), Some(near)) => moment.short(near),
            _ => relative(at.as_millis()),
        }
    }

    fn moment(&self, at: Instant) -> Option<Moment> {
        Moment::parse(&rfc3339(self.wall_ms(at)?))
    }
}

/// `0s`, `12.5s`, `4m 10s`, `3h 5m 7s`: nothing of it is left out but parts of a second past a minute.
fn relative(ms: u64) -> String {
    let (d, h, m, s) = (ms / 86_400_000, ms / 3_600_000 % 24, ms / 60_000 % 60, ms / 1000 % 60);
    if ms < 60_000 {
        return span::short(ms);
    }
    let parts = [(d, 'd'), (h, 'h'), (m, 'm'), (s, 's')];
    let words = parts.iter().filter(|(count, _)| *count > 0);
    words.map(|(count, unit)| format!("{count}{unit}")).collect::<Vec<_>>().join(" ")
}

/// What happened to one service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Its name.
    pub name: Arc<str>,
    /// Restarts its policy allows; `None` is unlimited.
    pub retry_count: Option<u16>,
    /// In which window.
    pub retry_interval: Span,
    /// What happened, in order of time.
    pub marks: Vec<Mark>,
    /// Its status from each of these instants on.
    pub statuses: Vec<(Instant, Status)>,
    /// The live sum of weights from each of these instants on.
    pub sums: Vec<(Instant, u16)>,
    /// The live number of restarts from each of these instants on.
    pub restarts: Vec<(Instant, u16)>,
}

/// What a node was, and when it held the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: Arc<str>,
    /// Its role from each of these instants on; none while its daemon does not run.
    pub roles: Vec<(Instant, Option<Role>)>,
    /// Whether it held the address from each of these instants on.
    pub held: Vec<(Instant, bool)>,
}

/// One thing that happened to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Instant,
    /// What.
    pub what: What,
}

/// What can happen to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A cycle was healthy.
    Healthy,
    /// A cycle found this weight; whether it counted is the sum's to say.
    Failed(u8),
    /// A cycle found what skips the restart.
    Immediate,
    /// Nothing could be measured.
    Unmeasured,
    /// We were not running.
    Void,
    /// The process ended.
    Died,
    /// A restart was decided; it may still wait for its delay.
    Decided,
    /// A restart that was decided is not made after all.
    CalledOff,
    /// A restart was begun.
    Restart {
        /// A person wanted it.
        by_person: bool,
    },
    /// It has been carried out.
    Started,
    /// Nothing runs: its start failed.
    StartFailed,
    /// The old instance is not proven gone.
    StopFailed,
    /// Validation refused it.
    Invalid,
    /// Giveover was asked for.
    Giveover,
    /// It was granted.
    Granted,
    /// It was denied.
    Denied,
    /// Not now.
    NotNow,
    /// It could not be carried out.
    Aborted,
    /// Nobody knows how it ended.
    Unproven,
    /// The request was withdrawn.
    Cancelled,
    /// A failure past the budget, and nobody to give over to.
    BudgetSpent,
    /// A failure that is only written down.
    Logged,
    /// The node is to be reset.
    Reset,
    /// Kept from acting.
    Held(Holder),
    /// Let go.
    Released(Holder),
    /// A person forgot the histories.
    Cleared,
    /// Another supervisor was faster.
    Healed,
    /// The monitor begins.
    Begun,
    /// The service was stopped on purpose.
    Stopped,
    /// The monitor ends, the service runs on.
    Ended,
}

impl What {
    /// The thing in a few words.
    #[must_use]
    pub fn words(self) -> String {
        let text = match self {
            Self::Healthy => "healthy",
            Self::Failed(weight) => return format!("probe weighs {weight}"),
            Self::Immediate => "probe skips the restart",
            Self::Unmeasured => "cannot be measured",
            Self::Void => "we were not running",
            Self::Died => "died",
            Self::Decided => "restart decided",
            Self::CalledOff => "restart called off",
            Self::Restart { by_person: false } => "restart",
            Self::Restart { by_person: true } => "restart by a person",
            Self::Started => "started",
            Self::StartFailed => "start failed",
            Self::StopFailed => "stop failed",
            Self::Invalid => "restart refused by validation",
            Self::Giveover => "giveover asked for",
            Self::Granted => "giveover granted",
            Self::Denied => "giveover denied",
            Self::NotNow => "giveover: not now",
            Self::Aborted => "giveover aborted",
            Self::Unproven => "giveover unproven",
            Self::Cancelled => "giveover withdrawn",
            Self::BudgetSpent => "budget spent",
            Self::Logged => "logged only",
            Self::Reset => "reset of the node asked for",
            Self::Held(holder) => return held_words(holder).to_owned(),
            Self::Released(holder) => return released_words(holder).to_owned(),
            Self::Cleared => "cleared",
            Self::Healed => "restarted by another supervisor",
            Self::Begun => "monitor begins",
            Self::Stopped => "stopped",
            Self::Ended => "monitor ends",
        };
        text.to_owned()
    }

    /// Whether it is the monitor's decision: what policies differ in.
    #[must_use]
    pub const fn is_decision(self) -> bool {
        matches!(
            self,
            Self::Restart { by_person: false }
                | Self::Giveover
                | Self::BudgetSpent
                | Self::Logged
                | Self::Reset
        )
    }

    /// Whether it is one of the many marks of an ordinary day.
    #[must_use]
    pub const fn is_routine(self) -> bool {
        matches!(self, Self::Healthy | Self::Void)
    }
}

const fn held_words(holder: Holder) -> &'static str {
    match holder {
        Holder::Operator => "held by a person",
        Holder::Need => "waits for what it needs",
        Holder::HostBudget => "the host's budget is spent",
        Holder::LocalFault => "local fault: probes count nothing",
        Holder::Unproven => "held: a giveover ended unproven",
    }
}

const fn released_words(holder: Holder) -> &'static str {
    match holder {
        Holder::Operator => "released by a person",
        Holder::Need => "what it needs is ok",
        Holder::HostBudget => "the host's budget has room",
        Holder::LocalFault => "local fault over",
        Holder::Unproven => "released: the giveover is settled",
    }
}

/// A line of the board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Which.
    pub name: Arc<str>,
    /// Held or on from each of these instants on, or no longer.
    pub edges: Vec<(Instant, bool)>,
}

/// Watches a monitor while it is fed, and keeps its track.
#[derive(Clone, Debug)]
pub struct Recorder {
    track: Track,
    /// The last instant looked at.
    last: Instant,
    delayed: bool,
    /// When a sum was spent: it stands for a millisecond, or nobody would ever see it at 100.
    spent_at: Option<Instant>,
}

/// What an event can only be judged by afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    probe: Option<Ticket>,
    held: [bool; Holder::ALL.len()],
    restart: Option<Ticket>,
    giveover: Option<Ticket>,
    dead: bool,
}

impl Before {
    /// Looks at `monitor` before an event is fed.
    #[must_use]
    pub fn of(monitor: &BoxedMonitor) -> Self {
        Self {
            probe: monitor.probe_under_way(),
            held: Holder::ALL.map(|holder| monitor.held_by(holder)),
            restart: monitor.restart_under_way().map(|(ticket, _)| ticket),
            giveover: monitor.giveover_under_way(),
            dead: monitor.is_dead(),
        }
    }
}

impl Recorder {
    /// A track that begins at `now`.
    #[must_use]
    pub fn new(name: Arc<str>, monitor: &BoxedMonitor, now: Instant) -> Self {
        let limits = monitor.policy().limits();
        let mut recorder = Self {
            track: Track {
                name,
                retry_count: limits.retry_count,
                retry_interval: limits.retry_interval,
                ..Track::default()
            },
            last: now,
            delayed: false,
            spent_at: None,
        };
        recorder.track.statuses.push((now, monitor.status()));
        recorder.sample(monitor, now);
        recorder
    }

    /// Notes what ages out of the histories up to `now`: call it before each event.
    pub fn pass(&mut self, monitor: &BoxedMonitor, now: Instant) {
        // a record exactly as old as the window still counts
        let window = monitor.policy().limits().retry_interval.as_millis();
        let window = Span::from_millis(window.saturating_add(1));
        let history = monitor.history();
        let failures = history.failures().map(|failure| failure.at);
        let gone = failures.chain(history.restart_times()).map(|at| at.after(window));
        let mut gone: Vec<Instant> = gone.filter(|at| *at > self.last && *at < now).collect();
        gone.sort();
        gone.dedup();
        for at in gone {
            self.sample(monitor, at);
        }
        self.last = self.last.max(now);
    }

    /// Notes what `event` was and led to: call it behind each.
    pub fn saw(
        &mut self,
        before: Before,
        event: &Event,
        actions: &Actions,
        monitor: &BoxedMonitor,
        now: Instant,
    ) {
        self.note_event(before, event, now);
        for action in actions {
            self.note_action(*action, now);
        }
        let delayed = matches!(monitor.waiting_for(), Waiting::Delay(_));
        let begun = |action: &Action| matches!(action, Action::Restart { .. });
        match (self.delayed, delayed) {
            (false, true) => self.mark(now, What::Decided),
            (true, false) if !actions.as_slice().iter().any(begun) => {
                self.mark(now, What::CalledOff);
            }
            _ => {}
        }
        let decided = |action: &Action| {
            matches!(
                action,
                Action::Restart { origin: Origin::Monitor, .. }
                    | Action::Giveover { .. }
                    | Action::BudgetSpent
                    | Action::Log
            )
        };
        let outside = matches!(event, Event::Probed { .. } | Event::Died { .. });
        let decides = actions.as_slice().iter().any(decided) || delayed && !self.delayed;
        self.delayed = delayed;
        if outside && decides {
            // what was spent at once is seen all the same
            let (_, sum) = monitor.history().evidence();
            step(&mut self.track.sums, now, sum);
            self.spent_at = Some(now);
        }
        if self.track.statuses.last().map(|(_, status)| *status) != Some(monitor.status()) {
            self.track.statuses.push((now, monitor.status()));
        }
        self.sample(monitor, now);
        if let Event::SetPolicy(policy) = event {
            self.policy(policy);
        }
    }

    /// The track up to `end`.
    #[must_use]
    pub fn finish(mut self, monitor: &BoxedMonitor, end: Instant) -> Track {
        self.pass(monitor, end);
        self.sample(monitor, end);
        self.track
    }

    fn policy(&mut self, policy: &Policy) {
        self.track.retry_count = policy.limits().retry_count;
        self.track.retry_interval = policy.limits().retry_interval;
    }

    fn sample(&mut self, monitor: &BoxedMonitor, at: Instant) {
        let tally = monitor.tally(at);
        let spent = self.spent_at.map(|spent| spent.after(Span::from_millis(1)));
        step(&mut self.track.sums, spent.map_or(at, |spent| spent.max(at)), tally.failure_sum);
        step(&mut self.track.restarts, at, tally.restarts);
    }

    fn mark(&mut self, at: Instant, what: What) {
        self.track.marks.push(Mark { at, what });
    }

    fn note_event(&mut self, before: Before, event: &Event, now: Instant) {
        let held = |holder: Holder| {
            let place = Holder::ALL.iter().position(|other| *other == holder);
            place.and_then(|place| before.held.get(place).copied()).unwrap_or(false)
        };
        let what = match *event {
            Event::Probed { ticket, result } if before.probe == Some(ticket) => match result {
                ProbeResult::Healthy => What::Healthy,
                ProbeResult::Failed(weight, _) => What::Failed(weight.value()),
                ProbeResult::Immediate(_) => What::Immediate,
                ProbeResult::CannotMeasure(_) => What::Unmeasured,
                ProbeResult::Void => What::Void,
            },
            Event::Died { .. } if !before.dead => What::Died,
            Event::RestartDone { ticket, outcome } if before.restart == Some(ticket) => {
                match outcome {
                    RestartOutcome::Started => What::Started,
                    RestartOutcome::StartFailed(_) => What::StartFailed,
                    RestartOutcome::StopFailed(_) => What::StopFailed,
                    RestartOutcome::Invalid(_) => What::Invalid,
                }
            }
            Event::GiveoverDone { ticket, outcome } if before.giveover == Some(ticket) => {
                match outcome {
                    GiveoverOutcome::Granted => What::Granted,
                    GiveoverOutcome::Denied => What::Denied,
                    GiveoverOutcome::NotNow => What::NotNow,
                    GiveoverOutcome::Aborted { .. } => What::Aborted,
                    GiveoverOutcome::Unproven => What::Unproven,
                }
            }
            Event::Healed => What::Healed,
            Event::Stopped => What::Stopped,
            Event::End => What::Ended,
            Event::Begin { .. } => What::Begun,
            Event::Hold(holder) if !held(holder) => What::Held(holder),
            Event::Release(holder) if held(holder) => What::Released(holder),
            Event::Clear => What::Cleared,
            // timers and wishes are told by what they lead to; what is late leads to nothing
            _ => return,
        };
        self.mark(now, what);
    }

    fn note_action(&mut self, action: Action, now: Instant) {
        let what = match action {
            Action::Restart { origin, .. } => {
                What::Restart { by_person: origin == Origin::Operator }
            }
            Action::Giveover { .. } => What::Giveover,
            Action::Cancel { .. } => What::Cancelled,
            Action::BudgetSpent => What::BudgetSpent,
            Action::Log => What::Logged,
            Action::Reset { .. } => What::Reset,
            // probes are told by their answers, a status has a band of its own
            _ => return,
        };
        self.mark(now, what);
    }
}

/// Adds a step where the value changes. Of several at one instant the last stands.
fn step<T: Copy + PartialEq>(steps: &mut Vec<(Instant, T)>, at: Instant, value: T) {
    match steps.last_mut() {
        Some((_, last)) if *last == value => {}
        Some((when, last)) if *when == at => *last = value,
        _ => steps.push((at, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;
    use giveover_core::failure::{Cause, Phase};
    use giveover_core::policy::{Limits, Scope};
    use giveover_core::weight::Weight;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn times_are_those_of_the_wall_or_of_the_beginning() {
        let mut calendar = Calendar::default();
        assert_eq!(calendar.time(at(3_725_000)), "1h 2m 5s");
        calendar.note(at(1_000), 1_764_424_930_000);
        calendar.note(at(2_000), 1_764_424_931_000);
        assert_eq!(calendar, Calendar(vec![(at(1_000), 1_764_424_930_000)]));
        assert_eq!((calendar.time(at(0)), calendar.time(at(61_000))), pair("14:02:09", "14:03:10"));
        calendar.note(at(70_000), 1_764_428_600_000);
        assert_eq!(
            (calendar.time(at(69_999)), calendar.time(at(70_000))),
            pair("14:03:18", "15:03:20")
        );
    }

    fn pair(one: &str, other: &str) -> (String, String) {
        (one.to_owned(), other.to_owned())
    }

    #[test]
    fn a_track_has_what_was_fed_and_what_aged_out() {
        let limits = Limits {
            thorough_probe_interval: Span::from_secs(1),
            retry_interval: Span::from_secs(10),
            start_grace: Span::ZERO,
            ..Limits::DEFAULT
        };
        let (policy, _) = Policy::new(limits, Scope::USUAL).expect("possible");
        let mut monitor = machine::boxed(policy, at(0));
        let mut recorder = Recorder::new("web".into(), &monitor, at(0));
        let half = ProbeResult::Failed(Weight::HALF, Cause::new(Phase::Read, 0));
        let mut feed = |event: Event, now: Instant| {
            recorder.pass(&monitor, now);
            let before = Before::of(&monitor);
            let actions = monitor.handle(event, now);
            recorder.saw(before, &event, &actions, &monitor, now);
            monitor.probe_under_way()
        };
        feed(Event::Begin { first: Span::ZERO, started: false }, at(0));
        let ticket = feed(Event::Timeout, at(0)).expect("a probe");
        feed(Event::Probed { ticket, result: half }, at(5));
        feed(Event::Hold(Holder::Operator), at(20_000));
        feed(Event::Hold(Holder::Operator), at(20_001));
        let track = recorder.finish(&monitor, at(30_000));
        assert_eq!(track.sums, [(at(0), 0), (at(5), 50), (at(10_006), 0)]);
        let whats: Vec<What> = track.marks.iter().map(|mark| mark.what).collect();
        assert_eq!(whats, [What::Begun, What::Failed(50), What::Held(Holder::Operator)]);
        let degraded = [(at(0), Status::Unknown), (at(5), Status::Degraded)];
        assert_eq!(track.statuses, degraded);
    }
}
