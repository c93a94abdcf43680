//! Netlink, as far as sockets, addresses and IPVS need it: requests, and what the kernel answers
//! at once.
//!
//! The kernel answers within the call that asks, so reading never waits.

pub mod sockets;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto,
    socket_with,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Flags of a request.
pub const REQUEST: u16 = 0x1;
/// The kernel says how it ended.
pub const ACK: u16 = 0x4;
/// Everything there is.
pub const DUMP: u16 = 0x300;
/// What is there already is replaced.
pub const REPLACE: u16 = 0x100;
/// What is not there yet is made.
pub const CREATE: u16 = 0x400;

/// Kinds of messages that every family has.
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// Bytes before every payload.
pub const HEADER: usize = 16;

/// A request: its header and payload.
#[must_use]
pub fn message(kind: u16, flags: u16, seq: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    let length = (HEADER + payload.len()) as u32;
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes.extend_from_slice(&seq.to_ne_bytes());
    bytes.extend_from_slice(&0_u32.to_ne_bytes()); // the kernel knows who we are
    bytes.extend_from_slice(payload);
    bytes
}

/// An attribute, padded to four bytes.
#[must_use]
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = (4 + value.len()) as u16;
    let mut bytes = Vec::with_capacity(value.len() + 8);
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The attributes in `bytes`; what is torn ends them. A flag for nesting is taken off.
#[must_use]
pub fn attributes(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while let (Some(length), Some(kind)) = (number16(bytes, 0), number16(bytes, 2)) {
        let Some(value) = bytes.get(4..usize::from(length)) else { break };
        found.push((kind & 0x3FFF, value));
        let next = usize::from(length).next_multiple_of(4);
        bytes = bytes.get(next..).unwrap_or_default();
    }
    found
}

/// The number in two bytes `at` there; `None` where they are torn off.
#[must_use]
pub fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The number in four bytes `at` there; `None` where they are torn off.
#[must_use]
pub fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// What one read may hold.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A message of the family: its payload.
    Message(&'a [u8]),
    /// Everything has been said; an error number, or 0.
    End(i32),
}

/// The messages in `bytes`; what is torn ends them.
#[must_use]
pub fn parts(mut bytes: &[u8]) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    while let (Some(length), Some(kind)) = (number32(bytes, 0), number16(bytes, 4)) {
        let Some(payload) = bytes.get(HEADER..length as usize) else { break };
        found.push(match kind {
            ERROR => Part::End(number32(payload, 0).unwrap_or(0) as i32),
            DONE => Part::End(0),
            _ => Part::Message(payload),
        });
        let next = (length as usize).next_multiple_of(4);
        bytes = bytes.get(next..).unwrap_or_default();
    }
    found
}

/// A socket of one family of netlink.
pub struct Netlink {
    fd: OwnedFd,
    seq: u32,
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The family of interfaces and addresses: its number is none.
pub const ROUTE: Option<Protocol> = None;

impl Netlink {
    /// A socket that hears what happens in `groups` of the family, and is asked nothing.
    ///
    /// # Errors
    /// The kernel has no such family or group, or we lack descriptors.
    pub fn listen(protocol: impl Into<Option<Protocol>>, groups: u32) -> Result<Self, Errno> {
        let netlink = Self::open(protocol)?;
        bind(&netlink.fd, &SocketAddrNetlink::new(0, groups))?;
        Ok(netlink)
    }

    /// Reads off what was heard. `true`: something was, or some of it was lost.
    ///
    /// # Errors
    /// The kernel's own.
    pub fn heard(&self) -> Result<bool, Errno> {
        let mut buffer = [0; 4096];
        let mut heard = false;
        loop {
            match recv(&self.fd, buffer.as_mut_slice(), RecvFlags::TRUNC) {
                Ok(_) | Err(Errno::NOBUFS) => heard = true,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(heard),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// # Errors
    /// The kernel has no such family, or we lack descriptors.
    pub fn open(protocol: impl Into<Option<Protocol>>) -> Result<Self, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol.into())?;
        Ok(Self { fd, seq: 0 })
    }

    /// Asks, and hands each message of the answer to `take`.
    ///
    /// # Errors
    /// What the kernel says, as an error number.
    pub fn ask(
        &mut self,
        kind: u16,
        flags: u16,
        payload: &[u8],
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Errno> {
        self.seq = self.seq.wrapping_add(1);
        let bytes = message(kind, REQUEST | flags, self.seq, payload);
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.fd, &bytes, SendFlags::empty(), &kernel)?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let (_, length) = match recv(&self.fd, buffer.as_mut_slice(), RecvFlags::empty()) {
                Ok(read) => read,
                Err(Errno::INTR) => continue,
                // All that is there has been read: a request without an end.
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno),
            };
            for part in parts(buffer.get(..length).unwrap_or_default()) {
                match part {
                    Part::Message(payload) => take(payload),
                    Part::End(0) => return Ok(()),
                    Part::End(error) => return Err(Errno::from_raw_os_error(-error)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_its_length_its_kind_its_flags_and_its_number() {
        let bytes = message(20, REQUEST | DUMP, 7, &[1, 2]);
        assert_eq!(number32(&bytes, 0), Some(18));
        assert_eq!((number16(&bytes, 4), number16(&bytes, 6)), (Some(20), Some(0x301)));
        assert_eq!((number32(&bytes, 8), number32(&bytes, 12)), (Some(7), Some(0)));
        assert_eq!(bytes[16..], [1, 2]);
    }

    #[test]
    fn attributes_are_padded_and_read_back_however_they_are_cut() {
        let bytes = [attribute(2, b"IPVS\0"), attribute(0x8001, &[9])].concat();
        assert_eq!(bytes.len(), 12 + 8);
        assert_eq!(attributes(&bytes), [(2, &b"IPVS\0"[..]), (1, &[9][..])]);
        for cut in 0..bytes.len() {
            assert!(attributes(&bytes[..cut]).len() < 3);
            assert!(parts(&bytes[..cut]).len() < 3);
        }
        assert_eq!(attributes(&[0; 8]), []);
    }

    #[test]
    fn an_end_is_an_error_or_none() {
        let error = message(ERROR, 0, 1, &(-2_i32).to_ne_bytes());
        let done = message(DONE, 0, 1, &0_i32.to_ne_bytes());
        let other = message(20, 0, 1, b"abcd");
        let all = [other, done, error].concat();
        assert_eq!(parts(&all), [Part::Message(b"abcd"), Part::End(0), Part::End(-2)]);
    }
}
