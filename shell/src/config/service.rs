//! `[service.NAME]`: from a table to a service that can be watched.

use std::borrow::Cow;

use giveover_core::policy::{FailoverMode, Policy, Scope};
use giveover_core::time::Span;

use super::address::Addresses;
use super::check::{self, Around, MOST_CHECKS};
use super::database::Rows;
use super::files::Files;
use super::name;
use super::needs::{self, Wants};
use super::plan::{CheckPlan, GoesTo, Kind, LeftToUnit, Run, ServicePlan, Terms};
use super::policy::{Policies, Settled, SourceLists};
use super::preset::{self, Presets};
use super::reader::{Reader, header};
use super::report::Findings;
use super::run;
use super::schema;
use super::scope;
use super::source::Place;
use super::target;
use super::tree::{Entry, Node, Table, Value};
use super::values;
use super::warning;
use super::words;

/// Where the parts of a service are written, for what is found out about them later.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) header: Place,
    pub(super) unit: Place,
    pub(super) start: Place,
    pub(super) stop: Place,
    pub(super) validate: Place,
    pub(super) user: Place,
    pub(super) group: Place,
    pub(super) dir: Place,
    /// As many as the service has checks.
    pub(super) checks: Vec<Place>,
    /// Warnings that need not be given.
    pub(super) allow: Vec<&'static str>,
}

/// What services need to know of the rest of the file.
pub(super) struct Ground<'a> {
    pub(super) policies: &'a Policies<'a>,
    /// The limits under every service's.
    pub(super) limits: &'a Settled,
    /// Whether `[giveover] command` is there.
    pub(super) command: bool,
    /// Whether `[board]` is there.
    pub(super) board: bool,
    /// The services that are in a group, with the group's name.
    pub(super) groups: Vec<(String, String)>,
}

/// What services have from each other.
#[derive(Default)]
struct Shared {
    presets: Presets,
    sources: SourceLists,
}

/// Reads every service. Where there are errors some may be missing.
pub(super) fn read_all(
    entries: &[Entry],
    ground: &Ground<'_>,
    files: &mut Files,
    out: &mut Findings,
) -> Vec<(ServicePlan, Places)> {
    let mut shared = Shared::default();
    let mut services = Vec::with_capacity(entries.len());
    let mut wants = Vec::with_capacity(entries.len());
    for entry in entries {
        name::check("service", entry, out);
        let (service, wanted) = match values::table(&entry.key, &entry.node, out) {
            Some(table) => read(entry, table, ground, &mut shared, files, out),
            None => (None, Wants::new()),
        };
        services.extend(service);
        wants.push(wanted);
    }
    let names: Vec<Box<str>> = entries.iter().map(|entry| entry.key.as_str().into()).collect();
    let needs = needs::resolve(&names, &wants, out);
    if services.len() == needs.len() {
        for ((service, _), needs) in services.iter_mut().zip(needs) {
            if !needs.is_empty() {
                service.terms_mut().needs = needs;
            }
        }
    }
    services
}

fn read(
    entry: &Entry,
    written: &Table,
    ground: &Ground<'_>,
    shared: &mut Shared,
    files: &mut Files,
    out: &mut Findings,
) -> (Option<(ServicePlan, Places)>, Wants) {
    let preset = written.get("preset");
    let below = preset.and_then(|preset| shared.presets.find(preset, files, out));
    let table = match &below {
        Some(below) => Cow::Owned(preset::under(written, below)),
        None => Cow::Borrowed(written),
    };
    let path = format!("service.{}", entry.key);
    let reader = Reader::new(&table, header(entry), path, &[schema::SERVICE], out);
    let draft = Draft::read(&entry.key, &reader, ground, out);
    let preset_name = preset.and_then(|preset| match &preset.node.value {
        Value::Text(name) => Some(name.as_str()),
        _ => None,
    });
    let mut limits = ground.limits.clone();
    if let Some(below) = &below {
        let source = format!("preset {}", preset_name.unwrap_or("?"));
        let entry = below.get("policy");
        limits.lay(&ground.policies.layers_of(entry, &source, &source, out));
    }
    let own = written.get("policy");
    let source = format!("service {}", entry.key);
    limits.lay(&ground.policies.layers_of(own, &source, &reader.path, out));
    let wants = draft.wants.clone();
    let service = draft.finish(&entry.key, limits, &reader, &mut shared.sources, out);
    let service = service.map(|(mut service, places)| {
        if let Some(name) = preset_name {
            service.terms_mut().preset = Some(name.into());
        }
        (service, places)
    });
    (service, wants)
}

