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
    /// The monitor that is about to be fed, as it was before.
    before: Option<BoxedMonitor>,
    /// What the laws are tried on.
    copy: Option<BoxedMonitor>,
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
        Self { services: vec![Seen::default(); services], before: None, copy: None }
    }

    /// Keeps what is about to be fed as it is.
    pub(super) fn keep(&mut self, monitor: &BoxedMonitor) {
        copied(&mut self.before, monitor);
    }

    /// Looks at one step of the monitor that was kept.
    pub(super) fn look(
        &mut self,
        place: usize,
        event: &Event,
        actions: &Actions,
        after: &BoxedMonitor,
        at: Instant,
    ) -> Judged {
        let Some(seen) = self.services.get_mut(place) else { return Ok(()) };
        let Some(before) = &self.before else { return Ok(()) };
        let at = at.max(before.latest());
        let step = Step { before, event: *event, actions, after, at, tally: tally(after, at) };
        let judged = laws(&step, &mut self.copy).and_then(|()| seen.judge(&step));
        seen.last = Some((*after.standing(), step.tally));
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

/// A copy, in the storage of the last one.
fn copied<'c>(copy: &'c mut Option<BoxedMonitor>, of: &BoxedMonitor) -> &'c mut BoxedMonitor {
    if let Some(copy) = copy {
        copy.clone_from(of);
    }
    copy.get_or_insert_with(|| of.clone())
}

/// Laws 1, 2, 3 and 9, on a copy. One that is found to be as it was is as good as another.
fn laws(step: &Step<'_>, copy: &mut Option<BoxedMonitor>) -> Judged {
    let due = step.after.poll_timeout();
    let waits = due.is_none_or(|due| due > step.at);
    let served = step.before.poll_timeout().is_some_and(|due| due <= step.at);
    if step.event == Event::Timeout && served {
        that(waits, || "law 1: a deadline is stale".to_owned())?;
    }
    let same = |monitor: &BoxedMonitor| {
        monitor.standing() == step.after.standing() && tally(monitor, step.at) == step.tally
    };
    let mut twin = copied(copy, step.after);
    let early = twin.handle(Event::Timeout, step.at);
    let waiting = twin.waiting_for();
    if waits {
        that(early.as_slice().is_empty() && same(twin), || {
            "law 2: an early timer leads to something".to_owned()
        })?;
    }
    let answer = matches!(
        step.event,
        Event::Probed { .. } | Event::RestartDone { .. } | Event::GiveoverDone { .. }
    );
    let repeated =
        matches!(step.event, Event::GiveoverDone { outcome: GiveoverOutcome::Granted, .. });
    if answer && !repeated {
        if !waits {
            twin = copied(copy, step.after);
        }
        let late = twin.handle(step.event, step.at);
        that(late.as_slice().is_empty() && same(twin), || {
            "law 3: the same answer a second time leads to something".to_owned()
        })?;
    }
    if !waits {
        twin = copied(copy, step.after);
    }
    let earlier = Instant::from_millis(step.at.as_millis().saturating_sub(7_000));
    let held = twin.handle(Event::Timeout, earlier);
    that(held == early && twin.waiting_for() == waiting, || {
        "law 9: time that goes back is not held".to_owned()
    })
}

impl Seen {
    fn judge(&mut self, step: &Step<'_>) -> Judged {
        Self::accounting(step)?;
        Self::counted(step)?;
        self.answers(step)?;
        Self::forbidden(step)?;
        Self::told(step)?;
        self.budget(step)?;
        self.starts(step)?;
        self.gone(step)
    }
}
