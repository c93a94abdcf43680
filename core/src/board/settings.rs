//! The board's settings as the host writes them, and the ranges they must keep to.

use core::fmt;

use crate::policy::{Delays, Destination, FailoverMode, Limits, Policy, Scope};
use crate::time::Span;
use crate::weight::Weight;

use super::words::Second;

/// What a host configures. Durable, echoed when changed, and refused as a whole where one value
/// is out of range: nothing is ever cut to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// Silence that is a failure. 1 s to 1 h.
    pub timeout: Span,
    /// Time to boot after a reset; also the least distance of two pulses. 2 s to 24 h.
    pub boot_grace: Span,
    /// Silence that is a failure while a USB port is lost. At least `timeout`, at most 24 h.
    pub link_timeout: Span,
    /// How long the reset line is held. 50 to 1000 ms.
    pub pulse: Span,
    /// Resets inside `retry_interval`; the next failure gives over. 0 to [`Settings::MOST_RESETS`].
    pub retry_count: u8,
    /// The window of resets and failures, in powered time. At least so long that unbroken
    /// failures reach giveover.
    pub retry_interval: Span,
    /// What the second line does at giveover.
    pub second: Second,
    /// Refuse every announced end but a reboot.
    pub nowayout: bool,
}

impl Settings {
    /// How many resets a board remembers.
    pub const MOST_RESETS: u8 = 8;
    /// Timeouts below this cannot be fed from a busy host.
    pub const LEAST_TIMEOUT: Span = Span::from_secs(1);
    /// A host silent for longer is not watched.
    pub const MOST_TIMEOUT: Span = Span::from_secs(3600);
    /// The hold-off after power-up, below which no grace is one.
    pub const LEAST_GRACE: Span = Span::from_secs(2);
    /// No file system takes longer.
    pub const MOST_GRACE: Span = Span::from_secs(86_400);
    /// The shortest pulse every host takes for one.
    pub const LEAST_PULSE: Span = Span::from_millis(50);
    /// The longest the line is held, whatever else fails.
    pub const MOST_PULSE: Span = Span::from_millis(1000);

    /// What a board without configuration has.
    pub const DEFAULT: Self = Self {
        timeout: Span::from_secs(60),
        boot_grace: Span::from_secs(600),
        link_timeout: Span::from_secs(300),
        pulse: Span::from_millis(250),
        retry_count: 3,
        retry_interval: Span::from_secs(3600),
        second: Second::Alarm,
        nowayout: false,
    };

    /// The policy these settings make: the host is one more service, a feed that does not come
    /// is its failed probe and a pulse its restart.
    ///
    /// # Errors
    /// [`SettingsError`]; nothing is made.
    pub fn policy(&self) -> Result<Policy, SettingsError> {
        self.check().map(|()| self.known_policy())
    }

    /// The policy of settings that have been checked.
    pub(super) const fn known_policy(&self) -> Policy {
        Policy::known(self.limits(), Self::SCOPE)
    }

    /// Whether every value is in its range.
    ///
    /// # Errors
    /// [`SettingsError`], for the first that is not.
    #[inline]
    pub fn check(&self) -> Result<(), SettingsError> {
        let within = |value: Span, least: Span, most: Span| value >= least && value <= most;
        if !within(self.timeout, Self::LEAST_TIMEOUT, Self::MOST_TIMEOUT) {
            return Err(SettingsError::Timeout);
        }
        if !within(self.boot_grace, Self::LEAST_GRACE, Self::MOST_GRACE) {
            return Err(SettingsError::BootGrace);
        }
        if !within(self.link_timeout, self.timeout, Self::MOST_GRACE) {
            return Err(SettingsError::LinkTimeout);
        }
        if !within(self.pulse, Self::LEAST_PULSE, Self::MOST_PULSE) {
            return Err(SettingsError::Pulse);
        }
        if self.retry_count > Self::MOST_RESETS {
            return Err(SettingsError::RetryCount);
        }
        // What Policy::new would ask for, a little more of it, and without its divisions: on the
        // board this has to be small. A test holds the two together.
        // Each is at most 25 h by now, and there are eight at most: 32 bits are enough.
        let each = self.timeout.as_millis().wrapping_add(self.boot_grace.as_millis());
        let least_ms = each.wrapping_mul(u32::from(self.retry_count)).max(1);
        if self.retry_interval.as_millis() < least_ms {
            return Err(SettingsError::RetryInterval { least_ms: u64::from(least_ms) });
        }
        Ok(())
    }

    /// Whether [`Settings::check`] finds nothing, in less code than to say what.
    #[inline(never)]
    pub(super) fn are_possible(&self) -> bool {
        self.check().is_ok()
    }

    const SCOPE: Scope = Scope {
        smallest: Weight::HALF,
        heaviest: Some(Weight::COMPLETE),
        deaths: false,
        destination: Destination::Board,
    };

