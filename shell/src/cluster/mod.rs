//! Between nodes: what a group holds, and how it comes up and goes.
//!
//! [`steps`] is what a group asks of whoever holds its addresses, [`address`] the holder.

pub mod address;
pub mod steps;
