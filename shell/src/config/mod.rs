//! The configuration: the file as people write it, and the plan the daemon runs.
//!
//! [`load`] reads a file and those it includes and returns a [`Plan`] with its
//! warnings, or **every** error of all the files at once, each with file, line, column and the
//! likely remedy. Nothing a file says can panic, and a plan that comes out of here is possible:
//! whatever can be told without asking the machine has been checked. What only the machine knows
//! (programs, users, units) is asked by [`here::look`].
//!
//! The way of a text: `syntax` (and its `builder`) make a `tree` whose keys and values know their
//! places, `files`
//! puts several trees together, `preset` lays a tree under a service's, and the modules named
//! for tables turn trees into parts of the plan, each reporting what it finds and going on.
//! [`schema`] lists every key there is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use giveover_core::policy::Limits;

pub use self::diff::{Diff, diff};
pub use self::report::{Finding, Level, Report};

mod address;
pub mod agent;
mod board;
mod builder;
mod check;
pub mod cluster;
pub mod database;
pub mod diff;
pub mod dollar;
pub mod few;
mod files;
pub mod here;
mod host;
pub mod import;
pub mod instance;
mod kind;
pub mod look;
mod name;
mod needs;
pub mod pack;
pub mod plan;
mod policy;
pub mod pool;
pub mod preset;
pub mod quantity;
mod reader;
pub mod remote;
mod report;
mod run;
pub mod scenario;
pub mod schema;
mod scope;
mod service;
mod snippet;
mod source;
pub mod state;
mod syntax;
mod tables;
pub mod talk;
mod target;
#[cfg(test)]
mod tests;
pub mod tls;
mod tree;
mod values;
pub mod warning;
mod watch;
pub mod words;
pub mod world;

pub use self::report::many;
pub use self::source::{Place, Source, Sources};
pub use self::watch::EDGES;

use self::files::Files;
use self::plan::Plan;
use self::policy::Policies;
use self::report::Findings;
use self::service::{Ground, Places};
use self::tree::{Entry, Table};

/// A configuration that can be run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What to run.
    pub plan: Plan,
    /// What is possible but hardly meant.
    pub warnings: Report,
    /// What `[policy.default]` comes to: the limits of a service that says nothing.
    pub default_limits: Limits,
    places: Vec<Places>,
    giveover: [Option<Place>; 2],
    board: [Option<Place>; 2],
    cluster: Option<Place>,
    /// `host.trusted`.
    trusted: Option<Place>,
    /// Of each pool: `none_left.page`, `haproxy.socket`, `nft`, `command`.
    pools: Vec<[Option<Place>; 4]>,
    /// Of the checks of each pool, in its order.
    pool_checks: Vec<Vec<Option<Place>>>,
    /// Of each group, and of the nodes.
    groups: Vec<cluster::GroupPlaces>,
    fence: Option<Place>,
}

/// Reads the configuration file at `path` and what it includes.
///
/// # Errors
/// Everything that is wrong, in the order of the files.
pub fn load(path: &Path) -> Result<Loaded, Report> {
    let mut out = Findings::default();
    let files = Files::read(path, &mut out);
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    plan(absolute, files, out)
}

/// Reads a configuration from `text`, called `name` in messages. It can include nothing.
///
/// # Errors
/// Everything that is wrong, in the order of the text.
pub fn load_str(name: &str, text: &str) -> Result<Loaded, Report> {
    let mut out = Findings::default();
    let files = Files::of_text(name, text, &mut out);
    plan(PathBuf::from(name), files, out)
}

