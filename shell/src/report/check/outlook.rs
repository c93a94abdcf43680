//! How fast a service's faults are noticed and acted on, at best and at worst.

use giveover_core::policy::FailoverMode;

use crate::config::plan::{Kind, ServicePlan};

/// What to expect of a service's policy. `None` is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outlook {
    /// From the end of the process to the failure, in milliseconds; zero is at once.
    pub(super) dead_ms: Option<u64>,
    /// From a hang, or any partial failure, to 100, at worst.
    pub(super) hung_ms: Option<u64>,
    /// From a failure to the first restart, at best.
    pub(super) restart_ms: Option<u64>,
    /// From a fault to giveover, or to the spent budget, at worst.
    pub(super) giveover_ms: Option<u64>,
    /// The most restarts in a window, and the window in milliseconds.
    pub(super) most: Option<(u64, u64)>,
}

impl Outlook {
    /// The outlook of `service`.
    pub(super) fn of(service: &ServicePlan) -> Self {
        let policy = &service.policy;
        let limits = policy.limits();
        let acts = limits.failover_mode != FailoverMode::LogOnly;
        let budget = limits.retry_count.filter(|_| acts);
        let restarts = acts && limits.retry_count != Some(0);
        let asks = service.counted().any(|check| !matches!(check.kind, Kind::Process));
        Self {
            dead_ms: dead_ms(service),
            hung_ms: asks.then(|| policy.notice_at_worst_ms()),
            restart_ms: restarts.then(|| u64::from(limits.restart_delay.wait(0).as_millis())),
            giveover_ms: budget.map(|_| policy.giveover_at_worst_ms()),
            most: budget
                .filter(|count| *count > 0)
                .map(|count| most(u64::from(count), u64::from(limits.retry_interval.as_millis()))),
        }
    }
}

/// Deaths are heard; where they are not, the heaviest failure a probe can have shows them.
fn dead_ms(service: &ServicePlan) -> Option<u64> {
    let scope = service.policy.scope();
    if scope.deaths {
        return Some(0);
    }
    let limits = service.policy.limits();
    let cycle = u64::from(limits.thorough_probe_interval.as_millis())
        + u64::from(limits.probe_timeout.as_millis());
    scope.heaviest.map(|heaviest| u64::from(heaviest.to_complete()) * cycle)
}

/// The most restarts in an hour, or in the window itself if that is longer: `count` at the
/// beginning of each window that begins within it.
fn most(count: u64, window_ms: u64) -> (u64, u64) {
    const HOUR_MS: u64 = 3_600_000;
    if window_ms >= HOUR_MS {
        return (count, window_ms);
    }
    (count * HOUR_MS.div_ceil(window_ms.max(1)), HOUR_MS)
}

#[cfg(test)]
mod tests {
    use super::most;

    #[test]
    fn restarts_are_counted_by_the_hour_where_the_window_is_shorter() {
        assert_eq!(most(2, 600_000), (12, 3_600_000));
        assert_eq!(most(2, 700_000), (12, 3_600_000));
        assert_eq!(most(3, 3_600_000), (3, 3_600_000));
        assert_eq!(most(3, 21_600_000), (3, 21_600_000));
        assert_eq!(most(1, 1000), (3600, 3_600_000));
    }
}
