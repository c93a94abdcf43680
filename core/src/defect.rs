//! Old bugs, kept so that whoever looks for bugs can be seen to find them.
//!
//! Without the feature `defects` none of them can be there: [`is`] is false, and the compiler leaves
//! nothing of it. With it one at a time is put in while the program runs, and none to begin with.

/// How many there are; they count from 1.
pub const COUNT: u8 = 34;

#[cfg(feature = "defects")]
static ACTIVE: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(0);

/// Puts in the defect of this number, and takes out any other; zero is none.
#[cfg(feature = "defects")]
pub fn put_in(number: u8) {
    ACTIVE.store(number, core::sync::atomic::Ordering::Relaxed);
}

/// Whether the defect of this number is in.
#[cfg(feature = "defects")]
#[must_use]
pub fn is(number: u8) -> bool {
    ACTIVE.load(core::sync::atomic::Ordering::Relaxed) == number
}

/// Never.
#[cfg(not(feature = "defects"))]
#[inline(always)]
#[must_use]
pub const fn is(_: u8) -> bool {
    false
}
