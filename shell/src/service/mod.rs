//! What runs the services: processes of our own, and units of systemd, behind one front.
//!
//! Nothing here waits, counts or decides. A start or stop is asked for, the loop brings what
//! the kernel has to say, and [`Services::event`] tells how it went.

mod asking;
mod event;
pub mod exec;
mod host;
mod identity;
mod keeper;
mod looking;
pub mod notify;
mod output;
mod process;
mod show;
mod strays;
mod systemctl;
mod unit;

use std::collections::VecDeque;

use giveover_core::time::{Instant, Span};

pub use event::{Event, Trouble, death};
pub use host::Host;
pub use identity::Identity;

use crate::config::plan::{Run, ServicePlan};
use crate::reactor::{BadProgram, Reactor, Room, Runner, Token};
use keeper::{Context, Keeper, Method, Purpose};
use looking::Looking;
pub use looking::{Look, UnitState, look_once};
use process::Process;
use strays::Strays;
use unit::Unit;

/// What became of a service that ran under an earlier monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It runs, and is ours again.
    Adopted {
        /// Its main process.
        pid: u32,
    },
    /// It is gone. A stop proves that nothing is left of it.
    Gone,
    /// It cannot be told: we lack what it takes. Ask again.
    Lack,
    /// It is not run by processes of ours, so there is nothing to adopt.
    NotOurs,
}

/// All services. Those nobody runs are not among them.
pub struct Services {
    host: Host,
    entries: Vec<Entry>,
    methods: Runner<Method>,
    events: VecDeque<(u32, Event)>,
    strays: Strays,
    /// Which services systemd is being asked about: place and generation.
    asking: Vec<(u32, u32)>,
    /// Which units checks want to know about, and what was found.
    looking: Looking,
}

struct Entry {
    /// Counts the services that had this place.
    generation: u32,
    service: u32,
    keeper: Option<Box<dyn Keeper>>,
}

impl Services {
    /// None yet.
    #[must_use]
    pub fn new(host: Host) -> Self {
        Self {
            strays: Strays::of(&host.state),
            host,
            entries: Vec::new(),
            methods: Runner::new(Room::Method),
            events: VecDeque::new(),
            asking: Vec::new(),
            looking: Looking::default(),
        }
    }

    /// Takes `service`, or its new plan: what runs goes on as it was started. One that is only
    /// watched, or is now run by something else, is left as it is.
    ///
    /// # Errors
    /// Its commands cannot be made; nothing changed.
    pub fn add(
        &mut self,
        reactor: &mut Reactor,
        service: u32,
        plan: &ServicePlan,
        now: Instant,
    ) -> Result<(), BadProgram> {
        let environment = reactor.children.environment().clone();
        if let Some(slot) = self.slot(service) {
            let keeper = self.entries[slot as usize].keeper.as_mut();
            if let Some(keeper) = keeper.filter(|keeper| keeper.runs(&plan.run)) {
                return keeper.replan(plan, &self.host, &environment);
            }
        }
        let keeper: Option<Box<dyn Keeper>> = match &plan.run {
            Run::Watched => None,
            Run::Process(process) => {
                Some(Box::new(Process::new(plan, process, &self.host, &environment)?))
            }
            Run::Unit(name) => Some(Box::new(Unit::new(plan, name, &self.host, &environment)?)),
        };
        self.remove(reactor, service, now);
        if let Some(keeper) = keeper {
            let entry = self.vacant();
            entry.service = service;
            entry.keeper = Some(keeper);
        }
        Ok(())
    }

    /// Lets go of `service`. It runs on, and nothing is heard of it any more.
    pub fn remove(&mut self, reactor: &mut Reactor, service: u32, now: Instant) {
        let Some(slot) = self.slot(service) else { return };
        self.with(reactor, slot, now, |keeper, context| keeper.leave(context));
        let entry = &mut self.entries[slot as usize];
        entry.keeper = None;
        entry.generation += 1;
    }

    /// Gives services that stay in a new configuration their new numbers. Those without one
    /// are let go of.
    pub fn renumber(
        &mut self,
        reactor: &mut Reactor,
        now: Instant,
        number: impl Fn(u32) -> Option<u32>,
    ) {
        let services: Vec<u32> = self.taken().map(|entry| entry.service).collect();
        for service in services.into_iter().filter(|service| number(*service).is_none()) {
            self.remove(reactor, service, now);
        }
        for entry in self.entries.iter_mut().filter(|entry| entry.keeper.is_some()) {
            entry.service = number(entry.service).unwrap_or(entry.service);
        }
    }

    /// Finds out what is there: [`Event::Found`].
    pub fn begin(&mut self, reactor: &mut Reactor, service: u32, now: Instant) {
        self.with_service(reactor, service, now, |keeper, context| keeper.begin(context));
    }

    /// Takes a process that ran under an earlier monitor, if it is still the same.
    pub fn adopt(
        &mut self,
        reactor: &mut Reactor,
        service: u32,
        identity: &Identity,
        now: Instant,
    ) -> Adoption {
        self.with_service(reactor, service, now, |keeper, context| keeper.adopt(identity, context))
            .unwrap_or(Adoption::NotOurs)
    }

