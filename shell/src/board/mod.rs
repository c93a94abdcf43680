//! The board that resets this host, as seen from the host.
//!
//! [`serial`] is the port, [`key`] the key's file, [`link`] the dialogue (sans-IO: bytes and times
//! in, bytes and news out), [`pair`] how a board gets its key, and
//! [`bench`] how one is looked at before it has a host; both have the port to themselves, [`directly`].
//! [`dog`] is simpler hardware that
//! only wants to be fed. What is to be said, and when, is the daemon's.

pub mod bench;
pub mod directly;
pub mod dog;
mod here;
pub mod key;
pub mod link;
pub mod pair;
pub mod serial;
#[cfg(test)]
pub(crate) mod testing;

pub use here::seen;
pub use link::{Link, Told, Trouble};
pub use serial::{Serial, SerialError};
