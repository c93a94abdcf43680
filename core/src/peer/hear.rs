//! What other nodes say.

use crate::node::Node;
use crate::time::Instant;

use super::event::{Action, Actions, Note, To};
use super::member::Rank;
use super::message::{Ahead, Beat, Message, Mismatch, Role, Term};
use super::rules::Quorum;
use super::stand::Given;
use super::{Lead, Peer, Stage};

impl<const N: usize> Peer<N> {
    pub(super) fn on_frame(
        &mut self,
        from: Node,
        message: Message,
        now: Instant,
        out: &mut Actions,
    ) {
        if from == self.me() {
            return self.on_own_name(message, out);
        }
        if let Message::Mismatched { why, age_ms } = message {
            return self.on_mismatched(from, why, age_ms, now, out);
        }
        if let Message::Beat(beat) = &message {
            self.compare(from, beat, now, out);
        }
        let wait = self.wait();
        let newly = self.member(from).is_some_and(|member| !member.lives(now, wait));
        let Some(member) = self.member_mut(from) else { return }; // no member of ours
        if member.refused.is_some() {
            return;
        }
        member.heard = Some(now);
        if newly {
            // Turns are counted from when both can hear each other.
            self.take_turns(now);
            out.push(Action::Note(Note::Heard(from)));
        }
        match message {
            Message::Beat(beat) => self.on_beat(from, &beat, now, out),
            Message::Answer { term, echo } => self.on_answer(from, term, echo, now, out),
            Message::Stand { term, age_ms, priority, last } => {
                let rank = Rank { last, age_ms, priority };
                self.on_stand(from, term, rank, now, out);
            }
            Message::Vote { term } => self.on_vote(from, term, now, out),
            Message::Refuse { term, known, why } => {
                self.on_refused(from, term, known, why, now, out);
            }
            Message::Leave { term, vote, down } => self.on_leave(from, term, vote, down, now, out),
            Message::Mismatched { .. } => {} // answered above
        }
    }

    /// P12: a peer whose configuration differs is told so, and counts for nothing.
    fn compare(&mut self, from: Node, beat: &Beat, now: Instant, out: &mut Actions) {
        let found = Mismatch::between(&self.digests, &beat.digests);
        let age_ms = now.since(self.since);
        let Some(member) = self.member_mut(from) else { return };
        let before = core::mem::replace(&mut member.refused, found);
        let Some(why) = found else { return };
        if before != found {
            out.push(Action::Note(Note::Mismatched(from, why)));
        }
        let message = Message::Mismatched { why, age_ms };
        out.push(Action::Send { to: To::One(from), message });
    }

    /// Only who is the younger, and has not yet found its place, takes it to heart.
    fn on_mismatched(
        &mut self,
        from: Node,
        why: Mismatch,
        age_ms: u64,
        now: Instant,
        out: &mut Actions,
    ) {
        let own_ms = now.since(self.since);
        let younger = (age_ms, core::cmp::Reverse(from)) > (own_ms, core::cmp::Reverse(self.me()));
        let Some(member) = self.member_mut(from) else { return };
        if member.refused.is_none() {
            member.refused = Some(why);
            out.push(Action::Note(Note::Mismatched(from, why)));
        }
        if younger && self.fresh {
            self.refused_by = Some((from, why));
        }
    }

    /// Another says that it is us: the newcomer of both goes.
    fn on_own_name(&mut self, message: Message, out: &mut Actions) {
        let me = self.me();
        if self.fresh {
            out.push(Action::Quit { by: me, why: Mismatch::SameNode });
        } else if matches!(message, Message::Beat(_)) {
            out.push(Action::Note(Note::Mismatched(me, Mismatch::SameNode)));
        }
    }

    fn on_beat(&mut self, from: Node, beat: &Beat, now: Instant, out: &mut Actions) {
        if matches!(beat.role, Role::Active) {
            self.on_active_beat(from, beat, now, out);
        }
        if let Some(member) = self.member_mut(from) {
            member.role = beat.role;
            member.said = member.said.max(Some(beat.sent));
            member.term = member.term.max(beat.term);
            member.holds = beat.holds;
            member.rank = Rank { last: beat.last, age_ms: beat.age_ms, priority: beat.priority };
        }
    }

    fn on_active_beat(&mut self, from: Node, beat: &Beat, now: Instant, out: &mut Actions) {
        let ours = self.told_term(now);
        match self.stage {
            Stage::Active(_) => {
                self.on_other_active(from, beat, now, out);
                if matches!(self.stage, Stage::Active(_)) {
                    return; // the other grants us nothing, and we nothing to it
                }
            }
            // Its power is being cut: what it says counts no more.
            Stage::Standing(candidacy) if candidacy.waits_outside() => return,
            Stage::Standing(_) if beat.term >= ours => self.give_up(now),
            Stage::Asleep
            | Stage::Idle
            | Stage::Standing(_)
            | Stage::Releasing(_)
            | Stage::Down
            | Stage::Gone => {}
        }
        if beat.term < ours {
            return self.answer(from, ours, beat, out); // of an earlier time: nothing is granted
        }
        self.lead = Some(Lead { node: from, term: beat.term, heard: now });
        self.fresh = false;
        self.answer(from, beat.term, beat, out);
        if beat.term > self.durable.term {
            self.durable.term = beat.term;
            out.push(Action::Store(self.durable));
        }
    }

    fn answer(&self, from: Node, term: Term, beat: &Beat, out: &mut Actions) {
        if matches!(self.rules.members.quorum, Quorum::Majority) {
            let message = Message::Answer { term, echo: beat.sent };
            out.push(Action::Send { to: To::One(from), message });
        }
    }

    /// Its goodbye, or "I am down": what it held in `term` is dropped for good.
    fn on_leave(
        &mut self,
        from: Node,
        term: Term,
        vote: Option<Ahead>,
        down: bool,
        now: Instant,
        out: &mut Actions,
    ) {
        let Some(member) = self.member_mut(from) else { return };
        if term < member.term {
            return; // of an earlier time
        }
        let was_active = member.role == Role::Active;
        member.role = if down { Role::Down } else { Role::Standby };
        member.holds = false;
        if was_active && matches!(self.stage, Stage::Active(_)) {
            out.push(Action::Announce); // P7: the loser has dropped it
        }
        if self.lead.is_some_and(|lead| lead.node == from && lead.term <= term) {
            self.lead = None;
            self.not_before = now; // whatever it waited for, this is newer
            self.paused = false;
        }
        if self.durable.ballot.is_some_and(|own| own.node == from && own.term <= term) {
            self.voted_at = None; // what it voted for is over
        }
        match vote {
            Some(Ahead { ballot, echo }) if ballot.node == self.me() => {
                self.given = Some(Given { term: ballot.term, by: from, echo });
            }
            // Another was named, and goes first.
            Some(_) => {
                self.not_before = self.not_before.max(now.after(self.rules.limits.stand_step));
            }
            None => {}
        }
    }
}
