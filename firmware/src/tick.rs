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
    hz: NonZeroU32,
    mask: u32,
    direction: Direction,
}

impl Counter {
    /// No counter is faster, in Hz: a processor's own at 16 MHz is the fastest there is.
    pub const FASTEST: u32 = u32::MAX / 125;

    /// A counter of `bits` bits, or `None` where that is not 1 to 32, or it is too fast.
    #[must_use]
    pub const fn new(hz: NonZeroU32, bits: u32, direction: Direction) -> Option<Self> {
        match bits {
            1..=32 if hz.get() <= Self::FASTEST => {
                Some(Self { hz, mask: u32::MAX >> (32 - bits), direction })
            }
            _ => None,
        }
    }

    /// How long it takes to wrap, parts of a millisecond dropped. It must be looked at more often,
    /// or time is lost that nobody can count.
    #[must_use]
    pub const fn wraps_after(&self) -> Span {
        let ms = (self.mask as u64 + 1) * 1000 / self.hz.get() as u64;
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

/// The board's time line.
///
/// It adds up what the counter has counted between two looks; what is less than a millisecond
/// is carried, so that nothing drifts however often it is looked at. The origin is the caller's:
/// a board that was reset alone goes on where its records say, and a test begins just before any
/// edge it likes.
#[derive(Clone, Debug)]
pub struct Tick {
    counter: Counter,
    last: u32,
    /// What is left over, in counts times a thousand; less than one millisecond of them.
    rest: u32,
    now: Instant,
}

impl Tick {
    /// A time line at `origin` while `counter` shows `raw`.
    #[must_use]
    pub const fn new(counter: Counter, raw: u32, origin: Instant) -> Self {
        Self { counter, last: raw, rest: 0, now: origin }
    }

    /// What time it is when the counter shows `raw`.
    pub fn look(&mut self, raw: u32) -> Instant {
        let counts = self.counter.between(self.last, raw);
        self.last = raw;
        let hz = self.counter.hz.get();
        let (seconds, part) = (counts / hz, counts % hz);
        // Thousands over the rate, without 64 bits to divide: 125 fit, and twice as many three
        // times.
        let (mut ms, mut rest) = (part * 125 / hz, part * 125 % hz);
        for _ in 0..3 {
            rest *= 2;
            let more = rest >= hz;
            ms = 2 * ms + u32::from(more);
            rest -= if more { hz } else { 0 };
        }
        rest += self.rest;
        let more = rest >= hz;
        self.rest = rest - if more { hz } else { 0 };
        let ms = u64::from(seconds) * 1000 + u64::from(ms + u32::from(more));
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
            let mut tick = Tick::new(up, last - 1, at(0));
            assert_eq!(tick.look(last), at(1));
            assert_eq!(tick.look(0), at(2));
            assert_eq!(tick.look(9), at(11));
        }
    }

    #[test]
    fn a_counter_may_count_down() {
        let mut tick = Tick::new(counter(1000, 24, Direction::Down), 3, at(0));
        assert_eq!(tick.look(1), at(2));
        assert_eq!(tick.look(0x00FF_FFFF), at(4));
        assert_eq!(tick.now(), at(4));
    }

    #[test]
    fn to_look_again_at_the_same_count_is_the_same_time() {
        let mut tick = Tick::new(counter(32_768, 24, Direction::Up), 77, at(5));
        assert_eq!(tick.look(77), at(5));
        assert_eq!(tick.look(77), at(5));
    }

    #[test]
    fn the_origin_is_the_callers_and_no_edge_of_32_bits_is_seen() {
        let origin = (1 << 32) - 2;
        let mut tick = Tick::new(counter(1000, 24, Direction::Up), 0, at(origin));
        assert_eq!(tick.look(5), at(origin + 5));
        let mut tick = Tick::new(counter(1000, 24, Direction::Up), 0, at(u64::MAX));
        assert_eq!(tick.look(5), at(u64::MAX));
    }

    #[test]
    fn a_counter_says_how_often_it_must_be_looked_at() {
        assert_eq!(counter(32_768, 24, Direction::Up).wraps_after(), Span::from_secs(512));
        assert_eq!(counter(16_000_000, 24, Direction::Down).wraps_after(), Span::from_millis(1048));
        assert_eq!(counter(1, 32, Direction::Up).wraps_after(), Span::MAX);
        let hz = NonZeroU32::new(1).expect("not zero");
        assert_eq!(Counter::new(hz, 0, Direction::Up), None);
        assert_eq!(Counter::new(hz, 33, Direction::Up), None);
        let fast = NonZeroU32::new(Counter::FASTEST + 1).expect("not zero");
        assert_eq!(Counter::new(fast, 32, Direction::Up), None);
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
            (Counter::FASTEST, 32),
            (7, 8),
        ] {
            for direction in [Direction::Up, Direction::Down] {
                let counter = counter(hz, bits, direction);
                let first = random(1 << 30);
                let mut tick = Tick::new(counter, first, at(10));
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
                    let now = tick.look(raw);
                    assert_eq!(now, at(10 + total * 1000 / u64::from(hz)), "{counter:?}");
                }
            }
        }
    }
}
