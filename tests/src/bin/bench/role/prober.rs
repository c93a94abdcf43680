//! `prober KIND LIST INTERVAL TICK`: the bare loop. As little as a TCP or HTTP check can cost.
//!
//! No names, no limits, no histories, no decisions: sockets, one epoll set and a queue. What a
//! monitor costs above this is the price of being a monitor. It uses the same tricks as HAProxy:
//! the third packet of the handshake is held back (TCP_QUICKACK) and the connection reset
//! (SO_LINGER), so the packet is never sent and the target never wakes; an HTTP request carries
//! it for nothing.

use super::control::{self, Asked, CONTROL};
use crate::clock::{epoll_timeout, now_ns};
use crate::why::{While, Why};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrV4, SocketFlags, SocketType, connect, recv,
    send, socket_with,
    sockopt::{set_socket_linger, set_tcp_quickack},
};
use std::collections::VecDeque;
use std::fs;
use std::time::Duration;

const REQUEST: &[u8] = b"HEAD / HTTP/1.1\r\nHost: target\r\nConnection: close\r\n\r\n";
const TIMEOUT_NS: u64 = 1_000_000_000;

/// Checks under way at once when nothing paces them: enough that no turn of the loop is idle,
/// few enough to stay in the caches.
const AT_ONCE: usize = 64;

struct Slot {
    socket: Option<OwnedFd>,
    serial: u32,
}

struct Prober {
    epoll: OwnedFd,
    http: bool,
    targets: Vec<SocketAddrV4>,
    slots: Vec<Slot>,
    /// Serial, target and deadline of the checks in the order they were started; all have the
    /// same timeout, so the front is the next to be late.
    queue: VecDeque<(u32, u32, u64)>,
    under_way: usize,
    started: u64,
    good: u64,
    bad: u64,
}

/// `list` is a file with an address a line. An interval of 0 means as fast as it goes. Starts are
/// rounded down to multiples of the tick. Answers with good and bad checks.
pub(super) fn run(kind: &str, list: &str, interval_us: u64, tick_us: u64) -> Result<(), Why> {
    let text = fs::read_to_string(list).while_doing(list)?;
    let address = |line: &str| line.parse().map_err(|_| Why::new(format!("address: {line:?}")));
    let targets = text.lines().map(address).collect::<Result<Vec<SocketAddrV4>, Why>>()?;
    drop(text);
    let slots = targets.iter().map(|_| Slot { socket: None, serial: 0 }).collect();
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    control::listen(&epoll)?;
    control::answer(&[targets.len() as u64])?;
    let mut prober = Prober {
        epoll,
        http: kind == "http",
        targets,
        slots,
        queue: VecDeque::new(),
        under_way: 0,
        started: 0,
        good: 0,
        bad: 0,
    };
    prober.probe(interval_us * 1000, tick_us.max(1) * 1000)
}

impl Prober {
    fn probe(&mut self, interval_ns: u64, tick_ns: u64) -> Result<(), Why> {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        let (begin, count) = (now_ns(), self.targets.len() as u64);
        // The n-th check is due n N-ths of the interval after the begin, rounded down.
        let due = |n: u64| begin + n * interval_ns / count / tick_ns * tick_ns;
        loop {
            let now = now_ns();
            self.give_up_late(now);
            let next = if interval_ns == 0 {
                while self.under_way < AT_ONCE.min(self.targets.len()) {
                    self.start_next(now);
                }
                now + TIMEOUT_NS
            } else {
                while due(self.started) <= now {
                    self.start_next(now);
                }
                due(self.started)
            };
            let late = self.queue.front().map_or(u64::MAX, |(_, _, deadline)| *deadline);
            let timeout = epoll_timeout(next.min(late).saturating_sub(now));
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                match event.data.u64() {
                    CONTROL => match control::asked() {
                        Asked::Count => control::answer(&[self.good, self.bad])?,
                        Asked::End => return Ok(()),
                    },
                    target => self.go_on(target as usize, event.flags),
                }
            }
        }
    }

    fn start_next(&mut self, now: u64) {
        let index = (self.started % self.targets.len() as u64) as usize;
        self.started += 1;
        if self.slots[index].socket.is_some() {
            self.finish(index, false);
        }
        match self.open(index) {
            Ok(socket) => {
                let slot = &mut self.slots[index];
                slot.socket = Some(socket);
                slot.serial = slot.serial.wrapping_add(1);
                self.queue.push_back((slot.serial, index as u32, now + TIMEOUT_NS));
                self.under_way += 1;
            }
            Err(_) => self.bad += 1,
        }
    }

    fn open(&self, index: usize) -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        set_tcp_quickack(&socket, false)?;
        set_socket_linger(&socket, Some(Duration::ZERO))?;
        match connect(&socket, &self.targets[index]) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        epoll::add(&self.epoll, &socket, EventData::new_u64(index as u64), EventFlags::OUT)?;
        Ok(socket)
    }

    fn go_on(&mut self, index: usize, flags: EventFlags) {
        let Some(socket) = &self.slots[index].socket else { return };
        if flags.intersects(EventFlags::ERR) {
            self.finish(index, false);
        } else if !self.http {
            self.finish(index, true);
        } else if flags.contains(EventFlags::IN) {
            let mut bytes = [0; 1024];
            let got = recv(socket, &mut bytes[..], RecvFlags::empty()).map_or(0, |(_, n)| n);
            self.finish(index, bytes[..got].starts_with(b"HTTP/1.1 200 "));
        } else {
            let token = EventData::new_u64(index as u64);
            let asked = send(socket, REQUEST, SendFlags::NOSIGNAL).is_ok()
                && epoll::modify(&self.epoll, socket, token, EventFlags::IN).is_ok();
            if !asked {
                self.finish(index, false);
            }
        }
    }

    /// Closes the socket, and with it its place in the epoll set: this process never spawns, so
    /// nobody holds a copy.
    fn finish(&mut self, index: usize, good: bool) {
        if self.slots[index].socket.take().is_some() {
            self.under_way -= 1;
            *(if good { &mut self.good } else { &mut self.bad }) += 1;
        }
    }

    fn give_up_late(&mut self, now: u64) {
        while let Some((serial, index, deadline)) = self.queue.front().copied() {
            let slot = &self.slots[index as usize];
            let gone = slot.socket.is_none() || slot.serial != serial;
            if !gone && deadline > now {
                return;
            }
            self.queue.pop_front();
            if !gone {
                self.finish(index as usize, false);
            }
        }
    }
}
