//! The board's machine: the same engine on one more service, the host.
//!
//! A feed that does not come is a failed probe of the host, a pulse of the reset line its
//! restart, and giveover the second line; [`crate::verdict::decide`] says which. One entrance,
//! [`Board::handle`], takes an event and the powered time and returns a short list of actions;
//! [`Board::poll_timeout`] says when it wants [`Event::Timeout`]. What is due is done before the
//! event that comes with it, so that no input delays a pulse.
//!
//! What must outlive a loss of power is one record, [`Durable`]; whenever it changes there is an
//! [`Action::Store`]. The intent of a pulse is durable before the line moves.

mod ask;
mod durable;
mod event;
mod guard;
mod layout;
mod note;
mod settings;
mod stage;
mod start;
mod words;

use crate::failure::Failure;
use crate::history::History;
use crate::time::{Instant, Span};

pub use durable::{Durable, DurableError, Newest, Resets};
pub use event::{Action, Actions, Event, Request};
pub use layout::Layout;
pub use note::{Counters, Entry, LastReset, Log, Note, Report};
pub use settings::{Settings, SettingsError};
pub use start::Start;
pub use words::{End, Light, Refusal, Second, State, Verdict, Why};

use ask::Disarms;
use stage::Stage;

/// After any start nothing is pulled for this long (L4).
pub const HOLD_OFF: Span = Span::from_secs(2);
/// Powered time is saved this often while a reset counts (L5).
pub const SAVE_EVERY: Span = Span::from_secs(600);

/// A pulse's intent is given to the store this often, [`STORE_AGAIN`] apart, before a reset is
/// found to be impossible.
const STORE_TRIES: u8 = 3;
const STORE_AGAIN: Span = Span::from_secs(1);

const MOST_RESETS: usize = Settings::MOST_RESETS as usize;

/// The machine of one board.
// In this order because a Cortex-M0 reaches 32 bytes, 32 half words and 32 words by one instruction.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Board {
    jumper: bool,
    host_power: bool,
    link: bool,
    /// No feed yet since the newest reset.
    booting: bool,
    /// Something in the record has changed.
    dirty: bool,
    /// The store did not take the newest record.
    unsaved: bool,
    stage: Stage,
    latest: Instant,
    /// No pulse before.
    not_before: Instant,
    /// When the last feed was taken.
    fed: Option<Instant>,
    /// When the newest record was made.
    saved: Instant,
    /// From the newest reset to the first feed, and to the confirmed boot.
    up_after: Option<u32>,
    confirmed_after: Option<u32>,
    /// How long the next grace lasts, if the host has said.
    next_grace: Option<Span>,
    /// When the peer that is fenced is let go.
    fence_until: Option<Instant>,
    /// What is durable; `powered`, `guarding`, `held` and `resets` are filled in when asked for.
    record: Durable,
    counters: Counters,
    /// A board paces by the distance between pulses, and notes no starts.
    history: History<[Failure; 2], [Instant; MOST_RESETS], [Instant; 0]>,
    disarms: Disarms,
    /// What the event under way leads to.
    actions: Actions,
}

impl Board {
    /// Takes in what happened at `now`, in powered time, and says what to do about it.
    ///
    /// Time that goes backwards is held at the latest seen, and counted.
    pub fn handle(&mut self, event: Event, now: Instant) -> Actions {
        self.tell(event, now);
        self.actions.clone()
    }

    /// The same for a small stack: [`Board::actions`] says what to do, until the next event.
    #[inline(never)]
    pub fn tell(&mut self, event: Event, now: Instant) {
        self.actions.clear();
        self.clamp(now);
        let before = self.stage.state();
        self.on_due();
        match event {
            Event::Timeout => {}
            Event::Feed { fresh, right, verdict: _ } => {
                self.on_feed(fresh, right);
            }
            Event::Host(request) => self.on_request(request),
            Event::Stored { number, ok } => self.on_stored(number, ok),
            Event::LineRefused { ticket } => self.on_line_refused(ticket),
            Event::Jumper(set) => self.on_jumper(set),
            Event::HostPower(on) => self.on_host_power(on),
            Event::Link(up) => self.on_link(up),
            Event::Differs { service } => {
                self.on_bad(Why::Shadow { service });
            }
        }
        self.finish(before);
    }

