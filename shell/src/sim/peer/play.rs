//! One timeline of several nodes, played.

use std::collections::VecDeque;

use giveover_core::node::{Node, Nodes};
use giveover_core::peer::{
    Action, Digests, Durable, Event, How, Look, Members, Message, Peer, Role, Rules, Taken, To,
};
use giveover_core::time::{Instant, Span};

use super::{Played, Told};
use crate::config::scenario::peer::{Expect, Input, MOST_NODES, Step, Timeline};

/// A timeline's clocks begin so late that nothing lies before their epoch.
const BEGIN: Span = Span::from_secs(86_400);
/// A frame takes this long.
const LATENCY: Span = Span::from_millis(1);
/// More is not told between two steps.
const MOST_DONE: usize = 1_000;

/// A machine: its daemon if it runs, its disk, its kernel, and what its surroundings answer.
struct Site {
    peer: Option<Peer<MOST_NODES>>,
    disk: Durable,
    digests: Digests,
    address: Option<Instant>,
    paused: bool,
    waiting: Vec<(Node, Message)>,
    look: Look,
    take: Taken,
    fence: bool,
}

struct Player<'t> {
    timeline: &'t Timeline,
    now: Instant,
    sites: Vec<Site>,
    frames: VecDeque<(Instant, Node, Node, Message)>,
    cut: Vec<(Node, Node)>,
    done: Vec<(Instant, String)>,
    overlap: bool,
}

