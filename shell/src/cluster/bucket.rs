//! How many frames a minute are worth computing a MAC for.

use giveover_core::time::Instant;

/// A budget that refills as time passes.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// So many at once.
    most: u32,
    /// So many a second.
    rate: u32,
    left_thousandths: u64,
    at: Instant,
}

impl Bucket {
    /// A full one.
    #[must_use]
    pub fn new(most: u32, rate: u32, now: Instant) -> Self {
        Self { most, rate, left_thousandths: u64::from(most) * 1000, at: now }
    }

    /// Takes one out, if one is left.
    pub fn take(&mut self, now: Instant) -> bool {
        let passed = now.since(self.at);
        self.at = self.at.max(now);
        let full = u64::from(self.most) * 1000;
        let refilled = passed.saturating_mul(u64::from(self.rate));
        self.left_thousandths = self.left_thousandths.saturating_add(refilled).min(full);
        match self.left_thousandths.checked_sub(1000) {
            Some(left) => {
                self.left_thousandths = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_empties_refills_and_never_overflows() {
        let at = Instant::from_millis;
        let mut bucket = Bucket::new(3, 10, at(0));
        assert_eq!([0; 4].map(|_| bucket.take(at(0))), [true, true, true, false]);
        assert!(!bucket.take(at(99)) && bucket.take(at(100)));
        assert!(!bucket.take(at(50)), "time that goes back refills nothing");
        let late = at(u64::MAX);
        assert_eq!([0; 4].map(|_| bucket.take(late)), [true, true, true, false]);
    }
}
