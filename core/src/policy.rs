//! Limits as written, and the policy they become once they are known to be possible.

use core::borrow::Borrow;
use core::fmt;

use crate::time::Span;
use crate::weight::Weight;

/// What a failing method does, and whether the monitor may restart or give over at all.
///
/// # Source
/// Sun Cluster's `Failover_mode`. `None`, `Soft` and `Hard` only say what a start or stop
/// *method* that fails leads to; none of them stops the monitor from restarting or giving over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FailoverMode {
    /// A failing start or stop leaves the service faulted here.
    None,
    /// A failing start asks for giveover; a failing stop leaves the service faulted.
    #[default]
    Soft,
    /// As `Soft`, and a failing stop asks for a reset of the node.
    Hard,
    /// Restarts within the budget, never a giveover.
    RestartOnly,
    /// Neither: failures are logged.
    LogOnly,
}

impl FailoverMode {
    /// Every mode, in the order of the documents.
    pub const ALL: [Self; 5] =
        [Self::None, Self::Soft, Self::Hard, Self::RestartOnly, Self::LogOnly];

    /// The mode's word in configuration and on screens.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Soft => "soft",
            Self::Hard => "hard",
            Self::RestartOnly => "restart_only",
            Self::LogOnly => "log_only",
        }
    }
}

/// Where a giveover would go (R22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Destination {
    /// Nobody can take it: a spent budget acts as under `restart_only`.
    #[default]
    Nobody,
    /// Another node, or whatever the giveover command hands it to. The monitor here ends.
    Elsewhere,
    /// The board that resets this host. Nothing is stopped and the monitor goes on.
    Board,
}

/// Two starts keep at least this distance, whatever else is configured (R13).
pub const START_DISTANCE: Span = Span::from_secs(1);

/// The waits before the first, second, … restart of a window; the last one repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delays {
    waits: [Span; Self::MOST],
    len: u8,
}

impl Delays {
    /// How many different waits a policy may name.
    pub const MOST: usize = 8;
    /// Restart at once, always.
    pub const NONE: Self = Self { waits: [Span::ZERO; Self::MOST], len: 1 };

    /// The waits in `list`, or `None` past [`Delays::MOST`]. An empty list means no wait.
    #[must_use]
    pub fn new(list: &[Span]) -> Option<Self> {
        let mut delays = Self::NONE;
        delays.waits.get_mut(..list.len())?.copy_from_slice(list);
        delays.len = u8::try_from(list.len().max(1)).ok()?;
        Some(delays)
    }

    /// The wait before a restart that `made` restarts of the window went before.
    #[must_use]
    pub fn wait(&self, made: u16) -> Span {
        let last = self.len.saturating_sub(1);
        let index = usize::from(made).min(usize::from(last));
        self.waits.get(index).copied().unwrap_or(Span::ZERO)
    }

    /// How many waits are named.
    #[must_use]
    pub const fn len(&self) -> u16 {
        self.len as u16
    }

    /// Never: an empty list is one wait of zero.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The waits in order.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.waits.iter().copied().take(usize::from(self.len))
    }
}

/// A policy as its author wrote it; [`Policy::new`] says whether it can work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Limits {
    /// Time from the end of one cycle of probes to the start of the next. Zero is refused.
    pub thorough_probe_interval: Span,
    /// The total deadline of one probe. Zero is refused.
    pub probe_timeout: Span,
    /// Restarts allowed inside `retry_interval`; `None` is unlimited, zero gives over at once.
    /// At most [`Limits::MOST_RESTARTS`].
    pub retry_count: Option<u16>,
    /// The sliding window of failures, restarts and starts. A record exactly as old still
    /// counts. Zero is refused.
    pub retry_interval: Span,
    /// How long the start method may take. Zero is refused.
    pub start_timeout: Span,
    /// How long the stop method may take. Zero is refused.
    pub stop_timeout: Span,
    /// After a start, failed probes count nothing for this long or until the first healthy
    /// cycle. Zero means none.
    pub start_grace: Span,
    /// Waits before restarts.
    pub restart_delay: Delays,
    /// What failing methods do.
    pub failover_mode: FailoverMode,
}

