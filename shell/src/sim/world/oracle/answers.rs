//! What answers lead to: restarts that ended, giveovers that were granted or not.

use giveover_core::monitor::{
    Action, Event, GiveoverOutcome, Origin, Reason, RestartOutcome, Status, Waiting,
};
use giveover_core::policy::{Destination, FailoverMode};

use super::step::{Step, blocked, too_late};
use super::{Judged, Seen, that};

impl Seen {
    /// R7, R8, R9: what answers lead to.
    pub(super) fn answers(&self, step: &Step<'_>) -> Judged {
        let limits = step.policy().limits();
        match step.event {
            Event::RestartDone { ticket, outcome }
                if step.before.restart_under_way().is_some_and(|(asked, _)| asked == ticket) =>
            {
                let origin = step.before.restart_under_way().map(|(_, origin)| origin);
                match outcome {
                    RestartOutcome::Started => {
                        let ok = !step.after.is_dead() && step.after.status() != Status::Faulted;
                        that(ok, || "R7: what has been started is dead, or faulted".to_owned())
                    }
                    RestartOutcome::StartFailed(_) => {
                        that(step.after.is_dead(), || "R7: nothing runs, unknown".to_owned())?;
                        let asks = step.giveover().is_some();
                        let mode = limits.failover_mode;
                        let may = matches!(mode, FailoverMode::Soft | FailoverMode::Hard)
                            && step.policy().gives_over()
                            && origin != Some(Origin::Operator);
                        that(may || !asks, || {
                            "R7: this mode does not ask for giveover".to_owned()
                        })?;
                        let held = blocked(step.before);
                        let must = may && origin == Some(Origin::Monitor) && !held;
                        let asked = asks || step.restart().is_some() || step.delayed().is_some();
                        // once for each failure event: a second attempt asks no more
                        let again = step.before.standing() != step.after.standing();
                        that(!must || asked || again, || "R7: nobody is asked".to_owned())
                    }
                    RestartOutcome::StopFailed(_) => {
                        let started = step.restart().is_some() || step.giveover().is_some();
                        that(!started, || {
                            "R7: started or handed over while the old instance may run".to_owned()
                        })?;
                        let hard = limits.failover_mode == FailoverMode::Hard;
                        let reset = step.any(|action| matches!(action, Action::Reset { .. }));
                        let ours = origin == Some(Origin::Monitor) && !blocked(step.before);
                        that(!ours || reset == hard, || {
                            "R7: the node is reset under hard, and only there".to_owned()
                        })
                    }
                    RestartOutcome::Invalid(_) => {
                        that(step.before.is_dead() || !step.after.is_dead(), || {
                            "R7: refused by validation, nothing was stopped".to_owned()
                        })
                    }
                }
            }
            Event::GiveoverDone { ticket, outcome }
                if step.before.waiting_for() == Waiting::Giveover
                    && step.before.giveover_under_way() == Some(ticket) =>
            {
                self.answered(step, outcome)
            }
            _ => Ok(()),
        }
    }

    fn answered(&self, step: &Step<'_>, outcome: GiveoverOutcome) -> Judged {
        let elsewhere = step.policy().scope().destination == Destination::Elsewhere;
        // a person's wish that is denied changes nothing
        let ours = self.asked.filter(|(_, reason)| *reason != Reason::Operator);
        let ends = match (ours, outcome) {
            (Some(_), GiveoverOutcome::Denied) => true,
            (Some((first, _)), GiveoverOutcome::NotNow) => too_late(step, first),
            _ => false,
        };
        if ends && elsewhere {
            let tally = step.after.tally(step.at);
            that(tally.failure_sum == 0 && tally.restarts <= 1, || {
                let (sum, restarts) = (tally.failure_sum, tally.restarts);
                format!("R9: denied, and a sum of {sum} and {restarts} restarts are left")
            })?;
        }
        match outcome {
            GiveoverOutcome::Denied if elsewhere => {
                let tally = step.after.tally(step.at);
                let restarted = step.restart().is_some() || step.delayed().is_some();
                let by_operator = tally.failure_sum > 0 || usize::from(tally.restarts) > 1;
                let kept = step.sum_before() == u32::from(tally.failure_sum)
                    && step.restarts_before() == usize::from(tally.restarts);
                that(kept || !by_operator, || "R9: denied, and not afresh".to_owned())?;
                let dead = step.after.is_dead() && !blocked(step.after);
                let something = restarted || step.after.poll_timeout().is_some();
                that(!dead || something, || "R9: a dead process is forgotten".to_owned())
            }
            GiveoverOutcome::NotNow => match step.after.waiting_for() {
                Waiting::AskAgain(again) => that(again.since(step.at) <= 10_000, || {
                    format!("R9: asked again only after {} ms", again.since(step.at))
                }),
                _ => Ok(()), // the window is over, it is held, or it was a person's wish
            },
            _ => Ok(()),
        }
    }
}
