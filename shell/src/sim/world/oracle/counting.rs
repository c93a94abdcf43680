//! What counts: the sum and its records (A), and what is decided about it.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{Event, Reason, Waiting};

use super::step::{Step, blocked};
use super::{Judged, Seen, that};

impl Seen {
    /// A1: the sum is that of the live records, and never a failure that nothing was decided about.
    pub(super) fn accounting(step: &Step<'_>) -> Judged {
        let live = step.after.history().failures().filter(|failure| step.live(failure.at));
        let sum: u32 = live.map(|failure| u32::from(failure.weight.value())).sum();
        let [told, _, told_restarts] = step.tally;
        let told = u32::from(told);
        that(sum == told, || format!("A1: the sum is {told}, its records make {sum}"))?;
        that(told < 100, || format!("R3: a sum of {told} is left standing"))?;
        let restarts = step.after.history().restart_times().filter(|at| step.live(*at)).count();
        let told = usize::from(told_restarts);
        that(restarts == told, || format!("A1: {told} restarts, its records are {restarts}"))?;
        let unhurt = matches!(
            step.event,
            Event::Probed {
                result: ProbeResult::Healthy | ProbeResult::Void | ProbeResult::CannotMeasure(_),
                ..
            }
        );
        if unhurt {
            // A3, B6
            let (before, after) = (step.sum_before(), sum);
            that(before == after, || {
                format!("A3: a result that counts nothing moved the sum from {before} to {after}")
            })?;
            that(!step.decides(), || "B6: a result that counts nothing is acted on".to_owned())?;
        }
        Ok(())
    }

    /// R2 to R6, R10, R12: what counts is decided about at 100, and not before.
    pub(super) fn counted(step: &Step<'_>) -> Judged {
        let policy = step.policy();
        match step.event {
            Event::Probed { ticket, result: ProbeResult::Failed(weight, _) }
                if step.before.probe_under_way() == Some(ticket) =>
            {
                if !step.counts() {
                    let asks = matches!(
                        step.before.waiting_for(),
                        Waiting::Giveover | Waiting::AskAgain(_)
                    );
                    let moved = step.sum_before() != u32::from(step.tally[0]);
                    that(asks || !moved, || "a probe counts that must not".to_owned())?;
                    return that(!step.decides(), || {
                        "a probe that does not count is acted on".to_owned()
                    });
                }
                let sum = step.sum_before() + u32::from(weight.value());
                that(step.decides() == (sum >= 100), || {
                    format!("R2, R3: at a sum of {sum} it is decided or not")
                })
            }
            Event::Probed { ticket, result: ProbeResult::Immediate(_) }
                if step.before.probe_under_way() == Some(ticket) && step.counts() =>
            {
                let asked = matches!(step.giveover(), Some(Reason::Immediate(_)));
                that(asked == policy.gives_over(), || {
                    "R6: an immediate result skips the restart".to_owned()
                })
            }
            Event::Died { .. } if !step.before.is_dead() => {
                let idle = matches!(step.before.waiting_for(), Waiting::Probe(_) | Waiting::Answer);
                let counts = idle && !blocked(step.before);
                that(!counts || step.decides(), || {
                    "R10: a death is a complete failure at once".to_owned()
                })?;
                let ended = matches!(step.before.waiting_for(), Waiting::Ended(_));
                that(ended || step.after.is_dead(), || "R10: a death is not known".to_owned())
            }
            _ => Ok(()),
        }
    }
}
