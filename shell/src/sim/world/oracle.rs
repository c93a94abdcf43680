//! What must hold after every step, whatever went wrong before: the invariants of accounting (A), of
//! restart and giveover (B), and the laws every machine obeys. Those of the reset line (C) are looked
//! at where the line is.
//!
//! The oracle knows the rules by their words, not by the monitor's code: what it compares with is
//! counted here again.

mod answers;
mod counting;
mod forbidden;
mod restarts;
mod step;

use giveover_core::monitor::{Actions, Event, GiveoverOutcome, Reason, Standing};
use giveover_core::time::Instant;

use self::step::{Step, tally};
use crate::machine::BoxedMonitor;

pub(super) struct Oracle {
    services: Vec<Seen>,
}

/// What was seen of one service.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Restarts that count for the budget, since nothing was forgotten.
    charged: Vec<Instant>,
    last_start: Option<Instant>,
    gone: bool,
    /// When giveover was asked for, the first time for the failure under way, and why.
    asked: Option<(Instant, Reason)>,
    /// How it stood after the last event.
    last: Option<(Standing, [u16; 3])>,
}

type Judged = Result<(), String>;

fn that(holds: bool, why: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(why()) }
}

impl Oracle {
    pub(super) fn new(services: usize) -> Self {
        Self { services: vec![Seen::default(); services] }
    }

    /// Looks at one step.
    pub(super) fn look(
        &mut self,
        place: usize,
        before: &BoxedMonitor,
        event: &Event,
        actions: &Actions,
        after: &BoxedMonitor,
        at: Instant,
    ) -> Judged {
        let Some(seen) = self.services.get_mut(place) else { return Ok(()) };
        let step = Step { before, event: *event, actions, after, at: at.max(before.latest()) };
        let judged = seen.judge(&step);
        seen.last = Some((*after.standing(), tally(after, step.at)));
        judged.map_err(|why| format!("{why} ({event:?} led to {:?})", actions.as_slice()))
    }

    /// A daemon came up again: A2, what was acted on was recorded, and nothing else is known.
    pub(super) fn recovered(&mut self, place: usize, monitor: &BoxedMonitor, lost: bool) -> Judged {
        let Some(seen) = self.services.get_mut(place) else { return Ok(()) };
        let Some((standing, tallied)) = seen.last else { return Ok(()) };
        if lost {
            // what is forgotten may free budget; what is not must still hold
            seen.charged.clear();
            seen.gone = false;
            seen.last = None;
            seen.asked = None;
            seen.last_start = None; // the clock may have gone back to before it
            return Ok(());
        }
        let found = tally(monitor, monitor.latest());
        that(*monitor.standing() == standing && found == tallied, || {
            format!(
                "A2: recovered with {found:?} (sum, failures, restarts), it had {tallied:?}; {:?}",
                monitor.waiting_for()
            )
        })
    }

    /// The journal had nothing of it.
    pub(super) fn forgot(&mut self, place: usize) {
        if let Some(seen) = self.services.get_mut(place) {
            *seen = Seen::default();
        }
    }
}

impl Seen {
    fn judge(&mut self, step: &Step<'_>) -> Judged {
        self.laws(step)?;
        Self::accounting(step)?;
        Self::counted(step)?;
        self.answers(step)?;
        Self::forbidden(step)?;
        Self::told(step)?;
        self.budget(step)?;
        self.starts(step)?;
        self.gone(step)
    }

    /// Laws 1, 2, 3 and 9, on copies.
    fn laws(&self, step: &Step<'_>) -> Judged {
        let due = step.after.poll_timeout();
        let served = step.before.poll_timeout().is_some_and(|due| due <= step.at);
        if step.event == Event::Timeout && served {
            that(due.is_none_or(|due| due > step.at), || "law 1: a deadline is stale".to_owned())?;
        }
        let same = |monitor: &BoxedMonitor| {
            monitor.standing() == step.after.standing()
                && tally(monitor, step.at) == tally(step.after, step.at)
        };
        let mut now = step.after.clone();
        let early = now.handle(Event::Timeout, step.at);
        if due.is_none_or(|due| due > step.at) {
            that(early.as_slice().is_empty() && same(&now), || {
                "law 2: an early timer leads to something".to_owned()
            })?;
        }
        let mut back = step.after.clone();
        let earlier = Instant::from_millis(step.at.as_millis().saturating_sub(7_000));
        let held = back.handle(Event::Timeout, earlier);
        that(held == early && back.waiting_for() == now.waiting_for(), || {
            "law 9: time that goes back is not held".to_owned()
        })?;
        let answer = matches!(
            step.event,
            Event::Probed { .. } | Event::RestartDone { .. } | Event::GiveoverDone { .. }
        );
        let repeated =
            matches!(step.event, Event::GiveoverDone { outcome: GiveoverOutcome::Granted, .. });
        if answer && !repeated {
            let mut twin = step.after.clone();
            let late = twin.handle(step.event, step.at);
            that(late.as_slice().is_empty() && same(&twin), || {
                "law 3: the same answer a second time leads to something".to_owned()
            })?;
        }
        Ok(())
    }
}
