//! From recorded days to policies: how soon each would have acted, and how often for nothing.
//!
//! An *episode* is what lies between two healthy probes. One is a real fault if the process died in
//! it, or if it lasted until somebody did something about it; one that a healthy probe ended by itself
//! needed no restart. A policy is judged by the probes that were recorded: probing more seldom leaves
//! some of them out, probing more often cannot be tried. Nor can another number of restarts: no journal
//! tells whether one more would have helped.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{
    Action, Actions, Event, GiveoverOutcome, Origin, RestartOutcome, Waiting,
};
use giveover_core::policy::{Delays, Limits, Policy};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

use super::replay::{Recorded, Recording};
use crate::machine;

/// A policy that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// What a partial failure weighs; as recorded if `None`.
    pub part: Option<u8>,
    /// Only every so many recorded probes.
    pub every: u32,
    /// The window.
    pub retry_interval: Span,
    /// How long a restart waits, in which a healthy probe calls it off; as recorded if `None`.
    pub delay: Option<Span>,
    /// From the first failed probe of a real fault to what was decided, on average, in milliseconds.
    pub detection_ms: u64,
    /// The longest.
    pub slowest_ms: u64,
    /// Restarts and giveovers for nothing.
    pub needless: u32,
    /// Real faults that nothing was decided about.
    pub missed: u32,
    /// It is the one in use.
    pub in_use: bool,
    /// No other one is better in detection and in needless restarts.
    pub on_frontier: bool,
}

/// What was recorded of one service, tried with many policies.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The service.
    pub service: String,
    /// How many journals it is in.
    pub journals: usize,
    /// Real faults in them.
    pub faults: u32,
    /// Episodes that ended by themselves.
    pub passing: u32,
    /// Policies, the soonest first.
    pub tried: Vec<Tried>,
}

/// Tries policies for every service of `recordings`; services of the same name go together.
#[must_use]
pub fn tune(recordings: &[Recording]) -> Vec<Tuned> {
    let mut names: Vec<&str> = Vec::new();
    for service in recordings.iter().flat_map(|recording| &recording.services) {
        if !names.contains(&&*service.name) {
            names.push(&service.name);
        }
    }
    names.into_iter().map(|name| one(name, recordings)).collect()
}

fn one(name: &str, recordings: &[Recording]) -> Tuned {
    let all = recordings.iter().flat_map(|recording| &recording.services);
    let days: Vec<Day> = all.filter(|service| &*service.name == name).map(Day::of).collect();
    let limits = days.last().map_or(Limits::DEFAULT, |day| *day.policy.limits());
    let window = limits.retry_interval;
    let interval = limits.thorough_probe_interval.as_millis();
    let waits = |probes: u32| Some(Span::from_millis(interval.saturating_mul(probes)));
    let window_of = |factor: u32, part: u32| {
        Span::from_millis(window.as_millis().saturating_mul(factor) / part)
    };
    let mut tried = Vec::new();
    for part in [None, Some(100), Some(50), Some(34), Some(25), Some(20), Some(10)] {
        for every in [1, 2, 3] {
            for retry_interval in [window_of(1, 2), window, window_of(2, 1)] {
                for delay in [None, waits(0), waits(1), waits(3)] {
                    let usual = every == 1 && retry_interval == window && delay.is_none();
                    let candidate = Candidate { part, every, retry_interval, delay };
                    tried.extend(judge(&days, candidate, part.is_none() && usual));
                }
            }
        }
    }
    mark_frontier(&mut tried);
    tried.sort_by_key(|it| (it.missed, it.detection_ms, it.needless, !it.in_use));
    Tuned {
        service: name.to_owned(),
        journals: days.len(),
        faults: days.iter().map(|day| day.count(true)).sum(),
        passing: days.iter().map(|day| day.count(false)).sum(),
        tried,
    }
}

/// One is better than another if it is in one figure and worse in none. Of equals the one in use, or
/// else the first, stands for all.
fn mark_frontier(tried: &mut [Tried]) {
    let in_use = tried.iter().position(|it| it.in_use);
    let figures: Vec<_> =
        tried.iter().map(|it| (it.missed, it.detection_ms, it.needless)).collect();
    for (place, it) in tried.iter_mut().enumerate() {
        let Some(own) = figures.get(place) else { continue };
        let beaten = figures.iter().enumerate().any(|(other, figure)| {
            let (missed, detection, needless) = *figure;
            let no_worse = missed <= own.0 && detection <= own.1 && needless <= own.2;
            let stands = Some(other) == in_use || Some(place) != in_use && other < place;
            no_worse && (*figure != *own || stands && other != place)
        });
        it.on_frontier = !beaten;
    }
}

