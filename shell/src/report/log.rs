//! The daemon's log: a line per edge, to journald, to standard error or to syslog.
//!
//! Nothing here blocks: a log that cannot take a line loses it, and the loss is counted and said
//! once there is room again.

mod journald;
mod line;
mod sink;
mod syslog;

pub use journald::datagram;
pub use line::text_line;
pub use syslog::syslog_line;

use super::model::EventDoc;
use super::paint::Paint;
use crate::message::{Debug, Event, host};
use sink::Sink;

/// Where log lines go, and how much of the debugging.
#[derive(Debug)]
pub struct Log {
    sink: Sink,
    debug: Debug,
    dropped: u64,
    /// Of those dropped, how many nobody has been told of.
    unsaid: u32,
}

impl Log {
    /// The log this process was given: journald if standard error is its stream, else standard
    /// error, else (nowhere to be seen) syslog.
    #[must_use]
    pub fn choose(paint: Paint, debug: Debug) -> Self {
        Self { sink: Sink::choose(paint), debug, dropped: 0, unsaid: 0 }
    }

    /// Changes how much debugging is written, while running.
    pub fn set_debug(&mut self, debug: Debug) {
        self.debug = debug;
    }

    /// How much debugging is written.
    #[must_use]
    pub const fn debug(&self) -> Debug {
        self.debug
    }

    /// How many lines were lost since the start.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether `event` would be written: lets the caller leave out making its text.
    #[must_use]
    pub fn wants(&self, event: Event) -> bool {
        event.needs_debug() <= self.debug
    }

    /// Writes one line; `unit` is the service's unit of systemd, so that the unit's own log shows
    /// why it was restarted. Returns whether it was taken.
    pub fn write(&mut self, event: &EventDoc, unit: Option<&str>) -> bool {
        if !Event::from_word(&event.event).is_none_or(|event| self.wants(event)) {
            return true;
        }
        let taken = self.sink.write(event, unit);
        if taken {
            self.say_what_was_lost(&event.at);
        } else {
            self.dropped += 1;
            self.unsaid = self.unsaid.saturating_add(1);
        }
        taken
    }

    fn say_what_was_lost(&mut self, at: &str) {
        if self.unsaid == 0 {
            return;
        }
        let text = host::log_lost(self.unsaid);
        let event = EventDoc { at: at.into(), ..EventDoc::new(Event::LogLost, "", text) };
        if self.sink.write(&event, None) {
            self.unsaid = 0;
        }
    }
}
