//! Scenario files of several nodes: who runs, who hears whom, and who should hold the address.
//!
//! A file is a list of `[[nodes]]`:
//!
//! | key | |
//! |---|---|
//! | `name` | what people call it |
//! | `nodes` | the nodes' names, in the order of the file |
//! | `witnesses` | those of them that only vote |
//! | `quorum` | `majority`, `fence`, `stay` or `trusted` |
//! | `trusted_servers` | whether there are any (false) |
//! | `interval`, `life`, `heartbeat`, `lease`, `jitter`, `wait`, `stand_step` | as in `[cluster]` |
//! | `step` | `[[nodes.step]]`: `at`, one input, and optionally `expect` |
//!
//! The inputs are the keys of [`INPUTS`]; `expect` has any of `roles`, `holders`, `did` and
//! `overlap`.

use std::path::Path;
use std::sync::Arc;

use giveover_core::node::{Node as Number, Nodes};
use giveover_core::peer::{Limits, Members, Quorum, Role, Rules};
use giveover_core::time::{Instant, Span};

use crate::config::files::Files;
use crate::config::reader::Reader;
use crate::config::report::{Findings, Report};
use crate::config::schema::Key;
use crate::config::source::{Place, Sources};
use crate::config::tree::{Entry, Node, Table, Value};
use crate::config::values;

/// No timeline has more nodes.
pub const MOST_NODES: usize = 8;

/// One timeline of several nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// What people call it.
    pub name: String,
    /// The nodes' names.
    pub nodes: Vec<String>,
    /// Times and counts.
    pub limits: Limits,
    /// Who they are, as the first of them sees it.
    pub members: Members,
    /// What happens, in order of time.
    pub steps: Vec<Step>,
}

/// One moment of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When.
    pub at: Instant,
    /// What happens.
    pub input: Input,
    /// The same in words.
    pub written: String,
    /// What should follow.
    pub expect: Expect,
    /// The line it begins on.
    pub line: usize,
}

/// What happens to nodes and between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// A daemon starts.
    Start(Number),
    /// It is stopped in an orderly way.
    Stop(Number),
    /// It ends without a word; its kernel goes on.
    Crash(Number),
    /// The machine loses its power.
    PowerOff(Number),
    /// The daemon does not run, or runs again.
    Paused(Number, bool),
    /// Frames from the first to the second are lost.
    Cut(Number, Number),
    /// Frames between the two are lost.
    CutBoth(Number, Number),
    /// Every frame arrives again.
    Heal,
    /// The node's own service fails, or passes again.
    Serves(Number, bool),
    /// The node reaches its trusted servers, or none of them.
    Reaches(Number, bool),
    /// Fencing by this node is acknowledged, or not.
    Fences(Number, bool),
    /// Its configuration has another address from the next start on.
    Differs(Number),
    /// The address can be taken there, or somebody else has it.
    Takes(Number, bool),
    /// Somebody removes the address there.
    AddressLost(Number),
    /// The active gives over to this node.
    GiveOver(Number),
    /// An operator forces this node.
    Force(Number),
}

/// What should follow a step: what is not written is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// Roles by node; `None` is a node that does not run.
    pub roles: Vec<(Number, Option<Role>)>,
    /// Who holds the address.
    pub holders: Option<Nodes>,
    /// What was done since the step before, as `NODE take`, `release`, `leave`, `announce`,
    /// `fence`, `refused`.
    pub did: Option<Vec<String>>,
    /// Whether two have ever held it at once.
    pub overlap: Option<bool>,
}