/// What one journal has of the service.
struct Day {
    policy: Policy,
    steps: Vec<Step>,
}

/// Something that was recorded, and the episode it belongs to.
#[derive(Clone, Copy)]
struct Step {
    at: Instant,
    what: What,
    episode: Option<u32>,
    /// The episode is a real fault.
    real: bool,
}

#[derive(Clone, Copy)]
enum What {
    Probe(ProbeResult),
    Died,
}

impl Day {
    fn of(recorded: &Recorded) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        let mut number = 0u32;
        let mut open: Option<usize> = None; // where the episode under way begins
        let settle = |steps: &mut Vec<Step>, open: &mut Option<usize>, real: bool| {
            if let Some(from) = open.take() {
                for step in steps.iter_mut().skip(from) {
                    step.real = real;
                }
            }
        };
        let mut monitor = recorded.start.clone();
        for (at, event) in &recorded.events {
            let probing = monitor.probe_under_way();
            machine::make_room(&mut monitor, event);
            let actions = monitor.handle(*event, *at);
            let what = match *event {
                Event::Probed { ticket, result } if probing == Some(ticket) => What::Probe(result),
                Event::Died { .. } => What::Died,
                _ => continue,
            };
            match what {
                What::Probe(ProbeResult::Healthy) => {
                    settle(&mut steps, &mut open, false);
                    steps.push(Step { at: *at, what, episode: None, real: false });
                    continue;
                }
                What::Probe(ProbeResult::CannotMeasure(_) | ProbeResult::Void) => continue,
                _ => {}
            }
            if open.is_none() {
                number += 1;
                open = Some(steps.len());
            }
            steps.push(Step { at: *at, what, episode: Some(number), real: false });
            let acted = actions
                .as_slice()
                .iter()
                .any(|action| matches!(action, Action::Restart { .. } | Action::Giveover { .. }));
            let delayed =
                matches!(monitor.waiting_for(), giveover_core::monitor::Waiting::Delay(_));
            if acted || delayed || matches!(what, What::Died) {
                settle(&mut steps, &mut open, true);
            }
        }
        settle(&mut steps, &mut open, true); // it lasts to the end of the journal
        Self { policy: *monitor.policy(), steps }
    }

    fn count(&self, real: bool) -> u32 {
        let mut episodes: Vec<u32> =
            self.steps.iter().filter(|it| it.real == real).filter_map(|it| it.episode).collect();
        episodes.dedup();
        u32::try_from(episodes.len()).unwrap_or(u32::MAX)
    }
}

/// What is tried, as [`Tried`] has it.
#[derive(Clone, Copy)]
struct Candidate {
    part: Option<u8>,
    every: u32,
    retry_interval: Span,
    delay: Option<Span>,
}

/// `None` where such a policy cannot work.
fn judge(days: &[Day], candidate: Candidate, in_use: bool) -> Option<Tried> {
    let Candidate { part, every, retry_interval, delay } = candidate;
    let (mut delays, mut needless, mut missed) = (Vec::new(), 0, 0);
    for day in days {
        let written = day.policy.limits();
        let interval = written.thorough_probe_interval.as_millis().saturating_mul(every);
        let limits = Limits {
            thorough_probe_interval: Span::from_millis(interval),
            retry_interval,
            // detection is what is asked for, not what a spent budget does
            retry_count: None,
            start_grace: Span::ZERO,
            restart_delay: match delay {
                Some(delay) => Delays::new(&[delay])?,
                None => written.restart_delay,
            },
            ..*written
        };
        let smallest = part.and_then(Weight::new).unwrap_or(day.policy.scope().smallest);
        let scope = giveover_core::policy::Scope {
            smallest: smallest.min(day.policy.scope().smallest),
            ..*day.policy.scope()
        };
        let policy = Policy::new(limits, scope).ok()?.0;
        day.play(policy, part, every, &mut delays, &mut needless, &mut missed);
    }
    let total: u64 = delays.iter().sum();
    let detection_ms = total.checked_div(delays.len() as u64).unwrap_or(0);
    let slowest_ms = delays.iter().copied().max().unwrap_or(0);
    Some(Tried {
        part,
        every,
        retry_interval,
        delay,
        detection_ms,
        slowest_ms,
        needless,
        missed,
        in_use,
        on_frontier: false,
    })
}

