//! What is said on the wire about an address: the question whether somebody else has it, and the
//! announcement that it is here. Whole Ethernet frames, and nothing that reads or writes them.
//!
//! # Source
//! RFC 826 and 5227 (ARP), RFC 4861 and 4862 (neighbour discovery).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A hardware address.
pub type Mac = [u8; 6];

const BROADCAST: Mac = [0xFF; 6];
/// ff02::1 on Ethernet: every node.
const ALL_NODES: Mac = [0x33, 0x33, 0, 0, 0, 1];

const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86DD;

const REQUEST: u16 = 1;
const REPLY: u16 = 2;

const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// What a neighbour has cached is to be replaced.
const OVERRIDE: u8 = 0x20;
/// The option with the hardware address of whom it is about.
const TARGET: u8 = 2;

/// Bytes before the payload.
const ETHERNET: usize = 14;

/// The frames' kind, as a packet socket is opened for it.
#[must_use]
pub const fn kind(address: IpAddr) -> u16 {
    match address {
        IpAddr::V4(_) => ARP,
        IpAddr::V6(_) => IPV6,
    }
}

/// Asks whether anybody has `address`, without saying that we do: the sender is 0.0.0.0 or `::`,
/// so no neighbour learns anything from it.
#[must_use]
pub fn probe(address: IpAddr, own: Mac) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => {
            arp(BROADCAST, REQUEST, (own, Ipv4Addr::UNSPECIFIED), ([0; 6], address))
        }
        IpAddr::V6(address) => {
            let [.., a, b, c] = address.octets();
            let group = Ipv6Addr::new(
                0xFF02,
                0,
                0,
                0,
                0,
                1,
                0xFF00 | u16::from(a),
                u16::from_be_bytes([b, c]),
            );
            let to = [0x33, 0x33, 0xFF, a, b, c];
            let mut body = vec![SOLICITATION, 0, 0, 0, 0, 0, 0, 0];
            body.extend_from_slice(&address.octets());
            icmpv6((own, Ipv6Addr::UNSPECIFIED), (to, group), body)
        }
    }
}

/// Says that `address` is at `own`, in each form that some neighbour needs: hosts follow a request
/// at once, some switches only a reply.
#[must_use]
pub fn announcements(address: IpAddr, own: Mac) -> Vec<Vec<u8>> {
    match address {
        IpAddr::V4(address) => vec![
            arp(BROADCAST, REQUEST, (own, address), ([0; 6], address)),
            // A reply is gratuitous only if it is to its own sender.
            arp(BROADCAST, REPLY, (own, address), (own, address)),
        ],
        IpAddr::V6(address) => {
            let group = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
            let mut body = vec![ADVERTISEMENT, 0, 0, 0, OVERRIDE, 0, 0, 0];
            body.extend_from_slice(&address.octets());
            body.extend_from_slice(&[TARGET, 1]);
            body.extend_from_slice(&own);
            vec![icmpv6((own, address), (ALL_NODES, group), body)]
        }
    }
}

/// Who else says to have `address`, or is about to take it, by this frame; never we ourselves.
#[must_use]
pub fn other_holder(frame: &[u8], address: IpAddr, own: Mac) -> Option<Mac> {
    let kind = u16::from_be_bytes(array(frame, 12)?);
    let sender = match (address, kind) {
        (IpAddr::V4(address), ARP) => of_arp(frame.get(ETHERNET..)?, address)?,
        (IpAddr::V6(address), IPV6) => {
            of_icmpv6(frame.get(ETHERNET..)?, address)?;
            array(frame, 6)?
        }
        _ => return None,
    };
    (sender != own).then_some(sender)
}

fn of_arp(packet: &[u8], address: Ipv4Addr) -> Option<Mac> {
    // Ethernet and IPv4, with addresses of six and four bytes.
    if packet.get(..6)? != [0, 1, 8, 0, 6, 4] {
        return None;
    }
    let operation = u16::from_be_bytes(array(packet, 6)?);
    let sender: Mac = array(packet, 8)?;
    let says = Ipv4Addr::from(array::<4>(packet, 14)?);
    let about = Ipv4Addr::from(array::<4>(packet, 24)?);
    let has = says == address && matches!(operation, REQUEST | REPLY);
    let wants = says.is_unspecified() && about == address && operation == REQUEST;
    (has || wants).then_some(sender)
}

