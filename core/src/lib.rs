//! The decision core of Giveover: whether to leave a service alone, restart it here, or give it
//! over.
//!
//! Every part is a function of its state, an event and the time it is told. Nothing here reads a
//! clock, logs, allocates or does I/O, so that the Linux daemon, the board's firmware and the
//! simulator decide the same. What it leaves to its driver: probing, stopping and starting,
//! remembering (`record` has the vocabulary), and saying what time it is.
//!
//! Start with [`monitor::Monitor`] and [`policy::Policy`].
#![no_std]
#![forbid(unsafe_code)]

pub mod arbiter;
pub mod board;
pub mod bytes;
pub mod claim;
pub mod defect;
pub mod failure;
pub mod history;
pub mod host;
pub mod ladder;
pub mod monitor;
pub mod node;
pub mod peer;
pub mod policy;
pub mod pool;
pub mod record;
pub mod ring;
pub mod shadow;
pub mod share;
pub mod time;
pub mod verdict;
pub mod weight;
pub mod wire;
