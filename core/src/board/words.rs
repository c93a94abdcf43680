//! The board's vocabulary: its states, what it is asked, why it acts and why it refuses.

use crate::failure::Cause;

/// A fieldless enum with its number on the wire and in durable records. Numbers are only added.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$line:meta])* $variant:ident = $number:literal $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr(u8)]
        pub enum $name { $($(#[$line])* $variant = $number,)* }

        impl $name {
            /// All of them, in order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The one of this number; `None` where there is none.
            #[must_use]
            pub const fn of(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its number.
            #[must_use]
            pub const fn number(self) -> u8 {
                self as u8
            }

            /// The word on screens.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

numbered! {
    /// Where the board stands.
    State {
        /// Just started: nothing is pulled for the hold-off.
        Cold = 0 "cold",
        /// For the first valid feed. A host that has not spoken is not reset.
        Waiting = 1 "waiting",
        /// Fed in time.
        Armed = 2 "armed",
        /// Past 60 % of the time-out: a near miss if a feed comes, a failure if none does.
        Warned = 3 "warned",
        /// The intent is being written, or the line is held.
        Pulsing = 4 "pulsing",
        /// The host has time to boot.
        Grace = 5 "grace",
        /// Given over: line released, a person is needed.
        Held = 6 "line held",
        /// Off for a time, or by the jumper.
        Disarmed = 7 "disarmed",
    }
}

numbered! {
    /// What happens to the second line when the budget is spent.
    Second {
        /// Nothing: the light alone says so.
        None = 0 "none",
        /// On, for a lamp, a horn or a modem.
        Alarm = 1 "alarm",
        /// On: the host is kept off.
        Off = 2 "off",
        /// On and released again: the host's supply is cycled once.
        Cycle = 3 "cycle",
        /// On: the node is fenced for its peer.
        Fence = 4 "fence",
    }
}

numbered! {
    /// How the host announced that it will stop feeding (L12).
    End {
        /// The daemon stops.
        Stop = 0 "stop",
        /// The machine goes off.
        Poweroff = 1 "poweroff",
        /// The machine sleeps.
        Suspend = 2 "suspend",
        /// The machine boots again: guarded meanwhile.
        Reboot = 3 "reboot",
    }
}

numbered! {
    /// What the host thinks of its services; shown, and never a reason to reset it (L1).
    Verdict {
        /// Every service is ok.
        Ok = 0 "ok",
        /// Some service is degraded.
        Degraded = 1 "degraded",
        /// Some service is faulted.
        Faulted = 2 "faulted",
        /// Not known yet.
        Unknown = 3 "unknown",
    }
}

numbered! {
    /// Why the board refuses what it was asked. Nothing has changed.
    Refusal {
        /// A value is out of range; nothing is ever cut to fit.
        OutOfRange = 1 "out of range",
        /// More than 15 minutes in an hour.
        DisarmedTooLong = 2 "disarmed 15 minutes in this hour already",
        /// `nowayout` is set.
        NoWayOut = 3 "nowayout is set",
        /// The line is held; a clear comes first.
        Held = 4 "the line is held",
        /// The board is not armed, or the host has not fed it yet.
        NotArmed = 5 "not armed",
        /// The jumper is set.
        Jumper = 6 "the jumper is set",
        /// Too soon after the last pulse, or while one is made.
        TooSoon = 7 "too soon after the last pulse",
        /// The resets of the window are used up.
        BudgetSpent = 8 "budget spent",
        /// A key is there and the jumper is not set.
        Keyed = 9 "a key is there and the jumper is not set",
        /// This firmware cannot do that.
        Unsupported = 10 "this firmware cannot do that",
        /// The durable store does not take it.
        StoreFailed = 11 "the store failed",
        /// More shadows than the board has room for, or a service it does not shadow.
        NoShadow = 12 "no such shadow",
        /// The second line belongs to this host's own giveover, so no peer is wired to it.
        SecondTaken = 13 "the second line is this host's own",
    }
}

numbered! {
    /// What the light says, readable across a room.
    Light {
        /// Armed and fed.
        OneFlash = 0 "1 flash",
        /// Waiting for the first feed: not armed.
        TwoFlashes = 1 "2 flashes",
        /// Disarmed for a time, or by the jumper.
        ThreeFlashes = 2 "3 flashes",
        /// No key, wrong key, or link lost.
        FourFlashes = 3 "4 flashes",
        /// Warned: 5 Hz.
        Fast = 4 "fast",
        /// On while the line is held by a pulse.
        On = 5 "on",
        /// Grace: 1 Hz, half on.
        Slow = 6 "slow",
        /// The line is held for good: a person is needed.
        Steady = 7 "steady",
    }
}

/// Why the host is, or was, reset.
///
/// # Units
/// Six bytes on the wire and in durable records: a number, then the service and its cause, or
/// zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Why {
    /// No feed within the time-out.
    Silence,
    /// Feeds that came early or answered wrongly made a failure.
    BadFeeds,
    /// No feed within the grace for booting.
    NoBoot,
    /// The shadow of this service differed from the host's monitor for two cycles.
    Shadow {
        /// Its number.
        service: u8,
    },
    /// The host asked: this service gives over to the board.
    Giveover {
        /// Its number.
        service: u8,
        /// What its last failure was.
        cause: Cause,
    },
    /// The host asked: the stop method of this service failed under `hard`.
    StopFailed {
        /// Its number.
        service: u8,
        /// How.
        cause: Cause,
    },
    /// A person asked, to see that it works.
    Test,
}

impl Why {
    /// Whether a host can ask for it; the others are the board's own findings.
    #[must_use]
    pub const fn can_be_asked(self) -> bool {
        matches!(self, Self::Giveover { .. } | Self::StopFailed { .. } | Self::Test)
    }

    /// The word of `--json` and logs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Silence => "silence",
            Self::BadFeeds => "bad_feeds",
            Self::NoBoot => "no_boot",
            Self::Shadow { .. } => "shadow",
            Self::Giveover { .. } => "giveover",
            Self::StopFailed { .. } => "stop_failed",
            Self::Test => "test",
        }
    }
}
