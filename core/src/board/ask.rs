//! What the host asks for, the jumper and the host's supply.

use crate::defect;
use crate::time::{Instant, Span};
use crate::verdict::Verdict as Decision;
use crate::weight::Weight;

use super::event::{Action, Request};
use super::guard::CYCLE;
use super::note::Note;
use super::settings::Settings;
use super::stage::{Stage, Then};
use super::words::{End, Refusal, Second, State, Why};
use super::{Board, between, bump};

/// The longest that a host is left alone in any [`DISARM_WINDOW`] (L7).
const DISARM_MOST: Span = Span::from_secs(15 * 60);
const DISARM_WINDOW: Span = Span::from_secs(60 * 60);
/// No announced grace is longer.
const GRACE_MOST: Span = Span::from_secs(60 * 60);

/// When the board was disarmed, as far as the last hour is concerned.
#[derive(Clone, Debug)]
pub(super) struct Disarms {
    /// From when until when, where there was one.
    made: [(Option<Instant>, Option<Instant>); 8],
    newest: u8,
}

impl Disarms {
    pub(super) const fn new() -> Self {
        Self { made: [(None, None); 8], newest: 0 }
    }

    /// Notes a disarm of `span` from `now`, which ends the one under way; false, and nothing
    /// changed, if that is too much, or one too many to remember.
    fn add(&mut self, now: Instant, span: Span) -> bool {
        let until = now.after(span);
        // Of all hours the one that ends with this disarm has most of it and of those before.
        let window = u64::from(DISARM_WINDOW.as_millis());
        let begin = Instant::from_millis(until.as_millis().saturating_sub(window));
        let mut sum = span.as_millis();
        for made in &self.made {
            if let (Some(from), Some(to)) = *made {
                // Eight of at most 15 minutes each: 32 bits are enough.
                sum = sum.wrapping_add(to.min(now).since(from.max(begin)) as u32);
            }
        }
        let next = self.newest.wrapping_add(1) & 7;
        let Some(slot) = self.made.get_mut(usize::from(next)) else { return false };
        if sum > DISARM_MOST.as_millis() || slot.1.is_some_and(|end| end > begin) {
            return false;
        }
        *slot = (Some(now), Some(until));
        self.end_at(self.newest, now);
        self.newest = next;
        true
    }

    /// The one under way ends now.
    fn end(&mut self, now: Instant) {
        self.end_at(self.newest, now);
    }

    fn end_at(&mut self, place: u8, now: Instant) {
        if let Some((_, Some(end))) = self.made.get_mut(usize::from(place & 7)) {
            *end = now.min(*end);
        }
    }
}

