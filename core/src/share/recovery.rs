//! Recovery: for a while no node takes new connections to the service.

use crate::node::{Node, Nodes};
use crate::time::{Instant, Span};

use super::Share;
use super::event::{Action, Actions, Answer, Message, Ticket, To};

/// The one recovery that there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovery {
    None,
    /// Begun here: who has not answered yet, this node among them.
    Asking {
        ticket: Ticket,
        waits_for: Nodes,
        until: Instant,
    },
    /// Begun here, and every node refuses new connections.
    Ours {
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
    pub(super) const fn until(&self) -> Option<Instant> {
        match self {
            Self::None => None,
            Self::Asking { until, .. } | Self::Ours { until } | Self::Theirs { until, .. } => {
                Some(*until)
            }
        }
    }
}

impl<const L: usize> Share<L> {
    pub(super) fn recover(&mut self, lasts: Span, now: Instant, out: &mut Actions) {
        if self.is_recovering() {
            return out.push(Action::Answer(Answer::RefusedBy(self.me)));
        }
        let ticket = self.ticket();
        let waits_for = self.others.with(self.me);
        self.recovery = Recovery::Asking { ticket, waits_for, until: now.after(lasts) };
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

    /// Everybody takes connections again.
    fn let_go(&mut self, out: &mut Actions) {
        self.recovery = Recovery::None;
        out.push(Action::Send { to: To::All, message: Message::End });
        out.push(Action::Unblock);
    }

    pub(super) fn end_if_due(&mut self, now: Instant, out: &mut Actions) {
        if self.recovery.until().is_none_or(|until| until > now) {
            return;
        }
        match self.recovery {
            Recovery::Asking { .. } => {
                out.push(Action::Answer(Answer::TimedOut));
                self.let_go(out);
            }
            Recovery::Ours { .. } => self.let_go(out),
            Recovery::Theirs { .. } => {
                self.recovery = Recovery::None;
                out.push(Action::Unblock);
            }
            Recovery::None => {}
        }
    }

    pub(super) fn on_blocked(&mut self, ticket: Ticket, ok: bool, out: &mut Actions) {
        match self.recovery {
            Recovery::Asking { ticket: asked, .. } if asked == ticket => {
                let me = self.me;
                if ok { self.has_blocked(me, out) } else { self.is_refused(me, out) }
            }
            Recovery::Theirs { by, ticket: Some(asked), until } if asked == ticket => {
                let message = if ok { Message::Ready } else { Message::Refused };
                out.push(Action::Send { to: To::One(by), message });
                self.recovery = match ok {
                    true => Recovery::Theirs { by, ticket: None, until },
                    false => Recovery::None,
                };
                if !ok {
                    out.push(Action::Unblock);
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
        if self.is_recovering() {
            return out.push(Action::Send { to: To::One(from), message: Message::Refused });
        }
        let ticket = self.ticket();
        let until = now.after(lasts);
        self.recovery = Recovery::Theirs { by: from, ticket: Some(ticket), until };
        out.push(Action::Block { ticket });
    }

    pub(super) fn on_ready(&mut self, from: Node, out: &mut Actions) {
        self.has_blocked(from, out);
    }

    pub(super) fn on_refused(&mut self, from: Node, out: &mut Actions) {
        self.is_refused(from, out);
    }

    fn has_blocked(&mut self, node: Node, out: &mut Actions) {
        let Recovery::Asking { ticket, waits_for, until } = self.recovery else { return };
        let waits_for = waits_for.without(node);
        if waits_for.is_empty() {
            self.recovery = Recovery::Ours { until };
            out.push(Action::Answer(Answer::Recovering));
        } else {
            self.recovery = Recovery::Asking { ticket, waits_for, until };
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
            self.recovery = Recovery::None;
            out.push(Action::Unblock);
        }
    }
}
