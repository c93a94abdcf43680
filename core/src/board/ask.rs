//! What the host asks for, the jumper and the host's supply.

use crate::time::{Instant, Span};
use crate::verdict::Verdict as Decision;
use crate::weight::Weight;

use super::event::{Action, Actions, Request};
use super::note::Note;
use super::settings::Settings;
use super::stage::{Stage, Then};
use super::words::{End, Refusal, State, Why};
use super::{Board, between, bump};

/// The longest that a host is left alone in any [`DISARM_WINDOW`] (L7).
const DISARM_MOST: Span = Span::from_secs(15 * 60);
const DISARM_WINDOW: Span = Span::from_secs(60 * 60);
/// No announced grace is longer.
const GRACE_MOST: Span = Span::from_secs(60 * 60);

/// When the board was disarmed, as far as the last hour is concerned.
#[derive(Clone, Debug)]
pub(super) struct Disarms {
    made: [(Instant, Instant); 8],
    newest: u8,
}

impl Disarms {
    pub(super) const fn new() -> Self {
        let never = Instant::from_millis(0);
        Self { made: [(never, never); 8], newest: 0 }
    }

    /// Notes a disarm of `span` from `now`, which ends the one under way; false, and nothing
    /// changed, if that is too much, or one too many to remember.
    fn add(&mut self, now: Instant, span: Span) -> bool {
        let until = now.after(span);
        // Of all hours the one that ends with this disarm has most of it and of those before.
        let window = u64::from(DISARM_WINDOW.as_millis());
        let begin = Instant::from_millis(until.as_millis().saturating_sub(window));
        let mut sum = u64::from(span.as_millis());
        for (from, to) in &self.made {
            sum = sum.saturating_add((*to).min(now).since((*from).max(begin)));
        }
        let next = self.newest.wrapping_add(1) & 7;
        let Some(slot) = self.made.get_mut(usize::from(next)) else { return false };
        if sum > u64::from(DISARM_MOST.as_millis()) || slot.1 > begin {
            return false;
        }
        *slot = (now, until);
        self.end_at(self.newest, now);
        self.newest = next;
        true
    }

    /// The one under way ends now.
    fn end(&mut self, now: Instant) {
        self.end_at(self.newest, now);
    }

    fn end_at(&mut self, place: u8, now: Instant) {
        if let Some((_, end)) = self.made.get_mut(usize::from(place & 7)) {
            *end = now.min(*end);
        }
    }
}

impl Board {
    pub(super) fn on_request(&mut self, request: Request, now: Instant, actions: &mut Actions) {
        let done = match request {
            Request::Arm => self.arm(now, actions),
            Request::Disarm(span) => self.disarm(span, now, actions),
            Request::Grace(span) => self.grace(span, now, actions),
            Request::End(end) => self.announce(end, now, actions),
            Request::Configure(settings) => self.configure(&settings, actions),
            Request::Confirm => self.confirm(now, actions),
            Request::Reset(why) => self.reset(why, now, actions),
            Request::Clear => self.clear(actions),
        };
        if let Err(refusal) = done {
            bump(&mut self.counters.refused);
            actions.push(Action::Note(Note::Refused(refusal)));
        }
        actions.push(Action::Answer(done.err()));
    }

    /// What stands in the way of most requests.
    fn free(&self) -> Result<(), Refusal> {
        match self.stage {
            _ if self.jumper => Err(Refusal::Jumper),
            Stage::Held { .. } | Stage::Cold { then: Then::Held(_), .. } => Err(Refusal::Held),
            Stage::Intent { .. } | Stage::Pulsing { .. } => Err(Refusal::TooSoon),
            _ => Ok(()),
        }
    }

    fn arm(&mut self, now: Instant, actions: &mut Actions) -> Result<(), Refusal> {
        self.free()?;
        if let Stage::Disarmed { until: Some(_) } = self.stage {
            self.disarms.end(now);
            self.guard(now);
        }
        if !self.record.armed {
            self.record.armed = true;
            self.dirty = true;
            actions.push(Action::Note(Note::Armed));
        }
        Ok(())
    }

    fn disarm(&mut self, span: Span, now: Instant, actions: &mut Actions) -> Result<(), Refusal> {
        self.free()?;
        if self.record.settings.nowayout {
            return Err(Refusal::NoWayOut);
        }
        if span.is_zero() || span > DISARM_MOST {
            return Err(Refusal::OutOfRange);
        }
        if !matches!(
            self.stage,
            Stage::Armed { .. } | Stage::Warned { .. } | Stage::Disarmed { .. }
        ) {
            return Err(Refusal::NotArmed);
        }
        if !self.disarms.add(now, span) {
            return Err(Refusal::DisarmedTooLong);
        }
        actions.push(Action::Note(Note::Disarmed(span.as_millis())));
        self.enter(Stage::Disarmed { until: Some(now.after(span)) });
        Ok(())
    }

    fn grace(&mut self, span: Span, now: Instant, actions: &mut Actions) -> Result<(), Refusal> {
        self.free()?;
        if span.is_zero() || span > GRACE_MOST {
            return Err(Refusal::OutOfRange);
        }
        if let Stage::Grace { since, until } = self.stage {
            let wanted = now.after(span);
            if wanted > since.after(GRACE_MOST) {
                return Err(Refusal::OutOfRange);
            }
            self.enter(Stage::Grace { since, until: until.max(wanted) });
        } else {
            self.next_grace = Some(span);
        }
        actions.push(Action::Note(Note::Grace(span.as_millis())));
        Ok(())
    }

