//! What changes from one plan to the next, for `reload` and the log.

use std::collections::HashMap;
use std::fmt;

use giveover_core::policy::{Delays, Limits};
use giveover_core::time::Span;

use super::plan::{CheckPlan, GoesTo, Plan, Run, ServicePlan};
use super::quantity::written;
use super::report::many;

/// What changes from an old plan to a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// What changes beside the services, a phrase each.
    pub host: Vec<String>,
    /// As many as the new plan has services, in its order.
    pub services: Vec<Fate>,
    /// Names and numbers of the old plan's services that are in the new one no more.
    pub removed: Vec<(Box<str>, u32)>,
    names: Vec<Box<str>>,
}

/// What becomes of one service of the new plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The old plan has none of this name.
    New,
    /// It goes on as it is.
    Kept {
        /// Its number in the old plan.
        old: u32,
    },
    /// It goes on with its histories, but differs.
    Changed {
        /// Its number in the old plan.
        old: u32,
        /// What differs, a phrase each: `retry_count 2 → 3`.
        what: Vec<String>,
        /// Whether what runs it differs: the running one was started in another way.
        run: bool,
    },
}

impl Diff {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sentences().is_empty()
    }

    /// What changes, a phrase each: `+1 service`, `web: retry_count 2 → 3`.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let fates = || self.names.iter().zip(&self.services);
        let new: Vec<&str> =
            fates().filter(|(_, fate)| **fate == Fate::New).map(|(name, _)| &**name).collect();
        let gone: Vec<&str> = self.removed.iter().map(|(name, _)| &**name).collect();
        for (sign, names) in [("+", new), ("-", gone)] {
            if !names.is_empty() {
                let count = many(names.len(), "service");
                sentences.push(format!("{sign}{count} ({})", some(&names)));
            }
        }
        for (name, fate) in fates() {
            if let Fate::Changed { what, .. } = fate {
                sentences.push(format!("{name}: {}", what.join(", ")));
            }
        }
        sentences.extend(self.host.iter().cloned());
        sentences
    }
}

/// The first few of `names`.
fn some(names: &[&str]) -> String {
    const FEW: usize = 3;
    let shown = names.get(..FEW.min(names.len())).unwrap_or_default().join(", ");
    if names.len() > FEW { format!("{shown}, …") } else { shown }
}

impl fmt::Display for Diff {
    /// In one line: `+1 service (db), web: retry_count 2 → 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sentences() {
            sentences if sentences.is_empty() => f.write_str("nothing changed"),
            sentences => f.write_str(&sentences.join("; ")),
        }
    }
}

/// What changes from `old` to `new`. Services are the same if they have the same name.
#[must_use]
pub fn diff(old: &Plan, new: &Plan) -> Diff {
    let before: HashMap<&str, u32> =
        old.services.iter().zip(0..).map(|(service, number)| (&*service.name, number)).collect();
    let after: HashMap<&str, ()> = new.services.iter().map(|it| (&*it.name, ())).collect();
    let fate = |service: &ServicePlan| {
        let Some(number) = before.get(&*service.name) else { return Fate::New };
        let Some(was) = old.services.get(*number as usize) else { return Fate::New };
        let what = changes(was, service, old, new);
        if what.is_empty() {
            return Fate::Kept { old: *number };
        }
        Fate::Changed { old: *number, what, run: was.run != service.run }
    };
    let gone = old.services.iter().zip(0_u32..);
    Diff {
        host: host(old, new),
        services: new.services.iter().map(fate).collect(),
        removed: gone
            .filter(|(service, _)| !after.contains_key(&*service.name))
            .map(|(service, number)| ((*service.name).into(), number))
            .collect(),
        names: new.services.iter().map(|service| (*service.name).into()).collect(),
    }
}

fn host(old: &Plan, new: &Plan) -> Vec<String> {
    let mut list = List::default();
    list.spell("host.observe", &old.host.observe, &new.host.observe);
    list.spell("host.node", &old.host.node, &new.host.node);
    let actions =
        |plan: &Plan| format!("{} in {}", plan.host.actions.count, written(plan.host.actions.per));
    list.spell("host.actions", &actions(old), &actions(new));
    list.note("host.trusted", old.host.trusted != new.host.trusted);
    list.note("host.local_fault", old.host.local_fault != new.host.local_fault);
    list.note("giveover.may", old.giveover.may != new.giveover.may);
    list.note("giveover.command", old.giveover.command != new.giveover.command);
    list.spell("giveover.timeout", &written(old.giveover.timeout), &written(new.giveover.timeout));
    list.note("control.command", old.control != new.control);
    list.note("watch.listen", old.watch != new.watch);
    list.note("notify", old.notify != new.notify);
    list.note("cluster, nodes and groups", old.cluster != new.cluster);
    match (&old.board, &new.board) {
        (None, Some(_)) => list.0.push("+board".to_owned()),
        (Some(_), None) => list.0.push("-board".to_owned()),
        (old, new) => list.note("board", old != new),
    }
    pools(&mut list, old, new);
    list.0
}

