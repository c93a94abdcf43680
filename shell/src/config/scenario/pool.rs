//! Scenarios of pools: members, what becomes of them, and who should be in.
//!
//! A file may hold `[[pool_scenario]]` beside its `[[scenario]]`:
//!
//! | key | |
//! |---|---|
//! | `name` | what people call it |
//! | `members`, `backup` | the names of the members; those of them that are backups |
//! | `ladder` | the names of the checks, tried in this order; one check unless written |
//! | `pool` | the keys of `[pool.NAME]` that decide, and `trusted = true`; `none_left = true` |
//! | `out` | members that were out when the monitor began; the others are known to be in |
//! | `step` | `[[pool_scenario.step]]`: `at`, one input, and optionally `expect` |
//!
//! Cycles run at the pool's interval, and their checks find what `check` said last. Trusted
//! servers are asked every 10 s, and when the pool wants to know.

use std::path::Path;
use std::sync::Arc;

use giveover_core::pool::{Busy, Fall, Settings, Setup, Start};
use giveover_core::time::{Instant, Span};
use serde_json::{Value as Json, json};

use crate::config::files::Files;
use crate::config::reader::Reader;
use crate::config::report::{Findings, Report};
use crate::config::schema::{Key, key};
use crate::config::source::{Place, Sources};
use crate::config::tree::{Entry, Node, Table, Value};
use crate::config::values;
use crate::config::words;
use crate::config::{quantity, scenario};

/// One timeline of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolScenario {
    /// What people call it.
    pub name: String,
    /// The members' names.
    pub members: Vec<String>,
    /// What is known of each when it begins.
    pub setups: Vec<Setup>,
    /// The checks' names.
    pub ladder: Vec<String>,
    /// Counts and limits, found possible.
    pub settings: Settings,
    /// `any_service_fails = "member"`.
    pub whole_server: bool,
    /// What happens, in order of time.
    pub steps: Vec<PoolStep>,
}

/// One moment.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolStep {
    /// When.
    pub at: Instant,
    /// The line of the file it begins on.
    pub line: usize,
    /// What happens.
    pub input: PoolInput,
    /// As it is written.
    pub written: Json,
    /// What should be so afterwards: keys of [`EXPECT`] with their values.
    pub expect: Vec<(&'static str, Json)>,
}

/// What happens to a pool.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolInput {
    /// Time has passed.
    Tick,
    /// From now on these checks (member, check) find this.
    Check(Vec<(usize, usize, Finds)>),
    /// An agent reports: member, load, a failed work unit.
    Agent(Vec<(usize, Option<u8>, bool)>),
    /// Nobody could be heard up to now, and that was us.
    Deaf,
    /// Another service of a member's server fails, or is well.
    Elsewhere(Vec<(usize, bool)>),
    /// Trusted servers answer from now on, or do not.
    Trusted(bool),
    /// Our own way out is there, or not: without it every check fails, and no trusted server answers.
    Link(bool),
    /// A person drains a member.
    Drain {
        /// Which.
        member: usize,
        /// For how long.
        length: Option<Span>,
        /// When its connections are cut.
        cut_after: Option<Span>,
    },
    /// A person ends that.
    Enable(usize),
    /// The monitor is begun again; what it knew of the members is known.
    Restart,
}

/// What a check finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finds {
    /// What.
    pub what: Found,
    /// So long after it was begun.
    pub after: Span,
}

/// What a check finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is healthy.
    Ok,
    /// It has failed.
    Fails,
    /// It has failed, and nothing is counted.
    Immediate,
    /// It could not run.
    Unmeasured,
    /// We were not running.
    Void,
}

impl Finds {
    /// Healthy, at once.
    pub const OK: Self = Self { what: Found::Ok, after: Span::ZERO };
}

const WORDS: [(&str, Found); 5] = [
    ("ok", Found::Ok),
    ("fails", Found::Fails),
    ("immediate", Found::Immediate),
    ("unmeasured", Found::Unmeasured),
    ("void", Found::Void),
];

const SCENARIO: &[Key] = &[
    key("name", "text", "", "what people call it"),
    key("members", "list of names", "", "the members"),
    key("backup", "list of names", "", "the backups among them"),
    key("ladder", "list of names", "", "the checks"),
    key("pool", "table", "", "counts and limits"),
    key("out", "list of names", "", "members that are out when it begins"),
    key("step", "tables", "", "what happens"),
];