/// A service but for its checks and limits, which depend on each other.
struct Draft {
    run: Run,
    validate: Option<Vec<String>>,
    addresses: Option<Addresses>,
    goes_to: GoesTo,
    network: bool,
    wants: Wants,
    allow: Vec<&'static str>,
    rows: Rows,
    stops_when_spent: bool,
}

impl Draft {
    fn read(name: &str, reader: &Reader<'_>, ground: &Ground<'_>, out: &mut Findings) -> Self {
        Self {
            run: run::read(reader, out),
            validate: reader.read("validate", values::argv, out),
            addresses: Addresses::read(reader, out),
            goes_to: goes_to(name, reader, ground, out),
            network: reader.read("network", values::boolean, out).unwrap_or(false),
            wants: reader.read("needs", wants, out).unwrap_or_default(),
            allow: reader.read("allow", warning::allowed, out).unwrap_or_default(),
            rows: Rows::read(reader, out),
            stops_when_spent: reader.read("budget_spent", budget_spent, out).unwrap_or(false),
        }
    }

    fn finish(
        self,
        name: &str,
        mut limits: Settled,
        reader: &Reader<'_>,
        sources: &mut SourceLists,
        out: &mut Findings,
    ) -> Option<(ServicePlan, Places)> {
        let watched = !reader.has("unit") && !reader.has("start");
        let goes_to =
            if watched && !reader.has("giveover") { GoesTo::Nobody } else { self.goes_to };
        if self.stops_when_spent && goes_to != GoesTo::Nobody {
            let message = "budget_spent: a service that is given over has no spent budget";
            out.error(reader.place("budget_spent"), message)
                .label("giveover = \"none\" goes with it");
        }
        let left_to_unit = fit(&mut limits, &self.run, watched, goes_to);
        let around = Around {
            path: &reader.path,
            addresses: self.addresses.as_ref(),
            addresses_wrong: self.addresses.is_none()
                && (reader.has("address") || reader.has("network_resources_used")),
            probe_timeout: limits.limits.probe_timeout,
            interval: limits.limits.thorough_probe_interval,
            has_process: !watched,
            rows: &self.rows,
        };
        let ladder = ladder(reader, out);
        let (checks, check_places) = checks(reader, &around, out)?;
        let has_database = checks.iter().any(|check| matches!(check.kind, Kind::Database(_)));
        if !self.rows.is_empty() && !has_database {
            let message =
                format!("{}.error: rows of errors belong to checks of databases", reader.path);
            let place = reader.entry("error").map_or(reader.header, |entry| entry.place);
            let finding = out.error(place, message);
            finding.label("there is no check of kind postgres or oracle").of_absence();
        }
        if reader.read("transparent", values::boolean, out) == Some(true) {
            only_pings(&checks, &check_places, out);
        }
        if watched && checks.is_empty() {
            let message = format!("{}: there is nothing to watch", reader.path);
            let finding = out.error(reader.header, message);
            finding.label("give it `unit` or `start`, or at least a check").of_absence();
        }
        let scope = scope::of(&self.run, &checks, &ladder, limits.combine, goes_to);
        let policy = judge(&limits, scope, reader, &self.allow, out)?;
        let places = places(reader, check_places, self.allow);
        let terms = Terms {
            preset: None,
            run: self.run,
            validate: self.validate,
            ladder,
            combine: limits.combine,
            needs: Vec::new(),
            policy: policy.into(),
            giveover: goes_to,
            network: self.network,
            stops_when_spent: self.stops_when_spent,
            left_to_unit,
            sources: sources.of(&limits),
        };
        let service = ServicePlan { name: name.into(), checks: checks.into(), terms: terms.into() };
        warning::of_service(&service, &places, out);
        Some((service, places))
    }
}

