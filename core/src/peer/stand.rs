//! Standing for active, and voting (P1, P4, P5).

use crate::defect;
use crate::node::{Node, Nodes};
use crate::time::{Instant, Span};

use super::event::{Action, Actions, Note, Ticket, To};
use super::member::{Member, Rank, Rebase};
use super::message::{Ballot, Message, Refusal, Role, Term};
use super::rules::{LEAST_GRANT, Quorum};
use super::{Peer, Stage};

/// So often is asked in one attempt.
const ASKED: u32 = 4;

/// An attempt under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Candidacy {
    pub(super) term: Term,
    /// When votes were asked for.
    sent: Instant,
    votes: Nodes,
    /// Who has not said yes is asked again: a frame may be lost, and a voter that heard the active
    /// a moment later than we is free a moment later.
    again: Instant,
    until: Instant,
    /// The peer is being fenced, or the group claimed in a store: only the answer ends it.
    outside: Option<Ticket>,
}

impl Candidacy {
    /// One that waits for the answer to `ticket` and for nobody's vote.
    pub(super) const fn outside(ticket: Ticket, term: Term, now: Instant) -> Self {
        let (votes, outside) = (Nodes::NONE, Some(ticket));
        Self { term, sent: now, votes, again: now, until: now, outside }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.outside.is_some() { None } else { Some(self.until.min(self.again)) }
    }

    pub(super) const fn ticket(&self) -> Option<Ticket> {
        self.outside
    }

    pub(super) const fn waits_outside(&self) -> bool {
        self.outside.is_some()
    }

    pub(super) fn rebased(&self, rebase: Rebase) -> Self {
        Self {
            sent: rebase.instant(self.sent),
            again: rebase.instant(self.again),
            until: rebase.instant(self.until),
            ..*self
        }
    }
}

/// A vote that came without being asked for, from who left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Given {
    pub(super) term: Term,
    pub(super) by: Node,
    /// On our own clock: it was given after that.
    pub(super) echo: Instant,
}

impl<const N: usize> Peer<N> {
    /// The term below which nothing is granted. A vote binds for `wait`: who got it has won by
    /// then, and is heard, or never will. Who has just begun does not know when it voted.
    pub(super) fn told_term(&self, now: Instant) -> Term {
        let binds = self.is_bound(now) || self.is_young(now);
        match self.durable.ballot.filter(|_| binds) {
            Some(ballot) => ballot.term.max(self.durable.term),
            None => self.durable.term,
        }
    }

    /// A vote given less than `wait` ago holds.
    fn is_bound(&self, now: Instant) -> bool {
        self.bound_until().is_some_and(|until| until > now)
    }

    fn bound_until(&self) -> Option<Instant> {
        #[cfg(feature = "defects")]
        if self.without(super::Defect::HoldAfterVote) {
            return None;
        }
        Some(self.voted_at?.after(self.wait()))
    }

    /// It began or woke less than `wait` ago.
    fn is_young(&self, now: Instant) -> bool {
        self.young_until().is_some_and(|until| until > now)
    }

    fn young_until(&self) -> Option<Instant> {
        #[cfg(feature = "defects")]
        if self.without(super::Defect::WaitAfterStart) {
            return None;
        }
        Some(self.quiet_since.after(self.wait()))
    }

    /// Since when neither its last vote nor its beginning keeps it from anything.
    fn free_since(&self) -> Instant {
        let bound = self.bound_until().max(self.young_until());
        bound.unwrap_or(self.quiet_since)
    }

    /// The active that keeps this node from voting and standing.
    fn heard_active(&self, now: Instant) -> Option<Node> {
        let wait = self.wait();
        let lead = self.lead.filter(|lead| lead.heard.after(wait) > now)?;
        // The source's rule judges by checks too; the active itself still refuses.
        let by_checks = matches!(self.rules.members.quorum, Quorum::Trusted)
            && self.member(lead.node).is_some_and(|member| member.life == 0);
        (!by_checks).then_some(lead.node)
    }

    /// The first term that nobody this node knows of has voted in.
    pub(super) fn next_term(&self) -> Term {
        let voted = self.durable.ballot.map_or(0, |ballot| ballot.term);
        let heard = self.others().map(|(_, member)| member.term).max().unwrap_or(0);
        self.durable.term.max(voted).max(heard).max(self.proposed).saturating_add(1)
    }