impl Expect {
    /// Whether anything is compared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

const fn key(name: &'static str, takes: &'static str, about: &'static str) -> Key {
    Key { name, takes, default: "", about }
}

const FILE: &[Key] = &[key("nodes", "tables", "a timeline of several nodes")];

const TIMELINE: &[Key] = &[
    key("name", "text", "what people call it"),
    key("nodes", "names", "the nodes"),
    key("witnesses", "names", "those that only vote"),
    key("quorum", "a word", "who decides"),
    key("trusted_servers", "true or false", "whether there are any"),
    key("interval", "duration", "between two looks"),
    key("life", "a number", "so many failures in a row mean down"),
    key("heartbeat", "duration", "between two signs of life"),
    key("lease", "duration", "the address is held so long without a renewal"),
    key("jitter", "duration", "what timers may be late by"),
    key("wait", "duration", "so long an active must be silent"),
    key("stand_step", "duration", "between two turns to stand"),
    key("step", "tables", "what happens"),
];

const STEP: &[Key] = &[
    key("at", "duration", "when, since the beginning"),
    key("expect", "table", "what should follow"),
];

/// The inputs a step may have, one of them.
pub const INPUTS: &[Key] = &[
    key("tick", "true", "time has passed"),
    key("start", "a node", "its daemon starts"),
    key("stop", "a node", "its daemon is stopped in an orderly way"),
    key("crash", "a node", "its daemon ends without a word"),
    key("power_off", "a node", "the machine loses its power"),
    key("pause", "a node", "its daemon does not run"),
    key("resume", "a node", "it runs again"),
    key("cut", "two nodes", "frames from the first to the second are lost"),
    key("cut_both", "two nodes", "frames between the two are lost"),
    key("heal", "true", "every frame arrives again"),
    key("fails", "a node", "its own service fails"),
    key("passes", "a node", "its own service passes again"),
    key("unreachable", "a node", "it reaches no trusted server"),
    key("reachable", "a node", "it reaches them again"),
    key("fence_fails", "a node", "a fence it asks for is not acknowledged"),
    key("fence_works", "a node", "a fence it asks for is acknowledged"),
    key("differs", "a node", "its configuration has another address"),
    key("foreign", "a node", "somebody else has the address when it takes it"),
    key("free", "a node", "nobody else has it again"),
    key("address_lost", "a node", "somebody removes the address there"),
    key("give_over", "a node", "the active gives over to it"),
    key("force", "a node", "an operator forces it"),
];

const EXPECT: &[Key] = &[
    key("roles", "table", "roles by node: init, standby, active, down, or off"),
    key("holders", "names", "who holds the address"),
    key("did", "list of text", "what was done since the step before"),
    key("overlap", "true or false", "whether two ever held it at once"),
];

/// Reads timelines from the file at `path`; `None` where it has no `[[nodes]]`.
///
/// # Errors
/// Everything that is wrong, in the order of the text.
pub fn load(path: &Path) -> Result<Option<Vec<Timeline>>, Report> {
    let mut out = Findings::default();
    let files = Files::alone(path, &mut out);
    timelines(files, out)
}

/// Reads timelines from `text`, called `name` in messages.
///
/// # Errors
/// As [`load`].
pub fn load_str(name: &str, text: &str) -> Result<Option<Vec<Timeline>>, Report> {
    let mut out = Findings::default();
    let files = Files::of_text(name, text, &mut out);
    timelines(files, out)
}

fn timelines(files: Files, mut out: Findings) -> Result<Option<Vec<Timeline>>, Report> {
    if files.root.get("nodes").is_none() {
        return Ok(None); // of another form, or not readable: its reader says so
    }
    let reader = Reader::new(&files.root, Place::whole(0), String::new(), &[FILE], &mut out);
    let items = reader.read("nodes", tables, &mut out).unwrap_or_default();
    let each = items.into_iter().map(|node| timeline(node, &files.sources, &mut out));
    let read: Vec<Option<Timeline>> = each.collect();
    let sources = Arc::new(files.sources);
    out.forgive(&sources);
    let (errors, _) = out.into_reports(&sources);
    match read.into_iter().collect::<Option<Vec<Timeline>>>() {
        Some(timelines) if errors.is_empty() => Ok(Some(timelines)),
        _ => Err(errors),
    }
}

fn tables<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<Vec<&'t Node>> {
    values::list(key, node, out, |key, node, out| values::table(key, node, out).map(|_| node))
}

