//! What must hold of a pool after every step (E): told is what is, the floor of members, blind is
//! frozen, and nobody is emptied because *we* are blind.

use giveover_core::pool::{Event, Face, Why};
use giveover_core::time::Instant;

use super::PoolPart;

type Judged = Result<(), String>;

/// Members that fell this long ago may still be counted as failing.
const LATELY: u64 = 300_000;

/// What is looked at before a step.
pub(super) struct Before {
    frozen: bool,
    due: Option<Instant>,
    outlets: Vec<Face>,
    drained: Vec<bool>,
}

fn that(holds: bool, why: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(why()) }
}

/// Excluded by what blindness would make of it.
const fn by_sight(face: Face) -> bool {
    matches!(face, Face::Out(Why::Checks(_) | Why::Silent))
}

impl PoolPart {
    pub(super) fn before(&self) -> Before {
        Before {
            frozen: self.pool.frozen().is_some(),
            due: self.pool.poll_timeout(),
            outlets: self.members.iter().map(|member| member.outlet).collect(),
            drained: self.pool.members().iter().map(|it| it.drained().is_some()).collect(),
        }
    }

    /// Judges the step that `event` was. `cut_since`: our own network is cut, since then.
    pub(super) fn judge(
        &self,
        before: &Before,
        event: Event,
        at: Instant,
        cut_since: Option<u64>,
    ) -> Judged {
        let faces = || self.members.iter().map(|member| member.outlet);
        let pairs = self.members.iter().zip(self.pool.members());
        that(pairs.clone().all(|(own, known)| own.outlet == known.face()), || {
            "E: the balancer was told something else".to_owned()
        })?;
        let served = before.due.is_some_and(|due| due <= at) && event == Event::Timeout;
        that(!served || self.pool.poll_timeout().is_none_or(|due| due > at), || {
            "law 1: a deadline of the pool is stale".to_owned()
        })?;
        self.floor()?;
        let empty = !faces().any(Face::takes_work);
        that(empty == self.pool.none_left().is_some(), || {
            format!("E: nobody takes work is {empty}, and the fallback knows otherwise")
        })?;
        let looks = matches!(event, Event::Probed { .. } | Event::Timeout | Event::Trusted { .. });
        let drained = pairs.clone().map(|(_, known)| known.drained().is_some());
        let people = !drained.eq(before.drained.iter().copied());
        if looks && !people && before.frozen && self.pool.frozen().is_some() {
            let mut both = before.outlets.iter().zip(faces());
            let moved = both.any(|(was, is)| by_sight(*was) != by_sight(is));
            that(!moved, || "E: blind, and somebody is moved by what was seen".to_owned())?;
        }
        self.never_emptied_by_blindness(before, looks, cut_since)
    }

    /// At least `min_members` stay in, however their checks look: of those whom nobody drained, and who
    /// are not yet to pass their checks after a drain.
    fn floor(&self) -> Judged {
        let can = |face: &Face| !matches!(face, Face::Drained | Face::Out(Why::Returning));
        let faces = || self.members.iter().map(|member| member.outlet);
        let candidates = faces().filter(can).count();
        let stay = faces().filter(|face| can(face) && !face.is_out()).count();
        let floor = usize::from(self.pool.settings().min_members).min(candidates);
        that(stay >= floor, || format!("E: {stay} members are in, the floor is {floor}"))
    }

    /// Where trusted servers are asked, checks do not empty a pool whose members all do their work,
    /// while our own network is cut.
    fn never_emptied_by_blindness(
        &self,
        before: &Before,
        looks: bool,
        cut_since: Option<u64>,
    ) -> Judged {
        let Some(since) = cut_since.filter(|_| looks && self.pool.settings().trusted) else {
            return Ok(());
        };
        let watched = self.members.iter().filter(|member| member.outlet != Face::Drained);
        let all_out = watched.clone().all(|member| by_sight(member.outlet));
        let were_out =
            before.outlets.iter().filter(|face| **face != Face::Drained).all(|it| by_sight(*it));
        let well = self.last_ill.saturating_add(LATELY) < since
            && self.members.iter().all(|it| it.ills.iter().all(|count| *count == 0));
        let emptied = all_out && !were_out && watched.count() > 1 && well;
        that(!emptied, || "E: emptied while our own network was cut".to_owned())
    }
}
