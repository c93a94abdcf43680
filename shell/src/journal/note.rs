//! What a journal says besides the machines' own entries: the shell's notes.

use std::sync::Arc;

use giveover_core::arbiter::Node;
use giveover_core::monitor::Ticket;
use giveover_core::time::Instant;
use serde::{Deserialize, Serialize};

use crate::clock::{BootId, Clock};

/// One note of the shell's.
///
/// Variants, and fields at the end of one, are only ever added behind the others, and
/// [`super::VERSION`] is raised with each: an older version then knows that it cannot read the
/// file. Texts are cut to [`Note::LONGEST_TEXT`] bytes when written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Note {
    /// A run of the daemon begins.
    Run(Run),
    /// It ends because it was told to; everything is written.
    Ended,
    /// The wall clock was set, the machine slept, or both drifted apart.
    Wall {
        /// What it showed, in milliseconds since 1970.
        wall_ms: u64,
    },
    /// What the machine of this number is called.
    Named {
        /// The number in the entries.
        machine: u32,
        /// The service.
        name: Arc<str>,
    },
    /// The service is no longer configured; its machine is gone.
    Gone {
        /// The number.
        machine: u32,
    },
    /// A person holds a service; the machine's own entry says that it is held.
    Held {
        /// The number.
        machine: u32,
        /// By whom and for how long. Ends with the machine's release.
        hold: Hold,
    },
    /// A person asked for something.
    Asked {
        /// The service, if it was about one.
        machine: Option<u32>,
        /// What, in the word of the command line.
        verb: Box<str>,
        /// Who.
        who: Box<str>,
        /// Why; may be empty.
        why: Box<str>,
    },
    /// The service's main process is this one. Ends with its death or stop.
    Process {
        /// The number.
        machine: u32,
        /// Which.
        process: Process,
    },
    /// How far a restart or giveover has come; written before the step is taken. Ends with its
    /// answer.
    Stage {
        /// The number.
        machine: u32,
        /// The ticket of the restart or giveover.
        ticket: Ticket,
        /// The step.
        stage: Stage,
    },
    /// An action was charged to a budget of the host.
    Charged {
        /// Which.
        budget: HostBudget,
    },
    /// A monitor gave the service over (for the guard against ping-pong).
    GaveOver {
        /// The number.
        machine: u32,
        /// The node it left.
        from: Node,
    },
    /// A person forgot who gave the service over.
    ForgotGiveovers {
        /// The number.
        machine: u32,
    },
    /// A line as people were told it.
    Text {
        /// The service, if it was about one.
        machine: Option<u32>,
        /// The event's name in the catalogue.
        event: Box<str>,
        /// What follows the service's name.
        text: Box<str>,
    },
    /// Records were lost here because the disk could not be written; a snapshot followed.
    Lost {
        /// How many.
        records: u64,
    },
    /// A journal was set aside here, and what it held is lost to the histories.
    SetAside {
        /// The file it is kept in.
        file: Box<str>,
        /// Why.
        why: Box<str>,
    },
    /// How a member of a pool stands. Its name is `POOL/MEMBER`, and it has no machine of its own.
    Member {
        /// The number.
        machine: u32,
        /// All there is to know.
        member: MemberNote,
    },
    /// The restart of the service is that of its group: once it is ok again those that need it are
    /// restarted; or that has been done.
    GroupWaits {
        /// The number.
        machine: u32,
        /// They still are to be.
        waits: bool,
    },
}

impl Note {
    /// The longest text kept, in bytes.
    pub const LONGEST_TEXT: usize = 1000;

    /// The same note with its texts cut to what is kept.
    pub(super) fn trim(mut self) -> Self {
        match &mut self {
            Self::Run(run) => cut(&mut run.version),
            Self::Named { name, .. } => cut(name),
            Self::Held { hold, .. } => {
                cut(&mut hold.who);
                cut(&mut hold.why);
            }
            Self::Asked { verb, who, why, .. } => {
                cut(verb);
                cut(who);
                cut(why);
            }
            Self::Text { event, text, .. } => {
                cut(event);
                cut(text);
            }
            Self::SetAside { file, why } => {
                cut(file);
                cut(why);
            }
            Self::Ended
            | Self::Wall { .. }
            | Self::Gone { .. }
            | Self::Process { .. }
            | Self::Stage { .. }
            | Self::Charged { .. }
            | Self::GaveOver { .. }
            | Self::ForgotGiveovers { .. }
            | Self::Lost { .. }
            | Self::GroupWaits { .. } => {}
            Self::Member { member, .. } => {
                if let Some(drain) = &mut member.drain {
                    cut(&mut drain.who);
                    cut(&mut drain.why);
                }
            }
        }
        self
    }
}

fn cut<T: AsRef<str> + for<'a> From<&'a str>>(text: &mut T) {
    let whole = text.as_ref();
    if whole.len() > Note::LONGEST_TEXT {
        let end = (0..=Note::LONGEST_TEXT).rev().find(|end| whole.is_char_boundary(*end));
        *text = whole.get(..end.unwrap_or(0)).unwrap_or_default().into();
    }
}

/// A run of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Our version.
    pub version: Box<str>,
    /// Our process.
    pub pid: u32,
    /// The boot it ran in.
    pub boot: Option<BootId>,
    /// What the time line adds to CLOCK_MONOTONIC, in milliseconds.
    pub offset_ms: i64,
    /// The wall clock at its begin, in milliseconds since 1970.
    pub wall_ms: u64,
}

impl Run {
    /// This process, under this clock.
    #[must_use]
    pub fn this(clock: &Clock, boot: Option<BootId>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            boot,
            offset_ms: clock.offset_ms(),
            wall_ms: clock.anchor().wall_ms,
        }
    }
}

/// A person's hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Who.
    pub who: Box<str>,
    /// Why; may be empty.
    pub why: Box<str>,
    /// When it ends by itself; `None` only where that was spelled out.
    pub until: Option<Instant>,
}

/// How a member of a pool stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberNote {
    /// Its checks or its agent keep it out.
    pub out: bool,
    /// A person drains it.
    pub drain: Option<Hold>,
    /// When its connections are cut, if before the end of the drain.
    pub cut_at: Option<Instant>,
}

/// A process that cannot be mistaken for another: numbers come back, start times do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_time: u64,
    /// The boot it belongs to.
    pub boot: Option<BootId>,
}

/// How far a restart or a giveover has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stage {
    /// The service is being stopped.
    Stopping,
    /// It is proven stopped.
    Stopped,
    /// The start method is about to be run; until a process is noted nobody knows its number.
    Starting,
    /// The giveover command is about to be run: from here on the other side may have it.
    CommandStarted,
}

/// The budgets of the host as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum HostBudget {
    /// Restarts and giveovers (R16).
    Actions,
    /// Resets of the node (R20).
    Resets,
}
