//! What people and machines are shown.
//!
//! The daemon fills the [`model`]; everything here is a pure rendering of it, so that the same
//! words come out of the daemon's log, the command line and `--json`.

pub mod model;
