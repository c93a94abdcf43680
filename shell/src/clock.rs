//! The only reader of clocks: our time line, and what people's clocks called its points.
//!
//! The time line counts the milliseconds this machine has *run*. It is CLOCK_MONOTONIC, which
//! stands still while the machine is suspended, moved by an offset that the journal keeps. So
//! time in which only the daemon was down counts (the services ran on), while time in which the
//! machine itself was suspended, off or rebooting counts zero (R21): failures and restarts from
//! before it keep their age, and a budget never frees because the lid was shut. CLOCK_BOOTTIME,
//! read beside it, tells that the machine slept. The wall clock is only ever shown: when it
//! steps, that is said, and no verdict changes.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, SystemTime};

use giveover_core::time::{Instant, Span};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// What the kernel's clocks showed at one moment.
///
/// # Units
/// Milliseconds: since boot without sleep, since boot with sleep, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// CLOCK_MONOTONIC.
    pub monotonic_ms: u64,
    /// CLOCK_BOOTTIME.
    pub boottime_ms: u64,
    /// CLOCK_REALTIME; a date before 1970 reads as 1970.
    pub wall_ms: u64,
}

impl Reading {
    /// Reads the clocks.
    ///
    /// They cannot be read at once, so a pause between them is looked for and the reading taken
    /// again; else a stop signal would look like a step of the wall clock.
    #[must_use]
    pub fn take() -> Self {
        const TRIES: u32 = 4;
        const STEADY_MS: u64 = 2;
        let mut tries = 0;
        loop {
            let before = milliseconds(ClockId::Monotonic);
            let reading = Self {
                wall_ms: milliseconds(ClockId::Realtime),
                boottime_ms: milliseconds(ClockId::Boottime),
                monotonic_ms: milliseconds(ClockId::Monotonic),
            };
            tries += 1;
            if reading.monotonic_ms.saturating_sub(before) <= STEADY_MS || tries == TRIES {
                return reading;
            }
        }
    }

    fn slept_ms(self) -> u64 {
        self.boottime_ms.saturating_sub(self.monotonic_ms)
    }
}

fn milliseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let fraction = u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000;
    seconds.saturating_mul(1000).saturating_add(fraction)
}

/// The time of day in seconds since 1970, for what is dated by it: certificates.
#[must_use]
pub fn unix_secs() -> u64 {
    milliseconds(ClockId::Realtime) / 1000
}

/// Which boot of the machine this is: the kernel makes a new one each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BootId(u128);

impl BootId {
    /// Asks the kernel. `None` where it does not say, which is then taken for another boot.
    #[must_use]
    pub fn read() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?)
    }

    /// The id in the kernel's own writing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
        let whole = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if whole { u128::from_str_radix(&digits, 16).ok().map(Self) } else { None }
    }
}

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        for (place, digit) in digits.chars().enumerate() {
            if matches!(place, 8 | 12 | 16 | 20) {
                f.write_str("-")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// How an earlier run left the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Previous {
    /// The boot it ran in.
    pub boot: Option<BootId>,
    /// Its offset.
    pub offset_ms: i64,
    /// The last instant it wrote down.
    pub last: Instant,
}

/// The offset that carries the time line on.
///
/// In the same boot it stays, and the time since counts. After a reboot, in a boot that cannot
/// be named, or where the kernel's clock reads less than it did (a container may be given its
/// own), now is the last instant written down.
#[must_use]
pub fn carry_on(previous: Option<&Previous>, boot: Option<BootId>, monotonic_ms: u64) -> i64 {
    let Some(previous) = previous else { return 0 };
    let same_boot = boot.is_some() && boot == previous.boot;
    if same_boot && on_line(monotonic_ms, previous.offset_ms) >= previous.last {
        return previous.offset_ms;
    }
    let offset = i128::from(previous.last.as_millis()) - i128::from(monotonic_ms);
    i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX })
}

fn on_line(monotonic_ms: u64, offset_ms: i64) -> Instant {
    Instant::from_millis(monotonic_ms.saturating_add_signed(offset_ms))
}

/// How late a deadline was met, in milliseconds, if so late that we were not running.
///
/// Whoever waited for an answer until `expected` cannot tell then whether the other side was
/// late or we were: what is in flight is void (R21). Read what has arrived first: an answer
/// that came is an answer.
///
/// # Units
/// The bound is ten ticks of the scheduler, but 100 ms to 1 s: a loop that is merely busy still
/// counts failures.
#[must_use]
pub fn late(expected: Instant, now: Instant, tick: Span) -> Option<u64> {
    let bound = (u64::from(tick.as_millis()) * 10).clamp(100, 1000);
    let by = now.since(expected);
    (by > bound).then_some(by)
}

/// A point of the time line and what the wall clock showed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The point.
    pub at: Instant,
    /// Milliseconds since 1970.
    pub wall_ms: u64,
}

/// Anchors of the recent past, to tell people when something was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchors(VecDeque<Anchor>);

impl Anchors {
    /// No more are kept; what is older is told by the oldest of them.
    pub const MOST: usize = 16;

    /// Adds one in its place. One of the same point is replaced; past [`Anchors::MOST`] the
    /// oldest goes.
    pub fn add(&mut self, anchor: Anchor) {
        let place = self.0.partition_point(|other| other.at < anchor.at);
        match self.0.get_mut(place) {
            Some(same) if same.at == anchor.at => *same = anchor,
            _ => self.0.insert(place, anchor),
        }
        if self.0.len() > Self::MOST {
            self.0.pop_front();
        }
    }

