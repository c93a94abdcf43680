//! How the instants of a timeline are told to people.

use giveover_core::time::Instant;

use crate::clock::rfc3339;
use crate::message::span;
use crate::report::time::Moment;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
