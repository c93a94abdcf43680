//! The machine's states with what each needs, its deadline first of all.

use crate::time::Instant;

use super::words::{State, Why};

/// What follows the hold-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Waiting,
    /// Until when the host has time to boot.
    Grace(Instant),
    Held(Why),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Cold {
        until: Instant,
        then: Then,
    },
    Waiting,
    Armed {
        /// The last feed, or when guarding began again without one.
        fed: Instant,
        warns: Instant,
        expires: Instant,
    },
    Warned {
        fed: Instant,
        expires: Instant,
        /// What it will have been.
        why: Why,
    },
    /// The intent is on its way into the store.
    Intent {
        why: Why,
        /// The record it is in.
        number: u32,
        tries: u8,
        again: Instant,
    },
    Pulsing {
        until: Instant,
    },
    Grace {
        since: Instant,
        until: Instant,
    },
    Held {
        why: Why,
        /// When a cycled supply comes back.
        second_off: Option<Instant>,
    },
    Disarmed {
        /// By the jumper if `None`.
        until: Option<Instant>,
    },
}

impl Stage {
    pub(super) const fn state(&self) -> State {
        match self {
            Self::Cold { .. } => State::Cold,
            Self::Waiting => State::Waiting,
            Self::Armed { .. } => State::Armed,
            Self::Warned { .. } => State::Warned,
            Self::Intent { .. } | Self::Pulsing { .. } => State::Pulsing,
            Self::Grace { .. } => State::Grace,
            Self::Held { .. } => State::Held,
            Self::Disarmed { .. } => State::Disarmed,
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match *self {
            Self::Waiting => None,
            Self::Cold { until, .. } | Self::Pulsing { until } | Self::Grace { until, .. } => {
                Some(until)
            }
            Self::Armed { warns, .. } => Some(warns),
            Self::Warned { expires, .. } => Some(expires),
            Self::Intent { again, .. } => Some(again),
            Self::Held { second_off, .. } => second_off,
            Self::Disarmed { until } => until,
        }
    }

    /// Whether a reset of the board alone must not end the guard.
    pub(super) const fn is_guarding(&self) -> bool {
        match self {
            Self::Cold { then, .. } => matches!(then, Then::Grace(_)),
            Self::Waiting | Self::Held { .. } | Self::Disarmed { until: None } => false,
            Self::Armed { .. }
            | Self::Warned { .. }
            | Self::Intent { .. }
            | Self::Pulsing { .. }
            | Self::Grace { .. }
            | Self::Disarmed { until: Some(_) } => true,
        }
    }

    pub(super) const fn held(&self) -> Option<Why> {
        match *self {
            Self::Held { why, .. } | Self::Cold { then: Then::Held(why), .. } => Some(why),
            _ => None,
        }
    }
}
