//! Service fault monitor for Linux: probes, budgeted restarts, giveover.

pub mod check;
pub mod config;
pub mod reactor;
pub mod report;