    /// A vote that was not asked for counts as long as it binds its giver: where votes are
    /// counted, as if it had been asked for at [`Given::echo`]. Of two, who gave it cannot become
    /// active again without this node's vote in a higher term.
    fn usable(&self, given: Given, now: Instant) -> bool {
        let voted = self.durable.ballot.map_or(0, |ballot| ballot.term);
        let granted = given.echo.after(self.rules.limits.lease);
        let counted = matches!(self.rules.members.quorum, Quorum::Majority);
        let fresh = !counted || given.echo <= now && granted >= now.after(LEAST_GRANT);
        given.term > self.durable.term && given.term > voted && fresh
    }

    /// When this node's turn to stand comes, as things are.
    pub(super) fn stand_at(&self) -> Option<Instant> {
        let now = self.latest;
        if !matches!(self.stage, Stage::Idle) || !self.rules.may_stand() {
            return None;
        }
        if self.heard_active(now).is_some() || !self.could_win(now) {
            return None;
        }
        let at = self.not_before.max(self.free_since());
        if self.given.is_some_and(|given| self.usable(given, now)) {
            return Some(at); // named by who left: nobody goes before it
        }
        if self.rules.by_store() && self.named == Some(self.me()) {
            return Some(at);
        }
        if self.paused {
            return Some(at);
        }
        Some(self.after_steps(at, self.turn(now)))
    }

    /// How many standbys that are heard go before this one; of two that may fence each other the
    /// younger waits for the older, heard or not.
    fn turn(&self, now: Instant) -> u8 {
        let (own, me, wait) = (self.rank(now), self.me(), self.wait());
        let slack = self.rules.limits.heartbeat;
        let goes_before = |node: &Node, rank: &Rank| rank.is_before(*node, &own, me, slack);
        let fences = matches!(self.rules.members.quorum, Quorum::Fence);
        self.others()
            .filter(|(node, member)| {
                matches!(member.role, Role::Init | Role::Standby)
                    && !self.rules.members.witnesses.has(*node)
                    && (member.lives(now, wait) || fences && member.heard.is_some())
            })
            .filter(|(node, member)| goes_before(node, &member.rank_at(now)))
            .map(|(node, _)| node)
            .collect::<Nodes>()
            .count()
    }

    /// When the next standby that goes before this one may have fallen silent.
    pub(super) fn turn_may_come(&self) -> Option<Instant> {
        if !matches!(self.stage, Stage::Idle) || !self.rules.may_stand() {
            return None;
        }
        let silent = |member: &Member| member.heard.map(|heard| heard.after(self.wait()));
        let later = |at: &Instant| *at > self.latest;
        self.others().filter_map(|(_, member)| silent(member)).filter(later).min()
    }

    fn after_steps(&self, mut at: Instant, steps: u8) -> Instant {
        for _ in 0..steps {
            at = at.after(self.rules.limits.stand_step);
        }
        at
    }

    /// Whether standing now has any sense: terms are not worn out for nothing.
    fn could_win(&self, now: Instant) -> bool {
        #[cfg(feature = "defects")]
        if self.without(super::Defect::ClaimByVote) {
            return true;
        }
        let given = self.given.filter(|given| self.usable(*given, now)).map(|given| given.by);
        let living = self.living(now);
        // Who is still listening would refuse.
        let listens = |node: &Node| self.member(*node).is_some_and(|member| self.listens(member));
        let grown: Nodes = living.iter().filter(|node| !listens(node)).collect();
        let mut might = grown.with(self.me());
        if let Some(by) = given {
            might = might.with(by);
        }
        let enough = might.count() >= self.rules.votes_needed();
        match self.rules.members.quorum {
            Quorum::Majority | Quorum::Stay => enough,
            Quorum::Fence => {
                // One that has been heard and is silent now.
                let silent =
                    |(node, member): (Node, &Member)| member.heard.is_some() && !living.has(node);
                enough || self.others().any(silent)
            }
            Quorum::Trusted => self.watch.trusted_answers && grown == living,
            Quorum::Etcd => self.vacant,
        }
    }

    #[cfg_attr(not(feature = "defects"), expect(clippy::unused_self, reason = "a test needs it"))]
    fn listens(&self, member: &Member) -> bool {
        #[cfg(feature = "defects")]
        if self.without(super::Defect::WaitAfterStart) {
            return false;
        }
        member.role == Role::Init
    }