impl Limits {
    /// The largest `retry_count`.
    pub const MOST_RESTARTS: u16 = 9999;

    /// The built-in limits; they fit each other.
    pub const DEFAULT: Self = Self {
        thorough_probe_interval: Span::from_secs(30),
        probe_timeout: Span::from_secs(10),
        retry_count: Some(2),
        retry_interval: Span::from_secs(600),
        start_timeout: Span::from_secs(60),
        stop_timeout: Span::from_secs(30),
        start_grace: Span::from_secs(30),
        restart_delay: Delays {
            waits: {
                let mut waits = [Span::ZERO; Delays::MOST];
                waits[1] = Span::from_secs(5);
                waits
            },
            len: 2,
        },
        failover_mode: FailoverMode::Soft,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What the limits are about: the service's checks, its process, its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Scope {
    /// The smallest weight any check (or report) can emit.
    pub smallest: Weight,
    /// The heaviest verdict one cycle can have; `None` without checks.
    pub heaviest: Option<Weight>,
    /// Whether the end of the process is seen.
    pub deaths: bool,
    /// Where a giveover would go.
    pub destination: Destination,
}

impl Scope {
    /// Checks that fail completely or by half, a process that is watched, somewhere to go.
    pub const USUAL: Self = Self {
        smallest: Weight::HALF,
        heaviest: Some(Weight::COMPLETE),
        deaths: true,
        destination: Destination::Elsewhere,
    };
}

/// How many records the histories of a policy need; storage that holds less is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Capacity {
    /// Failures: as many as the smallest weight needs to reach 100, never more than 99.
    pub failures: u16,
    /// Restarts: `retry_count`, at least one.
    pub restarts: u16,
    /// Starts: enough to find the last wait of the list.
    pub starts: u16,
}

/// Limits that have been found possible for their scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Policy {
    limits: Limits,
    scope: Scope,
}

impl Policy {
    /// Checks that `limits` can work for `scope`.
    ///
    /// # Errors
    /// See [`PolicyError`]; each carries the least value that would work. Nothing is made.
    ///
    /// # Source
    /// Oracle's guides recommend an inequality between these values; here it is checked, with
    /// the times of the methods, which they leave out.
    pub fn new(limits: Limits, scope: Scope) -> Result<(Self, Warnings), PolicyError> {
        refuse_zero(&limits)?;
        if limits.retry_count.is_some_and(|count| count > Limits::MOST_RESTARTS) {
            return Err(PolicyError::RetryCountTooLarge);
        }
        let policy = Self { limits, scope };
        let mut warnings = Warnings::new();
        let window = u64::from(limits.retry_interval.as_millis());

        if let Some(heaviest) = scope.heaviest {
            let least_ms = policy.window_for(heaviest);
            if window < least_ms {
                return Err(PolicyError::NeverComplete { heaviest, least_ms });
            }
            let least_ms = policy.window_for(scope.smallest);
            if window < least_ms {
                let warning = PolicyWarning::PartNeverComplete { weight: scope.smallest, least_ms };
                let _ = warnings.push(warning); // three kinds, three places
            }
        }
        if policy.gives_over() && limits.retry_count.is_some() {
            let least_ms = policy.window_for_giveover();
            if window < least_ms {
                if !scope.deaths {
                    return Err(PolicyError::GiveoverUnreachable { least_ms });
                }
                let _ = warnings.push(PolicyWarning::GiveoverByDeathOnly { least_ms });
            }
            let least_ms = policy.restarts_at_worst_ms();
            if window < least_ms {
                let _ = warnings.push(PolicyWarning::WorstCaseTooLong { least_ms });
            }
        }
        Ok((policy, warnings))
    }

    /// The policy of limits that are constants and known to work.
    pub(crate) const fn known(limits: Limits, scope: Scope) -> Self {
        Self { limits, scope }
    }

