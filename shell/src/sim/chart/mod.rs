//! Pictures of timelines: SVG and HTML for a browser, block characters for a terminal. All three
//! are drawn from the same columns, so that they cannot say different things.

mod blocks;
mod html;
mod scale;
mod svg;

pub use self::blocks::blocks;
pub use self::html::html;
pub use self::svg::svg;

use std::cmp::Reverse;

use giveover_core::monitor::Status;
use giveover_core::peer::Role;
use giveover_core::pool::Face;
use giveover_core::time::Instant;

use super::timeline::{Lane, Mark, MemberLane, Stay, Timeline, What};

/// The value of each column of `steps`: the largest that stood in it, so that nothing short is lost.
fn highest<T: Copy + Ord + Default>(
    steps: &[(Instant, T)],
    timeline: &Timeline,
    columns: usize,
) -> Vec<T> {
    let mut values = vec![T::default(); columns];
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([timeline.end]);
    for ((from, value), until) in steps.iter().zip(ends) {
        let (first, last) = (column(*from, timeline, columns), column(until, timeline, columns));
        // what ends where the next begins leaves that column to it, but for its last one
        let last = if until >= timeline.end { columns } else { last.max(first + 1) };
        for slot in values.iter_mut().take(last).skip(first) {
            *slot = (*slot).max(*value);
        }
    }
    values
}

/// The column that `at` falls into.
fn column(at: Instant, timeline: &Timeline, columns: usize) -> usize {
    let place = u128::from(at.since(timeline.begin)) * columns as u128;
    let place = place / u128::from(timeline.length());
    usize::try_from(place).unwrap_or(columns).min(columns.saturating_sub(1))
}

/// How grave a status is: of several in one column the gravest is drawn.
const fn gravity(status: Status) -> u8 {
    match status {
        Status::Unknown => 0,
        Status::Ok => 1,
        Status::Offline => 2,
        Status::Degraded => 3,
        Status::Faulted => 4,
    }
}

const fn of_gravity(gravity: u8) -> Status {
    match gravity {
        1 => Status::Ok,
        2 => Status::Offline,
        3 => Status::Degraded,
        4 => Status::Faulted,
        _ => Status::Unknown,
    }
}

/// The gravest status of each column.
fn gravest(statuses: &[(Instant, Status)], timeline: &Timeline, columns: usize) -> Vec<Status> {
    let steps: Vec<(Instant, u8)> =
        statuses.iter().map(|(at, status)| (*at, gravity(*status))).collect();
    highest(&steps, timeline, columns).into_iter().map(of_gravity).collect()
}

/// How much a role is worth seeing: of several in one column the first of these is drawn.
const ROLES: [Option<Role>; 5] =
    [Some(Role::Active), Some(Role::Down), Some(Role::Standby), Some(Role::Init), None];

/// The role of each column, and whether the node held the address in it.
fn roles(lane: &Lane, timeline: &Timeline, columns: usize) -> Vec<(Option<Role>, bool)> {
    let worth = |role: &Option<Role>| {
        ROLES.iter().position(|it| it == role).map_or(0, |place| ROLES.len() - place)
    };
    let worths: Vec<(Instant, usize)> =
        lane.roles.iter().map(|(at, role)| (*at, worth(role))).collect();
    let role = |worth: usize| ROLES.get(ROLES.len().wrapping_sub(worth)).copied().flatten();
    let roles = highest(&worths, timeline, columns).into_iter().map(role);
    roles.zip(highest(&lane.held, timeline, columns)).collect()
}

/// The gravest status of each column in which the service ran there.
fn presence(stay: &Stay, timeline: &Timeline, columns: usize) -> Vec<Option<Status>> {
    let grave = |status: &Option<Status>| status.map_or(0, |status| 1 + gravity(status));
    let steps: Vec<(Instant, u8)> =
        stay.statuses.iter().map(|(at, status)| (*at, grave(status))).collect();
    let status = |gravity: u8| gravity.checked_sub(1).map(of_gravity);
    highest(&steps, timeline, columns).into_iter().map(status).collect()
}

/// What a member is drawn as; of several in one column the last of this list, or the smallest share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// Nobody has been told of it yet.
    #[default]
    Nothing,
    /// It gets new work: percent of its share.
    In(Reverse<u8>),
    Standby,
    Busy,
    Drained,
    Out,
}

/// What the balancer was shown of a member in each column.
fn faces(member: &MemberLane, timeline: &Timeline, columns: usize) -> Vec<Shown> {
    let shown = |face: Face| match face {
        Face::In { weight } => Shown::In(Reverse(weight)),
        Face::Standby => Shown::Standby,
        Face::Busy => Shown::Busy,
        Face::Drained => Shown::Drained,
        Face::Out(_) => Shown::Out,
    };
    let steps: Vec<(Instant, Shown)> =
        member.faces.iter().map(|(at, face)| (*at, shown(*face))).collect();
    highest(&steps, timeline, columns)
}

/// What a probe or a decision is drawn as; of several in one column the last of this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Void,
    Healthy,
    Unmeasured,
    Part(u8),
    Complete,
    Immediate,
    Died,
    Restart,
    Giveover,
}

impl Sign {
    const fn of(what: What) -> Option<Self> {
        Some(match what {
            What::Void => Self::Void,
            What::Healthy => Self::Healthy,
            What::Unmeasured => Self::Unmeasured,
            What::Failed(weight) if weight < 100 => Self::Part(weight),
            What::Failed(_) => Self::Complete,
            What::Immediate => Self::Immediate,
            What::Died => Self::Died,
            What::Restart { .. } | What::Healed => Self::Restart,
            What::Giveover => Self::Giveover,
            _ => return None,
        })
    }

    /// As `status --watch` writes it.
    const fn letter(self) -> char {
        match self {
            Self::Void => '-',
            Self::Healthy => '.',
            Self::Unmeasured => '?',
            Self::Part(_) => 'o',
            Self::Complete => 'x',
            Self::Immediate => '!',
            Self::Died => 'D',
            Self::Restart => 'R',
            Self::Giveover => 'G',
        }
    }

    const fn is_decision(self) -> bool {
        matches!(self, Self::Restart | Self::Giveover)
    }
}

/// The gravest sign of each column among those that `wanted` picks.
fn signs(
    marks: &[Mark],
    timeline: &Timeline,
    columns: usize,
    wanted: impl Fn(Sign) -> bool,
) -> Vec<Option<Sign>> {
    let mut signs = vec![None; columns];
    for mark in marks {
        let Some(sign) = Sign::of(mark.what).filter(|sign| wanted(*sign)) else { continue };
        if let Some(slot) = signs.get_mut(column(mark.at, timeline, columns)) {
            *slot = (*slot).max(Some(sign));
        }
    }
    signs
}

#[cfg(test)]
mod tests;
