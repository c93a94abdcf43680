//! Guarding: feeds, silence, the pulse and its intent, giveover.

use crate::defect;
use crate::failure::{Cause, Phase};
use crate::time::{Instant, Span};
use crate::verdict::{Verdict as Decision, decide};
use crate::weight::Weight;

use super::durable::Newest;
use super::event::Action;
use super::note::Note;
use super::settings::Settings;
use super::stage::{Stage, Then};
use super::words::{Second, Why};
use super::{Board, STORE_AGAIN, STORE_TRIES, between, bump};

/// A supply that is cycled stays off this long: long enough for every capacitor.
pub(super) const CYCLE: Span = Span::from_secs(10);

/// Deadlines that can follow each other without time between: hold-off, grace or warning, expiry.
const DUE_AT_ONCE: u8 = 4;

impl Board {
    /// Does what is due at `now`.
    pub(super) fn on_due(&mut self) {
        for _ in 0..DUE_AT_ONCE {
            match self.stage.deadline() {
                Some(due) if self.latest >= due => self.step(),
                _ => break,
            }
        }
        if self.fence_until.is_some_and(|until| self.latest >= until) {
            self.fence_until = None;
            self.push(Action::Second(false));
        }
        if self.save_at().is_some_and(|save| self.latest >= save) {
            self.age();
            self.dirty = true;
        }
    }

    /// The deadline of the stage has come.
    #[inline(never)]
    fn step(&mut self) {
        match self.stage {
            Stage::Waiting => {}
            Stage::Cold { then, .. } => self.enter(match then {
                Then::Waiting => Stage::Waiting,
                Then::Grace(until) => Stage::Grace { since: self.latest, until },
                Then::Held(why) => Stage::Held { why, second_off: None },
            }),
            Stage::Armed { fed, expires, .. } => {
                self.enter(Stage::Warned { fed, expires, why: Why::Silence });
            }
            Stage::Warned { why, .. } => self.fail(why, Weight::COMPLETE),
            Stage::Grace { .. } => self.fail(Why::NoBoot, Weight::COMPLETE),
            Stage::Intent { why, tries, number, .. } => {
                self.store_intent_again(why, tries, number);
            }
            Stage::Pulsing { .. } => {
                if !defect::is(28) {
                    self.push(Action::Release); // 28: the line is never let go
                }
                self.note(Note::Done { ticket: self.record.ever });
                self.end_pulse();
            }
            Stage::Held { why, .. } => {
                self.push(Action::Second(false));
                self.enter(Stage::Held { why, second_off: None });
            }
            Stage::Disarmed { .. } => self.guard(),
        }
    }

    #[inline(never)]
    pub(super) fn on_feed(&mut self, fresh: bool, right: bool) {
        let early = !fresh && self.fed.is_some_and(|fed| self.latest.since(fed) < self.early_ms());
        if !right || early {
            self.on_bad_feed(right);
            return;
        }
        bump(&mut self.counters.feeds);
        self.fed = Some(self.latest);
        match self.stage {
            Stage::Armed { fed, .. } | Stage::Warned { fed, .. } => {
                let gap = between(fed, self.latest);
                self.counters.longest_gap_ms = self.counters.longest_gap_ms.max(gap);
                if matches!(self.stage, Stage::Warned { why: Why::Silence, .. }) {
                    bump(&mut self.counters.near_misses);
                    self.note(Note::NearMiss(gap));
                }
                self.guard();
            }
            // In the hold-off too: the distance keeps the line released until it is over.
            Stage::Waiting | Stage::Cold { then: Then::Waiting, .. } if self.record.armed => {
                self.guard();
            }
            Stage::Grace { .. } | Stage::Cold { then: Then::Grace(_), .. } => {
                self.note_up();
                self.guard();
            }
            // Unarmed, disarmed, held or under way to a pulse: the host is heard, and nothing
            // follows from it.
            Stage::Cold { .. }
            | Stage::Waiting
            | Stage::Intent { .. }
            | Stage::Pulsing { .. }
            | Stage::Held { .. }
            | Stage::Disarmed { .. } => {}
        }
    }

