//! Sockets of this host: found, and destroyed, as `ss -K` does it. Both ends of each hear of it at
//! once.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use rustix::net::netlink;

use super::{ACK, DUMP, Netlink};

/// Kinds of requests.
const BY_FAMILY: u16 = 20;
const DESTROY: u16 = 21;

const TCP: u8 = 6;
const INET: u8 = 2;
const INET6: u8 = 10;

/// Connections in any state but listening, closed, and the wait after an orderly end.
const CONNECTED: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// A socket, as the kernel names it: its own end first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    family: u8,
    /// This end.
    pub own: SocketAddr,
    /// The other one.
    pub peer: SocketAddr,
    interface: u32,
    cookie: [u32; 2],
}

/// Whatever cookie it has.
const ANY: [u32; 2] = [u32::MAX; 2];

impl Connection {
    /// The one between these ends.
    #[must_use]
    pub const fn between(family: u8, own: SocketAddr, peer: SocketAddr) -> Self {
        Self { family, own, peer, interface: 0, cookie: ANY }
    }

    /// `inet_diag_req_v2` for it.
    fn request(&self, states: u32) -> Vec<u8> {
        let mut bytes = vec![self.family, TCP, 0, 0];
        bytes.extend_from_slice(&states.to_ne_bytes());
        bytes.extend_from_slice(&self.own.port().to_be_bytes());
        bytes.extend_from_slice(&self.peer.port().to_be_bytes());
        bytes.extend_from_slice(&octets(self.family, self.own.ip()));
        bytes.extend_from_slice(&octets(self.family, self.peer.ip()));
        bytes.extend_from_slice(&self.interface.to_ne_bytes());
        bytes.extend(self.cookie.iter().flat_map(|half| half.to_ne_bytes()));
        bytes
    }

    /// From an `inet_diag_msg`; `None` if it is torn.
    fn read(bytes: &[u8]) -> Option<Self> {
        let family = *bytes.first()?;
        let port = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let number = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let address = |at: usize| -> Option<IpAddr> {
            let octets: [u8; 16] = bytes.get(at..at + 16)?.try_into().ok()?;
            match family {
                INET => Some(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()),
                INET6 => Some(Ipv6Addr::from(octets).into()),
                _ => None,
            }
        };
        Some(Self {
            family,
            own: SocketAddr::new(address(8)?, port(4)?),
            peer: SocketAddr::new(address(24)?, port(6)?),
            interface: number(40)?,
            cookie: [number(44)?, number(48)?],
        })
    }
}

/// An address in sixteen bytes, as its family has it there.
fn octets(family: u8, ip: IpAddr) -> [u8; 16] {
    match (family, ip) {
        (INET, IpAddr::V4(ip)) => {
            let [a, b, c, d] = ip.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        (_, IpAddr::V4(ip)) => ip.to_ipv6_mapped().octets(),
        (_, IpAddr::V6(ip)) => ip.octets(),
    }
}

/// The same address, whether a socket of IPv6 carries it or not.
#[must_use]
pub fn plain(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    }
}

/// What came of a cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Connections that were cut.
    pub done: u32,
    /// Connections that could not be, and the last reason.
    pub failed: u32,
    /// Why.
    pub errno: Option<i32>,
}

impl Cut {
    /// Counts one.
    pub fn note(&mut self, result: Result<(), Errno>) {
        match result {
            Ok(()) => self.done += 1,
            Err(Errno::NOENT) => {} // it has gone by itself
            Err(errno) => {
                self.failed += 1;
                self.errno = Some(errno.raw_os_error());
            }
        }
    }
}

/// Where sockets are asked for and destroyed.
pub struct Sockets(Netlink);

impl Sockets {
    /// # Errors
    /// The kernel does not tell of sockets, or we lack descriptors.
    pub fn open() -> Result<Self, Errno> {
        Netlink::open(netlink::SOCK_DIAG).map(Self)
    }

    /// The connections of this host that `wanted` picks, among those whose ports are these; zero
    /// is any.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn find(
        &mut self,
        family: u8,
        own: u16,
        peer: u16,
        mut wanted: impl FnMut(&Connection) -> bool,
    ) -> Result<Vec<Connection>, Errno> {
        let any: IpAddr = if family == INET {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let (own, peer) = (SocketAddr::new(any, own), SocketAddr::new(any, peer));
        let request = Connection::between(family, own, peer).request(CONNECTED);
        let mut found = Vec::new();
        self.0.ask(BY_FAMILY, DUMP, &request, |payload| {
            found.extend(Connection::read(payload).filter(|connection| wanted(connection)));
        })?;
        Ok(found)
    }

    /// Destroys one.
    ///
    /// # Errors
    /// What the kernel says; ENOENT if it has gone by itself.
    pub fn destroy(&mut self, connection: &Connection) -> Result<(), Errno> {
        self.0.ask(DESTROY, ACK, &connection.request(CONNECTED), |_| {})
    }

    /// Destroys every connection whose end here is `address`, whatever its ports.
    ///
    /// # Errors
    /// Sockets cannot be asked for at all; nothing was destroyed.
    pub fn cut_address(&mut self, address: IpAddr) -> Result<Cut, Errno> {
        let mut cut = Cut::default();
        for family in families(SocketAddr::new(address, 0)) {
            let of = |it: &Connection| plain(it.own.ip()) == plain(address);
            for connection in self.find(*family, 0, 0, of)? {
                cut.note(self.destroy(&connection));
            }
        }
        Ok(cut)
    }
}

/// Sockets of which families can have this address.
#[must_use]
pub const fn families(address: SocketAddr) -> &'static [u8] {
    match address {
        SocketAddr::V4(_) => &[INET, INET6],
        SocketAddr::V6(_) => &[INET6],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_request_names_both_ends_in_the_networks_order() {
        let connection = Connection::between(INET, at("10.0.0.1:80"), at("10.0.0.2:4097"));
        let bytes = connection.request(2);
        assert_eq!(bytes.len(), 56);
        assert_eq!(bytes[..4], [2, 6, 0, 0]);
        assert_eq!(bytes[4..8], 2_u32.to_ne_bytes());
        assert_eq!(bytes[8..12], [0, 80, 0x10, 0x01]);
        assert_eq!(bytes[12..16], [10, 0, 0, 1]);
        assert_eq!(bytes[28..32], [10, 0, 0, 2]);
        assert_eq!(bytes[44..48], [0; 4]);
        assert_eq!(bytes[48..], [255; 8]);
        let six = Connection::between(INET6, at("10.0.0.1:80"), at("[::1]:1")).request(2);
        assert_eq!(six[12..28], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1]);
    }

    #[test]
    fn a_connection_is_read_as_it_was_named_and_never_half() {
        let named = Connection {
            cookie: [7, 8],
            interface: 3,
            ..Connection::between(INET, at("10.0.0.1:80"), at("10.0.0.2:4097"))
        };
        // A message has its state and timers where a request has its protocol and states.
        let request = named.request(0);
        let message = [&[INET, 1, 0, 0][..], &request[8..], &[0; 20]].concat();
        assert_eq!(Connection::read(&message), Some(named));
        for cut in 0..52 {
            assert_eq!(Connection::read(&message[..cut]), None, "cut at {cut}");
        }
    }
}
