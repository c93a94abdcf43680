//! ICMP and ICMPv6 echo: what is sent, what answers it, and whose a report is.
//!
//! A host hears every echo reply, also those meant for other programs, and replies to questions
//! of long ago. So a reply counts only with our identifier, a sequence number that was sent and
//! the token of this probe. The same goes for what is quoted in a report of an error: that the
//! time to live of somebody's trace route was over says nothing of a host that we asked.

use std::net::IpAddr;

/// What one probe's requests have in common, and how many were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Echo {
    /// The identifier. The kernel's own where it lets us ask without a raw socket.
    pub(crate) id: u16,
    /// Only whom we asked knows it.
    pub(crate) token: u64,
    /// Requests so far; they are numbered from 1.
    pub(crate) sent: u16,
}

/// The version of the protocol: they differ in numbers alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// ICMP
    V4 = 0,
    /// ICMPv6
    V6 = 1,
}

impl Family {
    /// The one that `address` is asked by.
    #[must_use]
    pub(crate) const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    const fn request(self) -> u8 {
        match self {
            Self::V4 => 8,
            Self::V6 => 128,
        }
    }

    const fn reply(self) -> u8 {
        match self {
            Self::V4 => 0,
            Self::V6 => 129,
        }
    }
}

/// Behind type, code, checksum, identifier and number.
const HEAD: usize = 8;
/// The least head of an IPv4 packet.
const LEAST_IP: usize = 20;

impl Echo {
    /// Writes one more request to `out`, which is emptied first.
    ///
    /// The kernel computes the checksum of ICMPv6, which covers the addresses too; here it is zero.
    pub(crate) fn ask(&mut self, family: Family, out: &mut Vec<u8>) {
        self.sent = self.sent.saturating_add(1);
        out.clear();
        out.extend_from_slice(&[family.request(), 0, 0, 0]);
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&self.sent.to_be_bytes());
        out.extend_from_slice(&self.token.to_be_bytes());
        if family == Family::V4 {
            let sum = checksum(out).to_be_bytes();
            out[2..4].copy_from_slice(&sum);
        }
    }

    /// Whether `packet` answers one of our requests.
    #[must_use]
    pub(crate) fn is_answered_by(&self, family: Family, packet: &[u8]) -> bool {
        let message = without_ip(family, packet);
        message.starts_with(&[family.reply(), 0])
            && self.is_numbered(message)
            && message.get(HEAD..).is_some_and(|rest| rest.starts_with(&self.token.to_be_bytes()))
    }

    /// Whether a report quotes one of our requests. Reports quote no more than the head for sure,
    /// so the token counts only where it is quoted.
    #[must_use]
    pub(crate) fn is_quoted_in(&self, family: Family, quoted: &[u8]) -> bool {
        let message = without_ip(family, quoted);
        let token = self.token.to_be_bytes();
        let rest = message.get(HEAD..).unwrap_or_default();
        message.starts_with(&[family.request(), 0])
            && self.is_numbered(message)
            && rest.iter().zip(&token).all(|(quoted, ours)| quoted == ours)
    }

    fn is_numbered(&self, message: &[u8]) -> bool {
        let [_, _, _, _, id0, id1, number0, number1, ..] = *message else { return false };
        let number = u16::from_be_bytes([number0, number1]);
        u16::from_be_bytes([id0, id1]) == self.id && (1..=self.sent).contains(&number)
    }
}

/// The identifier that `packet` answers to, if it is an echo reply.
#[must_use]
pub(crate) fn answered(family: Family, packet: &[u8]) -> Option<u16> {
    identifier(family.reply(), without_ip(family, packet))
}

/// The identifier of the request that a report quotes, if it is an echo request.
#[must_use]
pub(crate) fn quoted(family: Family, quoted: &[u8]) -> Option<u16> {
    identifier(family.request(), without_ip(family, quoted))
}

fn identifier(kind: u8, message: &[u8]) -> Option<u16> {
    let [first, 0, _, _, id0, id1, ..] = *message else { return None };
    (first == kind).then_some(u16::from_be_bytes([id0, id1]))
}

