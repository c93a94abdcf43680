//! What a cluster comes to: the sum that `wait` must cover, and how long each fault lasts.

use giveover_core::peer::Quorum;
use giveover_core::time::Span;

use super::super::quantity::written;
use super::{ClusterPlan, GroupPlan};

/// A line each: the inequality, and the longest outage of each fault.
#[must_use]
pub fn told(plan: &ClusterPlan) -> Vec<String> {
    let limits = &plan.limits;
    let mut lines = vec![format!(
        "wait {} is at least (lease {} + jitter {}) × (1 + 2 × {} %) + 1s = {}",
        written(limits.wait),
        written(limits.lease),
        written(limits.jitter),
        tenths(limits.rate),
        written(span(limits.least_wait_ms())),
    )];
    lines.extend(outages(plan));
    lines.extend(plan.groups.iter().filter_map(|group| left_running(plan, group)));
    lines.extend(plan.groups.iter().filter_map(|group| judged(plan, group)));
    lines
}

/// What becomes of services that a daemon leaves running when it dies alone.
fn left_running(plan: &ClusterPlan, group: &GroupPlan) -> Option<String> {
    if group.everywhere || group.services.is_empty() {
        return None;
    }
    let how = match plan.members.quorum {
        Quorum::Fence => "end with its node's power, before they are started elsewhere",
        Quorum::Stay => "run on, and are started nowhere else",
        Quorum::Majority | Quorum::Trusted | Quorum::Etcd => {
            "RUN ON until it runs again, beside those that are started elsewhere; only `fence` \
             excludes that"
        }
    };
    let (name, services) = (&group.name, group.services.join(", "));
    Some(format!("group {name}: services ({services}) that a killed daemon leaves behind {how}"))
}

/// What a group's own checks lead to.
fn judged(plan: &ClusterPlan, group: &GroupPlan) -> Option<String> {
    let checks = group.checks.iter().find(|checks| !checks.is_empty())?;
    let names: Vec<&str> = checks.iter().map(|check| &*check.name).collect();
    let (names, life) = (names.join(", "), plan.limits.life);
    let found = written(found_within(plan, std::slice::from_ref(group)));
    let name = &group.name;
    Some(match group.everywhere {
        true => format!(
            "group {name}: its services run on every node; one whose checks ({names}) fail {life} \
             times in a row is down, within {found}, and cannot be active"
        ),
        false => format!(
            "group {name}: an active whose checks ({names}) fail {life} times in a row gives it over, \
             within {found}"
        ),
    })
}

/// The next look begins an interval after the last has ended, which may take as long as a check.
fn found_within(plan: &ClusterPlan, groups: &[GroupPlan]) -> Span {
    let checks = groups.iter().flat_map(|group| &group.checks).flat_map(|it| it.iter());
    let longest = checks.map(|check| u64::from(check.timeout.as_millis())).max().unwrap_or(0);
    let look = u64::from(plan.limits.interval.as_millis()) + longest;
    span(look * u64::from(plan.limits.life))
}

/// How the nodes decide, in one line.
#[must_use]
pub fn decides(plan: &ClusterPlan) -> String {
    let members = &plan.members;
    match members.quorum {
        Quorum::Majority => format!(
            "quorum = \"majority\": more than half of {} must vote for an active; never two holders",
            members.count
        ),
        Quorum::Fence => "quorum = \"fence\": a silent peer's power is cut before its place is \
                          taken; never two holders"
            .to_owned(),
        Quorum::Stay => "quorum = \"stay\": nobody takes over from an active that is only silent; \
                         never two holders"
            .to_owned(),
        Quorum::Trusted => {
            "quorum = \"trusted\": silence is enough to take over; TWO HOLDERS when \
                            only the link between nodes is cut"
                .to_owned()
        }
        Quorum::Etcd => {
            let count = plan.etcd.as_ref().map_or(0, |etcd| etcd.endpoints.len());
            let prefix = plan.etcd.as_ref().map_or("", |etcd| etcd.prefix.as_str());
            format!(
                "quorum = \"etcd\": who holds the key under {prefix} by its lease is active, as \
                 etcd ({count} endpoints) has it; never two holders"
            )
        }
    }
}

