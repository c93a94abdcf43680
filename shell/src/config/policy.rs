//! `[policy.NAME]`: limits as written, layer by layer, until each has a value and a source.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use giveover_core::policy::{Delays, FailoverMode, Limits};
use giveover_core::time::Span;

use super::needs;
use super::plan::Combine;
use super::reader::{Placed, Reader, header};
use super::report::Findings;
use super::schema;
use super::source::Place;
use super::tree::{Entry, Node, Table, Value};
use super::values;
use super::words;

/// The limits of one table: only what is written there.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    like: Option<Placed<String>>,
    thorough_probe_interval: Option<Placed<Span>>,
    probe_timeout: Option<Placed<Span>>,
    retry_count: Option<Placed<Option<u16>>>,
    retry_interval: Option<Placed<Span>>,
    start_timeout: Option<Placed<Span>>,
    stop_timeout: Option<Placed<Span>>,
    start_grace: Option<Placed<Span>>,
    restart_delay: Option<Placed<Delays>>,
    failover_mode: Option<Placed<FailoverMode>>,
    combine: Option<Placed<Combine>>,
}

impl Written {
    /// Reads one table of limits.
    pub(super) fn read(table: &Table, place: Place, path: String, out: &mut Findings) -> Self {
        let reader = Reader::new(table, place, path, &[schema::POLICY], out);
        let positive = values::positive_span;
        Self {
            like: reader.placed("like", |k, n, o| values::text(k, n, o).map(str::to_owned), out),
            thorough_probe_interval: reader.placed("thorough_probe_interval", positive, out),
            probe_timeout: reader.placed("probe_timeout", positive, out),
            retry_count: reader.placed("retry_count", retry_count, out),
            retry_interval: reader.placed("retry_interval", positive, out),
            start_timeout: reader.placed("start_timeout", positive, out),
            stop_timeout: reader.placed("stop_timeout", positive, out),
            start_grace: reader.placed("start_grace", values::span, out),
            restart_delay: reader.placed("restart_delay", restart_delay, out),
            failover_mode: reader.placed("failover_mode", failover_mode, out),
            combine: reader.placed("combine", combine, out),
        }
    }

    /// `limits` with what is written here in their place.
    pub(super) fn onto(&self, limits: Limits) -> Limits {
        fn or<T: Copy>(written: Option<Placed<T>>, below: T) -> T {
            written.map_or(below, |placed| placed.value)
        }
        Limits {
            thorough_probe_interval: or(
                self.thorough_probe_interval,
                limits.thorough_probe_interval,
            ),
            probe_timeout: or(self.probe_timeout, limits.probe_timeout),
            retry_count: or(self.retry_count, limits.retry_count),
            retry_interval: or(self.retry_interval, limits.retry_interval),
            start_timeout: or(self.start_timeout, limits.start_timeout),
            stop_timeout: or(self.stop_timeout, limits.stop_timeout),
            start_grace: or(self.start_grace, limits.start_grace),
            restart_delay: or(self.restart_delay, limits.restart_delay),
            failover_mode: or(self.failover_mode, limits.failover_mode),
        }
    }
}

/// A number, or -1 or "unlimited" for no limit.
fn retry_count(key: &str, node: &Node, out: &mut Findings) -> Option<Option<u16>> {
    match &node.value {
        Value::Integer(-1) => return Some(None),
        Value::Text(text) if text == "unlimited" => return Some(None),
        Value::Integer(count) => {
            let count = u16::try_from(*count).ok().filter(|count| *count <= Limits::MOST_RESTARTS);
            if let Some(count) = count {
                return Some(Some(count));
            }
        }
        _ => {}
    }
    let most = Limits::MOST_RESTARTS;
    let message = format!("{key}: must be 0 to {most}, or -1 or \"unlimited\" for no limit");
    out.error(node.place, message);
    None
}

fn restart_delay(key: &str, node: &Node, out: &mut Findings) -> Option<Delays> {
    let waits = values::one_or_more(key, node, out, values::span)?;
    let delays = Delays::new(&waits);
    if delays.is_none() {
        let message = format!("{key}: at most {} waits; the last repeats", Delays::MOST);
        out.error(node.place, message);
    }
    delays
}

fn failover_mode(key: &str, node: &Node, out: &mut Findings) -> Option<FailoverMode> {
    const MODES: &[&str] = &["none", "soft", "hard", "restart_only", "log_only"];
    let at = values::one_of(MODES)(key, node, out)?;
    FailoverMode::ALL.get(at).copied()
}

