//! Monitors of databases: a connection that is kept, counters that move, a table that is made and
//! dropped, and a table of errors that says what each of them leads to.
//!
//! Each probe is answered exactly once. Between two nothing is asked, and a connection that ends
//! then is made again by the next.
//!
//! # Source
//! The Oracle server monitor of Sun Cluster: `Connect_cycle`, `v$sysstat`, the custom action file,
//! `Alert_log_file`; the second time-out in a row restarts.

mod connect;
mod end;
mod hear;
mod link;
mod log;
mod monitor;
mod plus;
mod rules;
mod said;
mod session;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use giveover_core::failure::Phase;
use giveover_core::time::{Instant, Span};

use self::end::{Verdict, hang_up, meet};
use self::link::Link;
use self::log::{Asked, Seen};
use self::monitor::{At, Monitor, Owner, Probe};
use self::plus::Plus;
use self::said::Heard;
use self::session::Session;
use super::files::Files;
use super::outcome::Outcome;
use super::resolve::{self, Resolver};
use super::trace::{Trace, TraceStep};
use super::{Answer, ProbeId};
use crate::config::database::{OracleLogin, PostgresLogin, code};
use crate::config::plan::{CheckPlan, Plan};
use crate::reactor::{Coprocess, Reactor, Ready, Room, Token};

/// How long a client that was told to go may take for it.
const LEAVES_IN: Span = Span::from_secs(5);

/// An answer, and what comes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The answer.
    pub answer: Answer,
    /// Rows of the table of errors that were met, in words.
    pub said: Vec<String>,
    /// The monitor is to end; why.
    pub stop: Option<String>,
    /// To be run in the background.
    pub run: Option<Vec<String>>,
}

/// What a session with PostgreSQL that has just looked, and one with Oracle, hear in `pieces`, up to
/// the first that is something: for those who invent them.
pub fn overhear<'a>(pieces: impl Iterator<Item = &'a [u8]> + Clone) -> [String; 2] {
    let login = PostgresLogin {
        user: "u".into(),
        database: "d".into(),
        password_file: None,
        socket: None,
        tls: None,
        schema: None,
    };
    let mut session = Session::begin(&login, None, false);
    let mut plus = Plus::begin(&OracleLogin::default(), None);
    let postgres = pieces.clone().map(|piece| {
        session.take(piece);
        let heard = session.next();
        if heard == Heard::Ready {
            session.look(None);
            return session.next();
        }
        heard
    });
    let oracle = pieces.map(|piece| {
        plus.as_mut().map_or(Heard::More, |plus| {
            plus.take(piece);
            plus.next()
        })
    });
    let first = |mut heard: &mut dyn Iterator<Item = Heard>| {
        format!("{:?}", (&mut heard).find(|heard| *heard != Heard::More))
    };
    [first(&mut { postgres }), first(&mut { oracle })]
}

/// Every monitor of a database.
pub struct Databases {
    monitors: HashMap<u32, Monitor>,
    numbers: HashMap<Owner, u32>,
    next: u32,
    told: VecDeque<Told>,
    resolver: Resolver,
    files: Files,
    buffer: Vec<u8>,
    /// Clients that were told to go, and since when.
    leaving: Vec<(Coprocess, Instant)>,
    trace: Option<Trace>,
}

impl Default for Databases {
    fn default() -> Self {
        Self::new()
    }
}

