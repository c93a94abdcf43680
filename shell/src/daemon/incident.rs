//! What goes wrong with a service as people count it: from the first failure to the recovery.

use giveover_core::failure::Cause;
use giveover_core::time::Instant;

/// From the first failure to the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incident {
    pub(super) number: u32,
    pub(super) since: Instant,
    pub(super) failures: u32,
    pub(super) restarts: u32,
    /// It was said that nothing is done about it: the budget is spent, or it is only watched.
    spent: bool,
    /// Its last failure.
    last: Option<Cause>,
}

impl Incident {
    pub(super) fn new(number: u32, since: Instant) -> Self {
        Self { number, since, failures: 0, restarts: 0, spent: false, last: None }
    }

    /// Counts a failure. Returns the cause of the one before it.
    pub(super) fn note_failure(&mut self, cause: Cause) -> Option<Cause> {
        self.failures += 1;
        self.last.replace(cause)
    }

    /// Counts a restart: what comes next may be told anew.
    pub(super) fn note_restart(&mut self) {
        self.restarts += 1;
        self.spent = false;
    }

    /// It is now said that nothing is done about its failures. Returns whether it was said before,
    /// since its last restart.
    pub(super) fn say_spent(&mut self) -> bool {
        std::mem::replace(&mut self.spent, true)
    }

    /// Whether it was said that nothing is done about its failures.
    pub(super) fn is_spent(&self) -> bool {
        self.spent
    }
}
