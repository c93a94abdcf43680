//! A monitor as the daemon and the simulator keep it: its histories are as long as its policy
//! needs and no longer, and the policy is shared, because there may be ten thousand of them.

use std::sync::Arc;

use giveover_core::failure::Failure;
use giveover_core::history::History;
use giveover_core::monitor::{Event, Monitor, Standing};
use giveover_core::policy::{Capacity, Policy};
use giveover_core::time::Instant;
use smallvec::SmallVec;

/// A monitor with histories as long as its policy needs, and a policy it shares with others.
pub type BoxedMonitor = Monitor<Slots<Failure>, Slots<Instant>, Arc<Policy>>;

/// Histories of any length.
pub type BoxedHistory = History<Slots<Failure>, Slots<Instant>>;

/// Storage of a ring. Most policies need two places, which cost less here than what points to
/// them elsewhere.
pub type Slots<T> = SmallVec<[T; 2]>;

/// A monitor that has not begun, with room for exactly what `policy` needs.
#[must_use]
pub fn boxed(policy: impl Into<Arc<Policy>>, now: Instant) -> BoxedMonitor {
    let policy: Arc<Policy> = policy.into();
    let capacity = policy.capacity();
    match Monitor::new(policy, empty_history(capacity), now) {
        Ok(monitor) => monitor,
        Err(error) => unreachable!("the histories were made for this policy: {error}"),
    }
}

/// A monitor put together again, with room for at least what `policy` needs.
#[must_use]
pub fn restored(policy: Policy, history: BoxedHistory, standing: Standing) -> BoxedMonitor {
    let fitting = match larger(policy.capacity(), history.capacity()) {
        Some(capacity) => moved(&history, capacity),
        None => history,
    };
    match Monitor::restored(Arc::new(policy), fitting, standing) {
        Ok(monitor) => monitor,
        Err(error) => unreachable!("the histories were made to fit: {error}"),
    }
}

/// Makes room for what `event` brings: a policy may need longer histories than the one before.
///
/// Call it before each [`Event::SetPolicy`] is fed; a journal is replayed through the same
/// function, so that both come to the same machine.
pub fn make_room(monitor: &mut BoxedMonitor, event: &Event) {
    let Event::SetPolicy(policy) = event else { return };
    if let Some(capacity) = larger(policy.capacity(), monitor.history().capacity()) {
        let (failures, restarts, starts) = blanks(capacity);
        *monitor = monitor.moved_to(failures, restarts, starts);
    }
}

/// An empty history of this capacity.
#[must_use]
pub fn empty_history(capacity: Capacity) -> BoxedHistory {
    let (failures, restarts, starts) = blanks(capacity);
    History::new(failures, restarts, starts)
}

fn moved(history: &BoxedHistory, capacity: Capacity) -> BoxedHistory {
    let (failures, restarts, starts) = blanks(capacity);
    history.moved_to(failures, restarts, starts)
}

/// Storage of a history: failures, restarts, starts.
type Blanks = (Slots<Failure>, Slots<Instant>, Slots<Instant>);

fn blanks(capacity: Capacity) -> Blanks {
    let instants = |count: u16| Slots::from_elem(Instant::default(), usize::from(count));
    let failures = Slots::from_elem(Failure::BLANK, usize::from(capacity.failures));
    (failures, instants(capacity.restarts), instants(capacity.starts))
}

/// A capacity that holds both, where `has` alone is too small. Never a smaller one: what is
/// remembered stays remembered.
fn larger(needs: Capacity, has: Capacity) -> Option<Capacity> {
    let both = Capacity {
        failures: needs.failures.max(has.failures),
        restarts: needs.restarts.max(has.restarts),
        starts: needs.starts.max(has.starts),
    };
    (both != has).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use giveover_core::policy::{Limits, Scope};

    fn policy(retry_count: u16) -> Policy {
        let limits = Limits { retry_count: Some(retry_count), ..Limits::DEFAULT };
        Policy::new(limits, Scope::USUAL).expect("possible").0
    }

    #[test]
    fn a_policy_that_needs_more_gets_more_room_and_never_less() {
        let now = Instant::from_millis(0);
        let mut monitor = boxed(policy(2), now);
        for count in [5, 1] {
            let event = Event::SetPolicy(policy(count));
            make_room(&mut monitor, &event);
            let _ = monitor.handle(event, now);
            assert_eq!(monitor.history().capacity().restarts, 5);
            assert_eq!(monitor.policy().limits().retry_count, Some(count));
        }
    }
}