fn combine(key: &str, node: &Node, out: &mut Findings) -> Option<Combine> {
    let at = values::one_of(&["heaviest", "sum"])(key, node, out)?;
    [Combine::Heaviest, Combine::Sum].get(at).copied()
}

/// Every `[policy.NAME]` of a configuration.
#[derive(Default)]
pub(super) struct Policies<'t> {
    named: HashMap<&'t str, Named>,
}

struct Named {
    written: Rc<Written>,
    source: Rc<str>,
}

/// One layer of limits, and what `check` calls it.
type Layer = (Rc<Written>, Rc<str>);

impl<'t> Policies<'t> {
    /// Reads the tables behind `policy`.
    pub(super) fn read(entries: &'t [Entry], out: &mut Findings) -> Self {
        let mut policies = Self::default();
        for entry in entries {
            super::name::check("policy", entry, out);
            let Some(table) = values::table(&entry.key, &entry.node, out) else { continue };
            let path = format!("policy.{}", entry.key);
            let written = Written::read(table, header(entry), path, out);
            let named =
                Named { written: Rc::new(written), source: format!("policy {}", entry.key).into() };
            policies.named.insert(&entry.key, named);
        }
        policies.check_like(entries, out);
        policies
    }

    /// Says which `like` names nothing, or leads back to where it stands.
    fn check_like(&self, entries: &[Entry], out: &mut Findings) {
        let places = entries.iter().zip(0_u32..);
        let numbers: HashMap<&str, u32> = places.map(|(it, at)| (it.key.as_str(), at)).collect();
        let likes = entries.iter().map(|entry| self.like(&entry.key));
        let likes: Vec<Option<&Placed<String>>> = likes.collect();
        let likes_what = |like: &Option<&Placed<String>>| -> Vec<u32> {
            like.and_then(|like| numbers.get(like.value.as_str()).copied()).into_iter().collect()
        };
        let graph: Vec<Vec<u32>> = likes.iter().map(likes_what).collect();
        for (like, found) in likes.iter().zip(&graph) {
            if let Some(like) = like.filter(|like| found.is_empty() && like.value != "default") {
                self.unknown("like", &like.value, like.place, out);
            }
        }
        for circle in needs::circles(&graph) {
            let name = |at: &u32| entries.get(*at as usize).map_or("?", |entry| &entry.key);
            let names: Vec<&str> = circle.iter().map(name).collect();
            if let Some(like) = names.first().and_then(|first| self.like(first)) {
                let message = format!("like: a circle: {}", names.join(" -> "));
                out.error(like.place, message).label("one of them must stand alone");
            }
        }
    }

    fn like(&self, name: &str) -> Option<&Placed<String>> {
        self.named.get(name)?.written.like.as_ref()
    }

    fn unknown(&self, key: &str, name: &str, place: Place, out: &mut Findings) {
        let finding = out.error(place, format!("{key}: no policy is called `{name}`"));
        finding.of_absence();
        if let Some(near) = words::nearest(name, self.named.keys().copied()) {
            finding.label(format!("did you mean `{near}`?"));
        }
    }

    /// The layers of the policy `name`: what it is like first, itself last.
    fn layers(&self, name: &str) -> Vec<Layer> {
        let mut names = Vec::new();
        let mut seen = HashSet::new();
        let mut at = Some(name);
        while let Some(name) = at.filter(|name| seen.insert(*name)) {
            names.push(name);
            at = self.like(name).map(|like| like.value.as_str());
        }
        let named = names.iter().rev().filter_map(|name| self.named.get(name));
        named.map(|named| (Rc::clone(&named.written), Rc::clone(&named.source))).collect()
    }

    /// The layers that `policy = …` of a service or preset adds. `source` is what a table of
    /// limits written there is called.
    pub(super) fn layers_of(
        &self,
        entry: Option<&Entry>,
        source: &str,
        path: &str,
        out: &mut Findings,
    ) -> Vec<Layer> {
        let Some(entry) = entry else { return Vec::new() };
        let (name, place, inline) = match &entry.node.value {
            Value::Text(name) => (Some(name.clone()), entry.node.place, None),
            Value::Table(table) => {
                let path = format!("{path}.policy");
                let written = Written::read(table, header(entry), path, out);
                let like = written.like.clone();
                let place = like.as_ref().map_or(entry.node.place, |like| like.place);
                (like.map(|like| like.value), place, Some(written))
            }
            _ => {
                let wanted = "the name of a policy, or a table of limits,";
                let _: Option<()> = values::wrong("policy", wanted, &entry.node, out);
                return Vec::new();
            }
        };
        let mut layers = Vec::new();
        if let Some(name) = name {
            match self.named.contains_key(name.as_str()) {
                true => layers = self.layers(&name),
                // `policy = "default"` is what every service has, written or not.
                false if name == "default" => {}
                false => self.unknown("policy", &name, place, out),
            }
        }
        layers.extend(inline.map(|written| (Rc::new(written), source.into())));
        layers
    }

