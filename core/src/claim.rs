//! This node's claim on a group in a store that others keep (etcd): when the group may be had,
//! when it is held, until when, and when it is not.
//!
//! One entrance, [`Claim::handle`], takes an event and the time and returns a short list of
//! actions; [`Claim::poll_timeout`] says when it wants [`Event::Timeout`]. It asks one thing of
//! the store at a time, and every answer carries the ticket of what was asked: one that comes
//! late, or twice, is nothing.
//!
//! What is in the store for a group: the *holder*, there as long as the holder's lease is, and the
//! *mark*, which outlives holders and says of the last one whether it holds or has let go. Both
//! change in one step.
//!
//! Why there are never two holders, whatever the store's clock does. A renewal counts only once a
//! read that was asked for after it has seen the holder still there, and then from before it was
//! asked for: what is held ends `ttl - margin` after that. Who sees the holder gone, and no mark
//! that it has let go, waits for `wait` before it claims, which is longer; so the lease of a
//! holder may be lost early (revoked, deleted, forgotten by a store that was restored), and the
//! holder's time is over all the same. Who claims names the mark it has seen all that time: were
//! there another holder between, the mark is another.

mod event;

use crate::node::Node;
use crate::time::{Instant, Span};

pub use event::{
    Action, Actions, Answer, Event, Holder, Lease, Limits, Mark, Request, State, Ticket,
};

/// What of the store is known, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    store: u64,
    revision: u64,
    mark: Mark,
    /// Since when nobody holds it, with this mark.
    vacant_since: Option<Instant>,
    /// Until then what the mark says counts for nothing: the store is new to us, or another.
    distrusted_until: Instant,
    /// The newest question was answered.
    fresh: bool,
}

/// Where the claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// None here: the store is read.
    Looking,
    /// A lease is asked for.
    Leasing {
        by: u32,
    },
    /// With the lease, the group.
    Claiming {
        by: u32,
        lease: Lease,
        since: Instant,
    },
    Holding(Held),
    /// Whatever there is of ours in the store is to go; given up at `until`, when it has lapsed.
    LettingGo {
        lease: Lease,
        to: Option<Node>,
        until: Instant,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    lease: Lease,
    term: u64,
    /// The lease was renewed, and counts from then once the holder is seen to be there still.
    renewed: Option<Instant>,
    /// When that was asked for.
    round: Instant,
    /// What is asked is the read after the renewal.
    reading: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    ticket: Ticket,
    sent: Instant,
}

/// The machine of one node for one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    limits: Limits,
    latest: Instant,
    stage: Stage,
    seen: Option<Seen>,
    pending: Option<Pending>,
    /// When the next thing is asked, unless one is.
    next_at: Instant,
    /// Something changed while something was asked.
    changed: bool,
    /// What was told last.
    told: (bool, Option<Node>),
    next_ticket: u32,
}

impl Claim {
    /// A machine that knows nothing yet; it begins to read at once.
    #[must_use]
    pub const fn new(limits: Limits, now: Instant) -> Self {
        Self {
            limits,
            latest: now,
            stage: Stage::Looking,
            seen: None,
            pending: None,
            next_at: now,
            changed: false,
            told: (false, None),
            next_ticket: 0,
        }
    }

    /// Takes in what happened at `now` and says what to do about it. Time that goes back is taken
    /// as the latest time seen.
    pub fn handle(&mut self, event: Event, now: Instant) -> Actions {
        let mut out = Actions::new();
        self.latest = self.latest.max(now);
        let now = self.latest;
        match event {
            Event::Timeout => {}
            Event::Wanted { by } => self.on_wanted(by, now, &mut out),
            Event::LetGo { to } => self.on_let_go(to, now),
            Event::Changed => self.changed = true,
            Event::Answered { ticket, answer } => {
                if let Some(pending) = self.pending.filter(|it| it.ticket == ticket) {
                    self.pending = None;
                    self.on_answer(pending.sent, answer, now, &mut out);
                }
            }
        }
        if self.pending.is_some_and(|it| self.is_late(it, now)) {
            self.pending = None;
            self.on_failed(now, &mut out);
        }
        if self.changed && self.pending.is_none() && self.may_ask_early() {
            self.changed = false;
            self.next_at = now;
        }
        self.ask_what_is_due(now, &mut out);
        self.tell_vacancy(now, &mut out);
        out
    }

