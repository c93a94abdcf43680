//! Nodes with a network and kernels between and under them, in milliseconds, for scripts and
//! walks of `core::peer`.

use giveover_core::node::Node;
use giveover_core::peer::{
    Action, Digests, Durable, Event, How, Limits, Look, Members, Message, Note, Peer, Quorum, Role,
    Rules, Taken, Ticket, To,
};
use giveover_core::time::{Instant, Span};

use crate::random::Random;
use crate::script::ms;

pub(crate) const A: Node = Node(0);
pub(crate) const B: Node = Node(1);
pub(crate) const C: Node = Node(2);

/// Worlds begin then: late enough that time can go back.
pub(crate) const BEGIN: u64 = 1_000_000;

/// A machine with room for as many members as any script has.
pub(crate) type Any = Peer<5>;

/// Rules for one of `count` nodes; the last `witnesses` only vote.
pub(crate) fn members(count: u8, witnesses: u8, quorum: Quorum) -> Members {
    Members {
        me: A,
        count,
        witnesses: (count - witnesses..count).map(Node).collect(),
        priority: 0,
        quorum,
        accept_two_holders: matches!(quorum, Quorum::Trusted),
        trusted: false,
        observe: false,
    }
}

/// One machine, and what its surroundings answer.
pub(crate) struct Site {
    pub(crate) peer: Option<Any>,
    pub(crate) members: Members,
    pub(crate) digests: Digests,
    pub(crate) disk: Durable,
    pub(crate) disk_fails: bool,
    /// Until when the kernel has the address.
    pub(crate) address: Option<u64>,
    pub(crate) stopped: bool,
    inbox: Vec<(Node, Message)>,
    /// What its looks find.
    pub(crate) look: Look,
    pub(crate) take: Taken,
    pub(crate) release: bool,
    pub(crate) fence: Option<bool>,
    open_fence: Option<Ticket>,
    pub(crate) quit: bool,
    /// Roles it had, in order.
    pub(crate) roles: Vec<Role>,
    pub(crate) notes: Vec<Note>,
    /// What it did, in words, in order.
    pub(crate) did: Vec<&'static str>,
    pub(crate) takes: u32,
}

pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) sites: Vec<Site>,
    pub(crate) limits: Limits,
    /// Services are held with the address.
    pub(crate) services: bool,
    /// Frames under way: when, from, to.
    frames: Vec<(u64, Node, Node, Message)>,
    pub(crate) cut: Vec<(Node, Node)>,
    pub(crate) latency: u64,
    /// A link on which frames take longer by this.
    pub(crate) slow: Option<(Node, Node, u64)>,
    /// Frames that get lost, or come late and twice, in a hundred.
    pub(crate) loss: u64,
    pub(crate) random: Random,
    /// How long two kernels had the address at once, in milliseconds.
    pub(crate) overlap: u64,
}

impl World {
    pub(crate) fn new(members: Members) -> Self {
        let site = |node| Site {
            peer: None,
            members: Members { me: Node(node), ..members },
            digests: Digests::default(),
            disk: Durable::default(),
            disk_fails: false,
            address: None,
            stopped: false,
            inbox: Vec::new(),
            look: Look { own: Some(true), trusted: Some(true), ..Look::default() },
            take: Taken::Up,
            release: true,
            fence: Some(true),
            open_fence: None,
            quit: false,
            roles: Vec::new(),
            notes: Vec::new(),
            did: Vec::new(),
            takes: 0,
        };
        Self {
            now: BEGIN,
            sites: (0..members.count).map(site).collect(),
            services: false,
            limits: Limits::DEFAULT,
            frames: Vec::new(),
            cut: Vec::new(),
            latency: 1,
            slow: None,
            loss: 0,
            random: Random::new(1),
            overlap: 0,
        }
    }

    /// A world in which every node was started now.
    pub(crate) fn started(members: Members) -> Self {
        let mut world = Self::new(members);
        (0..members.count).for_each(|node| world.start(Node(node)));
        world
    }

    pub(crate) fn site(&mut self, node: Node) -> &mut Site {
        &mut self.sites[usize::from(node.0)]
    }

    pub(crate) fn peer(&self, node: Node) -> &Any {
        self.sites[usize::from(node.0)].peer.as_ref().expect("it runs")
    }

    pub(crate) fn role(&self, node: Node) -> Role {
        self.peer(node).role()
    }

    /// Every machine as it stands, for a test that fails.
    pub(crate) fn told(&self) -> String {
        let site = |site: &Site| format!("{:?} {:?} {:?}\n", site.did, site.peer, site.notes);
        self.sites.iter().map(site).collect()
    }

    /// Who holds the address.
    pub(crate) fn holders(&self) -> Vec<Node> {
        let has = |site: &Site| site.address.is_some_and(|until| until > self.now);
        self.sites.iter().filter(|site| has(site)).map(|site| site.members.me).collect()
    }

    pub(crate) fn start(&mut self, node: Node) {
        let (now, limits, services) = (ms(self.now), self.limits, self.services);
        let site = self.site(node);
        let rules = Rules::new(limits, site.members, 5).expect("rules that work");
        let rules = if services { rules.with_services() } else { rules };
        site.peer = Some(Peer::new(rules, site.digests, site.disk, now));
        site.quit = false;
        self.tell(node, Event::Begin);
    }

    /// The daemon ends without a word.
    pub(crate) fn crash(&mut self, node: Node) {
        let site = self.site(node);
        site.peer = None;
        site.stopped = false;
        site.open_fence = None;
        site.inbox.clear();
    }

