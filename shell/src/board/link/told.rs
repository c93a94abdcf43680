//! What a board has told, and what stands between it and us.

use std::collections::VecDeque;
use std::fmt;

use giveover_core::board::{Counters, Entry, Refusal, Report, Settings, State};
use giveover_core::time::Instant;
use giveover_core::wire::{About, KeyId, Lines, LinkCounters, VERSION};

/// So many log entries of the board are kept for people.
pub const MOST_ENTRIES: usize = 256;

/// What is known of the board. Nothing of it proves that it still holds.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Its device's number, once it has proven itself.
    pub device: Option<u64>,
    /// What board it is.
    pub about: Option<About>,
    /// Which image it runs, if its firmware tells.
    pub image: Option<u64>,
    /// How it stood, and when it said so.
    pub report: Option<(Report, Instant)>,
    /// What was seen on its pins then.
    pub lines: Lines,
    /// The settings in force there: its echo.
    pub settings: Option<Settings>,
    /// What it has counted, itself and on the line.
    pub counters: Option<(Counters, LinkCounters)>,
    /// From a feed to its answer, in ms.
    pub round_trip_ms: Option<u64>,
    /// When the last feed was taken.
    pub fed: Option<Instant>,
    /// Its log, oldest first.
    pub entries: VecDeque<Entry>,
    /// Log entries the board has lost for want of room.
    pub lost: u32,
}

impl Told {
    /// Whether it guarded this host, or a boot of it, when it was last heard.
    #[must_use]
    pub fn was_guarding(&self) -> bool {
        self.report.as_ref().is_some_and(|(report, _)| {
            matches!(report.state, State::Armed | State::Warned | State::Grace)
        })
    }

    pub(super) fn add(&mut self, entry: Entry) {
        if self.entries.len() == MOST_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }
}

/// Why a board that may be there does not guard this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody answers.
    NoAnswer,
    /// Bytes come, but no frame: a boot log, a modem's dialogue, another speed.
    Chatter,
    /// The board has no key.
    NoKey,
    /// It has another key than ours.
    OtherKey {
        /// Ours.
        ours: KeyId,
        /// The board's.
        theirs: Option<KeyId>,
    },
    /// It names our key, but what it says is not authentic.
    NotAuthentic,
    /// It speaks another version.
    Version(u8),
    /// An authentic board, but not the one that was here before.
    OtherDevice {
        /// The one before.
        before: u64,
        /// This one.
        now: u64,
    },
    /// It refuses our settings.
    SettingsRefused(Refusal),
    /// Its echo is not what we sent.
    EchoDiffers,
    /// It refuses to be armed.
    ArmRefused(Refusal),
}

impl Trouble {
    /// Its word in `--json`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::Chatter => "chatter",
            Self::NoKey => "no_key",
            Self::OtherKey { .. } => "wrong_key",
            Self::NotAuthentic => "not_authentic",
            Self::Version(_) => "version",
            Self::OtherDevice { .. } => "other_board",
            Self::SettingsRefused(_) => "settings_refused",
            Self::EchoDiffers => "echo_differs",
            Self::ArmRefused(_) => "arm_refused",
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::NoAnswer => "is it powered, flashed, and wired to this port?",
            Self::Chatter => {
                "something else speaks there: a console, a modem manager, a bootloader"
            }
            Self::NoKey => "giveover board pair, gives it our key",
            Self::OtherKey { .. } | Self::NotAuthentic => {
                "giveover board pair, with the jumper set at power-up, gives it our key"
            }
            Self::Version(_) => "flash the firmware of this version",
            Self::OtherDevice { .. } => "giveover board pair accepts it in the place of the other",
            Self::SettingsRefused(Refusal::NoWayOut) => {
                "nowayout ends by the jumper alone: set it, or write nowayout = true"
            }
            Self::SettingsRefused(_) => "board.timeout and the others must suit its firmware",
            Self::EchoDiffers => "its firmware is broken: flash it again",
            Self::ArmRefused(_) => "giveover board status says how it stands",
        }
    }
}

/// A device's number as people read it.
#[must_use]
pub fn device(number: u64) -> String {
    let text = format!("{number:016X}");
    let parts: Vec<&str> = (0..4).filter_map(|part| text.get(part * 4..part * 4 + 4)).collect();
    parts.join("-")
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer => f.write_str("no answer"),
            Self::Chatter => f.write_str("bytes that are no frames"),
            Self::NoKey => f.write_str("the board has no key"),
            Self::OtherKey { ours, theirs: Some(theirs) } => {
                write!(f, "key refused (ours {ours}, board's {theirs})")
            }
            Self::OtherKey { ours, theirs: None } => {
                write!(f, "key refused (ours {ours}, the board has none)")
            }
            Self::NotAuthentic => f.write_str("what it says is not authentic"),
            Self::Version(version) => {
                write!(f, "it speaks version {version} of the wire, this is version {VERSION}")
            }
            Self::OtherDevice { before, now } => {
                write!(f, "another board: {} in the place of {}", device(*now), device(*before))
            }
            Self::SettingsRefused(refusal) => {
                write!(f, "it refuses the settings: {}", refusal.word())
            }
            Self::EchoDiffers => f.write_str("its settings are not those that were sent"),
            Self::ArmRefused(refusal) => write!(f, "it refuses to be armed: {}", refusal.word()),
        }
    }
}