fn pools(list: &mut List, old: &Plan, new: &Plan) {
    let find = |plan: &'_ Plan, name: &str| plan.pools.iter().position(|pool| *pool.name == *name);
    for pool in &new.pools {
        match find(old, &pool.name).and_then(|at| old.pools.get(at)) {
            None => list.0.push(format!("+pool {}", pool.name)),
            Some(was) => list.note(&format!("pool {}", pool.name), was != pool),
        }
    }
    for pool in old.pools.iter().filter(|pool| find(new, &pool.name).is_none()) {
        list.0.push(format!("-pool {}", pool.name));
    }
}

fn changes(old: &ServicePlan, new: &ServicePlan, before: &Plan, after: &Plan) -> Vec<String> {
    let mut list = List::default();
    list.spell("runs as", &run(&old.run), &run(&new.run));
    list.note("how it is run", run(&old.run) == run(&new.run) && old.run != new.run);
    list.note("validate", old.validate != new.validate);
    checks(&mut list, &old.checks, &new.checks);
    let rungs = |service: &ServicePlan| -> Vec<Box<str>> {
        let check = |at: &u8| service.checks.get(usize::from(*at)).map(|it| it.name.clone());
        service.ladder.iter().filter_map(check).collect()
    };
    list.note("ladder", rungs(old) != rungs(new));
    list.note("combine", old.combine != new.combine);
    list.note("needs", needs(old, before) != needs(new, after));
    limits(&mut list, old.policy.limits(), new.policy.limits());
    list.spell("giveover", goes_to(old.giveover), goes_to(new.giveover));
    list.spell("network", &old.network, &new.network);
    list.spell("budget_spent", &old.stops_when_spent, &new.stops_when_spent);
    list.0
}

fn run(run: &Run) -> String {
    match run {
        Run::Watched => "watched only".to_owned(),
        Run::Unit(unit) => unit.clone(),
        Run::Process(process) => {
            let program = process.start.first().map_or("?", String::as_str);
            format!("process {program}")
        }
    }
}

fn goes_to(to: GoesTo) -> &'static str {
    match to {
        GoesTo::Command => "command",
        GoesTo::Board => "board",
        GoesTo::Nobody => "none",
        GoesTo::Node => "node",
    }
}

fn needs<'p>(service: &ServicePlan, plan: &'p Plan) -> Vec<&'p str> {
    let name = |number: &u32| plan.services.get(*number as usize).map(|it| &*it.name);
    service.needs.iter().filter_map(name).collect()
}

fn checks(list: &mut List, old: &[CheckPlan], new: &[CheckPlan]) {
    let find = |checks: &'_ [CheckPlan], name: &str| checks.iter().position(|it| *it.name == *name);
    for check in new {
        match find(old, &check.name).and_then(|at| old.get(at)) {
            None => list.0.push(format!("+check {}", check.name)),
            Some(was) => list.note(&format!("check {}", check.name), was != check),
        }
    }
    for check in old.iter().filter(|check| find(new, &check.name).is_none()) {
        list.0.push(format!("-check {}", check.name));
    }
}

fn limits(list: &mut List, old: &Limits, new: &Limits) {
    let count = |limits: &Limits| match limits.retry_count {
        Some(count) => count.to_string(),
        None => "unlimited".to_owned(),
    };
    list.spell("retry_count", &count(old), &count(new));
    let spans = |limits: &Limits| -> [(&'static str, Span); 6] {
        [
            ("retry_interval", limits.retry_interval),
            ("thorough_probe_interval", limits.thorough_probe_interval),
            ("probe_timeout", limits.probe_timeout),
            ("start_timeout", limits.start_timeout),
            ("stop_timeout", limits.stop_timeout),
            ("start_grace", limits.start_grace),
        ]
    };
    for ((key, old), (_, new)) in spans(old).into_iter().zip(spans(new)) {
        list.spell(key, &written(old), &written(new));
    }
    list.spell("restart_delay", &waits(&old.restart_delay), &waits(&new.restart_delay));
    list.spell("failover_mode", old.failover_mode.word(), new.failover_mode.word());
}

/// The waits before restarts, in order.
#[must_use]
pub fn waits(delays: &Delays) -> String {
    delays.iter().map(written).collect::<Vec<_>>().join(" ")
}

/// Phrases about what differs.
#[derive(Default)]
struct List(Vec<String>);

impl List {
    /// `what OLD → NEW`, if they differ.
    fn spell<T: PartialEq + fmt::Display + ?Sized>(&mut self, what: &str, old: &T, new: &T) {
        if old != new {
            self.0.push(format!("{what} {old} → {new}"));
        }
    }

    /// `what`, if it differs but is too long to spell out.
    fn note(&mut self, what: &str, differs: bool) {
        if differs {
            self.0.push(format!("{what} changed"));
        }
    }
}