/// What decides, as in a configuration.
pub(in crate::config) const POOL: &[Key] = &[
    key("interval", "duration", "", "from cycle to cycle"),
    key("rise", "1 to 16", "", "healthy cycles that bring a member back"),
    key("fall", "1 to 16, or { count, of }", "", "failed cycles that exclude it"),
    key("min_members", "a number", "", "so many stay in"),
    key("heartbeat", "duration", "", "how often agents report"),
    key("agent_required", "true or false", "", "who was never heard is silent too"),
    key("busy", "{ from, until }", "", "the load from which a member is busy"),
    key("none_left", "true or false", "", "something acts when none is left"),
    key("cut", "true or false", "", "connections are cut"),
    key("trusted", "true or false", "", "there are trusted servers"),
    key("any_service_fails", "service, member", "", "one takes the whole server out"),
];

const STEP: &[Key] = &[
    key("at", "duration", "", "when, since the beginning"),
    key("expect", "table", "", "what should be so afterwards"),
];

const INPUTS: &[Key] = &[
    key("tick", "true", "", "time has passed"),
    key("check", "a word, or { MEMBER = word or { CHECK = word } }", "", "what checks find"),
    key("agent", "{ MEMBER = { load, failed } }", "", "an agent reports"),
    key("deaf", "true", "", "no agent could be heard up to now, and that was us"),
    key("elsewhere", "{ MEMBER = \"fails\" or \"ok\" }", "", "another service of its server"),
    key("trusted", "\"answer\" or \"silent\"", "", "trusted servers"),
    key("link", "\"up\" or \"down\"", "", "our own way out"),
    key("drain", "{ member, for, cut_after }", "", "a person drains a member"),
    key("enable", "a member", "", "a person ends that"),
    key("restart", "\"monitor\"", "", "the monitor is begun again"),
];

/// The keys of `expect`.
pub const EXPECT: [&str; 13] = [
    "in",
    "out",
    "standby",
    "busy",
    "drained",
    "kept",
    "cut",
    "fallback",
    "frozen",
    "health",
    "why",
    "not_evaluated",
    "late",
];

/// What a pool is shown as, here and in worlds.
pub(in crate::config) const SHOWN: &[Key] = &[
    key("in", "list of members", "", "who takes work"),
    key("out", "list of members", "", "who is excluded"),
    key("standby", "list of members", "", "who is in reserve"),
    key("busy", "list of members", "", "who gets nothing new, because all are busy"),
    key("drained", "list of members", "", "whom a person drains"),
    key("kept", "list of members", "", "whom the floor keeps in"),
    key("fallback", "none, nobody_in, all_busy", "", "why clients are served something else"),
    key("frozen", "true or false", "", "membership stands still"),
];

const EXPECTED: &[Key] = &[
    key("cut", "list of members", "", "whose connections were cut since the step before"),
    key("health", "{ MEMBER = number }", "", "HAProxy's count"),
    key("why", "{ MEMBER = word }", "", "checks, work_unit, silent, elsewhere or returning"),
    key("not_evaluated", "{ MEMBER = list of checks }", "", "rungs that were not tried"),
    key("late", "{ MEMBER = number }", "", "cycles that took longer than the interval"),
];

/// Reads the pool scenarios of the file at `path`; there may be none.
///
/// # Errors
/// Everything that is wrong with them, in the order of the text.
pub fn load(path: &Path) -> Result<Vec<PoolScenario>, Report> {
    let mut out = Findings::default();
    let files = Files::alone(path, &mut out);
    scenarios(files, out)
}

/// Reads the pool scenarios of `text`, called `name` in messages; there may be none.
///
/// # Errors
/// As [`load`].
pub fn load_str(name: &str, text: &str) -> Result<Vec<PoolScenario>, Report> {
    let mut out = Findings::default();
    let files = Files::of_text(name, text, &mut out);
    scenarios(files, out)
}