    pub(crate) fn power_off(&mut self, node: Node) {
        self.crash(node);
        self.site(node).address = None;
    }

    pub(crate) fn cut_both(&mut self, one: Node, other: Node) {
        self.cut.extend([(one, other), (other, one)]);
    }

    pub(crate) fn resume(&mut self, node: Node) {
        self.site(node).stopped = false;
        for (from, message) in std::mem::take(&mut self.site(node).inbox) {
            self.tell(node, Event::Frame { from, message });
        }
    }

    pub(crate) fn tell(&mut self, node: Node, event: Event) {
        let now = self.now;
        let mut events = vec![event];
        while !events.is_empty() {
            let event = events.remove(0);
            let Some(peer) = self.site(node).peer.as_mut() else { return };
            let actions = peer.handle(event, ms(now));
            for action in &actions {
                if matches!(action, Action::Store(_)) && self.site(node).disk_fails {
                    events.push(Event::StoreFailed);
                    break;
                }
                self.carry_out(node, *action, &mut events);
            }
        }
    }

    fn carry_out(&mut self, node: Node, action: Action, events: &mut Vec<Event>) {
        let site = self.site(node);
        match action {
            Action::Store(durable) => site.disk = durable,
            Action::Role { role, .. } => site.roles.push(role),
            Action::Note(note) => site.notes.push(note),
            Action::Announce => site.did.push("announce"),
            Action::Quit { .. } | Action::Gone => {
                site.quit = true;
                site.did.push("end");
            }
            Action::Take { ticket, until } => {
                site.takes += 1;
                site.did.push("take");
                if site.take == Taken::Up {
                    site.address = Some(until.as_millis());
                }
                events.push(Event::Taken { ticket, taken: site.take });
            }
            Action::Renew { until } => {
                site.address = site.address.map(|end| end.max(until.as_millis()));
            }
            Action::Release { ticket, how } => {
                if how != How::Leftover {
                    site.did.push("release");
                }
                if site.release {
                    site.address = None;
                }
                events.push(Event::Released { ticket, ok: site.release });
            }
            Action::Look { ticket } => events.push(Event::Looked { ticket, look: site.look }),
            Action::Fence { ticket, node: target } => {
                site.did.push("fence");
                match site.fence {
                    None => site.open_fence = Some(ticket),
                    Some(ok) => {
                        events.push(Event::Fenced { ticket, ok });
                        if ok {
                            self.power_off(target);
                        }
                    }
                }
            }
            Action::Send { to: To::One(to), message } => self.send(node, to, message),
            Action::Send { to: To::All, message } => {
                if matches!(message, Message::Leave { .. }) {
                    site.did.push("leave");
                }
                let others = (0..self.sites.len() as u8).map(Node).filter(|to| *to != node);
                others.for_each(|to| self.send(node, to, message));
            }
            _ => {}
        }
    }

    fn send(&mut self, from: Node, to: Node, message: Message) {
        if self.cut.contains(&(from, to)) {
            return;
        }
        let slow = self.slow.filter(|slow| (slow.0, slow.1) == (from, to));
        let at = self.now + self.latency + slow.map_or(0, |slow| slow.2);
        if self.random.percent(self.loss) {
            if self.random.percent(50) {
                let late = at + self.random.below(15_000);
                self.frames.push((late, from, to, message));
            }
            return;
        }
        self.frames.push((at, from, to, message));
    }

    /// Everything that happens until `after` milliseconds from now.
    pub(crate) fn run(&mut self, after: u64) {
        let end = self.now + after;
        loop {
            let frame = self.frames.iter().map(|frame| frame.0).min();
            let timer = self.timers().map(|(at, _)| at).min();
            let next = [frame, timer].into_iter().flatten().min().filter(|at| *at <= end);
            self.pass(next.unwrap_or(end).max(self.now));
            let Some(next) = next else { return };
            if frame == Some(next) {
                let place = self.frames.iter().position(|frame| frame.0 == next).expect("it");
                let (_, from, to, message) = self.frames.remove(place);
                let site = self.site(to);
                if site.stopped {
                    site.inbox.push((from, message));
                } else {
                    self.tell(to, Event::Frame { from, message });
                }
            } else {
                let node = self.timers().find(|(at, _)| *at <= next).expect("one is due").1;
                self.tell(node, Event::Timeout);
            }
        }
    }

    fn timers(&self) -> impl Iterator<Item = (u64, Node)> + '_ {
        let running = self.sites.iter().filter(|site| !site.stopped && !site.quit);
        running.filter_map(|site| {
            let due = site.peer.as_ref()?.poll_timeout()?;
            Some((due.as_millis(), site.members.me))
        })
    }

    /// Time passes: whether two held meanwhile is counted, and kernels drop what has lapsed.
    fn pass(&mut self, to: u64) {
        let mut ends: Vec<u64> = self.sites.iter().filter_map(|site| site.address).collect();
        ends.sort_unstable();
        ends.reverse();
        if let Some(second) = ends.get(1) {
            self.overlap += second.min(&to).saturating_sub(self.now);
        }
        self.now = to;
        for site in &mut self.sites {
            site.address = site.address.filter(|end| *end > to);
        }
    }
}

/// So many milliseconds as a span.
pub(crate) const fn span(ms: u32) -> Span {
    Span::from_millis(ms)
}

/// An instant so many milliseconds after the beginning.
pub(crate) fn at(after: u64) -> Instant {
    ms(BEGIN + after)
}
