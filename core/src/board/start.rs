//! How a board begins: with what it remembers, and nothing pulled.

use crate::failure::Failure;
use crate::history::History;
use crate::time::Instant;

use super::ask::Disarms;
use super::durable::Durable;
use super::event::{Action, Actions};
use super::note::{Counters, Note};
use super::settings::Settings;
use super::stage::{Stage, Then};
use super::words::{Second, State};
use super::{Board, HOLD_OFF, MOST_RESETS};

/// Why the board has just started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Together with the host, or nobody can tell: a host that has not spoken is not reset.
    PowerUp,
    /// The board alone was reset, by its own watchdog or its reset button.
    BoardReset,
}

impl Board {
    /// A board that has just started, with the record its store has kept, if any. `now` is the
    /// powered time: not before [`Durable::powered`].
    ///
    /// A pulse that was intended, and whose end nobody saw, counts and is not repeated; the host
    /// has its grace. A guarded host is guarded on after a reset of the board alone, by a new
    /// grace. Nothing is pulled for [`HOLD_OFF`].
    pub fn start(record: Option<Durable>, start: Start, now: Instant) -> (Self, Actions) {
        let mut board = Self::blank(record.as_ref().unwrap_or(&Durable::NEW), now);
        board.begin(start);
        let actions = board.actions.clone();
        (board, actions)
    }

    /// The first half of [`Board::start`], for a caller who has a place for the machine and little
    /// stack: with `record`, and nothing done yet. [`Board::begin`] is the other half.
    #[must_use]
    pub fn blank(record: &Durable, now: Instant) -> Self {
        let now = now.max(record.powered);
        let blank = [Instant::from_millis(0); MOST_RESETS];
        let mut board = Self {
            record: *record,
            history: History::new([Failure::BLANK; 2], blank, []),
            stage: Stage::Waiting,
            jumper: false,
            host_power: true,
            link: true,
            not_before: now.after(HOLD_OFF),
            booting: false,
            up_after: None,
            confirmed_after: None,
            fed: None,
            next_grace: None,
            fence_until: None,
            disarms: Disarms::new(),
            counters: Counters::default(),
            latest: now,
            saved: now,
            dirty: false,
            unsaved: false,
            actions: Actions::new(),
        };
        if !record.settings.are_possible() {
            board.record.settings = Settings::DEFAULT; // no store of ours keeps such a record
        }
        board
    }

    /// The other half of [`Board::start`], once, before any event.
    pub fn begin(&mut self, start: Start) {
        let (now, boot_grace) = (self.latest, self.record.settings.boot_grace);
        for at in self.record.resets.iter() {
            self.history.add_restart(at);
        }
        let distance = |from: Instant| from.after(Settings::MOST_PULSE).after(boot_grace);
        if let Some(newest) = &self.record.newest {
            self.not_before = self.not_before.max(distance(newest.at));
        }
        let unproven = self.record.unproven();
        self.booting = unproven.is_some();
        if unproven.is_some() {
            // Nobody knows when it ended: just now, at the latest.
            self.not_before = self.not_before.max(distance(now));
        } else if start == Start::BoardReset {
            self.not_before = self.not_before.max(now.after(boot_grace));
        }
        let guarded = self.record.guarding && start == Start::BoardReset;
        let then = match self.record.held {
            Some(why) => Then::Held(why),
            None if unproven.is_some() || guarded => {
                Then::Grace(self.not_before.max(now.after(boot_grace)))
            }
            None => Then::Waiting,
        };
        self.stage = Stage::Cold { until: now.after(HOLD_OFF), then };
        self.dirty = unproven.is_some() || self.record.guarding != self.stage.is_guarding();
        self.record.intent = false;
        self.note(Note::Started { power_up: start == Start::PowerUp });
        if let Some(ticket) = unproven {
            self.note(Note::Unproven { ticket });
        }
        // A supply that was to be cycled has had its cycle.
        let second = self.record.settings.second;
        if self.record.held.is_some() && !matches!(second, Second::None | Second::Cycle) {
            self.push(Action::Second(true));
        }
        self.finish(State::Cold);
    }
}
