//! What a node knows of another, and whose turn it is to stand.

use core::cmp::Ordering;

use crate::node::Node;
use crate::time::{Instant, Span};

use super::message::{Mismatch, Role, Term};

/// Another node, as it was last heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    pub(super) heard: Option<Instant>,
    /// Its newest beat's [`super::Beat::sent`], on its own clock.
    pub(super) said: Option<Instant>,
    pub(super) role: Role,
    pub(super) term: Term,
    pub(super) holds: bool,
    pub(super) rank: Rank,
    /// When the newest of our heartbeats that it answered was sent.
    pub(super) granted: Option<Instant>,
    pub(super) life: u8,
    pub(super) refused: Option<Mismatch>,
}

impl Member {
    pub(super) const fn never_seen(life: u8) -> Self {
        Self {
            heard: None,
            said: None,
            role: Role::Init,
            term: 0,
            holds: false,
            rank: Rank { last: false, age_ms: 0, priority: 0 },
            granted: None,
            life,
            refused: None,
        }
    }

    /// When it was last heard; `None` means not since we began.
    #[must_use]
    pub const fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// What it said it was.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The term it told.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.term
    }

    /// The kernel there has the address, as it said.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.holds
    }

    /// How many more checks of it may fail.
    #[must_use]
    pub const fn life(&self) -> u8 {
        self.life
    }

    /// Why it is not accepted.
    #[must_use]
    pub const fn refused(&self) -> Option<Mismatch> {
        self.refused
    }

    /// It gave over, or could not hold the address: it stands last.
    #[must_use]
    pub const fn stands_last(&self) -> bool {
        self.rank.last
    }

    /// How long it has been in the group at `now`, in milliseconds, as it told.
    #[must_use]
    pub fn age_ms(&self, now: Instant) -> u64 {
        self.rank_at(now).age_ms
    }

    /// Heard less than `wait` ago, and accepted.
    #[must_use]
    pub fn lives(&self, now: Instant, wait: Span) -> bool {
        self.refused.is_none() && self.heard.is_some_and(|heard| heard.after(wait) > now)
    }

    /// The rank at `now`: who was heard a while ago has grown older since.
    pub(super) fn rank_at(&self, now: Instant) -> Rank {
        let since = self.heard.map_or(0, |heard| now.since(heard));
        Rank { age_ms: self.rank.age_ms.saturating_add(since), ..self.rank }
    }

    pub(super) fn rebased(&self, rebase: Rebase) -> Self {
        Self {
            heard: self.heard.map(|at| rebase.instant(at)),
            said: self.said.map(|at| rebase.instant(at)),
            granted: self.granted.map(|at| rebase.instant(at)),
            rank: Rank { age_ms: self.rank.age_ms.min(rebase.horizon_ms), ..self.rank },
            ..*self
        }
    }
}

/// What decides whose turn it is (P4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rank {
    pub(super) last: bool,
    pub(super) age_ms: u64,
    pub(super) priority: u8,
}

impl Rank {
    /// Whether `node` of this rank stands before `other`: older, then of higher priority, then
    /// first in the file; who gave over stands last. Ages that differ by less than `slack` are
    /// the same: what is told takes time to arrive, and both must come to the same answer.
    pub(super) fn is_before(&self, node: Node, other: &Self, than: Node, slack: Span) -> bool {
        let same_age = self.age_ms.abs_diff(other.age_ms) < u64::from(slack.as_millis());
        let age = if same_age { Ordering::Equal } else { other.age_ms.cmp(&self.age_ms) };
        let order = self
            .last
            .cmp(&other.last)
            .then(age)
            .then(other.priority.cmp(&self.priority))
            .then(node.cmp(&than));
        order == Ordering::Less
    }
}

/// Moves a clock's epoch later by `by`; what is older than the horizon is as old as that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebase {
    pub(super) by_ms: u64,
    pub(super) horizon_ms: u64,
}

impl Rebase {
    pub(super) const fn instant(self, at: Instant) -> Instant {
        Instant::from_millis(at.as_millis().saturating_sub(self.by_ms))
    }
}
