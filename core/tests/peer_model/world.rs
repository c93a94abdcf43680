//! Nodes, the network between them and the kernels under them, as states of a model.
//!
//! The machines are the real ones, `core::peer` as it ships. What is modelled is around them:
//! time in whole seconds, frames that arrive at once, are lost, are kept back or come twice,
//! daemons that crash or stop running, machines without power, kernels that drop an address when
//! its lifetime is over, and a second late.

use std::collections::VecDeque;

use giveover_core::node::Node;
use giveover_core::peer::{
    Action, Digests, Durable, Event, Look, Members, Message, Peer, Quorum, Rules, Taken, Ticket, To,
};
use giveover_core::time::{Instant, Span};

/// Time moves by this.
pub(crate) const TICK_MS: u64 = 1000;
/// A kernel drops an address as late as this.
const LATE_MS: u64 = 1000;
/// A stopped daemon's socket keeps so many frames.
const INBOX: usize = 4;

/// One node: its daemon if it runs, its disk, its kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Machine<const N: usize> {
    pub(crate) daemon: Option<Box<Peer<N>>>,
    pub(crate) disk: Durable,
    /// Until when the kernel keeps the address; it always has an end.
    pub(crate) address: Option<u64>,
    pub(crate) stopped: bool,
    pub(crate) inbox: VecDeque<(Node, Message)>,
    pub(crate) trusted: bool,
    pub(crate) fencing: Option<(Ticket, Node)>,
}

/// What a snare waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Beat,
    Answer,
    Stand,
    Vote,
    Leave,
}

impl Kind {
    fn of(message: &Message) -> Option<Self> {
        Some(match message {
            Message::Beat(_) => Self::Beat,
            Message::Answer { .. } => Self::Answer,
            Message::Stand { .. } => Self::Stand,
            Message::Vote { .. } => Self::Vote,
            Message::Leave { .. } => Self::Leave,
            Message::Refuse { .. } | Message::Mismatched { .. } => return None,
        })
    }
}

/// A frame on its way, and where.
pub(crate) type Frame = (Node, Node, Message);

/// Everything there is at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World<const N: usize> {
    pub(crate) machines: Vec<Machine<N>>,
    /// One-way cuts, a bit for each ordered pair.
    pub(crate) cuts: u32,
    /// The next frame of a kind on a link is kept; true: and also delivered.
    pub(crate) snare: Option<(Node, Node, Kind, bool)>,
    pub(crate) kept: Option<Frame>,
    pub(crate) left: Faults,
    /// Two kernels had the address at the same instant, however short.
    pub(crate) overlapped: bool,
}

/// How many faults may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Faults {
    pub(crate) crashes: u8,
    pub(crate) power_cuts: u8,
    pub(crate) cuts: u8,
    pub(crate) pauses: u8,
    pub(crate) kept: u8,
    pub(crate) trusted: u8,
    /// Orderly stops and giveovers.
    pub(crate) stops: u8,
}

/// Now, always: states must not grow with time.
pub(crate) fn now(rules: &Rules) -> Instant {
    Instant::from_millis(rules.horizon_ms())
}

pub(crate) const fn link(from: Node, to: Node) -> u32 {
    1 << (from.0 * 4 + to.0)
}

impl<const N: usize> World<N> {
    /// Every machine has power, and no daemon runs.
    pub(crate) fn new(left: Faults) -> Self {
        let machine = Machine {
            daemon: None,
            disk: Durable::default(),
            address: None,
            stopped: false,
            inbox: VecDeque::new(),
            trusted: true,
            fencing: None,
        };
        Self {
            machines: vec![machine; N],
            cuts: 0,
            snare: None,
            kept: None,
            left,
            overlapped: false,
        }
    }

    pub(crate) fn machine(&self, node: Node) -> &Machine<N> {
        &self.machines[usize::from(node.0)]
    }

    pub(crate) fn machine_mut(&mut self, node: Node) -> &mut Machine<N> {
        &mut self.machines[usize::from(node.0)]
    }

    pub(crate) fn nodes() -> impl Iterator<Item = Node> {
        (0..N as u8).map(Node)
    }

    fn holders(&self) -> usize {
        self.machines.iter().filter(|machine| machine.address.is_some()).count()
    }

    /// All daemons started at once and left alone for so many seconds.
    pub(crate) fn settled(left: Faults, rules: &Rules, seconds: u32) -> Self {
        let mut world = Self::new(left);
        let order: Vec<u8> = (0..N as u8).collect();
        Self::nodes().for_each(|node| world.start(node, rules));
        world.settle(&order, now(rules));
        for _ in 0..seconds {
            world.tick(rules);
            world.settle(&order, now(rules));
        }
        world
    }

    fn is_due(&self, node: Node, now: Instant) -> bool {
        let machine = self.machine(node);
        let running = machine.daemon.as_ref().filter(|_| !machine.stopped);
        running.and_then(|daemon| daemon.poll_timeout()).is_some_and(|due| due <= now)
    }

    /// What is due is done, node by node in this order, until nothing is.
    pub(crate) fn settle(&mut self, order: &[u8], now: Instant) {
        while let Some(node) = order.iter().map(|node| Node(*node)).find(|n| self.is_due(*n, now)) {
            self.feed(node, Event::Timeout, now);
        }
    }

    /// A stopped daemon runs again, and does first what is due, or reads first what waited.
    pub(crate) fn resume(&mut self, node: Node, reads_first: bool, now: Instant) {
        let machine = self.machine_mut(node);
        machine.stopped = false;
        let frames = std::mem::take(&mut machine.inbox);
        if !reads_first {
            self.settle(&[node.0], now);
        }
        for (from, message) in frames {
            self.feed(node, Event::Frame { from, message }, now);
        }
        self.settle(&[node.0], now);
    }

