//! How nodes decide between them: limits as written, checked so that they can work.

use core::fmt;

use crate::node::{Node, Nodes};
use crate::time::Span;

/// Below this much of a grant the address is dropped: the kernel counts whole seconds.
pub(super) const LEAST_GRANT: Span = Span::from_secs(1);
/// An attempt to take or release the address is repeated after this.
pub(super) const AGAIN: Span = Span::from_secs(1);

/// Who decides that a standby may take over (P5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Quorum {
    /// Votes from more than half of the configured members. Never two holders.
    Majority,
    /// The peer's vote, its goodbye, or an acknowledged fence. For two nodes; never two holders
    /// as long as an acknowledged fence tells the truth.
    Fence,
    /// The peer's vote or its goodbye; silence only alarms. For two nodes; never two holders.
    Stay,
    /// The source document's: silence for `wait` with a trusted server answering. Two holders
    /// are possible.
    Trusted,
    /// A store that others keep: who holds the group there is active. Never two holders.
    Etcd,
}

impl fmt::Display for Quorum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Majority => "majority",
            Self::Fence => "fence",
            Self::Stay => "stay",
            Self::Trusted => "trusted",
            Self::Etcd => "etcd",
        })
    }
}

/// Times and counts as they are written, the same on every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Limits {
    /// A node looks at itself and at trusted servers this often. Not zero.
    pub interval: Span,
    /// So many looks in a row that fail mean down. Not zero.
    pub life: u8,
    /// An own sign of life goes out this often. Not zero.
    pub heartbeat: Span,
    /// The address is held this long without a renewal. At least a second more than two
    /// heartbeats, and than `stand_step`.
    pub lease: Span,
    /// What timers and the kernel may be late by. At least a second.
    pub jitter: Span,
    /// By how much clocks may run at different rates, in thousandths.
    pub rate: u16,
    /// So long an active must be silent before anybody takes its place. At least
    /// `(lease + jitter) × (1 + 2 × rate) + 1 s`, which [`Rules::new`] checks.
    pub wait: Span,
    /// Between the turns of standbys to stand. Not zero.
    pub stand_step: Span,
}

impl Limits {
    /// What holds where nothing is written.
    pub const DEFAULT: Self = Self {
        interval: Span::from_secs(10),
        life: 3,
        heartbeat: Span::from_secs(1),
        lease: Span::from_secs(5),
        jitter: Span::from_secs(1),
        rate: 50,
        wait: Span::from_secs(8),
        stand_step: Span::from_secs(2),
    };

    /// The least `wait` after which a grant is over on whatever clock (P10), in milliseconds,
    /// rounded up.
    #[must_use]
    pub const fn least_wait_ms(&self) -> u64 {
        let held = self.lease.as_millis() as u64 + self.jitter.as_millis() as u64;
        (held * (1000 + 2 * self.rate as u64)).div_ceil(1000) + 1000
    }

    /// The shortest lease that heartbeats and turns leave in force.
    #[must_use]
    pub const fn least_lease_ms(&self) -> u64 {
        let beats = 2 * self.heartbeat.as_millis() as u64;
        let turn = self.stand_step.as_millis() as u64;
        (if beats > turn { beats } else { turn }) + LEAST_GRANT.as_millis() as u64
    }
}

/// Who there is, and what this node is among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Members {
    /// This node.
    pub me: Node,
    /// How many are configured: numbers 0 to `count - 1`.
    pub count: u8,
    /// Those that only vote.
    pub witnesses: Nodes,
    /// Breaks ties of age; the higher goes first.
    pub priority: u8,
    /// Who decides.
    pub quorum: Quorum,
    /// Two holders were accepted in writing; `trusted` needs it.
    pub accept_two_holders: bool,
    /// There are trusted servers.
    pub trusted: bool,
    /// This node never stands, though it could: it only observes.
    pub observe: bool,
}

/// Rules that can work: made by [`Rules::new`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    pub(super) limits: Limits,
    pub(super) members: Members,
    /// What is held ends by itself with its lifetime, as an address does.
    pub(super) lapses: bool,
    #[cfg(feature = "defects")]
    pub(super) without: Option<super::Defect>,
}

/// Why rules cannot work; each carries what would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RulesError {
    /// A time or count that must not be zero, by its key.
    Zero(&'static str),
    /// `wait` is over before a lease surely is.
    WaitTooShort {
        /// The least that works.
        least_ms: u64,
    },
    /// `lease` would lapse between two heartbeats, or while a candidate asks.
    LeaseTooShort {
        /// The least that works.
        least_ms: u64,
    },
    /// `jitter` below a second: the kernel counts whole ones.
    JitterTooShort,
    /// `rate` of 50 % or more says nothing about a clock.
    RateTooHigh,
    /// Fewer than two nodes.
    TooFew,
    /// More nodes than can be told apart, or than there is storage for.
    TooMany {
        /// The most that work.
        most: u8,
    },
    /// This node is not among the members.
    NotAMember,
    /// Nobody could ever be active.
    OnlyWitnesses,
    /// A witness is a vote, and only a majority counts votes.
    WitnessNeedsMajority,
    /// `fence` and `stay` decide between two.
    OnlyForTwo,
    /// `trusted` can make two holders, which nobody accepted.
    TwoHoldersNotAccepted,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(key) => write!(f, "{key} must not be zero"),
            Self::WaitTooShort { least_ms } => {
                write!(
                    f,
                    "wait must be at least {least_ms} ms, or two nodes could hold the address"
                )
            }
            Self::LeaseTooShort { least_ms } => {
                write!(f, "lease must be at least {least_ms} ms, or it lapses between heartbeats")
            }
            Self::JitterTooShort => write!(f, "jitter must be at least 1 s"),
            Self::RateTooHigh => write!(f, "rate must be below 50 %"),
            Self::TooFew => write!(f, "a cluster has at least two nodes"),
            Self::TooMany { most } => write!(f, "a cluster has at most {most} nodes"),
            Self::NotAMember => write!(f, "this node is not one of them"),
            Self::OnlyWitnesses => write!(f, "every node is a witness"),
            Self::WitnessNeedsMajority => {
                write!(f, "a witness votes, which only `majority` counts")
            }
            Self::OnlyForTwo => write!(f, "`fence` and `stay` decide between two nodes"),
            Self::TwoHoldersNotAccepted => {
                write!(f, "`trusted` can make two holders and needs accept_two_holders = true")
            }
        }
    }
}

