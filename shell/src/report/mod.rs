//! What people and machines are shown.
//!
//! The daemon fills the [`model`]; everything here is a pure rendering of it, so that the same
//! words come out of the daemon's log, the command line and `--json`.

pub mod board;
pub mod check;
pub mod events;
pub mod explain;
pub mod found;
pub mod log;
pub mod metrics;
pub mod model;
pub mod node;
pub mod page;
pub mod paint;
pub mod phrase;
pub mod pool;
pub mod probe;
pub mod service;
pub mod status;
pub mod table;
pub mod time;
pub mod watch;

#[cfg(test)]
pub(crate) mod sample;
