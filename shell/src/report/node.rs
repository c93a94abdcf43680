//! `giveover node status`: who is active, a line a node, and what follows if one dies.

use super::model::{CheckDoc, EtcdDoc, GroupDoc, NodeDoc, PromotionDoc, SharedMemberDoc};
use super::paint::Paint;
use super::table::{Column, Edge, Table, WIDTH, cut};
use crate::message::span;

const COLUMNS: [Column; 7] = [
    ("NODE", Edge::Left),
    ("ROLE", Edge::Left),
    ("ADDRESS", Edge::Left),
    ("HEARD", Edge::Right),
    ("LIFE", Edge::Left),
    ("CHECKS", Edge::Left),
    ("REFUSED FRAMES", Edge::Left),
];

/// The columns that give way on a narrow screen: the checks, the address, the name.
const SOFT: [usize; 3] = [5, 2, 0];

/// The screen for a terminal.
#[must_use]
pub fn screen(groups: &[GroupDoc], paint: Paint) -> String {
    let mut lines = Vec::new();
    for group in groups {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(section(group, paint));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn section(group: &GroupDoc, paint: Paint) -> Vec<String> {
    let mut lines = vec![heading(group, paint), String::new()];
    let mut table = Table::new(&COLUMNS, &SOFT);
    for node in &group.nodes {
        table.row(cells(node));
    }
    lines.extend(table.lines(WIDTH, |_, _, text| text));
    lines.push(String::new());
    for node in &group.nodes {
        lines.extend(trouble(node).map(|text| paint.alarm(&cut(&text, WIDTH))));
    }
    if group.two_holders {
        let text = "quorum = \"trusted\": TWO HOLDERS when only the link between nodes is cut";
        lines.push(paint.alarm(text));
    }
    if group.strangers > 0 {
        lines.push(format!("strangers  {} frames of nobody known dropped", group.strangers));
    }
    lines.extend(etcd(group, paint));
    if group.trusted > 0 {
        lines.push(cut(&trusted(group), WIDTH));
    }
    if let Some(may) = &group.may_give {
        lines.push(cut(&format!("{may}; failback is manual"), WIDTH));
    }
    lines.extend(shared(group).map(|text| cut(&text, WIDTH)));
    lines.push(cut(&outlook(group), WIDTH));
    lines
}

/// `trusted  2 of 2 answer: 10.0.0.254 1ms, 10.0.0.53:53 1ms`
fn trusted(group: &GroupDoc) -> String {
    let server = |check: &CheckDoc| match &*check.outcome {
        "healthy" => format!("{} {}ms", check.name, check.ms),
        _ => format!("{} {}", check.name, check.cause),
    };
    let servers: Vec<String> = group.trusted_servers.iter().map(server).collect();
    let colon = if servers.is_empty() { "" } else { ": " };
    let (answering, all) = (group.trusted_answering, group.trusted);
    format!("trusted  {answering} of {all} answer{colon}{}", servers.join(", "))
}

/// `etcd  2 of 3 answer: http://10.0.0.5:2379 1ms, asked`, and a line for each that does not.
fn etcd(group: &GroupDoc, paint: Paint) -> Vec<String> {
    if group.etcd.is_empty() {
        return Vec::new();
    }
    let well: Vec<&EtcdDoc> = group.etcd.iter().filter(|it| it.answers).collect();
    let member = |it: &&EtcdDoc| {
        let took = it.took_ms.map_or_else(String::new, |ms| format!(" {ms}ms"));
        format!("{}{took}{}", it.url, if it.asked { ", asked" } else { "" })
    };
    let all: Vec<String> = well.iter().map(member).collect();
    let colon = if all.is_empty() { "" } else { ": " };
    let text =
        format!("etcd  {} of {} answer{colon}{}", well.len(), group.etcd.len(), all.join("; "));
    let enough = well.len() * 2 > group.etcd.len();
    let text = cut(&text, WIDTH);
    let mut lines = vec![if enough { text } else { paint.alarm(&text) }];
    let bad = group.etcd.iter().filter(|it| !it.answers);
    lines.extend(bad.map(|it| {
        let why = it.why.as_deref().unwrap_or("not asked yet");
        cut(&format!("{}: {why}", it.url), WIDTH)
    }));
    lines
}

/// `pool db, command 7.2   0 a 10.0.0.11:5432 state 3 detached   1 b 10.0.0.12:5432 state 2 primary`
fn shared(group: &GroupDoc) -> impl Iterator<Item = String> {
    let pool = group.pool.as_ref().map(|pool| {
        let members = pool.members.iter().map(|member| {
            let SharedMemberDoc { index, name, address, state, detached } = member;
            let more = if *detached { " detached" } else { "" };
            let first = if pool.primary.as_ref() == Some(name) { " primary" } else { "" };
            format!("   {index} {name} {address} state {state}{more}{first}")
        });
        format!("pool {}, command {}{}", pool.name, pool.command, members.collect::<String>())
    });
    let recovery = group.recovery.as_ref().map(|recovery| {
        let left = span::compact(recovery.left_ms);
        let by = &recovery.by;
        format!("recovery  no node takes new connections; begun on {by}, ends by itself in {left}")
    });
    let promotion = group.pool.as_ref().and_then(|pool| pool.promotion.as_ref()).and_then(promoted);
    [pool, promotion, recovery].into_iter().flatten()
}

/// What of a promotion a person has to see to.
fn promoted(promotion: &PromotionDoc) -> Option<String> {
    let PromotionDoc { member, command, state, why } = promotion;
    let how = match state.as_str() {
        "owed" => "has yet to run".to_owned(),
        "running" => "runs".to_owned(),
        "failed" => format!("FAILED: {}", why.as_deref().unwrap_or("nobody knows how")),
        "cut_short" => "CUT SHORT by an end of the daemon, and not run again".to_owned(),
        _ => return None, // done
    };
    Some(format!("promotion  of {member}, command {command}: {how}"))
}

/// `front   active here for 3d, term 7, 2 of 3 votes   10.0.0.10/24 on eth0, lease 5s, renewed 0.8s ago`
fn heading(group: &GroupDoc, paint: Paint) -> String {
    let name = &group.name;
    let length = span::compact(group.for_ms);
    let text = match (group.role.as_str(), group.active.as_deref()) {
        ("active", _) => {
            let mut text = format!("{name}   active here for {length}, term {}", group.term);
            if group.etcd.is_empty() && group.grant_left_ms.is_some() {
                text += &format!(", {} of {} votes", group.votes, group.members);
            }
            if !group.addresses.is_empty() {
                text += &format!("   {}", group.addresses.join(", "));
                if let Some(interface) = &group.interface {
                    text += &format!(" on {interface}");
                }
            }
            if let Some(left) = group.grant_left_ms {
                let lease = span::compact(group.lease_ms);
                let ago = tenths(group.lease_ms.saturating_sub(left));
                let gap = if group.addresses.is_empty() { "   " } else { ", " };
                text += &format!("{gap}lease {lease}, renewed {ago} ago");
            }
            if !group.holds {
                text += "   COMING UP";
            }
            text
        }
        (role, Some(active)) => {
            format!("{name}   {role} here for {length}, active on {active}, term {}", group.term)
        }
        (role, None) => {
            let text = format!("{name}   {role} here for {length}, ACTIVE NOWHERE that is heard");
            return paint.alarm(&cut(&text, WIDTH));
        }
    };
    cut(&text, WIDTH)
}

fn cells(node: &NodeDoc) -> Vec<String> {
    let role = match node.witness {
        true => "witness".to_owned(),
        false if !node.me && node.heard_ms.is_none() => "not seen".to_owned(),
        false if !node.me && !node.alive => format!("silent, was {}", node.role),
        false => node.role.clone(),
    };
    let refused = node.garbage + node.unauthentic + node.repeated + node.over_budget;
    let host = if node.host.contains(':') { format!("[{}]", node.host) } else { node.host.clone() };
    vec![
        format!("{}{}", node.name, if node.me { " *" } else { "" }),
        role,
        format!("{host}:{}", node.port),
        node.heard_ms.map_or_else(|| "-".to_owned(), tenths),
        match node.witness {
            true => "-".to_owned(),
            false => format!("{} of {}", node.life, node.life_of),
        },
        checks(node),
        if node.me { "-".to_owned() } else { refused.to_string() },
    ]
}

/// `front 200 1ms`
fn checks(node: &NodeDoc) -> String {
    let words = |check: &CheckDoc| match &*check.outcome {
        "none" => format!("{} -", check.name),
        "unmeasured" => format!("{} ? {}", check.name, check.cause),
        _ => [&check.name, &check.cause, &format!("{}ms", check.ms)]
            .into_iter()
            .filter(|part| !part.is_empty())
            .cloned()
            .collect::<Vec<_>>()
            .join(" "),
    };
    let words: Vec<String> = node.checks.iter().map(words).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

/// `0.6s`, and from ten seconds on as everywhere.
fn tenths(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => span::compact(ms),
    }
}

/// Why a node is not heard, or not accepted.
fn trouble(node: &NodeDoc) -> impl Iterator<Item = String> {
    let refused = node.refused.as_ref().map(|why| format!("{}: REFUSED: {why}", node.name));
    let why = node.why_text.as_ref().map(|why| format!("{}: {why}", node.name));
    let fails = node.checks.iter().filter(|check| check.fails());
    let checks = fails.map(|check| format!("{}: {} {}", node.name, check.name, check.cause));
    [refused, why].into_iter().flatten().chain(checks)
}

/// What follows if the active dies.
fn outlook(group: &GroupDoc) -> String {
    let who = match (group.role.as_str(), group.active.as_deref()) {
        ("active", _) => "this node",
        (_, Some(active)) => active,
        (_, None) => return "nobody is active".to_owned(),
    };
    let stands = |node: &&NodeDoc| !node.witness && node.alive && node.role == "standby";
    let next = group.nodes.iter().find(stands).map(|node| node.name.as_str());
    match (group.takeover_ms, next) {
        (Some(ms), Some(next)) if !group.etcd.is_empty() => {
            let most = span::compact(ms);
            format!("if {who} dies: {next} takes over within {most}: its lease in etcd, then wait")
        }
        (Some(_), Some(next)) => {
            // What is promised; the turns of others and an interval's checks are in it.
            let sum = group.wait_ms + group.interval_ms + 1000;
            let (wait, interval) = (span::compact(group.wait_ms), span::compact(group.interval_ms));
            let sum = span::compact(sum);
            format!(
                "if {who} dies: {next} takes over within {wait} wait + {interval} interval + 1s = {sum}"
            )
        }
        (_, None) => format!("if {who} dies: NOBODY can take over now"),
        (None, Some(next)) => {
            format!("if {who} dies: somebody must say `giveover node switch --force` on {next}")
        }
    }
}

/// A line a node for other programs: tab-separated, no header, the group's name first.
#[must_use]
pub fn plain(groups: &[GroupDoc]) -> String {
    let mut text = String::new();
    for group in groups {
        for node in &group.nodes {
            text += &format!("{}\t{}\n", group.name, cells(node).join("\t"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::{RecoveryDoc, SharedDoc};

    fn node(name: &str, role: &str) -> NodeDoc {
        NodeDoc {
            name: name.to_owned(),
            host: "10.0.0.1".to_owned(),
            port: 9706,
            role: role.to_owned(),
            alive: true,
            life: 3,
            life_of: 3,
            heard_ms: Some(600),
            ..NodeDoc::default()
        }
    }

    fn check(name: &str, cause: &str, ms: u32) -> CheckDoc {
        CheckDoc {
            name: name.to_owned(),
            outcome: "healthy".to_owned(),
            cause: cause.to_owned(),
            ms,
            ..CheckDoc::default()
        }
    }

    #[test]
    fn an_active_with_a_standby_and_one_that_was_never_seen() {
        let mut me = node("gw-a", "active");
        me.checks = vec![check("front", "200", 1)];
        let mut gw_b = node("gw-b", "standby");
        gw_b.checks = vec![check("front", "200", 2)];
        let member = |index, name: &str, address: &str, state| SharedMemberDoc {
            index,
            name: name.to_owned(),
            address: address.to_owned(),
            state,
            detached: state == 3,
        };
        let pool = SharedDoc {
            name: "db".to_owned(),
            command: "7.2".to_owned(),
            primary: Some("b".to_owned()),
            promotion: Some(PromotionDoc {
                member: "b".to_owned(),
                command: "7.2".to_owned(),
                state: "cut_short".to_owned(),
                why: None,
            }),
            members: vec![member(0, "a", "10.0.0.11:5432", 3), member(1, "b", "10.0.0.12:5432", 2)],
        };
        (me.me, me.heard_ms) = (true, None);
        let mut door = node("door", "init");
        (door.witness, door.alive, door.heard_ms) = (true, false, None);
        door.why_text = Some("refused: nothing listens on its port".to_owned());
        let failing = CheckDoc {
            name: "page".to_owned(),
            outcome: "complete".to_owned(),
            cause: "connection refused".to_owned(),
            ..CheckDoc::default()
        };
        let observed = CheckDoc { observed: true, ..failing.clone() };
        gw_b.checks.extend([failing, observed, CheckDoc::default()]);
        let group = GroupDoc {
            name: "front".to_owned(),
            role: "active".to_owned(),
            for_ms: 3 * 86_400_000,
            term: 7,
            votes: 2,
            members: 3,
            holds: true,
            lease_ms: 5000,
            grant_left_ms: Some(4200),
            takeover_ms: Some(9000),
            wait_ms: 8000,
            interval_ms: 10_000,
            addresses: vec!["10.0.0.10/24".to_owned()],
            interface: Some("eth0".to_owned()),
            trusted_answering: 2,
            trusted: 2,
            trusted_servers: vec![check("10.0.0.254", "reply", 1), check("10.0.0.53:53", "", 2)],
            may_give: Some("giveover of front to gw-b is allowed now".to_owned()),
            nodes: vec![me, gw_b, door],
            pool: Some(pool),
            recovery: Some(RecoveryDoc { by: "gw-b".to_owned(), left_ms: 42_000 }),
            ..GroupDoc::default()
        };
        let text = screen(std::slice::from_ref(&group), Paint::new(false));
        let expected = "\
front   active here for 3d, term 7, 2 of 3 votes   10.0.0.10/24 on eth0, lease 5s, renewed 0.8s ago

NODE    ROLE     ADDRESS        HEARD  LIFE    CHECKS                                 REFUSED FRAMES
gw-a *  active   10.0.0.1:9706      -  3 of 3  front 200 1ms                          -
gw-b    standby  10.0.0.1:9706   0.6s  3 of 3  front 200 2ms, page connection refus…  0
door    witness  10.0.0.1:9706      -  -       -                                      0

gw-b: page connection refused
door: refused: nothing listens on its port
trusted  2 of 2 answer: 10.0.0.254 1ms, 10.0.0.53:53 2ms
giveover of front to gw-b is allowed now; failback is manual
pool db, command 7.2   0 a 10.0.0.11:5432 state 3 detached   1 b 10.0.0.12:5432 state 2 primary
promotion  of b, command 7.2: CUT SHORT by an end of the daemon, and not run again
recovery  no node takes new connections; begun on gw-b, ends by itself in 42s
if this node dies: gw-b takes over within 8s wait + 10s interval + 1s = 19s
";
        assert_eq!(text, expected);
        assert_eq!(plain(&[group]).lines().count(), 3);
    }

    #[test]
    fn etcds_members_are_told_with_what_is_wrong() {
        let member = |url: &str, why: Option<&str>| EtcdDoc {
            url: url.to_owned(),
            answers: why.is_none(),
            took_ms: Some(2),
            why: why.map(str::to_owned),
            ..EtcdDoc::default()
        };
        let first = EtcdDoc { asked: true, ..member("http://10.0.0.5:2379", None) };
        let group = GroupDoc {
            name: "front".to_owned(),
            role: "active".to_owned(),
            term: 41,
            votes: 1,
            members: 2,
            holds: true,
            lease_ms: 5000,
            grant_left_ms: Some(4500),
            takeover_ms: Some(20_000),
            nodes: vec![NodeDoc { me: true, ..node("a", "active") }, node("b", "standby")],
            etcd: vec![
                first,
                member("http://10.0.0.6:2379", None),
                member("http://10.0.0.7:2379", Some("refused: nothing listens there")),
            ],
            ..GroupDoc::default()
        };
        let text = screen(std::slice::from_ref(&group), Paint::new(false));
        for line in [
            "front   active here for 0s, term 41   lease 5s, renewed 0.5s ago",
            "etcd  2 of 3 answer: http://10.0.0.5:2379 2ms, asked; http://10.0.0.6:2379 2ms",
            "http://10.0.0.7:2379: refused: nothing listens there",
            "if this node dies: b takes over within 20s: its lease in etcd, then wait",
        ] {
            assert!(text.lines().any(|it| it == line), "no `{line}` in:\n{text}");
        }
    }
}
