//! What makes a service be acted on, in one sentence.

use std::collections::BTreeMap;

use giveover_core::failure::Phase;
use giveover_core::policy::FailoverMode;

use crate::config::plan::{CheckPlan, Combine, Kind, ServicePlan};
use crate::config::quantity::written;
use crate::config::words;

/// The sentence about `service`, without its name.
pub(super) fn of(service: &ServicePlan) -> String {
    let mut groups: Vec<(Vec<Clause>, Vec<&str>)> = Vec::new();
    for check in service.counted().filter(|check| !matches!(check.kind, Kind::Process)) {
        let clauses = clauses(check);
        match groups.iter_mut().find(|(known, _)| *known == clauses) {
            Some((_, names)) => names.push(&check.name),
            None => groups.push((clauses, vec![&check.name])),
        }
    }
    let several = groups.iter().flat_map(|(clauses, _)| clauses).any(|clause| clause.count > 1);
    let of_each = groups.iter().map(|(clauses, names)| {
        let all: Vec<String> = clauses.iter().map(Clause::words).collect();
        format!("{} of {}", all.join(", or "), words::or(names.iter().copied()))
    });
    let mut causes = of_each.collect::<Vec<_>>().join(", or ");
    if several {
        let limits = service.policy.limits();
        let interval = limits.thorough_probe_interval.as_millis().max(1);
        let probes = (limits.retry_interval.as_millis() / interval).max(1);
        causes += &format!(" among some {probes} probes in {}", written(limits.retry_interval));
    }
    let one_thing = !causes.contains(", ") && !several;
    let cause = match causes.as_str() {
        "" if service.policy.scope().deaths => "its end",
        "" => "nothing",
        causes => causes,
    };
    let comma = if one_thing { "" } else { "," };
    format!("{cause}{comma} {}{}", verb(service, one_thing), budget(service))
}

/// So many failures of a sort make 100.
#[derive(PartialEq, Eq)]
struct Clause {
    count: u8,
    what: Vec<&'static str>,
}

impl Clause {
    fn words(&self) -> String {
        let end = if self.count == 1 { "" } else { "s" };
        let plural = |what: &&str| match *what {
            "refused" => "refused".to_owned(),
            what => format!("{what}{end}"),
        };
        let all: Vec<String> = self.what.iter().map(plural).collect();
        format!("{} {}", self.count, words::or(all.iter().map(String::as_str)))
    }
}

/// What a check can find, by how many of it make 100; the fewest first.
fn clauses(check: &CheckPlan) -> Vec<Clause> {
    let mut by_count: BTreeMap<u8, Vec<Phase>> = BTreeMap::new();
    for (phase, weight) in check.emits() {
        let phases = by_count.entry(weight.to_complete()).or_default();
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    if by_count.len() == 1 {
        let counts = by_count.into_keys();
        return counts.map(|count| Clause { count, what: vec!["failure"] }).collect();
    }
    by_count.into_iter().map(|(count, phases)| Clause { count, what: what(&phases) }).collect()
}

fn what(phases: &[Phase]) -> Vec<&'static str> {
    let has = |phase| phases.contains(&phase);
    let mut what = Vec::new();
    if has(Phase::Resolve) {
        what.push("failed look-up");
    }
    if has(Phase::Connect) {
        what.push("refused");
    } else if has(Phase::Send) {
        what.push("failed send");
    }
    match (has(Phase::Read), has(Phase::Answer)) {
        (true, true) => what.push("late or wrong answer"),
        (true, false) => what.push("late answer"),
        (false, true) => what.push("wrong answer"),
        (false, false) => {}
    }
    if has(Phase::Close) {
        what.push("failed close");
    }
    if has(Phase::Exit) {
        what.push("failed run");
    }
    what
}

/// What 100 leads to first.
fn verb(service: &ServicePlan, one_thing: bool) -> &'static str {
    let limits = service.policy.limits();
    let at_once = limits.retry_count == Some(0) && service.policy.gives_over();
    let never = limits.retry_count == Some(0) && !service.policy.gives_over();
    let (one, more) = match limits.failover_mode {
        FailoverMode::LogOnly => ("is logged", "are logged"),
        _ if at_once => ("gives it over", "give it over"),
        _ if never => ("leaves it faulted", "leave it faulted"),
        _ => ("restarts it", "restart it"),
    };
    if one_thing { one } else { more }
}

/// When restarts are used up, if they ever are.
fn budget(service: &ServicePlan) -> String {
    let limits = service.policy.limits();
    let mut added = String::new();
    if service.combine == Combine::Sum {
        added.push_str("; failures of one cycle are added up");
    }
    if service.policy.gives_over() && service.counted().any(CheckPlan::can_be_immediate) {
        added.push_str("; an immediate result gives over at once");
    }
    let Some(count) = limits.retry_count else {
        return format!("{added}; there is no limit to restarts");
    };
    if count == 0 || !service.policy.gives_over() {
        return added;
    }
    let source = service.sources.iter().find(|(key, _)| *key == "retry_count");
    let source = source.map_or("built in", |(_, source)| source);
    let end = if count == 1 { "" } else { "s" };
    let window = written(limits.retry_interval);
    let next = ordinal(u32::from(count) + 1);
    format!("{added}; {count} restart{end} in {window} ({source}), the {next} failure gives over")
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th`.
fn ordinal(number: u32) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

#[cfg(test)]
mod tests {
    use super::ordinal;

    #[test]
    fn ordinals_end_as_they_are_said() {
        let said = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
        let right = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"];
        assert_eq!(said, right);
    }
}