/// The policy that the limits make for `scope`; an impossible one is said where it is written.
fn judge(
    limits: &Settled,
    scope: Scope,
    reader: &Reader<'_>,
    allow: &[&str],
    out: &mut Findings,
) -> Option<Policy> {
    match Policy::new(limits.limits, scope) {
        Ok((policy, warnings)) => {
            warning::of_policy(&warnings, limits, reader, allow, out);
            Some(policy)
        }
        Err(error) => {
            let place = limits.place(error.key()).unwrap_or(reader.header);
            let (message, label) = warning::halves(&error.to_string());
            out.error(place, format!("{}: {message}", reader.path)).label(label);
            None
        }
    }
}

fn places(reader: &Reader<'_>, checks: Vec<Place>, allow: Vec<&'static str>) -> Places {
    Places {
        header: reader.header,
        unit: reader.place("unit"),
        start: reader.place("start"),
        stop: reader.place("stop"),
        validate: reader.place("validate"),
        user: reader.place("user"),
        group: reader.place("group"),
        dir: reader.place("dir"),
        checks,
        allow,
    }
}

/// How long systemd waits for units that do not say otherwise; the unit's own time-outs take
/// this place once systemd can be asked.
const OF_UNITS: Span = Span::from_secs(90);

/// What `check` calls the source of these.
const SYSTEMD: &str = "systemd's default";

/// Limits that follow from what runs the service; says which are the unit's own affair.
fn fit(limits: &mut Settled, run: &Run, watched: bool, goes_to: GoesTo) -> LeftToUnit {
    let left = |key| matches!(run, Run::Unit(_)) && limits.place(key).is_none();
    let left =
        LeftToUnit { start_timeout: left("start_timeout"), stop_timeout: left("stop_timeout") };
    if left.start_timeout {
        limits.limits.start_timeout = OF_UNITS;
        limits.derive("start_timeout", SYSTEMD);
    }
    if left.stop_timeout {
        limits.limits.stop_timeout = OF_UNITS;
        limits.derive("stop_timeout", SYSTEMD);
    }
    if watched && goes_to == GoesTo::Nobody {
        limits.limits.failover_mode = FailoverMode::LogOnly;
        limits.derive("failover_mode", "watched only");
    } else if watched {
        limits.limits.retry_count = Some(0);
        limits.derive("retry_count", "watched only");
    }
    left
}

fn goes_to(name: &str, reader: &Reader<'_>, ground: &Ground<'_>, out: &mut Findings) -> GoesTo {
    let command = ground.command;
    let group = ground.groups.iter().find(|(service, _)| service == name).map(|(_, group)| group);
    let otherwise = match group {
        Some(_) => GoesTo::Node,
        None if command => GoesTo::Command,
        None => GoesTo::Nobody,
    };
    let Some(entry) = reader.entry("giveover") else { return otherwise };
    let Some(word) = values::text("giveover", &entry.node, out) else { return otherwise };
    let place = entry.node.place;
    match (word, group) {
        ("none", _) => return GoesTo::Nobody,
        ("node", Some(_)) => return GoesTo::Node,
        ("node", None) => {
            let finding = out.error(place, "giveover: it is in no group, and only groups move");
            finding.label(format!("[group.NAME] needs services = [\"{name}\"]")).of_absence();
        }
        // It would run there while its group says that it runs here.
        ("command", Some(group)) => {
            let message = format!("giveover: group.{group} goes to another node as a whole");
            out.error(place, message).label("\"node\", \"board\" or \"none\"");
        }
        ("command", None) if command => return GoesTo::Command,
        ("command", None) => {
            let finding = out.error(place, "giveover: there is no command to hand it over with");
            finding.label("[giveover] needs `command`").of_absence();
        }
        ("board", _) if ground.board => return GoesTo::Board,
        ("board", _) => {
            let finding = out.error(place, "giveover: there is no board to reset this host");
            finding.label("[board] needs `port` and `key`").of_absence();
        }
        _ => {
            let message = "giveover: must be \"node\", \"command\", \"board\" or \"none\"";
            let finding = out.error(place, message);
            if let Some(near) = words::nearest(word, ["node", "command", "board", "none"]) {
                finding.label(format!("did you mean `{near}`?"));
            }
        }
    }
    otherwise
}

