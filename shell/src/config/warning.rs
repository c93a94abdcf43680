//! Warnings: what is possible but hardly meant. Each has a name, an explanation and a remedy.

use std::collections::HashMap;

use giveover_core::peer::Quorum;
use giveover_core::policy::Warnings;

use super::plan::{ClusterPlan, Kind, Run, ServicePlan, Target};
use super::policy::Settled;
use super::reader::{Reader, header};
use super::report::{Finding, Findings};
use super::service::Places;
use super::tree::{Entry, Node};
use super::values;
use super::words;

/// One kind of warning.
struct About {
    name: &'static str,
    text: &'static str,
    remedy: &'static str,
}

/// What a USB stick that nothing stops is warned of, in `[board]`.
pub(super) const STICK: &str = "stick-counts-on";

const ALL: [About; 12] = [
    About {
        name: "part-never-acts",
        text: "Failures weigh 1 to 100, and those of the last retry_interval are added up; at 100 \
               they make one failure that is acted on. With the smallest weight the checks can \
               have, so few probes fit into retry_interval that their sum never reaches 100: a \
               service that fails only in this way is never restarted.",
        remedy: "Make retry_interval longer, thorough_probe_interval shorter, or the weight \
                 greater. A command with exit = \"weight\" can weigh as little as 1: list the \
                 exits it really has, as in exit = { 50 = 50, 100 = 100, 201 = \"immediate\" }.",
    },
    About {
        name: "giveover-by-death-only",
        text: "Restarts older than retry_interval are forgotten. Found by probes alone they come \
               so slowly that retry_count is never used up inside it: a service that hangs again \
               and again is restarted for ever and never given over. Only deaths, which are heard \
               at once, come fast enough.",
        remedy: "Make retry_interval longer, or thorough_probe_interval, start_grace or \
                 restart_delay shorter.",
    },
    About {
        name: "worst-case-too-long",
        text: "When probes, stops and starts all take as long as they may, the first restart is \
               forgotten before the last one is made: in that case the service is restarted for \
               ever and never given over. With faster methods it is.",
        remedy: "Make retry_interval longer, or a time-out shorter.",
    },
    About {
        name: "watched-only",
        text: "The service has neither `unit` nor `start`: nothing can be restarted, failures are \
               only shown and logged.",
        remedy: "Say what runs it with `unit` or `start`; or where it goes with `giveover`, which \
                 then gives it over at the first failure.",
    },
    About {
        name: "no-checks",
        text: "The end of the process is noticed, but nothing asks the service whether it works: \
               one that hangs, or answers with errors, is taken for healthy.",
        remedy: "Add a check, as in check.page = \"http://127.0.0.1/\".",
    },
    About {
        name: "check-cannot-act",
        text: "Every check of the service has observe = true: they are probed and shown, and count \
               nothing.",
        remedy: "Take observe = true from one of them.",
    },
    About {
        name: "tcp-only",
        text: "The service's only checks connect and disconnect, or send datagrams that nobody \
               need answer. The kernel accepts connections \
               for a server that has not run for hours, so one that hangs looks healthy until its \
               queue of connections is full.",
        remedy: "Give a check `expect`, with `send` where the server waits for a question first; \
                 or use an http or command check.",
    },
    About {
        name: "shared-address",
        text: "Two services probe the same address: when it fails, both are restarted, though one \
               of them does not own it.",
        remedy: "Let one of them probe it, and the other say `needs`.",
    },
    About {
        name: "no-address",
        text: "The list of addresses or ports is empty. The check is shown as one that cannot be \
               measured; it never fails and is never healthy.",
        remedy: "Write an address in network_resources_used or address, and a port in port_list.",
    },
    About {
        name: "unit-restarts-itself",
        text: "The unit has a Restart= of its own. systemd then heals deaths before they are \
               counted, at its own pace, and its limit can leave the unit dead where ours would \
               have given it over.",
        remedy: "systemctl edit UNIT: [Service] Restart=no",
    },
    About {
        name: "two-holders",
        text: "With quorum = \"trusted\" a standby takes over from an active that it does not hear, \
               as soon as a trusted server answers. When only the link between the nodes is cut, \
               both are active until it heals, and whatever must run once runs twice.",
        remedy: "Use \"majority\" with a third machine as witness, \"fence\" or \"stay\".",
    },
    About {
        name: STICK,
        text: "Nothing switches a USB stick of one byte a command off once it has been fed. A \
               daemon that stops for good leaves it the longest time it knows, 21m 10s, and with \
               nowayout = true its ordinary one; a host that runs on without the daemon, as after \
               an uninstall, is reset then, and so is one that is still in its firmware's menu.",
        remedy: "Unplug the stick before the daemon is stopped for longer than that. A watchdog \
                 of the kernel's (kind = \"linux\") and a board with our firmware can be told to \
                 stand by.",
    },
];

/// What is said of `[cluster]`.
pub(super) fn of_cluster(entry: Option<&Entry>, plan: Option<&ClusterPlan>, out: &mut Findings) {
    let (Some(entry), Some(plan)) = (entry, plan) else { return };
    if plan.members.quorum == Quorum::Trusted {
        let message = "cluster: quorum = \"trusted\" can make two holders";
        let finding = out.warning("two-holders", header(entry), message);
        finding.label("accepted by accept_two_holders = true; `node status` shows it");
    }
}

/// The names of all warnings.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|about| about.name)
}

