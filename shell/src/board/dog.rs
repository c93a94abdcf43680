//! Hardware that resets this host unless it is fed, and knows nothing else: a watchdog of the
//! kernel's, or a USB stick of one byte a command.
//!
//! It has a time-out, and neither a memory nor a budget nor a key: what it may be asked for is
//! charged by the host alone. [`Dog`] is all that the daemon sees of it.

pub mod device;
mod linux;
mod stick;
mod trouble;

use giveover_core::board::End;
use giveover_core::time::{Instant, Span};

use super::serial::Serial;

pub use linux::Linux;
pub use stick::Stick;
pub use trouble::Trouble;

/// What a dog is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Silence of this host that it resets it for. Whole seconds; a stick knows whole tens.
    pub timeout: Span,
    /// So long before the end the kernel warns itself, if it shall.
    pub pretimeout: Option<Span>,
    /// How long an announced boot may take.
    pub boot_grace: Span,
    /// It is not stopped when the daemon ends.
    pub nowayout: bool,
}

/// How one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is not open: nothing of ours feeds it.
    Closed,
    /// It is open, and has not said yet that it counts as we want.
    Opening,
    /// It counts, and resets this host unless it is fed.
    Guarding(Guard),
    /// It was told to reset this host, and is fed no more.
    Resetting,
}

/// What it says that it does. This is its own answer, not what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The time-out in force.
    pub timeout: Span,
    /// The warning before it, where there is one.
    pub pretimeout: Option<Span>,
    /// It stops when nobody has it open: a daemon that is killed is not noticed.
    pub stops_when_closed: bool,
}

/// How it was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It counts no more.
    Stopped,
    /// It resets this host after this time unless somebody feeds it.
    Counting(Span),
    /// It was not open.
    Closed,
}

/// What can be told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// What it calls itself.
    pub identity: Option<String>,
    /// Whether the last start of this host was its doing; `None` where it cannot tell.
    pub has_reset: Option<bool>,
    /// Answers that made no sense, and bytes nobody asked for.
    pub noise: u32,
    /// How many feeds went out on this opening.
    pub feeds: u32,
}

/// One of them. After an error it is closed, and may be opened again.
pub trait Dog: Send {
    /// Opens it and starts it with these terms, as far as that can be done at once.
    ///
    /// # Errors
    /// [`Trouble`]; it is closed, and stopped where it could be.
    fn open(&mut self, terms: &Terms, now: Instant) -> Result<(), Trouble>;

    /// Other terms for one that is open. It is fed by it, and never stops in between.
    ///
    /// # Errors
    /// As above.
    fn retime(&mut self, terms: &Terms, now: Instant) -> Result<(), Trouble>;

    /// How it stands.
    fn standing(&self) -> Standing;

    /// Says that the host lives.
    ///
    /// # Errors
    /// It is gone.
    fn feed(&mut self, now: Instant) -> Result<(), Trouble>;

    /// When [`Dog::due`] is wanted.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does what is due.
    ///
    /// # Errors
    /// It does not answer.
    fn due(&mut self, _now: Instant) -> Result<(), Trouble> {
        Ok(())
    }

    /// Its port has something, or room.
    ///
    /// # Errors
    /// The port is gone.
    fn ready(&mut self, _now: Instant) -> Result<(), Trouble> {
        Ok(())
    }

    /// The port it is on, for those that wait for its answers.
    fn port(&mut self) -> Option<&mut Serial> {
        None
    }

    /// Resets this host now, or as soon as it can.
    ///
    /// # Errors
    /// It cannot.
    fn reset(&mut self) -> Result<(), Trouble>;

    /// Leaves it because this end was announced, and closes it.
    fn end(&mut self, end: End) -> Left;

    /// What can be told of it.
    fn about(&self) -> About;
}