/// Whether the monitor ends once the budget is spent.
fn budget_spent(key: &str, node: &Node, out: &mut Findings) -> Option<bool> {
    values::one_of(&["wait", "stop"])(key, node, out).map(|place| place == 1)
}

fn wants(key: &str, node: &Node, out: &mut Findings) -> Option<Wants> {
    values::list(key, node, out, |key, node, out| {
        values::text(key, node, out).map(|name| (name.to_owned(), node.place))
    })
}

fn checks(
    reader: &Reader<'_>,
    around: &Around<'_>,
    out: &mut Findings,
) -> Option<(Vec<CheckPlan>, Vec<Place>)> {
    let entries = reader.entries("check", out);
    if let Some(one_more) = entries.get(MOST_CHECKS) {
        let message = format!("{}: {} checks are too many", reader.path, entries.len());
        out.error(one_more.place, message).label(format!("at most {MOST_CHECKS} in one service"));
        return None;
    }
    let read = entries.iter().map(|entry| {
        name::check("check", entry, out);
        Some((check::read(entry, around, out)?, entry.node.place))
    });
    // Every one of them is read before the first wrong one ends this.
    let read: Vec<_> = read.collect();
    let mut read = read.into_iter().collect::<Option<Vec<_>>>()?;
    // Behind all that have names of their own, whose places are rungs of ladders.
    for (place, entry) in entries.iter().enumerate() {
        for uri in check::read_uris(entry, &read[place].0, out) {
            if let Some(other) = entries.iter().find(|other| *other.key == *uri.name) {
                let message = format!("check.{}: `uris` of check.{} has it", other.key, entry.key);
                out.error(other.place, message).label("give it another name");
                return None;
            }
            read.push((uri, entry.node.place));
        }
    }
    if read.len() > MOST_CHECKS {
        let message = format!("{}: {} checks are too many", reader.path, read.len());
        out.error(reader.place("check"), message).label("fewer `uris`");
        return None;
    }
    Some(read.into_iter().unzip())
}

/// A transparent device passes on what is sent through it: what answers above L3 is not it.
fn only_pings(checks: &[CheckPlan], places: &[Place], out: &mut Findings) {
    for (check, place) in checks.iter().zip(places) {
        let word = check.word();
        if check.asks_addresses() && word != "ping" {
            let message = format!(
                "check.{}: {} check asks whoever is behind it",
                check.name,
                target::a(word)
            );
            out.error(*place, message).label("transparent = true: only `ping` asks the device");
        }
    }
}

/// The rungs by their place; they are names of checks whether or not these can be read.
fn ladder(reader: &Reader<'_>, out: &mut Findings) -> Vec<u8> {
    let rungs = reader.read("ladder", wants, out).unwrap_or_default();
    let checks = match reader.entry("check").map(|entry| &entry.node.value) {
        Some(Value::Table(table)) => &table.0[..],
        _ => &[],
    };
    let mut ladder = Vec::with_capacity(rungs.len());
    for (name, place) in rungs {
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
