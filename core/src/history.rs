//! What a service's monitor remembers: failures, restarts and starts inside the window.

use crate::defect;
use crate::failure::{Cause, Failure, Phase};
use crate::policy::Capacity;
use crate::ring::Ring;
use crate::time::{Instant, Span};
use crate::weight::Weight;

/// Storage for failures: `[Failure; N]` on the board, `Box<[Failure]>` in the daemon.
pub trait FailureSlots: AsRef<[Failure]> + AsMut<[Failure]> {}
impl<S: AsRef<[Failure]> + AsMut<[Failure]>> FailureSlots for S {}

/// Storage for instants.
pub trait InstantSlots: AsRef<[Instant]> + AsMut<[Instant]> {}
impl<S: AsRef<[Instant]> + AsMut<[Instant]>> InstantSlots for S {}

/// Three counts, never one: failures (A), restarts charged to the budget (B), and starts made,
/// for pacing only (S).
///
/// Records leave one by one when they are older than the window; a record exactly as old still
/// counts. Totals by phase outlive everything but the monitor itself.
///
/// # Source
/// Sun Cluster keeps the first two apart as well: the library's failure history and the
/// manager's count of restarts.
#[derive(Debug)]
pub struct History<F, R, S = R> {
    failures: Ring<Failure, F>,
    restarts: Ring<Instant, R>,
    starts: Ring<Instant, S>,
    failure_sum: u16,
    spent_sum: u16,
    totals: [u32; Phase::COUNT],
}

/// The live totals of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sum of the weights of live failures.
    pub failure_sum: u16,
    /// Live failures.
    pub failures: u16,
    /// Live restarts.
    pub restarts: u16,
}

impl<F: Clone, R: Clone, S: Clone> Clone for History<F, R, S> {
    fn clone(&self) -> Self {
        Self {
            failures: self.failures.clone(),
            restarts: self.restarts.clone(),
            starts: self.starts.clone(),
            ..*self
        }
    }

    /// In the storage that is there.
    fn clone_from(&mut self, from: &Self) {
        let Self { failures, restarts, starts, failure_sum, spent_sum, totals } = self;
        failures.clone_from(&from.failures);
        restarts.clone_from(&from.restarts);
        starts.clone_from(&from.starts);
        (*failure_sum, *spent_sum) = (from.failure_sum, from.spent_sum);
        *totals = from.totals;
    }
}

impl<F: FailureSlots, R: InstantSlots, S: InstantSlots> History<F, R, S> {
    /// An empty history over the given storage.
    pub fn new(failures: F, restarts: R, starts: S) -> Self {
        Self {
            failures: Ring::new(failures),
            restarts: Ring::new(restarts),
            starts: Ring::new(starts),
            failure_sum: 0,
            spent_sum: 0,
            totals: [0; Phase::COUNT],
        }
    }

