//! `target LISTENERS HOLES`: the servers that are probed, one thread on one epoll set.
//!
//! Addresses 127.x.y.z are all this machine's, but a listener bound to one of them answers only
//! for that one, and 10,000 listeners would measure the kernel's tables. So a few listeners are
//! bound to every address *of the loopback device*: nothing from outside can reach them.
//!
//! A hole is a listener whose queue is full: the kernel drops every further SYN, which looks from
//! outside like a host behind a firewall that drops.

use super::control::{self, Asked, CONTROL};
use crate::clock::now_ns;
use crate::why::{While, Why};
use nix::sys::socket::{setsockopt, sockopt::BindToDevice};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::{Errno, read, write};
use rustix::net::{
    AddressFamily, Ipv4Addr, SocketAddrV4, SocketFlags, SocketType, accept_with, bind, connect,
    getsockname, listen, socket_with, sockopt::set_socket_reuseaddr,
};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";

/// The longest request read; the peers' are all under 200 bytes.
const HEAD: usize = 2048;

/// Connections accepted in one go before others get their turn.
const CLUMP: usize = 64;

/// Prints the ports, listeners first, then answers each question with requests and moment.
pub(super) fn run(listeners: usize, holes: usize) -> Result<(), Why> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    control::listen(&epoll)?;
    let mut ports = Vec::new();
    let mut doors = Vec::new();
    for token in 0..listeners {
        let (door, port) = open_door(4096)?;
        epoll::add(&epoll, &door, EventData::new_u64(token as u64), EventFlags::IN)?;
        ports.push(u64::from(port));
        doors.push(door);
    }
    let mut filled = Vec::new();
    for _ in 0..holes {
        let (hole, port) = open_door(0)?;
        ports.push(u64::from(port));
        filled.push((fill(port)?, hole));
    }
    control::answer(&ports)?;
    Target { epoll, doors, talks: Vec::new(), requests: 0 }.serve()
}

pub(super) fn open_door(backlog: i32) -> Result<(OwnedFd, u16), Why> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let door = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    set_socket_reuseaddr(&door, true)?;
    setsockopt(&door, BindToDevice, &"lo".into()).while_doing("binding to the loopback device")?;
    bind_below(&door)?;
    listen(&door, backlog)?;
    let address = SocketAddrV4::try_from(getsockname(&door)?)?;
    Ok((door, address.port()))
}

/// Binds to a free port below those that outgoing connections draw theirs from, as services do: at
/// one of those a careful prober has to ask whether it met itself.
pub(super) fn bind_below(door: &OwnedFd) -> Result<(), Why> {
    const PORTS: std::ops::Range<u16> = 20_000..30_000;
    let free = |port: &u16| bind(door, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, *port)).is_ok();
    let found = PORTS.clone().find(free);
    found.map(|_| ()).ok_or_else(|| Why::new(format!("no port of {PORTS:?} is free")))
}

/// Fills the queue of a listener that nobody accepts from: with a backlog of none one waiting
/// connection is all it holds; the second makes sure.
fn fill(port: u16) -> Result<[OwnedFd; 2], Why> {
    let wait = || -> Result<OwnedFd, Why> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        match connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error.into()),
        }
    };
    Ok([wait()?, wait()?])
}

/// A connection and what it has sent of its request.
struct Talk {
    socket: OwnedFd,
    head: Vec<u8>,
    watched: bool,
}

struct Target {
    epoll: OwnedFd,
    doors: Vec<OwnedFd>,
    /// By number of their descriptor; tokens are shifted past those of the doors.
    talks: Vec<Option<Talk>>,
    requests: u64,
}

impl Target {
    fn serve(&mut self) -> Result<(), Why> {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let token = event.data.u64();
                if token == CONTROL {
                    match control::asked() {
                        Asked::Count => control::answer(&[self.requests, now_ns()])?,
                        Asked::End => return Ok(()),
                    }
                } else if (token as usize) < self.doors.len() {
                    self.welcome(token as usize);
                } else {
                    self.go_on(token as usize - self.doors.len());
                }
            }
        }
    }

    fn welcome(&mut self, door: usize) {
        for _ in 0..CLUMP {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let Ok(socket) = accept_with(&self.doors[door], flags) else { return };
            let number = socket.as_raw_fd() as usize;
            if self.talks.len() <= number {
                self.talks.resize_with(number + 1, || None);
            }
            self.talks[number] = Some(Talk { socket, head: Vec::new(), watched: false });
            // The request is often here with the last packet of the handshake.
            self.go_on(number);
        }
    }

    /// Reads on; answers a whole request; forgets the connection when it is done or broken.
    fn go_on(&mut self, number: usize) {
        let Some(talk) = self.talks.get_mut(number).and_then(Option::as_mut) else { return };
        let mut bytes = [0; HEAD];
        let open = match read(&talk.socket, &mut bytes) {
            Ok(0) => false,
            Ok(length) => {
                talk.head.extend_from_slice(&bytes[..length]);
                if talk.head.windows(4).any(|end| end == b"\r\n\r\n") {
                    // Closing right after the answer is what `Connection: close` promises.
                    self.requests += u64::from(write(&talk.socket, ANSWER).is_ok());
                    false
                } else {
                    talk.head.len() < HEAD
                }
            }
            Err(error) => error == Errno::AGAIN || error == Errno::INTR,
        };
        if !open {
            self.talks[number] = None;
        } else if !talk.watched {
            let token = EventData::new_u64((number + self.doors.len()) as u64);
            talk.watched = epoll::add(&self.epoll, &talk.socket, token, EventFlags::IN).is_ok();
        }
    }
}
