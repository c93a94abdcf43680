//! HAProxy's runtime API: one command a connection, an empty answer is success.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;

use giveover_core::pool::Face;
use giveover_core::time::Instant;
use mio::Interest;
use mio::net::UnixStream;

use crate::reactor::{Reactor, Timer, Token};

/// No answer is longer; sessions of a busy HAProxy take some 1.5 KB each.
const LONGEST: usize = 64 << 20;

/// A server as HAProxy has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// What a person or we made of it.
    pub state: State,
    /// Its weight now, and the one of the configuration.
    pub weight: (u32, u32),
}

/// A server's administrative state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It takes work.
    Ready,
    /// It takes no new work.
    Drain,
    /// It takes nothing.
    Maint,
}

impl State {
    /// What HAProxy shall make of a member that shows `face`, and whose connections have been cut in
    /// the middle of its drain or not. In a drain HAProxy lets those in who were there before.
    #[must_use]
    pub const fn of(face: Face, has_cut: bool) -> Self {
        match face {
            // HAProxy itself knows who is a backup.
            Face::In { .. } | Face::Standby => Self::Ready,
            Face::Drained if has_cut => Self::Maint,
            Face::Busy | Face::Drained => Self::Drain,
            Face::Out(_) => Self::Maint,
        }
    }

    /// HAProxy's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Drain => "drain",
            Self::Maint => "maint",
        }
    }

    /// From the bits of `srv_admin_state`: 1 and 4 are a maintenance, 8 a drain; what a server has
    /// from another that it follows (2, 16) is not ours to change.
    const fn of_bits(bits: u32) -> Self {
        if bits & 0b101 != 0 {
            Self::Maint
        } else if bits & 0b1000 != 0 {
            Self::Drain
        } else {
            Self::Ready
        }
    }
}

/// Asks how the servers of `backend` are.
#[must_use]
pub fn ask_servers(backend: &str) -> String {
    format!("show servers state {backend}\n")
}

/// The answer to [`ask_servers`]. Columns are found by their names, which versions add to.
///
/// # Errors
/// What HAProxy said instead.
pub fn servers(text: &str) -> Result<Vec<Server>, String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let version = lines.next().unwrap_or_default();
    let header = lines.next().and_then(|line| line.strip_prefix("# "));
    let (Ok(_), Some(header)) = (version.parse::<u32>(), header) else {
        return Err(said(text));
    };
    let column = |name: &str| header.split_whitespace().position(|it| it == name);
    let missing = || said("show servers state has other columns than we know");
    let name = column("srv_name").ok_or_else(missing)?;
    let admin = column("srv_admin_state").ok_or_else(missing)?;
    let now = column("srv_uweight").ok_or_else(missing)?;
    let configured = column("srv_iweight").ok_or_else(missing)?;
    let server = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| cells.get(at)?.parse::<u32>().ok();
        Some(Server {
            name: (*cells.get(name)?).to_owned(),
            state: State::of_bits(number(admin)?),
            weight: (number(now)?, number(configured)?),
        })
    };
    Ok(lines.filter_map(server).collect())
}

/// What makes `server` of `backend` what [`State::of`] asks for, a command each; nothing where it is.
///
/// A share of a small weight would be nothing at all, which is a drain: it is 1 then.
#[must_use]
pub fn repair(backend: &str, server: &Server, face: Face, has_cut: bool) -> Vec<String> {
    let mut commands = Vec::new();
    let state = State::of(face, has_cut);
    let name = &server.name;
    if server.state != state {
        let word = state.word();
        // A drain leaves a maintenance only by way of `ready`.
        if server.state != State::Ready && state == State::Drain {
            commands.push(format!("set server {backend}/{name} state ready\n"));
        }
        commands.push(format!("set server {backend}/{name} state {word}\n"));
    }
    let share = match face {
        Face::In { weight } => Some(u32::from(weight)),
        Face::Standby => Some(100),
        Face::Busy | Face::Drained | Face::Out(_) => None,
    };
    if let Some(share) = share {
        let (now, configured) = server.weight;
        let wanted = (configured * share / 100).max(u32::from(configured > 0));
        if now != wanted {
            commands.push(format!("set server {backend}/{name} weight {wanted}\n"));
        }
    }
    commands
}

/// Ends the sessions of a server; the fallback where sockets cannot be cut.
#[must_use]
pub fn end_sessions(backend: &str, server: &str) -> String {
    format!("shutdown sessions server {backend}/{server}\n")
}

/// Asks for all sessions, with both ends of each.
pub const ASK_SESSIONS: &str = "show sess all\n";