    /// How much the storage holds.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        Capacity {
            failures: self.failures.capacity(),
            restarts: self.restarts.capacity(),
            starts: self.starts.capacity(),
        }
    }

    /// Drops what is older than `window` at `now`. Amortised O(1) for each record ever added, and
    /// O(1) where all of it is.
    pub fn age(&mut self, now: Instant, window: Span) {
        let window = u64::from(window.as_millis());
        if self.failures.newest().is_some_and(|newest| now.since(newest.at) > window) {
            self.failures.pop_all();
        }
        while let Some(oldest) = self.failures.oldest() {
            if now.since(oldest.at) <= window {
                break;
            }
            self.failures.pop_oldest();
            if defect::is(1) {
                continue; // what is forgotten still counts
            }
            self.failure_sum = self.failure_sum.saturating_sub(u16::from(oldest.weight.value()));
        }
        if self.failures.is_empty() {
            self.failure_sum = 0;
        }
        age_instants(&mut self.restarts, now, window);
        age_instants(&mut self.starts, now, window);
    }

    /// As [`History::age`], but a restart leaves only if something was `proven` after it too: on
    /// the board, that the host had booted well (L6). Starts stay: a board notes none.
    pub fn age_proven(&mut self, now: Instant, window: Span, proven: Option<Instant>) {
        let window = u64::from(window.as_millis());
        while let Some(oldest) = self.failures.oldest() {
            if now.since(oldest.at) <= window {
                break;
            }
            self.failures.pop_oldest();
            self.failure_sum = self.failure_sum.saturating_sub(u16::from(oldest.weight.value()));
        }
        if self.failures.is_empty() {
            self.failure_sum = 0;
        }
        let Some(proven) = proven else { return };
        while let Some(oldest) = self.restarts.oldest() {
            if oldest >= proven || now.since(oldest) <= window {
                break;
            }
            self.restarts.pop_oldest();
        }
    }

    /// Adds a failure. Where it does not fit, the oldest is lost as a record but its weight
    /// stays in the sum: what was lost never makes a verdict milder.
    pub fn add_failure(&mut self, at: Instant, weight: Weight, cause: Cause) {
        self.failures.push(Failure { at, weight, cause });
        self.failure_sum = self.failure_sum.saturating_add(u16::from(weight.value()));
        if let Some(total) = self.totals.get_mut(cause.phase as usize) {
            *total = total.saturating_add(1);
        }
    }

    /// Empties the failures because a decision was made on them. [`History::evidence`] still
    /// has them until new ones come.
    pub fn spend_failures(&mut self) {
        if !self.failures.is_empty() {
            self.spent_sum = self.failure_sum;
            self.failures.clear();
        }
        self.failure_sum = 0;
    }

    /// Charges a restart to the budget.
    pub fn add_restart(&mut self, at: Instant) {
        self.restarts.push(at);
    }

    /// Takes the newest restart back: it was called off, or failed.
    pub fn take_back_restart(&mut self) {
        self.restarts.pop_newest();
    }

    /// Notes a start, for pacing.
    pub fn add_start(&mut self, at: Instant) {
        self.starts.push(at);
    }

    /// Takes the newest start back: nothing was started after all.
    pub fn take_back_start(&mut self) {
        self.starts.pop_newest();
    }

    /// Empties failures and restarts; starts stay, so that pacing goes on.
    pub fn clear(&mut self) {
        self.spend_failures();
        self.restarts.clear();
    }

    /// Empties everything: another monitor begins.
    pub fn clear_all(&mut self) {
        self.clear();
        self.starts.clear();
    }

    /// Sum of the weights kept, as of the last [`History::age`].
    #[must_use]
    pub const fn failure_sum(&self) -> u16 {
        self.failure_sum
    }

    /// Restarts kept, as of the last [`History::age`].
    #[must_use]
    pub const fn restarts(&self) -> u16 {
        self.restarts.len()
    }

    /// Starts kept, as of the last [`History::age`].
    #[must_use]
    pub const fn starts(&self) -> u16 {
        self.starts.len()
    }

    /// The live totals at `now`, changing nothing.
    pub fn tally(&self, now: Instant, window: Span) -> Tally {
        let window = u64::from(window.as_millis());
        let live = |at: Instant| now.since(at) <= window;
        let failures = self.failures.iter().filter(|failure| live(failure.at));
        let (count, sum) = failures.fold((0, 0u16), |(count, sum), failure| {
            (count + 1, sum.saturating_add(u16::from(failure.weight.value())))
        });
        Tally {
            failure_sum: sum,
            failures: count,
            restarts: self.restarts.iter().filter(|at| live(*at)).count() as u16,
        }
    }

    /// The failures kept, oldest first.
    pub fn failures(&self) -> impl Iterator<Item = Failure> + '_ {
        self.failures.iter()
    }

    /// When the restarts kept were decided, oldest first.
    pub fn restart_times(&self) -> impl Iterator<Item = Instant> + '_ {
        self.restarts.iter()
    }

    /// When the starts kept were made, oldest first.
    pub fn start_times(&self) -> impl Iterator<Item = Instant> + '_ {
        self.starts.iter()
    }

    /// The failures that were emptied last, because a decision was made on them or a person
    /// forgot them, and their sum.
    pub fn evidence(&self) -> (impl Iterator<Item = Failure> + '_, u16) {
        (self.failures.cleared(), self.spent_sum)
    }

    /// Records lost for want of room: failures, restarts, starts.
    #[must_use]
    pub const fn lost(&self) -> (u32, u32, u32) {
        (self.failures.lost(), self.restarts.lost(), self.starts.lost())
    }

    /// Failures ever added whose cause was in `phase`.
    #[must_use]
    pub fn total(&self, phase: Phase) -> u32 {
        self.totals.get(phase as usize).copied().unwrap_or(0)
    }

    /// Sets a total, when a history is put together again from a journal.
    pub fn restore_total(&mut self, phase: Phase, count: u32) {
        if let Some(total) = self.totals.get_mut(phase as usize) {
            *total = count;
        }
    }

    /// The same history over other storage. Where that is smaller the newest records are kept.
    pub fn moved_to<G: FailureSlots, Q: InstantSlots>(
        &self,
        failures: G,
        restarts: Q,
        starts: Q,
    ) -> History<G, Q> {
        History {
            failures: self.failures.moved_to(failures),
            restarts: self.restarts.moved_to(restarts),
            starts: self.starts.moved_to(starts),
            failure_sum: self.failure_sum,
            spent_sum: self.spent_sum,
            totals: self.totals,
        }
    }
}