impl Board {
    #[inline(never)]
    pub(super) fn on_request(&mut self, request: Request) {
        let done = match request {
            Request::Arm => self.arm(),
            Request::Disarm(span) => self.disarm(span),
            Request::Grace(span) => self.grace(span),
            Request::End(end) => self.announce(end),
            Request::Configure(settings) => self.configure(&settings),
            Request::Confirm => self.confirm(),
            Request::Reset(why) => self.reset(why),
            Request::Clear => self.clear(),
            Request::Fence => self.fence(),
        };
        if let Err(refusal) = done {
            bump(&mut self.counters.refused);
            self.note(Note::Refused(refusal));
        }
        self.push(Action::Answer(done.err()));
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

    #[inline(never)]
    fn arm(&mut self) -> Result<(), Refusal> {
        self.free()?;
        if let Stage::Disarmed { until: Some(_) } = self.stage {
            self.disarms.end(self.latest);
            self.guard();
        }
        if !self.record.armed {
            self.record.armed = true;
            self.dirty = true;
            self.note(Note::Armed);
        }
        Ok(())
    }

    #[inline(never)]
    fn disarm(&mut self, span: Span) -> Result<(), Refusal> {
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
        if !self.disarms.add(self.latest, span) {
            return Err(Refusal::DisarmedTooLong);
        }
        self.note(Note::Disarmed(span.as_millis()));
        self.enter(Stage::Disarmed { until: Some(self.after(span)) });
        Ok(())
    }

    #[inline(never)]
    fn grace(&mut self, span: Span) -> Result<(), Refusal> {
        self.free()?;
        if span.is_zero() || span > GRACE_MOST {
            return Err(Refusal::OutOfRange);
        }
        if let Stage::Grace { since, until } = self.stage {
            let wanted = self.after(span);
            if wanted > since.after(GRACE_MOST) {
                return Err(Refusal::OutOfRange);
            }
            self.enter(Stage::Grace { since, until: until.max(wanted) });
        } else {
            self.next_grace = Some(span);
        }
        self.note(Note::Grace(span.as_millis()));
        Ok(())
    }

    #[inline(never)]
    fn announce(&mut self, end: End) -> Result<(), Refusal> {
        self.free()?;
        if self.record.settings.nowayout && end != End::Reboot {
            return Err(Refusal::NoWayOut);
        }
        self.note(Note::End(end));
        // Unguarded hosts stop as they like. One that was guarded when the board alone was reset is
        // not to be reset for an end it announced before the hold-off was over.
        match self.stage {
            Stage::Cold { until, then: Then::Grace(_) } if end != End::Reboot => {
                self.enter(Stage::Cold { until, then: Then::Waiting });
                return Ok(());
            }
            Stage::Cold { .. } | Stage::Waiting => return Ok(()),
            _ => {}
        }
        if matches!(self.stage, Stage::Disarmed { .. }) {
            self.disarms.end(self.latest);
        }
        match end {
            End::Stop | End::Poweroff | End::Suspend => self.enter(Stage::Waiting),
            // A boot under way does not begin anew: announcing it again and again is no way out.
            End::Reboot if matches!(self.stage, Stage::Grace { .. }) => {}
            End::Reboot => self.boot(),
        }
        Ok(())
    }

    #[inline(never)]
    fn configure(&mut self, settings: &Settings) -> Result<(), Refusal> {
        if !settings.are_possible() {
            return Err(Refusal::OutOfRange);
        }
        if self.record.settings.nowayout && !settings.nowayout && !self.jumper {
            return Err(Refusal::NoWayOut);
        }
        if *settings != self.record.settings {
            self.record.settings = *settings;
            self.dirty = true;
            self.note(Note::Configured);
            if let Stage::Armed { fed, expires, .. } | Stage::Warned { fed, expires, .. } =
                self.stage
            {
                let silence = if self.link { settings.timeout } else { settings.link_timeout };
                // Who configures lives, and has fed by the time-out before: a shorter one begins
                // now, and ends no later than the one before would have.
                let until = fed.after(silence).max(expires.min(self.after(silence)));
                self.guard_until(fed, until);
            }
        }
        self.push(Action::Echo);
        Ok(())
    }

    #[inline(never)]
    fn confirm(&mut self) -> Result<(), Refusal> {
        self.free()?;
        if !matches!(self.stage, Stage::Armed { .. } | Stage::Warned { .. }) {
            return Err(Refusal::NotArmed);
        }
        let Some(newest) = self.record.newest else { return Ok(()) };
        if self.record.proven.is_none_or(|proven| newest.at >= proven) {
            self.record.proven = Some(self.latest);
            self.confirmed_after = Some(between(newest.at, self.latest));
            self.dirty = true;
            self.note(Note::Confirmed);
        }
        Ok(())
    }

    #[inline(never)]
    fn reset(&mut self, why: Why) -> Result<(), Refusal> {
        self.free()?;
        if !why.can_be_asked() {
            return Err(Refusal::OutOfRange);
        }
        if !matches!(self.stage, Stage::Armed { .. } | Stage::Warned { .. }) {
            return Err(Refusal::NotArmed);
        }
        if self.latest < self.not_before {
            return Err(Refusal::TooSoon);
        }
        self.age();
        let cause = crate::failure::Cause::new(crate::failure::Phase::Reported, 0);
        self.history.add_failure(self.latest, Weight::COMPLETE, cause);
        if self.decision() == Decision::Restart {
            self.intend(why);
            return Ok(());
        }
        // A host that can ask lives: it is refused, not given up.
        self.history.spend_failures();
        Err(Refusal::BudgetSpent)
    }

    #[inline(never)]
    fn clear(&mut self) -> Result<(), Refusal> {
        if self.stage.state() == State::Pulsing {
            return Err(Refusal::TooSoon);
        }
        self.history.clear();
        self.dirty = true;
        self.note(Note::Cleared);
        self.let_go(Stage::Waiting);
        Ok(())
    }

    /// Whatever the second line is wired to is off, or in reset, for so long that it begins anew. Asked
    /// again while it is, it lasts longer.
    #[inline(never)]
    fn fence(&mut self) -> Result<(), Refusal> {
        if self.jumper {
            return Err(Refusal::Jumper);
        }
        if self.record.settings.second != Second::None {
            return Err(Refusal::SecondTaken);
        }
        self.fence_until = Some(self.after(CYCLE));
        self.push(Action::Second(true));
        Ok(())
    }

    /// Leaves a held line, or its cold beginning, for `stage`; elsewhere nothing.
    #[inline(never)]
    fn let_go(&mut self, stage: Stage) {
        if self.stage.held().is_none() {
            return;
        }
        if self.fence_until.is_none() {
            self.push(Action::Second(false));
        }
        let stage = match self.stage {
            Stage::Cold { until, .. } if stage == Stage::Waiting => {
                Stage::Cold { until, then: Then::Waiting }
            }
            _ => stage,
        };
        self.enter(stage);
    }

    #[inline(never)]
    pub(super) fn on_jumper(&mut self, set: bool) {
        if self.jumper == set {
            return;
        }
        self.jumper = set;
        self.note(Note::Jumper(set));
        match (set, self.stage) {
            // A pulse is never cut short; the jumper holds from its end on.
            (_, Stage::Pulsing { .. }) => {}
            _ if defect::is(29) => {} // a jumper that means nothing
            (true, Stage::Held { .. } | Stage::Cold { then: Then::Held(_), .. }) => {
                self.let_go(Stage::Disarmed { until: None });
            }
            (true, _) => {
                self.disarms.end(self.latest);
                self.drop_intent();
                self.enter(Stage::Disarmed { until: None });
            }
            (false, _) => self.enter(Stage::Waiting),
        }
    }

    #[inline(never)]
    pub(super) fn on_host_power(&mut self, on: bool) {
        if self.host_power == on {
            return;
        }
        self.host_power = on;
        self.note(Note::HostPower(on));
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
    #[inline(never)]
    fn drop_intent(&mut self) {
        if self.record.intent {
            self.record.intent = false;
            self.dirty = true;
        }
    }
}