    pub(crate) fn start(&mut self, node: Node, rules: &Rules) {
        let now = now(rules);
        let members = Members { me: node, ..*rules.members() };
        let rules = with_members(rules, members);
        let machine = self.machine_mut(node);
        let peer = Peer::new(rules, Digests::default(), machine.disk, now);
        machine.daemon = Some(Box::new(peer));
        self.feed(node, Event::Begin, now);
    }

    /// The daemon ends without a word; its kernel goes on.
    pub(crate) fn crash(&mut self, node: Node) {
        let machine = self.machine_mut(node);
        machine.daemon = None;
        machine.stopped = false;
        machine.inbox.clear();
        machine.fencing = None;
    }

    pub(crate) fn power_off(&mut self, node: Node) {
        self.crash(node);
        self.machine_mut(node).address = None;
    }

    /// Feeds an event, and carries out what it and everything after it leads to.
    pub(crate) fn feed(&mut self, node: Node, event: Event, now: Instant) {
        let mut todo = VecDeque::from([(node, event)]);
        while let Some((node, event)) = todo.pop_front() {
            let Some(daemon) = self.machine_mut(node).daemon.as_mut() else { continue };
            let actions = daemon.handle(event, now);
            let mut own = Vec::new();
            for action in &actions {
                self.carry_out(node, *action, &mut own, &mut todo);
            }
            // Its own kernel answers before the network does.
            for event in own.into_iter().rev() {
                todo.push_front((node, event));
            }
        }
    }

    fn carry_out(
        &mut self,
        node: Node,
        action: Action,
        own: &mut Vec<Event>,
        todo: &mut VecDeque<(Node, Event)>,
    ) {
        match action {
            Action::Store(durable) => self.machine_mut(node).disk = durable,
            Action::Send { to, message } => match to {
                To::One(to) => self.send((node, to, message), todo),
                To::All => Self::nodes()
                    .filter(|to| *to != node)
                    .for_each(|to| self.send((node, to, message), todo)),
            },
            Action::Take { ticket, until } => {
                self.machine_mut(node).address = Some(until.as_millis());
                self.overlapped |= self.holders() > 1;
                own.push(Event::Taken { ticket, taken: Taken::Up });
            }
            Action::Renew { until } => {
                let address = &mut self.machine_mut(node).address;
                *address = address.map(|end| end.max(until.as_millis()));
            }
            Action::Release { ticket, .. } => {
                self.machine_mut(node).address = None;
                own.push(Event::Released { ticket, ok: true });
            }
            Action::Look { ticket } => {
                let trusted = Some(self.machine(node).trusted);
                let look = Look { own: Some(true), trusted, ..Look::default() };
                own.push(Event::Looked { ticket, look });
            }
            Action::Fence { ticket, node: target } => {
                self.machine_mut(node).fencing = Some((ticket, target));
            }
            Action::Gone | Action::Quit { .. } => self.crash(node),
            _ => {} // Role, Announce, Note: nothing that another node sees
        }
    }

    fn send(&mut self, (from, to, message): Frame, todo: &mut VecDeque<(Node, Event)>) {
        if self.cuts & link(from, to) != 0 {
            return;
        }
        let caught = |snare: &(Node, Node, Kind, bool)| {
            (snare.0, snare.1) == (from, to) && Kind::of(&message) == Some(snare.2)
        };
        if let Some((_, _, _, twice)) = self.snare.filter(caught) {
            self.snare = None;
            self.kept = Some((from, to, message));
            if !twice {
                return;
            }
        }
        let machine = self.machine_mut(to);
        if machine.daemon.is_none() {
            return;
        }
        if machine.stopped {
            if machine.inbox.len() < INBOX {
                machine.inbox.push_back((from, message));
            }
            return;
        }
        todo.push_back((to, Event::Frame { from, message }));
    }

    /// A second passes: lifetimes end, and everything moves so that it is now again.
    pub(crate) fn tick(&mut self, rules: &Rules) {
        let later = now(rules).after(Span::from_millis(TICK_MS as u32));
        for machine in &mut self.machines {
            machine.daemon = machine.daemon.take().map(|daemon| Box::new(daemon.rebase(later)));
            machine.address = machine
                .address
                .filter(|end| end + LATE_MS > later.as_millis())
                .map(|end| end.saturating_sub(TICK_MS));
            for (_, message) in &mut machine.inbox {
                *message = message.rebased(TICK_MS);
            }
        }
        self.kept = self.kept.map(|(from, to, message)| (from, to, message.rebased(TICK_MS)));
    }
}

pub(crate) fn with_members(rules: &Rules, members: Members) -> Rules {
    Rules::defective(*rules.limits(), members, rules.defect())
}

/// Limits as short as the rules allow, in whole seconds.
pub(crate) fn limits() -> giveover_core::peer::Limits {
    let s = Span::from_secs;
    giveover_core::peer::Limits {
        interval: s(1),
        life: 1,
        heartbeat: s(1),
        lease: s(3),
        jitter: s(1),
        rate: 0,
        wait: s(5),
        stand_step: s(1),
    }
}

/// `count` members that decide by `quorum`, the last ones of which only vote.
pub(crate) fn members(count: u8, witnesses: u8, quorum: Quorum, trusted: bool) -> Members {
    Members {
        me: Node(0),
        count,
        witnesses: (count - witnesses..count).map(Node).collect(),
        priority: 0,
        quorum,
        accept_two_holders: matches!(quorum, Quorum::Trusted),
        trusted,
        observe: false,
    }
}
