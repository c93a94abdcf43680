//! From what each member is to what is shown of all of them.

use crate::defect;

use super::Pool;
use super::event::{Face, NoneLeft, Why};
use super::member::Member;
use super::settings::Settings;

type Faces = heapless::Vec<Face, { Pool::MOST as usize }>;

/// The face of each member, in their order, and why nobody gets work, if so. Who is kept in by
/// the floor is noted in the members.
pub(super) fn compose(settings: &Settings, members: &mut [Member]) -> (Faces, Option<NoneLeft>) {
    keep(settings, members);
    let is_in =
        |member: &&Member| member.drain.is_none() && (member.veto().is_none() || member.kept);
    let first = |backup| members.iter().filter(is_in).filter(move |it| it.is_backup() == backup);
    let idle = |backup| first(backup).any(|member| !member.is_busy());
    let there = |backup| first(backup).next().is_some();
    // Who works: those who are not backups, unless there are none or all of them are busy.
    let (work, busy) = match (there(false), there(true)) {
        (false, false) => (None, false),
        (true, false) => (Some(false), !idle(false)),
        (true, true) if idle(false) => (Some(false), false),
        (true, true) => (Some(idle(true)), !idle(true)),
        (false, true) => (Some(true), !idle(true)),
    };
    // Without anything that acts instead, busy members do better than nobody.
    let all_busy = busy && settings.fallback;
    let face = |member: &Member| match (member.drain, member.veto()) {
        (Some(_), _) => Face::Drained,
        (None, Some(why)) if !member.kept => Face::Out(why),
        _ if all_busy => Face::Busy,
        _ if work == Some(member.is_backup()) => Face::In { weight: member.weight() },
        _ if member.is_backup() => Face::Standby,
        _ => Face::Busy,
    };
    let faces = members.iter().map(face).collect();
    let none_left = match work {
        None => Some(NoneLeft::NobodyIn),
        Some(_) if all_busy => Some(NoneLeft::AllBusy),
        Some(_) => None,
    };
    (faces, none_left)
}

/// The floor: of those who would be out, enough stay in. Who stayed before stays, then who is
/// still in, then who fell last; so nobody moves for the sake of moving.
fn keep(settings: &Settings, members: &mut [Member]) {
    if defect::is(31) {
        return; // 31: no floor
    }
    let good = members.iter().filter(|it| it.drain.is_none() && it.veto().is_none()).count();
    let mut wanted = usize::from(settings.min_members).saturating_sub(good);
    let mut chosen = [false; Pool::MOST as usize];
    while wanted > 0 {
        let free = members.iter().enumerate().filter(|(place, member)| {
            let taken = chosen.get(*place).copied().unwrap_or(true);
            let failed = member.veto().is_some_and(|why| why != Why::Returning);
            !taken && member.drain.is_none() && failed
        });
        // The first of equals: `max_by_key` would take the last.
        let best =
            free.first_greatest(|member| (member.kept, !member.face.is_out(), member.fell_at));
        let Some(best) = best else { break };
        if let Some(place) = chosen.get_mut(best) {
            *place = true;
        }
        wanted -= 1;
    }
    for (member, kept) in members.iter_mut().zip(chosen) {
        member.kept = kept;
    }
}

/// The place of the first of those with the greatest key.
trait FirstGreatest<'a>: Iterator<Item = (usize, &'a Member)> + Sized {
    fn first_greatest<K: Ord>(self, key: impl Fn(&Member) -> K) -> Option<usize> {
        let mut best: Option<(usize, K)> = None;
        for (place, member) in self {
            let own = key(member);
            if best.as_ref().is_none_or(|(_, greatest)| own > *greatest) {
                best = Some((place, own));
            }
        }
        best.map(|(place, _)| place)
    }
}

impl<'a, I: Iterator<Item = (usize, &'a Member)>> FirstGreatest<'a> for I {}
