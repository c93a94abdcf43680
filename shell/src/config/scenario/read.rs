//! From a scenario file to scenarios, or to everything that is wrong with it.

use std::path::Path;
use std::sync::Arc;

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::Status;
use giveover_core::policy::{Delays, Destination, FailoverMode, Limits, Policy, Scope};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use serde_json::{Value as Json, json};

use super::{
    ACTIONS, EXPECT, Ending, Expect, INPUTS, Input, Reply, SCENARIO, STEP, Scenario, Script, Step,
};
use crate::config::files::Files;
use crate::config::policy::Written;
use crate::config::reader::Reader;
use crate::config::report::{Findings, Report};
use crate::config::schema::Key;
use crate::config::source::{Place, Sources};
use crate::config::tree::{Entry, Node, Table, Value};
use crate::config::values;
use crate::config::world::{self, World};

/// Reads scenarios from the file at `path`.
///
/// # Errors
/// Everything that is wrong, in the order of the text.
pub fn load(path: &Path) -> Result<Vec<Scenario>, Report> {
    let mut out = Findings::default();
    let files = Files::alone(path, &mut out);
    scenarios(files, out)
}

/// A scenario file in either form.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// `[[scenario]]`s.
    Small(Vec<Scenario>),
    /// A world.
    Large(Box<World>),
}

/// Reads a file in either form: one without `[[scenario]]` is a world.
///
/// # Errors
/// As [`load`].
pub fn load_form(path: &Path) -> Result<Form, Report> {
    let mut out = Findings::default();
    let files = Files::alone(path, &mut out);
    let short = path.file_stem().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    form(files, &short, out)
}

/// Reads `text` in either form, called `name` in messages.
///
/// # Errors
/// As [`load`].
pub fn load_form_str(name: &str, text: &str) -> Result<Form, Report> {
    let mut out = Findings::default();
    let files = Files::of_text(name, text, &mut out);
    form(files, name.strip_suffix(".toml").unwrap_or(name), out)
}

fn form(files: Files, short: &str, mut out: Findings) -> Result<Form, Report> {
    let large = ["length", "service", "board", "fault", "node"];
    if files.root.get("scenario").is_some() || large.iter().all(|key| files.root.get(key).is_none())
    {
        return scenarios(files, out).map(Form::Small);
    }
    let read = world::read(&files, short, &mut out);
    let sources = Arc::new(files.sources);
    out.forgive(&sources);
    let (errors, _) = out.into_reports(&sources);
    match read {
        Some(world) if errors.is_empty() => Ok(Form::Large(Box::new(world))),
        _ => Err(errors),
    }
}

/// Reads scenarios from `text`, called `name` in messages.
///
/// # Errors
/// As [`load`].
pub fn load_str(name: &str, text: &str) -> Result<Vec<Scenario>, Report> {
    let mut out = Findings::default();
    let files = Files::of_text(name, text, &mut out);
    scenarios(files, out)
}

fn scenarios(files: Files, mut out: Findings) -> Result<Vec<Scenario>, Report> {
    let whole = Place::whole(0);
    let reader = Reader::new(&files.root, whole, String::new(), &[FILE], &mut out);
    let items = reader.read("scenario", tables, &mut out).unwrap_or_default();
    if !reader.has("scenario") && !reader.has("pool_scenario") {
        out.error(whole, "there is no [[scenario]] in it").of_absence();
    }
    let each = items.into_iter().map(|node| scenario(node, &files.sources, &mut out));
    let scenarios: Vec<Option<Scenario>> = each.collect();
    let sources = Arc::new(files.sources);
    out.forgive(&sources);
    let (errors, _) = out.into_reports(&sources);
    let scenarios: Option<Vec<Scenario>> = scenarios.into_iter().collect();
    match scenarios {
        Some(scenarios) if errors.is_empty() => Ok(scenarios),
        _ => Err(errors),
    }
}

