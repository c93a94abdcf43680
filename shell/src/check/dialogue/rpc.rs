//! ONC RPC: the null procedure of a program, and whether it was carried out. It does nothing, and
//! every program has it.
//!
//! # Source
//! RFC 5531: messages in XDR, by datagram as they are, on a connection in fragments behind a mark.

use super::talk::{Heard, NONSENSE, judged};
use crate::check::outcome::Outcome;
use crate::config::talk::RpcPlan;

/// A connection is ours alone: no number need be drawn for what is called on it.
const ID: u16 = 0x676F;
/// The bytes of a call without arguments, credentials and verifier.
const CALL: u32 = 40;
/// The upper half of the numbers of our calls.
const ABOVE: u32 = 0x676F_0000;
/// A verifier longer than this is none.
const LONGEST_VERIFIER: u32 = 400;
/// A fragment longer than this is none of an answer to a null call.
const LONGEST_FRAGMENT: u32 = 4096;
/// Set in the mark of the last fragment.
const LAST: u32 = 1 << 31;
/// What a refusal's code begins with; those of accepted calls count from zero.
const REFUSED: u32 = 16;

/// Writes the call numbered `id`.
pub(crate) fn call(plan: &RpcPlan, id: u16, out: &mut Vec<u8>) {
    // The call, version 2 of RPC, whom, procedure 0, and nobody's credentials and verifier.
    let words = [ABOVE | u32::from(id), 0, 2, plan.program, plan.version, 0, 0, 0, 0, 0];
    words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
}

/// What a whole datagram says: the code of an answer to the call numbered `id`.
pub(crate) fn answered(id: u16, datagram: &[u8]) -> Option<u16> {
    let mut reply = Reply::default();
    for byte in datagram {
        match reply.byte(id, *byte) {
            Read::More => {}
            Read::Code(code) => return Some(code),
            Read::Other => return None,
        }
    }
    None
}

/// rpcbind, which knows the ports of the others, and the one port it has itself.
const RPCBIND: u32 = 100_000;
pub(crate) const RPCBIND_PORT: u16 = 111;
/// Of its version 2: the port of a program, which is what IPv4 has.
const GETPORT: (u32, u32) = (2, 3);
/// Of its version 4: every address of a program, in words. Asked for one only, rpcbind says that of
/// the protocol it is asked by.
const GETADDRLIST: (u32, u32) = (4, 11);
/// The protocols of ports.
const TCP: u32 = 6;
const UDP: u32 = 17;
/// No text of an address is longer: eight groups of IPv6, and the port as two numbers.
const LONGEST_TEXT: usize = 64;
/// A list with more addresses is none.
const MOST_ADDRESSES: usize = 64;

/// Writes the question numbered `id` to rpcbind: at which port the program is.
pub(crate) fn lookup(plan: &RpcPlan, id: u16, v6: bool, out: &mut Vec<u8>) {
    let (version, procedure) = if v6 { GETADDRLIST } else { GETPORT };
    let mut put = |words: &[u32]| {
        words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
    };
    put(&[ABOVE | u32::from(id), 0, 2, RPCBIND, version, procedure, 0, 0, 0, 0]);
    put(&[plan.program, plan.version]);
    if !v6 {
        return put(&[if plan.tcp { TCP } else { UDP }, 0]);
    }
    // The way, and an address and an owner, which are not looked at: texts with their lengths.
    put(&[4]);
    out.extend_from_slice(way(plan.tcp));
    out.extend_from_slice(&[0; 8]);
}

/// What a whole datagram says to such a question: the port, zero if the program has none, or the
/// code of a refusal. `None`: it answers something else.
pub(crate) fn looked_up(
    plan: &RpcPlan,
    id: u16,
    v6: bool,
    datagram: &[u8],
) -> Option<Result<u16, u16>> {
    let mut reply = Reply::default();
    for (place, byte) in datagram.iter().enumerate() {
        match reply.byte(id, *byte) {
            Read::More => {}
            Read::Other => return None,
            Read::Code(0) => {
                let rest = datagram.get(place + 1..)?;
                return Some(Ok(if v6 { listed(way(plan.tcp), rest)? } else { port(rest)? }));
            }
            Read::Code(code) => return Some(Err(code)),
        }
    }
    None
}

