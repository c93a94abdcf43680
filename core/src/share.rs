//! What the nodes of a group share: commands about pool members, and recovery (P13).
//!
//! A command (attach, detach, promote) is numbered by the active, applied once on every node, and
//! sent again to one that missed it. One entrance, [`Share::handle`]; who is active comes from
//! outside, as [`Event::Active`].
//!
//! Numbers are (term, n). A node tells the number of its newest command now and then; whoever
//! has newer ones sends what is missing, in order. Where the other has one that this node has
//! never seen, two actives numbered apart: the higher term's state is taken whole.

mod event;
mod recovery;

use crate::node::{Node, Nodes};
use crate::time::{Instant, Span};

pub use event::{
    Action, Actions, Answer, Command, Event, Kind, Lasting, Message, Number, Pool, Ticket, To,
};

use recovery::Recovery;

/// What a node has is told to the others this often.
const TELL_EVERY: Span = Span::from_secs(5);

/// What must outlive a crash: the newest command, and what all of them came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Durable {
    /// The newest command applied.
    pub number: Number,
    /// What the pool is.
    pub pool: Pool,
}

/// One node's part, remembering the last `L` commands for those that come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share<const L: usize> {
    me: Node,
    others: Nodes,
    durable: Durable,
    /// The newest commands, oldest first, each with the number of the one before it.
    log: heapless::Deque<(Number, Command), L>,
    active: Option<(Node, u64)>,
    latest: Instant,
    tell_at: Instant,
    recovery: Recovery,
    next_ticket: u32,
}

impl<const L: usize> Share<L> {
    /// A node that knows nobody active; `durable` is what an earlier life stored last.
    #[must_use]
    pub const fn new(me: Node, others: Nodes, durable: Durable, now: Instant) -> Self {
        Self {
            me,
            others,
            durable,
            log: heapless::Deque::new(),
            active: None,
            latest: now,
            tell_at: now,
            recovery: Recovery::None,
            next_ticket: 0,
        }
    }

    /// Takes in what happened at `now` and says what to do about it. Time that goes back is taken
    /// as the latest time seen.
    pub fn handle(&mut self, event: Event, now: Instant) -> Actions {
        self.latest = self.latest.max(now);
        let now = self.latest;
        let mut out = Actions::new();
        match event {
            Event::Timeout => self.on_timeout(now, &mut out),
            Event::Active { node, term } => self.active = node.map(|node| (node, term)),
            Event::Asked { kind, members } => self.on_asked(kind, members, &mut out),
            Event::Frame { from, message } => self.on_frame(from, message, now, &mut out),
            Event::Recover { lasts, among } => self.recover(lasts, among, now, &mut out),
            Event::Recovered => self.recovered(&mut out),
            Event::Resumed(lasting) => self.resume(lasting, now, &mut out),
            Event::Blocked { ticket, ok } => self.on_blocked(ticket, ok, &mut out),
        }
        out
    }

