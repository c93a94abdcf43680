//! Many socket probes at once, on the daemon's loop.
//!
//! A probe is begun with [`Prober::start`] and answered exactly once, through
//! [`Prober::answers`]: with a verdict, with "cannot measure", or with "void" if we did not
//! run. The one exception is the socket part of an `xfnts` probe that went well: what follows
//! is a command, so it comes out of [`Prober::handovers`] instead.
//!
//! # Time
//! A probe has one total deadline, counted from its start. Whether something is in time is
//! judged by the `now` of the call that brings it, never by which event was handed over first:
//! what arrives at or after the deadline is late. The prober cannot tell a late answer from a
//! late reader; whoever runs the loop can, and calls [`Prober::void_all`].
//!
//! # Memory
//! One slot and one timer per probe in flight; nothing is allocated in steady state. The plans
//! stay where they are: every call is handed [`Checks`] to look them up in, and a probe whose
//! check is not to be found there any more is void.

mod datagram;
mod end;
mod files;
mod names;
mod ping;
mod race;
mod slab;
mod talk;

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::ops::RangeInclusive;

use giveover_core::failure::Phase;
use giveover_core::time::Instant;

use self::datagram::Asking;
use self::ping::Pinger;
use self::race::{Attempt, Race};
use self::slab::{Key, Slab};
use super::dialogue::Dialogue;
use super::files::Files;
use super::resolve::{self, NameNotice, Resolver};
use super::socket::{Close, Socket};
use super::trace::{Trace, TraceStep};
use super::{Answer, Checks, Handover, ProbeId, xfnts};
use crate::config::plan::{CheckPlan, Host, Kind};
use crate::reactor::{Reactor, Ready, Room, Timer, Token};

/// How much is read at once, set aside when first there is something to read.
const BUFFER: usize = 16 * 1024;

/// Drives socket probes.
pub struct Prober {
    slots: Slab<Slot>,
    in_flight: usize,
    answers: Vec<Answer>,
    handovers: Vec<Handover>,
    resolver: Resolver,
    /// Probes that wait for a name.
    waiting: Vec<Key>,
    /// Probes that wait for files.
    reading: Vec<Key>,
    /// The sockets that pings share, one for each version of the protocol.
    pingers: [Option<Key>; 2],
    /// Where requests are written and answers are read; one will do, as one is used at a time.
    request: Vec<u8>,
    buffer: Vec<u8>,
    /// The ports that outgoing connections draw theirs from.
    own_ports: RangeInclusive<u16>,
    /// The files that checks need.
    files: Files,
    trace: Option<Trace>,
    /// Where the numbers of queries are drawn, and how many were.
    lots: RandomState,
    drawn: u64,
}

/// A tenant of the slab: what a token of the loop can mean.
enum Slot {
    Probe(Probe),
    Attempt(Attempt),
    Pinger(Pinger),
}

/// A probe in flight.
struct Probe {
    id: ProbeId,
    started: Instant,
    deadline: Instant,
    /// When the stage is over, and what the timer is set to.
    limit: Instant,
    timer: Option<Timer>,
    socket: Option<Socket>,
    stage: Stage,
}

/// How far a probe is.
enum Stage {
    /// Just begun, or connecting to the only address there is.
    Connecting,
    /// Waiting for the files it needs. Past the limit what was read before will do.
    Files,
    /// Waiting for the name's addresses. Past the limit those it had before will do.
    Resolving,
    /// Connecting to several addresses. At each limit one more is tried.
    Racing(Race),
    /// Sending the request; so much of it is on its way.
    Sending(Dialogue, usize),
    /// Waiting for the answer.
    Reading(Dialogue),
    /// Asked by datagram. At each limit it is asked once more.
    Asking(Asking),
    /// We have said goodbye and the verdict waits for the other side; so much came from it yet.
    Closing(usize),
    /// Answered. The other side may close first, so that nothing is left of the connection.
    Farewell,
}

/// One call from the loop.
struct Turn<'a> {
    reactor: &'a mut Reactor,
    checks: &'a dyn Checks,
    now: Instant,
}

