//! IPVS through generic netlink: the destinations of a virtual service follow the members.
//!
//! A member that gets no new work has weight 0, so that what it has goes on; one whose connections
//! are cut is taken out. The virtual service, its scheduler and the way of forwarding are the
//! operator's; a destination that is not there yet is made with masquerading.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::io::Errno;
use rustix::net::netlink;

use crate::netlink::{ACK, DUMP, Netlink, attribute, attributes, number16, number32};

/// The family in which other families are looked up.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// Requests of IPVS.
const NEW_DEST: u8 = 5;
const SET_DEST: u8 = 6;
const DEL_DEST: u8 = 7;
const GET_DEST: u8 = 8;

/// Attributes of a request.
const SERVICE: u16 = 1;
const DEST: u16 = 2;

/// Set on an attribute that holds others.
const NESTED: u16 = 0x8000;

const INET: u16 = 2;
const INET6: u16 = 10;
const TCP: u16 = 6;

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Where.
    pub address: SocketAddr,
    /// Its share; 0 takes no new work.
    pub weight: u32,
    /// The way of forwarding; 0 is masquerading.
    pub forwarding: u32,
}

/// What a member shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where it serves.
    pub address: SocketAddr,
    /// Its share; 0 takes no new work.
    pub weight: u32,
    /// Its connections are cut: it is taken out.
    pub cut: bool,
}

/// What makes a difference between what is and what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is made.
    New(Destination),
    /// Its weight is set.
    Set(Destination),
    /// It is taken out.
    Remove(Destination),
}

/// What has to be done, in order. Destinations that are no members are left alone.
#[must_use]
pub fn changes(there: &[Destination], wanted: &[Wanted]) -> Vec<Change> {
    let change = |wanted: &Wanted| {
        let known = there.iter().find(|it| it.address == wanted.address).copied();
        let fresh = Destination { address: wanted.address, weight: wanted.weight, forwarding: 0 };
        match known {
            Some(known) if wanted.cut => Some(Change::Remove(known)),
            None if wanted.cut => None,
            None => Some(Change::New(fresh)),
            Some(known) if known.weight == wanted.weight => None,
            Some(known) => Some(Change::Set(Destination { weight: wanted.weight, ..known })),
        }
    };
    wanted.iter().filter_map(change).collect()
}

/// Makes the destinations of the virtual service what is wanted, and reads them back.
///
/// # Errors
/// What the kernel says: without IPVS that there is no such family (ENOENT), without the virtual
/// service that there is none of it (ESRCH).
pub fn apply(service: SocketAddr, wanted: &[Wanted]) -> Result<(), Errno> {
    let mut netlink = Netlink::open(netlink::GENERIC)?;
    let family = family(&mut netlink)?;
    let there = destinations(&mut netlink, family, service)?;
    for change in changes(&there, wanted) {
        netlink.ask(family, ACK, &request(service, &change), |_| {})?;
    }
    let left = changes(&destinations(&mut netlink, family, service)?, wanted);
    if left.is_empty() { Ok(()) } else { Err(Errno::AGAIN) }
}

/// The number that the kernel has given IPVS.
fn family(netlink: &mut Netlink) -> Result<u16, Errno> {
    let mut found = None;
    netlink.ask(CONTROL, ACK, &family_request(), |payload| {
        found = found.or(family_of(payload));
    })?;
    found.ok_or(Errno::NOENT)
}

fn family_request() -> Vec<u8> {
    let mut payload = vec![GET_FAMILY, 1, 0, 0];
    payload.extend(attribute(FAMILY_NAME, b"IPVS\0"));
    payload
}

fn family_of(payload: &[u8]) -> Option<u16> {
    let attributes = attributes(payload.get(4..)?);
    let (_, value) = attributes.iter().find(|(kind, _)| *kind == FAMILY_ID)?;
    number16(value, 0)
}

fn destinations(
    netlink: &mut Netlink,
    family: u16,
    service: SocketAddr,
) -> Result<Vec<Destination>, Errno> {
    let mut found = Vec::new();
    let mut payload = vec![GET_DEST, 1, 0, 0];
    payload.extend(service_attribute(service));
    netlink.ask(family, DUMP, &payload, |payload| {
        found.extend(destination_of(payload, service.is_ipv6()));
    })?;
    Ok(found)
}

fn request(service: SocketAddr, change: &Change) -> Vec<u8> {
    let (command, dest) = match change {
        Change::New(dest) => (NEW_DEST, dest),
        Change::Set(dest) => (SET_DEST, dest),
        Change::Remove(dest) => (DEL_DEST, dest),
    };
    let mut payload = vec![command, 1, 0, 0];
    payload.extend(service_attribute(service));
    payload.extend(dest_attribute(dest));
    payload
}

fn service_attribute(service: SocketAddr) -> Vec<u8> {
    let family = if service.is_ipv6() { INET6 } else { INET };
    let inside = [
        attribute(1, &family.to_ne_bytes()),
        attribute(2, &TCP.to_ne_bytes()),
        attribute(3, &octets(service.ip())),
        attribute(4, &service.port().to_be_bytes()),
    ];
    attribute(SERVICE | NESTED, &inside.concat())
}

