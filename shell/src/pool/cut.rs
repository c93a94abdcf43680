//! Connections cut: sockets of this host are destroyed, as `ss -K` does it. Both ends of each hear
//! of it at once.
//!
//! Only sockets whose one end is the member, or that a proxy named as belonging to it, are touched.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use rustix::net::netlink;

use super::netlink::{ACK, DUMP, Netlink};

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
    const fn between(family: u8, own: SocketAddr, peer: SocketAddr) -> Self {
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
fn plain(ip: IpAddr) -> IpAddr {
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
    fn note(&mut self, result: Result<(), Errno>) {
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

/// Cuts the connections of this host with `member`, whichever end of them is here, and the clients'
/// connections that a proxy here serves from it (own end, client's end).
///
/// The clients' come first: once the member's are gone, the proxy would end them in good order.
///
/// # Errors
/// Sockets cannot be asked for at all; nothing was cut.
pub fn cut(member: SocketAddr, clients: &[(SocketAddr, SocketAddr)]) -> Result<Cut, Errno> {
    let mut netlink = Netlink::open(netlink::SOCK_DIAG)?;
    let found = connections(&mut netlink, member)?;
    let mut cut = Cut::default();
    for (own, peer) in clients {
        let mut result = Err(Errno::NOENT);
        for family in families(*own) {
            if result == Err(Errno::NOENT) {
                result = destroy(&mut netlink, &Connection::between(*family, *own, *peer));
            }
        }
        cut.note(result);
    }
    for connection in found {
        cut.note(destroy(&mut netlink, &connection));
    }
    Ok(cut)
}

/// Sockets of which families can have this address.
const fn families(address: SocketAddr) -> &'static [u8] {
    match address {
        SocketAddr::V4(_) => &[INET, INET6],
        SocketAddr::V6(_) => &[INET6],
    }
}

/// The connections of this host one of whose ends is `member`.
fn connections(netlink: &mut Netlink, member: SocketAddr) -> Result<Vec<Connection>, Errno> {
    let any: SocketAddr = match member {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let port = SocketAddr::new(any.ip(), member.port());
    let mut found: Vec<Connection> = Vec::new();
    for family in families(member) {
        // The kernel looks at the ports; the addresses are ours to compare.
        for (own, peer) in [(any, port), (port, any)] {
            let request = Connection { cookie: ANY, ..Connection::between(*family, own, peer) };
            netlink.ask(BY_FAMILY, DUMP, &request.request(CONNECTED), |payload| {
                let Some(connection) = Connection::read(payload) else { return };
                if is_of(&connection, member) && !found.contains(&connection) {
                    found.push(connection);
                }
            })?;
        }
    }
    Ok(found)
}

fn is_of(connection: &Connection, member: SocketAddr) -> bool {
    let same =
        |end: SocketAddr| end.port() == member.port() && plain(end.ip()) == plain(member.ip());
    same(connection.own) || same(connection.peer)
}

fn destroy(netlink: &mut Netlink, connection: &Connection) -> Result<(), Errno> {
    netlink.ask(DESTROY, ACK, &connection.request(CONNECTED), |_| {})
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};
    use std::net::{TcpListener, TcpStream};

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

    /// Needs the right to destroy sockets, and says so where it is missing.
    #[test]
    fn both_ends_hear_of_it_at_once_and_nobody_else_does() {
        let member = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let other = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let mut client = TcpStream::connect(member.local_addr().expect("its")).expect("connected");
        let mut bystander =
            TcpStream::connect(other.local_addr().expect("its")).expect("connected");
        let _accepted = (member.accept().expect("taken"), other.accept().expect("taken"));
        let cut = cut(member.local_addr().expect("its"), &[]).expect("sockets can be asked for");
        if cut.errno == Some(Errno::PERM.raw_os_error())
            || cut.errno == Some(Errno::OPNOTSUPP.raw_os_error())
        {
            return println!("skipped: cut: root: the kernel lets nobody else destroy sockets");
        }
        assert!(cut.done >= 1 && cut.failed == 0, "{cut:?}");
        let mut buffer = [0; 1];
        let error = client.read(&mut buffer).expect_err("cut");
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::ConnectionAborted];
        assert!(kinds.contains(&error.kind()), "{error}");
        bystander.set_nonblocking(true).expect("a socket");
        let still = bystander.read(&mut buffer).expect_err("nothing was sent");
        assert_eq!(still.kind(), ErrorKind::WouldBlock);
    }
}
