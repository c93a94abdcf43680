//! `speaker KIND`: one server that says what a healthy one of that kind says, and counts.
//!
//! One thread on one epoll set. It knows nothing of the protocols but these few bytes: what is
//! measured is the other side.

use super::control::{self, Asked, CONTROL};
use super::target::{bind_below, open_door};
use crate::clock::now_ns;
use crate::why::{While, Why};
use nix::sys::socket::{setsockopt, sockopt::BindToDevice};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::{Errno, read, write};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrV4, SocketFlags, SocketType, accept_with,
    getsockname, recvfrom, sendto, socket_with,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::collections::HashMap;
use std::io::{Cursor, Read, Write};
use std::sync::Arc;

const DOOR: u64 = 0;

/// What a kind says when somebody comes, and to each thing it then hears.
struct Script {
    greeting: &'static [u8],
    answers: &'static [&'static [u8]],
    /// The connection is kept: its last answer is that to each further question, and questions are
    /// counted, not connections.
    kept: bool,
}

const fn greets(greeting: &'static [u8]) -> Script {
    Script { greeting, answers: &[], kept: false }
}

const fn answers(answers: &'static [&'static [u8]]) -> Script {
    Script { greeting: b"", answers, kept: false }
}

/// A ServerHello of TLS 1.2, as far as a light check reads.
const SERVER_HELLO: &[u8] = b"\x16\x03\x03\0\x2a\x02\0\0\x26\x03\x03\
    01234567890123456789012345678901\0\xc0\x2f\0";

fn script(kind: &str) -> Option<Script> {
    Some(match kind {
        "ftp" => greets(b"220 ready\r\n"),
        "smtp" => greets(b"220 mail.example ESMTP\r\n"),
        "pop3" => greets(b"+OK ready\r\n"),
        "imap" => greets(b"* OK ready\r\n"),
        "nntp" => greets(b"200 ready\r\n"),
        "telnet" => greets(b"\xff\xfd\x18"),
        "xfnts" | "ping" | "path" | "log" | "process" | "listener" | "oracle" | "systemd" => {
            greets(b"")
        }
        "remote" => answers(&[b"HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n\
            {\"services\":[{\"name\":\"web\",\"status\":\"ok\"}]}"]),
        "redis" => answers(&[b"+PONG\r\n"]),
        "mqtt" => answers(&[b"\x20\x02\0\0"]),
        "ldap" => answers(&[b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0"]),
        "postgres" => answers(&[
            b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
            b"T\0\0\0\x06\0\0D\0\0\0\x06\0\0C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
        ]),
        // The monitor of a database: let in, then at each look its counters, which stand still.
        "database" => Script {
            kept: true,
            ..answers(&[
                b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
                b"T\0\0\0\x06\0\0D\0\0\0\x10\0\x02\0\0\0\x01f\0\0\0\x017C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
            ])
        },
        "apache" => answers(&[b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n"]),
        "tls" => answers(&[SERVER_HELLO]),
        _ => return None,
    })
}

/// What is answered to a datagram.
fn reply(kind: &str, question: &[u8]) -> Vec<u8> {
    let mut answer = question.to_vec();
    match kind {
        // The same with the bit that makes it a response; no record is needed for NOERROR.
        "dns" => {
            if let Some(flags) = answer.get_mut(2) {
                *flags |= 0x80;
            }
        }
        // The call's number, then: a reply, accepted, nothing to prove, success.
        "rpc" => {
            answer.truncate(4);
            answer.extend_from_slice(&[0, 0, 0, 1]);
            answer.extend_from_slice(&[0; 16]);
        }
        _ => {}
    }
    answer
}

/// Prints its port, then answers each question with checks and moment.
pub(super) fn run(kind: &str) -> Result<(), Why> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    control::listen(&epoll)?;
    let (door, port) = match kind {
        "dns" | "rpc" | "udp" => open_datagrams()?,
        _ => open_door(4096)?,
    };
    epoll::add(&epoll, &door, EventData::new_u64(DOOR), EventFlags::IN)?;
    control::answer(&[u64::from(port)])?;
    let server = match (kind, script(kind)) {
        ("dns" | "rpc" | "udp", _) => Server::Datagrams(kind.to_owned()),
        ("https", _) => Server::Tls(tls()?),
        (_, Some(script)) => Server::Says(script),
        _ => return Err(Why::new(format!("nobody knows what {kind} says"))),
    };
    Speaker { epoll, door, server, talks: HashMap::new(), checks: 0 }.serve()
}

fn open_datagrams() -> Result<(OwnedFd, u16), Why> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let door = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    setsockopt(&door, BindToDevice, &"lo".into()).while_doing("binding to the loopback device")?;
    bind_below(&door)?;
    let port = SocketAddrV4::try_from(getsockname(&door)?)?.port();
    Ok((door, port))
}

fn tls() -> Result<Arc<ServerConfig>, Why> {
    const PEM: &[u8] = include_bytes!("../../../../../shell/src/check/tls/tests.pem");
    let key = PrivateKeyDer::from_pem_slice(PEM).map_err(Why::new)?;
    let certificate = CertificateDer::from_pem_slice(PEM).map_err(Why::new)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key));
    Ok(Arc::new(config.map_err(Why::new)?))
}