fn dest_attribute(dest: &Destination) -> Vec<u8> {
    let family = if dest.address.is_ipv6() { INET6 } else { INET };
    let inside = [
        attribute(1, &octets(dest.address.ip())),
        attribute(2, &dest.address.port().to_be_bytes()),
        attribute(3, &dest.forwarding.to_ne_bytes()),
        attribute(4, &dest.weight.to_ne_bytes()),
        attribute(5, &0_u32.to_ne_bytes()), // no upper threshold
        attribute(6, &0_u32.to_ne_bytes()), // and no lower one
        attribute(11, &family.to_ne_bytes()),
    ];
    attribute(DEST | NESTED, &inside.concat())
}

fn destination_of(payload: &[u8], six: bool) -> Option<Destination> {
    let outer = attributes(payload.get(4..)?);
    let (_, dest) = outer.iter().find(|(kind, _)| *kind == DEST)?;
    let inside = attributes(dest);
    let value = |wanted: u16| inside.iter().find(|(kind, _)| *kind == wanted).map(|(_, it)| *it);
    let octets: [u8; 16] = value(1)?.get(..16)?.try_into().ok()?;
    let ip: IpAddr = if six {
        Ipv6Addr::from(octets).into()
    } else {
        Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()
    };
    let port = u16::from_be_bytes(value(2)?.get(..2)?.try_into().ok()?);
    Some(Destination {
        address: SocketAddr::new(ip, port),
        weight: number32(value(4)?, 0)?,
        forwarding: number32(value(3)?, 0)?,
    })
}

fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn dest(text: &str, weight: u32, forwarding: u32) -> Destination {
        Destination { address: at(text), weight, forwarding }
    }

    /// As `ipvsadm -e -t 192.0.2.1:80 -r 10.0.0.1:8080 -w 5` sends it, attribute by attribute.
    #[test]
    fn a_request_names_service_and_destination() {
        let bytes = request(at("192.0.2.1:80"), &Change::Set(dest("10.0.0.1:8080", 5, 0)));
        assert_eq!(bytes[..4], [6, 1, 0, 0]);
        let outer = attributes(&bytes[4..]);
        let kinds: Vec<u16> = outer.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SERVICE, DEST]);
        let service = attributes(outer[0].1);
        let mut ip = [0; 16];
        ip[..4].copy_from_slice(&[192, 0, 2, 1]);
        assert_eq!(
            service,
            [
                (1, &2_u16.to_ne_bytes()[..]),
                (2, &6_u16.to_ne_bytes()[..]),
                (3, &ip[..]),
                (4, &[0, 80][..])
            ]
        );
        let inside = attributes(outer[1].1);
        ip[..4].copy_from_slice(&[10, 0, 0, 1]);
        assert_eq!(inside[0], (1, &ip[..]));
        assert_eq!(inside[1], (2, &[0x1f, 0x90][..]));
        assert_eq!(inside[3], (4, &5_u32.to_ne_bytes()[..]));
        assert_eq!(inside.len(), 7);
    }

    #[test]
    fn a_destination_is_read_as_it_was_written_and_never_half() {
        for (text, six) in [("10.0.0.1:8080", false), ("[2001:db8::1]:80", true)] {
            let written = dest(text, 7, 3);
            let payload = [vec![NEW_DEST, 1, 0, 0], dest_attribute(&written)].concat();
            assert_eq!(destination_of(&payload, six), Some(written));
            for cut in 0..48 {
                assert_eq!(destination_of(&payload[..cut], six), None, "cut at {cut}");
            }
        }
    }

    #[test]
    fn the_family_is_asked_for_by_name() {
        assert_eq!(family_request(), b"\x03\x01\x00\x00\x09\x00\x02\x00IPVS\0\0\0\0");
        let answer =
            [vec![1, 2, 0, 0], attribute(2, b"IPVS\0"), attribute(1, &33_u16.to_ne_bytes())];
        assert_eq!(family_of(&answer.concat()), Some(33));
        assert_eq!(family_of(b"\x01"), None);
    }

    #[test]
    fn only_what_differs_is_changed_and_strangers_are_left_alone() {
        let there =
            [dest("10.0.0.1:80", 1, 3), dest("10.0.0.2:80", 1, 0), dest("10.0.0.9:80", 1, 0)];
        let wanted = |text: &str, weight, cut| Wanted { address: at(text), weight, cut };
        let all = [
            wanted("10.0.0.1:80", 0, false),
            wanted("10.0.0.2:80", 1, false),
            wanted("10.0.0.3:80", 4, false),
            wanted("10.0.0.4:80", 0, true),
        ];
        let found = changes(&there, &all);
        assert_eq!(
            found,
            [Change::Set(dest("10.0.0.1:80", 0, 3)), Change::New(dest("10.0.0.3:80", 4, 0))]
        );
        let cut = [wanted("10.0.0.2:80", 0, true)];
        assert_eq!(changes(&there, &cut), [Change::Remove(dest("10.0.0.2:80", 1, 0))]);
    }

    /// Where the kernel has IPVS a virtual service that is not there is said to be missing; where
    /// it has not, that.
    #[test]
    fn the_kernel_says_what_is_missing() {
        match apply(at("192.0.2.1:80"), &[]) {
            Err(Errno::NOENT) => println!("skipped: ipvs: the kernel has none"),
            Err(Errno::SRCH | Errno::PERM) | Ok(()) => {}
            Err(errno) => panic!("{errno}"),
        }
    }
}