    /// Starts it: [`Event::Started`] or [`Event::StartFailed`], unless a stop is asked for
    /// before. One that runs has started.
    pub fn start(&mut self, reactor: &mut Reactor, service: u32, now: Instant) {
        self.with_service(reactor, service, now, |keeper, context| keeper.start(context));
    }

    /// Stops it, whatever it is doing: [`Event::Stopped`] or [`Event::StopFailed`]. What does
    /// not run is stopped once nothing of it is left.
    pub fn stop(&mut self, reactor: &mut Reactor, service: u32, now: Instant) {
        self.with_service(reactor, service, now, |keeper, context| keeper.stop(context));
    }

    /// The stop under way has no more than `limit` left; what is there then is killed. Units are
    /// systemd's to kill, and take their own time.
    pub fn hurry(&mut self, reactor: &mut Reactor, service: u32, limit: Span, now: Instant) {
        let limit_ms = u64::from(limit.as_millis());
        self.with_service(reactor, service, now, |keeper, context| {
            keeper.hurry(limit_ms, context);
        });
    }

    /// A source of [`Room::Service`] or [`Room::Method`] is ready.
    pub fn ready(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        match token.room {
            Room::Method => self.methods.ready(reactor, token, now),
            _ => self.wake(reactor, token, now),
        }
        self.finish(reactor, now);
    }

    /// A timer of [`Room::Service`] or [`Room::Method`] is due.
    pub fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        match token.room {
            Room::Method => self.methods.due(reactor, token, now),
            _ => self.wake(reactor, token, now),
        }
        self.finish(reactor, now);
    }

    /// The next thing that happened, and to which service.
    pub fn event(&mut self) -> Option<(u32, Event)> {
        self.events.pop_front()
    }

    /// Its main process.
    #[must_use]
    pub fn pid(&self, service: u32) -> Option<u32> {
        self.keeper(service)?.pid()
    }

    /// Whether it runs; `None` if that is not known.
    #[must_use]
    pub fn is_running(&self, service: u32) -> Option<bool> {
        self.keeper(service)?.is_running()
    }

    /// Units: their own limits for a start and a stop, as far as systemd has said them.
    #[must_use]
    pub fn time_outs(&self, service: u32) -> (Option<Span>, Option<Span>) {
        self.keeper(service).map_or((None, None), Keeper::time_outs)
    }

    /// How to know it again; `None` for units and for what does not run.
    #[must_use]
    pub fn identity(&self, service: u32) -> Option<Identity> {
        self.keeper(service)?.identity()
    }

    fn taken(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.keeper.is_some())
    }

    fn keeper(&self, service: u32) -> Option<&dyn Keeper> {
        self.entries[self.slot(service)? as usize].keeper.as_deref()
    }

    fn slot(&self, service: u32) -> Option<u32> {
        let is = |entry: &Entry| entry.keeper.is_some() && entry.service == service;
        self.entries.iter().position(is).map(|slot| slot as u32)
    }

    fn vacant(&mut self) -> &mut Entry {
        let free = self.entries.iter().position(|entry| entry.keeper.is_none());
        let slot = free.unwrap_or(self.entries.len());
        if free.is_none() {
            self.entries.push(Entry { generation: 0, service: 0, keeper: None });
        }
        &mut self.entries[slot]
    }

    fn wake(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        let Some(entry) = self.entries.get(token.index as usize) else { return };
        if Token::new(Room::Service, token.index, entry.generation) == token {
            self.with(reactor, token.index, now, |keeper, context| keeper.wake(context));
        }
    }

    /// Tells the keepers of commands that are over, and asks systemd what they want to know.
    fn finish(&mut self, reactor: &mut Reactor, now: Instant) {
        loop {
            while let Some(done) = self.methods.done() {
                let slot = done.key.slot;
                if done.key.purpose == Purpose::Show {
                    self.show(reactor, &done, now);
                } else {
                    self.with(reactor, slot, now, |keeper, context| keeper.done(done, context));
                }
            }
            if self.is_asking() || !self.ask(reactor, now) {
                return;
            }
        }
    }

    fn with_service<T>(
        &mut self,
        reactor: &mut Reactor,
        service: u32,
        now: Instant,
        call: impl FnOnce(&mut dyn Keeper, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let slot = self.slot(service)?;
        let result = self.with(reactor, slot, now, call);
        self.finish(reactor, now);
        result
    }

    fn with<T>(
        &mut self,
        reactor: &mut Reactor,
        slot: u32,
        now: Instant,
        call: impl FnOnce(&mut dyn Keeper, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let entry = self.entries.get_mut(slot as usize)?;
        let mut context = Context {
            reactor,
            methods: &mut self.methods,
            host: &self.host,
            events: &mut self.events,
            strays: &mut self.strays,
            service: entry.service,
            slot,
            token: Token::new(Room::Service, slot, entry.generation),
            now,
        };
        Some(call(entry.keeper.as_deref_mut()?, &mut context))
    }
}
