//! The other side: `giveover agent` sends heartbeats, with the host's load and the state of work
//! units, each a command that is run once in each interval.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use giveover_core::failure::Cause;
use giveover_core::time::{Instant, Span};

use super::beat::{Beat, Key, hundredths};
use crate::clock::Clock;
use crate::reactor::{
    BadProgram, Done, End, Exit, Keep, Notice, Order, Program, Reactor, Room, Run, Runner, Signals,
    Token,
};

/// What is sent, where to and how often.
#[derive(Debug)]
pub struct Sending {
    /// Where to.
    pub to: To,
    /// The agent's name.
    pub name: String,
    /// From one heartbeat to the next; more are sent when a work unit fails or is well again.
    pub interval: Span,
    /// What they are signed with.
    pub key: Option<Key>,
    /// Where the load comes from.
    pub load: Load,
    /// Work units: names and commands.
    pub units: Vec<(String, Vec<String>)>,
}

/// Where heartbeats go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum To {
    /// As datagrams to HOST:PORT.
    Udp(String),
    /// As lines on a connection to HOST:PORT.
    Tcp(String),
    /// As lines on a connection to a UNIX socket.
    Unix(PathBuf),
}

/// Where the load comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// The first figure of `/proc/loadavg`.
    Average,
    /// The first word that this command prints.
    Command(Vec<String>),
    /// None is sent.
    None,
}

/// What a sender's work units have in place of a place when they are the load.
const LOAD: usize = usize::MAX;
const SIGNALS: u32 = 0;
const BEAT: u32 = 1;

/// A work unit, or the command that says the load.
struct Unit {
    program: Program,
    /// The code of its last end; `None` before the first.
    code: Option<u16>,
    run: Option<Run>,
}

struct Sender<'a> {
    sending: &'a Sending,
    clock: Clock,
    reactor: Reactor,
    runner: Runner<usize>,
    units: Vec<Unit>,
    load_command: Option<Unit>,
    load: Option<u32>,
    line: Line,
    /// The time of the last heartbeat; each is later than the one before.
    last_ms: u64,
    /// What went wrong, if that was told.
    told: Option<String>,
    say: &'a mut dyn FnMut(&str),
}

/// The way to the other side.
enum Line {
    None,
    Udp(UdpSocket),
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Sends heartbeats until told to stop. What goes wrong with sending is given to `say`, once for
/// each trouble, and tried again.
///
/// # Errors
/// A command cannot be made of its words, or the kernel refuses what every process has.
pub fn run(sending: &Sending, say: &mut dyn FnMut(&str)) -> io::Result<()> {
    let reactor = Reactor::new()?;
    let mut signals = Signals::new(&reactor, Token::new(Room::Daemon, SIGNALS, 0))?;
    let mut sender = Sender::new(sending, reactor, say).map_err(io::Error::other)?;
    let mut ready = Vec::new();
    sender.tick();
    loop {
        let now = sender.clock.now();
        let limit = sender.reactor.timers.next().map(|due| Duration::from_millis(due.since(now)));
        sender.reactor.wait(limit, &mut ready)?;
        let now = sender.clock.now();
        for ready in ready.drain(..) {
            match ready.token.room {
                Room::Command => sender.runner.ready(&mut sender.reactor, ready.token, now),
                _ => {
                    if signals.take().any(|it| it == Notice::Terminate || it == Notice::Interrupt) {
                        sender.runner.cancel_all(&mut sender.reactor, now);
                        return Ok(());
                    }
                }
            }
        }
        while let Some(token) = sender.reactor.timers.pop_due(now) {
            match token.room {
                Room::Command => sender.runner.due(&mut sender.reactor, token, now),
                _ => sender.tick(),
            }
        }
        sender.take_ends();
    }
}

impl<'a> Sender<'a> {
    fn new(
        sending: &'a Sending,
        reactor: Reactor,
        say: &'a mut dyn FnMut(&str),
    ) -> Result<Self, BadProgram> {
        let environment = reactor.children.environment().clone();
        let unit = |argv: &[String]| -> Result<Unit, BadProgram> {
            Ok(Unit { program: Program::new(argv, &environment)?, code: None, run: None })
        };
        let units = sending.units.iter().map(|(_, argv)| unit(argv)).collect::<Result<_, _>>()?;
        let load_command = match &sending.load {
            Load::Command(argv) => Some(unit(argv)?),
            Load::Average | Load::None => None,
        };
        Ok(Self {
            sending,
            clock: Clock::new(0),
            reactor,
            runner: Runner::new(Room::Command),
            units,
            load_command,
            load: None,
            line: Line::None,
            last_ms: 0,
            told: None,
            say,
        })
    }

    /// An interval begins: a heartbeat with what is known, and every command is run again.
    fn tick(&mut self) {
        let now = self.clock.now();
        if self.sending.load == Load::Average {
            let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
            self.load = text.split(' ').next().and_then(hundredths);
        }
        let until = now.after(self.sending.interval);
        for place in 0..self.units.len() {
            self.begin(place, until, now);
        }
        self.begin(LOAD, until, now);
        self.take_ends();
        // The first waits until every command has ended once.
        if self.knows_all() {
            self.send();
        }
        self.reactor.timers.arm(Token::new(Room::Daemon, BEAT, 0), until);
    }

