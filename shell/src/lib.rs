//! Service fault monitor for Linux: probes, budgeted restarts, giveover.

pub mod check;
pub mod cli;
pub mod config;
pub mod message;
pub mod reactor;
pub mod report;
