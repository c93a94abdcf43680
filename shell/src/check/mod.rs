//! Looking at services: one file per kind of check, one driver per transport.
//!
//! A probe is begun with a [`ProbeId`] and answered exactly once with an [`Answer`]: a verdict,
//! "cannot measure", or "void" when we did not run. Nothing here counts or decides.

pub mod agent;
pub mod chunked;
pub mod command;
pub mod database;
pub mod dialogue;
pub mod exports;
pub mod files;
pub mod http;
pub mod instance;
pub mod log;
pub mod needle;
pub mod once;
pub mod oracle;
pub mod outcome;
pub mod path;
pub mod presence;
mod prober;
pub mod remote;
pub mod resolve;
pub mod secret;
mod socket;
pub mod state;
pub mod tcp;
#[cfg(test)]
pub(crate) mod testing;
pub mod tls;
mod trace;
pub mod xfnts;

use giveover_core::failure::ProbeResult;
use giveover_core::node::{Node, Nodes};
use giveover_core::time::Instant;

use crate::config::plan::{CheckPlan, Plan, ServicePlan};

pub use prober::Prober;
pub use socket::may_ping;
pub use trace::TraceStep;

/// Which check of which service a probe belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProbeId {
    /// The service's place in the plan.
    pub service: u32,
    /// The check's place in its service.
    pub check: u8,
    /// The address's place in the check, for checks of several addresses.
    pub target: u8,
    /// Counts the cycles of the service: an answer of an earlier one is late.
    pub cycle: u32,
}

/// What one probe found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whose probe it was.
    pub id: ProbeId,
    /// What to make of it; causes carry the check's number.
    pub result: ProbeResult,
    /// From start to answer, in milliseconds. Shown, never judged (R17).
    pub elapsed_ms: u32,
    /// What a healthy answer showed (an HTTP status, days of a certificate), zero if nothing.
    pub shown: u16,
}

/// The socket part of an `xfnts` probe went well: what is left of its time is the command's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Whose probe it is.
    pub id: ProbeId,
    /// When it began.
    pub started: Instant,
    /// When its time is up.
    pub deadline: Instant,
}

impl Handover {
    /// What the command may take if it is started at `now`, in milliseconds. Zero: it is not
    /// run, the probe has timed out.
    #[must_use]
    pub const fn remaining_ms(&self, now: Instant) -> u64 {
        self.deadline.since(now)
    }
}

/// Where the plan of a probe is to be found.
///
/// Probes in flight hold no plan of their own: ten thousand would be ten thousand copies. When
/// plans are exchanged, void the probes in flight first ([`Prober::void_all`]).
pub trait Checks {
    /// The check that `id` belongs to, if there is one.
    fn check(&self, id: ProbeId) -> Option<&CheckPlan>;
}

impl ProbeId {
    /// Stands for the host's trusted servers in place of a service.
    pub const TRUSTED: u32 = u32::MAX;
    /// From here on members of pools stand in place of services: so many for each pool as a pool
    /// can have.
    pub const POOLS: u32 = 1 << 28;
    /// From here on nodes as groups ask them, so many for each group as there can be nodes.
    pub const GROUPS: u32 = 1 << 30;

    /// What stands for a member of a pool.
    #[must_use]
    pub const fn of_member(pool: usize, member: usize) -> u32 {
        Self::POOLS + (pool * giveover_core::pool::Pool::MOST as usize + member) as u32
    }

    /// The pool and the member, by their places, that `service` stands for.
    #[must_use]
    pub fn member(service: u32) -> Option<(usize, usize)> {
        let flat = service.checked_sub(Self::POOLS).filter(|_| service < Self::GROUPS)?;
        let most = u32::from(giveover_core::pool::Pool::MOST);
        Some(((flat / most) as usize, (flat % most) as usize))
    }

    /// What stands for a node as a group asks it.
    #[must_use]
    pub fn of_group(group: usize, node: Node) -> u32 {
        Self::GROUPS + (group * usize::from(Nodes::MOST)) as u32 + u32::from(node.0)
    }

    /// The group, by its place, and the node that `service` stands for.
    #[must_use]
    pub fn group(service: u32) -> Option<(usize, Node)> {
        let flat = service.checked_sub(Self::GROUPS).filter(|_| service != Self::TRUSTED)?;
        let most = u32::from(Nodes::MOST);
        Some(((flat / most) as usize, Node((flat % most) as u8)))
    }
}

impl Checks for Plan {
    fn check(&self, id: ProbeId) -> Option<&CheckPlan> {
        match id.service {
            ProbeId::TRUSTED => self.host.trusted.get(usize::from(id.check)),
            service => match ProbeId::member(service) {
                Some((pool, member)) => {
                    let member = self.pools.get(pool)?.members.get(member)?;
                    member.checks.get(usize::from(id.check))
                }
                None => match ProbeId::group(service) {
                    Some((group, node)) => {
                        let group = self.cluster.as_deref()?.groups.get(group)?;
                        group.checks.get(usize::from(node.0))?.get(usize::from(id.check))
                    }
                    None => self.services.check(id),
                },
            },
        }
    }
}

impl Checks for Vec<ServicePlan> {
    fn check(&self, id: ProbeId) -> Option<&CheckPlan> {
        self.get(id.service as usize)?.checks.get(usize::from(id.check))
    }
}

/// One check alone, whatever it is called.
impl Checks for CheckPlan {
    fn check(&self, _: ProbeId) -> Option<&CheckPlan> {
        Some(self)
    }
}
