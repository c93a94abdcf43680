//! The configuration: the file as people write it, and the plan the daemon runs.

mod files;
pub mod plan;
pub mod quantity;
mod report;
mod snippet;
mod source;
mod syntax;
mod tree;
mod values;
pub mod words;
