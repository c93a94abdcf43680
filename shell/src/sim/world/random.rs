//! Chance that comes again with its seed, on every machine: whole numbers only, because logarithms
//! of the libraries differ in their last bits.

use crate::config::world::Range;

/// Vigna's xorshift64*.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for each seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // neighbouring seeds must not begin alike, and zero would stay zero
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self((mixed ^ (mixed >> 29)) | 1)
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)] // it never ends
    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`; zero for none.
    pub const fn below(&mut self, bound: u64) -> u64 {
        match (self.next() >> 11).checked_rem(bound) {
            Some(number) => number,
            None => 0,
        }
    }

    /// True in `share` of a hundred cases.
    pub const fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    /// One of `items`.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        items.get(usize::try_from(self.below(items.len() as u64)).ok()?).copied()
    }

    /// A length of time of `range`, in milliseconds. Draws nothing where there is no choice.
    pub fn within(&mut self, range: Range) -> u64 {
        let (least, most) = (u64::from(range.least), u64::from(range.most));
        if least == most { least } else { least + self.below(most - least + 1) }
    }

    /// The time until something that happens once in `mean` milliseconds, whatever went before;
    /// never zero.
    pub fn wait(&mut self, mean: u64) -> u64 {
        let part = (self.next() >> 32) | 1; // 1 to 2^32 - 1: how far from certain
        let product = u128::from(mean) * u128::from(minus_log(part));
        u64::try_from(product >> 32).unwrap_or(u64::MAX).max(1)
    }
}

/// `-ln(part / 2^32)` in 32.32 bits: the logarithm to two bit by bit, by squaring.
fn minus_log(part: u64) -> u64 {
    const LN_2: u128 = 2_977_044_472; // in 0.32 bits
    let zeros = part.leading_zeros(); // at least 32
    let whole = 63 - u64::from(zeros); // of the logarithm to two
    let mut mantissa = u128::from(part) << zeros >> 32; // 1 to 2, in 1.31 bits
    let mut fraction = 0u64;
    for bit in (0..32).rev() {
        mantissa = (mantissa * mantissa) >> 31;
        if mantissa >= 1 << 32 {
            mantissa >>= 1;
            fraction |= 1 << bit;
        }
    }
    let log = (whole << 32) | fraction; // in 32.32 bits, at most 32
    let below = (32u64 << 32).saturating_sub(log);
    u64::try_from((u128::from(below) * LN_2) >> 32).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_seven_digits() {
        for part in [1u64, 2, 3, 1_000, 123_456_789, (1 << 31) + 7, (1 << 32) - 1] {
            let ours = minus_log(part) as f64 / 4_294_967_296.0;
            let right = -(part as f64 / 4_294_967_296.0).ln();
            assert!((ours - right).abs() < 1e-7 * right.max(1.0), "{part}: {ours}, {right}");
        }
    }

    /// Frozen: a seed plays the same world for ever.
    #[test]
    fn a_seed_comes_again() {
        let mut random = Random::new(1);
        let numbers: Vec<u64> = (0..4).map(|_| random.below(1_000_000)).collect();
        let waits: Vec<u64> = (0..4).map(|_| random.wait(3_600_000)).collect();
        let mut again = Random::new(1);
        assert_eq!(numbers, (0..4).map(|_| again.below(1_000_000)).collect::<Vec<_>>());
        assert_eq!(waits, (0..4).map(|_| again.wait(3_600_000)).collect::<Vec<_>>());
        assert_ne!(numbers[0], Random::new(2).below(1_000_000));
    }

    #[test]
    fn waits_have_their_mean_and_forget() {
        let mut random = Random::new(7);
        let waits: Vec<u64> = (0..20_000).map(|_| random.wait(1_000)).collect();
        let mean = waits.iter().sum::<u64>() / 20_000;
        assert!((950..1_050).contains(&mean), "{mean}");
        let long = waits.iter().filter(|wait| **wait > 1_000).count();
        assert!((7_000..7_700).contains(&long), "1/e of 20,000: {long}"); // 7,358
    }
}
