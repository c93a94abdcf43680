//! Milliseconds that never wrap, from a hardware counter that does.

use core::num::NonZeroU32;

use giveover_core::time::{Instant, Span};

/// Which way a hardware counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A timer or an RTC.
    Up,
    /// SysTick.
    Down,
}

/// A free-running counter of the chip, as its manual describes it.
///
/// # Units
/// `hz` is its rate in counts a second; it need not divide into milliseconds (an RTC of 32,768 Hz
/// does not). It wraps after `2^bits` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// So many counts are so many milliseconds, in the smallest whole numbers.
    each: NonZeroU32,
    ms: u32,
    mask: u32,
    direction: Direction,
}

impl Counter {
    /// A counter of `bits` bits, or `None` where that is not 1 to 32, or 32 bits do not do to reckon
    /// with its rate: they do for whole kilohertz, and for all others up to 4 MHz.
    #[must_use]
    pub const fn new(hz: NonZeroU32, bits: u32, direction: Direction) -> Option<Self> {
        let common = common(hz.get(), 1000);
        let (Some(each), ms) = (NonZeroU32::new(hz.get() / common), 1000 / common) else {
            return None;
        };
        match bits {
            1..=32 if each.get().checked_mul(ms + 1).is_some() => {
                Some(Self { each, ms, mask: u32::MAX >> (32 - bits), direction })
            }
            _ => None,
        }
    }

    /// How long it takes to wrap, parts of a millisecond dropped. It must be looked at more often,
    /// or time is lost that nobody can count.
    #[must_use]
    pub const fn wraps_after(&self) -> Span {
        let ms = (self.mask as u64 + 1) * self.ms as u64 / self.each.get() as u64;
        if ms > u32::MAX as u64 { Span::MAX } else { Span::from_millis(ms as u32) }
    }

    /// Counts from `earlier` to `later`, less than one turn apart.
    const fn between(&self, earlier: u32, later: u32) -> u32 {
        let counts = match self.direction {
            Direction::Up => later.wrapping_sub(earlier),
            Direction::Down => earlier.wrapping_sub(later),
        };
        counts & self.mask
    }
}

/// The greatest number that divides both.
const fn common(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common(other, one % other) }
}

/// The board's time line.
///
/// It adds up what the counter has counted between two looks; what is less than a millisecond
/// is carried, so that nothing drifts however often it is looked at. The origin is the caller's:
/// a board that was reset alone goes on where its records say, and a test begins just before any
/// edge it likes.
#[derive(Clone, Debug)]
pub struct Tick {
    last: u32,
    /// What is left over: of [`Counter::each`] so many parts of a millisecond.
    rest: u32,
    now: Instant,
}

impl Tick {
    /// A time line at `origin` while its counter shows `raw`.
    #[must_use]
    pub const fn new(raw: u32, origin: Instant) -> Self {
        Self { last: raw, rest: 0, now: origin }
    }

    /// What time it is when `counter` shows `raw`. It is the same counter each time, and not kept
    /// here: a compiler that knows it has little left to do.
    pub fn look(&mut self, counter: Counter, raw: u32) -> Instant {
        let counts = counter.between(self.last, raw);
        self.last = raw;
        let (turns, part) = (counts / counter.each, counts % counter.each);
        let parts = part * counter.ms + self.rest;
        self.rest = parts % counter.each;
        let ms = u64::from(turns) * u64::from(counter.ms) + u64::from(parts / counter.each);
        self.now = Instant::from_millis(self.now.as_millis().saturating_add(ms));
        self.now
    }

    /// What time it was at the last look.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(hz: u32, bits: u32, direction: Direction) -> Counter {
        Counter::new(NonZeroU32::new(hz).expect("not zero"), bits, direction).expect("1 to 32")
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn time_goes_on_where_the_counter_wraps() {
        for bits in [24, 32] {
            let up = counter(1000, bits, Direction::Up);
            let last = u32::MAX >> (32 - bits);
            let mut tick = Tick::new(last - 1, at(0));
            assert_eq!(tick.look(up, last), at(1));
            assert_eq!(tick.look(up, 0), at(2));
            assert_eq!(tick.look(up, 9), at(11));
        }
    }

    #[test]
    fn a_counter_may_count_down() {
        let down = counter(1000, 24, Direction::Down);
        let mut tick = Tick::new(3, at(0));
        assert_eq!(tick.look(down, 1), at(2));
        assert_eq!(tick.look(down, 0x00FF_FFFF), at(4));
        assert_eq!(tick.now(), at(4));
    }

    #[test]
    fn to_look_again_at_the_same_count_is_the_same_time() {
        let rtc = counter(32_768, 24, Direction::Up);
        let mut tick = Tick::new(77, at(5));
        assert_eq!(tick.look(rtc, 77), at(5));
        assert_eq!(tick.look(rtc, 77), at(5));
    }

    #[test]
    fn the_origin_is_the_callers_and_no_edge_of_32_bits_is_seen() {
        let origin = (1 << 32) - 2;
        let up = counter(1000, 24, Direction::Up);
        let mut tick = Tick::new(0, at(origin));
        assert_eq!(tick.look(up, 5), at(origin + 5));
        let mut tick = Tick::new(0, at(u64::MAX));
        assert_eq!(tick.look(up, 5), at(u64::MAX));
    }

    #[test]
    fn a_counter_says_how_often_it_must_be_looked_at() {
        assert_eq!(counter(32_768, 24, Direction::Up).wraps_after(), Span::from_secs(512));
        assert_eq!(counter(16_000_000, 24, Direction::Down).wraps_after(), Span::from_millis(1048));
        assert_eq!(counter(1, 32, Direction::Up).wraps_after(), Span::MAX);
        let hz = NonZeroU32::new(1).expect("not zero");
        assert_eq!(Counter::new(hz, 0, Direction::Up), None);
        assert_eq!(Counter::new(hz, 33, Direction::Up), None);
        let new = |hz| Counter::new(NonZeroU32::new(hz).expect("not zero"), 32, Direction::Up);
        assert_eq!(new(4_300_001), None);
        assert!(new(4_000_001).is_some() && new(4_000_000_000).is_some());
    }

    /// However it is looked at, the time is all counts together, cut to milliseconds once.
    #[test]
    fn nothing_drifts_however_often_it_is_looked_at() {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut random = |below: u32| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state >> 33) as u32 % below
        };
        for (hz, bits) in [
            (32_768, 24),
            (1_000_000, 32),
            (999, 16),
            (16_000_000, 24),
            (4_000_001, 32),
            (4_000_000_000, 32),
            (100, 32),
            (7, 8),
        ] {
            for direction in [Direction::Up, Direction::Down] {
                let counter = counter(hz, bits, direction);
                let first = random(1 << 30);
                let mut tick = Tick::new(first, at(10));
                let (mut raw, mut total) = (first, 0u64);
                for _ in 0..2_000 {
                    let most = if random(4) == 0 { counter.mask } else { counter.mask.min(500) };
                    let counts = random(most.max(1));
                    total += u64::from(counts);
                    raw = match direction {
                        Direction::Up => raw.wrapping_add(counts),
                        Direction::Down => raw.wrapping_sub(counts),
                    };
                    // What lies above the counter's bits is not its own.
                    let now = tick.look(counter, raw);
                    assert_eq!(now, at(10 + total * 1000 / u64::from(hz)), "{counter:?}");
                }
            }
        }
    }
}
