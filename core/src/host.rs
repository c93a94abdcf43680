//! What holds across the services of one host: the action budget and the local-fault rule (R16).

use crate::history::InstantSlots;
use crate::ring::Ring;
use crate::time::{Instant, Span};

/// At most so many actions inside a sliding window: restarts and giveovers of all services
/// together, or resets of the node (R20).
///
/// # Units
/// The count is the length of the storage; a record exactly as old as the window still counts.
#[derive(Clone, Debug)]
pub struct Budget<S> {
    window: Span,
    made: Ring<Instant, S>,
}

impl<S: InstantSlots> Budget<S> {
    /// A full budget of as many actions as `slots` holds, each `window`.
    pub const fn new(window: Span, slots: S) -> Self {
        Self { window, made: Ring::new(slots) }
    }

    /// Charges one action at `now`. Past the budget the oldest record goes, so that an action
    /// that was made anyway is never forgotten in favour of an older one.
    pub fn charge(&mut self, now: Instant) {
        self.age(now);
        self.made.push(now);
    }

    /// Whether nothing is left at `now`.
    pub fn is_spent(&mut self, now: Instant) -> bool {
        self.age(now);
        self.made.len() >= self.made.capacity()
    }

    /// Actions inside the window at `now`.
    pub fn spent(&mut self, now: Instant) -> u16 {
        self.age(now);
        self.made.len()
    }

    /// How many actions the window allows.
    #[must_use]
    pub fn count(&self) -> u16 {
        self.made.capacity()
    }

    /// When a spent budget frees again: just past the window of its oldest record.
    #[must_use]
    pub fn frees_at(&self) -> Option<Instant> {
        let spent = self.made.len() >= self.made.capacity();
        let oldest = self.made.oldest().filter(|_| spent)?;
        Some(oldest.after(self.window).after(Span::from_millis(1)))
    }

    /// When the actions of the window were made, oldest first; for snapshots.
    pub fn iter(&self) -> impl Iterator<Item = Instant> + '_ {
        self.made.iter()
    }

    fn age(&mut self, now: Instant) {
        let window = u64::from(self.window.as_millis());
        while self.made.oldest().is_some_and(|oldest| now.since(oldest) > window) {
            self.made.pop_oldest();
        }
    }
}

/// When many failures at once mean ourselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalFaultRule {
    /// Percent of the services.
    pub share: u8,
    /// But no fewer than this.
    pub least: u16,
}

impl LocalFaultRule {
    /// Whether `failing` of `services` with no answer from `trusted` servers is our own fault.
    ///
    /// Without trusted servers there is nothing to tell the two apart by, and the answer is no.
    #[must_use]
    pub fn holds(&self, services: u32, failing: u32, trusted: u16, answering: u16) -> bool {
        let share = (u64::from(services) * u64::from(self.share)).div_ceil(100);
        let threshold = share.max(u64::from(self.least));
        trusted > 0 && answering == 0 && u64::from(failing) >= threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_budget_allows_its_count_in_every_window() {
        let mut budget = Budget::new(Span::from_millis(100), [at(0); 2]);
        budget.charge(at(0));
        assert!(!budget.is_spent(at(0)));
        budget.charge(at(60));
        assert_eq!(budget.frees_at(), Some(at(101)));
        assert!(budget.is_spent(at(100)));
        assert!(!budget.is_spent(at(101)));
        assert_eq!(budget.spent(at(101)), 1);
    }

    #[test]
    fn a_budget_of_nothing_is_always_spent() {
        let mut budget = Budget::<[Instant; 0]>::new(Span::from_secs(1), []);
        assert!(budget.is_spent(at(5)));
        budget.charge(at(5));
        assert!(budget.is_spent(at(5)));
    }

    #[test]
    fn the_local_fault_rule_needs_silence_from_trusted_servers_and_enough_failures() {
        let rule = LocalFaultRule { share: 50, least: 3 };
        assert!(rule.holds(9, 5, 2, 0));
        assert!(!rule.holds(9, 4, 2, 0));
        assert!(!rule.holds(2, 2, 2, 0), "fewer than three");
        assert!(!rule.holds(9, 9, 2, 1), "one answers");
        assert!(!rule.holds(9, 9, 0, 0), "nobody to ask");
    }
}
