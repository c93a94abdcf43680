//! MQTT 3.1.1: CONNECT with a clean session, answered by CONNACK and a return code.

use super::talk::{Heard, NONSENSE, expects, judged};

/// Seconds after which a broker may forget us; the probe is over long before.
const KEEP_ALIVE: u16 = 60;
const DISCONNECT: &[u8] = &[0xE0, 0];

/// Writes CONNECT. An empty `client` has the broker choose one, so that two monitors do not
/// throw each other out.
pub(super) fn connect(client: &str, proof: Option<(&str, &[u8])>, out: &mut Vec<u8>) {
    let client = client.as_bytes();
    out.push(0x10);
    // The rest of the packet, in seven bits a byte.
    let mut length = 12 + client.len();
    length += proof.map_or(0, |(user, password)| 4 + user.len() + password.len());
    while length >= 0x80 {
        out.push((length & 0x7F) as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(b"\0\x04MQTT\x04");
    // A clean session; name and password follow.
    out.push(if proof.is_some() { 0xC2 } else { 0x02 });
    out.extend_from_slice(&KEEP_ALIVE.to_be_bytes());
    let fields = proof.map(|(user, password)| [user.as_bytes(), password]);
    for field in [client].into_iter().chain(fields.into_iter().flatten()) {
        out.extend_from_slice(&(field.len() as u16).to_be_bytes());
        out.extend_from_slice(field);
    }
}

/// How much of CONNACK there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mqtt(u8);

impl Mqtt {
    pub(super) fn byte(&mut self, expect: &[(u16, u16)], byte: u8) -> Heard {
        let place = self.0;
        self.0 = place.saturating_add(1);
        match (place, byte) {
            (0, 0x20) | (1, 2) | (2, 0 | 1) => Heard::More,
            (0..=2, _) => NONSENSE,
            (_, 0) => judged(expects(expect, 0), 0, DISCONNECT),
            // Whoever refuses closes by itself. Of the rest no code means anything.
            (_, 6..) => NONSENSE,
            (_, code) => judged(expects(expect, code.into()), code.into(), b""),
        }
    }
}