fn plan(file: PathBuf, mut files: Files, mut out: Findings) -> Result<Loaded, Report> {
    let root = std::mem::take(&mut files.root);
    let cluster = cluster::read(&root, &mut out).map(Box::new);
    reader::Reader::new(&root, Place::whole(0), String::new(), &[schema::ROOT], &mut out);

    let policies = Policies::read(entries(&root, "policy", &mut out), &mut out);
    let limits = policies.ground();
    let giveover = host::giveover(root.get("giveover"), &mut out);
    let host = host::host(root.get("host"), limits.limits.probe_timeout, &mut out);
    let control = host::control(root.get("control"), &mut out);
    let board = board::board(root.get("board"), &mut out);
    let watch = watch::watch(root.get("watch"), &mut out);
    let notify = watch::notify(entries(&root, "notify", &mut out), &mut out);
    let ground = Ground {
        policies: &policies,
        limits: &limits,
        // A bad one is told by itself.
        command: root.find(&["giveover", "command"]).is_some(),
        board: root.get("board").is_some(),
        groups: cluster::members(&root),
    };
    let services = entries(&root, "service", &mut out);
    let services = service::read_all(services, &ground, &mut files, &mut out);
    warning::of_all(&services, &mut out);
    warning::of_cluster(root.get("cluster"), cluster.as_deref(), &mut out);
    let pools = entries(&root, "pool", &mut out);
    let pools = pool::read_all(pools, !host.trusted.is_empty(), &mut out);
    let plans: Vec<_> = services.iter().map(|(plan, _)| plan.clone()).collect();
    board::judge_shadows(root.get("board"), board.as_deref(), &plans, &mut out);

    let included = std::mem::take(&mut files.included);
    let sources = Arc::new(std::mem::take(&mut files.sources));
    out.forgive(&sources);
    let (errors, warnings) = out.into_reports(&sources);
    if !errors.is_empty() {
        return Err(errors);
    }
    let place = |key| root.find(&["giveover", key]).map(|entry| entry.node.place);
    let giveover_places = [place("may"), place("command")];
    let place = |key| root.find(&["board", key]).map(|entry| entry.node.place);
    let board_places = [place("port"), place("key")];
    let of_pools = pools.iter().map(|pool| {
        let place = |path: &[&str]| {
            let path = [&["pool", &*pool.name], path].concat();
            root.find(&path).map(|entry| entry.node.place)
        };
        [
            place(&["none_left", "page"]),
            place(&["haproxy", "socket"]),
            place(&["nft"]),
            place(&["command"]),
        ]
    });
    let of_pools = of_pools.collect();
    let pool_checks = pools.iter().map(|pool| {
        let checks: &[plan::CheckPlan] = pool.members.first().map_or(&[], |member| &member.checks);
        let place = |check: &plan::CheckPlan| {
            let entry = root.find(&["pool", &*pool.name, "check", &*check.name]);
            entry.map(|entry| entry.node.place)
        };
        checks.iter().map(place).collect()
    });
    let pool_checks = pool_checks.collect();
    let of_groups = cluster.iter().flat_map(|cluster| &cluster.groups);
    let groups = of_groups.map(|group| cluster::GroupPlaces::of(&root, group)).collect();
    let fence = root.find(&["cluster", "fence"]).map(|entry| entry.node.place);
    let (services, places) = services.into_iter().unzip();
    let plan = Plan {
        file,
        included,
        host,
        giveover,
        control,
        board,
        watch,
        notify,
        cluster,
        services,
        pools,
    };
    Ok(Loaded {
        plan,
        warnings,
        default_limits: limits.limits,
        places,
        giveover: giveover_places,
        board: board_places,
        cluster: root.find(&["cluster", "key"]).map(|entry| entry.node.place),
        trusted: root.find(&["host", "trusted"]).map(|entry| entry.node.place),
        pools: of_pools,
        pool_checks,
        groups,
        fence,
    })
}

/// The tables behind `key` of the file itself.
fn entries<'t>(root: &'t Table, key: &str, out: &mut Findings) -> &'t [Entry] {
    let table = root.get(key).and_then(|entry| values::table(key, &entry.node, out));
    table.map_or(&[], |table| &table.0)
}