impl Prober {
    /// A prober without probes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_resolver(Resolver::new(resolve::system))
    }

    /// The same with a resolver of the caller's.
    #[must_use]
    pub fn with_resolver(resolver: Resolver) -> Self {
        Self {
            slots: Slab::new(),
            in_flight: 0,
            answers: Vec::new(),
            handovers: Vec::new(),
            resolver,
            waiting: Vec::new(),
            reading: Vec::new(),
            pingers: [None; 2],
            request: Vec::new(),
            buffer: Vec::new(),
            own_ports: own_ports(),
            files: Files::default(),
            trace: None,
            lots: RandomState::new(),
            drawn: 0,
        }
    }

    /// Begins a probe of one target of a `tcp`, `http` or `xfnts` check. On loopback it may be
    /// answered before this returns.
    pub fn start(&mut self, reactor: &mut Reactor, checks: &dyn Checks, id: ProbeId, now: Instant) {
        let turn = &mut Turn { reactor, checks, now };
        let plan = checks.check(id);
        let key = self.insert(id, plan.map_or(now, |plan| now.after(plan.timeout)), now);
        let target = plan.and_then(|plan| plan.targets.get(usize::from(id.target)));
        let (Some(plan), Some(_)) = (plan, target) else { return self.void(turn, key) };
        if !self.asks_for_files(turn, plan, key) {
            self.begin(turn, plan, key);
        }
    }

    /// On to its target.
    fn begin(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        let Some(target) = plan.targets.get(usize::from(probe.id.target)) else {
            return self.void(turn, key);
        };
        match &target.host {
            Host::Address(ip) => self.connect(turn, plan, key, SocketAddr::new(*ip, target.port)),
            Host::Name(name) => self.look_up(turn, plan, key, name),
            Host::Socket(path) => self.connect_here(turn, plan, key, path),
        }
    }

    /// A source in [`Room::Probe`] or [`Room::Resolver`] is ready. What belongs to nothing any
    /// more is nothing.
    pub fn ready(
        &mut self,
        reactor: &mut Reactor,
        checks: &dyn Checks,
        ready: Ready,
        now: Instant,
    ) {
        let turn = &mut Turn { reactor, checks, now };
        if ready.token.room == Room::Resolver {
            self.files_ready(turn);
            return self.names_ready(turn);
        }
        let key = Key::of(ready.token);
        match self.slots.get_mut(key) {
            Some(Slot::Probe(_)) => self.probe_ready(turn, key, ready),
            Some(Slot::Attempt(_)) => self.attempt_ready(turn, key, ready),
            Some(Slot::Pinger(_)) => self.pings_ready(turn, key),
            None => {}
        }
    }

    /// A timer in [`Room::Probe`] has fired.
    pub fn due(&mut self, reactor: &mut Reactor, checks: &dyn Checks, token: Token, now: Instant) {
        let turn = &mut Turn { reactor, checks, now };
        let key = Key::of(token);
        let Some(probe) = self.probe_mut(key) else { return };
        let limit = probe.limit;
        let timer = probe.timer.take();
        if now < limit {
            // Timers are taken back when a limit moves, so this is a caller whose clock is
            // behind the one that fired. The probe must not be left without a timer.
            timer.into_iter().for_each(|timer| turn.reactor.timers.disarm(timer));
            return self.wait(turn, key, limit);
        }
        let id = probe.id;
        match probe.stage {
            Stage::Farewell => self.discard(turn.reactor, key, Close::Reset),
            _ => match checks.check(id) {
                None => self.void(turn, key),
                Some(plan) => self.limit_reached(turn, plan, key),
            },
        }
    }

    /// Takes the answers there are.
    pub fn answers(&mut self) -> std::vec::Drain<'_, Answer> {
        self.answers.drain(..)
    }

    /// Takes the probes whose socket part went well and whose command part is due.
    pub fn handovers(&mut self) -> std::vec::Drain<'_, Handover> {
        self.handovers.drain(..)
    }

    /// Takes the news of names that began to fail or resolve again.
    pub fn name_notices(&mut self) -> std::vec::Drain<'_, NameNotice> {
        self.resolver.notices()
    }

    /// Where the last connection to `name` went, and how many addresses it has, if several.
    #[must_use]
    pub fn chosen(&self, name: &str) -> Option<(std::net::IpAddr, usize)> {
        self.resolver.chosen(name)
    }

    /// Checks need these files from now on.
    pub fn need(&mut self, reactor: &Reactor, files: Files) {
        self.files.exchange(reactor, files);
    }

    /// How many probes are neither answered nor handed over yet.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// We did not run, or the plans are others now: every probe in flight is void.
    pub fn void_all(&mut self, reactor: &mut Reactor, now: Instant) {
        let turn = &mut Turn { reactor, checks: &NoChecks, now };
        let keys: Vec<Key> = self.slots.keys().collect();
        for key in keys {
            if self.probe_mut(key).is_some() {
                self.void(turn, key);
            }
        }
    }

    /// Notes the steps of what follows; meant for one probe at a time.
    pub(super) fn begin_trace(&mut self, now: Instant) {
        self.trace = Some(Trace::new(now));
    }

    /// The steps noted.
    pub(super) fn end_trace(&mut self, now: Instant) -> Vec<TraceStep> {
        self.trace.take().map(|trace| trace.finish(now)).unwrap_or_default()
    }

    /// A number that nobody who does not see our queries can foretell.
    fn draw(&mut self) -> u16 {
        self.drawn = self.drawn.wrapping_add(1);
        self.lots.hash_one(self.drawn) as u16
    }

    fn draw_long(&mut self) -> u64 {
        self.drawn = self.drawn.wrapping_add(1);
        self.lots.hash_one(self.drawn)
    }

    fn note(&mut self, turn: &Turn<'_>, phase: Phase, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.step(phase, text(), turn.now);
        }
    }

    fn insert(&mut self, id: ProbeId, deadline: Instant, now: Instant) -> Key {
        self.in_flight += 1;
        self.slots.insert(Slot::Probe(Probe {
            id,
            started: now,
            deadline,
            limit: deadline,
            timer: None,
            socket: None,
            stage: Stage::Connecting,
        }))
    }

    fn probe_mut(&mut self, key: Key) -> Option<&mut Probe> {
        match self.slots.get_mut(key)? {
            Slot::Probe(probe) => Some(probe),
            Slot::Attempt(_) | Slot::Pinger(_) => None,
        }
    }

    /// Has the probe wait until `limit`, if nothing happens before.
    fn wait(&mut self, turn: &mut Turn<'_>, key: Key, limit: Instant) {
        let Some(probe) = self.probe_mut(key) else { return };
        if probe.timer.is_some() && probe.limit == limit {
            return;
        }
        if let Some(timer) = probe.timer.take() {
            turn.reactor.timers.disarm(timer);
        }
        probe.limit = limit;
        probe.timer = Some(turn.reactor.timers.arm(key.token(), limit));
    }
}

impl Default for Prober {
    fn default() -> Self {
        Self::new()
    }
}

impl Probe {
    /// Until when it may connect.
    fn connect_until(&self, plan: &CheckPlan) -> Instant {
        match plan.kind {
            Kind::Xfnts { .. } => xfnts::connect_until(self.started, plan.timeout),
            _ => self.deadline,
        }
    }
}

/// Where nothing is looked up.
struct NoChecks;

impl Checks for NoChecks {
    fn check(&self, _: ProbeId) -> Option<&CheckPlan> {
        None
    }
}

/// The ports outgoing connections draw theirs from, as this host has it; the kernel's default
/// where that cannot be read.
fn own_ports() -> RangeInclusive<u16> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let ports = text.ok().and_then(|text| {
        let mut numbers = text.split_whitespace().map(str::parse::<u16>);
        Some(numbers.next()?.ok()?..=numbers.next()?.ok()?)
    });
    ports.unwrap_or(32_768..=60_999)
}

#[cfg(test)]
mod tests;
