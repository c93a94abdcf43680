//! The core's own instant: whole milliseconds since an epoch the caller chose.

use core::cmp::Ordering;
use core::fmt;
use core::num::NonZeroU64;
use core::time::Duration;

/// A point on the caller's monotonic time line.
///
/// The core never reads a clock. Whoever drives it says what time it is, and keeps the line
/// unbroken across restarts and reboots by choosing the epoch.
///
/// # Units
/// Milliseconds, up to [`Instant::MAX`]. Arithmetic saturates at both ends; there is no magic
/// value, an absent instant is `Option::None`, which takes no more room than one that is there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instant(NonZeroU64); // one more than the milliseconds

impl Instant {
    /// The end of time, some 584 million years after the epoch.
    pub const MAX: Self = Self(NonZeroU64::MAX);

    /// The instant `ms` milliseconds after the epoch, or the end of time.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(ms))
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0.get() - 1
    }

    /// This instant moved later by `by`, or the end of time.
    #[must_use]
    // Checked 64-bit arithmetic is long on a board's processor, and a call to it short.
    #[cfg_attr(target_arch = "arm", inline(never))]
    pub const fn after(self, by: Span) -> Self {
        Self(self.0.saturating_add(by.as_millis() as u64))
    }

    /// Time from `earlier` to this instant in milliseconds; zero if `earlier` is later.
    #[must_use]
    #[cfg_attr(target_arch = "arm", inline(never))]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.get().saturating_sub(earlier.0.get())
    }
}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // Each by itself, as the derived ones are: an ordering first is more code.
    fn lt(&self, other: &Self) -> bool {
        self.0 < other.0
    }

    fn le(&self, other: &Self) -> bool {
        self.0 <= other.0
    }

    fn gt(&self, other: &Self) -> bool {
        self.0 > other.0
    }

    fn ge(&self, other: &Self) -> bool {
        self.0 >= other.0
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }

    #[cfg_attr(target_arch = "arm", inline(never))]
    fn max(self, other: Self) -> Self {
        if self.0 < other.0 { other } else { self }
    }

    #[cfg_attr(target_arch = "arm", inline(never))]
    fn min(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }
}

impl Default for Instant {
    /// The epoch.
    fn default() -> Self {
        Self::from_millis(0)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({})", self.as_millis())
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_millis().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Instant {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::from_millis)
    }
}

/// A length of time as policies hold it: four bytes, because a board keeps many.
///
/// # Units
/// Whole milliseconds, up to [`Span::MAX`] (49 days).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span(u32);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span, a little over 49 days.
    pub const MAX: Self = Self(u32::MAX);

    /// A span of `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u32) -> Self {
        Self(ms)
    }

    /// A span of `s` seconds, or [`Span::MAX`] where that is more.
    #[must_use]
    pub const fn from_secs(s: u32) -> Self {
        Self(s.saturating_mul(1000))
    }

    /// The span as written in a configuration, or `None` past [`Span::MAX`]. Parts of a
    /// millisecond are dropped.
    #[must_use]
    pub fn from_duration(duration: Duration) -> Option<Self> {
        u32::try_from(duration.as_millis()).ok().map(Self)
    }

    /// The span in milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u32 {
        self.0
    }

    /// The span for the standard library.
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.0 as u64)
    }

    /// True for no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let last = Instant::from_millis(u64::MAX);
        assert_eq!(last, Instant::MAX);
        assert_eq!(last.after(Span::from_millis(1)), last);
        assert_eq!(Instant::from_millis(5).since(last), 0);
        assert_eq!(Span::from_secs(u32::MAX), Span::MAX);
    }

    #[test]
    fn an_absent_instant_takes_no_room() {
        assert_eq!(size_of::<Option<Instant>>(), size_of::<u64>());
    }

    #[test]
    fn a_span_past_49_days_is_refused() {
        assert_eq!(
            Span::from_duration(Duration::from_millis(u64::from(u32::MAX))),
            Some(Span::MAX)
        );
        assert_eq!(Span::from_duration(Duration::from_millis(u64::from(u32::MAX) + 1)), None);
    }
}