const FILE: &[Key] = &[
    Key { name: "pool_scenario", takes: "tables", default: "", about: "a timeline of a pool" },
    Key { name: "scenario", takes: "tables", default: "", about: "a timeline" },
];

/// What is not written: no waits, no grace, and no cycles but those of steps.
const PLAIN: Limits = Limits {
    thorough_probe_interval: Span::MAX,
    probe_timeout: Span::from_secs(10),
    retry_count: Some(2),
    retry_interval: Span::from_secs(300),
    start_timeout: Span::from_secs(60),
    stop_timeout: Span::from_secs(30),
    start_grace: Span::ZERO,
    restart_delay: Delays::NONE,
    failover_mode: FailoverMode::Soft,
};

/// Why the probes of a scenario fail.
const CAUSE: Cause = Cause::of_check(0, Phase::Answer, 0);

/// A list of tables, each with its place.
fn tables<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<Vec<&'t Node>> {
    values::list(key, node, out, |key, node, out| values::table(key, node, out).map(|_| node))
}

fn inside(node: &Node) -> Option<&Table> {
    match &node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

fn scenario(node: &Node, sources: &Sources, out: &mut Findings) -> Option<Scenario> {
    let table = inside(node)?;
    let reader = Reader::new(table, node.place, "scenario".to_owned(), &[SCENARIO], out);
    for key in ["name", "policy", "step"] {
        if !reader.has(key) {
            out.error(node.place, format!("this scenario has no `{key}`")).of_absence();
        }
    }
    let name = reader.read("name", values::text, out).map(str::to_owned);
    let destination = reader.read("destination", destination, out);
    let destination = destination.unwrap_or(Destination::Elsewhere);
    let giveover = reader.read("giveover", replies, out);
    let restart = reader.read("restart", endings, out);
    let steps = reader.read("step", tables, out);

    let written = reader.entry("policy").and_then(|entry| limits(entry, PLAIN, out));
    let policy = written
        .and_then(|limits| possible(limits, destination, reader.place("policy"), table, out));
    let mut limits = written.unwrap_or(PLAIN); // steps are read also under a wrong policy
    let cadence = limits.thorough_probe_interval != Span::MAX;
    let mut read = Vec::new();
    let mut before = Instant::default();
    for node in steps.iter().flatten() {
        let mut context = Context { limits: &mut limits, destination, before, sources };
        let step = context.step(node, out);
        before = step.as_ref().map_or(before, |step| step.at);
        read.push(step);
    }
    steps?;
    Some(Scenario {
        name: name?,
        policy: policy?,
        cadence,
        giveover: giveover.unwrap_or(Script { first: Reply::Accept, then: None }),
        restart: restart.unwrap_or(Script { first: Ending::Ok, then: None }),
        steps: read.into_iter().collect::<Option<_>>()?,
    })
}

pub(in crate::config) fn limits(
    entry: &Entry,
    below: Limits,
    out: &mut Findings,
) -> Option<Limits> {
    let table = values::table("policy", &entry.node, out)?;
    if let Some(like) = table.get("like") {
        out.error(like.place, "like: a scenario has no other policies");
    }
    let count = out.count();
    let written = Written::read(table, entry.place, "policy".to_owned(), out);
    (out.count() == count).then(|| written.onto(below))
}

/// The policy, if it can work. Weights of every size may come, and deaths.
fn possible(
    limits: Limits,
    destination: Destination,
    place: Place,
    table: &Table,
    out: &mut Findings,
) -> Option<Policy> {
    let scope = Scope { smallest: Weight::LEAST, destination, ..Scope::USUAL };
    match Policy::new(limits, scope) {
        Ok((policy, _)) => Some(policy),
        Err(error) => {
            let culprit = table.find(&["policy", error.key()]);
            let place = culprit.map_or(place, |entry| entry.node.place);
            out.error(place, error.to_string());
            None
        }
    }
}

fn destination(key: &str, node: &Node, out: &mut Findings) -> Option<Destination> {
    let place = values::one_of(&["elsewhere", "board", "nobody"])(key, node, out)?;
    [Destination::Elsewhere, Destination::Board, Destination::Nobody].get(place).copied()
}

pub(in crate::config) fn replies(
    key: &str,
    node: &Node,
    out: &mut Findings,
) -> Option<Script<Reply>> {
    let since = [("accept_from", Reply::Deny), ("not_now_until", Reply::NotNow)];
    script(key, node, Reply::WORDS, &Reply::ALL, &since, out)
}

fn endings(key: &str, node: &Node, out: &mut Findings) -> Option<Script<Ending>> {
    script(key, node, Ending::WORDS, &Ending::ALL, &[("ok_from", Ending::Fail)], out)
}

/// A word, or a table whose one key says until when the first of `all` is not yet so.
fn script<T: Copy>(
    key: &str,
    node: &Node,
    words: &'static [&'static str],
    all: &[T],
    since: &[(&'static str, T)],
    out: &mut Findings,
) -> Option<Script<T>> {
    let Some(table) = inside(node) else {
        let first = *all.get(values::one_of(words)(key, node, out)?)?;
        return Some(Script { first, then: None });
    };
    let keys: Vec<Key> = since
        .iter()
        .map(|(name, _)| Key { name, takes: "duration", default: "", about: "" })
        .collect();
    let count = out.count();
    let reader = Reader::new(table, node.place, key.to_owned(), &[&keys], out);
    if out.count() > count {
        return None;
    }
    let given: Vec<_> = since.iter().filter(|(name, _)| reader.has(name)).collect();
    let [(name, first)] = given[..] else {
        let names: Vec<&str> = since.iter().map(|(name, _)| *name).collect();
        out.error(node.place, format!("{key}: needs one of: {}", names.join(", ")));
        return None;
    };
    let from = Instant::default().after(reader.read(name, values::span, out)?);
    Some(Script { first: *first, then: Some((from, *all.first()?)) })
}

/// What a step is read in the light of.
struct Context<'a> {
    limits: &'a mut Limits,
    destination: Destination,
    before: Instant,
    sources: &'a Sources,
}

impl Context<'_> {
    fn step(&mut self, node: &Node, out: &mut Findings) -> Option<Step> {
        let table = inside(node)?;
        let count = out.count();
        let reader = Reader::new(table, node.place, "step".to_owned(), &[STEP, INPUTS], out);
        let unknown = out.count() > count;
        let at = self.time(&reader, node.place, out);
        let expect = match reader.entry("expect") {
            Some(entry) => expect(entry, out),
            None => Some(Expect::default()),
        };
        let is_input = |entry: &&Entry| INPUTS.iter().any(|key| key.name == entry.key);
        let inputs: Vec<&Entry> = table.0.iter().filter(is_input).collect();
        let entry = match inputs[..] {
            [entry] => entry,
            [] if unknown => return None, // one of them was meant for the input
            [] => {
                let finding = out.error(node.place, "this step has no input");
                finding.of_absence().label("`tick = true` only lets time pass");
                return None;
            }
            [first, second, ..] => {
                let both = format!("a step has one input, not `{}` and this", first.key);
                out.error(second.place, both).label("another step at the same time will do");
                return None;
            }
        };
        let input = self.input(entry, table, out);
        let line = self.sources.position(node.place).map_or(0, |(line, _)| line);
        let written = json!({ entry.key.as_str(): written(&entry.node) });
        Some(Step { at: at?, input: input?, written, expect: expect?, line })
    }

    fn time(&self, reader: &Reader<'_>, place: Place, out: &mut Findings) -> Option<Instant> {
        if !reader.has("at") {
            out.error(place, "this step has no `at`").of_absence();
        }
        let at = Instant::default().after(reader.read("at", values::span, out)?);
        if at < self.before {
            out.error(reader.place("at"), "at: earlier than the step before");
            return None;
        }
        Some(at)
    }

    fn input(&mut self, entry: &Entry, table: &Table, out: &mut Findings) -> Option<Input> {
        let (key, node) = (entry.key.as_str(), &entry.node);
        let mut only = |yes: bool, input: Input| {
            if values::boolean(key, node, out)? == yes {
                return Some(input);
            }
            out.error(node.place, format!("{key}: can only be {yes}"));
            None
        };
        match key {
            "tick" => only(true, Input::Tick),
            "measure" => only(false, Input::Probe(ProbeResult::CannotMeasure(CAUSE))),
            "void" => only(true, Input::Probe(ProbeResult::Void)),
            "died" => only(true, Input::Died),
            "hold" => only(true, Input::Hold(true)),
            "release" => only(true, Input::Hold(false)),
            "clear" => only(true, Input::Clear),
            "begin" => only(true, Input::Begin),
            "stopped" => only(true, Input::Stopped),
            "probe" => probe(key, node, out).map(Input::Probe),
            "local_fault" => values::boolean(key, node, out).map(Input::LocalFault),
            "need" => {
                let met = values::one_of(&["unmet", "met"])(key, node, out)?;
                Some(Input::NeedUnmet(met == 0))
            }
            "host_budget" => {
                let free = values::one_of(&["spent", "free"])(key, node, out)?;
                Some(Input::HostBudgetSpent(free == 0))
            }
            "restart" => values::one_of(&["operator"])(key, node, out).map(|_| Input::Restart),
            "giveover" => values::one_of(&["operator"])(key, node, out).map(|_| Input::Giveover),
            "policy" => {
                let limits = limits(entry, *self.limits, out)?;
                let policy = possible(limits, self.destination, node.place, table, out)?;
                *self.limits = limits;
                Some(Input::Policy(policy))
            }
            _ => None, // told as an unknown key
        }
    }
}