    /// The limits.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the limits are about.
    #[must_use]
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// How many records the histories need.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        let restarts = self.limits.retry_count.unwrap_or(0).max(1);
        Capacity {
            failures: u16::from(self.scope.smallest.to_complete().min(99)),
            restarts,
            starts: restarts.max(self.limits.restart_delay.len()),
        }
    }

    /// Whether a spent budget asks for giveover, rather than waiting for the budget (R11, R22).
    #[must_use]
    pub const fn gives_over(&self) -> bool {
        matches!(
            self.limits.failover_mode,
            FailoverMode::None | FailoverMode::Soft | FailoverMode::Hard
        ) && !matches!(self.scope.destination, Destination::Nobody)
    }

    /// Whether a start that fails asks for giveover (R7).
    #[must_use]
    pub const fn gives_over_failed_start(&self) -> bool {
        self.gives_over() && !matches!(self.limits.failover_mode, FailoverMode::None)
    }

    /// Longest time from a fault to the verdict that it is one failure, by probes alone.
    ///
    /// # Units
    /// Milliseconds, for a check that fails with the smallest weight.
    #[must_use]
    pub fn notice_at_worst_ms(&self) -> u64 {
        let one = ms(self.limits.thorough_probe_interval) + ms(self.limits.probe_timeout);
        u64::from(self.scope.smallest.to_complete()) * one
    }

    /// Longest time `retry_count` restarts take; what `retry_interval` should not be below.
    ///
    /// # Units
    /// Milliseconds; zero where restarts are unlimited.
    #[must_use]
    pub fn restarts_at_worst_ms(&self) -> u64 {
        let limits = &self.limits;
        let each = self.notice_at_worst_ms()
            + ms(limits.stop_timeout)
            + ms(limits.start_timeout)
            + ms(limits.start_grace);
        u64::from(limits.retry_count.unwrap_or(0)) * each + self.delays_ms()
    }

    /// Longest time from the first fault to giveover: all restarts, then one failure more.
    ///
    /// # Units
    /// Milliseconds.
    #[must_use]
    pub fn giveover_at_worst_ms(&self) -> u64 {
        self.restarts_at_worst_ms() + self.notice_at_worst_ms()
    }

    /// The window inside which cycles that weigh `weight` each reach 100.
    fn window_for(&self, weight: Weight) -> u64 {
        let gaps = u64::from(weight.to_complete()) - 1;
        gaps * ms(self.limits.thorough_probe_interval)
    }

    /// The window inside which unbroken complete failures reach giveover: the wait before the
    /// first restart, from each restart to the next a cycle and a wait but never less than
    /// [`START_DISTANCE`], and a cycle from the last restart to the last failure.
    fn window_for_giveover(&self) -> u64 {
        let Some(between) = self.limits.retry_count.unwrap_or(0).checked_sub(1) else {
            return 0;
        };
        let interval = ms(self.limits.thorough_probe_interval);
        let cycle = ms(self.limits.start_grace).div_ceil(interval).max(1) * interval;
        let wait = |made| ms(self.limits.restart_delay.wait(made));
        let step = |made| (cycle + wait(made)).max(ms(START_DISTANCE));
        let named = between.min(self.limits.restart_delay.len());
        let listed: u64 = (1..=named).map(step).sum();
        wait(0) + listed + u64::from(between - named) * step(between) + cycle
    }

    /// The waits before the first `retry_count` restarts.
    fn delays_ms(&self) -> u64 {
        let count = self.limits.retry_count.unwrap_or(0);
        let named = count.min(self.limits.restart_delay.len());
        let listed: u64 = (0..named).map(|made| ms(self.limits.restart_delay.wait(made))).sum();
        listed + u64::from(count - named) * ms(self.limits.restart_delay.wait(count))
    }
}

/// How a machine holds its policy: by value on the board, shared between the many machines of a
/// daemon that were given the same limits.
pub trait PolicySlot: Borrow<Policy> + From<Policy> {}
impl<P: Borrow<Policy> + From<Policy>> PolicySlot for P {}

fn ms(span: Span) -> u64 {
    u64::from(span.as_millis())
}

