//! How the sample of the source document divides its time.
//!
//! Connect, disconnect, then a command, all within one timeout: the socket part is the
//! prober's, and what it leaves of the time is handed over with a [`super::Handover`].
//!
//! # Source
//! `svc_probe` of the X font server sample: `SVC_CONNECT_TIMEOUT_PCT` and
//! `SVC_DISCONNECT_TIMEOUT_SECONDS`. It counts whole seconds; these are milliseconds.

use giveover_core::time::{Instant, Span};

/// How much of the timeout a connection may take, in percent.
const CONNECT_SHARE: u64 = 95;

/// How long a disconnect may take when the time is used up.
pub const DISCONNECT: Span = Span::from_secs(2);

/// Until when a probe begun at `started` may connect.
#[must_use]
pub fn connect_until(started: Instant, timeout: Span) -> Instant {
    let share = u64::from(timeout.as_millis()) * CONNECT_SHARE / 100;
    started.after(Span::from_millis(u32::try_from(share.max(1)).unwrap_or(u32::MAX)))
}

/// Until when it may disconnect, from `now`: what is left up to the `deadline` belongs to it;
/// if nothing is, a small fixed time, so that no descriptor leaks.
#[must_use]
pub fn disconnect_until(now: Instant, deadline: Instant) -> Instant {
    if now < deadline { deadline } else { now.after(DISCONNECT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn connecting_has_95_percent_and_disconnecting_the_rest() {
        // req 0.33, 0.35
        assert_eq!(connect_until(at(1_000), Span::from_secs(10)), at(10_500));
        assert_eq!(disconnect_until(at(1_200), at(11_000)), at(11_000));
        assert_eq!(connect_until(at(0), Span::MAX), at(u64::from(u32::MAX) * 95 / 100));
        assert_eq!(connect_until(at(0), Span::from_millis(1)), at(1));
    }

    #[test]
    fn with_the_time_used_up_two_seconds_are_left_to_disconnect() {
        // req 0.36
        assert_eq!(disconnect_until(at(11_000), at(11_000)), at(13_000));
        assert_eq!(disconnect_until(at(12_345), at(11_000)), at(14_345));
    }
}