fn scenarios(files: Files, mut out: Findings) -> Result<Vec<PoolScenario>, Report> {
    let mut read = Vec::new();
    if let Some(entry) = files.root.get("pool_scenario") {
        let each = |key: &str, node: &Node, out: &mut Findings| {
            let table = values::table(key, node, out)?;
            one(table, node.place, &files.sources, out)
        };
        read = values::list("pool_scenario", &entry.node, &mut out, each).unwrap_or_default();
    }
    let sources = Arc::new(files.sources);
    out.forgive(&sources);
    let (errors, _) = out.into_reports(&sources);
    if errors.is_empty() { Ok(read) } else { Err(errors) }
}

fn one(table: &Table, place: Place, sources: &Sources, out: &mut Findings) -> Option<PoolScenario> {
    let before = out.count();
    let reader = Reader::new(table, place, "pool_scenario".to_owned(), &[SCENARIO], out);
    for key in ["name", "members", "step"] {
        if !reader.has(key) {
            out.error(place, format!("this scenario has no `{key}`")).of_absence();
        }
    }
    let texts = |key: &str, out: &mut Findings| -> Vec<(String, Place)> {
        let text = |key: &str, node: &Node, out: &mut Findings| {
            values::text(key, node, out).map(|text| (text.to_owned(), node.place))
        };
        reader.read(key, |k, n, o| values::list(k, n, o, text), out).unwrap_or_default()
    };
    let members: Vec<String> = texts("members", out).into_iter().map(|(name, _)| name).collect();
    let mut ladder: Vec<String> = texts("ladder", out).into_iter().map(|(name, _)| name).collect();
    if ladder.is_empty() {
        ladder.push("check".to_owned());
    }
    let mut setups = vec![Setup { start: Start::In, ..Setup::default() }; members.len()];
    for (key, backup) in [("backup", true), ("out", false)] {
        for (name, place) in texts(key, out) {
            match find(&members, &name, place, out).and_then(|at| setups.get_mut(at)) {
                Some(setup) if backup => setup.backup = true,
                Some(setup) => setup.start = Start::Out,
                None => {}
            }
        }
    }
    let (settings, whole_server) = pool(reader.entry("pool"), out);
    let made = giveover_core::pool::Pool::new(settings, &setups, Instant::default());
    if let Err(error) = made.map(|_| ()) {
        out.error(reader.place("pool"), format!("{}: {error}", error.key()));
    }
    let mut context =
        Context { members: &members, ladder: &ladder, before: Instant::default(), sources };
    let step = |key: &str, node: &Node, out: &mut Findings| {
        let table = values::table(key, node, out)?;
        context_step(&context, table, node.place, out)
    };
    let steps = reader.read("step", |k, n, o| values::list(k, n, o, step), out);
    for step in steps.iter().flatten() {
        if step.at < context.before {
            out.error(place, format!("line {}: earlier than the step before", step.line));
        }
        context.before = step.at;
    }
    let name = reader.read("name", values::text, out)?.to_owned();
    let steps = steps?;
    let scenario = PoolScenario { name, members, setups, ladder, settings, whole_server, steps };
    (out.count() == before).then_some(scenario)
}

fn find(names: &[String], name: &str, place: Place, out: &mut Findings) -> Option<usize> {
    let found = names.iter().position(|known| known == name);
    if found.is_none() {
        let finding = out.error(place, format!("nothing here is called `{name}`"));
        if let Some(near) = words::nearest(name, names.iter().map(String::as_str)) {
            finding.label(format!("did you mean `{near}`?"));
        }
    }
    found
}

fn pool(entry: Option<&Entry>, out: &mut Findings) -> (Settings, bool) {
    let nothing = Table::default();
    let table = entry.and_then(|entry| values::table("pool", &entry.node, out));
    let place = entry.map_or(Place::whole(0), |entry| entry.place);
    let reader = Reader::new(table.unwrap_or(&nothing), place, "pool".to_owned(), &[POOL], out);
    settings(&reader, out)
}

