//! Service fault monitor for Linux: probes, budgeted restarts, giveover.

pub mod check;
pub mod clock;
pub mod config;
pub mod journal;
pub mod machine;
pub mod reactor;
pub mod report;
