//! Restarts and giveovers over time (B): the budget, the waits between starts, and what is over.

use giveover_core::monitor::{Action, Event, GiveoverOutcome, Origin, RestartOutcome, Waiting};
use giveover_core::policy::Destination;
use giveover_core::time::Span;

use super::step::{Step, too_late};
use super::{Judged, Seen, that};

impl Seen {
    /// B1: no window has more restarts than the budget.
    pub(super) fn budget(&mut self, step: &Step<'_>) -> Judged {
        let denied = matches!(
            step.event,
            Event::GiveoverDone { outcome: GiveoverOutcome::Denied, ticket }
                if step.before.giveover_under_way() == Some(ticket)
        );
        let given_up = matches!(step.before.waiting_for(), Waiting::AskAgain(_))
            && step.event == Event::Timeout
            && step.giveover().is_none();
        let late = matches!(
            step.event,
            Event::GiveoverDone { outcome: GiveoverOutcome::NotNow, ticket }
                if step.before.giveover_under_way() == Some(ticket)
        ) && self.asked.is_none_or(|(first, _)| too_late(step, first));
        if let Some(reason) = step.giveover() {
            let asks_again = matches!(step.before.waiting_for(), Waiting::AskAgain(_));
            // where the disk has lost what was seen, only the monitor knows when it asked first
            let again = asks_again && self.asked.is_none_or(|(_, before)| before == reason);
            if !again {
                self.asked = Some((step.at, reason));
            }
        }
        let afresh = denied || given_up || late;
        let anew = matches!(step.event, Event::Begin { .. })
            && step.before.waiting_for() == Waiting::GivenOver;
        if afresh || anew || matches!(step.event, Event::Clear | Event::SetPolicy(_)) {
            self.charged.clear();
        }
        // charged when it is decided; what a person wants, and what comes back, is not charged
        let waited = matches!(step.before.waiting_for(), Waiting::Delay(_) | Waiting::StopAgain(_));
        let decided =
            step.delayed().is_some() || step.restart() == Some(Origin::Monitor) && !waited;
        let charged = !matches!(
            step.event,
            Event::Restart
                | Event::GiveoverDone {
                    outcome: GiveoverOutcome::Aborted { .. } | GiveoverOutcome::Unproven,
                    ..
                }
        );
        // a denial allows one restart of a dead process, whatever the budget
        if decided && charged && !afresh {
            self.charged.push(step.at);
        }
        // called off, or failed so that giveover is asked for: it leaves the budget again
        let called_off = matches!(step.before.waiting_for(), Waiting::Delay(_))
            && (step.event == Event::Restart // a person's takes its place
                || !matches!(step.after.waiting_for(), Waiting::Delay(_) | Waiting::Restart));
        let failed = matches!(step.event, Event::RestartDone { .. }) && step.giveover().is_some();
        let stop_called_off = matches!(step.before.waiting_for(), Waiting::StopAgain(_))
            && (step.event == Event::Restart
                || !matches!(step.after.waiting_for(), Waiting::StopAgain(_) | Waiting::Restart));
        let stop_failed =
            matches!(step.event, Event::RestartDone { outcome: RestartOutcome::StopFailed(_), .. });
        let held_at_once =
            stop_failed && !matches!(step.after.waiting_for(), Waiting::StopAgain(_));
        if called_off || failed || stop_called_off || held_at_once {
            self.charged.pop();
        }
        let window = step.window();
        self.charged.retain(|at| step.at.since(*at) <= window);
        let count = step.policy().limits().retry_count;
        let made = self.charged.len();
        that(count.is_none_or(|count| made <= usize::from(count)), || {
            format!("B1: {made} restarts within {} ms", step.window())
        })
    }

    /// R13: waits are kept, and two starts are a second apart.
    pub(super) fn starts(&mut self, step: &Step<'_>) -> Judged {
        if step.restart().is_some() {
            if let Some(last) = self.last_start.filter(|last| step.at.since(*last) < 1_000) {
                return Err(format!("R13: a start {} ms after another", step.at.since(last)));
            }
        }
        if let (Waiting::Delay(at), Some(_), Event::Timeout) =
            (step.before.waiting_for(), step.restart(), step.event)
        {
            that(step.at >= at, || "R13: a restart before its time".to_owned())?;
        }
        let outside = matches!(step.event, Event::Probed { .. } | Event::Died { .. });
        let begun = step.restart() == Some(Origin::Monitor);
        if outside && (begun || step.delayed().is_some()) {
            let made = step.before.history().start_times().filter(|at| step.live(*at)).count();
            let made = u16::try_from(made).unwrap_or(u16::MAX);
            let wait: Span = step.policy().limits().restart_delay.wait(made);
            let begins = step.delayed().unwrap_or(step.at);
            that(begins >= step.at.after(wait), || {
                format!("R13: restart {} waits less than {} ms", made + 1, wait.as_millis())
            })?;
        }
        let decided = begun && outside || step.delayed().is_some();
        let newer = step.after.generation() != step.before.generation();
        that(!decided || newer, || "R10: the generation stands still".to_owned())?;
        let started = match step.event {
            Event::Begin { started, .. } => started,
            Event::RestartDone { ticket, outcome } => {
                step.before.restart_under_way().is_some_and(|(asked, _)| asked == ticket)
                    && matches!(outcome, RestartOutcome::Started | RestartOutcome::StartFailed(_))
            }
            _ => false,
        };
        if started {
            self.last_start = Some(step.at);
        }
        Ok(())
    }

    /// B3: after a giveover nothing is done here until it begins again, or comes back.
    pub(super) fn gone(&mut self, step: &Step<'_>) -> Judged {
        let back = matches!(
            step.event,
            Event::Begin { .. }
                | Event::GiveoverDone {
                    outcome: GiveoverOutcome::Aborted { .. } | GiveoverOutcome::Unproven,
                    ..
                }
        );
        if back {
            self.gone = false;
        }
        let acts = step.actions.as_slice().iter().any(|action| {
            matches!(
                action,
                Action::Probe { .. } | Action::Restart { .. } | Action::Giveover { .. }
            )
        });
        that(!(self.gone && acts), || "B3: something is done after a giveover".to_owned())?;
        let over = step.after.waiting_for() == Waiting::GivenOver;
        that(!over || step.after.poll_timeout().is_none(), || {
            "B3: given over, and something is due here".to_owned()
        })?;
        let granted = matches!(
            step.event,
            Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Granted }
                if step.before.giveover_under_way() == Some(ticket)
        );
        if granted && step.policy().scope().destination != Destination::Board {
            self.gone = true;
            that(step.after.waiting_for() == Waiting::GivenOver, || {
                "R8: granted, and the monitor goes on".to_owned()
            })?;
        }
        Ok(())
    }
}
