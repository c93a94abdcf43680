//! What a keeper asks for, done: the kernel's addresses, frames on interfaces, sockets ended,
//! commands run. Everything here may wait, since it is in a process of its own; nothing waits
//! longer than its limit.

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::LinkAddr;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use super::super::steps::Held;
use super::frame::{self, Mac};
use super::keeper::{Do, Event};
use super::refuse;
use super::sight::{self, Present, Sight, Spot};
use super::spawn;
use crate::netlink::sockets::Sockets;
use crate::netlink::{ACK, CREATE, DUMP, Netlink, REPLACE, ROUTE};

/// Ethernet, among the kinds of interfaces.
const ETHERNET: u16 = 1;

/// The edge of one group.
pub struct Edge {
    held: Held,
    route: Netlink,
    changes: Netlink,
    ears: Vec<Ear>,
}

/// An open packet socket.
struct Ear {
    place: usize,
    interface: u32,
    own: Mac,
    fd: OwnedFd,
}

/// What is told, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// The daemon gets an answer.
    Tell(super::super::steps::Done),
    /// People are told.
    Say(String),
    /// It is over.
    End,
}

impl Edge {
    /// # Errors
    /// The kernel tells nobody of addresses, or we lack descriptors.
    pub fn new(held: Held) -> Result<Self, Errno> {
        let route = Netlink::open(ROUTE)?;
        let changes = Netlink::listen(ROUTE, sight::CHANGES)?;
        Ok(Self { held, route, changes, ears: Vec::new() })
    }

    /// What wakes it.
    pub fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.changes.as_fd()).chain(self.ears.iter().map(|ear| ear.fd.as_fd()))
    }

    /// What was heard since it was asked last, the first of each kind.
    pub fn heard(&self) -> Vec<Event> {
        let mut events: Vec<Event> = self.ears.iter().filter_map(|ear| self.hear(ear)).collect();
        if self.changes.heard() != Ok(false) {
            events.push(Event::Changed);
        }
        events
    }

    /// The first other holder that an ear has heard of; everything is read off.
    fn hear(&self, ear: &Ear) -> Option<Event> {
        let (address, _) = *self.held.addresses.get(ear.place)?;
        let mut buffer = [0; 256];
        let mut holder = None;
        loop {
            match recv(&ear.fd, buffer.as_mut_slice(), RecvFlags::empty()) {
                Ok((_, length)) => {
                    let frame = buffer.get(..length).unwrap_or_default();
                    holder = holder.or_else(|| frame::other_holder(frame, address, ear.own));
                }
                Err(Errno::INTR) => {}
                Err(_) => break, // nothing more, or the interface went down
            }
        }
        holder.map(|by| Event::Heard { place: ear.place, by })
    }

    /// Does one thing, and says what has to be told and what the keeper is answered.
    pub fn carry(&mut self, what: Do) -> (Option<Out>, Option<Event>) {
        let failed = |result: Result<(), String>| (None, result.err().map(Event::Failed));
        let said = |text: Option<String>| (text.map(Out::Say), None);
        match what {
            Do::Look => (None, Some(Event::Looked(self.look()))),
            Do::Probe { place, interface } => failed(self.probe(place, interface)),
            Do::Deaf => {
                self.ears.clear();
                (None, None)
            }
            Do::Bring { place } => failed(self.bring(place)),
            Do::Set { place, spot, seconds } => failed(self.set(place, spot, seconds)),
            Do::Refuse(on) => said(refuse::refuse(&self.addresses(), on).err()),
            Do::Cut => said(self.cut()),
            Do::Remove { place, spot, by_kernel } => {
                said(self.remove(place, spot, by_kernel).err())
            }
            Do::Announce { place, interface } => said(self.announce(place, interface).err()),
            Do::Tell(done) => (Some(Out::Tell(done)), None),
            Do::Say(text) => (Some(Out::Say(text)), None),
            Do::End => (Some(Out::End), None),
        }
    }

    fn addresses(&self) -> Vec<IpAddr> {
        self.held.addresses.iter().map(|(address, _)| *address).collect()
    }

    fn address(&self, place: usize) -> Result<IpAddr, String> {
        let held = self.held.addresses.get(place);
        held.map(|(address, _)| *address).ok_or_else(|| format!("there is no address {place}"))
    }

    fn look(&mut self) -> Result<Sight, String> {
        let mut present = Vec::new();
        self.route
            .ask(sight::GET, DUMP, &sight::ask(), |payload| present.extend(Present::read(payload)))
            .map_err(|errno| errno.to_string())?;
        let named = self.held.interface.as_deref().and_then(|name| if_nametoindex(name).ok());
        Ok(Sight { present, named })
    }

    fn set(&mut self, place: usize, spot: Spot, seconds: u32) -> Result<(), String> {
        let address = self.address(place)?;
        let request = sight::set(address, spot, self.held.label.as_deref(), seconds);
        self.route
            .ask(sight::NEW, ACK | CREATE | REPLACE, &request, |_| {})
            .map_err(|errno| format!("{address} cannot be set: {errno}"))
    }

    fn bring(&self, place: usize) -> Result<(), String> {
        let address = self.address(place)?;
        match &self.held.commands {
            Some(commands) => spawn::run(&commands.up, address),
            None => Ok(()),
        }
    }

    fn remove(&mut self, place: usize, spot: Spot, by_kernel: bool) -> Result<(), String> {
        let address = self.address(place)?;
        if let Some(commands) = self.held.commands.as_ref().filter(|_| !by_kernel) {
            return spawn::run(&commands.down, address);
        }
        match self.route.ask(sight::DELETE, ACK, &sight::remove(address, spot), |_| {}) {
            Ok(()) | Err(Errno::ADDRNOTAVAIL | Errno::NODEV) => Ok(()), // it is gone
            Err(errno) => Err(format!("{address} cannot be taken off: {errno}")),
        }
    }

    /// Ends connections. What was ended is said, and what could not be.
    fn cut(&self) -> Option<String> {
        let mut said = Vec::new();
        for address in self.addresses() {
            match Sockets::open().and_then(|mut sockets| sockets.cut_address(address)) {
                Ok(cut) => {
                    if cut.done > 0 {
                        said.push(format!("{} connections to {address} ended", cut.done));
                    }
                    if let Some(errno) = cut.errno {
                        let why = Errno::from_raw_os_error(errno);
                        let left = format!("{} to {address} could not be ended: {why}", cut.failed);
                        said.push(left);
                    }
                }
                Err(errno) => said.push(format!("connections to {address} not ended: {errno}")),
            }
        }
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn probe(&mut self, place: usize, interface: u32) -> Result<(), String> {
        let address = self.address(place)?;
        let is_open = |ear: &Ear| ear.place == place && ear.interface == interface;
        if !self.ears.iter().any(is_open) {
            let Some((fd, own)) = open(interface, address)? else { return Ok(()) };
            self.ears.push(Ear { place, interface, own, fd });
        }
        let Some(ear) = self.ears.iter().find(|ear| is_open(ear)) else { return Ok(()) };
        say(&ear.fd, &frame::probe(address, ear.own))
            .map_err(|errno| format!("nobody can be asked about {address}: {errno}"))
    }

    fn announce(&self, place: usize, interface: u32) -> Result<(), String> {
        let address = self.address(place)?;
        if let Some(words) = self.held.commands.as_ref().and_then(|it| it.announce.as_ref()) {
            return spawn::run(words, address);
        }
        let Some((fd, own)) = open(interface, address)? else { return Ok(()) };
        for frame in frame::announcements(address, own) {
            say(&fd, &frame).map_err(|errno| format!("{address} is not announced: {errno}"))?;
        }
        Ok(())
    }
}

