//! From `[pool.NAME]` to a pool that can be run, or to everything that is wrong with it.

use giveover_core::pool::{Busy, Fall, Settings, SettingsError};
use giveover_core::time::Span;

use super::plan::{Instead, MemberPlan, PoolPlan};
use super::{keys, member, outward};
use crate::config::name;
use crate::config::plan::{CheckPlan, Kind};
use crate::config::reader::{Reader, header};
use crate::config::report::Findings;
use crate::config::tree::{Entry, Node, Table, Value};
use crate::config::values;
use crate::config::words;

/// An agent may be silent for its interval and this, so many times.
const SILENCE: (u64, u64) = (10_000, 3);

/// Reads every pool. Where there are errors some may be missing.
pub(crate) fn read_all(entries: &[Entry], trusted: bool, out: &mut Findings) -> Vec<PoolPlan> {
    let mut pools: Vec<PoolPlan> = Vec::with_capacity(entries.len());
    for entry in entries {
        name::check("pool", entry, out);
        let Some(table) = values::table(&entry.key, &entry.node, out) else { continue };
        let Some(pool) = read(entry, table, trusted, out) else { continue };
        refuse_shared(&pools, &pool, table, out);
        pools.push(pool);
    }
    pools
}

/// Where one pool's page is served, nothing else can listen.
fn refuse_shared(pools: &[PoolPlan], pool: &PoolPlan, table: &Table, out: &mut Findings) {
    let Some(none_left) = &pool.none_left else { return };
    let place = table.find(&["none_left", "listen"]).map(|entry| entry.node.place);
    let Some(place) = place else { return };
    let all = pools.iter().chain([pool]);
    for other in all.clone().filter(|other| other.agent == Some(none_left.listen)) {
        let message = format!("listen: agent checks of pool.{} are answered there", other.name);
        out.error(place, message);
    }
    for other in pools {
        if other.none_left.as_ref().is_some_and(|other| other.listen == none_left.listen) {
            out.error(place, format!("listen: pool.{} listens there", other.name));
        }
    }
}

fn read(entry: &Entry, table: &Table, trusted: bool, out: &mut Findings) -> Option<PoolPlan> {
    let path = format!("pool.{}", entry.key);
    let reader = Reader::new(table, header(entry), path, &[keys::POOL], out);
    let before = out.count();
    let default = Settings::DEFAULT;
    let interval = reader.read("interval", values::positive_span, out).unwrap_or(default.interval);
    let timeout = reader.read("probe_timeout", values::positive_span, out);
    let probe_timeout = timeout.unwrap_or(Span::from_secs(1));
    let members = read_members(&reader, (probe_timeout, interval), out);
    let ladder = ladder(&reader, out);
    let tls = members.first().and_then(|member| {
        let tls = |kind: &Kind| matches!(kind, Kind::Tls(_) | Kind::Hello(_));
        member
            .checks
            .iter()
            .find(|check| tls(&check.kind))
            .map(|check| format!("check.{}", check.name))
    });
    let cut = reader.read("cut", values::boolean, out).unwrap_or(false);
    let none_left = reader
        .entry("none_left")
        .and_then(|it| outward::none_left(it, &entry.key, tls.as_deref(), out));
    let (silence, agent_required) = agents(&reader, &members, &ladder, out);
    let settings = Settings {
        interval,
        rise: reader.read("rise", values::number(1..=16), out).unwrap_or(default.rise),
        fall: reader.entry("fall").and_then(|it| fall(it, out)).unwrap_or(default.fall),
        min_members: min_members(&reader, out),
        busy: reader.entry("busy").and_then(|it| busy(it, out)),
        silence,
        agent_required,
        fallback: none_left.is_some(),
        cut,
        trusted,
    };
    let parallel =
        reader.read("placement", values::one_of(&["inline", "parallel"]), out) == Some(1);
    if parallel {
        refuse_in_parallel(&reader, out);
    }
    let fails = values::one_of(&["service", "member"]);
    let pool = PoolPlan {
        name: entry.key.as_str().into(),
        whole_server: reader.read("any_service_fails", fails, out) == Some(1),
        agent: reader.read("agent", outward::socket, out),
        haproxy: reader.entry("haproxy").and_then(|it| outward::haproxy(it, &entry.key, out)),
        nft: reader.entry("nft").and_then(|it| outward::nft(it, &entry.key, cut, out)),
        ipvs: reader.read("ipvs", outward::socket, out),
        command: reader.read("command", values::argv, out),
        members,
        ladder,
        settings,
        none_left,
        parallel,
    };
    tells_somebody(&reader, out);
    addresses_where_needed(&pool, &reader, out);
    if out.count() != before {
        return None;
    }
    judge(&pool, &reader, out)?;
    Some(pool)
}

/// `(interval + 10 s) × 3`: the source's default window of 48 s for a report each 6 s.
pub(crate) fn silence(heartbeat: Span) -> Span {
    let ms = (u64::from(heartbeat.as_millis()) + SILENCE.0) * SILENCE.1;
    Span::from_millis(u32::try_from(ms).unwrap_or(u32::MAX))
}

