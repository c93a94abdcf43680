//! What a claim is told, what it asks of the store, and what it tells.

use crate::node::Node;
use crate::time::{Instant, Span};

/// Ties an answer to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

/// A lease by its number in the store; none is zero or below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease(pub i64);

impl Lease {
    /// Whether there is one.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.0 > 0
    }
}

/// Times of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// A lease lasts this long in the store. Whole seconds, more than `margin`.
    pub ttl: Span,
    /// So long before that the holder is none any more.
    pub margin: Span,
    /// Who finds the holder gone waits this long. Longer than `ttl - margin` on whatever clock:
    /// see `peer::Limits::least_wait_ms`.
    pub wait: Span,
    /// Between two questions. Not zero.
    pub beat: Span,
}

impl Limits {
    /// So long what a renewal gives is held.
    #[must_use]
    pub const fn hold(&self) -> Span {
        Span::from_millis(self.ttl.as_millis().saturating_sub(self.margin.as_millis()))
    }

    /// A question that is not answered for so long is as good as not asked: a fifth of what is
    /// held by a renewal, so that there is time to ask elsewhere, and at least a fifth of a second.
    #[must_use]
    pub const fn patience(&self) -> Span {
        let fifth = self.hold().as_millis() / 5;
        Span::from_millis(if fifth < 200 { 200 } else { fifth })
    }

    /// After a failure the next question waits this long.
    #[must_use]
    pub const fn pause(&self) -> Span {
        Span::from_millis(self.patience().as_millis() / 4)
    }
}

/// Who holds a group, as the store has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// Its lease.
    pub lease: Lease,
    /// The revision in which it became the holder: the fencing token.
    pub revision: u64,
}

/// What the store keeps of the last holder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The revision in which it was written; 0: there is none.
    pub revision: u64,
    /// It has let go: nothing is held by it any more.
    pub let_go: bool,
    /// For whom, if it named one.
    pub to: Option<Node>,
}

/// What the store has of a group, all of it at one revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// Which store it is: one that was restored is another.
    pub store: u64,
    /// Its revision then.
    pub revision: u64,
    /// Who holds the group.
    pub holder: Option<Holder>,
    /// What is kept of the last one.
    pub mark: Mark,
}

/// What is asked of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// A lease of [`Limits::ttl`].
    Grant,
    /// Become the holder by this lease, and mark it, if nobody is and the mark is of this
    /// revision.
    Claim {
        /// By which lease.
        lease: Lease,
        /// [`Mark::revision`].
        mark: u64,
    },
    /// Renew the lease.
    Keep {
        /// Which.
        lease: Lease,
    },
    /// How it is, by a majority of the store's members.
    Read,
    /// If the holder is one by this lease: be it no more, and mark that.
    LetGo {
        /// By which lease.
        lease: Lease,
        /// For whom.
        to: Option<Node>,
    },
}

/// What the store said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// To [`Request::Grant`].
    Granted {
        /// The lease.
        lease: Lease,
        /// How long it really is.
        ttl: Span,
    },
    /// To [`Request::Claim`]: it is ours.
    Claimed {
        /// Since this revision.
        revision: u64,
    },
    /// To [`Request::Keep`].
    Kept {
        /// How long it is from now on; zero: there is no such lease any more.
        ttl: Span,
    },
    /// To [`Request::Read`]; to [`Request::Claim`] and [`Request::LetGo`]: it was not done, and
    /// this is why.
    State(State),
    /// To [`Request::LetGo`]: done.
    LetGo,
    /// No answer, or an error. It may have been done.
    Failed,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Time has passed; spurious and early ones change nothing.
    Timeout,
    /// The group is wanted. Answered once, by [`Action::Won`] or [`Action::NotWon`], unless
    /// [`Event::LetGo`] comes before.
    Wanted {
        /// For the answer.
        by: u32,
    },
    /// It is held no more here, and wanted no more.
    LetGo {
        /// The successor, if one is named.
        to: Option<Node>,
    },
    /// The store has said that something changed; what, is asked.
    Changed,
    /// To [`Action::Ask`].
    Answered {
        /// From the action.
        ticket: Ticket,
        /// What.
        answer: Answer,
    },
}

/// What to do, and what to tell the group's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Ask the store. The question before it, if it has no answer yet, is of no interest any more.
    Ask {
        /// For the answer.
        ticket: Ticket,
        /// What.
        request: Request,
        /// An answer later than this is none.
        until: Instant,
    },
    /// Whether the group may be had now.
    Vacancy {
        /// It may.
        vacant: bool,
        /// Who let it go named this one.
        to: Option<Node>,
    },
    /// It is held here.
    Won {
        /// From the event.
        by: u32,
        /// The revision.
        term: u64,
        /// It is held for `ttl - margin` from then.
        since: Instant,
    },
    /// It is not.
    NotWon {
        /// From the event.
        by: u32,
    },
    /// It is held on.
    Kept {
        /// As it was won.
        term: u64,
        /// For `ttl - margin` from then.
        since: Instant,
    },
    /// Another holds it, or nobody: its lease was lost, or it was taken out.
    Lost {
        /// As it was won.
        term: u64,
    },
}

/// What one event leads to, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions(heapless::Vec<Action, { Actions::MAX }>);

impl Actions {
    /// No event leads to more.
    pub const MAX: usize = 4;

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