fn say(fd: &OwnedFd, frame: &[u8]) -> Result<(), Errno> {
    send(fd, frame, SendFlags::empty()).map(|_| ())
}

/// A packet socket for frames about `address` on an interface, and its hardware address; `None`
/// where nobody is asked: it has no neighbours, or they do not ask each other.
fn open(interface: u32, address: IpAddr) -> Result<Option<(OwnedFd, Mac)>, String> {
    let link = link(interface)?;
    let Some(link) = link else { return Ok(None) };
    let kind = u32::from(frame::kind(address).to_be());
    let protocol = std::num::NonZeroU32::new(kind).map(Protocol::from_raw);
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, protocol)
        .map_err(|errno| format!("no packet socket: {errno}"))?;
    // The address names the interface only; the kind of frames stays the socket's.
    nix::sys::socket::bind(fd.as_raw_fd(), &link)
        .map_err(|errno| format!("no packet socket on interface {interface}: {errno}"))?;
    Ok(Some((fd, link.addr().unwrap_or_default())))
}

fn link(interface: u32) -> Result<Option<LinkAddr>, String> {
    let mut all = getifaddrs().map_err(|errno| format!("interfaces cannot be listed: {errno}"))?;
    let found = all.find_map(|it| {
        let link = *it.address?.as_link_addr()?;
        let is = u32::try_from(link.ifindex()) == Ok(interface);
        is.then_some((link, it.flags))
    });
    let (link, flags) = found.ok_or_else(|| format!("interface {interface} is gone"))?;
    let silent = InterfaceFlags::IFF_NOARP | InterfaceFlags::IFF_LOOPBACK;
    Ok((link.hatype() == ETHERNET && !flags.intersects(silent)).then_some(link))
}
