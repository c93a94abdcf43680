//! Every parameter of the source document's watchdog, with its default, and what becomes of it.

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    /// As the document writes it; a number follows where there is one for each other node.
    pub(super) name: &'static str,
    /// What it is where a file does not set it.
    pub(super) default: &'static str,
    /// There is one for each other node.
    pub(super) numbered: bool,
    /// What becomes of it.
    pub(super) becomes: Becomes,
}

/// What becomes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    /// It stands behind this key of ours.
    Key(&'static str),
    /// Behind this key if it can be told what the command does; else the command itself stands
    /// there.
    Command(&'static str),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

const fn key(name: &'static str, default: &'static str, key: &'static str) -> Parameter {
    Parameter { name, default, numbered: false, becomes: Becomes::Key(key) }
}

const fn each(name: &'static str, default: &'static str, key: &'static str) -> Parameter {
    Parameter { name, default, numbered: true, becomes: Becomes::Key(key) }
}

const fn command(name: &'static str, default: &'static str, key: &'static str) -> Parameter {
    Parameter { name, default, numbered: false, becomes: Becomes::Command(key) }
}

const fn nothing(name: &'static str, default: &'static str, why: &'static str) -> Parameter {
    Parameter { name, default, numbered: false, becomes: Becomes::Nothing(why) }
}

/// In the order of the document.
pub(super) const PARAMETERS: [Parameter; 19] = [
    key("use_watchdog", "off", "[cluster], [node.NAME], [group.pgpool]"),
    key("trusted_servers", "", "host.trusted"),
    key("delegate_IP", "", "group.pgpool.addresses"),
    key("wd_hostname", "", "node.NAME"),
    key("wd_port", "9000", "cluster.port"),
    each("other_pgpool_hostname", "", "node.NAME"),
    each("other_pgpool_port", "9999", "group.pgpool.check.query"),
    each("other_wd_port", "9000", "node.NAME.address"),
    nothing(
        "log_statement",
        "off",
        "is pgpool-II's own and stays in its file: what a service logs is no business of ours",
    ),
    key("wd_interval", "10", "cluster.interval"),
    key("wd_life_point", "3", "cluster.life"),
    key("wd_lifecheck_query", "SELECT 1", "group.pgpool.check.query"),
    nothing("ping_path", "/bin", "no program is run: echo requests are sent by giveover itself"),
    command("ifconfig_path", "/sbin", "group.pgpool.up, .down"),
    command(
        "if_up_cmd",
        "ifconfig eth0:0 inet $_IP_$ netmask 255.255.255.0",
        "group.pgpool.interface, .label, .addresses",
    ),
    command("if_down_cmd", "ifconfig eth0:0 down", "group.pgpool.interface, .label"),
    command("arping_path", "/usr/sbin", "group.pgpool.announce"),
    command("arping_cmd", "arping -U $_IP_$ -w 1", "group.pgpool.announce"),
    // Not the watchdog's, but whom it asks.
    key("port", "9999", "group.pgpool.check.query"),
];

/// The parameter `name` of the document, however its letters are written; with its number, where
/// it has one.
pub(super) fn find(name: &str) -> Option<(&'static Parameter, Option<u32>)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name.get(stem.len()..).and_then(|digits| digits.parse().ok());
    PARAMETERS.iter().find_map(|parameter| {
        let wanted = if parameter.numbered { stem } else { name };
        let number = number.filter(|_| parameter.numbered);
        let found =
            parameter.name.eq_ignore_ascii_case(wanted) && parameter.numbered == number.is_some();
        found.then_some((parameter, number))
    })
}

/// What `name` has as its default.
pub(super) fn default(name: &str) -> &'static str {
    let found = PARAMETERS.iter().find(|it| it.name.eq_ignore_ascii_case(name));
    found.map_or("", |parameter| parameter.default)
}

/// Why a parameter of a later pgpool-II's watchdog is not taken over; `None` where it is none.
pub(super) fn of_later(name: &str) -> Option<&'static str> {
    const LATER: [(&str, &str); 11] = [
        ("wd_authkey", "frames are signed with the key of cluster.key instead"),
        ("wd_priority", "write node.NAME.priority; the higher goes first of two of one age"),
        ("wd_escalation_command", "write group.pgpool.on_active, a list of words"),
        ("wd_de_escalation_command", "write group.pgpool.on_standby, a list of words"),
        ("wd_lifecheck_method", "nodes are judged by heartbeats and by the check of the group"),
        ("wd_heartbeat", "write cluster.heartbeat and cluster.wait"),
        ("heartbeat_", "heartbeats use the address and port of [node.NAME]"),
        ("wd_", "is of a later pgpool-II than 3.2 and has nothing of ours to become"),
        ("failover_", "is about pgpool-II's own backends"),
        ("hostname", "write [node.NAME] address"),
        ("enable_consensus_with_half_votes", "half of the votes never suffice"),
    ];
    LATER.into_iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, why)| why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_by_its_name_and_number() {
        let found = |name| find(name).map(|(parameter, number)| (parameter.name, number));
        assert_eq!(found("delegate_ip"), Some(("delegate_IP", None)));
        assert_eq!(found("other_wd_port12"), Some(("other_wd_port", Some(12))));
        assert_eq!(found("other_wd_port"), None);
        assert_eq!(found("wd_port1"), None);
        assert_eq!(found("other_wd_port99999999999"), None);
        assert_eq!(found("backend_hostname0"), None);
        assert_eq!(default("delegate_ip"), "");
        assert_eq!(default("wd_interval"), "10");
        assert!(of_later("wd_authkey").is_some() && of_later("backend_port0").is_none());
    }
}
