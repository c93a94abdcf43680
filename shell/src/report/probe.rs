//! What one probe found: `giveover probe`.

use serde::{Deserialize, Serialize};

use super::model::CheckDoc;
use super::table::{WIDTH, cut, wide};

/// The column at which milliseconds end.
const MS_END: usize = 57;

/// One probe from beginning to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeDoc {
    /// What it came to.
    pub check: CheckDoc,
    /// How long it was given.
    pub timeout_ms: u64,
    /// What it did on the way, in order; for `-v`.
    pub steps: Vec<StepDoc>,
}

/// A step of a probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepDoc {
    /// `resolve`, `connect`, `tls`, `send`, `read`, `close` or `exit`.
    pub phase: String,
    /// In words: `192.0.2.14:443`, `< HTTP/1.1 503 Service Unavailable (312 B)`.
    pub text: String,
    /// How long it took.
    pub ms: u32,
}

/// The result in one line, as monitoring plugins print theirs.
#[must_use]
pub fn line(probe: &ProbeDoc) -> String {
    aligned(&result(&probe.check), probe.check.ms, &format!(" of {}", probe.timeout_ms))
}

/// Every step, then the result.
#[must_use]
pub fn steps(probe: &ProbeDoc) -> String {
    let mut lines: Vec<String> = probe
        .steps
        .iter()
        .map(|step| aligned(&format!("{:<7}  {}", step.phase, step.text), step.ms, ""))
        .collect();
    lines.push(line(probe));
    lines.join("\n") + "\n"
}

/// The configured checks of a service, each with its result.
#[must_use]
pub fn of_service(checks: &[CheckDoc]) -> String {
    let width = checks.iter().map(|check| wide(&check.name)).max().unwrap_or(0);
    let lines: Vec<String> = checks
        .iter()
        .map(|check| {
            let text = format!("{:<width$}   {}", check.name, result(check));
            aligned(&text, check.ms, "")
        })
        .collect();
    if lines.is_empty() { String::from("no checks\n") } else { lines.join("\n") + "\n" }
}

/// `partial: 503, expected 2xx or 3xx; weight 50`
fn result(check: &CheckDoc) -> String {
    let outcome = match check.outcome.as_str() {
        "unmeasured" => "cannot measure",
        "void" => "void, we did not run",
        "not_evaluated" => "not evaluated, the rung below failed",
        "none" => "not probed",
        other => other,
    };
    let cause = if check.cause.is_empty() { String::new() } else { format!(": {}", check.cause) };
    let weight = check.weight.map(|weight| format!("; weight {weight}")).unwrap_or_default();
    let observed = if check.observed { " (observed)" } else { "" };
    format!("{outcome}{cause}{weight}{observed}")
}

/// `text`, and behind it a time whose digits end in one column on every line.
fn aligned(text: &str, ms: u32, rest: &str) -> String {
    let figure = ms.to_string();
    let text = cut(text, WIDTH.saturating_sub(wide(&figure) + wide(rest) + 4));
    let gap = MS_END.saturating_sub(wide(&text) + wide(&figure)).max(1);
    format!("{text}{:gap$}{figure} ms{rest}", "")
}

/// The heaviest outcome of several checks, as its exit status: those of monitoring plugins.
///
/// Observed checks count nothing. Nothing measured at all is "cannot measure", never healthy.
#[must_use]
pub fn exit_status(checks: &[CheckDoc]) -> u8 {
    let asked_for_itself = checks.iter().all(|check| check.observed);
    let outcomes: Vec<u8> =
        checks.iter().filter(|check| asked_for_itself || !check.observed).map(outcome).collect();
    let measured = outcomes.iter().copied().filter(|status| *status < CANNOT_MEASURE).max();
    match measured {
        Some(failed @ 1..) => failed,
        Some(healthy) if !outcomes.contains(&CANNOT_MEASURE) => healthy,
        _ => CANNOT_MEASURE,
    }
}

/// The status of "cannot measure".
const CANNOT_MEASURE: u8 = 3;

fn outcome(check: &CheckDoc) -> u8 {
    match check.outcome.as_str() {
        "healthy" => 0,
        "partial" => 1,
        "complete" | "immediate" => 2,
        _ => CANNOT_MEASURE,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn step(phase: &str, text: &str, ms: u32) -> StepDoc {
        StepDoc { phase: phase.into(), text: text.into(), ms }
    }

    fn example() -> ProbeDoc {
        ProbeDoc {
            check: sample::check("", "partial", Some(50), "503, expected 2xx or 3xx", 35),
            timeout_ms: 3000,
            steps: vec![
                step("resolve", "192.0.2.14, 2001:db8::14", 1),
                step("connect", "192.0.2.14:443", 11),
                step("tls", "TLS 1.3, www.example.org, 61 days left", 14),
                step("send", "> GET / HTTP/1.1", 0),
                step("read", "< HTTP/1.1 503 Service Unavailable (312 B)", 9),
            ],
        }
    }

    #[test]
    fn the_steps_are_the_interfaces() {
        let expected = "\
resolve  192.0.2.14, 2001:db8::14                       1 ms
connect  192.0.2.14:443                                11 ms
tls      TLS 1.3, www.example.org, 61 days left        14 ms
send     > GET / HTTP/1.1                               0 ms
read     < HTTP/1.1 503 Service Unavailable (312 B)     9 ms
partial: 503, expected 2xx or 3xx; weight 50           35 ms of 3000
";
        assert_eq!(steps(&example()), expected);
    }

    #[test]
    fn the_checks_of_a_service_are_listed() {
        let web = sample::web();
        let expected = "\
page   partial: 503, expected 200 or 204; weight 50     2 ms
site   healthy: 200                                    11 ms
cert   healthy: 61 days left (observed)                 9 ms
";
        assert_eq!(of_service(&web.checks), expected);
        assert_eq!(of_service(&[]), "no checks\n");
    }

    #[test]
    fn the_worst_that_was_measured_is_the_exit_status() {
        let of = |outcomes: &[&str]| {
            let checks: Vec<CheckDoc> =
                outcomes.iter().map(|outcome| sample::check("a", outcome, None, "", 1)).collect();
            exit_status(&checks)
        };
        assert_eq!(of(&["healthy", "healthy"]), 0);
        assert_eq!(of(&["healthy", "partial"]), 1);
        assert_eq!(of(&["partial", "complete", "unmeasured"]), 2);
        assert_eq!(of(&["immediate"]), 2);
        assert_eq!(of(&["healthy", "unmeasured"]), 3);
        assert_eq!(of(&["partial", "not_evaluated"]), 1);
        assert_eq!(of(&["void"]), 3);
        assert_eq!(of(&["something new"]), 3);
        assert_eq!(of(&[]), 3);
    }

    #[test]
    fn observed_checks_count_nothing() {
        let observed = CheckDoc {
            observed: true,
            ..sample::check("cert", "complete", Some(100), "expired", 1)
        };
        let page = sample::check("page", "healthy", None, "200", 1);
        assert_eq!(exit_status(&[page, observed.clone()]), 0);
        assert_eq!(exit_status(&[observed]), 2, "asked for by itself");
    }

    #[test]
    fn a_long_cause_pushes_the_time_aside_and_is_cut() {
        let mut probe = example();
        probe.check.cause = "an answer that goes on ".repeat(20);
        assert!(wide(&line(&probe)) <= WIDTH);
        assert!(line(&probe).ends_with("35 ms of 3000"));
    }
}
