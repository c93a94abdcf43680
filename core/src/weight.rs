//! How much one failed result counts: 1 to 100.

/// The weight of a failure: 100 is a complete failure, less is a part of one.
///
/// Healthy has no weight, and a result that skips the restart is a kind of result
/// ([`crate::failure::ProbeResult::Immediate`]), not a number above 100: sums can then never
/// be mistaken for one.
///
/// # Source
/// `SCDS_PROBE_COMPLETE_FAILURE` of the Data Service Development Library is 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u8", into = "u8"))]
pub struct Weight(u8);

impl Weight {
    /// A complete failure.
    pub const COMPLETE: Self = Self(100);
    /// Half of a failure: two of these inside the window make one.
    pub const HALF: Self = Self(50);
    /// The least there is.
    pub const LEAST: Self = Self(1);

    /// A weight of `value`, or `None` outside 1..=100.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value >= 1 && value <= 100 { Some(Self(value)) } else { None }
    }

    /// The weight nearest to `value`: sums of several checks are cut off at 100.
    #[must_use]
    pub const fn clamped(value: u16) -> Self {
        match value {
            0 => Self::LEAST,
            1..=99 => Self(value as u8),
            _ => Self::COMPLETE,
        }
    }

    /// The weight as a number, 1..=100.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// How many failures of this weight make 100.
    #[must_use]
    pub const fn to_complete(self) -> u8 {
        // No weight is zero, which a linker that looks for panics cannot know.
        match 100_u8.checked_div(self.0) {
            Some(whole) if whole.wrapping_mul(self.0) == 100 => whole,
            Some(whole) => whole.wrapping_add(1),
            None => 100,
        }
    }
}

impl From<Weight> for u8 {
    fn from(weight: Weight) -> Self {
        weight.0
    }
}

/// A number outside 1..=100 where a weight belongs. Nothing was made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAWeight(pub u8);

impl core::fmt::Display for NotAWeight {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} is no weight: 1 to 100", self.0)
    }
}

impl TryFrom<u8> for Weight {
    type Error = NotAWeight;

    fn try_from(value: u8) -> Result<Self, NotAWeight> {
        Self::new(value).ok_or(NotAWeight(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_1_to_100_are_weights() {
        for value in 0..=u8::MAX {
            assert_eq!(Weight::new(value).is_some(), (1..=100).contains(&value));
            assert_eq!(Weight::try_from(value).ok(), Weight::new(value));
        }
    }

    #[test]
    fn sums_are_cut_off_at_100_and_never_become_201() {
        assert_eq!(Weight::clamped(201), Weight::COMPLETE);
        assert_eq!(Weight::clamped(u16::MAX), Weight::COMPLETE);
        assert_eq!(Weight::clamped(99).value(), 99);
    }

    #[test]
    fn a_third_needs_three_with_34_and_four_with_33() {
        assert_eq!(Weight::new(34).map(Weight::to_complete), Some(3));
        assert_eq!(Weight::new(33).map(Weight::to_complete), Some(4));
        assert_eq!(Weight::LEAST.to_complete(), 100);
    }
}