    fn has_won(&self, candidacy: &Candidacy, now: Instant) -> bool {
        #[cfg(feature = "defects")]
        if self.without(super::Defect::ClaimByVote) {
            return true;
        }
        match self.rules.members.quorum {
            Quorum::Majority | Quorum::Fence | Quorum::Stay => {
                candidacy.votes.count() >= self.rules.votes_needed()
            }
            // Who is silent is taken for gone; who lives must agree.
            Quorum::Trusted => candidacy.votes.covers(self.living(now)),
            Quorum::Etcd => false, // the store answers
        }
    }

    /// Votes for itself, durably, and asks the others; or claims the group in the store.
    pub(super) fn stand(&mut self, now: Instant, out: &mut Actions) {
        if self.rules.by_store() {
            return self.claim(now, out);
        }
        let me = self.me();
        let mut votes = Nodes::only(me);
        let (mut term, mut sent) = (self.next_term(), now);
        if let Some(given) = self.given.take().filter(|given| self.usable(*given, now)) {
            (term, sent, votes) = (given.term, given.echo.min(now), votes.with(given.by));
        }
        self.durable.ballot = Some(Ballot { term, node: me });
        out.push(Action::Store(self.durable));
        for member in &mut self.members {
            member.granted = None;
        }
        let until = now.after(self.rules.limits.stand_step);
        let mut candidacy = Candidacy { term, sent, votes, again: until, until, outside: None };
        if self.has_won(&candidacy, now) {
            return self.win(term, votes.count(), Some(sent), now, out);
        }
        let silent = self.rules.others().iter().find(|node| !self.living(now).has(*node));
        let fenced = silent.filter(|_| matches!(self.rules.members.quorum, Quorum::Fence));
        if let Some(node) = fenced {
            let ticket = self.ticket();
            candidacy.outside = Some(ticket);
            out.push(Action::Fence { ticket, node });
        } else {
            self.ask(&mut candidacy, now, out);
        }
        self.stage = Stage::Standing(candidacy);
    }

    fn ask(&self, candidacy: &mut Candidacy, now: Instant, out: &mut Actions) {
        let step = self.rules.limits.stand_step.as_millis();
        candidacy.again = now.after(Span::from_millis((step / ASKED).max(1)));
        let Rank { last, age_ms, priority } = self.rank(now);
        let message = Message::Stand { term: candidacy.term, age_ms, priority, last };
        out.push(Action::Send { to: To::All, message });
    }

    pub(super) fn on_standing_due(
        &mut self,
        mut candidacy: Candidacy,
        now: Instant,
        out: &mut Actions,
    ) {
        if candidacy.deadline().is_none_or(|due| due > now) {
            return;
        }
        if candidacy.until <= now {
            return self.give_up(now);
        }
        self.ask(&mut candidacy, now, out);
        self.stage = Stage::Standing(candidacy);
    }

