//! The clock a monitor goes by, beside true time: it may go wrong, and stands still while the host
//! is down.

use giveover_core::time::Instant;

/// A monotonic clock that is right but for its drift.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// True time, and what it showed then.
    from: (u64, u64),
    /// By how much of a million it is too fast.
    ppm: i64,
}

const MILLION: i128 = 1_000_000;

impl Clock {
    pub(super) const fn new() -> Self {
        Self { from: (0, 0), ppm: 0 }
    }

    /// One that shows `showed` at the beginning, and is too fast by `ppm` of a million.
    pub(super) const fn showing(showed: u64, ppm: i64) -> Self {
        Self { from: (0, showed), ppm }
    }

    /// What it shows at the true time `now`.
    pub(super) fn at(&self, now: u64) -> Instant {
        let (from, showed) = self.from;
        let passed = now.saturating_sub(from);
        if self.ppm == 0 {
            return Instant::from_millis(showed.saturating_add(passed));
        }
        let shown = i128::from(passed) * (MILLION + i128::from(self.ppm)) / MILLION;
        Instant::from_millis(showed.saturating_add(u64::try_from(shown).unwrap_or(u64::MAX)))
    }

    /// The first true time at which it shows `at`, or now's.
    pub(super) fn when(&self, at: Instant) -> u64 {
        let (from, showed) = self.from;
        let ahead = at.as_millis().saturating_sub(showed);
        if self.ppm == 0 {
            return from.saturating_add(ahead);
        }
        let rate = MILLION + i128::from(self.ppm);
        let true_ms = (i128::from(ahead) * MILLION + rate - 1) / rate;
        from.saturating_add(u64::try_from(true_ms).unwrap_or(u64::MAX))
    }

    /// From `now` on it goes wrong by so much of a million.
    pub(super) fn drift(&mut self, now: u64, ppm: i64) {
        self.from = (now, self.at(now).as_millis());
        self.ppm = ppm;
    }

    /// The host has booted: the time line goes on from the last instant that was written down.
    pub(super) fn carry_on(&mut self, now: u64, last: Instant) {
        self.from = (now, last.as_millis());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_drifts_meets_every_deadline_and_none_early() {
        for ppm in [0, 200_000, -200_000, 137] {
            let mut clock = Clock::new();
            clock.drift(1_000, ppm);
            for ms in [1_000u64, 1_001, 5_000, 86_400_000] {
                let due = Instant::from_millis(ms);
                let when = clock.when(due);
                assert!(clock.at(when) >= due, "{ppm}: {ms}");
                assert!(when <= 1_000 || clock.at(when - 1) < due, "{ppm}: {ms}");
            }
        }
    }

    #[test]
    fn down_time_of_the_host_does_not_count() {
        let mut clock = Clock::new();
        clock.carry_on(90_000, Instant::from_millis(30_000));
        assert_eq!(clock.at(90_005), Instant::from_millis(30_005));
        assert_eq!(clock.when(Instant::from_millis(31_000)), 91_000);
    }
}
