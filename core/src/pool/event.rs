//! What a pool's machine is told, and what it asks for.

use crate::failure::{Cause, ProbeResult};
use crate::time::Instant;

use super::Pool;

/// Ties the answer of a cycle to the cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ticket(pub u32);

/// What happened. A member is named by its place; one that there is not is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The pool begins: cycles are due, and every face is told. Before it nothing is anything.
    Begin,
    /// Time has passed; spurious and early ones change nothing.
    Timeout,
    /// A cycle over a member's checks has ended, with one verdict.
    Probed {
        /// Whose.
        member: u8,
        /// From [`Action::Probe`].
        ticket: Ticket,
        /// What its ladder came to.
        result: ProbeResult,
    },
    /// A member's agent has spoken.
    Agent {
        /// Whose.
        member: u8,
        /// How much it has to do, in percent; more than 100 is 100.
        load: Option<u8>,
        /// One of its work units has failed.
        failed: bool,
    },
    /// No agent could be heard up to now, and that was us: their silence counts from here.
    Deaf,
    /// Another service of the member's server has failed, or is well again.
    Elsewhere {
        /// Whose.
        member: u8,
        /// It has failed.
        failed: bool,
    },
    /// Trusted servers have been asked.
    Trusted {
        /// At least one answers.
        answering: bool,
    },
    /// A person takes a member out of distribution; what it has to do it goes on doing.
    Drain {
        /// Whose.
        member: u8,
        /// When that ends by itself; `None` only where it was spelled out.
        until: Option<Instant>,
        /// When connections that are left are cut, if before that.
        cut_at: Option<Instant>,
    },
    /// A person ends that. It is in again once its checks have passed.
    Enable {
        /// Whose.
        member: u8,
    },
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Run a cycle over the member's checks; answered exactly once by [`Event::Probed`].
    Probe {
        /// Whose.
        member: u8,
        /// Goes with the answer.
        ticket: Ticket,
    },
    /// Tell the balancer.
    Face {
        /// Of whom.
        member: u8,
        /// What it shows from now on.
        face: Face,
    },
    /// Cut the member's connections, and nobody else's.
    Cut {
        /// Whose.
        member: u8,
    },
    /// A drain has ended by itself.
    DrainEnded {
        /// Whose.
        member: u8,
    },
    /// The fallback acts for this reason, or no more.
    Fallback(Option<NoneLeft>),
    /// Membership stands still for this reason, or no more.
    Frozen(Option<Blind>),
    /// Ask the trusted servers now; answered by [`Event::Trusted`].
    AskTrusted,
}

/// What a balancer sees of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// It gets new work.
    In {
        /// Percent of its share, from its agent's load.
        weight: u8,
    },
    /// A backup that is well while others work.
    Standby,
    /// All are busy: no new work, what there is goes on.
    Busy,
    /// A person drains it: no new work, what there is goes on.
    Drained,
    /// It gets nothing.
    Out(Why),
}

impl Face {
    /// The word on screens and in scenarios.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::In { .. } => "in",
            Self::Standby => "standby",
            Self::Busy => "busy",
            Self::Drained => "drained",
            Self::Out(_) => "out",
        }
    }

    /// Whether it is excluded, by whatever but a person.
    #[must_use]
    pub const fn is_out(self) -> bool {
        matches!(self, Self::Out(_))
    }

    /// Whether new work goes there.
    #[must_use]
    pub const fn takes_work(self) -> bool {
        matches!(self, Self::In { .. })
    }
}

/// Why a member is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its checks failed, last with this cause.
    Checks(Cause),
    /// Its agent says that a work unit has failed.
    WorkUnit,
    /// Its agent says nothing.
    Silent,
    /// Another service of its server has failed.
    Elsewhere,
    /// It was drained, or out when we began: its checks have yet to pass.
    Returning,
}

/// Why nobody gets new work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoneLeft {
    /// Nobody is in.
    NobodyIn,
    /// All who are in are busy.
    AllBusy,
}

/// Why checks prove nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blind {
    /// No member's last cycle could be measured.
    NothingMeasured,
    /// No trusted server answers.
    NoTrusted,
}

/// What follows from one event, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions(heapless::Vec<Action, { Actions::MAX }>);

impl Actions {
    /// Never more: four for each member, and three for the pool.
    pub const MAX: usize = Pool::MOST as usize * 4 + 3;

    /// Them as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[Action] {
        &self.0
    }

    pub(super) fn push(&mut self, action: Action) {
        let room = self.0.push(action);
        debug_assert!(room.is_ok(), "one event never leads to so much");
    }
}

impl IntoIterator for Actions {
    type Item = Action;
    type IntoIter = <heapless::Vec<Action, { Actions::MAX }> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Actions {
    type Item = &'a Action;
    type IntoIter = core::slice::Iter<'a, Action>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