impl Databases {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self {
            monitors: HashMap::new(),
            numbers: HashMap::new(),
            next: 0,
            told: VecDeque::new(),
            resolver: Resolver::new(resolve::system),
            files: Files::default(),
            buffer: Vec::new(),
            leaving: Vec::new(),
            trace: None,
        }
    }

    /// Checks need these files from now on.
    pub fn need(&mut self, reactor: &Reactor, files: Files) {
        self.files.exchange(reactor, files);
    }

    /// Begins a probe of the check `plan` of `service`. One that is asked for by a person (`once`)
    /// has a connection of its own and leaves the log alone.
    pub fn start(
        &mut self,
        reactor: &mut Reactor,
        service: &str,
        (plan, once): (&CheckPlan, bool),
        id: ProbeId,
        now: Instant,
    ) {
        self.see_off(reactor, now);
        let owner = (service.into(), plan.name.clone(), once);
        let Some(number) = self.number(reactor, owner, plan) else {
            return self.tell(Outcome::Void.weigh(id.check, &plan.weights), id, 0);
        };
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        if monitor.probe.is_some() {
            // Its cycle is over, whatever it was.
            self.finish(reactor, number, Verdict::Of(Outcome::Void), now);
        }
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let timer = Token::new(Room::Database, number, id.cycle);
        let timer = reactor.timers.arm(timer, now.after(plan.timeout));
        monitor.probe = Some(Probe {
            id,
            started: now,
            timer,
            reused: false,
            renewed: false,
            reads_log: false,
            no_log: false,
            said: Vec::new(),
            run: None,
        });
        match monitor.tail.as_mut().map(|tail| tail.ask(reactor)) {
            None => self.go_on(reactor, number, now),
            Some(Asked::Seen(seen)) => self.log_read(reactor, number, seen, now),
            Some(Asked::Soon) => {
                if let Some(probe) = &mut monitor.probe {
                    probe.reads_log = true;
                }
            }
            Some(Asked::Not) => {
                if let Some(probe) = &mut monitor.probe {
                    probe.no_log = true;
                }
                self.go_on(reactor, number, now);
            }
        }
    }

    /// The log has been looked at: the row that decides, if one of its new lines meets such.
    fn log_read(&mut self, reactor: &mut Reactor, number: u32, seen: Seen, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Some(probe) = &mut monitor.probe else { return };
        probe.reads_log = false;
        probe.no_log = seen.unreadable;
        for (row, line) in seen.met {
            monitor.met = None; // each line is new
            meet(monitor, row, &line);
        }
        match seen.decided {
            Some(row) => self.finish(reactor, number, Verdict::Row(row), now),
            None => self.go_on(reactor, number, now),
        }
    }

    /// On to the database itself.
    fn go_on(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let cycle = monitor.plan().map_or(0, |plan| plan.connect_cycle);
        if monitor.at == At::Idle && cycle > 0 && monitor.probes >= cycle {
            monitor.say_goodbye();
            // A client that is killed leaves its session for the database to find.
            if let Some(Link::Client(client)) = monitor.link.take_if(|it| it.is_client()) {
                self.leaving.push((client, now));
            }
            hang_up(reactor, monitor);
        }
        match monitor.at {
            At::Idle => {
                if let Some(probe) = &mut monitor.probe {
                    probe.reused = true;
                }
                self.look(reactor, number, now);
            }
            _ => self.connect(reactor, number, now),
        }
    }

    /// A source of [`Room::Database`] is ready. What belongs to nothing any more is nothing.
    pub fn ready(&mut self, reactor: &mut Reactor, ready: Ready, now: Instant) {
        let number = ready.token.index;
        let Some(monitor) = self.monitors.get(&number) else { return };
        if Token::new(Room::Database, number, monitor.links) != ready.token {
            return;
        }
        if monitor.at == At::Connecting {
            let error = match &monitor.link {
                Some(Link::Socket(socket)) => socket.error(),
                _ => None,
            };
            match error {
                Some(errno) => return self.refused(reactor, number, errno, now),
                None if ready.writable => self.connected(reactor, number, now),
                None => return,
            }
        }
        self.pump(reactor, number, now);
    }

    /// A timer of [`Room::Database`] is due: the probe's time is over.
    pub fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&token.index) else { return };
        let probe = monitor.probe.as_ref().map(|probe| probe.id.cycle);
        let cycle = probe.map(|cycle| Token::new(Room::Database, token.index, cycle));
        if cycle != Some(token) {
            return;
        }
        // What came in time counts, though it is read after.
        self.pump(reactor, token.index, now);
        let Some(monitor) = self.monitors.get_mut(&token.index) else { return };
        let Some(probe) = &monitor.probe else { return };
        if probe.reads_log {
            // Of the database nothing is known, and nothing against it.
            let outcome = Outcome::Lacking { phase: Phase::Answer, code: code::NO_LOG };
            return self.finish(reactor, token.index, Verdict::Of(outcome), now);
        }
        let (phase, state) = (monitor.at.phase(), monitor.at.state());
        if monitor.at == At::Files {
            let outcome = self.files.silent(&monitor.question.kind);
            return self.finish(reactor, token.index, Verdict::Of(outcome), now);
        }
        if phase == Phase::Resolve {
            let late = Verdict::Of(Outcome::late(phase));
            hang_up(reactor, monitor);
            return self.finish(reactor, token.index, late, now);
        }
        monitor.timeouts = monitor.timeouts.saturating_add(1);
        let count = monitor.timeouts;
        hang_up(reactor, monitor);
        let row = monitor.plan().and_then(|plan| rules::timeouts(&plan.rows, state, count));
        let verdict = match row {
            Some(row) => {
                meet(monitor, row, "no answer in time");
                Verdict::Row(row)
            }
            None => Verdict::Late(phase, count),
        };
        self.finish(reactor, token.index, verdict, now);
    }

    /// The names that were looked up are known, or not; or files have been read: logs, passwords,
    /// authorities.
    pub fn names_ready(&mut self, reactor: &mut Reactor, now: Instant) {
        let waits = |monitor: &Monitor| monitor.probe.as_ref().is_some_and(|it| it.reads_log);
        let reading = self.monitors.iter_mut().filter(|(_, monitor)| waits(monitor));
        let seen =
            reading.filter_map(|(number, monitor)| Some((*number, monitor.tail.as_mut()?.seen()?)));
        let seen: Vec<(u32, Seen)> = seen.collect();
        for (number, seen) in seen {
            self.log_read(reactor, number, seen, now);
        }
        if self.files.hear() {
            let waiting = self.monitors.iter().filter(|(_, monitor)| monitor.at == At::Files);
            let waiting: Vec<u32> = waiting.map(|(number, _)| *number).collect();
            waiting.into_iter().for_each(|number| self.connect(reactor, number, now));
        }
        self.resolver.hear(now, |_, _| ());
        let waiting = self.monitors.iter().filter(|(_, monitor)| monitor.at == At::Resolving);
        let waiting: Vec<u32> = waiting.map(|(number, _)| *number).collect();
        for number in waiting {
            self.connect(reactor, number, now);
        }
    }

    /// The next answer.
    pub fn answer(&mut self) -> Option<Told> {
        self.told.pop_front()
    }

    /// How many probes are under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.monitors.values().filter(|monitor| monitor.probe.is_some()).count()
    }

    /// We did not run: every probe under way is void. Its connection is given up, since its answer
    /// may still come.
    pub fn void_all(&mut self, reactor: &mut Reactor, now: Instant) {
        let under_way = self.monitors.iter().filter(|(_, monitor)| monitor.probe.is_some());
        let under_way: Vec<u32> = under_way.map(|(number, _)| *number).collect();
        for number in under_way {
            if let Some(monitor) = self.monitors.get_mut(&number) {
                hang_up(reactor, monitor);
            }
            self.finish(reactor, number, Verdict::Of(Outcome::Void), now);
        }
    }

    /// The service is about to be stopped, or is no longer watched: sessions on which nothing is
    /// asked are ended, so that a database that waits for its clients need not wait for us.
    pub fn leave(&mut self, reactor: &mut Reactor, service: &str) {
        let idle = |monitor: &&mut Monitor| *monitor.owner.0 == *service && monitor.at == At::Idle;
        for monitor in self.monitors.values_mut().filter(idle) {
            monitor.say_goodbye();
            hang_up(reactor, monitor);
        }
    }

    /// Another plan: monitors of checks that it has unchanged go on, with their connections and
    /// how far their logs were read.
    pub fn keep(&mut self, reactor: &mut Reactor, plan: &Plan) {
        let is_kept = |monitor: &Monitor| {
            let (service, check, _) = &monitor.owner;
            let service = plan.services.iter().find(|kept| *kept.name == **service);
            let check = service.and_then(|kept| kept.checks.iter().find(|it| it.name == *check));
            check.is_some_and(|check| monitor.is_of(&check.question, check.targets.first()))
        };
        let gone = self.monitors.iter().filter(|(_, monitor)| !is_kept(monitor));
        let gone: Vec<u32> = gone.map(|(number, _)| *number).collect();
        gone.into_iter().for_each(|number| self.forget(reactor, number));
    }

    /// Gives every connection up; clients are ended.
    pub fn end(&mut self, reactor: &mut Reactor) {
        let all: Vec<u32> = self.monitors.keys().copied().collect();
        all.into_iter().for_each(|number| self.forget(reactor, number));
        self.leaving.drain(..).for_each(|(client, _)| client.end(reactor));
    }

    /// Clients that were told to go and are gone, or have taken too long for it.
    fn see_off(&mut self, reactor: &mut Reactor, now: Instant) {
        let gone = |(client, since): &(Coprocess, Instant)| {
            let late = now.since(*since) >= u64::from(LEAVES_IN.as_millis());
            late || client.receive(&mut [0; 512]) == Ok(0)
        };
        let (gone, left) = std::mem::take(&mut self.leaving).into_iter().partition(gone);
        self.leaving = left;
        let gone: Vec<(Coprocess, Instant)> = gone;
        gone.into_iter().for_each(|(client, _)| client.end(reactor));
    }

    /// Notes the steps of what follows; meant for one probe at a time.
    pub(super) fn begin_trace(&mut self, now: Instant) {
        self.trace = Some(Trace::new(now));
    }

    /// The steps noted.
    pub(super) fn end_trace(&mut self, now: Instant) -> Vec<TraceStep> {
        self.trace.take().map(|trace| trace.finish(now)).unwrap_or_default()
    }

    pub(super) fn note(&mut self, phase: Phase, now: Instant, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.step(phase, text(), now);
        }
    }

    /// The monitor of `owner`, made if there is none for what `plan` asks.
    fn number(&mut self, reactor: &mut Reactor, owner: Owner, plan: &CheckPlan) -> Option<u32> {
        let target = plan.targets.first();
        if let Some(number) = self.numbers.get(&owner).copied() {
            let known = self.monitors.get(&number);
            if known.is_some_and(|monitor| monitor.is_of(&plan.question, target)) {
                return Some(number);
            }
            self.forget(reactor, number);
        }
        let monitor = Monitor::new(owner.clone(), plan.question.clone(), target.cloned())?;
        let number = self.next;
        self.next = self.next.wrapping_add(1) & 0xF_FFFF;
        self.monitors.insert(number, monitor);
        self.numbers.insert(owner, number);
        Some(number)
    }

    pub(super) fn forget(&mut self, reactor: &mut Reactor, number: u32) {
        let Some(mut monitor) = self.monitors.remove(&number) else { return };
        self.numbers.remove(&monitor.owner);
        if monitor.at == At::Idle {
            monitor.say_goodbye();
        }
        if let Some(tail) = &mut monitor.tail {
            tail.end(reactor);
        }
        hang_up(reactor, &mut monitor);
        if let Some(probe) = monitor.probe {
            reactor.timers.disarm(probe.timer);
        }
    }
}
