//! The one clock that all processes of a run share.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::thread;
use std::time::Duration;

/// Nanoseconds of the monotonic clock: the same number means the same moment in every process
/// on this machine, which `std::time::Instant` does not let us write into a message.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sleeps until the clock shows `at_ns`; returns at once when that is past.
pub(crate) fn sleep_until(at_ns: u64) {
    let wait_ns = at_ns.saturating_sub(now_ns());
    if wait_ns > 0 {
        thread::sleep(Duration::from_nanos(wait_ns));
    }
}

/// A timeout for `epoll`, whole milliseconds rounded up: rounding down would wake us early and
/// make a loop spin through its last millisecond.
pub(crate) fn epoll_timeout(wait_ns: u64) -> Timespec {
    let wait_ms = wait_ns.div_ceil(1_000_000) as i64;
    Timespec { tv_sec: wait_ms / 1000, tv_nsec: (wait_ms % 1000) * 1_000_000 }
}
