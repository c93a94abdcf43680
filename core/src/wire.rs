//! Frames between a host and its board; [`peer`] has those between nodes.
//!
//! Sans-IO: bytes go in one at a time and come out in a buffer of the caller's. A frame is
//!
//! ```text
//! COBS( version  kind  payload  [ counter:4  tag:8 ]  crc32:4 )  0
//! ```
//!
//! little-endian, with the middle part where [`TAGGED`] is set in the kind. Framing and checksum
//! never change; the version byte behind them is looked at on its own, so that a newer peer is
//! told as such ([`Garbage::Version`]) and never read half. Kinds and numbers are only added.
//!
//! A connection is made by the host: it says [`ToBoard::Hello`] with a nonce, the board answers
//! [`FromBoard::Challenge`] with its own nonce and its device's number. The tag of every later
//! frame covers the key, both nonces, the device, the direction, a rising counter and the frame,
//! so that nothing recorded on another connection, from another board or from the other end is
//! authentic here, and nothing twice. A hello ends no connection: the old one lasts until an
//! authentic frame comes on the new.
//!
//! [`HostEnd`] and [`BoardEnd`] are the two ends; both want a nonce that was never used before.

mod board_end;
mod cobs;
mod connection;
mod host_end;
pub mod peer;
mod tag;
pub mod v1;

pub use board_end::{BoardEnd, Opened};
pub use cobs::{Decoder, Garbage, Raw};
pub use connection::{LinkCounters, Refused};
pub use host_end::HostEnd;
pub use tag::{Key, KeyId, Sip};
pub use v1::{About, Ask, FromBoard, Lines, ToBoard, Write};

/// The version written and read.
pub const VERSION: u8 = 1;

/// Set in the kind of a frame with counter and tag.
pub const TAGGED: u8 = 0x80;

/// No payload is longer, in bytes.
pub const MAX_PAYLOAD: usize = 80;

/// No frame is longer before COBS, in bytes: version, kind, payload, counter, tag, checksum.
pub const MAX_FRAME: usize = 2 + MAX_PAYLOAD + 4 + 8 + 4;

/// A buffer of this size takes any frame on the line: one byte more for COBS, one for the
/// delimiter.
pub const MAX_ENCODED: usize = MAX_FRAME + 2;
