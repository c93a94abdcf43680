//! The command line, one file a verb.

pub mod check;
pub mod preset;
