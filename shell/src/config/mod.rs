//! The configuration: the file as people write it, and the plan the daemon runs.

mod address;
mod check;
mod files;
mod host;
mod kind;
mod later;
mod name;
mod needs;
pub mod plan;
mod policy;
pub mod quantity;
mod reader;
mod report;
mod run;
pub mod schema;
mod scope;
mod snippet;
mod source;
mod syntax;
mod target;
mod tree;
mod values;
pub mod words;
