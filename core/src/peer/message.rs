//! What nodes say to each other.

use core::fmt;

use crate::node::Node;
use crate::time::Instant;

/// Counts activations: it rises with each, and never comes back.
pub type Term = u64;

/// What a node is, printed and numbered as in the source document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Role {
    /// It has just started, and listens; also a peer never heard.
    #[default]
    Init = 1,
    /// It could take over.
    Standby = 2,
    /// It holds the address, or is about to.
    Active = 3,
    /// It cannot serve, and knows it.
    Down = 4,
}

impl Role {
    /// The number of the source document.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The role of this number.
    #[must_use]
    pub const fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Init,
            2 => Self::Standby,
            3 => Self::Active,
            4 => Self::Down,
            _ => return None,
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Init => "init",
            Self::Standby => "standby",
            Self::Active => "active",
            Self::Down => "down",
        })
    }
}

/// A vote: for whom, in which term. Durable before it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ballot {
    /// The term that would begin.
    pub term: Term,
    /// Who would be active in it.
    pub node: Node,
}

/// A vote that nobody asked for, from who leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ahead {
    /// The vote.
    pub ballot: Ballot,
    /// [`Beat::sent`] of the newest beat of the one it is for: it was given after that, and binds
    /// the giver for `wait` only.
    pub echo: Instant,
}

/// What of a configuration must be the same on all nodes, as digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Digests {
    /// Of the group's addresses.
    pub addresses: u32,
    /// Of the nodes: names, addresses, witnesses, who decides.
    pub members: u32,
    /// Of times and counts.
    pub thresholds: u32,
}

/// Why a node is not accepted by another (P12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Mismatch {
    /// Its addresses differ.
    Addresses,
    /// Its members, or who decides, differ.
    Members,
    /// Its times or counts differ.
    Thresholds,
    /// It says that it is the node that hears it.
    SameNode,
}

impl Mismatch {
    pub(super) const fn between(ours: &Digests, theirs: &Digests) -> Option<Self> {
        if ours.addresses != theirs.addresses {
            Some(Self::Addresses)
        } else if ours.members != theirs.members {
            Some(Self::Members)
        } else if ours.thresholds != theirs.thresholds {
            Some(Self::Thresholds)
        } else {
            None
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Addresses => "its addresses differ",
            Self::Members => "its nodes, or who decides, differ",
            Self::Thresholds => "its times or counts differ",
            Self::SameNode => "another node has its name",
        })
    }
}

/// A sign of life, to everybody, each `heartbeat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Beat {
    /// The sender's term.
    pub term: Term,
    /// What it is.
    pub role: Role,
    /// When it was sent, on the sender's own clock: the sequence that an answer repeats (P10).
    pub sent: Instant,
    /// How long it has been in the group, in milliseconds: clocks need not agree.
    pub age_ms: u64,
    /// Breaks ties of age.
    pub priority: u8,
    /// It gave over, or could not hold the address: it stands last.
    pub last: bool,
    /// The kernel has the address there.
    pub holds: bool,
    /// By how many votes it became active.
    pub votes: u8,
    /// What must be the same everywhere.
    pub digests: Digests,
}

/// Why a vote is refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Refusal {
    /// The one asked is active itself.
    Active,
    /// It heard this active less than `wait` ago.
    Hears(Node),
    /// It started or woke less than `wait` ago.
    Young,
    /// It voted less than `wait` ago, or stands itself.
    Voted,
    /// The term is not newer than what it knows.
    Old,
}

/// What one node says to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A sign of life.
    Beat(Beat),
    /// To an active's beat: it was heard.
    Answer {
        /// The answerer's term; a higher one than the active's grants nothing.
        term: Term,
        /// The beat's [`Beat::sent`].
        echo: Instant,
    },
    /// Asks for a vote.
    Stand {
        /// The term that would begin.
        term: Term,
        /// As in [`Beat::age_ms`].
        age_ms: u64,
        /// As in [`Beat::priority`].
        priority: u8,
        /// As in [`Beat::last`].
        last: bool,
    },
    /// The vote asked for.
    Vote {
        /// As it was asked for.
        term: Term,
    },
    /// The vote is refused.
    Refuse {
        /// As it was asked for.
        term: Term,
        /// The highest term the refuser knows.
        known: Term,
        /// Why.
        why: Refusal,
    },
    /// The sender goes, is down, or is active no more; what it held is dropped.
    Leave {
        /// The term it was active in, or knew.
        term: Term,
        /// Its vote, if it may give one.
        vote: Option<Ahead>,
        /// It cannot serve.
        down: bool,
    },
    /// The receiver's configuration differs from the sender's.
    Mismatched {
        /// In what.
        why: Mismatch,
        /// How long the sender has been in the group: the younger is the newcomer.
        age_ms: u64,
    },
}

impl Message {
    /// The same on a clock whose epoch is `by` milliseconds later; what would lie before it is at
    /// it. For [`super::Peer::rebase`]: only the sender's own clock is in a message.
    #[must_use]
    pub fn rebased(self, by: u64) -> Self {
        let moved = |at: Instant| Instant::from_millis(at.as_millis().saturating_sub(by));
        match self {
            Self::Beat(beat) => Self::Beat(Beat { sent: moved(beat.sent), ..beat }),
            Self::Answer { term, echo } => Self::Answer { term, echo: moved(echo) },
            Self::Leave { term, vote: Some(ahead), down } => {
                let ahead = Ahead { echo: moved(ahead.echo), ..ahead };
                Self::Leave { term, vote: Some(ahead), down }
            }
            Self::Stand { .. }
            | Self::Vote { .. }
            | Self::Refuse { .. }
            | Self::Leave { vote: None, .. }
            | Self::Mismatched { .. } => self,
        }
    }
}