    /// When [`Event::Timeout`] is wanted; `None` while only other events can move the machine.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        earlier(earlier(self.stage.deadline(), self.save_at()), self.fence_until)
    }

    /// What the last event, or the start, leads to, in order.
    pub const fn actions(&self) -> &Actions {
        &self.actions
    }

    /// Where the board stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.stage.state()
    }

    /// What the light says; `keyed` is whether the board has a key.
    #[must_use]
    pub const fn light(&self, keyed: bool) -> Light {
        match self.stage.state() {
            State::Held => Light::Steady,
            State::Pulsing => Light::On,
            State::Disarmed => Light::ThreeFlashes,
            _ if !keyed || !self.link => Light::FourFlashes,
            State::Warned => Light::Fast,
            State::Grace => Light::Slow,
            State::Armed => Light::OneFlash,
            State::Cold | State::Waiting => Light::TwoFlashes,
        }
    }

    /// The settings in force.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.record.settings
    }

    /// What was counted since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The latest time an event was fed with.
    #[must_use]
    pub const fn latest(&self) -> Instant {
        self.latest
    }

    /// When the line may be pulsed again.
    #[must_use]
    pub const fn not_before(&self) -> Instant {
        self.not_before
    }

    /// Resets that count, as of the last event: inside the window, or not proven good since.
    #[must_use]
    pub const fn resets(&self) -> u16 {
        self.history.restarts()
    }

    /// What must outlive a loss of power, as it is now.
    #[must_use]
    pub fn durable(&self) -> Durable {
        Durable {
            powered: self.latest,
            guarding: self.stage.is_guarding(),
            held: self.stage.held(),
            resets: Resets::of(self.history.restart_times()),
            ..self.record
        }
    }

    /// The same as bytes and without a copy, for a small stack. Returns its number.
    pub fn encode_record(&mut self, bytes: &mut [u8; Durable::BYTES]) -> u32 {
        self.record.powered = self.latest;
        self.record.guarding = self.stage.is_guarding();
        self.record.held = self.stage.held();
        self.record.resets.set(self.history.restart_times());
        self.record.encode_into(bytes);
        self.record.number
    }

    /// How it stands at `now`, for the host's screen.
    #[must_use]
    #[inline(never)]
    pub fn report(&self, now: Instant) -> Report {
        let now = now.max(self.latest);
        let ms = |ms: u64| u32::try_from(ms).unwrap_or(u32::MAX);
        Report {
            state: self.stage.state(),
            armed: self.record.armed,
            jumper: self.jumper,
            host_power: self.host_power,
            store_ok: !self.unsaved,
            left_ms: self.stage.deadline().map(|due| ms(due.since(now))),
            fed_ago_ms: self.fed.map(|fed| ms(now.since(fed))),
            failure_sum: self.history.failure_sum(),
            resets: self.history.restarts() as u8,
            resets_ever: self.record.ever,
            held: self.stage.held(),
            last: self.record.newest.map(|newest| LastReset {
                why: newest.why,
                ago_ms: ms(now.since(newest.at)),
                up_after_ms: self.up_after,
                confirmed_after_ms: self.confirmed_after,
            }),
        }
    }

    /// What every event ends with: the change of state is noted, and what changed is stored.
    #[inline(never)]
    fn finish(&mut self, before: State) {
        if self.stage.state() != before {
            self.note(Note::State(self.stage.state()));
        }
        if self.dirty {
            self.dirty = false;
            self.saved = self.latest;
            self.record.number = self.record.number.wrapping_add(1);
            if let Stage::Intent { number, .. } = &mut self.stage {
                *number = self.record.number;
            }
            self.push(Action::Store);
        }
    }

    #[inline(never)]
    fn enter(&mut self, stage: Stage) {
        let durably = |stage: &Stage| (stage.is_guarding(), stage.held());
        self.dirty |= durably(&self.stage) != durably(&stage);
        self.stage = stage;
    }

    /// Powered time is worth saving while a reset is to age by it, and what the store refused is
    /// tried again.
    fn save_at(&self) -> Option<Instant> {
        let wanted = self.unsaved || self.history.restarts() > 0;
        if wanted { Some(self.saved.after(SAVE_EVERY)) } else { None }
    }

    fn age(&mut self) {
        self.history.age_proven(
            self.latest,
            self.record.settings.retry_interval,
            self.record.proven,
        );
    }

    fn clamp(&mut self, now: Instant) {
        if now < self.latest {
            bump(&mut self.counters.clock_went_back);
        } else {
            self.latest = now;
        }
    }

    /// So long from now on.
    #[inline(never)]
    fn after(&self, span: Span) -> Instant {
        self.latest.after(span)
    }

    fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    #[inline(never)]
    fn note(&mut self, note: Note) {
        self.actions.push(Action::Note(note));
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn bump(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// Milliseconds from `earlier` to `later` as a counter holds them.
fn between(earlier: Instant, later: Instant) -> u32 {
    u32::try_from(later.since(earlier)).unwrap_or(u32::MAX)
}
