//! Service fault monitor for Linux: probes, budgeted restarts, giveover.

pub mod board;
pub mod check;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod config;
pub mod daemon;
pub mod journal;
pub mod key;
pub mod machine;
pub mod message;
pub mod netlink;
pub mod pool;
pub mod reactor;
pub mod report;
pub mod service;
pub mod sim;