    /// Its time is over, or another goes first: others may have its vote again.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.stage = Stage::Idle;
        // A pause of its own for each node: two that met do not meet again.
        let steps = self.rules.members.count.saturating_add(self.me().0);
        self.not_before = self.after_steps(now, steps);
        self.paused = true;
    }

    /// From `now` on standbys stand in turn.
    pub(super) fn take_turns(&mut self, now: Instant) {
        self.not_before = self.not_before.max(now);
        self.paused = false;
    }

    pub(super) fn on_vote(&mut self, from: Node, term: Term, now: Instant, out: &mut Actions) {
        let Stage::Standing(mut candidacy) = self.stage else { return };
        if candidacy.term != term || candidacy.waits_outside() || candidacy.until <= now {
            return; // for an attempt that is over
        }
        candidacy.votes = candidacy.votes.with(from);
        self.stage = Stage::Standing(candidacy);
        if let Some(member) = self.member_mut(from) {
            member.granted = Some(candidacy.sent);
        }
        if self.has_won(&candidacy, now) {
            self.win(term, candidacy.votes.count(), Some(candidacy.sent), now, out);
        }
    }

    pub(super) fn on_refused(
        &mut self,
        from: Node,
        term: Term,
        known: Term,
        why: Refusal,
        now: Instant,
        out: &mut Actions,
    ) {
        self.proposed = self.proposed.max(known);
        let Stage::Standing(candidacy) = self.stage else { return };
        if candidacy.term != term || candidacy.waits_outside() {
            return; // of an attempt that is over
        }
        out.push(Action::Note(Note::VoteRefused(from, why)));
        if matches!(why, Refusal::Active) {
            self.give_up(now); // it lives
        }
    }

    /// Another stands: a vote for each term, durable before it is given.
    pub(super) fn on_stand(
        &mut self,
        from: Node,
        term: Term,
        rank: Rank,
        now: Instant,
        out: &mut Actions,
    ) {
        if self.rules.by_store() {
            return; // nobody counts votes
        }
        self.proposed = self.proposed.max(term);
        let ballot = Ballot { term, node: from };
        if let Some(why) = self.refuses(&ballot, rank, now) {
            let message = Message::Refuse { term, known: self.next_term().saturating_sub(1), why };
            return out.push(Action::Send { to: To::One(from), message });
        }
        if matches!(self.stage, Stage::Standing(_)) {
            self.give_up(now); // the other goes first
        }
        if self.durable.ballot != Some(ballot) {
            self.durable.ballot = Some(ballot);
            out.push(Action::Store(self.durable));
        }
        self.voted_at = Some(now);
        out.push(Action::Send { to: To::One(from), message: Message::Vote { term } });
    }

    /// Why this node does not vote for `ballot`.
    fn refuses(&self, ballot: &Ballot, rank: Rank, now: Instant) -> Option<Refusal> {
        match &self.stage {
            Stage::Active(_) => return Some(Refusal::Active),
            // Its own address may still be there.
            Stage::Asleep | Stage::Releasing(_) | Stage::Gone => return Some(Refusal::Young),
            Stage::Standing(candidacy) => {
                let (own, slack) = (self.rank(now), self.rules.limits.heartbeat);
                let goes_first = rank.is_before(ballot.node, &own, self.me(), slack);
                if candidacy.waits_outside() || !goes_first {
                    return Some(Refusal::Voted);
                }
            }
            Stage::Idle | Stage::Down => {}
        }
        let waits = self.voter_waits() && !defect::is(34); // 34: a vote though an active is heard
        if let Some(node) = self.heard_active(now).filter(|_| waits) {
            return Some(Refusal::Hears(node));
        }
        if self.is_young(now) {
            return Some(Refusal::Young);
        }
        let repeated = self.durable.ballot == Some(*ballot);
        if self.is_bound(now) && !repeated {
            return Some(Refusal::Voted);
        }
        let voted = self.durable.ballot.map_or(0, |ballot| ballot.term);
        let newer = ballot.term > self.durable.term && (ballot.term > voted || repeated);
        (!newer).then_some(Refusal::Old)
    }

    /// It heard an active, voted, started or woke less than `wait` ago.
    pub(super) fn may_not_vote(&self, now: Instant) -> bool {
        self.heard_active(now).is_some() || self.is_young(now) || self.is_bound(now)
    }

    #[cfg_attr(not(feature = "defects"), allow(clippy::unused_self))]
    const fn voter_waits(&self) -> bool {
        #[cfg(feature = "defects")]
        if matches!(self.rules.without, Some(super::Defect::VotersWait)) {
            return false;
        }
        true
    }

    pub(super) fn on_fenced(&mut self, ticket: Ticket, ok: bool, now: Instant, out: &mut Actions) {
        let Stage::Standing(candidacy) = self.stage else { return };
        if candidacy.outside != Some(ticket) {
            return; // late: the world has moved
        }
        let others = self.rules.others();
        if ok {
            // What is off votes for nobody else: its vote is as good as given.
            let votes = others.with(self.me()).count();
            return self.win(candidacy.term, votes, Some(now), now, out);
        }
        for node in others.iter() {
            out.push(Action::Note(Note::FenceFailed(node)));
        }
        self.stage = Stage::Idle;
        self.not_before = now.after(self.wait());
    }

    /// `node switch --force`: the operator's vote is the only one.
    pub(super) fn on_force(&mut self, now: Instant, out: &mut Actions) {
        if !matches!(self.stage, Stage::Idle | Stage::Standing(_)) || !self.rules.may_stand() {
            return;
        }
        if self.rules.by_store() {
            return; // who holds it there may hold it on
        }
        let term = self.next_term();
        self.durable.ballot = Some(Ballot { term, node: self.me() });
        out.push(Action::Store(self.durable));
        self.win(term, 1, None, now, out);
    }
}
