//! What a pool is told to be, and what can never work.

use core::fmt;

use crate::time::Span;

use super::Pool;

/// When failed cycles take a member out: so many of the last so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fall {
    /// How many failed cycles.
    pub count: u8,
    /// Among how many of the last; the same number means in a row.
    pub of: u8,
}

impl Fall {
    /// So many in a row.
    #[must_use]
    pub const fn in_a_row(count: u8) -> Self {
        Self { count, of: count }
    }
}

/// When a member has too much to do, with a distance between the two so that it does not flap.
///
/// # Units
/// Percent of what the member's agent calls full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Busy {
    /// From this load on it is busy,
    pub from: u8,
    /// until its load is below this.
    pub until: u8,
}

/// What a pool is told to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// From the start of a member's cycle to the start of its next; one that takes longer is
    /// followed at the next slot.
    pub interval: Span,
    /// Healthy cycles in a row that bring a member back.
    pub rise: u8,
    /// Failed cycles that take it out.
    pub fall: Fall,
    /// So many stay in, however their checks look.
    pub min_members: u8,
    /// When a member is busy; without it none ever is.
    pub busy: Option<Busy>,
    /// Silence of an agent that takes its member out.
    pub silence: Option<Span>,
    /// An agent that was never heard is silent too.
    pub agent_required: bool,
    /// Something acts when none is left, so that all being busy can be acted on.
    pub fallback: bool,
    /// Connections of a member that is excluded, or whose drain is over, are cut.
    pub cut: bool,
    /// Trusted servers are asked whether it is us, so that an exclusion of everybody waits for them.
    pub trusted: bool,
}

impl Settings {
    /// The most cycles that are remembered of a member.
    pub const MOST_CYCLES: u8 = 16;

    /// The defaults of a configuration.
    pub const DEFAULT: Self = Self {
        interval: Span::from_secs(2),
        rise: 2,
        fall: Fall::in_a_row(3),
        min_members: 1,
        busy: None,
        silence: None,
        agent_required: false,
        fallback: false,
        cut: false,
        trusted: false,
    };

    /// Whether a pool of so many members can work.
    pub(super) fn check(&self, members: usize) -> Result<(), SettingsError> {
        let cycles = 1..=Self::MOST_CYCLES;
        let (most, Fall { count, of }) = (Self::MOST_CYCLES, self.fall);
        if self.interval.is_zero() {
            Err(SettingsError::Interval)
        } else if members == 0 || members > usize::from(Pool::MOST) {
            Err(SettingsError::Members { most: Pool::MOST })
        } else if !cycles.contains(&self.rise) {
            Err(SettingsError::Rise { most })
        } else if !cycles.contains(&count) || !cycles.contains(&of) || count > of {
            Err(SettingsError::Fall { most })
        } else if usize::from(self.min_members) > members {
            Err(SettingsError::MinMembers { members: members as u8 })
        } else if self.busy.is_some_and(|busy| busy.from > 100 || busy.until > busy.from) {
            Err(SettingsError::Busy)
        } else {
            Ok(())
        }
    }
}

/// Why settings can never work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// A zero interval.
    Interval,
    /// No members, or more than this.
    Members {
        /// The most.
        most: u8,
    },
    /// `rise` is not 1 to this.
    Rise {
        /// The most.
        most: u8,
    },
    /// `fall` is not 1 to this, or more than the cycles it is counted among.
    Fall {
        /// The most.
        most: u8,
    },
    /// More members are to stay in than there are.
    MinMembers {
        /// How many there are.
        members: u8,
    },
    /// Loads above 100 %, or an end above the beginning.
    Busy,
}

impl SettingsError {
    /// The key it is about.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Members { .. } => "member",
            Self::Rise { .. } => "rise",
            Self::Fall { .. } => "fall",
            Self::MinMembers { .. } => "min_members",
            Self::Busy => "busy",
        }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interval => f.write_str("must not be zero"),
            Self::Members { most } => write!(f, "1 to {most} members make a pool"),
            Self::Rise { most } => write!(f, "must be 1 to {most}"),
            Self::Fall { most } => write!(f, "must be 1 to {most}, and `count` at most `of`"),
            Self::MinMembers { members } => write!(f, "there are only {members}"),
            Self::Busy => f.write_str("at most 100%, and `until` at most `from`"),
        }
    }
}
