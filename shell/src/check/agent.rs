//! `agent`: heartbeats that come by themselves, each a line of text or a datagram that holds one.
//!
//! [`beat`] reads and writes a heartbeat and knows no socket, [`heard`] says what those of one
//! check add up to, [`ears`] hears them, and [`sender`] is the other side.

pub mod beat;
pub mod ears;
pub mod heard;
pub mod once;
pub mod sender;

#[cfg(test)]
mod tests;