/// Of the answer to [`ASK_SESSIONS`] those of one server: the two ends of the client's connection,
/// ours first.
#[must_use]
pub fn sessions(text: &str, backend: &str, server: &str) -> Vec<(SocketAddr, SocketAddr)> {
    let mut found = Vec::new();
    let (mut source, mut own, mut in_backend) = (None, None, false);
    for line in text.lines() {
        let word = |key: &str| {
            let words = line.split_whitespace();
            words.filter_map(|word| word.strip_prefix(key)).next()
        };
        if !line.starts_with(' ') {
            (source, own, in_backend) = (word("source="), None, false);
        } else if let Some(name) = line.strip_prefix("  frontend=") {
            let _ = name; // whatever it is called
            own = word("addr=");
        } else if line.starts_with("  backend=") {
            in_backend = word("backend=") == Some(backend);
        } else if line.starts_with("  server=") && in_backend && word("server=") == Some(server) {
            let ends =
                own.and_then(|it| it.parse().ok()).zip(source.and_then(|it| it.parse().ok()));
            found.extend(ends);
        }
    }
    found
}

/// The answer, if it came to its end: an empty line, which is all of it where all is well. One that
/// is cut short, as when HAProxy ends in the middle of it, says nothing of what is not in it.
fn whole(heard: &[u8]) -> io::Result<String> {
    let ends = heard == b"\n" || heard.ends_with(b"\n\n");
    if !ends {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "it hung up before its answer was whole",
        ));
    }
    Ok(String::from_utf8_lossy(heard).into_owned())
}

/// Whether an answer to `set` or `shutdown` says that it was done.
///
/// # Errors
/// What HAProxy said.
pub fn done(text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Ok(()) } else { Err(said(text)) }
}

/// The first line of what it said, fit for a screen.
fn said(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or("it said nothing");
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(200).collect()
}

/// A command on its way, and its answer.
pub struct Exchange {
    stream: UnixStream,
    token: Token,
    timer: Timer,
    command: Vec<u8>,
    sent: usize,
    heard: Vec<u8>,
}

impl Exchange {
    /// Begins one with the HAProxy at `socket`; it must be over at `until`.
    ///
    /// # Errors
    /// Nobody is there, or we may not; nothing is left open.
    pub fn begin(
        reactor: &mut Reactor,
        socket: &Path,
        command: &str,
        token: Token,
        until: Instant,
    ) -> io::Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        reactor.add(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        let timer = reactor.timers.arm(token, until);
        let command = command.as_bytes().to_vec();
        let mut exchange = Self { stream, token, timer, command, sent: 0, heard: Vec::new() };
        match exchange.push_out() {
            Ok(()) => Ok(exchange),
            Err(error) => {
                exchange.end(reactor);
                Err(error)
            }
        }
    }

    /// Whose wake-ups are its.
    #[must_use]
    pub const fn token(&self) -> Token {
        self.token
    }

