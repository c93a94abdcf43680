//! From recorded days to policies: how soon each would have acted, and how often for nothing.
//!
//! An *episode* is what lies between two healthy probes. One is a real fault if the process died in
//! it, or if it lasted until somebody did something about it; one that a healthy probe ended by itself
//! needed no restart. A policy is judged by the probes that were recorded: probing more seldom leaves
//! some of them out, probing more often cannot be tried. Nor can another number of restarts: no journal
//! tells whether one more would have helped.

mod day;
mod play;
mod render;
#[cfg(test)]
mod tests;

pub use self::render::{json, text, words};

use giveover_core::policy::{Delays, Limits, Policy, Scope};
use giveover_core::time::Span;
use giveover_core::weight::Weight;

use self::day::Day;
use self::play::Came;
use super::replay::Recording;

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
    /// Real faults that something was decided about: what both times are drawn from.
    pub detected: u32,
    /// Recorded probes that it saw.
    pub probes: u32,
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
    let mut came = Came::default();
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
        let scope =
            Scope { smallest: smallest.min(day.policy.scope().smallest), ..*day.policy.scope() };
        let policy = Policy::new(limits, scope).ok()?.0;
        day.play(policy, part, every, &mut came);
    }
    let Came { delays, needless, missed, probes } = came;
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
        detected: u32::try_from(delays.len()).unwrap_or(u32::MAX),
        probes,
        needless,
        missed,
        in_use,
        on_frontier: false,
    })
}