impl Day {
    fn play(
        &self,
        policy: Policy,
        part: Option<u8>,
        every: u32,
        delays: &mut Vec<u64>,
        needless: &mut u32,
        missed: &mut u32,
    ) {
        let begin = self.steps.first().map_or(Instant::default(), |step| step.at);
        let mut monitor = machine::boxed(policy, begin);
        let _ = monitor.handle(Event::Begin { first: Span::MAX, started: false }, begin);
        let mut under_way: Option<Episode> = None;
        let mut probes = 0u32;
        for step in &self.steps {
            if let Some(at) = waits_until(&monitor).filter(|at| *at <= step.at) {
                let actions = monitor.handle(Event::Timeout, at);
                let acted = carry_out(&mut monitor, &actions, at);
                if let (Some(episode), true) = (&mut under_way, acted) {
                    episode.acted(at, delays, needless);
                }
            }
            if step.episode != under_way.map(|episode| episode.number) {
                if let Some(episode) = under_way.take() {
                    episode.close(waits_until(&monitor), delays, missed);
                }
                under_way = step.episode.map(|number| Episode {
                    number,
                    real: step.real,
                    since: step.at,
                    acted: false,
                });
            }
            let event = match step.what {
                What::Died => Some(Event::Died { cause: monitor.death() }),
                What::Probe(result) => {
                    probes += 1;
                    if probes % every != 0 {
                        None
                    } else {
                        let _ = monitor.handle(Event::ProbeNow, step.at);
                        let weighed = weigh(result, part);
                        monitor
                            .probe_under_way()
                            .map(|ticket| Event::Probed { ticket, result: weighed })
                    }
                }
            };
            let Some(event) = event else { continue };
            let actions = monitor.handle(event, step.at);
            let acted = carry_out(&mut monitor, &actions, step.at);
            if let (Some(episode), true) = (&mut under_way, acted) {
                episode.acted(step.at, delays, needless);
            }
        }
        if let Some(episode) = under_way {
            episode.close(waits_until(&monitor), delays, missed);
        }
    }
}

/// An episode while a policy is tried on it.
#[derive(Clone, Copy)]
struct Episode {
    number: u32,
    real: bool,
    since: Instant,
    acted: bool,
}

impl Episode {
    fn acted(&mut self, at: Instant, delays: &mut Vec<u64>, needless: &mut u32) {
        if self.real && !self.acted {
            delays.push(at.since(self.since));
        } else if !self.real {
            *needless += 1;
        }
        self.acted = true;
    }

    /// It is over. What was real ended because of what was done on that day: a restart that still
    /// waits would have come.
    fn close(self, waits: Option<Instant>, delays: &mut Vec<u64>, missed: &mut u32) {
        match waits {
            _ if !self.real || self.acted => {}
            Some(at) => delays.push(at.since(self.since)),
            None => *missed += 1,
        }
    }
}

/// Until when a restart waits that has been decided.
fn waits_until(monitor: &machine::BoxedMonitor) -> Option<Instant> {
    match monitor.waiting_for() {
        Waiting::Delay(at) => Some(at),
        _ => None,
    }
}

/// Every start works, every giveover is denied. True if anything was done about a failure.
fn carry_out(monitor: &mut machine::BoxedMonitor, actions: &Actions, at: Instant) -> bool {
    let mut acted = false;
    for action in actions {
        match *action {
            Action::Restart { ticket, origin } => {
                acted |= origin == Origin::Monitor;
                let outcome = RestartOutcome::Started;
                let _ = monitor.handle(Event::RestartDone { ticket, outcome }, at);
            }
            Action::Giveover { ticket, .. } => {
                acted = true;
                let outcome = GiveoverOutcome::Denied;
                let _ = monitor.handle(Event::GiveoverDone { ticket, outcome }, at);
            }
            Action::BudgetSpent | Action::Log => acted = true,
            _ => {}
        }
    }
    acted
}

/// A partial failure weighs what is tried; a complete one is one.
fn weigh(result: ProbeResult, part: Option<u8>) -> ProbeResult {
    match (result, part.and_then(Weight::new)) {
        (ProbeResult::Failed(weight, cause), Some(part)) if weight < Weight::COMPLETE => {
            ProbeResult::Failed(part, cause)
        }
        (ProbeResult::Immediate(cause), _) => ProbeResult::Failed(Weight::COMPLETE, cause),
        _ => result,
    }
}

