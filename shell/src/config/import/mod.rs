//! Configurations of other programs, turned into ours.

pub mod pgpool;
