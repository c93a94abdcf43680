//! Pools of a world: `[pool.NAME]`, its members, and what of it is expected.

use std::sync::Arc;

use giveover_core::pool::{NoneLeft, Pool, Settings, Setup, Start};
use giveover_core::time::{Instant, Span};

use super::Range;
use super::read::range_or;
use crate::config::name;
use crate::config::reader::{Reader, header};
use crate::config::report::Findings;
use crate::config::scenario::pool::{POOL, settings};
use crate::config::schema::{Key, key};
use crate::config::tree::{Entry, Node};
use crate::config::{values, words};

/// One pool, whose members stand outside of this host.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolPlan {
    /// Its name.
    pub name: Arc<str>,
    /// The members' names.
    pub members: Vec<Arc<str>>,
    /// What is known of each when it begins: all are in.
    pub setups: Vec<Setup>,
    /// Counts and limits, found possible.
    pub settings: Settings,
    /// How often each member's agent reports, if they have agents.
    pub heartbeat: Option<Span>,
    /// How long a cycle over one member takes.
    pub probe_takes: Range,
}

/// What should be so of a pool at some time: members by their places, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolExpect {
    /// The pool of this place.
    pub pool: usize,
    /// Who is shown so, by the word for it.
    pub faces: Vec<(&'static str, Vec<usize>)>,
    /// Why clients are served something else, if they are.
    pub fallback: Option<Option<NoneLeft>>,
    /// Whether membership stands still.
    pub frozen: Option<bool>,
}

/// The words for what a balancer is shown of a member.
pub(super) const FACES: [&str; 6] = ["in", "out", "standby", "busy", "drained", "kept"];

const OURS: &[Key] = &[
    key("members", "list of names", "", "the members"),
    key("backup", "list of names", "[]", "the backups among them"),
    key("probe_takes", "duration, or two", "\"10ms\"", "how long a cycle over a member takes"),
];

/// Reads one pool. `trusted`: there are trusted servers in this world.
pub(super) fn pool(entry: &Entry, trusted: bool, out: &mut Findings) -> Option<PoolPlan> {
    name::check("pool", entry, out);
    let count = out.count();
    let table = values::table(&entry.key, &entry.node, out)?;
    let path = format!("pool.{}", entry.key);
    let reader = Reader::new(table, header(entry), path, &[OURS, POOL], out);
    if !reader.has("members") {
        let finding = out.error(reader.header, "this pool has no `members`");
        finding.of_absence().label("members = [\"a\", \"b\"]");
    }
    if reader.has("trusted") {
        let finding = out.error(reader.place("trusted"), "trusted: that is said in [host]");
        finding.label("trusted = 2 there are two trusted servers");
    }
    let members = reader.read("members", |k, n, o| values::list(k, n, o, text), out);
    let members = members.unwrap_or_default();
    let mut setups = vec![Setup { start: Start::In, ..Setup::default() }; members.len()];
    let one = |key: &str, node: &Node, out: &mut Findings| member(key, node, &members, out);
    let backups = reader.read("backup", |k, n, o| values::list(k, n, o, one), out);
    for place in backups.unwrap_or_default() {
        if let Some(setup) = setups.get_mut(place) {
            setup.backup = true;
        }
    }
    let (read, _) = settings(&reader, out);
    let usual = if read.fallback { 0 } else { Settings::DEFAULT.min_members };
    let min_members = if reader.has("min_members") { read.min_members } else { usual };
    let settings = Settings { min_members, trusted, ..read };
    if out.count() == count {
        if let Err(error) = Pool::new(settings, &setups, Instant::default()) {
            out.error(reader.place(error.key()), format!("{}: {error}", error.key()));
        }
    }
    let plan = PoolPlan {
        name: entry.key.as_str().into(),
        members,
        setups,
        settings,
        heartbeat: reader.read("heartbeat", values::positive_span, out),
        probe_takes: range_or(&reader, "probe_takes", Range { least: 10, most: 10 }, out),
    };
    (out.count() == count).then_some(plan)
}

