//! The addresses of this host, as the kernel tells them, and the requests that change them.
//!
//! # Source
//! rtnetlink(7), `linux/if_addr.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::netlink::{attribute, attributes, number32};

/// Kinds of requests.
pub(super) const NEW: u16 = 20;
pub(super) const DELETE: u16 = 21;
pub(super) const GET: u16 = 22;

/// Multicast groups that hear of changes.
pub(super) const CHANGES: u32 = 0x10 | 0x100;

const INET: u8 = 2;
const INET6: u8 = 10;

/// Attributes.
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const LABEL: u16 = 3;
const BROADCAST: u16 = 4;
const LIFETIME: u16 = 6;
const FLAGS: u16 = 8;

/// Flags of an address.
const NO_DUPLICATE_DETECTION: u8 = 0x02;
const DUPLICATE: u32 = 0x08;
const TENTATIVE: u32 = 0x40;

/// Bytes before the attributes.
const HEADER: usize = 8;

/// Where an address is, or belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The interface's number.
    pub interface: u32,
    /// The length of the network's prefix.
    pub prefix: u8,
}

/// An address that this host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    /// The address.
    pub address: IpAddr,
    /// Where it is.
    pub spot: Spot,
    /// It can be used: the kernel is not waiting for others to object, and none did.
    pub usable: bool,
}

/// What a look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Every address of this host.
    pub present: Vec<Present>,
    /// The interface that the group names, if it is there.
    pub named: Option<u32>,
}

impl Sight {
    /// The interface in whose network `address` is; of several the one with the narrowest.
    #[must_use]
    pub fn network_of(&self, address: IpAddr) -> Option<u32> {
        let around = self.present.iter().filter(|present| {
            present.address != address && contains(present.address, present.spot.prefix, address)
        });
        around.max_by_key(|present| present.spot.prefix).map(|present| present.spot.interface)
    }
}

/// Whether both are in one network; that of a single address contains no other.
fn contains(network: IpAddr, prefix: u8, address: IpAddr) -> bool {
    let (network, address, bits) = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (u128::from(u32::from(network)), u128::from(u32::from(address)), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            (u128::from(network), u128::from(address), 128)
        }
        _ => return false,
    };
    // A prefix of nothing contains everything, and says nothing of a network.
    prefix > 0 && prefix <= bits && (network ^ address) >> (bits - prefix) == 0
}

impl Present {
    /// From the payload of a message; `None` if it is torn or of another family.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (&family, &prefix, &short) = (bytes.first()?, bytes.get(1)?, bytes.get(2)?);
        let interface = number32(bytes, 4)?;
        let mut flags = u32::from(short);
        let (mut of_peer, mut own) = (None, None);
        for (kind, value) in attributes(bytes.get(HEADER..)?) {
            match kind {
                ADDRESS => of_peer = read_address(family, value),
                LOCAL => own = read_address(family, value),
                FLAGS => flags = number32(value, 0).unwrap_or(flags),
                _ => {}
            }
        }
        let usable = flags & (TENTATIVE | DUPLICATE) == 0;
        Some(Self { address: own.or(of_peer)?, spot: Spot { interface, prefix }, usable })
    }
}

fn read_address(family: u8, value: &[u8]) -> Option<IpAddr> {
    match family {
        INET => Some(Ipv4Addr::from(<[u8; 4]>::try_from(value).ok()?).into()),
        INET6 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(value).ok()?).into()),
        _ => None,
    }
}

/// The request for every address of every interface.
pub(super) fn ask() -> Vec<u8> {
    vec![0; HEADER]
}

fn begin(address: IpAddr, spot: Spot, flags: u8) -> Vec<u8> {
    let (family, octets) = match address {
        IpAddr::V4(address) => (INET, address.octets().to_vec()),
        IpAddr::V6(address) => (INET6, address.octets().to_vec()),
    };
    let mut bytes = vec![family, spot.prefix, flags, 0];
    bytes.extend_from_slice(&spot.interface.to_ne_bytes());
    bytes.extend(attribute(LOCAL, &octets));
    bytes.extend(attribute(ADDRESS, &octets));
    bytes
}