/// How a policy is told: `halves as recorded, every probe, within 300s`.
#[must_use]
pub fn words(tried: &Tried) -> String {
    let part = match tried.part {
        None => "parts weigh as recorded".to_owned(),
        Some(100) => "each part is a failure".to_owned(),
        Some(part) => format!("parts weigh {part}"),
    };
    let every = match tried.every {
        1 => "every probe",
        2 => "every second probe",
        _ => "every third probe",
    };
    let written = crate::config::quantity::written;
    let delay = match tried.delay {
        None => String::new(),
        Some(Span::ZERO) => ", restarts at once".to_owned(),
        Some(delay) => format!(", restarts wait {}", written(delay)),
    };
    format!("{part}, {every}, within {}{delay}", written(tried.retry_interval))
}

/// The frontier as a table; the policy in use has a star, wherever it stands.
#[must_use]
pub fn text(tuned: &[Tuned]) -> String {
    use crate::message::span;
    use std::fmt::Write as _;
    let mut text = String::new();
    for service in tuned {
        let journals = crate::config::many(service.journals, "journal");
        let _ = writeln!(
            text,
            "{}: {journals}, {} real faults, {} that passed by themselves",
            service.service, service.faults, service.passing
        );
        if service.faults + service.passing == 0 {
            text += "nothing failed: there is nothing to tune by\n";
            continue;
        }
        let _ = writeln!(text, "    DETECTED IN  SLOWEST  NEEDLESS  MISSED  POLICY");
        for tried in service.tried.iter().filter(|it| it.on_frontier || it.in_use) {
            let star = if tried.in_use { '*' } else { ' ' };
            let off = match (tried.in_use, tried.on_frontier) {
                (true, true) => "  (in use)",
                (true, false) => "  (in use; one above is better in everything)",
                _ => "",
            };
            let _ = writeln!(
                text,
                "{star}  {:>12}  {:>7}  {:>8}  {:>6}  {}{off}",
                span::short(tried.detection_ms),
                span::short(tried.slowest_ms),
                tried.needless,
                tried.missed,
                words(tried)
            );
        }
    }
    text
}

