//! `/metrics`: the status as OpenMetrics.

use std::fmt::Write as _;

use super::model::{ServiceDoc, StatusDoc};

/// The content type of [`text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const STATUSES: [&str; 5] = ["unknown", "ok", "degraded", "faulted", "offline"];

/// A family of metrics: its name, its type, what it means.
type Family = (&'static str, &'static str, &'static str);

/// Failures ever counted: of each service, in the status's order, a phase and how many.
pub type Totals = [Vec<(&'static str, u32)>];

/// The whole of it, to the end mark.
#[must_use]
pub fn text(doc: &StatusDoc, totals: &Totals) -> String {
    let mut out = Out(String::new());
    host(doc, &mut out);
    services(&doc.services, totals, &mut out);
    checks(&doc.services, &mut out);
    board(doc, &mut out);
    out.0 + "# EOF\n"
}

struct Out(String);

impl Out {
    fn family(&mut self, (name, kind, help): Family) {
        // a String takes everything
        let _ = write!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0 += name;
        for (place, (label, text)) in labels.iter().enumerate() {
            let sign = if place == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{sign}{label}=\"{}\"", escaped(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn one(&mut self, family: Family, value: impl std::fmt::Display) {
        self.family(family);
        self.sample(family.0, &[], value);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

fn host(doc: &StatusDoc, out: &mut Out) {
    let host = &doc.host;
    out.family(("giveover_build", "info", "The version of the daemon."));
    out.sample("giveover_build_info", &[("version", &doc.version), ("node", &host.node)], 1);
    out.one(
        ("giveover_up_seconds", "gauge", "How long the daemon has been running."),
        seconds(host.up_ms),
    );
    out.one(
        ("giveover_observing", "gauge", "1 if every decision is made and nothing is acted on."),
        u8::from(host.observe),
    );
    out.one(
        ("giveover_host_actions", "gauge", "Restarts and giveovers inside the host's window."),
        host.actions.spent,
    );
    out.one(
        ("giveover_host_actions_limit", "gauge", "How many of these the host's budget allows."),
        host.actions.count,
    );
    out.one(
        (
            "giveover_local_fault",
            "gauge",
            "1 while failures are taken for this host's own network.",
        ),
        u8::from(host.local_fault),
    );
    out.one(
        ("giveover_trusted_answering", "gauge", "Trusted servers that answered last."),
        host.trusted.answering,
    );
    out.one(("giveover_trusted", "gauge", "Trusted servers there are."), host.trusted.total);
    out.one(
        ("giveover_journal_failing", "gauge", "1 while the journal cannot be written."),
        u8::from(host.journal != "ok"),
    );
}

fn services(services: &[ServiceDoc], totals: &Totals, out: &mut Out) {
    out.family(("giveover_service_status", "stateset", "What people are told of the service."));
    for service in services {
        for status in STATUSES {
            let labels = [("service", service.name.as_str()), ("giveover_service_status", status)];
            out.sample("giveover_service_status", &labels, u8::from(service.status == status));
        }
    }
    type Gauge = (Family, fn(&ServiceDoc) -> Option<u64>);
    const GAUGES: [Gauge; 6] = [
        (
            ("giveover_service_failure_sum", "gauge", "Live sum of weights; 100 is a failure."),
            |it| Some(u64::from(it.failure_sum)),
        ),
        (("giveover_service_restarts", "gauge", "Live restarts charged to the budget."), |it| {
            Some(u64::from(it.restarts))
        }),
        (("giveover_service_restarts_limit", "gauge", "Restarts the budget allows."), |it| {
            it.retry_count.map(u64::from)
        }),
        (("giveover_service_held", "gauge", "1 while it is kept from acting."), |it| {
            Some(u64::from(it.held.is_some()))
        }),
        (("giveover_service_unmeasured", "gauge", "1 while nothing can be measured."), |it| {
            Some(u64::from(it.unmeasured_ms.is_some()))
        }),
        (("giveover_service_generation", "gauge", "The number of its instance."), |it| {
            Some(u64::from(it.generation))
        }),
    ];
    for (family, value) in GAUGES {
        out.family(family);
        for service in services {
            if let Some(value) = value(service) {
                out.sample(family.0, &[("service", service.name.as_str())], value);
            }
        }
    }
    out.family(("giveover_service_failures", "counter", "Failures counted since it is known."));
    for (service, totals) in services.iter().zip(totals) {
        for (phase, count) in totals {
            let labels = [("service", service.name.as_str()), ("phase", phase)];
            out.sample("giveover_service_failures_total", &labels, count);
        }
    }
}

fn checks(services: &[ServiceDoc], out: &mut Out) {
    out.family((
        "giveover_check_weight",
        "gauge",
        "What the check's last result weighs; 0 is healthy.",
    ));
    let measured =
        |outcome: &str| matches!(outcome, "healthy" | "partial" | "complete" | "immediate");
    let all = || services.iter().flat_map(|it| it.checks.iter().map(move |check| (it, check)));
    for (service, check) in all().filter(|(_, check)| measured(&check.outcome)) {
        let labels = [("service", service.name.as_str()), ("check", check.name.as_str())];
        out.sample("giveover_check_weight", &labels, check.weight.unwrap_or(0));
    }
    out.family(("giveover_check_duration_seconds", "gauge", "How long its last probe took."));
    for (service, check) in all().filter(|(_, check)| measured(&check.outcome)) {
        let labels = [("service", service.name.as_str()), ("check", check.name.as_str())];
        out.sample("giveover_check_duration_seconds", &labels, seconds(u64::from(check.ms)));
    }
}

fn board(doc: &StatusDoc, out: &mut Out) {
    let Some(board) = &doc.board else { return };
    let armed = ("giveover_board_armed", "gauge", "1 while a board guards this host.");
    out.one(armed, u8::from(board.armed));
    out.one(("giveover_board_resets", "gauge", "Resets of this host that count."), board.resets);
    out.one(
        ("giveover_board_resets_limit", "gauge", "Resets the board's budget allows."),
        board.retry_count,
    );
    out.family(("giveover_board_resets_ever", "counter", "Resets of this host, ever."));
    out.sample("giveover_board_resets_ever_total", &[], board.resets_ever);
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn every_family_is_declared_once_and_before_its_samples() {
        let doc = sample::gateway();
        let totals: Vec<Vec<(&str, u32)>> =
            doc.services.iter().map(|_| vec![("read", 3)]).collect();
        let text = text(&doc, &totals);
        assert!(text.ends_with("# EOF\n"));
        let mut known: Vec<&str> = Vec::new();
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let name = rest.split(' ').next().expect("a name");
                assert!(!known.contains(&name), "{name} twice");
                known.push(name);
            } else if let Some(rest) = line.strip_prefix("# HELP ") {
                assert!(rest.starts_with(known.last().expect("declared")));
            } else {
                let name = line.split(['{', ' ']).next().expect("a name");
                let family = known.last().expect("declared");
                let ending = name.strip_prefix(family).unwrap_or_else(|| panic!("{line}"));
                assert!(["", "_total", "_info"].contains(&ending), "{line}");
                let value = line.rsplit(' ').next().expect("a value");
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(
            text.contains("giveover_service_failures_total{service=\"web\",phase=\"read\"} 3\n")
        );
        let ok = "giveover_service_status{service=\"web\",giveover_service_status=\"ok\"} 1\n";
        assert!(text.contains(ok), "{text}");
    }

    #[test]
    fn names_cannot_break_out_of_their_quotes() {
        let mut out = Out(String::new());
        out.sample("x", &[("service", "a\"b\\c\nd")], 1);
        assert_eq!(out.0, "x{service=\"a\\\"b\\\\c\\nd\"} 1\n");
    }
}
