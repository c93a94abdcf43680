//! Monitors of databases: a connection that is kept, counters that move, a table that is made and
//! dropped, and a table of errors that says what each of them leads to.
//!
//! Each probe is answered exactly once. Between two nothing is asked, and a connection that ends
//! then is made again by the next.
//!
//! # Source
//! The Oracle server monitor of Sun Cluster: `Connect_cycle`, `v$sysstat`, the custom action file,
//! `Alert_log_file`; the second time-out in a row restarts.

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
use std::net::SocketAddr;

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use mio::Interest;
use rustix::io::Errno;

use self::link::{Link, Secure};
use self::monitor::{At, Monitor, Owner, Probe, Talk};
use self::plus::Plus;
use self::said::{Complaint, Heard, Reading, shown};
use self::session::Session;
use super::outcome::{Outcome, code as errno_code, is_our_lack};
use super::resolve::{self, Known, Resolver};
use super::secret::{self, Secret};
use super::socket::{Progress, Socket};
use super::tls::{Trusted, name_of};
use super::trace::{Trace, TraceStep};
use super::{Answer, ProbeId, oracle};
use crate::config::database::{Action, NewState, Row, Speaks, State, code};
use crate::config::plan::{CheckPlan, Host, Plan, Target};
use crate::reactor::{Coprocess, Program, Reactor, Ready, Room, Token};

/// How much is read at once.
const BUFFER: usize = 16 * 1024;
/// At most so many lines are told with one answer.
const MOST_SAID: usize = 16;
/// How long a client that was told to go may take for it.
const LEAVES_IN: Span = Span::from_secs(5);
/// SSLRequest.
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 0xD2, 0x16, 0x2F];

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

/// Every monitor of a database.
pub struct Databases {
    monitors: HashMap<u32, Monitor>,
    numbers: HashMap<Owner, u32>,
    next: u32,
    told: VecDeque<Told>,
    resolver: Resolver,
    trusted: Trusted,
    buffer: Vec<u8>,
    /// Clients that were told to go, and since when.
    leaving: Vec<(Coprocess, Instant)>,
    trace: Option<Trace>,
}