    #[inline(never)]
    fn on_bad_feed(&mut self, right: bool) {
        let (counter, note) = if right {
            (&mut self.counters.early, Note::Early)
        } else {
            (&mut self.counters.wrong, Note::Wrong)
        };
        bump(counter);
        if matches!(self.stage, Stage::Armed { .. } | Stage::Warned { .. }) {
            self.note(note);
        }
        self.on_bad(Why::BadFeeds);
    }

    /// Half a failure: only a host that is guarded and has spoken can have one.
    #[inline(never)]
    pub(super) fn on_bad(&mut self, why: Why) {
        if matches!(self.stage, Stage::Armed { .. } | Stage::Warned { .. }) {
            self.fail(why, Weight::HALF);
        }
    }

    #[inline(never)]
    pub(super) fn on_stored(&mut self, number: u32, ok: bool) {
        if number != self.record.number {
            return; // late: a newer record is on its way
        }
        self.unsaved = !ok;
        if !ok {
            self.saved = self.latest;
            bump(&mut self.counters.store_failures);
            self.note(Note::StoreFailed);
        }
        if let Stage::Intent { number: wanted, .. } = self.stage {
            if ok && wanted == number {
                self.begin_pulse();
            }
        }
    }

    #[inline(never)]
    pub(super) fn on_line_refused(&mut self, ticket: u32) {
        if ticket == self.record.ever && matches!(self.stage, Stage::Pulsing { .. }) {
            self.note(Note::LineRefused { ticket });
            self.end_pulse();
        }
    }

    #[inline(never)]
    pub(super) fn on_link(&mut self, up: bool) {
        if self.link == up {
            return;
        }
        self.link = up;
        self.note(Note::Link(up));
        // A port that comes back gives one time-out more, and no more than a lost one has.
        match self.stage {
            Stage::Armed { fed, .. } | Stage::Warned { fed, .. } => {
                let lost = fed.after(self.record.settings.link_timeout);
                let silence =
                    if up { lost.min(self.after(self.record.settings.timeout)) } else { lost };
                self.guard_until(fed, silence);
            }
            _ => {} // nothing else waits for a feed that a port could bring
        }
    }

    /// Guards from `now` on, as if fed.
    #[inline(never)]
    pub(super) fn guard(&mut self) {
        let silence = if self.link {
            self.record.settings.timeout
        } else {
            self.record.settings.link_timeout
        };
        self.guard_until(self.latest, self.after(silence));
    }

    /// Guards a host last fed at `fed`; silence until `silence` is a failure, but no pulse comes
    /// before the distance to the last one is kept.
    #[inline(never)]
    pub(super) fn guard_until(&mut self, fed: Instant, silence: Instant) {
        let allowed = u32::try_from(silence.since(fed)).unwrap_or(u32::MAX);
        // 60 % of it, rounded down, in 32 bits: three of each five, and of those left over half.
        let warns = Span::from_millis(allowed / 5 * 3 + allowed % 5 / 2);
        let (warns, expires) = (fed.after(warns), silence.max(self.not_before));
        let stage = if warns > self.latest {
            Stage::Armed { fed, warns, expires }
        } else {
            let expires = expires.max(self.latest.after(Span::from_millis(1)));
            Stage::Warned { fed, expires, why: Why::Silence }
        };
        self.enter(stage);
    }

    /// A failure, whole or in part.
    #[inline(never)]
    pub(super) fn fail(&mut self, why: Why, weight: Weight) {
        self.age();
        self.history.add_failure(self.latest, weight, Cause::new(Phase::Silence, 0));
        match self.decision() {
            Decision::Nothing => {}
            Decision::Restart if self.latest < self.not_before => {
                // Decided once the distance is kept; a good feed before calls it off.
                let fed = self.fed.unwrap_or(self.latest);
                self.enter(Stage::Warned { fed, expires: self.not_before, why });
            }
            Decision::Restart => self.intend(why),
            _ => self.give_over(why),
        }
    }