/// The same for machines, with every policy that was tried.
#[must_use]
pub fn json(tuned: &[Tuned]) -> serde_json::Value {
    let tried = |it: &Tried| {
        serde_json::json!({
            "part": it.part,
            "every": it.every,
            "retry_interval_ms": it.retry_interval.as_millis(),
            "restart_delay_ms": it.delay.map(Span::as_millis),
            "detection_ms": it.detection_ms,
            "slowest_ms": it.slowest_ms,
            "needless": it.needless,
            "missed": it.missed,
            "in_use": it.in_use,
            "on_frontier": it.on_frontier,
        })
    };
    let service = |it: &Tuned| {
        serde_json::json!({
            "service": it.service,
            "journals": it.journals,
            "faults": it.faults,
            "passing": it.passing,
            "policies": it.tried.iter().map(tried).collect::<Vec<_>>(),
        })
    };
    tuned.iter().map(service).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use giveover_core::failure::{Cause, Phase};
    use giveover_core::policy::Scope;

    /// Probes each 10 s: `.` healthy, `o` half, `x` complete, `D` a death.
    fn recorded(signs: &str) -> Recorded {
        let limits = Limits {
            thorough_probe_interval: Span::from_secs(10),
            retry_count: Some(3),
            retry_interval: Span::from_secs(300),
            start_grace: Span::ZERO,
            restart_delay: giveover_core::policy::Delays::NONE,
            ..Limits::DEFAULT
        };
        let scope = Scope { smallest: Weight::LEAST, ..Scope::USUAL };
        let policy = Policy::new(limits, scope).expect("possible").0;
        let zero = Instant::default();
        let start = machine::boxed(policy, zero);
        let mut monitor = start.clone();
        let mut events = Vec::new();
        let mut feed = |event: Event, at: Instant, monitor: &mut machine::BoxedMonitor| {
            events.push((at, event));
            let mut actions: Vec<Action> = monitor.handle(event, at).into_iter().collect();
            while let Some(action) = actions.pop() {
                if let Action::Restart { ticket, .. } = action {
                    let event = Event::RestartDone { ticket, outcome: RestartOutcome::Started };
                    events.push((at, event));
                    actions.extend(monitor.handle(event, at));
                }
            }
        };
        feed(Event::Begin { first: Span::ZERO, started: false }, zero, &mut monitor);
        let cause = Cause::new(Phase::Read, 110);
        for (place, sign) in signs.chars().enumerate() {
            let at = Instant::from_millis(1_000 + place as u64 * 10_000);
            let result = match sign {
                '.' => ProbeResult::Healthy,
                'o' => ProbeResult::Failed(Weight::HALF, cause),
                'x' => ProbeResult::Failed(Weight::COMPLETE, cause),
                _ => {
                    feed(Event::Died { cause }, at, &mut monitor);
                    continue;
                }
            };
            feed(Event::ProbeNow, at, &mut monitor);
            feed(Event::Timeout, at, &mut monitor);
            if let Some(ticket) = monitor.probe_under_way() {
                feed(Event::Probed { ticket, result }, at, &mut monitor);
            }
        }
        let track = super::super::timeline::Track::default();
        Recorded { name: "web".into(), start, events, track }
    }

    fn tuned(signs: &str) -> Tuned {
        let recording = Recording {
            name: "day".to_owned(),
            services: vec![recorded(signs)],
            calendar: super::super::timeline::Calendar::default(),
            begin: Instant::default(),
            end: Instant::default(),
            events: 0,
            actions: 0,
            torn: None,
            differences: Vec::new(),
            more_differences: 0,
        };
        tune(&[recording]).pop().expect("one service")
    }

    fn in_use(tuned: &Tuned) -> &Tried {
        tuned.tried.iter().find(|it| it.in_use).expect("the one in use")
    }

    #[test]
    fn real_faults_and_those_that_pass_are_told_apart() {
        // far enough apart to be forgotten in between
        let pause = ".".repeat(32);
        let day = tuned(&["....o", "o", "oo", "x", "D", "o.."].join(&pause));
        assert_eq!((day.faults, day.passing), (3, 3), "{day:?}");
    }

    #[test]
    fn heavier_parts_are_sooner_and_act_for_nothing() {
        let day =
            tuned(&format!("{}{}", "....o...........................".repeat(5), "........oo...."));
        let of = |part| {
            let window = Span::from_secs(300);
            let found = day.tried.iter();
            let mut found = found
                .filter(|it| it.every == 1 && it.retry_interval == window && it.delay.is_none());
            found.find(|it| it.part == part).expect("tried").clone()
        };
        let (heavy, light) = (of(Some(100)), of(None));
        assert!(heavy.needless > light.needless, "{heavy:?} {light:?}");
        assert!(heavy.detection_ms < light.detection_ms, "{heavy:?} {light:?}");
        assert!(in_use(&day).on_frontier, "{}", text(std::slice::from_ref(&day)));
    }

    /// A restart that waits is called off by a healthy probe; a real fault waits with it.
    #[test]
    fn a_restart_that_waits_is_seldom_for_nothing_and_late() {
        let pause = ".".repeat(32);
        let day = tuned(&["....x", "x", "x", "D"].join(&pause));
        let of = |delay: u32| {
            let mut found = day.tried.iter().filter(|it| {
                it.part.is_none() && it.every == 1 && it.retry_interval == Span::from_secs(300)
            });
            found.find(|it| it.delay == Some(Span::from_secs(delay))).expect("tried").clone()
        };
        let (at_once, waits) = (of(0), of(30));
        assert_eq!((at_once.missed, waits.missed), (0, 0), "{at_once:?} {waits:?}");
        assert_eq!(waits.detection_ms, at_once.detection_ms + 30_000, "{at_once:?} {waits:?}");
        assert!(words(&waits).ends_with("within 300s, restarts wait 30s"), "{}", words(&waits));
        let policies = json(&[day])[0]["policies"].clone();
        let policies = policies.as_array().expect("a list");
        assert!(policies.iter().any(|it| it["restart_delay_ms"] == 30_000));
    }

    #[test]
    fn no_policy_of_the_frontier_is_beaten() {
        let day = tuned("..o...o..oo....x....o....o...ooo...D....o......");
        let front: Vec<&Tried> = day.tried.iter().filter(|it| it.on_frontier).collect();
        assert!(!front.is_empty());
        for one in &front {
            let better = day.tried.iter().find(|it| {
                it.missed <= one.missed
                    && it.detection_ms <= one.detection_ms
                    && it.needless <= one.needless
                    && (it.missed, it.detection_ms, it.needless)
                        != (one.missed, one.detection_ms, one.needless)
            });
            assert_eq!(better, None, "{one:?}");
        }
        let table = text(std::slice::from_ref(&day));
        assert_eq!(table.lines().filter(|line| line.starts_with('*')).count(), 1, "{table}");
        assert_eq!(json(&[day])[0]["service"], "web");
    }

    #[test]
    fn a_day_on_which_nothing_failed_says_so() {
        assert!(text(&[tuned("..........")]).contains("nothing failed"));
    }
}
