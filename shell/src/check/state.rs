//! `systemd`: what the state of a unit means.

use giveover_core::failure::Phase;

use super::outcome::Outcome;
use crate::config::state::{NO_ANSWER, NO_UNIT, StatePlan, code_of};

/// What systemd's answer means: whether it has a file for the unit, and its state; nothing if it
/// did not answer.
#[must_use]
pub fn judge(plan: &StatePlan, found: Option<(bool, &str)>) -> Outcome {
    match found {
        None => Outcome::Lacking { phase: Phase::Answer, code: NO_ANSWER },
        Some((false, _)) => Outcome::Lacking { phase: Phase::Answer, code: NO_UNIT },
        Some((true, active)) => match code_of(active) {
            code if plan.expect.contains(&code) => Outcome::Healthy { shown: code },
            code => Outcome::wrong(code),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::state::OTHER;

    #[test]
    fn a_state_is_right_if_it_is_expected_and_what_is_not_known_is_no_failure() {
        let plan = StatePlan { unit: "web.service".into(), expect: vec![1, 2] };
        let lacking = |code| Outcome::Lacking { phase: Phase::Answer, code };
        for (found, outcome) in [
            (Some((true, "active")), Outcome::Healthy { shown: 1 }),
            (Some((true, "reloading")), Outcome::Healthy { shown: 2 }),
            (Some((true, "failed")), Outcome::wrong(4)),
            (Some((true, "activating")), Outcome::wrong(5)),
            (Some((true, "of a later version")), Outcome::wrong(OTHER)),
            (Some((false, "inactive")), lacking(NO_UNIT)),
            (None, lacking(NO_ANSWER)),
        ] {
            assert_eq!(judge(&plan, found), outcome, "{found:?}");
        }
    }
}