    /// When [`Event::Timeout`] is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = match self.pending {
            Some(pending) => pending.sent.after(self.limits.patience()),
            None => self.next_at,
        };
        let vacant = self.vacant_at().filter(|_| !self.told.0);
        Some(vacant.map_or(next, |at| at.min(next)).max(self.latest))
    }

    /// Nothing of this node's is in the store, as far as it knows, nor about to be.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Looking | Stage::Leasing { .. })
    }

    /// The newest question was answered.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.seen.is_some_and(|seen| seen.fresh)
    }

    fn is_late(&self, pending: Pending, now: Instant) -> bool {
        pending.sent.after(self.limits.patience()) <= now
    }

    const fn may_ask_early(&self) -> bool {
        matches!(self.stage, Stage::Looking | Stage::Holding(_))
    }

    /// When the group may be claimed, as things are.
    fn vacant_at(&self) -> Option<Instant> {
        if !matches!(self.stage, Stage::Looking) {
            return None;
        }
        let seen = self.seen.filter(|seen| seen.fresh)?;
        let since = seen.vacant_since?;
        Some(match seen.mark.let_go {
            true => since.max(seen.distrusted_until),
            false => since.after(self.limits.wait),
        })
    }

    fn on_wanted(&mut self, by: u32, now: Instant, out: &mut Actions) {
        if self.vacant_at().is_none_or(|at| at > now) {
            return out.push(Action::NotWon { by });
        }
        self.stage = Stage::Leasing { by };
        self.pending = None; // a read under way tells nothing that the claim does not ask again
        self.next_at = now;
    }

    fn on_let_go(&mut self, to: Option<Node>, now: Instant) {
        match self.stage {
            Stage::Looking | Stage::LettingGo { .. } => return,
            // A lease that nobody knows of, and nobody keeps.
            Stage::Leasing { .. } => self.stage = Stage::Looking,
            Stage::Claiming { lease, .. } => self.begin_to_let_go(lease, to, now),
            Stage::Holding(held) => self.begin_to_let_go(held.lease, to, now),
        }
        self.pending = None;
        self.next_at = now;
    }

    fn begin_to_let_go(&mut self, lease: Lease, to: Option<Node>, now: Instant) {
        self.stage = Stage::LettingGo { lease, to, until: now.after(self.limits.ttl) };
        self.next_at = now;
    }

    fn on_answer(&mut self, sent: Instant, answer: Answer, now: Instant, out: &mut Actions) {
        if matches!(answer, Answer::Failed) {
            return self.on_failed(now, out);
        }
        match (self.stage, answer) {
            (Stage::Looking, Answer::State(state)) => {
                self.see(&state, now);
                self.next_at = sent.after(self.limits.beat);
            }
            (Stage::Leasing { by }, Answer::Granted { lease, ttl }) if lease.is_some() => {
                self.stage = Stage::Claiming { by, lease, since: self.counts_from(sent, ttl) };
                self.next_at = now;
            }
            (Stage::Claiming { by, lease, since }, Answer::Claimed { revision }) => {
                let newer = self.seen.is_some_and(|seen| revision > seen.revision);
                if !newer {
                    return self.on_failed(now, out); // it cannot be: whatever is there goes again
                }
                let held =
                    Held { lease, term: revision, renewed: None, round: sent, reading: false };
                self.stage = Stage::Holding(held);
                self.next_at = sent.after(self.limits.beat);
                out.push(Action::Won { by, term: revision, since });
            }
            (Stage::Claiming { by, .. }, Answer::State(state)) => {
                self.stage = Stage::Looking;
                self.see(&state, now);
                self.next_at = now.after(self.limits.beat);
                out.push(Action::NotWon { by });
            }
            (Stage::Holding(held), Answer::Kept { ttl }) if !held.reading => {
                // A lease that is over is not renewed; whether the holder is, only a read says.
                let renewed = (!ttl.is_zero()).then(|| self.counts_from(sent, ttl));
                self.stage = Stage::Holding(Held { renewed, round: sent, reading: true, ..held });
                self.next_at = now;
            }
            (Stage::Holding(held), Answer::State(state)) if held.reading => {
                self.on_seen_holding(held, &state, now, out);
            }
            (Stage::LettingGo { .. }, Answer::LetGo | Answer::State(_)) => {
                self.stage = Stage::Looking;
                self.next_at = now;
            }
            // An answer to something else: as good as none.
            _ => self.on_failed(now, out),
        }
    }

    /// Whether what is held is there still.
    fn on_seen_holding(&mut self, held: Held, state: &State, now: Instant, out: &mut Actions) {
        let ours = Some(Holder { lease: held.lease, revision: held.term });
        if state.holder != ours {
            self.stage = Stage::Looking;
            self.see(state, now);
            self.next_at = now.after(self.limits.beat);
            return out.push(Action::Lost { term: held.term });
        }
        self.stage = Stage::Holding(Held { renewed: None, reading: false, ..held });
        self.see(state, now);
        if let Some(since) = held.renewed {
            self.next_at = held.round.after(self.limits.beat).max(now);
            out.push(Action::Kept { term: held.term, since });
        } else {
            self.next_at = now.after(self.limits.pause());
        }
    }

    /// No answer, or none that helps. What was asked may have been done.
    fn on_failed(&mut self, now: Instant, out: &mut Actions) {
        if let Some(seen) = &mut self.seen {
            seen.fresh = false;
        }
        self.next_at = now.after(self.limits.pause());
        match self.stage {
            Stage::Looking => {}
            Stage::Leasing { by } => {
                self.stage = Stage::Looking;
                out.push(Action::NotWon { by });
            }
            Stage::Claiming { by, lease, .. } => {
                // Nobody holds by it, and whoever wants the group need not wait until it lapses.
                self.begin_to_let_go(lease, None, now);
                self.next_at = now.after(self.limits.pause());
                out.push(Action::NotWon { by });
            }
            Stage::Holding(held) => {
                self.stage = Stage::Holding(Held { renewed: None, reading: false, ..held });
            }
            Stage::LettingGo { until, .. } => {
                if until <= now {
                    self.stage = Stage::Looking;
                }
            }
        }
    }

    /// From when a lease counts that was asked for at `sent`: one that is shorter than what was
    /// asked for counts as if it had been asked for earlier.
    fn counts_from(&self, sent: Instant, ttl: Span) -> Instant {
        let short = self.limits.ttl.as_millis().saturating_sub(ttl.as_millis());
        Instant::from_millis(sent.as_millis().saturating_sub(u64::from(short)))
    }

    fn see(&mut self, state: &State, now: Instant) {
        let before = self.seen;
        // A store that was restored or emptied knows nothing of what was held by the old one.
        let same = before.filter(|it| {
            let grown = it.revision <= state.revision && it.mark.revision <= state.mark.revision;
            it.store == state.store && grown
        });
        let distrusted_until =
            same.map_or(now.after(self.limits.wait), |seen| seen.distrusted_until);
        let since = same.filter(|seen| seen.mark == state.mark).and_then(|seen| seen.vacant_since);
        self.seen = Some(Seen {
            store: state.store,
            revision: state.revision,
            mark: state.mark,
            vacant_since: state.holder.is_none().then(|| since.unwrap_or(now)),
            distrusted_until,
            fresh: true,
        });
    }

    fn ask_what_is_due(&mut self, now: Instant, out: &mut Actions) {
        if self.pending.is_some() || self.next_at > now {
            return;
        }
        let request = match self.stage {
            Stage::Looking => Request::Read,
            Stage::Leasing { .. } => Request::Grant,
            Stage::Claiming { lease, .. } => {
                let mark = self.seen.map_or(0, |seen| seen.mark.revision);
                Request::Claim { lease, mark }
            }
            Stage::Holding(Held { reading: true, .. }) => Request::Read,
            Stage::Holding(Held { lease, .. }) => Request::Keep { lease },
            Stage::LettingGo { lease, to, .. } => Request::LetGo { lease, to },
        };
        self.next_ticket = self.next_ticket.wrapping_add(1);
        let ticket = Ticket(self.next_ticket);
        self.pending = Some(Pending { ticket, sent: now });
        let until = now.after(self.limits.patience());
        out.push(Action::Ask { ticket, request, until });
    }

    fn tell_vacancy(&mut self, now: Instant, out: &mut Actions) {
        let vacant = self.vacant_at().is_some_and(|at| at <= now);
        let to = self.seen.filter(|seen| vacant && seen.mark.let_go).and_then(|seen| seen.mark.to);
        if self.told != (vacant, to) {
            self.told = (vacant, to);
            out.push(Action::Vacancy { vacant, to });
        }
    }
}