    /// It is ready; the answer once all of it is there.
    pub fn ready(&mut self) -> Option<io::Result<String>> {
        if let Err(error) = self.push_out() {
            return Some(Err(error));
        }
        let mut buffer = [0; 16 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Some(whole(&self.heard)),
                Ok(count) if self.heard.len() < LONGEST => {
                    self.heard.extend_from_slice(buffer.get(..count).unwrap_or_default());
                }
                Ok(_) => return Some(Err(io::ErrorKind::OutOfMemory.into())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Ends it, whatever has come.
    pub fn end(mut self, reactor: &mut Reactor) {
        reactor.timers.disarm(self.timer);
        reactor.remove(&mut self.stream);
    }

    fn push_out(&mut self) -> io::Result<()> {
        while let Some(rest) = self.command.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use giveover_core::pool::Why;

    use super::*;

    /// As HAProxy 2.6 says it, for a server drained by a person.
    const SERVERS: &str = "1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change
3 web 1 a 127.0.0.1 2 8 0 1 0
3 web 2 b 127.0.0.1 2 0 100 100 2
3 web 3 c 127.0.0.1 2 5 100 100 2

";

    #[test]
    fn servers_are_read_by_the_names_of_the_columns() {
        let read = servers(SERVERS).expect("servers");
        let server = |name: &str, state, weight| Server { name: name.into(), state, weight };
        assert_eq!(
            read,
            [
                server("a", State::Drain, (0, 1)),
                server("b", State::Ready, (100, 100)),
                server("c", State::Maint, (100, 100))
            ]
        );
        assert_eq!(servers("Can't find backend.\n\n"), Err("Can't find backend.".into()));
        assert_eq!(servers(""), Err("it said nothing".into()));
    }

    #[test]
    fn a_server_is_repaired_with_as_little_as_it_takes() {
        let server = |state, weight| Server { name: "a".into(), state, weight };
        let well = Face::In { weight: 100 };
        let said = |server: &Server, face| repair("web", server, face, false).concat();
        assert_eq!(said(&server(State::Ready, (100, 100)), well), "");
        let drained = server(State::Drain, (100, 100));
        assert_eq!(said(&drained, well), "set server web/a state ready\n");
        let half = Face::In { weight: 50 };
        let set = "set server web/a weight 50\n";
        assert_eq!(said(&server(State::Ready, (100, 100)), half), set);
        // Half of 1 would be nothing.
        assert_eq!(said(&server(State::Ready, (1, 1)), half), "");
        assert_eq!(said(&server(State::Ready, (0, 1)), half), "set server web/a weight 1\n");
        let out = Face::Out(Why::WorkUnit);
        assert_eq!(said(&server(State::Ready, (1, 1)), out), "set server web/a state maint\n");
        let again = "set server web/a state ready\nset server web/a state drain\n";
        assert_eq!(said(&server(State::Maint, (1, 1)), Face::Drained), again);
        let cut = repair("web", &server(State::Drain, (1, 1)), Face::Drained, true);
        assert_eq!(cut.concat(), "set server web/a state maint\n");
    }

    #[test]
    fn an_empty_answer_is_success_and_anything_else_is_not() {
        assert_eq!(done("\n"), Ok(()));
        assert_eq!(done("No such backend.\n\n"), Err("No such backend.".into()));
    }

    #[test]
    fn an_answer_that_is_cut_short_is_none() {
        assert_eq!(whole(b"\n").expect("success"), "\n");
        assert!(whole(SERVERS.as_bytes()).is_ok());
        for cut in 0..SERVERS.len() - 1 {
            assert!(whole(&SERVERS.as_bytes()[..cut]).is_err(), "cut at {cut}");
        }
        let garbled = whole(b"\xff\xfe\n\n").expect("it came to its end");
        assert!(servers(&garbled).is_err() && done(&garbled).is_err());
    }

    /// Of real sessions the lines that matter.
    const SESSIONS: &str = "\
0x562b86c88340: [30/Nov/2026:09:00:05.776150] id=1 proto=tcpv4 source=127.0.0.1:47880
  flags=0x4a, conn_retries=0, conn_exp=<NEVER> conn_et=0x000 srv_conn=0x5, pend_pos=(nil)
  frontend=web (id=2 mode=tcp), listener=? (id=1) addr=127.0.0.1:18080
  backend=web (id=3 mode=tcp) addr=127.0.0.1:54082
  server=b (id=2) addr=127.0.0.1:18092
  task=0x562b86da4240 (state=0x00 nice=0 calls=2 rate=2 exp=1s tmask=0x1 age=0s)
0x562b86da4b30: [30/Nov/2026:09:00:06.096396] id=4 proto=unix_stream source=unix:1
  frontend=GLOBAL (id=0 mode=tcp), listener=? (id=1) addr=unix:1
  backend=<NONE> (id=-1 mode=-)
  server=<NONE> (id=-1)
0x7f1560039f10: [30/Nov/2026:09:00:05.775902] id=0 proto=tcpv4 source=127.0.0.1:47892
  frontend=web (id=2 mode=tcp), listener=? (id=1) addr=127.0.0.1:18080
  backend=web (id=3 mode=tcp) addr=127.0.0.1:59266
  server=a (id=1) addr=127.0.0.1:18091
0x7f1560039f11: [30/Nov/2026:09:00:05.775902] id=0 proto=tcpv4 source=127.0.0.1:47893
  frontend=api (id=2 mode=tcp), listener=? (id=1) addr=127.0.0.1:18081
  backend=api (id=3 mode=tcp) addr=127.0.0.1:59266
  server=a (id=1) addr=127.0.0.1:18099
";

    #[test]
    fn sessions_of_one_server_are_found_and_nobody_elses() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let own = at("127.0.0.1:18080");
        assert_eq!(sessions(SESSIONS, "web", "a"), [(own, at("127.0.0.1:47892"))]);
        assert_eq!(sessions(SESSIONS, "web", "b"), [(own, at("127.0.0.1:47880"))]);
        assert_eq!(sessions(SESSIONS, "web", "c"), []);
    }
}
