//! How a monitor's connection is made: to an address, a socket in the file system, or through a
//! client; in TLS if that is wanted; and how its session begins.

use std::net::SocketAddr;

use giveover_core::failure::Phase;
use giveover_core::time::Instant;
use mio::Interest;
use rustix::io::Errno;

use super::Databases;
use super::end::{Verdict, hang_up};
use super::link::{Link, Secure};
use super::monitor::{At, Monitor, Talk};
use super::plus::Plus;
use super::session::Session;
use crate::check::dialogue::First;
use crate::check::oracle;
use crate::check::outcome::{Outcome, code as errno_code, is_our_lack};
use crate::check::resolve::Known;
use crate::check::secret::NoSecret;
use crate::check::socket::{Progress, Socket};
use crate::check::tls::name_of;
use crate::config::database::{Speaks, code};
use crate::config::plan::{Host, Target};
use crate::message::tls;
use crate::reactor::{Coprocess, Program, Reactor, Room, Token};

/// SSLRequest.
const SSL_REQUEST: &[u8] = &[0, 0, 0, 8, 4, 0xD2, 0x16, 0x2F];

impl Databases {
    /// Makes the connection, of whatever kind, once the files for it have been read.
    pub(super) fn connect(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let was_waiting = monitor.at == At::Files;
        hang_up(reactor, monitor);
        let waits = match was_waiting {
            true => self.files.is_reading(&monitor.question.kind),
            false => self.files.ask(reactor, &monitor.question.kind, now),
        };
        if waits {
            monitor.at = At::Files;
            return;
        }
        let Some(plan) = monitor.plan() else { return };
        match (&plan.speaks, &monitor.target) {
            (Speaks::Oracle(_), _) => self.run_client(reactor, number, now),
            (Speaks::Postgres(login), target) => match (&login.socket, target) {
                (Some(path), _) | (None, Some(Target { host: Host::Socket(path), .. })) => {
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
        let begun = Socket::connect(address, First::We(SSL_REQUEST));
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
    pub(super) fn refused(
        &mut self,
        reactor: &mut Reactor,
        number: u32,
        errno: Errno,
        now: Instant,
    ) {
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
    pub(super) fn connected(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
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

    /// The server has said whether it speaks TLS.
    pub(super) fn tls_answered(
        &mut self,
        reactor: &mut Reactor,
        number: u32,
        bytes: &[u8],
        now: Instant,
    ) {
        let refused = Outcome::Failed { phase: Phase::Tls, code: tls::REFUSED };
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
        let lacking = Outcome::Lacking { phase: Phase::Tls, code: tls::NO_NAME };
        let monitor = self.monitors.get(&number).ok_or(lacking)?;
        let Some(Speaks::Postgres(login)) = monitor.plan().map(|plan| &plan.speaks) else {
            return Err(lacking);
        };
        let (tls, target) = login.tls.as_ref().zip(monitor.target.as_ref()).ok_or(lacking)?;
        let name = name_of(tls.name.as_deref(), target).ok_or(lacking)?;
        Secure::begin(self.files.trusted.config(&tls.trust)?, name)
    }

    /// The session begins.
    pub(super) fn log_in(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Some(Speaks::Postgres(login)) = monitor.plan().map(|plan| &plan.speaks) else { return };
        let secret = match self.files.secret(&monitor.question.kind) {
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
        let begun = self.files.secret(&monitor.question.kind).and_then(|secret| {
            let bad = NoSecret::Form.code();
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
}

/// Role and database.
fn login_name(monitor: &Monitor) -> (String, String) {
    match monitor.plan().map(|plan| &plan.speaks) {
        Some(Speaks::Postgres(login)) => (login.user.to_string(), login.database.to_string()),
        Some(Speaks::Oracle(login)) => (login.user.to_string(), login.database.to_string()),
        None => Default::default(),
    }
}