    /// When [`Event::Timeout`] is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let end = self.recovery.due().unwrap_or(self.tell_at);
        Some(self.tell_at.min(end).max(self.latest))
    }

    /// What the pool is.
    #[must_use]
    pub const fn pool(&self) -> &Pool {
        &self.durable.pool
    }

    /// The newest command applied.
    #[must_use]
    pub const fn number(&self) -> Number {
        self.durable.number
    }

    /// Whether new connections are refused for a recovery.
    #[must_use]
    pub const fn is_recovering(&self) -> bool {
        !matches!(self.recovery, Recovery::None)
    }

    /// When the recovery ends by itself, and who began it; `None` where there is none.
    #[must_use]
    pub const fn recovery(&self) -> Option<(Node, Instant)> {
        self.recovery.of(self.me)
    }

    /// The same as it must outlive a crash.
    #[must_use]
    pub const fn lasting(&self) -> Option<Lasting> {
        self.recovery.lasting(self.me)
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Actions) {
        self.end_if_due(now, out);
        if self.tell_at <= now {
            self.tell_at = now.after(TELL_EVERY);
            let number = self.durable.number;
            out.push(Action::Send { to: To::All, message: Message::Have { number } });
            self.ask_whether_it_lasts(out);
        }
    }

    /// Somebody here wants it: the active numbers it, another passes it on.
    fn on_asked(&mut self, kind: Kind, members: Nodes, out: &mut Actions) {
        match self.active {
            Some((node, term)) if node == self.me => {
                let numbered = self.number_it(kind, members, term, out);
                let answer = if numbered { Answer::Done } else { Answer::NobodyActive };
                out.push(Action::Answer(answer));
            }
            Some((node, _)) => {
                let message = Message::Ask { kind, members };
                out.push(Action::Send { to: To::One(node), message });
                out.push(Action::Answer(Answer::PassedOn(node)));
            }
            None => out.push(Action::Answer(Answer::NobodyActive)),
        }
    }

    /// False in a term that is over: whoever is active now has told higher numbers.
    fn number_it(&mut self, kind: Kind, members: Nodes, term: u64, out: &mut Actions) -> bool {
        let before = self.durable.number;
        let n = if before.term == term { before.n.saturating_add(1) } else { 1 };
        let number = Number { term, n };
        if number <= before {
            return false;
        }
        let command = Command { number, kind, members };
        self.apply(before, command, out);
        out.push(Action::Send {
            to: To::All,
            message: Message::Command { after: before, command },
        });
        true
    }

    /// Applies it once: the record first, so that a crash between does not repeat it.
    fn apply(&mut self, after: Number, command: Command, out: &mut Actions) {
        self.durable.number = command.number;
        self.durable.pool.take(&command);
        if self.log.is_full() {
            self.log.pop_front();
        }
        let _ = self.log.push_back((after, command)); // there is room
        out.push(Action::Store(self.durable));
        out.push(Action::Apply(command));
    }

    fn on_frame(&mut self, from: Node, message: Message, now: Instant, out: &mut Actions) {
        if !self.others.has(from) {
            return; // no member of ours
        }
        match message {
            Message::Ask { kind, members } => {
                if let Some((_, term)) = self.active.filter(|(node, _)| *node == self.me) {
                    self.number_it(kind, members, term, out);
                }
            }
            Message::Have { number } => {
                self.remind(from, now, out);
                self.on_have(from, number, out);
            }
            Message::Command { after, command } => self.on_command(from, after, command, out),
            Message::State { number, pool } => self.on_state(number, pool, out),
            Message::Block { lasts } => self.on_block(from, lasts, now, out),
            Message::Ready => self.on_ready(from, out),
            Message::Refused => self.on_refused(from, out),
            Message::End => self.on_end(from, out),
        }
    }

    /// The other has this: what it misses is sent in order, or everything at once.
    fn on_have(&mut self, from: Node, number: Number, out: &mut Actions) {
        if number >= self.durable.number {
            return; // it says what we have told it, or more than that
        }
        let to = To::One(from);
        if let Some((after, command)) = self.log.iter().find(|(after, _)| *after == number) {
            // One at a time: it says again what it has.
            let message = Message::Command { after: *after, command: *command };
            return out.push(Action::Send { to, message });
        }
        let (number, pool) = (self.durable.number, self.durable.pool);
        out.push(Action::Send { to, message: Message::State { number, pool } });
    }

    fn on_command(&mut self, from: Node, after: Number, command: Command, out: &mut Actions) {
        if command.number > self.durable.number && after == self.durable.number {
            self.apply(after, command, out);
        }
        // Whether it was the next or another: who sent it learns what is here.
        let number = self.durable.number;
        out.push(Action::Send { to: To::One(from), message: Message::Have { number } });
    }

    /// Taken whole where it is newer; who is the primary is never unlearnt.
    fn on_state(&mut self, number: Number, pool: Pool, out: &mut Actions) {
        if number <= self.durable.number {
            return;
        }
        let primary = pool.primary.or(self.durable.pool.primary);
        self.durable = Durable { number, pool: Pool { primary, ..pool } };
        self.log.clear();
        out.push(Action::Store(self.durable));
        out.push(Action::Adopt(self.durable.pool));
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket = self.next_ticket.wrapping_add(1);
        Ticket(self.next_ticket)
    }
}
