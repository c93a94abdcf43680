//! Active and standby: one node's part in deciding which of several holds a group.
//!
//! One entrance, [`Peer::handle`], takes an event and the time and returns a short list of
//! actions; [`Peer::poll_timeout`] says when it wants [`Event::Timeout`]. Times are those of a
//! clock that also runs while the machine is suspended.
//!
//! Why there are never two holders under `majority`: a grant ends `lease` after the *sending* of
//! a heartbeat that more than half answered. Who answered one votes for nobody for `wait`, which
//! is longer; so of any majority that votes, one at least has waited until the grant was over.
//! Who has voted grants nothing to a lower term, and neither votes nor stands, for `wait`. Who
//! does not remember (just started, just woken) waits as if it had done both.

mod event;
mod hear;
mod leave;
mod member;
mod message;
mod reign;
mod rules;
mod stand;
mod store;
mod watch;

use crate::node::{Node, Nodes};
use crate::time::{Instant, Span};

pub use event::{Action, Actions, Durable, Event, How, Look, Note, Taken, Ticket, To};
pub use member::Member;
pub use message::{Ahead, Ballot, Beat, Digests, Message, Mismatch, Refusal, Role, Term};
pub use rules::{Limits, Members, Quorum, Rules, RulesError};

use leave::{Release, Then};
use member::{Rank, Rebase};
use reign::Reign;
use stand::{Candidacy, Given};
use watch::Watch;

/// A rule that a test leaves out, to see that it is missed.
#[cfg(feature = "defects")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Defect {
    /// An active renews without being answered.
    GrantLease,
    /// A voter votes though it heard an active.
    VotersWait,
    /// A node votes and stands as soon as it runs.
    WaitAfterStart,
    /// A voter votes, stands and grants again at once.
    HoldAfterVote,
    /// A candidate takes silence for consent.
    ClaimByVote,
}

/// The active, as this node hears it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lead {
    node: Node,
    term: Term,
    heard: Instant,
}

/// What the node is, with what each needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Not begun.
    Asleep,
    /// Listening, or a standby.
    Idle,
    /// Asking for votes, or for a fence.
    Standing(Candidacy),
    Active(Reign),
    /// Active no more, and the address not yet known to be gone; or one left from before.
    Releasing(Release),
    Down,
    /// It has said its last.
    Gone,
}

/// The machine of one node for one group, with room for `N` members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer<const N: usize> {
    rules: Rules,
    digests: Digests,
    members: [Member; N],
    durable: Durable,
    latest: Instant,
    clock_went_back: u32,
    /// The highest term that anybody stood in or told of: the next one must be higher.
    proposed: Term,
    /// When it began, or woke: until `wait` after that it neither votes nor stands.
    quiet_since: Instant,
    /// It has not yet listened for `wait`, nor heard an active.
    fresh: bool,
    /// When it voted for another.
    voted_at: Option<Instant>,
    /// Since when it has been in the group: its age.
    since: Instant,
    last: bool,
    lead: Option<Lead>,
    given: Option<Given>,
    /// Its turn to stand is not before.
    not_before: Instant,
    /// That is the end of a pause that no other node has as long: turns are over.
    paused: bool,
    /// The store says that the group may be had, and who is to have it.
    vacant: bool,
    named: Option<Node>,
    stage: Stage,
    watch: Watch,
    beat_at: Instant,
    refused_by: Option<(Node, Mismatch)>,
    next_ticket: u32,
}

impl<const N: usize> Peer<N> {
    /// A machine that has not begun; [`Event::Begin`] begins it. `durable` is what the newest
    /// [`Action::Store`] of an earlier life had, `digests` what the other nodes must have too.
    ///
    /// `N` is at least the number of members that `rules` were made for; further ones are never
    /// heard.
    #[must_use]
    pub fn new(rules: Rules, digests: Digests, durable: Durable, now: Instant) -> Self {
        Self {
            rules,
            digests,
            members: [Member::never_seen(rules.limits.life); N],
            durable,
            latest: now,
            clock_went_back: 0,
            proposed: 0,
            quiet_since: now,
            fresh: true,
            voted_at: None,
            since: now,
            last: false,
            lead: None,
            given: None,
            not_before: now,
            paused: false,
            vacant: false,
            named: None,
            stage: Stage::Asleep,
            watch: Watch::new(&rules, now),
            beat_at: now,
            refused_by: None,
            next_ticket: 0,
        }
    }