fn refuse_zero(limits: &Limits) -> Result<(), PolicyError> {
    let must_not_be_zero = [
        ("thorough_probe_interval", limits.thorough_probe_interval),
        ("probe_timeout", limits.probe_timeout),
        ("retry_interval", limits.retry_interval),
        ("start_timeout", limits.start_timeout),
        ("stop_timeout", limits.stop_timeout),
    ];
    match must_not_be_zero.iter().find(|(_, span)| span.is_zero()) {
        Some((key, _)) => Err(PolicyError::Zero { key }),
        None => Ok(()),
    }
}

/// Why limits can never work. Nothing was made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// A length of time is zero; the least that works is 1 ms.
    Zero {
        /// The key.
        key: &'static str,
    },
    /// `retry_count` is above [`Limits::MOST_RESTARTS`].
    RetryCountTooLarge,
    /// Even if every check fails in every cycle, the sum never reaches 100.
    NeverComplete {
        /// The heaviest verdict of one cycle.
        heaviest: Weight,
        /// The least `retry_interval` that works, in milliseconds.
        least_ms: u64,
    },
    /// Even unbroken complete failures never use up the restarts inside the window.
    GiveoverUnreachable {
        /// The least `retry_interval` that works, in milliseconds.
        least_ms: u64,
    },
}

impl PolicyError {
    /// The key whose value stands in the way.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Zero { key } => key,
            Self::RetryCountTooLarge => "retry_count",
            Self::NeverComplete { .. } | Self::GiveoverUnreachable { .. } => "retry_interval",
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { key } => write!(f, "{key} must not be zero"),
            Self::RetryCountTooLarge => {
                write!(f, "retry_count is at most {}; -1 means unlimited", Limits::MOST_RESTARTS)
            }
            Self::NeverComplete { heaviest, least_ms } => write!(
                f,
                "no number of failed cycles, {} each, reaches 100 inside retry_interval; \
                 the least that works is {}",
                heaviest.value(),
                Written(*least_ms)
            ),
            Self::GiveoverUnreachable { least_ms } => write!(
                f,
                "restarts age out before retry_count is used up, so giveover is never reached; \
                 the least retry_interval that works is {}",
                Written(*least_ms)
            ),
        }
    }
}

/// What is possible but hardly meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyWarning {
    /// Failures of the smallest weight alone never reach 100.
    PartNeverComplete {
        /// The smallest weight.
        weight: Weight,
        /// The least `retry_interval` that would, in milliseconds.
        least_ms: u64,
    },
    /// Only deaths in quick order reach giveover; failed probes never do.
    GiveoverByDeathOnly {
        /// The least `retry_interval` with which probes do, in milliseconds.
        least_ms: u64,
    },
    /// With methods as slow as they may be, restarts age out before the budget is spent.
    WorstCaseTooLong {
        /// The least `retry_interval` that holds the worst case, in milliseconds.
        least_ms: u64,
    },
}

impl PolicyWarning {
    /// The warning's name, as `giveover help NAME` and `allow = ["NAME"]` know it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PartNeverComplete { .. } => "part-never-acts",
            Self::GiveoverByDeathOnly { .. } => "giveover-by-death-only",
            Self::WorstCaseTooLong { .. } => "worst-case-too-long",
        }
    }

    /// The least `retry_interval` that would silence it, in milliseconds.
    #[must_use]
    pub const fn least_ms(&self) -> u64 {
        match self {
            Self::PartNeverComplete { least_ms, .. }
            | Self::GiveoverByDeathOnly { least_ms }
            | Self::WorstCaseTooLong { least_ms } => *least_ms,
        }
    }
}

impl fmt::Display for PolicyWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartNeverComplete { weight, least_ms } => write!(
                f,
                "failures that weigh {} never reach 100 inside retry_interval; {} would do",
                weight.value(),
                Written(*least_ms)
            ),
            Self::GiveoverByDeathOnly { least_ms } => write!(
                f,
                "failed probes alone never reach giveover inside retry_interval; {} would do",
                Written(*least_ms)
            ),
            Self::WorstCaseTooLong { least_ms } => write!(
                f,
                "at worst the restarts take longer than retry_interval and it never gives over; \
                 {} would hold them",
                Written(*least_ms)
            ),
        }
    }
}