/// A raw ICMP socket hands over the head of the IP packet too; no message of ICMP that we look at
/// begins like one.
fn without_ip(family: Family, packet: &[u8]) -> &[u8] {
    match packet {
        [first, ..] if family == Family::V4 && first >> 4 == 4 && packet.len() >= LEAST_IP => {
            packet.get(usize::from(first & 15) * 4..).unwrap_or_default()
        }
        _ => packet,
    }
}

/// The ones' complement of the sum of 16-bit words.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        let low = pair.get(1).copied().unwrap_or_default();
        sum += u32::from(u16::from_be_bytes([pair[0], low]));
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Echo = Echo { id: 0x1234, token: 0x0102_0304_0506_0708, sent: 0 };

    /// The request, and the reply to it as a raw socket hands it over.
    fn asked(family: Family) -> (Echo, Vec<u8>, Vec<u8>) {
        let (mut echo, mut request) = (OURS, Vec::new());
        echo.ask(family, &mut request);
        let mut reply = Vec::new();
        if family == Family::V4 {
            reply.extend_from_slice(&[0x45, 0, 0, 36, 0, 0, 0, 0, 64, 1, 0, 0]);
            reply.extend_from_slice(&[127, 0, 0, 1, 127, 0, 0, 1]);
        }
        let at = reply.len();
        reply.extend_from_slice(&request);
        reply[at] = family.reply();
        (echo, request, reply)
    }

    #[test]
    fn a_request_has_these_bytes() {
        // req 3.4
        let (_, request, _) = asked(Family::V4);
        // Type, code, checksum, identifier, number, token.
        let wanted = [8, 0, 0xd5, 0xb6, 0x12, 0x34, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(request, wanted);
        assert_eq!(checksum(&request), 0);
        let (_, request, _) = asked(Family::V6);
        assert_eq!(request[..8], [128, 0, 0, 0, 0x12, 0x34, 0, 1]);
    }

    #[test]
    fn a_reply_counts_with_identifier_number_and_token_and_not_without_a_byte_of_them() {
        for family in [Family::V4, Family::V6] {
            let (echo, request, reply) = asked(family);
            assert!(echo.is_answered_by(family, &reply));
            assert!(!echo.is_answered_by(family, &request), "our own request");
            let at = reply.len() - 16;
            // The checksum is the kernel's business; everything else is ours.
            for place in (at..reply.len()).filter(|place| !(at + 2..at + 4).contains(place)) {
                let mut other = reply.clone();
                other[place] ^= 1;
                assert!(!echo.is_answered_by(family, &other), "{family:?} byte {place}");
            }
            for length in 0..reply.len() {
                assert!(!echo.is_answered_by(family, &reply[..length]), "{family:?} cut {length}");
            }
        }
    }

    #[test]
    fn a_reply_to_a_request_that_was_not_sent_is_nothing() {
        let (mut echo, _, reply) = asked(Family::V4);
        let mut request = Vec::new();
        echo.ask(Family::V4, &mut request);
        assert!(echo.is_answered_by(Family::V4, &reply), "the first of two still counts");
        let unsent = Echo { sent: 0, ..echo };
        assert!(!unsent.is_answered_by(Family::V4, &reply));
    }

    #[test]
    fn a_report_is_ours_if_it_quotes_us_as_far_as_it_quotes() {
        for family in [Family::V4, Family::V6] {
            let (echo, request, reply) = asked(family);
            for length in HEAD..=request.len() {
                assert!(echo.is_quoted_in(family, &request[..length]), "{length}");
            }
            for length in 0..HEAD {
                assert!(!echo.is_quoted_in(family, &request[..length]), "{length}");
            }
            assert!(!echo.is_quoted_in(family, &reply), "a reply of ours to somebody");
            for place in [4, 5, 6, 7, 8, 15] {
                let mut other = request.clone();
                other[place] ^= 1;
                assert!(!echo.is_quoted_in(family, &other), "{family:?} byte {place}");
            }
        }
    }

    #[test]
    fn heads_of_ip_that_lie_about_their_length_are_nothing() {
        let (echo, _, reply) = asked(Family::V4);
        for first in 0x40..=0x4f {
            let mut lying = reply.clone();
            lying[0] = first;
            assert_eq!(echo.is_answered_by(Family::V4, &lying), first == 0x45, "{first:#x}");
        }
    }
}