impl Rules {
    /// Rules for a machine with room for `room` members.
    ///
    /// # Errors
    /// [`RulesError`], the first that is found.
    pub fn new(limits: Limits, members: Members, room: usize) -> Result<Self, RulesError> {
        check_times(&limits)?;
        check_members(&members, room)?;
        Ok(Self {
            limits,
            members,
            lapses: true,
            #[cfg(feature = "defects")]
            without: None,
        })
    }

    /// The same where services are held too. They do not end with a lifetime: only their proven end
    /// is a release, and before it nobody is told and no vote is given.
    #[must_use]
    pub const fn with_services(self) -> Self {
        Self { lapses: false, ..self }
    }

    /// Rules that one rule is missing from, and that nobody has checked.
    #[cfg(feature = "defects")]
    #[must_use]
    pub const fn defective(
        limits: Limits,
        members: Members,
        without: Option<super::Defect>,
    ) -> Self {
        Self { limits, members, lapses: true, without }
    }

    /// The rule that is missing.
    #[cfg(feature = "defects")]
    #[must_use]
    pub const fn defect(&self) -> Option<super::Defect> {
        self.without
    }

    /// The limits as they were written.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Who there is.
    #[must_use]
    pub const fn members(&self) -> &Members {
        &self.members
    }

    /// How many votes win, where votes are counted.
    #[must_use]
    pub const fn votes_needed(&self) -> u8 {
        match self.members.quorum {
            Quorum::Majority => self.members.count / 2 + 1,
            Quorum::Fence | Quorum::Stay => self.members.count,
            Quorum::Trusted | Quorum::Etcd => 1,
        }
    }

    /// Whether a store that others keep decides.
    pub(super) const fn by_store(&self) -> bool {
        matches!(self.members.quorum, Quorum::Etcd)
    }

    /// Whether this node may ever be active.
    #[must_use]
    pub const fn may_stand(&self) -> bool {
        !self.is_witness() && !self.members.observe
    }

    /// Whether this node only votes.
    #[must_use]
    pub const fn is_witness(&self) -> bool {
        self.members.witnesses.has(self.members.me)
    }

    /// Nothing older than this changes a decision, in milliseconds; see [`super::Peer::rebase`].
    #[must_use]
    pub const fn horizon_ms(&self) -> u64 {
        let (wait, lease) = (self.limits.wait.as_millis(), self.limits.lease.as_millis());
        (if wait > lease { wait } else { lease }) as u64
    }

    /// Everybody else.
    pub(super) const fn others(&self) -> Nodes {
        Nodes::first(self.members.count).without(self.members.me)
    }
}

fn check_times(limits: &Limits) -> Result<(), RulesError> {
    let times = [
        ("interval", limits.interval),
        ("heartbeat", limits.heartbeat),
        ("lease", limits.lease),
        ("wait", limits.wait),
        ("stand_step", limits.stand_step),
    ];
    if let Some((key, _)) = times.iter().find(|(_, span)| span.is_zero()) {
        return Err(RulesError::Zero(key));
    }
    if limits.life == 0 {
        return Err(RulesError::Zero("life"));
    }
    if limits.jitter < Span::from_secs(1) {
        return Err(RulesError::JitterTooShort);
    }
    if limits.rate >= 500 {
        return Err(RulesError::RateTooHigh);
    }
    let least_ms = limits.least_lease_ms();
    if u64::from(limits.lease.as_millis()) < least_ms {
        return Err(RulesError::LeaseTooShort { least_ms });
    }
    let least_ms = limits.least_wait_ms();
    if u64::from(limits.wait.as_millis()) < least_ms {
        return Err(RulesError::WaitTooShort { least_ms });
    }
    Ok(())
}

fn check_members(members: &Members, room: usize) -> Result<(), RulesError> {
    let most = Nodes::MOST.min(u8::try_from(room).unwrap_or(u8::MAX));
    if members.count < 2 {
        return Err(RulesError::TooFew);
    }
    if members.count > most {
        return Err(RulesError::TooMany { most });
    }
    if members.me.0 >= members.count {
        return Err(RulesError::NotAMember);
    }
    if members.witnesses.covers(Nodes::first(members.count)) {
        return Err(RulesError::OnlyWitnesses);
    }
    let majority = matches!(members.quorum, Quorum::Majority);
    if !members.witnesses.is_empty() && !majority {
        return Err(RulesError::WitnessNeedsMajority);
    }
    let pair = matches!(members.quorum, Quorum::Fence | Quorum::Stay);
    if pair && members.count != 2 {
        return Err(RulesError::OnlyForTwo);
    }
    if matches!(members.quorum, Quorum::Trusted) && !members.accept_two_holders {
        return Err(RulesError::TwoHoldersNotAccepted);
    }
    Ok(())
}
