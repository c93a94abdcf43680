//! A contact that bounces, read as on or off.

use giveover_core::time::{Instant, Span};

/// A contact that is what it has been for a while.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    state: bool,
    /// Since when it has read the other way.
    other: Option<Instant>,
    /// How long it must read on, and off, before it is.
    on: Span,
    off: Span,
}

impl Contact {
    /// A jumper: either way for 50 ms.
    pub const JUMPER: (Span, Span) = (Span::from_millis(50), Span::from_millis(50));
    /// A power light: one that blinks is one of a machine on standby, so only five seconds of
    /// light are power.
    pub const POWER: (Span, Span) = (Span::from_secs(5), Span::from_millis(50));

    /// A contact that begins as `state`.
    #[must_use]
    pub const fn new(state: bool, (on, off): (Span, Span)) -> Self {
        Self { state, other: None, on, off }
    }

    /// Looks at it. Says what it is now when that has changed.
    pub fn look(&mut self, reads: bool, now: Instant) -> Option<bool> {
        if reads == self.state {
            self.other = None;
            return None;
        }
        let since = *self.other.get_or_insert(now);
        let wanted = if reads { self.on } else { self.off };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_bounce_is_nothing_and_a_change_is_told_once() {
        let mut jumper = Contact::new(false, Contact::JUMPER);
        assert_eq!(jumper.look(true, at(0)), None);
        assert_eq!(jumper.look(false, at(40)), None);
        assert_eq!(jumper.look(true, at(60)), None);
        assert_eq!(jumper.look(true, at(109)), None);
        assert_eq!(jumper.look(true, at(110)), Some(true));
        assert_eq!(jumper.look(true, at(500)), None);
        assert!(jumper.state());
    }

    #[test]
    fn a_light_that_blinks_is_no_power() {
        let mut power = Contact::new(true, Contact::POWER);
        let blink = |ms: u64| ms % 2000 < 1000;
        let told: [Option<bool>; 400] =
            core::array::from_fn(|turn| power.look(blink(turn as u64 * 50), at(turn as u64 * 50)));
        assert_eq!(told.iter().flatten().copied().count(), 1);
        assert!(!power.state());
        assert_eq!(power.look(true, at(30_000)), None);
        assert_eq!(power.look(true, at(35_000)), Some(true));
    }
}
