//! Looking at ourselves, at trusted servers and at peers (P2, P3).

use crate::node::Nodes;
use crate::time::{Instant, Span};

use super::event::{Action, Actions, Look, Ticket};
use super::leave::Then;
use super::member::Rebase;
use super::message::Message;
use super::rules::Rules;
use super::{Peer, Stage, To};

/// When the next look is, or which is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Looking {
    /// A witness has nothing to look at.
    Never,
    Due(Instant),
    Asked(Ticket),
}

/// What looks have found so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Watch {
    looking: Looking,
    interval: Span,
    /// How many more looks at ourselves may fail.
    pub(super) life: u8,
    /// How many more may find no trusted server.
    trusted_left: u8,
    /// The newest look found one, or there are none to be found.
    pub(super) trusted_answers: bool,
    /// Checks of service and peers count nothing.
    pub(super) recovering: bool,
}

impl Watch {
    pub(super) const fn new(rules: &Rules, now: Instant) -> Self {
        let life = rules.limits.life;
        Self {
            looking: if rules.is_witness() { Looking::Never } else { Looking::Due(now) },
            interval: rules.limits.interval,
            life,
            trusted_left: life,
            trusted_answers: !rules.members.trusted,
            recovering: false,
        }
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        match self.looking {
            Looking::Due(at) => Some(at),
            Looking::Never | Looking::Asked(_) => None,
        }
    }

    pub(super) const fn ticket(&self) -> Option<Ticket> {
        match self.looking {
            Looking::Asked(ticket) => Some(ticket),
            Looking::Never | Looking::Due(_) => None,
        }
    }

    pub(super) const fn ask(&mut self, ticket: Ticket) {
        self.looking = Looking::Asked(ticket);
    }

    /// P9: what was counted is void; a look under way is answered as usual, and stale.
    pub(super) const fn refill(&mut self, rules: &Rules, now: Instant) {
        self.life = rules.limits.life;
        self.trusted_left = rules.limits.life;
        self.trusted_answers = !rules.members.trusted;
        if !matches!(self.looking, Looking::Never) {
            self.looking = Looking::Due(now);
        }
    }

    pub(super) fn rebased(&self, rebase: Rebase) -> Self {
        let looking = match self.looking {
            Looking::Due(at) => Looking::Due(rebase.instant(at)),
            other => other,
        };
        Self { looking, ..*self }
    }

    const fn is_spent(&self) -> bool {
        self.life == 0 || self.trusted_left == 0
    }

    /// Counts what a look found about ourselves.
    fn count(&mut self, look: &Look, life: u8) {
        match look.own.filter(|_| !self.recovering) {
            Some(true) => self.life = life,
            Some(false) => self.life = self.life.saturating_sub(1),
            None => {}
        }
        if let Some(answers) = look.trusted {
            self.trusted_answers = answers;
            self.trusted_left = if answers { life } else { self.trusted_left.saturating_sub(1) };
        }
    }
}

impl<const N: usize> Peer<N> {
    pub(super) fn on_looked(
        &mut self,
        ticket: Ticket,
        look: Look,
        now: Instant,
        out: &mut Actions,
    ) {
        if self.watch.looking != Looking::Asked(ticket) {
            return; // late: the world has moved
        }
        self.watch.looking = Looking::Due(now.after(self.watch.interval));
        let life = self.rules.limits.life;
        let listed = self.rules.members.trusted;
        self.watch.count(&Look { trusted: look.trusted.filter(|_| listed), ..look }, life);
        if !self.watch.recovering {
            self.count_peers(look.passed, look.failed);
        }
        if self.watch.is_spent() {
            self.go_down(now, out);
        } else if matches!(self.stage, Stage::Down) {
            // P3: it comes back as the youngest, and everybody hears of it.
            self.stage = Stage::Idle;
            self.since = now;
            self.take_turns(now);
            self.beat(now, out);
        }
    }

    fn count_peers(&mut self, passed: Nodes, failed: Nodes) {
        let life = self.rules.limits.life;
        for node in self.rules.others().iter() {
            let Some(member) = self.member_mut(node) else { continue };
            if passed.has(node) {
                member.life = life;
            } else if failed.has(node) {
                member.life = member.life.saturating_sub(1);
            }
        }
    }

    /// P3: the address is dropped first, then everybody is told.
    fn go_down(&mut self, now: Instant, out: &mut Actions) {
        match self.stage {
            Stage::Active(reign) => self.step_down(reign, Then::Down, now, out),
            Stage::Idle | Stage::Standing(_) => {
                self.stage = Stage::Down;
                let message = Message::Leave { term: self.durable.term, vote: None, down: true };
                out.push(Action::Send { to: To::All, message });
            }
            Stage::Releasing(release) if matches!(release.then, Then::Standby) => {
                self.stage = Stage::Releasing(release.followed_by(Then::Down));
            }
            // Down already, or on its way out; what was left from before goes first.
            Stage::Asleep | Stage::Releasing(_) | Stage::Down | Stage::Gone => {}
        }
    }
}
