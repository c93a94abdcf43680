//! The board that resets this host.

use serde::{Deserialize, Serialize};

/// The board that resets this host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BoardDoc {
    /// `giveover`, `linux` or `stick`.
    pub kind: String,
    /// Its serial port, or the kernel's name of it.
    pub port: String,
    /// It guards this host.
    pub armed: bool,
    /// `armed`, or what keeps it from that: `waiting`, `disarmed`, `jumper`, `line_held`,
    /// `grace`, `wrong_key`, `port_absent`, …
    pub state: String,
    /// The same for people.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
    /// Since when; RFC 3339, UTC.
    pub since: Option<String>,
    /// The board's name and number, and its firmware.
    pub board: Option<String>,
    /// Its number.
    pub device: Option<String>,
    /// Its firmware's version.
    pub firmware: Option<String>,
    /// The image it runs, as a hash of it.
    pub image: Option<String>,
    /// Our key's number.
    pub key: Option<String>,
    /// How long the board has been running.
    pub up_ms: Option<u64>,
    /// Silence that is a failure.
    pub timeout_ms: u64,
    /// How long ago it took a feed.
    pub fed_ago_ms: Option<u64>,
    /// Feeds it took since its start.
    pub feeds: u32,
    /// The longest time between two.
    pub longest_gap_ms: u64,
    /// Feeds past 60 % of the time-out.
    pub near_misses: u32,
    /// How long its state lasts by itself.
    pub left_ms: Option<u64>,
    /// Resets that count.
    pub resets: u8,
    /// Allowed resets.
    pub retry_count: u8,
    /// Their window.
    pub retry_interval_ms: u64,
    /// Resets ever.
    pub resets_ever: u32,
    /// The last one.
    pub last_reset: Option<BoardResetDoc>,
    /// The reset line is held.
    pub reset_held: bool,
    /// What it reads; null where no pin is wired to tell.
    pub reset_high: Option<bool>,
    /// What the second line is for.
    pub second: String,
    /// It is on.
    pub second_on: bool,
    /// What its pin reads; null where it cannot be read.
    pub second_reads: Option<bool>,
    /// The jumper is set.
    pub jumper: bool,
    /// The host has power, as far as the board sees.
    pub host_power: bool,
    /// The settings in force there are ours.
    pub settings_echoed: bool,
    /// The line.
    pub link: BoardLinkDoc,
    /// How often its own watchdog bit.
    pub bites: u32,
    /// Its store takes records.
    pub store_ok: bool,
    /// Records in it.
    pub store_used: u16,
    /// And how many there can be.
    pub store_size: u16,
    /// It started together with the host.
    pub power_up: bool,
    /// The time-out that was asked of hardware that chooses; null for a board of ours.
    pub wanted_ms: Option<u64>,
    /// How long before the end the kernel warns itself, if it does.
    pub pretimeout_ms: Option<u64>,
    /// It stops when nobody has it open, so that a daemon that is killed is not noticed.
    pub stops_when_closed: bool,
    /// The last start of this host was its doing; null where it cannot tell.
    pub has_reset: Option<bool>,
    /// Bytes on its port that were no answer.
    pub noise: u32,
    /// Services whose monitors the board runs too.
    pub shadows: Vec<BoardShadowDoc>,
}

/// A service whose monitor the board runs too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardShadowDoc {
    /// Its name.
    pub service: String,
    /// `compared`, that it waits, or why there is none.
    pub state: String,
    /// Cycles that were compared since it began.
    pub compared: u64,
}

/// A reset by the board.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardResetDoc {
    /// RFC 3339, UTC.
    pub at: String,
    /// `silence`, `bad_feeds`, `no_boot`, `giveover`, `stop_failed`, `test`.
    pub why: String,
    /// The same for people.
    pub cause: String,
    /// From it to the first feed.
    pub up_after_ms: Option<u64>,
    /// From it to the confirmed boot.
    pub confirmed_after_ms: Option<u64>,
}

/// What was seen of the line, by both ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardLinkDoc {
    /// Frames that were whole.
    pub frames: u32,
    /// Pieces that were no frame.
    pub bad: u32,
    /// Frames seen before.
    pub replayed: u32,
    /// Frames that were not authentic.
    pub refused: u32,
    /// Frames of an unknown kind.
    pub unknown: u32,
    /// From a feed to its answer.
    pub round_trip_ms: Option<u64>,
}

/// An entry of the board's own log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardEntryDoc {
    /// Its number; what is missing was lost.
    pub number: u32,
    /// When, in the board's powered time.
    pub powered_ms: u64,
    /// What.
    pub text: String,
}