fn probe(key: &str, node: &Node, out: &mut Findings) -> Option<ProbeResult> {
    match &node.value {
        Value::Text(word) if word == "immediate" => Some(ProbeResult::Immediate(CAUSE)),
        Value::Integer(_) => Some(match values::number::<u8>(0..=100)(key, node, out)? {
            0 => ProbeResult::Healthy,
            weight => ProbeResult::Failed(Weight::new(weight)?, CAUSE),
        }),
        _ => values::wrong(key, "a weight from 0 to 100 or \"immediate\"", node, out),
    }
}

fn expect(entry: &Entry, out: &mut Findings) -> Option<Expect> {
    const STATUSES: &[&str] = &["unknown", "ok", "degraded", "faulted", "offline"];
    const ALL: [Status; 5] =
        [Status::Unknown, Status::Ok, Status::Degraded, Status::Faulted, Status::Offline];
    let table = values::table("expect", &entry.node, out)?;
    let count = out.count();
    let reader = Reader::new(table, entry.place, "expect".to_owned(), &[EXPECT], out);
    let number = values::number::<u16>(0..=65_535);
    let status = reader.read("status", values::one_of(STATUSES), out);
    let actions = reader.read(
        "actions",
        |key, node, out| values::list(key, node, out, values::one_of(ACTIONS)),
        out,
    );
    let words = |places: Vec<usize>| -> Vec<&'static str> {
        places.into_iter().filter_map(|place| ACTIONS.get(place).copied()).collect()
    };
    let expect = Expect {
        actions: actions.map(words),
        status: status.and_then(|place| ALL.get(place).copied()),
        failure_sum: reader.read("failure_sum", &number, out),
        restarts: reader.read("restarts", &number, out),
    };
    (out.count() == count).then_some(expect)
}

/// A value as JSON has it.
pub(super) fn written(node: &Node) -> Json {
    match &node.value {
        Value::Text(text) => json!(text),
        Value::Integer(number) => json!(number),
        Value::Float(number) => json!(number),
        Value::Bool(yes) => json!(yes),
        Value::Date => Json::Null,
        Value::List(items) => items.iter().map(written).collect(),
        Value::Table(table) => {
            let each = table.0.iter().map(|entry| (entry.key.clone(), written(&entry.node)));
            Json::Object(each.collect())
        }
    }
}
