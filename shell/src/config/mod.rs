//! The configuration: the file as people write it, and the plan the daemon runs.

pub mod plan;
pub mod quantity;
pub mod words;