/// The silence of an agent that excludes its member, and whether every member must have one.
fn agents(
    reader: &Reader<'_>,
    members: &[MemberPlan],
    ladder: &[u8],
    out: &mut Findings,
) -> (Option<Span>, bool) {
    let heartbeat = reader.read("heartbeat", values::positive_span, out);
    let required = reader.read("agent_required", values::boolean, out).unwrap_or(false);
    let is_agent = |check: &&CheckPlan| matches!(check.kind, Kind::Agent(_));
    let checks = || members.first().into_iter().flat_map(|it| it.checks.iter());
    let place = |name: &str| {
        let found = match reader.entry("check").map(|entry| &entry.node.value) {
            Some(Value::Table(table)) => table.get(name),
            _ => None,
        };
        found.map_or(reader.header, |entry| entry.place)
    };
    if let Some(second) = checks().filter(is_agent).nth(1) {
        let message = format!("check.{}: a member has one agent", second.name);
        out.error(place(&second.name), message).label("it reports several work units");
    }
    if let Some(one) = checks().find(is_agent) {
        let name = |member: &MemberPlan| member.agent().map(|(_, agent)| agent.name.clone());
        let first = members.first().and_then(name);
        if first.is_some() && members.iter().skip(1).any(|it| name(it) == first) {
            let message = format!("check.{}: all members would have the same agent", one.name);
            out.error(place(&one.name), message).label("agent://ADDRESS:PORT/$MEMBER");
        }
    }
    if let Some(rung) =
        ladder.iter().find_map(|rung| checks().nth(usize::from(*rung)).filter(is_agent))
    {
        let message = format!("ladder: `{}` is heard, not asked", rung.name);
        out.error(reader.place("ladder"), message).label("an agent takes its member out by itself");
    }
    let heard = members.first().and_then(|it| it.agent()).map(|(_, agent)| agent.silence());
    if let (Some(_), Some(_), Some(entry)) = (heartbeat, heard, reader.entry("heartbeat")) {
        let message = "heartbeat: the agent check says how often they come";
        out.error(entry.place, message).label("leave it out; `interval` in the check");
    }
    let silence = heartbeat.map(silence).or(heard);
    if let (true, None, Some(entry)) = (required, silence, reader.entry("agent_required")) {
        let message = "agent_required: nobody says how often agents report";
        out.error(entry.place, message).label("`heartbeat`, or a check of kind agent");
    }
    (silence, required)
}

fn read_members(reader: &Reader<'_>, times: (Span, Span), out: &mut Findings) -> Vec<MemberPlan> {
    if !reader.has("member") {
        let finding = out.error(reader.header, format!("{}: has no members", reader.path));
        finding.label("member.NAME = \"HOST:PORT\"").of_absence();
    }
    let checks = reader.entries("check", out);
    if checks.is_empty() {
        let finding =
            out.error(reader.header, format!("{}: nothing looks at its members", reader.path));
        finding.label("check.port = \"tcp\"").of_absence();
    }
    if let Some(one_more) = checks.get(32) {
        out.error(one_more.place, format!("{}: at most 32 checks in one pool", reader.path));
        return Vec::new();
    }
    checks.iter().for_each(|entry| name::check("check", entry, out));
    let mut members = Vec::new();
    let mut wrong = false;
    for mut plan in member::read_all(reader, out) {
        let before = out.count();
        // What is wrong with a check is said once, and not for each member.
        if !wrong {
            plan.checks = member::checks(checks, &plan, &reader.path, times, out)
                .unwrap_or_else(|| Vec::new().into());
            wrong = out.count() != before;
        }
        members.push(plan);
    }
    members
}

/// The rungs by their place; they are names of checks.
fn ladder(reader: &Reader<'_>, out: &mut Findings) -> Vec<u8> {
    let name = |key: &str, node: &Node, out: &mut Findings| {
        values::text(key, node, out).map(|name| (name.to_owned(), node.place))
    };
    let rungs = reader.read("ladder", |k, n, o| values::list(k, n, o, name), out);
    let checks = match reader.entry("check").map(|entry| &entry.node.value) {
        Some(Value::Table(table)) => &table.0[..],
        _ => &[],
    };
    let mut ladder = Vec::new();
    for (name, place) in rungs.unwrap_or_default() {
        let at = checks.iter().position(|check| check.key == name);
        match at.and_then(|at| u8::try_from(at).ok()) {
            Some(at) if ladder.contains(&at) => {
                out.error(place, format!("ladder: `{name}` is named twice"));
            }
            Some(at) => ladder.push(at),
            None => {
                let finding = out.error(place, format!("ladder: no check is called `{name}`"));
                finding.of_absence();
                let names = checks.iter().map(|check| check.key.as_str());
                if let Some(near) = words::nearest(&name, names) {
                    finding.label(format!("did you mean `{near}`?"));
                }
            }
        }
    }
    ladder
}