fn text(key: &str, node: &Node, out: &mut Findings) -> Option<Arc<str>> {
    values::name(key, node, out).map(Arc::from)
}

/// The member that is called so.
fn member(key: &str, node: &Node, members: &[Arc<str>], out: &mut Findings) -> Option<usize> {
    let name = values::text(key, node, out)?;
    let place = members.iter().position(|known| **known == *name);
    if place.is_none() {
        let finding = out.error(node.place, format!("{key}: no member is called `{name}`"));
        finding.of_absence();
        if let Some(near) = words::nearest(name, members.iter().map(|it| &**it)) {
            finding.label(format!("did you mean `{near}`?"));
        }
    }
    place
}

/// `"web/a"`: a pool and its member.
pub(super) fn member_of(
    key: &str,
    node: &Node,
    pools: &[PoolPlan],
    out: &mut Findings,
) -> Option<(usize, usize)> {
    let text = values::text(key, node, out)?;
    let found = text.split_once('/').and_then(|(pool, member)| {
        let place = pools.iter().position(|known| *known.name == *pool)?;
        let members = &pools.get(place)?.members;
        Some((place, members.iter().position(|known| **known == *member)?))
    });
    if found.is_none() {
        let all = pools.iter().flat_map(|pool| {
            pool.members.iter().map(move |member| format!("{}/{member}", pool.name))
        });
        let all: Vec<String> = all.collect();
        let finding = out.error(node.place, format!("{key}: no member is called `{text}`"));
        finding.of_absence();
        match words::nearest(text, all.iter().map(String::as_str)) {
            Some(near) => finding.label(format!("did you mean `{near}`?")),
            None => finding.label("a pool and a member of it, \"POOL/MEMBER\""),
        };
    }
    found
}

/// What is expected of a pool; `None` where nothing is.
pub(super) fn expected(
    reader: &Reader<'_>,
    pools: &[PoolPlan],
    out: &mut Findings,
) -> Option<PoolExpect> {
    let keys = FACES.iter().chain(&["fallback", "frozen"]);
    let about = keys.filter_map(|key| reader.entry(key)).next();
    let named = |key: &str, node: &Node, out: &mut Findings| {
        let name = values::text(key, node, out)?;
        let place = pools.iter().position(|known| *known.name == *name);
        if place.is_none() {
            let finding = out.error(node.place, format!("{key}: no pool is called `{name}`"));
            finding.of_absence();
            if let Some(near) = words::nearest(name, pools.iter().map(|pool| &*pool.name)) {
                finding.label(format!("did you mean `{near}`?"));
            }
        }
        place
    };
    let pool = reader.read("pool", named, out);
    let only = (pools.len() == 1 && !reader.has("pool")).then_some(0);
    let Some(pool) = pool.or(only) else {
        if let (Some(entry), false) = (about, reader.has("pool")) {
            let finding = out.error(entry.place, format!("{}: of which pool?", entry.key));
            finding.label("pool = \"NAME\"");
        }
        return None;
    };
    about?;
    let members = pools.get(pool).map(|plan| plan.members.as_slice()).unwrap_or_default();
    let one = |key: &str, node: &Node, out: &mut Findings| member(key, node, members, out);
    let mut faces = Vec::new();
    for word in FACES {
        if let Some(mut places) = reader.read(word, |k, n, o| values::list(k, n, o, one), out) {
            places.sort_unstable();
            faces.push((word, places));
        }
    }
    const FALLBACKS: &[&str] = &["none", "nobody_in", "all_busy"];
    let reasons = [None, Some(NoneLeft::NobodyIn), Some(NoneLeft::AllBusy)];
    let fallback = reader.read("fallback", values::one_of(FALLBACKS), out);
    Some(PoolExpect {
        pool,
        faces,
        fallback: fallback.and_then(|place| reasons.get(place).copied()),
        frozen: reader.read("frozen", values::boolean, out),
    })
}