/// How a probe ends.
enum Verdict {
    /// As other checks' do.
    Of(Outcome),
    /// As a row of the table of errors has it.
    Row(usize),
    /// It took too long, so many in a row.
    Late(Phase, u32),
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
            trusted: Trusted::default(),
            buffer: Vec::new(),
            leaving: Vec::new(),
            trace: None,
        }
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
            no_log: false,
            said: Vec::new(),
            run: None,
        });
        if let Some(row) = scan(monitor) {
            return self.finish(reactor, number, Verdict::Row(row), now);
        }
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
        if monitor.probe.is_none() {
            return;
        }
        let (phase, state) = (monitor.at.phase(), monitor.at.state());
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

    /// The names that were looked up are known, or not.
    pub fn names_ready(&mut self, reactor: &mut Reactor, now: Instant) {
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
        self.trusted.clear();
        let under_way = self.monitors.iter().filter(|(_, monitor)| monitor.probe.is_some());
        let under_way: Vec<u32> = under_way.map(|(number, _)| *number).collect();
        for number in under_way {
            if let Some(monitor) = self.monitors.get_mut(&number) {
                hang_up(reactor, monitor);
            }
            self.finish(reactor, number, Verdict::Of(Outcome::Void), now);
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

    fn note(&mut self, phase: Phase, now: Instant, text: impl FnOnce() -> String) {
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

    fn forget(&mut self, reactor: &mut Reactor, number: u32) {
        let Some(mut monitor) = self.monitors.remove(&number) else { return };
        self.numbers.remove(&monitor.owner);
        if monitor.at == At::Idle {
            monitor.say_goodbye();
        }
        hang_up(reactor, &mut monitor);
        if let Some(probe) = monitor.probe {
            reactor.timers.disarm(probe.timer);
        }
    }

    /// Makes the connection, of whatever kind.
    fn connect(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        hang_up(reactor, monitor);
        let Some(plan) = monitor.plan() else { return };
        match (&plan.speaks, &monitor.target) {
            (Speaks::Oracle(_), _) => self.run_client(reactor, number, now),
            (Speaks::Postgres(login), target) => match (&login.socket, target) {
                (Some(path), _) => {
                    let begun = Socket::connect_to_file(path);
                    let where_to = path.to_string();
                    self.note(Phase::Connect, now, || where_to);
                    self.begun(reactor, number, begun, now);
                }
                (None, Some(Target { host: Host::Address(ip), port })) => {
                    monitor.addresses = vec![SocketAddr::new(*ip, *port)];
                    self.connect_next(reactor, number, now);
                }
                (None, Some(Target { host: Host::Name(name), port })) => {
                    let (name, port) = (name.clone(), *port);
                    self.look_up(reactor, number, (&name, port), now);
                }
                (None, None) => self.finish(reactor, number, Verdict::Of(Outcome::Void), now),
            },
        }
    }

    fn look_up(
        &mut self,
        reactor: &mut Reactor,
        number: u32,
        (name, port): (&str, u16),
        now: Instant,
    ) {
        let known = self.resolver.look_up(reactor, name, now);
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        match known {
            Known::Addresses(addresses) | Known::Soon(Some(addresses)) => {
                let addresses = addresses.iter().rev();
                monitor.addresses = addresses.map(|ip| SocketAddr::new(*ip, port)).collect();
                self.connect_next(reactor, number, now);
            }
            Known::Soon(None) => monitor.at = At::Resolving,
            Known::Nothing(code) => {
                let outcome = Outcome::Failed { phase: Phase::Resolve, code };
                self.finish(reactor, number, Verdict::Of(outcome), now);
            }
        }
    }

    fn connect_next(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Some(address) = monitor.addresses.pop() else { return };
        self.note(Phase::Connect, now, || address.to_string());
        let begun = Socket::connect(address, super::dialogue::First::We(SSL_REQUEST));
        self.begun(reactor, number, begun, now);
    }

    fn begun(
        &mut self,
        reactor: &mut Reactor,
        number: u32,
        begun: Result<(Socket, Progress), Errno>,
        now: Instant,
    ) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        monitor.links = monitor.links.wrapping_add(1);
        monitor.at = At::Connecting;
        let (mut socket, progress) = match begun {
            Ok(begun) => begun,
            Err(errno) => return self.refused(reactor, number, errno, now),
        };
        let token = Token::new(Room::Database, number, monitor.links);
        let both = Interest::READABLE | Interest::WRITABLE;
        if let Err(errno) = socket.watch(reactor, token, both) {
            let outcome = Outcome::Lacking { phase: Phase::Connect, code: errno_code(errno) };
            return self.finish(reactor, number, Verdict::Of(outcome), now);
        }
        monitor.link = Some(Link::Socket(socket));
        if progress == Progress::Made {
            self.connected(reactor, number, now);
            self.pump(reactor, number, now);
        }
    }

    /// There is nobody, or the network says so.
    fn refused(&mut self, reactor: &mut Reactor, number: u32, errno: Errno, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let addresses = std::mem::take(&mut monitor.addresses);
        hang_up(reactor, monitor);
        if !addresses.is_empty() {
            monitor.addresses = addresses;
            return self.connect_next(reactor, number, now);
        }
        let to_file = monitor.target.is_none();
        let outcome = match errno {
            // Of a socket in the file system these are the server's: full, gone, closed to us.
            Errno::AGAIN | Errno::ACCESS if to_file => Outcome::failed(Phase::Connect, errno),
            errno if is_our_lack(errno) => {
                Outcome::Lacking { phase: Phase::Connect, code: errno_code(errno) }
            }
            errno => Outcome::failed(Phase::Connect, errno),
        };
        self.finish(reactor, number, Verdict::Of(outcome), now);
    }

    /// The socket is connected: TLS first, if it is wanted.
    fn connected(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        if let (Some(Link::Socket(socket)), Some(target)) = (&monitor.link, &monitor.target) {
            if socket.is_its_own_peer(target.port) {
                return self.refused(reactor, number, Errno::CONNREFUSED, now);
            }
        }
        let wants_tls = match monitor.plan().map(|plan| &plan.speaks) {
            Some(Speaks::Postgres(login)) => login.tls.is_some(),
            _ => false,
        };
        if wants_tls {
            monitor.at = At::AskingTls;
            monitor.unsent.extend_from_slice(SSL_REQUEST);
        } else {
            self.log_in(reactor, number, now);
        }
    }

    /// The session begins.
    fn log_in(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Some(Speaks::Postgres(login)) = monitor.plan().map(|plan| &plan.speaks) else { return };
        let secret = match of_file(login.password_file.as_deref()) {
            Ok(secret) => secret,
            Err(outcome) => {
                hang_up(reactor, monitor);
                return self.finish(reactor, number, Verdict::Of(outcome), now);
            }
        };
        let private = login.socket.is_some() || monitor.secure.is_some();
        let session = Session::begin(login, secret, private);
        monitor.talk = Talk::Postgres(Box::new(session));
        monitor.at = At::LoggingIn;
        let who = format!("> start-up as {} at {}", login_name(monitor).0, login_name(monitor).1);
        self.note(Phase::Send, now, || who);
    }

    /// Oracle's client is run, and told to connect.
    fn run_client(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Some(Speaks::Oracle(login)) = monitor.plan().map(|plan| &plan.speaks) else { return };
        let login = login.clone();
        monitor.links = monitor.links.wrapping_add(1);
        monitor.at = At::LoggingIn;
        let token = Token::new(Room::Database, number, monitor.links);
        let begun = of_file(login.password_file.as_deref()).and_then(|secret| {
            let bad = secret::NoSecret::Form.code();
            let lack = |code| Outcome::Lacking { phase: Phase::Answer, code };
            let plus = Plus::begin(&login, secret.as_ref()).ok_or_else(|| lack(bad))?;
            let environment = oracle::environment(&login.runs, reactor.children.environment());
            let words = oracle::client(&login);
            let program = environment.and_then(|it| Program::new(&words, &it));
            let mut program = program.map_err(|_| lack(code::CLIENT_ENDED))?;
            let client = Coprocess::start(reactor, &mut program, token);
            let client = client
                .map_err(|error| Outcome::Lacking { phase: Phase::Exit, code: error.code() })?;
            Ok((plus, client))
        });
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        match begun {
            Ok((plus, client)) => {
                monitor.talk = Talk::Oracle(Box::new(plus));
                monitor.link = Some(Link::Client(client));
                self.note(Phase::Connect, now, || login.sqlplus.to_string());
                self.pump(reactor, number, now);
            }
            Err(outcome) => {
                monitor.at = At::Nowhere;
                self.finish(reactor, number, Verdict::Of(outcome), now);
            }
        }
    }

    fn look(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        if let Some(monitor) = self.monitors.get_mut(&number) {
            monitor.look();
            self.note(Phase::Send, now, || "> counters".to_owned());
            self.pump(reactor, number, now);
        }
    }

    /// Sends and reads until there is nothing to do but wait.
    fn pump(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        loop {
            let Some(monitor) = self.monitors.get_mut(&number) else { return };
            let links = monitor.links;
            if let Err(errno) = flush(monitor) {
                return self.lost(reactor, number, Some(errno), now);
            }
            let Some(link) = &monitor.link else { return };
            self.buffer.resize(BUFFER, 0);
            let length = match link.receive(&mut self.buffer) {
                Ok(0) => return self.lost(reactor, number, None, now),
                Ok(length) => length,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(errno) => return self.lost(reactor, number, Some(errno), now),
            };
            let bytes = self.buffer.get(..length).unwrap_or_default().to_vec();
            self.take(reactor, number, &bytes, now);
            let current = self.monitors.get(&number).map(|monitor| monitor.links);
            if current != Some(links) {
                return; // another connection, which is seen to by itself
            }
        }
    }

    /// Takes what has arrived.
    fn take(&mut self, reactor: &mut Reactor, number: u32, bytes: &[u8], now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let mut plain = Vec::new();
        let bytes = match (monitor.at, &mut monitor.secure) {
            (At::AskingTls, _) => return self.tls_answered(reactor, number, bytes, now),
            (_, Some(secure)) => match secure.take(bytes, &mut plain) {
                Ok(()) => &plain,
                Err(outcome) => {
                    // An alert of ours is on its way, as far as there is room for it.
                    let _ = flush(monitor);
                    hang_up(reactor, monitor);
                    return self.finish(reactor, number, Verdict::Of(outcome), now);
                }
            },
            (_, None) => bytes,
        };
        let shaking = monitor.secure.as_ref().is_some_and(Secure::is_shaking);
        if monitor.at == At::Shaking && !shaking {
            self.note(Phase::Tls, now, || "in TLS".to_owned());
            self.log_in(reactor, number, now);
        }
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let links = monitor.links;
        monitor.take(bytes);
        loop {
            let Some(monitor) = self.monitors.get_mut(&number) else { return };
            if monitor.links != links || monitor.link.is_none() {
                return;
            }
            match monitor.next() {
                Heard::More => return,
                heard => self.heard(reactor, number, heard, now),
            }
        }
    }

    /// The server has said whether it speaks TLS.
    fn tls_answered(&mut self, reactor: &mut Reactor, number: u32, bytes: &[u8], now: Instant) {
        let refused = Outcome::Failed { phase: Phase::Tls, code: crate::message::tls::REFUSED };
        // What follows its one byte in the clear was put there by somebody else.
        let begun = match bytes {
            b"S" => self.secure(number),
            b"N" => Err(refused),
            _ => Err(Outcome::wrong(0)),
        };
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        match begun {
            Ok(secure) => {
                monitor.secure = Some(secure);
                monitor.at = At::Shaking;
            }
            Err(outcome) => {
                hang_up(reactor, monitor);
                self.finish(reactor, number, Verdict::Of(outcome), now);
            }
        }
    }

    fn secure(&mut self, number: u32) -> Result<Secure, Outcome> {
        let lacking = Outcome::Lacking { phase: Phase::Tls, code: crate::message::tls::NO_NAME };
        let monitor = self.monitors.get(&number).ok_or(lacking)?;
        let Some(Speaks::Postgres(login)) = monitor.plan().map(|plan| &plan.speaks) else {
            return Err(lacking);
        };
        let (tls, target) = login.tls.as_ref().zip(monitor.target.as_ref()).ok_or(lacking)?;
        let name = name_of(tls.name.as_deref(), target).ok_or(lacking)?;
        Secure::begin(self.trusted.config(&tls.trust)?, name)
    }

    /// The session has something to say.
    fn heard(&mut self, reactor: &mut Reactor, number: u32, heard: Heard, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        match heard {
            Heard::More => {}
            Heard::Ready => {
                (monitor.at, monitor.probes) = (At::Idle, 0);
                self.note(Phase::Read, now, || "< let in".to_owned());
                if self.is_probing(number) {
                    self.look_again(number, now);
                }
            }
            Heard::Looked(reading) => self.looked(reactor, number, reading, now),
            Heard::Worked(counters) => {
                monitor.seen = counters.or(monitor.seen.take());
                self.note(Phase::Read, now, || "< made, filled, changed and dropped".to_owned());
                self.healthy(reactor, number, now);
            }
            Heard::Failed(complaint) => self.complained(reactor, number, &complaint, now),
            Heard::Nonsense => {
                hang_up(reactor, monitor);
                self.finish(reactor, number, Verdict::Of(Outcome::wrong(0)), now);
            }
            Heard::Lack(code) => {
                hang_up(reactor, monitor);
                let outcome = Outcome::Lacking { phase: Phase::Answer, code };
                self.finish(reactor, number, Verdict::Of(outcome), now);
            }
        }
    }

    fn is_probing(&self, number: u32) -> bool {
        self.monitors.get(&number).is_some_and(|monitor| monitor.probe.is_some())
    }

    /// As [`Databases::look`], from within the reading.
    fn look_again(&mut self, number: u32, now: Instant) {
        if let Some(monitor) = self.monitors.get_mut(&number) {
            monitor.look();
            self.note(Phase::Send, now, || "> counters".to_owned());
        }
    }

    /// The counters are known: they have moved, or it has to work.
    fn looked(&mut self, reactor: &mut Reactor, number: u32, reading: Reading, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Reading { reads_only, counters } = reading;
        let moved = monitor.seen.as_ref().is_some_and(|seen| *seen != counters);
        monitor.seen = Some(counters.clone());
        let works = !moved && !reads_only && monitor.work(number);
        self.note(Phase::Read, now, || {
            let recovery = if reads_only { ", in recovery" } else { "" };
            format!("< {counters}{recovery}")
        });
        if works {
            return self.note(Phase::Send, now, || "> a table".to_owned());
        }
        self.healthy(reactor, number, now);
    }

    fn healthy(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        monitor.at = At::Idle;
        monitor.probes = monitor.probes.saturating_add(1);
        monitor.timeouts = 0;
        let no_log = monitor.probe.as_ref().is_some_and(|probe| probe.no_log);
        let outcome = match no_log {
            true => Outcome::Lacking { phase: Phase::Answer, code: code::NO_LOG },
            false => Outcome::Healthy { shown: 0 },
        };
        if !no_log && monitor.probe.as_ref().is_some_and(|probe| probe.said.is_empty()) {
            monitor.met = None;
        }
        self.finish(reactor, number, Verdict::Of(outcome), now);
    }

    /// The database answered with an error: what it leads to is in the table.
    fn complained(
        &mut self,
        reactor: &mut Reactor,
        number: u32,
        complaint: &Complaint,
        now: Instant,
    ) {
        let text = format!("< {} {}", complaint.code, complaint.text);
        self.note(Phase::Read, now, || text);
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let state = monitor.at.state();
        if !complaint.over && state == State::Online {
            monitor.at = At::Idle;
        } else {
            hang_up(reactor, monitor);
        }
        let Some(probe) = &monitor.probe else { return };
        let can_renew = !probe.renewed && complaint.over && state == State::Online;
        let row = monitor.plan().and_then(|plan| rules::error(&plan.rows, state, &complaint.code));
        let Some(row) = row else {
            if can_renew && probe.reused {
                // It ended a session that was older than this probe.
                return self.renew(reactor, number, now);
            }
            let outcome = Outcome::wrong(code_of(monitor, &complaint.code));
            return self.finish(reactor, number, Verdict::Of(outcome), now);
        };
        let can_renew = !probe.renewed;
        meet(monitor, row, &complaint.text);
        let (action, new_state) = row_of(monitor, row)
            .map_or((Action::Nothing, NewState::Same), |row| (row.action, row.new_state));
        if new_state != NewState::Same {
            if monitor.at == At::Idle {
                monitor.say_goodbye();
            }
            hang_up(reactor, monitor);
        }
        if new_state == NewState::Connecting && action == Action::Nothing && can_renew {
            return self.renew(reactor, number, now);
        }
        self.finish(reactor, number, Verdict::Row(row), now);
    }

    /// The connection is made anew within the same probe, once.
    fn renew(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        if let Some(probe) = self.monitors.get_mut(&number).and_then(|it| it.probe.as_mut()) {
            probe.renewed = true;
        }
        self.connect(reactor, number, now);
    }

    /// The connection is gone.
    fn lost(&mut self, reactor: &mut Reactor, number: u32, errno: Option<Errno>, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let (at, is_client) = (monitor.at, matches!(monitor.link, Some(Link::Client(_))));
        hang_up(reactor, monitor);
        // Between two probes nothing is lost.
        let Some(probe) = &monitor.probe else { return };
        if probe.reused && !probe.renewed && at.state() == State::Online {
            return self.renew(reactor, number, now);
        }
        let outcome = match (at.phase(), errno) {
            (Phase::Connect, errno) => {
                Outcome::failed(Phase::Connect, errno.unwrap_or(Errno::CONNRESET))
            }
            _ if is_client => Outcome::Failed { phase: Phase::Answer, code: code::CLIENT_ENDED },
            (phase, Some(errno)) => Outcome::failed(phase, errno),
            (Phase::Tls, None) => Outcome::failed(Phase::Tls, Errno::NODATA),
            (_, None) => Outcome::cut(),
        };
        self.finish(reactor, number, Verdict::Of(outcome), now);
    }

    /// Gives the probe's one answer.
    fn finish(&mut self, reactor: &mut Reactor, number: u32, verdict: Verdict, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Some(probe) = monitor.probe.take() else { return };
        reactor.timers.disarm(probe.timer);
        let Probe { id, started, said, run, .. } = probe;
        let weights = &monitor.question.weights;
        let mut stop = None;
        let result = match verdict {
            Verdict::Of(outcome) => outcome.weigh(id.check, weights),
            Verdict::Late(phase, count) => {
                let cause = Cause::of_check(id.check, phase, errno_code(Errno::TIMEDOUT));
                match count {
                    // Of one that is asked for by a person there is no second.
                    _ if monitor.owner.2 => Outcome::late(phase).weigh(id.check, weights),
                    0 | 1 => ProbeResult::CannotMeasure(cause),
                    _ => ProbeResult::Failed(Weight::COMPLETE, cause),
                }
            }
            Verdict::Row(row) => {
                let number = code::ROW.saturating_add(u16::try_from(row).unwrap_or(u16::MAX));
                let cause = Cause::of_check(id.check, Phase::Answer, number);
                match row_of(monitor, row).map_or(Action::Nothing, |row| row.action) {
                    Action::Switch => ProbeResult::Immediate(cause),
                    Action::Restart => ProbeResult::Failed(Weight::COMPLETE, cause),
                    Action::Nothing => ProbeResult::CannotMeasure(cause),
                    Action::Stop => {
                        let plan = monitor.plan();
                        stop = plan.map(|plan| plan.code_words(number));
                        ProbeResult::CannotMeasure(cause)
                    }
                }
            }
        };
        if monitor.at == At::Resolving {
            monitor.at = At::Nowhere;
        }
        let once = monitor.owner.2;
        if once {
            self.forget(reactor, number);
        }
        let elapsed_ms = u32::try_from(now.since(started)).unwrap_or(u32::MAX);
        let answer = Answer { id, result, elapsed_ms, shown: 0 };
        let (stop, run) = if once { (None, None) } else { (stop, run) };
        self.told.push_back(Told { answer, said, stop, run });
    }

    fn tell(&mut self, result: ProbeResult, id: ProbeId, elapsed_ms: u32) {
        let answer = Answer { id, result, elapsed_ms, shown: 0 };
        self.told.push_back(Told { answer, said: Vec::new(), stop: None, run: None });
    }
}

/// Looks at the log: the row that decides, if one of its new lines meets such.
fn scan(monitor: &mut Monitor) -> Option<usize> {
    let mut tail = monitor.tail.take()?;
    let mut met: Vec<(usize, String)> = Vec::new();
    let mut decided = None;
    let read = tail.look(|line| {
        let Some(row) = monitor.rules.line(line) else { return };
        let acts = row_of(monitor, row).is_some_and(|row| row.action != Action::Nothing);
        if acts && decided.is_none() {
            decided = Some(row);
        }
        if met.len() < MOST_SAID {
            met.push((row, shown(line)));
        }
    });
    monitor.tail = Some(tail);
    if let (Err(_), Some(probe)) = (read, &mut monitor.probe) {
        probe.no_log = true;
    }
    for (row, line) in met {
        monitor.met = None; // each line is new
        meet(monitor, row, &line);
    }
    decided
}

/// A row is met: it is told, once for as long as nothing else happens, and what it runs is run.
fn meet(monitor: &mut Monitor, row: usize, text: &str) {
    let number = code::ROW.saturating_add(u16::try_from(row).unwrap_or(u16::MAX));
    let Some(plan) = monitor.plan() else { return };
    let Some(found) = plan.rows.get(row) else { return };
    let words = plan.code_words(number);
    let line = format!("{} {words} ({text}): {}", monitor.owner.1, found.action.word());
    let run = found.run.clone();
    if monitor.met == Some(row) {
        return;
    }
    monitor.met = Some(row);
    let Some(probe) = &mut monitor.probe else { return };
    if probe.said.len() < MOST_SAID {
        probe.said.push(line);
    }
    if probe.run.is_none() {
        probe.run = run;
    }
}

fn row_of(monitor: &Monitor, row: usize) -> Option<&Row> {
    monitor.plan()?.rows.get(row)
}

/// An error without a row, as causes carry it.
fn code_of(monitor: &Monitor, error: &str) -> u16 {
    match monitor.plan().map(|plan| &plan.speaks) {
        Some(Speaks::Oracle(_)) => error.parse::<u32>().map_or(code::MOST_NUMBER, |number| {
            u16::try_from(number).unwrap_or(u16::MAX).min(code::MOST_NUMBER)
        }),
        _ => crate::config::talk::codes::code_of_state(error.as_bytes()),
    }
}

/// Role and database.
fn login_name(monitor: &Monitor) -> (String, String) {
    match monitor.plan().map(|plan| &plan.speaks) {
        Some(Speaks::Postgres(login)) => (login.user.to_string(), login.database.to_string()),
        Some(Speaks::Oracle(login)) => (login.user.to_string(), login.database.to_string()),
        None => Default::default(),
    }
}

fn of_file(file: Option<&str>) -> Result<Option<Secret>, Outcome> {
    let lacking =
        |why: secret::NoSecret| Outcome::Lacking { phase: Phase::Answer, code: why.code() };
    file.map(secret::read).transpose().map_err(lacking)
}

/// Sends what is to be said, as far as there is room.
fn flush(monitor: &mut Monitor) -> Result<(), Errno> {
    if !matches!(monitor.at, At::Connecting | At::Resolving | At::Nowhere) {
        monitor.gather();
    }
    let Some(link) = &monitor.link else { return Ok(()) };
    if monitor.at == At::Connecting {
        return Ok(());
    }
    while !monitor.unsent.is_empty() {
        match link.send(&monitor.unsent) {
            Ok(length) => {
                monitor.unsent.drain(..length.min(monitor.unsent.len()));
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Gives the connection up. What is on its way from it is late.
fn hang_up(reactor: &mut Reactor, monitor: &mut Monitor) {
    monitor.at = At::Nowhere;
    monitor.talk = Talk::Nobody;
    monitor.secure = None;
    monitor.unsent.clear();
    monitor.addresses.clear();
    monitor.links = monitor.links.wrapping_add(1);
    if let Some(link) = monitor.link.take() {
        link.end(reactor);
    }
}