    /// What the history calls for.
    pub(super) fn decision(&self) -> Decision {
        decide(&self.record.settings.known_policy(), &self.history)
    }

    /// A pulse is decided: it is charged, and written down before the line moves.
    #[inline(never)]
    pub(super) fn intend(&mut self, why: Why) {
        self.history.spend_failures();
        self.history.add_restart(self.latest);
        self.record.ever = self.record.ever.wrapping_add(1);
        self.record.newest = Some(Newest { at: self.latest, why });
        self.booting = true;
        self.up_after = None;
        self.confirmed_after = None;
        self.record.intent = true;
        self.dirty = true;
        self.note(Note::Intent { ticket: self.record.ever, why });
        self.enter(Stage::Intent { why, number: 0, tries: 1, again: self.after(STORE_AGAIN) });
        if defect::is(26) {
            self.begin_pulse(); // the line moves before the intent is durable
        }
    }

    /// The store has failed or not answered: again, or no reset is possible.
    #[inline(never)]
    fn store_intent_again(&mut self, why: Why, tries: u8, number: u32) {
        if tries < STORE_TRIES {
            let (tries, again) = (tries.saturating_add(1), self.after(STORE_AGAIN));
            self.enter(Stage::Intent { why, number, tries, again });
            self.dirty = true;
        } else {
            self.give_over(why);
        }
    }

    #[inline(never)]
    fn begin_pulse(&mut self) {
        // The distance is kept between edges, not between intents.
        self.history.take_back_restart();
        if !defect::is(27) {
            self.history.add_restart(self.latest); // 27: a pulse is not charged
        }
        if let Some(newest) = &mut self.record.newest {
            newest.at = self.latest;
        }
        self.not_before = self.after(Settings::MOST_PULSE).after(self.record.settings.boot_grace);
        self.push(Action::Pulse { ticket: self.record.ever, width: self.record.settings.pulse });
        self.enter(Stage::Pulsing { until: self.after(self.record.settings.pulse) });
    }

    /// The line is released: the host has time to boot, or nobody guards it by the jumper.
    fn end_pulse(&mut self) {
        self.record.intent = false;
        self.dirty = true;
        // A loop that was stuck came late to the end, and that must not shorten the distance.
        self.not_before = self.not_before.max(self.after(self.record.settings.boot_grace));
        if self.jumper {
            self.enter(Stage::Disarmed { until: None });
        } else {
            self.boot();
        }
    }

    /// The host has time to boot.
    pub(super) fn boot(&mut self) {
        let grace = self.next_grace.take().unwrap_or(self.record.settings.boot_grace);
        let until = self.after(grace.max(self.record.settings.boot_grace)).max(self.not_before);
        self.enter(Stage::Grace { since: self.latest, until });
    }

    #[inline(never)]
    fn give_over(&mut self, why: Why) {
        self.history.spend_failures();
        self.record.intent = false;
        let second = self.record.settings.second;
        self.note(Note::GivenOver { why, second });
        if second != Second::None {
            self.fence_until = None; // it is this host's own from now on
            self.push(Action::Second(true));
        }
        let second_off = if second == Second::Cycle { Some(self.after(CYCLE)) } else { None };
        self.enter(Stage::Held { why, second_off });
    }

    /// The first feed after a reset of ours.
    #[inline(never)]
    fn note_up(&mut self) {
        if let (Some(newest), true) = (self.record.newest, self.booting) {
            self.up_after = Some(between(newest.at, self.latest));
        }
        self.booting = false;
    }

    /// A feed sooner after the last than this is too early: half of what L1 sends.
    fn early_ms(&self) -> u64 {
        u64::from(self.record.settings.timeout.as_millis() / 8)
    }
}
