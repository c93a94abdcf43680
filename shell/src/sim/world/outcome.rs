//! What a world came to: figures, expectations and claims, and how it is drawn.

use std::sync::Arc;

use giveover_core::board::State;
use giveover_core::monitor::Status;
use giveover_core::node::Nodes;
use giveover_core::pool::NoneLeft;

use super::pools::{self, PoolPart};
use crate::config::world::{Claim, Expect, Measure, Of, PoolExpect, PoolPlan, World};
use crate::sim::timeline::{Timeline, role_word};

/// What a world came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What it is called.
    pub name: String,
    /// What chance was drawn from.
    pub seed: u64,
    /// How long was played, in milliseconds.
    pub length: u64,
    /// How many events machines were fed.
    pub events: u64,
    /// The services' names.
    pub names: Vec<Arc<str>>,
    /// The figures of each service, in the same order.
    pub services: Vec<Figures>,
    /// When the reset line was pulled.
    pub resets: Vec<u64>,
    /// When the host came up again.
    pub boots: Vec<u64>,
    /// What the nodes came to, if there are any.
    pub group: Option<GroupFigures>,
    /// What each pool came to, by name, in the order of the file.
    pub pools: Vec<(Arc<str>, PoolFigures)>,
    /// What was expected at some time, and what was.
    pub told: Vec<Told>,
    /// Claims that do not hold: each a place, the claim, and what was.
    pub broken_claims: Vec<(usize, usize, String)>,
    /// How many claims there are.
    pub claims: usize,
    /// An invariant that did not hold: when, and what.
    pub broken: Option<(u64, String)>,
    /// As it is drawn, if that was asked for.
    pub timeline: Option<Timeline>,
}

/// The figures of the nodes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupFigures {
    /// When another node became the holder of the address than the one before.
    pub takeovers: Vec<u64>,
    /// How long nobody held it, once somebody had, in milliseconds.
    pub unheld: u64,
    /// The longest at a stretch.
    pub longest_unheld: u64,
    /// How often it was let go in good order or at once.
    pub released: u64,
    /// When two held it at once, if ever.
    pub two: Option<u64>,
    /// When two nodes ran a service that moves, if ever, and which.
    pub two_run: Option<(u64, Arc<str>)>,
}

impl GroupFigures {
    pub(super) fn unheld(&mut self, ms: u64) {
        self.unheld += ms;
        self.longest_unheld = self.longest_unheld.max(ms);
    }
}

/// The figures of one pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    /// When members were excluded, one each.
    pub exclusions: Vec<u64>,
    /// How long nobody took work, in milliseconds.
    pub unserved: u64,
    /// The longest at a stretch.
    pub longest_unserved: u64,
    /// How long work went to members that did none, of all of them together.
    pub misled: u64,
}

impl PoolFigures {
    pub(super) fn unserved(&mut self, ms: u64) {
        self.unserved += ms;
        self.longest_unserved = self.longest_unserved.max(ms);
    }
}

/// The figures of one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// When the monitor began restarts.
    pub restarts: Vec<u64>,
    /// Of these, when it worked.
    pub needless: Vec<u64>,
    /// When giveovers were granted.
    pub giveovers: Vec<u64>,
    /// How many were denied.
    pub denials: u32,
    /// When its process ended.
    pub deaths: Vec<u64>,
    /// How long it did not work, in milliseconds.
    pub outage: u64,
    /// The longest at a stretch.
    pub longest_outage: u64,
    /// The longest from a fault to what was decided about it.
    pub detection: u64,
    seen: u8,
    /// Its status in the end.
    pub last: Status,
}

impl Figures {
    pub(super) fn broken(&mut self, ms: u64) {
        self.outage += ms;
        self.longest_outage = self.longest_outage.max(ms);
    }

    /// Those of the same service at another node. How long it worked nowhere is counted where the host is.
    pub(super) fn gather(&mut self, other: Self) {
        let lists = [
            (&mut self.restarts, other.restarts),
            (&mut self.needless, other.needless),
            (&mut self.giveovers, other.giveovers),
            (&mut self.deaths, other.deaths),
        ];
        for (own, more) in lists {
            own.extend(more);
            own.sort_unstable();
        }
        self.denials += other.denials;
        self.detection = self.detection.max(other.detection);
        self.seen |= other.seen;
    }