    fn begin(&mut self, place: usize, until: Instant, now: Instant) {
        let Self { reactor, runner, units, load_command, .. } = self;
        let unit = if place == LOAD { load_command.as_mut() } else { units.get_mut(place) };
        let Some(unit) = unit else { return };
        if unit.run.is_some_and(|run| runner.is_there(run)) {
            return; // killed and not gone: it has failed already
        }
        let keep = if place == LOAD { Keep::Line } else { Keep::Nothing };
        let order = Order { program: &mut unit.program, until, keep, leave: false };
        unit.run = runner.start(reactor, place, order, now);
    }

    /// Takes the ends of commands; one that changes what is known is told at once.
    fn take_ends(&mut self) {
        let mut changed = false;
        while let Some(done) = self.runner.done() {
            let place = done.key;
            if place == LOAD {
                let line = done.line().unwrap_or_default();
                let load = line.split_whitespace().next().and_then(hundredths);
                self.load = load.filter(|_| done.end == End::Exit(Some(Exit::Status(0))));
                let Some(unit) = &mut self.load_command else { continue };
                changed |= unit.code.replace(0).is_none();
                continue;
            }
            let Some(unit) = self.units.get_mut(place) else { continue };
            let code = code(&done);
            let first = unit.code.is_none();
            changed |= first || unit.code.is_some_and(|known| (known == 0) != (code == 0));
            unit.code = Some(code);
        }
        if changed && self.knows_all() {
            self.send();
        }
    }

    fn knows_all(&self) -> bool {
        self.units.iter().chain(&self.load_command).all(|unit| unit.code.is_some())
    }

    fn send(&mut self) {
        let now = self.clock.now();
        let at_ms = self.clock.wall_ms(now).max(self.last_ms + 1);
        self.last_ms = at_ms;
        let names = self.sending.units.iter().map(|(name, _)| name.as_str());
        let units = names.zip(&self.units).filter_map(|(name, unit)| Some((name, unit.code?)));
        let beat = Beat::new(&self.sending.name, at_ms, self.load, units.collect());
        let Some(line) = beat.line(self.sending.key.as_ref()) else {
            return self.tell("a heartbeat with these names is too long".to_owned());
        };
        match self.line.send(&self.sending.to, self.sending.interval, line.as_bytes()) {
            Ok(()) => self.told = None,
            Err(error) => {
                self.line = Line::None;
                self.tell(format!("cannot send to {}: {error}", self.sending.to));
            }
        }
    }

    fn tell(&mut self, text: String) {
        if self.told.as_ref() != Some(&text) {
            (self.say)(&text);
            self.told = Some(text);
        }
    }
}

fn code(done: &Done<usize>) -> u16 {
    match done.end {
        End::Exit(Some(exit)) => exit.code(),
        End::Exit(None) | End::Cancelled => Cause::UNKNOWN,
        End::TimedOut => Cause::TIMED_OUT,
        End::NotRun(error) => error.code(),
    }
}

impl Line {
    /// Sends `line`, on a way made anew if there is none. Waits no longer than `limit`.
    fn send(&mut self, to: &To, limit: Span, line: &[u8]) -> io::Result<()> {
        if matches!(self, Self::None) {
            *self = Self::open(to, limit.as_duration())?;
        }
        match self {
            Self::None => Ok(()),
            Self::Udp(socket) => match socket.send(line) {
                // It says of an earlier datagram that nobody was there; this one may be heard.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    socket.send(line).and(Err(error))
                }
                other => other.map(|_| ()),
            },
            Self::Tcp(stream) => stream.write_all(line),
            Self::Unix(stream) => stream.write_all(line),
        }
    }

    fn open(to: &To, limit: Duration) -> io::Result<Self> {
        let named = |to: &str| -> io::Result<SocketAddr> {
            let nobody = || io::Error::new(io::ErrorKind::NotFound, "no such name");
            to.to_socket_addrs()?.next().ok_or_else(nobody)
        };
        Ok(match to {
            To::Udp(host) => {
                let address = named(host)?;
                let any = if address.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
                let socket = UdpSocket::bind(any)?;
                socket.connect(address)?;
                Self::Udp(socket)
            }
            To::Tcp(host) => {
                let stream = TcpStream::connect_timeout(&named(host)?, limit)?;
                stream.set_write_timeout(Some(limit))?;
                let _ = stream.set_nodelay(true); // a heartbeat is not waited with
                Self::Tcp(stream)
            }
            To::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_write_timeout(Some(limit))?;
                Self::Unix(stream)
            }
        })
    }
}

impl std::fmt::Display for To {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Udp(host) => write!(f, "udp://{host}"),
            Self::Tcp(host) => write!(f, "tcp://{host}"),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}