    /// Takes in what happened at `now` and says what to do about it.
    ///
    /// Time that goes back is taken as the latest time seen, and counted. Every event in every
    /// state is answered, most of them by nothing.
    pub fn handle(&mut self, event: Event, now: Instant) -> Actions {
        let mut out = Actions::new();
        let due = self.poll_timeout();
        let now = self.clamp(now);
        let before = self.role();
        match (self.stage, event) {
            (Stage::Asleep, Event::Begin) => self.on_begin(now, &mut out),
            (Stage::Asleep, _) => return out,
            (Stage::Gone, _) => {
                if matches!(event, Event::StoreFailed) {
                    out.push(Action::Gone); // what was to follow the record
                }
                if matches!(event, Event::Won { .. }) {
                    self.let_go(None, &mut out); // late
                }
                return out;
            }
            _ => {
                if due.is_some_and(|due| due.after(self.oversleeping()) < now) {
                    self.on_slept(now, &mut out);
                }
                self.expire_grant(now, &mut out);
                self.take_in(event, now, &mut out);
            }
        }
        if self.role() != before && !matches!(self.stage, Stage::Gone) {
            out.push(Action::Role { role: self.role(), term: self.durable.term });
        }
        out
    }

    /// When [`Event::Timeout`] is wanted; `None` while only other events can move the machine.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if matches!(self.stage, Stage::Asleep | Stage::Gone) {
            return None;
        }
        let beat = (!matches!(self.stage, Stage::Releasing(_))).then_some(self.beat_at);
        let listened = self.fresh.then(|| self.quiet_since.after(self.wait()));
        let silent = self.lead.map(|lead| lead.heard.after(self.wait()));
        let stage = match &self.stage {
            Stage::Standing(candidacy) => candidacy.deadline(),
            Stage::Active(reign) => reign.deadline(self.wait()),
            Stage::Releasing(release) => release.deadline(),
            Stage::Asleep | Stage::Idle | Stage::Down | Stage::Gone => None,
        };
        let (stand_at, turn) = (self.stand_at(), self.turn_may_come());
        [beat, listened, silent, stage, stand_at, turn, self.watch.deadline()]
            .into_iter()
            .flatten()
            .min()
            .map(|due| due.max(self.latest))
    }

    /// The same machine on a clock whose epoch lies later, so that `now` is
    /// [`Rules::horizon_ms`]; what is older than that is as old as that. For model checkers, whose
    /// states must not grow with time; [`Message::rebased`] moves frames under way.
    #[must_use]
    pub fn rebase(&self, now: Instant) -> Self {
        let horizon_ms = self.rules.horizon_ms();
        let rebase = Rebase { by_ms: now.as_millis().saturating_sub(horizon_ms), horizon_ms };
        let at = |at: Instant| rebase.instant(at);
        Self {
            members: self.members.map(|member| member.rebased(rebase)),
            latest: at(self.latest),
            quiet_since: at(self.quiet_since),
            voted_at: self.voted_at.map(at),
            since: at(self.since),
            lead: self.lead.map(|lead| Lead { heard: at(lead.heard), ..lead }),
            given: self.given.map(|given| Given { echo: at(given.echo), ..given }),
            not_before: at(self.not_before),
            stage: match self.stage {
                Stage::Standing(candidacy) => Stage::Standing(candidacy.rebased(rebase)),
                Stage::Active(reign) => Stage::Active(reign.rebased(rebase)),
                Stage::Releasing(release) => Stage::Releasing(release.rebased(rebase)),
                other => other,
            },
            watch: self.watch.rebased(rebase),
            beat_at: at(self.beat_at),
            next_ticket: self.open_ticket(),
            ..self.clone()
        }
    }

    /// What the node is.
    #[must_use]
    pub const fn role(&self) -> Role {
        match self.stage {
            Stage::Asleep => Role::Init,
            Stage::Active(_) => Role::Active,
            Stage::Down => Role::Down,
            Stage::Releasing(Release { then: Then::Down, .. }) => Role::Down,
            Stage::Idle | Stage::Standing(_) | Stage::Releasing(_) if self.fresh => Role::Init,
            Stage::Idle | Stage::Standing(_) | Stage::Releasing(_) | Stage::Gone => Role::Standby,
        }
    }

    /// The highest term known to have had an active.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.durable.term
    }

    /// What must outlive a crash, as it is now.
    #[must_use]
    pub const fn durable(&self) -> Durable {
        self.durable
    }

    /// The rules in force.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The active that this node knows: itself, or the one it hears.
    #[must_use]
    pub fn active(&self) -> Option<Node> {
        match self.stage {
            Stage::Active(_) => Some(self.me()),
            _ => self.lead.map(|lead| lead.node),
        }
    }

    /// Whether the address is here, as the driver said last.
    #[must_use]
    pub const fn holds(&self) -> bool {
        match &self.stage {
            Stage::Active(reign) => reign.holds(),
            _ => false,
        }
    }

    /// By how many votes this node is active; 0 where it is not.
    #[must_use]
    pub const fn votes(&self) -> u8 {
        match &self.stage {
            Stage::Active(reign) => reign.votes,
            _ => 0,
        }
    }

    /// When the grant under which it is active ends, where there is one.
    #[must_use]
    pub const fn grant(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Active(reign) => reign.grant,
            _ => None,
        }
    }

    /// How many more looks at itself may fail.
    #[must_use]
    pub const fn life(&self) -> u8 {
        self.watch.life
    }

    /// What is known of `node`; `None` where it is no other member.
    #[must_use]
    pub fn member(&self, node: Node) -> Option<&Member> {
        if !self.rules.others().has(node) {
            return None;
        }
        self.members.get(usize::from(node.0))
    }

    /// Since when it has been in the group.
    #[must_use]
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// How often time went back.
    #[must_use]
    pub const fn clock_went_back(&self) -> u32 {
        self.clock_went_back
    }

    const fn me(&self) -> Node {
        self.rules.members.me
    }

    const fn wait(&self) -> Span {
        self.rules.limits.wait
    }

    /// Later than this after its own deadline, it did not run (P9).
    const fn oversleeping(&self) -> Span {
        Span::from_millis(self.rules.limits.lease.as_millis() / 4)
    }

    #[cfg(feature = "defects")]
    fn without(&self, defect: Defect) -> bool {
        self.rules.without == Some(defect)
    }

    fn member_mut(&mut self, node: Node) -> Option<&mut Member> {
        if !self.rules.others().has(node) {
            return None;
        }
        self.members.get_mut(usize::from(node.0))
    }

    /// The other members, with what is known of them.
    fn others(&self) -> impl Iterator<Item = (Node, &Member)> {
        self.rules.others().iter().filter_map(|node| Some((node, self.member(node)?)))
    }

    /// The others that were heard less than `wait` ago.
    fn living(&self, now: Instant) -> Nodes {
        let wait = self.wait();
        self.others().filter(|(_, member)| member.lives(now, wait)).map(|(node, _)| node).collect()
    }

    fn rank(&self, now: Instant) -> Rank {
        Rank {
            last: self.last,
            age_ms: now.since(self.since),
            priority: self.rules.members.priority,
        }
    }

    /// The highest ticket that has no answer yet.
    fn open_ticket(&self) -> u32 {
        let stage = match &self.stage {
            Stage::Standing(candidacy) => candidacy.ticket(),
            Stage::Active(reign) => reign.ticket(),
            Stage::Releasing(release) => release.ticket(),
            Stage::Asleep | Stage::Idle | Stage::Down | Stage::Gone => None,
        };
        [stage, self.watch.ticket()].into_iter().flatten().map(|ticket| ticket.0).max().unwrap_or(0)
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket = self.next_ticket.wrapping_add(1);
        Ticket(self.next_ticket)
    }

    fn clamp(&mut self, now: Instant) -> Instant {
        if now < self.latest {
            self.clock_went_back = self.clock_went_back.saturating_add(1);
        } else {
            self.latest = now;
        }
        self.latest
    }

    fn on_begin(&mut self, now: Instant, out: &mut Actions) {
        self.quiet_since = now;
        self.watch = Watch::new(&self.rules, now);
        if self.rules.is_witness() {
            return self.on_ready(now, out);
        }
        let ticket = self.ticket();
        self.stage = Stage::Releasing(Release::leftover(ticket, now));
        out.push(Action::Release { ticket, how: How::Leftover });
    }

    /// Nothing is left from before: it joins, and listens.
    fn on_ready(&mut self, now: Instant, out: &mut Actions) {
        self.stage = Stage::Idle;
        self.since = now;
        self.quiet_since = now;
        self.take_turns(now);
        self.beat(now, out);
    }

    fn take_in(&mut self, event: Event, now: Instant, out: &mut Actions) {
        match event {
            Event::Timeout => self.on_timeout(now, out),
            Event::Begin => {} // it has begun
            Event::Frame { from, message } => self.on_frame(from, message, now, out),
            Event::Looked { ticket, look } => self.on_looked(ticket, look, now, out),
            Event::Taken { ticket, taken } => self.on_taken(ticket, taken, now),
            Event::Released { ticket, ok } => self.on_released(ticket, ok, now, out),
            Event::AddressLost => self.on_address_lost(now, out),
            Event::Fenced { ticket, ok } => self.on_fenced(ticket, ok, now, out),
            Event::StoreFailed => self.on_store_failed(now, out),
            Event::Recovery(on) => self.watch.recovering = on,
            Event::Stop => self.on_stop(now, out),
            Event::GiveOver { to } => self.on_give_over(to, now, out),
            Event::Force => self.on_force(now, out),
            Event::Vacancy { vacant, to } => self.on_vacancy(vacant, to, now),
            Event::Won { ticket, term, since } => self.on_won(ticket, term, since, now, out),
            Event::NotWon { ticket } => self.on_not_won(ticket, now),
            Event::Kept { term, since } => self.on_kept(term, since, now, out),
            Event::Ousted { term } => self.on_ousted(term, now, out),
        }
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Actions) {
        if self.fresh && self.quiet_since.after(self.wait()) <= now {
            self.on_listened(out);
            if matches!(self.stage, Stage::Gone) {
                return;
            }
        }
        if let Some(lead) = self.lead.filter(|lead| lead.heard.after(self.rules.limits.wait) <= now)
        {
            self.lead = None;
            self.take_turns(now);
            out.push(Action::Note(Note::Silent(lead.node)));
        }
        match self.stage {
            Stage::Standing(candidacy) => self.on_standing_due(candidacy, now, out),
            Stage::Active(_) => self.on_reign_due(now, out),
            Stage::Releasing(release) => self.on_release_due(release, now, out),
            // States without a deadline of their own.
            Stage::Asleep | Stage::Idle | Stage::Down | Stage::Gone => {}
        }
        if self.stand_at().is_some_and(|due| due <= now) {
            self.stand(now, out);
        }
        if self.beat_at <= now && !matches!(self.stage, Stage::Releasing(_) | Stage::Gone) {
            self.beat(now, out);
        }
        if self.watch.deadline().is_some_and(|due| due <= now) {
            let ticket = self.ticket();
            self.watch.ask(ticket);
            out.push(Action::Look { ticket });
        }
    }

    /// P12: who was refused by all that were heard goes; one that accepts is enough.
    fn on_listened(&mut self, out: &mut Actions) {
        self.fresh = false;
        let accepted =
            self.others().any(|(_, member)| member.heard.is_some() && member.refused.is_none());
        if let Some((by, why)) = self.refused_by.filter(|_| !accepted) {
            self.stage = Stage::Gone; // it never held anything
            out.push(Action::Quit { by, why });
        }
    }

    /// P9: what was believed when it fell asleep is void before anything else is decided.
    fn on_slept(&mut self, now: Instant, out: &mut Actions) {
        out.push(Action::Note(Note::Slept));
        self.watch.refill(&self.rules, now);
        for member in &mut self.members {
            member.life = self.rules.limits.life;
            member.granted = None;
        }
        match self.stage {
            Stage::Active(reign) => self.on_slept_active(reign, now, out),
            Stage::Standing(_) => self.stage = Stage::Idle,
            // Nothing that was believed there has outlived the sleep.
            Stage::Asleep | Stage::Idle | Stage::Releasing(_) | Stage::Down | Stage::Gone => {}
        }
        if !matches!(self.stage, Stage::Active(_)) {
            self.quiet_since = now;
        }
    }

    /// Says what it is to everybody; who is active without a grant renews by it.
    fn beat(&mut self, now: Instant, out: &mut Actions) {
        self.beat_at = now.after(self.rules.limits.heartbeat);
        let rank = self.rank(now);
        let beat = Beat {
            term: self.told_term(now),
            role: self.role(),
            sent: now,
            age_ms: rank.age_ms,
            priority: rank.priority,
            last: rank.last,
            holds: self.holds(),
            votes: self.votes(),
            digests: self.digests,
        };
        out.push(Action::Send { to: To::All, message: Message::Beat(beat) });
        self.renew_without_grant(now, out);
    }

    /// P8: a standby's notice changes no roles; an active first lets go.
    fn on_stop(&mut self, now: Instant, out: &mut Actions) {
        match self.stage {
            Stage::Active(_) => self.leave_orderly(None, true, now, out),
            Stage::Releasing(release) => {
                self.stage = Stage::Releasing(release.followed_by(Then::Gone));
            }
            Stage::Idle | Stage::Standing(_) | Stage::Down => self.on_gone(None, out),
            Stage::Asleep | Stage::Gone => {}
        }
    }

    /// The last that is heard of it.
    fn on_gone(&mut self, vote: Option<Ahead>, out: &mut Actions) {
        let message = Message::Leave { term: self.durable.term, vote, down: false };
        self.let_go(None, out);
        self.stage = Stage::Gone;
        out.push(Action::Send { to: To::All, message });
        out.push(Action::Gone);
    }

    fn on_store_failed(&mut self, now: Instant, out: &mut Actions) {
        out.push(Action::Note(Note::NotStored));
        self.not_before = now.after(self.wait());
        match self.stage {
            Stage::Standing(_) => self.stage = Stage::Idle,
            // Its address was to be taken after the record that failed.
            Stage::Active(reign) if !reign.holds() => {
                self.step_down(reign, Then::Standby, now, out);
            }
            // Only who gives its vote stores there, and the vote was not sent.
            Stage::Asleep
            | Stage::Idle
            | Stage::Active(_)
            | Stage::Releasing(_)
            | Stage::Down
            | Stage::Gone => {}
        }
    }
}