/// The keys of [`POOL`], and whether one service that fails takes the whole server out. What is not
/// written is as in a configuration, but for `min_members`, which is 0.
pub(in crate::config) fn settings(reader: &Reader<'_>, out: &mut Findings) -> (Settings, bool) {
    let default = Settings::DEFAULT;
    let yes =
        |key: &str, out: &mut Findings| reader.read(key, values::boolean, out).unwrap_or(false);
    let heartbeat = reader.read("heartbeat", values::positive_span, out);
    let number = |key: &str, out: &mut Findings| reader.read(key, values::number(0..=64), out);
    let settings = Settings {
        interval: reader.read("interval", values::positive_span, out).unwrap_or(default.interval),
        rise: number("rise", out).unwrap_or(default.rise),
        fall: reader.entry("fall").and_then(|it| fall(it, out)).unwrap_or(default.fall),
        min_members: number("min_members", out).unwrap_or(0),
        busy: reader.entry("busy").and_then(|it| busy(it, out)),
        silence: heartbeat.map(scenario::silence),
        agent_required: yes("agent_required", out),
        fallback: yes("none_left", out),
        cut: yes("cut", out),
        trusted: yes("trusted", out),
    };
    let fails = values::one_of(&["service", "member"]);
    (settings, reader.read("any_service_fails", fails, out) == Some(1))
}

fn fall(entry: &Entry, out: &mut Findings) -> Option<Fall> {
    let Value::Table(table) = &entry.node.value else {
        return values::number(1..=16)("fall", &entry.node, out).map(Fall::in_a_row);
    };
    let number =
        |key: &str, out: &mut Findings| values::number(1..=16)(key, &table.get(key)?.node, out);
    Some(Fall { count: number("count", out)?, of: number("of", out)? })
}

fn busy(entry: &Entry, out: &mut Findings) -> Option<Busy> {
    let table = values::table("busy", &entry.node, out)?;
    let share = |key: &str, out: &mut Findings| values::share(key, &table.get(key)?.node, out);
    Some(Busy { from: share("from", out)?, until: share("until", out)? })
}

/// What a step is read in the light of.
struct Context<'a> {
    members: &'a [String],
    ladder: &'a [String],
    before: Instant,
    sources: &'a Sources,
}

fn context_step(
    context: &Context<'_>,
    table: &Table,
    place: Place,
    out: &mut Findings,
) -> Option<PoolStep> {
    let reader = Reader::new(table, place, "step".to_owned(), &[STEP, INPUTS], out);
    if !reader.has("at") {
        out.error(place, "this step has no `at`").of_absence();
    }
    let at = reader.read("at", values::span, out).map(|at| Instant::default().after(at));
    let is_input = |entry: &&Entry| INPUTS.iter().any(|key| key.name == entry.key);
    let inputs: Vec<&Entry> = table.0.iter().filter(is_input).collect();
    let [entry] = inputs[..] else {
        out.error(place, "a step has one input").label("`tick = true` only lets time pass");
        return None;
    };
    let input = context.input(entry, out);
    let expect = reader.entry("expect").map_or(Some(Vec::new()), |entry| expect(entry, out));
    let line = context.sources.position(place).map_or(0, |(line, _)| line);
    let written = json!({ entry.key.as_str(): scenario::written(&entry.node) });
    Some(PoolStep { at: at?, line, input: input?, written, expect: expect? })
}

fn expect(entry: &Entry, out: &mut Findings) -> Option<Vec<(&'static str, Json)>> {
    let table = values::table("expect", &entry.node, out)?;
    Reader::new(table, entry.place, "expect".to_owned(), &[SHOWN, EXPECTED], out);
    let known = |entry: &Entry| {
        let name = EXPECT.iter().find(|name| **name == entry.key)?;
        Some((*name, scenario::written(&entry.node)))
    };
    Some(table.0.iter().filter_map(known).collect())
}

