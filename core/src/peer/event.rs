//! What a node's machine is told, and what it asks for.

use crate::node::{Node, Nodes};
use crate::time::Instant;

use super::message::{Ballot, Message, Mismatch, Refusal, Role, Term};

/// Ties an answer to the action that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket(pub u32);

/// How taking the address ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taken {
    /// The kernel has it, and it was announced.
    Up,
    /// Somebody else answers for it.
    Duplicate,
    /// It could not be done.
    Failed,
}

/// What a look at ourselves and around found. `None` is what could not be measured, and changes
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Look {
    /// The group's checks of this node.
    pub own: Option<bool>,
    /// Whether any trusted server answers.
    pub trusted: Option<bool>,
    /// Peers whose checks passed; only asked with `run = "all"`.
    pub passed: Nodes,
    /// Peers whose checks failed.
    pub failed: Nodes,
}

/// What happened. Frames come here only once they are known to be authentic and new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// Time has passed; spurious and early ones change nothing.
    Timeout,
    /// The machine begins: the port is bound, frames are heard.
    Begin,
    /// A member said something.
    Frame {
        /// Who.
        from: Node,
        /// What.
        message: Message,
    },
    /// Answers [`Action::Look`].
    Looked {
        /// From the action.
        ticket: Ticket,
        /// What was found.
        look: Look,
    },
    /// Answers [`Action::Take`].
    Taken {
        /// From the action.
        ticket: Ticket,
        /// How it ended.
        taken: Taken,
    },
    /// Answers [`Action::Release`].
    Released {
        /// From the action.
        ticket: Ticket,
        /// The kernel was asked, and has the address no more; with [`How::Orderly`] the services
        /// are proven stopped too.
        ok: bool,
    },
    /// The address went without us.
    AddressLost,
    /// Answers [`Action::Fence`].
    Fenced {
        /// From the action.
        ticket: Ticket,
        /// Acknowledged: the peer is off.
        ok: bool,
    },
    /// A record of [`Action::Store`] could not be made durable; what followed it in the same list
    /// was not done.
    StoreFailed,
    /// Checks of service and peers count nothing for a while, or again.
    Recovery(bool),
    /// The node is stopped in an orderly way (P8).
    Stop,
    /// The group is handed over; the arbiter has granted it.
    GiveOver {
        /// The successor; the first standby if none is named.
        to: Option<Node>,
    },
    /// An operator's vote: become active without anybody's. Nothing where a store decides.
    Force,
    /// The store says whether the group may be had; only with [`super::Quorum::Etcd`].
    Vacancy {
        /// It may.
        vacant: bool,
        /// Who let it go named this one.
        to: Option<Node>,
    },
    /// Answers [`Action::Claim`]: the group is held here in the store.
    Won {
        /// From the action.
        ticket: Ticket,
        /// The store's revision, which is the term.
        term: Term,
        /// For `lease` from then.
        since: Instant,
    },
    /// Answers [`Action::Claim`]: it is not.
    NotWon {
        /// From the action.
        ticket: Ticket,
    },
    /// The store has it held here on.
    Kept {
        /// As it was won.
        term: Term,
        /// For `lease` from then.
        since: Instant,
    },
    /// The store has it held here no more.
    Ousted {
        /// As it was won.
        term: Term,
    },
}

/// In what order what is held is let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Services that run on the active only are stopped and proven stopped first.
    Orderly,
    /// The address first and at once.
    AtOnce,
    /// What an earlier life may have left, before anything is claimed.
    Leftover,
}

/// Whom a frame goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum To {
    /// Every other member.
    All,
    /// One.
    One(Node),
}

/// What must outlive a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Durable {
    /// The highest term known to have had an active.
    pub term: Term,
    /// The vote given in the highest term.
    pub ballot: Option<Ballot>,
}

/// Something people are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// We did not run for a while: what we believed is void (P9).
    Slept,
    /// The active has been silent for `wait`.
    Silent(Node),
    /// A peer's configuration differs.
    Mismatched(Node, Mismatch),
    /// Two actives have met (P7).
    TwoActives(Node),
    /// A vote was refused.
    VoteRefused(Node, Refusal),
    /// A fence was not acknowledged.
    FenceFailed(Node),
    /// Too few members answered the heartbeats: the grant is over.
    GrantLost,
    /// The address could not be taken for `wait`.
    Unheld,
    /// A giveover or a stop was given up: what runs here is not proven stopped.
    NotStopped,
    /// A member was heard for the first time, or again.
    Heard(Node),
    /// A giveover was asked of a node that is not active, or is about to go.
    NotActive,
    /// A vote could not be made durable.
    NotStored,
    /// The store has it held here no more: its lease was lost, or somebody took it out.
    Ousted,
    /// The store's revision is below this term, which is known to have had an active: the store
    /// was emptied, or restored from an earlier day.
    TermBack(Term),
}

/// What to do about it, in this order. What follows a [`Action::Store`] is done only once the
/// record is durable; if it cannot be, the rest is left undone and [`Event::StoreFailed`] says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Make it durable.
    Store(Durable),
    /// Say it.
    Send {
        /// To whom.
        to: To,
        /// What.
        message: Message,
    },
    /// The role has changed.
    Role {
        /// What the node is now.
        role: Role,
        /// In which term.
        term: Term,
    },
    /// Become the holder: what must be done first, a look for a duplicate, the address, its
    /// announcement. The lifetime ends at the latest `until` given, rounded down to whole
    /// seconds. Answered once by [`Event::Taken`]; harmless where the address is there already.
    Take {
        /// For the answer.
        ticket: Ticket,
        /// When the lifetime ends.
        until: Instant,
    },
    /// The lifetime ends later.
    Renew {
        /// When.
        until: Instant,
    },
    /// Let go. Answered once by [`Event::Released`]; calls a take off that is under way.
    Release {
        /// For the answer.
        ticket: Ticket,
        /// In what order.
        how: How,
    },
    /// Say again, at least twice, where the address is.
    Announce,
    /// Cut a peer's power. Answered once by [`Event::Fenced`].
    Fence {
        /// For the answer.
        ticket: Ticket,
        /// Whom.
        node: Node,
    },
    /// Claim the group in the store. Answered once by [`Event::Won`] or [`Event::NotWon`], unless
    /// [`Action::LetGo`] comes before.
    Claim {
        /// For the answer.
        ticket: Ticket,
    },
    /// Nothing of the group is held here: let it go in the store, whatever there is of ours.
    LetGo {
        /// The successor, if there is one.
        to: Option<Node>,
    },
    /// Look at ourselves, trusted servers, and peers. Answered once by [`Event::Looked`].
    Look {
        /// For the answer.
        ticket: Ticket,
    },
    /// Every peer that was heard refuses this node: end, and say why.
    Quit {
        /// Who refuses.
        by: Node,
        /// Why.
        why: Mismatch,
    },
    /// This node has said its last; the machine is over.
    Gone,
    /// Tell people.
    Note(Note),
}

/// What one event leads to, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions(heapless::Vec<Action, { Actions::MAX }>);

impl Actions {
    /// No event leads to more.
    pub const MAX: usize = 16;

    pub(super) const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    pub(super) fn push(&mut self, action: Action) {
        let full = self.0.push(action).is_err();
        debug_assert!(!full, "more actions than Actions::MAX");
    }

    /// In order.
    #[must_use]
    pub fn as_slice(&self) -> &[Action] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Actions {
    type Item = &'a Action;
    type IntoIter = core::slice::Iter<'a, Action>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
