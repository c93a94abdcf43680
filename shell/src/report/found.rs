//! What a check found, in words and as a document; the same for the daemon and for `probe`.

use giveover_core::failure::{Cause, ProbeResult};

use super::model::CheckDoc;
use crate::config::plan::{CheckPlan, Kind, ServicePlan};
use crate::message::cause;

/// What `check` asked for, for explaining why it failed.
#[must_use]
pub fn asked<'a>(check: &'a CheckPlan, expected: &'a str) -> cause::Asked<'a> {
    cause::Asked { name: &check.name, expected, timeout_ms: u64::from(check.timeout.as_millis()) }
}

/// A cause in words, with the check's name and what it expected.
#[must_use]
pub fn cause_words(plan: &ServicePlan, found: Cause) -> String {
    match plan.checks.get(usize::from(found.check)) {
        Some(check) => {
            let expected = expected_words(&check.kind);
            cause::named(found, asked(check, &expected))
        }
        None => cause::named(found, cause::Asked::default()),
    }
}

/// A cause in words and no more than was seen, with the check's name.
#[must_use]
pub fn brief_words(plan: &ServicePlan, found: Cause) -> String {
    match plan.checks.get(usize::from(found.check)) {
        Some(check) => cause::named_briefly(found, asked(check, "")),
        None => cause::named_briefly(found, cause::Asked::default()),
    }
}

/// What would have been right, in words; empty where a code says nothing.
#[must_use]
pub fn expected_words(kind: &Kind) -> String {
    match kind {
        Kind::Http(http) => cause::expected(&http.expect),
        _ => String::new(),
    }
}

/// What a healthy answer showed: an HTTP status.
#[must_use]
pub fn shown_words(kind: &Kind, shown: u16) -> String {
    match kind {
        Kind::Http(_) if shown > 0 => shown.to_string(),
        _ => String::new(),
    }
}

/// A check's result in words, healthy or not, without its name.
#[must_use]
pub fn result_words(check: &CheckPlan, result: Option<ProbeResult>, shown: u16) -> String {
    match result {
        None | Some(ProbeResult::Void) => String::new(),
        Some(ProbeResult::Healthy) => shown_words(&check.kind, shown),
        Some(
            ProbeResult::Failed(_, found)
            | ProbeResult::Immediate(found)
            | ProbeResult::CannotMeasure(found),
        ) => cause::seen(found, asked(check, &expected_words(&check.kind))),
    }
}

/// The document of a check's result. `at` is empty before the first.
#[must_use]
pub fn check_doc(
    check: &CheckPlan,
    result: Option<ProbeResult>,
    shown: u16,
    ms: u32,
    at: String,
) -> CheckDoc {
    let (outcome, weight, phase) = match result {
        None => ("none", None, None),
        Some(ProbeResult::Healthy) => ("healthy", None, None),
        Some(ProbeResult::Failed(weight, found)) => {
            let outcome = if weight.value() < 100 { "partial" } else { "complete" };
            (outcome, Some(weight.value()), Some(found.phase))
        }
        Some(ProbeResult::Immediate(found)) => ("immediate", Some(100), Some(found.phase)),
        Some(ProbeResult::CannotMeasure(found)) => ("unmeasured", None, Some(found.phase)),
        Some(ProbeResult::Void) => ("void", None, None),
    };
    CheckDoc {
        name: check.name.to_string(),
        kind: check.kind.word().to_owned(),
        outcome: outcome.to_owned(),
        weight,
        cause: result_words(check, result, shown),
        phase: phase.map(|phase| phase.word().to_owned()),
        ms,
        at,
        observed: check.observe,
    }
}