    const fn limits(&self) -> Limits {
        Limits {
            thorough_probe_interval: self.timeout,
            probe_timeout: self.timeout,
            retry_count: Some(self.retry_count as u16),
            retry_interval: self.retry_interval,
            start_timeout: self.boot_grace,
            stop_timeout: self.pulse,
            start_grace: self.boot_grace,
            restart_delay: Delays::NONE,
            failover_mode: FailoverMode::Soft,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Which setting is out of range. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// Not 1 s to 1 h.
    Timeout,
    /// Not 2 s to 24 h.
    BootGrace,
    /// Not `timeout` to 24 h.
    LinkTimeout,
    /// Not 50 to 1000 ms.
    Pulse,
    /// Above [`Settings::MOST_RESETS`].
    RetryCount,
    /// Too short for the budget ever to be used up.
    RetryInterval {
        /// The least that works, in milliseconds.
        least_ms: u64,
    },
}

impl SettingsError {
    /// The key whose value stands in the way.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::BootGrace => "boot_grace",
            Self::LinkTimeout => "link_timeout",
            Self::Pulse => "pulse",
            Self::RetryCount => "retry_count",
            Self::RetryInterval { .. } => "retry_interval",
        }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => write!(f, "timeout is 1 s to 1 h"),
            Self::BootGrace => write!(f, "boot_grace is 2 s to 24 h"),
            Self::LinkTimeout => write!(f, "link_timeout is at least timeout, at most 24 h"),
            Self::Pulse => write!(f, "pulse is 50 ms to 1 s"),
            Self::RetryCount => {
                write!(f, "retry_count is at most {}", Settings::MOST_RESETS)
            }
            Self::RetryInterval { least_ms } => {
                write!(
                    f,
                    "retry_interval is too short to use up the resets: at least {least_ms} ms"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn the_default_settings_are_possible() {
        assert!(Settings::DEFAULT.policy().is_ok());
    }

    /// Whatever a board takes, the rest of the core would take as well.
    #[test]
    fn settings_that_are_taken_make_a_policy_that_can_work() {
        let spans = |list: &[u32]| list.iter().copied().map(Span::from_millis).collect::<Vec<_>>();
        for timeout in spans(&[1_000, 1_001, 60_000, 3_600_000]) {
            for boot_grace in spans(&[2_000, 2_001, 59_999, 60_000, 600_000, 86_400_000]) {
                for retry_count in 0..=Settings::MOST_RESETS {
                    let wanted = Settings {
                        timeout,
                        boot_grace,
                        link_timeout: Settings::MOST_GRACE,
                        retry_count,
                        retry_interval: Span::from_millis(0),
                        ..Settings::DEFAULT
                    };
                    let least = match wanted.policy() {
                        Err(SettingsError::RetryInterval { least_ms }) => least_ms,
                        other => panic!("{other:?}"),
                    };
                    let least = Span::from_millis(u32::try_from(least).expect("short"));
                    let policy = Settings { retry_interval: least, ..wanted }.policy();
                    let policy = policy.expect("it was said to work");
                    let made = Policy::new(*policy.limits(), *policy.scope());
                    assert_eq!(made.map(|(made, _)| made), Ok(policy));
                }
            }
        }
    }

    #[test]
    fn each_setting_keeps_to_its_range_to_the_millisecond() {
        type Set = fn(&mut Settings, Span);
        let rows: [(&str, Span, Span, Set); 4] = [
            ("timeout", Settings::LEAST_TIMEOUT, Settings::MOST_TIMEOUT, |s, v| s.timeout = v),
            ("boot_grace", Settings::LEAST_GRACE, Settings::MOST_GRACE, |s, v| s.boot_grace = v),
            ("link_timeout", Span::from_secs(60), Settings::MOST_GRACE, |s, v| s.link_timeout = v),
            ("pulse", Settings::LEAST_PULSE, Settings::MOST_PULSE, |s, v| s.pulse = v),
        ];
        let long = Settings { retry_interval: Span::MAX, ..Settings::DEFAULT };
        for (key, least, most, set) in rows {
            for (ms, possible) in [
                (least.as_millis() - 1, false),
                (least.as_millis(), true),
                (most.as_millis(), true),
                (most.as_millis() + 1, false),
            ] {
                let mut settings = long;
                set(&mut settings, Span::from_millis(ms));
                settings.link_timeout = match key {
                    "link_timeout" => settings.link_timeout,
                    _ => settings.link_timeout.max(settings.timeout),
                };
                let refused = settings.policy().err().map(SettingsError::key);
                assert_eq!(refused, if possible { None } else { Some(key) }, "{key} {ms}");
            }
        }
    }

    #[test]
    fn resets_that_a_board_cannot_remember_or_use_up_are_refused() {
        let many = Settings { retry_interval: Span::MAX, retry_count: 8, ..Settings::DEFAULT };
        assert!(many.policy().is_ok());
        let more = Settings { retry_count: 9, ..many };
        assert_eq!(more.policy(), Err(SettingsError::RetryCount));
        let least = match (Settings { retry_interval: Span::from_millis(1), ..many }).policy() {
            Err(SettingsError::RetryInterval { least_ms }) => least_ms,
            other => panic!("{other:?}"),
        };
        let window = |ms: u64| Span::from_millis(u32::try_from(ms).expect("short"));
        assert!(Settings { retry_interval: window(least), ..many }.policy().is_ok());
        assert!(Settings { retry_interval: window(least - 1), ..many }.policy().is_err());
    }
}
