//! Every way from active to anything else, and the leaver's vote (P6, P8).

use crate::node::Node;
use crate::time::Instant;

use super::event::{Action, Actions, How, Note, Ticket, To};
use super::member::Rebase;
use super::message::{Ahead, Ballot, Message, Role};
use super::reign::{Reign, Taking};
use super::rules::AGAIN;
use super::{Peer, Stage};

/// An orderly end under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    pub(super) ticket: Ticket,
    to: Option<Node>,
    stop: bool,
}

/// What follows once the address is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Then {
    /// The node joins.
    Begin,
    Standby,
    Down,
    Gone,
}

/// The address is to go; nothing is said before it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Release {
    /// The attempt under way; `None` between two.
    ticket: Option<Ticket>,
    again: Instant,
    pub(super) then: Then,
    /// What nobody renews is gone by then; services, and what an earlier life left, have no known end.
    lapse: Option<Instant>,
}

impl Release {
    pub(super) const fn leftover(ticket: Ticket, now: Instant) -> Self {
        Self { ticket: Some(ticket), again: now, then: Then::Begin, lapse: None }
    }

    pub(super) const fn ticket(&self) -> Option<Ticket> {
        self.ticket
    }

    pub(super) const fn followed_by(self, then: Then) -> Self {
        Self { then, ..self }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let again = self.ticket.is_none().then_some(self.again);
        [again, self.lapse].into_iter().flatten().min()
    }

    pub(super) fn rebased(&self, rebase: Rebase) -> Self {
        Self {
            again: rebase.instant(self.again),
            lapse: self.lapse.map(|at| rebase.instant(at)),
            ..*self
        }
    }
}

impl<const N: usize> Peer<N> {
    /// The one way from active to anything else (P6): the address goes first.
    pub(super) fn step_down(&mut self, reign: Reign, then: Then, now: Instant, out: &mut Actions) {
        let stop = reign.leaving.is_some_and(|leaving| leaving.stop);
        let then = if stop { Then::Gone } else { then };
        let ticket = self.ticket();
        let lapse = self.rules.lapses.then_some(reign.held_until);
        self.stage = Stage::Releasing(Release { ticket: Some(ticket), again: now, then, lapse });
        out.push(Action::Release { ticket, how: How::AtOnce });
    }

    pub(super) fn on_released(
        &mut self,
        ticket: Ticket,
        ok: bool,
        now: Instant,
        out: &mut Actions,
    ) {
        match self.stage {
            Stage::Active(reign) => self.on_left(reign, ticket, ok, now, out),
            Stage::Releasing(release) if release.ticket == Some(ticket) => {
                if ok {
                    self.on_gone_address(release.then, now, out);
                } else {
                    let again = now.after(AGAIN);
                    self.stage = Stage::Releasing(Release { ticket: None, again, ..release });
                }
            }
            // Late: the world has moved.
            Stage::Asleep
            | Stage::Idle
            | Stage::Standing(_)
            | Stage::Releasing(_)
            | Stage::Down
            | Stage::Gone => {}
        }
    }

    pub(super) fn on_release_due(&mut self, release: Release, now: Instant, out: &mut Actions) {
        if release.lapse.is_some_and(|lapse| lapse <= now) {
            return self.on_gone_address(release.then, now, out);
        }
        if release.ticket.is_none() && release.again <= now {
            let ticket = self.ticket();
            self.stage = Stage::Releasing(Release { ticket: Some(ticket), ..release });
            let leftover = matches!(release.then, Then::Begin);
            let how = if leftover { How::Leftover } else { How::AtOnce };
            out.push(Action::Release { ticket, how });
        }
    }

