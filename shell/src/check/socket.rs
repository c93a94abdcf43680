//! The few system calls of a socket probe.

use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

use mio::Interest;
use mio::unix::SourceFd;
use nix::sys::socket::sockopt::{Ipv4RecvErr, Ipv6RecvErr};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_tcp_quickack, socket_error};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, ipproto,
};

use super::dialogue::First;
use crate::reactor::{Reactor, Token};

/// A stream socket that was told to connect, and whether the loop watches it.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    watched: bool,
}

/// Whether we may ping: by a raw socket, or by the kernel's own for pinging. True too where
/// something else is wrong than the right.
#[must_use]
pub fn may_ping(v6: bool) -> bool {
    !matches!(echo_socket(v6), Err(Errno::PERM))
}

/// A socket for echo requests, and whether it is a raw one.
fn echo_socket(v6: bool) -> Result<(OwnedFd, bool), Errno> {
    let (family, protocol) = match v6 {
        false => (AddressFamily::INET, ipproto::ICMP),
        true => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let open = |kind| rustix::net::socket_with(family, kind, flags, Some(protocol));
    match open(SocketType::RAW) {
        Ok(fd) => Ok((fd, true)),
        Err(Errno::PERM | Errno::ACCESS) => match open(SocketType::DGRAM) {
            Ok(fd) => Ok((fd, false)),
            Err(Errno::ACCESS) => Err(Errno::PERM),
            Err(errno) => Err(errno),
        },
        Err(errno) => Err(errno),
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is made.
    Made,
    /// It will be, or not; the loop will hear of it.
    Pending,
}

/// How a socket is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// With a reset: nothing is left of the connection on either side, no TIME_WAIT either.
    Reset,
    /// In order; what is still to be sent, is.
    Orderly,
}

impl Socket {
    /// Begins to connect to `address`.
    ///
    /// Unless the other side speaks first, the acknowledgement of the handshake is held back:
    /// a request carries it, and a check without one resets the connection before the target's
    /// `accept` ever sees it. Both sides are spared a packet, the target a connection that only
    /// comes to go; HAProxy does the same, and it is 1.6 times cheaper than to connect and
    /// close.
    ///
    /// # Errors
    /// The kernel's own; nothing is left open.
    pub(super) fn connect(
        address: SocketAddr,
        first: First<'_>,
    ) -> Result<(Self, Progress), Errno> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        if first != First::They {
            // Where this cannot be set the check costs a packet more.
            let _ = set_tcp_quickack(&fd, false);
        }
        let mut result = rustix::net::connect(&fd, &address);
        if result == Err(Errno::INPROGRESS)
            && address.ip().is_loopback()
            && !matches!(first, First::We(_))
        {
            // On loopback the whole handshake took place within the call; asking again tells. It
            // spares a change of the epoll set and a wake-up. Where we have something to say the
            // loop comes back to it, when others have been connected too: said at once it would
            // wake the target for each, who has gone back to sleep by the next.
            result = rustix::net::connect(&fd, &address);
        }
        let socket = Self { fd, watched: false };
        match result {
            Ok(()) | Err(Errno::ISCONN) => Ok((socket, Progress::Made)),
            Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) => {
                Ok((socket, Progress::Pending))
            }
            Err(errno) => Err(errno),
        }
    }

    /// Begins to connect to the socket at `path` in the file system.
    ///
    /// # Errors
    /// The kernel's own; nothing is left open. EAGAIN says that too many wait there already.
    pub(super) fn connect_to_file(path: &str) -> Result<(Self, Progress), Errno> {
        let address = SocketAddrUnix::new(path)?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let socket = Self { fd, watched: false };
        match rustix::net::connect(&socket.fd, &address) {
            Ok(()) => Ok((socket, Progress::Made)),
            Err(Errno::INPROGRESS | Errno::INTR) => Ok((socket, Progress::Pending)),
            Err(errno) => Err(errno),
        }
    }

    /// A datagram socket that speaks with `address` alone, and hears of every report that it
    /// cannot be reached.
    ///
    /// # Errors
    /// The kernel's own; nothing is left open, and nothing was sent.
    pub(super) fn datagram(address: SocketAddr) -> Result<Self, Errno> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
        Self::hearing_reports(fd, address)
    }

    fn hearing_reports(fd: OwnedFd, address: SocketAddr) -> Result<Self, Errno> {
        let told = match address {
            SocketAddr::V4(_) => setsockopt(&fd, Ipv4RecvErr, &true),
            SocketAddr::V6(_) => setsockopt(&fd, Ipv6RecvErr, &true),
        };
        told.map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
        rustix::net::connect(&fd, &address)?;
        Ok(Self { fd, watched: false })
    }

    /// A socket for echo requests to `address`: a raw one, or where that is not permitted the
    /// kernel's own for pinging. Of the latter the identifier is the kernel's, and comes too.
    ///
    /// # Errors
    /// EPERM if neither is permitted, else the kernel's own; nothing is left open.
    pub(super) fn echo(address: IpAddr) -> Result<(Self, Option<u16>), Errno> {
        let (fd, is_raw) = echo_socket(address.is_ipv6())?;
        let socket = Self::hearing_reports(fd, SocketAddr::new(address, 0))?;
        if is_raw {
            return Ok((socket, None));
        }
        let own = SocketAddr::try_from(rustix::net::getsockname(&socket.fd)?);
        Ok((socket, own.ok().map(|own| own.port())))
    }

    /// A raw socket for echo requests to whom ever, and reports about them. `None`: it is not
    /// permitted.
    ///
    /// # Errors
    /// The kernel's own; nothing is left open.
    pub(super) fn shared_echo(v6: bool) -> Result<Option<Self>, Errno> {
        let (fd, is_raw) = match echo_socket(v6) {
            Err(Errno::PERM) => return Ok(None),
            other => other?,
        };
        if !is_raw {
            return Ok(None);
        }
        let told = match v6 {
            false => setsockopt(&fd, Ipv4RecvErr, &true),
            true => setsockopt(&fd, Ipv6RecvErr, &true),
        };
        told.map_err(|errno| Errno::from_raw_os_error(errno as i32))?;
        Ok(Some(Self { fd, watched: false }))
    }

    /// Sends to `address`, on a socket without ports.
    ///
    /// # Errors
    /// The kernel's own.
    pub(super) fn send_to(&self, bytes: &[u8], address: IpAddr) -> Result<usize, Errno> {
        let to = SocketAddr::new(address, 0);
        rustix::net::sendto(&self.fd, bytes, SendFlags::NOSIGNAL, &to)
    }

    /// Reads what there is, and from whom it is.
    ///
    /// # Errors
    /// The kernel's own, EAGAIN if there is nothing.
    pub(super) fn receive_from(&self, buffer: &mut [u8]) -> Result<(usize, Option<IpAddr>), Errno> {
        let (_, length, from) = rustix::net::recvfrom(&self.fd, buffer, RecvFlags::empty())?;
        let from = from.and_then(|from| SocketAddr::try_from(from).ok());
        Ok((length, from.map(|from| from.ip())))
    }

    /// The loop need not hear of it.
    pub(super) fn unwatch(&mut self, reactor: &Reactor) {
        if std::mem::take(&mut self.watched) {
            reactor.remove(&mut SourceFd(&self.fd.as_raw_fd()));
        }
    }

    /// The next report that something sent did not arrive: what it means, and the beginning of
    /// what was sent, in `buffer`.
    pub(super) fn report<'b>(&self, buffer: &'b mut [u8]) -> Option<(Errno, &'b [u8])> {
        let mut space = nix::cmsg_space!([u8; 64]);
        let (errno, length) = {
            let mut parts = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let raw = self.fd.as_raw_fd();
            let message = recvmsg::<()>(raw, &mut parts, Some(&mut space), flags).ok()?;
            let errno = message.cmsgs().ok()?.find_map(|part| match part {
                ControlMessageOwned::Ipv4RecvErr(error, _)
                | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                    i32::try_from(error.ee_errno).ok().map(Errno::from_raw_os_error)
                }
                _ => None,
            });
            (errno.unwrap_or(Errno::IO), message.bytes)
        };
        Some((errno, buffer.get(..length).unwrap_or_default()))
    }

    /// True if the socket is connected to itself: a connection to a port of the range that
    /// outgoing connections draw theirs from, where nobody listens, can meet itself. It looks
    /// like a healthy service and is nobody.
    pub(super) fn is_its_own_peer(&self, port: u16) -> bool {
        let own = rustix::net::getsockname(&self.fd).ok();
        own.and_then(|own| SocketAddr::try_from(own).ok())
            .is_some_and(|own| own.port() == port && Some(own) == self.peer())
    }

    /// Whom it is connected to.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        rustix::net::getpeername(&self.fd).ok()??.try_into().ok()
    }

    /// The error that is pending, if one is.
    pub(super) fn error(&self) -> Option<Errno> {
        match socket_error(&self.fd) {
            Ok(Ok(())) => None,
            Ok(Err(errno)) | Err(errno) => Some(errno),
        }
    }

    /// Sends what there is room for.
    ///
    /// # Errors
    /// The kernel's own, EAGAIN if there is no room.
    pub(super) fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        rustix::net::send(&self.fd, bytes, SendFlags::NOSIGNAL)
    }

    /// Reads what there is; zero bytes are the end.
    ///
    /// # Errors
    /// The kernel's own, EAGAIN if there is nothing yet.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        rustix::net::recv(&self.fd, buffer, RecvFlags::empty()).map(|(_, length)| length)
    }

    /// Says that we shall send no more.
    ///
    /// # Errors
    /// The kernel's own, ENOTCONN if the connection is gone.
    pub(super) fn say_goodbye(&self) -> Result<(), Errno> {
        rustix::net::shutdown(&self.fd, Shutdown::Write)
    }

    /// Has the loop wake `token` when the socket is ready.
    ///
    /// # Errors
    /// The kernel's own.
    pub(super) fn watch(
        &mut self,
        reactor: &Reactor,
        token: Token,
        interest: Interest,
    ) -> Result<(), Errno> {
        let raw = self.fd.as_fd().as_raw_fd();
        let mut source = SourceFd(&raw);
        let result = if self.watched {
            reactor.change(&mut source, token, interest)
        } else {
            reactor.add(&mut source, token, interest)
        };
        self.watched |= result.is_ok();
        result.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// True if the loop watches it.
    pub(super) const fn is_watched(&self) -> bool {
        self.watched
    }

    /// Gives the socket up: out of the loop first, then closed.
    pub(super) fn close(self, reactor: &Reactor, how: Close) {
        if self.watched {
            reactor.remove(&mut SourceFd(&self.fd.as_raw_fd()));
        }
        if how == Close::Reset {
            let _ = set_socket_linger(&self.fd, Some(Duration::ZERO));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::reactor::Room;

    #[test]
    fn a_connection_on_loopback_is_judged_within_the_call() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let (socket, progress) = Socket::connect(address, First::Nobody).expect("a connection");
        assert_eq!(progress, Progress::Made);
        assert!(!socket.is_its_own_peer(address.port()));
        drop(listener);
        for first in [First::Nobody, First::They] {
            let errno = Socket::connect(address, first).expect_err("nobody");
            assert_eq!(errno, Errno::CONNREFUSED);
        }
    }

    /// A child between fork and exec holds a copy of every descriptor. If the entry in the
    /// epoll set outlived the close, the copy would wake a probe that is long over.
    #[test]
    fn a_closed_socket_wakes_nobody_though_a_copy_lives_on() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let mut reactor = Reactor::new().expect("a reactor");
        let (mut socket, _) = Socket::connect(address, First::We(b"hello")).expect("a connection");
        let token = Token::new(Room::Probe, 1, 1);
        socket.watch(&reactor, token, Interest::READABLE).expect("watched");
        assert_eq!(socket.send(b"hello"), Ok(5));
        let copy = socket.fd.try_clone().expect("a copy");
        socket.close(&reactor, Close::Orderly);
        drop(listener.accept().expect("the connection")); // resets it: "hello" was not read
        let mut ready = Vec::new();
        while rustix::net::sockopt::socket_error(&copy).expect("asked").is_ok() {
            std::thread::yield_now();
        }
        reactor.wait(Some(Duration::ZERO), &mut ready).expect("no error");
        assert_eq!(ready, []);
    }

    #[test]
    fn a_socket_that_met_itself_is_found_out() {
        let flags = SocketFlags::CLOEXEC;
        let fd = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
            .expect("a socket");
        let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        rustix::net::bind(&fd, &any).expect("a port");
        let own = rustix::net::getsockname(&fd).expect("its name");
        let own = SocketAddr::try_from(own).expect("an address");
        rustix::net::connect(&fd, &own).expect("a connection to itself");
        assert!(Socket { fd, watched: false }.is_its_own_peer(own.port()));
    }
}
