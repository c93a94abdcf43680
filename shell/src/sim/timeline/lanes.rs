//! What is drawn of everything that is not a monitor: nodes, where services that move ran, pools, lines
//! of a board.

use std::sync::Arc;

use giveover_core::monitor::Status;
use giveover_core::peer::Role;
use giveover_core::pool::{Action, Face};
use giveover_core::time::Instant;

use super::step;

/// What a node was, and when it held the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: Arc<str>,
    /// Its role from each of these instants on; none while its daemon does not run.
    pub roles: Vec<(Instant, Option<Role>)>,
    /// Whether it held the address from each of these instants on.
    pub held: Vec<(Instant, bool)>,
}

impl Lane {
    /// What became of it, in words, but for how it began.
    pub fn told(&self) -> impl Iterator<Item = (Instant, &'static str)> + '_ {
        let role = |(at, role): &(Instant, Option<Role>)| (*at, role_word(*role));
        let held = |(at, held): &(Instant, bool)| {
            (*at, if *held { "holds the address" } else { "holds it no more" })
        };
        self.roles.iter().skip(1).map(role).chain(self.held.iter().skip(1).map(held))
    }
}

/// A role in the words of scenarios.
#[must_use]
pub const fn role_word(role: Option<Role>) -> &'static str {
    match role {
        None => "off",
        Some(Role::Init) => "init",
        Some(Role::Standby) => "standby",
        Some(Role::Active) => "active",
        Some(Role::Down) => "down",
    }
}

/// A line of the board.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Which.
    pub name: Arc<str>,
    /// Held or on from each of these instants on, or no longer.
    pub edges: Vec<(Instant, bool)>,
}

/// When a service that moves ran on one of the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stay {
    /// The node.
    pub node: Arc<str>,
    /// Its status there from each of these instants on; none while it does not run there.
    pub statuses: Vec<(Instant, Option<Status>)>,
}

impl Stay {
    /// At `at` it has this status here, or does not run here.
    pub fn note(&mut self, at: Instant, status: Option<Status>) {
        step(&mut self.statuses, at, status);
    }

    /// When it began to run here, and when it ended.
    pub fn told(&self) -> impl Iterator<Item = (Instant, String)> + '_ {
        let runs = self.statuses.chunk_by(|(_, one), (_, next)| one.is_some() == next.is_some());
        let first = runs.filter_map(<[_]>::first).enumerate();
        first.filter(|(place, (_, status))| *place > 0 || status.is_some()).map(|(_, first)| {
            let word = if first.1.is_some() { "runs on" } else { "runs no more on" };
            (first.0, format!("{word} {}", self.node))
        })
    }
}

/// What a balancer was shown of a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolLane {
    /// Its name.
    pub name: Arc<str>,
    /// So many members stay in, however their checks look.
    pub least: u8,
    /// The members, in the order of the file.
    pub members: Vec<MemberLane>,
    /// Whether membership stood still from each of these instants on.
    pub frozen: Vec<(Instant, bool)>,
    /// Whether the fallback acted from each of these instants on.
    pub fallback: Vec<(Instant, bool)>,
    /// All of it in words, in order of time, but for how it began.
    pub told: Vec<(Instant, String)>,
}

/// What a balancer was shown of one member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberLane {
    /// Its name.
    pub name: Arc<str>,
    /// Its face from each of these instants on.
    pub faces: Vec<(Instant, Face)>,
}

impl PoolLane {
    /// A pool of these members, of which nothing has been told yet.
    pub fn new(name: &str, least: u8, members: impl IntoIterator<Item = Arc<str>>) -> Self {
        let members = members.into_iter().map(|name| MemberLane { name, faces: Vec::new() });
        Self { name: name.into(), least, members: members.collect(), ..Self::default() }
    }

    /// Notes what the pool's machine wants told at `at`.
    pub fn saw(&mut self, action: &Action, at: Instant) {
        match *action {
            Action::Face { member, face } => {
                let Some(member) = self.members.get_mut(usize::from(member)) else { return };
                let was = member.faces.last().map(|(_, face)| face.word());
                step(&mut member.faces, at, face);
                if was.is_some_and(|was| was != face.word()) {
                    self.told.push((at, format!("{} {}", member.name, face.word())));
                }
            }
            Action::Fallback(why) => {
                step(&mut self.fallback, at, why.is_some());
                let word = if why.is_some() { "fallback acts" } else { "fallback rests" };
                self.told.push((at, word.to_owned()));
            }
            Action::Frozen(why) => {
                step(&mut self.frozen, at, why.is_some());
                let word = if why.is_some() { "frozen: blind" } else { "sees again" };
                self.told.push((at, word.to_owned()));
            }
            _ => {} // the rest is for members, not for those who look on
        }
    }

    /// How many members got new work from each of these instants on.
    #[must_use]
    pub fn at_work(&self) -> Vec<(Instant, u16)> {
        let faces = self.members.iter().flat_map(|member| {
            let before = [None].into_iter().chain(member.faces.iter().map(|(_, face)| Some(*face)));
            member.faces.iter().zip(before).map(|((at, face), before)| (*at, before, *face))
        });
        let mut changes: Vec<(Instant, i32)> = faces
            .map(|(at, before, face)| {
                let was = before.is_some_and(Face::takes_work);
                (at, i32::from(face.takes_work()) - i32::from(was))
            })
            .collect();
        changes.sort_by_key(|(at, _)| *at);
        let (mut count, mut steps) = (0, Vec::new());
        for (at, change) in changes {
            count += change;
            step(&mut steps, at, u16::try_from(count).unwrap_or(0));
        }
        steps
    }

    /// The same with each of its instants moved, in order.
    pub fn shift(&mut self, to: impl Fn(Instant) -> Instant) {
        let faces = self.members.iter_mut().flat_map(|member| &mut member.faces);
        faces.for_each(|(at, _)| *at = to(*at));
        let bars = self.frozen.iter_mut().chain(&mut self.fallback);
        bars.for_each(|(at, _)| *at = to(*at));
        self.told.iter_mut().for_each(|(at, _)| *at = to(*at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use giveover_core::pool::{NoneLeft, Why};

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn face(member: u8, face: Face) -> Action {
        Action::Face { member, face }
    }

    #[test]
    fn who_works_is_counted_and_only_changes_are_told() {
        let mut lane = PoolLane::new("web", 1, ["a".into(), "b".into()]);
        let full = Face::In { weight: 100 };
        for (ms, action) in [
            (0, face(0, full)),
            (0, face(1, full)),
            (5, face(0, Face::In { weight: 40 })),
            (10, face(0, Face::Out(Why::Silent))),
            (10, face(1, Face::Drained)),
            (10, Action::Fallback(Some(NoneLeft::NobodyIn))),
            (20, face(1, full)),
            (20, Action::Fallback(None)),
        ] {
            lane.saw(&action, at(ms));
        }
        assert_eq!(lane.at_work(), [(at(0), 2), (at(10), 0), (at(20), 1)]);
        assert_eq!(lane.fallback, [(at(10), true), (at(20), false)]);
        let told: Vec<&str> = lane.told.iter().map(|(_, word)| word.as_str()).collect();
        assert_eq!(told, ["a out", "b drained", "fallback acts", "b in", "fallback rests"]);
        lane.shift(|at| Instant::from_millis(at.as_millis() * 2));
        assert_eq!(lane.at_work().last(), Some(&(at(40), 1)));
        assert_eq!(lane.told.first().map(|(at, _)| at.as_millis()), Some(20));
    }
}