    /// The address is known to be gone: only now the others are told.
    fn on_gone_address(&mut self, then: Then, now: Instant, out: &mut Actions) {
        let term = self.durable.term;
        match then {
            Then::Begin => self.on_ready(now, out),
            Then::Standby => {
                self.stage = Stage::Idle;
                self.since = now;
                self.take_turns(now);
                self.let_go(None, out);
                let message = Message::Leave { term, vote: None, down: false };
                out.push(Action::Send { to: To::All, message });
                self.beat(now, out);
            }
            Then::Down => {
                let vote = self.vote_ahead(None, now, out);
                self.stage = Stage::Down;
                self.let_go(self.successor(now), out);
                let message = Message::Leave { term, vote, down: true };
                out.push(Action::Send { to: To::All, message });
                self.beat(now, out);
            }
            Then::Gone => self.on_gone(None, out),
        }
    }

    pub(super) fn on_give_over(&mut self, to: Option<Node>, now: Instant, out: &mut Actions) {
        self.leave_orderly(to, false, now, out);
    }

    /// P8: what runs here is stopped and proven stopped, then the address goes, then the notice.
    pub(super) fn leave_orderly(
        &mut self,
        to: Option<Node>,
        stop: bool,
        now: Instant,
        out: &mut Actions,
    ) {
        let Stage::Active(mut reign) = self.stage else {
            return out.push(Action::Note(Note::NotActive));
        };
        match &mut reign.leaving {
            Some(leaving) if stop => leaving.stop = true,
            Some(_) => out.push(Action::Note(Note::NotActive)),
            None => {
                let ticket = self.ticket();
                reign.leaving = Some(Leaving { ticket, to, stop });
                // What was being taken is called off, and must not be taken for held.
                if matches!(reign.take, Taking::Asked(_)) {
                    reign.take = Taking::Again(now);
                }
                out.push(Action::Release { ticket, how: How::Orderly });
            }
        }
        self.stage = Stage::Active(reign);
    }

    fn on_left(
        &mut self,
        mut reign: Reign,
        ticket: Ticket,
        ok: bool,
        now: Instant,
        out: &mut Actions,
    ) {
        let Some(leaving) = reign.leaving.filter(|leaving| leaving.ticket == ticket) else {
            return; // late
        };
        if !ok {
            // A node that cannot prove the stop does not hand over.
            reign.leaving = None;
            self.stage = Stage::Active(reign);
            out.push(Action::Note(Note::NotStopped));
            if !reign.holds() {
                self.take_again(reign, now, out);
            }
            return;
        }
        let vote = self.vote_ahead(leaving.to, now, out);
        self.let_go(leaving.to.or_else(|| self.successor(now)), out);
        if leaving.stop {
            return self.on_gone(vote, out);
        }
        self.stage = Stage::Idle;
        self.since = now;
        self.last = true;
        let message = Message::Leave { term: self.durable.term, vote, down: false };
        out.push(Action::Send { to: To::All, message });
        self.beat(now, out);
    }

    /// The leaver's vote: for one successor, in the next term, durable before it is told. Who
    /// could not vote now if it were asked gives none.
    fn vote_ahead(
        &mut self,
        named: Option<Node>,
        now: Instant,
        out: &mut Actions,
    ) -> Option<Ahead> {
        if self.rules.by_store() || self.may_not_vote(now) {
            return None;
        }
        let node = named.or_else(|| self.successor(now))?;
        if !self.rules.others().has(node) || self.rules.members.witnesses.has(node) {
            return None;
        }
        let echo = self.member(node)?.said?;
        let ballot = Ballot { term: self.next_term(), node };
        self.durable.ballot = Some(ballot);
        self.voted_at = Some(now);
        out.push(Action::Store(self.durable));
        Some(Ahead { ballot, echo })
    }

    /// The standby whose turn would be first.
    fn successor(&self, now: Instant) -> Option<Node> {
        let wait = self.wait();
        let mut best = None;
        for (node, member) in self.others() {
            let stands = member.role == Role::Standby && !self.rules.members.witnesses.has(node);
            if !stands || !member.lives(now, wait) {
                continue;
            }
            let rank = member.rank_at(now);
            match best {
                Some((first, than))
                    if !rank.is_before(node, &first, than, self.rules.limits.heartbeat) => {}
                _ => best = Some((rank, node)),
            }
        }
        best.map(|(_, node)| node)
    }
}
