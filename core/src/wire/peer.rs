//! Frames between nodes.
//!
//! Sans-IO: a frame is one datagram, or one record behind its length on a stream,
//!
//! ```text
//! version  kind  from  to  group  key id:2  incarnation:8  to incarnation:8  sequence:8
//! payload  mac:32
//! ```
//!
//! little-endian. The version is looked at on its own; a newer one is told as such and never read
//! half. Kinds and numbers are only added. The MAC is HMAC-SHA256 over everything before it; the
//! caller computes it, because this crate has no cryptography.
//!
//! Every start of a node has an *incarnation*, higher than the one before. A frame is addressed
//! to an incarnation of its receiver, so that nothing recorded before the receiver started is
//! taken; [`Frame::Hello`] alone is not, and changes nothing but what its receiver addresses.
//! Within an incarnation of the sender a window of sequence numbers takes each frame once.

mod layout;
mod link;
mod shared;

use crate::node::Node;
use crate::peer::Message;
use crate::share;

pub use link::{Counters, Link, Opened, Refused};

/// The version written and read.
pub const VERSION: u8 = 1;

/// Everything before the payload.
pub const HEADER: usize = 5 + 2 + 3 * 8;

/// HMAC-SHA256.
pub const MAC: usize = 32;

/// No payload is longer.
pub const MAX_PAYLOAD: usize = 48;

/// No frame is longer: what is, is dropped before anything is read in it.
pub const MAX_FRAME: usize = HEADER + MAX_PAYLOAD + MAC;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Says the sender's incarnation, and answers with the receiver's.
    Hello,
    /// For the machine of a group.
    Message {
        /// The group, by its place in the configuration.
        group: u8,
        /// What is said.
        message: Message,
    },
    /// For what a group shares.
    Shared {
        /// The group, by its place in the configuration.
        group: u8,
        /// What is said.
        message: share::Message,
    },
}

/// What is before the payload, as far as anybody may read it unproven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender.
    pub from: Node,
    /// The receiver.
    pub to: Node,
    /// Which key the MAC is made with.
    pub key: u16,
}

/// Why bytes are no frame. Nothing was made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// Longer than any frame.
    Oversize,
    /// Shorter than any frame.
    Short,
    /// A frame of another version.
    Version(u8),
}

/// Looks at the header, before any MAC is computed: whose budget of frames it is charged to.
///
/// # Errors
/// [`Garbage`].
pub fn peek(bytes: &[u8]) -> Result<Header, Garbage> {
    if bytes.len() > MAX_FRAME {
        return Err(Garbage::Oversize);
    }
    match bytes.first() {
        Some(version) if *version != VERSION => return Err(Garbage::Version(*version)),
        Some(_) if bytes.len() >= HEADER + MAC => {}
        _ => return Err(Garbage::Short),
    }
    let mut from = crate::bytes::Take::new(bytes);
    let (_version, _kind) = (from.u8(), from.u8());
    let (sender, receiver, _group) = (Node(from.u8()), Node(from.u8()), from.u8());
    Ok(Header { from: sender, to: receiver, key: from.u16() })
}