fn inside(node: &Node) -> Option<&Table> {
    match &node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

fn timeline(node: &Node, sources: &Sources, out: &mut Findings) -> Option<Timeline> {
    let table = inside(node)?;
    let reader = Reader::new(table, node.place, "nodes".to_owned(), &[TIMELINE], out);
    for key in ["name", "nodes", "quorum", "step"] {
        if !reader.has(key) {
            out.error(node.place, format!("this timeline has no `{key}`")).of_absence();
        }
    }
    let words = |key: &str, node, out: &mut Findings| values::list(key, node, out, values::word);
    let nodes: Vec<String> =
        reader.read("nodes", words, out)?.into_iter().map(str::to_owned).collect();
    if nodes.len() > MOST_NODES {
        out.error(reader.place("nodes"), format!("nodes: at most {MOST_NODES}"));
        return None;
    }
    let names = Names { nodes: &nodes };
    let witnesses = reader.read("witnesses", |key, node, out| names.set(key, node, out), out);
    let limits = limits(&reader, out);
    const QUORUMS: &[&str] = &["majority", "fence", "stay", "trusted"];
    let quorum = reader.read("quorum", values::one_of(QUORUMS), out)?;
    let all = [Quorum::Majority, Quorum::Fence, Quorum::Stay, Quorum::Trusted];
    let quorum = *all.get(quorum)?;
    let members = Members {
        me: Number(0),
        count: u8::try_from(nodes.len()).ok()?,
        witnesses: witnesses.unwrap_or(Nodes::NONE),
        priority: 0,
        quorum,
        accept_two_holders: matches!(quorum, Quorum::Trusted),
        trusted: reader.read("trusted_servers", values::boolean, out).unwrap_or(false),
        observe: false,
    };
    if let Err(error) = Rules::new(limits, members, MOST_NODES) {
        out.error(node.place, error.to_string());
        return None;
    }
    let name = reader.read("name", values::text, out).map(str::to_owned);
    let mut before = Instant::default();
    let mut steps = Vec::new();
    for node in reader.read("step", tables, out)? {
        let step = names.step(node, before, sources, out);
        before = step.as_ref().map_or(before, |step| step.at);
        steps.push(step);
    }
    let steps = steps.into_iter().collect::<Option<_>>()?;
    Some(Timeline { name: name?, nodes, limits, members, steps })
}

pub(in crate::config) fn limits(reader: &Reader<'_>, out: &mut Findings) -> Limits {
    let usual = Limits::DEFAULT;
    let mut span = |key: &str, usual: Span| reader.read(key, values::span, out).unwrap_or(usual);
    let limits = Limits {
        interval: span("interval", usual.interval),
        heartbeat: span("heartbeat", usual.heartbeat),
        lease: span("lease", usual.lease),
        jitter: span("jitter", usual.jitter),
        wait: span("wait", usual.wait),
        stand_step: span("stand_step", usual.stand_step),
        ..usual
    };
    let life = reader.read("life", values::number::<u8>(1..=100), out).unwrap_or(usual.life);
    Limits { life, ..limits }
}

/// The nodes of a timeline, by name.
struct Names<'n> {
    nodes: &'n [String],
}

