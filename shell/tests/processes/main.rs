//! Real processes under the real reactor: `/bin/sh`, `sleep`, and no waiting but for events.
//!
//! The tests share one process, and so its children, descriptors and signals: each runs alone.

mod bench;
mod commands;
mod runner;
mod services;
mod units;