/// The request that sets `address`, or its lifetime, in seconds. Whether others have it was found
/// out before, so the kernel is not to wait for that.
pub(super) fn set(address: IpAddr, spot: Spot, label: Option<&str>, seconds: u32) -> Vec<u8> {
    let flags = if address.is_ipv6() { NO_DUPLICATE_DETECTION } else { 0 };
    let mut bytes = begin(address, spot, flags);
    if let IpAddr::V4(address) = address {
        if (1..31).contains(&spot.prefix) {
            let hosts = u32::MAX >> spot.prefix;
            let all = Ipv4Addr::from(u32::from(address) | hosts);
            bytes.extend(attribute(BROADCAST, &all.octets()));
        }
        if let Some(label) = label {
            bytes.extend(attribute(LABEL, &[label.as_bytes(), &[0]].concat()));
        }
    }
    let lifetime: Vec<u8> =
        [seconds, seconds, 0, 0].iter().flat_map(|number| number.to_ne_bytes()).collect();
    bytes.extend(attribute(LIFETIME, &lifetime));
    bytes
}

/// The request that takes it off.
pub(super) fn remove(address: IpAddr, spot: Spot) -> Vec<u8> {
    begin(address, spot, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn present(address: &str, interface: u32, prefix: u8) -> Present {
        Present { address: at(address), spot: Spot { interface, prefix }, usable: true }
    }

    #[test]
    fn what_is_set_reads_back_however_it_is_cut() {
        for (address, prefix) in [("10.0.0.10", 24), ("2001:db8::a", 64)] {
            let spot = Spot { interface: 3, prefix };
            let bytes = set(at(address), spot, Some("eth0:0"), 5);
            assert_eq!(Present::read(&bytes), Some(present(address, 3, prefix)));
            for end in 0..bytes.len() {
                let _ = Present::read(&bytes[..end]);
            }
            assert_eq!(Present::read(&bytes[..8]), None);
            assert_eq!(Present::read(&remove(at(address), spot)).map(|it| it.spot), Some(spot));
        }
        let mut packet = set(at("10.0.0.10"), Spot { interface: 3, prefix: 24 }, None, 5);
        packet[0] = 17; // a family that has no addresses
        assert_eq!(Present::read(&packet), None);
    }

    #[test]
    fn a_lifetime_a_label_and_a_broadcast_address_are_in_it() {
        let spot = Spot { interface: 3, prefix: 24 };
        let bytes = set(at("10.0.0.10"), spot, Some("eth0:0"), 5);
        let found = attributes(&bytes[HEADER..]);
        let of = |wanted| found.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| *value);
        assert_eq!(of(LABEL), Some(&b"eth0:0\0"[..]));
        assert_eq!(of(BROADCAST), Some(&[10, 0, 0, 255][..]));
        assert_eq!(of(LIFETIME).and_then(|value| number32(value, 4)), Some(5));
        let single = set(at("10.0.0.10"), Spot { interface: 3, prefix: 32 }, None, 5);
        assert!(!attributes(&single[HEADER..]).iter().any(|(kind, _)| *kind == BROADCAST));
        let six = set(at("2001:db8::a"), spot, Some("eth0:0"), 5);
        assert_eq!(six[2], NO_DUPLICATE_DETECTION);
        assert!(!attributes(&six[HEADER..]).iter().any(|(kind, _)| *kind == LABEL));
    }

    #[test]
    fn what_others_object_to_is_of_no_use() {
        let mut bytes = set(at("2001:db8::a"), Spot { interface: 3, prefix: 64 }, None, 5);
        bytes.extend(attribute(FLAGS, &TENTATIVE.to_ne_bytes()));
        assert!(!Present::read(&bytes).expect("read").usable);
    }

    #[test]
    fn an_address_belongs_where_its_network_is() {
        let all = [
            present("127.0.0.1", 1, 8),
            present("10.0.0.1", 2, 8),
            present("10.0.0.2", 3, 24),
            present("10.0.0.3", 4, 32),
            present("2001:db8::1", 5, 64),
            present("0.0.0.0", 6, 0),
        ];
        let sight = Sight { present: all.to_vec(), named: None };
        assert_eq!(sight.network_of(at("10.0.0.10")), Some(3));
        assert_eq!(sight.network_of(at("10.9.0.10")), Some(2));
        assert_eq!(sight.network_of(at("2001:db8::a")), Some(5));
        assert_eq!(sight.network_of(at("192.0.2.1")), None);
    }
}
