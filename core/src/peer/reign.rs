//! Being active: grants and the address (P7, P9, P10, P14).

use crate::node::Node;
use crate::time::{Instant, Span};

use super::event::{Action, Actions, Note, Taken, Ticket};
use super::leave::{Leaving, Then};
use super::member::Rebase;
use super::message::{Beat, Role, Term};
use super::rules::{AGAIN, LEAST_GRANT, Quorum};
use super::{Peer, Stage};

/// Whether the address is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Taking {
    Asked(Ticket),
    Up,
    /// It was not to be had; tried again then.
    Again(Instant),
}

/// What an active is by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reign {
    pub(super) votes: u8,
    /// No answer to anything older counts.
    first: Instant,
    /// When the grant ends; `None` where who decides needs none.
    pub(super) grant: Option<Instant>,
    pub(super) take: Taking,
    /// Since when the address could not be had.
    unheld_since: Option<Instant>,
    /// The latest end of lifetime that the driver was told.
    pub(super) held_until: Instant,
    pub(super) leaving: Option<Leaving>,
}

impl Reign {
    pub(super) const fn holds(&self) -> bool {
        matches!(self.take, Taking::Up)
    }

    pub(super) fn ticket(&self) -> Option<Ticket> {
        let take = match self.take {
            Taking::Asked(ticket) => Some(ticket),
            Taking::Up | Taking::Again(_) => None,
        };
        take.max(self.leaving.map(|leaving| leaving.ticket))
    }

    pub(super) fn deadline(&self, wait: Span) -> Option<Instant> {
        let grant = self.grant.map(drop_at);
        let (again, unheld) = match (self.leaving, self.take) {
            (Some(_), _) => (None, None),
            (None, Taking::Again(at)) => (Some(at), self.unheld_since.map(|at| at.after(wait))),
            (None, Taking::Asked(_) | Taking::Up) => (None, None),
        };
        [grant, again, unheld].into_iter().flatten().min()
    }

    pub(super) fn rebased(&self, rebase: Rebase) -> Self {
        Self {
            first: rebase.instant(self.first),
            grant: self.grant.map(|at| rebase.instant(at)),
            take: match self.take {
                Taking::Again(at) => Taking::Again(rebase.instant(at)),
                other => other,
            },
            unheld_since: self.unheld_since.map(|at| rebase.instant(at)),
            held_until: rebase.instant(self.held_until),
            ..*self
        }
    }
}

/// When less than [`LEAST_GRANT`] of a grant is left.
fn drop_at(grant: Instant) -> Instant {
    let early = u64::from(LEAST_GRANT.as_millis()).saturating_sub(1);
    Instant::from_millis(grant.as_millis().saturating_sub(early))
}

impl<const N: usize> Peer<N> {
    /// Becomes active in `term`. `since` is when votes were asked for: what is granted counts
    /// from then.
    pub(super) fn win(
        &mut self,
        term: Term,
        votes: u8,
        since: Option<Instant>,
        now: Instant,
        out: &mut Actions,
    ) {
        self.durable.term = term;
        self.lead = None;
        self.given = None;
        self.voted_at = None;
        self.last = false;
        self.fresh = false;
        let lease = self.rules.limits.lease;
        let grant = since.filter(|_| self.is_granted()).map(|since| since.after(lease));
        let until = grant.unwrap_or(now.after(lease));
        let ticket = self.ticket();
        self.stage = Stage::Active(Reign {
            votes,
            first: since.unwrap_or(now),
            grant,
            take: Taking::Asked(ticket),
            unheld_since: None,
            held_until: until,
            leaving: None,
        });
        out.push(Action::Take { ticket, until });
        self.beat(now, out);
    }

    /// Whether an active holds by answers only.
    fn is_granted(&self) -> bool {
        #[cfg(feature = "defects")]
        if self.without(super::Defect::GrantLease) {
            return false;
        }
        matches!(self.rules.members.quorum, Quorum::Majority | Quorum::Etcd)
    }

    /// P10: an answer moves the grant to `lease` after the sending of what it answers, once as
    /// many as are needed have answered that or newer.
    pub(super) fn on_answer(
        &mut self,
        from: Node,
        term: Term,
        echo: Instant,
        now: Instant,
        out: &mut Actions,
    ) {
        let Stage::Active(mut reign) = self.stage else { return };
        let ours = self.durable.term;
        if self.rules.by_store() || term > ours || echo > now || echo < reign.first {
            return; // granted to nobody, or to an earlier reign
        }
        if let Some(member) = self.member_mut(from) {
            member.granted = member.granted.max(Some(echo));
        }
        let end = self.granted_until();
        if let (Some(grant), Some(end)) = (reign.grant, end) {
            if end > grant {
                reign.grant = Some(end);
                reign.held_until = reign.held_until.max(end);
                self.stage = Stage::Active(reign);
                out.push(Action::Renew { until: end });
            }
        }
    }