    fn announce(&mut self, end: End, now: Instant, actions: &mut Actions) -> Result<(), Refusal> {
        self.free()?;
        if self.record.settings.nowayout && end != End::Reboot {
            return Err(Refusal::NoWayOut);
        }
        actions.push(Action::Note(Note::End(end)));
        // Unguarded hosts, and those of a board just started, stop as they like.
        if matches!(self.stage, Stage::Cold { .. } | Stage::Waiting) {
            return Ok(());
        }
        if matches!(self.stage, Stage::Disarmed { .. }) {
            self.disarms.end(now);
        }
        match end {
            End::Stop | End::Poweroff | End::Suspend => self.enter(Stage::Waiting),
            // A boot under way does not begin anew: announcing it again and again is no way out.
            End::Reboot if matches!(self.stage, Stage::Grace { .. }) => {}
            End::Reboot => self.boot(now),
        }
        Ok(())
    }

    fn configure(&mut self, settings: &Settings, actions: &mut Actions) -> Result<(), Refusal> {
        settings.check().map_err(|_| Refusal::OutOfRange)?;
        if self.record.settings.nowayout && !settings.nowayout && !self.jumper {
            return Err(Refusal::NoWayOut);
        }
        if *settings != self.record.settings {
            self.record.settings = *settings;
            self.dirty = true;
            actions.push(Action::Note(Note::Configured));
            if let Stage::Armed { fed, .. } | Stage::Warned { fed, .. } = self.stage {
                let silence = if self.link { settings.timeout } else { settings.link_timeout };
                self.guard_until(fed, fed.after(silence));
            }
        }
        actions.push(Action::Echo);
        Ok(())
    }

    fn confirm(&mut self, now: Instant, actions: &mut Actions) -> Result<(), Refusal> {
        self.free()?;
        if !matches!(self.stage, Stage::Armed { .. } | Stage::Warned { .. }) {
            return Err(Refusal::NotArmed);
        }
        let Some(newest) = self.record.newest else { return Ok(()) };
        if self.record.proven.is_none_or(|proven| newest.at >= proven) {
            self.record.proven = Some(now);
            self.confirmed_after = Some(between(newest.at, now));
            self.dirty = true;
            actions.push(Action::Note(Note::Confirmed));
        }
        Ok(())
    }

    fn reset(&mut self, why: Why, now: Instant, actions: &mut Actions) -> Result<(), Refusal> {
        self.free()?;
        if !why.can_be_asked() {
            return Err(Refusal::OutOfRange);
        }
        if !matches!(self.stage, Stage::Armed { .. } | Stage::Warned { .. }) {
            return Err(Refusal::NotArmed);
        }
        if now < self.not_before {
            return Err(Refusal::TooSoon);
        }
        self.age(now);
        let cause = crate::failure::Cause::new(crate::failure::Phase::Reported, 0);
        self.history.add_failure(now, Weight::COMPLETE, cause);
        if self.decision() == Decision::Restart {
            self.intend(why, now, actions);
            return Ok(());
        }
        // A host that can ask lives: it is refused, not given up.
        self.history.spend_failures();
        Err(Refusal::BudgetSpent)
    }

    fn clear(&mut self, actions: &mut Actions) -> Result<(), Refusal> {
        if self.stage.state() == State::Pulsing {
            return Err(Refusal::TooSoon);
        }
        self.history.clear();
        self.dirty = true;
        actions.push(Action::Note(Note::Cleared));
        self.let_go(Stage::Waiting, actions);
        Ok(())
    }

    /// Leaves a held line, or its cold beginning, for `stage`; elsewhere nothing.
    fn let_go(&mut self, stage: Stage, actions: &mut Actions) {
        if self.stage.held().is_none() {
            return;
        }
        actions.push(Action::Second(false));
        let stage = match self.stage {
            Stage::Cold { until, .. } if stage == Stage::Waiting => {
                Stage::Cold { until, then: Then::Waiting }
            }
            _ => stage,
        };
        self.enter(stage);
    }

    pub(super) fn on_jumper(&mut self, set: bool, now: Instant, actions: &mut Actions) {
        if self.jumper == set {
            return;
        }
        self.jumper = set;
        actions.push(Action::Note(Note::Jumper(set)));
        match (set, self.stage) {
            // A pulse is never cut short; the jumper holds from its end on.
            (_, Stage::Pulsing { .. }) => {}
            (true, Stage::Held { .. } | Stage::Cold { then: Then::Held(_), .. }) => {
                self.let_go(Stage::Disarmed { until: None }, actions);
            }
            (true, _) => {
                self.disarms.end(now);
                self.drop_intent();
                self.enter(Stage::Disarmed { until: None });
            }
            (false, _) => self.enter(Stage::Waiting),
        }
    }

    pub(super) fn on_host_power(&mut self, on: bool, actions: &mut Actions) {
        if self.host_power == on {
            return;
        }
        self.host_power = on;
        actions.push(Action::Note(Note::HostPower(on)));
        if on {
            return;
        }
        match self.stage {
            // No pulse into a host that is off, and nothing to guard.
            Stage::Armed { .. }
            | Stage::Warned { .. }
            | Stage::Grace { .. }
            | Stage::Intent { .. }
            | Stage::Disarmed { until: Some(_) } => {
                self.drop_intent();
                self.enter(Stage::Waiting);
            }
            Stage::Cold { until, then: Then::Grace(_) } => {
                self.enter(Stage::Cold { until, then: Then::Waiting });
            }
            Stage::Cold { .. }
            | Stage::Waiting
            | Stage::Pulsing { .. }
            | Stage::Held { .. }
            | Stage::Disarmed { until: None } => {}
        }
    }

    /// A pulse that will not be made stays charged: its record may be durable.
    fn drop_intent(&mut self) {
        if self.record.intent {
            self.record.intent = false;
            self.dirty = true;
        }
    }
}
