//! Pools: their machines, fed from the loop; their members' checks, run by the same prober as
//! everybody's; and whoever is told.

mod carry;
mod cycle;
mod doc;
mod operator;
mod outward;
mod restore;
mod talk;
mod told;

use giveover_core::ladder::Round;
use giveover_core::pool::{Face, Pool, Ticket};
use giveover_core::time::Instant;

use self::outward::Drivers;
use super::watch::{CheckState, HeldBy};
use crate::check::ProbeId;
use crate::journal::MemberNote;
use crate::pool::agent::Agents;
use crate::pool::page::Pages;
use crate::reactor::{Room, Runner};

/// All pools.
pub(super) struct Pools {
    list: Vec<PoolState>,
    agents: Agents,
    pages: Pages,
    runner: Runner<Run>,
}

/// One pool: as many as in the plan, in its order.
struct PoolState {
    machine: Box<Pool>,
    members: Vec<MemberState>,
    /// The earliest timer armed for its machine.
    armed: Option<Instant>,
    drivers: Drivers,
}

/// One member: as many as in the plan, in its order.
struct MemberState {
    /// Its number in the journal.
    number: u32,
    checks: Vec<CheckState>,
    round: Option<(Ticket, Round)>,
    /// Counts cycles; answers of an earlier one are late.
    cycle: u32,
    /// Who drains it, and until when.
    drained: Option<HeldBy>,
    /// What the journal knows of it.
    noted: MemberNote,
    /// Why it is out, in words.
    reason: String,
    /// What people were told last.
    said: Option<Face>,
}

/// A command that is run for a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    pool: usize,
    /// Counts reloads: what an earlier plan wanted is nothing any more.
    plan: u32,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The transaction of nftables.
    Exchange,
    /// It is read back.
    ReadBack,
    /// Whether others have changed it.
    Look,
    /// The pool's command, for a member.
    Tell(usize),
}

impl Pools {
    pub(super) fn new() -> Self {
        Self {
            list: Vec::new(),
            agents: Agents::new(),
            pages: Pages::new(),
            runner: Runner::new(Room::PoolCommand),
        }
    }
}

/// The number under which a member is probed.
fn probe_id(pool: usize, member: usize, check: u8, cycle: u32) -> ProbeId {
    let service = ProbeId::of_member(pool, member);
    ProbeId { service, check, target: 0, cycle }
}

/// Pool and member of a probe.
fn whose(id: ProbeId) -> Option<(usize, usize)> {
    ProbeId::member(id.service)
}
