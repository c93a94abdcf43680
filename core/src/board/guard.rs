//! Guarding: feeds, silence, the pulse and its intent, giveover.

use crate::failure::{Cause, Phase};
use crate::time::{Instant, Span};
use crate::verdict::{Verdict as Decision, decide};
use crate::weight::Weight;

use super::durable::Newest;
use super::event::{Action, Actions};
use super::note::Note;
use super::settings::Settings;
use super::stage::{Stage, Then};
use super::words::{Second, Why};
use super::{Board, STORE_AGAIN, STORE_TRIES, between, bump};

/// A supply that is cycled stays off this long: long enough for every capacitor.
const CYCLE: Span = Span::from_secs(10);

/// Deadlines that can follow each other without time between: hold-off, grace or warning, expiry.
const DUE_AT_ONCE: u8 = 4;

impl Board {
    /// Does what is due at `now`.
    pub(super) fn on_due(&mut self, now: Instant, actions: &mut Actions) {
        for _ in 0..DUE_AT_ONCE {
            match self.stage.deadline() {
                Some(due) if now >= due => self.step(now, actions),
                _ => break,
            }
        }
        if self.save_at().is_some_and(|save| now >= save) {
            self.age(now);
            self.dirty = true;
        }
    }

    /// The deadline of the stage has come.
    fn step(&mut self, now: Instant, actions: &mut Actions) {
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
            Stage::Warned { why, .. } => self.fail(why, Weight::COMPLETE, now, actions),
            Stage::Grace { .. } => self.fail(Why::NoBoot, Weight::COMPLETE, now, actions),
            Stage::Intent { why, tries, number, .. } => {
                self.store_intent_again(why, tries, number, now, actions);
            }
            Stage::Pulsing { .. } => {
                actions.push(Action::Release);
                actions.push(Action::Note(Note::Done { ticket: self.record.ever }));
                self.end_pulse(now);
            }
            Stage::Held { why, .. } => {
                actions.push(Action::Second(false));
                self.enter(Stage::Held { why, second_off: None });
            }
            Stage::Disarmed { .. } => self.guard(now),
        }
    }

    pub(super) fn on_feed(
        &mut self,
        fresh: bool,
        right: bool,
        now: Instant,
        actions: &mut Actions,
    ) {
        let early = !fresh && self.fed.is_some_and(|fed| now.since(fed) < self.early_ms());
        if !right || early {
            self.on_bad_feed(right, now, actions);
            return;
        }
        bump(&mut self.counters.feeds);
        self.fed = Some(now);
        match self.stage {
            Stage::Armed { fed, .. } | Stage::Warned { fed, .. } => {
                let gap = between(fed, now);
                self.counters.longest_gap_ms = self.counters.longest_gap_ms.max(gap);
                if matches!(self.stage, Stage::Warned { why: Why::Silence, .. }) {
                    bump(&mut self.counters.near_misses);
                    actions.push(Action::Note(Note::NearMiss(gap)));
                }
                self.guard(now);
            }
            // In the hold-off too: the distance keeps the line released until it is over.
            Stage::Waiting | Stage::Cold { then: Then::Waiting, .. } if self.record.armed => {
                self.guard(now);
            }
            Stage::Grace { .. } | Stage::Cold { then: Then::Grace(_), .. } => {
                self.note_up(now);
                self.guard(now);
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

    fn on_bad_feed(&mut self, right: bool, now: Instant, actions: &mut Actions) {
        let (counter, note) = if right {
            (&mut self.counters.early, Note::Early)
        } else {
            (&mut self.counters.wrong, Note::Wrong)
        };
        bump(counter);
        if matches!(self.stage, Stage::Armed { .. } | Stage::Warned { .. }) {
            actions.push(Action::Note(note));
        }
        self.on_bad(Why::BadFeeds, now, actions);
    }

    /// Half a failure: only a host that is guarded and has spoken can have one.
    pub(super) fn on_bad(&mut self, why: Why, now: Instant, actions: &mut Actions) {
        if matches!(self.stage, Stage::Armed { .. } | Stage::Warned { .. }) {
            self.fail(why, Weight::HALF, now, actions);
        }
    }

    pub(super) fn on_stored(&mut self, number: u32, ok: bool, now: Instant, actions: &mut Actions) {
        if number != self.record.number {
            return; // late: a newer record is on its way
        }
        self.unsaved = !ok;
        if !ok {
            self.saved = now;
            bump(&mut self.counters.store_failures);
            actions.push(Action::Note(Note::StoreFailed));
        }
        if let Stage::Intent { number: wanted, .. } = self.stage {
            if ok && wanted == number {
                self.begin_pulse(now, actions);
            }
        }
    }

    pub(super) fn on_line_refused(&mut self, ticket: u32, now: Instant, actions: &mut Actions) {
        if ticket == self.record.ever && matches!(self.stage, Stage::Pulsing { .. }) {
            actions.push(Action::Note(Note::LineRefused { ticket }));
            self.end_pulse(now);
        }
    }

    pub(super) fn on_link(&mut self, up: bool, now: Instant, actions: &mut Actions) {
        if self.link == up {
            return;
        }
        self.link = up;
        actions.push(Action::Note(Note::Link(up)));
        // A port that comes back gives one time-out more, and no more than a lost one has.
        match self.stage {
            Stage::Armed { fed, .. } | Stage::Warned { fed, .. } => {
                let lost = fed.after(self.record.settings.link_timeout);
                let silence =
                    if up { lost.min(now.after(self.record.settings.timeout)) } else { lost };
                self.guard_until(fed, silence);
            }
            _ => {} // nothing else waits for a feed that a port could bring
        }
    }

    /// Guards from `now` on, as if fed.
    pub(super) fn guard(&mut self, now: Instant) {
        let silence = if self.link {
            self.record.settings.timeout
        } else {
            self.record.settings.link_timeout
        };
        self.guard_until(now, now.after(silence));
    }

    /// Guards a host last fed at `fed`; silence until `silence` is a failure, but no pulse comes
    /// before the distance to the last one is kept.
    pub(super) fn guard_until(&mut self, fed: Instant, silence: Instant) {
        let allowed = u32::try_from(silence.since(fed)).unwrap_or(u32::MAX);
        // 60 % of it, rounded down, without a division: 0x9999_999A is 0.6 of 2^32.
        let warns = Span::from_millis(((u64::from(allowed) * 0x9999_999A) >> 32) as u32);
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
    pub(super) fn fail(&mut self, why: Why, weight: Weight, now: Instant, actions: &mut Actions) {
        self.age(now);
        self.history.add_failure(now, weight, Cause::new(Phase::Silence, 0));
        match self.decision() {
            Decision::Nothing => {}
            Decision::Restart if now < self.not_before => {
                // Decided once the distance is kept; a good feed before calls it off.
                let fed = self.fed.unwrap_or(now);
                self.enter(Stage::Warned { fed, expires: self.not_before, why });
            }
            Decision::Restart => self.intend(why, now, actions),
            _ => self.give_over(why, now, actions),
        }
    }

    /// What the history calls for.
    pub(super) fn decision(&self) -> Decision {
        decide(&self.record.settings.known_policy(), &self.history)
    }

    /// A pulse is decided: it is charged, and written down before the line moves.
    pub(super) fn intend(&mut self, why: Why, now: Instant, actions: &mut Actions) {
        self.history.spend_failures();
        self.history.add_restart(now);
        self.record.ever = self.record.ever.wrapping_add(1);
        self.record.newest = Some(Newest { at: now, why });
        self.booting = true;
        self.up_after = None;
        self.confirmed_after = None;
        self.record.intent = true;
        self.dirty = true;
        actions.push(Action::Note(Note::Intent { ticket: self.record.ever, why }));
        self.enter(Stage::Intent { why, number: 0, tries: 1, again: now.after(STORE_AGAIN) });
    }

    /// The store has failed or not answered: again, or no reset is possible.
    fn store_intent_again(
        &mut self,
        why: Why,
        tries: u8,
        number: u32,
        now: Instant,
        actions: &mut Actions,
    ) {
        if tries < STORE_TRIES {
            let (tries, again) = (tries.saturating_add(1), now.after(STORE_AGAIN));
            self.enter(Stage::Intent { why, number, tries, again });
            self.dirty = true;
        } else {
            self.give_over(why, now, actions);
        }
    }

    fn begin_pulse(&mut self, now: Instant, actions: &mut Actions) {
        // The distance is kept between edges, not between intents.
        self.history.take_back_restart();
        self.history.add_restart(now);
        if let Some(newest) = &mut self.record.newest {
            newest.at = now;
        }
        self.not_before = now.after(Settings::MOST_PULSE).after(self.record.settings.boot_grace);
        actions.push(Action::Pulse { ticket: self.record.ever, width: self.record.settings.pulse });
        self.enter(Stage::Pulsing { until: now.after(self.record.settings.pulse) });
    }

    /// The line is released: the host has time to boot, or nobody guards it by the jumper.
    fn end_pulse(&mut self, now: Instant) {
        self.record.intent = false;
        self.dirty = true;
        // A loop that was stuck came late to the end, and that must not shorten the distance.
        self.not_before = self.not_before.max(now.after(self.record.settings.boot_grace));
        if self.jumper {
            self.enter(Stage::Disarmed { until: None });
        } else {
            self.boot(now);
        }
    }

    /// The host has time to boot.
    pub(super) fn boot(&mut self, now: Instant) {
        let grace = self.next_grace.take().unwrap_or(self.record.settings.boot_grace);
        let until = now.after(grace.max(self.record.settings.boot_grace)).max(self.not_before);
        self.enter(Stage::Grace { since: now, until });
    }

    fn give_over(&mut self, why: Why, now: Instant, actions: &mut Actions) {
        self.history.spend_failures();
        self.record.intent = false;
        let second = self.record.settings.second;
        actions.push(Action::Note(Note::GivenOver { why, second }));
        if second != Second::None {
            actions.push(Action::Second(true));
        }
        let second_off = if second == Second::Cycle { Some(now.after(CYCLE)) } else { None };
        self.enter(Stage::Held { why, second_off });
    }

    /// The first feed after a reset of ours.
    fn note_up(&mut self, now: Instant) {
        if let (Some(newest), true) = (self.record.newest, self.booting) {
            self.up_after = Some(between(newest.at, now));
        }
        self.booting = false;
    }

    /// A feed sooner after the last than this is too early: half of what L1 sends.
    fn early_ms(&self) -> u64 {
        u64::from(self.record.settings.timeout.as_millis() / 8)
    }
}
