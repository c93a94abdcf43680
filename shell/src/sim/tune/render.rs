//! What was tried, in words, as a table, and for machines.

use giveover_core::time::Span;

use super::{Tried, Tuned};

/// How a policy is told: `halves as recorded, every probe, within 300s`.
#[must_use]
pub fn words(tried: &Tried) -> String {
    let part = match tried.part {
        None => "parts weigh as recorded".to_owned(),
        Some(100) => "each part is a failure".to_owned(),
        Some(part) => format!("parts weigh {part}"),
    };
    let every = match tried.every {
        1 => "every probe",
        2 => "every second probe",
        _ => "every third probe",
    };
    let written = crate::config::quantity::written;
    let delay = match tried.delay {
        None => String::new(),
        Some(Span::ZERO) => ", restarts at once".to_owned(),
        Some(delay) => format!(", restarts wait {}", written(delay)),
    };
    format!("{part}, {every}, within {}{delay}", written(tried.retry_interval))
}

/// The frontier as a table; the policy in use has a star, wherever it stands. Each row says what it is
/// drawn from: real faults it decided about, of all; what it did for nothing, in as many episodes that
/// passed; probes it saw.
#[must_use]
pub fn text(tuned: &[Tuned]) -> String {
    use crate::message::span;
    use std::fmt::Write as _;
    let mut text = String::new();
    for service in tuned {
        let journals = crate::config::many(service.journals, "journal");
        let _ = writeln!(
            text,
            "{}: {journals}, {} real faults, {} that passed by themselves",
            service.service, service.faults, service.passing
        );
        if service.faults + service.passing == 0 {
            text += "nothing failed: there is nothing to tune by\n";
            continue;
        }
        let _ = writeln!(text, "    DETECTED IN  SLOWEST    FAULTS  NEEDLESS  PROBES  POLICY");
        for tried in service.tried.iter().filter(|it| it.on_frontier || it.in_use) {
            let star = if tried.in_use { '*' } else { ' ' };
            let off = match (tried.in_use, tried.on_frontier) {
                (true, true) => "  (in use)",
                (true, false) => "  (in use; one above is better in everything)",
                _ => "",
            };
            let _ = writeln!(
                text,
                "{star}  {:>12}  {:>7}  {:>8}  {:>8}  {:>6}  {}{off}",
                span::short(tried.detection_ms),
                span::short(tried.slowest_ms),
                format!("{} of {}", tried.detected, service.faults),
                format!("{} in {}", tried.needless, service.passing),
                tried.probes,
                words(tried)
            );
        }
    }
    text
}

/// The same for machines, with every policy that was tried.
#[must_use]
pub fn json(tuned: &[Tuned]) -> serde_json::Value {
    let tried = |it: &Tried| {
        serde_json::json!({
            "part": it.part,
            "every": it.every,
            "retry_interval_ms": it.retry_interval.as_millis(),
            "restart_delay_ms": it.delay.map(Span::as_millis),
            "detection_ms": it.detection_ms,
            "slowest_ms": it.slowest_ms,
            "detected": it.detected,
            "probes": it.probes,
            "needless": it.needless,
            "missed": it.missed,
            "in_use": it.in_use,
            "on_frontier": it.on_frontier,
        })
    };
    let service = |it: &Tuned| {
        serde_json::json!({
            "service": it.service,
            "journals": it.journals,
            "faults": it.faults,
            "passing": it.passing,
            "policies": it.tried.iter().map(tried).collect::<Vec<_>>(),
        })
    };
    tuned.iter().map(service).collect()
}
