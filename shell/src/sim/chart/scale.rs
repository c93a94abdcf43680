//! The time axis: where its ticks are, and what they say.

use giveover_core::time::Instant;

use crate::message::span;
use crate::report::time::Moment;
use crate::sim::timeline::Timeline;

/// Distances between ticks that people count in, in milliseconds.
const STEPS: [u64; 25] = [
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    10_800_000,
    21_600_000,
    43_200_000,
    86_400_000,
    172_800_000,
    604_800_000,
    2_592_000_000,
    7_776_000_000,
];

/// A tick of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tick {
    pub(super) at: Instant,
    pub(super) label: String,
}

/// At most about `most` ticks, at round times of the wall clock or since the beginning.
pub(super) fn ticks(timeline: &Timeline, most: u64) -> Vec<Tick> {
    let length = timeline.length();
    let enough = |step: &&u64| length / **step < most;
    let step = STEPS.iter().find(enough).copied().unwrap_or(length.div_ceil(most).max(1));
    let wall = timeline.calendar.wall_ms(timeline.begin);
    let origin = wall.unwrap_or_else(|| timeline.begin.as_millis());
    let first = origin.next_multiple_of(step) - origin;
    let places = (0..=most * 2).map(|number| first + number * step).take_while(|at| *at <= length);
    let tick = |after: u64| {
        let at = Instant::from_millis(timeline.begin.as_millis() + after);
        Tick { at, label: label(origin + after, wall.is_some(), step) }
    };
    places.map(tick).collect()
}

fn label(ms: u64, wall: bool, step: u64) -> String {
    if !wall {
        return if step < 1000 { span::short(ms) } else { span::compact(ms) };
    }
    let Some(moment) = Moment::parse(&crate::clock::rfc3339(ms)) else { return String::new() };
    let time = moment.time();
    match step {
        0..60_000 => time,
        60_000..86_400_000 if !time.starts_with("00:00") => time.chars().take(5).collect(),
        _ => moment.day(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(begin: u64, end: u64) -> Timeline {
        let at = Instant::from_millis;
        Timeline { begin: at(begin), end: at(end), ..Timeline::default() }
    }

    #[test]
    fn ticks_are_few_and_round() {
        for length in [1, 999, 61_000, 3_600_000, 86_400_000 * 400, 86_400_000 * 36_500] {
            let timeline = timeline(7, 7 + length);
            let ticks = ticks(&timeline, 8);
            assert!(ticks.len() <= 9, "{length}: {ticks:?}");
            assert!(ticks.iter().all(|tick| tick.at <= timeline.end));
        }
        let labels: Vec<String> =
            ticks(&timeline(0, 3_600_000), 8).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0s", "10m", "20m", "30m", "40m", "50m", "1h"]);
    }

    #[test]
    fn a_recorded_day_has_the_walls_times() {
        let mut timeline = timeline(5_000, 5_000 + 7_200_000);
        timeline.calendar.note(Instant::from_millis(5_000), 1_764_424_810_000); // 14:00:10
        let ticks = ticks(&timeline, 8);
        assert_eq!(ticks[0].label, "14:30");
        assert_eq!(ticks[0].at, Instant::from_millis(5_000 + 1_790_000));
    }
}
