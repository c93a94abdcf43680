//! What is never done, and what is always told.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{Action, Event, Origin, Reason, Status, Waiting};
use giveover_core::policy::FailoverMode;

use super::step::{Step, blocked};
use super::{Judged, Seen, that};

impl Seen {
    /// R11, R14 to R16: what a hold or a mode forbids is never done, and nothing twice at once.
    pub(super) fn forbidden(step: &Step<'_>) -> Judged {
        let by_person = matches!(step.event, Event::Restart | Event::Giveover)
            || matches!(step.before.waiting_for(), Waiting::Delay(_) | Waiting::StopAgain(_));
        let held = blocked(step.before) && blocked(step.after) && !by_person;
        let log_only = step.policy().limits().failover_mode == FailoverMode::LogOnly;
        let acts =
            step.actions.as_slice().iter().filter(|action| {
                matches!(action, Action::Restart { .. } | Action::Giveover { .. })
            });
        that(acts.count() <= 1, || "two things are done at once".to_owned())?;
        that(step.restart().is_none() || !held, || "R15: restarted while held".to_owned())?;
        that(step.giveover().is_none() || !held, || "R15: given over while held".to_owned())?;
        // what a person wants may wait in spite of other holders; what we want may not
        let ours = step.restart() == Some(Origin::Monitor) && step.event == Event::Timeout;
        that(!(ours && blocked(step.before) && blocked(step.after)), || {
            "R15: what waited is restarted while held".to_owned()
        })?;
        let acts = step.restart() == Some(Origin::Monitor) && log_only;
        that(!acts, || "R11: restarted under log_only".to_owned())?;
        let gives = step.giveover().is_some_and(|reason| reason != Reason::Operator);
        that(!gives || step.policy().gives_over(), || "R22: given over to nobody".to_owned())?;
        let under_way = step.before.restart_under_way();
        let other = step.after.restart_under_way();
        let ended = matches!(
            step.event,
            Event::RestartDone { .. } | Event::Begin { .. } | Event::Stopped | Event::End
        );
        that(under_way.is_none() || under_way == other || ended, || {
            "B4: a restart under way is replaced by another one".to_owned()
        })?;
        match step.giveover() {
            Some(Reason::BudgetSpent) => {
                let asked_before = matches!(step.before.waiting_for(), Waiting::AskAgain(_));
                let count = step.policy().limits().retry_count;
                let spent = count.is_some_and(|count| step.restarts_before() >= usize::from(count));
                that(asked_before || spent, || {
                    format!("B2: given over after {} restarts", step.restarts_before())
                })
            }
            _ => Ok(()),
        }
    }

    /// B5, R18: no state that absorbs is hidden, and exactly the changes are told.
    pub(super) fn told(step: &Step<'_>) -> Judged {
        let after = step.after;
        let pending = after.poll_timeout().is_some()
            || after.probe_under_way().is_some()
            || after.restart_under_way().is_some()
            || after.giveover_under_way().is_some();
        let shown = match after.waiting_for() {
            Waiting::Release => blocked(after),
            Waiting::GivenOver | Waiting::Ended(_) => true,
            _ => pending,
        };
        that(shown, || format!("B5: {:?} waits for nothing", after.waiting_for()))?;
        let known = after.is_dead() && !blocked(after);
        let at_work = !matches!(after.waiting_for(), Waiting::Ended(_) | Waiting::GivenOver);
        that(!known || !at_work || pending, || "R10: a dead process is forgotten".to_owned())?;
        if let Waiting::DeadCycle(due) = after.waiting_for() {
            let interval = u64::from(step.policy().limits().thorough_probe_interval.as_millis());
            that(due.since(step.at) <= interval, || "R10: a dead cycle comes late".to_owned())?;
        }
        let changed =
            (step.before.status(), step.before.message()) != (after.status(), after.message());
        let told = step.actions.as_slice().iter().find_map(|action| match action {
            Action::Status { status, message } => Some((*status, *message)),
            _ => None,
        });
        let expected = changed.then(|| (after.status(), after.message()));
        that(told == expected, || format!("R18: told {told:?}, and it is {expected:?}"))?;
        let healthy = matches!(
            step.event,
            Event::Probed { ticket, result: ProbeResult::Healthy }
                if step.before.probe_under_way() == Some(ticket)
        );
        that(!healthy || after.status() == Status::Ok, || "R1: healthy, and not ok".to_owned())
    }
}