fn tenths(rate: u16) -> String {
    match rate % 10 {
        0 => (rate / 10).to_string(),
        rest => format!("{}.{rest}", rate / 10),
    }
}

fn span(ms: u64) -> Span {
    Span::from_millis(u32::try_from(ms).unwrap_or(u32::MAX))
}

/// From the last heartbeat on nobody hears: `wait`, a turn for each standby that might stand
/// before and cannot, and the answers.
fn takeover(plan: &ClusterPlan) -> Span {
    let limits = &plan.limits;
    let standbys = plan.nodes.iter().filter(|node| !node.witness).count().saturating_sub(2);
    // Its lease in the store ends first.
    let ttl = plan.etcd.as_ref().map_or(0, |etcd| u64::from(etcd.ttl.as_millis()) + ETCD_LATE_MS);
    let ms = ttl
        + u64::from(limits.wait.as_millis())
        + u64::from(limits.heartbeat.as_millis())
        + u64::from(limits.stand_step.as_millis()) * u64::try_from(standbys).unwrap_or(0);
    span(ms)
}

/// etcd looks for leases that are over twice a second.
const ETCD_LATE_MS: u64 = 1_000;

/// How long nobody holds a group when its active dies, at most, in milliseconds; `None`: until
/// somebody does something about it.
#[must_use]
pub fn takeover_ms(plan: &ClusterPlan) -> Option<u64> {
    let members = &plan.members;
    let alone = members.quorum == Quorum::Majority && members.count == 2;
    let never = alone || members.quorum == Quorum::Stay;
    (!never).then(|| u64::from(takeover(plan).as_millis()))
}

fn outages(plan: &ClusterPlan) -> Vec<String> {
    let limits = &plan.limits;
    let moved = written(takeover(plan));
    let silent = match plan.members.quorum {
        Quorum::Majority => format!("at most {moved} without a holder"),
        Quorum::Fence => format!("at most {moved}, and as long as the fence takes to acknowledge"),
        Quorum::Stay => "until somebody says `giveover node switch --force`".to_owned(),
        Quorum::Trusted => format!("at most {moved} without a holder"),
        Quorum::Etcd => {
            let ttl = plan.etcd.as_ref().map_or(Span::ZERO, |etcd| etcd.ttl);
            let (ttl, wait) = (written(ttl), written(limits.wait));
            format!("its lease of {ttl}, then wait {wait}: at most {moved} without a holder")
        }
    };
    let cut = match plan.members.quorum {
        Quorum::Majority if plan.members.count == 2 => {
            format!(
                "no holder after {}, until it heals: two of two are needed",
                written(limits.lease)
            )
        }
        Quorum::Majority => format!(
            "the smaller side drops within {}; at most {moved} without a holder",
            written(limits.lease)
        ),
        Quorum::Fence => format!("the active is fenced; {silent}"),
        Quorum::Stay => "none: the active stays".to_owned(),
        Quorum::Trusted => "none, but two holders until it heals".to_owned(),
        Quorum::Etcd => "none: etcd decides".to_owned(),
    };
    let alone = matches!(plan.members.quorum, Quorum::Majority) && plan.members.count == 2;
    let dies = if alone { "until it is back: two of two are needed".to_owned() } else { silent };
    let service =
        format!("found within {}, then moved at once", written(found_within(plan, &plan.groups)));
    let mut lines = vec![
        "an active that is stopped in an orderly way: moved at once".to_owned(),
        format!("an active's service that fails: {service}"),
        format!("an active whose machine or daemon dies: {dies}"),
        format!("only the link between nodes is cut: {cut}"),
    ];
    if plan.members.quorum == Quorum::Etcd {
        let lease = written(limits.lease);
        lines.push(format!("an active loses etcd: it is none any more within {lease}"));
    }
    lines
}
