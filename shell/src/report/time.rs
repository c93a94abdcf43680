//! Times of day on screens: UTC, as in the logs and in JSON, so that one can be searched for in
//! the other.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

/// A point in time that a document named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(SystemTime);

impl Moment {
    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self(SystemTime::now())
    }

    /// Reads RFC 3339; `None` for anything else, an empty text included.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        humantime::parse_rfc3339_weak(text).ok().map(Self)
    }

    /// This moment `ms` milliseconds later, or itself where the calendar ends before.
    #[must_use]
    pub fn after(self, ms: u64) -> Self {
        self.0.checked_add(Duration::from_millis(ms)).map_or(self, Self)
    }

    /// From `earlier` to this one in milliseconds; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        let passed = self.0.duration_since(earlier.0).unwrap_or_default();
        u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
    }

    /// RFC 3339 with milliseconds.
    #[must_use]
    pub fn rfc3339(self) -> String {
        self.written(true)
    }

    /// The day: `2026-11-29`.
    #[must_use]
    pub fn day(self) -> String {
        self.written(false).chars().take(10).collect()
    }

    /// The time of day: `14:02:10`.
    #[must_use]
    pub fn time(self) -> String {
        self.written(false).chars().skip(11).take(8).collect()
    }

    /// As short as it can be without being mistaken at `now`: `14:02:10` on the same day,
    /// `2026-11-28 14:02` on another.
    #[must_use]
    pub fn short(self, now: Self) -> String {
        if self.day() == now.day() {
            self.time()
        } else {
            format!("{} {}", self.day(), self.minute())
        }
    }

    /// As [`Moment::short`], without seconds that are zero: ends of holds are set by people.
    #[must_use]
    pub fn end(self, now: Self) -> String {
        let time = self.time();
        if self.day() == now.day() && time.ends_with(":00") {
            self.minute()
        } else {
            self.short(now)
        }
    }

    fn minute(self) -> String {
        self.time().chars().take(5).collect()
    }

    /// The formatter fails past the year 9999 and panics before 1970; clocks may say both.
    fn written(self, millis: bool) -> String {
        let time = self.0.max(SystemTime::UNIX_EPOCH);
        let mut text = String::new();
        let done = if millis {
            write!(text, "{}", humantime::format_rfc3339_millis(time))
        } else {
            write!(text, "{}", humantime::format_rfc3339_seconds(time))
        };
        match done {
            Ok(()) => text,
            Err(_) => String::from("9999-12-31T23:59:59Z"),
        }
    }
}

/// [`Moment::short`] of a document's text; the text itself where it is no time.
#[must_use]
pub fn short(text: &str, now: Moment) -> String {
    Moment::parse(text).map_or_else(|| String::from(text), |at| at.short(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        Moment::parse(text).expect("a time")
    }

    #[test]
    fn a_time_of_another_day_carries_its_day() {
        let now = at("2026-11-29T14:02:10.123Z");
        assert_eq!(now.short(now), "14:02:10");
        assert_eq!(short("2026-11-28T23:59:59Z", now), "2026-11-28 23:59");
        assert_eq!(at("2026-11-29T16:00:00Z").end(now), "16:00");
        assert_eq!(at("2026-11-29T16:00:07Z").end(now), "16:00:07");
        assert_eq!(at("2026-11-30T16:00:00Z").end(now), "2026-11-30 16:00");
        assert_eq!(now.rfc3339(), "2026-11-29T14:02:10.123Z");
    }

    #[test]
    fn what_is_no_time_is_shown_as_it_came() {
        let now = at("2026-11-29T14:02:10Z");
        assert_eq!(short("", now), "");
        assert_eq!(short("yesterday", now), "yesterday");
    }

    #[test]
    fn the_ends_of_the_calendar_do_not_panic() {
        let last = at("9999-12-31T23:59:59Z");
        assert_eq!(last.after(u64::MAX).time(), "23:59:59");
        assert_eq!(last.after(86_400_000).day(), "9999-12-31");
        let before = Moment(SystemTime::UNIX_EPOCH - Duration::from_secs(5));
        assert_eq!(before.day(), "1970-01-01");
        assert_eq!(before.since(last), 0);
    }
}
