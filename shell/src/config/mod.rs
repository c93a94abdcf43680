//! The configuration: the file as people write it, and the plan the daemon runs.

mod files;
mod later;
mod name;
pub mod plan;
mod policy;
pub mod quantity;
mod reader;
mod report;
pub mod schema;
mod snippet;
mod source;
mod syntax;
mod tree;
mod values;
pub mod words;
