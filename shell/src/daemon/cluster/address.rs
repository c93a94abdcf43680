//! Where a group's steps go, and what came of them comes back.

use giveover_core::peer::Taken;

use crate::cluster::steps::{Done, Step};
use crate::daemon::Daemon;

impl Daemon {
    /// Carries one step out for the addresses of `group`. Every step that has an answer is answered
    /// once by [`Daemon::address_done`], at once or later.
    pub(super) fn address_step(&mut self, group: usize, step: Step) {
        // In this version no group has addresses (`config::cluster::refuse`): there is nothing to
        // hold, and nothing to let go.
        match step {
            Step::Take { .. } => self.address_done(group, Done::Taken(Taken::Up)),
            Step::Drop { .. } => self.address_done(group, Done::Dropped { ok: true }),
            Step::Renew { .. } | Step::Announce => {}
        }
    }

    /// What came of a step.
    pub(super) fn address_done(&mut self, group: usize, done: Done) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let orders = state.carrier.address(done);
        self.follow_orders(group, orders);
    }
}