fn fall(entry: &Entry, out: &mut Findings) -> Option<Fall> {
    let Value::Table(table) = &entry.node.value else {
        return values::number(1..=16)("fall", &entry.node, out).map(Fall::in_a_row);
    };
    let reader = Reader::new(table, entry.place, "fall".to_owned(), &[keys::FALL], out);
    let (count, of) = (
        reader.read("count", values::number(1..=16), out),
        reader.read("of", values::number(1..=16), out),
    );
    if !(reader.has("count") && reader.has("of")) {
        let finding = out.error(entry.place, "fall: needs `count` and `of`");
        finding.label("{ count = 3, of = 5 }: three of the last five").of_absence();
    }
    Some(Fall { count: count?, of: of? })
}

fn busy(entry: &Entry, out: &mut Findings) -> Option<Busy> {
    let Value::Table(table) = &entry.node.value else {
        let from = values::share("busy", &entry.node, out)?;
        return Some(Busy { from, until: from.saturating_sub(20) });
    };
    let reader = Reader::new(table, entry.place, "busy".to_owned(), &[keys::BUSY], out);
    if !reader.has("from") {
        let finding = out.error(entry.place, "busy: needs `from`");
        finding.label("{ from = \"80%\", until = \"60%\" }").of_absence();
    }
    let until = reader.read("until", values::share, out);
    let from = reader.read("from", values::share, out)?;
    Some(Busy { from, until: until.unwrap_or(from.saturating_sub(20)) })
}

fn min_members(reader: &Reader<'_>, out: &mut Findings) -> u8 {
    let usual = u8::from(!reader.has("none_left"));
    reader.read("min_members", values::number(0..=64), out).unwrap_or(usual)
}

/// Beside the traffic nothing can answer for a member: what comes back does not pass here.
fn refuse_in_parallel(reader: &Reader<'_>, out: &mut Findings) {
    for (key, what) in [("none_left", "nothing can be answered"), ("cut", "nothing can be reset")] {
        let Some(entry) = reader.entry(key) else { continue };
        if matches!(entry.node.value, Value::Bool(false)) {
            continue;
        }
        let message = format!("{key}: beside the traffic (placement = \"parallel\") {what}");
        out.error(entry.place, message).label("replies pass this host by; placement = \"inline\"");
    }
}

fn tells_somebody(reader: &Reader<'_>, out: &mut Findings) {
    let ways = ["agent", "haproxy", "nft", "ipvs", "command"];
    if !ways.iter().any(|way| reader.has(way)) {
        let finding =
            out.error(reader.header, format!("{}: nobody is told who is in", reader.path));
        finding.label(format!("it needs one of {}", words::and(ways))).of_absence();
    }
}

/// Kernels know addresses, not names.
fn addresses_where_needed(pool: &PoolPlan, reader: &Reader<'_>, out: &mut Findings) {
    let why = match (pool.settings.cut, &pool.nft, pool.ipvs) {
        (true, _, _) => "cut",
        (_, Some(_), _) => "nft",
        (_, _, Some(_)) => "ipvs",
        _ => return,
    };
    for member in pool.members.iter().filter(|member| member.address().is_none()) {
        let message =
            format!("{why}: member {} is a name, and the kernel knows addresses", member.name);
        out.error(reader.place("member"), message).label("write its address");
    }
    let v6 = |address: std::net::SocketAddr| address.is_ipv6();
    let families: Vec<bool> = pool.members.iter().filter_map(|it| it.address()).map(v6).collect();
    let mixed = families.windows(2).any(|pair| pair[0] != pair[1]);
    if mixed && (pool.nft.is_some() || pool.ipvs.is_some()) {
        let message = format!("{}: IPv4 and IPv6 do not go into one set", reader.path);
        out.error(reader.place("member"), message).label("make two pools of it");
    }
}

/// What the values are together. Each by itself is in range.
fn judge(pool: &PoolPlan, reader: &Reader<'_>, out: &mut Findings) -> Option<()> {
    let setups = vec![giveover_core::pool::Setup::default(); pool.members.len()];
    let now = giveover_core::time::Instant::default();
    match giveover_core::pool::Pool::new(pool.settings, &setups, now) {
        Ok(_) => {}
        Err(error) => {
            let place = reader.place(error.key());
            let key = error.key();
            let finding = out.error(place, format!("{key}: {error}"));
            if let SettingsError::MinMembers { members } = error {
                finding.label(format!("at most {members}"));
            }
            return None;
        }
    }
    let backups = pool.members.iter().all(|member| member.backup);
    if backups {
        let message = format!("{}: every member is a backup", reader.path);
        out.error(reader.place("member"), message).label("of nobody");
        return None;
    }
    if let Some(Instead::Redirect(url)) = pool.none_left.as_ref().map(|it| &it.instead) {
        let own = pool.members.iter().find(|member| url.contains(&member.authority()));
        if let Some(member) = own {
            let message =
                format!("redirect: sends clients to member {}, which is out", member.name);
            out.error(reader.place("none_left"), message);
            return None;
        }
    }
    Some(())
}