/// Plays a timeline from its beginning.
#[must_use]
pub fn play(timeline: &Timeline) -> Played {
    let site = || Site {
        peer: None,
        disk: Durable::default(),
        digests: Digests::default(),
        address: None,
        paused: false,
        waiting: Vec::new(),
        look: Look { own: Some(true), trusted: Some(true), ..Look::default() },
        take: Taken::Up,
        fence: true,
    };
    let mut player = Player {
        timeline,
        now: Instant::default().after(BEGIN),
        sites: timeline.nodes.iter().map(|_| site()).collect(),
        frames: VecDeque::new(),
        cut: Vec::new(),
        done: Vec::new(),
        overlap: false,
    };
    let steps = timeline.steps.iter().map(|step| player.step(step)).collect();
    Played { name: timeline.name.clone(), steps }
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> Told {
        self.run(Instant::from_millis(step.at.as_millis()).after(BEGIN));
        self.input(step.input);
        self.settle();
        let roles = self.names().zip(&self.sites).map(|(name, site)| {
            let role = site.peer.as_ref().map(Peer::role);
            (name.to_owned(), role.map_or("off", word))
        });
        let mut told = Told {
            at: step.at,
            line: step.line,
            input: step.written.clone(),
            roles: roles.collect(),
            holders: self.holders().iter().map(|node| self.name(node).to_owned()).collect(),
            done: std::mem::take(&mut self.done),
            overlap: self.overlap,
            expected: !step.expect.is_empty(),
            differences: Vec::new(),
        };
        told.differences = self.compare(&told, &step.expect);
        told
    }

    fn compare(&self, told: &Told, expect: &Expect) -> Vec<(&'static str, String, String)> {
        let mut found = Vec::new();
        for (node, role) in &expect.roles {
            let expected = role.map_or("off", word);
            let came = told.roles.get(usize::from(node.0)).map_or("?", |(_, role)| role);
            if came != expected {
                let name = self.name(*node);
                found.push(("roles", format!("{name} {expected}"), format!("{name} {came}")));
            }
        }
        if let Some(expected) = expect.holders.filter(|expected| *expected != self.holders()) {
            let names: Vec<&str> = expected.iter().map(|node| self.name(node)).collect();
            found.push(("holders", names.join(", "), told.holders.join(", ")));
        }
        let did: Vec<&str> = told.done.iter().map(|(_, did)| did.as_str()).collect();
        if let Some(expected) = expect.did.as_ref().filter(|expected| **expected != did) {
            found.push(("did", expected.join(", "), did.join(", ")));
        }
        if let Some(expected) = expect.overlap.filter(|expected| *expected != self.overlap) {
            found.push(("overlap", expected.to_string(), self.overlap.to_string()));
        }
        found
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.timeline.nodes.iter().map(String::as_str)
    }

    fn name(&self, node: Node) -> &str {
        self.timeline.nodes.get(usize::from(node.0)).map_or("?", String::as_str)
    }

    fn numbers(&self) -> impl Iterator<Item = Node> + use<> {
        Nodes::first(self.timeline.members.count).iter()
    }

    fn holders(&self) -> Nodes {
        let holds = |(node, site): &(Node, &Site)| {
            let _ = node;
            site.address.is_some_and(|until| until > self.now)
        };
        self.numbers().zip(&self.sites).filter(holds).map(|(node, _)| node).collect()
    }

    fn site(&mut self, node: Node) -> Option<&mut Site> {
        self.sites.get_mut(usize::from(node.0))
    }

    fn did(&mut self, node: Node, what: &str) {
        if self.done.len() < MOST_DONE {
            let at = Instant::from_millis(self.now.since(Instant::default().after(BEGIN)));
            self.done.push((at, format!("{} {what}", self.name(node))));
        }
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Tick => {}
            Input::Start(node) => self.start(node),
            Input::Stop(node) => self.tell(node, Event::Stop),
            Input::Crash(node) => self.crash(node),
            Input::PowerOff(node) => self.power_off(node),
            Input::Paused(node, paused) => self.pause(node, paused),
            Input::Cut(from, to) => self.cut.push((from, to)),
            Input::CutBoth(one, other) => self.cut.extend([(one, other), (other, one)]),
            Input::Heal => self.cut.clear(),
            Input::Serves(node, yes) => self.set(node, |site| site.look.own = Some(yes)),
            Input::Reaches(node, yes) => self.set(node, |site| site.look.trusted = Some(yes)),
            Input::Fences(node, yes) => self.set(node, |site| site.fence = yes),
            Input::Differs(node) => self.set(node, |site| site.digests.addresses = 1),
            Input::Takes(node, yes) => {
                let take = if yes { Taken::Up } else { Taken::Duplicate };
                self.set(node, |site| site.take = take);
            }
            Input::AddressLost(node) => {
                self.set(node, |site| site.address = None);
                self.tell(node, Event::AddressLost);
            }
            Input::GiveOver(to) => {
                let active =
                    |site: &Site| site.peer.as_ref().is_some_and(|p| p.role() == Role::Active);
                let actives: Vec<Node> = self
                    .numbers()
                    .zip(&self.sites)
                    .filter(|(_, site)| active(site))
                    .map(|(node, _)| node)
                    .collect();
                actives
                    .into_iter()
                    .for_each(|node| self.tell(node, Event::GiveOver { to: Some(to) }));
            }
            Input::Force(node) => self.tell(node, Event::Force),
        }
    }

    fn set(&mut self, node: Node, change: impl FnOnce(&mut Site)) {
        if let Some(site) = self.site(node) {
            change(site);
        }
    }

    fn start(&mut self, node: Node) {
        let members = Members { me: node, ..self.timeline.members };
        let (limits, now) = (self.timeline.limits, self.now);
        let Ok(rules) = Rules::new(limits, members, MOST_NODES) else { return };
        if let Some(site) = self.site(node) {
            site.peer = Some(Peer::new(rules, site.digests, site.disk, now));
        }
        self.tell(node, Event::Begin);
    }

    fn crash(&mut self, node: Node) {
        self.set(node, |site| {
            site.peer = None;
            site.paused = false;
            site.waiting.clear();
        });
    }

    fn power_off(&mut self, node: Node) {
        self.crash(node);
        self.set(node, |site| site.address = None);
    }

    fn pause(&mut self, node: Node, paused: bool) {
        let Some(site) = self.site(node) else { return };
        site.paused = paused;
        if paused {
            return;
        }
        for (from, message) in std::mem::take(&mut site.waiting) {
            self.tell(node, Event::Frame { from, message });
        }
    }

    /// Feeds `event`, and answers what it asks for at the same time.
    fn tell(&mut self, node: Node, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let now = self.now;
            let Some(peer) = self.site(node).and_then(|site| site.peer.as_mut()) else { return };
            let actions = peer.handle(event, now);
            for action in &actions {
                self.carry_out(node, *action, &mut events);
            }
        }
    }

    fn carry_out(&mut self, node: Node, action: Action, events: &mut VecDeque<Event>) {
        match action {
            Action::Store(durable) => self.set(node, |site| site.disk = durable),
            Action::Send { to, message } => self.send(node, to, message),
            Action::Take { ticket, until } => {
                self.did(node, "take");
                let Some(site) = self.site(node) else { return };
                let taken = site.take;
                if taken == Taken::Up {
                    site.address = Some(until);
                }
                self.overlap |= self.holders().count() > 1;
                events.push_back(Event::Taken { ticket, taken });
            }
            Action::Renew { until } => self.set(node, |site| {
                site.address = site.address.map(|end| end.max(until));
            }),
            Action::Release { ticket, how } => {
                if how != How::Leftover {
                    self.did(node, "release");
                }
                self.set(node, |site| site.address = None);
                events.push_back(Event::Released { ticket, ok: true });
            }
            Action::Look { ticket } => {
                let look = self.site(node).map_or_else(Look::default, |site| site.look);
                events.push_back(Event::Looked { ticket, look });
            }
            Action::Fence { ticket, node: target } => {
                self.did(node, "fence");
                let ok = self.site(node).is_some_and(|site| site.fence);
                if ok {
                    self.power_off(target);
                }
                events.push_back(Event::Fenced { ticket, ok });
            }
            Action::Announce => self.did(node, "announce"),
            Action::Quit { .. } => {
                self.did(node, "refused");
                self.crash(node);
            }
            Action::Gone => self.crash(node),
            _ => {} // roles are told after each step, notes are for people who watch one node
        }
    }

    fn send(&mut self, from: Node, to: To, message: Message) {
        if matches!(message, Message::Leave { .. }) {
            self.did(from, "leave");
        }
        let at = self.now.after(LATENCY);
        for node in self.numbers().filter(|node| *node != from) {
            let meant = match to {
                To::All => true,
                To::One(one) => one == node,
            };
            if meant && !self.cut.contains(&(from, node)) {
                self.frames.push_back((at, from, node, message));
            }
        }
    }

    /// Everything that happens until `end`.
    fn run(&mut self, end: Instant) {
        while let Some(next) = self.next().filter(|next| *next <= end) {
            self.pass(next.max(self.now));
            self.once();
        }
        self.pass(end);
    }

    /// Everything that is due now.
    fn settle(&mut self) {
        while self.next().is_some_and(|next| next <= self.now) {
            self.once();
        }
    }

    fn once(&mut self) {
        if let Some((at, from, to, message)) = self.frames.front().copied() {
            if at <= self.now {
                self.frames.pop_front();
                self.arrive(from, to, message);
                return;
            }
        }
        let due = self.timers().find(|(at, _)| *at <= self.now).map(|(_, node)| node);
        if let Some(node) = due {
            self.tell(node, Event::Timeout);
        }
    }

    fn arrive(&mut self, from: Node, to: Node, message: Message) {
        match self.site(to) {
            Some(site) if site.paused => site.waiting.push((from, message)),
            _ => self.tell(to, Event::Frame { from, message }),
        }
    }

    fn next(&self) -> Option<Instant> {
        let frame = self.frames.front().map(|frame| frame.0);
        let timer = self.timers().map(|(at, _)| at).min();
        [frame, timer].into_iter().flatten().min()
    }

    fn timers(&self) -> impl Iterator<Item = (Instant, Node)> + '_ {
        self.numbers()
            .zip(&self.sites)
            .filter(|(_, site)| !site.paused)
            .filter_map(|(node, site)| Some((site.peer.as_ref()?.poll_timeout()?, node)))
    }

    /// Time passes, and kernels drop what has lapsed.
    fn pass(&mut self, to: Instant) {
        self.now = self.now.max(to);
        for site in &mut self.sites {
            site.address = site.address.filter(|until| *until > to);
        }
    }
}

const fn word(role: Role) -> &'static str {
    match role {
        Role::Init => "init",
        Role::Standby => "standby",
        Role::Active => "active",
        Role::Down => "down",
    }
}
