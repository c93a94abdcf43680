//! A contact that bounces, read as on or off.

use giveover_core::time::{Instant, Span};

/// How long a contact must read on, and off, before it is.
pub type Limits = (Span, Span);

/// A contact that is what it has been for a while.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    state: bool,
    /// Since when it has read the other way.
    other: Option<Instant>,
}

impl Contact {
    /// A jumper: either way for 50 ms.
    pub const JUMPER: Limits = (Span::from_millis(50), Span::from_millis(50));
    /// A power light: one that blinks is one of a machine on standby, so only five seconds of
    /// light are power.
    pub const POWER: Limits = (Span::from_secs(5), Span::from_millis(50));

    /// A contact that begins as `state`.
    #[must_use]
    pub const fn new(state: bool) -> Self {
        Self { state, other: None }
    }

    /// Looks at it. Says what it is now when that has changed.
    pub fn look(&mut self, (on, off): Limits, reads: bool, now: Instant) -> Option<bool> {
        if reads == self.state {
            self.other = None;
            return None;
        }
        let since = *self.other.get_or_insert(now);
        let wanted = if reads { on } else { off };
        if now.since(since) < u64::from(wanted.as_millis()) {
            return None;
        }
        self.state = reads;
        self.other = None;
        Some(reads)
    }

    /// What it is.
    #[must_use]
    pub const fn state(&self) -> bool {
        self.state
    }
}

/// A pin that tells nothing before it was once seen high: one that nobody has wired reads low, as
/// one does that is low for good.
#[derive(Clone, Copy, Debug)]
pub struct Wired(bool);

impl Wired {
    /// One that was not seen yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(false)
    }

    /// What it tells of this level.
    pub fn look(&mut self, high: bool) -> Option<bool> {
        self.0 |= high;
        if self.0 { Some(high) } else { None }
    }
}

impl Default for Wired {
    fn default() -> Self {
        Self::new()
    }
}

/// How long the reset line read low while it was held: what a wire says of a pulse.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadBack(Option<Instant>);

impl ReadBack {
    /// Looks at the line, which we hold or do not, and which reads high or not where that can be
    /// seen. How long it read low, in ms, once it is high again.
    pub fn look(&mut self, held: bool, high: Option<bool>, now: Instant) -> Option<u32> {
        match (high, self.0) {
            (Some(false), None) if held => self.0 = Some(now),
            (Some(true), Some(since)) => {
                self.0 = None;
                return Some(now.since(since) as u32);
            }
            _ => {} // still low, still high, or nobody can tell
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_bounce_is_nothing_and_a_change_is_told_once() {
        let mut jumper = Contact::new(false);
        assert_eq!(jumper.look(Contact::JUMPER, true, at(0)), None);
        assert_eq!(jumper.look(Contact::JUMPER, false, at(40)), None);
        assert_eq!(jumper.look(Contact::JUMPER, true, at(60)), None);
        assert_eq!(jumper.look(Contact::JUMPER, true, at(109)), None);
        assert_eq!(jumper.look(Contact::JUMPER, true, at(110)), Some(true));
        assert_eq!(jumper.look(Contact::JUMPER, true, at(500)), None);
        assert!(jumper.state());
    }

    #[test]
    fn a_pin_that_nobody_has_wired_tells_nothing() {
        let mut pin = Wired::new();
        assert_eq!(
            [false, false, true, false, true].map(|level| pin.look(level)),
            [None, None, Some(true), Some(false), Some(true)]
        );
    }

    #[test]
    fn a_pulse_is_measured_by_what_the_line_reads() {
        let mut back = ReadBack::default();
        let high = Some(true);
        assert_eq!(back.look(false, high, at(0)), None);
        // Low without us, as by the host's own button, is nobody's pulse.
        assert_eq!(back.look(false, Some(false), at(10)), None);
        assert_eq!(back.look(false, high, at(20)), None);
        assert_eq!(back.look(true, Some(false), at(30)), None);
        assert_eq!(back.look(true, Some(false), at(270)), None);
        assert_eq!(back.look(false, Some(false), at(275)), None);
        assert_eq!(back.look(false, high, at(280)), Some(250));
        assert_eq!(back.look(false, high, at(290)), None);
        // A line that nothing moves was never low.
        assert_eq!(back.look(true, high, at(300)), None);
        assert_eq!(back.look(true, None, at(310)), None);
    }

    #[test]
    fn a_light_that_blinks_is_no_power() {
        let mut power = Contact::new(true);
        let look = |power: &mut Contact, reads, now| power.look(Contact::POWER, reads, now);
        let blink = |ms: u64| ms % 2000 < 1000;
        let told: [Option<bool>; 400] = core::array::from_fn(|turn| turn as u64 * 50)
            .map(|ms| look(&mut power, blink(ms), at(ms)));
        assert_eq!(told.iter().flatten().copied().count(), 1);
        assert!(!power.state());
        assert_eq!(look(&mut power, true, at(30_000)), None);
        assert_eq!(look(&mut power, true, at(35_000)), Some(true));
    }
}
