//! Real processes under the real reactor: `/bin/sh`, `sleep`, and no waiting but for events.
//!
//! The tests share one process, and so its children, descriptors and signals: each runs alone.

mod adopted;
mod bench;
mod commands;
mod runner;
mod services;
mod site;
mod units;
