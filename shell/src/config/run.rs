//! What runs a service: a unit, a process of ours, or nobody we know.

use std::str::FromStr;

use nix::sys::signal::Signal;

use super::plan::{ProcessPlan, Run, StopMethod};
use super::reader::Reader;
use super::report::Findings;
use super::tree::{Node, Value};
use super::values;
use super::words;

/// Reads `unit`, or `start` with what belongs to it.
pub(super) fn read(reader: &Reader<'_>, out: &mut Findings) -> Run {
    let unit = reader.read("unit", unit, out);
    let start = reader.read("start", values::argv, out);
    if reader.has("unit") && reader.has("start") {
        let message = format!("{}: both `unit` and `start`", reader.path);
        let finding = out.error(reader.place("start"), message);
        finding.label("one of them runs it: leave the other out");
    }
    if !reader.has("start") {
        refuse_without_start(reader, out);
    }
    if let (Some(entry), false, false) =
        (reader.entry("validate"), reader.has("unit"), reader.has("start"))
    {
        let message = "`validate` means nothing without `unit` or `start`";
        out.error(entry.place, message).label("nothing is ever stopped").of_absence();
    }
    let process = process(reader, out);
    match (unit, start) {
        (Some(unit), _) => Run::Unit(unit),
        (None, Some(start)) => Run::Process(Box::new(ProcessPlan { start, ..process })),
        (None, None) => Run::Watched,
    }
}

const WITH_START: [&str; 6] = ["forks", "stop", "user", "group", "dir", "env"];

fn refuse_without_start(reader: &Reader<'_>, out: &mut Findings) {
    let label = if reader.has("unit") { "the unit has its own" } else { "nothing is started" };
    for key in WITH_START {
        if let Some(entry) = reader.entry(key) {
            let message = format!("`{key}` means nothing without `start`");
            out.error(entry.place, message).label(label).of_absence();
        }
    }
}

fn process(reader: &Reader<'_>, out: &mut Findings) -> ProcessPlan {
    let owned = |word: &str| word.to_owned();
    ProcessPlan {
        start: Vec::new(),
        forks: reader.read("forks", values::boolean, out).unwrap_or(false),
        stop: reader.read("stop", stop, out).unwrap_or(StopMethod::Signal(Signal::SIGTERM as i32)),
        user: reader.read("user", values::word, out).map(owned),
        group: reader.read("group", values::word, out).map(owned),
        dir: reader.read("dir", values::path, out).map(Into::into),
        env: reader.read("env", environment, out).unwrap_or_default(),
    }
}

/// A command, or a signal by name or number.
fn stop(key: &str, node: &Node, out: &mut Findings) -> Option<StopMethod> {
    let named = match &node.value {
        Value::List(_) => return values::argv(key, node, out).map(StopMethod::Command),
        Value::Text(name) if name.trim_start_matches("SIG").starts_with("RT") => {
            return refuse_real_time(key, node, out);
        }
        Value::Text(name) => signal(name),
        Value::Integer(32..=64) => return refuse_real_time(key, node, out),
        Value::Integer(number) => {
            i32::try_from(*number).ok().filter(|number| (1..32).contains(number))
        }
        _ => None,
    };
    if named.is_none() {
        let message = format!("{key}: must be a command, or a signal");
        out.error(node.place, message).label("as in [\"/path/to/program\"], \"TERM\" or 15");
    }
    named.map(StopMethod::Signal)
}

/// What sends our signals knows no real-time signals; sending another in their place would be
/// worse than saying so.
fn refuse_real_time(key: &str, node: &Node, out: &mut Findings) -> Option<StopMethod> {
    let message = format!("{key}: real-time signals cannot be sent");
    let finding = out.error(node.place, message);
    finding.label("another signal, or a command that sends it");
    None
}

/// The number of the signal called `name`, with or without `SIG`.
fn signal(name: &str) -> Option<i32> {
    let name = name.strip_prefix("SIG").unwrap_or(name);
    Signal::from_str(&format!("SIG{name}")).ok().map(|signal| signal as i32)
}

fn environment(key: &str, node: &Node, out: &mut Findings) -> Option<Vec<(String, String)>> {
    let table = values::table(key, node, out)?;
    let mut environment = Vec::with_capacity(table.0.len());
    for entry in &table.0 {
        let name = &entry.key;
        if name.is_empty() || name.contains(['=', '\0']) {
            out.error(entry.place, format!("{key}: `{name}` is no name of a variable"));
            continue;
        }
        match &entry.node.value {
            Value::Text(value) if value.contains('\0') => {
                out.error(entry.node.place, format!("{key}: {name} holds a NUL character"));
            }
            Value::Text(value) => environment.push((name.clone(), value.clone())),
            _ => {
                let _: Option<()> = values::wrong(name, "a text in quotes", &entry.node, out);
            }
        }
    }
    Some(environment)
}

/// What a unit's name may end in.
const SUFFIXES: [&str; 7] =
    [".service", ".socket", ".target", ".mount", ".timer", ".path", ".scope"];

/// The name of a unit, complete with what it is: `nginx.service`.
fn unit(key: &str, node: &Node, out: &mut Findings) -> Option<String> {
    let name = values::word(key, node, out)?;
    unit_name(key, name, node, out).map(str::to_owned)
}

/// `name`, if it can be a unit's; else it is said at `node` what is wrong with it.
pub(super) fn unit_name<'n>(
    key: &str,
    name: &'n str,
    node: &Node,
    out: &mut Findings,
) -> Option<&'n str> {
    let Some(stem) = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)) else {
        let message = format!("{key}: a unit's name ends in {}", words::or(SUFFIXES));
        out.error(node.place, message).label(format!("\"{name}.service\""));
        return None;
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    let message = match stem {
        "" => "the name is missing",
        _ if name.len() > 255 || !stem.chars().all(allowed) => "that is no name of a unit",
        _ if stem.ends_with('@') => "a template runs only with an instance, as in name@ONE.service",
        _ => return Some(name),
    };
    out.error(node.place, format!("{key}: {message}"));
    None
}
