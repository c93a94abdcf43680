//! The same world many times, each with another seed: how often, how long, how bad.

use super::outcome::Outcome;
use super::{Options, play};
use crate::config::world::World;

/// A figure of a run: its word, whether it is a time, and where it stands.
pub type RunFigure = (&'static str, bool, fn(&Run) -> u64);

/// What one run came to, of all services together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// The outage of all services, in milliseconds.
    pub outage: u64,
    /// The longest of any.
    pub longest_outage: u64,
    /// The longest time until something was decided.
    pub detection: u64,
    /// Restarts.
    pub restarts: u64,
    /// Of these, of what worked.
    pub needless: u64,
    /// Giveovers that were granted.
    pub giveovers: u64,
    /// Pulses of the reset line.
    pub resets: u64,
    /// Another node became the holder of the address.
    pub takeovers: u64,
    /// Nobody held it, in milliseconds.
    pub unheld: u64,
    /// The longest such time.
    pub longest_unheld: u64,
    /// Members that were excluded.
    pub exclusions: u64,
    /// Nobody took work, of all pools together, in milliseconds.
    pub unserved: u64,
    /// Work went to members that did none, of all of them together, in milliseconds.
    pub misled: u64,
    /// Events that machines were fed.
    pub events: u64,
    /// An expectation, a claim or an invariant did not hold.
    pub wrong: bool,
}

impl Run {
    fn of(outcome: &Outcome) -> Self {
        let pools = |figure: fn(&super::PoolFigures) -> u64| {
            outcome.pools.iter().map(|(_, pool)| figure(pool)).sum()
        };
        let sum = |figure: fn(&super::Figures) -> u64| outcome.services.iter().map(figure).sum();
        let most = |figure: fn(&super::Figures) -> u64| {
            outcome.services.iter().map(figure).max().unwrap_or(0)
        };
        Self {
            seed: outcome.seed,
            outage: sum(|it| it.outage),
            longest_outage: most(|it| it.longest_outage),
            detection: most(|it| it.detection),
            restarts: sum(|it| it.restarts.len() as u64),
            needless: sum(|it| it.needless.len() as u64),
            giveovers: sum(|it| it.giveovers.len() as u64),
            resets: outcome.resets.len() as u64,
            takeovers: outcome.group.as_ref().map_or(0, |group| group.takeovers.len() as u64),
            exclusions: pools(|it| it.exclusions.len() as u64),
            unserved: pools(|it| it.unserved),
            misled: pools(|it| it.misled),
            unheld: outcome.group.as_ref().map_or(0, |group| group.unheld),
            longest_unheld: outcome.group.as_ref().map_or(0, |group| group.longest_unheld),
            events: outcome.events,
            wrong: !outcome.is_right(),
        }
    }

    /// What is told of each run: the word, and whether it is a time.
    const FIGURES: [RunFigure; 7] = [
        ("outage", true, |run| run.outage),
        ("longest outage", true, |run| run.longest_outage),
        ("detection", true, |run| run.detection),
        ("restarts", false, |run| run.restarts),
        ("needless", false, |run| run.needless),
        ("giveovers", false, |run| run.giveovers),
        ("resets", false, |run| run.resets),
    ];

    /// The same of the nodes.
    const OF_NODES: [RunFigure; 3] = [
        ("unheld", true, |run| run.unheld),
        ("longest unheld", true, |run| run.longest_unheld),
        ("takeovers", false, |run| run.takeovers),
    ];

    /// The same of pools.
    const OF_POOLS: [RunFigure; 3] = [
        ("unserved", true, |run| run.unserved),
        ("misled", true, |run| run.misled),
        ("exclusions", false, |run| run.exclusions),
    ];
}

/// Many runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Many {
    /// What the world is called.
    pub name: String,
    /// How long each is, in milliseconds.
    pub length: u64,
    /// Each of them, in order of their seeds.
    pub runs: Vec<Run>,
    /// There are services, or a board.
    pub of_host: bool,
    /// There are nodes.
    pub of_nodes: bool,
    /// There are pools.
    pub of_pools: bool,
}

impl Many {
    /// The run with the longest outage; of several the one with most resets, giveovers, restarts.
    #[must_use]
    pub fn worst(&self) -> Option<&Run> {
        let key = |run: &&Run| {
            (
                run.wrong,
                run.outage,
                run.unheld,
                run.unserved,
                run.resets,
                run.giveovers,
                run.restarts,
                u64::MAX - run.seed,
            )
        };
        self.runs.iter().max_by_key(key)
    }

    /// The figures that say something of such a world.
    pub fn figures(&self) -> impl Iterator<Item = RunFigure> + use<> {
        let (of_host, of_nodes, of_pools) = (self.of_host, self.of_nodes, self.of_pools);
        let host = Run::FIGURES.into_iter().filter(move |_| of_host);
        let nodes = Run::OF_NODES.into_iter().filter(move |_| of_nodes);
        host.chain(nodes).chain(Run::OF_POOLS.into_iter().filter(move |_| of_pools))
    }

    /// How many came out otherwise than they should.
    #[must_use]
    pub fn wrong(&self) -> usize {
        self.runs.iter().filter(|run| run.wrong).count()
    }

    /// The figure below which `percent` of the runs stay, of that many sorted ones.
    #[must_use]
    pub fn percentile(sorted: &[u64], percent: usize) -> u64 {
        let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(rank).copied().unwrap_or(0)
    }
}

/// Plays `world` with `runs` seeds from `seed` on. `tell` hears how many are done, after each.
pub fn many(world: &World, seed: u64, runs: u64, mut tell: impl FnMut(u64)) -> Many {
    let mut all = Vec::new();
    for number in 0..runs {
        let seed = Some(seed.wrapping_add(number));
        let outcome = play(world, Options { seed, ..Options::default() });
        all.push(Run::of(&outcome));
        tell(number + 1);
    }
    Many {
        name: world.name.clone(),
        length: world.length,
        runs: all,
        of_host: !world.services.is_empty() || world.board.is_some(),
        of_nodes: world.group.is_some(),
        of_pools: !world.pools.is_empty(),
    }
}