fn of_icmpv6(packet: &[u8], address: Ipv6Addr) -> Option<()> {
    // Version 6, ICMPv6 without headers between, never forwarded.
    if packet.first()? >> 4 != 6 || packet.get(6..8)? != [ICMPV6, 255] {
        return None;
    }
    let from = Ipv6Addr::from(array::<16>(packet, 8)?);
    let message = packet.get(40..)?;
    let target = Ipv6Addr::from(array::<16>(message, 8)?);
    let says = match *message.first()? {
        ADVERTISEMENT => true,
        SOLICITATION => from.is_unspecified(),
        _ => false,
    };
    (says && target == address).then_some(())
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn ethernet(to: Mac, from: Mac, kind: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(96);
    frame.extend_from_slice(&to);
    frame.extend_from_slice(&from);
    frame.extend_from_slice(&kind.to_be_bytes());
    frame
}

fn arp(to: Mac, operation: u16, sender: (Mac, Ipv4Addr), target: (Mac, Ipv4Addr)) -> Vec<u8> {
    let mut frame = ethernet(to, sender.0, ARP);
    frame.extend_from_slice(&[0, 1, 8, 0, 6, 4]);
    frame.extend_from_slice(&operation.to_be_bytes());
    for (mac, address) in [sender, target] {
        frame.extend_from_slice(&mac);
        frame.extend_from_slice(&address.octets());
    }
    frame
}

fn icmpv6(from: (Mac, Ipv6Addr), to: (Mac, Ipv6Addr), mut body: Vec<u8>) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap_or(u16::MAX); // at most 32
    let mut pseudo = [from.1.octets(), to.1.octets()].concat();
    pseudo.extend_from_slice(&u32::from(length).to_be_bytes());
    pseudo.extend_from_slice(&[0, 0, 0, ICMPV6]);
    let sum = checksum(&[&pseudo, &body]);
    if let Some(place) = body.get_mut(2..4) {
        place.copy_from_slice(&sum.to_be_bytes());
    }
    let mut frame = ethernet(to.0, from.0, IPV6);
    frame.extend_from_slice(&[0x60, 0, 0, 0]);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&[ICMPV6, 255]);
    frame.extend_from_slice(&from.1.octets());
    frame.extend_from_slice(&to.1.octets());
    frame.extend_from_slice(&body);
    frame
}

/// The Internet checksum over pieces of even length.
fn checksum(pieces: &[&[u8]]) -> u16 {
    let words = pieces.iter().flat_map(|piece| piece.chunks(2));
    let word = |bytes: &[u8]| match *bytes {
        [a, b] => u32::from(u16::from_be_bytes([a, b])),
        [a] => u32::from(a) << 8,
        _ => 0,
    };
    let mut sum: u32 = words.map(word).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Mac = [2, 0, 0, 0, 0, 1];
    const THEIRS: Mac = [2, 0, 0, 0, 0, 2];

    fn four() -> IpAddr {
        "10.0.0.10".parse().expect("an address")
    }

    fn six() -> IpAddr {
        "2001:db8::1234:5678".parse().expect("an address")
    }

    #[test]
    fn a_probe_tells_nobody_anything() {
        let frame = probe(four(), OWN);
        assert_eq!(frame[..14], [255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6]);
        assert_eq!(frame[14..22], [0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!(frame[22..32], [2, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(frame[32..], [0, 0, 0, 0, 0, 0, 10, 0, 0, 10]);
        let frame = probe(six(), OWN);
        assert_eq!(frame[..6], [0x33, 0x33, 0xFF, 0x34, 0x56, 0x78]);
        assert_eq!(frame[22..38], [0; 16], "from nobody");
        assert_eq!(frame[38..54], "ff02::1:ff34:5678".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!(frame.len(), 14 + 40 + 24);
    }

    #[test]
    fn announcements_are_a_request_and_a_reply_to_oneself() {
        let [request, reply] = announcements(four(), OWN).try_into().expect("two");
        assert_eq!((request[21], reply[21]), (1, 2));
        assert_eq!(request[28..32], [10, 0, 0, 10]);
        assert_eq!(request[38..], [10, 0, 0, 10]);
        assert_eq!(reply[22..32], reply[32..], "sender and target are one");
    }

    /// Summed with its checksum, a message is all ones.
    #[test]
    fn a_checksum_holds() {
        for frame in [probe(six(), OWN), announcements(six(), OWN).remove(0)] {
            let body = &frame[54..];
            let length = u32::try_from(body.len()).expect("short").to_be_bytes();
            let sum = checksum(&[&frame[22..54], &length, &[0, 0, 0, ICMPV6], body]);
            assert_eq!(sum, 0);
        }
        assert_eq!(checksum(&[&[0xFF, 0xFF, 0, 1]]), !1);
        assert_eq!(checksum(&[&[1]]), !0x100);
    }

    #[test]
    fn who_has_it_or_is_about_to_is_heard_and_we_are_not() {
        for address in [four(), six()] {
            let mut said = announcements(address, THEIRS);
            said.push(probe(address, THEIRS));
            for frame in said {
                assert_eq!(other_holder(&frame, address, OWN), Some(THEIRS));
                assert_eq!(other_holder(&frame, address, THEIRS), None);
                let other = if address == four() { "10.0.0.11" } else { "2001:db8::1" };
                assert_eq!(other_holder(&frame, other.parse().expect("one"), OWN), None);
            }
        }
    }

    #[test]
    fn a_neighbour_that_only_asks_is_no_holder() {
        let asks = arp(
            BROADCAST,
            REQUEST,
            (THEIRS, Ipv4Addr::new(10, 0, 0, 7)),
            ([0; 6], Ipv4Addr::new(10, 0, 0, 10)),
        );
        assert_eq!(other_holder(&asks, four(), OWN), None);
    }

    #[test]
    fn what_is_torn_or_foreign_is_nothing() {
        for address in [four(), six()] {
            let frame = announcements(address, THEIRS).remove(0);
            for end in 0..frame.len() - 8 {
                let _ = other_holder(&frame[..end], address, OWN);
            }
            for at in 0..frame.len() {
                let mut wrong = frame.clone();
                wrong[at] ^= 0xFF;
                let _ = other_holder(&wrong, address, OWN);
            }
            assert_eq!(other_holder(&frame[..30], address, OWN), None);
            assert_eq!(other_holder(&[0xFF; 100], address, OWN), None);
        }
    }
}