fn port(rest: &[u8]) -> Option<u16> {
    let word = u32::from_be_bytes(*rest.first_chunk()?);
    u16::try_from(word).ok()
}

/// What rpcbind calls the protocols over IPv6.
const fn way(tcp: bool) -> &'static [u8] {
    if tcp { b"tcp6" } else { b"udp6" }
}

/// The port on the way `wanted` in a list of addresses; zero if it is not in there.
fn listed(wanted: &[u8], mut rest: &[u8]) -> Option<u16> {
    for _ in 0..MOST_ADDRESSES {
        match number(&mut rest)? {
            0 => return Some(0),
            1 => {}
            _ => return None,
        }
        let (address, way) = (text(&mut rest)?, text(&mut rest)?);
        number(&mut rest)?;
        text(&mut rest)?;
        text(&mut rest)?;
        if way == wanted {
            return port_of_address(address);
        }
    }
    None
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (word, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u32::from_be_bytes(*word))
}

/// A text behind its length, filled up to whole words.
fn text<'r>(rest: &mut &'r [u8]) -> Option<&'r [u8]> {
    let length = usize::try_from(number(rest)?).ok().filter(|length| *length <= LONGEST_TEXT)?;
    let (text, behind) = rest.split_at_checked(length.next_multiple_of(4))?;
    *rest = behind;
    text.get(..length)
}

/// The port at the end of an address in words: `::1.8.1` is 2049.
fn port_of_address(address: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(address).ok()?;
    let (text, low) = text.rsplit_once('.')?;
    let (_, high) = text.rsplit_once('.')?;
    Some(u16::from(high.parse::<u8>().ok()?) << 8 | u16::from(low.parse::<u8>().ok()?))
}

/// A reply as it comes in, word by word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reply {
    word: u32,
    bytes: u8,
    part: Part,
}

/// Which word comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Id,
    Direction,
    Accepted,
    VerifierKind,
    VerifierLength,
    /// So many words of the verifier are left.
    Verifier(u32),
    Status,
    Refusal,
}

/// What a byte of it tells.
enum Read {
    More,
    /// It answers our call, with this code.
    Code(u16),
    /// It answers something else, or nothing.
    Other,
}

impl Reply {
    fn byte(&mut self, id: u16, byte: u8) -> Read {
        self.word = self.word << 8 | u32::from(byte);
        self.bytes += 1;
        if self.bytes < 4 {
            return Read::More;
        }
        let word = self.word;
        self.bytes = 0;
        self.part = match (self.part, word) {
            (Part::Id, word) if word == ABOVE | u32::from(id) => Part::Direction,
            (Part::Direction, 1) => Part::Accepted,
            (Part::Accepted, 0) => Part::VerifierKind,
            (Part::Accepted, 1) => Part::Refusal,
            (Part::VerifierKind, _) => Part::VerifierLength,
            (Part::VerifierLength, 0) | (Part::Verifier(1), _) => Part::Status,
            (Part::VerifierLength, 1..=LONGEST_VERIFIER) => Part::Verifier(word.div_ceil(4)),
            (Part::Verifier(left), _) => Part::Verifier(left.saturating_sub(1)),
            (Part::Status, 0..=5) => return Read::Code(word as u16),
            (Part::Refusal, 0..=1) => return Read::Code((REFUSED + word) as u16),
            _ => return Read::Other,
        };
        Read::More
    }
}

/// An answer on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rpc {
    /// The mark, how many bytes of it are there, and what is left of its fragment.
    mark: u32,
    bytes: u8,
    left: u32,
    reply: Reply,
}

impl Rpc {
    /// The call, in one fragment.
    pub(super) fn words(plan: &RpcPlan, out: &mut Vec<u8>) {
        out.extend_from_slice(&(LAST | CALL).to_be_bytes());
        call(plan, ID, out);
    }