impl Names<'_> {
    fn number(&self, key: &str, node: &Node, out: &mut Findings) -> Option<Number> {
        let name = values::word(key, node, out)?;
        let place = self.nodes.iter().position(|node| node == name);
        if place.is_none() {
            let names = self.nodes.join(", ");
            out.error(node.place, format!("{key}: no node is called `{name}`"))
                .label(format!("nodes are {names}"));
        }
        u8::try_from(place?).ok().map(Number)
    }

    fn set(&self, key: &str, node: &Node, out: &mut Findings) -> Option<Nodes> {
        let numbers = values::list(key, node, out, |key, node, out| self.number(key, node, out))?;
        Some(numbers.into_iter().collect())
    }

    fn two(&self, key: &str, node: &Node, out: &mut Findings) -> Option<(Number, Number)> {
        let numbers = values::list(key, node, out, |key, node, out| self.number(key, node, out))?;
        match numbers[..] {
            [one, other] if one != other => Some((one, other)),
            _ => {
                out.error(node.place, format!("{key}: needs two nodes"));
                None
            }
        }
    }

    fn step(
        &self,
        node: &Node,
        before: Instant,
        sources: &Sources,
        out: &mut Findings,
    ) -> Option<Step> {
        let table = inside(node)?;
        let reader = Reader::new(table, node.place, "step".to_owned(), &[STEP, INPUTS], out);
        if !reader.has("at") {
            out.error(node.place, "this step has no `at`").of_absence();
        }
        let at = reader.read("at", values::span, out).map(|at| Instant::default().after(at));
        if at.is_some_and(|at| at < before) {
            out.error(reader.place("at"), "at: earlier than the step before");
            return None;
        }
        let expect = match reader.entry("expect") {
            Some(entry) => self.expect(entry, out),
            None => Some(Expect::default()),
        };
        let is_input = |entry: &&Entry| INPUTS.iter().any(|key| key.name == entry.key);
        let inputs: Vec<&Entry> = table.0.iter().filter(is_input).collect();
        let [entry] = inputs[..] else {
            let message = "a step has one input";
            let finding = out.error(node.place, message).of_absence();
            finding.label("`tick = true` only lets time pass");
            return None;
        };
        let input = self.input(entry, out)?;
        let line = sources.position(node.place).map_or(0, |(line, _)| line);
        Some(Step { at: at?, input, written: self.words(&entry.key, input), expect: expect?, line })
    }

    fn input(&self, entry: &Entry, out: &mut Findings) -> Option<Input> {
        let (key, node) = (entry.key.as_str(), &entry.node);
        match key {
            "tick" | "heal" => {
                if !values::boolean(key, node, out)? {
                    out.error(node.place, format!("{key}: can only be true"));
                    return None;
                }
                return Some(if key == "tick" { Input::Tick } else { Input::Heal });
            }
            "cut" => return self.two(key, node, out).map(|(from, to)| Input::Cut(from, to)),
            "cut_both" => return self.two(key, node, out).map(|(a, b)| Input::CutBoth(a, b)),
            _ => {}
        }
        let number = self.number(key, node, out)?;
        Some(match key {
            "start" => Input::Start(number),
            "stop" => Input::Stop(number),
            "crash" => Input::Crash(number),
            "power_off" => Input::PowerOff(number),
            "pause" => Input::Paused(number, true),
            "resume" => Input::Paused(number, false),
            "fails" => Input::Serves(number, false),
            "passes" => Input::Serves(number, true),
            "unreachable" => Input::Reaches(number, false),
            "reachable" => Input::Reaches(number, true),
            "fence_fails" => Input::Fences(number, false),
            "fence_works" => Input::Fences(number, true),
            "differs" => Input::Differs(number),
            "foreign" => Input::Takes(number, false),
            "free" => Input::Takes(number, true),
            "address_lost" => Input::AddressLost(number),
            "give_over" => Input::GiveOver(number),
            "force" => Input::Force(number),
            _ => return None, // told as an unknown key
        })
    }

    fn words(&self, key: &str, input: Input) -> String {
        let name = |number: Number| self.nodes.get(usize::from(number.0)).map_or("?", |n| n);
        match input {
            Input::Tick | Input::Heal => key.to_owned(),
            Input::Cut(from, to) => format!("{key} {} to {}", name(from), name(to)),
            Input::CutBoth(one, other) => format!("{key} {}, {}", name(one), name(other)),
            Input::Start(node)
            | Input::Stop(node)
            | Input::Crash(node)
            | Input::PowerOff(node)
            | Input::Paused(node, _)
            | Input::Serves(node, _)
            | Input::Reaches(node, _)
            | Input::Fences(node, _)
            | Input::Differs(node)
            | Input::Takes(node, _)
            | Input::AddressLost(node)
            | Input::GiveOver(node)
            | Input::Force(node) => format!("{key} {}", name(node)),
        }
    }

    fn expect(&self, entry: &Entry, out: &mut Findings) -> Option<Expect> {
        let table = values::table("expect", &entry.node, out)?;
        let count = out.count();
        let reader = Reader::new(table, entry.place, "expect".to_owned(), &[EXPECT], out);
        let mut roles = Vec::new();
        for entry in reader.entries("roles", out) {
            let name = Node { place: entry.place, value: Value::Text(entry.key.clone()) };
            let number = self.number("roles", &name, out);
            let role = role(&entry.key, &entry.node, out);
            roles.extend(number.zip(role));
        }
        let texts =
            |key: &str, node, out: &mut Findings| values::list(key, node, out, values::text);
        let did = reader.read("did", texts, out);
        let expect = Expect {
            roles,
            holders: reader.read("holders", |key, node, out| self.set(key, node, out), out),
            did: did.map(|did| did.into_iter().map(str::to_owned).collect()),
            overlap: reader.read("overlap", values::boolean, out),
        };
        (out.count() == count).then_some(expect)
    }
}

/// A role; `Some(None)` is "off".
#[expect(clippy::option_option, reason = "the outer one is whether it could be read")]
fn role(key: &str, node: &Node, out: &mut Findings) -> Option<Option<Role>> {
    const WORDS: &[&str] = &["off", "init", "standby", "active", "down"];
    let place = values::one_of(WORDS)(key, node, out)?;
    Some(Role::of(u8::try_from(place).ok()?))
}
