//! Recovery: for a while no node takes new connections to the service.

use crate::node::{Node, Nodes};
use crate::time::{Instant, Span};

use super::Share;
use super::event::{Action, Actions, Answer, Lasting, Message, Ticket, To};

/// Who was heard and does not answer within this makes the start fail, however long it is to last.
const ANSWER_WITHIN: Span = Span::from_secs(30);

/// The one recovery that there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    None,
    /// Begun here: who has not answered yet, this node among them.
    Asking {
        ticket: Ticket,
        waits_for: Nodes,
        answer_by: Instant,
        until: Instant,
    },
    /// Begun here, and every node refuses new connections; `ticket` until this node does so again,
    /// after a start.
    Ours {
        ticket: Option<Ticket>,
        until: Instant,
    },
    /// Begun by another; `ticket` until this node does so.
    Theirs {
        by: Node,
        ticket: Option<Ticket>,
        until: Instant,
    },
}

impl Recovery {
    /// When something has to be done about it.
    pub(super) const fn due(&self) -> Option<Instant> {
        match self {
            Self::None => None,
            Self::Asking { answer_by, .. } => Some(*answer_by),
            Self::Ours { until, .. } | Self::Theirs { until, .. } => Some(*until),
        }
    }

    /// Who began it, as `me` knows, and when it ends by itself.
    pub(super) const fn of(&self, me: Node) -> Option<(Node, Instant)> {
        match self {
            Self::None => None,
            Self::Asking { until, .. } | Self::Ours { until, .. } => Some((me, *until)),
            Self::Theirs { by, until, .. } => Some((*by, *until)),
        }
    }

    /// What of it must outlive a crash.
    pub(super) const fn lasting(&self, me: Node) -> Option<Lasting> {
        let Some((by, until)) = self.of(me) else { return None };
        let waits_for = match self {
            Self::Asking { waits_for, .. } => *waits_for,
            Self::None | Self::Ours { .. } | Self::Theirs { .. } => Nodes::NONE,
        };
        Some(Lasting { by, until, waits_for })
    }
}

impl<const L: usize> Share<L> {
    pub(super) fn recover(&mut self, lasts: Span, among: Nodes, now: Instant, out: &mut Actions) {
        if self.is_recovering() {
            return out.push(Action::Answer(Answer::RefusedBy(self.me)));
        }
        let ticket = self.ticket();
        let known = among.iter().filter(|node| self.others.has(*node));
        let waits_for = known.collect::<Nodes>().with(self.me);
        let until = now.after(lasts);
        let answer_by = now.after(ANSWER_WITHIN).min(until);
        self.recovery = Recovery::Asking { ticket, waits_for, answer_by, until };
        self.keep(out);
        out.push(Action::Block { ticket });
        out.push(Action::Send { to: To::All, message: Message::Block { lasts } });
    }

    pub(super) fn recovered(&mut self, out: &mut Actions) {
        match self.recovery {
            Recovery::Asking { .. } | Recovery::Ours { .. } => self.let_go(out),
            // Another's recovery is the other's to end.
            Recovery::None | Recovery::Theirs { .. } => {}
        }
    }

    /// What a crash cut short goes on: what was promised still holds, and what was still being
    /// asked is asked again.
    pub(super) fn resume(&mut self, lasting: Lasting, now: Instant, out: &mut Actions) {
        if self.is_recovering() {
            return;
        }
        let Lasting { by, until, waits_for } = lasting;
        let ours = by == self.me;
        if until <= now || !(ours || self.others.has(by)) {
            return self.is_over(out);
        }
        let ticket = self.ticket();
        self.recovery = match (ours, waits_for.is_empty()) {
            (true, true) => Recovery::Ours { ticket: Some(ticket), until },
            (true, false) => {
                let known = waits_for.iter().filter(|node| self.others.has(*node));
                let waits_for = known.collect::<Nodes>().with(self.me);
                let answer_by = now.after(ANSWER_WITHIN).min(until);
                Recovery::Asking { ticket, waits_for, answer_by, until }
            }
            (false, _) => Recovery::Theirs { by, ticket: Some(ticket), until },
        };
        out.push(Action::Block { ticket });
    }

    fn keep(&self, out: &mut Actions) {
        out.push(Action::Keep(self.lasting()));
    }

    /// Connections are taken here again.
    fn is_over(&mut self, out: &mut Actions) {
        self.recovery = Recovery::None;
        self.keep(out);
        out.push(Action::Unblock);
    }

    /// Everybody takes connections again.
    fn let_go(&mut self, out: &mut Actions) {
        self.recovery = Recovery::None;
        self.keep(out);
        out.push(Action::Send { to: To::All, message: Message::End });
        out.push(Action::Unblock);
    }

