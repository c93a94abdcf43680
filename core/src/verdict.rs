//! The decision itself: what a history calls for under a policy.

use crate::defect;
use crate::history::{FailureSlots, History, InstantSlots};
use crate::policy::{FailoverMode, Policy};

/// What to do about a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The failures do not make 100: leave it alone (R2).
    Nothing,
    /// One failure, and the budget has room: restart here (R4).
    Restart,
    /// One failure past the budget: ask for giveover (R5).
    Giveover,
    /// One failure past the budget, and nobody to give it to: wait for the budget (R11, R22).
    BudgetSpent,
    /// One failure under `log_only`: write it down (R11).
    Log,
}

/// What `history`, aged to now, calls for under `policy`.
///
/// A sum of 100 or more is one failure, however much more (R3). `retry_count` restarts are
/// allowed inside the window; failure `retry_count + 1` is past the budget.
///
/// # Source
/// `scds_fm_action(3HA)`; the guides leave the equal case open, counting restarts already made
/// agrees with all of them.
pub fn decide<F: FailureSlots, R: InstantSlots, S: InstantSlots>(
    policy: &Policy,
    history: &History<F, R, S>,
) -> Verdict {
    let limits = policy.limits();
    if history.failure_sum() < 100 || defect::is(2) && history.failure_sum() == 100 {
        Verdict::Nothing // 2: only more than 100 is a failure
    } else if limits.failover_mode == FailoverMode::LogOnly {
        Verdict::Log
    } else if limits.retry_count.is_none_or(|count| history.restarts() < allowed(count)) {
        Verdict::Restart
    } else if policy.gives_over() {
        Verdict::Giveover
    } else {
        Verdict::BudgetSpent
    }
}

/// The restarts that a budget of `count` allows.
fn allowed(count: u16) -> u16 {
    if defect::is(3) { count.saturating_add(1) } else { count } // 3: one too many
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Cause, Failure, Phase};
    use crate::policy::{Destination, Limits, Scope};
    use crate::time::Instant;
    use crate::weight::Weight;

    /// Every weight, every number of restarts up to one past the count, every mode, every
    /// destination.
    // req 1.28 1.30 0.53 0.55
    #[test]
    fn the_decision_is_the_table_for_every_small_case() {
        for mode in FailoverMode::ALL {
            for destination in [Destination::Nobody, Destination::Elsewhere, Destination::Board] {
                for count in [Some(0), Some(1), Some(2), Some(3), None] {
                    check_all_histories(mode, destination, count);
                }
            }
        }
    }

    fn check_all_histories(mode: FailoverMode, destination: Destination, count: Option<u16>) {
        let limits = Limits { failover_mode: mode, retry_count: count, ..Limits::DEFAULT };
        let scope = Scope { destination, ..Scope::USUAL };
        let (policy, _) = Policy::new(limits, scope).expect("possible");
        for restarts in 0..=4u16 {
            for weights in [&[1u8][..], &[99], &[50, 49], &[100], &[50, 50], &[99, 99], &[34; 3]] {
                let mut history = History::new([Failure::BLANK; 4], blank(), blank());
                for _ in 0..restarts {
                    history.add_restart(Instant::from_millis(0));
                }
                for weight in weights {
                    let weight = Weight::new(*weight).expect("a weight");
                    history.add_failure(Instant::from_millis(0), weight, CAUSE);
                }
                let sum: u16 = weights.iter().copied().map(u16::from).sum();
                let expected = match (sum >= 100, mode, count) {
                    (false, _, _) => Verdict::Nothing,
                    (true, FailoverMode::LogOnly, _) => Verdict::Log,
                    (true, _, None) => Verdict::Restart,
                    (true, _, Some(count)) if restarts < count => Verdict::Restart,
                    (true, FailoverMode::RestartOnly, _) => Verdict::BudgetSpent,
                    (true, _, _) if destination == Destination::Nobody => Verdict::BudgetSpent,
                    (true, _, _) => Verdict::Giveover,
                };
                assert_eq!(
                    decide(&policy, &history),
                    expected,
                    "{mode:?} {destination:?} {count:?} {restarts} {weights:?}"
                );
            }
        }
    }

    const CAUSE: Cause = Cause::new(Phase::Read, 0);

    fn blank() -> [Instant; 4] {
        [Instant::from_millis(0); 4]
    }
}
