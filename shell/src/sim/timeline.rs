//! A timeline: what a service's monitor saw, decided and said, in a form that can be drawn and
//! compared. Played scenarios, worlds and journals all come to one of these.

mod calendar;
mod lanes;
mod recorder;

pub use self::calendar::Calendar;
pub use self::lanes::{Lane, Line, MemberLane, PoolLane, Stay, role_word};
pub use self::recorder::{Before, Recorder, is_decision};

use std::sync::Arc;

use giveover_core::monitor::{Holder, Status};
use giveover_core::time::{Instant, Span};

/// Everything that is drawn on one sheet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// What stands above it.
    pub title: String,
    /// Where it begins.
    pub begin: Instant,
    /// Where it ends.
    pub end: Instant,
    /// How its instants are told to people.
    pub calendar: Calendar,
    /// A track for each service.
    pub tracks: Vec<Track>,
    /// The board's lines, if there is a board.
    pub lines: Vec<Line>,
    /// The nodes, if there are any.
    pub lanes: Vec<Lane>,
    /// The pools, if there are any.
    pub pools: Vec<PoolLane>,
}

impl Timeline {
    /// Whether there is nothing to look at but a board's lines.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tracks.is_empty() && self.lanes.is_empty() && self.pools.is_empty()
    }

    /// How long it is, in milliseconds; never zero.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end.since(self.begin).max(1)
    }
}

/// What happened to one service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Its name.
    pub name: Arc<str>,
    /// Restarts its policy allows; `None` is unlimited.
    pub retry_count: Option<u16>,
    /// In which window.
    pub retry_interval: Span,
    /// What happened, in order of time.
    pub marks: Vec<Mark>,
    /// Its status from each of these instants on.
    pub statuses: Vec<(Instant, Status)>,
    /// The live sum of weights from each of these instants on.
    pub sums: Vec<(Instant, u16)>,
    /// The live number of restarts from each of these instants on.
    pub restarts: Vec<(Instant, u16)>,
    /// Where it ran, node by node, if it moves.
    pub stays: Vec<Stay>,
}

/// One thing that happened to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Instant,
    /// What.
    pub what: What,
}

/// What can happen to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A cycle was healthy.
    Healthy,
    /// A cycle found this weight; whether it counted is the sum's to say.
    Failed(u8),
    /// A cycle found what skips the restart.
    Immediate,
    /// Nothing could be measured.
    Unmeasured,
    /// We were not running.
    Void,
    /// The process ended.
    Died,
    /// A restart was decided; it may still wait for its delay.
    Decided,
    /// A restart that was decided is not made after all.
    CalledOff,
    /// A restart was begun.
    Restart {
        /// A person wanted it.
        by_person: bool,
    },
    /// It has been carried out.
    Started,
    /// Nothing runs: its start failed.
    StartFailed,
    /// The old instance is not proven gone.
    StopFailed,
    /// Validation refused it.
    Invalid,
    /// Giveover was asked for.
    Giveover,
    /// It was granted.
    Granted,
    /// It was denied.
    Denied,
    /// Not now.
    NotNow,
    /// It could not be carried out.
    Aborted,
    /// Nobody knows how it ended.
    Unproven,
    /// The request was withdrawn.
    Cancelled,
    /// A failure past the budget, and nobody to give over to.
    BudgetSpent,
    /// A failure that is only written down.
    Logged,
    /// The node is to be reset.
    Reset,
    /// Kept from acting.
    Held(Holder),
    /// Let go.
    Released(Holder),
    /// A person forgot the histories.
    Cleared,
    /// Another supervisor was faster.
    Healed,
    /// The monitor begins.
    Begun,
    /// The service was stopped on purpose.
    Stopped,
    /// The monitor ends, the service runs on.
    Ended,
}

impl What {
    /// The thing in a few words.
    #[must_use]
    pub fn words(self) -> String {
        let text = match self {
            Self::Healthy => "healthy",
            Self::Failed(weight) => return format!("probe weighs {weight}"),
            Self::Immediate => "probe skips the restart",
            Self::Unmeasured => "cannot be measured",
            Self::Void => "we were not running",
            Self::Died => "died",
            Self::Decided => "restart decided",
            Self::CalledOff => "restart called off",
            Self::Restart { by_person: false } => "restart",
            Self::Restart { by_person: true } => "restart by a person",
            Self::Started => "started",
            Self::StartFailed => "start failed",
            Self::StopFailed => "stop failed",
            Self::Invalid => "restart refused by validation",
            Self::Giveover => "giveover asked for",
            Self::Granted => "giveover granted",
            Self::Denied => "giveover denied",
            Self::NotNow => "giveover: not now",
            Self::Aborted => "giveover aborted",
            Self::Unproven => "giveover unproven",
            Self::Cancelled => "giveover withdrawn",
            Self::BudgetSpent => "budget spent",
            Self::Logged => "logged only",
            Self::Reset => "reset of the node asked for",
            Self::Held(holder) => return held_words(holder).to_owned(),
            Self::Released(holder) => return released_words(holder).to_owned(),
            Self::Cleared => "cleared",
            Self::Healed => "restarted by another supervisor",
            Self::Begun => "monitor begins",
            Self::Stopped => "stopped",
            Self::Ended => "monitor ends",
        };
        text.to_owned()
    }

    /// Whether it is the monitor's decision: what policies differ in.
    #[must_use]
    pub const fn is_decision(self) -> bool {
        matches!(
            self,
            Self::Restart { by_person: false }
                | Self::Giveover
                | Self::BudgetSpent
                | Self::Logged
                | Self::Reset
        )
    }

    /// Whether it is one of the many marks of an ordinary day.
    #[must_use]
    pub const fn is_routine(self) -> bool {
        matches!(self, Self::Healthy | Self::Void)
    }
}

const fn held_words(holder: Holder) -> &'static str {
    match holder {
        Holder::Operator => "held by a person",
        Holder::Need => "waits for what it needs",
        Holder::HostBudget => "the host's budget is spent",
        Holder::LocalFault => "local fault: probes count nothing",
        Holder::Unproven => "held: a giveover ended unproven",
    }
}

const fn released_words(holder: Holder) -> &'static str {
    match holder {
        Holder::Operator => "released by a person",
        Holder::Need => "what it needs is ok",
        Holder::HostBudget => "the host's budget has room",
        Holder::LocalFault => "local fault over",
        Holder::Unproven => "released: the giveover is settled",
    }
}

/// Adds a step where the value changes. Of several at one instant the last stands.
fn step<T: Copy + PartialEq>(steps: &mut Vec<(Instant, T)>, at: Instant, value: T) {
    match steps.last_mut() {
        Some((_, last)) if *last == value => {}
        Some((when, last)) if *when == at => *last = value,
        _ => steps.push((at, value)),
    }
}