/// The warnings of one policy.
pub type Warnings = heapless::Vec<PolicyWarning, 3>;

/// Milliseconds as a person would write them in the file.
struct Written(u64);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 1000 == 0 {
            write!(f, "\"{}s\"", self.0 / 1000)
        } else {
            write!(f, "\"{}ms\"", self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(seconds: &[u32]) -> Delays {
        let mut list = [Span::ZERO; Delays::MOST];
        for (span, s) in list.iter_mut().zip(seconds) {
            *span = Span::from_secs(*s);
        }
        Delays::new(&list[..seconds.len()]).expect("few")
    }

    #[test]
    fn the_last_wait_repeats_and_no_wait_is_one_of_zero() {
        let delays = spans(&[1, 5]);
        let waits = [0, 1, 2, u16::MAX].map(|made| delays.wait(made).as_millis());
        assert_eq!(waits, [1_000, 5_000, 5_000, 5_000]);
        assert_eq!(Delays::new(&[]), Some(Delays::NONE));
        assert_eq!((Delays::NONE.len(), Delays::NONE.wait(7)), (1, Span::ZERO));
        assert_eq!(Delays::new(&[Span::ZERO; Delays::MOST + 1]), None);
    }

    #[test]
    fn the_defaults_fit_each_other() {
        let (policy, warnings) = Policy::new(Limits::DEFAULT, Scope::USUAL).expect("possible");
        assert!(warnings.is_empty(), "{warnings:?}");
        // 2 x (2 x (30 + 10) + 30 + 60 + 30) + 0 + 5
        assert_eq!(policy.restarts_at_worst_ms(), 405_000);
        assert_eq!(policy.giveover_at_worst_ms(), 485_000);
    }

    #[test]
    fn the_first_waits_are_part_of_the_worst_case() {
        let delays_of = |retry_count, seconds| {
            let restart_delay = spans(seconds);
            let limits = Limits { retry_count, restart_delay, ..Limits::DEFAULT };
            Policy { limits, scope: Scope::USUAL }.delays_ms()
        };
        assert_eq!(delays_of(Some(0), &[7]), 0);
        assert_eq!(delays_of(Some(1), &[1, 2, 4]), 1_000);
        assert_eq!(delays_of(Some(3), &[1, 2, 4]), 7_000);
        assert_eq!(delays_of(Some(5), &[1, 2, 4]), 15_000);
        assert_eq!(delays_of(None, &[1, 2, 4]), 0);
    }

    #[test]
    fn the_capacity_is_what_the_limits_can_fill() {
        let capacity = |retry_count, smallest, seconds| {
            let limits = Limits { retry_count, restart_delay: spans(seconds), ..Limits::DEFAULT };
            let smallest = Weight::new(smallest).expect("a weight");
            let kept = Policy { limits, scope: Scope { smallest, ..Scope::USUAL } }.capacity();
            (kept.failures, kept.restarts, kept.starts)
        };
        assert_eq!(capacity(Some(2), 50, &[0]), (2, 2, 2));
        assert_eq!(capacity(Some(0), 100, &[0, 1, 2]), (1, 1, 3));
        assert_eq!(capacity(None, 1, &[0]), (99, 1, 1));
        assert_eq!(capacity(Some(9999), 33, &[0; 8]), (4, 9999, 9999));
    }

    #[test]
    fn a_least_value_is_written_as_in_the_file() {
        let written = |least_ms| {
            let mut text = heapless::String::<128>::new();
            let warning = PolicyWarning::GiveoverByDeathOnly { least_ms };
            core::fmt::write(&mut text, format_args!("{warning}")).expect("it fits");
            text
        };
        assert!(written(90_000).ends_with("\"90s\" would do"));
        assert!(written(1_500).ends_with("\"1500ms\" would do"));
    }
}