    /// What the wall clock showed at `at`: counted from the last anchor before it, or back from
    /// the first. Zero without anchors.
    #[must_use]
    pub fn wall_ms(&self, at: Instant) -> u64 {
        let before = self.0.iter().rev().find(|anchor| anchor.at <= at).or(self.0.front());
        let Some(anchor) = before else { return 0 };
        if at >= anchor.at {
            anchor.wall_ms.saturating_add(at.since(anchor.at))
        } else {
            anchor.wall_ms.saturating_sub(anchor.at.since(at))
        }
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Anchor> + '_ {
        self.0.iter().copied()
    }
}

/// A time in people's writing: RFC 3339 in UTC, to the millisecond.
#[must_use]
pub fn rfc3339(wall_ms: u64) -> String {
    const LAST: u64 = 253_402_300_799_999; // the year 9999, where the format ends
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(wall_ms.min(LAST));
    humantime::format_rfc3339_millis(time).to_string()
}

/// What was noticed on looking at the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Now.
    pub now: Instant,
    /// The machine was suspended for this long since the last look; it counts for nothing.
    pub slept_ms: Option<u64>,
    /// The wall clock was set by this much; only what is shown changes.
    pub stepped_ms: Option<i64>,
    /// A new anchor, to be journalled so that others can tell the time of entries.
    pub anchor: Option<Anchor>,
}

/// The time line of this run.
#[derive(Clone, Debug)]
pub struct Clock {
    offset_ms: i64,
    slept_ms: u64,
    last: Anchor,
    anchors: Anchors,
}

impl Clock {
    /// The time line with this offset (see [`carry_on`]).
    #[must_use]
    pub fn new(offset_ms: i64) -> Self {
        Self::at(Reading::take(), offset_ms)
    }

    /// The time line with this offset, first looked at in `reading`.
    #[must_use]
    pub fn at(reading: Reading, offset_ms: i64) -> Self {
        let now = on_line(reading.monotonic_ms, offset_ms);
        let last = Anchor { at: now, wall_ms: reading.wall_ms };
        let mut anchors = Anchors::default();
        anchors.add(last);
        Self { offset_ms, slept_ms: reading.slept_ms(), last, anchors }
    }

    /// Now. One call of the kernel's, which costs no switch into it.
    #[must_use]
    pub fn now(&self) -> Instant {
        on_line(milliseconds(ClockId::Monotonic), self.offset_ms)
    }

    /// Reads all clocks: what time it is, and what has happened to them. Call it once each turn
    /// of the loop, or at least each few seconds.
    pub fn look(&mut self) -> Look {
        self.look_at(Reading::take())
    }

    /// As [`Clock::look`], from a reading already taken.
    pub fn look_at(&mut self, reading: Reading) -> Look {
        /// Less is the distance between two readings.
        const SLEPT_LEAST_MS: u64 = 100;
        /// Less is the clock being slewed, or read late.
        const STEP_LEAST_MS: u64 = 500;
        /// What is shown may be wrong by this much before a new anchor is taken.
        const DRIFT_MOST_MS: u64 = 100;

        let now = on_line(reading.monotonic_ms, self.offset_ms).max(self.last.at);
        let ran_ms = now.since(self.last.at);
        let slept_ms = reading.slept_ms().saturating_sub(self.slept_ms);
        let slept_ms = (slept_ms >= SLEPT_LEAST_MS).then_some(slept_ms);
        let passed_ms = ran_ms.saturating_add(slept_ms.unwrap_or(0));
        let step_ms = difference(reading.wall_ms, self.last.wall_ms.saturating_add(passed_ms));
        let slewed_most_ms = STEP_LEAST_MS + passed_ms / 1000;
        let stepped_ms = (step_ms.unsigned_abs() > slewed_most_ms).then_some(step_ms);
        let drift_ms = difference(reading.wall_ms, self.anchors.wall_ms(now)).unsigned_abs();

        self.last = Anchor { at: now, wall_ms: reading.wall_ms };
        if slept_ms.is_some() {
            self.slept_ms = reading.slept_ms();
        }
        let moved = slept_ms.is_some() || stepped_ms.is_some() || drift_ms > DRIFT_MOST_MS;
        let anchor = moved.then_some(self.last);
        if let Some(anchor) = anchor {
            self.anchors.add(anchor);
        }
        Look { now, slept_ms, stepped_ms, anchor }
    }

    /// The offset, for the journal.
    #[must_use]
    pub const fn offset_ms(&self) -> i64 {
        self.offset_ms
    }

    /// The last look, as an anchor.
    #[must_use]
    pub const fn anchor(&self) -> Anchor {
        self.last
    }

    /// Takes in what an earlier run's journal knows of the wall clock, so that instants from
    /// before this run can be shown.
    pub fn remember(&mut self, earlier: &Anchors) {
        let ours = std::mem::take(&mut self.anchors);
        for anchor in earlier.iter().chain(ours.iter()) {
            self.anchors.add(anchor);
        }
    }

    /// What the wall clock showed at `at`, in milliseconds since 1970.
    #[must_use]
    pub fn wall_ms(&self, at: Instant) -> u64 {
        self.anchors.wall_ms(at)
    }

    /// What the wall clock showed at `at`, for people.
    #[must_use]
    pub fn wall(&self, at: Instant) -> String {
        rfc3339(self.wall_ms(at))
    }
}

/// `a - b`, at most what fits.
fn difference(a: u64, b: u64) -> i64 {
    let size = i64::try_from(a.abs_diff(b)).unwrap_or(i64::MAX);
    if a >= b { size } else { -size }
}

#[cfg(test)]
mod tests;