    pub(super) fn end_if_due(&mut self, now: Instant, out: &mut Actions) {
        if self.recovery.due().is_none_or(|due| due > now) {
            return;
        }
        match self.recovery {
            Recovery::Asking { .. } => {
                out.push(Action::Answer(Answer::TimedOut));
                self.let_go(out);
            }
            Recovery::Ours { .. } => self.let_go(out),
            Recovery::Theirs { .. } => self.is_over(out),
            Recovery::None => {}
        }
    }

    pub(super) fn on_blocked(&mut self, ticket: Ticket, ok: bool, out: &mut Actions) {
        match self.recovery {
            Recovery::Asking { ticket: asked, .. } if asked == ticket => {
                let me = self.me;
                if ok { self.has_blocked(me, out) } else { self.is_refused(me, out) }
            }
            Recovery::Ours { ticket: Some(asked), until } if asked == ticket => {
                self.recovery = Recovery::Ours { ticket: None, until };
                if !ok {
                    out.push(Action::Answer(Answer::RefusedBy(self.me)));
                    self.let_go(out);
                }
            }
            Recovery::Theirs { by, ticket: Some(asked), until } if asked == ticket => {
                let message = if ok { Message::Ready } else { Message::Refused };
                out.push(Action::Send { to: To::One(by), message });
                match ok {
                    true => self.recovery = Recovery::Theirs { by, ticket: None, until },
                    false => self.is_over(out),
                }
            }
            // Late: the world has moved.
            Recovery::None
            | Recovery::Asking { .. }
            | Recovery::Ours { .. }
            | Recovery::Theirs { .. } => {}
        }
    }

    pub(super) fn on_block(&mut self, from: Node, lasts: Span, now: Instant, out: &mut Actions) {
        // Said again: what this node has done already it says again.
        if let Recovery::Theirs { by, ticket, until } = &mut self.recovery {
            if *by == from {
                *until = now.after(lasts);
                if ticket.is_none() {
                    out.push(Action::Send { to: To::One(from), message: Message::Ready });
                }
                return;
            }
        }
        if self.is_recovering() {
            return out.push(Action::Send { to: To::One(from), message: Message::Refused });
        }
        let ticket = self.ticket();
        let until = now.after(lasts);
        self.recovery = Recovery::Theirs { by: from, ticket: Some(ticket), until };
        self.keep(out);
        out.push(Action::Block { ticket });
    }

    /// Who refuses connections for a recovery of ours that there is none of any more has missed its
    /// end, or we have lost it: it hears of it now.
    pub(super) fn on_ready(&mut self, from: Node, out: &mut Actions) {
        match self.recovery {
            Recovery::Asking { .. } => self.has_blocked(from, out),
            Recovery::Ours { .. } => {}
            Recovery::None | Recovery::Theirs { .. } => {
                out.push(Action::Send { to: To::One(from), message: Message::End });
            }
        }
    }

    /// Who began the recovery for which connections are refused here is told so again and again: its
    /// end may have been lost, or come while this node was away.
    pub(super) fn ask_whether_it_lasts(&self, out: &mut Actions) {
        if let Recovery::Theirs { by, ticket: None, .. } = self.recovery {
            out.push(Action::Send { to: To::One(by), message: Message::Ready });
        }
    }

    pub(super) fn on_refused(&mut self, from: Node, out: &mut Actions) {
        self.is_refused(from, out);
    }

    fn has_blocked(&mut self, node: Node, out: &mut Actions) {
        let Recovery::Asking { ticket, waits_for, answer_by, until } = self.recovery else {
            return;
        };
        let waits_for = waits_for.without(node);
        if waits_for.is_empty() {
            self.recovery = Recovery::Ours { ticket: None, until };
            self.keep(out);
            out.push(Action::Answer(Answer::Recovering));
        } else {
            self.recovery = Recovery::Asking { ticket, waits_for, answer_by, until };
        }
    }

    /// Who speaks of what it has may have come back, or lost what it was told: it hears again how
    /// long new connections are to be refused.
    pub(super) fn remind(&self, to: Node, now: Instant, out: &mut Actions) {
        let until = match self.recovery {
            Recovery::Asking { until, .. } | Recovery::Ours { until, .. } => until,
            Recovery::None | Recovery::Theirs { .. } => return,
        };
        let left = u32::try_from(until.since(now)).unwrap_or(u32::MAX);
        if left > 0 {
            let message = Message::Block { lasts: Span::from_millis(left) };
            out.push(Action::Send { to: To::One(to), message });
        }
    }

    /// One that cannot is enough: all are let go.
    fn is_refused(&mut self, by: Node, out: &mut Actions) {
        if matches!(self.recovery, Recovery::Asking { .. }) {
            out.push(Action::Answer(Answer::RefusedBy(by)));
            self.let_go(out);
        }
    }

    pub(super) fn on_end(&mut self, from: Node, out: &mut Actions) {
        if matches!(self.recovery, Recovery::Theirs { by, .. } if by == from) {
            self.is_over(out);
        }
    }
}