    pub(super) fn byte(&mut self, byte: u8) -> Heard {
        if self.bytes < 4 {
            self.mark = self.mark << 8 | u32::from(byte);
            self.bytes += 1;
            if self.bytes < 4 {
                return Heard::More;
            }
            self.left = self.mark & !LAST;
            return match self.left {
                1..=LONGEST_FRAGMENT => Heard::More,
                _ => NONSENSE,
            };
        }
        self.left = self.left.saturating_sub(1);
        match self.reply.byte(ID, byte) {
            // Nothing follows a success of the null procedure.
            Read::Code(0) => judged(true, 0, b""),
            Read::Code(code) => Heard::Done(Outcome::wrong(code)),
            Read::Other => NONSENSE,
            Read::More if self.left > 0 => Heard::More,
            Read::More if self.mark & LAST != 0 => NONSENSE,
            Read::More => {
                self.bytes = 0;
                Heard::More
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NFS: RpcPlan = RpcPlan { program: 100_003, version: 3, tcp: true };

    /// An accepted answer to the call numbered 7, with what follows it.
    fn answer(rest: &[u8]) -> Vec<u8> {
        let words = [ABOVE | 7, 1, 0, 0, 0, 0];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
        bytes.extend_from_slice(rest);
        bytes
    }

    /// The same with a list of addresses and their ways.
    fn list(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut rest = Vec::new();
        let text = |rest: &mut Vec<u8>, text: &str| {
            rest.extend_from_slice(&(text.len() as u32).to_be_bytes());
            rest.extend_from_slice(text.as_bytes());
            rest.resize(rest.len().next_multiple_of(4), 0);
        };
        for (address, way) in entries {
            rest.extend_from_slice(&[0, 0, 0, 1]);
            text(&mut rest, address);
            text(&mut rest, way);
            rest.extend_from_slice(&[0, 0, 0, 3]);
            text(&mut rest, "inet6");
            text(&mut rest, "-");
        }
        rest.extend_from_slice(&[0; 4]);
        answer(&rest)
    }

    #[test]
    fn a_port_is_asked_for_as_rpcbind_wants_it() {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        lookup(&NFS, 7, false, &mut v4);
        lookup(&NFS, 7, true, &mut v6);
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().expect("four"))).collect()
        };
        let name = u32::from_be_bytes(*b"tcp6");
        assert_eq!(words(&v4)[3..], [100_000, 2, 3, 0, 0, 0, 0, 100_003, 3, 6, 0]);
        assert_eq!(words(&v6)[3..], [100_000, 4, 11, 0, 0, 0, 0, 100_003, 3, 4, name, 0, 0]);
    }

    #[test]
    fn a_port_is_read_and_what_is_none_is_told_apart() {
        let looked_up = |id, v6, bytes: &[u8]| looked_up(&NFS, id, v6, bytes);
        let v4 = |rest: &[u8]| looked_up(7, false, &answer(rest));
        assert_eq!(v4(&[0, 0, 8, 1]), Some(Ok(2049)));
        assert_eq!(v4(&[0; 4]), Some(Ok(0)), "nobody has registered");
        assert_eq!((v4(&[0, 1, 0, 0]), v4(&[0, 0, 8]), v4(&[])), (None, None, None));
        assert_eq!(looked_up(8, false, &answer(&[0, 0, 8, 1])), None, "to somebody else");
        let mut refused = answer(&[]);
        refused[23] = 2;
        assert_eq!(looked_up(7, false, &refused), Some(Err(2)));
        let v6 = |text: &str| looked_up(7, true, &list(&[("::.0.9", "udp6"), (text, "tcp6")]));
        assert_eq!(v6("::1.8.1"), Some(Ok(2049)));
        assert_eq!(looked_up(7, true, &list(&[("::.0.9", "udp6")])), Some(Ok(0)));
        assert_eq!(looked_up(7, true, &list(&[])), Some(Ok(0)), "nobody has registered");
        for wrong in ["8.1", "x", "::1.8.256", "::1.-8.1", "::1..1", "", &"1".repeat(65)] {
            assert_eq!(v6(wrong), None, "{wrong}");
        }
        let whole = list(&[("::.8.1", "tcp6")]);
        let whole = &whole[..whole.len() - 24];
        for length in 0..whole.len() {
            assert_eq!(looked_up(7, true, &whole[..length]), None, "{length} bytes");
        }
    }
}
