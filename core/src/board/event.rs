//! What the board's machine is told, and what it asks for.

use crate::time::Span;

use super::note::Note;
use super::settings::Settings;
use super::words::{End, Refusal, Verdict, Why};

/// What happened. Frames of the host come here only once they are known to be authentic and new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Time has passed; spurious and early ones change nothing.
    Timeout,
    /// The host lives.
    Feed {
        /// It is the first of its connection: never too early.
        fresh: bool,
        /// It answered the newest challenge.
        right: bool,
        /// What the host thinks of its services; changes nothing.
        verdict: Verdict,
    },
    /// The host wants something; leads to exactly one [`Action::Answer`].
    Host(Request),
    /// The record of [`Action::Store`] is in the durable store, or could not be put there.
    Stored {
        /// Its [`super::Durable::number`].
        number: u32,
        /// Whether it is there.
        ok: bool,
    },
    /// The reset line did not take the pulse; it was released all the time.
    LineRefused {
        /// From [`Action::Pulse`].
        ticket: u32,
    },
    /// The jumper was set, or taken out; told once at the start.
    Jumper(bool),
    /// The host's supply came, or went for good. A board that cannot see it tells nothing.
    HostPower(bool),
    /// The port to the host came, or went. A wire that cannot tell says nothing.
    Link(bool),
    /// The shadow of a service has differed from the host's monitor for two cycles (L10).
    Differs {
        /// The service's number.
        service: u8,
    },
}

/// What a host wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Be guarded from the next feed on; ends a disarm.
    Arm,
    /// Be left alone for a time: at most 15 minutes in any 60.
    Disarm(Span),
    /// The grace under way, or the next one, lasts this long: at most an hour.
    Grace(Span),
    /// The host is about to stop feeding.
    End(End),
    /// Other settings; the answer is preceded by [`Action::Echo`].
    Configure(Settings),
    /// The host has booted well.
    Confirm,
    /// Reset it, within the budget.
    Reset(Why),
    /// Forget all resets; lets go of a held line.
    Clear,
    /// Fence the peer that the second line is wired to: on for as long as a cycled supply is off. Once
    /// it is done the line is on.
    Fence,
}

/// What the driver is to do, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Put [`super::Board::durable`], as it is now, into the durable store, and tell
    /// [`Event::Stored`].
    Store,
    /// Hold the reset line for `width`. The intent is durable.
    Pulse {
        /// Its number; none is used twice.
        ticket: u32,
        /// How long.
        width: Span,
    },
    /// Release the reset line, whoever did so already.
    Release,
    /// The second line on, or off.
    Second(bool),
    /// Tell the host the settings in force.
    Echo,
    /// Tell the host that it was done, or why not.
    Answer(Option<Refusal>),
    /// Write it down.
    Note(Note),
}

/// The actions of one event, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Actions(heapless::Vec<Action, { Actions::MAX }>);

impl Actions {
    /// No event leads to more.
    pub const MAX: usize = 10;

    pub(super) const fn new() -> Self {
        Self(heapless::Vec::new())
    }

    #[inline(never)]
    pub(super) fn push(&mut self, action: Action) {
        let pushed = self.0.push(action);
        debug_assert!(pushed.is_ok(), "more than {} actions", Self::MAX);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The actions.
    #[must_use]
    pub fn as_slice(&self) -> &[Action] {
        &self.0
    }
}

impl IntoIterator for Actions {
    type Item = Action;
    type IntoIter = <heapless::Vec<Action, { Actions::MAX }> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Actions {
    type Item = &'a Action;
    type IntoIter = core::slice::Iter<'a, Action>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