    /// What every service stands on: built in, then `[policy.default]`.
    pub(super) fn ground(&self) -> Settled {
        let mut settled = Settled::built_in();
        settled.lay(&self.layers("default"));
        settled
    }
}

/// Limits with a value each, where it came from and where that is written.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    pub(super) limits: Limits,
    pub(super) combine: Combine,
    origins: [(&'static str, Rc<str>, Option<Place>); 10],
}

impl Settled {
    fn built_in() -> Self {
        let source: Rc<str> = "built in".into();
        let keys = [
            "thorough_probe_interval",
            "probe_timeout",
            "retry_count",
            "retry_interval",
            "start_timeout",
            "stop_timeout",
            "start_grace",
            "restart_delay",
            "failover_mode",
            "combine",
        ];
        Self {
            limits: Limits::DEFAULT,
            combine: Combine::Heaviest,
            origins: keys.map(|key| (key, Rc::clone(&source), None)),
        }
    }

    /// Puts `layers` on top, the last one uppermost.
    pub(super) fn lay(&mut self, layers: &[Layer]) {
        for (written, source) in layers {
            self.lay_one(written, source);
        }
    }

    fn lay_one(&mut self, from: &Written, source: &Rc<str>) {
        let mut set = Setter { origins: &mut self.origins, source };
        let limits = &mut self.limits;
        let interval = &mut limits.thorough_probe_interval;
        set.set("thorough_probe_interval", from.thorough_probe_interval, interval);
        set.set("probe_timeout", from.probe_timeout, &mut limits.probe_timeout);
        set.set("retry_count", from.retry_count, &mut limits.retry_count);
        set.set("retry_interval", from.retry_interval, &mut limits.retry_interval);
        set.set("start_timeout", from.start_timeout, &mut limits.start_timeout);
        set.set("stop_timeout", from.stop_timeout, &mut limits.stop_timeout);
        set.set("start_grace", from.start_grace, &mut limits.start_grace);
        set.set("restart_delay", from.restart_delay, &mut limits.restart_delay);
        set.set("failover_mode", from.failover_mode, &mut limits.failover_mode);
        set.set("combine", from.combine, &mut self.combine);
    }

    /// The place where `key` is written; `None` if it is not.
    pub(super) fn place(&self, key: &str) -> Option<Place> {
        self.origins.iter().find(|(name, ..)| *name == key)?.2
    }

    /// Says that `key` now has a value nobody wrote, for the reason `source`.
    pub(super) fn derive(&mut self, key: &str, source: &str) {
        for (name, from, place) in &mut self.origins {
            if *name == key {
                (*from, *place) = (source.into(), None);
            }
        }
    }

    fn sources(&self) -> [Rc<str>; 10] {
        std::array::from_fn(|at| {
            self.origins.get(at).map_or_else(|| "?".into(), |(_, source, _)| Rc::clone(source))
        })
    }
}

/// Keys and sources of limits, each combination kept once: thousands of services have the same.
#[derive(Default)]
pub(super) struct SourceLists(HashMap<[Rc<str>; 10], SourceList>);

/// Key and source of each limit of a service.
type SourceList = Arc<[(&'static str, String)]>;

impl SourceLists {
    /// The list of these limits.
    pub(super) fn of(&mut self, settled: &Settled) -> SourceList {
        let list = || settled.origins.iter().map(|(key, source, _)| (*key, source.to_string()));
        Arc::clone(self.0.entry(settled.sources()).or_insert_with(|| list().collect()))
    }
}

struct Setter<'a> {
    origins: &'a mut [(&'static str, Rc<str>, Option<Place>); 10],
    source: &'a Rc<str>,
}

impl Setter<'_> {
    fn set<T: Copy>(&mut self, key: &str, from: Option<Placed<T>>, to: &mut T) {
        let Some(placed) = from else { return };
        *to = placed.value;
        for (name, source, place) in self.origins.iter_mut() {
            if *name == key {
                (*source, *place) = (Rc::clone(self.source), Some(placed.place));
            }
        }
    }
}