fn age_instants<S: InstantSlots>(ring: &mut Ring<Instant, S>, now: Instant, window: u64) {
    while ring.oldest().is_some_and(|oldest| now.since(oldest) > window) {
        ring.pop_oldest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAUSE: Cause = Cause::new(Phase::Read, 0);
    const WINDOW: Span = Span::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn empty<const F: usize>() -> History<[Failure; F], [Instant; 2]> {
        History::new([Failure::BLANK; F], [at(0); 2], [at(0); 2])
    }

    #[test]
    fn a_record_exactly_as_old_as_the_window_still_counts() {
        let mut history = empty::<2>();
        history.add_failure(at(10), Weight::HALF, CAUSE);
        history.add_restart(at(10));
        history.add_start(at(10));
        history.age(at(110), WINDOW);
        assert_eq!((history.failure_sum(), history.restarts(), history.starts()), (50, 1, 1));
        let live = Tally { failure_sum: 50, failures: 1, restarts: 1 };
        assert_eq!(history.tally(at(110), WINDOW), live);
        assert_eq!(history.tally(at(111), WINDOW), Tally::default());
        history.age(at(111), WINDOW);
        assert_eq!((history.failure_sum(), history.restarts(), history.starts()), (0, 0, 0));
    }

    /// Law 7 in small: what was lost for want of room makes nothing milder while any record of
    /// its time is live.
    #[test]
    fn the_weight_of_a_lost_record_stays_in_the_sum() {
        let mut history = empty::<1>();
        history.add_failure(at(0), Weight::HALF, CAUSE);
        history.add_failure(at(50), Weight::HALF, CAUSE);
        history.age(at(149), WINDOW);
        assert_eq!((history.failure_sum(), history.lost().0), (100, 1));
        history.age(at(151), WINDOW);
        assert_eq!(history.failure_sum(), 0, "nothing is live any more");
    }

    #[test]
    fn a_restart_leaves_only_if_something_was_proven_after_it() {
        let mut history = empty::<2>();
        history.add_failure(at(10), Weight::HALF, CAUSE);
        history.add_restart(at(10));
        history.add_restart(at(20));
        history.age_proven(at(110), WINDOW, Some(at(30)));
        assert_eq!((history.failure_sum(), history.restarts()), (50, 2), "exactly as old");
        history.age_proven(at(900), WINDOW, None);
        assert_eq!((history.failure_sum(), history.restarts()), (0, 2));
        history.age_proven(at(900), WINDOW, Some(at(20)));
        assert_eq!(history.restarts(), 1, "not proven after the second");
        history.age_proven(at(900), WINDOW, Some(at(21)));
        assert_eq!(history.restarts(), 0);
    }

    #[test]
    fn the_evidence_of_a_decision_outlives_a_clear_of_nothing() {
        let mut history = empty::<2>();
        history.add_failure(at(0), Weight::HALF, CAUSE);
        history.add_failure(at(5), Weight::HALF, CAUSE);
        history.spend_failures();
        history.clear(); // as a denial does
        history.spend_failures(); // as an immediate result does
        let (evidence, sum) = history.evidence();
        assert!(evidence.map(|failure| failure.at).eq([at(0), at(5)]));
        assert_eq!(sum, 100);
    }

    #[test]
    fn totals_outlive_everything() {
        let mut history = empty::<1>();
        for ms in 0..5 {
            history.add_failure(at(ms), Weight::LEAST, CAUSE);
        }
        history.clear_all();
        history.age(at(1_000), WINDOW);
        assert_eq!(history.total(Phase::Read), 5);
        history.restore_total(Phase::Read, u32::MAX);
        history.add_failure(at(0), Weight::LEAST, CAUSE);
        assert_eq!(history.total(Phase::Read), u32::MAX, "it saturates");
    }

    #[test]
    fn starts_outlive_a_clear_and_records_can_be_taken_back() {
        let mut history = empty::<1>();
        history.add_restart(at(1));
        history.add_restart(at(2));
        history.add_start(at(2));
        history.take_back_restart();
        assert!(history.restart_times().eq([at(1)]));
        history.clear();
        assert_eq!((history.restarts(), history.starts()), (0, 1));
        history.take_back_start();
        history.take_back_restart();
        assert_eq!((history.restarts(), history.starts()), (0, 0));
    }
}