    pub(super) fn seen(&mut self, status: Status) {
        self.seen |= 1 << (status as u8);
    }

    /// Whether it ever had this status.
    #[must_use]
    pub const fn had(&self, status: Status) -> bool {
        self.seen & 1 << (status as u8) != 0
    }

    /// The figure of a service; `None` for one of the host's or the nodes'.
    #[must_use]
    pub fn of(&self, measure: Measure) -> Option<u64> {
        Some(match measure {
            Measure::Restarts => self.restarts.len() as u64,
            Measure::Needless => self.needless.len() as u64,
            Measure::Giveovers => self.giveovers.len() as u64,
            Measure::Denials => u64::from(self.denials),
            Measure::Deaths => self.deaths.len() as u64,
            Measure::Outage => self.outage,
            Measure::LongestOutage => self.longest_outage,
            Measure::Detection => self.detection,
            Measure::Resets
            | Measure::Boots
            | Measure::Takeovers
            | Measure::Unheld
            | Measure::LongestUnheld
            | Measure::Exclusions
            | Measure::Unserved
            | Measure::LongestUnserved
            | Measure::Misled => return None,
        })
    }

    fn times(&self, measure: Measure) -> &[u64] {
        match measure {
            Measure::Restarts => &self.restarts,
            Measure::Needless => &self.needless,
            Measure::Giveovers => &self.giveovers,
            Measure::Deaths => &self.deaths,
            _ => &[],
        }
    }
}

/// What was expected at some time, and what was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// When.
    pub at: u64,
    /// The line it is written on.
    pub line: usize,
    /// The service it is about.
    pub service: Option<Arc<str>>,
    /// Its status.
    pub status: Option<Status>,
    /// Its live sum.
    pub failure_sum: Option<u16>,
    /// Its live restarts.
    pub restarts: Option<u16>,
    /// What it has done.
    pub actions: Option<Vec<&'static str>>,
    /// How the board stands.
    pub board: Option<State>,
    /// Pulses of the reset line.
    pub resets: Option<u32>,
    /// A node, by name, and its role.
    pub role: Option<(Arc<str>, &'static str)>,
    /// Who holds the address, by name.
    pub holders: Option<Vec<Arc<str>>>,
    /// On which nodes the service runs, by name.
    pub runs: Option<Vec<Arc<str>>>,
    /// How a pool stands, as far as something is expected of it.
    pub pool: Option<PoolTold>,
    /// Where it came out otherwise.
    pub differences: Vec<Difference>,
}

/// How a pool stands, in the words of `expect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolTold {
    /// Its name.
    pub name: Arc<str>,
    /// Each key, what was expected, and what came.
    pub keys: Vec<(&'static str, String, String)>,
}

impl PoolTold {
    pub(super) fn of(plan: &PoolPlan, part: &PoolPart, expected: &PoolExpect) -> Self {
        let list = |places: &[usize]| format!("{:?}", pools::names(plan, places));
        let faces = expected.faces.iter();
        let faces = faces.map(|(word, places)| (*word, list(places), list(&part.with(word))));
        let mut keys: Vec<_> = faces.collect();
        let word = |why: Option<NoneLeft>| {
            let word = match why {
                None => "none",
                Some(NoneLeft::NobodyIn) => "nobody_in",
                Some(NoneLeft::AllBusy) => "all_busy",
            };
            format!("\"{word}\"")
        };
        keys.extend(expected.fallback.map(|why| ("fallback", word(why), word(part.none_left()))));
        let frozen = part.frozen().is_some();
        keys.extend(expected.frozen.map(|it| ("frozen", it.to_string(), frozen.to_string())));
        Self { name: plan.name.clone(), keys }
    }
}

/// One thing that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which: a key of `expect`.
    pub key: &'static str,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub came: String,
}