impl Context<'_> {
    fn input(&self, entry: &Entry, out: &mut Findings) -> Option<PoolInput> {
        let (key, node) = (entry.key.as_str(), &entry.node);
        Some(match key {
            "tick" => values::boolean(key, node, out).map(|_| PoolInput::Tick)?,
            "deaf" => values::boolean(key, node, out).map(|_| PoolInput::Deaf)?,
            "restart" => {
                values::one_of(&["monitor"])(key, node, out).map(|_| PoolInput::Restart)?
            }
            "trusted" => {
                PoolInput::Trusted(values::one_of(&["answer", "silent"])(key, node, out)? == 0)
            }
            "link" => PoolInput::Link(values::one_of(&["up", "down"])(key, node, out)? == 0),
            "enable" => {
                PoolInput::Enable(self.member(values::text(key, node, out)?, node.place, out)?)
            }
            "check" => PoolInput::Check(self.checks(node, out)?),
            "elsewhere" => {
                let word = |node: &Node, out: &mut Findings| {
                    values::one_of(&["ok", "fails"])(key, node, out).map(|place| place == 1)
                };
                PoolInput::Elsewhere(self.each(key, node, out, word)?)
            }
            "agent" => {
                let report = |node: &Node, out: &mut Findings| {
                    let table = values::table(key, node, out)?;
                    let read = |name: &str| table.get(name);
                    let load = match read("load") {
                        Some(entry) => Some(values::number(0..=100)("load", &entry.node, out)?),
                        None => None,
                    };
                    let failed = match read("failed") {
                        Some(entry) => values::boolean("failed", &entry.node, out)?,
                        None => false,
                    };
                    Some((load, failed))
                };
                let all = self.each(key, node, out, report)?;
                PoolInput::Agent(
                    all.into_iter().map(|(at, (load, failed))| (at, load, failed)).collect(),
                )
            }
            "drain" => self.drain(node, out)?,
            _ => return None, // told as an unknown key
        })
    }

    fn member(&self, name: &str, place: Place, out: &mut Findings) -> Option<usize> {
        find(self.members, name, place, out)
    }

    fn each<T>(
        &self,
        key: &str,
        node: &Node,
        out: &mut Findings,
        read: impl Fn(&Node, &mut Findings) -> Option<T>,
    ) -> Option<Vec<(usize, T)>> {
        let table = values::table(key, node, out)?;
        let one = |entry: &Entry| {
            Some((self.member(&entry.key, entry.place, out)?, read(&entry.node, out)?))
        };
        table.0.iter().map(one).collect()
    }

    fn checks(&self, node: &Node, out: &mut Findings) -> Option<Vec<(usize, usize, Finds)>> {
        let mut all = Vec::new();
        let Value::Table(table) = &node.value else {
            let finds = finds(node, out)?;
            for member in 0..self.members.len() {
                all.extend((0..self.ladder.len()).map(|check| (member, check, finds)));
            }
            return Some(all);
        };
        for entry in &table.0 {
            let member = self.member(&entry.key, entry.place, out)?;
            match &entry.node.value {
                Value::Table(checks) => {
                    for one in &checks.0 {
                        let check = find(self.ladder, &one.key, one.place, out)?;
                        all.push((member, check, finds(&one.node, out)?));
                    }
                }
                _ => {
                    let finds = finds(&entry.node, out)?;
                    all.extend((0..self.ladder.len()).map(|check| (member, check, finds)));
                }
            }
        }
        Some(all)
    }

    fn drain(&self, node: &Node, out: &mut Findings) -> Option<PoolInput> {
        const KEYS: &[Key] = &[
            key("member", "a member", "", "whom"),
            key("for", "duration", "", "for how long"),
            key("cut_after", "duration", "", "when its connections are cut"),
        ];
        let table = values::table("drain", node, out)?;
        let reader = Reader::new(table, node.place, "drain".to_owned(), &[KEYS], out);
        let name = reader.read("member", values::text, out)?;
        let member = self.member(name, reader.place("member"), out)?;
        let length = reader.read("for", values::positive_span, out);
        let cut_after = reader.read("cut_after", values::positive_span, out);
        Some(PoolInput::Drain { member, length, cut_after })
    }
}

/// `fails`, or `ok after 2300ms`.
fn finds(node: &Node, out: &mut Findings) -> Option<Finds> {
    let text = values::text("check", node, out)?;
    let (word, after) = text.split_once(" after ").unwrap_or((text, "0s"));
    let what = WORDS.iter().find(|(known, _)| *known == word).map(|(_, what)| *what);
    match (what, quantity::duration(after)) {
        (Some(what), Ok(after)) => Some(Finds { what, after }),
        _ => {
            let known = words::or(WORDS.iter().map(|(word, _)| *word));
            let finding = out.error(node.place, format!("check: must be {known}"));
            finding.label("perhaps with a time, as in \"ok after 2s\"");
            None
        }
    }
}