enum Server {
    Says(Script),
    Datagrams(String),
    Tls(Arc<ServerConfig>),
}

struct Talk {
    socket: OwnedFd,
    said: usize,
    tls: Option<Box<ServerConnection>>,
}

struct Speaker {
    epoll: OwnedFd,
    door: OwnedFd,
    server: Server,
    /// By number of their descriptor plus one.
    talks: HashMap<u64, Talk>,
    checks: u64,
}

impl Speaker {
    fn serve(&mut self) -> Result<(), Why> {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match (event.data.u64(), &self.server) {
                    (CONTROL, _) => match control::asked() {
                        Asked::Count => control::answer(&[self.checks, now_ns()])?,
                        Asked::End => return Ok(()),
                    },
                    (DOOR, Server::Datagrams(_)) => self.reply(),
                    (DOOR, _) => self.welcome(),
                    (number, _) => self.go_on(number),
                }
            }
        }
    }

    fn reply(&mut self) {
        let Server::Datagrams(kind) = &self.server else { return };
        let mut bytes = [0_u8; 512];
        while let Ok((length, _, Some(from))) =
            recvfrom(&self.door, &mut bytes[..], RecvFlags::empty())
        {
            let answer = reply(kind, &bytes[..length]);
            self.checks +=
                u64::from(sendto(&self.door, &answer, SendFlags::empty(), &from).is_ok());
        }
    }

    fn welcome(&mut self) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let kept = matches!(&self.server, Server::Says(Script { kept: true, .. }));
        while let Ok(socket) = accept_with(&self.door, flags) {
            self.checks += u64::from(!kept);
            let tls = match &self.server {
                Server::Tls(config) => ServerConnection::new(Arc::clone(config)).ok().map(Box::new),
                Server::Says(script) => {
                    if !script.greeting.is_empty() {
                        let _ = write(&socket, script.greeting);
                    }
                    None
                }
                Server::Datagrams(_) => None,
            };
            let number = socket.as_raw_fd() as u64 + 1;
            let token = EventData::new_u64(number);
            if epoll::add(&self.epoll, socket.as_fd(), token, EventFlags::IN).is_ok() {
                self.talks.insert(number, Talk { socket, said: 0, tls });
                self.go_on(number);
            }
        }
    }

    fn go_on(&mut self, number: u64) {
        let Some(talk) = self.talks.get_mut(&number) else { return };
        let mut bytes = [0; 4096];
        let open = match read(&talk.socket, &mut bytes) {
            Ok(0) => false,
            Ok(length) => {
                let heard = &bytes[..length];
                let look = matches!(&self.server, Server::Says(Script { kept: true, .. }));
                // The first answer lets in, and a goodbye is no question.
                self.checks += u64::from(look && talk.said > 0 && heard.first() == Some(&b'Q'));
                talk.answer(&self.server, heard)
            }
            Err(error) => error == Errno::AGAIN || error == Errno::INTR,
        };
        if !open {
            self.talks.remove(&number);
        }
    }
}

impl Talk {
    /// Whether it goes on.
    fn answer(&mut self, server: &Server, heard: &[u8]) -> bool {
        match server {
            Server::Says(script) => {
                let last = script.answers.last().filter(|_| script.kept);
                let Some(answer) = script.answers.get(self.said).or(last) else { return true };
                self.said += 1;
                write(&self.socket, answer).is_ok()
            }
            Server::Tls(_) => self.answer_in_tls(heard).is_some(),
            Server::Datagrams(_) => false,
        }
    }

    fn answer_in_tls(&mut self, heard: &[u8]) -> Option<()> {
        let tls = self.tls.as_mut()?;
        let mut heard = Cursor::new(heard);
        while (heard.position() as usize) < heard.get_ref().len() {
            tls.read_tls(&mut heard).ok()?;
            tls.process_new_packets().ok()?;
        }
        let mut request = [0; 1024];
        if matches!(tls.reader().read(&mut request), Ok(1..)) {
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            tls.writer().write_all(answer).ok()?;
            tls.send_close_notify();
        }
        let mut said = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut said).ok()?;
        }
        if said.is_empty() { Some(()) } else { write(&self.socket, &said).ok().map(|_| ()) }
    }
}