impl Told {
    pub(super) fn of(expect: &Expect, world: &World) -> Self {
        let service = expect.service.and_then(|place| world.services.get(place));
        Self {
            at: expect.at,
            line: expect.line,
            service: service.map(|service| service.name.clone()),
            status: None,
            failure_sum: None,
            restarts: None,
            actions: None,
            board: None,
            resets: None,
            role: None,
            holders: None,
            runs: None,
            pool: None,
            differences: Vec::new(),
        }
    }

    /// Whether a key of `expect` is about the pool.
    pub(super) fn is_of_pool(&self, key: &str) -> bool {
        self.pool.iter().flat_map(|pool| &pool.keys).any(|(known, ..)| *known == key)
    }

    pub(super) fn judge(&mut self, expect: &Expect, names: &[Arc<str>]) {
        let mut compare = |key, expected: Option<String>, came: Option<String>| {
            let Some(expected) = expected else { return };
            let came = came.unwrap_or_else(|| "nothing".to_owned());
            if expected != came {
                self.differences.push(Difference { key, expected, came });
            }
        };
        let word = |status: Status| format!("\"{}\"", status.word());
        let number = |number: u16| number.to_string();
        let list = |words: &Vec<&str>| format!("{words:?}");
        compare("status", expect.status.map(word), self.status.map(word));
        compare("failure_sum", expect.failure_sum.map(number), self.failure_sum.map(number));
        compare("restarts", expect.restarts.map(number), self.restarts.map(number));
        compare("actions", expect.actions.as_ref().map(list), self.actions.as_ref().map(list));
        let state = |state: State| format!("\"{}\"", state.word());
        compare("board", expect.board.map(state), self.board.map(state));
        let count = |count: u32| count.to_string();
        compare("resets", expect.resets.map(count), self.resets.map(count));
        let role = expect.role.map(|(_, role)| role_word(role).to_owned());
        compare("role", role, self.role.as_ref().map(|(_, role)| (*role).to_owned()));
        let holders = expect.holders.map(|nodes| format!("{:?}", named(nodes, names)));
        compare("holders", holders, self.holders.as_ref().map(|names| format!("{names:?}")));
        let runs = expect.runs.map(|nodes| format!("{:?}", named(nodes, names)));
        compare("runs", runs, self.runs.as_ref().map(|names| format!("{names:?}")));
        for (key, expected, came) in self.pool.iter().flat_map(|pool| &pool.keys) {
            compare(*key, Some(expected.clone()), Some(came.clone()));
        }
    }
}

/// Nodes by their names.
pub(super) fn named(nodes: Nodes, names: &[Arc<str>]) -> Vec<Arc<str>> {
    nodes.iter().filter_map(|node| names.get(usize::from(node.0)).cloned()).collect()
}

impl Outcome {
    pub(super) fn new(world: &World, seed: u64) -> Self {
        Self {
            name: world.name.clone(),
            seed,
            length: 0,
            events: 0,
            names: world.services.iter().map(|service| service.name.clone()).collect(),
            services: Vec::new(),
            resets: Vec::new(),
            boots: Vec::new(),
            group: None,
            pools: Vec::new(),
            told: Vec::new(),
            broken_claims: Vec::new(),
            claims: 0,
            broken: None,
            timeline: None,
        }
    }

    /// Whether everything came out as it should.
    #[must_use]
    pub fn is_right(&self) -> bool {
        let as_expected = self.told.iter().all(|told| told.differences.is_empty());
        as_expected && self.broken_claims.is_empty() && self.broken.is_none()
    }

    /// Looks at every claim of the file.
    pub(super) fn judge(&mut self, world: &World) {
        for assert in &world.asserts {
            self.claims += 1;
            let places: Vec<usize> = match assert.of {
                Of::Host | Of::Group => vec![usize::MAX],
                Of::Service(place) => vec![place],
                Of::Every => (0..self.services.len()).collect(),
                Of::Pool(place) => {
                    let Some((name, figures)) = self.pools.get(place) else { continue };
                    if let Some(came) = figures.contradicts(assert.claim) {
                        let text = format!("{name}: {}: it is {came}", assert.text);
                        self.broken_claims.push((assert.line, assert.column, text));
                    }
                    continue;
                }
            };
            for place in places {
                let Some(came) = self.contradicts(place, assert.claim) else { continue };
                let who = match (self.names.get(place), assert.of) {
                    (Some(name), _) => name.to_string(),
                    (None, Of::Group) => "group".to_owned(),
                    (None, _) => "host".to_owned(),
                };
                let text = format!("{who}: {}: it is {came}", assert.text);
                self.broken_claims.push((assert.line, assert.column, text));
            }
        }
    }