    fn granted_until(&self) -> Option<Instant> {
        let mut granted = self.members.map(|member| member.granted);
        if let Some(own) = granted.get_mut(usize::from(self.me().0)) {
            *own = None; // this node counts anyhow
        }
        granted.sort_unstable_by(|one, other| other.cmp(one));
        let others = usize::from(self.rules.votes_needed()).checked_sub(2)?;
        let newest = granted.get(others).copied().flatten()?;
        Some(newest.after(self.rules.limits.lease))
    }

    pub(super) fn renew_without_grant(&mut self, now: Instant, out: &mut Actions) {
        if let Stage::Active(reign) = &mut self.stage {
            if reign.grant.is_none() {
                let until = now.after(self.rules.limits.lease);
                if until > reign.held_until {
                    reign.held_until = until;
                    out.push(Action::Renew { until });
                }
            }
        }
    }

    /// Before anything else is looked at: what is over is over.
    pub(super) fn expire_grant(&mut self, now: Instant, out: &mut Actions) {
        if let Stage::Active(reign) = self.stage {
            if reign.grant.is_some_and(|end| drop_at(end) <= now) {
                out.push(Action::Note(Note::GrantLost));
                self.step_down(reign, Then::Standby, now, out);
            }
        }
    }

    pub(super) fn on_reign_due(&mut self, now: Instant, out: &mut Actions) {
        let Stage::Active(reign) = self.stage else { return };
        let Taking::Again(at) = reign.take else { return };
        if reign.leaving.is_some() {
            return;
        }
        let wait = self.wait();
        if reign.unheld_since.is_some_and(|since| since.after(wait) <= now) {
            out.push(Action::Note(Note::Unheld));
            self.last = true;
            self.step_down(reign, Then::Standby, now, out);
        } else if at <= now {
            self.take_again(reign, now, out);
        }
    }

    pub(super) fn take_again(&mut self, mut reign: Reign, now: Instant, out: &mut Actions) {
        let ticket = self.ticket();
        let until = reign.grant.unwrap_or(now.after(self.rules.limits.lease));
        reign.take = Taking::Asked(ticket);
        reign.held_until = reign.held_until.max(until);
        self.stage = Stage::Active(reign);
        out.push(Action::Take { ticket, until });
    }

    pub(super) fn on_taken(&mut self, ticket: Ticket, taken: Taken, now: Instant) {
        let Stage::Active(reign) = &mut self.stage else { return };
        if reign.take != Taking::Asked(ticket) {
            return; // late: the world has moved
        }
        match taken {
            Taken::Up => {
                reign.take = Taking::Up;
                reign.unheld_since = None;
            }
            Taken::Duplicate | Taken::Failed => {
                reign.take = Taking::Again(now.after(AGAIN));
                reign.unheld_since = reign.unheld_since.or(Some(now));
            }
        }
    }

    /// P14: somebody took it off this node; it is put back, unless it is to go anyhow.
    pub(super) fn on_address_lost(&mut self, now: Instant, out: &mut Actions) {
        if let Stage::Active(reign) = self.stage {
            if reign.holds() && reign.leaving.is_none() {
                self.take_again(Reign { unheld_since: Some(now), ..reign }, now, out);
            }
        }
    }

    /// P9: where others may have decided meanwhile it is active no more; where nobody could, the
    /// address is taken as if for the first time.
    pub(super) fn on_slept_active(&mut self, reign: Reign, now: Instant, out: &mut Actions) {
        let alone = matches!(self.rules.members.quorum, Quorum::Fence | Quorum::Stay);
        if !alone {
            self.step_down(reign, Then::Standby, now, out);
        } else if reign.leaving.is_none() {
            self.take_again(reign, now, out);
        }
    }

    /// P7: another active was heard. One of both goes, the same on either side.
    pub(super) fn on_other_active(
        &mut self,
        from: Node,
        beat: &Beat,
        now: Instant,
        out: &mut Actions,
    ) {
        let Stage::Active(reign) = self.stage else { return };
        let known = self.member(from).is_some_and(|member| member.role == Role::Active);
        let ours = (self.durable.term, reign.holds(), reign.votes, now.since(self.since));
        let theirs = (beat.term, beat.holds, beat.votes, beat.age_ms);
        let stays = ours > theirs || (ours == theirs && self.me() < from);
        if !known || !stays {
            out.push(Action::Note(Note::TwoActives(from)));
        }
        if !stays {
            self.step_down(reign, Then::Standby, now, out);
        } else if !known {
            out.push(Action::Announce);
        }
    }
}
