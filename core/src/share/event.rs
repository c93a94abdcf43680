//! What the sharing of nodes is told, and what it asks for.

use crate::node::{Node, Nodes};
use crate::time::{Instant, Span};

/// Ties an answer to the action that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u32);

/// Which command: the term of the active that numbered it, and its place in that term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Number {
    /// The active's term.
    pub term: u64,
    /// Counted from 1.
    pub n: u32,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Kind {
    /// Members take part again.
    Attach,
    /// Members take part no more.
    Detach,
    /// The first of the members is the primary.
    Promote,
}

/// A command about pool members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Command {
    /// Which it is.
    pub number: Number,
    /// What it does.
    pub kind: Kind,
    /// To which members of the pool, by their places in the configuration.
    pub members: Nodes,
}

/// What all commands came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pool {
    /// Members that take no part.
    pub detached: Nodes,
    /// Who is the primary; `None` is unknown.
    pub primary: Option<Node>,
}

impl Pool {
    pub(super) fn take(&mut self, command: &Command) {
        let members = command.members;
        match command.kind {
            Kind::Attach => members.iter().for_each(|it| self.detached = self.detached.without(it)),
            Kind::Detach => members.iter().for_each(|it| self.detached = self.detached.with(it)),
            Kind::Promote => self.primary = members.iter().next().or(self.primary),
        }
    }
}

/// A recovery under way, as it must outlive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lasting {
    /// Who began it.
    pub by: Node,
    /// When it ends by itself, in the time that the machine is told: of one boot.
    pub until: Instant,
    /// Begun here: who had yet to answer when it was kept; nobody once every node refuses.
    pub waits_for: Nodes,
}

/// What nodes say to each other about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// To the active: somebody here wants a command.
    Ask {
        /// What it shall do.
        kind: Kind,
        /// To which members.
        members: Nodes,
    },
    /// The newest command that the sender has applied.
    Have {
        /// Its number.
        number: Number,
    },
    /// A command, for one whose newest is `after`.
    Command {
        /// The one before it.
        after: Number,
        /// What to apply.
        command: Command,
    },
    /// What all commands came to, for one that missed too many, or other ones.
    State {
        /// The newest of them.
        number: Number,
        /// What they came to.
        pool: Pool,
    },
    /// Recovery: refuse new connections for this long at most.
    Block {
        /// When it ends by itself.
        lasts: Span,
    },
    /// New connections are refused here.
    Ready,
    /// They cannot be, or are for another recovery.
    Refused,
    /// Recovery has ended.
    End,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Time has passed; spurious and early ones change nothing.
    Timeout,
    /// Who is active, in which term.
    Active {
        /// `None` where nobody is known.
        node: Option<Node>,
        /// Its term.
        term: u64,
    },
    /// Somebody on this node wants a command; leads to one [`Action::Answer`].
    Asked {
        /// What it shall do.
        kind: Kind,
        /// To which members.
        members: Nodes,
    },
    /// A member said something.
    Frame {
        /// Who.
        from: Node,
        /// What.
        message: Message,
    },
    /// Somebody on this node begins a recovery; leads to one [`Action::Answer`].
    Recover {
        /// It ends by itself after this.
        lasts: Span,
        /// Who must refuse new connections too: the others that are heard and serve.
        among: Nodes,
    },
    /// It is over.
    Recovered,
    /// An earlier life of this node left this under way; told at the start.
    Resumed(Lasting),
    /// Answers [`Action::Block`].
    Blocked {
        /// From the action.
        ticket: Ticket,
        /// Whether new connections are refused now.
        ok: bool,
    },
}

/// What became of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is numbered and on its way.
    Done,
    /// The active has it.
    PassedOn(Node),
    /// No active is known to number it.
    NobodyActive,
    /// Recovery: every node refuses new connections.
    Recovering,
    /// Recovery: this node cannot, and the others were let go.
    RefusedBy(Node),
    /// Recovery: it ended before all had answered.
    TimedOut,
}

/// Whom a frame goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Every other member.
    All,
    /// One.
    One(Node),
}

/// What to do about it, in this order; what follows a [`Action::Store`] is done only once the
/// record is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Make it durable.
    Store(super::Durable),
    /// Keep it for the next life; `None`: there is none. What follows is done even if it cannot be
    /// kept: a disk that refuses must neither begin nor end a recovery.
    Keep(Option<Lasting>),
    /// Say it.
    Send {
        /// To whom.
        to: To,
        /// What.
        message: Message,
    },
    /// Carry the command out here.
    Apply(Command),
    /// Make everything as this says.
    Adopt(Pool),
    /// Refuse new connections; established ones go on. Answered once by [`Event::Blocked`].
    Block {
        /// For the answer.
        ticket: Ticket,
    },
    /// Take connections again.
    Unblock,
    /// To who wanted it.
    Answer(Answer),
}

/// What one event leads to, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions(heapless::Vec<Action, { Actions::MAX }>);

impl Actions {
    /// No event leads to more.
    pub const MAX: usize = 6;

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
