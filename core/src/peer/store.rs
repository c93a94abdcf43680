//! A store that others keep decides (etcd): what it says, and what it is asked.
//!
//! How the group is claimed there, and from when a renewal counts, the machine `claim` knows.

use crate::node::Node;
use crate::time::Instant;

use super::event::{Action, Actions, Note, Ticket};
use super::leave::Then;
use super::message::Term;
use super::rules::LEAST_GRANT;
use super::stand::Candidacy;
use super::{Peer, Stage};

impl<const N: usize> Peer<N> {
    /// The group may be had, or may not.
    pub(super) fn on_vacancy(&mut self, vacant: bool, to: Option<Node>, now: Instant) {
        if !self.rules.by_store() {
            return;
        }
        let newly = vacant && !self.vacant;
        (self.vacant, self.named) = (vacant, to.filter(|_| vacant));
        if newly {
            self.take_turns(now);
            if self.named.is_some_and(|named| named != self.me()) {
                // Another was named, and goes first.
                self.not_before = now.after(self.rules.limits.stand_step);
            }
        }
    }

    /// Its turn has come.
    pub(super) fn claim(&mut self, now: Instant, out: &mut Actions) {
        let ticket = self.ticket();
        self.stage = Stage::Standing(Candidacy::outside(ticket, self.durable.term, now));
        out.push(Action::Claim { ticket });
    }

    pub(super) fn on_won(
        &mut self,
        ticket: Ticket,
        term: Term,
        since: Instant,
        now: Instant,
        out: &mut Actions,
    ) {
        if !self.claims(ticket) {
            return self.let_go(None, out); // late: the world has moved
        }
        let until = since.after(self.rules.limits.lease);
        let back = term <= self.durable.term;
        if back {
            out.push(Action::Note(Note::TermBack(self.durable.term)));
        }
        if back || since > now || until < now.after(LEAST_GRANT) {
            self.give_up(now);
            return out.push(Action::LetGo { to: None });
        }
        self.durable.term = term;
        out.push(Action::Store(self.durable));
        self.win(term, 1, Some(since), now, out);
    }

    pub(super) fn on_not_won(&mut self, ticket: Ticket, now: Instant) {
        if self.claims(ticket) {
            self.give_up(now);
        }
    }

    fn claims(&self, ticket: Ticket) -> bool {
        let by_store = self.rules.by_store();
        by_store && matches!(self.stage, Stage::Standing(it) if it.ticket() == Some(ticket))
    }

    /// P10: it is held on, for `lease` from then.
    pub(super) fn on_kept(&mut self, term: Term, since: Instant, now: Instant, out: &mut Actions) {
        let Stage::Active(mut reign) = self.stage else { return };
        let Some(grant) = reign.grant.filter(|_| self.rules.by_store()) else { return };
        let end = since.after(self.rules.limits.lease);
        if term != self.durable.term || since > now || end <= grant {
            return;
        }
        reign.grant = Some(end);
        reign.held_until = reign.held_until.max(end);
        self.stage = Stage::Active(reign);
        out.push(Action::Renew { until: end });
    }

    /// Another holds it by now, or may: it goes at once.
    pub(super) fn on_ousted(&mut self, term: Term, now: Instant, out: &mut Actions) {
        let Stage::Active(reign) = self.stage else { return };
        if self.rules.by_store() && term == self.durable.term {
            out.push(Action::Note(Note::Ousted));
            self.step_down(reign, Then::Standby, now, out);
        }
    }

    /// What was held is gone for good: others need not wait until the lease has lapsed.
    pub(super) fn let_go(&self, to: Option<Node>, out: &mut Actions) {
        if self.rules.by_store() {
            out.push(Action::LetGo { to });
        }
    }
}