    /// What is instead of the claim; `None` if it holds.
    fn contradicts(&self, place: usize, claim: Claim) -> Option<String> {
        let figures = self.services.get(place);
        match claim {
            Claim::Never(word) => {
                let figures = figures?;
                let had = STATUSES.into_iter().find(|status| status.word() == word)?;
                figures.had(had).then(|| format!("{word} at some time"))
            }
            Claim::NeverTwoActive => {
                let group = self.group.as_ref()?;
                let short = crate::message::span::short;
                let held = group.two.map(|at| format!("two hold the address at {}", short(at)));
                let run = group.two_run.as_ref();
                held.or_else(|| run.map(|(at, name)| format!("two run {name} at {}", short(*at))))
            }
            Claim::Ends(word) => {
                let last = figures?.last.word();
                (last != word).then(|| last.to_owned())
            }
            Claim::Bound { measure, relation, value, per_ms } => {
                let figure = match (per_ms, measure) {
                    (Some(window), Measure::Resets) => most_within(&self.resets, window),
                    (Some(window), Measure::Takeovers) => {
                        most_within(&self.group.as_ref()?.takeovers, window)
                    }
                    (Some(window), measure) => most_within(figures?.times(measure), window),
                    (None, Measure::Resets) => self.resets.len() as u64,
                    (None, Measure::Boots) => self.boots.len() as u64,
                    (None, Measure::Takeovers) => self.group.as_ref()?.takeovers.len() as u64,
                    (None, Measure::Unheld) => self.group.as_ref()?.unheld,
                    (None, Measure::LongestUnheld) => self.group.as_ref()?.longest_unheld,
                    (None, measure) => figures?.of(measure)?,
                };
                (!relation.holds(figure, value)).then(|| shown(measure, figure))
            }
        }
    }
}

impl PoolFigures {
    fn contradicts(&self, claim: Claim) -> Option<String> {
        let Claim::Bound { measure, relation, value, per_ms } = claim else { return None };
        let figure = match (measure, per_ms) {
            (Measure::Exclusions, Some(window)) => most_within(&self.exclusions, window),
            (Measure::Exclusions, None) => self.exclusions.len() as u64,
            (Measure::Unserved, _) => self.unserved,
            (Measure::LongestUnserved, _) => self.longest_unserved,
            (Measure::Misled, _) => self.misled,
            _ => return None,
        };
        (!relation.holds(figure, value)).then(|| shown(measure, figure))
    }
}

/// A figure in words.
fn shown(measure: Measure, figure: u64) -> String {
    let is_time = Measure::ALL.iter().any(|(_, it, time, _)| *it == measure && *time);
    if is_time { crate::message::span::short(figure) } else { figure.to_string() }
}

const STATUSES: [Status; 5] =
    [Status::Unknown, Status::Ok, Status::Degraded, Status::Faulted, Status::Offline];

/// The most of `times` that lie within any window of this length; one exactly as old still counts.
fn most_within(times: &[u64], window: u64) -> u64 {
    let mut first = 0;
    let mut most = 0;
    for (place, at) in times.iter().enumerate() {
        while times.get(first).is_some_and(|oldest| at - oldest > window) {
            first += 1;
        }
        most = most.max(place + 1 - first);
    }
    most as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_slides() {
        assert_eq!(most_within(&[], 10), 0);
        assert_eq!(most_within(&[1, 11, 21], 10), 2);
        assert_eq!(most_within(&[1, 2, 3, 100], 10), 3);
        assert_eq!(most_within(&[1, 2, 3, 100], 99), 4);
    }
}
