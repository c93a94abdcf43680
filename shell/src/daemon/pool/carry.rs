//! Event → `handle` → carry out: the one way anything reaches a pool's machine.

use giveover_core::pool::{Action, Event, Face};

use super::MemberState;
use crate::config::plan::Host;
use crate::daemon::Daemon;
use crate::journal::{Hold, MemberNote, Note};
use crate::pool::{Part, token};

impl Daemon {
    pub(super) fn begin_pool(&mut self, pool: usize) {
        self.feed_pool(pool, Event::Begin);
        self.look_again_later(pool);
    }

    /// Feeds `event` to the machine of a pool, and carries out what it leads to.
    pub(super) fn feed_pool(&mut self, pool: usize, event: Event) {
        let now = self.now;
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let failed: Vec<bool> = state.machine.members().iter().map(|it| it.has_failed()).collect();
        let kept: Vec<bool> = state.machine.members().iter().map(|it| it.is_kept()).collect();
        let actions = state.machine.handle(event, now);
        self.note_members(pool);
        let begins = event == Event::Begin;
        let mut told = begins;
        let mut cut = false;
        for action in actions {
            match action {
                Action::Probe { member, ticket } => self.begin_member(pool, member.into(), ticket),
                Action::Face { member, face } => {
                    told = true;
                    self.show_face(pool, member.into(), face, begins);
                }
                Action::Cut { member } => {
                    cut = true;
                    self.cut_member(pool, member.into());
                }
                Action::DrainEnded { member } => self.drain_has_ended(pool, member.into()),
                Action::Fallback(why) => self.say_fallback(pool, why),
                Action::Frozen(why) => self.say_frozen(pool, why),
                Action::AskTrusted => self.ask_trusted(),
                _ => {}
            }
        }
        // A cut in the middle of a drain changes no face, and what balancers are told all the same.
        told |= cut;
        self.tell_kept(pool, &kept);
        self.arm_pool(pool);
        if told {
            self.tell_drivers(pool);
        }
        self.tell_other_pools(pool, &failed);
    }

    /// We did not run: what agents said meanwhile may be lost.
    pub(in crate::daemon) fn pools_slept(&mut self) {
        for pool in 0..self.pools.list.len() {
            self.feed_pool(pool, Event::Deaf);
        }
    }

    /// Arms the pool's timer if its machine wants to be woken earlier than one is armed for.
    pub(super) fn arm_pool(&mut self, pool: usize) {
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let Some(at) = state.machine.poll_timeout() else { return };
        if state.armed.is_none_or(|armed| at < armed) {
            state.armed = Some(at);
            self.reactor.timers.arm(token(Part::Machine, pool as u32, 0), at);
        }
    }

    pub(super) fn pool_due(&mut self, pool: usize) {
        let now = self.now;
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        if state.armed.is_none_or(|armed| armed > now) {
            return; // of an earlier plan; one that is armed will come
        }
        state.armed = None;
        match state.machine.poll_timeout() {
            Some(at) if at <= now => self.feed_pool(pool, Event::Timeout),
            _ => self.arm_pool(pool),
        }
    }

    fn show_face(&mut self, pool: usize, member: usize, face: Face, begins: bool) {
        let reason = self.why_words(pool, member, face);
        let Some(state) = self.member_state_mut(pool, member) else { return };
        state.reason = reason;
        let before = state.said.replace(face);
        // At the beginning everybody shows what was known.
        let known =
            if begins { !face.is_out() } else { before.is_some_and(|it| is_same(it, face)) };
        if !known {
            self.say_face(pool, member, face);
        }
    }

    pub(super) fn member_state_mut(
        &mut self,
        pool: usize,
        member: usize,
    ) -> Option<&mut MemberState> {
        self.pools.list.get_mut(pool)?.members.get_mut(member)
    }

    fn drain_has_ended(&mut self, pool: usize, member: usize) {
        if let Some(state) = self.member_state_mut(pool, member) {
            state.drained = None;
        }
        self.say_drain_ended(pool, member, None);
    }

    /// What the next run must know of the members, where that has changed: in the kernel's hands
    /// before anybody is told.
    fn note_members(&mut self, pool: usize) {
        let now = self.now;
        let mut changed = false;
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        for (member, known) in state.machine.members().iter().zip(&mut state.members) {
            let drain = member.drained();
            let hold = drain.map(|drain| Hold {
                who: known.drained.as_ref().map_or("", |it| it.who.as_str()).into(),
                why: known.drained.as_ref().and_then(|it| it.why.as_deref()).unwrap_or("").into(),
                until: drain.until,
            });
            let note = MemberNote {
                out: member.is_unfit() || member.is_down_by_agent(),
                cut_at: drain.and_then(|drain| drain.cut_at),
                drain: hold,
            };
            if known.noted != note {
                known.noted = note.clone();
                self.journal.note(now, Note::Member { machine: known.number, member: note });
                changed = true;
            }
        }
        if changed {
            self.journal.flush(now);
        }
    }

    /// `any_service_fails = "member"`: pools that have the same server hear of its other services.
    fn tell_other_pools(&mut self, pool: usize, before: &[bool]) {
        let Some(state) = self.pools.list.get(pool) else { return };
        let now = state.machine.members().iter().map(|it| it.has_failed());
        let changed: Vec<usize> = now
            .zip(before)
            .enumerate()
            .filter_map(|(member, (now, before))| (now != *before).then_some(member))
            .collect();
        for member in changed {
            let Some(host) = self.host_of(pool, member) else { continue };
            self.tell_whole_server(&host);
        }
    }

    fn host_of(&self, pool: usize, member: usize) -> Option<Host> {
        Some(self.plan.pools.get(pool)?.members.get(member)?.target.host.clone())
    }

    pub(super) fn tell_whole_server(&mut self, host: &Host) {
        let members: Vec<(usize, usize)> = self
            .plan
            .pools
            .iter()
            .enumerate()
            .flat_map(|(pool, plan)| {
                let same =
                    plan.members.iter().enumerate().filter(|(_, it)| it.target.host == *host);
                same.map(move |(member, _)| (pool, member))
            })
            .collect();
        for (pool, member) in &members {
            if !self.plan.pools.get(*pool).is_some_and(|plan| plan.whole_server) {
                continue;
            }
            let others = members.iter().filter(|other| **other != (*pool, *member));
            let failed = others.clone().any(|(pool, member)| {
                let state = self.pools.list.get(*pool);
                let found = state.and_then(|state| state.machine.members().get(*member));
                found.is_some_and(|it| it.has_failed())
            });
            let known = self.pools.list.get(*pool).and_then(|it| it.machine.members().get(*member));
            if known.is_some_and(|it| it.is_down_elsewhere() != failed) {
                self.feed_pool(*pool, Event::Elsewhere { member: *member as u8, failed });
            }
        }
    }
}

/// Whether people would be told the same of both: another share, or another way of failing, is no
/// news.
fn is_same(one: Face, other: Face) -> bool {
    match (one, other) {
        (Face::In { .. }, Face::In { .. }) => true,
        (Face::Out(one), Face::Out(other)) => {
            std::mem::discriminant(&one) == std::mem::discriminant(&other)
        }
        _ => one == other,
    }
}