/// What the warning `name` means and what to do about it, for `giveover help NAME`.
#[must_use]
pub fn explain(name: &str) -> Option<String> {
    let about = ALL.iter().find(|about| about.name == name)?;
    let text = words::wrapped(&format!("{name}: {}", about.text), "");
    let remedy = words::wrapped(&format!("Remedy: {}", about.remedy), "");
    let silenced = match name {
        "two-holders" => "Nothing silences it.".to_owned(),
        STICK => format!("allow = [\"{name}\"] in [board] silences it."),
        _ => format!("allow = [\"{name}\"] in the service silences it."),
    };
    Some(format!("{text}\n{remedy}\n{silenced}\n"))
}

/// Reads `allow`.
pub(super) fn allowed(key: &str, node: &Node, out: &mut Findings) -> Option<Vec<&'static str>> {
    values::list(key, node, out, |key, node, out| {
        let said = values::text(key, node, out)?;
        let known = names().find(|name| *name == said);
        if known.is_none() {
            let finding = out.error(node.place, format!("{key}: no warning is called `{said}`"));
            match words::nearest(said, names()) {
                Some(near) => finding.label(format!("did you mean `{near}`?")),
                None => finding.label(format!("there are {}", words::and(names()))),
            };
        }
        known
    })
}

/// What is wrong, and the remedy the core named behind a semicolon.
pub(super) fn halves(message: &str) -> (String, String) {
    let (message, remedy) = message.split_once("; ").unwrap_or((message, ""));
    (message.to_owned(), remedy.to_owned())
}

/// The note that every warning about a service ends with.
pub(super) fn or_allow<'f>(finding: &'f mut Finding, path: &str) -> &'f mut Finding {
    let name = finding.name.unwrap_or_default();
    finding.note(format!("or allow = [\"{name}\"] in {path}"))
}

/// The core's warnings about a policy, at the key that decides or at the service.
pub(super) fn of_policy(
    warnings: &Warnings,
    limits: &Settled,
    reader: &Reader<'_>,
    allow: &[&str],
    out: &mut Findings,
) {
    for warning in warnings.iter().filter(|warning| !allow.contains(&warning.name())) {
        let place = limits.place("retry_interval");
        let (message, label) = halves(&warning.to_string());
        let message = format!("{}: {message}", reader.path);
        let finding = out.warning(warning.name(), place.unwrap_or(reader.header), message);
        // Where nobody wrote the key, the carets do not name it.
        let key = if place.is_some() { "" } else { "retry_interval = " };
        or_allow(finding.label(format!("{key}{label}")), &reader.path);
    }
}

/// Warnings about one service.
pub(super) fn of_service(service: &ServicePlan, places: &Places, out: &mut Findings) {
    let path = format!("service.{}", service.name);
    let mut warn = |name, place, message: &str, label: &str| {
        if !places.allow.contains(&name) {
            let finding = out.warning(name, place, format!("{path}: {message}"));
            or_allow(finding.label(label), &path);
        }
    };
    for (check, place) in service.checks.iter().zip(&places.checks) {
        if check.asks_addresses() && check.targets.is_empty() {
            let message = format!("check.{} has no address: it cannot be measured", check.name);
            warn("no-address", *place, &message, "network_resources_used × port_list is empty");
        }
    }
    let first = places.checks.first().copied().unwrap_or(places.header);
    let kinds = || service.counted().map(|check| &check.kind);
    let asks_nothing = kinds().all(|kind| matches!(kind, Kind::Process));
    let connects = |kind: &Kind| match kind.spoken() {
        Kind::Tcp { expect, .. } => expect.is_none(),
        Kind::Talk(talk) => talk.needs_no_answer(),
        kind => matches!(kind, Kind::Process),
    };
    if matches!(service.run, Run::Watched) && !service.policy.gives_over() {
        let message = "neither `unit` nor `start`: failures are only shown and logged";
        warn("watched-only", places.header, message, "say what runs it, or where it is given over");
    }
    if !service.checks.is_empty() && service.counted().next().is_none() {
        let message = "its checks are only observed and count nothing";
        warn("check-cannot-act", first, message, "take observe = true from one of them");
    } else if asks_nothing && !matches!(service.run, Run::Watched) {
        let message = "its end is noticed, but nothing asks it whether it works";
        warn("no-checks", places.header, message, "add a check");
    } else if kinds().all(connects) {
        let message = "a server that hangs still accepts connections, and nothing else is asked";
        warn("tcp-only", first, message, "give it `send` and `expect`");
    }
}

/// Warnings about services beside each other.
pub(super) fn of_all(services: &[(ServicePlan, Places)], out: &mut Findings) {
    let mut owners: HashMap<&Target, usize> = HashMap::new();
    for (number, (service, places)) in services.iter().enumerate() {
        for (check, place) in service.checks.iter().zip(&places.checks) {
            if check.observe || matches!(check.kind.spoken(), Kind::Http(_)) {
                continue; // one web server serves many: the path is what differs
            }
            for target in &check.targets {
                let owner = *owners.entry(target).or_insert(number);
                let Some((other, _)) = services.get(owner).filter(|_| owner != number) else {
                    continue;
                };
                let name = "shared-address";
                if places.allow.contains(&name) {
                    continue;
                }
                let path = format!("service.{}", service.name);
                let message = format!("{path}: service.{} probes the same address", other.name);
                let finding = out.warning(name, *place, message);
                or_allow(finding.label("when it fails, both act"), &path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_warning_is_explained_with_a_remedy() {
        for name in names() {
            let text = explain(name).expect("every name has a text");
            assert!(text.contains("Remedy: ") && text.starts_with(name), "{text}");
            assert!(words::is_name(name), "{name}");
        }
        assert_eq!(explain("no-such-warning"), None);
    }
}
